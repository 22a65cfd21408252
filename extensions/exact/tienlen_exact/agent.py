"""The agent `exact`: a policy of the laboratory from a file, which plays at any table; and what it shows.

It finds the information set of a decision from the plays of the round, so it works wherever the rules are
those of the file.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import tienlen_agents
from tienlen_agents.files import refusing, write_atomic
from tienlen_env.engine.agent import Agent
from tienlen_env.engine.backends import jit
from tienlen_env.engine.variant import Variant
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tienlen_env.games.common.cards import format_cards, parse_cards
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT
from tienlen_exact.policies import EdgeIndex, check_policy, read_arrays
from tienlen_exact.small_tienlen import GAME, PolicyError, PositionError, SmallGame
from tienlen_exact.solvers import slot_below
from tienlen_exact.tree import MAX_DEALS, PublicTree, TreeArrays, build

VERSION: Final = 1  # of the files
FALLBACK: Final = "heuristic"
PASS: Final = "-"
MOST_SHOWN: Final = 60  # hands


class Sought(NamedTuple):
    """Decisions whose information sets are sought.

    Attributes:
        events: int64 (n, K), the plays of the round, the newest first: ``cards | (1 + seat) << 52``.
        seat: int64 (n,), the seat to act.
        hand: int64 (n,), the id of the hand that it was dealt.
        cards: int64 (N,), the cards of each node.
    """

    events: IntArray
    seat: IntArray
    hand: IntArray
    cards: IntArray


def find_slot(tree: TreeArrays, sought: Sought, i: int, root: int) -> int:
    """The slot of a decision below a root; -1 if it is not there."""
    seat, node = sought.seat[i], root
    slot = slot_below(tree, root, seat, sought.hand[i])
    for k in range(sought.events.shape[1] - 1, -1, -1):
        event = sought.events[i, k]
        if event != 0 and slot >= 0:
            mover, cards = (event >> HISTORY_SEAT_SHIFT) - 1, event & ((1 << HISTORY_SEAT_SHIFT) - 1)
            child, end = tree.first_child[node], tree.first_child[node + 1]
            while child < end and (sought.cards[child] != cards or tree.actor[node] != mover):
                child += 1
            if child == end:
                return -1
            slot = slot_below(tree, child, seat, slot)
            node = child
    return slot if tree.actor[node] == seat else -1


@jit.loop
def find_slots(tree: TreeArrays, sought: Sought, out: IntArray) -> None:
    """Write the slot of each decision; -1 where its history is not in the tree."""
    for i in range(out.shape[0]):
        out[i] = -1
        root = 0
        while root < tree.sizes[1] and out[i] < 0:
            out[i] = find_slot(tree, sought, i, root)
            root += 1


class ExactAgent:
    """Draws its actions from a policy of a public tree.

    Outside the tree, which other exact cards than those of the action table lead to (RULES.md 7.2),
    `heuristic` plays.

    Args:
        name: of the agent.
        game: the game.
        policy: float64 (E,), the probability of each edge.
        num_decisions: most decisions of a round, D.
        tree: the tree; None: it is built when it is first needed.

    Attributes:
        history: D, the plays that it reads.
        sample: True: `log_probabilities` are those that it plays by.
    """

    plays = GAME
    sample = True

    def __init__(
        self,
        name: str,
        game: SmallGame,
        policy: FloatArray,
        num_decisions: int,
        tree: PublicTree | None = None,
    ) -> None:
        self.name, self.game, self.history = name, game, num_decisions
        self._policy, self._tree, self._edges = policy, tree, None if tree is None else EdgeIndex(tree)
        self._rng = np.random.default_rng(0)
        self._fallback: Agent = tienlen_agents.load(FALLBACK)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_tree": None, "_edges": None}

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse other rules than those of the policy.

        Raises:
            ValueError: it names both.
        """
        if rules != self.game.rules:
            raise ValueError(f"agent {self.name!r} plays {self.game.rules.name}, not {rules.name}")

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self._rng = np.random.default_rng(seed)
        self._fallback.reset(seed)

    def policy_on(self, tree: PublicTree) -> FloatArray:
        """float64 (E,): its policy on a tree of its game.

        Raises:
            PolicyError: a tree of another game.
        """
        if tree.game.rules.digest() != self.game.rules.digest():
            raise PolicyError(f"agent {self.name!r} plays {self.game.rules.name}, not {tree.game.rules.name}")
        check_policy(tree, self._policy)
        return self._policy.copy()

    def _probabilities(self, view: View) -> tuple[FloatArray, BoolArray]:
        """The probabilities of the legal actions, and which decisions are in the tree (bool (n,))."""
        if self._tree is None or self._edges is None:
            self._tree = build(self.game)
            check_policy(self._tree, self._policy)
            self._edges = EdgeIndex(self._tree)
        tree, edges = self._tree, self._edges
        batch, games = view.source
        rows = batch.kernel_arrays.rows[games]
        state = batch.state_of(rows)
        seat, n = view.seat, np.arange(len(view))
        dealt = view.hand | state.played[n, seat]
        hands = tree.deals.hands
        hand = np.minimum(np.searchsorted(hands, dealt), len(hands) - 1)
        hand[hands[hand] != dealt] = len(hands)  # no hand of this game
        events = np.ascontiguousarray(state.history)  # type: ignore[attr-defined]
        slots = np.empty(len(view), np.int64)
        find_slots(tree.arrays, Sought(events, seat, hand, tree.cards), slots)
        legal = view.legal_actions
        found = edges.find(slots[legal.game], legal.action)
        return np.where(found < 0, 0.0, self._policy[found]), slots >= 0

    def log_probabilities(self, view: View) -> Float32Array:
        """The log-probabilities of ``view.legal_actions``, float32 (N,); uniform outside the tree."""
        probabilities, known = self._probabilities(view)
        legal = view.legal_actions
        probabilities = np.where(known[legal.game], probabilities, 1 / view.num_legal[legal.game])
        with np.errstate(divide="ignore"):
            return np.log(probabilities).astype(np.float32)

    def act(self, view: View) -> IntArray:
        """Draw actions (see `Agent.act`)."""
        probabilities, known = self._probabilities(view)
        legal = view.legal_actions
        # Of a running sum over all decisions, the part of each is its own.
        total = np.cumsum(probabilities)
        before = total[legal.start] - probabilities[legal.start]
        last = np.append(legal.start[1:], len(total)) - 1
        draws = before + self._rng.random(len(view)) * (total[last] - before)
        chosen = np.clip(np.searchsorted(total, draws, side="right"), legal.start, last)
        actions: IntArray = legal.action[chosen]
        if not known.all():
            outside = np.flatnonzero(~known)
            actions[outside] = self._fallback.act(view.select(outside))
        return actions


