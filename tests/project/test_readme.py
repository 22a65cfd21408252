"""The README: short, its Python blocks run; and what it and the other texts name is there."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tienlen_env import Batch

ROOT = Path(__file__).parents[2]
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


FOLDERS = (
    "tienlen_env",
    "agents",
    "train",
    "extensions",
    "research",
    "tools",
    "tests",
    "docs",
    "examples",
    "notebooks",
)
TEXTS = [
    path
    for pattern in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/**/*.md",
        "extensions/**/README.md",
        "agents/**/*.md",
    )
    for path in sorted(ROOT.glob(pattern))
    if "node_modules" not in path.parts
]


def needed(place: str) -> bool:
    """Whether a file of the repository has to be there: a clone may lack extensions, research and tools."""
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
    """Whether a module of ours is there, and defines what follows its name."""
    package, *parts = name.split(".")
    found = next(
        (
            f
            for f in (ROOT, *(ROOT / x for x in ("agents", "train")), *ROOT.glob("extensions/*"))
            if (f / package).is_dir()
        ),
        None,
    )
    if found is None:
        return True  # a clone may lack it
    place = found / package
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    if parts and place.joinpath(f"{parts[0]}.py").is_file():
        place = place / f"{parts.pop(0)}.py"
    text = (place / "__init__.py" if place.is_dir() else place).read_text(encoding="utf-8")
    define = (
        r"\b" if place.is_dir() else r"^ *(?:class |def |async def )?"
    )  # a package hands on what its modules define
    return not parts or re.search(rf"{define}{parts[-1]}\b", text, re.MULTILINE) is not None


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_places_and_modules_are_there(path: Path) -> None:
    text = re.sub(r"<!-- historical:.*?<!-- end -->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = re.findall(r"`([^`\n]+)`", text)
    places = [word for word in words if re.fullmatch(rf"(?!.*TienLen-v)({'|'.join(FOLDERS)})/[\w./-]+", word)]
    modules = [
        word for word in words if re.fullmatch(r"tienlen_[a-z]+(\.\w+)+", word) and not word.endswith(".py")
    ]
    scripts = [word for word in words if re.fullmatch(r"[\w/]+\.(py|mjs|ts)", word)]
    names = (
        {file.as_posix() for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")} if scripts else set()
    )
    wrong = [place for place in places if needed(place) and not (ROOT / place).exists()]
    wrong += [module for module in modules if not is_module(module)]
    wrong += [script for script in scripts if not any(name.endswith(f"/{script}") for name in names)]
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
