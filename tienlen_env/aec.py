"""Tiến lên (Thirteen) as a PettingZoo AEC environment.

>>> from tienlen_env import tienlen_v0
>>> env = tienlen_v0.env(rules="cardgames", num_players=4)
>>> env.reset(seed=42)
>>> for agent in env.agent_iter():
...     observation, reward, termination, truncation, info = env.last()
...     done = termination or truncation
...     env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Each of two to four players holds 13 cards and wants to be rid of them first. Whoever has gone out is
skipped; all seats terminate together at the end, each having received its reward when its place was settled.

Arguments:
---------
`env` and `raw_env` take the same.

| argument | default | meaning |
|---|---|---|
| rules | 'cardgames' | a preset (cardgames, mobile, foicica, pagat) or a `Rules` |
| num_players | 4 | 2, 3 or 4; with a `Rules`, None keeps the number in it |
| episode | 'round' | 'round': one round; 'game': rounds until one total reaches the rules' target |
| reward | 'points' | 'points', 'zero_sum', 'win' or 'cards', see Rewards |
| render_mode | None | None, 'human', 'ansi', 'rgb_array' or 'svg' |
| history | 0 | K, how many of the last plays the observation shows |

`reset(seed=...)` seeds the environment's own generator; without a seed its stream goes on. It draws a 64-bit
key, and the deal is a pure function of that. ``options={"key": k}`` deals that key. ``options={"hands": ...,
"leader": seat}`` sets a position: P texts (``"3s 3h Tc"``) or card masks; without a leader the holder of the
lowest card opens.

Observation
-----------
A dict of ``"observation"``, uint8 (O,) of 0 and 1, and ``"action_mask"``, int8 (A,), 1 = legal. Seats are
relative to the observer: 0 is the observer, 1 the next to play. The mask is all-zero off turn and at the
end. Arrays that were handed out never change. The pieces with P = 4 players and the `cardgames` rules:

| piece | slice | shape | meaning |
|---|---|---|---|
| hand | 0:52 | (52,) | own cards, by card id |
| played | 52:260 | (4, 52) | cards played this round by each seat, by card id |
| scores | 260:312 | (4, 13) | points in the game as a thermometer: bit k is 1 above k points |
| cards_left | 312:364 | (4, 13) | cards in each hand as a thermometer: bit k is 1 above k cards |
| table_top | 364:416 | (52,) | highest card of the combination on the table, by card id |
| table_width | 416:420 | (4,) | its cards of each rank: 1, 2, 3, 4 |
| table_length | 420:433 | (13,) | its consecutive ranks: 1..13 |
| table_owner | 433:437 | (4,) | who played it |
| passed | 437:441 | (4,) | who has passed in this trick |
| finished | 441:445 | (4,) | who is out of the round |
| barred | 445:449 | (4,) | who was knocked out of this trick |
| suit_lock | 449:450 | (1,) | only suited runs may follow in this trick |
| opening_duty | 450:451 | (1,) | this play must contain the opening card, the lowest card dealt |
| lead | 451:452 | (1,) | the table is empty |

`state()` is uint8 too: the observation of player_0, the turn (one-hot P) and the hands of the other seats.
In a notebook ``env.unwrapped`` shows the table.

Actions
-------
``Discrete(A)``. Action 0 is the pass; the others name a combination by its shape and its top card (and so
its ranks), weakest first within a shape. The inner cards are the lowest suits held. A card's id is rank * 4 +
suit, ranks 3 to 2, suits ♠♣♦♥. The `cardgames` rules, A = 453:

| ids | combination | cards |
|---|---|---|
| 0 | pass | 0 |
| 1..52 | single | 1 |
| 53..91 | pair | 2 |
| 92..117 | triple | 3 |
| 118..130 | quad | 4 |
| 131..350 | run | 3..12 |
| 351..452 | double sequence | 6..12 |

| rules | A | O for 2, 3, 4 players |
|---|---|---|
| cardgames | 453 | 284, 367, 452 |
| mobile | 453 | 284, 367, 452 |
| foicica | 994 | 262, 331, 400 |
| pagat | 509 | 262, 331, 400 |

Legal moves: the mask is exact, the rules (RULES.md) decide. An illegal action on `raw_env` raises
`IllegalPlayError` and leaves the game as it was; `env` ends the game as PettingZoo's classic games do
(`TerminateIllegalWrapper`): the offender gets one less than the worst possible reward, the others nothing.

Rewards
-------
| reward | given when a place is settled |
|---|---|
| points | the points of the place: 3, 2, 1, 0 for four players |
| zero_sum | the points minus their mean: 1.5, 0.5, -0.5, -1.5 |
| win | +1 for the first place, -1 for any other |
| cards | when the first goes out, each other player pays it one a card left in the hand |

`infos[agent]` is empty until the end and then holds ``"place"`` (0 = first, of the last round) and
``"score"`` (points of the whole game).

Version history
---------------
* v0: first version.
"""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from tienlen_env.core.cards import format_cards, parse_cards
from tienlen_env.core.combos import kind_name
from tienlen_env.core.observe import observation_layout, observation_size
from tienlen_env.core.rules import PRESETS, Rules, Shape, get_rules
from tienlen_env.core.spec import Episode, Reward
from tienlen_env.engine import Batch
from tienlen_env.errors import IllegalPlayError
from tienlen_env.render import RENDER_MODES, Painter, check_render_mode

