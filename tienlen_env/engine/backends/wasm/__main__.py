"""Build WebAssembly modules of games: ``python -m tienlen_env.engine.backends.wasm GAME... --out DIR``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tienlen_env.engine.backends.wasm import build
from tienlen_env.games.common.spec import Episode
from tienlen_env.games.registry import games


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(prog="python -m tienlen_env.engine.backends.wasm", description=__doc__)
    add = parser.add_argument
    add("games", nargs="*", metavar="GAME", help="a registered game, or module:Name of one; default: all")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    add("--entries", default="", metavar="MODULE:FUNCTION", help="further functions, for example of agents")
    add("--episode", choices=get_args(Episode), default="round", help="a round, or rounds to the target")
    add("--history", type=int, default=0, metavar="K", help="plays that the observation shows")
    add("--history-length", type=int, default=0, metavar="K", help="plays that the state stores")
    args = parser.parse_args(arguments)
    for name in args.games or [game.name for game in games()]:
        path = build(
            name,
            args.out,
            entries=args.entries,
            episode=args.episode,
            history=args.history,
            history_length=args.history_length,
        )
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
