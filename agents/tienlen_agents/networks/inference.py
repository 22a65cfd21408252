"""The forward pass through a policy network as compiled loops over arrays.

Most inputs are zero (eight of nine numbers of an observation, four of five action features), and so are the
outputs of the ReLUs (in the shipped networks nine of ten in the trunk, a half to two thirds after it). So a
layer is not a matrix product: for each row the loops list the nonzero inputs, and add up their rows of the
weights, `TILE` columns at a time. The shipped networks take about half of torch's time, and a
fifth of it for one decision; a network whose ReLUs are never
zero takes up to a fifth more than torch.

Each row is computed by itself and by the same sequence of operations: a decision gets the same bits alone and
in a batch. A column's sum goes over the inputs in ascending order, only columns are computed in parallel, and
no multiplication and addition are one step (FMA: it is no faster here, since the loops wait for the weights);
so every processor gives the same bits, and so does WebAssembly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.backends import jit
from tienlen_env.games.common import floats
from tienlen_env.games.common.arrays import AnyArray, ByteArray, Float32Array, FloatArray, IntArray

TILE: Final = 64  # columns that are added up at a time; layers are filled up to a multiple with zeros
ROWS: Final = 32  # rows that use a tile of the weights one after another, while it is in the cache
STEP: Final = 4  # inputs at a time; lists are filled up to a multiple with inputs of zero


class Weights(NamedTuple):
    """The weights as the loops read them: float32, contiguous.

    A layer of k inputs and m outputs is (m / TILE, k, TILE): `TILE` columns after others, and in each tile
    the weights of an input next to each other. Outputs are filled up with zeros to a multiple of `TILE`, and
    so are the inputs that come from them: W, D and H are such multiples here.

    Attributes:
        first: S inputs (the observation) and W outputs, (W / TILE, S, TILE).
        first_bias: (W,).
        second: W inputs and W outputs.
        second_bias: (W,).
        state: W inputs and D outputs.
        state_bias: (D,).
        after: X inputs (the features of an action) and D outputs.
        block: D inputs and D outputs.
        block_bias: (D,).
        hidden: D inputs and H outputs.
        hidden_bias: (H,).
        score: (H,).
        score_bias: (1,).
    """

    first: Float32Array
    first_bias: Float32Array
    second: Float32Array
    second_bias: Float32Array
    state: Float32Array
    state_bias: Float32Array
    after: Float32Array
    block: Float32Array
    block_bias: Float32Array
    hidden: Float32Array
    hidden_bias: Float32Array
    score: Float32Array
    score_bias: Float32Array


# Where each field of `Weights` comes from: a matrix of a policy's file is laid out in tiles, a row is filled
# up. Inputs that come from another layer are filled up, too.
SOURCES: Final = {
    "first": "trunk.0.weight", "first_bias": "trunk.0.bias", "second": "trunk.2.weight",
    "second_bias": "trunk.2.bias", "state": "state.weight", "state_bias": "state.bias",
    "after": "after.weight", "block": "block.weight", "block_bias": "block.bias", "hidden": "hidden.weight",
    "hidden_bias": "hidden.bias", "score": "score.weight", "score_bias": "score.bias",
}  # fmt: skip
TILED: Final = ("first", "second", "state", "after", "block", "hidden")
_FROM_INPUTS: Final = ("first", "after")


class BeliefWeights(NamedTuple):
    """The weights of a belief network, laid out as those of `Weights`.

    Attributes:
        first: S inputs (the observation) and B outputs, (B / TILE, S, TILE).
        first_bias: (B,).
        second: B inputs and B outputs.
        second_bias: (B,).
        cards: B inputs and an output for each opponent and card.
        cards_bias: these outputs, filled up.
    """

    first: Float32Array
    first_bias: Float32Array
    second: Float32Array
    second_bias: Float32Array
    cards: Float32Array
    cards_bias: Float32Array


BELIEF_SOURCES: Final = {
    "first": "belief.0.weight", "first_bias": "belief.0.bias", "second": "belief.2.weight",
    "second_bias": "belief.2.bias", "cards": "belief.4.weight", "cards_bias": "belief.4.bias",
}  # fmt: skip
BELIEF_TILED: Final = ("first", "second", "cards")
# The outputs are trained as if the owners of two cards were independent; but hands have fixed sizes, and
# sampling deals of such hands pulls the owners back towards chance. This factor makes up for it.
SHARPNESS: Final = 1.5
LARGEST_BELIEF: Final = 8.0  # larger outputs, after the factor, are clipped: products of weights are finite


class ForwardWorkspace(NamedTuple):
    """Memory of a forward pass to work in; W is the widest layer, L the longest list of inputs.

    Attributes:
        listed: uint32 (ROWS, L), indices of the nonzero inputs of each row, ascending.
        value: float32 (ROWS, L), these inputs.
        bits: uint32 (ROWS, L), the same memory.
        num_listed: int64 (ROWS,), their number, filled up to a multiple of `STEP`.
        one: float32 (ROWS, W), a layer.
        two: float32 (ROWS, W), a layer.
        lanes: float32 (TILE,).
    """

    listed: npt.NDArray[np.uint32]
    value: Float32Array
    bits: npt.NDArray[np.uint32]
    num_listed: npt.NDArray[np.int64]
    one: Float32Array
    two: Float32Array
    lanes: Float32Array


def _fill_up(index: npt.NDArray[np.uint32], value: AnyArray, count: int) -> int:
    """Fill a list up to a multiple of `STEP` with inputs of zero; its new length."""
    while count % STEP != 0:
        index[count] = 0
        value[count] = 0
        count += 1
    return count


def list_inputs(row: AnyArray, index: npt.NDArray[np.uint32], value: Float32Array) -> int:
    """List the inputs of a row that are not zero.

    Args:
        row: (k,), numbers.
        index: uint32 (k + STEP,), written.
        value: float32 (k + STEP,), written.

    Returns:
        The length of the list, filled up to a multiple of `STEP`.
    """
    count = 0
    for k in range(row.shape[0]):
        # Without a branch, because it would be mispredicted half the time.
        index[count] = k
        value[count] = row[k]
        count += row[k] != 0
    return _fill_up(index, value, count)


def list_bfloat16(row: AnyArray, index: npt.NDArray[np.uint32], bits: npt.NDArray[np.uint32]) -> int:
    """`list_inputs` of a row that holds the bits of bfloat16, which are the upper half of a float32's."""
    count = 0
    for k in range(row.shape[0]):
        index[count] = k
        bits[count] = np.uint32(row[k]) << np.uint32(16)
        count += row[k] != 0
    return _fill_up(index, bits, count)


