"""The functions that a module of WebAssembly exports, for any game: the loops of backends for one row each.

An entry takes pointers into the module's memory. All are plain Python functions that call the game's kernels;
`tienlen_table.engine.compile` compiles them.

=====================  =============================================================================
argument               what it points to
=====================  =============================================================================
spec, actions          int64, the variant (`tienlen_env.games.common.spec.KernelTables`)
row                    int64 (ROW,), one game
rewards                float32 (P,)
mask                   int8 (A,)
out                    uint8 (O,) for observations
number, key, cards     int64 (1,): numbers of 64 bits pass through memory, for JavaScript has no such number
=====================  =============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from numba import types
from numba.core import cgutils
from numba.core.types import Type
from numba.extending import intrinsic

from tienlen_env.engine.backends.per_game import (
    REFUSED,
    begin as begin_game,
    columns,
    is_refused_with,
    kernels,
    legal,
    parts_of,
    play_alone,
)
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import ActionFields, IntArray, Output, Rewards, Row, Spec
from tienlen_env.games.common.bits import KEY_STEP, shift_right
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.specialise import GIVEN, specialise
from tienlen_table.engine.memory import array_at

INTS: Final = types.CPointer(types.int64)
BYTES: Final = types.CPointer(types.uint8)
MASK: Final = types.CPointer(types.int8)
FLOATS: Final = types.CPointer(types.float32)
DOUBLES: Final = types.CPointer(types.float64)
HALVES: Final = types.CPointer(types.uint16)
WORDS: Final = types.CPointer(types.uint32)
INT: Final = types.int32
DOUBLE: Final = types.float64
TABLE: Final = (INTS, INTS, INTS)  # spec, actions, row

_DRAW: Final = 1 / (1 << 53)
_MIX_1, _MIX_2 = 0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64)
_PRIME: Final = 0x100000001B3
# Length of arrays that is not known here; compiled code needs it for negative indices only.
ANY_LENGTH: Final = 1 << 24

ActionChoice: TypeAlias = Callable[[Spec, ActionFields, Row, Row, Row, Row], int]

spec_size: int = GIVEN
fields: int = GIVEN  # numbers of an action in the action table, at least 1
choose_action: ActionChoice = GIVEN
state_size: int = GIVEN
begin_given: Callable[[Row, Spec, Row, int], int] = GIVEN
num_given: int = GIVEN  # room for sets of cards besides the hands
resample: Callable[[Row, Spec, int, int], None] = GIVEN


class Ptr:
    """An address in the module's memory, for the type checker; `view` and `grid` make arrays of it."""


class EngineEntry(NamedTuple):
    """An exported function.

    Attributes:
        name: in the module.
        function: of pointers and numbers, returns an int32.
        arguments: their types.
    """

    name: str
    function: Callable[..., int]
    arguments: tuple[Type, ...]


@intrinsic
def view(typingctx: Any, pointer: Any, length: Any) -> Any:
    """The array of `length` numbers at a pointer; compiled code only, nothing is counted."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return array_at(context, builder, signature.return_type, args[0], [args[1]])

    return types.Array(pointer.dtype, 1, "C")(pointer, types.int64), codegen


@intrinsic
def grid(typingctx: Any, pointer: Any, shape: Any) -> Any:
    """The array of a shape, a tuple, at a pointer; as `view`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lengths = [
            context.cast(builder, length, kind, types.int64)
            for length, kind in zip(cgutils.unpack_tuple(builder, args[1]), shape.types, strict=True)
        ]
        return array_at(context, builder, signature.return_type, args[0], lengths)

    return types.Array(pointer.dtype, len(shape), "C")(pointer, shape), codegen


def uniform(key: int, step: int) -> float:
    """A draw in [0, 1) that is a pure function of a key and a number (splitmix64); compiled code only."""
    x = key + (step + 1) * KEY_STEP
    x = (x ^ shift_right(x, 30)) * _MIX_1
    x = (x ^ shift_right(x, 27)) * _MIX_2
    return shift_right(x ^ shift_right(x, 31), 11) * _DRAW


@noinline
def digest(value: int, words: Row, num_words: int) -> int:
    """A 64-bit digest of words and of what was digested before; compiled code only."""
    for i in range(num_words):
        value = (value ^ words[i]) * _PRIME
        value ^= shift_right(value, 29)
    return value


