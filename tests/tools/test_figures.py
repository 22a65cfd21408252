"""Measured figures: what a page may say, what makes a result stale, and how results are made."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from research import peer_loops
from tools.figures import __main__ as program, exact_views, pages, registry, results, sources, views
from tools.figures.readers import (
    jax_rows,
    learning_curves,
    lines_of,
    matches,
    nash_convs,
    paired,
    printed,
    small_games,
    solvers,
    suite_costs,
    timed,
)
from tools.figures.registry import (
    ALONE,
    COVERAGE_LINE,
    DEALT,
    ENTRIES,
    EXPLOITERS,
    HISTORICAL,
    NOTEBOOK_LINES,
    SEARCHES,
    SOLVED_TO,
    STRANGERS_LINE,
    FigureEntry,
)
from tools.figures.text import interval

ROOT = Path(__file__).parents[2]


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert interval((-0.0004, 0.02), 3) == "0.000 ± 0.020"
    assert interval((-0.0006, 0.02), 3) == "-0.001 ± 0.020"
    assert interval((-0.00001, 0.1), percent=True) == "0.00 ± 10.00"


def test_trainings_depend_on_all_of_the_networks_but_their_weights() -> None:
    folder = ROOT / registry.AGENTS / "networks"
    code = {path for path in sources.files_of([f"{registry.AGENTS}/networks"]) if "weights" not in path.parts}
    assert folder / "features" / "__init__.py" in code
    assert set(sources.files_of(registry.NETWORKS)) == code


TRAIN = """
import sys
from tienlen_train.ppo import main
sys.addaudithook(lambda event, args: print("READ") if event == "open" and FOLDER in str(args[0]) else None)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "reads"),
    [
        ("", False),
        pytest.param("--env thirteens", False, marks=pytest.mark.nightly),
        ("--baselines champion:worlds=0", True),
    ],
)
def test_a_training_reads_shipped_weights_only_if_it_is_told_to(
    words: str, reads: bool, tmp_path: Path
) -> None:
    """So the figures of training do not depend on them."""
    small = "--decisions 3000 --num-games 64 --eval-every 1 --eval-deals 4 --final-deals 4 --threads 1"
    code = TRAIN.replace("FOLDER", repr(registry.WEIGHTS))
    command = [sys.executable, "-c", code, *words.split(), *small.split(), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert (tmp_path / "policy.safetensors").exists()
    assert ("READ" in done.stdout) == reads


def test_no_page_says_what_no_result_says() -> None:
    assert pages.problems() == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It has 1.63 ± 0.02 points.", ["± 0.02"]),
        ("It is 33 × RLCard, and .5 × the rest", ["33 ×", ".5 ×"]),
        (
            "`champion` takes .9 ms, 7,889 decisions/s, 18.1 million steps/s",
            [".9 ms", "7,889 decisions/s", None],
        ),
        ("| path | steps/s |\n|---|---|\n| a | 324,000 |\n| b | – |", ["324,000"]),
        ("```text\n35 games/s\n```", ["35 games/s"]),
        ("**± .006** in all", ["± .006"]),
        ("252 s, 9 seconds, 20 minutes, 1.2 MB", ["252 s", "9 seconds", "20 minutes", "1.2 MB"]),
        ("750 episodes a second in 3.5 % of all", ["750 episodes a second", "3.5 %"]),
        ("NashConv is .0254, less 0.0001; 1.2677", [".0254", "0.0001", "1.2677"]),
        ("33x, 33×, 3 times as fast, 40-fold", ["33x", "33×", "3 times as", "40-fold"]),
        (
            "9 decisions per second, 40 µs, 4.5 min, 2 h, 1 second",
            [None, "40 µs", "4.5 min", "2 h", "1 second"],
        ),
        (
            "91%, 91 percent, 1.87 points, 4.6e-5, +/- 0.1",
            ["91%", "91 percent", "1.87 points", "4.6e-5", None],
        ),
        ("95 % intervals, a 95 % confidence interval; parity is 1.5 points and 25 %", []),
        ("3s 4h beats 3s, 5 of 9 s4 and .25", []),
        ("500 deals × 4, a deck of 3 × 4, `--ms 10 ms`, 2 msgs", []),
        ("```sh\nsleep # 5 ms\n```", []),
        ("<!-- historical: curves -->about ± 0.05<!-- end -->", []),
        ("<!-- figure: payments -->± 0.05<!-- end -->", []),
    ],
)
def test_numbers_that_were_measured(text: str, numbers: list[str | None]) -> None:
    found = [one.text for one in pages.measured("a.md", text)]
    assert len(found) == len(numbers)
    assert all(said in (None, one) for said, one in zip(numbers, found, strict=True))


