"""The device's form of the backend's loops: one thread a game, the games' own kernels.

A thread copies its game's row into memory of its own, works on it, and writes it back: neighbouring threads
then read and write neighbouring numbers (rows are in Fortran order), and the compiler knows that nothing else
changes the row. Masks and observations are written in packed form; `unpack` makes bytes or floats of them:
neighbouring threads then write neighbouring items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import cuda, types

from tienlen_env.engine.backends.per_game import (
    advance,
    begin as begin_game,
    columns,
    is_refused,
    is_refused_with,
    kernels,
    legal,
    parts_of,
)
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import (
    ActionFields,
    AnyArray,
    BoolArray,
    ByteArray,
    FloatArray,
    IntArray,
    RewardArray,
    Spec,
)
from tienlen_env.games.common.bits import as_output, shift_left
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.spec import num_words
from tienlen_env.games.common.specialise import GIVEN, specialise
from tienlen_gpu.cuda.arrays import check_array, is_simulated, native
from tienlen_gpu.cuda.kernel import Kernel, kernel, scratch

# What `flags` says of a game. It is frozen unless it is PLAYING.
PLAYING: Final = 0
REFUSED: Final = 1  # its action was not legal
REFUSED_CARDS: Final = 2  # its action with its cards was not legal


row_size: int = GIVEN
observation_words: int = GIVEN
global_words: int = GIVEN


class DeviceLoops(NamedTuple):
    """The kernels of a game, for one size of rows and observations.

    This module has a function for each, ``(b, ...)`` for game b; "the host's" is the loop of that name in
    `tienlen_env.engine.backends.python`.
    """

    begin: Kernel
    step: Kernel
    sample: Kernel
    write_masks: Kernel
    observe_seats: Kernel
    observe_all: Kernel
    count_legal: Kernel
    action_cards: Kernel


def begin(
    b: int, rows: IntArray, spec: Spec, actions: ActionFields, games: IntArray, keys: IntArray,
    rounds: IntArray, leaders: IntArray, flags: ByteArray,
) -> None:  # fmt: skip
    """Start all games, or, if `games` is not empty, these."""
    row = scratch(cuda.local.array(row_size, types.int64))
    some = games.shape[0] > 0
    at = games[b] if some else b
    for column in range(row_size):
        # As on the host: a game that is started apart from the others begins with an empty row.
        row[column] = 0 if some else rows[at, column]
    begin_game(row, spec, actions, keys[b], rounds[b], leaders[b])
    for column in range(row_size):
        rows[at, column] = row[column]
    flags[at] = PLAYING


def step(
    b: int, rows: IntArray, spec: Spec, actions: ActionFields, ids: IntArray, cards: IntArray,
    rewards: RewardArray, dones: BoolArray, mask: IntArray, obs: IntArray, draws: FloatArray,
    next_ids: IntArray, flags: ByteArray, refused: IntArray,
) -> None:  # fmt: skip
    """As the host's, masks and observations packed.

    A game whose action is refused keeps its row and gets a flag; its action and cards go to `refused`, int64
    (B, 2).
    """
    row = scratch(cuda.local.array(row_size, types.int64))
    for column in range(row_size):
        row[column] = rows[b, column]
    for seat in range(spec[S.NUM_PLAYERS]):
        rewards[b, seat] = 0
    dones[b] = False
    if flags[b] == PLAYING:
        action, seat = ids[b], row[columns.turn]
        has_cards = cards.shape[0] > 0 and seat >= 0
        if (
            is_refused_with(row, spec, actions, action, cards[b])
            if has_cards
            else is_refused(row, spec, action)
        ):
            flags[b] = REFUSED_CARDS if has_cards else REFUSED
            refused[b, 0] = action
            refused[b, 1] = cards[b] if has_cards else 0
        elif seat >= 0:
            chosen = (
                cards[b] if has_cards else kernels.action_cards(row[columns.hand + seat], actions, action)
            )
            dones[b] = advance(row, spec, actions, action, chosen, rewards[b])
            for column in range(row_size):
                rows[b, column] = row[column]
    if mask.shape[0] > 0:
        for word in range(spec[S.NUM_WORDS]):
            mask[b, word] = row[columns.legal + word]
    if obs.shape[0] > 0:
        words = scratch(cuda.local.array(observation_words, types.int64))
        kernels.observe(row, spec, actions, row[columns.turn], as_output(words), 0)
        for word in range(observation_words):
            obs[b, word] = words[word]
    if next_ids.shape[0] > 0:
        next_ids[b] = legal.choose_legal(row, spec, draws[b])


def sample(b: int, rows: IntArray, spec: Spec, draws: FloatArray, out: IntArray) -> None:
    """As the host's."""
    out[b] = legal.choose_legal(rows[b], spec, draws[b])


def write_masks(b: int, rows: IntArray, spec: Spec, out: IntArray) -> None:
    """As the host's, packed."""
    for word in range(spec[S.NUM_WORDS]):
        out[b, word] = rows[b, columns.legal + word]


def observe_seats(
    b: int, rows: IntArray, spec: Spec, actions: ActionFields, seats: IntArray, out: IntArray,
) -> None:  # fmt: skip
    """As the host's, packed."""
    words = scratch(cuda.local.array(observation_words, types.int64))
    seat = seats[b] if 0 <= seats[b] < spec[S.NUM_PLAYERS] else -1
    kernels.observe(rows[b], spec, actions, seat, as_output(words), 0)
    for word in range(observation_words):
        out[b, word] = words[word]


