"""Policies on a public tree: those of agents, and what any of them is worth.

The policy of an agent is the probabilities of its actions at every information set. The engine plays every
history again, and shows the agent each information set once, as a `View`; the other hands are some that go
with what the view shows, and agents do not see them.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np

from tienlen_agents.files import refusing
from tienlen_env.engine.agent import (
    Agent,
    AnswerError,
    FallibleAgent,
    RandomAgent,
    ScoringAgent,
    check_plays,
    choose,
    history_of,
)
from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.per_game import advance, columns, kernels, parts_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import AnyArray, BoolArray, FloatArray, IntArray
from tienlen_env.games.common.cards import format_cards
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.specialise import GIVEN, each, specialise
from tienlen_exact import passes
from tienlen_exact.expansion import Deals, Level, Scratch, find_others, new_scratch
from tienlen_exact.small_tienlen import PolicyError
from tienlen_exact.tree import PublicTree

SUM_TOLERANCE: Final = 1e-6
GAIN_TOLERANCE: Final = 1e-9  # of sums over deals: below it actions earn the same
_NONE: Final = np.zeros(0, np.int64)


def uniform(tree: PublicTree) -> FloatArray:
    """float64 (E,): the uniform policy of all seats."""
    return normalised(tree, np.zeros(tree.num_edges))


def normalised(tree: PublicTree, weights: FloatArray) -> FloatArray:
    """float64 (E,): probabilities in proportion to weights; uniform where no weight is above 0."""
    policy = np.empty(tree.num_edges)
    passes.normalise(tree.arrays, weights, policy, np.empty(tree.num_slots))
    return policy


def check_policy(tree: PublicTree, policy: FloatArray) -> None:
    """Refuse what is not a policy.

    Args:
        tree: the tree.
        policy: float64 (E,), the probability of each edge.

    Raises:
        PolicyError: another shape, or probabilities of an information set that are negative, not numbers, or
            do not add up to 1.
    """
    policy = np.ascontiguousarray(policy)
    if policy.shape != (tree.num_edges,) or policy.dtype != np.float64:
        raise PolicyError(f"policy: expected float64 ({tree.num_edges},), got {policy.dtype} {policy.shape}")
    if not np.isfinite(policy).all() or (policy < 0).any():
        raise PolicyError("policy: expected probabilities of 0 and above")
    sums = np.empty(tree.num_slots)  # 0 where no information set is, below it where nothing has a probability
    passes.normalise(tree.arrays, policy, np.empty(tree.num_edges), sums)
    if (worst := np.abs(np.maximum(sums[sums != 0], 0) - 1).max(initial=0)) > SUM_TOLERANCE:
        raise PolicyError(f"policy: expected probabilities that add up to 1, they miss it by {worst:.3g}")


@dataclass(frozen=True)
class Measure:
    """What a policy of all seats is worth.

    Attributes:
        values: what each seat earns a round on average.
        best: what each seat would earn with its best response to the others.
        opener_best: the part of `best` that seats earn in the deals where they lead, of all seats together.
    """

    values: tuple[float, ...]
    best: tuple[float, ...]
    opener_best: float = 0.0

    @property
    def gains(self) -> tuple[float, ...]:
        """What each seat gains by its best deviation from the policy, the others keeping to it."""
        return tuple(best - value for best, value in zip(self.best, self.values, strict=True))

    @property
    def nash_conv(self) -> float:
        """The sum of the gains.

        With two players it is the distance of the upper from the lower bound of the game's value. With more
        players a sum of 0 is an equilibrium, too, but the sum bounds nothing else; read `gains` there.
        """
        return sum(self.gains)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of what seat 0 earns in an equilibrium; of two-player zero-sum games."""
        return -self.best[1], self.best[0]

    @property
    def opener_bounds(self) -> tuple[float, float]:
        """The same bounds for the seat that leads the round, whichever it is."""
        return self.opener_best - sum(self.best), self.opener_best


def edge_seats(tree: PublicTree) -> IntArray:
    """int64 (E,): the seat that acts at each edge."""
    t, P = tree.arrays, tree.num_players
    seat_of_slot = np.repeat(np.tile(np.arange(P), tree.num_nodes), np.diff(t.slot_start))
    seats: IntArray = seat_of_slot[tree.edge_slots()]
    return seats


