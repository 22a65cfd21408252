"""Regret: decisions judged by a long search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_suite import regret
from tienlen_suite.regret import FILE, Judgement, judged, main, sample_decisions

FEW = Judgement(decisions=12, player="heuristic", judge="greedy", worlds=8, seed=3)


class Chooser:
    """Takes in every decision the action with the smallest or the largest regret."""

    name = "chooser"

    def __init__(self, values: list[np.ndarray], best: bool) -> None:
        self.values, self.best = values, best

    def reset(self, seed: int) -> None:
        pass

    def act(self, view: View) -> np.ndarray:
        legal = view.legal_actions
        picked = [v.argmin() if self.best else v.argmax() for v in self.values]
        return legal.action[legal.start + np.array(picked)]


@pytest.fixture(scope="module")
def found() -> tuple[Batch, list[np.ndarray]]:
    return judged(FEW, None)


def test_every_decision_has_a_choice_and_is_not_solved() -> None:
    decisions = sample_decisions(FEW)
    view = View(decisions)
    assert len(view) == FEW.decisions
    assert (view.num_legal > 1).all()
    assert not regret.search_of(FEW).is_solved(view).any()
    again = sample_decisions(FEW)
    assert np.array_equal(decisions.kernel_arrays.rows, again.kernel_arrays.rows)


def test_the_regret_is_that_of_the_choice(found: tuple[Batch, list[np.ndarray]]) -> None:
    decisions, values = found
    assert [len(v) for v in values] == View(decisions).num_legal.tolist()
    assert all((v == 0).any() for v in values)  # of the action that the first half of the worlds chose
    best = regret.regret(Chooser(values, True), decisions, values, 0.3)
    worst = regret.regret(Chooser(values, False), decisions, values, 0.3)
    assert best.mean.mean == pytest.approx(np.mean([v.min() for v in values]))
    most = np.array([v.max() for v in values])
    assert worst.mean.mean == pytest.approx(most.mean())
    assert worst.share.mean == pytest.approx((most > 0.3).mean())
    assert worst.mean.mean > 0.1


def test_the_estimates_are_those_of_the_baselines_rollouts() -> None:
    """Rollouts in Python by `heuristic` and those in compiled code are the same games."""
    compiled = Judgement(decisions=6, player="heuristic", judge="", worlds=16, seed=3)
    decisions = sample_decisions(compiled)
    fast = regret.search_of(compiled).estimate(View(decisions))
    by_agent = Judgement(decisions=6, player="heuristic", judge="heuristic", worlds=16, seed=3)
    slow = regret.search_of(by_agent).estimate(View(decisions))
    for one, other in zip(fast, slow, strict=True):
        for fields in zip(one, other, strict=True):
            np.testing.assert_allclose(*fields, atol=1e-9)


def test_a_run_goes_on_where_it_was_stopped(
    found: tuple[Batch, list[np.ndarray]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regret, "BLOCK", 5)
    first = judged(FEW, tmp_path)[1]
    content = json.loads((tmp_path / FILE).read_text())
    content["losses"] = content["losses"][:5]
    (tmp_path / FILE).write_text(json.dumps(content))
    second = judged(FEW, tmp_path)[1]
    for one, other, third in zip(first, second, found[1], strict=True):
        assert one.tolist() == other.tolist() == third.tolist()
    monkeypatch.setattr(regret, "_judge", None)  # nothing is left to judge
    assert len(judged(FEW, tmp_path)[1]) == FEW.decisions


def test_files_of_other_judgements_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text("{")
    with pytest.raises(ValueError, match="not a file of judged decisions"):
        judged(FEW, tmp_path)
    judged(FEW, tmp_path / "good")
    content = json.loads((tmp_path / "good" / FILE).read_text())
    path.write_text(json.dumps({**content, "worlds": 9}))
    with pytest.raises(ValueError, match=r"judged with worlds=9, not 8; use another folder"):
        judged(FEW, tmp_path)
    path.write_text(json.dumps({**content, "losses": [[1.0]]}))
    with pytest.raises(ValueError, match="damaged, delete it"):
        judged(FEW, tmp_path)


def test_the_command_prints_a_line_for_each_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--decisions", "4", "--player", "heuristic", "--judge", "", "--worlds", "4"]
    assert main(["heuristic", "greedy", *options, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for word in ("heuristic", "greedy", "above 0.3"):
        assert word in text
    with pytest.raises(SystemExit) as stopped:
        main(["nobody", *options])
    assert stopped.value.code == 2
    assert "nobody" in capsys.readouterr().err


def test_names_of_the_agents_that_judge_are_checked() -> None:
    with pytest.raises(ValueError, match="nobody"):
        sample_decisions(Judgement(decisions=2, judge="nobody"))
    assert tienlen_agents.load("search:objective=points").objective == "points"
