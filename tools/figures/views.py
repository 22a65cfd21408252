"""What the pages show of the results: a name in a marker of a page, and the Markdown between the markers."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from tools.figures import exact_views
from tools.figures.registry import (
    BASELINE_TABLES,
    BEFORE,
    CHAMPION_TABLES,
    ENTRIES,
    HISTORICAL,
    PAYING,
    WEIGHTS,
)
from tools.figures.results import cheapest_first, minutes_of, result_of, values_of
from tools.figures.sources import ROOT
from tools.figures.text import duration, interval, probability, rate, significant, table

LEADERBOARD: Final = ROOT / "leaderboard"
LARGE: Final = 5  # a parity from here on is shown with one digit

# ---------------------------------------------------------------- the agents of the README

AGENTS: Final = {  # by the row of track A
    "random": "uniform over the legal actions",
    "greedy": "plays the lowest legal card",
    "greedy_long": "the same, leads the most cards",
    "heuristic": "fewest plays for its hand, weighs control",
    "search": "evaluates actions in sampled deals",
    "ismcts": "one search tree over sampled deals",
    "reference": "a network of self-play alone",
    "champion-network": "one network for every variant",
    "champion": "the same, refined by a small search",
}


def agents() -> str:
    """Rating and points against three equal opponents on track A, and the time of a decision."""
    times = values_of("decision-times")
    found = []
    for row, words in AGENTS.items():
        packet = json.loads((LEADERBOARD / f"A-{row}.json").read_text(encoding="utf-8"))["packet"]
        name, figures = packet["agent"], packet["figures"]
        rating = figures["ratings"]["agent"]
        against = {one["title"].partition(" v. ")[2]: one["points"] for one in figures["tables"]}
        points = [_of_packet(against[f"3 × {base}"]) for base in ("heuristic", "reference")]
        rated = interval((rating["mean"], rating["half_width"]), 1)
        cells = [f"`{name}`", words, rated, *points, significant(times[name]["mean"])]
        found.append((rating["mean"], cells))
    ranked = [cells for _, cells in sorted(found, key=lambda pair: pair[0])]
    # A whole track takes `search` hours, so its points are those of the champion's page.
    of_search = interval(values_of("champion-4-slow")[""]["search"]["points"])
    what = "as `worlds=8`, more deals; not on track A"
    ranked.append(["`search`", what, "–", of_search, "–", significant(times["search"]["mean"])])
    return table(
        ["agent", "what it is", "rating", "v. `heuristic`", "v. `reference`", "ms a decision"], ranked
    )


def _of_packet(points: Mapping[str, float]) -> str:
    if not points["half_width"]:
        return f"{points['mean']:g}"  # of itself
    return interval((points["mean"], points["half_width"]))


# ---------------------------------------------------------------- speed

SPEED: Final = {  # path on the page: (row, what it is compared with, in words)
    "`tienlen_v1.raw_env()`": ("tienlen_v1.raw_env()", "an AEC environment that does nothing"),
    "`tienlen_v1.env()`": ("tienlen_v1.env()", "the do-nothing environment behind the same wrappers"),
    '`Batch("cardgames", 4096)`': ("Batch cardgames", "one core"),
    "`thirteens_v0.raw_env()`": ("thirteens_v0.raw_env()", "`tienlen_v1.raw_env()`"),
    "`Round` with `legal_plays()`": ("Round, legal_plays()", "one game at a time, for people"),
    '`Batch("foicica", 4096)`': ("Batch foicica", "one core, 994 actions"),
    '`Batch("thirteens", 4096)`': ("Batch thirteens", "one core"),
    '`Batch("cardgames", 16384, threads=2)`': ("Batch cardgames, 2 threads", ""),
    "two batches of 8,192, a Python thread each": (
        "2 batches, a thread each",
        "one thread: the kernels hold no lock",
    ),
}


def speed(paths: Sequence[str]) -> str:
    """Decisions a second of some paths."""
    rows = values_of("speed")
    lines = []
    for path in paths:
        row, words = SPEED[path]
        ratios = list(rows[row]["ratios"].values())
        if ratios:
            words = f"{ratios[0]:.2f} × {words}"
        lines.append([path, rate(rows[row]["median"]), words])
    return table(["path", "decisions/s", "in comparison"], lines)


# ---------------------------------------------------------------- matches


def baselines() -> str:
    """Who beats whom, points and first places."""
    found = values_of("baselines")
    columns = ("greedy_long", "greedy", "random")
    lines = []
    for name in BASELINE_TABLES:
        cells = ["parity" if name == base else _points_and_first(found[name], base) for base in columns]
        lines.append([f"`{name}`", *cells])
    return table(["A", *(f"v. three `{base}`" for base in columns)], lines)


def _points_and_first(tables: Mapping[str, Any], opponent: str) -> str:
    figures = _alone(tables, opponent)
    return f"{interval(figures['points'])} / {interval(figures['first'], 1, percent=True)} %"


def payments() -> str:
    """Units a round of `heuristic` against `greedy`, in each preset with payments, and points in `bga`."""
    found = values_of("payments")
    return table(_PAYING_HEAD, [["`heuristic`", *(_main(found[name], "greedy") for name in PAYING)]])


def small() -> str:
    """The same for the small networks, against `heuristic`."""
    lines = []
    for result, agent in (("small-champions", ""), ("small-networks", ",worlds=0")):
        found = values_of(result)
        cells = [_main(found[name], "heuristic") if name in found else "–" for name in PAYING]
        lines.append([f"`champion:size=small{agent}`", *cells])
    return table(_PAYING_HEAD, lines)


_PAYING_HEAD: Final = [
    "",
    *(f"`{name}`" if name != "bga" else "`bga` (points, parity 1.5)" for name in PAYING),
]


def _alone(tables: Mapping[str, Any], opponent: str, seat: int = 0) -> dict[str, list[float]]:
    """The figures of the agent that plays alone against three of another one, or of the three (seat 1)."""
    (found,) = (agents for title, agents in tables.items() if title.endswith(f" v. 3 × {opponent}"))
    return dict(list(found.values())[seat])


def _main(tables: Mapping[str, Any], opponent: str) -> str:
    figures = _alone(tables, opponent)
    return interval(figures.get("units", figures["points"]))


def figure(name: str, key: str, opponent: str, what: str, digits: int = 2, seat: int = 0) -> str:
    """One figure of a match."""
    found = _alone(values_of(name)[key], opponent, seat)
    return interval(found[what], digits, percent=what == "first")


MAKE_TRAIN: Final = {
    "heuristic": "`make train`: points",
    "none": 'with `ARGS="--prior none"`',
    "fp32": 'with `ARGS="--precision fp32"`',
}


def make_train() -> str:
    """What `make train` reaches, with and without the rule-based prior."""
    found = values_of("make-train")
    lines = []
    for opponent in ("random", "greedy", "greedy_long", "heuristic"):
        cells = [f"three `{opponent}`"]
        for tables in found.values():
            figures = _alone(tables, opponent)
            cells += [interval(figures["points"]), f"{interval(figures['first'], 1, percent=True)} %"]
        lines.append(cells)
    lines.append(
        ["processor time", *(cell for one in found.values() for cell in (f"{one['minutes']:.0f} min", ""))]
    )
    head = ["alone against", *(cell for key in found for cell in (MAKE_TRAIN[key], "first"))]
    return table(head, lines)


def learning() -> str:
    """Decisions a second of training."""
    found = values_of("learning")
    rates = {name: statistics.median(row["rates"]) for name, row in found.items()}
    ranked = sorted(rates.items(), key=lambda pair: -pair[1])
    return table(["", "decisions/s"], [[name, rate(value)] for name, value in ranked])


def exact_speed() -> str:
    """Times of small games."""
    lines = []
    for game, found in values_of("exact-speed").items():
        steps = ("build the tree", "best responses of all seats", "an iteration of cfr+")
        lines.append([game, f"{found['information_sets']:,}", *(duration(found[step]) for step in steps)])
    return table(
        ["game", "information sets", "tree", "best responses of both seats", "an iteration of `cfr+`"], lines
    )


STARTS: Final = {  # row: what one waits for
    "import tienlen_env": "`import tienlen_env`",
    "first step of gymnasium.make": "the first step of `gymnasium.make`",
    "first step of tienlen_v1.env()": "the first step of `tienlen_v1.env()`",
    "first step of a Batch": "the first step of a `Batch`",
    "match heuristic greedy, 50 deals": "the end of `tienlen match heuristic greedy --deals 50`",
    "champion v. heuristic, 5 deals": "the end of `tienlen match champion heuristic --deals 5`",
    "play to the first hand": "the first hand of `tienlen play`",
}


def startup() -> str:
    """Seconds from a new process to a first step, match or hand, and its memory."""
    found = values_of("startup")
    lines = []
    for row, words in STARTS.items():
        times = (f"{found[row][time]:.2f} s" for time in ("first", "again"))
        lines.append([words, *times, f"{found[row]['memory']:.0f} MB"])
    return table(["until", "first", "again", "memory"], lines)


def startup_packages() -> str:
    """The packages that come with this one, and nothing, each imported in a process of its own."""
    found = {row: one for row, one in values_of("startup").items() if row not in STARTS}
    slowest = sorted(found.items(), key=lambda pair: (-round(pair[1]["first"], 2), pair[0]))
    lines = [
        [f"`{row.removeprefix('import ')}`", f"{one['first']:.2f} s", f"{one['memory']:.0f} MB"]
        for row, one in slowest
    ]
    return table(["package", "until it is imported", "memory"], lines)


def machine_code() -> str:
    """How many times as fast the machine code is as Numba's: the batches of each game in one row."""
    found = {row: one["ratio"] for row, one in values_of("machine-code").items()}
    batches = {
        row.removeprefix("Batch "): found.pop(row)
        for row in list(found)
        if row.startswith("Batch ") and "," not in row
    }
    lines = []
    for game in ("Tiến lên", "Thirteens"):
        of_game = {
            rules: ratio
            for rules, ratio in batches.items()
            if rules.startswith("thirteens") == (game == "Thirteens")
        }
        low, high = min(of_game, key=of_game.__getitem__), max(of_game, key=of_game.__getitem__)
        ratios = f"{of_game[low]:.2f} (`{low}`) to {of_game[high]:.2f} (`{high}`)"
        lines.append([f"`Batch`, {len(of_game)} presets of {game}", ratios])
    lines += [[f"`{row}`", f"{ratio:.2f}"] for row, ratio in found.items()]
    return table(["row", "native / Numba"], lines)


