"""Duplicate matches: fairness, statistics, reports, the command line."""

import csv
import json
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_agents.arena.chunk import BLOCK_DEALS
from tienlen_agents.arena.stats import t_quantile
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.tienlen.rules import CARDGAMES, PRESETS

load = tienlen_agents.load


class Misfit:
    """Answers as instructed."""

    name = "misfit"

    def __init__(self, answer):
        self.answer = answer

    def reset(self, seed):
        pass

    def act(self, view):
        return self.answer(view)


# ---------------------------------------------------------------- seatings and games


@pytest.mark.parametrize(
    ("lineup", "number"),
    [
        ([0, 1, 1, 1], 4),
        ([0, 0, 0, 1], 4),
        ([0, 0, 1, 1], 6),
        ([0, 1, 2, 3], 24),
        ([0, 1, 1, 2], 12),
        ([0, 1], 2),
    ],
)
def test_every_agent_sits_equally_often_in_every_seat(lineup, number):
    orders = arena.seatings(lineup)
    assert orders.shape == (number, len(lineup))
    assert len(np.unique(orders, axis=0)) == number
    for agent in set(lineup):
        assert len(set((orders == agent).sum(axis=0))) == 1


def test_play_deals():
    keys = np.arange(40)
    steps = []
    seats = np.tile([[0, 1, 1, 0]], (40, 1))
    both = [load("greedy"), load("greedy_long")]
    played = arena.play_deals(
        both, seats, keys, on_step=lambda games, decisions: steps.append((games, decisions))
    )
    assert (np.sort(played.places, axis=1) == np.arange(4)).all()
    assert (played.points == 3 - played.places).all()
    assert sum(games for games, _ in steps) == pytest.approx(40)
    assert sum(decisions for _, decisions in steps) == played.decisions.sum()
    assert (played.decisions > 0).all()
    assert (played.seconds > 0).all()
    again = arena.play_deals(both, [0, 1, 1, 0], keys)
    assert (again.places == played.places).all()


@pytest.mark.parametrize(
    "answer", [lambda view: np.full(len(view), 452), lambda view: np.full(len(view), 999)]
)
def test_an_illegal_play_names_the_agent(answer):
    with pytest.raises(IllegalPlayError, match="'misfit' played against the rules"):
        arena.match(load("greedy"), Misfit(answer), num_deals=2)


class CardPlayer:
    """Plays at random and chooses its cards exactly."""

    name = "card player"

    def reset(self, seed):
        self._agent = load("random")
        self._agent.reset(seed)

    def act(self, view):
        return self.act_cards(view)[0]

    def act_cards(self, view):
        chosen = self._agent.act(view)
        return chosen, view.cards_of(chosen)


@pytest.mark.parametrize("rules", ["cardgames", "thirteens"])
@pytest.mark.parametrize("by_cards", [False, True])
def test_an_illegal_play_names_the_agent_in_every_game(rules, by_cards):
    """In Thirteens, beside an agent that chooses cards, this was an AttributeError."""
    misfit = Misfit(lambda view: np.full(len(view), 10**6))
    other = CardPlayer() if by_cards else load("random")
    with pytest.raises(IllegalPlayError, match="'misfit' played against the rules") as caught:
        arena.match(other, misfit, rules=rules, composition="2v2", num_deals=2)
    assert caught.value.action == 10**6
    assert caught.value.seat is not None


@pytest.mark.parametrize(
    "answer", [lambda view: np.zeros(3), lambda view: None, lambda view: view.seat * 1.0]
)
def test_an_answer_of_another_form_names_the_agent(answer):
    with pytest.raises(ValueError, match="'misfit': expected integers of shape"):
        arena.match(load("greedy"), Misfit(answer), num_deals=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: arena.match(a, b, composition="2v3"),
        lambda a, b: arena.match(a, b, composition="1v3", num_players=3),
        lambda a, b: arena.match(a, b, num_deals=1),
        lambda a, b: arena.match(a, b, seed=-1),
        lambda a, b: arena.match_up([a, b]),
        lambda a, b: arena.match_up([a, b], [0, 0, 0, 0]),
        lambda a, b: arena.play_deals([a, b], [0, 1, 2, 0], [1]),
        lambda a, b: arena.play_deals([a, b], [0, 1, 0], [1]),
        lambda a, b: arena.match(a, b, rules="bridge"),
    ],
)
def test_what_cannot_be_played_is_refused(call):
    with pytest.raises(ValueError, match="expected"):
        call(load("greedy"), load("random"))


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_deal'"):
        arena.match("greedy", "random", num_deal=5)


