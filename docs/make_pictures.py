"""Makes the pictures of the README and the site; run as ``python docs/make_pictures.py``.

The learning curves come from a run folder and have a script of their own, ``docs/plot_runs.py``.
"""

from __future__ import annotations

from pathlib import Path

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.files import write_atomic
from tienlen_env import Round
from tienlen_env.rendering import render_svg

RECORD = "tienlen/1 cardgames p4 key=000000000000012b.0 : 3s4h5h6s7c - - - 9dTsJh - - - Td Ks"
HERE = Path(__file__).parent


def main() -> None:
    """Write table.svg and pictures/arena.png."""
    write_atomic(HERE / "table.svg", render_svg(Round.from_record(RECORD).view()).encode())
    baselines = [tienlen_agents.load("greedy_long"), tienlen_agents.load("greedy")]
    report = arena.compare(tienlen_agents.load("heuristic"), baselines, num_deals=2500, seed=1)
    write_atomic(HERE / "pictures" / "arena.png", report.to_png())


if __name__ == "__main__":
    main()
