"""Search in Tiến lên: worlds inferred from past plays, rollouts by `heuristic`, solved endgames.

Without card weights worlds are sampled by the chain of `tienlen_agents.search.tienlen_determinizations`. With
card weights they are drawn one by one by `tienlen_agents.search.tienlen_beliefs`; only where the opponents
hold few cards, and the chain mixes fast, they come from the chain.
"""

from __future__ import annotations

from math import inf
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.endgame import MAX_NODES, EndgameMemory, new_memory, num_columns, solve_row
from tienlen_agents.rule_based.heuristic import decide, playout, splits
from tienlen_agents.rule_based.rollout import new_rollout
from tienlen_agents.search import deals, tienlen_beliefs, tienlen_determinizations as worlds
from tienlen_agents.search.interface import Decision, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.randomness import absorb, absorb_columns, set_seed
from tienlen_agents.search.tienlen_beliefs import IS_SET, Beliefs
from tienlen_agents.search.tienlen_determinizations import NUM_LOCATIONS, Chain, Replay
from tienlen_env.games.common.arrays import Row, Spec
from tienlen_env.games.common.bits import lowest_index, popcount
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
MAX_EVENTS: Final = 256  # as many as a batch can store
# Columns of a row that all players see.
PUBLIC: Final = (
    R.TABLE, R.TABLE_CARDS, R.OWNER, R.TURN, R.PASSED, R.KNOCKED_OUT, R.LOCK, R.REQUIRED_CARD, R.ROUND,
)  # fmt: skip

# Entries of `TienlenMemory.numbers`.
UNSEEN: Final = 0  # the cards whose location is unknown
NUM_EVENTS: Final = 1  # decisions replayed; 0: nothing is inferred
NUM_DRAWN: Final = 2


class TienlenMemory(NamedTuple):
    """Arrays of the search in Tiến lên.

    Attributes:
        endgame: of the endgame solver.
        best_mask: bool (A,), scratch of the same.
        replay: the round so far.
        chain: the chain that samples worlds.
        numbers: int64 (3,), see the constants above.
        beliefs: the card weights of the decision, if it has any.
    """

    endgame: EndgameMemory
    best_mask: Any
    replay: Replay
    chain: Chain
    numbers: Any
    beliefs: Beliefs


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
    for i in range(replay.cache.shape[0]):
        replay.cache[i] = 0
    replay.chain_stats[worlds.QUERIES] = 0
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
    if options.inference > 0 and unseen != 0 and (not is_weighted or num_held <= BELIEF_CARDS):
        num_events = worlds.replay_round(decision.row, decision.history, chain.current, line, replay)
    memory.numbers[NUM_EVENTS], memory.numbers[NUM_DRAWN] = num_events, 0
    num_open = 0
    for location in range(NUM_LOCATIONS):
        num_open += 1 if chain.capacity[location] > 0 else 0
    scale = (ALL_UNSEEN / max(popcount(unseen), 1)) ** 2
    if is_weighted:
        scale *= BELIEF_SCALE
    scale = min(scale, MAX_SCALE)
    return scale if num_open > 1 else 0.0


