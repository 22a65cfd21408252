"""Files of weights for the page: most matrices as float16, which halves them.

All weights as float16 would change the choice of the champion's network in 14 of 100,000 decisions. The layers
that an action passes first, and the last one, make most of the difference; they stay float32, as do the
biases. Then 5 of 100,072 choices change, and `NetworkAgent.load` reads these files as all others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

KEPT: Final = ("after.weight", "block.weight", "score.weight")  # stay float32


def smaller(path: Path) -> bytes:
    """The content of a policy's file with most weights as float16; the same file gives the same bytes."""
    with safe_open(path, "np") as file:
        tensors = {}
        for name in sorted(file.keys()):
            tensor = np.asarray(file.get_tensor(name), np.float32)
            is_kept = name in KEPT or tensor.ndim == 1
            tensors[name] = tensor if is_kept else tensor.astype(np.float16)
        return bytes(save(tensors, file.metadata()))
