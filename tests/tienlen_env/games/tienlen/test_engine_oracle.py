"""The engine beside the oracle: the same random play, compared at every decision.

At least 9,000 decisions a preset by default, 510,000 with ``-m nightly``. Half of the deals are made so that
2s, bombs and short hands are common.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.oracles.oracle import PASS, REWARDS, Cards, Oracle, shape_of
from tests.plays import mask_of
from tests.rare_deals import choose, rare_hands
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK, card_ids, format_cards
from tienlen_env.games.tienlen.actions import TienlenActionTable, build_action_table
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA, PAGAT, PRESETS, Rules, deck_of
from tienlen_env.single.tienlen import Cards as CardSet, Round

NAMES = [name for name, rules in PRESETS.items() if not rules.has_payments]  # the others: test_south_oracle
DECISIONS_A_PRESET = 9_000  # over 3 numbers of players × 2 kinds of episode
DECISIONS_A_CUSTOM = 1_500  # over 3 numbers of players
NIGHTLY_PRESET, NIGHTLY_CUSTOM = 510_000, 120_000
NUM_GAMES = 6

CUSTOM = {
    "ladder": Rules(
        chops={1: ("2x3", "4x1", "2x4"), 2: ("4x1", "2x4")},
        ladder=("2x3", "4x1", "2x4"),
        rejoin=("2x4",),
        chop_longer=False,
    ),
    "ladder_foicica": replace(FOICICA, ladder=("2x3", "4x1", "2x5"), heir="last_live", knockout="round"),
    "no_pass_lock": replace(CARDGAMES, pass_lock=False),
    "no_pass_lock_alone": replace(PAGAT, pass_lock=False, heir="last_live", opening_play="alone", target=9),
    "no_pass_lock_knockout": replace(
        FOICICA, pass_lock=False, rejoin=(), rejoin_twos=False, knockout="trick"
    ),
    "knockout_round": replace(FOICICA, knockout="round", opening_play="free", target=8),
    "knockout_none": replace(FOICICA, knockout="none", heir="last_live"),
    "rejoin_any_trick": replace(FOICICA, rejoin_twos=False),
    "rejoin_all": replace(CARDGAMES, rejoin=("4x1", "2x3"), knockout="trick", opening="every"),
    "no_sequences": Rules(run_min=0, set_run_min=(0, 0, 0), chops={1: ("4x1",)}, target=7),
    "long_runs": Rules(
        run_min=5, set_run_min=(0, 2, 3), twos_in="runs", chops={2: ("3x2",), 4: ("3x3",)}, flush_lock=True
    ),
    "one_run": Rules(run_min=13, set_run_min=(2, 0, 2), twos_in="both", chops={4: ("2x6",), 1: ("4x2",)}),
    "no_bombs": Rules(chops={}, run_min=2, flush_lock=True, opening_play="alone", heir="last_live"),
    "highest_single": replace(CARDGAMES, last_card_duty="highest"),
    "highest_single_of_many": replace(
        FOICICA, last_card_duty="highest", pass_lock=False, rejoin=(), rejoin_twos=False
    ),
    "twos_in_set_runs": Rules(
        twos_in="set_runs", set_run_min=(2, 2, 2), chops={1: ("2x2",), 3: ("2x2", "4x1")}
    ),
}
CUSTOM_POINTS = {
    "odd_points": lambda players: Rules(
        num_players=players, points=(*(4, 1, 1, -2)[: players - 1], -3), target=6
    ),
    "flat_points": lambda players: replace(
        FOICICA, num_players=players, points=(1, 0, 0, 0)[:players], target=3
    ),
}
DECKS = {  # other decks, and other numbers of cards each (1.16)
    "few_cards": lambda players: replace(
        FOICICA, num_players=players, deck=deck_of("3456TJA2", "sch"), cards_each=6, target=5
    ),
    "one_colour": lambda players: Rules(num_players=players, deck=deck_of("345678KA2", "sc"), cards_each=4),
    "one_card_less": lambda players: Rules(
        num_players=min(players, 3), deck=format_cards(FULL_DECK ^ 1 << 2), cards_each=17
    ),
    "seventeen": lambda players: replace(
        CUSTOM["ladder"],
        num_players=min(players, 3),
        cards_each=17,
        chop_longer=True,
        ladder=("2x3", "4x1", "2x4", "2x5", "2x6"),
    ),
}


# ---------------------------------------------------------------- batches


class Pairs:
    """B games of the engine, under each reward scheme, and B oracles that follow them."""

    def __init__(self, rules: Rules, episode: Any, rng: random.Random) -> None:
        self.rules, self.rng = rules, rng
        self.batches = [
            Batch(rules, NUM_GAMES, episode=episode, reward=scheme)  # type: ignore[arg-type]
            for scheme in REWARDS
        ]
        self.batch = self.batches[0]
        self.table: TienlenActionTable = self.batch.action_table
        self.is_match = episode == "game"
        self.known: dict[Cards, tuple[int, int]] = {PASS: (0, 0)}

    def start(self, leader: int | None, rare: bool) -> None:
        keys = np.array([self.rng.randrange(-(2**63), 2**63) for _ in range(NUM_GAMES)])
        hands = [
            rare_hands(self.rng, self.rules.num_players, self.rules.deck_mask, self.rules.cards_each)
            for _ in range(NUM_GAMES)
        ]
        seat = -1 if leader is None else leader
        for batch in self.batches:
            if rare:
                batch.set_hands(np.array(hands), leader=seat)
                batch.state.key[:] = keys  # of the rounds that follow
            else:
                batch.deal(keys, leader=seat)
        self.oracles = [
            Oracle(self.rules, [card_ids(h) for h in row], leader) for row in self.batch.state.hands.tolist()
        ]
        self.round = [0] * NUM_GAMES

    def ids_of(self, cards: Cards) -> tuple[int, int]:
        """Mask and action id of a set of cards."""
        found = self.known.get(cards)
        if found is None:
            mask = mask_of(cards)
            found = self.known[cards] = mask, self.table.classify(mask)
        return found

    def decide(self) -> int:
        """Compare all games, play one decision in each; returns how many were played."""
        state, num_players = self.batch.state, self.rules.num_players
        legal = self.batch.list_legal()
        mask = self.batch.action_mask()
        starts = [*legal.start.tolist(), len(legal.action)]
        actions, cards = legal.action.tolist(), legal.cards.tolist()
        columns = (state.turn, state.owner, state.passed, state.knocked_out, state.table_cards, state.live)
        rows = np.stack(columns, 1).tolist()
        hands, scores, places = state.hands.tolist(), state.scores.tolist(), state.places.tolist()
        ids = np.full(NUM_GAMES, NO_ACTION)
        exact = np.zeros(NUM_GAMES, np.int64)
        count = 0
        for b, oracle in enumerate(self.oracles):
            mine, its = actions[starts[b] : starts[b + 1]], cards[starts[b] : starts[b + 1]]
            assert mine == np.flatnonzero(mask[b]).tolist()
            assert scores[b] == oracle.scores
            assert places[b] == oracle.places
            assert hands[b] == [sum(1 << c for c in hand) for hand in oracle.hands]
            if oracle.over or (oracle.round_over and not self.is_match):
                assert rows[b][0] == -1
                assert mine == []
                continue
            assert rows[b] == [
                oracle.turn,
                -1 if oracle.owner is None else oracle.owner,
                sum(1 << s for s in oracle.passed),
                sum(1 << s for s in oracle.knocked),
                sum(1 << c for c in oracle.table or ()),
                sum(1 << s for s in oracle.live),
            ]
            sets = oracle.legal_sets()
            expected = {self.ids_of(s) for s in sets}
            assert mine == sorted({action for _, action in expected})
            assert set(zip(its, mine, strict=True)) <= expected, (
                "the cards of an action are a legal play of it"
            )
            chosen = choose(self.rng, list(sets))
            exact[b], ids[b] = self.ids_of(chosen)
            oracle.play(chosen)
            count += 1
        if not count:
            return 0
        played = [oracle if ids[b] >= 0 else None for b, oracle in enumerate(self.oracles)]
        ended = [bool(o and (o.over or (o.round_over and not self.is_match))) for o in played]
        for scheme, batch in zip(REWARDS, self.batches, strict=True):
            rewards, dones = batch.step(ids, exact)
            expected_rewards = [o.step_rewards[scheme] if o else [0.0] * num_players for o in played]
            assert np.array_equal(rewards, np.array(expected_rewards, np.float32))
            assert dones.tolist() == ended
        if self.is_match:
            self._next_rounds()
        return count

    def _next_rounds(self) -> None:
        for b, oracle in enumerate(self.oracles):
            if oracle.round_over and not oracle.over:
                self.round[b] += 1
                assert self.batch.state.round[b] == self.round[b]
                oracle.next_round([card_ids(h) for h in self.batch.state.hands[b].tolist()])


def compare(rules: Rules, episode: str, num_decisions: int, seed: str) -> None:
    rng = random.Random(seed)
    pairs = Pairs(rules, episode, rng)
    played, deals = 0, 0
    while played < num_decisions:
        leader = rng.randrange(rules.num_players) if deals % 4 == 3 else None
        pairs.start(leader, rare=deals % 2 == 0)
        deals += 1
        while played < num_decisions:
            count = pairs.decide()
            if not count:
                break
            played += count
    for batch in pairs.batches[1:]:
        assert np.array_equal(batch.state.rows, pairs.batch.state.rows), "rewards change nothing else"


@pytest.mark.parametrize("episode", ["round", "game"])
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_presets(name: str, num_players: int, episode: str) -> None:
    rules = replace(PRESETS[name], num_players=num_players)
    compare(rules, episode, DECISIONS_A_PRESET // 6, f"{name} {num_players} {episode}")


def custom(name: str, num_players: int) -> Rules:
    if name in CUSTOM_POINTS:
        return CUSTOM_POINTS[name](num_players)
    if name in DECKS:
        return DECKS[name](num_players)
    return replace(CUSTOM[name], num_players=num_players)


@pytest.mark.parametrize("name", [*CUSTOM, *CUSTOM_POINTS, *DECKS])
def test_custom_rules(name: str) -> None:
    for num_players, episode in ((2, "game"), (3, "round"), (4, "game")):
        compare(
            custom(name, num_players), episode, DECISIONS_A_CUSTOM // 3, f"{name} {num_players} {episode}"
        )


@pytest.mark.nightly
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", [*NAMES, *CUSTOM, *CUSTOM_POINTS, *DECKS])
def test_nightly(name: str, num_players: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "NUM_GAMES", 48)
    rules = replace(PRESETS[name], num_players=num_players) if name in PRESETS else custom(name, num_players)
    decisions = NIGHTLY_PRESET if name in PRESETS else NIGHTLY_CUSTOM
    for episode in ("round", "game"):
        compare(
            rules,
            episode,
            decisions // 6,
            f"nightly {name} {num_players} {episode}",
        )


# ---------------------------------------------------------------- the scalar API, every set of cards


def refused(round_: Round, cards: Cards) -> None:
    before, plays = round_._rows.copy(), list(round_._plays)
    with pytest.raises((IllegalPlayError, InvalidComboError)):
        round_.play(CardSet(mask_of(cards)))
    assert np.array_equal(round_._rows, before)
    assert round_._plays == plays


@pytest.mark.parametrize("name", [*NAMES, *CUSTOM, *CUSTOM_POINTS, *DECKS])
def test_exact_plays_of_a_round(name: str) -> None:
    """`legal_plays(exact=True)` is the oracle's set of sets; any other set of cards is refused."""
    rng = random.Random(f"exact {name}")
    for game in range(6):
        num_players = 2 + game % 3
        rules = (
            replace(PRESETS[name], num_players=num_players) if name in PRESETS else custom(name, num_players)
        )
        each, deck = rules.cards_each, card_ids(rules.deck_mask)
        hands = rare_hands(rng, rules.num_players, rules.deck_mask, each)
        if game % 4 == 0:
            deck = rng.sample(deck, len(deck))
            hands = [mask_of(deck[each * s : each * s + each]) for s in range(rules.num_players)]
        leader = rng.choice((None, 0))
        oracle = Oracle(rules, [card_ids(h) for h in hands], leader)
        backend = "python" if game % 6 == 5 else "numba"
        round_ = Round.from_hands(rules, hands, leader=leader, backend=backend)  # type: ignore[arg-type]
        while not oracle.round_over:
            sets = oracle.legal_sets()
            plays = round_.legal_plays(exact=True)
            assert len(plays) == len(sets)
            assert {frozenset(p) for p in plays} == sets
            assert [p.action for p in plays] == sorted(p.action for p in plays)
            assert oracle.turn is not None
            held = sorted(oracle.hands[oracle.turn])
            for _ in range(4):
                some = frozenset(rng.sample(held, rng.randint(0, min(6, len(held)))))
                if some not in sets:
                    refused(round_, some)
            stranger = rng.choice([c for c in range(52) if c not in held])
            refused(round_, frozenset({stranger}))
            chosen = choose(rng, list(sets))
            oracle.play(chosen)
            round_.play(CardSet(mask_of(chosen)))
        assert round_.is_over
        assert list(round_.places) == oracle.places
        assert list(round_.scores) == oracle.scores


