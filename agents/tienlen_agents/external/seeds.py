"""What an agent in another process must not learn from the runs that it plays in.

**Seeds.** The seed of a match makes its deals and the seeds of its agents. Who gets the seed of an agent, and
guesses that of the match, has the deals. So an agent that may be a stranger's gets a hash of its seed, keyed
with 128 random bits of the run. The key is stored with the results, so that a run goes on and is played again
as it was. Agents in this process get their seeds as they are.

**Deals.** Every deal of a match is played in several seatings, and by every match-up of a league. A process
that met a deal twice would know the hands of the others. So each seating has a process of its own
(`spread`), and a process that would meet a deal again is started anew.
"""

from __future__ import annotations

import copy
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from tienlen_agents.settings import Pattern
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.arrays import IntArray

SEED_KEY: Final = Pattern("([0-9a-f]{32})?", "32 digits of 0..9 and a..f")  # empty for none
MAX_SEATINGS: Final = 24  # of a deal, each with a process of every such agent


class KeyedAgent(Agent, Protocol):
    """An agent in another process, or one over such an agent; in any other the attribute is missing or None.

    Attributes:
        seed_key: of the hashes that it gets as seeds; a new one for every object, until another one is set.
    """

    seed_key: str


def is_keyed(agent: Agent) -> TypeGuard[KeyedAgent]:
    """Whether an agent gets hashes as seeds."""
    return getattr(agent, "seed_key", None) is not None


def new_seed_key() -> str:
    """A random key, 32 hexadecimal digits."""
    return secrets.token_hex(16)


def hashed_seed(key: str, seed: int) -> int:
    """A seed of 32 bits that tells nothing of `seed` without the key."""
    digest = hashlib.blake2b(str(seed).encode(), key=key.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def seed_key_of(agents: Iterable[Agent], given: str = "", stored: str = "") -> str:
    """The key of a run with these agents; empty if none needs one.

    Args:
        agents: the agents.
        given: the key that is asked for.
        stored: that of the run that goes on; without both it is a new one.

    Raises:
        ValueError: a key is given, and none needs it.
    """
    if any(map(is_keyed, agents)):
        return given or stored or new_seed_key()
    if given:
        raise ValueError("seed_key: expected none, since no agent here runs in a process of its own")
    return ""


def set_seed_key(agents: Iterable[Agent], key: str) -> None:
    """Let agents in other processes get hashes with this key as seeds; with an empty one they keep theirs."""
    for agent in agents:
        if key and is_keyed(agent):
            agent.seed_key = key


# ---------------------------------------------------------------- a process for each seating


class Spread(NamedTuple):
    """Players of G games, a process for each seating of those in other processes.

    Attributes:
        players: E' agents, the given ones first.
        owner: int64 (E',), which of the given agents each of them is.
        number: int64 (E',), 0 for the given agents, else 1, 2, .. for their further processes.
        seats: int64 (G, P), the player in each seat.
    """

    players: list[Agent]
    owner: IntArray
    number: IntArray
    seats: IntArray


_others: WeakKeyDictionary[Agent, list[Agent]] = WeakKeyDictionary()  # the further processes of an agent
_met: WeakKeyDictionary[Agent, set[tuple[int, int]]] = WeakKeyDictionary()  # seeds and numbers of their deals


def close_others(agent: Agent) -> None:
    """End the further processes of an agent, which `close` of such an agent calls; they can start again."""
    for other in _others.get(agent, ()):
        close(other)


def close(agent: Agent) -> None:
    """End what an agent runs, if it says how."""
    if end := getattr(agent, "close", None):
        end()


def spread(
    agents: Sequence[Agent], seats: IntArray, num_seatings: int, deals: set[tuple[int, int]]
) -> Spread:
    """Give each seating of the deals a process of its own.

    Args:
        agents: E agents.
        seats: int64 (G, P), the agent in each seat; the seatings of a deal are adjacent.
        num_seatings: of each deal.
        deals: what identifies the deals; a process that has met one of them is ended, and starts anew.
    """
    players, owner, number, seats = list(agents), [*range(len(agents))], [0] * len(agents), seats.copy()
    for index, agent in enumerate(agents):
        if not is_keyed(agent):
            continue
        others = _others.setdefault(agent, [])
        others += [copy.deepcopy(agent) for _ in range(num_seatings - 1 - len(others))]
        met = _met.setdefault(agent, set())
        if not met.isdisjoint(deals):
            for one in (agent, *others):
                close(one)
            met.clear()
        met |= deals
        for seating in range(1, num_seatings):
            of_seating = seats[seating::num_seatings]  # a view
            of_seating[of_seating == index] = len(players)
            players.append(others[seating - 1])
            owner.append(index)
            number.append(seating)
    return Spread(players, np.array(owner), np.array(number), seats)
