"""What the modules of games export for agents and people; see `tienlen_table.engine.entries`.

An agent works in arrays of its own (`tienlen_table.engine.memory`): `SearchMemory` of
`tienlen_agents.search`, `NetworkMemory` of a policy network. The functions are those that Python calls.

==============  ======================================================================================
function        what it does
==============  ======================================================================================
``search``      the choice of a search, with or without a prior
``evaluate``    what each legal action earns in the same worlds
``network``     the choice of a network, and the log-probabilities of the legal actions
``write_tiles``  lays out a matrix of weights
``pick_columns``, ``add_rule_inputs``  specialise a general network for a variant
``widen``       float16 to float32, for files of weights
``find_action``  the legal action of exactly these cards
``extensions``  the legal actions that contain these cards and more
``refusal``     why these cards may not be played
==============  ======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_agents import load
from tienlen_agents.networks import inference
from tienlen_agents.networks.features import features_by_name
from tienlen_agents.networks.features.general import add_rule_inputs, pick_columns
from tienlen_agents.networks.inference import TILE
from tienlen_agents.networks.network import Network, NetworkConfig, shapes_of
from tienlen_agents.rule_based import RuleAgent
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.context import new_workspace, num_values, setup_of
from tienlen_agents.search.interface import Decision, Estimates, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.loops import evaluate as evaluate_all, resolve, search as search_worlds
from tienlen_env.engine.backends.per_game import columns, is_refused_with, legal
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, Float32Array, IntArray, Row, Spec
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.specialise import GIVEN, specialise
from tienlen_env.games.registry import has_payments
from tienlen_table.engine.entries import (
    BYTES,
    DOUBLES,
    FLOATS,
    HALVES,
    INT,
    INTS,
    TABLE,
    WORDS,
    ActionChoice,
    EngineEntry,
    Ptr,
    agent_entries,
    grid,
    parts_of_tables,
    table_at,
    view,
)
from tienlen_table.engine.memory import clear, opener
from tienlen_table.words import table_words_of

# The plain functions behind the loops that Python calls.
_forward, _log_probabilities = inference.forward.py_func, inference.log_probabilities.py_func
_believe, _tile = inference.believe.py_func, inference.write_tiles.py_func
_pick, _add = pick_columns.py_func, add_rule_inputs.py_func

MAX_WORLDS: Final = 256
RULE_AGENTS: Final = ("greedy", "greedy_long", "heuristic", "trickster")


class SearchMemory(NamedTuple):
    """Arrays of a search (A actions).

    Attributes:
        ids: int64 (A,), gets the legal actions ...
        cards: int64 (A,), ... and their cards.
        log_prior: float64 (A,), scratch.
        no_weights: float64 (0, 0), the card weights of a search without any.
        num_opponents: of the card weights of the next search, 0 for none; JavaScript sets it.
        estimates: float64 (A,) each, written by ``evaluate``.
        options: of the search.
        workspace: of the search.
        game: the game's own arrays.
    """

    ids: IntArray
    cards: IntArray
    log_prior: npt.NDArray[np.float64]
    no_weights: npt.NDArray[np.float64]
    num_opponents: int
    estimates: Estimates
    options: Options
    workspace: Workspace
    game: Any


class NetworkMemory(NamedTuple):
    """Arrays of a network for one decision (A actions).

    Attributes:
        reader: of `Features.one_reader`; ``reader.inputs.action`` has the legal actions.
        weights: of the network.
        belief: of its belief network; of size 0 if it has none.
        workspace: of the forward pass.
        belief_workspace: of that of the belief network.
        states: float32 (1, D), scratch.
        outputs: float32 (1, O), scratch.
        logits: float32 (A,), written.
        log_prior: float32 (A,), written: the log-probabilities.
        card_weights: float64 (1, opponents x C), written; (1, 0) without a belief network.
    """

    reader: Any
    weights: inference.Weights
    belief: inference.BeliefWeights
    workspace: inference.ForwardWorkspace
    belief_workspace: inference.ForwardWorkspace
    states: Float32Array
    outputs: Float32Array
    logits: Float32Array
    log_prior: Float32Array
    card_weights: npt.NDArray[np.float64]


choose: ActionChoice = GIVEN  # of a rule-based agent
prepare: Callable[[Row, Spec], None] = GIVEN  # of that
constants: IntArray = GIVEN  # its weights
first_weight: int = GIVEN  # their place in its state
num_weights: int = GIVEN
can_extend: Callable[[ActionFields, int, int, int], bool] = GIVEN  # these four: of `TableWords`
find_cards: Callable[[Spec, ActionFields, int], int] = GIVEN
reason: Callable[[Row, Spec, ActionFields, int, int], int] = GIVEN
required_column: int = GIVEN
table_column: int = GIVEN
open_search: Callable[[Ptr], SearchMemory] = GIVEN
open_network: Callable[[Ptr], NetworkMemory] = GIVEN
read: Callable[[Spec, ActionFields, Any], int] = GIVEN  # of `Features.one_reader`


def search_setup(rules: AnyRules) -> SearchSetup:
    """The search of a variant; it maximises payments where the rules have them.

    Raises:
        WrongGameError: the game cannot be searched.
    """
    return setup_of(rules, "payments" if has_payments(rules) else "")


def new_search_memory(setup: SearchSetup) -> tuple[SearchGame, SearchMemory]:
    """The functions of a search, and its arrays."""
    num_actions = int(setup.line.spec[S.NUM_ACTIONS])
    ids, cards = np.zeros((2, num_actions), np.int64)
    memory = SearchMemory(
        ids,
        cards,
        np.zeros(num_actions),
        np.zeros((0, 0)),
        0,
        Estimates(*np.zeros((4, num_actions))),
        SearchAgent(worlds=1).options,
        new_workspace(setup, max(num_values(MAX_WORLDS, num_actions), 64 * num_actions)),
        setup.memory,
    )
    return setup.game, memory


def new_network_memory(
    rules: AnyRules, row_size: int, config: NetworkConfig
) -> tuple[Callable[..., int], NetworkMemory]:
    """The function that reads a decision, and arrays for a network; the weights are zeros."""
    reader, read = features_by_name(config.game).one_reader(
        rules, row_size, config.prior, config.prior_scale, record=config.record
    )
    tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes_of(config).items()}
    network = Network(config, tensors)
    weights = network.weights
    belief = (
        network.belief_weights
        if config.belief_width
        else inference.BeliefWeights(*(np.zeros((0,) * rank, np.float32) for rank in (3, 1, 3, 1, 3, 1)))
    )
    num_actions = len(reader.inputs.action)
    workspace, belief_workspace = inference.new_workspace(weights), inference.new_workspace(belief, 1)
    for scratch in (*reader.memory[3:], workspace, belief_workspace):
        clear(scratch)
    memory = NetworkMemory(
        reader,
        weights,
        belief,
        workspace,
        belief_workspace,
        np.zeros((1, len(weights.state_bias)), np.float32),
        np.zeros((1, len(belief.cards_bias)), np.float32),
        np.zeros(num_actions, np.float32),
        np.zeros(num_actions, np.float32),
        np.zeros((1, config.num_beliefs)),
    )
    return read, memory


# ---------------------------------------------------------------- the rule-based agents


def rule_agents(game: AnyGame) -> list[RuleAgent]:
    """The rule-based agents of a game, the strongest last."""
    return [
        agent for agent in map(load, RULE_AGENTS) if isinstance(agent, RuleAgent) and agent.plays == game.name
    ]


def choose_by_weights(spec: Spec, actions: ActionFields, row: Row, state: Row, ids: Row, cards: Row) -> int:
    """The choice of an agent whose state is nothing but weights."""
    return choose(spec, actions, row, constants, ids, cards)


def choose_prepared(spec: Spec, actions: ActionFields, row: Row, state: Row, ids: Row, cards: Row) -> int:
    """The choice of another agent."""
    prepare(state, spec)
    return choose(spec, actions, row, state, ids, cards)


def write_weights(state: Row) -> None:
    """Write the agent's weights to its state."""
    for i in range(num_weights):
        state[first_weight + i] = constants[i]


