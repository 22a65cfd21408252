"""How often a hand of 13 cards is an instant win (RULES.md 4.11, 4.29, 4.30).

The exact numbers come from counting hands rank by rank: of each rank a hand holds one of 16 sets of suits.
A pattern is a small machine that reads these sets from the 3s to the 2s. The shares in deals come from the
engine's deals. ``python -m tests.instant_wins`` prints the table of 4.30, with ``--deals N`` beside N deals.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen.rules import PRESETS, Rules

NUM_RANKS, TWO = 13, 12
ALL_HANDS = comb(52, 13)
BLACK, RED = 0b0011, 0b1100
CHUNK = 100_000


@dataclass(frozen=True)
class Machine:
    """Reads the suits held of each rank, 3s first: a state, a step and whether the last state is a win."""

    start: Any
    step: Callable[[Any, int, int], Any]  # state, rank, suits held of it as 4 bits
    wins: Callable[[Any], bool]


def _size(suits: int) -> int:
    return suits.bit_count()


def _run(held: Callable[[int], bool], length: int) -> Callable[[int, int, int], int]:
    """A step that counts ranks in a row, without the 2s; `length` is kept once it is reached."""
    return lambda run, rank, suits: run if run == length or rank == TWO else run + 1 if held(suits) else 0


def machine(rules: Rules, word: str) -> Machine:
    """The pattern of a word of `Rules.instant_wins`."""
    bound = rules.suits_bind
    if word == "dragon" and bound:
        return Machine(15, lambda full, rank, suits: full if rank == TWO else full & suits, bool)
    if word == "dragon":
        return Machine(True, lambda full, rank, suits: full and (rank == TWO or suits > 0), bool)
    if word in ("four_twos", "four_threes"):
        at = TWO if word == "four_twos" else 0
        return Machine(False, lambda has, rank, suits: has or (rank == at and suits == 15), bool)
    if word == "five_pair_run" and bound:
        black, red = (_run(lambda s, c=c: s & c == c, 5) for c in (BLACK, RED))
        return Machine((0, 0), lambda r, k, s: (black(r[0], k, s), red(r[1], k, s)), lambda r: 5 in r)
    if word == "five_pair_run":
        return Machine(0, _run(lambda suits: _size(suits) >= 2, 5), lambda run: run == 5)
    if word == "six_pairs":

        def pairs(rank: int, suits: int) -> int:
            if bound and rank != TWO:
                found = (suits & BLACK == BLACK) + (suits & RED == RED)
            else:
                found = _size(suits) // 2
            return found if rules.quad_is_two_pairs else min(found, 1)

        return Machine(0, lambda n, rank, suits: n + pairs(rank, suits), lambda n: n >= 6)
    if word in ("one_suit", "one_colour"):
        sets = (1, 2, 4, 8) if word == "one_suit" else (BLACK, RED)
        return Machine(
            0, lambda seen, _, suits: seen | suits, lambda seen: any(seen & s == seen for s in sets)
        )
    if word == "triple_run":
        return Machine(0, _run(lambda suits: _size(suits) >= 3, 3), lambda run: run == 3)
    least = {"three_triples": 3, "three_quads": 4}[word]
    return Machine(0, lambda n, _, suits: n + (_size(suits) >= least), lambda n: n >= 3)


def count_hands(rules: Rules, *words: str) -> int:
    """How many hands of 13 cards show at least one of the patterns."""
    machines = [machine(rules, word) for word in words]
    states: Counter[tuple[int, tuple[Hashable, ...]]] = Counter({(0, tuple(m.start for m in machines)): 1})
    for rank in range(NUM_RANKS):
        reached: Counter[tuple[int, tuple[Hashable, ...]]] = Counter()
        for (size, state), ways in states.items():
            for suits in range(16):
                if size + _size(suits) <= 13:
                    after = tuple(m.step(s, rank, suits) for m, s in zip(machines, state, strict=True))
                    reached[size + _size(suits), after] += ways
        states = reached
    return sum(
        ways
        for (size, state), ways in states.items()
        if size == 13 and any(m.wins(s) for m, s in zip(machines, state, strict=True))
    )


Suits = npt.NDArray[np.int32]


def suits_by_rank(hands: npt.NDArray[np.int64]) -> Suits:
    """The suits held of each rank, 3s first, from masks of cards of any shape: (13, ...)."""
    return np.stack([(hands >> (4 * rank) & 15).astype(np.int32) for rank in range(NUM_RANKS)])


def shows(rules: Rules, word: str, suits: Suits) -> npt.NDArray[np.bool_]:
    """Whether each hand shows a pattern: the same machine, with its states numbered."""
    reader = machine(rules, word)
    numbers: dict[Any, int] = {reader.start: 0}
    at = np.zeros(suits.shape[1:], np.int32)
    for rank, held in enumerate(suits):
        step = []
        for state in list(numbers):
            after = [reader.step(state, rank, s) for s in range(16)]
            step += [numbers.setdefault(new, len(numbers)) for new in after]
        at = np.take(np.array(step, np.int32), at << 4 | held)
    return np.array([reader.wins(state) for state in numbers])[at]


def deals(num_deals: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Masks of the four hands of that many of the engine's deals, in chunks of ``CHUNK``: (deals, 4)."""
    batch = Batch("cardgames", num_deals)
    batch.deal(np.arange(seed, seed + num_deals))
    return batch.state.hands.copy()


