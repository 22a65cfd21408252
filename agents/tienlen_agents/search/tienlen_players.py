"""Small models of players of Tiến lên: how much a player likes each legal action.

A model is a network with one hidden layer, about 3,200 weights. Its inputs are what the rule-based agent
finds out about an action (`tienlen_agents.rule_based.heuristic.decide.evaluate_action`), what all players
see, and the cards that are left. Asking it takes less than 1 µs for each action, so it can play in rollouts.

A player is of one of three kinds: the rule-based agent, the champion's network, or a policy of self-play,
which never met the rule-based agent. The last two are models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.rule_based.heuristic import decide, parameters as W, playout
from tienlen_agents.rule_based.heuristic.splits import COST_SHIFT, PLAYS_SHIFT
from tienlen_agents.rule_based.rollout import Rollout
from tienlen_env.games.common.arrays import Fields, Float32Array, Row
from tienlen_env.games.common.bits import LOWEST_SUIT, highest_index, lowest_index, popcount, ranks_of
from tienlen_env.games.common.floats import exp, log
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import actions as combos, kernels, spec as S, state as R

# Inputs: what is the same for all actions of a decision, and then what differs between them.
column: Final = Fields()
IS_LEAD: Final = column()
FEWEST: Final = column()  # cards in the shortest hand of an opponent
MOST: Final = column()
WITH_ONE: Final = column()  # opponents in the trick with one card
HELD: Final = column()  # own cards
SHARE: Final = column()  # of the unseen cards, in the hands of the opponents in the trick
OWNERS_CARDS: Final = column()  # of who has played the cards on the table
TABLE_RANK: Final = column()
UNSEEN: Final = column()
LEFT: Final = column(3)  # cards of each opponent that is still in the round, the next to play first
PENDING: Final = column(3)  # whether it may still play in this trick
OWNER: Final = column(3)  # whether it has played the cards on the table
LIVE: Final = column()  # players that are still in the round
TABLE_CARDS: Final = column()
UNSEEN_TWOS: Final = column()
UNSEEN_ACES: Final = column()
SCORE: Final = column()  # of the rule-based agent
IS_PASS: Final = column()
COST: Final = column()  # of the cards that are left: in plays, ...
BEATABLE: Final = column()  # ... how many of these can be beaten ...
PLAYS: Final = column()  # ... and how many there are at least
BETTER: Final = column()  # unseen plays that beat this one
IS_SAFE: Final = column()
CARDS: Final = column()
KIND: Final = column(4)  # single, pair, triple, sequence
RANK: Final = column()
HAS_TWOS: Final = column()
IS_FOUR: Final = column()
SUIT: Final = column()
REST_RANKS: Final = column()  # different ranks of the cards that are left ...
REST_PAIRS: Final = column()  # ... how many of these are pairs at least ...
REST_TRIPLES: Final = column()
REST_LOWEST: Final = column()  # ... the lowest and the highest of them ...
REST_SECOND: Final = column()  # (the lowest but one, 13 for none)
REST_HIGHEST: Final = column()
REST_TOPS: Final = column()  # ... and cards that no unseen card beats
REST_TWOS: Final = column()
REST_ACES: Final = column()
REST_ONE: Final = column()  # whether one card is left
HIGHER: Final = column()  # unseen cards that are higher than the play
NUM_INPUTS: Final = column.size
NUM_SHARED: Final = SCORE

LARGEST_SCORE: Final = 4.0  # in plays, for what the rule-based agent is sure of
SMALLEST_SCORE: Final = -20.0
CARDS_OF_OTHERS: Final = 39
FIRST_TWO: Final = 48
FIRST_ACE: Final = 44
NO_RANK: Final = 13
NUM_WEIGHTS: Final = 3  # arrays of weights in a `PlayerModel`, before its scratch memory

# Kinds of players, two bits for each seat.
BASELINE: Final = 0  # the rule-based agent
NETWORK: Final = 1  # the champion's network
SELF_PLAY: Final = 2  # a policy of self-play
KIND_BITS: Final = 2
EVERY_SEAT: Final = 0x55  # times a kind: all seats are of that kind
_LATE_REWARD: Final = playout.GAME.late_reward


class PlayerModel(NamedTuple):
    """Weights, float32, and memory to work in.

    Attributes:
        first: (NUM_INPUTS, H), of the hidden layer.
        bias: (H,).
        last: (H,).
        shared: (H,), the hidden layer of the inputs that all actions share.
        hidden: (H,), scratch.
    """

    first: Any
    bias: Any
    last: Any
    shared: Any
    hidden: Any


class PlayerModels(NamedTuple):
    """The models of a search.

    Attributes:
        against_baseline: plays as is good against the rule-based agent.
        network: foresees the plays of the champion's network.
        self_play: foresees those of policies of self-play.
    """

    against_baseline: PlayerModel
    network: PlayerModel
    self_play: PlayerModel


def model_of(weights: Mapping[str, Any]) -> PlayerModel:
    """A model with its own memory, from the arrays of its weights by name."""
    first, bias, last = (
        np.ascontiguousarray(weights[name], np.float32) for name in PlayerModel._fields[:NUM_WEIGHTS]
    )
    return PlayerModel(first, bias, last, *np.zeros((2, len(bias)), np.float32))


@cache
def _file() -> Any:
    return json.loads(Path(__file__).with_name("tienlen_players.json").read_text("utf-8"))


def load_models() -> PlayerModels:
    """The shipped models, with their own memory."""
    return PlayerModels(*(model_of(_file()[name]) for name in PlayerModels._fields))


def new_inputs() -> Float32Array:
    """Memory for the inputs of an action, float32 (NUM_INPUTS,)."""
    return np.zeros(NUM_INPUTS, np.float32)


def add_inputs(model: PlayerModel, inputs: Float32Array, start: int, end: int, layer: Float32Array) -> None:
    """Add some inputs times their weights to the hidden layer."""
    # In plain Python an entry of an array is a Python float; so each step is rounded as in compiled code.
    # Four inputs at once, so that the layer is read and written a quarter as often.
    first, i = model.first, start
    while i + 4 <= end:
        one, two = np.float32(inputs[i]), np.float32(inputs[i + 1])
        three, four = np.float32(inputs[i + 2]), np.float32(inputs[i + 3])
        for j in range(layer.shape[0]):
            total = np.float32(layer[j]) + one * np.float32(first[i, j])
            total += two * np.float32(first[i + 1, j])
            total += three * np.float32(first[i + 2, j])
            layer[j] = total + four * np.float32(first[i + 3, j])
        i += 4
    for k in range(i, end):
        one = np.float32(inputs[k])
        for j in range(layer.shape[0]):
            layer[j] = np.float32(layer[j]) + one * np.float32(first[k, j])


@noinline
def describe_decision(
    line: Rollout, inputs: Float32Array, view: decide.PublicView, context: decide.Context
) -> None:
    """Write the inputs that all actions of a decision share."""
    at = view.table * S.ACTION_FIELDS
    inputs[IS_LEAD] = context.is_lead
    inputs[FEWEST] = context.fewest
    inputs[MOST] = context.most
    inputs[WITH_ONE] = context.num_with_one
    inputs[HELD] = popcount(view.hand)
    inputs[SHARE] = context.pending_scale / 512
    inputs[OWNERS_CARDS] = 0 if context.is_lead else view.left >> (8 * view.owner) & 255
    inputs[TABLE_RANK] = 0 if context.is_lead else line.actions[at + S.TOP] >> 2
    inputs[UNSEEN] = context.num_unseen / CARDS_OF_OTHERS
    for k in range(3):
        seat = k + 1
        inputs[LEFT + k] = view.left >> (8 * seat) & 255 if view.live >> seat & 1 else 0
        inputs[PENDING + k] = context.pending >> seat & 1
        inputs[OWNER + k] = 0 if context.is_lead else view.owner == seat
    inputs[LIVE] = popcount(view.live)
    inputs[TABLE_CARDS] = popcount(view.table_cards)
    inputs[UNSEEN_TWOS] = popcount(view.unseen >> FIRST_TWO)
    inputs[UNSEEN_ACES] = popcount(view.unseen >> FIRST_ACE & 15)


@noinline
def share(model: PlayerModel, inputs: Float32Array) -> None:
    """Compute what all actions of a decision share, after `describe_decision`."""
    for j in range(model.shared.shape[0]):
        model.shared[j] = model.bias[j]
    add_inputs(model, inputs, 0, NUM_SHARED, model.shared)


def describe_rest(inputs: Float32Array, rest: int, unseen: int) -> None:
    """Write the inputs about the cards that are left."""
    ranks, num_cards = ranks_of(rest), popcount(rest)
    pairs = rest & (rest >> 1 | rest >> 2 | rest >> 3) | rest >> 1 & (rest >> 2 | rest >> 3)
    pairs = (pairs | rest >> 2 & rest >> 3) & LOWEST_SUIT
    above_lowest = ranks & (ranks - 1)
    inputs[REST_RANKS] = popcount(ranks)
    inputs[REST_PAIRS] = popcount(pairs)
    inputs[REST_TRIPLES] = num_cards - popcount(ranks) - popcount(pairs)
    inputs[REST_LOWEST] = lowest_index(ranks) >> 2 if rest != 0 else 0
    inputs[REST_SECOND] = NO_RANK if rest != 0 else 0
    if above_lowest != 0:
        inputs[REST_SECOND] = lowest_index(above_lowest) >> 2
    inputs[REST_HIGHEST] = highest_index(rest) >> 2 if rest != 0 else 0
    inputs[REST_TOPS] = popcount(rest >> highest_index(unseen)) if unseen != 0 else num_cards
    inputs[REST_TWOS] = popcount(rest >> FIRST_TWO)
    inputs[REST_ACES] = popcount(rest >> FIRST_ACE & 15)
    inputs[REST_ONE] = num_cards == 1


@noinline
def describe_action(
    line: Rollout,
    inputs: Float32Array,
    view: decide.PublicView,
    context: decide.Context,
    action: int,
    cards: int,
) -> int:
    """Write the inputs of a legal action that are its own; the rule-based agent's score of it."""
    found = decide.evaluate_action(line.policy, line.spec, line.actions, context, view, action, cards)
    at = action * S.ACTION_FIELDS
    width, length, top = line.actions[at + S.WIDTH], line.actions[at + S.LENGTH], line.actions[at + S.TOP]
    is_pass = action == combos.PASS
    inputs[SCORE] = min(max(found.score / W.ONE, SMALLEST_SCORE), LARGEST_SCORE)
    inputs[IS_PASS] = is_pass
    inputs[COST] = (found.split >> COST_SHIFT) / W.ONE
    inputs[BEATABLE] = found.split & 255
    inputs[PLAYS] = found.split >> PLAYS_SHIFT & 255
    inputs[BETTER] = found.better
    inputs[IS_SAFE] = found.is_safe
    inputs[CARDS] = width * length
    for kind in range(3):
        inputs[KIND + kind] = width == kind + 1 and length == 1
    inputs[KIND + 3] = length > 1
    inputs[RANK] = 0 if is_pass else top >> 2
    inputs[HAS_TWOS] = cards >> FIRST_TWO != 0
    inputs[IS_FOUR] = width == 4
    inputs[SUIT] = 0 if is_pass else top & 3
    inputs[HIGHER] = 0 if is_pass else popcount(view.unseen >> top)
    describe_rest(inputs, view.hand & ~cards, view.unseen)
    return found.score


