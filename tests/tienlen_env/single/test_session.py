"""`Session`: one game for people, agents and programs, and the JSON form of what a seat sees."""

import copy
import json
import pickle
import random
from contextlib import nullcontext

import numpy as np
import pytest

from tests.high_card import HIGH_CARD
from tests.tienlen_env.games.tienlen.test_engine_oracle import CUSTOM
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, NotationError, TienLenError
from tienlen_env.games.registry import PRESETS, register
from tienlen_env.games.thirteens.cards import full_deck
from tienlen_env.single.base import BaseRound
from tienlen_env.single.game import Game
from tienlen_env.single.messages import positions
from tienlen_env.single.session import Session
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Cards, Round

KINDS = {**PRESETS, "no_bombs": CUSTOM["no_bombs"]}
GAMES = ("cardgames", "thirteens_dummy_manual")


@pytest.mark.parametrize("rules", GAMES)
def test_a_whole_game(rules):
    session, game, rng = Session(rules, 3), Game(rules, 3), random.Random(0)
    while not session.is_over:
        seat = session.turn
        view = session.view(seat)
        assert view == json.loads(json.dumps(view))
        assert [play.action for play in session.legal] == view["legal_ids"]
        choice = rng.randrange(len(view["legal"]))
        move = rng.choice([view["legal"], view["legal_ids"], session.legal])[choice]
        play = session.apply(move)
        game.play(move)
        assert session.plays[-1] is play
        assert session.record() == game.record()
        state = session.batch.state
        assert state.turn[0] == session.turn == game.turn
        assert tuple(state.scores[0].tolist()) == session.scores == game.scores
        hands = [int(session.round.hand(s)) for s in range(session.num_players)]
        assert session.is_over or state.hands[0].tolist() == hands
    assert session.view(0)["result"] == {"scores": list(game.scores), "winner": game.winner}
    assert session.view(0)["current_seat"] is None
    assert session.view(0)["legal"] == []
    rounds = [event for event in session.events if event["type"] == "round_over"]
    assert [event["round"] for event in rounds] == list(range(len(game.records)))
    assert rounds[-1]["totals"] == list(game.scores)
    kind = type(game.round)
    for event, line in zip(rounds, game.records, strict=True):
        played = kind.from_record(line)
        assert (event["places"], event["scores"]) == (list(played.places), list(played.scores))
    with pytest.raises(IllegalPlayError):
        session.apply(0)


@pytest.mark.parametrize("rules", GAMES)
def test_one_round(rules):
    session = Session(rules, 5, whole_game=False)
    while not session.is_over:
        session.apply(session.legal[0])
    assert isinstance(session.game, Round | ThirteensRound)
    places = session.game.places
    assert session.winner == (places.index(0) if places.count(0) == 1 else None)


@pytest.mark.parametrize("rules", GAMES)
def test_undo(rules):
    session, rng = Session(rules, 8), random.Random(4)
    seen = []
    while len([e for e in session.events if e["type"] == "round_over"]) < 2:
        seen.append((session.record(), session.view(0), session.batch.state.rows.copy()))
        session.apply(rng.choice(session.legal))
    with pytest.raises(TienLenError, match="cannot be taken back"):
        session.undo(len(session.plays) + 1)
    while seen:
        back = min(rng.randrange(1, 9), len(seen))
        session.undo(back)
        seen, (record, view, rows) = seen[:-back], seen[-back]
        assert (session.record(), session.view(0)) == (record, view)
        played = [event for event in session.events if event["type"] == "play"]
        assert session.turns == [(event["round"], event["seat"]) for event in played]
        assert np.array_equal(session.batch.state.rows, rows)
    session.apply(session.legal[-1])


