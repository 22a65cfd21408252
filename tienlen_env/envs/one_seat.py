"""B games with one learning seat each; agents play the other seats. All one-seat adapters use this module.

`OneSeatGames` steps all games to the learner's next decision. The opponents are queried in batches: one call
of an agent for all games that wait for it. Decisions of an opponent with a single legal action are played
without a query (except the first one of a deal).

* A reward is the sum of the rewards of the learner's seat since its last decision, also from other seats'
  plays.
* With ``episode="round"`` the learner's episode ends when its place is certain; the rest of the round is not
  played. With ``"game"`` it ends with the game; each round is played to its end.
* A game that ends is dealt anew at once, or, with ``auto_reset=False``, waits for `OneSeatGames.deal`. A deal
  that ends before the learner's first decision (an opponent may go out before) is not an episode; the game is
  dealt anew again.
* A game whose episode has ended and that waits for a deal has one legal action in its mask, 0, and any action
  is ignored: a policy with a softmax over the mask chooses it with probability 1, and learns nothing from it.
* With a time limit (`max_episode_steps`, as of `gymnasium.make`) so many decisions are an episode, at most.
* An illegal action of the learner is an error (``illegal="raise"``), or a random legal action is played
  instead (``"random"``), or the learner forfeits (``"terminate"``): the episode ends at once, the learner is
  last, and its reward is one less than the worst reward of legal play.

`OneSeatGames` is for programs that train: they choose by the mask, so an illegal action is a fault of theirs
and raises, and several opponents are a pool. The environments of `gymnasium.make` default to ``"terminate"``,
since not every learner of Gymnasium reads masks, and to ``line_up=True``, a table of named players.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.agent import Agent, RandomAgent, check_plays, history_of, load_agent
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.backends.per_game import Turn
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_distinct_indices, as_integer, as_integers, check_buffer, owned
from tienlen_env.engine.round_loop import RoundLoop, Waiting
from tienlen_env.errors import IllegalPlayError, check_word
from tienlen_env.games.common.arrays import AnyArray, BoolArray, ByteArray, IntArray, MaskArray, RewardArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import get_rules
from tienlen_env.single.painter import Painter

Opponents = str | Agent | Sequence[str | Agent]
Seat = int | Literal["random"]
Illegal = Literal["terminate", "raise", "random"]

OVER, ASKED = int(Turn.OVER), int(Turn.ASKED)  # NumPy compares with plain ints faster


DTypeName = Literal["uint8", "float32"]


def as_dtype(dtype: DTypeName) -> np.dtype[Any]:
    """The type of an environment's observations, which are 0 and 1.

    Raises:
        ValueError: not one of the two.
    """
    check_word("dtype", dtype, get_args(DTypeName))
    return np.dtype(dtype)


class Finished(NamedTuple):
    """The episodes that ended in a step.

    Attributes:
        game: int64 (n,), ascending.
        observation: uint8 (n, O), the learner's last observation.
        mask: int8 (n, A), its last action mask: only the action 0, unless the episode was truncated.
        place: int64 (n,), its place, 0 = first; -1 if the episode was truncated.
        seat: int64 (n,), its seat.
        units: int64 (n,), what its seat got in payments in this game, less what it paid; 0 if truncated.
        total: float32 (n,), the sum of its rewards.
        length: int64 (n,), its decisions.
    """

    game: IntArray
    observation: ByteArray
    mask: MaskArray
    place: IntArray
    seat: IntArray
    units: IntArray
    total: RewardArray
    length: IntArray


def illegal_reward(batch: Batch) -> float:
    """The reward of an illegal action that ends an episode: one less than the worst reward of legal play."""
    return batch.game.text.worst_reward(batch.rules, batch.reward) - 1


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
        num_rounds: rounds of a game; 0: without an end; None: as the rules say.
        reward: one of the game's.
        history: number of past plays in the observation.
        opponents: an agent's name such as ``"random"`` or ``"heuristic"``, an agent, or a sequence of both:
            see `set_opponents`.
        probabilities: their shares; None for equal ones.
        line_up: `opponents` are the P-1 seats after the learner's, in order, instead of a pool.
        seat: the learner's seat; ``"random"`` draws it for every deal.
        illegal: effect of a learner's illegal action: ``"raise"``, ``"terminate"`` or ``"random"``, above.
        skip_forced: play the learner's decisions with a single legal action automatically.
        auto_reset: deal a game anew when its episode ends; else it does not change until `deal` or `reset`.
        max_episode_steps: decisions after which an episode is truncated; None or -1 for no limit.
        backend: ``"native"``, ``"numba"`` or ``"python"``.
        fields: fields of the rules that replace those in `rules`, for example ``target=0``; None keeps a
            field.

    Attributes:
        batch: the games; every one of them waits for its learner.
        seat: int64 (B,), the learner's seats.
        rewards: float32 (B,), rewards of the last step.
        terminations: bool (B,), games whose episode ended in the last step; with `auto_reset` they have been
            dealt anew.
        truncations: bool (B,), games whose episode reached the time limit in the last step.
        illegal: bool (B,), games where the action of the last step was not legal.
        is_over: bool (B,), games that wait for `deal`; all False with `auto_reset`.
        is_dealt: whether there has been a `reset` or a `deal` of all games.
        finished: the episodes that ended in the last step.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: an unknown setting.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        num_games: int = 1,
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        num_rounds: int | None = None,
        reward: str = "points",
        history: int = 0,
        opponents: Opponents = "random",
        probabilities: npt.ArrayLike | None = None,
        line_up: bool = False,
        seat: Seat = "random",
        illegal: Illegal = "raise",
        skip_forced: bool = True,
        auto_reset: bool = True,
        max_episode_steps: int | None = None,
        backend: BackendName = "native",
        **fields: object,
    ) -> None:
        self.batch = batch = Batch(
            get_rules(rules, num_players, **fields),
            num_games,
            episode=episode,
            num_rounds=num_rounds,
            reward=reward,
            history=history,
            backend=backend,
        )
        num_players = batch.num_players
        if seat != "random" and (isinstance(seat, str | bool) or not 0 <= seat < num_players):
            raise ValueError(f"seat={seat!r}: expected 0..{num_players - 1} or 'random'")
        check_word("illegal", illegal, get_args(Illegal))
        limit = -1 if max_episode_steps is None else as_integer(max_episode_steps, "max_episode_steps")
        if limit < 1 and limit != -1:
            raise ValueError(f"max_episode_steps={limit}: expected 1 or more, -1 or None")
        self._limit = limit
        self._fixed_seat = seat
        self._illegal = illegal
        self._illegal_reward = illegal_reward(batch)
        self._line_up = line_up
        self._skip_forced = skip_forced
        self._auto_reset = auto_reset
        self._until_placed = episode == "round" and not batch.game.pays_late(batch.rules, reward)
        self._rng = np.random.default_rng()
        self._own: list[np.random.Generator] = []  # a stream for each game, in place of `_rng`
        self._games = np.arange(batch.num_games)
        self.seat = np.zeros(batch.num_games, np.int64)
        self._player = np.zeros((batch.num_games, num_players), np.int64)  # of `_agents`, then the learner
        self._earned = np.zeros((batch.num_games, num_players), np.float32)  # since the last decision
        self._length = np.zeros(batch.num_games, np.int64)
        self._total = np.zeros(batch.num_games, np.float32)
        self._lengths = np.zeros(batch.num_games, np.int64)  # of the last finished episode
        none = np.zeros(0, np.int64)
        self._nothing = Finished(
            none,
            np.zeros((0, batch.observation_size), np.uint8),
            np.zeros((0, batch.num_actions), np.int8),
            *(none, none, none),
            np.zeros(0, np.float32),
            none,
        )
        self.finished = self._nothing
        self.is_dealt = False
        self.is_over = np.zeros(batch.num_games, np.bool_)
        self._is_cut = np.zeros(batch.num_games, np.bool_)  # it is over because of the time limit
        self._next_keys = False  # a deal that ends before the learner's decision is followed by the next key
        self._ended: list[tuple[AnyArray, ...]] = []  # the first fields of `Finished`
        self._clear()
        self.set_opponents(opponents, probabilities)

    @property
    def _only_action_0(self) -> MaskArray:
        mask = np.zeros(self.batch.num_actions, np.int8)
        mask[0] = 1
        return mask

    def _bind(self) -> None:
        """Bind the loops to the games of this object; every copy does this again."""
        self._step_games = partial(self.batch.loops.step_games, *self.batch.kernel_arrays)
        self._loop = _OpponentsLoop(self)

    def _step(self, games: IntArray, actions: IntArray) -> IntArray:
        """`Batch.step_games` for the learners' seats; only the actions are checked."""
        turns = np.empty(len(games), np.int64)
        settings = self.seat, self._skip_forced, self._until_placed
        if self._step_games(games, actions, *settings, self._earned, turns) >= 0:
            self.batch.step_games(games, actions, self._earned)  # says which action is not legal
        return turns

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_step_games", "_loop")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(owned(state))
        self._bind()

    def _clear(self) -> None:
        self.rewards = np.zeros(self.batch.num_games, np.float32)
        self.terminations = np.zeros(self.batch.num_games, np.bool_)
        self.truncations = np.zeros(self.batch.num_games, np.bool_)
        self.illegal = np.zeros(self.batch.num_games, np.bool_)
        self._ended.clear()

    def set_opponents(self, opponents: Opponents, probabilities: npt.ArrayLike | None = None) -> None:
        """Change the agents of the other seats, also in running games.

        Args:
            opponents: an agent, or a pool; at every deal each seat gets a random agent of the pool. With
                ``line_up=True``, an agent, or those of the seats after the learner's. Names are loaded by
                `tienlen_env.engine.agent.load_agent`.
            probabilities: float (number of opponents,), shares of the pool; None for equal ones.

        Raises:
            ValueError: no opponents, an unknown name, an object that is not an `Agent`, invalid shares, or a
                line-up whose length is not the number of the other seats.
        """
        agents = _agents(opponents)
        check_plays(agents, self.batch)
        if self._line_up and probabilities is not None:
            raise ValueError("probabilities: only a pool has them; set line_up=False")
        shares = np.ones(len(agents)) if probabilities is None else np.asarray(probabilities, np.float64)
        if not agents or shares.shape != (len(agents),) or not (shares >= 0).all() or not shares.sum() > 0:
            raise ValueError(
                f"probabilities={probabilities!r}: expected a share of each of {len(agents)} agents"
            )
        num_others = self.batch.num_players - 1
        if self._line_up and len(agents) == 1:
            agents *= num_others
        if self._line_up and len(agents) != num_others:
            raise ValueError(
                f"opponents: expected 1 or {num_others} agents, got {len(agents)}; a pool needs line_up=False"
            )
        self.batch = self.batch.with_history_length(history_of(agents))
        self._agents = agents
        self._cumulative = np.cumsum(shares) / shares.sum()
        self._seat_players(self._games, self._rng)
        self._bind()

    def _seat_players(self, games: IntArray, rng: np.random.Generator) -> None:
        """Draw the agents of the seats of some games."""
        num_players, seat = self.batch.num_players, self.seat[games]
        if self._line_up:
            player = (np.arange(num_players) - seat[:, None] - 1) % num_players
        elif len(self._agents) == 1:
            player = np.zeros((len(games), num_players), np.int64)
        else:
            draws = rng.random((len(games), num_players))
            # The sum of the shares may be rounded to less than a draw.
            player = np.minimum(np.searchsorted(self._cumulative, draws, side="right"), len(self._agents) - 1)
        player[np.arange(len(games)), seat] = len(self._agents)
        self._player[games] = player

    def reset(self, seed: int | np.random.Generator | None, keys: npt.ArrayLike | None = None) -> None:
        """Deal every game anew; all randomness, also of the agents, comes from the seed or generator.

        Args:
            seed: None continues the present stream.
            keys: of the deals, see `deal`.

        Raises:
            ValueError: keys of another shape or type.
        """
        checked = self._checked_keys(keys, self._games)
        self.reseed(seed)
        self.deal(keys=checked)

    def reseed(self, seed: int | Sequence[int] | np.random.Generator | None) -> None:
        """Draw deals, seats, opponents and their play from this seed or generator from now on.

        An agent in another process gets a hash of its seed, with a key of its own (its attribute `seed_key`).

        Args:
            seed: None continues the present stream, and the agents get new seeds from it. Of B seeds each
                game draws its deals, its seats and its opponents from its own, as if it were alone; the
                agents, which play all games, get new seeds from the first.
        """
        if isinstance(seed, Sequence):
            self._own = [np.random.default_rng(one) for one in seed]
        elif seed is not None:
            self._rng, self._own = np.random.default_rng(seed), []
        for agent in {id(agent): agent for agent in self._agents}.values():
            drawn = [int(rng.integers(2**31)) for rng in self._own or [self._rng]]
            agent.reset(drawn[0])

    def deal(self, games: npt.ArrayLike | None = None, keys: npt.ArrayLike | None = None) -> None:
        """Begin a new episode in some games; the others, and `finished`, do not change.

        Args:
            games: integers (n,), each in 0..B-1, none twice; None for all.
            keys: integers (n,) or one number: the keys of the deals, see `Batch.deal`; None draws them. If a
                deal is over before the learner's first decision, the key that is one higher is dealt.

        Raises:
            ValueError: arguments of another shape or type, or games out of range or twice.
        """
        which = self._games if games is None else as_distinct_indices(games, self.batch.num_games)
        checked = self._checked_keys(keys, which)
        if games is not None and not self.is_dealt:
            raise ValueError("games: expected None, for all games, in the first deal")
        if games is None:
            self._clear()
            self.finished = self._nothing
        else:  # new arrays: callers have the old ones
            stays = np.ones(self.batch.num_games, np.bool_)
            stays[which] = False
            self.rewards = np.where(stays, self.rewards, np.float32(0))
            self.terminations, self.illegal = self.terminations & stays, self.illegal & stays
            self.truncations = self.truncations & stays
        self._total[which] = 0
        self.is_over[which] = self._is_cut[which] = False
        self._next_keys = checked is not None
        self._play_on(which, self._deal(which, checked))
        self._next_keys = False
        self.is_dealt = True

    def _checked_keys(self, keys: npt.ArrayLike | None, games: IntArray) -> IntArray | None:
        if keys is None:
            return None
        checked = as_integers(keys, "keys")
        if checked.shape not in ((), games.shape):
            raise ValueError(f"keys: expected one number or shape {games.shape}, got {checked.shape}")
        return np.broadcast_to(checked, games.shape)

    def step(self, actions: npt.ArrayLike) -> None:
        """Play the learners' actions, and advance every game to its learner's next decision.

        Games that are over do not change; their actions are ignored.

        Args:
            actions: integers (B,), an action for each game.

        Raises:
            IllegalPlayError: an action that is not legal, with ``illegal="raise"``: no game has moved; or
                nothing is dealt.
            ValueError: another shape or type.
        """
        games, ids = self._games, as_integers(actions, "actions", len(self._games))
        if not self.is_dealt:
            raise IllegalPlayError("no game has been dealt; call reset()")
        if not self._auto_reset and self.is_over.any():
            games = (~self.is_over).nonzero()[0]
            ids = ids[games]
        try:
            turns, is_illegal = self._step(games, ids), None
        except IllegalPlayError as error:
            if self._illegal == "raise":
                hint = "Choose actions by the action mask, or set illegal='terminate' or 'random'"
                raise error.worded(f"{error}. {hint}") from None
            turns, is_illegal = self._step_by_force(games, ids)
        self._length += ~self.is_over
        self._clear()
        if is_illegal is not None:
            self.illegal[games] = is_illegal
        self._play_on(games, turns)
        going = ~(self.terminations | self.is_over)
        np.copyto(self.rewards, self._earned[self._games, self.seat], where=going)
        self._earned[going] = 0
        self._total += self.rewards
        self._truncate(games)
        self._finish_step()

    def _step_by_force(self, games: IntArray, ids: IntArray) -> tuple[IntArray, BoolArray]:
        """Play actions; some may be illegal.

        Returns:
            The turns, int64 (n,), and bool (n,), which actions were illegal.
        """
        batch = self.batch
        inside = (ids >= 0) & (ids < batch.num_actions)
        is_illegal: BoolArray = ~inside
        is_illegal[inside] = batch.action_mask()[games[inside], ids[inside]] == 0
        offenders = games[is_illegal]
        if self._illegal == "random":
            ids = ids.copy()
            parts = offenders[:, None] if self._own else [offenders]
            draws = [batch.select(part).sample(self._stream(part)) for part in parts]
            ids[is_illegal] = np.concatenate(draws)
            return self._step(games, ids), is_illegal
        turns = np.full(len(games), OVER, np.int64)
        turns[~is_illegal] = self._step(games[~is_illegal], ids[~is_illegal])
        self._earned[offenders, self.seat[offenders]] = self._illegal_reward
        return turns, is_illegal

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
        if not self._auto_reset:
            mask[self.is_over & ~self._is_cut] = self._only_action_0

    # ------------------------------------------------------------ inside a step
    # `turns` is int64 (n,): the seat to act, `Turn.ASKED` if that is the learner's, or `Turn.OVER`.

    def _stream(self, games: IntArray) -> np.random.Generator:
        """What these games draw from; only one game if each has its own."""
        return self._own[games[0]] if self._own and len(games) else self._rng

    def _deal(self, games: IntArray, keys: IntArray | None = None) -> IntArray:
        """Deal these games; the turn of each."""
        batch, n = self.batch, len(games)
        if self._own and n > 1:
            parts = [None] * n if keys is None else keys[:, None]
            return np.concatenate([self._deal(games[i : i + 1], part) for i, part in enumerate(parts)])
        rng = self._stream(games)
        if keys is None:
            keys = rng.integers(-(2**63), 2**63, n, np.int64)
        batch.deal_games(games, keys)
        if self._fixed_seat == "random":
            self.seat[games] = rng.integers(batch.num_players, size=n)
        else:
            self.seat[games] = self._fixed_seat
        self._seat_players(games, rng)
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
        self._loop.now = games, turns
        self._loop.run()

    def _settle(self, games: IntArray, turns: IntArray) -> tuple[IntArray, IntArray]:
        """End the episodes that are over and deal anew; returns the games that wait for an agent."""
        if len(turns) == 1 and turns[0] >= 0:  # in less time
            return games, turns
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
                place = batch.state.places[ended, seat]
                if self._illegal == "terminate":
                    place[self.illegal[ended]] = batch.num_players - 1
                mask = np.tile(self._only_action_0, (len(ended), 1))
                self._ended.append((ended, observation, mask, place, seat, batch.balances[ended, seat]))
                self._lengths[ended] = self._length[ended]
            if not self._auto_reset:
                self.is_over[ended] = True
                is_over[is_over] = ~has_decided
            while is_over.any():  # a deal may be over before the first decision
                again = games[is_over]
                keys = self.batch.state.key[again] + 1 if self._next_keys else None
                turns[is_over] = self._deal(again, keys)
                is_over &= turns == OVER
        is_busy = turns >= 0
        return games[is_busy], turns[is_busy]

    def _truncate(self, games: IntArray) -> None:
        """End the episodes of these games that have reached the time limit."""
        if self._limit < 0:
            return
        length = np.where(self.terminations, self._lengths, self._length)
        self.truncations[games] = length[games] >= self._limit
        cut = (self.truncations & ~self.terminations).nonzero()[0]
        if not len(cut):
            return
        batch, seat, no_units = self.batch, self.seat[cut], np.zeros(len(cut), np.int64)
        observation, mask = batch.observe(seat, games=cut), batch.action_mask()[cut]
        self._ended.append((cut, observation, mask, no_units - 1, seat, no_units))
        self._lengths[cut] = self._length[cut]
        if self._auto_reset:
            self._play_on(cut, self._deal(cut))
        else:
            self.is_over[cut] = self._is_cut[cut] = True

    def _finish_step(self) -> None:
        if not self._ended:
            self.finished = self._nothing
            return
        columns = [np.concatenate(parts) for parts in zip(*self._ended, strict=True)]
        order = np.argsort(columns[0])
        game = columns[0][order]
        self.finished = Finished._make(
            [*(column[order] for column in columns), self._total[game], self._lengths[game]]
        )
        self._total[game] = 0