@dataclass(frozen=True)
class Row:
    """A pattern in the table of 4.30."""

    preset: str
    word: str
    hands: int

    @property
    def probability(self) -> float:
        return self.hands / ALL_HANDS

    def standard_error(self, num_deals: int) -> float:
        return sqrt(self.probability * (1 - self.probability) / num_deals)


def rows() -> list[Row]:
    """Every pattern of the presets that have instant wins, and "any" of a preset's."""
    found = []
    for name in ("south", "north"):
        rules = PRESETS[name]
        for word in rules.instant_wins:
            found.append(Row(name, word, count_hands(rules, word)))
        found.append(Row(name, "any", count_hands(rules, *rules.instant_wins)))
    return found


def as_line(row: Row) -> str:
    """A row as RULES.md writes it."""
    share = row.probability
    return f"| `{row.preset}` | {row.word} | {row.hands:,} | {share:.3g} | {round(1 / share):,} |"


def shares(num_deals: int, seed: int = 0) -> dict[tuple[str, str], tuple[int, int]]:
    """Deals where the first hand shows a pattern, and deals where any of the four does."""
    total: Counter[tuple[str, str, int]] = Counter()
    for first in range(0, num_deals, CHUNK):
        hands = suits_by_rank(deals(min(CHUNK, num_deals - first), seed + first))
        for name in ("south", "north"):
            rules = PRESETS[name]
            found = {word: shows(rules, word, hands) for word in rules.instant_wins}
            found["any"] = np.logical_or.reduce(list(found.values()))
            for word, hits in found.items():
                total[name, word, 0] += int(hits[:, 0].sum())
                total[name, word, 1] += int(hits.any(axis=1).sum())
    return {(name, word): (total[name, word, 0], total[name, word, 1]) for name, word, _ in total}


def declared(rules: Rules, num_deals: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Of the engine's deals of four hands: the seat that has to declare, -1 for none."""
    batch = Batch(replace(rules, num_players=4), num_deals)
    batch.deal(np.arange(seed, seed + num_deals))
    declare = batch.action_table.declare
    assert declare is not None
    return np.where(batch.action_mask()[:, declare], batch.state.turn, -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deals", type=int, default=0, help="compare with this many deals")
    number = parser.parse_args().deals
    measured = shares(number) if number else {}
    for row in rows():
        line = as_line(row)
        if number:
            own, anybody = measured[row.preset, row.word]
            away = (own / number - row.probability) / row.standard_error(number)
            line += f" {own / number:.3g} ({away:+.1f} s.e.) | {anybody / number:.3g} |"
        print(line)


if __name__ == "__main__":
    main()
