"""What is written to a terminal, and the prompt at which a person decides."""

from __future__ import annotations

import sys
import textwrap
from enum import Enum
from typing import Protocol

from tienlen_agents import load
from tienlen_agents.words import COLUMNS, words_of
from tienlen_env.engine.agent import Agent, choose_cards
from tienlen_env.engine.view import View
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.rendering import PlainView, for_stream, render_ansi
from tienlen_env.single.base import AnyRound, Play

HELP = """\
  ?       list what may be played
  s       suggest a play
  u       take back your last play
  t       show the table again
  q       leave
  Whole words work, too: help, list, hint, undo, table, quit.
"""


class Command(Enum):
    """What a person wants instead of a play."""

    UNDO = "undo"
    LEAVE = "leave"


class Decision(Protocol):
    """A decision that waits for a person."""

    played: AnyRound

    def picture(self) -> PlainView:
        """The table as the person sees it."""

    def suggestion(self) -> str:
        """A line of advice.

        Raises:
            ValueError: there are no suggestions here.
        """

    def check_undo(self) -> None:
        """Nothing if the last play can be taken back.

        Raises:
            ValueError: it cannot be; the message says why.
        """


def ask(decision: Decision) -> Play | Command:
    """Show the table and ask until there is a legal play, or a command for whoever runs the table."""
    played = decision.played
    words = words_of(played.rules)
    say("\n" + render_ansi(decision.picture()))
    while True:
        line = read_line("your play (? lists, h helps): ")
        if line is None:
            return Command.LEAVE
        typed = line.strip().lower()
        try:
            match typed:
                case "":
                    continue
                case "h" | "help":
                    say(words.help + HELP)
                case "t" | "table":
                    say(render_ansi(decision.picture()))
                case "?" | "list":
                    say("\n".join(words.listing(played)) + "\n")
                case "s" | "hint":
                    tell(decision.suggestion())
                case "u" | "undo":
                    decision.check_undo()
                    return Command.UNDO
                case "q" | "quit":
                    return Command.LEAVE
                case _:
                    after = played.copy()
                    after.play(words.read_typed(played, typed))
                    play: Play = after.plays[-1]
                    return play
        except NotationError as error:
            tell(f"{error}; h for help")
        except TienLenError as error:
            reason = str(error).partition(" (seat")[0]  # the brackets hold what the picture shows
            clause = getattr(error, "clause", "") and "RULES.md" not in reason
            tell(f"{reason} (RULES.md)" if clause else reason)
        except ValueError as error:
            tell(str(error))


class Hints:
    """The agents that suggest plays: the named one, or each game's own.

    Args:
        name: the agent's name; empty for each game's own.
    """

    def __init__(self, name: str = "") -> None:
        self._named = load(name) if name else None
        self._own: dict[str, Agent] = {}
        self._seed = 0

    def reset(self, seed: int) -> None:
        """Draw all randomness from this seed."""
        self._seed = seed
        for agent in (self._named, *self._own.values()):
            if agent is not None:
                agent.reset(seed)

    def agent(self, rules: AnyRules) -> Agent:
        """The agent that suggests plays of a game.

        Raises:
            ValueError: the agent that was named plays another game.
        """
        game = game_of(rules).name
        if self._named is not None:
            if getattr(self._named, "plays", game) != game:
                raise ValueError(f"there are no suggestions here: {self._named.name} plays another game")
            return self._named
        if game not in self._own:
            self._own[game] = load(words_of(rules).hint)
            self._own[game].reset(self._seed)
        return self._own[game]

    def suggestion(self, view: View, index: int, played: AnyRound) -> str:
        """Advice for a decision, as a line.

        Args:
            view: n decisions.
            index: which of them.
            played: the round of that decision.

        Raises:
            ValueError: there are no suggestions in this game.
        """
        agent = self.agent(view.rules)
        actions, cards = choose_cards(agent, view)
        play = played.play_of(int(actions[index]), int(cards[index]))
        return f"{agent.name} would {words_of(view.rules).advice(played, play)}"


# ---------------------------------------------------------------- input and output


def say(text: str) -> None:
    """Write, with colours and other codes only to a terminal, and without colours if NO_COLOR is set."""
    sys.stdout.write(for_stream(text, sys.stdout))
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


def read_line(prompt: str) -> str | None:
    """Ask for a line; None if the input has ended."""
    try:
        line = input(prompt)
    except EOFError:
        say("\n")
        return None
    if not sys.stdin.isatty():
        say(line + "\n")  # a terminal has shown it already
    return line
