"""Round-robin league over all seat compositions: standings, ratings, payoff matrix.

Every way to fill the slots with the agents is played on the same deals, so each agent has the same number of
slots and meets every other agent equally often. The result has three parts:

- *standings*: an agent's mean points, and units of payments, over all its match-ups;
- *ratings* by a Plackett–Luce model (openskill): one strength per agent, from the finishing order of each
  game;
- the *payoff matrix*: for each pair, the difference of points (of units, where the rules have
  payments) in match-ups of the two only. Unlike one number
  per agent it can show cycles: A above B, B above C, C above A.

Every forfeit of a program lifts the others at its match-ups. So a program that forfeits too many seats
(`FailedAgent`) is left out of all three, with its match-ups; those that remain are the league of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from tienlen_agents.arena.lineup import rosters, unique_names
from tienlen_agents.arena.match import all_rules, make_match_up
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.result import (
    FailedAgent,
    League,
    MatchResult,
    Part,
    Standing,
    failed_agents,
    figures_of,
)
from tienlen_agents.arena.run import ArenaOptions, Entrant, check_options, load_all, play_match_ups
from tienlen_agents.arena.stats import Estimate, estimate, t_quantile
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules

if TYPE_CHECKING:
    from openskill.models import PlackettLuce, PlackettLuceRating


RATED_GAMES: Final = 10_000  # one call of the library per game: a quarter of a second in all
RESAMPLES: Final = 40  # the error of an interval's width is then about a tenth


def league(
    agents: Sequence[Entrant],
    *,
    rules: str | AnyRules | Sequence[str | AnyRules] = "cardgames",
    num_players: int | None = None,
    command: str = "",
    **options: Unpack[ArenaOptions],
) -> Report:
    """Play a league.

    Args:
        agents: E agents, or their names; at least two.
        rules: the variant, or several, each with its own league.
        num_players: P; None keeps the number in `rules`.
        command: that gives the same result, for the report.
        options: see `ArenaOptions`; `stop_when_clear` is not possible.

    Raises:
        ValueError: fewer than two agents, `stop_when_clear`, or an option out of range.
        MissingExtraError: openskill is not installed (the extra ``arena``).
    """
    require("openskill", "arena", "a league")
    if len(agents) < 2:
        raise ValueError(f"a league of {len(agents)}: expected two agents or more")
    if options.get("stop_when_clear"):
        raise ValueError("stop_when_clear: not possible in a league, whose match-ups share their deals")
    limit = check_options(options).max_forfeits
    loaded = load_all(agents)
    names = unique_names(loaded)
    variants = all_rules(rules, num_players)
    match_ups = []
    for variant in variants:
        for roster in rosters(len(agents), variant.num_players):
            seated = sorted(set(roster))
            lineup = [seated.index(index) for index in roster]
            match_ups.append(make_match_up(seated, [names[index] for index in seated], lineup, variant))
    results = play_match_ups(match_ups, agents, loaded, **options)
    leagues: list[League] = []
    not_rated: list[FailedAgent] = []
    for variant in variants:
        mine = [(m.seated, r) for m, r in zip(match_ups, results, strict=True) if r.rules == variant]
        parts = zip(names, parts_of(len(names), mine), strict=True)
        failed = failed_agents(list(parts), f"the league of {variant.name}", limit)
        rated = [index for index, name in enumerate(names) if name not in {one.name for one in failed}]
        if len(rated) < 2:
            not_rated += failed
            continue
        remaining = [(tuple(map(rated.index, s)), r) for s, r in mine if set(s) <= set(rated)]
        found = evaluate([names[index] for index in rated], remaining, options.get("seed", 0))
        leagues.append(replace(found, failed=failed))
    return Report(
        tuple(results), command, leagues=tuple(leagues), max_forfeits=limit, not_rated=tuple(not_rated)
    )


# The indices of the agents of a match-up in the league, and its result.
Seated: TypeAlias = tuple[tuple[int, ...], MatchResult]


def parts_of(num_agents: int, played: Sequence[Seated]) -> list[list[Part]]:
    """The match-ups of each agent."""
    return [[(r, s.index(index)) for s, r in played if index in s] for index in range(num_agents)]


def evaluate(names: Sequence[str], played: Sequence[Seated], seed: int) -> League:
    """Compute the standings, ratings and payoffs of one variant.

    Args:
        names: of E agents.
        played: the match-ups, on the same deals.
        seed: of the order of rating, and of the resampling.
    """
    ratings, num_rated = rate(len(names), played, seed)
    standings = [
        Standing(**vars(figures_of(name, parts)), rating=rating)
        for name, parts, rating in zip(names, parts_of(len(names), played), ratings, strict=True)
    ]
    everyone = range(len(names))
    payoffs = tuple(tuple(_payoff(row, column, played) for column in everyone) for row in everyone)
    first = played[0][1]
    return League(
        rules=first.rules,
        standings=tuple(standings),
        payoffs=payoffs,
        cycles=tuple(tuple(names[index] for index in cycle) for cycle in find_cycles(payoffs)),
        num_deals=first.num_deals,
        rated_games=num_rated,
    )


def _payoff(row: int, column: int, played: Sequence[Seated]) -> Estimate | None:
    if row == column:
        return None
    pair = tuple(sorted((row, column)))
    found = [result for seated, result in played if seated == pair]
    # All over one denominator, so that the sums stay whole (see `stats`).
    games = [[result.num_seatings * result.lineup.count(place) for place in (0, 1)] for result in found]
    common = math.lcm(*(number for numbers in games for number in numbers))
    own, other = pair.index(row), pair.index(column)
    totals = sum(
        result.deal_main[:, own] * (common // numbers[own])
        - result.deal_main[:, other] * (common // numbers[other])
        for result, numbers in zip(found, games, strict=True)
    )
    return estimate(np.asarray(totals), common * len(found))


# ---------------------------------------------------------------- ratings


def rate(
    num_agents: int,
    played: Sequence[Seated],
    seed: int,
    max_games: int = RATED_GAMES,
    resamples: int = RESAMPLES,
) -> tuple[list[Estimate], int]:
    """Plackett–Luce strengths, with intervals from resampled deals.

    The library updates ratings game by game, so the games are rated in a random order; the intervals include
    the effect of that order.

    Args:
        num_agents: E.
        played: see `evaluate`.
        seed: of the order and the resampling.
        max_games: maximum number of rated games, those of the first deals.
        resamples: of the deals, for all match-ups together.

    Returns:
        E estimates on openskill's scale, centred at 25; the number of games rated.
    """
    from openskill.models import PlackettLuce

    per_deal = sum(result.num_seatings for _, result in played)
    num_deals = min(played[0][1].num_deals, max(2, max_games // per_deal))
    # The agent of each slot, and int8 (D, R, P) places.
    games = [
        (tuple(seated[place] for place in result.lineup), result.game_places[:num_deals])
        for seated, result in played
    ]
    # tau=0: strengths are constant, since the agents do not learn from game to game.
    model = PlackettLuce(tau=0.0)
    rng = np.random.default_rng((seed, 0x9A7E))
    every = np.arange(num_deals)
    centre = _pass(model, num_agents, games, every, rng)
    samples = [
        _pass(model, num_agents, games, rng.integers(num_deals, size=num_deals), rng)
        for _ in range(resamples)
    ]
    # Samples of D deals vary by a share of 1 / D less than D other deals would.
    spread = np.std(samples, axis=0, ddof=1) * math.sqrt(num_deals / (num_deals - 1))
    quantile = t_quantile(resamples - 1)
    return [Estimate(float(c), quantile * float(s)) for c, s in zip(centre, spread, strict=True)], (
        num_deals * per_deal
    )


def _pass(
    model: PlackettLuce,
    num_agents: int,
    games: Sequence[tuple[tuple[int, ...], npt.NDArray[np.int8]]],
    deals: IntArray,
    rng: np.random.Generator,
) -> npt.NDArray[np.float64]:
    """Rate all games of some deals once, in a random order; float64 (E,) centred strengths."""
    ratings: list[PlackettLuceRating] = [model.rating() for _ in range(num_agents)]
    played = [
        (agents, ranks)
        for agents, places in games
        for ranks in places[deals].reshape(-1, len(agents)).tolist()
    ]
    for number in rng.permutation(len(played)).tolist():
        slots, ranks = played[number]
        before = [[ratings[agent]] for agent in slots]
        after = model.rate(before, ranks=ranks)
        # An agent in several slots is updated by each of them: differences of mu add up, ratios of sigma
        # multiply.
        for agent in set(slots):
            own = [team[0] for seated, team in zip(slots, after, strict=True) if seated == agent]
            old = ratings[agent]
            mu = old.mu + sum(new.mu - old.mu for new in own)
            sigma = old.sigma * math.prod(new.sigma / old.sigma for new in own)
            ratings[agent] = model.rating(mu=mu, sigma=sigma)
    strengths = np.array([rating.mu for rating in ratings])
    centred: npt.NDArray[np.float64] = 25.0 + strengths - strengths.mean()
    return centred


# ---------------------------------------------------------------- cycles


def find_cycles(payoffs: Sequence[Sequence[Estimate | None]]) -> list[tuple[int, ...]]:
    """All simple cycles of agents, each proven above the next; shortest first.

    Args:
        payoffs: see `League.payoffs`.
    """
    above = [
        [j for j, value in enumerate(row) if value is not None and value.verdict(0.0) == "above"]
        for row in payoffs
    ]

    def walk(path: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        # Only agents after the first: each cycle is found once, from its smallest index.
        for following in above[path[-1]]:
            if following == path[0]:
                yield path
            elif following > path[0] and following not in path:
                yield from walk((*path, following))

    found = (cycle for start in range(len(above)) for cycle in walk((start,)))
    return sorted(found, key=lambda cycle: (len(cycle), cycle))
