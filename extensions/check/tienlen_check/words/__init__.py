"""Positions and rules that check programs of a game.

Each game has one `CheckedWords`, found by its rules (`checked_words_of`): the object ``CHECKED_WORDS`` of the
module of this package with the game's name, or the one that another package registers with its game
(``games.registry.register(GAME, words=...)``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tienlen_agents.words import GameWords, words_of
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import ByGame, game_of
from tienlen_env.single.base import round_type


class HardPosition(NamedTuple):
    """A position where programs often fail.

    Attributes:
        title: name of the check.
        rules: name of a preset.
        hands: cards by seat.
        leader: the seat that leads; -1: by the rules.
        plays: the cards of the plays made so far.
    """

    title: str
    rules: str
    hands: tuple[str, ...]
    leader: int
    plays: tuple[str, ...] = ()

    def batch(self) -> Batch:
        """The position as a batch of one game."""
        batch = Batch(self.rules, 1, num_players=len(self.hands))
        leader = None if self.leader < 0 else self.leader
        played = round_type(batch.rules).from_hands(batch.rules, self.hands, leader=leader)
        for play in self.plays:
            played.play(play)
        batch.state.rows[0] = played.row
        return batch


class CheckedWords(GameWords):
    """What checks the programs of one game; this class is for games without their own.

    Attributes:
        positions: positions where programs often fail.
    """

    positions: tuple[HardPosition, ...] = ()

    def tables(self, rules: AnyRules) -> list[tuple[str, AnyRules]]:
        """The rules for which a program is checked, each with its name: all that are named."""
        return list(game_of(rules).presets.items())


_OF_GAME: Final[ByGame[CheckedWords]] = ByGame(
    "checked_words", "tienlen_check.words", lambda game: CheckedWords()
)


def checked_words_of(rules: AnyRules) -> CheckedWords:
    """What checks the programs of the game of `rules`; its registered `words` where those do."""
    found = words_of(rules)
    return found if isinstance(found, CheckedWords) else _OF_GAME.of(rules)
