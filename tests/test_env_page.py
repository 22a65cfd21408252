"""The environments' pages (the docstrings of their modules) say what the code does."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_type_hints

import pytest

from tests.games import Case, each_game


@each_game
@pytest.mark.parametrize("name", ["observation", "actions", "sizes"])
def test_tables_follow_from_the_code(game: Case, name: str) -> None:
    assert game.page.page_tables()[name] in (game.page.__doc__ or "")


@each_game
@pytest.mark.parametrize("maker", ["env", "raw_env"])
def test_arguments_follow_from_the_code(game: Case, maker: str) -> None:
    page = (game.page.__doc__ or "").partition("| argument |")[2].partition("\n\n")[0]
    documented = dict(re.findall(r"^\| (\w+) \| (\S+) \|", page, re.MULTILINE))
    expected = {}
    for name, parameter in inspect.signature(getattr(game.module, maker)).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:  # fields of the rules
            fields = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
            expected |= dict.fromkeys(get_type_hints(getattr(game.page, fields)), "None")
        else:
            expected[name] = repr(parameter.default)
    assert documented == expected


@each_game
def test_version_history_begins_with_the_version_of_the_name(game: Case) -> None:
    newest = re.findall(r"^\* (v\d+):", game.page.__doc__ or "", re.MULTILINE)[0]
    assert game.module.raw_env.metadata["name"] == game.name
    assert game.name.endswith(f"_{newest}")
    assert (Path(game.page.__file__ or "").parents[1] / f"{game.name}.py").exists()
