"""One learning seat in each of B games, the other seats played by agents: the core of the one-seat adapters.

The learner is asked in all games at once. Between two of its decisions the agents play on, all games that
wait for the same agent in one call, until every game waits for its learner again. An agent is not asked
where only one action is legal.

* A reward is everything that the learner's seat earned since its last decision, also while others moved.
* With ``episode="round"`` the learner's episode ends when its place is settled; the rest of the round is cut.
  With ``"game"`` it ends with the game, and rounds are played out without a learner who has gone out.
* A game that ends is dealt anew at once. A deal that ends before the learner had a decision (a rival may
  go out before its turn) is no episode: it is dealt anew, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.agent import Agent, RandomAgent, View, check_plays, history_of
from tienlen_env.engine.batch import BackendName, Batch
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.game import AnyRules, Episode
from tienlen_env.games.tienlen.spec import Reward

IntArray = npt.NDArray[np.int64]
Opponents = Agent | Sequence[Agent] | Literal["random"]
Seat = int | Literal["random"]

LEARNER = -1  # in the table of who plays which seat
ASKED, OVER = -1, -2  # instead of a seat to move


class GameSettings(TypedDict, total=False):
    """Keyword arguments that every adapter hands on to `Batch`; see there."""

    num_players: int | None
    episode: Episode
    reward: Reward
    history: int
    backend: BackendName


class OneSeatSettings(GameSettings, total=False):
    """Keyword arguments that every adapter of one seat hands on to `OneSeatGames`; see there."""

    opponents: Opponents
    probabilities: npt.ArrayLike | None
    seat: Seat
    skip_forced: bool


class Finished(NamedTuple):
    """The episodes that ended in a step.

    Attributes:
        game: int64 (n,), ascending.
        observation: uint8 (n, O), what the learner saw at the end.
        place: int64 (n,), its place, 0 = first.
        total: float32 (n,), the sum of its rewards.
        length: int64 (n,), its decisions.
    """

    game: IntArray
    observation: npt.NDArray[np.uint8]
    place: IntArray
    total: npt.NDArray[np.float32]
    length: IntArray


class OneSeatGames:
    """B games with one learning seat each.

    Args:
        num_games: B.
        rules: a preset's name, or the rules of any game.
        num_players: P; None keeps the number in `rules`.
        episode: ``"round"`` or ``"game"``.
        reward: ``"points"``, ``"zero_sum"``, ``"win"`` or, in Tiến lên, ``"cards"``.
        history: how many of the last plays the observation shows.
        opponents: ``"random"``, an agent, or several: see `set_opponents`.
        probabilities: their shares; None for equal ones.
        line_up: `opponents` are the P-1 seats after the learner's, in order, instead of a pool.
        seat: the learner's seat; ``"random"`` draws it for every deal.
        skip_forced: decisions with a single legal action are played without asking the learner.
        auto_reset: deal a game anew when its episode ends; else it stays as it is until `reset`.
        backend: ``"numba"`` or ``"python"``.

    Attributes:
        batch: the games; every one of them waits for its learner.
        seat: int64 (B,), the learner's seats.
        rewards: float32 (B,), of the last step.
        dones: bool (B,), games whose episode ended in the last step; they are dealt anew already.
        finished: those episodes.

    Raises:
        ValueError: a setting that is unknown or out of range (`RulesError` for the rules).
    """

    def __init__(
        self,
        num_games: int,
        rules: str | AnyRules = "cardgames",
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        reward: Reward = "points",
        history: int = 0,
        opponents: Opponents = "random",
        probabilities: npt.ArrayLike | None = None,
        line_up: bool = False,
        seat: Seat = "random",
        skip_forced: bool = True,
        auto_reset: bool = True,
        backend: BackendName = "numba",
    ) -> None:
        self._make_batch = partial(
            Batch,
            rules,
            num_games,
            num_players=num_players,
            episode=episode,
            reward=reward,
            history=history,
            backend=backend,
        )
        self.batch = batch = self._make_batch()
        num_players = batch.num_players
        if seat != "random" and (isinstance(seat, str | bool) or not 0 <= seat < num_players):
            raise ValueError(f"seat={seat!r}: expected 0..{num_players - 1} or 'random'")
        self._fixed_seat = seat
        self._line_up = line_up
        self._skip_forced = skip_forced
        self._auto_reset = auto_reset
        # With reward "cards" a player knocked out of the round still pays when the first goes out.
        late_reward = reward == "cards" and getattr(batch.rules, "knockout", "none") == "round"
        self._cut = episode == "round" and not late_reward
        self._rng = np.random.default_rng()
        self._games = np.arange(batch.num_games)
        self.seat = np.zeros(batch.num_games, np.int64)
        self._player = np.zeros((batch.num_games, num_players), np.int64)  # index in `_agents`, or LEARNER
        self._earned = np.zeros((batch.num_games, num_players), np.float32)  # by each seat, not yet paid out
        self._length = np.zeros(batch.num_games, np.int64)
        self._total = np.zeros(batch.num_games, np.float32)
        self._lengths = np.zeros(batch.num_games, np.int64)  # of the last episode that ended
        self._nothing = Finished(
            np.zeros(0, np.int64),
            np.zeros((0, batch.observation_size), np.uint8),
            np.zeros(0, np.int64),
            np.zeros(0, np.float32),
            np.zeros(0, np.int64),
        )
        self.finished = self._nothing
        self._ended: list[tuple[IntArray, npt.NDArray[np.uint8], IntArray]] = []
        self._clear()
        self.set_opponents(opponents, probabilities)

    def _clear(self) -> None:
        self.rewards = np.zeros(self.batch.num_games, np.float32)
        self.dones = np.zeros(self.batch.num_games, np.bool_)
        self._ended.clear()

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change who plays the other seats; also in games that are under way.

        Args:
            opponents: ``"random"``, an agent, or a pool from which every seat is drawn at every deal.
            probabilities: float (number of opponents,), shares of the pool; None for equal ones.

        Raises:
            ValueError: no opponents, something that is no agent, shares that are none, or a line-up that has
                another number of agents than there are seats.
        """
        agents: list[Agent]
        if isinstance(opponents, str):
            if str(opponents) != "random":
                raise ValueError(f"opponents={opponents!r}: expected 'random', an Agent or several")
            agents = [RandomAgent()]
        else:
            agents = [*opponents] if isinstance(opponents, Sequence) else [opponents]
        for agent in agents:
            if not isinstance(agent, Agent):
                raise ValueError(f"opponents: {agent!r} is no Agent")
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
        self._keep(history_of(agents))
        self._agents = agents
        self._cumulative = np.cumsum(shares) / shares.sum()
        self._seat_players(self._games)

    def _keep(self, num_plays: int) -> None:
        """Keep so many plays from now on, for agents that look back."""
        before = self.batch.rows
        batch = self._make_batch(kept=num_plays)
        if batch.rows.shape[1] > before.shape[1]:
            batch.rows[:, : before.shape[1]] = before  # the history ends the row, the newest first
            self.batch = batch

    def _seat_players(self, games: IntArray) -> None:
        """Draw who plays the seats of these games."""
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
        """Deal every game anew; all randomness, the agents' too, comes from the seed or generator.

        Args:
            seed: None goes on with the present stream.
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
        """Play the learners' actions and go on until every game waits for its learner again.

        Args:
            actions: integers (B,), a legal action a game.

        Raises:
            IllegalPlayError: an action that is not legal; no game has moved.
            ValueError: another shape or type.
        """
        ids = np.asarray(actions)
        if ids.shape != self._games.shape or ids.dtype.kind not in "iu":
            raise ValueError(f"actions: expected integers of shape {self._games.shape}")
        turns = self._play(self._games, np.ascontiguousarray(ids, np.int64), "the learner")
        self._length += 1
        self._clear()
        self._play_on(self._games, turns)
        going = ~self.dones
        np.copyto(self.rewards, self._earned[self._games, self.seat], where=going)
        self._earned[going] = 0
        self._total += self.rewards
        self._finish_step()

    def observe(self, observation: npt.NDArray[np.uint8], mask: npt.NDArray[np.int8]) -> None:
        """Write what the learners see.

        Args:
            observation: uint8 (B, O), contiguous.
            mask: int8 (B, A), contiguous.

        Raises:
            ValueError: another shape or type.
        """
        batch = self.batch
        batch._check_out(observation, "observation", batch.observation_size, np.uint8)
        batch._check_out(mask, "mask", batch.num_actions, np.int8)
        batch.backend.observe_seats(batch.rows, batch.spec, batch.actions, self.seat, observation)
        batch.backend.write_masks(batch.rows, batch.spec, mask)

    # ------------------------------------------------------------ inside a step
    # `turns` says who is to move, as `step_games` does: a seat, ASKED for the learner, OVER for nobody.

    def _deal(self, games: IntArray) -> IntArray:
        """Deal these games; who is to move in each."""
        batch, n = self.batch, len(games)
        rows = np.empty((n, batch.rows.shape[1]), np.int64)
        keys = self._rng.integers(-(2**63), 2**63, n, np.int64)
        batch.backend.begin(
            rows, batch.spec, batch.actions, keys, np.zeros(n, np.int64), np.full(n, -1, np.int64)
        )
        batch.rows[games] = rows
        if self._fixed_seat == "random":
            self.seat[games] = self._rng.integers(batch.num_players, size=n)
        else:
            self.seat[games] = self._fixed_seat
        self._seat_players(games)
        self._earned[games] = 0
        self._length[games] = 0
        turns: IntArray = rows[:, batch.definition.state.TURN]
        is_asked = turns == self.seat[games]
        if self._skip_forced:
            is_asked &= np.bitwise_count(batch.state.legal[games]).sum(axis=1) > 1
        turns[is_asked] = ASKED
        return turns

    def _play_on(self, games: IntArray, turns: IntArray) -> None:
        """Let the agents play in these games until all wait for their learners or are over."""
        while True:
            games, turns = self._settle(games, turns)
            if not len(games):
                return
            turns = self._play(games, self._choose(games, turns), "an opponent")

    def _choose(self, games: IntArray, turns: IntArray) -> IntArray:
        """The actions of whoever is to move, one call for each agent."""
        batch = self.batch
        player = self._player[games, turns]
        forced = (player == LEARNER).nonzero()[0]
        if len(self._agents) == 1 and not len(forced):
            return self._ask(self._agents[0], games)
        ids = np.empty(len(games), np.int64)
        if len(forced):  # the first decision of a deal; later ones are played by `step_games`
            only = np.empty(len(forced), np.int64)
            batch.backend.sample(batch.rows[games[forced]], batch.spec, np.zeros(len(forced)), only)
            ids[forced] = only
        for index, agent in enumerate(self._agents):
            chosen = (player == index).nonzero()[0]
            if len(chosen):
                ids[chosen] = self._ask(agent, games[chosen])
        return ids

    def _ask(self, agent: Agent, games: IntArray) -> IntArray:
        """What an agent plays in these games; an agent is anybody's code, and may answer anything."""
        ids = np.asarray(agent.act(View(self.batch, games)))
        if ids.shape != games.shape or ids.dtype.kind not in "iu":
            raise ValueError(
                f"agent {agent.name!r}: expected integers of shape {games.shape}, "
                f"got {ids.dtype} of shape {ids.shape}"
            )
        return np.ascontiguousarray(ids, np.int64)

    def _play(self, games: IntArray, ids: IntArray, who: str) -> IntArray:
        """Play in these games; who is to move next in each."""
        batch = self.batch
        turns = np.empty(len(games), np.int64)
        refused = batch.backend.step_games(
            batch.rows,
            batch.spec,
            batch.actions,
            games,
            ids,
            self.seat,
            self._skip_forced,
            self._cut,
            self._earned,
            turns,
        )
        if refused >= 0:
            action, game = int(ids[refused]), int(games[refused])
            name = batch.table.text(action) if 0 <= action < batch.num_actions else "no action"
            raise IllegalPlayError(f"game {game}: action {action} ({name}) of {who} is not legal")
        return turns

    def _settle(self, games: IntArray, turns: IntArray) -> tuple[IntArray, IntArray]:
        """End the episodes that are over and deal anew; the games in which an agent is to move."""
        is_over = turns == OVER
        if is_over.any():
            over = games[is_over]
            has_decided = self._length[over] > 0
            ended = over[has_decided]
            if len(ended):
                batch, seat = self.batch, self.seat[ended]
                observation = np.empty((len(ended), batch.observation_size), np.uint8)
                batch.backend.observe_seats(batch.rows[ended], batch.spec, batch.actions, seat, observation)
                self.dones[ended] = True
                self.rewards[ended] = self._earned[ended, seat]
                self._ended.append((ended, observation, batch.state.places[ended, seat]))
                self._lengths[ended] = self._length[ended]
            if not self._auto_reset:
                is_over[is_over] = ~has_decided
            turns[is_over] = self._deal(games[is_over])
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
