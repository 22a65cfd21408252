"""The exact packing against brute force: all piles of up to 7 cards, many of 8 to 12 (RULES.md 8.11)."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numba
import numpy as np
import pytest

from tests.oracles.oracle_thirteens import best_packing
from tienlen_env.engine.backends import jit
from tienlen_env.games.thirteens import melds, spec, state as R
from tienlen_env.games.thirteens.actions import MELDS, PAIRS, STRAIGHTS, THIRTEENS
from tienlen_env.games.thirteens.cards import CARD_TEXT, parse_cards
from tienlen_env.games.thirteens.melds import best_melds, pack, pip_counts, without
from tienlen_env.games.thirteens.rules import ThirteensRules

SPEC = spec.build_spec(ThirteensRules())[0]
NUM_RANDOM = 2_000  # of each number of cards


@numba.njit
def by_subsets(pips: Any) -> int:
    """The worth of the best packing of some pips: the best of every subset, from the meld of its lowest card.

    Written without counts: a meld is any subset of cards that is one by its definition.
    """
    n = len(pips)
    meld = np.zeros(1 << n, np.int64)
    for subset in range(1, 1 << n):
        total, size, low, high = 0, 0, 99, 0
        for i in range(n):
            if subset >> i & 1:
                total += pips[i]
                size += 1
                low, high = min(low, pips[i]), max(high, pips[i])
        if total == 13:
            meld[subset] = (3 << 40) + (1 << 24)
        elif size == 2 and low == high:
            meld[subset] = (1 << 40) + (1 << 16)
        elif size == 3 and high == low + 2 and total == 3 * low + 3:
            # Sums alone would let 5-5-8 pass for no run, but 4-4-7 has high = low + 3: only 4-5-6 is left,
            # or 4-x-6 with x = 5 by the sum.
            meld[subset] = (1 << 40) + (1 << 8)
    best = np.zeros(1 << n, np.int64)
    for subset in range(1, 1 << n):
        first = subset & -subset
        others = subset ^ first
        best[subset] = best[others]  # the first card stays out
        some = others
        while True:
            worth = meld[some | first]
            if worth:
                best[subset] = max(best[subset], worth + best[others ^ some])
            if some == 0:
                break
            some = (some - 1) & others
    return best[-1]


@jit.loop
def kernel_on(spec: Any, cards: Any, out: Any) -> None:
    for i in range(len(cards)):
        out[i] = best_melds(spec, cards[i])


@numba.njit
def brute_on(pips: Any, out: Any) -> None:
    for i in range(len(pips)):
        out[i] = by_subsets(pips[i])


def mask_of_pips(pips: tuple[int, ...]) -> int:
    """Cards of given pips, at most four of each, in the lowest suits."""
    mask = 0
    for pip, count in Counter(pips).items():
        rank = (pip + 10) % 13
        mask |= ((1 << count) - 1) << 4 * rank
    return mask


def compare(multisets: list[tuple[int, ...]]) -> None:
    """The compiled kernel on all of them, of one size, against brute force."""
    cards = np.array([mask_of_pips(p) for p in multisets])
    assert len(np.unique(cards)) == len(set(multisets))
    kernel, brute = np.empty(len(cards), np.int64), np.empty(len(cards), np.int64)
    kernel_on(SPEC, cards, kernel)
    brute_on(np.array(multisets), brute)
    wrong = np.flatnonzero(kernel != brute)
    assert not len(wrong), f"{multisets[wrong[0]]}: {kernel[wrong[0]]:x}, not {brute[wrong[0]]:x}"


@pytest.mark.parametrize("size", range(1, 8))
def test_every_multiset_of_up_to_seven_cards(size: int) -> None:
    every = [
        pips
        for pips in combinations_with_replacement(range(1, 14), size)
        if size < 5 or max(Counter(pips).values()) <= 4
    ]
    # All multisets, less those with five or more of a pip.
    assert len(every) == sum(
        (-1) ** k * comb(13, k) * comb(12 + size - 5 * k, 12) for k in range(size // 5 + 1)
    )
    compare(every)


@pytest.mark.parametrize("size", range(8, 13))
def test_random_multisets_of_more_cards(size: int) -> None:
    rng = random.Random(size)
    found = []
    for i in range(NUM_RANDOM):
        # Half of them of a few neighbouring pips, where straights and pairs compete.
        low, high = (1, 13) if i % 2 else (rng.randint(1, 9), 0)
        deck = [pip for pip in range(low, (high or low + 4) + 1) for _ in range(4)]
        found.append(tuple(sorted(rng.sample(deck, size))))
    compare(found)


def test_the_kernel_in_plain_python_is_the_same() -> None:
    rng = random.Random(0)
    cards = [sum(1 << c for c in rng.sample(range(54), rng.randint(1, 13))) for _ in range(300)]
    cards = [c for c in cards if (c & (1 << 52) - 1).bit_count() <= 12]
    kernel = np.empty(len(cards), np.int64)
    kernel_on(SPEC, np.array(cards), kernel)
    assert [best_melds(SPEC.tolist(), c) for c in cards] == kernel.tolist()


def test_the_oracle_packs_as_well() -> None:
    """Two brute forces, one on texts: neither repeats the other's mistakes."""
    rng = random.Random(5)
    for _ in range(400):
        some = rng.sample(CARD_TEXT[:52], rng.randint(1, 7))
        pips = np.array(["A23456789TJQK".index(c[0]) + 1 for c in some])
        best = best_packing(some)
        worth = by_subsets(pips)
        assert worth >> 40 == best["points"]
        lanes = {"thirteen": R.THIRTEENS, "pair": R.PAIRS, "straight": R.STRAIGHTS}
        assert {k: worth >> lane & 255 for k, lane in lanes.items()} == {k: best[k] for k in lanes}


