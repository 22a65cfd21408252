"""The rules, clause by clause (tienlen_env/RULES.md), in positions that can be checked by hand.

Hands are written weakest seat first; unless a test says who leads, seat 0 leads freely. In `play`, "-" is a
pass. `legal` gives every legal set of cards as text, "-" for the pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.plays import action_to_cards, cards_to_action
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError, RulesError, TienLenError
from tienlen_env.games.common.cards import CARD_TEXT, card_ids, format_cards, parse_cards
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA, PAGAT, PRESETS, Rules
from tienlen_env.single.game import Game
from tienlen_env.single.tienlen import Cards, Round

OPENER = None  # the holder of the opening card leads with it


def start(rules: str | Rules, *hands: str, leader: int | None = 0) -> Round:
    return Round.from_hands(rules, hands, leader=leader)


def play(round_: Round, *plays: str) -> Round:
    for text in plays:
        round_.play("" if text == "-" else text)
    return round_


def legal(round_: Round) -> set[str]:
    exact = {str(p) for p in round_.legal_plays(exact=True)}
    by_table = {str(p) for p in round_.legal_plays()}
    assert by_table <= exact
    return exact


def refused(round_: Round, cards: str, *words: str) -> None:
    """The play is refused, the message has all `words`, and nothing has changed."""
    before, plays = round_._rows.copy(), list(round_._plays)
    with pytest.raises((IllegalPlayError, InvalidComboError)) as caught:
        play(round_, cards)
    for word in words:
        assert word in str(caught.value)
    assert np.array_equal(round_._rows, before)
    assert round_._plays == plays


def pairs(low: str, count: int, suits: str = "sc") -> str:
    """A double sequence as text: ``pairs("5", 3)`` is 5s 5c 6s 6c 7s 7c."""
    ranks = "3456789TJQKA2"
    first = ranks.index(low)
    return " ".join(r + s for r in ranks[first : first + count] for s in suits)


# ---------------------------------------------------------------- 1. cardgames


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_1_1_thirteen_cards_each_and_the_rest_unseen(num_players: int) -> None:
    round_ = Round("cardgames", key=5, num_players=num_players)
    hands = [round_.hand(s) for s in range(num_players)]
    assert [len(h) for h in hands] == [13] * num_players
    assert len({c for h in hands for c in h}) == 13 * num_players


@pytest.mark.parametrize("num_players", [1, 5])
def test_1_1_two_to_four_players(num_players: int) -> None:
    with pytest.raises(RulesError, match="num_players"):
        Round("cardgames", key=5, num_players=num_players)


def test_1_2_order_of_ranks_and_suits() -> None:
    ranks = ("3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "K", "A", "2")
    order = [rank + suit for rank in ranks for suit in ("s", "c", "d", "h")]
    assert order[:5] == ["3s", "3c", "3d", "3h", "4s"]
    assert list(CARD_TEXT) == order
    assert [parse_cards(c) for c in order] == [1 << i for i in range(52)]


def test_1_2_suits_count_on_equal_rank_only() -> None:
    round_ = play(start("cardgames", "4h 3s", "5s 4s 4d"), "4h")
    assert legal(round_) == {"-", "5s"}
    round_ = play(start("cardgames", "5s 3s", "5c 5d 5h 4h"), "5s")
    assert legal(round_) == {"-", "5c", "5d", "5h"}


def test_1_3_holder_of_the_three_of_spades_opens_with_it() -> None:
    round_ = start("cardgames", "4s 5s 6s", "3s 3d 4c 5c 9h", "3c 7s", leader=OPENER)
    assert round_.turn == 1
    assert round_.opening_card == Cards("3s")
    assert legal(round_) == {"3s", "3s 3d", "3s 4c 5c"}
    refused(round_, "9h", "9h", "table: empty", "3s 3d 4c 5c 9h", "3s", "1.3")
    refused(round_, "3d 4c 5c", "must contain 3s, 1.3")
    play(round_, "3s 4c 5c")
    assert round_.opening_card == Cards()
    play(round_, "-", "-")
    assert legal(round_) == {"3d", "9h"}, "free from now on"


def test_1_3_all_combinations_with_the_opening_card() -> None:
    round_ = start("cardgames", "3s 3c 3d 3h 4s 4c 5s 5c", "6s", leader=OPENER)
    sets = {"3s", "3s 3c", "3s 3d", "3s 3h", "3s 3c 3d", "3s 3c 3h", "3s 3d 3h", "3s 3c 3d 3h"}
    runs = {f"3s 4{a} 5{b}" for a in "sc" for b in "sc"}
    double = {f"3s 3{x} 4s 4c 5s 5c" for x in "cdh"}
    assert legal(round_) == sets | runs | double


def test_1_3_lowest_dealt_card_replaces_an_undealt_three_of_spades() -> None:
    round_ = start("cardgames", "4s 9s", "3d 3h 4h 5h", leader=OPENER)
    assert round_.turn == 1
    assert legal(round_) == {"3d", "3d 3h", "3d 4h 5h"}
    key = next(
        k
        for k in range(99)
        if "3s" not in "".join(f"{Round('cardgames', k, num_players=2).hand(s)}" for s in (0, 1))
    )
    round_ = Round("cardgames", key, num_players=2)
    lowest = min(c for s in (0, 1) for c in round_.hand(s))
    assert round_.opening_card == 1 << lowest
    assert lowest in round_.hand(round_.turn)


def test_1_4_the_winner_leads_the_next_round_freely() -> None:
    game = Game("cardgames", key=11)
    rng = np.random.default_rng(0)
    while not game.records:
        plays = game.legal_plays()
        game.play(plays[rng.integers(len(plays))])
    winner = Round.from_record(game.records[0]).places.index(0)
    assert game.round.turn == winner
    assert game.round.opening_card == Cards()
    assert {len(p) for p in game.legal_plays()} >= {1}
    assert Cards() not in game.legal_plays()


def test_1_5_each_combination() -> None:
    for text in ("5d", "5d 5h", "5s 5d 5h", "5s 5c 5d 5h", "3s 4h 5d", "Ts Jh Qd Ks Ah", pairs("3", 3)):
        assert str(play(start("cardgames", f"{text} 2d", "3d"), text).table) == format_cards(
            parse_cards(text)
        )
    longest = " ".join(r + "sh"[i % 2] for i, r in enumerate("3456789TJQKA"))
    assert play(start("cardgames", longest, "2s"), longest).places == (0, 1)
    six_pairs = pairs("9", 6)
    assert len(Cards(six_pairs)) == 12
    assert play(start("cardgames", f"{six_pairs} 3s", "2s"), six_pairs).table == Cards(six_pairs)


@pytest.mark.parametrize(
    "text",
    ["3s 4s", "3s 5s 7s", "3s 4s 5s 5c", "3s 3c 4s 4c", "3s 3c 4s", "3s 3c 5s 5c 7s 7c", "3s 3c 4s 4c 5s"],
)
def test_1_5_what_is_no_combination(text: str) -> None:
    round_ = start("cardgames", f"{text} Kh", "2s")
    refused(round_, text, text, "not a combination", "1.5")


@pytest.mark.parametrize("text", ["Ks As 2s", "As 2s 3s", "2s 3s 4s", f"{pairs('K', 3)}", "Qs Ks As 2s"])
def test_1_5_a_two_is_in_no_sequence(text: str) -> None:
    refused(start("cardgames", f"{text} 9h", "9s"), text, "1.5")


def test_1_6_the_examples_of_the_source() -> None:
    round_ = play(start("cardgames", "5s 5d 3s", "5c 5h 3c"), "5s 5d")
    assert legal(round_) == {"-", "5c 5h"}
    round_ = play(start("cardgames", "5d 6d 7c 3s", "5c 6h 7d 3c"), "5d 6d 7c")
    assert legal(round_) == {"-", "5c 6h 7d"}


def test_1_6_same_shape_with_a_higher_highest_card() -> None:
    round_ = play(start("cardgames", "4s 5s 6d 3s", "4c 5c 6c 6h 7c 8c 9s 9c 9d"), "4s 5s 6d")
    assert legal(round_) == {"-", "4c 5c 6h", "5c 6c 7c", "5c 6h 7c", "6c 7c 8c", "6h 7c 8c"} | {
        f"7c 8c 9{s}" for s in "scd"
    }
    refused(round_, "4c 5c 6c", "4c 5c 6c refused", "run 4-6 top 6d", "4c 5c 6c 6h", "not higher", "1.6")
    refused(round_, "9s 9c 9d", "a run of 3 cards must be followed by the same, 1.6")
    refused(round_, "5c 6c 7c 8c", "1.6")


def test_1_6_a_double_sequence_follows_a_double_sequence_of_its_length() -> None:
    round_ = play(start("cardgames", f"{pairs('4', 3)} 3s", f"{pairs('5', 4, 'dh')} 3c"), pairs("4", 3))
    assert legal(round_) == {"-", pairs("5", 3, "dh"), pairs("6", 3, "dh")}


def test_1_7_passing_is_a_choice_and_binds_until_the_table_is_cleared() -> None:
    round_ = start("cardgames", "3s 9s Ks", "4s Qs 2s", "5s Ts 6h")
    play(round_, "3s", "-")  # seat 1 could play
    assert round_.passed == {1}
    play(round_, "5s", "9s")
    assert round_.turn == 2, "seat 1 is skipped"
    play(round_, "-")
    assert (round_.turn, round_.table, round_.passed) == (0, None, frozenset())
    play(round_, "Ks")
    assert legal(round_) == {"-", "2s"}, "in again"


def test_1_7_who_passed_may_not_chop_in_cardgames() -> None:
    round_ = play(start("cardgames", "3s 2s 4h", "7s 7c 7d 7h 8s", "5s 5c"), "3s", "-", "5s", "2s")
    assert round_.turn == 2, "seat 1 passed; its bomb stays where it is"


def test_1_8_all_others_passed_so_the_last_to_play_leads_anything() -> None:
    round_ = play(start("cardgames", "3s 4s 4c 9h", "5s Ks Kc", "6s 7d"), "3s", "5s", "6s", "-", "-")
    assert (round_.turn, round_.table, round_.owner) == (2, None, -1)
    assert legal(round_) == {"7d"}


def test_1_8_a_leader_may_not_pass() -> None:
    round_ = start("cardgames", "3s 4s", "5s 6s")
    refused(round_, "-", "pass refused", "table: empty", "3s 4s", "a leader may not pass, 1.8")
    with pytest.raises(IllegalPlayError, match=r"1\.8"):
        round_.pass_()


BOMBS = {
    "4x1": "4s 4c 4d 4h",
    "2x3": pairs("4", 3),
    "2x4": pairs("4", 4),
    "2x5": pairs("4", 5),
    "2x6": pairs("4", 6),
}


def beats(rules: str | Rules, table: str, bomb: str) -> bool:
    round_ = play(start(rules, f"{table} 3s", f"{BOMBS[bomb]} 3c"), table)
    return format_cards(parse_cards(BOMBS[bomb])) in legal(round_)


def test_1_9_quad_beats_single_two() -> None:
    round_ = play(start("cardgames", "2h 3s", "4s 4c 4d 4h 3c"), "2h")
    assert legal(round_) == {"-", "4s 4c 4d 4h"}
    assert str(play(round_, "4s 4c 4d 4h").table) == "4s 4c 4d 4h"


@pytest.mark.parametrize(
    ("table", "bombs"),
    [
        ("2s", {"4x1", "2x3", "2x4", "2x5", "2x6"}),
        ("2s 2h", {"2x4", "2x5", "2x6"}),
        ("2s 2c 2h", {"2x5", "2x6"}),
        ("2s 2c 2d 2h", set()),
        ("As", set()),
        ("As Ac", set()),
        ("As Ac Ad", set()),
        ("Qs Ks As", set()),
    ],
)
def test_1_9_what_bombs_beat(table: str, bombs: set[str]) -> None:
    assert {b for b in BOMBS if beats("cardgames", table, b)} == bombs


def test_1_9_a_bomb_on_the_wrong_table_is_refused() -> None:
    round_ = play(start("cardgames", "2s 2h 3s", "4s 4c 4d 4h 3c"), "2s 2h")
    refused(round_, "4s 4c 4d 4h", "4s 4c 4d 4h refused", "pair 2h", "hand: 3c 4s 4c 4d 4h", "1.9")


def test_1_9_three_twos_are_no_bomb_and_a_two_beats_a_lower_two() -> None:
    round_ = play(start("cardgames", "2s 3s", "2c 2d 2h 3c"), "2s")
    assert legal(round_) == {"-", "2c", "2d", "2h"}


def test_1_10_a_higher_bomb_of_the_same_type_only() -> None:
    hands = ("2h 3s", f"{pairs('4', 3)} 3c", f"{pairs('4', 3, 'dh')} 7s 7c 3d", "8s 8c 8d 8h 3h")
    round_ = play(start("cardgames", *hands), "2h", pairs("4", 3))
    assert legal(round_) == {"-", pairs("4", 3, "dh"), "5d 5h 6d 6h 7s 7c"}
    play(round_, pairs("4", 3, "dh"))
    assert legal(round_) == {"-"}, "a quad is another type"


def test_1_10_a_bomb_may_be_led_and_followed_as_an_ordinary_combination() -> None:
    round_ = play(
        start("cardgames", "4s 4c 4d 4h 3s", "9s 9c 9d 9h 3c", f"{pairs('T', 4)} 3d"), "4s 4c 4d 4h"
    )
    assert legal(round_) == {"-", "9s 9c 9d 9h"}
    play(round_, "9s 9c 9d 9h")
    assert legal(round_) == {"-"}


def test_1_10_four_twos_are_the_highest_quad() -> None:
    round_ = play(start("cardgames", "Ks Kc Kd Kh 3s", "2s 2c 2d 2h 3c"), "Ks Kc Kd Kh")
    assert legal(round_) == {"-", "2s 2c 2d 2h"}


def test_1_11_places_and_points() -> None:
    round_ = play(start("cardgames", "9s", "3s 4s Ks", "5s 6s", "7s 8s"), "9s")
    assert (round_.places, round_.scores) == ((0, None, None, None), (3, 0, 0, 0))
    play(round_, "-", "-", "-", "Ks", "-", "-", "3s", "5s", "7s", "-", "-", "8s")
    assert round_.places == (0, None, None, 1)
    play(round_, "-", "-", "4s")
    assert round_.is_over
    assert (round_.places, round_.scores) == ((0, 2, 3, 1), (3, 1, 0, 2))
    assert legal(round_) == set()
    refused(round_, "6s", "1.11", "over")


@pytest.mark.parametrize(("num_players", "points"), [(2, (1, 0)), (3, (2, 1, 0)), (4, (3, 2, 1, 0))])
def test_1_11_points_for_fewer_players(num_players: int, points: tuple[int, ...]) -> None:
    hands = ("Ks", "Ac", "Ad", "2h 3h")[:num_players]
    round_ = start("cardgames", *hands)
    while not round_.is_over:
        round_.play(round_.legal_plays()[-1])
    assert sorted(round_.scores, reverse=True) == list(points)


def scored(rules: Rules, scores: list[int], *hands: str) -> Batch:
    """A game whose players have points already; seat 0 leads."""
    batch = Batch(replace(rules, num_players=len(hands)), 1, episode="game")
    batch.set_hands(np.array([[parse_cards(h) for h in hands]]), leader=0)
    batch.state.scores[:] = scores
    return batch


def card_action(batch: Batch, text: str) -> np.ndarray:
    return np.array([batch.action_table.classify(parse_cards(text))])


def test_1_12_a_game_ends_at_a_unique_highest_total_of_ten() -> None:
    batch = scored(CARDGAMES, [9, 3], "4s", "5s")
    _, dones = batch.step(card_action(batch, "4s"))
    assert dones.tolist() == [True]
    assert batch.scores.tolist() == [[10, 3]]


def test_1_12_nine_points_play_on() -> None:
    batch = scored(CARDGAMES, [8, 3], "4s", "5s")
    _, dones = batch.step(card_action(batch, "4s"))
    assert dones.tolist() == [False]
    assert (batch.state.round[0], batch.state.turn[0]) == (1, 0)
    assert batch.state.num_cards_left.tolist() == [[13, 13]]


def test_1_12_a_tie_at_the_top_plays_on_with_everyone() -> None:
    batch = scored(CARDGAMES, [8, 10, 10], "4s", "5s", "6s 7s")
    _, dones = batch.step(card_action(batch, "4s"))  # 10 each, and places are still open
    assert dones.tolist() == [False]
    _, dones = batch.step(card_action(batch, "5s"))  # 10, 11, 10
    assert dones.tolist() == [True]
    batch = scored(CARDGAMES, [10, 11, 3], "4s", "5s", "6s 7s")
    batch.step(card_action(batch, "4s"))
    _, dones = batch.step(card_action(batch, "5s"))  # 12, 12, 3
    assert dones.tolist() == [False]
    assert batch.scores.tolist() == [[12, 12, 3]]
    assert batch.state.live[0] == 0b111
    assert batch.state.turn[0] == 0, "its winner leads"


def test_1_12_two_reach_ten_with_different_totals_the_higher_wins() -> None:
    batch = scored(CARDGAMES, [9, 9, 3], "4s", "5s", "6s 7s")
    batch.step(card_action(batch, "4s"))
    _, dones = batch.step(card_action(batch, "5s"))
    assert dones.tolist() == [True]
    assert batch.scores.tolist() == [[11, 10, 3]]


@pytest.mark.parametrize("key", range(30))
def test_1_12_a_game_of_four_has_four_to_seven_rounds_and_tie_rounds(key: int) -> None:
    game, rng = Game("cardgames", key=key), np.random.default_rng(key)
    while not game.is_over:
        plays = game.legal_plays()
        game.play(plays[rng.integers(len(plays))])
    totals = np.array([Round.from_record(r).scores for r in game.records]).cumsum(0)
    over = [max(t) >= 10 and list(t).count(max(t)) == 1 for t in totals.tolist()]
    assert over == [False] * (len(over) - 1) + [True]
    ties = sum(max(t) >= 10 for t in totals.tolist()[:-1])
    assert 4 <= len(game.records) - ties <= 7


def test_1_13_no_instant_win() -> None:
    dragon = " ".join(r + "s" for r in "3456789TJQKA")
    round_ = start("cardgames", "2s 2c 2d 2h 3c", f"{dragon} 4c", "5c")
    assert round_.places == (None, None, None)
    assert not round_.is_over


def test_1_14_a_finishers_last_play_may_be_beaten() -> None:
    round_ = play(start("cardgames", "Ks", "3s 4s", "5s 6s", "As 8s"), "Ks")
    assert round_.places == (0, None, None, None)
    play(round_, "-", "-", "As")
    assert (round_.turn, round_.table) == (3, None), "all others had passed on the king"


def test_1_14_next_seat_leads_after_all_passed_on_a_finisher() -> None:
    round_ = play(start("cardgames", "Ah", "3s 4s", "5s 6s", "7s 8s"), "Ah", "-", "-")
    assert (round_.turn, round_.owner) == (3, 0), "seat 3 gets the turn too"
    play(round_, "-")
    assert (round_.turn, round_.table) == (1, None)
    assert legal(round_) == {"3s", "4s"}


def test_1_14_next_seat_skips_those_who_are_out() -> None:
    round_ = play(start("cardgames", "3s", "4s", "5s 6s", "7s 8s"), "3s", "4s", "-", "-")
    assert (round_.turn, round_.table) == (2, None)


def test_1_14_last_live_leads_without_having_to_beat() -> None:
    rules = replace(CARDGAMES, heir="last_live")
    round_ = play(start(rules, "Ah", "3s 4s", "5s 6s", "7s 8s"), "Ah", "-", "-")
    assert (round_.turn, round_.table, round_.passed) == (3, None, frozenset())
    assert legal(round_) == {"7s", "8s"}
    round_ = play(start(rules, "3s Ah", "9s Ts", "5s 6s", "7s 8s"), "3s", "9s", "-", "-", "Ah")
    assert (round_.turn, round_.table) == (1, None), "seat 1 alone has not passed"


def test_1_14_last_live_with_everybody_passed_is_the_next_seat() -> None:
    rules = replace(CARDGAMES, heir="last_live")
    round_ = start(rules, "3s 2h", "4s 9s", "5s Ts")
    play(round_, "3s", "-", "-")  # clears; seat 0 leads its last card
    play(round_, "2h")
    assert round_.places == (0, None, None)
    play(round_, "-")
    assert (round_.turn, round_.table) == (2, None)


def test_1_15_the_turn_goes_to_the_next_seat() -> None:
    round_ = start("cardgames", "3s 7s", "4s 8s", "5s 9s", "6s Ts", leader=2)
    turns = [round_.turn]
    for text in ("5s", "6s", "7s", "8s"):
        turns.append(play(round_, text).turn)
    assert turns == [2, 3, 0, 1, 2]


# ---------------------------------------------------------------- 2. mobile


@pytest.mark.parametrize(
    ("table", "bombs"),
    [
        ("2s", {"4x1", "2x3"}),
        ("2s 2h", {"2x4"}),
        ("2s 2c 2h", {"2x5"}),
        ("2s 2c 2d 2h", set()),
        ("Ah", set()),
    ],
)
def test_2_bombs_are_exact(table: str, bombs: set[str]) -> None:
    assert {b for b in BOMBS if beats("mobile", table, b)} == bombs


def test_2_a_part_of_a_longer_sequence_is_a_bomb() -> None:
    round_ = play(start("mobile", "2s 3s", f"{pairs('4', 4)} 3c"), "2s")
    assert legal(round_) == {"-", pairs("4", 3), pairs("5", 3)}


def test_2_all_else_is_as_in_cardgames() -> None:
    assert PRESETS["mobile"] == replace(CARDGAMES, chop_longer=False)


# ---------------------------------------------------------------- 3. foicica


def test_3_1_the_three_of_spades_opens_every_round() -> None:
    batch = scored(replace(FOICICA, target=10), [0, 0], "4s", "5s")
    batch.step(card_action(batch, "4s"))
    state = batch.state
    assert state.round[0] == 1
    lowest = min(c for s in (0, 1) for c in card_ids(int(state.hands[0, s])))
    assert state.required_card[0] == 1 << lowest
    assert state.hands[0, state.turn[0]] >> lowest & 1


def test_3_1_the_opening_play_includes_it_in_any_combination() -> None:
    round_ = start("foicica", "3c", "3s 3h 4h 4s 9h", leader=OPENER)
    assert round_.turn == 1
    assert legal(round_) == {"3s", "3s 3h", "3s 4s", "3s 4h", "3s 3h 4s 4h"}
    refused(round_, "3h 4h", "3s", "1.3")


def test_3_1_four_players_two_or_three_on_demand() -> None:
    assert FOICICA.num_players == 4
    assert Round("foicica", key=1, num_players=2).rules.name == "foicica"


@pytest.mark.parametrize(
    "text",
    [
        "3s 4c",
        "3s 4c 5d",
        "3s 3c 4s 4c",
        pairs("3", 6),
        "3s 3c 3d 4s 4c 4d",
        pairs("3", 4, "scd"),
        "3s 3c 3d 3h 4s 4c 4d 4h",
        pairs("3", 3, "scdh"),
    ],
)
def test_3_2_runs_of_two_and_consecutive_sets(text: str) -> None:
    assert play(start("foicica", f"{text} Kh", "2s"), text).table == Cards(text)


@pytest.mark.parametrize("text", ["3s 5s", "3s 3c 4s", "3s 3c 3d 4s 4c", "3s 3c 5s 5c"])
def test_3_2_what_is_no_combination(text: str) -> None:
    refused(start("foicica", f"{text} Kh", "2s"), text, "3.2")


@pytest.mark.parametrize(
    "text", ["As 2h", "Ks As 2h", "As Ac 2s 2c", "As Ac Ad 2s 2c 2d", pairs("A", 2, "scdh")]
)
def test_3_3_twos_on_top_of_runs_and_consecutive_sets(text: str) -> None:
    assert play(start("foicica", f"{text} 4h", "3s"), text).table == Cards(text)


@pytest.mark.parametrize("text", ["2s 3s", "As 2s 3s", "2s 2c 3s 3c"])
def test_3_3_a_two_is_never_low(text: str) -> None:
    refused(start("foicica", f"{text} 9h", "9s"), text, "3.2")


def test_3_3_the_run_of_thirteen_empties_the_hand() -> None:
    run = " ".join(r + "sh"[i % 2] for i, r in enumerate("3456789TJQKA2"))
    round_ = play(start("foicica", run, "4c", leader=OPENER), run)
    assert round_.places == (0, 1)
    assert round_.is_over


def test_3_4_a_suited_lead_locks_the_trick() -> None:
    round_ = play(start("foicica", "3s 4s 9s", "5h 6h 6d 7h", "7c 8c 8s 9h"), "3s 4s")
    assert legal(round_) == {"-", "5h 6h", "6h 7h"}
    refused(round_, "5h 6d", "5h 6d refused", "run 3-4 top 4s", "3.4")
    play(round_, "5h 6h")
    assert legal(round_) == {"-", "7c 8c"}, "any suit"
    play(round_, "7c 8c", "-", "-")
    assert legal(round_) == {"8s", "9h", "8s 9h"}, "the lock ends with the trick"


def test_3_4_an_unsuited_lead_makes_no_lock() -> None:
    round_ = play(start("foicica", "3s 4h 9s", "5h 6h 6d 7s", "7c 8d 8s"), "3s 4h")
    assert legal(round_) == {"-", "5h 6h", "5h 6d", "6h 7s", "6d 7s"}
    play(round_, "5h 6h")
    assert legal(round_) == {"-", "7c 8d", "7c 8s"}, "a suited follower makes none either"


def test_3_4_only_the_last_card_is_compared() -> None:
    round_ = play(start("foicica", "3s 4c 5d 9s", "3c 4s 5h 9c"), "3s 4c 5d")
    assert legal(round_) == {"-", "3c 4s 5h"}


def test_3_5_the_examples_of_the_source() -> None:
    round_ = play(start("foicica", "3s 3d Kh", "3c 3h 4s 4c"), "3s 3d")
    assert legal(round_) == {"-", "3c 3h", "4s 4c"}


@pytest.mark.parametrize(
    ("table", "bombs"),
    [
        ("2s", {"4x1", "2x3", "2x4", "2x5", "2x6"}),
        ("2s 2h", {"2x4", "2x5", "2x6"}),
        ("2s 2c 2h", {"2x5", "2x6"}),
        ("2s 2c 2d 2h", set()),
        ("As 2s", set()),
        ("As Ac 2s 2c", set()),
        ("As Ac Ad 2s 2c 2d", set()),
    ],
)
def test_3_5_bombs_on_twos_by_themselves_only(table: str, bombs: set[str]) -> None:
    assert {b for b in BOMBS if beats("foicica", table, b)} == bombs


def test_3_5_bomb_on_bomb_same_shape_higher_top() -> None:
    hands = ("2h 3s", f"{pairs('4', 3)} 3c", "9s 9c 9d 9h 3d", f"{pairs('T', 4)} 3h")
    round_ = play(start(replace(FOICICA, knockout="none"), *hands), "2h", pairs("4", 3))
    assert legal(round_) == {"-"}
    play(round_, "-")
    assert legal(round_) == {"-", pairs("T", 3), pairs("J", 3)}


BOMB = pairs("4", 3)


@pytest.mark.parametrize(("held", "expected"), [(f"{BOMB} 3c", {"-", BOMB}), ("7d 8d Td", {"-"})])
def test_3_6_a_passed_player_is_offered_the_turn_bomb_or_not(held: str, expected: set[str]) -> None:
    round_ = play(start("foicica", "3s 9s", held, "2h 3h Kh", "Ks As"), "3s", "-", "2h", "-", "-")
    assert round_.turn == 1
    assert legal(round_) == expected
    play(round_, "-")
    assert (round_.turn, round_.table) == (2, None)


def test_3_6_the_offer_leaks_nothing() -> None:
    """Who gets the turn, and all that others see, is the same whatever the locked player holds."""
    seen = []
    for held in (f"{BOMB} 3c", "7s 7c 8d 9d 9h Th Jd"):
        batch = Batch("foicica", 1, history=8)
        hands = ("3s 9s", held, "2h 3h Kh", "Ks As")
        batch.set_hands(np.array([[parse_cards(h) for h in hands]]), leader=0)
        for text in ("3s", "", "2h", "", ""):
            batch.step(card_action(batch, text))
        assert batch.state.turn[0] == 1
        offered = [batch.observe(seat).tobytes() for seat in (0, 2, 3)]
        batch.step(np.array([0]))
        seen.append([*offered, *(batch.observe(seat).tobytes() for seat in (0, 2, 3)), batch.state.turn[0]])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("table", ["Kh", "Ah", "As Ac", "Ks Ah 2h"])
def test_3_6_no_offer_where_no_bomb_can_go(table: str) -> None:
    round_ = start("foicica", f"{table} 9s 9h", "5s 5c 5d 5h 3c", "6d 7d 9c")
    play(round_, table, "-", "-")
    assert (round_.turn, round_.table) == (0, None)


def test_3_6_a_locked_player_may_not_play_ordinary_cards() -> None:
    round_ = play(start("foicica", "3s 9s", "2d 4s 5d", "2s 3h Kh", "As Ks"), "3s", "-", "2s", "-", "-")
    assert (round_.turn, legal(round_)) == (1, {"-"})
    refused(round_, "2d", "2d refused", "single 2s", "hand: 4s 5d 2d", "3.6")


def test_3_6_on_a_bomb_on_the_table_and_the_pass_stays() -> None:
    high = pairs("6", 3, "dh")
    hands = ("3s 9s 9h", f"{high} 3c", f"{BOMB} 3h Kh", "Ks 2h As")
    round_ = play(start("foicica", *hands), "3s", "-", "Kh", "2h", "-", "-", BOMB)
    assert round_.passed == {0, 1, 3}, "0 and 1 passed, 3 was knocked out"
    assert round_.turn == 0
    play(round_, "-")
    assert (round_.turn, legal(round_)) == (1, {"-", high})
    play(round_, high)
    assert 1 in round_.passed
    play(round_, "-", "-")
    assert (round_.turn, round_.table) == (1, None)


def test_3_6_four_twos_and_the_highest_bomb_are_no_offer() -> None:
    quads = ("3s 3c 3d 3h 9s", "5s 6s", "2s 2c 2d 2h 6h", "As Td")
    round_ = play(start("foicica", *quads), "3s 3c 3d 3h", "-", "2s 2c 2d 2h", "-", "-")
    assert (round_.turn, round_.table) == (2, None)
    top = pairs("K", 3, "dh")
    round_ = play(start("foicica", f"{BOMB} 3s", "9s 9c", f"{top} 3h", "As Td"), BOMB, "-", top, "-", "-")
    assert (round_.turn, round_.table) == (2, None)


def test_3_6_a_bomb_reopens_nothing_in_a_trick_without_a_two() -> None:
    """[F] "If a 2 or set of 2s is in play"; `rejoin_twos=False` is the wider reading."""
    higher = pairs("7", 3)
    hands = (f"{BOMB} Qs", f"{higher} 3c", "Kd 3h", f"{pairs('8', 3, 'dh')} As")
    led = (BOMB, "-", "-", pairs("8", 3, "dh"), "-")
    round_ = play(start("foicica", *hands), *led)
    assert (round_.turn, round_.table) == (3, None), "1 and 2 have passed and are not asked"
    round_ = play(start(replace(FOICICA, rejoin_twos=False), *hands), *led)
    assert (round_.turn, legal(round_)) == (1, {"-"})


def test_3_6_cardgames_offers_nothing_after_a_pass() -> None:
    round_ = play(start("cardgames", "3s 9s", f"{BOMB} 3c", "2h 3h Kh", "Ks As"), "3s", "-", "2h", "-", "-")
    assert (round_.turn, round_.table) == (2, None)


def chopped(knockout: Any) -> Round:
    """Seat 1 plays a 2, seat 2 chops it; seat 1 has a higher bomb."""
    rules = replace(FOICICA, knockout=knockout)
    hands = ("3s Ts", f"2h {pairs('7', 3)}", f"{BOMB} 3c Jh", "Ks As")
    return play(start(rules, *hands), "3s", "2h", BOMB)


def test_3_7_knockout_trick() -> None:
    round_ = play(chopped("trick"), "-", "-")
    assert (round_.turn, round_.table) == (2, None), "seat 1 was not asked, with a bomb in hand"
    play(round_, "3c", "-", "-")
    assert round_.turn == 1, "in again in the next trick"
    assert round_.places == (None,) * 4


def test_3_7_knockout_round_is_placed_last() -> None:
    round_ = chopped("round")
    assert round_.places == (None, 3, None, None)
    assert len(round_.hand(1)) == 6, "it keeps its cards"
    play(round_, "-", "-", "3c", "-", "-", "Jh")
    assert round_.places == (None, 3, 0, None)
    assert round_.turn == 3
    play(round_, "-", "-")
    assert round_.turn == 3, "the next live seat after the finisher"


def test_3_7_knockout_round_fills_the_places_from_the_bottom() -> None:
    rules = replace(FOICICA, knockout="round")
    hands = ("2s 9h", f"{BOMB} 9s 3c", "2h 8h", "7s 7c 7d 7h 3d 3h")
    round_ = play(start(rules, *hands), "2s", "-", "2h", "7s 7c 7d 7h")
    assert round_.places == (None, None, 3, None)
    play(round_, "-", "-")  # seat 0, and seat 1 that may bomb
    assert round_.turn == 3
    hands = ("2s 9h", f"{BOMB} 9s 3c", "2h 8h Kh", "3d 3h")
    round_ = play(start(rules, *hands), "2s", BOMB, "-", "-", "3c", "2h")
    assert round_.places == (3, None, None, None)
    hands = ("2s 9h", f"{BOMB} 9s 3c", "2h 3s", "8s 8c 8d 8h 3d 3h")
    round_ = play(start(rules, *hands), "2s", BOMB, "-", "-", "3c", "2h", "8s 8c 8d 8h")
    assert round_.places == (3, None, 2, None)


def test_3_7_knockout_round_of_the_last_rival_ends_the_round() -> None:
    round_ = play(start(replace(FOICICA, knockout="round"), "2h 9s", f"{BOMB} Ks Kc"), "2h", BOMB)
    assert round_.is_over
    assert (round_.places, round_.scores) == ((1, 0), (0, 1))


def test_3_7_knockout_none() -> None:
    round_ = play(chopped("none"), "-", "-")
    assert round_.turn == 1
    assert legal(round_) == {"-", pairs("7", 3)}


@pytest.mark.parametrize("knockout", ["trick", "round"])
def test_3_7_who_went_out_with_the_two_keeps_its_place(knockout: Any) -> None:
    round_ = play(start(replace(FOICICA, knockout=knockout), "2h", f"{BOMB} Ks", "9s 9c"), "2h", BOMB)
    assert round_.places == (0, None, None)


@pytest.mark.parametrize("knockout", ["trick", "round"])
def test_3_7_a_higher_two_or_a_bomb_on_a_bomb_knocks_nobody_out(knockout: Any) -> None:
    rules = replace(FOICICA, knockout=knockout)
    round_ = play(start(rules, "2s 9s", "2h 9c", "Ks Kc"), "2s", "2h")
    assert (round_.places, round_.passed) == ((None, None, None), frozenset())
    hands = ("2s 9s 9h", f"{BOMB} 3c", f"{pairs('T', 3)} 3d")
    round_ = play(start(rules, *hands), "2s", BOMB, pairs("T", 3))
    assert 1 not in round_.passed
    assert round_.places[1] is None
    ladder = replace(rules, ladder=("2x3", "4x1"))
    round_ = play(start(ladder, "2s 9s 9h", f"{BOMB} 3c", "Ts Tc Td Th 3d"), "2s", BOMB, "Ts Tc Td Th")
    assert 1 not in round_.passed
    assert round_.places[1] is None


def test_3_8_the_trick_ends_when_all_live_others_have_passed() -> None:
    round_ = play(start("foicica", "3s 9s", "4s 9c", "5s 9d", "6s 9h"), "3s", "4s", "-", "-", "-")
    assert (round_.turn, round_.table) == (1, None)
    round_ = play(start("foicica", "3s 9s", "4s 9c", "5s 9d"), "3s", "-", "-")
    assert (round_.turn, round_.table) == (0, None), "two of them in a game of three"


def test_3_8_until_one_loser_remains_and_no_target() -> None:
    round_ = play(start("foicica", "3s", "4s", "5s 9d"), "3s", "4s")
    assert round_.is_over
    assert round_.places == (0, 1, 2)
    assert FOICICA.target == 0
    game, rng = Game("foicica", key=3), np.random.default_rng(0)
    while not game.is_over:
        plays = game.legal_plays()
        game.play(plays[rng.integers(len(plays))])
    assert len(game.records) == 1


# ---------------------------------------------------------------- 5. pagat


@pytest.mark.parametrize(
    ("table", "bombs"),
    [
        ("2s", {"4x1", "2x3"}),
        ("2s 2h", {"2x4"}),
        ("2s 2c 2h", {"2x5"}),
        ("Ks Ah 2h", set()),
        ("2s 2c 2d 2h", set()),
    ],
)
def test_5_exact_bombs_on_twos_by_themselves(table: str, bombs: set[str]) -> None:
    assert {b for b in BOMBS if beats("pagat", table, b)} == bombs


@pytest.mark.parametrize("text", ["Ks Ah 2h", pairs("K", 3), " ".join(r + "s" for r in "3456789TJQKA2")])
def test_5_twos_on_top_of_sequences(text: str) -> None:
    assert play(start("pagat", f"{text}", "4h 5h"), text).places[0] == 0


@pytest.mark.parametrize("text", ["3s 4s", "3s 3c 4s 4c", "As 2s 3s"])
def test_5_lengths_as_in_cardgames(text: str) -> None:
    refused(start("pagat", f"{text} 9h", "9s"), text, "1.5")


def test_5_no_target_the_last_player_loses() -> None:
    assert PAGAT.target == 0
    assert replace(PAGAT, twos_in="none", target=10) == PRESETS["mobile"]


def test_5_2_bga_is_cardgames_with_bombs_after_a_pass() -> None:
    assert replace(PRESETS["bga"], rejoin=(), rejoin_twos=False) == CARDGAMES


def test_5_3_bga_bombs_after_a_pass_only_in_tricks_with_twos() -> None:
    hands = ("3s 2h 4s 6h", "9s 9c 9d 9h 5s 6s", "Ks 4d 7d")
    round_ = play(start("bga", *hands), "3s", "-", "Ks", "2h")
    assert (round_.turn, legal(round_)) == (1, {"-", "9s 9c 9d 9h"})
    plain = play(start("bga", "3s Ah 4s 6h", *hands[1:]), "3s", "-", "Ks", "Ah")
    assert plain.turn == 2, "seat 1 has passed"


def test_5_4_bga_the_next_seat_leads_after_a_finisher() -> None:
    round_ = play(start("bga", "3s", "4s 5d", "6s 7d"), "3s", "-", "-")
    assert (round_.turn, round_.table) == (1, None)


# ---------------------------------------------------------------- 4.1 and 6. options

LADDER = Rules(
    chops={1: ("2x3", "4x1", "2x4"), 2: ("4x1", "2x4")}, ladder=("2x3", "4x1", "2x4"), rejoin=("2x4",)
)


def test_4_1_ladder_across_shapes() -> None:
    hands = ("2h 3s", f"{BOMB} 3c", "9s 9c 9d 9h 3d", f"{pairs('T', 4)} 3h")
    round_ = play(start(LADDER, *hands), "2h", BOMB)
    assert legal(round_) == {"-", "9s 9c 9d 9h"}
    play(round_, "9s 9c 9d 9h")
    assert legal(round_) == {"-", pairs("T", 4)}, "its 2x3 is below the quad"
    down = play(start(LADDER, "9s 9c 9d 9h 3s", f"{BOMB} 3c"), "9s 9c 9d 9h")
    assert legal(down) == {"-"}


def test_4_1_four_twos_are_on_no_rung() -> None:
    round_ = play(start(LADDER, "2s 2c 2d 2h 3s", f"{pairs('T', 4)} 3h"), "2s 2c 2d 2h")
    assert legal(round_) == {"-"}


def test_4_1_rejoin_of_some_bombs_only() -> None:
    hands = ("3s 9s", f"{pairs('4', 4)} 3c", "2h 3h Kh", "Ks As")
    round_ = play(start(LADDER, *hands), "3s", "-", "2h", "-", "-")
    assert round_.turn == 1
    assert pairs("4", 4) in legal(round_)
    assert pairs("4", 3) not in legal(round_)


def test_6_pass_lock_off_forgets_passes_at_the_next_play() -> None:
    rules = replace(CARDGAMES, pass_lock=False)
    round_ = play(start(rules, "3s 9s Ts", "8s 4c Jh", "5s 6s Js"), "3s", "-")
    assert round_.passed == {1}
    play(round_, "5s")
    assert round_.passed == frozenset()
    play(round_, "9s")
    assert (round_.turn, legal(round_)) == (1, {"-", "Jh"})
    play(round_, "-", "-")
    assert (round_.turn, round_.table) == (0, None)


def test_6_opening_play_alone() -> None:
    round_ = start(replace(CARDGAMES, opening_play="alone"), "3s 3c 4s 5s", "6s", leader=OPENER)
    assert legal(round_) == {"3s"}
    refused(round_, "3s 3c", "3s 3c refused", "3s alone", "1.3")


def test_6_opening_play_free() -> None:
    round_ = start(replace(CARDGAMES, opening_play="free"), "4s", "3s 4c 5s", leader=OPENER)
    assert round_.turn == 1, "the holder leads"
    assert round_.opening_card == Cards()
    assert legal(round_) == {"3s", "4c", "5s", "3s 4c 5s"}


def test_6_run_min_and_no_runs() -> None:
    hand = "3s 4s 5s 6s 7s"
    assert legal(start(replace(CARDGAMES, run_min=5), hand, "Kh")) == {*hand.split(), hand}
    assert legal(start(replace(CARDGAMES, run_min=0), hand, "Kh")) == set(hand.split())


def test_6_set_run_min_of_each_width() -> None:
    rules = replace(CARDGAMES, set_run_min=(3, 2, 0))
    triples = "3s 3c 3d 4s 4c 4d"
    assert triples in legal(start(rules, triples, "Kh"))
    quads = pairs("3", 2, "scdh")
    assert quads not in legal(start(rules, quads, "Kh"))
    assert quads in legal(start(replace(rules, set_run_min=(3, 2, 2)), quads, "Kh"))


@pytest.mark.parametrize(
    ("twos_in", "in_runs", "in_set_runs"),
    [("none", False, False), ("runs", True, False), ("set_runs", False, True), ("both", True, True)],
)
def test_6_twos_in(twos_in: Any, in_runs: bool, in_set_runs: bool) -> None:
    rules = replace(CARDGAMES, twos_in=twos_in)
    hand = pairs("K", 3)
    found = legal(start(rules, hand, "3h"))
    assert ("Ks As 2s" in found) is in_runs
    assert (hand in found) is in_set_runs


def test_6_flush_lock_is_independent_of_the_other_fields() -> None:
    rules = replace(CARDGAMES, flush_lock=True)
    round_ = play(start(rules, "3s 4s 5s 9s", "5h 6h 7h 7d 9h"), "3s 4s 5s")
    assert legal(round_) == {"-", "5h 6h 7h"}
    assert legal(play(start(CARDGAMES, "3s 4s 5s 9s", "5h 6h 7h 7d 9h"), "3s 4s 5s")) == {
        "-",
        "5h 6h 7h",
        "5h 6h 7d",
    }


def test_6_chops_of_four_twos_and_by_triples() -> None:
    rules = replace(CARDGAMES, set_run_min=(3, 2, 0), chops={4: ("3x2",)})
    triples = "4s 4c 4d 5s 5c 5d"
    round_ = play(start(rules, "2s 2c 2d 2h 3s", f"{triples} 3c"), "2s 2c 2d 2h")
    assert legal(round_) == {"-", triples}
    round_ = play(start(rules, "2h 3s", f"{triples} 4h 3c"), "2h")
    assert legal(round_) == {"-"}, "no quad, no double sequence"


def test_6_points_and_target() -> None:
    rules = replace(CARDGAMES, points=(5, 2, 1, 0), target=5)
    round_ = play(start(rules, "9s", "3s Ks", "5s 6s", "7s 8s"), "9s")
    assert round_.scores == (5, 0, 0, 0)


def test_6_every_preset_is_one_value() -> None:
    assert replace(PRESETS["cardgames"]) == Rules()
    with pytest.raises(AttributeError):
        Rules().run_min = 4  # type: ignore[misc]


# ---------------------------------------------------------------- 7. the action table


def test_7_1_lowest_suits_go_along() -> None:
    hand = parse_cards("3c 3h 4s 4d 5c 5d")
    run = cards_to_action("cardgames", parse_cards("3h 4d 5d"))
    assert format_cards(action_to_cards("cardgames", hand, run)) == "3c 4s 5d"
    pair = cards_to_action("cardgames", parse_cards("9s 9h"))
    assert format_cards(action_to_cards("cardgames", parse_cards("9c 9d 9h"), pair)) == "9c 9h"
    double = cards_to_action("cardgames", parse_cards("3s 3c 4s 4c 5s 5h"))
    hand = parse_cards("3c 3d 3h 4s 4d 4h 5c 5d 5h")
    assert format_cards(action_to_cards("cardgames", hand, double)) == "3c 3d 4s 4d 5c 5h"


def test_7_1_errors_of_the_translation() -> None:
    with pytest.raises(IllegalPlayError, match="pair 9h is not in the hand 9c"):
        action_to_cards("cardgames", parse_cards("9c"), cards_to_action("cardgames", parse_cards("9s 9h")))
    with pytest.raises(ValueError, match=r"expected 0\.\.452"):
        action_to_cards("cardgames", 1, 453)
    with pytest.raises(InvalidComboError, match=r"1\.5"):
        cards_to_action("cardgames", parse_cards("3s 4s"))
    assert cards_to_action("cardgames", 0) == 0
    assert action_to_cards("cardgames", 1, 0) == 0


def test_7_2_what_the_table_cannot_express_is_played_by_cards() -> None:
    round_ = start("cardgames", "3s 3h 4s 4h 5s 9h", "2s")
    by_table = {str(p) for p in round_.legal_plays() if len(p) == 3}
    assert by_table == {"3s 4s 5s"}
    by_cards = {str(p) for p in round_.legal_plays(exact=True) if len(p) == 3}
    assert by_cards == {f"3{a} 4{b} 5s" for a in "sh" for b in "sh"}
    play(round_, "3h 4s 5s")
    assert str(round_.hand(0)) == "3s 4h 9h"


def test_7_2_the_unsuited_action_raises_an_inner_card() -> None:
    """Of 3s 3h 4s 4h 5s the suited run takes the lowest; the unsuited one gives up one low inner card."""
    round_ = start("foicica", "3s 3h 4s 4h 5s Kh", "2s")
    threes = {str(p) for p in round_.legal_plays() if len(p) == 3 and not has_sets(p)}
    assert threes == {"3s 4s 5s", "3s 4h 5s"}


def has_sets(cards: Cards) -> bool:
    return len({c // 4 for c in cards}) < len(cards)


@pytest.mark.parametrize("name", PRESETS)
def test_7_2_the_opening_card_is_always_among_the_lowest(name: str) -> None:
    """Every exact opening play has an action, and the cards of each action contain the opening card."""
    table = build_action_table(PRESETS[name])
    for key in range(60):
        for num_players in (2, 4):
            round_ = Round(name, key, num_players=num_players)
            plays = round_.legal_plays()
            exact = round_.legal_plays(exact=True)
            if round_.legal_actions() == [table.declare]:
                continue
            assert all(p & round_.opening_card for p in [*plays, *exact])
            assert {table.classify(p) for p in exact} == {p.action for p in plays}


def test_7_2_opening_with_several_low_cards_of_a_rank() -> None:
    """The forced 3s goes along though runs of the other 3s have the same top."""
    round_ = start("foicica", "3s 3c 3h 4c 5c Kh", "2s", leader=OPENER)
    runs = {str(p) for p in round_.legal_plays() if len(p) == 3 and not has_sets(p)}
    assert runs == {"3s 4c 5c"}, "3c 4c 5c is suited but not allowed to open"


def test_7_3_the_most_exact_plays_of_a_hand() -> None:
    most = "3s 3c 3d 4s 4c 4d 4h 5s 5c 5d 6s 6c 6d"
    assert len(start("cardgames", most, "Kh").legal_plays(exact=True)) == 486
    actions = "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Qc Qd Qh"
    assert len(start("cardgames", actions, "Kh").legal_plays()) == 79
    most = "3s 3c 3d 3h 4s 4c 4d 4h 5s 5c 5d 5h 6s"
    assert len(start("foicica", most, "Kh").legal_plays(exact=True)) == 613


# ---------------------------------------------------------------- refusals


def test_a_refusal_names_play_table_hand_and_clause() -> None:
    round_ = play(start("cardgames", "9d 3s", "8h Td 4s"), "9d")
    with pytest.raises(IllegalPlayError) as caught:
        round_.play("8h")
    assert str(caught.value) == (
        "8h refused: its highest card is not higher than the table's, 1.6 "
        "(seat 1; table: single 9d; hand: 4s 8h Td)"
    )


def test_cards_that_are_not_in_the_hand() -> None:
    round_ = play(start("cardgames", "9d 3s", "8h Td 4s"), "9d")
    refused(round_, "Th", "Th refused", "Th not in the hand", "single 9d", "4s 8h Td", "1.5")


def test_errors_are_value_errors() -> None:
    assert issubclass(IllegalPlayError, TienLenError)
    assert issubclass(InvalidComboError, TienLenError)
    assert issubclass(TienLenError, ValueError)
