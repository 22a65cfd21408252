"""The programs that some tests need besides Python, and the marks of tests that are skipped without them.

`make test` builds the page of the table first, where Node.js and the linker are installed.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = [ROOT, ROOT / "agents", ROOT / "train", *sorted(ROOT.glob("extensions/*"))]  # of packages
# What a clone may lack: `research/`, `tools/`, and each of the extensions, whose tests are always there.
OPTIONAL_FOLDERS = ("research", "tools")
EXTENSIONS = sorted(path.name for path in ROOT.glob("tests/extensions/[a-z]*"))
OPTIONAL_PACKAGES = (*OPTIONAL_FOLDERS, *(f"tienlen_{name}" for name in EXTENSIONS))
STATIC = ROOT / "extensions" / "table" / "tienlen_table" / "server" / "static"  # where `make web` builds
MODULES = ROOT / "extensions" / "table" / "web" / "node_modules"
AXE = MODULES / "axe-core" / "axe.min.js"

PROGRAM = "wasm-ld"  # as in `tienlen_table.engine.compile`
NODE = shutil.which("node")
CAN_LINK = shutil.which(PROGRAM) is not None
CHROMIUM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
FIREFOX = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")

TOOLS = "needs "  # begins the reason of every mark below: `--needs-tools` selects the tests that have one


def _needs(missing: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(missing is not None, reason=f"{TOOLS}{missing}")


def _has_perl() -> bool:
    """Debian's perl-base has not the whole library."""
    perl = shutil.which("perl")
    return (
        perl is not None and subprocess.run([perl, "-MJSON::PP", "-e1"], capture_output=True).returncode == 0
    )


_without_linker = None if CAN_LINK else f"{PROGRAM} (lld)"
_without_node = None if NODE else "Node.js"
_without_chromium = None if CHROMIUM else "Chromium"
_without_page = None if (STATIC / "engine/index.json").is_file() else "the page (make web)"


def _without(extra: str, name: str, *modules: str) -> str | None:
    """What is missing of an extension that needs some modules; None if all is there."""
    is_there = all(importlib.util.find_spec(module) is not None for module in modules)
    return None if is_there else f"{name} (pip install -e '.[{extra}]')"


_without_cuda = _without("cuda", "numba-cuda", "numba_cuda")

needs_exact, needs_bench, needs_suite, needs_table = (
    pytest.mark.skipif(
        importlib.util.find_spec(f"tienlen_{name}") is None, reason=f"this clone has no extensions/{name}"
    )
    for name in ("exact", "bench", "suite", "table")
)
needs_openspiel = _needs(_without("openspiel", "OpenSpiel", "tienlen_bridges", "pyspiel"))
needs_pyarrow = _needs(_without("data", "pyarrow", "pyarrow"))
needs_mlcroissant = _needs(
    _without("data", "mlcroissant (pip install mlcroissant) and pyarrow", "mlcroissant", "pyarrow")
)
needs_jax = _needs(_without("jax", "JAX", "tienlen_bridges", "jax"))
needs_perl = _needs(None if _has_perl() else "perl with JSON::PP")
needs_cc = _needs(None if shutil.which("cc") else "a C compiler (cc)")
needs_onnx = _needs(_without("onnx", "ONNX and ONNX Runtime", "tienlen_bridges", "onnx", "onnxruntime"))
needs_pandas = _needs(_without("data", "pandas", "pandas"))
needs_minari = _needs(_without("minari", "Minari", "tienlen_data", "minari", "pyarrow"))
needs_pufferlib = _needs(_without("pufferlib", "PufferLib", "tienlen_bridges", "pufferlib"))
needs_linker = _needs(_without_linker)
needs_node = _needs(_without_node or _without_linker)
needs_chromium = _needs(_without_chromium)
needs_page = _needs(_without_page or _without_chromium)
needs_axe = _needs(None if AXE.is_file() else "axe-core (make web)")
needs_page_sources = _needs(_without_node or (None if MODULES.is_dir() else "the page (make web)"))
needs_firefox = _needs(
    _without_page
    or _without_node
    or (None if FIREFOX else "Firefox")
    or (None if (MODULES / "puppeteer-core").is_dir() else "puppeteer-core (make web)")
)
needs_cuda_compiler = _needs(_without_cuda)
# `make install` brings it, so these tests are none of ``--needs-tools``.
needs_native_compiler = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed (pip install ziglang)"
)


PLAIN = ("tests.", *(f"{name}." for name in OPTIONAL_FOLDERS))  # modules whose imports count, too


@cache
def lacking(path: Path) -> str:
    """What a module imports and this clone does not have; empty if nothing."""
    imported = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            imported += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
    for module in imported:
        if (
            module.partition(".")[0] in OPTIONAL_PACKAGES
            and importlib.util.find_spec(module.partition(".")[0]) is None
        ):
            return module.partition(".")[0]
        file = ROOT / f"{module.replace('.', '/')}.py"
        if module.startswith(PLAIN) and file.is_file() and (found := lacking(file)):
            return found
    return ""


def forks(test: Callable[..., Any]) -> Any:
    """Mark a test that forks this process, of whose threads Python warns."""
    ignored = "ignore:This process .* is multi-threaded:DeprecationWarning"
    cannot = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    return cannot(pytest.mark.filterwarnings(ignored)(test))


more_with_page = pytest.mark.skipif(False, reason=f"{TOOLS}nothing, but checks more where the page is built")
