"""The record of a round of a game without a format of its own: one line of text.

For example ``high_card/1 high_card p3 key=00000000000000ff.0 : 17 3 50 = 2 1 0``: the game and the version of
the format; the preset (or ``#`` and the digest of other rules); the players; the deal, as key and round or as
hands by seat and the game's other cards; who leads, if that was given; the plays as action ids; at the end
each seat's points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tienlen_env.errors import NotationError
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.notation import (
    Words,
    key_text,
    number,
    parse_key,
    parse_leader,
    parse_plays,
    parse_results,
    parse_rules,
    rules_text,
)
from tienlen_env.games.registry import PRESETS, game_of, get_rules


class Record(NamedTuple):
    """The content of a line.

    Attributes:
        rules: the variant.
        key: the 64-bit deal key (signed), or None where hands are given.
        round_index: the round of the game that the key deals.
        given: the texts of the hands by seat and of other cards by name, or None where a key is given.
        leader: the seat that leads, or None.
        plays: action ids in turn.
        columns: column of each play in the text.
        results: each seat's points, or None while the round is not over.
        results_column: their column.
    """

    rules: AnyRules
    key: int | None
    round_index: int
    given: tuple[list[str], dict[str, str]] | None
    leader: int | None
    plays: tuple[int, ...]
    columns: tuple[int, ...]
    results: tuple[int, ...] | None
    results_column: int


def write(
    game: AnyGame,
    rules: AnyRules,
    key: int | None,
    round_index: int,
    given: Mapping[str, Sequence[int]] | None,
    leader: int | None,
    plays: Sequence[int],
    results: Sequence[int] | None,
) -> str:
    """The line of a record; the arguments as in `Record`, cards as masks."""
    words = [f"{game.name}/1", rules_text(rules, PRESETS), f"p{rules.num_players}"]
    if given is None:
        assert key is not None  # a round has a key or hands
        words.append(key_text(key, round_index))
    else:
        for name, cards in given.items():
            texts = (game.text.format_cards(mask).replace(" ", "") for mask in cards)
            words.append(f"{name}=" + "/".join(texts))
    if leader is not None:
        words.append(f"lead={leader}")
    words += [":", *map(str, plays)]
    if results is not None:
        words += ["=", *map(str, results)]
    return " ".join(words)


def read(text: str, rules: AnyRules | None) -> Record:
    """Read a line; the plays are not checked against the rules here.

    Args:
        text: one line.
        rules: the variant, needed if the line has only its digest.

    Raises:
        NotationError: text that cannot be read; the message has the column.
    """
    name = text.lstrip().partition("/")[0] if isinstance(text, str) else ""
    words = Words(text, f"{name}/1")
    found = parse_rules(words, rules, _read_players, get_rules)
    if game_of(found).name != name:
        raise NotationError(f"{found.name}: not rules of the game {name!r}", 1)
    key, round_index = (None, 0) if words.peek().startswith("hands=") else parse_key(words)
    given: tuple[list[str], dict[str, str]] | None = None
    if key is None:
        value = words.take_value("hands")
        if value is None:
            raise NotationError("expected key= or hands=", words.items[words.at - 1][1])
        given = value[0].split("/"), {}
    while given is not None and "=" in words.peek() and not words.peek().startswith(("=", "lead=")):
        other, _, cards = words.take("cards")[0].partition("=")
        given[1][other] = cards
    leader = parse_leader(words, found.num_players)
    plays, columns = parse_plays(words, lambda w, c: number(w, c, 2**31 - 1, "an action id"))
    results, column = parse_results(words, found.num_players, "a score"), 1
    points = None
    if results is not None:
        points = tuple(_read_points(*word) for word in results)
        column = results[0][1]
    return Record(found, key, round_index, given, leader, plays, columns, points, column)


def _read_players(word: str, column: int) -> dict[str, int]:
    if not word.startswith("p"):
        raise NotationError(f"{word!r}: expected the number of players, like p4", column)
    return {"num_players": number(word[1:], column + 1, 99, "a number of players")}


def _read_points(word: str, column: int) -> int:
    sign = -1 if word.startswith("-") else 1
    return sign * number(word.removeprefix("-"), column, 2**31 - 1, "a score")
