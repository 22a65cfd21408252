"""Bad input of every kind: a clear typed error, and the state is bitwise as it was."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.plays import action_to_cards, cards_to_action, mask_of
from tests.tienlen_env.games.tienlen.test_engine_oracle import CUSTOM
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.errors import IllegalPlayError, InvalidComboError, NotationError, RulesError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_env.single.game import Game
from tienlen_env.single.tienlen import Cards, Round

B = 4
Call = Callable[[Batch], Any]


def batch_in_play(backend: Any = "numba", **kwargs: Any) -> Batch:
    batch = Batch("foicica", B, history=2, backend=backend, **kwargs)
    batch.deal(np.arange(B))
    rng = np.random.default_rng(0)
    for _ in range(5):
        batch.step(batch.sample(rng))
    return batch


def legal(batch: Batch) -> np.ndarray:
    return batch.sample(np.random.default_rng(1))


def unharmed(batch: Batch, call: Call, errors: Any) -> str:
    before = batch.state.rows.copy()
    with pytest.raises(errors) as caught:
        call(batch)
    assert np.array_equal(batch.state.rows, before)
    return str(caught.value)


# ---------------------------------------------------------------- batches

BAD_INTS: dict[str, Any] = {
    "too few": [0] * (B - 1),
    "too many": [0] * (B + 1),
    "one number": 0,
    "two axes": [[0]] * B,
    "floats": [0.0] * B,
    "bools": [False] * B,
    "text": ["0"] * B,
    "nothing": None,
    "ragged": [[0], [0, 1], 0, 0],
    "complex": [0j] * B,
    "dates": np.zeros(B, "M8[s]"),
    "empty": [],
}
INT_ARGUMENTS: dict[str, Callable[[Batch, Any], Any]] = {
    "step": lambda batch, bad: batch.step(bad),
    "step cards": lambda batch, bad: batch.step(legal(batch), bad) if bad is not None else batch.step(None),
    "deal": lambda batch, bad: batch.deal(bad),
    "action_to_cards": lambda batch, bad: batch.action_to_cards(bad),
}


@pytest.mark.parametrize("bad", BAD_INTS)
@pytest.mark.parametrize("method", INT_ARGUMENTS)
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_arrays_of_the_wrong_kind(method: str, bad: str, backend: str) -> None:
    call = INT_ARGUMENTS[method]
    unharmed(batch_in_play(backend), lambda batch: call(batch, BAD_INTS[bad]), ValueError)


@pytest.mark.parametrize("bad", [bad for bad in BAD_INTS if bad != "one number"])
@pytest.mark.parametrize("method", ["rounds", "leader", "seats", "leader of hands"])
def test_broadcast_arguments_of_the_wrong_kind(method: str, bad: str) -> None:
    value = BAD_INTS[bad]
    if method == "seats" and value is None:
        return  # None is the seat to act
    call: Call = {
        "rounds": lambda b: b.deal(np.arange(B), rounds=value),
        "leader": lambda b: b.deal(np.arange(B), leader=value),
        "seats": lambda b: b.observe(value),
        "leader of hands": lambda b: b.set_hands(some_hands(), leader=value),
    }[method]
    unharmed(batch_in_play(), call, ValueError)


def some_hands() -> np.ndarray:
    return np.array([[1 << (13 * seat + b) for seat in range(4)] for b in range(B)])


@pytest.mark.parametrize("value", [-2, 4, 10**9, -(2**63), 2**63 - 1])
def test_seats_out_of_range(value: int) -> None:
    batch = batch_in_play()
    unharmed(batch, lambda b: b.observe(value), ValueError)
    unharmed(batch, lambda b: b.deal(np.arange(B), leader=value), ValueError)
    unharmed(batch, lambda b: b.set_hands(some_hands(), leader=value), ValueError)


@pytest.mark.parametrize("value", [-1, -2, 994, 10**6, 2**31, 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_actions_out_of_range(value: int, backend: str) -> None:
    for game in range(B):

        def step(batch: Batch, game: int = game) -> None:
            ids = legal(batch)
            ids[game] = value
            batch.step(ids)

        message = unharmed(batch_in_play(backend), step, IllegalPlayError)
        assert f"game {game}: action {value}" in message
    unharmed(batch_in_play(backend), lambda b: b.action_to_cards([value] * B), ValueError)


def test_cards_that_are_not_in_the_hand() -> None:
    batch = batch_in_play()
    ids = legal(batch)
    for wrong in (1 << 52, -1, 1 << 63 - 1, FULL_DECK):
        unharmed(batch, lambda b, w=wrong: b.step(ids, np.full(B, w)), IllegalPlayError)
    foreign = batch.action_to_cards(ids) | batch.state.hands[np.arange(B), (batch.state.turn + 1) % 4]
    unharmed(batch, lambda b: b.step(ids, foreign), IllegalPlayError)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_stepping_a_finished_game(backend: Any) -> None:
    batch = Batch("cardgames", B, backend=backend)
    unharmed(batch, lambda b: b.step(np.zeros(B, np.int64)), IllegalPlayError)  # not dealt yet
    batch.deal(np.arange(B))
    rng = np.random.default_rng(0)
    while not (batch.state.turn < 0).all():
        batch.step(batch.sample(rng))
    assert (batch.sample(rng) == NO_ACTION).all()
    assert not batch.action_mask().any()
    assert not batch.observe().any()
    assert len(batch.list_legal().action) == 0
    for action in (0, 1, 452, 453, -2):
        message = unharmed(batch, lambda b, a=action: b.step(np.full(B, a)), IllegalPlayError)
        assert "game 0 is over" in message
    unharmed(batch, lambda b: b.action_to_cards(np.zeros(B, np.int64)), ValueError)
    before = batch.state.rows.copy()
    rewards, dones = batch.step(np.full(B, NO_ACTION))
    assert not rewards.any()
    assert not dones.any()
    assert np.array_equal(batch.state.rows, before)


HANDS: dict[str, Any] = {
    "a card twice": [[1, 1, 2, 4]] * B,
    "an empty hand": [[0, 1, 2, 4]] * B,
    "too many cards": [[(1 << 14) - 1, 1 << 20, 1 << 21, 1 << 22]] * B,
    "a 53rd card": [[1 << 52, 1, 2, 4]] * B,
    "negative": [[-1, 1, 2, 4]] * B,
    "too few players": [[1, 2, 4]] * B,
    "too many players": [[1, 2, 4, 8, 16]] * B,
    "too few games": [[1, 2, 4, 8]],
    "floats": [[1.0, 2, 4, 8]] * B,
    "text": [["3s", "3c", "3d", "3h"]] * B,
    "nothing": None,
    "huge": np.full((B, 4), 2**64 - 1, np.uint64),
}


@pytest.mark.parametrize("name", HANDS)
def test_impossible_hands(name: str) -> None:
    unharmed(batch_in_play(), lambda b: b.set_hands(HANDS[name]), TienLenError)


def array_of(shape: Any, dtype: Any) -> np.ndarray:
    return np.zeros(shape, dtype)


def buffers(batch: Batch) -> dict[str, tuple[tuple[int, ...], Any, Call]]:
    """Every buffer that a caller may provide: its shape, its type, and a call with it."""
    a, o, s = batch.num_actions, batch.observation_size, batch.global_observation_size
    rng = np.random.default_rng(3)

    def step(name: str) -> Any:
        return lambda b, out: b.step(legal(b), **{name: out})

    def next_actions(b: Batch, out: Any) -> Any:
        return b.step(legal(b), next_actions=out)

    def step_games(b: Batch, out: Any) -> Any:
        return b.step_games([1], legal(b)[[1]], out)

    def draws(b: Batch, out: Any) -> Any:
        return b.step(legal(b), next_actions=np.zeros(B, np.int64), draws=out)

    return {
        "rewards": ((B, 4), np.float32, step("rewards")),
        "step_games rewards": ((B, 4), np.float32, step_games),
        "dones": ((B,), np.bool_, step("dones")),
        "mask": ((B, a), np.int8, step("mask")),
        "observation": ((B, o), np.uint8, step("observation")),
        "next_actions": ((B,), np.int64, next_actions),
        "draws": ((B,), np.float64, draws),
        "action_mask": ((B, a), np.int8, lambda b, out: b.action_mask(out)),
        "observe": ((B, o), np.uint8, lambda b, out: b.observe(out=out)),
        "global_observation": ((B, s), np.uint8, lambda b, out: b.global_observation(out)),
        "sample out": ((B,), np.int64, lambda b, out: b.sample(rng, out)),
        "sample draws": ((B,), np.float64, lambda b, out: b.sample(rng, None, out)),
    }  # type: ignore[return-value]


def read_only(shape: Any, dtype: Any) -> np.ndarray:
    out = np.zeros(shape, dtype)
    out.setflags(write=False)
    return out


BAD_BUFFERS: dict[str, Callable[[tuple[int, ...], Any], Any]] = {
    "a row too few": lambda shape, dtype: np.zeros((shape[0] - 1, *shape[1:]), dtype),
    "a row too many": lambda shape, dtype: np.zeros((shape[0] + 1, *shape[1:]), dtype),
    "a column too few": lambda shape, dtype: np.zeros((*shape[:-1], shape[-1] - 1), dtype),
    "an axis too many": lambda shape, dtype: np.zeros((*shape, 1), dtype),
    "flat": lambda shape, dtype: np.zeros(int(np.prod(shape)) + (len(shape) == 1), dtype),
    "another type": lambda shape, dtype: np.zeros(shape, np.int16),
    "wider": lambda shape, dtype: np.zeros(shape, np.float64 if dtype != np.float64 else np.complex128),
    "other bytes": lambda shape, dtype: np.zeros(shape, np.uint16).astype(">u2"),
    "not contiguous": lambda shape, dtype: np.zeros((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2],
    "backwards": lambda shape, dtype: np.zeros(shape, dtype)[::-1],
    "read-only": read_only,
    "a list": lambda shape, dtype: np.zeros(shape, dtype).tolist(),
    "a number": lambda shape, dtype: 0,
    "text": lambda shape, dtype: "out",
}


@pytest.mark.parametrize("bad", BAD_BUFFERS)
@pytest.mark.parametrize("name", list(buffers(Batch("foicica", B, history=2))))
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_buffers_that_do_not_fit(name: str, bad: str, backend: str) -> None:
    batch = batch_in_play(backend)
    shape, dtype, call = buffers(batch)[name]
    out = BAD_BUFFERS[bad](shape, dtype)
    unharmed(batch, lambda b: call(b, out), ValueError)  # type: ignore[call-arg]
    call(batch, np.zeros(shape, dtype))  # type: ignore[call-arg]


@pytest.mark.parametrize("games", [3, 3.5, [[0, 1]], [0.5], ["0"], [B], [-B - 1], [True, False], None])
def test_selections_that_cannot_be(games: Any) -> None:
    for look in (Batch.select, View):
        # `View(batch, None)` is of all games.
        if look is Batch.select or games is not None:
            assert "games" in unharmed(batch_in_play(), lambda b, look=look: look(b, games), ValueError)


def test_selections_of_nothing() -> None:
    batch = batch_in_play()
    assert batch.select([]).num_games == len(View(batch, [])) == len(View(batch, copy=False, games=[])) == 0
    before = batch.state.rows.copy()
    batch.step_games([], [], np.zeros((B, 4), np.float32))
    assert np.array_equal(batch.state.rows, before)


BAD_GAMES: dict[str, tuple[Any, str]] = {
    "one too high": ([0, B], "expected 0..3, got 0..4"),
    "far too high": ([10**6], "expected 0..3"),
    "very far too high": ([10**12], "expected 0..3"),
    "negative": ([-1, 0], "expected 0..3, got -1..0"),
    "very negative": ([-(10**12)], "expected 0..3"),
    "the lowest": ([-(2**63)], "expected 0..3"),
    "unsigned": (np.array([2**64 - 1], np.uint64), "expected 0..3"),
    "beyond 64 bits": ([2**64], "expected integers"),
    "floats": ([0.0], r"expected integers of shape \(1,\), got float64"),
    "bools": ([True], r"expected integers of shape \(1,\), got bool"),
    "a mask": (np.arange(B) > 1, r"expected integers of shape \(4,\), got bool"),
    "text": (["0"], "expected integers"),
    "nothing": (None, "expected integers"),
    "one number": (0, r"expected shape \(n,\), got \(\)"),
    "two axes": ([[0], [1]], r"expected shape \(n,\), got \(2, 1\)"),
}


@pytest.mark.parametrize("bad", BAD_GAMES)
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_games_that_are_not_there(bad: str, backend: str) -> None:
    """Compiled code checks no index: what gets so far reads and writes memory that is not the batch's."""
    games, told = BAD_GAMES[bad]
    batch, rewards = batch_in_play(backend), np.zeros((B, 4), np.float32)
    actions = np.zeros(np.shape(games), np.int64)
    calls: list[Call] = [lambda b: b.step_games(games, actions, rewards)]
    if games is not None:  # a view of all games
        calls.append(lambda b: View(b, games, copy=False))
    for call in calls:
        assert re.search(f"^games: {told}", unharmed(batch, call, ValueError))
    assert not rewards.any()


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_games_that_come_twice(backend: str) -> None:
    batch, rewards = batch_in_play(backend), np.zeros((B, 4), np.float32)
    ids = legal(batch)
    told = unharmed(batch, lambda b: b.step_games([2, 0, 2], ids[[2, 0, 2]], rewards), ValueError)
    assert told == "games: expected no game twice"
    assert len(View(batch, copy=False, games=np.array([2, 0, 2]))) == 3  # looking does no harm


