"""Deals of Thirteens from given hands: whole ones, endings, and what cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_env import thirteens_v0
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.bits import nth_index, philox
from tienlen_env.games.common.game import find_action
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.cards import full_deck, parse_cards
from tienlen_env.games.thirteens.rules import ThirteensRules

THREE = ThirteensRules(num_players=3, jokers=2)
DUMMY = ThirteensRules(num_players=3, jokers=1, dummy=True)
B = 4


def masks(*hands: str) -> list[int]:
    return [parse_cards(hand) for hand in hands]


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_a_dealt_deal_is_the_same_when_it_is_set(rules: ThirteensRules) -> None:
    dealt, given = Batch(rules, B), Batch(rules, B)
    dealt.deal(np.arange(B))
    state = dealt.state
    dummy = state.dummy | state.aside & ~state.remainder  # with the card that is flipped
    hidden = {"dummy": dummy, "remainder": state.remainder, "starter": state.starter}
    given.set_hands(state.hands, state.eldest, **hidden)
    columns = [c for c in range(R.LEGAL) if c not in (R.KEY, R.ROUND)]
    if rules.dummy:  # which card it flips follows from the key
        assert np.array_equal(given.state.hands, state.hands)
        assert np.array_equal(given.state.dummy | given.state.aside & ~given.state.remainder, dummy)
        given.state.rows[:] = dealt.state.rows
    rng = np.random.default_rng(0)
    while (state.turn >= 0).any():
        assert np.array_equal(given.state.rows[:, columns], dealt.state.rows[:, columns])
        actions = dealt.sample(rng)
        rewards = dealt.step(actions)[0]
        assert np.array_equal(given.step(actions)[0], rewards)
    assert np.array_equal(given.state.rows[:, columns], dealt.state.rows[:, columns])


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_the_last_tricks_by_hand(backend: Any) -> None:
    batch = Batch(THREE, 1, backend=backend)
    batch.set_hands([masks("Kc 2d", "Ac 9h", "3c *1")], leader=0)
    assert batch.state.shown[0] == full_deck(2) & ~parse_cards("Kc 2d Ac 9h 3c *1")
    for name in ("Kc", "Ac", "3c", "9h", "*1", "2d"):
        assert batch.state.turn[0] >= 0
        batch.step([find_action(batch.action_table, name)])
    # Seat 1 takes A K 3 (K); seat 2 trumps the 9 and the 2 with the joker; seat 0 has nothing.
    assert batch.state.turn[0] == -1
    assert batch.state.points[0].tolist() == [3, 1 + 3, 1 - 4]
    assert batch.state.places[0].tolist() == [1, 0, 2]


def test_the_remainder_binds_the_lead_and_goes_with_the_first_trick() -> None:
    batch = Batch(ThirteensRules(num_players=5, jokers=1), 1)
    hands = masks("3s 4d", "5s 6d", "7s 8d", "9s Td", "Js Qd")
    batch.set_hands([hands], 1, remainder=parse_cards("Kh 2d"), starter=parse_cards("2d"))
    assert np.flatnonzero(batch.action_mask()[0]).tolist() == [find_action(batch.action_table, "6d")]
    for name in ("6d", "8d", "Td", "Qd", "4d"):
        batch.step([find_action(batch.action_table, name)])
    assert batch.state.last_pile[0] == parse_cards("6d 8d Td Qd 4d Kh 2d")
    assert batch.state.last_winner[0] == 4


def test_the_dummy_gives_its_cards() -> None:
    batch = Batch(DUMMY, 1)
    batch.set_hands([masks("3s 4s", "5s 6s", "7s 8s")], 0, dummy=parse_cards("Kh Kd"))
    for name in ("3s", "5s", "7s", "8s", "4s", "6s"):
        batch.step([find_action(batch.action_table, name)])
    assert batch.state.thirteens[0].tolist() == [0, 0, 2]


def test_the_dummys_cards_follow_from_the_key() -> None:
    """Records hold the key alone. The random words of a deal are its first 16 blocks, then one a trick."""
    batch = Batch(DUMMY, 3, backend="python")
    batch.deal([5, 6, 7])
    keys, dummy = (
        batch.state.key.tolist(),
        (batch.state.dummy | batch.state.aside & ~batch.state.remainder).tolist(),
    )
    rng = np.random.default_rng(0)
    for trick in range(3):
        for game, key in enumerate(keys):
            n = philox(key, 0, 16 + trick)[0] * dummy[game].bit_count() >> 32
            flipped = 1 << nth_index(dummy[game], n)
            dummy[game] ^= flipped
            assert batch.state.dummy[game] == dummy[game]
            assert batch.state.aside[game] & flipped
        for _ in range(3):
            batch.step(batch.sample(rng))


def test_what_was_played_and_taken_begins_anew() -> None:
    """Two deals, of three tricks and of whole hands; then the game is over."""
    batch = Batch(THREE, 1, episode="game", num_rounds=2, backend="python")
    batch.set_hands([masks("3s 4s 2c", "5s 6s 2d", "7s 8s 2h")], leader=0)
    rng, held = np.random.default_rng(0), batch.state.hands[0].tolist()
    for num_left in (3, THREE.hand_size):
        for played in range(3 * num_left):
            left = batch.state.hands[0].tolist()
            assert batch.state.num_tricks[0] == THREE.hand_size - num_left + played // 3
            assert batch.state.played[0].tolist() == [a ^ b for a, b in zip(held, left, strict=True)]
            assert batch.state.turn[0] >= 0
            batch.step(batch.sample(rng))
        held = batch.state.hands[0].tolist()
    assert batch.state.turn[0] == -1


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a card twice": (masks("3s 4s", "5s 6s", "3s 7s"), {}, "in two hands"),
    "a card aside, too": (masks("3s", "5s", "6s"), {"dummy": masks("3s")}, "in two hands"),
    "another joker": (masks("3s", "5s", "*2"), {"dummy": masks("4s")}, "beyond the 53 cards"),
    "negative": ([1, 2, -1], {}, "beyond the 53 cards"),
    "no cards": ([0, 0, 0], {}, "equally many"),
    "one more": (masks("3s 4s", "5s 6s", "7s 8s 9s"), {"dummy": masks("Ts Js")}, "equally many"),
    "too many": ([(1 << 14) - 1, ((1 << 14) - 1) << 14, ((1 << 14) - 1) << 28], {}, "1 to 13"),
    "no dummy": (masks("3s", "5s", "6s"), {}, "dummy: expected as many"),
    "no starter": (masks("3s", "5s", "6s"), {"dummy": masks("4s"), "remainder": masks("Ks")}, "starter"),
    "a starter too many": (
        masks("3s", "5s", "6s"),
        {"dummy": masks("4s"), "starter": masks("Ks")},
        "starter",
    ),
    "a large remainder": (
        masks("3s", "5s", "6s"),
        {"dummy": masks("4s"), "remainder": masks("Ks Kh"), "starter": masks("Kh")},
        "at most 1",
    ),
    "too few players": (masks("3s", "5s"), {}, "shape"),
    "floats": ([1.0, 2.0, 4.0], {}, "integers"),
    "huge": (np.full(3, 2**64 - 1, np.uint64), {}, "beyond the 53 cards"),
    "a leader without a seat": (masks("3s", "5s", "6s"), {"dummy": masks("4s"), "leader": 3}, "leader"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    hands, others, message = REFUSED[name]
    batch = Batch(DUMMY, 1)
    batch.reset(1)
    before = batch.state.rows.copy()
    with pytest.raises(TienLenError, match=message):
        batch.set_hands(np.array([hands]), **others)
    assert np.array_equal(batch.state.rows, before)


def test_a_dummy_of_a_game_without_one_is_refused() -> None:
    with pytest.raises(TienLenError, match="no cards"):
        Batch(THREE).set_hands([masks("3s", "4s", "5s")], dummy=parse_cards("6s"))
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument .remainder.: expected cards that tienlen has: none"
    ):
        Batch("cardgames", num_players=3).set_hands([masks("3s", "4s", "5s")], remainder=parse_cards("6s"))


def test_several_deals_at_once_and_of_a_game() -> None:
    batch = Batch(THREE, 2, episode="game")
    batch.set_hands([masks("3s", "4s", "5s"), masks("Kh", "Qh", "Ah")], leader=[2, 1])
    assert batch.state.turn.tolist() == [2, 1]
    for names in (("5s", "Qh"), ("3s", "Ah"), ("4s", "Kh")):
        batch.step([find_action(batch.action_table, name) for name in names])
    assert (batch.state.num_cards_left == THREE.hand_size).all()  # the next deal
    assert batch.scores.tolist() == [[3, 3, 1 + 1], [3, 3, 1 + 6]]
    assert (batch.state.turn != NO_ACTION).all()


def test_the_environment_starts_from_hands() -> None:
    env = thirteens_v0.raw_env(num_players=5)
    hands = ["3s 4d", "5s 6d", "7s 8d", parse_cards("9s Td"), "Js Qd"]
    env.reset(options={"hands": hands, "leader": 1, "remainder": "2d", "starter": "2d"})
    assert env.agent_selection == "player_1"
    assert env.batch.state.hands[0].tolist() == [parse_cards(h) if isinstance(h, str) else h for h in hands]
    assert env.batch.state.aside[0] == parse_cards("2d")
    with pytest.raises(TienLenError):
        env.reset(options={"hands": hands[:4]})
