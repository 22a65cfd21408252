"""Sampled deals of the hidden cards against all deals that agree with what is public.

The oracle lists every deal of a small deck, plays the round once more with it, and keeps the deals in which
each play is legal and nothing differs that a seat sees: turns, tables, places, rewards, payments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tienlen_agents.search import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen import hidden, spec as S, state as R
from tienlen_env.games.tienlen.rules import PRESETS, Rules, deck_of, get_rules

LOW, SOME, HIGH = deck_of("345", "scdh"), deck_of("3A2", "scdh"), deck_of("6789", "sch")
# Decks and cards for each of P players, so that the deals can be listed: with undealt cards and without.
SIZES = {2: ((LOW, 5), (SOME, 4)), 3: ((LOW, 3), (SOME, 3), (HIGH, 4)), 4: ((LOW, 3), (SOME, 2), (HIGH, 3))}


def small(rules: str | Rules, num_players: int, deck: str, cards_each: int, **fields: Any) -> Rules:
    """A variant with a small deck."""
    named = get_rules(rules) if isinstance(rules, str) else rules
    return replace(named, num_players=num_players, deck=deck, cards_each=cards_each, **fields)


DUTIES = [
    {"last_card_duty": "highest"},
    {"last_card_duty": "highest", "pass_lock": False},
    {"opening_play": "free"},
    {"opening_play": "alone", "opening": "every"},
]
VARIANTS = [
    *(small(name, p, *size) for name in PRESETS for p in SIZES for size in SIZES[p][:2]),
    *(small("cardgames", p, *SIZES[p][-1], **more) for p in SIZES for more in DUTIES),
    *(small("north", p, *SIZES[p][-1], **more) for p in SIZES for more in DUTIES),
    *(small("cardgames", p, HIGH, 3, last_card_duty="pays", pay_first=1) for p in (3, 4)),
]  # fmt: skip


class Play(NamedTuple):
    """One step of a round: who played what, and what it earned."""

    action: int
    cards: int
    rewards: npt.NDArray[np.float32]


class Position(NamedTuple):
    """A position of a round, who was given the lead (-1: by the deal), and the plays so far."""

    batch: Batch
    leader: int
    plays: tuple[Play, ...]

    @property
    def dealt(self) -> npt.NDArray[np.int64]:
        """int64 (P,)."""
        state = self.batch.state
        return state.hands[0] | state.played[0]


def positions(rules: Rules, seed: int, leader: int = -1) -> Iterator[Position]:
    """The positions of a round of random play that begins by the deal, or with a given leader."""
    rng = np.random.default_rng(seed)
    reward: Any = "payments" if rules.has_payments else "points"
    batch = Batch(rules, 1, reward=reward, history_length=200)
    batch.deal([seed], leader=leader)
    plays: tuple[Play, ...] = ()
    while batch.state.turn[0] >= 0:
        yield Position(batch.copy(), leader, plays)
        legal = batch.list_legal()
        # The pass or a low single, mostly, so that players get to one card at different times.
        chosen = min(rng.integers(len(legal.action), size=2)) if rng.random() < 0.7 else -1
        action, cards = int(legal.action[chosen]), int(legal.cards[chosen])
        plays = (*plays, Play(action, cards, batch.step([action], [cards])[0].copy()))


def public(batch: Batch) -> npt.NDArray[np.int64]:
    """What every seat sees: no hidden columns, no legal actions, nothing that is kept for samplers."""
    spec = batch.kernel_arrays.spec
    columns = [c for c in range(int(spec[S.PLAY_SUMMARY])) if c not in R.HIDDEN]
    columns = [c for c in columns if not R.LEGAL <= c < spec[S.EXTRA] and not spec[S.DUTY] <= c]
    rows = batch.state.rows[:, columns]
    return np.concatenate([rows, batch.state.num_cards_left], axis=1)


def deals_of(position: Position, seat: int) -> npt.NDArray[np.int64]:
    """All hands at the deal, int64 (N, P), whose own part and whose played cards are the true ones."""
    state, rules = position.batch.state, position.batch.rules
    played, hands = state.played[0].tolist(), state.hands[0].tolist()
    pool = rules.deck_mask & ~(sum(played) | hands[seat])
    unseen = [1 << c for c in range(52) if pool >> c & 1]
    deals = [[0] * rules.num_players]
    for other in range(rules.num_players):
        if other == seat:
            deals = [[*deal[:other], hands[seat], *deal[other + 1 :]] for deal in deals]
            continue
        deals = [
            [*deal[:other], sum(chosen), *deal[other + 1 :]]
            for deal in deals
            for chosen in combinations(
                [c for c in unseen if not any(c & deal[i] for i in range(other) if i != seat)],
                hands[other].bit_count(),
            )
        ]
    return np.array(deals, np.int64) | state.played[0]


def num_deals(position: Position, seat: int) -> int:
    """How many `deals_of` lists."""
    state, rules = position.batch.state, position.batch.rules
    sizes = [int(n) for s, n in enumerate(state.num_cards_left[0]) if s != seat]
    left = rules.deck_mask.bit_count() - int(np.bitwise_count(state.played[0]).sum())
    left -= int(state.num_cards_left[0, seat])
    total = 1
    for size in sizes:
        total *= len(list(combinations(range(left), size))) if left < 20 else 10**9
        left -= size
    return total


def agreeing(position: Position, seat: int) -> set[tuple[int, ...]]:
    """The hands now, by seat, of all deals that agree with what a seat has seen."""
    rules, dealt = position.batch.rules, deals_of(position, seat)
    begin: Any = "payments" if rules.has_payments else "points"
    true, other = (Batch(rules, n, reward=begin) for n in (1, len(dealt)))
    true.set_hands([position.dealt], leader=position.leader)
    other.set_hands(dealt, leader=position.leader)

    def kept(batch: Batch) -> Batch:
        return batch.select((public(batch) == public(true)).all(axis=1))

    other = kept(other)
    for action, cards, rewards in position.plays:
        turn = true.state.turn[0]
        is_legal = other.action_mask()[:, action] == 1
        other = other.select(is_legal & (other.state.hands[:, turn] & cards == cards))
        true.step([action], [cards])
        found, _ = other.step(np.full(other.num_games, action), np.full(other.num_games, cards))
        other = other.select((found == rewards).all(axis=1))
        other = kept(other)
    return {tuple(hands) for hands in other.state.hands.tolist()}


def resampled(position: Position, seat: int, keys: list[int]) -> list[tuple[int, ...]]:
    """Hands of the kernel, in plain Python."""
    spec, row = position.batch.kernel_arrays.spec.tolist(), position.batch.state.rows[0].tolist()
    found = []
    for key in keys:
        other = row.copy()
        hidden.resample_hidden(other, spec, seat, key)
        found.append(tuple(other[: position.batch.num_players]))
    return found


class Fit:
    """Whether draws are uniform over cells: one chi-square statistic over many positions."""

    def __init__(self) -> None:
        self.statistic, self.freedom, self.draws = 0.0, 0, 0

    def add(self, draws: list[tuple[int, ...]], cells: set[tuple[int, ...]]) -> None:
        """Take the draws of a position; all are among the cells."""
        counts = Counter(draws)
        assert counts.keys() <= cells, f"{len(counts.keys() - cells)} impossible deals"
        expected = len(draws) / len(cells)
        self.statistic += sum((counts[cell] - expected) ** 2 / expected for cell in cells)
        self.freedom += len(cells) - 1
        self.draws += len(draws)

    def check(self, least: int) -> None:
        """Enough draws, and the statistic as near to its mean as that of uniform ones."""
        assert self.draws >= least
        assert abs(self.statistic - self.freedom) < 4.5 * np.sqrt(2 * self.freedom)


def facts_of(position: Position, seat: int) -> set[str]:
    """Which kinds of public facts there are about the other hands."""
    row, spec, found = position.batch.state.rows[0], position.batch.kernel_arrays.spec, set()
    rules, others = position.batch.rules, [s for s in range(position.batch.num_players) if s != seat]
    if row[spec[S.EXTRA] + R.BEGUN]:
        found.add(f"opened, {rules.opening_play}")
    if position.batch.state.must_declare[0]:
        found.add("declares")
    if rules.flat()["pay_last_three"] and any(hidden.impossible_cards(row, spec, s) & 1 for s in others):
        found.add("not the last three")
    if rules.last_card_duty != "none":
        duty = int(spec[S.DUTY])
        if any(row[duty + R.EXCLUDED + s] for s in others):
            found.add(f"excluded, {rules.last_card_duty}")
        if row[duty + R.HELD_ONE_OF] and row[spec[S.EXTRA] + R.LIABLE] - 1 in others:
            found.add("liable")
    return found


FACTS = {
    "opened, include", "opened, alone", "opened, free", "declares", "not the last three", "excluded, highest",
    "excluded, pays", "liable",
}  # fmt: skip


def cases(
    rounds: int, share: float, only_turn: bool
) -> Iterator[tuple[Position, int, set[tuple[int, ...]], np.random.Generator]]:
    """Positions of all variants, by the deal and with given leaders; who asks, and all deals that agree.

    Args:
        rounds: of each variant.
        share: of the positions.
        only_turn: only the seat to act asks, or another one, too.
    """
    seen: Counter[str] = Counter()
    for index, rules in enumerate(VARIANTS):
        is_rare = rules.last_card_duty == "pays"  # only positions where it tells anything are of interest
        for seed in range(rounds * 30 if is_rare else rounds):
            leader = -1 if seed % 2 else seed // 2 % rules.num_players
            for position in positions(rules, 1000 * index + seed, leader):
                rng = np.random.default_rng((index, seed, len(position.plays)))
                turn = int(position.batch.state.turn[0])
                for seat in {turn} if only_turn else {turn, int(rng.integers(rules.num_players))}:
                    facts = facts_of(position, seat)
                    rare = facts & {"declares", "excluded, pays", "liable", "excluded, highest"}
                    chance = 1 if rare else 0 if is_rare else share
                    if rng.random() < chance and 2 <= num_deals(position, seat) <= 150:
                        cells = agreeing(position, seat)
                        assert tuple(position.batch.state.hands[0].tolist()) in cells
                        seen.update(facts)
                        yield position, seat, cells, rng
    assert seen.keys() == FACTS


ORDINARY_OR_NIGHTLY = [
    pytest.param(3, 0.08, 10_000, id="some"),
    pytest.param(20, 0.6, 200_000, marks=pytest.mark.nightly, id="many"),
]


@pytest.mark.parametrize(("rounds", "share", "least"), ORDINARY_OR_NIGHTLY)
def test_the_kernel_draws_exactly_the_deals_that_agree(rounds: int, share: float, least: int) -> None:
    fit = Fit()
    for position, seat, cells, rng in cases(rounds, share, False):
        fit.add(resampled(position, seat, rng.integers(2**62, size=3 * len(cells)).tolist()), cells)
    fit.check(least)


@pytest.mark.parametrize(("rounds", "share", "least"), ORDINARY_OR_NIGHTLY)
def test_the_search_draws_and_lists_exactly_the_deals_that_agree(
    rounds: int, share: float, least: int
) -> None:
    """Worlds without inference are uniform; with it, and with card weights, they are among the same."""
    fit = Fit()
    for position, _, cells, rng in cases(rounds, share, True):
        view, rules = View(position.batch), position.batch.rules
        if view.num_legal[0] < 2:
            continue
        context, weights = SearchContext(rules), rng.uniform(0.01, 10, (rules.num_players - 1, 52))
        for inference, card_weights in ((0.0, None), (0.9, None), (0.0, weights), (0.9, weights)):
            agent = SearchAgent(inference=inference)
            (decision,) = agent._decisions(view, np.array([0]))
            if card_weights is not None:
                decision = decision._replace(card_weights=card_weights)
            is_uniform = inference == 0 and card_weights is None
            context.start(decision, agent.options, 0)
            worlds = context.draw(10 * len(cells) if is_uniform else 30)[:, : rules.num_players]
            drawn = list(map(tuple, worlds.tolist()))
            if is_uniform:
                fit.add(drawn, cells)
            assert set(drawn) <= cells
            arguments = decision, agent.options, context.workspace, context.memory
            if num := int(context._loops.begin_estimate(*arguments)):
                listed, logs = np.empty((num, 5), np.int64), np.empty(num)
                context._loops.list_worlds(*arguments, listed, logs)
                possible = listed[logs > -np.inf][:, : rules.num_players]
                assert set(map(tuple, possible.tolist())) == cells
    fit.check(least)


@pytest.mark.parametrize("num_positions", [1_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_on_whole_decks_the_truth_is_always_possible(num_positions: int) -> None:
    duties = [
        replace(get_rules(name, p), last_card_duty=duty)
        for name, duty in (("cardgames", "highest"), ("north", "highest"), ("south", "pays"))
        for p in SIZES
    ]
    variants = [*(get_rules(name, p) for name in PRESETS for p in SIZES), *duties]
    found = 0
    for seed in range(num_positions):
        rules = variants[seed % len(variants)]
        for position in positions(rules, seed, seed % (rules.num_players + 1) - 1):
            row, spec = position.batch.state.rows[0].tolist(), position.batch.kernel_arrays.spec.tolist()
            for seat in range(rules.num_players):
                assert hidden.deal_agrees(row, spec, seat, row)
                assert not hidden.cards_below_all(row, spec, seat) & sum(row[: rules.num_players])
                assert not any(
                    hidden.impossible_cards(row, spec, s) & row[s] for s in range(rules.num_players)
                )
            found += 1
        if found >= num_positions:
            return
