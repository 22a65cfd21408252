"""The README: short, its Python blocks run, and its figures are those of the pages that own them."""

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


def test_the_points_are_those_of_the_page_of_strength() -> None:
    found = {cells[0].strip("`"): cells[2] for cells in rows(section("Agents"))}
    owned_rows = list(rows(page("strength.md")))
    head = next(cells for cells in owned_rows if cells[0] == "preset")
    table = next(cells for cells in owned_rows if cells[0] == "`cardgames`")
    owned = {name.strip("`"): points for name, points in zip(head[2:], table[2:], strict=True)}
    assert {name: found[name] for name in owned} == owned
    assert found["heuristic"] == table[1].removesuffix(" points")


def test_the_speeds_are_those_of_the_benchmark() -> None:
    found = [cells for cells in rows(section("Speed")) if cells[1][0].isdigit()]
    assert len(found) == 3
    owned = list(rows(page("benchmark.md")))
    assert all(cells in owned for cells in found)


def test_the_time_of_the_champion_is_that_of_its_page() -> None:
    found = {cells[0]: cells[3] for cells in rows(section("Agents"))}
    (owned,) = (cells for cells in rows(page("champion.md")) if cells[0] == "one at a time")
    assert [f"{found[name]} ms" for name in ("`champion`", "`champion:worlds=0`")] == owned[1:3]


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
