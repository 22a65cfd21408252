"""Rules whose every field is drawn, beside the oracles: legal plays, places, payments, sums of zero."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.tienlen_env.games.tienlen import test_engine_oracle, test_payment_oracle
from tienlen_env.engine.backends import BackendName
from tienlen_env.errors import RulesError
from tienlen_env.games.common.cards import FULL_DECK, format_cards
from tienlen_env.games.tienlen.rules import FLAT_FIELDS, PRESETS, Rules, deck_of

# Values of each field besides the default.
OTHERS: dict[str, list[Any]] = {
    "num_players": [2, 3],
    "opening": ["every"],
    "opening_play": ["alone", "free"],
    "run_min": [0, 2, 5],
    "set_run_min": [(2, 0, 0), (2, 2, 2), (0, 0, 0)],
    "twos_in": ["runs", "set_runs", "both"],
    "flush_lock": [True],
    "chops": [{}, {1: ("4x1",)}, {1: ("2x3", "4x1"), 2: ("2x4", "4x1")}, {1: ("1x5", "4x1"), 3: ("2x5",)}],
    "chop_longer": [False],
    "ladder": [("2x3", "4x1"), ("2x3", "4x1", "2x4", "2x5", "2x6")],
    "pass_lock": [False],
    "rejoin": [("2x3",), ("2x4",), ("4x1",)],
    "knockout": ["trick", "round"],
    "heir": ["last_live"],
    "points": [],  # their number depends on that of the players
    "target": [0, 3],
    "rejoin_twos": [True],
    "suits_bind": [True],
    "round_end": ["first"],
    "instant_wins": [("dragon", "six_pairs"), ("one_colour", "three_triples", "four_threes", "four_twos")],
    "quad_is_two_pairs": [False],
    "cong": ["plays_on"],
    "last_two": ["ends"],
    "pay_places": [(2, 1), (3,)],
    "pay_card": [1, 2],
    "pay_held_twos": [(1, 2), (3, 6)],
    "pay_held_bombs": [{"2x3": 3, "4x1": 6}, {"4x1": 9}],
    "held_overlap": ["quads_first"],
    "held_to": ["first"],
    "pay_cong": [4, 40],
    "cong_held": ["replaced"],
    "pay_chop_twos": [(1, 2), (0, 5)],
    "pay_chop_bombs": [{"2x3": 3}, {"4x1": 6}],
    "chop_chain": ["each"],
    "chop_doubles": [True],
    "chop_follow": ["free"],
    "chop_out": ["nobody"],
    "pay_instant": [4],
    "pay_last_two": [5],
    "pay_last_three": [7],
    "deck": [deck_of("345679TJA2", "sdh"), format_cards(FULL_DECK ^ 3 << 20), deck_of("3478TJQK2", "sc")],
    "cards_each": [4, 7, 10, 17],
    "pay_first": [2, 5],
    "last_card_duty": ["highest", "pays"],
}
# The oracle of payments has no knockouts and no flush lock, the other one none of these.
NEVER = {
    "paid": {"flush_lock", "knockout", "points"},
    "free": {name for name, values in OTHERS.items() if name.startswith("pay_")}
    | {"suits_bind", "round_end", "instant_wins", "last_two"},
}


def drawn(rng: random.Random, kind: str) -> Rules:
    """Valid rules, each field with its default in two of three cases."""
    while True:
        chosen = {
            name: rng.choice(values)
            for name, values in OTHERS.items()
            if values and name not in NEVER[kind] and rng.random() < 1 / 3
        }
        try:
            rules = Rules(**chosen)
        except RulesError:
            continue
        if rules.has_payments == (kind == "paid"):
            return rules


def compare(kind: str, number: int, decisions: int, backend: BackendName) -> None:
    rng = random.Random(f"drawn {kind}")
    for i in range(number):
        rules = drawn(rng, kind)
        if kind == "paid":
            test_payment_oracle.compare(rules, decisions, f"{kind} {i}", backend)
        else:
            test_engine_oracle.compare(rules, "game" if i % 2 else "round", decisions, f"{kind} {i}")


def test_every_field_is_drawn() -> None:
    assert set(OTHERS) == set(FLAT_FIELDS)
    rng = random.Random(1)
    rules = [drawn(rng, kind) for kind in ("paid", "free") for _ in range(300)]
    for name, values in OTHERS.items():
        assert len({found.flat()[name] for found in rules}) > min(len(values), 2), name
    assert not set(rules) & set(PRESETS.values())


@pytest.mark.parametrize("kind", ["paid", "free"])
def test_drawn_rules(kind: str) -> None:
    compare(kind, 12, 60, "python")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["paid", "free"])
def test_nightly_drawn_rules(kind: str) -> None:
    compare(kind, 400, 400, "numba")
