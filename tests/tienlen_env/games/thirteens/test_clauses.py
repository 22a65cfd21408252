"""The rules of Thirteens, clause by clause (RULES.md 8), in positions that can be checked by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, RulesError
from tienlen_env.games.common.game import find_action
from tienlen_env.games.thirteens import spec as S, state as R
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import CARD_TEXT, full_deck, parse_cards, strength
from tienlen_env.games.thirteens.game import describe, why_refused, worst_reward
from tienlen_env.games.thirteens.melds import pip_counts
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules

AUTO = ThirteensRules(num_players=3, jokers=2)
MANUAL = replace(AUTO, melding="manual")
DUMMY = ThirteensRules(num_players=3, jokers=2, dummy=True)


class Deal:
    """One deal from given hands, led by seat 0; it ends when they are empty, however few cards they had."""

    def __init__(
        self,
        rules: ThirteensRules,
        *hands: str,
        remainder: str = "",
        starter: str = "",
        dummy: str = "",
        **settings: Any,
    ) -> None:
        self.rules = rules
        self.table = build_action_table(rules)
        self.batch = Batch(rules, 1, **settings)
        row = self.batch.state.rows[0]
        row[:] = 0
        for seat, text in enumerate(hands):
            row[R.HAND + seat] = parse_cards(text)
        row[R.REMAINDER] = parse_cards(remainder)
        row[R.STARTER] = parse_cards(starter)
        row[R.DUMMY] = parse_cards(dummy)
        self.batch.loops.begin_round(*self.batch.kernel_arrays, np.zeros(1, np.int64))
        # A deal has as many tricks as these hands have cards.
        self.batch._spec = self.batch._spec.copy()
        self.batch._spec[S.HAND_SIZE] = len(hands[0].split())
        self.rewards = np.zeros(rules.num_players)

    def play(self, *names: str) -> Deal:
        for name in names:
            self.rewards += self.batch.step([find_action(self.table, name)])[0][0]
        return self

    @property
    def legal(self) -> set[str]:
        return {self.table.text(int(a)) for a in self.batch.list_legal().action}

    @property
    def turn(self) -> int:
        return int(self.batch.state.turn[0])

    @property
    def points(self) -> list[int]:
        points: list[int] = self.batch.state.points[0].tolist()
        return points

    def refused(self, name: str, *words: str) -> None:
        """The play is refused, the explanation has all `words`, and nothing has changed."""
        before = self.batch.state.rows.copy()
        action = find_action(self.table, name)
        with pytest.raises(IllegalPlayError):
            self.batch.step([action])
        assert np.array_equal(self.batch.state.rows, before)
        reason = str(why_refused(self.table, before[0].tolist(), action))
        for word in words:
            assert word in reason


# ---------------------------------------------------------------- 8.1, 8.2


@pytest.mark.parametrize("num_players", range(3, 8))
@pytest.mark.parametrize("jokers", range(3))
def test_8_1_players_and_jokers(num_players: int, jokers: int) -> None:
    assert ThirteensRules(num_players=num_players, jokers=jokers).num_cards == 52 + jokers


@pytest.mark.parametrize(
    "fields",
    [
        {"num_players": 2},
        {"num_players": 8},
        {"jokers": 3},
        {"jokers": -1},
        {"num_players": 4.0},
        {"jokers": True},
    ],
    ids=str,
)
def test_8_1_other_numbers_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(RulesError, match=next(iter(fields))):
        ThirteensRules(**fields)


def test_8_1_one_joker_by_default() -> None:
    assert ThirteensRules().jokers == 1


def test_8_1_orders_of_the_cards() -> None:
    hearts = [c + "h" for c in "23456789TJQKA"]
    ids = [CARD_TEXT.index(c) for c in hearts]
    assert [strength(i) for i in ids] == list(range(13)), "A high"
    nibbles = [pip_counts(1 << i) for i in ids]
    assert nibbles == [1 << 4 * (pip - 1) for pip in (*range(2, 14), 1)], "A is one pip"
    assert [pip_counts(1 << i) for i in (52, 53)] == [0, 0]


HANDS_AND_REMAINDERS = {  # as the clause lists them, for 0, 1 and 2 jokers
    3: ((17, 1), (17, 2), (18, 0)),
    4: ((13, 0), (13, 1), (13, 2)),
    5: ((10, 2), (10, 3), (10, 4)),
    6: ((8, 4), (8, 5), (9, 0)),
    7: ((7, 3), (7, 4), (7, 5)),
}


@pytest.mark.parametrize("num_players", HANDS_AND_REMAINDERS)
@pytest.mark.parametrize("jokers", range(3))
def test_8_2_equal_deal_with_a_remainder(num_players: int, jokers: int) -> None:
    rules = ThirteensRules(num_players=num_players, jokers=jokers)
    batch = Batch(rules, 200)
    batch.deal(np.arange(200))
    size, left = HANDS_AND_REMAINDERS[num_players][jokers]
    assert (rules.hand_size, rules.num_aside) == (size, left)
    assert (batch.state.num_cards_left == size).all()
    assert (np.bitwise_count(batch.state.remainder) == left).all()
    union = np.bitwise_or.reduce(batch.state.hands, axis=1) | batch.state.remainder
    assert (union == full_deck(jokers)).all()


def test_8_2_the_deal_passes_to_the_left() -> None:
    batch = Batch(ThirteensRules(num_players=5, target=1000), 8, episode="game")
    batch.deal(np.arange(8))
    rng = np.random.default_rng(0)
    first = batch.state.eldest.copy()
    assert len(set(first.tolist())) > 1, "who leads first is drawn"
    for deal in range(6):
        assert (batch.state.round == deal).all()
        assert (batch.state.eldest == (first + deal) % 5).all()
        assert (batch.state.turn == batch.state.eldest).all()
        while (batch.state.round == deal).all():
            batch.step(batch.sample(rng))


def test_8_2_rounds_of_a_key_continue_its_game() -> None:
    """Deal r of a key is the same whether dealt alone or come to in a game."""
    rules = ThirteensRules(target=1000)
    game = Batch(rules, 1, episode="game")
    game.deal([77])
    rng = np.random.default_rng(0)
    while game.state.round[0] < 3:
        game.step(game.sample(rng))
    alone = Batch(rules, 1)
    alone.deal([77], rounds=3)
    for name in ("hands", "remainder", "starter", "eldest", "turn"):
        assert np.array_equal(getattr(alone.state, name), getattr(game.state, name)), name


def test_8_2_first_leader_may_be_fixed() -> None:
    batch = Batch(ThirteensRules(first_lead="seat_0"), 50)
    batch.reset(0)
    assert (batch.state.turn == 0).all()
    batch.deal(np.arange(50), rounds=6)
    assert (batch.state.turn == 2).all()
    batch.deal(np.arange(50), leader=3)
    assert (batch.state.turn == 3).all()


# ---------------------------------------------------------------- 8.3, 8.4


def test_8_3_starter_is_one_of_the_remainder_and_each_as_often() -> None:
    batch = Batch(ThirteensRules(num_players=7, jokers=2), 20_000)
    batch.reset(0)
    starter, remainder = batch.state.starter, batch.state.remainder
    assert (np.bitwise_count(starter) == 1).all()
    assert (starter & ~remainder == 0).all()
    place = np.bitwise_count(remainder & (starter - 1))
    counts = np.bincount(place, minlength=5)
    assert np.abs(counts - 4000).max() < 5 * 4000**0.5


def test_8_3_joker_first_starts_no_suit() -> None:
    deal = Deal(AUTO, "2s 3c *1", "4s 4c 4d", "5s 5c 5d", remainder="*2 9c", starter="*2")
    assert deal.legal == {"2s", "3c", "*1"}


def test_8_3_no_remainder_no_starter() -> None:
    batch = Batch(ThirteensRules(num_players=4, jokers=0), 50)
    batch.reset(0)
    assert (batch.state.starter == 0).all()
    assert (batch.count_legal() == 13).all()


def test_8_4_eldest_leads_the_starter_suit_if_held() -> None:
    deal = Deal(AUTO, "2s 3c *1 Ac", "4s 4c 4d 4h", "5s 5c 5d 5h", remainder="9c", starter="9c")
    assert deal.legal == {"3c", "Ac"}
    deal.refused("2s", "starter suit", "clubs", "8.4")
    deal.refused("*1", "8.4")
    assert describe(deal.table, deal.batch.state.rows[0].tolist()).endswith(
        "starter suit: c; hand: 2s Ac 3c *1"
    )


def test_8_4_anything_when_void_and_all_know_it() -> None:
    deal = Deal(AUTO, "2s 3d *1", "4s 4c 4d", "5s 5c 5d", remainder="9c", starter="9c")
    assert deal.legal == {"2s", "3d", "*1"}
    deal.play("2s")
    assert deal.batch.state.void[0].tolist() == [0b0010, 0, 0]


def test_8_4_later_leads_are_free_and_the_winners() -> None:
    deal = Deal(AUTO, "2c 3d *1", "4s 4c 4d", "5s 5c 5d", remainder="9c", starter="9c")
    deal.play("2c", "4c", "5c")
    assert deal.turn == 2
    assert deal.legal == {"5s", "5d"}


# ---------------------------------------------------------------- 8.5, 8.6, 8.7


def test_8_5_follow_suit_if_able_and_then_no_joker() -> None:
    deal = Deal(AUTO, "2c 3d", "4s 4c *1", "5s 5d").play("2c")
    assert deal.legal == {"4c"}
    deal.refused("*1", "clubs", "no joker", "8.5")
    deal.refused("4s", "clubs", "no other suit", "8.5")
    deal.refused("Ac", "not in the hand", "8.5")
    assert deal.batch.state.void[0].tolist() == [0, 0, 0]


def test_8_5_else_a_joker_or_any_discard() -> None:
    deal = Deal(AUTO, "2c 3d", "4s 4d *1", "5s 5d 5c").play("2c")
    assert deal.legal == {"4s", "4d", "*1"}
    deal.play("*1")
    assert deal.legal == {"5c"}, "a joker played to the trick frees no seat"
    assert deal.batch.state.void[0].tolist() == [0, 0b0010, 0]


def test_8_5_on_a_joker_lead_anything() -> None:
    deal = Deal(AUTO, "*1 3d", "4s 4d *2", "5s 5d 5c").play("*1")
    assert deal.legal == {"4s", "4d", "*2"}
    deal.play("4s")
    assert deal.legal == {"5s", "5d", "5c"}
    assert deal.batch.state.void[0].tolist() == [0, 0, 0], "nothing is known of who need not follow"


@pytest.mark.parametrize(
    ("plays", "winner"),
    [
        (("9c", "Tc", "2c"), 1),
        (("9c", "As", "Ah"), 0),  # other suits never win
        (("2c", "3c", "Ac"), 2),  # A high
        (("Kc", "2c", "3c"), 0),  # 2 low
        (("9c", "*1", "Ac"), 1),
        (("9c", "*2", "*1"), 1),  # jokers do not outrank each other
        (("*2", "*1", "Ac"), 0),
        (("*1", "Ac", "*2"), 0),
    ],
)
def test_8_6_who_wins(plays: tuple[str, ...], winner: int) -> None:
    deal = Deal(AUTO, *(f"{card} {other}" for card, other in zip(plays, ("7d", "7h", "7s"), strict=True)))
    deal.play(*plays)
    assert deal.turn == winner
    assert deal.batch.state.tricks[0].tolist() == [int(s == winner) for s in range(3)]


def test_8_7_winner_of_trick_1_takes_the_remainder_too() -> None:
    deal = Deal(AUTO, "9c 7d", "Tc 7h", "2c 7s", remainder="Kc As", starter="Kc")
    deal.play("9c", "Tc", "2c")
    assert deal.turn == 1, "the king of the remainder wins nothing"
    assert deal.batch.state.taken[0, 1] == parse_cards("9c Tc 2c Kc As")
    assert deal.points[1] == 1 + 3 + 3, "the trick, the king, A+2+T"
    deal.play("7h", "7s", "7d")
    assert deal.batch.state.taken[0, 1] == parse_cards("9c Tc 2c Kc As 7h 7s 7d")


# ---------------------------------------------------------------- 8.8


@pytest.mark.parametrize(
    ("trick", "points"),
    [
        ("Kc 2c 4c", 1 + 3),  # a king alone
        ("Qc Ac 3c", 1 + 3),  # Q and A
        ("6c 5c 2c", 1 + 3),
        ("8c 8d 2c", 1 + 1),
        ("8c 8d 8h", 1 + 1),  # exactly two of a rank: one pair of three
        ("7c 8c 9c", 1 + 1),
        ("Ac 2c 3d", 1 + 1),
        ("Tc Jc Qc", 1 + 1),
        ("Kc Qc Ac", 1 + 6),  # no straight, two thirteens
        ("Kc Ad 2c", 1 + 3),  # no K-A-2
        ("2c 4c 8d", 1),
        ("Kc *1 2c", 1 + 3 - 4),
        ("*1 *2 7c", 1 - 8),
        ("Qc *1 Ac", 1 + 3 - 4),
    ],
)
def test_8_8_worth_of_a_trick(trick: str, points: int) -> None:
    cards = trick.split()
    others = ("2s", "2h", "2d")  # one other of another suit in each hand
    deal = Deal(AUTO, *(f"{a} {b}" for a, b in zip(cards, others, strict=True) if a != b))
    deal.play(*cards)
    assert deal.points[deal.turn] == points


def test_8_8_melds_are_of_this_trick_only() -> None:
    """The second trick's J does not meet the first trick's 2."""
    deal = Deal(AUTO, "9c Jd", "2c 3d", "5c 5h").play("9c", "2c", "5c")
    assert deal.points == [1, 0, 0]
    deal.play("Jd", "3d", "5h")
    assert deal.points == [1 + 1, 3, 3]


def test_8_8_jokers_of_the_remainder_cost() -> None:
    hands = ("9c 7d", "Tc 7h", "2c 7s")
    for aside, cost in ((True, -4), (False, 0)):
        rules = replace(AUTO, aside_jokers=aside)
        deal = Deal(rules, *hands, remainder="Qs *2", starter="Qs").play("9c", "Tc", "2c")
        assert deal.points[1] == 1 + cost
        assert deal.batch.state.jokers[0, 1] == int(aside)


def test_8_8_null_is_worth_three_at_the_end() -> None:
    deal = Deal(AUTO, "9c 6d", "Tc 4h", "2c 5s").play("9c", "Tc", "2c")
    assert deal.points == [0, 1, 0]
    deal.play("4h", "5s", "6d")
    assert deal.points == [3, 1 + 1 + 1, 3], "two tricks and 4-5-6"
    assert deal.turn == -1
    assert deal.batch.state.places[0].tolist() == [0, 0, 0]


def test_8_8_trick_without_points_is_no_null() -> None:
    """A player stuck at zero or below keeps that."""
    deal = Deal(AUTO, "Ac", "*1", "9d").play("Ac", "*1", "9d")
    assert deal.points == [3, -3, 3]
    assert deal.batch.state.places[0].tolist() == [0, 2, 0]


# ---------------------------------------------------------------- 8.9


def finish(scores: list[int], target: int = 50, episode: str = "game") -> Deal:
    """A deal of one trick: seat 0 gets 1 + 3 points of it and the others null, on top of scores."""
    rules = replace(AUTO, target=target)
    deal = Deal(rules, "Kc", "2c", "4c", episode=episode, reward="win")
    deal.batch.state.scores[0] = scores
    return deal.play("Kc", "2c", "4c")


def test_8_9_unique_highest_at_the_target_wins() -> None:
    deal = finish([46, 40, 46])
    assert deal.batch.state.scores[0].tolist() == [50, 43, 49]
    assert deal.turn == -1
    assert deal.rewards.tolist() == [1, -1, -1]


def test_8_9_below_the_target_plays_on() -> None:
    deal = finish([45, 40, 40])
    assert deal.batch.state.round[0] == 1
    assert deal.turn == 1, "the deal passes"
    assert deal.rewards.tolist() == [0, 0, 0]


def test_8_9_tie_for_first_plays_on_with_all() -> None:
    deal = finish([46, 47, 10])
    assert deal.batch.state.scores[0].tolist() == [50, 50, 13]
    assert deal.batch.state.round[0] == 1
    assert (deal.batch.state.num_cards_left[0] > 0).all(), "third place is still in"


def test_8_9_a_tie_behind_the_first_does_not_matter() -> None:
    deal = finish([50, 50, 50])
    assert deal.batch.state.scores[0].tolist() == [54, 53, 53]
    assert deal.turn == -1


def test_8_9_other_targets_and_single_deals() -> None:
    assert finish([6, 0, 0], target=10).turn == -1
    assert finish([6, 0, 0], target=11).turn == 1
    assert finish([0, 0, 0], target=0).turn == -1, "no target: a game is one deal"
    assert finish([0, 0, 0], episode="round").turn == -1


# ---------------------------------------------------------------- 8.10


def test_8_10_dummy_has_a_fourth_hand() -> None:
    for jokers in range(3):
        batch = Batch(replace(DUMMY, jokers=jokers), 100)
        batch.reset(0)
        assert (batch.state.num_cards_left == 13).all()
        assert (np.bitwise_count(batch.state.dummy) == 12).all(), "one is flipped"
        assert (np.bitwise_count(batch.state.remainder) == jokers).all()
        union = np.bitwise_or.reduce(batch.state.hands, axis=1) | batch.state.shown | batch.state.dummy
        assert (union == full_deck(jokers)).all()


@pytest.mark.parametrize("num_players", range(4, 8))
def test_8_10_three_players_only(num_players: int) -> None:
    with pytest.raises(RulesError, match="dummy"):
        ThirteensRules(num_players=num_players, dummy=True)


def test_8_10_its_card_binds_nobody_and_wins_nothing() -> None:
    deal = Deal(DUMMY, "9c 7d", "Tc 7h", "2c 7s", dummy="Ac")
    assert deal.legal == {"9c", "7d"}
    deal.play("9c", "Tc", "2c")
    assert deal.turn == 1
    assert deal.points[1] == 1 + 3, "A+2+T"
    assert deal.batch.state.taken[0, 1] == parse_cards("Ac 9c Tc 2c")


def test_8_10_joker_of_the_dummy_is_no_trump_and_costs() -> None:
    deal = Deal(DUMMY, "9c 7d", "Tc 7h", "2c 7s", dummy="*1")
    deal.play("9c")
    assert deal.legal == {"Tc"}
    deal.play("Tc", "2c")
    assert deal.turn == 1
    assert deal.points[1] == 1 - 4


def test_8_10_joker_of_the_dummy_costs_even_if_those_of_the_remainder_do_not() -> None:
    rules = replace(DUMMY, aside_jokers=False)
    deal = Deal(rules, "9c 7d", "Tc 7h", "2c 7s", dummy="*1", remainder="*2").play("9c", "Tc", "2c")
    assert deal.points[1] == 1 - 4
    assert deal.batch.state.taken[0, 1] == parse_cards("9c Tc 2c *1 *2")


def test_8_10_one_card_a_trick_each_as_likely() -> None:
    batch = Batch(DUMMY, 13_000)
    batch.reset(0)
    before = batch.state.dummy.copy()
    rng = np.random.default_rng(0)
    places: Counter[int] = Counter()
    while not (batch.state.turn < 0).any():
        tricks = batch.state.num_tricks[0]
        batch.step(batch.sample(rng))
        if batch.state.num_tricks[0] > tricks and tricks == 0:
            flipped = before & ~batch.state.dummy
            assert (np.bitwise_count(flipped) == 1).all()
            places.update(np.bitwise_count(before & (flipped - 1)).tolist())
    assert (batch.state.dummy == 0).all()
    assert max(abs(n - 13_000 / 12) for n in places.values()) < 5 * (13_000 / 12) ** 0.5
    assert len(places) == 12


# ---------------------------------------------------------------- 8.11


def test_8_11_automatic_melds_are_the_best() -> None:
    deal = Deal(DUMMY, "3c 7d", "5c 7h", "Tc 7s", dummy="5s").play("3c", "5c", "Tc")
    assert deal.points[2] == 1 + 4, "T+3 and 5 5, not 3+5+5"
    state = deal.batch.state
    assert [x[0, 2] for x in (state.thirteens, state.pairs, state.straights)] == [1, 1, 0]


def test_8_11_manual_melds_one_after_another() -> None:
    rules = replace(DUMMY, melding="manual")
    deal = Deal(rules, "3c 7d", "5c 7h", "Tc 7s", dummy="5s").play("3c", "5c", "Tc")
    assert (deal.turn, deal.points[2]) == (2, 1)
    assert deal.legal == {"end", "meld T+3", "meld 5+5+3", "meld 5 5"}
    deal.refused("7s", "melded before the next lead", "8.8")
    deal.refused("meld K", "does not hold it", "8.8")
    deal.play("meld 5 5")
    assert deal.points[2] == 2
    assert deal.legal == {"end", "meld T+3"}
    deal.play("meld T+3")
    assert (deal.turn, deal.points[2]) == (2, 5)
    assert deal.legal == {"7s"}, "nothing is left to meld, so the next trick begins"
    deal.refused("end", "only the winner of a trick melds", "8.8")


def test_8_11_manual_greed_and_an_early_end_cost_points() -> None:
    rules = replace(DUMMY, melding="manual")
    greedy = Deal(rules, "3c 7d", "5c 7h", "Tc 7s", dummy="5s").play("3c", "5c", "Tc", "meld 5+5+3")
    assert (greedy.points[2], greedy.legal) == (4, {"7s"})
    early = Deal(rules, "3c 7d", "5c 7h", "Tc 7s", dummy="5s").play("3c", "5c", "Tc", "end")
    assert (early.points[2], early.legal) == (1, {"7s"})


def test_8_11_nothing_to_meld_asks_nothing() -> None:
    deal = Deal(MANUAL, "2c 7d", "4c 7h", "8c 7s").play("2c", "4c", "8c")
    assert deal.legal == {"7s"}


def test_8_11_manual_last_trick() -> None:
    """The deal ends after the last trick's melds, nulls included."""
    deal = Deal(MANUAL, "Kc", "2c", "4c").play("Kc", "2c", "4c")
    assert (deal.turn, deal.points) == (0, [1, 0, 0])
    deal.play("meld K")
    assert (deal.turn, deal.points) == (-1, [4, 3, 3])


