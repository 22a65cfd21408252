"""The rules as data: one frozen `Rules` value a variant, and the named presets (tienlen_env/RULES.md).

This module contains no game logic: `actions` builds the action table from the fields, and `kernels` reads
the flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from operator import index
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from tienlen_env.errors import NotationError, RulesError, check_word, expected_one_of
from tienlen_env.games.common.cards import FULL_DECK, HAND_SIZE, NUM_CARDS, format_cards, parse_cards
from tienlen_env.games.common.rules import RulesBase, as_int, as_ints

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 4
MAX_CARDS_EACH: Final = 17
MAX_POINTS: Final = 1_000_000  # rewards are float32, which hold integers up to 2**24
MAX_TARGET: Final = 1_000_000_000
MAX_PAYMENT: Final = 1_000  # so that a round's payments stay exact in float32

_ADDED: Final = {"added": True}  # digests leave the field out while it has its default


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


Prices = tuple[tuple[Shape, int], ...]
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
        chop_out: who pays for one chopped after going out: ``"pays"`` that player, ``"nobody"``.
        pay_instant: units of each other player to who wins at the deal (4.14).
        pay_last_two: with ``last_two="ends"``, units to each other player for each 2 in the last play.
        pay_last_three: units for the 3♠ as the last card in hand: if all pass on the play that left it, the
            round ends and each other player pays; if the play is beaten, the round ends and its player pays
            who beat it. 0: no such rule.
        deck: the cards in play as text, ``"3s 3c 4s 4c"`` or what `deck_of` gives; ``""`` for all 52 (1.16).
        cards_each: cards dealt to each player, 1..17; the rest of the deck stays unseen (1.1, 1.16).
        pay_first: units of each other player to the first, whatever it holds (4.31).
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
    chops: tuple[tuple[int, tuple[Shape, ...]], ...] = (
        (1, (QUAD, Shape(2, 3))),
        (2, (Shape(2, 4),)),
        (3, (Shape(2, 5),)),
    )
    chop_longer: bool = True
    ladder: tuple[Shape, ...] = ()
    pass_lock: bool = True
    rejoin: tuple[Shape, ...] = ()
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
    pay_places: tuple[int, ...] = field(default=(), metadata=_ADDED)
    pay_card: int = field(default=0, metadata=_ADDED)
    pay_held_twos: tuple[int, int] = field(default=(0, 0), metadata=_ADDED)
    pay_held_bombs: Prices = field(default=(), metadata=_ADDED)
    held_overlap: Literal["dearest", "quads_first"] = field(default="dearest", metadata=_ADDED)
    held_to: Literal["next", "first"] = field(default="next", metadata=_ADDED)
    pay_cong: int = field(default=0, metadata=_ADDED)
    cong_held: Literal["added", "replaced"] = field(default="added", metadata=_ADDED)
    pay_chop_twos: tuple[int, int] = field(default=(0, 0), metadata=_ADDED)
    pay_chop_bombs: Prices = field(default=(), metadata=_ADDED)
    chop_chain: Literal["last", "each"] = field(default="last", metadata=_ADDED)
    chop_doubles: bool = field(default=False, metadata=_ADDED)
    chop_follow: Literal["paid", "free"] = field(default="paid", metadata=_ADDED)
    chop_out: Literal["pays", "nobody"] = field(default="pays", metadata=_ADDED)
    pay_instant: int = field(default=0, metadata=_ADDED)
    pay_last_two: int = field(default=0, metadata=_ADDED)
    pay_last_three: int = field(default=0, metadata=_ADDED)
    deck: str = field(default="", metadata=_ADDED)
    cards_each: int = field(default=HAND_SIZE, metadata=_ADDED)
    pay_first: int = field(default=0, metadata=_ADDED)
    last_card_duty: Literal["none", "highest", "pays"] = field(default="none", metadata=_ADDED)

    def __post_init__(self) -> None:
        put = object.__setattr__
        hints = _field_types()
        for name in (f.name for f in fields(self)):
            value, hint = getattr(self, name), hints[name]
            if get_origin(hint) is Literal:
                check_word(name, value, get_args(hint), error=RulesError)
            if hint is bool and not isinstance(value, bool):
                raise RulesError(f"{name}={value!r}: expected True or False")
            if hint is int:
                put(self, name, as_int(name, value))
        put(self, "set_run_min", as_ints("set_run_min", self.set_run_min))
        put(self, "points", as_ints("points", self.points))
        put(self, "ladder", _as_shapes("ladder", self.ladder))
        put(self, "rejoin", _as_shapes("rejoin", self.rejoin))
        put(self, "chops", _as_chops(self.chops))
        put(self, "instant_wins", _as_words("instant_wins", self.instant_wins))
        for name in ("pay_places", "pay_held_twos", "pay_chop_twos"):
            put(self, name, as_ints(name, getattr(self, name)))
        for name in ("pay_held_bombs", "pay_chop_bombs"):
            put(self, name, _as_prices(name, getattr(self, name)))
        put(self, "deck", _as_deck(self.deck))
        self._check_deal()
        self._check()
        self._check_suits()
        self._check_payments()

    def _check_deal(self) -> None:
        if not MIN_PLAYERS <= self.num_players <= MAX_PLAYERS:
            raise RulesError(f"num_players={self.num_players}: expected {MIN_PLAYERS}..{MAX_PLAYERS}")
        if not 1 <= self.cards_each <= MAX_CARDS_EACH:
            raise RulesError(f"cards_each={self.cards_each}: expected 1..{MAX_CARDS_EACH}")
        needed, num_cards = self.num_players * self.cards_each, self.deck_mask.bit_count()
        if needed > num_cards:
            raise RulesError(
                f"cards_each={self.cards_each}: {self.num_players} players need {needed} cards, "
                f"but the deck has {num_cards}"
            )

    def _check(self) -> None:
        if self.run_min and not 2 <= self.run_min <= 13:
            raise RulesError(f"run_min={self.run_min}: expected 2..13, or 0 for no runs")
        if self.run_min > 12 and not self.twos_allowed(1):
            raise RulesError(f"run_min={self.run_min}: a run of 13 ends in a 2, but twos_in={self.twos_in!r}")
        # A hand holds no more pairs, triples, quads.
        most = [self._most_cards // width for width in (2, 3, 4)]
        if len(self.set_run_min) != 3 or any(
            m and not 2 <= m <= top for m, top in zip(self.set_run_min, most, strict=True)
        ):
            pairs, triples, quads = most
            raise RulesError(
                f"set_run_min={self.set_run_min}: expected 2..{pairs}, 2..{triples} and 2..{quads}, "
                "or 0 for none"
            )
        if self.flush_lock and not self.run_min:
            raise RulesError("flush_lock=True: these rules have no runs (run_min=0)")
        for num_twos, shapes in self.chops:
            if not 1 <= num_twos <= 4:
                raise RulesError(f"chops: {num_twos} twos; expected 1..4")
            if not shapes or len(set(shapes)) < len(shapes):
                raise RulesError(f"chops: {num_twos} twos need one or more shapes, each once")
            for shape in shapes:
                if not self.allows(shape):
                    raise RulesError(f"chops: {shape} is not a combination of the rules")
                if shape.length == 1 and shape.width != 4:
                    raise RulesError(f"chops: {shape} cannot be a bomb; expected 4x1 or a sequence of sets")
                if shape.width == 1 and not self.suits_bind:
                    raise RulesError(f"chops: {shape} cannot be a bomb: runs do not chop")
                if (num_twos, shape) == (4, QUAD):
                    raise RulesError(f"chops: {shape} cannot beat four 2s, which are the highest")
        for name in ("ladder", "rejoin"):
            self._check_bombs(name, getattr(self, name))
        if self.rejoin and not self.pass_lock:
            raise RulesError("rejoin: a pass locks no player out with pass_lock=False")
        if self.knockout != "none" and not self.chops:
            raise RulesError(f"knockout={self.knockout!r}: nothing chops a 2 (chops is empty)")
        if self.points and len(self.points) != self.num_players:
            raise RulesError(f"points={self.points}: expected {self.num_players} places, or none for P-1..0")
        if any(abs(points) > MAX_POINTS for points in self.points):
            raise RulesError(f"points={self.points}: expected -{MAX_POINTS}..{MAX_POINTS} for each place")
        if any(a < b for a, b in zip(self.points, self.points[1:], strict=False)):
            raise RulesError(f"points={self.points}: an earlier place must not get less than a later one")
        if self.target > MAX_TARGET:
            raise RulesError(f"target={self.target}: expected at most {MAX_TARGET}")
        if self.target < 0 or (self.target and max(self.place_points) <= 0):
            raise RulesError(f"target={self.target}: expected 0 for none, or a total that can be reached")
        if self.target and self.place_points[0] == self.place_points[-1]:
            raise RulesError(f"target={self.target}: all places get the same points, no seat is ever ahead")

    def _check_bombs(self, name: str, shapes: tuple[Shape, ...]) -> None:
        if len(set(shapes)) < len(shapes):
            raise RulesError(f"{name}: a shape comes twice")
        for shape in shapes:
            if shape not in self.bombs:
                raise RulesError(f"{name}: {shape} is not a bomb: chops={self.chops} lacks it")

    def _check_suits(self) -> None:
        if self.rejoin_twos and not self.rejoin:
            raise RulesError("rejoin_twos=True: nothing may be played after a pass (rejoin is empty)")
        if not self.suits_bind:
            return
        if self.twos_in != "none":
            raise RulesError(f"suits_bind=True: 2s stand in no sequence, but twos_in={self.twos_in!r}")
        if self.flush_lock:
            raise RulesError("suits_bind=True: every run is suited, flush_lock=True has no meaning")
        if any(self.set_run_min[1:]):
            raise RulesError(f"suits_bind=True: expected pairs alone in set_run_min={self.set_run_min}")

    def _check_payments(self) -> None:
        for name in _PAYMENTS:
            amounts = getattr(self, name)
            if name in ("pay_held_bombs", "pay_chop_bombs"):
                self._check_bombs(name, tuple(shape for shape, _ in amounts))
                amounts = [amount for _, amount in amounts]
            elif isinstance(amounts, int):
                amounts = (amounts,)
            if any(not 0 <= amount <= MAX_PAYMENT for amount in amounts):
                raise RulesError(f"{name}={getattr(self, name)}: expected 0..{MAX_PAYMENT} units")
        if len(self.pay_places) > 2:
            raise RulesError(f"pay_places={self.pay_places}: expected the last's and the one's before it")
        for name in ("pay_held_twos", "pay_chop_twos"):
            if len(getattr(self, name)) != 2:
                raise RulesError(f"{name}={getattr(self, name)}: expected units for a black and for a red 2")
        for shape, _ in self.pay_held_bombs:
            if shape != QUAD and (shape.width != 2 or shape.length < 3):
                raise RulesError(f"pay_held_bombs: {shape}; expected 4x1 and double sequences from 2x3 on")
        if self.chop_doubles and self.chop_chain != "each":
            raise RulesError(f"chop_doubles=True: expected chop_chain='each', not {self.chop_chain!r}")
        if self.cong == "plays_on" and self.round_end == "first":
            raise RulesError("cong='plays_on': not with round_end='first', where the round ends at once")
        if self.cong_held == "replaced" and 0 < self.pay_cong < self.cards_each * self.pay_card:
            raise RulesError(f"pay_cong={self.pay_cong}: expected no less than the cards that it stands for")
        if self.pay_last_two and self.last_two != "ends":
            raise RulesError(f"pay_last_two={self.pay_last_two}: expected last_two='ends'")
        if self.pay_instant and not self.instant_wins:
            raise RulesError(f"pay_instant={self.pay_instant}: no hand wins at the deal (instant_wins)")
        if self.last_card_duty == "pays" and not self.has_payments:
            raise RulesError("last_card_duty='pays': not without payments; expected 'none' or 'highest'")
        if self.has_payments and self.knockout == "round":
            raise RulesError("knockout='round': not with payments; places are paid by who goes out")

    @cached_property
    def deck_mask(self) -> int:
        """The cards in play, as a mask."""
        return parse_cards(self.deck) or FULL_DECK

    @property
    def _most_cards(self) -> int:
        return max(HAND_SIZE, self.cards_each)

    @property
    def has_payments(self) -> bool:
        """Whether anything is paid under these rules."""
        unpaid = (0, (), (0, 0))
        return any(getattr(self, name) not in unpaid for name in _PAYMENTS)

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
        return min(self._most_cards // width, 13 if self.twos_allowed(width) else 12)

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


_PAYMENTS: Final = tuple(f.name for f in fields(Rules) if f.name.startswith("pay_"))


@cache
def _field_types() -> dict[str, Any]:
    return get_type_hints(Rules)


def _as_shape(field: str, value: Any) -> Shape:
    parts = value.lower().replace("×", "x").split("x") if isinstance(value, str) else value
    try:
        width, length = (int(p) if isinstance(p, str) else index(p) for p in parts)
    except (TypeError, ValueError):
        raise RulesError(f"{field}: {value!r} is not a shape; expected one like '2x3'") from None
    return Shape(width, length)


def _as_shapes(field: str, values: Any) -> tuple[Shape, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RulesError(f"{field}={values!r}: expected shapes like '2x3'")
    return tuple(_as_shape(field, v) for v in values)


def _as_chops(value: Any) -> tuple[tuple[int, tuple[Shape, ...]], ...]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        chops = [(as_int("chops", k), _as_shapes("chops", shapes)) for k, shapes in pairs]
    except (TypeError, ValueError) as error:
        if isinstance(error, RulesError):
            raise
        raise RulesError(f"chops={value!r}: expected {{number of 2s: shapes}}") from None
    if len(dict(chops)) < len(chops):
        raise RulesError(f"chops={value!r}: a number of 2s comes twice")
    return tuple(sorted(chops))


def _as_words(field: str, values: Any) -> tuple[str, ...]:
    known = get_args(InstantWin)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise RulesError(f"{field}={values!r}: expected words like {known[0]!r}")
    words = tuple(values)
    for word in words:
        check_word(field, word, known, error=RulesError)
    if len(set(words)) < len(words):
        raise RulesError(f"{field}: a word comes twice")
    return words


def deck_of(ranks: str, suits: str = "scdh") -> str:
    """The deck of some ranks in some suits, for `Rules.deck`: ``deck_of("3456", "sc")``.

    Raises:
        RulesError: text that is not ranks or suits.
    """
    return _as_deck(" ".join(rank + suit for rank in ranks for suit in suits))


def _as_deck(value: Any) -> str:
    if not isinstance(value, str):
        raise RulesError(f"deck={value!r}: expected cards like '3s 3c 4s 4c', or '' for all {NUM_CARDS}")
    try:
        cards = parse_cards(value)
    except NotationError as error:
        raise RulesError(f"deck: {error}") from None
    return "" if cards == FULL_DECK else format_cards(cards)


def _as_prices(field: str, value: Any) -> Prices:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        prices = [(_as_shape(field, shape), as_int(field, units)) for shape, units in pairs]
    except (TypeError, ValueError) as error:
        if isinstance(error, RulesError):
            raise
        raise RulesError(f"{field}={value!r}: expected {{shape: units}}") from None
    return tuple(sorted(prices))


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
SOUTH: Final = Rules(  # in half stakes
    chops=((1, (Shape(2, 3), QUAD)), (2, (Shape(2, 4), QUAD))),
    ladder=(Shape(2, 3), QUAD, Shape(2, 4), Shape(2, 5), Shape(2, 6)),
    rejoin=(Shape(2, 4),),
    target=0,
    instant_wins=("dragon", "four_twos", "five_pair_run", "six_pairs"),
    pay_places=(2, 1),
    pay_held_twos=(1, 2),
    pay_held_bombs=((Shape(2, 3), 3), (Shape(2, 4), 6), (QUAD, 6)),
    pay_cong=4,
    pay_chop_twos=(1, 2),
    pay_chop_bombs=((Shape(2, 3), 3), (Shape(2, 4), 6), (QUAD, 6)),
    pay_instant=4,
)
SOUTH_COUNT: Final = replace(  # in cards
    SOUTH,
    round_end="first",
    pay_places=(),
    pay_card=1,
    pay_held_twos=(3, 6),
    pay_held_bombs=((Shape(2, 3), 9), (Shape(2, 4), 18), (QUAD, 12)),
    held_to="first",
    pay_cong=26,
    pay_chop_twos=(3, 6),
    pay_chop_bombs=((Shape(2, 3), 9), (Shape(2, 4), 18), (QUAD, 12)),
    pay_instant=26,
)
SOUTH_WINNER: Final = replace(  # in half stakes
    SOUTH, round_end="first", pay_places=(), pay_first=2, held_to="first"
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

# Games for exact calculations (6.4): `cardgames` for two players, one round a game, with few cards.
# The whole ranks of `small` and `medium` make bombs: there players must mix (docs/exact.md).
_FEW: Final = Rules(num_players=2, target=0, deck=deck_of("3452", "sc"), cards_each=3)
SMALL_GAMES: Final[Mapping[str, Rules]] = MappingProxyType(
    {
        "mini": _FEW,
        "small": replace(_FEW, deck="3s " + deck_of("42"), cards_each=4),
        "medium": replace(_FEW, deck="3s 4s " + deck_of("52"), cards_each=4),
        "large": replace(_FEW, deck="", cards_each=2),
    }
)
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
