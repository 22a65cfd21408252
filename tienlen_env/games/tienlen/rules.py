"""The rules as data: one frozen `Rules` value a variant, and the named presets (tienlen_env/RULES.md).

This module contains no game logic: `actions` builds the action table from the fields, and `kernels` reads
the flags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, Final, Literal

from tienlen_env.errors import RulesError, expected_one_of
from tienlen_env.games.common.cards import FULL_DECK, HAND_SIZE, parse_cards
from tienlen_env.games.common.rules import Constraint, Constraints, RulesBase, check, read_fields, within
from tienlen_env.games.tienlen.fields import (
    NO_PAYMENTS,
    PAIR as PAIR,
    PAYMENT_FIELDS,
    QUAD as QUAD,
    READERS,
    SINGLE as SINGLE,
    TRIPLE as TRIPLE,
    Chops,
    InstantWin as InstantWin,
    Payments as Payments,
    Prices as Prices,
    Shape as Shape,
    Shapes,
    deck_of as deck_of,
)

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 4
MAX_CARDS_EACH: Final = 17
MAX_POINTS: Final = 1_000_000  # rewards are float32, which hold integers up to 2**24
MAX_TARGET: Final = 1_000_000_000

_ADDED: Final = {"added": True}  # digests leave the field out while it has its default


@dataclass(frozen=True, kw_only=True)
class Rules(RulesBase):
    """One variant of Tiến lên. Fields are orthogonal; nothing is derived (RULES.md 6).

    Shapes may be given as ``Shape(2, 3)``, ``(2, 3)`` or ``"2x3"``.

    Attributes:
        num_players: 2, 3 or 4 players (RULES.md 1.1).
        opening: who leads a round: ``"first"`` the holder of the opening card in the first round of a game
            and then the last winner (1.3, 1.4); ``"every"`` the holder in every round (3.1). The opening
            card is the 3♠, or the lowest card dealt if it was not (1.3).
        opening_play: ``"include"`` the holder's first play contains the opening card, ``"alone"`` it is
            that card by itself, ``"free"`` no duty.
        run_min: fewest cards in a run, 2..13; 0 for no runs (1.5, 3.2).
        set_run_min: fewest ranks in a sequence of pairs, of triples, of quads; 0 for none (1.5, 3.2).
        twos_in: sequences that may end in a 2: ``"none"``, ``"runs"``, ``"set_runs"``, ``"both"`` (1.5, 3.3).
        flush_lock: a run that is led suited makes every run in that trick suited (3.4).
        chops: number of 2s on the table to the shapes that beat them (1.9); any mapping, or its items.
        chop_longer: longer sequences of the same width chop too (1.9, against 2).
        ladder: bomb shapes, weakest first, each beaten by any later one (4.1); empty: bombs are beaten only
            by higher bombs of the same shape (1.10).
        pass_lock: who passed keeps passing until the table is cleared (1.7).
        rejoin: bomb shapes that may be played after a pass, on a 2 or set of 2s or on a bomb (3.6).
        knockout: what a chop does to the player of the 2s: ``"none"``; ``"trick"`` out of this trick;
            ``"round"`` out of the round, placed last among those still in (3.7).
        heir: who leads when the winner of a trick has gone out: ``"next_seat"`` the next live seat, once all
            passed on the last play; ``"last_live"`` the last who has not passed, without beating it (1.14).
        points: points of each place, first to last; empty for P-1, ..., 0 (1.11).
        target: a game ends after a round if the highest total is at least this and unique (1.12);
            0: no target, a game is one round unless a number of rounds is agreed (6.5).
        rejoin_twos: a trick is reopened to players who passed (`rejoin`) only if a 2 or set of 2s is, or has
            been, in play in it; False: by any table that a `rejoin` shape beats (3.6).
        suits_bind: combinations and answers are bound to suits (4.20, 4.21): pairs in one colour, runs in one
            suit, double sequences in one colour; a single is beaten by its own suit, a triple by its own
            three suits, the others by their own suit or colour; 2s beat any single, pair or triple. Bombs of
            one shape beat one another by the top card, whatever their suits.
        round_end: ``"last"`` the round goes on until one player holds cards (1.11); ``"first"`` it ends when
            the first goes out, and the other places go by cards left, then by the order of play (4.18).
        instant_wins: hands that win at the deal, the strongest kind first, the higher top card among equals
            (4.11, 4.13); empty: none.
        quad_is_two_pairs: four of a kind count as two pairs in ``"six_pairs"`` (4.11); where suits bind they
            always do (4.29).
        cong: what happens to a player who has played no card when the first goes out, where `pay_cong` is
            above 0: ``"out"`` it is out at once, in the last free place; ``"plays_on"`` it only pays.
        last_two: going out with a play that contains a 2: ``"free"``; ``"ends"`` it ends the round, and its
            player is last.
        payments: what is paid (4); None: nothing. Its fields are taken one by one, too, as files and messages
            have them: ``Rules(pay_card=1)``, ``replace(rules, **{"pay_cong": 0})``.
        deck: the cards in play as text, ``"3s 3c 4s 4c"`` or what `deck_of` gives; ``""`` for all 52 (1.16).
        cards_each: cards dealt to each player, 1..17; the rest of the deck stays unseen (1.1, 1.16).
        last_card_duty: a single before a player with one card left, where a higher one is possible:
            ``"none"`` free; ``"highest"`` not legal; ``"pays"`` if that player goes out on it at once and is
            first, who played it pays what all others would pay the first (4.34 to 4.36).

    Raises:
        RulesError: an unknown value or an impossible combination; the message names the field.
    """

    num_players: int = 4
    opening: Literal["first", "every"] = "first"
    opening_play: Literal["include", "alone", "free"] = "include"
    run_min: int = 3
    set_run_min: tuple[int, int, int] = (3, 0, 0)
    twos_in: Literal["none", "runs", "set_runs", "both"] = "none"
    flush_lock: bool = False
    chops: Chops = (
        (1, (QUAD, Shape(2, 3))),
        (2, (Shape(2, 4),)),
        (3, (Shape(2, 5),)),
    )
    chop_longer: bool = True
    ladder: Shapes = ()
    pass_lock: bool = True
    rejoin: Shapes = ()
    knockout: Literal["none", "trick", "round"] = "none"
    heir: Literal["next_seat", "last_live"] = "next_seat"
    points: tuple[int, ...] = ()
    target: int = 10
    rejoin_twos: bool = field(default=False, metadata=_ADDED)
    suits_bind: bool = field(default=False, metadata=_ADDED)
    round_end: Literal["last", "first"] = field(default="last", metadata=_ADDED)
    instant_wins: tuple[InstantWin, ...] = field(default=(), metadata=_ADDED)
    quad_is_two_pairs: bool = field(default=True, metadata=_ADDED)
    cong: Literal["out", "plays_on"] = field(default="out", metadata=_ADDED)
    last_two: Literal["free", "ends"] = field(default="free", metadata=_ADDED)
    payments: Payments | None = field(default=None, metadata=_ADDED)
    deck: str = field(default="", metadata=_ADDED)
    cards_each: int = field(default=HAND_SIZE, metadata=_ADDED)
    last_card_duty: Literal["none", "highest", "pays"] = field(default="none", metadata=_ADDED)

    def __post_init__(self) -> None:
        if not isinstance(self.payments, Payments | None):
            raise RulesError(f"payments={self.payments!r}: expected Payments, or None")
        if self.payments == NO_PAYMENTS:
            object.__setattr__(self, "payments", None)
        read_fields(self, READERS)
        check(self.flat(), self, CONSTRAINTS)

    def flat(self) -> dict[str, object]:
        """All fields by name, those of `payments` among them, as files and messages have them."""
        values = vars(self) | vars(self.payments or NO_PAYMENTS)
        return {name: values[name] for name in FLAT_FIELDS}

    def settings(self) -> dict[str, object]:
        """See `RulesBase.settings`; the fields of `payments` are among the others."""
        return {name: value for name, value in self.flat().items() if _DEFAULTS.get(name, self) != value}

    @cached_property
    def deck_mask(self) -> int:
        """The cards in play, as a mask."""
        return parse_cards(self.deck) or FULL_DECK

    @property
    def most_cards(self) -> int:
        """Most cards of a hand that the action table has combinations for."""
        return max(HAND_SIZE, self.cards_each)

    @property
    def has_payments(self) -> bool:
        """Whether anything is paid under these rules."""
        return self.payments is not None and self.payments.has_amounts

    def min_length(self, width: int) -> int:
        """Fewest ranks in a sequence of sets of `width` cards; 0 if these rules have none.

        Raises:
            ValueError: a width that is not 1..4.
        """
        if width not in (1, 2, 3, 4):
            raise ValueError(f"width={width!r}: expected 1..4")
        return self.run_min if width == 1 else self.set_run_min[width - 2]

    def twos_allowed(self, width: int) -> bool:
        """Whether a sequence of this width may end in a 2 (RULES.md 1.5, 3.3)."""
        return self.twos_in == "both" or self.twos_in == ("runs" if width == 1 else "set_runs")

    def max_length(self, width: int) -> int:
        """Most ranks in a sequence of this width, for hands of 13 cards or more; 0 if these rules have none.

        Fewer cards, or a smaller deck, change no shape: combinations that no hand can hold never occur.
        """
        if not self.min_length(width):
            return 0
        return min(self.most_cards // width, 13 if self.twos_allowed(width) else 12)

    def allows(self, shape: Shape) -> bool:
        """Whether combinations of this shape exist."""
        if shape.length == 1:
            return 1 <= shape.width <= 4
        minimum = self.min_length(shape.width) if 1 <= shape.width <= 4 else 0
        return bool(minimum) and minimum <= shape.length <= self.max_length(shape.width)

    def with_longer(self, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
        """The shapes, and the longer sequences of the same width where `chop_longer` says so."""
        found: list[Shape] = []
        for shape in shapes:
            top = self.max_length(shape.width) if self.chop_longer and shape.length > 1 else shape.length
            found += [Shape(shape.width, m) for m in range(shape.length, top + 1)]
        return tuple(sorted(set(found)))

    @cached_property
    def bombs(self) -> frozenset[Shape]:
        """Every shape that beats 2s of another shape."""
        return frozenset(s for _, shapes in self.chops for s in self.with_longer(shapes))

    @cached_property
    def rungs(self) -> tuple[Shape, ...]:
        """The ladder, and the sequences that only hands of more than 13 cards hold (4.1).

        They are above the longest one of their width that 13 cards hold, if that is on the ladder.
        """
        found: list[Shape] = []
        for shape in self.ladder:
            found.append(shape)
            if shape.width > 1 and shape.length == HAND_SIZE // shape.width > 1:
                lengths = range(shape.length + 1, self.max_length(shape.width) + 1)
                longer = self.bombs.difference(self.ladder)
                found += [bomb for m in lengths if (bomb := Shape(shape.width, m)) in longer]
        return tuple(found)

    @property
    def place_points(self) -> tuple[int, ...]:
        """Points of each place, first to last (RULES.md 1.11)."""
        return self.points or tuple(range(self.num_players - 1, -1, -1))

    @cached_property
    def name(self) -> str:
        """The preset's name, whatever the number of players, or ``"custom-<digest>"``."""
        for name, preset in NAMED.items():
            # Compared field by field: a preset's deck may be too small for this number of players.
            if all(getattr(preset, f.name) == getattr(self, f.name) for f in fields(self)[1:]):
                return name
        return f"custom-{self.digest()}"


