"""`Kernels.resample_hidden`: hidden cards are dealt anew, uniformly, and nothing public changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents.search import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import LOWEST_SUIT
from tienlen_env.games.common.cards import FULL_DECK, format_cards
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules
from tienlen_env.games.thirteens import state as T
from tienlen_env.games.thirteens.cards import parse_cards
from tienlen_env.games.tienlen import state as R

VARIANTS = [
    get_rules("cardgames", 4), get_rules("cardgames", 2), get_rules("south", 3), get_rules("north", 4),
    get_rules("thirteens", 4), get_rules("thirteens", 7), get_rules("thirteens_dummy"),
    get_rules("thirteens_manual", 3), replace(get_rules("thirteens", 5), jokers=0),
]  # fmt: skip
names = pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: f"{rules.name}-{rules.num_players}")


def positions(rules: AnyRules, num_games: int, agent: str = "random") -> Iterator[Batch]:
    """Games that are played step by step."""
    batch, player = Batch(rules, num_games), tienlen_agents.load(agent)
    batch.deal(np.arange(num_games))
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        yield batch.select(games)
        batch = batch.select(games)
        batch.step(player.act(View(batch)))


def resampled(batch: Batch, game: int, seat: int, key: int) -> list[int]:
    """The row of a game after the kernel, in plain Python."""
    row = batch.state.rows[game].tolist()
    kernel = batch.game.kernels.resample_hidden
    assert kernel is not None
    kernel(row, batch.kernel_arrays.spec.tolist(), seat, key)
    return row


@names
def test_nothing_public_changes(rules: AnyRules) -> None:
    rng, changed = np.random.default_rng(1), 0
    hidden = Batch(rules, 1).game.columns.hidden
    for batch in positions(rules, 4):
        turns, actions = batch.state.turn, batch.kernel_arrays.actions.tolist()
        for game in range(batch.num_games):
            seat = int(turns[game])
            for observer in {seat, int(rng.integers(rules.num_players))}:
                before = batch.state.rows[game].tolist()
                row = resampled(batch, game, observer, int(rng.integers(-(2**63), 2**63)))
                changed += row != before
                assert row[observer] == before[observer]
                assert [x for i, x in enumerate(row) if i not in hidden] == [
                    x for i, x in enumerate(before) if i not in hidden
                ]
                cards = [column for column in hidden if column != batch.game.columns.key]
                assert [row[i].bit_count() for i in cards] == [before[i].bit_count() for i in cards]
                assert sum(row[i] for i in cards) == sum(before[i] for i in cards)  # the same cards
                other = batch.select([game])
                other.state.rows[0] = row
                assert np.array_equal(other.observe([observer]), batch.select([game]).observe([observer]))
                if observer == seat:
                    spec = batch.kernel_arrays.spec.tolist()
                    batch.game.kernels.update_legal(row, spec, actions)
                    assert np.array_equal(np.array(row), other.state.rows[0])
                if batch.game.name == "thirteens":
                    for k in range(rules.num_players):
                        for suit in range(4):
                            if row[T.VOID] >> (4 * k + suit) & 1:
                                assert not row[k] & LOWEST_SUIT << suit
                else:
                    assert_opening(rules, row)
    assert changed > 50


def assert_opening(rules: AnyRules, row: list[int]) -> None:
    """The opening card, if it must still be played, is in the hand of the seat to act."""
    required = row[R.REQUIRED_CARD]
    if required:
        dealt = sum(row[: rules.num_players]) | sum(row[R.PLAYED : R.PLAYED + rules.num_players])
        assert row[row[R.TURN]] & required
        assert required == dealt & -dealt


def chi_square(counts: Collection[int], num_cells: int) -> float:
    """The statistic for equally likely cells, in standard deviations from its mean."""
    expected = sum(counts) / num_cells
    found = sum((n - expected) ** 2 / expected for n in counts)
    found += expected * (num_cells - len(counts))
    return float((found - (num_cells - 1)) / np.sqrt(2 * (num_cells - 1)))


def deals_by_hand(cards: list[int], places: list[tuple[int, int, int]]) -> Iterator[tuple[int, ...]]:
    """Every deal of some cards to places: number of cards, suits that it cannot hold."""
    if not places:
        yield ()
        return
    (size, void, _), *rest = places
    for chosen in combinations(cards, size):
        if all(not void >> (card & 3) & 1 or card >= 52 for card in chosen):
            mask = sum(1 << card for card in chosen)
            for deal in deals_by_hand([card for card in cards if card not in chosen], rest):
                yield (mask, *deal)


@pytest.mark.parametrize(
    ("name", "agent", "num_players"),
    [("cardgames", "random", 4), ("thirteens", "trickster", 4), ("thirteens_dummy", "trickster", 3)],
)
def test_all_deals_that_agree_are_equally_likely(name: str, agent: str, num_players: int) -> None:
    """Late in a round, against every possible deal; with known voids in Thirteens."""
    compared = 0
    for batch in positions(get_rules(name, num_players), 60, agent):
        hidden = [c for c in batch.game.columns.hidden if c != batch.game.columns.key]
        for game in range(batch.num_games):
            row = batch.state.rows[game].tolist()
            seat = int(batch.state.turn[game])
            voids = row[T.VOID] if name.startswith("thirteens") else 0
            columns = [column for column in hidden if column != seat]
            places = [(row[c].bit_count(), voids >> 4 * c & 15 if c < 7 else 0, c) for c in columns if row[c]]
            cards = [card for card in range(54) if any(row[c] >> card & 1 for _, _, c in places)]
            if not 5 <= len(cards) <= 8 or len(places) < 2 or (voids == 0) == name.startswith("thirteens"):
                continue
            deals = set(deals_by_hand(cards, places))
            if not 20 <= len(deals) <= 400:
                continue
            counts: Counter[tuple[int, ...]] = Counter()
            for key in range(10 * len(deals)):
                other = resampled(batch, game, seat, 1_000 * compared + key)
                counts[tuple(other[c] for _, _, c in places)] += 1
            assert counts.keys() <= deals
            assert chi_square(list(counts.values()), len(deals)) < 4
            compared += 1
            if compared == 4:
                return
    raise AssertionError("no such position")


THREE, DUMMY = get_rules("thirteens", 3), replace(get_rules("thirteens_dummy"), jokers=2)
FEW_CARDS = {
    # Who has shown which voids: seat, and its suits as bits from spades on.
    "no_void": (THREE, "3s 4h", "5s 6h", "7c 8d", {}),
    "one_void": (THREE, "3s 4h 3h", "5c 6h 7h", "7s 8d *1", {1: 1}),
    "two_voids": (THREE, "3s 4h 3h", "5s 6c 7c", "7h 8h *1", {1: 8, 2: 1}),
    "dummy": (DUMMY, "3s 4h", "5c 6h", "7d *1", {1: 1, 2: 2, 3: "Kh Ks"}),
    "one_card": (DUMMY, "3s", "5c", "7c", {1: 9, 3: "Kh"}),
}


@pytest.mark.parametrize("name", FEW_CARDS)
@pytest.mark.parametrize("seat", range(3))
def test_few_cards_fall_in_every_way_equally_often(name: str, seat: int) -> None:
    """In plain Python, with and without known voids and a dummy."""
    rules, *hands, more = FEW_CARDS[name]
    extra = {"dummy": parse_cards(more[3])} if 3 in more else {}
    batch = Batch(rules, 1, backend="python")
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0, **extra)
    row = batch.state.rows[0]
    row[T.VOID] = sum(suits << 4 * k for k, suits in more.items() if k < 3 and k != seat)
    columns = [c for c in (0, 1, 2, T.DUMMY) if c != seat and row[c]]
    places = [(int(row[c]).bit_count(), int(row[T.VOID]) >> 4 * c & 15 if c < 7 else 0, c) for c in columns]
    hidden = sum(int(row[c]) for c in columns)
    deals = set(deals_by_hand([card for card in range(54) if hidden >> card & 1], places))
    counts = Counter[tuple[int, ...]]()
    for key in range(12 * len(deals)):
        found = resampled(batch, 0, seat, key)
        counts[tuple(found[c] for c in columns)] += 1
        assert found[seat] == row[seat]
    assert counts.keys() <= deals
    assert len(deals) == 1 or chi_square(list(counts.values()), len(deals)) < 4


def test_whole_hands_with_a_known_void_are_dealt_at_once() -> None:
    batch = Batch(get_rules("thirteens", 4), 1, backend="python")
    batch.deal([1])
    state = batch.state.rows[0]
    state[T.VOID] = 1 << 4  # seat 1 has no spades
    row = resampled(batch, 0, 0, 7)
    assert not row[1] & LOWEST_SUIT
    assert [row[seat].bit_count() for seat in range(4)] == [13] * 4
    assert sum(row[:4]) == int(state[:4].sum())


def opened(hands: list[str], leader: int, *plays: str) -> Batch:
    """A round of cardgames from given hands, after some plays."""
    batch = Batch(get_rules("cardgames", len(hands)), 1, backend="python")
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=leader)
    for cards in plays:
        batch.step([batch.action_table.classify(parse_cards(cards))])
    return batch


def test_a_given_leader_tells_nothing_of_lower_cards() -> None:
    """Seat 0 was given the lead: the 3♠ that is in another hand stays among the hidden cards."""
    deck = [format_cards(sum(1 << card for card in range(seat, 52, 4))) for seat in (1, 0, 2, 3)]
    batch = opened(deck, 0, "3c")
    seen = set()
    for key in range(30):
        row = resampled(batch, 0, 0, key)
        assert [row[seat].bit_count() for seat in range(4)] == [12, 13, 13, 13]
        assert sum(row[:4]) == FULL_DECK & ~2
        seen.add(next(seat for seat in range(1, 4) if row[seat] & 1))
    assert seen == {1, 2, 3}


def test_all_undealt_cards_are_below_the_opening_card() -> None:
    """Three hold the cards from 6♣ on, the lowest dealt: none of the 13 below is in a hand."""
    hands = [format_cards(sum(1 << card for card in range(first, 52, 3))) for first in (13, 14, 15)]
    batch = opened(hands, -1)
    for key in range(5):
        row = resampled(batch, 0, 0, key)
        assert sum(row[:3]) == FULL_DECK & ~((1 << 13) - 1)


def test_the_opening_leaves_lower_cards_in_no_hand() -> None:
    """With two players the lowest card that was dealt opens: cards below it were not dealt."""
    batch = Batch(get_rules("cardgames", 2), 200)
    batch.deal(np.arange(200))
    required = batch.state.rows[:, R.REQUIRED_CARD]
    game = int(np.argmax(required))
    assert required[game] > 8  # cards below were not dealt
    seat = int(batch.state.turn[game])
    held = Counter[int]()
    for key in range(2000):
        row = resampled(batch, game, seat, key)
        assert not row[1 - seat] & (int(required[game]) - 1)
        held.update(card for card in range(52) if row[1 - seat] >> card & 1)
    possible = FULL_DECK & ~(int(batch.state.hands[game, seat]) | int(required[game]) - 1)
    cells = possible.bit_count()
    assert set(held) == {card for card in range(52) if possible >> card & 1}
    # Draws of a hand exclude one another, so the statistic is smaller than for independent ones.
    assert chi_square(held.values(), cells) < 3


def test_a_given_leader_who_plays_a_high_card_may_hold_any_lower_one() -> None:
    """Two players and undealt cards: the lead of the 2♥ was no opening, so the true hand stays possible."""
    batch = Batch("cardgames", 1, num_players=2, backend="python")
    batch.deal([5], leader=0)
    batch.step([batch.action_table.classify(parse_cards("2h"))])
    lowest = min(format_cards(int(batch.state.hands[0, 0])).split(), key=parse_cards)
    held = sum(bool(resampled(batch, 0, 1, key)[0] & parse_cards(lowest)) for key in range(300))
    assert 60 < held < 140, f"12 of 38 unseen cards: {lowest} in {held} of 300 deals"


def test_who_had_to_play_the_highest_single_holds_no_higher_one() -> None:
    rules = replace(get_rules("cardgames", 3), last_card_duty="highest")
    batch = Batch(rules, 1, backend="python")
    hands = ["4s 4c 5c 6s 9s", "7c", "8c 8d Kd As 2h"]
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    batch.step([batch.action_table.classify(parse_cards("9s"))])
    for key in range(300):
        row = resampled(batch, 0, 2, key)
        assert row[0] < parse_cards("9s")
        assert row[0].bit_count() == 4


@pytest.mark.parametrize("preset", ["cardgames", "thirteens"])
def test_the_searches_sample_the_same_deals(preset: str) -> None:
    """Without inference, how often each seat holds each card agrees with the kernel."""
    rules = get_rules(preset)
    batch = next(b for step, b in enumerate(positions(rules, 1)) if step == 17)
    agent = SearchAgent(inference=0.0)
    (decision,) = agent._decisions(View(batch), np.array([0]))
    context, num = SearchContext(rules), 3000
    context.start(decision, agent.options, 0)
    worlds = context.draw(num)
    rows = np.repeat(batch.state.rows, num, axis=0)
    context.fill(rows, worlds)
    seat = int(batch.state.turn[0])
    own = np.array([resampled(batch, 0, seat, key) for key in range(num)])
    hands = [c for c in range(rules.num_players) if c != seat]
    shares = [(found[:, hands, None] >> np.arange(54) & 1).mean(axis=0) for found in (rows, own)]
    assert np.abs(shares[0] - shares[1]).max() < 5 * np.sqrt(0.5 / num)
