"""The reference executor: plain Python loops over games, no compilation.

Slow and simple; it defines what every other executor must reproduce bit for bit. A game's row is turned
into a list of Python ints for the game's kernels and written back.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tienlen_env.engine.backends.per_game import per_game
from tienlen_env.engine.backends.protocol import FINISHED, PAID, REFUSED, Turn
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import (
    BoolArray,
    ByteOutput,
    FloatArray,
    IntArray,
    MaskOutput,
    RewardArray,
)
from tienlen_env.games.common.bits import as_output
from tienlen_env.games.common.game import AnyGame


@lru_cache(maxsize=64)
def _list_of_bytes(data: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(data, np.int64).tolist()
    return numbers


def _as_list(array: IntArray) -> list[int]:
    """The numbers of a rules table as Python ints, converted once a table."""
    return _list_of_bytes(array.tobytes())


class PythonBackend:
    """Loops over games in plain Python, and nothing else; other executors have the same methods.

    Every loop takes the rows of a batch, its `KernelTables`, and arguments that `Batch` has checked: indices
    in range, arrays contiguous and of the stated shapes and dtypes. An empty output array means "not wanted".

    A mask or an observation of n items is written as n bytes, or, to an int64 array, in packed form: one bit
    an item, in ceil(n / 64) words (`tienlen_env.engine.packed`). The dtype of the array chooses the form.

    Attributes:
        name: ``"numba"``, ``"python"``.
        threads: threads of the loops over games.
    """

    name = "python"

    def __init__(self, game: AnyGame, threads: int = 1) -> None:
        self.threads = threads
        self._game = game

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
        begin_one = per_game(self._game).begin
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            begin_one(row, spec_list, action_list, int(keys[b]), int(rounds[b]), int(leaders[b]))
            rows[b] = row

    def begin_round(self, rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
        """Start a round from the hands in every row; leader -1: as the rules say."""
        kernels = self._game.kernels
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            kernels.begin_round(row, spec_list, int(leaders[b]))
            kernels.update_legal(row, spec_list, action_list)
            rows[b] = row

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
        kernels, columns = self._game.kernels, self._game.columns
        turn_column, hand_column = columns.turn, columns.hand
        _, is_refused, is_refused_with, advance = per_game(self._game)
        spec_list, action_list = _as_list(spec), _as_list(actions)
        games = rows.tolist()
        for b, row in enumerate(games):
            action = int(ids[b])
            if len(cards):
                refused = is_refused_with(row, spec_list, action_list, action, int(cards[b]))
            else:
                refused = is_refused(row, spec_list, action)
            if refused:
                return b
        for b, row in enumerate(games):
            gained = [0.0] * spec_list[S.NUM_PLAYERS]
            dones[b] = False
            seat = row[turn_column]
            if seat >= 0:
                action = int(ids[b])
                hand = row[hand_column + seat]
                chosen = int(cards[b]) if len(cards) else kernels.action_cards(hand, action_list, action)
                dones[b] = advance(row, spec_list, action_list, action, chosen, gained)
                rows[b] = row
            rewards[b] = gained
            if len(mask):
                kernels.legal.write_mask(row, spec_list, as_output(mask[b]), 0)
            if len(obs):
                kernels.observe(row, spec_list, action_list, row[turn_column], as_output(obs[b]), 0)
            if len(next_ids):
                next_ids[b] = kernels.legal.choose_legal(row, spec_list, float(draws[b]))
        return -1

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
        kernels, columns = self._game.kernels, self._game.columns
        turn_column, hand_column = columns.turn, columns.hand
        game, spec_list, action_list = row.tolist(), _as_list(spec), _as_list(actions)
        seat = game[turn_column]
        if seat < 0 or not kernels.legal.is_legal(game, spec_list, action):
            return REFUSED
        gained = [0.0] * spec_list[S.NUM_PLAYERS]
        cards = kernels.action_cards(game[hand_column + seat], action_list, action)
        kernels.play(game, spec_list, action_list, action, cards, gained)
        kernels.update_legal(game, spec_list, action_list)
        row[:] = game
        rewards[:] = gained
        kernels.legal.write_mask(game, spec_list, mask, 0)
        seat = game[turn_column]
        kernels.observe(game, spec_list, action_list, seat, obs, 0)
        return PAID * any(gained) + (FINISHED if seat < 0 else seat)

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
        kernels, columns = self._game.kernels, self._game.columns
        turn_column, hand_column = columns.turn, columns.hand
        spec_list, action_list = _as_list(spec), _as_list(actions)
        some = rows[games].tolist()
        for i, row in enumerate(some):
            if row[turn_column] < 0 or not kernels.legal.is_legal(row, spec_list, int(ids[i])):
                return i
        for i, row in enumerate(some):
            action, seat = int(ids[i]), int(seats[games[i]])
            gained = [0.0] * spec_list[S.NUM_PLAYERS]
            while True:
                cards = kernels.action_cards(row[hand_column + row[turn_column]], action_list, action)
                kernels.play(row, spec_list, action_list, action, cards, gained)
                kernels.update_legal(row, spec_list, action_list)
                turn = row[turn_column]
                is_forced = kernels.legal.num_legal(row, spec_list) == 1
                if turn < 0 or (until_placed and row[columns.place + seat] >= 0):
                    turns[i] = Turn.OVER
                elif turn == seat and not (skip_forced and is_forced):
                    turns[i] = Turn.ASKED
                elif not is_forced:
                    turns[i] = turn
                else:
                    action = kernels.legal.nth_legal(row, spec_list, 0)
                    continue
                break
            rows[games[i]] = row
            rewards[games[i]] += gained
        return -1

    def sample(self, rows: IntArray, spec: IntArray, draws: FloatArray, out: IntArray) -> None:
        """Choose a legal action a game by uniform draws in [0, 1); -1 where no action is legal."""
        kernels = self._game.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.legal.choose_legal(row, spec_list, float(draws[b]))

    def write_masks(self, rows: IntArray, spec: IntArray, out: MaskOutput) -> None:
        """Write the legal-action masks, int8 (B, A) or packed."""
        kernels = self._game.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            kernels.legal.write_mask(row, spec_list, as_output(out[b]), 0)

    def observe_seats(
        self, rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: ByteOutput
    ) -> None:
        """Write the observation of one seat a game, uint8 (B, O) or packed; zeros for seat -1."""
        kernels = self._game.kernels
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            kernels.observe(row, spec_list, action_list, int(seats[b]), as_output(out[b]), 0)

    def observe_all(self, rows: IntArray, spec: IntArray, actions: IntArray, out: ByteOutput) -> None:
        """Write the global observation of every game, uint8 (B, G) or packed."""
        kernels = self._game.kernels
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            kernels.observe_all(row, spec_list, action_list, as_output(out[b]), 0)

    def count_legal(self, rows: IntArray, spec: IntArray, out: IntArray) -> None:
        """Count the legal actions of every game, int64 (B,)."""
        kernels = self._game.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.legal.num_legal(row, spec_list)

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
        kernels = self._game.kernels
        end = 0
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            end = kernels.legal.list_legal(row, spec_list, action_list, ids, cards, int(starts[b]))
        return end

    def action_cards(self, rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
        """The cards that an action would play in every game, int64 (B,) masks."""
        kernels, columns = self._game.kernels, self._game.columns
        action_list = _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.action_cards(row[columns.hand + row[columns.turn]], action_list, int(ids[b]))
