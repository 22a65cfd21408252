"""What must never change by accident in Thirteens: deals, action ids, observations, rewards.

``python tests/tienlen_env/engine/test_thirteens_golden.py`` writes `golden/thirteens_v0.json` and the records
beside it anew. If that changes anything, agents trained before no longer fit and results no longer compare: a
new version of the environment.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import format_cards
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.single.thirteens import ThirteensRound

FILE = Path(__file__).parents[2] / "golden" / "thirteens_v0.json"
KEYS = [0, 1, 42, 2**32, 2**63 - 1, -1, -(2**63)]
REWARDS = ("points", "zero_sum", "win")
RECORDS = FILE.with_name("thirteens_records.json")
GUARD = "this breaks trained agents and published results: bump thirteens_v0 or revert"
SIZES = [
    (players, jokers, dummy)
    for players, jokers, dummy in product(range(3, 8), range(3), (False, True))
    if players == 3 or not dummy
]


def digest(parts: list[Any]) -> str:
    """SHA-256 of arrays (little-endian bytes) and texts, 32 hex digits."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()[:32]


def size_name(players: int, jokers: int, dummy: bool) -> str:
    return f"p{players}j{jokers}{'d' if dummy else ''}"


def deals(backend: Any = "numba", num_keys: int = 200) -> dict[str, str]:
    """Digests of the hands, remainder, starter and first leader of many keys."""
    found = {}
    for players, jokers, dummy in SIZES:
        batch = Batch(
            ThirteensRules(num_players=players, jokers=jokers, dummy=dummy), num_keys, backend=backend
        )
        batch.deal(np.arange(num_keys) * 977, rounds=np.arange(num_keys) % 5)
        state = batch.state
        parts = [state.hands, state.dummy, state.remainder, state.starter, state.eldest]
        found[size_name(players, jokers, dummy)] = digest(parts)
    return found


def hands() -> dict[str, list[str]]:
    """The hands and the remainder of some keys as text, four players."""
    batch = Batch("thirteens", len(KEYS))
    batch.deal(KEYS)
    rows = np.column_stack([batch.state.hands, batch.state.remainder]).tolist()
    return {str(key): [format_cards(h, "") for h in row] for key, row in zip(KEYS, rows, strict=True)}


@lru_cache
def played(name: str) -> dict[str, Any]:
    """Digests of masks and observations of fixed games, of their rewards by scheme, and some scores."""
    seen: list[np.ndarray] = []
    rewards: dict[str, list[np.ndarray]] = {scheme: [] for scheme in REWARDS}
    scores = []
    for players, jokers, dummy in SIZES:
        if dummy != PRESETS[name].dummy:
            continue
        rules = ThirteensRules(
            num_players=players, jokers=jokers, dummy=dummy, melding=PRESETS[name].melding, target=30
        )
        batches = {
            scheme: Batch(rules, 16, episode="game", reward=scheme, auto_reset=True)  # type: ignore[arg-type]
            for scheme in REWARDS
        }
        for batch in batches.values():
            batch.deal(np.arange(16) * 1_000_003)
        batch = batches["points"]
        for step in range(200):
            legal = batch.list_legal()
            ids = legal.action[legal.start + (7 * step + 13 * np.arange(16)) % batch.count_legal()]
            seen += [batch.action_mask(), batch.observe(), batch.state.turn.copy()]
            for scheme, other in batches.items():
                rewards[scheme].append(other.step(ids)[0].copy())
        scores.append(batch.scores[:2].tolist())
    return {
        "observation": digest(seen),  # type: ignore[arg-type]
        "rewards": {scheme: digest(parts) for scheme, parts in rewards.items()},  # type: ignore[arg-type]
        "scores": scores,
    }


def layouts(name: str) -> str:
    parts: list[Any] = []
    for players, jokers, dummy in SIZES:
        if dummy == PRESETS[name].dummy:
            rules = ThirteensRules(
                num_players=players, jokers=jokers, dummy=dummy, melding=PRESETS[name].melding
            )
            layout = Batch(rules, 1).layout
            parts += [(p.name, p.slice.start, p.slice.stop, p.shape) for p in layout.values()]
    return digest(parts)


def action_table(name: str) -> str:
    table = build_action_table(PRESETS[name])
    return digest([table.text(a) for a in range(table.num_actions)])


def versions() -> dict[str, Any]:
    return {
        name: {
            "rules": rules.digest(),
            "action_table": action_table(name),
            "observation_layout": layouts(name),
            **played(name),
        }
        for name, rules in PRESETS.items()
    }


def records() -> list[str]:
    """A finished deal of half of the tables, by a fixed way of playing."""
    lines = []
    for i, (name, preset) in enumerate(PRESETS.items()):
        for players, jokers, dummy in SIZES:
            if dummy == preset.dummy and (players + jokers) % 2 == 0:
                deal = ThirteensRound(
                    replace(preset, num_players=players, jokers=jokers), key=1000 * i + players
                )
                step = 0
                while not deal.is_over:
                    plays = deal.legal_plays()
                    deal.play(plays[(5 * step + 3) % len(plays)])
                    step += 1
                assert deal.rules.name == name
                lines.append(deal.record())
    return lines


def load() -> Any:
    return json.loads(FILE.read_text(encoding="utf-8"))


def main() -> None:
    """Write the files anew."""
    data = {"hands": hands(), "deals": deals(), "presets": versions()}
    for path, content in ((FILE, data), (RECORDS, records())):
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_hands_of_some_keys() -> None:
    assert hands() == load()["hands"], f"the deal of a key has changed; {GUARD}"


def test_deals_of_many_keys() -> None:
    assert deals() == load()["deals"], f"the deal of a key has changed; {GUARD}"


def test_deals_in_plain_python() -> None:
    assert deals("python", 10) == deals("numba", 10)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(
    ("what", "current"),
    [
        ("rules", lambda name: PRESETS[name].digest()),
        ("action_table", action_table),
        ("observation_layout", layouts),
        ("observation", lambda name: played(name)["observation"]),
        ("rewards", lambda name: played(name)["rewards"]),
        ("scores", lambda name: played(name)["scores"]),
    ],
)
def test_version_guard(what: str, current: Any, name: str) -> None:
    assert current(name) == load()["presets"][name][what], f"{what} of {name!r} changed; {GUARD}"


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("line", json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else [])
def test_records_lead_to_their_points(line: str, backend: Any) -> None:
    deal = ThirteensRound.from_record(line, backend=backend)  # compares the points
    assert deal.is_over, f"a rule has changed; {GUARD}"
    assert deal.record() == line


if __name__ == "__main__":
    main()
