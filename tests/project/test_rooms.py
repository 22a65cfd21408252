"""The structure holds: shared rooms name no game, imports have no cycles, functions take few arguments."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

from tests.needs import EXTENSIONS
from tienlen_env.games.registry import games

ROOT = Path(__file__).parents[2]
CORE = (ROOT / "tienlen_env", ROOT / "agents" / "tienlen_agents", ROOT / "train" / "tienlen_train")
PACKAGES = (*CORE, *sorted(ROOT.glob("extensions/*/tienlen_*")))
NAMES = sorted(game.name for game in games())
# A file that belongs to a game bears its name; these rooms hold players of one game under the players' names.
OF_ONE_GAME = ("rule_based", "endgame")
# The console script bears the name of our first game.
PROGRAM = ("agents/tienlen_agents/command.py", "train/tienlen_train/cli.py")
# OpenSpiel's registry wants an entry for each game, with its name, parameters and numbers of players.
BY_NAME = ("extensions/bridges/tienlen_bridges/openspiel.py",)
# A suite is frozen, so it names its presets, and one of them is named as its game.
FROZEN = ("extensions/suite/tienlen_suite/v1.py",)
LISTS_GAMES = (*PROGRAM, *BY_NAME, *FROZEN, "tienlen_env/games/registry.py", "tienlen_env/__init__.py")
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))


def public_types(source: str) -> Iterator[str]:
    """The public classes and type aliases of a module, the parameters of generic types left out."""
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name = node.name if isinstance(node, ast.ClassDef) else getattr(target, "id", "")
        is_parameter = isinstance(getattr(node, "value", None), ast.Call)
        if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) and not is_parameter:
            yield name


def test_a_public_type_has_one_meaning() -> None:
    folders = (*PACKAGES, *(ROOT / name for name in ("research", "tools", "examples")))
    places: dict[str, list[str]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        for name in public_types(path.read_text(encoding="utf-8")):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_classes_and_aliases_are_found() -> None:
    source = (
        "class A1b: ...\nBc = int | str\nCd: TypeAlias = int\nTi = TypeVar('Ti')\nMOST: Final = 1\n_Xy = int"
    )
    assert list(public_types(source)) == ["A1b", "Bc", "Cd"]


def is_shared(path: Path) -> bool:
    """Whether a module belongs to no single game."""
    inside = path.relative_to(ROOT).as_posix()
    parts = inside.removesuffix(".py").split("/")[1:]
    of_game = [part for part in parts if part not in {package.name for package in PACKAGES}]
    bears_name = any(name in part.split("_") for part in of_game for name in NAMES)
    return not bears_name and not any(part in OF_ONE_GAME for part in of_game) and inside not in LISTS_GAMES


def named_games(tree: ast.Module) -> Iterator[str]:
    """Places that name a game: imports of its package, and texts that are its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and node.value in NAMES:
            yield f"line {node.lineno}: {node.value!r}"
            continue
        else:
            continue
        for module in modules:
            if any(part in NAMES for part in module.split(".")):
                yield f"line {node.lineno}: {module}"


