"""The inputs of a network in Tiến lên, and the inputs that only the critic reads.

With a play summary (`tienlen_env.games.tienlen.state`) the observation continues, for each opponent,
with the plays that it *passed* on in this round, *followed* with and *led*. Each of the three has 4 x 13
bits: for singles, pairs, triples and all longer plays, by the highest rank.

The features of an action are three groups of numbers, X = 151 in total, 155 where suits bind: the *action*
itself (35: one-hot width, length, top rank and top suit, and whether it is suited; zeros for the pass), the
*hand* that it leaves (52 by card id, and the number of cards of each rank in unary, 52), and *auxiliary
features* of that hand (12, see `read_item`). Where suits bind, an action is exact cards, and the suits
of its cards (4) follow. They are written as the upper halves of float32, which is bfloat16, so no
conversion is needed before the multiplication. The reader appends the number of unseen cards of each rank
to the observation.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.endgame import EndgameSolver, can_solve, solve
from tienlen_agents.networks.features.base import (
    ONE,
    ComputeArgs,
    ComputedCode,
    Features,
    Inputs,
    ReadArgs,
    ReaderCode,
    WinningActionsFn,
)
from tienlen_agents.networks.features.tienlen_general import (
    MOST_PLAYS,
    PIECES,
    general_inputs,
    num_summary_bits,
)
from tienlen_agents.parallel import GameArrays, Machine
from tienlen_agents.rule_based.heuristic import decide, parameters, playout, splits
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_indices
from tienlen_env.games.common.arrays import ActionFields, ByteArray, IntArray, Output, Row, Spec
from tienlen_env.games.common.bits import FULL, lowest_index, popcount, wrap, write_word
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen import kernels, observe, spec as S, state as R

PLAYED: Final = NUM_CARDS  # where the cards that the observer has played begin in an observation
NUM_TABLE_FEATURES: Final = 4 + 13 + 13 + 4 + 1
NUM_AUX: Final = 12
AUX: Final = NUM_TABLE_FEATURES + 2 * NUM_CARDS  # first column of the auxiliary features
NUM_ACTION_FEATURES: Final = AUX + NUM_AUX  # X, without the suits
NUM_SUITS: Final = 4
WINNING_NODES: Final = 2000  # positions that a decision of `winning_actions` may need at most
_MAX_GAP: Final = 4.0  # plays; larger gaps to the best action are clipped


def write_action(actions: ActionFields, action: int, left: int, out: Output) -> None:
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


def write_unseen(row: Row, spec: Spec, out: Output, start: int) -> None:
    """Write the number of unseen cards of each rank, in unary with 4 bits."""
    unseen = decide.public_view(spec, row).unseen
    for rank in range(13):
        num_of_rank = popcount(unseen & 15 << 4 * rank)
        for k in range(4):
            out[start + 4 * rank + k] = num_of_rank > k


def mark_cards_out_of_play(spec: Spec, out: Output) -> None:
    """Write the cards that are not in the deck as cards that the observer has played.

    A network that knows the whole deck then reckons with the cards that are in play.
    """
    outside = FULL & ~spec[S.DECK]
    while outside != 0:
        out[PLAYED + lowest_index(outside)] = 1
        outside &= outside - 1


def write_summary(row: Row, spec: Spec, seat: int, out: Output, start: int) -> int:
    """Write the play summary that a seat reads, as 0s and 1s; zeros if the batch stores no plays.

    Args:
        row: int64 (ROW,), the round.
        spec: the variant.
        seat: the seat that reads it.
        out: uint8, is written from index `start` on: for each opponent, the next to play first: passed,
            followed, led. The 12 bytes after the summary are overwritten.
        start: see `out`.

    Returns:
        The index after the summary.
    """
    num_players = spec[S.NUM_PLAYERS]
    for after in range(1, num_players):
        at = spec[S.PLAY_SUMMARY] + 3 * wrap(seat + after, num_players)
        for what in range(3):
            write_word(out, start, row[at + what] if spec[S.NUM_KEPT] > 0 else 0)
            start += R.NUM_KINDS * R.NUM_RANKS
    return start


def prepare(item: int, slot: int, args: ReadArgs) -> None:
    """Prepare workspace number `item` for the variant."""
    splits.set_rules(args.memory.states[item], args.spec)


def read_item(b: int, slot: int, args: ReadArgs) -> None:
    """Write the inputs of decision number `b`.

    The auxiliary features of an action describe the hand that it leaves: the fewest plays, and the
    difference to the fewest after any legal action; the number of beatable plays, and whether it is 0 or 1;
    the number of unseen plays that beat the action, and whether no play does; the number of cards left. With
    ``prior="heuristic"`` there are four more, from the heuristic agent: the action's score relative to its
    best one, in plays, and whether it is the best; the cost of the hand left, and the difference to the least
    cost.
    """
    spec, actions, workspace = args.spec, args.actions, args.memory.states[slot]
    settings, inputs, ids = args.settings, args.inputs, args.inputs.action
    cards, scores, hand_values = args.memory.cards, args.memory.scores, args.memory.values
    aux, bits = args.memory.aux_features[slot], args.memory.bits[slot]
    facts = decide.ActionFacts(scores, hand_values)
    observation = inputs.observation[b]
    row = args.rows[args.games[b]]
    seat = row[R.TURN]
    observe.observe(row, spec, actions, seat, observation, 0)
    if settings.summary_at > 0:
        write_summary(row, spec, seat, observation, settings.summary_at)
    mark_cards_out_of_play(spec, observation)
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


class HandMemory(NamedTuple):
    """What `hidden_item` works in: the fewest plays of each hand; most stay the same between calls.

    Attributes:
        workspaces: int64 (T, W), for each slot, prepared by `set_any_hand`.
        hands: int64 (B, P), the hands of the last results ...
        num_plays: int64 (B, P), ... and these results.
    """

    workspaces: Any
    hands: Any
    num_plays: Any


def new_hand_memory(machine: Machine, position: GameArrays) -> HandMemory:
    """The memory of `hidden_item` for a batch."""
    workspaces = machine.per_slot(decide.new_workspace())
    machine.launch(set_any_hand, machine.num_slots, decide.RulesArgs(workspaces, position.spec))
    shape = len(position.rows), int(machine.host(position.spec)[S.NUM_PLAYERS])
    return HandMemory(workspaces, machine.zeros(shape, np.int64), machine.zeros(shape, np.int64))


def set_any_hand(item: int, slot: int, args: decide.RulesArgs) -> None:
    """Prepare workspace number `item` for hands alone.

    The fewest plays of a hand do not depend on the other cards, so one context is enough for all hands.
    """
    splits.set_rules(args.workspaces[item], args.spec)
    splits.measure_plays(args.workspaces[item], args.spec, FULL, 0, 0, 0, 0)


def num_hidden(rules: AnyRules) -> int:
    """H, the number of features that `hidden_item` writes."""
    return (rules.num_players - 1) * NUM_CARDS + rules.num_players * MOST_PLAYS


def hidden_item(item: int, slot: int, args: ComputeArgs) -> None:
    """Write hidden features for the critic, relative seats.

    The hands of the others, by card id; and for each seat the fewest plays of its hand, in unary with 8 bits.
    """
    spec, out, game = args.spec, args.out[item], args.games[item]
    workspaces, hands, num_plays = args.memory
    num_players, row = spec[S.NUM_PLAYERS], args.rows[game]
    for after in range(1, num_players):
        hand = row[R.HAND + wrap(row[R.TURN] + after, num_players)]
        write_word(out, (after - 1) * NUM_CARDS, hand)  # the next write overwrites the bits beyond 52
    for after in range(num_players):
        seat = wrap(row[R.TURN] + after, num_players)
        hand = row[R.HAND + seat]
        if hands[game, seat] != hand:
            hands[game, seat] = hand
            num_plays[game, seat] = (
                splits.split_cost(workspaces[slot], spec, hand) >> splits.PLAYS_SHIFT & 255
            )
        at = (num_players - 1) * NUM_CARDS + after * MOST_PLAYS
        for k in range(MOST_PLAYS):
            out[at + k] = num_plays[game, seat] > k


def outcome_item(item: int, slot: int, args: ComputeArgs) -> None:
    """Write the final places if all seats follow the heuristic agent from here.

    Relative seats: the place of each, one-hot P.
    """
    line = playout.line_of_slot(args.memory, slot)
    row, num_players = args.rows[args.games[item]], line.spec[S.NUM_PLAYERS]
    playout.play_to_end(line, row)
    for after in range(num_players):
        seat = wrap(row[R.TURN] + after, num_players)
        for place in range(num_players):
            args.out[item, after * num_players + place] = line.row[R.PLACE + seat] == place


def return_item(item: int, slot: int, args: ComputeArgs) -> None:
    """Write the return of a legal action if all seats follow the heuristic agent afterwards.

    All returns of one decision are computed with the same hidden cards, those in the state.
    """
    line = playout.line_of_slot(args.memory, slot)
    row = args.rows[args.games[args.owner[item]]]
    args.out[item] = playout.action_return(line, row, args.ids[item])


def num_action_features(rules: Any) -> int:
    """X, the number of features of an action."""
    return NUM_ACTION_FEATURES + (NUM_SUITS if rules.suits_bind else 0)


def winning_actions(rules: AnyRules) -> WinningActionsFn:
    """Makes the function of `Features.winning_actions`; it serves one thread at a time.

    A win of the better of the last two places is proven where two of four players are left, each can infer
    the other's cards, and the solver needs few positions (`tienlen_agents.endgame`); never under rules with
    payments. The function raises ValueError for games out of range or over, or inputs of another number of
    decisions, and WrongGameError.
    """
    solver = EndgameSolver(rules) if can_solve(rules) else None

    def compute(batch: Batch, games: IntArray, inputs: Inputs) -> ByteArray:
        FEATURES.check_game(batch)
        games = as_indices(games, batch.num_games)
        if len(inputs.num_legal) != len(games):
            raise ValueError("inputs: expected those of the games")
        if solver is None or not len(games):
            return np.ones(len(inputs.action), np.uint8)
        found = solve(View(batch, games, copy=False), max_nodes=WINNING_NODES, solver=solver)
        owner = inputs.segment_ids
        is_winning: ByteArray = (found.value != 1)[owner] | found.best_mask[owner, inputs.action]
        return is_winning.astype(np.uint8)

    return compute


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
        "(`tienlen_agents.networks.features.tienlen`). It plays the lowest suits of the action "
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
    code=lambda rules: ReaderCode(read_item, prepare, decide.new_workspace, NUM_AUX, np.int64, 5),
    hidden=ComputedCode(lambda rules: hidden_item, new_hand_memory, num_hidden),
    num_belief_cards=NUM_CARDS,
    outcome=ComputedCode(lambda rules: outcome_item, playout.new_args, lambda rules: rules.num_players**2),
    returns=ComputedCode(lambda rules: return_item, playout.new_args),
    winning_actions=winning_actions,
    limitations=limitations,
    general=general_inputs,
    pieces=PIECES,
)
