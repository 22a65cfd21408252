"""Seatings: the slots of a match-up, all its seatings, and their titles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, permutations
from typing import Literal, get_args

import numpy as np

from tienlen_env.engine.agent import Agent
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.texts import printable

Permutations = Literal["rotations", "all"]


def lineup_of(composition: str | None, num_players: int) -> list[int]:
    """The slots of two agents, 0 and 1.

    Args:
        composition: seats of the first and of the second agent, ``"2v2"``; None is one against the rest.
        num_players: P.

    Raises:
        ValueError: a composition that does not fill the seats.
    """
    counts = re.fullmatch(r"([1-9])v([1-9])", composition or f"1v{num_players - 1}")
    if counts is None or int(counts[1]) + int(counts[2]) != num_players:
        raise ValueError(
            f"composition={composition!r}: expected <seats>v<seats>, {num_players} in all, "
            f"e.g. '1v{num_players - 1}'"
        )
    return [0] * int(counts[1]) + [1] * int(counts[2])


def seatings(lineup: Sequence[int]) -> IntArray:
    """All distinct seatings of a match-up, int64 (R, P).

    For one against three these are the P rotations; for two against two, 6; for four different agents all 24.
    Each agent sits in each seat, and before and after each other agent, equally often.

    Args:
        lineup: the index of an agent for each of P slots, in any order.
    """
    return np.array(sorted(set(permutations(lineup))), np.int64)


@lru_cache(maxsize=256)
def blocks(lineup: tuple[int, ...], which: Permutations = "rotations") -> IntArray:
    """Blocks of seatings, int64 (N, R, P): deal d is played in the R seatings of block ``d % N``.

    In each block every agent sits in every seat equally often. ``"all"`` has one block with all `seatings`.
    ``"rotations"`` has the R = P rotations of one seating in each block; the N blocks contain every
    circular order once, so that over the deals each agent sits before and after each other agent equally
    often. If some circular order has fewer rotations than others (2 v. 2: ABAB), there is one block with
    all seatings.

    Args:
        lineup: the index of an agent for each of P slots, ascending.
        which: ``"rotations"`` or ``"all"``.

    Returns:
        The slot, an index into `lineup`, in each seat. An agent's slots are in ascending order in each
        seating.

    Raises:
        ValueError: another word.
    """
    check_word("permutations", which, get_args(Permutations))
    orders = seatings(lineup)
    if which == "rotations":
        turned: dict[bytes, IntArray] = {}
        for order in orders:
            # Not by np.unique, which imports as much again as NumPy itself.
            ring = np.array(sorted({tuple(np.roll(order, shift).tolist()) for shift in range(len(order))}))
            turned[ring.tobytes()] = ring
        rings = list(turned.values())
        found = np.stack(rings) if all(len(ring) == len(lineup) for ring in rings) else orders[None]
    else:
        found = orders[None]
    # The first seat of an agent is its first slot, the next its second. A stable sort gives the seats in the
    # order of the slots; its inverse is the slot of each seat.
    slots: IntArray = np.argsort(np.argsort(found, axis=-1, kind="stable"), axis=-1)
    return slots


def rosters(num_agents: int, num_players: int) -> list[tuple[int, ...]]:
    """All ways to fill P slots with E agents, except those with one agent only.

    Over all of them every agent has the same number of slots, and meets every other agent equally often.
    """
    everything = combinations_with_replacement(range(num_agents), num_players)
    return [lineup for lineup in everything if len(set(lineup)) > 1]


def unique_names(agents: Sequence[Agent]) -> list[str]:
    """The agents' names on one line each, numbered where several share one: ``"greedy #1"``."""
    return numbered([printable(agent.name) for agent in agents])


def numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number where several are the same: ``"greedy #1"``."""
    total, seen = Counter(names), Counter[str]()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} #{seen[name]}" if total[name] > 1 else name)
    return unique


def title_of(names: Sequence[str], lineup: Sequence[int]) -> str:
    """The title of a match-up: ``"greedy v. 3 × random"``, ``"greedy, random, greedy_long, search"``."""
    counts = Counter(lineup)
    parts = [f"{counts[i]} × {name}" if counts[i] > 1 else name for i, name in enumerate(names)]
    return (" v. " if len(parts) == 2 else ", ").join(parts)
