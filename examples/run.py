"""Run an example with the versions of its requirements, in a virtual environment of its own.

    python examples/run.py supersuit
    python examples/run.py rllib --iterations 20

It installs ``examples/requirements/<name>.txt`` and this checkout, runs ``examples/with_<name>.py``, and
removes the environment. The exit code is that of the example, or
`CANNOT_INSTALL` if pip could not install (no network).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CANNOT_INSTALL = 75


def names() -> list[str]:
    """The examples of other libraries."""
    return sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))


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
        if subprocess.run(
            [*pip, "-r", f"{HERE}/requirements/{name}.txt", str(HERE.parent)], check=False
        ).returncode:
            print(f"{name}: pip cannot install examples/requirements/{name}.txt here", file=sys.stderr)
            return CANNOT_INSTALL
        command = [python, str(HERE / f"with_{name}.py"), *options]
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
