"""Build the WebAssembly modules of games: ``python -m tienlen_env.engine.backends.wasm GAME... --out DIR``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tienlen_env.engine.backends.wasm import build
from tienlen_env.games.registry import games


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(prog="python -m tienlen_env.engine.backends.wasm", description=__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help="a registered game, or module:Name of one; default: all")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    parser.add_argument("--episode", choices=("round", "game"), default="round")
    parser.add_argument("--history", type=int, default=0, metavar="K", help="plays that the observation shows")
    parser.add_argument("--history-length", type=int, default=0, metavar="K", help="plays that the state stores")
    args = parser.parse_args(arguments)
    for name in args.games or [game.name for game in games()]:
        path = build(
            name, args.out, episode=args.episode, history=args.history, history_length=args.history_length
        )
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