def rule_entries(game: AnyGame, agent: RuleAgent) -> list[EngineEntry]:
    """The choice of a rule-based agent; its weights are constants of the compiled code."""
    state, parts = agent.state, dict[str, object](choose=agent._choose, prepare=agent._prepare)
    if state.dtype != np.int64:
        return agent_entries(game, agent.name, specialise(choose_by_weights, **parts, constants=state))
    (used,) = np.nonzero(state)
    first, weights = int(used.min(initial=0)), state[used.min(initial=0) : used.max(initial=-1) + 1]
    parts |= {"constants": weights.astype(np.int32), "first_weight": first, "num_weights": len(weights)}
    choice, write = specialise((choose_prepared, write_weights), **parts)
    return agent_entries(game, agent.name, choice, len(state), write if len(weights) else None)


# ---------------------------------------------------------------- the cards that a person chooses


def find_action(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, cards_at: Ptr) -> int:
    """The legal action that these cards of the hand to act are; -1 for none."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    cards = view(cards_at, 1)[0]
    if row[columns.turn] < 0 or cards & ~row[columns.hand + row[columns.turn]] != 0:
        return -1
    action = find_cards(spec, actions, cards)
    if action < 0 or is_refused_with(row, spec, actions, action, cards):
        return -1
    return int(action)


def try_actions(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, cards_at: Ptr) -> int:
    """The same in a game that cannot find the action of cards."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    for i in range(legal.num_legal(row, spec)):
        action = legal.nth_legal(row, spec, i)
        if not is_refused_with(row, spec, actions, action, view(cards_at, 1)[0]):
            return int(action)
    return -1


