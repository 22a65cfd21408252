"""Plays many games at once, one round per game; each agent decides for all its games in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.agent import (
    Agent,
    AgentCode,
    CardAgent,
    FallibleAgent,
    Forfeit,
    View,
    check_plays,
    choose,
    choose_cards,
    history_of,
)
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules, main_reward
from tienlen_env.texts import printable


class Forfeits(NamedTuple):
    """Seats of rounds that an agent forfeited for one reason (see `FallibleAgent`).

    Attributes:
        reason: a few words.
        num_seats: how many: an agent with three seats can forfeit three in one round.
        example: details of the first one.
    """

    reason: str
    num_seats: int
    example: str


class Played(NamedTuple):
    """B finished rounds (E agents, P seats).

    Attributes:
        places: int64 (B, P), 0 is first; seats that share a place all have the better one.
        points: int64 (B, P), of each seat.
        units: int64 (B, P), what each seat got in payments, less what it paid; None under rules without them.
        decisions: int64 (E,), number of decisions of each agent.
        seconds: float64 (E,), time that each agent took for them.
        forfeits: E tuples, the forfeits of each agent.
    """

    places: IntArray
    points: IntArray
    units: IntArray | None
    decisions: IntArray
    seconds: npt.NDArray[np.float64]
    forfeits: tuple[tuple[Forfeits, ...], ...]

    def of_owners(self, owner: IntArray) -> Played:
        """The same rounds, with the players of one owner as one agent.

        Args:
            owner: int64 (E,), of each player; every number up to the largest occurs.
        """
        groups = [np.flatnonzero(owner == one).tolist() for one in range(int(owner.max()) + 1)]
        return self._replace(
            decisions=np.array([self.decisions[players].sum() for players in groups]),
            seconds=np.array([self.seconds[players].sum() for players in groups]),
            forfeits=tuple(by_reason(f for one in players for f in self.forfeits[one]) for players in groups),
        )


def batch_for(agents: Sequence[Agent], rules: AnyRules, num_games: int, history: int) -> Batch:
    """A batch for some agents, with `history` past plays in observations; makes all batches of the arena."""
    batch = Batch(
        rules, num_games, reward=main_reward(rules), history=history, history_length=history_of(agents)
    )
    check_plays(agents, batch)
    return batch


def play_deals(
    agents: Sequence[Agent],
    seats: npt.ArrayLike,
    keys: npt.ArrayLike,
    rules: str | AnyRules = "cardgames",
    *,
    num_players: int | None = None,
    history: int = 0,
    on_step: Callable[[float, int], None] | None = None,
    on_decisions: Callable[[int, View, IntArray], None] | None = None,
    on_plays: Callable[[IntArray, IntArray | None], None] | None = None,
) -> Played:
    """Play one round of each game, all games at once; agents are not reset.

    Args:
        agents: E agents.
        seats: int (B, P) or (P,), the agent in each seat, as indices into `agents`.
        keys: int64 (B,), the deals.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        history: number of past plays in observations; a policy needs the number it was trained with.
        on_step: called after every step with its games and decisions (see `Progress.advance`).
        on_decisions: called with an agent's index, its view and the actions it chose, before they are played.
        on_plays: called after every step with the actions, int64 (B,), -1 for games that are over, and their
            exact cards, int64 (B,); None if all actions play their lowest cards.

    Raises:
        IllegalPlayError: an agent chose an action or cards that are not legal; the message names the agent.
        AgentError: an agent tried to end the program.
        TienLenError: a round does not end (`Game.max_decisions`).
        AnswerError: an answer that is not int (n,).
        ValueError: seats of a wrong shape or with invalid indices.
    """
    keys = np.asarray(keys)
    batch = batch_for(agents, get_rules(rules, num_players), len(keys), history)
    loop = RoundLoop(batch, agents, seats)
    batch.deal(keys)
    decisions, seconds = np.zeros(len(agents), np.int64), np.zeros(len(agents))
    # Only if an agent chooses exact cards, since finding the cards of all other actions takes time.
    by_cards = [isinstance(agent, CardAgent) for agent in agents]
    actions = np.empty(batch.num_games, np.int64)
    cards = np.zeros(batch.num_games, np.int64) if any(by_cards) else None
    num_dealt = cards_left = int(batch.state.num_cards_left.sum())
    for waiting in loop:
        for index, mine in loop.by_agent(waiting):
            agent, view = agents[index], View(batch, mine)
            begin, exact = time.perf_counter(), None
            if by_cards[index]:
                chosen, exact = choose_cards(agent, view)
            else:
                chosen = choose(agent, view)
            seconds[index] += time.perf_counter() - begin
            decisions[index] += len(mine)
            actions[mine] = chosen
            if cards is not None:
                cards[mine] = view.cards_of(chosen) if exact is None else exact
            if on_decisions is not None:
                on_decisions(index, view, chosen)
        games = waiting.games
        loop.play(games, actions[games], None if cards is None else cards[games])
        if on_plays is not None:
            on_plays(loop.actions, loop.cards)
        if on_step is not None:
            before, running = cards_left, batch.turn >= 0
            cards_left = int(np.bitwise_count(batch.state.hands[running]).sum())
            on_step((before - cards_left) / num_dealt * len(keys), len(games))
    units = batch.balances if batch.has_payments else None
    return Played(batch.state.places.copy(), batch.scores, units, decisions, seconds, forfeits_of(agents))


def forfeits_of(agents: Sequence[Agent]) -> tuple[tuple[Forfeits, ...], ...]:
    """What each agent has forfeited since it was last asked for it, by reason."""
    found: list[tuple[Forfeits, ...]] = []
    for agent in agents:
        taken: list[Forfeit] = []
        if isinstance(agent, FallibleAgent):
            with AgentCode(agent.name):
                taken = agent.take_forfeits()
        found.append(by_reason(Forfeits(printable(f.reason), 1, f.detail) for f in taken))
    return tuple(found)


def by_reason(forfeits: Iterable[Forfeits]) -> tuple[Forfeits, ...]:
    """Merge forfeits of the same reason, in order of appearance, with the first example."""
    found: dict[str, Forfeits] = {}
    for more in forfeits:
        known = found.get(more.reason)
        found[more.reason] = more if known is None else known._replace(num_seats=known[1] + more[1])
    return tuple(found.values())


def warm_up(agents: Sequence[Agent], rules: AnyRules, history: int = 0) -> None:
    """Let Numba compile the code that the agents use, so that their measured times exclude compilation.

    Each agent decides in some first and last positions of a random game. Programs (`FallibleAgent`) compile
    nothing and are left out.
    """
    batch = batch_for(agents, rules, 1, history)
    batch.deal(np.zeros(1, np.int64))
    view = View(batch, np.flatnonzero(batch.state.turn >= 0))  # a round may be over when it is dealt
    view.legal_actions, view.action_mask, view.observation  # noqa: B018 - compiled for programs, too
    found = random_positions(batch, np.random.default_rng(0))
    for agent in agents:
        if not isinstance(agent, FallibleAgent):
            with AgentCode(agent.name):
                agent.reset(0)
                for position in found[:2] + found[2:][-8:]:
                    agent.act(View(position))


def random_positions(batch: Batch, rng: np.random.Generator) -> list[Batch]:
    """Play rounds to the end at random; the games that wait in each step, as they were then."""
    found = []
    while (games := np.flatnonzero(batch.turn >= 0)).size:
        found.append(batch.select(games))
        batch.step(batch.sample(rng))
    return found


class Latency(NamedTuple):
    """Times of single decisions.

    Attributes:
        name: of the agent.
        rules: the variant's name.
        decisions: number of timed decisions, forced ones included.
        mean_ms: milliseconds.
        p99_ms: milliseconds, the 99th percentile.
    """

    name: str
    rules: str
    decisions: int
    mean_ms: float
    p99_ms: float


def latency(
    agent: Agent,
    rules: AnyRules,
    *,
    decisions: int = 500,
    seconds: float = 5.0,
    history: int = 0,
    seed: int = 0,
    name: str = "",
) -> Latency:
    """Time an agent in self-play, one decision at a time.

    Args:
        agent: the agent; it is reset.
        rules: the variant.
        decisions: maximum number of decisions.
        seconds: maximum time, but at least one decision is timed.
        history: number of past plays in observations.
        seed: of the deals and the agent.
        name: for the report; the agent's own name if empty.

    Raises:
        ValueError: `decisions` is below 1.
    """
    if decisions < 1:
        raise ValueError(f"decisions={decisions}: expected 1 or more")
    warm_up([agent], rules, history)
    agent.reset(seed)
    batch = batch_for([agent], rules, 1, history)
    rng = np.random.default_rng(seed)
    times: list[float] = []
    loop, begin = RoundLoop(batch, [agent], [0] * batch.num_players), time.perf_counter()

    def wants_more() -> bool:
        return len(times) < decisions and (not times or time.perf_counter() - begin < seconds)

    while wants_more():
        batch.deal(rng.integers(2**63, size=1))
        for waiting in loop:
            start = time.perf_counter()
            chosen = loop.answers(waiting)
            times.append(1000 * (time.perf_counter() - start))
            loop.play(waiting.games, chosen)
            if not wants_more():
                break
    return Latency(
        name or agent.name, rules.name, len(times), float(np.mean(times)), float(np.percentile(times, 99))
    )
