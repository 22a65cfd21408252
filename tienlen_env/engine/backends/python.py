"""The reference executor: plain Python loops over games, no compilation.

Slow and simple; it defines what every other executor must reproduce bit for bit. A game's row is turned
into a list of Python ints for the core's functions and written back.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tienlen_env.games.common.bits import add
from tienlen_env.games.common.game import Definition

IntArray = npt.NDArray[np.int64]

PAID, OVER = 8, 16  # what `play_one` adds to a seat, or returns instead of one


@lru_cache(maxsize=64)
def _list_of_bytes(data: bytes) -> list[int]:
    numbers: list[int] = np.frombuffer(data, np.int64).tolist()
    return numbers


def _as_list(array: IntArray) -> list[int]:
    """The numbers of a rules table as Python ints, converted once a table."""
    return _list_of_bytes(array.tobytes())


class PythonBackend:
    """Loops over games in plain Python. B games; an empty output array means "not wanted"."""

    name = "python"

    def __init__(self, definition: Definition, threads: int = 1) -> None:
        self.definition = definition
        self.threads = threads

    def begin(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        keys: IntArray,
        rounds: IntArray,
        leaders: IntArray,
    ) -> None:
        """Start a game in every row from its key; leader -1 is the holder of the opening card."""
        kernels = self.definition.kernels
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            kernels.begin_game(row, spec_list, int(keys[b]), int(rounds[b]), int(leaders[b]))
            kernels.update_legal(row, spec_list, action_list)
            rows[b] = row

    def begin_round(self, rows: IntArray, spec: IntArray, actions: IntArray, leaders: IntArray) -> None:
        """Start a round from the hands in every row; leader -1 is the holder of the opening card."""
        kernels = self.definition.kernels
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
        rewards: npt.NDArray[np.float32],
        dones: npt.NDArray[np.bool_],
        mask: npt.NDArray[np.int8],
        obs: npt.NDArray[np.uint8],
        draws: npt.NDArray[np.float64],
        next_ids: IntArray,
    ) -> int:
        """Play one action in every game.

        Args:
            rows: int64 (B, S), changed in place.
            spec: the variant.
            actions: its action table.
            ids: int64 (B,), a legal action a game; -1 for games that are over.
            cards: int64 (B,), the exact cards of the actions, or (0,) for the table's choice.
            rewards: float32 (B, P), overwritten with the rewards of this step.
            dones: bool (B,), overwritten: games that ended in this step.
            mask: int8 (B, A), overwritten with the next legal-action mask, or (0, A).
            obs: uint8 (B, O), overwritten with the next player's observation, or (0, O).
            draws: float64 (B,), draws in [0, 1) for `next_ids`, or (0,).
            next_ids: int64 (B,), overwritten with a uniform choice among the next legal actions, or (0,).

        Returns:
            -1, or the first game whose action is not legal; then nothing has changed.
        """
        d = self.definition
        kernels, observe, R, S = d.kernels, d.observe, d.state, d.spec
        spec_list, action_list = _as_list(spec), _as_list(actions)
        games = rows.tolist()
        for b, row in enumerate(games):
            if row[R.TURN] >= 0:
                if not kernels.is_legal(row, spec_list, int(ids[b])):
                    return b
                if len(cards) and not kernels.can_play_cards(row, int(cards[b])):
                    return b
            elif ids[b] != -1:
                return b
        for b, row in enumerate(games):
            gained = [0.0] * spec_list[S.NUM_PLAYERS]
            dones[b] = False
            seat = row[R.TURN]
            if seat >= 0:
                action = int(ids[b])
                hand = row[R.HAND + seat]
                chosen = int(cards[b]) if len(cards) else kernels.action_cards(hand, action_list, action)
                kernels.play(row, spec_list, action_list, action, chosen, gained)
                if row[R.TURN] < 0:
                    dones[b] = True
                    if spec_list[S.AUTO_RESET]:
                        kernels.begin_game(row, spec_list, add(row[R.KEY], kernels.KEY_STEP), 0, -1)
                kernels.update_legal(row, spec_list, action_list)
                rows[b] = row
            rewards[b] = gained
            if len(mask):
                kernels.write_mask(row, spec_list, mask[b], 0)
            if len(obs):
                observe.observe(row, spec_list, action_list, row[R.TURN], obs[b], 0)
            if len(next_ids):
                next_ids[b] = kernels.choose_legal(row, spec_list, float(draws[b]))
        return -1

    def play_one(
        self,
        row: IntArray,
        spec: IntArray,
        actions: IntArray,
        action: int,
        rewards: npt.NDArray[np.float32],
        mask: npt.NDArray[np.int8],
        obs: npt.NDArray[np.uint8],
    ) -> int:
        """Play one action in one game, for callers that have but one and count the microseconds.

        Args:
            row: int64 (S,), changed in place.
            spec: the variant.
            actions: its action table.
            action: an action id.
            rewards: float32 (P,), overwritten with the rewards of this step.
            mask: int8 (A,), overwritten with the next legal-action mask.
            obs: uint8 (O,), overwritten with the next player's observation.

        Returns:
            -1 if the action is not legal; then nothing has changed. Else the next seat to act (below 8), or
            `OVER` if the game is over, plus `PAID` if some reward is not zero.
        """
        d = self.definition
        kernels, observe, R, S = d.kernels, d.observe, d.state, d.spec
        game, spec_list, action_list = row.tolist(), _as_list(spec), _as_list(actions)
        seat = game[R.TURN]
        if seat < 0 or not kernels.is_legal(game, spec_list, action):
            return -1
        gained = [0.0] * spec_list[S.NUM_PLAYERS]
        cards = kernels.action_cards(game[R.HAND + seat], action_list, action)
        kernels.play(game, spec_list, action_list, action, cards, gained)
        kernels.update_legal(game, spec_list, action_list)
        row[:] = game
        rewards[:] = gained
        kernels.write_mask(game, spec_list, mask, 0)
        seat = game[R.TURN]
        observe.observe(game, spec_list, action_list, seat, obs, 0)
        return PAID * any(gained) + (OVER if seat < 0 else seat)

    def step_games(
        self,
        rows: IntArray,
        spec: IntArray,
        actions: IntArray,
        games: IntArray,
        ids: IntArray,
        seats: IntArray,
        skip: bool,
        cut: bool,
        rewards: npt.NDArray[np.float32],
        turns: IntArray,
    ) -> int:
        """Play one action in some games, and on through decisions with a single legal action.

        One seat a game is of interest: its own decisions are played on through only if `skip`.

        Args:
            rows: int64 (B, S), changed in place.
            spec: the variant.
            actions: its action table.
            games: int64 (n,), which games, none of them twice.
            ids: int64 (n,), an action for each.
            seats: int64 (B,), the seat of interest in every game.
            skip: its decisions with a single legal action are played, too.
            cut: stop a game when the seat of interest has its place.
            rewards: float32 (B, P), to which the rewards of this step are added.
            turns: int64 (n,), overwritten: the other seat that is to move, -1 where the seat of interest is,
                -2 for games that are over or cut.

        Returns:
            -1, or the first index of `games` whose action is not legal; then nothing has changed.
        """
        d = self.definition
        kernels, R, S = d.kernels, d.state, d.spec
        spec_list, action_list = _as_list(spec), _as_list(actions)
        some = rows[games].tolist()
        for i, row in enumerate(some):
            if row[R.TURN] < 0 or not kernels.is_legal(row, spec_list, int(ids[i])):
                return i
        for i, row in enumerate(some):
            action, seat = int(ids[i]), int(seats[games[i]])
            gained = [0.0] * spec_list[S.NUM_PLAYERS]
            while True:
                cards = kernels.action_cards(row[R.HAND + row[R.TURN]], action_list, action)
                kernels.play(row, spec_list, action_list, action, cards, gained)
                kernels.update_legal(row, spec_list, action_list)
                turn = row[R.TURN]
                is_forced = kernels.num_legal(row, spec_list) == 1
                if turn < 0 or (cut and row[R.PLACE + seat] >= 0):
                    turns[i] = -2
                elif turn == seat and not (skip and is_forced):
                    turns[i] = -1
                elif not is_forced:
                    turns[i] = turn
                else:
                    action = kernels.nth_legal(row, spec_list, 0)
                    continue
                break
            rows[games[i]] = row
            rewards[games[i]] += gained
        return -1

    def sample(self, rows: IntArray, spec: IntArray, draws: npt.NDArray[np.float64], out: IntArray) -> None:
        """Choose a legal action a game by uniform draws in [0, 1); -1 where there is none."""
        kernels = self.definition.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.choose_legal(row, spec_list, float(draws[b]))

    def write_masks(self, rows: IntArray, spec: IntArray, out: npt.NDArray[np.int8]) -> None:
        """Write the legal-action masks, int8 (B, A)."""
        kernels = self.definition.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            kernels.write_mask(row, spec_list, out[b], 0)

    def observe_seats(
        self, rows: IntArray, spec: IntArray, actions: IntArray, seats: IntArray, out: npt.NDArray[np.uint8]
    ) -> None:
        """Write the observation of one seat a game, uint8 (B, O); zeros for seat -1."""
        observe = self.definition.observe
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            observe.observe(row, spec_list, action_list, int(seats[b]), out[b], 0)

    def observe_all(
        self, rows: IntArray, spec: IntArray, actions: IntArray, out: npt.NDArray[np.uint8]
    ) -> None:
        """Write the full state of every game, uint8 (B, state size)."""
        observe = self.definition.observe
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            observe.observe_all(row, spec_list, action_list, out[b], 0)

    def count_legal(self, rows: IntArray, spec: IntArray, out: IntArray) -> None:
        """Count the legal actions of every game, int64 (B,)."""
        kernels = self.definition.kernels
        spec_list = _as_list(spec)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.num_legal(row, spec_list)

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
        kernels = self.definition.kernels
        end = 0
        spec_list, action_list = _as_list(spec), _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            end = kernels.list_legal(row, spec_list, action_list, ids, cards, int(starts[b]))
        return end

    def action_cards(self, rows: IntArray, actions: IntArray, ids: IntArray, out: IntArray) -> None:
        """The cards that an action would play in every game, int64 (B,) masks."""
        kernels, R = self.definition.kernels, self.definition.state
        action_list = _as_list(actions)
        for b, row in enumerate(rows.tolist()):
            out[b] = kernels.action_cards(row[R.HAND + row[R.TURN]], action_list, int(ids[b]))
