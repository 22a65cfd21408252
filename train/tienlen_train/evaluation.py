"""Comparisons of a run's policy with other agents: quick ones on the way, and one at the end.

That of a general network has a line for each variant.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.general import Objective
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.texts import spreadsheet
from tienlen_train.commands import installed
from tienlen_train.config import SelfPlayConfig
from tienlen_train.loop import shell_command
from tienlen_train.runs import write_atomic
from tienlen_train.variants import ShardVariant


def quick_comparison(
    agent: NetworkAgent,
    opponents: Sequence[str],
    config: SelfPlayConfig,
    variants: Sequence[ShardVariant | None] | None,
) -> dict[str, float]:
    """The quick comparison, on deals of its own.

    Returns:
        Points, units of payments and first places against the opponents; those of a general network against
        the baseline in every variant.
    """
    found, rules = {}, config.variant()
    num_deals, seed = config.eval_deals, config.seed + 1_000_000
    if variants is not None:
        for line in in_every_variant(agent, _baseline(rules), variants, num_deals, seed):
            against = f"{line['opponent']}_{line['variant']}"
            found[f"{line['figure']}_v_{against}"] = line["mean"]
            found[f"firsts_v_{against}"] = line["first"]
        return found
    for name in opponents:
        result = arena.match(agent, tienlen_agents.load(name), rules=rules, num_deals=num_deals, seed=seed)
        score = result.scores[0]
        found[f"points_v_{name}"] = score.points.mean
        if score.units is not None:
            found[f"units_v_{name}"] = score.units.mean
        found[f"firsts_v_{name}"] = score.first.mean
    return found


def final_comparison(
    agent: NetworkAgent,
    opponents: Sequence[str],
    config: SelfPlayConfig,
    variants: Sequence[ShardVariant | None] | None,
    out: Path,
    console: Console,
) -> None:
    """Compare a policy on held-out duplicate deals; print and write the result table.

    That of a general network, ``variants.csv``, has a line for each variant.
    """
    rules = config.variant()
    num_deals, seed = config.final_deals, config.seed + 2_000_000
    if variants is not None:
        lines = list(in_every_variant(agent, _baseline(rules), variants, num_deals, seed))
        console.print(variants_table(lines))
        text = io.StringIO()
        writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        names = ("variant", "opponent")
        writer.writerows({**line, **{key: spreadsheet(line[key]) for key in names}} for line in lines)
        write_atomic(out / "variants.csv", text.getvalue().encode())
        return
    report = arena.compare(
        agent,
        [tienlen_agents.load(name) for name in dict.fromkeys(("random", *opponents))],
        rules=rules,
        num_deals=num_deals,
        seed=seed,
        mixed=False,
    )
    report.print(console)
    report.write(out)


def _baseline(rules: AnyRules) -> Agent:
    return tienlen_agents.load(features_of(rules).baseline or "random")


def command_to_play(policy: Path, rules: AnyRules) -> str:
    """The command to play against the policy of a file; empty if `tienlen play` is not installed."""
    if "play" not in installed():
        return ""
    name = f"policy:{tienlen_agents.quoted(str(policy))}"
    return shell_command("play", "--rules", rules.name, "--seats", "human", *[name] * (rules.num_players - 1))


def in_every_variant(
    policy: NetworkAgent, baseline: Agent, variants: Sequence[ShardVariant | None], num_deals: int, seed: int
) -> Iterator[dict[str, Any]]:
    """A policy alone against the baseline, in every variant that has a name: the columns of the table.

    Args:
        policy: with a general network.
        baseline: has all other seats.
        variants: None for ``mixed``.
        num_deals: of each match.
        seed: of the deals.
    """
    for variant in filter(None, variants):
        objective: Objective = "payments" if variant.reward == "payments" else "points"
        agent = replace(policy, objective=objective)
        result = arena.match(agent, baseline, rules=variant.rules, num_deals=num_deals, seed=seed)
        score = result.scores[0]
        # Payments count where they are the objective.
        main, parity = score.points, result.parity_points
        if objective == "payments" and score.units is not None:
            main, parity = score.units, 0.0
        yield {
            "variant": variant.name,
            "opponent": result.names[1],
            "figure": "points" if main is score.points else "units",
            "mean": main.mean,
            "half_width": main.half_width,
            "parity": parity,
            "first": score.first.mean,
            "first_half_width": score.first.half_width,
        }


def variants_table(lines: Sequence[dict[str, Any]]) -> Table:
    """The lines of `in_every_variant`, for people."""
    title = f"alone against {lines[0]['opponent']} in all other seats"
    table = Table("variant", title=title, title_justify="left", box=None)
    for name in ("a round", "parity", "first %"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line["variant"],
            f"{line['mean']:.3f} ± {line['half_width']:.3f} {line['figure']}",
            f"{line['parity']:.2f}",
            f"{100 * line['first']:.1f} ± {100 * line['first_half_width']:.1f}",
        )
    return table
