"""Self-tests of the oracle: small positions that can be checked by hand, one or more a clause of RULES.md."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.oracles.oracle import (
    PASS,
    REWARDS,
    Oracle,
    cards,
    combos_by_subsets,
    combos_of_hand,
    shape_of,
)
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA, MOBILE, PAGAT, PRESETS, Rules

SOUTH_LIKE = Rules(
    chops={1: ("2x3", "4x1", "2x4"), 2: ("4x1", "2x4")}, ladder=("2x3", "4x1", "2x4"), rejoin=("2x4",)
)
VARIANTS = {
    **{name: rules for name, rules in PRESETS.items() if not rules.has_payments},
    "south_like": SOUTH_LIKE,
    "no_lock": replace(CARDGAMES, pass_lock=False),
    "no_lock_last_live": replace(CARDGAMES, pass_lock=False, heir="last_live", opening_play="alone"),
    "knock_round": replace(FOICICA, knockout="round", opening_play="free"),
    "last_live": replace(FOICICA, heir="last_live", knockout="none"),
}


def position(
    rules: Rules, *hands: str, leader: int | None = 0, scores: Sequence[int] | None = None
) -> Oracle:
    """A position with a free leader, for as many players as there are hands."""
    return Oracle(replace(rules, num_players=len(hands)), [cards(h) for h in hands], leader, scores)


def legal(oracle: Oracle) -> set[frozenset[int]]:
    """The legal plays without the pass."""
    return oracle.legal_sets() - {PASS}


def plays(*texts: str) -> set[frozenset[int]]:
    return {frozenset(cards(t)) for t in texts}


def run(oracle: Oracle, *texts: str) -> Oracle:
    """Play texts one after another; "" is the pass."""
    for text in texts:
        oracle.play(cards(text))
    return oracle


def deal(rng: random.Random, num_players: int, size: int = 13) -> list[list[int]]:
    deck = rng.sample(range(52), 52)
    return [deck[size * seat : size * (seat + 1)] for seat in range(num_players)]


# ---------------------------------------------------------------- combinations


@pytest.mark.parametrize("name", PRESETS)
def test_enumeration_equals_all_subsets(name: str) -> None:
    """1.5, 3.2, 3.3: walking over windows finds what trying every subset finds."""
    rng = random.Random(5)
    for trial in range(60):
        # Few ranks make sequences of sets; from the top they reach the twos.
        low = rng.choice((0, 0, 24, 36))
        pool = range(52) if trial % 3 == 0 else range(low, low + 16)
        hand = rng.sample(list(pool), 8)
        assert combos_of_hand(PRESETS[name], hand) == combos_by_subsets(PRESETS[name], hand)


@pytest.mark.parametrize("name", PRESETS)
def test_enumeration_by_shape_partitions_the_combinations(name: str) -> None:
    rng = random.Random(6)
    for _ in range(20):
        hand = rng.sample(range(28, 52), 13)
        everything = combos_of_hand(PRESETS[name], hand)
        by_shape: dict[tuple[int, int], set[frozenset[int]]] = {}
        for combo in everything:
            by_shape.setdefault(shape_of(PRESETS[name], combo), set()).add(combo)  # type: ignore[arg-type]
        for shape, combos in by_shape.items():
            assert combos_of_hand(PRESETS[name], hand, {shape}) == combos


@pytest.mark.parametrize(
    ("text", "cardgames", "pagat", "foicica"),
    [
        ("3s", (1, 1), (1, 1), (1, 1)),
        ("3s 3h", (2, 1), (2, 1), (2, 1)),
        ("2s 2c 2d 2h", (4, 1), (4, 1), (4, 1)),
        ("3s 4s", None, None, (1, 2)),
        ("3s 4h 5s", (1, 3), (1, 3), (1, 3)),
        ("Ks As 2s", None, (1, 3), (1, 3)),
        ("As 2s 3s", None, None, None),
        ("3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As", (1, 12), (1, 12), (1, 12)),
        ("3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2s", None, (1, 13), (1, 13)),
        ("3s 3c 4s 4c", None, None, (2, 2)),
        ("3s 3c 4s 4c 5s 5c", (2, 3), (2, 3), (2, 3)),
        ("Ks Kc As Ac 2s 2c", None, (2, 3), (2, 3)),
        ("3s 3c 3d 4s 4c 4d", None, None, (3, 2)),
        ("3s 3c 3d 3h 4s 4c 4d 4h", None, None, (4, 2)),
        ("3s 3c 4s 4c 6s 6c", None, None, None),
        ("3s 3c 4s", None, None, None),
        ("3s 5s", None, None, None),
    ],
)
def test_1_5_and_3_2_shapes(text: str, cardgames: object, pagat: object, foicica: object) -> None:
    """1.5, 3.2, 3.3, 5: which sets of cards are combinations, by preset."""
    found = [shape_of(rules, cards(text)) for rules in (CARDGAMES, MOBILE, PAGAT, FOICICA)]
    assert found == [cardgames, cardgames, pagat, foicica]


# ---------------------------------------------------------------- opening


def test_1_3_holder_of_three_of_spades_opens_and_plays_it() -> None:
    oracle = position(CARDGAMES, "3c 4s", "3s 3h 4h 5h", "6s", leader=None)
    assert oracle.turn == 1
    assert legal(oracle) == plays("3s", "3s 3h", "3s 4h 5h")


def test_1_3_lowest_dealt_card_takes_its_place() -> None:
    oracle = position(CARDGAMES, "4c 9s", "3d 3h 5h", leader=None)
    assert oracle.turn == 1
    assert legal(oracle) == plays("3d", "3d 3h")


@pytest.mark.parametrize(
    ("opening_play", "expected"), [("alone", ["3s"]), ("free", ["3s", "4h", "4s", "4s 4h"])]
)
def test_1_3_options_of_the_opening_play(opening_play: str, expected: list[str]) -> None:
    rules = Rules(opening_play=opening_play)  # type: ignore[arg-type]
    oracle = position(rules, "3s 4s 4h", "5s", leader=None)
    assert legal(oracle) == plays(*expected)


def test_1_3_the_duty_ends_with_the_opening_play() -> None:
    oracle = position(CARDGAMES, "3s 4s 4h 9s", "5s 6s", leader=None)
    run(oracle, "3s", "")
    assert legal(oracle) == plays("4s", "4h", "4s 4h", "9s")


def test_1_4_the_last_winner_leads_freely() -> None:
    oracle = position(CARDGAMES, "4s", "3s 5s", leader=0)
    run(oracle, "4s")
    oracle.next_round([cards("5s 6s"), cards("3s 4s")])
    assert oracle.turn == 0
    assert legal(oracle) == plays("5s", "6s")


def test_3_1_foicica_opens_every_round_with_the_three_of_spades() -> None:
    rules = replace(FOICICA, target=5)  # with a target so that a second round follows
    oracle = position(rules, "4s", "3s 5s", leader=0)
    run(oracle, "4s")
    oracle.next_round([cards("5s 6s"), cards("3s 4s 9s")])
    assert oracle.turn == 1
    assert legal(oracle) == plays("3s", "3s 4s")


# ---------------------------------------------------------------- following and passing


@pytest.mark.parametrize(
    ("table", "higher", "not_higher"),
    [
        ("5d 5s", "5c 5h", "4c 4h"),  # the source's own example
        ("5d 6d 7c", "5c 6h 7d", "4c 5h 6c"),  # the source's own example
        ("5d", "5h", "5c"),
        ("4s 4c 4d", "5s 5c 5d", "3s 3c 3d"),
        ("4s 4c 5s 5c 6s 6d", "4d 4h 5d 5h 6c 6h", "3s 3c 4d 4h 5d 5h"),
    ],
)
def test_1_6_same_shape_higher_top(table: str, higher: str, not_higher: str) -> None:
    for text, is_legal in ((higher, True), (not_higher, False)):
        oracle = run(position(CARDGAMES, f"{table} As", f"{text} Ah"), table)
        assert (frozenset(cards(text)) in oracle.legal_sets()) is is_legal


def test_1_6_another_number_of_cards_does_not_follow() -> None:
    oracle = run(position(CARDGAMES, "3s 4s 5s 9s", "6s 7s 8s 9d", leader=0), "3s 4s 5s")
    assert legal(oracle) == plays("6s 7s 8s", "7s 8s 9d")
    oracle = run(position(CARDGAMES, "3s 9s", "6s 6d 6c", leader=0), "3s")
    assert legal(oracle) == plays("6s", "6d", "6c")


def test_1_7_who_passed_keeps_passing_until_the_table_is_cleared() -> None:
    oracle = position(CARDGAMES, "3s 9s Ts", "8s 4c Jh", "5s 6s Js", leader=0)
    run(oracle, "3s", "")  # seat 1 passes though it could play
    run(oracle, "5s", "9s")
    assert oracle.turn == 2, "seat 1 is skipped"
    run(oracle, "")
    assert oracle.turn == 0
    assert oracle.table is None
    run(oracle, "Ts")
    assert legal(oracle) == plays("Jh")


def test_1_7_without_the_lock_a_pass_is_forgotten_at_the_next_play() -> None:
    rules = replace(CARDGAMES, pass_lock=False)
    oracle = run(position(rules, "3s 9s Ts", "8s 4c Jh", "5s 6s Js", leader=0), "3s", "")
    assert oracle.passed == {1}
    run(oracle, "5s")
    assert oracle.passed == set()
    run(oracle, "9s")
    assert oracle.turn == 1
    assert legal(oracle) == plays("Jh")
    run(oracle, "", "")
    assert (oracle.turn, oracle.table) == (0, None)


def test_1_8_the_last_to_play_leads_and_may_not_pass() -> None:
    oracle = run(position(CARDGAMES, "3s 4s", "5s 6s", "9s Ts", leader=0), "3s", "5s", "", "")
    assert (oracle.turn, oracle.table, oracle.owner, oracle.passed) == (1, None, None, set())
    assert PASS not in oracle.legal_sets()
    with pytest.raises(ValueError, match="not legal"):
        oracle.play([])


# ---------------------------------------------------------------- bombs

THREE_PAIRS, FOUR_PAIRS, FIVE_PAIRS, SIX_PAIRS = (
    " ".join(f"{r}s {r}c" for r in "3456789"[:m]) for m in (3, 4, 5, 6)
)
QUAD = "9s 9c 9d 9h"
QUAD_OF_EIGHTS = "8s 8c 8d 8h"


@pytest.mark.parametrize(
    ("preset", "table", "bombs", "duds"),
    [
        ("cardgames", "2h", [THREE_PAIRS, FOUR_PAIRS, FIVE_PAIRS, SIX_PAIRS, QUAD], []),
        ("cardgames", "2s 2h", [FOUR_PAIRS, FIVE_PAIRS, SIX_PAIRS], [THREE_PAIRS, QUAD]),
        ("cardgames", "2s 2c 2h", [FIVE_PAIRS, SIX_PAIRS], [THREE_PAIRS, FOUR_PAIRS, QUAD]),
        ("cardgames", "2s 2c 2d 2h", [], [THREE_PAIRS, FOUR_PAIRS, FIVE_PAIRS, SIX_PAIRS, QUAD]),
        ("cardgames", "Ah", [], [THREE_PAIRS, QUAD]),
        ("mobile", "2h", [THREE_PAIRS, QUAD], [FOUR_PAIRS, FIVE_PAIRS]),
        ("mobile", "2s 2h", [FOUR_PAIRS], [THREE_PAIRS, FIVE_PAIRS, QUAD]),
        ("mobile", "2s 2c 2h", [FIVE_PAIRS], [FOUR_PAIRS, SIX_PAIRS, QUAD]),
        ("pagat", "2h", [THREE_PAIRS, QUAD], [FOUR_PAIRS]),
        ("pagat", "Ks Ah 2h", [], [THREE_PAIRS, QUAD]),
        ("foicica", "2h", [THREE_PAIRS, FOUR_PAIRS, QUAD], ["3s 3c 4s 4c", "3s 3c 3d 4s 4c 4d"]),
        ("foicica", "2s 2h", [FOUR_PAIRS, SIX_PAIRS], [THREE_PAIRS, QUAD]),
        ("foicica", "2s 2c 2h", [FIVE_PAIRS], [FOUR_PAIRS, QUAD]),
        ("foicica", "2s 2c 2d 2h", [], [FIVE_PAIRS, SIX_PAIRS, QUAD]),
        ("foicica", "Ah 2h", [], [THREE_PAIRS, QUAD]),
        ("foicica", "Ks Kd As Ad 2s 2d", [], [QUAD]),
    ],
)
def test_1_9_2_3_5_what_chops_twos(preset: str, table: str, bombs: list[str], duds: list[str]) -> None:
    """1.9, 2 (exact bombs), 3.5, 5: never on a run or sequence that ends in a 2."""
    for text in bombs + duds:
        oracle = run(position(PRESETS[preset], f"{table} Jd", f"{text} Qs", leader=0), table)
        assert (frozenset(cards(text)) in oracle.legal_sets()) is (text in bombs), text


def test_1_10_a_bomb_is_beaten_by_its_own_shape_only() -> None:
    hands = ("2h 3s", "4s 4c 5s 5c 6s 6c 3c", "4d 4h 5d 5h 6d 6h 3d", f"{QUAD} 3h")
    oracle = run(position(CARDGAMES, *hands), "2h", "4s 4c 5s 5c 6s 6c")
    assert legal(oracle) == plays("4d 4h 5d 5h 6d 6h")
    run(oracle, "4d 4h 5d 5h 6d 6h")
    assert oracle.turn == 3
    assert legal(oracle) == set()


def test_4_ladder_across_shapes() -> None:
    hands = ("2h 3s", "4s 4c 5s 5c 6s 6c 3c", f"{QUAD} 3d", "Ts Tc Js Jc Qs Qc Ks Kc 3h")
    oracle = run(position(SOUTH_LIKE, *hands), "2h", "4s 4c 5s 5c 6s 6c")
    assert legal(oracle) == plays(QUAD)
    run(oracle, QUAD)
    assert legal(oracle) == plays("Ts Tc Js Jc Qs Qc Ks Kc")
    run(oracle, "Ts Tc Js Jc Qs Qc Ks Kc")
    assert oracle.table == sorted(cards("Ts Tc Js Jc Qs Qc Ks Kc"))
    # Down the ladder nothing beats it, and a led bomb takes part in it too.
    down = run(position(SOUTH_LIKE, f"{QUAD} 3s", "4s 4c 5s 5c 6s 6c 3c"), QUAD)
    assert legal(down) == set()
    lower = run(position(SOUTH_LIKE, f"{QUAD} 3s", f"{QUAD_OF_EIGHTS} 3c"), QUAD)
    assert legal(lower) == set()


def test_4_four_twos_are_on_no_rung_of_the_ladder() -> None:
    oracle = run(position(SOUTH_LIKE, "2s 2c 2d 2h 3s", "Ts Tc Js Jc Qs Qc Ks Kc 3h"), "2s 2c 2d 2h")
    assert oracle.legal_sets() == {PASS}


# ---------------------------------------------------------------- flush lock


def test_3_4_a_suited_lead_locks_the_trick_in_any_suit() -> None:
    oracle = run(position(FOICICA, "3s 4s 9s", "5h 6h 6d 7h", "7c 8c 8s"), "3s 4s")
    assert legal(oracle) == plays("5h 6h", "6h 7h")
    run(oracle, "5h 6h")
    assert legal(oracle) == plays("7c 8c")


def test_3_4_an_unsuited_lead_never_locks() -> None:
    oracle = run(position(FOICICA, "3s 4h 9s", "5h 6h 6d 7s", "7c 8d 8s"), "3s 4h", "5h 6h")
    assert legal(oracle) == plays("7c 8d", "7c 8s")


def test_3_4_suits_of_runs_do_not_matter_without_the_flush_lock() -> None:
    oracle = run(position(CARDGAMES, "3s 4s 5s 9s", "5h 6d 7h 9h"), "3s 4s 5s")
    assert legal(oracle) == plays("5h 6d 7h")


def test_3_4_the_lock_ends_with_the_trick() -> None:
    oracle = position(FOICICA, "3s 4s 9s", "5h 6h 7s 8d 9d", "Ks Kd Ac")
    run(oracle, "3s 4s", "5h 6h", "", "", "7s 8d")
    assert legal(oracle) == plays("Ks Ac", "Kd Ac")


# ---------------------------------------------------------------- rejoin and knockout


def test_3_6_a_locked_player_is_offered_the_turn_whether_it_holds_a_bomb_or_not() -> None:
    bomb = "4s 4c 5s 5c 6s 6c"
    for held, expected in ((f"{bomb} 3c", plays(bomb)), ("7d 8d Td", set())):
        oracle = position(FOICICA, "3s 9s", held, "2h 3h Kh", "Ks As")
        run(oracle, "3s", "", "2h", "", "")
        assert oracle.turn == 1, "seat 1 has passed and gets the turn again because a 2 lies there"
        assert legal(oracle) == expected
        assert PASS in oracle.legal_sets()


def test_3_6_a_locked_player_is_skipped_when_no_bomb_beats_the_table() -> None:
    oracle = position(FOICICA, "3s 9s", "4d 4c Ts", "Kh 2h 3h", "As Td")
    run(oracle, "3s", "", "Kh", "", "")
    assert (oracle.turn, oracle.table) == (2, None)


def test_3_6_nothing_reopens_four_twos() -> None:
    oracle = position(FOICICA, "3s 3c 3d 3h 9s", "4s 5s", "2s 2c 2d 2h 6h", "As Td")
    run(oracle, "3s 3c 3d 3h", "", "2s 2c 2d 2h", "", "")
    assert (oracle.turn, oracle.table) == (2, None)


def test_3_6_a_bomb_led_as_a_combination_reopens_only_without_rejoin_twos() -> None:
    hands = ("3s 3c 3d 3h 9s", "8s 8c 8d 8h Kh", "7s 7c 7d 7h Kd", "As Td")
    led = ("3s 3c 3d 3h", "", "7s 7c 7d 7h", "", "")
    oracle = run(position(FOICICA, *hands), *led)
    assert (oracle.turn, oracle.table) == (2, None)
    oracle = run(position(replace(FOICICA, rejoin_twos=False), *hands), *led)
    assert oracle.turn == 1
    assert legal(oracle) == plays("8s 8c 8d 8h")


def test_3_6_a_locked_player_may_not_play_ordinarily_on_a_two() -> None:
    oracle = run(position(FOICICA, "3s 9s", "2h 4s 5d", "2s 3h Kh", "As Ks"), "3s", "", "2s", "", "")
    assert oracle.turn == 1
    assert legal(oracle) == set()


def test_3_6_playing_a_bomb_does_not_undo_the_pass() -> None:
    bomb = "4s 4c 5s 5c 6s 6c"
    oracle = run(position(FOICICA, "3s 9s", f"{bomb} 3c", "2h 3h Kh", "Ks As"), "3s", "", "2h", "", "", bomb)
    assert 1 in oracle.passed


def test_3_6_rejoin_is_closed_in_cardgames() -> None:
    oracle = position(CARDGAMES, "3s 9s", "8s 8c 8d 8h Kc", "2h Kh")
    run(oracle, "3s", "", "2h", "")
    assert (oracle.turn, oracle.table) == (2, None)


def knocked(knockout: str) -> Oracle:
    """Seat 1 plays a 2 and seat 2 chops it; seats 3 and 0 have still to answer."""
    rules = replace(FOICICA, knockout=knockout)  # type: ignore[arg-type]
    bomb, higher = "4s 4c 5s 5c 6s 6c", "7s 7c 8s 8c 9s 9c"
    hands = ("3s Ts", f"2h {higher}", f"{bomb} 3c Jh", "Ks As")
    return run(position(rules, *hands), "3s", "2h", bomb)


def test_3_7_knockout_none() -> None:
    oracle = run(knocked("none"), "", "")
    assert oracle.turn == 1
    assert legal(oracle) == plays("7s 7c 8s 8c 9s 9c")


def test_3_7_knockout_trick_has_no_right_to_rejoin() -> None:
    oracle = knocked("trick")
    assert (oracle.knocked, oracle.places) == ({1}, [-1] * 4)
    run(oracle, "", "")
    assert (oracle.turn, oracle.table) == (2, None)
    run(oracle, "3c", "", "")
    assert oracle.turn == 1, "in again in the next trick"


def test_3_7_knockout_round_takes_the_last_free_place_at_once() -> None:
    oracle = knocked("round")
    assert oracle.places == [-1, 3, -1, -1]
    assert oracle.step_rewards["win"] == [0, -1, 0, 0]
    assert oracle.hands[1], "it keeps its cards"
    run(oracle, "", "", "3c", "", "", "Jh")
    assert oracle.places == [-1, 3, 0, -1]
    assert oracle.rewards["cards"] == [-1, -6, 9, -2], "who was knocked out pays too"


def test_3_7_knockout_round_of_the_only_other_player_ends_the_round() -> None:
    rules = replace(FOICICA, knockout="round")
    oracle = run(position(rules, "2h 9s", f"{THREE_PAIRS} Ks Kc"), "2h", THREE_PAIRS)
    assert oracle.places == [1, 0]
    assert oracle.over
    assert oracle.rewards["cards"] == [-1, 1]


def test_3_7_who_went_out_with_a_two_keeps_its_place() -> None:
    rules = replace(FOICICA, knockout="round")
    oracle = run(position(rules, "2h", f"{THREE_PAIRS} Ks", "9s 9c"), "2h", THREE_PAIRS)
    assert oracle.places == [0, -1, -1]
    assert oracle.knocked == set()


def test_3_7_a_higher_two_or_bomb_knocks_nobody_out() -> None:
    oracle = run(position(FOICICA, "2s 9s", "2h 9c", "Ks Kc"), "2s", "2h")
    assert oracle.knocked == set()
    assert oracle.passed == set()


# ---------------------------------------------------------------- heir


def test_1_14_next_seat_leads_when_all_passed_on_a_finishers_play() -> None:
    oracle = run(position(CARDGAMES, "Ah", "3s 4s", "5s 6s", "7s 8s", leader=0), "Ah", "", "")
    assert oracle.turn == 3, "it may still beat the finisher's play"
    run(oracle, "")
    assert (oracle.turn, oracle.table) == (1, None)


def test_1_14_a_finishers_last_play_may_be_beaten() -> None:
    oracle = run(position(CARDGAMES, "Ah", "3s 4s", "5s 6s", "2s 8s", leader=0), "Ah", "", "", "2s")
    assert (oracle.turn, oracle.table) == (3, None), "the others had passed, so it leads again at once"


def test_1_14_last_live_leads_without_beating() -> None:
    rules = replace(CARDGAMES, heir="last_live")
    oracle = run(position(rules, "Ah", "3s 4s", "5s 6s", "7s 8s", leader=0), "Ah", "", "")
    assert (oracle.turn, oracle.table) == (3, None)


def test_1_14_last_live_leads_at_once_when_it_is_the_only_one_left() -> None:
    rules = replace(CARDGAMES, heir="last_live")
    oracle = run(position(rules, "3s Ah", "9s Ts", "5s 6s", "7s 8s", leader=0), "3s", "9s", "", "", "Ah")
    assert (oracle.turn, oracle.table) == (1, None)


def test_1_14_last_live_leads_at_once_after_two_passes_before() -> None:
    """(d): seat 2 alone has not passed when the finisher's play comes."""
    rules = replace(CARDGAMES, heir="last_live")
    oracle = run(position(rules, "3s 9s", "4h Th", "7s 8s", "5h 6h"), "3s", "", "7s", "", "9s")
    assert (oracle.turn, oracle.table, oracle.places[0]) == (2, None, 0)


