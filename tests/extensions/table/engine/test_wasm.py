"""The executor in WebAssembly gives what the compiled executor gives, bit for bit, in Node.

Without Node or the linker these tests are skipped.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.agents.arena.test_cheats import wrong_cards
from tests.app_rules import APP_RULES
from tests.extensions.table.wasm_files import GAMES, PLAIN, built, each_game, game_of_name, run_node
from tests.extensions.table.wasm_page import in_browser
from tests.needs import CHROMIUM, TOOLS, needs_linker, needs_node
from tests.tienlen_env.engine.test_golden import load
from tests.tienlen_env.engine.test_thirteens_golden import SIZES
from tienlen_agents.search.agent import HISTORY
from tienlen_env.engine.backends import jit, overloads
from tienlen_env.engine.backends.per_game import FINISHED, PAID
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import KEY_STEP
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import get_rules, variants_of
from tienlen_env.games.thirteens.rules import PRESETS as thirteens_presets
from tienlen_table.engine import build, tables_of
from tienlen_table.engine.compile import VARIABLE, LinkError, link
from tienlen_table.engine.entries import DOUBLE, EngineEntry, digest

__all__ = ["built"]

RUN = Path(__file__).with_name("wasm_run.mjs")

Variants = list[tuple[str, AnyRules]]
Words = npt.NDArray[np.int64]


def node(folder: Path, command: str, **job: Any) -> Any:
    return run_node(RUN, [str(folder), command], {"tables": PLAIN, **job})


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


def begin(batch: Batch, keys: npt.ArrayLike, leader: int = -1) -> None:
    """Deal as a module does: into an empty row, and without forgetting the payments of a round before."""
    rows, spec, actions = batch.kernel_arrays
    rows[:] = 0
    each = np.asarray(keys, np.int64)
    batch.loops.begin(rows, spec, actions, each, np.zeros_like(each), np.full_like(each, leader))


def round_digests(batch: Batch, keys: Words) -> tuple[Words, int]:
    """What `entries_of`'s ``play_rounds`` gives: a digest a round, and the number of decisions."""
    begin(batch, keys)
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
        over = (batch.state.turn < 0).copy()
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
    folder: Path,
    name: str,
    num_rounds: int,
    tmp_path: Path,
    *,
    backend: Any = "numba",
    tables: str = PLAIN,
    chromium: bool = False,
    chunk: int = 2000,
    others: Variants | None = None,
) -> None:
    """Compare random rounds of every preset and number of players, or of others, in Node and Chromium."""
    keys = np.random.default_rng(num_rounds).integers(-(2**63), 2**63, num_rounds, np.int64)
    (tmp_path / "keys").write_bytes(keys.tobytes())
    game = game_of_name(name)
    rules_of = {(label, rules.num_players): rules for label, rules in others or variants_of(game)}
    variants = list(rules_of)
    out = tmp_path / "digests"
    files = {"keys": str(tmp_path / "keys"), "out": str(out), "tables": tables}
    result = node(folder, "rounds", game=name, variants=variants, **files)
    assert result["imports"] == 0
    found = {"Node": np.fromfile(out, np.int64).reshape(len(variants), num_rounds)}
    if chromium:
        words = [f"{key:016x}" for key in keys.astype(np.uint64).tolist()]
        job = {"command": "rounds", "game": name, "variants": variants, "keys": words}
        found["Chromium"] = np.array(in_browser(folder, job), np.int64)
    stored = {"history_length": HISTORY} if tables == f"{name}.json" and game.has_history else {}
    for v, (preset, num_players) in enumerate(variants):
        total = 0
        for first in range(0, num_rounds, chunk):
            some = keys[first : first + chunk]
            batch = Batch(rules_of[preset, num_players], len(some), backend=backend, **stored)  # type: ignore[arg-type]
            expected, count = round_digests(batch, some)
            total += count
            for place, digests in found.items():
                different = np.flatnonzero(expected != digests[v, first : first + chunk])
                assert not len(different), (
                    f"{place}: {preset}, {num_players} players, key {some[different[0]]}"
                )
        assert total == result["decisions"][v]