Observation = dict[str, npt.NDArray[Any]]

_empty = np.empty
_INT8, _UINT8 = np.dtype(np.int8), np.dtype(np.uint8)


class raw_env(AECEnv):
    """The environment without wrappers; the module's docstring describes it.

    Dictionaries are touched only in the few steps that pay a reward or end the game, and one call into the
    backend checks, plays and writes what the next player sees.

    Args:
        rules: a preset's name or a `Rules`.
        num_players: 2..4; None keeps the number in `rules`.
        episode: ``"round"`` or ``"game"``.
        reward: ``"points"``, ``"zero_sum"``, ``"win"`` or ``"cards"``.
        render_mode: None or one of `RENDER_MODES`.
        history: how many of the last plays the observation shows.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    metadata = {  # noqa: RUF012 - PettingZoo's way
        "name": "tienlen_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        rules: str | Rules = "cardgames",
        num_players: int | None = 4,
        episode: Episode = "round",
        reward: Reward = "points",
        render_mode: str | None = None,
        history: int = 0,
    ) -> None:
        super().__init__()
        self._arguments = (rules, num_players, episode, reward, render_mode, history)
        self.render_mode = check_render_mode(render_mode)
        self._batch = batch = Batch(
            rules, num_players=num_players, episode=episode, reward=reward, history=history
        )
        self.possible_agents = [f"player_{seat}" for seat in range(batch.num_players)]
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (batch.observation_size,), np.uint8),
                    "action_mask": spaces.Box(0, 1, (batch.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(batch.num_actions) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (batch.state_size,), np.uint8)
        self._painter = Painter(batch)
        self._play_one = batch.backend.play_one
        self._row = batch.rows[0]
        self._spec, self._action_table = batch.spec, batch.actions
        self._num_actions, self._observation_size = batch.num_actions, batch.observation_size
        self._gained = np.zeros(batch.num_players, np.float32)
        self._key, self._seat, self._round = np.zeros((3, 1), np.int64)
        self._leader = np.full(1, -1)
        self._fixed = frozenset(self.__dict__) | {"_fixed"}
        # From here on what changes as the game goes, and makes up a copy of it.
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
        self._current: Observation = {}  # what `agent_selection` sees

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete[np.int64]:
        """The action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal and begin.

        Args:
            seed: of the environment's generator; None goes on with its stream.
            options: ``"key"``, or ``"hands"`` and ``"leader"``, see the module's docstring.

        Raises:
            ValueError: a key or a position that cannot be.
        """
        if seed is not None or self._rng is None:
            self._rng = np.random.default_rng(seed)
        options = options or {}
        if "hands" in options:
            hands = [parse_cards(h) if isinstance(h, str) else h for h in options["hands"]]
            leader = options.get("leader")
            self._batch.set_hands([hands], -1 if leader is None else leader)
        elif "key" in options:
            if not -(2**63) <= operator.index(options["key"]) < 2**63:
                raise ValueError(f"key={options['key']}: expected a signed 64-bit number")
            self._key[0] = options["key"]
            self._deal()
        else:
            self._key[0] = self._rng.integers(-(2**63), 2**63)
            self._deal()
        agents = self.possible_agents
        self.agents = agents[:]
        self.rewards = dict.fromkeys(agents, 0)
        self._cumulative_rewards = dict.fromkeys(agents, 0)
        self.terminations = dict.fromkeys(agents, False)
        self.truncations = dict.fromkeys(agents, False)
        self.infos = {agent: {} for agent in agents}
        self.agent_selection = agents[self._batch.state.turn.item()]
        self._skip_agent_selection = None
        self._is_owing = False
        self._current = {
            "observation": self._observe(self._batch.state.turn.item()),
            "action_mask": self._batch.legal_mask()[0],
        }
        if self.render_mode is not None:
            self._painter.forget()
            if self.render_mode == "human":
                self.render()

    def step(self, action: int | None) -> None:
        """Play for `agent_selection`; None removes an agent that has terminated.

        Raises:
            IllegalPlayError: the action is not legal; the game is as it was.
        """
        agent = self.agent_selection
        if self.terminations.get(agent):
            self._was_dead_step(action)
            return
        mask = _empty(self._num_actions, _INT8)
        observation = _empty(self._observation_size, _UINT8)
        try:
            seat = self._play_one(
                self._row,
                self._spec,
                self._action_table,
                action if type(action) is int else operator.index(action),  # type: ignore[arg-type]
                self._gained,
                mask,
                observation,
            )
        except (TypeError, OverflowError):
            seat = -1
        if seat < 0:
            raise self._refusal(action)
        self._current = {"observation": observation, "action_mask": mask}
        if seat < 4:
            self.agent_selection = self.possible_agents[seat]
            if self._is_owing:
                self._settle_up(agent, False)
        else:
            self._settle_up(agent, bool(seat & 4))
            if seat & 8:
                self._end()
            else:
                self.agent_selection = self.possible_agents[seat & 3]
        if self.render_mode is not None:
            self._painter.note(self.possible_agents.index(agent))
            if self.render_mode == "human":
                self.render()

    def _settle_up(self, agent: str, is_paid: bool) -> None:
        """Renew `rewards` and `_cumulative_rewards` after a step of `agent`."""
        total = self._cumulative_rewards
        total[agent] = 0
        self.rewards = dict.fromkeys(self.agents, 0)
        if is_paid:
            self.rewards = dict(zip(self.agents, self._gained.tolist(), strict=True))
            for other, reward in self.rewards.items():
                total[other] += reward
        self._is_owing = is_paid or any(total.values())

    def _end(self) -> None:
        state = self._batch.state
        self.terminations = dict.fromkeys(self.agents, True)
        for agent, place, score in zip(
            self.agents, state.places[0].tolist(), state.scores[0].tolist(), strict=True
        ):
            self.infos[agent] = {"place": place, "score": score}
        self.agent_selection = self.agents[0]

    def _refusal(self, action: Any) -> IllegalPlayError:
        """Why an action was refused: the play, the table, the hand."""
        state, table = self._batch.state, self._batch.table
        seat = state.turn.item()
        if seat < 0 or not self.agents:
            return IllegalPlayError("no game is running; call reset()")
        try:
            number = operator.index(action)
        except TypeError:
            return IllegalPlayError(f"action {action!r} is no integer")
        if not 0 <= number < table.num_actions:
            return IllegalPlayError(f"action {number} is outside 0..{table.num_actions - 1}")
        hand = state.hands[0].tolist()[seat]
        on_table = f"{table.text(state.table.item())}" if state.owner.item() >= 0 else "empty"
        if number == 0:
            why = "a leader may not pass (RULES.md 1.8)"
        elif not table.held(hand)[number]:
            why = "it is not in the hand"
        elif state.duty.item():
            why = f"the opening play must contain {format_cards(state.duty.item())} (RULES.md 1.3)"
        else:
            why = "it may not follow here (RULES.md 1.6, 1.7, 1.9)"
        return IllegalPlayError(
            f"{self.possible_agents[seat]} cannot play action {number} ({table.text(number)}): {why}; "
            f"table: {on_table}; hand: {format_cards(hand)}"
        )

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, termination, truncation and info of `agent_selection`."""
        agent = self.agent_selection
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
        """What an agent sees now, whoever is to move."""
        if agent == self.agent_selection and not self.terminations.get(agent, True):
            return self._current
        return {
            "observation": self._observe(self.possible_agents.index(agent)),
            "action_mask": np.zeros(self._num_actions, np.int8),
        }

    def _deal(self) -> None:
        batch = self._batch
        batch.backend.begin(batch.rows, batch.spec, batch.actions, self._key, self._round, self._leader)

    def _observe(self, seat: int) -> npt.NDArray[np.uint8]:
        batch, out = self._batch, _empty((1, self._observation_size), _UINT8)
        self._seat[0] = seat
        batch.backend.observe_seats(batch.rows, batch.spec, batch.actions, self._seat, out)
        first: npt.NDArray[np.uint8] = out[0]
        return first

    def state(self) -> npt.NDArray[np.uint8]:
        """uint8 (`state_space.shape`): everything, for centralised critics."""
        everything: npt.NDArray[np.uint8] = self._batch.observe_all()[0]
        return everything

    def render(self) -> Any:
        """The table in `render_mode`, all hands face up; see `tienlen_env.render.Painter.render`."""
        if self.render_mode is None:
            gymnasium.logger.warn("You are calling render method without specifying any render mode.")
            return None
        return self._painter.render(self.render_mode)

    def _repr_svg_(self) -> str:
        return str(self._painter.render("svg"))

    def close(self) -> None:
        """Nothing is open."""

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles carry the game; compiled functions, tables and spaces are made anew.
        changing = {name: value for name, value in self.__dict__.items() if name not in self._fixed}
        return {"arguments": self._arguments, "row": self._row, "changing": changing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["arguments"])  # type: ignore[misc]
        self._row[:] = state["row"]
        self.__dict__.update(state["changing"])
        self._painter.forget()