# ---------------------------------------------------------------- 8.12

CASES = [
    ThirteensRules(num_players=p, jokers=j, melding=m, dummy=d)  # type: ignore[arg-type]
    for (p, d), j, m in product(
        [(3, False), (3, True), (4, False), (5, False), (6, False), (7, False)], (0, 1, 2), ("auto", "manual")
    )
]
NUM_DEALS = 3_000  # of each of the 36 variants


@pytest.mark.parametrize(
    "rules", CASES, ids=lambda r: f"{r.num_players}{'d' if r.dummy else ''}-{r.jokers}-{r.melding}"
)
def test_8_12_sum_of_scores_and_no_card_is_lost(rules: ThirteensRules) -> None:
    batch = Batch(rules, NUM_DEALS)
    batch.reset(8)
    rng = np.random.default_rng(12)
    state = batch.state
    won = np.zeros((NUM_DEALS, rules.num_players))
    step = 0
    while not (state.turn < 0).all():
        if step % 9 == 0:
            seen = state.hands.sum(axis=1) + state.played.sum(axis=1) + state.dummy + state.shown
            assert (seen == full_deck(rules.jokers)).all(), "every card is in one place"
        won += batch.step(batch.sample(rng))[0]
        step += 1
    assert (state.played.sum(axis=1) + state.shown == full_deck(rules.jokers)).all()
    assert (state.taken.sum(axis=1) == full_deck(rules.jokers)).all(), "every card is taken once"
    tricks, thirteens, pairs, straights, jokers = (
        getattr(state, name).sum(axis=1) for name in ("tricks", "thirteens", "pairs", "straights", "jokers")
    )
    nulls = (state.tricks == 0).sum(axis=1)
    assert (tricks == rules.hand_size).all()
    assert (jokers == rules.jokers).all()
    total = tricks + 3 * thirteens + pairs + straights - 4 * jokers + 3 * nulls
    assert (state.points.sum(axis=1) == total).all()
    assert (state.scores == state.points).all()
    assert (won == state.points).all()
    if rules.melding == "auto":
        assert (thirteens >= 4).all(), "every king is a thirteen"


