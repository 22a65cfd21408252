"""B games with one learning seat each; agents play the other seats. All one-seat adapters use this module.

`OneSeatGames` steps all games to the learner's next decision. The opponents are queried in batches: one call
of an agent for all games that wait for it. Decisions of an opponent with a single legal action are played
without a query (except the first one of a deal).

* A reward is the sum of the rewards of the learner's seat since its last decision, also from other seats'
  plays.
* With ``episode="round"`` the learner's episode ends when its place is certain; the rest of the round is not
  played. With ``"game"`` it ends with the game; each round is played to its end.
* A game that ends is dealt anew at once. A deal that ends before the learner's first decision (an opponent
  may go out before) is not an episode; the game is dealt anew again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.agent import Agent, RandomAgent, View, check_plays, history_of
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import check_buffer
from tienlen_env.engine.turn import Turn
from tienlen_env.games.common.arrays import BoolArray, ByteArray, IntArray, MaskArray, RewardArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import Episode

Opponents = str | Agent | Sequence[str | Agent]
Seat = int | Literal["random"]

LEARNER: Final = -1  # in `OneSeatGames._player`
OVER, ASKED = int(Turn.OVER), int(Turn.ASKED)  # NumPy compares with plain ints faster


class GameSettings(TypedDict, total=False):
    """Keyword arguments that every adapter passes to `Batch`; see there."""

    num_players: int | None
    episode: Episode
    reward: str
    history: int
    backend: BackendName


class OneSeatSettings(GameSettings, total=False):
    """Keyword arguments that every one-seat adapter passes to `OneSeatGames`; see there."""

    opponents: Opponents
    probabilities: npt.ArrayLike | None
    seat: Seat
    skip_forced: bool


class Finished(NamedTuple):
    """The episodes that ended in a step.

    Attributes:
        game: int64 (n,), ascending.
        observation: uint8 (n, O), the learner's last observation.
        place: int64 (n,), its place, 0 = first.
        total: float32 (n,), the sum of its rewards.
        length: int64 (n,), its decisions.
    """

    game: IntArray
    observation: ByteArray
    place: IntArray
    total: RewardArray
    length: IntArray


def check_order(rules: object, second: object, call: str) -> None:
    """Refuse the arguments in their former order.

    Raises:
        TypeError: `rules` is a number; the message has the present order.
    """
    if isinstance(rules, int) or isinstance(second, str):
        raise TypeError(f"the rules come first: {call}")


def _agents(opponents: Opponents) -> list[Agent]:
    """The agents; names are loaded.

    Raises:
        ValueError: an unknown name, or an object that is not an agent.
    """
    several = opponents if isinstance(opponents, Sequence) and not isinstance(opponents, str) else [opponents]
    agents = []
    for one in several:
        agent = _loaded(one) if isinstance(one, str) else one
        if not isinstance(agent, Agent):
            raise ValueError(f"opponents: {agent!r} is not an Agent or the name of one")
        agents.append(agent)
    return agents


def _loaded(name: str) -> Agent:
    if name == "random":
        return RandomAgent()
    from tienlen_env.engine.loading import load_agent

    try:
        return load_agent(name)
    except ValueError as error:
        raise ValueError(f"opponents={name!r}: {error}") from error


class OneSeatGames:
    """B games with one learning seat each.

    Args:
        rules: a preset's name, or the rules of any game.
        num_games: B.
        num_players: P; None keeps the number in `rules`.
        episode: ``"round"`` or ``"game"``.
        reward: one of the game's.
        history: number of past plays in the observation.
        opponents: an agent's name such as ``"random"`` or ``"heuristic"``, an agent, or a sequence of both:
            see `set_opponents`.
        probabilities: their shares; None for equal ones.
        line_up: `opponents` are the P-1 seats after the learner's, in order, instead of a pool.
        seat: the learner's seat; ``"random"`` draws it for every deal.
        skip_forced: play the learner's decisions with a single legal action automatically.
        auto_reset: deal a game anew when its episode ends; else it does not change until `reset`.
        backend: ``"numba"`` or ``"python"``.

    Attributes:
        batch: the games; every one of them waits for its learner.
        seat: int64 (B,), the learner's seats.
        rewards: float32 (B,), rewards of the last step.
        terminations: bool (B,), games whose episode ended in the last step; they have been dealt anew.
        finished: the episodes that ended in the last step.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        rules: str | AnyRules,
        num_games: int = 1,
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        reward: str = "points",
        history: int = 0,
        opponents: Opponents = "random",
        probabilities: npt.ArrayLike | None = None,
        line_up: bool = False,
        seat: Seat = "random",
        skip_forced: bool = True,
        auto_reset: bool = True,
        backend: BackendName = "numba",
    ) -> None:
        check_order(rules, num_games, "OneSeatGames(rules, num_games)")
        self.batch = batch = Batch(
            rules,
            num_games,
            num_players=num_players,
            episode=episode,
            reward=reward,
            history=history,
            backend=backend,
        )
        num_players = batch.num_players
        if seat != "random" and (isinstance(seat, str | bool) or not 0 <= seat < num_players):
            raise ValueError(f"seat={seat!r}: expected 0..{num_players - 1} or 'random'")
        self._fixed_seat = seat
        self._line_up = line_up
        self._skip_forced = skip_forced
        self._auto_reset = auto_reset
        self._until_placed = episode == "round" and not batch.game.pays_late(batch.rules, reward)
        self._rng = np.random.default_rng()
        self._games = np.arange(batch.num_games)
        self.seat = np.zeros(batch.num_games, np.int64)
        self._player = np.zeros((batch.num_games, num_players), np.int64)  # index in `_agents`, or LEARNER
        self._earned = np.zeros((batch.num_games, num_players), np.float32)  # since the last decision
        self._length = np.zeros(batch.num_games, np.int64)
        self._total = np.zeros(batch.num_games, np.float32)
        self._lengths = np.zeros(batch.num_games, np.int64)  # of the last finished episode
        self._nothing = Finished(
            np.zeros(0, np.int64),
            np.zeros((0, batch.observation_size), np.uint8),
            np.zeros(0, np.int64),
            np.zeros(0, np.float32),
            np.zeros(0, np.int64),
        )
        self.finished = self._nothing
        self._ended: list[tuple[IntArray, ByteArray, IntArray]] = []
        self._clear()
        self.set_opponents(opponents, probabilities)

    def _bind(self) -> None:
        """Bind the engine's stepper to the arrays of this object; every copy does this again."""
        self._step = self.batch._games_stepper(
            self._earned, self.seat, skip_forced=self._skip_forced, until_placed=self._until_placed
        )

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_step"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._bind()

    def _clear(self) -> None:
        self.rewards = np.zeros(self.batch.num_games, np.float32)
        self.terminations = np.zeros(self.batch.num_games, np.bool_)
        self._ended.clear()

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change the agents of the other seats, also in running games.

        Args:
            opponents: an agent, or a pool; at every deal each seat gets a random agent of the pool. Names are
                loaded by `tienlen_env.engine.loading.load_agent`.
            probabilities: float (number of opponents,), shares of the pool; None for equal ones.

        Raises:
            ValueError: no opponents, an unknown name, an object that is not an `Agent`, invalid shares, or a
                line-up whose length is not the number of the other seats.
        """
        agents = _agents(opponents)
        check_plays(agents, self.batch)
        shares = np.ones(len(agents)) if probabilities is None else np.asarray(probabilities, np.float64)
        if not agents or shares.shape != (len(agents),) or not (shares >= 0).all() or not shares.sum() > 0:
            raise ValueError(
                f"probabilities={probabilities!r}: expected a share of each of {len(agents)} agents"
            )
        num_others = self.batch.num_players - 1
        if self._line_up and len(agents) == 1:
            agents *= num_others
        if self._line_up and len(agents) != num_others:
            raise ValueError(f"opponents: expected 1 or {num_others} agents, got {len(agents)}")
        self.batch = self.batch.with_history_length(history_of(agents))
        self._bind()
        self._agents = agents
        self._cumulative = np.cumsum(shares) / shares.sum()
        self._seat_players(self._games)

    def _seat_players(self, games: IntArray) -> None:
        """Draw the agents of the seats of these games."""
        num_players, seat = self.batch.num_players, self.seat[games]
        if self._line_up:
            player = (np.arange(num_players) - seat[:, None] - 1) % num_players
        elif len(self._agents) == 1:
            player = np.zeros((len(games), num_players), np.int64)
        else:
            draws = self._rng.random((len(games), num_players))
            # The sum of the shares may be rounded to less than a draw.
            player = np.minimum(np.searchsorted(self._cumulative, draws, side="right"), len(self._agents) - 1)
        player[np.arange(len(games)), seat] = LEARNER
        self._player[games] = player

    def reset(self, seed: int | np.random.Generator | None) -> None:
        """Deal every game anew; all randomness, also of the agents, comes from the seed or generator.

        Args:
            seed: None continues the present stream.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        for agent in {id(agent): agent for agent in self._agents}.values():
            agent.reset(int(self._rng.integers(2**31)))
        self._clear()
        self._total[:] = 0
        self._play_on(self._games, self._deal(self._games))
        self.finished = self._nothing

    def step(self, actions: npt.ArrayLike) -> None:
        """Play the learners' actions, and advance every game to its learner's next decision.

        Args:
            actions: integers (B,), a legal action per game.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: another shape or type.
        """
        ids = np.asarray(actions)
        if ids.shape != self._games.shape or ids.dtype.kind not in "iu":
            raise ValueError(f"actions: expected integers of shape {self._games.shape}")
        turns = self._step(self._games, np.ascontiguousarray(ids, np.int64))
        self._length += 1
        self._clear()
        self._play_on(self._games, turns)
        going = ~self.terminations
        np.copyto(self.rewards, self._earned[self._games, self.seat], where=going)
        self._earned[going] = 0
        self._total += self.rewards
        self._finish_step()

    def observe(self, observation: ByteArray, mask: MaskArray) -> None:
        """Write the learners' observations and action masks.

        Args:
            observation: uint8 (B, O), contiguous.
            mask: int8 (B, A), contiguous.

        Raises:
            ValueError: another shape or type.
        """
        batch = self.batch
        # Both are checked before either is written.
        check_buffer(observation, "observation", (batch.num_games, batch.observation_size), np.uint8)
        check_buffer(mask, "mask", (batch.num_games, batch.num_actions), np.int8)
        batch.observe(self.seat, observation)
        batch.action_mask(mask)

    # ------------------------------------------------------------ inside a step
    # `turns` is int64 (n,): the seat to act, `Turn.ASKED` if that is the learner's, or `Turn.OVER`.

    def _deal(self, games: IntArray) -> IntArray:
        """Deal these games; the turn of each."""
        batch, n = self.batch, len(games)
        batch.deal_games(games, self._rng.integers(-(2**63), 2**63, n, np.int64))
        if self._fixed_seat == "random":
            self.seat[games] = self._rng.integers(batch.num_players, size=n)
        else:
            self.seat[games] = self._fixed_seat
        self._seat_players(games)
        self._earned[games] = 0
        self._length[games] = 0
        turns: IntArray = batch.state.turn[games]  # OVER where a game is over already
        is_asked = turns == self.seat[games]
        if self._skip_forced:
            is_asked &= np.bitwise_count(batch.state.legal[games]).sum(axis=1) > 1
        turns[is_asked] = ASKED
        return turns

    def _play_on(self, games: IntArray, turns: IntArray) -> None:
        """Let the agents play these games until each waits for its learner or is over."""
        while True:
            games, turns = self._settle(games, turns)
            if not len(games):
                return
            turns = self._step(games, self._choose(games, turns))

    def _choose(self, games: IntArray, turns: IntArray) -> IntArray:
        """int64 (n,): the actions of the seats to act, one call per agent."""
        batch = self.batch
        player = self._player[games, turns]
        if len(games) == 1 and player[0] != LEARNER:
            return self._ask(self._agents[player[0]], games)
        forced = (player == LEARNER).nonzero()[0]
        if len(self._agents) == 1 and not len(forced):
            return self._ask(self._agents[0], games)
        ids = np.empty(len(games), np.int64)
        if len(forced):  # the first decision of a deal; `step_games` plays the later ones
            ids[forced] = batch.first_legal(games[forced])
        for index, agent in enumerate(self._agents):
            chosen = (player == index).nonzero()[0]
            if len(chosen):
                ids[chosen] = self._ask(agent, games[chosen])
        return ids

    def _ask(self, agent: Agent, games: IntArray) -> IntArray:
        """int64 (n,): the actions of an agent in these games, checked.

        Raises:
            ValueError: another shape or type.
        """
        ids = np.asarray(agent.act(View(self.batch, games)))
        if ids.shape != games.shape or ids.dtype.kind not in "iu":
            raise ValueError(
                f"agent {agent.name!r}: expected integers of shape {games.shape}, "
                f"got {ids.dtype} of shape {ids.shape}"
            )
        return np.ascontiguousarray(ids, np.int64)

    def _settle(self, games: IntArray, turns: IntArray) -> tuple[IntArray, IntArray]:
        """End the episodes that are over and deal anew; returns the games that wait for an agent."""
        is_over = turns == OVER
        if is_over.any():
            over = games[is_over]
            has_decided = self._length[over] > 0
            ended = over[has_decided]
            if len(ended):
                batch, seat = self.batch, self.seat[ended]
                observation = batch.observe(seat, games=ended)
                self.terminations[ended] = True
                self.rewards[ended] = self._earned[ended, seat]
                self._ended.append((ended, observation, batch.state.places[ended, seat]))
                self._lengths[ended] = self._length[ended]
            if not self._auto_reset:
                is_over[is_over] = ~has_decided
            while is_over.any():  # a deal may be over before the first decision
                turns[is_over] = self._deal(games[is_over])
                is_over &= turns == OVER
        is_busy = turns >= 0
        return games[is_busy], turns[is_busy]

    def _finish_step(self) -> None:
        if not self._ended:
            self.finished = self._nothing
            return
        game, observation, place = (np.concatenate(parts) for parts in zip(*self._ended, strict=True))
        order = np.argsort(game)
        game = game[order]
        self.finished = Finished(
            game, observation[order], place[order], self._total[game], self._lengths[game]
        )
        self._total[game] = 0

    @property
    def dones(self) -> BoolArray:
        """The former name of `terminations`."""
        return self.terminations
