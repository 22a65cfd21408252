"""Bit operations on scalars: the few primitives that a backend may replace by one instruction.

The Python bodies are the definition; `engine.backends.overloads` gives compiled code the same meaning. All
numbers are signed 64-bit words, so that NumPy, Numba and CUDA hold them as ``int64``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tienlen_env.games.common.arrays import Items, Output, Row

FULL: Final = (1 << 52) - 1
LOWEST_SUIT: Final = 0x1111111111111  # the spade of every rank
_HAS_LOWER_1: Final = 0xEEEEEEEEEEEEE
_HAS_LOWER_2: Final = 0xCCCCCCCCCCCCC
_SIGN: Final = 1 << 63

# Keys of successive automatic deals differ by this odd number (2**64 over the golden ratio), so that no two
# games of a batch ever fall into the same sequence of keys.
KEY_STEP: Final = 0x9E3779B97F4A7C15 - (1 << 64)


def popcount(x: int) -> int:
    """Number of bits set in a word."""
    return (int(x) & 0xFFFFFFFFFFFFFFFF).bit_count()


def lowest_index(x: int) -> int:
    """Index of the lowest bit set; `x` is not 0."""
    return (int(x) & -int(x)).bit_length() - 1


def highest_index(x: int) -> int:
    """Index of the highest bit set; 0 < x < 2**63."""
    return int(x).bit_length() - 1


def nth_index(x: int, n: int) -> int:
    """Index of the n-th bit set, from 0; `x` has more than n."""
    for _ in range(n):
        x &= x - 1
    return lowest_index(x)


def shift_left(x: int, n: int) -> int:
    """``x << n`` for 0 <= n < 64, wrapped to a signed word."""
    return ((int(x) << int(n)) + _SIGN & 0xFFFFFFFFFFFFFFFF) - _SIGN


def shift_right(x: int, n: int) -> int:
    """``x >> n`` for 0 < n < 64, zeros shifted in."""
    return (int(x) & 0xFFFFFFFFFFFFFFFF) >> int(n)


def add(x: int, y: int) -> int:
    """``x + y`` wrapped to a signed word."""
    return (int(x) + int(y) + _SIGN & 0xFFFFFFFFFFFFFFFF) - _SIGN


def wrap(x: int, n: int) -> int:
    """``x`` mod ``n`` for 0 <= x < 2n, without a branch: seats come round unpredictably."""
    return x - (n & n - 1 - x >> 63)


def rotate(word: int, n: int, size: int) -> int:
    """Rotate the lowest `size` bits of a word down by n <= size < 64."""
    return (word >> n | word << (size - n)) & ((1 << size) - 1)


class PackedBits(NamedTuple):
    """An output of kernels that holds bits: item i is bit ``i & 63`` of ``words[i >> 6]``.

    Attributes:
        words: int64 (ceil(n / 64),), for n items.
    """

    words: Row

    def __setitem__(self, i: int, value: int) -> None:
        put_bits(self.words, i, value, 1)


def put_bits(words: Row, start: int, bits: int, num_bits: int) -> None:
    """Overwrite `num_bits` (1..64) bits of words of 64, from bit `start` on, by the lowest bits of a word."""
    at, offset = start >> 6, start & 63
    field = -1 if num_bits == 64 else (1 << num_bits) - 1
    new = bits & field
    words[at] = (int(words[at]) & ~shift_left(field, offset)) | shift_left(new, offset)
    if offset + num_bits > 64:
        behind = 64 - offset
        words[at + 1] = (int(words[at + 1]) & ~shift_right(field, behind)) | shift_right(new, behind)


def as_output(row: Items) -> Output:
    """A row of a mask or an observation as an output of kernels.

    Args:
        row: bytes, one an item; or int64 words, one bit an item. Bits behind the last item become 0.
    """
    if row.dtype.itemsize == 1:
        return row
    row[len(row) - 1] = 0  # the writer overwrites all items
    return PackedBits(row)


def write_word(out: Output, start: int, word: int) -> None:
    """Expand a word to 64 items of 0 and 1, ``out[start:start + 64]``.

    Writers of shorter pieces go from left to right, so that the next piece covers the surplus zeros, and
    end with one word that closes exactly at the end of their row.
    """
    write_bits(out, start, word, 64)


def write_half(out: Output, start: int, word: int) -> None:
    """Expand the low 32 bits of a word to 0 and 1 in ``out[start:start + 32]``, for short rows."""
    write_bits(out, start, word, 32)


def write_bits(out: Output, start: int, word: int, num_bits: int) -> None:
    """Expand the lowest 0..64 bits of a word to ``out[start:start + num_bits]``, and change no other item."""
    if isinstance(out, PackedBits):
        if num_bits > 0:
            put_bits(out.words, start, word, num_bits)
    else:
        for i in range(num_bits):
            out[start + i] = word >> i & 1


def clear_items(out: Output, start: int, size: int) -> None:
    """Write zeros to ``out[start:start + size]``."""
    for first in range(0, size, 64):
        write_bits(out, start + first, 0, min(64, size - first))


def or_bits(words: Row, start: int, first: int, bits: int) -> None:
    """Set up to 64 bits, from bit `first` on, in words of 64 that begin at index `start`."""
    word = start + (first >> 6)
    offset = first & 63
    words[word] |= shift_left(bits, offset)
    words[word + 1] |= bits >> 1 >> (63 - offset)


def lowest_of_rank(cards: int) -> int:
    """The lowest card of every rank in a mask."""
    at_or_above = cards | (cards << 1 & _HAS_LOWER_1)
    at_or_above |= at_or_above << 2 & _HAS_LOWER_2
    return cards & ~(at_or_above << 1 & _HAS_LOWER_1)


def ranks_of(cards: int) -> int:
    """The ranks in a mask, each as the spade bit of its nibble."""
    pairs = cards | cards >> 1
    return (pairs | pairs >> 2) & LOWEST_SUIT


def squeeze(cards: int, width: int) -> int:
    """Close up a mask of top cards of sets to the bits that can be tops.

    A set of `width` cards cannot be topped by the lowest ``width - 1`` suits; dropping those leaves
    ``5 - width`` bits a rank, the order of the action ids (RULES.md 7).
    """
    if width == 1:
        return cards
    if width == 2:
        x = cards >> 1
        x = (x & 0x0707070707070707) | (x >> 1 & 0x3838383838383838)
        x = (x & 0x003F003F003F003F) | (x >> 2 & 0x0FC00FC00FC00FC0)
        x = (x & 0x00000FFF00000FFF) | (x >> 4 & 0x00FFF00000FFF000)
        return (x & 0xFFFFFF) | (x >> 8 & 0xFFFFFF000000)
    if width == 3:
        x = cards >> 2
        x = (x & 0x0303030303030303) | (x >> 2 & 0x0C0C0C0C0C0C0C0C)
        x = (x & 0x000F000F000F000F) | (x >> 4 & 0x00F000F000F000F0)
        x = (x & 0x000000FF000000FF) | (x >> 8 & 0x0000FF000000FF00)
        return (x & 0xFFFF) | (x >> 16 & 0xFFFF0000)
    x = cards >> 3
    x = (x & 0x0101010101010101) | (x >> 3 & 0x0202020202020202)
    x = (x & 0x0003000300030003) | (x >> 6 & 0x000C000C000C000C)
    x = (x & 0x0000000F0000000F) | (x >> 12 & 0x000000F0000000F0)
    return (x & 0xFF) | (x >> 24 & 0xFF00)


def philox(key: int, counter: int, block: int) -> tuple[int, int, int, int]:
    """Philox4x32-10 (Salmon et al. 2011): four 32-bit words, a pure function of its arguments.

    Args:
        key: 64 bits, as a signed word.
        counter: the low 64 bits of the counter, as a signed word.
        block: the third 32-bit word of the counter; the fourth is 0.
    """
    mask = 0xFFFFFFFF
    k0, k1 = key & mask, key >> 32 & mask
    c0, c1, c2, c3 = counter & mask, counter >> 32 & mask, block & mask, 0
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 & mask ^ c1 ^ k0, p1 & mask, p0 >> 32 & mask ^ c3 ^ k1, p0 & mask
        k0, k1 = k0 + 0x9E3779B9 & mask, k1 + 0xBB67AE85 & mask
    return c0, c1, c2, c3
