"""What others at a table see and are told does not depend on hidden cards: positions in pairs of deals."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tienlen_agents.external.messages import Failure, play_requests, validate_answer
from tienlen_agents.external.process import ProcessAgent
from tienlen_env.engine.agent import Forfeit, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.registry import PRESETS
from tienlen_env.games.tienlen.rules import PRESETS as TIENLEN
from tienlen_env.rendering import render_ansi
from tienlen_env.single.messages import positions
from tienlen_env.single.painter import PICTURES
from tienlen_env.single.session import Session
from tienlen_table.server.messages import MessageError
from tienlen_table.server.store import Store, Stored
from tienlen_table.server.table import ServedTable
from tienlen_table.terminal import play as terminal

WINS = [name for name, rules in TIENLEN.items() if rules.instant_wins]


class Wrong(ProcessAgent):
    """A program whose answers are always refused; they tell of its hand."""

    def __init__(self, kind: str) -> None:
        self.name, self.kind, self._forfeits, self._child = "program", kind, [], None

    def act_cards(self, view: View) -> Any:
        (request,) = play_requests(view, [0], lambda _: (1, 1))
        hand = str(request.message["hand"])
        answer = {"words": "my hand", "twice": f"{hand} {hand}", "none": [hand]}[self.kind]
        with pytest.raises(Failure) as caught:
            validate_answer(request, answer, view)
        failure = caught.value
        self._forfeits = [Forfeit(0, int(view.seat[0]), failure.reason, failure.detail)]
        return view.legal_actions.action[:1], view.legal_actions.cards[:1]


class Tells:
    """An agent of another package that tells its hand in its forfeit, or in what it raises."""

    name, is_quick = "tells", True

    def __init__(self, *, raises: bool) -> None:
        self.raises = raises

    def reset(self, seed: int) -> None:
        pass

    def act(self, view: View) -> Any:
        self.hand = view.hand.tolist()
        if self.raises:
            raise ValueError(f"my hand is {self.hand}, {card_ids(self.hand[0])}")
        return view.legal_actions.action[:1]

    def take_forfeits(self) -> list[Forfeit]:
        return [Forfeit(0, 0, f"my hand is {self.hand}", f"it is {self.hand}")]


AGENTS = [*map(Wrong, ("words", "twice", "none")), Tells(raises=False), Tells(raises=True)]


def with_hidden(session: Session, seat: int, draw: random.Random) -> Session:
    """The same position with other hidden cards than a seat's own."""
    other = copy.copy(session)
    other.game, other.batch = session.game.copy(), session.batch.copy()
    row: Any = session.batch.state.rows[0].tolist()
    game, (_, spec, actions) = session.batch.game, session.batch.kernel_arrays
    assert game.kernels.resample_hidden is not None
    game.kernels.resample_hidden(row, spec.tolist(), seat, draw.getrandbits(62))  # type: ignore[arg-type]
    row[game.columns.key] = draw.getrandbits(62)
    game.kernels.update_legal(row, spec.tolist(), actions.tolist())  # type: ignore[arg-type]
    other.batch.state.rows[0] = row
    rows = other.round._rows
    rows[0] = row[: rows.shape[1]]
    return other


def sessions(number: int, draw: random.Random) -> Iterator[Session]:
    """Positions of random play under all presets, every fifth with an instant win to declare."""
    wins = {name: [key for key in range(400) if _must_declare(name, key)] for name in WINS}
    for n in range(number):
        name = draw.choice(WINS if n % 5 == 0 else list(PRESETS))
        key = draw.choice(wins[name]) if n % 5 == 0 else draw.getrandbits(62)
        session = Session(name, key, whole_game=False)
        for _ in range(0 if n % 5 == 0 else draw.randrange(30)):
            session.apply(draw.choice(session.legal))
            if session.is_over:
                break
        if not session.is_over:
            yield session


def _must_declare(rules: str, key: int) -> bool:
    batch = Batch(rules, 1)
    batch.deal([key])
    return bool(batch.state.must_declare[0])  # type: ignore[attr-defined]


class Guest:
    """A listener."""

    num_events, name = 0, ""

    def __init__(self, seat: int | None) -> None:
        self.seat, self.heard = seat, list[str]()

    def send(self, message: Any) -> None:
        self.heard.append(json.dumps(message))


async def at_the_server(session: Session, seat: int, agent: Any) -> list[str]:
    """All that a seat and an observer get while an agent in the seat to act fails."""
    number = session.num_players
    stored = Stored(1, session.rules.name, 1, False, None, False, 0, ("human",) * number, 0, (), {})
    agents = [agent if other == session.turn else None for other in range(number)]
    names = [f"name {other}" for other in range(number)]
    table = ServedTable(stored, Store(":memory:"), names, agents, None, None)  # type: ignore[arg-type]
    table.session = session
    table.drive = lambda: None  # type: ignore[method-assign]
    guests = [Guest(seat), Guest(None)]
    for guest in guests:
        table.enter(guest)
    heard = []
    for text in ("", "3s", "declare", "xx"):
        for ask in (
            table.play(seat, len(session.plays), text),
            _select(table, seat, len(session.plays), text),
        ):
            with pytest.raises(MessageError) as caught:
                await ask
            heard.append(str(caught.value))
    if isinstance(agent, Tells) and agent.raises:
        await table._drive()
    else:
        table._choose(agent)
    table.tell_all()
    return [*heard, *(text for guest in guests for text in guest.heard)]


