"""What is measured: commands, their seeds and deals, the time that they take, and the sources behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from tools.figures.readers import (
    DATA_ROUNDS,
    Values,
    data_rates,
    jax_rows,
    learning_curves,
    lines_of,
    matches,
    nash_convs,
    paired,
    printed,
    rows,
    rows_by_key,
    small_games,
    solvers,
    standings,
    suite_costs,
    timed,
    trainings,
)


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
        digest: of their text (`pages.historical_digests`): ``--check`` fails if the text changes.
    """

    commit: str
    command: str
    digest: str


# ---------------------------------------------------------------- what a result depends on

ENGINE: Final = ("tienlen_env/games", "tienlen_env/engine")
ENVIRONMENTS: Final = ("tienlen_env/envs", "tienlen_env/single")
AGENTS: Final = "agents/tienlen_agents"
ARENA: Final = tuple(f"{AGENTS}/arena/{name}.py" for name in ("chunk", "play", "result", "stats"))
BASELINES: Final = (*ENGINE, *ARENA, f"{AGENTS}/rule_based")
LEARNED: Final = (f"{AGENTS}/search", f"{AGENTS}/networks", f"{AGENTS}/endgame.py")
WEIGHTS: Final = f"{AGENTS}/networks/weights"
NETWORK_CODE: Final = "__init__ agent general inference network policy_file sb3_policy shipped"
NETWORKS: Final = (
    f"{AGENTS}/networks/features",
    *(f"{AGENTS}/networks/{name}.py" for name in NETWORK_CODE.split()),
)
# These runs start from new weights and read none that are shipped: a shipped network makes no result stale.
TRAINING: Final = (*BASELINES, *NETWORKS, "train/tienlen_train")
BENCHMARKS: Final = ("train/tienlen_train/benchmarks.py", "extensions/bench/tienlen_bench")
ALL_AGENTS: Final = (*BASELINES, *LEARNED)

# ---------------------------------------------------------------- the entries

