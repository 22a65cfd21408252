"""Training: configs, run folders, checkpoints, and a resumed run that follows the unbroken one exactly."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tienlen_agents
from tests.needs import needs_table
from tests.train.test_trainer import TINY, curve
from tienlen_agents.settings import Config, FreeText, Range, field_help, parse_args, setting, settings_of
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA
from tienlen_train import ppo
from tienlen_train.config import RunError
from tienlen_train.runs import RunFolder, lock_run_folder, write_atomic


@dataclass(frozen=True, kw_only=True)
class SmallConfig(Config):
    """For the tests.

    Attributes:
        number: a number,
            on two lines.
        text: a text.
        maybe: a text or nothing.
        choice: one of two.
        flag: yes or no.
    """

    number: int = setting(3, Range(0, 9))
    text: str = setting("a", FreeText())
    maybe: str | None = setting(None, FreeText())
    choice: Literal["x", "y"] = "x"
    flag: bool = False


def test_config_flags() -> None:
    config = parse_args(SmallConfig, "test", ["--number", "4", "--maybe", "m", "--choice", "y", "--flag"])
    assert config == SmallConfig(number=4, maybe="m", choice="y", flag=True)
    assert field_help(SmallConfig)["number"] == "a number, on two lines."


@pytest.mark.parametrize(
    "argv", [["--number", "x"], ["--number", "10"], ["--choice", "z"], ["--nothing", "1"]]
)
def test_config_refuses(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_args(SmallConfig, "test", argv)
    assert "error" in capsys.readouterr().err


def test_help_has_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_args(ppo.PPOConfig, "train", ["--help"])
    text = capsys.readouterr().out
    for name in settings_of(ppo.PPOConfig):
        assert "--" + name.replace("_", "-") in text
        assert field_help(ppo.PPOConfig)[name]


def test_write_atomic_keeps_the_old_file_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_run_folder_is_not_used_twice(tmp_path: Path) -> None:
    RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=False)
    with pytest.raises(RunError, match="--resume"):
        RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=False)
    with pytest.raises(RunError, match="number"):
        RunFolder(tmp_path, SmallConfig(number=9), CARDGAMES, resume=True)
    with pytest.raises(RunError, match="other rules"):
        RunFolder(tmp_path, SmallConfig(), FOICICA, resume=True)
    RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=True)


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    with lock_run_folder(tmp_path), pytest.raises(SystemExit, match="another process is training in"):
        ppo.main(["--out", str(tmp_path)])
    assert not (tmp_path / "config.json").exists()
    with lock_run_folder(tmp_path):
        RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=False)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=False)
    assert folder.load_checkpoint() is None
    for i in range(1, 6):
        folder.save_checkpoint(i, {"weights": torch.full((2,), float(i)), "count": i})
    names = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert names == ["000003.pt", "000004.pt", "000005.pt"]
    newest = tmp_path / "checkpoints" / "000005.pt"
    newest.write_bytes(newest.read_bytes()[:-1])
    found = folder.load_checkpoint()
    assert found is not None
    assert found[0] == 4
    assert found[1]["count"] == 4
    assert found[1]["weights"].tolist() == [4.0, 4.0]
    assert "000005.pt is damaged" in capsys.readouterr().err


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "ran"),)

    folder = RunFolder(tmp_path, SmallConfig(), CARDGAMES, resume=False)
    folder.save_checkpoint(1, {"bomb": Bomb()})
    with pytest.raises(Exception, match=r"[Uu]nsupported|weights_only"):
        folder.load_checkpoint()
    assert not (tmp_path / "ran").exists()


@pytest.mark.nightly  # tests/project/test_kill_points.py stops runs at some of their writes every time
def test_a_killed_run_goes_on_to_the_same_curve(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**TINY, "critic_width": 16, "decisions": 6000}
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in settings.items()]

    def run(out: Path, *extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tienlen_train.ppo", *flags, "--out", str(out), *extra],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    killed = run(tmp_path / "killed")
    for _ in range(1200):
        if list((tmp_path / "killed" / "checkpoints").glob("00000[1-9].pt")) or killed.poll() is not None:
            break
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    output, _ = killed.communicate()
    assert killed.returncode == -signal.SIGKILL, output
    num_done = (tmp_path / "killed" / "metrics.jsonl").read_text().count("\n")

    resumed = run(tmp_path / "killed", "--resume")
    output, _ = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, output
    assert "continuing" in output
    unbroken = run(tmp_path / "unbroken")
    output, _ = unbroken.communicate(timeout=300)
    assert unbroken.returncode == 0, output
    whole = curve(tmp_path / "unbroken")
    assert curve(tmp_path / "killed") == whole
    assert 0 < num_done < len(whole)  # it was in the middle
    lines = (tmp_path / "unbroken" / "metrics.jsonl").read_text().splitlines()
    *_, before, last = (json.loads(line)["decisions"] for line in lines)
    assert before < settings["decisions"] <= last
    for name in ("policy.safetensors", "arena.json", "arena.csv", "arena.html", "config.json"):
        assert (tmp_path / "killed" / name).stat().st_size > 0
    agent = tienlen_agents.load(f"policy:{tmp_path / 'killed' / 'policy.safetensors'}")
    batch = Batch("cardgames", 3)
    batch.reset(0)
    assert agent.act(View(batch)).shape == (3,)


def test_metrics_are_in_tensorboard_too(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "a", SmallConfig(), CARDGAMES, resume=False)
    for iteration in (1, 2, 3):
        folder.log({"iteration": iteration, "time": 1e9, "loss": 1 / iteration})
    again = RunFolder(tmp_path / "a", SmallConfig(), CARDGAMES, resume=True)
    again.trim_metrics(2)
    again.log({"iteration": 3, "time": 1e9, "loss": 0.25})
    for run in (folder, again):
        assert run._events is not None
        run._events.close()
    events = EventAccumulator(str(tmp_path / "a" / "tensorboard")).Reload()
    assert events.Tags()["scalars"] == ["loss"]
    assert [(e.step, e.value) for e in events.Scalars("loss")][::2] == [(1, 1.0), (3, 0.25)]
    assert len(events.Scalars("loss")) == 3


@needs_table
@pytest.mark.parametrize("name", ["my runs/lr=0.001,seed=2", "a 'b' [red]x[/red] $HOME \"q\", c"])
def test_the_last_line_of_a_run_can_be_pasted_into_a_shell(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it names is an agent, also in the options of another run."""
    monkeypatch.chdir(tmp_path)
    settings = {**TINY, "final_deals": 0, "stop_after": 1, "critic_width": 16}
    options = [f"--{key.replace('_', '-')}={value}" for key, value in settings.items()]
    assert ppo.main([*options, "--out", name]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("play with it: ")]
    command = line.partition(": ")[2]
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True
    )
    words = shell.stdout.split("\0")[:-1]
    assert words[words.index("play") :][:5] == ["play", "--rules", "cardgames", "--seats", "human"]
    seats = words[words.index("human") + 1 :]
    assert [tienlen_agents.load(seat).name for seat in seats] == [tienlen_agents.load(seats[0]).name] * 3
    again = [*options, f"--baselines=heuristic {seats[0]}", f"--teachers={seats[0]}", "--out", "b"]
    assert ppo.main(again) == 0
