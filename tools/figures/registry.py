"""What is measured: commands, their seeds and deals, the time that they take, and the sources behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

DIGITS: Final = 6  # of a stored value
PRINTED: Final = "stdout.txt"  # what a command printed, in its folder
SECONDS: Final = "seconds.txt"  # of processor time that it took, all runs together

Values = dict[str, Any]


class FigureEntry(NamedTuple):
    """One result, ``results/<name>.json``.

    Attributes:
        name: of the result.
        commands: what ``python -m`` runs, by a key of its own; ``{out}`` is a folder for its output, which
            may also be what it prints,
            ``{seed}`` and ``{deals}`` are the numbers below, ``{resume}`` goes on with a stopped training.
        read: the values, from the folders of the commands' outputs by their keys.
        sources: files and folders that the values depend on.
        minutes: of processor time, about, on one core of the machine in ``results/``; the time that the last
            result took counts if there is one.
        seed: of the deals; None if nothing is drawn.
        deals: of each match; None if none is played.
        is_speed: the values are times or rates, which differ from run to run.
    """

    name: str
    commands: Mapping[str, str]
    read: Callable[[Mapping[str, Path]], Values]
    sources: tuple[str, ...]
    minutes: float
    seed: int | None = None
    deals: int | None = None
    is_speed: bool = False

    def command(self, key: str, *, resume: bool = False) -> str:
        """One command, with its seed and deals; ``{out}`` is still in it."""
        more = " --resume" if resume else ""
        return self.commands[key].format(seed=self.seed, deals=self.deals, out="{out}", resume=more)

    def all_commands(self) -> dict[str, str]:
        """Every command by its key, as a result stores it."""
        return {key: self.command(key) for key in self.commands}


class Historical(NamedTuple):
    """Figures of the past, which cannot be made again in two hours.

    Attributes:
        commit: at which they were measured, or whose pages first had them.
        command: that measured them there.
    """

    commit: str
    command: str


# ---------------------------------------------------------------- what a result depends on

ENGINE: Final = ("tienlen_env/games", "tienlen_env/engine")
ENVIRONMENTS: Final = ("tienlen_env/envs", "tienlen_env/single")
AGENTS: Final = "agents/tienlen_agents"
ARENA: Final = tuple(f"{AGENTS}/arena/{name}.py" for name in ("chunk", "play", "result", "stats"))
BASELINES: Final = (*ENGINE, *ARENA, f"{AGENTS}/rule_based")
LEARNED: Final = (f"{AGENTS}/search", f"{AGENTS}/networks", f"{AGENTS}/endgame.py")
TRAINING: Final = (*BASELINES, f"{AGENTS}/networks", "train/tienlen_train")
BENCHMARKS: Final = ("train/tienlen_train/benchmarks.py", "extensions/bench/tienlen_bench")
ALL_AGENTS: Final = (*BASELINES, *LEARNED)

# ---------------------------------------------------------------- how outputs are read


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _figure(value: Mapping[str, float]) -> list[float]:
    """The mean of an interval of ``arena.json``, and its half width."""
    return [_rounded(value["mean"]), _rounded((value["high"] - value["low"]) / 2)]


def matches(outputs: Mapping[str, Path]) -> Values:
    """Of ``arena.json``: by the key of the command, the table's title and the agent, every figure it has.

    A figure is ``[mean, half width of the 95 % interval]``.
    """
    found: Values = {}
    for key, folder in outputs.items():
        report = json.loads((folder / "arena.json").read_text(encoding="utf-8"))
        for table in report["tables"]:
            for agent in table["agents"]:
                figures = {
                    name: _figure(value)
                    for name, value in agent.items()
                    if isinstance(value, dict) and value.get("high") is not None
                }
                found.setdefault(key, {}).setdefault(table["title"], {})[agent["name"]] = figures
    return found


def trainings(outputs: Mapping[str, Path]) -> Values:
    """`matches`, and the minutes of processor time of each command, ``"minutes"``."""
    found = matches(outputs)
    for key, folder in outputs.items():
        found[key]["minutes"] = round(seconds_of(folder) / 60, 1)
    return found


def rows(outputs: Mapping[str, Path]) -> Values:
    """The rows of ``out.json``, a file of `tienlen_train.benchmarks.write_result`."""
    (folder,) = outputs.values()
    found: Values = json.loads((folder / "out.json").read_text(encoding="utf-8"))["rows"]
    return found


def small_games(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen exact bench``: information sets, and milliseconds of each step, by the command's key."""
    found: Values = {}
    for key, folder in outputs.items():
        title, *lines = (folder / PRINTED).read_text(encoding="utf-8").splitlines()
        (size,) = re.findall(r"([\d,]+) information sets", title)
        times = (line.removesuffix(" ms").rsplit(": ", 1) for line in lines)
        steps = {step: float(time.replace(",", "")) for step, time in times}
        found[key] = {"information_sets": int(size.replace(",", "")), **steps}
    return found