def extensions(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, selected_at: Ptr, ids_at: Ptr, cards_at: Ptr
) -> int:
    """Write the legal actions that contain the selected cards and more; returns their number."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    size = spec[S.NUM_ACTIONS]
    ids, cards, selected = view(ids_at, size), view(cards_at, size), view(selected_at, 1)[0]
    kept = 0
    for i in range(legal.list_legal(row, spec, actions, ids, cards, 0)):
        if can_extend(actions, ids[i], cards[i], selected):
            ids[kept], cards[kept] = ids[i], cards[i]
            kept += 1
    return kept


def refusal(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, action: int, numbers_at: Ptr) -> int:
    """The number of the reason why cards are refused (`TableWords.reasons`), and what its sentence names.

    `numbers_at` points to the cards; `action` is -1 for the action that they are. The action, the cards
    of them that are not in the hand, and `TableWords.reason_columns` of the row are written there.
    """
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    numbers = view(numbers_at, 4)
    cards, chosen = numbers[0], int(action)
    if chosen < 0:
        chosen = find_cards(spec, actions, cards)
    numbers[0] = chosen
    numbers[1] = cards & ~row[columns.hand + row[columns.turn]] if row[columns.turn] >= 0 else 0
    numbers[2], numbers[3] = row[required_column], row[table_column]
    return int(reason(row, spec, actions, chosen, cards))


def card_entries(game: AnyGame) -> list[EngineEntry]:
    """``find_action`` and ``extensions``, for a game whose actions stand for several sets of cards."""
    if not game.has_card_choice:
        return []
    words = table_words_of(next(iter(game.presets.values())))
    entries = [
        EngineEntry("find_action", try_actions if words.find_action is None else find_action, (*TABLE, INTS)),
        EngineEntry("extensions", extensions, (*TABLE, INTS, INTS, INTS)),
    ]
    if words.reason is not None:
        entries.append(EngineEntry("refusal", refusal, (*TABLE, INT, INTS)))
    required, on_table = words.reason_columns
    given = {**parts_of_tables(game), "can_extend": words.can_extend, "find_cards": words.find_action}
    given |= {"reason": words.reason, "required_column": required, "table_column": on_table}
    return list(specialise(tuple(entries), **given))


# ---------------------------------------------------------------- the search


def search(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, events_at: Ptr, num_events: int, prior_at: Ptr,
    weights_at: Ptr, memory_at: Ptr,
) -> int:  # fmt: skip
    """The action of a search.

    `prior_at` points to log-probabilities if the options say `has_prior`, and `weights_at` to card
    weights if the memory has `num_opponents`.
    """
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    memory, events = open_search(memory_at), view(events_at, num_events)
    ids, log_prior = memory.ids, memory.log_prior
    card_weights = memory.no_weights
    if memory.num_opponents > 0:
        card_weights = grid(weights_at, (memory.num_opponents, NUM_CARDS))
    num = legal.list_legal(row, spec, actions, ids, memory.cards, 0)
    if num <= 1:
        return int(ids[0]) if num else -1
    default = -1
    if memory.options.has_prior:
        decision = Decision(row, events, ids[:num], memory.cards[:num], log_prior[:num], card_weights, -1)
        _, solved = resolve(decision, memory.workspace, memory.game)
        if solved >= 0:
            return int(ids[solved])
        prior = view(prior_at, num)
        default = 0
        for i in range(num):
            log_prior[i] = prior[i]
            if prior[i] > prior[default]:
                default = i
    decision = Decision(row, events, ids[:num], memory.cards[:num], log_prior[:num], card_weights, default)
    return int(ids[search_worlds(decision, memory.options, memory.workspace, memory.game)])


def evaluate(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, events_at: Ptr, num_events: int, memory_at: Ptr
) -> int:
    """Write the estimates of the legal actions, which are written too; returns the number of worlds."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    memory, events = open_search(memory_at), view(events_at, num_events)
    ids = memory.ids
    num = legal.list_legal(row, spec, actions, ids, memory.cards, 0)
    if num == 0:
        return 0
    cards, log_prior = memory.cards[:num], memory.log_prior[:num]
    decision = Decision(row, events, ids[:num], cards, log_prior, memory.no_weights, -1)
    return int(evaluate_all(decision, memory.options, memory.workspace, memory.game, memory.estimates))


def search_entries(game: AnyGame, functions: SearchGame, template: SearchMemory) -> list[EngineEntry]:
    """``search`` and ``evaluate``."""
    entries = (
        EngineEntry("search", search, (*TABLE, INTS, INT, FLOATS, DOUBLES, INTS)),
        EngineEntry("evaluate", evaluate, (*TABLE, INTS, INT, INTS)),
    )
    given = {**parts_of_tables(game), "search_game": functions, "rollout_game": functions.rollout}
    return list(specialise(entries, **given, open_search=opener(template)))


