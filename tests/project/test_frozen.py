"""Files that this package wrote before its first release still load, and their runs go on.

The files in tests/frozen were made by commit 2c535af, with the smallest networks and the fewest games:

    tienlen train ppo|dmc [--env thirteens] --num-games 8 --batch-size 64 --state-width 2 --action-width 2 ...
    tienlen train league --generations 2 --iterations 1 --payoff-deals 2 ...
    tienlen match random greedy --composition 1v3 --deals 24 --chunk 8 --seed 4 --records 2 --out ...

Of each run the last checkpoint is there, of the league that of the first generation; of the match two of its
three chunks.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena import run
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Round
from tienlen_train import dmc, league, ppo
from tienlen_train.config import Main

FROZEN = Path(__file__).parents[1] / "frozen"
POLICIES = json.loads((FROZEN / "log_probabilities.json").read_text())


@pytest.mark.parametrize(
    ("name", "main", "more"),
    [
        ("ppo", ppo.main, "--stop-after=4"),
        ("ppo-thirteens", ppo.main, "--stop-after=3"),
        ("dmc", dmc.main, "--stop-after=4"),
        ("league", league.main, "--payoff-deals=2"),
    ],
)
def test_a_run_goes_on(tmp_path: Path, name: str, main: Main, more: str) -> None:
    out = tmp_path / name
    shutil.copytree(FROZEN / name, out)
    (newest,) = (out / "checkpoints").iterdir()
    before = (out / "metrics.jsonl").read_text().splitlines()[: int(newest.stem)]
    assert main(["--out", str(out), "--resume", more]) == 0
    after = (out / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in after[: len(before)]] == [json.loads(line) for line in before]
    assert len(after) == len(before) + 1
    assert max(path.name for path in (out / "checkpoints").iterdir()) > newest.name
    if name == "league":
        members = [
            json.loads((folder / "league.json").read_text())["members"] for folder in (out, FROZEN / name)
        ]
        assert members[0] == members[1]


def test_a_match_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"composition": "1v3", "num_deals": 24, "deals_per_job": 8, "seed": 4, "records": 2}
    lines = (FROZEN / "match" / "chunks.jsonl").read_bytes()
    header = json.loads(lines.splitlines()[0])
    # Chunks of another version are refused; what a later version reads is the format.
    shutil.copytree(FROZEN / "match", tmp_path / "match")
    with pytest.raises(arena.ArenaRunError, match="code: "):
        arena.match("random", "greedy", out=tmp_path / "match", **options)
    monkeypatch.setattr(run, "code_digest", lambda: header["code"])
    monkeypatch.setattr(run, "versions", lambda: header["versions"])
    result = arena.match("random", "greedy", out=tmp_path / "match", **options)
    after = (tmp_path / "match" / "chunks.jsonl").read_bytes()
    assert after.startswith(lines)
    assert len(after.splitlines()) == 4
    again = arena.match("random", "greedy", **options)
    assert (again.points == result.points).all()
    assert (again.game_places == result.game_places).all()
    assert again.records == result.records


@pytest.mark.parametrize(("kind", "game"), [(Round, "tienlen"), (ThirteensRound, "thirteens")])
def test_a_record_is_read(kind: type[Round] | type[ThirteensRound], game: str) -> None:
    text = (FROZEN / f"record-{game}.txt").read_text().strip()
    played = kind.from_record(text)
    assert played.is_over
    assert played.record() == text


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_says_the_same(name: str) -> None:
    agent = tienlen_agents.load(f"policy:{FROZEN / name}")
    batch = Batch("thirteens" if "thirteens" in name else "cardgames", 2)
    batch.reset(1)
    found = agent.log_probabilities(View(batch))  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, POLICIES[name], atol=2e-5)
