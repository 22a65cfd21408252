"""Legal plays in positions that random play seldom reaches, against the oracles, in plain Python.

A seat leads a combination of a shape that is drawn first, so that rare ones are as frequent as singles; the
others hold what lies just below and above it, and bombs. At an opening all cards are above some rank.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.oracles import oracle, oracle_south
from tests.plays import mask_of
from tests.rare_deals import choose
from tests.tienlen_env.games.tienlen import test_engine_oracle, test_payment_oracle
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.tienlen.rules import NORTH, PRESETS, SOUTH, Rules

NUM_GAMES = 12
BOUND = {
    "north_alone": replace(NORTH, opening_play="alone"),
    "north_of_two": replace(NORTH, num_players=2, rejoin=("4x1", "2x3"), rejoin_twos=False),
    "bound_runs_with_twos": replace(SOUTH, suits_bind=True, rejoin=("2x4",), heir="last_live"),
}
RULES: dict[str, Rules] = {
    **PRESETS, **test_engine_oracle.CUSTOM, **test_payment_oracle.CUSTOM, **BOUND,
}  # fmt: skip


def combinations_of(rules: Rules, hand: Sequence[int]) -> list[frozenset[int]]:
    """Every combination in a hand."""
    if rules.suits_bind:
        return list(oracle_south.combos_of(rules, hand))
    return list(oracle.combos_of_hand(rules, hand))


def a_following(rng: random.Random, rules: Rules) -> tuple[list[list[int]], frozenset[int]]:
    """Hands, and the combination that seat 0 leads."""
    while True:
        deck = card_ids(rules.deck_mask)
        low, length = rng.randrange(12), rng.choice((1, 2, 3, 4, 5, 6, 13))
        ranks = [r for r in range(low, low + length) if r < 13] + [12] * (rng.random() < 0.3)
        near = [c for c in deck if c // 4 in ranks and rng.random() < 0.8]
        found = combinations_of(rules, rng.sample(near, min(len(near), 8)))
        if not found:
            continue
        shapes = sorted({(len(c), len({x // 4 for x in c})) for c in found})
        size = rng.choice(shapes)
        led = rng.choice([c for c in found if (len(c), len({x // 4 for x in c})) == size])
        left = [c for c in deck if c not in led]
        rng.shuffle(left)
        hands = [[*led, left.pop()]]
        bomb = rng.randrange(12)
        for _ in range(1, rules.num_players):
            wanted = {c // 4 for c in led} | {max(led) // 4 + 1, 12}
            wanted |= rng.choice(
                ({bomb}, {bomb, bomb + 1, bomb + 2}, {bomb - 1, bomb, bomb + 1, bomb + 2}, set())
            )
            hand = [c for c in left if c // 4 in wanted and rng.random() < 0.6][: rules.cards_each]
            hands.append(hand or [left[0]])
            left = [c for c in left if c not in hands[-1]]
        return hands, led


def an_opening(rng: random.Random, rules: Rules) -> list[list[int]]:
    """Hands of cards above some rank, the lowest ones with many of its neighbours."""
    while True:
        deck = card_ids(rules.deck_mask)
        low = rng.choice((0, rng.randrange(13), 12))
        left = [c for c in deck if c // 4 >= low and rng.random() < 0.8]
        left = sorted(left, key=lambda c: c + rng.choice((0, 0, 20)))
        size = min(rng.choice((2, 4, 8)), len(left) // rules.num_players, rules.cards_each)
        if size:
            return [
                left[size * seat : size * (seat + 1)]
                for seat in rng.sample(range(rules.num_players), rules.num_players)
            ]


def compare(rules: Rules, seed: str) -> None:
    """Some positions, each for a few plays."""
    rng = random.Random(seed)
    module = oracle_south if rules.has_payments else oracle
    batch = Batch(rules, NUM_GAMES, backend="python")
    oracles: list[Any] = []
    leads: list[frozenset[int] | None] = []
    while len(oracles) < NUM_GAMES:
        is_opening = len(oracles) % 3 == 2
        hands, led = (an_opening(rng, rules), None) if is_opening else a_following(rng, rules)
        leader = None if is_opening else 0
        if module is oracle_south and oracle_south.find_instant(rules, hands, first_game=is_opening):
            continue
        oracles.append(module.Oracle(rules, hands, leader))
        leads.append(led)
    hands_of = np.array([[mask_of(hand) for hand in each.hands] for each in oracles])
    batch.set_hands(hands_of, leader=np.array([-1 if led is None else 0 for led in leads]))
    for play in range(5):
        legal, mask = batch.list_legal(), batch.action_mask()
        starts = [*legal.start.tolist(), len(legal.action)]
        actions, exact = np.full(NUM_GAMES, NO_ACTION), np.zeros(NUM_GAMES, np.int64)
        for b, each in enumerate(oracles):
            mine = legal.action[starts[b] : starts[b + 1]].tolist()
            its = legal.cards[starts[b] : starts[b + 1]].tolist()
            assert mine == np.flatnonzero(mask[b]).tolist()
            assert batch.state.turn[b] == (-1 if each.turn is None or each.round_over else each.turn)
            assert batch.state.places[b].tolist() == each.places
            if each.round_over:
                assert mine == []
                continue
            sets = {
                cards: (mask_of(cards), batch.action_table.classify(mask_of(cards)))
                for cards in each.legal_sets()
            }
            assert mine == sorted({action for _, action in sets.values()})
            assert set(zip(its, mine, strict=True)) <= set(sets.values())
            if rules.suits_bind:
                assert len(mine) == len(sets)
            led = leads[b]
            chosen = led if play == 0 and led is not None else choose(rng, sorted(sets, key=sorted))
            exact[b], actions[b] = sets[chosen]
            each.play(chosen)
        batch.step(actions, exact)


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", RULES)
def test_positions(name: str, part: int) -> None:
    compare(RULES[name], f"{name} {part}")
