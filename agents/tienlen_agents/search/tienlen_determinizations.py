"""Worlds of Tiến lên: deals of the unseen cards that are consistent with the public information.

**Certain facts.** Each opponent holds a known number of the unseen cards. With two or three players the
undealt cards are unseen too. What else all players know is `tienlen_env.games.tienlen.hidden`'s matter: a
world that disagrees with it is impossible.

**Inference.** Each opponent is modelled as `heuristic`. The public plays are replayed: for
each past decision of an opponent, the hand that the world assigns now, with the cards played since then put
back, is given to `heuristic`. A decision *deviates* if `heuristic` plays other
cards (suits included: it plays the lowest). The probability of a world is:

    P(world) ~ (1 - inference) ** (number of deviations)

Forced decisions never deviate; with ``inference=0`` all worlds are equally likely. Where the opponents may be
players of other kinds, a world is as likely as `log_of_table` says. Worlds are sampled by a
Metropolis chain: propose a swap of cards between two locations, accept with probability ``min(1, ratio)``.
With card weights (`tienlen_agents.search.tienlen_beliefs`) the probability is multiplied by those of the
cards. Most proposals are rejected, so rejections are made cheap:

- Only the two hands that change are evaluated, and what is found about a hand is cached.
- The acceptance draw comes first; it says how unlikely the past plays may be, and no more are asked about
  once they are less likely.
- Plays that spoke against a hand before are evaluated first.
- The play that was made is evaluated first, and other plays only until one has a higher score.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tienlen_agents.rule_based.heuristic.playout import is_choice
from tienlen_agents.rule_based.rollout import Rollout
from tienlen_agents.search.interface import Options
from tienlen_agents.search.randomness import HASH, draw_below, draw_cards, random_word
from tienlen_agents.search.tienlen_beliefs import IS_SET, Beliefs, log_ratio
from tienlen_agents.search.tienlen_players import Chances, PlayerModels, log_chances
from tienlen_env.games.common.arrays import FloatArray, IntArray, Row, Spec
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
from tienlen_env.games.common.floats import exp, log
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
LEAST_SHARE: Final = 1e-9
ALIKE_SHARE: Final = 0.8  # how likely all opponents are of one kind
SPEAKS_AGAINST: Final = 1.0  # a play that makes a hand less likely by more, as a logarithm
LOG_4: Final = 1.3862943611198906

# Entries of `Replay.prior`; all but the first are logarithms.
SHARE: Final = 0  # how likely an opponent is to play as the rule-based agent, before it has played
DEVIATION: Final = 1  # what a play that this agent would not have made does to a world, if `SHARE` is 1
IS_BASELINE: Final = 2  # how likely an opponent is that agent, ...
IS_NETWORK: Final = 3  # ... the champion's network, ...
IS_SELF_PLAY: Final = 4  # ... or a policy of self-play
ALIKE: Final = 5  # how likely all opponents are of one kind; ...
APART: Final = 6  # ... else each is of a kind of its own, which may be the same
NUM_PRIORS: Final = 7

QUERIES: Final = 0  # entry of `Replay.chain_stats`


class Replay(NamedTuple):
    """The round so far, decision by decision (K at most), and what is known of hands.

    Attributes:
        record: int64 (K, ROW), the state before each decision, oldest first.
        taken: int64 (K,), the cards played, 0 for a pass.
        later: int64 (K,), the cards that the player has played since then, this play included.
        order: int64 (4, 1 + K), for each seat the number of its decisions, and their indices in the order of
            evaluation.
        cache: int64 (1 << CACHE_BITS, 2), a hand with its seat; and 1 if all of its plays were asked.
        plays: float64 (1 << CACHE_BITS, NUM_PLAYS), `Plays` of the same hands.
        models: of players that are not the rule-based agent.
        inputs: of the models, scratch.
        prior: float64 (NUM_PRIORS,), who the opponents may be, see `SHARE`.
        chain_stats: int64 (2,): queries to the opponent model so far; steps between two worlds.
    """

    record: Any
    taken: Any
    later: Any
    order: Any
    cache: Any
    plays: Any
    models: PlayerModels
    inputs: Any
    prior: Any
    chain_stats: Any


class Chain(NamedTuple):
    """The state of the Markov chain; int64 (NUM_LOCATIONS,) each.

    Attributes:
        known: cards whose location is known, by location.
        capacity: how many unseen cards each location has.
        current: the current world.
        proposal: the proposed world.
        plays: float64 (NUM_LOCATIONS, NUM_PLAYS), `Plays` of each opponent in the current world.
    """

    known: Any
    capacity: Any
    current: Any
    proposal: Any
    plays: Any


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


class Plays(NamedTuple):
    """How likely plays are, as logarithms; of several players together the sums.

    Attributes:
        baseline: if the rule-based agent made them.
        network: if the champion's network did.
        self_play: if a policy of self-play did.
        mixed: if each player is of any kind.
    """

    baseline: float
    network: float
    self_play: float
    mixed: float


NO_PLAYS: Final = Plays(0.0, 0.0, 0.0, 0.0)
NUM_PLAYS: Final = len(NO_PLAYS)


def add(one: Plays, two: Plays) -> Plays:
    """The plays of both."""
    return Plays(
        one.baseline + two.baseline,
        one.network + two.network,
        one.self_play + two.self_play,
        one.mixed + two.mixed,
    )


def forget_plays(replay: Replay, share: float, mistakes: float) -> None:
    """Forget what is known of hands, and set who the opponents may be.

    Args:
        replay: the round so far.
        share: how likely an opponent is to play as the rule-based agent.
        mistakes: how often one that does plays otherwise, where the share is 1.
    """
    prior = replay.prior
    prior[SHARE], prior[DEVIATION] = share, min(log(mistakes), -1e-9)
    if share < 1:
        prior[IS_BASELINE], prior[IS_NETWORK] = log(max(share, LEAST_SHARE)), log((1 - share) / 2)
        prior[IS_SELF_PLAY] = prior[IS_NETWORK]
        prior[ALIKE], prior[APART] = log(ALIKE_SHARE), log(1 - ALIKE_SHARE)
    replay.chain_stats[QUERIES] = 0
    for i in range(replay.cache.shape[0]):
        replay.cache[i, 0] = 0


def log_of_sum(one: float, two: float) -> float:
    """The logarithm of the sum of two numbers that are given by their logarithms."""
    largest = max(one, two)
    return largest + log(1.0 + exp(min(one, two) - largest))


def log_of_alike(prior: Row, plays: Plays) -> float:
    """The logarithm of how likely plays are if all players are of one kind."""
    models = log_of_sum(prior[IS_NETWORK] + plays.network, prior[IS_SELF_PLAY] + plays.self_play)
    return log_of_sum(prior[IS_BASELINE] + plays.baseline, models)


def log_of_table(prior: Row, plays: Plays) -> float:
    """The logarithm of how likely the plays of all opponents are, see `ALIKE`."""
    if prior[SHARE] >= 1:
        return plays.baseline
    return log_of_sum(prior[ALIKE] + log_of_alike(prior, plays), prior[APART] + plays.mixed)


def is_below(prior: Row, plays: Plays, least: float) -> bool:
    """Whether `log_of_table` is below a number; mostly without a logarithm."""
    if prior[SHARE] >= 1:
        return plays.baseline < least
    models = max(prior[IS_NETWORK] + plays.network, prior[IS_SELF_PLAY] + plays.self_play)
    alike = prior[ALIKE] + max(prior[IS_BASELINE] + plays.baseline, models)
    largest = max(alike, prior[APART] + plays.mixed)
    if largest >= least or largest + LOG_4 < least:
        return largest < least
    return log_of_table(prior, plays) < least


class Kinds(NamedTuple):
    """How likely players are of each kind, 0..1; together less than 1 if they may be of several."""

    baseline: float
    network: float
    self_play: float


def kinds_alike(prior: Row, table: Plays) -> Kinds:
    """How likely all opponents are of one kind because they are alike, by all their plays."""
    total = log_of_table(prior, table) - prior[ALIKE]
    return Kinds(
        exp(prior[IS_BASELINE] + table.baseline - total),
        exp(prior[IS_NETWORK] + table.network - total),
        exp(prior[IS_SELF_PLAY] + table.self_play - total),
    )


def kinds_apart(prior: Row, plays: Plays) -> Kinds:
    """How likely one player is of each kind, by its own plays alone."""
    return Kinds(
        exp(prior[IS_BASELINE] + plays.baseline - plays.mixed),
        exp(prior[IS_NETWORK] + plays.network - plays.mixed),
        exp(prior[IS_SELF_PLAY] + plays.self_play - plays.mixed),
    )


def chance_of_apart(alike: Kinds) -> float:
    """How likely each opponent is of a kind of its own, see `kinds_alike`."""
    return max(1 - alike.baseline - alike.network - alike.self_play, 0.0)


def with_play(prior: Row, before: Plays, play: Chances) -> Plays:
    """The plays of one player with one more."""
    baseline, network = before.baseline + play.baseline, before.network + play.network
    self_play = before.self_play + play.self_play
    of_one_kind = log_of_alike(prior, Plays(baseline, network, self_play, 0.0))
    return Plays(baseline, network, self_play, of_one_kind)


@noinline
def weigh(
    line: Rollout, replay: Replay, options: Options, seat: int, hand: int, rest: Plays, least: float
) -> Plays:
    """`plays_with` without the cache; plays that speak against a hand move forward in the order."""
    record, order, prior = replay.record, replay.order, replay.prior
    is_baseline, plays = prior[SHARE] >= 1, NO_PLAYS
    total = log_of_table(prior, rest)
    for i in range(1, order[seat, 0] + 1):
        event = order[seat, i]
        row = record[event]
        row[R.HAND + seat] = hand | replay.later[event]
        replay.chain_stats[QUERIES] += 1
        before = total
        if is_baseline:
            if not is_choice(
                line.policy, line.spec, line.actions, row, replay.taken[event], line.ids, line.cards
            ):
                plays = Plays(plays.baseline + prior[DEVIATION], 0.0, 0.0, 0.0)
        else:
            mistakes = 1 - options.inference
            found = log_chances(line, replay.models, replay.inputs, row, replay.taken[event], mistakes)
            plays = with_play(prior, plays, found)
        total = log_of_table(prior, add(rest, plays))
        if total < before - SPEAKS_AGAINST:
            forward = (i + 1) >> 1
            order[seat, i], order[seat, forward] = order[seat, forward], event
        if total < least:
            break
    return plays


def read_plays(stored: FloatArray) -> Plays:
    """Plays as they were stored, float64 (4,)."""
    return Plays(stored[0], stored[1], stored[2], stored[3])


def write_plays(stored: FloatArray, plays: Plays) -> None:
    """Store plays, float64 (4,)."""
    stored[0], stored[1], stored[2], stored[3] = plays


def plays_with(
    line: Rollout, replay: Replay, options: Options, seat: int, hand: int, rest: Plays, least: float
) -> Plays:
    """How likely a player's past plays are with a hand.

    A player plays any legal action instead with the probability ``1 - options.inference``. Where all
    opponents are the rule-based agent, each play that the agent would not have made counts as `forget_plays`
    was told, and no other.

    Args:
        line: ``line.policy`` is the workspace of the rule-based agent.
        replay: the round so far.
        options: of the search.
        seat: the player; 4, the undealt cards, has no plays.
        hand: the hand that a world assigns to the player now.
        rest: the plays of other opponents.
        least: the plays are looked at until all together are less likely than this; they may be even less
            likely then.
    """
    if seat == R.UNDEALT:
        return NO_PLAYS
    key = hand | (1 + seat) << 52
    slot = shift_right(key * HASH, 64 - CACHE_BITS)
    if replay.cache[slot, 0] == key:
        known = read_plays(replay.plays[slot])
        if replay.cache[slot, 1] or is_below(replay.prior, add(rest, known), least):
            return known
    found = weigh(line, replay, options, seat, hand, rest, least)
    replay.cache[slot, 0] = key
    replay.cache[slot, 1] = not is_below(replay.prior, add(rest, found), least)
    write_plays(replay.plays[slot], found)
    return found


def plays_at(chain: Chain, location: int) -> Plays:
    """The plays of a location in the current world."""
    return read_plays(chain.plays[location])


def plays_of_all(chain: Chain) -> Plays:
    """The plays of all opponents in the current world."""
    total = NO_PLAYS
    for location in range(NUM_LOCATIONS):
        total = add(total, plays_at(chain, location))
    return total


@noinline
def propose_swap(stream: Row, unseen: int, current: Row, proposal: Row) -> tuple[int, int]:
    """Propose a step of the chain: draw two locations with unseen cards, and cards to swap between them.

    The number of cards is 1 with probability 1/2, 2 with probability 1/4, and so on.

    Args:
        stream: of random numbers.
        unseen: the cards that may move.
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
        line: see `plays_with`.
        replay: the round so far.
        beliefs: card weights, if there are any.
    """
    current, proposal = chain.current, chain.proposal
    unseen, prior = 0, replay.prior
    total = log_of_table(prior, plays_of_all(chain))
    for location in range(NUM_LOCATIONS):
        unseen |= current[location] & ~chain.known[location]
    for _ in range(num_steps):
        one, two = propose_swap(stream, unseen, current, proposal)
        if one < 0:
            return
        log_draw = log((shift_right(random_word(stream), 11) + 1) * 2.0**-53)
        if beliefs.sizes[IS_SET] != 0:
            log_draw -= log_ratio(beliefs, one, two, current, proposal)
        rest = NO_PLAYS
        for location in range(NUM_LOCATIONS):
            if location not in (one, two):
                rest = add(rest, plays_at(chain, location))
        least = total + log_draw
        if is_below(prior, rest, least):
            continue
        of_one = plays_with(line, replay, options, one, proposal[one], rest, least)
        rest = add(rest, of_one)
        if is_below(prior, rest, least):
            continue
        of_two = plays_with(line, replay, options, two, proposal[two], rest, least)
        table = add(rest, of_two)
        if not is_below(prior, table, least) and deal_agrees(row, line.spec, row[R.TURN], proposal):
            current[one], current[two] = proposal[one], proposal[two]
            write_plays(chain.plays[one], of_one)
            write_plays(chain.plays[two], of_two)
            total = log_of_table(prior, table)
