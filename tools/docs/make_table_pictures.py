"""Draw every screen of the table in the browser, at three widths and in both modes: ``make web`` comes first.

    python tools/docs/make_table_pictures.py OUT                # all screens, to look at
    python tools/docs/make_table_pictures.py OUT north explorer # only these
    python tools/docs/make_table_pictures.py OUT --languages en vi --widths 360
    python tools/docs/make_table_pictures.py --readme           # the two pictures of README.md

It needs Playwright and Chromium (``CHROMIUM=PATH``, or one in the search path).
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

import tienlen_table.server
from tienlen_agents import load
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import format_cards
from tienlen_env.single.session import Session

STATIC: Final = Path(str(tienlen_table.server.__file__)).with_name("static")
PICTURES: Final = Path(__file__).parents[2] / "docs" / "pictures"
WIDTHS: Final = {360: 740, 768: 1024, 1440: 900}
LANGUAGES: Final = {"en": "en-US", "vi": "vi-VN"}
SLOW: Final = 60_000  # milliseconds


@contextmanager
def host(folder: Path) -> Iterator[str]:
    """The address of a static host of the page."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    class Patient(http.server.ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            """A page that goes on to the next screen does not read its files to the end."""

    handler = functools.partial(Quiet, directory=str(folder))
    with Patient(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class LocalServer:
    """`tienlen web` on a free port, started when a screen needs it."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None
        self._games = tempfile.TemporaryDirectory()
        self._address = ""

    @property
    def address(self) -> str:
        """Its address; the server runs afterwards."""
        if self._process is None:
            words = ["--no-browser", "--port", "0", "--games", f"{self._games.name}/games.sqlite"]
            command = [
                sys.executable,
                "-m",
                "tienlen_table.server",
                *words,
                "--agents",
                "heuristic",
                "greedy",
            ]
            self._process = subprocess.Popen(
                [*command, *self._arguments], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
            )
            assert self._process.stdout is not None
            self._address = self._process.stdout.readline().split()[-1].partition("#")[0]
        return self._address

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._games.cleanup()


def key_with_instant_win(rules: str) -> int:
    """A deal where seat 0 may declare an instant win and do nothing else."""
    batch = Batch(rules, 4000)
    batch.deal(np.arange(4000))
    legal = batch.list_legal()
    only = legal.action[legal.start] == batch.action_table.declare
    return int(np.flatnonzero(only & (batch.state.turn == 0))[0])


def a_round(rules: str, num_players: int, key: int, num_plays: int | None = None) -> Session:
    """A round that rule-based agents play: its first plays, or all."""
    agent = load("trickster" if rules.startswith("thirteens") else "heuristic")
    agent.reset(0)
    session = Session(rules, key, num_players=num_players, whole_game=False)
    while not session.is_over and (num_plays is None or len(session.plays) < num_plays):
        session.apply(session.ask(agent))
    return session


def a_bad_round(rules: str, key: int) -> Any:
    """A round where all play the highest cards first, so that much can be lost."""
    session = Session(rules, key, whole_game=False)
    while not session.is_over:
        session.apply(session.legal[-1])
    return session.round


def key_with_payments(rules: str) -> int:
    """A deal whose round ends with at least four payments."""
    return next(key for key in range(200) if len(a_round(rules, 4, key).round.payments()) >= 4)


