"""Packages that only some functions need: an error that names the extra to install."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtraError(ModuleNotFoundError):
    """A function needs a package that is not installed; the message names the extra that contains it."""


def is_installed(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None


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
            f"{purpose} needs the package {package}, which is not installed: "
            f"pip install 'tienlen-env[{extra}]'",
            name=package,
        )
