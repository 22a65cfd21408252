"""What must never change by accident: deals, action ids, observations, rewards, records.

``python tests/tienlen_env/engine/test_golden.py`` writes the files of `golden/` anew. If that changes
anything, agents trained before no longer fit and results no longer compare: a new version of the environment.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import format_cards, masks_to_bits
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import PRESETS, get_rules
from tienlen_env.single.tienlen import Round

FOLDER = Path(__file__).parents[2] / "golden"
KEYS = [0, 1, 2, 3, 7, 42, 255, 2**16, 2**31, 2**32, 2**32 + 1, 10**18, 2**62, 2**63 - 1]
KEYS += [-1, -2, -42, -(2**31), -(2**32), -(2**63)]
NUM_DEALS = 10_000
REWARDS = ("points", "zero_sum", "win", "cards")
PAID_REWARDS = (*REWARDS, "payments")  # of presets with payments
GUARD = "this breaks trained agents and published results: bump tienlen_v1 or revert"


def digest(parts: Iterable[Any]) -> str:
    """SHA-256 of arrays (little-endian bytes) and texts, 32 hex digits."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes())
        else:
            found.update(repr(part).encode())
    return found.hexdigest()[:32]


# ---------------------------------------------------------------- what is pinned


def deals(backend: Any = "numba") -> dict[str, Any]:
    """Hands of some keys as text, and a digest over keys 0..9999 and the rounds of their games."""
    batch = Batch("cardgames", len(KEYS), backend=backend)
    found: dict[str, Any] = {}
    for num_players in (2, 3, 4):
        batch = Batch("cardgames", len(KEYS), num_players=num_players, backend=backend)
        batch.deal(np.array(KEYS))
        hands = [[format_cards(h, "") for h in row] for row in batch.state.hands.tolist()]
        found[f"p{num_players}"] = dict(zip(map(str, KEYS), hands, strict=True))
    return found


def deal_digests(num_deals: int, backend: Any = "numba") -> dict[str, str]:
    found = {}
    for num_players in (2, 3, 4):
        batch = Batch("cardgames", num_deals, num_players=num_players, backend=backend)
        batch.deal(np.arange(num_deals), rounds=np.arange(num_deals) % 5)
        found[f"p{num_players}"] = digest([batch.state.hands])
    return found


def action_table(name: str) -> str:
    table = build_action_table(PRESETS[name])
    masks = (table.suited_mask, table.unsuited_mask, table.bomb_mask)
    return digest([table.width, table.length, table.top, *(m.astype(np.uint8) for m in masks)])


def layouts(name: str) -> str:
    parts = []
    for num_players in (2, 3, 4):
        for history in (0, 8):
            batch = Batch(name, 1, num_players=num_players, history=history)
            parts += [(p.name, p.slice.start, p.slice.stop, p.shape) for p in batch.layout.values()]
    return digest(parts)


@lru_cache
def played(name: str) -> tuple[str, dict[str, str]]:
    """Digests of the masks and observations of fixed games, and of their rewards by scheme."""
    seen: list[np.ndarray] = []
    schemes = PAID_REWARDS if PRESETS[name].has_payments else REWARDS
    rewards: dict[str, list[np.ndarray]] = {scheme: [] for scheme in schemes}
    for num_players in (2, 3, 4):
        batches = {
            scheme: Batch(
                name,
                64,
                num_players=num_players,
                episode="game",
                reward=scheme,  # type: ignore[arg-type]
                history=3,
                auto_reset=True,
            )
            for scheme in schemes
        }
        for batch in batches.values():
            batch.deal(np.arange(64) * 1_000_003)
        batch = batches["points"]
        for step in range(250):
            legal = batch.list_legal()
            choice = (7 * step + 13 * np.arange(64)) % batch.count_legal()
            ids = legal.action[legal.start + choice]
            seen += [batch.action_mask(), batch.observe(), batch.state.turn.copy()]
            for scheme, other in batches.items():
                rewards[scheme].append(other.step(ids)[0].copy())
    return digest(seen), {scheme: digest(parts) for scheme, parts in rewards.items()}


def versions() -> dict[str, Any]:
    return {
        name: {
            "rules": get_rules(name).digest(),
            "action_table": action_table(name),
            "observation_layout": layouts(name),
            "observation": played(name)[0],
            "rewards": played(name)[1],
        }
        for name in PRESETS
    }


