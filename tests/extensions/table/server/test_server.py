"""The local server of the table: what it lets in, what each seat gets, what it keeps."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import re
import signal
import socket
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")
pytest.importorskip("uvicorn", reason="the extra [web] is not installed")
pytest.importorskip("websockets", reason="the extra [web] is not installed")

import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as sync_connect

import tienlen_agents
from tests.extensions.table.web_help import Client, Server
from tests.needs import ROOT
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.engine.view import View
from tienlen_env.games.common.cards import CARD_TEXT, parse_cards
from tienlen_env.games.registry import PRESETS
from tienlen_env.single.game import Game
from tienlen_env.single.session import Session
from tienlen_env.single.tienlen import Round
from tienlen_exact import best_responses, build, policy_of, small_game
from tienlen_exact.agent import save_policy
from tienlen_table.server import (
    app as app_module,
    hub as hub_module,
    messages,
    table as table_module,
)
from tienlen_table.server.__main__ import main
from tienlen_table.server.app import Bucket, Guard, ImpatientProtocol, make_app
from tienlen_table.server.hub import Hub
from tienlen_table.server.messages import Create, MessageError
from tienlen_table.server.store import Store, Stored, StoreError
from tienlen_table.server.table import ServedTable, selection, with_hands

PROGRAM = f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}"
CARD = re.compile("|".join([*CARD_TEXT, r"\*[12]"]))


@pytest.fixture(autouse=True)
def same_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub deals the same cards in each run: of random deals, a few are won before a card is played."""
    monkeypatch.setattr("secrets.randbits", random.Random(1).getrandbits)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("web") / "games.sqlite") as found:
        yield found


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(Store(":memory:"), ["random", "greedy", "heuristic", "trickster"])
    yield made
    made.close()


# ---------------------------------------------------------------- nothing hidden is sent


class Ear:
    """A listener that reads every byte as soon as it is sent."""

    def __init__(self, table: ServedTable, seat: int | None, name: str = "") -> None:
        self.table, self.seat, self.num_events, self.name = table, seat, 0, name
        self.num_messages = 0

    def send(self, message: dict[str, Any]) -> None:
        self.num_messages += 1
        self.check(message, "")

    def check(self, message: dict[str, Any], asked: str) -> None:
        """No card that the seat cannot know: of other hands, or held by none; and no key."""
        session = self.table.session
        if message["type"] == "view":
            assert message["seat"] == self.seat
            assert message.pop("events") == session.events[message["since"] :]  # public, with past rounds
            assert message.pop("rules")["digest"] == session.rules.digest()  # has letters like a card's
            assert {"key", "row", "hands", "tokens"}.isdisjoint(message)
        text = json.dumps(message)
        hand = session.view(self.seat)["hand"]
        number = session.round.round_index
        plays = [event for event in session.events if event["type"] == "play" and event["round"] == number]
        public = [event["text"] for event in plays]
        public += self.table.names  # paths of programs and files, which may contain the name of a card
        facts = session.view(None)
        public += [facts.get(name) for name in ("aside", "last_pile", "pile", "trick", "must")]
        known = CARD.findall(" ".join(map(str, [hand, asked, *public])))
        assert set(CARD.findall(text)) <= set(known)
        key = session.key % 2**64
        assert not any(form in text for form in (str(session.key), str(key), f"{key:016x}"))


async def listen_to_games(hub: Hub, num_games: int, rules: str, num_players: int) -> int:
    """Play games with people and agents and every kind of message; the number of messages that were read."""
    draw = random.Random(num_games)
    num_messages = 0
    for number in range(num_games):
        people = sorted(draw.sample(range(num_players), draw.randint(1, num_players)))
        bots = ["random", "trickster" if rules.startswith("thirteens") else "heuristic"]
        seats = ["human" if seat in people else draw.choice(bots) for seat in range(num_players)]
        tokens = hub.create(Create(rules, tuple(seats), number % 8 == 0, 0, 2 if number % 16 else None))
        table, _ = hub.find(tokens[0][0])
        ears = {seat: Ear(table, seat) for _, seat in tokens}
        for ear in ears.values():
            table.enter(ear)
        while not table.session.is_over:
            seat = table.session.turn
            if table.is_waiting:
                for person in people:
                    await table.go_on(person)
            elif seat in people:
                turn, legal = len(table.session.plays), table.session.view(seat)["legal"]
                assert isinstance(legal, list)
                if table.people == [seat] and table.view(seat)["can_undo"] and draw.random() < 0.05:
                    await table.undo(seat)
                    continue
                asked = " ".join(draw.sample(CARD_TEXT, 2))
                for other in ears.values():
                    try:
                        other.check(table.select(other.seat, turn, asked), asked)
                        assert other.seat == seat
                    except MessageError as error:
                        other.check({"type": "error", "message": str(error)}, asked)
                    try:
                        if str(draw.choice(legal)) != asked:
                            await table.play(other.seat, turn, f"{asked} {asked}")
                            raise AssertionError("played")
                    except MessageError as error:
                        other.check({"type": "error", "message": str(error)}, asked)
                await table.play(seat, turn, str(draw.choice(legal)))
            else:
                await asyncio.sleep(0)
        num_messages += sum(ear.num_messages for ear in ears.values())
        table.stop()
    return num_messages


@pytest.mark.parametrize(("rules", "num_players"), [("cardgames", 4), ("pagat", 2), ("thirteens", 4)])
def test_a_seat_gets_no_hidden_card(hub: Hub, rules: str, num_players: int) -> None:
    assert asyncio.run(listen_to_games(hub, 8, rules, num_players)) > 200


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("rules", "num_players", "games"), [("cardgames", 4, 600), ("foicica", 3, 200), ("thirteens", 4, 200)]
)
def test_no_seat_gets_a_hidden_card_in_a_thousand_games(
    hub: Hub, rules: str, num_players: int, games: int
) -> None:
    assert asyncio.run(listen_to_games(hub, games, rules, num_players)) > 100 * games


# ---------------------------------------------------------------- what a selection is


