"""Records of rounds, made while many games are played at once."""

from __future__ import annotations

from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.single.base import AnyRound, round_type


class Recorder:
    """Callback of `play_deals` (``on_plays``) that records the first rounds.

    Args:
        rules: the variant.
        keys: int64 (n,), the deals of the first n games.
    """

    def __init__(self, rules: AnyRules, keys: IntArray) -> None:
        self._rounds: list[AnyRound] = [round_type(rules)(rules, key) for key in keys.tolist()]

    def __call__(self, actions: IntArray, cards: IntArray | None) -> None:
        """Take the actions of one step, int64 (B,); below 0: the game is over. `cards`: their exact cards."""
        for game, played in enumerate(self._rounds):
            action = int(actions[game])
            if action >= 0:
                if cards is None or not played.has_card_choice:
                    played.play(action)
                else:
                    played.play(played.play_of(action, int(cards[game])))

    @property
    def records(self) -> tuple[str, ...]:
        """n records, one line each."""
        return tuple(played.record() for played in self._rounds)