@pytest.mark.parametrize("bad", [name for name in BAD_INTS if name != "empty"])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_step_games_with_actions_that_do_not_fit(bad: str, backend: str) -> None:
    rewards = np.zeros((B, 4), np.float32)
    unharmed(batch_in_play(backend), lambda b: b.step_games(np.arange(B), BAD_INTS[bad], rewards), ValueError)
    assert not rewards.any()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64, np.dtype(">i8")])
def test_step_games_takes_integers_of_any_width(dtype: Any) -> None:
    one, other = batch_in_play(), batch_in_play()
    ids, games = legal(one), np.array([3, 1])
    found, wanted = np.zeros((2, B, 4), np.float32)
    one.step_games(games, ids[games], wanted)
    other.step_games(np.repeat(games, 2).astype(dtype)[::2], ids[games].astype(np.int64), found)
    assert np.array_equal(one.state.rows, other.state.rows)
    assert np.array_equal(found, wanted)


class Answers:
    """An agent that answers what it was given."""

    name = "odd"

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer = answer

    def reset(self, seed: int) -> None:
        pass

    def act(self, view: View) -> Any:
        return self.answer(len(view))


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.zeros(n - 1, np.int64),
        lambda n: np.zeros((n, 1), np.int64),
        np.zeros,
        lambda n: np.zeros(n, np.bool_),
        lambda n: 0,
        lambda n: None,
    ],
    ids=["too few", "two axes", "floats", "bools", "one number", "nothing"],
)
def test_opponents_that_answer_what_is_no_action(answer: Any, pool: bool) -> None:
    agent = Answers(answer)
    games = OneSeatGames("cardgames", 50, opponents=[agent, agent] if pool else agent)
    with pytest.raises(ValueError, match="agent 'odd': expected integers of shape"):
        games.reset(1)


