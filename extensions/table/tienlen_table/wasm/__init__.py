"""The games with their agents in WebAssembly, for the page and for Node.

``python -m tienlen_table.wasm --out DIR`` (or ``make web-engine``) writes, besides the files of
`tienlen_table.engine`:

- to ``GAME.wasm`` the rule-based players, the search and the networks' readers and inference
  (`tienlen_table.wasm.entries`), to ``GAME.json`` their arrays and settings and the words of the game
  (`tienlen_table.wasm.tables`);
- ``rounds.mjs`` (rounds, views, records), ``agents.mjs`` (the agents), ``worker.mjs`` and ``client.mjs`` (the
  agents in a Web Worker), and their types (``.d.mts``);
- ``table.wasm`` and ``table.json``: the state machine of a table (`tienlen_table.machine`);
- the files of the shipped networks, which Python reads, and ``index.json``, which lists what there is.

JavaScript has no rule, no feature and no agent of its own.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.games.registry import games
from tienlen_table import engine as wasm
from tienlen_table.wasm.tables import add_tables, history_length

ENTRIES: Final = "tienlen_table.wasm.entries:entries_of"
JAVASCRIPT: Final = Path(__file__).parent


def build(out: Path, names: Iterable[str] = ()) -> list[Path]:
    """Build the files.

    Args:
        out: the folder, made if it is not there.
        names: of games, see `tienlen_table.engine.build`; none: all registered ones.

    Returns:
        The paths of the modules: of the games, and of the table.

    Raises:
        RuntimeError: the code could not be compiled.
    """
    from tienlen_table.wasm.table import build_table  # what the games' modules import is part of their digest

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each compiles in a process of its own
        table = pool.submit(build_table, out)
        modules = list(pool.map(partial(_build, out), list(names) or [game.name for game in games()]))
        of_table = table.result()
    listed = []
    networks: set[str] = set()
    for path in modules:
        tables = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        networks.update(network["file"] for network in tables["networks"].values())
        listed.append(_listed(tables))
    for name in networks:
        shutil.copyfile(WEIGHTS / name, out / name)
    for path in out.glob("*.safetensors"):
        if path.name not in networks:
            path.unlink()  # of an earlier build: nothing plays it any more
    for source in sorted(JAVASCRIPT.glob("*.m*s")):
        shutil.copyfile(source, out / source.name)
    files = {name: (out / name).stat().st_size for name in sorted(networks)}
    text = json.dumps({"games": listed, "bytes": files}, separators=(",", ":"))
    (out / "index.json").write_text(text, encoding="utf-8")
    return [*modules, of_table]


def _build(out: Path, name: str) -> Path:
    """Build the module of one game and its tables."""
    length = history_length(wasm.resolve(name))
    return wasm.build(name, out, entries=ENTRIES, more=add_tables, history_length=length)


def _scores(agent: dict[str, Any]) -> str:
    """What an agent says of each legal play."""
    if agent.get("network"):
        return "probabilities"
    return "points" if agent["kind"] == "search" else "none"


def _listed(tables: dict[str, Any]) -> dict[str, Any]:
    """What ``index.json`` says of a game."""
    presets: dict[str, dict[str, Any]] = {}
    for variant in tables["variants"]:
        name, has_target = variant["rules"], variant["rounds"][1] == 0
        preset = presets.setdefault(name, {"name": name, "num_players": [], "has_target": has_target})
        preset["num_players"].append(variant["num_players"])
    return {
        "name": tables["game"],
        "record": tables["words"]["record"],
        "presets": list(presets.values()),
        "agents": [
            {
                "name": agent["name"],
                "scores": _scores(agent),
                "tables": [
                    [variant["rules"], variant["num_players"]]
                    for variant in tables["variants"]
                    if not agent.get("network") or variant["digest"] in tables["networks"]
                ],
            }
            for agent in tables["agents"]
        ],
    }
