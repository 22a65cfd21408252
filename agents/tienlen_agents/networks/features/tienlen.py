"""The inputs of a network in Tiến lên, and the inputs that only the critic reads.

With a play summary (`tienlen_agents.networks.features.tienlen_play_summary`) the observation continues with
the plays that each opponent passed on, followed with and led.

The features of an action are three groups of numbers, X = 151 in total, 155 where suits bind: the *action*
itself (35: one-hot width, length, top rank and top suit, and whether it is suited; zeros for the pass), the
*hand* that it leaves (52 by card id, and the number of cards of each rank in unary, 52), and *auxiliary
features* of that hand (12, see `FeatureReader`). Where suits bind, an action is exact cards, and the suits
of its cards (4) follow. They are written as the upper halves of float32, which is bfloat16, so no
conversion is needed before the multiplication. The reader appends the number of unseen cards of each rank
to the observation.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents.endgame import Solver, can_solve, open_endings
from tienlen_agents.networks.features.base import ONE, CompiledReader, Features, Inputs, Prior, new_inputs
from tienlen_agents.networks.features.tienlen_general import MOST_PLAYS, PIECES, general_inputs
from tienlen_agents.networks.features.tienlen_play_summary import num_summary_bits, write_summary
from tienlen_agents.parallel import host_loop
from tienlen_agents.rule_based.heuristic import decide, parameters, playout, splits
from tienlen_agents.rule_based.heuristic.parallel import RulesArgs, set_rules
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_indices
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import ActionFields, ByteArray, Float32Array, IntArray, Row, Spec
from tienlen_env.games.common.bits import FULL, lowest_index, popcount, wrap, write_word
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.games.tienlen import kernels, observe, spec as S, state as R

NUM_TABLE_FEATURES: Final = 4 + 13 + 13 + 4 + 1
NUM_AUX: Final = 12
AUX: Final = NUM_TABLE_FEATURES + 2 * NUM_CARDS  # first column of the auxiliary features
NUM_ACTION_FEATURES: Final = AUX + NUM_AUX  # X, without the suits
NUM_SUITS: Final = 4
WINNING_NODES: Final = 2000  # positions that a decision of `WinningActions` may need at most
_MAX_GAP: Final = 4.0  # plays; larger gaps to the best action are clipped


class ReaderSettings(NamedTuple):
    """The settings of a `FeatureReader`, for compiled code.

    Attributes:
        summary_at: column of the observation where the play summary begins; 0 for no summary.
        has_prior: whether the heuristic agent's scores are inputs.
        prior_scale: float32, see `FeatureReader`.
    """

    summary_at: int
    has_prior: bool
    prior_scale: np.float32


class Scratch(NamedTuple):
    """Scratch arrays of one call of `write_inputs`.

    Attributes:
        cards: int64 (N,), the cards of each legal action.
        scores: int64 (N,), the heuristic agent's scores.
        hand_values: float32 (N, 5), its values of the hand that each action leaves.
        aux_features: float32 (12,), those of one action ...
        bits: uint32 (12,), ... and the same memory as bits.
    """

    cards: IntArray
    scores: IntArray
    hand_values: Float32Array
    aux_features: Float32Array
    bits: npt.NDArray[np.uint32]


def write_action(actions: ActionFields, action: int, left: int, out: Any) -> None:
    """Write the features of an action and of the hand that it leaves: all columns before the auxiliary ones.

    Args:
        actions: the action table.
        action: its id.
        left: the hand that it leaves, a mask.
        out: uint16 (X,), is written.
    """
    for column in range(AUX):
        out[column] = 0
    at = action * S.ACTION_FIELDS
    if actions[at + S.WIDTH] > 0:
        top = actions[at + S.TOP]
        out[actions[at + S.WIDTH] - 1] = ONE
        out[4 + actions[at + S.LENGTH] - 1] = ONE
        out[17 + (top >> 2)] = ONE
        out[30 + (top & 3)] = ONE
        out[34] = ONE * (actions[at + S.SUITED] >> 1 & 1)
    rank, num_of_rank = -1, 0
    while left != 0:
        card = lowest_index(left)
        left &= left - 1
        num_of_rank = num_of_rank + 1 if card >> 2 == rank else 0
        rank = card >> 2
        out[NUM_TABLE_FEATURES + card] = ONE
        out[NUM_TABLE_FEATURES + NUM_CARDS + 4 * rank + num_of_rank] = ONE


def write_unseen(row: Row, spec: Spec, out: Any, start: int) -> None:
    """Write the number of unseen cards of each rank, in unary with 4 bits."""
    unseen = decide.public_view(spec, row).unseen
    for rank in range(13):
        num_of_rank = popcount(unseen & 15 << 4 * rank)
        for k in range(4):
            out[start + 4 * rank + k] = num_of_rank > k


def count_legal(rows: IntArray, games: Any, spec: Spec, segment_start: Any, num_legal: Any) -> int:
    """Write each decision's number of legal actions and their start; N."""
    end = 0
    for b in range(games.shape[0]):
        segment_start[b] = end
        num_legal[b] = kernels.num_legal(rows[games[b]], spec)
        end += num_legal[b]
    return end


