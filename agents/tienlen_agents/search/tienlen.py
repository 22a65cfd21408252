"""Search in Tiến lên: worlds inferred from past plays, rollouts by `heuristic`, solved endgames.

Without card weights worlds are sampled by the chain of `tienlen_agents.search.tienlen_determinizations`. With
card weights they are drawn one by one by `tienlen_agents.search.tienlen_beliefs`; only where the opponents
hold few cards, and the chain mixes fast, they come from the chain. The opponents may be players of several
kinds (`tienlen_agents.search.tienlen_players`), see `begin_chain`. Where worlds are drawn by card weights,
the kinds are those of the last world of that chain. Few worlds can be listed, see `next_world`.
"""

from __future__ import annotations

from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.endgame import MAX_NODES, EndgameMemory, new_memory, num_columns, solve_row
from tienlen_agents.rule_based.heuristic import decide, playout, splits
from tienlen_agents.rule_based.rollout import Rollout, new_rollout
from tienlen_agents.search import (
    deals,
    tienlen_beliefs,
    tienlen_determinizations as worlds,
    tienlen_players as players,
)
from tienlen_agents.search.interface import Decision, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.randomness import absorb, absorb_columns, random_word, set_seed
from tienlen_agents.search.tienlen_beliefs import DAMPED, IS_SET, Beliefs
from tienlen_agents.search.tienlen_determinizations import NUM_LOCATIONS, Chain, Replay
from tienlen_env.games.common.arrays import Row, Spec
from tienlen_env.games.common.bits import lowest_index, popcount, shift_right
from tienlen_env.games.common.floats import exp
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.hidden import MAX_TRIES, deal_agrees
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.games.tienlen.spec import build_spec

# Each is multiplied by the option `mcmc_effort` and, except MIN_STEPS, by `chain_effort`.
BURN_IN: Final = 800  # steps of the chain before the first world that counts
# Thinning: chosen so that about this many queries to the opponent model happen between two worlds (estimated
# during burn-in). With few unseen cards most answers are cached, and steps are cheap.
QUERIES_PER_SAMPLE: Final = 80
MAX_STEPS: Final = 160
MIN_STEPS: Final = 8
# With card weights there is a chain where the opponents hold at most this many unseen cards: there it mixes
# fast, and most answers of the opponent model are cached.
BELIEF_CARDS: Final = 24
BELIEF_SCALE: Final = 1.5  # factor on the budget: these worlds are repeated less often than those of a chain
ALL_UNSEEN: Final = 39  # cards that a player has not seen when a round begins
MAX_SCALE: Final = 8.0
EFFORT_WORLDS: Final = 32  # with as many worlds efforts are as `Options.known_effort` says; ...
MAX_EFFORT: Final = 8.0  # ... more worlds have longer chains, but not longer ones than so many times that
START: Final = 0.5  # of `Options.known_effort`
STRANGE: Final = 2  # plays that the rule-based agent does not explain: the opponents are others
KNOWN: Final = 0.9  # how likely all opponents must be the rule-based agent; it makes no mistakes, ...
MISTAKES: Final = 0.0025  # ... but a chain without them does not mix
MAX_EVENTS: Final = 256  # as many as a batch can store
# Columns of a row that all players see.
PUBLIC: Final = (
    R.TABLE, R.TABLE_CARDS, R.OWNER, R.TURN, R.PASSED, R.KNOCKED_OUT, R.LOCK, R.REQUIRED_CARD, R.ROUND,
)  # fmt: skip

# The entry of a world after the cards of each location: the kinds of the players.
KINDS: Final = NUM_LOCATIONS

# Entries of `TienlenMemory.numbers`.
UNSEEN: Final = 0  # the cards whose location is unknown
NUM_EVENTS: Final = 1  # decisions replayed; 0: nothing is inferred
NUM_DRAWN: Final = 2
IS_CHAIN: Final = 3  # whether worlds come from the chain
BEGAN_AS_CHAIN: Final = 4  # `IS_CHAIN` and ...
BEGAN_WEIGHTED: Final = 5  # ... `IS_SET` of the card weights when the search began
HAS_ASKED: Final = 6  # whether `begin_list` ran
NUM_NUMBERS: Final = 7


