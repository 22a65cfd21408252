"""The packed mask of legal actions by its definition, in plain Python, for every way it is laid out."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tienlen_env.games.common import legal, spec as S
from tienlen_env.games.common.bits import PackedBits, shift_right
from tienlen_env.games.common.legal import legal_kernels

TURN, HAND, LEGAL = 2, 3, 7


def cards_of(hand: int, actions: Any, action: int) -> int:
    return 1000 * hand + actions[0] + action


@pytest.mark.parametrize("num_actions", [1, 5, 31, 32, 33, 63, 64, 65, 100, 128, 129, 190, 192, 200, 256])
@pytest.mark.parametrize("words", [(1, 1), (2, 3), (4, 2)])
def test_every_function(num_actions: int, words: tuple[int, int]) -> None:
    num_words = -(-num_actions // 64)
    kernels = legal_kernels(
        turn=TURN, hand=HAND, legal=LEGAL, action_cards=cards_of, usual_words=words[0], other_words=words[1]
    )
    spec, rng = [0] * S.HEADER_SIZE, random.Random(num_actions)
    spec[S.NUM_ACTIONS], spec[S.NUM_WORDS] = num_actions, num_words
    for density in (0.02, 0.5, 1):
        legal = [i for i in range(num_actions) if rng.random() < density]
        # What stands on both sides of the mask is not the mask's.
        row = [-1] * LEGAL + [0] * num_words + [-1]
        row[TURN], row[HAND], row[HAND + 1] = 1, 5, 8
        for action in legal:
            row[LEGAL + action // 64] |= 1 << action % 64
        row = [word - 2**64 if word >= 2**63 else word for word in row]
        before = list(row)
        assert [i for i in range(-3, num_actions + 70) if kernels.is_legal(row, spec, i)] == legal  # type: ignore[arg-type]
        assert kernels.num_legal(row, spec) == len(legal)  # type: ignore[arg-type]
        found = [kernels.nth_legal(row, spec, n) for n in range(-1, len(legal) + 2)]  # type: ignore[arg-type]
        assert found == [-1, *legal, -1, -1]
        chosen = [kernels.choose_legal(row, spec, draw) for draw in (0.0, 0.5, 1 - 2**-53)]  # type: ignore[arg-type]
        middle = legal[len(legal) // 2] if legal else -1
        assert chosen == ([legal[0], middle, legal[-1]] if legal else [-1, -1, -1])
        ids, cards = [-7] * (len(legal) + 4), [-7] * (len(legal) + 4)
        end = kernels.list_legal(row, spec, [30], ids, cards, 2)  # type: ignore[arg-type]
        assert end == 2 + len(legal)
        assert ids == [-7, -7, *legal, -7, -7]
        assert cards == [-7, -7, *(8030 + action for action in legal), -7, -7]
        mask = np.full(num_actions + 6, 9, np.int8)
        # Rows follow one another: only from the second row on may a piece begin before its own.
        kernels.write_mask(row, spec, mask, 3)  # type: ignore[arg-type]
        assert mask.tolist() == [9] * 3 + [int(i in legal) for i in range(num_actions)] + [9] * 3
        packed = np.full(num_words, -1)
        kernels.write_mask(row, spec, PackedBits(packed), 0)  # type: ignore[arg-type]
        assert [i for i in range(num_actions) if int(packed[i // 64]) >> i % 64 & 1] == legal
        assert row == before
        kernels.clear_legal(row, spec)  # type: ignore[arg-type]
        assert row == before[:LEGAL] + [0] * num_words + before[LEGAL + num_words :]
        row = list(before)
        row[TURN] = -1
        assert kernels.list_legal(row, spec, [30], ids, cards, 2) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("num_actions", [32, 40, 64, 100, 128])
def test_no_word_is_shifted_by_all_its_bits(num_actions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python shifts all bits out; compiled code may do anything."""

    def in_range(x: int, n: int) -> int:
        assert 0 <= n < 64
        return shift_right(x, n)

    monkeypatch.setattr(legal, "shift_right", in_range)
    kernels = legal_kernels(turn=TURN, hand=HAND, legal=LEGAL)
    spec, out = [0] * S.HEADER_SIZE, np.zeros(num_actions, np.int8)
    spec[S.NUM_ACTIONS], spec[S.NUM_WORDS] = num_actions, -(-num_actions // 64)
    kernels.write_mask([0] * LEGAL + [-1, -1, 0], spec, out, 0)  # type: ignore[arg-type]
    assert out.all()


def test_actions_that_are_no_cards() -> None:
    kernels = legal_kernels(turn=TURN, hand=HAND, legal=LEGAL)
    spec, ids, cards = [0] * S.HEADER_SIZE, [0] * 3, [9] * 3
    spec[S.NUM_ACTIONS], spec[S.NUM_WORDS] = 3, 1
    row = [0] * LEGAL + [5, 0]
    assert kernels.list_legal(row, spec, [], ids, cards, 0) == 2  # type: ignore[arg-type]
    assert (ids, cards) == ([0, 2, 0], [0, 0, 9])
