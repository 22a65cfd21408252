"""What is let in: host names, origins, numbers of connections, and rates."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

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


def name_of(host: str) -> str:
    """The name in a ``Host`` header, without the port; ``""`` if it is malformed."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name if bracket and (not rest or (rest[:1] == ":" and rest[1:].isdigit())) else ""
    name, _, port = host.partition(":")
    return name.lower() if not port or port.isdigit() else ""


def is_address(name: str) -> bool:
    """Whether a name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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
        name = name_of(host)
        port = host.rpartition(":")[2] if host != name and not host.endswith("]") else "80"
        if not name or port != str(self._port):
            return False
        return name in self._names or (self._any_address and is_address(name))

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


class Visitors:
    """The connections of a server, by address."""

    def __init__(self) -> None:
        self._known: dict[str, Visitor] = {}

    @contextmanager
    def enter(self, address: str) -> Iterator[Visitor | None]:
        """Count a connection while the block runs.

        Args:
            address: of the client.

        Yields:
            The visitor; None if there are too many connections, of this address or in all.
        """
        visitor = self._known.setdefault(address, Visitor())
        total = sum(other.num_connections for other in self._known.values())
        if visitor.num_connections >= MAX_OF_ADDRESS or total >= MAX_CONNECTIONS:
            yield None
            return
        visitor.num_connections += 1
        try:
            yield visitor
        finally:
            visitor.num_connections -= 1
            if len(self._known) > MAX_ADDRESSES:
                self._known = {key: other for key, other in self._known.items() if other.num_connections}
