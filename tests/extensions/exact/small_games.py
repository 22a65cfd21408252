"""Small games expanded history by history on `Batch`, without the public tree: the reference of its tests."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tienlen_exact.agent import hands_at
from tienlen_exact.small_tienlen import SmallGame
from tienlen_exact.tree import PublicTree

Event = tuple[int, int, int]  # seat, action, cards
History = tuple[Event, ...]
SetKey = tuple[int, int, History]  # seat, hand as dealt, plays before


class Expanded(NamedTuple):
    """All histories of a game.

    Attributes:
        deals: the hands of each deal.
        turn: the seat to act, by deal and history.
        legal: its actions with their cards.
        returns: what the seats earned, by deal and history that is over.
    """

    deals: list[tuple[int, ...]]
    turn: dict[tuple[int, History], int]
    legal: dict[tuple[int, History], dict[int, int]]
    returns: dict[tuple[int, History], tuple[float, ...]]

    def key_of(self, deal: int, history: History) -> SetKey:
        """The information set of a decision."""
        seat = self.turn[deal, history]
        return seat, self.deals[deal][seat], history

    def after(self, deal: int, history: History, action: int) -> History:
        """The history after an action."""
        at = deal, history
        return (*history, (self.turn[at], action, self.legal[at][action]))

    def information_sets(self) -> dict[SetKey, set[int]]:
        """The actions of every information set."""
        found: dict[SetKey, set[int]] = {}
        for deal, history in self.turn:
            found.setdefault(self.key_of(deal, history), set()).update(self.legal[deal, history])
        return found


def all_deals(game: SmallGame) -> list[tuple[int, ...]]:
    """Every deal, as masks."""
    cards = [1 << c for c in range(52) if game.rules.deck_mask >> c & 1]
    deals: list[tuple[int, ...]] = [()]
    for _ in range(game.num_players):
        deals = [
            (*deal, sum(hand))
            for deal in deals
            for hand in combinations([c for c in cards if not c & sum(deal)], game.rules.cards_each)
        ]
    return deals


def expand(game: SmallGame) -> Expanded:
    """Play all actions in all deals, one step of a batch for each depth."""
    deals = all_deals(game)
    batch = game.batch(np.array(deals))
    where: list[tuple[int, History]] = [(deal, ()) for deal in range(len(deals))]
    earned = np.zeros((len(deals), game.num_players))
    out = Expanded(deals, {}, {}, {})
    while where:
        turn, listed = batch.state.turn.tolist(), batch.list_legal()
        for i, at in enumerate(where):
            out.turn[at], out.legal[at] = turn[i], {}
        for i, action, cards in zip(listed.game, listed.action, listed.cards, strict=True):
            out.legal[where[i]][int(action)] = int(cards)
        after = batch.select(listed.game)
        rewards, dones = after.step(listed.action)
        earned = earned[listed.game] + rewards
        where = [
            (deal, (*history, (turn[i], int(action), int(cards))))
            for i, action, cards in zip(listed.game, listed.action, listed.cards, strict=True)
            for deal, history in [where[i]]
        ]
        for i in np.flatnonzero(dones):
            out.returns[where[i]] = tuple(earned[i].tolist())
        going = np.flatnonzero(~dones)
        where, earned = [where[i] for i in going], earned[going]
        if where:
            batch = after.select(going)
    return out


def as_table(tree: PublicTree, policy: np.ndarray) -> dict[SetKey, dict[int, float]]:
    """A policy of a tree by information set and action."""
    table: dict[SetKey, dict[int, float]] = {}
    for key, action, probability in zip(*_edges(tree), policy, strict=True):
        table.setdefault(key, {})[action] = float(probability)
    return table


def policy_from(tree: PublicTree, table: dict[SetKey, dict[int, float]]) -> np.ndarray:
    """The policy of a tree that `as_table` gives as this table."""
    return np.array([table[key][action] for key, action in zip(*_edges(tree), strict=True)])


def _edges(tree: PublicTree) -> tuple[list[SetKey], list[int]]:
    """The information set and the action of each probability of a policy."""
    history: list[History] = []
    for node in range(tree.num_nodes):
        parent = int(tree.parent[node])
        event = (
            ()
            if parent < 0
            else ((int(tree.arrays.actor[parent]), int(tree.action[node]), int(tree.cards[node])),)
        )
        history.append((history[parent] if parent >= 0 else ()) + event)
    key_of_slot: dict[int, SetKey] = {}
    for node in range(tree.num_nodes):
        seat = int(tree.arrays.actor[node])
        for slot, hand in zip(*hands_at(tree, node, seat), strict=True):
            key_of_slot[int(slot)] = (seat, int(hand), history[node])
    return [key_of_slot[int(slot)] for slot in tree.edge_slots()], [int(a) for a in tree.edge_actions()]


def num_choices(tree: PublicTree) -> int:
    """The number of information sets with two legal actions or more."""
    return int((np.bincount(tree.edge_slots()) > 1).sum())


def expected(game: Expanded, policy: dict[SetKey, dict[int, float]], seat: int) -> float:
    """What a seat earns on average, history by history."""

    def value(deal: int, history: History) -> float:
        if (deal, history) in game.returns:
            return game.returns[deal, history][seat]
        shares = policy[game.key_of(deal, history)]
        return sum(
            p * value(deal, game.after(deal, history, action)) for action, p in shares.items() if p > 0
        )

    return sum(value(deal, ()) for deal in range(len(game.deals))) / len(game.deals)
