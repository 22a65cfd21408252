"""1.16: other decks, and other numbers of cards each."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import tienlen_agents
from tests.tienlen_env.games.tienlen.test_engine_oracle import DECKS
from tienlen_agents.endgame import EndgameSolver, open_endings
from tienlen_agents.networks.features.tienlen_general import general_inputs
from tienlen_agents.networks.network import NetworkConfig
from tienlen_agents.rule_based.heuristic.decide import public_view
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError, NotationError, RulesError, TienLenError
from tienlen_env.games.common.bits import philox
from tienlen_env.games.common.cards import FULL_DECK, card_ids, parse_cards
from tienlen_env.games.tienlen.rules import (
    CARDGAMES,
    NORTH,
    SMALL_GAMES,
    SOUTH,
    Rules,
    Shape,
    deck_of,
    get_rules,
)
from tienlen_env.single.tienlen import Round

TABLES = {
    **SMALL_GAMES,
    **{f"{name}-{players}": make(players) for name, make in DECKS.items() for players in (2, 3)},
    "north_17": replace(NORTH, num_players=3, cards_each=17),
}


def test_1_16_the_deck_is_a_set_of_cards_as_text() -> None:
    assert deck_of("3452", "sc") == "3s 3c 4s 4c 5s 5c 2s 2c"
    rules = Rules(deck="2c3s,4S 3c", num_players=2, cards_each=2)
    assert rules.deck == "3s 3c 4s 2c"
    assert rules == Rules(deck="3s 3c 4s 2c", num_players=2, cards_each=2)
    assert Rules(deck=deck_of("3456789TJQKA2")) == Rules()
    assert Rules().deck_mask == FULL_DECK
    assert Rules().digest() == "f3aeceea605cd178"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"deck": deck_of("345", "sc"), "num_players": 2}, "2 players need 26 cards, but the deck has 6"),
        ({"cards_each": 17}, "4 players need 68 cards, but the deck has 52"),
        ({"cards_each": 0}, "cards_each=0: expected 1..17"),
        ({"cards_each": 18, "num_players": 2}, "cards_each=18: expected 1..17"),
        ({"cards_each": 2.0}, "cards_each=2.0: expected an integer"),
        ({"deck": "3s 3s"}, "deck: .*comes twice"),
        ({"deck": "3x"}, "deck: .*is not a card"),
        ({"deck": 15}, "deck=15: expected cards like"),
    ],
)
def test_1_16_impossible_deals_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        Rules(**changes)  # type: ignore[arg-type]


def test_1_16_a_small_game_with_too_many_players_is_refused() -> None:
    with pytest.raises(RulesError, match="but the deck has"):
        Batch("mini", 1, num_players=4)
    assert get_rules("large", 4).num_players == 4
    assert Round("large", key=1, num_players=3).rules.name == "large"


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", TABLES)
def test_1_16_the_deal(name: str, backend: BackendName) -> None:
    """The cards of the deck in order, each to a place drawn among those that are left."""
    rules, rng = TABLES[name], random.Random(name)
    deck, each = card_ids(rules.deck_mask), rules.cards_each
    batch = Batch(rules, 1, backend=backend)
    for _ in range(20):
        key, game_round = rng.randrange(-(2**63), 2**63), rng.randrange(2**31)
        places = [seat for seat in range(rules.num_players) for _ in range(each)]
        places += [4] * (len(deck) - len(places))
        hands = [0] * 5
        for num, card in enumerate(deck):
            word = philox(key, game_round, card // 4)[card % 4]
            hands[places.pop(word * (len(deck) - num) >> 32)] |= 1 << card
        batch.deal(np.array([key]), rounds=game_round)
        assert batch.state.rows[0, :5].tolist() == hands


def test_1_16_the_lowest_card_dealt_opens() -> None:
    for name in SMALL_GAMES:
        batch = Batch(name, 200)
        batch.reset(seed=1)
        dealt = np.bitwise_or.reduce(batch.state.hands, axis=1)
        assert (batch.state.required_card == (dealt & -dealt)).all()


@pytest.mark.parametrize("name", TABLES)
def test_1_16_backends_agree(name: str) -> None:
    batches = [
        Batch(TABLES[name], 12, backend=backend, auto_reset=True, history=2, episode="game")  # type: ignore[arg-type]
        for backend in ("numba", "python")
    ]
    for batch in batches:
        batch.deal(np.arange(12))
    rng = np.random.default_rng(1)
    for _ in range(60):
        ids = batches[0].sample(rng)
        found = [batch.step(ids) for batch in batches]
        assert np.array_equal(found[0][0], found[1][0])
        assert np.array_equal(batches[0].state.rows, batches[1].state.rows)
        assert np.array_equal(batches[0].observe(), batches[1].observe())
        assert np.array_equal(batches[0].action_mask(), batches[1].action_mask())
    state, rules = batches[0].state, batches[0].rules
    cards = np.hstack([state.hands, state.played, state.rows[:, 4:5]])
    assert (np.bitwise_or.reduce(cards, axis=1) == rules.deck_mask).all()  # type: ignore[attr-defined]
    assert (np.bitwise_count(cards).sum(axis=1) == np.bitwise_count(rules.deck_mask)).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TABLES)
def test_1_16_the_number_of_cards_in_the_observation(name: str) -> None:
    batch = Batch(TABLES[name], 20)
    batch.deal(np.arange(20))
    piece = batch.layout["cards_left"]
    assert piece.shape == (batch.num_players, max(13, TABLES[name].cards_each))
    left = batch.observe()[:, piece.slice].reshape(20, *piece.shape).sum(axis=2)
    assert (left == TABLES[name].cards_each).all()


@pytest.mark.parametrize("name", TABLES)
def test_1_16_hidden_cards_are_of_the_deck(name: str) -> None:
    """What agents sample instead of the hidden cards is a part of the deck, in hands of the right size."""
    rules = TABLES[name]
    batch, rng = Batch(rules, 6, history_length=100), np.random.default_rng(2)
    batch.deal(np.arange(6))
    spec = batch.kernel_arrays.spec.tolist()
    for step in range(12):
        for row in batch.state.rows[batch.state.turn >= 0].tolist():
            again = list(row)
            batch.game.kernels.resample_hidden(again, spec, row[18], step)  # type: ignore[misc]
            hands = again[: rules.num_players]
            assert [h.bit_count() for h in hands] == [h.bit_count() for h in row[: rules.num_players]]
            assert sum(hands) & ~rules.deck_mask == 0
            assert again[4] & ~rules.deck_mask == 0
        ids = batch.sample(rng)
        if (ids == NO_ACTION).all():
            break
        batch.step(ids)


@pytest.mark.parametrize("agent", ["heuristic", "champion:worlds=0", "search:worlds=6", "ismcts:worlds=6"])
@pytest.mark.parametrize("name", ["mini", "seventeen-3"])
def test_1_16_agents_play_whole_rounds(name: str, agent: str) -> None:
    batch, player = Batch(TABLES[name], 4, history_length=200), tienlen_agents.load(agent)
    player.reset(1)
    batch.deal(np.arange(4))
    for _ in range(400):
        games = np.flatnonzero(batch.state.turn >= 0)
        if not games.size:
            return
        ids = np.full(4, NO_ACTION)
        ids[games] = player.act(View(batch, games))
        batch.step(ids)
    raise AssertionError("a round does not end")


@pytest.mark.parametrize("name", TABLES)
def test_1_16_counting_agents_know_the_deck(name: str) -> None:
    """For `heuristic` other cards do not exist; a network gets them as cards that the player has played."""
    rules = TABLES[name]
    batch = Batch(rules, 5, history_length=1)
    batch.deal(np.arange(5))
    spec, hand = batch.kernel_arrays.spec.tolist(), View(batch).hand
    for game in range(5):
        view = public_view(spec, batch.state.rows[game].tolist())
        assert view.unseen == rules.deck_mask & ~int(hand[game])
    observation = NetworkConfig.of(rules, record=True).reader().read(View(batch)).observation
    outside = np.array([not rules.deck_mask >> card & 1 for card in range(52)])
    played = observation[:, batch.layout["played"].slice].reshape(5, -1, 52)
    assert (played[:, 0] == outside).all()
    assert not played[:, 1:].any()
    general = general_inputs()
    seen = general.unseen_cards(general.state_columns(rules).expand(observation))  # type: ignore[misc]
    assert (seen @ (1 << np.arange(52)) == rules.deck_mask & ~hand).all()


def test_1_16_where_all_cards_are_dealt_the_other_hand_is_known() -> None:
    rules = Rules(num_players=2, target=0, deck=deck_of("345", "sc"), cards_each=3)
    batch = Batch(rules, 15)
    batch.deal(np.arange(15))
    games, rows = open_endings(View(batch))
    assert games.tolist() == list(range(15))
    assert np.array_equal(rows[:, :2], batch.state.hands)
    value = EndgameSolver(rules).solve(rows).value
    for game in range(15):
        assert value[game] == best_of(Round.from_hands(rules, batch.state.hands[game].tolist()))


def best_of(round_: Round) -> int:
    """+1 if the seat to act can force the first place, else -1, by trying every set of cards."""
    line, seat = round_.record(), round_.turn
    for play in round_.legal_plays(exact=True):
        after = Round.from_record(line, rules=round_.rules)
        after.play(play)
        if after.is_over:
            found = 1 if after.places[seat] == 0 else -1
        else:
            found = best_of(after) * (1 if after.turn == seat else -1)
        if found == 1:
            return 1
    return -1


def test_1_16_hands_from_outside_are_of_the_deck() -> None:
    with pytest.raises(TienLenError, match="hands: As not in the deck of the mini rules"):
        Round.from_hands("mini", [parse_cards("3s As"), parse_cards("4s")])
    with pytest.raises(TienLenError, match="expected 1 to 3 cards in each"):
        Round.from_hands("mini", [parse_cards("3s 3c 4s 4c"), parse_cards("5s")])
    with pytest.raises(NotationError, match="a hand has 1 to 3 cards"):
        Round.from_record("tienlen/1 mini p2 hands=3s3c4s4c/5s :")
    with pytest.raises(IllegalPlayError, match="not in the hand"):
        Round.from_hands("mini", [parse_cards("3s"), parse_cards("4s")]).play("As")


@pytest.mark.parametrize("name", TABLES)
def test_1_16_records(name: str) -> None:
    round_ = Round(TABLES[name], key=7)
    while not round_.is_over:
        round_.play(round_.legal_plays()[0])
    assert Round.from_record(round_.record(), rules=TABLES[name]).record() == round_.record()


def test_4_1_longer_double_sequences_stand_above_2x6() -> None:
    rules = replace(SOUTH, num_players=3, cards_each=17, instant_wins=(), pay_instant=0)
    assert rules.rungs == (*SOUTH.ladder, Shape(2, 7), Shape(2, 8))
    assert SOUTH.rungs == SOUTH.ladder
    assert {Shape(2, 7), Shape(2, 8)} <= rules.bombs
    six, seven, eight = (
        f"3s 3c 4s 4c 5s 5c 6s 6c 7s 7c 8s 8c{more}" for more in ("", " 9s 9c", " 9s 9c Ts Tc")
    )
    hands = [parse_cards(six.replace("s", "d").replace("c", "h") + " 2s"), parse_cards(seven + " 2c")]
    round_ = Round.from_hands(rules, [*hands, parse_cards("Jd Qd Kd")], leader=0)
    round_.play(six.replace("s", "d").replace("c", "h"))
    round_.play(seven)
    while round_.table:
        round_.play("-")
    # As dear as the longest that is named: 2x4, 6 half stakes.
    assert [(p.payer, p.payee, p.amount) for p in round_.payments()] == [(0, 1, 6)]
    longest = Round.from_hands(rules, [parse_cards(eight), 1 << 40, 1 << 44], leader=0)
    assert eight in {str(play) for play in longest.legal_plays()}
    assert replace(CARDGAMES, num_players=2, cards_each=17).max_length(2) == 8