@pytest.mark.parametrize("rules", ["cardgames", "foicica", "pagat", "south", "north"])
def test_a_selection_is_what_the_exact_plays_say(rules: str) -> None:
    draw = random.Random(rules)
    num_legal = num_more = 0
    for key in range(16):
        session = Session(rules, key, whole_game=False)
        while not session.is_over:
            plays = session.round.legal_plays(exact=True)
            masks = [int(play.cards) for play in plays]
            hand = session.round.hand(session.turn)
            for _ in range(3):
                whole = draw.choice(masks)
                cards = [
                    c
                    for c in range(52)
                    if hand >> c & 1 and (draw.random() < 0.2 or whole >> c & draw.getrandbits(1))
                ]
                chosen = sum(1 << c for c in cards)
                for mask in {chosen, whole} - {0}:
                    legal, more = selection(session, mask)
                    assert legal == (mask in masks), (session.round.position, mask)
                    assert more == any(mask & ~other == 0 and mask != other for other in masks)
                    num_legal, num_more = num_legal + legal, num_more + more
            session.apply(draw.choice(session.legal))
    assert min(num_legal, num_more) > 100


# ---------------------------------------------------------------- what is let in

GOOD = {
    "hello": {"version": 1, "join": ""},
    "create": {"rules": "cardgames", "seats": ["human", "greedy", "greedy", "greedy"]},
    "join": {"token": "x", "since": 0},
    "play": {"id": 1, "turn": 0, "play": "3s"},
    "select": {"id": 1, "turn": 0, "cards": "3s"},
    "undo": {"id": 1},
    "hint": {"id": 1, "turn": 0},
    "next": {"id": 1},
    "end": {"id": 1},
    "record": {"id": 1},
}
BAD: list[Any] = [None, True, -1, 1.5, 10**30, float("inf"), "", "x" * 5000, "3s " * 60, [], {}, ["a"] * 99]
BAD += ["\x00", "\ud800", "../../etc/passwd", "$(touch /tmp/x)", "process:sh", "policy:/etc/passwd", "human"]
BAD += ["'; DROP TABLE games; --", {"a": 1}, [["x"]]]


def hostile(draw: random.Random) -> str:
    """A message that is wrong in some way."""
    kind, fields = draw.choice(list(GOOD.items()))
    message: dict[str, Any] = {"type": kind, **fields}
    match draw.randrange(5):
        case 0:
            return "".join(
                chr(draw.choice([*range(32, 127), 0, 0x1F600, 0xE9])) for _ in range(draw.randrange(200))
            )
        case 1:
            return json.dumps(draw.choice(BAD))
        case 2:
            return json.dumps(message)[: draw.randrange(1, 30)]
        case 3:
            return "[" * draw.randrange(1, 4000)
        case _:
            for name in draw.sample(list(message), draw.randint(1, len(message))):
                message[name] = draw.choice(BAD)
            return json.dumps(message)


def test_hostile_messages_are_refused_with_a_typed_error() -> None:
    draw = random.Random(0)
    refused = longest = 0
    codes: set[str] = set()
    for _ in range(10_000):
        text = hostile(draw)
        try:
            messages.read(text)
        except MessageError as error:
            refused += 1
            codes.add(error.code)
            longest = max(longest, len(str(error)))
    assert refused > 8000
    assert longest < 300
    assert codes == {"invalid", "too-long"}
    with pytest.raises(MessageError, match="load the page again"):
        messages.read('{"type": "hello", "version": 2}')
    for kind, fields in GOOD.items():
        message = messages.read(json.dumps({"type": kind, **fields}))
        assert getattr(message, "type", kind) == kind
        others = {"play": "PlayMove", "select": "Select", "hint": "AtTurn"}
        is_first = kind in ("hello", "create", "join")
        assert type(message).__name__ == (kind.title() if is_first else others.get(kind, "Question"))


