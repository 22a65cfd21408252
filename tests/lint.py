"""The linters that must know which folders a clone has: types, import contracts, and the length of functions.

    python -m tests.lint

A clone may lack extensions, `research/` and `tools/`; what pyproject.toml says of them is left out then.
Ruff has no rule for the length of a function in lines of code, so it is counted here.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.needs import FOLDERS, OPTIONAL_FOLDERS, ROOT, lacking

LIMIT: Final = 100  # lines of code in a function; blank lines, comments and docstrings are not counted
SOURCES: Final = ("tienlen_env", "agents", "train", "extensions", "research", "tools")
NO_CODE: Final = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def is_here(package: str) -> bool:
    """Whether this clone has a package, by its name in pyproject.toml."""
    return any((folder / package.replace(".", "/")).is_dir() for folder in FOLDERS)


def contracts(text: str, missing: Sequence[str]) -> str:
    """The settings of import-linter in a pyproject.toml, without the packages that are missing."""
    found = text[text.index("[tool.importlinter]") :]
    for package in missing:
        found = re.sub(rf'"{package}(\.[\w.*]+)?",\s*', "", found)
        found = re.sub(rf'"\({package}\)",\s*|\({package}\) \| | \| \({package}\)', "", found)
    return found


def without_all_imports() -> Iterator[str]:
    """The modules of `research/` and `tools/` that import an extension which this clone does not have."""
    for path in sorted(path for name in OPTIONAL_FOLDERS for path in (ROOT / name).rglob("*.py")):
        if lacking(path):
            yield path.relative_to(ROOT).as_posix()


def long_functions(source: str) -> Iterator[tuple[int, str, int]]:
    """Line, name and number of lines of code of the functions above `LIMIT`."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    functions = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                code -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
            if not isinstance(node, ast.ClassDef):
                functions.append(node)
    for function in functions:
        size = sum(function.lineno <= line <= (function.end_lineno or 0) for line in code)
        if size > LIMIT:
            yield function.lineno, function.name, size


def main() -> int:
    """Run them all; 0 if none objects."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages = tomllib.loads(text)["tool"]["mypy"]["packages"]
    there = [package for package in packages if is_here(package)]
    words = [sys.executable, "-m", "mypy"]
    if there != packages:
        words += [word for package in there for word in ("-p", package)]
        words += [word for path in without_all_imports() for word in ("--exclude", re.escape(path))]
    failed = subprocess.run(words, cwd=ROOT).returncode
    with TemporaryDirectory() as folder:
        settings = Path(folder) / "contracts.toml"
        settings.write_text(contracts(text, [p for p in packages if p not in there]), encoding="utf-8")
        linter = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", settings]
        failed |= subprocess.run(linter, cwd=ROOT).returncode
    for path in sorted(path for name in SOURCES for path in (ROOT / name).rglob("*.py")):
        if "node_modules" in path.parts:
            continue
        for line, name, size in long_functions(path.read_text(encoding="utf-8")):
            print(
                f"{path.relative_to(ROOT)}:{line}: {name} has {size} lines of code, expected at most {LIMIT}"
            )
            failed |= 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
