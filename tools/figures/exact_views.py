"""What `docs/exact.md` shows of the results; see `tools.figures.views`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tools.figures.registry import NETWORK_DRAWN, SEARCHES, SOLVED_TO, TRUSTS
from tools.figures.results import values_of
from tools.figures.text import probability, table

DRAWN: Final = "the champion's network, actions drawn"
ALPHA: Final = "17"  # of the champion's search, see `research.soft_root`


def _label(agent: str) -> str:
    return DRAWN if agent == NETWORK_DRAWN else f"`{agent}`"


def agents() -> str:
    """NashConv of agents, and how many iterations solvers need."""
    found, solved = values_of("exact-agents"), values_of("exact-solvers")
    lines = [
        [_label(agent), *(probability(found[rules][agent]) for rules in SOLVED_TO)] for agent in found["mini"]
    ]
    for algorithm in ("cfr+", "dcfr"):
        cells = [
            f"< {until.lstrip('0')}, {solved[f'{algorithm} {rules}']['iterations']}"
            for rules, until in SOLVED_TO.items()
        ]
        lines.append([f"`{algorithm}`: NashConv, iterations to get there", *cells])
    return table(["agent", *(f"`{rules}`" for rules in SOLVED_TO)], lines)


def lookahead() -> str:
    """NashConv of policies that look one play ahead."""
    found, alone = values_of("exact-lookahead"), values_of("exact-agents")
    lines = []
    for rules in ("small", "medium"):
        for i, agent in enumerate(found[f"{rules} 0"]):
            cells = [found[f"{rules} {trust}"][agent] for trust in TRUSTS]
            game = "" if i else f"`{rules}`"
            lines.append([game, f"`{agent}`", *map(probability, (alone[rules][agent], *cells))])
    return table(["game", "agent", "itself", *TRUSTS], lines)


def sampled() -> str:
    """NashConv of agents that draw, estimated from their choices."""
    found, known = values_of("exact-sampled"), values_of("exact-agents")
    lines = []
    for agent in SEARCHES.split():
        cells = [_label(agent)]
        for rules, all_repeats in (("mini", (4, 16)), ("small", (2,))):
            cells.append(probability(known[rules][agent]) if agent in known[rules] else "")
            cells += [probability(found[f"{rules} {repeats}"][agent]) for repeats in all_repeats]
        lines.append(cells)
    return table(["agent", "`mini`: known", "n = 4", "n = 16", "`small`: known", "n = 2"], lines)


def soft_root() -> str:
    """NashConv of the champion's search as it is, and with a part of the uniform policy in its prior."""
    found = values_of("soft-root")
    lines = []
    for rollout, words in (("heuristic", "`heuristic`"), ("prior", "the network")):
        of_rules = [found[rules] for rules in ("small", "medium")]
        today, uniform = (
            [one[f"rollouts {rollout} uniform {share} floor {floor} alpha {ALPHA}"] for one in of_rules]
            for share, floor in (("0.0", "1e-05"), ("0.02", "0.0"))
        )
        lines.append([words, "the previous champion's", *(probability(one["mode"]) for one in today)])
        both = [f"{probability(one['mode'])} · {probability(one['soft'])}" for one in uniform]
        lines.append(["", "a fiftieth uniform: the best action · drawn", *both])
    return table(["rollouts by", "root", "`small`", "`medium`"], lines)


def soft_steps() -> str:
    """NashConv of a network, its actions drawn, after each step of soft policy iteration."""
    found = values_of("soft-steps")
    steps = [step for step in found["small"] if step != "start"]
    lines = [
        [f"`{rules}`", *(probability(found[rules][step]["network"]) for step in ("start", *steps))]
        for rules in ("mini", "small")
    ]
    return table(["game", "before", *steps], lines)


def nash_conv() -> str:
    """NashConv at the end of `tienlen bench nash-conv`, and seconds."""
    found = values_of("nash-conv")
    games = [rules for rules in SOLVED_TO if rules in found]
    lines = [[f"`{name}`", *(_end(found[rules][name]) for rules in games)] for name in found[games[0]]]
    return table(["", *(f"`{rules}`" for rules in games)], lines)


def _end(row: Mapping[str, Any]) -> str:
    mean, low, high = (_small(value) for value in row["nash_conv"])
    spread = f" ({low} to {high})" if low != high else ""
    return f"{mean}{spread}, {row['seconds']:.0f} s"


def _small(value: float) -> str:
    """Four decimals, or five of a number below one thousandth."""
    return probability(value, 4 if value >= 5e-4 else 5)
