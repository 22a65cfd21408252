"""All seats of many games for PufferLib: a native `PufferEnv`, which writes into PufferLib's own buffers.

>>> from tienlen_bridges.pufferlib import SelfPlayPufferEnv
>>> env = SelfPlayPufferEnv("cardgames", num_games=1024, reward="zero_sum")
>>> rows, _ = env.reset(seed=1)
>>> mask, observation = env.split(rows)

An agent of PufferLib is a seat: those of game g are g P .. g P + P - 1. A step is one decision in every game,
of the seat to act; the buffer ``masks`` says which seats these are. A row has the action mask and then the
observation, the order in which PufferLib's emulation lays out the dict of PettingZoo. A seat that waits sees
the game, too; in its mask the action 0 alone is legal, and nothing reads it: so its log-probability is 0, and
it has no part in the gradient of a policy.

A game that ends is dealt anew within the step; `terminals` is True for all of its seats. A seat gets its
reward in the step when its place becomes certain.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from tienlen_env.engine.checks import as_integer, as_integers
from tienlen_env.envs.vector import Decisions, SelfPlayEnv
from tienlen_env.errors import check_word
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import BoolArray, ByteArray, IntArray, RewardArray
from tienlen_env.games.common.game import AnyRules

require("pufferlib", "pufferlib", "tienlen_bridges.pufferlib")
from pufferlib import PufferEnv  # noqa: E402

Infos = list[dict[str, float]]


class SelfPlayPufferEnv(PufferEnv):
    """All seats of B games of P seats, with A actions and observations of length O.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B.
        illegal: ``"raise"``: an illegal action is an error; ``"random"``: a random legal action is played
            instead, and the info ``"illegal"`` is the share of such games, for policies without masks.
        buf: PufferLib's buffers; None makes new ones.
        seed: of the deals, for a `reset` without one; None takes fresh entropy.
        settings: see `tienlen_env.envs.vector.SelfPlayEnv`, such as ``num_players`` and ``reward``.

    Attributes:
        num_agents: B P.
        single_observation_space: of a row, uint8 (A + O,).
        games: the `SelfPlayEnv` that plays; ``games.batch`` has the states.

    Raises:
        MissingExtraError: PufferLib is not installed (when the module is imported).
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        illegal: Literal["raise", "random"] = "raise",
        buf: dict[str, Any] | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        check_word("illegal", illegal, ("raise", "random"))
        self.games = games = SelfPlayEnv(rules, num_games, **settings)
        self.num_agents = games.num_games * games.num_players
        self.single_observation_space = spaces.Box(
            0, 1, (games.num_actions + games.observation_size,), np.uint8
        )
        self.single_action_space = spaces.Discrete(games.num_actions)
        super().__init__(buf)
        self._shape = games.num_games, games.num_players
        self._rows = self.observations.reshape(*self._shape, -1)
        self._every = np.arange(games.num_games)
        self._waits = (np.arange(games.num_actions) == 0).astype(np.uint8)  # the mask of a seat that waits
        self._seen = np.empty((games.num_games, games.observation_size), np.uint8)
        self._plays_random = illegal == "random"
        self._seed = seed

    def split(self, rows: Any) -> tuple[Any, Any]:
        """The action masks (..., A) and the observations (..., O) of rows, of NumPy or torch; views."""
        return rows[..., : self.games.num_actions], rows[..., self.games.num_actions :]

    def reset(self, seed: int | None = None) -> tuple[ByteArray, Infos]:
        """Deal every game anew.

        Args:
            seed: of the deals and of actions instead of illegal ones; None takes that of the constructor.

        Raises:
            ValueError: not an integer.
        """
        chosen = self._seed if seed is None else seed
        self._rng = np.random.default_rng(None if chosen is None else as_integer(chosen, "seed"))
        masks, _ = self.split(self._rows)
        masks[:] = self._waits
        self.truncations[:] = False
        self._write(self.games.reset(self._rng))
        return self.observations, []

    def step(self, actions: Any) -> tuple[ByteArray, RewardArray, BoolArray, BoolArray, Infos]:
        """Play one action in every game.

        Args:
            actions: integers (B P,); those of seats that wait are not read.

        Returns:
            PufferLib's buffers, and infos: observations, uint8 (B P, A + O); rewards, float32 (B P,);
            terminals and truncations, bool (B P,).

        Raises:
            IllegalPlayError: an action that is not legal, with ``illegal="raise"``; no game has moved.
            ValueError: another shape or type.
        """
        given = as_integers(actions, "actions", self.num_agents)
        seat, infos = self._now.seat, Infos()
        chosen: IntArray = given.reshape(self._shape)[self._every, seat]
        if self._plays_random:
            outside = (chosen < 0) | (chosen >= self.games.num_actions)
            illegal = self._now.action_mask[self._every, np.where(outside, 0, chosen)] == 0
            illegal |= outside
            if illegal.any():
                chosen = np.where(illegal, self.games.batch.sample(self._rng), chosen)
                infos.append({"illegal": float(illegal.mean())})
        new = self.games.step(chosen)
        masks, _ = self.split(self._rows)
        masks[self._every, seat] = self._waits
        self._write(new)
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def _write(self, now: Decisions) -> None:
        """What all seats see now, into PufferLib's buffers."""
        masks, observations = self.split(self._rows)
        masks[self._every, now.seat] = now.action_mask
        for seat in range(self.games.num_players):
            self.games.batch.observe(seat, out=self._seen)
            observations[:, seat] = self._seen
        self.rewards.reshape(self._shape)[:] = now.rewards
        self.terminals.reshape(self._shape)[:] = now.terminations[:, None]
        acts = self.masks.reshape(self._shape)
        acts[:] = False
        acts[self._every, now.seat] = True
        self._now = now

    def close(self) -> None:
        """Nothing is open."""
