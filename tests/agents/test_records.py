"""Whole rounds from their records, and their plays as arrays."""

import numpy as np
import pytest

from tienlen_agents.records import plays_of, read_round
from tienlen_env import Round, ThirteensRound
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import NotationError
from tienlen_env.games.registry import get_rules


def lines(kind, rules, num_rounds):
    rng, found = np.random.default_rng(1), []
    for key in range(num_rounds):
        played = kind(rules, key)
        while not played.is_over:
            plays = played.legal_plays()
            played.play(plays[rng.integers(len(plays))])
        found.append(played.record())
    return found


@pytest.mark.parametrize(
    ("kind", "preset"), [(Round, "south"), (Round, "north"), (ThirteensRound, "thirteens")]
)
def test_a_batch_that_plays_them_ends_as_the_rounds_do(kind, preset):
    rounds = [read_round(line, get_rules(preset)) for line in lines(kind, preset, 20)]
    actions, cards = plays_of(rounds)
    assert actions.shape == cards.shape == (max(len(played.plays) for played in rounds), 20)
    batch = Batch(preset, 20)
    batch.deal(np.arange(20))
    for chosen, exact in zip(actions, cards, strict=True):
        batch.step(chosen, exact)
    assert (batch.turn < 0).all()
    assert [played.row.tolist() for played in rounds] == batch.state.rows.tolist()


def test_no_rounds_have_no_plays():
    assert [found.shape for found in plays_of([])] == [(0, 0), (0, 0)]


def test_other_lines_are_refused():
    [line] = lines(Round, "cardgames", 1)
    south = get_rules("south")
    for text, rules, message in (
        (line, south, "other rules were given"),
        (line, get_rules("thirteens"), "expected thirteens/1"),
        (line, get_rules("cardgames", 3), "expected 3 players, got 4"),
        (line.partition(" = ")[0].rpartition(" ")[0], get_rules("cardgames"), "not played to its end"),
        ("nonsense", south, "nonsense"),
    ):
        with pytest.raises(NotationError, match=message):
            read_round(text, rules)
