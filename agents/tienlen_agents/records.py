"""Read whole rounds from their records, and lay their plays out for a `Batch`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tienlen_env.engine.batch import NO_ACTION
from tienlen_env.errors import NotationError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.base import AnyRound, round_type


def read_round(line: str, rules: AnyRules) -> AnyRound:
    """The round of a record.

    Args:
        line: the record.
        rules: the variant that it must have.

    Raises:
        NotationError: not a legal round of the variant, or one that is not played to its end.
    """
    played = round_type(rules).from_record(line, rules)
    if played.rules != rules:
        raise NotationError(f"expected {rules.num_players} players, got {played.num_players}", 1)
    if not played.is_over:
        raise NotationError("the round is not played to its end", len(line.rstrip()) + 1)
    return played


def plays_of(rounds: Sequence[AnyRound]) -> tuple[IntArray, IntArray]:
    """The actions of B rounds and their exact cards: int64 (T, B) both, a row for each step.

    Args:
        rounds: of T plays at most; after the last play of a round its actions are `NO_ACTION`.
    """
    shape = max((len(played.plays) for played in rounds), default=0), len(rounds)
    actions, cards = np.full(shape, NO_ACTION, np.int64), np.zeros(shape, np.int64)
    for game, played in enumerate(rounds):
        moves = [(play.action, play.cards) for play in played.plays]
        if moves:
            actions[: len(moves), game], cards[: len(moves), game] = np.array(moves, np.int64).T
    return actions, cards
