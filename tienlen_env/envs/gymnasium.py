"""One seat of one game as a Gymnasium environment; agents play the other seats.

`OneSeatEnv` works with any game. The environments of `gymnasium.make` are named after their games and have
their own files. The observation is the flat array of the game's PettingZoo environment (whose
page lists its pieces, the actions and the rewards); the mask is in ``info["action_mask"]`` and, for
sb3-contrib, in `OneSeatEnv.action_masks`.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsIndex, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces

from tienlen_env.envs.one_seat import GameSettings, OneSeatGames, Opponents, Seat
from tienlen_env.envs.pettingzoo import illegal_reward
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.arrays import ByteArray, MaskArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.painter import RENDER_MODES, Painter, check_render_mode


class OneSeatEnv(gymnasium.Env[ByteArray, np.int64]):
    """One seat of one game.

    A reward is the sum of the seat's rewards since its last decision. With ``episode="round"`` the episode
    ends when the seat's place is certain, with ``"game"`` at the end of the game. Returned arrays are never
    overwritten.

    Args:
        rules: a preset's name, or the rules of any game.
        opponents: the agents in the other seats: the name of an agent (``"random"``, or a name from an
            installed package, see `tienlen_env.engine.loading`), an agent object, or a sequence of P-1 names
            and objects, the first for the seat after the learner's.
        seat: the learner's seat; ``"random"`` draws it for every deal.
        illegal: effect of an illegal action: ``"terminate"`` ends the episode with one less than the worst
            reward of legal play and ``info["illegal"] = True``; ``"raise"`` raises
            `IllegalPlayError` and leaves the game unchanged.
        skip_forced: play decisions with a single legal action automatically.
        render_mode: None, ``"human"``, ``"ansi"``, ``"rgb_array"`` or ``"svg"``; only the learner's hand
            is face up.
        settings: see `tienlen_env.engine.Batch`.

    Attributes:
        games: the game, with the opponents; ``games.batch`` is the engine's `Batch` of one game.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012

    def __init__(
        self,
        rules: str | AnyRules,
        opponents: Opponents = "random",
        *,
        seat: Seat = "random",
        illegal: Literal["terminate", "raise"] = "terminate",
        skip_forced: bool = False,
        render_mode: str | None = None,
        **settings: Unpack[GameSettings],
    ) -> None:
        if illegal not in ("terminate", "raise"):
            raise ValueError(f"illegal={illegal!r}: expected 'terminate' or 'raise'")
        self.games = OneSeatGames(
            rules,
            1,
            opponents=opponents,
            line_up=True,
            seat=seat,
            skip_forced=skip_forced,
            auto_reset=False,
            **settings,
        )
        batch = self.games.batch
        self.observation_space = spaces.Box(0, 1, (batch.observation_size,), np.uint8)
        self.action_space = spaces.Discrete(batch.num_actions)
        self.render_mode = check_render_mode(render_mode)
        self._illegal = illegal
        self._illegal_reward = illegal_reward(batch)
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByteArray, dict[str, Any]]:
        """Deal, and advance to the seat's first decision.

        Args:
            seed: of the deal, the seat and the opponents; None continues the present stream.
            options: not used.

        Returns:
            uint8 (O,) and the info with ``"action_mask"`` and ``"seat"``.
        """
        super().reset(seed=seed)
        self.games.reset(self.np_random)
        self._is_over = False
        if self.render_mode == "human":
            self.render()
        return self._observe()

    def _observe(self) -> tuple[ByteArray, dict[str, Any]]:
        observation = np.empty((1, self.games.batch.observation_size), np.uint8)
        mask = np.empty((1, self.games.batch.num_actions), np.int8)
        self.games.observe(observation, mask)
        return observation[0], {"action_mask": mask[0], "seat": int(self.games.seat[0])}

    def step(self, action: SupportsIndex) -> tuple[ByteArray, float, bool, bool, dict[str, Any]]:
        """Play, and advance to the seat's next decision or the end of its episode.

        Args:
            action: an action id.

        Returns:
            Observation uint8 (O,), reward, terminated, truncated (always False), info. At the end the mask is
            all-zero and ``info["place"]`` is the place, 0 = first.

        Raises:
            IllegalPlayError: the episode is over, or an illegal action with ``illegal="raise"``.
        """
        if self._is_over:
            raise IllegalPlayError("the episode is over; call reset()")
        try:
            self.games.step(np.array([action]))
        except IllegalPlayError as error:
            if self._illegal == "raise" or error.seat != self.games.seat[0]:  # an opponent's action
                raise
            self._is_over = True
            observation, info = self._observe()
            info["action_mask"][:] = 0
            return observation, self._illegal_reward, True, False, {**info, "illegal": True}
        self._is_over = bool(self.games.terminations[0])
        if self.render_mode == "human":
            self.render()
        observation, info = self._observe()
        if self._is_over:
            info["action_mask"][:] = 0
            info["place"] = self.games.finished.place.item()
        return observation, float(self.games.rewards[0]), self._is_over, False, info

    def action_masks(self) -> MaskArray:
        """int8 (A,): 1 = legal; all-zero when the episode is over."""
        if self._is_over:
            return np.zeros(self.games.batch.num_actions, np.int8)
        mask: MaskArray = self.games.batch.action_mask()[0]
        return mask

    def action_to_text(self, action: int) -> str:
        """The name of an action id; see `Batch.action_to_text`."""
        return self.games.batch.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The action id of a name; see `Batch.text_to_action`."""
        return self.games.batch.text_to_action(text)

    def render(self) -> Any:
        """A picture in `render_mode`; see `tienlen_env.single.painter.Painter.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        return Painter(self.games.batch).render(self.render_mode, [int(self.games.seat[0])])

    def _repr_svg_(self) -> str:
        return str(Painter(self.games.batch).render("svg", [int(self.games.seat[0])]))
