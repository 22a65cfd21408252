"""Exact cards of `Batch.step` (RULES.md 7.2): every backend refuses what is no legal play of the action."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tienlen_env.engine.backends.per_game import card_check
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.registry import PRESETS
from tienlen_env.single.tienlen import Round

TIENLEN = [name for name, rules in PRESETS.items() if hasattr(rules, "suits_bind")]


def is_that_action(batch: Batch, action: int, cards: int) -> bool:
    """By the table's `classify`, which shares no code with the kernel."""
    table: Any = batch.action_table
    if cards == 0:
        return action in (0, table.declare)
    try:
        return bool(table.classify(cards) == action)
    except InvalidComboError:
        return False


def candidates(hand: int, legal: set[int], rng: np.random.Generator) -> set[int]:
    """Sets of cards: own small ones, legal ones with a card more, fewer, exchanged, and any numbers."""
    held = card_ids(hand)
    found = {0, hand, -1, 1 << 52, 1 << 62, -(1 << 63), (1 << 52) - 1, ~hand & (1 << 52) - 1}
    found |= {sum(1 << c for c in some) for size in (1, 2) for some in combinations(held, size)}
    for cards in legal:
        for card in rng.integers(0, 52, 2).tolist():
            found |= {cards, cards ^ 1 << card, cards << 1, cards << 4, cards >> 4 & (1 << 52) - 1}
            found |= {cards ^ 1 << card ^ 1 << c for c in card_ids(cards)[-2:]}
    return found


@pytest.mark.parametrize("name", TIENLEN)
def test_exactly_the_legal_sets_are_played(name: str) -> None:
    """Every candidate with every legal action: the kernel accepts what `Round` lists as legal plays."""
    batch = Batch(name, 24, backend="python")
    batch.reset(3)
    rng = np.random.default_rng(4)
    _, spec, actions = (array.tolist() for array in batch.kernel_arrays)
    is_refused = card_check(batch.game)
    num_checked = 0
    for step in range(40):
        for game in np.flatnonzero(batch.state.turn >= 0)[step % 7 :][:1]:
            row = batch.state.rows[game].tolist()
            seat = row[batch.game.columns.turn]
            hand, duty = row[batch.game.columns.hand + seat], int(batch.state.required_card[game])
            listed = batch.select([game]).list_legal()
            for cards in candidates(hand, set(listed.cards.tolist()), rng):
                for action in listed.action.tolist():
                    is_legal = is_that_action(batch, action, cards) and cards & ~hand == 0
                    is_legal = is_legal and (cards == 0 or duty == 0 or cards & duty != 0)
                    assert is_refused(row, spec, actions, action, cards) != is_legal, (action, cards)
                    num_checked += 1
        batch.step(batch.sample(rng))
    assert num_checked > (4_000 if PRESETS[name].cards_each == 13 else 50)


