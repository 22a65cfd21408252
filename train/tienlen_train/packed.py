"""Packed masks and observations as torch tensors, on any device."""

from __future__ import annotations

import torch

from tienlen_env.engine.packed import packed_size


def unpack(words: torch.Tensor, size: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The items of packed masks or observations (`tienlen_env.engine.packed`).

    Plain operations of torch, which ``torch.compile`` joins with what comes next, for example the first layer
    of a network.

    Args:
        words: int64 (..., ceil(size / 64)).
        size: n, the number of items.
        dtype: of the result.

    Returns:
        (..., n) of 0 and 1, on the device of the words.

    Raises:
        ValueError: words of another dtype or shape.
    """
    if words.dtype != torch.int64 or words.ndim == 0 or words.shape[-1] != packed_size(size):
        raise ValueError(
            f"words: expected int64 (..., {packed_size(size)}) for {size} items, "
            f"got {words.dtype} {tuple(words.shape)}"
        )
    shifts = torch.arange(64, device=words.device)
    return (words.unsqueeze(-1) >> shifts & 1).flatten(-2)[..., :size].to(dtype)
