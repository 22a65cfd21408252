"""The CUDA backend without a device: in Numba's simulator, and compiled to the device's assembly code.

The simulator is a setting of the whole process, so everything runs in processes of its own
(`tests/extensions/gpu/cuda_run.py`, which also runs on a device).
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app_rules import APP_RULES
from tests.needs import needs_cuda_compiler
from tienlen_env import Batch
from tienlen_env.errors import DeviceError
from tienlen_env.games.registry import game_named, games

ROOT = Path(__file__).parents[3]
PRESETS = [preset for game in games() for preset in game.presets]
# Many rounds each, and fewer of the variants of Thirteens and of other numbers of players.
MANY = [*game_named("tienlen").presets, "thirteens", "high_card"]
SOME = [preset for preset in PRESETS if preset not in MANY]
SOME += [*APP_RULES, "cardgames:2", "south:3", "north:2", "thirteens:7", "high_card:2"]
has_compiler = importlib.util.find_spec("numba_cuda") is not None


def run(*arguments: str, simulated: bool = True, timeout: float = 900) -> str:
    """What `tests/extensions/gpu/cuda_run.py` prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *filter(None, sys.path)]))}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    if simulated:
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# The simulator is slow: the others are nightly.
EVERY_DAY = ("cardgames", "north", "thirteens")


