"""Cards, rules as data and the action table: `core.cards`, `core.rules`, `core.combos`."""

from __future__ import annotations

import json
import pickle
import random
import re
from dataclasses import replace
from importlib.resources import files
from math import comb

import numpy as np
import pytest

import tienlen_env
from tests.oracles.max_legal import count_vectors, hand_of, most_leads, num_leads
from tests.oracles.oracle import Oracle, combos_of_hand, is_suited, shape_of
from tests.plays import mask_of
from tienlen_env.errors import InvalidComboError, NotationError, RulesError, TienLenError
from tienlen_env.games.common import cards as C
from tienlen_env.games.tienlen.actions import PASS, TienlenActionTable, build_action_table, kind_name
from tienlen_env.games.tienlen.fields import NO_PAYMENTS, PAYMENT_CONSTRAINTS
from tienlen_env.games.tienlen.notation import NOTATION
from tienlen_env.games.tienlen.rules import (
    CARDGAMES,
    CONSTRAINTS,
    FLAT_FIELDS,
    FOICICA,
    MOBILE,
    PAGAT,
    PRESETS,
    QUAD,
    Payments,
    Rules,
    Shape,
    deck_of,
    get_rules,
)

TABLES = {name: build_action_table(rules) for name, rules in PRESETS.items()}
ODD_RULES = {
    "no_sequences": Rules(run_min=0, set_run_min=(0, 0, 0), chops={1: ("4x1",)}),
    "long_runs": Rules(
        run_min=5, set_run_min=(0, 2, 3), twos_in="runs", chops={2: ("3x2",)}, flush_lock=True
    ),
    "twos_in_sets": Rules(set_run_min=(2, 2, 2), twos_in="set_runs"),
}
ALL_TABLES = {**TABLES, **{name: build_action_table(rules) for name, rules in ODD_RULES.items()}}
BY_TOP = {name: table for name, table in ALL_TABLES.items() if not table.rules.suits_bind}


def random_hand(rng: random.Random, size: int = 13) -> list[int]:
    """A hand, half the time from a few neighbouring ranks, so that sequences of sets occur."""
    low = rng.randint(0, 7) if rng.random() < 0.5 else None
    pool = range(52) if low is None else range(4 * low, 4 * low + 24)
    return rng.sample(list(pool), size)


# ---------------------------------------------------------------- the table (7.1)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *(("cardgames", 452), ("mobile", 452), ("foicica", 993), ("pagat", 508)),
        *(("south", 452), ("south_count", 452), ("north", 435), ("south_winner", 452), ("bga", 452)),
    ],
)
def test_7_1_number_of_actions(name: str, count: int) -> None:
    """Beside them the pass, and the declaration where there are instant wins."""
    assert TABLES[name].num_actions == count + 1 + bool(PRESETS[name].instant_wins)


def test_7_1_counts_of_the_groups() -> None:
    """Windows × top suits; a set of n has its top among 5 - n suits."""
    sets = {(1, 1): 52, (2, 1): 39, (3, 1): 26, (4, 1): 13}
    expected = {
        "cardgames": sets
        | {(1, m): (13 - m) * 4 for m in range(3, 13)}
        | {(2, m): (13 - m) * 3 for m in range(3, 7)},
        "pagat": sets
        | {(1, m): (14 - m) * 4 for m in range(3, 14)}
        | {(2, m): (14 - m) * 3 for m in range(3, 7)},
        "foicica": sets
        | {(1, m): 2 * (14 - m) * 4 for m in range(2, 14)}
        | {(2, m): (14 - m) * 3 for m in range(2, 7)}
        | {(3, m): (14 - m) * 2 for m in range(2, 5)}
        | {(4, m): 14 - m for m in range(2, 4)},
    }
    for name, sizes in expected.items():
        found: dict[tuple[int, int], int] = {}
        for (shape, _), ids in TABLES[name].group.items():
            found[tuple(shape)] = found.get(tuple(shape), 0) + len(ids)  # type: ignore[index]
        assert found == sizes
    runs = sum(size for (n, m), size in expected["cardgames"].items() if n == 1 and m > 1)
    double_sequences = sum(size for (n, m), size in expected["cardgames"].items() if n == 2 and m > 1)
    assert (runs, double_sequences) == (220, 102)


def test_7_1_mobile_has_the_table_of_cardgames() -> None:
    for field in ("width", "length", "top"):
        np.testing.assert_array_equal(getattr(TABLES["mobile"], field), getattr(TABLES["cardgames"], field))


def test_7_1_number_of_card_sets() -> None:
    """30,228,739 plays of `cardgames`: each action counted with every choice of inner cards."""
    table = TABLES["cardgames"]
    total = 0
    for width, length, top in zip(table.width[1:], table.length[1:], table.top[1:], strict=True):
        in_top_rank = comb(int(top) % 4, int(width) - 1)
        total += in_top_rank * comb(4, int(width)) ** (int(length) - 1)
    assert total == 30_228_739


