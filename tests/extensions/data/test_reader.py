"""Games as data: rounds and back, and files that do not say what the plays lead to."""

import random

import pytest

from tests.needs import needs_pyarrow
from tienlen_data import DataConfig, read_rounds, write_data
from tienlen_env.games.registry import PRESETS, get_rules
from tienlen_env.single.base import round_type

# A test may have registered a game of its own.
PRESETS = [name for name in PRESETS if name != "high_card"]


def records(preset, num_rounds):
    """Random plays, some with exact cards; some rounds with a leader, later ones of a key, or given hands."""
    rules, rng = get_rules(preset), random.Random(3)
    kind, found = round_type(rules), []
    while len(found) < num_rounds:
        key = rng.getrandbits(63)
        played = kind(rules, key, round_index=len(found) % 3, leader=0 if len(found) % 3 else None)
        if len(found) % 5 == 4 and not getattr(rules, "dummy", False):
            hands = [played.hand(seat) for seat in range(rules.num_players)]
            extra = {name: int(getattr(played._state, name)[0]) for name in played._batch.game.extra_hands}
            played = kind.from_hands(rules, hands, **extra)
        while not played.is_over:
            plays = played.legal_plays(exact=rng.random() < 0.1)
            played.play(rng.choice(plays))
        found.append(played.record())
    return found


def round_trip(preset, num_rounds, folder):
    lines = records(preset, num_rounds)
    (folder / "games.txt").write_text("".join(line + "\n" for line in lines))
    config = DataConfig(rules=preset, records=str(folder / "games.txt"), rounds=10**9)
    assert write_data(config, folder / "data") == num_rounds
    assert [played.record() for played in read_rounds(folder / "data")] == lines


@needs_pyarrow
@pytest.mark.parametrize("preset", PRESETS)
def test_records_come_back_from_files(preset, tmp_path):
    round_trip(preset, 10, tmp_path)


@needs_pyarrow
@pytest.mark.nightly
@pytest.mark.parametrize("preset", PRESETS)
def test_a_hundred_thousand_records_come_back_from_files(preset, tmp_path):
    round_trip(preset, 100_000, tmp_path)


@needs_pyarrow
@pytest.mark.parametrize("column", ["places", "points", "units"])
def test_results_that_do_not_follow_from_the_plays_are_refused(column, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    write_data(DataConfig(rules="south", rounds=3), tmp_path)
    path = tmp_path / "rounds" / "00000.parquet"
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[1][:2] = [values[1][0] + 1, values[1][1] - 1]
    at = table.schema.get_field_index(column)
    pq.write_table(table.set_column(at, column, pa.array(values, table.schema.field(at).type)), path)
    rounds = read_rounds(tmp_path)
    next(rounds)
    with pytest.raises(ValueError, match=f"round 1: the file has {column}"):
        next(rounds)