def add_rows(
    weights: Float32Array, index: npt.NDArray[np.uint32], value: Float32Array, count: int, out: Float32Array
) -> None:
    """Add the listed inputs times their rows of the weights.

    Args:
        weights: float32 (k, TILE), a tile.
        index: see `list_inputs`.
        value: see `list_inputs`.
        count: length of the list.
        out: float32 (TILE,), added to.
    """
    for i in range(0, count, STEP):
        a, b, c, d = value[i], value[i + 1], value[i + 2], value[i + 3]
        row_a = weights[index[i]]
        row_b = weights[index[i + 1]]
        row_c = weights[index[i + 2]]
        row_d = weights[index[i + 3]]
        for j in range(TILE):
            out[j] = out[j] + a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]


def relu(out: Float32Array) -> None:
    """Make negative numbers of float32 (TILE,) zero."""
    for j in range(TILE):
        out[j] = max(out[j], np.float32(0))


def layer(
    weights: Float32Array,
    bias: Float32Array,
    workspace: ForwardWorkspace,
    num_rows: int,
    is_linear: bool,
    out: Float32Array,
) -> None:
    """A layer for the rows whose inputs are listed on the workspace.

    Args:
        weights: float32 (m / TILE, k, TILE).
        bias: float32 (m,).
        workspace: see `ForwardWorkspace`.
        num_rows: r, at most `ROWS`.
        is_linear: without ReLU.
        out: float32 (r, m), written.
    """
    for t in range(weights.shape[0]):
        column = t * TILE
        for r in range(num_rows):
            tile = out[r, column : column + TILE]
            start = bias[column : column + TILE]
            for j in range(TILE):
                tile[j] = start[j]
            add_rows(weights[t], workspace.listed[r], workspace.value[r], workspace.num_listed[r], tile)
            if not is_linear:
                relu(tile)


