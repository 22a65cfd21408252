"""Runs in a process of its own, with Numba's CUDA simulator or on a device: the device against the host.

NUMBA_ENABLE_CUDASIM=1 python tests/extensions/gpu/cuda_run.py rounds VARIANT NUM_GAMES NUM_ROUNDS
NUMBA_ENABLE_CUDASIM=1 python tests/extensions/gpu/cuda_run.py methods
python tests/extensions/gpu/cuda_run.py rounds cardgames:4 65536 1000000        # on a device
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app_rules import APP_RULES
from tests.cheats import CARDS, other_hand, wrong_cards
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.packed import pack, unpack as unpack_on_host
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games import registry
from tienlen_env.games.common.bits import popcount
from tienlen_gpu.cuda import (
    CudaBatch,
    DeviceArray,
    DeviceError,
    device_array,
    is_simulated,
    kernel,
    to_device,
    unpack,
)

GARBAGE = -0x0123456789ABCDEF


def same(on_device: Any, on_host: Any) -> None:
    found = on_device.copy_to_host() if isinstance(on_device, DeviceArray) else on_device
    assert found.dtype == on_host.dtype, (found.dtype, on_host.dtype)
    assert np.array_equal(found, on_host)


def batches(
    rules: str, num_games: int, backend: BackendName = "python", **settings: Any
) -> tuple[CudaBatch, Batch]:
    """A batch on the device and one on the host, dealt from the same keys."""
    preset, _, num_players = rules.partition(":")
    found = registry.get_rules(APP_RULES.get(preset, preset), int(num_players) if num_players else None)
    device: Any = Batch(found, num_games, backend="cuda", **settings)
    assert isinstance(device, CudaBatch)
    host = Batch(found, num_games, **settings, backend=backend)
    keys = np.random.default_rng(11).integers(-(2**63), 2**63, num_games, np.int64)
    device.deal(keys)
    host.deal(keys)
    return device, host


def rounds(rules: str, num_games: int, num_rounds: int) -> None:
    """States, masks, observations, packed forms and rewards of some rounds, bit for bit."""
    device, host = batches(rules, num_games, "numba", auto_reset=True)
    mask = to_device(np.full((num_games, host.packed_mask_size), GARBAGE))
    seen = to_device(np.full((num_games, host.packed_observation_size), GARBAGE))
    actions = device_array(num_games, np.int64)
    rng = np.random.default_rng(1)
    ended = step = 0
    same(device.rows, host.state.rows)
    while ended < num_rounds:
        draws = rng.random(num_games)
        ids = np.empty(num_games, np.int64)
        host.loops.sample(host._rows, host._spec, draws, ids)
        if step:
            same(actions, ids)
        rewards, dones = host.step(ids)
        ahead = rng.bit_generator.state  # the draws of the next step
        next_draws = rng.random(num_games)
        rng.bit_generator.state = ahead
        found = device.step(
            to_device(ids),
            mask=mask,
            observation=seen,
            draws=to_device(next_draws),
            next_actions=actions,
        )
        same(found[0], rewards)
        same(found[1], dones)
        same(device.rows, host.state.rows)
        same(mask, host.packed_mask())
        same(seen, host.packed_observation())
        if step % 40 == 0:
            same(device.action_mask(), host.action_mask())
            same(device.observe(), host.observe())
            same(device.global_observation(), host.global_observation())
            same(device.count_legal(), host.count_legal())
        ended += int(dones.sum())
        step += 1
    device.check()
    same(device.to_host().state.rows, host.state.rows)
    print(f"{rules}: {ended} rounds, {step * num_games} decisions, the same")


# ---------------------------------------------------------------- methods


def illegal_actions() -> None:
    """A game with an illegal action keeps its state, and all say so."""
    device, host = batches("cardgames", 6)
    before = device.rows.copy_to_host()
    rng = np.random.default_rng(0)
    ids = host.sample(rng)
    bad = ids.copy()
    bad[2], bad[4] = host.num_actions, NO_ACTION
    rewards, dones = device.step(to_device(bad))
    after = device.rows.copy_to_host()
    assert np.array_equal(after[[2, 4]], before[[2, 4]])
    host.step(ids)
    assert np.array_equal(after[[0, 1, 3, 5]], host.state.rows[[0, 1, 3, 5]])
    assert device.flags.copy_to_host().tolist() == [0, 0, 1, 0, 1, 0]
    assert not rewards.copy_to_host()[[2, 4]].any()
    assert not dones.copy_to_host().any()
    for call in (device.check, device.to_host):
        with pytest.raises(IllegalPlayError) as raised:
            call()
        assert (raised.value.game, raised.value.action) == (2, host.num_actions)
        assert raised.value.seat == before[2, host.game.columns.turn]
    # Frozen: a legal action does not move it either.
    again = device.sample(rng)
    device.step(again)
    assert np.array_equal(device.rows.copy_to_host()[[2, 4]], before[[2, 4]])
    device.deal_games([2, 4], [1, 2])
    device.check()
    device.debug = True
    with pytest.raises(IllegalPlayError, match="game 0: action 999"):
        device.step(to_device(np.full(6, 999)))
    device.debug = False
    device.deal(np.arange(6))
    host.deal(np.arange(6))
    # Cards that are not in the hand.
    ids = host.sample(rng)
    cards = host.action_to_cards(ids)
    same(device.action_to_cards(to_device(ids)), cards)
    cards[3] = ~host.state.hands[3, host.state.turn[3]] & (1 << 52) - 1
    device.step(to_device(ids), to_device(cards))
    assert device.flags.copy_to_host().tolist() == [0, 0, 0, 2, 0, 0]
    with pytest.raises(IllegalPlayError) as raised:
        device.check()
    assert (raised.value.game, raised.value.action) == (3, ids[3])
    # A game that is over takes -1 only.
    over, _ = batches("high_card:2", 2)
    for _ in range(10):
        over.step(over.sample(rng))
    over.check()
    over.step(to_device(np.array([NO_ACTION, 0])))
    assert over.flags.copy_to_host().tolist() == [0, 1]


def cheats() -> None:
    """A game of each kind of cheat: the device refuses what the host does, with seat, cards and clause."""
    num_refused: Counter[str] = Counter()
    for rules in ("cardgames", "foicica", "north", "thirteens"):
        device, host = batches(rules, len(CARDS))
        columns, rng = host.game.columns, np.random.default_rng(5)
        for _ in range(6):
            ids = host.sample(rng)
            own, rows = host.action_to_cards(ids), host.state.rows.tolist()
            cards, refused = own.copy(), []
            for game, make in enumerate(CARDS.values()):
                one, row = host.select([game]), rows[game]
                hand = row[columns.hand + row[columns.turn]]
                played = sum(row[columns.played + seat] for seat in range(host.num_players))
                cards[game] = make(int(own[game]), hand, other_hand(row, one), played)
                refused.append(int(cards[game]) in wrong_cards(one, int(ids[game])))
                num_refused[list(CARDS)[game]] += refused[-1]
            rewards, _ = device.step(to_device(ids), to_device(cards))
            assert device.flags.copy_to_host().tolist() == [2 * is_wrong for is_wrong in refused]
            same(device.rows.copy_to_host()[refused], host.state.rows[refused])
            assert not rewards.copy_to_host()[refused].any()
            for game in np.flatnonzero(refused).tolist():
                expected = host.variant.refusal(host.state.rows[game], game, int(ids[game]), int(cards[game]))
                with pytest.raises(IllegalPlayError) as raised:
                    device.check()
                assert str(raised.value) == str(expected)
                assert raised.value.seat == rows[game][columns.turn]
                assert raised.value.clause
                device.deal_games([game], [0])
            host.step(ids)
            device.from_host(host)
    assert min(num_refused[kind] for kind in CARDS) > 0


def moving_to_and_fro() -> None:
    """Host and device exchange positions; copies are independent."""
    device, host = batches("south", 5, episode="game", reward="payments", history=2)
    rng = np.random.default_rng(2)
    for _ in range(12):
        host.step(host.sample(rng))
    device.from_host(host)
    same(device.rows, host.state.rows)
    same(device.to_host().state.rows, host.state.rows)
    same(device.copy().rows, host.state.rows)
    same(device.select([3, 0]).rows, host.state.rows[[3, 0]])
    same(device.state.turn, host.state.turn)
    same(device.state.hands, host.state.hands)
    same(device.state.history, host.state.history)  # type: ignore[attr-defined]
    assert np.array_equal(device.scores, host.scores)
    assert np.array_equal(device.to_host().balances, host.balances)
    hands = np.array([[15 << 4 * i for i in range(4)]] * 5)
    device.set_hands(hands, 1)
    host.set_hands(hands, 1)
    same(device.rows, host.state.rows)
    device.deal_games([1, 4], [7, 8])
    host.deal_games([1, 4], [7, 8])
    same(device.rows, host.state.rows)
    for wrong in (Batch("south", 4), Batch("north", 5), device):
        with pytest.raises(ValueError, match="expected a host's batch of the same"):
            device.from_host(wrong)


def buffers() -> None:
    """Buffers of users: shared memory, bytes, floats; others are refused."""
    device, host = batches("cardgames", 8, auto_reset=True)
    rng = np.random.default_rng(3)
    ids = host.sample(rng)
    host.step(ids)
    rewards = np.full((8, 4), 9, np.float32) if is_simulated() else device_array((8, 4), np.float32)
    mask = device_array((8, host.num_actions), np.int8)
    seen = device_array((8, host.observation_size), np.uint8)
    assert device.step(to_device(ids), rewards=rewards, mask=mask, observation=seen)[0] is rewards
    same(mask, host.action_mask())
    same(seen, host.observe())
    seats = rng.integers(-1, 4, 8)
    same(device.observe(to_device(seats)), host.observe(seats))
    same(device.packed_observation(2), host.packed_observation(2))
    same(device.packed_observation(to_device(seats + 100)), np.zeros_like(host.packed_observation()))
    # Every dtype, and sizes where eights end anywhere.
    for size in (1, 7, 64, 65, 131):
        items = rng.integers(0, 2, (5, size)).astype(np.uint8)
        for dtype in (np.uint8, np.int8, np.bool_, np.float32):
            out = device_array((5, size), dtype)
            unpack(to_device(pack(items)), out)
            same(out, items.astype(dtype))
            same(out, unpack_on_host(pack(items), size, dtype))
        halves = device_array((5, size), np.uint16)
        unpack(to_device(pack(items)), halves)
        same(halves, items.astype(np.uint16) * np.uint16(0x3F80))
    zeros = np.zeros(8, np.int64)
    refused: list[tuple[str, Any]] = [
        ("actions: expected", lambda: device.step([0] * 8)),
        ("actions: expected", lambda: device.step(to_device(np.zeros(7, np.int64)))),
        ("actions: expected", lambda: device.step(to_device(zeros.astype(np.int32)))),
        ("actions: expected", lambda: device.step(to_device(np.zeros((8, 2), np.int64))[:, 0])),
        ("mask: expected", lambda: device.step(to_device(zeros), mask=to_device(zeros))),
        ("draws: expected", lambda: device.step(to_device(zeros), next_actions=to_device(zeros))),
        ("seats: expected -1..3", lambda: device.observe(4)),
        ("keys: expected integers of shape", lambda: device.deal([1, 2])),
        ("games: expected no game twice", lambda: device.deal_games([1, 1], [1, 2])),
        ("leader: expected a seat", lambda: device.deal(np.arange(8), leader=4)),
        ("stream=-1", lambda: device.step(to_device(zeros), stream=-1)),
        ("words: expected", lambda: unpack(to_device(np.zeros((5, 1), np.int64)), seen)),
        ("call it on the batch that to_host", lambda: device.step_games([0], [0], None)),
        ("call it on the batch that to_host", lambda: device.payments()),
        ("to_host\\(\\) for some", lambda: device.observe(games=[1])),
    ]
    before = device.rows.copy_to_host()
    for message, call in refused:
        with pytest.raises((ValueError, DeviceError, AttributeError), match=message):
            call()
    same(device.rows, before)
    with pytest.raises(TypeError, match="copy_to_host"):
        np.asarray(device.flags)


def tensors() -> None:
    """torch shares the memory, both ways."""
    torch = pytest.importorskip("torch")
    where = "cpu" if is_simulated() else "cuda"
    device, host = batches("cardgames", 4, auto_reset=True)
    rows = torch.from_dlpack(device.rows)
    assert rows.shape == device.rows.shape
    ids = host.sample(np.random.default_rng(0))
    words = torch.full((4, host.packed_observation_size), 5, dtype=torch.int64, device=where)
    rewards = torch.ones((4, 4), dtype=torch.float32, device=where)
    dones = torch.ones(4, dtype=torch.bool, device=where)
    device.step(torch.as_tensor(ids, device=where), observation=words, rewards=rewards, dones=dones)
    host.step(ids)
    device.check()
    same(words.cpu().numpy(), host.packed_observation())
    same(rows.cpu().numpy(), host.state.rows)
    same(dones.cpu().numpy(), np.zeros(4, np.bool_))
    as_bytes = torch.zeros((4, host.observation_size), dtype=torch.uint8, device=where)
    unpack(words, as_bytes)
    same(as_bytes.cpu().numpy(), host.observe())


@kernel
def count_cards(b, rows, first, num_players, out):  # type: ignore[no-untyped-def]
    row = rows[b]
    for seat in range(num_players):
        out[b, seat] = popcount(row[first + seat])


def own_kernels() -> None:
    """A kernel of a user's own, on the rows of the games."""
    device, host = batches("thirteens", 3)
    out = device_array((3, host.num_players), np.int64, order="F")
    count_cards.launch(3, device.kernel_arrays.rows, host.game.columns.hand, host.num_players, out)
    same(out, host.state.num_cards_left)


