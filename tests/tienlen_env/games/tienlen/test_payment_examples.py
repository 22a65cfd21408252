"""Rounds with payments, worked out by hand or taken from the sources of RULES.md, section 4.

Each example names its source in the letters of RULES.md and its clauses. It is played by the oracle and by
`Round`; both ledgers have to be the expected one. Amounts in `south` are half stakes, in `south_count` and
`north` cards.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.oracles.oracle import cards
from tests.oracles.oracle_south import DECLARE, Oracle
from tienlen_env.games.tienlen.rules import NORTH, SOUTH, SOUTH_COUNT, Rules, Shape
from tienlen_env.single.tienlen import Round

Line = tuple[int, int, int, str]  # payer, payee, amount, cause

# [H] pays 1 and 2 stakes for 2s, 2 for every bomb, and knows neither cóng nor held bombs.
H = replace(
    SOUTH,
    pay_chop_twos=(2, 4),
    pay_chop_bombs={"2x3": 4, "4x1": 4, "2x4": 4},
    pay_held_twos=(2, 4),
    pay_held_bombs=(),
    pay_cong=0,
)


def pays(
    rules: Rules, hands: list[str], plays: list[str], *expected: Line, net: list[int], leader: int | None = 0
) -> None:
    """Plays the round ("-" is a pass) and compares everything that was booked, and each seat's sum."""
    rules = replace(rules, num_players=len(hands))
    oracle = Oracle(rules, [cards(h) for h in hands], leader)
    for text in plays:
        oracle.play(DECLARE if text == "declare" else cards("" if text == "-" else text))
    booked = [(p.payer, p.payee, p.amount, p.cause) for p in oracle.ledger]
    assert Counter(booked) == Counter(expected)
    assert oracle.net(oracle.ledger) == net
    assert sum(net) == 0
    round_ = Round.from_hands(rules, hands, leader=leader)
    for text in plays:
        round_.play("" if text == "-" else text)
    assert Counter(map(tuple, round_.payments())) == Counter(expected)
    assert round_.is_over == oracle.round_over
    if round_.is_over:
        assert list(round_.places) == oracle.places


# ---------------------------------------------------------------- south: chops and chains


def test_h_a_chain_of_two_is_paid_by_the_last_one_chopped() -> None:
    """[H] "the E3 example: 2♥ chopped by B, then B's chop by C → B pays C 2 × 2 units" (4.5, 4.6)."""
    hands = ["2h 3d", "4s 4c 5s 5c 6s 6c 9d", "7s 7c 8s 8c 9s 9c Td"]
    plays = ["2h", "4s 4c 5s 5c 6s 6c", "7s 7c 8s 8c 9s 9c", "-", "-"]
    pays(H, hands, plays, (1, 2, 8, "chop"), net=[0, -8, 8])


def test_h_a_black_two_costs_one_stake_there() -> None:
    """[H] "a single chop of a black 2: 1 unit" (4.5)."""
    hands = ["2s 3d", "5s 5c 5d 5h 9d", "9c 9h"]
    pays(H, hands, ["2s", "5s 5c 5d 5h", "-", "-"], (0, 1, 2, "chop"), net=[-2, 2, 0])


def test_h_a_pair_of_twos_is_the_sum() -> None:
    """[H] "a pair 2♠2♥: 3 units" (4.3, 4.5)."""
    hands = ["2s 2h 3d", "5s 5c 5d 5h 9d", "9c 9h"]
    pays(H, hands, ["2s 2h", "5s 5c 5d 5h", "-", "-"], (0, 1, 6, "chop"), net=[-6, 6, 0])


def test_h_a_higher_two_is_not_a_chop() -> None:
    """[H] "a higher 2 over a 2 is not a chop" (4.5)."""
    pays(H, ["2s 3d", "2h 9d", "9c 9h"], ["2s", "2h", "-", "-"], net=[0, 0, 0])


def test_h_four_pairs_on_three_pairs_in_a_row() -> None:
    """[H] "an out-of-turn four-pair adds a chop to the chain" (4.1, 4.4, 4.6)."""
    hands = ["2d 3d", "4s 4c 5s 5c 6s 6c Kd", "7s 7c 8s 8c 9s 9c Ts Tc Qd"]
    plays = ["2d", "4s 4c 5s 5c 6s 6c", "7s 7c 8s 8c 9s 9c Ts Tc", "-", "-"]
    pays(H, hands, plays, (1, 2, 8, "chop"), net=[0, -8, 8])


