"""Tune the parameters of the rule-based agent by CMA-ES on duplicate deals.

``python -m tienlen_train.tune_heuristic --generations 300 --out runs/heuristic.json``

Every generation has its own deals, and all its candidates play the same ones (common random numbers); only
the ranking of the candidates counts, so the remaining noise matters little. The objective is a weighted mean
of a candidate's points alone against three greedy_long, three greedy, three random, and three of the search's
present mean: published figures are against the first three, and the last one prevents a search that only
exploits their weaknesses. The same seed gives the same result.

Source: N. Hansen, The CMA Evolution Strategy: A Tutorial, arXiv:1604.00772.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.rule_based.heuristic import HeuristicAgent, Parameters, tuned
from tienlen_agents.rule_based.heuristic.parameters import OWN_PARAMETERS
from tienlen_agents.settings import COUNT, DEALS, Config, ExistingFile, FreeText, Range, parse_args, setting
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.arrays import FloatArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules, has_payments
from tienlen_train.cluster import task_pool
from tienlen_train.config import ANY_SEED, COEFFICIENT, PRESETS, SEATS, RunError, command
from tienlen_train.executor import Executor, ThreadExecutor
from tienlen_train.runs import write_atomic

# The best of very many evaluations on the same deals is partly luck, so each purpose has its own deals.
HELD_OUT = 1_000_000
SAVE_EVERY = 10  # generations


@dataclass(frozen=True, kw_only=True)
class TuneConfig(Config):
    """Settings of a search.

    Attributes:
        rules: preset of the rules.
        num_players: seats at the table, 2 to 4.
        generations: generations to search; the budget.
        population: candidates of a generation.
        num_deals: deals of a generation; each candidate plays them in all seats against each opponent.
        step: first step, as a share of each parameter.
        greedy_long: weight of the points against three greedy_long.
        greedy: weight of the points against three greedy.
        random: weight of the points against three random.
        mean: weight of the points against three of the search's mean.
        only: names of the parameters that are tuned, separated by blanks; the others keep their first values.
            Empty: all or, under rules with payments, those that may differ from the other rules'
            (`parameters.OWN_PARAMETERS`).
        start: JSON file with the parameters to start from; None for those that are tuned
            for the rules.
        held_out_deals: deals of the comparison at the end; the search does not use them.
        seed: of everything.
        out: JSON file for the parameters.
        cluster: play on a Ray cluster: auto (the one that this machine belongs to), local (a new one on this
            machine) or the address of its head node; None for this process.
    """

    rules: str = setting("cardgames", PRESETS)
    num_players: int = setting(4, SEATS)
    generations: int = setting(300, COUNT)
    population: int = setting(24, Range(2, 100_000))
    num_deals: int = setting(200, DEALS)
    step: float = setting(0.3, Range(0, 100, above=True))
    greedy_long: float = setting(0.4, COEFFICIENT)
    greedy: float = setting(0.1, COEFFICIENT)
    random: float = setting(0.1, COEFFICIENT)
    mean: float = setting(0.4, COEFFICIENT)
    only: str = setting("", FreeText("names of parameters"))
    start: str | None = setting(None, ExistingFile())
    held_out_deals: int = setting(2500, DEALS)
    seed: int = setting(1, ANY_SEED)
    out: str = setting("runs/heuristic.json", FreeText("a file"))
    cluster: str | None = setting(None, FreeText("auto, local or an address"))

    def __post_init__(self) -> None:
        """Check the settings that depend on one another, too."""
        super().__post_init__()
        if game_of(get_rules(self.rules, self.num_players)).name != HeuristicAgent.plays:
            self.refuse(
                "rules", f"expected a preset of {HeuristicAgent.plays}, which {HeuristicAgent.name} plays"
            )
        if not any((self.greedy_long, self.greedy, self.random, self.mean)):
            self.refuse("mean", "expected a weight above 0 of at least one opponent")
        known = [field.name for field in fields(Parameters)]
        if not set(known).issuperset(self.only.split()):
            self.refuse("only", f"expected names of parameters: {', '.join(known)}")


class Search:
    """CMA-ES with rank-one and rank-mu updates, maximising, in units of each parameter's first step."""

    def __init__(self, start: FloatArray, scale: FloatArray, population: int, seed: int) -> None:
        n = len(start)
        self.scale, self.population, self.rng = scale, population, np.random.default_rng(seed)
        self.mean = start / scale
        num_parents = population // 2
        weights = np.log(num_parents + 0.5) - np.log(np.arange(1, num_parents + 1))
        self.weights = weights / weights.sum()
        self.mass = mass = 1 / (self.weights**2).sum()
        self.cc = (4 + mass / n) / (n + 4 + 2 * mass / n)
        self.cs = (mass + 2) / (n + mass + 5)
        self.c1 = 2 / ((n + 1.3) ** 2 + mass)
        self.cmu = min(1 - self.c1, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
        self.damping = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (n + 1)) - 1) + self.cs
        self.expected = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        self.path_c, self.path_s = np.zeros(n), np.zeros(n)
        self.covariance, self.sigma = np.eye(n), 1.0

    def ask(self) -> FloatArray:
        """float64 (population, n): the candidates of a generation."""
        lengths, self._axes = np.linalg.eigh(self.covariance)
        self._lengths = np.sqrt(np.maximum(lengths, 1e-12))
        draws = self.rng.standard_normal((self.population, len(self.mean)))
        self._steps = draws * self._lengths @ self._axes.T
        found: FloatArray = (self.mean + self.sigma * self._steps) * self.scale
        return found

    def tell(self, objective: FloatArray) -> None:
        """Update the distribution by the objectives of the candidates, float64 (population,)."""
        n = len(self.mean)
        best = self._steps[np.argsort(-objective, kind="stable")[: len(self.weights)]]
        step = self.weights @ best
        self.mean = self.mean + self.sigma * step
        whitened = self._axes @ ((self._axes.T @ step) / self._lengths)
        self.path_s = (1 - self.cs) * self.path_s + np.sqrt(self.cs * (2 - self.cs) * self.mass) * whitened
        length = float(np.linalg.norm(self.path_s))
        goes_on = length / self.expected < 1.4 + 2 / (n + 1)
        self.path_c = (1 - self.cc) * self.path_c
        if goes_on:
            self.path_c += np.sqrt(self.cc * (2 - self.cc) * self.mass) * step
        self.covariance = (
            (1 - self.c1 - self.cmu) * self.covariance
            + self.c1 * np.outer(self.path_c, self.path_c)
            + self.cmu * (best.T * self.weights) @ best
        )
        self.sigma *= float(np.exp(self.cs / self.damping * (length / self.expected - 1)))

    @property
    def found(self) -> FloatArray:
        """float64 (n,): the mean; with a noisy objective it is better than any single candidate."""
        found: FloatArray = self.mean * self.scale
        return found


