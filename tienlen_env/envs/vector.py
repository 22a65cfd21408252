"""Batched environments without subprocesses: self-play with all seats, and Gymnasium's `VectorEnv`.

The caller of `SelfPlayEnv` takes every decision of every seat; the caller of `OneSeatVectorEnv` takes those
of one seat per game, and agents play the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_integers, check_options, owned
from tienlen_env.envs.one_seat import (
    DTypeName,
    Finished,
    Illegal,
    OneSeatGames,
    Opponents,
    _OneSeatAdapter,
    as_dtype,
)
from tienlen_env.errors import IllegalPlayError, check_word
from tienlen_env.games.common.arrays import BoolArray, ByteArray, IntArray, MaskArray, RewardArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import RENDER_MODES, check_render_mode


class Decisions(NamedTuple):
    """The waiting decisions of B games, P seats.

    Attributes:
        observation: uint8 (B, O), of the seat to act.
        action_mask: int8 (B, A), 1 = legal; at least one per game.
        seat: int64 (B,), the seat to act.
        rewards: float32 (B, P), the rewards of all seats in the last step.
        terminations: bool (B,), games that ended in the last step; the decision is of their next deal.
    """

    observation: ByteArray
    action_mask: MaskArray
    seat: IntArray
    rewards: RewardArray
    terminations: BoolArray


class SelfPlayEnv:
    """B games; the caller plays every seat; a game that ends is dealt anew within the step.

    A seat gets its reward in the step when its place becomes certain, even if another seat acted: add up
    ``rewards[:, seat]`` between two decisions of a seat. Arrays are written in turn to two sets of buffers:
    the second call of `step` (or `reset`) after this one overwrites the arrays that this one returned. Copy
    arrays that you need longer. Copies of the environment (`copy.deepcopy`, `pickle`) play on identically.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B.
        threads: threads of the numba loops.
        settings: see `tienlen_env.engine.batch.Batch`.

    Attributes:
        batch: the games.
        num_games: B.
        num_players: P.
        num_actions: A.
        observation_size: O.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        threads: int = 1,
        **settings: Any,
    ) -> None:
        self.batch = batch = Batch(rules, num_games, auto_reset=True, threads=threads, **settings)
        self.num_games, self.num_players = batch.num_games, batch.num_players
        self.num_actions, self.observation_size = batch.num_actions, batch.observation_size
        self._now, self._next = self._buffers(), self._buffers()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owned(state))

    def _buffers(self) -> Decisions:
        return Decisions(
            np.zeros((self.num_games, self.observation_size), np.uint8),
            np.zeros((self.num_games, self.num_actions), np.int8),
            np.zeros(self.num_games, np.int64),
            np.zeros((self.num_games, self.num_players), np.float32),
            np.zeros(self.num_games, np.bool_),
        )

    def reset(self, seed: int | np.random.Generator | None = None) -> Decisions:
        """Deal every game anew.

        Args:
            seed: of the deals; None takes fresh entropy.

        Returns:
            The first decisions; rewards and terminations are zero.
        """
        self.batch.reset(seed)
        self._deal_again()
        self._now, self._next = self._next, self._now
        self.batch.observe(out=self._now.observation)
        self.batch.action_mask(out=self._now.action_mask)
        self._now.seat[:] = self.batch.state.turn
        self._now.rewards[:] = 0
        self._now.terminations[:] = False
        return self._now

    def _deal_again(self) -> None:
        """Deal the games anew that are over before their first decision."""
        while len(over := (self.batch.state.turn < 0).nonzero()[0]):
            self.batch.deal_games(over, self.batch.state.key[over] + 1)

    def step(self, actions: npt.ArrayLike) -> Decisions:
        """Play one action in every game.

        Args:
            actions: int64 (B,), a legal action per game.

        Returns:
            The next decisions, and the rewards of the last ones.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: another shape or type.
        """
        new = self._next
        self.batch.step(
            actions,
            rewards=new.rewards,
            dones=new.terminations,
            mask=new.action_mask,
            observation=new.observation,
        )
        new.seat[:] = self.batch.state.turn
        if b"\xff" in new.seat.tobytes():  # a seat is -1; `(seat < 0).any()` takes ten times as long
            self._deal_again()
            self.batch.observe(out=new.observation)
            self.batch.action_mask(out=new.action_mask)
            new.seat[:] = self.batch.state.turn
        self._now, self._next = new, self._now
        return new

    def action_to_text(self, action: int) -> str:
        """The name of an action id; see `Batch.action_to_text`."""
        return self.batch.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The action id of a name; see `Batch.text_to_action`."""
        return self.batch.text_to_action(text)


def _with_masks(games: BoolArray, infos: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Infos of some games, each with its mask."""
    found: dict[str, Any] = {}
    for key, array in infos.items():
        found[key], found[f"_{key}"] = array, games.copy()
    return found