def test_h_a_chain_is_closed_when_the_round_ends_in_it() -> None:
    """[H] "a chain is closed when the game ends in the middle of it"; its last place pays too (4.7, 4.8)."""
    hands, plays = ["2h 3d", "4s 4c 5s 5c 6s 6c"], ["2h", "4s 4c 5s 5c 6s 6c"]
    pays(H, hands, plays, (0, 1, 4, "chop"), (0, 1, 2, "place"), net=[-6, 6])


def test_h_held_twos_go_to_the_player_just_above() -> None:
    """[H] "the last player holding cards pays for their 2s to the player just above" (4.8, 4.10)."""
    hands, plays = ["3s", "4s 2s 2h", "5s 9c"], ["3s", "-", "5s", "9c"]
    pays(H, hands, plays, (1, 0, 2, "place"), (1, 2, 6, "held_twos"), net=[2, -8, 6], leader=None)


@pytest.mark.parametrize(
    ("num_players", "expected", "net"),
    [
        (4, [(3, 0, 2, "place"), (2, 1, 1, "place")], [2, 1, -1, -2]),
        (3, [(2, 0, 2, "place")], [2, 0, -2]),
        (2, [(1, 0, 2, "place")], [2, -2]),
    ],
)
def test_h_places(num_players: int, expected: list[Line], net: list[int]) -> None:
    """[H] "the owner's examples with stake 500": 500 and 250; 500; 500 (4.8)."""
    hands = ["3s 9s", "4s 9c", "5s 9d", "6s 9h"][:num_players]
    plays = [*["3s", "4s", "5s", "6s"][:num_players], *["9s", "9c", "9d"][: num_players - 1]]
    pays(SOUTH, hands, plays, *expected, net=net)


def test_a_chain_of_three() -> None:
    """[A] prices: 2♥ 1, 2×3 1½, quad 3 stakes; "người bị chặt cuối cùng gánh toàn bộ" (4.5, 4.6)."""
    hands = ["2h 3d", "4s 4c 5s 5c 6s 6c 9d", "8s 8c 8d 8h 9h", "Ts Tc Js Jc Qs Qc Ks Kc 3h"]
    plays = ["2h", "4s 4c 5s 5c 6s 6c", "8s 8c 8d 8h", "Ts Tc Js Jc Qs Qc Ks Kc", "-", "-", "-"]
    pays(SOUTH, hands, plays, (2, 3, 2 + 3 + 6, "chop"), net=[0, 0, -11, 11])


def test_e_each_pays_and_the_second_chop_costs_twice() -> None:
    """[E] "over-chop ×2" (4.6): 2♥ 1 stake to seat 1, the 2×3 twice 1½ to seat 2, the quad four times 3."""
    rules = replace(SOUTH, chop_chain="each", chop_doubles=True)
    hands = ["2h 3d", "4s 4c 5s 5c 6s 6c 9d", "8s 8c 8d 8h 9h", "Ts Tc Js Jc Qs Qc Ks Kc 3h"]
    plays = ["2h", "4s 4c 5s 5c 6s 6c", "8s 8c 8d 8h", "Ts Tc Js Jc Qs Qc Ks Kc", "-", "-", "-"]
    lines = [(0, 1, 2, "chop"), (1, 2, 6, "chop"), (2, 3, 24, "chop")]
    pays(rules, hands, plays, *lines, net=[-2, 2 - 6, 6 - 24, 24])


def test_a_bomb_that_was_led_is_chopped_by_its_own_shape() -> None:
    """By hand (4.5): three pairs in a row on three pairs in a row, 1½ stakes."""
    hands = ["4s 4c 5s 5c 6s 6c 9d", "4d 4h 5d 5h 6d 6h 9h", "Ks Kd"]
    pays(
        SOUTH, hands, ["4s 4c 5s 5c 6s 6c", "4d 4h 5d 5h 6d 6h", "-", "-"], (0, 1, 3, "chop"), net=[-3, 3, 0]
    )


