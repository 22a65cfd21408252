"""Run an example with the versions of its requirements, in a virtual environment of its own.

    python examples/run.py supersuit
    python examples/run.py rllib --iterations 20

It installs ``examples/requirements/<name>.txt`` and this checkout, with the machine code that was compiled in
it (`make native`), runs ``examples/with_<name>.py``, and removes the environment. Which torch pip takes,
``tools/torch_index.py`` chooses and says. The exit code is that of the example, 1
if pip cannot install these versions, or `NO_INDEX` if pip reaches no package index (no network).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parent / "tienlen_env" / "engine" / "backends" / "native" / "built"
NO_INDEX = 75


def names() -> list[str]:
    """The examples of other libraries."""
    return sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))


def index_answers(python: str) -> bool:
    """Whether pip gets packages here: it downloads a small one, as its configuration says.

    Args:
        python: the interpreter whose pip is meant.
    """
    with tempfile.TemporaryDirectory(prefix="index-") as folder:
        pip = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        trial = [*pip, "--no-deps", "--retries", "1", "--dest", folder, "packaging"]
        return subprocess.run(trial, check=False, capture_output=True).returncode == 0


def main(arguments: list[str]) -> int:
    """Install and run one."""
    if not arguments or arguments[0] not in names():
        print(
            f"usage: python examples/run.py {{{','.join(names())}}} [options of the example]", file=sys.stderr
        )
        return 2
    name, *options = arguments
    with tempfile.TemporaryDirectory(prefix=f"with-{name}-") as folder:
        python = str(Path(folder, "bin", "python"))
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        torch = [python, str(HERE.parent / "tools" / "torch_index.py")]
        pip += subprocess.run(torch, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        wanted = ["-r", f"{HERE}/requirements/{name}.txt", str(HERE.parent)]
        native = {"TIENLEN_NATIVE_FOLDER": str(NATIVE)} if (NATIVE / "loops.json").is_file() else {}
        if subprocess.run([*pip, *wanted], check=False, env={**os.environ, **native}).returncode:
            print(f"{name}: pip cannot install examples/requirements/{name}.txt here", file=sys.stderr)
            return 1 if index_answers(python) else NO_INDEX
        command = [python, str(HERE / f"with_{name}.py"), *options]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
