"""Who sits where: the chairs of a table, all its seatings, and what they are called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from tienlen_env.agent import Agent

IntArray = npt.NDArray[np.int64]


def lineup_of(composition: str | None, num_players: int) -> list[int]:
    """The chairs of two agents, 0 and 1.

    Args:
        composition: seats of the one and of the other, ``"2v2"``; None is one against the rest.
        num_players: P.

    Raises:
        ValueError: a composition that does not fill the table.
    """
    counts = re.fullmatch(r"([1-9])v([1-9])", composition or f"1v{num_players - 1}")
    if counts is None or int(counts[1]) + int(counts[2]) != num_players:
        raise ValueError(
            f"composition={composition!r}: expected <seats>v<seats>, {num_players} in all, "
            f"e.g. '1v{num_players - 1}'"
        )
    return [0] * int(counts[1]) + [1] * int(counts[2])


def seatings(lineup: Sequence[int]) -> IntArray:
    """All distinct seatings of a table, int64 (R, P).

    For one against three these are the P rotations; for two against two, 6; for four different agents all 24,
    so that each agent sits as often in each seat, and before and after each other.

    Args:
        lineup: an agent's index for each of P chairs, in any order.
    """
    return np.array(sorted(set(permutations(lineup))), np.int64)


def unique_names(agents: Sequence[Agent]) -> list[str]:
    """The agents' names, numbered where several share one: ``"greedy #1"``."""
    times, seen = Counter(agent.name for agent in agents), Counter[str]()
    names = []
    for agent in agents:
        seen[agent.name] += 1
        names.append(f"{agent.name} #{seen[agent.name]}" if times[agent.name] > 1 else agent.name)
    return names


def title_of(names: Sequence[str], lineup: Sequence[int]) -> str:
    """What a table is called: ``"greedy v. 3 × random"``, ``"greedy, random, greedy_long, search"``."""
    counts = Counter(lineup)
    parts = [f"{counts[i]} × {name}" if counts[i] > 1 else name for i, name in enumerate(names)]
    return (" v. " if len(parts) == 2 else ", ").join(parts)
