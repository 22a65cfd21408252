"""What the arena measures beside points, and how it shows it: blunders, times, pilots, pages."""

import json
import math
import re
import time

import numpy as np
import pytest

import tienlen_agents
from tests.needs import needs_pandas
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_agents.arena.match import FAST_PANEL
from tienlen_agents.arena.result import PLACE_SHARE_DENOMINATOR, place_shares
from tienlen_agents.arena.stats import deals_needed, ratio_estimate
from tienlen_agents.endgame import solve
from tienlen_env import extras
from tienlen_env.games.tienlen.rules import CARDGAMES


class Witness:
    """Plays at random and counts its own blunders, by the other road: `tienlen_agents.endgame.solve` on the
    view."""

    name = "<b>witness</b>"

    def __init__(self):
        self.counts = np.zeros(2, np.int64)
        self._agent = tienlen_agents.load("random")

    def reset(self, seed):
        self._agent.reset(seed)
        self.counts[:] = 0  # what warming up has counted

    def act(self, view):
        chosen = self._agent.act(view)
        found = solve(view)
        is_choice = (found.value != 0) & (view.num_legal > 1)
        is_good = found.best_mask[np.arange(len(view)), chosen]
        self.counts += [(is_choice & (found.value == 1) & ~is_good).sum(), is_choice.sum()]
        return chosen


@pytest.fixture(scope="module")
def witnessed():
    witness = Witness()
    result = arena.match(witness, tienlen_agents.load("greedy"), num_deals=30, seed=2, blunder_deals=30)
    return witness, result


def test_blunders_are_counted(witnessed):
    witness, result = witnessed
    score = result.scores[0]
    blunders, endings = witness.counts.tolist()
    assert 0 < blunders < endings
    assert score.endings == endings
    assert score.blunders.mean == pytest.approx(100 * blunders / endings)
    assert 0 < score.blunders.half_width < 20


def test_perfect_endings_have_no_blunders_and_others_are_not_judged():
    result = arena.match("endgame:greedy", "random", num_deals=20, blunder_deals=20)
    assert result.scores[0].blunders.mean == 0
    assert result.scores[0].blunders.half_width > 0  # of some endgames: another one might be lost
    assert result.scores[0].endings > 10
    assert result.scores[1].blunders.mean > 0
    fewer = arena.match("endgame:greedy", "random", num_deals=20, blunder_deals=10)
    assert 0 < fewer.scores[0].endings < result.scores[0].endings
    three = arena.match("greedy", "random", num_players=3, num_deals=5, blunder_deals=5)
    assert three.scores[0].blunders is None  # undealt cards: neither knows the other's hand


def test_ratio_estimate_of_known_numbers():
    value = ratio_estimate(np.array([1, 2, 3]), np.array([2, 4, 6]))
    assert value == arena.Estimate(0.5, 0.0)
    value = ratio_estimate(np.array([2, 0]), np.array([2, 2]))
    assert value.mean == 0.5
    assert value.half_width == pytest.approx(12.7062 * np.sqrt(2 * (1 + 1)) / 4)


def test_latency_is_that_of_one_decision():
    class Slow:
        name = "slow"

        def reset(self, seed):
            self.calls = 0

        def act(self, view):
            assert len(view) == 1
            self.calls += 1
            time.sleep(0.02 if self.calls % 10 == 0 else 0.001)
            return view.legal_actions.action[view.legal_actions.start]

    found = arena.latency(Slow(), CARDGAMES, decisions=40)
    assert (found.name, found.rules, found.decisions) == ("slow", "cardgames", 40)
    assert found.mean_ms > 2.5
    assert found.p99_ms > 19
    assert arena.latency(Slow(), CARDGAMES, decisions=1000, seconds=0.05).decisions < 60
    with pytest.raises(ValueError, match="1 or more"):
        arena.latency(Slow(), CARDGAMES, decisions=0)


