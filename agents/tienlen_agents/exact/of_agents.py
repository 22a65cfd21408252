"""The policy of an agent: the probabilities of its actions at every information set of a public tree.

The engine plays every history again, and shows the agent each information set once, as a `View`; the other
hands are some that go with what the view shows, and agents do not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from tienlen_agents.exact.errors import PolicyError
from tienlen_agents.exact.expansion import Deals, Level, Scratch, find_others, new_scratch
from tienlen_agents.exact.policies import check_policy, uniform
from tienlen_agents.exact.tree import Tree
from tienlen_env.engine.agent import Agent, RandomAgent, ScoringAgent, check_plays, history_of
from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.per_game import per_game
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.cards import format_cards
from tienlen_env.games.common.game import AnyGame

Method = Literal["uniform", "log-probabilities", "choices"]
Progress = Callable[[int, int], None]

AT_ONCE: Final = 8_192  # information sets that an agent is asked at once
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


@cache
def _loops(game: AnyGame) -> SimpleNamespace:
    columns, kernels = game.columns, game.kernels
    advance, update_legal = per_game(game).advance, kernels.update_legal
    TURN, HAND, PLAYED = columns.turn, columns.hand, columns.played
    UNDEALT = max((c for c in columns.hidden if c not in (columns.key, *range(HAND, HAND + 4))), default=-1)

    @jit.loop
    def replay(deals: Deals, above: IntArray, moves: Moves, out: IntArray, rewards: FloatArray) -> None:
        """Write the rows of the next depth."""
        for i in range(out.shape[0]):
            row = out[i]
            for column in range(row.shape[0]):
                row[column] = above[moves.parent[i], column]
            actor = row[TURN]
            row[HAND + actor] = deals.hands[moves.hand[i]] & ~row[PLAYED + actor]
            advance(row, deals.spec, deals.actions, moves.action[i], moves.cards[i], rewards)

    @jit.loop
    def fill(
        deals: Deals, level: Level, nodes: IntArray, slots: IntArray, scratch: Scratch, out: IntArray
    ) -> None:
        """Write rows of information sets: nodes of a level, with a hand of the seat to act, by slot."""
        num_seats = deals.num_seats[0]
        for i in range(out.shape[0]):
            row, node = out[i], nodes[i]
            everything = 0
            for column in range(row.shape[0]):
                row[column] = level.rows[node, column]
            actor, hand = row[TURN], level.ids[slots[i]]
            if UNDEALT >= 0:
                everything = row[UNDEALT]
                for seat in range(num_seats):
                    everything |= row[HAND + seat]
            find_others(deals, level, node, actor, hand, scratch, False)
            for seat in range(num_seats):
                dealt = deals.hands[hand if seat == actor else scratch.chosen[seat]]
                everything |= dealt
                row[HAND + seat] = dealt & ~row[PLAYED + seat]
            if UNDEALT >= 0:
                for seat in range(num_seats):
                    everything &= ~row[PLAYED + seat] & ~row[HAND + seat]
                row[UNDEALT] = everything
            update_legal(row, deals.spec, deals.actions)

    return SimpleNamespace(replay=replay, fill=fill)


class InformationSets(NamedTuple):
    """Some information sets of one depth, as an agent sees them.

    Attributes:
        slots: int64 (n,), their slots in the tree.
        batch: n games; the views of their seats to act are the information sets.
    """

    slots: IntArray
    batch: Batch


def _levels(tree: Tree, history_length: int) -> Iterator[tuple[int, Level, Deals]]:
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
    tree: Tree, *, history_length: int = 0, only_choices: bool = True, at_once: int = AT_ONCE
) -> Iterator[InformationSets]:
    """All information sets, depth by depth, some at a time.

    Args:
        tree: the tree.
        history_length: past plays that the batches store.
        only_choices: leave out those with one legal action.
        at_once: how many at most.
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
        for at in range(0, len(nodes), at_once):
            some, their = nodes[at : at + at_once], slots[at : at + at_once]
            batch = Batch(game.rules, len(some), reward=game.reward, history_length=history_length)
            _loops(batch.game).fill(deals, level, some, their, scratch, batch.kernel_arrays.rows)
            yield InformationSets(their + first_slot, batch)


class EdgeIndex:
    """Finds the edge of an information set and an action."""

    def __init__(self, tree: Tree) -> None:
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
    tree: Tree, agent: Agent, *, repeats: int = 1, seed: int = 0, progress: Progress | None = None
) -> FloatArray:
    """The policy of an agent.

    Args:
        tree: the tree.
        agent: any agent that plays the rules. It is asked at the information sets with a choice.
        repeats: number of samples at each information set of an agent that draws its actions; the shares of
            its answers are taken for its probabilities. NashConv of such a policy is biased upwards; the bias
            grows as the number of samples falls.
        seed: of the agent; the k-th repeat has the seed ``seed + k``.
        progress: called with the number of information sets done and that of all.

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
    if given is not None:  # a policy of this laboratory
        policy: FloatArray = given(tree)
        return policy
    method, policy = method_of(agent), uniform(tree)
    if method == "uniform":
        return policy
    edges, history = EdgeIndex(tree), history_of([agent])
    times = 1 if method == "log-probabilities" else repeats
    num_actions = np.bincount(edges.slots, minlength=tree.num_slots)
    policy[num_actions[edges.slots] > 1] = 0.0
    total, done = times * int((num_actions > 1).sum()), 0
    for k in range(times):
        agent.reset(seed + k)
        for sets in information_sets(tree, history_length=history):
            view = View(sets.batch, copy=False)
            if isinstance(agent, ScoringAgent) and method == "log-probabilities":
                legal = view.legal_actions
                found = edges.find(sets.slots[legal.game], legal.action)
                policy[found] = np.exp(np.asarray(agent.log_probabilities(view), np.float64))
            else:
                policy[_answers(tree, agent, view, sets.slots, edges)] += 1 / times
                if repeats == 1:
                    _check_same(agent, view, seed)
            done += len(sets.slots)
            if progress:
                progress(done, total)
    if method == "log-probabilities":  # of float32
        policy /= np.bincount(edges.slots, policy, tree.num_slots)[edges.slots]
    check_policy(tree, policy)
    return policy


def _answers(tree: Tree, agent: Agent, view: View, slots: IntArray, edges: EdgeIndex) -> IntArray:
    """int64 (n,): the edges that an agent chooses."""
    chosen = np.asarray(agent.act(view))
    if chosen.shape != slots.shape or chosen.dtype.kind not in "iu":
        raise PolicyError(
            f"agent {agent.name!r}: expected {len(slots)} actions, got {chosen.dtype} {chosen.shape}"
        )
    found = edges.find(slots, chosen.astype(np.int64))
    if (found < 0).any():
        wrong = int(np.flatnonzero(found < 0)[0])
        hand = format_cards(int(view.hand[wrong]))
        raise PolicyError(f"agent {agent.name!r}: action {chosen[wrong]} is not legal with {hand}")
    return found


def _check_same(agent: Agent, view: View, seed: int) -> None:
    """Refuse an agent that chooses otherwise with another seed, of those that are asked only once."""
    some = view.select(np.arange(min(len(view), TRIED_TWICE)))
    answers: list[Any] = []
    for other in (seed + 1, seed + 2):
        agent.reset(other)
        answers.append(np.asarray(agent.act(some)))
    agent.reset(seed)
    if (answers[0] != answers[1]).any():
        raise PolicyError(
            f"agent {agent.name!r} draws its actions: expected a number of repeats above 1 (--repeats)"
        )
