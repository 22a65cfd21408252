"""Batched environments without subprocesses: self-play with all seats, and Gymnasium's `VectorEnv`.

The caller of `SelfPlayEnv` takes every decision of every seat; the caller of `OneSeatVectorEnv` takes those
of one seat per game, and agents play the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tienlen_env.engine.batch import Batch
from tienlen_env.envs.one_seat import GameSettings, OneSeatGames, OneSeatSettings, Opponents, check_order
from tienlen_env.games.common.arrays import BoolArray, ByteArray, IntArray, MaskArray, RewardArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import Painter, check_render_mode


class Decisions(NamedTuple):
    """The decision that waits in each of B games, P seats.

    Attributes:
        observation: uint8 (B, O), of the seat to act.
        action_mask: int8 (B, A), 1 = legal; at least one a game.
        seat: int64 (B,), the seat to act.
        rewards: float32 (B, P), what each seat earned by the last step.
        terminations: bool (B,), games that ended in the last step; the decision is of their next deal.
    """

    observation: ByteArray
    action_mask: MaskArray
    seat: IntArray
    rewards: RewardArray
    terminations: BoolArray

    @property
    def dones(self) -> BoolArray:
        """The former name of `terminations`."""
        return self.terminations


class SelfPlayEnv:
    """B games in which the caller plays every seat; a game that ends is dealt anew within the step.

    A seat's reward comes in the step that settles its place, whoever moved: add up ``rewards[:, seat]``
    between two decisions of a seat. Arrays are written in turn to two sets of buffers: the second call of
    `step` (or `reset`) after this one overwrites what this one returned. Copy what must live longer.
    Copies of the environment (`copy.deepcopy`, `pickle`) play on identically.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B.
        threads: threads of the numba loops.
        settings: see `tienlen_env.engine.Batch`.

    Attributes:
        batch: the games.
        num_games, num_players, num_actions, observation_size: B, P, A, O.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        threads: int = 1,
        **settings: Unpack[GameSettings],
    ) -> None:
        check_order(rules, num_games, "SelfPlayEnv(rules, num_games)")
        self.batch = batch = Batch(rules, num_games, auto_reset=True, threads=threads, **settings)
        self.num_games, self.num_players = batch.num_games, batch.num_players
        self.num_actions, self.observation_size = batch.num_actions, batch.observation_size
        self._now, self._next = self._buffers(), self._buffers()

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


class OneSeatVectorEnv(VectorEnv[ByteArray, IntArray, npt.NDArray[Any]]):
    """One learning seat in each of B games, as a Gymnasium vector environment.

    Observations are flat, uint8 (B, O); the masks, int8 (B, A), are in ``infos["action_mask"]`` and
    `action_masks()`. `tienlen_env.envs.one_seat` defines episodes and rewards. Games reset in the same step
    (``AutoresetMode.SAME_STEP``), so every step is a decision in every game; the learner's last observation
    is in ``infos["final_obs"]`` and its place (0 = first) in ``infos["final_info"]["place"]``.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        copy: return new arrays; else observations and masks are written in turn to two sets of buffers, as in
            `SelfPlayEnv`.
        render_mode: None or one of `tienlen_env.single.painter.RENDER_MODES`.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's way
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": ["ansi", "rgb_array", "svg"],
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules,
        copy: bool = True,
        render_mode: str | None = None,
        **settings: Unpack[OneSeatSettings],
    ) -> None:
        self.games = OneSeatGames(rules, num_envs, **settings)
        self.num_envs = self.games.batch.num_games
        self.single_observation_space = spaces.Box(0, 1, (self.games.batch.observation_size,), np.uint8)
        self.single_action_space = spaces.Discrete(self.games.batch.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.render_mode = check_render_mode(render_mode)
        self._copy = copy
        self._buffers = [self._new_arrays(), self._new_arrays()]
        self._mask = self._buffers[0][1]

    def _new_arrays(self) -> tuple[ByteArray, MaskArray]:
        batch = self.games.batch
        return (
            np.empty((self.num_envs, batch.observation_size), np.uint8),
            np.zeros((self.num_envs, batch.num_actions), np.int8),
        )

    def _observe(self) -> tuple[ByteArray, dict[str, Any]]:
        if self._copy:
            observation, self._mask = self._new_arrays()
        else:
            self._buffers.reverse()
            observation, self._mask = self._buffers[0]
        self.games.observe(observation, self._mask)
        return observation, {"action_mask": self._mask, "_action_mask": np.ones(self.num_envs, np.bool_)}

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change who plays the other seats; see `OneSeatGames.set_opponents`."""
        self.games.set_opponents(opponents, probabilities)

    def action_masks(self) -> MaskArray:
        """int8 (B, A): 1 = legal for the decisions that wait."""
        return self._mask

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """Deal every game anew.

        Args:
            seed: of deals, seats, opponents and their play; None continues the present stream.
            options: not used.

        Returns:
            uint8 (B, O) observations and the infos.
        """
        super().reset(seed=seed)
        self.games.reset(self.np_random)
        return self._observe()

    def step(
        self, actions: IntArray
    ) -> tuple[
        ByteArray,
        RewardArray,
        BoolArray,
        BoolArray,
        dict[str, Any],
    ]:
        """Play the learner's action in every game, and on to its next decision.

        Args:
            actions: int64 (B,), a legal action per game.

        Returns:
            Observations uint8 (B, O), rewards float32 (B,), terminations and truncations bool (B,), infos.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: another shape or type.
        """
        self.games.step(actions)
        observation, infos = self._observe()
        finished = self.games.finished
        if len(finished.game):
            final_obs = np.full(self.num_envs, None, dtype=object)
            for game, seen in zip(finished.game.tolist(), finished.observation, strict=True):
                final_obs[game] = seen
            place = np.zeros(self.num_envs, np.int64)
            place[finished.game] = finished.place
            ended = self.games.terminations
            infos["final_obs"], infos["_final_obs"] = final_obs, ended.copy()
            infos["final_info"], infos["_final_info"] = {"place": place, "_place": ended.copy()}, ended.copy()
        truncations = np.zeros(self.num_envs, np.bool_)
        return observation, self.games.rewards, self.games.terminations, truncations, infos

    def action_to_text(self, action: int) -> str:
        """The name of an action id; see `Batch.action_to_text`."""
        return self.games.batch.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The action id of a name; see `Batch.text_to_action`."""
        return self.games.batch.text_to_action(text)

    def render(self) -> tuple[Any, ...] | None:
        """A picture of each game, the learner's hand face up; None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        games = self.games
        return tuple(
            Painter(games.batch, game).render(self.render_mode, [int(games.seat[game])])
            for game in range(self.num_envs)
        )
