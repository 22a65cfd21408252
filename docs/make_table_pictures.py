"""Draw every screen of the table in the browser, at three widths and in both modes: ``make web`` comes first.

    python docs/make_table_pictures.py OUT                # all screens, to look at
    python docs/make_table_pictures.py OUT north explorer # only these
    python docs/make_table_pictures.py --readme           # the two pictures of README.md

It needs Playwright and Chromium (``CHROMIUM=PATH``, or one in the search path).
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

import tienlen_agents.web
from tienlen_env.single.tienlen import Round

STATIC: Final = Path(str(tienlen_agents.web.__file__)).with_name("static")
PICTURES: Final = Path(__file__).with_name("pictures")
WIDTHS: Final = {360: 740, 768: 1024, 1440: 900}
SLOW: Final = 60_000  # milliseconds


@contextmanager
def host(folder: Path) -> Iterator[str]:
    """The address of a static host of the page."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Screens:
    """The screens of a page, by name."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def first(self) -> None:
        """The first screen."""
        self.page.goto(self.address)
        self.page.wait_for_selector(".start:not([disabled])")

    def settings(self) -> None:
        """The settings."""
        self.first()
        self.page.locator(".first button").last.click()

    def table(self, rules: str = "cardgames", num_players: int = 4, plays: int = 5, agent: str = "") -> None:
        """A table at the own turn, after some plays of the person's."""
        agent = agent or ("trickster" if rules.startswith("thirteens") else "heuristic")
        self._sit(rules, ["human", *[agent] * (num_players - 1)])
        for _ in range(plays):
            self.page.wait_for_selector(".my-turn, dialog .scores")
            if self.page.locator("dialog").count():
                return
            turn = self.page.locator(".game").get_attribute("data-turn")
            named = self.page.locator(".controls .named")
            can_pass = self.page.locator(".controls .pass:not([disabled])")
            if named.count():
                named.first.click()
            elif rules.startswith("thirteens"):
                self.page.locator(".hand .hold:not(.dim)").first.click()
            elif can_pass.count():
                can_pass.click()
            else:
                self.page.keyboard.press("h")
                self.page.locator(".hints li button").first.click()
                self.page.wait_for_timeout(150)
                if self.page.locator(".play:not([disabled])").count():
                    self.page.keyboard.press("Enter")
            self.page.wait_for_function(f"document.querySelector('.game').dataset.turn !== '{turn}'")
        self.page.wait_for_selector(".my-turn, dialog .scores")

    def _sit(self, rules: str, seats: list[str], key: int = 21) -> None:
        config = {"rules": rules, "seats": seats, "whole_game": True, "pause": 0}
        start = {"rules": rules, "num_players": len(seats), "key": f"{key:016x}", "round": 0}
        deal = {**start, "leader": None, "scores": None, "plays": []}
        game = {"config": config, "rounds": [deal], "roundsSeen": 0}
        self.page.goto(self.address)
        self.page.evaluate("game => localStorage.setItem('game', game)", json.dumps(game))
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#table=1")
        self.page.wait_for_selector(".game")

    def selected(self) -> None:
        """A card is selected."""
        self.table(plays=1)
        self.page.locator(".hand .hold").nth(2).click()
        self.page.wait_for_timeout(300)

    def hint(self) -> None:
        """What the champion would play."""
        self.table(plays=0)
        self.page.keyboard.press("h")
        self.page.wait_for_selector(".hints li")

    def watching(self) -> None:
        """Agents alone, their hands open."""
        self._sit("cardgames", ["champion"] * 4)
        self.page.wait_for_selector(".watching .main")
        self.page.locator(".watching .main").click()
        self.page.wait_for_timeout(200)

    def result(self) -> None:
        """The result of a round."""
        self._sit("cardgames", ["heuristic"] * 4)
        self.page.wait_for_selector("dialog .scores")

    def mobile(self) -> None:
        """The rules of a mobile app."""
        self.table("mobile")

    def foicica(self) -> None:
        """Rules with bombs."""
        self.table("foicica", 3)

    def pagat(self) -> None:
        """Two players."""
        self.table("pagat", 2)

    def south(self) -> None:
        """The south's rules, whose payments are points."""
        self.table("south")

    def south_count(self) -> None:
        """The south's rules by cards left."""
        self.table("south_count")

    def north(self) -> None:
        """The north's rules."""
        self.table("north")

    def thirteens(self) -> None:
        """The other game."""
        self.table("thirteens", 4, 3)

    def thirteens_seven(self) -> None:
        """The other game with seven players."""
        self.table("thirteens", 7, 3)

    def thirteens_dummy(self) -> None:
        """The other game with a dummy."""
        self.table("thirteens_dummy_manual", 3, 3)

    def explorer(self, rules: str = "cardgames") -> None:
        """A record with what the agents say of it."""
        played = Round(rules, 3)
        while not played.is_over:
            played.play(played.legal_plays()[-1])
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#record={played.record().replace(' ', '%20')}&move=6")
        self.page.wait_for_selector("td.expected.best")
        self.page.locator(".analyse").click()
        self.page.wait_for_selector(".analyse", timeout=4 * SLOW)

    def explorer_north(self) -> None:
        """A record by rules that no champion plays."""
        self.explorer("north")


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


def draw_all(browser: Browser, address: str, out: Path, names: list[str], sizes: list[int]) -> None:
    """Write ``NAME-WIDTH-MODE.png``, and say where a page is wider than its window."""
    out.mkdir(parents=True, exist_ok=True)
    for width in sizes:
        for scheme in ("light", "dark"):
            page = new_page(browser, width, scheme)
            for name in names:
                show: Callable[[], None] = getattr(Screens(page, address), name)
                show()
                page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=True)
                wider = int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
                print(name, width, scheme, f"{wider} pixels too wide" if wider > 0 else "", flush=True)
            page.context.close()


def draw_for_readme(browser: Browser, address: str) -> None:
    """The two pictures of the README."""
    desk = new_page(browser, 1440, "light")
    desk.set_viewport_size({"width": 1280, "height": 800})
    Screens(desk, address).table(agent="champion", plays=2)
    desk.screenshot(path=PICTURES / "table-light.png")
    phone = new_page(browser, 360, "dark", locale="vi-VN")
    Screens(phone, address).table(agent="champion", plays=2)
    phone.screenshot(path=PICTURES / "table-phone.png")


def main() -> None:
    """Read the command line and draw."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("out", type=Path, nargs="?", help="folder of the pictures")
    parser.add_argument("screens", nargs="*", metavar="SCREEN", help=f"of {', '.join(names_of_screens())}")
    parser.add_argument("--readme", action="store_true", help="draw the pictures of README.md")
    parser.add_argument("--widths", type=int, nargs="+", choices=list(WIDTHS), default=list(WIDTHS))
    parser.add_argument("--page", type=Path, default=STATIC, help="folder of the built page")
    options = parser.parse_args()
    if unknown := set(options.screens) - set(names_of_screens()):
        parser.error(f"there are no screens {', '.join(sorted(unknown))}")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright, host(options.page) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        if options.readme:
            draw_for_readme(browser, address)
        if options.out:
            draw_all(browser, address, options.out, options.screens or names_of_screens(), options.widths)
        browser.close()


if __name__ == "__main__":
    main()