# ---------------------------------------------------------------- duplicate matches


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("num_players", "compositions"), [(4, ["1v3", "3v1", "2v2"]), (3, ["1v2"]), (2, ["1v1"])]
)
@pytest.mark.parametrize("name", ["greedy", "greedy_long"])
def test_identical_deterministic_agents_score_exactly_parity(preset, num_players, compositions, name):
    for composition in compositions:
        result = arena.match(
            load(name),
            load(name),
            rules=preset,
            num_players=num_players,
            composition=composition,
            num_deals=60,
        )
        for score in result.scores:
            assert score.points == arena.Estimate((num_players - 1) / 2, 0.0)
            assert score.first == arena.Estimate(1 / num_players, 0.0)
            assert [place.mean for place in score.places] == [1 / num_players] * num_players


def test_a_mixed_table_of_identical_agents_is_parity_too():
    for permutations, num_seatings in (("rotations", 4), ("all", 24)):
        result = arena.match_up([load("greedy") for _ in range(4)], num_deals=30, permutations=permutations)
        assert result.num_seatings == num_seatings
        assert [score.points.mean for score in result.scores] == [1.5] * 4
        assert [score.name for score in result.scores] == [f"greedy #{i}" for i in (1, 2, 3, 4)]


def test_scores_agree_with_games_played_one_seating_at_a_time():
    result = arena.match(load("greedy"), load("greedy_long"), num_deals=100, seed=4)
    # The keys as the arena's documentation gives them, the seats by hand.
    keys = (
        np.random.SeedSequence(4, spawn_key=(0,)).generate_state(BLOCK_DEALS, np.uint64)[:100].view(np.int64)
    )
    points, firsts = np.zeros(100), np.zeros(100)
    for seat in range(4):
        seats = np.where(np.arange(4) == seat, 0, 1)
        played = arena.play_deals([load("greedy"), load("greedy_long")], seats, keys)
        points += played.points[:, seat] / 4
        firsts += (played.places[:, seat] == 0) / 4
    alone, rest = result.scores
    assert alone.points.mean == pytest.approx(points.mean())
    assert alone.points.half_width == pytest.approx(1.984217 * points.std(ddof=1) / 10, rel=1e-4)
    assert alone.first.mean == pytest.approx(firsts.mean())
    assert alone.places[0] == alone.first
    assert sum(place.mean for place in alone.places) == pytest.approx(1)
    assert alone.points.mean + 3 * rest.points.mean == pytest.approx(6)
    assert (result.deal_points[:, 0] == 4 * points).all()


def test_one_seed_one_result():
    num_deals = BLOCK_DEALS + 40

    def play(seed, deals=num_deals):
        return arena.match(load("random"), load("greedy"), num_deals=deals, seed=seed)

    first, again, other = play(1), play(1), play(2)
    assert (first.deal_points == again.deal_points).all()
    assert replace(first.scores[0], seconds=0.0) == replace(again.scores[0], seconds=0.0)
    assert (first.deal_points != other.deal_points).any()
    # A whole chunk does not depend on those after it.
    assert (play(1, BLOCK_DEALS).deal_points == first.deal_points[:BLOCK_DEALS]).all()


def firsts(result, agent):
    """First places of an agent in each deal, summed over games and seats."""
    return result.deal_places[:, agent, 0] / arena.result.PLACE_SHARE_DENOMINATOR


