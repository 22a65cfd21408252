"""The packed form of masks and observations holds the same items as the bytes, in all games and backends."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.engine.packed import pack, unpack
from tienlen_env.games.common.bits import PackedBits, clear_items, write_bits, write_half, write_word
from tienlen_env.games.common.spec import num_words
from tienlen_env.games.registry import game_named, game_of, variants_of

GARBAGE = -0x0123456789ABCDEF
GAMES = ("tienlen", "thirteens", "high_card")
VARIANTS = [(name, rules) for game in GAMES for name, rules in variants_of(game_named(game))]


def settings_of(name: str, rules: object, i: int) -> dict[str, object]:
    """Settings that differ between the variants, so that together they show every piece."""
    if not game_of(rules).has_history:  # type: ignore[arg-type]
        return {"auto_reset": bool(i % 2)}
    return {
        "auto_reset": bool(i % 2),
        "history": (0, 3)[i // 2 % 2],
        "episode": ("round", "game")[i // 3 % 2],
    }


def check(batch: Batch, num_steps: int) -> None:
    """Play at random; everything packed is what `pack` makes of the bytes, whatever was in the buffers."""
    n, rng = batch.num_games, np.random.default_rng(1)
    batch.reset(seed=7)
    mask = np.full((n, batch.packed_mask_size), GARBAGE)
    seen = np.full((n, batch.packed_observation_size), GARBAGE)
    whole = np.full((n, batch.packed_global_observation_size), GARBAGE)
    for _ in range(num_steps):
        batch.step(batch.sample(rng), mask=mask, observation=seen)
        assert np.array_equal(mask, pack(batch.action_mask()))
        assert np.array_equal(seen, pack(batch.observe()))
        assert np.array_equal(mask, batch.state.legal)
        assert np.array_equal(mask, batch.packed_mask())
        assert np.array_equal(seen, batch.packed_observation())
        assert np.array_equal(unpack(mask, batch.num_actions, np.int8), batch.action_mask())
        assert np.array_equal(unpack(seen, batch.observation_size), batch.observe())
        assert np.array_equal(batch.packed_global_observation(whole), pack(batch.global_observation()))
        seats = rng.integers(-1, batch.num_players, n)
        assert np.array_equal(batch.packed_observation(seats, seen), pack(batch.observe(seats)))
        assert np.array_equal(batch.packed_observation(0, games=[1, 0]), pack(batch.observe(0, games=[1, 0])))


@pytest.mark.parametrize(("i", "name", "rules"), [(i, *v) for i, v in enumerate(VARIANTS)], ids=str)
def test_every_variant(i: int, name: str, rules: object) -> None:
    batch = Batch(rules, 64, **settings_of(name, rules, i))  # type: ignore[arg-type]
    check(batch, 30)


@pytest.mark.parametrize("game", GAMES)
def test_python_equals_numba(game: str) -> None:
    for i, (name, rules) in enumerate(variants_of(game_named(game))):
        settings = settings_of(name, rules, i)
        check(Batch(rules, 3, backend="python", **settings), 4)  # type: ignore[arg-type]


def test_threads_give_the_same() -> None:
    batches = [Batch("cardgames", 200, auto_reset=True, threads=threads) for threads in (1, 3)]
    masks = [np.full((200, batch.packed_mask_size), GARBAGE) for batch in batches]
    for batch, mask in zip(batches, masks, strict=True):
        batch.reset(seed=2)
        rng = np.random.default_rng(3)
        for _ in range(20):
            batch.step(batch.sample(rng), mask=mask)
    assert np.array_equal(*masks)


def test_a_batch_refuses_other_buffers() -> None:
    batch = Batch("cardgames", 2)
    batch.reset(seed=1)
    actions, rows = batch.sample(np.random.default_rng(0)), batch.state.rows.copy()
    for wrong in (
        np.zeros((2, batch.packed_mask_size + 1), np.int64),
        np.zeros((2, batch.num_actions), np.int64),
        np.zeros((2, batch.packed_mask_size), np.uint64),
        np.zeros((2, 2 * batch.packed_mask_size), np.int64)[:, ::2],
    ):
        with pytest.raises(ValueError, match="mask: expected a contiguous, writeable"):
            batch.step(actions, mask=wrong)
        with pytest.raises(ValueError, match="out: expected a contiguous, writeable int64"):
            batch.packed_mask(wrong)
    with pytest.raises(ValueError, match="out: expected a contiguous, writeable int64"):
        batch.packed_observation(out=batch.observe())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="out: expected a contiguous, writeable int8"):
        batch.action_mask(batch.packed_mask())  # type: ignore[arg-type]
    assert np.array_equal(batch.state.rows, rows)


# ---------------------------------------------------------------- pack and unpack


@pytest.mark.parametrize("size", [1, 31, 63, 64, 65, 128, 605])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_pack_and_unpack_are_inverse(size: int, shape: tuple[int, ...]) -> None:
    items = np.random.default_rng(size).integers(0, 2, (*shape, size)).astype(np.uint8)
    words = pack(items)
    assert words.dtype == np.int64
    assert words.shape == (*shape, num_words(size))
    assert np.array_equal(unpack(words, size), items)
    for i in {0, size // 2, size - 1}:
        assert np.array_equal(words[..., i >> 6] >> (i & 63) & 1, items[..., i])
    assert np.array_equal(unpack(words.view(np.uint64), size), items)
    assert unpack(words, size, np.float32).dtype == np.float32


def test_pack_and_unpack_refuse_other_arrays() -> None:
    with pytest.raises(ValueError, match="of 0 and 1"):
        pack([0, 2])
    with pytest.raises(ValueError, match="of 0 and 1"):
        pack(1)
    with pytest.raises(ValueError, match="expected 2 words a row for 65 items, got 1"):
        unpack(np.zeros((3, 1), np.int64), 65)
    with pytest.raises(ValueError, match="int64"):
        unpack(np.zeros(2, np.int32), 65)


# ---------------------------------------------------------------- outputs of kernels


def test_bits_are_written_as_bytes_are() -> None:
    """Any sequence of writes leaves the same items, whichever form the output has."""
    rng = random.Random(4)
    for size, _ in product((64, 100, 129, 200), range(50)):
        items = [rng.randrange(2) for _ in range(size)]
        words = pack(items)
        out = PackedBits(words)
        for _ in range(20):
            kind, word = rng.randrange(5), rng.getrandbits(64) - (1 << 63)
            start = rng.randrange(size)
            if kind == 0 and start + 64 <= size:
                write_word(items, start, word)
                write_word(out, start, word)
            elif kind == 1 and start + 32 <= size:
                write_half(items, start, word)
                write_half(out, start, word)
            elif kind == 2:
                num = rng.randrange(min(64, size - start) + 1)
                write_bits(items, start, word, num)
                write_bits(out, start, word, num)
            elif kind == 3:
                clear_items(items, start, (size - start) // 2)
                clear_items(out, start, (size - start) // 2)
            else:
                items[start] = word & 1
                out[start] = word & 1
            assert np.array_equal(words, pack(items))


# ---------------------------------------------------------------- torch


@pytest.mark.parametrize("size", [1, 64, 65, 605])
def test_torch_expands_the_same(size: int) -> None:
    torch = pytest.importorskip("torch")
    from tienlen_train.network import unpack as unpack_tensor

    items = np.random.default_rng(size).integers(0, 2, (3, 2, size)).astype(np.uint8)
    words = torch.from_numpy(pack(items))
    assert np.array_equal(unpack_tensor(words, size).numpy(), items)
    assert np.array_equal(unpack_tensor(words[0, 1], size, torch.uint8).numpy(), items[0, 1])
    assert unpack_tensor(words, size, torch.bfloat16).dtype == torch.bfloat16
    for wrong in (words.int(), words[..., :-1]):
        with pytest.raises(ValueError, match="words: expected int64"):
            unpack_tensor(wrong, size)
