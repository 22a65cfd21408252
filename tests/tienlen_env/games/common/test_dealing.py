"""Hands that are drawn from a key, by their definition, in plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.plays import mask_of
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.bits import FULL, philox
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.common.dealing import check_disjoint, draw_cards, redeal_others


def by_definition(pool: list[int], num_cards: int, key: int, stream: int, block: int) -> list[int]:
    """One card after the other, each at the place that its block's first word says."""
    left, drawn = list(pool), []
    for i in range(num_cards):
        drawn.append(left.pop(philox(key, stream, block + i)[0] * len(left) // 2**32))
    return drawn


def test_cards_are_drawn_by_the_words_of_their_blocks() -> None:
    rng = random.Random(0)
    for _ in range(60):
        pool = rng.sample(range(52), rng.randint(1, 52))
        num, key = rng.randint(0, len(pool)), rng.getrandbits(63)
        stream, block = rng.randrange(9), rng.randrange(99)
        expected = by_definition(sorted(pool), num, key, stream, block)
        assert card_ids(draw_cards(mask_of(pool), num, key, stream, block)) == sorted(expected)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_others_get_as_many_unseen_cards_as_they_had(num_players: int) -> None:
    rng = random.Random(num_players)
    for seat in range(num_players):
        deck = rng.sample(range(52), 52)
        sizes = [rng.randint(0, 9) for _ in range(num_players)]
        row = [7, 7]
        for size in sizes:
            row.append(mask_of(deck[:size]))
            deck = deck[size:]
        row.append(7)
        before, unseen = list(row), FULL & ~row[2 + seat]
        redeal_others(row, 2, num_players, seat, unseen, 5)  # type: ignore[arg-type]
        assert [row[0], row[1], row[-1], row[2 + seat]] == [7, 7, 7, before[2 + seat]]
        left, block = unseen, 0
        for other in range(num_players):
            if other != seat:
                expected = by_definition(card_ids(left), sizes[other], 5, 0, block)
                assert row[2 + other] == mask_of(expected)
                left ^= row[2 + other]
                block += sizes[other]


def test_masks_that_are_disjoint() -> None:
    masks = np.array([[1, 2, 12], [0, 0, 0], [1 << 51, 1, 0]])
    assert check_disjoint(masks, 52).tolist() == [15, 0, 1 << 51 | 1]
    for wrong in (-1, 1 << 52):
        with pytest.raises(TienLenError, match="beyond the 52 cards"):
            check_disjoint(np.array([[1, wrong]]), 52)
    for twice in ([1, 1], [3, 2]):
        with pytest.raises(TienLenError, match="a card is in two hands"):
            check_disjoint(np.array([[4, 8], twice]), 52)
