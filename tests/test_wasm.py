"""The executor in WebAssembly gives what the compiled executor gives, bit for bit, in Node.

The modules are built once; without Node these tests are skipped.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.high_card import HIGH_CARD
from tests.test_golden import load
from tienlen_env.engine.backends import jit
from tienlen_env.engine.backends.wasm import build
from tienlen_env.engine.backends.wasm.entries import digest, entries_of
from tienlen_env.engine.backends.wasm.link import LinkError, link
from tienlen_env.engine.backends.wasm.tables import tables_of, variants_of
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import KEY_STEP
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.registry import game_named, register

NODE = shutil.which("node")
RUN = Path(__file__).with_name("wasm_run.mjs")
GAMES = {"tienlen": "tienlen", "thirteens": "thirteens", "high_card": "tests.high_card:HIGH_CARD"}
each_game = pytest.mark.parametrize("name", GAMES)
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed: its executor cannot be compared")

Words = npt.NDArray[np.int64]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder with the files of a game, which is built when first asked for."""
    folder = tmp_path_factory.mktemp("wasm")

    def folder_of(name: str) -> Path:
        if not (folder / f"{name}.wasm").exists():
            build(GAMES[name], folder)
        return folder

    return folder_of


def game_of_name(name: str) -> AnyGame:
    register(HIGH_CARD)
    return game_named(name)


def node(folder: Path, command: str, **job: Any) -> Any:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(RUN), str(folder), command], input=json.dumps(job), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---------------------------------------------------------------- random rounds, by digests


def draws_of(keys: Words, step: int) -> npt.NDArray[np.float64]:
    """What `entries.uniform` gives, written for arrays."""
    x = keys.astype(np.uint64) + np.uint64((step + 1) * KEY_STEP & 0xFFFFFFFFFFFFFFFF)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return ((x ^ (x >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


@jit.loop
def update_digests(digests, rows, words, over):  # type: ignore[no-untyped-def]
    for b in range(digests.shape[0]):
        if not over[b]:
            found = digest(digests[b], rows[b], rows.shape[1])
            digests[b] = digest(found, words[b], words.shape[1])


def padded_size(num_bytes: int) -> int:
    return -(-num_bytes // 8) * 8


def round_digests(batch: Batch, keys: Words) -> tuple[Words, int]:
    """What `entries_of`'s ``play_rounds`` gives: a digest a round, and the number of decisions."""
    batch.state.rows[:] = 0
    batch.deal(keys)
    mask, observation = batch.action_mask(), batch.observe()
    rewards = np.zeros((len(keys), batch.num_players), np.float32)
    arrays = [array.view(np.uint8) for array in (mask, observation, rewards)]
    ends = np.cumsum([padded_size(array.shape[1]) for array in arrays])
    words = np.zeros((len(keys), ends[-1]), np.uint8)
    pieces = [
        words[:, end - padded_size(array.shape[1]) :][:, : array.shape[1]]
        for array, end in zip(arrays, ends, strict=True)
    ]
    digests, num_decisions, step = keys.copy(), 0, 0
    ids, next_ids = np.empty((2, len(keys)), np.int64)
    counts = batch.count_legal()
    legal = batch.list_legal()
    ids[:] = legal.action[legal.start + (draws_of(keys, 0) * counts).astype(np.int64)]
    over = np.zeros(len(keys), np.bool_)
    while True:
        for piece, array in zip(pieces, arrays, strict=True):
            piece[:] = array
        update_digests(digests, batch.state.rows, words.view(np.int64), over)
        over = batch.state.over_mask.copy()
        if over.all():
            return digests, num_decisions
        num_decisions += int((~over).sum())
        step += 1
        batch.step(
            ids, rewards=rewards, mask=mask, observation=observation,
            draws=draws_of(keys, step), next_actions=next_ids,
        )  # fmt: skip
        ids, next_ids = next_ids, ids


def compare_rounds(
    folder: Path, name: str, num_rounds: int, tmp_path: Path, backend: Any = "numba", chunk: int = 2000
) -> None:
    """Compare random rounds of every preset and number of players."""
    keys = np.random.default_rng(num_rounds).integers(-(2**63), 2**63, num_rounds, np.int64)
    (tmp_path / "keys").write_bytes(keys.tobytes())
    variants = [(preset, rules.num_players) for preset, rules in variants_of(game_of_name(name))]
    out = tmp_path / "digests"
    result = node(
        folder, "rounds", game=name, variants=variants, keys=str(tmp_path / "keys"), out=str(out)
    )
    assert result["imports"] == 0
    found = np.fromfile(out, np.int64).reshape(len(variants), num_rounds)
    for (preset, num_players), digests, decisions in zip(variants, found, result["decisions"], strict=True):
        total = 0
        for first in range(0, num_rounds, chunk):
            some = keys[first : first + chunk]
            batch = Batch(preset, len(some), num_players=num_players, backend=backend)
            expected, count = round_digests(batch, some)
            total += count
            different = np.flatnonzero(expected != digests[first : first + chunk])
            assert not len(different), f"{preset}, {num_players} players, key {some[different[0]]}"
        assert total == decisions


@needs_node
@each_game
def test_random_rounds(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    compare_rounds(built(name), name, 500, tmp_path)


@needs_node
@pytest.mark.nightly
@each_game
def test_many_random_rounds(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    compare_rounds(built(name), name, 100_000, tmp_path)


@needs_node
@pytest.mark.nightly
@each_game
def test_random_rounds_against_plain_python(
    name: str, built: Callable[[str], Path], tmp_path: Path
) -> None:
    compare_rounds(built(name), name, 1000, tmp_path, "python")
