"""Both games for OpenSpiel: the import registers ``python_tienlen`` and ``python_thirteens``.

>>> import pyspiel
>>> import tienlen_bridges.openspiel
>>> game = pyspiel.load_game("python_tienlen(rules=mini)")
>>> state = game.new_initial_state()

| parameter | default | meaning |
|---|---|---|
| rules | cardgames or thirteens | a preset or a small game |
| players | 0 | number of players; 0: as in the rules |
| deck, cards | "", 0 | Tiến lên: the cards in play, and how many each player gets; empty: as in the rules |
| reward | zero_sum | as in the other environments; all of it is given at the end of the round |

A game is one round. Up to `MAX_DEALS` deals are the outcomes of one chance node; larger decks are dealt card
by card: the hands by seat, then in Thirteens the dummy's, the remainder with the starter first, and the
leader.
An action has the id that it has everywhere, and plays the lowest suits held (RULES.md 7.2).

The information state of a seat is its hand as it was dealt and all plays with their cards, that is, perfect
recall; the observation is that of `Batch.observe`. Both are strings and tensors. `OpenSpielState` has what a
state of OpenSpiel has, and `OpenSpielState.batch`, the position for this project's own functions.
"""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_env.engine.agent import Agent, View, check_plays, choose
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import Batch
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import check_game, game_of, get_rules
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.single.messages import positions

require("pyspiel", "openspiel", "tienlen_bridges.openspiel")
import pyspiel  # noqa: E402

MAX_DEALS: Final = 10_000
_UTILITY: Final = pyspiel.GameType.Utility
Hands = tuple[int, ...]


class Event(NamedTuple):
    """One play.

    Attributes:
        seat: who played.
        action: the action id.
        cards: its cards (mask), 0 for a pass.
        shown: the cards that lie open beside the plays after it (mask; Thirteens).
    """

    seat: int
    action: int
    cards: int
    shown: int = 0


class Position:
    """A state of the game; it never changes, so that a copy is itself.

    Attributes:
        batch: one game; do not change it. Before the deal it is not dealt.
        dealt: the outcomes of chance so far.
        plays: all plays so far.
        returns: what each seat has earned; empty before the deal.
    """

    def __init__(
        self, batch: Batch, dealt: Hands = (), plays: tuple[Event, ...] = (), returns: tuple[float, ...] = ()
    ) -> None:
        self.batch, self.dealt, self.plays, self.returns = batch, dealt, plays, returns
        self.turn = int(batch.turn[0])

    def __deepcopy__(self, memo: object) -> Position:
        return self

    @cached_property
    def legal(self) -> dict[int, int]:
        """The legal actions, ascending, and their cards."""
        found = self.batch.list_legal()
        return dict(zip(found.action.tolist(), found.cards.tolist(), strict=True))

    @property
    def hands(self) -> Hands:
        """The hands as they were dealt (masks)."""
        state = self.batch.state
        return tuple((state.hands[0] | state.played[0]).tolist())

    def deal(self, outcome: int) -> Position:
        """The position after an outcome of chance."""
        dealt, rules = (*self.dealt, outcome), self.batch.rules
        if (deals := _deals(rules)) is None:
            sizes, total = _sizes(rules), sum(_sizes(rules))
            if len(dealt) < total + _has_leader(rules):
                return Position(self.batch, dealt)
            starts = np.cumsum([0, *sizes]).tolist()
            piles = [sum(1 << c for c in dealt[a:b]) for a, b in pairwise(starts)]
        else:
            piles, total = list(deals[outcome]), 1
        batch, num_players = self.batch.copy(), rules.num_players
        extra = {}
        if isinstance(rules, ThirteensRules):
            starter = 1 << dealt[total - rules.num_aside] if rules.num_aside else 0
            extra = {"dummy": piles[num_players], "remainder": piles[num_players + 1], "starter": starter}
        leader = dealt[-1] if _has_leader(rules) else -1
        batch.set_hands(np.array([piles[:num_players]]), leader, **extra)
        return Position(batch, dealt, (), (0.0,) * num_players)

    def play(self, action: int) -> Position:
        """The position after an action of the seat to act.

        Raises:
            IllegalPlayError: it is not legal.
        """
        batch, cards = self.batch.copy(), self.legal.get(action, 0)
        rewards, _ = batch.step(np.array([action]))
        plays = (*self.plays, Event(self.turn, action, cards, _shown(batch)))
        earned = zip(self.returns, rewards[0].tolist(), strict=True)
        return Position(batch, self.dealt, plays, tuple(before + now for before, now in earned))

    def resample(self, seat: int, key: int) -> Position:
        """The same plays with other hands, uniform among those that agree with what the seat knows."""
        batch = self.batch.copy()
        _resampler(batch.game)(*batch.kernel_arrays, seat, key)
        return Position(batch, self.dealt, self.plays, self.returns)