@noinline
def liking(model: PlayerModel, inputs: Float32Array) -> np.float32:
    """How much the player likes a legal action, float32; after `share` and `describe_action`."""
    hidden = model.hidden
    for j in range(hidden.shape[0]):
        hidden[j] = model.shared[j]
    add_inputs(model, inputs, NUM_SHARED, NUM_INPUTS, hidden)
    for j in range(hidden.shape[0]):
        hidden[j] = max(np.float32(hidden[j]), np.float32(0)) * np.float32(model.last[j])
    num = hidden.shape[0]
    while num > 1:  # the two halves, and so on: a sum of one after the other takes four times as long
        half = (num + 1) >> 1
        for j in range(num - half):
            hidden[j] = np.float32(hidden[j]) + np.float32(hidden[half + j])
        num = half
    return np.float32(hidden[0])


class Softmax(NamedTuple):
    """A sum of exponentials, each divided by that of the largest exponent, and the exponent of the play."""

    total: float
    largest: float
    of_played: float


NO_ACTIONS: Final = Softmax(0.0, -1e30, -1e30)


def with_action(before: Softmax, found: float, is_played: bool) -> Softmax:
    """The sum with one more exponent."""
    of_played = found if is_played else before.of_played
    if found > before.largest:
        return Softmax(before.total * exp(before.largest - found) + 1.0, found, of_played)
    return Softmax(before.total + exp(found - before.largest), before.largest, of_played)