def test_1_14_last_live_with_everybody_passed_is_the_next_seat() -> None:
    """(d): a finisher may rejoin with a bomb when all others have passed already."""
    rules = replace(FOICICA, heir="last_live", knockout="none")
    oracle = run(position(rules, "3s 9s", QUAD_OF_EIGHTS, "7d 2d Kd", "4h 5h"), "3s", "", "2d", "", "")
    assert oracle.turn == 1
    run(oracle, QUAD_OF_EIGHTS)
    assert oracle.places == [-1, 0, -1, -1]
    assert oracle.turn == 2
    assert oracle.table is not None, "the quad may be beaten by a higher one"
    run(oracle, "", "")
    assert oracle.turn == 0
    run(oracle, "")
    assert (oracle.turn, oracle.table) == (2, None)


def test_1_14_last_live_asks_the_locked_players_that_come_first() -> None:
    """(d) with 3.6: a locked player that is offered the turn is unanswered too."""
    rules = replace(FOICICA, heir="last_live", knockout="none")
    oracle = run(position(rules, "3s 2h", "4h 5h", "7d 8d"), "3s", "", "7d", "2h")
    assert oracle.turn == 1
    assert oracle.table == sorted(cards("2h"))
    run(oracle, "")
    assert (oracle.turn, oracle.table) == (2, None)


