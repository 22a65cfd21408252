"""The agents in WebAssembly play in a worker of a real browser as they do in Python.

Random rounds are compared in Chromium in test_wasm.py. Without Chromium these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import tienlen_agents
from tests.extensions.table.wasm_files import built
from tests.extensions.table.wasm_page import in_browser
from tests.needs import needs_chromium, needs_linker
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_table.wasm.entries import MAX_WORLDS

__all__ = ["built"]

pytestmark = [needs_chromium, needs_linker]

Folder = Callable[[str], Path]


def test_the_champion_plays_in_a_worker(built: Folder) -> None:
    key = 0x123456789ABCDEF
    found = in_browser(
        built("tienlen"),
        {
            "command": "worker", "game": "tienlen", "variant": ["cardgames", 4], "key": f"{key:016x}",
            "agent": "champion", "options": {},
        },
    )  # fmt: skip
    assert found["error"] == "AbortError"
    assert "there is no agent nobody" in found["unknown"]
    champion = tienlen_agents.load("champion")
    batch = Batch("cardgames", 1, history_length=history_of([champion]))
    batch.deal([key])
    actions = []
    while not (batch.state.turn < 0)[0]:
        actions.append(int(champion.act(View(batch))[0]))
        batch.step(actions[-1:])
    assert found["actions"] == actions
    assert found["record"].startswith(f"tienlen/1 cardgames p4 key={key:016x}.0 : ")


def test_a_long_search_does_not_block_the_page(built: Folder) -> None:
    """The page goes on while the worker searches: many turns during each choice; blocked, it has none."""
    found = in_browser(
        built("tienlen"),
        {
            "command": "worker", "game": "tienlen", "variant": ["cardgames", 4], "key": f"{7:016x}",
            "agent": "search", "options": {"worlds": MAX_WORLDS, "seed": 1}, "most": 12,
        },
    )  # fmt: skip
    choices = f"{len(found['times'])} choices of {np.mean(found['times']):.0f} ms"
    print(f"{choices}: {found['numTicks']} turns of the page, longest wait {found['longest']:.0f} ms")
    assert found["numTicks"] >= 5 * len(found["times"])
