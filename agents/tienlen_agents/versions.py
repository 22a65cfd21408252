"""The versions of packages that results depend on, and a digest of the project's own code."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib import import_module, metadata
from pathlib import Path

PACKAGES = (
    "tienlen-env",
    "numpy",
    "numba",
    "torch",
    "gymnasium",
    "pettingzoo",
    "stable-baselines3",
    "sb3-contrib",
    "openskill",
)


def versions() -> dict[str, str]:
    """The versions of Python, the machine and the installed packages that results depend on."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def code_digest(*packages: str) -> str:
    """16 hex digits: a digest of the sources of packages, and of the weights beside them.

    Args:
        packages: their names; none for `tienlen_env` and this package, which determine all results.
    """
    digest = hashlib.sha256()
    for package in packages or ("tienlen_env", "tienlen_agents"):
        root = Path(import_module(package).__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.glob("rule_based/**/*.json")]):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