# ---------------------------------------------------------------- places, points, games, rewards


def test_1_11_places_points_and_the_four_rewards() -> None:
    oracle = position(CARDGAMES, "9s", "3s 4s Ks", "5s 6s", "7s 8s", leader=0)
    run(oracle, "9s")
    assert oracle.places == [0, -1, -1, -1]
    assert oracle.scores == [3, 0, 0, 0]
    assert oracle.step_rewards == {
        "points": [3, 0, 0, 0],
        "zero_sum": [1.5, 0, 0, 0],
        "win": [1, 0, 0, 0],
        "cards": [7, -3, -2, -2],
    }
    run(oracle, "", "", "", "Ks", "", "", "3s", "5s", "7s", "", "", "8s")
    assert oracle.places == [0, -1, -1, 1]
    assert oracle.turn == 1, "the finisher's 8s may be beaten"
    assert oracle.rewards["win"] == [1, 0, 0, -1]
    run(oracle, "", "", "4s")
    assert oracle.round_over
    assert oracle.places == [0, 2, 3, 1]
    assert oracle.scores == [3, 1, 0, 2]
    assert oracle.rewards["zero_sum"] == [1.5, -0.5, -1.5, 0.5]
    assert oracle.rewards["win"] == [1, -1, -1, -1]
    assert oracle.rewards["cards"] == [7, -3, -2, -2]