@pytest.mark.parametrize("num_rounds", [4, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "preset", [pytest.param(name, marks=[pytest.mark.nightly] * (name not in EVERY_DAY)) for name in MANY]
)
def test_rounds_are_the_same(preset: str, num_rounds: int) -> None:
    """Of three presets every time, and 200 rounds of each preset every night."""
    num_games = str(min(num_rounds, 25))
    assert "the same" in run("tests/extensions/gpu/cuda_run.py", "rounds", preset, num_games, str(num_rounds))


@pytest.mark.nightly
@pytest.mark.parametrize("table", SOME)
def test_other_tables_are_the_same(table: str) -> None:
    assert "the same" in run("tests/extensions/gpu/cuda_run.py", "rounds", table, "15", "15")


def test_methods() -> None:
    done = run("tests/extensions/gpu/cuda_run.py", "methods").split()
    expected = [
        "illegal_actions",
        "cheats",
        "moving_to_and_fro",
        "buffers",
        "tensors",
        "own_kernels",
        "digests",
        "page",
    ]
    if importlib.util.find_spec("torch") is None:
        expected = [name for name in expected if name not in ("tensors", "digests", "page")]
    assert done == expected


# ---------------------------------------------------------------- without a device


def test_without_a_device_the_error_says_what_to_do() -> None:
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a device")
    expected = "needs an NVIDIA GPU and its driver" if has_compiler else r"pip install 'numba-cuda\[cu13\]'"
    with pytest.raises(DeviceError, match=expected):
        Batch("cardgames", 4, backend="cuda")


def test_the_benchmark_says_which_rows_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    from numba import cuda

    from tienlen_gpu import bench as gpu

    if cuda.is_available():
        pytest.skip("there is a device")
    out = tmp_path / "gpu.json"
    assert gpu.main(["--only", "packed", "--seconds", "0.01", "--runs", "2", "--out", str(out)]) == 0
    printed, written = capsys.readouterr().out, json.loads(out.read_text())
    assert "waits for a device" in printed
    assert "make bench-gpu" in printed
    rows = written["rows"]
    assert rows["packed mask and observation"] == {"waits": True, "unit": "decisions/s", "goal": 500e6}
    assert len(rows["CPU, one core, packed / bytes"]["packed"]) == 2
    assert rows["CPU, all cores, packed"]["value"] > 0
    assert written["device"] == {}


COMPILE = """
import sys
from numba import types
from tests.high_card import HIGH_CARD
from tienlen_gpu.cuda.loops import device_loops, write_bytes, write_items
from tienlen_env.engine.batch import Batch
from tienlen_env.games import registry

registry.register(HIGH_CARD)
batch = Batch(sys.argv[1])
sizes = batch.state.rows.shape[1], batch.packed_observation_size, batch.packed_global_observation_size
loops = device_loops(batch.game, *sizes)
line, table = types.Array(types.int64, 1, "C"), types.Array(types.int64, 2, "C")
rows = types.Array(types.int64, 2, "F")
draws, flags = types.Array(types.float64, 1, "C"), types.Array(types.uint8, 1, "C")
rewards, dones = types.Array(types.float32, 2, "C"), types.Array(types.boolean, 1, "C")
signatures = {
    "begin": (rows, line, line, line, line, line, line, flags),
    "step": (rows, line, line, line, line, rewards, dones, table, table, draws, line, flags, table),
    "sample": (rows, line, draws, line),
    "write_masks": (rows, line, table),
    "observe_seats": (rows, line, line, line, table),
    "observe_all": (rows, line, line, table),
    "count_legal": (rows, line, line),
    "action_cards": (rows, line, line, line, line),
}
for name in sys.argv[2:]:
    text = getattr(loops, name).ptx(*signatures[name])
    assert ".target sm_90" in text and ".entry" in text, name
    print(name, text.count("\\n"))
if sys.argv[1] == "high_card":
    assert ".entry" in write_bytes.ptx(table, types.int64, line, flags)
    floats = types.Array(types.float32, 1, "C")
    assert ".entry" in write_items.ptx(table, types.int64, types.int64, floats)
"""
KERNELS = [
    "begin",
    "step",
    "sample",
    "write_masks",
    "observe_seats",
    "observe_all",
    "count_legal",
    "action_cards",
]


def compiled(preset: str, names: list[str]) -> None:
    done = run("-c", COMPILE, preset, *names, simulated=False).split()
    assert done[::2] == names
    assert all(int(lines) > 20 for lines in done[1::2])


@needs_cuda_compiler
def test_all_kernels_of_the_outside_game_compile() -> None:
    compiled("high_card", KERNELS)


@needs_cuda_compiler
@pytest.mark.parametrize("name", ["tienlen", pytest.param("thirteens", marks=pytest.mark.nightly)])
def test_the_step_compiles(name: str) -> None:
    compiled(next(iter(game_named(name).presets)), ["step"])


@needs_cuda_compiler
@pytest.mark.nightly
@pytest.mark.parametrize("preset", PRESETS)
def test_every_kernel_compiles(preset: str) -> None:
    compiled(preset, KERNELS)


RECURSION = """
from numba import types
from tienlen_env.games.common.hints import noinline
from tienlen_gpu.cuda import kernel

@noinline
def product(out, n):
    if n < 2:
        return 1
    return n * product(out, n - 1)

@kernel
def fill(b, out):
    out[b] = product(out, b)

text = fill.ptx(types.Array(types.int64, 1, "C"))
print(text.count("call.uni") > 0)
"""


@needs_cuda_compiler
def test_a_function_that_calls_itself_compiles_where_the_processor_compiled_nothing(tmp_path: Path) -> None:
    program = tmp_path / "recursion.py"  # a digest reads its source
    program.write_text(RECURSION)
    assert run(str(program), simulated=False, timeout=120).split() == ["True"]


# What the bodies of learning and of the agents get, with their types; the processor plays.
BODIES = """
import pickle, sys
import numba, numpy as np
from numba import types
from tienlen_gpu.machine import HostMachine, mapped
from tienlen_gpu.rollout import DeviceActor
from tienlen_train.dmc import DMCConfig, DMCTrainer
from tienlen_train.ppo import PPOConfig, PPOTrainer

class Recorder(HostMachine):
    def __init__(self):
        super().__init__()
        self.num_slots = 4
        self.seen = {}

    def launch(self, body, num_items, args):
        self.seen.setdefault(body, mapped(args, lambda tensor: tensor.numpy()))
        super().launch(body, num_items, args)

def type_of(value, name=""):
    if isinstance(value, np.ndarray):
        is_c = value.flags.c_contiguous and not (value.ndim == 2 and name == "rows")
        return types.Array(numba.from_dtype(value.dtype), value.ndim, "C" if is_c else "F")
    if isinstance(value, tuple):
        return types.NamedTuple([type_of(*pair) for pair in zip(value, value._fields)], type(value))
    return numba.typeof(value)

machine = Recorder()
sizes = dict(num_games=16, batch_size=64, shards=1, state_width=16, action_width=8)
settings = dict(device="cpu", baseline_share=0.5, **sizes)
for trainer in (
    PPOTrainer(PPOConfig(critic="playout", **settings), actor=DeviceActor(machine)),
    DMCTrainer(DMCConfig(returns="counterfactual", **settings), actor=DeviceActor(machine)),
):
    trainer.iterate()
    trainer.iterate()
found = {}
for body, args in machine.seen.items():
    if "<locals>" not in body.__qualname__:
        found[body.__module__, body.__name__] = type_of(args)
with open(sys.argv[1], "wb") as file:
    pickle.dump(found, file)
"""
COMPILE_BODIES = """
import importlib, pickle, sys
from numba import types
from tienlen_gpu.device import kernel_of
with open(sys.argv[1], "rb") as file:
    found = pickle.load(file)
for (module, name), arguments in found.items():
    text = kernel_of(getattr(importlib.import_module(module), name)).ptx(types.int64, types.int64, arguments)
    assert ".entry" in text
    print(name)
"""


@needs_cuda_compiler
@pytest.mark.nightly
def test_the_bodies_of_learning_compile_where_the_processor_compiled_nothing(tmp_path: Path) -> None:
    """Numba types a call of the device in another way once the processor's loops are registered."""
    pytest.importorskip("torch")
    run("-c", BODIES, str(tmp_path / "types"), simulated=False)
    names = run("-c", COMPILE_BODIES, str(tmp_path / "types"), simulated=False).split()
    assert {"read_item", "hidden_item", "draw_item"} <= set(names), names


@needs_cuda_compiler
def test_a_compiler_that_cannot_load_is_an_error_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import cuda

    from tienlen_gpu.cuda import arrays

    def refuse(name: str) -> None:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(arrays.importlib, "import_module", refuse)
    with pytest.raises(DeviceError, match=r"NumPy .*row_stack.*pip install 'numpy<2.5'"):
        arrays.require_device()


@needs_cuda_compiler
def test_few_games_give_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's message begins with a colour where it has some."""
    import warnings

    from tienlen_gpu.cuda import Kernel

    class Compiled:
        def __getitem__(self, configuration: object) -> str:
            warnings.warn("\x1b[1mGrid size 8 will likely result in GPU under-utilization", stacklevel=1)
            return "launcher"

    monkeypatch.setattr(sys.modules["tienlen_gpu.cuda.kernel"], "stream_of", lambda stream: stream)
    found = Kernel(lambda b: None)
    found._compiled = Compiled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found._launcher(1000, 0) == "launcher"


# ---------------------------------------------------------------- on a device


@pytest.mark.nightly
@pytest.mark.parametrize("preset", PRESETS)
def test_a_million_rounds_on_the_device(preset: str) -> None:
    from numba import cuda

    if not (has_compiler and cuda.is_available()):
        pytest.skip("needs a device: python tests/extensions/gpu/cuda_run.py rounds PRESET 65536 1000000")
    run(
        "tests/extensions/gpu/cuda_run.py",
        "rounds",
        preset,
        "65536",
        "1000000",
        simulated=False,
        timeout=3600,
    )