def test_results_are_frozen():
    """Deals, seatings, agents and sums together: published figures rest on them."""
    result = arena.match(load("greedy"), load("greedy_long"), num_deals=600, seed=1)
    assert result.deal_points.sum(axis=0).tolist() == GOLDEN_POINTS
    assert [firsts(result, agent).sum() for agent in range(2)] == GOLDEN_FIRSTS


GOLDEN_POINTS = [2464, 11936]
GOLDEN_FIRSTS = [306, 2094]


def test_the_baselines_rank_as_known():
    greedy, long, rand = load("greedy"), load("greedy_long"), load("random")
    assert arena.match(greedy, long, num_deals=300).scores[0].points.verdict(1.5) == "below"
    assert arena.match(greedy, rand, num_deals=300).scores[0].first.verdict(0.25) == "above"


# ---------------------------------------------------------------- statistics


def test_t_quantile():
    known = {
        1: 12.7062,
        2: 4.30265,
        3: 3.18245,
        4: 2.77645,
        5: 2.57058,
        9: 2.26216,
        30: 2.04227,
        1000: 1.96234,
    }
    for degrees, value in known.items():
        assert t_quantile(degrees) == pytest.approx(value, rel=3e-4)
    assert all(a > b for a, b in pairwise(map(t_quantile, range(1, 50))))


