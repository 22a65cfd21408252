"""Run code in a process of its own, in which all kernels are plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def printed(function: str, *arguments: object) -> str:
    """What a call prints: of a function of a module, ``module:name``, with arguments that `repr` writes."""
    module, _, name = function.partition(":")
    code = f"import tests.conftest; from {module} import {name} as call; print(call(*{arguments!r}))"
    return subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT, check=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "TIENLEN_NATIVE": "0"},
    ).stdout  # fmt: skip
