"""The agent ``openspiel``: a bot of OpenSpiel in our arena."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tienlen_env.engine.agent import View
from tienlen_env.errors import expected_one_of
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT, ClimbingState
from tienlen_env.games.registry import PRESETS, game_of


class OpenSpielAgent:
    """A bot of OpenSpiel: ``openspiel:ismcts,simulations=200``, ``openspiel:uniform_random``.

    The bot gets a state whose hidden cards are arbitrary, in the right number. Its history has the plays of
    the round but no deal; in Thirteens, which stores no plays, it begins with the decision.

    Args:
        bot: ``ismcts`` (OpenSpiel's, in Python, with random rollouts); a bot that OpenSpiel registers; or
            ``module:function``, which is called with the game and the seat.
        simulations: of ``ismcts``, for each decision.

    Raises:
        MissingExtraError: OpenSpiel is not installed.
    """

    history = 255

    def __init__(self, bot: str, *, simulations: int = 100) -> None:
        require("pyspiel", "openspiel", f"agent 'openspiel:{bot}'")
        self.name, self._bot, self._simulations = f"openspiel:{bot}", bot, simulations
        self.reset(0)

    def reset(self, seed: int) -> None:
        """New bots, which draw from this seed where they allow it."""
        self._seed = seed
        self._games: dict[Any, Any] = {}
        self._bots: dict[tuple[Any, int], Any] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without the bots, which cannot be copied: a copy makes its own, as after a reset."""
        return {**vars(self), "_games": {}, "_bots": {}}

    def act(self, view: View) -> IntArray:
        """Ask the bot for each decision (see `Agent.act`)."""
        if view.rules not in self._games:
            self._games[view.rules] = _game_of(view.rules)
        return np.array([self._decide(view, i) for i in range(len(view))], np.int64)

    def _decide(self, view: View, i: int) -> int:
        from tienlen_bridges.openspiel import Event, Position

        game, seat = self._games[view.rules], int(view.seat[i])
        batch = view.select([i]).without_hidden().source[0].showing(0)
        plays: list[Event] = []
        if isinstance(batch.state, ClimbingState):
            for event in reversed(batch.state.history[0].tolist()):
                if event:
                    cards = event & ((1 << HISTORY_SEAT_SHIFT) - 1)
                    action = view.action_table.classify(cards) if cards else 0  # type: ignore[attr-defined]
                    plays.append(Event((event >> HISTORY_SEAT_SHIFT) - 1, action, cards))
        state = game.new_initial_state()
        state.at = Position(batch, (), tuple(plays), (0.0,) * batch.num_players)
        if (view.rules, seat) not in self._bots:
            self._bots[view.rules, seat] = self._new_bot(game, seat)
        return int(self._bots[view.rules, seat].step(state))

    def _new_bot(self, game: Any, seat: int) -> Any:
        import pyspiel

        seed = self._seed % 2**31 + seat
        if self._bot == "ismcts":
            from open_spiel.python.algorithms import ismcts, mcts

            draws = np.random.RandomState(seed)
            rollouts = mcts.RandomRolloutEvaluator(1, draws)
            bot = ismcts.ISMCTSBot(
                game=game,
                evaluator=rollouts,
                uct_c=2 * game.max_utility(),
                max_simulations=self._simulations,
                random_state=draws,
            )
            # Its own sampler draws from a seed of OpenSpiel's, another one in each process.
            bot.set_resampler(lambda state, seat: state.resample_from_infostate(seat, draws.random_sample))
            return bot
        if ":" in self._bot:
            module, _, function = self._bot.partition(":")
            return getattr(import_module(module), function)(game, seat)
        if not pyspiel.is_bot_registered(self._bot):
            known = ["ismcts", "module:function", *pyspiel.registered_bots()]
            raise ValueError(f"agent {self.name!r}: {expected_one_of(self._bot, known)}")
        return pyspiel.load_bot(self._bot, game, seat, {"seed": seed} if "random" in self._bot else {})


def _game_of(rules: Any) -> Any:
    """The game of OpenSpiel with these rules.

    Raises:
        ValueError: neither a preset nor a small game.
    """
    import pyspiel

    import tienlen_bridges.openspiel  # noqa: F401 - registers the games

    name = f"python_{game_of(rules).name}"
    if rules.name not in PRESETS:
        raise ValueError(f"agent 'openspiel': expected a preset, not the rules {rules.name}")
    game = pyspiel.load_game(name, {"rules": rules.name, "players": rules.num_players})
    if game.start.batch.rules != rules:
        raise ValueError(f"agent 'openspiel': the rules {rules.name} have changed fields")
    return game
