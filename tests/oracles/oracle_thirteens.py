"""An independent, deliberately naive player of Thirteens, written from section 8 of the rules alone.

It shares nothing with the engine but the fields of `ThirteensRules`. Cards are texts ("Kd", "*1"), hands are
sets of them, and each clause is a few plain lines that cite it. It gets what is hidden and random: the
deal, and the card that the dummy gives to each trick.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import floor

from tienlen_env.games.thirteens.rules import ThirteensRules

TRICK_ORDER = "23456789TJQKA"  # 8.1, weakest first
PIP_ORDER = "A23456789TJQK"
SUITS = "scdh"
# The environment's order of the cards.
ALL_CARDS = [rank + suit for rank in "3456789TJQKA2" for suit in SUITS] + ["*1", "*2"]


def is_joker(card: str) -> bool:
    return card[0] == "*"


def pips(card: str) -> int:
    return PIP_ORDER.index(card[0]) + 1


def deck(rules: ThirteensRules) -> set[str]:
    return set(ALL_CARDS[: 52 + rules.jokers])


# ---------------------------------------------------------------- melds (8.8)


def meld_kind(cards: Iterable[str]) -> str | None:
    """What these cards are as one meld: at most one of the three kinds that pays; None for no meld."""
    cards = list(cards)
    if any(is_joker(c) for c in cards):
        return None
    values = sorted(pips(c) for c in cards)
    if sum(values) == 13:
        return "thirteen"
    if len(values) == 2 and values[0] == values[1]:
        return "pair"
    if len(values) == 3 and values[1] == values[0] + 1 and values[2] == values[1] + 1:
        return "straight"
    return None


MELD_POINTS = {"thirteen": 3, "pair": 1, "straight": 1}


def melds_in(cards: Iterable[str]) -> dict[tuple[int, ...], str]:
    """Every meld that some of the cards make, by its pips in ascending order."""
    found: dict[tuple[int, ...], str] = {}
    plain = [c for c in cards if not is_joker(c)]
    for size in range(1, len(plain) + 1):
        for some in combinations(plain, size):
            if kind := meld_kind(some):
                found[tuple(sorted(pips(c) for c in some))] = kind
    return found


def best_packing(cards: Iterable[str]) -> dict[str, int]:
    """The most points, and of equal ones the most thirteens, then pairs; by trying everything.

    The first card stays out, or is in any meld with any others.
    """
    plain = [c for c in cards if not is_joker(c)]

    def search(left: tuple[str, ...]) -> tuple[int, int, int, int]:
        if not left:
            return 0, 0, 0, 0
        first, others = left[0], left[1:]
        best = search(others)
        for size in range(len(others) + 1):
            for some in combinations(others, size):
                kind = meld_kind((first, *some))
                if kind:
                    points, thirteens, pairs, straights = search(tuple(c for c in others if c not in some))
                    found = (
                        points + MELD_POINTS[kind],
                        thirteens + (kind == "thirteen"),
                        pairs + (kind == "pair"),
                        straights + (kind == "straight"),
                    )
                    best = max(best, found)
        return best

    points, thirteens, pairs, straights = search(tuple(plain))
    return {"points": points, "thirteen": thirteens, "pair": pairs, "straight": straights}


# ---------------------------------------------------------------- the game


class Oracle:
    """One game: deals follow one another in an episode ``"game"``.

    Attributes:
        turn: seat to act, None when the game is over.
        rewards: of the last `play`, by scheme, a number a seat.
    """

    def __init__(self, rules: ThirteensRules, episode: str) -> None:
        self.rules = rules
        self.players = rules.num_players
        self.is_game = episode == "game" and rules.target > 0
        self.score = [0] * self.players
        self.turn: int | None = None
        self.eldest = -1
        self.num_deals = 0
        self.wants_deal = True
        self.wants_dummy = False

    # what the oracle gets

    def deal(
        self,
        hands: list[set[str]],
        dummy: set[str],
        remainder: set[str],
        starter: str | None,
        eldest: int,
    ) -> None:
        """Take a deal, checked against 8.2, 8.3 and 8.10."""
        assert self.wants_deal
        num_hands = 4 if self.rules.dummy else self.players
        size, left = divmod(52 + self.rules.jokers, num_hands)
        assert [len(h) for h in hands] == [size] * self.players
        assert len(dummy) == (size if self.rules.dummy else 0)
        assert len(remainder) == left
        assert set.union(*hands, dummy, remainder) == deck(self.rules)
        assert (starter in remainder) if remainder else starter is None
        if self.num_deals > 0:
            assert eldest == (self.eldest + 1) % self.players, "8.2: the deal passes to the left"
        self.eldest = eldest
        self.hands = [set(h) for h in hands]
        self.dummy = set(dummy)
        self.remainder = set(remainder)
        self.starter_suit = None if starter is None or is_joker(starter) else starter[1]  # 8.3
        self.points = [0] * self.players
        self.place: list[int] = [-1] * self.players
        self.num_tricks = [0] * self.players
        self.jokers = [0] * self.players
        self.melds = [dict.fromkeys(MELD_POINTS, 0) for _ in range(self.players)]
        self.played: list[set[str]] = [set() for _ in range(self.players)]
        self.taken: list[set[str]] = [set() for _ in range(self.players)]
        self.shown = set(remainder)
        self.void: list[set[str]] = [set() for _ in range(self.players)]
        self.first_trick = True
        self.num_deals += 1
        self.wants_deal = False
        self._new_trick(eldest)
        self.with_trick = set(remainder)  # 8.7

    def flip(self, card: str) -> None:
        """The dummy's card for this trick (8.10)."""
        assert self.wants_dummy
        self.dummy.remove(card)
        self.with_trick.add(card)
        self.shown.add(card)
        self.wants_dummy = False

    # what it says

    def _new_trick(self, leader: int) -> None:
        self.leader = leader
        self.turn = leader
        self.trick: list[str] = []
        self.with_trick: set[str] = set()
        self.to_meld: list[str] | None = None
        self.wants_dummy = bool(self.dummy)

    @property
    def bound_suit(self) -> str | None:
        """The suit that must be played if held (8.4, 8.5)."""
        if self.to_meld is not None:
            return None
        if not self.trick:
            return self.starter_suit if self.first_trick else None
        return None if is_joker(self.trick[0]) else self.trick[0][1]

    def legal(self) -> set[str]:
        """Names of the legal actions."""
        if self.turn is None:
            return set()
        if self.to_meld is not None:
            return {"end", *(self.meld_name(p, k) for p, k in melds_in(self.to_meld).items())}
        hand = self.hands[self.turn]
        suited = {c for c in hand if not is_joker(c) and c[1] == self.bound_suit}
        return suited or set(hand)

    @staticmethod
    def meld_name(values: tuple[int, ...], kind: str) -> str:
        text = [PIP_ORDER[v - 1] for v in values]
        if kind == "straight":
            return "meld " + "-".join(text)
        return "meld " + (" " if kind == "pair" else "+").join(text[::-1])

    @property
    def winning(self) -> int | None:
        """Who is winning the trick (8.6)."""
        if not self.trick:
            return None
        jokers = [i for i, c in enumerate(self.trick) if is_joker(c)]
        if jokers:
            best = jokers[0]
        else:
            suited = [i for i, c in enumerate(self.trick) if c[1] == self.trick[0][1]]
            best = max(suited, key=lambda i: TRICK_ORDER.index(self.trick[i][0]))
        return (self.leader + best) % self.players

    # playing

    def play(self, name: str) -> None:
        """Play a legal action and set `rewards`."""
        assert name in self.legal()
        assert self.turn is not None
        assert not self.wants_dummy
        before = list(self.score)
        if self.to_meld is None:
            self._play_card(self.turn, name)
        else:
            self._play_meld(self.turn, name)
        gained = [a - b for a, b in zip(self.score, before, strict=True)]
        self.rewards = {
            "points": [float(g) for g in gained],
            "zero_sum": self._zero_sum(),
            "win": self._win(),
        }
        self._events: list[tuple[int, int]] = []

    _events: list[tuple[int, int]] = []

    def _pay(self, seat: int, points: int) -> None:
        self.points[seat] += points
        self.score[seat] += points
        self._events = [*self._events, (seat, points)]

    def _zero_sum(self) -> list[float]:
        """Each payment less its mean over the seats, the mean rounded down to 1/1024."""
        found = [Fraction(0)] * self.players
        for seat, points in self._events:
            mean = Fraction(floor(Fraction(points * 1024, self.players)), 1024)
            for other in range(self.players):
                found[other] -= mean
            found[seat] += self.players * mean
        return [float(f) for f in found]

    def _win(self) -> list[float]:
        if self.turn is not None or self.wants_deal:
            return [0.0] * self.players
        first = [s for s in range(self.players) if self.score[s] == max(self.score)]
        return [2 / len(first) - 1 if s in first else -1.0 for s in range(self.players)]

    def _play_card(self, seat: int, card: str) -> None:
        if self.bound_suit and (is_joker(card) or card[1] != self.bound_suit):
            self.void[seat].add(self.bound_suit)
        self.hands[seat].remove(card)
        self.played[seat].add(card)
        self.trick.append(card)
        if len(self.trick) < self.players:
            self.turn = (seat + 1) % self.players
            return
        winner = self.winning
        assert winner is not None
        pile = {*self.trick, *self.with_trick}  # 8.7, 8.10
        self.taken[winner] |= pile
        self.num_tricks[winner] += 1
        free = self.remainder if self.first_trick and not self.rules.aside_jokers else set()
        jokers = [c for c in pile if is_joker(c) and c not in free]
        self.jokers[winner] += len(jokers)
        self.first_trick = False
        self._winner = winner
        if self.rules.melding == "auto":
            best = best_packing(sorted(pile))
            self._pay(winner, 1 - 4 * len(jokers) + best["points"])
            for kind in MELD_POINTS:
                self.melds[winner][kind] += best[kind]
            self._end_trick()
        else:
            self._pay(winner, 1 - 4 * len(jokers))
            self.turn = winner
            self.to_meld = [c for c in pile if not is_joker(c)]
            if not melds_in(self.to_meld):
                self._end_trick()

    def _play_meld(self, seat: int, name: str) -> None:
        assert self.to_meld is not None
        if name == "end":
            self._end_trick()
            return
        values, kind = next((p, k) for p, k in melds_in(self.to_meld).items() if self.meld_name(p, k) == name)
        for value in values:
            self.to_meld.remove(min((c for c in self.to_meld if pips(c) == value), key=ALL_CARDS.index))
        self.melds[seat][kind] += 1
        self._pay(seat, MELD_POINTS[kind])
        if not melds_in(self.to_meld):
            self._end_trick()

    def _end_trick(self) -> None:
        if self.hands[0]:
            self._new_trick(self._winner)
            return
        self.to_meld = None
        for seat in range(self.players):
            if self.num_tricks[seat] == 0:
                self._pay(seat, 3)  # null
        self.place = [sum(p > mine for p in self.points) for mine in self.points]
        top = max(self.score)
        self.turn = None
        self.wants_deal = self.is_game and not (
            top >= self.rules.target and self.score.count(top) == 1
        )  # 8.9

    # what a seat sees

    def observation(self, seat: int) -> dict[str, list[list[int]]]:
        """The named pieces for a seat, each a list of rows."""
        rules, players = self.rules, self.players
        seats = [(seat + i) % players for i in range(players)]
        cards = ALL_CARDS[: 52 + rules.jokers]

        def among(some: Iterable[str]) -> list[int]:
            held = set(some)
            return [int(c in held) for c in cards]

        def above(number: int, size: int, low: int = 0, step: int = 1) -> list[int]:
            return [int(number > low + k * step) for k in range(size)]

        in_trick = {(self.leader + i) % players: c for i, c in enumerate(self.trick)}
        tricks = len(cards) // (4 if rules.dummy else players)
        pieces = {
            "hand": [among(self.hands[seat])],
            "played": [among(self.played[s]) for s in seats],
            "trick": [among([in_trick[s]] if s in in_trick else []) for s in seats],
            "aside": [among(self.with_trick if self.to_meld is None else [])],
            "shown": [among(self.shown)],
            "points": [above(self.points[s], 32, -8) for s in seats],
            "thirteens": [above(self.melds[s]["thirteen"], 8) for s in seats],
            "pairs": [above(self.melds[s]["pair"], 8) for s in seats],
            "straights": [above(self.melds[s]["straight"], 8) for s in seats],
            "tricks": [above(self.num_tricks[s], tricks) for s in seats],
            "void": [[int(suit in self.void[s]) for suit in SUITS] for s in seats],
            "leader": [[int(s == self.leader) for s in seats]],
            "winner": [[int(s == self.winning) for s in seats]],
            "follow": [[int(suit == self.bound_suit) for suit in SUITS]],
            "joker_led": [[int(bool(self.trick) and is_joker(self.trick[0]))]],
            "lead": [[int(not self.trick)]],
            "first_trick": [[int(self.first_trick)]],
        }
        if rules.target:
            step = max(1, -(-rules.target // 50))
            pieces["scores"] = [above(self.score[s], 60, step=step) for s in seats]
        if rules.jokers:
            pieces["jokers"] = [above(self.jokers[s], rules.jokers) for s in seats]
        if rules.melding == "manual":
            pieces["pile"] = [among(self.to_meld or [])]
        return pieces
