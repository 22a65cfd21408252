"""Damaged run folders, runs that diverge, Ctrl-C and SIGTERM: an error that says what to do, and no loss."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from tests.train.test_runs import SmallConfig
from tests.train.test_trainer import TINY, curve
from tienlen_agents.command import Interrupted, interruptible
from tienlen_agents.files import remove_temporaries, write_atomic
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_env.games.tienlen.rules import CARDGAMES
from tienlen_train import cli, ppo, runs
from tienlen_train.config import DivergenceError, RunError
from tienlen_train.loop import train
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import RunFolder, lock_run_folder

CONSOLE = Console(quiet=True)
SETTINGS: dict[str, Any] = {**TINY, "critic_width": 16, "num_games": 8, "final_deals": 0, "stop_after": 3}


def a_folder(path: Path, *, resume: bool = False) -> RunFolder:
    return RunFolder(path, SmallConfig(), CARDGAMES, resume=resume)


def with_checkpoints(path: Path, *iterations: int) -> RunFolder:
    """A run with these checkpoints; closed, so that TensorBoard's thread writes nothing more."""
    with a_folder(path) as folder:
        for iteration in iterations:
            folder.log({"iteration": iteration, "loss": 1 / iteration})
            folder.save_checkpoint(iteration, {"count": iteration})
    return folder


def names(path: Path) -> list[str]:
    return sorted(p.name for p in (path / "checkpoints").iterdir())


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


# ---------------------------------------------------------------- what to resume


@pytest.mark.parametrize("make_folder", [False, True])
def test_there_is_a_run_to_resume_or_an_error(make_folder: bool, tmp_path: Path) -> None:
    path = tmp_path / "none"
    if make_folder:
        path.mkdir()
    with pytest.raises(SystemExit, match="none holds no run: leave out --resume"):
        ppo.main(["--out", str(path), "--resume"])
    assert list(tmp_path.rglob("*")) == ([path] if make_folder else [])


@pytest.mark.parametrize(
    "text", [b"", b'{"config": {', b"[]", b"{}", b"7", b"\xff\xfe", b"[" * 10**5, b"\0" * 99]
)
def test_a_damaged_config_is_named(text: bytes, tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 1)
    (tmp_path / "config.json").write_bytes(text)
    with pytest.raises(
        RunError, match=r"config\.json is damaged: .*\. Put back a sound copy, or start anew with ano"
    ):
        a_folder(tmp_path, resume=True)


def test_a_changed_setting_is_refused(tmp_path: Path) -> None:
    """The checkpoint has the digest of the settings: a change of config.json is noticed."""
    with_checkpoints(tmp_path, 1)
    config = tmp_path / "config.json"
    described = json.loads(config.read_text())
    described["config"]["number"] += 1
    config.write_text(json.dumps(described))
    settings = replace(SmallConfig(), number=described["config"]["number"])
    changed = RunFolder(tmp_path, settings, CARDGAMES, resume=True)
    with pytest.raises(RunError, match=r"config.json has other settings than 000001.pt was written with"):
        changed.load_checkpoint()
    described["config"]["number"] -= 1
    config.write_text(json.dumps(described))
    assert a_folder(tmp_path, resume=True).load_checkpoint() is not None


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_a_missing_config_is_named_and_the_run_is_not_overwritten(resume: list[str], tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 1)
    (tmp_path / "config.json").unlink()
    before = {p: p.read_bytes() for p in tmp_path.rglob("*.*") if p.is_file()}
    with pytest.raises(SystemExit, match=r"config\.json is missing"):
        ppo.main(["--out", str(tmp_path), *resume])
    assert {p: p.read_bytes() for p in before} == before


# ---------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("lose", [damage, Path.unlink])
def test_a_run_never_begins_anew_by_itself(lose: Callable[[Path], None], tmp_path: Path) -> None:
    folder = with_checkpoints(tmp_path, 1, 2, 3)
    for path in (tmp_path / "checkpoints").glob("*.pt"):
        lose(path)
    with pytest.raises(
        RunError, match=r"checkpoints: .*put back a sound copy, or start anew with another --out"
    ):
        folder.load_checkpoint()
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3