def log_chance(found: Softmax, mistakes: float, num_legal: int) -> float:
    """The logarithm of how likely the play is."""
    chance = 0.0
    if found.of_played > NO_ACTIONS.largest:
        chance = (1 - mistakes) * exp(found.of_played - found.largest) / found.total
    return log(chance + mistakes / num_legal)


class Chances(NamedTuple):
    """Logarithms of how likely a play is, by the kind of the player."""

    baseline: float
    network: float
    self_play: float


NO_CHOICE: Final = Chances(0.0, 0.0, 0.0)


@noinline
def log_chances(
    line: Rollout, models: PlayerModels, inputs: Float32Array, row: Row, played: int, mistakes: float
) -> Chances:
    """How likely a play is.

    Args:
        line: ``line.policy`` is the workspace of the rule-based agent.
        models: of players.
        inputs: scratch, see `new_inputs`.
        row: the state before the play, all hands included.
        played: the cards that were played; 0: a pass.
        mistakes: how often a player of any kind plays any legal action instead, above 0.
    """
    kernels.update_legal(row, line.spec, line.actions)
    end = kernels.list_legal(row, line.spec, line.actions, line.ids, line.cards, 0)
    if end == 1:
        return NO_CHOICE
    view = decide.public_view(line.spec, row)
    context = decide.compute_context(line.policy, line.spec, view)
    describe_decision(line, inputs, view, context)
    share(models.network, inputs)
    share(models.self_play, inputs)
    best, most, network, self_play = -1, 0, NO_ACTIONS, NO_ACTIONS
    for i in range(end):
        score = describe_action(line, inputs, view, context, line.ids[i], line.cards[i])
        if best < 0 or score > most:
            best, most = i, score
        is_played = line.cards[i] == played
        network = with_action(network, np.float64(liking(models.network, inputs)), is_played)
        self_play = with_action(self_play, np.float64(liking(models.self_play, inputs)), is_played)
    of_rules = 1 - mistakes if line.cards[best] == played else 0.0
    return Chances(
        log(of_rules + mistakes / end),
        log_chance(network, mistakes, end),
        log_chance(self_play, mistakes, end),
    )