# ---------------------------------------------------------------- beside others


def peers() -> str:
    """Decisions a second of other libraries' card games, and of ours in the same run."""
    lines = []
    for name, row in values_of("peers").items():
        library, game = name.split()
        ours = '`Batch("cardgames", 4096)`' if row["by"] == "batch" else "`tienlen_v1.raw_env()`"
        lines.append(
            [
                f"{LIBRARIES[library]}, `{game}`",
                rate(row["theirs"]),
                ours,
                rate(row["ours"]),
                f"{significant(row['ratio'])} ×",
            ]
        )
    return table(["library and game", "decisions/s", "beside", "decisions/s", "ratio"], lines)


LIBRARIES: Final = {"pettingzoo": "PettingZoo", "rlcard": "RLCard", "openspiel": "OpenSpiel", "pgx": "Pgx"}


CHAMPION_WORDS: Final = {
    "4": "three `heuristic`",
    "3": "two `heuristic`",
    "2": "one `heuristic`",
    "reference": "three `reference`",
    "self-play": "three of a policy of self-play that was trained afterwards",
    "before": f"three `{BEFORE}`",
}
TABLES: Final = tuple(f"champion-{name}" for name in CHAMPION_WORDS)
SLOW_TABLES: Final = tuple(f"champion-{name}" for name in CHAMPION_TABLES if name.endswith("-slow"))
QUICK: Final = (BEFORE, "champion:worlds=8", "champion")
SLOW: Final = ("champion", "search", "champion:worlds=128")


