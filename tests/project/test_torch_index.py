"""The index that `make` gives pip for torch, with a server of this machine in its place."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "torch_index.py"
asked: list[str] = []


class Index(BaseHTTPRequestHandler):
    """Lists a wheel; ``/empty`` lists none, ``/silent`` does not answer, ``/gone`` is missing."""

    ends = threading.Event()

    def do_GET(self) -> None:
        asked.append(self.path)
        if self.path.startswith("/silent"):
            self.ends.wait(60)
        self.send_response(404 if self.path.startswith("/gone") else 200)
        self.end_headers()
        self.wfile.write(
            b"" if self.path.startswith("/empty") else b'<a href="torch-2.13.0+cpu.whl">torch</a>'
        )

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as found:
        threading.Thread(target=found.serve_forever).start()
        yield f"http://127.0.0.1:{found.server_port}"
        Index.ends.set()
        found.shutdown()


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A file system without a card, and a folder ``bin`` for programs."""
    for number, (vendor, kind) in enumerate(
        [("0x1af4", "0x030000"), ("0x10de", "0x0c0330")]
    ):  # none draws by NVIDIA
        device = tmp_path / f"sys/bus/pci/devices/{number}"
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    (tmp_path / "bin").mkdir()
    return tmp_path


def choose(machine: Path, index: str, **settings: str) -> tuple[str, str]:
    """What the script prints: pip's options, and the reason."""
    asked.clear()
    env = {name: value for name, value in os.environ.items() if not name.upper().startswith("PIP_")}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PATH": str(machine / "bin"), "no_proxy": "*"} | settings
    done = subprocess.run(
        [sys.executable, str(SCRIPT), index, str(machine)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr.strip()


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pip's default is the CPU build")


@needs_linux
def test_without_a_card_the_cpu_build_is_taken(machine: Path, server: str) -> None:
    options, why = choose(machine, server)
    assert options == f"--extra-index-url {server}"
    assert why == f"torch: the CPU build from {server}: this machine has no NVIDIA card"
    assert asked == ["/torch/"]


def program(machine: Path, code: int) -> None:
    path = machine / "bin" / "nvidia-smi"
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)


@needs_linux
@pytest.mark.parametrize("sign", ["nvidia-smi", "/proc/driver/nvidia", "/dev/nvidia0", "PCI device 0"])
def test_with_a_card_all_is_as_before(machine: Path, server: str, sign: str) -> None:
    if sign == "nvidia-smi":
        program(machine, 0)
    elif sign.startswith("/"):
        (machine / sign[1:]).mkdir(parents=True)
    else:
        (machine / "sys/bus/pci/devices/0/vendor").write_text("0x10de\n")
    options, why = choose(machine, server)
    assert options == ""
    assert why.startswith("torch: pip's default, the CUDA build")
    assert sign in why
    assert asked == []


@needs_linux
def test_a_driver_without_a_card_is_no_card(machine: Path, server: str) -> None:
    program(machine, 9)
    assert choose(machine, server)[0] == f"--extra-index-url {server}"


@needs_linux
@pytest.mark.parametrize("place", ["silent", "empty", "gone", "closed"])
def test_without_an_answer_all_is_as_before(machine: Path, server: str, place: str) -> None:
    index = "http://127.0.0.1:9" if place == "closed" else f"{server}/{place}"
    options, why = choose(machine, index)
    assert options == ""
    assert "gigabytes" in why
    assert f"{index} does not answer within 2 seconds" in why


@needs_linux
@pytest.mark.parametrize(
    "setting",
    [
        {"PIP_EXTRA_INDEX_URL": "https://example.org/simple"},
        {"PIP_INDEX_URL": "https://example.org/simple"},
        {"PIP_NO_INDEX": "1"},
        {"PIP_FIND_LINKS": "/wheels"},
        {"PIP_CONFIG_FILE": "file"},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_settings_of_a_user_are_left_alone(machine: Path, server: str, setting: dict[str, str]) -> None:
    if "PIP_CONFIG_FILE" in setting:
        setting = {"PIP_CONFIG_FILE": str(machine / "pip.conf")}
        (machine / "pip.conf").write_text("[install]\nextra-index-url = https://example.org/simple\n")
    options, why = choose(machine, server, **setting)
    assert options == ""
    assert why.startswith("torch: as your settings of pip say (")
    assert "example.org" not in why  # an address may have a password
    assert asked == []


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str) -> None:
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setattr(sys, "platform", platform)
    assert script["choose"]("http://127.0.0.1:9", tmp_path) == ([], "")
