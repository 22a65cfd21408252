"""The games, each with the tables and settings that its environments are tried with."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tienlen_env import thirteens_v0, tienlen_v1
from tienlen_env.engine.batch import Batch
from tienlen_env.envs import thirteens as thirteens_aec, tienlen as aec
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.tienlen.rules import PRESETS

Settings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A game as the tests below take it.

    Attributes:
        name: of the environment.
        module: its `env` and `raw_env`.
        page: the module whose docstring describes them.
        make_batch: the same game as a batch of one, from an environment's settings.
        variants: every kind of table.
        some: a few of them.
        whole_games: some that are played over several rounds or deals.
        num_cycles: steps of each variant in PettingZoo's test.
        rewards: every reward.
        compared_rewards: those that are compared with a batch's.
        illegal_costs: rewards, and what an illegal move costs then.
        rich: a table at which `has_news` comes up.
        has_news: whether the game is at a point that not every game has.
        bad_arguments: each refused with an error that names it.
    """

    name: str
    module: ModuleType
    page: ModuleType
    make_batch: Callable[..., Batch]
    variants: list[Settings]
    some: list[Settings]
    whole_games: list[Settings]
    num_cycles: int
    rewards: tuple[str, ...]
    compared_rewards: tuple[str, ...]
    illegal_costs: dict[str, float]
    rich: Settings
    has_news: Callable[[Batch], bool]
    bad_arguments: list[Settings]


TIENLEN = Case(
    name="tienlen_v1",
    module=tienlen_v1,
    page=aec,
    make_batch=Batch,
    variants=[
        {"rules": rules, "num_players": players, "episode": episode}
        for rules in PRESETS
        for players in (2, 3, 4)
        for episode in ("round", "game")
    ],
    some=[{"num_players": 2}, {"num_players": 4}, {"rules": "foicica", "history": 2}],
    whole_games=[{"episode": "game", "history": 5},
                 {"rules": "south_winner", "episode": "game", "num_rounds": 2}],
    num_cycles=1000,
    rewards=("points", "zero_sum", "win", "cards"),
    compared_rewards=("points", "cards"),
    illegal_costs={"points": -1.0, "zero_sum": -2.5, "win": -2.0, "cards": -14.0},
    rich={},
    has_news=lambda batch: bool((batch.state.places[0] >= 0).any()),  # a seat has gone out
    bad_arguments=[{"rules": "x"}, {"num_players": 5}, {"episode": "x"}, {"reward": "x"}, {"num_rounds": 2},
                   {"render_mode": "x"}, {"history": -1}],
)  # fmt: skip


def thirteens_batch(*, jokers: int = 1, melding: Any = "auto", dummy: bool = False, num_players: int = 4,
                    **settings: Any) -> Batch:  # fmt: skip
    rules = ThirteensRules(num_players=num_players, jokers=jokers, melding=melding, dummy=dummy)
    return Batch(rules, **settings)


SOME_THIRTEENS: list[Settings] = [
    {},
    {"num_players": 7, "jokers": 2, "melding": "manual"},
    {"num_players": 3, "dummy": True, "jokers": 2},
]
THIRTEENS = Case(
    name="thirteens_v0",
    module=thirteens_v0,
    page=thirteens_aec,
    make_batch=thirteens_batch,
    variants=[
        {"num_players": players, "jokers": jokers, "melding": melding, "dummy": dummy}
        for players, dummy in ((3, False), (3, True), (4, False), (5, False), (6, False), (7, False))
        for jokers in (0, 1, 2)
        for melding in ("auto", "manual")
    ],
    some=SOME_THIRTEENS,
    whole_games=[{**settings, "episode": "game", "target": 12} for settings in SOME_THIRTEENS],
    num_cycles=400,
    rewards=("points", "zero_sum", "win"),
    compared_rewards=("points", "zero_sum", "win"),
    illegal_costs={"points": -4.0, "win": -2.0},
    rich={"num_players": 5, "melding": "manual"},
    has_news=lambda batch: bool(batch.state.pile[0]),  # a trick is to be melded by who has just played
    bad_arguments=[{"num_players": 2}, {"jokers": 3}, {"melding": "x"}, {"dummy": True}, {"target": -1},
                   {"episode": "x"}, {"reward": "x"}, {"render_mode": "x"}, {"rules": "cardgames"}],
)  # fmt: skip


GAMES = (TIENLEN, THIRTEENS)
each_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


def over(name: str, values: Callable[[Case], Any]) -> Any:
    """Parametrise a test by `game` and by what is found of it, one value after the other."""

    def text(value: Any) -> str:
        return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)

    cases = [pytest.param(game, v, id=f"{game.name}-{text(v)}") for game in GAMES for v in values(game)]
    return pytest.mark.parametrize(("game", name), cases)


copies = pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)


def choose(rng: np.random.Generator, observation: dict[str, np.ndarray]) -> int:
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


def play(env: Any, rng: np.random.Generator, max_steps: int = 10**9) -> dict[str, float]:
    """Play to the end at random; the rewards that each agent received."""
    total = dict.fromkeys(env.possible_agents, 0.0)
    for step, agent in enumerate(env.agent_iter()):
        observation, reward, termination, truncation, _ = env.last()
        total[agent] += reward
        env.step(None if termination or truncation else choose(rng, observation))
        if step >= max_steps:
            break
    return total