def _at_tables(tables: Sequence[str], agents: Sequence[str], minus: str) -> str:
    """Points of agents alone against equal others, on the same deals; and the champion's less another's."""
    lines = []
    for name in tables:
        found = values_of(name)[""]
        cells = [interval(found[agent]["points"], 3) if agent in found else "–" for agent in agents]
        is_paired = next(iter(found)) == minus
        more = interval(found["champion"]["more"], 3).replace("-", "−") if is_paired else "–"
        lines.append([CHAMPION_WORDS[name.removeprefix("champion-").removesuffix("-slow")], *cells, more])
    times = values_of("decision-times")
    milliseconds = [f"{significant(times[agent]['mean'])} ms" for agent in agents]
    lines.append(["time of a decision", *milliseconds, "–"])
    return table(["against", *(f"`{agent}`" for agent in agents), f"`champion` minus `{minus}`"], lines)


def champion_tables() -> str:
    """The champion beside the one before it."""
    return _at_tables(TABLES, QUICK, BEFORE)


def champion_slow() -> str:
    """The champion beside searches that take longer, on fewer deals."""
    return _at_tables(SLOW_TABLES, SLOW, "search")


def champion_presets() -> str:
    """What the champion earns more than the one before it, by preset and number of players."""
    found = values_of("champion-presets")
    lines = []
    for preset in dict.fromkeys(key.split()[0] for key in found):
        unit = "units" if preset in PAYING and preset != "bga" else "points"
        cells = [
            interval(found[f"{preset} {players}"]["champion"]["more"]).replace("-", "−")
            for players in (2, 3, 4)
        ]
        lines.append([f"`{preset}`", unit, *cells])
    return table(["preset", "a round", "2 players", "3 players", "4 players"], lines)