def _fields_one_by_one() -> None:
    """Let `Rules` take the fields of `payments` one by one: in calls, `replace`, files and messages."""
    generated = Rules.__init__

    @wraps(generated)
    def init(self: Rules, *, payments: Payments | None = None, **values: Any) -> None:
        given = {name: values.pop(name) for name in PAYMENT_FIELDS if name in values}
        if given and isinstance(payments, Payments | None):
            payments = replace(payments or NO_PAYMENTS, **given)
        generated(self, payments=payments, **values)

    Rules.__init__ = init  # type: ignore[method-assign]


_fields_one_by_one()
# In the order in which they came: it is that of messages, and of the draws of mixed rules in training.
_LATE: Final = ("deck", "cards_each", "pay_first", "last_card_duty")
_NAMES: Final = [field.name for field in (*fields(Rules), *fields(Payments)) if field.name != "payments"]
FLAT_FIELDS: Final = (*(name for name in _NAMES if name not in _LATE), *_LATE)
_DEFAULTS: Final = {
    field.name: field.default
    for field in (*fields(Rules), *fields(Payments))
    if field.metadata or field.name in PAYMENT_FIELDS
}


def _among_bombs(name: str) -> Constraint[Rules]:
    """The constraint of a field of shapes, or of their prices, that all of them are bombs."""

    def wrong(rules: Rules) -> Shape | None:
        value: Any = rules.flat()[name]
        shapes = dict(value) if name in PAYMENT_FIELDS else value
        return next((shape for shape in shapes if shape not in rules.bombs), None)

    return name, wrong, "expected bombs: shapes that beat 2s by `chops`"