def test_a_planted_number_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "README.md"
    planted.write_text(
        (ROOT / "README.md").read_text(encoding="utf-8") + "\nIt is 33 × as fast.\n", encoding="utf-8"
    )
    monkeypatch.setattr(pages, "pages", lambda: iter([planted]))
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (line,) = [line for line in pages.problems() if line.startswith("README.md: ")]
    assert "33 ×" in line


def test_a_number_between_markers_is_that_of_the_result() -> None:
    text = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert pages.filled(text.replace("2.53 ±", "2.63 ±"), "docs/agents.md") == text
    with pytest.raises(ValueError, match="names no figure"):
        pages.filled("<!-- figure: nothing --><!-- end -->", "a.md")
    with pytest.raises(ValueError, match=r"README\.md.*historical"):
        pages.filled("<!-- historical: curves --><!-- end -->", "README.md")


def test_what_a_command_prints_is_read(tmp_path: Path) -> None:
    text = "mini: 12,210 information sets, 1 MiB\nbuild the tree: 1,015.3 ms\nan iteration of cfr+: 0.3 ms\n"
    (tmp_path / "stdout.txt").write_text(text, encoding="utf-8")
    found = small_games({"`mini`": tmp_path})
    assert found == {
        "`mini`": {"information_sets": 12_210, "build the tree": 1015.3, "an iteration of cfr+": 0.3}
    }


def test_numbers_are_read_from_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "stdout.txt").write_text("points 1.0 ± 0.1\npoints -1,002.5 ± 0.02; parity is 1.5\n")
    (tmp_path / "seconds.txt").write_text("61.23")
    pattern = r"points (?P<points>\S+) ± (?P<half>[\d.]+)"
    assert printed(pattern)({"a": tmp_path}) == {"a": {"points": -1002.5, "half": 0.02}}
    assert timed(pattern)({"a": tmp_path})["a"]["processor_seconds"] == 61.2
    with pytest.raises(ValueError, match="no command printed 'rate"):
        printed(pattern, "rate (?P<rate>.)")({"a": tmp_path})


def test_paired_agents_are_read(tmp_path: Path) -> None:
    lines = (
        f"{'search':60s} 1.933 ± 0.036   +0.000 ± 0.000   12.31 ms",
        f"{'champion:adapt=1':60s} 1.921 ± 0.035   -0.012 ± 0.037   6.40 ms",
        f"{'policy:/home/someone/train/policy.safetensors':60s} 1.500 ± 0.035   -0.433 ± 0.037   0.01 ms",
    )
    (tmp_path / "stdout.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert paired({"4": tmp_path}) == {
        "4": {
            "search": {"points": [1.933, 0.036], "more": [0.0, 0.0]},
            "champion:adapt=1": {"points": [1.921, 0.035], "more": [-0.012, 0.037]},
            "policy:policy.safetensors": {"points": [1.5, 0.035], "more": [-0.433, 0.037]},
        }
    }


