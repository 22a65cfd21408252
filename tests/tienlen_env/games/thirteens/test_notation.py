"""The one-line record of a deal of Thirteens: its format, what reads back, and where errors point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, NotationError, RulesError, TienLenError
from tienlen_env.games.common.notation import Record
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import parse_cards
from tienlen_env.games.thirteens.notation import NOTATION
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.single.game import Game
from tienlen_env.single.thirteens import ThirteensRound

HANDS = "thirteens/1 thirteens p3 j2 hands=Kc2d/Ac9h/3c*1 lead=0 : Kc Ac 3c 9h *1 2d = 3 4 -3"
MANUAL = "thirteens/1 thirteens_manual p3 j0 hands=Kc6d/Ac5d/5c2h lead=0 : Kc Ac 5c K 5d 2h 6d 6+5+2 = 4 4 3"
ASIDE = "thirteens/1 thirteens_dummy p3 j1 hands=3s/5s/7s dummy=Kh aside=2d lead=1 :"


def finish(deal: ThirteensRound | Game, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    while not deal.is_over:
        plays = deal.legal_plays()
        deal.play(plays[int(rng.integers(len(plays)))])


def test_format_of_a_key_deal() -> None:
    assert (
        ThirteensRound("thirteens", key=255).record()
        == "thirteens/1 thirteens p4 j1 key=00000000000000ff.0 :"
    )
    rules = ThirteensRules(num_players=6, jokers=0)
    line = ThirteensRound(rules, key=-1, round_index=3, leader=5).record()
    assert line == "thirteens/1 thirteens p6 j0 key=ffffffffffffffff.3 lead=5 :"


def test_format_of_given_hands() -> None:
    deal = ThirteensRound.from_hands(
        ThirteensRules(num_players=3, jokers=2), ["Kc 2d", "Ac 9h", "3c *1"], leader=0
    )
    for text in ("Kc", "Ac", "3c", "9h", "*1", "2d"):
        deal.play(text)
    assert deal.record() == HANDS
    assert deal.places == (1, 0, 2)
    deal = ThirteensRound.from_hands(
        "thirteens_dummy", ["3s", "5s", "7s"], dummy="Kh", remainder="2d", starter="2d", leader=1
    )
    assert deal.record() == ASIDE
    several = ThirteensRound.from_hands(
        ThirteensRules(num_players=5, jokers=1),
        ["3s", "5s", "7s", "9s", "Js"],
        remainder="3h Kd *1",
        starter="Kd",
    )
    assert "aside=Kd3h*1 " in several.record()
    assert ThirteensRound.from_record(several.record()).record() == several.record()


@pytest.mark.parametrize("line", [HANDS, MANUAL, ASIDE])
def test_records_read_back(line: str) -> None:
    deal = ThirteensRound.from_record(line)
    assert deal.record() == line
    assert NOTATION.format(NOTATION.parse(line)) == line
    assert ThirteensRound.from_record("  ".join(line.split(" ")) + " \n").record() == line


def test_what_a_record_says() -> None:
    record = NOTATION.parse(ASIDE)
    assert record == Record(
        replace(PRESETS["thirteens_dummy"]),
        None,
        0,
        tuple(parse_cards(c) for c in ("3s", "5s", "7s")),
        1,
        (),
        None,
        {"dummy": parse_cards("Kh"), "remainder": parse_cards("2d"), "starter": parse_cards("2d")},
    )
    assert NOTATION.parse(MANUAL).results == (4, 4, 3)
    assert [MANUAL[c - 1] for c in NOTATION.parse(MANUAL).columns] == list("KA5K5266")
    assert NOTATION.parse("thirteens/1 thirteens p4 j1 key=8000000000000000.7 :").key == -(2**63)


def test_melds_have_no_blanks() -> None:
    rules = PRESETS["thirteens_manual"]
    table = build_action_table(rules)
    texts = [NOTATION.play_text(rules, action) for action in range(table.num_actions)]
    assert not any(" " in text for text in texts)
    assert {"Kd", "*1", "end", "K", "5&5", "6+5+2", "J-Q-K"} <= set(texts)
    assert [NOTATION.parse_play(rules, text) for text in texts] == list(range(table.num_actions))


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_whole_deals_read_back(rules: ThirteensRules) -> None:
    deal = ThirteensRound(rules, key=5)
    finish(deal)
    again = ThirteensRound.from_record(deal.record())
    assert (again.rules, again.scores, again.places) == (rules, deal.scores, deal.places)
    # The same plays in a batch of one.
    batch = Batch(rules, 1)
    batch.deal([5])
    for action in NOTATION.parse(deal.record()).plays:
        batch.step([action])
    assert tuple(batch.state.points[0].tolist()) == deal.scores


def test_custom_rules_are_a_digest() -> None:
    rules = ThirteensRules(target=0, aside_jokers=False)
    line = ThirteensRound(rules, key=1).record()
    assert line == f"thirteens/1 #{rules.digest()} p4 j1 key=0000000000000001.0 :"
    assert ThirteensRound.from_record(line, rules).rules == rules


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("", 1, "the line ends where thirteens/1 was expected"),
        ("tienlen/1 cardgames", 1, "expected thirteens/1"),
        ("thirteens/1 cardgames p4 j1 key=0000000000000001.0 :", 13, "expected one of thirteens"),
        ("thirteens/1 #0123456789abcdef p4 j1 key=0000000000000001.0 :", 13, "give rules="),
        ("thirteens/1 thirteens p8 j1 key=0000000000000001.0 :", 24, "a number of players"),
        ("thirteens/1 thirteens p2 j1 key=0000000000000001.0 :", 13, "num_players=2"),
        ("thirteens/1 thirteens p4 key=0000000000000001.0 :", 26, "number of jokers, like j1"),
        ("thirteens/1 thirteens p4 j3 key=0000000000000001.0 :", 27, "a number of jokers"),
        ("thirteens/1 thirteens p4 j1 key=1.0 :", 33, "16 hex digits"),
        ("thirteens/1 thirteens p4 j1 key=0000000000000001.0 lead=4 :", 57, "a seat"),
        ("thirteens/1 thirteens p3 j0 hands=3s/4s/3s :", 41, "in two hands"),
        ("thirteens/1 thirteens p3 j0 hands=3s/4s/5s6s :", 29, "equally many"),
        ("thirteens/1 thirteens p3 j0 hands=3s/4s/*1 :", 29, "beyond the 52 cards"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s aside=Kx :", 50, "not a card"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s aside=3s :", 29, "in two hands"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s dummy=6s :", 29, "no cards"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : end", 53, "expected a card"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 4s", 53, "8.5"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 3s 4s 5s 6s", 62, "over"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 3s 4s 5s = 3 3", 67, "points"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 3s 4s 5s = 3 3 2 1", 70, "after the end"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 3s 4s 5s = 3 3 3", 69, "(3, 3, 2)"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 : 3s 4s = 3 3 2", 66, "no end"),
        ("thirteens/1 thirteens_manual p3 j0 hands=3s/4s/Ts lead=0 : 3s 4s Ts K", 69, "8.8"),
        ("thirteens/1 thirteens p3 j1 hands=3s/4s/5s lead=0 :\n3s", 52, "one line"),
    ],
)
def test_errors_say_where(line: str, column: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        ThirteensRound.from_record(line)
    assert message in str(caught.value)
    assert caught.value.column == column


def test_a_refused_play_names_the_clause_and_changes_nothing() -> None:
    deal = ThirteensRound.from_record(HANDS.partition(" : ")[0] + " : Kc")
    line = deal.record()
    with pytest.raises(IllegalPlayError, match=r"9h refused: clubs were led .* 8\.5 \(seat 1; trick: Kc"):
        deal.play("9h")
    with pytest.raises(NotationError):
        deal.play("meld K")
    with pytest.raises(ValueError, match="expected 0"):
        deal.play(99)
    assert deal.record() == line
    assert deal.trick == ("Kc",)
    copy = deal.copy()
    copy.play("Ac")
    assert deal.record() == line != copy.record()


def test_deals_that_cannot_be() -> None:
    with pytest.raises(RulesError, match=r"expected one of thirteens, .*or rules of 'thirteens'"):
        ThirteensRound("cardgames")
    with pytest.raises(ValueError, match="64 bits"):
        ThirteensRound(key=2**64)
    with pytest.raises(ValueError, match="a seat"):
        ThirteensRound(leader=4)
    with pytest.raises(ValueError, match="seat 4"):
        ThirteensRound().hand(4)
    with pytest.raises(TienLenError):
        ThirteensRound.from_hands("thirteens", ["3s", "4s", "3s"])


def test_a_game_is_one_line_a_deal_and_the_same_as_in_a_batch() -> None:
    game = Game("thirteens", key=12, num_players=3)
    batch = Batch(game.rules, 1, episode="game")
    batch.deal([12])
    rng = np.random.default_rng(1)
    while not game.is_over:
        assert batch.state.turn[0] == game.round.turn
        assert batch.state.hands[0].tolist() == [game.round.hand(seat) for seat in range(3)]
        assert batch.scores[0].tolist() == list(game.scores)
        action = int(batch.sample(rng)[0])
        game.play(action)
        batch.step([action])
    assert batch.state.turn[0] == -1
    assert batch.scores[0].tolist() == list(game.scores)
    assert max(game.scores) >= 50
    assert game.winner == game.scores.index(max(game.scores))
    lines = game.record().splitlines()
    assert len(lines) == len(game.records) > 1
    again = Game.from_record(game.record())
    assert (again.scores, again.records, again.winner) == (game.scores, game.records, game.winner)
    with pytest.raises(NotationError, match="line 2: this is not the game's next round"):
        Game.from_record(f"{lines[0]}\n{lines[0]}")