def bounded(values: npt.ArrayLike) -> Parameters:
    """The parameters from their values; those that must not be negative are mirrored at 0."""
    mirrored = ["decay" in field.name or field.name.startswith("hold") for field in fields(Parameters)]
    return Parameters.from_array(np.where(mirrored, np.abs(values), values))


def player(values: npt.ArrayLike) -> HeuristicAgent:
    """The agent with given parameters (see `bounded`)."""
    return HeuristicAgent(bounded(values))


def points(pair: tuple[FloatArray, str | FloatArray], rules: AnyRules, num_deals: int, seed: int) -> float:
    """Mean points, or units where there are payments, of a candidate alone against three opponents.

    Args:
        pair: the candidate's parameters, float64 (n,); and the opponent: a name in `tienlen_agents.load`, or
            the parameters of another candidate.
        rules: the variant.
        num_deals: each is played in all seats.
        seed: of the deals.
    """
    values, other = pair
    opponent = tienlen_agents.load(other) if isinstance(other, str) else player(other)
    result = arena.match(player(values), opponent, rules=rules, num_deals=num_deals, seed=seed)
    return result.scores[0].main.mean


def search(
    config: TuneConfig, start: Parameters, console: Console, executor: Executor | None = None
) -> Parameters:
    """Run all generations; the parameters found.

    Args:
        config: the settings.
        start: the first mean.
        console: shows the progress.
        executor: plays the evaluations of a generation; None for this process.
    """
    executor = executor or ThreadExecutor(1)
    rules = get_rules(config.rules, config.num_players)
    first = start.to_array()
    names = [field.name for field in fields(Parameters)]
    chosen = config.only.split() or (OWN_PARAMETERS if has_payments(rules) else names)
    changed = [names.index(name) for name in chosen]
    scale = config.step * np.maximum(np.abs(first), 0.3)
    cma = Search(first[changed], scale[changed], config.population, config.seed)

    def parameters(values: FloatArray) -> FloatArray:
        """All parameters, float64 (..., P), from the tuned ones."""
        every = np.broadcast_to(first, (*values.shape[:-1], len(first))).copy()
        every[..., changed] = values
        return every

    weights = {"greedy_long": config.greedy_long, "greedy": config.greedy, "random": config.random}
    smooth: dict[str, float] = {}
    for generation in track(range(config.generations), "tuning", console=console):
        seed = (config.seed << 32) + generation
        opponents: list[tuple[str | FloatArray, float]] = [(n, w) for n, w in weights.items() if w]
        if config.mean:
            opponents.append((parameters(cma.found), config.mean))
        pairs = [(values, opponent) for values in parameters(cma.ask()) for opponent, _ in opponents]
        judge = partial(points, rules=rules, num_deals=config.num_deals, seed=seed)
        table = np.reshape(executor.map(judge, pairs), (-1, len(opponents)))
        cma.tell(table @ [weight for _, weight in opponents])
        for (opponent, _), mean in zip(opponents, table.mean(axis=0).tolist(), strict=True):
            name = opponent if isinstance(opponent, str) else HeuristicAgent.name
            smooth[name] = 0.9 * smooth.get(name, mean) + 0.1 * mean
        if (generation + 1) % SAVE_EVERY == 0:
            write(config, bounded(parameters(cma.found)))
            text = " ".join(f"{v:.3f} v. {k}" for k, v in smooth.items())
            console.print(f"generation {generation + 1} of {config.generations}: {text} step {cma.sigma:.2f}")
    return bounded(parameters(cma.found))