def measure(tree: PublicTree, policy: FloatArray) -> Measure:
    """Values, best responses and NashConv.

    Args:
        tree: the tree.
        policy: float64 (E,), of all seats.

    Raises:
        PolicyError: what is not a policy.
    """
    check_policy(tree, policy)
    reach, values = np.empty((2, tree.num_slots))
    passes.reach_down(tree.arrays, policy, reach, -1)
    earned, best, opener_best = [], [], 0.0
    for seat in range(tree.num_players):
        earned.append(passes.values_up(tree.arrays, policy, reach, seat, values) / tree.num_deals)
        best.append(passes.best_up(tree.arrays, policy, reach, seat, values, _NONE) / tree.num_deals)
        opener_best += _sum_where_it_leads(tree, values, seat) / tree.num_deals
    return Measure(tuple(earned), tuple(best), opener_best)


def _sum_where_it_leads(tree: PublicTree, values: FloatArray, seat: int) -> float:
    """The sum of a seat's values at the roots where it acts."""
    start, roots = tree.arrays.slot_start, range(int(tree.arrays.sizes[1]))
    at = [root * tree.num_players + seat for root in roots if tree.arrays.actor[root] == seat]
    return float(sum(values[start[first] : start[first + 1]].sum() for first in at))


def best_responses(tree: PublicTree, policy: FloatArray) -> FloatArray:
    """float64 (E,): the policy in which every seat plays its best response to the others.

    Args:
        tree: the tree.
        policy: float64 (E,), of all seats.

    Raises:
        PolicyError: what is not a policy.
    """
    check_policy(tree, policy)
    chosen = np.zeros(tree.num_edges)
    reach, values = np.empty((2, tree.num_slots))
    for seat in range(tree.num_players):
        passes.reach_down(tree.arrays, policy, reach, seat)
        choice = np.full(tree.num_slots, -1)
        passes.best_up(tree.arrays, policy, reach, seat, values, choice)
        chosen[choice[choice >= 0]] = 1.0
    return chosen


def lookahead(tree: PublicTree, policy: FloatArray, trust: float) -> FloatArray:
    """float64 (E,): the policy that looks one play ahead, with all hands that the others may hold.

    At each information set it plays the action that earns the most if all seats go on with `policy`. Actions
    that earn the same have the same probability; where none earns more than `policy` itself, it stays. A
    search with rollouts by `policy` comes to this with all deals and without noise.

    Args:
        tree: the tree.
        policy: float64 (E,), of all seats.
        trust: 0..1, how far the others' plays tell of their hands: a play with probability p multiplies the
            weight of a hand by ``1 - trust + trust * p``. With 0 all hands weigh the same; with 1 it is the
            exact posterior, if the others play `policy`.

    Raises:
        PolicyError: what is not a policy.
        ValueError: `trust` is not in 0..1.
    """
    if not 0 <= trust <= 1:
        raise ValueError(f"trust={trust!r}: expected 0..1")
    check_policy(tree, policy)
    slots, gain, best = tree.edge_slots(), np.zeros(tree.num_edges), np.zeros(tree.num_slots)
    for seat, here, past in weighings(tree, policy, trust):
        gain[here] = gains(tree, past, seat)[here]
    np.maximum.at(best, slots, gain)
    best[best < GAIN_TOLERANCE] = 0.0
    chosen = np.where(best[slots] > 0, 1.0 * (gain > best[slots] - GAIN_TOLERANCE), policy)
    return normalised(tree, chosen)


def weighings(
    tree: PublicTree, policy: FloatArray, trust: float
) -> Iterator[tuple[int, BoolArray, FloatArray]]:
    """How decisions weigh the hands that the others may hold (`lookahead`): parts with the same weights.

    Yields:
        A seat, its edges in the part (bool, (E,)), and a play of all seats, float64 (E,): `policy`, but up to
        the part the factors of the weights.
    """
    seats, depths = edge_seats(tree), edge_depths(tree)
    # The weights of hands change with the depth of the decision, unless it is the posterior; what is played
    # from there does not.
    for depth in range(1 if trust == 1 else int(depths.max()) + 1):
        past = np.where(depths < depth, 1 - trust + trust * policy, policy)
        for seat in range(tree.num_players):
            here = (seats == seat) & ((depths == depth) | (trust == 1))
            if here.any():
                yield seat, here, past