def test_events_since():
    session = Session("cardgames", 7)
    session.apply("3s")
    seen = session.view(0)
    assert seen["events"] == [{"type": "play", "round": 0, "seat": 3, "id": 1, "text": "3s"}]
    session.apply("3d")
    session.apply(Cards())
    later = session.view(0, since=seen["num_events"])
    assert [event["text"] for event in later["events"]] == ["3d", ""]
    assert later["num_events"] == 3
    for bad in ((9, 0), (-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="expected"):
            session.view(*bad)


@pytest.mark.parametrize("rules", [name for name in PRESETS if name != HIGH_CARD.name])
@pytest.mark.parametrize("num_rounds", [3, 0])
def test_an_evening(rules: str, num_rounds: int) -> None:
    """RULES.md 6.5: rounds by number or until the players stop, under any rules; money runs on."""
    session, rng = Session(rules, 5, num_rounds=num_rounds), random.Random(1)
    batch, balance = session.batch, np.zeros(session.num_players, int)
    leaders = []
    while not session.is_over:
        if not session.round.plays:
            with pytest.raises(TienLenError, match="two rounds") if not leaders else nullcontext():
                copy.deepcopy(session).end()
            if len(leaders) == 3:
                session.end()
                continue
            leaders.append((session.round.leader, session.turn))
        played = session.round
        session.apply(rng.choice(session.legal))
        assert session.batch.turn[0] == session.turn
        for payment in played.payments() if played.is_over else ():
            balance[payment.payee] += payment.amount
            balance[payment.payer] -= payment.amount
        first = played.places.index(0) if played.is_over else 0
        if played.is_over and not session.is_over and batch.game.name == "tienlen":
            assert session.round.leader == (None if played.rules.opening == "every" else first)
    assert isinstance(session.game, Game)
    assert len(session.game.records) == len(leaders) == 3
    assert session.num_rounds == num_rounds
    assert session.view(0)["current_seat"] is None
    assert session.batch.turn[0] == -1
    assert session.game.balances == tuple(balance) == tuple(session.batch.balances[0].tolist())
    assert session.game.scores == tuple(session.batch.scores[0].tolist()), "one name and one shape"
    assert session.round.balances == session.round.copy().balances
    if session.batch.has_payments:
        assert session.view(0)["balances"] == balance.tolist()
    standing = list(balance if session.batch.has_payments else session.scores)
    best = standing.index(max(standing)) if standing.count(max(standing)) == 1 else None
    assert session.winner == best
    again = Game.from_record(session.record(), num_rounds=3)
    assert (again.scores, again.balances, again.winner) == (session.scores, tuple(balance), best)
    assert again.record() == session.record()
    if not session.rules.target:
        assert Game.from_record(session.record()).is_over
    session.undo()
    assert not session.is_over
    assert session.round.round_index == 2


def test_numbers_of_rounds_are_checked() -> None:
    for number in (-1, True, 1.5, "3", 2**31 + 1):
        with pytest.raises(ValueError, match="num_rounds="):
            Session("south", num_rounds=number)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_rounds=2"):
        Batch("south", num_rounds=2)
    with pytest.raises(TienLenError, match="one round"):
        Session("south", whole_game=False).end()


@pytest.mark.parametrize("whole_game", [False, True])
def test_the_lead_of_the_trick(whole_game: bool) -> None:
    """By another way: the table of the round, play after play, and after taking plays back."""
    session, leads = Session("south", 7, whole_game=whole_game), [0]
    while not session.is_over and len(session.plays) < 300:
        assert session.view(None)["lead_at"] == leads[-1]
        session.apply(session.legal[-1])
        is_empty = session.round.table is None
        leads.append(len(session.plays) if is_empty else leads[-1])
    session.undo(len(session.plays) // 2)
    assert session.view(None)["lead_at"] == leads[len(session.plays)]
    deal = Session("thirteens", 7)
    deal.apply(deal.legal[0])
    assert deal.view(None)["lead_at"] == 1


def test_a_refusal_changes_nothing():
    session = Session("cardgames", 7)
    before = session.view(3)
    for move in ("4h", 9999, "3s 4s"):
        with pytest.raises(TienLenError):
            session.apply(move)
    assert session.view(3) == before


# ---------------------------------------------------------------- nothing hidden


def texts_in(value):
    """All words of all strings in a JSON value."""
    if isinstance(value, str):
        return set(value.split())
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(texts_in, value)) if isinstance(value, list) else set()


def redealt(session, seat, rng):
    """The session's batch, all cards that the seat does not know dealt anew, each hand as large as before.

    What else a seat may not know, the key among it, is changed as well.
    """
    batch = session.batch.copy()
    state, row = batch.state, batch.state.rows[0]
    columns = batch.game.columns
    deck = full_deck(getattr(session.rules, "jokers", 0))
    shown = int(state.hands[0, seat])
    for play in session.round.plays:
        shown |= play.cards
    for name in ("aside", "pile", "last_pile", "trick_cards"):
        for value in np.ravel(getattr(state, name, ())).tolist():
            shown |= (1 << value if value >= 0 else 0) if name == "trick_cards" else value
    unknown = [card for card in range(54) if (deck & ~shown) >> card & 1]
    rng.shuffle(unknown)
    for other in range(session.num_players):
        if other != seat:
            count = int(state.hands[0, other]).bit_count()
            mine, unknown = unknown[:count], unknown[count:]
            state.hands[0, other] = sum(1 << card for card in mine)
    for column in columns.hidden:
        if not columns.hand <= column < columns.hand + session.num_players:
            row[column] = rng.randrange(1 << 50)
    return batch


@pytest.mark.parametrize(
    "part", [*range(2), *(pytest.param(part, marks=pytest.mark.nightly) for part in range(2, 10))]
)
def test_nothing_hidden_is_in_any_view(part):
    """40 rounds, 160 nightly: a view holds no card of another hand, and does not depend on the hidden."""
    rng = random.Random(part)
    names, rounds, views = list(KINDS), 0, 0
    while rounds < 20:
        session = Session(
            KINDS[names[(part + rounds) % len(names)]], rng.randrange(1 << 63), whole_game=False
        )
        while not session.is_over:
            public = set()
            for play in session.round.plays:
                public |= set(session.batch.game.text.format_cards(play.cards).split())
            for seat in (*range(session.num_players), None):
                view = session.view(seat)
                shown = texts_in(view) - public
                for s in range(session.num_players):
                    if s != seat:
                        hidden = session.batch.game.text.format_cards(int(session.round.hand(s)))
                        assert shown.isdisjoint(hidden.split()), (seat, s)
                if seat is not None and rng.random() < 0.1:
                    (same,) = positions(redealt(session, seat, rng), [0], [seat])
                    assert same == {word: view[word] for word in same}
                    views += 1
            session.apply(rng.choice(session.legal))
        rounds += 1
    assert views > 200


def test_positions_of_many_games():
    batch = Batch("cardgames", 40)
    batch.reset(2)
    rng = np.random.default_rng(1)
    for _ in range(10):
        batch.step(batch.sample(rng))
    seats = batch.state.turn.tolist()
    together = positions(batch, range(40), seats)
    assert together == [positions(batch.select([i]), [0], [seats[i]])[0] for i in range(40)]
    assert together[3:5] == positions(batch, [3, 4], seats[3:5])


# ---------------------------------------------------------------- a game from outside


@pytest.fixture
def outside():
    return register(HIGH_CARD).name


def test_a_game_from_outside(outside):
    session, rng = Session(outside, 3), random.Random(0)
    while not session.is_over:
        view = session.view(session.turn)
        assert view == json.loads(json.dumps(view))
        assert view["rules"]["game"] == outside
        play = session.legal[rng.randrange(len(session.legal))]
        session.apply(rng.choice([play, play.action, str(play)]))
        assert session.batch.state.turn[0] == session.turn
        assert session.batch.state.scores[0].tolist() == list(session.scores)
    (line,) = session.record().splitlines()
    played = type(session.round).from_record(line)
    assert type(played) is BaseRound
    assert played.record() == line
    assert played.places == session.round.places
    assert pickle.loads(pickle.dumps(played)).record() == line
    assert Game.from_record(line).scores == session.scores
    session.undo(4)
    assert len(session.plays) == len(played.plays) - 4
    with pytest.raises(IllegalPlayError, match="no pass"):
        session.round.pass_()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("high_card/1 high_card p3 key=03.0 :", "16 hex digits"),
        ("high_card/1 high_card p3 key=0000000000000003.0 : 25 9999", "expected 0..51"),
        ("high_card/1 high_card p3 key=0000000000000003.0 : x", "an action id"),
        ("high_card/1 high_card p3 hands=3s/4s/5s :", "cannot start from given hands"),
        ("high_card/1 nothing p3 key=0000000000000003.0 :", "expected one of"),
        ("high_card/2 high_card p3 key=0000000000000003.0 :", "expected high_card/1"),
    ],
)
def test_records_of_a_game_from_outside_that_cannot_be_read(outside, line, message):
    with pytest.raises(NotationError, match=message):
        Game.from_record(line)


def test_a_view_has_the_balances_where_something_is_paid() -> None:
    session = Session("north", key=3)
    seen = []
    while not session.is_over:
        session.apply(session.legal[-1])
        for seat in (0, None):
            assert session.view(seat)["balances"] == session.batch.balances[0].tolist()
        seen.append(session.view(0)["balances"])
    payments = session.round.payments()
    assert payments
    assert seen[-1] == [sum(p.amount * ((p.payee == s) - (p.payer == s)) for p in payments) for s in range(4)]
    assert "balances" not in Session("cardgames", key=3).view(0)
