"""Reading the files of the laboratory: arrays by name, without pickles."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from tienlen_env.games.common.arrays import AnyArray


def read_arrays(path: Path, what: str) -> dict[str, AnyArray]:
    """All arrays of a file of `np.savez`.

    Args:
        path: the file.
        what: what it should be, for the error.

    Raises:
        ValueError: a damaged file, or another one.
        OSError: the file cannot be read.
    """
    data = io.BytesIO(path.read_bytes())  # so that no file stays open if it is damaged
    try:
        with np.load(data, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, KeyError, OSError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not {what} ({error})") from None
