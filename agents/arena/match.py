"""Duplicate matches: every deal in all seatings of a table, many games at once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from numpy.random import SeedSequence

from agents.arena.lineup import lineup_of, seatings, title_of, unique_names
from agents.arena.stats import Estimate, estimate, variance_ratio
from tienlen_env.agent import Agent, CardAgent, FallibleAgent, View, history_of
from tienlen_env.core.rules import Rules, get_rules
from tienlen_env.engine import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# Agents are reset, and keys drawn, once for so many deals. A part of every result's definition: another
# number gives other games. Chunks know nothing of one another, so any number of workers may share them.
CHUNK_DEALS = 512

PLACE_NAMES = ("1st", "2nd", "3rd", "4th")


class Forfeits(NamedTuple):
    """Rounds that an agent forfeited for one reason (see `FallibleAgent`).

    Attributes:
        reason: a few words.
        num_rounds: how many.
        example: what happened the first time.
    """

    reason: str
    num_rounds: int
    example: str


class Played(NamedTuple):
    """B finished rounds (E agents, P seats).

    Attributes:
        places: int64 (B, P), 0 is first.
        points: int64 (B, P), what the places are worth.
        decisions: int64 (E,), taken by each agent.
        seconds: float64 (E,), that each agent took for them.
        forfeits: E tuples, what each agent forfeited.
    """

    places: IntArray
    points: IntArray
    decisions: IntArray
    seconds: npt.NDArray[np.float64]
    forfeits: tuple[tuple[Forfeits, ...], ...]


class Progress(Protocol):
    """Is told how a match gets on."""

    def start(self, title: str, num_games: int) -> None:
        """A table of so many games begins."""

    def advance(self, num_games: float, num_decisions: int) -> None:
        """So much more has been played; games in progress count by the share of their cards played."""


class Score(NamedTuple):
    """How one agent did at a table; everything is a mean over the seats that it held.

    Attributes:
        name: of the agent, made unique at the table.
        num_seats: seats that it holds in each game.
        points: a game.
        first: rate of first places.
        places: rate of each place, first to last.
        variance_ratio: see `stats.variance_ratio`; of the points.
        decisions: that it took.
        seconds: that it needed for them.
        forfeits: rounds that it forfeited, by reason.
    """

    name: str
    num_seats: int
    points: Estimate
    first: Estimate
    places: tuple[float, ...]
    variance_ratio: float | None
    decisions: int
    seconds: float
    forfeits: tuple[Forfeits, ...] = ()


@dataclass(frozen=True, eq=False)
class TableResult:
    """A duplicate match (D deals, E agents, P seats).

    Attributes:
        title: ``"greedy v. 3 × random"``.
        rules: the variant, with its number of players.
        seed: decides deals and agents.
        num_deals, num_seatings: D, and in how many seatings each deal was played.
        scores: one `Score` an agent.
        deal_points, deal_firsts: int64 (D, E), each deal's total over its games and the agent's seats.
        seconds: of the whole match.
    """

    title: str
    rules: Rules
    seed: int
    num_deals: int
    num_seatings: int
    scores: tuple[Score, ...]
    deal_points: IntArray
    deal_firsts: IntArray
    seconds: float

    @property
    def num_games(self) -> int:
        """Rounds played."""
        return self.num_deals * self.num_seatings

    @property
    def parity_points(self) -> float:
        """Points of each of P equal players."""
        return sum(self.rules.place_points) / self.rules.num_players

    @property
    def parity_first(self) -> float:
        """Rate of first places of each of P equal players."""
        return 1 / self.rules.num_players

    @property
    def labels(self) -> tuple[str, ...]:
        """What the agents' rows are called: ``("greedy", "v. 3 × random")``."""
        seats = (f"{s.num_seats} × {s.name}" if s.num_seats > 1 else s.name for s in self.scores)
        return tuple(f"v. {text}" if index else text for index, text in enumerate(seats))


