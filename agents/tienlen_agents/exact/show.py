"""What a policy plays at a position, as text."""

from __future__ import annotations

from typing import Final

import numpy as np

from tienlen_agents.exact.agent import ExactAgent
from tienlen_agents.exact.errors import PositionError
from tienlen_agents.exact.tree import Tree, build
from tienlen_env.engine.variant import Variant
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import format_cards, parse_cards

PASS: Final = "-"
MOST_SHOWN: Final = 60  # hands


def _read_plays(text: str) -> list[int]:
    """Card masks of plays separated by commas; 0 for a pass.

    Raises:
        NotationError: what is not cards.
    """
    plays = [part.strip() for part in text.split(",") if part.strip()]
    return [0 if play in (PASS, "pass") else parse_cards(play) for play in plays]


def hands_at(tree: Tree, node: int, seat: int) -> tuple[IntArray, IntArray]:
    """The slots of a seat at a node, int64 (n,), and the masks of the hands as they were dealt."""
    t, P = tree.arrays, tree.num_players
    slots = np.arange(t.slot_start[node * P + seat], t.slot_start[node * P + seat + 1])
    at, where = slots, node
    while tree.parent[where] >= 0:
        at, where = t.up[at].astype(np.int64), int(tree.parent[where])
    return slots, tree.deals.hands[t.up[at]]


def _nodes_after(tree: Tree, plays: list[int]) -> list[int]:
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
    wanted, history = parse_cards(hand), _read_plays(plays)
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
