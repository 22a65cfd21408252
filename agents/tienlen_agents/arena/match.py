"""Duplicate matches: two agents at a table, several at one, one against a panel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, Unpack

from tienlen_agents.arena.lineup import lineup_of, unique_names
from tienlen_agents.arena.report import Report
from tienlen_agents.arena.result import TableResult
from tienlen_agents.arena.run import Entrant, Options, Table, load_all, run_tables
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules

PANEL: Final = ("random", "greedy", "greedy_long", "heuristic", "endgame:heuristic")


def match(
    a: Entrant,
    b: Entrant,
    *,
    composition: str | None = None,
    rules: str | AnyRules = "cardgames",
    num_players: int | None = None,
    **options: Unpack[Options],
) -> TableResult:
    """Two agents at one table.

    Args:
        a: one agent, or its name.
        b: the other.
        composition: seats of `a` and of `b`: ``"1v3"``, ``"3v1"``, ``"2v2"``; None is one against the rest.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        options: see `Options`.

    Raises:
        ValueError: a composition that does not fill the table; and see `table`.
    """
    rules = get_rules(rules, num_players)
    return table([a, b], lineup_of(composition, rules.num_players), rules=rules, **options)


def table(
    agents: Sequence[Entrant],
    lineup: Sequence[int] | None = None,
    *,
    rules: str | AnyRules = "cardgames",
    num_players: int | None = None,
    **options: Unpack[Options],
) -> TableResult:
    """A duplicate match: every deal in all seatings, or all rotations of a seating, of the table.

    Deals and agents' seeds are functions of the seed and of the chunk of deals alone. Tables with the same
    seed share their deals, and the first n deals of a longer match are those of a shorter one.

    Args:
        agents: E agents, or their names.
        lineup: an agent's index for each of P chairs; None: each agent has one.
        rules: the variant.
        num_players: P; None keeps the number in `rules`.
        options: see `Options`.

    Raises:
        ValueError: a lineup that does not fill the table with every agent, or an option out of range.
        IllegalPlayError: an agent chose what the rules refuse.
    """
    rules = get_rules(rules, num_players)
    loaded = load_all(agents)
    names = tuple(unique_names(loaded))
    (result,) = run_tables([seat(range(len(agents)), names, lineup, rules)], agents, loaded, **options)
    return result


def seat(seated: Sequence[int], names: Sequence[str], lineup: Sequence[int] | None, rules: AnyRules) -> Table:
    """A table of a run (see `Table`); `lineup` as for `table`.

    Raises:
        ValueError: a lineup that does not fill the table with every agent.
    """
    chairs = tuple(sorted(range(len(seated)) if lineup is None else lineup))
    if len(chairs) != rules.num_players or set(chairs) != set(range(len(seated))):
        raise ValueError(
            f"lineup {list(chairs)}: expected {rules.num_players} chairs and each of {len(seated)} agents"
        )
    return Table(tuple(seated), tuple(names), chairs, rules)


def all_rules(
    rules: str | AnyRules | Sequence[str | AnyRules], num_players: int | None
) -> tuple[AnyRules, ...]:
    """One or several variants, for so many players."""
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
    **options: Unpack[Options],
) -> Report:
    """One agent against a panel: alone against each baseline, and in mixed tables.

    Args:
        agent: the one that is examined, or its name.
        baselines: the others.
        rules: the variant, or several.
        num_players: P; None keeps the number in `rules`.
        compositions: of the tables of two agents, see `match`.
        mixed: also seat the agent with every P-1 different baselines, if there are so many.
        command: what to type for the same result, for the report.
        options: see `Options`.

    Raises:
        ValueError: see `match` and `table`.
    """
    entrants = [agent, *baselines]
    loaded = load_all(entrants)
    tables = []
    for variant in all_rules(rules, num_players):
        seatings: list[tuple[tuple[int, ...], list[int] | None]]
        # All lineups before the first game: a wrong one shows at once.
        lineups = [lineup_of(composition, variant.num_players) for composition in compositions]
        seatings = [((0, other), lineup) for other in range(1, len(entrants)) for lineup in lineups]
        if mixed and variant.num_players > 2:
            others = combinations(range(1, len(entrants)), variant.num_players - 1)
            seatings += [((0, *some), None) for some in others]
        for seated, lineup in seatings:
            names = unique_names([loaded[index] for index in seated])
            tables.append(seat(seated, names, lineup, variant))
    return Report(tuple(run_tables(tables, entrants, loaded, **options)), command)


def gauntlet(
    agent: Entrant,
    *,
    panel: Sequence[Entrant] = PANEL,
    rules: str | AnyRules | Sequence[str | AnyRules] = "cardgames",
    num_players: int | None = None,
    command: str = "",
    **options: Unpack[Options],
) -> Report:
    """One agent alone against each of the standard panel, for figures that can be set side by side.

    Args:
        agent: the one that is examined, or its name.
        panel: another panel than `PANEL`.
        rules: the variant, or several.
        num_players: P; None keeps the number in `rules`.
        command: what to type for the same result, for the report.
        options: see `Options`.

    Raises:
        ValueError: see `match` and `table`.
    """
    return compare(
        agent, panel, rules=rules, num_players=num_players, mixed=False, command=command, **options
    )
