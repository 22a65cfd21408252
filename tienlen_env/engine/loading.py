"""Agents by name, for code that imports no package of agents.

`tienlen_env` has no agents of its own besides `RandomAgent`, and does not import a package that has. Such a
package has a function that makes an agent from a text such as ``"search:worlds=64"``, and an entry point in
its metadata:

    [project.entry-points."tienlen.agent_loaders"]
    tienlen_agents = "tienlen_agents:load"

To add agents, not a loader, use the entry-point group ``tienlen.agents`` (see `tienlen_agents`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Final

from tienlen_env.engine.agent import Agent
from tienlen_env.errors import TienLenError

Loader = Callable[[str], Agent]

GROUP: Final = "tienlen.agent_loaders"

_registered: list[Loader] = []


class NoAgentLoaderError(TienLenError):
    """No installed package makes agents from names."""


def register_loader(loader: Loader) -> None:
    """Use a loader in this process; it comes before those of installed packages.

    Args:
        loader: makes a new agent from a text; raises ValueError for a text that it cannot read.
    """
    if loader not in _registered:
        _registered.append(loader)


def load_agent(text: str) -> Agent:
    """Make a new agent from its name and options.

    Args:
        text: as the loader reads it: ``"heuristic"``, ``"search:worlds=64"``.

    Raises:
        NoAgentLoaderError: no package with agents is installed.
        ValueError: the loader does not know the name or an option.
    """
    loader = _registered[0] if _registered else _installed_loader()
    if loader is None:
        raise NoAgentLoaderError(
            f"agent {text!r}: no installed package loads agents by name (entry-point group {GROUP!r}). "
            "Install the wheel of tienlen-env, which contains tienlen_agents (in a checkout: "
            "pip install -e .), or pass an Agent object"
        )
    return loader(text)


@lru_cache(maxsize=1)
def _installed_loader() -> Loader | None:
    """The loader of an installed package; the first by name if there are several."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    if not found:
        return None
    loader: Loader = found[0].load()
    return loader
