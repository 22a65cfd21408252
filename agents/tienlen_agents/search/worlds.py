"""Worlds: deals of the unseen cards that agree with all that is public.

**What is certain.** Every opponent holds as many cards as anybody can count, none of them seen. With two or
three players undealt cards are unseen too; but a round that was opened with the lowest card dealt leaves no
lower card in any hand (RULES.md 1.3), so those are undealt.

**What can be inferred.** A player who passes over a low single probably has none to spare. The public record
is replayed: at each of a player's past decisions the hand that the world gives that player now, with the
cards played since put back, is shown to the heuristic player. Where it would have played other cards (down to
the suits: it plays the lowest), the world is surprising; each surprise makes it less likely by the factor
``1 - inference``::

    P(world) ~ (1 - inference) ** (number of surprises)

Forced decisions never surprise, and 0 leaves all worlds equally likely. Worlds are drawn from this
distribution by a Metropolis chain: exchange some cards between two places, accept with probability
``min(1, ratio)``. Most proposals are refused, so what a refusal costs decides how far the chain gets:

- Only the two hands that change are asked again, and what was found of a hand is kept.
- Chance draws first. It fixes how many surprises are acceptable, and counting stops beyond that number.
- Decisions that have surprised before are asked first, since they most likely will again.
- The play that was made is judged first, and others only until one is better.
"""

from __future__ import annotations

import math
from typing import Any, Final

from numba import njit

from tienlen_agents.rule_based.heuristic.decide import HASH
from tienlen_agents.rule_based.heuristic.playout import is_choice
from tienlen_env.games.common.bits import (
    FULL,
    highest_index,
    lowest_index,
    nth_index,
    popcount,
    ranks_of,
    shift_right,
    squeeze,
)
from tienlen_env.games.tienlen import kernels
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R

NUM_PLACES: Final = 5  # where a card can be: a seat, or undealt; as the first columns of a row
MEMO_BITS: Final = 12  # of hands and their surprises


def _jit(function: Any) -> Any:
    return njit(function, nogil=True, _nrt=False)


# ---------------------------------------------------------------- randomness


@_jit
def random_word(stream: Any) -> int:
    """The next word of a stream, int64 (1,) and not 0 (xorshift64, Marsaglia 2003).

    Each word comes from the one before. In generators whose words are independent functions of a counter
    (SplitMix64), LLVM 20 computes two draws side by side in one vector, and wrongly.
    """
    x = stream[0]
    x ^= x << 13
    x ^= shift_right(x, 7)
    x ^= x << 17
    stream[0] = x
    word: int = x
    return word


@_jit
def draw_below(stream: Any, n: int) -> int:
    """A number from 0 to n - 1, for n up to 52; the bias of the remainder is below 2**-46."""
    drawn: int = shift_right(random_word(stream), 11) % n
    return drawn


@_jit
def draw_cards(stream: Any, cards: int, n: int) -> int:
    """`n` of some cards, uniformly."""
    drawn = 0
    for _ in range(n):
        card = 1 << nth_index(cards & ~drawn, draw_below(stream, popcount(cards & ~drawn)))
        drawn |= card
    return drawn


# ---------------------------------------------------------------- what is certain


@_jit
def lay_out(row: Any, spec: Any, num_left: Any, world: Any, room: Any) -> int:
    """Put the cards whose place is known in their places.

    Args:
        row: public state; of the hands only the one to move is filled in.
        spec: the variant.
        num_left: int64 (P,) cards in each hand.
        world: int64 (5,), gets the known cards of each place.
        room: int64 (5,), gets how many cards of unknown place each has.

    Returns:
        The cards whose place is unknown.
    """
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    seen, played = row[R.HAND + turn], 0
    for place in range(NUM_PLACES):
        world[place], room[place] = 0, 0
    for seat in range(num_players):
        played |= row[R.PLAYED + seat]
        room[seat] = num_left[seat]
    seen |= played
    world[turn], room[turn] = row[R.HAND + turn], 0
    hidden: int = FULL & ~seen
    room[R.UNDEALT] = popcount(hidden)
    for seat in range(num_players):
        room[R.UNDEALT] -= room[seat]
    is_opened = (row[R.ROUND] == 0 or spec[S.OPENING_EVERY]) and spec[S.OPENING_PLAY] > 0
    if is_opened and (played != 0 or row[R.DUTY] != 0):
        lower = hidden & ((seen & -seen) - 1)
        # More of them than fit: the round was begun by a leader who was given, and nothing is known.
        if popcount(lower) <= room[R.UNDEALT]:
            world[R.UNDEALT] = lower
            room[R.UNDEALT] -= popcount(lower)
            hidden ^= lower
    return hidden


