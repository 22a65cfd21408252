"""Old module names raise an error that names the new module.

`install` appends a finder to ``sys.meta_path``. Python consults it last, when no module has the name, so it
costs nothing otherwise and never hides a module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

# Modules of an old package are listed only where the new package has them elsewhere or under other names.
MOVED: Final = {
    f"tienlen_env.{old}": f"tienlen_env.{new}"
    for old, new in {
        "aec": "envs.tienlen",
        "aec_base": "envs.pettingzoo",
        "agent": "engine.agent",
        "backends": "engine.backends",
        "core": "games.tienlen",
        "core.bits": "games.common.bits",
        "core.cards": "games.common.cards",
        "core.combos": "games.tienlen.actions",
        "core.definition": "games.common.game",
        "core.explain": "games.tienlen.explain",
        "core.hands": "games.tienlen.hands",
        "core.kernels": "games.tienlen.kernels",
        "core.notation": "games.tienlen.notation",
        "core.observe": "games.tienlen.observe",
        "core.record": "games.tienlen.play_summary",
        "core.rules": "games.tienlen.rules",
        "core.spec": "games.tienlen.spec",
        "core.state": "games.tienlen.state",
        "deal": "single.thirteens",
        "game": "single.game",
        "gym_env": "envs.tienlen_gymnasium",
        "one_seat": "envs.one_seat",
        "render": "single.painter",
        "round": "single.tienlen",
        "sb3_vec_env": "envs.tienlen_sb3",
        "thirteens": "games.thirteens",
        "thirteens_aec": "envs.thirteens",
        "thirteens_gym": "envs.thirteens_gymnasium",
        "vector_env": "envs.vector",
    }.items()
}


class OldPackage(ModuleType):
    """Stands in for a package that has moved, so that the import of its modules can name their new places.

    Args:
        name: the old package.
        moved: new dotted names by old ones, those of the package's modules and of the package.
    """

    def __init__(self, name: str, moved: Mapping[str, str]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._moved = moved

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        old = f"{self.__name__}.{name}"
        if old in self._moved:
            raise ImportError(_message(old, self._moved))
        raise ImportError(f"{_message(self.__name__, self._moved)}; look for {name!r} there")


class _Finder(MetaPathFinder, Loader):
    """Finds no module: raises for old names, and makes an `OldPackage` of those with modules below."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self.moved = moved

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.moved:
            return None
        if any(name.startswith(f"{fullname}.") for name in self.moved):
            return ModuleSpec(fullname, self, is_package=True)
        # Without `name`: `from package import old` would otherwise replace the message by its own.
        raise ModuleNotFoundError(_message(fullname, self.moved))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return OldPackage(spec.name, self.moved)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


def _message(old: str, moved: Mapping[str, str]) -> str:
    return f"the module {old!r} is now {moved[old]!r}"


def install(moved: Mapping[str, str]) -> None:
    """Let the import of old modules fail with the names of the new ones.

    Args:
        moved: new dotted names by old ones. An old package with modules below is in it, too.
    """
    if not any(isinstance(finder, _Finder) and finder.moved == moved for finder in sys.meta_path):
        sys.meta_path.append(_Finder(moved))


def replace_package(name: str, new: str, modules: Mapping[str, str]) -> None:
    """Replace a package that is being imported by an `OldPackage`.

    Args:
        name: the old package.
        new: the new one.
        modules: names in the new package by names in the old one.
    """
    moved = {name: new, **{f"{name}.{old}": f"{new}.{there}" for old, there in modules.items()}}
    install(moved)
    sys.modules[name] = OldPackage(name, moved)
