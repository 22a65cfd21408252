"""The text record of a deal of Thirteens: one line, read back exactly.

Example lines:

    thirteens/1 thirteens p4 j1 key=00000000000000ff.0 : Ks 3s 4s 5s ... = 12 3 9 -1
    thirteens/1 thirteens_manual p3 j2 hands=KcAd/Ac9h/3c*1 lead=0 : Kc Ac 3c K end ...
    thirteens/1 thirteens_dummy p3 j1 hands=3s/5s/7s dummy=Kh aside=2d lead=0 :

Format and version; the preset (or ``#`` and the digest of other rules); the players and the jokers; the deal,
as key and round, or as hands by seat with the dummy's and what goes with the first trick, its starter first;
who leads, where that is not eldest by the key; then the plays: cards, and where melds are declared ``6+5+2``,
``5&5``, ``J-Q-K`` and ``end``; and, once the deal is over, each seat's points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tienlen_env.errors import NotationError, RulesError
from tienlen_env.games.common import notation
from tienlen_env.games.common.notation import Words
from tienlen_env.games.thirteens import cards
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.cards import CARD_TEXT, MAX_JOKERS, NUM_CARDS, format_cards, parse_cards
from tienlen_env.games.thirteens.rules import MAX_PLAYERS, PRESETS, ThirteensRules

FORMAT: Final = "thirteens/1"


@dataclass(frozen=True)
class DealRecord:
    """What a line says.

    Attributes:
        rules: the variant.
        key: the 64-bit deal key (signed), or None where hands are given.
        round_index: the deal of the game that the key deals.
        hands: P card masks, or None where a key is given.
        dummy: mask of the dummy's hand, with hands.
        remainder: mask of what goes with the first trick, with hands.
        starter: mask of that card of it which was flipped first, with hands.
        leader: the seat that leads; None: eldest by the key.
        plays: action ids in turn.
        points: each seat's points, or None while the deal is not over.
        columns: column of each play in the text, for error messages; empty for a record not read from text.
    """

    rules: ThirteensRules
    key: int | None
    round_index: int
    hands: tuple[int, ...] | None
    dummy: int
    remainder: int
    starter: int
    leader: int | None
    plays: tuple[int, ...]
    points: tuple[int, ...] | None
    columns: tuple[int, ...] = ()


def format_record(record: DealRecord) -> str:
    """The line of a record."""
    rules = record.rules
    words = [FORMAT, notation.rules_text(rules, PRESETS), f"p{rules.num_players}", f"j{rules.jokers}"]
    if record.hands is not None:
        words.append("hands=" + "/".join(format_cards(h, "") for h in record.hands))
        if record.dummy:
            words.append("dummy=" + format_cards(record.dummy, ""))
        if record.remainder:
            others = record.remainder & ~record.starter
            words.append("aside=" + format_cards(record.starter, "") + format_cards(others, ""))
    else:
        assert record.key is not None  # one of the two is always there
        words.append(notation.key_text(record.key, record.round_index))
    if record.leader is not None:
        words.append(f"lead={record.leader}")
    words.append(":")
    words += [play_text(rules, action) for action in record.plays]
    if record.points is not None:
        words += ["=", *map(str, record.points)]
    return " ".join(words)


def play_text(rules: ThirteensRules, action: int) -> str:
    """How a line writes an action, without blanks: ``"Kd"``, ``"6+5+2"``, ``"5&5"``."""
    return build_action_table(rules).text(action).removeprefix("meld ").replace(" ", "&")


def parse_play(rules: ThirteensRules, text: str, column: int = 1) -> int:
    """The action that `play_text` writes so.

    Raises:
        NotationError: not a play.
    """
    table = build_action_table(rules)
    name = text.replace("&", " ")
    for prefix in ("", "meld ") if table.melds else ("",):
        try:
            return table.find(prefix + name)
        except ValueError:
            continue
    raise NotationError(f"{text!r}: expected a card{', a meld or end' if table.melds else ''}", column)


def parse_record(text: str, rules: ThirteensRules | None = None) -> DealRecord:
    """Read a line; the plays are not checked against the rules here (`Deal.from_record` does).

    Args:
        text: one line as `format_record` writes it; more blanks do no harm.
        rules: the variant, needed where the line has only a digest; a named preset must agree with it.

    Raises:
        NotationError: anything that cannot be read; the message and `column` say where.
    """
    words = Words(text, FORMAT)
    variant: ThirteensRules = notation.parse_rules(
        words, rules, lambda word, column: _read_size(words, word, column), _find
    )
    key, round_index = notation.parse_key(words)
    hands, dummy, remainder, starter = None, 0, 0, 0
    if key is None:
        hands = notation.parse_hands(words, cards, variant.num_players, variant.hand_size)
        if (found := words.take_value("dummy")) is not None:
            dummy = parse_cards(found[0], column=found[1])
        if (found := words.take_value("aside")) is not None:
            remainder = parse_cards(found[0], column=found[1])
            first = next((name for name in CARD_TEXT if found[0].startswith(name)), "")
            if not first:
                raise NotationError(f"{found[0]!r}: expected cards, the starter first", found[1])
            starter = parse_cards(first)
    leader = notation.parse_leader(words, variant.num_players)
    plays, columns = notation.parse_plays(words, lambda word, column: parse_play(variant, word, column))
    points = None
    if (results := notation.parse_results(words, variant.num_players, "points")) is not None:
        points = tuple(_read_points(word, column) for word, column in results)
    return DealRecord(
        variant, key, round_index, hands, dummy, remainder, starter, leader, plays, points, columns
    )


def _find(rules: str | ThirteensRules, **size: int) -> ThirteensRules:
    if isinstance(rules, str) and rules not in PRESETS:
        raise RulesError(f"rules={rules!r}: expected one of {', '.join(PRESETS)}")
    return replace(PRESETS[rules] if isinstance(rules, str) else rules, **size)  # type: ignore[arg-type]


def _read_size(words: Words, word: str, column: int) -> dict[str, int]:
    if not word.startswith("p"):
        raise NotationError(f"{word!r}: expected the number of players, like p4", column)
    players = notation.number(word[1:], column + 1, MAX_PLAYERS, "a number of players")
    word, column = words.take("the number of jokers")
    if not word.startswith("j"):
        raise NotationError(f"{word!r}: expected the number of jokers, like j1", column)
    jokers = notation.number(word[1:], column + 1, MAX_JOKERS, "a number of jokers")
    return {"num_players": players, "jokers": jokers}


def _read_points(word: str, column: int) -> int:
    sign = -1 if word.startswith("-") else 1
    return sign * notation.number(word.removeprefix("-"), column, 16 * NUM_CARDS, "points")
