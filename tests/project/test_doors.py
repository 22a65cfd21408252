"""A package of somebody else (`tests/outside`), installed with pip, uses every door of docs/extending.md."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.needs import ROOT
from tests.outside_packages import install
from tienlen_env import doors
from tienlen_env.doors import Door
from tienlen_train import cli, commands


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Runs Python, or `tienlen`, where the package is installed; what it prints."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(ROOT / "tests" / "outside")], check=True)
    paths = [str(site), *filter(None, sys.path)]

    def run(*words: str, code: str = "") -> str:
        command = [sys.executable, *(["-c", code] if code else ["-m", "tienlen_train.cli", *words])]
        done = subprocess.run(
            command, text=True, capture_output=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_command(outside: Callable[..., str]) -> None:
    assert re.search(
        r"openings +counts the legal plays of first hands: tienlen openings, 100 %", outside("--help")
    )
    assert "openings" in outside("bench", "--help")
    assert outside("openings") == outside("bench", "openings", "cardgames")
    listed = (
        "from tienlen_train import cli; cli.all_commands(); import sys; print('outside_doors' in sys.modules)"
    )
    assert outside(code=listed) == "False\n"


def test_a_backend(outside: Callable[..., str]) -> None:
    code = """
import numpy as np
from tienlen_env import Batch
batch, other = Batch("mini", 5, num_players=2, backend="counted"), Batch("mini", 5, num_players=2)
for each in (batch, other):
    each.reset(seed=1)
actions = batch.sample(np.random.default_rng(1))
for each in (batch, other):
    each.step(actions)
print(batch.num_decisions, (batch.state.rows == other.state.rows).all())
"""
    assert outside(code=code) == "5 True\n"


TRAIN = (
    *("train", "ppo", "--rules", "mini", "--num-games", "8", "--decisions", "50", "--state-width", "16"),
    *("--action-width", "16", "--final-deals", "2", "--eval-every", "0"),
)


def test_an_executor_of_the_arena_and_an_agent(outside: Callable[..., str], tmp_path: Path) -> None:
    words = ["match", "highest", "random", "--deals", "8", "--chunk", "4", "--quiet", "--composition", "1v3"]
    figures = []
    for name, more in (("here", []), ("there", ["--executor", "counting:home"])):
        outside(*words, "--out", str(tmp_path / name), *more)
        with (tmp_path / name / "arena.csv").open() as file:
            figures.append([(row["agent"], row["points"]) for row in csv.DictReader(file)])
    assert figures[0] == figures[1]
    assert figures[0][0][0] == "highest"


def test_executors_evaluators_and_actors_of_training(outside: Callable[..., str], tmp_path: Path) -> None:
    """All in one process, which imports PyTorch once."""
    runs = {
        "plain": [*TRAIN, "--evaluators", "first_cards"],
        "executor": [*TRAIN, "--evaluators", "first_cards", "--executor", "counting:home"],
        "actor": [*TRAIN, "--evaluators", "first_cards", "--actor", "slow", "--shards", "1"],
    }
    league = [word if word != "ppo" else "league" for word in TRAIN if word not in ("--eval-every", "0")]
    league[-2:] = ["--generations", "1", "--iterations", "1", "--payoff-deals", "2"]
    runs["league"] = [*league, "--executor", "counting"]
    code = f"""
from tienlen_train import cli
for name, words in {runs}.items():
    print("RUN", name)
    assert cli.main([*words, "--out", {str(tmp_path)!r} + "/" + name]) == 0
"""
    texts = dict(text.split("\n", 1) for text in outside(code=code).split("RUN ")[1:])
    metrics = {
        name: json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1])
        for name in ("plain", "executor", "actor")
    }
    for name, found in metrics.items():
        assert ("at home, for" in texts[name]) == (name == "executor")
        assert found["first_cards"] >= 1
    assert metrics["plain"]["policy_loss"] == metrics["executor"]["policy_loss"]
    assert "2 items" in texts["league"]


def test_a_game(outside: Callable[..., str]) -> None:
    assert "high_card" in outside("check-game", "high_card", "--rounds", "2")


def test_a_check_of_games(outside: Callable[..., str]) -> None:
    code = """
from dataclasses import replace
from tests.high_card import HIGH_CARD, HighCardRules
from tienlen_env.games.registry import register
print(register(HIGH_CARD).name)
try:
    register(replace(HIGH_CARD, name="other", presets={"other": HighCardRules(num_players=3)}))
except ValueError as refusal:
    print(refusal)
"""
    assert outside(code=code) == "high_card\nother: expected a name that ends in card\n"


# ---------------------------------------------------------------- what a door refuses


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path for packages."""
    monkeypatch.syspath_prepend(tmp_path)
    for cached in (doors._entries, commands.installed, commands._places):
        monkeypatch.setattr(
            doors if cached is doors._entries else commands, cached.__name__, cached.__wrapped__
        )
    return tmp_path


DOOR = Door("tienlen.backends", "backend", ("native",))


def test_what_two_packages_have_is_refused_and_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("outside_one", "outside_two"):
        install(
            folder, module, f"[tienlen.backends]\nx = {module}:X\n[tienlen.commands]\nx = {module}:main\n"
        )
    with pytest.raises(ValueError, match=r"two packages have a backend 'x': .*outside_one.*outside_two"):
        DOOR.load("x")
    assert cli.main(["x"]) == 2
    assert capsys.readouterr().err == "tienlen x: two packages have it: outside_one:main, outside_two:main\n"
    with pytest.raises(SystemExit):
        cli.main(["--help"])


def test_a_built_in_name_cannot_be_taken(folder: Path) -> None:
    taken = "match = outside:x\ntrain.ppo = outside:x\n"
    install(folder, "outside", f"[tienlen.backends]\nnative = outside:X\n[tienlen.commands]\n{taken}")
    assert "native" not in DOOR.entries()
    found = cli.all_commands()
    assert found["match"] is cli.COMMANDS["match"]
    assert cli._find(["train", "ppo"])[1] is cli._find_in(found, ["train", "ppo"])[1]


def test_a_package_that_is_not_there_breaks_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clone without an extension has its entry points all the same."""
    install(folder, "outside", "[tienlen.backends]\nx = outside.y:X\n[tienlen.commands]\nx = outside:main\n")
    (folder / "outside.py").unlink()
    assert "x" not in DOOR.entries()
    assert "x" not in cli.all_commands()
    with pytest.raises(ValueError, match="backend='x': expected one of native"):
        DOOR.load("x")
    with pytest.raises(SystemExit) as end:
        cli.main(["x"])
    assert end.value.code == 2


def test_malformed_entries_break_no_help(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = "fine = outside:main\nnew.one = outside:main\n"
    lines = f"[tienlen.commands]\nodd\n= x:y\n# a = b:c\n{right}[other]\nb = c:d\n"
    install(folder, "outside", lines, '"""Takes 5 %s \x1b[31m of it."""\n')
    (folder / "outside-1.0.dist-info" / "entry_points.txt").write_bytes(lines.encode() + b"\xff")
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert "takes 5 %s [31m of it" in out
    assert "\x1b" not in out
    assert "odd" not in out
    with pytest.raises(SystemExit) as end:
        cli.main(["new", "--help"])
    assert "one" in capsys.readouterr().out
