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

from tienlen_env.engine.checks import as_index, as_key, check_options
from tienlen_env.envs.one_seat import DTypeName, OneSeatGames, Opponents, _OneSeatAdapter, as_dtype
from tienlen_env.extras import require
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import check_render_mode

require("stable_baselines3", "train", "tienlen_env.envs.sb3")
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env.base_vec_env import VecEnv  # noqa: E402

Indices = None | int | Iterable[int]


class OneSeatVecEnv(_OneSeatAdapter, VecEnv):
    """One learning seat in each of B games of any rules.

    `tienlen_env.envs.one_seat` defines episodes and rewards. Every info has ``"seat"``, the learner's seat;
    ``"illegal"``, whether the last action was; ``"place"``, 0 = first, -1 before the end; and ``"units"``,
    what the seat got in payments, less what it paid. A game that ends is dealt anew in the same step, as in
    every `VecEnv`; its info is still of the end, with ``"terminal_observation"``, ``"TimeLimit.truncated"``
    and ``"episode"``, which has the sum of the rewards ``"r"``, the number of decisions ``"l"`` and the time
    ``"t"``, as from SB3's `Monitor`, so a `VecMonitor` around it is needless, and SB3 warns of it.
    `set_options` takes ``{"key": k}``, of the next deal; `render` shows all games.

    Algorithms with masks (``sb3_contrib.MaskablePPO``) never choose an illegal action. For those without
    (``stable_baselines3.PPO``), set ``illegal="terminate"`` or ``"random"``.

    Args:
        num_envs: B.
        rules: a preset's name, or the rules of any game.
        copy: return new arrays and dicts. False is faster: observations are written in turn to two buffers,
            so that the second step after this one overwrites what this one returned, and masks to one. The
            algorithms of SB3 and sb3-contrib store both before that.
        render_mode: None or one of `tienlen_env.single.painter.RENDER_MODES`.
        seed: of the first `reset`; later ones continue its stream unless `seed()` was called. All games draw
            from one stream, that of the first game's seed.
        dtype: of the observations, ``"uint8"`` or ``"float32"``; the second are always new arrays.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`, with fields of the rules such as ``jokers=0``.

    Attributes:
        rules: the rules.
        games: the games.

    Raises:
        MissingExtraError: stable-baselines3 is not installed (when the module is imported).
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: str | AnyRules = "cardgames",
        copy: bool = True,
        render_mode: str | None = None,
        seed: int | None = None,
        dtype: DTypeName = "uint8",
        **settings: Any,
    ) -> None:
        self.games = OneSeatGames(rules, num_envs, **settings)
        batch = self.games.batch
        self.rules = batch.rules
        self.render_mode = check_render_mode(render_mode)
        self.num_envs = batch.num_games
        self._dtype = as_dtype(dtype)
        super().__init__(
            batch.num_games,
            spaces.Box(0, 1, (batch.observation_size,), self._dtype.type),
            spaces.Discrete(batch.num_actions),
        )
        if seed is not None:
            self.seed(seed)
        self._copy = copy
        self._observations = [np.zeros((batch.num_games, batch.observation_size), np.uint8) for _ in range(2)]
        self._mask = np.zeros((batch.num_games, batch.num_actions), np.int8)
        self._mask_rows = list(self._mask)
        self._infos = [self._info(0) for _ in range(batch.num_games)]
        self._actions: npt.NDArray[Any] = np.zeros(batch.num_games, np.int64)
        self._start = time.time()

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change the agents of the other seats; see `OneSeatGames.set_opponents`."""
        self.games.set_opponents(opponents, probabilities)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """int8 (B, A): 1 = legal; with ``copy=False`` overwritten by the next step."""
        return self._mask

    def _observe(self) -> npt.NDArray[Any]:
        self._observations.reverse()
        if self._copy:
            self._observations[0] = np.empty_like(self._observations[0])
            self._mask = np.empty_like(self._mask)
            self._mask_rows = list(self._mask)
        self.games.observe(self._observations[0], self._mask)
        return self._observations[0].astype(self._dtype, copy=False)

    def reset(self) -> npt.NDArray[Any]:
        """Deal every game anew, by the seed and the options of `seed` and `set_options`; uint8 (B, O).

        Raises:
            ValueError: an unknown option, or an invalid key; nothing is dealt.
        """
        if len(self._options) != self.num_envs:
            raise ValueError(f"options: expected a dict, or {self.num_envs} of them")
        chosen = [check_options(options, ["key"]) for options in self._options]
        keys = {game: as_key(options["key"]) for game, options in enumerate(chosen) if "key" in options}
        self.games.reset(self._seeds[0])
        if keys:
            self.games.deal(list(keys), list(keys.values()))
        self._reset_seeds()
        self._reset_options()
        self.reset_infos = [self._info(seat) for seat in self.games.seat.tolist()]
        self._infos = [info.copy() for info in self.reset_infos]
        return self._observe()

    def _info(self, seat: int, illegal: bool = False, place: int = -1, units: int = 0) -> dict[str, Any]:
        return {
            "seat": seat,
            "illegal": illegal,
            "place": place,
            "units": units,
            "TimeLimit.truncated": False,
        }

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Store the actions, integers (B,), for `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the stored actions; observations uint8 (B, O), rewards float32 (B,), dones bool (B,), infos.

        Raises:
            IllegalPlayError: an action that is not legal, with ``illegal="raise"``: no game has moved.
            ValueError: actions of another shape or type.
        """
        games = self.games
        games.step(self._actions)
        observation = self._observe()
        infos = [info.copy() for info in self._infos] if self._copy else self._infos.copy()
        illegal = games.illegal
        for game in illegal.nonzero()[0].tolist():
            infos[game] = {**infos[game], "illegal": True}
        finished, is_cut = games.finished, games.truncations & ~games.terminations
        if len(finished.game):
            now = round(time.time() - self._start, 6)
            seen = finished.observation.astype(self._dtype, copy=False)
            numbers = (finished.place, finished.seat, finished.units, finished.total, finished.length)
            for at, game in enumerate(finished.game.tolist()):
                place, seat, units, total, length = (column[at].item() for column in numbers)
                infos[game] = {
                    **self._info(seat, bool(illegal[game]), place, units),
                    "terminal_observation": seen[at],
                    "TimeLimit.truncated": bool(is_cut[game]),
                    "episode": {"r": total, "l": length, "t": now},
                }
                self.reset_infos[game] = self._info(int(games.seat[game]))
                self._infos[game] = self.reset_infos[game].copy()
        return observation, games.rewards, games.terminations | games.truncations, infos

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
        """Call a method of the selected games.

        ``"action_masks"`` and ``"render"`` give what each game has. Any other is called once for all games,
        and its result is repeated.

        Raises:
            ValueError: a method of the whole `VecEnv`, such as ``"reset"``; or only some games were named for
                a method that changes what all games share.
        """
        games = [as_index(i, self.num_envs, "indices") for i in self._get_indices(indices)]
        if method_name == "action_masks":
            return self._mask_rows if indices is None else [self._mask_rows[game] for game in games]
        if method_name == "render":
            return [self._picture(self.render_mode, game) for game in games] if self.render_mode else []
        if hasattr(VecEnv, method_name):
            raise ValueError(f"{method_name}: a method of all games together; call that of the VecEnv")
        if len(games) != self.num_envs and method_name not in ("action_to_text", "text_to_action"):
            raise ValueError(f"{method_name}: the games share what it changes; call it for all of them")
        return [getattr(self, method_name)(*method_args, **method_kwargs)] * len(games)

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:
        """True for `Monitor`, whose infos this class adds (``infos[i]["episode"]``); False for any other."""
        return [issubclass(wrapper_class, Monitor)] * self._count(indices)

    def get_images(self) -> list[npt.NDArray[np.uint8]]:
        """The tables as RGB arrays, the learner's hand face up."""
        return [self._picture("rgb_array", game) for game in range(self.num_envs)]

    def _count(self, indices: Indices) -> int:
        return len(list(self._get_indices(indices)))