ASKED: Final = (  # points; the table, the agent
    ("4", "champion", "1.97"),
    ("3", "champion", "1.29"),
    ("2", "champion", "0.70"),
    ("reference", "champion:worlds=8", "1.69"),
    ("reference", "champion", "1.72"),
    ("reference-slow", "champion:worlds=128", "1.76"),
    ("self-play", "champion", "1.69"),
    ("before", "champion", "1.53"),
)


def champion_asked() -> str:
    """What was asked of the champion, and what it reaches: points, hands, and what can be exploited."""
    lines = []
    for name, agent, least in ASKED:
        against = CHAMPION_WORDS[name.removesuffix("-slow")]
        reached = values_of(f"champion-{name}")[""][agent]["points"]
        lines.append([f"`{agent}`", f"points against {against}", f"≥ {least}", interval(reached, 3)])
    owner = values_of("hands")["champion:worlds=0"]["champion"][HANDS_RANGE]
    lines.append(["`champion`", "probability of the true owner, as above", "≥ 0.74", f"{owner:.3f}"])
    for target, most in (("champion:worlds=0", "0.108"), ("champion", "0.029")):
        found = values_of("exploiters")[target]
        best = max((name for name in found if name != target), key=lambda name: found[name]["points"][0])
        what = "gain of the best [exploiter](exploiters.md) that is known"
        lines.append([f"`{target}`", what, f"< {most}", _gain(found[best])])
    searched = values_of("exact-sampled")["small 2"]["champion:worlds=32"]
    lines.append(["`champion`", "[NashConv](exact.md) on `small`", "≤ .08", probability(searched)])
    taught = values_of("soft-steps")["small"]["step 6"]["network"]
    lines.append(
        ["the network, its actions drawn, after six soft steps", "the same", "≤ .02", probability(taught)]
    )
    return table(["agent", "what", "asked", "reached"], lines)


def champion_strangers() -> str:
    """The champion and the one before it among others that neither learned to beat."""
    lines = []
    for name, found in values_of("champion-strangers").items():
        points = [interval(found[agent]["points"], 3) for agent in (BEFORE, "champion")]
        lines.append([f"three `{name}`", *points, interval(found["champion"]["more"], 3).replace("-", "−")])
    return table(["against", f"`{BEFORE}`", "`champion`", "difference"], lines)


EXPLOITER_WORDS: Final = {
    "champion": "`champion`",
    "champion:rollout=network": "`champion:rollout=network`",
    "search:worlds=16": "a search with the champion's network as prior and in the rollouts, 16 deals",
    "search:worlds=64": "the same, 64 deals",
    "policy:policy.safetensors": "PPO from the network's weights",
}


def _gain(found: Mapping[str, Any]) -> str:
    """Over parity, four players. Copies of a search differ, so a match of them is no better measure."""
    points, half = found["points"]
    return interval((points - 1.5, half), 3).replace("-", "−")


def exploiters() -> str:
    """What agents gain over parity, alone against three of the champion's network, and of the champion."""
    targets = values_of("exploiters")
    lines = []
    for start, words in EXPLOITER_WORDS.items():
        cells = [words]
        for target in ("champion:worlds=0", "champion"):
            (name,) = (one for one in targets[target] if one == start or one.startswith(f"{start},"))
            cells.append("0" if name == target else _gain(targets[target][name]))
        lines.append(cells)
    return table(["exploiter, alone", "against three `champion:worlds=0`", "against three `champion`"], lines)


HANDS_RANGE: Final = "10-19"  # unseen cards


def choices() -> str:
    """What agents give away at a table of rule-based players, by the number of unseen cards."""
    lines = []
    for name, found in values_of("choices").items():
        parts = [f"{found[key]:.3f}" for key in found if key != "regret"]
        lines.append([f"`{name}`", interval(found["regret"], 3), *parts])
    head = [f"{key} unseen cards" for key in next(iter(values_of("choices").values())) if key != "regret"]
    return table(["agent", "regret", *head], lines)


def hands() -> str:
    """P(true owner) of an unseen card, by the players at the table and by the agent that searches."""
    lines = []
    for players, found in values_of("hands").items():
        lines.append([f"`{players}`", *(f"{owners[HANDS_RANGE]:.3f}" for owners in found.values())])
    return table(["who plays", "the belief network alone", f"`{BEFORE}`", "`champion`"], lines)


def regret() -> str:
    """What a choice costs on average, and how often it costs much."""
    lines = []
    for name, row in values_of("regret")[""].items():
        mean, above = (row["mean"], row["mean_half"]), (row["above"] / 100, row["above_half"] / 100)
        lines.append([f"`{name}`", interval(mean, 3), f"{interval(above, 1, percent=True)} %"])
    return table(["agent", "mean regret, points", "above 0.3"], lines)


