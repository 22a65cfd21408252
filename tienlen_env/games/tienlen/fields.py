"""The values of fields of the rules: shapes of combinations, what is paid, decks; and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from operator import index
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args

from tienlen_env.errors import NotationError, RulesError, check_word
from tienlen_env.games.common.cards import FULL_DECK, NUM_CARDS, format_cards, parse_cards
from tienlen_env.games.common.rules import (
    Constraint,
    Constraints,
    Readers,
    as_bool,
    as_int,
    as_ints,
    check,
    read_fields,
)

MAX_PAYMENT: Final = 1_000  # so that a round's payments stay exact in float32
KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")


class Shape(NamedTuple):
    """The shape of a combination, written ``n×m``: `length` consecutive ranks, `width` cards of each."""

    width: int
    length: int

    @property
    def num_cards(self) -> int:
        """Cards in a combination of this shape."""
        return self.width * self.length

    def __str__(self) -> str:
        return f"{self.width}x{self.length}"


Shapes = tuple[Shape, ...]
Prices = tuple[tuple[Shape, int], ...]
Chops = tuple[tuple[int, Shapes], ...]
InstantWin = Literal[
    "dragon",
    "four_twos",
    "five_pair_run",
    "six_pairs",
    "one_suit",
    "one_colour",
    "four_threes",
    "three_triples",
    "triple_run",
    "three_quads",
]
SINGLE: Final = Shape(1, 1)
PAIR: Final = Shape(2, 1)
TRIPLE: Final = Shape(3, 1)
QUAD: Final = Shape(4, 1)


def _as_shape(field: str, value: Any) -> Shape:
    parts = value.lower().replace("×", "x").split("x") if isinstance(value, str) else value
    try:
        width, length = (int(p) if isinstance(p, str) else index(p) for p in parts)
    except (TypeError, ValueError):
        raise RulesError(f"{field}: {value!r} is not a shape; expected one like '2x3'") from None
    return Shape(width, length)


def _as_shapes(field: str, values: Any) -> Shapes:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RulesError(f"{field}={values!r}: expected shapes like '2x3'")
    return _each_once(field, tuple(_as_shape(field, v) for v in values))


def _as_words(field: str, values: Any) -> tuple[InstantWin, ...]:
    known = get_args(InstantWin)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RulesError(f"{field}={values!r}: expected words like {known[0]!r}")
    words = tuple(values)
    for word in words:
        check_word(field, word, known, error=RulesError)
    return _each_once(field, words)


def _as_chops(field: str, value: Any) -> Chops:
    return _as_pairs(field, value, as_int, _as_shapes, "{number of 2s: shapes}")


def _as_prices(field: str, value: Any) -> Prices:
    return _as_pairs(field, value, _as_shape, as_int, "{shape: units}")


def _as_pairs(
    field: str,
    value: Any,
    read_key: Callable[[str, Any], KeyT],
    read_item: Callable[[str, Any], ItemT],
    form: str,
) -> tuple[tuple[KeyT, ItemT], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        found = [(read_key(field, key), read_item(field, item)) for key, item in pairs]
    except RulesError:
        raise
    except (TypeError, ValueError):
        raise RulesError(f"{field}={value!r}: expected {form}") from None
    _each_once(field, tuple(key for key, _ in found))
    return tuple(sorted(found))


def _each_once(field: str, values: tuple[ItemT, ...]) -> tuple[ItemT, ...]:
    twice = next((value for at, value in enumerate(values) if value in values[:at]), None)
    if twice is not None:
        raise RulesError(f"{field}: {twice} comes twice")
    return values


def deck_of(ranks: str, suits: str = "scdh") -> str:
    """The deck of some ranks in some suits, for `Rules.deck`: ``deck_of("3456", "sc")``.

    Raises:
        RulesError: text that is not ranks or suits.
    """
    return _as_deck("deck", " ".join(rank + suit for rank in ranks for suit in suits))


def _as_deck(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise RulesError(f"{field}={value!r}: expected cards like '3s 3c 4s 4c', or '' for all {NUM_CARDS}")
    try:
        cards = parse_cards(value)
    except NotationError as error:
        raise RulesError(f"{field}: {error}") from None
    return "" if cards == FULL_DECK else format_cards(cards)


READERS: Final[Readers] = MappingProxyType(
    {
        bool: as_bool,
        int: as_int,
        str: _as_deck,
        tuple[int, ...]: as_ints,
        tuple[int, int]: as_ints,
        tuple[int, int, int]: as_ints,
        Shapes: _as_shapes,
        Prices: _as_prices,
        Chops: _as_chops,
        tuple[InstantWin, ...]: _as_words,
    }
)


@dataclass(frozen=True, kw_only=True)
class Payments:
    """What is paid, in whole units: the fields ``pay_...`` are amounts, the others say who pays for what.

    Attributes:
        pay_places: units that the last pays the first, and the one before the last the second (4.8).
        pay_card: units for each card left, to the first (4.16).
        pay_held_twos: units for a black and for a red 2 in hand at the end; in place of `pay_card`.
        pay_held_bombs: bomb shapes to the units for one in hand at the end; any mapping, or its items.
            A longer sequence counts as the longest one here that is in it. In place of `pay_card`.
        held_overlap: bombs in hand that share cards: ``"dearest"`` the choice without common cards that
            costs most; ``"quads_first"`` all four of a kind, then the dearest of the rest.
        held_to: who gets `pay_held_twos` and `pay_held_bombs`: ``"next"`` the next better place (the first,
            from a player who is cong); ``"first"`` the first (4.10).
        pay_cong: units of a cong player to the first, in place of its cards; 0: a player is never cong.
        cong_held: 2s and bombs that a cong player holds: ``"added"`` they are paid besides `pay_cong`;
            ``"replaced"`` only what they cost above `pay_card` a card.
        pay_chop_twos: units for a black and for a red 2 that is chopped (4.5).
        pay_chop_bombs: bomb shapes to the units for one that is beaten; longer ones as in `pay_held_bombs`.
        chop_chain: who pays for several chops in a trick: ``"last"`` the last one chopped pays for all of
            them to the last who chopped; ``"each"`` each pays for its own.
        chop_doubles: each further chop in a trick costs twice as much per unit as the one before.
        chop_follow: a bomb beaten by one of its own shape and, with `suits_bind`, of its suit or colour:
            ``"paid"``, or ``"free"`` (four of a kind are paid all the same).
        chop_out: who pays if the chopped player has gone out: ``"pays"`` that player, ``"nobody"``.
        pay_instant: units of each other player to who wins at the deal (4.14).
        pay_last_two: with ``last_two="ends"``, units to each other player for each 2 in the last play.
        pay_last_three: units for the 3♠ as the last card in hand: if all pass on the play that left it, the
            round ends and each other player pays; if the play is beaten, the round ends and its player pays
            who beat it. 0: no such rule.
        pay_first: units of each other player to the first, whatever it holds (4.31).

    Raises:
        RulesError: an unknown value or an impossible combination; the message names the field.
    """

    pay_places: tuple[int, ...] = ()
    pay_card: int = 0
    pay_held_twos: tuple[int, int] = (0, 0)
    pay_held_bombs: Prices = ()
    held_overlap: Literal["dearest", "quads_first"] = "dearest"
    held_to: Literal["next", "first"] = "next"
    pay_cong: int = 0
    cong_held: Literal["added", "replaced"] = "added"
    pay_chop_twos: tuple[int, int] = (0, 0)
    pay_chop_bombs: Prices = ()
    chop_chain: Literal["last", "each"] = "last"
    chop_doubles: bool = False
    chop_follow: Literal["paid", "free"] = "paid"
    chop_out: Literal["pays", "nobody"] = "pays"
    pay_instant: int = 0
    pay_last_two: int = 0
    pay_last_three: int = 0
    pay_first: int = 0

    def __post_init__(self) -> None:
        read_fields(self, READERS)
        check(vars(self), self, PAYMENT_CONSTRAINTS)

    @property
    def has_amounts(self) -> bool:
        """Whether anything is paid."""
        return any(amount for name in AMOUNTS for amount in self.amounts(name))

    def amounts(self, name: str) -> tuple[int, ...]:
        """The units of a field of `AMOUNTS`, without the shapes that they are for."""
        value = getattr(self, name)
        if isinstance(value, int):
            return (value,)
        return tuple(item[1] if isinstance(item, tuple) else item for item in value)


PAYMENT_FIELDS: Final = tuple(field.name for field in fields(Payments))
AMOUNTS: Final = tuple(name for name in PAYMENT_FIELDS if name.startswith("pay_"))


def _amounts(name: str) -> Constraint[Payments]:
    """The constraint of the units of a field."""
    expected = f"expected 0..{MAX_PAYMENT} units"
    return name, lambda p: any(not 0 <= units <= MAX_PAYMENT for units in p.amounts(name)), expected


def _not_held(p: Payments) -> Shape | None:
    shapes = (shape for shape, _ in p.pay_held_bombs if shape.width != 2 or shape.length < 3)
    return next((shape for shape in shapes if shape != QUAD), None)


_TWOS: Final = "expected units for a black and for a red 2"
PAYMENT_CONSTRAINTS: Final[Constraints[Payments]] = (
    *map(_amounts, AMOUNTS),
    ("pay_places", lambda p: len(p.pay_places) > 2, "expected the last's and the one's before it"),
    ("pay_held_twos", lambda p: len(p.pay_held_twos) != 2, _TWOS),
    ("pay_chop_twos", lambda p: len(p.pay_chop_twos) != 2, _TWOS),
    ("pay_held_bombs", _not_held, "expected 4x1 and double sequences from 2x3 on"),
    ("chop_doubles", lambda p: p.chop_doubles and p.chop_chain != "each", "expected chop_chain='each'"),
)
NO_PAYMENTS: Final = Payments()
