"""The engine beside the oracle of `south`, `south_count`, `north` and rules like them, payment by payment.

Some 2,000 decisions a preset by default. With ``-m nightly`` 100,000 a preset and number of players, and
as many for each value of a field that no preset has; a ninth for other rules. Most deals are made so that
2s, bombs and short hands are common.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.app_rules import DECKS, LAST_CARD
from tests.oracles.oracle_south import DECLARE, Oracle, find_instant
from tests.plays import mask_of
from tests.rare_deals import bound_hands, choose, rare_hands
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.tienlen.rules import (
    NORTH,
    PRESETS,
    QUAD,
    SOUTH,
    SOUTH_COUNT,
    Rules,
    Shape,
)
from tienlen_env.single.tienlen import Cards as CardSet, Round

NAMES = [name for name, rules in PRESETS.items() if rules.has_payments]
DECISIONS_A_PRESET = 2_100  # over 3 numbers of players
DECISIONS_A_CUSTOM = 300
NIGHTLY_DECISIONS = 105_000
NUM_GAMES = 4
ALL_PATTERNS = (
    *("three_quads", "one_suit", "dragon", "four_twos", "triple_run", "five_pair_run"),
    *("three_triples", "six_pairs", "one_colour", "four_threes"),
)

CUSTOM = {
    "each_doubles": replace(
        SOUTH, chop_chain="each", chop_doubles=True, chop_out="nobody", held_to="first", heir="last_live"
    ),
    "nobody": replace(SOUTH, chop_out="nobody", cong="plays_on", held_overlap="quads_first"),
    "no_lock": replace(SOUTH, pass_lock=False, rejoin=(), instant_wins=ALL_PATTERNS, quad_is_two_pairs=False),
    "pairs_of_twos_by_2x4_alone": replace(
        SOUTH,
        chops={1: ("2x3", "4x1", "2x4"), 2: ("2x4",)},
        twos_in="both",
        pay_cong=0,
        rejoin=("4x1", "2x3"),
    ),
    "rejoin_twos": replace(SOUTH, rejoin=("2x3", "4x1", "2x4"), rejoin_twos=True, chop_chain="each"),
    "count_and_penalties": replace(
        SOUTH_COUNT, last_two="ends", pay_last_two=5, pay_last_three=7, held_overlap="quads_first"
    ),
    "north_with_places": replace(
        NORTH,
        round_end="last",
        pay_card=0,
        pay_cong=3,
        pay_places=(2, 1),
        chop_follow="paid",
        chop_chain="last",
        held_to="next",
        rejoin=("2x4",),
        instant_wins=ALL_PATTERNS,
    ),
    "bound_south": replace(SOUTH, suits_bind=True, pay_last_three=4, pay_instant=0),
    **LAST_CARD,
    "one_price": Rules(
        pay_chop_twos=(0, 3), chop_doubles=True, chop_chain="each", ladder=(Shape(2, 3), QUAD)
    ),
}


# ---------------------------------------------------------------- deals


def some_deal(rng: random.Random, rules: Rules) -> tuple[list[int], int | None]:
    """Masks of the hands, and who leads. Few deals are instant wins, many have the 3♠ and short hands."""
    while True:
        leader = rng.choice((None, *range(rules.num_players)))
        style = rng.random()
        if style < 0.25:
            each, deck = rules.cards_each, card_ids(rules.deck_mask)
            deck = rng.sample(deck, len(deck))
            hands = [mask_of(deck[each * s : each * s + each]) for s in range(rules.num_players)]
        elif style < 0.6 or not rules.suits_bind or rules.deck or rules.cards_each != 13:
            hands = rare_hands(rng, rules.num_players, rules.deck_mask, rules.cards_each)
        else:
            hands = bound_hands(rng, rules.num_players)
        instant = find_instant(rules, [card_ids(h) for h in hands], first_game=leader is None)
        if instant is None or rng.random() < 0.15:
            return hands, leader


# ---------------------------------------------------------------- batches


class Pairs:
    """Games of the engine and oracles that follow them."""

    def __init__(self, rules: Rules, rng: random.Random, backend: BackendName) -> None:
        self.rules, self.rng = rules, rng
        self.batch = Batch(rules, NUM_GAMES, reward="payments", backend=backend)
        self.seen: Counter[str] = Counter()

    def start(self) -> None:
        deals = [some_deal(self.rng, self.rules) for _ in range(NUM_GAMES)]
        leaders = np.array([-1 if leader is None else leader for _, leader in deals])
        self.batch.set_hands(np.array([hands for hands, _ in deals]), leader=leaders)
        self.oracles = [Oracle(self.rules, [card_ids(h) for h in hands], leader) for hands, leader in deals]

    def ids_of(self, cards: frozenset[int]) -> tuple[int, int]:
        """Mask and action id of a play."""
        if cards == DECLARE:
            declare = self.batch.action_table.declare
            assert declare is not None
            return 0, declare
        return mask_of(cards), self.batch.action_table.classify(mask_of(cards))

    def decide(self) -> int:
        """Compare all games, play one decision in each; returns how many were played."""
        state, num_players = self.batch.state, self.rules.num_players
        legal = self.batch.list_legal()
        mask = self.batch.action_mask()
        starts = [*legal.start.tolist(), len(legal.action)]
        actions, cards = legal.action.tolist(), legal.cards.tolist()
        columns = (state.turn, state.owner, state.passed, state.table_cards, state.live)
        rows = np.stack(columns, 1).tolist()
        ids = np.full(NUM_GAMES, NO_ACTION)
        exact = np.zeros(NUM_GAMES, np.int64)
        count = 0
        for b, oracle in enumerate(self.oracles):
            mine, its = actions[starts[b] : starts[b + 1]], cards[starts[b] : starts[b + 1]]
            assert mine == np.flatnonzero(mask[b]).tolist()
            assert state.places[b].tolist() == oracle.places
            assert state.hands[b].tolist() == [mask_of(hand) for hand in oracle.hands]
            assert Counter(map(tuple, self.batch.payments(b))) == as_counter(oracle.ledger)
            assert self.batch.balances[b].tolist() == oracle.net(oracle.ledger)
            if oracle.round_over:
                assert rows[b][0] == -1
                assert mine == []
                continue
            assert rows[b] == [
                oracle.turn,
                -1 if oracle.owner is None else oracle.owner,
                sum(1 << s for s in oracle.passed),
                sum(1 << c for c in oracle.table or ()),
                sum(1 << s for s in oracle.live),
            ]
            assert Counter(map(tuple, self.batch.owed(b))) == as_counter(oracle.owed())
            sets = oracle.legal_sets()
            expected = {self.ids_of(s) for s in sets}
            assert mine == sorted({action for _, action in expected})
            assert set(zip(its, mine, strict=True)) <= expected
            if self.rules.suits_bind:
                assert len(mine) == len(sets), "the action table is exact"
            chosen = self._choose(sets)
            exact[b], ids[b] = self.ids_of(chosen)
            oracle.play(chosen)
            self.seen.update(payment.cause for payment in oracle.booked)
            count += 1
        rewards, dones = self.batch.step(ids, exact)
        booked = [
            o.net(o.booked) if action >= 0 else [0] * num_players
            for o, action in zip(self.oracles, ids.tolist(), strict=True)
        ]
        assert rewards.tolist() == booked
        assert (rewards.sum(axis=1) == 0).all()
        assert dones.tolist() == [
            o.round_over and action >= 0 for o, action in zip(self.oracles, ids.tolist(), strict=True)
        ]
        return count

    def _choose(self, sets: set[frozenset[int]]) -> frozenset[int]:
        """Often without the 3♠, so that it is sometimes the last card (4.28)."""
        plays = sorted(sets, key=sorted)
        if self.rng.random() < 0.5:
            plays = [p for p in plays if 0 not in p] or plays
        return plays[0] if plays[0] == DECLARE else choose(self.rng, plays)


def as_counter(payments: list) -> Counter[tuple]:
    return Counter((p.payer, p.payee, p.amount, p.cause) for p in payments)


def compare(rules: Rules, num_decisions: int, seed: str, backend: BackendName) -> Counter[str]:
    pairs = Pairs(rules, random.Random(seed), backend)
    played = 0
    while played < num_decisions:
        pairs.start()
        while count := pairs.decide():
            played += count
    return pairs.seen


CAUSES = {
    "south": {"chop", "place", "cong", "held_twos", "held_bombs", "instant"},
    "south_count": {"chop", "cards", "cong", "held_twos", "held_bombs", "instant"},
    "south_winner": {"chop", "stake", "cong", "held_twos", "held_bombs", "instant"},
    "north": {"chop", "cards", "cong", "held_twos", "held_bombs", "instant", "last_two", "last_three"},
}


@pytest.mark.parametrize("name", NAMES)
def test_presets(name: str) -> None:
    """Legal plays, state and payments after every play; every cause of a payment comes up."""
    seen: Counter[str] = Counter()
    for num_players in (2, 3, 4):
        rules = replace(PRESETS[name], num_players=num_players)
        seen += compare(rules, DECISIONS_A_PRESET // 3, f"{name} {num_players}", "numba")
    assert set(seen) == CAUSES[name]


@pytest.mark.parametrize("name", NAMES)
def test_presets_in_python(name: str) -> None:
    compare(PRESETS[name], 150, f"python {name}", "python")


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_rules(name: str) -> None:
    for num_players in (2, 3, 4):
        rules = replace(CUSTOM[name], num_players=num_players)
        compare(rules, DECISIONS_A_CUSTOM // 3, f"{name} {num_players}", "numba")


@pytest.mark.parametrize("name", DECKS)
def test_other_decks(name: str) -> None:
    share = 4 if DECKS[name].cards_each > 13 else 2  # the oracle takes ten times as long
    compare(DECKS[name], DECISIONS_A_CUSTOM // share, f"deck {name}", "numba")


@pytest.mark.nightly
@pytest.mark.parametrize("name", DECKS)
def test_nightly_other_decks(name: str) -> None:
    share = 10 if DECKS[name].cards_each > 13 else 1  # the oracle takes ten times as long
    compare(DECKS[name], NIGHTLY_DECISIONS // share, f"nightly deck {name}", "numba")


@pytest.mark.nightly
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", [*NAMES, *CUSTOM])
def test_nightly(name: str, num_players: int) -> None:
    rules = replace(PRESETS[name] if name in PRESETS else CUSTOM[name], num_players=num_players)
    share = 1 if name in PRESETS else 2 if name in LAST_CARD else 9  # two rules or three a value
    compare(rules, NIGHTLY_DECISIONS // share, f"nightly {name} {num_players}", "numba")


# ---------------------------------------------------------------- the scalar API, every set of cards


def refused(round_: Round, cards: frozenset[int]) -> None:
    before = round_._rows.copy()
    with pytest.raises((IllegalPlayError, InvalidComboError)):
        round_.play(CardSet(mask_of(cards)))
    assert np.array_equal(round_._rows, before)


@pytest.mark.parametrize("name", [*NAMES, *CUSTOM])
def test_exact_plays_of_a_round(name: str) -> None:
    """`legal_plays(exact=True)` is the oracle's set of sets; any other set of cards is refused."""
    rng = random.Random(f"exact {name}")
    for game in range(8):
        rules = replace(PRESETS[name] if name in PRESETS else CUSTOM[name], num_players=2 + game % 3)
        hands, leader = some_deal(rng, rules)
        oracle = Oracle(rules, [card_ids(h) for h in hands], leader)
        round_ = Round.from_hands(rules, hands, leader=leader)
        while not oracle.round_over:
            sets = oracle.legal_sets()
            if sets == {DECLARE}:
                assert [str(p) for p in round_.legal_plays(exact=True)] == ["declare"]
                oracle.play(DECLARE)
                round_.play("declare")
                break
            plays = round_.legal_plays(exact=True)
            assert len(plays) == len(sets)
            assert {frozenset(p) for p in plays} == sets
            assert oracle.turn is not None
            held = sorted(oracle.hands[oracle.turn])
            for _ in range(4):
                some = frozenset(rng.sample(held, rng.randint(0, min(6, len(held)))))
                if some not in sets:
                    refused(round_, some)
            chosen = choose(rng, sorted(sets, key=sorted))
            oracle.play(chosen)
            round_.play(CardSet(mask_of(chosen)))
        assert round_.is_over
        assert list(round_.places) == oracle.places
        assert Counter(map(tuple, round_.payments())) == as_counter(oracle.ledger)