def endings() -> str:
    """The share of won endings that networks give away."""
    lines = []
    for name, row in values_of("endings").items():
        lines.append([f"`{name}`", f"{interval(row['given_away'], 2, percent=True)} %", f"{row['won']:,}"])
    return table(["network", "given away", "of won endings"], lines)


def openspiel_cfr() -> str:
    """An iteration of CFR+."""
    lines = []
    for name, row in values_of("openspiel-cfr").items():
        each = 1000 * row["milliseconds"] / row["information_sets"]
        lines.append(
            [name, f"{row['information_sets']:,}", duration(row["milliseconds"]), f"{significant(each)} µs"]
        )
    return table(["game", "information sets", "time", "for one information set"], lines)


def small_games_league() -> str:
    """Points of five agents in leagues of small games."""
    found = values_of("small-games-league")
    agents = sorted(next(iter(found.values())), key=lambda name: -found["small"][name][0])
    lines = [[f"`{name}`", *(interval(points[name], 3) for points in found.values())] for name in agents]
    return table(["agent", *(f"`{game}`" for game in found)], lines)


JAX_ROWS: Final = {
    "jax, ffi": "`tienlen_bridges.jax`",
    "jax, pure_callback": "the same through Python (`pure_callback`)",
}


def jax_speed() -> str:
    """Million decisions a second in `lax.scan`."""
    found = values_of("jax-speed")
    lines = [
        [words, significant(found[row]["million"], 3), f"{found[row]['ratio']:.2f}"]
        for row, words in JAX_ROWS.items()
    ]
    return table(["in `lax.scan`", "speed", "to `Batch.step` in the same run"], lines)


def jax_learning() -> str:
    """What the examples with JAX and mctx learn."""
    entry = ENTRIES["jax-learning"]
    lines = []
    for key, found in values_of(entry.name).items():
        time = f"{found['processor_seconds'] / 60:.1f} minutes"
        points = interval((found["points"], found["half_width"]), 3)
        lines.append([f"`python -m {entry.command(key)}`", time, points, f"{found['parity']:g}"])
    return table(["command", "processor time, with the installation", "points", "parity"], lines)


def pufferlib_speed() -> str:
    """Decisions a second of both ways into PufferLib."""
    (found,) = values_of("pufferlib-speed").values()
    return table(
        ["", "decisions/s", "ratio of pairs"],
        [
            [
                "`SelfPlayPufferEnv`, observations of all seats",
                rate(found["native"]),
                f"{found['ratio']:.0f}",
            ],
            ["`PettingZooPufferEnv`, one game", rate(found["emulated"]), "1"],
        ],
    )


def data_speed() -> str:
    """Rounds a second, and bytes a decision, of data sets."""
    return table(
        ["`tienlen data --agents ...`", "rounds/s", "bytes a decision"],
        [
            [f"`{agents}`", rate(found["rounds_per_second"]), f"{found['bytes_per_decision']:.1f}"]
            for agents, found in values_of("data-speed").items()
        ],
    )


def notebook_deals() -> str:
    """What the fourth notebook finds."""
    (found,) = values_of("notebook-deals").values()

    def mean(name: str, digits: int = 3, sign: str = "") -> str:
        return f"{found[name]:{sign}.{digits}f} ± {found[f'{name}_half']:.{digits}f}"

    def share(name: str) -> str:
        return f"{found[name]:.1f} % ({found[f'{name}_low']:.1f} to {found[f'{name}_high']:.1f})"

    lines = [
        ["points of the leader (parity: 1.5)", mean("leader")],
        ["value of the lead, compared with another seat", f"{mean('lead')} points"],
        ["share of the variance that the hand explains, four near-equal players", share("hand_similar")],
        [
            "the same among `heuristic`, `greedy_long`, `greedy` and `random`",
            f"{share('hand_different')}; the player explains {found['player_different']:.1f} %",
        ],
        [
            "a 2 instead of a random other card",
            f"{mean('two', sign='+')} points; the 2♥ alone {mean('two_of_hearts', 2, '+')}",
        ],
        [
            "the fourth card of a rank, which makes a bomb",
            f"{mean('fourth', sign='+')} points; cards of the same ranks otherwise {found['plain']:+.2f}",
        ],
    ]
    return table(["question", "answer"], lines)


def first_install() -> str:
    """What a newcomer waits for, in a sentence."""
    found = values_of("first-install")
    seconds = [row["processor_seconds"] for row in found.values()]
    return (
        f"{sum(seconds):.0f} seconds of processor time, {seconds[0]:.0f} of them for a `.venv` of "
        f"{found['installation']['megabytes']:,} MB"
    )


# ---------------------------------------------------------------- strength


