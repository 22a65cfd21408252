"""Check a game from outside against the contract.

`tienlen_check.contract` plays in plain Python. Then `tienlen_check.compiled` plays every preset by Numba
beside it, in a process of its own: code that corrupts memory ends that process alone.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence

from tienlen_agents.settings import Parser
from tienlen_check.compiled import check_compiled
from tienlen_check.contract import check_contract
from tienlen_env.errors import TienLenError
from tienlen_env.extras import require
from tienlen_env.games.registry import game_named
from tienlen_env.texts import printable


def _check_in_process(name: str, preset: str) -> None:
    game = game_named(name)
    try:
        check_compiled(game.presets[preset])
    except Exception as error:
        # One that is not ours is of the compiler: it names the function and the line.
        what = error if isinstance(error, TienLenError) else f"not compiled: {error}"
        for line in f"game {name!r}, preset {preset!r}: {what}".splitlines():
            print(printable(line), file=sys.stderr)
        sys.exit(3)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 if the game keeps the contract.

    Raises:
        MissingExtraError: Numba is not installed.
    """
    parser = Parser(prog="tienlen check-game", description="Check a game against the contract.")
    parser.add_argument("name", help="a registered game, for example of another package's entry point")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each preset in plain Python (20)")
    options = parser.parse_args(arguments)
    require("numba", "jit", "tienlen check-game")
    try:
        game = game_named(options.name)
        check_contract(game, options.rounds)
    except TienLenError as fault:
        print(printable(str(fault)), file=sys.stderr)
        return 1
    for preset in game.presets:
        process = multiprocessing.Process(target=_check_in_process, args=(game.name, preset))
        process.start()
        process.join()
        if process.exitcode:
            if process.exitcode != 3:
                print(
                    f"game {game.name!r}, preset {preset!r}: compiled code ended its process", file=sys.stderr
                )
            return 1
    print(f"{game.name}: {len(game.presets)} presets keep the contract, in Python and compiled")
    if "zero_sum" not in game.rewards:
        print(f"{game.name} has no reward 'zero_sum', which `tienlen train` uses by default")
    return 0


if __name__ == "__main__":
    sys.exit(main())
