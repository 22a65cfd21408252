"""Packages that only some functions need: an error that names the extra to install."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

# The extra that a package belongs to, by the name that is imported.
EXTRA_OF: Final = {
    "numba": "jit",
    "llvmlite": "jit",
    "torch": "train",
    "stable_baselines3": "train",
    "sb3_contrib": "train",
    "tensorboard": "train",
    "openskill": "arena",
    "jinja2": "arena",
    "starlette": "web",
    "uvicorn": "web",
    "websockets": "web",
    "ray": "cluster",
    "numba_cuda": "cuda",
    "pyspiel": "openspiel",
    "open_spiel": "openspiel",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "pyarrow": "data",
    "pandas": "data",
    "jax": "jax",
    "minari": "minari",
    "pufferlib": "pufferlib",
    "argcomplete": "completion",
}


class MissingExtraError(ModuleNotFoundError):
    """A function needs a package that is not installed; the message names the extra that contains it."""


def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None


def how_to_install(extra: str) -> str:
    """The command that installs the packages of an extra.

    It names the packages, not this distribution: pip looks for a name on an index, and there it may be
    missing, or from another project.
    """
    from importlib.metadata import PackageNotFoundError, requires  # slow, and seldom needed

    try:
        lines = requires("tienlen-env") or []
    except PackageNotFoundError:
        return f"the extra {extra!r} in pyproject.toml lists what to install"
    return "pip install " + shlex.join(_packages_of(extra, lines))


def _packages_of(extra: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        wanted, _, condition = map(str.strip, line.partition(";"))
        if f'extra == "{extra}"' not in condition.replace("'", '"'):
            continue
        if inner := re.fullmatch(r"tienlen-env\[(.*)\]", wanted):
            for name in inner[1].split(","):
                yield from _packages_of(name, lines)
        else:
            yield wanted


def told_of(error: ModuleNotFoundError) -> str:
    """What is not installed and how to install it, in one line; empty if no extra has it."""
    if isinstance(error, MissingExtraError):
        return str(error)
    extra = EXTRA_OF.get((error.name or "").partition(".")[0])
    return f"the package {error.name} is not installed: {how_to_install(extra)}" if extra else ""


def require(package: str, extra: str, purpose: str) -> None:
    """Refuse if a package is not installed.

    Args:
        package: its import name.
        extra: of this distribution, which contains it.
        purpose: what needs it, for the message.

    Raises:
        MissingExtraError: it is not installed.
    """
    if not is_installed(package):
        raise MissingExtraError(
            f"{purpose} needs the package {package}, which is not installed: {how_to_install(extra)}",
            name=package,
        )
