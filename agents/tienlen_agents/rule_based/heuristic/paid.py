"""Compiled code of the rule-based agent: what payments add to the score of an action (RULES.md 4).

Amounts are counted in *stakes* (`splits.STAKE`), so that one set of weights serves all presets: what the last
pays the first or, where cards are counted, the price of six cards.
"""

from __future__ import annotations

from typing import Any

from tienlen_agents.rule_based.heuristic import parameters as W
from tienlen_agents.rule_based.heuristic.splits import STAKE, WEIGHTS, can_be_bombed
from tienlen_env.games.common.arrays import ActionFields, Spec
from tienlen_env.games.common.bits import popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import payments as pay, spec as S

_TWOS = 15 << 48
_THREE_OF_SPADES = 1
_PASS = 0


def in_stakes(workspace: Any, weight: int, units: int) -> int:
    """A weight times an amount of units."""
    score: int = workspace[WEIGHTS + weight] * units // workspace[STAKE]
    return score


@noinline
def paid_score(
    workspace: Any,
    spec: Spec,
    actions: ActionFields,
    context: Any,
    view: Any,
    action: int,
    cards: int,
    reach: int,
) -> int:
    """What the payments that an action may bring add to its score.

    Args:
        workspace: its tables are those of the decision.
        spec: the variant, which has payments.
        actions: its action table.
        context: see `tienlen_agents.rule_based.heuristic.decide.evaluate_action`.
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
