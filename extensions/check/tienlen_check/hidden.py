"""What is hidden, in the check of a game: observations, texts, and deals that `resample_hidden` samples."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from tienlen_check.guards import GuardedNumbers, GuardedVariant, calling, check_text, need
from tienlen_env.errors import GameFaultError
from tienlen_env.games.common.bits import KEY_STEP, add
from tienlen_env.games.common.game import Refusal

_NUM_SWAPS: Final = 6  # of two cards, tried at a position


class Past(NamedTuple):
    """How a round came to its position.

    Attributes:
        start: the row at its beginning.
        leader: who was given the lead, -1 for nobody.
        plays: seat, action and cards of each play.
    """

    start: list[int]
    leader: int
    plays: list[tuple[int, int, int]]


class Swap(NamedTuple):
    """Two cards that may change places.

    Attributes:
        column: of the row, that holds `card`.
        card: its id.
        other_column: that holds `other_card`, -1 if it is in no hand.
        other_card: its id.
    """

    column: int
    card: int
    other_column: int
    other_card: int


def check_observations(v: GuardedVariant, row: GuardedNumbers) -> None:
    """An observer writes every item, 0 or 1, and nothing else; seat -1 (no player) gets zeros."""
    seen, again = ([v.observe(row, seat) for seat in range(v.rules.num_players)] for _ in range(2))
    need(seen == again, "observe: another call writes other items")
    need(not any(v.observe(row, -1)), "observe: expected zeros for seat -1")
    need(v.observe(row, 0, 3) == seen[0], "observe: writes other items from start=3 on")
    need(v.observe_all(row, 3) == v.observe_all(row), "observe_all: writes other items from start=3 on")


def check_hidden(v: GuardedVariant, row: GuardedNumbers, seat: int, rng: random.Random) -> None:
    """What a seat sees, may do and reads does not depend on what is hidden from it."""
    is_turn = seat == row[v.game.columns.turn]
    seen = v.observe(row, seat)
    legal = v.legal(GuardedNumbers("row", row)) if is_turn else []
    action = rng.randrange(v.table.num_actions)
    for what, other in hidden_changes(v, row, seat, rng):
        for i, (wanted, found) in enumerate(zip(seen, v.observe(other, seat), strict=True)):
            need(wanted == found, f"observe: out[{i}] depends on {what}")
        if is_turn:
            need(v.legal(GuardedNumbers("row", other)) == legal, f"update_legal: depends on {what}")
            for name, text in texts_of(v, row, legal, action).items():
                found_text = texts_of(v, other, legal, action)[name]
                need(text == found_text, f"text.{name}: {found_text!r} depends on {what}")


def hidden_changes(
    v: GuardedVariant, row: GuardedNumbers, seat: int, rng: random.Random
) -> Iterator[tuple[str, GuardedNumbers]]:
    """The position with something else in what the seat cannot see, and what that is."""
    other = GuardedNumbers("row", row)
    other[v.game.columns.key] = add(row[v.game.columns.key], KEY_STEP)
    yield "the key", other
    if v.game.kernels.resample_hidden is not None:
        yield "cards that the seat cannot see", resampled(v, row, seat, rng.getrandbits(62))
    else:
        for swap in swaps(v, row, seat, rng):
            yield "cards that the seat cannot see", swapped(row, swap)


def texts_of(v: GuardedVariant, row: GuardedNumbers, legal: Sequence[int], action: int) -> dict[str, str]:
    """The description of a position, and why an action, or its cards, are refused."""
    text, table = v.game.text, v.table
    with calling("text.describe"):
        found = {"describe": check_text(text.describe(table, list(row)), is_any=True)}
    with calling("text.why_refused"):
        for cards in (0, -1, 1 << 62) if action in legal else (None, -1):
            why = text.why_refused(table, list(row), action, cards)
            need(isinstance(why, Refusal), f"{why!r}: expected a Refusal")
            check_text(why.reason)
            check_text(why.clause, is_any=True)
            found["why_refused"] = str(why)
    return found


# ---------------------------------------------------------------- cards that a seat cannot see


def hidden_sets(v: GuardedVariant, row: GuardedNumbers, seat: int) -> list[int]:
    """The hidden columns that hold cards: the other hands, and cards that are in no hand."""
    columns = v.game.columns
    hands = range(columns.hand, columns.hand + v.rules.num_players)
    in_hands = reduce(or_, (row[column] for column in hands))
    rest = [c for c in columns.hidden if c not in hands and c != columns.key]
    others = [c for c in hands if c != columns.hand + seat and row[c]]
    return others + [c for c in rest if row[c] > 0 and not row[c] & in_hands and v.deck.has(row[c])]


def swaps(v: GuardedVariant, row: GuardedNumbers, seat: int, rng: random.Random) -> list[Swap]:
    """Some pairs of cards that may be exchanged for all that can be told from the row itself."""
    columns = v.game.columns
    sets = hidden_sets(v, row, seat)
    public = [row[c] for c in range(len(row)) if c not in columns.hidden and row[c] > 0]
    known = reduce(or_, [*public, *(row[c] for c in sets), row[columns.hand + seat]])
    places = [(c, card) for c in sets for card in ids_of(row[c])]
    places += [(-1, card) for card in ids_of(v.deck.cards & ~known)]  # in no column, so in no hand
    found = []
    for _ in range(_NUM_SWAPS if places else 0):
        (a, x), (b, y) = rng.choice(places), rng.choice(places)
        if a != b and a >= 0:
            found.append(Swap(a, x, b, y))
    return found


def ids_of(cards: int) -> list[int]:
    """The cards of a mask by id."""
    return [card for card in range(cards.bit_length()) if cards >> card & 1]


def swapped(row: GuardedNumbers, swap: Swap) -> GuardedNumbers:
    """The row with two cards exchanged."""
    other, both = GuardedNumbers("row", row), 1 << swap.card | 1 << swap.other_card
    for column in (swap.column, swap.other_column):
        if column >= 0:
            other[column] ^= both
    return other


# ---------------------------------------------------------------- sampled deals


def resampled(v: GuardedVariant, row: GuardedNumbers, seat: int, key: int) -> GuardedNumbers:
    """A sampled deal, in which all that is public is as it was."""
    columns, other, resample = v.game.columns, GuardedNumbers("row", row), v.game.kernels.resample_hidden
    assert resample is not None
    with calling("resample_hidden"):
        resample(other, v.spec, seat, key)
        before, after = v.seats(row, "hand"), v.seats(other, "hand")
        for other_seat, (old, new) in enumerate(zip(before, after, strict=True)):
            need(old.bit_count() == new.bit_count(), f"the hand of seat {other_seat} has another size")
        need(before[seat] == after[seat], f"the own hand changes, that of seat {seat}")
        for column in range(len(row)):
            if other[column] != row[column] and column not in columns.hidden:
                raise GameFaultError(f"{v.label(column)} changes, and is not in columns.hidden")
        placed = reduce(or_, v.seats(row, "played"), after[seat])
        for column in hidden_sets(v, row, seat):
            again, cards = other[column] & placed, other[column]
            need(not again, f"{v.label(column)} gets {again:#x}, which is in another hand or was played")
            need(v.deck.has(cards), f"{v.label(column)} gets {cards:#x}, of which a card comes up in no deal")
            placed |= cards
    return other


def check_samples(v: GuardedVariant, row: GuardedNumbers, past: Past, rng: random.Random) -> None:
    """Samples agree with the plays of the round, may be the truth, and differ from it where they can.

    That a column holds a card, or does not, is claimed where that is the truth, or where it would be so after
    an exchange of two cards that changes nothing public. Some sample must agree with each claim.
    """
    columns, seat = v.game.columns, row[v.game.columns.turn]
    hands = range(columns.hand, columns.hand + v.rules.num_players)
    claims = {(c, card, True): "as it does" for c in hidden_sets(v, row, seat) for card in ids_of(row[c])}
    # Where a card was turned up during the round, a round cannot be begun with other cards and played again.
    repeats = all(row[c] == past.start[c] for c in columns.hidden if c not in hands)
    for swap in swaps(v, row, seat, rng) if repeats else ():
        if is_possible(v, row, past, swapped(row, swap), seat):
            for column, card, other in (
                (swap.column, swap.card, swap.other_card),
                (swap.other_column, swap.other_card, swap.card),
            ):
                if column >= 0:
                    claims.setdefault((column, card, False), "though all that is public allows another one")
                    claims.setdefault((column, other, True), "though all that is public allows it")
    seen = reduce(or_, v.seats(row, "played"), row[columns.hand + seat])
    num_samples = 64 + 40 * (v.deck.cards & ~seen).bit_count()  # any card is missed once in 10**17 times
    for i in range(num_samples):
        key = rng.getrandbits(64) - 2**63
        deal = resampled(v, row, seat, key)
        if i < 2:
            again = resampled(v, row, seat, key) == deal
            need(again, "resample_hidden: another call with this key gives another deal")
            if repeats and not agrees_with_plays(v, past, deal):
                again = agrees_with_plays(v, past, row)
                need(again, "play: the same plays from the same cards lead to another position")
                need(False, "resample_hidden: a play of the round is not legal in a sampled deal")
        claims = {
            (c, card, holds): why
            for (c, card, holds), why in claims.items()
            if (deal[c] >> card & 1) != holds
        }
        if not claims and i:
            return
    (column, card, holds), why = next(iter(claims.items()))
    often = f"in {'none' if holds else 'each'} of {num_samples} deals"
    text = f"{v.label(column)} holds {v.game.text.format_cards(1 << card)} {often}"
    raise GameFaultError(f"resample_hidden: {text}, {why}")


def check_key_is_hidden(v: GuardedVariant) -> None:
    """In a game of several rounds a sampled deal has another key, because the next round follows from it."""
    row = v.begin(v.new_row(), 1)
    other = resampled(v, row, row[v.game.columns.turn], 2)
    column = v.game.columns.key
    right = other[column] != row[column]
    need(right, "resample_hidden: row[key] stays, from which the next round's cards follow")


def is_possible(v: GuardedVariant, row: GuardedNumbers, past: Past, other: GuardedNumbers, seat: int) -> bool:
    """Whether a deal agrees with all that the seat to act has seen, the beginning of the round included."""
    begun = []
    for deal in (row, other):
        start = start_with(v, past, deal)
        v.game.kernels.begin_round(start, v.spec, past.leader)
        begun.append(public_part(v, start))
    if begun[0] != begun[1] or v.observe(row, seat) != v.observe(other, seat):
        return False
    is_same = v.legal(GuardedNumbers("row", row)) == v.legal(GuardedNumbers("row", other))
    return is_same and agrees_with_plays(v, past, other)


def start_with(v: GuardedVariant, past: Past, deal: GuardedNumbers) -> GuardedNumbers:
    """The beginning of the round with the hidden cards of a deal of its present position."""
    start, hand = GuardedNumbers("row", past.start), v.game.columns.hand
    for column in v.game.columns.hidden:
        start[column] = deal[column]
    for seat, _, cards in reversed(past.plays):
        for other in range(v.rules.num_players):  # a play may give cards to another seat
            start[hand + other] &= ~cards
        start[hand + seat] |= cards
    return start


def agrees_with_plays(v: GuardedVariant, past: Past, deal: GuardedNumbers) -> bool:
    """Whether the plays of the round are legal in a deal, and lead to what is public."""
    columns, can_play = v.game.columns, v.game.kernels.can_play_cards
    row = start_with(v, past, deal)
    for seat, action, cards in past.plays:
        if row[columns.turn] != seat or action not in v.legal(row):
            return False
        if can_play is not None and not can_play(row, v.spec, v.actions, action, cards):
            return False
        v.play(row, action, cards, [0.0] * v.rules.num_players)
    return public_part(v, row) == public_part(v, deal)


def public_part(v: GuardedVariant, row: GuardedNumbers) -> list[int]:
    """The columns that are not hidden, without the mask."""
    hidden = v.game.columns.hidden
    return [x for column, x in enumerate(row) if column not in hidden and column not in v.mask]
