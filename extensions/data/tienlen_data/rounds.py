"""Play the rounds of a data set by agents, or once more as they were recorded."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import SeedSequence

import tienlen_agents
from tienlen_agents.arena.play import batch_for
from tienlen_agents.external.seeds import set_seed_key
from tienlen_agents.files import refusing
from tienlen_agents.records import plays_of, read_round
from tienlen_agents.search import SearchAgent
from tienlen_data.config import DataConfig
from tienlen_env.engine.agent import Agent, AgentCode, CardAgent, ScoringAgent, View, choose_cards
from tienlen_env.engine.round_loop import RoundLoop, Waiting
from tienlen_env.games.common.arrays import AnyArray, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.single.base import AnyRound, round_type


class Deal(NamedTuple):
    """How a round was dealt, as in `tienlen_env.games.common.notation.Record`."""

    key: int | None
    round_index: int = 0
    leader: int | None = None
    hands: tuple[int, ...] | None = None
    extra: tuple[int | None, ...] | None = None

    @classmethod
    def of(cls, played: AnyRound) -> Deal:
        """How a round was dealt."""
        found = played.content
        extra = tuple(map(found.extra.get, game_of(found.rules).extra_hands))
        return cls(found.key, found.round_index, found.leader, found.hands, found.hands and extra)

    def round(self, rules: AnyRules) -> AnyRound:
        """The round before its first play."""
        kind = round_type(rules)
        if self.hands is None:
            return kind(rules, self.key, round_index=self.round_index, leader=self.leader)
        names = game_of(rules).extra_hands
        extra = {
            name: cards for name, cards in zip(names, self.extra or (), strict=True) if cards is not None
        }
        return kind.from_hands(rules, self.hands, leader=self.leader, **extra)  # type: ignore[arg-type]


class Players:
    """Decide by agents.

    Args:
        config: the settings.
        first: number of the first round; the agents are reset.

    Attributes:
        agents: E agents.
        deals: columns of the rounds, named as in `Deal`; one that is missing is null.
        batch: the rounds before their first play.
        seats: int64 (n, P), the index of the agent in each seat.
    """

    deals: Mapping[str, Sequence[Any] | AnyArray]

    def __init__(self, config: DataConfig, first: int, num_rounds: int) -> None:
        self.agents = [
            loaded(name, place) for place, name in enumerate(tienlen_agents.split_list(config.agents))
        ]
        rules, num_agents = config.variant, len(self.agents)
        keys = SeedSequence(config.seed, spawn_key=(first,)).generate_state(num_rounds, np.uint64)
        self.deals = {"key": keys.view(np.int64), "round_index": np.zeros(num_rounds, np.int32)}
        self.batch = batch_for(self.agents, rules, num_rounds, config.history)
        self.batch.deal(keys.view(np.int64))
        numbers = first + np.arange(num_rounds)
        self.seats = (numbers[:, None] + np.arange(rules.num_players)) % num_agents
        set_seed_key(self.agents, config.seed_key)
        for index, agent in enumerate(self.agents):
            seed = SeedSequence(config.seed, spawn_key=(first, index)).generate_state(1)
            with AgentCode(agent.name):
                agent.reset(int(seed[0]))

        self._by_cards = any(isinstance(agent, CardAgent) for agent in self.agents)

    def act(self, loop: RoundLoop, waiting: Waiting, step: int) -> tuple[IntArray, IntArray | None]:
        """Choose in n running games; the actions, and their exact cards if an agent chooses them.

        Args:
            loop: of the block.
            waiting: the decisions.
            step: how many plays were made in each.
        """
        if not self._by_cards:
            return loop.answers(waiting), None
        actions, cards = np.empty((2, self.batch.num_games), np.int64)
        for index, mine in loop.by_agent(waiting):
            actions[mine], cards[mine] = choose_cards(self.agents[index], View(self.batch, mine))
        return actions[waiting.games], cards[waiting.games]


class Records:
    """Decide as recorded rounds did.

    Args:
        config: the settings.
        first: number of the first line.

    Raises:
        ValueError: a line is not the record of a whole round of the variant.
    """

    agents: Sequence[Agent] = ()
    deals: Mapping[str, Sequence[Any] | AnyArray]

    def __init__(self, config: DataConfig, first: int, num_rounds: int) -> None:
        rules, rounds = config.variant, []
        assert config.records is not None
        with refusing(config.records), open(config.records, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in itertools.islice(file, first, first + num_rounds)]
        for number, line in enumerate(lines, first + 1):
            with refusing(f"{config.records}, line {number}"):
                rounds.append(read_round(line, rules))
        self._actions, self._cards = plays_of(rounds)
        deals = [Deal.of(played) for played in rounds]
        self.deals = dict(zip(Deal._fields, zip(*deals, strict=True), strict=True))
        self.seats = np.zeros(rules.num_players, np.int64)
        self.batch = batch_for([], rules, num_rounds, config.history)
        self.batch.deal(
            [deal.key or 0 for deal in deals],
            rounds=[deal.round_index for deal in deals],
            leader=[-1 if deal.leader is None else deal.leader for deal in deals],
        )
        for game, deal in enumerate(deals):
            if deal.hands is not None:
                row = deal.round(rules).row  # without a history
                self.batch.state.rows[game, : len(row)] = row

    def act(self, loop: RoundLoop, waiting: Waiting, step: int) -> tuple[IntArray, IntArray]:
        """See `Players.act`."""
        return self._actions[step, waiting.games], self._cards[step, waiting.games]


@cache
def loaded(name: str, place: int) -> Agent:
    """An agent of this process; the same name in two places is two objects."""
    return tienlen_agents.load(name)


def search_of(name: str) -> SearchAgent:
    """The search of the option `estimates`.

    Raises:
        ValueError: another agent.
    """
    found = loaded(name, -1)
    if not isinstance(found, SearchAgent):
        raise ValueError(f"estimates={name!r}: expected a search, such as search:worlds=64")
    return found


class Block(NamedTuple):
    """Some rounds that were played, of S decisions at most each.

    Attributes:
        players: who decided.
        steps: S times the decisions of the rounds that were not over, as arrays by name.
            ``game``, int64 (n,), has their rounds; ``legal_actions`` and the like the items of one decision
            after those of another; ``paid``, float32 (n,), the rewards of the seat before this decision.
        num_decisions: int64 (B,).
        returns: float32 (B, P), of whole rounds.
        results: int64 (B, P) each: ``places``, ``points``, ``units``.
    """

    players: Players | Records
    steps: list[dict[str, AnyArray]]
    num_decisions: IntArray
    returns: npt.NDArray[np.float32]
    results: dict[str, IntArray]


def play_block(config: DataConfig, first: int, num_rounds: int) -> Block:
    """Play some rounds.

    Args:
        config: the settings.
        first: number of the first round.
        num_rounds: how many.

    Raises:
        ValueError: a record of something else, or an agent that does not play the variant.
    """
    players = (Players if config.records is None else Records)(config, first, num_rounds)
    search = search_of(config.estimates) if config.estimates else None
    if search is not None:
        search.reset(
            int(SeedSequence(config.seed, spawn_key=(first, len(players.agents))).generate_state(1)[0])
        )
    batch = players.batch
    returns = np.zeros((num_rounds, batch.num_players), np.float32)
    num_decisions = np.zeros(num_rounds, np.int64)
    steps: list[dict[str, AnyArray]] = []
    loop = RoundLoop(batch, players.agents or [None], players.seats)
    for step, waiting in enumerate(loop):
        games, now = waiting.games, batch.select(waiting.games)
        num_legal, seat = now.count_legal(), now.turn
        start = np.cumsum(num_legal) - num_legal
        legal = np.empty((2, num_legal.sum()), np.int64)  # actions and cards
        now.loops.list_legal(*now.kernel_arrays, start, *legal)
        found: dict[str, AnyArray] = {
            "game": games,
            "seat": seat.copy(),
            "paid": returns[games, seat],  # before this decision
            "num_legal": num_legal,
            "legal_actions": legal[0].astype(np.int16),
            "observation": now.packed_observation(),
        }
        if config.probabilities:
            owner = np.repeat(games, num_legal)
            found["probabilities"] = np.full(len(owner), np.nan, np.float32)
            for index, mine in loop.by_agent(waiting):
                if isinstance(agent := loop.agents[index], ScoringAgent):
                    chosen = np.exp(agent.log_probabilities(View(batch, mine)))
                    found["probabilities"][np.isin(owner, mine)] = chosen
        if search is not None:
            estimates = search.estimate(View(now))
            for name, field in (("estimates", "mean"), ("estimate_errors", "half_width")):
                found[name] = np.concatenate([getattr(one, field) for one in estimates]).astype(np.float32)
        actions, cards = players.act(loop, waiting, step)
        found["action"], found["cards"] = actions, now.action_to_cards(actions) if cards is None else cards
        loop.play(games, actions, cards)
        num_decisions[games] += 1
        # Most steps have no reward.
        paid, seats = np.divmod(np.flatnonzero(loop.rewards), batch.num_players)
        returns[paid, seats] += loop.rewards[paid, seats]
        steps.append(found)
    results = {"places": batch.state.places.copy(), "points": batch.scores, "units": batch.balances}
    return Block(players, steps, num_decisions, returns, results)
