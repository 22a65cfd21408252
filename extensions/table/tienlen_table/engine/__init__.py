"""The engine in WebAssembly: a game's own kernels, compiled for the browser.

``build`` writes (``python -m tienlen_table.wasm``, or ``make web-engine``, builds the agents, too)

- ``GAME.wasm``, a module that imports nothing: dealing, playing with the test of legality, masks,
  observations and what else `tienlen_env.engine.backends.python.Loops` do, for one game at a time,
  and a loop that plays rounds at random (`tienlen_table.engine.entries`);
- ``GAME.json``, the tables of every preset and number of players (`tables_of`);
- ``engine.mjs``, plain JavaScript that loads both and calls them.

Numba turns the kernels into LLVM code for a generic processor, LLVM optimises it for wasm32
(`tienlen_table.engine.compile`), LLVM's linker makes the module; it must be installed. Any
registered game can be built; nothing in it is written for WebAssembly. The same sources and the same linker
give the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, cast

from tienlen_env.engine.variant import Settings, Variant
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import game_named, register, variants_of

# Numba takes its target from the environment when it is imported.
ENVIRONMENT: Final = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_OPT": "0"}
_MAX_EXACT: Final = 1 << 53  # larger numbers are strings in JSON
JAVASCRIPT: Final = Path(__file__).with_name("engine.mjs")


def resolve(game: str) -> AnyGame:
    """The game of a name, or of ``module:Name``, which is registered if it is not yet."""
    if ":" not in game:
        return game_named(game)
    module, _, name = game.partition(":")
    return register(cast(AnyGame, getattr(importlib.import_module(module), name)))


def build(
    game: str,
    out: Path,
    *,
    entries: str = "",
    more: Callable[[AnyGame, dict[str, Any]], None] | None = None,
    **settings: Any,
) -> Path:
    """Build the files of a game, in a process of its own.

    Args:
        game: the name of a registered game, or ``module:Name`` of a `GameDefinition`.
        out: the folder, made if it is not there.
        entries: ``module:function`` of a function that takes the game and returns further
            `tienlen_table.engine.entries.Entry`, for example of agents.
        more: ``(game, tables)``: adds to the tables.
        settings: as for `tables_of`.

    A module is compiled only if it is not there yet, or if a source that it is made of has changed since.

    Returns:
        The path of the module.

    Raises:
        RuntimeError: the code could not be compiled; the message ends with the reason.
    """
    out.mkdir(parents=True, exist_ok=True)
    found = resolve(game)
    path = out / f"{found.name}.wasm"
    with start_compiler("compile_game", game, str(path), entries, sources_of(path)) as compiler:
        try:
            tables = tables_of(found, **settings)
            if more is not None:
                more(found, tables)
        except BaseException:
            compiler.kill()
            raise
        sources = finish(compiler, found.name)
    shutil.copyfile(JAVASCRIPT, out / JAVASCRIPT.name)
    tables["module"] = {"sources": sources, "sha256": _sha256(path)}
    text = json.dumps(tables, separators=(",", ":"))
    path.with_suffix(".json").write_text(text, encoding="utf-8")
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build_functions(name: str, entries: str, tables: dict[str, Any], out: Path) -> Path:
    """Build ``NAME.wasm`` and ``NAME.json`` of entries that belong to no game.

    Args:
        name: of the files.
        entries: ``module:function`` of a function that returns them.
        tables: what JavaScript must know of them.
        out: the folder.

    Returns:
        The path of the module.

    Raises:
        RuntimeError: see `build`.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.wasm"
    with start_compiler("compile_functions", entries, str(path), sources_of(path)) as compiler:
        sources = finish(compiler, name)
    module = {"sources": sources, "sha256": _sha256(path)}
    text = json.dumps({**tables, "module": module}, separators=(",", ":"))
    path.with_suffix(".json").write_text(text, encoding="utf-8")
    return path


def start_compiler(function: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a function of `tienlen_table.engine.compile` in a process of its own."""
    environment = {**os.environ, **ENVIRONMENT}
    environment["PYTHONPATH"] = os.pathsep.join(folder for folder in sys.path if folder)
    command = [sys.executable, "-c", _COMPILE, function, *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(compiler: subprocess.Popen[str], name: str) -> str:
    """What the function has returned.

    Raises:
        RuntimeError: it has failed.
    """
    found, errors = compiler.communicate()
    if compiler.returncode:
        raise RuntimeError(f"{name}: no WebAssembly could be built of it\n{errors[-4000:]}")
    return found.strip()


def sources_of(path: Path) -> str:
    """The digest of the sources of a module that is there and whole; else nothing."""
    try:
        found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["module"]
        return str(found["sources"]) if found["sha256"] == _sha256(path) else ""
    except (OSError, ValueError, TypeError, KeyError):
        return ""


_COMPILE: Final = """
import sys
from tienlen_table.engine import compile
print(getattr(compile, sys.argv[1])(*sys.argv[2:]))
"""


# ---------------------------------------------------------------- the tables


def tables_of(
    game: AnyGame,
    *,
    variants: Iterable[tuple[str, AnyRules]] | None = None,
    episode: Episode = "round",
    history: int = 0,
    history_length: int = 0,
) -> dict[str, Any]:
    """What JavaScript must know of each variant of a game, as JSON data: kernels' numbers, sizes, names.

    Args:
        game: the game.
        variants: ``(name, rules)`` of each; None for `variants_of` the game.
        episode: ``"round"`` or ``"game"``.
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
        "reward": game.rewards[0],
        "history": history if game.has_history else 0,
        "history_length": history_length if game.has_history else 0,
    }
    action_tables: dict[str, Any] = {}
    found = []
    for name, rules in variants_of(game) if variants is None else variants:
        variant = Variant(rules, None, Settings(**settings))
        table, layout = variant.action_table, variant.layout
        texts = [table.text(action) for action in range(table.num_actions)]
        data = {"fields": _numbers(variant.actions), "texts": texts}
        table_name = hashlib.sha256(repr(data).encode()).hexdigest()[:16]
        action_tables[table_name] = data
        found.append(
            {
                "rules": name,
                "num_players": rules.num_players,
                "digest": rules.digest(),
                "num_actions": table.num_actions,
                "row_size": variant.row_size,
                "observation_size": layout.size,
                "global_observation_size": game.global_observation_size(rules, settings["history"]),
                "spec": _numbers(variant.spec),
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
