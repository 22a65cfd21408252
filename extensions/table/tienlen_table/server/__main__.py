"""Play in the browser, with a server on this machine."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import Final

from tienlen_agents.command import (
    CONSOLE_SCRIPT,
    complete_agents,
    interruptible_work,
    program,
    shows_any_text,
)
from tienlen_agents.settings import Parser, Range, reader
from tienlen_env.extras import require
from tienlen_table.server.hub import AGENTS
from tienlen_table.server.messages import MAX_BYTES
from tienlen_table.server.store import Store, StoreError

LOCAL: Final = "127.0.0.1"
PORT: Final = 8713


def default_store() -> Path | None:
    """The file of the games, in the user's data folder; None if the user has no home folder."""
    data = os.environ.get("XDG_DATA_HOME")
    try:
        folder = Path(data) if data else Path.home() / ".local" / "share"
    except RuntimeError:
        return None
    return folder / CONSOLE_SCRIPT / "games.sqlite"


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=program("tienlen_table.server"),
        description="Play against agents and other people in the browser. Only this machine reaches the "
        "server, unless --host is given.",
    )
    agents = parser.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="AGENT",
        help="an agent that the page may seat besides the usual ones, for example policy:FILE or "
        "'process:COMMAND'; may be given several times",
    )
    complete_agents(agents)
    usual = parser.add_argument(
        "--agents",
        nargs="+",
        default=list(AGENTS),
        metavar="AGENT",
        help=f"the usual ones: {', '.join(AGENTS)}; all other names are refused",
    )
    complete_agents(usual)
    parser.add_argument(
        "--port", type=reader(int, Range(0, 65_535)), default=PORT, help="0 for any free one (%(default)s)"
    )
    parser.add_argument(
        "--host",
        nargs="?",
        const="0.0.0.0",
        metavar="ADDRESS",
        help="open the server to the home network (all addresses of this machine, or the given one); the "
        "printed address contains a token that the server asks for. It is plain HTTP: who reads the "
        "network's traffic sees the token and the hands",
    )
    parser.add_argument(
        "--games",
        type=Path,
        metavar="FILE",
        help=f"the file of the games ({default_store() or 'needed: this user has no home folder'})",
    )
    parser.add_argument(
        "--export", action="store_true", help="print the records of all finished games and end"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    return parser


def _address() -> str:
    """The address of this machine in its network; no packet is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return LOCAL


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: those of the command line; None for those of the process.

    Returns:
        The exit code.

    Raises:
        MissingExtraError: a package of the extra ``web`` is not installed.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    path = options.games or default_store()
    if path is None:
        parser.error("--games: expected a file: this user has no home folder")
    try:
        store = Store(path, shared=options.export)
    except StoreError as error:
        parser.error(str(error))
    if options.export:
        for record in store.records():
            print(record, end="")
        return 0
    for package in ("uvicorn", "starlette", "websockets"):
        require(package, "web", "the table in the browser")
    return interruptible_work(parser.prog, lambda: _serve(parser, options, store))


def _serve(parser: argparse.ArgumentParser, options: argparse.Namespace, store: Store) -> int:
    import uvicorn

    from tienlen_table.server.app import STATIC, Guard, ImpatientProtocol, make_app
    from tienlen_table.server.hub import Hub

    host = options.host or LOCAL
    try:
        listening = socket.create_server((host, options.port))
    except OSError as error:
        parser.error(f"--port {options.port}: {error.strerror}; another one: --port 0")
    print("Preparing the agents; the first time takes a minute or two.", file=sys.stderr, flush=True)
    try:
        hub = Hub(store, [*options.agents, *options.agent])
        hub.prepare()
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if not (STATIC / "index.html").is_file():
        print("the page is not built: make web", file=sys.stderr)
    port = listening.getsockname()[1]
    token = store.join_token() if options.host else ""
    names = ["localhost", LOCAL, socket.gethostname(), f"{socket.gethostname()}.local"]
    guard = Guard(names if options.host else names[:2], any_address=bool(options.host), port=port)
    address = f"http://{_address() if host == '0.0.0.0' else host}:{port}/"
    network = address if options.host else ""
    if token:
        address += f"#join={token}"
        print("Plain HTTP: who reads this network's traffic sees the token and the hands.", file=sys.stderr)
    print(f"Tiến lên: {address}", flush=True)
    if not options.no_browser:
        Timer(0.5, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        make_app(hub, guard, join_token=token, address=network),
        http=ImpatientProtocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws_max_size=4 * MAX_BYTES,
        ws_max_queue=8,
        ws_per_message_deflate=False,  # costs more time than it saves at home
        ws_ping_interval=20,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
