"""Worlds of Tiến lên: deals of the unseen cards that are consistent with the public information.

**Certain facts.** Each opponent holds a known number of the unseen cards. With two or three players the
undealt cards are unseen too. What else all players know is `tienlen_env.games.tienlen.hidden`'s matter: a
world that disagrees with it is impossible.

**Inference.** Each opponent is modelled as `heuristic`. The public plays are replayed: for
each past decision of an opponent, the hand that the world assigns now, with the cards played since then put
back, is given to `heuristic`. A decision *deviates* if `heuristic` plays other
cards (suits included: it plays the lowest). The probability of a world is:

    P(world) ~ (1 - inference) ** (number of deviations)

Forced decisions never deviate; with ``inference=0`` all worlds are equally likely. Worlds are sampled by a
Metropolis chain: propose a swap of cards between two locations, accept with probability ``min(1, ratio)``.
With card weights (`tienlen_agents.search.tienlen_beliefs`) the probability is multiplied by those of the
cards. Most proposals are rejected, so rejections are made cheap:

- Only the two hands that change are evaluated, and the number of deviations of a hand is cached.
- The acceptance draw comes first; it bounds the number of deviations to count.
- Decisions that deviated before are evaluated first.
- The play that was made is evaluated first, and other plays only until one has a higher score.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tienlen_agents.rule_based.heuristic.playout import is_choice
from tienlen_agents.rule_based.rollout import Rollout
from tienlen_agents.search.interface import Options
from tienlen_agents.search.randomness import HASH, draw_below, draw_cards, random_word
from tienlen_agents.search.tienlen_beliefs import IS_SET, Beliefs, log_ratio
from tienlen_env.games.common.arrays import IntArray, Row, Spec
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
from tienlen_env.games.common.floats import log
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.hidden import (
    MAX_TRIES,
    cards_below_all,
    deal_agrees,
    impossible_cards,
    most_left,
    next_to_deal,
)
from tienlen_env.games.tienlen.suited import suited_action_of

NUM_LOCATIONS: Final = 5  # of a card: a seat, or undealt; in the order of the first columns of a row
CACHE_BITS: Final = 12  # of hands and their numbers of deviations
QUERIES: Final = 0  # entry of `Replay.chain_stats`


class Replay(NamedTuple):
    """The round so far, decision by decision (K at most), and what is known of deviations.

    Attributes:
        record: int64 (K, ROW), the state before each decision, oldest first.
        taken: int64 (K,), the cards played, 0 for a pass.
        later: int64 (K,), the cards that the player has played since then, this play included.
        order: int64 (4, 1 + K), for each seat the number of its decisions, and their indices in the order of
            evaluation.
        cache: int64 (2 << CACHE_BITS,), a hand with its seat; and its number of deviations, doubled, plus 1
            if all were counted.
        chain_stats: int64 (2,): queries to the opponent model so far; steps between two worlds.
    """

    record: Any
    taken: Any
    later: Any
    order: Any
    cache: Any
    chain_stats: Any


class Chain(NamedTuple):
    """The state of the Markov chain; int64 (NUM_LOCATIONS,) each.

    Attributes:
        known: cards whose location is known, by location.
        capacity: how many unseen cards each location has.
        current: the current world.
        proposal: the proposed world.
        num_deviations: of each location in the current world.
    """

    known: Any
    capacity: Any
    current: Any
    proposal: Any
    num_deviations: Any


# ---------------------------------------------------------------- certain facts


@noinline
def known_cards(row: Row, spec: Spec, known: Row, capacity: Row) -> int:
    """Assign the cards whose location is known.

    Args:
        row: the state; of the other hands only the numbers of cards are read.
        spec: the variant.
        known: int64 (5,), gets the known cards of each location.
        capacity: int64 (5,), gets the number of cards of unknown location that each location has.

    Returns:
        The cards whose location is unknown.
    """
    num_players, turn = spec[S.NUM_PLAYERS], row[R.TURN]
    seen, played = row[R.HAND + turn], 0
    for location in range(NUM_LOCATIONS):
        known[location], capacity[location] = 0, 0
    for seat in range(num_players):
        played |= row[R.PLAYED + seat]
        capacity[seat] = popcount(row[R.HAND + seat])
    seen |= played
    known[turn], capacity[turn] = row[R.HAND + turn], 0
    unseen: int = spec[S.DECK] & ~seen
    capacity[R.UNDEALT] = popcount(unseen)
    for seat in range(num_players):
        capacity[R.UNDEALT] -= capacity[seat]
    known[R.UNDEALT] = cards_below_all(row, spec, turn)
    capacity[R.UNDEALT] -= popcount(known[R.UNDEALT])
    unseen ^= known[R.UNDEALT]
    return unseen


def deal_hands(stream: Row, row: Row, spec: Spec, unseen: int, out: Row) -> bool:
    """Deal the unseen cards to the other hands as `hidden.deal_others` does; False: the draw is refused."""
    seats, before, rest = (1 << spec[S.NUM_PLAYERS]) - 1 & ~(1 << row[R.TURN]), 0, unseen
    while seats != 0:
        seat = next_to_deal(row, spec, seats, unseen)
        size = popcount(row[R.HAND + seat])
        own = rest & ~impossible_cards(row, spec, seat)
        num, most = popcount(own), most_left(row, spec, before, seat, unseen)
        if num < size:
            return False
        if num < most:
            for i in range(size):
                if draw_below(stream, most - i) >= num - i:
                    return False
        out[seat] = draw_cards(stream, own, size)
        rest &= ~out[seat]
        before |= 1 << seat
        seats ^= 1 << seat
    return True


@noinline
def deal_unseen(stream: Row, row: Row, spec: Spec, unseen: int, known: Row, capacity: Row, out: Row) -> None:
    """Deal the unseen cards to the locations, uniformly over all deals that agree, into `out` (5,)."""
    is_dealt = False
    for _ in range(MAX_TRIES):
        for location in range(NUM_LOCATIONS):
            out[location] = known[location]
        is_dealt = deal_hands(stream, row, spec, unseen, out) and deal_agrees(row, spec, row[R.TURN], out)
        if is_dealt:
            break
    rest = unseen
    for location in range(NUM_LOCATIONS):
        if location == R.UNDEALT or not is_dealt:
            out[location] = known[location] | draw_cards(stream, rest, capacity[location])
        rest &= ~out[location]


# ---------------------------------------------------------------- inference


@noinline
def action_of(spec: Spec, cards: int) -> int:
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
    if spec[S.SUITS_BIND] and width > 1:
        return suited_action_of(spec, cards, width, length)
    first: int = spec[S.GROUP_FIRST + (width - 1) * 32 + length * 2 + suited]
    return first + lowest_index(squeeze((1 << top) >> (4 * (length - 1)), width))


@noinline
def replay_round(row: Row, history: IntArray, world: Row, line: Rollout, replay: Replay) -> int:
    """Fill in the replay of the round.

    Args:
        row: the state now.
        history: int64 (K,) its last events, newest first (`tienlen_env.games.tienlen.state`).
        world: int64 (5,) any world; only the sizes of its hands matter.
        line: arrays of the rollouts.
        replay: is filled in.

    Returns:
        The number of decisions; 0 if the history does not reach back to the start of the round.
    """
    spec, actions, record, order = line.spec, line.actions, replay.record, replay.order
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
    if row[spec[S.EXTRA] + R.BEGUN] != 0 and spec[S.OPENING_PLAY] > 0:
        now[R.REQUIRED_CARD] = first & FULL & -(first & FULL)
    for event in range(num_events):
        now = record[event]
        entry = history[num_events - 1 - event]
        seat = now[R.TURN]
        if seat != (entry >> R.HISTORY_SEAT_SHIFT) - 1:
            return 0
        cards = entry & FULL
        replay.taken[event] = cards
        order[seat, 0] += 1
        order[seat, order[seat, 0]] = event
        replay.later[event] = row[R.PLAYED + seat] & ~now[R.PLAYED + seat]
        if event + 1 < num_events:
            after = record[event + 1]
            for i in range(now.shape[0]):
                after[i] = now[i]
            kernels.play(after, spec, actions, action_of(spec, cards), cards, line.rewards)
    return num_events


@noinline
def count_deviations(line: Rollout, replay: Replay, seat: int, hand: int, limit: int) -> int:
    """`num_deviations` without the cache; decisions that deviate move forward in the order."""
    record, order = replay.record, replay.order
    count = 0
    for i in range(1, order[seat, 0] + 1):
        event = order[seat, i]
        row = record[event]
        row[R.HAND + seat] = hand | replay.later[event]
        replay.chain_stats[QUERIES] += 1
        if not is_choice(
            line.policy, line.spec, line.actions, row, replay.taken[event], line.ids, line.cards
        ):
            count += 1
            forward = (i + 1) >> 1
            order[seat, i], order[seat, forward] = order[seat, forward], event
            if count > limit:
                break
    return count


def num_deviations(line: Rollout, replay: Replay, seat: int, hand: int, limit: int) -> int:
    """The number of a player's past decisions that deviate from the choice of `heuristic`.

    Args:
        line: ``line.policy`` is the workspace of `heuristic`.
        replay: the round so far.
        seat: the player; 4, the undealt cards, has no decisions.
        hand: the hand that a world assigns to the player now.
        limit: counting stops beyond this number.
    """
    if seat == R.UNDEALT:
        return 0
    key = hand | (1 + seat) << 52
    slot = shift_right(key * HASH, 64 - CACHE_BITS) << 1
    cache = replay.cache
    if cache[slot] == key and (cache[slot + 1] & 1 or cache[slot + 1] >> 1 > limit):
        known: int = cache[slot + 1] >> 1
        return known
    count = count_deviations(line, replay, seat, hand, limit)
    cache[slot] = key
    cache[slot + 1] = count << 1 | (count <= limit)
    return count


def log_factor(options: Options) -> float:
    """The logarithm of what a deviation does to the probability of a world; below 0."""
    return min(log(1 - options.inference), -1e-9)


@noinline
def propose_swap(stream: Row, unseen: int, large_swaps: int, current: Row, proposal: Row) -> tuple[int, int]:
    """Propose a step of the chain: draw two locations with unseen cards, and cards to swap between them.

    The number of cards is 1 with probability 1/2, 2 with probability 1/4, and so on. In a large swap all
    possible numbers are equally likely.

    Args:
        stream: of random numbers.
        unseen: the cards that may move.
        large_swaps: how many of 16 swaps are large.
        current: int64 (5,), the current world.
        proposal: int64 (5,), gets the proposed world.

    Returns:
        The two locations; (-1, -1) if fewer than two have unseen cards.
    """
    locations, num_locations = 0, 0
    for location in range(NUM_LOCATIONS):
        proposal[location] = current[location]
        if current[location] & unseen != 0:
            locations |= 1 << location
            num_locations += 1
    if num_locations < 2:
        return -1, -1
    one = nth_index(locations, draw_below(stream, num_locations))
    two = nth_index(locations & ~(1 << one), draw_below(stream, num_locations - 1))
    limit = min(popcount(current[one] & unseen), popcount(current[two] & unseen))
    n = 1
    if large_swaps > 0 and draw_below(stream, 16) < large_swaps:
        n += draw_below(stream, limit)
    else:
        while n < limit and draw_below(stream, 2) != 0:
            n += 1
    give, take = draw_cards(stream, current[one] & unseen, n), draw_cards(stream, current[two] & unseen, n)
    proposal[one] ^= give | take
    proposal[two] ^= give | take
    return one, two


@noinline
def mcmc_steps(
    stream: Row,
    row: Row,
    chain: Chain,
    num_steps: int,
    options: Options,
    line: Rollout,
    replay: Replay,
    beliefs: Beliefs,
) -> None:
    """Make steps of the Metropolis chain.

    Args:
        stream: of random numbers.
        row: the state; of the other hands only the numbers of cards are read.
        chain: its state.
        num_steps: proposals to make.
        options: of the search.
        line: see `num_deviations`.
        replay: the round so far.
        beliefs: card weights, if there are any.
    """
    current, proposal, deviations = chain.current, chain.proposal, chain.num_deviations
    of_deviation, unseen = log_factor(options), 0
    for location in range(NUM_LOCATIONS):
        unseen |= current[location] & ~chain.known[location]
    for _ in range(num_steps):
        one, two = propose_swap(stream, unseen, options.large_swaps, current, proposal)
        if one < 0:
            return
        draw = (shift_right(random_word(stream), 11) + 1) * 2.0**-53
        # One more deviation is accepted with probability 1 - inference, two more with its square, ...
        log_draw = log(draw)
        if beliefs.sizes[IS_SET] != 0:
            log_draw -= log_ratio(beliefs, one, two, current, proposal)
        more = log_draw / of_deviation
        limit = deviations[one] + deviations[two] + (int(more) if more >= 0 else -int(-more) - 1)
        if limit < 0:
            continue
        of_one = num_deviations(line, replay, one, proposal[one], limit)
        if of_one > limit:
            continue
        of_two = num_deviations(line, replay, two, proposal[two], limit - of_one)
        if of_one + of_two <= limit and deal_agrees(row, line.spec, row[R.TURN], proposal):
            current[one], current[two] = proposal[one], proposal[two]
            deviations[one], deviations[two] = of_one, of_two
