"""The inputs of a network in Thirteens, and the inputs that only the critic reads.

The features of an action are four groups of numbers, X = 125 in total: the *action* itself (32: one-hot
strength and suit of a card, whether it is the end of melding, and the number of cards of each pip that it
plays or melds), the *hand* that it leaves (54 by card id, and the voids among the four suits), the *pile*
(13: the number of cards of each pip that are then in the trick, or can still be melded), and *auxiliary
features* (22, see `FeatureReader`). The reader appends the unseen cards, and their number in each suit, to
the observation.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.networks.features.base import ONE, CompiledReader, Features, Inputs, Prior, new_inputs
from tienlen_agents.rule_based.trickster import (
    TricksterAgent,
    evaluate_rows,
    keeping,
    ranked_above,
    tables,
    trick_worth,
    unseen_cards,
)
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import ActionFields, ByteArray, Float32Array, IntArray, Row, Spec
from tienlen_env.games.common.bits import LOWEST_SUIT, lowest_index, popcount
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.state import GameState
from tienlen_env.games.registry import game_of
from tienlen_env.games.thirteens import kernels, observe, spec as S, state as R
from tienlen_env.games.thirteens.cards import JOKERS, NUM_CARDS
from tienlen_env.games.thirteens.melds import pip_counts, without
from tienlen_env.games.thirteens.rules import ThirteensRules

SUIT: Final = 14  # columns: start of the suit, after the strength,
END: Final = 18
PIPS: Final = 19
LEFT: Final = 32
VOIDS: Final = LEFT + NUM_CARDS
PILE: Final = VOIDS + 4
AUX: Final = PILE + 13
NUM_AUX: Final = 22
NUM_ACTION_FEATURES: Final = AUX + NUM_AUX  # X
# The pieces that policies read whose files do not name any; this list does not change.
PIECES: Final = (
    "hand", "played", "trick", "aside", "shown", "pile", "scores", "points", "thirteens", "pairs",
    "straights", "jokers", "tricks", "void", "leader", "winner", "follow", "joker_led", "lead", "first_trick",
)  # fmt: skip
_MAX_GAP: Final = 6.0  # points; larger gaps to the best action are clipped


class Judged(NamedTuple):
    """The legal actions of n decisions and the scores of `trickster` for them.

    Attributes:
        action: int64 (N,), action ids.
        segment_start: int64 (n,), index of each decision's first action.
        prior_gap: float32 (N,), points of an action minus those of the choice of `trickster`, -6 to 0.
        has_prior: whether these gaps are inputs.
        card_values: float32 (N, 4), see `TricksterAgent.evaluate_actions`.
    """

    action: IntArray
    segment_start: IntArray
    prior_gap: Float32Array
    has_prior: bool
    card_values: Float32Array


def write_features(
    rows: IntArray,
    spec: Spec,
    actions: ActionFields,
    weights: Any,
    legal: Any,
    aux_features: Any,
    bits: Any,
    out: Any,
) -> None:
    """Write the features of N actions, uint16 (N, X); `bits` is the memory of `aux_features` as uint32."""
    num_players = spec[S.NUM_PLAYERS]
    for b in range(rows.shape[0]):
        row = rows[b]
        end = legal.segment_start[b + 1] if b + 1 < rows.shape[0] else legal.action.shape[0]
        seat = row[R.TURN]
        unseen = unseen_cards(row, spec)
        num_later = num_players - 1 - (seat - row[R.LEADER]) % num_players
        # Cards that no other player can beat in their suit.
        highest = 0
        rest = row[R.HAND + seat] & ~JOKERS
        while rest != 0:
            card = rest & -rest
            rest ^= card
            if unseen & ranked_above(lowest_index(card)) == 0:
                highest |= card
        for i in range(legal.segment_start[b], end):
            for column in range(AUX):
                out[i, column] = 0
            for k in range(NUM_AUX):
                aux_features[k] = 0
            action = legal.action[i]
            at = action * S.ACTION_FIELDS
            left = row[R.HAND + seat]
            if action < spec[S.NUM_CARDS]:
                card = 1 << action
                left ^= card
                pile = row[R.ON_TABLE] | row[R.ASIDE] | card
                own = pip_counts(card)
                strength, suit = actions[at + S.STRENGTH], actions[at + S.SUIT]
                out[i, strength] = ONE
                aux_features[5] = trick_worth(spec, pile) / 8
                aux_features[6] = strength > row[R.BEST] and (
                    suit == 0 or row[R.FOLLOW] == 0 or row[R.LEADER] == seat or suit == row[R.FOLLOW]
                )
                aux_features[7] = suit != 0 and suit == row[R.FOLLOW]
                aux_features[13] = num_later / 3
                aux_features[14] = num_later == 0
                if suit != 0:
                    out[i, SUIT + lowest_index(suit)] = ONE
                    higher = popcount(unseen & ranked_above(action))
                    aux_features[8] = higher / 4
                    aux_features[9] = higher == 0
                    aux_features[10] = popcount(unseen & suit) / 13
                    aux_features[11] = popcount(left & suit) / 13
                    for after in range(1, num_later + 1):
                        other = (seat + after) % num_players
                        aux_features[12] += (row[R.VOID] >> (4 * other + lowest_index(suit)) & 1) / 2
            else:
                own = actions[at + S.NEED]
                pile = without(row[R.PILE], own)
                if own == 0:
                    out[i, END] = ONE
                    pile = 0
            counts = pip_counts(pile)
            for pip in range(13):
                # Integers of this size are exact in bfloat16.
                aux_features[0] = own >> 4 * pip & 7
                aux_features[1] = counts >> 4 * pip & 7
                out[i, PIPS + pip] = bits[0] >> 16
                out[i, PILE + pip] = bits[1] >> 16
            rest = left
            while rest != 0:
                out[i, LEFT + lowest_index(rest)] = ONE
                rest &= rest - 1
            later = 0.0
            rest = left & ~JOKERS
            while rest != 0:
                later += keeping(weights, unseen, lowest_index(rest))
                rest &= rest - 1
            for suit in range(4):
                if left & LOWEST_SUIT << suit == 0:
                    out[i, VOIDS + suit] = ONE
            aux_features[0] = legal.card_values[i, 0]
            aux_features[1] = legal.card_values[i, 1] / 8
            aux_features[2] = legal.card_values[i, 0] * legal.card_values[i, 1] / 8
            aux_features[3] = legal.card_values[i, 2]
            aux_features[4] = legal.card_values[i, 3]
            aux_features[15] = popcount(left) / 13
            aux_features[16] = popcount(left & highest) / 4
            aux_features[17] = later / 4
            aux_features[18] = row[R.COUNTS + seat] & 255 == 0
            aux_features[19] = popcount(unseen & JOKERS)
            if legal.has_prior:
                aux_features[20] = legal.prior_gap[i]
                aux_features[21] = legal.prior_gap[i] == 0
            for k in range(NUM_AUX):
                # Round to nearest.
                out[i, AUX + k] = (bits[k] + 0x8000) >> 16


_write_features = jit.loop(write_features)


class FeatureReader:
    """Turns views into `Inputs`.

    The auxiliary features of a card begin with estimates of `tienlen_agents.rule_based.trickster`: the
    probability of winning the trick, the trick's final value, their product, the probability of winning no
    trick, the probability that the card wins later. Then follow facts: the trick's present value with the
    card, whether the card is the highest so far, whether it follows suit; in its suit the number of unseen
    higher cards, whether this is 0, the numbers of unseen cards, of own cards left, and of later players with
    a known void. For the decision and the remaining hand: the number of players still to play, whether it is
    0, the number of cards, how many of them are the highest of their suit, their probability of winning
    later, whether the seat has no trick so far, the number of unseen jokers. ``prior="heuristic"`` adds two
    from `trickster`: the action's points relative to its best one, and whether it is the best.

    Args:
        prior: name of the scores that are added to the network's.
        prior_scale: for ``prior="heuristic"``, the factor on the gap to the best action, in points.
        record: False; the observation always shows who played what.

    Raises:
        ValueError: `record` is True.
    """

    history = 0

    def __init__(self, prior: Prior, prior_scale: float = 1.0, *, record: bool = False) -> None:
        if record:
            raise ValueError(
                "record=True: Thirteens has no play summary, the observation shows who played what"
            )
        self.prior = prior
        self.prior_scale = prior_scale
        self._trickster = TricksterAgent()

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""
        legal = view.legal_actions
        num_legal = np.diff(np.append(legal.start, len(legal.action)))
        prior_gap, card_values = self._trickster.evaluate_actions(view)
        has_prior = self.prior == "heuristic"
        prior_gap = np.maximum(prior_gap, -_MAX_GAP) if has_prior else np.zeros_like(prior_gap)
        action_features = np.empty((len(legal.action), NUM_ACTION_FEATURES), np.uint16)
        aux_features = np.empty(NUM_AUX, np.float32)  # scratch
        _write_features(
            view.public_rows,
            *tables(_own(view.rules)),
            self._trickster.weight_array,
            Judged(legal.action, legal.start, prior_gap, has_prior, card_values),
            aux_features,
            aux_features.view(np.uint32),
            action_features,
        )
        observation = np.concatenate([view.observation, unseen_inputs(view)], axis=1)
        prior = self.prior_scale * prior_gap
        return Inputs(observation, legal.start, num_legal, legal.action, action_features, prior)


def unseen_inputs(view: View) -> ByteArray:
    """The unseen cards of the seat to move, and their number in each suit: uint8 (n, C + 52).

    Cards are by id; the counts are in unary with 13 bits, without jokers.
    """
    seen = view.hand | np.bitwise_or.reduce(view.played, axis=1) | _state(view.public_state).shown
    unseen = 1 - _bits(seen, _own(view.rules).num_cards)
    num = unseen[:, :52].reshape(len(view), 13, 4).sum(axis=1, dtype=np.uint8)
    counts = (num[:, :, None] > np.arange(13)).astype(np.uint8)
    return np.concatenate([unseen, counts.reshape(len(view), 52)], axis=1)


def _bits(masks: IntArray, num_cards: int) -> ByteArray:
    bits: ByteArray = (masks[..., None] >> np.arange(num_cards) & 1).astype(np.uint8)
    return bits


def _own(rules: AnyRules) -> ThirteensRules:
    if not isinstance(rules, ThirteensRules):
        raise WrongGameError(f"these features are of Thirteens, not of the {rules.name} rules")
    return rules


def _state(state: GameState) -> R.State:
    assert isinstance(state, R.State)
    return state


def num_derived(rules: AnyRules) -> int:
    """E, the number of `unseen_inputs`."""
    return _own(rules).num_cards + 52


def num_privileged(rules: AnyRules) -> int:
    """H, the number of `privileged_features`."""
    own = _own(rules)
    return (own.num_players - 1 + own.dummy) * own.num_cards


def privileged_features(batch: Batch, games: IntArray) -> ByteArray:
    """Hidden features for the critic, as 0s and 1s, for the seats to move.

    Args:
        batch: the games.
        games: int64 (n,), the indices of n games.

    Returns:
        uint8 (n, H), relative seats: the hands of the others by card id, the dummy's last if there is one.
    """
    rules, state, num_players = _own(batch.rules), _state(batch.state), batch.num_players
    relative = (state.turn[games, None] + np.arange(1, num_players)) % num_players
    hands = state.hands[games[:, None], relative]
    if rules.dummy:
        hands = np.concatenate([hands, state.dummy[games, None]], axis=1)
    return _bits(hands, rules.num_cards).reshape(len(games), -1)


# ---------------------------------------------------------------- one decision, in compiled code


class ReaderMemory(NamedTuple):
    """Arrays of `read_decision` for one decision (A actions).

    Attributes:
        row: int64 (1, ROW), the decision.
        weights: float64 (5,), of `trickster`.
        observation_size: O.
        has_prior: whether the scores of `trickster` are inputs.
        prior_scale: see `FeatureReader`.
        cards: int64 (A,), scratch.
        scores: float64 (A,), scratch.
        prior_gap: float32 (A,), scratch.
        card_values: float32 (A, 4), scratch.
        aux_features: float32 (`NUM_AUX`,), scratch.
        bits: the same memory as uint32.
        inputs: what the reader writes.
    """

    row: IntArray
    weights: Any
    observation_size: int
    has_prior: bool
    prior_scale: Any
    cards: IntArray
    scores: Any
    prior_gap: Float32Array
    card_values: Float32Array
    aux_features: Float32Array
    bits: Any
    inputs: Inputs


def new_memory(
    rules: AnyRules, row_size: int, prior: Prior, prior_scale: float, *, record: bool
) -> ReaderMemory:
    """Arrays for one decision of a variant; see `FeatureReader` for the settings."""
    game = game_of(rules)
    num_actions, size = game.build_table(rules).num_actions, game.observation(rules, 0).size
    aux_features = np.zeros(NUM_AUX, np.float32)
    return ReaderMemory(
        np.zeros((1, row_size), np.int64),
        TricksterAgent().weight_array,
        size,
        prior == "heuristic",
        np.float32(prior_scale),
        np.zeros(num_actions, np.int64),
        np.zeros(num_actions),
        np.zeros(num_actions, np.float32),
        np.zeros((num_actions, 4), np.float32),
        aux_features,
        aux_features.view(np.uint32),
        new_inputs(np.zeros, (1, num_actions), size + num_derived(rules), NUM_ACTION_FEATURES),
    )


def read_decision(spec: Spec, actions: ActionFields, memory: ReaderMemory) -> int:
    """Write the inputs of the decision in ``memory.row``; the number of legal actions."""
    inputs, row = memory.inputs, memory.row[0]
    observe.observe(row, spec, actions, row[R.TURN], inputs.observation[0], 0)
    _write_unseen(row, spec, inputs.observation[0], memory.observation_size)
    num = kernels.list_legal(row, spec, actions, inputs.action, memory.cards, 0)
    inputs.segment_start[0], inputs.num_legal[0] = 0, num
    ids, scores, card_values = inputs.action[:num], memory.scores[:num], memory.card_values[:num]
    evaluate_rows(memory.row, spec, actions, memory.weights, ids, inputs.segment_start, scores, card_values)
    best = scores[0]
    for i in range(num):
        best = max(best, scores[i])
    for i in range(num):
        gap = max(np.float32(scores[i] - best), np.float32(-_MAX_GAP)) if memory.has_prior else np.float32(0)
        memory.prior_gap[i] = gap
        inputs.prior[i] = memory.prior_scale * gap
    judged = Judged(ids, inputs.segment_start, memory.prior_gap, memory.has_prior, card_values)
    write_features(
        memory.row, spec, actions, memory.weights, judged, memory.aux_features, memory.bits,
        inputs.action_features,
    )  # fmt: skip
    return int(num)


def _write_unseen(row: Row, spec: Spec, out: Any, begin: int) -> None:
    """Write `unseen_inputs` of a state to `out`, from `begin` on."""
    unseen, num_cards = unseen_cards(row, spec), spec[S.NUM_CARDS]
    for card in range(num_cards):
        out[begin + card] = unseen >> card & 1
    for suit in range(4):
        count = popcount(unseen & LOWEST_SUIT << suit)
        for k in range(13):
            out[begin + num_cards + 13 * suit + k] = count > k


FEATURES: Final = Features(
    game="thirteens",
    baseline="trickster",
    eval_opponents=("trickster",),
    prior_scale=1.0,
    gae_lambda=0.9,
    num_action_features=lambda rules: NUM_ACTION_FEATURES,
    num_derived=num_derived,
    reader=FeatureReader,
    compiled_reader=CompiledReader(new_memory, read_decision),
    num_privileged=num_privileged,
    privileged_features=lambda: privileged_features,
    pieces=PIECES,
    limitations=lambda record: "The network sees who played what before this trick, but not when.",
)
