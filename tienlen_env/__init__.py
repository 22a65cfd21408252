"""Tiến lên (Thirteen) and its namesake Thirteens for reinforcement learning: engine, environments, pictures.

The import registers the environments, now or when Gymnasium and PettingZoo are imported; everything else is
loaded when it is first asked for.

* PettingZoo: ``from tienlen_env import tienlen_v1; tienlen_v1.env()``, or
  ``pettingzoo.make("aec", "tienlen_env/tienlen_v1")``; likewise ``thirteens_v0``
* Gymnasium: ``gymnasium.make("tienlen_env/TienLen-v1")``, ``"tienlen_env/Thirteens-v1"``, and ``make_vec``
* batched: `Batch`, `SelfPlayEnv`, `OneSeatVectorEnv`; stable-baselines3: `tienlen_env.envs.sb3`
* people and bots: `Round`, `Deal`, `Game`, `Session`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tienlen_env import thirteens_v0, tienlen_v1
    from tienlen_env.engine.agent import Agent, RandomAgent, View
    from tienlen_env.engine.batch import Batch
    from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv
    from tienlen_env.games.registry import get_rules
    from tienlen_env.games.thirteens.rules import ThirteensRules
    from tienlen_env.games.tienlen.rules import PRESETS, SMALL_GAMES, Rules
    from tienlen_env.single.game import Game
    from tienlen_env.single.session import Session
    from tienlen_env.single.thirteens import Deal
    from tienlen_env.single.tienlen import Round

    __version__: str

__all__ = [
    "PRESETS",
    "SMALL_GAMES",
    "Agent",
    "Batch",
    "Deal",
    "Game",
    "OneSeatVectorEnv",
    "RandomAgent",
    "Round",
    "Rules",
    "SelfPlayEnv",
    "Session",
    "ThirteensRules",
    "View",
    "get_rules",
    "thirteens_v0",
    "tienlen_v1",
]

_HOME = {
    "PRESETS": "games.tienlen.rules",
    "SMALL_GAMES": "games.tienlen.rules",
    "Agent": "engine.agent",
    "Batch": "engine.batch",
    "Deal": "single.thirteens",
    "Game": "single.game",
    "OneSeatVectorEnv": "envs.vector",
    "RandomAgent": "engine.agent",
    "Round": "single.tienlen",
    "Rules": "games.tienlen.rules",
    "SelfPlayEnv": "envs.vector",
    "Session": "single.session",
    "ThirteensRules": "games.thirteens.rules",
    "View": "engine.agent",
    "get_rules": "games.registry",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tienlen-env")
        except PackageNotFoundError:  # run from the sources, not installed
            return "0"
    if name in ("tienlen_v1", "thirteens_v0"):
        return import_module(f"tienlen_env.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register_in_gymnasium(gymnasium: Any) -> None:
    for name, rules in (("TienLen", "cardgames"), ("Thirteens", "thirteens")):
        if f"tienlen_env/{name}-v1" not in gymnasium.registry:
            gymnasium.register(
                f"tienlen_env/{name}-v1",
                entry_point="tienlen_env.envs.gymnasium:OneSeatEnv",
                vector_entry_point="tienlen_env.envs.vector:OneSeatVectorEnv",
                kwargs={"rules": rules},
            )


def _register_in_pettingzoo(pettingzoo: Any) -> None:
    # PettingZoo has a registry since 1.27. It lists an id that is registered as name_v0 as name-v0.
    if hasattr(pettingzoo, "aec_registry") and "tienlen_env/tienlen-v1" not in pettingzoo.aec_registry:
        pettingzoo.register("aec", "tienlen_env/tienlen_v1", entry_point="tienlen_env.envs.tienlen:env")
        pettingzoo.register("aec", "tienlen_env/thirteens_v0", entry_point="tienlen_env.envs.thirteens:env")


class _AtImport:
    """Calls a function with a library when that is imported, which takes longer than all of the rest."""

    def __init__(self, name: str, call: Callable[[Any], None]) -> None:
        self.name, self.call = name, call
        if name in sys.modules:
            call(sys.modules[name])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """As Python asks every finder."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        if (spec := find_spec(name)) is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                self.call(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_AtImport("gymnasium", _register_in_gymnasium)
_AtImport("pettingzoo", _register_in_pettingzoo)