def test_after_a_pass_four_pairs_chop_and_nothing_less() -> None:
    """By hand (4.4): seat 1 passed on a king, then chops 2♠ 2♦ out of turn for ½ + 1."""
    four = "4s 4c 5s 5c 6s 6c 7s 7c"
    hands = ["3s 3c 9d", f"{four} 9h", "2s 2d Jh", "Ks Kd 8h"]
    plays = ["3s 3c", "-", "2s 2d", "-", "-", four, "-", "-", "-"]
    pays(SOUTH, hands, plays, (2, 1, 1 + 2, "chop"), net=[0, 3, -3, 0])


def test_d_a_player_chopped_on_its_last_card_pays() -> None:
    """By hand (4.7): seat 0 goes out with 2♥; seat 1, who has played, chops it. Then seat 2 is last."""
    hands = ["9s 2h", "Ts 5s 5c 5d 5h 3h", "Js 3d 4d"]
    plays = ["9s", "Ts", "Js", "2h", "5s 5c 5d 5h", "-", "3h"]
    lines = [(0, 1, 2, "chop"), (2, 0, 2, "place")]
    pays(SOUTH, hands, plays, *lines, net=[0, 2, -2])
    nobody = replace(SOUTH, chop_out="nobody")
    pays(nobody, hands, plays, (2, 0, 2, "place"), net=[2, 0, -2])


# ---------------------------------------------------------------- south: cóng and thối


def test_one_cong_of_four() -> None:
    """By hand (4.9, 4.8): +2 +½ −½ −2 stakes."""
    hands = ["9s 9h", "Ts 4d", "Js 4h 5h", "3c 3d 3h"]
    plays = ["9s", "Ts", "Js", "-", "-", "-", "5h", "-", "9h", "-", "-", "4d"]
    lines = [(3, 0, 4, "cong"), (2, 1, 1, "place")]
    pays(SOUTH, hands, plays, *lines, net=[4, 1, -1, -4])


def test_two_cong_and_the_one_left_alone_pays_for_its_two() -> None:
    """By hand (4.9, 4.10): seat 1 is left alone and pays 1 for 2♥; the cóng seat 3 pays for a quad."""
    hands = ["9s 9h", "Ts 5c 2h", "3s 3d", "4s 4c 4d 4h"]
    plays = ["9s", "Ts", "-", "-", "-", "5c", "-", "-", "9h"]
    lines = [(2, 0, 4, "cong"), (3, 0, 4, "cong"), (3, 0, 6, "held_bombs"), (1, 0, 2, "held_twos")]
    pays(SOUTH, hands, plays, *lines, net=[16, -2, -4, -10])


def test_all_others_cong() -> None:
    """By hand (4.9): the round ends at once, 2 stakes from each."""
    lines = [(seat, 0, 4, "cong") for seat in (1, 2, 3)]
    pays(SOUTH, ["9s", "3s", "4s", "5s"], ["9s"], *lines, net=[12, -4, -4, -4])


def test_held_bombs_that_overlap() -> None:
    """By hand (4.10): 5 5 5 5 6 6 7 7 holds a quad (3) or 5 5 6 6 7 7 (1½); the dearer one counts."""
    hands = ["9s Ah", "Ks 5s 5c 5d 5h 6s 6c 7s 7c"]
    plays = ["9s", "Ks", "Ah"]
    lines = [(1, 0, 2, "place"), (1, 0, 6, "held_bombs")]
    pays(SOUTH, hands, plays, *lines, net=[8, -8])


def test_held_disjoint_bombs_add_up() -> None:
    """By hand (4.10): a quad 3, three pairs in a row 1½, 2♠ ½."""
    hands = ["9s Ah", "Ks 4s 4c 4d 4h 6s 6c 7s 7c 8s 8c 2s"]
    lines = [(1, 0, 2, "place"), (1, 0, 9, "held_bombs"), (1, 0, 1, "held_twos")]
    pays(SOUTH, hands, ["9s", "Ks", "Ah"], *lines, net=[12, -12])


def test_held_to_the_first() -> None:
    """[A] pays thối to the first (4.10): as the example of [H], with `held_to="first"`."""
    hands, plays = ["3s", "4s 2s 2h", "5s 9c"], ["3s", "-", "5s", "9c"]
    rules = replace(H, held_to="first")
    pays(rules, hands, plays, (1, 0, 2, "place"), (1, 0, 6, "held_twos"), net=[8, -8, 0], leader=None)


# ---------------------------------------------------------------- instant wins


