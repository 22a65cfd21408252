"""Both games for JAX: pure functions with the names and shapes of Pgx, for ``jit``, ``vmap`` and ``scan``.

>>> import jax
>>> from tienlen_bridges.jax import Env
>>> env = Env("cardgames", reward="zero_sum", auto_reset=True)
>>> state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 1024))
>>> state = jax.jit(jax.vmap(env.step))(state, state.legal_action_mask.argmax(1))

A step is one call of the compiled engine for the whole batch, through XLA's foreign function interface; with
``jit`` and ``scan`` the states are changed in place. Where there is no machine code that was compiled ahead
of time, or XLA has another interface, the call goes through Python (`jax.pure_callback`): `WAY` says which.
The functions run on the CPU and need no 64-bit numbers; they cannot be differentiated.

What differs, or may surprise:

- A deal is that of `Batch.deal` with the last two words of the key, the first of them the lower half.
- A player is a seat.
- An illegal action ends the game: the seat gets one less than the worst reward, the others 0.
- In a game that is over every action is "legal" and changes nothing; rewards are 0, the observation is empty,
  and the player is 0.
- ``auto_reset=True`` is Pgx's ``auto_reset``: a game that ends is dealt anew in the same step, `terminated`
  and `rewards` are those of the end. It needs no key, since the next deal follows from the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from tienlen_bridges.states import state_loops
from tienlen_env.engine.backends import native
from tienlen_env.engine.backends.sources import key_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.variant import Settings, Variant
from tienlen_env.extras import require
from tienlen_env.games.common.arrays import AnyArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import get_rules
from tienlen_env.single.painter import Painter

require("jax", "jax", "tienlen_bridges.jax")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

_TARGET: Final = "tienlen_env"
Array = Any  # jax.Array, or a number while JAX traces


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """A game, or after `jax.vmap` a batch of games, with the batch's axis first.

    Attributes:
        current_player: int32 (), the seat to act.
        observation: uint8 (O,), what it sees: `Env.layout`.
        rewards: float32 (P,), of the last step.
        terminated: bool (), whether the game ended in the last step, or is over.
        truncated: bool (), False.
        legal_action_mask: bool (A,).
    """

    current_player: Array
    observation: Array
    rewards: Array
    terminated: Array
    truncated: Array
    legal_action_mask: Array
    _step_count: Array
    _rows: Array  # uint32 (2 * ROW,): the row of `Batch`, each word as two halves, the lower first
    _variant: Variant = field(metadata={"static": True})

    @property
    def env_id(self) -> str:
        """The name of the rules."""
        return self._variant.rules.name

    def replace(self, **changes: Any) -> Self:
        """A state with other values."""
        return replace(self, **changes)

    def batch(self) -> Batch:
        """The games in the same positions, for agents and the like (copy; not under ``jit``)."""
        rows = np.array(self._rows).view(np.int64)
        return Batch._of(self._variant, rows.reshape(-1, self._variant.row_size))

    def to_svg(self) -> str:
        """A picture of the (first) game, all hands face up."""
        return str(Painter(self.batch()).render("svg"))

    def save_svg(self, filename: str | Path) -> None:
        """Write that picture."""
        Path(filename).write_text(self.to_svg(), encoding="utf-8")

    _repr_html_ = to_svg


@lru_cache(maxsize=64)
def _variant(rules: AnyRules, settings: Settings) -> Variant:
    """One object for each variant: the states of equal environments have the same type."""
    return Variant(rules, None, settings)


class Env:
    """An environment in the form of ``pgx.Env``.

    Args:
        rules: a preset's name, or the rules of any game.
        num_players: P; None: as in the rules.
        episode: as for `Batch`, like the following.
        reward: ``"points"``, ``"zero_sum"``, ...
        history: number of past plays that the observation shows.
        auto_reset: a game that ends is dealt anew within the step.
        num_rounds: rounds of a game.

    Attributes:
        rules: the rules.
        layout: name to `Piece` of the observation.
        num_players: P.
        num_actions: A.
        observation_shape: (O,).

    Raises:
        MissingExtraError: JAX is not installed (when the module is imported).
        RulesError: unknown rules or an impossible number of players.
        ValueError: any other setting out of range.
    """

    version: Final = "v1"

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        *,
        num_players: int | None = None,
        episode: Episode = "round",
        reward: str = "points",
        history: int = 0,
        auto_reset: bool = False,
        num_rounds: int | None = None,
    ) -> None:
        settings = Settings(episode, reward, history, 0, auto_reset, num_rounds)
        variant = _variant(get_rules(rules, num_players), settings)
        self._variant, self.rules, self.layout = variant, variant.rules, variant.layout
        self.num_players: int = variant.rules.num_players
        self.num_actions: int = variant.action_table.num_actions
        self.observation_shape: tuple[int] = (variant.layout.size,)
        self._penalty = variant.game.text.worst_reward(variant.rules, reward) - 1

    @property
    def id(self) -> str:
        """The name of the rules."""
        return self.rules.name

    def init(self, key: Array) -> State:
        """Deal a game.

        Args:
            key: a key of `jax.random`, of either kind.
        """
        words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
        found = self._call("init", [self._rows, *self._seen], [words[-2:]])
        rows, mask, observation, player = found
        zero = jnp.zeros((), jnp.int32)
        rewards, no = jnp.zeros(self.num_players, jnp.float32), jnp.zeros((), jnp.bool_)
        return State(player, observation, rewards, no, no, mask, zero, rows, self._variant)

    def step(self, state: State, action: Array, key: Array = None) -> State:
        """Play an action.

        Args:
            state: of this environment, or of an equal one.
            action: an integer; an illegal one ends the game.
            key: not needed, for Pgx's callers.
        """
        rewards, over = _shape(jnp.float32, self.num_players), _shape(jnp.bool_)
        given = [state._rows, jnp.asarray(action, jnp.int32), jnp.full((), self._penalty, jnp.float32)]
        found = self._call("step", [self._rows, rewards, over, *self._seen], given, in_place=True)
        rows, earned, terminated, mask, observation, player = found
        count = state._step_count + 1
        return State(
            player, observation, earned, terminated, state.truncated, mask, count, rows, self._variant
        )

    def sample(self, state: State, key: Array) -> Array:
        """A uniform legal action, int32 (), -1 where the game is over; much faster than by the mask."""
        return self.sample_by(state, jax.random.bits(key, (), jnp.uint32))

    def sample_by(self, state: State, bits: Array) -> Array:
        """The same by a random uint32 (): one key may draw those of a whole batch."""
        return self._call("sample", [_shape(jnp.int32)], [state._rows, bits])[0]

    def observe(self, state: State) -> Array:
        """The observation of the seat to act, uint8 (O,)."""
        return state.observation

    @property
    def _rows(self) -> jax.ShapeDtypeStruct:
        return _shape(jnp.uint32, 2 * self._variant.row_size)

    @property
    def _seen(self) -> list[jax.ShapeDtypeStruct]:
        observation = _shape(jnp.uint8, *self.observation_shape)
        return [_shape(jnp.bool_, self.num_actions), observation, _shape(jnp.int32)]

    def _call(
        self, name: str, results: list[jax.ShapeDtypeStruct], arguments: list[Array], in_place: bool = False
    ) -> list[Array]:
        """Run a loop of `state_loops`, whose first argument has one axis for a game.

        Args:
            name: the loop.
            results: shapes and types for one game.
            arguments: of one game.
            in_place: the first argument is the first result.
        """
        spec, actions = self._variant.spec, self._variant.actions
        loop = getattr(state_loops(self._variant.game), name)
        number = _shared(loop) if WAY == "ffi" else None
        if number is not None:
            call = jax.ffi.ffi_call(
                _TARGET,
                results,
                vmap_method="broadcast_all",
                input_output_aliases={0: 0} if in_place else None,
            )
            return list(
                call(*arguments, actions=actions, in_place=np.int64(in_place), loop=number, spec=spec)
            )

        def run(*given: AnyArray) -> list[AnyArray]:
            """The same on the host; the axes of the batch come before those of one game."""
            given = tuple(
                np.require(array, requirements=("C", "A", "W")) for array in given
            )  # JAX's are read-only
            axes = given[0].ndim - 1
            shape = given[0].shape[:axes]
            out = [np.empty((*shape, *result.shape), result.dtype) for result in results]
            if in_place:
                out[0][...], given = given[0], given[1:]
            loop(spec, actions, *(_by_game(array, axes) for array in (*given, *out)))
            return out

        return list(jax.pure_callback(run, results, *arguments, vmap_method="broadcast_all"))


def _shape(dtype: Any, *axes: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(axes, dtype)


def _by_game(array: AnyArray, axes: int) -> AnyArray:
    """An array as a loop has it: one axis for the games; pairs of uint32 as int64, bool as int8."""
    flat = array.reshape(-1, *array.shape[axes:])
    if flat.ndim == 2 and flat.dtype != np.float32 and flat.dtype != np.uint8:
        return flat.view(np.int64 if flat.dtype == np.uint32 else np.int8)
    return flat


# ------------------------------------------------------------ XLA


def _handle() -> str:
    """Give XLA the function through which it calls loops, if its interface is the one that ``calls.c`` knows.

    Returns:
        ``"ffi"``, or why that is not possible.
    """
    found = native.library()
    if found is None:
        return "pure_callback: no machine code was compiled ahead of time"
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text(encoding="utf-8")
    version = re.findall(r"^#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)", header, re.MULTILINE)
    if version[:1] != ["0"]:
        return f"pure_callback: version {'.'.join(version)} of XLA's interface is not known"
    try:
        address = found.calls.share(0, 0)
        jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(address), platform="cpu")
    except Exception as error:  # of XLA, which compares the version
        return f"pure_callback: {error}"
    return "ffi"


WAY: Final = _handle()


@lru_cache(maxsize=64)
def _shared(loop: Any) -> np.int64 | None:
    """The number by which XLA calls a loop; None if there is no machine code for the loop."""
    library = native.library()
    if library is None or not (entries := library.loops.get(key_of(loop.py_func))):
        return None
    ((_, name, _),) = entries
    number = int(name.removeprefix("loop_")[:15], 16)
    library.calls.share(number, native.address_of(library.code, name))
    return np.int64(number)
