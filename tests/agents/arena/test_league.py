"""Leagues: balanced tables, ratings, payoffs, cycles."""

import json
from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest

from tienlen_agents import arena
from tienlen_agents.arena.league import find_cycles, rate
from tienlen_agents.arena.lineup import rosters

NAMES = ["random", "greedy_long", "greedy"]


@pytest.fixture(scope="module")
def report():
    return arena.league(NAMES, num_deals=40, seed=1)


@pytest.mark.parametrize(("num_agents", "num_players"), [(2, 4), (3, 4), (5, 4), (3, 3), (4, 2)])
def test_rosters_are_balanced(num_agents, num_players):
    found = rosters(num_agents, num_players)
    assert len(found) == len(set(found)) == comb(num_agents + num_players - 1, num_players) - num_agents
    chairs = np.array([[roster.count(agent) for agent in range(num_agents)] for roster in found])
    assert len(set(chairs.sum(axis=0))) == 1
    meetings = chairs.T @ chairs
    assert len({meetings[a, b] for a, b in combinations(range(num_agents), 2)}) == 1


def test_a_league_plays_all_tables_on_the_same_deals(report):
    assert len(report.results) == comb(6, 4) - 3
    assert {table.num_deals for table in report.results} == {40}
    assert {table.seed for table in report.results} == {1}
    (league,) = report.leagues
    alone = arena.match("random", "greedy_long", num_deals=40, seed=1)
    assert alone.points.tolist() in [table.points.tolist() for table in report.results]
    # The points of all agents together are those of the table.
    assert sum(standing.points.mean for standing in league.standings) == pytest.approx(3 * 1.5)
    for standing in league.standings:
        assert sum(value.mean for value in standing.places) == pytest.approx(1)
        assert standing.places[0] == standing.first


def test_the_known_order_is_found(report):
    (league,) = report.leagues
    assert [league.standings[index].name for index in league.ranking] == ["greedy_long", "greedy", "random"]
    first, second, third = (league.standings[index].rating for index in league.ranking)
    assert first.low > second.high
    assert second.low > third.high
    assert np.mean([first.mean, second.mean, third.mean]) == pytest.approx(25)
    assert league.cycles == ()


def test_payoffs_are_those_of_the_tables_of_two(report):
    (league,) = report.leagues
    means = []
    for composition in ("1v3", "2v2", "3v1"):
        one, other = arena.match(NAMES[0], NAMES[1], composition=composition, num_deals=40, seed=1).scores
        means.append(one.points.mean - other.points.mean)
    payoff = league.payoffs[0][1]
    assert payoff.mean == pytest.approx(np.mean(means))
    for row in range(3):
        assert league.payoffs[row][row] is None
        for column in range(row):
            there, back = league.payoffs[row][column], league.payoffs[column][row]
            assert there.mean == -back.mean
            assert there.half_width == back.half_width


def test_cycles():
    clear, vague = arena.Estimate(0.2, 0.1), arena.Estimate(0.2, 0.3)
    lost = arena.Estimate(-0.2, 0.1)
    # 0 > 1 > 2 > 0, and 3 below all.
    stone = [
        [None, clear, lost, clear],
        [lost, None, clear, clear],
        [clear, lost, None, clear],
        [lost, lost, lost, None],
    ]
    assert find_cycles(stone) == [(0, 1, 2)]
    stone[2][0], stone[0][2] = vague, vague
    assert find_cycles(stone) == []
    ring = [[None] * 4 for _ in range(4)]
    for agent in range(4):
        ring[agent][(agent + 1) % 4] = clear
    assert find_cycles(ring) == [(0, 1, 2, 3)]


def test_ratings_find_known_strengths():
    """Games drawn from a Plackett-Luce model, at tables of four different agents and at mixed ones."""
    rng = np.random.default_rng(5)
    strengths = np.array([0.0, 0.4, 0.4, 1.2])

    def games(seated, lineup):
        chairs = strengths[np.array(seated)[lineup]]
        # The order of exponential clocks is a draw from the model.
        times = rng.exponential(1 / np.exp(np.broadcast_to(chairs, (300, 4, 4))))
        places = times.argsort(axis=2).argsort(axis=2).astype(np.int8)
        return SimpleNamespace(lineup=tuple(lineup), game_places=places, num_seatings=4, num_deals=300)

    seated = [(0, 1, 2, 3), (0, 3), (1, 2)]
    tables = [games((0, 1, 2, 3), [0, 1, 2, 3]), games((0, 3), [0, 1, 1, 1]), games((1, 2), [0, 0, 1, 1])]
    played = list(zip(seated, tables, strict=True))
    ratings, num_rated = rate(4, played, seed=1, max_games=2400, resamples=12)
    assert num_rated == 2400
    weak, one, other, strong = ratings
    assert weak.high < min(one.low, other.low)
    assert max(one.high, other.high) < strong.low
    assert abs(one.mean - other.mean) < one.half_width + other.half_width
    assert 0 < strong.half_width < 5
    assert rate(4, played, seed=1, max_games=2400, resamples=12)[0] == ratings


def test_what_cannot_be_a_league_is_refused():
    with pytest.raises(ValueError, match="two agents or more"):
        arena.league(["greedy"])
    with pytest.raises(ValueError, match="stop_when_clear"):
        arena.league(["greedy", "random"], stop_when_clear=True)


def test_outputs(report, tmp_path, capsys):
    report.write(tmp_path)
    (league,) = json.loads((tmp_path / "arena.json").read_text())["leagues"]
    assert league["ranking"] == ["greedy_long", "greedy", "random"]
    assert league["payoffs"][0][0] is None
    assert league["payoffs"][0][1]["verdict"] == "below"
    page = (tmp_path / "arena.html").read_text()
    assert "League of 3" in page
    assert "Payoffs" in page
    report.print()
    out = capsys.readouterr().out
    assert "League of 3" in out
    assert "Cycles: none" in out
