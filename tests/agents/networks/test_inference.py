"""Networks that play without torch: the same choices as torch's, in any company, from any sound file."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import Inputs
from tienlen_agents.networks.network import FORMAT, Network, NetworkConfig, first_best, log_softmax, shapes_of
from tienlen_agents.networks.shipped import shipped
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import get_rules
from tienlen_train.network import ActionNetwork, as_bfloat16

SHIPPED = list(shipped().values())
each_shipped = pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)


def playing(path: Path) -> NetworkAgent:
    """A shipped network as it plays: fitted to today's observation, which may have more pieces."""
    agent = NetworkAgent.load(path)
    config = agent.network.config
    return NetworkAgent(agent.network_for(get_rules(config.rules, config.num_players)))


def some_inputs(agent: NetworkAgent, num_games: int, seed: int = 7) -> Iterator[tuple[View, Inputs]]:
    """The decisions with a choice of real rounds, which the agent plays with a random action now and then."""
    config = agent.network.config
    batch = Batch(get_rules(config.rules, config.num_players), num_games, history_length=1)
    batch.reset(seed)
    rng = np.random.default_rng(seed)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        free = view.select(np.flatnonzero(view.num_legal > 1))
        if len(free):
            yield free, config.reader().read(free)
        actions = np.full(num_games, -1)
        actions[games] = agent.act(view)
        strays = rng.random(num_games) < 0.1
        batch.step(np.where(strays, batch.sample(rng), actions))


def by_torch(module: ActionNetwork, inputs: Inputs) -> np.ndarray:
    with torch.inference_mode():
        logits: np.ndarray = module(
            torch.from_numpy(inputs.observation).float(),
            as_bfloat16(inputs.action_features).float(),
            torch.from_numpy(inputs.segment_ids),
            torch.from_numpy(inputs.prior),
        ).numpy()
    return logits


def check_agreement(path: Path, num_games: int, least: int) -> None:
    agent = playing(path)
    module = ActionNetwork.of(agent.network)
    same = total = 0
    for _, inputs in some_inputs(agent, num_games):
        wanted, found = by_torch(module, inputs), agent.network.logits(inputs)
        np.testing.assert_allclose(found, wanted, atol=2e-3, rtol=1e-4)
        same += int(
            (first_best(found, inputs.segment_start) == first_best(wanted, inputs.segment_start)).sum()
        )
        total += len(inputs.segment_start)
    assert total >= least
    assert same >= 0.9999 * total, f"{total - same} of {total} choices differ"


@each_shipped
def test_choices_are_those_of_torch(path: Path) -> None:
    check_agreement(path, 180, 3000)


@pytest.mark.nightly
@each_shipped
def test_choices_are_those_of_torch_in_100_000_decisions(path: Path) -> None:
    check_agreement(path, 5500, 100_000)


@pytest.mark.parametrize(
    ("rules", "widths"),
    [("cardgames", (5, 7)), ("foicica", (64, 128)), ("thirteens", (100, 130)), ("pagat", (129, 66))],
)
def test_layers_of_any_width_are_computed(rules: str, widths: tuple[int, int]) -> None:
    torch.manual_seed(1)
    config = NetworkConfig.of(get_rules(rules), state_width=widths[0], action_width=widths[1])
    module = ActionNetwork(config).requires_grad_(False)
    torch.nn.init.normal_(module.score.weight)
    torch.nn.init.normal_(module.score.bias)
    agent = NetworkAgent(module.to_network())
    for _, inputs in some_inputs(agent, 5):
        np.testing.assert_allclose(
            agent.network.logits(inputs), by_torch(module, inputs), atol=1e-4, rtol=1e-4
        )
    torch.nn.init.zeros_(module.state.weight)  # the agent's own are a copy
    assert agent.network.tensors["state.weight"].any()


