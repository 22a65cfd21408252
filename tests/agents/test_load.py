import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tests.outside_packages import install
from tienlen_agents import arena
from tienlen_agents.arena import store
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_env import doors
from tienlen_env.engine import agent as engine_agent
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_train.ppo import PPOConfig


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
    batch = Batch(preset, 50, auto_reset=True)
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
        ("searcher:world=3", "expected one of worlds, share, fast"),
        ("searcher:worlds=many", "worlds='many', expected an integer"),
        ("searcher:share=", "share='', expected a number"),
        ("searcher:fast=maybe", "fast='maybe', expected 0 or 1"),
        ("searcher:worlds=1,worlds=2", "option 'worlds' comes twice"),
        ("searcher:a,b", "expected 'searcher:<base>' and options"),
        ("policy", "expected 'policy:<path>' and options"),
        ("heuristic:ms", "'heuristic:ms': expected 'heuristic'"),
        ("trickster:x", "'trickster:x': expected 'trickster'"),
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


ROOT = Path(__file__).parents[2]


def test_the_wheel_declares_the_built_in_agents():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = project["entry-points"]
    found = groups[tienlen_agents.GROUP]
    assert {name: found[name] for name in tienlen_agents.BUILT_IN} == tienlen_agents.BUILT_IN
    others = {value.partition(".")[0] for name, value in found.items() if name not in tienlen_agents.BUILT_IN}
    assert others == {"tienlen_exact", "tienlen_bridges", "tienlen_table"}
    assert groups[engine_agent.LOADERS] == {"tienlen_agents": "tienlen_agents:load"}


@pytest.mark.parametrize("name", sorted(tienlen_agents.BUILT_IN))
def test_every_built_in_factory_is_there(name):
    assert callable(tienlen_agents._factory(name))


OUTSIDE = """
import numpy as np
from tienlen_env.engine.agent import RandomAgent

class Lowest(RandomAgent):
    name = "lowest"
    def __init__(self, *, worlds: int = 1) -> None:
        super().__init__()
        self.worlds = worlds
    def act(self, view):
        return view.legal_actions.action[view.legal_actions.start]
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder on the import path for packages from outside."""
    monkeypatch.syspath_prepend(tmp_path)
    doors._entries.cache_clear()
    yield tmp_path
    doors._entries.cache_clear()


def test_an_outside_package_adds_an_agent_by_name(outside):
    install(outside, "outside_bots", "[tienlen.agents]\nlowest = outside_bots:Lowest\n", OUTSIDE)
    assert "lowest" in tienlen_agents.names()
    assert "outside_bots" not in sys.modules
    assert tienlen_agents.load("lowest:worlds=3").worlds == 3
    assert engine_agent.load_agent("endgame:lowest").name == "endgame:lowest"
    # Worker processes load it by name, too.
    result = arena.match("lowest", "random", num_deals=4, deals_per_job=2, workers=2)
    assert result.scores[0].name == "lowest"


def test_an_outside_package_cannot_take_a_built_in_name(outside):
    install(outside, "outside_greedy", "[tienlen.agents]\ngreedy = outside_greedy:Lowest\n", OUTSIDE)
    assert tienlen_agents.load("greedy").name == "greedy"


def test_two_packages_with_the_same_name_are_refused(outside):
    install(outside, "outside_one", "[tienlen.agents]\nlowest = outside_one:Lowest\n", OUTSIDE)
    install(outside, "outside_two", "[tienlen.agents]\nlowest = outside_two:Lowest\n", OUTSIDE)
    with pytest.raises(ValueError, match=r"two packages have an agent 'lowest': .* of outside_"):
        tienlen_agents.load("lowest")


def test_a_malformed_name_of_a_package_is_refused(outside):
    install(outside, "outside_bad", "[tienlen.agents]\nMy-Bot = outside_bad:Lowest\n", OUTSIDE)
    with pytest.raises(ValueError, match="of outside_bad: expected lower-case"):
        tienlen_agents.names()


# ---------------------------------------------------------------- from tienlen_env


def test_the_engine_loads_agents_through_the_installed_loader(tmp_path, monkeypatch):
    """`tienlen_env` finds the loader in the metadata, without importing a package of agents by itself."""
    install(
        tmp_path,
        "outside_loader",
        "[tienlen.agent_loaders]\naaa = outside_loader:load\n",
        OUTSIDE + "def load(text):\n    return Lowest(worlds=len(text))\n",
    )
    code = (
        "import sys; from tienlen_env.engine.agent import load_agent;"
        "print('tienlen_agents' in sys.modules, load_agent('four').worlds)"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "4"]


