"""What a network reads of a decision: the observation, and for each legal action what it is and leads to.

With a record (`agents.record`) the observation goes on with what the others have passed over, followed with
and led.

An action's features are three groups of numbers, X = 151 in all: what it *is* (35: one-hot width, length,
top rank and top suit, and whether it is suited; zeros for the pass), the hand that it *leaves* (52 by card
id, and 52 by the number of cards of each rank, as thermometers), and *facts* about that hand (12, see
`FeatureReader`). They are written as the upper halves of float32, which is what bfloat16 is, so that no
pass over them is needed before they are multiplied.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from agents.heuristic import HeuristicAgent, Parameters
from agents.record import NUM_EVENTS, read_record
from tienlen_env.agent import View
from tienlen_env.backends import numba_bits
from tienlen_env.core import bits as core_bits
from tienlen_env.core import spec as S
from tienlen_env.core.bits import lowest_index, popcount
from tienlen_env.core.rules import Rules
from tienlen_env.core.spec import build_spec

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
Prior = Literal["none", "heuristic"]

NUM_TABLE_FEATURES: Final = 4 + 13 + 13 + 4 + 1
NUM_CARDS: Final = 52
NUM_FACTS: Final = 12
_ONE: Final = 0x3F80  # 1.0
_BEHIND: Final = 4.0  # plays; what is further behind the best is as good as ruled out


class Inputs(NamedTuple):
    """What the network reads of n decisions with N legal actions in all.

    Attributes:
        observation: uint8 (n, O), with a record (n, O + R).
        start: int64 (n,), where each decision's legal actions begin.
        num_legal: int64 (n,), how many they are.
        action: int64 (N,), action ids.
        after: uint16 (N, X), each action's features as the bits of bfloat16; see `FeatureReader`.
        prior: float32 (N,), added to the network's score.
    """

    observation: npt.NDArray[np.uint8]
    start: IntArray
    num_legal: IntArray
    action: IntArray
    after: npt.NDArray[np.uint16]
    prior: FloatArray

    @property
    def owner(self) -> IntArray:
        """int64 (N,), ascending: each action's decision."""
        return np.repeat(np.arange(len(self.num_legal)), self.num_legal)


def num_action_inputs() -> int:
    """X, the number of features of an action."""
    return NUM_TABLE_FEATURES + 2 * NUM_CARDS + NUM_FACTS


@cache
def _compiled() -> Any:
    # Numba hashes a function's closure into its cache key; it would not notice other files' changes itself.
    sources = "".join(inspect.getsource(module) for module in (S, core_bits, numba_bits))
    build = hashlib.sha256(sources.encode()).hexdigest()

    def write_features(  # type: ignore[no-untyped-def]
        actions, hand, ids, cards, start, counted, behind, judged, fact, bits, out
    ):
        build  # noqa: B018
        for b in range(hand.shape[0]):
            end = start[b + 1] if b + 1 < hand.shape[0] else ids.shape[0]
            fewest = least = np.float32(1e9)
            for i in range(start[b], end):
                fewest = min(fewest, counted[i, 0])
                if judged.shape[0] > 0:
                    least = min(least, judged[i, 0])
            for i in range(start[b], end):
                for column in range(NUM_TABLE_FEATURES + 2 * NUM_CARDS):
                    out[i, column] = 0
                at = ids[i] * S.ACTION_FIELDS
                if actions[at + S.WIDTH] > 0:
                    top = actions[at + S.TOP]
                    out[i, actions[at + S.WIDTH] - 1] = _ONE
                    out[i, 4 + actions[at + S.LENGTH] - 1] = _ONE
                    out[i, 17 + (top >> 2)] = _ONE
                    out[i, 30 + (top & 3)] = _ONE
                    out[i, 34] = _ONE * (actions[at + S.SUITED] >> 1)
                left = hand[b] & ~cards[i]
                fact[7] = popcount(left) / 13
                rank, num_of_rank = -1, 0
                while left != 0:
                    card = lowest_index(left)
                    left &= left - 1
                    num_of_rank = num_of_rank + 1 if card >> 2 == rank else 0
                    rank = card >> 2
                    out[i, NUM_TABLE_FEATURES + card] = _ONE
                    out[i, NUM_TABLE_FEATURES + NUM_CARDS + 4 * rank + num_of_rank] = _ONE
                beatable, better = counted[i, 1], counted[i, 2]
                fact[0] = counted[i, 0] / 4
                fact[1] = counted[i, 0] - fewest
                fact[2] = beatable / 4
                fact[3] = beatable == 0
                fact[4] = beatable == 1
                fact[5] = min(better, 16) / 16
                fact[6] = counted[i, 3]
                for k in range(8, NUM_FACTS):
                    fact[k] = 0
                if judged.shape[0] > 0:
                    fact[8] = behind[i]
                    fact[9] = behind[i] == 0
                    fact[10] = judged[i, 0] / 4
                    fact[11] = judged[i, 0] - least
                for k in range(NUM_FACTS):
                    # To the nearest, not down.
                    out[i, NUM_TABLE_FEATURES + 2 * NUM_CARDS + k] = (bits[k] + 0x8000) >> 16

    return njit(write_features, nogil=True, cache=True, _nrt=False)


@lru_cache(maxsize=16)
def _actions(rules: Rules) -> IntArray:
    return build_spec(rules)[1]


class FeatureReader:
    """Turns views into `Inputs`.

    The facts of an action are about the hand that it leaves, where every play counts one: the fewest plays,
    and by how much these are more than after the best of the legal actions; the beatable plays, and whether
    they are none or one; how many unseen plays beat the action, and whether nobody can; the number of cards
    left. With ``prior="heuristic"`` four more tell what the tuned rules think: how far the action is behind
    their choice and whether it is that; the cost of the hand left, and by how much it is above the least.

    Args:
        prior: what the network's scores are added to.
        prior_scale: times the plays behind, for ``prior="heuristic"``.
        record: whether the observation goes on with the record; it needs a batch that keeps the history.
    """

    def __init__(self, prior: Prior, prior_scale: float = 4.0, *, record: bool = False) -> None:
        self.prior = prior
        self.record = record
        self.history = record * NUM_EVENTS  # plays and passes that a batch must keep for it
        self.prior_scale = prior_scale
        self._counting = HeuristicAgent(Parameters.counting())
        self._rules = HeuristicAgent() if prior == "heuristic" else None

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""
        legal = view.legal_actions
        num_legal = np.diff(np.append(legal.start, len(legal.action)))
        _, counted = self._counting.judge(view)
        if self._rules is None:
            behind, judged = np.zeros(len(legal.action), np.float32), counted[:0]
        else:
            behind, judged = self._rules.judge(view)
            behind = np.maximum(behind, -_BEHIND)
        after = np.empty((len(legal.action), num_action_inputs()), np.uint16)
        fact = np.empty(NUM_FACTS, np.float32)  # scratch
        _compiled()(
            _actions(view.rules),
            view.hand,
            legal.action,
            legal.cards,
            legal.start,
            counted,
            behind,
            judged,
            fact,
            fact.view(np.uint32),
            after,
        )
        prior = self.prior_scale * behind
        observation = view.observation
        if self.record:
            observation = np.concatenate([observation, read_record(view)], axis=1)
        return Inputs(observation, legal.start, num_legal, legal.action, after, prior)