def play_deals(
    agents: Sequence[Agent],
    seats: npt.ArrayLike,
    keys: npt.ArrayLike,
    rules: str | Rules = "cardgames",
    *,
    num_players: int | None = None,
    history: int = 0,
    on_step: Callable[[float, int], None] | None = None,
) -> Played:
    """Play one round a game, all games at once; agents are not reset.

    Args:
        agents: E agents.
        seats: int (B, P) or (P,), who sits where, as indices into `agents`.
        keys: int64 (B,), the deals.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        history: plays that observations show; policies need what they were trained with.
        on_step: called after every step with the games and decisions it added (see `Progress.advance`).

    Raises:
        IllegalPlayError: an agent chose what the rules refuse; the message names it.
        ValueError: seats that fit neither the games nor the agents, or an answer that is no (n,) of ints.
    """
    keys = np.asarray(keys)
    batch = Batch(rules, len(keys), num_players=num_players, history=history_of(agents, history))
    seats = np.asarray(seats)
    if seats.shape[-1:] != (batch.num_players,) or (seats < 0).any() or (seats >= len(agents)).any():
        raise ValueError(f"seats: expected (B, {batch.num_players}) indices of {len(agents)} agents")
    seats = np.broadcast_to(seats, (batch.num_games, batch.num_players))
    batch.deal(keys)

    decisions, seconds = np.zeros(len(agents), np.int64), np.zeros(len(agents))
    actions = np.empty(batch.num_games, np.int64)
    by_cards = [agent if isinstance(agent, CardAgent) else None for agent in agents]
    # Only where somebody chooses exact cards: finding those of all the others costs time.
    cards = np.zeros(batch.num_games, np.int64) if any(by_cards) else None
    num_dealt = cards_left = int(batch.state.num_cards_left.sum())
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        to_move = seats[games, batch.state.turn[games]]
        actions.fill(NO_ACTION)
        for index, agent in enumerate(agents):
            mine = games[to_move == index]
            if mine.size:
                view = View(batch, mine, history=history)
                begin = time.perf_counter()
                exact, card_agent = None, by_cards[index]
                if card_agent is None:
                    chosen = np.asarray(agent.act(view))
                else:
                    chosen, exact = card_agent.act_cards(view)
                seconds[index] += time.perf_counter() - begin
                if chosen.shape != mine.shape or chosen.dtype.kind not in "iu":
                    raise ValueError(f"agent {agent.name!r} answered {len(mine)} decisions with {chosen!r}")
                actions[mine] = chosen
                if cards is not None:
                    cards[mine] = view.cards_of(chosen) if exact is None else exact
                decisions[index] += len(mine)
        try:
            batch.step(actions, cards)
        except IllegalPlayError as error:
            culprit = agents[to_move[_refused(batch, games, actions, cards).argmax()]].name
            raise IllegalPlayError(f"agent {culprit!r} played against the rules: {error}") from error
        if on_step is not None:
            before, running = cards_left, batch.state.turn >= 0
            cards_left = int(np.bitwise_count(batch.state.hands[running]).sum())
            on_step((before - cards_left) / num_dealt * len(keys), len(games))
    forfeits = tuple(
        _by_reason(Forfeits(f.reason, 1, f.detail) for f in agent.take_forfeits())
        if isinstance(agent, FallibleAgent)
        else ()
        for agent in agents
    )
    return Played(batch.state.places.copy(), batch.scores(), decisions, seconds, forfeits)


def _refused(batch: Batch, games: IntArray, actions: IntArray, cards: IntArray | None) -> BoolArray:
    """Which of the games' actions or cards the rules refuse, bool (number of `games`,)."""
    known = np.clip(actions[games], 0, batch.num_actions - 1)
    refused: BoolArray = (batch.legal_mask()[games, known] == 0) | (known != actions[games])
    if cards is not None:
        hand, duty = batch.state.hands[games, batch.state.turn[games]], batch.state.duty[games]
        refused |= (cards[games] & ~hand != 0) | ((duty != 0) & (cards[games] & duty == 0))
    return refused


