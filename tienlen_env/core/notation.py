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
from dataclasses import dataclass
from typing import Final

from tienlen_env.core.cards import format_cards, parse_cards
from tienlen_env.core.rules import PRESETS, Rules, get_rules
from tienlen_env.errors import NotationError, RulesError

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
    name = record.rules.name
    words = [FORMAT, name if name in PRESETS else f"#{record.rules.digest()}", f"p{record.rules.num_players}"]
    if record.hands is not None:
        words.append("hands=" + "/".join(format_cards(h, "") for h in record.hands))
    else:
        assert record.key is not None  # one of the two is always there
        words.append(f"key={record.key & (1 << 64) - 1:016x}.{record.round_index}")
    if record.leader is not None:
        words.append(f"lead={record.leader}")
    words.append(":")
    words += [format_cards(cards, "") or PASS_TEXT for cards in record.plays]
    if record.places is not None:
        words += ["=", *map(str, record.places)]
    return " ".join(words)


class _Words:
    """The blank-separated words of a line, with their columns."""

    def __init__(self, text: str) -> None:
        self.items = [(word.group(), word.start() + 1) for word in re.finditer(r"\S+", text)]
        self.end = len(text) + 1
        self.at = 0

    def peek(self) -> str:
        return self.items[self.at][0] if self.at < len(self.items) else ""

    def take(self, expected: str) -> tuple[str, int]:
        if self.at == len(self.items):
            raise NotationError(f"the line ends where {expected} was expected", self.end)
        self.at += 1
        return self.items[self.at - 1]


def parse_record(text: str, rules: Rules | None = None) -> RoundRecord:
    """Read a line; the plays are not checked against the rules here (`Round.from_record` does).

    Args:
        text: one line as `format_record` writes it; more blanks do no harm.
        rules: the variant, needed where the line has only a digest; a named preset must agree with it.

    Raises:
        NotationError: anything that cannot be read; the message and `column` say where.
    """
    if not isinstance(text, str):
        raise NotationError(f"expected text, got {type(text).__name__}", 1)
    if "\n" in text.strip("\n") or "\r" in text:
        raise NotationError("a record is one line", 1 + len(text.splitlines()[0]))
    words = _Words(text.rstrip("\n"))
    word, column = words.take(FORMAT)
    if word != FORMAT:
        raise NotationError(f"{word!r}: expected {FORMAT}", column)
    variant = _parse_rules(words, rules)
    key, round_index, hands = _parse_deal(words, variant.num_players)
    leader = None
    if words.peek().startswith("lead="):
        word, column = words.take("lead=")
        leader = _number(word[5:], column + 5, variant.num_players - 1, "a seat")
    word, column = words.take("':'")
    if word != ":":
        raise NotationError(f"{word!r}: expected ':' before the plays", column)
    plays, columns = [], []
    while words.peek() not in ("", "="):
        word, column = words.take("a play")
        cards = 0 if word == PASS_TEXT else parse_cards(word, column=column)
        if not cards and word != PASS_TEXT:
            raise NotationError(f"{word!r}: expected cards, or {PASS_TEXT} for a pass", column)
        plays.append(cards)
        columns.append(column)
    places = None
    if words.peek() == "=":
        words.take("'='")
        found = [words.take("a place") for _ in range(variant.num_players)]
        places = tuple(_number(w, c, variant.num_players - 1, "a place") for w, c in found)
        if sorted(places) != list(range(variant.num_players)):
            raise NotationError("the places are not each seat's own", found[0][1])
        if words.peek():
            word, column = words.take("")
            raise NotationError(f"{word!r} after the end of the record", column)
    return RoundRecord(variant, key, round_index, hands, leader, tuple(plays), places, tuple(columns))


def _parse_rules(words: _Words, rules: Rules | None) -> Rules:
    name, name_column = words.take("the rules")
    word, column = words.take("the number of players")
    if not word.startswith("p"):
        raise NotationError(f"{word!r}: expected the number of players, like p4", column)
    num_players = _number(word[1:], column + 1, 4, "a number of players")
    try:
        if name.startswith("#"):
            if rules is None:
                raise NotationError(f"{name}: these are not preset rules; give rules=", name_column)
            found = get_rules(rules, num_players)
            if name[1:] != found.digest():
                raise NotationError(f"{name}: the given rules have the digest {found.digest()}", name_column)
            return found
        found = get_rules(name, num_players)
        if rules is not None and found != get_rules(rules, num_players):
            raise NotationError(f"{name}: other rules were given", name_column)
        return found
    except RulesError as error:
        raise NotationError(str(error), name_column) from None


def _parse_deal(words: _Words, num_players: int) -> tuple[int | None, int, tuple[int, ...] | None]:
    word, column = words.take("key= or hands=")
    if word.startswith("key="):
        digits, dot, number = word[4:].partition(".")
        if len(digits) != 16 or any(d not in "0123456789abcdef" for d in digits) or not dot:
            raise NotationError("expected key= with 16 hex digits, a dot and the round", column + 4)
        unsigned = int(digits, 16)
        round_index = _number(number, column + 5 + len(digits), 2**31 - 1, "a round")
        return unsigned - (unsigned >> 63 << 64), round_index, None
    if not word.startswith("hands="):
        raise NotationError(f"{word!r}: expected key= or hands=", column)
    hands, seen, column = [], 0, column + 6
    for text in word[6:].split("/"):
        hand = parse_cards(text, column=column)
        if hand & seen:
            raise NotationError(f"{format_cards(hand & seen)} in two hands", column)
        if not 1 <= hand.bit_count() <= 13:
            raise NotationError("a hand has 1 to 13 cards", column)
        seen |= hand
        hands.append(hand)
        column += len(text) + 1
    if len(hands) != num_players:
        raise NotationError(f"{len(hands)} hands for {num_players} players", column - 1)
    return None, 0, tuple(hands)


def _number(text: str, column: int, highest: int, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > highest:
        raise NotationError(f"{text!r}: expected {what} (0..{highest})", column)
    return int(text)
