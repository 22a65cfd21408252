"""Choices by a network's scores: one item for each decision."""

from __future__ import annotations

from typing import Any, NamedTuple

from tienlen_env.games.common import floats
from tienlen_env.games.common.bits import philox


class ScoreArgs(NamedTuple):
    """The scores of n decisions with N legal actions, and the choices.

    Attributes:
        logits: float32 (N,).
        segment_start: int64 (n,), where each decision's actions begin.
        num_legal: int64 (n,), their number.
        games: int64 (n,), the number of each decision's game: the counter of its draw.
        key: of the draws; a signed word.
        block: of the draws; another number in every step of the games.
        inverse_temperature: factor on the scores.
        chosen: int64 (n,), overwritten: index of the choice among the N.
        value: float32 (n,), overwritten: see `draw_item` and `best_item`.
    """

    logits: Any
    segment_start: Any
    num_legal: Any
    games: Any
    key: int
    block: int
    inverse_temperature: float
    chosen: Any
    value: Any


def uniform(key: int, counter: int, block: int) -> Any:
    """A draw in [0, 1), a multiple of 2**-53, as a function of its arguments; see `philox`."""
    high, low, _, _ = philox(key, counter, block)
    return ((high >> 5) * 67108864.0 + (low >> 6)) / 9007199254740992.0


def draw_item(item: int, slot: int, args: ScoreArgs) -> None:
    """Draw an action by the softmax of the scores; `value` is its log-probability.

    Sums are in float64.
    """
    start = args.segment_start[item]
    end = start + args.num_legal[item]
    best = args.inverse_temperature * float(args.logits[start])
    for i in range(start + 1, end):
        best = max(best, args.inverse_temperature * float(args.logits[i]))
    total = 0.0
    for i in range(start, end):
        total += floats.exp(args.inverse_temperature * float(args.logits[i]) - best)
    left = total * uniform(args.key, args.games[item], args.block)
    at = end - 1
    for i in range(start, end - 1):
        left -= floats.exp(args.inverse_temperature * float(args.logits[i]) - best)
        if left < 0:
            at = i
            break
    args.chosen[item] = at
    args.value[item] = args.inverse_temperature * float(args.logits[at]) - best - floats.log(total)


def best_item(item: int, slot: int, args: ScoreArgs) -> None:
    """Choose the first action with the highest score; `value` is its lead over the next highest one."""
    start = args.segment_start[item]
    end = start + args.num_legal[item]
    chosen = start
    for i in range(start + 1, end):
        if args.logits[i] > args.logits[chosen]:
            chosen = i
    lead = 1e30
    for i in range(start, end):
        if i != chosen:
            lead = min(lead, float(args.logits[chosen]) - float(args.logits[i]))
    args.chosen[item] = chosen
    args.value[item] = lead