@noinline
def choose_index(line: Rollout, model: PlayerModel, inputs: Float32Array, row: Row) -> int:
    """The index of the action that the player likes most, in ``line.ids`` and ``line.cards``."""
    kernels.update_legal(row, line.spec, line.actions)
    end = kernels.list_legal(row, line.spec, line.actions, line.ids, line.cards, 0)
    best, most = 0, np.float32(0)
    if end == 1:
        return best
    view = decide.public_view(line.spec, row)
    context = decide.compute_context(line.policy, line.spec, view)
    describe_decision(line, inputs, view, context)
    share(model, inputs)
    for i in range(end):
        describe_action(line, inputs, view, context, line.ids[i], line.cards[i])
        found = liking(model, inputs)
        if i == 0 or found > most:
            best, most = i, found
    return best


def kind_of(kinds: int, seat: int) -> int:
    """The kind of the player in a seat."""
    return kinds >> (KIND_BITS * seat) & (1 << KIND_BITS) - 1


def of_kind(kind: int, seat: int) -> int:
    """What a player adds to the kinds of all seats."""
    return kind << (KIND_BITS * seat)


@noinline
def play_out(line: Rollout, models: PlayerModels, inputs: Float32Array, kinds: int, seat: int) -> None:
    """Play ``line.row`` on until `seat` has all its rewards, which are added to ``line.rewards``.

    Args:
        line: arrays of the rollout.
        models: of players.
        inputs: scratch, see `new_inputs`.
        kinds: of the players in all seats. `seat` itself plays as is good against the rule-based agent if all
            opponents in the round are that, and else as the champion's network.
        seat: absolute.
    """
    row = line.row
    has_late_rewards = line.spec[S.REWARD] == _LATE_REWARD
    is_among_baselines = True
    for other in range(R.UNDEALT):
        if other != seat and row[R.LIVE] >> other & 1 and kind_of(kinds, other) != BASELINE:
            is_among_baselines = False
    while row[R.TURN] >= 0 and (has_late_rewards or row[R.PLACE + seat] < 0):
        kind = kind_of(kinds, row[R.TURN])
        if row[R.TURN] == seat and is_among_baselines:
            index = choose_index(line, models.against_baseline, inputs, row)
        elif row[R.TURN] == seat or kind == NETWORK:
            index = choose_index(line, models.network, inputs, row)
        elif kind == SELF_PLAY:
            index = choose_index(line, models.self_play, inputs, row)
        else:
            index = playout.choose_index(line.policy, line.spec, line.actions, row, line.ids, line.cards)
        kernels.play(row, line.spec, line.actions, line.ids[index], line.cards[index], line.rewards)
