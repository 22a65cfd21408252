"""Agents, loaded by name, and the arena that compares them.

Examples:
    >>> import tienlen_agents
    >>> tienlen_agents.load("greedy").name
    'greedy'

A name may have one argument and options: ``"policy:runs/x/policy.zip,trust=1"``. Double quotes stand around
what has a comma in it, and in a list of agents what has a blank, too: ``'policy:"lr=1,seed=2/p.zip"'``.
The signature of an agent's factory defines what it accepts, so a new agent needs one line. A program
registers it at run time:

    tienlen_agents.register("mine", MyAgent)   # class MyAgent: def __init__(self, *, worlds: int = 32)
    tienlen_agents.load("mine:worlds=64")

A package registers it as an entry point of the group ``tienlen.agents``; every command and environment finds
the name as soon as the package is installed:

    [project.entry-points."tienlen.agents"]
    mine = "my_package.agents:MyAgent"

An agent that wraps another one takes its name with its options: ``"endgame:search:worlds=64"``.
Any agent runs in a process of its own with the option ``isolate=1`` (`tienlen_agents.external.isolated`).
An agent's module is imported when the agent is first loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Final

from tienlen_agents.quoting import (
    OPTION,
    ShellWords,
    items_of,
    quoted as quoted,
    split_list as split_list,
    unquoted,
)
from tienlen_env.doors import NAME, Door
from tienlen_env.engine.agent import Agent, AgentCode, register_loader
from tienlen_env.errors import expected_one_of
from tienlen_env.extras import require

__all__ = ["load", "names", "quoted", "register", "split_list"]

AgentFactory = Callable[..., Agent]

GROUP: Final = "tienlen.agents"
ISOLATE: Final = "isolate=1"  # an option of every agent
MAX_NESTED: Final = 16  # agents within agents

# The agents of this package. pyproject.toml has them, too, for programs that read entry points; these also
# work in a checkout that is not installed.
BUILT_IN: Final = {
    "champion": "tienlen_agents.search.champion:load_champion",
    "endgame": "tienlen_agents.endgame:EndgameAgent",
    "greedy": "tienlen_agents.rule_based.greedy:GreedyAgent",
    "greedy_long": "tienlen_agents.rule_based.greedy:GreedyLongAgent",
    "heuristic": "tienlen_agents.rule_based.heuristic:HeuristicAgent",
    "ismcts": "tienlen_agents.search:IsmctsAgent",
    "policy": "tienlen_agents:load_policy",
    "process": "tienlen_agents.external.process:ProcessAgent",
    "random": "tienlen_env.engine.agent:RandomAgent",
    "reference": "tienlen_agents.networks.shipped:load_reference",
    "search": "tienlen_agents.search:SearchAgent",
    "trickster": "tienlen_agents.rule_based.trickster:TricksterAgent",
}

INSTALLED: Final = Door[AgentFactory](GROUP, "agent", tuple(BUILT_IN))  # the agents of other packages

_factories: dict[str, AgentFactory] = {}  # registered at run time

_BOOLS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def register(name: str, factory: AgentFactory) -> None:
    """Add an agent at run time, for this process.

    Args:
        name: lower-case letters, digits and underscores. A published name keeps its meaning: results refer
            to it.
        factory: makes a new agent. Its keyword-only parameters are the options, converted by their
            annotations (``bool``, ``int``, ``float`` or ``str``). A positional parameter is the argument
            after the colon; if it is annotated ``Agent``, the agent that is named there.

    Raises:
        ValueError: a name that is taken or malformed.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"agent name {name!r}: expected lower-case letters, digits and underscores")
    if name in _factories or name in BUILT_IN:
        raise ValueError(f"there is an agent {name!r} already")
    _factories[name] = factory


def names() -> list[str]:
    """All known names, sorted: built in, of installed packages, and registered at run time."""
    return sorted({*BUILT_IN, *INSTALLED.entries(), *_factories})


def _factory(name: str) -> AgentFactory:
    """The factory of an agent; its module is imported now.

    Raises:
        ValueError: an unknown name.
    """
    if name in _factories:
        return _factories[name]
    if name in BUILT_IN:
        entry = EntryPoint(name, BUILT_IN[name], GROUP)
    elif name in INSTALLED.entries():
        entry = INSTALLED.entries()[name]
    else:
        raise ValueError(f"unknown agent {_shown(name)}: {expected_one_of(name, names())}")
    factory: AgentFactory = entry.load()
    return factory


