"""Learning curves of NashConv: the option of training runs, the benchmark, its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tienlen_agents.networks.agent import NetworkAgent
from tienlen_exact import build, measure, nash_conv as benchmark, policy_of, small_game
from tienlen_train import ppo
from tienlen_train.config import SelfPlayConfig

RUN = [
    *(
        "--rules",
        "mini",
        "--decisions",
        "4000",
        "--eval-every",
        "2",
        "--eval-deals",
        "2",
        "--final-deals",
        "0",
    ),
    *(
        "--state-width",
        "8",
        "--action-width",
        "8",
        "--critic-width",
        "8",
        "--threads",
        "1",
        "--prior",
        "none",
    ),
]


def test_a_run_measures_its_policy_exactly(tmp_path: Path) -> None:
    """The last line of the metrics has NashConv of the policy in the file, with its probabilities."""
    ppo.main([*RUN, "--evaluators", "exact", "--out", str(tmp_path)])
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines if "nash_conv" in line] == [
        line["iteration"] for line in lines if line["iteration"] % 2 == 0 or line is lines[-1]
    ]
    tree = build(small_game("mini"))
    policy = policy_of(tree, NetworkAgent.load(tmp_path / "policy.safetensors", sample=True))
    assert lines[-1]["nash_conv"] == pytest.approx(measure(tree, policy).nash_conv, abs=1e-6)


def test_games_that_do_not_fit_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"evaluators: expected some that measure these rules: .* deals"):
        ppo.main(["--evaluators", "exact", "--out", str(tmp_path / "run")])
    with pytest.raises(SystemExit, match="these rules: the exact laboratory plays tienlen"):
        ppo.main(["--env", "thirteens", "--evaluators", "exact", "--out", str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()
    with pytest.raises(ValueError, match="evaluators: expected none with variants"):
        SelfPlayConfig(variants="cardgames:4", evaluators="exact")


def test_results_are_kept_and_a_stopped_benchmark_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        *("--rules", "mini", "--algorithms", "ppo; cfr+; mccfr", "--seeds", "1", "--decisions", "1500"),
        *("--solver-seconds", "0.05", "--workers", "1", "--out", str(tmp_path)),
    ]
    assert benchmark.main(command) == 0
    assert "3 runs to do" in capsys.readouterr().out
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert len(files) == 3
    for path, text in files.items():
        found = json.loads(text)
        decisions, seconds, values = zip(*found["points"], strict=True)
        assert list(decisions) == sorted(set(decisions))
        assert list(seconds) == sorted(seconds)
        assert min(values) >= 0
        if path.name.startswith("cfr"):
            assert values[-1] < values[0]
    (again := tmp_path / "mini" / "ppo-1.json").unlink()
    assert benchmark.main(command) == 0
    assert "1 runs to do" in capsys.readouterr().out
    first, second = json.loads(files[again]), json.loads(again.read_text())
    assert [(n, value) for n, _, value in first["points"]] == [(n, value) for n, _, value in second["points"]]
    assert {path: path.read_bytes() for path in files if path != again} == {
        path: text for path, text in files.items() if path != again
    }


@pytest.mark.parametrize("words", [["--algorithms", "nfsp"], ["--rules", "nothing_like_this"]])
def test_unknown_algorithms_and_games_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        benchmark.main(words)
    assert words[1] in f"{refused.value} {capsys.readouterr().err}"


def test_the_interval_of_a_geometric_mean_covers_it() -> None:
    """Ten seeds, NashConv that differs by factors: 95 % of the intervals contain the median."""
    rng = np.random.default_rng(5)
    samples = np.exp(rng.normal(np.log(0.01), 1.2, (4_000, 10)))
    hits = sum(low <= 0.01 <= high for _, low, high in map(benchmark.geometric_mean, samples))
    assert 0.94 < hits / 4_000 < 0.96
