"""The one-seat games as a stable-baselines3 `VecEnv`: MaskablePPO on hundreds of games, no subprocesses.

Needs stable-baselines3 (the extra ``train``); nothing else of the package imports this.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from tienlen_env.engine.checks import as_index
from tienlen_env.envs.one_seat import OneSeatGames, Opponents, _OneSeatAdapter
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import check_render_mode

Indices = None | int | Iterable[int]


class OneSeatVecEnv(_OneSeatAdapter, VecEnv):
    """One learning seat in each of B games of any rules.

    `tienlen_env.envs.one_seat` defines episodes and rewards. A game that ends is dealt anew in the same step,
    as in every `VecEnv`; its info then holds ``"terminal_observation"``, ``"place"`` (0 = first), ``"units"``
    (what the seat got in payments, less what it paid) and ``"episode"`` with the sum of the rewards ``"r"``,
    the number of decisions ``"l"`` and the time ``"t"``, as from SB3's `Monitor`, so a `VecMonitor` around it
    is needless, and SB3 warns of it. After an illegal action that is not an error it holds ``"illegal"``,
    True.

    Algorithms with masks (``sb3_contrib.MaskablePPO``) never choose an illegal action. For those without
    (``stable_baselines3.PPO``), set ``illegal="terminate"`` or ``"random"``.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        copy: return new arrays and dicts. False is faster: observations are written in turn to two buffers,
            so that the second step after this one overwrites what this one returned, and masks to one. The
            algorithms of SB3 and sb3-contrib store both before that.
        render_mode: None or one of `tienlen_env.single.painter.RENDER_MODES`.
        seed: of the first `reset`; later ones continue its stream unless `seed()` was called.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`, with fields of the rules such as ``jokers=0``.

    Attributes:
        rules: the rules.
        games: the games.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        copy: bool = True,
        render_mode: str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        self.games = OneSeatGames(rules, num_envs, **settings)
        batch = self.games.batch
        self.rules = batch.rules
        self.render_mode = check_render_mode(render_mode)
        self.num_envs = batch.num_games
        super().__init__(
            batch.num_games,
            spaces.Box(0, 1, (batch.observation_size,), np.uint8),
            spaces.Discrete(batch.num_actions),
        )
        if seed is not None:
            self.seed(seed)
        self._copy = copy
        self._observations = [np.zeros((batch.num_games, batch.observation_size), np.uint8) for _ in range(2)]
        self._mask = np.zeros((batch.num_games, batch.num_actions), np.int8)
        self._mask_rows = list(self._mask)
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(batch.num_games)]
        self._actions: npt.NDArray[Any] = np.zeros(batch.num_games, np.int64)
        self._start = time.time()

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change the agents of the other seats; see `OneSeatGames.set_opponents`."""
        self.games.set_opponents(opponents, probabilities)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """int8 (B, A): 1 = legal; with ``copy=False`` overwritten by the next step."""
        return self._mask

    def _observe(self) -> npt.NDArray[np.uint8]:
        self._observations.reverse()
        if self._copy:
            self._observations[0] = np.empty_like(self._observations[0])
            self._mask = np.empty_like(self._mask)
            self._mask_rows = list(self._mask)
        self.games.observe(self._observations[0], self._mask)
        return self._observations[0]

    def reset(self) -> npt.NDArray[np.uint8]:
        """Deal every game anew; uint8 (B, O)."""
        self.games.reset(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return self._observe()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions, integers (B,), for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the stored actions; observations uint8 (B, O), rewards float32 (B,), dones bool (B,), infos.

        Raises:
            IllegalPlayError: an action that is not legal, with ``illegal="raise"``: no game has moved.
            ValueError: actions of another shape or type.
        """
        self.games.step(self._actions)
        observation = self._observe()
        infos = [{} for _ in range(self.num_envs)] if self._copy else self._no_infos.copy()
        finished = self.games.finished
        if len(finished.game):
            now = round(time.time() - self._start, 6)
            for game, seen, place, total, length, units in zip(
                finished.game.tolist(),
                finished.observation,
                finished.place.tolist(),
                finished.total.tolist(),
                finished.length.tolist(),
                finished.units.tolist(),
                strict=True,
            ):
                infos[game] = {
                    "terminal_observation": seen,
                    "TimeLimit.truncated": False,
                    "place": place,
                    "units": units,
                    "episode": {"r": total, "l": length, "t": now},
                }
        for game in self.games.illegal.nonzero()[0].tolist():
            infos[game] = {**infos[game], "illegal": True}
        return observation, self.games.rewards, self.games.terminations, infos

    def close(self) -> None:
        """No effect: nothing is open."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_mask_rows"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._mask_rows = list(self._mask)  # views of the mask; a copy makes its own

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of this object, once per selected game."""
        return [getattr(self, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of this object, which all games share.

        Raises:
            ValueError: only some games were named.
        """
        if self._count(indices) != self.num_envs:
            raise ValueError(f"{attr_name}: the games share their attributes; set it for all of them")
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method once; the result is repeated, but ``"action_masks"`` gives one row per game."""
        if method_name == "action_masks":
            if indices is None:
                return self._mask_rows
            return [
                self._mask_rows[as_index(i, self.num_envs, "indices")] for i in self._get_indices(indices)
            ]
        result = getattr(self, method_name)(*method_args, **method_kwargs)
        return [result] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """True for `Monitor`, whose infos this class adds (``infos[i]["episode"]``); False for any other."""
        return [issubclass(wrapper_class, Monitor)] * self._count(indices)

    def get_images(self) -> list[npt.NDArray[np.uint8]]:
        """The tables as RGB arrays, the learner's hand face up."""
        return [self._picture("rgb_array", game) for game in range(self.num_envs)]

    def _count(self, indices: Indices) -> int:
        return len(list(self._get_indices(indices)))