def check(found: Parameters, start: Parameters, config: TuneConfig, console: Console) -> dict[str, Any]:
    """Points (or units) and firsts of both on held-out deals, against each opponent and one another."""
    rules = get_rules(config.rules, config.num_players)
    result: dict[str, Any] = {}
    pairs: Sequence[tuple[str, Agent]] = [
        (n, tienlen_agents.load(n)) for n in ("random", "greedy", "greedy_long")
    ]
    for label, parameters in (("found", found), ("start", start)):
        other = start if label == "found" else found
        for name, opponent in [*pairs, ("the other", HeuristicAgent(other))]:
            played = arena.match(
                HeuristicAgent(parameters),
                opponent,
                rules=rules,
                num_deals=config.held_out_deals,
                seed=config.seed + HELD_OUT,
            )
            score = played.scores[0]
            result[f"{label} v. {name}"] = {
                played.figure: [score.main.mean, score.main.half_width],
                "first": [score.first.mean, score.first.half_width],
            }
            console.print(
                f"{label} v. {name}: {score.main.mean:.3f} ± {score.main.half_width:.3f} {played.figure}, "
                f"{100 * score.first.mean:.1f} ± {100 * score.first.half_width:.1f} % first"
            )
    return result


def read(path: Path) -> Parameters:
    """The parameters in a file of `write`.

    Raises:
        RunError: the file is not one of those.
    """
    try:
        found = Parameters(**json.loads(path.read_bytes())["parameters"])
        is_valid = np.isfinite(found.to_array()).all()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(f"{path} does not hold parameters: {error!r}") from error
    if not is_valid:
        raise RunError(f"{path} has parameters that are not finite")
    return found


def write(config: TuneConfig, found: Parameters, held_out: dict[str, Any] | None = None) -> None:
    """Write the parameters found so far; `held_out` is given once the search is over."""
    record = {"parameters": asdict(found), "held_out": held_out, "config": asdict(config)}
    write_atomic(Path(config.out), (json.dumps(record, indent=1) + "\n").encode())


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Search, compare on held-out deals, and write the parameters."""
    config = parse_args(TuneConfig, "Tune the parameters of the rule-based agent by CMA-ES.", argv)
    console = Console()
    start = tuned(config.rules) if config.start is None else read(Path(config.start))
    with ExitStack() as stack:
        executor: Executor | None = None
        if config.cluster is not None:
            executor = stack.enter_context(task_pool(config.cluster, (), console))
        found = search(config, start, console, executor)
        write(config, found, check(found, start, config, console))
    console.print(f"wrote {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