class OneSeatVectorEnv(_OneSeatAdapter, VectorEnv[ByteArray, IntArray, npt.NDArray[Any]]):
    """One learning seat in each of B games, as a Gymnasium vector environment.

    Observations are flat, uint8 (B, O); the masks, int8 (B, A), are in ``infos["action_mask"]`` and
    `action_masks()`. `tienlen_env.envs.one_seat` defines episodes and rewards. The infos have the keys of
    `OneSeatEnv`, as arrays over the games, each with a mask ``"_<key>"``, as Gymnasium's `SyncVectorEnv` has
    them; the keys of an end, ``"final_obs"`` and ``"final_info"``, are there only in steps that have one.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        autoreset_mode: when a game whose episode has ended is dealt anew. ``AutoresetMode.SAME_STEP``: in the
            same step, so that every step is a decision in every game; the episode's last observation and info
            are in ``infos["final_obs"]`` and ``infos["final_info"]``. ``NEXT_STEP``: in the next step, which
            ignores the game's action and has the reward 0; some wrappers of Gymnasium work only with this.
            ``DISABLED``: by ``reset(options={"reset_mask": terminations})``. The names as texts,
            ``"SameStep"``, ``"NextStep"`` and ``"Disabled"``, do as well.
        copy: return new arrays; else observations and masks are written in turn to two sets of buffers, as in
            `SelfPlayEnv`.
        render_mode: None or one of `tienlen_env.single.painter.RENDER_MODES`.
        illegal: see `OneSeatEnv`.
        line_up: see `OneSeatEnv`.
        dtype: of the observations, ``"uint8"`` or ``"float32"``; the second are always new arrays.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`, with fields of the rules such as ``jokers=0``.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's convention
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": list(RENDER_MODES),
        "render_fps": 2,
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        illegal: Illegal = "terminate",
        line_up: bool = True,
        dtype: DTypeName = "uint8",
        **settings: Any,
    ) -> None:
        if not isinstance(autoreset_mode, AutoresetMode):
            check_word("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        self._autoreset = AutoresetMode(autoreset_mode)
        is_same_step = self._autoreset is AutoresetMode.SAME_STEP
        self.games = OneSeatGames(
            rules, num_envs, illegal=illegal, line_up=line_up, auto_reset=is_same_step, **settings
        )
        modes = list(RENDER_MODES)  # Gymnasium's wrappers write to this list
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset, "render_modes": modes}
        self.num_envs = self.games.batch.num_games
        self._dtype = as_dtype(dtype)
        size = self.games.batch.observation_size
        self.single_observation_space = spaces.Box(0, 1, (size,), self._dtype.type)
        self.single_action_space = spaces.Discrete(self.games.batch.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = check_render_mode(render_mode)
        self._copy = copy
        self._unplaced = np.full(self.num_envs, -1)
        self._buffers = [self._new_arrays(), self._new_arrays()]
        self._mask = self._buffers[0][1]

    def _new_arrays(self) -> tuple[ByteArray, MaskArray]:
        batch = self.games.batch
        return (
            np.empty((self.num_envs, batch.observation_size), np.uint8),
            np.zeros((self.num_envs, batch.num_actions), np.int8),
        )

    def _observe(
        self, games: BoolArray | None = None, finished: Finished | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """The observations, and the infos of some games (None: all); those of `finished` show an end."""
        one_seat = self.games
        if self._copy:
            observation, self._mask = self._new_arrays()
        else:
            self._buffers.reverse()
            observation, self._mask = self._buffers[0]
        one_seat.observe(observation, self._mask)
        which = np.ones(self.num_envs, np.bool_) if games is None else games
        is_new = (one_seat.terminations | one_seat.truncations) & ~one_seat.is_over
        illegal = one_seat.illegal & ~is_new
        infos: dict[str, Any] = {"action_mask": self._mask, "seat": one_seat.seat.copy(), "illegal": illegal}
        infos |= self._ends(finished)
        return observation.astype(self._dtype, copy=False), _with_masks(which, infos)

    def _ends(self, finished: Finished | None) -> dict[str, npt.NDArray[Any]]:
        """``place`` and ``units`` of all games; -1 and 0 before the end."""
        place = self._unplaced.copy()  # faster than `np.full`
        units = np.zeros(self.num_envs, np.int64)
        if finished is not None:
            place[finished.game], units[finished.game] = finished.place, finished.units
        return {"place": place, "units": units}

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change the agents of the other seats; see `OneSeatGames.set_opponents`."""
        self.games.set_opponents(opponents, probabilities)

    def action_masks(self) -> MaskArray:
        """int8 (B, A): 1 = legal in the waiting decisions."""
        return self._mask

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """Deal games anew.

        Args:
            seed: of deals, seats, opponents and their play; None continues the present streams. With one
                integer all games draw from one stream; of a list of B integers, as `SyncVectorEnv` takes it,
                game k draws deals, seats and opponents as `OneSeatEnv` does with the k-th. Opponents that
                draw have one stream for all games.
            options: ``"key"``: of the deals, integers (B,) or one number, as in `OneSeatEnv.reset`;
                ``"reset_mask"``: bool (B,), the games to deal, at least one; the others do not change.

        Returns:
            uint8 (B, O) observations, and the infos, of the games that have been dealt.

        Raises:
            ValueError: an unknown option, or one of another shape or type.
        """
        chosen = check_options(options, ["key", "reset_mask"])
        mask = self._reset_mask(chosen["reset_mask"]) if "reset_mask" in chosen else None
        keys = None
        if "key" in chosen:
            keys = as_integers(np.asarray(chosen["key"]), "key")
            if keys.shape not in ((), (self.num_envs,)):
                raise ValueError(f"key: expected one number or shape {(self.num_envs,)}, got {keys.shape}")
        checked = self._checked_seed(seed)
        super().reset(seed=checked[0] if isinstance(checked, list) else checked)
        if seed is not None or not self.games.is_dealt:
            self.games.reseed(checked if isinstance(checked, list) else self.np_random)
        if mask is None:
            self.games.deal(keys=keys)
        else:
            self.games.deal(
                mask.nonzero()[0], None if keys is None else np.broadcast_to(keys, mask.shape)[mask]
            )
        if self.render_mode == "human":
            self.render()
        return self._observe(mask)

    def _checked_seed(self, seed: int | Sequence[int] | None) -> int | list[int] | None:
        """The seed, or those of all games.

        Raises:
            ValueError: not B integers from 0.
        """
        if not isinstance(seed, Sequence | np.ndarray):
            return seed
        if len(seed) != self.num_envs or not all(
            isinstance(one, int | np.integer) and one >= 0 for one in seed
        ):
            raise ValueError(f"seed={seed!r}: expected an integer, or {self.num_envs} of them from 0")
        return [int(one) for one in seed]

    def _reset_mask(self, value: object) -> BoolArray:
        """The games to reset.

        Raises:
            ValueError: not a bool array of the right shape, no game, or nothing has been dealt.
        """
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_ or value.shape != (self.num_envs,):
            raise ValueError(f"reset_mask: expected a bool array of shape ({self.num_envs},)")
        if not value.any():
            raise ValueError("reset_mask: expected at least one True")
        if not self.games.is_dealt:
            raise ValueError("reset_mask: no game has been dealt; call reset() without it first")
        return value

    def step(
        self, actions: IntArray
    ) -> tuple[
        ByteArray,
        RewardArray,
        BoolArray,
        BoolArray,
        dict[str, Any],
    ]:
        """Play the learner's action in every game, and advance to its next decision.

        Args:
            actions: int64 (B,), an action per game.

        Returns:
            Observations uint8 (B, O), rewards float32 (B,), terminations and truncations bool (B,), infos.

        Raises:
            IllegalPlayError: an action that is not legal, with ``illegal="raise"``; or with
                ``AutoresetMode.DISABLED`` a game that is over. No game has moved.
            ValueError: another shape or type.
        """
        games = self.games
        waiting = games.is_over.nonzero()[0]
        if self._autoreset is AutoresetMode.DISABLED and len(waiting):
            raise IllegalPlayError(
                f"game {waiting[0]}: the episode is over; call reset(options={{'reset_mask': terminations}})",
                game=int(waiting[0]),
            )
        games.step(actions)
        finished, rewards, illegal = games.finished, games.rewards, games.illegal
        terminated, truncated = games.terminations, games.truncations
        ended = terminated | truncated
        if len(waiting):
            games.deal(waiting)
        is_same_step = self._autoreset is AutoresetMode.SAME_STEP
        observation, infos = self._observe(finished=None if is_same_step else finished)
        if is_same_step and len(finished.game):
            final_obs = np.full(self.num_envs, None, dtype=object)
            last = finished.observation.astype(self._dtype, copy=False)
            for game, seen in zip(finished.game.tolist(), last, strict=True):
                final_obs[game] = seen
            seat = np.zeros(self.num_envs, np.int64)
            seat[finished.game] = finished.seat
            mask = np.zeros((self.num_envs, games.batch.num_actions), np.int8)
            mask[finished.game] = finished.mask
            final: dict[str, Any] = {
                "action_mask": mask,
                "seat": seat,
                "illegal": illegal & ended,
                **self._ends(finished),
            }
            infos["final_obs"], infos["_final_obs"] = final_obs, ended.copy()
            infos["final_info"], infos["_final_info"] = _with_masks(ended, final), ended.copy()
        if self.render_mode == "human":
            self.render()
        return observation, rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each game, the learner's hand face up; None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        return tuple(self._picture(self.render_mode, game) for game in range(self.num_envs))