def _by_reason(forfeits: Iterable[Forfeits]) -> tuple[Forfeits, ...]:
    """One for each reason, in order of appearance, with the first example."""
    found: dict[str, Forfeits] = {}
    for more in forfeits:
        known = found.get(more.reason)
        found[more.reason] = more if known is None else known._replace(num_rounds=known[1] + more[1])
    return tuple(found.values())


def match(
    a: Agent,
    b: Agent,
    *,
    composition: str | None = None,
    rules: str | Rules = "cardgames",
    num_players: int | None = None,
    num_deals: int = 2500,
    seed: int = 0,
    history: int = 0,
    progress: Progress | None = None,
) -> TableResult:
    """Two agents at one table.

    Args:
        a: one agent.
        b: the other.
        composition: seats of `a` and of `b`: ``"1v3"``, ``"3v1"``, ``"2v2"``; None is one against the rest.
        rules: see `table`, as for all that follow.
        num_players: P.
        num_deals: D.
        seed: of deals and agents.
        history: plays that observations show.
        progress: is told how it gets on.

    Raises:
        ValueError: a composition that does not fill the table; and see `table`.
    """
    rules = get_rules(rules, num_players)
    lineup = lineup_of(composition, rules.num_players)
    return table(
        [a, b], lineup, rules=rules, num_deals=num_deals, seed=seed, history=history, progress=progress
    )


def table(
    agents: Sequence[Agent],
    lineup: Sequence[int] | None = None,
    *,
    rules: str | Rules = "cardgames",
    num_players: int | None = None,
    num_deals: int = 2500,
    seed: int = 0,
    history: int = 0,
    progress: Progress | None = None,
) -> TableResult:
    """A duplicate match: every deal in all `seatings` of the table.

    Deals and agents' seeds are functions of `seed` and of the chunk of `CHUNK_DEALS` deals alone. Tables with
    the same seed share their deals, and the first n deals of a longer match are those of a shorter one.

    Args:
        agents: E agents.
        lineup: an agent's index for each of P chairs; None: each agent has one.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        num_deals: D, at least 2.
        seed: 0 or more.
        history: plays that observations show.
        progress: is told how it gets on.

    Raises:
        ValueError: a lineup that does not fill the table with every agent, or a number out of range.
        IllegalPlayError: an agent chose what the rules refuse.
    """
    rules = get_rules(rules, num_players)
    lineup = range(len(agents)) if lineup is None else lineup
    if len(lineup) != rules.num_players or set(lineup) != set(range(len(agents))):
        raise ValueError(
            f"lineup {list(lineup)}: expected {rules.num_players} chairs and each of {len(agents)} agents"
        )
    if num_deals < 2 or seed < 0:
        raise ValueError(f"num_deals={num_deals}, seed={seed}: expected 2 deals or more and a seed from 0")
    names = unique_names(agents)
    title = title_of(names, lineup)
    orders = seatings(lineup)
    if progress is not None:
        progress.start(title, num_deals * len(orders))

    _compile(rules)
    begin = time.perf_counter()
    tally = _Tally.join(
        _play_chunk(
            agents,
            orders,
            rules,
            seed,
            first // CHUNK_DEALS,
            min(CHUNK_DEALS, num_deals - first),
            history,
            None if progress is None else progress.advance,
        )
        for first in range(0, num_deals, CHUNK_DEALS)
    )
    seconds = time.perf_counter() - begin

    scores = []
    for index, name in enumerate(names):
        num_seats = list(lineup).count(index)
        per_deal = num_seats * len(orders)
        scores.append(
            Score(
                name=name,
                num_seats=num_seats,
                points=estimate(tally.deal_points[:, index], per_deal),
                first=estimate(tally.deal_firsts[:, index], per_deal),
                places=tuple((tally.places[:, index].sum(axis=0) / (per_deal * num_deals)).tolist()),
                variance_ratio=variance_ratio(tally.deal_points[:, index], tally.game_points[:, index]),
                decisions=int(tally.decisions[:, index].sum()),
                seconds=float(tally.seconds[:, index].sum()),
                forfeits=_by_reason(f for chunk in tally.forfeits for f in chunk[index]),
            )
        )
    return TableResult(
        title=title,
        rules=rules,
        seed=seed,
        num_deals=num_deals,
        num_seatings=len(orders),
        scores=tuple(scores),
        deal_points=tally.deal_points,
        deal_firsts=tally.deal_firsts,
        seconds=seconds,
    )


