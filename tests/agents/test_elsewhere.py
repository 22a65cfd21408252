"""Agents in other processes and threads: copied, pickled, started by every method; and in plain Python."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import distribution
from multiprocessing.connection import Connection
from pathlib import Path

import cloudpickle
import gymnasium
import numpy as np
import pytest

import tienlen_agents
import tienlen_env  # noqa: F401  registers the environments
from tests.needs import forks, needs_exact, needs_onnx, needs_openspiel, needs_table
from tests.plain_python import printed
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.search import SearchAgent
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.games.registry import get_rules

ROOT = Path(__file__).parents[2]
POLICY = next(iter(sorted(WEIGHTS.glob("cardgames-medium-*.safetensors"))))
FOLDER = "FOLDER"  # in a name: of the files that `files` writes
# An example of each built-in agent that plays by itself.
EXAMPLES = {
    "champion": "champion:worlds=4", "endgame": "endgame:greedy", "exact": f"exact:{FOLDER}/mini.npz",
    "greedy": "greedy", "greedy_long": "greedy_long", "heuristic": "heuristic", "ismcts": "ismcts:worlds=4",
    "onnx": f"onnx:{FOLDER}/policy.onnx,sample=1", "openspiel": "openspiel:uniform_random",
    "policy": f"policy:{POLICY}", "process": f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}",
    "random": "random", "reference": "reference", "search": "search:worlds=4", "trickster": "trickster",
}  # fmt: skip
MORE = [
    "champion:worlds=0", "champion:size=medium,worlds=4", "champion:worlds=2,rollout=network",
    "champion:sample=1", "search:worlds=4,prior=champion:worlds=0", "endgame:champion:worlds=4",
    "endgame:heuristic", "search:worlds=8", f"policy:{POLICY},sample=1",
]  # fmt: skip
RULES = {"exact": "mini", "trickster": "thirteens"}  # the others play `cardgames`
SLOW = ["openspiel:ismcts,simulations=3", "search:worlds=2,isolate=1"]
MARKS = {"exact": needs_exact, "onnx": needs_onnx, "openspiel": needs_openspiel}


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    """What an agent needs."""
    return [mark for start, mark in MARKS.items() if name.startswith(start)]


NAMES = [
    pytest.param(
        name,
        marks=[
            *marks_of(name),
            *([pytest.mark.nightly] if name in SLOW else []),
        ],
    )
    for name in [*EXAMPLES.values(), *MORE, *SLOW]
]
WAYS: dict[str, Callable[[Agent], Agent]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda agent: pickle.loads(pickle.dumps(agent)),
    "cloudpickle": lambda agent: pickle.loads(cloudpickle.dumps(agent)),
}
LIMIT = 120  # seconds for a process
METHODS = multiprocessing.get_all_start_methods()


def a_view(rules: str) -> View:
    batch = Batch(rules, 6, history_length=255)
    batch.deal(np.arange(6))
    for _ in range(2 if rules == "mini" else 9):
        batch.step(batch.first_legal(np.arange(6)))
    return View(batch)


def choices(agent: Agent) -> list[int]:
    """What an agent chooses after a reset."""
    agent.reset(3)
    found: list[int] = agent.act(a_view(RULES.get(agent.name.partition(":")[0], "cardgames"))).tolist()
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files that agents read."""
    folder = tmp_path_factory.mktemp("files")
    if not needs_exact.args[0]:
        from tienlen_exact import build, small_game
        from tienlen_exact.agent import save_policy
        from tienlen_exact.policies import uniform

        tree = build(small_game("mini"))
        save_policy(folder / "mini.npz", tree, uniform(tree), "a test")
    if not needs_onnx.args[0]:
        from tienlen_bridges.onnx_policy import to_onnx

        agent = tienlen_agents.load("reference")
        (folder / "policy.onnx").write_bytes(to_onnx(agent, get_rules("cardgames")))  # type: ignore[arg-type]
    return folder


@pytest.fixture
def agent(name: str, files: Path) -> Agent:
    return tienlen_agents.load(name.replace(FOLDER, str(files)))


def test_every_agent_of_the_wheel_is_tried() -> None:
    ours = {
        entry.name
        for entry in distribution("tienlen-env").entry_points
        if entry.group == tienlen_agents.GROUP
    }
    assert {*EXAMPLES, "human"} == ours >= {*tienlen_agents.BUILT_IN}


@pytest.fixture(scope="module")
def pools() -> Iterator[dict[str, ProcessPoolExecutor]]:
    """A process for each method that starts one without this process's objects."""
    with ExitStack() as stack:
        yield {
            method: stack.enter_context(ProcessPoolExecutor(1, multiprocessing.get_context(method)))
            for method in METHODS
            if method != "fork"
        }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_copies_choose_the_same(agent: Agent, used: bool, way: str) -> None:
    if used:
        choices(agent)
    other = WAYS[way](agent)
    assert other.name == agent.name
    assert choices(other) == choices(agent)


