"""What JavaScript must know to show a game and to write its records: where facts lie in a row, and words.

The value of a game is the object ``WORDS`` of the module of this package with the game's name, or one that
another package registers. It says in data what `tienlen_env.single` does in Python; a test compares what both
write at every decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

from tienlen_env.games.common import cards
from tienlen_env.games.common.game import ActionTable, AnyRules
from tienlen_env.single.by_game import ByGame

Kind = Literal[
    "cards", "seat", "optional_seat", "seat_mask", "each_cards", "each_bits", "order", "suit", "common"
]


class Fact(NamedTuple):
    """A public fact of a position, of `tienlen_env.single.messages`.

    Attributes:
        name: its name there.
        kind: what the column holds: a mask of ``cards``; a ``seat``, or an ``optional_seat`` below 0 for
            none; a mask of seats (``seat_mask``); for each seat a mask (``each_cards``) or a number of
            `bits` bits (``each_bits``); card ids plus 1 of 6 bits each in their ``order``; the ``suit`` of
            the lowest card of a mask. ``common``: no column, but the cards that all legal plays of the
            observing seat have in common.
        column: of the row.
        bits: of a number; 0 for all, with its sign.
        unless: columns; the fact is empty if one of them is not 0.
        if_negative: a column; the fact is empty unless it is below 0. -1: no such condition.
        within: a column with a mask of seats; a `seat_mask` has only seats of it. -1: no such condition.
    """

    name: str
    kind: Kind
    column: int = -1
    bits: int = 0
    unless: tuple[int, ...] = ()
    if_negative: int = -1
    within: int = -1


def _action_texts(rules: AnyRules, table: ActionTable) -> list[str]:
    return [table.text(action) for action in range(table.num_actions)]


class PaymentWords(NamedTuple):
    """Where a row has the payments of a round: a list of numbers, whose bits are the fields.

    Attributes:
        first: column of the first payment.
        number: column of their number.
        fields: shift and number of bits of ``payer``, ``payee``, ``amount`` and ``cause``; 0: all others.
        causes: the names of the causes.
    """

    first: int
    number: int
    fields: dict[str, tuple[int, int]]
    causes: Sequence[str]


class GameWords(NamedTuple):
    """The words of a game; this class without arguments is for games without their own.

    Attributes:
        record: the first word of its records; "" if it has none.
        card_texts: by card id.
        card_order: card ids in the order of a written set of cards.
        suit_texts: of suits, for facts of this kind.
        facts: the public facts.
        size: the words of a record for the size of the table.
        play_texts: the text of each action in views; None: the cards of the play.
        play_words: the same in records.
        named_plays: the texts, in views and records, of actions without cards that are not a pass.
        payments: where a row has the payments of its round; None: the rules have none.
        result_column: first of the columns of the results in a record.
        undealt_column: of the cards in no hand, for records with hands; -1 in a game without these.
        next_leader: whether the seat that is first leads the next round; else the deal decides.
        find_action: ``(spec, actions, cards)``: the action of exactly these cards, -1 for none; None in a
            game whose actions stand for one set of cards.
        can_extend: ``(actions, action, cards, selected)``: whether the selected cards are a part of some
            cards of the action, whose own are `cards`; None as `find_action`.
    """

    record: str = ""
    card_texts: Sequence[str] = cards.CARD_TEXT
    card_order: Sequence[int] = range(cards.NUM_CARDS)
    suit_texts: Sequence[str] = cards.SUIT_TEXT
    facts: tuple[Fact, ...] = ()
    size: Callable[[Any], list[str]] = lambda rules: [f"p{rules.num_players}"]
    play_texts: Callable[[Any, ActionTable], list[str] | None] = _action_texts
    play_words: Callable[[Any, ActionTable], list[str] | None] = lambda rules, table: None
    named_plays: Callable[[Any, ActionTable], dict[int, str]] = lambda rules, table: {}
    payments: Callable[[Any, Sequence[int]], PaymentWords | None] = lambda rules, spec: None
    result_column: int = -1
    undealt_column: int = -1
    next_leader: Callable[[Any], bool] = lambda rules: False
    find_action: Callable[..., int] | None = None
    can_extend: Callable[..., bool] | None = None


_WORDS: Final[ByGame[GameWords]] = ByGame("tienlen_agents.wasm", "WORDS", GameWords())


def register_words(game: str, words: GameWords) -> None:
    """Set the words of a game of another package, by the game's name."""
    _WORDS.register(game, words)


def words_named(game: str) -> GameWords:
    """The words of a game, by its name."""
    return _WORDS.named(game)