def parts_of_tables(game: AnyGame) -> dict[str, object]:
    """What `specialise` gives to entries: `parts_of` a game, and the sizes of its tables."""
    tables = [game.build_spec(rules) for rules in game.presets.values()]
    per_action = (len(table.actions) // int(table.spec[S.NUM_ACTIONS]) for table in tables)
    return {**parts_of(game), "spec_size": len(tables[0].spec), "fields": max(1, *per_action)}


def table_at(spec_at: Ptr, actions_at: Ptr, row_at: Ptr) -> tuple[Spec, ActionFields, IntArray]:
    """The arrays of a game."""
    spec = view(spec_at, spec_size)
    return spec, view(actions_at, fields * spec[S.NUM_ACTIONS]), view(row_at, spec[S.ROW_SIZE])


# ---------------------------------------------------------------- the entries of an agent


def write_state(state: Row) -> None:
    """The initial state of an agent without any: zeros."""


def agent_size() -> int:
    """The length of the state."""
    return state_size


def agent_start(state_at: Ptr) -> int:
    """Write the agent's initial state to memory that is 0."""
    write_state(view(state_at, state_size))
    return 0


def agent_choice(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, state_at: Ptr, ids_at: Ptr, cards_at: Ptr
) -> int:
    """The agent's action, -1 if the game is over."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    if row[columns.turn] < 0:
        return -1
    size = spec[S.NUM_ACTIONS]
    state, ids, cards = view(state_at, state_size), view(ids_at, size), view(cards_at, size)
    return int(choose_action(spec, actions, row, state, ids, cards))


def agent_entries(
    game: AnyGame,
    name: str,
    choose: ActionChoice,
    state_size: int = 0,
    initial: Callable[[Row], None] | None = None,
) -> list[EngineEntry]:
    """The entries of an agent: its choice, ``NAME``, and ``NAME_size`` and ``NAME_start`` of its state.

    Args:
        game: the game that it plays.
        name: of the agent.
        choose: ``(spec, actions, row, state, ids, cards)``: its choice in a game that is not over; `ids` and
            `cards` are scratch, int64 (A,).
        state_size: length of its state, int64.
        initial: writes its initial state; None: zeros.
    """
    entries = (
        EngineEntry(f"{name}_size", agent_size, ()),
        EngineEntry(f"{name}_start", agent_start, (INTS,)),
        EngineEntry(name, agent_choice, (*TABLE, INTS, INTS, INTS)),
    )
    given = {**parts_of_tables(game), "choose_action": choose, "state_size": state_size}
    return list(specialise(entries, **given, write_state=initial or write_state))


# ---------------------------------------------------------------- the entries of a game


# What several entries share is called, not inlined, so that the module has it once.
@noinline
def _deal(row: Row, spec: Spec, actions: ActionFields, key: int, game_round: int, leader: int) -> None:
    begin_game(row, spec, actions, key, game_round, leader)


@noinline
def _advance(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> int:
    return play_alone(row, spec, actions, action, cards, rewards)


@noinline
def _look(row: Row, spec: Spec, actions: ActionFields, mask: Output, out: Output) -> None:
    legal.write_mask(row, spec, mask, 0)
    kernels.observe(row, spec, actions, row[columns.turn], out, 0)


@noinline
def _look_digest(value: int, row: Row, spec: Spec, words: Row, num_words: int) -> int:
    return digest(digest(value, row, spec[S.ROW_SIZE]), words, num_words)


def begin(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, number: Ptr) -> int:
    """Start a game; `number` points to its key, round and leader (-1: as the rules say)."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    numbers = view(number, 3)
    _deal(row, spec, actions, numbers[0], numbers[1], numbers[2])
    return int(row[columns.turn])


def begin_round(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, leader: int) -> int:
    """Start a round from the hands in the row."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    kernels.begin_round(row, spec, int(leader))
    kernels.update_legal(row, spec, actions)
    return int(row[columns.turn])


def play(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, action: int, rewards_at: Ptr) -> int:
    """Play an action; returns what `play_one` of `backends.python.loops_of` does."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    action = int(action)
    if row[columns.turn] < 0 or not legal.is_legal(row, spec, action):
        return REFUSED
    cards = kernels.action_cards(row[columns.hand + row[columns.turn]], actions, action)
    return _advance(row, spec, actions, action, cards, view(rewards_at, spec[S.NUM_PLAYERS]))


def play_cards(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, action: int, cards_at: Ptr, rewards_at: Ptr
) -> int:
    """`play` with exact cards; refused if the action cannot be played with them."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    action = int(action)
    cards = view(cards_at, 1)[0]
    if row[columns.turn] < 0 or is_refused_with(row, spec, actions, action, cards):
        return REFUSED
    return _advance(row, spec, actions, action, cards, view(rewards_at, spec[S.NUM_PLAYERS]))


def step(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, action: int, rewards_at: Ptr, mask_at: Ptr, out_at: Ptr
) -> int:
    """`play`, then write the next mask and the next player's observation."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    action = int(action)
    if row[columns.turn] < 0 or not legal.is_legal(row, spec, action):
        return REFUSED
    cards = kernels.action_cards(row[columns.hand + row[columns.turn]], actions, action)
    code = _advance(row, spec, actions, action, cards, view(rewards_at, spec[S.NUM_PLAYERS]))
    _look(row, spec, actions, view(mask_at, ANY_LENGTH), view(out_at, ANY_LENGTH))
    return code


def write_mask(spec_at: Ptr, row_at: Ptr, mask_at: Ptr) -> int:
    """Write the legal-action mask."""
    spec = view(spec_at, spec_size)
    legal.write_mask(view(row_at, spec[S.ROW_SIZE]), spec, view(mask_at, ANY_LENGTH), 0)
    return 0


def observe(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, seat: int, out_at: Ptr) -> int:
    """Write the observation of a seat, zeros for -1."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    kernels.observe(row, spec, actions, int(seat), view(out_at, ANY_LENGTH), 0)
    return 0


def observe_all(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, out_at: Ptr) -> int:
    """Write the global observation."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    kernels.observe_all(row, spec, actions, view(out_at, ANY_LENGTH), 0)
    return 0


def count_legal(spec_at: Ptr, row_at: Ptr) -> int:
    """Count the legal actions."""
    spec = view(spec_at, spec_size)
    return int(legal.num_legal(view(row_at, spec[S.ROW_SIZE]), spec))


def nth_legal(spec_at: Ptr, row_at: Ptr, n: int) -> int:
    """The n-th legal action from 0, -1 if there are fewer."""
    spec = view(spec_at, spec_size)
    return int(legal.nth_legal(view(row_at, spec[S.ROW_SIZE]), spec, int(n)))


def choose_legal(spec_at: Ptr, row_at: Ptr, draw: float) -> int:
    """A uniform legal action by a draw in [0, 1), -1 if there is none."""
    spec = view(spec_at, spec_size)
    return int(legal.choose_legal(view(row_at, spec[S.ROW_SIZE]), spec, draw))


def list_legal(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, ids_at: Ptr, cards_at: Ptr) -> int:
    """Write the legal actions and the cards of each, int64 (A,) both; returns their number."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    size = spec[S.NUM_ACTIONS]
    return int(legal.list_legal(row, spec, actions, view(ids_at, size), view(cards_at, size), 0))


def action_cards(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, action: int, cards_at: Ptr) -> int:
    """Write the cards that an action would play, as a mask."""
    _, actions, row = table_at(spec_at, actions_at, row_at)
    view(cards_at, 1)[0] = kernels.action_cards(row[columns.hand + row[columns.turn]], actions, int(action))
    return 0


def play_rounds(
    spec_at: Ptr, actions_at: Ptr, row_at: Ptr, keys_at: Ptr, num_games: int, digests_at: Ptr,
    rewards_at: Ptr, mask_at: Ptr, out_at: Ptr, words_at: Ptr, num_words: int,
) -> int:  # fmt: skip
    """Deal and play `num_games` games at random, with mask and observation at every decision.

    The game of key k takes in its n-th decision the legal action of the draw ``uniform(k, n)``. Digests
    are of the row, and of the `num_words` words at `words_at`, where the caller has put the other arrays,
    at every decision and at the end; with `num_words` 0 none are made. Returns the number of decisions.
    """
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    rewards, mask, out = view(rewards_at, ANY_LENGTH), view(mask_at, ANY_LENGTH), view(out_at, ANY_LENGTH)
    keys, digests = view(keys_at, num_games), view(digests_at, num_games)
    words = view(words_at, ANY_LENGTH)
    num_decisions = 0
    for i in range(num_games):
        key = keys[i]
        for k in range(spec[S.ROW_SIZE]):
            row[k] = 0
        for seat in range(spec[S.NUM_PLAYERS]):
            rewards[seat] = 0
        _deal(row, spec, actions, key, 0, -1)
        _look(row, spec, actions, mask, out)
        found = key
        n = 0
        while row[columns.turn] >= 0:
            if num_words > 0:
                found = _look_digest(found, row, spec, words, num_words)
            action = legal.choose_legal(row, spec, uniform(key, n))
            cards = kernels.action_cards(row[columns.hand + row[columns.turn]], actions, action)
            _advance(row, spec, actions, action, cards, rewards)
            _look(row, spec, actions, mask, out)
            n += 1
        if num_words > 0:
            digests[i] = _look_digest(found, row, spec, words, num_words)
        num_decisions += n
    return int(num_decisions)


def begin_hands(spec_at: Ptr, actions_at: Ptr, row_at: Ptr, hands_at: Ptr, leader: int) -> int:
    """Start a round of given hands in a row of zeros; 0, or the number of `Game.hand_faults`."""
    spec, actions, row = table_at(spec_at, actions_at, row_at)
    fault = begin_given(row, spec, view(hands_at, spec[S.NUM_PLAYERS] + num_given), int(leader))
    if fault == 0:
        kernels.update_legal(row, spec, actions)
    return int(fault)


def resample_hidden(spec_at: Ptr, row_at: Ptr, seat: int, key_at: Ptr) -> int:
    """Replace the cards that a seat cannot see by a uniform sample, drawn from a key."""
    spec = view(spec_at, spec_size)
    resample(view(row_at, spec[S.ROW_SIZE]), spec, int(seat), view(key_at, 1)[0])
    return 0


ENTRIES: Final = (
    EngineEntry("begin", begin, (*TABLE, INTS)),
    EngineEntry("begin_round", begin_round, (*TABLE, INT)),
    EngineEntry("play", play, (*TABLE, INT, FLOATS)),
    EngineEntry("play_cards", play_cards, (*TABLE, INT, INTS, FLOATS)),
    EngineEntry("step", step, (*TABLE, INT, FLOATS, MASK, BYTES)),
    EngineEntry("write_mask", write_mask, (INTS, INTS, MASK)),
    EngineEntry("observe", observe, (*TABLE, INT, BYTES)),
    EngineEntry("observe_all", observe_all, (*TABLE, BYTES)),
    EngineEntry("count_legal", count_legal, (INTS, INTS)),
    EngineEntry("nth_legal", nth_legal, (INTS, INTS, INT)),
    EngineEntry("choose_legal", choose_legal, (INTS, INTS, DOUBLE)),
    EngineEntry("list_legal", list_legal, (*TABLE, INTS, INTS)),
    EngineEntry("action_cards", action_cards, (*TABLE, INT, INTS)),
    EngineEntry("play_rounds", play_rounds, (*TABLE, INTS, INT, INTS, FLOATS, MASK, BYTES, INTS, INT)),
)
BEGIN_HANDS: Final = EngineEntry("begin_hands", begin_hands, (*TABLE, INTS, INT))
RESAMPLE_HIDDEN: Final = EngineEntry("resample_hidden", resample_hidden, (INTS, INTS, INT, INTS))


def entries_of(game: AnyGame) -> list[EngineEntry]:
    """The entries of a game's module."""
    begin_given, resample = game.begin_hands, game.kernels.resample_hidden
    entries = ENTRIES if begin_given is None else (*ENTRIES, BEGIN_HANDS)
    entries = entries if resample is None else (*entries, RESAMPLE_HIDDEN)
    given = {**parts_of_tables(game), "begin_given": begin_given, "resample": resample}
    # `begin_hands` of a game writes the cards and the number of a fault.
    return list(specialise(entries, **given, num_given=max(2, len(game.extra_hands))))
