"""The desk of Thirteens: its worlds, and deals played out by the rule-based player `trickster`.

All cards are dealt, and all see the remainder, the dummy's cards once flipped, and who could not follow (or
not lead the starter suit, RULES.md 8.4). Every deal that agrees with this is equally likely
(`tienlen_agents.search.deals`). What the dummy flips next is drawn with the world. How somebody played is not
looked at: ``inference`` changes nothing.

When melds are declared (8.11), the best ones are; while a deal is played out they count at once.
"""

from __future__ import annotations

import sys
from dataclasses import astuple, replace
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numba import njit

from tienlen_agents.rule_based import trickster
from tienlen_agents.search import deals, worlds
from tienlen_agents.search.loops import FloatArray, IntArray, Position, seed_of
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import overloads as numba_bits
from tienlen_env.engine.backends.build import build_of
from tienlen_env.games.common.bits import popcount
from tienlen_env.games.thirteens import kernels
from tienlen_env.games.thirteens import spec as S
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.game import THIRTEENS
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.spec import build_spec

NUM_PLACES: Final = 8  # where a hidden card can be: seven seats, the dummy's hand; as the columns of a row
WORLD_SIZE: Final = NUM_PLACES + 1  # and the key, by which the dummy's cards are flipped


class Desk:
    """The memory of one search at a time, for one variant of Thirteens.

    It implements `tienlen_agents.search.games.AnyDesk`.

    Args:
        rules: the variant.
    """

    def __init__(self, rules: ThirteensRules) -> None:
        self.rules = rules
        self.times = 1.0
        self.player = trickster.TricksterAgent()
        self.weights = np.array(astuple(self.player.weights))
        self.spec, self.actions = build_spec(replace(rules, melding="auto"))
        self.row = np.zeros(int(self.spec[S.ROW_SIZE]), np.int64)
        self.ids, self.cards = np.zeros((2, int(self.spec[S.NUM_ACTIONS])), np.int64)
        self.rewards = np.zeros(rules.num_players)
        self.stream = np.zeros(1, np.int64)
        self.size, self.void = np.zeros((2, NUM_PLACES), np.int64)
        self.plan = np.zeros((deals.PLAN_ROWS, NUM_PLACES), np.int64)
        self.suits = np.zeros(deals.NUM_SUITS + 1, np.int64)
        self.ways = np.zeros((deals.NUM_SUITS + 1, 1))

    def glance(self, view: View) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Choose without search: the rule-based player's choices, and the best melds."""
        return self.player.act(view), (view.num_legal > 1) & (view.public_state.pile == 0)

    def begin(self, position: Position, seed: int, inference: float, effort: float = 1.0) -> bool:
        """Turn to a decision; what is drawn for it depends on the position and the seed alone.

        Args:
            position: the decision.
            seed: of its randomness.
            inference: not read.
            effort: not read.

        Returns:
            Whether there may be more than one world.
        """
        self._position = position
        self.stream[0] = seed_of(position, seed)
        loops().begin(
            position.public, position.num_left, self.spec, self.size, self.void, self.plan, self.suits
        )
        num_states = int(self.plan[deals.NUMBERS, 2])
        if self.ways.shape[1] < num_states:
            self.ways = np.zeros((deals.NUM_SUITS + 1, num_states))
        loops().count(self.plan, self.suits, self.ways)
        return bool(np.count_nonzero(self.size) > 1)

    def draw(self, num_worlds: int) -> IntArray:
        """int64 (num_worlds, 9): the next worlds; the cards of seven seats and of the dummy, and a key."""
        out = np.empty((num_worlds, WORLD_SIZE), np.int64)
        loops().draw(out, self._position.public, self.stream, self.plan, self.suits, self.ways)
        return out

    def evaluate(self, drawn: IntArray, alive: IntArray, first_bonus: float) -> FloatArray:
        """float64 (worlds, len(alive)): what each of these candidates earns in each world, played out."""
        values = np.zeros((len(drawn), len(alive)))
        loops().evaluate(
            drawn, self._position.public, self._position.candidates[alive], first_bonus, values, self.spec,
            self.actions, self.weights, self.row, self.ids, self.cards, self.rewards,
        )  # fmt: skip
        return values

    def fill(self, rows: IntArray, drawn: IntArray) -> None:
        """Put worlds (n, 9) into the hidden columns of states (n, ROW)."""
        rows[:, R.HAND : R.DUMMY + 1] = drawn[:, :NUM_PLACES]
        rows[:, R.KEY] = drawn[:, NUM_PLACES]


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


