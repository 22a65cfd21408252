"""For code that `jit.loop` does not compile yet."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from types import ModuleType


def build_of(modules: Iterable[ModuleType]) -> str:
    """A digest of the modules' sources."""
    from tienlen_env.engine.backends.overloads import teach
    from tienlen_env.games.thirteens.game import THIRTEENS
    from tienlen_env.games.tienlen.game import TIENLEN

    teach(TIENLEN)
    teach(THIRTEENS)
    return hashlib.sha256("".join(map(inspect.getsource, modules)).encode()).hexdigest()
