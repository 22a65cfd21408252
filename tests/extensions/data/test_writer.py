"""Games as data: the same bytes from any workers, and columns that say what the engine says."""

import html
import sys

import numpy as np
import pytest

from tests.extensions.data.test_reader import records
from tests.needs import needs_pyarrow
from tests.strangers import install, notes_of
from tienlen_data import DataConfig, config_of, read_rounds, write_data
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.packed import pack
from tienlen_env.extras import MissingExtraError
from tienlen_env.single.base import round_type
from tienlen_train.cli import main as tienlen


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*") if path.suffix != ".lock"
    }


def parts(folder, table):
    import pyarrow.parquet as pq

    return pq.read_table(folder / table)


@needs_pyarrow
def test_any_workers_and_a_second_start_write_the_same_bytes(tmp_path):
    config = DataConfig(agents="greedy random", rounds=50, shard_rounds=20, seed=5)
    one, two = tmp_path / "one", tmp_path / "two"
    write_data(config, one)
    write_data(config, two, workers=2)
    assert files(one) == files(two)
    assert len(files(one)) == 8
    # A kill between the two files of a shard, before the card.
    before = files(one)
    (one / "rounds" / "00001.parquet").unlink()
    (one / "README.md").unlink()
    (one / "decisions" / ".00001.parquet.1.tmp").write_bytes(b"half")
    times = {path: path.stat().st_mtime_ns for path in one.rglob("00000.parquet")}
    write_data(config, one)
    assert files(one) == before
    assert times == {path: path.stat().st_mtime_ns for path in one.rglob("00000.parquet")}
    with pytest.raises(ValueError, match="another data set"):
        write_data(DataConfig(agents="greedy random", rounds=50, shard_rounds=20, seed=6), one)


@needs_pyarrow
def test_no_thread_is_started_off_a_terminal(tmp_path, monkeypatch):
    # Where memory ends, a thread that cannot begin is waited for without an end.
    def start(thread):
        raise AssertionError(thread)

    monkeypatch.setattr("threading.Thread.start", start)
    write_data(DataConfig(agents="greedy random", rounds=5, shard_rounds=5, seed=5), tmp_path)
    assert len(files(tmp_path)) == 4


@needs_pyarrow
def test_columns_say_what_the_engine_says(tmp_path):
    # The seed has chops, which are paid within a round.
    config = DataConfig(rules="south", agents="random greedy", rounds=12, shard_rounds=5, seed=3)
    write_data(config, tmp_path)
    decisions, rounds = (parts(tmp_path, name).to_pydict() for name in ("decisions", "rounds"))
    assert rounds["round"] == list(range(12))
    at, chopped = 0, 0
    for number, played in enumerate(read_rounds(tmp_path)):
        batch = Batch("south", 1, reward="payments")
        batch.deal([rounds["key"][number]])
        rewards = []
        first = at
        for step, play in enumerate(played.plays):
            assert decisions["round"][at] == number
            assert decisions["step"][at] == step
            assert decisions["seat"][at] == batch.turn[0]
            assert decisions["agent"][at] == ("random", "greedy")[(batch.turn[0] + number) % 2]
            assert decisions["observation"][at] == pack(batch.observe())[0].tobytes()
            assert decisions["legal_actions"][at] == batch.list_legal().action.tolist()
            assert (decisions["action"][at], decisions["cards"][at]) == (play.action, play.cards)
            rewards.append(batch.step([play.action])[0][0].copy())
            at += 1
        to_end = np.cumsum(rewards[::-1], axis=0)[::-1]
        for step, i in enumerate(range(first, at)):
            assert decisions["return"][i] == pytest.approx(to_end[step, decisions["seat"][i]], abs=1e-5)
        chopped += np.any(rewards, axis=1).sum() > 1
        assert rounds["num_decisions"][number] == at - first
        assert rounds["points"][number] == batch.scores[0].tolist() == list(played.scores)
        assert rounds["units"][number] == batch.balances[0].tolist()
        assert rounds["places"][number] == list(played.places)
        assert rounds["agents"][number] == [("random", "greedy")[(seat + number) % 2] for seat in range(4)]
    assert at == len(decisions["round"])
    assert chopped  # what was paid earlier is in no later return
    card = (tmp_path / "README.md").read_text()
    assert card.startswith("---\npretty_name: ")
    assert all(f"| `{name}` |" in card for name in [*decisions, *rounds, *batch.layout])
    # `load_dataset(folder)` takes the decisions, without the name of a configuration.
    assert "- config_name: decisions\n  data_files: decisions/*.parquet\n  default: true\n" in card


