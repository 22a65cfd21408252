"""The text record of a round: one line, read back exactly.

Example lines:

    tienlen/1 cardgames p4 key=00000000000000ff.0 : 3s3h - 5c5d - - ... = 1 0 3 2
    tienlen/1 cardgames p4 key=00000000000000ff.1 lead=1 : 4s5d6c - - -
    tienlen/1 foicica p2 hands=3s4c5d/6h7h8h : 3s4c5d 6h7h8h = 1 0

Format and version; the preset (or ``#`` and the digest of other rules); the players; the deal, as key and
round or as hands by seat; who leads, where that is not the holder of the opening card; then the plays in
turn, ``-`` for a pass, ``declare`` for an instant win; and, once the round is over, each seat's place from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tienlen_env.errors import NotationError
from tienlen_env.games.common import cards
from tienlen_env.games.common.cards import HAND_SIZE, format_cards, parse_cards
from tienlen_env.games.common.notation import (
    Words,
    key_text,
    number,
    parse_hands,
    parse_key,
    parse_leader,
    parse_plays,
    parse_results,
    parse_rules,
    rules_text,
)
from tienlen_env.games.tienlen.rules import PRESETS, Rules, get_rules

FORMAT: Final = "tienlen/1"
PASS_TEXT: Final = "-"
DECLARE_TEXT: Final = "declare"
DECLARED: Final = -1  # in `RoundRecord.plays`: the declaration of an instant win


@dataclass(frozen=True)
class RoundRecord:
    """The content of a line.

    Attributes:
        rules: the variant.
        key: the 64-bit deal key (signed), or None where hands are given.
        round_index: the round of the game that the key deals.
        hands: P card masks, or None where a key is given.
        leader: the seat that leads freely; None: the holder of the opening card.
        plays: card masks in turn, 0 for a pass, `DECLARED` for an instant win.
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
        assert record.key is not None  # a record has a key or hands
        words.append(key_text(record.key, record.round_index))
    if record.leader is not None:
        words.append(f"lead={record.leader}")
    words.append(":")
    words += [DECLARE_TEXT if p == DECLARED else format_cards(p, "") or PASS_TEXT for p in record.plays]
    if record.places is not None:
        words += ["=", *map(str, record.places)]
    return " ".join(words)


def parse_record(text: str, rules: Rules | None = None) -> RoundRecord:
    """Read a line; the plays are not checked against the rules here (`Round.from_record` does).

    Args:
        text: one line as `format_record` writes it; additional blanks are ignored.
        rules: the variant, needed if the line has only a digest; a named preset must agree with it.

    Raises:
        NotationError: anything that cannot be read; the message and `column` have the position.
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
    if word == DECLARE_TEXT:
        return DECLARED
    mask = 0 if word == PASS_TEXT else parse_cards(word, column=column)
    if not mask and word != PASS_TEXT:
        raise NotationError(f"{word!r}: expected cards, or {PASS_TEXT} for a pass", column)
    return mask
