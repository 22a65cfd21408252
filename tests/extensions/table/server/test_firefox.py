"""The table in Firefox: a whole game by clicks. Its other tests are in Chromium (test_page.py)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.extensions.table.web_help import static_host
from tests.needs import FIREFOX, MODULES, STATIC, needs_firefox
from tienlen_env.single.game import Game

pytestmark = needs_firefox


def test_a_whole_game_by_clicks() -> None:
    key = 131
    with static_host(STATIC) as address:
        command = [
            "node",
            str(Path(__file__).with_name("web_firefox.mjs")),
            str(MODULES),
            str(FIREFOX),
            address,
        ]
        run = subprocess.run(
            [*command, f"{key:016x}"], capture_output=True, text=True, check=False, timeout=300
        )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["browser"].startswith("firefox/")
    # The page asks for a server of the table; a static host has none, which Firefox counts as an error.
    assert [error for error in found["errors"] if "/ws" not in error] == []
    assert max(found["sideways"]) <= 0
    game = Game("cardgames", key)
    for data in found["rounds"]:
        for play in data["plays"]:
            game.play(play["cards"])
    assert game.is_over
    assert [int(score) for score in found["scores"]] == sorted(game.scores, reverse=True)
