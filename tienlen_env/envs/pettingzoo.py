"""Any game as a PettingZoo AEC environment: `GameEnv` is without wrappers, `make_aec` adds PettingZoo's.

The environments with versioned names are subclasses of `GameEnv`, each in a file named after its game.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.backends.per_game import FINISHED, PAID, REFUSED
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_integer, as_key, check_options, owned
from tienlen_env.envs.one_seat import DTypeName, as_dtype, illegal_reward
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games.common.arrays import ByteArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import check_game, get_rules
from tienlen_env.single.painter import RENDER_MODES, Painter, check_render_mode

Observation = dict[str, npt.NDArray[Any]]

_empty = np.empty
_INT8, _UINT8 = np.dtype(np.int8), np.dtype(np.uint8)


class GameEnv(AECEnv):
    """A game of any rules, without wrappers.

    One call of the engine's loop checks and plays an action and writes the next player's observation. The
    dictionaries are updated only in the few steps that give a reward or end the game. Returned arrays are
    never overwritten. Copies (`copy.deepcopy`, `pickle`) play on identically.

    Args:
        rules: a preset's name, or the rules of any game.
        num_players: None keeps the number in `rules`.
        episode: ``"round"`` or ``"game"``.
        num_rounds: rounds of a game; 0: without an end; None: as the rules say.
        reward: one of the game's.
        render_mode: None or one of `RENDER_MODES`.
        history: number of past plays in the observation.
        dtype: of the observations, ``"uint8"`` or ``"float32"``.
        backend: ``"native"``, ``"numba"`` or ``"python"``.
        fields: fields of the rules that replace those in `rules`; None keeps a field.

    Attributes:
        batch: the engine's `Batch` of one game.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    game_name: ClassVar[str] = ""  # the only game of a subclass; "" for any
    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's convention
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        num_rounds: int | None = None,
        reward: str = "points",
        render_mode: str | None = None,
        history: int = 0,
        dtype: DTypeName = "uint8",
        backend: BackendName = "native",
        **fields: object,
    ) -> None:
        super().__init__()
        self.render_mode = check_render_mode(render_mode)
        self._dtype = as_dtype(dtype)
        found = get_rules(rules, num_players, **fields)
        if self.game_name:
            check_game(found, self.game_name)
        self.batch = batch = Batch(
            found,
            episode=episode,
            num_rounds=num_rounds,
            reward=reward,
            history=history,
            backend=backend,
        )
        if "name" not in self.metadata:
            self.metadata = {**self.metadata, "name": batch.game.name}
        self.possible_agents = [f"player_{seat}" for seat in range(batch.num_players)]
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (batch.observation_size,), self._dtype.type),
                    "action_mask": spaces.Box(0, 1, (batch.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(batch.num_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (batch.global_observation_size,), self._dtype.type)
        self._painter = Painter(batch)
        self._num_actions, self._observation_size = batch.num_actions, batch.observation_size
        self._gained = np.zeros(batch.num_players, np.float32)  # the rewards of the last step
        self._bind()
        self._key = np.zeros(1, np.int64)  # of the deal
        self._rng: np.random.Generator | None = None
        self.agents: list[str] = []
        self.agent_selection = self.possible_agents[0]
        self.rewards: dict[str, float] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self._skip_agent_selection: str | None = None
        self._is_owing = False  # some entry of `rewards` or `_cumulative_rewards` is not zero
        self._current: Observation = {}  # the observation of `agent_selection`

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent.

        Raises:
            ValueError: not a player.
        """
        self.possible_agents.index(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete[np.int64]:
        """The action space of an agent.

        Raises:
            ValueError: not a player.
        """
        self.possible_agents.index(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal and begin.

        Args:
            seed: of the environment's generator; None continues its stream.
            options: ``"key"``: of the deal; others are on the game's page.

        Raises:
            ValueError: an unknown option, or an invalid seed, key or position.
        """
        chosen = self._check_options(options)
        rng = self._rng
        if rng is None or seed is not None:
            rng = np.random.default_rng(None if seed is None else as_integer(seed, "seed"))
        has_hands = self._set_hands(chosen)
        self._rng = rng
        if not has_hands:
            self._key[0] = chosen["key"] if "key" in chosen else rng.integers(-(2**63), 2**63)
            self.batch.deal(self._key)
        agents = self.possible_agents
        self.agents = agents[:]
        self.rewards = dict.fromkeys(agents, 0)
        self._cumulative_rewards = dict.fromkeys(agents, 0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: {"place": -1, "score": 0, "units": 0} for agent in agents}
        self._skip_agent_selection = None
        self._is_owing = False
        seat = self.batch.state.turn.item()
        if seat < 0:  # over before the first decision
            self._end()
        else:
            self.agent_selection = agents[seat]
            self._current = {
                "observation": self._observe(seat),
                "action_mask": self.batch.action_mask()[0],
            }
        if self.render_mode is not None:
            self._painter.reset()
            if self.render_mode == "human":
                self.render()

    def _check_options(self, options: dict[str, Any] | None) -> dict[str, Any]:
        """The options, keys as integers.

        Raises:
            ValueError: an unknown option, some that exclude each other, or an invalid key.
        """
        if options == {"options": 1}:  # what PettingZoo's api_test passes to every environment
            options = None
        names = self.batch.game.extra_hands
        known = ["key"] if self.batch.game.set_hands is None else ["key", "hands", "leader", *names]
        chosen = dict(check_options(options, known))
        if "hands" not in chosen and len(chosen) > ("key" in chosen):
            raise ValueError(f"options: {min(set(chosen) - {'key'})!r} needs 'hands'")
        if "hands" in chosen and "key" in chosen:
            raise ValueError("options: expected 'key' or 'hands', not both")
        if "key" in chosen:
            chosen["key"] = as_key(chosen["key"])
        return chosen

    def _set_hands(self, options: dict[str, Any]) -> bool:
        """Start from the hands in the options, if there are any."""
        if "hands" not in options:
            return False
        game, num_players = self.batch.game, self.batch.num_players
        given = options["hands"]
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != num_players:
            raise TienLenError(
                f"hands={given!r}: expected {num_players} hands, one for each player: "
                "texts such as '3s 3h', or card masks"
            )
        hands = [self._cards_of("hands", hand) for hand in given]
        extra = {name: self._cards_of(name, options[name]) for name in game.extra_hands if name in options}
        leader = options.get("leader")
        self.batch.set_hands([hands], -1 if leader is None else leader, **extra)
        return True

    def _cards_of(self, name: str, hand: Any) -> int:
        """The card mask of a text or a mask."""
        if isinstance(hand, str):
            return self.batch.game.text.parse_cards(hand)
        try:
            return operator.index(hand)
        except TypeError:
            raise TienLenError(f"{name}: {hand!r} is not a text such as '3s 3h' or a card mask") from None

    def step(self, action: int | None) -> None:
        """Play for `agent_selection`; None removes a terminated agent.

        Raises:
            IllegalPlayError: the action is not legal; the game is unchanged.
        """
        agent = self.agent_selection
        if self.terminations.get(agent):
            self._was_dead_step(action)
            return
        mask = _empty(self._num_actions, _INT8)
        observation = _empty(self._observation_size, _UINT8)
        try:
            seat = self._play(mask, observation, action if type(action) is int else operator.index(action))  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            seat = REFUSED
        if seat < 0:
            raise self._refusal(action)
        if self._dtype is not _UINT8:
            observation = observation.astype(self._dtype)
        self._current = {"observation": observation, "action_mask": mask}
        if seat < PAID:
            self.agent_selection = self.possible_agents[seat]
            if self._is_owing:
                self._settle_up(agent, False)
        else:
            self._settle_up(agent, bool(seat & PAID))
            if seat & FINISHED:
                self._end()
            else:
                self.agent_selection = self.possible_agents[seat - PAID]
        if self.render_mode is not None:
            self._painter.record_play(self.possible_agents.index(agent))
            if self.render_mode == "human":
                self.render()

    def _settle_up(self, agent: str, is_paid: bool) -> None:
        """Update `rewards` and `_cumulative_rewards` after a step of `agent`."""
        total = self._cumulative_rewards
        total[agent] = 0
        self.rewards = dict.fromkeys(self.agents, 0)
        if is_paid:
            self.rewards = dict(zip(self.agents, self._gained.tolist(), strict=True))
            for other, reward in self.rewards.items():
                total[other] += reward
        self._is_owing = is_paid or any(total.values())

    def _end(self) -> None:
        state = self.batch.state
        self.terminations = dict.fromkeys(self.agents, True)
        ends = zip(state.places[0], state.scores[0], self.batch.balances[0], strict=True)
        for agent, values in zip(self.agents, ends, strict=True):
            self.infos[agent] = dict(zip(("place", "score", "units"), map(int, values), strict=True))
        self.agent_selection = self.agents[0]

    def _refusal(self, action: Any) -> IllegalPlayError:
        """The error of an illegal action: the play, the reason, the table, the hand."""
        batch, table = self.batch, self.batch.action_table
        seat = batch.state.turn.item()
        if seat < 0 or not self.agents:
            return IllegalPlayError("no game is running; call reset()")
        try:
            number = operator.index(action)
        except TypeError:
            return IllegalPlayError(f"action {action!r} is not an integer", seat=seat)
        if not 0 <= number < table.num_actions:
            outside = f"action {number} is outside 0..{table.num_actions - 1}"
            return IllegalPlayError(outside, seat=seat, action=number)
        text, row = batch.game.text, batch.kernel_arrays.rows[0].tolist()
        why = text.why_refused(table, row, number, None)
        return IllegalPlayError(
            f"{self.possible_agents[seat]} cannot play action {number} ({table.text(number)}): "
            f"{why}; {text.describe(table, row)}",
            seat=seat,
            action=number,
            clause=why.clause,
        )

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, termination, truncation and info of `agent_selection`.

        Raises:
            IllegalPlayError: before the first `reset`.
        """
        agent = self.agent_selection
        if agent not in self.terminations:
            raise IllegalPlayError("no game is running; call reset()")
        is_over = self.terminations[agent]
        observation = None
        if observe:
            observation = self.observe(agent) if is_over else self._current
        return (
            observation,
            self._cumulative_rewards[agent],
            is_over,
            self.truncations[agent],
            self.infos[agent],
        )

    def observe(self, agent: str) -> Observation:
        """The present observation of an agent, also off turn."""
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            return self._current
        return {
            "observation": self._observe(self.possible_agents.index(agent)),
            "action_mask": np.zeros(self.batch.num_actions, np.int8),
        }

    def _observe(self, seat: int) -> ByteArray:
        observation: ByteArray = self.batch.observe(seat)[0].astype(self._dtype, copy=False)
        return observation

    def action_to_text(self, action: int) -> str:
        """The name of an action id; see `Batch.action_to_text`."""
        return self.batch.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The action id of a name; see `Batch.text_to_action`."""
        return self.batch.text_to_action(text)

    def state(self) -> ByteArray:
        """`state_space`: the whole state, hidden cards included, for centralised critics."""
        everything: ByteArray = self.batch.global_observation()[0].astype(self._dtype, copy=False)
        return everything

    def render(self) -> Any:
        """The table in `render_mode`, all hands face up; see `tienlen_env.single.painter.Painter.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        return self._painter.render(self.render_mode)

    def _repr_svg_(self) -> str:
        return str(self._painter.render("svg"))

    def close(self) -> None:
        """No effect: nothing is open."""  # PettingZoo's test wants the method where there is `render`

    def _bind(self) -> None:
        """Bind the engine's loop to the game of this object; every copy does this again."""
        rows, spec, actions = self.batch.kernel_arrays
        self._play = partial(self.batch.loops.play_one, rows[0], spec, actions, self._gained)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_play"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owned(state))
        self._bind()


def make_aec(rules: str | AnyRules = "cardgames", **settings: Any) -> AECEnv:
    """A game of any rules as a PettingZoo environment, with the wrappers of PettingZoo's classic games.

    Args:
        rules: a preset's name, or the rules of any game.
        settings: see `GameEnv`.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """
    return wrap(GameEnv(rules, **settings))


def wrap(bare: GameEnv) -> AECEnv:
    """The environment behind the wrappers of PettingZoo's classic games.

    An illegal move ends the game at the expense of its player; an action outside the space or a call out of
    order is an error.
    """
    legal = wrappers.TerminateIllegalWrapper(bare, illegal_reward=illegal_reward(bare.batch))
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(legal))