class Screens:
    """The screens of a page, by name."""

    def __init__(self, page: Page, address: str, server: LocalServer, closed: LocalServer) -> None:
        self.page, self.address, self.server, self.closed = page, address, server, closed
        self.agent = ""  # whose name the other seats have; "": that of the agent which has played

    # ------------------------------------------------------------ the first screen

    def first(self) -> None:
        """The first screen."""
        self.page.goto(self.address)
        self.page.wait_for_selector(".start:not([disabled])")

    def first_server(self) -> None:
        """The first screen, with the server of this machine behind it and a game to go on with."""
        self._position("cardgames", 4, 0)
        stored = self.page.evaluate("localStorage.getItem('game:1')")
        self.page.goto(self.server.address)
        self.page.evaluate("game => localStorage.setItem('game:1', game)", stored)
        self.page.reload()
        self.page.wait_for_selector(".start:not([disabled])")
        self.page.locator(".field.where select").select_option("server")

    def settings(self) -> None:
        """The settings."""
        self.first()
        self.page.locator(".elsewhere .settings").click()

    def more(self) -> None:
        """The settings of a table."""
        self.first()
        self.page.locator(".more summary").click()

    def rules(self) -> None:
        """The rules in play, with pictures."""
        self._own_turn("south", 4, 3)
        self.page.locator(".tools .rules").click()
        self.page.wait_for_selector(".rule-list li")

    # ------------------------------------------------------------ the table

    def table(self) -> None:
        """A table at the own turn, in the middle of a round."""
        self._own_turn("cardgames", 4, 3, min_table=3, min_hand=10)

    def lead(self) -> None:
        """The person leads the first trick."""
        self._own_turn("cardgames", 4, 0)

    def selected(self) -> None:
        """A card is selected."""
        self.table()
        self.page.locator(".hand .hold").nth(2).click()
        self.page.wait_for_timeout(300)

    def hint(self) -> None:
        """What the champion would play."""
        self._own_turn("cardgames", 4, 9, min_legal=5)
        self.page.locator(".tools .hint").click()
        self.page.wait_for_selector(".hints li")

    def hint_search(self) -> None:
        """What the search expects, where no champion plays the rules."""
        self._own_turn("thirteens", 3, 9, min_legal=3)
        self.page.locator(".tools .hint").click()
        self.page.wait_for_selector(".hints li")

    def chop(self) -> None:
        """A 2 on the table, and three pairs in a row that have just chopped it."""
        hands = ["4s 4c 5d 5h 6s 6d Kc 9c 3h", "Jc Qd 2h 8s 9h Ts Jd"]
        led = [{"action": 52, "cards": "2h"}]
        self._sit("cardgames", ["human", "heuristic"], hands=hands, leader=1, plays=led, pause=10**8)
        self.page.wait_for_selector(".my-turn")
        for card in ("4s", "4c", "5d", "5h", "6s", "6d"):
            self.page.locator(f'.hand .hold[data-card="{card}"]').click()
        self.page.wait_for_selector(".chop")

    def nothing_beats(self) -> None:
        """The person can only pass."""
        self._own_turn("cardgames", 4, 3, min_legal=1, min_table=1, min_hand=8, max_legal=1)

    def out(self) -> None:
        """The person has gone out, and the others play on."""
        plays = [event for event in a_round("cardgames", 4, 21).events if event["type"] == "play"]
        first = next(
            seat for seat, place in enumerate(a_round("cardgames", 4, 21).round.places) if place == 0
        )
        last = max(number for number, play in enumerate(plays) if play["seat"] == first)
        self._position("cardgames", 4, last + 1, seat=first)

    def cover(self) -> None:
        """Several people at one device: who is next takes it."""
        self._sit("cardgames", ["human", "human", "heuristic", "heuristic"])
        self.page.wait_for_selector("dialog.cover")

    def mobile(self) -> None:
        """The rules of a mobile app."""
        self._own_turn("mobile", 4, 14)

    def foicica(self) -> None:
        """Three players."""
        self._own_turn("foicica", 3, 8)

    def pagat(self) -> None:
        """Two players."""
        self._own_turn("pagat", 2, 6)

    def south(self) -> None:
        """The south's rules, whose payments are points."""
        self._own_turn("south", 4, 20)

    def north(self) -> None:
        """The north's rules."""
        self._own_turn("north", 4, 12)

    def declare(self) -> None:
        """An instant win that must be declared."""
        self._position("south", 4, 0, key=key_with_instant_win("south"), seat=0)
        self.page.wait_for_selector(".controls .named")

    def thirteens(self) -> None:
        """The other game."""
        self._own_turn("thirteens", 4, 14)

    def thirteens_seven(self) -> None:
        """The other game with seven players."""
        self._own_turn("thirteens", 7, 20)

    def thirteens_melds(self) -> None:
        """The other game with a dummy, and melds by hand: at the first choice of a meld."""
        rules, key = "thirteens_dummy_manual", 3
        session = a_round(rules, 3, key, 0)
        agent = load("trickster")
        while all(len(str(play)) == 2 for play in session.legal):
            session.apply(session.ask(agent))
        self._position(rules, 3, len(session.plays), key=key, seat=session.turn)
        self.page.wait_for_selector(".controls .named")

    # ------------------------------------------------------------ results

    def round_over(self) -> None:
        """The end of a round: places, points, who leads next."""
        self._position("cardgames", 4, None, seat=0)
        self.page.wait_for_selector("dialog .scores")

    def payments(self) -> None:
        """The end of a round with payments and balances."""
        self._position("south_count", 4, None, key=key_with_payments("south_count"), seat=0)
        self.page.wait_for_selector("dialog .payments li")

    def game_over(self) -> None:
        """The end of a game."""
        self._sit("cardgames", ["heuristic"] * 4, pause=0)
        self.page.wait_for_selector("dialog .scores")

    def seven_over(self) -> None:
        """The end of a round of seven."""
        self._position("thirteens", 7, None, seat=0)
        self.page.wait_for_selector("dialog .scores")

    def round_over_of_game(self) -> None:
        """The end of a round of a game: what the others held, and who leads next."""
        self.round_over()
        self.page.locator(".next").click()
        self.page.locator(".last-result").click()

    # ------------------------------------------------------------ what teaches, and what was played

    def lesson(self) -> None:
        """The first step of the lesson."""
        self._go("lesson", ".my-turn .coach")

    def puzzle(self) -> None:
        """A puzzle: both hands are open."""
        self._go("puzzle=3", ".my-turn .known")

    def puzzle_answered(self) -> None:
        """A puzzle after a wrong answer."""
        self.puzzle()
        self.page.locator(".hand .hold").first.click()
        self.page.wait_for_timeout(300)
        if self.page.locator(".controls .play:not([disabled])").count():
            self.page.locator(".controls .play").click()
        self.page.wait_for_selector(".coach .next")

    def games(self) -> None:
        """The games of this browser."""
        self._finished_game()
        self._go("games", ".game-list li")

    def no_games(self) -> None:
        """The list without a game."""
        self.page.goto(self.address)
        self.page.evaluate("localStorage.clear()")
        self._go("games", "main.games")

    def learn(self) -> None:
        """A play that cost clearly, as a question."""
        self._finished_game()
        self._go("learn=1", ".coach .known, .accuracy")

    def challenge(self) -> None:
        """The first of ten deals with the champion."""
        self._go("challenge=3", ".coach")

    # ------------------------------------------------------------ watching

    def watching(self) -> None:
        """Agents alone, their hands open."""
        self._position("cardgames", 4, 7)
        self.page.locator(".watching .main").click()
        self.page.wait_for_timeout(200)

    def watching_two(self) -> None:
        """Two agents."""
        self._position("pagat", 2, 7)
        self.page.locator(".watching .main").click()

    def watching_seven(self) -> None:
        """Seven agents of the other game."""
        self._position("thirteens", 7, 10)
        self.page.locator(".watching .main").click()

    # ------------------------------------------------------------ the explorer

    def explorer(self, rules: str = "cardgames", move: int = 6) -> None:
        """A record with what the agents say of it."""
        self._record(a_bad_round(rules, 3).record(), move)
        self.page.wait_for_selector("td.expected.best")
        self.page.locator(".analyse").click()
        self.page.wait_for_selector(".losses li", timeout=4 * SLOW)
        self.page.wait_for_selector(".analyse", timeout=4 * SLOW)

    def explorer_north(self) -> None:
        """A record by rules that no champion plays."""
        self.explorer("north")

    def explorer_seat(self) -> None:
        """What one seat sees, and the same deal with the champion in its seat."""
        self._record(a_bad_round("cardgames", 3).record(), 6)
        self.page.wait_for_selector("td.expected.best")
        self.page.locator(".board select").select_option("1")
        self.page.locator(".duplicate").click()
        self.page.wait_for_selector(".duplicate-result")

    def explorer_end(self) -> None:
        """The end of a round of the other game, with its results."""
        self._record(a_round("thirteens", 7, 5).record(), 999)
        self.page.wait_for_selector(".result li")

    def explorer_empty(self) -> None:
        """The explorer without a record."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#explorer")
        self.page.wait_for_selector(".open-record textarea")

    def explorer_error(self) -> None:
        """Something that is not a record."""
        self._record("tienlen/1 cardgames p4 key=nonsense : 3s", 0)
        self.page.wait_for_selector(".banner")

    # ------------------------------------------------------------ the server

    def invitation(self) -> None:
        """A new table on the server: links for the other people."""
        self.page.goto("about:blank")
        self.page.goto(self.server.address)
        self.page.locator(".field.where select").select_option("server")
        for seat in (1, 2):
            self.page.locator(".field.seat select").nth(seat).select_option("human")
        self.page.locator(".start").click()
        self.page.wait_for_selector(".invite a")

    def joined(self) -> None:
        """The same table on the screen of an invited person."""
        self.invitation()
        link = self.page.locator(".invite a").first.get_attribute("href")
        self.page.goto("about:blank")
        self.page.goto(str(link))
        self.page.wait_for_selector(".hand")

    def spectator(self) -> None:
        """The same table for who only watches."""
        self.invitation()
        link = self.page.locator(".invite a").last.get_attribute("href")
        self.page.goto("about:blank")
        self.page.goto(str(link))
        self.page.wait_for_selector(".game")

    def error_seat(self) -> None:
        """A link to a seat that does not exist."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.server.address}#seat=unknown")
        self.page.wait_for_selector(".waiting-page .banner")

    def error_token(self) -> None:
        """A server of a home network, without its token."""
        self.page.goto("about:blank")
        self.page.goto(self.closed.address)
        self.page.wait_for_selector(".banner")
        self.page.wait_for_selector(".start:not([disabled])")

    def lost(self) -> None:
        """The connection to the server is lost."""
        self.invitation()
        self.server.close()
        self.page.wait_for_selector(".game .banner")

    # ------------------------------------------------------------ helpers

    def _go(self, screen: str, wanted: str) -> None:
        """Open a screen by its address, and wait for a part of it."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{screen}")
        self.page.wait_for_selector(wanted)

    def _finished_game(self) -> None:
        """A game of one round that a person has played badly, stored as it is after its end."""
        played = a_bad_round("cardgames", 3)
        plays = [{"action": play.action, "cards": format_cards(play.cards)} for play in played.plays]
        self._sit(
            "cardgames",
            ["human", "heuristic", "heuristic", "heuristic"],
            key=3,
            plays=plays,
            whole_game=False,
        )
        self.page.wait_for_selector("dialog .scores")

    def _sit(
        self,
        rules: str,
        seats: list[str],
        *,
        key: int = 21,
        plays: Any = (),
        pause: int = 5000,
        whole_game: bool = True,
        **deal: Any,
    ) -> None:
        config = {"rules": rules, "seats": seats, "whole_game": whole_game, "pause": pause}
        start = {"rules": rules, "num_players": len(seats), "key": f"{key:016x}", "round": 0}
        deal = {**start, "leader": None, "scores": None, "plays": list(plays), **deal}
        game = {"config": config, "rounds": [deal], "roundsSeen": 0}
        self.page.goto(self.address)
        self.page.evaluate("game => localStorage.setItem('game:1', game)", json.dumps(game))
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#table=1")
        self.page.wait_for_selector(".game")
        self.page.wait_for_timeout(300)  # the names of the combinations are loaded

    def _position(
        self, rules: str, num_players: int, num_plays: int | None, *, key: int = 21, seat: int | None = None
    ) -> None:
        """A position of a round of agents; `seat` is the person's, None for a table to watch."""
        usual = self.agent or ("trickster" if rules.startswith("thirteens") else "heuristic")
        seats = [usual] * num_players
        if seat is not None:
            seats[seat] = "human"
        session = a_round(rules, num_players, key, num_plays)
        write = session.batch.game.text.format_cards
        plays = [{"action": play.action, "cards": write(play.cards)} for play in session.round.plays]
        self._sit(rules, seats, key=key, plays=plays)

    def _own_turn(
        self,
        rules: str,
        num_players: int,
        num_plays: int,
        min_legal: int = 2,
        min_table: int = 0,
        min_hand: int = 1,
        max_legal: int = 100,
    ) -> None:
        """A position where the seat to act is the person's and has a choice, after some plays."""
        for key in range(21, 100):
            for number in range(num_plays, num_plays + 30):
                session = a_round(rules, num_players, key, number)
                table = getattr(session.round, "table", None)
                is_free = (
                    min_legal <= len(session.legal) <= max_legal
                    and len(str(table or "").split()) >= min_table
                )
                seat = session.turn
                is_large = seat >= 0 and len(str(session.view(seat)["hand"]).split()) >= min_hand
                if is_free and is_large and (not min_table or str(session.plays[-1]) == str(table)):
                    self._position(rules, num_players, number, key=key, seat=seat)
                    self.page.wait_for_selector(".my-turn")
                    return
        raise AssertionError("no such position")

    def _record(self, record: str, move: int) -> None:
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#record={record.replace(' ', '%20')}&move={move}")