def share_below(degrees, t):
    """The distribution function of Student's t for an even number of degrees, to 40 digits."""
    shrink, term, total = degrees / (degrees + t * t), Decimal(1), Decimal(1)
    for k in range(1, degrees // 2):
        term *= shrink * (2 * k - 1) / (2 * k)
        total += term
    return (1 + t * total / (degrees + t * t).sqrt()) / 2


def test_t_quantile_has_every_term_of_its_series():
    """What it lacks is the next term, and little more than that: all digits of a float with 300 degrees."""
    z, step = NormalDist().inv_cdf(0.975), Decimal("1e-12")
    next_term = (27 * z**11 + 339 * z**9 + 930 * z**7 - 1782 * z**5 - 765 * z**3 + 17955 * z) / 368640
    with localcontext(prec=40):
        for degrees, most in ((6, 1e-4), (20, 1e-7), (300, 2e-15)):
            first = exact = Decimal(t_quantile(degrees))
            for _ in range(3):  # Newton's method
                slope = (share_below(degrees, exact + step) - share_below(degrees, exact)) / step
                exact -= (share_below(degrees, exact) - Decimal("0.975")) / slope
            assert 0 < float(exact - first) - next_term / degrees**5 < most


def test_the_interval_is_that_of_the_bootstrap():
    result = arena.match(load("greedy"), load("random"), num_deals=1000, seed=2)
    per_deal = result.num_seatings
    for totals in (result.deal_points[:, 0], firsts(result, 0)):
        analytic = arena.estimate(totals, per_deal)
        low, high = arena.bootstrap_interval(totals, per_deal, seed=1)
        assert low == pytest.approx(analytic.low, abs=0.1 * analytic.half_width)
        assert high == pytest.approx(analytic.high, abs=0.1 * analytic.half_width)


def test_estimate_of_known_numbers():
    value = arena.estimate(np.array([4, 6, 8]), 4)
    assert value.mean == 1.5
    assert value.half_width == pytest.approx(4.3027 * 0.5 / np.sqrt(3))
    assert value.verdict(1.5) == "at"
    assert arena.Estimate(1.6, 0.05).verdict(1.5) == "above"
    assert arena.Estimate(1.4, 0.05).verdict(1.5) == "below"


def test_variance_ratio_of_known_numbers():
    rng = np.random.default_rng(0)
    games = rng.integers(0, 4, 40_000)
    assert arena.variance_ratio(games.reshape(-1, 4).sum(axis=1), games) == pytest.approx(1, abs=0.05)
    same = np.repeat(games[:10_000], 4)  # four games of a deal that end alike are worth one
    assert arena.variance_ratio(same.reshape(-1, 4).sum(axis=1), same) == pytest.approx(4, abs=0.01)
    assert arena.variance_ratio(np.full(10, 6), np.tile([0, 1, 2, 3], 10)) == 0
    assert arena.variance_ratio(np.full(10, 4), np.ones(40, np.int64)) is None


def coverage(repetitions, num_deals):
    """How often parity lies in the intervals of random against itself: (points, first places)."""
    held = np.zeros(2, np.int64)
    for seed in range(repetitions):
        result = arena.match(load("random"), load("random"), num_deals=num_deals, seed=seed)
        score = result.scores[0]
        held += [score.points.verdict(1.5) == "at", score.first.verdict(0.25) == "at"]
    return held.tolist()


def test_calibration():
    assert min(coverage(30, 40)) >= 26


@pytest.mark.nightly
def test_calibration_100():
    assert min(coverage(100, 250)) >= 93


# ---------------------------------------------------------------- reports


@pytest.fixture(scope="module")
def report():
    panel = [load("random"), load("greedy_long"), load("greedy")]
    return arena.compare(
        load("greedy"), panel, num_deals=50, seed=3, command="python -m tienlen_agents.arena ..."
    )


def test_compare_plays_each_baseline_and_mixed_tables(report):
    assert [result.title for result in report.results] == [
        "greedy v. 3 × random",
        "greedy v. 3 × greedy_long",
        "greedy #1 v. 3 × greedy #2",
        "greedy #1, random, greedy_long, greedy #2",
    ]
    assert [result.num_games for result in report.results] == [200, 200, 200, 200]


def test_json(report, tmp_path):
    report.write(tmp_path / "run")
    data = json.loads((tmp_path / "run" / "arena.json").read_text())
    assert data["command"] == report.command
    assert data["versions"]["numpy"] == np.__version__
    first = data["tables"][0]
    assert first["rules"] == {"name": "cardgames", "digest": CARDGAMES.digest(), "num_players": 4}
    assert (first["seed"], first["num_deals"], first["num_games"]) == (3, 50, 200)
    assert first["parity"] == {"points": 1.5, "first": 0.25}
    assert first["agents"][0]["points"]["verdict"] == "above"


def test_files(report, tmp_path):
    paths = report.write(tmp_path)
    report.write(tmp_path)  # over what is there
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    rows = list(csv.DictReader((tmp_path / "arena.csv").read_text().splitlines()))
    assert len(rows) == 2 + 2 + 2 + 4
    assert float(rows[0]["points"]) == report.results[0].scores[0].points.mean


def test_files_without_the_extra(report, tmp_path, capsys, monkeypatch):
    """The wheel alone writes JSON and CSV, and says how to get the rest."""
    monkeypatch.setattr("tienlen_env.extras.find_spec", lambda package: None)
    main(["match", "greedy", "random", "--deals", "2", "--quiet", "--out", str(tmp_path)])
    assert {path.name for path in tmp_path.glob("arena.*")} == {"arena.json", "arena.csv"}
    assert "left out arena.html: pip install '" in capsys.readouterr().out
    for draw in (report.to_html, lambda: arena.league(["greedy", "random"])):
        with pytest.raises(ModuleNotFoundError, match=r"pip install .*'openskill>="):
            draw()
    with pytest.raises(SystemExit) as caught:
        main(["league", "greedy", "random", "--deals", "2", "--quiet"])
    assert caught.value.code == 2
    assert "a league needs the package openskill" in capsys.readouterr().err


def test_command_line(tmp_path, capsys):
    main(["greedy", "random", "--deals", "20", "--seed", "1", "--players", "3", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "cardgames, 3 players · 20 deals, 60 games · seed 1" in out
    assert "v. 2 × random" in out
    data = json.loads((tmp_path / "arena.json").read_text())
    assert data["command"].startswith("python -m tienlen_agents.arena greedy random --deals 20")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["greedy", "nobody"], "unknown agent 'nobody'"),
        (["greedy", "random", "--composition", "3v3"], "composition='3v3'"),
        (["policy:none.zip,trust=1", "random"], "there is no such file"),
        (["greedy"], "required: opponent"),
    ],
)
def test_command_line_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "--quiet"])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