@_jit
def find_room(row: Any, num_left: Any, spec: Any, size: Any, void: Any) -> int:
    """What is known of the hidden cards.

    Args:
        row: public state; of the hands only the one to move is filled in.
        num_left: int64 (P,), cards in each hand.
        spec: the variant.
        size: int64 (8,), gets how many hidden cards each place has.
        void: int64 (8,), gets the suits in which each is void.

    Returns:
        The hidden cards, as a mask.
    """
    turn = row[R.TURN]
    seen = row[R.SHOWN] | row[R.HAND + turn]
    for place in range(NUM_PLACES):
        size[place], void[place] = 0, 0
    for seat in range(spec[S.NUM_PLAYERS]):
        seen |= row[R.PLAYED + seat]
        if seat != turn:
            size[seat], void[seat] = num_left[seat], row[R.VOID] >> 4 * seat & 15
    hidden: int = ((1 << spec[S.NUM_CARDS]) - 1) & ~seen
    size[R.DUMMY] = popcount(hidden)
    for seat in range(spec[S.NUM_PLAYERS]):
        size[R.DUMMY] -= size[seat]
    return hidden


@_jit
def play_out(
    row: Any, spec: Any, actions: Any, weights: Any, card: int, ids: Any, cards: Any, rewards: Any
) -> None:
    """Play a card, and then the deal to its end, everyone by the rules of `trickster`.

    Args:
        row: the deal, melded automatically; it is changed.
        spec: the variant.
        actions: its action table.
        weights: see `tienlen_agents.rule_based.trickster.choose_card`.
        card: legal.
        ids: scratch, as `cards`.
        cards: scratch.
        rewards: P numbers, to which all rewards are added.
    """
    while True:
        kernels.play(row, spec, actions, card, 1 << card, rewards)
        if row[R.TURN] < 0:
            return
        kernels.update_legal(row, spec, actions)
        end = kernels.list_legal(row, spec, actions, ids, cards, 0)
        card = ids[0]
        if end > 1:
            card = trickster.choose_card(row, spec, weights, ids, 0, end)


@cache
def loops() -> SimpleNamespace:
    """All loops, compiled when first called."""
    numba_bits.teach(THIRTEENS)
    build = build_of((*THIRTEENS.sources, numba_bits, trickster, worlds, deals, sys.modules[__name__]))

    def jit(function: Any) -> Any:
        return njit(function, cache=True, nogil=True, _nrt=False)

    @jit
    def begin(public, num_left, spec, size, void, plan, suits):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        deals.arrange(find_room(public, num_left, spec, size, void), size, void, plan, suits)

    @jit
    def count(plan, suits, ways):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        deals.count_deals(plan, suits, ways)

    @jit
    def draw(out, public, stream, plan, suits, ways):  # type: ignore[no-untyped-def]
        build  # noqa: B018
        seat = public[R.TURN]
        for w in range(out.shape[0]):
            deals.draw_deal(stream, plan, suits, ways, out[w])
            out[w, seat] = public[R.HAND + seat]
            out[w, NUM_PLACES] = worlds.random_word(stream)

    @jit
    def evaluate(  # type: ignore[no-untyped-def]
        drawn, public, candidates, first_bonus, values, spec, actions, weights, row, ids, cards, rewards
    ):
        build  # noqa: B018
        seat = public[R.TURN]
        for w in range(drawn.shape[0]):
            for i in range(candidates.shape[0]):
                for column in range(R.LEGAL):
                    row[column] = public[column]
                for place in range(NUM_PLACES):
                    row[R.HAND + place] = drawn[w, place]
                row[R.KEY] = drawn[w, NUM_PLACES]
                for player in range(rewards.shape[0]):
                    rewards[player] = 0
                play_out(row, spec, actions, weights, candidates[i], ids, cards, rewards)
                values[w, i] = rewards[seat] + (first_bonus if row[R.PLACE + seat] == 0 else 0.0)

    return SimpleNamespace(begin=begin, count=count, draw=draw, evaluate=evaluate)