def observe_all(b: int, rows: IntArray, spec: Spec, actions: ActionFields, out: IntArray) -> None:
    """As the host's, packed."""
    words = scratch(cuda.local.array(global_words, types.int64))
    kernels.observe_all(rows[b], spec, actions, as_output(words), 0)
    for word in range(global_words):
        out[b, word] = words[word]


def count_legal(b: int, rows: IntArray, spec: Spec, out: IntArray) -> None:
    """As the host's."""
    out[b] = legal.num_legal(rows[b], spec)


def action_cards(
    b: int, rows: IntArray, spec: Spec, actions: ActionFields, ids: IntArray, out: IntArray,
) -> None:  # fmt: skip
    """As the host's; 0 where there is nothing to play."""
    is_action = rows[b, columns.turn] >= 0 and 0 <= ids[b] < spec[S.NUM_ACTIONS]
    out[b] = (
        kernels.action_cards(rows[b, columns.hand + rows[b, columns.turn]], actions, ids[b])
        if is_action
        else 0
    )


@cache
def device_loops(game: AnyGame, row_size: int, observation_words: int, global_words: int) -> DeviceLoops:
    """The kernels of a game, compiled when they are first launched.

    Args:
        game: the game.
        row_size: ROW.
        observation_words: words of a packed observation.
        global_words: words of a packed global observation.
    """
    bodies: tuple[Callable[..., None], ...] = specialise(
        (begin, step, sample, write_masks, observe_seats, observe_all, count_legal, action_cards),
        **parts_of(game), row_size=row_size, observation_words=observation_words, global_words=global_words,
    )  # fmt: skip
    return DeviceLoops(*map(Kernel, bodies))


# ---------------------------------------------------------------- the packed form to bytes or floats

_SPREAD: Final = 0x0002040810204081  # copies 7 bits so that each meets the lowest bit of a byte
_LOWEST_OF_BYTES: Final = 0x0101010101010101
_BFLOAT16_ONE: Final = 0x3F80
_ONES: Final = {np.dtype(d): 1 for d in (np.bool_, np.int8, np.uint8, np.float32)} | {
    np.dtype(np.uint16): _BFLOAT16_ONE
}


def item(words: IntArray, i: int, size: int) -> int:
    """The i-th item of all rows together."""
    row = i // size
    column = i - row * size
    return int(words[row, column >> 6] >> (column & 63) & 1)


@kernel
def write_bytes(t: int, words: IntArray, size: int, eights: IntArray, rest: ByteArray) -> None:
    """Eight items, as one number of 64 bits; behind the last eight, single ones."""
    first = 8 * t
    if t < eights.shape[0]:
        row = first // size
        column = first - row * size
        offset = column & 63
        bits = words[row, column >> 6] >> offset & 255
        if offset <= 56 and column + 8 <= size:
            low = (bits & 127) * _SPREAD & _LOWEST_OF_BYTES
            eights[t] = low | shift_left(bits >> 7, 56)
        else:  # of two words or two rows
            found = 0
            for k in range(8):
                found |= shift_left(item(words, first + k, size), 8 * k)
            eights[t] = found
    else:
        for k in range(rest.shape[0]):
            rest[k] = item(words, first + k, size)


@kernel
def write_items(i: int, words: IntArray, size: int, one: int, out: AnyArray) -> None:
    """One item."""
    out[i] = item(words, i, size) * one


def unpack(words: object, out: object, *, stream: int = 0) -> None:
    """Expand packed masks or observations on the device; the host does not wait.

    Args:
        words: int64 (n, ceil(size / 64)), contiguous.
        out: (n, size), contiguous, of 0 and 1 afterwards: bool, int8, uint8 or float32; or uint16 for the
            bits of bfloat16 (``tensor.view(torch.uint16)``).
        stream: handle of the stream.

    Raises:
        ValueError: other arrays, or not a stream.
    """
    found = native(out, "out")
    dtype = np.dtype(found.dtype)
    if len(found.shape) != 2 or dtype not in _ONES:
        known = ", ".join(map(str, _ONES))
        raise ValueError(
            f"out: expected shape (n, size) and one of {known}, got {dtype} {tuple(found.shape)}"
        )
    num_rows, size = (int(length) for length in found.shape)
    target = check_array(out, "out", (num_rows, size), dtype)
    source = check_array(words, "words", (num_rows, num_words(size)), np.int64)
    flat = target.reshape(num_rows * size)
    if dtype.itemsize > 1 or _address(flat) % 8:
        write_items.launch(flat.size, source, size, _ONES[dtype], flat, stream=stream)
        return
    num_eights = flat.size // 8
    eights = _reinterpret(flat, num_eights, np.int64, 0)
    rest = _reinterpret(flat, flat.size - 8 * num_eights, np.uint8, 8 * num_eights)
    write_bytes.launch(num_eights + (1 if rest.size else 0), source, size, eights, rest, stream=stream)


def _address(array: Any) -> int:
    interface = array.__array_interface__ if is_simulated() else array.__cuda_array_interface__
    return int(interface["data"][0])


def _reinterpret(flat: Any, length: int, dtype: type[np.generic], start: int) -> Any:
    """`length` numbers of another dtype in the same memory, from byte `start` on."""
    if is_simulated():
        return flat.view(np.uint8)[start : start + length * np.dtype(dtype).itemsize].view(dtype)
    if length == 0:
        return cuda.device_array(0, dtype)
    interface = dict(flat.__cuda_array_interface__)
    address, _ = interface["data"]
    interface.update(
        shape=(length,), typestr=np.dtype(dtype).str, strides=None, data=(address + start, False)
    )
    return cuda.from_cuda_array_interface(interface, owner=flat, sync=False)
