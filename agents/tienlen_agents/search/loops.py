"""What the search calls: its compiled loops, and the memory they work in."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from tienlen_agents.endgame import keep_wins
from tienlen_agents.rule_based.heuristic import HeuristicAgent, Parameters, decide, parameters, playout
from tienlen_agents.search import tree, worlds
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import overloads as numba_bits
from tienlen_env.engine.backends.build import build_of
from tienlen_env.games.common import bits
from tienlen_env.games.tienlen import actions as combos
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.game import TIENLEN
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

# Each is multiplied by the searcher's effort and, but for MIN_MOVES, by `chain_effort`.
BURN_IN: Final = 800  # moves of the chain before the first world that counts
# Between two worlds there are as many moves as ask the heuristic player so often, by what the first moves
# asked: with few hidden cards most answers are known, and moves are cheap.
QUESTIONS: Final = 80
MAX_MOVES: Final = 160
MIN_MOVES: Final = 8
ALL_HIDDEN: Final = 39  # cards that nobody has seen when a round begins
MAX_TIMES: Final = 8.0
RESULT_BITS: Final = 13  # of rounds played out
MAX_EVENTS: Final = 256  # as many as a batch can keep


class Position(NamedTuple):
    """A decision to search (n legal actions).

    Attributes:
        public: int64 (ROW,), the state without what is hidden, absolute seats.
        history: int64 (K,), the last plays as the state keeps them.
        num_left: int64 (P,), cards in each hand.
        candidates: int64 (n,), the actions to choose from.
        plays: int64 (n,), their cards.
        favourite: index of the one that is played unless another is found better.
        log_prior: float64 (n,), how likely each is at first sight; zeros where nothing is known.
    """

    public: IntArray
    history: IntArray
    num_left: IntArray
    candidates: IntArray
    plays: IntArray
    favourite: int
    log_prior: FloatArray


def chain_effort(num_hidden: int) -> float:
    """How far the chain walks with so many hidden cards.

    Thrice the way lowers the squared error of who holds what by a tenth with 18 to 23 hidden cards and by a
    thirtieth with 24 to 33. With more little can be known; with fewer there are more deals, and all ways lead
    to the same.
    """
    return max(2 - abs(num_hidden - 23) / 7, 0.25)


def seed_of(position: Position, seed: int) -> int:
    """Where the randomness for a decision starts: a function of what is known there, and of a seed."""
    known = hashlib.blake2b(position.public.tobytes(), digest_size=8, key=seed.to_bytes(8, "little"))
    # An odd number, for xorshift must not start at 0.
    return int.from_bytes(known.digest(), "little", signed=True) | 1


class Desk:
    """The memory of one search at a time, for one variant; it forgets everything with `begin`.

    Args:
        rules: the variant.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.player = HeuristicAgent()
        self.times = 1.0
        self.spec, self.actions = build_spec(rules)
        num_actions, row_size = int(self.spec[S.NUM_ACTIONS]), int(self.spec[S.ROW_SIZE])
        self.desk = decide.new_desk(Parameters())
        self.row = np.zeros(row_size, np.int64)
        self.record = np.zeros((MAX_EVENTS, row_size), np.int64)
        self.taken, self.later = np.zeros(MAX_EVENTS, np.int64), np.zeros(MAX_EVENTS, np.int64)
        self.order = np.zeros((4, MAX_EVENTS + 1), np.int64)
        self.memo = np.zeros(2 << worlds.MEMO_BITS, np.int64)
        # How often the chain has asked the heuristic player, and its moves between two worlds.
        self.pace = np.zeros(2, np.int64)
        # Rounds played out, world and candidate in one word, and what they earned.
        self.played, self.earned = np.zeros(1 << RESULT_BITS, np.int64), np.zeros(1 << RESULT_BITS)
        self.ids, self.cards = np.zeros(num_actions, np.int64), np.zeros(num_actions, np.int64)
        self.path = np.zeros(tree.MAX_PATH, np.int64)
        self.rewards = np.zeros(rules.num_players)
        self.stream = np.zeros(1, np.int64)
        # Where cards can be: known cards, room for others, the chain's world and its next, its surprises.
        self.known, self.room, self.here, self.there, self.surprises = np.zeros(
            (5, worlds.NUM_PLACES), np.int64
        )

    def glance(self, view: View) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Choose without search: the heuristic player's choices, and endings that are solved."""
        chosen = np.array(self.player.act(view))
        is_open = view.num_legal > 1
        for solved in keep_wins(view, chosen):
            is_open[solved] = False
        return chosen, is_open

    def begin(self, position: Position, seed: int, inference: float, effort: float = 1.0) -> bool:
        """Turn to a decision; what is drawn for it depends on the arguments alone.

        Args:
            position: the decision.
            seed: of its randomness.
            inference: how much a surprise counts against a world, 0 for nothing (see `worlds`).
            effort: how far the chain walks, times.

        Returns:
            Whether there is more than one world.
        """
        self._position, self._inference = position, inference
        self.stream[0] = seed_of(position, seed)
        self._num_drawn = 0
        for forgotten in (self.memo, self.pace, self.played):
            forgotten[:] = 0
        self._hidden, self._num_events = loops().begin(
            position.public, position.history, position.num_left, inference, self.spec, self.actions,
            self.record, self.taken, self.later, self.order, self.rewards, self.stream, self.known, self.room,
            self.here,
        )  # fmt: skip
        num_hidden = int(self.room.sum())
        self._effort = effort * chain_effort(num_hidden)
        self._min_moves = max(int(effort * MIN_MOVES), 1)
        self.times = min((ALL_HIDDEN / max(num_hidden, 1)) ** 2, MAX_TIMES)
        return bool(np.count_nonzero(self.room) > 1)

    def draw(self, num_worlds: int) -> IntArray:
        """int64 (num_worlds, 5): the next worlds; the cards of each seat, and those that were not dealt."""
        out = np.empty((num_worlds, worlds.NUM_PLACES), np.int64)
        loops().draw(
            out, self._hidden, self._num_events, self._num_drawn, self._inference, self._effort,
            self._min_moves, self.desk, self.spec, self.actions, self.record, self.taken, self.later,
            self.order, self.memo, self.pace, self.ids, self.cards, self.stream, self.known, self.room,
            self.here, self.there, self.surprises,
        )  # fmt: skip
        self._num_drawn += num_worlds
        return out

    def evaluate(self, drawn: IntArray, alive: IntArray, first_bonus: float) -> FloatArray:
        """float64 (worlds, len(alive)): what each of these candidates earns in each world, played out."""
        position = self._position
        values = np.zeros((len(drawn), len(alive)))
        loops().evaluate(
            drawn, position.public, position.candidates[alive], position.plays[alive], first_bonus, values,
            self.desk, self.spec, self.actions, self.row, self.ids, self.cards, self.rewards,
            self.played, self.earned,
        )  # fmt: skip
        return values

    def fill(self, rows: IntArray, drawn: IntArray) -> None:
        """Put worlds (n, 5) into the hidden columns of states (n, ROW)."""
        rows[:, R.HAND : R.UNDEALT + 1] = drawn

    def grow(self, drawn: IntArray, explore: float) -> IntArray:
        """int64 (n,): how often a tree search visits each candidate, with an iteration in each world."""
        position = self._position
        nodes = np.zeros((len(drawn) + 1, tree.NODE_FIELDS), np.int64)
        loops().grow(
            drawn, position.public, nodes, np.zeros(len(nodes)), 1, self.path, explore, self.desk, self.spec,
            self.actions, self.row, self.ids, self.cards, self.rewards, self.stream,
        )  # fmt: skip
        visits = np.zeros(len(self.ids), np.int64)
        child = nodes[0, tree.CHILD]
        while child:
            visits[nodes[child, tree.ACTION]] = nodes[child, tree.VISITS]
            child = nodes[child, tree.SIBLING]
        return visits[position.candidates]