def _shown(batch: Batch) -> int:
    shown = getattr(batch.state, "shown", None)
    return 0 if shown is None else int(shown[0])


@lru_cache(maxsize=8)
def _resampler(game: AnyGame) -> Any:
    resample_hidden, update_legal = game.kernels.resample_hidden, game.kernels.update_legal
    assert resample_hidden is not None

    def resample(rows, spec, actions, seat, key):  # type: ignore[no-untyped-def]
        for b in range(len(rows)):
            resample_hidden(rows[b], spec, seat, key)
            update_legal(rows[b], spec, actions)

    return jit.loop(resample)


@lru_cache(maxsize=64)
def _sizes(rules: Any) -> tuple[int, ...]:
    """The number of cards that each seat gets; in Thirteens also the dummy and the remainder."""
    if isinstance(rules, ThirteensRules):
        return (*(rules.hand_size,) * rules.num_players, rules.hand_size * rules.dummy, rules.num_aside)
    sizes: tuple[int, ...] = (rules.cards_each,) * rules.num_players
    return sizes


def _has_leader(rules: AnyRules) -> bool:
    return isinstance(rules, ThirteensRules) and rules.first_lead == "drawn"


def _deck(rules: Any) -> list[int]:
    if isinstance(rules, ThirteensRules):
        return list(range(rules.num_cards))
    return [c for c in range(52) if rules.deck_mask >> c & 1]


@lru_cache(maxsize=16)
def _deals(rules: AnyRules) -> list[Hands] | None:
    """All deals; None if they are too many for one chance node."""
    deck, number = _deck(rules), 1
    for i, size in enumerate(_sizes(rules)):
        number *= comb(len(deck) - sum(_sizes(rules)[:i]), size)
    if number > MAX_DEALS or isinstance(rules, ThirteensRules):
        return None
    deals: list[Hands] = [()]
    for size in _sizes(rules):
        deals = [
            (*deal, sum(hand))
            for deal in deals
            for hand in combinations([1 << c for c in deck if not sum(deal) >> c & 1], size)
        ]
    return deals


def _game_type(game: str, utility: Any = _UTILITY.GENERAL_SUM) -> Any:
    default, least, most = ("cardgames", 2, 4) if game == "tienlen" else ("thirteens", 3, 7)
    parameters = {"rules": default, "players": 0, "reward": "zero_sum"}
    return pyspiel.GameType(
        short_name=f"python_{game}",
        long_name="Python Tien len" if game == "tienlen" else "Python Thirteens",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=most,
        min_num_players=least,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=parameters | ({"deck": "", "cards": 0} if game == "tienlen" else {}),
    )