MEASURED_AGENTS: Final = (
    "random greedy greedy_long heuristic endgame:heuristic search:worlds=8 search ismcts reference"
    " champion:worlds=0 champion:file=tienlen-general-v4 champion:worlds=8 champion champion:worlds=128"
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
PAIRED_BY: Final = "--seed {seed} --out {out}/rounds.jsonl"
TRAINED: Final = "policy:{out}/../train/policy.safetensors"  # by the command "train" of the same entry
BEFORE: Final = "champion:file=tienlen-general-v4"
# The belief network without a look at the plays; the previous champion; this one.
HANDS_BY: Final = f"search:inference=0,prior=champion:worlds=0 {BEFORE} champion"
STRANGERS: Final = {  # the words of a command: who sits at the table, and the number of deals
    "greedy_long": "--opponent greedy_long --deals 1000",
    "greedy": "--opponent greedy --deals 1000",
    "ismcts": "--opponent ismcts --deals 250",
    "bot.py": "--opponent 'process:python examples/bot.py' --deals 1000",
    "MaskablePPO": "--opponent 'policy:{out}/../train/sb3.zip,trust=1' --deals 1000",
}
# Searches with the champion's network as prior and in the rollouts, which found the most to exploit in it.
NETWORK_SEARCH: Final = (
    "mcmc_effort=0.25,prior_weight=0.1,floor=0.0001,prior=champion:worlds=0,rollout=champion:worlds=0"
)
EXPLOITERS: Final = (
    f"champion champion:rollout=network search:worlds=16,{NETWORK_SEARCH} search:worlds=64,{NETWORK_SEARCH}"
    f" {TRAINED}"
)
# The champion at its tables: minutes, words of a command. Slow agents play the first 1,000 of the deals.
FAST: Final = f"--deals 2500 {BEFORE} champion:worlds=8 champion"
CHAMPION_TABLES: Final[Mapping[str, tuple[float, str]]] = {
    "4": (26, f"--opponent heuristic --players 4 {FAST}"),
    "3": (13, f"--opponent heuristic --players 3 {FAST}"),
    "2": (5, f"--opponent heuristic --players 2 {FAST}"),
    "reference": (30, f"--opponent reference {FAST}"),
    "before": (25, f"--opponent {BEFORE} --deals 2500 champion:worlds=8 champion"),
    "4-slow": (16, "--opponent heuristic --players 4 --deals 1000 search champion"),
    "3-slow": (8, "--opponent heuristic --players 3 --deals 1000 search champion"),
    "2-slow": (3, "--opponent heuristic --players 2 --deals 1000 search champion"),
    "reference-slow": (45, "--opponent reference --deals 1000 champion champion:worlds=128"),
}


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

NETWORK_DRAWN: Final = "policy:agents/tienlen_agents/networks/weights/tienlen-general-v5.safetensors,sample=1"
EXACT_AGENTS: Final = f"random greedy greedy_long heuristic champion:worlds=0 {NETWORK_DRAWN}"
LOOKING: Final = "heuristic champion:worlds=0 greedy random"
TRUSTS: Final = ("0", ".5", ".95", ".99", "1")
SEARCHES: Final = (
    "champion:worlds=32 champion:worlds=128 ismcts:worlds=32 ismcts:worlds=128 search:worlds=32"
    f" search:worlds=128 random {NETWORK_DRAWN}"
)
EXACT: Final = "extensions/exact/tienlen_exact"
SOLVED_TO: Final = {"mini": "0.0001", "small": "0.0001", "medium": "0.001", "large": "0.0001"}
COVERAGE_LINE: Final = (
    r"(?P<key>.+?)(?: \(\d+ of \d+ positions exact\))? +(?P<held>[\d.]+)%  x (?P<width>[\d.]+)"
)
SOFT_ROOT_LINE: Final = r"(?P<key>rollouts .*): mode (?P<mode>[\d.]+) soft (?P<soft>[\d.]+)"
SOFT_STEP_LINE: Final = r"(?P<key>start|step \d+):?(?: target [\d.]+, network)? (?P<network>[\d.]+)"
STRANGERS_LINE: Final = (
    r"(?P<key>\S+ +\d+-\d+) plays: (?P<positions>\d+): (?P<baseline>[\d.]+) (?P<known>[\d.]+)"
)
REGRET_LINE: Final = (
    r"│ (?P<key>\S+) +│ +(?P<mean>[-\d.]+) ± (?P<mean_half>[\d.]+) │"
    r" +(?P<above>[\d.]+)% ± (?P<above_half>[\d.]+)% │"
)
MINARI_LINE: Final = r"(?P<key>\S+): .*; (?P<episodes>\d+) episodes/s, (?P<kilobytes>\d+) kB each; .*"
SUITE: Final = ("extensions/suite/tienlen_suite", "examples/bot.pl", *ALL_AGENTS)


def _nash_conv(agents: str, rules: str, more: str = "") -> str:
    return f"tienlen_exact nashconv {agents} --rules {rules} --quiet{more} {TO_FILE}"


def _suite_run(agent: str) -> str:
    return f"tienlen_suite run {agent} --track A --quiet --out {{out}}/packet"


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
            (*ENGINE, *ENVIRONMENTS, AGENTS, "extensions/table/tienlen_table", *BENCHMARKS),
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
            timed(r"points (?P<points>\S+) ± (?P<half_width>[\d.]+); parity is (?P<parity>[\d.]+)"),
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
            (*TRAINING, WEIGHTS, "extensions/data/tienlen_data"),
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
            {"": f"research.choices search {BEFORE} champion --seed {{seed}} {TO_FILE}"},
            rows,
            (*ALL_AGENTS, "research/choices.py", "research/hands.py"),
            12,
            seed=21,
        ),
        FigureEntry(
            "regret",
            {
                "": f"tienlen_suite.regret champion {BEFORE} champion:worlds=0 reference heuristic"
                " --seed {seed} --out {out}"
            },
            lines_of(REGRET_LINE),
            (*ALL_AGENTS, "extensions/suite/tienlen_suite/regret.py"),
            45,
            seed=0,
        ),
        FigureEntry(
            "endings",
            {"": f"research.endings champion:worlds=0 {BEFORE},worlds=0 --seed {{seed}} {TO_FILE}"},
            rows,
            (*ALL_AGENTS, "research/endings.py"),
            3,
            seed=5,
        ),
        FigureEntry(
            "hands",
            {
                players: f"research.hands {players} {HANDS_BY} --rounds 300 --seed {{seed}} {TO_FILE}"
                for players in ("champion:worlds=0", "reference", "heuristic", "greedy_long")
            },
            rows_by_key,
            (*ALL_AGENTS, "research/hands.py"),
            8,
            seed=11,
        ),
        *(
            FigureEntry(
                f"champion-{name}",
                {"": f"research.paired_match {PAIRED_BY} {words}"},
                paired,
                (*ALL_AGENTS, "research/paired_match.py"),
                minutes,
                seed=58_000_001,
            )
            for name, (minutes, words) in CHAMPION_TABLES.items()
        ),
        FigureEntry(
            "champion-presets",
            {
                f"{preset} {players}": f"research.paired_match {PAIRED_BY} --deals 500 --rules {preset}"
                f" --players {players} {BEFORE} champion"
                for preset in ("cardgames", "mobile", "foicica", "pagat", *PAYING)
                for players in (2, 3, 4)
            },
            paired,
            (*ALL_AGENTS, "research/paired_match.py"),
            40,
            seed=58_000_001,
        ),
        FigureEntry(
            "champion-strangers",
            {
                "train": "research.sb3_player --out {out}/sb3.zip",
                **{
                    one: f"research.paired_match {PAIRED_BY} {words} {BEFORE} champion"
                    for one, words in STRANGERS.items()
                },
            },
            paired,
            (
                *ALL_AGENTS,
                *ENVIRONMENTS,
                *(f"research/{name}.py" for name in ("paired_match", "sb3_player")),
                "examples/bot.py",
            ),
            25,
            seed=58_000_001,
        ),
        FigureEntry(
            "champion-self-play",
            {
                "train": "tienlen_train.ppo --prior none --baseline-share 0 --decisions 50000000 --seed 59791"
                " --eval-every 0 --final-deals 0 --threads 1 --out {out}{resume}",
                "": f"research.paired_match {PAIRED_BY} --opponent {TRAINED} {FAST}",
            },
            paired,
            (*ALL_AGENTS, *TRAINING, "research/paired_match.py"),
            195,
            seed=58_000_001,
        ),
        FigureEntry(
            "exploiters",
            {
                "train": "tienlen_train.best_response --agent champion:worlds=0 --rules cardgames"
                " --decisions 5000000 --learning-rate 0.00025 --num-games 4096 --batch-size 8192"
                " --critic playout --critic-width 512 --critic-warmup 8 --gae-lambda 0.8 --ent-coef 0.003"
                " --eval-every 0 --final-deals 0 --threads 1 --seed 33 --out {out}{resume}",
                "champion:worlds=0": f"research.paired_match {PAIRED_BY} --deals 125"
                f" --opponent champion:worlds=0 champion:worlds=0 {EXPLOITERS}",
                "champion": f"research.paired_match {PAIRED_BY} --deals 125 --opponent champion {EXPLOITERS}",
            },
            paired,
            (*ALL_AGENTS, *TRAINING, "research/paired_match.py"),
            120,
            seed=58_000_001,
        ),
        FigureEntry(
            "coverage",
            {
                "statistics": "tests.agents.arena.test_coverage",
                "searches": "tests.agents.arena.test_coverage searches 50",
            },
            lines_of(COVERAGE_LINE),
            (*ALL_AGENTS, "tests/agents/arena/test_coverage.py"),
            16,
        ),
        FigureEntry(
            "strangers",
            {"": "research.strangers heuristic reference champion:worlds=0 greedy_long --rounds 60"},
            lines_of(STRANGERS_LINE),
            (*ALL_AGENTS, "research/strangers.py"),
            1,
        ),
        FigureEntry(
            "exact-agents",
            {rules: _nash_conv(EXACT_AGENTS, rules) for rules in SOLVED_TO},
            nash_convs,
            (*ALL_AGENTS, EXACT),
            1,
        ),
        FigureEntry(
            "exact-solvers",
            {
                f"{algorithm} {rules}": f"tienlen_exact solve --rules {rules} --algorithm {algorithm}"
                f" --until {until} --every 10 --quiet --out {{out}}"
                for algorithm in ("cfr+", "dcfr")
                for rules, until in SOLVED_TO.items()
            },
            solvers,
            (*ENGINE, EXACT),
            2,
        ),
        FigureEntry(
            "exact-lookahead",
            {
                f"{rules} {trust}": _nash_conv(LOOKING, rules, f" --lookahead {trust}")
                for rules in ("small", "medium")
                for trust in TRUSTS
            },
            nash_convs,
            (*ALL_AGENTS, EXACT),
            2,
        ),
        FigureEntry(
            "exact-sampled",
            {
                f"{rules} {repeats}": _nash_conv(SEARCHES, rules, f" --repeats {repeats} --sampled")
                for rules, repeats in (("mini", 4), ("mini", 16), ("small", 2))
            },
            nash_convs,
            (*ALL_AGENTS, EXACT),
            40,
        ),
        FigureEntry(
            "soft-root",
            {rules: f"research.soft_root {rules}" for rules in ("small", "medium")},
            lines_of(SOFT_ROOT_LINE),
            (*ALL_AGENTS, EXACT, "research/soft_root.py"),
            1,
        ),
        FigureEntry(
            "soft-steps",
            {rules: f"research.soft_steps {rules}" for rules in ("mini", "small")},
            lines_of(SOFT_STEP_LINE),
            (*ALL_AGENTS, *TRAINING, EXACT, "research/soft_root.py", "research/soft_steps.py"),
            20,
        ),
        FigureEntry(
            "nash-conv",
            {"": "tienlen_exact.nash_conv --workers 1 --out {out}"},
            learning_curves,
            (*TRAINING, EXACT),
            40,
            is_speed=True,  # the solvers have three seconds
        ),
        FigureEntry(
            "suite-costs",
            {
                "run heuristic": _suite_run("heuristic"),
                "run champion": _suite_run("champion"),
                "run perl": _suite_run("'process:perl examples/bot.pl'"),
                "run heuristic quick": _suite_run("heuristic") + " --quick",
                "run champion quick": _suite_run("champion") + " --quick",
                "check": "tienlen_suite check {out}/../run-heuristic/packet --seed 1 --quiet",
                "replay": "tienlen_suite replay {out}/../run-heuristic/packet --seed 1 --quiet",
            },
            suite_costs,
            SUITE,
            14,
            is_speed=True,
        ),
        FigureEntry(
            "minari-speed",
            {"": "examples.run minari"},
            lines_of(MINARI_LINE),
            (*BASELINES, "extensions/data/tienlen_data", "examples/with_minari.py"),
            1,
            is_speed=True,
        ),
        *(_strength("tienlen", players, minutes) for players, minutes in ((4, 25), (3, 15), (2, 8))),
        *(_strength("thirteens", players, 3) for players in (7, 6, 5, 4, 3)),
    )
}

