"""What a person at a terminal is shown and may type, game by game.

A *move* is what `Round.play` or `Deal.play` takes: a mask of cards in Tiến lên, an action id in Thirteens.
Each game has a `Dialogue`, found by the rules.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np

from tienlen_agents.external.process import Failure, judge, play_requests
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import NotationError
from tienlen_env.games.common.cards import (
    NUM_CARDS,
    RANK_TEXT,
    SUIT_SYMBOLS,
    card_ids,
    format_cards,
    parse_cards,
)
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of
from tienlen_env.games.thirteens import cards as thirteens_cards
from tienlen_env.games.thirteens.explain import SUIT_NAME, why_refused
from tienlen_env.games.thirteens.notation import parse_play, play_text
from tienlen_env.games.tienlen.actions import PASS, kind_name
from tienlen_env.rendering import TableView, TrickView
from tienlen_env.rendering.view import PLACE_TEXT, display_order, plural
from tienlen_env.single.painter import TrickMemory, melds_text
from tienlen_env.single.thirteens import Deal
from tienlen_env.single.tienlen import Round

COLUMNS: Final = 78


class Dialogue(Protocol):
    """How one game talks with people.

    Attributes:
        help: what may be typed.
        hint: name of the agent that suggests plays, where none is named.
        unit: what is played until all have a place: ``"round"`` or ``"deal"``.
    """

    help: str
    hint: str
    unit: str

    def move(self, action: int, cards: int) -> int:
        """The move that an action and its cards are."""

    def cards(self, rules: AnyRules, move: int) -> int:
        """The cards that a move plays, as a mask."""

    def step(self, batch: Batch, move: int) -> None:
        """Play a legal move in a batch of one."""

    def is_forced_pass(self, played: Any) -> bool:
        """Whether the seat to act can only pass, so that nobody need ask."""

    def picture(self, view: View, index: int) -> TableView | TrickView:
        """The table as the player of a decision sees it."""

    def read(self, view: View, index: int, word: str) -> int:
        """The move that somebody has typed.

        Raises:
            ValueError: it is none.
        """

    def check(self, view: View, index: int, move: int) -> int:
        """The action that a move is.

        Raises:
            ValueError: the rules refuse it; the message says why.
        """

    def listing(self, view: View, index: int) -> Iterator[str]:
        """What may be played, numbered, as lines."""

    def advice(self, rules: AnyRules, move: int) -> str:
        """A move as advice: ``"play 3♠"``, ``"pass"``."""

    def told(self, played: Any, seat: int, names: Sequence[str], move: int) -> str:
        """What a seat has just done in the round or deal, and to what effect; ``"you"`` is spoken to."""


class TienLenDialogue:
    """See `Dialogue`."""

    help = """\
  3s 3h   play these cards: ranks 3456789TJQKA2, suits s c d h (♠ < ♣ < ♦ < ♥)
  7       play number 7 of the list
  p       pass