def test_lines_are_read_by_their_keys(tmp_path: Path) -> None:
    lines = (
        f"{'units (south), 20 deals':80}95.8%  x 1.10",
        f"{'searched loss, south, 32 deals (3 of 50 positions exact)':80}96.1%  x 1.21",
        "7 s",
    )
    (tmp_path / "stdout.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    read = lines_of(COVERAGE_LINE)
    assert read({"": tmp_path}) == {
        "": {
            "units (south), 20 deals": {"held": 95.8, "width": 1.1},
            "searched loss, south, 32 deals": {"held": 96.1, "width": 1.21},
        }
    }
    with pytest.raises(ValueError, match="no line is"):
        lines_of(STRANGERS_LINE)({"": tmp_path})


def test_what_small_games_say_is_read(tmp_path: Path) -> None:
    """NashConv of agents, of solvers and at the end of learning."""
    report = {"results": [{"agent": "random", "nash_conv": 0.123456789, "gains": [0, 0]}]}
    (tmp_path / "out.json").write_text(json.dumps(report))
    assert nash_convs({"mini": tmp_path}) == {"mini": {"random": 0.123457}}
    points = [{"iteration": 10, "nash_conv": 0.5}, {"iteration": 20, "nash_conv": 0.00025}]
    (tmp_path / "nash_conv.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
    assert solvers({"cfr+": tmp_path}) == {"cfr+": {"iterations": 20, "nash_conv": 0.00025}}
    (tmp_path / "mini").mkdir()
    for seed, end in ((1, 0.01), (2, 0.04)):
        run = {"rules": "mini", "algorithm": "ppo", "points": [[1, 2.0, 0.5], [9, 3.0, end]]}
        (tmp_path / "mini" / f"ppo-{seed}.json").write_text(json.dumps(run))
    found = learning_curves({"": tmp_path})["mini"]["ppo"]
    assert found["seconds"] == 3.0
    assert found["nash_conv"][0] == pytest.approx(0.02)
    assert found["nash_conv"][1] < 0.02 < found["nash_conv"][2]


def test_the_costs_of_the_suite_are_read(tmp_path: Path) -> None:
    (tmp_path / "seconds.txt").write_text("61.23")
    assert suite_costs({"check": tmp_path}) == {"check": {"seconds": 61.2, "bytes": 0}}
    (tmp_path / "packet" / "records").mkdir(parents=True)
    (tmp_path / "packet" / "records" / "01").write_bytes(b"12345")
    assert suite_costs({"run": tmp_path}) == {"run": {"seconds": 61.2, "bytes": 5}}


def test_the_rows_for_jax_are_read(tmp_path: Path) -> None:
    line = "pgx kuhn_poker: 9.41 M decisions/s; Batch.step 15.20; ratio 0.62"
    (tmp_path / "stdout.txt").write_text(f"about\n{line}\n")
    assert jax_rows({"": tmp_path}) == {"pgx kuhn_poker": {"million": 9.41, "ratio": 0.62}}


def test_the_loop_of_the_peers_plays_ours() -> None:
    assert peer_loops.tienlen("raw_env")() > 0
    assert peer_loops.tienlen("batch")() == 4096


def most_minutes(entry: FigureEntry) -> int:
    """Two hours; four if its run goes on where it was stopped, so that it fits into two nights."""
    return 240 if any("{resume}" in command for command in entry.commands.values()) else 120


def test_a_result_has_all_that_makes_it_again() -> None:
    keys = {
        "commands",
        "seed",
        "deals",
        "commit",
        "sources",
        "processor",
        "versions",
        "date",
        "seconds",
        "values",
    }
    assert {path.stem for path in results.RESULTS.glob("*.json")} <= set(ENTRIES)
    for name in ENTRIES:
        if (found := results.result_of(name)) is not None:
            assert set(found) == keys
            assert found["seconds"] <= 60 * most_minutes(ENTRIES[name])
    for entry in ENTRIES.values():
        assert entry.minutes <= most_minutes(entry)
        read = {path.relative_to(sources.ROOT).as_posix() for path in sources.files_of(entry.sources)}
        for name in entry.sources:  # whatever its suffix is: a requirement counts as code does
            assert name in read or any(path.startswith(f"{name}/") for path in read)
        assert {need for needs, _ in views.VIEWS.values() for need in needs} <= set(ENTRIES)
        is_printed = entry.read in (small_games, jax_rows) or isinstance(entry.read, partial)
        keeps = entry.read is paired or entry.name == "regret"  # printed, and what it is made of is kept
        assert all(("{out}" in entry.command(key)) == (keeps or not is_printed) for key in entry.commands)


def test_every_figure_of_the_past_stands_on_a_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in views.pages()]
    for name in HISTORICAL:
        assert sum(text.count(f"<!-- historical: {name} -->") for text in texts) == 1, name


def test_what_was_measured_in_the_past_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "champion.md").read_text(encoding="utf-8")
    changed = tmp_path / "docs" / "champion.md"
    changed.parent.mkdir()
    changed.write_text(text.replace("| 1.89 ± 0.02 / 36.4", "| 2.89 ± 0.02 / 36.4"), encoding="utf-8")
    others = [path for path in views.pages() if path.name != "champion.md"]
    monkeypatch.setattr(pages, "pages", lambda: iter([*others, changed]))
    (name,) = [
        name for name, found in pages.historical_digests().items() if found != [HISTORICAL[name].digest]
    ]
    assert name == "champion-results"


