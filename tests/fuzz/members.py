"""What is to be fuzzed, found by introspection: no list of methods can be forgotten here."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, is_typeddict

import tienlen_agents
import tienlen_env

# Modules whose classes are not fuzzed, and why. A class or module that is not named here needs a subject.
EXEMPT = {
    "tienlen_env.engine.backends": "compiled loops, which check nothing; `Batch` alone calls them",
    "tienlen_env.doors": "metadata of installed packages; tested in project/test_doors.py",
    "tienlen_env.engine.variant.Variant": "tables for `Batch`, which checks",
    "tienlen_env.engine.agent.AgentCode": "the name of an agent; tested in agents/arena/test_exits.py",
    "tienlen_env.engine.round_loop": "`Batch` and `choose` check what it gets; project/test_round_loop.py",
    "tienlen_env.games.common.arrays": "fields of rows, counted when a module is imported",
    "tienlen_env.games.common.facts": "data of registered games, for JavaScript and for `Session`",
    "tienlen_env.games.common.game": "parts of a game, called by the engine with rows of its own",
    "tienlen_env.games.common.notation": "the parser's cursor; records are fuzzed in test_bad_input.py",
    "tienlen_env.rendering": "plain data of a picture; pictures are drawn through `Painter`",
    "tienlen_env.games.thirteens.notation": "a record that was read; fuzzed in test_bad_input.py",
    "tienlen_env.games.tienlen.notation": "a record that was read; fuzzed in test_bad_input.py",
    "tienlen_agents.arena": "files and processes; fuzzed in the tests of the arena",
    "tienlen_agents.executors": "processes; tested in agents/arena/test_run.py",
    "tienlen_agents.console": "lines of a terminal; tested in project/test_hostile_texts.py",
    "tienlen_agents.settings": "ranges of options; tested in train/test_config.py",
    "tienlen_agents.external": "bots; fuzzed in agents/external/test_process.py",
    "tienlen_agents.words": "texts and messages about a round, which is fuzzed; typed text in test_play.py",
    "tienlen_table.terminal": "a person at the terminal; fuzzed in test_play.py",
    "tienlen_agents.parallel": "arrays of a machine, as those of a device",
    "tienlen_agents.rule_based.RuleAgent": "the base of the agents that are fuzzed",
    "tienlen_agents.rule_based.RuleChooser": "arrays of a machine, as those of a device",
    "tienlen_agents.networks": "checked in test_inference.py and test_features.py; the agents are fuzzed",
    "tienlen_agents.search.context": "the work space of a search agent, which is fuzzed",
    "tienlen_agents.search": "rows for compiled code; the search agents are fuzzed",
    "tienlen_agents.rule_based.heuristic": "numbers for compiled code; the agent is fuzzed",
    "tienlen_agents.rule_based.rollout": "rows for compiled code; the agents are fuzzed",
}
# Constructors that the engine alone calls, with arrays of its own.
MADE_BY_THE_ENGINE = {
    "tienlen_agents.rule_based.trickster.TricksterWeights",
    "tienlen_env.engine.variant.VariantBatch",
    "tienlen_env.games.registry.ByGame",
    "tienlen_env.games.common.state.GameState",
    "tienlen_env.games.thirteens.actions.ThirteensActionTable",
    "tienlen_env.games.thirteens.state.ThirteensState",
    "tienlen_env.games.tienlen.actions.TienlenActionTable",
    "tienlen_env.games.tienlen.state.TienlenState",
}
KEPT = {
    "tienlen_agents.networks.shipped",
    "tienlen_agents.search.agent",
    "tienlen_agents.rule_based.heuristic",
}


class Member(NamedTuple):
    """A public method or property.

    Attributes:
        owner: the class that defines it.
        name: its name.
    """

    owner: type
    name: str

    def __str__(self) -> str:
        return f"{self.owner.__module__}.{self.owner.__qualname__}.{self.name}"


def modules() -> list[ModuleType]:
    """The modules of both packages that are not exempt."""
    found = []
    for package in (tienlen_env, tienlen_agents):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__") or (is_exempt(info.name) and info.name not in KEPT):
                continue
            found.append(import_module(info.name))
    return found


def is_exempt(name: str) -> bool:
    """Whether a module or a package around it is in `EXEMPT`."""
    parts = name.split(".")
    return any(".".join(parts[: n + 1]) in EXEMPT for n in range(len(parts)))


def public_members() -> list[Member]:
    """The public members of the public classes, without protocols, errors and dictionaries."""
    found = []
    for module in modules():
        for name, value in vars(module).items():
            if (
                inspect.isclass(value)
                and value.__module__ == module.__name__
                and not name.startswith("_")
                and value.__name__ == name
                and not (hasattr(value, "_fields") and not members_of(value))
                and not getattr(value, "_is_protocol", False)
                and not issubclass(value, BaseException)
                and not is_typeddict(value)
                and f"{module.__name__}.{name}" not in EXEMPT
            ):
                found += members_of(value)
    return found


def members_of(owner: type) -> list[Member]:
    """The public methods and properties of a class, and its constructor.

    Those that it inherits are members of the class that defines them, unless that class is private.
    """
    private = [base for base in owner.__mro__[1:] if base.__name__.startswith("_") and _is_ours(base)]
    names: list[str] = []
    for kind in (owner, *private):
        for name, value in vars(kind).items():
            is_method = isinstance(value, property | classmethod | staticmethod | functools.cached_property)
            if (inspect.isfunction(value) or is_method) and not name.startswith("_") and name not in names:
                names.append(name)
    is_made = f"{owner.__module__}.{owner.__qualname__}" in MADE_BY_THE_ENGINE
    if "__init__" in vars(owner) and not hasattr(owner, "_fields") and not is_made:
        names.append("__init__")
    return [Member(owner, name) for name in names]


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("tienlen_env", "tienlen_agents")


def parameters_of(member: Member) -> dict[str, inspect.Parameter]:
    """The parameters of a method, without the object; none of a property."""
    value = inspect.getattr_static(member.owner, member.name)
    if isinstance(value, property | functools.cached_property):
        return {}
    function: Any = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    found = dict(inspect.signature(function).parameters)
    if not isinstance(value, staticmethod):
        found.pop(next(iter(found)), None)
    return found
