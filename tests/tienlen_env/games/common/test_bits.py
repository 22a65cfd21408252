"""Bit operations by their definitions, in plain Python, on words of few, many and all bits."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import pytest

from tienlen_env.games.common import bits

RNG = random.Random(0)
WORDS = [0, 1, -1, 2**63 - 1, -(2**63), 1 << 51, *(1 << i for i in range(0, 63, 5))]
WORDS += [RNG.getrandbits(64) - 2**63 for _ in range(60)]
WORDS += [RNG.getrandbits(63) & RNG.getrandbits(63) & RNG.getrandbits(63) for _ in range(30)]
CARDS = [*(word & bits.FULL for word in WORDS), bits.FULL, bits.FULL >> 4]


def set_bits(word: int, size: int = 64) -> list[int]:
    """The indices of the bits that are set."""
    return [i for i in range(size) if word >> i & 1]


def signed(number: int) -> int:
    """The lowest 64 bits as a signed word."""
    number %= 2**64
    return number - 2**64 if number >= 2**63 else number


@pytest.mark.parametrize("as_word", [int, np.int64])
def test_counts_and_indices(as_word: Callable[[int], Any]) -> None:
    for word in WORDS:
        found = set_bits(word)
        assert bits.popcount(as_word(word)) == len(found)
        if word:
            assert bits.lowest_index(as_word(word)) == found[0]
            for n in {0, len(found) // 2, len(found) - 1}:
                assert bits.nth_index(word, n) == found[n]
        if word > 0:
            assert bits.highest_index(as_word(word)) == found[-1]


def test_words_that_wrap() -> None:
    for word in WORDS:
        for n in (0, 1, 7, 31, 32, 62, 63):
            assert bits.shift_left(word, n) == signed(word << n)
            assert n == 0 or bits.shift_right(word, n) == word % 2**64 >> n
            assert bits.add(word, 3**n) == signed(word + 3**n)
    for size in (1, 2, 13, 52):
        for n in range(size):
            word = RNG.getrandbits(size)
            expected = [(i - n) % size for i in set_bits(word, size)]
            assert set_bits(bits.rotate(word, n, size), size) == sorted(expected)
            assert bits.wrap(n, size) == n
            assert bits.wrap(size + n, size) == n


def test_ranks() -> None:
    for cards in CARDS:
        ranks = [[c for c in set_bits(cards) if c // 4 == rank] for rank in range(13)]
        assert set_bits(bits.lowest_of_rank(cards)) == [held[0] for held in ranks if held]
        assert set_bits(bits.ranks_of(cards)) == [4 * rank for rank in range(13) if ranks[rank]]


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_tops_of_sets_are_closed_up(width: int) -> None:
    """The lowest ``width - 1`` suits are dropped; what is in them does not matter."""
    each = 5 - width
    for cards in CARDS:
        tops = [c for c in set_bits(cards) if c % 4 >= width - 1]
        expected = [each * (c // 4) + c % 4 - (width - 1) for c in tops]
        assert set_bits(bits.squeeze(cards, width)) == expected


def test_bits_are_set_across_words() -> None:
    for word in [word for word in WORDS if word >= 0]:
        for first in (0, 1, 30, 63, 64, 100, 127):
            words = [5, 0, 1 << 20, 0, 9]
            before = sum((each % 2**64) << 64 * i for i, each in enumerate(words))
            bits.or_bits(words, 1, first, word)  # type: ignore[arg-type]
            after = sum((each % 2**64) << 64 * i for i, each in enumerate(words))
            assert after == before | word << (64 + first)
            assert all(-(2**63) <= each < 2**63 for each in words)


def outputs(size: int) -> list[tuple[Any, Callable[[], list[int]]]]:
    """An output of bytes and one of bits, and what reads its items."""
    in_bytes, words = np.ones(size, np.int8), np.full(-(-size // 64), -1)
    packed = bits.PackedBits(words)
    return [
        (in_bytes, lambda: in_bytes.tolist()),
        (packed, lambda: [int(words[i >> 6]) >> (i & 63) & 1 for i in range(size)]),
    ]


@pytest.mark.parametrize("start", [0, 1, 40, 63, 64, 100])
def test_items_are_overwritten_and_no_others(start: int) -> None:
    writers: list[tuple[int, Callable[[Any, int, int], None]]] = [
        (64, bits.write_word),
        (32, bits.write_half),
        *((n, lambda out, at, word, n=n: bits.write_bits(out, at, word, n)) for n in (0, 1, 5, 63, 64)),
    ]
    for word in WORDS[::7]:
        for size, write in writers:
            for out, read in outputs(192):
                write(out, start, word)
                new = [word >> i & 1 for i in range(size)]
                assert read() == [1] * start + new + [1] * (192 - start - size)
    for out, read in outputs(192):
        bits.write_bits(out, 192, 1, 0)  # nothing, behind the last item
        assert read() == [1] * 192
    for size in (0, 1, 64, 65, 90):
        for out, read in outputs(192):
            bits.clear_items(out, start, size)
            assert read() == [1] * start + [0] * size + [1] * (192 - start - size)


def test_an_item_of_packed_bits() -> None:
    for out, read in outputs(70):
        out[69] = 0
        out[3] = 0
        assert [i for i, item in enumerate(read()) if not item] == [3, 69]
        out[69] = 1
        assert read()[69] == 1


def test_a_row_as_an_output() -> None:
    row = np.full(3, -1)
    out: Any = bits.as_output(row)
    assert isinstance(out, bits.PackedBits)
    assert row.tolist() == [-1, -1, 0]
    in_bytes = np.ones(5, np.uint8)
    assert bits.as_output(in_bytes) is in_bytes
    assert in_bytes.all()


def test_philox_gives_the_published_words() -> None:
    """The first of the authors' known answers, and ten rounds written down once more."""
    assert bits.philox(0, 0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    for _ in range(20):
        key, counter = (RNG.getrandbits(64) - 2**63 for _ in range(2))
        block = RNG.getrandbits(20)
        c = [counter % 2**32, counter % 2**64 >> 32, block, 0]
        k = [key % 2**32, key % 2**64 >> 32]
        for _ in range(10):
            first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [second >> 32 ^ c[1] ^ k[0], second % 2**32, first >> 32 ^ c[3] ^ k[1], first % 2**32]
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        assert bits.philox(key, counter, block) == tuple(c)


def test_keys_of_successive_deals() -> None:
    """2**64 over the golden ratio, rounded down, as a signed word; odd, so that its multiples meet all."""
    assert bits.shift_left((isqrt(5 << 128) - (1 << 64)) // 2, 0) == bits.KEY_STEP
    assert bits.KEY_STEP % 2 == 1
