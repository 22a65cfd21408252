"""The README: short, its Python blocks run, and the site takes its text from there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tienlen_env import Batch

ROOT = Path(__file__).parents[2]
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


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(targets) > 10
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_table_of_places_names_files() -> None:
    """Who wants to change something looks there first; a clone may lack the last folders."""
    lines = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where things are\n")[2]
    cells = [row[-1] for row in rows(lines.partition("\n## ")[0])]
    places = [place for cell in cells for place in re.findall(r"`([a-z_]+/[\w./-]*)`", cell)]
    assert len(places) > 20
    for place in places:
        folder = ROOT.joinpath(*Path(place).parts[: 2 if place.startswith("extensions/") else 1])
        assert (ROOT / place).exists() or not folder.is_dir(), place


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
