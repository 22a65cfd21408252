"""The wheel contains the packages, whole, and works without the extras and beside other distributions."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections import Counter
from email.message import Message
from pathlib import Path
from types import ModuleType

import pytest

from tests.needs import more_with_page
from tienlen_env.engine.backends import native

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "tienlen_env": ROOT / "tienlen_env",
    "tienlen_agents": ROOT / "agents" / "tienlen_agents",
    "tienlen_train": ROOT / "train" / "tienlen_train",
    **{folder.name: folder for folder in ROOT.glob("extensions/*/tienlen_*")},
}
WEB = ROOT / "extensions" / "table" / "web"
EXTRAS = ["torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "openskill", "jinja2"]


def run(*args: str, cwd: Path, **env: str) -> str:
    """Run this interpreter; the output of a failure goes into the message."""
    return call([sys.executable, *args], cwd, os.environ | env)


def call(command: list[str], cwd: Path, env: dict[str, str] | None = None, text: str = "") -> str:
    done = subprocess.run(command, cwd=cwd, env=env, input=text, text=True, capture_output=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without network."""
    out = tmp_path_factory.mktemp("wheel")
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT), cwd=out)
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def hatch_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- what is in it


def test_wheel_claims_the_names_of_packages(wheel: Path) -> None:
    name, version = wheel.name.split("-")[:2]
    # No top-level `agents` or `train`, which other distributions have.
    assert {entry.split("/")[0] for entry in names_in(wheel)} == {*PACKAGES, f"{name}-{version}.dist-info"}


@more_with_page
def test_wheel_holds_every_module_and_the_data(wheel: Path) -> None:
    expected = {
        f"{name}/{path.relative_to(folder).as_posix()}"
        for name, folder in PACKAGES.items()
        for pattern in ("*.py", "*.md", "*.j2", "*.json", "*.safetensors", "py.typed")
        for path in folder.rglob(pattern)
        if not {"static", "built"} & set(path.parts)  # what is built
    }
    assert {f"{name}/py.typed" for name in PACKAGES} < expected
    assert any(name.endswith(".safetensors") for name in expected)
    assert expected <= names_in(wheel)
    page = PACKAGES["tienlen_table"] / "server" / "static"  # of `make web`, which `make wheel` runs before
    built = {
        f"tienlen_table/server/static/{p.relative_to(page).as_posix()}"
        for p in page.rglob("*")
        if p.is_file()
        and p.suffix not in (".safetensors", ".mjs", ".mts")
        and (
            p.suffix != ".gz" or p.parent.name == "engine"
        )  # a server compresses; the page asks for the engine's
    }
    assert built <= names_in(wheel)
    assert not [
        entry for entry in names_in(wheel) if "__pycache__" in entry or entry.endswith((".nbi", ".nbc"))
    ]


def test_wheel_holds_the_licences(wheel: Path) -> None:
    """Its own, and one for each package that the built page contains."""
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    wanted = {"LICENSE", *(f"licenses/{name}.txt" for name in package["dependencies"])}
    found = {entry.partition(".dist-info/licenses/")[2] for entry in names_in(wheel)} - {""}
    assert found == wanted
    for name in package["dependencies"]:
        installed = WEB / "node_modules" / name / "LICENSE"
        if installed.exists():
            assert (ROOT / "licenses" / f"{name}.txt").read_bytes() == installed.read_bytes()


def test_wheel_holds_no_large_file_twice(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sums = Counter((info.CRC, info.file_size) for info in archive.infolist() if info.file_size > 10_000)
    assert max(sums.values()) == 1


# ---------------------------------------------------------------- what it says


def test_core_dependencies_are_few(metadata: Message) -> None:
    required = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]
    names = {re.split(r"[<>=! ;\[]", text)[0] for text in required}
    assert names == {"numpy", "gymnasium", "pettingzoo", "pillow", "rich", "safetensors"}
    assert set(metadata.get_all("Provides-Extra", [])) == {
        *(
            "arena",
            "jit",
            "train",
            "web",
            "cluster",
            "cuda",
            "completion",
            "docs",
            "dev",
            "openspiel",
            "data",
            "jax",
            "onnx",
            "minari",
            "pufferlib",
        ),
    }


def test_metadata_is_complete(metadata: Message) -> None:
    assert metadata["Summary"]
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert str(metadata.get_payload()).startswith("# tienlen-env")


def test_twine_finds_no_fault(wheel: Path) -> None:
    pytest.importorskip("twine")
    assert "PASSED" in run("-m", "twine", "--no-color", "check", "--strict", str(wheel), cwd=wheel.parent)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.nightly
