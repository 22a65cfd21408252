"""A population: opponents, payoffs, and resuming. Its figures on a cluster are tested in test_cluster.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.clusters import SMALL as SMALL_NETWORK
from tienlen_agents.arena.stats import Estimate
from tienlen_agents.networks.network import Network, NetworkAgent, NetworkConfig, shapes_of
from tienlen_env.games.registry import get_rules
from tienlen_train.league import Entry, LeagueConfig, Population, payoff, train_league
from tienlen_train.league_table import Member, Table, show

SMALL: dict[str, Any] = {
    **SMALL_NETWORK,
    "generations": 3,
    "iterations": 1,
    "payoff_deals": 4,
    "num_games": 24,
}


def a_league(out: Path, **settings: Any) -> Population:
    config = LeagueConfig(**{**SMALL, **settings}, out=str(out))
    return train_league(config, Console(quiet=True))[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("league") / "run"
    a_league(out)
    return out


def files(out: Path) -> dict[str, bytes]:
    """The table and the policies."""
    return {path.name: path.read_bytes() for path in [out / "league.json", *(out / "policies").iterdir()]}


def test_every_pair_has_a_payoff(whole):
    table = json.loads((whole / "league.json").read_text())
    members = [f"{member['name']}-{member['generation']}" for member in table["members"]]
    assert members == ["main-1", "exploiter-1", "main-2", "exploiter-2", "main-3", "exploiter-3"]
    for row, entries in enumerate(table["payoffs"]):
        assert [entry is None for entry in entries] == [row == column for column in range(6)]
    assert {path.stem for path in (whole / "policies").iterdir()} == set(members)
    NetworkAgent.load(str(whole / "policies" / "exploiter-2.safetensors"))


def test_a_stopped_league_goes_on(tmp_path, whole):
    out = tmp_path / "run"

    class Stopped(Exception):
        pass

    def stop(population: Population) -> None:
        if population.generation == 2:
            raise Stopped

    config = LeagueConfig(**SMALL, out=str(out))
    with pytest.raises(Stopped):
        train_league(config, Console(quiet=True), after=stop)
    a_league(out, resume=True)
    assert files(out) == files(whole)


def test_exploiters_play_the_present_main_learners_alone():
    population = Population(LeagueConfig(**SMALL), executor=None)
    main, exploiter = population.config.names
    rules = get_rules("cardgames")
    for generation in (1, 2):
        for name in (main, exploiter):
            population.table.add(Member(name, generation, a_network(rules, generation)))
    for row in range(4):
        for column in range(4):
            if row != column:
                population.table.payoffs[row, column] = Estimate(row - column, 0.1)
    population.generation = 2
    of_main = population._stretch(0, main)
    assert [index for index, _, _ in of_main.opponents] == [0, 1, 3]  # all but itself
    assert [score for _, _, score in of_main.opponents] == [2, 1, -1]
    of_exploiter = population._stretch(1, exploiter)
    assert [index for index, _, _ in of_exploiter.opponents] == [2]
    assert of_exploiter.config.snapshot_share == 1.0
    population._restart_exploiters()
    start = population._stretch(1, exploiter).start
    assert start is not None  # it beats the main learner, so it begins again from it
    main_network = population.table.members[2].network
    assert all(np.array_equal(start[name], tensor) for name, tensor in main_network.tensors.items())


def a_network(rules: Any, seed: int) -> Network:
    config = NetworkConfig.of(rules, state_width=8, action_width=8)
    rng = np.random.default_rng(seed)
    shapes = shapes_of(config)
    return Network(
        config, {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    )


def test_a_payoff_of_a_policy_against_itself_is_parity():
    network = a_network(get_rules("cardgames"), 1)
    found = payoff(Entry(network, network, get_rules("cardgames"), 20, 0))
    assert found.mean == 0


def test_who_exploits_whom():
    rules = get_rules("cardgames")
    table = Table([Member(name, 1, a_network(rules, 1)) for name in "abc"])
    values = {(0, 1): 0.5, (1, 0): -0.4, (1, 2): 0.3, (2, 1): -0.6, (2, 0): 0.9, (0, 2): 0.05}
    table.payoffs = {where: Estimate(value, 0.1) for where, value in values.items()}
    assert [row for row, _ in table.exploiters_of(0)] == [2]
    assert [row for row, _ in table.exploiters_of(1)] == [0]
    assert [row for row, _ in table.exploiters_of(2)] == [1]
    assert table.best().name == "c"
    console = Console(record=True, width=120)
    show(table, console)
    text = console.export_text()
    assert "a-1 is exploited by c-1 (+0.90 ± 0.10)" in text


@pytest.mark.parametrize(
    "settings", [{"generations": 0}, {"mains": 0}, {"payoff_deals": 1}, {"staleness": 1}]
)
def test_settings_out_of_range(tmp_path, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        a_league(tmp_path / "run", **settings)