class OpenSpielGame(pyspiel.Game):
    """One game of OpenSpiel; `pyspiel.load_game` makes it.

    Attributes:
        start: the position before the deal.

    Raises:
        RulesError: unknown rules, an impossible deck or number of players.
        ValueError: a reward that the game does not have.
    """

    name = "tienlen"

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        chosen = _game_type(self.name).parameter_specification | (params or {})
        changes = {"deck": chosen.get("deck") or None, "cards_each": chosen.get("cards") or None}
        rules = get_rules(
            chosen["rules"], chosen["players"] or None, **{k: v for k, v in changes.items() if v is not None}
        )
        check_game(rules, self.name)
        game, reward = game_of(rules), chosen["reward"]
        self.max_plays = game.max_decisions(rules)
        batch = Batch(rules, reward=reward, history_length=self.max_plays)
        self.start = Position(batch)
        num_players, worst = rules.num_players, game.text.worst_reward
        least, mean = worst(rules, reward), worst(rules, "points") - worst(rules, "zero_sum")
        best = {"points": num_players * mean, "win": 1.0}.get(reward, -(num_players - 1) * least)
        total: float | None = {"points": num_players * mean, "win": 2.0 - num_players}.get(reward, 0.0)
        if self.name == "thirteens" and reward != "zero_sum":
            total = None  # it depends on the play
        utility = {None: _UTILITY.GENERAL_SUM, 0.0: _UTILITY.ZERO_SUM}.get(total, _UTILITY.CONSTANT_SUM)
        deals = _deals(rules)
        self.num_chance = 1 if deals else sum(_sizes(rules)) + _has_leader(rules)
        info = pyspiel.GameInfo(
            num_distinct_actions=batch.num_actions,
            max_chance_outcomes=len(deals) if deals else _deck(rules)[-1] + 1,
            num_players=num_players,
            min_utility=least,
            max_utility=best,
            utility_sum=total,
            max_game_length=self.max_plays,
        )
        super().__init__(_game_type(self.name, utility), info, params or {})

    def new_initial_state(self, *unused: object) -> OpenSpielState:
        """The state before the deal."""
        return OpenSpielState(self)

    def max_chance_nodes_in_history(self) -> int:
        """1, or the number of cards that are dealt one by one."""
        return self.num_chance

    def make_py_observer(self, kind: Any = None, params: Any = None) -> Observer | None:
        """The writer of observations, or with `perfect_recall` of information states.

        Returns:
            None for a kind without the public or with other than one player's private information, by which
            OpenSpiel knows that a game does not have it.

        Raises:
            ValueError: parameters, which no observer here has.
        """
        if params:
            raise ValueError(f"observers: expected no parameters, got {params}")
        single = pyspiel.PrivateInfoType.SINGLE_PLAYER
        if kind and (not kind.public_info or kind.private_info != single):
            return None
        return Observer(self, bool(kind and kind.perfect_recall))


class ThirteensGame(OpenSpielGame):
    """Thirteens."""

    name = "thirteens"


class OpenSpielState(pyspiel.State):
    """A state of OpenSpiel.

    Attributes:
        at: the position, from which a copy of a state shares everything.
    """

    def __init__(self, game: OpenSpielGame) -> None:
        super().__init__(game)
        self.at = game.start

    @property
    def batch(self) -> Batch:
        """The position as a batch of one game (copy)."""
        return self.at.batch.copy()

    def current_player(self) -> int:
        """The seat to act, or the number of chance or of the end."""
        if not self.at.returns:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.at.turn < 0 else self.at.turn

    def is_terminal(self) -> bool:
        """Whether the round is over."""
        return self.at.turn < 0 and bool(self.at.returns)

    def returns(self) -> list[float]:
        """What each seat has earned; 0 before the end."""
        num_players = self.at.batch.num_players
        return list(self.at.returns) if self.is_terminal() else [0.0] * num_players

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The deals, the cards that may come next, or who may lead."""
        rules, dealt = self.at.batch.rules, self.at.dealt
        if (deals := _deals(rules)) is not None:
            outcomes = range(len(deals))
        elif len(dealt) < sum(_sizes(rules)):
            outcomes = [c for c in _deck(rules) if c not in dealt]  # type: ignore[assignment]
        else:
            outcomes = range(rules.num_players)
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.at.legal)

    def _apply_action(self, action: int) -> None:
        self.at = self.at.deal(action) if self.is_chance_node() else self.at.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        batch = self.at.batch
        if player != pyspiel.PlayerId.CHANCE:
            return batch.action_to_text(action)
        write = batch.game.text.format_cards
        if (deals := _deals(batch.rules)) is not None:
            return "deal " + " | ".join(map(write, deals[action]))
        is_card = len(self.at.dealt) < sum(_sizes(batch.rules))
        return f"deal {write(1 << action)}" if is_card else f"seat {action} leads"

    def hides_state_from_agents(self) -> bool:
        """True: a serialized state has all hands, and Kaggle's wrapper keeps it from the agents then."""
        return True

    def resample_from_infostate(self, player_id: int, probability_sampler: Any) -> OpenSpielState:
        """A state with the same information of a player, drawn uniformly; its `history` keeps the old deal.

        Args:
            player_id: the player.
            probability_sampler: draws in [0, 1).
        """
        new = self.clone()
        draws = [int(probability_sampler() * 2**31) for _ in range(2)]
        new.at = self.at.resample(player_id, draws[0] << 31 | draws[1])
        return new  # type: ignore[no-any-return]

    def __str__(self) -> str:
        write = self.at.batch.game.text.format_cards
        if not self.at.returns:
            return f"dealt: {self.at.dealt}"
        return " | ".join(map(write, self.at.hands)) + _written(self.at)


