"""Every planted fault of a game is named, in plain Python; no game that is right is refused."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from tests.extensions.check.planted_faults import FAMILIES, Fault
from tests.high_card import HIGH_CARD
from tests.project.test_outside_climbing import CLIMB
from tests.stairs import STAIRS
from tests.tienlen_env.games.tienlen.test_drawn_rules import drawn
from tienlen_check.compiled import check_compiled
from tienlen_check.contract import check_contract
from tienlen_env.errors import GameFaultError
from tienlen_env.games import registry
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.tienlen.game import TIENLEN

FAULTS = {f"{family}: {name}": fault for family, faults in FAMILIES.items() for name, fault in faults.items()}
# What `register` finds, too: the faults that a trial planted.
AT_ONCE = [
    "rows: played never written", "scores: not reset", "resampling: does nothing",
    "resampling: deals played cards", "rewards: twice the points", "purity: play writes the key",
    "purity: play writes an action", "purity: observe clears the mask", "rounds: two leaders",
    "rounds: the round deals nothing", "rows: a stale column", "settings: history", "settings: num_rounds",
    "texts: an escape code in an action",
]  # fmt: skip
UNSAMPLED = replace(HIGH_CARD, name="unsampled", kernels=HIGH_CARD.kernels._replace(resample_hidden=None))
RIGHT = [HIGH_CARD, STAIRS, CLIMB, UNSAMPLED]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_named(fault: Fault) -> None:
    with pytest.raises(GameFaultError, match=fault.words):
        check_contract(fault.make(), 8)


@pytest.mark.parametrize("name", AT_ONCE)
def test_registration_names_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_games", {"tienlen": TIENLEN, "thirteens": THIRTEENS})
    with pytest.raises(GameFaultError, match=FAULTS[name].words):
        registry.register(FAULTS[name].make())


def test_there_are_enough() -> None:
    assert len(FAULTS) >= 120
    assert min(map(len, FAMILIES.values())) >= 8
    assert len(FAMILIES) == 8


@pytest.mark.parametrize("game", RIGHT, ids=lambda game: game.name)
def test_right_games_pass(game: AnyGame) -> None:
    check_contract(game, 1)


# ---------------------------------------------------------------- the night


def with_rules(game: AnyGame, **presets: AnyRules) -> AnyGame:
    return replace(game, presets=presets)


def drawn_thirteens(rng: random.Random) -> ThirteensRules:
    num_players = rng.randint(3, 7)
    choices: dict[str, Any] = {
        "jokers": rng.randint(0, 2), "melding": rng.choice(["auto", "manual"]),
        "dummy": num_players == 3 and rng.random() < 0.5, "target": rng.choice([0, 5, 50]),
        "first_lead": rng.choice(["drawn", "seat_0"]), "aside_jokers": rng.random() < 0.5,
    }  # fmt: skip
    return ThirteensRules(num_players=num_players, **choices)


@pytest.mark.nightly
@pytest.mark.parametrize("game", [*RIGHT, TIENLEN, THIRTEENS], ids=lambda game: game.name)
def test_nightly_right_games_pass(game: AnyGame) -> None:
    """Every preset, with each number of players."""
    check_contract(game, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_nightly_drawn_rules_pass(part: int) -> None:
    for number in range(20 * part, 20 * part + 20):
        rng = random.Random(f"checked {number}")
        check_contract(with_rules(TIENLEN, drawn=drawn(rng, ("paid", "free")[number % 2])), 6)
        check_contract(with_rules(THIRTEENS, drawn=drawn_thirteens(rng)), 2)


@pytest.mark.nightly
@pytest.mark.parametrize("game", RIGHT, ids=lambda game: game.name)
def test_nightly_compiled_games_pass(game: AnyGame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_games", registry._games | {game.name: game})
    for rules in game.presets.values():
        check_compiled(rules)
