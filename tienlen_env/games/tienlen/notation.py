"""The text record of a round: one line, read back exactly.

::

    tienlen/1 cardgames p4 key=00000000000000ff.0 : 3s3h - 5c5d - - ... = 1 0 3 2
    tienlen/1 cardgames p4 key=00000000000000ff.1 lead=1 : 4s5d6c - - -
    tienlen/1 foicica p2 hands=3s4c5d/6h7h8h : 3s4c5d 6h7h8h = 1 0

Format and version; the preset (or ``#`` and the digest of other rules); the players; the deal, as key and
round or as hands by seat; who leads, where that is not the holder of the opening card; then the plays in
turn, ``-`` for a pass; and, once the round is over, each seat's place from 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from tienlen_env.errors import NotationError, RulesError
from tienlen_env.games.common import cards
from tienlen_env.games.common.cards import HAND_SIZE, format_cards, parse_cards
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.rules import PRESETS, Rules, get_rules

FORMAT: Final = "tienlen/1"
PASS_TEXT: Final = "-"


@dataclass(frozen=True)
class RoundRecord:
    """What a line says.

    Attributes:
        rules: the variant.
        key: the 64-bit deal key (signed), or None where hands are given.
        round_index: the round of the game that the key deals.
        hands: P card masks, or None where a key is given.
        leader: the seat that leads freely; None: the holder of the opening card.
        plays: card masks in turn, 0 for a pass.
        places: each seat's place from 0, or None while the round is not over.
        columns: column of each play in the text, for error messages; empty for a record not read from text.
    """

    rules: Rules
    key: int | None
    round_index: int
    hands: tuple[int, ...] | None
    leader: int | None
    plays: tuple[int, ...]
    places: tuple[int, ...] | None
    columns: tuple[int, ...] = ()


def format_record(record: RoundRecord) -> str:
    """The line of a record."""
    words = [FORMAT, rules_text(record.rules, PRESETS), f"p{record.rules.num_players}"]
    if record.hands is not None:
        words.append("hands=" + "/".join(format_cards(h, "") for h in record.hands))
    else:
        assert record.key is not None  # one of the two is always there
        words.append(key_text(record.key, record.round_index))
    if record.leader is not None:
        words.append(f"lead={record.leader}")
    words.append(":")
    words += [format_cards(play, "") or PASS_TEXT for play in record.plays]
    if record.places is not None:
        words += ["=", *map(str, record.places)]
    return " ".join(words)


class Words:
    """The blank-separated words of a line, with their columns.

    Args:
        text: one line.
        form: what the line must begin with, format and version.

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


def parse_record(text: str, rules: Rules | None = None) -> RoundRecord:
    """Read a line; the plays are not checked against the rules here (`Round.from_record` does).

    Args:
        text: one line as `format_record` writes it; more blanks do no harm.
        rules: the variant, needed where the line has only a digest; a named preset must agree with it.

    Raises:
        NotationError: anything that cannot be read; the message and `column` say where.
    """
    words = Words(text, FORMAT)
    variant = parse_rules(words, rules, _read_players, get_rules)
    key, round_index = parse_key(words)
    hands = None
    if key is None:
        hands = parse_hands(words, cards, variant.num_players, HAND_SIZE)
    leader = parse_leader(words, variant.num_players)
    plays, columns = parse_plays(words, _read_play)
    places = None
    if (found := parse_results(words, variant.num_players, "a place")) is not None:
        places = tuple(number(w, c, variant.num_players - 1, "a place") for w, c in found)
        if sorted(places) != list(range(variant.num_players)):
            raise NotationError("the places are not each seat's own", found[0][1])
    return RoundRecord(variant, key, round_index, hands, leader, plays, places, columns)


def _read_players(word: str, column: int) -> dict[str, int]:
    if not word.startswith("p"):
        raise NotationError(f"{word!r}: expected the number of players, like p4", column)
    return {"num_players": number(word[1:], column + 1, 4, "a number of players")}


def _read_play(word: str, column: int) -> int:
    mask = 0 if word == PASS_TEXT else parse_cards(word, column=column)
    if not mask and word != PASS_TEXT:
        raise NotationError(f"{word!r}: expected cards, or {PASS_TEXT} for a pass", column)
    return mask


# ---------------------------------------------------------------- what the records of all games share


def rules_text(rules: AnyRules, presets: Mapping[str, Any]) -> str:
    """How a line names rules: by their preset, or by ``#`` and their digest."""
    return rules.name if rules.name in presets else f"#{rules.digest()}"


def key_text(key: int, round_index: int) -> str:
    """How a line names a deal."""
    return f"key={key & (1 << 64) - 1:016x}.{round_index}"


def parse_rules(
    words: Words,
    rules: AnyRules | None,
    read_size: Callable[[str, int], dict[str, int]],
    find: Callable[..., Any],
) -> Any:
    """Take the words of the rules and of the table's size.

    Args:
        words: the line.
        rules: see `parse_record`.
        read_size: fields of the rules from a word like ``p4`` and its column.
        find: the rules of a name, or given ones, with these fields.

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


def parse_hands(words: Words, cards: ModuleType, num_players: int, most: int) -> tuple[int, ...]:
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
    """Take what each seat has at the end, as words with columns; None where the round is not over."""
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
        NotationError: it is none.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > highest:
        raise NotationError(f"{text!r}: expected {what} (0..{highest})", column)
    return int(text)
