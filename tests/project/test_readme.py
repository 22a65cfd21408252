"""The README: short, its Python blocks run; and what it and the other texts name is there."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.needs import EXTENSIONS, FOLDERS, ROOT
from tienlen_env import Batch

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every line of a table."""
    for line in re.findall(r"^\| (.*) \|$", text, re.MULTILINE):
        yield [cell.strip() for cell in line.split("|")]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_it_is_short() -> None:
    assert len(README.encode()) <= 7000


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.splitlines()[0])
def test_block_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


CODE = ("tienlen_env", "agents", "train", "extensions", "research", "tools")
TOP = (*CODE, "tests", "docs", "examples", "notebooks")
PATTERNS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "extensions/*/README.md", "agents/**/*.md")
TEXTS = [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]


BUILT = "extensions/table/tienlen_table/server/static"  # by make


def needed(place: str) -> bool:
    """Whether a file of the repository has to be there: a clone may lack extensions, research and tools."""
    if place.startswith(BUILT):
        return False
    folder = ROOT.joinpath(*Path(place).parts[: 2 if place.startswith("extensions/") else 1])
    return folder.exists() or not place.startswith(("extensions/", "research/", "tools/"))


def targets(path: Path) -> Iterator[str]:
    """The places in the repository that the links of a text lead to."""
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", path.read_text(encoding="utf-8")):
        yield os.path.relpath(path.parent / target, ROOT)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path: Path) -> None:
    """In a clone, too: the site makes links to its own pages of them (`links_out_of_docs`)."""
    assert [place for place in targets(path) if needed(place) and not (ROOT / place).exists()] == []


def is_module(name: str) -> bool:
    """Whether a module of ours is there, and defines what follows its name; a clone may lack its package."""
    package, *parts = name.split(".")
    for place in (folder / package for folder in FOLDERS if (folder / package).is_dir()):
        while parts and (place / parts[0]).is_dir():
            place /= parts.pop(0)
        # A package hands on what its modules define.
        source, start = place / "__init__.py", r"\b"
        if parts and (place / f"{parts[0]}.py").is_file():
            source, start = place / f"{parts.pop(0)}.py", r"^ *(?:class |def |async def )?"
        text = source.read_text(encoding="utf-8")
        return not parts or re.search(rf"{start}{parts[-1]}\b", text, re.MULTILINE) is not None
    return True


@cache
def all_files() -> frozenset[str]:
    """The files of a clone that lacks nothing, else none."""
    rooms = (*TOP, *(f"extensions/{name}" for name in EXTENSIONS))
    if not all((ROOT / room).is_dir() for room in rooms):
        return frozenset()
    return frozenset(path.as_posix() for folder in TOP for path in (ROOT / folder).rglob("*.*"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_places_and_modules_are_there(path: Path) -> None:
    text = re.sub(r"<!-- historical:.*?<!-- end -->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    wrong = []
    for word in re.findall(r"`([^`\n]+)`", text):
        if re.fullmatch(rf"(?!.*TienLen-v)({'|'.join(TOP)})/[\w./-]+", word):
            is_there = not needed(word) or (ROOT / word).exists()
        elif re.fullmatch(r"[\w/]+\.(py|mjs|ts)", word):
            is_there = not all_files() or any(name.endswith(f"/{word}") for name in all_files())
        else:
            is_there = re.fullmatch(r"tienlen_[a-z]+(\.\w+)+", word) is None or is_module(word)
        wrong += [] if is_there else [word]
    assert wrong == []


def test_the_table_of_places_names_files() -> None:
    """Who wants to change something looks there first."""
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things are\n")[2]
    cells = [row[-1] for row in rows(lines.partition("\n## ")[0])]
    places = [place for cell in cells for place in re.findall(r"`([a-z_]+/[\w./-]*)`", cell)]
    assert len(places) > 20
    assert [place for place in places if needed(place) and not (ROOT / place).exists()] == []


def test_the_table_of_doors_follows_from_pyproject() -> None:
    """Each group of entry points, and the extensions that have one."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    lines = page("extending.md").partition("| entry points |")[2].partition("\n\n")[0]
    table = {found[0]: row[2] for row in rows(lines) if (found := re.findall(r"tienlen\.\w+", row[0]))}
    for group, entries in groups.items():
        places = {place.partition(".")[0].removeprefix("tienlen_") for place in entries.values()}
        users = {place for place in places if (ROOT / "extensions" / place).is_dir()}
        told = {user for user in table[group].split(", ") if (ROOT / "extensions" / user).is_dir()}
        assert told == users, group


def test_what_the_site_inserts_has_a_link_in_the_repository() -> None:
    for path in DOCS.rglob("*.md"):
        if path.name != "index.md":
            text = path.read_text(encoding="utf-8")
            for before, name in re.findall(r"(.*)\n\n<!-- (?:section|code): (\S+) # ", text):
                assert f"](../{name}" in before, (path, name)


def test_the_presets_have_these_numbers_of_actions() -> None:
    found = {cells[0].strip("`"): cells[2] for cells in rows(section("Rules")) if cells[0].startswith("`")}
    assert {"cardgames", "south", "north", "thirteens"} <= set(found)
    assert {name: str(Batch(name, 1).num_actions) for name in found} == found


@pytest.mark.parametrize(
    ("name", "titles"),
    [("index.md", ["intro", "Install", "Use"]), ("agents.md", ["Agents"]), ("rules/index.md", ["Rules"])],
)
def test_the_site_takes_its_text_from_here(name: str, titles: list[str]) -> None:
    for title in titles:
        assert f"<!-- section: README.md # {title} -->" in page(name)