def standings(outputs: Mapping[str, Path]) -> Values:
    """Of ``arena.json`` of a league: the points of each agent, by the key of the command."""
    found: Values = {}
    for key, folder in outputs.items():
        (league,) = json.loads((folder / "arena.json").read_text(encoding="utf-8"))["leagues"]
        found[key] = {agent["name"]: _figure(agent["points"]) for agent in league["standings"]}
    return found


def numbers_in_print(patterns: Sequence[str], outputs: Mapping[str, Path]) -> Values:
    """The numbers that commands print, by the key of the command and the name of the pattern's group.

    Beside them stands the processor time of each command.

    Args:
        patterns: regular expressions; the last place where one is found counts.
        outputs: the folders of the commands' outputs.

    Raises:
        ValueError: no command printed a pattern.
    """
    found: Values = {}
    for key, folder in outputs.items():
        text = (folder / PRINTED).read_text(encoding="utf-8")
        found[key] = {"processor_seconds": seconds_of(folder)}
        for hit in (hit for pattern in patterns for hit in re.finditer(pattern, text)):
            found[key] |= {name: float(number.replace(",", "")) for name, number in hit.groupdict().items()}
    for pattern in patterns:
        if not any(re.compile(pattern).groupindex.keys() <= numbers.keys() for numbers in found.values()):
            raise ValueError(f"no command printed {pattern!r}")
    return found


PAIRED_LINE: Final = (
    r"(?P<agent>\S+) +(?P<points>[\d.]+) ± (?P<half>[\d.]+) +(?P<more>[-+][\d.]+) ± (?P<more_half>[\d.]+) .*"
)


def paired(outputs: Mapping[str, Path]) -> Values:
    """Of ``research.paired_match``: by the key of the command and the agent, ``"points"`` and ``"more"``.

    The latter is the difference to the first agent of the command on the same deals. Both are
    ``[mean, half width of the 95 % interval]``.
    """
    found: Values = {}
    for key, folder in outputs.items():
        text = (folder / PRINTED).read_text(encoding="utf-8")
        found[key] = {
            hit["agent"]: {
                "points": [float(hit["points"]), float(hit["half"])],
                "more": [float(hit["more"]), float(hit["more_half"])],
            }
            for hit in re.finditer(PAIRED_LINE, text)
        }
    return found


def printed(*patterns: str) -> Callable[[Mapping[str, Path]], Values]:
    """Reads `numbers_in_print`."""
    return partial(numbers_in_print, patterns)


def seconds_of(folder: Path) -> float:
    """The processor time of the command with this folder."""
    return round(float((folder / SECONDS).read_text(encoding="utf-8")), 1)


def jax_rows(outputs: Mapping[str, Path]) -> Values:
    """Of ``jax_speed.py``: million decisions a second and the ratio to `Batch.step`, by the row's name."""
    (folder,) = outputs.values()
    found: Values = {}
    for line in (folder / PRINTED).read_text(encoding="utf-8").splitlines():
        if hit := re.fullmatch(JAX_LINE, line.strip()):
            found[hit["name"]] = {"million": float(hit["million"]), "ratio": float(hit["ratio"])}
    return found


