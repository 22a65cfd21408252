"""The commands of installed packages, which ``tienlen --help`` lists without importing them.

    [project.entry-points."tienlen.commands"]
    solve = "my_package.solving:main"          # tienlen solve
    "bench.solve" = "my_package.solving:bench" # tienlen bench solve

The help of a command is the first line of its module's docstring. The metadata is read here as
`importlib.metadata` reads it, which takes as long to import as all the rest of ``tienlen --help``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache

GROUP = "tienlen.commands"


@cache
def installed() -> Mapping[str, list[str]]:
    """The entry points by name: the functions that have it, ``module:function``; one, if all is well.

    Those of packages that are not there are left out: a clone may lack folders of this distribution.
    """
    found: dict[str, list[str]] = {}
    for text in _metadata():
        section = text.partition(f"[{GROUP}]")[2].partition("\n[")[0]
        for line in section.splitlines():
            name, sign, value = (part.strip() for part in line.partition("="))
            if sign and not name.startswith(("#", ";")) and _places(_root(value)):
                values = found.setdefault(name, [])
                values += [value] if value not in values else []
    return dict(sorted(found.items()))


def _metadata() -> Iterator[str]:
    """The entry points of every distribution on the path; the first of a name hides the others."""
    seen = set()
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for name in names:
            distribution = name.partition("-")[0].lower()
            if not name.endswith((".dist-info", ".egg-info")) or distribution in seen:
                continue
            seen.add(distribution)
            try:
                with open(f"{folder or '.'}/{name}/entry_points.txt", "rb", 0) as file:
                    content = file.read()
            except OSError:
                continue
            if GROUP.encode() in content:
                yield content.decode(errors="replace")


def _root(value: str) -> str:
    return value.partition(":")[0].partition(".")[0]


@cache
def _places(root: str) -> list[str]:
    """Where a top-level package or module is, as paths without their ends; it is not imported."""
    for finder in sys.meta_path:
        spec = finder.find_spec(root, None)
        if spec is not None:
            return list(spec.submodule_search_locations or [os.path.splitext(spec.origin or "")[0]])
    return []


def help_of(value: str) -> str:
    """The first line of the docstring of an entry point's module; a text that says so if it has none."""
    root, *parts = value.partition(":")[0].split(".")
    for folder in _places(root):
        path = os.path.join(folder, *parts)
        for file in (f"{path}.py", os.path.join(path, "__init__.py")):
            if os.path.isfile(file) and (line := _first_line(file)):
                line = line if line[1:2].isupper() else line[:1].lower() + line[1:]
                return "".join(letter for letter in line if letter.isprintable())
    return f"of the package {root}"


def _first_line(file: str) -> str:
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith('"""'):
                return line.strip().strip('"').replace("`", "").rstrip(".").strip()
            if line.strip() and not line.startswith("#"):
                break
    return ""
