"""What a hand costs at the end, and whether it wins at the deal, against the oracle, in plain Python."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

import pytest

from tests.oracles.oracle_south import dearest, top_of_pattern
from tests.plays import mask_of
from tienlen_env.games.tienlen.instant import instant_top
from tienlen_env.games.tienlen.payments import bombs_score, twos_price
from tienlen_env.games.tienlen.rules import NORTH, SOUTH, SOUTH_COUNT, InstantWin, Rules
from tienlen_env.games.tienlen.spec import PAY_HELD_TWOS, build_spec

WORDS: tuple[InstantWin, ...] = get_args(InstantWin)  # the order of the kinds, from 1
RULES = {
    "south": SOUTH,
    "count": SOUTH_COUNT,
    "north": NORTH,
    "quads_first": replace(SOUTH, held_overlap="quads_first"),
    "cheap_quads": replace(SOUTH, pay_held_bombs={"2x3": 9, "2x4": 10, "2x6": 30, "4x1": 3}),
    "bound_quads_first": replace(NORTH, held_overlap="quads_first"),
    "bound_and_dear": replace(NORTH, pay_held_bombs={"2x3": 20, "2x4": 30, "4x1": 9}),
    "no_runs": replace(SOUTH, pay_held_bombs={"4x1": 5}),
}


def a_hand(rng: random.Random, most: int = 13) -> list[int]:
    """Many cards of a few neighbouring ranks, without 2s."""
    low, size = rng.randrange(9), rng.randint(1, most)
    near = range(4 * low, min(4 * low + rng.choice((12, 16, 24, 32)), 48))
    held = set(rng.sample(near, min(size, len(near))))
    held |= set(rng.sample(range(48), max(0, size - len(held))))
    return sorted(held)[:most]


@pytest.mark.parametrize("name", RULES)
def test_the_dearest_bombs_of_a_hand(name: str) -> None:
    rules, rng = RULES[name], random.Random(name)
    spec = build_spec(rules).spec.tolist()
    for _ in range(40):
        hand, card = a_hand(rng, rng.choice((8, 13))), rng.choice((0, 1, 1, 2, 3))
        score = bombs_score(spec, mask_of(hand), card)
        more = score + 63 >> 6
        num_in_bombs = more * 64 - score
        split = dearest(rules, hand, card)
        assert more + card * num_in_bombs == split.bombs, (hand, card)
        assert len(hand) - num_in_bombs == split.num_cards, (hand, card)


def test_the_price_of_twos() -> None:
    spec = build_spec(replace(SOUTH, pay_held_twos=(3, 5))).spec.tolist()
    for twos in range(16):
        black, red = (twos & 3).bit_count(), (twos >> 2).bit_count()
        assert twos_price(spec, PAY_HELD_TWOS, twos << 48 | 0xFF) == 3 * black + 5 * red


def a_pattern(rng: random.Random, rules: Rules) -> list[int]:
    """A hand of 13 cards that shows, or nearly shows, a pattern."""
    ranks = rng.sample(range(13), 13)
    low = rng.randrange(9)
    shapes = {
        "one suit": [4 * r + low % 4 for r in range(13)],
        "a run": [4 * r + rng.randrange(4) for r in range(rng.randrange(2), 13)],
        "a suited run": [4 * r + low % 4 for r in range(12)],
        "pairs in a row": [4 * r + s for r in range(low, min(low + 5, 13)) for s in rng.sample(range(4), 2)],
        "bound pairs in a row": [4 * r + s for r in range(low, min(low + 6, 13)) for s in (0, 1)],
        "pairs": [4 * r + s for r in ranks[:6] for s in rng.sample(range(4), 2)],
        "bound pairs": [4 * r + s for r in ranks[:6] for s in rng.choice(((0, 1), (2, 3)))],
        "pairs and quads": [4 * r + s for r in ranks[:3] for s in range(4)],
        "quads of threes and twos": [0, 1, 2, 3, 48, 49, 50, 51],
        "triples": [4 * r + s for r in ranks[:3] for s in rng.sample(range(4), 3)],
        "triples in a row": [
            4 * r + s for r in range(low, min(low + 3, 13)) for s in rng.sample(range(4), 3)
        ],
        "a colour": [4 * r + s for r in ranks for s in (0, 1)],
        "the other colour": [4 * r + s for r in ranks for s in (2, 3)],
    }
    cards = set(shapes[rng.choice(list(shapes))][:13])
    if rng.random() < 0.4:
        cards -= {rng.choice(sorted(cards))}
    rest = [c for c in range(52) if c not in cards]
    return sorted(cards | set(rng.sample(rest, 13 - len(cards))))


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("word", WORDS)
def test_a_pattern_and_its_highest_card(word: InstantWin, part: int) -> None:
    rng, num_shown = random.Random(f"{word} {part}"), 0
    for bind in (False, True):
        for quad_is_two in (False, True):
            rules = replace(NORTH if bind else SOUTH, quad_is_two_pairs=quad_is_two, instant_wins=(word,))
            for _ in range(12):
                hand = a_pattern(rng, rules)
                top = instant_top(mask_of(hand), 1 + WORDS.index(word), bind, quad_is_two, 1, 13)
                assert top == 1 + top_of_pattern(rules, word, hand), (rules, hand)
                num_shown += top > 0
    assert num_shown or part
    assert instant_top(15, 1 + WORDS.index("four_threes"), 0, 0, 0, 13) == 0  # of the first round alone
    assert instant_top(15, 1 + WORDS.index("four_threes"), 0, 0, 1, 13) == 4
    assert instant_top(1, 1 + WORDS.index("one_colour"), 0, 0, 0, 1) == 1  # a whole hand of one card, 3♠
