"""The text record of a round: one line, read back exactly.

For example ``high_card/1 high_card p3 key=00000000000000ff.0 : 17 3 50 = 2 1 0``: the game and the version of
the format; the preset (or ``#`` and the digest of other rules); the players; the deal, as key and round or as
hands by seat and the game's other cards; who leads, if that was given; the plays; once the round is over each
seat's result. `Notation` writes plays as action ids (``17:3s3h``, with the cards, where players
choose them) and results as scores; a game that writes them in another way has a subclass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias

from tienlen_env.errors import NotationError, RulesError
from tienlen_env.games.common.cards import NOT_A_CARD, TWICE
from tienlen_env.games.common.game import AnyRules

MAX_ID: Final = 2**31 - 1
MAX_SHOWN: Final = 40  # characters of a word in a sentence
# The sentences about a line, for all who read one: Python, and the page of the table.
FAULTS: Final = {
    "lines": "a record is one line",
    "form": "{word!r}: expected {form}",
    "end": "the line ends where {what} was expected",
    "rules": "{word!r}: expected one of {names}",
    "size": "{word!r}: expected the number of {what}, like {example}",
    "number": "{word!r}: expected {what} (0..{highest})",
    "deal": "{word!r}: expected key= or hands=",
    "key": "expected key= with 16 hex digits, a dot and the round",
    "two hands": "{cards} in two hands",
    "hand size": "a hand has 1 to {most} cards",
    "hands": "{count} hands for {players} players",
    "starter": "{word!r}: expected cards, the starter first",
    "colon": "{word!r}: expected ':' before the plays",
    "card": NOT_A_CARD,
    "card twice": TWICE,
    "no cards": "{word!r}: expected cards, or {word_2} for a pass",
    "play": "{word!r}: expected {what}",
    "after": "{word!r} after the end of the record",
    "places": "the places are not each seat's own",
    "results": "the line says {found}, the plays lead to {results}",
}


def fault(name: str, column: int, word: str = "", **names: object) -> NotationError:
    """The error of a sentence of `FAULTS` at a column; a long word is cut."""
    return NotationError(FAULTS[name].format(word=word[:MAX_SHOWN], **names), column)


Recorded: TypeAlias = int | tuple[int, int]  # a play in a `Record`


@dataclass(frozen=True)
class Record:
    """The content of a line.

    Attributes:
        rules: the variant.
        key: the 64-bit deal key (signed), or None where hands are given.
        round_index: the round of the game that the key deals.
        hands: P card masks, or None where a key is given.
        leader: the seat that leads, or None where the deal decides.
        plays: in turn, as the game's `Notation` says: action ids, alone or with card masks, or card masks.
        results: each seat's place or points, or None while the round is not over.
        extra: masks of other cards by name, with hands (`Game.extra_hands`).
        columns: column of each play in the text, for error messages; empty for a record not read from text.
    """

    rules: AnyRules
    key: int | None
    round_index: int
    hands: tuple[int, ...] | None
    leader: int | None
    plays: tuple[Recorded, ...]
    results: tuple[int, ...] | None
    extra: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[int, ...] = ()


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
            raise fault("lines", 1 + len(text.splitlines()[0]))
        text = text.rstrip("\n")
        self.items = [(word.group(), word.start() + 1) for word in re.finditer(r"\S+", text)]
        self.end = len(text) + 1
        self.at = 0
        word, column = self.take(form)
        if word != form:
            raise fault("form", column, word, form=form)

    def peek(self) -> str:
        """The next word, empty at the end."""
        return self.items[self.at][0] if self.at < len(self.items) else ""

    def take(self, expected: str) -> tuple[str, int]:
        """The next word and its column.

        Raises:
            NotationError: the line has ended.
        """
        if self.at == len(self.items):
            raise fault("end", self.end, what=expected)
        self.at += 1
        return self.items[self.at - 1]

    def take_value(self, name: str) -> tuple[str, int] | None:
        """The value of the next word, if that is ``name=value``, and the value's column."""
        if not self.peek().startswith(f"{name}="):
            return None
        word, column = self.take(name)
        return word[len(name) + 1 :], column + len(name) + 1

    def take_size(self, example: str, what: str, highest: int) -> int:
        """The number of the next word, which is a letter and a number up to `highest`, like ``p4``."""
        word, column = self.take(f"the number of {what}")
        if not word.startswith(example[0]):
            raise fault("size", column, word, what=what, example=example)
        return number(word[1:], column + 1, highest, f"a number of {what}")