class TienlenMemory(NamedTuple):
    """Arrays of the search in Tiến lên.

    Attributes:
        endgame: of the endgame solver.
        best_mask: bool (A,), scratch of the same.
        replay: the round so far.
        chain: the chain that samples worlds.
        numbers: int64 (NUM_NUMBERS,), see the constants above.
        beliefs: the card weights of the decision, if it has any.
        models: of players.
    """

    endgame: EndgameMemory
    best_mask: Any
    replay: Replay
    chain: Chain
    numbers: Any
    beliefs: Beliefs
    models: players.PlayerModels


def chain_effort(num_unseen: int) -> float:
    """Factor on the length of the chain.

    Tripling the chain length lowers the mean squared error of card-ownership marginals by 10 % at 18 to 23
    unseen cards and by 3 % at 24 to 33. With more unseen cards little can be inferred; with fewer there are
    more worlds, and chains of all lengths give the same.
    """
    return max(2 - abs(num_unseen - 23) / 7, 0.25)


@noinline
def seed_of(row: Row, spec: Spec, seed: int) -> int:
    """Hash what the seat to act can see of a state, and a seed."""
    state = absorb(seed, row[R.HAND + row[R.TURN]])
    for seat in range(spec[S.NUM_PLAYERS]):
        state = absorb(state, row[R.PLAYED + seat])
        state = absorb(state, popcount(row[R.HAND + seat]))
        state = absorb(state, row[R.PLACE + seat])
        state = absorb(state, row[R.SCORE + seat])
    return absorb_columns(state, row, PUBLIC)


def default_action(decision: Decision, workspace: Workspace, memory: TienlenMemory) -> int:
    """The choice of `heuristic`."""
    line = workspace.line
    splits.set_rules(line.policy, line.spec)
    end = decision.actions.shape[0]
    if end == 1:
        return 0
    view = decide.public_view(line.spec, decision.row)
    return decide.choose(line.policy, line.spec, line.actions, view, decision.actions, decision.cards, 0, end)


@noinline
def solve(decision: Decision, workspace: Workspace, memory: TienlenMemory, default: int) -> int:
    """Solve an endgame of two players with known cards; in a lost one `heuristic` chooses.

    The opponent's hand is known if the number of unseen cards equals the size of that hand.
    """
    row, spec = decision.row, workspace.line.spec
    if popcount(row[R.LIVE]) != 2 or spec[S.HAS_PAYMENTS]:
        return -1
    seat = row[R.TURN]
    other = lowest_index(row[R.LIVE] ^ 1 << seat)
    unseen = spec[S.DECK] & ~row[R.HAND + seat]
    for player in range(spec[S.NUM_PLAYERS]):
        unseen &= ~row[R.PLAYED + player]
    if popcount(unseen) != popcount(row[R.HAND + other]):
        return -1
    for column in range(num_columns(spec)):
        workspace.source[column] = row[column]
    for player in range(4):
        workspace.source[R.HAND + player] = 0
    workspace.source[R.HAND + seat] = row[R.HAND + seat]
    workspace.source[R.HAND + other] = unseen
    for action in range(memory.best_mask.shape[0]):
        memory.best_mask[action] = False
    value, _ = solve_row(
        memory.endgame, workspace.source, decision.actions[default], False, MAX_NODES, memory.best_mask
    )
    if value > 0:
        for i in range(decision.actions.shape[0]):
            if memory.best_mask[decision.actions[i]]:
                return i
    return default if value < 0 else -1


def deal_uniformly(decision: Decision, workspace: Workspace, memory: TienlenMemory) -> None:
    """Make a world without regard to card weights the current one."""
    spec, chain, unseen = workspace.line.spec, memory.chain, memory.numbers[UNSEEN]
    worlds.deal_unseen(
        workspace.stream, decision.row, spec, unseen, chain.known, chain.capacity, chain.current
    )


