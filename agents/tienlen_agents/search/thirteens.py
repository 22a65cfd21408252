"""Search in Thirteens: uniform worlds that respect known voids, rollouts by the player `trickster`.

All cards are dealt. Public are the remainder, the dummy's cards that were flipped, and which suits a seat is
known to be void in (it did not follow, or did not lead the starter suit, RULES.md 8.4). All deals that agree
with this are equally likely (`tienlen_agents.search.deals`). The order of the dummy's flipped cards
is drawn with the world. Past plays are not evaluated: the option ``inference`` has no effect.

Declared melds (8.11) are not searched: the best ones are declared. In rollouts melds count at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_agents.rule_based import trickster
from tienlen_agents.rule_based.rollout import RolloutGame, new_rollout
from tienlen_agents.search import deals
from tienlen_agents.search.deals import DealPlan
from tienlen_agents.search.interface import Decision, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.randomness import absorb, absorb_columns, random_word, set_seed
from tienlen_env.games.common.arrays import ActionFields, Row, Spec
from tienlen_env.games.common.bits import LOWEST_SUIT, popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.thirteens import kernels, spec as S, state as R
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.spec import build_spec

NUM_LOCATIONS: Final = 8  # of a hidden card: seven seats, the dummy's hand; as the first columns of a row
PUBLIC: Final = (R.ROUND, R.TURN, R.LEADER, R.TRICK, R.ASIDE, R.VOID, R.SHOWN, R.STARTER)  # columns of a row
WORLD_SIZE: Final = NUM_LOCATIONS + 1  # and the key, which fixes the order of the dummy's cards


class ThirteensMemory(NamedTuple):
    """Arrays of the search in Thirteens.

    Attributes:
        spec: the variant as it is played; that of the rollouts melds automatically.
        actions: its action table.
        size: int64 (8,), number of hidden cards of each location.
        void: int64 (8,), suits that each is void in.
        plan: the deals.
    """

    spec: Spec
    actions: ActionFields
    size: Any
    void: Any
    plan: DealPlan


@noinline
def hidden_cards(row: Row, spec: Spec, size: Row, void: Row) -> int:
    """What is known of the hidden cards.

    Args:
        row: the state; of the other hands only the numbers of cards are read.
        spec: the variant.
        size: int64 (8,), gets the number of hidden cards of each location.
        void: int64 (8,), gets the suits that each is void in.

    Returns:
        The hidden cards (mask).
    """
    turn = row[R.TURN]
    seen = row[R.SHOWN] | row[R.HAND + turn]
    for location in range(NUM_LOCATIONS):
        size[location], void[location] = 0, 0
    for seat in range(spec[S.NUM_PLAYERS]):
        seen |= row[R.PLAYED + seat]
        if seat != turn:
            size[seat], void[seat] = popcount(row[R.HAND + seat]), row[R.VOID] >> 4 * seat & 15
    hidden: int = ((1 << spec[S.NUM_CARDS]) - 1) & ~seen
    size[R.DUMMY] = popcount(hidden)
    for seat in range(spec[S.NUM_PLAYERS]):
        size[R.DUMMY] -= size[seat]
    return hidden


@noinline
def seed_of(row: Row, spec: Spec, seed: int) -> int:
    """Hash what the seat to act can see of a state, and a seed."""
    state = absorb(seed, row[R.HAND + row[R.TURN]])
    for seat in range(spec[S.NUM_PLAYERS]):
        state = absorb(state, row[R.PLAYED + seat])
        state = absorb(state, row[R.TAKEN + seat])
        state = absorb(state, row[R.POINTS + seat])
        state = absorb(state, row[R.SCORE + seat])
    return absorb_columns(state, row, PUBLIC)


@noinline
def default_action(decision: Decision, workspace: Workspace, memory: ThirteensMemory) -> int:
    """The rule-based player's choice; in melding that of the best melds."""
    row, end = decision.row, decision.actions.shape[0]
    if row[R.PILE] != 0:
        action = trickster.choose_meld(row, memory.spec, memory.actions, decision.actions, 0, end)
    else:
        line = workspace.line
        action = trickster.choose_card(row, line.spec, line.policy, decision.actions, 0, end)
    index = 0
    while decision.actions[index] != action:
        index += 1
    return index


