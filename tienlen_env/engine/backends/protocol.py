"""The interface of an executor: loops over games and nothing else.

Every loop takes the rows of a batch, its `KernelTables`, and arguments that `Batch` has checked: indices in
range, arrays contiguous and of the stated shapes and dtypes. An empty output array means "not wanted".

A mask or an observation of n items is written as n bytes, or, to an int64 array, in packed form: one bit an
item, in ceil(n / 64) words (`tienlen_env.engine.packed`). The dtype of the array chooses the form.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Protocol

from tienlen_env.games.common.arrays import (
    BoolArray,
    ByteOutput,
    FloatArray,
    IntArray,
    MaskOutput,
    RewardArray,
)

# `play_one` returns one number: `REFUSED`, or the next seat (below 8) or `FINISHED`, plus `PAID` if it paid.
REFUSED: Final = -1
PAID: Final = 8
FINISHED: Final = 16


class Turn(IntEnum):
    """The values that stand where a seat would.

    Attributes:
        OVER: no seat acts, the game is over (or stopped, see `Batch.step_games`).
        ASKED: the seat of interest must decide (see `Batch.step_games`).
    """

    OVER = -1
    ASKED = -2


class Backend(Protocol):
    """An executor of one game's kernels."""

    @property
    def name(self) -> str:
        """``"numba"``, ``"python"``."""

    @property
    def threads(self) -> int:
        """Threads of the loops over games."""

    def begin(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        keys: IntArray,
        rounds: IntArray,
        leaders: IntArray,
    ) -> None:
        """Start a game in every row from its key; leader -1: as the rules say."""

    def begin_round(self, rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
        """Start a round from the hands in every row; leader -1: as the rules say."""

    def step(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        ids: IntArray,
        cards: IntArray,
        rewards: RewardArray,
        dones: BoolArray,
        mask: MaskOutput,
        obs: ByteOutput,
        draws: FloatArray,
        next_ids: IntArray,
    ) -> int:
        """Play one action in every game.

        Args:
            rows: int64 (B, ROW), changed in place.
            spec: the variant.
            actions: its action table.
            ids: int64 (B,), a legal action a game; -1 for games that are over.
            cards: int64 (B,), the exact cards of the actions, or (0,) for the table's choice.
            rewards: float32 (B, P), overwritten with the rewards of this step.
            dones: bool (B,), overwritten: games that ended in this step.
            mask: int8 (B, A) or packed, overwritten with the next legal-action mask, or (0, A).
            obs: uint8 (B, O) or packed, overwritten with the next player's observation, or (0, O).
            draws: float64 (B,), draws in [0, 1) for `next_ids`, or (0,).
            next_ids: int64 (B,), overwritten with a uniform choice among the next legal actions, or (0,).

        Returns:
            -1, or the first game whose action is not legal, or not with its cards; then nothing has changed.
        """

    def play_one(
        self,
        row: IntArray,
        spec: IntArray,
        actions: IntArray,
        rewards: RewardArray,
        mask: MaskOutput,
        obs: ByteOutput,
        action: int,
    ) -> int:
        """Play one action in one game, for callers that have a single one and count the microseconds.

        Args:
            row: int64 (ROW,), changed in place.
            spec: the variant.
            actions: its action table.
            rewards: float32 (P,), overwritten with the rewards of this step.
            mask: int8 (A,), overwritten with the next legal-action mask.
            obs: uint8 (O,), overwritten with the next player's observation.
            action: an action id.

        Returns:
            `REFUSED` if the action is not legal; then nothing has changed. Else the next seat to act, or
            `FINISHED`, plus `PAID` if some reward is not zero.
        """

    def step_games(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        games: IntArray,
        ids: IntArray,
        seats: IntArray,
        skip_forced: bool,
        until_placed: bool,
        rewards: RewardArray,
        turns: IntArray,
    ) -> int:
        """Play one action in some games, and on through decisions with a single legal action.

        One seat a game is of interest: its own decisions are played on through only if `skip_forced`.

        Args:
            rows: int64 (B, ROW), changed in place.
            spec: the variant.
            actions: its action table.
            games: int64 (n,), which games, none of them twice.
            ids: int64 (n,), an action for each.
            seats: int64 (B,), the seat of interest in every game, -1 for none.
            skip_forced: its decisions with a single legal action are played, too.
            until_placed: stop a game when the seat of interest has its place.
            rewards: float32 (B, P); the rewards of this step are added to it.
            turns: int64 (n,), overwritten: the seat that is to move, `Turn.ASKED` where that is the seat of
                interest, `Turn.OVER` for games that are over or stopped.

        Returns:
            -1, or the first index of `games` whose action is not legal; then nothing has changed.
        """

    def sample(self, rows: IntArray, spec: IntArray, draws: FloatArray, out: IntArray) -> None:
        """Choose a legal action a game by uniform draws in [0, 1); -1 where no action is legal."""

    def write_masks(self, rows: IntArray, spec: IntArray, out: MaskOutput) -> None:
        """Write the legal-action masks, int8 (B, A) or packed."""

    def observe_seats(
        self, rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: ByteOutput
    ) -> None:
        """Write the observation of one seat a game, uint8 (B, O) or packed; zeros for seat -1."""

    def observe_all(self, rows: IntArray, spec: IntArray, actions: IntArray, out: ByteOutput) -> None:
        """Write the global observation of every game, uint8 (B, G) or packed."""

    def count_legal(self, rows: IntArray, spec: IntArray, out: IntArray) -> None:
        """Count the legal actions of every game, int64 (B,)."""

    def list_legal(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        starts: IntArray,
        ids: IntArray,
        cards: IntArray,
    ) -> int:
        """List legal actions and their cards; game b writes from index ``starts[b]`` of `ids` and `cards`.

        Returns:
            The index after the last one written.
        """

    def action_cards(self, rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
        """The cards that an action would play in every game, int64 (B,) masks."""
