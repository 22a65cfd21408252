"""Pictures of the table in the browser: ``python docs/make_screens.py [DIR]``, after ``make web``.

Without DIR it writes the two pictures of the README; with it, every screen at three widths, light and dark,
for people who change the page and want to look at all of it.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tienlen_env.single.tienlen import Round

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "agents" / "tienlen_agents" / "web" / "static"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
KEY, TURNS = 316, 3  # of the table in the pictures


def serve() -> str:
    """A static host of the page; its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(STATIC))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def a_round(turns: int | None = None) -> Round:
    """A round of the heuristic, up to a turn of the seat that is shown."""
    from tienlen_agents import load
    from tienlen_env.single.session import Session

    session, agent = Session("cardgames", KEY, whole_game=False), load("heuristic")
    while not session.is_over and (turns is None or len(session.plays) < turns):
        session.apply(int(agent.act(session.agent_view())[0]))
    found = session.round
    assert isinstance(found, Round)
    return found


def sit_down(page: Page, host: str, played: Round, person: int | None, pause: int = 2000) -> None:
    """Open a table in the position of a round."""
    seats = ["champion", "heuristic", "search", "champion"]
    if person is not None:
        seats[person] = "human"
    plays = [{"action": play.action, "cards": str(play) if play.cards else ""} for play in played.plays]
    start = {"rules": "cardgames", "num_players": 4, "key": f"{KEY:016x}", "round": 0}
    game = {
        "config": {"rules": "cardgames", "seats": seats, "whole_game": True, "pause": pause},
        "rounds": [{**start, "leader": None, "scores": None, "plays": plays}],
        "roundsSeen": 0,
    }
    page.goto(host)
    page.evaluate("game => localStorage.setItem('game', game)", json.dumps(game))
    page.goto(f"{host}#table=1")
    page.wait_for_selector(".game")
    page.wait_for_timeout(400)


def new_page(browser: Browser, width: int, scheme: str, locale: str = "en-US", scale: float = 1) -> Page:
    """A page of a size, colour and language."""
    context = browser.new_context(
        viewport={"width": width, "height": 760},
        color_scheme="dark" if scheme == "dark" else "light",
        locale=locale,
        device_scale_factor=scale,
        has_touch=width < 600,
    )
    return context.new_page()


def readme(browser: Browser, host: str) -> None:
    """The two pictures of the README."""
    middle = a_round(TURNS)
    for name, width, scheme, locale in (
        ("table-light", 1100, "light", "en-US"),
        ("table-phone", 360, "dark", "vi-VN"),
    ):
        page = new_page(browser, width, scheme, locale)
        sit_down(page, host, middle, middle.current_seat)
        for card in page.locator(".hand .hold").all()[2:3]:
            card.click()
        page.wait_for_timeout(400)
        page.screenshot(path=ROOT / "docs" / "pictures" / f"{name}.png")


def every_screen(browser: Browser, host: str, out: Path) -> None:
    """All screens at three widths in both modes."""
    middle, whole = a_round(TURNS), a_round()
    record = whole.record().replace(" ", "%20")

    def explore(page: Page) -> None:
        page.goto(f"{host}#record={record}&move=12")
        page.wait_for_selector("td.expected.best")
        page.locator("select").nth(1).select_option("16")
        page.locator(".analyse").click()
        page.wait_for_selector(".losses li", timeout=120_000)

    def hint(page: Page) -> None:
        sit_down(page, host, middle, middle.current_seat)
        page.locator(".tools .hint").click()
        page.wait_for_selector(".hints li")

    screens: dict[str, Callable[[Page], object]] = {
        "first": lambda page: (page.goto(host), page.wait_for_selector(".start:not([disabled])")),
        "settings": lambda page: (page.goto(host), page.locator(".first button").last.click()),
        "table": lambda page: sit_down(page, host, middle, middle.current_seat),
        "hint": hint,
        "watch": lambda page: sit_down(page, host, middle, None),
        "result": lambda page: sit_down(page, host, whole, 0),
        "explorer": explore,
    }
    out.mkdir(parents=True, exist_ok=True)
    for width in (360, 768, 1440):
        for scheme in ("light", "dark"):
            for name, show in screens.items():
                page = new_page(browser, width, scheme, "vi-VN" if scheme == "dark" else "en-US")
                show(page)
                page.wait_for_timeout(300)
                page.screenshot(path=out / f"{name}-{width}-{scheme}.png", full_page=name == "explorer")
                page.context.close()


def main() -> None:
    """Make the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or not (STATIC / "engine" / "index.json").is_file():
        sys.exit("this needs Chromium (apt install chromium) and the built page (make web)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        if len(sys.argv) > 1:
            every_screen(browser, serve(), Path(sys.argv[1]))
        else:
            readme(browser, serve())
        browser.close()


if __name__ == "__main__":
    main()
