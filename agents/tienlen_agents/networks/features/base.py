"""Types for the features of all games: the inputs of a network, and the inputs of training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features.general import GeneralInputs
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import ByteArray, Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules

Prior = Literal["none", "heuristic"]

ONE: Final = 0x3F80  # 1.0 as bfloat16


class Inputs(NamedTuple):
    """The inputs of a network for n decisions with N legal actions in total.

    Attributes:
        observation: uint8 (n, O + E), the observation and the inputs that the game's reader appends; (n, O +
            R + E) with a play summary between them.
        segment_start: int64 (n,), index of each decision's first legal action among the N.
        num_legal: int64 (n,), number of legal actions of each decision.
        action: int64 (N,), action ids.
        action_features: uint16 (N, X), the features of each action as the bits of bfloat16; see the game's
            reader.
        prior: float32 (N,), added to the network's scores.
    """

    observation: ByteArray
    segment_start: IntArray
    num_legal: IntArray
    action: IntArray
    action_features: npt.NDArray[np.uint16]
    prior: Float32Array

    @property
    def segment_ids(self) -> IntArray:
        """int64 (N,), ascending: the decision that each action belongs to."""
        return np.repeat(np.arange(len(self.num_legal)), self.num_legal)

    def part(self, begin: int, end: int) -> Inputs:
        """The inputs of decisions `begin` to `end` - 1, at least one; the arrays are views."""
        first, last = self.segment_start[begin], self.segment_start[end - 1] + self.num_legal[end - 1]
        return Inputs(
            self.observation[begin:end],
            self.segment_start[begin:end] - first,
            self.num_legal[begin:end],
            self.action[first:last],
            self.action_features[first:last],
            self.prior[first:last],
        )


def new_inputs(new: Any, size: tuple[int, int], num_state_inputs: int, num_action_features: int) -> Inputs:
    """Memory for `Inputs`; the prior is 0.

    Args:
        new: ``np.empty`` or ``np.zeros``.
        size: the numbers of decisions and of actions in total, ``(n, N)``.
        num_state_inputs: width of `Inputs.observation`.
        num_action_features: X.
    """
    num_decisions, num_actions = size
    return Inputs(
        new((num_decisions, num_state_inputs), np.uint8),
        new(num_decisions, np.int64),
        new(num_decisions, np.int64),
        new(num_actions, np.int64),
        new((num_actions, num_action_features), np.uint16),
        np.zeros(num_actions, np.float32),
    )


class Reader(Protocol):
    """Turns views of one game into `Inputs`.

    Attributes:
        history: number of past plays that a batch must store for it; 1 if only the play summary is read.
    """

    history: int

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""


class MakeReader(Protocol):
    """See `Features.reader`."""

    def __call__(self, prior: Prior, prior_scale: float, *, record: bool) -> Reader:
        """A new reader."""


class CompiledReader(NamedTuple):
    """A reader of one decision whose functions compiled code calls; its inputs are those of the `Reader`.

    Attributes:
        new_memory: ``(rules, row_size, prior, prior_scale, record)``: arrays, a NamedTuple with the fields
            ``row`` (int64 (1, ROW), the decision) and ``inputs`` (`Inputs` of one decision, with room for all
            actions).
        read: ``(spec, actions, memory)``: write ``memory.inputs`` for the decision in ``memory.row``; the
            number of legal actions.
    """

    new_memory: Callable[..., Any]
    read: Callable[[Any, Any, Any], int]


# Features that only a critic may see: uint8 (n, H) of 0 and 1, from a batch and n of its games, int64 (n,).
PrivilegedFn = Callable[[Batch, IntArray], ByteArray]
# An estimate of each legal action's return, float32 (N,), from a batch, n of its games and their inputs.
ActionValuesFn = Callable[[Batch, IntArray, Inputs], Float32Array]
# Which legal actions keep a proven win, uint8 (N,) of 0 and 1, from the same.
WinningActionsFn = Callable[[Batch, IntArray, Inputs], ByteArray]


@dataclass(frozen=True, kw_only=True)
class Features:
    """The inputs of networks and of training for one game; every game has one such value.

    Attributes:
        game: the game's name.
        baseline: its strongest rule-based agent, by its name in `tienlen_agents.load`: the opponent in
            training, and the prior of ``"heuristic"``; empty for none.
        eval_opponents: the agents that a policy is compared with.
        has_prior: whether the reader has a prior other than ``"none"``.
        prior_scale: default factor on the baseline's scores (see `reader`).
        gae_lambda: default trace decay of PPO: the less reliable the critic, the closer to 1.
        num_action_features: X of a variant, the number of features of an action.
        num_summary_bits: R of a variant, the number of bits that a play summary adds to an observation; 0 if
            the game has none.
        num_derived: E of a variant, the number of bits that the reader always adds.
        reader: makes a reader from the prior, its scale (the baseline's score of an action relative to its
            best one, times this, is added to the network's score) and whether the play summary is read.
        compiled_reader: the same for one decision in compiled code, for WebAssembly; None if unavailable.
        num_privileged: H of a variant, the number of `privileged_features`.
        privileged_features: makes a function that computes hidden features for the critic; one function
            serves one batch.
        num_belief_cards: C, the number of cards for which a belief network has an output for each opponent;
            the privileged features begin with the opponents' hands, C bits each, the next to play first. 0:
            unavailable.
        num_outcome: F of a variant, the number of bits of `rollout_outcome`; 0 if unavailable.
        rollout_outcome: final places if all seats follow the baseline from here (privileged features), uint8
            (n, F) of 0 and 1; None if unavailable.
        action_values: the return of each legal action if all seats follow the baseline afterwards, float32
            (N,); None if unavailable.
        winning_actions: makes a function for the batches of a variant. Where the endgame solver proves that
            the player to move can force a win, it finds the legal actions after which that is still so, uint8
            (N,) of 0 and 1; 1 for every action of all other decisions. None if unavailable.
        limitations: limitations of a network, as sentences for its model card; the argument is whether the
            network reads the play summary.
        parallel: where the same features on a machine are (`tienlen_agents.networks.features.parallel`), as
            ``"module:name"``; empty if unavailable.
        general: ``(pieces)``: the inputs of a network that plays every variant, and reads these pieces of the
            observation; ``()`` means those of `pieces`, None means every piece of today's layout. The
            field is None if the game has no such network.
        pieces: the pieces of the observation that a policy reads if its file names none. This list must not
            change once it is published; a game whose files always name their pieces has an empty one.
    """

    game: str
    baseline: str = ""
    eval_opponents: tuple[str, ...] = ("random",)
    has_prior: bool = True
    prior_scale: float = 1.0
    gae_lambda: float = 0.95
    num_action_features: Callable[[AnyRules], int]
    num_summary_bits: Callable[[AnyRules], int] = lambda rules: 0
    num_derived: Callable[[AnyRules], int] = lambda rules: 0
    reader: MakeReader
    compiled_reader: CompiledReader | None = None
    num_privileged: Callable[[AnyRules], int]
    privileged_features: Callable[[], PrivilegedFn]
    num_belief_cards: int = 0
    num_outcome: Callable[[AnyRules], int] = lambda rules: 0
    rollout_outcome: PrivilegedFn | None = None
    action_values: ActionValuesFn | None = None
    winning_actions: Callable[[AnyRules], WinningActionsFn] | None = None
    limitations: Callable[[bool], str] = lambda record: ""
    parallel: str = ""
    general: Callable[[tuple[str, ...] | None], GeneralInputs] | None = None
    pieces: tuple[str, ...] = ()