async def _select(table: ServedTable, seat: int, turn: int, text: str) -> Any:
    return table.select(seat, turn, text)


def at_the_terminal(session: Session, agent: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the terminal tells of the failure, before the round is over."""
    told: list[str] = []
    monkeypatch.setattr(terminal, "tell", told.append)
    seats = [agent if seat == session.turn else None for seat in range(session.num_players)]
    with suppress(ValueError):  # of an agent's own code: the command ends
        terminal.TerminalTable(session, seats, [f"name {seat}" for seat in range(len(seats))])._choice_of(
            agent
        )
    return told


def compare(number: int, monkeypatch: pytest.MonkeyPatch) -> int:
    logging.disable(logging.CRITICAL)
    draw, num_differ = random.Random(number), 0

    async def play() -> None:
        nonlocal num_differ
        for session in sessions(number, draw):
            seat = draw.choice([s for s in range(session.num_players) if s != session.turn])
            pair = session, with_hidden(session, seat, draw)
            num_differ += bool((pair[0].batch.state.hands != pair[1].batch.state.hands).any())
            agent = draw.choice(AGENTS)
            one, other = [await at_the_server(each, seat, agent) for each in pair]
            assert one == other
            one, other = [at_the_terminal(each, agent, monkeypatch) for each in pair]
            assert one == other
            picture = PICTURES.of(session.rules)
            one, other = [render_ansi(picture(each.batch, face_up=[seat])) for each in pair]
            assert one == other

    try:
        asyncio.run(play())
    finally:
        logging.disable(logging.NOTSET)
    return num_differ


def test_no_notice_shows_a_hidden_card(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(150, monkeypatch) > 100


@pytest.mark.nightly
def test_no_notice_shows_a_hidden_card_in_ten_thousand_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(13_000, monkeypatch) > 10_000


@pytest.mark.parametrize("rules", WINS)
def test_who_has_to_declare_looks_like_who_leads(rules: str) -> None:
    """Before the declaration nobody else can tell: the same leader with an instant win and without one."""
    batch = Batch(rules, 4000)
    batch.deal(np.arange(4000))
    games = np.flatnonzero(batch.state.must_declare)[:20]  # type: ignore[attr-defined]
    draw, num = random.Random(1), 0
    for hands, leader in zip(
        batch.state.hands[games].tolist(), batch.state.turn[games].tolist(), strict=True
    ):
        seat, third = (leader + 1) % 4, (leader + 2) % 4
        one, other = Batch(rules, 1), Batch(rules, 1)
        one.set_hands([hands], leader)
        if not one.state.must_declare[0]:  # type: ignore[attr-defined]
            continue  # four 3s win in the first round alone
        for _ in range(20):
            cards = card_ids(hands[leader] | hands[third])
            draw.shuffle(cards)
            mixed = list(hands)
            mixed[leader], mixed[third] = (sum(1 << c for c in some) for some in (cards[:13], cards[13:]))
            other.set_hands([mixed], leader)
            if not other.state.must_declare[0]:  # type: ignore[attr-defined]
                break
        else:
            continue  # another seat has an instant win, too
        num += 1
        for observer in (seat, None):
            assert positions(one, [0], [observer]) == positions(other, [0], [observer])
        pictures = [render_ansi(PICTURES.of(each.rules)(each, face_up=[seat])) for each in (one, other)]
        assert pictures[0] == pictures[1]
    assert num > 5


# ---------------------------------------------------------------- agents that fail at the server


class Exits(Tells):
    """Ends the program that it plays in."""

    def act(self, view: View) -> Any:
        sys.exit(0)


def seated(rules: str, key: int, agents: list[Any]) -> ServedTable:
    """A table for one round, whose game is kept in memory."""
    store = Store(":memory:")
    store.add_play = store.finish = lambda *_, **__: None  # type: ignore[method-assign]
    stored = Stored(1, rules, key, False, None, False, 0, ("human",) * 4, 0, (), {})
    return ServedTable(stored, store, ["a", "b", "c", "d"], agents, None, None)  # type: ignore[arg-type]


def test_an_agent_that_ends_its_program_does_not_end_the_server() -> None:
    async def play() -> list[str]:
        table, guest = seated("cardgames", 1, [Exits(raises=False)] * 4), Guest(None)
        table.enter(guest)
        assert table._driver is not None
        await table._driver
        return guest.heard

    (notice,) = json.loads(asyncio.run(play())[-1])["notices"]
    assert notice.endswith("has failed: the game cannot go on")


@pytest.mark.parametrize("rules", WINS)
def test_nobody_passes_over_an_instant_win_at_the_server(rules: str) -> None:
    """A person is refused, and then declares; a program forfeits, and its table goes on."""
    key = next(key for key in range(400) if _must_declare(rules, key))

    async def play() -> None:
        table = seated(rules, key, [None] * 4)
        table.drive = lambda: None  # type: ignore[method-assign]
        seat = table.session.turn
        for text in ("", "-", "3s", "2h"):
            with pytest.raises(MessageError, match=r"4\.12"):
                await table.play(seat, 0, text)
        assert not table.session.plays
        await table.play(seat, 0, "declare")
        assert table.session.is_over

    asyncio.run(play())
    program = Wrong("words")
    table = seated(rules, key, [program] * 4)
    assert str(table._choose(program)) == "declare"
    (notice,) = table.view(None)["notices"]  # type: ignore[misc]
    assert notice[2:] == "forfeits this round: an illegal play"
