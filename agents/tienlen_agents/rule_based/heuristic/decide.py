"""Compiled code of the rule-based agent: the choice.

Scalar functions in the style of `tienlen_env.games.tienlen.kernels`, on the workspace of
`tienlen_agents.rule_based.heuristic.splits`.

A score has one function for each part of the rules. `in_stakes` makes units of payments comparable,
`paid_score` is what an action may earn and cost by payments (not inlined: rules without payments never call
it), and `evaluate_action` is the whole: the split of the remaining hand, then what a pass or a play brings,
then payments, then the danger of players with one or two cards. All who compare actions call
`evaluate_action` and differ in what they keep: `choose` the best action, `evaluate_row` every score and its
parts, for networks, and `playout.is_choice` no more than whether an action is the best, so it stops early.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.parallel import Machine
from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_agents.rule_based.heuristic.splits import (
    BIND,
    COST_SHIFT,
    KIND,
    PLAYS_SHIFT,
    RANK_SPLITS,
    STAKE,
    WEIGHTS,
    WORKSPACE_SIZE,
    can_be_bombed,
    measure_plays,
    num_better,
    set_rules,
    split_cost,
)
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import ActionFields, IntArray, Row, Spec
from tienlen_env.games.common.bits import FULL, lowest_index, popcount, rotate
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import actions as combos, kernels, payments as pay, spec as S, state as R

_PASS: Final = combos.PASS
_CERTAIN: Final = 1 << 40  # above any other score: the hand goes out for certain
_LAST_RESORT: Final = -(1 << 40)  # below any other score
_TWOS: Final = 15 << 48
_THREE_OF_SPADES: Final = 1


class PublicView(NamedTuple):
    """The information of the player to move; seats are relative, 0 is that player.

    Attributes:
        hand: own cards.
        unseen: cards of the deck that are neither held nor played.
        left: number of cards in each hand, 8 bits a seat.
        live: seat mask: still in the round.
        passed: seat mask: passed in this trick.
        table: action on the table, 0 when leading.
        owner: seat that played it.
        table_cards: its cards.
        chain: units that are owed for the chops of this trick and that its last one earns.
        has_not_played: whether the player has played no card in this round.
    """

    hand: int
    unseen: int
    left: int
    live: int
    passed: int
    table: int
    owner: int
    table_cards: int
    chain: int
    has_not_played: bool


class Context(NamedTuple):
    """Inputs of `evaluate_action` besides the workspace, one value per decision; seats are relative.

    Attributes:
        is_lead: whether the table is empty.
        pending: seat mask: opponents who may still play in this trick.
        most_pending: cards in the longest hand of `pending`.
        most: cards in the longest hand of all opponents.
        num_with_one: opponents among `pending` with one card.
        num_with_two: opponents among `pending` with two cards.
        fewest: cards in the shortest hand of all opponents.
        num_unseen: number of unseen cards, at least 1.
        pending_scale: 512 × the share of unseen cards that `pending` hold.
    """

    is_lead: bool
    pending: int
    most_pending: int
    most: int
    num_with_one: int
    num_with_two: int
    fewest: int
    num_unseen: int
    pending_scale: int


class Evaluation(NamedTuple):
    """Output of `evaluate_action` for one action.

    Attributes:
        score: the higher the better.
        split: the split of the remaining hand.
        better: number of unseen plays that beat the action; 0 for the pass.
        is_safe: 1 where no opponent can beat it.
    """

    score: int
    split: int
    better: int
    is_safe: int


# ---------------------------------------------------------------- the choice


def public_view(spec: Spec, row: Row) -> PublicView:
    """The information of the seat to act. Of the other hands only the numbers of cards are read."""
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    hand = row[R.HAND + turn]
    seen, left = hand, 0
    for seat in range(num_players):
        seen |= row[R.PLAYED + seat]
        relative = seat - turn if seat >= turn else seat - turn + num_players
        left |= popcount(row[R.HAND + seat]) << (8 * relative)
    owner = row[R.OWNER] - turn
    return PublicView(
        hand,
        spec[S.DECK] & ~seen,
        left,
        rotate(row[R.LIVE], turn, num_players),
        rotate(row[R.PASSED], turn, num_players),
        row[R.TABLE],
        owner if owner >= 0 else owner + num_players,
        row[R.TABLE_CARDS],
        row[spec[S.EXTRA] + R.CHAIN] if spec[S.HAS_PAYMENTS] else 0,
        row[R.PLAYED + turn] == 0,
    )


def compute_context(workspace: Row, spec: Spec, view: PublicView) -> Context:
    """Fill in the workspace for a decision, and return the other inputs of `evaluate_action`."""
    opponents = view.live & ~1
    pending = opponents if view.table == _PASS or not spec[S.PASS_LOCK] else opponents & ~view.passed
    fewest, most, num_held = W.NUM_LEFT - 1, 0, 0
    most_pending, num_pending, num_with_one, num_with_two = 0, 0, 0, 0
    for seat in range(1, 4):
        if opponents >> seat & 1:
            count = view.left >> (8 * seat) & 255
            fewest, most, num_held = min(fewest, count), max(most, count), num_held + count
            if pending >> seat & 1:
                most_pending, num_pending = max(most_pending, count), num_pending + count
                num_with_one += count == 1
                num_with_two += count == 2
    measure_plays(workspace, spec, view.hand, view.unseen, num_held, fewest, most)
    num_unseen = max(popcount(view.unseen), 1)
    pending_scale = 512 * num_pending // num_unseen
    return Context(
        view.table == _PASS,
        pending,
        most_pending,
        most,
        num_with_one,
        num_with_two,
        fewest,
        num_unseen,
        pending_scale,
    )


def in_stakes(workspace: Row, weight: int, units: int) -> int:
    """A weight times an amount of units of payments (RULES.md 4).

    Amounts are counted in *stakes* (`splits.STAKE`), so that one set of weights serves all presets: what the
    last pays the first or, where cards are counted, the price of six cards.
    """
    score: int = workspace[WEIGHTS + weight] * units // workspace[STAKE]
    return score


@noinline
def paid_score(
    workspace: Row,
    spec: Spec,
    actions: ActionFields,
    context: Context,
    view: PublicView,
    action: int,
    cards: int,
    reach: int,
) -> int:
    """What the payments that an action may bring add to its score.

    Args:
        workspace: its tables are those of the decision.
        spec: the variant, which has payments.
        actions: its action table.
        context: see `evaluate_action`.
        view: see there.
        action: the action ...
        cards: ... and its cards; they do not empty the hand.
        reach: cards in the longest hand of a player who may answer; 0 if no player can beat the action.
    """
    score = 0
    rest = view.hand ^ cards
    # Held cards are paid for when the first goes out, or by the last alone.
    end = context.fewest if spec[S.ROUND_END_FIRST] else context.most
    held = spec[S.PAY_CARD] * popcount(rest) + pay.twos_price(spec, S.PAY_HELD_TWOS, rest)
    if popcount(rest) >= 4:
        bombs = pay.bombs_score(spec, rest, spec[S.PAY_CARD])
        held += bombs + 63 >> 6
    score -= in_stakes(workspace, W.HELD, held) * workspace[WEIGHTS + W.END + end] >> 16
    if action == _PASS:
        if view.has_not_played:
            weight = workspace[WEIGHTS + W.END + context.fewest]
            score -= in_stakes(workspace, W.CONG, spec[S.PAY_CONG]) * weight >> 16
        of_pass: int = score
        return of_pass

    # A chop pays at once, and may be chopped in its turn; so may 2s.
    at = action * S.ACTION_FIELDS
    width, length, top = actions[at + S.WIDTH], actions[at + S.LENGTH], actions[at + S.TOP]
    prize = pay.chop_price(spec, actions, view.table, view.table_cards, action) if view.table != _PASS else 0
    if prize > 0:
        prize += view.chain
        score += in_stakes(workspace, W.PRIZE, prize)
    if reach > 0 and can_be_bombed(workspace, width, length, top):
        price = spec[S.PAY_CHOP + (width - 1) * 16 + length]
        if top >> 2 == 12:
            price = pay.twos_price(spec, S.PAY_CHOP_TWOS, cards)
        score -= in_stakes(workspace, W.RISK, price + prize)

    if spec[S.LAST_TWO_ENDS] and rest & ~_TWOS == 0:
        score -= workspace[WEIGHTS + W.ONLY_TWOS]  # the hand cannot be emptied without a penalty
    if spec[S.PAY_LAST_THREE] > 0 and rest == _THREE_OF_SPADES and reach > 0:
        score -= in_stakes(workspace, W.LAST_THREE, spec[S.PAY_LAST_THREE])
    total: int = score
    return total


def evaluate_action(
    workspace: Row,
    spec: Spec,
    actions: ActionFields,
    context: Context,
    view: PublicView,
    action: int,
    cards: int,
) -> Evaluation:
    """Score one action by the rules of `tienlen_agents.rule_based.heuristic`.

    Args:
        workspace: filled in by `compute_context`.
        spec: the variant.
        actions: its action table.
        context: what `compute_context` returned.
        view: the decision.
        action: a legal action ...
        cards: ... and its cards.
    """
    at = view.table * S.ACTION_FIELDS
    table_width, table_length = actions[at + S.WIDTH], actions[at + S.LENGTH]
    rest = view.hand ^ cards
    if rest == 0:
        if spec[S.LAST_TWO_ENDS] and cards >> 48 != 0:
            return Evaluation(2 * _LAST_RESORT + 1, 0, 0, 1)  # a penalty (4.27)
        return Evaluation(2 * _CERTAIN, 0, 0, 1)
    split = split_cost(workspace, spec, rest)
    num_beatable = split & 255
    score = -(split >> COST_SHIFT) - num_beatable * workspace[WEIGHTS + W.BEATABLE]
    is_safe, reach = 0, 0
    if action == _PASS:
        num_cards = table_width * table_length
        better = popcount(view.unseen & (FULL << (actions[at + S.TOP] + 1))) if num_cards == 1 else 0
        score += workspace[WEIGHTS + W.PASS_BONUS + context.fewest]
        score += popcount(view.hand) * workspace[WEIGHTS + W.PASS_CARD]
        score -= max((split >> COST_SHIFT + 16) - context.fewest, 0) * workspace[WEIGHTS + W.PLACE]
        if view.live >> view.owner & 1:
            num_left = min(view.left >> (8 * view.owner) & 255, W.NUM_LEFT - 1)
            score -= workspace[WEIGHTS + W.PASS_OWNER + num_left]
            if context.pending & ~(1 << view.owner) == 0:
                score -= workspace[WEIGHTS + W.PASS_LAST]
    else:
        fields = action * S.ACTION_FIELDS
        width, length = actions[fields + S.WIDTH], actions[fields + S.LENGTH]
        if width == 0:
            return Evaluation(2 * _CERTAIN, split, 0, 1)  # the declaration of an instant win (4.12)
        top = actions[fields + S.TOP]
        num_cards = width * length
        # Players who have passed may still put a bomb on some plays (3.6).
        reach = context.most if actions[fields + S.REOPENS_TRICK] else context.most_pending
        if width == 3 and workspace[BIND]:
            top = (top & ~3) + 3 - lowest_index(15 ^ cards >> (top & ~3))  # see `tienlen.suited`
        better = num_better(workspace, width, length, top) if num_cards <= reach else 0
        if better == 0 and not (reach > 0 and can_be_bombed(workspace, width, length, top)):
            is_safe = 1
        kind = workspace[KIND + (width - 1) * 16 + length]
        hold = workspace[WEIGHTS + W.HOLD + kind * W.NUM_STEPS + (better * context.pending_scale >> 8)]
        gain = workspace[WEIGHTS + (W.LEAD_TEMPO if context.is_lead else W.FOLLOW_TEMPO)]
        if num_beatable <= 1:
            gain += workspace[WEIGHTS + W.FINISH]
            if is_safe and not (spec[S.LAST_TWO_ENDS] and rest >> 48 << 48 == rest):
                score += _CERTAIN
        elif num_beatable == 2:
            gain += workspace[WEIGHTS + W.FINISH_TWO]
        score += hold * gain >> 16
        if context.is_lead:
            score += num_cards * workspace[WEIGHTS + W.LEAD_CARDS]
            if num_cards == 1 and context.num_with_one > 0 and not is_safe:
                score += _LAST_RESORT + (top << 24)
        elif table_width != width or table_length != length:
            score += workspace[WEIGHTS + W.CHOP]
    if workspace[STAKE] > 0:
        threat = 0 if is_safe else reach
        score += paid_score(workspace, spec, actions, context, view, action, cards, threat)
    if num_cards == 1:
        score -= better * context.num_with_one * workspace[WEIGHTS + W.DANGER_ONE] // context.num_unseen
    if num_cards <= 2:
        score -= better * context.num_with_two * workspace[WEIGHTS + W.DANGER_TWO] // context.num_unseen
    return Evaluation(score, split, better, is_safe)


@noinline
def choose(
    workspace: Row,
    spec: Spec,
    actions: ActionFields,
    view: PublicView,
    ids: Row,
    cards: Row,
    start: int,
    end: int,
) -> int:
    """Apply the rules of `tienlen_agents.rule_based.heuristic`, in their order.

    Args:
        workspace: its rules and weights are set.
        spec: the variant.
        actions: its action table.
        view: the decision.
        ids: the legal actions ...
        cards: ... and what each would play, from index `start` to `end`.
        start: see `ids`.
        end: see `ids`.

    Returns:
        Index of the chosen action in `ids`.
    """
    best = start
    if end - start == 1:
        return best
    context = compute_context(workspace, spec, view)
    best_score = 2 * _LAST_RESORT
    for i in range(start, end):
        score = evaluate_action(workspace, spec, actions, context, view, ids[i], cards[i]).score
        if score > best_score:
            best_score, best = score, i
    return best


def choose_row(workspace: Row, spec: Spec, actions: ActionFields, row: Row, ids: Row, cards: Row) -> int:
    """Choose for the seat to act of a round whose legal actions are up to date.

    Returns:
        Index of the choice in `ids` and `cards`, which get the legal actions and their cards.
    """
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    if end == 1:
        return 0
    return choose(workspace, spec, actions, public_view(spec, row), ids, cards, 0, end)


class ActionFacts(NamedTuple):
    """Outputs of `evaluate_row`: for each action its score, int64 (N,), and its facts, float32 (N, 5)."""

    scores: Any
    facts: Any


def evaluate_row(
    workspace: Row,
    spec: Spec,
    actions: ActionFields,
    row: Row,
    ids: Row,
    cards: Row,
    bounds: tuple[int, int],
    out: ActionFacts,
) -> None:
    """Evaluate the actions of a round from index ``bounds[0]`` to ``bounds[1]``.

    The facts are the cost of the remaining hand, in plays; its number of beatable plays; the number of unseen
    plays that beat the action; 1 if no opponent can beat it; the fewest plays of the remaining hand.
    """
    view = public_view(spec, row)
    context = compute_context(workspace, spec, view)
    for i in range(bounds[0], bounds[1]):
        found = evaluate_action(workspace, spec, actions, context, view, ids[i], cards[i])
        out.scores[i] = found.score
        out.facts[i, 0] = (found.split >> COST_SHIFT) / W.ONE
        out.facts[i, 1] = found.split & 255
        out.facts[i, 2] = found.better
        out.facts[i, 3] = found.is_safe
        out.facts[i, 4] = found.split >> PLAYS_SHIFT & 255


# ---------------------------------------------------------------- called from Python


def new_workspace(parameters: W.Parameters | None = None) -> IntArray:
    """A workspace for the rule-based agent; call `set_rules` before its first use.

    Args:
        parameters: the weights under all rules; None for those that are tuned for each family of rules.
    """
    workspace = np.zeros(WORKSPACE_SIZE, np.int64)
    workspace[WEIGHTS:RANK_SPLITS] = W.family_weights(parameters)
    return workspace


class RulesArgs(NamedTuple):
    """Workspaces int64 (T, W), and the variant."""

    workspaces: Any
    spec: Spec


def set_rules_item(item: int, slot: int, args: RulesArgs) -> None:
    """Prepare workspace number `item` for the variant."""
    set_rules(args.workspaces[item], args.spec)


def new_workspaces(machine: Machine, spec: Spec) -> Any:
    """int64 (T, W): a workspace for each slot, prepared for the variant."""
    workspaces = machine.per_slot(new_workspace())
    machine.launch(set_rules_item, machine.num_slots, RulesArgs(workspaces, spec))
    return workspaces


@jit.loop
def split_all(workspace, spec, hand, unseen, num_held, fewest, most, out):  # type: ignore[no-untyped-def]
    """Compute the best split of each of n hands."""
    set_rules(workspace, spec)
    for b in range(out.shape[0]):
        measure_plays(workspace, spec, hand[b], unseen[b], num_held[b], fewest[b], most[b])
        out[b] = split_cost(workspace, spec, hand[b])
