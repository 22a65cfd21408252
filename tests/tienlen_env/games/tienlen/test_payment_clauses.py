"""Section 4 of tienlen_env/RULES.md, clause by clause, in positions that can be checked by hand.

As in `test_rules_clauses`: seat 0 leads freely unless a test says who does, "-" is a pass. Amounts are half
stakes in `south`, cards in `south_count` and `north`. `test_south_examples` has whole rounds with payments.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from tests.tienlen_env.games.tienlen import test_instant as test_south_instant, test_last_card
from tests.tienlen_env.games.tienlen.test_clauses import legal, pairs, play, refused, start
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import RulesError
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.tienlen.rules import CARDGAMES, NORTH, PRESETS, SOUTH, SOUTH_COUNT, Rules
from tienlen_env.single.tienlen import Round

WITH_PAYMENTS = [name for name, rules in PRESETS.items() if rules.has_payments]
THREE, FOUR, FIVE, SIX = (pairs("4", n) for n in (3, 4, 5, 6))
QUAD = "9s 9c 9d 9h"


def paid(round_: Round) -> list[tuple[int, int, int, str]]:
    return sorted((p.payer, p.payee, p.amount, p.cause) for p in round_.payments())


def test_4_every_clause_has_a_test() -> None:
    document = (files("tienlen_env") / "RULES.md").read_text(encoding="utf-8")
    clauses = {int(n) for n in re.findall(r"(?m)^4\.(\d+) \*\*", document)}
    names = [*vars(sys.modules[__name__]), *vars(test_south_instant), *vars(test_last_card)]
    tested = {int(m[1]) for name in names if (m := re.match(r"test_4_(\d+)_", name))}
    assert clauses == set(range(1, max(clauses) + 1))
    assert clauses == tested


# ---------------------------------------------------------------- south


def test_4_1_ladder_of_the_south() -> None:
    """2×3 < 4×1 < 2×4 < 2×5 < 2×6; a bomb is beaten by its own shape and by every later one."""
    rules = replace(SOUTH, instant_wins=(), pay_instant=0)
    rungs = ["3d 3h 4d 4h 5d 5h", "3s 3c 3d 3h", pairs("8", 4), pairs("8", 5), pairs("8", 6)]
    for low, weak in enumerate(rungs):
        for high, strong in enumerate(rungs):
            if low < high and not set(weak.split()) & set(strong.split()):
                up = play(start(rules, f"{weak} Kh", f"{strong} 6h"), weak)
                assert strong in legal(up), (weak, strong)
                down = play(start(rules, f"{strong} 6h", f"{weak} Kh"), strong)
                assert legal(down) == {"-"}, (strong, weak)


def test_4_1_four_twos_led_as_a_quad_are_beaten_by_nothing() -> None:
    rules = replace(SOUTH, instant_wins=(), pay_instant=0)
    round_ = play(start(rules, "2s 2c 2d 2h 3s", f"{pairs('T', 4)} 3h"), "2s 2c 2d 2h")
    assert legal(round_) == {"-"}


def test_4_2_combinations_are_those_of_section_1() -> None:
    for hand in ("3s 4s 5c 6d 7h Ks Ac 2h", "3s 3c 3d 4s 4c 5s 5c 5d 6h", "Qs Qc Ks Kc As Ac 2s 2c"):
        assert legal(start("south", hand, "3h")) == legal(start("cardgames", hand, "3h"))
    assert (SOUTH.opening, SOUTH.opening_play, SOUTH.target) == ("first", "include", 0)
    opening = start("south", "4s 5s", "3s 3d 9c", "6s 7s", leader=None)
    assert (opening.turn, legal(opening)) == (1, {"3s", "3s 3d"})


@pytest.mark.parametrize("bomb", [THREE, QUAD, FOUR, FIVE])
def test_4_3_bombs_on_one_two(bomb: str) -> None:
    round_ = play(start(replace(SOUTH, instant_wins=(), pay_instant=0), "2h 3s", f"{bomb} 3c"), "2h")
    assert bomb in legal(round_)


@pytest.mark.parametrize(("bomb", "allowed"), [(THREE, False), (QUAD, True), (FOUR, True), (FIVE, True)])
def test_4_3_bombs_on_a_pair_of_twos(bomb: str, allowed: bool) -> None:
    rules = replace(SOUTH, instant_wins=(), pay_instant=0)
    assert (bomb in legal(play(start(rules, "2d 2h 3s", f"{bomb} 3c"), "2d 2h"))) is allowed


def test_4_3_nothing_beats_three_twos() -> None:
    rules = replace(SOUTH, instant_wins=(), pay_instant=0)
    round_ = play(start(rules, "2s 2d 2h 3s", f"{SIX} 3c"), "2s 2d 2h")
    assert legal(round_) == {"-"}


def test_4_3_x_lets_only_four_pairs_beat_a_pair_of_twos() -> None:
    rules = replace(SOUTH, chops={1: ("2x3", "4x1"), 2: ("2x4",)})
    assert legal(play(start(rules, "2d 2h 3s", f"{QUAD} 3c"), "2d 2h")) == {"-"}


@pytest.mark.parametrize(
    ("table", "offered"),
    [
        ("2h", True),
        ("2d 2h", True),
        ("2c 2d 2h", False),
        ("3s 3d 4d 4h 5d 5h", True),
        ("As Ac Ad Ah", True),
        (f"{pairs('J', 4)}", True),
        ("Kh", False),
        ("Ks Kc Kd", False),
    ],
)
def test_4_4_a_passed_seat_is_offered_the_turn_whatever_it_holds(table: str, offered: bool) -> None:
    """Seat 1 passes on a low play of the shape; then seat 2 plays the table on it."""
    lower = {1: "3c", 2: "3c 3h", 3: "3c 3h 3s"}
    first = lower.get(len(table.split()))
    if first is None:  # a bomb: seat 1 passes on a 2, seat 2 chops it with the table
        first = "2s"
    hands = (f"{first} 9s 9d", "6s 7d Ts", f"{table} 6h", "6d 7h")
    round_ = play(start("south", *hands), first, "-", table, "-", "-")
    assert round_.turn == (1 if offered else 2)
    if offered:
        assert legal(round_) == {"-"}


def test_4_4_four_pairs_after_a_pass_and_not_three() -> None:
    hands = ("3s Ks", f"{pairs('5', 5)} 3c", "2h 3h", "Qs As")
    round_ = play(start(replace(SOUTH, instant_wins=(), pay_instant=0), *hands), "3s", "-", "2h", "-", "-")
    shapes = {len(text.split()) for text in legal(round_) - {"-"}}
    assert shapes == {8, 10}
    refused(round_, pairs("5", 3), "1.7")
    closed = replace(SOUTH, rejoin=())
    round_ = play(start(closed, "3s Ks", f"{FOUR} 3c", "2h 3h", "Qs As"), "3s", "-", "2h", "-", "-")
    assert (round_.turn, round_.table) == (2, None)


@pytest.mark.parametrize(
    ("chopped", "chopper", "price"),
    [
        ("2s", THREE, 1),
        ("2c", QUAD, 1),
        ("2d", FOUR, 2),
        ("2h", THREE, 2),
        ("2s 2c", QUAD, 2),
        ("2c 2h", FOUR, 3),
        (THREE, "4d 4h 5d 5h 6d 6h", 3),
        (THREE, QUAD, 3),
        (QUAD, pairs("T", 4), 6),
        ("3s 3c 3d 3h", QUAD, 6),
        (FOUR, pairs("4", 4, "dh"), 6),
        (FIVE, pairs("4", 5, "dh"), 6),
    ],
)
def test_4_5_what_a_chop_costs(chopped: str, chopper: str, price: int) -> None:
    rules = replace(SOUTH, instant_wins=(), pay_instant=0)
    round_ = play(start(rules, f"{chopped} Ah", f"{chopper} Ad"), chopped, chopper, "-")
    assert paid(round_) == [(0, 1, price, "chop")]


def test_4_5_a_two_on_a_two_costs_nothing() -> None:
    assert paid(play(start("south", "2s Ks", "2h Kd"), "2s", "2h", "-")) == []


def chain(rules: Rules) -> Round:
    """2♥, three pairs, a quad, four pairs; the trick is cleared."""
    hands = ("2h Ah", f"{THREE} Ac", f"{QUAD} Ad", f"{pairs('T', 4)} 3h")
    return play(start(rules, *hands), "2h", THREE, QUAD, pairs("T", 4), "-", "-", "-")


def test_4_6_the_last_one_chopped_pays_for_the_chain() -> None:
    assert paid(chain(SOUTH)) == [(2, 3, 2 + 3 + 6, "chop")]


def test_4_6_each_pays_and_the_price_may_double() -> None:
    each = replace(SOUTH, chop_chain="each")
    assert paid(chain(each)) == [(0, 1, 2, "chop"), (1, 2, 3, "chop"), (2, 3, 6, "chop")]
    doubles = replace(each, chop_doubles=True)
    assert paid(chain(doubles)) == [(0, 1, 2, "chop"), (1, 2, 6, "chop"), (2, 3, 24, "chop")]


def test_4_6_doubling_begins_anew_in_each_trick() -> None:
    rules = replace(SOUTH, chop_chain="each", chop_doubles=True)
    hands = ("2h 3h Kh", f"{THREE} 2d Kd", f"{QUAD} 3d Kc")
    round_ = play(start(rules, *hands), "2h", THREE, "-", "-", "2d", QUAD, "-", "-")
    assert paid(round_) == [(0, 1, 2, "chop"), (1, 2, 2, "chop")]


def test_4_6_what_follows_for_free_leaves_the_chain_as_it_is() -> None:
    rules = replace(SOUTH, chop_follow="free")
    hands = ("2h Kh", f"{THREE} Kd", f"{pairs('7', 3)} Kc")
    round_ = play(start(rules, *hands), "2h", THREE, pairs("7", 3), "-", "-")
    assert paid(round_) == [(0, 1, 2, "chop")]


def test_4_7_a_trick_that_falls_to_the_heir_is_booked() -> None:
    """Seat 1 chops with its last cards; when seat 2 has passed, seat 0 leads."""
    rules = replace(SOUTH, heir="last_live", pay_cong=0)
    round_ = play(start(rules, "2h 3h 4h", THREE, "3d 4d"), "2h", THREE, "-")
    assert (round_.turn, round_.table) == (0, None)
    assert paid(round_) == [(0, 1, 2, "chop")]


def test_4_7_a_chop_is_owed_until_its_trick_is_cleared() -> None:
    batch = Batch("south", 1, reward="payments")
    hands = ("2h Ks", f"{THREE} Kc", "Kd Kh", "3h 3d")
    batch.set_hands(np.array([[parse_cards(h) for h in hands]]), leader=0)
    earned = []
    for text in ("2h", THREE, "", "", ""):
        mask = parse_cards(text) if text else 0
        rewards, _ = batch.step(np.array([batch.action_table.classify(mask)]), np.array([mask]))
        earned.append((rewards[0].tolist(), len(batch.owed(0)), len(batch.payments(0))))
    nothing = [0.0] * 4
    assert earned[0] == (nothing, 0, 0)
    assert earned[1:4] == [(nothing, 1, 0)] * 3
    assert earned[4] == ([-2.0, 2.0, 0.0, 0.0], 0, 1)


@pytest.mark.parametrize(("chop_out", "lines"), [("pays", [(0, 1, 2, "chop")]), ("nobody", [])])
def test_4_7_who_has_gone_out_pays_or_nobody(chop_out: str, lines: list[tuple[int, int, int, str]]) -> None:
    """Seat 0 goes out with 2♥ and seat 1 chops it; a chop on that chop is paid by seat 1, who is in."""
    rules = replace(SOUTH, chop_out=chop_out)  # type: ignore[arg-type]
    hands = ("9s 2h", f"Ts {THREE} Kc 4h", "Js 3s 3c 3d 3h 5d", "Qs 7d")
    one = play(start(rules, *hands), "9s", "Ts", "Js", "Qs", "2h", THREE)
    assert paid(play(one, "-", "-")) == lines
    plays = ("9s", "Ts", "Js", "Qs", "2h", THREE, "3s 3c 3d 3h", "-", "-")
    assert paid(play(start(rules, *hands), *plays)) == [(1, 2, 2 + 3, "chop")]
    # Only a chop that is paid doubles the next one (4.6).
    doubles = replace(rules, chop_chain="each", chop_doubles=True)
    assert paid(play(start(doubles, *hands), *plays)) == [*lines, (1, 2, 3 * (1 + len(lines)), "chop")]


def singles(rules: Rules, num_players: int) -> Round:
    """Seats go out in their order, the last keeps a card; none is cóng."""
    hands = ["3s 9s", "4s 9c", "5s 9d", "6s 9h"][:num_players]
    plays = [*["3s", "4s", "5s", "6s"][:num_players], *["9s", "9c", "9d"][: num_players - 1]]
    return play(start(replace(rules, num_players=num_players), *hands), *plays)


def test_4_8_places() -> None:
    assert paid(singles(SOUTH, 4)) == [(2, 1, 1, "place"), (3, 0, 2, "place")]
    assert paid(singles(SOUTH, 3)) == [(2, 0, 2, "place")]
    assert paid(singles(SOUTH, 2)) == [(1, 0, 2, "place")]


def test_4_9_cong_is_out_at_once() -> None:
    """Seats 1 and 3 have played nothing when 0 goes out: places 2 and 3 in turn order, 2 is left alone."""
    hands = ("9s 2s", "Th 3d", "Ts 4d", "Js Kd")
    round_ = play(start("south", *hands), "9s", "-", "Ts", "-", "2s")
    assert round_.is_over
    assert round_.places == (0, 2, 1, 3)
    assert paid(round_) == [(1, 0, 4, "cong"), (3, 0, 4, "cong")]


def test_4_9_cong_may_not_answer_and_the_others_play_on() -> None:
    hands = ("9s 2s", f"{QUAD.replace('9', 'T')} 3d", "9d Jd 4d", "Js Kd 5d")
    round_ = play(start("south", *hands), "9s", "-", "9d", "Js", "2s")
    assert (round_.turn, round_.places) == (2, (0, 3, None, None))
    play(round_, "-", "-")
    assert (round_.turn, round_.table) == (2, None), "the seat after the finisher is out, so 2 leads"


def test_4_9_cong_plays_on() -> None:
    rules = replace(SOUTH, cong="plays_on")
    round_ = play(start(rules, "9s", "3d 4c", "3h 6c"), "9s", "-", "-", "4c", "6c", "-", "3h")
    assert round_.is_over
    assert round_.places == (0, 2, 1)
    assert paid(round_) == [(1, 0, 4, "cong"), (2, 0, 4, "cong")], "cóng, so no place is paid"


def test_4_10_held_cards_go_to_the_next_better_place() -> None:
    hands = ("3s 9s", "4s 9c", "5s 9d", f"6s 2s 2h {QUAD.replace('9', 'T')}")
    plays = ("3s", "4s", "5s", "6s", "9s", "9c", "9d")
    lines = [(2, 1, 1, "place"), (3, 0, 2, "place"), (3, 2, 3, "held_twos"), (3, 2, 6, "held_bombs")]
    assert paid(play(start("south", *hands), *plays)) == sorted(lines)
    first = play(start(replace(SOUTH, held_to="first"), *hands), *plays)
    assert {line[1] for line in paid(first) if line[3].startswith("held")} == {0}


def test_4_10_overlapping_bombs() -> None:
    """4 4 5 5 6 6 with 6 6 7 7 8 8: one or two disjoint threes; a quad in it, by the option, comes first."""
    rules = replace(SOUTH, pay_held_bombs={"2x3": 5, "4x1": 6, "2x4": 6}, instant_wins=(), pay_instant=0)
    held = "4s 4c 5s 5c 6s 6c 6d 6h 7s 7c 8s 8c"
    for overlap, price in (("dearest", 10), ("quads_first", 6)):
        either = replace(rules, held_overlap=overlap)  # type: ignore[arg-type]
        round_ = play(start(either, "9s Ah", f"Ks {held}"), "9s", "Ks", "Ah")
        assert paid(round_) == [(1, 0, 2, "place"), (1, 0, price, "held_bombs")]


INSTANT = {
    "dragon": "3s 4c 5d 6h 7s 8c 9d Th Js Qc Kd Ah 3d",
    "four_twos": "2s 2c 2d 2h 3s 5c 7d 9h Js Qc Kd Ah 4s",
    "five_pair_run": "5s 5c 6s 6c 7s 7c 8s 8c 9s 9c Jd Kd As",
    "six_pairs": "3s 3c 5s 5c 7s 7c 9s 9c Js Jc 2s 2c Kd",
    "one_suit": "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2s",
    "one_colour": "3s 4c 5s 6s 7s 8s 9s Ts Jc Qs Ks 2s 2c",
    "four_threes": "3s 3c 3d 3h 5c 7d 9h Js Qc Kd Ah 6s Tc",
    "three_triples": "3s 3c 3d 5s 5c 5d 7s 7c 7d 9s Js Qd Kh",
    "triple_run": "3s 3c 3d 4s 4c 4d 5s 5c 5d 9s Js Qd Kh",
    "three_quads": "3s 3c 3d 3h 5s 5c 5d 5h 7s 7c 7d 7h 9s",
}
PLAIN = "4h 6d 8h Td Jh Qh Kh 2d"


@pytest.mark.parametrize("word", INSTANT)
def test_4_11_patterns(word: str) -> None:
    rules = replace(SOUTH, instant_wins=(word,))  # type: ignore[arg-type]
    other = " ".join(c for c in PLAIN.split() if c not in INSTANT[word].split())
    assert legal(start(rules, other, INSTANT[word], leader=None)) == {"declare"}
    short = " ".join(c for c in INSTANT[word].split() if c not in ("3s", "5s", "5d", "2s"))
    assert "declare" not in legal(start(rules, other, short, leader=1))


def test_4_11_order_and_words_of_the_south() -> None:
    assert SOUTH.instant_wins == ("dragon", "four_twos", "five_pair_run", "six_pairs")
    assert SOUTH_COUNT.instant_wins == SOUTH.instant_wins
    with pytest.raises(RulesError, match="instant_wins"):
        replace(SOUTH, instant_wins=("straight",))  # type: ignore[arg-type]


def test_4_11_four_of_a_kind_as_two_pairs() -> None:
    hand = "3s 3c 3d 3h 5s 5c 7s 7c 9s 9c Js Jc"
    assert legal(start("south", hand, "4s")) == {"declare"}
    assert "declare" not in legal(start(replace(SOUTH, quad_is_two_pairs=False), hand, "4s"))


def test_4_11_four_threes_in_a_first_round_only() -> None:
    rules = replace(SOUTH, instant_wins=("four_threes",))
    assert legal(start(rules, INSTANT["four_threes"], "4s", leader=None)) == {"declare"}
    assert "declare" not in legal(start(rules, INSTANT["four_threes"], "4s", leader=0))


def test_4_12_the_holder_has_the_turn_and_only_declares() -> None:
    round_ = start("south", "3s 9s", INSTANT["four_twos"].replace("3s ", ""), "5d 5h", leader=2)
    assert (round_.turn, legal(round_), paid(round_), round_.is_over) == (1, {"declare"}, [], False)
    refused(round_, "5c", "4.12")
    play(round_, "declare")
    assert round_.is_over


def test_4_13_the_higher_pattern_then_the_higher_top_card() -> None:
    five, six = "Ts Tc Js Jc Qs Qc Ks Kc As Ac", "3s 3c 5s 5c 7s 7c 9s 9c 4s 4c 2s 2c"
    assert start("south", six, five, "3d").turn == 1, "five pairs in a row before six pairs"
    low, high = pairs("3", 5), pairs("3", 5, "dh")
    assert start("south", low, high, "9d").turn == 1, "7♥ is higher than 7♣"
    long = f"{pairs('3', 5)} 8s 8c"  # six pairs in a row: its highest five end in the 8s
    assert start("south", long, high, "9d").turn == 0


def test_4_14_two_stakes_from_each_and_nothing_else() -> None:
    round_ = play(start("south", "2s 2h 9s", "Ts 2c", INSTANT["dragon"]), "declare")
    assert paid(round_) == [(0, 2, 4, "instant"), (1, 2, 4, "instant")]
    assert round_.places == (2, 1, 0), "fewer cards first"
    assert play(start("south", "9s 9h", "Ts 2c", INSTANT["dragon"]), "declare").places == (1, 2, 0)


@pytest.mark.parametrize("name", WITH_PAYMENTS)
def test_4_15_what_is_booked_sums_to_zero(name: str) -> None:
    batch = Batch(name, 64, reward="payments")
    batch.reset(7)
    rng = np.random.default_rng(3)
    moved = 0.0
    for _ in range(250):
        rewards, _ = batch.step(batch.sample(rng))
        assert (rewards.sum(axis=1) == 0).all()
        assert (rewards == np.round(rewards)).all()
        moved += float(np.abs(rewards).sum())
    assert moved > 0


def test_4_15_no_payments_in_rules_without_them() -> None:
    assert not CARDGAMES.has_payments
    with pytest.raises(RulesError, match="payments"):
        Batch("cardgames", 1, reward="payments")


def test_4_15_payments_in_words() -> None:
    assert singles(SOUTH, 2).payment_texts() == ["seat 1 pays seat 0 2 units: place"]


# ---------------------------------------------------------------- south_count


def test_4_16_the_first_out_ends_the_round() -> None:
    """2♥ 5♦ 6♦ cost 6 + 1 + 1; the play that emptied the hand is not answered."""
    hands = ("9s Kh", "Ts 2h 5d 6d", f"Js {THREE} 3h")
    round_ = play(start("south_count", *hands), "9s", "Ts", "Js", "Kh")
    assert round_.is_over
    lines = [(1, 0, 2, "cards"), (1, 0, 6, "held_twos"), (2, 0, 1, "cards"), (2, 0, 9, "held_bombs")]
    assert paid(round_) == lines


def test_4_16_the_whole_sum_decides_plain_cards_included() -> None:
    """Five pairs in a row: 2×4 and two cards, 18 + 2, not 2×5."""
    rules = replace(SOUTH_COUNT, instant_wins=(), pay_instant=0)
    round_ = play(start(rules, "9s Ah", f"Ks {FIVE}"), "9s", "Ks", "Ah")
    assert paid(round_) == [(1, 0, 2, "cards"), (1, 0, 18, "held_bombs")]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("added", [(1, 0, 3, "held_twos"), (1, 0, 9, "held_bombs"), (1, 0, 26, "cong")]),
        ("replaced", [(1, 0, 3, "held_twos"), (1, 0, 9, "held_bombs"), (1, 0, 19, "cong")]),
    ],
)
def test_4_17_cong_and_what_is_held(word: str, expected: list[tuple[int, int, int, str]]) -> None:
    rules = replace(SOUTH_COUNT, cong_held=word)  # type: ignore[arg-type]
    round_ = play(start(rules, "9s", f"{THREE} 2s 3h"), "9s")
    assert paid(round_) == sorted(expected)


def test_4_18_places_by_cards_left_then_turn_order() -> None:
    hands = ("3h 4h", "9s Kh", "3s 4s", "3d 4d 5d")
    assert play(start("south_count", *hands, leader=1), "9s", "-", "-", "-", "Kh").places == (2, 0, 1, 3)


# ---------------------------------------------------------------- north


def test_4_19_a_pass_binds_in_the_north() -> None:
    hands = ("3s Kh", f"{FOUR} 9h", "2h 6d", "Qs As")
    round_ = play(start("north", *hands), "3s", "-", "2h", "-", "-")
    assert (round_.turn, round_.table) == (2, None)
    assert start("north", "4s 5s", "3s 3c 9c", leader=None).turn == 1


def test_4_20_combinations_of_the_north() -> None:
    hand = "3s 3d 4s 4c 5s 5c 6s 6c 7s Kd 2s 2d"
    found = legal(start("north", hand, "3h"))
    assert {"4s 4c", "2s 2d", "3s 4s 5s 6s 7s", f"{THREE}"} <= found
    assert not {"3s 3d", "3d 4s 5s", "3s 3d 4s 4c 5s 5c"} & found, "mixed pair, run and double sequence"


@pytest.mark.parametrize(
    ("table", "hand", "answers"),
    [
        ("6s", "7s 7c 6c 2c", {"7s", "2c"}),
        ("2c", "2s 2d Ah", {"2d"}),
        ("7d 7h", "8d 8h 9s 9c", {"8d 8h"}),
        ("7s 7c", "8d 8h 2c 2h", {"2c 2h"}),
        ("2s 2h", "2c 2d", set()),
        ("2c 2d", "2s 2h", {"2s 2h"}),
        ("5s 5d 5h", "8s 8d 8h 9c 9d 9h", {"8s 8d 8h"}),
        ("5s 5d 5h", "2s 2c 2d", {"2s 2c 2d"}),
        ("5c 6c 7c", "8c 9c Tc 6h 7h 8h", {"8c 9c Tc"}),
        ("5c 6c 7c", "8h 9h Th Jh", set()),
        ("5c 6c 7c 8c", "6h 7h 8h 9h", set()),
        (pairs("4", 3), f"{pairs('7', 3)} Kd", {pairs("7", 3)}),
        ("4s 4c 4d 4h", QUAD, {QUAD}),
    ],
)
def test_4_21_following_in_the_north(table: str, hand: str, answers: set[str]) -> None:
    round_ = play(start("north", f"{table} Jd", f"{hand} 3c"), table)
    assert legal(round_) - {"-"} == answers


def test_4_22_ladder_of_the_north() -> None:
    rungs = [pairs("3", 3), "3s 3c 3d 3h", "Td Jd Qd Kd Ad", pairs("9", 4), pairs("9", 5)]
    for low, weak in enumerate(rungs):
        for high, strong in enumerate(rungs):
            if low < high and not set(weak.split()) & set(strong.split()):
                rules = replace(NORTH, instant_wins=(), pay_instant=0)
                assert strong in legal(play(start(rules, f"{weak} 6h", f"{strong} 7h"), weak))
                assert legal(play(start(rules, f"{strong} 7h", f"{weak} 6h"), strong)) == {"-"}


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("4h 5h 6h 7h 8h", "4s 5s 6s 7s 8s 9s"),  # [N]: 4–9♠ > 4–8♥ > 4–8♣
        ("4c 5c 6c 7c 8c", "4h 5h 6h 7h 8h"),
        (pairs("4", 3), pairs("4", 3, "dh")),
        (pairs("4", 3, "dh"), pairs("5", 3)),
    ],
)
def test_4_22_bombs_of_one_kind_across_suits(low: str, high: str) -> None:
    assert high in legal(play(start("north", f"{low} Kc", f"{high} Kd"), low))
    spare = ("Kc", "Kd")
    assert low not in legal(play(start("north", f"{high} {spare[0]}", f"{low} {spare[1]}"), high))


@pytest.mark.parametrize(
    ("bomb", "most"),
    [
        (pairs("4", 3), 1),
        (QUAD, 2),
        ("4s 5s 6s 7s 8s", 2),
        ("4s 5s 6s 7s 8s 9s", 3),
        (pairs("4", 4), 2),
        (pairs("4", 5), 3),
    ],
)
def test_4_23_bombs_on_twos_in_the_north(bomb: str, most: int) -> None:
    rules = replace(NORTH, instant_wins=(), pay_instant=0)
    for number, twos in enumerate(("2h", "2d 2h", "2c 2d 2h", "2s 2c 2d 2h"), 1):
        round_ = play(start(rules, f"{twos} 3h", f"{bomb} 3c"), twos)
        assert (bomb in legal(round_)) is (number <= most), (bomb, twos)


def test_4_24_each_chop_alone_and_what_follows_is_free() -> None:
    hands = ("2d Kh", f"{THREE} Kd", f"{pairs('7', 3)} Kc", f"{pairs('T', 3, 'dh')} 3h")
    plays = ("2d", THREE, pairs("7", 3), pairs("T", 3, "dh"), "-", "-", "-")
    lines = [(0, 1, 4, "chop"), (2, 3, 6, "chop")]
    assert paid(play(start("north", *hands), *plays)) == lines
    both = replace(NORTH, chop_follow="paid")
    assert paid(play(start(both, *hands), *plays)) == sorted([*lines, (1, 2, 6, "chop")])


def test_4_21_pairs_in_a_row_that_are_no_bomb_are_answered_in_their_colour() -> None:
    bombs = {"2x3": 6}
    rules = replace(
        NORTH, chops={1: ("2x3",)}, chop_longer=False, ladder=(), pay_held_bombs=bombs, pay_chop_bombs=bombs
    )
    for number, is_bomb in ((3, True), (4, False)):
        low, high = pairs("4", number), pairs("5", number, "dh")
        assert (high in legal(play(start(rules, f"{low} Kc", f"{high} Kd"), low))) is is_bomb


@pytest.mark.parametrize("bomb", [pairs("7", 3), QUAD])
def test_4_21_some_bombs_after_a_pass_where_suits_bind(bomb: str) -> None:
    rules = replace(NORTH, rejoin=("2x3", "4x1"))
    hands = ("2h 3s Kh", f"{bomb} 5h Kd", f"{THREE} Kc")
    round_ = play(start(rules, *hands), "2h", "-", THREE, "-")
    assert (round_.turn, legal(round_)) == (1, {"-", bomb})


def test_4_20_opening_with_a_pair_of_twos_of_two_colours() -> None:
    """It contains the lowest card dealt."""
    assert legal(start("north", "2s 2c 2d", "2h", leader=None)) == {"2s", "2s 2c", "2s 2d", "2s 2c 2d"}


def test_4_25_held_bombs_of_one_colour() -> None:
    rules = replace(NORTH, pay_held_bombs={"2x3": 20, "4x1": 8, "2x4": 20})
    for held, cost in ((THREE, 20), ("4s 4d 5s 5d 6s 6d", 6)):
        round_ = play(start(rules, "9s Qs", f"Js {held}"), "9s", "Js", "Qs")
        assert sum(amount for _, _, amount, _ in paid(round_)) == cost


def test_4_9_cong_at_the_lowest_price() -> None:
    round_ = play(start(replace(SOUTH, pay_cong=1), "As", "3c 4d"), "As")
    assert paid(round_) == [(1, 0, 1, "cong")]


def test_4_26_cong_replaces_held_cards() -> None:
    plain = "3c 4d 5h 6c 7d 8h 9c Td Jh Qc Kd 4s"
    for last, cost in (("Ah", 26), ("2s", 27), ("2h", 29)):
        round_ = play(start("north", "As", f"{plain} {last}"), "As")
        assert sum(amount for _, _, amount, _ in paid(round_)) == cost


def test_4_27_ending_on_twos_costs_13_for_each() -> None:
    round_ = play(start("north", "2s 2h", "3c 4c", "5c"), "2s 2h")
    assert round_.is_over
    assert (round_.places, paid(round_)) == ((2, 1, 0), [(0, 1, 26, "last_two"), (0, 2, 26, "last_two")])
    free = replace(NORTH, last_two="free", pay_last_two=0)
    assert play(start(free, "2s 2h", "3c 4c", "5c"), "2s 2h").places[0] == 0


def test_4_28_the_last_three() -> None:
    hands = ("Kh 3s", "4c 5d", "Ah 5c", "6c")
    won = play(start("north", *hands), "Kh", "-", "-", "-")
    assert won.is_over
    assert (won.places[0], paid(won)) == (0, [(seat, 0, 26, "last_three") for seat in (1, 2, 3)])
    caught = play(start("north", *hands), "Kh", "-", "Ah")
    assert caught.is_over
    assert (caught.places, paid(caught)) == ((3, 2, 0, 1), [(0, 2, 26, "last_three")])
    without = replace(NORTH, pay_last_three=0)
    assert not play(start(without, *hands), "Kh", "-", "Ah").is_over


def test_4_28_only_a_play_marks() -> None:
    round_ = play(start("north", "Kh 4h", "3s", "Ah 5c"), "Kh", "-", "-", "4h")
    assert (round_.places[0], {cause for *_, cause in paid(round_)}) == (0, {"cong"})


def test_4_29_instant_wins_of_the_north() -> None:
    assert NORTH.instant_wins == (
        *("four_twos", "dragon", "six_pairs"),
        *("five_pair_run", "one_colour", "four_threes"),
    )
    assert "declare" not in legal(start("north", INSTANT["dragon"], "4h"))
    assert legal(start("north", INSTANT["one_suit"], "4h")) == {"declare"}
    mixed = "3s 3d 5s 5c 7s 7c 9s 9c Js Jc 2s 2d"
    assert "declare" not in legal(start("north", mixed, "4h")), "3♠ 3♦ is not a pair of one colour"
    assert legal(start("north", mixed.replace("3d", "3c"), "4h")) == {"declare"}, "2♠ 2♦ is a pair"
