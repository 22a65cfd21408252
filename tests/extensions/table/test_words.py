"""The words of a table that a person picks cards at, in plain Python: every preset of Tiến lên."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tests.high_card import HIGH_CARD
from tienlen_agents.words import GameWords, words_of
from tienlen_env.engine.batch import Batch
from tienlen_env.games import registry
from tienlen_env.games.common.cards import card_ids, parse_cards
from tienlen_env.games.tienlen.actions import build_action_table
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_env.games.tienlen.spec import build_spec
from tienlen_env.single.tienlen import Round
from tienlen_table.words import TableWords, table_words_of
from tienlen_table.words.tienlen import TABLE_WORDS, can_extend, find_action


def test_a_game_from_outside_has_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, part = next(iter(HIGH_CARD.presets.values())), (HIGH_CARD.name, "words")
    assert type(table_words_of(rules)) is TableWords
    for own in (GameWords(), TableWords()):
        monkeypatch.setitem(registry._parts, part, own)
        assert words_of(rules) is own
        assert (table_words_of(rules) is own) == isinstance(own, TableWords)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_action_of_cards_that_are_picked(preset: str) -> None:
    """Every legal set of cards of some positions, and sets that are not a combination."""
    rules, table = PRESETS[preset], build_action_table(PRESETS[preset])
    spec, actions = (array.tolist() for array in build_spec(rules))
    rng = np.random.default_rng(1)
    found = 0
    for key in range(6):
        played = Round(rules, key, backend="python")
        while not played.is_over:
            plays = played.legal_plays(exact=True)
            for play in plays:
                if play and not play.is_declaration:
                    assert find_action(spec, actions, int(play)) == table.classify(play)
                    found += 1
            hand = card_ids(int(played.hand(played.turn)))
            for size in (2, 3, 4):
                for some in list(combinations(hand, size))[:20]:
                    cards = sum(1 << card for card in some)
                    try:
                        expected = table.classify(cards)
                    except ValueError:
                        expected = -1
                    assert find_action(spec, actions, cards) == expected
            played.play(plays[int(rng.integers(len(plays)))])
    assert found > 300
    assert TABLE_WORDS.next_leader(rules) == (rules.opening != "every")


def test_every_combination_of_the_north_has_its_action() -> None:
    table = build_action_table(PRESETS["north"])
    spec, actions = (array.tolist() for array in build_spec(PRESETS["north"]))
    assert table.cards is not None
    plays = {action: cards for action, cards in enumerate(table.cards.tolist()) if cards}
    assert len(plays) == 435
    assert {action: find_action(spec, actions, cards) for action, cards in plays.items()} == {
        action: action for action in plays
    }


def test_what_may_be_added_to_cards_where_suits_bind() -> None:
    """In the north a run is of one suit: 4h is a part of no run of spades."""
    batch = Batch("north", 1, backend="python")
    spec, actions = (array.tolist() for array in build_spec(batch.rules))
    run = parse_cards("3s 4s 5s")
    action = find_action(spec, actions, run)
    assert action > 0
    assert can_extend(actions, action, run, parse_cards("4s"))
    assert can_extend(actions, action, run, parse_cards("3s 5s"))
    assert not can_extend(actions, action, run, parse_cards("4h"))
    assert not can_extend(actions, action, run, run)
    pair = parse_cards("2s 2d")
    assert can_extend(actions, find_action(spec, actions, pair), pair, parse_cards("2d"))
    assert not can_extend(actions, find_action(spec, actions, pair), pair, parse_cards("2c"))
