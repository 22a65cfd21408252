"""The objects whose methods are fuzzed, each in a random position, and what a refusal must not change."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tienlen_agents
from tests.fuzz.values import RULES, junk, some_batch, view
from tienlen_agents.endgame import (
    EndgameAgent,
    EndgameCardAgent,
    EndgameFallibleAgent,
    EndgameSolver,
    can_solve,
)
from tienlen_agents.networks.shipped import ShippedNetworks
from tienlen_agents.rule_based.greedy import GreedyAgent, GreedyLongAgent
from tienlen_agents.rule_based.heuristic import HeuristicAgent
from tienlen_agents.rule_based.trickster import TricksterAgent
from tienlen_agents.search.agent import IsmctsAgent, SearchAgent
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.variant import VariantBatch
from tienlen_env.engine.view import View
from tienlen_env.envs import thirteens, tienlen
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.envs.pettingzoo import GameEnv
from tienlen_env.envs.sb3 import OneSeatVecEnv
from tienlen_env.envs.vector import Decisions, OneSeatVectorEnv, SelfPlayEnv
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.games.common.state import ClimbingState, GameState
from tienlen_env.games.registry import ByGame
from tienlen_env.games.thirteens.actions import Meld, ThirteensActionTable
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.state import ThirteensState
from tienlen_env.games.tienlen.actions import TienlenActionTable
from tienlen_env.games.tienlen.rules import PRESETS, Payments, Rules, Shape
from tienlen_env.games.tienlen.state import TienlenState
from tienlen_env.single.base import BaseRound
from tienlen_env.single.game import Game
from tienlen_env.single.painter import Painter
from tienlen_env.single.session import Session
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Play, Round


class Subject(NamedTuple):
    """An object to call.

    Attributes:
        target: the object.
        batch: a batch of its games, for the sizes of arguments.
        state: what must be the same after a refusal.
    """

    target: Any
    batch: Batch
    state: Callable[[], Any]


Maker = Callable[[random.Random], Subject]


def rows_of(batch: Batch) -> Callable[[], Any]:
    """The positions of a batch."""
    return lambda: batch.kernel_arrays.rows.tobytes()


def of_batch(rng: random.Random) -> Subject:
    batch = some_batch(rng, rng.choice((1, 3)), backend=rng.choice(("numba", "numba", "numba", "python")))
    return Subject(batch, batch, rows_of(batch))


def of_view(rng: random.Random) -> Subject:
    batch = some_batch(rng)
    return Subject(View(batch, copy=rng.random() < 0.5), batch, rows_of(batch))


def plain(make: Callable[[Batch], Any]) -> Maker:
    """An object without a state of its own that is made from a batch."""

    def of(rng: random.Random) -> Subject:
        batch = some_batch(rng)
        return Subject(make(batch), batch, rows_of(batch))

    return of


def of_one_seat(make: Any, *, several: bool) -> Maker:
    """Environments and games with one seat."""

    def of(rng: random.Random) -> Subject:
        arguments: dict[str, Any] = {"rules": rng.choice(RULES)}
        if several:
            arguments["num_envs"] = 3
        if make is OneSeatEnv or make is OneSeatVectorEnv:
            arguments["illegal"] = rng.choice(("terminate", "raise", "random"))
        if make is OneSeatVectorEnv:
            arguments["autoreset_mode"] = rng.choice(("NextStep", "SameStep", "Disabled"))
        env = make(**arguments)
        if rng.random() < 0.9:
            env.reset(**({"seed": rng.getrandbits(31)} if not issubclass(make, OneSeatVecEnv) else {}))
        games = env.games
        return Subject(env, games.batch, lambda: state_of(env.games))

    return of


def state_of(games: OneSeatGames) -> Any:
    return (
        games.batch.kernel_arrays.rows.tobytes(),
        games.is_over.tobytes(),
        games.seat.tobytes(),
        games.is_dealt,
    )


def of_games(rng: random.Random) -> Subject:
    games = OneSeatGames(
        rng.choice(RULES),
        3,
        illegal=rng.choice(("terminate", "raise", "random")),
        auto_reset=rng.random() < 0.5,
        line_up=rng.random() < 0.3,
    )
    if rng.random() < 0.9:
        games.reset(rng.getrandbits(31))
    return Subject(games, games.batch, lambda: state_of(games))


def of_aec(rng: random.Random) -> Subject:
    env = rng.choice((lambda: GameEnv(rng.choice(RULES)), tienlen.raw_env, thirteens.raw_env))()
    if rng.random() < 0.9:
        env.reset(seed=rng.getrandbits(31))
        for _ in range(rng.choice((0, 5, 40, 200))):
            if env.agents and not env.terminations[env.agent_selection]:
                env.step(int(env.batch.sample(np.random.default_rng(0))[0]))
    return Subject(env, env.batch, rows_of(env.batch))


def of_self_play(rng: random.Random) -> Subject:
    env = SelfPlayEnv(rng.choice(RULES), 3)
    if rng.random() < 0.9:
        env.reset(rng.getrandbits(31))
    return Subject(env, env.batch, rows_of(env.batch))


def of_round(kind: Any, rules: tuple[str, ...]) -> Maker:
    """One round, some plays along."""

    def of(rng: random.Random) -> Subject:
        round_ = kind(rng.choice(rules), key=rng.getrandbits(31))
        for _ in range(rng.choice((0, 3, 20, 100))):
            if round_.is_over:
                break
            round_.play(rng.choice(round_.legal_plays()))
        return Subject(round_, round_._batch, lambda: (round_._rows.tobytes(), len(round_.plays)))

    return of


TIEN_LEN, THIRTEENS = tuple(PRESETS), ("thirteens", "thirteens_manual")


def of_any_round(rng: random.Random) -> Subject:
    return rng.choice((of_round(Round, TIEN_LEN), of_round(ThirteensRound, THIRTEENS)))(rng)


def of_game(rng: random.Random) -> Subject:
    rules = rng.choice(RULES)
    game = Game(rules, key=rng.getrandbits(31))
    for _ in range(rng.choice((0, 20, 100))):
        if not game.is_over:
            game.play(rng.choice(game.legal_plays()))
    return Subject(game, Batch(rules), lambda: game.record())


def of_session(rng: random.Random) -> Subject:
    rules = rng.choice(RULES)
    session = Session(rules, key=rng.getrandbits(31), whole_game=rng.random() < 0.5)
    for _ in range(rng.choice((0, 20, 100))):
        if not session.is_over:
            session.apply(rng.choice(session.legal))
    return Subject(session, Batch(rules), lambda: session.record())


def of_play(rng: random.Random) -> Subject:
    subject = of_round(Round, TIEN_LEN)(rng)
    round_ = Round("cardgames", key=1)
    return subject._replace(target=round_.legal_plays()[0])


def agent(name: str) -> Maker:
    """An agent by its name."""

    def of(rng: random.Random) -> Subject:
        made = tienlen_agents.load(name)
        batch = some_batch(rng)
        return Subject(made, batch, rows_of(batch))

    return of


class Cards:
    """An agent that chooses its cards and may forfeit, under `EndgameAgent`."""

    name = "cards"

    def reset(self, seed: int) -> None:
        self.seed = seed

    def act(self, view: View) -> Any:
        return RandomAgent().act(view)

    def act_cards(self, view: View) -> Any:
        actions = self.act(view)
        return actions, view.cards_of(actions)

    def take_forfeits(self) -> list[Any]:
        return []


MAKERS: dict[type, Maker] = {
    Batch: of_batch,
    VariantBatch: of_batch,
    View: of_view,
    OneSeatGames: of_games,
    OneSeatEnv: of_one_seat(OneSeatEnv, several=False),
    OneSeatVectorEnv: of_one_seat(OneSeatVectorEnv, several=True),
    OneSeatVecEnv: of_one_seat(OneSeatVecEnv, several=True),
    GameEnv: of_aec,
    tienlen.raw_env: of_aec,
    thirteens.raw_env: of_aec,
    SelfPlayEnv: of_self_play,
    Decisions: plain(lambda batch: SelfPlayEnv().reset(0)),
    GameState: plain(lambda batch: batch.state),
    ClimbingState: plain(lambda batch: Batch("cardgames").state),
    TienlenState: plain(lambda batch: Batch("cardgames", 3).state),
    ThirteensState: plain(lambda batch: Batch("thirteens", 3).state),
    TienlenActionTable: plain(lambda batch: Batch("foicica").action_table),
    ThirteensActionTable: plain(lambda batch: Batch("thirteens").action_table),
    Rules: plain(lambda batch: PRESETS["foicica"]),
    Payments: plain(lambda batch: PRESETS["north"].payments),
    RulesBase: plain(lambda batch: batch.rules),
    Shape: plain(lambda batch: Shape(2, 3)),
    ThirteensRules: plain(lambda batch: ThirteensRules()),
    Meld: plain(lambda batch: Batch("thirteens_manual").action_table.melds[0]),  # type: ignore[attr-defined]
    BaseRound: of_any_round,
    Round: of_round(Round, TIEN_LEN),
    ThirteensRound: of_round(ThirteensRound, THIRTEENS),
    Play: of_play,
    Game: of_game,
    Session: of_session,
    ByGame: plain(lambda batch: ByGame("round", "tienlen_env.single", lambda game: None)),
    Painter: plain(lambda batch: Painter(batch)),
    RandomAgent: agent("random"),
    GreedyAgent: agent("greedy"),
    GreedyLongAgent: agent("greedy_long"),
    HeuristicAgent: agent("heuristic"),
    TricksterAgent: agent("trickster"),
    ShippedNetworks: plain(lambda batch: ShippedNetworks("small")),
    SearchAgent: agent("search:worlds=2"),
    IsmctsAgent: agent("ismcts:worlds=2"),
    EndgameAgent: agent("endgame:nodes=200,greedy"),
    EndgameCardAgent: plain(lambda batch: EndgameAgent(Cards())),
    EndgameFallibleAgent: plain(lambda batch: EndgameAgent(Cards())),
    EndgameSolver: plain(
        lambda batch: EndgameSolver(batch.rules if can_solve(batch.rules) else PRESETS["cardgames"])
    ),
}

__all__ = ["MAKERS", "Subject", "junk", "view"]
