"""The games: one folder each, what they share in `common`, and the registry that lists them.

A game never imports another one. ``get_rules`` and ``PRESETS`` of the registry are names of this package too.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("PRESETS", "game_named", "game_of", "games", "get_rules", "register"):
        from tienlen_env.games import registry

        return getattr(registry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
