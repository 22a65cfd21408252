"""Writing files whole or not at all, and by one process alone."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


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


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep a file to oneself while the block runs: nobody else who locks it gets in.

    The lock is on ``<name>.lock`` beside the file, so that the file itself may be replaced; that one is left
    lying, empty, as to delete it would be a race. The system releases the lock when the process dies, however
    it does. It is `flock` where there is one (a file system that knows none, as some network ones, goes
    without) and on Windows a lock on the first byte.

    Args:
        path: the file; it need not be there. Its folder is made if it is not there.

    Raises:
        BlockingIOError: it is locked already, by another process or this one.
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("ab") as file:
        try:
            if sys.platform == "win32":
                file.seek(0)  # where `locking` begins
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK):
                raise BlockingIOError(errno.EAGAIN, "locked", str(path)) from error
            if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP):
                raise
        yield
