"""One seat of one game as a Gymnasium environment; agents play the other seats.

`OneSeatEnv` works with any game. The environments of `gymnasium.make` are named after their games and have
their own files. The observation is the flat array of the game's PettingZoo environment (whose
page lists its pieces, the actions and the rewards); the mask is in ``info["action_mask"]`` and, for
sb3-contrib, in `OneSeatEnv.action_masks`.
"""

from __future__ import annotations

from typing import Any, SupportsIndex

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tienlen_env.engine.checks import as_key, check_options
from tienlen_env.envs.one_seat import (
    DTypeName,
    Illegal,
    OneSeatGames,
    Opponents,
    Seat,
    _OneSeatAdapter,
    as_dtype,
)
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.arrays import ByteArray, MaskArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import RENDER_MODES, check_render_mode


class OneSeatEnv(_OneSeatAdapter, gymnasium.Env[ByteArray, np.int64]):
    """One seat of one game; `OneSeatVectorEnv` with one game is the same decision process.

    A reward is the sum of the seat's rewards since its last decision. With ``episode="round"`` the episode
    ends when the seat's place is certain, with ``"game"`` at the end of the game. Returned arrays are never
    overwritten.

    Every info has ``"action_mask"``, int8 (A,), 1 = legal, at the end of the episode only for the action 0
    (`tienlen_env.envs.one_seat`); ``"seat"``, the learner's seat; ``"illegal"``, whether the last action was
    illegal; ``"place"``, 0 = first, -1 before the end; and ``"units"``, what the seat got in payments in this
    game, less what it paid, 0 before the end. ``games.batch.payments()`` lists who paid whom, and for what.

    Args:
        rules: a preset's name, or the rules of any game.
        opponents: the agents in the other seats: the name of an agent (``"random"``, or a name from an
            installed package, see `tienlen_env.engine.agent`), an agent object, or a sequence of P-1 names
            and objects, the first for the seat after the learner's.
        line_up: False: a sequence of opponents is a pool of any size; every other seat gets a
            random agent at every deal.
        probabilities: float (number of opponents,), the shares of a pool; None for equal ones.
        seat: the learner's seat; ``"random"`` draws it for every deal.
        illegal: effect of an illegal action: ``"terminate"`` ends the episode in the last place, with a
            reward of one less than the worst of legal play; ``"random"`` plays a random legal action instead;
            ``"raise"`` raises `IllegalPlayError` and leaves the game unchanged.
        skip_forced: play decisions with a single legal action automatically; the episode has only decisions
            with a choice then.
        render_mode: None, ``"human"``, ``"ansi"``, ``"rgb_array"`` or ``"svg"``; only the learner's hand
            is face up.
        dtype: of the observations, ``"uint8"`` or ``"float32"``.
        settings: see `tienlen_env.envs.one_seat.OneSeatGames`, with fields of the rules such as ``jokers=0``.

    Attributes:
        games: the game, with the opponents; ``games.batch`` is the engine's `Batch` of one game.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        opponents: Opponents = "random",
        *,
        line_up: bool = True,
        probabilities: npt.ArrayLike | None = None,
        seat: Seat = "random",
        illegal: Illegal = "terminate",
        skip_forced: bool = True,
        render_mode: str | None = None,
        dtype: DTypeName = "uint8",
        **settings: Any,
    ) -> None:
        self.games = OneSeatGames(
            rules,
            1,
            opponents=opponents,
            probabilities=probabilities,
            line_up=line_up,
            seat=seat,
            illegal=illegal,
            skip_forced=skip_forced,
            auto_reset=False,
            **settings,
        )
        batch = self.games.batch
        self._dtype = as_dtype(dtype)
        self._is_bytes = self._dtype == np.uint8
        self.observation_space = spaces.Box(0, 1, (batch.observation_size,), self._dtype.type)
        self.action_space = spaces.Discrete(batch.num_actions)
        self.render_mode = check_render_mode(render_mode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """Deal, and advance to the seat's first decision.

        Args:
            seed: of the deals, the seat and the opponents; None continues the present streams.
            options: ``"key"``: of the deal, a signed 64-bit number. If that deal is over before the seat's
                first decision, the key that is one higher is dealt.

        Returns:
            uint8 (O,) and the info.

        Raises:
            ValueError: an unknown option, or an invalid key.
        """
        chosen = check_options(options, ["key"])
        keys = as_key(chosen["key"]) if "key" in chosen else None
        super().reset(seed=seed)
        if seed is not None or not self.games.is_dealt:
            self.games.reseed(self.np_random)
        self.games.deal(keys=keys)
        if self.render_mode == "human":
            self.render()
        return self._observe()

    def _observe(self) -> tuple[ByteArray, dict[str, Any]]:
        games = self.games
        observation = np.empty((1, games.batch.observation_size), np.uint8)
        mask = np.empty((1, games.batch.num_actions), np.int8)
        games.observe(observation, mask)
        info: dict[str, Any] = {
            "action_mask": mask[0],
            "seat": int(games.seat[0]),
            "illegal": bool(games.illegal[0]),
            "place": -1,
            "units": 0,
        }
        if games.is_over[0]:
            info["place"], info["units"] = games.finished.place.item(), games.finished.units.item()
        return observation[0] if self._is_bytes else observation[0].astype(self._dtype), info

    def step(self, action: SupportsIndex) -> tuple[ByteArray, float, bool, bool, dict[str, Any]]:
        """Play, and advance to the seat's next decision or the end of its episode.

        Args:
            action: an action id.

        Returns:
            Observation uint8 (O,), reward, terminated, truncated, info.

        Raises:
            IllegalPlayError: there is no episode, or an illegal action with ``illegal="raise"``.
            ValueError: not an integer.
        """
        games = self.games
        if not games.is_dealt or games.is_over[0]:
            raise IllegalPlayError(
                f"the episode {'is over' if games.is_dealt else 'has not begun'}; call reset()"
            )
        ids = np.asarray(action)
        if ids.shape not in ((), (1,)) or ids.dtype.kind not in "iu":
            raise ValueError(f"action {action!r}: expected an integer")
        games.step(ids.reshape(1))
        if self.render_mode == "human":
            self.render()
        observation, info = self._observe()
        is_truncated = bool(games.truncations[0])
        return observation, float(games.rewards[0]), bool(games.terminations[0]), is_truncated, info

    def action_masks(self) -> MaskArray:
        """int8 (A,): 1 = legal; 0 alone is legal when the episode is over."""
        mask: MaskArray = self._observe()[1]["action_mask"]
        return mask

    def render(self) -> Any:
        """A picture in `render_mode`; see `tienlen_env.single.painter.Painter.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        return self._picture(self.render_mode)

    def _repr_svg_(self) -> str:
        return str(self._picture("svg"))
