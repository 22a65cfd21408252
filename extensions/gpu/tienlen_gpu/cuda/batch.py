"""`Batch` on the device: games, masks, observations and rewards stay there."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, Self, cast

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_distinct_indices, as_integers
from tienlen_env.engine.variant import KernelArrays, Settings, Variant, VariantBatch
from tienlen_env.errors import DeviceError
from tienlen_env.games.common.arrays import DType, IntArray
from tienlen_env.games.common.spec import num_words
from tienlen_env.games.common.state import GameState
from tienlen_gpu.cuda.arrays import (
    DeviceArray,
    check_array,
    check_stream,
    device_array,
    is_on_device,
    require_device,
    to_device,
)
from tienlen_gpu.cuda.kernel import Kernel
from tienlen_gpu.cuda.loops import PLAYING, REFUSED_CARDS, DeviceLoops, device_loops, unpack


class CudaBatch(VariantBatch):
    """B games on the device; what ``Batch(..., backend="cuda")`` gives.

    Methods take and give arrays on the device: a `DeviceArray`, a torch tensor, or whatever else has
    ``__cuda_array_interface__``, of the dtype and shape that `Batch` states. Methods that play and observe
    only queue work, in the order of a stream, and the host does not wait for it. So an illegal action cannot
    raise at once: its game stays as it was, is *frozen* until it is dealt anew, and `check` raises the error.

    All else that a `Batch` does (`list_legal`, `payments`, `step_games`, ...) the batch of `to_host` does.

    Args:
        rules: see `Batch`; all settings are the same.
        num_games: B, at least 1.
        num_players: P; None: as in the rules.
        backend: ``"cuda"``.
        threads: of the batches that `to_host` gives.
        settings: see `Batch`.

    Attributes:
        stream: handle of the stream that is used where a method is given none; it may be set. 0, the legacy
            default stream, is torch's default, too.
        debug: check after every step; it may be set. Slow.
        flags: uint8 (B,) on the device: not 0 for games that are frozen.

    Raises:
        DeviceError: there is no device, no driver, or no compiler for it.
        RulesError: see `Batch`.
        ValueError: see `Batch`.
    """

    stream: int = 0
    debug: bool = False

    def __init__(
        self,
        rules: Any = "cardgames",
        num_games: Any = 1,
        *,
        num_players: Any = None,
        backend: object = "cuda",
        threads: Any = 1,
        **settings: Any,
    ) -> None:
        require_device()
        super().__init__(Variant(rules, num_players, Settings(**settings)), num_games)
        self._threads = threads
        self._bind(self.variant.new_rows(self.num_games))

    def _bind(self, rows: IntArray) -> None:
        """Copy rows to the device, in Fortran order: 32 threads then read 32 neighbouring numbers."""
        num_games = self.num_games = len(rows)
        self.__dict__.pop("state", None)  # of other rows
        self._games = to_device(np.asfortranarray(rows))
        self._tables = to_device(self.variant.spec.copy()), to_device(self.variant.actions.copy())
        self._loops: DeviceLoops = device_loops(
            self.game, rows.shape[1], self.packed_observation_size, self.packed_global_observation_size
        )
        self.flags = to_device(np.full(num_games, PLAYING, np.uint8))
        self._refused = to_device(np.zeros((num_games, 2), np.int64))
        self._rewards = to_device(np.zeros((num_games, self.num_players), np.float32))
        self._dones = to_device(np.zeros(num_games, np.bool_))
        self._nothing: dict[Any, DeviceArray] = {}
        self._packed: dict[int, DeviceArray] = {}

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("_") and hasattr(Batch, name):
            raise AttributeError(f"{name} is not on the device: call it on the batch that to_host() gives")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ------------------------------------------------------------ copies and the host

    def copy(self) -> Self:
        """An independent batch in the same position, on the device."""
        return self._with_rows(self._games.copy_to_host())

    def select(self, games: npt.ArrayLike) -> Self:
        """An independent batch with copies of some games, as `Batch.select`."""
        return self._with_rows(self._host().select(games).state.rows)

    def _with_rows(self, rows: IntArray) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new._bind(rows)
        return new

    def __getstate__(self) -> tuple[int, Variant, IntArray]:
        return self._threads, self.variant, self._games.copy_to_host()

    def __setstate__(self, state: tuple[int, Variant, IntArray]) -> None:
        require_device()
        self._threads, variant, rows = state
        self._adopt(variant, len(rows))
        self._bind(rows)

    def _host(self) -> Any:
        return Batch._of(self.variant, self._games.copy_to_host(), "native", self._threads)

    def to_host(self) -> Any:
        """A `Batch` on the host in the same positions; waits for the device.

        Raises:
            IllegalPlayError: see `check`.
        """
        self.check()
        return self._host()

    def from_host(self, host: Any) -> None:
        """Take the positions of a batch on the host; no game is frozen any more.

        Args:
            host: a `Batch` of the same rules, settings and number of games.

        Raises:
            ValueError: another variant or number of games.
        """
        same = (
            isinstance(host, Batch)
            and host.num_games == self.num_games
            and np.array_equal(host.variant.spec, self.variant.spec)
            and np.array_equal(host.variant.actions, self.variant.actions)
        )
        if not same:
            raise ValueError("host: expected a host's batch of the same rules, settings and number of games")
        self._games.array.copy_to_device(np.asfortranarray(host.state.rows))
        self.flags.array.copy_to_device(np.full(self.num_games, PLAYING, np.uint8))

    def check(self) -> None:
        """Wait for the device, and raise the error of the first game with an illegal action.

        Raises:
            IllegalPlayError: a game is frozen; it has `game`, `seat`, `action` and `clause`.
        """
        flags = self.flags.copy_to_host()
        frozen = np.flatnonzero(flags)
        if frozen.size:
            game = int(frozen[0])
            action, cards = self._refused.copy_to_host()[game].tolist()
            row = self._games.copy_to_host()[game]
            raise self.variant.refusal(row, game, action, cards if flags[game] == REFUSED_CARDS else None)

    @property
    def rows(self) -> DeviceArray:
        """int64 (B, ROW), the states, hidden cards included, in Fortran order; live."""
        return self._games

    @property
    def kernel_arrays(self) -> KernelArrays:
        """Rows, spec and action table on the device, for kernels."""
        return KernelArrays(*cast(Any, (self._games, *self._tables)))

    @cached_property
    def state(self) -> GameState:
        """Named live views of every column, on the device. What is computed from columns is not there."""
        return self.variant.state(cast(Any, self._games))

    # ------------------------------------------------------------ starting

    def deal(
        self,
        keys: npt.ArrayLike,
        *,
        rounds: npt.ArrayLike = 0,
        leader: npt.ArrayLike = -1,
        stream: int | None = None,
    ) -> None:
        """Start every game from its key, as `Batch.deal`; frozen games play again.

        Args:
            keys: int64 (B,), on the device or the host.
            rounds: int64 (B,) or one number, on the host.
            leader: int64 (B,) or one number, on the host.
            stream: handle of the stream; None: the batch's.

        Raises:
            ValueError: arguments of another shape or type, or an invalid seat as leader.
        """
        of_games = (self.num_games,)
        if is_on_device(keys):
            found = check_array(keys, "keys", of_games, np.int64)
        else:
            found = to_device(self._for_games(keys, "keys"))
        self._begin(self._empty(1), found, self._spread(rounds, "rounds"), self._leaders(leader), stream)
        if (reader := self.variant.payments) is not None:
            reader.forget(cast(Any, self._games), self.variant.spec)

    def deal_games(self, games: npt.ArrayLike, keys: npt.ArrayLike, *, stream: int | None = None) -> None:
        """Start some games anew, as `Batch.deal_games`; arrays on the host.

        Raises:
            ValueError: arguments of another shape or type, or games out of range or twice.
        """
        which = as_distinct_indices(games, self.num_games)
        each = as_integers(keys, "keys", len(which))
        if which.size:
            rounds, leaders = np.zeros(len(which), np.int64), np.full(len(which), -1, np.int64)
            self._begin(to_device(which), to_device(each), rounds, leaders, stream)

    def _begin(self, games: Any, keys: Any, rounds: IntArray, leaders: IntArray, stream: int | None) -> None:
        self._loops.begin.launch(
            len(rounds),
            self._games,
            *self._tables,
            games,
            keys,
            to_device(rounds),
            to_device(leaders),
            self.flags,
            stream=self._stream(stream),
        )

    def reset(self, seed: int | np.random.Generator | None = None, *, stream: int | None = None) -> None:
        """Start every game with a deal drawn on the host, as `Batch.reset`."""
        keys = np.random.default_rng(seed).integers(-(2**63), 2**63, self.num_games, np.int64)
        self.deal(keys, stream=stream)

    def set_hands(
        self, hands: npt.ArrayLike, leader: npt.ArrayLike = -1, **extra_hands: npt.ArrayLike
    ) -> None:
        """Start a round in every game from given hands, as `Batch.set_hands`; arrays on the host.

        Raises:
            TienLenError: see `Batch.set_hands`.
            ValueError: see `Batch.set_hands`.
        """
        host = self._host()
        host.set_hands(hands, leader, **extra_hands)
        self.from_host(host)

    # ------------------------------------------------------------ playing

    def step(
        self,
        actions: Any,
        cards: Any = None,
        *,
        rewards: Any = None,
        dones: Any = None,
        mask: Any = None,
        observation: Any = None,
        draws: Any = None,
        next_actions: Any = None,
        stream: int | None = None,
    ) -> tuple[Any, Any]:
        """Queue one action in every game; all arrays are on the device.

        A mask and an observation in packed form are written by the step itself, bytes by a second launch.

        Args:
            actions: int64 (B,), one legal action per game; `NO_ACTION` (-1) for games that are over.
            cards: int64 (B,), see `Batch.step`.
            rewards: float32 (B, P); None: a buffer of the batch's own, which the next step overwrites.
            dones: bool (B,), the same.
            mask: int8 (B, A), or packed int64 (B, ceil(A / 64)).
            observation: uint8 (B, O), or packed int64 (B, ceil(O / 64)).
            draws: float64 (B,), draws in [0, 1) for `next_actions`; they are not checked.
            next_actions: int64 (B,); it may be `actions` itself.
            stream: handle of the stream; None: the batch's.

        Returns:
            ``(rewards, dones)``, on the device. Of games that are frozen: zeros.

        Raises:
            ValueError: an argument of the wrong shape or type, or not on the device.
            IllegalPlayError: with `debug`, see `check`.
        """
        stream = self._stream(stream)
        ids = self._of_games(actions, "actions", np.int64)
        exact = self._empty(1) if cards is None else self._of_games(cards, "cards", np.int64)
        rewards = self._or_own(rewards, "rewards", self._rewards)
        dones = self._or_own(dones, "dones", self._dones)
        words, expand_mask = self._output(mask, "mask", self.num_actions, np.int8)
        observed, expand_observation = self._output(
            observation, "observation", self.observation_size, np.uint8
        )
        if next_actions is None:
            chosen_by, chosen = self._empty(1, np.float64), self._empty(1)
        else:
            if draws is None:
                raise ValueError("draws: expected an array on the device, as next_actions is given")
            chosen_by = self._of_games(draws, "draws", np.float64)
            chosen = self._of_games(next_actions, "next_actions", np.int64)
        self._launch(
            self._loops.step, *self._tables, ids, exact, rewards, dones, words, observed, chosen_by, chosen,
            self.flags, self._refused, stream=stream,
        )  # fmt: skip
        if expand_mask:
            unpack(words, mask, stream=stream)
        if expand_observation:
            unpack(observed, observation, stream=stream)
        if self.debug:
            self.check()
        return rewards, dones

    def sample(
        self,
        rng: np.random.Generator | None = None,
        out: Any = None,
        draws: Any = None,
        *,
        stream: int | None = None,
    ) -> Any:
        """One uniform legal action per game; `NO_ACTION` for games that are over.

        Args:
            rng: draws on the host, which are copied; None: as in `draws`.
            out: int64 (B,) on the device, or None.
            draws: float64 (B,) in [0, 1), on the device, which are not checked; used without `rng`.
            stream: handle of the stream; None: the batch's.

        Returns:
            int64 (B,) action ids, on the device.

        Raises:
            ValueError: neither a generator nor draws, or other arrays.
        """
        if rng is not None:
            source: Any = to_device(rng.random(self.num_games))
        elif draws is not None:
            source = self._of_games(draws, "draws", np.float64)
        else:
            raise ValueError("rng: expected a generator, or draws")
        out = self._buffer(out, (self.num_games,), np.int64)
        self._launch(self._loops.sample, self._tables[0], source, out, stream=stream)
        return out

    # ------------------------------------------------------------ observations

    def packed_mask(self, out: Any = None, *, stream: int | None = None) -> Any:
        """int64 (B, ceil(A / 64)) on the device: `action_mask` in packed form."""
        out = self._rows_of(out, self.num_actions)
        self._launch(self._loops.write_masks, self._tables[0], out, stream=stream)
        return out

    def action_mask(self, out: Any = None, *, stream: int | None = None) -> Any:
        """int8 (B, A) on the device, as `Batch.action_mask`."""
        return self._expanded(out, self.num_actions, np.int8, self.packed_mask, stream)

    def packed_observation(
        self, seats: Any = None, out: Any = None, games: Any = None, *, stream: int | None = None
    ) -> Any:
        """int64 (B, ceil(O / 64)) on the device: `observe` in packed form.

        Args:
            seats: int64 (B,) on the device, or one number; None: the seats to act. -1 gives zeros.
            out: to write to, or None.
            games: None, for all.
            stream: handle of the stream; None: the batch's.

        Raises:
            ValueError: an argument of the wrong shape or type, or a seat out of range.
            DeviceError: some games.
        """
        if games is not None:
            raise DeviceError("observe: all games are observed on the device; to_host() for some")
        if seats is None:
            checked = self.state.turn
        elif is_on_device(seats):
            checked = self._of_games(seats, "seats", np.int64)  # a seat out of range counts as -1
        else:
            checked = cast(Any, to_device(self._seats(np.broadcast_to(np.asarray(seats), (self.num_games,)))))
        out = self._rows_of(out, self.observation_size)
        self._launch(self._loops.observe_seats, *self._tables, checked, out, stream=stream)
        return out

    def observe(
        self, seats: Any = None, out: Any = None, games: Any = None, *, stream: int | None = None
    ) -> Any:
        """uint8 (B, O) on the device, as `Batch.observe`; see `packed_observation` for the arguments."""

        def packed(words: Any = None, *, stream: int | None = None) -> Any:
            return self.packed_observation(seats, words, games, stream=stream)

        return self._expanded(out, self.observation_size, np.uint8, packed, stream)

    def packed_global_observation(self, out: Any = None, *, stream: int | None = None) -> Any:
        """int64 (B, ceil(G / 64)) on the device: `global_observation` in packed form."""
        out = self._rows_of(out, self.global_observation_size)
        self._launch(self._loops.observe_all, *self._tables, out, stream=stream)
        return out

    def global_observation(self, out: Any = None, *, stream: int | None = None) -> Any:
        """uint8 (B, G) on the device, as `Batch.global_observation`."""
        return self._expanded(
            out, self.global_observation_size, np.uint8, self.packed_global_observation, stream
        )

    def count_legal(self, out: Any = None, *, stream: int | None = None) -> Any:
        """int64 (B,) on the device: number of legal actions."""
        out = self._buffer(out, (self.num_games,), np.int64)
        self._launch(self._loops.count_legal, self._tables[0], out, stream=stream)
        return out

    def action_to_cards(self, actions: Any, out: Any = None, *, stream: int | None = None) -> Any:
        """int64 (B,) on the device: the card masks that legal actions would play; 0 where there is none."""
        ids = self._of_games(actions, "actions", np.int64)
        out = self._buffer(out, (self.num_games,), np.int64)
        self._launch(self._loops.action_cards, *self._tables, ids, out, stream=stream)
        return out

    @property
    def scores(self) -> IntArray:
        """int64 (B, P) on the host: points so far; waits for the device."""
        return cast(DeviceArray, self.state.scores).copy_to_host()

    def with_history_length(self, history_length: int) -> Self:
        """This batch if it stores enough plays.

        Raises:
            DeviceError: it stores fewer.
        """
        if history_length <= self.variant.settings.history_length:
            return self
        raise DeviceError("a batch on the device stores as many plays as it was made for")

    # ------------------------------------------------------------ arguments

    def _stream(self, stream: int | None) -> int:
        return check_stream(self.stream if stream is None else stream)

    def _launch(self, loop: Kernel, *arguments: Any, stream: int | None) -> None:
        """Queue a loop over the rows of all games."""
        loop.launch(self.num_games, self._games, *arguments, stream=self._stream(stream))

    def _empty(self, ndim: int, dtype: DType = np.int64) -> DeviceArray:
        """An array that means "not wanted"."""
        key = ndim, np.dtype(dtype)
        if key not in self._nothing:
            self._nothing[key] = to_device(np.zeros((0,) * ndim, dtype))
        return self._nothing[key]

    def _of_games(self, array: Any, name: str, dtype: DType) -> Any:
        return check_array(array, name, (self.num_games,), dtype)

    def _or_own(self, given: Any, name: str, own: DeviceArray) -> Any:
        """A checked buffer, or the batch's own."""
        if given is None:
            return own
        check_array(given, name, own.shape, own.dtype)
        return given

    def _buffer(self, out: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        """A checked buffer, or a new one."""
        if out is None:
            return device_array(shape, dtype)
        check_array(out, "out", shape, dtype)
        return out

    def _rows_of(self, out: Any, size: int) -> Any:
        """A checked or new buffer for items in packed form."""
        return self._buffer(out, (self.num_games, num_words(size)), np.int64)

    def _scratch_words(self, size: int) -> DeviceArray:
        """A buffer for packed items that are expanded at once; the same in every step."""
        if size not in self._packed:
            self._packed[size] = self._rows_of(None, size)
        return self._packed[size]

    def _output(self, buffer: Any, name: str, size: int, dtype: DType) -> tuple[Any, bool]:
        """Where a step writes packed items, and whether they are to be expanded to the buffer."""
        if buffer is None:
            return self._empty(2), False
        if getattr(buffer, "dtype", None) is not None and str(buffer.dtype).endswith("int64"):
            check_array(buffer, name, (self.num_games, num_words(size)), np.int64)
            return buffer, False
        check_array(buffer, name, (self.num_games, size), dtype)
        return self._scratch_words(size), True

    def _expanded(self, out: Any, size: int, dtype: DType, write: Any, stream: int | None) -> Any:
        """Items as bytes, from the packed form that `write` gives."""
        out = self._buffer(out, (self.num_games, size), dtype)
        unpack(write(self._scratch_words(size), stream=stream), out, stream=self._stream(stream))
        return out
