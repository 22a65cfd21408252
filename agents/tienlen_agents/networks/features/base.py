"""The features of all games: the inputs of a network, and the inputs of training.

A game writes them as bodies (`tienlen_agents.parallel`), once for the processor, for devices and for
WebAssembly. The classes here allocate what the bodies write, and call them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features.general import GeneralInputs
from tienlen_agents.parallel import HOST, Body, DecisionArrays, GameArrays, Machine
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_indices
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import (
    ActionFields,
    AnyArray,
    ByteArray,
    DType,
    Float32Array,
    IntArray,
    Spec,
)
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

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


class ReaderSettings(NamedTuple):
    """The settings of a reader, for compiled code.

    Attributes:
        summary_at: column of the observation where the play summary begins; 0 for no summary.
        has_prior: whether the baseline's scores are inputs.
        prior_scale: float32; the baseline's score of an action relative to its best one, times this, is added
            to the network's score.
    """

    summary_at: int
    has_prior: bool
    prior_scale: np.float32


class ReaderScratch(NamedTuple):
    """What the bodies of `ReaderCode` work in: for each of T slots, and for each of N legal actions.

    Attributes:
        states: (T, W), the state of the game's rule-based agent.
        aux_features: float32 (T, K), the auxiliary features of one action ...
        bits: uint32 (T, K), ... and the same memory as bits.
        cards: int64 (N,), scratch.
        scores: (N,), scratch.
        values: float32 (N, V), scratch.
    """

    states: Any
    aux_features: Any
    bits: Any
    cards: Any
    scores: Any
    values: Any


class ReadArgs(NamedTuple):
    """Arguments of the bodies of `ReaderCode`, for n decisions with N legal actions in total.

    Attributes:
        rows: int64 (B, ROW), the states.
        games: int64 (n,), the game of each decision.
        spec: the variant.
        actions: its action table.
        settings: of the reader.
        memory: what they work in.
        inputs: `Inputs`, written; `segment_start` and `num_legal` hold their values already, and the prior
            is 0.
    """

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    settings: ReaderSettings
    memory: ReaderScratch
    inputs: Any


def no_preparation(item: int, slot: int, args: ReadArgs) -> None:
    """Nothing to prepare."""


class ReaderCode(NamedTuple):
    """How a game reads decisions.

    Attributes:
        read: a body, one item a decision: writes its inputs.
        prepare: a body, one item a slot: prepares the memory for the variant.
        state: (W,), a new state of the game's rule-based agent.
        num_aux: K, the number of auxiliary features.
        score_type: of `ReaderScratch.scores`.
        num_values: V.
    """

    read: Body
    prepare: Body = no_preparation
    state: Callable[[], AnyArray] = lambda: np.zeros(1, np.int64)
    num_aux: int = 1
    score_type: DType = np.int64
    num_values: int = 1

    def new_slots(self, machine: Machine) -> tuple[Any, Any, Any]:
        """The fields of a `ReaderScratch` that have a row for each slot."""
        aux = machine.per_slot(np.zeros(self.num_aux, np.float32))
        return machine.per_slot(self.state()), aux, machine.view(aux, np.uint32)

    def memory(self, machine: Machine, slots: tuple[Any, Any, Any], num_actions: int) -> ReaderScratch:
        """A memory with room for some legal actions."""
        cards, scores = machine.empty(num_actions, np.int64), machine.empty(num_actions, self.score_type)
        return ReaderScratch(*slots, cards, scores, machine.empty((num_actions, self.num_values), np.float32))


class ComputeArgs(NamedTuple):
    """Arguments of the body of a `ComputedCode`.

    Attributes:
        rows: int64 (B, ROW), the states.
        games: int64 (n,), which of them.
        spec: the variant.
        actions: its action table.
        memory: of `ComputedCode.new_memory`.
        owner: int64 (N,), the decision of each legal action; only for returns.
        ids: int64 (N,), the ids of these actions; only for returns.
        out: written: uint8 (n, size) of 0 and 1, or the returns, float32 (N,).
    """

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    memory: Any
    owner: Any
    ids: Any
    out: Any


class ComputedCode(NamedTuple):
    """How a game computes what only training uses: hidden features of decisions, or returns of actions.

    Attributes:
        body: of a variant, a body: one item a game, none of them twice; or one item a legal action.
        new_memory: what the body works in, for all calls with a batch.
        size: of a variant, the number of features; None for returns.
    """

    body: Callable[[AnyRules], Body]
    new_memory: Callable[[Machine, GameArrays], Any] = lambda machine, position: 0  # needs none
    size: Callable[[AnyRules], int] | None = None

    def num_features(self, rules: AnyRules) -> int:
        """How many features the body writes for a decision; 0 for returns."""
        return 0 if self.size is None else self.size(rules)


class Computed:
    """Computes what a `ComputedCode` says, on a machine, for batches of one variant."""

    def __init__(self, machine: Machine, rules: AnyRules, code: ComputedCode) -> None:
        self._machine = machine
        self._body, self._new_memory = code.body(rules), code.new_memory
        self._size = None if code.size is None else code.size(rules)
        self._batch: Any = None  # spec and number of rows that the memory was made for
        self._memory: Any = None

    def __call__(self, position: GameArrays, games: Any, owner: Any = None, ids: Any = None) -> Any:
        """What the body writes (see `ComputeArgs`); arrays of the machine."""
        batch = self._batch
        if batch is None or position.spec is not batch[0] or len(position.rows) != batch[1]:
            self._memory = self._new_memory(self._machine, position)
            self._batch = position.spec, len(position.rows)
        if self._size is None:
            out = self._machine.empty(len(ids), np.float32)
        else:
            out, owner, ids = self._machine.empty((len(games), self._size), np.uint8), games, games
        args = ComputeArgs(
            position.rows, games, position.spec, position.actions, self._memory, owner, ids, out
        )
        self._machine.launch(self._body, len(out), args)
        return out


class CountArgs(NamedTuple):
    """Arguments of a body that counts legal actions: a batch, n of its games, and int64 (n,)."""

    rows: IntArray
    games: Any
    spec: Spec
    out: Any


@cache
def count_body(num_legal: Callable[..., int]) -> Body:
    """A body that counts the legal actions of games; `num_legal` is their kernel."""

    def count_item(item: int, slot: int, args: CountArgs) -> None:
        args.out[item] = num_legal(args.rows[args.games[item]], args.spec)

    return count_item


class Reader:
    """Turns decisions of one game into `Inputs`.

    Args:
        features: of the game.
        prior: name of the scores that are added to the network's.
        prior_scale: factor on the baseline's score of an action relative to its best one.
        record: whether the observation continues with the play summary; that needs a batch that stores plays.
        machine: where.

    Attributes:
        history: number of past plays that a batch must store for it; 1 if only the play summary is read.

    Raises:
        ValueError: `record` in a game without a play summary.
    """

    def __init__(
        self,
        features: Features,
        prior: Prior = "none",
        prior_scale: float = 1.0,
        *,
        record: bool = False,
        machine: Machine = HOST,
    ) -> None:
        if record and features.num_summary_bits is no_summary:
            raise ValueError(f"record=True: {features.game} has no play summary")
        self.history = int(record)
        self._features = features
        self._options = prior, prior_scale, record
        self._machine = machine
        self._spec: Any = None  # the memory is prepared for it
        self._variant: tuple[AnyRules, int | None] | None = None  # the following was made for it
        self._code: Any = None
        self._settings: Any = None
        self._width, self._num_features = 0, 0  # of `Inputs.observation`, of an action
        self._slots: Any = None

    def __getstate__(self) -> dict[str, object]:
        # The arrays of the memory overlap, which a copy would not keep.
        made = ("_spec", "_variant", "_code", "_settings", "_slots")
        return {**self.__dict__, **dict.fromkeys(made)}

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions; only on the processor.

        Raises:
            WrongGameError: they are of another game.
        """
        batch, games = view.source
        self._features.check_game(batch)
        rows, spec, _ = batch.kernel_arrays
        num_legal = np.empty(len(games), np.int64)  # without a copy of the rows, as `view.num_legal` makes
        HOST.launch(
            count_body(batch.game.kernels.legal.num_legal),
            len(games),
            CountArgs(rows, games, spec, num_legal),
        )
        end = np.cumsum(num_legal)
        decisions = DecisionArrays(games, num_legal, end - num_legal, int(end[-1]) if len(end) else 0)
        return self.read_at(GameArrays(*batch.kernel_arrays), decisions, batch.rules, batch.observation_size)

    def read_at(
        self,
        position: GameArrays,
        decisions: DecisionArrays,
        rules: AnyRules,
        observation_size: int | None = None,
    ) -> Inputs:
        """The inputs of n decisions, arrays of the machine.

        The rows of action features are filled up with zeros to a multiple of `Machine.multiple`.

        Args:
            position: the batch.
            decisions: n of its decisions.
            rules: of the batch.
            observation_size: O; None for that of an observation without past plays.
        """
        machine, num_decisions, num_actions = self._machine, len(decisions.games), decisions.num_actions
        if (rules, observation_size) != self._variant:
            self._variant, self._spec = (rules, observation_size), None
            self._code = self._features.code(rules)
            self._num_features = self._features.num_action_features(rules)
            self._settings, self._width = self._features.settings_of(rules, *self._options, observation_size)
            self._slots = self._code.new_slots(machine)
        code, num_features = self._code, self._num_features
        width = -(-num_features // machine.multiple) * machine.multiple
        new = machine.empty if width == num_features else machine.zeros
        inputs = Inputs(
            machine.empty((num_decisions, self._width), np.uint8),
            decisions.segment_start,
            decisions.num_legal,
            machine.empty(num_actions, np.int64),
            new((num_actions, width), np.uint16),
            machine.zeros(num_actions, np.float32),
        )
        args = ReadArgs(
            position.rows, decisions.games, position.spec, position.actions, self._settings,
            code.memory(machine, self._slots, num_actions), inputs,
        )  # fmt: skip
        if position.spec is not self._spec:
            machine.launch(code.prepare, machine.num_slots, args)
            self._spec = position.spec
        machine.launch(code.read, num_decisions, args)
        return inputs


class ReaderMemory(NamedTuple):
    """Arrays of `Features.one_reader`, for one decision.

    Attributes:
        row: int64 (1, ROW), the decision.
        games: int64 (1,), zero.
        settings: of the reader.
        memory: what the reader works in.
        inputs: `Inputs` with room for all actions.
    """

    row: IntArray
    games: IntArray
    settings: ReaderSettings
    memory: ReaderScratch
    inputs: Inputs


@cache
def _one_reader(code: ReaderCode, num_legal: Callable[..., int]) -> Callable[..., int]:
    prepare, read_item = code.prepare, code.read

    def read(spec: Spec, actions: ActionFields, memory: ReaderMemory) -> int:
        inputs = memory.inputs
        num = num_legal(memory.row[0], spec)
        inputs.segment_start[0], inputs.num_legal[0] = 0, num
        args = ReadArgs(memory.row, memory.games, spec, actions, memory.settings, memory.memory, inputs)
        prepare(0, 0, args)
        read_item(0, 0, args)
        return num

    return read


# Which legal actions keep a proven win: uint8 (N,) of 0 and 1, from a batch, n of its games and their inputs.
WinningActionsFn = Callable[[Batch, IntArray, Inputs], ByteArray]


def no_summary(rules: AnyRules) -> int:
    """A game without a play summary."""
    return 0


@dataclass(frozen=True, kw_only=True)
class Features:
    """The inputs of networks and of training for one game; every game has one such value.

    Attributes:
        game: the game's name.
        baseline: its strongest rule-based agent, by its name in `tienlen_agents.load`: the opponent in
            training, and the prior of ``"heuristic"``; empty for none.
        eval_opponents: the agents that a policy is compared with.
        has_prior: whether the reader has a prior other than ``"none"``.
        prior_scale: default factor on the baseline's scores (see `Reader`).
        gae_lambda: default trace decay of PPO: the less reliable the critic, the closer to 1.
        num_action_features: X of a variant, the number of features of an action.
        num_summary_bits: R of a variant, the number of bits that a play summary adds to an observation; 0 if
            the game has none.
        num_derived: E of a variant, the number of bits that the reader always adds.
        code: of a variant: how decisions are read.
        hidden: how the features are computed that only the critic reads.
        num_belief_cards: C, the number of cards for which a belief network has an output for each opponent;
            the privileged features begin with the opponents' hands, C bits each, the next to play first. 0:
            unavailable.
        outcome: final places if all seats follow the baseline from here, as further features for the critic;
            None if unavailable.
        returns: the return of each legal action if all seats follow the baseline afterwards; None if
            unavailable.
        winning_actions: makes a function for the batches of a variant. Where the endgame solver proves that
            the player to move can force a win, it finds the legal actions after which that is still so, uint8
            (N,) of 0 and 1; 1 for every action of all other decisions. None if unavailable.
        limitations: limitations of a network, as sentences for its model card; the argument is whether the
            network reads the play summary.
        on_device: whether devices compute the same bits as the processor.
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
    num_summary_bits: Callable[[AnyRules], int] = no_summary
    num_derived: Callable[[AnyRules], int] = lambda rules: 0
    code: Callable[[AnyRules], ReaderCode]
    hidden: ComputedCode
    num_belief_cards: int = 0
    outcome: ComputedCode | None = None
    returns: ComputedCode | None = None
    winning_actions: Callable[[AnyRules], WinningActionsFn] | None = None
    limitations: Callable[[bool], str] = lambda record: ""
    on_device: bool = True
    general: Callable[[tuple[str, ...] | None], GeneralInputs] | None = None
    pieces: tuple[str, ...] = ()

    def check_game(self, batch: Batch) -> None:
        """Refuse rows of other games, which compiled code would misread.

        Raises:
            WrongGameError: it is another game.
        """
        if batch.game.name != self.game:
            raise WrongGameError(f"these features are of {self.game}, not of the {batch.rules.name} rules")

    def one_reader(
        self, rules: AnyRules, row_size: int, prior: Prior, prior_scale: float, *, record: bool
    ) -> tuple[ReaderMemory, Callable[..., int]]:
        """A reader of one decision for compiled code; its inputs are those of a `Reader`.

        Returns:
            Its arrays, and ``(spec, actions, memory)``: write ``memory.inputs`` for the decision in
            ``memory.row``; the number of legal actions.
        """
        game, code = game_of(rules), self.code(rules)
        num_actions = game.build_table(rules).num_actions
        settings, width = self.settings_of(rules, prior, prior_scale, record)
        inputs = Inputs(
            np.zeros((1, width), np.uint8),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(num_actions, np.int64),
            np.zeros((num_actions, self.num_action_features(rules)), np.uint16),
            np.zeros(num_actions, np.float32),
        )
        memory = ReaderMemory(
            np.zeros((1, row_size), np.int64), np.zeros(1, np.int64), settings,
            code.memory(HOST, code.new_slots(HOST), num_actions), inputs,
        )  # fmt: skip
        return memory, _one_reader(code, game.kernels.legal.num_legal)

    def settings_of(
        self, rules: AnyRules, prior: Prior, prior_scale: float, record: bool, size: int | None = None
    ) -> tuple[ReaderSettings, int]:
        """The settings for compiled code, and the width of `Inputs.observation`; `size` is O."""
        if size is None:
            size = game_of(rules).observation(rules, 0).size
        settings = ReaderSettings(size if record else 0, prior == "heuristic", np.float32(prior_scale))
        return settings, size + record * self.num_summary_bits(rules) + self.num_derived(rules)

    def on_host(self, code: ComputedCode) -> Callable[..., Any]:
        """A function that computes `hidden`, `outcome` or `returns` on the processor.

        It takes a batch and n of its games, int64 (n,), and gives uint8 (n, size) of 0 and 1. For `returns`
        it takes their inputs, too, and gives float32 (N,). All batches are of one variant.

        It raises ValueError for games of another shape or type, out of range or over, or inputs of other
        decisions, and WrongGameError.
        """
        found: dict[AnyRules, Computed] = {}

        def compute(batch: Batch, games: IntArray, inputs: Inputs | None = None) -> Any:
            self.check_game(batch)
            games = as_indices(games, batch.num_games)
            computed = found.setdefault(batch.rules, Computed(HOST, batch.rules, code))
            position = GameArrays(*batch.kernel_arrays)
            if inputs is None:
                return computed(position, games)
            legal = batch.select(games).list_legal()
            if not np.array_equal(legal.action, inputs.action) or not np.array_equal(
                legal.start, inputs.segment_start
            ):
                raise ValueError("inputs: expected those of the games")
            return computed(position, games, legal.game, legal.action)

        return compute