def test_a_policy_has_no_folder_in_its_name(tmp_path: Path) -> None:
    """Another clone writes the same bytes."""
    name = "policy:/home/someone/clone/build/figures/cloning-1/match/../train/policy.safetensors"
    agent = {"name": name, "points": {"mean": 1.7, "low": 1.6, "high": 1.8}}
    report = {"tables": [{"title": f"{name} v. 3 × heuristic", "agents": [agent]}]}
    (tmp_path / "arena.json").write_text(json.dumps(report))
    assert matches({"": tmp_path}) == {
        "": {
            "policy:policy.safetensors v. 3 × heuristic": {
                "policy:policy.safetensors": {"points": [1.7, 0.1]}
            }
        }
    }


def test_a_command_that_has_ended_is_not_run_again(workplace: Path) -> None:
    """So a stopped entry goes on with its next command, and no time counts twice."""
    (entry, _) = program.cheapest_first()
    first = program.make(entry)
    (done,) = (workplace / "work").glob("first-*/only/done")
    begun = done.stat().st_mtime_ns
    assert program.make(entry)["seconds"] == first["seconds"]
    assert done.stat().st_mtime_ns == begun
    other = entry._replace(commands={"": entry.commands[""].replace("random", "heuristic")})
    assert program.folder_of(other) != program.folder_of(entry)


@pytest.mark.parametrize(("new", "outside"), [([1.6, 0.1], False), ([1.65, 0.1], True), ([1.0, 0], True)])
def test_another_seed_is_compared_with_a_wider_interval(new: list[float], outside: bool) -> None:
    first = {"a": {"points": [1.5, 0.1], "exact": [1.5, 0.0]}, "b": 3, "c": [1.0, 2.0, 3.0]}
    assert list(program.differences(first, first | {"a": {"points": new, "exact": [1.5, 0.0]}})) == [outside]


def test_a_result_is_compared_with_another_seed(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["--only", "first"])
    stored = (workplace / "results" / "first.json").read_bytes()
    program.main(["--other-seed", "9"])
    assert "first, seed 9: " in capsys.readouterr().out
    assert (workplace / "results" / "first.json").read_bytes() == stored


def test_a_command_that_fails_loses_nothing(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (entry, _) = program.cheapest_first()
    broken = entry._replace(commands={"": "json.no_such_module --seed {seed} --out {out}"})
    monkeypatch.setattr(program, "cheapest_first", lambda: [broken])
    with pytest.raises(SystemExit):
        program.main([])
    assert "first: its command ended with 1" in capsys.readouterr().err
    assert not (workplace / "results").exists()


def test_what_changes_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "ROOT", tmp_path)

    def digest(text: str, name: str = "a.py") -> str:
        shutil.rmtree(tmp_path / "code", ignore_errors=True)
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / name).write_text(text, encoding="utf-8")
        sources._digest.cache_clear()
        return sources.digest_of(["code"])

    plain = digest("from tienlen_env import f\n\ndef g(x):\n    return f(x, 1)\n")
    same = '"""A."""\nfrom tienlen_env.engine import f\n\ndef g(x):\n    """B."""\n    return f(x, 1)  # c\n'
    assert digest(same) == digest(same, "b.py") == plain
    assert digest(same.replace("1)", "2)")) != plain
    assert digest("import numpy\n" + same) != plain
    with pytest.raises(FileNotFoundError, match="nothing"):
        sources.digest_of(["nothing"])