@pytest.mark.parametrize("name", TIENLEN)
def test_every_exact_play_of_a_round_is_accepted(name: str) -> None:
    rng = np.random.default_rng(5)
    for key in range(2):
        played, batch = Round(name, key=key), Batch(name)
        batch.deal([key])
        while not played.is_over:
            plays = played.legal_plays(exact=True)
            for play in plays[:: max(1, len(plays) // 12)]:
                batch.copy().step([play.action], [int(play)])
            play = plays[int(rng.integers(len(plays)))]
            played.play(play)
            batch.step([play.action], [int(play)])


def refused(batch: Batch, actions: Any, cards: Any) -> IllegalPlayError:
    """The refusal; no game has moved."""
    before = batch.state.rows.copy()
    with pytest.raises(IllegalPlayError) as caught:
        batch.step(actions, cards)
    assert np.array_equal(batch.state.rows, before)
    return caught.value


@pytest.mark.parametrize("settings", [{"backend": "python"}, {"backend": "numba"}, {"threads": 2}])
def test_refusals_name_game_seat_action_cards_and_clause(settings: dict[str, Any]) -> None:
    """Seat 1 leads freely from 3s 3c 3d 5s 6s 7s 7c; the others follow."""
    batch = Batch("cardgames", 3, num_players=2, **settings)
    read = batch.game.text.parse_cards
    batch.set_hands([[read("4s 4c 4d"), read("3s 3c 3d 5s 6s 7s 7c")]] * 3, leader=1)
    pair, single = batch.text_to_action("pair 3c"), batch.text_to_action("single 3s")
    for text, clause in (
        ("3s 3c 3d", "7.1"), ("3s", "7.1"), ("", "7.1"), ("3s 3d", "7.1"), ("3c 3d", "7.1"), ("4s 4c", "1.5"),
        ("3s 3c 3d 5s 6s 7s 7c", "7.1"), ("3s 3h", "1.5"), ("7s 7c", "7.1"),
    ):  # fmt: skip
        error = refused(batch, [single, pair, single], [1, read(text), 1])
        assert (error.game, error.seat, error.action) == (1, 1, pair)
        assert (error.cards, error.clause) == (read(text), clause)
        assert f"game 1: action {pair} (pair 3c) with {text or 'no cards'} is not legal for seat 1" in str(
            error
        )
    assert "the mask -0x1" in str(refused(batch, [pair] * 3, [-1] * 3))
    batch.step([pair] * 3, [read("3s 3c")] * 3)
    error = refused(batch, [0, 0, 0], [0, 0, read("4s")])
    assert (error.game, error.seat, error.clause) == (2, 0, "1.7")
    assert "a pass plays no cards" in str(error)
    batch.step([0, 0, 0], [0, 0, 0])


def test_the_opening_duty() -> None:
    batch = Batch("cardgames", 1, num_players=2)
    mine, other = (batch.game.text.parse_cards(text) for text in ("3s 3c 3d 9s", "4s 4c 8s 8c"))
    batch.set_hands([[mine, other]])
    triple, pair = batch.text_to_action("triple 3d"), batch.text_to_action("pair 3d")
    error = refused(batch, [pair], [batch.game.text.parse_cards("3c 3d")])
    assert error.clause == "1.3"
    batch.copy().step([pair], [batch.game.text.parse_cards("3s 3d")])
    batch.step([triple], [batch.game.text.parse_cards("3s 3c 3d")])


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_games_without_card_choice(backend: Any) -> None:
    """An action plays its own cards and no others: Thirteens, and a game from outside."""
    for name, clause in (("thirteens", "8.13"), ("high_card", "")):
        batch = Batch(name, 2, num_players=4, backend=backend)
        batch.reset(1)
        assert not batch.game.has_card_choice
        actions = batch.sample(np.random.default_rng(0))
        own = batch.action_to_cards(actions)
        hands = batch.state.hands[np.arange(2), batch.state.turn]
        for wrong in (0, -1, int(hands[1]), int(own[0]) ^ int(own[1]) or 3, 1 << 60):
            error = refused(batch, actions, [own[0], wrong])
            assert (error.game, error.seat, error.clause) == (1, int(batch.state.turn[1]), clause)
        batch.step(actions, own)


def test_melds_play_no_cards() -> None:
    batch = Batch("thirteens_manual", 8)
    batch.reset(0)
    rng = np.random.default_rng(1)
    num_melds = 0
    while (batch.state.turn >= 0).any():
        actions = batch.sample(rng)
        cards = batch.action_to_cards(np.maximum(actions, 0)) if (actions >= 0).all() else None
        if cards is not None and (cards == 0).any():
            game = int(np.flatnonzero(cards == 0)[0])
            wrong = cards.copy()
            wrong[game] = batch.state.hands[game, batch.state.turn[game]] or 1
            assert refused(batch, actions, wrong).game == game
            num_melds += 1
        batch.step(actions, cards)
    assert num_melds > 20


def test_cards_of_games_that_are_over_are_not_read() -> None:
    batch = Batch("cardgames", 2)
    batch.reset(0)
    rng = np.random.default_rng(0)
    while (batch.state.turn >= 0).any():
        batch.step(batch.sample(rng))
    batch.step([NO_ACTION, NO_ACTION], [-1, 77])
