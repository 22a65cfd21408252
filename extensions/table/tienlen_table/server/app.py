"""The ASGI application: the page's files, one WebSocket for everything else, and who is let in."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.games.common.facts import Json
from tienlen_env.games.registry import PRESETS
from tienlen_env.single.base import Facts
from tienlen_table.server.hub import Hub
from tienlen_table.server.messages import (
    VERSION,
    AtTurn,
    ClientMessage,
    Create,
    Hello,
    Join,
    MessageError,
    PlayMove,
    Question,
    Select,
    read,
)
from tienlen_table.server.table import PERSON, ServedTable

RATE: Final = 30.0  # messages a second in the long run
BURST: Final = 90.0  # messages at once
MAX_CONNECTIONS: Final = 500
MAX_OF_ADDRESS: Final = 250  # connections; all people of a home may come from one address
MAX_ADDRESSES: Final = 10_000  # that are remembered

# Scripts, styles and connections only from the server itself. WebAssembly needs its own permission.
CONTENT_SECURITY_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-cache",
}


class Guard:
    """Which requests are let in.

    A page of another origin cannot reach the server: a browser sends that page's origin along, and a name
    that an attacker lets point to this machine (DNS rebinding) is not one of the names here.

    Args:
        names: host names that are let in, such as ``"localhost"``.
        any_address: also let in any IP address as the host; a home network has no names.
        port: of the server.
    """

    def __init__(self, names: list[str], *, any_address: bool, port: int) -> None:
        self._names = {name.lower() for name in names}
        self._any_address = any_address
        self._port = port

    def is_host(self, host: str) -> bool:
        """Whether a ``Host`` header names this server."""
        try:
            found = urlsplit(f"//{host}")
            name, port = found.hostname or "", 80 if found.port is None else found.port
            shown = f"[{name}]" if ":" in name else name
            if port != self._port or host.lower() not in (shown, f"{shown}:{port}"):
                return False
            return name in self._names or (self._any_address and bool(ipaddress.ip_address(name)))
        except ValueError:
            return False

    def is_origin(self, origin: str, host: str) -> bool:
        """Whether an ``Origin`` header is that of this server's own page."""
        return self.is_host(host) and origin.lower() == f"http://{host.lower()}"


