"""The action table: every combination of a variant, built from its `Rules` alone (RULES.md 7).

An action names a shape, the window of ranks and the top card; the inner cards are the lowest suits held.
Action 0 is the pass in every variant; the others follow in groups of one shape, and within a group by the
strength of the top card, so that of two actions of a group the larger id beats the smaller:

    id 0        pass
    1..52       singles          13 ranks × 4 top suits
    53..91      pairs            13 × 3   (the lowest suit cannot be a pair's top)
    92..117     triples          13 × 2
    118..130    quads            13 × 1
    131..350    runs             (10+9+...+1) windows × 4 = 220       `cardgames`, `mobile`
    351..452    double sequences (10+9+8+7) windows × 3 = 102

A variant with instant wins ends with one more action, their declaration. Where suits bind
(`Rules.suits_bind`) an action is a set of cards, and the table is (RULES.md 4.20, 7):

    1..52       singles
    53..78      pairs of one colour   13 ranks × 2, black before red
    79..130     triples               13 × 4, by the suit that is missing, hearts first
    131..143    quads                 13
    144..363    runs in one suit      55 windows × 4
    364..431    double sequences      34 windows × 2 colours
    432..435    pairs of 2s of two colours

Else the table cannot express the choice of inner cards; `Round.play` takes any set of cards. For a fixed
action the lowest inner suits leave a hand that is rank by rank at least as strong as any other choice.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tienlen_env.errors import InvalidComboError
from tienlen_env.games.common.arrays import AnyArray, BoolArray, IntArray
from tienlen_env.games.common.cards import CARD_TEXT, FULL_DECK, NO_CARD, RANK_OF_TWO, RANK_TEXT, format_cards
from tienlen_env.games.tienlen.rules import PAIR, QUAD, SINGLE, TRIPLE, Rules, Shape

PASS: Final = 0

_ONE_A_RANK: Final = 0x1111111111111


@dataclass(frozen=True, eq=False)
class TienlenActionTable:
    """The actions of a variant as arrays over A = ``num_actions``, the pass first.

    Attributes:
        rules: what it was built from.
        width: int64 (A,), cards of each rank (0 for the pass).
        length: int64 (A,), number of consecutive ranks (0 for the pass).
        top: int64 (A,), id of the highest card (`NO_CARD` for the pass).
        suited_mask: bool (A,), runs in one suit, as an action of its own under `flush_lock` (RULES.md 3.4).
        unsuited_mask: bool (A,), runs that must not be in one suit (the twins of the former).
        bomb_mask: bool (A,), shapes that chop 2s (1.9).
        cards: int64 (A,), the card mask of each action where suits bind, 0 for none; None in other variants.
        declare: the action id of the declaration of an instant win, which plays no cards; None without.
        group: dict from (shape, suited) to the range of its action ids.
    """

    rules: Rules
    width: IntArray
    length: IntArray
    top: IntArray
    suited_mask: BoolArray
    unsuited_mask: BoolArray
    bomb_mask: BoolArray
    group: dict[tuple[Shape, bool], range]
    cards: IntArray | None = None
    declare: int | None = None

    @property
    def num_actions(self) -> int:
        """A, the pass included."""
        return len(self.width)

    @property
    def num_cards(self) -> IntArray:
        """int64 (A,), number of cards of each action; 0 for the pass and the declaration."""
        return self.width * self.length

    @property
    def top_rank(self) -> IntArray:
        """int64 (A,), rank of the top card; -1 for the pass and the declaration."""
        return self.top >> 2

    @cached_property
    def window(self) -> BoolArray:
        """bool (A, R), the ranks of each action."""
        rank, ranks = self.top_rank[:, None], np.arange(13)
        return (ranks > rank - self.length[:, None]) & (ranks <= rank)

    @cached_property
    def need(self) -> IntArray:
        """int64 (A,), the cards of each rank as a number of 13 nibbles, the 3s lowest."""
        need: IntArray = (self.window * self.width[:, None] << 4 * np.arange(13)).sum(axis=1)
        return need

    def shape(self, action: int) -> Shape:
        """The shape of an action (not of the pass or the declaration).

        Raises:
            ValueError: not the id of a combination.
        """
        is_id = isinstance(action, int | np.integer) and 0 < action < self.num_actions
        if not is_id or action == self.declare:
            raise ValueError(f"action={action}: not the id of a combination")
        return Shape(int(self.width[action]), int(self.length[action]))

    def held(self, hands: npt.ArrayLike) -> BoolArray:
        """Which combinations some hands hold, whatever lies on the table.

        The vectorised combo generator: counts a rank stand in 13 nibbles whose top bit is a guard, so
        "has at least `need` of each rank" is one subtraction that must leave every guard bit standing.

        Args:
            hands: int64 masks, any shape ``(...)``.

        Returns:
            bool ``(..., A)``; the pass is always True, the declaration never.
        """
        try:
            hand = np.asarray(hands, dtype=np.int64)[..., None]
        except OverflowError:
            raise ValueError("hands: expected card masks below 2**52") from None
        found: BoolArray
        if self.cards is not None:
            found = (hand & self.cards) == self.cards
            if self.declare is not None:
                found[..., self.declare] = False
            return found
        rank, suit = self.top >> 2, self.top & 3
        ranks = np.arange(13)
        nibble = np.int64(1) << (4 * ranks)
        held_a_rank = np.bitwise_count((hand >> (4 * ranks)) & 15).astype(np.int64)
        counts = (held_a_rank * nibble).sum(axis=-1, keepdims=True)
        guard = np.int64(_ONE_A_RANK * 8)
        enough = (((counts | guard) - self.need) & guard) == guard
        top_bit = np.where(self.top == NO_CARD, 0, np.int64(1) << np.maximum(self.top, 0))
        at_or_below = (2 * top_bit - 1) & ~((np.int64(1) << np.maximum(4 * rank, 0)) - 1)
        top_fits = ((hand & top_bit) == top_bit) & (np.bitwise_count(hand & at_or_below) >= self.width)
        # Runs with a flush bit: every card of the window in the top's suit, or some inner card in another.
        one_suit = np.int64(_ONE_A_RANK) << np.maximum(suit, 0)
        inner = (self.window & (ranks < rank[:, None])) @ (15 * nibble)
        is_flush = (hand & inner & one_suit) == (inner & one_suit)
        is_mixed = (hand & inner & ~one_suit) != 0
        suit_fits = np.where(self.suited_mask, is_flush, ~self.unsuited_mask | is_mixed)
        found = enough & top_fits & suit_fits
        found[..., PASS] = True
        if self.declare is not None:
            found[..., self.declare] = False
        return found

    def classify(self, cards: int) -> int:
        """The action that a set of cards is (RULES.md 1.5, 3.2).

        Args:
            cards: a mask; 0 is the pass.

        Returns:
            The action id.

        Raises:
            InvalidComboError: the rules have no such combination.
        """
        try:
            cards = operator.index(cards)
        except TypeError:
            raise InvalidComboError(f"{cards!r} is not a valid mask of cards") from None
        if not 0 <= cards <= FULL_DECK:
            raise InvalidComboError(f"{cards} is not a valid mask of cards")
        if cards == 0:
            return PASS
        if self.cards is not None:
            if (action := self._action_of_cards.get(cards)) is None:
                raise self._not_a_combination(cards)
            return action
        counts = [(cards >> 4 * r & 15).bit_count() for r in range(13)]
        held = [r for r in range(13) if counts[r]]
        shape = Shape(counts[held[0]], len(held))
        top = cards.bit_length() - 1
        is_even = all(counts[r] == shape.width for r in held) and held[-1] - held[0] + 1 == len(held)
        if is_even and self.rules.allows(shape):
            suited = any(cards & ~(_ONE_A_RANK << s) == 0 for s in range(4))
            ids = self.group[shape, suited and self.rules.flush_lock and shape.width == 1 < shape.length]
            lowest_top_rank = shape.length - 1
            tops_a_rank = 5 - shape.width
            index = ((top >> 2) - lowest_top_rank) * tops_a_rank + (top & 3) - (shape.width - 1)
            if 0 <= index < len(ids):
                return ids[index]
        raise self._not_a_combination(cards)

    @cached_property
    def _action_of_cards(self) -> dict[int, int]:
        assert self.cards is not None
        return {cards: action for action, cards in enumerate(self.cards.tolist()) if cards}

    def _not_a_combination(self, cards: int) -> InvalidComboError:
        clauses = "4.20" if self.rules.suits_bind else "1.5, 3.2"
        return InvalidComboError(
            f"{format_cards(cards)} is not a combination of the {self.rules.name} rules (RULES.md {clauses})"
        )

    def text(self, action: int) -> str:
        """A short name of an action: ``"pass"``, ``"pair 5h"``, ``"run 3-5 top 5d"``."""
        if action == PASS:
            return "pass"
        if action == self.declare:
            return "declare"
        shape, top = self.shape(action), int(self.top[action])
        name = kind_name(shape)
        if self.suited_mask[action]:
            name = "suited " + name
        if self.cards is not None and shape in (PAIR, TRIPLE):  # the top card is not enough
            return f"{name} {format_cards(int(self.cards[action]))}"
        if shape.length == 1:
            return f"{name} {CARD_TEXT[top]}"
        return f"{name} {RANK_TEXT[(top >> 2) - shape.length + 1]}-{RANK_TEXT[top >> 2]} top {CARD_TEXT[top]}"


def kind_name(shape: Shape) -> str:
    """The English name of a shape: single, pair, triple, quad, run, double/triple/quad sequence."""
    if shape.length == 1:
        return ("single", "pair", "triple", "quad")[shape.width - 1]
    return ("run", "double sequence", "triple sequence", "quad sequence")[shape.width - 1]


@lru_cache(maxsize=64)
def build_action_table(rules: Rules) -> TienlenActionTable:
    """Build the action table of a variant (RULES.md 7.1)."""
    rows, group = [(Shape(0, 0), False, 0)], {}
    for shape, flag, sets in _groups_by_cards(rules) if rules.suits_bind else _groups_by_top(rules):
        group[shape, flag] = range(len(rows), len(rows) + len(sets))
        rows += [(shape, flag, cards) for cards in sets]
    declare = len(rows) if rules.instant_wins else None
    if declare is not None:
        rows.append((Shape(0, 0), False, 0))
    shapes, flags, masks = zip(*rows, strict=True)
    has_twins = rules.flush_lock and not rules.suits_bind

    def column(values: Iterable[int], dtype: type[np.generic] = np.int64) -> AnyArray:
        out = np.array(list(values), dtype)
        out.setflags(write=False)
        return out

    return TienlenActionTable(
        rules=rules,
        width=column(shape.width for shape in shapes),
        length=column(shape.length for shape in shapes),
        top=column(cards.bit_length() - 1 for cards in masks),
        suited_mask=column((has_twins and flag for flag in flags), np.bool_),
        unsuited_mask=column(
            (has_twins and not flag and s.width == 1 < s.length for s, flag, _ in rows), np.bool_
        ),
        bomb_mask=column((shape in rules.bombs for shape in shapes), np.bool_),
        group=group,
        cards=column(masks) if rules.suits_bind else None,
        declare=declare,
    )


# A shape, a flag, and the actions of the group, weakest first.
ActionGroup: TypeAlias = tuple[Shape, bool, list[int]]


def _groups_by_top(rules: Rules) -> Iterator[ActionGroup]:
    """Actions by their top cards as masks; the flag: runs in one suit."""
    lengths = {w: [m for m in range(rules.min_length(w), rules.max_length(w) + 1) if m] for w in (1, 2, 3, 4)}
    shapes = [(Shape(w, 1), False) for w in (1, 2, 3, 4)]
    shapes += [(Shape(1, m), False) for m in lengths[1]]
    shapes += [(Shape(1, m), True) for m in lengths[1] if rules.flush_lock]
    shapes += [(Shape(w, m), False) for w in (2, 3, 4) for m in lengths[w]]
    for shape, is_suited in shapes:
        highest = RANK_OF_TWO if shape.length == 1 or rules.twos_allowed(shape.width) else RANK_OF_TWO - 1
        ranks = range(shape.length - 1, highest + 1)
        # A set of n needs n - 1 lower suits below its top.
        yield shape, is_suited, [1 << 4 * rank + s for rank in ranks for s in range(shape.width - 1, 4)]


def _groups_by_cards(rules: Rules) -> Iterator[ActionGroup]:
    """Actions by their cards, where suits bind; the flag: pairs of 2s of two colours."""
    black_and_red, suits = (0b0011, 0b1100), (0b0001, 0b0010, 0b0100, 0b1000)
    yield SINGLE, False, [suit << 4 * rank for rank in range(13) for suit in suits]
    yield PAIR, False, [pair << 4 * rank for rank in range(13) for pair in black_and_red]
    yield TRIPLE, False, [15 - missing << 4 * rank for rank in range(13) for missing in reversed(suits)]
    yield QUAD, False, [15 << 4 * rank for rank in range(13)]
    for width, kinds in ((1, suits), (2, black_and_red)):
        first = rules.min_length(width)
        for length in range(first, rules.max_length(width) + 1) if first else ():
            window = sum(1 << 4 * rank for rank in range(length))
            lowest = range(RANK_OF_TWO - length + 1)
            yield Shape(width, length), False, [k * window << 4 * rank for rank in lowest for k in kinds]
    yield PAIR, True, [pair << 4 * RANK_OF_TWO for pair in (0b0101, 0b0110, 0b1001, 0b1010)]