"""
    hint = "greedy_long"
    unit = "round"

    def move(self, action: int, cards: int) -> int:
        """See `Dialogue.move`."""
        return cards

    def cards(self, rules: AnyRules, move: int) -> int:
        """See `Dialogue.cards`."""
        return move

    def step(self, batch: Batch, move: int) -> None:
        """See `Dialogue.step`."""
        batch.step([batch.table.classify(move)], [move])

    def is_forced_pass(self, played: Round) -> bool:
        """See `Dialogue.is_forced_pass`."""
        plays = played.legal_plays()
        return len(plays) == 1 and not plays[0]

    def picture(self, view: View, index: int) -> TableView:
        """See `Dialogue.picture`."""
        seat, num_players = int(view.seat[index]), view.rules.num_players
        counts, places, scores, passed = (
            np.roll(column[index], seat).tolist()
            for column in (view.num_cards_left, view.places, view.scores, view.passed_mask)
        )
        owner, on_table = int(view.table_owner[index]), int(view.table_cards[index])
        owner = owner if owner < 0 else (owner + seat) % num_players
        return TableView(
            hands=_hands(counts, seat, int(view.hand[index])),
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
            names=_names(seat, num_players),
            title=view.rules.name,
        )

    def read(self, view: View, index: int, word: str) -> int:
        """See `Dialogue.read`."""
        if word in ("p", "pass", "-"):
            return 0
        return _numbered(self._legal(view, index), word) if word.isdecimal() else parse_cards(word)

    def check(self, view: View, index: int, move: int) -> int:
        """See `Dialogue.check`."""
        (request,) = play_requests(view, [index], lambda _: (0, 0))
        try:
            return judge(request, format_cards(move), view.table)[0]
        except Failure as failure:
            raise ValueError(failure.detail.partition("; game")[0]) from None

    def _legal(self, view: View, index: int) -> list[int]:
        """The cards of the legal actions, as they are numbered from 1; the pass is not."""
        legal = view.legal_actions
        cards: list[int] = legal.cards[(legal.game == index) & (legal.action != PASS)].tolist()
        return cards

    def listing(self, view: View, index: int) -> Iterator[str]:
        """See `Dialogue.listing`."""
        plays = list(enumerate(self._legal(view, index), 1))
        for kind, group in groupby(
            plays, lambda play: kind_name(view.table.shape(view.table.classify(play[1])))
        ):
            yield _filled(kind, (f"{number}: {symbols(cards)}" for number, cards in group))
        if view.action_mask[index, PASS]:
            yield "  p: pass"

    def advice(self, rules: AnyRules, move: int) -> str:
        """See `Dialogue.advice`."""
        return f"play {symbols(move)}" if move else "pass"

    def told(self, played: Round, seat: int, names: Sequence[str], move: int) -> str:
        """See `Dialogue.told`."""
        name = names[seat]
        s = "" if name == "you" else "s"
        text = f"{name} play{s} {symbols(move)}" if move else f"{name} pass{'es' if s else ''}"
        place, left = played.places[seat], len(played.hand(seat))
        if move and place is not None:
            text += f" and {'is' if s else 'are'} out: {PLACE_TEXT[place]}"
        elif move and left <= 3:
            text += f", {plural(left, 'card')} left"
        return text


class ThirteensDialogue:
    """See `Dialogue`."""

    help = """\
  Kh      play this card: ranks 23456789TJQKA, suits s c d h, jokers *1 *2
  6+5+2   meld: thirteens 6+5+2 or K, pairs 5&5, straights J-Q-K; end: no more
  7       play number 7 of the list