@_jit
def deal_hidden(stream: Any, hidden: int, world: Any, room: Any, out: Any) -> None:
    """Deal the hidden cards to the places that have room, uniformly over all deals, into `out` (5,)."""
    for place in range(NUM_PLACES):
        out[place] = world[place]
    for place in range(NUM_PLACES):
        cards = draw_cards(stream, hidden, room[place])
        out[place] |= cards
        hidden ^= cards


# ---------------------------------------------------------------- what can be inferred


@_jit
def action_of(spec: Any, cards: int) -> int:
    """The action id of a combination (RULES.md 7.1); 0, the pass, for no cards."""
    if cards == 0:
        return 0
    length = popcount(ranks_of(cards))
    width, top = popcount(cards) // length, highest_index(cards)
    suited = 0
    if width == 1 and length > 1 and spec[S.FLUSH_LOCK]:
        suited = 1
        for below in range(length):
            suited &= cards >> (top - 4 * below) & 1
    first: int = spec[S.GROUP_FIRST + (width - 1) * 32 + length * 2 + suited]
    return first + lowest_index(squeeze((1 << top) >> (4 * (length - 1)), width))


@_jit
def replay(
    row: Any, history: Any, world: Any, spec: Any, actions: Any, record: Any, taken: Any, later: Any,
    order: Any, rewards: Any,
) -> int:  # fmt: skip
    """Lay the round out, decision by decision, as it went.

    Args:
        row: the public state now.
        history: int64 (K,) its last events, newest first (`tienlen_env.games.tienlen.state`).
        world: int64 (5,) any world; only the sizes of its hands come into the record.
        spec: the variant, without history.
        actions: its action table.
        record: int64 (K, ROW), gets the row before each decision, oldest first.
        taken: int64 (K,), gets the cards played, 0 for a pass.
        later: int64 (K,), gets the cards that the player has played since then, this play included.
        order: int64 (4, 1 + K), gets for each seat how many of the decisions are its own, and which.
        rewards: scratch (P,).

    Returns:
        The number of decisions; 0 where the history does not reach back to the start of the round.
    """
    num_events, num_players = 0, spec[S.NUM_PLAYERS]
    for seat in range(4):
        order[seat, 0] = 0
    while num_events < history.shape[0] and history[num_events] != 0:
        num_events += 1
    if num_events == 0:
        return 0
    played, total = 0, 0
    for k in range(num_events):
        played |= history[k] & FULL
    for seat in range(num_players):
        total |= row[R.PLAYED + seat]
    if played != total or num_events == history.shape[0]:
        return 0

    first = history[num_events - 1]
    now = record[0]
    for i in range(now.shape[0]):
        now[i] = 0
    now[R.ROUND] = row[R.ROUND]
    for seat in range(num_players):
        now[R.HAND + seat] = world[seat] | row[R.PLAYED + seat]
    now[R.UNDEALT] = world[R.UNDEALT]
    kernels.begin_round(now, spec, (first >> R.HISTORY_SEAT_SHIFT) - 1)
    lowest = (total | row[R.HAND + row[R.TURN]]) & -(total | row[R.HAND + row[R.TURN]])
    is_opened = (row[R.ROUND] == 0 or spec[S.OPENING_EVERY]) and spec[S.OPENING_PLAY] > 0
    if is_opened and first & lowest != 0:
        now[R.DUTY] = lowest
    for event in range(num_events):
        now = record[event]
        entry = history[num_events - 1 - event]
        seat = now[R.TURN]
        if seat != (entry >> R.HISTORY_SEAT_SHIFT) - 1:
            return 0
        cards = entry & FULL
        taken[event] = cards
        order[seat, 0] += 1
        order[seat, order[seat, 0]] = event
        later[event] = row[R.PLAYED + seat] & ~now[R.PLAYED + seat]
        if event + 1 < num_events:
            after = record[event + 1]
            for i in range(now.shape[0]):
                after[i] = now[i]
            kernels.play(after, spec, actions, action_of(spec, cards), cards, rewards)
    return num_events