# ---------------------------------------------------------------- the networks


def network(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, memory_at: Ptr) -> int:
    """Write log-probabilities and card weights; returns the most probable action, the first of equals."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    memory = open_network(memory_at)
    for column in range(spec[S.ROW_SIZE]):
        memory.reader.row[0, column] = row[column]
    num = read(spec, actions, memory.reader)
    inputs = memory.reader.inputs
    logits = memory.logits[:num]
    _forward(
        inputs.observation, inputs.segment_start, inputs.action_features[:num], inputs.prior[:num],
        memory.weights, memory.workspace, memory.states, logits,
    )  # fmt: skip
    _log_probabilities(logits, inputs.segment_start, memory.log_prior[:num])
    if memory.card_weights.shape[1] > 0:
        workspace, outputs = memory.belief_workspace, memory.outputs
        _believe(inputs.observation, memory.belief, workspace, outputs, memory.card_weights)
    best = 0
    for i in range(num):
        if logits[i] > logits[best]:
            best = i
    return int(inputs.action[best])


def write_tiles(
    weight_at: Ptr, num_outputs: int, num_inputs: int, tiles_at: Ptr, num_tiles: int, num_rows: int
) -> int:
    """`tienlen_agents.networks.inference.write_tiles`."""
    _tile(grid(weight_at, (num_outputs, num_inputs)), grid(tiles_at, (num_tiles, num_rows, TILE)))
    return 0


def pick_columns_(
    weights_at: Ptr, num_outputs: int, num_inputs: int, index_at: Ptr, num_columns: int, out_at: Ptr
) -> int:
    """`tienlen_agents.networks.features.general.pick_columns`."""
    out = grid(out_at, (num_outputs, num_columns))
    _pick(grid(weights_at, (num_outputs, num_inputs)), view(index_at, num_columns), out)
    return 0


def add_rule_inputs_(
    weights_at: Ptr, num_outputs: int, num_inputs: int, inputs_at: Ptr, num_rules: int, bias_at: Ptr
) -> int:
    """`tienlen_agents.networks.features.general.add_rule_inputs`."""
    inputs, bias = view(inputs_at, num_rules), view(bias_at, num_outputs)
    _add(grid(weights_at, (num_outputs, num_inputs)), inputs, bias)
    return 0


def widen(halves_at: Ptr, words_at: Ptr, count: int) -> int:
    """Write float16 as float32, as their bits."""
    halves, words = view(halves_at, count), view(words_at, count)
    for i in range(count):
        words[i] = widened(int(halves[i]))
    return 0


def widened(half: int) -> int:
    """The bits of the float32 that is equal to a float16, given as its bits."""
    sign, exponent, fraction = (half & 0x8000) << 16, half >> 10 & 31, half & 1023
    if exponent == 31:
        return sign | 255 << 23 | fraction << 13
    if exponent == 0:
        if fraction == 0:
            return sign
        exponent = 1
        while fraction & 1024 == 0:  # float32 has these small numbers as normal ones
            fraction <<= 1
            exponent -= 1
    return sign | (exponent + 112) << 23 | (fraction & 1023) << 13


def network_entries(game: AnyGame, read: Callable[..., int], template: NetworkMemory) -> list[EngineEntry]:
    """``network``, and what reads the weights of a file."""
    entries = (
        EngineEntry("network", network, (INTS, INTS, INTS, INTS)),
        EngineEntry("write_tiles", write_tiles, (FLOATS, INT, INT, FLOATS, INT, INT)),
        EngineEntry("pick_columns", pick_columns_, (FLOATS, INT, INT, INTS, INT, FLOATS)),
        EngineEntry("add_rule_inputs", add_rule_inputs_, (FLOATS, INT, INT, BYTES, INT, FLOATS)),
        EngineEntry("widen", widen, (HALVES, WORDS, INT)),
    )
    given = {**parts_of_tables(game), "read": read, "open_network": opener(template)}
    return list(specialise(entries, **given))


def entries_of(game: AnyGame) -> list[EngineEntry]:
    """The entries of all agents that play a game."""
    rules = next(iter(game.presets.values()))
    entries = [entry for agent in rule_agents(game) for entry in rule_entries(game, agent)]
    entries += card_entries(game)
    with suppress(WrongGameError):  # a game without hidden cards to sample is not searched
        entries += search_entries(game, *new_search_memory(search_setup(rules)))
    row_size = int(game.build_spec(rules)[0][S.ROW_SIZE])
    config = NetworkConfig.of(rules, state_width=TILE, action_width=2 * TILE)
    return entries + network_entries(game, *new_network_memory(rules, row_size, config))