@each_shipped
def test_a_decision_gets_the_same_bits_in_any_company(path: Path) -> None:
    agent = playing(path)
    for view, inputs in some_inputs(agent, 40):
        together = agent.network.logits(inputs)
        alone = [agent.network.logits(inputs.part(i, i + 1)) for i in range(len(view))]
        assert np.concatenate(alone).tobytes() == together.tobytes()
        middle = len(view) // 2
        if middle:
            halves = [agent.network.logits(inputs.part(*part)) for part in ((0, middle), (middle, len(view)))]
            assert np.concatenate(halves).tobytes() == together.tobytes()
        probable = agent.log_probabilities(view)
        each = [agent.log_probabilities(view.select([i])) for i in range(len(view))]
        assert np.concatenate(each).tobytes() == probable.tobytes()


def test_inputs_of_another_size_are_refused() -> None:
    agent = playing(SHIPPED[0])
    _, inputs = next(some_inputs(agent, 3))
    for changed in (
        inputs._replace(observation=inputs.observation[:, 1:]),
        inputs._replace(action_features=inputs.action_features[:, 1:]),
        inputs._replace(observation=inputs.observation[1:]),
        inputs._replace(observation=inputs.observation[0]),
        inputs._replace(action_features=inputs.action_features[1:]),
        inputs._replace(prior=inputs.prior[1:]),
    ):
        with pytest.raises(ValueError, match=r"expected inputs of \(\d+, \d+\) numbers"):
            agent.network.logits(changed)


BAD_STARTS = {
    "beyond the end": [0, 10**6],
    "negative": [0, -(2**40)],
    "descending": [0, 5, 3],
    "not from 0": [1, 3],
    "twice the same": [0, 2, 2],
    "none": [],
    "fractions": [0.0, 2.0],
    "a table": [[0, 2]],
}


@pytest.mark.parametrize("what", BAD_STARTS)
def test_decisions_that_do_not_divide_the_actions_are_refused(what: str) -> None:
    """The compiled loops go from each start to the next, and check nothing."""
    start = np.array(BAD_STARTS[what], None if what == "fractions" else np.int64)
    agent = NetworkAgent.load(SHIPPED[0])
    _, inputs = next(some_inputs(agent, 3))
    with pytest.raises(ValueError, match="segment_start: expected int64"):
        log_softmax(np.zeros(9, np.float32), start)
    with pytest.raises(ValueError, match="segment_start: expected int64"):
        agent.network.logits(inputs._replace(segment_start=start))
    for logits in (np.zeros(9), np.zeros((3, 3), np.float32)):
        with pytest.raises(ValueError, match=r"logits: expected float32 \(N,\)"):
            log_softmax(logits, np.array([0]))  # type: ignore[arg-type]


# ---------------------------------------------------------------- files


def a_network() -> Network:
    config = NetworkConfig.of(get_rules("cardgames"), state_width=6, action_width=4)
    rng = np.random.default_rng(1)
    return Network(config, {k: rng.normal(size=s).astype(np.float32) for k, s in shapes_of(config).items()})


def metadata(config: Any, card: Any = None) -> dict[str, str]:
    return {"format": FORMAT, "config": json.dumps(config), "card": json.dumps(card or {})}


@each_shipped
def test_a_file_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    agent = NetworkAgent.load(path)
    agent.save(tmp_path / "again.safetensors")
    again = NetworkAgent.load(tmp_path / "again.safetensors")
    assert again.network.config == agent.network.config
    assert again.card == agent.card
    module = ActionNetwork.of(agent.network)
    by_torch = {name: tensor.float() for name, tensor in safetensors.torch.load_file(path).items()}
    for name, tensor in agent.network.tensors.items():
        assert tensor.tobytes() == again.network.tensors[name].tobytes() == by_torch[name].numpy().tobytes()
        assert torch.equal(module.state_dict()[name], by_torch[name])
    assert agent.network.num_weights == module.num_weights


