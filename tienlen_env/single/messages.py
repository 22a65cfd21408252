"""The information of one seat about a position, as JSON values: one form for every game.

`positions` writes it; `Session.view` and the line protocol (``tienlen_agents/external/PROTOCOL.md``) use the
same fields:

| field | meaning |
|---|---|
| ``seat`` | the observing seat, from 0; null for an observer without a hand |
| ``current_seat`` | the seat to act; null when the game is over |
| ``hand`` | the cards of ``seat``, as text |
| ``counts`` | number of cards in each hand; every list is by seat, from 0 |
| ``places`` | each seat's place in the round, 0 for the best; null while it is open |
| ``scores`` | each seat's points in the game |
| ``balances`` | under rules with payments: the units that each seat got in the game, less what it paid |
| ``legal`` | if ``seat`` is to act: the text of each legal play; else empty |
| ``legal_ids`` | their action ids, in the same order |

Each game adds its public facts. Tiến lên: ``table`` (the cards to be beaten), ``owner`` (the seat that played
them, or null), ``must`` (a card that the play must contain), ``passed`` (seats), ``played`` (the cards that
each seat has played). Thirteens: see `tienlen_env.single.thirteens.Deal.public_facts`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tienlen_env.engine.batch import Batch, LegalActions
from tienlen_env.single.base import Facts, round_type


def positions(
    batch: Batch,
    games: Sequence[int],
    seats: Sequence[int | None],
    legal: LegalActions | None = None,
    rows: Sequence[int] | None = None,
) -> list[Facts]:
    """The information of seats about their games.

    Args:
        batch: the games.
        games: which of them, n indices.
        seats: n seats, absolute; None for an observer without a hand.
        legal: the legal actions, if they are known already; None: they are listed.
        rows: n indices, which games of `legal` the positions are; None: `games`.

    Returns:
        n dictionaries of JSON values, without information that is hidden from the seat.
    """
    legal = batch.list_legal() if legal is None else legal
    ends = np.append(legal.start[1:], len(legal.action)).tolist()
    starts, ids, masks = legal.start.tolist(), legal.action.tolist(), legal.cards.tolist()
    state, kind = batch.state, round_type(batch.rules)
    chosen = np.asarray(games, np.int64)
    hands = state.hands[chosen]
    turns: list[int] = state.turn[chosen].tolist()
    own = [
        slice(starts[row], ends[row]) if seat == turn else slice(0, 0)
        for row, seat, turn in zip(games if rows is None else rows, seats, turns, strict=True)
    ]
    facts = kind.public_facts(batch, chosen.tolist(), [masks[part] for part in own])
    columns = (
        hands,
        np.bitwise_count(hands),
        state.places[chosen],
        state.scores[chosen],
        batch.balances()[chosen],
    )
    everything = zip(
        seats, turns, own, facts, *(np.asarray(column).tolist() for column in columns), strict=True
    )
    return [
        {
            "seat": seat,
            "current_seat": None if turn < 0 else turn,
            "hand": "" if seat is None else kind.cards_text(batch, hand[seat]),
            "counts": counts,
            "places": [None if place < 0 else place for place in places],
            "scores": scores,
            **({"balances": balances} if batch.has_payments else {}),
            **public,
            "legal": kind.play_texts(batch, ids[part], masks[part]),
            "legal_ids": ids[part],
        }
        for seat, turn, part, public, hand, counts, places, scores, balances in everything
    ]
