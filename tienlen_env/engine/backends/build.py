"""What compiled code was built from."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from types import ModuleType


def build_of(modules: Iterable[ModuleType]) -> str:
    """A digest of the modules' sources, for a compiled loop that calls them to close over.

    Numba hashes a function's closure into the key of its cache on disk. It would not notice itself that
    another file has changed, and would go on with what it compiled from the old one.
    """
    return hashlib.sha256("".join(map(inspect.getsource, modules)).encode()).hexdigest()