def test_the_deals_make_rare_events_common() -> None:
    """What the comparison above relies on: bombs on 2s, on bombs, three 2s and more."""
    rng = random.Random(1)
    chops = higher_bombs = sets_of_twos = finishers_beaten = 0
    for game in range(300):
        num_players = 2 + game % 3
        oracle = Oracle(
            replace(FOICICA, num_players=num_players), [card_ids(h) for h in rare_hands(rng, num_players)]
        )
        while not oracle.round_over:
            table, owner = oracle.table, oracle.owner
            chosen = choose(rng, list(oracle.legal_sets()))
            if chosen and table:
                shape = shape_of(oracle.rules, chosen)
                chops += min(table) >= 48 and shape != shape_of(oracle.rules, table)
                higher_bombs += len(table) > 3 and shape in ((4, 1), (2, 3), (2, 4))
                sets_of_twos += len(chosen) > 1 and min(chosen) >= 48
                finishers_beaten += owner not in oracle.live
            oracle.play(chosen)
    assert min(chops, higher_bombs, sets_of_twos, finishers_beaten) > 20


def test_tables_are_built_once() -> None:
    assert build_action_table(CARDGAMES) is build_action_table(Rules())


def test_a_batch_refuses_without_moving_any_game() -> None:
    batch = Batch("cardgames", 3)
    batch.deal(np.array([1, 2, 3]))
    before = batch.state.rows.copy()
    ids = batch.sample(np.random.default_rng(0))
    ids[2] = 0  # a leader may not pass
    with pytest.raises(TienLenError, match=r"game 2: action 0 \(pass\) is not legal"):
        batch.step(ids)
    assert np.array_equal(batch.state.rows, before)