@_jit
def num_surprises(
    desk: Any, spec: Any, actions: Any, record: Any, taken: Any, later: Any, order: Any, memo: Any,
    asked: Any, seat: int, hand: int, most: int, ids: Any, cards: Any,
) -> int:  # fmt: skip
    """How many of a player's past decisions the heuristic player would have taken otherwise.

    Args:
        desk: see `playout.choose_index`.
        spec: the variant.
        actions: its action table.
        record: see `replay`; as `taken` and `later`.
        taken: see `record`.
        later: see `record`.
        order: see `replay`; decisions that surprise move forward.
        memo: int64 (2 << MEMO_BITS,), what was found: the hand with its seat, and the number, doubled, plus 1
            where it was counted to the end.
        asked: int64 (1,), counts how often the heuristic player is asked.
        seat: the player; 4, the undealt cards, decides nothing.
        hand: what the player is thought to hold now.
        most: stop counting beyond this number.
        ids: scratch, as `cards`.
        cards: scratch.
    """
    if seat == 4:
        return 0
    key = hand | (1 + seat) << 52
    slot = shift_right(key * HASH, 64 - MEMO_BITS) << 1
    if memo[slot] == key and (memo[slot + 1] & 1 or memo[slot + 1] >> 1 > most):
        count: int = memo[slot + 1] >> 1
        return count
    count = 0
    for i in range(1, order[seat, 0] + 1):
        event = order[seat, i]
        row = record[event]
        row[R.HAND + seat] = hand | later[event]
        asked[0] += 1
        if not is_choice(desk, spec, actions, row, taken[event], ids, cards):
            count += 1
            forward = (i + 1) >> 1
            order[seat, i], order[seat, forward] = order[seat, forward], event
            if count > most:
                break
    memo[slot] = key
    memo[slot + 1] = count << 1 | (count <= most)
    return count


@_jit
def exchange(stream: Any, hidden: int, here: Any, there: Any) -> int:
    """Move the chain: draw two places with hidden cards and some cards to exchange between them.

    Half of the time it is one card, else half of the time two, and so on.

    Args:
        stream: of randomness.
        hidden: cards that may move.
        here: int64 (5,), the present world.
        there: int64 (5,), gets the proposed one.

    Returns:
        The two places, as ``one + 8 * two``; -1 if fewer than two places have hidden cards.
    """
    places, num_places = 0, 0
    for place in range(NUM_PLACES):
        there[place] = here[place]
        if here[place] & hidden != 0:
            places |= 1 << place
            num_places += 1
    if num_places < 2:
        return -1
    one = nth_index(places, draw_below(stream, num_places))
    two = nth_index(places & ~(1 << one), draw_below(stream, num_places - 1))
    most = min(popcount(here[one] & hidden), popcount(here[two] & hidden))
    n = 1
    while n < most and draw_below(stream, 2) != 0:
        n += 1
    give, take = draw_cards(stream, here[one] & hidden, n), draw_cards(stream, here[two] & hidden, n)
    there[one] ^= give | take
    there[two] ^= give | take
    return one + 8 * two


@_jit
def walk(
    stream: Any, hidden: int, here: Any, there: Any, surprises: Any, num_moves: int, log_factor: float,
    desk: Any, spec: Any, actions: Any, record: Any, taken: Any, later: Any, order: Any, memo: Any,
    asked: Any, ids: Any, cards: Any,
) -> None:  # fmt: skip
    """Move the chain so many times.

    Args:
        stream: of randomness.
        hidden: cards that may move.
        here: int64 (5,), the present world, which changes.
        there: int64 (5,), scratch.
        surprises: int64 (5,), of each place in the present world; they change too.
        num_moves: to propose.
        log_factor: logarithm of ``1 - inference``, below 0.
        desk: see `num_surprises`, as all that follow.
        spec: see `desk`.
        actions: see `desk`.
        record: see `desk`.
        taken: see `desk`.
        later: see `desk`.
        order: see `desk`.
        memo: see `desk`.
        asked: see `desk`.
        ids: see `desk`.
        cards: see `desk`.
    """
    for _ in range(num_moves):
        pair = exchange(stream, hidden, here, there)
        if pair < 0:
            return
        one, two = pair & 7, pair >> 3
        draw = (shift_right(random_word(stream), 11) + 1) * 2.0**-53
        # One more is accepted with a probability of 1 - inference, two more with its square, ...
        most = surprises[one] + surprises[two] + int(math.log(draw) / log_factor)
        of_one = num_surprises(
            desk, spec, actions, record, taken, later, order, memo, asked, one, there[one], most, ids, cards
        )
        if of_one > most:
            continue
        of_two = num_surprises(
            desk, spec, actions, record, taken, later, order, memo, asked, two, there[two], most - of_one,
            ids, cards,
        )  # fmt: skip
        if of_one + of_two <= most:
            here[one], here[two] = there[one], there[two]
            surprises[one], surprises[two] = of_one, of_two
