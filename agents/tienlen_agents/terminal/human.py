"""``human``: a person at a terminal.

`HumanAgent` shows what a `View` gives, so own cards only, and asks. It works wherever agents do; whole games,
with names, the clause that a refused play breaks, undo and a record, are for ``python -m
tienlen_agents.terminal.play``.
"""

from __future__ import annotations

import re
import sys
import textwrap

import numpy as np
import numpy.typing as npt

from tienlen_agents.terminal.dialogue import COLUMNS, dialogue_of
from tienlen_env.engine.agent import Agent, View, choose_cards
from tienlen_env.games.registry import game_of
from tienlen_env.rendering import TableView, TrickView, render_ansi

IntArray = npt.NDArray[np.int64]

HELP = """\
  ?       list what may be played
  s       suggest a play
  u       take back your last play
  t       show the table again
  q       leave
"""


class Leave(KeyboardInterrupt):
    """The player has left; like Ctrl-C, it ends what was running."""


class HumanAgent:
    """Asks a person for every decision, with cards by text or by number.

    Args:
        hint: the agent that suggests plays; empty for each game's own.
    """

    name = "human"

    def __init__(self, *, hint: str = "") -> None:
        from tienlen_agents import load  # which knows this module

        self._load = load
        self._hints: dict[str, Agent] = {"": load(hint)} if hint else {}
        self._seed = 0

    def reset(self, seed: int) -> None:
        """Start afresh; only suggestions may be random."""
        self._seed = seed
        for hint in self._hints.values():
            hint.reset(seed)

    def _hint(self, view: View) -> Agent:
        """Who suggests plays.

        Raises:
            ValueError: the agent that was named plays another game.
        """
        game = game_of(view.rules).name
        if "" in self._hints:
            named = self._hints[""]
            if getattr(named, "plays", game) != game:
                raise ValueError(f"there are no suggestions here: {named.name} plays another game")
            return named
        if game not in self._hints:
            self._hints[game] = self._load(dialogue_of(view.rules).hint)
            self._hints[game].reset(self._seed)
        return self._hints[game]

    def act(self, view: View) -> IntArray:
        """Ask for n decisions; the table's cards are played instead of those chosen (see `Agent.act`)."""
        return self.act_cards(view)[0]

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Ask for n decisions, one after the other (see `CardAgent.act_cards`).

        Raises:
            Leave: the player wants no more, or the input has ended.
        """
        plays = [self._ask(view, index) for index in range(len(view))]
        return np.array([a for a, _ in plays], np.int64), np.array([c for _, c in plays], np.int64)

    # ------------------------------------------------------------ what `terminal.play` does better

    def picture(self, view: View, index: int) -> TableView | TrickView:
        """The table as the player of a decision sees it."""
        return dialogue_of(view.rules).picture(view, index)

    def check(self, view: View, index: int, move: int) -> int:
        """The action that a move is (see `tienlen_agents.terminal.dialogue`).

        Raises:
            ValueError: it may not be played; the message says why.
        """
        return dialogue_of(view.rules).check(view, index, move)

    def suggest(self, view: View, index: int) -> int:
        """The move that the other agent would make.

        Raises:
            ValueError: there are no suggestions here.
        """
        actions, cards = choose_cards(self._hint(view), view)
        return dialogue_of(view.rules).move(int(actions[index]), int(cards[index]))

    def take_back(self) -> None:
        """Take the last play back, if that is possible.

        Raises:
            ValueError: it is not.
        """
        raise ValueError("nothing can be taken back here")

    # ------------------------------------------------------------ the dialogue

    def _ask(self, view: View, index: int) -> tuple[int, int]:
        """One decision: its action and cards."""
        dialogue = dialogue_of(view.rules)
        say("\n" + render_ansi(self.picture(view, index)))
        while True:
            word = read_line("your play (? lists, h helps): ").strip().lower()
            try:
                match word:
                    case "":
                        continue
                    case "h" | "help":
                        say(dialogue.help + HELP)
                    case "t":
                        say(render_ansi(self.picture(view, index)))
                    case "?":
                        say("\n".join(dialogue.listing(view, index)) + "\n")
                    case "s":
                        move = self.suggest(view, index)
                        tell(f"{self._hint(view).name} would {dialogue.advice(view.rules, move)}")
                    case "u":
                        self.take_back()
                    case "q":
                        raise Leave
                    case _:
                        move = dialogue.read(view, index, word)
                        action = self.check(view, index, move)
                        return action, dialogue.cards(view.rules, move)
            except ValueError as error:
                tell(str(error))


def say(text: str) -> None:
    """Write, with colours and other such codes only if somebody looks."""
    sys.stdout.write(text if sys.stdout.isatty() else re.sub("\033\\[[0-9;]*[A-Za-z]", "", text))
    sys.stdout.flush()


def tell(text: str) -> None:
    """Write a paragraph, indented and no wider than the table."""
    filled = textwrap.fill(
        text,
        COLUMNS,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,  # they join a straight, J-Q-K
    )
    say(filled + "\n")


def read_line(prompt: str) -> str:
    """Ask for a line.

    Raises:
        Leave: the input has ended.
    """
    try:
        line = input(prompt)
    except EOFError:
        say("\n")
        raise Leave from None
    if not sys.stdin.isatty():
        say(line + "\n")  # a terminal has shown it already
    return line