def test_a_dragon_gets_two_stakes_from_each() -> None:
    """[A] "tới trắng 2B mỗi người" (4.11, 4.14): nothing else, though seat 1 holds four 2s."""
    hands = ["3s 4c 5d 6h 7s 8c 9d Th Js Qc Kd Ah 3h", "2s 2c 2d 2h", "4s 5s", "4d 6d"]
    lines = [(seat, 0, 4, "instant") for seat in (1, 2, 3)]
    pays(SOUTH, hands, ["declare"], *lines, net=[12, -4, -4, -4], leader=2)


def test_a_equal_patterns_go_by_the_top_card() -> None:
    """[A] "cùng loại thì so lá lớn nhất" (4.13): six pairs with 2♥ at the top beat six with 2♣."""
    low = "3s 3c 5s 5c 7s 7c 9s 9c Js Jc 2s 2c"
    high = "4s 4c 6s 6c 8s 8c Ts Tc Qs Qc 2d 2h"
    lines = [(0, 1, 26, "instant"), (2, 1, 26, "instant")]
    pays(SOUTH_COUNT, [low, high, "3h"], ["declare"], *lines, net=[-26, 52, -26])


# ---------------------------------------------------------------- south_count


def test_count_held_twos_replace_their_cards() -> None:
    """[A] "tính thay cho 1 lá thường" (4.16): 2♥ 5♣ 6♣ cost 6 + 1 + 1 = 8; a quad and a card 12 + 1."""
    hands = ["9s Kh", "Ts 2h 5c 6c", "Js 4s 4c 4d 4h 7c"]
    plays = ["9s", "Ts", "Js", "Kh"]
    lines = [(1, 0, 2, "cards"), (1, 0, 6, "held_twos"), (2, 0, 1, "cards"), (2, 0, 12, "held_bombs")]
    pays(SOUTH_COUNT, hands, plays, *lines, net=[21, -8, -13])


def test_count_a_held_bomb_may_cost_one_unit_above_its_cards() -> None:
    """By hand (4.16): three pairs in a row at 7 cards, and a card."""
    rules = replace(SOUTH_COUNT, pay_held_bombs=((Shape(2, 3), 7),))
    lines = [(1, 0, 1, "cards"), (1, 0, 7, "held_bombs")]
    pays(rules, ["9s Ah", "Ks 4s 4c 5s 5c 6s 6c 8d"], ["9s", "Ks", "Ah"], *lines, net=[8, -8])


def test_count_cong_is_26_and_what_is_held() -> None:
    """[A] "Cóng: 26 lá + tiền thối heo/hàng" (4.17): 26 + 3 for 2♠; 26 alone."""
    hands = ["9s Kh", "Ts 3c", "3s 4s 2s", "3d 4d 5d"]
    plays = ["9s", "Ts", "-", "-", "Kh"]
    lines = [(1, 0, 1, "cards"), (2, 0, 26, "cong"), (2, 0, 3, "held_twos"), (3, 0, 26, "cong")]
    pays(SOUTH_COUNT, hands, plays, *lines, net=[56, -1, -29, -26])


def test_count_a_chop_is_paid_beside_the_cards() -> None:
    """[A] "Chặt 3 đôi thông: +9 lá" (4.5, 4.16): a quad on three pairs on 2♦, the last pays 6 + 9."""
    three = "4s 4c 5s 5c 6s 6c"
    hands = ["2d 3d 3h", f"{three} 9d", "8s 8c 8d 8h"]
    lines = [(1, 2, 15, "chop"), (0, 2, 2, "cards"), (1, 2, 1, "cards")]
    pays(SOUTH_COUNT, hands, ["2d", three, "8s 8c 8d 8h"], *lines, net=[-2, -16, 18])


# ---------------------------------------------------------------- north


def test_n_the_count_of_a_round() -> None:
    """[N] 10.2: "A thắng, B còn 2♠+7 (3), C còn 2♥+K (5), D còn tứ quý+9 (9): A +17" (4.25)."""
    hands = ["3s 9s", "4s 2s 7d", "5s 2h Kd", "6s 8s 8c 8d 8h 9d"]
    plays = ["3s", "4s", "5s", "6s", "9s"]
    lines = [(1, 0, 1, "cards"), (1, 0, 2, "held_twos"), (2, 0, 1, "cards"), (2, 0, 4, "held_twos")]
    lines += [(3, 0, 1, "cards"), (3, 0, 8, "held_bombs")]
    pays(NORTH, hands, plays, *lines, net=[17, -3, -5, -9])


