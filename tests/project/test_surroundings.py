"""A clock that jumps, little memory, a full disk, read-only files: the same results, or a refusal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.arena.test_run import stable
from tests.kill_points import let_the_clock_jump
from tienlen_agents.arena.__main__ import main as arena
from tienlen_env.engine.backends import native

ROOT = Path(__file__).parents[2]
PACKAGES = {"tienlen_env": "", "tienlen_agents": "agents", "tienlen_train": "train"}
MATCH = ["match", "greedy", "random", "--deals", "64", "--chunk", "8", "--seed", "4", "--quiet"]


def tienlen(*words: str, before: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, after some code; one thread, so that it needs little memory."""
    start = (
        "import os, sys; os.execv(sys.executable, [sys.executable, '-m', 'tienlen_train.cli', *sys.argv[1:]])"
    )
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-c", f"{before}\n{start}", *words],
        capture_output=True, text=True, check=False, cwd="/", env={**os.environ, **threads, **env},
    )  # fmt: skip


def limit(name: str, size: int) -> str:
    """Code that limits a resource of its process."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_{name}, ({size}, {size}))"


# What root may do beyond its own permissions is given up at the next start of a program: PR_CAPBSET_DROP of
# CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER.
WITHOUT_PRIVILEGES = """
import ctypes, os
for capability in (1, 2, 3) if os.geteuid() == 0 else ():
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The match with all that it needs."""
    out = tmp_path_factory.mktemp("whole")
    assert arena([*MATCH, "--out", str(out)]) == 0
    return out


def goes_on(out: Path, whole: Path) -> None:
    """The match is finished later, with the same results."""
    assert arena([*MATCH, "--out", str(out)]) == 0
    assert stable(out / "arena.json") == stable(whole / "arena.json")


def test_a_match_while_the_clock_jumps(whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    let_the_clock_jump(monkeypatch.setattr)
    assert arena([*MATCH, "--workers", "2", "--out", str(tmp_path)]) == 0
    goes_on(tmp_path, whole)


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="limits of this kind")
@pytest.mark.parametrize("megabytes", [150, 250])
def test_little_memory(megabytes: int, whole: Path, tmp_path: Path) -> None:
    if not (native.FOLDER / "loops.json").exists():
        megabytes <<= 4  # a compiler that finds none ends by a signal
    done = tienlen(*MATCH, "--out", str(tmp_path), before=limit("AS", megabytes << 20))
    if done.returncode:
        last = done.stderr.splitlines()[-1]
        assert done.returncode > 0
        assert any(word in last for word in ("memory", "Memory", "allocate", "map segment")), done.stderr
    goes_on(tmp_path, whole)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of this kind")
@pytest.mark.parametrize("size", [10, 3_000])
def test_a_file_that_cannot_grow(size: int, whole: Path, tmp_path: Path) -> None:
    done = tienlen(*MATCH, "--out", str(tmp_path), before=limit("FSIZE", size))
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert "File too large" in line
    assert str(tmp_path / "chunks.jsonl") in line
    goes_on(tmp_path, whole)


@pytest.mark.skipif(sys.platform != "linux", reason="permissions of this kind")
def test_an_installation_and_a_home_that_cannot_be_written(whole: Path, tmp_path: Path) -> None:
    place, out = tmp_path / "site", tmp_path / "site" / "out"
    for name, above in PACKAGES.items():
        shutil.copytree(
            ROOT / above / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "static")
        )
    paths = [place, *place.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    home = {"PYTHONPATH": str(place), "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
    done = tienlen(*MATCH, before=WITHOUT_PRIVILEGES, **home)
    assert done.returncode == 0, done.stderr
    assert tienlen("cache", before=WITHOUT_PRIVILEGES, **home).returncode == 0
    refused = tienlen(*MATCH, "--out", str(out), before=WITHOUT_PRIVILEGES, **home)
    assert refused.returncode == 2
    line = refused.stderr.splitlines()[-1]
    assert f"Permission denied: '{out}" in line
    assert [place, *place.rglob("*")] == paths
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


def test_the_whole_cache_can_be_deleted(tmp_path: Path) -> None:
    home = {"XDG_CACHE_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path), "HOME": str(tmp_path)}
    folder = Path(tienlen("cache", **home).stdout.partition(": ")[0])
    assert tmp_path in folder.parents
    folder.mkdir(parents=True)
    (folder / "loop.nbc").write_bytes(bytes(10**6))
    assert tienlen("cache", "clear", **home).stdout == f"{folder}: 1.0 MB deleted\n"
    assert not folder.exists()
    assert tienlen("cache", "clear", **home).returncode == 0