@noinline
def draw(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Draw the next world: the cards of four seats, and the undealt ones."""
    chain, replay, line = memory.chain, memory.replay, workspace.line
    unseen, num_events = memory.numbers[UNSEEN], memory.numbers[NUM_EVENTS]
    if num_events == 0 and memory.beliefs.sizes[IS_SET] != 0:
        deal_by_weights(decision, workspace, memory)
    elif num_events == 0:
        deal_uniformly(decision, workspace, memory)
    else:
        num_steps = replay.chain_stats[1]
        if memory.numbers[NUM_DRAWN] == 0:
            for location in range(NUM_LOCATIONS):
                chain.num_deviations[location] = worlds.num_deviations(
                    line, replay, location, chain.current[location], MAX_EVENTS
                )
            effort = options.mcmc_effort * chain_effort(popcount(unseen))
            burn_in = int(effort * BURN_IN)
            worlds.mcmc_steps(
                workspace.stream, decision.row, chain, burn_in, options, line, replay, memory.beliefs
            )
            wanted = effort * QUERIES_PER_SAMPLE * burn_in / max(replay.chain_stats[worlds.QUERIES], 1)
            least = max(int(options.mcmc_effort * MIN_STEPS), 1)
            num_steps = max(int(min(wanted, effort * MAX_STEPS)), least)
            replay.chain_stats[1] = num_steps
        worlds.mcmc_steps(
            workspace.stream, decision.row, chain, num_steps, options, line, replay, memory.beliefs
        )
    memory.numbers[NUM_DRAWN] += 1
    for location in range(NUM_LOCATIONS):
        workspace.world[location] = chain.current[location]


@noinline
def restart(decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory) -> None:
    """Start a new chain from a new deal."""
    if memory.beliefs.sizes[IS_SET] != 0:
        deal_by_weights(decision, workspace, memory)
    else:
        deal_uniformly(decision, workspace, memory)
    memory.numbers[NUM_DRAWN] = 0
    memory.replay.chain_stats[worlds.QUERIES] = 0


def num_worlds(decision: Decision, workspace: Workspace, memory: TienlenMemory) -> int:
    """The number of deals of the unseen cards."""
    return deals.num_deals(memory.chain.capacity)


@noinline
def next_world(
    decision: Decision, options: Options, workspace: Workspace, memory: TienlenMemory, is_first: bool
) -> float:
    """List the deals; each is as likely as its deviations and card weights make it."""
    chain, replay, line, world = memory.chain, memory.replay, workspace.line, workspace.world
    unseen, log_weight = memory.numbers[UNSEEN], 0.0
    if is_first:
        for location in range(NUM_LOCATIONS):
            world[location] = chain.known[location]
        deals.first_deal(unseen, chain.capacity, world)
    else:
        deals.next_deal(unseen, world)
    if not deal_agrees(decision.row, line.spec, decision.row[R.TURN], world):
        return -inf
    if memory.beliefs.sizes[IS_SET] != 0:
        log_weight = tienlen_beliefs.log_weight(memory.beliefs, unseen, world)
    if memory.numbers[NUM_EVENTS] != 0:
        deviations = 0
        for location in range(NUM_LOCATIONS):
            deviations += worlds.num_deviations(line, replay, location, world[location], MAX_EVENTS)
        log_weight += deviations * worlds.log_factor(options)
    return log_weight


def deviations(memory: TienlenMemory) -> int:
    """See `SearchSetup.deviations`."""
    return int(memory.chain.num_deviations[: R.UNDEALT].sum()) if memory.numbers[NUM_EVENTS] else -1


def fill(row: Row, world: Row, spec: Spec, seat: int) -> None:
    """Write a world into the hidden columns of a state."""
    for location in range(NUM_LOCATIONS):
        row[R.HAND + location] = world[location]
    row[R.KEY] = 0


GAME: Final = SearchGame(
    playout.GAME, kernels.update_legal, kernels.list_legal, default_action, solve, begin, draw, fill, restart,
    num_worlds, next_world,
)  # fmt: skip


def setup(rules: Rules, reward: str = "") -> SearchSetup:
    """The functions and arrays for a variant; they maximise points, or ``reward="payments"``."""
    reward = reward or "points"
    spec, actions = build_spec(rules, reward=reward)
    line = new_rollout(decide.new_workspace(), spec, actions)
    taken, later = np.zeros((2, MAX_EVENTS), np.int64)
    replay = Replay(
        np.zeros((MAX_EVENTS, int(spec[S.ROW_SIZE])), np.int64),
        taken,
        later,
        np.zeros((4, MAX_EVENTS + 1), np.int64),
        np.zeros(2 << worlds.CACHE_BITS, np.int64),
        np.zeros(2, np.int64),
    )
    chain = Chain(*np.zeros((5, NUM_LOCATIONS), np.int64))
    best_mask = np.zeros(len(line.ids), np.bool_)
    beliefs = tienlen_beliefs.new_beliefs(NUM_LOCATIONS, rules.cards_each)
    memory = TienlenMemory(new_memory(rules), best_mask, replay, chain, np.zeros(3, np.int64), beliefs)
    stream = np.zeros(1, np.int64)
    # A stake, as in the weights of `heuristic`, counts like a point.
    reward_unit = splits.stake_of(spec) if reward == "payments" else 1
    return SearchSetup(
        GAME, line, num_columns(spec), NUM_LOCATIONS, stream, memory, reward, float(reward_unit), deviations
    )


SEARCH = setup
