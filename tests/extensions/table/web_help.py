"""A server of `tienlen web` in a process of its own, and a client, for tests."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect

from tests.needs import FOLDERS

AGENTS = ("random", "greedy", "heuristic")  # which need little time to start


@contextmanager
def static_host(folder: Path) -> Iterator[str]:
    """A plain static host of a folder: no headers of its own, no server behind it."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class Server:
    """`tienlen web` with its games in a file, to be started again there."""

    def __init__(self, games: Path, *arguments: str, port: int = 0) -> None:
        self.games, self.arguments, self.port = games, arguments, port
        self.errors = games.with_suffix(".errors")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "tienlen_table.server", "--no-browser", "--games", str(self.games)]
        paths = [*map(str, FOLDERS), os.environ.get("PYTHONPATH", "")]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port), "--agents", *AGENTS, *self.arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://[^:]+:(\d+)/(?:#join=(\S+))?", line)
        assert found, line + self.errors.read_text()
        self.port, self.join = int(found[1]), found[2] or ""

    def kill(self) -> None:
        """End it without warning."""
        self.process.kill()
        self._wait()

    def stop(self) -> None:
        """End it as a service is ended."""
        self.process.terminate()
        try:
            self._wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _wait(self, seconds: float | None = None) -> None:
        self.process.wait(seconds)
        assert self.process.stdout is not None
        self.process.stdout.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.stop()


class Client:
    """A connection that has said hello."""

    def __init__(
        self, server: Server, origin: str | None = "own", join: str | None = None, wanted: str = "welcome"
    ) -> None:
        self._open = ExitStack()
        self.socket: ClientConnection = self._open.enter_context(
            connect(
                f"ws://127.0.0.1:{server.port}/ws",
                origin=server.address if origin == "own" else origin,  # type: ignore[arg-type]
                proxy=None,
                max_queue=None,
            )
        )
        self.id = 0
        self.seen: list[str] = []
        hello = {"type": "hello", "version": 1, "join": server.join if join is None else join}
        self.welcome = self.ask(hello, wanted)

    def send(self, message: dict[str, Any]) -> None:
        self.id += 1
        self.socket.send(json.dumps({"id": self.id, **message}))

    def read(self, *types: str, timeout: float = 120) -> dict[str, Any]:
        """The next message of some types; any without."""
        while True:
            text = self.socket.recv(timeout)
            assert isinstance(text, str)
            self.seen.append(text)
            message: dict[str, Any] = json.loads(text)
            if not types or message["type"] in types:
                return message

    def ask(self, message: dict[str, Any], *types: str) -> dict[str, Any]:
        self.send(message)
        return self.read(*types)

    def create(self, *seats: str, rules: str = "cardgames", **more: Any) -> dict[int | None, str]:
        """A new table: the tokens by seat."""
        answer = self.ask({"type": "create", "rules": rules, "seats": seats, **more}, "table", "error")
        assert answer["type"] == "table", answer
        return {found["seat"]: found["token"] for found in answer["tokens"]}

    def join(self, token: str, since: int = 0) -> dict[str, Any]:
        return self.ask({"type": "join", "token": token, "since": since}, "view", "error")

    def wait(self, view: dict[str, Any]) -> dict[str, Any]:
        """The first view where this seat has to play or to go on, or the game is over."""
        while True:
            if view["result"] or view["waiting"] or view["current_seat"] == view["seat"]:
                return view
            view = self.read("view")

    def close(self) -> None:
        self._open.close()
