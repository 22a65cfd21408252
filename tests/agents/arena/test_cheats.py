"""Agents that cheat, in every place that judges: each is named with seat and clause, and gains nothing."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from dataclasses import make_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.cheats import CARDS, FULL, install_agents, other_hand, wrong_cards
from tests.high_card import HIGH_CARD, TURN
from tests.needs import needs_table
from tienlen_agents.arena.play import Played, play_deals
from tienlen_agents.external import isolated as isolated_module, process as process_module
from tienlen_agents.external.isolated import IsolatedAgent
from tienlen_agents.external.messages import Failure, play_requests, validate_answer
from tienlen_agents.external.process import Child
from tienlen_agents.external.seeds import hashed_seed
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games import registry
from tienlen_env.single.session import Session

KEYS = np.arange(8)


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("kind", CARDS)
@pytest.mark.parametrize("name", ["cardgames", "foicica", "north", "thirteens"])
def test_the_engine_refuses_cards(name: str, kind: str, backend: Any) -> None:
    batch, rng = Batch(name, 1, backend=backend), np.random.default_rng(1)
    batch.reset(3)
    num_refused = 0
    for _ in range(24):
        if (batch.state.turn < 0)[0]:
            break
        actions = batch.sample(rng)
        row, columns = batch.state.rows[0].tolist(), batch.game.columns
        hand = row[columns.hand + row[columns.turn]]
        played = sum(row[columns.played + seat] for seat in range(batch.num_players))
        own = int(batch.action_to_cards(actions)[0])
        cards = CARDS[kind](own, hand, other_hand(row, batch), played)
        if cards in wrong_cards(batch, int(actions[0])):
            before = batch.state.rows.copy()
            with pytest.raises(IllegalPlayError) as caught:
                batch.step(actions, [cards])
            error = caught.value
            assert (error.game, error.seat, error.cards) == (0, row[columns.turn], cards)
            assert error.clause
            assert np.array_equal(batch.state.rows, before)
            num_refused += 1
        batch.step(actions)
    assert num_refused


# ---------------------------------------------------------------- the arena


class Cheat:
    """Plays as `random`, but for one thing that a subclass does.

    Args:
        kind: a key of `CARDS`.
    """

    name = "cheat"

    def __init__(self, kind: str = "no cards") -> None:
        self.kind = kind

    def reset(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, view: View) -> Any:
        return view.sample(self.rng)


class CardCheat(Cheat):
    def act_cards(self, view: View) -> Any:
        actions = view.legal_actions.action[view.legal_actions.start + view.num_legal - 1]
        own, played = view.cards_of(actions), np.bitwise_or.reduce(view.played, axis=1)
        make = CARDS[self.kind]
        hands = zip(own.tolist(), view.hand.tolist(), played.tolist(), strict=True)
        return actions, np.array([make(c, hand, ~hand & FULL & ~p, p) for c, hand, p in hands], np.int64)


def play(agent: Any, rules: Any = "cardgames", keys: Any = KEYS) -> Played:
    """Rounds of an agent in seat 1 against `random`, one for each key."""
    other = tienlen_agents.load("random")
    agent.reset(1)
    other.reset(2)
    return play_deals([other, agent], [0, 1, 0, 0], keys, rules)


@pytest.mark.parametrize("kind", CARDS)
def test_the_arena_names_who_plays_wrong_cards(kind: str) -> None:
    with pytest.raises(IllegalPlayError, match="agent 'cheat' played against the rules: game ") as caught:
        play(CardCheat(kind))
    assert caught.value.seat == 1
    assert caught.value.clause


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.zeros(n + 1, np.int64), lambda n: np.zeros(n), lambda n: None, lambda n: "pass" * n,
        lambda n: np.int64(0), lambda n: np.full(n, 10**6), lambda n: np.full(n, -1), lambda n: [[0]] * n,
        lambda n: np.full(n, -(2**63)), lambda n: np.array([True] * n), lambda n: [None] * n,
    ],
)  # fmt: skip
def test_the_arena_names_who_answers_nonsense(answer: Callable[[int], Any]) -> None:
    class Nonsense(Cheat):
        def act(self, view: View) -> Any:
            return answer(len(view))

    class NonsenseCards(Cheat):
        def act_cards(self, view: View) -> Any:
            return view.sample(self.rng), answer(len(view))

    with pytest.raises(ValueError, match="cheat"):
        play(Nonsense())
    if answer(3) is not None:  # None: the actions' own cards
        with pytest.raises(ValueError, match="cheat"):
            play(NonsenseCards())


class ChangesItsView(Cheat):
    """Writes through all that its view shows."""

    def act(self, view: View) -> Any:
        actions = super().act(view)
        batch, _ = view.source
        for array in (
            batch.state.rows,
            view.hand,
            view.legal_actions.cards,
            view.action_mask,
            view.public_rows,
        ):
            array[...] = -1
        view.legal_actions.action[...] = 0
        view.seat[...] = 0
        batch.num_games = 0
        return actions


class ChangesItsAnswer(Cheat):
    """Changes its answers after it has given them."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []

    def act(self, view: View) -> Any:
        for array in self.given:
            array[...] = 0
        self.given.append(super().act(view))
        return self.given[-1]


