"""The environments are registered in whatever order libraries, questions and other import hooks come."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Libraries with the modules that matter: an order takes milliseconds. They refuse an id that comes twice.
STAND_INS = {
    "gymnasium/__init__.py": """
        import gymnasium.core
        from gymnasium.envs.registration import make, register, registry
        from gymnasium import wrappers
        """,
    "gymnasium/core.py": "",
    "gymnasium/wrappers.py": "",
    "gymnasium/envs/__init__.py": "from gymnasium.envs.registration import register",
    "gymnasium/envs/registration.py": """
        import time
        import gymnasium as gym
        registry = {}
        time.sleep(0.01)  # other threads run
        def register(id, **settings):
            assert id not in registry, id
            registry[id] = settings
        def make(id): ...
        """,
    "pettingzoo/__init__.py": """
        import gymnasium
        from pettingzoo.env_registry.registration import aec_registry, register
        """,
    "pettingzoo/env_registry/__init__.py": "from pettingzoo.env_registry.registration import register",
    "pettingzoo/env_registry/registration.py": """
        import time
        aec_registry = {}
        time.sleep(0.01)
        def register(env_type, id, entry_point):
            assert id not in aec_registry, id
            aec_registry[id.replace("_v", "-v")] = entry_point
        """,
    "torchrl.py": """
        import importlib.util
        found = [importlib.util.find_spec(name) for name in ("gymnasium", "pettingzoo", "gym")]
        """,
    "benchmarl.py": "import torchrl\nif torchrl.found[1]:\n    import pettingzoo",
}
START = """
import importlib, importlib.util, sys, threading
from importlib.machinery import PathFinder

class Loader:
    def __init__(self, loader): self.loader = loader
    def create_module(self, spec): return self.loader.create_module(spec)
    def exec_module(self, module): self.loader.exec_module(module)

class Delegates:  # as wrapt does and those who copied it
    busy = set()
    def find_spec(self, name, path=None, target=None):
        if name in self.busy: return None
        self.busy.add(name)
        try: spec = importlib.util.find_spec(name)
        except ValueError: spec = None
        finally: self.busy.discard(name)
        if spec is not None and spec.loader is not None: spec.loader = Loader(spec.loader)
        return spec

class Behind:  # asks those behind it
    def find_spec(self, name, path=None, target=None):
        for finder in sys.meta_path[sys.meta_path.index(self) + 1:]:
            if (spec := finder.find_spec(name, path, target)) is not None: return spec

class Answers:  # some names, without asking anybody
    def __init__(self, *names): self.names = names
    def find_spec(self, name, path=None, target=None):
        return PathFinder.find_spec(name, path, target) if name in self.names else None

class UsedUp:
    def find_spec(self, name, path=None, target=None):
        if name == "gymnasium": sys.meta_path.remove(self)

def ask(name):
    try: importlib.util.find_spec(name)
    except ValueError: pass  # it is half imported

def lazily(name):  # the recipe of Python's documentation
    if name in sys.modules: return
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

def apart(name):  # in a thread; what the next step does is at the same time
    threads.append(threading.Thread(target=importlib.import_module, args=[name]))
    threads[-1].start()

threads = []
"""
STEPS = (
    *["importlib.import_module('tienlen_env')", "apart('tienlen_env')"] * 2,
    "importlib.reload(importlib.import_module('tienlen_env'))",
    "apart('gymnasium')",
    "apart('pettingzoo')",
    *[f"importlib.import_module({name!r})" for name in ("gymnasium", "pettingzoo", "torchrl", "benchmarl")],
    *[f"ask({name!r})" for name in ("gymnasium", "pettingzoo", "gymnasium.envs.registration", "tienlen_env")],
    "lazily('gymnasium')",
    "lazily('pettingzoo')",
    "sys.meta_path.insert(0, Delegates())",
    "sys.meta_path.insert(0, Behind())",
    "sys.meta_path.insert(0, UsedUp())",
    "sys.meta_path.insert(0, Answers('gymnasium', 'pettingzoo', 'gymnasium.envs.registration'))",
    "sys.meta_path.append(Delegates())",
    "sys.meta_path = [*sys.meta_path]",
    "importlib.invalidate_caches()",
)
END = """
for thread in threads: thread.join()
import tienlen_env, gymnasium, pettingzoo
both = {"tienlen_env/TienLen-v1", "tienlen_env/Thirteens-v1"} <= set(gymnasium.registry)
both &= {"tienlen_env/tienlen-v1", "tienlen_env/thirteens-v0"} <= set(pettingzoo.aec_registry)
print("registered in both:", both)
"""


def run(code: str, *folders: Path) -> str:
    start = f"import sys; sys.path[:0] = {[str(folder) for folder in (*folders, ROOT)]}\n"
    done = subprocess.run([sys.executable, "-W", "error", "-c", start + code], text=True, capture_output=True)
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    for name, text in STAND_INS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))
    return folder


@pytest.mark.parametrize("seed", range(40))
def test_every_order_registers(stand_ins: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Python's LazyLoader is not made for libraries that another thread imports: it may wait for ever.
    allowed = [step for step in STEPS if ("lazily" if seed % 2 else "apart") not in step]
    steps = [allowed[i] for i in rng.permutation(len(allowed))[: rng.integers(4, len(allowed))]]
    code = "\n".join([START, *steps, END])
    assert run(code, stand_ins) == "registered in both: True"


REAL = {
    "us last": "import pettingzoo, gymnasium, tienlen_env",
    "us first, a question": "import tienlen_env; ask('gymnasium'); ask('pettingzoo')",
    "us after a question": "ask('gymnasium'); import tienlen_env; ask('gymnasium.envs'); import pettingzoo",
    "lazily": "import tienlen_env; lazily('gymnasium'); lazily('pettingzoo')",
    "hooks": "sys.meta_path.insert(0, Behind()); import tienlen_env; sys.meta_path.insert(0, Delegates())",
    "at the same time": "apart('pettingzoo'); apart('tienlen_env'); import gymnasium",
}


@pytest.mark.parametrize("order", REAL.values(), ids=list(REAL))
def test_the_libraries_themselves(order: str) -> None:
    made = """
print(gymnasium.make("tienlen_env/TienLen-v1").unwrapped, pettingzoo.make("aec", "tienlen_env/thirteens_v0"))
print(type(gymnasium.envs.registration.__loader__).__module__)
"""
    *_, end, module = run("\n".join([START, order, END, made])).splitlines()
    assert end == "<OneSeatEnv<tienlen_env/TienLen-v1>> thirteens_v0"
    assert not module.startswith("tienlen_env")  # nothing of this project stays in the library


def test_an_id_that_names_its_module_needs_no_import() -> None:
    """As the processes of `SubprocVecEnv` get it, which imported nothing."""
    code = """
import gymnasium, sys
assert "tienlen_env" not in sys.modules
print(gymnasium.make("tienlen_env:tienlen_env/TienLen-v1").unwrapped)
print(gymnasium.make_vec("tienlen_env:tienlen_env/Thirteens-v1", num_envs=2).num_envs)
"""
    assert run(code).splitlines() == ["<OneSeatEnv<tienlen_env/TienLen-v1>>", "2"]
