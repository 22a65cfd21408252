"""4.31 to 4.36: a stake to the first, `south_winner`, and duties before a player with one card left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tienlen_env.games.tienlen.test_clauses import legal, pairs, play, refused, start
from tienlen_env.errors import RulesError
from tienlen_env.games.tienlen.rules import (
    CARDGAMES,
    NORTH,
    PRESETS,
    SOUTH,
    SOUTH_COUNT,
    SOUTH_WINNER,
    Rules,
    deck_of,
)
from tienlen_env.single.tienlen import Round

HIGHEST = {
    name: replace(PRESETS[name], last_card_duty="highest", instant_wins=(), pay_instant=0)
    for name in ("cardgames", "foicica", "south", "north", "bga")
}
WINNER = replace(SOUTH_WINNER, last_card_duty="pays")
PLACES = replace(SOUTH, last_card_duty="pays", pay_cong=0)


def paid(round_: Round) -> list[tuple[int, int, int, str]]:
    assert round_.is_over
    return sorted((p.payer, p.payee, p.amount, p.cause) for p in round_.payments())


def payers(rules: Rules, hands: tuple[str, ...], *plays: str, leader: int | None = 0) -> set[int]:
    return {line[0] for line in paid(play(start(rules, *hands, leader=leader), *plays))}


def test_4_31_a_stake_to_the_first() -> None:
    """Beside the cards in hand, and beside places."""
    hands, plays = ("9s Ah", "Ts 5h 6h"), ("9s", "Ts", "Ah")
    counted = play(start(replace(SOUTH_COUNT, pay_first=5), *hands), *plays)
    assert paid(counted) == [(1, 0, 2, "cards"), (1, 0, 5, "stake")]
    placed = play(start(replace(SOUTH, pay_first=3), *hands), *plays)
    assert paid(placed) == [(1, 0, 2, "place"), (1, 0, 3, "stake")]


def test_4_32_the_first_takes_all() -> None:
    hands = ("9s Ah", "Ts 5h 6h", "Js 3d", "Qs 2s 2h 6d 7d")
    round_ = play(start("south_winner", *hands), "9s", "Ts", "Js", "Qs", "Ah")
    assert round_.places == (0, 2, 1, 3)
    stakes = [(seat, 0, 2, "stake") for seat in (1, 2, 3)]
    assert paid(round_) == [*stakes, (3, 0, 3, "held_twos")]
    with_bomb = play(start("south_winner", "9s Ah", "Ts 4s 4c 4d 4h 3d"), "9s", "Ts", "Ah")
    assert paid(with_bomb) == [(1, 0, 2, "stake"), (1, 0, 6, "held_bombs")]


def test_4_32_is_south_in_all_else() -> None:
    changes = {"round_end": "last", "pay_places": (2, 1), "pay_first": 0, "held_to": "next"}
    assert replace(SOUTH_WINNER, **changes) == SOUTH  # type: ignore[arg-type]


def test_4_33_cong_is_paid_besides() -> None:
    round_ = play(start("south_winner", "9s", "3s 2h", "4s 5s 6s"), "9s")
    lines = [(1, 0, 2, "held_twos"), (1, 0, 2, "stake"), (1, 0, 4, "cong")]
    assert paid(round_) == [*lines, (2, 0, 2, "stake"), (2, 0, 4, "cong")]


@pytest.mark.parametrize("preset", HIGHEST)
def test_4_34_a_single_must_be_the_highest(preset: str) -> None:
    rules = HIGHEST[preset]
    round_ = start(rules, "4s 7s As", "Ks", "3d 4d")
    assert legal(round_) == {"As"}
    for card in ("4s", "7s"):
        refused(round_, card, "the next player has one card left: a single must be the highest", "4.34")
    free = replace(rules, last_card_duty="none")
    assert legal(start(free, "4s 7s As", "Ks", "3d 4d")) == {"4s", "7s", "As"}
    other = ("4s 7s As", "3d 4d", "Ks")  # another player has one card
    assert legal(start(rules, *other)) == legal(start(free, *other))
    assert legal(start(rules, "4s 4c 7s As", "Ks")) == {"4s 4c", "As"}, "pairs are free"


def test_4_34_is_the_reason_where_suits_bind_too() -> None:
    hands = ("6c 9c Kd", "3d", "4d 7d", "5c 8d")
    round_ = play(start(HIGHEST["north"], *hands, leader=3), "5c")
    refused(round_, "6c", "4.34")
    refused(round_, "Kd", "4.21")


@pytest.mark.parametrize("preset", HIGHEST)
def test_4_34_is_the_reason_wherever_the_play_is_legal_without_the_duty(preset: str) -> None:
    """Every refused single of random rounds, in the variant and in the one without the duty."""
    rules, rng, cited = HIGHEST[preset], np.random.default_rng(1), 0
    deck = {"deck": deck_of("3456782"), "cards_each": 5}
    for key in range(60):
        bound = Round(replace(rules, **deck), key)  # type: ignore[arg-type]
        free = Round(replace(rules, **deck, last_card_duty="none"), key)  # type: ignore[arg-type]
        while not bound.is_over:
            legal_there = set(free.legal_actions())
            for action in set(range(1, 53)) - set(bound.legal_actions()):
                clause = bound._why_refused(action, None).clause
                assert (clause == "4.34") == (action in legal_there), (bound.record(), action, clause)
                cited += clause == "4.34"
            action = int(rng.choice(bound.legal_actions()))
            bound.play(action)
            free.play(action)
        if cited > 3:
            break
    assert cited > 3


def test_4_34_answers() -> None:
    hands = ("Jh Ah 3s", "5s", "Ks Kh", "Ts Th")
    round_ = play(start(HIGHEST["cardgames"], *hands, leader=3), "Ts")
    assert legal(round_) == {"-", "Ah"}
    refused(round_, "Jh", "4.34")
    play(round_, "-", "-")
    assert legal(round_) == {"-", "Kh"}, "seat 3 has one card now"
    twos = start(HIGHEST["cardgames"], "9s 2s 2h", "4s", leader=0)
    assert legal(twos) == {"2s 2h", "2h"}, "2s are bound"


def test_4_34_in_the_north_the_highest_that_follows() -> None:
    hands = ("4s 5d 6d", "7s Js Kh 3c", "9s")
    assert legal(play(start(HIGHEST["north"], *hands), "4s")) == {"-", "Js"}


def test_4_34_the_opening_card_comes_first() -> None:
    round_ = start(HIGHEST["cardgames"], "3s As", "5s", leader=None)
    assert legal(round_) == {"3s"}


@pytest.mark.parametrize(("lock", "expected"), [(True, {"-", "Ah"}), (False, {"-", "9h", "Ah"})])
def test_4_34_seats_that_have_passed_are_stepped_over(lock: bool, expected: set[str]) -> None:
    """Seat 1, with two cards, has passed; seat 2 has one card left."""
    rules = replace(HIGHEST["cardgames"], pass_lock=lock)
    hands = ("3s 9h Ah", "5s 6d", "4s Kh", "7s 8d Td")
    assert legal(play(start(rules, *hands), "3s", "-", "4s", "7s")) == expected


def test_4_35_who_lets_the_next_player_out_by_a_smaller_single_pays() -> None:
    hands = ("4s 7s As", "Ks", "Th 3d", "Js 4d")
    assert "4s" in legal(start(WINNER, *hands)), "free"
    assert payers(WINNER, hands, "4s", "Ks") == {0}
    assert payers(SOUTH_WINNER, hands, "4s", "Ks") == {0, 2, 3}
    # A higher one need not have stopped that player.
    lower = ("4s 7s Qs", "Ks", "Th 3d", "Js 4d")
    assert payers(WINNER, lower, "4s", "Ks") == {0}
    assert payers(WINNER, lower, "Qs", "Ks") == {0, 2, 3}, "the highest single"


def test_4_35_passes_and_other_players() -> None:
    passed = ("As 9s", "Ks", "Th 3d", "5s Qd")
    assert payers(WINNER, passed, "5s", "-", "Ks", leader=3) == {0, 2, 3}
    not_the_next = ("4s 7s As", "3s", "Th", "Js 4d")
    assert payers(WINNER, not_the_next, "4s", "-", "Th") == {0, 1, 3}


def test_4_35_of_singles_that_may_be_played() -> None:
    """North: seat 1 has no higher spade than the 7s; a 2 beats every single."""
    rules = replace(NORTH, last_card_duty="pays")
    assert payers(rules, ("4s 5d 6d", "7s Kh 3c", "9s"), "4s", "7s", "9s") == {0, 1}
    assert payers(rules, ("4s 5d 6d", "7s 2d 3c", "9s"), "4s", "7s", "9s") == {1}
    opening = ("3s As", "4s", "5d 6d")
    assert payers(rules, opening, "3s", "4s", leader=None) == {0, 2}


def test_4_36_what_is_paid_for_all() -> None:
    round_ = play(start(WINNER, "4s 7s As", "Ks", "Th 2s", "3c 2h"), "4s", "Ks")
    held, cong = [(0, 1, 1, "held_twos"), (0, 1, 2, "held_twos")], [(0, 1, 4, "cong")] * 2
    assert paid(round_) == sorted([*[(0, 1, 2, "stake")] * 3, *held, *cong])


def test_4_36_chops_are_paid_as_always() -> None:
    hands = ("3d 4d 9d", "3h 4h Jh", f"{pairs('4', 3)} 8s Kc Ah", "2h Qs")
    round_ = start(WINNER, *hands, leader=3)
    play(round_, "2h", "-", "-", pairs("4", 3))
    while round_.table:
        play(round_, "-")
    play(round_, "8s", "Qs")
    cong, stakes = [(2, 3, 4, "cong")] * 2, [(2, 3, 2, "stake")] * 3
    assert paid(round_) == sorted([*cong, *stakes, (3, 2, 2, "chop")])


def test_4_36_where_places_are_paid() -> None:
    """The seat pays for the last place; it gets its own second place's payment."""
    hands = ("4s As", "5s", "6s 9s", "7s 8s")
    plays = ("4s", "5s", "6s", "7s", "As", "-", "-", "9s")
    assert paid(play(start(PLACES, *hands), *plays)) == [(0, 1, 2, "place"), (2, 0, 1, "place")]


def test_4_36_only_for_the_first() -> None:
    hands = ("4s As", "5s", "6s 9s", "Ad")
    plays = ("Ad", "-", "-", "-", "4s", "5s", "6s", "As")
    round_ = play(start(PLACES, *hands, leader=3), *plays)
    assert paid(round_) == [(0, 1, 1, "place"), (2, 3, 2, "place")]


def test_4_36_needs_payments() -> None:
    with pytest.raises(RulesError, match="last_card_duty='pays': not without payments"):
        replace(CARDGAMES, last_card_duty="pays")