@needs_pyarrow
def test_names_of_files_cannot_change_the_card(tmp_path):
    records = tmp_path / "![x](javascript:1) <img src=x onerror=hit()> |.txt"
    played = round_type(DataConfig().variant)("cardgames", 1)
    while not played.is_over:
        played.play(played.legal_plays()[-1])
    records.write_text(played.record() + "\n")
    write_data(DataConfig(records=str(records)), tmp_path / "data")
    card = (tmp_path / "data" / "README.md").read_text().partition("Settings:")[0]
    assert [sign for sign in ("![", "](", "<img", "|") if sign in card] == []
    assert records.name in html.unescape(card)


@needs_pyarrow
def test_probabilities_and_estimates_have_an_item_for_each_legal_action(tmp_path):
    config = DataConfig(agents="reference greedy", rounds=2, probabilities=True, estimates="search:worlds=2")
    write_data(config, tmp_path)
    found = parts(tmp_path, "decisions").to_pydict()
    for agent, legal, chances, means, errors in zip(
        *(
            found[name]
            for name in ("agent", "legal_actions", "probabilities", "estimates", "estimate_errors")
        ),
        strict=True,
    ):
        assert len(legal) == len(chances) == len(means) == len(errors)
        assert np.isnan(chances).all() if agent == "greedy" else abs(sum(chances) - 1) < 1e-5
        assert np.isfinite(means).all()
        assert min(errors) >= 0
    best = [np.argmax(found["probabilities"][i]) for i, name in enumerate(found["agent"]) if name != "greedy"]
    played = [found["action"][i] for i, name in enumerate(found["agent"]) if name != "greedy"]
    legal = [found["legal_actions"][i] for i, name in enumerate(found["agent"]) if name != "greedy"]
    assert [actions[at] for actions, at in zip(legal, best, strict=True)] == played


@needs_pyarrow
def test_wrong_input_is_refused_before_anything_is_written(tmp_path):
    whole = records("cardgames", 1)[0]
    for line, message in (
        (whole.partition(" = ")[0].rpartition(" ")[0], "not played to its end"),
        (records("south", 1)[0], "line 1: column 11: south: other rules were given"),
        ("nonsense", "line 1"),
    ):
        (tmp_path / "games.txt").write_text(line + "\n")
        with pytest.raises(ValueError, match=message):
            write_data(DataConfig(records=str(tmp_path / "games.txt")), tmp_path / "data")
    for settings in ({"agents": "nobody"}, {"agents": " "}, {"estimates": "greedy"}, {"agents": "trickster"}):
        with pytest.raises(ValueError, match=r"nobody|agents|estimates|trickster"):
            write_data(DataConfig(**settings), tmp_path / "data")
    assert not list((tmp_path / "data").rglob("*.parquet"))
    with pytest.raises(ValueError, match="expected a folder of `tienlen data`"):
        config_of(tmp_path)


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tienlen_env.extras.is_installed", lambda package: False)
    for call in (lambda: write_data(DataConfig(), tmp_path), lambda: config_of(tmp_path)):
        with pytest.raises(MissingExtraError, match=r"needs the package pyarrow"):
            call()
    monkeypatch.setattr(sys, "argv", ["tienlen"])
    assert tienlen(["data", "--out", str(tmp_path / "data")]) == 2
    assert "pyarrow" in capsys.readouterr().err


@needs_pyarrow
def test_data_sets_keep_the_key_of_the_seeds_of_agents_in_other_processes(tmp_path, monkeypatch):
    for name, value in install(tmp_path).items():
        monkeypatch.setenv(name, value)
    config = DataConfig(agents="stranger:isolate=1 greedy", rounds=8, shard_rounds=4, seed=7)
    out = tmp_path / "data"
    write_data(config, out)
    shards = sorted((out / "rounds").iterdir())
    before = [shard.read_bytes() for shard in shards]
    plain = {int(np.random.SeedSequence(7, spawn_key=(first, 0)).generate_state(1)[0]) for first in (0, 4)}
    assert not plain & {note.get("seed") for note in notes_of(tmp_path / "notes")}
    shards[1].unlink()
    write_data(config, out)
    assert [shard.read_bytes() for shard in shards] == before
    assert len(config_of(out).seed_key) == 32
    in_process = DataConfig(agents="random greedy", rounds=4)
    write_data(in_process, tmp_path / "plain")
    assert config_of(tmp_path / "plain").seed_key == ""