def gains(tree: PublicTree, play: FloatArray, seat: int) -> FloatArray:
    """float64 (E,): what a seat's actions earn more than the play itself, times the weight of the hands."""
    gain, none = np.zeros((2, tree.num_edges))
    reach, values, sums = np.empty((3, tree.num_slots))
    earned = np.empty(tree.num_edges - tree.num_inner)
    keep = passes.Regrets(gain, none, 1.0, 1.0, floor=-np.inf, forget=1.0, weight=0.0)
    passes.regret_pass(tree.arrays, play.copy(), reach, seat, values, sums, earned, keep)
    return gain


def edge_depths(tree: PublicTree) -> IntArray:
    """int64 (E,): the number of plays before each edge."""
    depth = np.repeat(np.arange(len(tree.depths) - 1), np.diff(tree.depths))
    of_slot = np.repeat(np.repeat(depth, tree.num_players), np.diff(tree.arrays.slot_start))
    depths: IntArray = of_slot[tree.edge_slots()]
    return depths


GIB: Final = 2**30


def available_bytes() -> int:
    """Memory that is free on this machine, or all that it has where the system does not say."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 8 * GIB


def read_arrays(path: Path, what: str) -> dict[str, AnyArray]:
    """All arrays of a file of `np.savez`.

    Args:
        path: the file.
        what: what it should be, for the error.

    Raises:
        ValueError: a damaged file, or another one.
        OSError: the file cannot be read.
    """
    data = io.BytesIO(path.read_bytes())  # so that no file stays open if it is damaged
    with refusing(f"{path}: not {what}"):
        with zipfile.ZipFile(data) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > available_bytes():
            raise ValueError(f"{size:,} bytes, which do not fit in memory")
        with np.load(data, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


Method = Literal["uniform", "log-probabilities", "choices"]

AT_ONCE: Final = 8_192  # the most information sets in one batch for an agent
TRIED_TWICE: Final = 512  # of each depth, to see whether an agent draws its actions


class Moves(NamedTuple):
    """How to come from the nodes of one depth to those of the next.

    Attributes:
        parent: int64 (n,), index in the depth above.
        hand: int64 (n,), a hand that the seat that moves may hold there.
        action: int64 (n,), its action.
        cards: int64 (n,), and its cards.
    """

    parent: IntArray
    hand: IntArray
    action: IntArray
    cards: IntArray


class _Loops(NamedTuple):
    replay: Callable[[Deals, IntArray, Moves, IntArray, FloatArray], None]
    fill: Callable[[Deals, Level, IntArray, IntArray, Scratch, IntArray], None]


undealt: int = GIVEN  # column of the undealt cards, -1 for none


def _replay(deals: Deals, above: IntArray, moves: Moves, out: IntArray, rewards: FloatArray) -> None:
    """Write the rows of the next depth."""
    for i in range(out.shape[0]):
        row = out[i]
        for column in range(row.shape[0]):
            row[column] = above[moves.parent[i], column]
        actor = row[columns.turn]
        row[columns.hand + actor] = deals.hands[moves.hand[i]] & ~row[columns.played + actor]
        advance(row, deals.spec, deals.actions, moves.action[i], moves.cards[i], rewards)


def _fill(
    deals: Deals, level: Level, nodes: IntArray, slots: IntArray, scratch: Scratch, out: IntArray
) -> None:
    """Write rows of information sets: nodes of a level, with a hand of the seat to act, by slot."""
    num_seats = deals.num_seats[0]
    for i in range(out.shape[0]):
        row, node = out[i], nodes[i]
        everything = 0
        for column in range(row.shape[0]):
            row[column] = level.rows[node, column]
        actor, hand = row[columns.turn], level.ids[slots[i]]
        if undealt >= 0:
            everything = row[undealt]
            for seat in range(num_seats):
                everything |= row[columns.hand + seat]
        find_others(deals, level, node, actor, hand, scratch, False)
        for seat in range(num_seats):
            dealt = deals.hands[hand if seat == actor else scratch.chosen[seat]]
            everything |= dealt
            row[columns.hand + seat] = dealt & ~row[columns.played + seat]
        if undealt >= 0:
            for seat in range(num_seats):
                everything &= ~row[columns.played + seat] & ~row[columns.hand + seat]
            row[undealt] = everything
        kernels.update_legal(row, deals.spec, deals.actions)


@cache
def _loops(game: AnyGame) -> _Loops:
    shown = (game.columns.key, *range(game.columns.hand, game.columns.hand + 4))
    column = max((c for c in game.columns.hidden if c not in shown), default=-1)
    return each(specialise(_Loops(_replay, _fill), **parts_of(game), undealt=column), jit.loop)


def _levels(tree: PublicTree, history_length: int) -> Iterator[tuple[int, Level, Deals]]:
    """The levels of a tree with the rows of a batch that stores past plays, and the first node of each."""
    game, t, P = tree.game, tree.arrays, tree.num_players
    columns = Batch(game.rules, 1).game.columns
    hands = tree.root_rows[:, columns.hand : columns.hand + P]
    batch = game.batch(hands, history_length)
    deals = tree.deals._replace(spec=batch.variant.spec, actions=batch.variant.actions)
    rows = batch.kernel_arrays.rows.copy()
    group, ids = tree.root_group, t.up[: t.slot_start[t.sizes[1] * P]].astype(np.int64)
    loops, rewards = _loops(batch.game), np.zeros(P)
    for depth in range(len(tree.depths) - 1):
        first, end = tree.depths[depth], tree.depths[depth + 1]
        first_slot = t.slot_start[first * P]
        if depth:
            above, above_slot = tree.depths[depth - 1], t.slot_start[tree.depths[depth - 1] * P]
            parent = tree.parent[first:end].astype(np.int64) - above
            ups = t.up[first_slot : t.slot_start[end * P]] - above_slot
            nodes = np.arange(first, end)
            played_by = t.up[t.slot_start[nodes * P + t.mover[first:end]]] - above_slot
            moves = Moves(
                parent, ids[played_by], tree.action[first:end].astype(np.int64), tree.cards[first:end].copy()
            )
            below = np.empty((len(parent), rows.shape[1]), np.int64)
            loops.replay(deals, rows, moves, below, rewards)
            rows, group, ids = below, group[parent], ids[ups]
        starts = t.slot_start[first * P : end * P + 1] - first_slot
        yield int(first), Level(rows, group, starts, ids, np.zeros((len(rows), P))), deals


def information_sets(
    tree: PublicTree, *, history_length: int = 0, only_choices: bool = True
) -> Iterator[tuple[IntArray, Batch]]:
    """All information sets, depth by depth, some at a time.

    Args:
        tree: the tree.
        history_length: past plays that the batches store.
        only_choices: leave out those with one legal action.

    Yields:
        Slots of the tree, int64 (n,), and a batch of n games: the views of their seats to act are these sets.
    """
    t, P, game = tree.arrays, tree.num_players, tree.game
    num_actions = np.bincount(tree.edge_slots(), minlength=tree.num_slots)
    wanted = num_actions > (1 if only_choices else 0)
    scratch = None
    for first, level, deals in _levels(tree, history_length):
        n, first_slot = len(level.rows), int(t.slot_start[first * P])
        acting = np.arange(n) * P + t.actor[first : first + n]
        begin, length = level.starts[acting], level.starts[acting + 1] - level.starts[acting]
        nodes = np.repeat(np.arange(n), length)
        slots = np.arange(length.sum()) + np.repeat(begin - (np.cumsum(length) - length), length)
        which = wanted[slots + first_slot]
        nodes, slots = nodes[which], slots[which]
        if scratch is None:
            scratch = new_scratch(level.rows.shape[1], 1, P, 1)
        for at in range(0, len(nodes), AT_ONCE):
            some, their = nodes[at : at + AT_ONCE], slots[at : at + AT_ONCE]
            batch = Batch(game.rules, len(some), reward=game.reward, history_length=history_length)
            _loops(batch.game).fill(deals, level, some, their, scratch, batch.kernel_arrays.rows)
            yield their + first_slot, batch


class EdgeIndex:
    """Finds the edge of an information set and an action."""

    def __init__(self, tree: PublicTree) -> None:
        self.slots, self.actions = tree.edge_slots(), tree.edge_actions()
        self._num_actions = int(self.actions.max(initial=0)) + 1
        keys = self.slots * self._num_actions + self.actions
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, slots: IntArray, actions: IntArray) -> IntArray:
        """int64 (n,): the edges; -1 where the action is not legal."""
        keys = slots * self._num_actions + actions
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        legal = (self._keys[at] == keys) & (actions >= 0) & (actions < self._num_actions)
        return np.where(legal, self._order[at], -1)


def method_of(agent: Agent) -> Method:
    """How the probabilities of an agent are found.

    ``"uniform"`` for the random agent, ``"log-probabilities"`` for a network that draws its actions,
    ``"choices"`` for all others: what they choose, once or repeatedly.
    """
    if isinstance(agent, RandomAgent):
        return "uniform"
    if isinstance(agent, ScoringAgent) and getattr(agent, "sample", False) is True:
        return "log-probabilities"
    return "choices"


def policy_of(
    tree: PublicTree,
    agent: Agent,
    *,
    repeats: int = 1,
    seed: int = 0,
    sampled: bool = False,
    progress: Callable[[int], None] | None = None,
) -> FloatArray:
    """The policy of an agent.

    Args:
        tree: the tree.
        agent: any agent that plays the rules. It is asked at the information sets with a choice.
        repeats: number of samples at each information set of an agent that draws its actions; the shares of
            its answers are taken for its probabilities. NashConv of such a policy is biased upwards; the bias
            grows as the number of samples falls.
        seed: of the agent; the k-th repeat has the seed ``seed + k``.
        sampled: count choices of an agent whose probabilities are known, too: it shows how large the bias is.
        progress: called with the number of information sets done.

    Returns:
        float64 (E,), the probability of each edge.

    Raises:
        ValueError: an agent that does not play these rules, or `repeats` below 1.
        PolicyError: an agent that chose an illegal action, or drew its actions with ``repeats=1``.
    """
    if repeats < 1:
        raise ValueError(f"repeats={repeats}: expected 1 or more")
    check_plays([agent], Batch(tree.game.rules, 1))
    given = getattr(agent, "policy_on", None)
    if given is not None and not sampled:  # a policy of this laboratory
        policy: FloatArray = given(tree)
        return policy
    method, policy = "choices" if sampled else method_of(agent), uniform(tree)
    if method == "uniform":
        return policy
    edges, history = EdgeIndex(tree), history_of([agent])
    times = 1 if method == "log-probabilities" else repeats
    num_actions = np.bincount(edges.slots, minlength=tree.num_slots)
    policy[num_actions[edges.slots] > 1] = 0.0
    done = 0
    for k in range(times):
        agent.reset(seed + k)
        for slots, batch in information_sets(tree, history_length=history):
            view = View(batch, copy=False)
            if isinstance(agent, ScoringAgent) and method == "log-probabilities":
                legal = view.legal_actions
                found = edges.find(slots[legal.game], legal.action)
                policy[found] = np.exp(np.asarray(agent.log_probabilities(view), np.float64))
            else:
                policy[_answers(tree, agent, view, slots, edges)] += 1 / times
                if repeats == 1:
                    _check_same(agent, view, seed)
            done += len(slots)
            if progress:
                progress(done)
    if method == "log-probabilities":  # of float32
        policy /= np.bincount(edges.slots, policy, tree.num_slots)[edges.slots]
    check_policy(tree, policy)
    return policy


def _answers(tree: PublicTree, agent: Agent, view: View, slots: IntArray, edges: EdgeIndex) -> IntArray:
    """int64 (n,): the edges that an agent chooses."""
    try:
        chosen = choose(agent, view)
    except AnswerError as error:
        raise PolicyError(str(error)) from error
    # A program that fails does not raise: a fixed rule answers in its place.
    if isinstance(agent, FallibleAgent) and (failed := agent.take_forfeits()):
        raise PolicyError(f"agent {agent.name!r}: {failed[0].reason}: {failed[0].detail}")
    found = edges.find(slots, chosen)
    if (found < 0).any():
        wrong = int(np.flatnonzero(found < 0)[0])
        hand = format_cards(int(view.hand[wrong]))
        raise PolicyError(f"agent {agent.name!r}: action {chosen[wrong]} is not legal with {hand}")
    return found


def _check_same(agent: Agent, view: View, seed: int) -> None:
    """Refuse an agent that chooses otherwise with another seed, of those that are asked only once."""
    some = view.select(np.arange(min(len(view), TRIED_TWICE)))
    answers = []
    for other in (seed + 1, seed + 2):
        agent.reset(other)
        answers.append(choose(agent, some))
    agent.reset(seed)
    if (answers[0] != answers[1]).any():
        raise PolicyError(
            f"agent {agent.name!r} draws its actions: expected a number of repeats above 1 (--repeats)"
        )
