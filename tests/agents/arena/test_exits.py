"""Agents that end the program they play in: no command ends with exit code 0 without results."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.cheats import install_agents
from tests.needs import needs_table
from tienlen_agents import arena
from tienlen_agents.command import interruptible
from tienlen_env.engine.agent import AgentError, RandomAgent
from tienlen_env.engine.batch import Batch
from tienlen_train.cli import main as cli_main

EXITS = '''
import os, sys
from tienlen_env.engine.agent import RandomAgent

class Exits(RandomAgent):
    """Plays as `random`; at one place (`load`, `reset` or `act`) it ends the program."""
    name = "exits"
    history = 0

    def __init__(self, where: str = "act", *, how: str = "exit"):
        super().__init__()
        self.where, self.how = where, how
        self.end("load")

    def end(self, where):
        if where == self.where:
            if self.how == "exit":
                sys.exit(0)
            if self.how == "interrupt":
                raise KeyboardInterrupt
            if self.how == "generator":
                raise GeneratorExit
            if self.how == "wrong":
                return
            os._exit(0)

    def reset(self, seed):
        super().reset(seed)
        self.end("reset")

    def act(self, view):
        self.end("act")
        return super().act(view) if self.how != "wrong" else [float("nan")] * (len(view) + 1)
'''


@pytest.fixture
def exits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Installs the agent for other processes, and registers it in this one; gives the class."""
    install_agents(tmp_path, monkeypatch, EXITS, ["Exits"])
    found: dict[str, Any] = {}
    exec(EXITS, found)
    monkeypatch.setitem(tienlen_agents._factories, "exits", found["Exits"])
    return found["Exits"]


def run(*words: str) -> tuple[int, str]:
    """The exit code of a command in a process of its own, and what it says."""
    command = [sys.executable, "-m", "tienlen_agents.arena", "match", *words, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("agent", "what", "workers"),
    [
        ("exits:act", "SystemExit(0)", "2"),
        ("exits:reset,how=interrupt", "KeyboardInterrupt()", "1"),
        pytest.param("exits:act", "SystemExit(0)", "1", marks=pytest.mark.nightly),
        pytest.param("exits:reset,how=interrupt", "KeyboardInterrupt()", "2", marks=pytest.mark.nightly),
        ("exits:load", "SystemExit(0)", "1"),
        pytest.param("exits:load", "SystemExit(0)", "2", marks=pytest.mark.nightly),
    ],
)
def test_a_match_names_the_agent(agent: str, what: str, workers: str, exits: Any, tmp_path: Path) -> None:
    words = [agent, "greedy", "--deals", "4", "--chunk", "2", "--workers", workers]
    code, said = run(*words, "--out", str(tmp_path / "out"))
    assert code == 2
    assert f"tried to end the program: {what}" in said
    assert said.count("\n") == 1
    assert "agent 'exits" in said


def test_a_worker_that_is_gone_is_told_with_its_agents(exits: Any) -> None:
    code, said = run("exits:act,how=_exit", "greedy", "--deals", "4", "--chunk", "2", "--workers", "2")
    assert code == 2
    assert "a worker process of the arena died while it played exits:act,how=_exit v. greedy" in said


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param("exits:act", marks=pytest.mark.nightly),
        "exits:act,how=_exit",
        pytest.param("exits:act,how=generator", marks=pytest.mark.nightly),
    ],
)
def test_an_isolated_agent_costs_its_own_rounds_only(agent: str, exits: Any) -> None:
    code, said = run(f"{agent},isolate=1", "greedy", "--deals", "2", "--composition", "1v3")
    assert code == 1
    assert f"failed: {agent},isolate=1" in said


def test_every_door_names_the_agent(exits: Any, capsys: Any) -> None:
    agent = exits("act")
    for play in (
        lambda: arena.match(agent, RandomAgent(), num_deals=2),
        lambda: arena.latency(agent, Batch("cardgames", 1).rules, decisions=1),
    ):
        with pytest.raises((AgentError, SystemExit)) as caught:
            play()
        told = str(pickle.loads(pickle.dumps(caught.value)))
        if caught.type is SystemExit:
            assert told == "2"
            told = capsys.readouterr().err
        assert "agent 'exits' tried to end the program: SystemExit(0)" in told


@needs_table
def test_the_terminal_names_the_agent_and_keeps_the_record(exits: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["tienlen"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    code = cli_main(["play", "--seats", "exits:act", "random", "--rounds", "1", "--key", "1"])
    out, err = capsys.readouterr()
    assert code == 1
    assert "agent 'exits' tried to end the program" in err
    assert "the record:" in out


def test_a_command_that_asks_an_agent_unguarded_still_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name is not known, the place is told."""
    code = compile("import sys; sys.exit(0)", "their_agent.py", "exec")
    with pytest.raises(AgentError, match=r"their_agent.py, line 1, called sys.exit\(0\)"), interruptible():
        exec(code, {"__name__": "tienlen_theirs"})
    monkeypatch.setattr(sys, "argv", ["tienlen"])
    with pytest.raises(SystemExit), interruptible():
        cli_main(["match", "--help"])


@pytest.mark.parametrize("history", [-1, 257, 1.0, "all", None])
def test_an_agent_that_wants_an_impossible_history_is_named_before_any_work(history: Any, exits: Any) -> None:
    agent = exits("never")
    agent.history = history
    with pytest.raises(ValueError, match=r"agent 'exits': history=.*: expected 0\.\.256 plays"):
        arena.league([RandomAgent(), agent], num_deals=2)


def test_ctrl_c_of_a_person_is_no_fault_of_an_agent(exits: Any) -> None:
    """Outside of commands a KeyboardInterrupt may be a person's."""
    with pytest.raises(KeyboardInterrupt):
        arena.match(exits("act", how="interrupt"), RandomAgent(), num_deals=2)
    with pytest.raises(AgentError), interruptible():
        arena.match(exits("act", how="interrupt"), RandomAgent(), num_deals=2)


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("exit", "program: SystemExit(0)"),
        pytest.param("wrong", "got float64", marks=pytest.mark.nightly),
    ],
)
def test_a_league_goes_on_without_an_isolated_agent_that_fails(how: str, cause: str, exits: Any) -> None:
    """The results of all others are as without it, and its failure is told."""
    names = [f"exits:act,how={how},isolate=1", "greedy", "random"]
    report = arena.league(names, num_deals=2, seed=1, num_players=2)
    alone = arena.league(names[1:], num_deals=2, seed=1, num_players=2)
    (failed,) = report.failures
    assert failed.name == names[0]
    assert cause in str(failed)
    (league,), (other,) = report.leagues, alone.leagues
    assert [s.points.mean for s in league.standings] == [s.points.mean for s in other.standings]
    assert np.isfinite(league.standings[0].rating.mean)