def records() -> list[str]:
    """A finished round of each preset and number of players, by a fixed way of playing."""
    lines = []
    for i, name in enumerate(PRESETS):
        for num_players in (2, 3, 4):
            round_ = Round(name, key=1000 * i + num_players, num_players=num_players)
            step = 0
            while not round_.is_over:
                plays = round_.legal_plays(exact=True)
                round_.play(plays[(5 * step + 3) % len(plays)])
                step += 1
            lines.append(round_.record())
    return lines


def load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write the files anew."""
    FOLDER.mkdir(exist_ok=True)
    data = {
        "deals": {"hands": deals(), "digest": deal_digests(NUM_DEALS)},
        "tienlen_v1": versions(),
        "records": records(),
    }
    for name, found in data.items():
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


# ---------------------------------------------------------------- tests


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_deals_of_some_keys(backend: str) -> None:
    assert deals(backend) == load("deals")["hands"], f"the deal of a key has changed; {GUARD}"


def test_deals_of_many_keys() -> None:
    assert deal_digests(NUM_DEALS) == load("deals")["digest"], f"the deal of a key has changed; {GUARD}"


def test_deals_of_many_keys_in_plain_python() -> None:
    assert deal_digests(300, "python") == deal_digests(300)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(
    ("what", "current"),
    [
        ("rules", lambda name: PRESETS[name].digest()),
        ("action_table", action_table),
        ("observation_layout", layouts),
        ("observation", lambda name: played(name)[0]),
        ("rewards", lambda name: played(name)[1]),
    ],
)
def test_version_guard(what: str, current: Any, name: str) -> None:
    assert current(name) == load("tienlen_v1")[name][what], f"{what} of {name!r} changed; {GUARD}"


@pytest.mark.parametrize("line", load("records") if (FOLDER / "records.json").exists() else [])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_records_lead_to_their_places(line: str, backend: Any) -> None:
    round_ = Round.from_record(line, backend=backend)  # compares the places
    assert round_.is_over, f"a rule has changed; {GUARD}"
    assert round_.record() == line
    places = [int(p) for p in line.split(" = ")[1].split()]
    if round_.rules.has_payments:
        return  # a round may end earlier, or without a card
    assert [(len(round_.hand(s)) == 0) for s in range(len(places))] == [p < len(places) - 1 for p in places]


# ---------------------------------------------------------------- are the deals fair


def chi_square(counts: np.ndarray, expected: float) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("first_key", [0, 10**15])
def test_every_card_goes_to_every_seat_as_often(num_players: int, first_key: int) -> None:
    """Card × seat counts over 20,000 deals of successive keys, 3 seats' worth of freedom a card."""
    num_deals = 20_000
    batch = Batch("cardgames", num_deals, num_players=num_players)
    batch.deal(first_key + np.arange(num_deals))
    counts = masks_to_bits(batch.state.hands).sum(axis=0, dtype=np.int64)  # (P, 52)
    assert counts.sum() == 13 * num_players * num_deals
    statistic = chi_square(counts, num_deals / 4)
    # Each cell has variance n/4 · 3/4, so the sum of P × 52 cells has the mean 39 P; its spread is near 0.12
    # of that. Five times the spread has room for luck and none for a fault.
    mean = 39 * num_players
    assert 0.5 * mean < statistic < 1.6 * mean


def test_neighbouring_cards_are_independent() -> None:
    """Both cards of a pair of neighbours meet in a hand in 12 of 51 deals."""
    num_deals = 20_000
    batch = Batch("cardgames", num_deals)
    batch.deal(np.arange(num_deals))
    hands = masks_to_bits(batch.state.hands).astype(np.int64)
    together = (hands[:, :, :-1] & hands[:, :, 1:]).sum(axis=(0, 1)) / num_deals
    assert np.abs(together - 12 / 51).max() < 4.5 * (12 / 51 * 39 / 51 / num_deals) ** 0.5


def test_rounds_and_keys_give_different_deals() -> None:
    batch = Batch("cardgames", 4096)
    batch.deal(np.arange(4096) // 64, rounds=np.arange(4096) % 64)
    assert len(np.unique(batch.state.hands, axis=0)) == 4096


if __name__ == "__main__":
    main()
