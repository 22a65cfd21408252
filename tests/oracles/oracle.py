"""An independent, deliberately naive player of Tiến lên, written from `tienlen_env/RULES.md` alone.

It shares nothing with the engine but the fields of `Rules`: cards are ints in Python sets, combinations are
found by walking over windows of ranks, and each clause is a few plain lines that cite it. Tests play it side
by side with the engine. It is slow on purpose wherever being plain asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.plays import mask_of
from tienlen_env.games.common.cards import format_cards, parse_cards
from tienlen_env.games.tienlen.rules import Rules

Cards = frozenset[int]
PlainShape = tuple[int, int]  # n cards of each of m consecutive ranks

PASS: Cards = frozenset()
TWO = 12
REWARDS = ("points", "zero_sum", "win", "cards")


def cards(text: str) -> set[int]:
    """Card ids of a text: ``cards("3s 4h") == {0, 7}``."""
    mask = parse_cards(text)
    return {c for c in range(52) if mask >> c & 1}


def show(some_cards: Iterable[int]) -> str:
    """The text of some card ids."""
    return format_cards(mask_of(some_cards)) or "(nothing)"


# ---------------------------------------------------------------- what is a combination (1.5, 3.2, 3.3)


def fewest_ranks(rules: Rules, n: int) -> int:
    """Fewest ranks of a sequence with n cards of each; 0: there are none."""
    return rules.run_min if n == 1 else rules.set_run_min[n - 2]


def highest_rank(rules: Rules, n: int) -> int:
    """The highest rank in a sequence with n cards of each: an ace, or a 2 where twos may be in it."""
    in_runs, in_set_runs = rules.twos_in in ("runs", "both"), rules.twos_in in ("set_runs", "both")
    return TWO if (in_runs if n == 1 else in_set_runs) else TWO - 1


def shape_of(rules: Rules, some_cards: Iterable[int]) -> PlainShape | None:
    """``(n, m)`` of a combination, or None if the cards are none."""
    ranks = [c // 4 for c in some_cards]
    distinct = sorted(set(ranks))
    how_many = {ranks.count(r) for r in distinct}
    if len(how_many) != 1:
        return None
    n, m = how_many.pop(), len(distinct)
    if m == 1:
        return n, m
    low, high = distinct[0], distinct[-1]
    if high - low + 1 != m or not fewest_ranks(rules, n) or m < fewest_ranks(rules, n):
        return None
    return (n, m) if high <= highest_rank(rules, n) else None


def combos_of_hand(rules: Rules, hand: Iterable[int], only: set[PlainShape] | None = None) -> set[Cards]:
    """Every combination in a hand, or those of some shapes, by walking over windows of ranks."""
    at: list[list[int]] = [[] for _ in range(13)]
    for card in hand:
        at[card // 4].append(card)
    found: set[Cards] = set()
    for n in (1, 2, 3, 4):
        if only is not None and all(shape[0] != n for shape in only):
            continue
        sets = [list(combinations(held, n)) for held in at]
        minimum, highest = fewest_ranks(rules, n), highest_rank(rules, n)
        longest = 13 if only is None else max(m for width, m in only if width == n)
        for low in range(13):
            window = sets[low]
            if only is None or (n, 1) in only:
                found.update(map(frozenset, window))
            if not minimum:
                continue
            for high in range(low + 1, min(highest, low + longest - 1) + 1):
                if not window or not sets[high]:
                    break
                window = [below + top for below in window for top in sets[high]]
                m = high - low + 1
                if m >= minimum and (only is None or (n, m) in only):
                    found.update(map(frozenset, window))
    return found


def combos_by_subsets(rules: Rules, hand: Iterable[int]) -> set[Cards]:
    """The same by trying every subset; for hands of a few cards."""
    held = sorted(hand)
    subsets = (s for size in range(1, len(held) + 1) for s in combinations(held, size))
    return {frozenset(s) for s in subsets if shape_of(rules, s) is not None}


def is_suited(some_cards: Iterable[int]) -> bool:
    """Whether all cards are of one suit."""
    return len({c % 4 for c in some_cards}) == 1


# ---------------------------------------------------------------- what beats what (1.6, 1.9, 1.10, 4)


def in_list(rules: Rules, shape: PlainShape, shapes: Iterable[PlainShape]) -> bool:
    """Whether a list of bombs names the shape, or by `chop_longer` a shorter sequence of its width (1.9)."""
    n, m = shape
    for width, length in shapes:
        if (width, length) == (n, m):
            return True
        if rules.chop_longer and length > 1 and width == n and m > length:
            return True
    return False


def num_twos(table: Iterable[int]) -> int:
    """How many 2s lie there by themselves; 0 if anything else does (a run that ends in a 2: 3.5)."""
    held = list(table)
    return len(held) if all(c // 4 == TWO for c in held) else 0


def beats_as_bomb(rules: Rules, shape: PlainShape, table: Cards) -> bool:
    """Whether any combination of this shape beats the table as a bomb of another shape (1.9, ladder: 4)."""
    table_shape = shape_of(rules, table)
    if num_twos(table):
        return in_list(rules, shape, dict(rules.chops).get(num_twos(table), ()))
    ladder = ladder_of(rules)
    return shape in ladder and table_shape in ladder and ladder.index(shape) > ladder.index(table_shape)


def ladder_of(rules: Rules) -> list[PlainShape]:
    """The ladder; bombs too long for 13 cards stand right above the longest one that 13 cards have (4.1)."""
    rungs: list[PlainShape] = []
    for n, m in rules.ladder:
        rungs.append((n, m))
        if (n, m) in ((2, 6), (3, 4), (4, 3)):
            longer = [
                (n, k) for k in range(m + 1, rules.cards_each // n + 1) if k <= highest_rank(rules, n) + 1
            ]
            bombs = [s for s in longer if any(in_list(rules, s, named) for _, named in rules.chops)]
            rungs += [s for s in bombs if s not in rules.ladder]
    return rungs


def all_shapes(rules: Rules) -> list[PlainShape]:
    """Every shape that 13 cards can have, or more where more are dealt (1.16)."""
    shapes = [(n, 1) for n in (1, 2, 3, 4)]
    for n in (1, 2, 3, 4):
        for m in range(2, max(13, rules.cards_each) // n + 1):
            if fewest_ranks(rules, n) and fewest_ranks(rules, n) <= m <= highest_rank(rules, n) + 1:
                shapes.append((n, m))
    return shapes


# ---------------------------------------------------------------- the game


class Oracle:
    """A game of Tiến lên in sets and lists.

    Args:
        rules: the variant.
        hands: card ids of each seat; any number of cards, so that small positions can be written down.
        leader: who leads the first round freely; None: the opening of 1.3 (or `rules.opening_play`).
        seed_scores: points of the game so far; None for zeros.

    Attributes:
        hands: list of sets of card ids.
        turn: seat to act, None when the round is over.
        table: the cards of the play on the table, weakest first, or None when it is empty.
        owner: the seat that played it, or None.
        passed: seats that have passed in this trick, those knocked out of it included.
        knocked: seats knocked out of this trick or of the round (3.7).
        waiting: seats that have still to answer the play on the table.
        places: place of each seat, 0 for the first; -1 while it is in.
        scores: points of each seat in the game.
        rewards: total reward of each seat, by scheme.
        step_rewards: the same for the last decision alone.
        round_over: the round is over; `next_round` goes on unless `over`.
        over: the game is over (1.12; without a target a game is one round).
        history: (seat, cards) of every decision of the round.
    """

    def __init__(
        self,
        rules: Rules,
        hands: Sequence[Iterable[int]],
        leader: int | None = None,
        seed_scores: Sequence[int] | None = None,
    ) -> None:
        self.rules = rules
        self.num_players = rules.num_players
        self.place_points = list(rules.points) or [self.num_players - 1 - p for p in range(self.num_players)]
        self.scores = list(seed_scores) if seed_scores is not None else [0] * self.num_players
        self.rewards = {scheme: [0.0] * self.num_players for scheme in REWARDS}
        self._deal(hands, leader)

    def _deal(self, hands: Sequence[Iterable[int]], leader: int | None) -> None:
        self.hands = [set(hand) for hand in hands]
        dealt = set().union(*self.hands)
        if len(self.hands) != self.num_players or not all(self.hands):
            raise ValueError("a hand for each seat, and a card in each hand")
        if len(dealt) != sum(map(len, self.hands)) or not dealt <= set(range(52)):
            raise ValueError("each card once")
        self.live = set(range(self.num_players))
        self.places = [-1] * self.num_players
        self.history: list[tuple[int, Cards]] = []
        self.step_rewards = {scheme: [0.0] * self.num_players for scheme in REWARDS}
        self.round_over = False
        self.duty: int | None = None
        if leader is None:  # 1.3: the 3 of spades, or else the lowest card dealt
            lowest = min(dealt)
            leader = next(seat for seat in self.live if lowest in self.hands[seat])
            if self.rules.opening_play != "free":
                self.duty = lowest
        self._lead(leader)

    def next_round(self, hands: Sequence[Iterable[int]]) -> None:
        """Start the next round of the game with new hands (1.4, 3.1)."""
        if not self.round_over or self.over:
            raise ValueError("no next round: this one is not over, or the game is")
        self._deal(hands, None if self.rules.opening == "every" else self.places.index(0))

    @property
    def over(self) -> bool:
        """Whether the game is over (1.12)."""
        if not self.round_over:
            return False
        best = max(self.scores)
        return self.rules.target == 0 or (best >= self.rules.target and self.scores.count(best) == 1)

    # ------------------------------------------------------------ what may be played

    def legal_sets(self) -> set[Cards]:
        """Every legal play of the seat to act, as sets of card ids; the empty set is the pass."""
        if self.turn is None:
            return set()
        if self._legal is None:
            self._legal = self._find_legal()
        return set(self._legal)

    def _find_legal(self) -> set[Cards]:
        assert self.turn is not None
        plays = self._legal_but_for_last_cards()
        if self.rules.last_card_duty == "highest" and self._is_before_last_card():  # 4.34
            singles = sorted(max(p) for p in plays if len(p) == 1)
            plays -= {frozenset({card}) for card in singles[:-1]}
        return plays

    def _is_before_last_card(self) -> bool:
        """Whether the next player who may still play in this trick has one card left (4.34)."""
        assert self.turn is not None
        seat = self.turn
        for _ in range(self.num_players - 1):
            seat = (seat + 1) % self.num_players
            out = self.knocked | (self.passed if self.rules.pass_lock else set())
            if seat in self.live - out:
                return len(self.hands[seat]) == 1
        return False

    def _legal_but_for_last_cards(self) -> set[Cards]:
        assert self.turn is not None
        hand = self.hands[self.turn]
        if self.table is None:  # 1.8: anything, but no pass
            plays = combos_of_hand(self.rules, hand)
            if self.duty is not None:  # 1.3
                plays = {p for p in plays if self.duty in p}
                if self.rules.opening_play == "alone":
                    plays = {p for p in plays if len(p) == 1}
            return plays
        table = frozenset(self.table)
        shape = shape_of(self.rules, table)
        assert shape is not None
        ordinary, bombs = {shape}, {s for s in all_shapes(self.rules) if beats_as_bomb(self.rules, s, table)}
        if self.turn in self.passed and self.rules.pass_lock:  # 1.7, 3.6
            ordinary = {s for s in ordinary if in_list(self.rules, s, self.rules.rejoin)}
            bombs = {s for s in bombs if in_list(self.rules, s, self.rules.rejoin)}
        plays = combos_of_hand(self.rules, hand, bombs) if bombs else set()
        if ordinary:
            higher = {p for p in combos_of_hand(self.rules, hand, ordinary) if max(p) > max(table)}  # 1.6
            plays |= {p for p in higher if not self.flush_locked or is_suited(p)}  # 3.4
        return plays | {PASS}

    def _may_rejoin(self) -> bool:
        """Whether a bomb of `rejoin` of a full deck beats the table, in a trick that it may reopen (3.6)."""
        assert self.table is not None
        if self.rules.rejoin_twos and not self.twos_in_trick:
            return False
        table = frozenset(self.table)
        for shape in all_shapes(self.rules):
            if not in_list(self.rules, shape, self.rules.rejoin):
                continue
            if shape == shape_of(self.rules, table):
                highest = TWO if shape[1] == 1 else highest_rank(self.rules, shape[0])
                if highest * 4 + 3 > max(table):
                    return True
            elif beats_as_bomb(self.rules, shape, table):
                return True
        return False

    # ------------------------------------------------------------ playing

    def play(self, some_cards: Iterable[int]) -> None:
        """Play some cards, or pass with none.

        Raises:
            ValueError: the play is not legal; the game is as it was.
        """
        played = frozenset(some_cards)
        if self.turn is None or played not in self.legal_sets():
            raise ValueError(f"{show(played)} is not legal for seat {self.turn}")
        seat = self.turn
        self._legal = None
        self.step_rewards = {scheme: [0.0] * self.num_players for scheme in REWARDS}
        self.history.append((seat, played))
        if not played:
            self.passed.add(seat)
            self.waiting.discard(seat)
            self._go_on(seat)
            return

        self.hands[seat] -= played
        self.duty = None
        if self.table is None:
            # 3.4: only a run that is led suited locks the trick.
            is_run = len({c // 4 for c in played}) == len(played) > 1
            self.flush_locked = self.rules.flush_lock and is_run and is_suited(played)
        else:
            self._knock_out(played)
        self.table, self.owner = sorted(played), seat
        self.twos_in_trick = self.twos_in_trick or num_twos(played) > 0
        if not self.hands[seat]:
            self._settle(seat, self.places_taken_from_top())
        if len(self.live) <= 1:  # 1.11, 3.8
            for last in sorted(self.live):
                self._settle(last, self.places_taken_from_top())
            self.round_over, self.turn, self.waiting = True, None, set()
            return
        self.waiting = self.live - {seat} - self.knocked
        if not self.rules.pass_lock:
            self.passed = set(self.knocked)  # a pass is forgotten at the next play
        elif not self._may_rejoin():
            self.waiting -= self.passed
        self._go_on(seat)

    def _knock_out(self, played: Cards) -> None:
        """3.7: a bomb on a 2 or a set of 2s knocks out who played them."""
        assert self.table is not None
        assert self.owner is not None
        is_chop = num_twos(self.table) and beats_as_bomb(
            self.rules, shape_of(self.rules, played) or (0, 0), frozenset(self.table)
        )
        if not is_chop or self.rules.knockout == "none" or self.owner not in self.live:
            return
        self.knocked.add(self.owner)
        self.passed.add(self.owner)
        if self.rules.knockout == "round":
            free = [p for p in range(self.num_players) if p not in self.places]
            self._settle(self.owner, max(free))

    def places_taken_from_top(self) -> int:
        """The best place that is free."""
        return min(p for p in range(self.num_players) if p not in self.places)

    def _settle(self, seat: int, place: int) -> None:
        """A seat gets its place, its points and its reward, and leaves the round (1.11)."""
        self.places[seat] = place
        self.live.discard(seat)
        points = self.place_points[place]
        self.scores[seat] += points
        self._reward("points", seat, points)
        self._reward("zero_sum", seat, points - sum(self.place_points) / self.num_players)
        self._reward("win", seat, 1 if place == 0 else -1)
        if place == 0:
            for other in range(self.num_players):
                if other != seat:
                    self._reward("cards", other, -len(self.hands[other]))
                    self._reward("cards", seat, len(self.hands[other]))

    def _reward(self, scheme: str, seat: int, amount: float) -> None:
        self.rewards[scheme][seat] += amount
        self.step_rewards[scheme][seat] += amount

    def _go_on(self, seat: int) -> None:
        """The turn goes to the next seat that has to answer, or a seat leads (1.8, 1.14)."""
        assert self.owner is not None
        if not self.waiting:
            self._lead(self.owner if self.owner in self.live else self._next(self.live, self.owner))
        elif (
            self.rules.heir == "last_live"
            and self.owner not in self.live
            and len(self.waiting) == 1
            and not self.waiting & self.passed
        ):
            self._lead(min(self.waiting))
        else:
            self.turn, self._legal = self._next(self.waiting, seat), None

    def _next(self, seats: set[int], seat: int) -> int:
        order = [(seat + step) % self.num_players for step in range(1, self.num_players + 1)]
        return next(s for s in order if s in seats)

    def _lead(self, leader: int) -> None:
        """The table is cleared and a seat leads (1.8)."""
        self.table: list[int] | None = None
        self.owner: int | None = None
        self.passed: set[int] = set()
        self.knocked: set[int] = set()
        self.flush_locked = False
        self.twos_in_trick = False
        self.waiting = {leader}
        self.turn: int | None = leader
        self._legal: set[Cards] | None = None