class Notation:
    """The format of a game's records.

    Args:
        name: the game's; a line begins with ``NAME/1``.
        find: the rules of a name, or given ones, with some fields replaced.
        cards: how the game writes cards: ``parse_cards(text)`` and ``format_cards(mask)``.
        presets: its rules that a line names; others are named by their digest.
        extra: names of the game's cards besides the hands (`Game.extra_hands`).
    """

    result: ClassVar[str] = "a score"  # of a seat at the end
    has_places: ClassVar[bool] = False  # results are each seat's own place
    pass_text: ClassVar[str] = ""  # of a play without cards, where plays are cards
    max_players: ClassVar[int] = 99

    def __init__(
        self,
        name: str,
        find: Callable[..., Any],
        cards: Any,
        presets: Mapping[str, AnyRules],
        extra: Sequence[str] = (),
    ) -> None:
        self.form, self.extra = f"{name}/1", extra
        # Rules check themselves when they are made: that took half of the time of a line.
        self._find, self._cards, self._presets = lru_cache(maxsize=64)(find), cards, presets

    def cards_text(self, mask: int) -> str:
        """How a line writes cards."""
        return str(self._cards.format_cards(mask)).replace(" ", "")

    def parse_cards(self, text: str, column: int) -> int:
        """The mask of cards that begin in a column.

        Raises:
            NotationError: not cards.
        """
        try:
            return int(self._cards.parse_cards(text))
        except ValueError as error:
            at = error.column if isinstance(error, NotationError) else 1
            raise NotationError(error.args[0], column + at - 1) from None

    # ------------------------------------------------------------ what games write in their own way

    def size_words(self, rules: Any) -> list[str]:
        """How a line writes the size of the table."""
        return [f"p{rules.num_players}"]

    def parse_size(self, words: Words) -> dict[str, int]:
        """Take what `size_words` writes: fields of the rules."""
        return {"num_players": words.take_size("p4", "players", self.max_players)}

    @property
    def written_extra(self) -> list[tuple[str, str, str]]:
        """The words of `extra_words`: each with its set of cards, and the set that is written first in it."""
        return [(name, name, "") for name in self.extra]

    def hand_size(self, rules: Any) -> int:
        """The most cards of a hand."""
        return 64

    def extra_words(self, extra: Mapping[str, int]) -> list[str]:
        """How a line writes the cards beside the hands."""
        return [f"{name}={self.cards_text(mask)}" for name, mask in extra.items()]

    def parse_extra(self, words: Words) -> dict[str, int]:
        """Take what `extra_words` writes."""
        extra = {}
        for word, name, first in self.written_extra:
            if (found := words.take_value(word)) is not None:
                extra[name] = self.parse_cards(*found)
                if first:
                    extra[first] = self.first_card(*found)
        return extra

    def first_card(self, text: str, column: int) -> int:
        """The card that a text begins with; of a game whose `written_extra` names such a set."""
        raise NotImplementedError

    def play_text(self, rules: Any, play: Any) -> str:
        """How a line writes a play."""
        if not isinstance(play, tuple):
            return str(play)
        action, cards = play
        return f"{action}:{self.cards_text(cards)}"

    def parse_play(self, rules: Any, word: str, column: int = 1) -> Recorded:
        """The play that `play_text` writes so.

        Raises:
            NotationError: not a play.
        """
        text, colon, cards = word.partition(":")
        action = number(text, column, MAX_ID, "an action id")
        if not colon:
            return action
        return action, self.parse_cards(cards, column + len(text) + 1) if cards else 0

    # ------------------------------------------------------------ lines

    def format(self, record: Record) -> str:
        """The line of a record."""
        rules = record.rules
        words = [self.form, rules.name if rules.name in self._presets else f"#{rules.digest()}"]
        words += self.size_words(rules)
        if record.hands is not None:
            words.append("hands=" + "/".join(map(self.cards_text, record.hands)))
            words += self.extra_words(record.extra)
        else:
            assert record.key is not None  # a record has a key or hands
            words.append(f"key={record.key & (1 << 64) - 1:016x}.{record.round_index}")
        if record.leader is not None:
            words.append(f"lead={record.leader}")
        words += [":", *(self.play_text(rules, play) for play in record.plays)]
        if record.results is not None:
            words += ["=", *map(str, record.results)]
        return " ".join(words)

    def parse(self, text: str, rules: AnyRules | None = None) -> Record:
        """Read a line; the plays are not checked against the rules here (`BaseRound.from_record` does).

        Args:
            text: one line as `format` writes it; additional blanks are ignored.
            rules: the variant, needed if the line has only a digest; a named preset must agree with it.

        Raises:
            NotationError: anything that cannot be read; the message and `column` have the position.
        """
        words = Words(text, self.form)
        variant = self._parse_rules(words, rules)
        (key, round_index), hands, extra = _parse_key(words), None, {}
        if key is None:
            hands = self._parse_hands(words, variant)
            extra = self.parse_extra(words)
        leader = words.take_value("lead")
        seat = None if leader is None else number(*leader, variant.num_players - 1, "a seat")
        word, column = words.take("':'")
        if word != ":":
            raise fault("colon", column, word)
        plays, columns = [], []
        while words.peek() not in ("", "="):
            word, column = words.take("a play")
            plays.append(self.parse_play(variant, word, column))
            columns.append(column)
        results = self.parse_results(words, variant.num_players)
        return Record(
            variant, key, round_index, hands, seat, tuple(plays), results, extra, columns=tuple(columns)
        )

    def _parse_rules(self, words: Words, rules: AnyRules | None) -> AnyRules:
        name, column = words.take("the rules")
        size = self.parse_size(words)
        try:
            if name.startswith("#"):
                if rules is None:
                    raise NotationError(f"{name}: these are not preset rules; give rules=", column)
                found: AnyRules = self._find(rules, **size)
                if name[1:] != found.digest():
                    raise NotationError(f"{name}: the given rules have the digest {found.digest()}", column)
                return found
            if name not in self._presets:
                raise fault("rules", column, name, names=", ".join(self._presets))
            found = self._find(name, **size)
            if rules is not None and found != self._find(rules, **size):
                raise NotationError(f"{name}: other rules were given", column)
            return found
        except RulesError as error:
            raise NotationError(str(error), column) from None
        except TypeError:  # the size has fields that these rules lack
            raise NotationError(f"{name[:40]!r}: not rules of the game of this record", column) from None

    def _parse_hands(self, words: Words, rules: AnyRules) -> tuple[int, ...]:
        """Take the hands by seat, none of them empty."""
        found = words.take_value("hands")
        if found is None:
            word, column = words.take("key= or hands=")
            raise fault("deal", column, word)
        text, column = found
        hands, seen, most = [], 0, self.hand_size(rules)
        for part in text.split("/"):
            hand = self.parse_cards(part, column)
            if hand & seen:
                raise fault("two hands", column, cards=self._cards.format_cards(hand & seen))
            if not 1 <= hand.bit_count() <= most:
                raise fault("hand size", column, most=most)
            seen |= hand
            hands.append(hand)
            column += len(part) + 1
        if len(hands) != rules.num_players:
            raise fault("hands", column - 1, count=len(hands), players=rules.num_players)
        return tuple(hands)

    def parse_results(self, words: Words, num_players: int) -> tuple[int, ...] | None:
        """Take the results of the seats; None if the round is not over."""
        if not words.peek():
            return None
        words.take("'='")
        found = [words.take(self.result) for _ in range(num_players)]
        if words.peek():
            word, column = words.take("")
            raise fault("after", column, word)
        return tuple(self.parse_result(word, column, num_players) for word, column in found)

    def parse_result(self, word: str, column: int, num_players: int) -> int:
        """The result of a seat.

        Raises:
            NotationError: not a number.
        """
        return (-1 if word.startswith("-") else 1) * number(
            word.removeprefix("-"), column, MAX_ID, self.result
        )


