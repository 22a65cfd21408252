"""Play sequences counted exhaustively, by both backends and by the oracle (data in `perft/positions.txt`)."""

from __future__ import annotations

import copy

import pytest

from tests.oracles.oracle import Oracle
from tests.oracles.oracle_south import Oracle as PaidOracle
from tests.perft.generate import DEPTH, Position, perft_exact, perft_table, read
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.notation import NOTATION
from tienlen_env.single.tienlen import Round

POSITIONS = {p.name: p for p in read()}
REFERENCE_NODES = 2_500  # of a position to be counted in plain Python, and by the oracle
BACKENDS = ("numba", "python")
AnyOracle = Oracle | PaidOracle

position_names = pytest.mark.parametrize("name", POSITIONS)


def depths(counts: tuple[int, ...], most: int, deepest: int = DEPTH) -> list[int]:
    """The depths where a slow counter visits no more than `most` positions."""
    return [d for d in range(1, deepest + 1) if d == 1 or counts[d - 2] <= most]


@position_names
def test_exact_sequences(name: str) -> None:
    position = POSITIONS[name]
    for backend, most in zip(BACKENDS, (10**6, REFERENCE_NODES), strict=True):
        round_ = Round.from_record(position.record, backend=backend)  # type: ignore[arg-type]
        for depth in depths(position.exact, most):
            assert perft_exact(round_, depth) == position.exact[depth - 1], (backend, depth)


@position_names
def test_sequences_of_actions(name: str) -> None:
    position = POSITIONS[name]
    for backend, most in zip(BACKENDS, (10**6, REFERENCE_NODES), strict=True):
        round_ = Round.from_record(position.record, backend=backend)  # type: ignore[arg-type]
        for depth in depths(position.table, most):
            assert perft_table(round_, depth) == position.table[depth - 1], (backend, depth)


def oracle_at(position: Position) -> AnyOracle:
    record = NOTATION.parse(position.record)
    deal = Round.from_record(position.record.split(":")[0] + ":")
    is_paid = record.rules.has_payments
    hands = [deal.hand(seat) for seat in range(record.rules.num_players)]
    oracle = (PaidOracle if is_paid else Oracle)(record.rules, hands, record.leader)
    for play in record.plays:
        oracle.play(card_ids(play))
    return oracle


def perft_oracle(oracle: AnyOracle, depth: int) -> int:
    sets = oracle.legal_sets()
    if depth == 1:
        return len(sets)
    count = 0
    for some_cards in sets:
        child = copy.deepcopy(oracle)
        child.play(some_cards)
        count += perft_oracle(child, depth - 1)
    return count


@position_names
def test_the_oracle_counts_the_same(name: str) -> None:
    position = POSITIONS[name]
    oracle = oracle_at(position)
    for depth in depths(position.exact, 600, deepest=3):
        assert perft_oracle(oracle, depth) == position.exact[depth - 1], depth


@position_names
def test_table_counts_are_at_most_the_exact_ones(name: str) -> None:
    position = POSITIONS[name]
    assert len(position.exact) == len(position.table) == DEPTH
    assert position.table[0] <= position.exact[0]
    table = build_action_table(NOTATION.parse(position.record).rules)
    plays = Round.from_record(position.record).legal_plays(exact=True)
    ids = {table.declare if p.is_declaration else table.classify(p) for p in plays}
    assert len(ids) == position.table[0], "each set is one of the actions"


def test_hand_counted_cases() -> None:
    """The counts written out in the comments of the file."""
    by_hand = {
        "last_card": ([1, 0, 0, 0], [1, 0, 0, 0]),
        "two_cards_each": ([2, 6, 6, 4], [2, 6, 6, 4]),
        "pairs_of_threes": ([3, 6, 6, 4], [3, 6, 6, 4]),
        "run_with_a_choice": ([7, 15, 28], [6, 14, 27]),
        "quad_on_a_two": ([2, 8], [2, 8]),
        "opening_duty": ([2, 4], [2, 4]),
        "no_duty": ([4, 8], [4, 8]),
        "flush_lock": ([4, 13], [4, 13]),
        "no_flush_lock": ([4, 16], [4, 15]),
        "rejoin": ([2], [2]),
        "heir": ([2, 3], [2, 3]),
        "instant_win": ([1, 0, 0, 0], [1, 0, 0, 0]),
        "quad_on_a_pair_of_twos": ([4, 12], [4, 12]),
        "four_pairs_after_a_pass": ([1, 2], [1, 2]),
        "cong_is_out": ([1, 0, 0, 0], [1, 0, 0, 0]),
        "singles_of_a_suit": ([2, 6], [2, 6]),
        "pairs_of_a_colour": ([4, 7], [4, 7]),
        "last_three_of_spades": ([2, 3, 1, 0], [2, 3, 1, 0]),
    }
    for name, (exact, table) in by_hand.items():
        assert list(POSITIONS[name].exact[: len(exact)]) == exact, name
        assert list(POSITIONS[name].table[: len(table)]) == table, name