def strength(name: str) -> str:
    """One table of strength: presets against agents."""
    found = values_of(name)
    names = list(dict.fromkeys(agent for row in found.values() for agent in row["agents"]))
    lines = []
    for preset, row in found.items():
        # Units, and the points of a trick-taking game, are larger numbers with wider intervals.
        digits = 2 if row["figure"] == "points" and row["parity"] < LARGE else 1
        cells = [interval(row["agents"][one], digits) if one in row["agents"] else "–" for one in names]
        lines.append([f"`{preset}`", f"{round(row['parity'], digits):g} {row['figure']}", *cells])
    return table(["preset", "parity", *(f"`{one}`" for one in names)], lines)


# ---------------------------------------------------------------- checks and costs

_SIZES: Final = ("20 deals", "200 deals")
_RATES: Final = ("0.2%", "2.0%", "20.0%")
_ADVANTAGES: Final = ("0", "0.1", "0.3")
_SEARCHED: Final = ("cardgames", "south", "north", "thirteens")
COVERAGE: Final = (  # a row: of what, how, against which truth; and the lines that the command prints
    (
        "points, units of `match`, `compare`, `league`, `bench`, training",
        "Student's t over deals; all games of a deal are one observation",
        "3,000 real deals; samples of 20 · 200",
        [f"points, {size}" for size in _SIZES],
    ),
    ("units in `south`", "the same", "20 · 200 deals", [f"units (south), {size}" for size in _SIZES]),
    (
        "difference of two agents on the same deals",
        "the same, of the differences",
        "20 · 200 deals",
        [f"paired difference of points, {size}" for size in _SIZES],
    ),
    (
        "first places, places",
        "the same, with two more events in the variance",
        "20 · 200 deals",
        [f"first places, {size}" for size in _SIZES],
    ),
    (
        "first places of `random` against `heuristic`",
        "the same",
        "20 · 200 deals",
        [f"first places of random against heuristic, {size}" for size in _SIZES],
    ),
    (
        "blunders per 100 endgames: 0.2 · 2 · 20",
        "a ratio of totals, with two more events",
        "200 deals, 600 endgames",
        [f"blunders, {share} of 600 endgames" for share in _RATES],
    ),
    (
        "decisions above a regret, of 100: 0.2 · 2 · 20",
        "as for places",
        "1,000 decisions",
        [f"share of 1,000 decisions, {share}" for share in _RATES],
    ),
    (
        "`--bootstrap`",
        "percentiles of 2,000 resamples of the deals",
        "50 · 200 deals",
        ["bootstrap, 50 deals", "bootstrap, 200 deals"],
    ),
    (
        "`--stop-when-clear`, where the match ends",
        "valid at all deals at once, so wider than one look needs",
        "advantage of 0 · 0.1 · 0.3 deviations",
        [f"early stopping, advantage {advantage} deviations" for advantage in _ADVANTAGES],
    ),
    (
        "rating of a league",
        "spread over 40 resamples of the deals, by Student's t",
        "the mean rating of leagues of 12 deals",
        ["ratings, 12 deals"],
    ),
    (
        "loss of a play (and its regret): six plays that are equal · 0.1 apart",
        "half of the series choose the best play, the other half judge it",
        "16 series",
        ["loss, equal plays", "loss, plays 0.1 apart"],
    ),
    (
        "points of a play, `search` with 32 deals, in `cardgames` · `south` · `north` · `thirteens`",
        "all deals, or 16 independent series",
        "50 positions each, 12 seeds, against 20,000 deals",
        [f"searched value, {preset}, 32 deals" for preset in _SEARCHED],
    ),
    (
        "loss of a play, the same",
        "as above",
        "the same",
        [f"searched loss, {preset}, 32 deals" for preset in _SEARCHED],
    ),
)


def coverage() -> str:
    """How often each interval holds the truth, and how wide it is."""
    found = {title: cell for cells in values_of("coverage").values() for title, cell in cells.items()}
    lines = []
    for of, how, truth, titles in COVERAGE:
        held = " · ".join(f"{found[title]['held']:g}" for title in titles)
        width = " · ".join(f"{found[title]['width']:.2f}" for title in titles)
        lines.append([of, how, truth, f"{held} %", width])
    return table(["interval", "what it is", "truth", "holds it", "width"], lines)


def false_positives() -> str:
    """How often early stopping finds a difference where there is none."""
    held = values_of("coverage")["statistics"]["early stopping, advantage 0 deviations"]["held"]
    return f"{100 - held:.1f} %"


STRANGE_BINS: Final = ("0-5", "6-11", "12-17", "18-23", "24-29", "30-35")


