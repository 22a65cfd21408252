"""``human``: a person at a terminal.

`HumanAgent` shows what a `View` gives, so own cards only, and asks. It works wherever agents do; whole games,
with names, the clause that a refused play breaks, undo and a record, are for ``python -m agents.play``.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import numpy.typing as npt

from agents.process import Failure, judge, play_requests
from tienlen_env.agent import View, choose_cards
from tienlen_env.core.cards import RANK_TEXT, SUIT_SYMBOLS, card_ids, format_cards, parse_cards
from tienlen_env.core.combos import PASS, kind_name
from tienlen_env.rendering import TableView, render_ansi

IntArray = npt.NDArray[np.int64]

COLUMNS = 78
HELP = """\
  3s 3h   play these cards: ranks 3456789TJQKA2, suits s c d h (♠ < ♣ < ♦ < ♥)
  7       play number 7 of the list
  p       pass
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
        hint: the agent that suggests plays.
    """

    name = "human"
    plays = "tienlen"

    def __init__(self, *, hint: str = "greedy_long") -> None:
        from agents import load  # which knows this module

        self._hint = load(hint)

    def reset(self, seed: int) -> None:
        """Start afresh; only suggestions may be random."""
        self._hint.reset(seed)

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

    # ------------------------------------------------------------ what `agents.play` does better

    def picture(self, view: View, index: int) -> TableView:
        """The table as the player of a decision sees it."""
        seat, num_players = int(view.seat[index]), view.rules.num_players
        counts, places, scores, passed = (
            np.roll(column[index], seat).tolist()
            for column in (view.num_cards_left, view.places, view.scores, view.passed_mask)
        )
        owner, on_table = int(view.table_owner[index]), int(view.table_cards[index])
        owner = owner if owner < 0 else (owner + seat) % num_players
        hands = [(1 << count) - 1 for count in counts]  # of the others' hands only the sizes are used
        hands[seat] = int(view.hand[index])
        return TableView(
            hands=tuple(hands),
            face_up=tuple(s == seat for s in range(num_players)),
            table_cards=on_table,
            table_text=view.table.text(int(view.table_action[index])) if on_table else "",
            owner=owner,
            turn=seat,
            passed=frozenset(s for s in range(num_players) if passed[s]),
            places=tuple(places),
            scores=tuple(scores),
            last_plays=tuple(
                on_table if s == owner else 0 if passed[s] else None for s in range(num_players)
            ),
            names=tuple("you" if s == seat else f"seat {s}" for s in range(num_players)),
            title=view.rules.name,
        )

    def check(self, view: View, index: int, cards: int) -> int:
        """The action that the cards are.

        Raises:
            ValueError: they may not be played; the message says why.
        """
        (request,) = play_requests(view, [index], lambda _: (0, 0))
        try:
            return judge(request, format_cards(cards), view.table)[0]
        except Failure as failure:
            raise ValueError(failure.detail.partition("; game")[0]) from None

    def suggest(self, view: View, index: int) -> int:
        """The cards that the other agent would play, as a mask.

        Raises:
            ValueError: there are no suggestions here.
        """
        return int(choose_cards(self._hint, view)[1][index])

    def take_back(self) -> None:
        """Take the last play back, if that is possible.

        Raises:
            ValueError: it is not.
        """
        raise ValueError("nothing can be taken back here")

    # ------------------------------------------------------------ the dialogue

    def _ask(self, view: View, index: int) -> tuple[int, int]:
        """One decision: its action and cards."""
        say("\n" + render_ansi(self.picture(view, index)))
        while True:
            word = read_line("your play (? lists, h helps): ").strip().lower()
            try:
                match word:
                    case "":
                        continue
                    case "h" | "help":
                        say(HELP)
                    case "t":
                        say(render_ansi(self.picture(view, index)))
                    case "?":
                        say("\n".join(_listing(view, index)) + "\n")
                    case "s":
                        cards = self.suggest(view, index)
                        say(f"  {self._hint.name} would {f'play {symbols(cards)}' if cards else 'pass'}\n")
                    case "u":
                        self.take_back()
                    case "q":
                        raise Leave
                    case _:
                        cards = _cards(view, index, word)
                        return self.check(view, index, cards), cards
            except ValueError as error:
                say(textwrap.fill(str(error), COLUMNS, initial_indent="  ", subsequent_indent="  ") + "\n")


def _legal(view: View, index: int) -> list[tuple[int, int]]:
    """The legal actions of a decision and their cards, as they are numbered from 1; the pass is not."""
    legal = view.legal_actions
    own = (legal.game == index) & (legal.action != PASS)
    return list(zip(legal.action[own].tolist(), legal.cards[own].tolist(), strict=True))


def _cards(view: View, index: int, word: str) -> int:
    """Read a play: cards, a number of the list, or a pass.

    Raises:
        ValueError: it is none of these.
    """
    if word in ("p", "pass", "-"):
        return 0
    if not word.isdecimal():
        return parse_cards(word)
    plays = _legal(view, index)
    if not 0 < int(word) <= len(plays):
        raise ValueError(f"there is no play {word}: the list has {len(plays)}")
    return plays[int(word) - 1][1]


def _listing(view: View, index: int) -> Iterator[str]:
    """The legal plays by kind, numbered."""
    plays = [(number, *play) for number, play in enumerate(_legal(view, index), 1)]
    for kind, group in groupby(plays, lambda play: kind_name(view.table.shape(play[1]))):
        # No break inside of a play: its blanks are hard ones until the lines are filled.
        items = [f"{number}:\u00a0{symbols(cards)}".replace(" ", "\u00a0") for number, _, cards in group]
        indent = f"  {kind:<16}"
        text = textwrap.fill("   ".join(items), COLUMNS, initial_indent=indent, subsequent_indent=" " * 18)
        yield text.replace("\u00a0", " ")
    if view.action_mask[index, PASS]:
        yield "  p: pass"


def symbols(cards: int) -> str:
    """Cards as they are drawn, ``"3♠ 10♥"``."""
    return " ".join(RANK_TEXT[c >> 2].replace("T", "10") + SUIT_SYMBOLS[c & 3] for c in card_ids(cards))


def say(text: str) -> None:
    """Write, with colours and other such codes only if somebody looks."""
    sys.stdout.write(text if sys.stdout.isatty() else re.sub("\033\\[[0-9;]*[A-Za-z]", "", text))
    sys.stdout.flush()


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
