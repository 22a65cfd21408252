"""The state machine of a table: one function for the server and the page, and the same evenings on both."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.extensions.table.test_page_logic import RUN, WEB
from tests.extensions.table.wasm_files import run_node
from tests.needs import STATIC, needs_page, needs_page_sources
from tienlen_table import machine
from tienlen_table.machine import FIELDS, SEATS, TableEvent, TableRefusal
from tienlen_table.server.store import Store
from tienlen_table.server.table import ServedTable

pytestmark = [needs_page, needs_page_sources]

EVENINGS: list[dict[str, Any]] = [
    {"rules": "cardgames", "num_rounds": 3},
    {"rules": "south", "num_rounds": 2},
    {"rules": "pagat", "num_rounds": 0},
    {"rules": "north", "num_rounds": None, "whole_game": False},
    {"rules": "thirteens", "num_rounds": 2},
]


class First:
    """Plays the first legal play, as the agents of `page_logic.mjs` do."""

    name = "first"
    is_quick = True

    def reset(self, seed: int) -> None:
        pass

    def act(self, view: Any) -> Any:
        return self.act_cards(view)[0]

    def act_cards(self, view: Any) -> Any:
        return view.legal_actions.action[:1], view.legal_actions.cards[:1]


def tables(number: int) -> list[dict[str, Any]]:
    """Tables and events at random, wrong ones among them."""
    draw = random.Random(5)
    found = []
    for _ in range(number):
        num_seats, num_rounds = draw.randint(2, 8), draw.randint(0, 4)
        plays = [[draw.randrange(num_seats) for _ in range(draw.randint(1, 6))] for _ in range(num_rounds)]
        running = [draw.randrange(num_seats) for _ in range(draw.randint(0, 3))]
        given = {
            "PEOPLE": draw.randrange(1 << num_seats),
            "NUM_PLAYS": sum(map(len, [*plays, running])),
            "NUM_ROUNDS": num_rounds,
            "IS_OVER": int(draw.random() < 0.2),
            "TURN": draw.randrange(-1, num_seats),
            "ROUNDS_SEEN": draw.randint(0, num_rounds),
            "HERE": draw.randrange(1 << num_seats),
        }
        events = [
            (draw.choice(list(TableEvent)).name, draw.randrange(-1, num_seats), draw.randrange(-2, 14))
            for _ in range(40)
        ]
        found.append({"given": given, "plays": [*plays, running], "events": events})
    return found


def react_to(table: dict[str, Any]) -> list[Any]:
    """As `events` in `page_logic.mjs`."""
    numbers = [0] * machine.NUM_NUMBERS
    for name, value in table["given"].items():
        numbers[FIELDS[name]] = value
    plays = [SEATS * number + seat for number, seats in enumerate(table["plays"]) for seat in seats]
    machine.react(numbers, plays, TableEvent.LOOK, -1, 0)
    found = []
    for name, seat, number in table["events"]:
        before = numbers.copy()
        refusal = TableRefusal(machine.react(numbers, plays, TableEvent[name], seat, number))
        assert refusal == TableRefusal.NONE or numbers == before  # what is refused changes nothing
        found.append([refusal.name, numbers.copy()])
    return found


async def evening(rules: str, seats: list[str], key: str, draws: list[int], **game: Any) -> list[Any]:
    """As `evening` in `page_logic.mjs`, at the server."""
    store = Store(":memory:")
    signed = int(key, 16) - (1 << 64 if int(key, 16) >> 63 else 0)
    number = store.add(rules, signed, seats, [], pause=0, **game)
    agents = [None, *(First() for _ in seats[1:])]
    views = []
    with ThreadPoolExecutor(1) as executor:
        table = ServedTable(store.load(number), store, seats, agents, None, executor)  # type: ignore[arg-type]

        class Ear:
            seat, name, num_events = 0, "", 0

            def send(self, message: Any) -> None:
                pass

        table.enter(Ear())
        for draw in draws:
            while not (table.is_waiting or table.session.is_over or table.session.turn == 0):
                await asyncio.sleep(0)
            view = table.view(0)
            views.append(shown(view))
            if view["result"] or (view["can_undo"] and draw % 5 == 0):
                await table.undo(0)
            elif view["waiting"] and draw % 5 == 1:
                await table.end(0)
            elif view["waiting"]:
                await table.go_on(0)
            else:
                await table.play(0, len(table.session.plays), view["legal"][draw % len(view["legal"])])
        table.stop()
    return views


def shown(view: Any) -> dict[str, Any]:
    """The part of a view that the page has, too."""
    names = ("events", "turn", "waiting", "can_undo", "legal", "hand", "round", "result")
    return {**{name: view[name] for name in names}, "balances": view.get("balances")}


def test_all_events_on_both_sides() -> None:
    """400 tables with 40 events each in Python and in WebAssembly; five evenings on both."""
    draw = random.Random(7)
    evenings: list[dict[str, Any]] = [
        {
            "whole_game": True,
            "seats": ["human", "greedy", "greedy", "greedy"],
            "key": f"{draw.getrandbits(64):016x}",
            "draws": [draw.randrange(60) for _ in range(60)],
            **one,
        }
        for one in EVENINGS
    ]
    given = tables(400)
    found = run_node(RUN, [str(WEB), str(STATIC / "engine")], {"evenings": evenings, "tables": given})
    answers = [react_to(table) for table in given]
    assert {refusal for answer in answers for refusal, _ in answer} == set(TableRefusal.__members__)
    assert found["tables"] == answers
    for one, views in zip(evenings, found["evenings"], strict=True):
        expected = asyncio.run(evening(**one))
        for number, (view, other) in enumerate(zip(views, expected, strict=True)):
            assert view == other, f"{one['rules']}, event {number}"
        assert any(view["result"] for view in expected)
        assert any(view["waiting"] for view in expected) == one["whole_game"]


@pytest.mark.parametrize("pause", [0, 1])
def test_who_watches_agents_sees_the_end_of_each_round(pause: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the server as in the page; agents that play without a pause do not wait."""
    monkeypatch.setattr("tienlen_table.server.table.LINGER_SECONDS", 0.01)
    seen: list[Any] = []

    class Eye:
        seat, name, num_events = None, "", 0

        def send(self, message: Any) -> None:
            seen.append(message)

    async def watch() -> None:
        store = Store(":memory:")
        seats = ["first"] * 4
        number = store.add("cardgames", 3, seats, [], pause=pause, whole_game=True, num_rounds=2)
        table = ServedTable(store.load(number), store, seats, [First() for _ in seats], None, None)  # type: ignore[arg-type, misc]
        table.enter(Eye())
        while not table.session.is_over:
            await asyncio.sleep(0.01)
        table.stop()

    asyncio.run(watch())
    waiting = [view for view in seen if view["waiting"]]
    assert bool(waiting) == (pause > 0)
    assert all(view["events"][-1]["type"] == "round_over" for view in waiting)