def deal_by_weights(decision: Decision, workspace: Workspace, memory: TienlenMemory) -> None:
    """Make a world by the card weights the current one; one without them if none is found that agrees."""
    chain, row = memory.chain, decision.row
    for _ in range(MAX_TRIES):
        tienlen_beliefs.deal_by_beliefs(workspace.stream, chain.known, memory.beliefs, chain.current)
        if deal_agrees(row, workspace.line.spec, row[R.TURN], chain.current):
            return
    deal_uniformly(decision, workspace, memory)


@noinline
def begin(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> float:
    """Determine the known locations of unseen cards, and replay the round.

    Returns:
        The factor on the budget: late rounds are short, and the same worlds are drawn again, so n unseen
        cards get ``(39 / n) ** 2`` times as many worlds, with card weights `BELIEF_SCALE` times as many as
        that; 8 times at most.
    """
    chain, replay, line = memory.chain, memory.replay, workspace.line
    splits.set_rules(line.policy, line.spec)
    set_seed(workspace.stream, seed_of(decision.row, line.spec, options.seed))
    worlds.forget_plays(replay, options.baseline_share, 1 - options.inference)
    unseen = worlds.known_cards(decision.row, line.spec, chain.known, chain.capacity)
    memory.numbers[UNSEEN] = unseen
    deal_uniformly(decision, workspace, memory)
    tienlen_beliefs.set_beliefs(
        decision.row, decision.card_weights, line.spec, unseen, chain.capacity, memory.beliefs
    )
    is_weighted = memory.beliefs.sizes[IS_SET] != 0
    if is_weighted:
        deal_by_weights(decision, workspace, memory)
    num_events = 0
    num_held = popcount(unseen) - chain.capacity[R.UNDEALT]
    is_chain = not is_weighted or num_held <= BELIEF_CARDS
    if options.inference > 0 and unseen != 0 and (is_chain or options.known_effort > 0):
        num_events = worlds.replay_round(decision.row, decision.history, chain.current, line, replay)
    memory.numbers[NUM_EVENTS], memory.numbers[NUM_DRAWN] = num_events, 0
    memory.numbers[IS_CHAIN] = 1 if is_chain and num_events > 0 else 0
    memory.numbers[BEGAN_AS_CHAIN], memory.numbers[BEGAN_WEIGHTED] = memory.numbers[IS_CHAIN], is_weighted
    memory.numbers[HAS_ASKED] = 0
    num_open = 0
    for location in range(NUM_LOCATIONS):
        worlds.write_plays(chain.plays[location], worlds.NO_PLAYS)
        num_open += 1 if chain.capacity[location] > 0 else 0
    scale = (ALL_UNSEEN / max(popcount(unseen), 1)) ** 2
    if is_weighted:
        scale *= BELIEF_SCALE
    scale = min(scale, MAX_SCALE)
    return scale if num_open > 1 else 0.0


def ask_plays(
    decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory, world: Row
) -> None:
    """Find out how likely the plays of each opponent are in a world, all of them."""
    line, replay, nothing = workspace.line, memory.replay, worlds.NO_PLAYS
    for location in range(NUM_LOCATIONS):
        plays = worlds.plays_with(line, replay, options, location, world[location], nothing, -inf)
        if (
            location == decision.row[R.TURN]
        ):  # asked, because the number of queries says how long the chain is
            plays = nothing
        worlds.write_plays(memory.chain.plays[location], plays)


def burn_in(
    decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory, effort: float
) -> None:
    """Make the steps of the chain before the first world, and find the number of those between two worlds."""
    chain, replay, line = memory.chain, memory.replay, workspace.line
    ask_plays(decision, options, workspace, memory, chain.current)
    factor = effort * chain_effort(popcount(memory.numbers[UNSEEN]))
    num_steps = int(factor * BURN_IN)
    worlds.mcmc_steps(workspace.stream, decision.row, chain, num_steps, options, line, replay, memory.beliefs)
    wanted = factor * QUERIES_PER_SAMPLE * num_steps / max(replay.chain_stats[worlds.QUERIES], 1)
    least = max(int(effort * MIN_STEPS), 1)
    replay.chain_stats[1] = max(int(min(wanted, factor * MAX_STEPS)), least)


def is_opponent(row: Row, seat: int) -> bool:
    """Whether a seat is another one than that to act, and still in the round."""
    return bool(seat != row[R.TURN] and row[R.LIVE] >> seat & 1)


def all_as_baseline(decision: Decision, memory: TienlenMemory) -> float:
    """How likely all opponents that are still in the round play as the rule-based agent, 0..1."""
    chain, prior = memory.chain, memory.replay.prior
    if prior[worlds.SHARE] >= 1:
        return 1.0
    alike = worlds.kinds_alike(prior, worlds.plays_of_all(chain))
    apart = worlds.chance_of_apart(alike)
    for seat in range(R.UNDEALT):
        if is_opponent(decision.row, seat):
            apart *= worlds.kinds_apart(prior, worlds.plays_at(chain, seat)).baseline
    return alike.baseline + apart


@noinline
def begin_chain(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Prepare the chain.

    Where it is nearly sure that all opponents play as the rule-based agent, and they made fewer than
    `STRANGE` plays which it does not explain, all worlds come from a longer chain without card weights, which
    asks that agent alone. The plays of the seat to act say nothing of opponents, and who is out of the round
    plays no rollout.
    """
    replay, share, row = memory.replay, options.baseline_share, decision.row
    if options.known_effort == 0 or share >= 1:
        burn_in(decision, options, workspace, memory, options.mcmc_effort)
        return
    # A chain that knows of all kinds of players hardly ever finds the hands which explain what the
    # rule-based agent has played; so it starts from such hands.
    scale = min(options.worlds / EFFORT_WORLDS, MAX_EFFORT)
    worlds.forget_plays(replay, 1.0, MISTAKES)
    burn_in(decision, options, workspace, memory, START * scale * options.known_effort)
    total = 0.0
    for seat in range(workspace.line.spec[S.NUM_PLAYERS]):
        if is_opponent(row, seat):
            total += worlds.plays_at(memory.chain, seat).baseline
    is_strange = total <= STRANGE * replay.prior[worlds.DEVIATION]
    worlds.forget_plays(replay, share, 1 - options.inference)
    if memory.numbers[IS_CHAIN] and memory.beliefs.sizes[IS_SET] != 0:
        memory.beliefs.sizes[IS_SET] = DAMPED
    burn_in(decision, options, workspace, memory, scale * options.mcmc_effort)
    if not is_strange and all_as_baseline(decision, memory) >= KNOWN:
        worlds.forget_plays(replay, 1.0, MISTAKES)
        memory.beliefs.sizes[IS_SET] = 0
        memory.numbers[IS_CHAIN] = 1
        burn_in(decision, options, workspace, memory, scale * options.known_effort)


def draw_share(stream: Row) -> float:
    """Draw a number in 0..1."""
    return shift_right(random_word(stream), 11) * 2.0**-53


def draw_kind(stream: Row, found: worlds.Kinds) -> int:
    """Draw a kind; -1 if it is none of these."""
    left = draw_share(stream) - found.baseline
    if left < 0:
        return players.BASELINE
    left -= found.network
    if left < 0:
        return players.NETWORK
    return players.SELF_PLAY if left < found.self_play else -1


def draw_kinds(workspace: Workspace, memory: TienlenMemory) -> int:
    """Draw the kinds of the players in the current world (`tienlen_agents.search.tienlen_players`)."""
    chain, prior, stream = memory.chain, memory.replay.prior, workspace.stream
    if prior[worlds.SHARE] >= 1:
        return players.BASELINE * players.EVERY_SEAT
    alike = draw_kind(stream, worlds.kinds_alike(prior, worlds.plays_of_all(chain)))
    if alike >= 0:
        return alike * players.EVERY_SEAT
    kinds = 0
    for seat in range(workspace.line.spec[S.NUM_PLAYERS]):
        found = draw_kind(stream, worlds.kinds_apart(prior, worlds.plays_at(chain, seat)))
        kinds |= players.of_kind(max(found, players.BASELINE), seat)
    return kinds


@noinline
def draw(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Draw the next world: the cards of four seats, and the undealt ones."""
    chain, replay, line = memory.chain, memory.replay, workspace.line
    num_events = memory.numbers[NUM_EVENTS]
    if num_events != 0 and memory.numbers[NUM_DRAWN] == 0:
        begin_chain(decision, options, workspace, memory)
    if memory.numbers[IS_CHAIN]:
        num_steps = replay.chain_stats[1]
        worlds.mcmc_steps(
            workspace.stream, decision.row, chain, num_steps, options, line, replay, memory.beliefs
        )
    elif memory.beliefs.sizes[IS_SET] != 0:
        deal_by_weights(decision, workspace, memory)
    else:
        deal_uniformly(decision, workspace, memory)
    memory.numbers[NUM_DRAWN] += 1
    workspace.world[KINDS] = draw_kinds(workspace, memory)
    for location in range(NUM_LOCATIONS):
        workspace.world[location] = chain.current[location]


@noinline
def restart(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Start a new chain from a new deal, whatever the chain before has found out about the opponents."""
    memory.numbers[IS_CHAIN] = memory.numbers[BEGAN_AS_CHAIN]
    memory.beliefs.sizes[IS_SET] = memory.numbers[BEGAN_WEIGHTED]
    if memory.beliefs.sizes[IS_SET] != 0:
        deal_by_weights(decision, workspace, memory)
    else:
        deal_uniformly(decision, workspace, memory)
    memory.numbers[NUM_DRAWN] = 0
    memory.replay.chain_stats[worlds.QUERIES] = 0


def num_worlds(decision: Decision, workspace: Workspace, memory: TienlenMemory) -> int:
    """The number of deals of the unseen cards."""
    return deals.num_deals(memory.chain.capacity)


def likeliest_kinds(workspace: Workspace, memory: TienlenMemory) -> int:
    """For each player the likeliest kind in the current world."""
    chain, prior = memory.chain, memory.replay.prior
    if prior[worlds.SHARE] >= 1:
        return players.BASELINE * players.EVERY_SEAT
    alike, kinds = worlds.kinds_alike(prior, worlds.plays_of_all(chain)), 0
    apart = worlds.chance_of_apart(alike)
    for seat in range(workspace.line.spec[S.NUM_PLAYERS]):
        own = worlds.kinds_apart(prior, worlds.plays_at(chain, seat))
        baseline = alike.baseline + apart * own.baseline
        network = alike.network + apart * own.network
        self_play = alike.self_play + apart * own.self_play
        if baseline < max(network, self_play):
            kinds |= players.of_kind(players.NETWORK if network >= self_play else players.SELF_PLAY, seat)
    return kinds


@noinline
def list_deal(
    decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory, is_first: bool
) -> float:
    """Write the first or next deal; the logarithm of how likely the past plays and the card weights make it.

    A search that lists worlds takes no card weights where plays are weighed: its network has read them off
    the same plays. A player counts as one of the likeliest kind.
    """
    chain, line = memory.chain, workspace.line
    deal, unseen, log_weight = workspace.world[:NUM_LOCATIONS], memory.numbers[UNSEEN], 0.0
    if is_first:
        for location in range(NUM_LOCATIONS):
            deal[location] = chain.known[location]
        deals.first_deal(unseen, chain.capacity, deal)
    else:
        deals.next_deal(unseen, deal)
    if not deal_agrees(decision.row, line.spec, decision.row[R.TURN], deal):
        return -inf
    if memory.beliefs.sizes[IS_SET] != 0 and not (options.lists_worlds and memory.numbers[NUM_EVENTS] != 0):
        log_weight = tienlen_beliefs.log_weight(memory.beliefs, unseen, deal)
    if memory.numbers[NUM_EVENTS] != 0:
        ask_plays(decision, options, workspace, memory, deal)
    workspace.world[KINDS] = likeliest_kinds(workspace, memory)
    log_weight += worlds.log_of_table(memory.replay.prior, worlds.plays_of_all(memory.chain))
    return log_weight


@noinline
def begin_list(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Find out whether all opponents play as the rule-based agent; if so, ask that agent alone.

    All deals are weighed here, so there is no chain that could have missed what explains their plays, and no
    plays are counted as strange.
    """
    memory.numbers[HAS_ASKED] = 1
    total, known, largest = 0.0, 0.0, -inf
    for w in range(deals.num_deals(memory.chain.capacity)):
        log_weight = list_deal(decision, options, workspace, memory, w == 0)
        if log_weight > largest:
            factor = exp(largest - log_weight)
            total, known, largest = total * factor, known * factor, log_weight
        if log_weight > -inf:
            weight = exp(log_weight - largest)
            total += weight
            known += weight * all_as_baseline(decision, memory)
    if known >= KNOWN * total:
        worlds.forget_plays(memory.replay, 1.0, MISTAKES)


def next_world(
    decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory, is_first: bool
) -> float:
    """List the deals, see `list_deal`; the champion's search first finds out who the others are."""
    can_ask = memory.numbers[NUM_EVENTS] != 0 and not memory.numbers[HAS_ASKED]
    if is_first and options.lists_worlds and can_ask:
        begin_list(decision, options, workspace, memory)
    return float(list_deal(decision, options, workspace, memory, is_first))


def fill(row: Row, world: Row, spec: Spec, seat: int) -> None:
    """Write a world into the hidden columns of a state."""
    for location in range(NUM_LOCATIONS):
        row[R.HAND + location] = world[location]
    row[R.KEY] = 0


def play_out(line: Rollout, world: Row, memory: TienlenMemory, seat: int) -> None:
    """See `SearchGame.play_out`."""
    players.play_out(line, memory.models, memory.replay.inputs, world[KINDS], seat)


GAME: Final = SearchGame(
    playout.GAME, kernels.update_legal, kernels.list_legal, default_action, solve, begin, draw, fill, restart,
    num_worlds, next_world, play_out,
)  # fmt: skip


def setup(rules: Rules, reward: str = "") -> SearchSetup:
    """The functions and arrays for a variant; they maximise points, or ``reward="payments"``."""
    reward = reward or "points"
    spec, actions = build_spec(rules, reward=reward)
    line = new_rollout(decide.new_workspace(), spec, actions)
    taken, later = np.zeros((2, MAX_EVENTS), np.int64)
    models = players.load_models()
    replay = Replay(
        np.zeros((MAX_EVENTS, int(spec[S.ROW_SIZE])), np.int64),
        taken,
        later,
        np.zeros((4, MAX_EVENTS + 1), np.int64),
        np.zeros((1 << worlds.CACHE_BITS, 2), np.int64),
        np.zeros((1 << worlds.CACHE_BITS, worlds.NUM_PLAYS)),
        models,
        players.new_inputs(),
        np.zeros(worlds.NUM_PRIORS),
        np.zeros(2, np.int64),
    )
    known, capacity, current, proposal = np.zeros((4, NUM_LOCATIONS), np.int64)
    chain = Chain(known, capacity, current, proposal, np.zeros((NUM_LOCATIONS, worlds.NUM_PLAYS)))
    best_mask = np.zeros(len(line.ids), np.bool_)
    beliefs = tienlen_beliefs.new_beliefs(NUM_LOCATIONS, rules.cards_each)
    memory = TienlenMemory(
        new_memory(rules), best_mask, replay, chain, np.zeros(NUM_NUMBERS, np.int64), beliefs, models
    )
    stream = np.zeros(1, np.int64)
    # A stake, as in the weights of `heuristic`, counts like a point.
    reward_unit = splits.stake_of(spec) if reward == "payments" else 1
    return SearchSetup(GAME, line, num_columns(spec), KINDS + 1, stream, memory, reward, float(reward_unit))


SEARCH = setup