def test_shared_places_are_split():
    places = np.array([[[0, 1, 2, 3], [0, 0, 2, 3], [0, 1, 1, 1], [0, 0, 0, 0]]], np.int8)
    shares = place_shares(places)[0] / PLACE_SHARE_DENOMINATOR
    third = 1 / 3
    assert shares[0].tolist() == np.eye(4).tolist()
    assert shares[1].tolist() == [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert shares[2].tolist() == [[1, 0, 0, 0]] + [[0, third, third, third]] * 3
    assert (shares[3] == 0.25).all()


# ---------------------------------------------------------------- how many deals


def test_deals_needed():
    # A deviation of 0.5 a deal: (1.96 * 0.5 / 0.02)^2.
    totals = np.array([1, 0] * 100)
    pilot = arena.estimate(totals, 1)
    assert deals_needed(pilot, 200, 0.02) == pytest.approx(2401, rel=0.01)
    assert deals_needed(arena.Estimate(1.5, 0.0), 200, 0.02) == 2
    with pytest.raises(ValueError, match="above 0"):
        deals_needed(pilot, 200, 0.0)


def test_a_small_pilot_is_taken_by_its_own_quantile():
    """Its interval is `t_quantile(2)` = 4.303 standard errors wide, that of many deals 1.96."""
    pilot = arena.Estimate(1.5, 4.3027)
    assert deals_needed(pilot, 3, 0.1) == math.ceil(3 * (1.959964 / 0.1) ** 2)


def test_a_ratio_of_few_or_no_events():
    """Two unseen events keep the interval of a rate above 0; one deal has no interval."""
    cards = np.full(50, 4)
    rate = ratio_estimate(np.zeros(50, np.int64), cards, event=1)
    assert (rate.mean, rate.half_width) == (0, pytest.approx(2.00958 * math.sqrt(2) / 200, rel=1e-4))
    some = np.arange(50) % 3
    one, three = ratio_estimate(some, cards, event=1), ratio_estimate(3 * some, cards, event=3)
    assert (three.mean, three.half_width) == pytest.approx((3 * one.mean, 3 * one.half_width))
    assert ratio_estimate(np.array([1]), np.array([4])) == arena.Estimate(0.25, math.inf)


def test_a_pilot_gives_the_precision_that_was_asked_for(tmp_path, capsys):
    command = "greedy random --no-mixed --precision 0.05 --pilot 150 --seed 1 --quiet --out"
    main([*command.split(), str(tmp_path)])
    data = json.loads((tmp_path / "arena.json").read_text())
    (table,) = data["tables"]
    assert table["num_deals"] == data["pilot"]["deals_needed"]
    points = table["agents"][0]["points"]
    assert (points["high"] - points["low"]) / 2 == pytest.approx(0.05, rel=0.2)
    assert data["pilot"]["seed"] != 1
    assert "from a pilot of 150 other deals" in " ".join(capsys.readouterr().out.split())
    assert "Number of deals" in (tmp_path / "arena.html").read_text()


# ---------------------------------------------------------------- commands and pages


def test_match_plays_all_compositions_and_several_variants(tmp_path, capsys):
    command = "match greedy random --deals 12 --rules cardgames,pagat --blunders 12 --latency 5 --bootstrap"
    main([*command.split(), "--quiet", "--out", str(tmp_path)])
    data = json.loads((tmp_path / "arena.json").read_text())
    assert [(table["title"], table["rules"]["name"]) for table in data["tables"]] == [
        (title, rules)
        for rules in ("cardgames", "pagat")
        for title in ("greedy v. 3 × random", "2 × greedy v. 2 × random", "3 × greedy v. random")
    ]
    assert [one["name"] for one in data["latencies"]] == ["greedy", "random"] * 2
    low, high = data["tables"][0]["agents"][0]["points_bootstrap"]
    assert low < data["tables"][0]["agents"][0]["points"]["mean"] < high
    out = " ".join(capsys.readouterr().out.split())
    for text in ("Points by variant", "One decision at a time", "bootstrap", "Duplication", "bl.:"):
        assert text in out


def test_the_gauntlet_is_the_panel():
    report = arena.gauntlet("greedy", num_deals=4, panel=FAST_PANEL)
    assert [table.names[1].removesuffix(" #2") for table in report.results] == list(FAST_PANEL)
    assert all(table.lineup == (0, 1, 1, 1) for table in report.results)


def test_the_page_needs_nothing_else(witnessed):
    _, result = witnessed
    page = arena.Report((result,), "python -m tienlen_agents.arena <x>").to_html()
    assert "&lt;b&gt;witness&lt;/b&gt;" in page
    assert "<b>witness" not in page
    assert "python -m tienlen_agents.arena &lt;x&gt;" in page
    assert not re.search(r"https?://|<script|<link|url\(", page)
    assert "prefers-color-scheme: dark" in page
    assert f"{result.scores[0].points.mean:.3f} ± {result.scores[0].points.half_width:.3f}" in page


@pytest.mark.parametrize(
    ("play", "title"),
    [
        (lambda: arena.match("random", "greedy", num_deals=2), "random v. 3 × greedy"),
        (
            lambda: arena.compare("random", ["greedy"], num_deals=2, compositions=["1v3", "3v1"]),
            "random v. greedy",
        ),
        (
            lambda: arena.compare("random", ["greedy", "greedy_long"], num_deals=2, mixed=False),
            "random v. 2 agents",
        ),
    ],
)
def test_the_title_of_a_page_names_both_sides(play, title):
    result = play()
    report = arena.Report((result,)) if isinstance(result, arena.MatchResult) else result
    page = report.to_html()
    assert f"<title>{title} · arena</title>" in page
    assert f"<h1>{title}</h1>" in page
    # On a phone the names of the rows stay in sight while the table scrolls.
    assert ".heat tr > :first-child { position: sticky; left: 0;" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "greedy"], "required: opponent"),
        (["greedy", "random", "--rules", "bridge"], "--rules: expected some of"),
        (["greedy", "random", "--deals", "5", "--precision", "1"], "expected one of them"),
        (["greedy", "random", "--precision", "-1"], "above 0"),
        (["league", "greedy"], "required: agent"),
        (["league", "greedy", "random", "--stop-when-clear"], "stop_when_clear"),
    ],
)
def test_command_line_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--quiet"])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@needs_pandas
def test_a_report_as_a_data_frame():
    report = arena.compare("greedy", ["random"], rules=["cardgames", "south"], num_deals=4, seed=1)
    frame = report.to_pandas()
    assert list(frame["agent"]) == ["greedy", "random"] * 2
    scores = [score for result in report.results for score in result.scores]
    assert frame["points"].tolist() == [score.points.mean for score in scores]
    assert frame["units"].isna().tolist() == [True, True, False, False]


def test_without_pandas_the_error_names_it(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "pandas")
    with pytest.raises(extras.MissingExtraError, match="a report as a DataFrame needs the package pandas"):
        arena.compare("greedy", ["random"], num_deals=2).to_pandas()