class _OpponentsLoop(RoundLoop):
    """The rounds of `OneSeatGames` until each game waits for its learner or is over.

    The learner's first decision of a deal is played here if it has a single legal action.

    Attributes:
        now: the games, int64 (n,), and the turn of each.
    """

    now: tuple[IntArray, IntArray]

    def __init__(self, games: OneSeatGames) -> None:
        super().__init__(games.batch, [*games._agents, None], games._player)
        self._one_seat = games

    def waiting(self) -> Waiting:
        """The decisions of the opponents; games that are over have been dealt anew."""
        games, turns = self._one_seat._settle(*self.now)
        return Waiting(games, self._seats[games, turns] if len(games) else games)

    def _advance(self, games: IntArray, actions: IntArray, cards: IntArray | None) -> None:
        self.now = games, self._one_seat._step(games, actions)


class _OneSeatAdapter:
    """What the adapters of `OneSeatGames` to other libraries share.

    Attributes:
        games: the games.
    """

    games: OneSeatGames

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(owned(state))

    def action_to_text(self, action: int) -> str:
        """The name of an action id; see `Batch.action_to_text`."""
        return self.games.batch.action_to_text(action)

    def text_to_action(self, text: str) -> int:
        """The action id of a name; see `Batch.text_to_action`."""
        return self.games.batch.text_to_action(text)

    def _picture(self, mode: str, game: int = 0) -> Any:
        """A picture with the learner's hand face up; see `tienlen_env.single.painter.Painter.render`."""
        return Painter(self.games.batch, game).render(mode, [int(self.games.seat[game])])