def env(
    rules: str | Rules = "cardgames",
    num_players: int | None = 4,
    episode: Episode = "round",
    reward: Reward = "points",
    render_mode: str | None = None,
    history: int = 0,
) -> AECEnv:
    """The environment behind the wrappers of PettingZoo's classic games; arguments as of `raw_env`.

    An illegal move ends the game at the mover's cost, an action outside the space or a call out of order is
    an error.
    """
    bare = raw_env(rules, num_players, episode, reward, render_mode, history)
    legal = wrappers.TerminateIllegalWrapper(bare, illegal_reward=illegal_reward(bare._batch.rules, reward))
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(legal))


def illegal_reward(rules: Rules, reward: Reward) -> float:
    """What an illegal move costs: one less than the worst reward of honest play."""
    points = rules.place_points
    worst = {
        "points": min(points),
        "zero_sum": min(points) - sum(points) / len(points),
        "win": -1.0,
        "cards": -13.0,
    }
    return float(worst[reward] - 1)


def page_tables(rules: str | Rules = "cardgames") -> dict[str, str]:
    """The tables of this module's docstring that follow from the code, for other rules too.

    Args:
        rules: the variant of the tables ``"observation"`` and ``"actions"``; ``"sizes"`` has all presets.
    """
    rules = get_rules(rules)
    pieces = [
        f"| {p.name} | {p.slice.start}:{p.slice.stop} | {p.shape} | {p.meaning} |"
        for p in observation_layout(rules).values()
    ]
    table = Batch(rules, backend="python").table
    kinds: dict[str, tuple[list[int], list[int]]] = {}
    for (shape, _), ids in table.group.items():
        found_ids, cards = kinds.setdefault(kind_name(Shape(*shape)), ([], []))
        found_ids += ids
        cards.append(shape.num_cards)
    actions = ["| 0 | pass | 0 |"]
    for kind, (found_ids, cards) in kinds.items():
        size = f"{cards[0]}..{cards[-1]}" if len(cards) > 1 else f"{cards[0]}"
        actions.append(f"| {found_ids[0]}..{found_ids[-1]} | {kind} | {size} |")
    sizes = []
    for name in PRESETS:
        lengths = ", ".join(str(observation_size(get_rules(name, p))) for p in (2, 3, 4))
        sizes.append(f"| {name} | {Batch(name, backend='python').num_actions} | {lengths} |")
    return {"observation": "\n".join(pieces), "actions": "\n".join(actions), "sizes": "\n".join(sizes)}