@pytest.mark.parametrize("name", NAMES)
def test_other_processes_choose_the_same(agent: Agent, pools: dict[str, ProcessPoolExecutor]) -> None:
    found = {method: pool.submit(choices, agent).result(LIMIT) for method, pool in pools.items()}
    assert found == dict.fromkeys(pools, choices(agent))


def send_choices(end: Connection, agent: Agent) -> None:
    end.send(choices(agent))


@forks
@pytest.mark.parametrize("name", NAMES)
def test_a_fork_of_a_used_agent_chooses_the_same(agent: Agent) -> None:
    """It is not pickled, and the process goes on using it."""
    wanted = choices(agent)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    children = [context.Process(target=send_choices, args=(there, agent)) for _ in range(2)]
    for child in children:
        child.start()
    assert choices(agent) == wanted
    for _ in children:
        assert here.poll(LIMIT)
        assert here.recv() == wanted
    for child in children:
        child.join(LIMIT)
        assert child.exitcode == 0
    assert choices(agent) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_threads_choose_the_same(agent: Agent) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(choices, [copy.deepcopy(agent) for _ in range(4)]))
    assert found == [choices(agent)] * 4


@needs_table
def test_a_person_answers_copies_and_threads_but_no_other_process(
    pools: dict[str, ProcessPoolExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tienlen_table.terminal.human import Leave

    agent, found = tienlen_agents.load("human"), []
    with ThreadPoolExecutor(1) as pool:
        for ask in (
            *(lambda way=way: choices(way(agent)) for way in WAYS.values()),
            lambda: choices(agent),
            lambda: pool.submit(choices, agent).result(),
        ):
            monkeypatch.setattr("sys.stdin", io.StringIO("1\n2\n1\n3\n1\n2\n"))
            found.append(ask())
    assert len(found[0]) == 6
    assert found == [found[0]] * len(found)
    for executor in pools.values():
        with pytest.raises(Leave):
            executor.submit(choices, agent).result(LIMIT)


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


def last_choices(name: str, rules: str, num_games: int, num_cards: int) -> list[object]:
    """Choices of an agent and estimates of a search, from when few cards are left; random play before."""
    agent, batch = tienlen_agents.load(name), Batch(rules, num_games, history_length=255)
    batch.deal(np.arange(num_games))
    agent.reset(3)
    rng, rewards = np.random.default_rng(5), np.zeros((num_games, batch.num_players), np.float32)
    found: list[object] = []
    while (games := np.flatnonzero(batch.turn >= 0)).size:
        is_late = batch.state.num_cards_left[games].sum(axis=1) <= num_cards
        actions = batch.sample(rng)[games]
        if is_late.any():
            view = View(batch, games[is_late])
            actions[is_late] = agent.act(view)
            found.append(actions[is_late].tolist())
            if isinstance(agent, SearchAgent):
                found += [estimates.mean.tolist() for estimates in agent.estimate(view)]
        batch.step_games(games, actions, rewards)
    return found


RULE_BASED = [
    *((name, "south", 4, 52) for name in ("greedy", "greedy_long", "heuristic", "endgame:heuristic")),
    ("heuristic", "north", 4, 52),  # suits bind
    ("trickster", "thirteens", 4, 52),
]


def choices_of_the_rule_based() -> list[object]:
    return [last_choices(*given) for given in RULE_BASED]


def test_rule_based_players_in_plain_python_choose_the_same() -> None:
    """The same source without a compiler, in one process for all."""
    wanted = choices_of_the_rule_based()
    assert len(wanted) == len(RULE_BASED)
    assert printed(f"{__name__}:choices_of_the_rule_based") == f"{wanted}\n"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "rules", "num_games", "num_cards"),
    [
        pytest.param(name, rules, 2, 10, marks=marks_of(name))
        for name, rules in [
            ("reference", "cardgames"), ("champion:worlds=0", "cardgames"), ("champion:worlds=0", "mobile"),
            ("champion:worlds=2", "south"), ("champion:worlds=2", "thirteens"),
            ("search:worlds=4", "south"), ("search:worlds=4", "thirteens"),
            ("search:worlds=4", "high_card"), ("ismcts:worlds=4", "foicica"),
            (f"exact:{FOLDER}/mini.npz", "mini"),
        ]
    ],
)  # fmt: skip
def test_plain_python_chooses_the_same(
    name: str, rules: str, num_games: int, num_cards: int, files: Path
) -> None:
    """The same source without a compiler: slow, so that the searches get few cards."""
    given = (name.replace(FOLDER, str(files)), rules, num_games, num_cards)
    wanted = last_choices(*given)
    assert len(wanted) > 2
    assert printed(f"{__name__}:last_choices", *given) == f"{wanted}\n"