def test_8_12_enough_deals() -> None:
    assert NUM_DEALS * len(CASES) >= 100_000


def test_presets() -> None:
    for name, rules in PRESETS.items():
        assert rules.name == name
    assert ThirteensRules(num_players=6, jokers=2).name == "thirteens"
    assert ThirteensRules(num_players=3, dummy=True, jokers=0).name == "thirteens_dummy"
    assert ThirteensRules(target=60).name.startswith("custom-")
    digests = {rules.digest() for rules in CASES}
    assert len(digests) == len(CASES)


# ---------------------------------------------------------------- beside the clauses


@pytest.mark.parametrize("rules", CASES[::7], ids=lambda r: f"{r.num_players}-{r.jokers}-{r.melding}")
@pytest.mark.parametrize("reward", ["points", "zero_sum", "win"])
def test_no_honest_deal_brings_less_than_the_worst(rules: ThirteensRules, reward: Any) -> None:
    batch = Batch(rules, 500, reward=reward)
    batch.reset(1)
    rng = np.random.default_rng(1)
    total = np.zeros((500, rules.num_players))
    while not (batch.state.turn < 0).all():
        total += batch.step(batch.sample(rng))[0]
    assert total.min() >= worst_reward(rules, reward)
    if reward == "zero_sum":
        assert (total.sum(axis=1) == 0).all(), "exactly"


@pytest.mark.parametrize(
    "rules", [r for r in CASES if r.melding == "auto"][::4], ids=lambda r: f"{r.num_players}"
)
def test_every_card_goes_everywhere_as_often(rules: ThirteensRules) -> None:
    """Card × place counts over 20,000 deals: hands, the dummy's and the remainder."""
    num_deals = 20_000
    batch = Batch(rules, num_deals)
    batch.deal(10**15 + np.arange(num_deals))
    state = batch.state
    flipped = state.shown & ~state.remainder
    places = np.column_stack([state.hands, state.dummy | flipped, state.remainder])
    bits = (places[:, :, None] >> np.arange(rules.num_cards) & 1).sum(axis=0)  # (P + 2, C)
    sizes = np.bitwise_count(places[0])
    assert bits.sum() == num_deals * rules.num_cards
    for count, size in zip(bits, sizes, strict=True):
        share = size / rules.num_cards
        spread = (num_deals * share * (1 - share)) ** 0.5
        assert np.abs(count - num_deals * share).max() <= 5 * spread
