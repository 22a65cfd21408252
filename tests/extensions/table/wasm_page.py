"""A page for the tests in Chromium: files of a build, a job of wasm_browser.mjs, and its answer.

The pages come from a server in this process, with the content security policy that a site needs.
"""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from tests.needs import CHROMIUM

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
