"""The backends agree bit for bit, and each with an independent reference.

The plain Python backend defines; the compiled one must give the same rows, masks, observations and rewards.
The primitives, the deal and the observation have references of their own here, written another way.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numba
import numpy as np
import pytest

from tests.app_rules import APP_RULES
from tests.plays import mask_of
from tests.tienlen_env.games.tienlen.test_engine_oracle import CUSTOM, rare_hands
from tienlen_env.engine.backends import compiler, get_backend, jit
from tienlen_env.engine.backends.per_game import FINISHED, PAID, REFUSED, Turn
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common import bits
from tienlen_env.games.common.cards import FULL_DECK
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import PRESETS, Rules, get_rules

MIN64, MAX64 = -(1 << 63), (1 << 63) - 1


def signed(x: int) -> int:
    return x - (x >> 63 << 64)


# ---------------------------------------------------------------- whole games


def fill(batch: Batch, seed: int) -> None:
    """Half of the games from keys, half from hands with many bombs, all with the same settings."""
    rng = random.Random(seed)
    n = batch.num_games // 2
    keys = np.array([rng.randrange(MIN64, MAX64) for _ in range(batch.num_games)])
    batch.deal(keys, leader=np.arange(batch.num_games) % (batch.num_players + 1) - 1)
    some = batch.select(np.arange(n))
    rules = cast(Rules, batch.rules)
    hands = [rare_hands(rng, batch.num_players, rules.deck_mask, rules.cards_each) for _ in range(n)]
    some.set_hands(np.array(hands))
    some.state.key[:] = keys[:n]
    batch.state.rows[:n] = some.state.rows


def same(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype
    assert np.array_equal(a, b)


def play_side_by_side(first: Batch, second: Batch, num_steps: int, seed: int) -> int:
    """Compare everything that two batches say while they play; returns the number of games that ended."""
    fill(first, seed)
    fill(second, seed)
    rng = np.random.default_rng(seed)
    shape = (first.num_games, first.num_actions), (first.num_games, first.observation_size)
    masks = [np.full(shape[0], 7, np.int8) for _ in range(2)]
    views = [np.full(shape[1], 7, np.uint8) for _ in range(2)]
    ended = 0
    for step in range(num_steps):
        same(first.state.rows, second.state.rows)
        ids = first.sample(np.random.default_rng(step))
        same(ids, second.sample(np.random.default_rng(step)))
        assert ((ids == NO_ACTION) == (first.state.turn < 0)).all()
        if (ids == NO_ACTION).all():
            break
        legal = first.list_legal()
        for a, b in zip(legal, second.list_legal(), strict=True):
            same(a, b)
        if step % 3 == 0:
            same(first.action_mask(), second.action_mask())
            same(first.count_legal(), second.count_legal())
            seats = rng.integers(-1, first.num_players, first.num_games)
            same(first.observe(), second.observe())
            same(first.observe(seats), second.observe(seats))
            same(first.global_observation(), second.global_observation())
            assert first.action_mask().sum() == len(legal.action)
        cards = None
        if not (first.state.turn < 0).any():
            same(first.action_to_cards(ids), second.action_to_cards(ids))
            cards = first.action_to_cards(ids) if step % 2 else None
        rewards, dones = first.step(ids, cards, mask=masks[0], observation=views[0])
        other_rewards, other_dones = second.step(ids, cards, mask=masks[1], observation=views[1])
        same(rewards, other_rewards)
        same(dones, other_dones)
        same(masks[0], masks[1])
        same(views[0], views[1])
        same(masks[0], first.action_mask())
        same(views[0], first.observe())
        ended += int(dones.sum())
    same(first.state.rows, second.state.rows)
    return ended


SETTINGS = list(product(("round", "game"), ("points", "zero_sum", "win", "cards"), (0, 3)))
# Any two values of two settings are in one of them; a preset has all, with some number of players.
PAIRS = [SETTINGS[i] for i in (0, 3, 4, 7, 9, 10, 13, 14)]


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", PRESETS)
def test_numba_equals_python(name: str, num_players: int) -> None:
    ended = 0
    for i, (episode, reward, history) in enumerate(PAIRS):
        if i % 3 != num_players % 3:
            continue
        kwargs: dict[str, Any] = {
            "num_players": num_players,
            "episode": episode,
            "reward": reward,
            "history": history,
            "auto_reset": i < 4,
        }
        batches = [Batch(name, 2, backend=backend, **kwargs) for backend in ("python", "numba")]
        ended += play_side_by_side(*batches, num_steps=80, seed=i)
    assert ended > 0


@pytest.mark.parametrize("num_games", [2, pytest.param(6, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", [*CUSTOM, *APP_RULES])
def test_numba_equals_python_under_custom_rules(name: str, num_games: int) -> None:
    rules = {**CUSTOM, **APP_RULES}[name]
    batches = [
        Batch(rules, num_games, episode="game", auto_reset=True, history=5, backend=backend)  # type: ignore[arg-type]
        for backend in ("python", "numba")
    ]
    play_side_by_side(*batches, num_steps=120, seed=3)


@pytest.mark.nightly
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", [*PRESETS, *CUSTOM])
def test_numba_equals_python_for_long(name: str, num_players: int) -> None:
    rules = replace(PRESETS[name] if name in PRESETS else CUSTOM[name], num_players=num_players)
    for i, (episode, reward, history) in enumerate(SETTINGS):
        batches = [
            Batch(
                rules, 12, episode=episode, reward=reward, history=history, auto_reset=True, backend=backend
            )  # type: ignore[arg-type]
            for backend in ("python", "numba")
        ]
        play_side_by_side(*batches, num_steps=200, seed=100 + i)


@pytest.mark.parametrize("name", PRESETS)
def test_two_threads_equal_one(name: str) -> None:
    kwargs: dict[str, Any] = {"history": 2, "auto_reset": True}
    ended = play_side_by_side(Batch(name, 257, **kwargs), Batch(name, 257, threads=2, **kwargs), 90, 8)
    assert ended > 0


def test_auto_reset_deals_from_the_next_key() -> None:
    """A game that ends starts anew from its key plus the odd step, with empty scores and an opening."""
    for backend in ("python", "numba"):
        batch = Batch("cardgames", 5, auto_reset=True, backend=backend)  # type: ignore[arg-type]
        keys = np.array([0, 1, -1, MAX64, MIN64])
        batch.deal(keys)
        rng = np.random.default_rng(0)
        count = np.zeros(5, np.int64)
        for _ in range(250):
            _, dones = batch.step(batch.sample(rng))
            count += dones
            if dones.any():
                fresh = Batch("cardgames", 5, backend="python")
                expected = [
                    signed((int(k) + int(c) * bits.KEY_STEP) % 2**64)
                    for k, c in zip(keys, count, strict=True)
                ]
                fresh.deal(np.array(expected))
                same(batch.state.rows[dones], fresh.state.rows[dones])
        assert (count > 1).all()
        assert bits.KEY_STEP % 2 == 1


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_refusals_are_the_same(backend: str) -> None:
    batch = Batch("foicica", 3, backend=backend)  # type: ignore[arg-type]
    batch.deal(np.arange(3))
    before = batch.state.rows.copy()
    ids = batch.sample(np.random.default_rng(0))
    for bad in (-1, 0, batch.num_actions, 2**62, MIN64, MAX64):
        wrong = ids.copy()
        wrong[1] = bad
        with pytest.raises(ValueError, match="game 1"):
            batch.step(wrong)
        same(batch.state.rows, before)


# ---------------------------------------------------------------- loops for single games and some games


@pytest.mark.parametrize("name", PRESETS)
def test_play_one_does_what_step_does(name: str) -> None:
    batch = Batch(name, 6, reward="zero_sum", history=2)
    fill(batch, 5)
    rng = np.random.default_rng(2)
    for step in range(100):
        ids = batch.sample(rng)
        playing = np.flatnonzero(ids >= 0)
        if not len(playing):
            break
        before = batch.state.rows.copy()
        rewards, _ = batch.step(ids)
        b = int(playing[step % len(playing)])
        for backend in (get_backend("python", batch.game), get_backend("numba", batch.game)):
            row, gained = before[b].copy(), np.full(batch.num_players, 9, np.float32)
            mask, view = np.empty(batch.num_actions, np.int8), np.empty(batch.observation_size, np.uint8)
            args = (*batch.kernel_arrays[1:], gained, mask, view)
            assert backend.play_one(row, *args, batch.num_actions) == REFUSED
            same(row, before[b])
            found = backend.play_one(row, *args, int(ids[b]))
            turn = int(batch.state.turn[b])
            assert found == (FINISHED if turn < 0 else turn) + PAID * bool(gained.any())
            same(row, batch.state.rows[b])
            same(gained, rewards[b])
            same(mask, batch.action_mask()[b])
            same(view, batch.observe()[b])


def play_through(game: Batch, action: int, seat: int, skip: bool, cut: bool) -> tuple[np.ndarray, int]:
    """What `step_games` does to one game, by single steps: its rewards and the turn that it reports."""
    total = np.zeros(game.num_players, np.float32)
    while True:
        total += game.step(np.array([action]))[0][0]
        turn, is_forced = int(game.state.turn[0]), game.count_legal()[0] == 1
        if turn < 0 or (cut and game.state.places[0, seat] >= 0):
            return total, Turn.OVER
        if turn == seat and not (skip and is_forced):
            return total, Turn.ASKED
        if not is_forced:
            return total, turn
        action = int(game.list_legal().action[0])


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_step_games_plays_on_through_forced_decisions(name: str, skip: bool, cut: bool) -> None:
    batch = Batch(name, 6, reward="points", history=2, episode="game")
    fill(batch, 5)
    rng = np.random.default_rng(2)
    seats = np.arange(6) % batch.num_players
    for step in range(40):
        ids = batch.sample(rng)
        playing = np.flatnonzero(ids >= 0)
        if not len(playing):
            break
        games = np.ascontiguousarray(rng.permutation(playing)[: 1 + step % 5])
        expected, rewards = batch.state.rows.copy(), np.ones((6, batch.num_players), np.float32)
        turns = np.zeros(len(games), np.int64)
        for i, b in enumerate(games.tolist()):
            one = batch.select([b])
            gained, turns[i] = play_through(one, int(ids[b]), int(seats[b]), skip, cut)
            rewards[b] += gained
            expected[b] = one.state.rows[0]
        bad = ids[games]
        bad[-1] = batch.num_actions
        for backend in (get_backend("python", batch.game), get_backend("numba", batch.game)):
            rows, found, out = batch.state.rows.copy(), np.ones_like(rewards), np.full(len(games), 9)
            args = (rows, *batch.kernel_arrays[1:], games)
            assert backend.step_games(*args, bad, seats, skip, cut, found, out) == len(games) - 1
            same(rows, batch.state.rows)
            assert backend.step_games(*args, ids[games], seats, skip, cut, found, out) == -1
            same(rows, expected)
            same(found, rewards)
            same(out, turns)
        batch.state.rows[:] = expected


def test_a_batch_plays_on_from_choice_to_choice() -> None:
    batch, rng = Batch("cardgames", 20), np.random.default_rng(4)
    batch.reset(4)
    rewards = np.zeros((20, 4), np.float32)
    while len(games := np.flatnonzero(batch.state.turn >= 0)):
        ids, before = batch.sample(rng)[games], batch.state.rows.copy()
        refused = np.append(ids[:-1], batch.num_actions)
        with pytest.raises(IllegalPlayError, match=f"game {games[-1]}: action .* is not legal"):
            batch.step_games(games, refused, rewards)
        same(batch.state.rows, before)
        batch.step_games(games, ids, rewards)
        assert (batch.count_legal()[batch.state.turn >= 0] > 1).all()
    assert np.array_equal(np.sort(rewards, axis=1), np.tile([0, 1, 2, 3], (20, 1)))
    with pytest.raises(IllegalPlayError, match="game 3 is over"):
        batch.step_games([3], [0], rewards)


# ---------------------------------------------------------------- primitives


def compiled(function: Any) -> Any:
    """The function as compiled code calls it, from int64 arguments."""
    compiler.register(function)

    @numba.njit
    def call(*args):  # type: ignore[no-untyped-def]
        return function(*args)

    def run(*args: int) -> Any:
        found = call(*(np.int64(a) for a in args))
        return tuple(map(int, found)) if isinstance(found, tuple) else int(found)

    return run


def words(seed: int, count: int = 200) -> list[int]:
    rng = random.Random(seed)
    edges = [
        0,
        1,
        2,
        3,
        -1,
        -2,
        MIN64,
        MIN64 + 1,
        MAX64,
        MAX64 - 1,
        FULL_DECK,
        FULL_DECK << 11,
        1 << 62,
        ~1 << 50,
    ]
    return edges + [signed(rng.getrandbits(64) & (rng.getrandbits(64) | -(i % 2))) for i in range(count)]


def naive_bits(x: int) -> list[int]:
    return [i for i in range(64) if x >> i & 1]


def test_popcount_and_indices() -> None:
    popcount, low, high = map(compiled, (bits.popcount, bits.lowest_index, bits.highest_index))
    for x in words(1):
        found = naive_bits(x)
        assert bits.popcount(x) == popcount(x) == len(found)
        if x:
            assert bits.lowest_index(x) == low(x) == found[0]
        if x > 0:
            assert bits.highest_index(x) == high(x) == found[-1]


def test_nth_index() -> None:
    nth = compiled(bits.nth_index)
    for x in words(2):
        for n, index in enumerate(naive_bits(x)):
            assert bits.nth_index(x, n) == nth(x, n) == index


def test_shifts_and_sums_wrap() -> None:
    left, right, add = map(compiled, (bits.shift_left, bits.shift_right, bits.add))
    some = words(3, 60)
    for x in some:
        for n in range(64):
            assert bits.shift_left(x, n) == left(x, n) == signed((x << n) % 2**64)
            if n:
                assert bits.shift_right(x, n) == right(x, n) == (x % 2**64) >> n
        for y in some:
            assert bits.add(x, y) == add(x, y) == signed((x + y) % 2**64)


def test_wrap_is_a_remainder() -> None:
    wrap = compiled(bits.wrap)
    for n in range(1, 9):
        for x in range(2 * n):
            assert bits.wrap(x, n) == wrap(x, n) == x % n


def test_write_word() -> None:
    @jit.loop
    def write(out, start, word):  # type: ignore[no-untyped-def]
        bits.write_word(out, start, word)

    for x in words(4, 50):
        for dtype in (np.uint8, np.int8):
            out, other = np.full(80, 9, dtype), np.full(80, 9, dtype)
            bits.write_word(out, 7, x)
            write(other, 7, x)
            same(out, other)
            assert out.tolist() == [9] * 7 + [x >> i & 1 for i in range(64)] + [9] * 9


def random_hands(seed: int) -> list[int]:
    rng = random.Random(seed)
    edges = [0, 1, FULL_DECK, bits.LOWEST_SUIT, 15 << 48, FULL_DECK >> 4]
    return edges + [mask_of(rng.sample(range(52), rng.randint(1, 52))) for _ in range(300)]


def test_lowest_of_rank_and_ranks_of() -> None:
    lowest, ranks = compiled(bits.lowest_of_rank), compiled(bits.ranks_of)
    for hand in random_hands(5):
        at = [[c for c in range(4 * r, 4 * r + 4) if hand >> c & 1] for r in range(13)]
        assert bits.lowest_of_rank(hand) == lowest(hand) == mask_of(held[0] for held in at if held)
        assert bits.ranks_of(hand) == ranks(hand) == mask_of(4 * r for r in range(13) if at[r])


def test_squeeze() -> None:
    """The tops of sets of n, in order: rank by rank its 5 - n highest suits."""
    squeeze = compiled(bits.squeeze)
    for hand in random_hands(6):
        for width in (1, 2, 3, 4):
            tops = [c for c in range(52) if c % 4 >= width - 1]
            expected = sum(1 << i for i, card in enumerate(tops) if hand >> card & 1)
            only_tops = hand & mask_of(tops)
            assert bits.squeeze(only_tops, width) == squeeze(only_tops, width) == expected


def philox_reference(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """Philox4x32-10 with all four counter words, from the paper's definition of a round."""
    x, k = list(counter), list(key)
    for i in range(10):
        if i:
            k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
        high_0, low_0 = divmod(0xD2511F53 * x[0], 2**32)
        high_1, low_1 = divmod(0xCD9E8D57 * x[2], 2**32)
        x = [high_1 ^ x[1] ^ k[0], low_1, high_0 ^ x[3] ^ k[1], low_0]
    return tuple(x)