class Reading(NamedTuple):
    """Arguments of `write_decision`.

    Attributes:
        rows: int64 (B, ROW), the states.
        games: int64 (n,), the game of each decision.
        spec: the variant.
        actions: its action table.
        workspace: of `tienlen_agents.rule_based.heuristic.decide`; its rules are set.
        settings: of the reader.
        scratch: scratch.
        inputs: written; `segment_start` holds its values already.
    """

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    workspace: Any
    settings: Any
    scratch: Any
    inputs: Any


def write_inputs(
    rows: IntArray,
    games: Any,
    spec: Spec,
    actions: ActionFields,
    workspace: Any,
    settings: Any,
    scratch: Any,
    inputs: Any,
) -> None:
    """Fill the `Inputs` of n decisions; `segment_start` holds its values already."""
    splits.set_rules(workspace, spec)
    reading = Reading(rows, games, spec, actions, workspace, settings, scratch, inputs)
    for b in range(games.shape[0]):
        write_decision(b, reading)


def write_decision(b: int, reading: Any) -> None:
    """Fill the `Inputs` of one decision, number `b`."""
    spec, actions, workspace = reading.spec, reading.actions, reading.workspace
    settings, scratch, inputs = reading.settings, reading.scratch, reading.inputs
    ids, cards, scores, hand_values = inputs.action, scratch.cards, scratch.scores, scratch.hand_values
    aux, bits = scratch.aux_features, scratch.bits
    facts = decide.ActionFacts(scores, hand_values)
    observation = inputs.observation[b]
    row = reading.rows[reading.games[b]]
    seat = row[R.TURN]
    observe.observe(row, spec, actions, seat, observation, 0)
    if settings.summary_at > 0:
        write_summary(row, spec, seat, observation, settings.summary_at)
    write_unseen(row, spec, observation, observation.shape[0] - NUM_CARDS)

    start = inputs.segment_start[b]
    end = kernels.list_legal(row, spec, actions, ids, cards, start)
    decide.evaluate_row(workspace, spec, actions, row, ids, cards, (start, end), facts)
    best = scores[start]
    fewest = least = np.float32(1e9)
    for i in range(start, end):
        best = max(best, scores[i])
        fewest = min(fewest, hand_values[i, 4])
        least = min(least, hand_values[i, 0])
    for i in range(start, end):
        left = row[R.HAND + seat] & ~cards[i]
        out = inputs.action_features[i]
        write_action(actions, ids[i], left, out)
        beatable, better = hand_values[i, 1], hand_values[i, 2]
        aux[0] = hand_values[i, 4] / 4
        aux[1] = hand_values[i, 4] - fewest
        aux[2] = beatable / 4
        aux[3] = beatable == 0
        aux[4] = beatable == 1
        aux[5] = min(better, 16) / 16
        aux[6] = hand_values[i, 3]
        aux[7] = popcount(left) / 13
        if settings.has_prior:
            prior_gap = max(np.float32((scores[i] - best) / parameters.ONE), np.float32(-_MAX_GAP))
            inputs.prior[i] = settings.prior_scale * prior_gap
            aux[8] = prior_gap
            aux[9] = prior_gap == 0
            aux[10] = hand_values[i, 0] / 4
            aux[11] = hand_values[i, 0] - least
        for k in range(NUM_AUX):
            # Round to nearest.
            out[AUX + k] = (bits[k] + 0x8000) >> 16
        if spec[S.SUITS_BIND]:
            suits = observe.suits_of(cards[i])
            for suit in range(NUM_SUITS):
                out[NUM_ACTION_FEATURES + suit] = ONE * (suits >> suit & 1)


