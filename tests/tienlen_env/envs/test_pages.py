"""The environments' pages (the docstrings of their modules) say what the code does."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from tests.games import Case, each_game
from tienlen_env.envs.pettingzoo import GameEnv


@each_game
@pytest.mark.parametrize("maker", ["env", "raw_env"])
def test_arguments_follow_from_the_code(game: Case, maker: str) -> None:
    """Those of every environment, and fields of the rules."""
    page = (game.page.__doc__ or "").partition("| argument |")[2].partition("\n\n")[0]
    documented = dict(re.findall(r"^\| (\w+) \| (\S+) \|", page, re.MULTILINE))
    expected = {}
    for name, parameter in inspect.signature(GameEnv).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD and name != "backend":
            expected[name] = repr(parameter.default)
    expected["rules"] = repr(inspect.signature(getattr(game.module, maker)).parameters["rules"].default)
    batch = game.module.raw_env().batch
    if not batch.game.has_history:
        del expected["history"]
    fields = documented.keys() - expected.keys()
    assert fields <= {field.name for field in dataclasses.fields(batch.rules)}
    assert documented == expected | dict.fromkeys(fields, "None")


@each_game
def test_all_rewards_are_described(game: Case) -> None:
    page = (game.page.__doc__ or "").partition("| reward | given")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| (\w+) \|", page, re.MULTILINE)) == game.module.raw_env().batch.game.rewards


@each_game
def test_version_history_begins_with_the_version_of_the_name(game: Case) -> None:
    newest = re.findall(r"^\* (v\d+):", game.page.__doc__ or "", re.MULTILINE)[0]
    assert game.module.raw_env.metadata["name"] == game.name
    assert game.name.endswith(f"_{newest}")
    assert (Path(game.page.__file__ or "").parents[1] / f"{game.name}.py").exists()
