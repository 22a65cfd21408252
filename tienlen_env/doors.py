"""Doors: what installed packages add by name, as entry points.

    [project.entry-points."tienlen.backends"]  # in the pyproject.toml of a package
    mine = "my_package.batch:MyBatch"

The extensions of this repository use the same doors. A module is imported when its entry is used;
``docs/extending.md`` has a part for each group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Generic, NamedTuple, TypeVar, cast

from tienlen_env.errors import expected_one_of
from tienlen_env.extras import is_installed

NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


T = TypeVar("T")


class Door(NamedTuple, Generic[T]):
    """A group of entry points that name a `T`.

    Attributes:
        group: its name.
        kind: what an entry adds, for messages.
        built_in: names that no package can take.
    """

    group: str
    kind: str
    built_in: tuple[str, ...] = ()

    def entries(self) -> Mapping[str, EntryPoint]:
        """The entry points by name, without those of packages that are not there.

        A clone may lack folders of this distribution, whose entry points are in its metadata all the same.

        Raises:
            ValueError: two packages have the same name, or a name is malformed.
        """
        return _entries(self)

    def load(self, name: str) -> T:
        """What the entry of a name adds; its module is imported now.

        Raises:
            ValueError: there is no such entry.
        """
        found = self.entries()
        if name not in found:
            raise ValueError(f"{self.kind}={name!r}: {expected_one_of(name, [*self.built_in, *found])}")
        return cast(T, found[name].load())


@cache
def _entries(door: Door[T]) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=door.group), key=lambda entry: (entry.name, entry.value)):
        if entry.name in door.built_in or not is_installed(entry.module.partition(".")[0]):
            continue
        if not NAME.fullmatch(entry.name):
            raise ValueError(
                f"{_origin(entry)}: expected lower-case letters, digits and underscores in the name"
            )
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            article = "an" if door.kind[0] in "aeiou" else "a"
            origins = f"{_origin(other)}, {_origin(entry)}"
            raise ValueError(f"two packages have {article} {door.kind} {entry.name!r}: {origins}")
    return found


def _origin(entry: EntryPoint) -> str:
    package = "an unknown package" if entry.dist is None else entry.dist.name
    return f"entry point {entry.name} = {entry.value!r} of {package}"
