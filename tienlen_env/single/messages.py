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

Each game adds its public facts (`GameText.facts`). Tiến lên, and every other climbing game: ``table`` (the
cards to be beaten), ``owner`` (the seat that played them, or null), ``must`` (a card that the play must
contain), ``passed`` (seats), ``played`` (the cards that each seat has played). Thirteens:
`tienlen_env.games.thirteens.game.FACTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

import numpy as np

from tienlen_env.engine.batch import Batch, LegalActions
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import ActionTable, GameText

Texts = tuple[Callable[[int], str], Callable[[int, int], str]]


@lru_cache(maxsize=64)
def _texts(text: GameText[Any, Any], table: ActionTable) -> Texts:
    """`GameText.format_cards` and `GameText.play_text` of a table, both with a memory."""
    size = 1 << 16
    return lru_cache(size)(text.format_cards), lru_cache(size)(partial(text.play_text, table))


def positions(
    batch: Batch,
    games: Sequence[int],
    seats: Sequence[int | None],
    legal: LegalActions | None = None,
    rows: Sequence[int] | None = None,
) -> list[dict[str, Json]]:
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
    state, num_players = batch.state, batch.num_players
    chosen = np.asarray(games, np.int64)
    write, write_play = _texts(batch.game.text, batch.action_table)
    turns: list[int] = state.turn[chosen].tolist()
    own = [
        slice(starts[row], ends[row]) if seat == turn else slice(0, 0)
        for row, seat, turn in zip(games if rows is None else rows, seats, turns, strict=True)
    ]
    facts = batch.game.facts(batch.rules, batch.kernel_arrays.spec)
    names, own_masks = [fact.name for fact in facts], [masks[part] for part in own]
    chosen_rows = state.rows[chosen]
    public = zip(*(fact.read(chosen_rows, num_players, own_masks, write) for fact in facts), strict=True)
    hands = state.hands[chosen]
    columns = (
        hands,
        np.bitwise_count(hands),
        state.places[chosen],
        state.scores[chosen],
        batch.balances[chosen],
    )
    everything = zip(
        seats,
        turns,
        own,
        own_masks,
        public if facts else repeat((), len(turns)),
        *(column.tolist() for column in columns),
        strict=True,
    )
    return [
        {
            "seat": seat,
            "current_seat": None if turn < 0 else turn,
            "hand": "" if seat is None else write(hand[seat]),
            "counts": counts,
            "places": [None if place < 0 else place for place in places],
            "scores": scores,
            **({"balances": balances} if batch.has_payments else {}),
            **dict(zip(names, values, strict=True)),
            "legal": list(map(write_play, ids[part], cards)),
            "legal_ids": ids[part],
        }
        for seat, turn, part, cards, values, hand, counts, places, scores, balances in everything
    ]
