"""A digest of sources that comments, docstrings, imports of own modules and the names of files leave alone.

So a file that moves makes no result stale, and a rule that changes does.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
KINDS: Final = (".py", ".safetensors", ".json")
_OWN: Final = re.compile(r"(tienlen_\w+|research|tools)(\.|$)")
_SILENT: Final = ("ctx", "kind", "type_comment", "type_ignores", "type_params")  # or new in a later Python


def files_of(paths: Iterable[str]) -> list[Path]:
    """The files that are meant by files and folders of the repository: of a folder those of `KINDS`.

    Raises:
        FileNotFoundError: one of them does not exist.
    """
    found: set[Path] = set()
    for name in paths:
        path = ROOT / name
        if not path.exists():
            raise FileNotFoundError(f"{name}: a source of a figure that does not exist")
        if path.is_dir():
            found.update(one for one in path.rglob("*") if one.suffix in KINDS and "built" not in one.parts)
        else:
            found.add(path)
    return sorted(found)


def digest_of(paths: Iterable[str]) -> str:
    """16 hex digits of all files that are meant, whatever they are called."""
    return hashlib.sha256("".join(sorted(map(_digest, files_of(paths)))).encode()).hexdigest()[:16]


@cache
def _digest(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".py":
        data = "\n".join(words(ast.parse(data))).encode()
    return hashlib.sha256(data).hexdigest()


def words(value: Any) -> Iterator[str]:
    """A syntax tree as words, the same in every version of Python (`ast.dump` is not)."""
    if isinstance(value, ast.AST):
        if _is_silent(value):
            return
        yield f"{type(value).__name__}("
        if isinstance(value, ast.JoinedStr):
            value = ast.JoinedStr(list(_joined(value.values)))
        for name, field in ast.iter_fields(value):
            if name not in _SILENT and field is not None:
                yield f"{name}="
                yield from words(field)
        yield ")"
    elif isinstance(value, list):
        for item in value:
            yield from words(item)
    else:
        yield repr(value)


def _joined(parts: list[ast.expr]) -> Iterator[ast.expr]:
    """The parts of an f-string with its texts in one piece each: Python 3.12 has them in several."""
    text = ""
    for part in parts:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            text += part.value
            continue
        if text:
            yield ast.Constant(text)
        text = ""
        yield part
    if text:
        yield ast.Constant(text)


def _is_silent(node: ast.AST) -> bool:
    """Docstrings, and the places that own names are imported from: their definitions are in the digest."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.ImportFrom) and _OWN.match(node.module or "") is not None