@pytest.mark.parametrize("name", ["observation", "mask"])
@pytest.mark.parametrize("bad", BAD_BUFFERS)
def test_one_seat_buffers_that_do_not_fit(name: str, bad: str) -> None:
    games = OneSeatGames("cardgames", B)
    games.reset(1)
    batch = games.batch
    fit = {
        "observation": np.zeros((B, batch.observation_size), np.uint8),
        "mask": np.zeros((B, batch.num_actions), np.int8),
    }
    games.observe(**fit)
    with pytest.raises(ValueError, match=f"{name}: expected a contiguous, writeable"):
        games.observe(**{**fit, name: BAD_BUFFERS[bad](fit[name].shape, fit[name].dtype)})


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_games": 0},
        {"num_games": -1},
        {"num_games": 1.0},
        {"num_games": True},
        {"num_games": None},
        {"auto_reset": 2**63},
        {"auto_reset": 1},
        {"num_players": 1},
        {"num_players": 5},
        {"num_players": "4"},
        {"num_players": 3.0},
        {"episode": "match"},
        {"episode": None},
        {"reward": "money"},
        {"reward": 0},
        {"history": -1},
        {"history": 257},
        {"history": 1.0},
        {"history": True},
        {"backend": "jax"},
        {"backend": None},
        {"threads": 0},
        {"threads": True},
        {"rules": "poker"},
        {"rules": None},
        {"rules": 4},
    ],
)
def test_settings_that_cannot_be(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        Batch(**kwargs)


def test_random_steps_never_harm() -> None:
    """Any int64 as an action: legal ones move every game, anything else moves none."""
    rng = random.Random(4)
    batch = Batch("cardgames", 2, auto_reset=True)
    batch.deal(np.arange(2))
    moved = 0
    for step in range(2000):
        mask, before = batch.action_mask(), batch.state.rows.copy()
        ids = batch.sample(np.random.default_rng(step)).tolist()
        for b in range(2):
            if rng.random() < 0.4:
                wild = (rng.randrange(453), rng.randrange(6), rng.getrandbits(63), -rng.randrange(9))
                ids[b] = rng.choice(wild)
        is_legal = all(0 <= i < 453 and mask[b, i] for b, i in enumerate(ids))
        try:
            batch.step(np.array(ids))
        except IllegalPlayError:
            assert not is_legal
            assert np.array_equal(batch.state.rows, before)
        else:
            assert is_legal
            moved += 1
    assert 400 < moved < 1600


# ---------------------------------------------------------------- rounds and games


def in_play(seed: int = 0, rules: Any = "cardgames") -> Round:
    round_, rng = Round(rules, key=seed), random.Random(seed)
    for _ in range(seed % 30):
        if round_.is_over:
            break
        round_.play(rng.choice(round_.legal_plays()))
    return round_


def round_unharmed(round_: Round, call: Callable[[], Any], errors: Any) -> None:
    rows, plays = round_._rows.copy(), list(round_._plays)
    with pytest.raises(errors):
        call()
    assert np.array_equal(round_._rows, rows)
    assert round_._plays == plays


WRONG_TYPES = (None, 1.0, 1.5, [1], (1, 2), b"3s", {}, object(), 1j)


@pytest.mark.parametrize("wrong", WRONG_TYPES, ids=lambda wrong: type(wrong).__name__)
def test_plays_of_the_wrong_type(wrong: Any) -> None:
    round_ = in_play(3)
    round_unharmed(round_, lambda: round_.play(wrong), (TypeError, ValueError))
    with pytest.raises((TypeError, ValueError)):
        Cards(wrong)
    with pytest.raises((TypeError, ValueError)):
        round_.hand(wrong)


@pytest.mark.parametrize("text", ["3", "3x", "1s", "3s3", "3s 3s", "--", "♠3", "0", "3s,4", "\0", "é"])
def test_plays_that_are_no_cards(text: str) -> None:
    round_ = in_play(3)
    round_unharmed(round_, lambda: round_.play(text), NotationError)


@pytest.mark.parametrize("mask", [-1, 1 << 52, 1 << 200, -(1 << 63)])
def test_masks_that_are_no_cards(mask: int) -> None:
    round_ = in_play(3)
    round_unharmed(round_, lambda: round_.play(mask), ValueError)
    with pytest.raises(ValueError, match="mask"):
        action_to_cards("cardgames", mask, 1)
    with pytest.raises(InvalidComboError):
        cards_to_action("cardgames", mask)


@pytest.mark.parametrize("name", [*PRESETS, *CUSTOM])
def test_random_sets_of_cards(name: str) -> None:
    rng = random.Random(name)
    rules = PRESETS[name] if name in PRESETS else CUSTOM[name]
    for seed in range(25):
        round_ = in_play(seed, rules)
        legal_masks = {int(p) for p in round_.legal_plays(exact=True)}
        for _ in range(20):
            mask = mask_of(rng.sample(range(52), rng.randrange(6)))
            if mask not in legal_masks:
                round_unharmed(
                    round_, lambda r=round_, m=mask: r.play(Cards(m)), (IllegalPlayError, InvalidComboError)
                )


@pytest.mark.parametrize("action", [-1, 453, 10**9])
def test_an_action_out_of_range(action: int) -> None:
    round_ = in_play(5)
    round_unharmed(round_, lambda: round_.play(action), ValueError)


def test_playing_on_after_the_end() -> None:
    round_ = Round.from_hands("cardgames", ["3s", "4s"])
    round_.play("3s")
    for cards in ("4s", "", "3s", "3s 3c"):
        round_unharmed(round_, lambda c=cards: round_.play(c), IllegalPlayError)
    round_unharmed(round_, round_.pass_, IllegalPlayError)
    round_unharmed(round_, lambda: round_.play(0), IllegalPlayError)
    round_unharmed(round_, lambda: round_.play("3s 4s"), InvalidComboError)
    assert round_.legal_plays() == []


@pytest.mark.parametrize(
    "hands",
    [
        ["3s"],
        ["3s"] * 2,
        ["3s", ""],
        ["3s", "4s", "5s", "6s", "7s"],
        ["3s", 1 << 52],
        ["3s", -1],
        ["3s", None],
        ["3s", 4.0],
        "3s4s",
        ["3s", "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2s 3c"],
        ["3s", (1 << 15) - 2],
        ["3s", "xx"],
        [],
    ],
    ids=repr,
)
def test_rounds_from_impossible_hands(hands: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Round.from_hands("cardgames", hands)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"key": 2**64},
        {"key": -(2**63) - 1},
        {"key": 1.0},
        {"key": "1"},
        {"key": True},
        {"round_index": -1},
        {"round_index": 2**31},
        {"round_index": 1.5},
        {"round_index": "0"},
        {"leader": -1},
        {"leader": 4},
        {"leader": 0.5},
        {"leader": "0"},
        {"num_players": 1},
        {"rules": "poker"},
        {"backend": "cuda"},
    ],
    ids=repr,
)
def test_rounds_that_cannot_be(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        Round(**{"key": 1, **kwargs})
    if set(kwargs) <= {"key", "num_players", "rules", "backend"}:
        with pytest.raises(ValueError, match=next(iter(kwargs))):
            Game(**{"key": 1, **kwargs})


# ---------------------------------------------------------------- records

LETTERS = "3456789TJQKA2scdh -=/.:#p0123456789abcdef\t\n\r,10♠é\u2028\x00xkeyhandslead"


def mutated(rng: random.Random, text: str) -> str:
    """A few random edits: replace, drop, insert, swap, double, cut."""
    chars = list(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(chars) + 1)
        kind = rng.randrange(6)
        if kind == 0 and at < len(chars):
            chars[at] = rng.choice(LETTERS)
        elif kind == 1:
            del chars[at : at + rng.choice((1, 1, 2, 5))]
        elif kind == 2:
            chars.insert(at, rng.choice(LETTERS))
        elif kind == 3 and at + 1 < len(chars):
            chars[at], chars[at + 1] = chars[at + 1], chars[at]
        elif kind == 4:
            chars[at:at] = chars[at : at + rng.randint(1, 12)]
        elif kind == 5 and rng.random() < 0.3:
            del chars[at:]
    return "".join(chars)


def points_into(error: NotationError, text: str) -> None:
    assert 1 <= error.column <= len(text) + 1, (text, str(error))
    assert str(error).startswith(f"column {error.column}: ")


def some_records() -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    rng = random.Random(0)
    for name, rules in {**PRESETS, **CUSTOM}.items():
        for i, steps in enumerate((0, 7, 999)):
            round_ = Round(rules, key=i * 77, leader=(None, 1, 0)[i])
            if i == 1:
                round_ = Round.from_hands(rules, [round_.hand(s) for s in range(4)])
            for _ in range(steps):
                if round_.is_over:
                    break
                round_.play(rng.choice(round_.legal_plays()))
            lines.append((round_.record(), rules if name in CUSTOM else None))
    return lines


@pytest.mark.parametrize("part", range(4))
def test_corrupt_records(part: int) -> None:
    """A mutated record is a valid record, or an error with a column in the text; nothing else ever."""
    rng = random.Random(part)
    records = some_records()
    valid = refused = 0
    for _ in range(400):
        line, rules = rng.choice(records)
        text = mutated(rng, line)
        try:
            round_ = Round.from_record(text, rules)
        except NotationError as error:
            points_into(error, text)
            refused += 1
        else:
            valid += 1
            again = Round.from_record(round_.record(), rules)
            assert again.record() == round_.record()
            assert np.array_equal(again._rows, round_._rows)
    assert min(valid, refused) > 10


@pytest.mark.parametrize("part", range(2))
def test_corrupt_game_records(part: int) -> None:
    rng = random.Random(part)
    game = Game("cardgames", key=part)
    while len(game.records) < 2:
        game.play(rng.choice(game.legal_plays()))
    for _ in range(60):
        text = mutated(rng, game.record())
        try:
            again = Game.from_record(text)
        except NotationError as error:
            points_into(error, max([*text.splitlines(), ""], key=len))
        else:
            assert Game.from_record(again.record()).record() == again.record()


@pytest.mark.parametrize(
    "wrong", [None, 3, b"tienlen/1", ["tienlen/1"], object()], ids=lambda w: type(w).__name__
)
def test_records_that_are_no_text(wrong: Any) -> None:
    for read in (Round.from_record, Game.from_record):
        with pytest.raises(NotationError) as caught:
            read(wrong)
        assert caught.value.column == 1


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "\r", "\t", "\n\n\n", "\x00", "tienlen", "=", ":", "-" * 1000]
)
def test_records_that_are_next_to_nothing(text: str) -> None:
    for read in (Round.from_record, Game.from_record):
        with pytest.raises(NotationError) as caught:
            read(text)
        assert 1 <= caught.value.column <= len(text) + 1


def test_custom_rules_that_do_not_fit_a_record() -> None:
    rules = CUSTOM["ladder"]
    line = Round(rules, key=1).record()
    with pytest.raises(NotationError, match="give rules="):
        Round.from_record(line)
    with pytest.raises(NotationError, match="digest"):
        Round.from_record(line, CUSTOM["no_bombs"])
    with pytest.raises(NotationError, match="other rules"):
        Round.from_record(Round("cardgames", key=1).record(), rules)
    with pytest.raises(RulesError):
        Round("cardgames", key=1, num_players=7)
