"""A game of OpenSpiel on the histories of `tests.small_games`, so that its own algorithms judge ours."""

from __future__ import annotations

import pyspiel

from tests.small_games import Expanded, History, SetKey

_GAMES: list[Expanded] = []

_TYPE = pyspiel.GameType(
    short_name="python_small_tienlen",
    long_name="Small Tien len",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
    parameter_specification={"index": 0},
)


class _Game(pyspiel.Game):
    def __init__(self, params=None):
        params = {"index": 0} | (params or {})
        self.index = params["index"]
        expanded = _GAMES[self.index]
        most = max(max(r) for r in expanded.returns.values())
        info = pyspiel.GameInfo(
            num_distinct_actions=4_096,
            max_chance_outcomes=len(expanded.deals),
            num_players=2,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0,
            max_game_length=1 + max(len(history) for _, history in expanded.returns),
        )
        super().__init__(_TYPE, info, params)

    def new_initial_state(self):
        return _State(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return _Observer()


class _State(pyspiel.State):
    """`child` copies a state deeply, so it has the number of its game and not the game."""

    def __init__(self, game: _Game) -> None:
        super().__init__(game)
        self.index = game.index
        self.deal, self.history = -1, ()

    @property
    def _expanded(self) -> Expanded:
        return _GAMES[self.index]

    def key(self) -> SetKey:
        return self._expanded.key_of(self.deal, self.history)

    def current_player(self):
        if self.deal < 0:
            return pyspiel.PlayerId.CHANCE
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        return self._expanded.turn[self.deal, self.history]

    def _legal_actions(self, player):
        return sorted(self._expanded.legal[self.deal, self.history])

    def chance_outcomes(self):
        num_deals = len(self._expanded.deals)
        return [(deal, 1 / num_deals) for deal in range(num_deals)]

    def _apply_action(self, action):
        if self.deal < 0:
            self.deal = action
        else:
            self.history: History = self._expanded.after(self.deal, self.history, action)

    def _action_to_string(self, player, action):
        return str(action)

    def is_terminal(self):
        return (self.deal, self.history) in self._expanded.returns

    def returns(self):
        return list(self._expanded.returns.get((self.deal, self.history), (0.0, 0.0)))

    def __str__(self):
        return f"{self.deal} {self.history}"


class _Observer:
    tensor, dict = None, {}

    def set_from(self, state, player):
        pass

    def string_from(self, state, player):
        return f"{player} {state._expanded.deals[state.deal][player]:x} {state.history}"


pyspiel.register_game(_TYPE, _Game)


def new_game(expanded: Expanded) -> pyspiel.Game:
    """The game of these histories."""
    _GAMES.append(expanded)
    return pyspiel.load_game("python_small_tienlen", {"index": len(_GAMES) - 1})
