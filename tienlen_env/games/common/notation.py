"""Reading and writing one-line records, as far as the records of all games share it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Protocol, TypeVar

from tienlen_env.errors import NotationError, RulesError
from tienlen_env.games.common.game import AnyRules

RulesT = TypeVar("RulesT", bound=AnyRules)


class CardText(Protocol):
    """How a game writes cards: its module `cards`."""

    def parse_cards(self, text: str, *, column: int = 1) -> int:
        """The mask of some cards."""

    def format_cards(self, mask: int, separator: str = " ") -> str:
        """The text of a mask."""


class Words:
    """The blank-separated words of a line, with their columns.

    Args:
        text: one line.
        form: required beginning of the line, format and version.

    Raises:
        NotationError: no text, several lines, or another format.
    """

    def __init__(self, text: str, form: str) -> None:
        if not isinstance(text, str):
            raise NotationError(f"expected text, got {type(text).__name__}", 1)
        if "\n" in text.strip("\n") or "\r" in text:
            raise NotationError("a record is one line", 1 + len(text.splitlines()[0]))
        text = text.rstrip("\n")
        self.items = [(word.group(), word.start() + 1) for word in re.finditer(r"\S+", text)]
        self.end = len(text) + 1
        self.at = 0
        word, column = self.take(form)
        if word != form:
            raise NotationError(f"{word!r}: expected {form}", column)

    def peek(self) -> str:
        """The next word, empty at the end."""
        return self.items[self.at][0] if self.at < len(self.items) else ""

    def take(self, expected: str) -> tuple[str, int]:
        """The next word and its column.

        Raises:
            NotationError: the line has ended.
        """
        if self.at == len(self.items):
            raise NotationError(f"the line ends where {expected} was expected", self.end)
        self.at += 1
        return self.items[self.at - 1]

    def take_value(self, name: str) -> tuple[str, int] | None:
        """The value of the next word, if that is ``name=value``, and the value's column."""
        if not self.peek().startswith(f"{name}="):
            return None
        word, column = self.take(name)
        return word[len(name) + 1 :], column + len(name) + 1


def rules_text(rules: AnyRules, presets: Container[str]) -> str:
    """How a line names rules: by their preset, or by ``#`` and their digest."""
    return rules.name if rules.name in presets else f"#{rules.digest()}"


def key_text(key: int, round_index: int) -> str:
    """How a line names a deal."""
    return f"key={key & (1 << 64) - 1:016x}.{round_index}"


def parse_rules(
    words: Words,
    rules: RulesT | None,
    read_size: Callable[[str, int], dict[str, int]],
    find: Callable[..., RulesT],
) -> RulesT:
    """Take the words of the rules and of the table's size.

    Args:
        words: the line.
        rules: see `parse_record`.
        read_size: fields of the rules from a word like ``p4`` and its column.
        find: the rules of a name, or given ones, with some fields replaced.

    Raises:
        NotationError: unknown rules, or others than were given.
    """
    name, name_column = words.take("the rules")
    size = read_size(*words.take("the number of players"))
    try:
        if name.startswith("#"):
            if rules is None:
                raise NotationError(f"{name}: these are not preset rules; give rules=", name_column)
            found = find(rules, **size)
            if name[1:] != found.digest():
                raise NotationError(f"{name}: the given rules have the digest {found.digest()}", name_column)
            return found
        found = find(name, **size)
        if rules is not None and found != find(rules, **size):
            raise NotationError(f"{name}: other rules were given", name_column)
        return found
    except RulesError as error:
        raise NotationError(str(error), name_column) from None
    except TypeError:  # the size has fields that these rules lack
        raise NotationError(f"{name[:40]!r}: not rules of the game of this record", name_column) from None


def parse_key(words: Words) -> tuple[int | None, int]:
    """Take the key (signed) and the round of a deal; None and 0 where hands are given instead."""
    found = words.take_value("key")
    if found is None:
        return None, 0
    text, column = found
    digits, dot, round_text = text.partition(".")
    if len(digits) != 16 or any(d not in "0123456789abcdef" for d in digits) or not dot:
        raise NotationError("expected key= with 16 hex digits, a dot and the round", column)
    unsigned = int(digits, 16)
    return unsigned - (unsigned >> 63 << 64), number(round_text, column + 17, 2**31 - 1, "a round")


def parse_hands(words: Words, cards: CardText, num_players: int, most: int) -> tuple[int, ...]:
    """Take the hands by seat, each of 1 to `most` cards; `cards` knows how the game writes them."""
    found = words.take_value("hands")
    if found is None:
        word, column = words.take("key= or hands=")
        raise NotationError(f"{word!r}: expected key= or hands=", column)
    text, column = found
    hands, seen = [], 0
    for part in text.split("/"):
        hand = cards.parse_cards(part, column=column)
        if hand & seen:
            raise NotationError(f"{cards.format_cards(hand & seen)} in two hands", column)
        if not 1 <= hand.bit_count() <= most:
            raise NotationError(f"a hand has 1 to {most} cards", column)
        seen |= hand
        hands.append(hand)
        column += len(part) + 1
    if len(hands) != num_players:
        raise NotationError(f"{len(hands)} hands for {num_players} players", column - 1)
    return tuple(hands)


def parse_leader(words: Words, num_players: int) -> int | None:
    """Take the seat that leads, if one is given."""
    found = words.take_value("lead")
    return None if found is None else number(*found, num_players - 1, "a seat")


def parse_plays(
    words: Words, read_play: Callable[[str, int], int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Take the plays up to the end or the results, and their columns."""
    word, column = words.take("':'")
    if word != ":":
        raise NotationError(f"{word!r}: expected ':' before the plays", column)
    plays, columns = [], []
    while words.peek() not in ("", "="):
        word, column = words.take("a play")
        plays.append(read_play(word, column))
        columns.append(column)
    return tuple(plays), tuple(columns)


def parse_results(words: Words, num_players: int, what: str) -> list[tuple[str, int]] | None:
    """Take the results of the seats, as words with columns; None if the round is not over."""
    if not words.peek():
        return None
    words.take("'='")
    found = [words.take(what) for _ in range(num_players)]
    if words.peek():
        word, column = words.take("")
        raise NotationError(f"{word!r} after the end of the record", column)
    return found


def number(text: str, column: int, highest: int, what: str) -> int:
    """Read a number from 0 to `highest`.

    Raises:
        NotationError: not such a number.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > highest:
        raise NotationError(f"{text!r}: expected {what} (0..{highest})", column)
    return int(text)