@pytest.mark.parametrize(
    ("held", "lines"),
    [
        ("3s 4c 5d", [(1, 0, 3, "cards")]),
        ("7s 7c 8s 8c 9s 9c", [(1, 0, 6, "cards")]),
        ("7s 7c 8s 8c 9s 9c Ts Tc", [(1, 0, 8, "cards")]),
        ("8s 8c 8d 8h 9d", [(1, 0, 1, "cards"), (1, 0, 8, "held_bombs")]),
    ],
)
def test_n_bombs_do_not_add_to_their_cards(held: str, lines: list[Line]) -> None:
    """[N] 6.2: 3, 4, 5 cost 3; a bare 2×3 6, a bare 2×4 8, a quad and a 9 9 (4.25)."""
    total = sum(amount for _, _, amount, _ in lines)
    pays(NORTH, ["6s Qs", f"Js {held}"], ["6s", "Js", "Qs"], *lines, net=[total, -total])


def test_n_a_chopped_winner_still_pays() -> None:
    """[N] 10.2: "A bị B chặt 2♥ rồi A về đầu: A vẫn giữ khoản −4" (4.24)."""
    three = "4s 4c 5s 5c 6s 6c"
    hands = ["2h 9s", f"{three} 7s Kd"]
    plays = ["2h", three, "-", "7s", "9s"]
    pays(NORTH, hands, plays, (0, 1, 4, "chop"), (1, 0, 1, "cards"), net=[-3, 3])


def test_n_chops_on_chops_are_paid_one_by_one() -> None:
    """[N] 4.3: "Chặt chồng: mỗi lần tạo khoản riêng" (4.24): 2♥ 4, the 2×3 6."""
    hands = ["2h 9s", "4s 4c 5s 5c 6s 6c 7s", "8s 8c 8d 8h 9d"]
    plays = ["2h", "4s 4c 5s 5c 6s 6c", "8s 8c 8d 8h", "-", "-"]
    pays(NORTH, hands, plays, (0, 1, 4, "chop"), (1, 2, 6, "chop"), net=[-4, -2, 6])


def test_n_what_follows_is_not_a_chop_but_a_quad_is() -> None:
    """[N] 12.6 (4.24): black three pairs on black three pairs are free, red ones cost 6; a quad 8."""
    low, high, red = "4s 4c 5s 5c 6s 6c", "7s 7c 8s 8c 9s 9c", "Td Th Jd Jh Qd Qh"
    hands = [f"{low} Ks", f"{high} 3c", f"{red} 3d"]
    pays(NORTH, hands, [low, high, red, "-", "-"], (1, 2, 6, "chop"), net=[0, -6, 6])
    quads = ["4s 4c 4d 4h 9s", "5s 5c 5d 5h 3c"]
    pays(NORTH, quads, ["4s 4c 4d 4h", "5s 5c 5d 5h", "-"], (0, 1, 8, "chop"), net=[-8, 8])


def test_n_a_chopped_run_costs_nothing() -> None:
    """[N] 12.1: `longStraightCutPenalty = 0`; the pair of 2s that the run chopped costs 2 + 4 (4.24)."""
    hands = ["2s 2h 3d", "4s 5s 6s 7s 8s 3c", "9s 9c Ts Tc Js Jc Qs Qc 3h"]
    plays = ["2s 2h", "4s 5s 6s 7s 8s", "9s 9c Ts Tc Js Jc Qs Qc", "-", "-"]
    pays(NORTH, hands, plays, (0, 1, 6, "chop"), net=[-6, 6, 0])


def test_n_one_two_at_the_end_with_four_players() -> None:
    """[N] 10.2: "Về một 2 cuối ở bàn 4 người: người vi phạm −39; mỗi đối thủ +13" (4.27)."""
    lines = [(0, seat, 13, "last_two") for seat in (1, 2, 3)]
    pays(NORTH, ["2s", "2h 3c", "4c", "5c"], ["2s"], *lines, net=[-39, 13, 13, 13])


def test_n_two_twos_at_the_end_with_three_players() -> None:
    """[N] 10.2: "Về đôi 2 cuối bàn 3 người: người vi phạm −52" (4.27)."""
    lines = [(0, seat, 26, "last_two") for seat in (1, 2)]
    pays(NORTH, ["2s 2d", "3c", "4c"], ["2s 2d"], *lines, net=[-52, 26, 26])