@pytest.mark.parametrize("name", ALL_TABLES)
def test_ids_are_contiguous_and_sorted_by_top_card(name: str) -> None:
    table = ALL_TABLES[name]
    following = 1
    for (shape, suited), ids in table.group.items():
        assert ids == range(following, following + len(ids))
        following = ids.stop
        tops = table.top[ids.start : ids.stop]
        assert (np.diff(tops) >= (table.cards is None)).all()  # exact actions may have the same top card
        assert (table.width[ids.start : ids.stop] == shape.width).all()
        assert (table.length[ids.start : ids.stop] == shape.length).all()
        assert (table.suited_mask[ids.start : ids.stop] == (suited and table.cards is None)).all()
        assert table.shape(ids[0]) == shape
    for other in (-1, PASS, table.num_actions):
        with pytest.raises(ValueError, match="not the id of a combination"):
            table.shape(other)
    assert following == table.num_actions - (table.declare is not None)
    assert list(table.group)[:4] == [(Shape(n, 1), False) for n in (1, 2, 3, 4)]


def test_the_pass_and_the_masks_of_the_table() -> None:
    for table in ALL_TABLES.values():
        assert (table.width[PASS], table.length[PASS], table.top[PASS]) == (0, 0, C.NO_CARD)
        assert (table.top_rank[PASS], table.num_cards[PASS]) == (-1, 0)
        assert not table.bomb_mask[PASS]
        for action in range(1, table.num_actions):
            if action == table.declare:
                assert (table.width[action], table.top[action]) == (0, C.NO_CARD)
                continue
            assert bool(table.bomb_mask[action]) == (table.shape(action) in table.rules.bombs)
        with pytest.raises(ValueError, match="read-only"):
            table.top[0] = 0


def test_flush_actions_are_twins() -> None:
    """3.4: every run of `foicica` exists as an unsuited and as a suited action; nothing else does."""
    table = TABLES["foicica"]
    is_run = (table.width == 1) & (table.length > 1)
    np.testing.assert_array_equal(table.suited_mask ^ table.unsuited_mask, is_run)
    assert not (table.suited_mask & table.unsuited_mask).any()
    assert table.suited_mask.sum() == table.unsuited_mask.sum() == 312
    for name in ("cardgames", "mobile", "pagat"):
        assert not TABLES[name].suited_mask.any()
        assert not TABLES[name].unsuited_mask.any()


def test_table_is_built_once_a_variant() -> None:
    assert build_action_table(Rules()) is build_action_table(CARDGAMES)


# ---------------------------------------------------------------- classify


def random_combo(rng: random.Random, table: TienlenActionTable, shape: Shape) -> set[int]:
    """A random combination of a shape, in any suits."""
    highest = 12 if shape.length == 1 or table.rules.twos_allowed(shape.width) else 11
    low = rng.randint(0, highest - shape.length + 1)
    suit = rng.randrange(4) if rng.random() < 0.3 else None
    found: set[int] = set()
    for rank in range(low, low + shape.length):
        one_suit = [suit] if suit is not None and shape.width == 1 else rng.sample(range(4), shape.width)
        found |= {4 * rank + s for s in one_suit}
    return found


@pytest.mark.parametrize("name", BY_TOP)
def test_classify_names_every_combination(name: str) -> None:
    """1.5, 3.2: shape, top card and flush bit of the action are those of the cards."""
    table, rng = ALL_TABLES[name], random.Random(1)
    for shape, _ in table.group:
        for _ in range(40):
            combo = random_combo(rng, table, shape)
            action = table.classify(mask_of(combo))
            assert table.shape(action) == shape
            assert table.top[action] == max(combo)
            is_run = shape.width == 1 < shape.length
            assert bool(table.suited_mask[action]) == (is_run and table.rules.flush_lock and is_suited(combo))


@pytest.mark.parametrize("name", BY_TOP)
def test_classify_refuses_what_is_no_combination(name: str) -> None:
    table, rng = ALL_TABLES[name], random.Random(2)
    num_refused = 0
    for _ in range(1500):
        some = rng.sample(range(52), rng.randint(2, 6)) if rng.random() < 0.5 else random_near_combo(rng)
        mask = mask_of(some)
        if shape_of(table.rules, some) is None:
            num_refused += 1
            with pytest.raises(InvalidComboError, match="not a combination"):
                table.classify(mask)
        else:
            assert table.shape(table.classify(mask)) == shape_of(table.rules, some)
    assert num_refused > 300