def solve(decision: Decision, workspace: Workspace, memory: ThirteensMemory, default: int) -> int:
    """Melds are not searched."""
    return default if decision.row[R.PILE] != 0 else -1


@noinline
def begin(decision: Decision, options: Options, workspace: Workspace, memory: ThirteensMemory) -> float:
    """Count the deals that agree with what is known."""
    row, spec, plan = decision.row, workspace.line.spec, memory.plan
    set_seed(workspace.stream, seed_of(row, spec, options.seed))
    hidden = hidden_cards(row, spec, memory.size, memory.void)
    deals.plan_deal(hidden, memory.size, memory.void, plan)
    deals.count_deals(plan)
    num_open = 0
    for location in range(NUM_LOCATIONS):
        num_open += 1 if memory.size[location] > 0 else 0
    return 1.0 if num_open > 1 else 0.0


def draw(decision: Decision, options: Options, workspace: Workspace, memory: ThirteensMemory) -> None:
    """Draw the next world: the cards of seven seats and of the dummy, and a key."""
    seat = decision.row[R.TURN]
    deals.draw_deal(workspace.stream, memory.plan, workspace.world)
    workspace.world[seat] = decision.row[R.HAND + seat]
    workspace.world[NUM_LOCATIONS] = random_word(workspace.stream)


def num_worlds(decision: Decision, workspace: Workspace, memory: ThirteensMemory) -> int:
    """The number of deals, impossible ones included; 0 with a dummy, whose cards also have an order."""
    return 0 if memory.size[R.DUMMY] > 0 else deals.num_deals(memory.size)


@noinline
def next_world(
    decision: Decision, options: Options, workspace: Workspace, memory: ThirteensMemory, is_first: bool
) -> float:
    """List the deals; those without a card in a void are equally likely."""
    row, world, seat = decision.row, workspace.world, decision.row[R.TURN]
    hidden = 0
    for suit in range(deals.NUM_SUITS + 1):
        hidden |= memory.plan.suits[suit] if suit <= memory.plan.sizes[deals.NUM_VOID_SUITS] else 0
    world[seat] = 0
    if is_first:
        for location in range(WORLD_SIZE):
            world[location] = 0
        deals.first_deal(hidden, memory.size, world)
    else:
        deals.next_deal(hidden, world)
    log_weight = 0.0
    for location in range(NUM_LOCATIONS):
        for suit in range(deals.NUM_SUITS):
            if memory.void[location] >> suit & 1 and world[location] & LOWEST_SUIT << suit != 0:
                log_weight = -math.inf
    world[seat] = row[R.HAND + seat]
    return log_weight


def fill(row: Row, world: Row, spec: Spec, seat: int) -> None:
    """Write a world into the hidden columns of a state."""
    for location in range(NUM_LOCATIONS):
        row[R.HAND + location] = world[location]
    row[R.KEY] = world[NUM_LOCATIONS]


GAME: Final = SearchGame(
    RolloutGame(kernels.play, trickster.choose_index, R.TURN, R.PLACE),
    kernels.update_legal,
    kernels.list_legal,
    default_action,
    solve,
    begin,
    draw,
    fill,
    num_worlds=num_worlds,
    next_world=next_world,
)


def setup(rules: ThirteensRules) -> SearchSetup:
    """The functions and arrays for a variant."""
    spec, actions = build_spec(replace(rules, melding="auto"))
    line = new_rollout(trickster.TricksterAgent().state, spec, actions)
    # A state has the capacity left of each group but the last. All opponents and the dummy in groups of
    # their own have the most states.
    num_groups = rules.num_players - 1 + rules.dummy
    plan = deals.new_plan(NUM_LOCATIONS, (rules.hand_size + 1) ** max(num_groups - 1, 0))
    size, void = np.zeros((2, NUM_LOCATIONS), np.int64)
    memory = ThirteensMemory(*build_spec(rules), size, void, plan)
    return SearchSetup(GAME, line, R.LEGAL, WORLD_SIZE, np.zeros(1, np.int64), memory)


SEARCH = setup