class Prints(Cheat):
    def act(self, view: View) -> Any:
        print('{"id": 1, "actions": [1], "cards": [1]}', flush=True)
        return super().act(view)


@pytest.mark.parametrize("kind", [ChangesItsView, ChangesItsAnswer, Prints])
def test_in_one_process_these_gain_nothing(kind: type[Cheat]) -> None:
    honest, cheat = play(Cheat()), play(kind())
    assert np.array_equal(honest.points, cheat.points)
    assert np.array_equal(honest.places, cheat.places)


def test_a_round_that_never_ends_is_an_error_with_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game from outside whose hands are never empty."""

    def play_nothing(row: Any, spec: Any, actions: Any, action: int, cards: int, rewards: Any) -> None:
        row[TURN] = (row[TURN] + 1) % 2

    endless_rules = make_dataclass(
        "EndlessRules", [("num_players", int, 2)], frozen=True,
        namespace={"name": "endless", "target": 0, "digest": lambda self: "0" * 16},
    )  # fmt: skip
    endless = replace(
        HIGH_CARD, name="endless", rules_type=endless_rules, presets={"endless": endless_rules()},
        kernels=HIGH_CARD.kernels._replace(play=play_nothing), max_decisions=lambda rules: 40,
    )  # fmt: skip
    monkeypatch.setitem(registry._games, "endless", endless)
    players = [tienlen_agents.load("random"), Cheat()]
    players[1].reset(0)
    with pytest.raises(TienLenError, match=r"of endless between 'random', 'cheat' does not end within 40"):
        play_deals(players, [0, 1], KEYS, endless_rules())


@pytest.mark.parametrize("name", ["cardgames", "foicica", "south", "north", "thirteens", "thirteens_manual"])
def test_the_bound_is_never_reached(name: str) -> None:
    batch, rng = Batch(name, 300), np.random.default_rng(0)
    batch.reset(1)
    num = 0
    while not (batch.state.turn < 0).all():
        batch.step(batch.sample(rng))
        num += 1
    assert num <= batch.game.max_decisions(batch.rules)


# ---------------------------------------------------------------- a process of its own


CHEATS = '''
import os, sys, time
import numpy as np
import tienlen_agents
from tests.agents.arena.test_cheats import CardCheat, ChangesItsAnswer, Cheat

class Sleeps(Cheat):
    def act(self, view): time.sleep(10**6)

class Raises(Cheat):
    def act(self, view): raise RuntimeError("no idea")

class Answers(Cheat):
    def act(self, view):
        for fd in range(3, 20):
            try: os.write(fd, b'{"id": 1, "actions": "all", "cards": []}\\n')
            except OSError: pass
        return super().act(view)

class Sneaks(ChangesItsAnswer):
    """Looks for hidden cards, prints, leaves a process behind, and changes what it has answered."""
    def act(self, view):
        print('{"id": 1}', flush=True)
        if not self.given and os.fork() == 0:
            time.sleep(60)
        batch, games = view.source
        columns = batch.game.columns
        for i, row in enumerate(batch.state.rows[games].tolist()):
            assert row[columns.key] == 0, "a key is shown"
            for k, count in enumerate(view.num_cards_left[i].tolist()):
                seat = (int(view.seat[i]) + k) % batch.num_players
                assert k == 0 or row[columns.hand + seat] == (1 << count) - 1, "a hand is shown"
        return super().act(view)
'''


@pytest.fixture
def cheats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with cheats as entry points, which the child processes find."""
    install_agents(tmp_path, monkeypatch, CHEATS, ["CardCheat", "Sleeps", "Raises", "Answers", "Sneaks"])


def isolated(name: str, limit_ms: int = 20_000, keys: Any = KEYS) -> tuple[Played, IsolatedAgent]:
    agent = IsolatedAgent(name, limit_ms=limit_ms)
    try:
        return play(agent, keys=keys), agent
    finally:
        agent.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cardcheat:the whole hand", "an illegal play"), ("raises", "the program ended"),
        ("answers", "an answer without plays"),
    ],
)  # fmt: skip
def test_isolated_cheats_forfeit(name: str, reason: str, cheats: None) -> None:
    keys = KEYS[:1]  # a process is started again for each seat
    played, _ = isolated(name, keys=keys)
    assert sum(forfeit.num_seats for forfeit in played.forfeits[1]) == len(keys)
    assert played.forfeits[1][0].reason == reason
    assert played.points[:, 1].mean() < 1.5


