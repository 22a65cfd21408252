"""The commands that measure the searching players, and the player that sees all hands."""

import re

import numpy as np
import pytest

import tienlen_agents
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.engine.view import View
from tienlen_train.benchmarks import all_hands as bench_all_hands, search as bench_search


def test_it_measures_times_points_and_gains(capsys):
    names = "search:worlds=2,inference=0 search:worlds=2"
    bench_search.main(
        ["--agents", names, "--rounds", "1", "--deals", "2", "--threads", "2", "--base", "greedy"]
    )
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


def test_a_player_that_sees_all_hands_gains(capsys):
    bench_all_hands.main(["--agent", "greedy_long", "--deals", "40"])
    text = capsys.readouterr().out
    found = re.fullmatch(
        r"all hands v. 3 × greedy_long, cardgames, 4 players, 40 deals × 4 seatings: "
        r"(\S+) ± (\S+) points, \S+ ± \S+ % first\n",
        text,
    )
    assert found is not None
    assert float(found[1]) - float(found[2]) > 2.0  # parity is 1.5


def test_what_it_plays_out_is_what_happens():
    agent = tienlen_agents.load("greedy")
    batch = Batch("cardgames", 200)
    batch.reset(5)
    player = bench_all_hands.AllHandsAgent(agent)
    order = np.arange(200)
    view = View(batch)
    promised = player._points(view, view.legal_actions.action, np.repeat(order, view.num_legal))
    seats, chosen = batch.state.turn.copy(), player.act(view)
    starts = view.legal_actions.start
    best = np.maximum.reduceat(promised, starts)
    batch.step(chosen)
    while (running := np.flatnonzero(batch.state.turn >= 0)).size:
        actions = np.full(200, NO_ACTION)
        actions[running] = agent.act(View(batch, running))
        batch.step(actions)
    assert (batch.scores()[order, seats] == best).all()