def _parse_key(words: Words) -> tuple[int | None, int]:
    """Take the key (signed) and the round of a deal; None and 0 where hands are given instead."""
    found = words.take_value("key")
    if found is None:
        return None, 0
    text, column = found
    digits, dot, round_text = text.partition(".")
    if not _HEX_KEY.fullmatch(digits) or not dot:
        raise fault("key", column)
    return read_key(digits), number(round_text, column + 17, MAX_ID, "a round")


_HEX_KEY: Final = re.compile("[0-9a-f]{16}")


def read_key(text: str) -> int:
    """The deal key that a person or a record writes, signed.

    Args:
        text: 16 hexadecimal digits, as in records; or an integer of 64 bits, ``"7"``, ``"-1"``, ``"0x7"``.

    Raises:
        NotationError: anything else.
    """
    try:
        key = int(text, 16) if _HEX_KEY.fullmatch(text) else int(text, 0)
    except ValueError:
        key = 2**64
    if not -(2**63) <= key < 2**64:
        raise NotationError(f"{text[:40]!r}: expected 16 hexadecimal digits, or an integer of 64 bits", 1)
    return key - (key >> 63 << 64) if key >= 0 else key


def number(text: str, column: int, highest: int, what: str) -> int:
    """Read a number from 0 to `highest`.

    Raises:
        NotationError: not such a number.
    """
    if not text.isascii() or not text.isdigit() or len(text) > 10 or int(text) > highest:
        raise fault("number", column, text, what=what, highest=highest)
    return int(text)
