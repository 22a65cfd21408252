"""The strength of every shipped agent, at every table: all presets, with every number of players.

    python -m research.strength --players 4     # first says how long it takes
    python -m research.strength --deals 20 --search-deals 4 --out /tmp/strength

An agent plays alone against the game's rule-based agent in all other seats, in duplicate deals. Results are
kept in the folder `out`; the same command goes on from them after a stop. The end is ``out.json`` there, from
which ``make figures`` writes docs/strength.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import tienlen_agents
from tienlen_agents.arena import MatchResult, match
from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.files import write_atomic
from tienlen_agents.networks.features import features_by_name
from tienlen_agents.settings import DEALS, Config, Range, parse_args, setting
from tienlen_env.engine.agent import check_plays
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import games, variants_of
from tienlen_train.config import ANY_SEED, FOLDER, GAMES, SEATS, command
from tienlen_train.loop import make_console

AGENTS: Final = (
    "random",
    "greedy",
    "greedy_long",
    "search",
    "ismcts",
    "champion:worlds=0",
    "champion",
    "reference",
)
SEARCHES: Final = ("search", "ismcts")
CHUNK: Final = 4  # deals of a search that a process plays at a time


@dataclass(frozen=True, kw_only=True)
class StrengthConfig(Config):
    """Settings of the benchmark.

    Attributes:
        env: name of one game; None for every game that has a rule-based agent.
        players: at the tables; None for every number.
        deals: of each match, each in as many seatings as there are players.
        search_deals: the same for the agents that take milliseconds a decision.
        seed: of deals and agents.
        workers: processes.
        out: folder of the results.
    """

    env: str | None = setting(None, GAMES)
    players: int | None = setting(None, SEATS)
    deals: int = setting(500, DEALS)
    search_deals: int = setting(60, DEALS)
    seed: int = setting(4_000_001, ANY_SEED)
    workers: int = setting(1, Range(1, 1024))
    out: str = setting("runs/strength", FOLDER)


class StrengthTable(NamedTuple):
    """A variant, and who can play it.

    Attributes:
        preset: its name.
        rules: with the number of players.
        base: the rule-based agent in all other seats.
        agents: names.
    """

    preset: str
    rules: AnyRules
    base: str
    agents: tuple[str, ...]


def tables(game: AnyGame) -> Iterator[StrengthTable]:
    """The tables of a game, if it has a rule-based agent."""
    base = features_by_name(game.name).eval_opponents[-1]
    if base == "random":
        return
    for preset, rules in variants_of(game):
        if rules.num_players > 1:
            yield StrengthTable(preset, rules, base, tuple(name for name in AGENTS if _plays(name, rules)))


def _plays(name: str, rules: AnyRules) -> bool:
    try:
        check_plays([tienlen_agents.load(name)], Batch(rules, 1))
    except ValueError:
        return False
    return True


def measure(config: StrengthConfig, table: StrengthTable, name: str) -> MatchResult:
    """The match of an agent alone against the base in all other seats."""
    is_search = name in SEARCHES
    return match(
        name,
        table.base,
        rules=table.rules,
        num_deals=config.search_deals if is_search else config.deals,
        seed=config.seed,
        workers=config.workers,
        deals_per_job=CHUNK if is_search else BLOCK_DEALS,
        out=Path(config.out) / f"{table.preset}-{table.rules.num_players}" / name.replace(":", "-"),
    )


def estimated_minutes(config: StrengthConfig, found: Sequence[StrengthTable]) -> float:
    """The time of all matches, from a few deals of each agent at its first table."""
    seconds_of: dict[str, float] = {}  # of a round
    total = 0.0
    for table in found:
        for name in table.agents:
            if name not in seconds_of:
                match(name, table.base, rules=table.rules, num_deals=2)  # loads and compiles
                tried = match(name, table.base, rules=table.rules, num_deals=4)
                assert tried.seconds is not None  # nothing is kept of an earlier run
                seconds_of[name] = tried.seconds / tried.num_games
            deals = config.search_deals if name in SEARCHES else config.deals
            total += deals * table.rules.num_players * seconds_of[name]
    return total / config.workers / 60


def parity_of(config: StrengthConfig, table: StrengthTable, found: Mapping[str, MatchResult]) -> float:
    """The mean result of a seat if the base plays all seats.

    Where the sum over all seats is fixed, every match has the same parity. Otherwise the base plays itself.
    """
    parities = {result.parity for result in found.values()}
    return parities.pop() if len(parities) == 1 else measure(config, table, table.base).parity


def row(table: StrengthTable, found: Mapping[str, MatchResult], parity: float) -> dict[str, Any]:
    """A table in JSON: each agent's mean result a round, and half the width of its 95 % interval."""
    figure = next(result.figure for result in found.values())
    means = {name: result.scores[0].main for name, result in found.items()}
    agents = {name: [round(main.mean, 6), round(main.half_width, 6)] for name, main in means.items()}
    return {"figure": figure, "parity": round(parity, 6), "agents": agents}


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write the JSON file."""
    config = parse_args(StrengthConfig, __doc__, argv)
    console = make_console()
    found = [
        table
        for game in games()
        if config.env in (None, game.name)
        for table in tables(game)
        if config.players in (None, table.rules.num_players)
    ]
    minutes = estimated_minutes(config, found)
    console.print(f"about {minutes:,.0f} minutes with --workers {config.workers}", highlight=False)
    rows: dict[str, Any] = {}
    for table in found:
        results = {name: measure(config, table, name) for name in table.agents}
        name = table.preset if config.players else f"{table.preset}-{table.rules.num_players}"
        rows[name] = row(table, results, parity_of(config, table, results))
        console.print(f"{name}: {rows[name]['agents']}", highlight=False, markup=False)
    path = Path(config.out) / "out.json"
    write_atomic(path, (json.dumps({"rows": rows}, indent=1) + "\n").encode())
    console.print(f"wrote {path}", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