def save_policy(path: str | Path, tree: PublicTree, policy: FloatArray, about: str) -> None:
    """Write a policy to a file, atomically.

    Args:
        path: the file.
        tree: the tree.
        policy: float64 (E,).
        about: what it is, for people.

    Raises:
        PolicyError: not a policy of this tree.
        OSError: the file cannot be written.
    """
    check_policy(tree, policy)
    data = io.BytesIO()
    np.savez_compressed(
        data,
        version=VERSION,
        rules=tree.game.settings(),
        digest=tree.game.rules.digest(),
        about=about,
        num_decisions=len(tree.depths) - 1,
        policy=policy,
    )
    write_atomic(Path(path), data.getvalue())


def load_exact(path: str) -> ExactAgent:
    """Make the agent ``exact``: a policy of the laboratory from a file.

    Args:
        path: a file that ``tienlen exact solve`` or ``best-response`` wrote.

    Raises:
        ValueError: the file is damaged or not of this kind.
        FileNotFoundError: there is no such file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"exact policy {path!r}: there is no such file")
    stored = read_arrays(Path(path), "a policy of the laboratory")
    with refusing(f"{path}: not a policy of the laboratory"):
        version, digest = stored["version"].item(), stored["digest"].item()
        policy, depth = stored["policy"], stored["num_decisions"].item()
        game = SmallGame.from_settings(stored["rules"].item())
        is_policy = policy.dtype == np.float64 and policy.ndim == 1
        # As many plays as cards, and a pass of every other seat after each, are never reached.
        if not is_policy or type(depth) is not int or not 0 < depth <= 52 * game.num_players:
            raise ValueError("expected a vector of float64 and the number of decisions")
        if game.num_deals > MAX_DEALS:
            raise ValueError(f"the deals of {game.rules.name} cannot be listed")
    if version != VERSION or game.rules.digest() != digest:
        raise ValueError(f"{path}: of another version of the laboratory or of the rules")
    return ExactAgent(f"exact:{tienlen_agents.quoted(path, in_list=False)}", game, policy, depth)


def hands_at(tree: PublicTree, node: int, seat: int) -> tuple[IntArray, IntArray]:
    """The slots of a seat at a node, int64 (n,), and the masks of the hands as they were dealt."""
    t, P = tree.arrays, tree.num_players
    slots = np.arange(t.slot_start[node * P + seat], t.slot_start[node * P + seat + 1])
    at, where = slots, node
    while tree.parent[where] >= 0:
        at, where = t.up[at].astype(np.int64), int(tree.parent[where])
    return slots, tree.deals.hands[t.up[at]]


def _nodes_after(tree: PublicTree, plays: list[int]) -> list[int]:
    """The nodes after some plays, one for each root that they are possible from."""
    found = list(range(int(tree.arrays.sizes[1])))
    first_child = tree.arrays.first_child
    for cards in plays:
        found = [
            child
            for node in found
            for child in range(first_child[node], first_child[node + 1])
            if tree.cards[child] == cards
        ]
    return found


def show(agent: ExactAgent, hand: str = "", plays: str = "") -> str:
    """The probabilities of a policy at a position.

    Args:
        agent: the policy.
        hand: cards of the seat to act, as they were dealt; empty: all hands that it may hold.
        plays: what was played, separated by commas, ``-`` for a pass.

    Returns:
        A line for each hand.

    Raises:
        NotationError: what is not cards.
        PositionError: a position that cannot be.
    """
    wanted, given = parse_cards(hand), [play.strip() for play in plays.split(",") if play.strip()]
    history = [0 if play in (PASS, "pass") else parse_cards(play) for play in given]
    tree = build(agent.game)
    policy = agent.policy_on(tree)
    slots_of, actions = tree.edge_slots(), tree.edge_actions()
    order = np.argsort(slots_of, kind="stable")
    sorted_slots = slots_of[order]
    table = Variant(agent.game.rules).action_table
    lines: list[str] = []
    leaders: set[int] = set()
    for node in _nodes_after(tree, history):
        root = node
        while tree.parent[root] >= 0:
            root = int(tree.parent[root])
        leader, seat = int(tree.arrays.actor[root]), int(tree.arrays.actor[node])
        for slot, dealt in zip(*hands_at(tree, node, seat), strict=True):
            if wanted and dealt != wanted:
                continue
            leaders.add(leader)
            if leader != min(leaders):  # the same position with the seats exchanged
                continue
            first, end = np.searchsorted(sorted_slots, [slot, slot + 1])
            edges = order[first:end]
            edges = edges[np.argsort(-policy[edges], kind="stable")]
            played = ", ".join(f"{table.text(int(actions[e]))} {policy[e]:.4f}" for e in edges)
            lines.append(f"seat {seat} with {format_cards(int(dealt))}: {played}")
    if not lines:
        raise PositionError(f"no deal leads to this position: hand {hand or 'any'!r}, plays {plays!r}")
    more = len(lines) - MOST_SHOWN
    return "\n".join(lines[:MOST_SHOWN] + ([f"and {more} more hands"] if more > 0 else []))