def dot(a: Float32Array, b: Float32Array, lanes: Float32Array) -> np.float32:
    """The sum of products of float32 (m,), m a multiple of `TILE`, in an order that depends on m alone."""
    for j in range(TILE):
        lanes[j] = 0
    for column in range(0, a.shape[0], TILE):
        tile_a, tile_b = a[column : column + TILE], b[column : column + TILE]
        for j in range(TILE):
            lanes[j] = lanes[j] + tile_a[j] * tile_b[j]
    for j in range(TILE // 2):
        lanes[j] += lanes[TILE // 2 + j]
    for j in range(TILE // 4):
        lanes[j] += lanes[TILE // 4 + j]
    for j in range(TILE // 8):
        lanes[j] += lanes[TILE // 8 + j]
    total = np.float32(0)
    for j in range(TILE // 8):
        total += lanes[j]
    return total


def two_layers(
    observation: ByteArray, weights: Weights | BeliefWeights, workspace: ForwardWorkspace, num_rows: int
) -> None:
    """The layers ``first`` and ``second``; lists the outputs of the second as inputs of the next layer.

    Args:
        observation: uint8 (`num_rows` or more, S).
        weights: `Weights` or `BeliefWeights`.
        workspace: see `ForwardWorkspace`.
        num_rows: r, at most `ROWS`.
    """
    width = weights.first_bias.shape[0]
    for r in range(num_rows):
        workspace.num_listed[r] = list_inputs(observation[r], workspace.listed[r], workspace.value[r])
    layer(weights.first, weights.first_bias, workspace, num_rows, False, workspace.one)
    for r in range(num_rows):
        workspace.num_listed[r] = list_inputs(
            workspace.one[r, :width], workspace.listed[r], workspace.value[r]
        )
    layer(weights.second, weights.second_bias, workspace, num_rows, False, workspace.two)
    for r in range(num_rows):
        workspace.num_listed[r] = list_inputs(
            workspace.two[r, :width], workspace.listed[r], workspace.value[r]
        )


def read_states(
    observation: ByteArray, weights: Weights, workspace: ForwardWorkspace, states: Float32Array
) -> None:
    """The trunk.

    Args:
        observation: uint8 (n, S).
        weights: see `Weights`.
        workspace: see `ForwardWorkspace`.
        states: float32 (n, D), written.
    """
    num_decisions = observation.shape[0]
    for begin in range(0, num_decisions, ROWS):
        num_rows = min(ROWS, num_decisions - begin)
        two_layers(observation[begin:], weights, workspace, num_rows)
        layer(weights.state, weights.state_bias, workspace, num_rows, True, states[begin:])


def score_actions(
    states: Float32Array,
    start: IntArray,
    after: npt.NDArray[np.uint16],
    prior: Float32Array,
    weights: Weights,
    workspace: ForwardWorkspace,
    logits: Float32Array,
) -> None:
    """The layers after the trunk.

    Args:
        states: float32 (n, D).
        start: see `Inputs`.
        after: see `Inputs`.
        prior: see `Inputs`.
        weights: see `Weights`.
        workspace: see `ForwardWorkspace`.
        logits: float32 (N,), written.
    """
    num_actions, width, num_hidden = after.shape[0], weights.block_bias.shape[0], weights.hidden_bias.shape[0]
    owner = 0
    for begin in range(0, num_actions, ROWS):
        num_rows = min(ROWS, num_actions - begin)
        for r in range(num_rows):
            while owner + 1 < start.shape[0] and start[owner + 1] <= begin + r:
                owner += 1
            workspace.num_listed[r] = list_bfloat16(after[begin + r], workspace.listed[r], workspace.bits[r])
            for column in range(0, width, TILE):
                tile = workspace.one[r, column : column + TILE]
                state = states[owner, column : column + TILE]
                for j in range(TILE):
                    tile[j] = state[j]
        for t in range(weights.after.shape[0]):
            column = t * TILE
            for r in range(num_rows):
                tile = workspace.one[r, column : column + TILE]
                add_rows(
                    weights.after[t], workspace.listed[r], workspace.value[r], workspace.num_listed[r], tile
                )
                relu(tile)
        for r in range(num_rows):
            workspace.num_listed[r] = list_inputs(
                workspace.one[r, :width], workspace.listed[r], workspace.value[r]
            )
        layer(weights.block, weights.block_bias, workspace, num_rows, False, workspace.two)
        for r in range(num_rows):
            for column in range(0, width, TILE):
                tile, more = (
                    workspace.one[r, column : column + TILE],
                    workspace.two[r, column : column + TILE],
                )
                for j in range(TILE):
                    tile[j] += more[j]
            workspace.num_listed[r] = list_inputs(
                workspace.one[r, :width], workspace.listed[r], workspace.value[r]
            )
        layer(weights.hidden, weights.hidden_bias, workspace, num_rows, False, workspace.two)
        for r in range(num_rows):
            score = dot(workspace.two[r, :num_hidden], weights.score, workspace.lanes) + weights.score_bias[0]
            logits[begin + r] = score + prior[begin + r]


@jit.loop
def forward(
    observation: ByteArray,
    start: IntArray,
    after: npt.NDArray[np.uint16],
    prior: Float32Array,
    weights: Weights,
    workspace: ForwardWorkspace,
    states: Float32Array,
    logits: Float32Array,
) -> None:
    """The network's scores of legal actions.

    Args:
        observation: see `Inputs`; its size and that of `after` must fit the weights'.
        start: see `Inputs`.
        after: see `Inputs`.
        prior: see `Inputs`.
        weights: see `Weights`.
        workspace: see `ForwardWorkspace`.
        states: float32 (n, D), memory to work in.
        logits: float32 (N,), written.
    """
    read_states(observation, weights, workspace, states)
    score_actions(states, start, after, prior, weights, workspace, logits)


@jit.loop
def believe(
    observation: ByteArray,
    weights: BeliefWeights,
    workspace: ForwardWorkspace,
    outputs: Float32Array,
    card_weights: FloatArray,
) -> None:
    """The card weights of a belief network.

    Args:
        observation: see `Inputs`.
        weights: see `BeliefWeights`.
        workspace: see `ForwardWorkspace`.
        outputs: float32 (`ROWS`, outputs), memory to work in.
        card_weights: float64 (n, opponents x C), written: how likely each opponent holds each card, relative
            to the other opponents and to the undealt cards, whose weights are 1.
    """
    num_decisions = observation.shape[0]
    for begin in range(0, num_decisions, ROWS):
        num_rows = min(ROWS, num_decisions - begin)
        two_layers(observation[begin:], weights, workspace, num_rows)
        layer(weights.cards, weights.cards_bias, workspace, num_rows, True, outputs)
        for r in range(num_rows):
            for i in range(card_weights.shape[1]):
                output = max(SHARPNESS * np.float64(outputs[r, i]), -LARGEST_BELIEF)
                card_weights[begin + r, i] = floats.exp(min(output, LARGEST_BELIEF))


@jit.loop
def log_probabilities(logits: Float32Array, start: IntArray, out: Float32Array) -> None:
    """Log-probabilities within each decision's actions; sums are in float64.

    Args:
        logits: float32 (N,).
        start: int64 (n,), ascending from 0, where each decision's actions begin; every decision has at least
            one.
        out: float32 (N,), written.
    """
    for b in range(start.shape[0]):
        end = start[b + 1] if b + 1 < start.shape[0] else logits.shape[0]
        best = np.float64(logits[start[b]])
        for i in range(start[b], end):
            best = max(best, np.float64(logits[i]))
        total = 0.0
        for i in range(start[b], end):
            total += floats.exp(logits[i] - best)
        shift = floats.log(total)
        for i in range(start[b], end):
            out[i] = logits[i] - best - shift


@jit.loop
def write_tiles(weight: Float32Array, tiles: Float32Array) -> None:
    """Lay out the weights of a layer as `Weights` has them.

    Args:
        weight: float32 (outputs, inputs).
        tiles: float32 (tiles, inputs or more, TILE), written: zeros where there is no weight.
    """
    num_outputs, num_inputs = weight.shape
    for t in range(tiles.shape[0]):
        for k in range(tiles.shape[1]):
            for j in range(TILE):
                is_weight = k < num_inputs and t * TILE + j < num_outputs
                tiles[t, k, j] = weight[t * TILE + j, k] if is_weight else np.float32(0)


def _filled_up(size: int) -> int:
    return -(-size // TILE) * TILE


def laid_out(
    tensors: Mapping[str, Float32Array], sources: Mapping[str, str], tiled: tuple[str, ...]
) -> dict[str, Float32Array]:
    """Lay out the weights of a network as the loops read them: the fields of `Weights` or `BeliefWeights`.

    Args:
        tensors: float32, as the file of a policy names them (see `tienlen_agents.networks.network`).
        sources: `SOURCES` or `BELIEF_SOURCES`.
        tiled: `TILED` or `BELIEF_TILED`.
    """

    def field(name: str) -> Float32Array:
        tensor = np.ascontiguousarray(tensors[sources[name]])
        if name in tiled:
            num_outputs, num_inputs = tensor.shape
            if name not in _FROM_INPUTS:
                num_inputs = _filled_up(num_inputs)
            tiles = np.empty((_filled_up(num_outputs) // TILE, num_inputs, TILE), np.float32)
            write_tiles(tensor, tiles)
            return tiles
        row = np.zeros(1 if name == "score_bias" else _filled_up(tensor.size), np.float32)
        row[: tensor.size] = tensor.ravel()
        return row

    return {name: field(name) for name in sources}


def new_workspace(weights: Weights | BeliefWeights, num_rows: int = ROWS) -> ForwardWorkspace:
    """Allocate the workspace of `forward` or `believe` for these weights and up to `num_rows` rows."""
    num_rows = min(num_rows, ROWS)
    widest, longest = len(weights.first_bias), weights.first.shape[1]
    if isinstance(weights, Weights):
        widest, longest = max(widest, len(weights.block_bias)), max(longest, weights.after.shape[1])
    longest = max(longest, widest) + STEP
    value = np.empty((num_rows, longest), np.float32)
    return ForwardWorkspace(
        listed=np.empty((num_rows, longest), np.uint32),
        value=value,
        bits=value.view(np.uint32),
        num_listed=np.empty(num_rows, np.int64),
        one=np.empty((num_rows, widest), np.float32),
        two=np.empty((num_rows, widest), np.float32),
        lanes=np.empty(TILE, np.float32),
    )


def check_segments(start: npt.NDArray[Any], num_items: int) -> None:
    """Refuse decisions that do not divide N actions; the loops go from each start to the next.

    Args:
        start: where each decision's actions begin.
        num_items: N.

    Raises:
        ValueError: another type or shape, or not ascending from 0 with at least one action each.
    """
    is_right = isinstance(start, np.ndarray) and start.dtype == np.int64 and start.ndim == 1
    if is_right and start.size == 1:  # the same with two NumPy calls fewer
        is_right = start.item() == 0 < num_items
    elif is_right and start.size:
        is_right = start[0] == 0 and bool((np.diff(start, append=num_items) > 0).all())
    elif is_right:
        is_right = num_items == 0
    if not is_right:
        raise ValueError(f"segment_start: expected int64 (n,), ascending from 0 to less than {num_items}")
