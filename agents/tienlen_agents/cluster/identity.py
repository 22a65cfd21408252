"""What must be the same on every node, so that a result does not depend on where it was computed.

The process that starts a run makes an `Identity`. Every worker process of the cluster makes its own and
compares them before its first job. Where they differ, it does not play (`Refusal`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path, PurePath
from typing import NamedTuple, Self

from tienlen_agents.arena.store import ArenaRunError, file_digests
from tienlen_agents.versions import code_digest, versions

_SHOWN = 12  # characters of a digest in a message


class NodeRefusedError(ArenaRunError):
    """No node of the cluster has the versions, the code and the files of the process that started the run."""


class Refusal(NamedTuple):
    """A node's answer in place of a result.

    Attributes:
        node: its id in Ray.
        host: its name.
        reasons: what differs, one sentence part each.
    """

    node: str
    host: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"node {self.host} ({self.node[:8]}): {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class Identity:
    """What determines results besides the job.

    Attributes:
        versions: of Python, the machine's kind and the packages, by name (`tienlen_agents.versions`).
        code: digests of the sources, by package.
        files: SHA-256 of the files that agents' names mention, by path.
        processor: the processor's model. It is compared only for a warning: rules, rule-based and searching
            agents play the same on every model, networks may differ in the last bits.
    """

    versions: Mapping[str, str]
    code: Mapping[str, str]
    files: Mapping[str, str]
    processor: str

    @classmethod
    def here(cls, names: Sequence[str] = (), packages: Iterable[str] = ()) -> Self:
        """The identity of this process.

        Args:
            names: of agents, in `tienlen_agents.load`.
            packages: names of more packages whose sources determine results.
        """
        code = {"tienlen_agents": code_digest()}
        code.update((package, sources_digest(package)) for package in packages)
        return cls(versions(), code, file_digests(list(names)), processor())

    def differences(self) -> tuple[str, ...]:
        """What is otherwise in this process; empty if it may play."""
        found = versions()
        reasons = [
            f"{name} {found.get(name, 'is not installed')}, expected {self.versions.get(name, 'none')}"
            for name in sorted({*found, *self.versions})
            if found.get(name) != self.versions.get(name)
        ]
        for name, digest in self.code.items():
            here = code_digest() if name == "tienlen_agents" else sources_digest(name)
            if here != digest:
                reasons.append(f"the code of {name} has digest {here[:_SHOWN]}, expected {digest[:_SHOWN]}")
        for path, digest in self.files.items():
            here = _file_digest(path)
            if here != digest:
                where = f"has digest {here[:_SHOWN]}" if here else "is missing"
                reasons.append(f"the file {path} {where}, expected {digest[:_SHOWN]}")
        return tuple(reasons)

    def refusal(self, node: str) -> Refusal | None:
        """The answer of this process on a node if it may not play; None if it may."""
        reasons = self.differences()
        return Refusal(node, socket.gethostname(), reasons) if reasons else None

    @property
    def shipped(self) -> tuple[str, ...]:
        """The files that are sent to the nodes: relative paths below the current folder."""
        return tuple(path for path in self.files if is_shipped(path))


def is_shipped(path: str) -> bool:
    """Whether a file is sent to the nodes; others are expected at the same path on each of them."""
    pure = PurePath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def sources_digest(package: str) -> str:
    """16 hex digits: a digest of a package's Python sources."""
    digest = hashlib.sha256()
    root = Path(import_module(package).__path__[0])
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _file_digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def processor() -> str:
    """The model of the processor, as the system names it."""
    if os.path.exists("/proc/cpuinfo"):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
