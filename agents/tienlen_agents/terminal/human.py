"""``human``: a person at a terminal as an agent.

`HumanAgent` shows the information of a `View`, so own cards only, and reads a play. ``tienlen play`` plays
whole games with names, undo and a record; it does not use this agent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tienlen_agents.terminal.prompt import Command, Hints, ask
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.rendering import PlainView
from tienlen_env.single.base import AnyRound, round_type


class Leave(KeyboardInterrupt):
    """The person has left; like Ctrl-C, this ends the program."""


@dataclass
class _ViewDecision:
    """A `Decision` of a view."""

    view: View
    index: int
    hints: Hints
    played: AnyRound

    def picture(self) -> PlainView:
        seat, players = self.played.current_seat, range(self.played.num_players)
        names = tuple("you" if other == seat else f"seat {other}" for other in players)
        return self.played.view(face_up=[seat], names=names)

    def suggestion(self) -> str:
        return self.hints.suggestion(self.view, self.index, self.played)

    def check_undo(self) -> None:
        raise ValueError("nothing can be taken back here")


class HumanAgent:
    """Prompts a person for every decision; the answer is text or a number.

    Args:
        hint: the agent that suggests plays; empty for each game's own.
    """

    name = "human"

    def __init__(self, *, hint: str = "") -> None:
        self._hints = Hints(hint)

    def reset(self, seed: int) -> None:
        """Seed the suggestions; the person has no state."""
        self._hints.reset(seed)

    def act(self, view: View) -> IntArray:
        """Prompt for n decisions; the lowest suits replace the chosen cards (see `Agent.act`)."""
        return self.act_cards(view)[0]

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Prompt for n decisions, one after the other (see `CardAgent.act_cards`).

        Raises:
            Leave: the person leaves, or the input has ended.
        """
        actions, cards = np.empty((2, len(view)), np.int64)
        for i in range(len(view)):
            played = round_type(view.rules).from_view(view, i)
            answer = ask(_ViewDecision(view, i, self._hints, played))
            if isinstance(answer, Command):
                raise Leave
            actions[i], cards[i] = answer.action, answer.cards
        return actions, cards