# The commit is that whose page first had the figures.
HISTORICAL: Final = {
    "champion-results": Historical("a0038c6", "python -m tienlen_train.ship", "5580b7f0a07f6371"),
    "champion-steps": Historical(
        "7d6bdf8",
        "python -m research.paired_match --opponent reference --deals 5000 --seed 68000001 policy:FILE",
        "11d311f4f15d5c8a",
    ),
    "champion-limits": Historical("092d578", "python -m research.choices champion", "c0ae9d06d506fa6e"),
    "champion-kinds": Historical(
        "60c2fdb", "python -m research.hands reference champion --rounds 300", "c87ed6df1d376bcd"
    ),
    "champion-goals": Historical(
        "a0038c6", "tienlen match champion reference --composition 1v3", "baded0c75e796484"
    ),
    "champion-tried": Historical(
        "ed6efc6", "tienlen match policy:FILE reference --composition 1v3", "8dc1df3a9c888fb3"
    ),
    "champion-hands": Historical(
        "c760291", "tienlen match policy:FILE reference --composition 1v3", "1c6aea41d2f54837"
    ),
    "small-games": Historical(
        "70fdf64", "python -m tienlen_exact solve --rules small --until 0.0001", "cf16bd4e78171f65"
    ),
    "small-games-chosen": Historical(
        "70fdf64", "python -m tienlen_exact solve --cards-each 4 --deck DECK", "20136408f9d90b3d"
    ),
    "budget-units": Historical("e8a8af0", "tienlen suite run champion --track A --quick", "d0dce550ea1b6bba"),
    "onnx": Historical(
        "6a067f3", "pytest -m nightly -s tests/extensions/bridges/test_onnx_policy.py", "34aa28e8e9f44f00"
    ),
    "wheel-sizes": Historical("89d433d", "make wheel", "8408091f45e8fcdc"),
    "soft-teacher": Historical(
        "f74fa93", "python -m research.soft_teacher --teacher-coef 2", "3ff62ddcfdab10fb"
    ),
    "gpu-learning": Historical("cc8eeb6", "make bench-gpu", "698d8cbc601bb218"),
    "gpu-engine": Historical("bcfc7db", "make bench-gpu", "1329a6fb21fff2ec"),
    "exploiters-tienlen": Historical(
        "a0038c6", "tienlen train best-response --agent champion:worlds=0", "571882a5b68821d2"
    ),
    "exploiters-thirteens": Historical(
        "ec367c5", "tienlen train best-response --env thirteens", "eedfbe8d8b87e457"
    ),
    "staleness": Historical(
        "ebdd572", "tienlen train ppo --decisions 2000000 --staleness 1", "c341f26759ddbabd"
    ),
    "cluster-scale": Historical("2c535af", "tienlen bench cluster", "c644258f26a6f6f7"),
    "soft-root": Historical(
        "95e65c5",
        "python -m research.paired_match --module research.variants --opponent reference champion damped",
        "e983c236849a0769",
    ),
    "power": Historical("c4d55f1", "tienlen suite power runs/one runs/other", "772ca842d7c89303"),
    "curves": Historical("2c535af", "tienlen bench curves", "8a9c50d29d0ea467"),
    "native-tests": Historical("487bb6d", "make test", "d1cf7b7b15550262"),
}