def strangers() -> str:
    """How likely an opponent is taken for the rule-based agent, and how often this is sure of all."""
    found: dict[str, dict[str, str]] = {}
    for key, row in values_of("strangers")[""].items():
        name, plays = key.rsplit(maxsplit=1)
        found.setdefault(name, {})[plays] = f"{row['baseline']:.2f} · {row['known']:.2f}"
    lines = [[f"`{name}`", *(row[plays] for plays in STRANGE_BINS)] for name, row in found.items()]
    return table(["plays of the three others so far", *STRANGE_BINS], lines)


SUITE_COSTS: Final = {
    "run heuristic": "`tienlen suite run heuristic --track A`",
    "run champion": "`tienlen suite run champion --track A`",
    "run perl": '`tienlen suite run "process:perl examples/bot.pl" --track A`, with Perl\'s time',
    "run heuristic quick": "`tienlen suite run heuristic --track A --quick`",
    "run champion quick": "`tienlen suite run champion --track A --quick`",
    "check": "`tienlen suite check` of the first packet",
    "replay": "`tienlen suite replay` of it, with that check",
}


def suite_costs() -> str:
    """Processor time of the suite's commands, and the sizes of packets."""
    lines = []
    for key, row in values_of("suite-costs").items():
        size = f"{row['bytes'] / 1e6:.1f} MB" if row["bytes"] > 1e5 else ""
        lines.append([SUITE_COSTS[key], f"{row['seconds']:.0f} s", size])
    return table(["what", "time", "size of the packet"], lines)


def minari_speed() -> str:
    """How fast episodes for Minari are made, with and without its collector."""
    found = values_of("minari-speed")[""]
    ours, collector = (found[f"tienlen/south/{agent}-v0"] for agent in ("greedy", "random"))
    return (
        f"{rate(ours['episodes'])} episodes a second, of {ours['kilobytes']:.0f} kB each; the collector made"
        f" {rate(collector['episodes'])}"
    )


LINE: Final = 1.6e6 / 8  # bytes a second
CHAMPION_WEIGHTS: Final = "tienlen-general-v5"


def page_weights() -> str:
    """The sizes of the networks that the page loads, and how long a slow line takes."""
    sizes = {path.stem: path.stat().st_size for path in (ROOT / WEIGHTS).glob("*.safetensors")}
    champion = sizes[CHAMPION_WEIGHTS]
    small = sorted(size for name, size in sizes.items() if "-small-" in name)
    low, high = small[0], small[-1]
    return table(
        ["at 1.6 Mbit/s", "size", "time"],
        [
            ["the champion's network", f"{champion / 1e6:.2f} MB", f"{champion / LINE:.0f} s"],
            [
                "the shipped networks of one preset (`champion:size=small`)",
                f"{low / 1e6:.2f} to {high / 1e6:.2f} MB",
                f"{low / LINE:.1f} to {high / LINE:.1f} s, and the champion comes that much later",
            ],
            ["`heuristic`", "0: it is a part of the engine", "0"],
        ],
    )


# ---------------------------------------------------------------- how to make them again


def reproduce() -> str:
    """Every result: its command, the time that it takes, when and where it was measured."""
    lines = []
    for entry in cheapest_first():
        found = result_of(entry.name)
        commands = "<br>".join(
            f"`python -m {entry.command(key).replace('{out}', 'OUT')}`" for key in entry.commands
        )
        measured = (
            "not yet" if found is None else f"{found['date'][:10]}, {found['commit']}, {found['processor']}"
        )
        pages = ", ".join(pages_with(entry.name)) or "–"
        time = f"{max(minutes_of(entry), 0.1):.1f} min"
        lines.append([f"`{entry.name}`", pages, commands, time, measured])
    times = [minutes_of(entry) for entry in cheapest_first()]
    together = (
        f"Together about {sum(times):.0f} minutes of processor time; the longest takes {max(times):.0f}."
    )
    head = ["result", "on", "commands", "processor time", "measured"]
    return f"{together}\n\n{table(head, lines)}"


def historical() -> str:
    """Every historical figure: its commit and command."""
    lines = [[f"`{name}`", f"`{one.commit}`", f"`{one.command}`"] for name, one in HISTORICAL.items()]
    return table(["figures", "commit", "command"], lines)


def historical_sentence(name: str) -> str:
    """What stands before historical figures."""
    commit, command, _ = HISTORICAL[name]
    return f"*Historical: commit {commit},* `{command}`"


# ---------------------------------------------------------------- the names of the markers

FigureView = tuple[tuple[str, ...], Callable[[], str]]  # the results that it needs, and what writes it


def _of(name: str, key: str, opponent: str, what: str, digits: int = 2, seat: int = 0) -> FigureView:
    return (name,), partial(figure, name, key, opponent, what, digits, seat)