@pytest.mark.parametrize("num_messages", [1500, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_hostile_messages_change_nothing_and_let_nothing_in(num_messages: int, server: Server) -> None:
    """From strangers, from observers of the table, and from people at another one."""
    draw = random.Random(num_messages)
    own = Client(server)
    tokens = own.create("human", "greedy", "greedy", "greedy")
    others = own.create("human", "human", "greedy", "greedy")
    before = own.wait(own.join(tokens[0]))
    num_sent = 0
    while num_sent < num_messages:
        other = Client(server)
        token = draw.choice([None, tokens[None], others[0], others[1]])
        if token is not None and (found := other.join(token))["type"] == "error":
            assert found["code"] == "rate"  # of all that this address sends
            other.close()
            time.sleep(1)
            continue
        with suppress(ConnectionClosed):  # the server hangs up
            for _ in range(40):
                other.socket.send(hostile(draw).encode("utf-8", "replace").decode())
                num_sent += 1
        other.close()
    time.sleep(1)  # the address may send again
    after = own.join(tokens[0])
    assert {**after, "events": 0, "since": 0} == {**before, "events": 0, "since": 0}
    assert Client(server).welcome["type"] == "welcome"
    own.close()
    errors = server.errors.read_text()
    assert "Traceback" not in errors, errors


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", "http://127.0.0.1:1"])
def test_other_origins_are_refused(server: Server, origin: str | None) -> None:
    with pytest.raises(InvalidStatus):
        Client(server, origin)


def test_other_names_are_refused(server: Server) -> None:
    for host, status in (("127.0.0.1", 0), ("evil.example", 403), ("localhost", 0), ("10.0.0.1", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/..%2f..%2f..%2fetc/passwd", headers={"Host": f"{host}:{server.port}"})
        answer = connection.getresponse()
        assert answer.status == (status or 404)
        if not status:
            policy = answer.getheader("Content-Security-Policy") or ""
            assert "default-src 'none'" in policy
            assert "unsafe-inline" not in policy
            assert answer.getheader("X-Content-Type-Options") == "nosniff"
        connection.close()


def test_host_names_and_origins() -> None:
    local = Guard(["localhost", "127.0.0.1"], any_address=False, port=8713)
    home = Guard(["localhost", "box.local"], any_address=True, port=80)
    good = ["localhost:8713", "127.0.0.1:8713", "LOCALHOST:8713"]
    bad = ["localhost", "localhost:80", "localhost.evil.example:8713", "", ":8713", "[::1]:8713"]
    bad += ["127.0.0.1:8713x", "localhost:8713:8713"]
    assert all(map(local.is_host, good))
    assert not any(map(local.is_host, bad))
    assert all(map(home.is_host, ["box.local", "192.168.1.7", "192.168.1.7:80", "[fe80::1]"]))
    assert not any(map(home.is_host, ["evil.example", "192.168.1.7:81", "[fe80::1", "1.2.3.4.evil.example"]))
    assert local.is_origin("http://localhost:8713", "localhost:8713")
    assert not local.is_origin("http://localhost:8713", "127.0.0.1:8713")
    assert not local.is_origin("https://localhost:8713", "localhost:8713")


def test_the_rate_is_limited() -> None:
    now = [0.0]
    bucket = Bucket(rate=2, burst=3, clock=lambda: now[0])
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [bucket.take() for _ in range(3)] == [True, True, False]


def test_a_client_that_sends_too_fast_is_hung_up(server: Server) -> None:
    client = Client(server)
    with suppress(ConnectionClosed):
        for _ in range(300):
            client.send({"type": "record"})
    with pytest.raises(ConnectionClosed):
        client.read("never")


@pytest.mark.parametrize(
    ("seats", "code"),
    [
        (("human", "process:touch /tmp/x", "greedy", "greedy"), "agent"),
        (("human", "policy:/etc/passwd", "greedy", "greedy"), "agent"),
        (("human", "search:worlds=100000", "greedy", "greedy"), "agent"),
        (("human",), "seats"),
        (("human", "trickster", "greedy", "greedy"), "agent"),
    ],
)
def test_only_the_agents_of_the_command_line(hub: Hub, seats: tuple[str, ...], code: str) -> None:
    with pytest.raises(MessageError) as caught:
        hub.create(Create("cardgames", seats, True, 0))
    assert caught.value.code == code
    with pytest.raises(MessageError, match="rules"):
        hub.create(Create("/etc/passwd", ("human",) * 4, True, 0))


def test_programs_and_policies_of_the_command_line() -> None:
    """A person, a program and a policy file at one table, to the end of a round."""
    policy = "policy:cardgames-medium-v5.safetensors"
    hub = Hub(Store(":memory:"), ["greedy", PROGRAM, f"policy:{WEIGHTS / 'cardgames-medium-v5.safetensors'}"])
    play_a_round(hub, "cardgames", ("human", "program", policy, "greedy"))


def test_a_best_response_sits_at_the_table(tmp_path: Path) -> None:
    tree = build(small_game("mini"))
    path = tmp_path / "exploiter.npz"
    save_policy(path, tree, best_responses(tree, policy_of(tree, tienlen_agents.load("greedy"))), "")
    hub = Hub(Store(":memory:"), [f"exact:{path}"])
    play_a_round(hub, "mini", ("human", "exact:exploiter.npz"))


def play_a_round(hub: Hub, rules: str, seats: tuple[str, ...]) -> None:
    """A person, who plays the last legal play each time, and agents play to the end of a round."""

    async def play() -> ServedTable:
        tokens = hub.create(Create(rules, seats, False, 0))
        table, seat = hub.find(tokens[0][0])
        ear = Ear(table, seat)
        table.enter(ear)
        while not table.session.is_over:
            if table.session.turn == seat:
                await table.play(seat, len(table.session.plays), table.session.view(seat)["legal"][-1])  # type: ignore[index, arg-type]
            await asyncio.sleep(0.005)
        table.leave(ear)
        return table

    try:
        table = asyncio.run(play())
        assert [info["name"] for info in table.view(0)["seats"]] == list(seats)  # type: ignore[index, call-overload, union-attr]
        assert table.view(0)["notices"] == []
        assert hub.store.records() == [table.session.record()]
    finally:
        hub.close()


def test_finished_games_are_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path / "games.sqlite")
    played = Round("cardgames", 5)
    while not played.is_over:
        played.play(played.legal_plays()[-1])
    game = store.add("cardgames", 5, ["human"] * 4, [], whole_game=False, pause=0)
    store.add("cardgames", 6, ["human"] * 4, [], whole_game=False, pause=0)  # no play yet
    store.finish(game, played.record() + "\n")
    store.close()
    assert main(["--export", "--games", str(tmp_path / "games.sqlite")]) == 0
    assert capsys.readouterr().out == played.record() + "\n"


def test_only_this_machine_reaches_the_server(server: Server) -> None:
    """Another address of this machine refuses the connection."""
    own = {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own | {"127.0.0.2"}:
        if address != "127.0.0.1":
            with pytest.raises(OSError):  # noqa: PT011 - refused or unreachable
                socket.create_connection((address, server.port), timeout=5)


def test_tokens_open_one_seat(hub: Hub) -> None:
    tokens = hub.create(Create("cardgames", ("human", "human", "greedy", "greedy"), True, 0))
    assert [seat for _, seat in tokens] == [0, 1, None]
    assert len({token for token, _ in tokens}) == 3
    assert all(len(token) >= 32 for token, _ in tokens)
    for token, seat in tokens:
        assert hub.find(token)[1] == seat
        for wrong in (token[:-1], token + "x", token.swapcase(), "", "%"):
            with pytest.raises(MessageError, match="no such seat"):
                hub.find(wrong)


def test_an_observer_and_another_seat_cannot_play(server: Server) -> None:
    client = Client(server)
    tokens = client.create("human", "human", "human", "human")
    view = client.join(tokens[0])
    actor = view["current_seat"]
    other = (actor + 1) % 4
    for seat in (other, None):
        client.join(tokens[seat])
        for message in (
            {"type": "play", "turn": 0, "play": "3s"},
            {"type": "select", "turn": 0, "cards": "3s"},
            {"type": "hint", "turn": 0},
            {"type": "undo"},
        ):
            assert client.ask(message, "error")["code"] in ("turn", "undo")
    client.close()


def test_a_hint_names_the_plays_as_the_view_does() -> None:
    """A pass is an empty text there, too."""

    class Even:
        def log_probabilities(self, view: View) -> np.ndarray:
            return np.zeros(len(view.legal_actions.action))

    async def ask() -> None:
        key = next(key for key in range(100) if Session("cardgames", key, whole_game=False).turn == 0)
        stored = Stored(1, "cardgames", key, False, None, False, 0, ("human",) * 4, 0, (), {})
        store = Store(Path(":memory:"))
        store.add_play = lambda *_: None  # type: ignore[method-assign]
        table = ServedTable(stored, store, "abcd", [None] * 4, Even(), None)  # type: ignore[arg-type]
        await table.play(0, 0, str(table.session.legal[0]))
        found = await table.hint(1, 1)
        texts = [play["text"] for play in found["plays"]]  # type: ignore[index, union-attr, call-overload]
        assert texts == table.view(1)["legal"]
        assert "" in texts

    asyncio.run(ask())


@pytest.mark.parametrize("rules", ["cardgames", "foicica", "north", "thirteens"])
def test_wrong_cards_over_the_socket_are_refused(rules: str, server: Server) -> None:
    """The kinds of tests/agents/arena/test_cheats.py, from the seat to act; the error has seat and clause."""
    client = Client(server)
    tokens = client.create("human", "human", "human", "human", rules=rules)
    view = client.join(tokens[client.join(tokens[0])["current_seat"]])
    hand = set(view["hand"].split())
    others = sorted(set(Session(rules, 0).batch.game.text.format_cards((1 << 52) - 1).split()) - hand)
    own = next(text for text in view["legal"] if set(text.split()) <= hand).split()
    rest = sorted(hand - set(own))
    order = "3456789TJQKA2"
    # The deal is drawn: a card near those of the play could make a pair or a run of them.
    far = next(
        card
        for card in rest
        if card[0] in order
        and all(
            1 < abs(order.find(card[0]) - order.find(other[0])) < 12 for other in own if other[0] in order
        )
    )
    kinds = {
        "the whole hand": sorted(hand), "one card more": [*own, far], "no cards": [],
        "the rest of the hand": rest, "another seat's card": others[:1], "another seat's hand": others[:13],
        "own cards and another's": [*own, others[0]], "the full deck": [*hand, *others],
        "a card twice": [*own, *own], "a card that does not exist": ["1x"], "a negative mask": ["-1"],
        "an action id": ["17"], "two lines": [*own, "\n", *own], "a long text": own * 200,
    }  # fmt: skip
    for kind, cards in kinds.items():
        error = client.ask({"type": "play", "turn": 0, "play": " ".join(cards)}, "error")
        assert error["code"] in ("illegal", "invalid"), kind
        if " refused: " in error["message"]:
            assert f"seat {view['seat']}" in error["message"], kind
            assert re.search(r", \d+\.\d+ \(", error["message"]), kind
    again = Client(server)
    after = again.join(tokens[view["seat"]])
    assert {**after, "events": 0} == {**view, "events": 0}
    for each in (client, again):
        each.close()


def test_the_join_token_of_a_home_network(tmp_path: Path) -> None:
    server = Server(tmp_path / "games.sqlite", "--host", "127.0.0.1")
    with server:
        assert len(server.join) >= 16
        client = Client(server)
        token = client.create("human", "greedy", "greedy", "greedy")[0]
        first = server.join
        server.kill()
        server.start()
        # The pages that are open have the token of before, and go on.
        assert Client(server, join=first).join(token)["seat"] == 0
        stranger = Client(server, join="wrong", wanted="error")
        assert stranger.welcome["code"] == "join"
        assert stranger.ask({"type": "create", **GOOD["create"]}, "table", "error")["code"] == "join"
        stranger.close()


def test_a_wrong_token_is_no_matter_where_there_is_none(server: Server) -> None:
    assert Client(server, join="of another server").welcome["type"] == "welcome"


# ---------------------------------------------------------------- limits


@contextmanager
def served(hub: Hub, **options: Any) -> Iterator[Any]:
    """A server of the hub in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = make_app(hub, Guard(["127.0.0.1"], any_address=False, port=port), **options)
    server = uvicorn.Server(
        uvicorn.Config(app, http=ImpatientProtocol, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield SimpleNamespace(port=port, address=f"http://127.0.0.1:{port}", join="")
    finally:
        server.should_exit = True
        thread.join()


def test_a_connection_that_says_nothing_is_closed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "HELLO_SECONDS", 3.0)  # a busy machine takes a while to say hello
    with served(hub) as server:
        with (
            sync_connect(f"ws://127.0.0.1:{server.port}/ws", origin=server.address, proxy=None) as silent,
            pytest.raises(ConnectionClosed),
        ):
            silent.recv(timeout=60)
        client = Client(server)  # who has said hello may be silent
        with pytest.raises(TimeoutError):
            client.read(timeout=3.5)
        client.close()


def test_one_address_does_not_lock_out_others(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "MAX_OF_ADDRESS", 2)
    with served(hub) as server:
        first, second = Client(server), Client(server)
        with pytest.raises(InvalidStatus):
            Client(server)
        with (
            socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0)) as other,
            sync_connect(
                f"ws://127.0.0.1:{server.port}/ws", origin=server.address, proxy=None, sock=other
            ) as neighbour,
        ):
            neighbour.send(json.dumps({"type": "hello", "version": 1}))
            assert json.loads(neighbour.recv(timeout=60))["type"] == "welcome"
        # Two tables an address: who connects again does not begin with a full bucket.
        for client in (first, second):
            assert client.create("human", "random", "random", "random")
            client.close()
        again = Client(server)
        assert again.ask({"type": "create", **GOOD["create"]}, "table", "error")["code"] == "rate"
        again.close()


def test_requests_that_stay_incomplete_are_given_up(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "REQUEST_SECONDS", 0.3)
    with served(hub) as server:
        whole = f"GET /no HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        for start in (b"", b"GET / HTTP/1.1\r\nHost:", whole + b"GET / HT"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as half_open:
                half_open.sendall(start)
                while half_open.recv(4096):
                    pass  # the answer of a whole one; then the end


@pytest.mark.nightly
def test_silent_connections_lock_nobody_out_and_end(hub: Hub) -> None:
    """500 WebSockets that never say hello, then 230 half-open requests, with the limits as they are."""
    with served(hub) as server, ExitStack() as opened:
        half = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.address}\r\n"
        upgrade = (
            f"{half}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        silent = []
        for number in range(730):
            source = f"127.0.1.{number % 4}", 0
            silent.append(socket.create_connection(("127.0.0.1", server.port), source_address=source))
            opened.enter_context(silent[-1])
            silent[-1].sendall((upgrade if number < 500 else half).encode())
        while True:  # the page tries again, too; the silent ones end after HELLO_SECONDS
            try:
                client = Client(server)
                break
            except InvalidStatus:
                silent[0].settimeout(app_module.HELLO_SECONDS)
                silent[0].recv(4096)
        assert client.create("human", "random", "random", "random")
        for one in silent:
            one.settimeout(60)
            with suppress(ConnectionResetError):
                while one.recv(4096):
                    pass  # its answer; then the end
        assert client.create("human", "random", "random", "random")  # who has said hello goes on
        client.close()


def children() -> set[str]:
    """The running processes that this one has started."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are listed in /proc")
def test_programs_end_with_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "ABANDONED_SECONDS", 0.1)
    hub = Hub(Store(":memory:"), [PROGRAM])
    before = children()

    async def until(has_programs: bool) -> None:
        while (children() > before) != has_programs:
            await asyncio.sleep(0.01)

    async def play() -> None:
        tokens = hub.create(Create("cardgames", ("program",) * 3 + ("human",), False, 0))
        table, seat = hub.find(tokens[0][0])
        for _ in range(5):  # more often than a program may fail
            ear = Ear(table, seat)
            table.enter(ear)
            while table.session.turn != seat and not table.session.is_over:
                await asyncio.sleep(0.01)
            if not table.session.is_over:
                await table.play(seat, len(table.session.plays), table.session.view(seat)["legal"][0])  # type: ignore[index, arg-type]
            await until(has_programs=True)
            table.leave(ear)
            await until(has_programs=False)
        assert table.view(seat)["notices"] == []
        # A finished game, which people still look at, needs none either.
        tokens = hub.create(Create("cardgames", ("program",) * 4, False, 0))
        table, _ = hub.find(tokens[0][0])
        table.enter(Ear(table, None))
        while not table.session.is_over:
            await asyncio.sleep(0.01)
        await until(has_programs=False)

    try:
        asyncio.run(asyncio.wait_for(play(), 120))
    finally:
        hub.close()


def test_programs_are_limited(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "MAX_PROGRAMS", 3)
    many = Hub(Store(":memory:"), [PROGRAM])

    async def play() -> None:
        seats = ("human", "human", "program", "program")
        one, other = (many.create(Create("cardgames", seats, False, 0))[0][0] for _ in range(2))
        table, seat = many.find(one)
        ear = Ear(table, seat)
        table.enter(ear)
        with pytest.raises(MessageError, match="2 programs play here already"):
            many.find(other)
        table.leave(ear)
        assert many.find(other)

    asyncio.run(play())
    many.close()


def test_nobody_sees_the_command_of_a_program() -> None:
    hub = Hub(Store(":memory:"), ["greedy", PROGRAM, f"{PROGRAM},name=Rob", f"{PROGRAM},limit_ms=500"])
    assert list(hub.labels.values()) == ["greedy", "program", "Rob", "program 2"]

    async def play() -> str:
        tokens = hub.create(Create("cardgames", ("human", "program", "Rob", "program 2"), False, 0))
        table, _ = hub.find(tokens[0][0])
        agent = table._agents[2]

        def fail(view: object) -> None:
            raise ValueError(f"{agent.name} from {PROGRAM} failed")  # type: ignore[union-attr]

        table._agents[1].act_cards = fail  # type: ignore[union-attr, method-assign, assignment]
        told: list[str] = []

        class Guest:
            seat, num_events, name = None, 0, ""

            def send(self, message: object) -> None:
                told.append(json.dumps(message))

        ear = Guest()
        table.enter(ear)
        while table.session.turn == 0 or not table.view(None)["notices"]:
            if table.session.turn == 0:
                await table.play(0, len(table.session.plays), table.session.view(0)["legal"][0])  # type: ignore[index, arg-type]
            await asyncio.sleep(0.01)
        table.leave(ear)
        return "".join(told)

    try:
        told = asyncio.run(asyncio.wait_for(play(), 120))
    finally:
        hub.close()
    assert "Rob" in told
    assert "bot.py" not in told
    assert sys.executable not in told


# ---------------------------------------------------------------- with friends


def test_an_agent_plays_for_who_is_away(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for who was there, and while another person waits; who comes back has the seat."""
    monkeypatch.setattr(table_module, "AWAY_SECONDS", 0.05)

    async def play() -> None:
        tokens = hub.create(Create("cardgames", ("human", "human"), False, 0))
        table, _ = hub.find(tokens[0][0])
        first, second = Ear(table, 0, "  Lan  "), Ear(table, 1)
        table.enter(first)
        while table.session.turn == 0:
            await table.play(0, len(table.session.plays), str(table.session.view(0)["legal"][-1]))  # type: ignore[index]
        before = len(table.session.plays)
        await asyncio.sleep(0.3)
        assert len(table.session.plays) == before  # nobody was there yet: the table waits
        table.enter(second)
        assert [seat["name"] for seat in table.view(1)["seats"]] == ["Lan", "human"]  # type: ignore[union-attr, index]
        table.leave(second)
        for _ in range(200):
            await asyncio.sleep(0.02)
            if len(table.session.plays) > before:
                break
        assert len(table.session.plays) > before
        assert table.view(0)["seats"][1]["stand_in"] == "heuristic"  # type: ignore[index]
        table.enter(second)
        assert "stand_in" not in table.view(0)["seats"][1]  # type: ignore[index, operator]
        table.stop()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_another_game_has_the_same_seats_and_links(hub: Hub) -> None:
    async def play() -> None:
        tokens = hub.create(Create("cardgames", ("human", "greedy"), False, 0))
        table, _ = hub.find(tokens[0][0])
        ear = Ear(table, 0)
        table.enter(ear)
        with pytest.raises(MessageError, match="when this one is over"):
            hub.again(table, 0)
        while not table.session.is_over:
            if table.session.turn == 0:
                legal = table.session.view(0)["legal"]
                await table.play(0, len(table.session.plays), str(legal[-1]))  # type: ignore[index]
            await asyncio.sleep(0)
        with pytest.raises(MessageError):
            hub.again(table, None)
        hub.again(table, 0)
        assert (table.session.plays, table.session.is_over) == ((), False)
        assert hub.find(tokens[0][0]) == (table, 0)
        assert len(hub.store.records()) == 1  # the first game stays
        table.stop()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_what_is_not_stored_has_not_happened(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        table, seat = hub.find(hub.create(Create("cardgames", ("human", "human"), False, 0))[0][0])
        seat = table.session.turn
        before, move = table.session.record(), str(table.session.view(seat)["legal"][0])  # type: ignore[index]

        def fail(*_: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(hub.store, "add_play", fail)
            with pytest.raises(StoreError):
                await table.play(seat, 0, move)
        assert (table.session.record(), len(table.session.plays)) == (before, 0)
        await table.play(seat, 0, move)
        assert len(table.session.plays) == 1
        with pytest.raises(MessageError, match="the position has changed"):
            table.select(table.session.turn, 0, "")
        table.stop()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_games_that_nobody_looks_at_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(":memory:")
    hub = Hub(store, ["greedy"])
    monkeypatch.setattr("tienlen_table.server.hub.MAX_LIVE", 2)

    async def play() -> None:
        links = [hub.create(Create("cardgames", ("human", "greedy"), False, 0))[0][0] for _ in range(4)]
        tables = [hub.find(link)[0] for link in links]
        tables[3].enter(Ear(tables[3], 0))
        assert [hub.find(link)[0] is table for link, table in zip(links, tables, strict=True)] == [
            False, False, False, True,
        ]  # fmt: skip
        for table in tables:
            table.stop()
        with pytest.raises(MessageError, match="the server was started without greedy"):
            Hub(store, ["random"]).find(links[0])

    asyncio.run(asyncio.wait_for(play(), 60))
    hub.close()


def test_the_next_round_waits_for_all_who_are_here(tmp_path: Path) -> None:
    """Each person closes the result; who is away is not waited for; the first person alone ends the game."""

    async def play() -> None:
        hub = Hub(Store(tmp_path / "games.sqlite"), ["greedy"])
        tokens = hub.create(Create("south_winner", ("human", "human", "greedy", "human"), num_rounds=0))
        table, _ = hub.find(tokens[0][0])
        first, second = Ear(table, 0), Ear(table, 1)
        table.enter(first)
        table.enter(second)  # nobody is at seat 3
        for number in (1, 2):
            while not table.is_waiting:
                seat = table.session.turn
                if seat in table.people:
                    legal = table.session.view(seat)["legal"]
                    await table.play(seat, len(table.session.plays), str(legal[-1]))  # type: ignore[index]
                await asyncio.sleep(0)
            over = [event for event in table.session.events if event["type"] == "round_over"][-1]
            held = over["hands"]
            assert isinstance(held, list)
            assert sorted(map(bool, held)) == [False, True, True, True]  # what the others still held
            await table.go_on(0)
            assert (table.is_waiting, table.view(0)["ready"]) == (True, [0])
            if number == 1:
                await table.go_on(1)
            else:
                with pytest.raises(MessageError, match="seat 1 ends"):
                    await table.end(1)
                table.leave(second)  # the last one who was waited for
            assert (table.is_waiting, table.view(0)["ready"]) == (False, [])
        assert (table.view(0)["can_end"], table.view(1)["can_end"]) == (True, False)
        table.stop()
        hub.close()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_an_evening_ends_when_a_player_says_so(tmp_path: Path) -> None:
    """A game without an end; it is the same after the server was started anew, with the people's names."""
    path = tmp_path / "games.sqlite"
    agents = ["random", "greedy"]

    async def play() -> str:
        hub = Hub(Store(path), agents)
        with pytest.raises(MessageError, match="without a person"):
            hub.create(Create("south_winner", ("greedy", "greedy"), num_rounds=0))
        tokens = hub.create(Create("south_winner", ("human", "greedy"), num_rounds=0))
        table, _ = hub.find(tokens[0][0])
        ear = Ear(table, 0, " Lan\x1b ")
        table.enter(ear)
        with pytest.raises(MessageError, match="two rounds"):
            await table.end(0)
        units: list[Any] = []
        while True:
            if table.is_waiting:
                units.append(table.view(0)["balances"])
                if table.num_rounds == 3:
                    break
                await table.go_on(0)
            elif table.session.turn == 0:
                legal = table.session.view(0)["legal"]
                await table.play(0, len(table.session.plays), str(legal[-1]))  # type: ignore[index]
            await asyncio.sleep(0)
        with pytest.raises(MessageError, match="only players"):
            await table.end(None)
        assert table.view(0)["has_no_end"]
        await table.end(0)
        view = table.view(0)
        assert view["result"] == {"scores": list(table.session.scores), "winner": table.session.winner}
        assert view["balances"] == units[-1]
        assert hub.store.records() == [table.session.record()]
        assert len(table.session.record().splitlines()) == 3
        table.stop()
        hub.close()
        again = Hub(Store(path), agents)
        other, _ = again.find(tokens[0][0])
        assert other.session.is_over
        assert other.session.record() == table.session.record()
        name = other.view(0)["seats"][0]["name"]  # type: ignore[index]
        assert name == view["seats"][0]["name"]  # type: ignore[index]
        assert str(name).startswith("Lan")
        assert "\x1b" not in str(name)
        again.again(other, 0)
        assert other.view(0)["seats"][0]["name"] == name  # type: ignore[index]
        assert (other.session.num_rounds, other.session.is_over) == (0, False)
        again.close()
        return table.session.record()

    record = asyncio.run(asyncio.wait_for(play(), 60))
    assert Game.from_record(record).is_over


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_older_version_is_read(version: int, tmp_path: Path) -> None:
    """From before games of a number of rounds, and before names of people."""
    path = tmp_path / "games.sqlite"
    store = Store(path)
    game = store.add("south", 5, ["human", "greedy"], [("x", 0)], whole_game=True, pause=0)
    store.close()
    with sqlite3.connect(path) as file:
        file.execute("ALTER TABLE tokens DROP COLUMN name")
        for name in ("num_rounds", "is_ended") if version == 1 else ():
            file.execute(f"ALTER TABLE games DROP COLUMN {name}")
        file.execute(f"PRAGMA user_version = {version}")
    store = Store(path)
    store.name(game, 0, "Lan")
    found = store.load(game)
    assert found.people == {0: "Lan"}
    assert (found.rules, found.whole_game, found.num_rounds, found.is_ended) == ("south", True, None, False)
    store.close()


def test_an_open_server_gives_its_address_for_invitations(tmp_path: Path, server: Server) -> None:
    assert Client(server).welcome["address"] == ""
    with Server(tmp_path / "games.sqlite", "--host", "127.0.0.1") as opened:
        assert Client(opened).welcome["address"] == f"http://127.0.0.1:{opened.port}/"


# ---------------------------------------------------------------- nothing is lost


def test_a_move_that_cannot_be_unmade_in_the_file_stays(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = hub.create(Create("cardgames", ("human", "greedy", "greedy", "greedy"), False, 0))

    async def play() -> None:
        table, seat = hub.find(tokens[0][0])
        ear = Ear(table, seat)
        table.enter(ear)
        while not table.view(seat)["can_undo"]:
            if table.session.turn == seat:
                await table.play(seat, len(table.session.plays), table.session.view(seat)["legal"][0])  # type: ignore[index, arg-type]
            await asyncio.sleep(0.001)
        while table.session.turn != seat and not table.session.is_over:
            await asyncio.sleep(0.001)
        before = list(table.session.events)

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(hub.store, "cut", full)
            with pytest.raises(sqlite3.OperationalError):
                await table.undo(seat)
        assert table.session.events == before
        await table.undo(seat)
        assert len(table.session.events) < len(before)
        assert len(hub.store.load(table.id).plays) == len(table.session.plays)
        table.leave(ear)

    asyncio.run(play())


def test_two_servers_do_not_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    store = Store(path)
    with pytest.raises(StoreError, match="another server has these games"):
        Store(path)
    Store(path, shared=True).close()  # --export only reads
    token = store.join_token()
    store.close()
    again = Store(path)
    assert again.join_token() == token
    again.close()
    assert path.stat().st_mode & 0o077 == 0 or os.name == "nt"


@pytest.mark.parametrize("option", [[], ["--export"]])
def test_a_store_that_cannot_be_made_is_one_line(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught:
        main([*option, "--games", str(tmp_path / "file" / "games.sqlite")])
    assert caught.value.code == 2
    assert "games.sqlite: " in capsys.readouterr().err


def test_a_user_without_a_home_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "--games: expected a file: this user has no home folder" in capsys.readouterr().err


def play_on(client: Client, view: dict[str, Any], num_moves: int, draw: random.Random) -> dict[str, Any]:
    """Play some moves of a seat."""
    for _ in range(num_moves):
        view = client.wait(view)
        if view["result"]:
            return view
        if view["waiting"]:
            client.send({"type": "next"})
        else:
            client.send({"type": "play", "turn": view["turn"], "play": draw.choice(view["legal"])})
        view = client.read("view")
    return client.wait(view)


@pytest.mark.parametrize(
    "num_plays", [12, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 40, 2))]
)
def test_a_game_goes_on_after_a_kill(num_plays: int, tmp_path: Path) -> None:
    draw = random.Random(3)
    server = Server(tmp_path / "games.sqlite")
    with server:
        client = Client(server)
        tokens = client.create("human", "heuristic", "heuristic", "heuristic")
        view = play_on(client, client.join(tokens[0]), num_plays, draw)
        events: list[Any] = []
        server.kill()
    with server:  # the same port
        client = Client(server)
        again = client.join(tokens[0])
        assert (again["turn"], again["lead_at"]) == (view["turn"], view["lead_at"])
        assert again["hand"] == view["hand"]
        assert again["num_events"] == view["num_events"]
        while not view["result"]:
            view = play_on(client, again if not events else view, 1, draw)
            events.append(view["turn"])
        text = "\n".join(client.ask({"type": "record"}, "record")["lines"])
        assert Game.from_record(text).scores == tuple(view["result"]["scores"])
        client.close()
    store = Store(tmp_path / "games.sqlite")
    assert [record.strip() for record in store.records()] == [text]


def test_a_move_that_is_sent_twice_counts_once(server: Server) -> None:
    client = Client(server)
    tokens = client.create("human", "human")
    view = client.join(tokens[0])
    seat = view["current_seat"]
    view = client.join(tokens[seat])
    move = {"type": "play", "turn": view["turn"], "play": view["legal"][0]}
    for _ in range(3):
        client.send(move)
    assert {client.read("view")["turn"] for _ in range(3)} == {1}
    client.close()


def test_only_new_events_are_sent_after_a_lost_connection(server: Server) -> None:
    client = Client(server)
    tokens = client.create("human", "greedy", "greedy", "greedy")
    view = play_on(client, client.join(tokens[0]), 2, random.Random(1))
    client.close()
    client = Client(server)
    again = client.join(tokens[0], since=view["num_events"] - 1)
    assert (again["since"], len(again["events"])) == (view["num_events"] - 1, 1)
    assert client.join(tokens[0], since=10**6)["since"] == 0
    client.close()


def test_records_before_the_end_have_no_key(hub: Hub) -> None:
    played = Round("cardgames", 5)
    while not played.is_over:
        played.play(played.legal_plays()[-1])
    line = with_hands(played)
    assert "key=" not in line
    assert Round.from_record(line).places == played.places


def of_another_program(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE bookmarks (address TEXT)")
        file.execute("PRAGMA user_version = 3")
    file.close()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "one byte": lambda path: path.write_bytes(b"x"),
    "a text": lambda path: path.write_bytes(b"not a database, but long enough to be read as one" * 40),
    "cut": lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(40)),
    "of another program": of_another_program,
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_file_that_is_not_a_store_is_refused_and_stays(kind: str, shared: bool, tmp_path: Path) -> None:
    path = tmp_path / "games.sqlite"
    FOREIGN[kind](path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store of games"):
        Store(path, shared=shared)
    assert path.read_bytes() == before


def test_an_export_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        Store(tmp_path / "folder" / "games.sqlite", shared=True)
    assert list(tmp_path.iterdir()) == []


def test_a_store_whose_column_has_another_name_is_an_error(tmp_path: Path) -> None:
    """As when a bit of the file has changed, which `quick_check` does not see."""
    path = tmp_path / "games.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as file:
        file.execute("ALTER TABLE tokens RENAME COLUMN digest TO digesT_")
    file.close()
    with pytest.raises(StoreError, match=r"not a store of games: the column tokens.digest is missing"):
        Store(path)


# ---------------------------------------------------------------- many at once


async def play_for(server: Server, seconds: float, times: list[float], seed: int) -> None:
    """Play as a person does, with a second or two before each move; the time until each move is seen."""
    draw = random.Random(seed)
    loop = asyncio.get_running_loop()
    async with connect(
        f"ws://127.0.0.1:{server.port}/ws",
        origin=server.address,  # type: ignore[arg-type]
        proxy=None,
        open_timeout=60,
    ) as socket:

        async def ask(message: dict[str, Any], *types: str) -> dict[str, Any]:
            await socket.send(json.dumps({"id": 1, **message}))
            return await read(*types)

        async def read(*types: str) -> dict[str, Any]:
            while True:
                found: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), 120))
                assert found["type"] != "error", found
                if found["type"] in types:
                    return found

        async def wait(view: dict[str, Any]) -> dict[str, Any]:
            while not (view["result"] or view["waiting"] or view["current_seat"] == view["seat"]):
                view = await read("view")
            return view

        await ask({"type": "hello", "version": 1}, "welcome")
        end = loop.time() + seconds
        await asyncio.sleep(draw.uniform(0, 2))  # people do not come in the same moment
        while loop.time() < end:
            seats = ["human", "heuristic", "greedy", "random"]
            table = await ask({"type": "create", "rules": "cardgames", "seats": seats}, "table")
            token = next(found["token"] for found in table["tokens"] if found["seat"] == 0)
            view = await wait(await ask({"type": "join", "token": token}, "view"))
            while not view["result"] and loop.time() < end:
                if view["waiting"]:
                    view = await wait(await ask({"type": "next"}, "view"))
                    continue
                await asyncio.sleep(draw.uniform(1.0, 2.0))
                begin = loop.time()
                move = {"type": "play", "turn": view["turn"], "play": draw.choice(view["legal"])}
                view = await ask(move, "view")
                times.append(loop.time() - begin)
                view = await wait(view)


def run_clients(server: Server, num_clients: int, seconds: float) -> list[float]:
    """Seconds that each move took, sorted."""
    times: list[float] = []

    async def all_of_them() -> None:
        await asyncio.gather(*(play_for(server, seconds, times, seed) for seed in range(num_clients)))

    asyncio.run(all_of_them())
    return sorted(times)


def test_many_clients_at_once(server: Server) -> None:
    assert len(run_clients(server, 30, 4)) > 30


@pytest.mark.nightly
def test_two_hundred_clients_at_once(server: Server) -> None:
    times = run_clients(server, 200, 30)
    p99 = times[int(0.99 * len(times))]
    print(f"{len(times)} moves of 200 clients, p99 {1000 * p99:.1f} ms")
    assert p99 <= 0.1
    assert len(times) > 1000


# ---------------------------------------------------------------- the command


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_ports_that_are_none_are_refused_before_any_work(
    port: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--port", port, "--games", str(tmp_path / "games.sqlite")])
    assert caught.value.code == 2
    assert f"argument --port: expected 0..65,535, got '{port}'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_refused_before_the_agents_are_prepared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as caught:
            main(["--port", str(port), "--games", str(tmp_path / "games.sqlite")])
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert f"--port {port}: Address already in use" in told
    assert "Preparing" not in told


def test_ctrl_c_ends_the_server_with_one_line(tmp_path: Path) -> None:
    server = Server(tmp_path / "games.sqlite")
    server.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/", headers={"Host": "another"})
    assert connection.getresponse().status == 403  # it serves now
    connection.close()
    server.process.send_signal(signal.SIGINT)
    server.process.communicate(timeout=30)
    told = server.errors.read_text()
    assert server.process.returncode == 130
    assert [line for line in told.splitlines() if not line.startswith(("Preparing", "the page is"))] == [
        "python -m tienlen_table.server: interrupted"
    ]


def test_without_a_built_page_the_server_says_how_to_build_it(hub: Hub, tmp_path: Path) -> None:
    app = make_app(hub, Guard(["127.0.0.1"], any_address=False, port=8713), static=tmp_path)
    scope = {
        "type": "http", "method": "GET", "scheme": "http", "path": "/", "query_string": b"", "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8713")], "http_version": "1.1",
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 503
    assert sent[1]["body"] == b"The page is not built: make web\n"


def test_the_networks_are_served_from_where_python_has_them(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    for name in ("index.html", "engine/index.json"):
        (tmp_path / name).write_text(name)
    with served(hub, static=tmp_path) as server:
        for path, content in [
            ("/", b"index.html"),
            ("/engine/index.json", b"engine/index.json"),
            (
                "/engine/thirteens-small-v1.safetensors",
                (WEIGHTS / "thirteens-small-v1.safetensors").read_bytes(),
            ),
        ]:
            with urllib.request.urlopen(server.address + path) as answer:
                assert answer.read() == content
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.address + "/engine/../../../hub.py")


def test_every_preset_can_be_played(hub: Hub) -> None:
    for rules, preset in PRESETS.items():
        tokens = hub.create(Create(rules, ("human", *["random"] * (preset.num_players - 1)), False, 0))
        table, seat = hub.find(tokens[0][0])
        assert table.view(seat)["rules"] == {
            "game": table.session.batch.game.name, "name": rules, "digest": table.session.rules.digest(),
        }  # fmt: skip


def test_parse_cards_is_used_for_selections() -> None:
    session = Session("cardgames", 1, whole_game=False)
    hand = session.view(session.turn)["hand"]
    other = next(card for card in CARD_TEXT if card not in str(hand))
    assert selection(session, parse_cards(other))[0] is False