def _chopping(is_wrong: Callable[[Rules, Shape], bool]) -> Callable[[Rules], Shape | None]:
    """The first shape in `chops` that is wrong."""
    return lambda r: next((shape for _, shapes in r.chops for shape in shapes if is_wrong(r, shape)), None)


def _missing_cards(rules: Rules) -> str:
    needed, num_cards = rules.num_players * rules.cards_each, rules.deck_mask.bit_count()
    text = f"{rules.num_players} players need {needed} cards, but the deck has {num_cards}"
    return text if needed > num_cards else ""


def _are_set_runs_wrong(rules: Rules) -> bool:
    least = rules.set_run_min
    most = [rules.most_cards // width for width in (2, 3, 4)]
    return len(least) != 3 or any(m and not 2 <= m <= top for m, top in zip(least, most, strict=True))


def _pay(rules: Rules) -> Payments:
    return rules.payments or NO_PAYMENTS


def _is_cong_cheap(rules: Rules) -> bool:
    pay = _pay(rules)
    return pay.cong_held == "replaced" and 0 < pay.pay_cong < rules.cards_each * pay.pay_card


def _never_ahead(rules: Rules) -> bool:
    first, *_, last = rules.place_points
    return rules.target > 0 and (first <= 0 or first == last)


CONSTRAINTS: Final[Constraints[Rules]] = (
    within("num_players", MIN_PLAYERS, MAX_PLAYERS),
    within("cards_each", 1, MAX_CARDS_EACH),
    ("cards_each", _missing_cards, "expected no more cards than the deck has"),
    ("run_min", lambda r: r.run_min not in (0, *range(2, 14)), "expected 2..13, or 0 for no runs"),
    ("run_min", lambda r: r.run_min == 13 and not r.twos_allowed(1), "a run of 13 ends in a 2 (twos_in)"),
    ("set_run_min", _are_set_runs_wrong, "expected 2 to the most pairs, triples, quads of a hand, or 0"),
    ("flush_lock", lambda r: r.flush_lock and not r.run_min, "there are no runs (run_min=0)"),
    ("chops", lambda r: any(not 1 <= num <= 4 for num, _ in r.chops), "expected 1..4 twos"),
    ("chops", lambda r: not all(shapes for _, shapes in r.chops), "expected shapes for each number of 2s"),
    ("chops", _chopping(lambda r, s: not r.allows(s)), "expected combinations of these rules"),
    ("chops", _chopping(lambda r, s: s.length == 1 and s != QUAD), "expected 4x1 and sequences"),
    ("chops", _chopping(lambda r, s: s.width == 1 and not r.suits_bind), "runs chop only where suits bind"),
    ("chops", lambda r: QUAD in dict(r.chops).get(4, ()), "4x1 cannot beat four 2s, the highest"),
    *map(_among_bombs, ("ladder", "rejoin", "pay_held_bombs", "pay_chop_bombs")),
    ("rejoin", lambda r: r.rejoin and not r.pass_lock, "a pass locks no player out (pass_lock=False)"),
    ("rejoin_twos", lambda r: r.rejoin_twos and not r.rejoin, "expected shapes in rejoin"),
    ("knockout", lambda r: r.knockout != "none" and not r.chops, "nothing chops a 2 (chops is empty)"),
    ("knockout", lambda r: r.knockout == "round" and r.has_payments, "not with payments for places"),
    ("points", lambda r: len(r.points) not in (0, r.num_players), "expected one a place, or none for P-1..0"),
    ("points", lambda r: any(abs(p) > MAX_POINTS for p in r.points), f"expected -{MAX_POINTS}..{MAX_POINTS}"),
    ("points", lambda r: sorted(r.points)[::-1] != [*r.points], "expected no less for an earlier place"),
    within("target", 0, MAX_TARGET),
    ("target", _never_ahead, "with these points no seat reaches it, or none is ahead"),
    ("suits_bind", lambda r: r.suits_bind and r.twos_in != "none", "expected twos_in='none'"),
    ("suits_bind", lambda r: r.suits_bind and r.flush_lock, "expected flush_lock=False"),
    ("suits_bind", lambda r: r.suits_bind and any(r.set_run_min[1:]), "expected pairs alone in set_run_min"),
    ("cong", lambda r: r.cong == "plays_on" and r.round_end == "first", "not with round_end='first'"),
    ("pay_cong", _is_cong_cheap, "expected no less than the cards that it stands for"),
    ("pay_last_two", lambda r: _pay(r).pay_last_two and r.last_two != "ends", "expected last_two='ends'"),
    ("pay_instant", lambda r: _pay(r).pay_instant and not r.instant_wins, "expected hands in instant_wins"),
    ("last_card_duty", lambda r: r.last_card_duty == "pays" and not r.has_payments, "not without payments"),
)


CARDGAMES: Final = Rules()
MOBILE: Final = Rules(chop_longer=False)
FOICICA: Final = Rules(
    opening="every",
    run_min=2,
    set_run_min=(2, 2, 2),
    twos_in="both",
    flush_lock=True,
    rejoin=(QUAD, Shape(2, 3)),
    rejoin_twos=True,
    knockout="trick",
    target=0,
)
PAGAT: Final = Rules(twos_in="both", chop_longer=False, target=0)
_SOUTH: Final = Payments(
    pay_places=(2, 1),
    pay_held_twos=(1, 2),
    pay_held_bombs=((Shape(2, 3), 3), (Shape(2, 4), 6), (QUAD, 6)),
    pay_cong=4,
    pay_chop_twos=(1, 2),
    pay_chop_bombs=((Shape(2, 3), 3), (Shape(2, 4), 6), (QUAD, 6)),
    pay_instant=4,
)
SOUTH: Final = Rules(  # in half stakes
    chops=((1, (Shape(2, 3), QUAD)), (2, (Shape(2, 4), QUAD))),
    ladder=(Shape(2, 3), QUAD, Shape(2, 4), Shape(2, 5), Shape(2, 6)),
    rejoin=(Shape(2, 4),),
    target=0,
    instant_wins=("dragon", "four_twos", "five_pair_run", "six_pairs"),
    payments=_SOUTH,
)
SOUTH_COUNT: Final = replace(  # in cards
    SOUTH,
    round_end="first",
    payments=Payments(
        pay_card=1,
        pay_held_twos=(3, 6),
        pay_held_bombs=((Shape(2, 3), 9), (Shape(2, 4), 18), (QUAD, 12)),
        held_to="first",
        pay_cong=26,
        pay_chop_twos=(3, 6),
        pay_chop_bombs=((Shape(2, 3), 9), (Shape(2, 4), 18), (QUAD, 12)),
        pay_instant=26,
    ),
)
SOUTH_WINNER: Final = replace(  # in half stakes
    SOUTH,
    round_end="first",
    payments=replace(_SOUTH, pay_places=(), pay_first=2, held_to="first"),
)
NORTH: Final = Rules(  # in cards
    chops=(
        (1, (Shape(1, 5), Shape(2, 3), QUAD)),
        (2, (Shape(1, 5), Shape(2, 4), QUAD)),
        (3, (Shape(1, 6), Shape(2, 5))),
    ),
    ladder=(
        Shape(2, 3),
        QUAD,
        *(Shape(1, length) for length in range(5, 13)),
        *(Shape(2, length) for length in (4, 5, 6)),
    ),
    target=0,
    suits_bind=True,
    round_end="first",
    instant_wins=("four_twos", "dragon", "six_pairs", "five_pair_run", "one_colour", "four_threes"),
    last_two="ends",
    payments=Payments(
        pay_card=1,
        pay_held_twos=(2, 4),
        pay_held_bombs=((Shape(2, 3), 6), (Shape(2, 4), 8), (QUAD, 8)),
        held_to="first",
        pay_cong=26,
        cong_held="replaced",
        pay_chop_twos=(2, 4),
        pay_chop_bombs=((Shape(2, 3), 6), (Shape(2, 4), 8), (QUAD, 8)),
        chop_chain="each",
        chop_follow="free",
        pay_instant=13,
        pay_last_two=13,
        pay_last_three=26,
    ),
)
BGA: Final = Rules(rejoin=(QUAD, Shape(2, 3)), rejoin_twos=True)

PRESETS: Final[Mapping[str, Rules]] = MappingProxyType(
    {
        "cardgames": CARDGAMES,
        "mobile": MOBILE,
        "foicica": FOICICA,
        "pagat": PAGAT,
        "south": SOUTH,
        "south_count": SOUTH_COUNT,
        "north": NORTH,
        "south_winner": SOUTH_WINNER,
        "bga": BGA,
    }
)
"""The variants of Tiến lên by name (RULES.md 1 to 5)."""

_FEW: Final = Rules(num_players=2, target=0, deck=deck_of("3452", "sc"), cards_each=3)
SMALL_GAMES: Final[Mapping[str, Rules]] = MappingProxyType(
    {
        "mini": _FEW,
        "small": replace(_FEW, deck="3s " + deck_of("42"), cards_each=4),
        "medium": replace(_FEW, deck="3s 4s " + deck_of("52"), cards_each=4),
        "large": replace(_FEW, deck="", cards_each=2),
    }
)
"""Games for exact calculations (6.4): `cardgames` for two players, one round a game, with few cards.

The whole ranks of `small` and `medium` make bombs: there players must mix (docs/exact.md).
"""
NAMED: Final[Mapping[str, Rules]] = MappingProxyType({**PRESETS, **SMALL_GAMES})


def get_rules(rules: str | Rules = "cardgames", num_players: int | None = None) -> Rules:
    """Resolve a preset's name or rules, optionally with another number of players.

    Args:
        rules: a name in `PRESETS` or `SMALL_GAMES`, or a `Rules`.
        num_players: 2..4; None keeps the number in `rules`.

    Raises:
        RulesError: an unknown name or a number of players that cannot be.
    """
    if isinstance(rules, str):
        if rules not in NAMED:
            raise RulesError(f"rules={rules!r}: {expected_one_of(rules, NAMED, ', or a Rules')}")
        rules = NAMED[rules]
    elif not isinstance(rules, Rules):
        raise RulesError(f"rules={rules!r}: expected a preset's name or a Rules")
    return rules if num_players is None else replace(rules, num_players=num_players)