_count_legal = jit.loop(count_legal)


class ReadArgs(NamedTuple):
    """Arguments of `read_item`: see `Reading` and `Scratch`; a workspace and the last two for each slot."""

    rows: IntArray
    games: Any
    spec: Spec
    actions: ActionFields
    workspaces: Any
    settings: Any
    cards: Any
    scores: Any
    hand_values: Any
    aux_features: Any
    bits: Any
    inputs: Any


def read_item(item: int, slot: int, args: ReadArgs) -> None:
    """Write the inputs of a decision."""
    scratch = Scratch(args.cards, args.scores, args.hand_values, args.aux_features[slot], args.bits[slot])
    write_decision(
        item,
        Reading(
            args.rows, args.games, args.spec, args.actions, args.workspaces[slot], args.settings, scratch,
            args.inputs,
        ),
    )  # fmt: skip


def measure_any_hand(workspace: Any, spec: Spec) -> None:
    """Prepare a workspace for `write_hidden`.

    The fewest plays of a hand do not depend on the other cards, so one context is enough for all hands.
    """
    splits.set_rules(workspace, spec)
    splits.measure_plays(workspace, spec, FULL, 0, 0, 0, 0)


def write_hidden(
    rows: IntArray, game: int, spec: Spec, workspace: Any, hands: Any, num_plays: Any, out: Any
) -> None:
    """Write the `PrivilegedFeatures` of one game, (H,).

    Args:
        rows: int64 (B, ROW).
        game: which of them.
        spec: the variant.
        workspace: prepared by `measure_any_hand`.
        hands: int64 (B, P), the hands of the last results ...
        num_plays: int64 (B, P), ... and these results.
        out: uint8 (H,), written.
    """
    num_players, row = spec[S.NUM_PLAYERS], rows[game]
    for after in range(1, num_players):
        hand = row[R.HAND + wrap(row[R.TURN] + after, num_players)]
        write_word(out, (after - 1) * NUM_CARDS, hand)  # the next write overwrites the bits beyond 52
    for after in range(num_players):
        seat = wrap(row[R.TURN] + after, num_players)
        hand = row[R.HAND + seat]
        if hands[game, seat] != hand:
            hands[game, seat] = hand
            num_plays[game, seat] = splits.split_cost(workspace, spec, hand) >> splits.PLAYS_SHIFT & 255
        at = (num_players - 1) * NUM_CARDS + after * MOST_PLAYS
        for k in range(MOST_PLAYS):
            out[at + k] = num_plays[game, seat] > k


def set_any_hand(item: int, slot: int, args: RulesArgs) -> None:
    """Prepare workspace number `item` for hands alone."""
    measure_any_hand(args.workspaces[item], args.spec)


class HiddenArgs(NamedTuple):
    """Arguments of `hidden_item`: see `write_hidden`; a workspace for each slot, and `out` (n, H)."""

    rows: IntArray
    games: Any
    spec: Spec
    workspaces: Any
    hands: Any
    num_plays: Any
    out: Any


def hidden_item(item: int, slot: int, args: HiddenArgs) -> None:
    """Write the privileged features of a decision."""
    write_hidden(
        args.rows, args.games[item], args.spec, args.workspaces[slot], args.hands, args.num_plays,
        args.out[item],
    )  # fmt: skip


