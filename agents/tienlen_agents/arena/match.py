"""Duplicate matches: two agents, several agents at one match-up, one agent against a panel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final, Unpack

from numpy.random import SeedSequence

from tienlen_agents.arena.lineup import lineup_of, unique_names
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.result import MatchResult, Need, RunResults, SampleSizeEstimate
from tienlen_agents.arena.run import ArenaOptions, Entrant, MatchUp, check_options, load_all, play_match_ups
from tienlen_agents.arena.stats import deals_needed
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules

FAST_PANEL: Final = ("random", "greedy", "greedy_long", "heuristic", "endgame:heuristic")
SLOW_PANEL: Final = ("search", "champion")
PANEL: Final = (*FAST_PANEL, *SLOW_PANEL)


def match(
    a: Entrant,
    b: Entrant,
    *,
    composition: str | None = None,
    rules: str | AnyRules = "cardgames",
    num_players: int | None = None,
    **options: Unpack[ArenaOptions],
) -> MatchResult:
    """Play two agents against each other.

    Args:
        a: one agent, or its name.
        b: the other.
        composition: seats of `a` and of `b`: ``"1v3"``, ``"3v1"``, ``"2v2"``; None is one against the rest.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        options: see `ArenaOptions`.

    Raises:
        ValueError: a composition that does not fill the seats; and see `match_up`.
    """
    rules = get_rules(rules, num_players)
    return match_up([a, b], lineup_of(composition, rules.num_players), rules=rules, **options)


def match_up(
    agents: Sequence[Entrant],
    lineup: Sequence[int] | None = None,
    *,
    rules: str | AnyRules = "cardgames",
    num_players: int | None = None,
    **options: Unpack[ArenaOptions],
) -> MatchResult:
    """Play a duplicate match: every deal in all rotations of a seating, or in all seatings.

    Deals and agents' seeds are functions of the seed and of the chunk of deals only. Match-ups with the same
    seed share their deals, and the first n deals of a longer match are those of a shorter one.

    Args:
        agents: E agents, or their names.
        lineup: the index of an agent for each of P slots; None: each agent has one slot.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        options: see `ArenaOptions`.

    Raises:
        ValueError: a lineup that does not fill the seats with every agent, or an option out of range.
        IllegalPlayError: an agent chose an action that is not legal.
    """
    rules = get_rules(rules, num_players)
    loaded = load_all(agents)
    names = tuple(unique_names(loaded))
    found = make_match_up(range(len(agents)), names, lineup, rules)
    (result,) = play_match_ups([found], agents, loaded, **options)
    return result


def make_match_up(
    seated: Sequence[int], names: Sequence[str], lineup: Sequence[int] | None, rules: AnyRules
) -> MatchUp:
    """A match-up of a run (see `MatchUp`); `lineup` as for `match_up`.

    Raises:
        ValueError: a lineup that does not fill the seats with every agent.
    """
    slots = tuple(sorted(range(len(seated)) if lineup is None else lineup))
    if len(slots) != rules.num_players or set(slots) != set(range(len(seated))):
        raise ValueError(
            f"lineup {list(slots)}: expected {rules.num_players} slots and each of {len(seated)} agents"
        )
    return MatchUp(tuple(seated), tuple(names), slots, rules)


def all_rules(
    rules: str | AnyRules | Sequence[str | AnyRules], num_players: int | None
) -> tuple[AnyRules, ...]:
    """One or several variants, for `num_players` players."""
    several = list(rules) if isinstance(rules, Sequence) and not isinstance(rules, str) else [rules]
    return tuple(get_rules(one, num_players) for one in several)


def compare(
    agent: Entrant,
    baselines: Sequence[Entrant],
    *,
    rules: str | AnyRules | Sequence[str | AnyRules] = "cardgames",
    num_players: int | None = None,
    compositions: Sequence[str | None] = (None,),
    mixed: bool = True,
    command: str = "",
    **options: Unpack[ArenaOptions],
) -> Report:
    """Compare one agent with others: against each of them, and in mixed match-ups.

    Args:
        agent: the agent to evaluate, or its name.
        baselines: the others.
        rules: the variant, or several.
        num_players: P; None keeps the number in `rules`.
        compositions: of the match-ups of two agents, see `match`.
        mixed: also play the agent with every P-1 different baselines, if there are enough.
        command: that gives the same result, for the report.
        options: see `ArenaOptions`.

    Raises:
        ValueError: see `match` and `match_up`.
    """
    entrants = [agent, *baselines]
    loaded = load_all(entrants)
    match_ups = []
    for variant in all_rules(rules, num_players):
        seatings: list[tuple[tuple[int, ...], list[int] | None]]
        # All lineups are made before the first game, so that a wrong one is refused at once.
        lineups = [lineup_of(composition, variant.num_players) for composition in compositions]
        seatings = [((0, other), lineup) for other in range(1, len(entrants)) for lineup in lineups]
        if mixed and variant.num_players > 2:
            others = combinations(range(1, len(entrants)), variant.num_players - 1)
            seatings += [((0, *some), None) for some in others]
        for seated, lineup in seatings:
            names = unique_names([loaded[index] for index in seated])
            match_ups.append(make_match_up(seated, names, lineup, variant))
    limit = check_options(options).max_forfeits
    return Report(tuple(play_match_ups(match_ups, entrants, loaded, **options)), command, max_forfeits=limit)


def gauntlet(
    agent: Entrant,
    *,
    panel: Sequence[Entrant] | None = None,
    rules: str | AnyRules | Sequence[str | AnyRules] = "cardgames",
    num_players: int | None = None,
    command: str = "",
    **options: Unpack[ArenaOptions],
) -> Report:
    """Compare one agent with each agent of the standard panel, one seat against the rest.

    Args:
        agent: the agent to evaluate, or its name.
        panel: the opponents; None: those of `PANEL` that play these rules. `FAST_PANEL` leaves out the two
            that are slow.
        rules: the variant, or several.
        num_players: P; None keeps the number in `rules`.
        command: that gives the same result, for the report.
        options: see `ArenaOptions`.

    Raises:
        ValueError: see `match` and `match_up`.
    """
    if panel is None:
        panel = panel_of(all_rules(rules, num_players))
    return compare(
        agent, panel, rules=rules, num_players=num_players, mixed=False, command=command, **options
    )


def panel_of(variants: Sequence[AnyRules]) -> list[str]:
    """The agents of `PANEL` that play all these rules: `champion` only where it has a network."""
    from tienlen_agents.networks.shipped import can_play  # imports all that searches

    return [name for name in PANEL if name != "champion" or all(map(can_play, variants))]


PILOT_DEALS = 200


def pilot(
    play: Callable[[int, int], RunResults], precision: float, seed: int, num_deals: int
) -> SampleSizeEstimate:
    """Play a small match and compute the number of deals that the large one needs.

    Args:
        play: plays a number of deals with a seed.
        precision: the wanted half width of the 95 % intervals of the points (or units), above 0.
        seed: of the large match; the seed of the pilot is derived from it.
        num_deals: of the pilot, at least 2.

    Raises:
        ValueError: a precision that is not above 0; and what `play` raises.
    """
    if not precision > 0:
        raise ValueError(f"precision={precision}: expected a number above 0")
    own_seed = int(SeedSequence(seed, spawn_key=(0x9170,)).generate_state(1)[0])
    played = play(num_deals, own_seed)
    needs = [
        Need(title, value.half_width, deals_needed(value, deals, precision))
        for title, value, deals in played.headlines
    ]
    unit = " or ".join(dict.fromkeys(result.figure for result in played.results))
    return SampleSizeEstimate(precision, num_deals, own_seed, tuple(needs), unit)