def names_of_screens() -> list[str]:
    """The names that the command line takes."""
    return [name for name in vars(Screens) if not name.startswith("_")]


def new_page(browser: Browser, width: int, scheme: Any, **options: Any) -> Page:
    """A page of its own; narrow ones are phones."""
    phone = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2} if width < 600 else {}
    size: Any = {"width": width, "height": WIDTHS[width]}
    context = browser.new_context(
        viewport=size, color_scheme=scheme, reduced_motion="reduce", **{"locale": "en-US", **phone, **options}
    )
    context.set_default_timeout(SLOW)
    return context.new_page()


Making = Callable[[Page], Screens]


def draw_all(browser: Browser, make: Making, out: Path, options: argparse.Namespace) -> None:
    """Write ``NAME-WIDTH-MODE-LANGUAGE.png``, and say where a page is wider than its window."""
    out.mkdir(parents=True, exist_ok=True)
    for width in options.widths:
        for scheme in options.modes:
            for language in options.languages:
                page = new_page(browser, width, scheme, locale=LANGUAGES[language])
                for name in options.screens or names_of_screens():
                    show: Callable[[], None] = getattr(make(page), name)
                    show()
                    page.screenshot(path=out / f"{name}-{width}-{scheme}-{language}.png", full_page=True)
                    wider = int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
                    problem = f"{wider} pixels too wide" if wider > 0 else ""
                    print(name, width, scheme, language, problem, flush=True)
                page.context.close()


