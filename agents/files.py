"""Writing files whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a kill, sees the old content or the new and nothing between.

    Args:
        path: the file; its folder is made if it is not there.
        data: its content.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file is still there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
