"""The arena on a Ray cluster: the same figures as in one process, whatever happens to the nodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.clusters import NODE, ROOT, running_cluster, without_times
from tienlen_agents import arena, cluster

BOT = ROOT / "examples"
OPTIONS = {"num_deals": 32, "deals_per_job": 8, "seed": 3}


@pytest.fixture(scope="module")
def nodes():
    pytest.importorskip("ray")
    with running_cluster(3) as found:
        yield found


class Change:
    """Progress that removes a node and adds another while the run plays."""

    def __init__(self, nodes) -> None:
        self.nodes = nodes
        self.num_chunks = 0

    def start(self, title, num_games):
        pass

    def advance(self, num_games, num_decisions):
        self.num_chunks += 1
        if self.num_chunks == 2:
            self.nodes.remove_node(sorted(self.nodes.worker_nodes, key=id)[0], allow_graceful=False)
        if self.num_chunks == 4:
            self.nodes.add_node(**NODE)


def a_policy(path: Path) -> None:
    from tienlen_agents.networks.network import NetworkAgent, NetworkConfig
    from tienlen_env.games.registry import get_rules
    from tienlen_train.action_network import ActionNetwork

    module = ActionNetwork(
        NetworkConfig.of(get_rules("cardgames"), record=True, state_width=16, action_width=8)
    )
    rng = np.random.default_rng(1)
    for weight in module.parameters():
        weight.data.copy_(weight.data.new_tensor(rng.normal(0, 0.3, weight.shape)))
    path.parent.mkdir(parents=True, exist_ok=True)
    NetworkAgent.from_module(module, "small").save(path)


def test_a_lost_node_and_a_new_one_change_no_figure(nodes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_policy(Path("policies/small.safetensors"))
    bot = Path("bots/first.py")
    bot.parent.mkdir()
    bot.write_bytes((ROOT / "examples" / "bot.py").read_bytes())
    agents = ["heuristic", "policy:policies/small.safetensors", f"process:{sys.executable} bots/first.py"]
    change = Change(nodes)
    with cluster.connect(nodes.address, agents) as executor:
        spread = arena.league(agents, executor=executor, progress=change, **OPTIONS)
        assert len(executor.pool.tasks_of) > 1
        assert change.num_chunks == sum(executor.pool.tasks_of.values())
    alone = arena.league(agents, **OPTIONS)
    assert json.dumps(without_times(spread.to_dict())) == json.dumps(without_times(alone.to_dict()))