def test_a_digest_is_the_same_in_every_python() -> None:
    """Python 3.12 has the text of an f-string in several pieces, 3.11 and 3.13 in one."""
    pieces = [["ab"], ["a", "b"], ["", "a", "b", ""]]
    trees = [ast.JoinedStr([ast.Constant(text) for text in texts]) for texts in pieces]
    assert len({tuple(sources.words(tree)) for tree in trees}) == 1


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results and pages of their own, and two cheap entries."""
    command = f"{ALONE} greedy random --composition 1v3 {DEALT}"
    entry = FigureEntry("first", {"": command}, matches, ("tienlen_env/games/common",), 1, seed=3, deals=2)
    entries = [entry, entry._replace(name="second", minutes=2, seed=4)]
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(program, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(program, "WORK", tmp_path / "work")
    monkeypatch.setattr(program, "pages", lambda: iter([]))
    monkeypatch.setattr(program, "cheapest_first", lambda: entries)
    (tmp_path / "work").mkdir()
    return tmp_path


def test_results_are_made_within_a_budget_and_once(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def values(name: str) -> dict[str, object]:
        found = json.loads((workplace / "results" / f"{name}.json").read_text(encoding="utf-8"))
        return {key: value for key, value in found.items() if key not in ("date", "seconds")}

    assert program.main(["--budget", "90s"]) == 0
    assert not (workplace / "results" / "second.json").exists()
    first = values("first")
    assert list(first["values"][""]) == ["greedy v. 3 × random"]  # type: ignore[index]
    make, calls = program.make, []

    def make_or_be_killed(entry: FigureEntry) -> dict[str, object]:
        calls.append(entry.name)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return make(entry)

    monkeypatch.setattr(program, "make", make_or_be_killed)
    with pytest.raises(KeyboardInterrupt):
        program.main([])
    program.main([])  # goes on
    program.main(["--stale"])  # nothing is
    assert calls == ["second", "second"]
    program.main(["--again", "--only", "first"])
    assert values("first") == first
    capsys.readouterr()
    for wrong in (["--only", "nothing"], ["--budget", "soon"]):
        with pytest.raises(SystemExit):
            program.main(wrong)
        assert "expected" in capsys.readouterr().err
    program.main(["--list-stale"])
    assert capsys.readouterr().out == ""
    (workplace / "results" / "first.json").write_text(
        json.dumps(first | {"sources": "", "seconds": 1}), "utf-8"
    )
    program.main(["--list-stale"])
    assert capsys.readouterr().out.split() == ["stale", "0.0", "min", "first"]


def small_values(name: str) -> object:
    """What a measurement would give, for every entry."""
    figures = {"points": [1.626, 0.016], "first": [0.285, 0.007]}

    def table(*opponents: str) -> dict[str, object]:
        return {f"policy v. 3 × {one}": {"policy": figures, one: figures} for one in opponents}

    def paid(one: str) -> dict[str, object]:
        figure = {"units": [-0.4, 0.12]} if one != "bga" else {}
        return {f"policy v. 3 × {base}": {"policy": figures | figure} for base in ("heuristic", "greedy")}

    if name.startswith("strength"):
        row = {"figure": "points", "parity": 1.5, "agents": {"random": [0.2, 0.02], "search": [2.03, 0.1]}}
        return {
            "cardgames": row,
            "north": row | {"figure": "units", "parity": 0, "agents": {"random": [-6, 0.2]}},
        }
    if name == "speed":
        return {row: {"median": 18.1e6, "ratios": {"other": 0.66}} for row, _ in views.SPEED.values()}
    if name == "exact-speed":
        steps = {"build the tree": 10_000, "best responses of all seats": 57.1, "an iteration of cfr+": 0.3}
        return {"`mini`": {"information_sets": 12_210, **steps}}
    if name == "learning":
        return {"one": {"rates": [1.0, 21_500.0, 30_000.0]}, "two": {"rates": [36_500.0]}}
    if name in PRINTED_VALUES:
        return PRINTED_VALUES[name]
    if name in ("payments", "small-champions", "small-networks"):
        return {one: paid(one) for one in ENTRIES[name].commands}
    opponents = ("random", "greedy", "greedy_long", "heuristic", "trickster")
    return {key: {**table(*opponents), "minutes": 5.2} for key in ENTRIES[name].commands}


DEALS = dict.fromkeys(("leader", "lead", "two", "two_of_hearts", "fourth"), 0.377)
PRINTED_VALUES: dict[str, object] = {
    "peers": {
        "rlcard doudizhu": {"theirs": 7_200.0, "ours": 324_000.0, "ratio": 45.2, "by": "raw_env"},
        "pgx bridge_bidding": {"theirs": 2.5e6, "ours": 18.1e6, "ratio": 7.24, "by": "batch"},
    },
    "openspiel-cfr": {"leduc": {"information_sets": 936, "milliseconds": 5.1}},
    "regret": {"": {"champion": {"mean": 0.0509, "mean_half": 0.01, "above": 5.1, "above_half": 1.4}}},
    "endings": {"champion:worlds=0": {"won": 67_841, "given_away": [0.0169, 0.001]}},
    "hands": {"champion:worlds=0": {name: {"10-19": 0.6943} for name in ("a", "b", "champion")}},
    "choices": {"search": {"regret": [0.0176, 0.0073], "2-9": 0.0, "10-19": 0.014}},
    **{
        name: {"": {agent: {"points": [1.664, 0.051], "more": [0.024, 0.038]} for agent in views.QUICK}}
        for name in views.TABLES
    },
    **{
        name: {
            "": {
                agent: {"points": [1.974, 0.022], "more": [-0.013, 0.025]} for agent in ("search", "champion")
            }
        }
        for name in views.SLOW_TABLES
    },
    "champion-reference-slow": {
        "": {
            agent: {"points": [1.758, 0.023], "more": [0.0, 0.0]}
            for agent in ("champion", "champion:worlds=128")
        }
    },
    "champion-presets": {
        f"{preset} {players}": {"champion": {"points": [1.9, 0.05], "more": [-0.024, 0.038]}}
        for preset in ("mobile", "south")
        for players in (2, 3, 4)
    },
    "champion-strangers": {
        "greedy": {
            agent: {"points": [1.664, 0.051], "more": [0.024, 0.038]} for agent in (views.BEFORE, "champion")
        }
    },
    "decision-times": {agent: {"mean": 3.57} for agent in (*views.QUICK, *views.SLOW)},
    "exploiters": {
        target: {agent: {"points": [1.512, 0.04], "more": [-0.012, 0.04]} for agent in agents.split()}
        for target, agents in (
            (
                "champion:worlds=0",
                f"champion:worlds=0 {EXPLOITERS.rpartition(' ')[0]} policy:policy.safetensors",
            ),
            ("champion", f"{EXPLOITERS.rpartition(' ')[0]} policy:policy.safetensors"),
        )
    },
    "small-games-league": {
        game: {"greedy": [0.494, 0.006], "heuristic": [0.577, 0.006]} for game in ("mini", "small")
    },
    "jax-speed": {row: {"million": 16.4, "ratio": 1.05} for row in views.JAX_ROWS},
    "jax-learning": {
        key: {"processor_seconds": 156.0, "points": 2.323, "half_width": 0.024, "parity": 1.5}
        for key in ENTRIES["jax-learning"].commands
    },
    "startup": {
        row: {"first": 0.452, "processor": 0.44, "again": 0.42, "memory": 46.2}
        for row in (*views.STARTS, "import numpy", "import nothing")
    },
    "machine-code": {
        row: {"ratio": ratio}
        for row, ratio in {
            "Batch cardgames": 1.17,
            "Batch large": 1.39,
            "Batch thirteens": 1.0,
            "Batch cardgames, one game": 1.06,
            "heuristic": 1.12,
        }.items()
    },
    "pufferlib-speed": {"": {"native": 2.8e6, "emulated": 15_000.0, "ratio": 190.0}},
    "data-speed": {"random": {"rounds_per_second": 23_600.0, "bytes_per_decision": 34.4}},
    "notebook-deals": {
        "": {name: 47.0 for line in NOTEBOOK_LINES for name in re.compile(line).groupindex} | DEALS
    },
    "coverage": {
        "statistics": {
            title: {"held": 95.8, "width": 1.1} for *_, titles in views.COVERAGE for title in titles
        }
    },
    "strangers": {
        "": {f"reference  {plays}": {"baseline": 0.38, "known": 0.05} for plays in views.STRANGE_BINS}
    },
    "suite-costs": {
        "run heuristic": {"seconds": 140.7, "bytes": 1_080_000},
        "check": {"seconds": 41.0, "bytes": 0},
    },
    "minari-speed": {
        "": {
            "tienlen/south/random-v0": {"episodes": 74.0, "kilobytes": 30.0},
            "tienlen/south/greedy-v0": {"episodes": 750.0, "kilobytes": 32.0},
        }
    },
    "exact-agents": {rules: {"random": 1.26768, "heuristic": 0.05} for rules in SOLVED_TO},
    "exact-solvers": {
        key: {"iterations": 160, "nash_conv": 0.00009} for key in ENTRIES["exact-solvers"].commands
    },
    "exact-lookahead": {
        key: {"random": 0.14602, "heuristic": 0.0} for key in ENTRIES["exact-lookahead"].commands
    },
    "exact-sampled": {
        key: dict.fromkeys(SEARCHES.split(), 0.0134) for key in ENTRIES["exact-sampled"].commands
    },
    "soft-root": {
        rules: {
            f"rollouts {rollout} uniform {share} floor {floor} alpha 17": {"mode": 0.0571, "soft": 0.0695}
            for rollout in ("heuristic", "prior")
            for share, floor in (("0.0", "1e-05"), ("0.02", "0.0"))
        }
        for rules in ("small", "medium")
    },
    "soft-steps": {
        rules: {"start": {"network": 0.2184}, "step 6": {"network": 0.009}} for rules in ("mini", "small")
    },
    "nash-conv": {
        "mini": {
            "ppo": {"nash_conv": [0.00027, 0.0001, 0.0007], "seconds": 12.6},
            "cfr+": {"nash_conv": [0.0016, 0.0016, 0.0016], "seconds": 3.0},
            "dmc": {"nash_conv": [0.1834, 0.1269, 0.2649], "seconds": 9.0},
        }
    },
    "first-install": {
        "installation": {"processor_seconds": 25.0, "megabytes": 1_200},
        "first line of learning": {"processor_seconds": 50.0},
    },
}


def test_every_view_shows_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "values_of", small_values)
    monkeypatch.setattr(exact_views, "values_of", small_values)
    monkeypatch.setattr(views, "BASELINE_TABLES", {"heuristic": "greedy_long greedy random"})
    texts = {name: show() for name, (_, show) in views.VIEWS.items() if name not in ("agents", "reproduce")}
    assert all(texts.values())
    assert "| `north` | 0 units | -6.0 ± 0.2 | – |" in texts["strength-tienlen-4"]
    assert "| `cardgames` | 1.5 points | 0.20 ± 0.02 | 2.03 ± 0.10 |" in texts["strength-tienlen-4"]
    assert texts["speed-short"].count("18.1 million") == 3
    assert texts["learning"].splitlines()[2:] == ["| two | 36,500 |", "| one | 21,500 |"]
    assert "| three `greedy` | 1.63 ± 0.02 | 28.5 ± 0.7 % | 1.63 ± 0.02 |" in texts["make-train"]
    assert texts["peers"].splitlines()[2].endswith("| 7,200 | `tienlen_v1.raw_env()` | 324,000 | 45 × |")
    assert texts["openspiel-cfr"].splitlines()[2] == "| leduc | 936 | 5.1 ms | 5.4 µs |"
    assert texts["choices"].splitlines()[2] == "| `search` | 0.018 ± 0.007 | 0.000 | 0.014 |"
    assert texts["regret"].splitlines()[2] == "| `champion` | 0.051 ± 0.010 | 5.1 ± 1.4 % |"
    assert texts["endings"].splitlines()[2] == "| `champion:worlds=0` | 1.69 ± 0.10 % | 67,841 |"
    assert texts["hands"].splitlines()[2] == "| `champion:worlds=0` |" + " 0.694 |" * 3
    points = "1.664 ± 0.051"
    assert texts["champion-tables"].splitlines()[2] == (
        f"| three `heuristic` | {points} | {points} | {points} | 0.024 ± 0.038 |"
    )
    assert (
        texts["champion-tables"].splitlines()[-1] == "| time of a decision | 3.6 ms | 3.6 ms | 3.6 ms | – |"
    )
    assert texts["champion-asked"].splitlines()[2] == (
        f"| `champion` | points against three `heuristic` | ≥ 1.97 | {points} |"
    )
    exploiter = "gain of the best [exploiter](exploiters.md) that is known"
    assert texts["champion-asked"].splitlines()[-4:] == [
        f"| `champion:worlds=0` | {exploiter} | < 0.108 | 0.012 ± 0.040 |",
        f"| `champion` | {exploiter} | < 0.029 | 0.012 ± 0.040 |",
        "| `champion` | [NashConv](exact.md) on `small` | ≤ .08 | .0134 |",
        "| the network, its actions drawn, after six soft steps | the same | ≤ .02 | .0090 |",
    ]
    assert texts["champion-presets"].splitlines()[3] == "| `south` | units |" + " −0.02 ± 0.04 |" * 3
    assert texts["champion-strangers"].splitlines()[2].endswith("| 1.664 ± 0.051 | 0.024 ± 0.038 |")
    assert texts["exploiters"].splitlines()[2] == "| `champion` | 0.012 ± 0.040 | 0 |"
    assert texts["champion-slow"].splitlines()[3] == (
        "| two `heuristic` | 1.974 ± 0.022 | 1.974 ± 0.022 | – | −0.013 ± 0.025 |"
    )
    assert "47.0 % (47.0 to 47.0); the player explains 47.0 %" in texts["notebook-deals"]
    assert "+0.377 ± 47.000 points; the 2♥ alone +0.38 ± 47.00" in texts["notebook-deals"]
    assert texts["small-games-league"].splitlines()[2].startswith("| `heuristic` | 0.577 ± 0.006 |")
    assert texts["first-install"] == ("75 seconds of processor time, 25 of them for a `.venv` of 1,200 MB")
    assert texts["small"].splitlines()[2].endswith("| -0.40 ± 0.12 | – | -0.40 ± 0.12 | -0.40 ± 0.12 | – |")
    assert texts["exact-speed"].splitlines()[2] == "| `mini` | 12,210 | 10 s | 57 ms | 0.3 ms |"
    assert "| `import tienlen_env` | 0.45 s | 0.42 s | 46 MB |" in texts["startup"]
    assert texts["startup-packages"].splitlines()[2:] == [
        "| `nothing` | 0.45 s | 46 MB |",
        "| `numpy` | 0.45 s | 46 MB |",
    ]
    assert texts["machine-code"].splitlines()[2:] == [
        "| `Batch`, 2 presets of Tiến lên | 1.17 (`cardgames`) to 1.39 (`large`) |",
        "| `Batch`, 1 presets of Thirteens | 1.00 (`thirteens`) to 1.00 (`thirteens`) |",
        "| `Batch cardgames, one game` | 1.06 |",
        "| `heuristic` | 1.12 |",
    ]
    assert texts["tutorial-points"] == "1.626 ± 0.016"
    assert texts["tutorial-first"] == "28.5 ± 0.7"
    assert (
        "| `--bootstrap` | percentiles of 2,000 resamples of the deals | 50 · 200 deals | 95.8 · 95.8 % |"
        in (texts["coverage"])
    )
    assert texts["false-positives"] == "4.2 %"
    assert texts["strangers"].splitlines()[2] == "| `reference` |" + " 0.38 · 0.05 |" * 6
    assert texts["suite-costs"].splitlines()[2:] == [
        "| `tienlen suite run heuristic --track A` | 141 s | 1.1 MB |",
        "| `tienlen suite check` of the first packet | 41 s |  |",
    ]
    assert texts["minari-speed"] == "750 episodes a second, of 32 kB each; the collector made 74"
    assert "3.76 MB | 19 s |" in texts["page-weights"]
    assert "| `random` | 1.2677 |" in texts["exact-agents"]
    assert "iterations to get there | < .0001, 160 |" in texts["exact-agents"]
    assert "| `small` | `random` | 1.2677 | .1460 |" in texts["exact-lookahead"]
    assert "| `random` | 1.2677 | .0134 | .0134 | 1.2677 | .0134 |" in texts["exact-sampled"]
    assert "| the network | the previous champion's | .0571 | .0571 |" in texts["soft-root"]
    assert texts["soft-steps"].splitlines()[2] == "| `mini` | .2184 | .0090 |"
    assert texts["nash-conv"].splitlines()[2:] == [
        "| `ppo` | .00027 (.00010 to .0007), 13 s |",
        "| `cfr+` | .0016, 3 s |",
        "| `dmc` | .1834 (.1269 to .2649), 9 s |",
    ]