def draw_table(screens: Screens) -> None:
    """The table, with champions around it."""
    screens.agent = "champion"
    screens.table()


def draw_for_readme(browser: Browser, make: Making) -> None:
    """The two pictures of the README."""
    desk = new_page(browser, 1440, "light")
    desk.set_viewport_size({"width": 1280, "height": 800})
    draw_table(make(desk))
    desk.screenshot(path=PICTURES / "table-light.png")
    phone = new_page(browser, 360, "dark", locale="vi-VN", device_scale_factor=1.5)
    draw_table(make(phone))
    phone.screenshot(path=PICTURES / "table-phone.png")


def main() -> None:
    """Read the command line and draw."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("out", type=Path, nargs="?", help="folder of the pictures")
    parser.add_argument("screens", nargs="*", metavar="SCREEN", help=f"of {', '.join(names_of_screens())}")
    parser.add_argument("--readme", action="store_true", help="draw the pictures of README.md")
    parser.add_argument("--widths", type=int, nargs="+", choices=list(WIDTHS), default=list(WIDTHS))
    parser.add_argument("--modes", nargs="+", choices=["light", "dark"], default=["light", "dark"])
    parser.add_argument("--languages", nargs="+", choices=list(LANGUAGES), default=["en"])
    parser.add_argument("--page", type=Path, default=STATIC, help="folder of the built page")
    options = parser.parse_args()
    if unknown := set(options.screens) - set(names_of_screens()):
        parser.error(f"there are no screens {', '.join(sorted(unknown))}")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        address = stack.enter_context(host(options.page))
        server = stack.enter_context(LocalServer())
        closed = stack.enter_context(LocalServer("--host", "127.0.0.1"))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])

        def make(page: Page) -> Screens:
            return Screens(page, address, server, closed)

        if options.readme:
            draw_for_readme(browser, make)
        if options.out:
            draw_all(browser, make, options.out, options)
        browser.close()


if __name__ == "__main__":
    main()
