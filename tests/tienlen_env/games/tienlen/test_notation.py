"""The one-line record: its format, what reads back, and where errors point."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tienlen_env.errors import NotationError
from tienlen_env.games.common.notation import Record
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen.notation import NOTATION
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA, PRESETS
from tienlen_env.single.game import Game
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Round

HANDS = "tienlen/1 cardgames p2 hands=3s4s9h/5s6sKd lead=0 : 3s 6s - 5s - Kd = 1 0"


def test_format_of_a_key_deal() -> None:
    round_ = Round("cardgames", key=255)
    assert round_.record() == "tienlen/1 cardgames p4 key=00000000000000ff.0 :"
    assert Round("pagat", key=-1, num_players=2, round_index=3, leader=1).record() == (
        "tienlen/1 pagat p2 key=ffffffffffffffff.3 lead=1 :"
    )


def test_format_of_given_hands_and_places() -> None:
    round_ = Round.from_hands("cardgames", ["3s 4s 9h", "5s 6s Kd"], leader=0)
    for text in ("3s", "6s", "", "5s", "", "Kd"):
        round_.play(text)
    assert round_.record() == HANDS
    assert round_.places == (1, 0)


def test_format_of_custom_rules_is_a_digest() -> None:
    rules = replace(CARDGAMES, heir="last_live")
    line = Round(rules, key=1).record()
    assert line == f"tienlen/1 #{rules.digest()} p4 key=0000000000000001.0 :"
    assert Round.from_record(line, rules).rules == rules


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_presets_are_named_for_any_number_of_players(name: str, num_players: int) -> None:
    line = Round(name, key=9, num_players=num_players).record()
    assert line.split()[1:3] == [name, f"p{num_players}"]
    assert Round.from_record(line).rules == replace(PRESETS[name], num_players=num_players)


def test_what_a_record_says() -> None:
    record = NOTATION.parse(HANDS)
    assert record.rules == replace(CARDGAMES, num_players=2)
    assert record.key is None
    assert record.leader == 0
    assert record.plays[0] == 1
    assert record.plays[2] == 0
    assert record.results == (1, 0)
    assert [HANDS[c - 1] for c in record.columns] == ["3", "6", "-", "5", "-", "K"]
    assert NOTATION.format(record) == HANDS


def test_keys_are_signed() -> None:
    assert NOTATION.parse("tienlen/1 cardgames p4 key=8000000000000000.7 :").key == -(2**63)
    assert NOTATION.parse("tienlen/1 cardgames p4 key=7fffffffffffffff.7 :").key == 2**63 - 1
    record = Record(CARDGAMES, -2, 7, None, 3, (), None)
    assert NOTATION.format(record) == "tienlen/1 cardgames p4 key=fffffffffffffffe.7 lead=3 :"
    assert NOTATION.parse(NOTATION.format(record)) == record


@pytest.mark.parametrize(
    "line",
    [
        "  tienlen/1   cardgames p2 hands=3s4s9h/5s6sKd lead=0 :   3s 6s - 5s - Kd =  1  0  ",
        "tienlen/1\tcardgames p2 hands=3s4s9h/5s6sKd lead=0 :\t3s 6s - 5s - Kd = 1 0\n",
        "tienlen/1 cardgames p2 hands=9h4s3s/Kd,6s,5s lead=0 : 3S 6♠ - 5s - kD = 1 0",
    ],
)
def test_more_blanks_and_other_spellings_are_read(line: str) -> None:
    assert Round.from_record(line).record() == HANDS


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("", 1, "the line ends where tienlen/1 was expected"),
        ("tienlen/2 cardgames p4 key=0000000000000001.0 :", 1, "expected tienlen/1"),
        ("  tienlen/2", 3, "expected tienlen/1"),
        ("tienlen/1", 10, "the rules"),
        ("tienlen/1 sauth p4 key=0000000000000001.0 :", 11, "'sauth': expected one of cardgames"),
        (f"tienlen/1 {'x' * 999} p4 key=0000000000000001.0 :", 11, f"'{'x' * 40}': expected one of"),
        ("tienlen/1 #0123456789abcdef p4 key=0000000000000001.0 :", 11, "give rules="),
        ("tienlen/1 cardgames 4 key=0000000000000001.0 :", 21, "number of players, like p4"),
        ("tienlen/1 cardgames p9 key=0000000000000001.0 :", 22, "a number of players"),
        ("tienlen/1 cardgames p4 1 :", 24, "key= or hands="),
        ("tienlen/1 cardgames p4 key=1.0 :", 28, "16 hex digits"),
        ("tienlen/1 cardgames p4 key=000000000000000g.0 :", 28, "16 hex digits"),
        ("tienlen/1 cardgames p4 key=0000000000000001 :", 28, "16 hex digits"),
        ("tienlen/1 cardgames p4 key=0000000000000001.x :", 45, "a round"),
        ("tienlen/1 cardgames p4 key=0000000000000001.0 lead=4 :", 52, "a seat"),
        ("tienlen/1 cardgames p4 key=0000000000000001.0 lead= :", 52, "a seat"),
        ("tienlen/1 cardgames p4 key=0000000000000001.0 3s", 47, "':' before the plays"),
        ("tienlen/1 cardgames p4 key=0000000000000001.0", 46, "':'"),
        ("tienlen/1 cardgames p2 hands=3s/3s lead=0 :", 33, "in two hands"),
        ("tienlen/1 cardgames p2 hands=3s/ lead=0 :", 33, "1 to 13 cards"),
        ("tienlen/1 cardgames p2 hands=3s lead=0 :", 32, "1 hands for 2 players"),
        ("tienlen/1 cardgames p2 hands=3x/4s :", 30, "not a card"),
        ("tienlen/1 cardgames p2 hands=3s/4s4s :", 35, "twice"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s4", 42, "not a card"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : , 5s", 40, "for a pass"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 4s", 43, "not in the hand"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : - 5s", 40, "1.8"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 4s", 40, "1.3"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s 4s", 46, "over"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s = 0", 49, "a place"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s = 0 0", 48, "each seat's own"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s = 0 2", 50, "a place"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s = 0 1", 51, "the plays lead to (1, 0)"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s = 0 1", 48, "the plays lead to no end"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s = 1 0 1", 52, "after the end"),
        ("tienlen/1 cardgames p2 hands=3s4s/5s :\n3s", 39, "one line"),
    ],
)
def test_errors_say_where(line: str, column: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        Round.from_record(line)
    assert message in str(caught.value)
    assert caught.value.column == column
    assert "did you mean" not in str(caught.value)  # the page says the same, and guesses nothing


def test_a_round_that_is_not_over_has_no_places() -> None:
    round_ = Round.from_record("tienlen/1 cardgames p2 hands=3s4s/5s : 3s")
    assert round_.record() == "tienlen/1 cardgames p2 hands=3s4s/5s : 3s"
    assert round_.turn == 1


def test_places_may_be_left_out() -> None:
    round_ = Round.from_record("tienlen/1 cardgames p2 hands=3s4s/5s : 3s 5s")
    assert round_.is_over
    assert round_.record().endswith(" = 1 0")


def test_version_of_the_format() -> None:
    assert NOTATION.form == "tienlen/1"


# ---------------------------------------------------------------- games


def test_a_game_is_one_line_a_round() -> None:
    game = Game("cardgames", key=12, num_players=2)
    while not game.is_over:
        game.play(game.legal_plays()[-1])
    lines = game.record().splitlines()
    assert game.record().endswith("\n")
    assert len(lines) == len(game.records)
    assert [line.split()[3].split(".")[1] for line in lines] == [str(i) for i in range(len(lines))]
    assert "lead=" not in lines[0]
    assert all("lead=" in line for line in lines[1:])
    again = Game.from_record(game.record())
    assert (again.scores, again.records, again.winner) == (game.scores, game.records, game.winner)


def test_errors_of_a_game_name_line_and_column() -> None:
    game = Game("cardgames", key=12, num_players=2)
    while len(game.records) < 2:
        game.play(game.legal_plays()[-1])
    first, second, third = game.record().splitlines()
    assert Game.from_record(f"{first}\n{second}").records == [first, second]
    for text, number in (
        (f"{first}\n{first}", 2),
        (f"{second}\n{first}", 1),
        (f"{first}\n{third}", 2),
        (f"{first}\n\n{second}", 2),
        (f"{first}\nnonsense", 2),
    ):
        with pytest.raises(NotationError, match=rf"^column \d+: line {number}: "):
            Game.from_record(text)
    with pytest.raises(NotationError, match="no rounds"):
        Game.from_record("")


def test_given_hands_are_no_game() -> None:
    with pytest.raises(NotationError, match="not the game's next round"):
        Game.from_record(HANDS)


def test_foicica_games_have_no_leader_in_their_records() -> None:
    assert FOICICA.opening == "every"
    rules = replace(FOICICA, target=6)
    game = Game(rules, key=3)
    while len(game.records) < 2 and not game.is_over:
        game.play(game.legal_plays()[0])
    assert "lead=" not in game.record()


def test_records_of_another_game_and_mutated_ones_are_notation_errors() -> None:
    """Whatever becomes of a record: it is read, or refused as a record."""
    rng = random.Random(1)
    records = [
        Round("cardgames", 1).record(),
        ThirteensRound("thirteens", 1).record(),
        Round("north", 2).record(),
    ]
    words = [word for record in records for word in record.split()] + [
        "p3",
        "p4j1",
        "p9",
        "j1",
        "#0123",
        "-",
        "",
    ]
    read = [Round.from_record, ThirteensRound.from_record, Game.from_record]
    given = [None, CARDGAMES, PRESETS["north"], get_rules("thirteens")]
    num_refused = 0
    for _ in range(3000):
        parts = rng.choice(records).split()
        for _ in range(rng.randrange(3)):
            parts[rng.randrange(len(parts))] = rng.choice(words)
        try:
            rng.choice(read)(" ".join(parts), rng.choice(given))
        except NotationError:
            num_refused += 1
    assert 1000 < num_refused < 3000
