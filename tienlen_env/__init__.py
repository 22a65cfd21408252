"""Tiến lên (Thirteen) and its namesake Thirteens for reinforcement learning: engine, environments, pictures.

The import registers the environments, now or when Gymnasium and PettingZoo are imported; everything else is
loaded when it is first asked for. An id that names the package, ``"tienlen_env:tienlen_env/TienLen-v1"``,
needs no import, in another process, too.

* PettingZoo: ``from tienlen_env import tienlen_v1; tienlen_v1.env()``, or
  ``pettingzoo.make("aec", "tienlen_env/tienlen_v1")``; likewise ``thirteens_v0``
* Gymnasium: ``gymnasium.make("tienlen_env/TienLen-v1")``, ``"tienlen_env/Thirteens-v1"``, and ``make_vec``
* batched: `Batch`, `SelfPlayEnv`, `OneSeatVectorEnv`; stable-baselines3: `tienlen_env.envs.sb3`
* people and bots: `Round`, `ThirteensRound`, `Game`, `Session`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tienlen_env import thirteens_v0, tienlen_v1
    from tienlen_env.engine.agent import Agent, RandomAgent, View
    from tienlen_env.engine.batch import Batch
    from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv
    from tienlen_env.games.registry import get_rules
    from tienlen_env.games.thirteens.rules import ThirteensRules
    from tienlen_env.games.tienlen.rules import PRESETS, SMALL_GAMES, Payments, Rules
    from tienlen_env.single.game import Game
    from tienlen_env.single.session import Session
    from tienlen_env.single.thirteens import ThirteensRound
    from tienlen_env.single.tienlen import Round

    __version__: str

__all__ = [
    "PRESETS",
    "SMALL_GAMES",
    "Agent",
    "Batch",
    "Game",
    "OneSeatVectorEnv",
    "Payments",
    "RandomAgent",
    "Round",
    "Rules",
    "SelfPlayEnv",
    "Session",
    "ThirteensRound",
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
    "ThirteensRound": "single.thirteens",
    "Game": "single.game",
    "OneSeatVectorEnv": "envs.vector",
    "Payments": "games.tienlen.rules",
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


def _register_in_gymnasium(found: Any) -> None:
    for name, rules in (("TienLen", "cardgames"), ("Thirteens", "thirteens")):
        if f"tienlen_env/{name}-v1" not in found.registry:
            found.register(
                f"tienlen_env/{name}-v1",
                entry_point="tienlen_env.envs.gymnasium:OneSeatEnv",
                vector_entry_point="tienlen_env.envs.vector:OneSeatVectorEnv",
                kwargs={"rules": rules},
            )


def _register_in_pettingzoo(found: Any) -> None:
    # An id that is registered as name_v0 is listed as name-v0.
    for name, module in (("tienlen_v1", "tienlen"), ("thirteens_v0", "thirteens")):
        if f"tienlen_env/{name.replace('_', '-')}" not in found.aec_registry:
            found.register("aec", f"tienlen_env/{name}", entry_point=f"tienlen_env.envs.{module}:env")


# Where the libraries keep their environments; PettingZoo has a registry since 1.27. Nothing here imports the
# libraries, because that takes longer than all of the rest.
_REGISTRIES: dict[str, Callable[[Any], None]] = {
    "gymnasium.envs.registration": _register_in_gymnasium,
    "pettingzoo.env_registry.registration": _register_in_pettingzoo,
}
_waiting = dict(_REGISTRIES)


def _register_where_imported() -> None:
    for name in list(_waiting):
        found: Any = sys.modules.get(name)
        if hasattr(found, "register") and not getattr(found.__spec__, "_initializing", False):
            register = _waiting.pop(name, None)  # None: another thread was here
            if register is not None:
                register(found)


class _Registers:
    """The loader of a registry, which registers the environments when the registry has been loaded."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader, self._name = loader, name

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_loader"), name)

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _REGISTRIES[self._name](module)


class _Finder:
    """Sees what is imported, and answers for registries what the finders behind it answer.

    It stays where it is: a question (`importlib.util.find_spec`) does not use it up, and while others walk
    through `sys.meta_path`, in other threads too, nothing may be removed there.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """As Python asks every finder."""
        if name not in _REGISTRIES:
            _register_where_imported()  # a finder before this one may have answered for a registry
            return None
        finders: list[Any] = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :] if self in finders else ():
            found: Any = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if found is not None:
                if hasattr(found.loader, "exec_module"):
                    found.loader = _Registers(found.loader, name)
                return found  # type: ignore[no-any-return]
        return None


if not any(type(finder).__module__ == __name__ for finder in sys.meta_path):  # not again after a reload
    sys.meta_path.insert(0, _Finder())
for _name in _REGISTRIES:
    if _name in sys.modules:
        import_module(_name)  # waits where another thread is importing it
_register_where_imported()
