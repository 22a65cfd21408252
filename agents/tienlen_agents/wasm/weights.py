"""Files of weights for the page: most matrices as float16, which halves them.

All weights as float16 would change the choice of the network ``cardgames-medium-v4`` in 14 of 100,072
decisions (with a choice, in games of its own). The layers that an action passes first and the last one cause
most of it; they stay float32, as do the biases. Then 5 choices change. `NetworkAgent.load` reads these files,
too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

TEXTS: Final = ("format", "config", "card")  # metadata of a policy's file
KEPT: Final = ("after.weight", "block.weight", "score.weight")  # stay float32


def smaller(path: Path) -> bytes:
    """The content of a policy's file with most weights as float16; the same file gives the same bytes."""
    with safe_open(path, "np") as file:
        tensors = {}
        for name in sorted(file.keys()):
            tensor = np.asarray(file.get_tensor(name), np.float32)
            is_kept = name in KEPT or tensor.ndim == 1
            tensors[name] = tensor if is_kept else tensor.astype(np.float16)
        data, texts = save(tensors), file.metadata()
    # safetensors would write the metadata in an order that differs from run to run. A digest that they may
    # contain is that of the other weights.
    end = 8 + int.from_bytes(data[:8], "little")
    header = {"__metadata__": {key: texts[key] for key in TEXTS if key in texts}, **json.loads(data[8:end])}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[end:]
