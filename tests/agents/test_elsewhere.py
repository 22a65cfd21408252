"""Agents in other processes and threads: copied, pickled, started by every method."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cloudpickle
import gymnasium
import numpy as np
import pytest

import tienlen_agents
import tienlen_env  # noqa: F401  registers the environments
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.vector import OneSeatVectorEnv

POLICY = next(iter(sorted(WEIGHTS.glob("cardgames-medium-*.safetensors"))))
ANSWERS = f"process:{sys.executable} -m tests.no_such_program"
# An example of each built-in agent that plays by itself in Tiến lên.
EXAMPLES = {
    "champion": "champion:worlds=4", "endgame": "endgame:greedy", "greedy": "greedy",
    "greedy_long": "greedy_long", "heuristic": "heuristic", "ismcts": "ismcts:worlds=4",
    "policy": f"policy:{POLICY}", "random": "random", "reference": "reference", "search": "search:worlds=4",
}  # fmt: skip
MORE = [
    "champion:worlds=0", "champion:size=medium,worlds=4", "champion:worlds=2,rollout=network",
    "champion:sample=1", "search:worlds=4,prior=champion:worlds=0", "endgame:champion:worlds=4",
]  # fmt: skip
OTHERS = {"human": "human", "process": ANSWERS, "trickster": "trickster"}
NAMES = [*EXAMPLES.values(), *MORE]
METHODS = multiprocessing.get_all_start_methods()


def a_view() -> View:
    batch = Batch("cardgames", 6, history_length=160)
    batch.deal(np.arange(6))
    for _ in range(9):
        batch.step(batch.first_legal(np.arange(6)))
    return View(batch)


def choices(agent: Agent) -> list[int]:
    """What an agent chooses after a reset."""
    agent.reset(3)
    found: list[int] = agent.act(a_view()).tolist()
    return found


def test_every_built_in_agent_is_tried() -> None:
    # `exact` and `onnx` read files: see exact/test_agent.py and networks/test_onnx_policy.py. `openspiel` is
    # a bot of another library.
    assert {*EXAMPLES, *OTHERS, "exact", "onnx", "openspiel"} == set(tienlen_agents.BUILT_IN)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("used", [False, True])
def test_copies_choose_the_same(name: str, used: bool) -> None:
    agent = tienlen_agents.load(name)
    if used:
        choices(agent)
    ways: list[Callable[[Agent], Agent]] = [
        copy.deepcopy,
        lambda one: pickle.loads(pickle.dumps(one)),
        lambda one: pickle.loads(cloudpickle.dumps(one)),
    ]
    copies = [way(agent) for way in ways]
    wanted = choices(agent)
    for other in copies:
        assert other.name == agent.name
        assert choices(other) == wanted


@pytest.mark.parametrize("name", OTHERS.values())
def test_others_are_copied(name: str) -> None:
    """A program is started anew for a copy; `trickster` plays another game."""
    agent = tienlen_agents.load(name)
    assert pickle.loads(pickle.dumps(agent)).name == copy.deepcopy(agent).name == agent.name


@pytest.mark.parametrize("method", METHODS)
def test_other_processes_choose_the_same(method: str) -> None:
    agents = [tienlen_agents.load(name) for name in NAMES]
    wanted = [choices(agent) for agent in agents]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(choices, agents)) == wanted


def test_threads_choose_the_same() -> None:
    agents = [tienlen_agents.load(name) for name in NAMES]
    wanted = [choices(agent) for agent in agents]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(choices, [copy.deepcopy(agent) for agent in agents for _ in range(4)]))
    assert found == [choice for choice in wanted for _ in range(4)]


def test_environments_with_opponents_are_copied() -> None:
    env = gymnasium.make("tienlen_env/TienLen-v1", opponents="champion:worlds=2").unwrapped
    vector = OneSeatVectorEnv(2, opponents="champion:worlds=2")
    env.reset(seed=1)
    vector.reset(seed=1)
    for one in (env, vector):
        for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            observation, _ = other.reset(seed=5)
            wanted, _ = one.reset(seed=5)
            assert np.array_equal(observation, wanted)


def test_a_vector_environment_of_spawned_processes() -> None:
    envs = gymnasium.vector.AsyncVectorEnv(
        [lambda: gymnasium.make("tienlen_env:tienlen_env/TienLen-v1", opponents="champion:worlds=2")] * 2,
        context="spawn",
    )
    observation, _ = envs.reset(seed=1)
    assert len(observation) == 2
    envs.close()
