"""The most legal plays that a hand of 13 cards can have on lead, by exhaustion (RULES.md 7.3).

On lead (no table, no opening duty) a combination is legal whatever its suits, so the number of card sets that
a hand can play depends only on how many cards of each rank it holds; so does the number of table actions of a
variant without flush actions, since a hand with c cards of a rank has c - n + 1 tops of sets of n there.
There are 3,598,180 vectors of 13 counts 0..4 that sum to 13; this script tries them all, in about half a
minute. `test_actions.py` keeps the witnesses and counts them anew with the oracle and `held` of the table.

Run it from the repository root: ``python -m tests.oracles.max_legal``.
"""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from tienlen_env.games.tienlen.rules import PRESETS, Rules

Counts = npt.NDArray[np.uint8]


def count_vectors(num_ranks: int = 13, num_cards: int = 13) -> Counts:
    """All vectors of `num_ranks` counts 0..4 that sum to `num_cards`."""
    vectors = np.zeros((1, 0), np.uint8)
    for rank in range(num_ranks):
        vectors = np.concatenate(
            [np.hstack([vectors, np.full((len(vectors), 1), c, np.uint8)]) for c in range(5)]
        )
        held = vectors.sum(axis=1, dtype=np.int64)
        vectors = vectors[(held <= num_cards) & (held + 4 * (num_ranks - 1 - rank) >= num_cards)]
    return vectors


def num_leads(rules: Rules, counts: Counts, *, table: bool) -> npt.NDArray[np.int64]:
    """Leads of hands with given counts: sets of cards, or actions of the table (variants without flush)."""
    total = np.zeros(len(counts), np.int64)
    for n in (1, 2, 3, 4):
        choices = np.array([comb(c, n) for c in range(5)], np.int64)
        tops = np.array([max(c - n + 1, 0) for c in range(5)], np.int64)
        as_top, as_inner = (tops, np.minimum(tops, 1)) if table else (choices, choices)
        total += as_top[counts].sum(axis=1)
        minimum = rules.run_min if n == 1 else rules.set_run_min[n - 2]
        with_two = rules.twos_in in ("both", "runs" if n == 1 else "set_runs")
        if not minimum:
            continue
        for low in range(13):
            inner = as_inner[counts[:, low]]
            for high in range(low + 1, 13 if with_two else 12):
                if high - low + 1 >= minimum:
                    total += inner * as_top[counts[:, high]]
                inner = inner * as_inner[counts[:, high]]
    return total


def most_leads(rules: Rules, vectors: Counts, *, table: bool) -> tuple[int, list[int]]:
    """The maximum over all hands, and the first count vector that has it."""
    best, witness = -1, [0] * 13
    for start in range(0, len(vectors), 200_000):
        part = vectors[start : start + 200_000]
        leads = num_leads(rules, part, table=table)
        at = int(leads.argmax())
        if leads[at] > best:
            best, witness = int(leads[at]), part[at].tolist()
    return best, witness


def hand_of(counts: list[int]) -> list[int]:
    """A hand with given counts: the lowest suits of each rank."""
    return [4 * rank + suit for rank, c in enumerate(counts) for suit in range(c)]


def main() -> None:
    """Print the maxima of every preset."""
    vectors = count_vectors()
    print(f"{len(vectors):,} count vectors")
    for name, rules in PRESETS.items():
        best, witness = most_leads(rules, vectors, table=False)
        print(f"{name}: {best} sets of cards, counts {witness}")
        if not rules.flush_lock:
            best, witness = most_leads(rules, vectors, table=True)
            print(f"{name}: {best} table actions, counts {witness}")


if __name__ == "__main__":
    main()
