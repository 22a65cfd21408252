"""A batch of one game, bound for callers that count microseconds."""

from __future__ import annotations

from functools import partial

import numpy as np

from tienlen_env.engine.batch import Batch


class OneGame:
    """The backend's loops with all their arguments, for a batch of one game.

    Nothing is checked here: the caller writes to `action` and `cards`, and reads `ids` and `masks`.

    Args:
        batch: one game; its rows are played on.
        has_cards: the very cards are chosen (`cards`); False: the table's choice.

    Attributes:
        batch: the game.
        action: int64 (1,), the action id to play.
        cards: int64 (1,), its cards (mask); (0,) without `has_cards`.
        ids: int64 (A,), written by `list_legal`: the legal action ids.
        masks: int64 (A,), written by `list_legal`: their cards.
        step: ``step()``: play `action`; -1 if it was legal.
        list_legal: ``list_legal()``: write `ids` and `masks`; how many there are.
    """

    def __init__(self, batch: Batch, has_cards: bool) -> None:
        loops = batch.unchecked()
        self.batch = batch
        self.action = np.empty(1, np.int64)
        self.cards = np.empty(1, np.int64) if has_cards else batch._no_cards
        self.ids, self.masks = np.empty((2, batch.num_actions), np.int64)
        self._begin = loops.begin
        self.step = partial(
            loops.step,
            self.action,
            self.cards,
            batch._rewards,
            batch._dones,
            batch._no_mask,
            batch._no_observation,
            batch._no_draws,
            batch._no_cards,
        )
        self.list_legal = partial(loops.list_legal, np.zeros(1, np.int64), self.ids, self.masks)

    def begin(self, key: int, round_index: int, leader: int) -> None:
        """Deal the game from its key (signed); leader -1: as the rules say."""
        keys, rounds, leaders = np.array([[key], [round_index], [leader]])
        self._begin(keys, rounds, leaders)
        if self.batch.has_payments:
            self.batch.forget_payments()