class Bucket:
    """A limit on the rate of messages: a bucket of `burst` tokens that fills at `rate` a second."""

    def __init__(
        self, rate: float = RATE, burst: float = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._then = burst, clock()

    def take(self) -> bool:
        """Take one; False if there is none left."""
        now = self._clock()
        self._left = min(self._burst, self._left + self._rate * (now - self._then))
        self._then = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Visitor:
    """What all connections of one address have in common: their number and their rates.

    A limit of a connection alone is none: who reconnects would begin with a full bucket.
    """

    def __init__(self) -> None:
        self.num_connections = 0
        self.messages = Bucket(20 * RATE, 20 * BURST)
        self.tables = Bucket(rate=1, burst=MAX_OF_ADDRESS)


@contextmanager
def counted(visitors: dict[str, Visitor], address: str) -> Iterator[Visitor | None]:
    """Count a connection while the block runs.

    Args:
        visitors: of the server, by address.
        address: of the client.

    Yields:
        The visitor; None if there are too many connections, of this address or in all.
    """
    visitor = visitors.setdefault(address, Visitor())
    total = sum(other.num_connections for other in visitors.values())
    if visitor.num_connections >= MAX_OF_ADDRESS or total >= MAX_CONNECTIONS:
        yield None
        return
    visitor.num_connections += 1
    try:
        yield visitor
    finally:
        visitor.num_connections -= 1
        if len(visitors) > MAX_ADDRESSES:
            for key in [key for key, other in visitors.items() if not other.num_connections]:
                del visitors[key]


STATIC: Final = Path(__file__).with_name("static")
HELLO_SECONDS: Final = 10.0  # a connection that does not say hello by then is closed
REQUEST_SECONDS: Final = 10.0  # a request that is not complete by then is given up
MAX_WAITING: Final = 1000  # messages for a client that does not read
MAX_ERRORS: Final = 50  # of a connection; then it is closed
_POLICY_VIOLATION: Final = 1008
_TRY_LATER: Final = 1013


class Guarded:
    """Refuses requests for other hosts and from other origins, and adds the headers of `HEADERS`."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if scope["type"] == "websocket":
            if not self._guard.is_origin(headers.get("origin", ""), host):
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
                return
            await self._app(scope, receive, send)
            return
        origin = headers.get("origin")
        if not self._guard.is_host(host) or (origin and not self._guard.is_origin(origin, host)):
            await PlainTextResponse("this server has another name", 403)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                new = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *new]}
            await send(message)

        await self._app(scope, receive, send_with_headers)


class ImpatientProtocol(H11Protocol):
    """HTTP of uvicorn, which closes connections whose request stays incomplete; uvicorn waits for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client connects."""
        super().connection_made(transport)
        self._look_again()

    def _look_again(self) -> None:
        self.loop.call_later(REQUEST_SECONDS, self._look, self.cycle)

    def _look(self, before: object) -> None:
        """Close the connection if nothing was asked since the last look, and nothing is being answered."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # closed, or a WebSocket by now
        if self.cycle is before and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        else:
            self._look_again()


class Connection:
    """A client: its messages are answered one after the other; a task of its own sends the answers."""

    def __init__(self, socket: WebSocket, hub: Hub, visitor: Visitor, join_token: str, address: str) -> None:
        self.seat: int | None = None
        self.name = ""
        self._address = address
        self.num_events = 0
        self._socket = socket
        self._hub = hub
        self._join_token = join_token
        self._table: ServedTable | None = None
        self._is_known = False
        self._num_errors = 0
        self._rate, self._visitor = Bucket(), visitor
        self._outgoing: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING)

    def send(self, message: Facts) -> None:
        """See `Listener.send`; a client that does not read is given up."""
        try:
            self._outgoing.put_nowait(json.dumps(message, separators=(",", ":"), ensure_ascii=False))
        except asyncio.QueueFull:
            self._leave()

    async def serve(self) -> None:
        """Answer until the client is gone."""
        await self._socket.accept()
        sender = asyncio.create_task(self._send_all())
        try:
            while True:
                patience = None if self._is_known else HELLO_SECONDS
                text = await asyncio.wait_for(self._socket.receive_text(), patience)
                if not (self._rate.take() and self._visitor.messages.take()):
                    self._error(MessageError("rate", "too many messages"))
                    break
                await self._answer(text)
                if self._num_errors > MAX_ERRORS:
                    break
        except (WebSocketDisconnect, KeyError, RuntimeError, TimeoutError):
            pass  # it is gone, sent bytes instead of text, or says nothing
        finally:
            self._leave()
            await self._outgoing.put(None) if not self._outgoing.full() else sender.cancel()
            await asyncio.wait([sender], timeout=1)
            sender.cancel()

    async def _send_all(self) -> None:
        try:
            while (text := await self._outgoing.get()) is not None:
                await self._socket.send_text(text)
            await self._socket.close(_POLICY_VIOLATION)
        except (WebSocketDisconnect, RuntimeError):
            self._leave()

    def _leave(self) -> None:
        if self._table is not None:
            table, self._table = self._table, None
            table.leave(self)

    def _error(self, error: MessageError, number: int | None = None) -> None:
        self._num_errors += 1
        found = number if error.id is None else error.id
        self.send({"type": "error", "code": error.code, "message": str(error), "id": found})

    async def _answer(self, text: str) -> None:
        number: int | None = None
        try:
            message = read(text)
            number = message.id if isinstance(message, Question) else None
            answer = await self._react(message)
        except MessageError as error:
            self._error(error, number)
            if error.code in ("join", "illegal", "turn") and self._table is not None:
                self._table.tell(self)
            return
        if answer is not None:
            self.send({**answer, "id": number} if number is not None else answer)

    async def _react(self, message: ClientMessage) -> Facts | None:
        if isinstance(message, Hello):
            token = self._join_token
            if token and not secrets.compare_digest(message.join.encode(), token.encode()):
                raise MessageError("join", "the address lacks the token of this server")
            self._is_known = True
            agents: list[Json] = [PERSON, *self._hub.labels.values()]
            known: Facts = {"agents": agents, "rules": list(PRESETS), "address": self._address}
            return {"type": "welcome", "version": VERSION, **known}
        if not self._is_known:
            raise MessageError("join", "the first message is hello")
        if isinstance(message, Create):
            if not self._visitor.tables.take():
                raise MessageError("rate", "too many new tables; wait a little")
            tokens: list[Json] = [{"token": token, "seat": seat} for token, seat in self._hub.create(message)]
            return {"type": "table", "tokens": tokens}
        if isinstance(message, Join):
            joined, seat = self._hub.find(message.token)
            self._leave()
            self._table, self.seat, self.num_events, self.name = joined, seat, message.since, message.name
            joined.enter(self)
            return None
        table = self._table
        if table is None:
            raise MessageError("table", "join a table first")
        match message:
            case PlayMove():
                await table.play(self.seat, message.turn, message.play)
            case Select():
                return table.select(self.seat, message.turn, message.cards)
            case AtTurn():
                return await table.hint(self.seat, message.turn)
            case Question(type="undo"):
                await table.undo(self.seat)
            case Question(type="next"):
                await table.go_on(self.seat)
            case Question(type="end"):
                await table.end(self.seat)
            case Question(type="record"):
                return table.record()
            case Question(type="again"):
                self._hub.again(table, self.seat)
        return None


def make_app(
    hub: Hub, guard: Guard, *, join_token: str = "", address: str = "", static: Path = STATIC
) -> ASGIApp:
    """The application.

    Args:
        hub: the games; closed at the end.
        guard: which requests are let in.
        join_token: the token that clients must have; empty for none.
        address: of the server in the network, for invitations; empty: only this machine reaches it.
        static: the folder of the built page.
    """
    visitors: dict[str, Visitor] = {}

    async def socket(websocket: WebSocket) -> None:
        client = websocket.client.host if websocket.client else ""
        with counted(visitors, client) as visitor:
            if visitor is None:
                await websocket.close(_TRY_LATER)
            else:
                await Connection(websocket, hub, visitor, join_token, address).serve()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        hub.close()

    async def not_built(request: Request) -> PlainTextResponse:
        return PlainTextResponse("The page is not built: make web\n", 503)

    async def index(request: Request) -> HTMLResponse:
        """The page. It knows by the mark that a server is there, and looks for none on a static host."""
        text = (static / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(text.replace("<html ", "<html data-server ", 1))

    page: list[BaseRoute] = [Route("/", not_built)]  # other paths: 404, as with the page
    if (static / "index.html").is_file():
        engine = StaticFiles(directory=static / "engine", check_dir=False)
        engine.all_directories.append(WEIGHTS)  # a wheel has the networks once
        page = [Route("/", index), Mount("/engine", engine), Mount("/", StaticFiles(directory=static))]
    routes = [WebSocketRoute("/ws", socket), *page]
    return Guarded(GZipMiddleware(Starlette(routes=routes, lifespan=lifespan), compresslevel=5), guard)