@needs_node
@each_game
def test_random_rounds(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    """The files of the page, whose rows store the plays for the agents."""
    is_there = CHROMIUM is not None
    compare_rounds(built(name), name, 500, tmp_path, tables=f"{name}.json", chromium=is_there)
    if not is_there:
        pytest.skip(f"{TOOLS}Chromium")


@needs_node
@pytest.mark.parametrize("num_rounds", [60, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_random_rounds_of_rules_of_apps(
    num_rounds: int, built: Callable[[str], Path], tmp_path: Path
) -> None:
    """Báo and đền, other decks, 17 cards each."""
    folder, others = built("tienlen"), list(APP_RULES.items())
    tables = json.dumps(tables_of(game_of_name("tienlen"), variants=others))
    (folder / "others.json").write_text(tables, encoding="utf-8")
    compare_rounds(folder, "tienlen", num_rounds, tmp_path, tables="others.json", others=others)


@needs_node
@pytest.mark.nightly
@each_game
def test_many_random_rounds(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    compare_rounds(built(name), name, 100_000, tmp_path)


@needs_node
@pytest.mark.nightly
@each_game
def test_random_rounds_against_plain_python(name: str, built: Callable[[str], Path], tmp_path: Path) -> None:
    compare_rounds(built(name), name, 1000, tmp_path, backend="python")


# ---------------------------------------------------------------- golden digests


def golden_of(folder: Path, name: str, groups: list[Variants], run: tuple[int, int], **settings: Any) -> Any:
    """A digest of each group of variants, as `played` of the golden tests makes it."""
    variants = [variant for group in groups for variant in group]
    tables = tables_of(game_of_name(name), variants=variants, episode="game", **settings)
    (folder / f"{name}.golden.json").write_text(json.dumps(tables))
    named = [[(label, rules.num_players) for label, rules in group] for group in groups]
    return node(
        folder, "golden", game=name, tables=f"{name}.golden.json", groups=named,
        numGames=run[0], numSteps=run[1],
    )  # fmt: skip


@needs_node
def test_golden_digests(built: Callable[[str], Path]) -> None:
    expected = load("tienlen_v1")
    groups: list[Variants] = [[(preset, get_rules(preset, n)) for n in (2, 3, 4)] for preset in expected]
    found = golden_of(built("tienlen"), "tienlen", groups, (64, 250), history=3)
    assert found == [versions["observation"] for versions in expected.values()]


@needs_node
def test_golden_digests_of_thirteens(built: Callable[[str], Path]) -> None:
    expected = load("thirteens_v0")["presets"]
    groups: list[Variants] = []
    for name in thirteens_presets:
        preset = thirteens_presets[name]
        sizes = [(players, jokers) for players, jokers, dummy in SIZES if dummy == preset.dummy]
        groups.append(
            [
                (f"{name} {jokers}", replace(preset, num_players=players, jokers=jokers, target=30))
                for players, jokers in sizes
            ]
        )
    found = golden_of(built("thirteens"), "thirteens", groups, (16, 200))
    assert found == [expected[name]["observation"] for name in thirteens_presets]


# ---------------------------------------------------------------- each function


def unpack(text: str) -> list[int]:
    return list(base64.b64decode(text))


@needs_node
@each_game
@pytest.mark.parametrize("is_exact", [False, True], ids=["by-id", "by-cards"])
def test_every_function(name: str, is_exact: bool, built: Callable[[str], Path]) -> None:
    """Questions about one game at each decision, for one variant: lists, masks, views, refusals, rewards."""
    folder, game = built(name), game_of_name(name)
    preset, rules = list(variants_of(game))[-1]
    rng = np.random.default_rng(5)
    draws = [0.0, 0.25, 0.999999, 1 - 2**-53]
    seats = list(range(-1, rules.num_players))
    rounds, expected = [], []
    batch = Batch(preset, 1, num_players=rules.num_players)
    illegal = rng.integers(0, batch.num_actions, 50).tolist()
    for leader in (-1, 0, 1):
        key = int(rng.integers(-(2**63), 2**63))
        begin(batch, [key], leader)
        actions, exact, decisions, wrong = [], [], [], []
        while not (batch.state.turn < 0)[0]:
            legal, i = batch.list_legal(), len(actions)
            action = int(rng.choice(legal.action))
            count = len(legal.action)
            decision = {
                "row": [str(x) for x in batch.state.rows[0].tolist()],
                "legal": [
                    [a, str(c)] for a, c in zip(legal.action.tolist(), legal.cards.tolist(), strict=True)
                ],
                "count": count,
                "chosen": int(legal.action[min(int(draws[i % 4] * count), count - 1)]),
                "mask": batch.action_mask()[0].tolist(),
                "views": [batch.observe(seat)[0].tolist() for seat in seats],
                "global": batch.global_observation()[0].tolist(),
                "cards": str(batch.action_to_cards([action])[0]),
                "refused": True,
            }
            actions.append(action)
            exact.append(decision["cards"])
            wrong.append([str(cards) for cards in wrong_cards(batch, action)])
            rewards, _ = batch.step([action])
            if not is_exact and i % 2 == 0:
                decision["next"] = batch.observe()[0].tolist()
            seat = int(batch.state.turn[0])
            decision["code"] = PAID * bool(rewards.any()) + (FINISHED if seat < 0 else seat)
            decision["rewards"] = rewards[0].tolist()
            decisions.append(decision)
        rounds.append(
            {
                "key": str(key),
                "leader": leader,
                "actions": actions,
                "exact": exact if is_exact else None,
                "wrong": wrong,
            }
        )
        expected.append(decisions)
    found = node(
        folder, "calls", game=name, variant=(preset, rules.num_players), rounds=rounds, draws=draws,
        seats=seats, illegal=illegal,
    )  # fmt: skip
    for decisions, others in zip(expected, found, strict=True):
        for decision, other in zip(decisions, others, strict=True):
            other["views"] = [unpack(view) for view in other["views"]]
            other["global"] = unpack(other["global"])
            if "next" in other:
                other["next"] = unpack(other["next"])
            assert other == decision


@needs_node
@each_game
def test_hidden_cards_are_sampled_alike(name: str, built: Callable[[str], Path]) -> None:
    game = game_of_name(name)
    resample = game.kernels.resample_hidden
    if resample is None:
        pytest.skip(f"{name} has no resample_hidden")
    preset, rules = list(variants_of(game))[-1]
    batch = Batch(preset, 1, num_players=rules.num_players)
    begin(batch, [7])
    rows, spec, _ = batch.kernel_arrays
    keys = [0, 1, -1, 2**63 - 1, -(2**63)]
    expected = []
    for key in keys:
        row = rows[0].tolist()
        resample(row, spec.tolist(), 1, key)
        expected.append([str(x) for x in row])
    found = node(
        built(name), "samples", game=name, variant=(preset, rules.num_players), key="7", seat=1,
        keys=[str(key) for key in keys],
    )  # fmt: skip
    assert found == expected
    assert len({tuple(row) for row in found}) > 1


# ---------------------------------------------------------------- the files


@needs_linker
@pytest.mark.nightly
def test_two_builds_give_the_same_bytes(built: Callable[[str], Path], tmp_path: Path) -> None:
    folder = built("high_card")
    entries = "tienlen_table.wasm.entries:entries_of"
    build(GAMES["high_card"], tmp_path, entries=entries)
    for name in ("high_card.wasm", "engine.mjs"):
        assert (folder / name).read_bytes() == (tmp_path / name).read_bytes()


@needs_linker
def test_sizes(built: Callable[[str], Path]) -> None:
    modules = [(built(name) / f"{name}.wasm").read_bytes() for name in ("tienlen", "thirteens")]
    # 600,000 until decks, the number of cards dealt and the apps' rules came in: 611,964 with them;
    # 620,584 since sampled deals agree with all that is public; 636,706 since the module judges given hands
    # and says what the sentence of a refusal names; 716,699 since the champion has models of players;
    # 742,500 since it knows three kinds of players, and tables of one kind: 203,554 as they are sent.
    assert sum(map(len, modules)) <= 750_000
    assert sum(len(gzip.compress(module)) for module in modules) <= 205_000


@each_game
def test_tables_name_every_action_and_piece(name: str) -> None:
    game = game_of_name(name)
    tables = json.loads(json.dumps(tables_of(game)))
    variants = list(variants_of(game))
    assert [(v["rules"], v["num_players"]) for v in tables["variants"]] == [
        (p, r.num_players) for p, r in variants
    ]
    for found, (preset, rules) in zip(tables["variants"], variants, strict=True):
        batch = Batch(preset, 1, num_players=rules.num_players)
        actions = tables["action_tables"][found["action_table"]]
        assert actions["texts"] == [batch.action_to_text(a) for a in range(batch.num_actions)]
        rows, spec, fields = batch.kernel_arrays
        assert ([int(x) for x in found["spec"]], found["row_size"]) == (spec.tolist(), rows.shape[1])
        assert [int(x) for x in actions["fields"]] == fields.tolist()
        assert all(abs(x) <= 2**53 for x in actions["fields"] + found["spec"] if isinstance(x, int))
        assert {n: p["start"] for n, p in found["layout"].items()} == {
            n: piece.slice.start for n, piece in batch.layout.items()
        }


@pytest.mark.parametrize(
    ("name", "features", "expected"),
    [
        ("generic", "", {}),
        ("generic", None, {}),
        ("skylake", "+avx2,-bmi2", {"avx2": True, "bmi2": False}),
    ],
)
def test_instructions_are_those_of_the_named_processor(
    name: str, features: str | None, expected: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overloads.config, "CPU_NAME", name)
    monkeypatch.setattr(overloads.config, "CPU_FEATURES", features)
    assert overloads._cpu_features() == expected


@needs_linker
def test_what_is_not_a_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"(?s)high_card: no WebAssembly.*LinkError.*undefined symbol: sin"
    ):
        build(GAMES["high_card"], tmp_path, entries="tests.extensions.table.engine.test_wasm:bad_entries")
    with pytest.raises(LinkError, match="not an object"):
        link(b"\x7fELF", [])


def test_a_missing_linker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "no-such-linker")
    with pytest.raises(LinkError, match=r"no-such-linker was not found; install .*apt-get install lld"):
        link(b"", [])


def bad_entries(game: AnyGame) -> list[EngineEntry]:
    """An entry that calls the C library, which a module does not have."""

    def sine(x):  # type: ignore[no-untyped-def]
        return int(100 * math.sin(x))

    return [EngineEntry("sine", sine, (DOUBLE,))]
