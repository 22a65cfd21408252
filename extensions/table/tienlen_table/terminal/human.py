"""``human``: a person at a terminal as an agent.

`HumanAgent` shows the information of a `View`, so own cards only, and reads a play. ``tienlen play`` plays
whole games with names, undo and a record; it does not use this agent.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from enum import Enum

import numpy as np

from tienlen_agents import load
from tienlen_env.engine.agent import Agent, choose_cards
from tienlen_env.engine.view import View
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.registry import game_of
from tienlen_env.rendering import PlainView, for_stream, render_ansi
from tienlen_env.single.base import AnyPlay, AnyRound, round_type
from tienlen_table.words import COLUMNS, table_words_of

HELP = """\
  ?       list what may be played
  s       suggest a play
  u       take back your last play
  t       show the table again
  q       leave
  Whole words work, too: help, list, hint, undo, table, quit.
"""


class PlayerCommand(Enum):
    """What a person wants instead of a play."""

    UNDO = "undo"
    LEAVE = "leave"


def ask(
    played: AnyRound,
    picture: Callable[[], PlainView],
    suggestion: Callable[[], str],
    check_undo: Callable[[], None],
) -> AnyPlay | PlayerCommand:
    """Show the table and ask until there is a legal play, or a command for whoever runs the table.

    Args:
        played: the round.
        picture: the table as the person sees it.
        suggestion: a line of advice; a ValueError says why there is none.
        check_undo: returns if the last play can be taken back; a ValueError says why it cannot.
    """
    words = table_words_of(played.rules)
    say("\n" + render_ansi(picture()))
    while True:
        line = read_line("your play (? lists, h helps): ")
        if line is None:
            return PlayerCommand.LEAVE
        typed = line.strip().lower()
        try:
            match typed:
                case "":
                    continue
                case "h" | "help":
                    say(words.help + HELP)
                case "t" | "table":
                    say(render_ansi(picture()))
                case "?" | "list":
                    say("\n".join(words.listing(played)) + "\n")
                case "s" | "hint":
                    tell(suggestion())
                case "u" | "undo":
                    check_undo()
                    return PlayerCommand.UNDO
                case "q" | "quit":
                    return PlayerCommand.LEAVE
                case _:
                    after = played.copy()
                    after.play(words.read_typed(played, typed))
                    play: AnyPlay = after.plays[-1]
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
        self._name, self._seed = name, 0
        # By this name, or by game; a game's own agent is loaded when it is first needed.
        self._agents: dict[str, Agent] = {name: load(name)} if name else {}

    def reset(self, seed: int) -> None:
        """Draw all randomness from this seed."""
        self._seed = seed
        for agent in self._agents.values():
            agent.reset(seed)

    def suggestion(self, view: View, index: int, played: AnyRound) -> str:
        """Advice for a decision, as a line.

        Args:
            view: n decisions.
            index: which of them.
            played: the round of that decision.

        Raises:
            ValueError: there are no suggestions in this game.
        """
        game, words = game_of(view.rules).name, table_words_of(view.rules)
        key = self._name or game
        if key not in self._agents:
            self._agents[key] = load(words.hint)
            self._agents[key].reset(self._seed)
        agent = self._agents[key]
        if getattr(agent, "plays", game) != game:
            raise ValueError(f"there are no suggestions here: {agent.name} plays another game")
        actions, cards = choose_cards(agent, view)
        play = played.play_of(int(actions[index]), int(cards[index]))
        return f"{agent.name} would {words.advice(played, play)}"


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


class Leave(KeyboardInterrupt):
    """The person has left; like Ctrl-C, this ends the program."""


class HumanAgent:
    """Prompts a person for every decision; the answer is text or a number.

    Args:
        hint: the agent that suggests plays; empty for each game's own.
    """

    name = "human"
    needs_terminal = True  # it has no process of its own (`tienlen_agents.external.isolated`)

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
            answer = self._ask(view, i, played)
            if isinstance(answer, PlayerCommand):
                raise Leave
            actions[i], cards[i] = answer.action, answer.cards
        return actions, cards

    def _ask(self, view: View, index: int, played: AnyRound) -> AnyPlay | PlayerCommand:
        seat, players = played.turn, range(played.num_players)
        names = tuple("you" if other == seat else f"seat {other}" for other in players)

        def refuse() -> None:
            raise ValueError("nothing can be taken back here")

        return ask(
            played,
            lambda: played.view(face_up=[seat], names=names),
            lambda: self._hints.suggestion(view, index, played),
            refuse,
        )