def _written(at: Position) -> str:
    """The plays as text."""
    text, plays, before = at.batch.game.text, [], 0
    for seat, action, cards, shown in at.plays:
        play = text.play_text(at.batch.action_table, action, cards) or "pass"
        plays.append(f"{seat}: {play}" + (f" ({text.format_cards(shown)})" if shown != before else ""))
        before = shown
    return "; " + ", ".join(plays)


class Observer:
    """Writes what a player knows; see `OpenSpielGame.make_py_observer`.

    Attributes:
        tensor: float32, all of `dict`.
        dict: its pieces: ``observation`` (O,); with perfect recall also ``player`` (P,) and ``dealt`` (C,),
            one-hot, and ``plays`` (K, P + B + C), the seat, action (binary) and cards of each play, or in
            Thirteens (K, P + B + 2 C), with the cards shown.
    """

    def __init__(self, game: OpenSpielGame, recalls: bool) -> None:
        batch, cards = game.start.batch, 1 + _deck(game.start.batch.rules)[-1]
        self._cards, self._bits = np.arange(cards), np.arange(batch.num_actions.bit_length())
        self._recalls, self._shows = recalls, game.name == "thirteens"
        width = batch.num_players + len(self._bits) + cards * (1 + self._shows)
        shapes: dict[str, tuple[int, ...]] = {"observation": (batch.observation_size,)}
        if recalls:
            shapes |= {"player": (batch.num_players,), "dealt": (cards,), "plays": (game.max_plays, width)}
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {
            name: part.reshape(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)
        }

    def set_from(self, state: OpenSpielState, player: int) -> None:
        """Write the tensors; zeros before the deal."""
        self.tensor.fill(0)
        at = state.at
        if self._recalls and player >= 0:
            self.dict["player"][player] = 1
        if not at.returns or player < 0:
            return
        self.dict["observation"][:] = at.batch.observe(player)[0]
        if self._recalls:
            self.dict["dealt"][:] = at.hands[player] >> self._cards & 1
            seats, actions, cards, shown = np.array(at.plays, np.int64).reshape(-1, 4).T[:, :, None]
            pieces: list[IntArray] = [seats == np.arange(at.batch.num_players), actions >> self._bits & 1]
            pieces += [each >> self._cards & 1 for each in ([cards, shown] if self._shows else [cards])]
            self.dict["plays"][: len(at.plays)] = np.concatenate(pieces, axis=1)

    def string_from(self, state: OpenSpielState, player: int) -> str:
        """The text of the same information."""
        at = state.at
        if not at.returns:
            return f"player {player}"
        seen = json.dumps(positions(at.batch, [0], [player])[0])
        if not self._recalls:
            return seen
        # The first observation of Thirteens shows the starter suit, the only public fact of a deal.
        shown = "" if at.plays or not self._shows else f"; {seen}"
        hand = at.batch.game.text.format_cards(at.hands[player])
        return f"player {player}, turn {at.turn}: {hand}{_written(at)}{shown}"


class AgentBot(pyspiel.Bot):
    """An agent of this project as a bot of OpenSpiel; it sees what its seat sees.

    Args:
        agent: the agent.
        seed: of its random numbers.
    """

    def __init__(self, agent: Agent, seed: int = 0) -> None:
        super().__init__()
        self.agent = agent
        agent.reset(seed)

    def step(self, state: OpenSpielState) -> int:
        """The agent's action."""
        batch = state.batch
        check_plays([self.agent], batch)
        return int(choose(self.agent, View(batch, copy=False))[0])

    def restart_at(self, state: OpenSpielState) -> None:
        """Nothing: an agent reads all from the state."""


for _of in (OpenSpielGame, ThirteensGame):
    pyspiel.register_game(_game_type(_of.name), _of)
