import subprocess
import sys

import numpy as np
import pytest

import tienlen_agents
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen.rules import PRESETS


class Searcher:
    """An agent with options, as later ones have."""

    name = "searcher"

    def __init__(
        self, base: str = "greedy", *, worlds: int = 8, share: float = 0.5, fast: bool = False
    ) -> None:
        self.settings = (base, worlds, share, fast)


@pytest.fixture
def searcher(monkeypatch):
    monkeypatch.setattr(tienlen_agents, "_factories", dict(tienlen_agents._factories))
    tienlen_agents.register("searcher", Searcher)


def test_the_baselines_are_there():
    assert {"random", "greedy", "greedy_long", "policy"} <= set(tienlen_agents.names())
    assert tienlen_agents.names() == sorted(tienlen_agents.names())


@pytest.mark.parametrize("name", ["random", "greedy", "greedy_long"])
@pytest.mark.parametrize("preset", PRESETS)
def test_baselines_follow_the_protocol_and_the_rules(name, preset):
    agent = tienlen_agents.load(name)
    assert isinstance(agent, Agent)
    assert agent.name == name
    assert tienlen_agents.load(name) is not agent
    batch = Batch(preset, 50)
    batch.reset(3)
    agent.reset(1)
    for _ in range(20):
        actions = agent.act(View(batch))
        assert actions.dtype == np.int64
        batch.step(actions)  # refuses what is not legal


def test_random_draws_from_its_seed_alone():
    batch = Batch("cardgames", 200)
    batch.reset(3)
    first, second = tienlen_agents.load("random"), tienlen_agents.load("random")
    first.reset(5)
    second.reset(5)
    chosen = first.act(View(batch))
    assert (second.act(View(batch)) == chosen).all()
    second.reset(6)
    assert (second.act(View(batch)) != chosen).any()


@pytest.mark.usefixtures("searcher")
def test_options_are_read_by_their_annotations():
    assert tienlen_agents.load("searcher").settings == ("greedy", 8, 0.5, False)
    assert tienlen_agents.load("searcher:worlds=64").settings == ("greedy", 64, 0.5, False)
    assert tienlen_agents.load("searcher:random,share=1e-3,fast=yes").settings == ("random", 8, 1e-3, True)
    assert tienlen_agents.load("searcher:./lr=3/x.zip").settings[0] == "./lr=3/x.zip"


@pytest.mark.usefixtures("searcher")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("greddy", "unknown agent 'greddy': expected one of"),
        ("", "unknown agent ''"),
        ("greedy:depth=3", "'greedy:depth=3' has no option 'depth'; it takes none"),
        ("greedy:x", "'greedy:x': expected 'greedy'"),
        ("searcher:world=3", "its options are worlds, share, fast"),
        ("searcher:worlds=many", "worlds='many', expected an integer"),
        ("searcher:share=", "share='', expected a number"),
        ("searcher:fast=maybe", "fast='maybe', expected 0 or 1"),
        ("searcher:worlds=1,worlds=2", "option 'worlds' comes twice"),
        ("searcher:a,b", "expected 'searcher:<base>' and options"),
        ("policy", "expected 'policy:<path>' and options"),
    ],
)
def test_what_cannot_be_loaded_says_what_there_is(text, message):
    with pytest.raises(ValueError, match="agent") as caught:
        tienlen_agents.load(text)
    assert message in str(caught.value)


@pytest.mark.usefixtures("searcher")
@pytest.mark.parametrize("name", ["searcher", "greedy"])
def test_names_are_for_ever(name):
    with pytest.raises(ValueError, match="already"):
        tienlen_agents.register(name, Searcher)


@pytest.mark.parametrize("name", ["", "Greedy", "a:b", "a b", "1a"])
def test_malformed_names_are_refused(name):
    with pytest.raises(ValueError, match="lower-case"):
        tienlen_agents.register(name, Searcher)


def test_rule_based_agents_and_the_arena_import_no_heavy_library():
    code = (
        "import sys, tienlen_agents.arena; tienlen_agents.load('greedy');"
        "print(sorted({'torch', 'matplotlib', 'rich', 'stable_baselines3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
