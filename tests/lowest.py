"""Tests with the lowest versions that pyproject.toml allows, in an environment of their own: ``make lowest``.

The lower bounds of pyproject.toml become exact versions, for the dependencies and for the named extras; what
they need themselves, pip chooses. torch and the training extras are left out: their lower bounds are tried by
hand before a release.

    python tests/lowest.py                # install into a temporary folder, and run the tests
    python tests/lowest.py --constraints  # print the versions
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNNER = runpy.run_path(str(ROOT / "examples" / "run.py"))
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


def lowest() -> list[str]:
    """The lower bounds as exact versions, such as ``numpy==2.0``.

    Raises:
        ValueError: a requirement without a lower bound.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    wanted += [line for line in optional["dev"] if line.partition(">")[0] in TOOLS]
    found = []
    for line in wanted:
        match = BOUND.match(line)
        if match is None:
            raise ValueError(f"pyproject.toml: {line!r} has no lower bound of the form name>=version")
        found.append(f"{match[1]}=={match[2]}")
    return found


def main() -> int:
    """Install the lowest versions, and run the tests with them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--constraints", action="store_true", help="print the versions, and stop")
    parser.add_argument(
        "tests", nargs="*", help="arguments of pytest; by default the tests of the environments"
    )
    options = parser.parse_args()
    if options.constraints:
        print("\n".join(lowest()))
        return 0
    with tempfile.TemporaryDirectory(prefix="lowest-") as folder:
        python = Path(folder, "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*install, *lowest()], check=False).returncode:
            print("pip cannot install the lowest versions here", file=sys.stderr)
            return 1 if RUNNER["index_answers"](str(python)) else RUNNER["NO_INDEX"]
        subprocess.run([str(python), "-m", "pip", "list", "--disable-pip-version-check"], check=True)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                map(str, [ROOT, ROOT / "agents", ROOT / "train", *ROOT.glob("extensions/*")])
            ),
        }
        environment["NUMBA_CACHE_DIR"] = str(Path(folder, "numba"))
        tests = options.tests or [f"tests/{name}" for name in TESTS]
        # Old libraries call what newer versions of their own dependencies warn of.
        command = [
            *(
                str(python),
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "-W",
                "ignore::DeprecationWarning",
            ),
            *tests,
        ]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
