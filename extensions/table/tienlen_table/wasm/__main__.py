"""Build the games with their agents in WebAssembly: ``python -m tienlen_table.wasm --out DIR [GAME...]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tienlen_agents.settings import Parser
from tienlen_table.wasm import build


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and build."""
    parser = Parser(prog="python -m tienlen_table.wasm", description=__doc__)
    add = parser.add_argument
    add("games", nargs="*", metavar="GAME", help="a registered game, or module:Name of one; default: all")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the files")
    args = parser.parse_args(arguments)
    try:
        paths = build(args.out, args.games)
    except (ValueError, RuntimeError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    for path in paths:
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
