"""The command that measures the searching players."""

import json

import pytest

from research import search as bench_search


def test_it_measures_times_points_and_gains(capsys, tmp_path):
    names = "search:worlds=2,inference=0 search:worlds=2"
    bench_search.main(
        [
            *("--agents", names, "--rounds", "1", "--deals", "2", "--threads", "2", "--base", "greedy"),
            *("--out", str(tmp_path / "out.json")),
        ]
    )
    times = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [*times] == names.split()
    assert all(row["mean_of_choices"] >= row["mean"] > 0 for row in times.values())
    text = capsys.readouterr().out
    assert text.count("decisions with a choice: mean") == 2
    assert text.count("2 deals × 4 seatings:") == 2
    assert text.count("more than the first agent, paired by deal") == 1


def test_an_agent_gains_nothing_on_itself(capsys):
    bench_search.main(["--agents", "greedy greedy", "--rounds", "0", "--deals", "5"])
    assert "+0.000 ± 0.000" in capsys.readouterr().out


def test_an_unknown_agent_is_refused():
    with pytest.raises(SystemExit, match="unknown agent"):
        bench_search.main(["--agents", "serach"])
