"""The file of a policy: safetensors with the same bytes every time, and a digest that finds a changed bit.

Weights are float32. A matrix whose weights are all values of float16 is stored as such, in half the bytes;
`rounded` makes such matrices. Files of float32 alone load as ever.

The metadata are ``format``, ``config`` and ``card`` (JSON), and ``digest``: the SHA-256 of the texts and of
the weights. Files of before have no digest, and load. No other key is allowed, so that damage to the word
``digest`` does not turn a file into one of those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

DIGEST: Final = "digest"
# Rounding these would change the most choices, see `rounded`: an action's first layers, and the last one.
EXACT: Final = ("after.weight", "block.weight", "score.weight")
TEXTS: Final = ("format", "config", "card")
MAX_HEADER: Final = 1_000_000  # bytes; those of policies have some thousands
_LENGTH: Final = 8  # bytes of the header's length, which a file begins with
_ALIGNMENT: Final = 8

Tensors = Mapping[str, npt.NDArray[Any]]


def rounded(tensors: Tensors) -> dict[str, npt.NDArray[np.float32]]:
    """Weights with most matrices rounded to values of float16, so that a file has half their bytes.

    With all of ``cardgames-medium-v4`` rounded, the network chose otherwise in 14 of 100,072 decisions with a
    choice. Most of it came from the matrices `EXACT`, which this leaves alone, as it does biases: then 5
    choices change.

    Args:
        tensors: float32.
    """
    return {
        name: tensor if name in EXACT or tensor.ndim < 2 else tensor.astype(np.float16).astype(np.float32)
        for name, tensor in tensors.items()
    }


def packed(tensors: Tensors) -> dict[str, npt.NDArray[Any]]:
    """The weights in the types of a file; nothing is lost.

    Args:
        tensors: float32.

    Returns:
        The same, but a matrix is float16 if all its weights are values of float16.
    """
    found = {}
    for name, tensor in tensors.items():
        with np.errstate(over="ignore"):  # larger than any float16: they become infinite, and are not equal
            half = tensor.astype(np.float16)
        found[name] = half if tensor.ndim > 1 and np.array_equal(half, tensor) else tensor
    return found


def content_digest(tensors: Tensors, metadata: Mapping[str, str]) -> str:
    """The digest of a policy.

    Args:
        tensors: the weights, in the types of the file.
        metadata: the texts of the file.

    Returns:
        64 hex digits.
    """
    digest = hashlib.sha256()
    for key in TEXTS:
        text = metadata.get(key, "").encode()
        digest.update(f"{key} {len(text)}\n".encode() + text)
    for name, tensor in sorted(tensors.items()):
        little = np.ascontiguousarray(tensor, tensor.dtype.newbyteorder("<"))
        digest.update(f"{name} {little.dtype.str} {tensor.shape}\n".encode() + little.tobytes())
    return digest.hexdigest()


def to_bytes(tensors: Tensors, metadata: Mapping[str, str]) -> bytes:
    """The content of a file; the same policy gives the same bytes.

    Args:
        tensors: the weights.
        metadata: the texts of `TEXTS`; the digest is added.
    """
    texts = {**metadata, DIGEST: content_digest(tensors, metadata)}
    data = save(dict(tensors), texts)
    # safetensors writes the metadata in the order of a hash table, which differs from run to run.
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    header = json.loads(data[_LENGTH:end])
    header["__metadata__"] = texts
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_LENGTH, "little") + text + data[end:]


def check_header(path: Path) -> None:
    """Refuse a header of a size that no policy has, before it is read.

    Raises:
        OSError: the file cannot be read.
        ValueError: the header is too large.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(_LENGTH), "little")
    if size > MAX_HEADER:
        raise ValueError(
            f"not a valid safetensors file: a header of {size:,} bytes, expected at most {MAX_HEADER:,}"
        )