def random_near_combo(rng: random.Random) -> list[int]:
    """A block of n cards in each of m ranks, with a card taken away, added or moved now and then."""
    n, m = rng.choice([(1, 2), (1, 3), (1, 6), (2, 2), (2, 3), (2, 5), (3, 2), (3, 3), (4, 2)])
    low = rng.randint(0, 13 - m)
    found = {4 * r + s for r in range(low, low + m) for s in rng.sample(range(4), n)}
    change = rng.randrange(4)
    if change in (1, 3):
        found.discard(rng.choice(sorted(found)))
    if change in (2, 3):
        found.add(rng.randrange(52))
    return sorted(found) or [0]


@pytest.mark.parametrize("name", ["cardgames", "foicica", "long_runs"])
def test_classify_is_onto(name: str) -> None:
    """Every action is the class of some set of cards: of those that `held` finds in a full deck."""
    table = ALL_TABLES[name]
    seen = {PASS}
    for (shape, suited), ids in table.group.items():
        for action in ids:
            top = int(table.top[action])
            rank, suit = divmod(top, 4)
            inner_suits = [suit] if suited else [(suit + 1) % 4] if shape.width == 1 else range(shape.width)
            inner = {4 * r + s for r in range(rank - shape.length + 1, rank) for s in inner_suits}
            combo = inner | {top} | {4 * rank + s for s in range(shape.width - 1)}
            assert table.classify(mask_of(combo)) == action
            seen.add(action)
    assert seen == set(range(table.num_actions))


def test_classify_of_exact_actions() -> None:
    """Where suits bind an action is a set of cards; its text, shape and top card are those of the cards."""
    table = TABLES["north"]
    assert table.cards is not None
    for action in range(1, table.num_actions - 1):
        cards = C.card_ids(int(table.cards[action]))
        assert table.classify(mask_of(cards)) == action
        assert (len(cards), max(cards)) == (table.num_cards[action], table.top[action])
        assert table.held(mask_of(cards))[action]
        assert not table.held(mask_of(cards[1:]))[action]
    for text in ("3s 3h", "3s 4s 5c", "3s 3c 4d 4h 5s 5c", "3s 3c 3d 4h", "Ks As 2s", "3s 4s"):
        with pytest.raises(InvalidComboError, match="not a combination of the north rules"):
            table.classify(C.parse_cards(text))
    assert table.text(table.classify(C.parse_cards("2s 2h"))) == "pair 2s 2h"


def test_classify_of_no_cards_is_the_pass_and_no_mask_is_refused() -> None:
    table = TABLES["cardgames"]
    assert table.classify(0) == PASS
    for mask in (-1, 1 << 52):
        with pytest.raises(InvalidComboError, match="not a valid mask"):
            table.classify(mask)
    with pytest.raises(InvalidComboError, match=r"3s 4s is not a combination of the cardgames rules .*1\.5"):
        table.classify(C.parse_cards("3s 4s"))


# ---------------------------------------------------------------- held, against the oracle


@pytest.mark.parametrize("name", BY_TOP)
def test_held_equals_the_oracle(name: str) -> None:
    """The held actions are the classes of all combinations of the hand (7.1)."""
    table, rng = ALL_TABLES[name], random.Random(3)
    hands = [random_hand(rng, rng.choice((1, 5, 9, 13, 13))) for _ in range(80)]
    held = table.held([mask_of(h) for h in hands])
    assert held.shape == (80, table.num_actions)
    for hand, row in zip(hands, held, strict=True):
        combos = combos_of_hand(table.rules, hand)
        expected = {PASS} | {table.classify(mask_of(combo)) for combo in combos}
        assert set(np.flatnonzero(row).tolist()) == expected


def test_held_of_special_hands() -> None:
    for table in ALL_TABLES.values():
        assert np.flatnonzero(table.held(0)).tolist() == [PASS]
        assert table.held(C.FULL_DECK).sum() == table.num_actions - (table.declare is not None)
    hands = np.array([[1, 2, 3], [4, 5, 6]])
    assert TABLES["cardgames"].held(hands).shape == (2, 3, 453)


def test_larger_id_in_a_group_beats_the_smaller() -> None:
    """1.6: ids of a group are in the order of strength that the oracle plays by."""
    table, rng = TABLES["cardgames"], random.Random(4)
    num_compared = 0
    for _ in range(300):
        shape = rng.choice([s for s, _ in table.group if s.num_cards <= 8])
        first, second = random_combo(rng, table, shape), random_combo(rng, table, shape)
        if first & second:
            continue
        spare = [c for c in range(52) if c not in first | second][:2]
        oracle = Oracle(
            replace(CARDGAMES, num_players=2), [first | {spare[0]}, second | {spare[1]}], leader=0
        )
        oracle.play(first)
        stronger = table.classify(mask_of(second)) > table.classify(mask_of(first))
        assert (frozenset(second) in oracle.legal_sets()) is stronger
        num_compared += 1
    assert num_compared > 100