def load(text: str) -> Agent:
    """Make a new agent from its name and options.

    Args:
        text: ``name``, or ``name:`` and then, separated by commas, the argument (if the agent takes one) and
            ``key=value`` options. An argument or a value with a comma in it stands in double quotes, in which
            a quote is written twice. An argument that itself looks like an option is quoted, or written
            ``./key=...``. An argument that is an agent comes last, with all its own options; its parameter's
            name may stand before it: ``endgame:base=greedy``.

    Raises:
        ValueError: an unknown name or option, a missing argument, or a value that cannot be converted; the
            message lists the valid ones. Also a policy's file that is damaged.
        FileNotFoundError: a policy's file does not exist.
        AgentError: the agent's own code tried to end the program.
    """
    with AgentCode(text):
        return _load(text, 0)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


def _load(text: str, depth: int) -> Agent:
    if depth > MAX_NESTED:
        raise ValueError(f"agent {_shown(text)}: expected at most {MAX_NESTED} agents within one another")
    name, _, rest = text.partition(":")
    items = items_of(rest) if rest else []
    if ISOLATE in items:
        from tienlen_agents.external.isolated import IsolatedAgent

        others = ",".join(item for item in items if item != ISOLATE)
        return IsolatedAgent(f"{name}:{others}".rstrip(":"))
    factory = _factory(name)
    parameters = inspect.signature(factory, eval_str=True).parameters
    options = {k: p.annotation for k, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    # Text can only give a string or another agent; parameters of other types are for callers in Python.
    positional = [
        p
        for p in parameters.values()
        if p.kind is p.POSITIONAL_OR_KEYWORD and p.annotation in (p.empty, str, Agent, ShellWords)
    ]

    inner = next((p.name for p in positional if p.annotation is Agent), "")
    arguments: list[object] = []
    chosen: dict[str, object] = {}
    for index, item in enumerate(items):
        option = OPTION.fullmatch(item)
        if inner and (option is None or option[1] == inner):
            arguments.append(_load(",".join(items[index:]).removeprefix(f"{inner}="), depth + 1))
            break
        if option is None:
            of_shell = [p for p in positional[len(arguments) :] if p.annotation == ShellWords]
            arguments.append(item if of_shell else unquoted(item))
            continue
        key, value = option.groups()
        if key not in options:
            known = expected_one_of(key, options) if options else "it takes none"
            raise ValueError(f"agent {_shown(text)} has no option {_shown(key)}; {known}")
        if key in chosen:
            raise ValueError(f"agent {_shown(text)}: option {key!r} comes twice")
        chosen[key] = _convert(text, key, unquoted(value), options[key])
    required = [p.name for p in positional if p.default is p.empty]
    if not len(required) <= len(arguments) <= len(positional):
        form = ":".join([name, ",".join(f"<{p.name}>" for p in positional)]).rstrip(":")
        raise ValueError(f"agent {_shown(text)}: expected {form!r}" + (" and options" if options else ""))
    return factory(*arguments, **chosen)


def _convert(text: str, key: str, value: str, kind: type) -> object:
    try:
        return _BOOLS[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError):
        expected = {bool: "0 or 1", int: "an integer", float: "a number"}.get(kind, kind.__name__)
        raise ValueError(f"agent {_shown(text)}: {key}={_shown(value)}, expected {expected}") from None


def load_policy(path: str, *, trust: bool = False, sample: bool = False) -> Agent:
    """Make the agent ``policy``: a trained network from a file.

    Args:
        path: a ``.safetensors`` file of this project or a ``.zip`` of stable-baselines3.
        trust: load a ``.zip``, which can execute code.
        sample: draw actions from the policy instead of taking the most probable one.

    Raises:
        ValueError: the file is damaged or not a policy, or a ``.zip`` is not trusted.
        FileNotFoundError: there is no such file.
        MissingExtraError: a ``.zip`` without the packages that read it.
    """
    if path.endswith(".safetensors"):
        from tienlen_agents.networks.agent import NetworkAgent

        return NetworkAgent.load(path, sample=sample)
    if not Path(path).is_file():
        raise FileNotFoundError(f"policy {path!r}: there is no such file")
    for package in ("torch", "stable_baselines3", "sb3_contrib"):
        require(package, "train", f"policy {path!r}")
    from tienlen_agents.networks.sb3_policy import PolicyAgent

    return PolicyAgent.load(path, trust=trust, sample=sample)


register_loader(load)