@pytest.mark.parametrize(
    ("pips", "points"),
    [
        ((3, 5, 5, 10), 4),  # greedy by pairs: 5 5 alone, 1; a thirteen and a pair
        ((1, 7, 12, 13), 6),
        ((3, 3, 3, 10), 4),
        ((1, 12, 13), 6),
        ((11, 12, 13), 3),  # the king, not the straight
        ((13, 13), 6),
        ((9, 9, 10, 10, 11, 11), 3),  # three pairs, not two straights
        ((7, 8, 9, 9, 10, 11), 2),  # two straights, not the pair
        ((3, 4, 5, 5, 6, 7), 6),  # 3+4+6 and a 5 left, but 3+5+5 and 6+7 are two thirteens
        ((1, 2, 13), 3),
        # The king, 1+5+7, 2+11 and a pair; by 1+12 and 2+11 a point less.
        ((1, 2, 3, 5, 7, 11, 12, 12, 13), 10),
        ((8,), 0),
    ],
)
def test_some_piles(pips: tuple[int, ...], points: int) -> None:
    best = best_melds(SPEC.tolist(), mask_of_pips(pips)) >> melds.POINTS
    assert best == by_subsets(np.array(pips)) >> 40
    assert best == points


def test_greedy_is_not_enough() -> None:
    """Of {3, 5, 5, 10}, taking 3+5+5 first leaves nothing for the 10 (RULES.md 8.11)."""
    cards = parse_cards("3s 5s 5h Tc")
    assert best_melds(SPEC.tolist(), cards) >> melds.POINTS == 4
    assert [(str(meld), mask) for meld, mask in pack(cards)] == [
        ("meld T+3", parse_cards("3s Tc")),
        ("meld 5 5", parse_cards("5s 5h")),
    ]


def test_pip_counts() -> None:
    for card, text in enumerate(CARD_TEXT[:52]):
        assert pip_counts(1 << card) == 1 << 4 * "A23456789TJQK".index(text[0])
    assert pip_counts(3 << 52) == 0
    assert pip_counts((1 << 54) - 1) == 0x4444444444444


def test_table_of_melds() -> None:
    """All ways to thirteen with four cards of a pip, found another way; 13 pairs; 11 straights."""
    ways = {(): 0}
    for pip in range(1, 14):
        ways = {
            (*way, *(pip,) * count): total + pip * count
            for way, total in ways.items()
            for count in range(5)
            if total + pip * count <= 13
        }
    assert sorted(tuple(sorted(m.pips)) for m in THIRTEENS) == sorted(
        w for w, total in ways.items() if total == 13
    )
    assert (len(THIRTEENS), len(PAIRS), len(STRAIGHTS)) == (76, 13, 11)


@pytest.mark.parametrize("meld", MELDS, ids=str)
def test_melds_take_cards_of_the_lowest_ids(meld: Any) -> None:
    """Out of the whole deck."""
    deck = (1 << 52) - 1
    taken = deck ^ without(deck, meld.need)
    assert taken.bit_count() == len(meld.pips)
    assert taken == mask_of_pips(meld.pips)


def test_pack_lays_down_what_the_kernel_counts() -> None:
    rng = random.Random(3)
    for _ in range(300):
        cards = sum(1 << c for c in rng.sample(range(54), rng.randint(1, 12)))
        worth = best_melds(SPEC.tolist(), cards)
        laid = pack(cards)
        assert sum(meld.points for meld, _ in laid) == worth >> melds.POINTS
        kinds = Counter(meld.kind for meld, _ in laid)
        lanes = (worth >> R.THIRTEENS & 255, worth >> R.PAIRS & 255, worth >> R.STRAIGHTS & 255)
        assert (kinds["thirteen"], kinds["pair"], kinds["straight"]) == lanes
        used = 0
        for meld, mask in laid:
            assert mask & used == 0
            assert mask & ~cards == 0
            assert pip_counts(mask) == meld.need
            used |= mask