@cache
def loops() -> SimpleNamespace:
    """All loops, compiled when first called."""
    modules = (*TIENLEN.sources, combos, numba_bits, parameters, decide, playout, tree, worlds)
    build = build_of(modules)

    def jit(function: Any) -> Any:
        return njit(function, cache=True, nogil=True, _nrt=False)

    @jit
    def begin(  # type: ignore[no-untyped-def]
        public, history, num_left, inference, spec, actions, record, taken, later, order, rewards, stream,
        known, room, here,
    ):  # fmt: skip
        build  # noqa: B018
        hidden = worlds.lay_out(public, spec, num_left, known, room)
        worlds.deal_hidden(stream, hidden, known, room, here)
        num_events = 0
        if inference > 0 and hidden != 0:
            num_events = worlds.replay(
                public, history, here, spec, actions, record, taken, later, order, rewards
            )
        return hidden, num_events

    @jit
    def draw(  # type: ignore[no-untyped-def]
        out, hidden, num_events, num_before, inference, effort, min_moves, desk, spec, actions, record, taken,
        later, order, memo, pace, ids, cards, stream, known, room, here, there, surprises,
    ):  # fmt: skip
        build  # noqa: B018
        decide.set_variant(desk, spec)
        log_factor = min(math.log(1 - inference), -1e-9)
        if num_events > 0 and num_before == 0:
            for place in range(worlds.NUM_PLACES):
                surprises[place] = worlds.num_surprises(
                    desk, spec, actions, record, taken, later, order, memo, pace, place, here[place],
                    MAX_EVENTS, ids, cards,
                )  # fmt: skip
            num_moves = int(effort * BURN_IN)
            worlds.walk(
                stream, hidden, here, there, surprises, num_moves, log_factor, desk, spec, actions, record,
                taken, later, order, memo, pace, ids, cards,
            )  # fmt: skip
            wanted = effort * QUESTIONS * num_moves / max(pace[0], 1)
            pace[1] = max(int(min(wanted, effort * MAX_MOVES)), min_moves)
        for w in range(out.shape[0]):
            if num_events > 0:
                worlds.walk(
                    stream, hidden, here, there, surprises, pace[1], log_factor, desk, spec, actions, record,
                    taken, later, order, memo, pace, ids, cards,
                )  # fmt: skip
            else:
                worlds.deal_hidden(stream, hidden, known, room, here)
            for place in range(worlds.NUM_PLACES):
                out[w, place] = here[place]

    @jit
    def evaluate(  # type: ignore[no-untyped-def]
        drawn, public, candidates, plays, first_bonus, values, desk, spec, actions, row, ids, cards,
        rewards, played, earned,
    ):  # fmt: skip
        build  # noqa: B018
        seat = public[R.TURN]
        for w in range(drawn.shape[0]):
            for i in range(candidates.shape[0]):
                # The chain comes back to worlds; two in one word would need billions of them.
                key = candidates[i]
                for place in range(worlds.NUM_PLACES):
                    key = (key ^ drawn[w, place]) * decide.HASH
                    key ^= bits.shift_right(key, 29)
                slot = bits.shift_right(key, 64 - RESULT_BITS)
                if played[slot] == key:
                    values[w, i] = earned[slot]
                    continue
                for column in range(R.LEGAL):
                    row[column] = public[column]
                for place in range(worlds.NUM_PLACES):
                    row[R.HAND + place] = drawn[w, place]
                for player in range(rewards.shape[0]):
                    rewards[player] = 0
                kernels.play(row, spec, actions, candidates[i], plays[i], rewards)
                playout.play_out(desk, spec, actions, row, seat, ids, cards, rewards)
                values[w, i] = rewards[seat] + (first_bonus if row[R.PLACE + seat] == 0 else 0.0)
                played[slot], earned[slot] = key, values[w, i]

    @jit
    def grow(  # type: ignore[no-untyped-def]
        drawn, public, nodes, totals, size, path, explore, desk, spec, actions, row, ids, cards, rewards,
        stream,
    ):  # fmt: skip
        build  # noqa: B018
        for w in range(drawn.shape[0]):
            for column in range(R.LEGAL):
                row[column] = public[column]
            for place in range(worlds.NUM_PLACES):
                row[R.HAND + place] = drawn[w, place]
            for player in range(rewards.shape[0]):
                rewards[player] = 0
            size = tree.iterate(
                nodes, totals, size, path, stream, explore, desk, spec, actions, row, ids, cards, rewards
            )
        return size

    return SimpleNamespace(begin=begin, draw=draw, evaluate=evaluate, grow=grow)
