"""Files: atomic writes, locks, and how the files of strangers are read."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from tienlen_env.extras import MissingExtraError
from tienlen_env.texts import printable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_TEMPORARY: Final = re.compile(r"\..+\.\d+\.tmp")


def write_atomic(path: Path, data: bytes) -> None:
    """Replace a file as a whole: a reader, or a kill at any moment, finds the old content or the new one.

    When it returns, the new content is on the disk, and survives a power cut.

    Args:
        path: the file; its folder is made if it does not exist.
        data: its content.

    Raises:
        OSError: the disk is full or the folder cannot be written; it names the file, and the old one is
            unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:  # an interrupt, too, leaves nothing behind
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names of the files in a folder on the disk, where the system can do that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot do it for a folder.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def remove_temporaries(folder: Path) -> None:
    """Delete the temporary files of `write_atomic` that kills have left in a folder.

    Call it only where no other process writes: while the lock on the folder's work is held.

    Args:
        folder: it need not exist; folders inside it are not searched.

    Raises:
        OSError: the folder cannot be written.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive advisory lock for the duration of the block.

    The lock is on the empty file ``<name>.lock`` beside the file, so that the file itself can be replaced.
    The lock file is not deleted, because that would be a race. The operating system releases the lock when
    the process ends in any way. The lock is `flock`, or on Windows a lock on the first byte; on a file
    system without locks, such as some network file systems, there is none.

    Args:
        path: the file; it need not exist. Its folder is made if it does not exist.

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


# ---------------------------------------------------------------- files of strangers

MAX_REASON: Final = 300  # characters of a refusal after the file's name


@contextmanager
def refusing(what: str, error_class: type[Exception] = ValueError, advice: str = "") -> Iterator[None]:
    """Read a stranger's file in the block: whatever fails there is a refusal in one line.

    Args:
        what: the file's name, and what it should be.
        error_class: of the refusal.
        advice: what to do, after the reason.

    Raises:
        error_class: `what`, and why it was refused.
        OSError: the system cannot read the file.
        MissingExtraError: a package is not installed.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # libraries have OSErrors of their own for what they do not like, without a number
        # Errors of libraries are sentences; Python's own are often a word.
        is_sentence = str(error) and (isinstance(error, ValueError) or type(error).__module__ != "builtins")
        said = str(error) if is_sentence else f"{type(error).__name__} {error}"
        said = " ".join(printable(said).split())
        said = said if len(said) <= MAX_REASON else f"{said[: MAX_REASON - 1]}…"
        raise error_class(f"{what}: {said}{advice and f'. {advice}'}") from error


def read_json(data: bytes | str) -> Any:
    """The values of a JSON text as the standard has them.

    Raises:
        ValueError: not JSON, a key twice in an object, a number that is not finite.
        RecursionError: it is nested too deeply.
    """
    return json.loads(
        data,
        object_pairs_hook=_with_each_key_once,
        parse_constant=_refuse_number,
        parse_float=_finite,
    )


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return found


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not JSON")


def _finite(text: str) -> float:
    return found if math.isfinite(found := float(text)) else _refuse_number(text)