def test_1_12_a_game_goes_on_to_a_unique_total_of_ten() -> None:
    oracle = run(position(CARDGAMES, "4s", "5s", leader=0, scores=[8, 9]), "4s")
    assert oracle.scores == [9, 9]
    assert oracle.round_over
    assert not oracle.over
    oracle.next_round([cards("4s"), cards("5s 6s")])
    run(oracle, "4s")
    assert oracle.scores == [10, 9]
    assert oracle.over
    with pytest.raises(ValueError, match="no next round"):
        oracle.next_round([cards("4s"), cards("5s")])


def test_1_12_a_tie_at_the_top_plays_on() -> None:
    oracle = run(position(CARDGAMES, "4s", "5s", leader=0, scores=[9, 10]), "4s")
    assert oracle.scores == [10, 10]
    assert not oracle.over


def test_3_8_without_a_target_a_game_is_one_round() -> None:
    """3.8, 5: no points target in `foicica` and `pagat`."""
    oracle = run(position(PAGAT, "4s", "5s", leader=0), "4s")
    assert oracle.over


def test_illegal_play_leaves_the_game_as_it_was() -> None:
    oracle = run(position(CARDGAMES, "3s 4s 5s 9s", "6s 7s 8s 9d", leader=0), "3s 4s 5s")
    before = (oracle.turn, [set(h) for h in oracle.hands], oracle.table, list(oracle.history))
    for text in ("9d", "3s", "6s 7s", "6s 7s 9d"):
        with pytest.raises(ValueError, match="not legal"):
            oracle.play(cards(text))
    assert (oracle.turn, oracle.hands, oracle.table, oracle.history) == before