# ---------------------------------------------------------------- the most legal plays (7.3)

# Found by `python -m tests.oracles.max_legal`, which tries all 3,598,180 vectors of cards a rank.
MOST_SETS = {
    "cardgames": (486, [3, 4, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    "mobile": (486, [3, 4, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    "pagat": (486, [3, 4, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    "foicica": (613, [4, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
}
MOST_ACTIONS = {
    name: (79, [1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 0, 0, 0]) for name in ("cardgames", "mobile", "pagat")
}


@pytest.mark.parametrize("name", MOST_SETS)
def test_7_3_witness_of_the_most_sets(name: str) -> None:
    count, counts = MOST_SETS[name]
    hand = hand_of(counts)
    oracle = Oracle(replace(PRESETS[name], num_players=2), [hand, [51]], leader=0)
    assert len(hand) == 13
    assert len(oracle.legal_sets()) == count


@pytest.mark.parametrize("name", MOST_ACTIONS)
def test_7_3_witness_of_the_most_actions(name: str) -> None:
    count, counts = MOST_ACTIONS[name]
    hand = hand_of(counts)
    assert len(hand) == 13
    assert TABLES[name].held(mask_of(hand)).sum() == count + 1, "and the pass"


@pytest.mark.parametrize("name", [name for name in PRESETS if name in BY_TOP])
def test_7_3_leads_depend_on_the_counts_alone(name: str) -> None:
    """The claim behind the exhaustive search: its formula is the oracle's and the table's count."""
    rng, table = random.Random(7), TABLES[name]
    for _ in range(40):
        hand = random_hand(rng)
        counts = np.array([[sum(c // 4 == rank for c in hand) for rank in range(13)]], np.uint8)
        assert num_leads(table.rules, counts, table=False)[0] == len(combos_of_hand(table.rules, hand))
        if not table.rules.flush_lock:
            held = table.held(mask_of(hand)).sum() - 1
            assert num_leads(table.rules, counts, table=True)[0] == held


def test_7_3_search_covers_every_vector() -> None:
    """The vectors of the search are counted by the coefficient of x^13 in (1 + x + ... + x^4)^13."""
    polynomial = np.array([1])
    for _ in range(13):
        polynomial = np.convolve(polynomial, np.ones(5, np.int64))
    assert polynomial[13] == 3_598_180
    small = count_vectors(num_ranks=6, num_cards=7)
    assert len(np.unique(small, axis=0)) == len(small)
    assert (small.sum(axis=1) == 7).all()
    polynomial = np.array([1])
    for _ in range(6):
        polynomial = np.convolve(polynomial, np.ones(5, np.int64))
    assert len(small) == polynomial[7]


@pytest.mark.nightly
@pytest.mark.parametrize("name", MOST_SETS)
def test_7_3_the_maxima_are_the_maxima(name: str) -> None:
    vectors = count_vectors()
    assert len(vectors) == 3_598_180
    assert most_leads(PRESETS[name], vectors, table=False)[0] == MOST_SETS[name][0]
    if name in MOST_ACTIONS:
        assert most_leads(PRESETS[name], vectors, table=True)[0] == MOST_ACTIONS[name][0]


# ---------------------------------------------------------------- texts of actions


def test_texts_of_actions_are_distinct_and_readable() -> None:
    for table in ALL_TABLES.values():
        texts = [table.text(a) for a in range(table.num_actions)]
        assert len(set(texts)) == len(texts)
    table = TABLES["foicica"]
    expected = {
        "": "pass",
        "5h": "single 5h",
        "3s 3h": "pair 3h",
        "3s 4h 5d": "run 3-5 top 5d",
        "3s 4s 5s": "suited run 3-5 top 5s",
        "Ks Kc As Ac 2s 2h": "double sequence K-2 top 2h",
        "3s 3c 3d 4s 4c 4h": "triple sequence 3-4 top 4h",
    }
    assert {text: table.text(table.classify(C.parse_cards(text))) for text in expected} == expected
    assert [kind_name(Shape(n, 1)) for n in (1, 2, 3, 4)] == ["single", "pair", "triple", "quad"]
    assert kind_name(Shape(4, 2)) == "quad sequence"


# ---------------------------------------------------------------- cards (1.2)


def test_1_2_order_and_text_of_cards() -> None:
    """1.2: ranks 3..2, suits spades, clubs, diamonds, hearts; a larger id is a stronger card."""
    assert C.CARD_TEXT[:5] == ("3s", "3c", "3d", "3h", "4s")
    assert C.CARD_TEXT[-5:] == ("Ah", "2s", "2c", "2d", "2h")
    assert len(set(C.CARD_TEXT)) == 52
    for card in range(52):
        assert C.CARD_TEXT[card] == C.RANK_TEXT[card >> 2] + C.SUIT_TEXT[card & 3]
        assert C.parse_cards(C.CARD_TEXT[card]) == 1 << card


def test_cards_round_trips() -> None:
    rng = random.Random(8)
    for _ in range(200):
        ids = sorted(rng.sample(range(52), rng.randint(0, 52)))
        mask = mask_of(ids)
        assert C.card_ids(mask) == ids
        for separator in (" ", "", ", "):
            assert C.parse_cards(C.format_cards(mask, separator)) == mask
        bits = C.masks_to_bits([mask, 0])
        assert bits.dtype == np.uint8
        assert np.flatnonzero(bits[0]).tolist() == ids
        assert not bits[1].any()
    assert C.masks_to_bits(np.zeros((2, 3), np.int64)).shape == (2, 3, 52)


@pytest.mark.parametrize("text", ["3s 3h", "3s3h", "3S,3H", "3♠ 3♥", " 3h\t3s "])
def test_spellings_of_cards(text: str) -> None:
    assert C.parse_cards(text) == 0b1001


def test_spellings_of_the_ten() -> None:
    assert C.parse_cards("10d,Jc") == C.parse_cards("Td jc") == C.parse_cards("10♦J♣") == 1 << 30 | 1 << 33


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("x", 1, "'x' is not a card"),
        ("3s 3x", 4, "'3x' is not a card"),
        ("3s 1s", 4, "'1s' is not a card"),
        ("1xs", 1, "'1x' is not a card"),
        ("3", 1, "'3' is not a card"),
        ("10", 1, "'10' is not a card"),
        ("3s10", 3, "'10' is not a card"),
        ("3s  4h 3♠", 8, "card 3s comes twice"),
        ("3s\n4s", 3, "is not a card"),
    ],
)
def test_errors_of_card_text_name_their_column(text: str, column: int, message: str) -> None:
    with pytest.raises(NotationError, match=message) as error:
        C.parse_cards(text)
    assert error.value.column == column
    assert str(error.value).startswith(f"column {column}: ")
    with pytest.raises(NotationError) as shifted:
        NOTATION.parse_cards(text, 11)
    assert shifted.value.column == column + 10


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(NotationError("no card", 7)))
    assert (error.column, str(error)) == (7, "column 7: no card")
    assert isinstance(error, TienLenError)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("ids", "message"), [([52], "not in 0..51"), ([-1], "not in 0..51"), ([3, 3], "3h comes twice")]
)
def test_mask_of_refuses(ids: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_of(ids)


@pytest.mark.parametrize("mask", [-1, 1 << 52])
def test_card_ids_refuses_what_is_no_mask(mask: int) -> None:
    with pytest.raises(ValueError, match="not a valid mask"):
        C.card_ids(mask)


# ---------------------------------------------------------------- rules (6)

DIGESTS = {
    "cardgames": "f3aeceea605cd178",
    "mobile": "2f63fc4375ed32c7",
    "foicica": "a80ef112ed7d5a7c",
    "pagat": "8ad8168fa1d0d58f",
    "south": "f6e73669b8defcdd",
    "south_count": "474c8e63789bc96a",
    "north": "af1ea82cee8f2db5",
    "south_winner": "45f2bc7311838917",
    "bga": "ffc701021c87a967",
}


def test_6_digests_of_the_presets_are_pinned() -> None:
    assert {name: rules.digest() for name, rules in PRESETS.items()} == DIGESTS


def test_3_6_the_wider_reading_keeps_the_digest_that_foicica_had() -> None:
    assert replace(FOICICA, rejoin_twos=False).digest() == "665d63f57cb94a3b"


CHANGES: dict[str, object] = {
    "num_players": 3,
    "opening": "every",
    "opening_play": "alone",
    "run_min": 4,
    "set_run_min": (2, 0, 0),
    "twos_in": "runs",
    "flush_lock": True,
    "chops": {1: ("4x1", "2x3")},
    "chop_longer": False,
    "ladder": ("2x3", "4x1"),
    "pass_lock": False,
    "rejoin": ("2x4",),
    "knockout": "trick",
    "heir": "last_live",
    "points": (4, 3, 2, 1),
    "target": 20,
    "rejoin_twos": True,
    "suits_bind": True,
    "round_end": "first",
    "instant_wins": ("dragon",),
    "quad_is_two_pairs": False,
    "cong": "plays_on",
    "last_two": "ends",
    "pay_places": (2, 1),
    "pay_card": 1,
    "pay_held_twos": (1, 2),
    "pay_held_bombs": {"2x3": 3},
    "held_overlap": "quads_first",
    "held_to": "first",
    "pay_cong": 4,
    "cong_held": "replaced",
    "pay_chop_twos": (1, 2),
    "pay_chop_bombs": {"4x1": 6},
    "chop_chain": "each",
    "chop_doubles": True,
    "chop_follow": "free",
    "chop_out": "nobody",
    "pay_instant": 4,
    "pay_last_two": 13,
    "pay_last_three": 26,
    "deck": deck_of("3456789TJQKA2", "scd") + " 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh 2h",
    "cards_each": 12,
    "pay_first": 2,
    "last_card_duty": "highest",
}
NEEDS: dict[str, dict[str, object]] = {  # without these a change is refused
    "rejoin_twos": {"rejoin": ("2x4",)},
    "chop_doubles": {"chop_chain": "each"},
    "pay_instant": {"instant_wins": ("dragon",)},
    "pay_last_two": {"last_two": "ends"},
    "deck": {"cards_each": 12},
}


def test_6_digest_differs_when_any_field_differs() -> None:
    assert set(CHANGES) == set(FLAT_FIELDS), "a new field needs a line in CHANGES"
    changes = [{name: value, **NEEDS.get(name, {})} for name, value in CHANGES.items()]
    variants = [CARDGAMES, *(replace(CARDGAMES, **change) for change in changes)]  # type: ignore[arg-type]
    assert len({rules.digest() for rules in variants}) == len(variants)
    assert len(set(variants)) == len(variants)


BAD = [
    ("pay_first", -1),
    ("pay_first", 1_001),
    ("last_card_duty", "lowest"),
    ("last_card_duty", "pays"),  # nothing is paid
    ("deck", "3s 3s"),
    ("deck", 7),
    ("cards_each", 0),
    ("cards_each", 14),
    ("cards_each", 18),
    ("cards_each", "13"),
    ("num_players", 1),
    ("num_players", 5),
    ("num_players", 4.0),
    ("num_players", True),
    ("num_players", np.array([3, 4])),
    ("opening", "always"),
    ("opening_play", "all"),
    ("run_min", 1),
    ("run_min", 14),
    ("run_min", "3"),
    ("set_run_min", (3, 0)),
    ("set_run_min", (1, 0, 0)),
    ("set_run_min", (7, 0, 0)),
    ("set_run_min", (3, 5, 0)),
    ("set_run_min", (3, 0, 4)),
    ("set_run_min", 3),
    ("set_run_min", "300"),
    ("set_run_min", (3, 0, 0.5)),
    ("twos_in", "pairs"),
    ("flush_lock", 1),
    ("chops", {0: ("4x1",)}),
    ("chops", {5: ("4x1",)}),
    ("chops", {1: ("2x2",)}),
    ("chops", {1: ("9x2",)}),
    ("chops", {1: ("0x1",)}),
    ("chops", {1: ("3x1",)}),
    ("chops", {1: ("1x5",)}),
    ("chops", {1: ()}),
    ("chops", {1: ("4x1", "4x1")}),
    ("chops", {4: ("4x1",)}),
    ("chops", {"one": ("4x1",)}),
    ("chops", {1: "4x1"}),
    ("chops", {1: ("4",)}),
    ("chops", {1: (7,)}),
    ("chops", {1: ((2.5, 3),)}),
    ("chops", [(1, ("4x1",)), (1, ("2x3",))]),
    ("chops", 7),
    ("chop_longer", None),
    ("ladder", ("3x1",)),
    ("ladder", ("2x3", "2x3")),
    ("ladder", "2x3"),
    ("pass_lock", 0),
    ("rejoin", ("1x1",)),
    ("rejoin", ("4x1", "4x1")),
    ("rejoin", 4),
    ("knockout", "game"),
    ("heir", "nobody"),
    ("points", (3, 2, 1)),
    ("points", (0, 1, 2, 3)),
    ("points", (3.5, 2, 1, 0)),
    ("target", -1),
    ("target", None),
    ("rejoin_twos", 1),
    ("rejoin_twos", True),  # rejoin is empty
    ("suits_bind", "yes"),
    ("round_end", "second"),
    ("instant_wins", "dragon"),
    ("instant_wins", ("wyvern",)),
    ("instant_wins", ("dragon", "dragon")),
    ("instant_wins", 3),
    ("quad_is_two_pairs", 2),
    ("cong", "dies"),
    ("last_two", "costs"),
    ("pay_places", (1, 1, 1)),
    ("pay_places", (-1,)),
    ("pay_places", (1.5,)),
    ("pay_places", 2),
    ("pay_card", -1),
    ("pay_card", 1_001),
    ("pay_card", "1"),
    ("pay_held_twos", (1,)),
    ("pay_held_twos", (1, -2)),
    ("pay_held_bombs", {"2x2": 1}),
    ("pay_held_bombs", {"4x1": -1}),
    ("pay_held_bombs", {"4x1": 1.5}),
    ("pay_held_bombs", [("4x1", 1), ("4x1", 2)]),
    ("pay_held_bombs", "4x1"),
    ("held_overlap", "cheapest"),
    ("held_to", "last"),
    ("pay_cong", -4),
    ("cong_held", "kept"),
    ("pay_chop_twos", (1, 2, 3)),
    *((field, -1) for field in ("pay_instant", "pay_last_two")),
    *((field, (1, -2)) for field in ("pay_chop_twos", "pay_places")),
    ("pay_chop_bombs", {"4x1": -1}),
    ("pay_chop_bombs", {"3x1": 1}),
    ("pay_chop_bombs", 6),
    ("chop_chain", "first"),
    ("chop_doubles", True),  # the last pays for all
    ("chop_follow", "half"),
    ("chop_out", "somebody"),
    ("pay_instant", 4),  # no hand wins
    ("pay_last_two", 13),  # last_two is free
    ("pay_last_three", 5_000),
]


@pytest.mark.parametrize(("field", "value"), BAD)
def test_6_unknown_values_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(RulesError, match=rf"^{field}\b"):
        Rules(**{field: value})  # type: ignore[arg-type]


def test_6_every_field_has_a_refusal() -> None:
    assert {field for field, _ in BAD} == set(FLAT_FIELDS)


IMPOSSIBLE = [
    ("flush_lock", {"flush_lock": True, "run_min": 0}),
    ("run_min", {"run_min": 13, "twos_in": "set_runs"}),
    ("rejoin", {"rejoin": ("4x1",), "pass_lock": False}),
    ("knockout", {"knockout": "trick", "chops": {}}),
    ("ladder", {"ladder": ("2x4",), "chops": {1: ("2x3",)}, "chop_longer": False}),
    ("rejoin", {"rejoin": ("4x1",), "chops": {1: ("2x3",)}}),
    ("chops", {"chops": {1: ("9x2",)}, "ladder": ("2x3",)}),
    ("chops", {"set_run_min": (0, 0, 0)}),
    ("points", {"points": (3, 2, 1, 0), "num_players": 3}),
    ("target", {"points": (0, 0, -1, -2)}),
    ("target", {"points": (2, 2, 2, 2)}),
    ("points", {"points": (2**63, 0, 0, 0), "target": 0}),
    ("points", {"points": (1, 0, 0, -1_000_001), "target": 0}),
    ("target", {"target": 2**31}),
    ("suits_bind", {"suits_bind": True, "twos_in": "runs"}),
    ("suits_bind", {"suits_bind": True, "flush_lock": True}),
    ("suits_bind", {"suits_bind": True, "set_run_min": (3, 2, 0)}),
    ("cong", {"cong": "plays_on", "round_end": "first"}),
    ("pay_cong", {"cong_held": "replaced", "pay_cong": 12, "pay_card": 1}),
    ("knockout", {"knockout": "round", "pay_places": (1,)}),
    ("pay_held_bombs", {"set_run_min": (3, 2, 0), "chops": {1: ("3x2",)}, "pay_held_bombs": {"3x2": 1}}),
    ("pay_held_bombs", {"set_run_min": (2, 0, 0), "chops": {1: ("2x2",)}, "pay_held_bombs": {"2x2": 1}}),
    ("pay_chop_bombs", {"chops": {1: ("2x3",)}, "pay_chop_bombs": {"4x1": 1}}),
    ("pay_held_bombs", {"chops": {1: ("2x3",)}, "pay_held_bombs": {"4x1": 1}}),
]


def test_6_every_constraint_has_a_refusal() -> None:
    """The error has the words of the table, which the page of the rules shows."""
    said = set()
    for settings in [*({field: value} for field, value in BAD), *(settings for _, settings in IMPOSSIBLE)]:
        with pytest.raises(RulesError) as refused:
            Rules(**settings)  # type: ignore[arg-type]
        said.add(str(refused.value))
    for field, _, expected in (*CONSTRAINTS, *PAYMENT_CONSTRAINTS):
        assert any(re.match(rf"{field}\b", text) and text.endswith(f": {expected}") for text in said), (
            field,
            expected,
        )


def test_4_payments_are_one_value_and_flat_fields_are_read_as_before() -> None:
    paid = Rules(payments=Payments(pay_card=1, held_to="first"))
    assert (
        paid == Rules(pay_card=1, held_to="first") == replace(Rules(pay_card=2, held_to="first"), pay_card=1)
    )
    assert tienlen_env.get_rules("cardgames", pay_card=1, held_to="first") == paid
    assert Rules(**paid.flat()) == Rules(**json.loads(json.dumps(paid.settings()))) == paid  # type: ignore[arg-type]
    assert CARDGAMES.payments is None
    assert Rules(payments=NO_PAYMENTS) == replace(paid, pay_card=0, held_to="next") == CARDGAMES
    for wrong in (5, {"pay_card": 1}):
        with pytest.raises(RulesError, match="payments="):
            Rules(payments=wrong, pay_card=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pay_cards"):
        Rules(pay_cards=1)


@pytest.mark.parametrize(("field", "settings"), IMPOSSIBLE)
def test_6_impossible_combinations_are_refused_by_name(field: str, settings: dict[str, object]) -> None:
    with pytest.raises(RulesError, match=rf"^{field}\b"):
        Rules(**settings)  # type: ignore[arg-type]


def test_6_spellings_of_shapes_are_one_value() -> None:
    spellings = ("2x3", "2X3", "2×3", (2, 3), Shape(2, 3))
    rules = {Rules(chops={1: (spelling,)}) for spelling in spellings}  # type: ignore[dict-item]
    assert len(rules) == 1
    assert str(Shape(2, 3)) == "2x3"
    assert Shape(2, 3).num_cards == 6
    as_pairs = Rules(chops=((2, ("2x4",)), (1, ("4x1",))))  # type: ignore[arg-type]
    assert as_pairs == Rules(chops={1: (QUAD,), 2: ((2, 4),)})  # type: ignore[arg-type]


def as_cell(value: object) -> str:
    """A field's value as the table of presets in RULES.md writes it."""
    if isinstance(value, Shape):
        return str(value)
    if not isinstance(value, tuple):
        return str(value) or "all"
    if value and isinstance(value[0], Shape):
        return " ".join(map(str, value))
    if value and isinstance(value[0], tuple):
        return "; ".join(f"{num_twos}: {as_cell(shapes)}" for num_twos, shapes in value)
    return ", ".join(map(str, value)) or "–"


def tables_of(text: str) -> list[dict[str, dict[str, str]]]:
    """The tables of a Markdown text: first cell of a row to head of a column to cell."""
    tables = []
    for block in text.split("\n\n"):
        rows = [[c.strip().strip("`") for c in line.split("|")[1:-1]] for line in block.splitlines()]
        if len(rows) > 2 and set(rows[1]) == {"---"}:
            tables.append({row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]})
    return tables


def test_6_2_table_of_presets_in_the_document_is_that_of_the_code() -> None:
    document = (files("tienlen_env") / "RULES.md").read_text(encoding="utf-8")
    every, paying = tables_of(document.partition("\n6.2 ")[2].partition("\n6.3 ")[0])
    for preset, rules in PRESETS.items():
        where = f"the preset {preset!r} needs a column in RULES.md 6.2"
        assert preset in every["digest"], where
        assert preset in paying["round_end"] or not rules.has_payments, f"{where}, under payments, too"
        assert every["digest"][preset] == DIGESTS[preset]
        for name, value in rules.flat().items():
            column = preset if name in every or rules.has_payments else "the other presets"
            row = every[name] if name in every else paying[name]
            assert row[column] == as_cell(value).strip("`"), (preset, name)


def test_1_9_and_2_bombs_of_the_presets() -> None:
    """1.9: longer double sequences chop too; 2, 5: exact ones only."""
    exact = {QUAD, Shape(2, 3), Shape(2, 4), Shape(2, 5)}
    assert CARDGAMES.bombs == FOICICA.bombs == exact | {Shape(2, 6)}
    assert MOBILE.bombs == PAGAT.bombs == exact


def test_6_names_and_get_rules() -> None:
    for name, rules in PRESETS.items():
        assert get_rules(name) is rules
        assert rules.name == name
        assert get_rules(name, 2).num_players == 2
        assert get_rules(rules, 3).name == name
    custom = Rules(heir="last_live")
    assert custom.name == f"custom-{custom.digest()}"
    assert get_rules(custom) is custom
    for wrong in ("south ", 4, None):
        with pytest.raises(RulesError, match=r"^rules="):
            get_rules(wrong)  # type: ignore[arg-type]
    with pytest.raises(RulesError, match=r"^num_players"):
        get_rules("cardgames", 5)


def test_1_11_points_of_the_places() -> None:
    assert [get_rules("cardgames", p).place_points for p in (2, 3, 4)] == [(1, 0), (2, 1, 0), (3, 2, 1, 0)]
    assert Rules(points=(4, 3, 2, 1)).place_points == (4, 3, 2, 1)


def test_6_rules_survive_pickling_and_are_frozen() -> None:
    assert pickle.loads(pickle.dumps(FOICICA)) == FOICICA
    with pytest.raises(AttributeError):
        CARDGAMES.target = 5  # type: ignore[misc]
