"""The scalar API: `Round`, `Game`, `Cards`, and the translation between cards and actions."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.plays import action_to_cards, cards_to_action, mask_of
from tests.tienlen_env.games.tienlen.test_engine_oracle import CUSTOM
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK
from tienlen_env.games.registry import PRESETS as ALL_PRESETS, get_rules
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import CARDGAMES, PRESETS, Rules
from tienlen_env.single.base import BaseRound, round_type
from tienlen_env.single.game import Game
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Cards, Play, Round

# ---------------------------------------------------------------- cards


def test_cards_are_masks_that_print_as_cards() -> None:
    some = Cards("3h 3s")
    assert some == 0b1001
    assert str(some) == "3s 3h"
    assert repr(some) == "Cards('3s 3h')"
    assert list(some) == [0, 3]
    assert len(some) == 2
    assert Cards(some) == some
    assert str(Cards()) == "-"
    assert not Cards("")
    assert len(Cards(FULL_DECK)) == 52
    assert Cards(np.int64(5)) == 5


# ---------------------------------------------------------------- rounds


def test_a_round_from_the_docstring() -> None:
    round_ = Round("cardgames", key=7)
    round_.play("3s")
    assert (str(round_.table), round_.owner) == ("3s", 3)
    assert round_.turn == 0
    assert isinstance(round_.table, Play)
    assert round_.table.action == 1
    assert round_.played(3) == Cards("3s")
    assert len(round_.hand(3)) == 12


def test_a_round_without_a_key_draws_one() -> None:
    assert Round("cardgames").key != Round("cardgames").key


def test_plays_as_text_mask_cards_or_play() -> None:
    records = set()
    for play in ("3s", 1, Cards("3s"), np.int64(1), Round("foicica", key=7).legal_plays()[0]):
        round_ = Round("cardgames", key=7)
        round_.play(play)  # type: ignore[arg-type]
        records.add(round_.record())
    assert len(records) == 1


def test_a_play_of_other_rules_is_classified_anew() -> None:
    """The same cards have another action id in another variant."""
    run = Cards("3s 4s 5s")
    foreign = next(p for p in Round.from_hands("foicica", ["3s 4s 5s", "6s"]).legal_plays() if p == run)
    round_ = Round.from_hands("cardgames", ["3s 4s 5s 9s", "6s"])
    round_.play(foreign)
    assert round_.table is not None
    assert round_.table.action == cards_to_action("cardgames", run) != foreign.action


def test_copies_are_independent() -> None:
    round_ = Round("cardgames", key=7)
    round_.play("3s")
    before = round_.record()
    again = round_.copy()
    assert again.record() == before
    again.pass_()
    assert round_.record() == before
    assert again.record() == f"{before} -"
    assert again.legal_plays() != []
    round_.play(round_.legal_plays()[-1])
    assert again.record() == f"{before} -"
    assert again.passed == {0}
    assert round_.passed == frozenset()


def test_lists_of_plays_do_not_change_later() -> None:
    round_ = Round("cardgames", key=7)
    plays = round_.legal_plays()
    texts = [str(p) for p in plays]
    round_.play(plays[0])
    round_.legal_plays()
    assert [str(p) for p in plays] == texts


@pytest.mark.parametrize("name", [*PRESETS, *CUSTOM])
def test_an_action_is_the_play_of_its_cards(name: str) -> None:
    rules = PRESETS[name] if name in PRESETS else CUSTOM[name]
    rng = random.Random(name)
    by_cards, by_action = Round(rules, key=5), Round(rules, key=5)
    table = build_action_table(rules)
    while not by_cards.is_over:
        plays = by_cards.legal_plays()
        assert [p.action for p in plays] == sorted({p.action for p in plays})
        illegal = rng.choice([a for a in range(table.num_actions) if a not in {p.action for p in plays}])
        before = by_action._rows.copy()
        with pytest.raises(IllegalPlayError, match="not legal here"):
            by_action.play(illegal)
        assert np.array_equal(by_action._rows, before)
        play = rng.choice(plays)
        assert play.action == cards_to_action(rules, play)
        assert action_to_cards(rules, by_cards.hand(by_cards.turn), play.action) == play
        by_cards.play(play)
        by_action.play(play.action)
        assert by_cards.record() == by_action.record()


@pytest.mark.parametrize("name", [*PRESETS, *CUSTOM])
def test_cards_and_actions_translate_both_ways(name: str) -> None:
    """Any hand: what it holds becomes cards of the hand, and these are the action again."""
    rules = PRESETS[name] if name in PRESETS else CUSTOM[name]
    table = build_action_table(rules)
    rng = random.Random(name)
    for _ in range(12):
        low = rng.randint(0, 7)
        pool = range(52) if rng.random() < 0.5 else range(4 * low, 4 * low + 24)
        hand = mask_of(rng.sample(list(pool), 13))
        held = np.flatnonzero(table.held(hand))
        for action in held.tolist():
            cards = action_to_cards(rules, hand, action)
            assert cards & ~hand == 0
            assert cards_to_action(rules, cards) == action
        for action in rng.sample(range(table.num_actions), 20):
            if action not in held:
                with pytest.raises(IllegalPlayError, match="not in the hand"):
                    action_to_cards(rules, hand, action)


def test_state_of_a_round_over_time() -> None:
    round_ = Round.from_hands("cardgames", ["3s Ks", "4s 5s", "6s"], leader=0)
    assert (round_.table, round_.owner, round_.turn, round_.is_over) == (None, -1, 0, False)
    round_.play("3s")
    round_.pass_()
    assert round_.passed == {1}
    round_.play("6s")
    assert round_.places == (None, None, 0)
    assert round_.scores == (0, 0, 2)
    round_.play("Ks")
    assert round_.is_over
    assert round_.turn == -1
    assert round_.places == (1, 2, 0)
    assert round_.scores == (1, 0, 2)
    assert round_.legal_plays(exact=True) == []
    with pytest.raises(ValueError, match="seat 3"):
        round_.hand(3)
    with pytest.raises(ValueError, match="seat -1"):
        round_.played(-1)


def test_a_round_prints() -> None:
    round_ = Round("cardgames", key=7)
    assert repr(round_) == "<Round tienlen/1 cardgames p4 key=0000000000000007.0 :>"
    assert "3♠" in str(round_) or "3s" in str(round_)
    assert round_._repr_svg_().startswith("<svg")


# ---------------------------------------------------------------- games


def finished(rules: Any, key: int, seed: int) -> Game:
    game, rng = Game(rules, key), random.Random(seed)
    while not game.is_over:
        game.play(rng.choice(game.legal_plays()))
    return game


@pytest.mark.parametrize("name", [*PRESETS, *CUSTOM])
@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_game_equals_a_batch_of_games(name: str, num_players: int) -> None:
    """Same key and plays: same rounds, scores, rewards and end."""
    rules = replace(PRESETS[name] if name in PRESETS else CUSTOM[name], num_players=num_players)
    rng = random.Random(f"{name}{num_players}")
    for _ in range(2):
        key = rng.randrange(-(2**63), 2**63)
        game = Game(rules, key)
        batch = Batch(rules, 1, episode="game")
        batch.deal(np.array([key]))
        rewards = np.zeros(num_players)
        while not game.is_over:
            state, round_ = batch.state, game.round
            assert state.turn[0] == round_.turn
            assert state.round[0] == round_.round_index == len(game.records)
            assert state.hands[0].tolist() == [int(round_.hand(s)) for s in range(num_players)]
            assert state.scores[0].tolist() == list(game.scores)
            assert state.legal.tolist() == round_._rows[:, 31 : 31 + batch.state.num_words].tolist()
            play = rng.choice(game.legal_plays(exact=True))
            gained, dones = batch.step(np.array([play.action]), np.array([int(play)]))
            rewards += gained[0]
            game.play(play)
            assert bool(dones[0]) == game.is_over
        assert (batch.state.turn < 0).all()
        assert batch.scores[0].tolist() == list(game.scores) == rewards.tolist()


def test_a_game_to_ten_with_the_winner_leading() -> None:
    game = finished("cardgames", key=4, seed=1)
    rounds = [Round.from_record(line) for line in game.records]
    for before, after in pairwise(rounds):
        assert after.leader == before.places.index(0)
        assert after.key == before.key
        assert after.round_index == before.round_index + 1
    assert game.scores == tuple(np.sum([r.scores for r in rounds], axis=0))
    assert max(game.scores) >= 10
    assert game.winner == game.scores.index(max(game.scores))


def test_ties_at_the_top_are_played_on() -> None:
    """Among some hundred games of two there are games where both had ten, or reached it together."""
    played_on = 0
    for key in range(300):
        game = finished(replace(CARDGAMES, num_players=3, target=4), key, seed=key)
        totals = np.cumsum([Round.from_record(r, game.rules).scores for r in game.records], axis=0).tolist()
        for total in totals[:-1]:
            best = max(total)
            if best >= 4:
                assert total.count(best) > 1
                played_on += 1
        assert totals[-1].count(max(totals[-1])) == 1
        assert tuple(totals[-1]) == game.scores
    assert played_on > 10


def test_a_finished_game_accepts_nothing_more() -> None:
    game = finished("foicica", key=1, seed=0)
    record = game.record()
    assert game.legal_plays() == []
    with pytest.raises(IllegalPlayError, match="over"):
        game.play("3s")
    with pytest.raises(IllegalPlayError, match="over"):
        game.pass_()
    assert game.record() == record
    assert len(game.records) == 1


def test_scores_of_a_running_game_include_settled_places() -> None:
    game = Game("cardgames", key=3)
    rng = random.Random(0)
    while not any(p is not None for p in game.round.places):
        game.play(rng.choice(game.legal_plays()))
    assert sorted(game.scores) == [0, 0, 0, 3]
    assert game.winner is None


def test_every_round_opens_with_the_lowest_card_under_opening_every() -> None:
    rules = Rules(opening="every", target=8)
    game, rng = Game(rules, 5), random.Random(2)
    openings = 0
    while not game.is_over:
        if game.round.table is None and game.round.opening_card:
            assert game.round.opening_card == Cards("3s"), "four players hold all cards"
            openings += 1
        game.play(rng.choice(game.legal_plays()))
    assert openings == len(game.records) > 1


# ---------------------------------------------------------------- one API for every game

BOTH = [("cardgames", Round), ("thirteens_manual", ThirteensRound)]


def some_moves(rules: Any, key: int, num_moves: int) -> BaseRound[Any, Any]:
    played, rng = round_type(get_rules(rules))(rules, key), random.Random(key)
    for _ in range(num_moves):
        played.play(rng.choice(played.legal_plays()))
    return played


def test_the_class_of_a_round_follows_from_the_rules() -> None:
    for rules, kind in BOTH:
        assert round_type(get_rules(rules)) is kind


@pytest.mark.parametrize("rules", [rules for rules, _ in BOTH])
def test_a_move_is_a_play_an_action_id_or_text(rules: str) -> None:
    start = some_moves(rules, 3, 11)
    for play in start.legal_plays():
        records = set()
        for move in (play, play.action, np.int64(play.action), str(play).replace("-", "")):
            child = start.copy()
            child.play(move)
            assert child.plays[-1].action == play.action
            assert child.plays[-1].cards == play.cards
            records.add(child.record())
        assert len(records) == 1
    assert start.legal_actions() == [play.action for play in start.legal_plays()]


@pytest.mark.parametrize("rules", [rules for rules, _ in BOTH])
@pytest.mark.parametrize("given_hands", [False, True])
def test_undo_takes_every_play_back(rules: str, given_hands: bool) -> None:
    played = some_moves(rules, 5, 0)
    if given_hands:
        hands = ["3s 4s 4d", "5s 6s 6c", "7s 8s 9s", "Ts Js Qs"]
        played = type(played).from_hands(rules, hands, leader=1)
    rng, rows = random.Random(1), []
    while not played.is_over:
        rows.append(played._rows.copy())
        played.play(rng.choice(played.legal_plays(exact=True)))
    plays, record = list(played.plays), played.record()
    while played.plays:
        assert played.undo() == plays[len(played.plays)]
        assert np.array_equal(played._rows, rows.pop())
    with pytest.raises(TienLenError, match="nothing to undo"):
        played.undo()
    for play in plays:
        played.play(play)
    assert played.record() == record


@pytest.mark.parametrize("rules", [rules for rules, _ in BOTH])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_rounds_copy_and_pickle(rules: str, duplicate: Callable[[Any], Any]) -> None:
    played = some_moves(rules, 9, 20)
    row, record = played._rows.copy(), played.record()
    again = duplicate(played)
    assert (again.record(), again.plays, again.rules) == (record, played.plays, played.rules)
    again.play(again.legal_plays()[0])
    assert np.array_equal(played._rows, row)
    assert played.record() == record != again.record()
    again.undo()
    assert np.array_equal(again._rows, row)


@pytest.mark.parametrize("rules", [rules for rules, _ in BOTH])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_games_copy_and_pickle(rules: str, duplicate: Callable[[Any], Any]) -> None:
    game, rng = Game(rules, 4), random.Random(0)
    while len(game.records) < 2:
        game.play(rng.choice(game.legal_plays()))
    record = game.record()
    again = duplicate(game)
    assert again.record() == record
    again.play(again.legal_plays()[0])
    assert game.record() == record
    for _ in range(4):
        again.undo()
    assert len(again.records) == 1
    assert game.record() == record


@pytest.mark.parametrize("rules", [rules for rules, _ in BOTH])
def test_games_undo_across_rounds(rules: str) -> None:
    game, rng, records = Game(rules, 2), random.Random(2), []
    while not game.is_over:
        records.append((game.record(), game.scores))
        game.play(rng.choice(game.legal_plays()))
    over = game.copy()
    while records:
        game.undo()
        assert (game.record(), game.scores) == records.pop()
    with pytest.raises(TienLenError, match="nothing to undo"):
        game.undo()
    assert over.is_over


def test_ints_are_action_ids_and_masks_are_cards() -> None:
    round_ = Round("cardgames", key=7)
    for wrong in (1 << 20, 1 << 51, -1):
        with pytest.raises(
            IllegalPlayError, match=r"an int is an action id, a mask of cards is Cards\(mask\)"
        ):
            round_.play(wrong)
    with pytest.raises(
        IllegalPlayError, match=r"action 52 \(single 2h\) is not legal here.*Cards\(mask\)"
    ) as caught:
        round_.play(52)
    assert (caught.value.action, caught.value.seat, caught.value.clause) == (52, 3, "1.5")
    with pytest.raises(TypeError):
        round_.play(True)
    round_.play(Cards(1))
    assert str(round_.table) == "3s"


def test_a_pass_in_a_game_without_passes_is_refused() -> None:
    """It played the three of spades, the action 0."""
    game = Game("thirteens", key=9)
    before = game.record()
    with pytest.raises(IllegalPlayError, match="no pass") as caught:
        game.pass_()
    assert game.record() == before
    assert (caught.value.seat, caught.value.clause) == (game.turn, "8.5")


def test_refusals_say_seat_action_and_clause() -> None:
    round_ = Round.from_hands("cardgames", ["3s Ks", "4s 5s 5c", "6s"], leader=0)
    found = []
    for move in ("", "4h", "5s 5c", "Kd"):
        if move == "5s 5c":
            round_.play("3s")
        with pytest.raises(IllegalPlayError) as refused:
            round_.play(move)
        again = pickle.loads(pickle.dumps(refused.value))
        assert str(again) == str(refused.value)
        found.append((again.seat, again.action, again.clause))
    assert found == [
        (0, 0, "1.8"),
        (0, 8, "1.5"),
        (1, cards_to_action("cardgames", Cards("5s 5c")), "1.6"),
        (1, 43, "1.5"),
    ]
    deal = ThirteensRound.from_hands("thirteens", ["3s 4d", "5s 6d", "7h 8h"], leader=0)
    deal.play("3s")
    with pytest.raises(IllegalPlayError) as caught:
        deal.play("6d")
    error = caught.value
    assert (error.seat, error.clause) == (1, "8.5")


def test_a_round_from_the_view_of_a_player() -> None:
    for rules, kind in BOTH:
        batch = Batch(rules, 5, episode="game")
        batch.reset(3)
        rng = np.random.default_rng(0)
        for _ in range(17):
            batch.step(batch.sample(rng))
        view = View(batch)
        for i in range(5):
            seen, seat = kind.from_view(view, i), int(batch.state.turn[i])
            assert seen.turn == seat
            assert seen.hand(seat) == batch.state.hands[i, seat]
            counts = [int(seen.hand(s)).bit_count() for s in range(4)]
            assert counts == batch.state.num_cards_left[i].tolist()
            legal = view.legal_actions
            assert seen.legal_actions() == legal.action[legal.game == i].tolist()
            with pytest.raises(TienLenError, match="no record"):
                seen.record()
            seen.play(seen.legal_plays()[0])
            seen.undo()
            assert seen.legal_actions() == legal.action[legal.game == i].tolist()


@pytest.mark.parametrize("name", [*ALL_PRESETS])
def test_the_text_of_every_play_is_a_move(name: str) -> None:
    """A pass, a declaration, and a meld, too."""
    seen = set()
    for key in range(12):
        game = Game(name, key)
        rng = random.Random(key)
        while not game.round.is_over and not game.records:
            play = rng.choice(game.legal_plays())
            seat = game.turn
            game.play(str(play))
            made = game.round.plays[-1] if game.round.plays else play
            assert (made.action, made.cards) == (play.action, play.cards)
            assert seat >= 0
            seen.add(str(play))
    assert ("-" in seen) == (game.round.game_name == "tienlen")


@pytest.mark.parametrize("name", ["cardgames", "foicica", "south", "thirteens"])
@pytest.mark.parametrize("num_rounds", [1, 2, 3, 0])
def test_a_record_says_whether_its_game_is_over(name: str, num_rounds: int) -> None:
    """A finished game of any number of rounds, of 0 that `end` ends, and the same before its last play."""
    rng, game = random.Random(num_rounds), Game(name, 5, num_rounds=num_rounds)
    while not game.is_over:
        before = game.copy()
        game.play(rng.choice(game.legal_actions()))
        if num_rounds == 0 and len(game.records) == 2:
            assert not Game.from_record(game.record()).is_over
            game.end()
    again = Game.from_record(game.record())
    assert again.is_over
    assert again.turn == -1
    assert (again.record(), again.scores, again.winner) == (game.record(), game.scores, game.winner)
    assert again.undo() == game.undo()
    assert not again.is_over
    running = Game.from_record(before.record())
    assert not running.is_over
    assert running.round.record() == before.round.record()