# ---------------------------------------------------------------- whole games


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", VARIANTS)
def test_random_games_end_and_conserve_cards(name: str, num_players: int) -> None:
    rng = random.Random(f"{name}{num_players}")
    rules = replace(VARIANTS[name], num_players=num_players)
    for _ in range(4):
        oracle = Oracle(rules, deal(rng, num_players))
        num_rounds = 0
        while True:
            dealt = set().union(*oracle.hands)
            assert len(dealt) == 13 * num_players
            while not oracle.round_over:
                assert oracle.turn in oracle.live
                legal_sets = oracle.legal_sets()
                assert (PASS in legal_sets) == (oracle.table is not None)
                assert all(p <= oracle.hands[oracle.turn] for p in legal_sets)
                oracle.play(rng.choice(sorted(legal_sets, key=sorted)))
                on_table = [c for _, played in oracle.history for c in played]
                held = [c for hand in oracle.hands for c in hand]
                assert sorted(on_table + held) == sorted(dealt)
            num_rounds += 1
            assert sorted(oracle.places) == list(range(num_players))
            if oracle.over:
                break
            oracle.next_round(deal(rng, num_players))
        points = num_players * (num_players - 1) // 2
        assert sum(oracle.scores) == num_rounds * points
        assert oracle.rewards["points"] == oracle.scores
        for scheme in REWARDS:
            if scheme in ("zero_sum", "cards"):
                assert sum(oracle.rewards[scheme]) == pytest.approx(0)
        assert sum(oracle.rewards["win"]) == num_rounds * (2 - num_players)
        if rules.target and num_players == 4:
            # 1.12: 6 points a round; no seat has 10 before round 4, one has after 7 (9 a player = 36).
            assert num_rounds >= 4
        if not rules.target:
            assert num_rounds == 1
