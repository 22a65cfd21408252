"""``tienlen cache``: the compiled code that an installed package keeps in the user's folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from tienlen_agents.command import program
from tienlen_agents.settings import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """Say where the folder is, or delete it.

    Args:
        argv: the arguments; None for those of the process.

    Returns:
        The exit code.
    """
    parser = Parser(
        prog=program("tienlen_train.cache"),
        description="The compiled code that an installed package keeps in the user's folder.",
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=["show", "clear"],
        default="show",
        help="show the folder and its size, or delete it: code is compiled again when it is needed",
    )
    action = parser.parse_args(argv).action
    from tienlen_env.engine.backends.sources import cache_folder

    folder = cache_folder()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if action == "clear":
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{folder}: {size / 1e6:.1f} MB{' deleted' if action == 'clear' and size else ''}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
