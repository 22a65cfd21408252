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
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from tienlen_env.errors import InvalidComboError
from tienlen_env.games.common.arrays import BoolArray, IntArray
from tienlen_env.games.common.cards import CARD_TEXT, FULL_DECK, NO_CARD, RANK_OF_TWO, RANK_TEXT, format_cards
from tienlen_env.games.tienlen.rules import PAIR, QUAD, SINGLE, TRIPLE, Rules, Shape

PASS: Final = 0

_ONE_A_RANK: Final = 0x1111111111111


@dataclass(frozen=True, eq=False)
class ActionTable:
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
        window = (ranks > (rank - self.length)[:, None]) & (ranks <= rank[:, None])  # (A, R)
        nibble = np.int64(1) << (4 * ranks)
        need = (window * self.width[:, None] * nibble).sum(axis=1)
        held_a_rank = np.bitwise_count((hand >> (4 * ranks)) & 15).astype(np.int64)
        counts = (held_a_rank * nibble).sum(axis=-1, keepdims=True)
        guard = np.int64(_ONE_A_RANK * 8)
        enough = (((counts | guard) - need) & guard) == guard
        top_bit = np.where(self.top == NO_CARD, 0, np.int64(1) << np.maximum(self.top, 0))
        at_or_below = (2 * top_bit - 1) & ~((np.int64(1) << np.maximum(4 * rank, 0)) - 1)
        top_fits = ((hand & top_bit) == top_bit) & (np.bitwise_count(hand & at_or_below) >= self.width)
        # Runs with a flush bit: every card of the window in the top's suit, or some inner card in another.
        one_suit = np.int64(_ONE_A_RANK) << np.maximum(suit, 0)
        inner = (window & (ranks < rank[:, None])) @ (15 * nibble)
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
            return self._classify_exact(cards)
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

    def _classify_exact(self, cards: int) -> int:
        try:
            return self._action_of_cards[cards]
        except KeyError:
            raise self._not_a_combination(cards) from None

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
def build_action_table(rules: Rules) -> ActionTable:
    """Build the action table of a variant (RULES.md 7.1)."""
    return _build_exact(rules) if rules.suits_bind else _build_by_top(rules)


def _build_by_top(rules: Rules) -> ActionTable:
    """Actions by shape, window and top card, all groups in one vectorised pass."""
    lengths = {w: range(rules.min_length(w), rules.max_length(w) + 1) for w in (1, 2, 3, 4)}
    shapes = [(Shape(w, 1), False) for w in (1, 2, 3, 4)]
    shapes += [(Shape(1, m), False) for m in lengths[1] if m]
    if rules.flush_lock:
        shapes += [(Shape(1, m), True) for m in lengths[1] if m]
    shapes += [(Shape(w, m), False) for w in (2, 3, 4) for m in lengths[w] if m]

    width = np.array([s.width for s, _ in shapes])
    length = np.array([s.length for s, _ in shapes])
    suited = np.array([f for _, f in shapes])
    highest = np.array([12 if s.length == 1 or rules.twos_allowed(s.width) else 11 for s, _ in shapes])
    tops_a_rank = 5 - width  # a set of n needs n-1 lower suits below its top
    count = (highest - (length - 1) + 1) * tops_a_rank
    first = 1 + np.concatenate([[0], np.cumsum(count)[:-1]])

    g = np.repeat(np.arange(len(shapes)), count)
    index = np.arange(1, 1 + count.sum()) - first[g]
    rank = length[g] - 1 + index // tops_a_rank[g]
    top = rank * 4 + width[g] - 1 + index % tops_a_rank[g]
    is_bomb = np.array([s in rules.bombs for s, _ in shapes])
    has_twin = np.array([rules.flush_lock and s.width == 1 < s.length for s, _ in shapes])

    def column(values: IntArray, of_no_cards: int) -> IntArray:
        out = np.concatenate([[of_no_cards], values, [of_no_cards] * bool(rules.instant_wins)])
        out = out.astype(np.int64)
        out.setflags(write=False)
        return out

    return ActionTable(
        rules=rules,
        width=column(width[g], 0),
        length=column(length[g], 0),
        top=column(top, NO_CARD),
        suited_mask=column(suited[g], 0).astype(bool),
        unsuited_mask=column((has_twin & ~suited)[g], 0).astype(bool),
        bomb_mask=column(is_bomb[g], 0).astype(bool),
        group={
            key: range(f, f + c) for key, f, c in zip(shapes, first.tolist(), count.tolist(), strict=True)
        },
        declare=1 + int(count.sum()) if rules.instant_wins else None,
    )


def _build_exact(rules: Rules) -> ActionTable:
    """Actions by their cards, where suits bind."""
    black_and_red, suits = (0b0011, 0b1100), (0b0001, 0b0010, 0b0100, 0b1000)
    groups: list[tuple[Shape, bool, list[int]]] = [
        (SINGLE, False, [suit << 4 * rank for rank in range(13) for suit in suits]),
        (PAIR, False, [pair << 4 * rank for rank in range(13) for pair in black_and_red]),
        (TRIPLE, False, [15 - missing << 4 * rank for rank in range(13) for missing in reversed(suits)]),
        (QUAD, False, [15 << 4 * rank for rank in range(13)]),
    ]
    for width, kinds in ((1, suits), (2, black_and_red)):
        first = rules.min_length(width)
        for length in range(first, rules.max_length(width) + 1) if first else ():
            window = sum(1 << 4 * rank for rank in range(length))
            lowest = range(RANK_OF_TWO - length + 1)
            groups.append(
                (
                    Shape(width, length),
                    False,
                    [kind * window << 4 * rank for rank in lowest for kind in kinds],
                )
            )
    two_colours = (0b0101, 0b0110, 0b1001, 0b1010)
    groups.append((PAIR, True, [pair << 4 * RANK_OF_TWO for pair in two_colours]))

    rows, group = [(Shape(0, 0), 0)], {}
    for shape, is_mixed, sets in groups:
        group[shape, is_mixed] = range(len(rows), len(rows) + len(sets))
        rows += [(shape, cards) for cards in sets]
    declare = len(rows) if rules.instant_wins else None
    if declare is not None:
        rows.append((Shape(0, 0), 0))

    def column(values: list[int]) -> IntArray:
        out = np.array(values, np.int64)
        out.setflags(write=False)
        return out

    return ActionTable(
        rules=rules,
        width=column([shape.width for shape, _ in rows]),
        length=column([shape.length for shape, _ in rows]),
        top=column([cards.bit_length() - 1 for _, cards in rows]),
        suited_mask=np.zeros(len(rows), np.bool_),
        unsuited_mask=np.zeros(len(rows), np.bool_),
        bomb_mask=np.array([shape in rules.bombs for shape, _ in rows]),
        group=group,
        cards=column([cards for _, cards in rows]),
        declare=declare,
    )
