"""Texts of strangers where they are shown: no script, no broken attribute, no escape code, no formula."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import subprocess
import sys
import time
import unicodedata
import urllib.parse
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.table.web_help import Server, static_host
from tests.hostile import TEXTS, hostile
from tests.needs import CHROMIUM, ROOT, needs_chromium, needs_page
from tienlen_agents import arena
from tienlen_agents.arena.play import Forfeits, Latency
from tienlen_agents.arena.terminal import show
from tienlen_agents.console import PlainConsole
from tienlen_env import Round
from tienlen_env.rendering import render_svg
from tienlen_env.texts import is_web_address, printable, spreadsheet
from tienlen_suite.page import leaderboard
from tienlen_train import cli

NUMBER = [
    pytest.param(len(TEXTS), id="some"),
    pytest.param(2000, id="all", marks=pytest.mark.nightly),
]
WATCH = "window.hits = []; window.hit = () => hits.push(1); window.alert = hit;"
# What an attribute runs or would run, and what has run.
ATTRIBUTES = """() => [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]).filter(
    ({ name, value }) => /^on/i.test(name) || name !== "title" && /^\\s*(javascript|data):/i.test(value),
).map(({ name, value }) => `${name}=${value}`).concat(hits)"""
# Presses, enters and opens everything before.
TOUCH = """() => {
    addEventListener("click", (event) => event.preventDefault(), true);
    for (const one of document.querySelectorAll("main *, body > *"))
        for (const kind of ["click", "mouseover", "mouseenter", "focus", "load", "error", "toggle"])
            one.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true }));
}"""


def seen(text: str | None) -> str:
    """A text as people see it: blanks are one."""
    return " ".join((text or "").split())


def shown(text: str) -> str:
    """What people should see of a hostile text."""
    return seen(printable(text))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


def opened(browser: Any, address: str) -> tuple[Any, list[str]]:
    """A page, and what it has asked for; a dialog is a script that ran."""
    page, asked = browser.new_context(locale="en-US").new_page(), []
    page.add_init_script(WATCH)
    page.on("dialog", lambda dialog: (asked.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="load")
    return page, asked


# ---------------------------------------------------------------- the site


def rows(texts: list[str]) -> list[dict[str, Any]]:
    """Rows whose every text is hostile."""
    base, found = json.loads((ROOT / "leaderboard" / "D-greedy.json").read_bytes()), []
    for number in range(len(texts)):
        entry, turned = copy.deepcopy(base), texts[number:] + texts[:number]
        keys = ("name", "authors", "licence", "kind", "training", "hardware", "attempts")
        entry["packet"]["declaration"] = dict(zip(keys, turned, strict=False))
        entry |= {"level": turned[8], "url": turned[9], "games": turned[10:12]}
        found.append(entry)
    return found


READ = """() => [...document.querySelector("table").tBodies[0].rows].map((row) => {
    const titles = [...row.closest("table").tHead.rows[0].cells].map((one) => one.textContent.split("¶")[0]);
    const cell = (title) => row.cells[titles.indexOf(title)];
    const [agent, games, packet] = [cell("agent"), cell("games"), cell("packet")];
    return {
        tags: [...row.querySelectorAll("td *")].map((one) => `${one.tagName} ${one.getAttributeNames()}`),
        name: agent.textContent,
        about: agent.firstElementChild.title,
        trust: cell("trust").textContent,
        tries: cell("tries").textContent,
        games: [...games.querySelectorAll("a")].map((one) => one.getAttribute("href")),
        url: packet.firstElementChild.getAttribute("href"),
    };
})"""


def built_site(folder: Path, texts: list[str]) -> Path:
    """The leaderboard by the theme, the extensions and the script of the site."""
    docs, site = folder / "docs", folder / "site"
    docs.mkdir()
    (docs / "sort.js").write_bytes((ROOT / "docs" / "sort.js").read_bytes())
    text = leaderboard(rows(texts), "play/index.html")
    (docs / "index.md").write_text(f"# Rows\n\n{text}\n\n<script src='sort.js' defer></script>\n", "utf-8")
    settings = {
        "INHERIT": str(ROOT / "mkdocs.yml"),
        "docs_dir": str(docs),
        "site_dir": str(site),
        "nav": ["index.md"],
        "hooks": [],
        "plugins": ["search"],
        "extra_css": [],
        "theme": {"custom_dir": str(ROOT / "docs" / "theme")},
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings))  # JSON is YAML
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "-f", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


@needs_chromium
@pytest.mark.parametrize("number", NUMBER)
def test_the_leaderboard_on_the_site(number: int, browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed: make install")
    texts = hostile(number)
    for first in range(0, number, 200):
        part = texts[first : first + 200]
        (tmp_path / str(first)).mkdir()
        with static_host(built_site(tmp_path / str(first), part)) as address:
            page, asked = opened(browser, address)
            found = page.evaluate(READ)
            assert len(found) == len(part)
            for entry, row in zip(rows(part), found, strict=True):
                declared = entry["packet"]["declaration"]
                about = "; ".join(declared[key] for key in list(declared)[1:6])
                assert seen(row["name"]) == shown(declared["name"])
                assert row["about"] == printable(about)
                assert seen(row["trust"]) == shown(entry["level"])
                assert seen(row["tries"]) == shown(declared["attempts"])
                games = [urllib.parse.unquote(game.partition("=")[2]) for game in row["games"]]
                assert games == [printable(game) for game in entry["games"]]
                assert row["url"] == (entry["url"] if is_web_address(entry["url"]) else None)
                link = "A href,title" if row["url"] else "SPAN title"
                assert row["tags"] == ["SPAN title", "A href", "A href", link]
            page.evaluate(TOUCH)
            assert page.evaluate(ATTRIBUTES) == []
            page.locator("[data-md-component=search-query]").focus()  # its results show texts of the page
            page.keyboard.type("agent")
            page.locator(".md-search-result__item").first.wait_for(state="attached")
            page.evaluate(TOUCH)
            assert page.evaluate(ATTRIBUTES) == []
            ours = re.compile(re.escape(address) + r"(assets/.*|search/.*|(sort|focus)\.js|favicon\.ico)?")
            assert [url for url in asked if not ours.fullmatch(url)] == []
            page.context.close()


# ---------------------------------------------------------------- reports of the arena


@pytest.fixture(scope="module")
def league() -> arena.Report:
    return arena.league(["greedy", "random"], num_deals=2, seed=1)


def report_of(league: arena.Report, texts: list[str]) -> arena.Report:
    """A report of agents with these names; so are the reasons of their forfeits."""
    first, found = league.results[0], league.leagues[0]
    results, pairs = [], [texts[number : number + 2] for number in range(0, len(texts) - 1, 2)]
    for pair in pairs:
        played = first.played._replace(forfeits=((Forfeits(pair[0], 1, pair[1]),), ()))
        results.append(replace(first, names=tuple(pair), played=played))
    standings = tuple(replace(found.standings[0], name=text) for text in texts[:60])
    payoffs = tuple((None,) * len(standings) for _ in standings)
    found = replace(found, standings=standings, payoffs=payoffs, cycles=(tuple(texts),))
    times = tuple(Latency(text, text, 1, 1.0, 1.0) for text in texts)
    command = " ".join(texts)
    return replace(league, results=tuple(results), leagues=(found,), latencies=times, command=command)


SKELETON = (
    "() => [...document.querySelectorAll('*')].map((one) => [one.tagName, ...one.getAttributeNames()].join())"
)


@needs_chromium
@pytest.mark.parametrize("number", NUMBER)
def test_the_page_of_a_report(number: int, browser: Any, tmp_path: Path, league: arena.Report) -> None:
    pytest.importorskip("jinja2", reason="the extra [arena] is not installed")
    texts, skeletons = hostile(number), []
    for name, used in (("plain", [f"agent{i}" for i in range(number)]), ("hostile", texts)):
        report_of(league, used).write(tmp_path / name)
        page, asked = opened(browser, (tmp_path / name / "arena.html").as_uri())
        skeletons.append(page.evaluate(SKELETON))
        page.evaluate(TOUCH)
        assert page.evaluate(ATTRIBUTES) == []
        assert len(asked) == 1
    assert skeletons[0] == skeletons[1]
    names = {seen(text) for text in page.locator("td:first-child").all_inner_texts()}
    assert {shown(text) for text in texts} <= names
    page.context.close()


@pytest.mark.parametrize("number", NUMBER)
def test_a_report_in_a_terminal(number: int, league: arena.Report) -> None:
    texts, out = hostile(number), io.StringIO()
    report = report_of(league, texts)
    show(report, PlainConsole(file=out, force_terminal=True, width=4000))
    show(replace(report, leagues=()), PlainConsole(file=out, force_terminal=True, width=4000))
    plain = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    assert [c for c in set(plain) if not (c.isprintable() or c == "\n")] == []
    words = {" ".join(line.split()) for line in plain.split("\n")}
    assert [text for text in texts if not any(shown(text) in line for line in words)] == []


@pytest.mark.parametrize("number", NUMBER)
def test_a_report_in_a_spreadsheet(number: int, league: arena.Report) -> None:
    report = report_of(league, hostile(number))
    text = report.to_csv()
    lines = list(csv.DictReader(io.StringIO(text)))
    agents = [name for result in report.results for name in result.names]
    assert [line["agent"] for line in lines] == [spreadsheet(name) for name in agents]
    pieces = [line[column] for line in lines for column in ("table", "agent", "rules")]
    pieces += [piece for line in csv.reader(io.StringIO(text), delimiter=";") for piece in line]
    normal = (unicodedata.normalize("NFKC", piece).lstrip('" ') for piece in pieces)
    assert [piece for piece in normal if piece[:1] in tuple("=+-@")] == []
    assert [spreadsheet(text) for text in ("=1", " -1", "a;=1", "a=1", "3 - 1")] == [
        *("'=1", " '-1", "a;'=1"),
        *("a=1", "3 - 1"),
    ]


NAME = "a\x1b[31m\x1b]0;x\x07\x9b\u202e\nb.json"  # of a file that a stranger sent, for example
COMMANDS = {
    "no command": [NAME],
    "an agent": ["match", NAME, "greedy"],
    "a policy": ["match", f"policy:{NAME}", "greedy"],
    "rules": ["league", "greedy", "random", "--rules", NAME],
    "an executor": ["match", "greedy", "random", "--executor", NAME],
    "an unknown option": ["match", "greedy", "random", f"--{NAME}"],
    "a file that is there": ["play", "--save", NAME],
    "a program": ["protocol", "check", f'"{NAME}'],
    "records": ["data", "--records", NAME, "--out", "data"],
    "a data set": ["train", "bc", "--data", NAME, "--out", "bc"],
    "rules of a training": ["train", "ppo", "--rules", NAME],
    "a policy for a graph": ["onnx", f"policy:{NAME}", "--out", "graph.onnx"],
    "a packet": ["suite", "check", NAME],
    "a row": ["suite", "check-row", NAME],
    "a small game": ["exact", "nashconv", "heuristic", "--rules", NAME],
    "games": ["web", "--games", NAME],
    "puzzles": ["puzzles", f"--{NAME}"],
    "a game": ["check-game", NAME],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_the_error_of_a_command(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(NAME).write_bytes(b"{}")
    try:
        code: object = cli.main(words)
    except SystemExit as end:
        code = end.code
    assert code not in (0, None)
    shown = capsys.readouterr().err + (code if isinstance(code, str) else "")
    assert shown
    assert [c for c in shown if not (c.isprintable() or c == "\n")] == []
    assert "\nb.json" not in shown


# ---------------------------------------------------------------- pictures, and the page of the table


@pytest.mark.parametrize("number", NUMBER)
def test_a_picture(number: int) -> None:
    texts, view = hostile(number), Round("cardgames", 1).view()
    tags = {one.tag for one in ET.fromstring(render_svg(view)).iter()}
    for first in range(0, number - 3, 4):
        picture = ET.fromstring(render_svg(replace(view, names=tuple(texts[first : first + 4]))))
        assert {one.tag for one in picture.iter()} <= tags
        assert not any(name.lower().startswith("on") for one in picture.iter() for name in one.attrib)


@needs_page
@pytest.mark.parametrize("number", NUMBER)
def test_the_page_of_the_table(number: int, browser: Any, tmp_path: Path) -> None:
    """Names and records in the address of a link, with the headers of the server."""
    texts = [text.encode(errors="ignore").decode().replace(",", ";") or "-" for text in hostile(number)]
    played = Round("cardgames", 1)
    for _ in range(5):
        played.play(played.legal_plays()[0])
    with Server(tmp_path / "games.sqlite") as server:
        page, asked = opened(browser, f"{server.address}/#explorer=1")
        for first in range(0, number - 3, 4):
            part = texts[first : first + 4]
            given = {"record": f"{played.record()}{' ' * first}", "names": ",".join(part)}
            go(page, **given)
            until(page, [f"Seat {seat}: {name}" for seat, name in enumerate(part, start=1)])
            assert page.evaluate(ATTRIBUTES) == []
        for text in texts:
            go(page, record=text)
            page.locator("[role=alert]").wait_for()
            assert page.evaluate(ATTRIBUTES) == []
        assert [url for url in asked if not re.match(r"(http|ws)://127\.0\.0\.1:", url)] == []
        page.context.close()


def go(page: Any, **given: str) -> None:
    """Go to an address of the page."""
    words = urllib.parse.urlencode(given, quote_via=urllib.parse.quote)
    page.evaluate("words => { location.hash = words; }", words)


def until(page: Any, names: list[str]) -> None:
    """Wait until the seats have these names (`wait_for_function` needs ``eval``, which headers forbid)."""
    end, wanted = time.monotonic() + 60, list(map(seen, names))
    while list(map(seen, page.locator(".seat-row .who b").all_text_contents())) != wanted:
        assert time.monotonic() < end, names
        time.sleep(0.01)