README_PATHS: Final = list(SPEED)[:3]
VIEWS: Final[Mapping[str, FigureView]] = {
    "agents": (("decision-times", "champion-4-slow"), agents),
    "speed-short": (("speed",), partial(speed, README_PATHS)),
    "speed": (("speed",), partial(speed, list(SPEED))),
    "baselines": (("baselines",), baselines),
    "payments": (("payments",), payments),
    "small": (("small-champions", "small-networks"), small),
    "make-train": (("make-train",), make_train),
    "learning": (("learning",), learning),
    "exact-speed": (("exact-speed",), exact_speed),
    "startup": (("startup",), startup),
    "startup-packages": (("startup",), startup_packages),
    "machine-code": (("machine-code",), machine_code),
    "peers": (("peers",), peers),
    "choices": (("choices",), choices),
    "hands": (("hands",), hands),
    "regret": (("regret",), regret),
    "endings": (("endings",), endings),
    "champion-tables": (("decision-times", *TABLES), champion_tables),
    "champion-presets": (("champion-presets",), champion_presets),
    "champion-asked": (
        (
            *(f"champion-{name}" for name in dict.fromkeys(name for name, *_ in ASKED)),
            *("hands", "exploiters", "exact-sampled", "soft-steps"),
        ),
        champion_asked,
    ),
    "champion-strangers": (("champion-strangers",), champion_strangers),
    "exploiters": (("exploiters",), exploiters),
    "champion-slow": (("decision-times", *SLOW_TABLES), champion_slow),
    "openspiel-cfr": (("openspiel-cfr",), openspiel_cfr),
    "small-games-league": (("small-games-league",), small_games_league),
    "jax-speed": (("jax-speed",), jax_speed),
    "jax-learning": (("jax-learning",), jax_learning),
    "pufferlib-speed": (("pufferlib-speed",), pufferlib_speed),
    "data-speed": (("data-speed",), data_speed),
    "cloning": _of("cloning", "match", "heuristic", "points", 3),
    "notebook-deals": (("notebook-deals",), notebook_deals),
    "first-install": (("first-install",), first_install),
    "trickster-search": _of("trickster", "", "trickster", "points"),
    "trickster-others": _of("trickster", "", "trickster", "points", seat=1),
    "thirteens-policy": _of("train-thirteens", "", "trickster", "points"),
    "thirteens-others": _of("train-thirteens", "", "trickster", "points", seat=1),
    "thirteens-first": _of("train-thirteens", "", "trickster", "first", 1),
    "tutorial-opponent": _of("tutorial-opponent", "", "heuristic", "points"),
    "tutorial-points": _of("tutorial", "train", "heuristic", "points", 3),
    "tutorial-first": _of("tutorial", "train", "heuristic", "first", 1),
    "tutorial-again": _of("tutorial", "match", "heuristic", "points", 3),
    "tutorial-again-first": _of("tutorial", "match", "heuristic", "first", 1),
    **{name: ((name,), partial(strength, name)) for name in ENTRIES if name.startswith("strength-")},
    "coverage": (("coverage",), coverage),
    "false-positives": (("coverage",), false_positives),
    "strangers": (("strangers",), strangers),
    "suite-costs": (("suite-costs",), suite_costs),
    "minari-speed": (("minari-speed",), minari_speed),
    "page-weights": ((), page_weights),
    "exact-agents": (("exact-agents", "exact-solvers"), exact_views.agents),
    "exact-lookahead": (("exact-lookahead", "exact-agents"), exact_views.lookahead),
    "exact-sampled": (("exact-sampled", "exact-agents"), exact_views.sampled),
    "soft-root": (("soft-root",), exact_views.soft_root),
    "soft-steps": (("soft-steps",), exact_views.soft_steps),
    "nash-conv": (("nash-conv",), exact_views.nash_conv),
    "reproduce": ((), reproduce),
    "historical": ((), historical),
}


def processors(view: str) -> str:
    """The line below a table of times or rates: where they were measured; nothing below other tables."""
    speeds = [name for name in VIEWS[view][0] if ENTRIES[name].is_speed]
    found = sorted({result["processor"] for name in speeds if (result := result_of(name)) is not None})
    return f"\nMeasured on: {', '.join(found)}.\n" if found else ""


def pages() -> Iterator[Path]:
    """README and the pages of the site that are written by hand."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def pages_with(result: str) -> list[str]:
    """The pages that show a result."""
    marks = [f"<!-- figure: {view} -->" for view, (needs, _) in VIEWS.items() if result in needs]
    return [
        path.relative_to(ROOT).as_posix()
        for path in pages()
        if any(mark in path.read_text(encoding="utf-8") for mark in marks)
    ]
