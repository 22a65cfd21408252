"""Thirteens: the backends agree bit for bit, bad input is refused, and views tell nothing that is hidden."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError, NotationError, RulesError
from tienlen_env.games.common.game import find_action
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import CARD_TEXT, format_cards, parse_cards
from tienlen_env.games.thirteens.observe import observation_layout
from tienlen_env.games.thirteens.rules import PRESETS, ThirteensRules
from tienlen_env.games.thirteens.spec import build_spec


def same(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype
    assert np.array_equal(a, b)


# ---------------------------------------------------------------- both backends


SETTINGS = list(product(("round", "game"), ("points", "zero_sum", "win")))


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_numba_equals_python(rules: ThirteensRules) -> None:
    num_games = 3
    for i, (episode, reward) in enumerate(SETTINGS[VARIANTS.index(rules) % 2 :: 2]):
        first, second = (
            Batch(rules, num_games, episode=episode, reward=reward, auto_reset=i % 2 == 0, backend=backend)  # type: ignore[arg-type]
            for backend in ("python", "numba")
        )
        shapes = (num_games, first.num_actions), (num_games, first.observation_size)
        masks = [np.full(shapes[0], 7, np.int8) for _ in range(2)]
        views = [np.full(shapes[1], 7, np.uint8) for _ in range(2)]
        for batch in (first, second):
            batch.deal(np.arange(num_games) + 1000 * i, leader=np.arange(num_games) - 1)
        rng = np.random.default_rng(i)
        for step in range(25):
            ids = first.sample(np.random.default_rng(step))
            same(ids, second.sample(np.random.default_rng(step)))
            if step % 5 == 0:
                for a, b in zip(first.list_legal(), second.list_legal(), strict=True):
                    same(a, b)
                same(first.count_legal(), second.count_legal())
                seats = rng.integers(-1, rules.num_players, num_games)
                same(first.observe(seats), second.observe(seats))
                same(first.global_observation(), second.global_observation())
            results = [
                batch.step(ids, mask=mask, observation=view)
                for batch, mask, view in zip((first, second), masks, views, strict=True)
            ]
            same(results[0][0], results[1][0])
            same(results[0][1], results[1][1])
            same(masks[0], masks[1])
            same(views[0], views[1])
            same(masks[0], first.action_mask())
            same(views[0], first.observe())
            same(first.state.rows, second.state.rows)


def test_threads_do_not_matter() -> None:
    batches = [Batch("thirteens_manual", 700, auto_reset=True, threads=threads) for threads in (1, 3)]
    masks = [np.full((700, b.num_actions), 7, np.int8) for b in batches]
    views = [np.full((700, b.observation_size), 7, np.uint8) for b in batches]
    for batch in batches:
        batch.deal(np.arange(700))
    for step in range(70):
        ids = batches[0].sample(np.random.default_rng(step))
        for batch, mask, view in zip(batches, masks, views, strict=True):
            batch.step(ids, mask=mask, observation=view)
        same(*masks)
        same(*views)
    same(batches[0].state.rows, batches[1].state.rows)


# ---------------------------------------------------------------- bad input


def batch_in_play(rules: Any, backend: Any = "numba") -> Batch:
    batch = Batch(rules, 4, backend=backend)
    batch.deal(np.arange(4))
    rng = np.random.default_rng(0)
    for _ in range(6):
        batch.step(batch.sample(rng))
    return batch


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", PRESETS)
def test_every_action_that_is_not_legal_is_refused(name: str, backend: Any) -> None:
    batch = batch_in_play(name, backend)
    good = batch.sample(np.random.default_rng(1))
    mask = batch.action_mask()
    before = batch.state.rows.copy()
    tried = [*range(-3, batch.num_actions + 70), 1 << 32, -(1 << 62), (1 << 63) - 1]
    for action in tried:
        if 0 <= action < batch.num_actions and mask[2, action]:
            continue
        ids = good.copy()
        ids[2] = action
        with pytest.raises(IllegalPlayError, match="game 2"):
            batch.step(ids)
        assert np.array_equal(batch.state.rows, before)
    batch.step(good)


@pytest.mark.parametrize(
    "bad",
    [[0] * 3, [0] * 5, 0, [[0]] * 4, [0.0] * 4, [False] * 4, ["0"] * 4, None, [0j] * 4, []],
    ids=["few", "many", "number", "axes", "floats", "bools", "text", "none", "complex", "empty"],
)
@pytest.mark.parametrize("method", ["step", "deal", "action_to_cards"])
def test_arrays_of_the_wrong_kind(method: str, bad: Any) -> None:
    batch = batch_in_play("thirteens")
    before = batch.state.rows.copy()
    with pytest.raises(ValueError, match=r"actions|keys"):
        getattr(batch, method)(bad)
    assert np.array_equal(batch.state.rows, before)


def test_a_game_that_is_over_takes_no_action() -> None:
    batch = batch_in_play("thirteens")
    rng = np.random.default_rng(0)
    while not (batch.state.turn < 0).all():
        batch.step(batch.sample(rng))
    assert not batch.action_mask().any()
    assert not batch.observe().any()
    with pytest.raises(IllegalPlayError, match="over"):
        batch.step([0, NO_ACTION, NO_ACTION, NO_ACTION])
    rewards, dones = batch.step([NO_ACTION] * 4)
    assert not rewards.any()
    assert not dones.any()


def test_random_text_is_cards_or_a_notation_error() -> None:
    rng = np.random.default_rng(0)
    letters = list("23456789TJQKAscdh*12 ,♠♥x")
    for _ in range(3000):
        text = "".join(rng.choice(letters, rng.integers(0, 9)))
        try:
            mask = parse_cards(text)
        except NotationError:
            continue
        assert parse_cards(format_cards(mask)) == mask
    assert parse_cards("*1 Kd*2") == 3 << 52 | 1 << CARD_TEXT.index("Kd")
    with pytest.raises(NotationError, match="twice"):
        parse_cards("*1 *1")
    with pytest.raises(ValueError, match="mask"):
        format_cards(1 << 54)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_players", 8),
        ("num_players", "4"),
        ("jokers", 3),
        ("jokers", None),
        ("melding", "auto "),
        ("dummy", 1),
        ("target", -1),
        ("target", 50.5),
        ("first_lead", "eldest"),
        ("aside_jokers", "no"),
    ],
)
def test_rules_name_the_field(field: str, value: Any) -> None:
    with pytest.raises(RulesError, match=f"^{field}="):
        ThirteensRules(**{field: value})


@pytest.mark.parametrize(("setting", "value"), [("reward", "cards"), ("history", 1), ("history", True)])
def test_settings_name_themselves(setting: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{setting}="):
        build_spec(ThirteensRules(), **{setting: value})


def test_action_names() -> None:
    for name, rules in PRESETS.items():
        table = build_action_table(rules)
        texts = [table.text(a) for a in range(table.num_actions)]
        assert len(set(texts)) == table.num_actions, name
        assert [find_action(table, t) for t in texts] == list(range(table.num_actions))
        for bad in (-1, table.num_actions):
            with pytest.raises(ValueError, match="expected"):
                table.text(bad)
        with pytest.raises(ValueError, match="not the name of an action"):
            find_action(table, "meld 4 4 4")


# ---------------------------------------------------------------- what is hidden


@pytest.mark.parametrize("rules", VARIANTS[::5], ids=variant_id)
def test_nothing_depends_on_hidden_cards(rules: ThirteensRules) -> None:
    """Other hands, the dummy's and the key are changed; what the player to move sees is not."""
    batch = Batch(rules, 40)
    batch.deal(np.arange(40))
    rng = np.random.default_rng(3)
    for _ in range(3 * rules.num_players + 1):
        batch.step(batch.sample(rng))
    other = batch.copy()
    turn = batch.state.turn
    for b in range(40):
        seats = [s for s in range(rules.num_players) if s != turn[b]]
        rest = [c for s in seats for c in range(54) if int(batch.state.hands[b, s]) >> c & 1]
        rest += [c for c in range(54) if int(batch.state.dummy[b]) >> c & 1]
        rng.shuffle(rest)
        for s in seats:
            size = int(batch.state.num_cards_left[b, s])
            other.state.hands[b, s] = sum(1 << c for c in rest[:size])
            rest = rest[size:]
        other.state.dummy[b] = sum(1 << c for c in rest)
    other.state.key[:] += 1
    assert not np.array_equal(batch.state.rows, other.state.rows)
    same(batch.observe(), other.observe())
    same(batch.action_mask(), other.action_mask())
    same(View(batch).public_rows, View(other).public_rows)


def test_hidden_columns_are_named() -> None:
    assert set(R.HIDDEN) == {*range(R.HAND, R.HAND + 7), R.DUMMY, R.KEY}


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_pieces_fill_the_observation(rules: ThirteensRules) -> None:
    layout = observation_layout(rules)
    end = 0
    for piece in layout.values():
        assert piece.slice.start == end
        end = piece.slice.stop
        assert end - piece.slice.start == np.prod(piece.shape)
    assert end == observation_layout(rules).size == Batch(rules, 1).observation_size