class ReaderMemory(NamedTuple):
    """Arrays of `read_decision`.

    Attributes:
        row: int64 (1, ROW), the decision.
        games: int64 (1,), zero.
        workspace: of `tienlen_agents.rule_based.heuristic.decide`.
        settings: of the reader.
        scratch: scratch.
        inputs: of one decision, with room for all actions.
    """

    row: IntArray
    games: IntArray
    workspace: IntArray
    settings: ReaderSettings
    scratch: Scratch
    inputs: Inputs


def new_memory(
    rules: AnyRules, row_size: int, prior: Prior, prior_scale: float, *, record: bool
) -> ReaderMemory:
    """Arrays for one decision of a variant; see `FeatureReader` for the settings."""
    game = game_of(rules)
    num_actions, size = game.build_table(rules).num_actions, game.observation(rules, 0).size
    return ReaderMemory(
        np.zeros((1, row_size), np.int64),
        np.zeros(1, np.int64),
        decide.new_workspace(),
        reader_settings(size, prior, prior_scale, record=record),
        _new_scratch(np.zeros, num_actions),
        _new_inputs(np.zeros, rules, (1, num_actions), size, record),
    )


def read_decision(spec: Spec, actions: ActionFields, memory: ReaderMemory) -> int:
    """Write the inputs of the decision in ``memory.row``; the number of legal actions."""
    inputs = memory.inputs
    num: int = count_legal(memory.row, memory.games, spec, inputs.segment_start, inputs.num_legal)
    write_inputs(
        memory.row, memory.games, spec, actions, memory.workspace, memory.settings, memory.scratch, inputs
    )
    return num


def num_action_features(rules: Any) -> int:
    """X, the number of features of an action."""
    return NUM_ACTION_FEATURES + (NUM_SUITS if rules.suits_bind else 0)


def reader_settings(
    observation_size: int, prior: Prior, prior_scale: float, *, record: bool
) -> ReaderSettings:
    """The settings of a reader, for compiled code; see `FeatureReader`."""
    return ReaderSettings(observation_size if record else 0, prior == "heuristic", np.float32(prior_scale))


def _new_scratch(new: Any, num_actions: int) -> Scratch:
    """Arrays from `new`, which is ``np.empty`` or ``np.zeros``."""
    cards, scores = new((2, num_actions), np.int64)
    aux = np.zeros(NUM_AUX, np.float32)
    return Scratch(cards, scores, new((num_actions, 5), np.float32), aux, aux.view(np.uint32))


def _new_inputs(
    new: Any, rules: AnyRules, size: tuple[int, int], observation_size: int, record: bool
) -> Inputs:
    """Inputs of n decisions with N actions in total, ``size = (n, N)``, from ``np.empty`` or ``np.zeros``."""
    width = observation_size + record * num_summary_bits(rules.num_players) + NUM_CARDS
    return new_inputs(new, size, width, num_action_features(rules))


