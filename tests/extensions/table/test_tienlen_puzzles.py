"""The shipped puzzles: the file comes from its seed, and another solver finds exactly one winning play."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from tests.needs import ROOT
from tienlen_agents.endgame import EndgameSolver
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.tienlen.rules import get_rules
from tienlen_table.tienlen_puzzles import main, mine, round_of

FILE = ROOT / "extensions" / "table" / "web" / "src" / "puzzles.txt"
SEED = 42
LINES = FILE.read_text(encoding="utf-8").splitlines()
TWO = 12  # the rank of the 2s

# A play: the width of its ranks, their number, its top card, its cards (a mask). None: nothing, or a pass.
Play = tuple[int, int, int, int]


def plays_of(hand: int) -> list[Play]:
    """All combinations of a hand under the rules of cardgames.io, inner cards the lowest."""
    ranks = [[card for card in range(4 * rank, 4 * rank + 4) if hand >> card & 1] for rank in range(13)]
    found: list[Play] = []
    for width, first in itertools.product((1, 2, 3, 4), range(13)):
        mask = 0
        for length, rank in enumerate(range(first, 13), 1):
            if len(ranks[rank]) < width or (length > 1 and rank == TWO):
                break
            inner = sum(1 << card for card in ranks[rank][: width - 1])
            if length == 1 or (width < 3 and length >= 3):
                found += [(width, length, top, mask | inner | 1 << top) for top in ranks[rank][width - 1 :]]
            if rank == TWO:
                break
            mask |= inner | 1 << ranks[rank][width - 1]
    return found


def beats(play: Play, table: Play | None) -> bool:
    """Whether a play may follow another one."""
    if table is None or play[:2] == table[:2]:
        return table is None or play[2] > table[2]
    if table[1] != 1 or table[2] // 4 != TWO or table[0] > 3:
        return False
    return (play[0] == 2 and play[1] >= table[0] + 2) or (play[0] == 4 and table[0] == 1)


@cache
def wins(hand: int, other: int, table: Play | None) -> bool:
    """Whether the player to move wins."""
    options = [play for play in plays_of(hand) if beats(play, table)]
    if any(play[3] == hand for play in options):
        return True
    if any(not wins(other, hand & ~play[3], play) for play in options):
        return True
    return table is not None and not wins(other, hand, None)


def position(line: str) -> tuple[int, int, int, int]:
    """The hands, the table and the answer of a line, as masks."""
    masks = [0 if word == "-" else parse_cards(word) for word in line.split()[:4]]
    return masks[0], masks[1], masks[2], masks[3]


def check(lines: list[str]) -> None:
    """Exactly one play wins, and it is the answer, says the solver of this file."""
    for line in lines:
        hand, other, on_table, answer = position(line)
        table = next((play for play in plays_of(on_table) if play[3] == on_table), None)
        assert (table is None) == (on_table == 0)
        options = [play for play in plays_of(hand) if beats(play, table)]
        winning = [p[3] for p in options if p[3] == hand or not wins(other, hand & ~p[3], p)]
        if table is not None and not wins(other, hand, None):
            winning.append(0)
        assert winning == [answer], line
        wins.cache_clear()


def test_a_thousand_different_puzzles_ship() -> None:
    assert len(LINES) == 1000
    assert len({tuple(line.split()[:3]) for line in LINES}) == 1000


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_solver_of_endgames_proves_each(step: int) -> None:
    rounds = [round_of(*position(line)[:3]) for line in LINES[::step]]
    found = EndgameSolver(get_rules("cardgames", 2)).solve(np.array([played.row for played in rounds]))
    assert (found.value == 1).all()
    assert (found.best_mask.sum(axis=1) == 1).all()
    actions = found.best_mask.argmax(axis=1).tolist()
    for line, played, action in zip(LINES[::step], rounds, actions, strict=True):
        assert {play.action: int(play) for play in played.legal_plays()}[action] == position(line)[3]


def test_another_solver_finds_the_same_play() -> None:
    check(LINES[::50])


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_another_solver_finds_the_same_plays(part: int) -> None:
    check(LINES[part::4])


def test_the_file_comes_from_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "5", "--seed", str(SEED)]) == 0
    assert capsys.readouterr().out.splitlines() == LINES[:5]


@pytest.mark.nightly
def test_the_whole_file_comes_from_its_seed() -> None:
    assert list(itertools.islice(mine(SEED), len(LINES))) == LINES
