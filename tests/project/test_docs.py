"""The site: code blocks run, commands are real, pictures are there, nothing comes from other servers."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import io
import itertools
import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tienlen_env import PRESETS
from tienlen_env.envs import thirteens as thirteens_aec, tienlen as aec
from tienlen_env.errors import TienLenError
from tienlen_env.games import registry
from tienlen_train import cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "tools" / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pytest.importorskip("tienlen_suite", reason="the pages have the leaderboard of extensions/suite")
hooks = load_script("hooks")
PAGES: dict[str, str] = {
    **{str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))},
    **hooks.generated_pages(),
    "README.md": (ROOT / "README.md").read_text(encoding="utf-8"),
}
TEXTS = {name: hooks.insert_sections(text) for name, text in PAGES.items()}


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# ---------------------------------------------------------------- code


WITH_PYTHON = [name for name, text in TEXTS.items() if blocks("python", text)]


def test_the_pages_with_code_are_found() -> None:
    wanted = {
        "getting-started.md",
        "tutorial.md",
        "agents.md",
        "arena.md",
        "training.md",
        "extending.md",
        "README.md",
    }
    assert wanted | {"environments/tienlen.md"} <= set(WITH_PYTHON)


def test_a_start_has_ten_lines() -> None:
    starts = blocks("python", TEXTS["getting-started.md"])
    assert len(starts) == 5
    for start in starts:
        assert sum(bool(line.strip()) for line in start.splitlines()) <= 10


def test_every_block_has_a_language_that_is_tested() -> None:
    known = {"python", "sh", "toml", "record", "text", "json", "cards"}
    known |= {f"cards {preset}" for preset in PRESETS} | {" { .text .wrap }"}
    for name, text in TEXTS.items():
        fences = re.findall(r"^```(.*)$", text, re.MULTILINE)
        # These need a cluster or a GPU: tests/extensions/cluster and tests/extensions/gpu run what they show.
        needs_more = name in ("cluster.md", "gpu.md", "gpu-training.md")
        others = {"bash", "py", "yaml"} if needs_more else {""} if name in GIVEN else set()
        assert not set(fences[::2]) - known - others, name
        assert not any(fences[1::2]), name


# Texts of the repository that the site only shows.
GIVEN = (
    "rules/clauses.md",
    "protocol.md",
    "README.md",
    "extending.md",
    "benchmark.md",
    "environments/thirteens.md",
)


@pytest.mark.parametrize(
    "name", [name for name in WITH_PYTHON if name != "README.md"]
)  # test_readme runs those
def test_python_blocks_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tienlen_agents

    monkeypatch.setattr(
        tienlen_agents, "_factories", dict(tienlen_agents._factories)
    )  # examples register agents
    monkeypatch.setattr(registry, "_parts", dict(registry._parts))  # and parts of games
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(blocks("python", TEXTS[name]), 1):
        exec(compile(block, f"{name}, block {number}", "exec"), {"__name__": "__main__"})


def test_long_lines_of_code_are_wrapped() -> None:
    """A block is as wide as about 125 columns; what is longer is cut, unless its language is wrapped."""
    css = (DOCS / "site.css").read_text(encoding="utf-8")
    assert re.search(r":is\(\.language-json, \.wrap\) pre > code \{ white-space: pre-wrap", css)
    for name in PAGES.keys() - {"README.md"}:
        for kind, block in re.findall(r"^```([^\n]*)\n(.*?)^```$", TEXTS[name], re.MULTILINE | re.DOTALL):
            if max(map(len, block.splitlines()), default=0) > 120 and not kind.startswith(
                ("cards", "record")
            ):
                assert kind == "json" or ".wrap" in kind, (name, kind)


def test_toml_blocks_parse() -> None:
    found = [block for text in TEXTS.values() for block in blocks("toml", text)]
    assert found
    for block in found:
        assert tomllib.loads(block)


# ---------------------------------------------------------------- commands


# What makes a command short, appended to it: the last of two equal options counts.
SHORT = {
    "tienlen_agents.arena": "--deals 2 --quiet",
    "tienlen_table.terminal.play": "",
    "tienlen_table.server": "--help",
    "tienlen_suite.regret": "--decisions 2 --worlds 2",
    "tienlen_check.protocol": "",
    "tienlen_exact": "",
    "tienlen_suite": "--help",
    "tienlen_bench.speed": "--seconds 0.01 --runs 1",
    **dict.fromkeys(
        ("tienlen_train.ppo", "tienlen_train.dmc", "tienlen_train.best_response"),
        "--decisions 128 --num-games 8 --batch-size 64 --state-width 16 --action-width 16 "
        "--eval-every 0 --final-deals 2",
    ),
    "tienlen_train.belief": "--decisions 128 --num-games 8 --batch-size 64 --belief-width 16",
    "research.learning": "--seconds 0.01 --runs 1 --only '1 thread'",
    "research.search": "--agents heuristic --deals 2 --rounds 1",
    "research.strength": "--help",
}
WITH_COMMANDS = [name for name, text in TEXTS.items() if blocks("sh", text)]


def commands(text: str) -> Iterator[list[str]]:
    for block in blocks("sh", text):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def as_module(words: list[str]) -> list[str]:
    """A make target as the module that it runs, if it is one."""
    arguments = next((word.removeprefix("ARGS=") for word in words if word.startswith("ARGS=")), "")
    if words[1] in ("train", "bench"):
        module = {"train": "tienlen_train.ppo", "bench": "tienlen_bench.speed"}[words[1]]
        return ["python", "-m", module, *shlex.split(arguments)]
    assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), words
    return []


def run_module(module: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    is_package = importlib.import_module(module).__spec__.submodule_search_locations is not None  # type: ignore[union-attr]
    program = importlib.import_module(f"{module}.__main__" if is_package else module)
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", module])
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    try:
        code = program.main(arguments)
    except SystemExit as end:
        code = end.code
    assert code in (None, 0, 130), (module, arguments, code)


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for number, words in enumerate(commands(TEXTS[name])):
        words = as_module(words) if words[0] == "make" else words
        if words[:1] == ["tienlen"]:
            _, command, arguments = cli._find(words[1:])
            if command is None:
                assert "--help" in arguments, words
                continue
            words = ["python", "-m", command.module.removesuffix(".__main__"), *command.before, *arguments]
        if words[:2] == ["python", "-m"]:
            module, *arguments = words[2:]
            assert module in SHORT, f"say how to shorten {module}"
            extra = [] if "--help" in arguments else shlex.split(SHORT[module])
            if "--decisions" in SHORT[module] and "--out" not in arguments:
                extra += ["--out", f"runs/{number}"]  # its own name is the second when it began
            run_module(module, arguments + extra, monkeypatch)
        else:
            assert not words or words[0].startswith(".venv/bin/"), words


# ---------------------------------------------------------------- what is drawn and written by the build


def test_all_fences_are_drawn() -> None:
    for name, text in TEXTS.items():
        drawn = hooks.draw_fences(text)
        assert "```cards" not in drawn, name
        assert "```record" not in drawn, name
        assert drawn.count("<svg") >= text.count("```cards") + text.count("```record"), name


@pytest.mark.parametrize(
    "line",
    [
        "3s beats 3h",
        "3h does not beat 3s",
        "3s 4h is a run of 2",
        "3s 4h 5d is nothing",
        "6s 6c 6d 6h beats 2d 2h",
        "3s 4h beats 3c 4c",
        "nonsense",
    ],
)
def test_a_wrong_example_is_refused(line: str) -> None:
    with pytest.raises(TienLenError):
        hooks.example(line, "cardgames")


def test_examples_follow_the_preset() -> None:
    line = "3s 3c 4s 4c 5s 5c 6s 6c beats 2h"
    assert "beats" in hooks.example(line, "cardgames")
    with pytest.raises(TienLenError):
        hooks.example(line, "mobile")


def test_a_section_that_is_not_there_is_refused() -> None:
    with pytest.raises(TienLenError):
        hooks.insert_sections("<!-- section: README.md # No such thing -->")


@pytest.mark.parametrize("name", ["observation", "actions", "sizes"])
def test_tables_of_the_environments_follow_from_the_code(name: str) -> None:
    assert hooks.tienlen_tables()[name] in (aec.__doc__ or "")
    assert hooks.thirteens_tables()[name] in (thirteens_aec.__doc__ or "")


def test_environment_page_has_every_number() -> None:
    page = hooks.environment_page()
    for name, rules in PRESETS.items():
        assert rules.digest() in page
        for table in hooks.tienlen_tables(name).values():
            for row in table.splitlines():
                assert row in page
        for num_players in (2, 3, 4):
            size = (
                aec.raw_env(name, num_players=num_players)
                .observation_space("player_0")["observation"]
                .shape[0]
            )
            assert f"| {name} | {num_players} | uint8 ({size},) |" in page
    assert ">>>" not in page


def test_the_strip_covers_the_observation() -> None:
    pieces = list(aec.raw_env().batch.layout.values())
    widths = [int(width) + 1 for width in re.findall(r'<rect [^>]*width="(\d+)"', hooks.strip_svg(pieces))]
    assert sum(widths) == 7 * pieces[-1].slice.stop
    legend = hooks.strip_legend(pieces)
    assert re.findall(r"</span> (\w+) <small>", legend) == [piece.name for piece in pieces]


# ---------------------------------------------------------------- the navigation and its files


def nav_files(nav: Any) -> Iterator[str]:
    for entry in nav.values() if isinstance(nav, dict) else nav:
        if isinstance(entry, str):
            yield entry
        else:
            yield from nav_files(entry)


def config() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    return found


def test_every_page_is_in_the_navigation() -> None:
    assert set(nav_files(config()["nav"])) >= set(PAGES) - {"README.md"}


def test_every_class_of_the_reference_has_a_page() -> None:
    """The pages name what exists, each once, and link to all of them; nothing is left as a directive."""
    pages = load_script("reference_pages")
    paths: list[str] = []
    for page, text in pages.sources().items():
        if page.endswith("train.md"):
            pytest.importorskip("torch")
        found = pages.entries(page, text)
        paths += [entry.path for entry in found]
        overview = pages.overview(page, text)
        assert ":::" not in overview
        for entry in found:
            assert entry.path.removeprefix("reference/") in overview
            assert entry.summary, entry.name
            assert entry.page().startswith(f"::: {entry.name}\n    options:\n")
    assert len(paths) == len(set(paths)) > 80
    assert "reference/tienlen_env/engine.batch.Batch.md" in paths
    assert "reference/tienlen_env/engine.agent.CardAgent.md" in paths
    text = pages.sources()["reference/tienlen_env.md"]
    named = {entry.name: entry.options for entry in pages.entries("reference/tienlen_env.md", text)}
    assert "[PRESETS, SMALL_GAMES]" in named["tienlen_env.games.tienlen.rules"]
    assert "[rules_remark]" in named["tienlen_table.wasm.tables"]


def docstrings() -> Iterator[tuple[str, str]]:
    """The docstrings of the three packages, with their places."""
    for folder in ("tienlen_env", "agents/tienlen_agents", "train/tienlen_train"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                    yield f"{path}:{getattr(node, 'lineno', 1)}", ast.get_docstring(node) or ""


def test_docstrings_are_not_broken_on_the_reference_pages() -> None:
    """They are Markdown there: a double colon stays, an attribute of several names becomes one name."""
    for place, text in docstrings():
        assert not re.search(r"::$", text, re.MULTILINE), place
        several = re.search(r"^    [a-z]\w*(, \w+)+: ", text, re.MULTILINE)
        assert several is None, f"{place}: {several}"
        # An example that does not stand alone would be a quotation of quotations.
        for before, line in itertools.pairwise(["", *text.splitlines()]):
            is_first = line.startswith(">>>") and not before.startswith((">>>", "..."))
            assert not is_first or before == "", place


def test_the_page_of_a_wrong_address_leads_home() -> None:
    page = (DOCS / "theme" / "404.html").read_text(encoding="utf-8")
    assert "'index.html' | url" in page
    assert config()["theme"]["custom_dir"] == "docs/theme"


def test_the_citation_and_the_version_are_those_of_the_project() -> None:
    version, _ = hooks.project()
    text = hooks.citation()
    assert f"version = {{{version}}}" in text
    assert "author  = {{The tienlen-env authors}}" in text


def test_the_home_page_begins_with_play() -> None:
    """Before any picture or text: who comes to play sees the button without scrolling."""
    heading, play = [line for line in PAGES["index.md"].splitlines() if line][:2]
    assert heading.startswith("# Tiến lên")
    assert play.startswith("<!-- play -->")


def test_pictures_are_there() -> None:
    for name, text in TEXTS.items():
        for target in re.findall(r"!\[[^\]]*\]\(([^)#]+)", text):
            folder = ROOT if name == "README.md" else (DOCS / name).parent
            assert (folder / target).stat().st_size > 0, (name, target)


def test_nothing_comes_from_other_servers() -> None:
    theme = config()["theme"]
    assert theme["font"] is False
    assert not any(str(path).startswith("http") for path in config().get("extra_javascript", []))
    for name, text in PAGES.items():
        assert not re.search(r"!\[[^\]]*\]\(https?:", text), name
    for picture in DOCS.rglob("*.svg"):
        assert not re.search(
            r"(?:href|src|url)\s*[=(]\s*[\"']?https?:", picture.read_text(encoding="utf-8")
        ), picture


def test_links_of_the_repository_are_links_of_the_site() -> None:
    text = "[a](docs/arena.md#regret) [b](tienlen_env/RULES.md) [c](Makefile) [d](#here)"
    page = "[a](../arena.md#regret) [b](../rules/clauses.md) c (`Makefile`) [d](#here)"
    assert hooks.for_site(text, "rules/index.md") == page
    text = "[a](../arena.md#regret) [b](../../tienlen_env/RULES.md#x) [c](../../Makefile) [d](#here)"
    page = "[a](../arena.md#regret) [b](../rules/clauses.md#x) c (`Makefile`) [d](#here)"
    assert hooks.links_out_of_docs(text, "rules/index.md") == page


def test_pages_of_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has the outputs of a run with the same code, and says so if there is none."""
    pytest.importorskip("nbconvert")
    nbformat = pytest.importorskip("nbformat")
    notebooks = load_script("notebook_pages")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "build")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "build").mkdir()

    def write(folder: str, code: str, **more: Any) -> None:
        v4 = nbformat.v4
        book = v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), v4.new_code_cell(code, **more)])
        nbformat.write(book, tmp_path / folder / "a.ipynb")

    picture = nbformat.v4.new_output("display_data", {"image/png": "iVBORw0KGgo="})
    write("notebooks", "draw(1)")
    write("build", "draw(2)", outputs=[picture])
    assert "`make notebooks` computes them" in notebooks.pages()["notebooks/a.md"]
    write("build", "draw(1)", outputs=[picture])
    found = notebooks.pages()
    (name,) = found.keys() - {"notebooks/a.md"}
    assert "computes them" not in found["notebooks/a.md"]
    assert f"]({name.removeprefix('notebooks/')})" in found["notebooks/a.md"]
    assert found[name].startswith(b"\x89PNG")


