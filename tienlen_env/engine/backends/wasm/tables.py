"""What JavaScript must know of each variant of a game: data for the kernels, sizes, names; no rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import variants_of

_MAX_EXACT: Final = 1 << 53  # larger numbers are strings in JSON


def tables_of(
    game: AnyGame,
    *,
    variants: Iterable[tuple[str, AnyRules]] | None = None,
    episode: Episode = "round",
    reward: str = "",
    history: int = 0,
    history_length: int = 0,
) -> dict[str, Any]:
    """The tables of variants of a game, as JSON data.

    Args:
        game: the game.
        variants: ``(name, rules)`` of each; None for `variants_of` the game.
        episode: ``"round"`` or ``"game"``.
        reward: one of the game's rewards; ``""`` for the first.
        history: plays that the observation shows, 0 in a game without history.
        history_length: plays that the state stores.

    Returns:
        ``game``, ``columns`` (where the shared columns lie in a row), ``action_tables`` (by name: ``fields``,
        the numbers for the kernels, and ``texts``), and ``variants``, a list of dicts: ``rules``,
        ``num_players``, ``digest``, the sizes, ``spec``, ``action_table``, and ``layout`` (name to start,
        shape and meaning).
    """
    settings: dict[str, Any] = {
        "episode": episode,
        "reward": reward or game.rewards[0],
        "history": history if game.has_history else 0,
        "history_length": history_length if game.has_history else 0,
    }
    action_tables: dict[str, Any] = {}
    found = []
    for name, rules in variants_of(game) if variants is None else variants:
        spec, actions = game.build_spec(rules, auto_reset=False, **settings)
        table = game.build_table(rules)
        texts = [table.text(action) for action in range(table.num_actions)]
        data = {"fields": _numbers(actions), "texts": texts}
        table_name = hashlib.sha256(repr(data).encode()).hexdigest()[:16]
        action_tables[table_name] = data
        layout = game.observation(rules, settings["history"])
        found.append(
            {
                "rules": name,
                "num_players": rules.num_players,
                "digest": rules.digest(),
                "num_actions": table.num_actions,
                "row_size": int(spec[S.ROW_SIZE]),
                "observation_size": layout.size,
                "global_observation_size": game.global_observation_size(rules, settings["history"]),
                "spec": _numbers(spec),
                "action_table": table_name,
                "layout": {
                    piece.name: {
                        "start": piece.slice.start,
                        "shape": list(piece.shape),
                        "meaning": piece.meaning,
                    }
                    for piece in layout.values()
                },
            }
        )
    return {
        "game": game.name,
        "settings": settings,
        "columns": game.columns._asdict(),
        "action_tables": action_tables,
        "variants": found,
    }


def _numbers(array: IntArray) -> list[int | str]:
    return [x if abs(x) <= _MAX_EXACT else str(x) for x in array.tolist()]