def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """`python -m build` makes the sdist and, of it, a wheel."""
    run("-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT), cwd=tmp_path)
    (sdist,), (built,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    assert contents(built) == contents(wheel)
    pytest.importorskip("twine")
    run("-m", "twine", "check", "--strict", str(sdist), cwd=tmp_path)


def test_the_classifiers_name_the_versions_of_python(metadata: Message) -> None:
    """From the lowest that is required to the newest that the dependencies allow, without a gap."""
    found = re.findall(r"Python :: 3\.(\d+)$", "\n".join(metadata.get_all("Classifier", [])), re.MULTILINE)
    lowest = metadata["Requires-Python"].removeprefix(">=3.")
    assert list(map(int, found)) == list(range(int(lowest), int(found[-1]) + 1))


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"version: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_links_become_absolute_with_one_variable() -> None:
    absolute_links = hatch_build().absolute_links
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert absolute_links(readme, "") == readme
    text = absolute_links(readme, "https://example.org/tienlen/")
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    assert len(targets) > 5
    for markdown, html in targets:
        address = markdown or html
        if address.startswith("https://example.org/tienlen/"):
            kind, head, path = address.removeprefix("https://example.org/tienlen/").split("/", 2)
            assert (kind, head) == ("raw" if path.endswith((".svg", ".png")) else "blob", "HEAD")
            assert (ROOT / path.partition("#")[0]).exists(), path
        else:
            assert address.startswith(("https://", "#")), address
    same = "[a](https://x.org) [b](#there) [c](mailto:x@y.z)"
    assert absolute_links(same, "https://example.org") == same


# ---------------------------------------------------------------- that it works


# `import tienlen_env` where neither the extras nor the other packages can be imported.
IMPORT_ALONE = f"""
import sys
sys.modules.update(dict.fromkeys([*{EXTRAS!r}, "rich", *{[*PACKAGES][1:]!r}]))
import tienlen_env
print(tienlen_env.__file__)
"""


def test_the_environment_imports_alone(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    imported = run("-c", IMPORT_ALONE, cwd=tmp_path, PYTHONPATH=str(site)).strip()
    assert Path(imported).is_relative_to(site)


# In the unpacked wheel, with its metadata and without the extras.
PLAY_ALONE = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from tienlen_env.engine.agent import load_agent
assert "tienlen_agents" not in sys.modules
assert load_agent("heuristic").name == "heuristic"
from tienlen_train.cli import main
sys.exit(main("match heuristic greedy --deals 4 --composition 1v3 --quiet".split()))
"""


@pytest.mark.nightly
def test_the_arena_plays_without_the_extras(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert "heuristic" in run("-c", PLAY_ALONE, cwd=tmp_path, PYTHONPATH=str(site))


# In the unpacked wheel of a platform, with its metadata and without Numba.
PLAY_NATIVELY = """
import sys
sys.modules.update(dict.fromkeys(["numba", "llvmlite"]))
from tienlen_train.cli import main
sys.exit(main("match heuristic greedy --deals 4 --composition 1v3 --quiet".split()))
"""


@pytest.mark.skipif(native.library() is None, reason="the loops are not compiled (make native)")
def test_a_wheel_of_this_platform_plays_without_numba(wheel: Path, tmp_path: Path) -> None:
    folder = native.FOLDER
    options = "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)
    run("-m", "build", *options, cwd=tmp_path, TIENLEN_NATIVE_FOLDER=str(folder))
    (built,) = tmp_path.glob("*.whl")
    tag = json.loads((folder / "loops.json").read_text())["tag"]
    assert built.name.endswith(f"-cp311-abi3-{tag}.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    place = "tienlen_env/engine/backends/native/built/"
    added = {name.removeprefix(place) for name in names_in(built) - names_in(wheel)}
    assert added == {path.name for path in folder.iterdir() if path.is_file()}
    assert "calls.abi3.so" in added
    with zipfile.ZipFile(built) as archive:
        archive.extractall(tmp_path / "site")
    assert "heuristic" in run("-c", PLAY_NATIVELY, cwd=tmp_path, PYTHONPATH=str(tmp_path / "site"))


def test_without_numba_and_machine_code_the_extra_is_named(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = "import sys; sys.modules['numba'] = None; import tienlen_env; tienlen_env.Batch('cardgames', 1)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
    )  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert "MissingExtraError" in last
    assert "pip install 'numba>=" in last


@pytest.mark.nightly
def test_a_fresh_environment_beside_openai_agents(wheel: Path, tmp_path: Path) -> None:
    """Only the wheel and the distribution that has a top-level package `agents`; no torch. Needs an index."""
    venv.create(tmp_path / "venv", with_pip=True)
    folder = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    python, tienlen = str(folder / "python"), str(folder / "tienlen")
    call([python, "-m", "pip", "install", "-q", str(wheel), "openai-agents"], tmp_path, env)
    installed = call([python, "-m", "pip", "list", "--format=freeze"], tmp_path, env).lower()
    assert "openai-agents==" in installed
    assert "torch==" not in installed

    code = (
        "import agents, tienlen_agents; print(agents.Agent.__module__, tienlen_agents.load('heuristic').name)"
    )
    assert call([python, "-c", code], tmp_path, env).split() == ["agents.agent", "heuristic"]
    assert "COMMAND" in call([tienlen, "--help"], tmp_path, env)
    seats = ["--seats", "human", "heuristic", "greedy", "random", "--rounds", "1", "--key", "5"]
    assert "the record" in call([tienlen, "play", *seats], tmp_path, env, text="q\n")
    code = (
        "import gymnasium, tienlen_env\n"
        "env = gymnasium.make('tienlen_env/TienLen-v1', opponents='heuristic')\n"
        "print(env.reset(seed=1)[1]['action_mask'].sum() > 0)"
    )
    assert call([python, "-c", code], tmp_path, env).strip() == "True"
    out = call([tienlen, "match", "champion", "heuristic", "--deals", "50", "--quiet"], tmp_path, env)
    assert "champion" in out


def test_actions_of_ci_are_pinned_by_digest() -> None:
    used = [
        line.partition("uses:")[2].split()[0]
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name)] == []
