"""Deals and choices that make 2s, bombs and short hands common, for the comparisons with the oracles."""

from __future__ import annotations

import random

from tests.oracles.oracle import PASS, Cards
from tests.plays import mask_of
from tienlen_env.games.common.cards import FULL_DECK, card_ids


def rare_hands(rng: random.Random, num_players: int, deck: int = FULL_DECK, most: int = 13) -> list[int]:
    """Hands of 1..`most` cards of a deck in clumps: whole ranks, pairs of neighbouring ranks, 2s together."""
    size = min(rng.choice((2, 4, 7, 10, most, most)), most)
    hands: list[list[int]] = [[] for _ in range(num_players)]
    seats = range(num_players)

    def give(seat: int, cards: list[int]) -> None:
        cards = [c for c in cards if deck >> c & 1]
        if len(hands[seat]) + len(cards) <= size:
            hands[seat] += cards

    ranks = list(range(12))
    if rng.random() < 0.7:  # two seats hold pairs in a row
        length, a, b = rng.randint(3, max(most // 2, 3)), *rng.sample(seats, 2)
        low = rng.randint(0, 12 - length)
        for rank in range(low, low + length):
            suits = rng.sample(range(4), 4)
            give(a, [4 * rank + s for s in suits[:2]])
            give(b, [4 * rank + s for s in suits[2:]])
            ranks.remove(rank)
    rng.shuffle(ranks)
    for rank in [12, *ranks]:
        suits = rng.sample(range(4), 4)
        for part in rng.choice(((4,), (2, 2), (3, 1), (2, 1, 1), (1, 1, 1, 1))):
            give(rng.choice(seats), [4 * rank + s for s in suits[:part]])
            suits = suits[part:]
    left = [c for c in card_ids(deck) if all(c not in hand for hand in hands)]
    rng.shuffle(left)
    for hand in hands:
        if not hand:
            hand.append(left.pop())
    return [mask_of(hand) for hand in hands]


def choose(rng: random.Random, plays: list[Cards]) -> Cards:
    """One of the legal plays, in ways that make tricks long and rounds different."""
    style = rng.random()
    if style < 0.3:
        return rng.choice(plays)
    cards = [p for p in plays if p]
    if not cards:
        return PASS
    if style < 0.5:
        return max(cards, key=lambda p: (len(p), max(p)))
    if style < 0.7:
        return min(cards, key=lambda p: (max(p), len(p)))
    rare = [p for p in cards if min(p) >= 48 or (len(p) > 3 and len({c // 4 for c in p}) < len(p))]
    return rng.choice(rare or cards)


def bound_hands(rng: random.Random, num_players: int) -> list[int]:
    """Hands of 1..13 cards in clumps that hold under `suits_bind`: runs of a suit, pairs of a colour, 2s."""
    size = rng.choice((2, 4, 7, 10, 13, 13))
    hands: list[list[int]] = [[] for _ in range(num_players)]
    left = set(range(52))
    for _ in range(14):
        kind, low = rng.choice(("run", "run", "pairs", "pairs", "quad", "triple", "twos")), rng.randint(0, 11)
        suits = rng.sample(range(4), 4)
        colour = rng.choice(((0, 1), (2, 3)))
        clump = {
            "run": [4 * r + suits[0] for r in range(low, min(low + rng.randint(3, 7), 12))],
            "pairs": [4 * r + s for r in range(low, min(low + rng.randint(3, 5), 12)) for s in colour],
            "quad": [4 * low + s for s in suits],
            "triple": [4 * low + s for s in suits[:3]],
            "twos": [48 + s for s in suits[: rng.randint(1, 3)]],
        }[kind]
        hand = rng.choice(hands)
        if left.issuperset(clump) and len(hand) + len(clump) <= size:
            hand += clump
            left -= set(clump)
    rest = rng.sample(sorted(left), len(left))
    for hand in hands:
        missing = rng.randint(not hand, size - len(hand)) if len(hand) < size else 0
        hand += [rest.pop() for _ in range(missing)]
    return [mask_of(hand) for hand in hands]