def test_n_three_twos_at_the_end_with_two_players() -> None:
    """[N] 10.2: "Về bộ ba 2 cuối bàn 2 người: người vi phạm −39" (4.27)."""
    pays(NORTH, ["2s 2c 2d", "3c"], ["2s 2c 2d"], (0, 1, 39, "last_two"), net=[-39, 39])


def test_n_the_last_three_that_nobody_stops() -> None:
    """[N] 10.2: "Đút 3♠ thành công bàn 4: ba đối thủ mỗi người −26" (4.28), cóng or not."""
    hands = ["Ah 3s", "4c 2h", "5c", "6c"]
    lines = [(seat, 0, 26, "last_three") for seat in (1, 2, 3)]
    pays(NORTH, hands, ["Ah", "-", "-", "-"], *lines, net=[78, -26, -26, -26])


def test_n_the_last_three_that_is_caught() -> None:
    """[N] 10.2: "Đút bị bắt: người bị bắt −26, người bắt +26"; no other pays (4.28)."""
    hands = ["Kh 3s", "4c 2h", "Ah 5c", "6c"]
    pays(NORTH, hands, ["Kh", "-", "Ah"], (0, 2, 26, "last_three"), net=[-26, 0, 26, 0])


def test_n_catching_comes_before_going_out() -> None:
    """[N] 10.2: "Người bắt đút đồng thời hết bài: chỉ một kết thúc bắt đút", with a 2 as well (4.28)."""
    pays(NORTH, ["Kh 3s", "Ah", "4c 5c"], ["Kh", "Ah"], (0, 1, 26, "last_three"), net=[-26, 26, 0])
    pays(NORTH, ["Kh 3s", "2h", "4c 5c"], ["Kh", "2h"], (0, 1, 26, "last_three"), net=[-26, 26, 0])


def test_n_catching_by_a_chop() -> None:
    """[N] 5.2: "vẫn ghi khoản chặt đó trước khi kết thúc" (4.28): 2♦ 4, and 26."""
    hands = ["2d 3s", "4s 4c 4d 4h 9s", "5c"]
    lines = [(0, 1, 4, "chop"), (0, 1, 26, "last_three")]
    pays(NORTH, hands, ["2d", "4s 4c 4d 4h"], *lines, net=[-30, 30, 0])


@pytest.mark.parametrize(
    ("held", "lines"),
    [
        ("3c 4d 5h 6c 7d 8h 9c Td Jh Qc Kd Ah 4s", [(1, 0, 26, "cong")]),
        ("3c 4d 5h 6c 7d 8h 9c Td Jh Qc Kd 4s 2s", [(1, 0, 25, "cong"), (1, 0, 2, "held_twos")]),
        ("3c 4d 5h 6c 7d 8h 9c Td Jh Qc Kd 4s 2h", [(1, 0, 25, "cong"), (1, 0, 4, "held_twos")]),
    ],
)
def test_n_cong(held: str, lines: list[Line]) -> None:
    """[N] 12.2: cóng costs 26; 27 with 2♠ and twelve other cards, 29 with 2♥ (4.26)."""
    total = sum(amount for _, _, amount, _ in lines)
    pays(NORTH, ["As", held], ["As"], *lines, net=[total, -total])


def test_n_an_instant_win_costs_13_a_head() -> None:
    """[N] 6.5: four 2s before a dragon of one suit, "Người thua trừ 13/người" (4.29)."""
    dragon = "3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh Ah 3s"
    lines = [(seat, 1, 13, "instant") for seat in (0, 2)]
    pays(NORTH, [dragon, "2s 2c 2d 2h 5c", "4c 5s"], ["declare"], *lines, net=[-13, 26, -13])


def test_n_six_pairs_before_five_in_a_row() -> None:
    """[N] 12: six pairs with four 3s and two 2s of any suits beat five pairs in a row (4.29)."""
    six = "3s 3c 3d 3h 7s 7c 9d 9h Js Jc 2s 2d"
    five = "Td Th Jd Jh Qd Qh Kd Kh Ad Ah 4s"
    lines = [(0, 1, 13, "instant"), (2, 1, 13, "instant")]
    pays(NORTH, [five, six, "4c 5s"], ["declare"], *lines, net=[-13, 26, -13], leader=None)
