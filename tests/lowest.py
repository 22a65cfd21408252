"""Tests with the lowest versions that pyproject.toml allows, in an environment of their own: ``make lowest``.

The lower bounds of pyproject.toml become exact versions, for the dependencies and for the named extras; what
they need themselves, pip chooses. torch and the training extras are left out: their lower bounds are tried by
hand before a release.

    python tests/lowest.py                # install into a temporary folder, and run the tests
    python tests/lowest.py --plain        # the wheel of this platform without extras, and every command
    python tests/lowest.py --constraints  # print the versions
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNNER = runpy.run_path(str(ROOT / "examples" / "run.py"))
COMMANDS = runpy.run_path(str(ROOT / "tests" / "every_command.py"))
EXTRAS = ("arena", "completion", "jit", "web")
TOOLS = ("pytest", "hypothesis")
TESTS = (
    "agents/arena/test_match.py",
    "agents/arena/test_report.py",
    "extensions/table/server/test_server.py",
    "tienlen_env/engine/test_bad_input.py",
    "tienlen_env/envs/test_gymnasium.py",
    "tienlen_env/envs/test_make_and_make_vec.py",
    "tienlen_env/envs/test_one_seat.py",
    "tienlen_env/envs/test_outside_game.py",
    "tienlen_env/envs/test_pettingzoo.py",
    "tienlen_env/envs/test_thirteens.py",
    "tienlen_env/rendering/test_rendering.py",
    "tienlen_env/single/test_game.py",
)
BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)$")


FIRST_STEPS = """
import gymnasium, numpy, tienlen_env
from tienlen_env import Batch, thirteens_v0, tienlen_v1
env = gymnasium.make("tienlen_env/TienLen-v1", opponents="champion")
action = numpy.flatnonzero(env.reset(seed=1)[1]["action_mask"])[0]
assert env.step(action)[0].any()
for module in (tienlen_v1, thirteens_v0):
    env = module.env()
    env.reset(seed=1)
    env.step(env.action_space(env.agent_selection).sample(env.observe(env.agent_selection)["action_mask"]))
batch = Batch("south", num_games=8, auto_reset=True)
batch.reset(seed=1)
assert batch.step(batch.sample(numpy.random.default_rng(1)))
"""


def lowest(extras: Sequence[str] = EXTRAS, tools: Sequence[str] = TOOLS) -> list[str]:
    """The lower bounds as exact versions, such as ``numpy==2.0``, of the dependencies and of these.

    Raises:
        ValueError: a requirement without a lower bound.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    wanted += [line for line in optional["dev"] if line.partition(">")[0] in tools]
    found = []
    for line in wanted:
        match = BOUND.match(line)
        if match is None:
            raise ValueError(f"pyproject.toml: {line!r} has no lower bound of the form name>=version")
        found.append(f"{match[1]}=={match[2]}")
    return found


def install(folder: str, wanted: Sequence[str]) -> str:
    """The interpreter of a new environment with these; empty if pip cannot install them."""
    python = str(Path(folder, "bin", "python"))
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    if subprocess.run([*pip, "install", "--quiet", *wanted], check=False).returncode:
        print("pip cannot install the lowest versions here", file=sys.stderr)
        return ""
    subprocess.run([*pip, "list"], check=True)
    return python


def try_plain(folder: str) -> int:
    """Build the wheel of this platform and run the first steps and every command with it, without extras."""
    options = ("-m", "build", "--wheel", "--no-isolation", "--outdir", f"{folder}/dist", str(ROOT))
    native = {"TIENLEN_NATIVE_FOLDER": str(RUNNER["NATIVE"])}
    subprocess.run([sys.executable, *options], check=True, env={**os.environ, **native}, capture_output=True)
    (wheel,) = Path(folder, "dist").glob("*.whl")
    if not (python := install(f"{folder}/venv", [str(wheel), *lowest((), ())])):
        return failure()
    subprocess.run([python, "-c", FIRST_STEPS], check=True, cwd=folder)
    command = [python, "-P", str(ROOT / "tests" / "every_command.py")]
    done = subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    refused = COMMANDS["refusals"](json.loads(done.stdout.splitlines()[-1]))
    print("These need an extra:", ", ".join(sorted(refused)))
    return int(set(refused) != COMMANDS["NEED_AN_EXTRA"])


def failure() -> int:
    """The exit code if pip cannot install something."""
    return 1 if RUNNER["index_answers"](sys.executable) else int(RUNNER["NO_INDEX"])


def try_checkout(folder: str, tests: Sequence[str]) -> int:
    """Run the tests of this checkout with the lowest versions; its exit code is pytest's."""
    if not (python := install(folder, lowest())):
        return failure()
    paths = os.pathsep.join(map(str, [ROOT, ROOT / "agents", ROOT / "train", *ROOT.glob("extensions/*")]))
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(Path(folder, "numba"))}
    # Old libraries call what newer versions of their own dependencies warn of.
    options = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning")
    return subprocess.run([python, *options, *tests], cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Install the lowest versions, and run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--constraints", action="store_true", help="print the versions, and stop")
    parser.add_argument("--plain", action="store_true", help="the wheel of this platform, without extras")
    parser.add_argument(
        "tests", nargs="*", help="arguments of pytest; by default the tests of the environments"
    )
    options = parser.parse_args()
    if options.constraints:
        print("\n".join(lowest()))
        return 0
    with tempfile.TemporaryDirectory(prefix="lowest-") as folder:
        if options.plain:
            return try_plain(folder)
        return try_checkout(folder, options.tests or [f"tests/{name}" for name in TESTS])


if __name__ == "__main__":
    sys.exit(main())