def test_damaged_checkpoints_do_not_displace_good_ones(tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 2, 4, 6)
    for name in ("000004.pt", "000006.pt"):
        damage(tmp_path / "checkpoints" / name)
    folder = a_folder(tmp_path, resume=True)
    found = folder.load_checkpoint()
    assert found is not None
    assert found[0] == 2
    assert names(tmp_path) == [
        "000002.pt",
        "000004.pt",
        "000006.pt",
    ]  # nothing is lost before there is a new one
    folder.save_checkpoint(3, {"count": 3})
    assert names(tmp_path) == ["000002.pt", "000003.pt"]
    folder.save_checkpoint(5, {"count": 5})
    found = a_folder(tmp_path, resume=True).load_checkpoint()
    assert found is not None
    assert found[0] == 5


def test_a_damaged_checkpoint_between_good_ones_goes_first(tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 1, 2, 3)
    damage(tmp_path / "checkpoints" / "000002.pt")
    folder = a_folder(tmp_path, resume=True)
    found = folder.load_checkpoint()
    assert found is not None
    assert found[0] == 3
    folder.save_checkpoint(4, {})
    assert names(tmp_path) == ["000001.pt", "000003.pt", "000004.pt"]


def test_numbers_of_any_length_are_in_order(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    for iteration in (999_998, 999_999, 1_000_000, 1_000_001):
        folder.save_checkpoint(iteration, {})
    assert names(tmp_path) == ["1000000.pt", "1000001.pt", "999999.pt"]
    found = folder.load_checkpoint()
    assert found is not None
    assert found[0] == 1_000_001


def test_foreign_files_among_the_checkpoints_are_named(tmp_path: Path) -> None:
    folder = with_checkpoints(tmp_path, 1)
    path = tmp_path / "checkpoints" / "latest.pt"
    path.write_bytes(b"mine")
    with pytest.raises(RunError, match=r"latest\.pt is not a checkpoint of this run"):
        folder.load_checkpoint()
    for iteration in range(2, 7):  # a running run leaves it alone
        folder.save_checkpoint(iteration, {})
    assert path.read_bytes() == b"mine"
    path.unlink()
    path.with_name("000099.pt").mkdir()
    with pytest.raises(RunError, match=r"000099\.pt is not a checkpoint of this run"):
        folder.load_checkpoint()


def write_state(path: Path, state: object) -> None:
    buffer = io.BytesIO()
    torch.save(state, buffer)
    path.write_bytes(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())


@pytest.mark.parametrize("state", [[1], 7, {"iteration": 4}], ids=str)
def test_a_foreign_state_with_a_right_digest_is_named(state: object, tmp_path: Path) -> None:
    folder = with_checkpoints(tmp_path, 1)
    path = tmp_path / "checkpoints" / "000009.pt"
    write_state(path, state)
    with pytest.raises(RunError, match=r"000009\.pt is not the checkpoint of iteration 9"):
        folder.load_checkpoint()
    data = b"no archive"
    path.write_bytes(hashlib.sha256(data).digest() + data)
    with pytest.raises(RunError, match=r"000009\.pt is not a checkpoint"):
        folder.load_checkpoint()


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of three iterations."""
    out = tmp_path_factory.mktemp("a") / "run"
    train(PPOTrainer, PPOConfig(**SETTINGS, out=str(out)), CONSOLE)
    return out


def test_the_state_of_another_run_is_named(a_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(a_run, out)
    path = out / "checkpoints" / "000003.pt"
    good = torch.load(io.BytesIO(path.read_bytes()[32:]), weights_only=True)
    nan = {name: torch.full_like(value, torch.nan) for name, value in good["learner"].items()}
    small = {name: value[:1] for name, value in good["learner"].items()}
    for state in (
        {},
        {**good, "learner": {}},
        {**good, "learner": small},
        {**good, "learner": nan},
        {**good, "learner": 3},
        {**good, "optimizer": {}},
        {**good, "num_decisions": "x"},
        {**good, "snapshots": 7},
    ):
        write_state(path, state)
        with pytest.raises(RunError, match=r"000003\.pt"):
            train(PPOTrainer, PPOConfig(**SETTINGS, out=str(out), resume=True), CONSOLE)


# ---------------------------------------------------------------- metrics


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], b"7", *lines[2:]],
        lambda lines: [lines[0], b"[1,2]", *lines[2:]],
        lambda lines: [lines[0], b'{"iteration":"x"}', *lines[2:]],
        lambda lines: [lines[0], b'{"iteration": 2, "loss": "x"}', *lines[2:]],
        lambda lines: [lines[0], b"\xff" + lines[1], *lines[2:]],
        lambda lines: [lines[0], lines[1][:9], *lines[2:]],
        lambda lines: [lines[0], b"\0" * 20, *lines[2:]],
        lambda lines: [lines[0], b"[" * 10**5, *lines[2:]],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: lines[1:],
        lambda lines: lines[:-1],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [],
        None,
    ],
)
def test_a_hole_in_the_curve_is_never_silent(
    change: Callable[[list[bytes]], list[bytes]] | None, tmp_path: Path
) -> None:
    with_checkpoints(tmp_path, 1, 2, 3)
    path = tmp_path / "metrics.jsonl"
    if change is None:
        path.unlink()
    else:
        path.write_bytes(b"".join(line + b"\n" for line in change(path.read_bytes().splitlines())))
    before = path.read_bytes() if path.exists() else None
    folder = a_folder(tmp_path, resume=True)
    with pytest.raises(RunError, match=r"metrics\.jsonl: line \d is not that of iteration \d.*--new-metrics"):
        folder.trim_metrics(3)
    assert (path.read_bytes() if path.exists() else None) == before
    folder.begin_new_metrics(3)
    folder.trim_metrics(3)
    folder.log({"iteration": 4, "loss": 0.5})
    again = a_folder(tmp_path, resume=True)
    again.trim_metrics(4)
    assert [json.loads(line)["iteration"] for line in path.read_text().splitlines()] == [4]
    if before is not None:
        assert path.with_name("metrics.jsonl.damaged").read_bytes() == before


def test_a_changed_digit_of_the_curve_is_found(tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 1, 2, 3)
    path = tmp_path / "metrics.jsonl"
    sound = path.read_bytes()
    for content, message in ((sound, None), (sound.replace(b"0.5", b"0.6"), r"changed .*--new-metrics")):
        path.write_bytes(content)
        folder = a_folder(tmp_path, resume=True)
        folder.load_checkpoint()
        if message is None:
            folder.trim_metrics(3)
            continue
        with pytest.raises(RunError, match=message):
            folder.trim_metrics(3)
        assert path.read_bytes() == content
        folder.begin_new_metrics(3)
        folder.trim_metrics(3)
    again = a_folder(tmp_path, resume=True)  # no checkpoint was written since
    again.load_checkpoint()
    again.trim_metrics(3)
    assert path.read_bytes() == b""


def test_what_comes_after_the_checkpoint_may_be_anything(tmp_path: Path) -> None:
    folder = with_checkpoints(tmp_path, 1, 2)
    path = tmp_path / "metrics.jsonl"
    whole = path.read_bytes()
    for rest in (b'{"iteration": 3, "lo', b"\xff\0", b"7\n[]\n"):
        path.write_bytes(whole + rest)
        folder.trim_metrics(2)
        assert path.read_bytes() == whole


def test_new_metrics_continue_a_run(a_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(a_run, out)
    (out / "checkpoints" / "000003.pt").unlink()
    (out / "metrics.jsonl").write_text("")
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SETTINGS.items()]
    with pytest.raises(SystemExit, match=r"metrics\.jsonl: line 1 is not that of iteration 1"):
        ppo.main([*flags, "--out", str(out), "--resume"])
    assert ppo.main([*flags, "--out", str(out), "--resume", "--new-metrics"]) == 0
    assert curve(out) == curve(a_run)[2:]
    assert (out / "policy.safetensors").read_bytes() == (a_run / "policy.safetensors").read_bytes()


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = with_checkpoints(tmp_path, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", full)
        with pytest.raises(RunError, match=r"cannot write .*metrics\.jsonl: No space left"):
            folder.log({"iteration": 2})
    with monkeypatch.context() as patched:
        patched.setattr(runs, "SummaryWriter", full)
        with pytest.raises(RunError, match=r"cannot write .*tensorboard: No space left"):
            a_folder(tmp_path, resume=True).log({"iteration": 2})


# ---------------------------------------------------------------- temporary files


def test_temporary_files_of_kills_are_deleted(tmp_path: Path) -> None:
    with_checkpoints(tmp_path, 1)
    left = [tmp_path / ".config.json.123.tmp", tmp_path / "checkpoints" / ".000002.pt.77.tmp"]
    kept = [tmp_path / "notes.tmp", tmp_path / ".hidden", tmp_path / "checkpoints" / ".x.tmp"]
    for path in (*left, *kept):
        path.write_bytes(b"x")
    with lock_run_folder(tmp_path):
        assert not any(path.exists() for path in left)
        assert all(path.exists() for path in kept)
    remove_temporaries(tmp_path / "nosuch")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_write_that_is_interrupted_leaves_the_old_file_alone(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(error):
        write_atomic(path, b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"old"}


# ---------------------------------------------------------------- divergence


def spoil_weights(trainer: Any) -> dict[str, float]:
    next(iter(trainer.weights)).data.fill_(torch.nan)
    return {}


def spoil_metrics(trainer: Any) -> dict[str, float]:
    return {"policy_loss": np.inf}


def enlarge_weights(trainer: Any) -> dict[str, float]:
    """Finite weights that make the next iteration fail."""
    for weights in trainer.weights:
        weights.data.fill_(1e30)
    return {}


@pytest.mark.parametrize("spoil", [spoil_weights, spoil_metrics, enlarge_weights])
def test_divergence_keeps_the_last_good_checkpoint(
    spoil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = PPOConfig(**{**SETTINGS, "stop_after": 4, "checkpoint_every": 2, "out": str(tmp_path)})
    real = PPOTrainer.play_and_learn

    def diverge(trainer: Any) -> dict[str, float]:
        metrics: dict[str, float] = real(trainer)
        return {**metrics, **spoil(trainer)} if trainer.iteration == 2 else metrics

    with monkeypatch.context() as patched:
        patched.setattr(PPOTrainer, "play_and_learn", diverge)
        with pytest.raises(DivergenceError, match=r"diverged in iteration [34].*smaller --learning-rate"):
            train(PPOTrainer, config, CONSOLE)
    assert names(tmp_path) == ["000000.pt", "000002.pt"]
    for line in (tmp_path / "metrics.jsonl").read_text().splitlines():
        assert "Infinity" not in line
        assert "NaN" not in line
    trainer, _ = train(PPOTrainer, replace(config, resume=True), CONSOLE)  # from the good one
    assert trainer.is_done


def test_a_run_that_really_diverges_ends_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.nn.utils.clip_grad_norm_", lambda *_: None)
    monkeypatch.setattr(PPOTrainer, "lr_factor", 1e12)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in {**SETTINGS, "stop_after": 9}.items()]
    with pytest.raises(SystemExit, match="error: the run has diverged"):
        ppo.main([*flags, "--out", str(tmp_path)])
    NetworkAgent.load(tmp_path / "policy.safetensors")
    assert "Traceback" not in capsys.readouterr().err


# ---------------------------------------------------------------- Ctrl-C and SIGTERM


@pytest.mark.parametrize(
    ("signum", "code", "word"), [(signal.SIGINT, 130, "interr"), (signal.SIGTERM, 143, "term")]
)
def test_a_signal_ends_with_one_line_and_a_checkpoint(
    signum: int,
    code: int,
    word: str,
    a_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the middle of the third iteration, with a checkpoint every ten."""
    settings = {**SETTINGS, "checkpoint_every": 10}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    out = tmp_path / "run"
    real = PPOTrainer.play_and_learn
    before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]

    def interrupted(trainer: Any) -> dict[str, float]:
        metrics: dict[str, float] = real(trainer)
        if trainer.iteration == 2:
            os.kill(os.getpid(), signum)
        return metrics

    with monkeypatch.context() as patched:
        patched.setattr(PPOTrainer, "play_and_learn", interrupted)
        assert ppo.main([*flags, "--out", str(out)]) == code
    printed = capsys.readouterr()
    assert len(printed.err.splitlines()) == 1
    assert word in printed.err
    assert f"{out} holds iteration 2: continue with --resume" in printed.err
    assert names(out) == ["000000.pt", "000002.pt"]
    assert len(curve(out)) == 2
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == before

    assert ppo.main([*flags, "--out", str(out), "--resume"]) == 0
    assert curve(out) == curve(a_run)
    policy = PPOTrainer.policy_file
    assert (out / policy).read_bytes() == (a_run / policy).read_bytes()


def test_every_subcommand_reports_a_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wait(_: list[str]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("not reached")

    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr("tienlen_train.cache.main", wait)
    assert cli.main(["cache"]) == 143
    assert capsys.readouterr().err == "tienlen cache: terminated\n"


def test_a_forked_child_ends_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    ready, started = os.pipe()
    with interruptible():
        child = os.fork()
        if child == 0:
            os.write(started, b"x")  # a signal before this could be lost in the fork
            time.sleep(60)
            os._exit(0)
        assert os.read(ready, 1) == b"x"
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
    os.close(ready)
    os.close(started)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGTERM
    assert capfd.readouterr() == ("", "")


def test_a_second_signal_ends_a_cleanup_that_hangs() -> None:
    def hang() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match=r"^15$|terminated"), interruptible():
        hang()