def test_isolated_sleepers_forfeit(cheats: None) -> None:
    """Who waited for it would wait for days."""
    played, _ = isolated("sleeps", 50, KEYS[:1])
    assert played.forfeits[1][0].reason == "no answer in time"


def test_a_hanging_isolated_agent_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock of its own: however many decisions are open, and however often the arena resets it."""
    clock, waited = 0.0, []
    replies = {"about": {"history": 0, "plays": None}, "hello": {"type": "ready", "version": 1}}

    class Deaf:
        """A process that starts, and answers no question."""

        stderr = ""

        def __init__(self, arguments: list[str]) -> None:
            self.answers: list[bytes] = []

        def send(self, data: bytes) -> None:
            if answer := replies.get(json.loads(data)["type"]):
                self.answers.append(json.dumps(answer).encode())

        def line(self, deadline: float, longest: int = 0) -> bytes:
            nonlocal clock
            if self.answers:
                return self.answers.pop()
            waited.append(deadline - clock)
            clock = deadline
            raise Child.late(self)  # type: ignore[arg-type]

        def stop(self, grace: float = 0) -> None:
            pass

    monkeypatch.setattr(process_module, "Child", Deaf)
    monkeypatch.setattr(isolated_module, "time", SimpleNamespace(monotonic=lambda: clock))
    agent = IsolatedAgent("greedy")
    batch = Batch("cardgames", 500)
    batch.reset(1)
    for seed in range(3):
        agent.reset(seed)
        for _ in range(6):  # more questions than it is started anew
            agent._lost.clear()
            agent.act(View(batch))
    assert waited == [isolated_module.PATIENCE_S] + [10.0] * 11  # 4 starts after each reset


def test_an_isolated_agent_sees_and_changes_nothing(cheats: None) -> None:
    played, agent = isolated("sneaks")
    assert played.forfeits[1] == ()

    class Same(Cheat):
        """It gets the seed that the other got in its place."""

        def reset(self, seed: int) -> None:
            super().reset(hashed_seed(agent.seed_key, seed))

    assert np.array_equal(played.points, play(Same()).points)


def test_isolate_is_an_option_of_every_agent() -> None:
    agent: Any = tienlen_agents.load("endgame:greedy,isolate=1")
    assert agent.name == "endgame:greedy,isolate=1"
    assert np.array_equal(play(agent).points, play(tienlen_agents.load("endgame:greedy")).points)
    agent.close()
    for name in ("process:cat,isolate=1", *(["human:isolate=1"] if not needs_table.args[0] else [])):
        with pytest.raises(ValueError, match="has no option 'isolate'"):
            tienlen_agents.load(name)
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        tienlen_agents.load("nobody:isolate=1")


# ---------------------------------------------------------------- programs and people


PLAYS = [
    "3s 3c 3d 3h",
    "",
    "pass",
    "2h 2h",
    "not cards",
    "3s 5s",
    "4s 5c 7d",
    "😀",
    "3s\x00",
    " ".join(["3s"] * 500),
]


@pytest.mark.parametrize("text", [*PLAYS, None, 17, ["3s"], {"cards": "3s"}])
def test_programs_and_the_table_refuse(text: Any) -> None:
    """Seat 0 must lead from 3s 4s 6c; what is not legal is refused with the seat, and nothing changes."""
    session = Session("cardgames", key=1, whole_game=False)
    seat, hand = session.turn, int(session.round.hand(session.turn))
    view = session.agent_view()
    (request,) = play_requests(view, [0], lambda _: (1, 1))
    with pytest.raises(Failure, match=r"answer without cards|illegal play"):
        validate_answer(request, text, view)
    if isinstance(text, str):
        before, num_events = session.batch.state.rows.copy(), len(session.events)
        with pytest.raises(TienLenError):
            session.apply(text)
        assert np.array_equal(session.batch.state.rows, before)
        assert (session.turn, len(session.events)) == (seat, num_events)
        assert int(session.round.hand(seat)) == hand


def test_the_judge_keeps_no_reference_that_a_view_shows() -> None:
    """Nothing that can be reached from a view is an array of the judge's batch with a state in it."""
    batch = Batch("cardgames", 4)
    batch.reset(0)
    seen, waiting = set(), [View(batch, np.arange(2))]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type) or callable(item):
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            assert not np.shares_memory(item, batch.state.rows)
            continue
        if isinstance(item, View | Batch | tuple | list | dict):
            waiting += gc.get_referents(item)
