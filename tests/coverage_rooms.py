"""The lines and branches that the tests reach, a row for each room: the end of `make coverage`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from fnmatch import fnmatch
from typing import Final

# These run elsewhere, so that only a part of their lines is seen: on a GPU, in a cluster whose processes are
# killed, in a browser, in a process without packages. PufferLib is not installed for the tests.
APART: Final = {
    "CUDA, in the simulator": ("extensions/gpu/tienlen_gpu/*",),
    "Ray": ("extensions/cluster/tienlen_cluster/pool.py", "extensions/cluster/tienlen_cluster/training.py"),
    "entries of WebAssembly": ("*/wasm/entries.py",),
    "keeper of programs": ("agents/tienlen_agents/external/keeper.py",),
    "PufferLib": ("extensions/bridges/tienlen_bridges/pufferlib.py",),
}
TOTAL: Final = "all rows above"
COUNTS: Final = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def room_of(path: str) -> str:
    """The row of a file."""
    for name, patterns in APART.items():
        if any(fnmatch(path, pattern) for pattern in patterns):
            return name
    folders = path.split("/")[:-1]
    return "/".join(folders[: 3 if folders[0] == "agents" else 2])


def main() -> None:
    """Print the table in Markdown, from the JSON of ``coverage json`` in the standard input."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for path, file in json.load(sys.stdin)["files"].items():
        room = room_of(path)
        for name in (room,) if room in APART else (room, TOTAL):
            rooms[name] = [
                total + file["summary"][count] for total, count in zip(rooms[name], COUNTS, strict=True)
            ]
    last = [TOTAL, *APART]
    print("| room | lines | reached | branches | reached |\n|---|---|---|---|---|")
    for name in [*sorted(rooms.keys() - set(last)), *last]:
        lines, lines_reached, branches, branches_reached = rooms[name]
        print(
            f"| {name} | {lines:,} | {lines_reached / lines:.1%} "
            f"| {branches:,} | {branches_reached / branches:.1%} |"
        )


if __name__ == "__main__":
    main()
