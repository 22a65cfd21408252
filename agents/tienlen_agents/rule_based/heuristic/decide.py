"""Compiled code of the rule-based agent: the choice.

Scalar functions in the style of `tienlen_env.games.tienlen.kernels`, on the workspace of
`tienlen_agents.rule_based.heuristic.splits`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_agents.rule_based.heuristic.paid import paid_score
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
from tienlen_env.games.tienlen import actions as combos, kernels, spec as S, state as R

_PASS: Final = combos.PASS
_CERTAIN: Final = 1 << 40  # above any other score: the hand goes out for certain
_LAST_RESORT: Final = -(1 << 40)  # below any other score


class PublicView(NamedTuple):
    """The information of the player to move; seats are relative, 0 is that player.

    Attributes:
        hand: own cards.
        unseen: cards neither held nor played.
        left: number of cards in each hand, 4 bits a seat.
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
        left |= popcount(row[R.HAND + seat]) << (4 * relative)
    owner = row[R.OWNER] - turn
    return PublicView(
        hand,
        FULL & ~seen,
        left,
        rotate(row[R.LIVE], turn, num_players),
        rotate(row[R.PASSED], turn, num_players),
        row[R.TABLE],
        owner if owner >= 0 else owner + num_players,
        row[R.TABLE_CARDS],
        row[spec[S.EXTRA] + R.CHAIN] if spec[S.HAS_PAYMENTS] else 0,
        row[R.PLAYED + turn] == 0,
    )


def compute_context(workspace: Any, spec: Spec, view: PublicView) -> Context:
    """Fill in the workspace for a decision, and return the other inputs of `evaluate_action`."""
    opponents = view.live & ~1
    pending = opponents if view.table == _PASS or not spec[S.PASS_LOCK] else opponents & ~view.passed
    fewest, most, num_held = 13, 0, 0
    most_pending, num_pending, num_with_one, num_with_two = 0, 0, 0, 0
    for seat in range(1, 4):
        if opponents >> seat & 1:
            count = view.left >> (4 * seat) & 15
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


def evaluate_action(
    workspace: Any,
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
            score -= workspace[WEIGHTS + W.PASS_OWNER + (view.left >> (4 * view.owner) & 15)]
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
    workspace: Any,
    spec: Spec,
    actions: ActionFields,
    view: PublicView,
    ids: Any,
    cards: Any,
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


def choose_row(workspace: Any, spec: Spec, actions: ActionFields, row: Row, ids: Any, cards: Any) -> int:
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
    workspace: Any,
    spec: Spec,
    actions: ActionFields,
    row: Row,
    ids: Any,
    cards: Any,
    bounds: Any,
    out: ActionFacts,
) -> None:
    """Evaluate the actions of a round from index ``bounds[0]`` to ``bounds[1]``.

    See `HeuristicAgent.evaluate_actions` for the facts.
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


@lru_cache(maxsize=8)
def _weights(parameters: W.Parameters | None) -> IntArray:
    return W.family_weights(parameters)


def new_workspace(parameters: W.Parameters | None = None) -> IntArray:
    """A workspace for the rule-based agent; call `set_rules` before its first use.

    Args:
        parameters: the weights under all rules; None for those that are tuned for each family of rules.
    """
    workspace = np.zeros(WORKSPACE_SIZE, np.int64)
    workspace[WEIGHTS:RANK_SPLITS] = _weights(parameters)
    return workspace


@jit.loop
def choose_all(workspace, spec, actions, rows, games, ids, cards, out):  # type: ignore[no-untyped-def]
    """Choose an action for each of n games; `ids` and `cards` are scratch (A,)."""
    set_rules(workspace, spec)
    for b in range(games.shape[0]):
        out[b] = ids[choose_row(workspace, spec, actions, rows[games[b]], ids, cards)]


@jit.loop
def evaluate_all(  # type: ignore[no-untyped-def]
    workspace, spec, actions, rows, games, ids, cards, start, scores, facts
):
    """Evaluate all N listed legal actions of n games."""
    set_rules(workspace, spec)
    out = ActionFacts(scores, facts)
    for b in range(games.shape[0]):
        end = start[b + 1] if b + 1 < games.shape[0] else ids.shape[0]
        evaluate_row(workspace, spec, actions, rows[games[b]], ids, cards, (start[b], end), out)


@jit.loop
def split_all(workspace, spec, hand, unseen, num_held, fewest, most, out):  # type: ignore[no-untyped-def]
    """Compute the best split of each of n hands."""
    set_rules(workspace, spec)
    for b in range(out.shape[0]):
        measure_plays(workspace, spec, hand[b], unseen[b], num_held[b], fewest[b], most[b])
        out[b] = split_cost(workspace, spec, hand[b])