def test_half_precision_is_read(tmp_path: Path) -> None:
    network, path = a_network(), tmp_path / "half.safetensors"
    half = {k: v.astype(np.float16) for k, v in network.tensors.items()}
    safetensors.numpy.save_file(half, path, metadata(asdict(network.config)))
    found = NetworkAgent.load(path).network.tensors
    for name, tensor in half.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], tensor)
    brain = {k: torch.from_numpy(v).bfloat16() for k, v in network.tensors.items()}
    safetensors.torch.save_file(brain, path, metadata(asdict(network.config)))
    with pytest.raises(ValueError, match=r"half\.safetensors.*stored as BF16"):
        NetworkAgent.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"state_width": 10**12},
        {"action_width": 10**400},
        {"observation_size": 2**62},
        {"state_width": 7},
        {"state_width": 0},
        {"state_width": -6},
        {"action_width": 1},
        {"state_width": 6.0},
        {"state_width": True},
        {"state_width": "6"},
        {"num_players": None},
        {"prior": "magic"},
        {"prior": []},
        {"prior_scale": float("nan")},
        {"prior_scale": 10**400},
        {"game": "bridge"},
        {"game": "thirteens", "record": True},
        {"game": ["tienlen"]},
        {"record": 1},
        {"rules": 3},
        {"depth": 3},
    ],
    ids=str,
)
def test_a_configuration_that_does_not_fit_is_refused_before_anything_is_allocated(
    change: dict[str, Any], tmp_path: Path
) -> None:
    network, path = a_network(), tmp_path / "changed.safetensors"
    config = {**asdict(network.config), **change}
    safetensors.numpy.save_file(network.tensors, path, metadata(config))
    with suppress(ValueError):
        NetworkAgent.load(path)  # imports the game, which takes memory once
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"changed\.safetensors.*do not fit"):
            NetworkAgent.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    network, path = a_network(), tmp_path / "bad.safetensors"
    config, tensors = asdict(network.config), network.tensors
    for bad in (np.nan, np.inf):
        block = tensors["block.weight"].copy()
        block[1, 2] = bad
        safetensors.numpy.save_file({**tensors, "block.weight": block}, path, metadata(config))
        with pytest.raises(ValueError, match=r"bad\.safetensors.*block\.weight has weights that are not fin"):
            NetworkAgent.load(path)
    for other, message in [
        ({k: v for k, v in tensors.items() if k != "after.weight"}, "missing or unknown .*after.weight"),
        ({**tensors, "more": np.zeros(2, np.float32)}, "missing or unknown .*more"),
        ({**tensors, "score.bias": np.zeros((1, 1), np.float32)}, r"score.bias is \(1, 1\), expected \(1,\)"),
        ({**tensors, "score.bias": np.zeros(1)}, "score.bias is stored as F64"),
    ]:
        safetensors.numpy.save_file(other, path, metadata(config))
        with pytest.raises(ValueError, match=rf"bad\.safetensors.*{message}"):
            NetworkAgent.load(path)
    safetensors.numpy.save_file(tensors, path, metadata([config]))
    with pytest.raises(ValueError, match=r"bad\.safetensors.*do not fit"):
        NetworkAgent.load(path)
    safetensors.numpy.save_file(tensors, path, metadata(config, card=[1]))
    with pytest.raises(ValueError, match=r"bad\.safetensors.*card"):
        NetworkAgent.load(path)
    with pytest.raises(ValueError, match="expected"):
        Network(replace(network.config, state_width=8), tensors)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # from now on, to import it raises ImportError
import numpy as np
import tienlen_agents
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
for name in ("champion:worlds=2", "champion:worlds=0", "champion:sample=1,worlds=2", "policy:{path}"):
    agent = tienlen_agents.load(name)
    batch = Batch("cardgames", 1, history_length=256)
    batch.reset(1)
    agent.reset(1)
    while batch.state.turn[0] >= 0:
        batch.step(agent.act(View(batch)))
print("played")
"""


def test_networks_play_where_there_is_no_torch() -> None:
    path = shipped()["cardgames", "medium"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH.format(path=path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "played\n"