"""
    hint = "trickster"
    unit = "deal"

    def move(self, action: int, cards: int) -> int:
        """See `Dialogue.move`."""
        return action

    def cards(self, rules: Any, move: int) -> int:
        """See `Dialogue.cards`."""
        return 1 << move if move < rules.num_cards else 0

    def step(self, batch: Batch, move: int) -> None:
        """See `Dialogue.step`."""
        batch.step([move])

    def is_forced_pass(self, played: Deal) -> bool:
        """See `Dialogue.is_forced_pass`."""
        return False

    def picture(self, view: View, index: int) -> TrickView:
        """See `Dialogue.picture`."""
        seat, num_players = int(view.seat[index]), view.rules.num_players
        batch = Batch(view.rules, 1)
        batch.rows[:] = view.public_rows[index]
        counts = np.roll(view.num_cards_left[index], seat).tolist()
        batch.state.hands[0] = _hands(counts, seat, int(view.hand[index]))
        return TrickMemory(batch).view([seat], _names(seat, num_players))

    def read(self, view: View, index: int, word: str) -> int:
        """See `Dialogue.read`."""
        if word.isdecimal():
            return _numbered(self._legal(view, index), word)
        for text in (word, word.upper().replace("10", "T")):
            try:
                return parse_play(view.rules, text)
            except NotationError:
                continue
        mask = thirteens_cards.parse_cards(word)
        if mask.bit_count() != 1:
            raise ValueError("one card is played at a time, 8.5")
        if mask >> view.rules.num_cards:
            raise ValueError(f"{word} is not in this deck, 8.1")
        return mask.bit_length() - 1

    def check(self, view: View, index: int, move: int) -> int:
        """See `Dialogue.check`."""
        if move >= view.table.num_actions or not view.action_mask[index, move]:
            why = why_refused(view.table, view.public_rows[index].tolist(), move)
            raise ValueError(f"{play_text(view.rules, move)} refused: {why} (RULES.md)")
        return move

    def _legal(self, view: View, index: int) -> list[int]:
        """The legal actions as they are numbered from 1: cards as a hand is held, or melds."""
        legal = view.legal_actions
        actions: list[int] = legal.action[legal.game == index].tolist()
        if view.public_state.pile[index]:
            return actions
        return display_order(sum(1 << card for card in actions))

    def listing(self, view: View, index: int) -> Iterator[str]:
        """See `Dialogue.listing`."""
        plays = list(enumerate(self._legal(view, index), 1))
        num_cards = view.table.num_cards

        def kind(play: tuple[int, int]) -> str:
            action = play[1]
            if action >= num_cards:
                return "end" if action == num_cards else view.table.melds[action - num_cards - 1].kind
            return "jokers" if thirteens_cards.is_joker(action) else SUIT_NAME[action & 3]

        for name, group in groupby(plays, kind):
            yield _filled(name, (f"{number}: {self._words(view.rules, move)}" for number, move in group))

    def _words(self, rules: Any, move: int) -> str:
        """A move as it is shown: ``"K♥"``, ``"*1"``, ``"6+5+2"``."""
        return symbols(1 << move) if move < NUM_CARDS else play_text(rules, move).replace("T", "10")

    def advice(self, rules: AnyRules, move: int) -> str:
        """See `Dialogue.advice`."""
        return f"play {self._words(rules, move)}"

    def told(self, played: Deal, seat: int, names: Sequence[str], move: int) -> str:
        """See `Dialogue.told`."""
        name, num_cards = names[seat], played.rules.num_cards
        s = "" if name == "you" else "s"
        if move == num_cards:
            return f"{name} meld{s} no more"
        text = f"{name} {'meld' if move > num_cards else 'play'}{s} {self._words(played.rules, move)}"
        if move < num_cards and len(played.trick) in (0, played.rules.num_players):
            winner = names[played.last_winner]
            text += " and" if winner == name else f"; {winner}"
            text += f" take{'' if winner == 'you' else 's'} the trick"
            if played.rules.melding == "auto":
                text += f": {melds_text(played.last_pile)}"
        return text


def _hands(counts: Sequence[int], seat: int, own: int) -> tuple[int, ...]:
    """Hands to draw: of the others' only the sizes are used."""
    return tuple(own if s == seat else (1 << count) - 1 for s, count in enumerate(counts))


def _names(seat: int, num_players: int) -> tuple[str, ...]:
    return tuple("you" if s == seat else f"seat {s}" for s in range(num_players))


def _numbered(plays: Sequence[int], word: str) -> int:
    if not 0 < int(word) <= len(plays):
        raise ValueError(f"there is no play {word}: the list has {len(plays)}")
    return plays[int(word) - 1]


def _filled(kind: str, items: Iterable[str]) -> str:
    """A paragraph of the list."""
    # No break inside of a play: its blanks are hard ones until the lines are filled.
    text = "   ".join(item.replace(" ", "\u00a0") for item in items)
    indent = f"  {kind:<16}"
    filled = textwrap.fill(text, COLUMNS, initial_indent=indent, subsequent_indent=" " * 18)
    return filled.replace("\u00a0", " ")


def symbols(cards: int) -> str:
    """Cards as they are drawn, ``"3♠ 10♥"``."""
    return " ".join(RANK_TEXT[c >> 2].replace("T", "10") + SUIT_SYMBOLS[c & 3] for c in card_ids(cards))


_DIALOGUES: Final[Mapping[str, Dialogue]] = MappingProxyType(
    {"tienlen": TienLenDialogue(), "thirteens": ThirteensDialogue()}
)


def dialogue_of(rules: AnyRules) -> Dialogue:
    """How to talk about the game whose rules these are."""
    return _DIALOGUES[game_of(rules).name]
