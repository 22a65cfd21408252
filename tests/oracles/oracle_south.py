"""An independent, deliberately naive player of `south`, `south_count`, `north` and rules like them.

Written from `tienlen_env/RULES.md`, section 4, before the engine's code for it. It shares nothing with the
engine but the fields of `Rules`: combinations, instant wins and the dearest bombs in a hand are found by
trying subsets, and every payment is a line of a ledger. Slow on purpose wherever being plain asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from tests.oracles.oracle import (
    PASS,
    TWO,
    Cards,
    PlainShape,
    all_shapes,
    fewest_ranks,
    highest_rank,
    in_list,
    ladder_of,
    show,
)
from tienlen_env.games.tienlen.fields import NO_PAYMENTS, Payments
from tienlen_env.games.tienlen.rules import Rules

THREE_OF_SPADES = 0
DECLARE: Cards = frozenset({-1})  # stands for declaring an instant win (4.12)


@dataclass(frozen=True)
class Payment:
    """A line of the ledger: `amount` units from `payer` to `payee` (4.15)."""

    payer: int
    payee: int
    amount: int
    cause: str


# ---------------------------------------------------------------- what is a combination (1.5, 4.20)


def paid_by(rules: Rules) -> Payments:
    """What is paid under some rules."""
    return rules.payments or NO_PAYMENTS


def rank(card: int) -> int:
    return card // 4


def is_red(card: int) -> bool:
    return card % 4 >= 2


def colours(cards: Iterable[int]) -> set[bool]:
    return {is_red(c) for c in cards}


def suits(cards: Iterable[int]) -> set[int]:
    return {c % 4 for c in cards}


def num_twos(cards: Iterable[int]) -> int:
    """How many 2s these are if they are nothing else; 0 otherwise."""
    held = list(cards)
    return len(held) if all(rank(c) == TWO for c in held) else 0


def is_bound_pair(cards: Cards) -> bool:
    """Two of a rank and of one colour, or any two 2s (4.20)."""
    return (
        len(cards) == 2
        and len({rank(c) for c in cards}) == 1
        and (len(colours(cards)) == 1 or num_twos(cards) == 2)
    )


def kind(rules: Rules, cards: Cards) -> PlainShape | None:
    """``(n, m)`` of a combination (m consecutive ranks, n cards of each), or None if the cards are none."""
    return _kind(*_lengths(rules), rules.suits_bind, sorted(cards))


def _lengths(rules: Rules) -> tuple[list[int], list[int]]:
    """The fewest ranks and the highest rank of n cards of each rank, for n from 1 to 4."""
    return [fewest_ranks(rules, n) for n in (1, 2, 3, 4)], [highest_rank(rules, n) for n in (1, 2, 3, 4)]


def _kind(
    least: Sequence[int], highest: Sequence[int], suits_bind: bool, cards: Sequence[int]
) -> PlainShape | None:
    ranks = [c // 4 for c in cards]
    n, m = ranks.count(ranks[0]), len(set(ranks))
    if n * m != len(ranks) or any(ranks.count(r) != n for r in ranks):
        return None
    if m == 1:
        return None if n == 2 and suits_bind and not is_bound_pair(frozenset(cards)) else (n, 1)
    if ranks[-1] - ranks[0] + 1 != m or ranks[-1] > highest[n - 1]:
        return None
    if not least[n - 1] or m < least[n - 1]:
        return None
    if suits_bind and n == 1 and len(suits(cards)) > 1:
        return None
    if suits_bind and n == 2 and len(colours(cards)) > 1:
        return None
    return n, m


def combos_of(rules: Rules, hand: Iterable[int]) -> dict[Cards, PlainShape]:
    """Every combination in a hand, with its shape, by trying every subset."""
    held = sorted(hand)
    lengths = _lengths(rules)
    found: dict[Cards, PlainShape] = {}
    for size in range(1, len(held) + 1):
        for subset in combinations(held, size):
            if size % (subset[-1] // 4 - subset[0] // 4 + 1):
                continue  # not the same number of cards of each rank from its lowest to its highest
            shape = _kind(*lengths, rules.suits_bind, subset)
            if shape is not None:
                found[frozenset(subset)] = shape
    return found


# ---------------------------------------------------------------- what beats what (1.6, 1.9, 4.1, 4.21)


def is_bomb(rules: Rules, shape: PlainShape) -> bool:
    """A combination that beats 2s of another shape, or is on the ladder (4)."""
    return shape in ladder_of(rules) or any(in_list(rules, shape, s) for _, s in rules.chops)


def follows(rules: Rules, cards: Cards, table: Cards) -> bool:
    """The same shape and higher (1.6); under `suits_bind` in the same suits or colour (4.21)."""
    shape = kind(rules, cards)
    if shape != kind(rules, table) or max(cards) <= max(table):
        return False
    if not rules.suits_bind or shape == (4, 1):
        return True
    if num_twos(cards):
        return True  # any 2s beat other singles, pairs and triples, and lower 2s
    pairs = shape is not None and shape[0] == 2
    return colours(cards) == colours(table) if pairs else suits(cards) == suits(table)


def beats_as_bomb(rules: Rules, cards: Cards, table: Cards) -> bool:
    """As a bomb on 2s (1.9, 4.3, 4.23), on a lower rung (4.1), or on a bomb of its own shape (1.10, 4.22)."""
    shape, under = kind(rules, cards), kind(rules, table)
    assert shape is not None
    assert under is not None
    if num_twos(table):
        return shape != under and in_list(rules, shape, dict(rules.chops).get(num_twos(table), ()))
    if shape == under:
        return is_bomb(rules, shape) and max(cards) > max(table)
    ladder = ladder_of(rules)
    return shape in ladder and under in ladder and ladder.index(shape) > ladder.index(under)


def beats(rules: Rules, cards: Cards, table: Cards) -> bool:
    return follows(rules, cards, table) or beats_as_bomb(rules, cards, table)


def chops(rules: Rules, cards: Cards, table: Cards) -> bool:
    """Whether a play that beats the table chops it (4.5, 4.24)."""
    if not beats_as_bomb(rules, cards, table):
        return False
    if paid_by(rules).chop_follow == "free" and follows(rules, cards, table):
        return kind(rules, cards) == (4, 1)
    return True


# ---------------------------------------------------------------- prices (4.5, 4.10, 4.16, 4.25)


def price_of_bomb(prices: Iterable[tuple[tuple[int, int], int]], shape: PlainShape) -> int:
    """Of the shape, or of the longest sequence in the list that is part of it; 0 if there is none."""
    best_length, price = 0, 0
    for (width, length), amount in prices:
        if width == shape[0] and best_length < length <= shape[1] and (length > 1 or shape[1] == 1):
            best_length, price = length, amount
    return price


def price_of_twos(prices: tuple[int, int], cards: Iterable[int]) -> int:
    return sum(prices[is_red(c)] for c in cards)


def price_of_chopped(rules: Rules, table: Cards) -> int:
    if num_twos(table):
        return price_of_twos(paid_by(rules).pay_chop_twos, table)
    shape = kind(rules, table)
    assert shape is not None
    return price_of_bomb(paid_by(rules).pay_chop_bombs, shape)


@dataclass(frozen=True)
class Split:
    """What a hand costs at the end: its plain cards, its 2s and its bombs (4.10, 4.16)."""

    cards: int
    twos: int
    bombs: int
    num_cards: int  # plain cards, at `a_card` each


def dearest(rules: Rules, hand: Iterable[int], a_card: int) -> Split:
    """The dearest way to split a hand into 2s, disjoint bombs and plain cards at `a_card` each.

    Of ways that cost the same, the one with the fewest cards in bombs (4.15).
    """
    held = frozenset(hand)
    twos = [c for c in held if rank(c) == TWO and price_of_twos(paid_by(rules).pay_held_twos, [c]) > a_card]
    held -= set(twos)
    bombs: dict[Cards, int] = {}
    for cards, shape in combos_of(rules, [c for c in held if rank(c) != TWO]).items():
        if shape == (4, 1) or (shape[0] == 2 and shape[1] > 1):
            bombs[cards] = price_of_bomb(paid_by(rules).pay_held_bombs, shape)
    fixed = 0
    if paid_by(rules).held_overlap == "quads_first":
        for quad in [b for b in bombs if kind(rules, b) == (4, 1) and bombs[b]]:
            fixed += bombs[quad]
            held -= quad

    @cache
    def best(left: Cards) -> tuple[int, int, int]:
        """Sum, minus the cards in bombs, price of the bombs."""
        if not left:
            return 0, 0, 0
        lowest = min(left)
        total, minus, price = best(left - {lowest})
        found = [(total + a_card, minus, price)]
        for cards, amount in bombs.items():
            if lowest in cards and cards <= left:
                total, minus, price = best(left - cards)
                found.append((total + amount, minus - len(cards), price + amount))
        return max(found)

    _, minus, price = best(held)
    plain = len(held) + minus
    return Split(plain * a_card, price_of_twos(paid_by(rules).pay_held_twos, twos), fixed + price, plain)


# ---------------------------------------------------------------- instant wins (4.11, 4.13, 4.29)


def _pairs_of(rules: Rules, cards: Cards) -> int:
    """How many pairs of 4.20 the cards make if all of them are used; 0 if they do not split into pairs."""
    if not cards:
        return 0
    lowest = min(cards)
    for other in cards - {lowest}:
        rest = cards - {lowest, other}
        pair = frozenset({lowest, other})
        if rank(lowest) == rank(other) and (is_bound_pair(pair) or not rules.suits_bind):
            below = _pairs_of(rules, rest)
            if below or not rest:
                return below + 1
    return 0


def _ranks_with(cards: Cards, n: int) -> list[int]:
    """The ranks if each is there exactly n times, else none."""
    ranks = [c // 4 for c in cards]
    return [] if any(ranks.count(r) != n for r in ranks) else sorted(set(ranks))


def _in_a_row(ranks: list[int], m: int) -> bool:
    """m consecutive ranks below the 2."""
    return len(ranks) == m and ranks[-1] - ranks[0] == m - 1 and ranks[-1] < TWO


def _is_six_pairs(rules: Rules, cards: Cards) -> bool:
    ranks = [c // 4 for c in cards]
    if any(ranks.count(r) % 2 for r in ranks):
        return False  # a pair is of one rank
    # Where suits bind, four of a kind are a black and a red pair (4.29).
    different = rules.quad_is_two_pairs or rules.suits_bind or len({rank(c) for c in cards}) == 6
    return different and _pairs_of(rules, cards) == 6


PATTERNS: dict[str, tuple[int, Callable[[Rules, Cards], bool]]] = {
    "dragon": (
        12,
        lambda rules, c: _in_a_row(_ranks_with(c, 1), 12) and (not rules.suits_bind or len(suits(c)) == 1),
    ),
    "four_twos": (4, lambda rules, c: num_twos(c) == 4),
    "five_pair_run": (
        10,
        lambda rules, c: _in_a_row(_ranks_with(c, 2), 5) and (not rules.suits_bind or len(colours(c)) == 1),
    ),
    "six_pairs": (12, _is_six_pairs),
    "one_suit": (13, lambda rules, c: len(suits(c)) == 1),
    "one_colour": (13, lambda rules, c: len(colours(c)) == 1),
    "four_threes": (4, lambda rules, c: all(rank(x) == 0 for x in c)),
    "three_triples": (9, lambda rules, c: len(_ranks_with(c, 3)) == 3),
    "triple_run": (9, lambda rules, c: _in_a_row(_ranks_with(c, 3), 3)),
    "three_quads": (12, lambda rules, c: len(_ranks_with(c, 4)) == 3),
}


def top_of_pattern(rules: Rules, word: str, hand: Iterable[int]) -> int:
    """The highest card at the top of all ways to make a pattern from a hand; -1 if there is none."""
    size, is_it = PATTERNS[word]
    size = rules.cards_each if word == "one_colour" else size
    cards = sorted(hand, reverse=True)  # the highest first
    if "pair" in word or "triple" in word or "quad" in word:  # of cards that have others of their rank
        ranks = [c // 4 for c in cards]
        least = 2 if "pair" in word else 3 if "triple" in word else 4
        cards = [c for c in cards if ranks.count(c // 4) >= least]
    ways = (frozenset(s) for s in combinations(cards, size))
    return next((max(way) for way in ways if is_it(rules, way)), -1)


def find_instant(rules: Rules, hands: Sequence[Iterable[int]], first_game: bool) -> tuple[int, str] | None:
    """The seat that wins at the deal and its pattern: the highest pattern, then the top card (4.13)."""
    for word in rules.instant_wins:
        if word == "four_threes" and not first_game:
            continue
        tops = [top_of_pattern(rules, word, hand) for hand in hands]
        if max(tops) >= 0:
            return tops.index(max(tops)), word
    return None


# ---------------------------------------------------------------- the game


@cache
def reopening(rules: Rules) -> tuple[Cards, ...]:
    """Of each bomb shape that may be played after a pass (3.6), the highest combinations of a full deck."""
    found = []
    for n, m in all_shapes(rules):
        if in_list(rules, (n, m), rules.rejoin):
            top = TWO if m == 1 else highest_rank(rules, n)
            for suits_used in combinations(range(4), n):
                cards = frozenset(4 * r + s for r in range(top - m + 1, top + 1) for s in suits_used)
                if kind(rules, cards) == (n, m):
                    found.append(cards)
    return tuple(found)


class Oracle:
    """One round in sets and lists.

    Args:
        rules: the variant; without knockouts and without a flush lock.
        hands: card ids of each seat; any number of cards, so that small positions can be written down.
        leader: who leads freely; None: the opening of 1.3 ("first game").

    Attributes:
        hands: list of sets of card ids.
        turn: seat to act, None when the round is over.
        table: the play on the table, None when it is empty; `owner` played it.
        passed: seats that have passed in this trick.
        waiting: seats that have still to answer the play on the table.
        live: seats that are in the round.
        places: place of each seat, 0 for the first; -1 while it is in.
        cong: seats that had played no card when the first went out (4.9).
        links: the chops of this trick, oldest first, as (payer, payee, price) (4.6).
        ledger: every payment booked in the round; `booked` those of the last decision.
        liable: who pays the first for all others at the end of the round, or None (4.36).
        declarer: the seat that has to declare an instant win, or None (4.12).
        pattern: the word of its pattern.
        round_over: the round is over.
    """

    def __init__(self, rules: Rules, hands: Sequence[Iterable[int]], leader: int | None = None) -> None:
        assert rules.knockout == "none"
        assert not rules.flush_lock
        self.rules = rules
        self.num_players = rules.num_players
        self.hands = [set(hand) for hand in hands]
        self.combos = [combos_of(rules, hand) for hand in hands]
        self.live = set(range(self.num_players))
        self.places = [-1] * self.num_players
        self.played: set[int] = set()
        self.cong: set[int] = set()
        self.ledger: list[Payment] = []
        self.booked: list[Payment] = []
        self.round_over = False
        self.liable: int | None = None
        lowest = min(set().union(*self.hands))
        self.duty = lowest if leader is None and rules.opening_play != "free" else None
        instant = find_instant(rules, hands, first_game=leader is None)
        if leader is None:  # 1.3
            leader = next(seat for seat in self.live if lowest in self.hands[seat])
        self.declarer, self.pattern = instant or (None, "")
        self._lead(leader if self.declarer is None else self.declarer)

    # ------------------------------------------------------------ what may be played

    def legal_sets(self) -> set[Cards]:
        """Every legal play of the seat to act; the empty set is the pass, `DECLARE` the declaration."""
        if self.turn is None:
            return set()
        if self.declarer is not None:  # 4.12
            return {DECLARE}
        plays = self._legal_but_for_last_cards(self.turn)
        if self.rules.last_card_duty == "highest" and self._before_last_card(self.turn) is not None:  # 4.34
            singles = [c for c in plays if len(c) == 1]
            plays -= {c for c in singles if max(c) < max(max(s) for s in singles)}
        return plays

    def _before_last_card(self, seat: int) -> int | None:
        """The seat after this one that may still play in this trick, if it has one card left (4.34)."""
        for other in self._others(seat):
            if other in self.live and not (self.rules.pass_lock and other in self.passed):
                return other if len(self.hands[other]) == 1 else None
        return None

    def _legal_but_for_last_cards(self, seat: int) -> set[Cards]:
        combos = [c for c in self.combos[seat] if c <= self.hands[seat]]
        if self.table is None:  # 1.3, 1.8
            plays = {c for c in combos if self.duty is None or self.duty in c}
            alone = self.duty is not None and self.rules.opening_play == "alone"
            return {c for c in plays if len(c) == 1 or not alone}
        plays = {c for c in combos if beats(self.rules, c, self.table)}
        if seat in self.passed and self.rules.pass_lock:  # 1.7, 3.6, 4.4
            plays = {c for c in plays if in_list(self.rules, self.combos[seat][c], self.rules.rejoin)}
        return plays | {PASS}

    def _may_rejoin(self) -> bool:
        """Whether some bomb of `rejoin` of a full deck beats the table (3.6, 4.4)."""
        assert self.table is not None
        if self.rules.rejoin_twos and not self.twos_in_trick:
            return False
        return any(beats(self.rules, bomb, self.table) for bomb in reopening(self.rules))

    # ------------------------------------------------------------ playing

    def play(self, some_cards: Iterable[int]) -> None:
        """Play some cards, pass with none, or declare with `DECLARE`.

        Raises:
            ValueError: the play is not legal; the round is as it was.
        """
        cards = frozenset(some_cards)
        if self.turn is None or cards not in self.legal_sets():
            raise ValueError(
                f"{show(cards) if cards != DECLARE else 'declare'} is not legal for seat {self.turn}"
            )
        seat, self.booked = self.turn, []
        if cards == DECLARE:
            self._declare(seat)
        elif not cards:
            self.passed.add(seat)
            self.waiting.discard(seat)
            self._go_on(seat)
        else:
            self._play_cards(seat, cards)
        self.ledger += self.booked

    def _declare(self, seat: int) -> None:
        """4.12, 4.14."""
        for other in self._others(seat):
            self._book(other, seat, paid_by(self.rules).pay_instant, "instant")
        self._end([seat, *self._by_cards_left(set(self._others(seat)), seat)])

    def _play_cards(self, seat: int, cards: Cards) -> None:
        beaten, beaten_owner, was_marked = self.table, self.owner, self.marked
        # 4.35, 4.36: this play empties the hand of the next player, on a single that could have been higher.
        let_out = self.let_out == seat and len(cards) == 1 and self.hands[seat] == cards
        if let_out and 0 not in self.places:
            self.liable = beaten_owner
        self.let_out = None
        if len(cards) == 1 and any(
            len(c) == 1 and max(c) > max(cards) for c in self._legal_but_for_last_cards(seat)
        ):
            self.let_out = self._before_last_card(seat)
        if beaten is not None and chops(self.rules, cards, beaten):
            assert beaten_owner is not None
            self._chop(beaten_owner, seat, price_of_chopped(self.rules, beaten))
        self.hands[seat] -= cards
        self.played.add(seat)
        self.duty = None
        self.table, self.owner = cards, seat
        self.twos_in_trick = self.twos_in_trick or num_twos(cards) > 0
        self.marked = bool(paid_by(self.rules).pay_last_three) and self.hands[seat] == {THREE_OF_SPADES}

        if was_marked:  # 4.28: caught
            assert beaten_owner is not None
            self._book_chops()
            self._book(beaten_owner, seat, paid_by(self.rules).pay_last_three, "last_three")
            middle = self._by_cards_left(set(range(self.num_players)) - {seat, beaten_owner}, seat)
            self._end([seat, *middle, beaten_owner])
            return
        if not self.hands[seat]:
            num = sum(rank(c) == TWO for c in cards)
            if self.rules.last_two == "ends" and num:  # 4.27
                self._book_chops()
                for other in self._others(seat):
                    self._book(seat, other, num * paid_by(self.rules).pay_last_two, "last_two")
                self._end([*self._by_cards_left(set(self._others(seat)), seat), seat])
                return
            self._go_out(seat)
            if self.round_over:
                return
        self.waiting = self.live - {seat}
        if not self.rules.pass_lock:
            self.passed = set()  # a pass is forgotten at the next play
        elif not self._may_rejoin():
            self.waiting -= self.passed
        self._go_on(seat)

    def _go_out(self, seat: int) -> None:
        """A seat has played its last card: its place, cóng (4.9), the end of the round (1.11, 4.16)."""
        first = 0 not in self.places
        self._take_place(seat, self._next_place())
        if first and paid_by(self.rules).pay_cong:
            self.cong = {s for s in range(self.num_players) if s != seat and s not in self.played}
        if first and self.rules.round_end == "first":
            self._book_chops()
            self._end([seat, *self._by_cards_left(set(self._others(seat)), seat)])
            self._pay_for_the_end()
            return
        if first and self.rules.cong == "out":
            nearest_first = [s for s in self._others(seat) if s in self.cong]
            for place, out in enumerate(nearest_first, self.num_players - len(nearest_first)):
                self._take_place(out, place)
        if len(self.live) <= 1:
            self._book_chops()
            self._end(sorted(self.live))
            self._pay_for_the_end()

    def _pay_for_cards(self, payer: int, first: int, payee: int) -> None:
        """4.10, 4.16, 4.17, 4.25, 4.26: to the first, and to `payee` for 2s and bombs."""
        hand, rules = self.hands[payer], self.rules
        split = dearest(rules, hand, paid_by(rules).pay_card)
        if payer not in self.cong:
            self._owe(payer, first, split.cards, "cards")
        elif paid_by(rules).cong_held == "added":
            self._owe(payer, first, paid_by(rules).pay_cong, "cong")
            split = dearest(rules, hand, 0)
        else:
            replaced = len(hand) - split.num_cards
            self._owe(payer, first, paid_by(rules).pay_cong - replaced * paid_by(rules).pay_card, "cong")
        self._book_held(payer, payee, split)

    def _book_held(self, payer: int, payee: int, split: Split) -> None:
        self._owe(payer, payee, split.twos, "held_twos")
        self._owe(payer, payee, split.bombs, "held_bombs")

    def _owe(self, payer: int, payee: int, amount: int, cause: str) -> None:
        """A payment for the end of a round; who let the first go out pays the first for all (4.36)."""
        is_to_first = self.places[payee] == 0
        if self.rules.last_card_duty == "pays" and is_to_first and self.liable is not None:
            payer = self.liable
        self._book(payer, payee, amount, cause)

    def _pay_for_the_end(self) -> None:
        """4.8 to 4.10, 4.16, 4.31: places, stakes, and what each player holds."""
        at = [self.places.index(p) for p in range(self.num_players)]
        prices = [*paid_by(self.rules).pay_places, 0, 0]
        for better in (0, 1):
            worse = self.num_players - 1 - better
            if worse > better and at[worse] not in self.cong:
                self._owe(at[worse], at[better], prices[better], "place")
        for place, seat in enumerate(at[1:], 1):
            self._owe(seat, at[0], paid_by(self.rules).pay_first, "stake")
            if self.hands[seat] or seat in self.cong:
                to_first = seat in self.cong or paid_by(self.rules).held_to == "first"
                self._pay_for_cards(seat, at[0], at[0] if to_first else at[place - 1])

    def _book(self, payer: int, payee: int, amount: int, cause: str) -> None:
        assert payer != payee
        assert amount >= 0
        if amount:
            self.booked.append(Payment(payer, payee, amount, cause))

    def _chop(self, payer: int, payee: int, price: int) -> None:
        """4.5 to 4.7."""
        unpaid = paid_by(self.rules).chop_out == "nobody" and payer not in self.live
        if price and not (unpaid and paid_by(self.rules).chop_chain == "each"):
            self.links.append((payer, payee, price))
            self.chain_is_unpaid = unpaid

    def owed(self) -> list[Payment]:
        """What the chops of this trick will cost (4.6, 4.7)."""
        if not self.links:
            return []
        if paid_by(self.rules).chop_chain == "last":
            payer, payee, _ = self.links[-1]
            total = sum(price for _, _, price in self.links)
            return [] if self.chain_is_unpaid else [Payment(payer, payee, total, "chop")]
        factor = 2 if paid_by(self.rules).chop_doubles else 1
        return [Payment(a, b, price * factor**i, "chop") for i, (a, b, price) in enumerate(self.links)]

    def _book_chops(self) -> None:
        """The trick is cleared or the round ends (4.7)."""
        self.booked += self.owed()
        self.links = []

    # ------------------------------------------------------------ order and places

    def _others(self, seat: int) -> list[int]:
        """The other seats in the order of play after a seat."""
        return [(seat + step) % self.num_players for step in range(1, self.num_players)]

    def _by_cards_left(self, seats: set[int], after: int) -> list[int]:
        """Fewer cards first, equal ones in turn order after a seat (4.18)."""
        return sorted((s for s in self._others(after) if s in seats), key=lambda s: len(self.hands[s]))

    def _next_place(self) -> int:
        return min(p for p in range(self.num_players) if p not in self.places)

    def _take_place(self, seat: int, place: int) -> None:
        self.places[seat] = place
        self.live.discard(seat)

    def _end(self, order: list[int]) -> None:
        """The round is over; who has no place yet takes the free ones in this order (4.18)."""
        for seat in order:
            if self.places[seat] < 0:
                self._take_place(seat, self._next_place())
        self.round_over, self.turn, self.waiting = True, None, set()

    def _go_on(self, seat: int) -> None:
        """The turn goes to the next seat that has to answer, or a seat leads (1.8, 1.14, 4.28)."""
        assert self.owner is not None
        if not self.waiting and self.marked:  # 4.28: it has not been beaten
            self._book_chops()
            for other in self._others(self.owner):
                self._book(other, self.owner, paid_by(self.rules).pay_last_three, "last_three")
            self._end([self.owner, *self._by_cards_left(set(self._others(self.owner)), self.owner)])
        elif not self.waiting:
            self._book_chops()
            self._lead(self.owner if self.owner in self.live else self._next(self.live, self.owner))
        elif (
            self.rules.heir == "last_live"
            and self.owner not in self.live
            and len(self.waiting) == 1
            and not self.waiting & self.passed
        ):
            self._book_chops()
            self._lead(min(self.waiting))
        else:
            self.turn = self._next(self.waiting, seat)

    def _next(self, seats: set[int], seat: int) -> int:
        return next(s for s in [*self._others(seat), seat] if s in seats)

    def _lead(self, leader: int) -> None:
        """The table is cleared and a seat leads (1.8)."""
        self.table: Cards | None = None
        self.owner: int | None = None
        self.passed: set[int] = set()
        self.links: list[tuple[int, int, int]] = []
        self.chain_is_unpaid = False
        self.twos_in_trick = False
        self.marked = False
        self.let_out: int | None = None
        self.waiting = {leader}
        self.turn: int | None = leader

    def net(self, payments: Iterable[Payment]) -> list[int]:
        """What each seat gets less what it pays."""
        total = [0] * self.num_players
        for payment in payments:
            total[payment.payer] -= payment.amount
            total[payment.payee] += payment.amount
        return total
