"""Endgames of Tiến lên with exactly one winning play, from self-play.

A puzzle has two players left, and all other cards are played, so the player to move can deduce the other
hand. Exactly one legal action wins (`tienlen_agents.endgame` proves it), and there are others. A line is

    MINE OTHER TABLE ANSWER RATING

with cards as in records, ``-`` for an empty table or a pass. In terms of the engine it is a round of two
players with these hands; if there is a table, the other player has led it. The same seed gives the same
lines, and fewer of them are the first ones.

The rating grows with what makes a position hard: the positions that the proof needs, whether `heuristic`
misses the play, and how little a network expects it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from tienlen_agents import load
from tienlen_agents.arena.play import play_deals
from tienlen_agents.command import interruptible_work, program, shows_any_text
from tienlen_agents.endgame import EndgameSolver, open_endings
from tienlen_agents.files import write_atomic
from tienlen_agents.networks.shipped import ShippedNetworks
from tienlen_agents.settings import Parser, Range, reader
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import format_cards
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import get_rules
from tienlen_env.single.tienlen import Round

RULES: Final = "cardgames"
DEALS: Final = 256  # played at once
FEWEST, MOST = 3, 8  # cards in a hand
MIN_LEGAL: Final = 3  # plays to choose from
NETWORK: Final = "tienlen-general-v4"  # a newer one would change the puzzles, their ratings and addresses
EASY: Final = 0.75  # what the network expects at least of a play that teaches nothing


def mine(seed: int) -> Iterator[str]:
    """The lines of the puzzles of a seed, without end."""
    heuristic, network = load("heuristic"), ShippedNetworks(file=NETWORK)
    four, two = EndgameSolver(get_rules(RULES)), EndgameSolver(get_rules(RULES, 2))
    seen: set[tuple[int, ...]] = set()
    rng = np.random.default_rng(seed)
    found: list[str] = []

    def look(_: int, view: View, chosen: IntArray) -> None:
        games, rows = open_endings(view)
        if not len(games):
            return
        turn, seats = rows[:, R.TURN], np.arange(len(rows))
        others = np.log2(rows[:, R.LIVE] ^ (1 << turn)).astype(np.int64)
        mine, other = rows[seats, R.HAND + turn], rows[seats, R.HAND + others]
        is_right = (rows[:, R.TABLE] == 0) | (rows[:, R.OWNER] == others)
        for hand in (mine, other):
            is_right &= (np.bitwise_count(hand) >= FEWEST) & (np.bitwise_count(hand) <= MOST)
        is_right &= view.num_legal[games] >= MIN_LEGAL
        games, rows, mine, other = games[is_right], rows[is_right], mine[is_right], other[is_right]
        solution = four.solve(rows)
        is_one = (solution.value == 1) & (solution.best_mask.sum(axis=1) == 1)
        for i in np.flatnonzero(is_one):
            table = int(view.table_cards[games[i]]) if rows[i, R.TABLE] else 0
            position = (int(mine[i]), int(other[i]), table)
            if position in seen:
                continue
            seen.add(position)
            answer = int(solution.best_mask[i].argmax())
            played = round_of(*position)
            alone = two.solve(np.array([played.row]))
            if alone.value[0] != 1 or np.flatnonzero(alone.best_mask[0]).tolist() != [answer]:
                continue
            one = view.select(np.array([games[i]]))
            logarithms = network.log_probabilities(one)
            at = one.legal_actions.action.tolist().index(answer)
            expected, is_missed = math.exp(float(logarithms[at])), int(chosen[games[i]]) != answer
            if expected > EASY and not is_missed:
                continue  # all see it
            rating = (
                600 + 80 * math.log2(1 + int(alone.num_nodes[0])) + 250 * is_missed + 400 * (1 - expected)
            )
            cards = int(one.cards_of(np.array([answer]))[0])
            texts = (format_cards(mask, "") or "-" for mask in (*position, cards))
            found.append(" ".join([*texts, str(round(rating))]))

    while True:
        keys = rng.integers(-(1 << 63), 1 << 63, DEALS, dtype=np.int64)
        play_deals([heuristic], [0] * 4, keys, RULES, history=0, on_decisions=look)
        yield from found
        found.clear()


def round_of(mine: int, other: int, table: int) -> Round:
    """The position of a puzzle as a round of two players; seat 0 is to move.

    Args:
        mine: the hand of the player to move, a mask.
        other: the other hand.
        table: what the other player has just played, 0 for nothing.
    """
    played = Round.from_hands(get_rules(RULES, 2), [mine, other | table], leader=1 if table else 0)
    if table:
        played.play(format_cards(table))
    return played


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = Parser(
        prog=program("tienlen_table.tienlen_puzzles"),
        description="Mine endgames with exactly one winning play from self-play, a line each.",
    )
    parser.add_argument("--count", type=reader(int, Range(1, 10**6)), default=1000, help="(%(default)s)")
    parser.add_argument("--seed", type=reader(int, Range(0, 2**63 - 1)), default=0, help="(%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: to the screen")
    options = parser.parse_args(arguments)

    def work() -> int:
        lines = list(itertools.islice(mine(options.seed), options.count))
        text = "".join(line + "\n" for line in lines)
        if options.out:
            write_atomic(options.out, text.encode())
        else:
            print(text, end="")
        return 0

    return interruptible_work(parser.prog, work)


if __name__ == "__main__":
    raise SystemExit(main())