class FeatureReader:
    """Turns views into `Inputs`.

    The auxiliary features of an action describe the hand that it leaves: the fewest plays, and the
    difference to the fewest after any legal action; the number of beatable plays, and whether it is 0 or 1;
    the number of unseen plays that beat the action, and whether no play does; the number of cards left. With
    ``prior="heuristic"`` there are four more, from the heuristic agent: the action's score relative to its
    best one, and whether it is the best; the cost of the hand left, and the difference to the least cost.

    Args:
        prior: name of the scores that are added to the network's.
        prior_scale: for ``prior="heuristic"``, the factor on the gap to the best action, in plays.
        record: whether the observation continues with the play summary; that needs a batch that stores plays.
    """

    def __init__(self, prior: Prior, prior_scale: float = 4.0, *, record: bool = False) -> None:
        self.prior = prior
        self.record = record
        self.history = int(record)  # a batch that stores any plays stores the summary
        self.prior_scale = prior_scale
        self._workspaces = decide.new_workspace()[None]
        self._aux_features = np.zeros((1, NUM_AUX), np.float32)
        self._spec: IntArray | None = None  # for which the workspace is prepared

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions.

        Raises:
            WrongGameError: they are of another game.
        """
        batch, games = view.source
        _check_game(batch)
        segment_start, num_legal = np.empty((2, len(view)), np.int64)
        rows, spec, actions = batch.kernel_arrays
        num_actions = _count_legal(rows, games, spec, segment_start, num_legal)
        size = len(view), num_actions
        inputs = _new_inputs(np.empty, view.rules, size, batch.observation_size, self.record)
        inputs = inputs._replace(segment_start=segment_start, num_legal=num_legal)
        settings = reader_settings(batch.observation_size, self.prior, self.prior_scale, record=self.record)
        if spec is not self._spec:
            host_loop(set_rules)(1, RulesArgs(self._workspaces, spec))
            self._spec = spec
        cards, scores, hand_values, _, _ = _new_scratch(np.empty, num_actions)
        args = ReadArgs(
            rows, games, spec, actions, self._workspaces, settings, cards, scores, hand_values,
            self._aux_features, self._aux_features.view(np.uint32), inputs,
        )  # fmt: skip
        host_loop(read_item)(len(view), args)
        return inputs


def num_privileged(rules: AnyRules) -> int:
    """H, the number of `PrivilegedFeatures`."""
    return (rules.num_players - 1) * NUM_CARDS + rules.num_players * MOST_PLAYS


class PrivilegedFeatures:
    """Hidden features for the critic, as 0s and 1s.

    It stores the fewest plays of each hand, because most hands do not change between two calls.
    """

    def __init__(self) -> None:
        self._workspaces = decide.new_workspace()[None]
        self._spec: IntArray | None = None  # for which the workspace is prepared
        self._hands = self._num_plays = np.zeros((0, 0), np.int64)

    def __call__(self, batch: Batch, games: IntArray) -> ByteArray:
        """The features.

        Args:
            batch: the games, of the same variant in every call.
            games: int64 (n,), the indices of n games.

        Returns:
            uint8 (n, H), relative seats: the hands of the others, by card id; and for each seat the fewest
            plays of its hand, in unary with 8 bits.

        Raises:
            ValueError: games of another shape or type, or out of range.
            WrongGameError: they are of another game.
        """
        _check_game(batch)
        games = as_indices(games, batch.num_games)
        if self._hands.shape != batch.state.hands.shape:
            self._hands, self._num_plays = np.zeros((2, *batch.state.hands.shape), np.int64)
        features = np.empty((len(games), num_privileged(batch.rules)), np.uint8)
        rows, spec, _ = batch.kernel_arrays
        if spec is not self._spec:
            host_loop(set_any_hand)(1, RulesArgs(self._workspaces, spec))
            self._spec = spec
        args = HiddenArgs(rows, games, spec, self._workspaces, self._hands, self._num_plays, features)
        host_loop(hidden_item)(len(games), args)
        return features


def num_outcome(rules: AnyRules) -> int:
    """F, the number of bits of `rollout_outcome`."""
    return rules.num_players**2


def rollout_outcome(batch: Batch, games: IntArray) -> ByteArray:
    """The final places if all seats follow the heuristic agent from here.

    Args:
        batch: the games, which are not changed.
        games: int64 (n,), the indices of n games.

    Returns:
        uint8 (n, F), relative seats: the place of each, one-hot P.

    Raises:
        ValueError: games of another shape or type, or out of range.
        WrongGameError: they are of another game.
    """
    _check_game(batch)
    games = as_indices(games, batch.num_games)
    num_players = batch.num_players
    places = playout.final_places(*batch.kernel_arrays, games)
    seats = (batch.state.turn[games, None] + np.arange(num_players)) % num_players
    relative = np.take_along_axis(places, seats, axis=1)
    bits: ByteArray = (relative[:, :, None] == np.arange(num_players)).astype(np.uint8)
    return bits.reshape(len(games), -1)


def action_values(batch: Batch, games: IntArray, inputs: Inputs) -> Float32Array:
    """Each legal action's return if all seats follow the heuristic agent afterwards, float32 (N,).

    Args:
        batch: the games, which are not changed.
        games: int64 (n,), the indices of n games.
        inputs: what the reader gives for these n decisions.

    Raises:
        ValueError: games out of range or over, or inputs of other decisions.
        WrongGameError: they are of another game.
    """
    _check_game(batch)
    games = as_indices(games, batch.num_games)
    rows, spec, actions = batch.kernel_arrays
    legal = batch.select(games).list_legal()
    if not np.array_equal(legal.action, inputs.action) or not np.array_equal(
        legal.start, inputs.segment_start
    ):
        raise ValueError("inputs: expected those of the games")
    returns: Float32Array = playout.action_returns(
        rows[games], spec, actions, inputs.segment_start, inputs.action, legal.cards
    )
    return returns


class WinningActions:
    """The legal actions that keep a proven win of the better of the last two places; one thread at a time.

    It is proven where two of four players are left, each can infer the other's cards, and the solver needs
    few positions (`tienlen_agents.endgame`); never under rules with payments.

    Args:
        rules: the variant.
    """

    def __init__(self, rules: AnyRules) -> None:
        self._solver = Solver(rules) if can_solve(rules) else None

    def __call__(self, batch: Batch, games: IntArray, inputs: Inputs) -> ByteArray:
        """See `Features.winning_actions`.

        Args:
            batch: the games, which are not changed.
            games: int64 (n,), the indices of n games.
            inputs: what the reader gives for these n decisions.

        Raises:
            ValueError: games out of range or over, or inputs of another number of decisions.
            WrongGameError: they are of another game.
        """
        _check_game(batch)
        games = as_indices(games, batch.num_games)
        if len(inputs.num_legal) != len(games):
            raise ValueError("inputs: expected those of the games")
        winning = np.ones(len(inputs.action), np.uint8)
        if self._solver is None or not len(games):
            return winning
        found, rows = open_endings(View(batch, games, copy=False))
        solution = self._solver.solve(rows, max_nodes=WINNING_NODES)
        is_won = solution.value == 1
        solved = np.full(len(games), -1)
        solved[found[is_won]] = np.flatnonzero(is_won)
        owner = solved[inputs.segment_ids]
        at = np.flatnonzero(owner >= 0)
        winning[at] = solution.best_mask[owner[at], inputs.action[at]]
        return winning


def _check_game(batch: Batch) -> None:
    """Refuse rows of other games, which compiled code would misread.

    Raises:
        WrongGameError: it is another game.
    """
    if batch.game.name != "tienlen":
        raise WrongGameError(f"these features are of Tiến lên, not of the {batch.rules.name} rules")


def limitations(record: bool) -> str:
    """The limitations of a network, for its model card."""
    if not record:
        return (
            "The network does not see earlier tricks of the round. It plays the lowest suits of the action "
            "table."
        )
    return (
        "As history the network gets, for each opponent, the plays it passed on, followed with and led, but "
        "not their order; if a batch stores no plays, it gets no history "
        "(`tienlen_agents.networks.features.tienlen_play_summary`). It plays the lowest suits of the action "
        "table."
    )


FEATURES: Final = Features(
    game="tienlen",
    baseline="heuristic",
    eval_opponents=("greedy", "greedy_long", "heuristic"),
    prior_scale=4.0,
    gae_lambda=0.7,
    num_action_features=num_action_features,
    num_summary_bits=lambda rules: num_summary_bits(rules.num_players),
    num_derived=lambda rules: NUM_CARDS,
    reader=FeatureReader,
    compiled_reader=CompiledReader(new_memory, read_decision),
    num_privileged=num_privileged,
    privileged_features=PrivilegedFeatures,
    num_belief_cards=NUM_CARDS,
    num_outcome=num_outcome,
    rollout_outcome=rollout_outcome,
    action_values=action_values,
    winning_actions=WinningActions,
    limitations=limitations,
    parallel="tienlen_agents.networks.features.tienlen_parallel:PARALLEL",
    general=general_inputs,
    pieces=PIECES,
)
