"""What every game's features share: what a network reads, and what learning must know of a game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.view import View
from tienlen_env.engine.batch import Batch

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]
Prior = Literal["none", "heuristic"]

ONE: Final = 0x3F80  # 1.0 as bfloat16


class Inputs(NamedTuple):
    """What the network reads of n decisions with N legal actions in all.

    Attributes:
        observation: uint8 (n, O + E), the observation and what the game's reader adds; (n, O + R + E) with
            a record between them.
        start: int64 (n,), where each decision's legal actions begin.
        num_legal: int64 (n,), how many they are.
        action: int64 (N,), action ids.
        after: uint16 (N, X), each action's features as the bits of bfloat16; see the game's reader.
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

    def part(self, begin: int, end: int) -> Inputs:
        """Those of the decisions from `begin` to before `end`, at least one; the arrays are views."""
        first, last = self.start[begin], self.start[end - 1] + self.num_legal[end - 1]
        return Inputs(
            self.observation[begin:end],
            self.start[begin:end] - first,
            self.num_legal[begin:end],
            self.action[first:last],
            self.after[first:last],
            self.prior[first:last],
        )


class Reader(Protocol):
    """Turns views of one game into `Inputs`.

    Attributes:
        history: plays and passes that a batch must keep for it; 1 where only the record is read.
    """

    history: int

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""


class MakeReader(Protocol):
    """See `Features`."""

    def __call__(self, prior: Prior, prior_scale: float, *, record: bool) -> Reader:
        """A new reader."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """A game as networks and training see it; a module a game has one.

    Attributes:
        game: its name (see `tienlen_env.games.common.game.Definition`).
        baseline: its strongest rule-based player, as `tienlen_agents.load` knows it: the prior of
            ``"heuristic"``.
        prior_scale: how much it counts by default what that player thinks (see `reader`).
        gae_lambda: PPO's trace decay by default: the less the critic can be trusted, the nearer to 1.
        rivals: the rule-based players whom a policy is compared with.
        num_action_inputs: X, features of an action.
        num_record: R of a variant, what a record adds to an observation; 0 where the game has none.
        num_derived: E of a variant, what the reader adds in any case.
        reader: makes a reader from the prior, its scale (what the player by rules thinks an action is behind
            its choice, times this, is added to the network's score) and whether there is a record.
        num_hidden: H of a variant, the number of `hidden_facts`.
        hidden_facts: makes a function of a batch and n of its games (int64 (n,)) that tells what a critic may
            see and the seats to move may not, as 0s and 1s, uint8 (n, H); it is for one batch.
        num_foreseen: F of a variant, the number of `foresee`; 0 where nobody can tell.
        foresee: tells of a batch's n games, all hands known, how they would end if everyone played on by the
            baseline's rules, as 0s and 1s, uint8 (n, F): what a critic sees that looks ahead.
        action_returns: what each of N legal actions returns if everyone plays on by the baseline's rules,
            float32 (N,), from the batch, the n games and their inputs; None where nobody can tell.
    """

    game: str
    baseline: str
    prior_scale: float
    gae_lambda: float
    rivals: tuple[str, ...]
    num_action_inputs: int
    num_record: Callable[[Any], int]
    num_derived: Callable[[Any], int]
    reader: MakeReader
    num_hidden: Callable[[Any], int]
    hidden_facts: Callable[[], Callable[[Batch, IntArray], npt.NDArray[np.uint8]]]
    num_foreseen: Callable[[Any], int] = lambda rules: 0
    foresee: Callable[[Batch, IntArray], npt.NDArray[np.uint8]] | None = None
    action_returns: Callable[[Batch, IntArray, Inputs], FloatArray] | None = None
