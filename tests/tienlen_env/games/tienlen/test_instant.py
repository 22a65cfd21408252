"""How often a hand is an instant win: exact counts, the document, the engine's deals (RULES.md 4.30)."""

from __future__ import annotations

from importlib.resources import files
from math import comb

import numpy as np
import pytest

from tests.instant_wins import (
    ALL_HANDS,
    as_line,
    count_hands,
    deals,
    declared,
    rows,
    shares,
    shows,
    suits_by_rank,
)
from tests.oracles.oracle_south import find_instant
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.tienlen.rules import NORTH, PRESETS, SOUTH

NIGHTLY_DEALS = 10_000_000


def test_4_30_counts_that_a_formula_gives() -> None:
    assert count_hands(SOUTH) == 0
    assert count_hands(SOUTH, "four_twos") == count_hands(NORTH, "four_threes") == comb(48, 9)
    assert count_hands(SOUTH, "dragon") == 4**13 + 12 * comb(4, 2) * 4**11, "with a 2, or a rank twice"
    assert count_hands(NORTH, "dragon") == 4 * 40
    assert count_hands(SOUTH, "one_colour") == 2 * comb(26, 13)
    assert count_hands(SOUTH, "one_suit") == 4
    assert count_hands(SOUTH, "three_quads") == comb(13, 3) * 40
    six = (
        0  # ranks of four of a kind, ranks of pairs, and the 13th card: of another rank or a third of a pair
    )
    for quads in range(4):
        pairs = 6 - 2 * quads
        ranks = comb(13, quads) * comb(13 - quads, pairs)
        other_rank = 6**pairs * 4 * (13 - quads - pairs)
        third = pairs * 4 * 6 ** (pairs - 1) if pairs else 0
        six += ranks * (other_rank + third)
    assert count_hands(SOUTH, "six_pairs") == six


def test_4_30_the_table_in_the_document() -> None:
    document = (files("tienlen_env") / "RULES.md").read_text(encoding="utf-8").splitlines()
    for row in rows():
        assert any(line.startswith(as_line(row)) for line in document), as_line(row)


@pytest.mark.parametrize("name", ["south", "north"])
def test_4_30_the_engine_finds_what_the_patterns_say(name: str) -> None:
    """A player declares if and only if a hand of the deal shows a pattern; the seat is the oracle's."""
    rules, number = PRESETS[name], 40_000
    hands = deals(number)
    seats = declared(rules, number)
    suits = suits_by_rank(hands)
    shown = np.logical_or.reduce([shows(rules, word, suits) for word in rules.instant_wins])
    assert np.array_equal(seats >= 0, shown.any(axis=1))
    for deal in np.flatnonzero(seats >= 0)[:25]:
        found = find_instant(rules, [card_ids(h) for h in hands[deal].tolist()], first_game=True)
        assert found is not None
        assert found[0] == seats[deal]


@pytest.mark.nightly
def test_4_30_ten_million_deals() -> None:
    measured = shares(NIGHTLY_DEALS)
    for row in rows():
        hits, _ = measured[row.preset, row.word]
        away = abs(hits / NIGHTLY_DEALS - row.probability)
        assert away <= 4 * row.standard_error(NIGHTLY_DEALS) + 1 / NIGHTLY_DEALS, (row, hits)
    assert sum(row.hands for row in rows()) < 2 * ALL_HANDS