@pytest.mark.parametrize("path", [p for p in MODULES if is_shared(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_a_shared_module_names_no_game(path: Path) -> None:
    assert list(named_games(ast.parse(path.read_text(encoding="utf-8")))) == []


# The backends' loops are the compiled entry points, which take arrays one by one.
MANY_ARGUMENTS = (
    "tienlen_env/engine/backends/",
    "extensions/bridges/tienlen_bridges/states.py",
    "extensions/gpu/tienlen_gpu/cuda/",
    "extensions/table/tienlen_table/engine/",
)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_few_positional_parameters(path: Path) -> None:
    if path.relative_to(ROOT).as_posix().startswith(MANY_ARGUMENTS):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args) if a.arg not in ("self", "cls")]
            is_entry = any("loop" in ast.unparse(d) for d in node.decorator_list)
            if len(names) > 8 and not is_entry:
                found.append(f"line {node.lineno}: {node.name} takes {len(names)}")
    assert found == []


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_is_passed_around(path: Path) -> None:
    assert "ModuleType" not in path.read_text(encoding="utf-8") or path.name in (
        "sources.py",
        "specialise.py",
    )


# Each stands for an object of another library.
NAMESPACES = {
    "tienlen_env/engine/backends/native/__init__.py": "the module of machine code, where there is none",
    "extensions/gpu/tienlen_gpu/cuda/kernel.py": "a device, where there is none",
}


def test_no_namespace_stands_for_what_has_a_type() -> None:
    """Compiled loops are a `NamedTuple`, or a function of `specialise`; mypy refuses ``Any`` at the seams."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if "SimpleNamespace" in path.read_text(encoding="utf-8")
    }
    assert found == {place for place in NAMESPACES if (ROOT / place).exists()}


# ---------------------------------------------------------------- extensions are not named

# What an extension uses of others, as in the contract "packages" (pyproject.toml); the core uses none.
USES = {"tienlen_suite": {"tienlen_exact"}}
EXTENSION = re.compile(rf"\b(tienlen_(?:{'|'.join(EXTENSIONS)})|(?:research|tools)(?=[./]\w))\b")
# The names that extensions give to doors where a string chooses (`load("onnx:...")`); "cuda" is torch's, too,
# and "human" a `render_mode` of Gymnasium.
ENTRIES = {
    name: place.partition(".")[0]
    for group, entries in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "entry-points"
    ].items()
    if group != "tienlen.commands"
    for name, place in entries.items()
    if EXTENSION.match(place) and name not in ("cuda", "human")
}
# The extras of pip have such names, and an old run's folder is read by today's.
NAMES_ENTRIES = ("tienlen_env/extras.py", "train/tienlen_train/runs.py")


def named_extensions(path: Path) -> Iterator[tuple[int, str]]:
    """Extensions, research and tools that the strings of a module name, by package or by entry point."""
    inside = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        yield from ((node.lineno, name) for name in EXTENSION.findall(node.value))
        if (entry := node.value.partition(":")[0]) in ENTRIES and inside not in NAMES_ENTRIES:
            yield node.lineno, ENTRIES[entry]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_string_names_another_extension(path: Path) -> None:
    """Contracts of imports do not see ``import_module("...")`` and ``load("...")``."""
    package = next(part for part in path.relative_to(ROOT).parts if part.startswith("tienlen_"))
    allowed = {package, *USES.get(package, ())}
    assert [(line, name) for line, name in named_extensions(path) if name not in allowed] == []


def test_strings_that_name_an_extension_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(
        '"""Of tienlen_gpu."""\nload("exact:tree")\nimport_module("tools.x")\nload("exactly")\n'
    )
    assert sorted(named_extensions(module)) == [(1, "tienlen_gpu"), (2, "tienlen_exact"), (3, "tools")]


def test_the_trainer_needs_few_modules() -> None:
    tree = ast.parse((ROOT / "train" / "tienlen_train" / "trainer.py").read_text(encoding="utf-8"))
    found = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert len([line for line in found if "tienlen_" in line]) <= 15


# ---------------------------------------------------------------- cycles between modules


def components(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components with more than one node, by Tarjan's algorithm; each sorted.

    Args:
        graph: for each node, the nodes that its edges lead to.
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            start = stack.index(node)
            component, stack[start:] = sorted(stack[start:]), []
            if len(component) > 1:
                found.append(component)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def test_components_are_found() -> None:
    edges = ("ab", "bc", "ca", "cd", "de", "ed", "ef", "ga")
    graph = {node: {end for start, end in edges if start == node} for node in "abcdefg"}
    assert components(graph) == [["a", "b", "c"], ["d", "e"]]


def test_no_import_cycles() -> None:
    """Imports inside functions and under ``TYPE_CHECKING`` count like all others."""
    packages = [package.name for package in PACKAGES]
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) == len(MODULES)
    found = components(imports)
    listed = "".join(f"\n  {', '.join(component)}" for component in found)
    assert not found, f"cycles between modules: {len(found)}{listed}"


def test_every_extension_says_what_it_is_for() -> None:
    for path in ROOT.glob("extensions/*/tienlen_*"):
        text = (path.parent / "README.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {path.name}: "), path.name
        assert len(text.splitlines()) <= 60, path.name