def data_rates(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen data``: rounds a second of processor time, bytes a decision, by the agents' names."""
    from pyarrow import dataset

    found: Values = {}
    for key, folder in outputs.items():
        decisions = folder / "data" / "decisions"
        size = sum(path.stat().st_size for path in decisions.rglob("*.parquet"))
        found[key] = {
            "rounds_per_second": round(DATA_ROUNDS / seconds_of(folder), 1),
            "bytes_per_decision": round(size / dataset.dataset(decisions).count_rows(), 2),
        }
    return found


# ---------------------------------------------------------------- the entries

DATA_ROUNDS: Final = 200_000
JAX_LINE: Final = r"(?P<name>.+): (?P<million>[\d.]+) M decisions/s; .*; ratio (?P<ratio>[\d.]+)"
MEASURED_AGENTS: Final = (
    "random greedy greedy_long heuristic endgame:heuristic search:worlds=8 search ismcts reference"
    " champion:worlds=0 champion champion:adapt=1"
)
BASELINE_TABLES: Final = {
    "heuristic": "greedy_long greedy random",
    "greedy_long": "greedy random",
    "greedy": "greedy_long random",
    "random": "greedy_long greedy",
}
PAYING: Final = ("south", "south_winner", "south_count", "north", "bga")
ALONE: Final = "tienlen_agents.arena match"
DEALT: Final = "--deals {deals} --seed {seed} --out {out} --quiet"
TO_FILE: Final = "--out {out}/out.json"
PAIRED: Final = "--deals {deals} --seed {seed} --out {out}/rounds.jsonl"


SMALL_LEAGUE: Final = "heuristic champion:worlds=0 greedy_long greedy random"
_MEAN: Final = r"(?P<{0}>[-+]?[\d.]+) ± (?P<{0}_half>[\d.]+)"
_SHARE: Final = r"(?P<{0}>[\d.]+)%  \((?P<{0}_low>[\d.]+)% to (?P<{0}_high>[\d.]+)%\)"
NOTEBOOK_LINES: Final = (
    "the leader has " + _MEAN.format("leader"),
    "the lead is worth " + _MEAN.format("lead"),
    r"a 2 for a random other card: " + _MEAN.format("two"),
    "2♥ " + _MEAN.format("two_of_hearts"),
    "the fourth of a rank: " + _MEAN.format("fourth"),
    r"cards of the same ranks without a triple: (?P<plain>[-+][\d.]+)",
    r"four similar players: hand +" + _SHARE.format("hand_similar"),
    r"four different players: hand +" + _SHARE.format("hand_different"),
    r"four different players: player +" + _SHARE.format("player_different"),
)

SMALL_GAMES: Final = {  # by their name on the page
    "`mini`": "--rules mini",
    "6 ranks × 2 suits, 3 cards": "--deck '3s 3c 4s 4c 5s 5c 6s 6c 7s 7c 2s 2c' --cards-each 3",
    "`small`": "--rules small",
    "5 ranks × 2 suits, 4 cards": "--deck '3s 3c 4s 4c 5s 5c 6s 6c 2s 2c' --cards-each 4",
    "`medium`": "--rules medium",
    "7 ranks × 2 suits, 4 cards": "--deck '3s 3c 4s 4c 5s 5c 6s 6c 7s 7c 8s 8c 2s 2c' --cards-each 4",
}


def _strength(game: str, players: int, minutes: float) -> FigureEntry:
    return FigureEntry(
        f"strength-{game}-{players}",
        {"": f"research.strength --env {game} --players {players} {DEALT.removesuffix(' --quiet')}"},
        rows,
        (*ALL_AGENTS, "research/strength.py"),
        minutes,
        seed=4_000_001,
        deals=500,
    )


ENTRIES: Final = {
    entry.name: entry
    for entry in (
        FigureEntry(
            "baselines",
            {
                a: f"tienlen_agents.arena compare {a} {others} {DEALT}"
                for a, others in BASELINE_TABLES.items()
            },
            matches,
            BASELINES,
            2,
            seed=1,
            deals=2500,
        ),
        FigureEntry(
            "payments",
            {
                rules: f"{ALONE} heuristic greedy --composition 1v3 --rules {rules} {DEALT}"
                for rules in PAYING
            },
            matches,
            BASELINES,
            1,
            seed=1,
            deals=1000,
        ),
        FigureEntry(
            "trickster",
            {"": f"{ALONE} search:worlds=96 trickster --composition 1v3 --rules thirteens {DEALT}"},
            matches,
            ALL_AGENTS,
            3,
            seed=1,
            deals=200,
        ),
        FigureEntry(
            "decision-times",
            {"": f"research.search --agents '{MEASURED_AGENTS}' --deals 0 --seed {{seed}} {TO_FILE}"},
            rows,
            (*ALL_AGENTS, "research/search.py"),
            1,
            seed=1,
            is_speed=True,
        ),
        FigureEntry(
            "speed",
            {"": f"tienlen_bench.speed {TO_FILE}"},
            rows,
            (*ENGINE, *ENVIRONMENTS, *BENCHMARKS),
            4,
            is_speed=True,
        ),
        FigureEntry(
            "startup",
            {"": f"tienlen_bench.startup {TO_FILE}"},
            rows,
            (*ENGINE, *ENVIRONMENTS, AGENTS, *BENCHMARKS),
            6,
            is_speed=True,
        ),
        FigureEntry(
            "machine-code",
            {"": f"research.native {TO_FILE}"},
            rows,
            (*ALL_AGENTS, "research/native.py", *BENCHMARKS),
            12,
            is_speed=True,
        ),
        FigureEntry(
            "exact-speed",
            {name: f"tienlen_exact bench {game}" for name, game in SMALL_GAMES.items()},
            small_games,
            (*ENGINE, "extensions/exact/tienlen_exact"),
            2,
            is_speed=True,
        ),
        FigureEntry(
            "small-games-league",
            {
                rules: f"tienlen_agents.arena league {SMALL_LEAGUE} --rules {rules} {DEALT}"
                for rules in ("mini", "small", "medium", "large")
            },
            standings,
            ALL_AGENTS,
            3,
            seed=1,
            deals=2000,
        ),
        FigureEntry(
            "openspiel-cfr",
            {"": f"research.openspiel_cfr {TO_FILE}"},
            rows,
            (*ENGINE, "extensions/exact/tienlen_exact", "extensions/bridges", "research/openspiel_cfr.py"),
            3,
            is_speed=True,
        ),
        FigureEntry(
            "peers",
            {"": f"research.peers {TO_FILE}"},
            rows,
            (*ENGINE, *ENVIRONMENTS, "research/peers.py", "research/peer_loops.py"),
            4,
            is_speed=True,
        ),
        FigureEntry(
            "jax-speed",
            {"": "tests.extensions.bridges.jax_speed"},
            jax_rows,
            (*ENGINE, "extensions/bridges/tienlen_bridges/jax.py", "tests/extensions/bridges/jax_speed.py"),
            2,
            is_speed=True,
        ),
        FigureEntry(
            "jax-learning",
            {
                "with_jax": "examples.run jax --decisions 6000000 --deals {deals}",
                "with_mctx": "examples.run mctx --decisions 160000 --deals {deals}",
            },
            printed(r"points (?P<points>\S+) ± (?P<half_width>[\d.]+); parity is (?P<parity>[\d.]+)"),
            (
                *BASELINES,
                "extensions/bridges/tienlen_bridges/jax.py",
                "examples/with_jax.py",
                "examples/requirements/jax.txt",
                "examples/with_mctx.py",
                "examples/requirements/mctx.txt",
            ),
            6,
            deals=1000,
        ),
        FigureEntry(
            "pufferlib-speed",
            {"": "examples.run pufferlib"},
            printed(
                r"native (?P<native>[\d,]+), emulated (?P<emulated>[\d,]+); ratio of pairs (?P<ratio>[\d,]+)"
            ),
            (
                *ENGINE,
                *ENVIRONMENTS,
                "extensions/bridges/tienlen_bridges/pufferlib.py",
                "examples/with_pufferlib.py",
                "examples/requirements/pufferlib.txt",
            ),
            1,
            is_speed=True,
        ),
        FigureEntry(
            "data-speed",
            {
                agents: f"tienlen_data --agents {agents} --rounds {DATA_ROUNDS} --out {{out}}/data"
                for agents in ("random", "heuristic")
            },
            data_rates,
            (*BASELINES, "extensions/data/tienlen_data"),
            1,
            is_speed=True,
        ),
        FigureEntry(
            "cloning",
            {
                "data": "tienlen_data --agents champion:worlds=0 --rounds 20480 --shard-rounds 1024"
                " --out {out}/data",
                "train": "tienlen_data.bc --data {out}/../data/data --threads 1 --decisions 1250000"
                " --eval-every 0 --final-deals 0 --out {out}{resume}",
                "match": f"{ALONE} policy:{{out}}/../train/policy.safetensors heuristic --composition 1v3"
                f" {DEALT}",
            },
            lambda outputs: matches({"match": outputs["match"]}),
            (*TRAINING, "extensions/data/tienlen_data"),
            9,
            seed=1,
            deals=1000,
        ),
        FigureEntry(
            "notebook-deals",
            {"": "research.notebook notebooks/04_research_example.ipynb --budget 1"},
            printed(*NOTEBOOK_LINES),
            (*BASELINES, "notebooks/04_research_example.ipynb", "research/notebook.py"),
            4,
        ),
        FigureEntry(
            "first-install",
            {"": f"research.first_install {TO_FILE}"},
            rows,
            ("pyproject.toml", "constraints.txt", "Makefile", "research/first_install.py"),
            5,
            is_speed=True,
        ),
        FigureEntry(
            "learning",
            {"": f"research.learning {TO_FILE}"},
            rows,
            (*TRAINING, "research/learning.py"),
            8,
            is_speed=True,
        ),
        FigureEntry(
            "make-train",
            {
                name: f"tienlen_train.ppo {options} --seed {{seed}} --out {{out}}{{resume}}"
                for name, options in (
                    ("heuristic", "--prior heuristic"),
                    ("none", "--prior none"),
                    ("fp32", "--prior heuristic --precision fp32"),
                )
            },
            trainings,
            TRAINING,
            70,
            seed=1,
            deals=2500,
        ),
        FigureEntry(
            "train-thirteens",
            {
                "": "tienlen_train.ppo --env thirteens --decisions 1000000 --seed {seed} --out {out}{resume}",
            },
            matches,
            TRAINING,
            5,
            seed=1,
            deals=2500,
        ),
        FigureEntry(
            "tutorial",
            {
                "train": "tienlen_train.ppo --decisions 2000000 --out {out} --seed 1{resume}",
                "match": f"{ALONE} policy:{{out}}/../train/policy.safetensors heuristic --composition 1v3"
                f" {DEALT}",
            },
            matches,
            TRAINING,
            9,
            seed=7,
            deals=2500,
        ),
        FigureEntry(
            "small-champions",
            {
                rules: f"{ALONE} champion:size=small heuristic --composition 1v3 --rules {rules} {DEALT}"
                for rules in ("south", "south_count", "north")
            },
            matches,
            ALL_AGENTS,
            6,
            seed=1,
            deals=2500,
        ),
        FigureEntry(
            "small-networks",
            {
                rules: f"{ALONE} champion:size=small,worlds=0 heuristic --composition 1v3 --rules {rules}"
                f" {DEALT}"
                for rules in ("south_winner", "bga")
            },
            matches,
            ALL_AGENTS,
            1,
            seed=1,
            deals=1000,
        ),
        FigureEntry(
            "tutorial-opponent",
            {"": f"{ALONE} greedy_long heuristic --composition 1v3 {DEALT}"},
            matches,
            BASELINES,
            0.5,
            seed=7,
            deals=500,
        ),
        FigureEntry(
            "choices",
            {"": f"research.choices search champion champion:adapt=1 --seed {{seed}} {TO_FILE}"},
            rows,
            (*ALL_AGENTS, "research/choices.py", "research/hands.py"),
            12,
            seed=21,
        ),
        FigureEntry(
            "champion-adapt",
            {
                key: f"research.paired_match {PAIRED} {words}"
                for key, words in {
                    "4": "--opponent heuristic search champion champion:adapt=1",
                    "3": "--opponent heuristic --players 3 search champion champion:adapt=1",
                    "2": "--opponent heuristic --players 2 search champion champion:adapt=1",
                    "reference": "--opponent reference champion champion:adapt=1",
                }.items()
            },
            paired,
            (*ALL_AGENTS, "research/paired_match.py"),
            60,
            seed=58_000_001,
            deals=1000,
        ),
        *(_strength("tienlen", players, minutes) for players, minutes in ((4, 25), (3, 15), (2, 8))),
        *(_strength("thirteens", players, 3) for players in (7, 6, 5, 4, 3)),
    )
}

# The commit is that whose page first had the figures.
HISTORICAL: Final = {
    "champion-results": Historical("a0038c6", "python -m research.ship"),
    "champion-goals": Historical("c760291", "tienlen match champion reference --composition 1v3"),
    "champion-tried": Historical("c760291", "tienlen match policy:FILE reference --composition 1v3"),
    "soft-teacher": Historical("7172b01", "python -m research.soft_teacher --teacher-coef 2"),
    "gpu-engine": Historical("2a735ca", "make bench-gpu"),
    "exploiters-tienlen": Historical("ec367c5", "tienlen train best-response --agent champion:worlds=0"),
    "exploiters-thirteens": Historical("ec367c5", "tienlen train best-response --env thirteens"),
    "staleness": Historical("ebdd572", "tienlen train ppo --decisions 2000000 --staleness 1"),
    "cluster-scale": Historical("2c535af", "tienlen bench cluster"),
    "soft-root": Historical("95e65c5", "python -m research.paired_match --opponent reference"),
    "power": Historical("c4d55f1", "tienlen suite power runs/one runs/other"),
    "regret": Historical("2c535af", "tienlen regret champion champion:worlds=0 reference heuristic"),
    "curves": Historical("2c535af", "tienlen bench curves"),
    "native-tests": Historical("487bb6d", "make test"),
}
