"""The console script `tienlen`: every subcommand has a help, dispatches to its module, and starts fast."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import tienlen_agents.arena
import tienlen_env
from tests.needs import needs_bench, needs_suite, needs_table
from tienlen_agents.arena.run import ArenaSettings
from tienlen_env.doors import Door
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.extras import how_to_install
from tienlen_env.games.registry import game_named
from tienlen_train import cli, commands

ROOT = Path(__file__).parents[2]

EVERY = [
    *((name,) for name, entry in cli.all_commands().items() if isinstance(entry, cli.Command)),
    *(
        (name, command)
        for name, entry in cli.all_commands().items()
        if isinstance(entry, cli.Group)
        for command in entry.commands
    ),
]


GROUPS = [(name,) for name, entry in cli.all_commands().items() if isinstance(entry, cli.Group)]


@pytest.fixture(autouse=True)
def restore_argv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", list(sys.argv))


def test_the_promised_commands_are_there() -> None:
    wanted = "match compare league gauntlet train cache"
    assert set(cli.COMMANDS) >= set(wanted.split())
    train = cli.COMMANDS["train"]
    assert isinstance(train, cli.Group)
    assert set(train.commands) == {"ppo", "dmc", "best-response", "belief", "league"}


@pytest.mark.parametrize("words", [(), *GROUPS, *EVERY], ids=" ".join)
def test_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: {' '.join(['tienlen', *words])} [-h]")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("words", [(), *GROUPS, *EVERY], ids=" ".join)
def test_help_is_readable_in_every_encoding(
    words: tuple[str, ...], encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, "--help"])
    sys.stdout.flush()
    assert caught.value.code == 0
    assert re.search(rb"\\[ux][0-9a-f]{2}", written.getvalue()) is None
    assert words or written.getvalue().decode(encoding).startswith("usage: tienlen [-h]")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_module_has_a_main(words: tuple[str, ...]) -> None:
    path, command, rest = cli._find([*words, "--x"])
    assert (path, rest) == (list(words), ["--x"])
    assert command is not None
    assert callable(getattr(importlib.import_module(command.module), command.function))


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["train", "--seed", "1"], ["train", "ppo"]),
        pytest.param(["bench", "--runs", "1"], ["bench", "speed"], marks=needs_bench),
    ],
)
def test_groups_have_a_default(words: list[str], path: list[str]) -> None:
    assert cli._find(words)[0] == path


def test_a_group_without_commands_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "installed", dict)
    assert "bench" not in cli.all_commands()
    monkeypatch.setattr(commands, "installed", lambda: {"bench.gpu": ["tienlen_train.cli:main"]})
    assert [*cli.all_commands()["bench"].commands] == ["gpu"]  # type: ignore[union-attr]
    assert cli._find(["bench"]) == (["bench"], None, [])


@pytest.mark.parametrize("words", [[], ["nothing"], ["train", "nothing"]])
def test_unknown_commands_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("refused", "meant"),
    [
        (lambda: cli.main(["trian"]), "train"),
        (lambda: cli.main(["train", "pop"]), "ppo"),
        (lambda: tienlen_agents.load("heuristics"), "heuristic"),
        (lambda: tienlen_agents.load("search:world=4"), "worlds"),
        (lambda: tienlen_agents.arena.match("greedy", "random", num_deal=1), "num_deals"),
        (lambda: tienlen_env.get_rules("norht"), "north"),
        (lambda: tienlen_env.get_rules("north", taret=1), "target"),
        (lambda: tienlen_env.Batch(reward="point"), "points"),
        (lambda: tienlen_env.Batch(backend="numb"), "numba"),  # type: ignore[arg-type]
        (lambda: tienlen_env.Batch(episode="rond"), "round"),
        (lambda: tienlen_env.tienlen_v1.env(render_mode="ascii"), "ansi"),
        (lambda: OneSeatEnv(illegal="rise"), "raise"),  # type: ignore[arg-type]
        (lambda: OneSeatEnv(dtype="float"), "float32"),  # type: ignore[arg-type]
        (lambda: OneSeatVectorEnv(2, autoreset_mode="SameSteps"), "SameStep"),
        (lambda: tienlen_env.ThirteensRules(melding="manuel"), "manual"),  # type: ignore[arg-type]
        (lambda: tienlen_env.Rules(heir="next"), "next_seat"),  # type: ignore[arg-type]
        (lambda: tienlen_env.Rules(instant_wins=("dragons",)), "dragon"),  # type: ignore[arg-type]
        (lambda: tienlen_agents.load("search:objective=poins"), "points"),
        (lambda: ArenaSettings(permutations="rotation"), "rotations"),  # type: ignore[arg-type]
        (lambda: cli.main(["match", "greedy", "random", "--rules", "sauth"]), "south"),
        pytest.param(lambda: cli.main(["play", "--rules", "sauth"]), "south", marks=needs_table),
        (lambda: cli.main(["train", "ppo", "--device", "cudda"]), "cuda"),
        (lambda: cli.main(["cache", "claer"]), "clear"),
        pytest.param(lambda: cli.main(["suite", "chek", "x"]), "check", marks=needs_suite),
        (lambda: tienlen_env.tienlen_v1.env().reset(options={"kye": 1}), "key"),
        (lambda: game_named("tienlenn"), "tienlen"),
        (lambda: Door("tienlen.backends", "backend", ("native",)).load("nativ"), "native"),
    ],
)
def test_a_refused_name_has_the_one_that_was_meant(
    refused: Callable[[], object], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((ValueError, TypeError, SystemExit)) as caught:
        refused()
    assert f"did you mean '{meant}'?" in str(caught.value) + capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith("tienlen-env")


def test_a_report_has_the_command_that_was_typed(tmp_path: Path) -> None:
    words = shlex.split(f"match greedy random --composition 1v3 --deals 2 --quiet --out {tmp_path}")
    assert cli.main(words) == 0
    assert json.loads((tmp_path / "arena.json").read_text())["command"] == shlex.join(["tienlen", *words])


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tienlen_train.dmc", raising=False)
    for name in [name for name in sys.modules if name.startswith("tienlen_train.") and name != cli.__name__]:
        monkeypatch.delitem(sys.modules, name)
    assert cli.main(["train", "dmc", "--help"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("tienlen train dmc: the package torch is not installed: pip install ")
    assert "'torch>=" in told  # the packages: pip would look for this distribution on an index
    assert "tienlen-env" not in told


@pytest.mark.parametrize("extra", ["train", "arena", "web", "cluster", "cuda"])
def test_what_an_extra_installs_is_named(extra: str) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    lines = project["project"]["optional-dependencies"][extra]
    words = shlex.split(how_to_install(extra))
    assert words[:2] == ["pip", "install"]
    names = {re.split(r"[<>=\[ ]", word)[0] for word in words[2:]}
    assert names >= {re.split(r"[<>=\[ ]", line)[0] for line in lines if not line.startswith("tienlen-env")}
    assert "tienlen-env" not in names
    assert ("jinja2" in names) == (extra in ("train", "arena"))


def test_ctrl_c_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tienlen_train.cache.main", interrupt)
    assert cli.main(["cache"]) == 130
    assert capsys.readouterr().err == "tienlen cache: interrupted\n"


@pytest.mark.parametrize(
    ("error", "detail"),
    [(MemoryError(), ""), (MemoryError("Unable to allocate 8.00 TiB"), ": Unable to allocate 8.00 TiB")],
)
def test_too_little_memory_ends_without_a_traceback(
    error: MemoryError, detail: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def allocate(_: list[str]) -> int:
        raise error

    monkeypatch.setattr("tienlen_train.cache.main", allocate)
    assert cli.main(["cache"]) == 1
    assert capsys.readouterr().err == f"tienlen cache: there is not enough memory{detail}\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tienlen_train import cli; before = set(sys.modules)\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'gymnasium', 'pettingzoo', 'numba', 'rich', 'tienlen_env', 'tienlen_agents'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.nightly
def test_help_is_fast() -> None:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "tienlen_train.cli", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3


COMPLETIONS = {
    "tienlen pl": {"play"},
    "tienlen train d": {"dmc"},
    "tienlen match gree": {"greedy", "greedy_long"},
    "tienlen play --seats gree": {"greedy", "greedy_long"},
    "tienlen match greedy random --precis": {"--precision"},
    "tienlen play --rules thirteens_d": {"thirteens_dummy", "thirteens_dummy_manual"},
    "tienlen cache cl": {"clear"},
    "tienlen protocol ch": {"check"},
}
# A shell starts the command for every line. Here they are forks of one process that has imported it.
COMPLETE = """
import os, sys
import argcomplete, tienlen_agents.arena.__main__
from tienlen_train.cli import main
for number, line in enumerate(sys.argv[1:]):
    child = os.fork()
    if not child:
        os.environ["_ARGCOMPLETE_STDOUT_FILENAME"] = f"{number}.txt"
        os.environ.update(COMP_LINE=line, COMP_POINT=str(len(line)))
        main()
    os.waitpid(child, 0)
"""


def test_completion(tmp_path: Path) -> None:
    """What the shell would offer after a line, by argcomplete's protocol."""
    pytest.importorskip("argcomplete")
    env = os.environ | {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_TYPE": "9"}
    there = " ".join(cli.all_commands())
    completions = {line: words for line, words in COMPLETIONS.items() if f" {line.split()[1]}" in f" {there}"}
    command = [sys.executable, "-c", COMPLETE, *completions]
    subprocess.run(command, env=env, cwd=tmp_path, timeout=60, check=True)
    offered = [(tmp_path / f"{number}.txt").read_text().split() for number in range(len(completions))]
    assert dict(zip(completions, map(set, offered), strict=True)) == completions


def test_text_that_the_terminal_lacks_is_escaped(tmp_path: Path) -> None:
    """A match is not lost because ``LC_ALL=C`` cannot write its table."""
    codes = "0x1ebf, 177, 0x4e00, 0xdc80"  # the last two have no form in ASCII
    call = f"shows_any_text(print)(*map(chr, [{codes}]))"
    code = f"from tienlen_agents.command import shows_any_text; {call}"
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=plain, capture_output=True, check=True)
    assert done.stdout.split() == [b"e", b"+-", b"\\u4e00", b"\\udc80"]