class _Tally(NamedTuple):
    """What is kept of one or several chunks: D deals, G games, C chunks, E agents, P places.

    Attributes:
        deal_points, deal_firsts: int64 (D, E), totals over a deal's games and an agent's seats.
        game_points: int64 (G, E), totals over an agent's seats.
        places: int64 (C, E, P), how often each place was taken.
        decisions, seconds: (C, E), see `Played`.
        forfeits: C times E tuples, see `Played`.
    """

    deal_points: IntArray
    deal_firsts: IntArray
    game_points: IntArray
    places: IntArray
    decisions: IntArray
    seconds: npt.NDArray[np.float64]
    forfeits: tuple[tuple[tuple[Forfeits, ...], ...], ...]

    @classmethod
    def join(cls, tallies: Iterable[_Tally]) -> _Tally:
        *columns, forfeits = zip(*tallies, strict=True)
        parts: list[Any] = [np.concatenate(column) for column in columns]
        parts.append(tuple(itertools.chain(*forfeits)))
        return cls(*parts)


def _play_chunk(
    agents: Sequence[Agent],
    orders: IntArray,
    rules: Rules,
    seed: int,
    chunk: int,
    num_deals: int,
    history: int,
    on_step: Callable[[float, int], None] | None,
) -> _Tally:
    """Play the deals of one chunk; the result depends on the arguments alone."""
    for index, agent in enumerate(agents):
        agent.reset(int(SeedSequence(seed, spawn_key=(chunk, index)).generate_state(1)[0]))
    # NumPy promises never to change what a SeedSequence generates; a Generator's draws it may.
    keys = SeedSequence(seed, spawn_key=(chunk,)).generate_state(CHUNK_DEALS, np.uint64)[:num_deals]
    seats = np.tile(orders, (num_deals, 1))
    games = np.repeat(keys.view(np.int64), len(orders))
    played = play_deals(agents, seats, games, rules, history=history, on_step=on_step)

    held = seats[:, :, None] == np.arange(len(agents))  # (G, P, E)
    game_points = (played.points[:, :, None] * held).sum(axis=1)
    firsts = ((played.places == 0)[:, :, None] & held).sum(axis=1)
    took_place = played.places[:, :, None] == np.arange(rules.num_players)  # (G, seat, place)
    return _Tally(
        deal_points=game_points.reshape(num_deals, len(orders), -1).sum(axis=1),
        deal_firsts=firsts.reshape(num_deals, len(orders), -1).sum(axis=1),
        game_points=game_points,
        places=np.einsum("gse,gsp->ep", held, took_place, dtype=np.int64)[None],
        decisions=played.decisions[None],
        seconds=played.seconds[None],
        forfeits=(played.forfeits,),
    )


@lru_cache(maxsize=1)
def _compile(rules: Rules) -> None:
    """Have Numba compile what agents will ask for, so that no agent's clock pays for it."""
    batch = Batch(rules)
    batch.reset(0)
    view = View(batch)
    view.legal_actions, view.action_mask, view.observation  # noqa: B018
    batch.step(view.sample(np.random.default_rng(0)))