# ---------------------------------------------------------------- curves from run folders


def test_curves_of_a_run(tmp_path: Path) -> None:
    plot_runs = load_script("plot_runs")
    run = tmp_path / "a"
    run.mkdir()
    (run / "config.json").write_text('{"config": {"num_games": 4, "num_steps": 8}}')
    (run / "metrics.jsonl").write_text(
        '{"iteration": 1}\n{"iteration": 2, "points_v_greedy": 1.25}\n'
        '{"iteration": 3, "decisions": 500, "points_v_greedy": 1.5}\n'
    )
    assert plot_runs.read_run(run) == {"greedy": ([64e-6, 500e-6], [1.25, 1.5])}
    plot_runs.main([str(run), "--out", str(tmp_path / "pictures" / "curves")])
    for theme, ink in plot_runs.INK.items():
        for end in ("", "-phone"):
            picture = (tmp_path / "pictures" / f"curves-{theme}{end}.svg").read_text(encoding="utf-8")
            assert "alone against three greedy" in picture
            assert ink in picture


def test_seeds_of_one_line_over_processor_time(tmp_path: Path) -> None:
    plot_runs = load_script("plot_runs")
    for name, points in (("ppo-1", 1.0), ("ppo-2", 2.0), ("dmc-1", 1.5)):
        run = tmp_path / name
        run.mkdir()
        (run / "config.json").write_text('{"config": {}}')
        line = {"iteration": 1, "decisions": 5, "cpu_seconds": 90.0, "points_v_greedy": points}
        (run / "metrics.jsonl").write_text(json.dumps(line))
    runs = {path.name: plot_runs.read_run(path, "cpu") for path in sorted(tmp_path.iterdir())}
    assert runs["ppo-2"] == {"greedy": ([1.5], [2.0])}
    assert {name: len(seeds) for name, seeds in plot_runs.group(runs).items()} == {"dmc-1": 1, "ppo": 2}
    assert b"processor time" in plot_runs.draw(runs, "#000000", "cpu")


