"""Properties that hold in every game, on games that hypothesis draws (the same ones every time)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.plays import mask_of
from tests.tienlen_env.games.tienlen.test_engine_oracle import CUSTOM
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.cards import FULL_DECK, card_ids
from tienlen_env.games.tienlen.rules import PRESETS, Rules
from tienlen_env.single.game import Game
from tienlen_env.single.tienlen import Round

KEYS = st.integers(-(2**63), 2**63 - 1)
SEEDS = st.integers(0, 2**32 - 1)
VARIANTS = {**PRESETS, **CUSTOM}
RULES = st.builds(
    lambda name, num_players: replace(VARIANTS[name], num_players=num_players),
    st.sampled_from(sorted(VARIANTS)),
    st.integers(2, 4),
)


@st.composite
def deals(draw: Any) -> tuple[Rules, list[int]]:
    """Rules and hands of any size."""
    rules = draw(RULES)
    deck = draw(st.permutations(range(52)))
    sizes = [draw(st.integers(1, 13)) for _ in range(rules.num_players)]
    ends = np.cumsum([0, *sizes])
    return rules, [mask_of(deck[a:b]) for a, b in pairwise(ends)]


def play_on(round_: Round, rng: np.random.Generator, num_plays: int, *, exact: bool = False) -> Round:
    for _ in range(num_plays):
        if round_.is_over:
            break
        plays = round_.legal_plays(exact=exact)
        round_.play(plays[rng.integers(len(plays))])
    return round_


def total(round_: Round) -> list[int]:
    seats = range(round_.rules.num_players)
    return [int(round_.hand(s)) for s in seats] + [int(round_.played(s)) for s in seats]


# ---------------------------------------------------------------- cards, masks, places


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=60)
def test_cards_are_conserved(rules: Rules, key: int, seed: int) -> None:
    batch = Batch(rules, 1, episode="game")
    batch.deal(np.array([key]))
    rng = np.random.default_rng(seed)
    for _ in range(120):
        row = batch.state.rows[0]
        parts = [*row[:5].tolist(), *row[8:12].tolist()]
        assert sum(parts) == FULL_DECK, "every card is in one place"
        assert sum(int(p).bit_count() for p in parts) == 52
        ids = batch.sample(rng)
        if ids[0] == NO_ACTION:
            break
        batch.step(ids)


@given(deal=deals(), seed=SEEDS, num_plays=st.integers(0, 30))
@settings(max_examples=60)
def test_every_true_action_is_accepted_and_every_false_one_refused(
    deal: tuple[Rules, list[int]], seed: int, num_plays: int
) -> None:
    rules, hands = deal
    batch = Batch(rules, 1)
    batch.set_hands(np.array([hands]))
    rng = np.random.default_rng(seed)
    for _ in range(num_plays):
        ids = batch.sample(rng)
        if ids[0] == NO_ACTION:
            break
        batch.step(ids)
    mask, before = batch.action_mask()[0], batch.state.rows.copy()
    assert bool(mask.any()) is not bool((batch.state.turn < 0)[0])
    allowed = np.flatnonzero(mask)
    copies = batch.select(np.zeros(max(len(allowed), 1), np.int64))
    if len(allowed):
        copies.step(allowed)
        assert (copies.state.rows != before).any(axis=1).all()
    for action in np.flatnonzero(mask == 0):
        with pytest.raises(IllegalPlayError):
            batch.step(np.array([action]))
    for action in (-2, batch.num_actions, 10**12):
        with pytest.raises(IllegalPlayError):
            batch.step(np.array([action]))
    assert np.array_equal(batch.state.rows, before)


@given(deal=deals(), seed=SEEDS)
@settings(max_examples=150)
def test_order_of_finishing_is_the_order_of_places(deal: tuple[Rules, list[int]], seed: int) -> None:
    rules, hands = deal
    assume(not rules.has_payments)  # instant wins, cóng and penalties decide places there (4.9, 4.14, 4.18)
    round_ = Round.from_hands(rules, hands)
    rng = np.random.default_rng(seed)
    emptied: list[int] = []
    while not round_.is_over:
        seat = round_.turn
        plays = round_.legal_plays()
        round_.play(plays[rng.integers(len(plays))])
        if not round_.hand(seat):
            emptied.append(seat)
        assert [round_.places[s] for s in emptied] == list(range(len(emptied)))
        held = [s for s in range(rules.num_players) if round_.hand(s)]
        assert round_.turn in held or round_.is_over
    places = list(round_.places)
    assert sorted(places) == list(range(rules.num_players))  # type: ignore[type-var]
    assert round_.scores == tuple(rules.place_points[p] for p in places)  # type: ignore[index]
    knocked_out = rules.num_players - len(emptied) - 1
    assert knocked_out == 0 or rules.knockout == "round"


@given(rules=RULES, key=KEYS, seed=SEEDS, scheme=st.sampled_from(("zero_sum", "cards")))
@settings(max_examples=60)
def test_zero_sum_rewards_sum_to_zero(rules: Rules, key: int, seed: int, scheme: Any) -> None:
    batch = Batch(rules, 4, reward=scheme)
    batch.deal(np.array([key ^ i for i in range(4)]))
    rng = np.random.default_rng(seed)
    sums = np.zeros((4, rules.num_players))
    while not (batch.state.turn < 0).all():
        rewards, _ = batch.step(batch.sample(rng))
        sums += rewards
        if scheme == "cards":
            assert (rewards.sum(axis=1) == 0).all(), "in every step: the others pay the first one"
    assert np.allclose(sums.sum(axis=1), 0, atol=1e-5)


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=40)
def test_rewards_are_paid_when_places_settle(rules: Rules, key: int, seed: int) -> None:
    batch = Batch(rules, 3)
    batch.deal(np.array([key, ~key, key ^ 1]))
    rng = np.random.default_rng(seed)
    while not (batch.state.turn < 0).all():
        before = batch.state.places.copy()
        rewards, dones = batch.step(batch.sample(rng))
        settled = (before < 0) & (batch.state.places >= 0)
        points = np.array(rules.place_points)[batch.state.places]
        assert np.array_equal(rewards, np.where(settled, points, 0))
        assert (dones <= (batch.state.turn < 0)).all()
    assert np.array_equal(batch.scores, np.array(rules.place_points)[batch.state.places])


# ---------------------------------------------------------------- records, keys, backends


@given(rules=RULES, key=KEYS, seed=SEEDS, num_plays=st.integers(0, 200), leader=st.none() | st.integers(0, 1))
@settings(max_examples=60)
def test_round_records_are_read_back_exactly(
    rules: Rules, key: int, seed: int, num_plays: int, leader: int | None
) -> None:
    round_ = Round(rules, key, leader=leader, round_index=seed % 5)
    play_on(round_, np.random.default_rng(seed), num_plays, exact=seed % 2 == 0)
    again = Round.from_record(round_.record(), rules)
    assert np.array_equal(again._rows, round_._rows)
    assert again.record() == round_.record()
    assert (again.rules, again.key, again.places) == (rules, key, round_.places)


@given(deal=deals(), seed=SEEDS, num_plays=st.integers(0, 60))
@settings(max_examples=60)
def test_records_of_given_hands_are_read_back_exactly(
    deal: tuple[Rules, list[int]], seed: int, num_plays: int
) -> None:
    rules, hands = deal
    round_ = play_on(Round.from_hands(rules, hands), np.random.default_rng(seed), num_plays)
    again = Round.from_record(round_.record(), rules)
    assert np.array_equal(again._rows, round_._rows)
    assert again.record() == round_.record()
    assert again.key is None


@given(rules=RULES, key=KEYS, seed=SEEDS, num_plays=st.integers(0, 900))
@settings(max_examples=15)
def test_game_records_are_read_back_exactly(rules: Rules, key: int, seed: int, num_plays: int) -> None:
    game, rng = Game(rules, key), np.random.default_rng(seed)
    for _ in range(num_plays):
        if game.is_over:
            break
        plays = game.legal_plays()
        game.play(plays[rng.integers(len(plays))])
    again = Game.from_record(game.record(), rules)
    assert again.record() == game.record()
    assert (again.scores, again.is_over, again.winner) == (game.scores, game.is_over, game.winner)
    assert np.array_equal(again.round._rows, game.round._rows)


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=30)
def test_same_key_same_game_on_each_backend(rules: Rules, key: int, seed: int) -> None:
    rounds = [Round(rules, key, backend=backend) for backend in ("python", "numba")]  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    for _ in range(30):
        first, second = (r.legal_plays(exact=True) for r in rounds)
        assert first == second
        assert [p.action for p in first] == [p.action for p in second]
        if not first:
            break
        chosen = first[rng.integers(len(first))]
        for round_ in rounds:
            round_.play(chosen)
        assert np.array_equal(rounds[0]._rows, rounds[1]._rows)


@given(key=KEYS)
def test_signed_and_unsigned_keys_are_one(key: int) -> None:
    assert Round("cardgames", key).record() == Round("cardgames", key % 2**64).record()


# ---------------------------------------------------------------- copies


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=30)
def test_copies_and_selections_are_independent(rules: Rules, key: int, seed: int) -> None:
    batch = Batch(rules, 5, episode="game", history=2)
    batch.deal(np.array([key + i if key < 0 else key - i for i in range(5)]))
    rng = np.random.default_rng(seed)
    for _ in range(seed % 40):
        batch.step(batch.sample(rng))
    games = rng.integers(0, 5, 7)
    before, copy, some = batch.state.rows.copy(), batch.copy(), batch.select(games)
    assert np.array_equal(copy.state.rows, before)
    assert np.array_equal(some.state.rows, before[games])
    for _ in range(5):
        copy.step(copy.sample(rng))
        some.step(some.sample(rng))
    assert np.array_equal(batch.state.rows, before)
    assert some.num_games == 7
    batch.reset(0)
    assert not np.array_equal(batch.state.rows, copy.state.rows)
    after = copy.state.rows.copy()
    batch.step(batch.sample(rng))
    assert np.array_equal(copy.state.rows, after)


# ---------------------------------------------------------------- what a seat can see


def redealt(batch: Batch, b: int, seat: int, rng: np.random.Generator) -> Batch:
    """The game with all cards that `seat` cannot see dealt anew, hand sizes kept."""
    new = batch.select([b])
    row = new.state.rows[0]
    others = [s for s in range(5) if s != seat and (s == 4 or s < batch.num_players)]
    unseen = rng.permutation([c for s in others for c in card_ids(int(row[s]))]).tolist()
    for s in others:
        size = int(row[s]).bit_count()
        row[s] = mask_of(unseen[:size])
        unseen = unseen[size:]
    return new


ARRAYS = (
    "seat",
    "observation",
    "action_mask",
    "num_legal",
    "hand",
    "played",
    "num_cards_left",
    "scores",
    "places",
    "table_action",
    "table_cards",
    "table_owner",
)


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=80)
def test_nothing_hidden_is_seen(rules: Rules, key: int, seed: int) -> None:
    """Re-dealing the unseen cards changes neither the observation nor anything in a `View`."""
    batch = Batch(rules, 2, episode="game", history=4)
    batch.deal(np.array([key, ~key]))
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(0, 80))):
        batch.step(batch.sample(rng))
    for b in range(2):
        for seat in range(rules.num_players):
            other = redealt(batch, b, seat, rng)
            assert np.array_equal(other.observe(seat)[0], batch.observe(seat)[b])
        turn = int(batch.state.turn[b])
        if turn < 0:
            continue
        view, blind = View(batch, [b]), View(redealt(batch, b, turn, rng))
        for name in ARRAYS:
            assert np.array_equal(getattr(view, name), getattr(blind, name)), name
        for one, two in zip(view.legal_actions, blind.legal_actions, strict=True):
            assert np.array_equal(one, two)
        assert np.array_equal(view.sample(np.random.default_rng(1)), blind.sample(np.random.default_rng(1)))


@given(rules=RULES, key=KEYS, seed=SEEDS)
@settings(max_examples=40)
def test_relative_seats_of_a_view(rules: Rules, key: int, seed: int) -> None:
    num_players = rules.num_players
    batch = Batch(rules, 6, episode="game")
    batch.deal(np.array([key ^ i for i in range(6)]))
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(0, 60))):
        batch.step(batch.sample(rng))
    playing = np.flatnonzero(~(batch.state.turn < 0))
    view, state = View(batch, playing), batch.state
    assert len(view) == len(playing)
    batch.copy().step(batch.sample(rng))
    for i, b in enumerate(playing.tolist()):
        turn = int(state.turn[b])
        order = [(turn + k) % num_players for k in range(num_players)]
        assert view.seat[i] == turn
        assert view.hand[i] == state.hands[b, turn]
        assert view.played[i].tolist() == [state.played[b, s] for s in order]
        assert view.num_cards_left[i].tolist() == [int(state.hands[b, s]).bit_count() for s in order]
        assert view.scores[i].tolist() == [state.scores[b, s] for s in order]
        assert view.places[i].tolist() == [state.places[b, s] for s in order]
        owner = int(state.owner[b])
        assert view.table_owner[i] == (-1 if owner < 0 else order.index(owner))
        assert view.table_cards[i] == state.table_cards[b]
        assert view.table_action[i] == state.table[b]
    assert view.num_cards_left[:, 0].tolist() == np.bitwise_count(view.hand).tolist()


def test_a_view_does_not_follow_the_batch() -> None:
    batch = Batch("cardgames", 3)
    batch.deal(np.arange(3))
    view = View(batch)
    seat = view.seat
    batch.step(batch.sample(np.random.default_rng(0)))
    assert np.array_equal(view.seat, seat)
    assert (view.table_action == 0).all()
    view.seat[:] = 9
    assert np.array_equal(view.seat, seat)


def test_a_view_in_place_shows_the_same() -> None:
    batch = Batch("foicica", 12, history=3)
    batch.deal(np.arange(12))
    rng = np.random.default_rng(1)
    for _ in range(20):
        batch.step(batch.sample(rng))
    games = rng.permutation(np.flatnonzero(~(batch.state.turn < 0)))
    copied, in_place = View(batch, games), View(batch, games, copy=False)
    for one, other in ((copied, in_place), (copied.select([2, 0]), in_place.select([2, 0]))):
        assert len(one) == len(other)
        assert np.array_equal(one.games, other.games)
        for name in (*ARRAYS, "public_rows"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        for mine, theirs in zip(one.legal_actions, other.legal_actions, strict=True):
            assert np.array_equal(mine, theirs)
    same, indices = in_place.source
    assert same is batch
    assert indices is games