def test_without_a_loader_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(engine_agent, "_registered", [])
    monkeypatch.setattr(engine_agent, "entry_points", lambda group: ())
    engine_agent._installed_loader.cache_clear()
    with pytest.raises(engine_agent.NoAgentLoaderError, match="Install the wheel of tienlen-env"):
        engine_agent.load_agent("greedy")
    engine_agent._installed_loader.cache_clear()


def test_the_package_registers_its_loader_in_a_checkout():
    assert engine_agent.load_agent("greedy_long").name == "greedy_long"


@pytest.mark.parametrize("name", ["endgame:" * 1200 + "greedy", "x" * 10**5, "greedy:" + "y" * 10**5 + "=1"])
def test_long_names_are_refused_in_short_texts(name):
    with pytest.raises(ValueError, match=r"agent|option") as caught:
        tienlen_agents.load(name)
    assert len(str(caught.value)) < 1000


# ---------------------------------------------------------------- imports


def imported(code, candidates):
    code += f"\nimport sys; print(sorted(set({candidates!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_agents_are_imported_when_they_are_loaded():
    modules = [entry.partition(":")[0] for entry in tienlen_agents.BUILT_IN.values()]
    own = [name for name in modules if name not in ("tienlen_agents", "tienlen_env.engine.agent")]
    assert imported("import tienlen_agents; tienlen_agents.load('random')", own) == "[]"


def test_rule_based_agents_and_the_arena_import_no_heavy_library():
    code = "import tienlen_agents.arena; tienlen_agents.load('greedy')"
    heavy = ["torch", "matplotlib", "rich", "stable_baselines3", "jinja2", "openskill"]
    assert imported(code, heavy) == "[]"


# ---------------------------------------------------------------- quotes

ODD = (
    "my runs/lr=0.001,seed=2",
    "a,b",
    "a b",
    "lr=3",
    "x:y",
    'say "x", y',
    "=",
    "it's,",
    ",",
    '"',
    "trust=1,sample=1",
)


@pytest.fixture
def odd_files(tmp_path, monkeypatch):
    """The network of an agent in files with odd names, by their relative paths."""
    monkeypatch.chdir(tmp_path)
    network = tienlen_agents.load("reference").network_for(PRESETS["cardgames"])
    paths = [f"{name}.safetensors" for name in ODD]
    for path in paths:
        Path(path).parent.mkdir(exist_ok=True)
        NetworkAgent(network, "x").save(path)
    return paths


def test_what_quoted_writes_is_read_everywhere(odd_files):
    """By `load`, in lists, by agents that wrap others, in a shell; and the name of an agent loads it."""
    texts = [f"policy:{tienlen_agents.quoted(path)},sample=1" for path in odd_files]
    for path, text in zip(odd_files, texts, strict=True):
        agent = tienlen_agents.load(text)
        assert agent.sample
        assert tienlen_agents.load(agent.name).name == agent.name
        assert tienlen_agents.load(f"endgame:{text}").base.name == agent.name
        assert store.file_digests([f"endgame:{text}"]).keys() == {path}
    assert tienlen_agents.split_list(" \n".join(texts)) == texts
    files = " ".join(map(tienlen_agents.quoted, odd_files))
    config = PPOConfig(baselines=" ".join(texts), teachers=" ".join(texts), start_from=files)
    assert config.baseline_names() == tuple(texts)
    assert config.agent_names() == (*(text.removesuffix(",sample=1") for text in texts), *texts, *texts)
    assert shlex.split(shlex.join(texts)) == texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("greedy  heuristic", ["greedy", "heuristic"]),
        ("policy:it's.zip,trust=1 greedy", ["policy:it's.zip,trust=1", "greedy"]),
        ('policy:5".zip greedy', ['policy:5".zip', "greedy"]),
        ("policy:runs\\a.zip search:worlds=64", ["policy:runs\\a.zip", "search:worlds=64"]),
        ("", []),
    ],
)
def test_lists_keep_their_meaning(text, expected):
    assert tienlen_agents.split_list(text) == expected == text.split()


def test_a_whole_text_may_stand_in_quotes():
    assert tienlen_agents.split_list('"policy:my runs/a.zip,trust=1" greedy') == [
        "policy:my runs/a.zip,trust=1",
        "greedy",
    ]


def test_commands_keep_their_quotes():
    """A shell's words are split once, by the program's own reader."""
    for text, words in {
        'process:python3 -c "print(1)",name=x': ["python3", "-c", "print(1)"],
        'process:"python3" a': ["python3", "a"],
        'process:python3 "--levels=1,2" x,limit_ms=5': ["python3", "--levels=1,2", "x"],
    }.items():
        assert tienlen_agents.load(text).arguments == words
    assert tienlen_agents.load('process:python3,name="Robin, the 2nd"').name == "Robin, the 2nd"