def test_a_run_without_comparisons_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"config": {}}')
    (tmp_path / "metrics.jsonl").write_text("")
    with pytest.raises(ValueError, match="eval-every"):
        load_script("plot_runs").read_run(tmp_path)


def test_curves_of_nash_conv(tmp_path: Path) -> None:
    plot = load_script("plot_nash_conv")
    for seed in (1, 2):
        run = {"rules": "mini", "algorithm": "ppo", "points": [[10, 0.5, 0.2 * seed], [20, 1.0, 0.1 * seed]]}
        (tmp_path / "mini").mkdir(exist_ok=True)
        (tmp_path / "mini" / f"ppo-{seed}.json").write_text(json.dumps(run))
    plot.main([str(tmp_path), "--out", str(tmp_path / "curves")])
    for theme, ink in plot.INK.items():
        for end in ("", "-phone"):
            picture = (tmp_path / f"curves-{theme}{end}.svg").read_text(encoding="utf-8")
            assert ">mini</text>" in picture
            assert ink in picture
    with pytest.raises(ValueError, match="no results"):
        plot.read(tmp_path / "mini")


def test_the_table_is_placed_under_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole folder of the built page; a site without it is made all the same."""
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    site = tmp_path / "site"
    site.mkdir()
    hooks.on_post_build({"site_dir": str(site)})
    assert not list(site.iterdir())
    page = tmp_path / "extensions" / "table" / "tienlen_table" / "server" / "static"
    (page / "engine").mkdir(parents=True)
    for name in (
        "index.html",
        "main.js",
        "sw.js",
        "engine/index.json",
        "engine/tienlen.wasm",
        "engine/a.safetensors",
    ):
        (page / name).write_text('{"bytes": {}}' if name.endswith(".json") else name)
    hooks.on_post_build({"site_dir": str(site)})
    for path in page.rglob("*.*"):
        assert (site / "play" / path.relative_to(page)).read_bytes() == path.read_bytes()