def digests() -> None:
    """The benchmark's digest of everything that a step writes is the processor's."""
    pytest.importorskip("torch")
    from tienlen_gpu.bench_environment import digest_of

    found = digest_of("cardgames", 5, 4, on_device=True)
    assert found == digest_of("cardgames", 5, 4, on_device=False)
    assert found != digest_of("cardgames", 5, 3, on_device=False)


def page() -> None:
    """The code of docs/gpu.md, with fewer games; in the simulator the tensors are the host's."""
    pytest.importorskip("torch")
    text = (Path(__file__).parents[3] / "docs" / "gpu.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        code = block.replace("65_536", "8").replace("range(1000)", "range(3)")
        if is_simulated():
            code = code.replace('device="cuda"', 'device="cpu"')
        exec(compile(code, "docs/gpu.md", "exec"), names)
    same(names["counts"], names["batch"].to_host().state.num_cards_left)


def methods(names: list[str]) -> None:
    """The checks of some names, or all."""
    for check in (illegal_actions, cheats, moving_to_and_fro, buffers, tensors, own_kernels, digests, page):
        if names and check.__name__ not in names:
            continue
        try:
            check()
        except pytest.skip.Exception:  # without torch
            continue
        print(check.__name__, flush=True)


def main() -> None:
    from tests.high_card import HIGH_CARD

    registry.register(HIGH_CARD)
    if sys.argv[1] == "methods":
        methods(sys.argv[2:])
    else:
        rounds(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))


if __name__ == "__main__":
    main()
