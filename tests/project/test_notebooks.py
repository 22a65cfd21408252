"""The notebooks as they lie in git; that they run from top to bottom is `make notebooks`."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = [
    "01_play_and_rules",
    "02_environment",
    "03_train_and_compare",
    "04_research_example",
    "05_exact_laboratory",
]


def cells(name: str, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def code(name: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(name, "code"))


def test_these_and_no_others() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir() if not path.name.startswith(".")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_stripped(name: str) -> None:
    for cell in cells(name, "code"):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.parametrize("name", NAMES)
def test_it_imports_and_never_defines(name: str) -> None:
    tree = ast.parse(code(name))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    assert not [node for node in ast.walk(tree) if isinstance(node, kinds)]


@pytest.mark.parametrize("name", NAMES)
def test_its_length_is_set_by_the_budget(name: str) -> None:
    source = code(name)
    assert 'BUDGET = float(os.environ.get("BUDGET", 1))' in source
    assert len(re.findall(r"\* BUDGET", source)) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_in_ten_minutes_and_has_pictures(name: str) -> None:
    words = sum(len("".join(cell["source"]).split()) for cell in cells(name, "markdown"))
    assert 150 < words < 1200  # two hundred words a minute, and time for the pictures
    assert len(re.findall(r"plt\.subplots|SVG\(|^game$|^chop$", code(name), re.MULTILINE)) >= 3