ONES = 0xFFFFFFFF
KNOWN_ANSWERS = [  # Random123, kat_vectors, philox4x32-10
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_known_answers(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert philox_reference(counter, key) == expected
    if counter[3] == 0:  # the fourth word is fixed at 0
        assert bits.philox(0, 0, 0) == expected


def test_philox_equals_the_reference() -> None:
    fast = compiled(bits.philox)
    some = words(7, 80)
    for key, counter in zip(some, reversed(some), strict=True):
        for block in (0, 1, 12, ONES):
            halves = (counter & ONES, counter >> 32 & ONES, block, 0)
            expected = philox_reference(halves, (key & ONES, key >> 32 & ONES))
            assert bits.philox(key, counter, block) == fast(key, counter, block) == expected


def test_the_deal_equals_its_definition() -> None:
    """Card c goes to the place floor(word · (52 - c) / 2**32) of the places that are left."""
    rng = random.Random(8)
    for num_players in (2, 3, 4):
        batch = Batch("cardgames", 1, num_players=num_players)
        for _ in range(40):
            key, game_round = rng.randrange(MIN64, MAX64), rng.randrange(2**31)
            places = [seat for seat in range(num_players) for _ in range(13)] + [4] * (52 - 13 * num_players)
            hands = [0] * 5
            for card in range(52):
                halves = (game_round & ONES, game_round >> 32, card // 4, 0)
                word = philox_reference(halves, (key & ONES, key >> 32 & ONES))[card % 4]
                hands[places.pop(word * (52 - card) >> 32)] |= 1 << card
            batch.deal(np.array([key]), rounds=game_round)
            assert batch.state.rows[0, :5].tolist() == hands


# ---------------------------------------------------------------- the observation


def expected_observation(batch: Batch, b: int, seat: int) -> dict[str, np.ndarray]:
    """Every piece from the state, by its meaning; seat -1 sees nothing."""
    state, p, table = batch.state, batch.num_players, build_action_table(batch.rules)
    if seat < 0:
        return {name: np.zeros(piece.shape) for name, piece in batch.layout.items()}
    order = [(seat + i) % p for i in range(p)]

    def one_hot(size: int, *where: int) -> np.ndarray:
        out = np.zeros(size)
        out[list(where)] = 1
        return out

    def card_bits(mask: Any) -> list[int]:
        return [int(mask) >> c & 1 for c in range(52)]

    def thermometer(size: int, count: int) -> list[int]:
        return [int(k < count) for k in range(size)]

    def seats(mask: Any) -> list[int]:
        return [int(mask) >> s & 1 for s in order]

    def event(entry: int) -> list[int]:
        who = entry >> 52
        return card_bits(entry & FULL_DECK) + [int(who > 0 and s == who - 1) for s in order]

    action, owner = int(state.table[b]), int(state.owner[b])
    is_follow = action > 0
    bits_a_seat = batch.layout["scores"].shape[1] if "scores" in batch.layout else 0
    return {
        "hand": np.array(card_bits(state.hands[b, seat])),
        "played": np.array([card_bits(state.played[b, s]) for s in order]),
        "history": np.array([event(int(e)) for e in state.history[b]]),
        "scores": np.array([thermometer(bits_a_seat, int(state.scores[b, s])) for s in order]),
        "cards_left": np.array([thermometer(13, int(state.hands[b, s]).bit_count()) for s in order]),
        "table_top": one_hot(52, int(state.table_cards[b]).bit_length() - 1) if is_follow else np.zeros(52),
        "table_width": one_hot(4, int(table.width[action]) - 1) if is_follow else np.zeros(4),
        "table_length": one_hot(13, int(table.length[action]) - 1) if is_follow else np.zeros(13),
        "table_owner": one_hot(p, order.index(owner)) if is_follow else np.zeros(p),
        "passed": np.array(seats(state.passed[b])),
        "finished": np.array([int(state.places[b, s] >= 0) for s in order]),
        "barred": np.array(seats(state.knocked_out[b])),
        "suit_lock": np.array([int(state.lock[b])]),
        "opening_duty": np.array([int(state.required_card[b] != 0)]),
        "lead": np.array([int(not is_follow)]),
    }


OBSERVED = {
    **PRESETS,
    **{k: CUSTOM[k] for k in ("knockout_round", "ladder_foicica", "no_pass_lock_alone", "long_runs")},
    "far_target": Rules(target=1000, points=(9, 5, 1, -4)),
    "near_target": Rules(target=1),
}


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", OBSERVED)
def test_observation_equals_its_meaning(name: str, num_players: int) -> None:
    rules = OBSERVED[name]
    points = rules.points[: num_players - 1] + rules.points[-1:] if rules.points else ()
    rules = replace(rules, num_players=num_players, points=points)
    seen: set[str] = set()
    for history in (0, 1 if num_players == 3 else 5):
        batch = Batch(rules, 8, episode="game", history=history)
        fill(batch, history)
        rng = np.random.default_rng(history)
        for step in range(60):
            views = {seat: batch.observe(seat) for seat in range(-1, num_players)}
            everything = batch.global_observation()
            for b in range(step % 4, 8, 4):
                for seat, view in views.items():
                    for piece_name, expected in expected_observation(batch, b, seat).items():
                        if piece_name not in batch.layout:
                            assert expected.size == 0
                            continue
                        piece = batch.layout[piece_name]
                        found = view[b, piece.slice].reshape(piece.shape)
                        assert np.array_equal(found, expected), (piece_name, seat)
                        if found.any():
                            seen.add(piece_name)
                turn = [int(batch.state.turn[b] == s) for s in range(num_players)]
                hands = [int(h) >> c & 1 for h in batch.state.hands[b, 1:] for c in range(52)]
                assert everything[b].tolist() == views[0][b].tolist() + turn + hands
            ids = batch.sample(rng)
            if (ids == NO_ACTION).all():
                break
            batch.step(ids)
    never = {"barred": rules.knockout == "none", "suit_lock": not rules.flush_lock}
    never |= {"opening_duty": rules.opening_play == "free", "scores": not rules.target}
    assert {n for n, is_never in never.items() if is_never}.isdisjoint(seen)
    assert seen >= {"hand", "played", "history", "cards_left", "table_owner", "lead"}
    assert ("passed" in seen) >= (num_players > 2), "of two players none waits after a pass"


@pytest.mark.parametrize("history", [0, 7])
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", PRESETS)
def test_layout_fills_the_array(name: str, num_players: int, history: int) -> None:
    batch = Batch(get_rules(name, num_players), 1, history=history)
    end = 0
    for key, piece in batch.layout.items():
        assert piece.name == key
        assert piece.slice.start == end
        assert piece.slice.stop - end == np.prod(piece.shape) > 0
        end = piece.slice.stop
    assert end == batch.observation_size


# ---------------------------------------------------------------- choosing a backend


def test_unknown_backends_and_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="backend='cuda'"):
        Batch("cardgames", 1, backend="cuda")  # type: ignore[arg-type]
    for threads in (0, -1, True, 1.5, "2", 257, 10**6):
        with pytest.raises(ValueError, match="threads="):
            Batch("cardgames", 1, threads=threads)  # type: ignore[arg-type]


def test_sample_is_uniform_over_the_legal_actions() -> None:
    batch = Batch("cardgames", 20_000)
    batch.deal(np.zeros(20_000, np.int64))
    ids = batch.sample(np.random.default_rng(0))
    legal = np.flatnonzero(batch.action_mask()[0])
    count = np.bincount(ids, minlength=batch.num_actions)
    assert count.sum() == count[legal].sum()
    expected = 20_000 / len(legal)
    assert (np.abs(count[legal] - expected) < 5 * expected**0.5).all()


def test_the_largest_draw_stays_inside() -> None:
    for backend in ("python", "numba"):
        batch = Batch("cardgames", 3, backend=backend)  # type: ignore[arg-type]
        batch.deal(np.arange(3))
        out = np.empty(3, np.int64)
        batch.loops.sample(*batch.kernel_arrays[:2], np.full(3, np.nextafter(1, 0)), out)
        last = [np.flatnonzero(m)[-1] for m in batch.action_mask()]
        assert out.tolist() == last
