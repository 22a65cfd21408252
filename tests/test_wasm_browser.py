"""The games in WebAssembly run in a real browser as they do in Node and in Python.

The pages come from a server in this process, with the content security policy that a site needs. Without
Chromium these tests are skipped.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tienlen_agents
from tests.test_wasm import round_digests
from tests.wasm_files import CAN_LINK, built, each_game, game_of_name
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.backends.wasm.tables import variants_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View

__all__ = ["built"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
)  # fmt: skip
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
}
TYPES: Final = {".mjs": "text/javascript", ".wasm": "application/wasm", ".json": "application/json"}
PAGE: Final = b'<!doctype html><title>test</title><script type="module" src="/page.mjs"></script>'
# Longer than CI has time for: a whole game in the page is compared with Python there (test_web_page.py).
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None or not CAN_LINK, reason="Chromium or the linker is not installed"),
]

Folder = Callable[[str], Path]


def in_browser(folder: Path, job: dict[str, Any], timeout: float = 120) -> Any:
    """Run a job of wasm_browser.mjs in Chromium; its answer."""
    answers: queue.Queue[Any] = queue.Queue()
    script = Path(__file__).with_name("wasm_browser.mjs").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/":
                self.send("text/html", PAGE)
            elif path == "/page.mjs":
                self.send(TYPES[".mjs"], script)
            elif path == "/job":
                self.send(TYPES[".json"], json.dumps(job).encode())
            elif path.startswith("/built/") and (folder / Path(path).name).is_file():
                file = folder / Path(path).name
                self.send(TYPES.get(file.suffix, "application/octet-stream"), file.read_bytes())
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send("text/plain", b"")

        def send(self, kind: str, content: bytes) -> None:
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **HEADERS}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            pass

    assert CHROMIUM is not None
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        command = [CHROMIUM, *ARGUMENTS, f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found = answers.get(timeout=timeout)
        except queue.Empty:
            pytest.fail("the page did not answer")
        finally:
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
                browser.wait()
            server.shutdown()
    assert "error" not in found, found["error"]
    return found["answer"]


@each_game
def test_random_rounds(name: str, built: Folder) -> None:
    keys = np.random.default_rng(3).integers(-(2**63), 2**63, 60, np.int64)
    variants = [(preset, rules.num_players) for preset, rules in variants_of(game_of_name(name))]
    has_history = game_of_name(name).has_history
    found = in_browser(
        built(name),
        {
            "command": "rounds", "game": name, "variants": variants,
            "keys": [f"{int(key) & (1 << 64) - 1:016x}" for key in keys],
        },
    )  # fmt: skip
    for (preset, num_players), digests in zip(variants, found, strict=True):
        length = {"history_length": 160} if has_history else {}
        batch = Batch(preset, len(keys), num_players=num_players, **length)  # type: ignore[arg-type]
        assert [str(x) for x in round_digests(batch, keys)[0].tolist()] == digests, (preset, num_players)


def test_the_champion_plays_in_a_worker_and_the_page_is_not_blocked(built: Folder) -> None:
    key = 0x123456789ABCDEF
    found = in_browser(
        built("tienlen"),
        {
            "command": "worker", "game": "tienlen", "variant": ["cardgames", 4], "key": f"{key:016x}",
            "agent": "champion", "options": {},
        },
    )  # fmt: skip
    assert found["error"] == "AbortError"
    assert "there is no agent nobody" in found["unknown"]
    champion = tienlen_agents.load("champion")
    batch = Batch("cardgames", 1, history_length=history_of([champion]))
    batch.deal([key])
    actions = []
    while not batch.state.over_mask[0]:
        actions.append(int(champion.act(View(batch))[0]))
        batch.step(actions[-1:])
    assert found["actions"] == actions
    assert found["record"].startswith(f"tienlen/1 cardgames p4 key={key:016x}.0 : ")
    # The page waits for the longest choice only if the worker blocks it.
    assert found["longest"] < max(200, 2 * max(found["times"]))


@pytest.mark.nightly
def test_speed(built: Folder) -> None:
    """Millions of decisions a second, one thread, with mask and observation; milliseconds of a choice."""
    job = {"command": "speed", "variant": ["cardgames", 4], "numRounds": 2000}
    found = in_browser(built("tienlen"), job)
    assert found["inside"] >= 4
    assert max(found["oneCall"], found["twoCalls"]) >= 1.5
    assert found["agents"]["champion"]["medianMs"] <= 10
    assert found["agents"]["search"]["medianMs"] <= 200
