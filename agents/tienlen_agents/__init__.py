"""Agents that play, loaded by name, and the arena that compares them.

>>> import tienlen_agents
>>> tienlen_agents.load("greedy").name
'greedy'

A name may carry one argument and options: ``"policy:runs/x/policy.zip,trust=1"``. What an agent accepts is
the signature of the function or class registered under its name, so a new agent needs nothing but::

    tienlen_agents.register("mine", MyAgent)   # class MyAgent: def __init__(self, *, worlds: int = 32)
    tienlen_agents.load("mine:worlds=64")

An agent that stands on another one takes that one's name, options and all: ``"endgame:search:worlds=64"``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from tienlen_agents.endgame import EndgameAgent
from tienlen_agents.external.process import ProcessAgent
from tienlen_agents.networks.champion import ChampionAgent
from tienlen_agents.rule_based.greedy import GreedyAgent, GreedyLongAgent
from tienlen_agents.rule_based.heuristic import HeuristicAgent
from tienlen_agents.rule_based.trickster import TricksterAgent
from tienlen_agents.search import IsmctsAgent, SearchAgent
from tienlen_env.engine.agent import Agent, RandomAgent

__all__ = ["load", "names", "register"]

AgentFactory = Callable[..., Agent]

_factories: dict[str, AgentFactory] = {}

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OPTION = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)
_BOOLS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def register(name: str, factory: AgentFactory) -> None:
    """Make an agent known by a name.

    Args:
        name: lower-case letters, digits and underscores. A name is for ever: figures are published under it.
        factory: makes a new agent. Its keyword-only parameters are the options, read by their annotations
            (``bool``, ``int``, ``float`` or ``str``); a positional parameter is the argument after the colon,
            or one annotated ``Agent`` the agent that is named there.

    Raises:
        ValueError: a name that is taken or malformed.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"agent name {name!r}: expected lower-case letters, digits and underscores")
    if name in _factories:
        raise ValueError(f"there is an agent {name!r} already")
    _factories[name] = factory


def names() -> list[str]:
    """The registered names, sorted."""
    return sorted(_factories)


def load(text: str) -> Agent:
    """A new agent.

    Args:
        text: ``name``, or ``name:`` and then, with commas between, the argument (if the agent takes one) and
            ``key=value`` options. An argument that itself looks like an option is written ``./key=...``. An
            argument that is an agent comes last, with all its own options; its parameter's name may stand
            before it: ``endgame:base=greedy``.

    Raises:
        ValueError: an unknown name or option, a missing argument, or a value that cannot be read; the message
            lists what there is.
    """
    name, _, rest = text.partition(":")
    if name not in _factories:
        raise ValueError(f"unknown agent {name!r}: expected one of {', '.join(names())}")
    factory = _factories[name]
    parameters = inspect.signature(factory, eval_str=True).parameters
    options = {k: p.annotation for k, p in parameters.items() if p.kind is p.KEYWORD_ONLY}
    positional = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

    inner = next((p.name for p in positional if p.annotation is Agent), "")
    arguments: list[object] = []
    chosen: dict[str, object] = {}
    items = rest.split(",") if rest else []
    for index, item in enumerate(items):
        option = _OPTION.fullmatch(item)
        if inner and (option is None or option[1] == inner):
            arguments.append(load(",".join(items[index:]).removeprefix(f"{inner}=")))
            break
        if option is None:
            arguments.append(item)
            continue
        key, value = option.groups()
        if key not in options:
            known = f"its options are {', '.join(options)}" if options else "it takes none"
            raise ValueError(f"agent {text!r} has no option {key!r}; {known}")
        if key in chosen:
            raise ValueError(f"agent {text!r}: option {key!r} comes twice")
        chosen[key] = _read(text, key, value, options[key])
    required = [p.name for p in positional if p.default is p.empty]
    if not len(required) <= len(arguments) <= len(positional):
        form = ":".join([name, ",".join(f"<{p.name}>" for p in positional)]).rstrip(":")
        raise ValueError(f"agent {text!r}: expected {form!r}" + (" and options" if options else ""))
    return factory(*arguments, **chosen)


def _read(text: str, key: str, value: str, kind: type) -> object:
    try:
        return _BOOLS[value.lower()] if kind is bool else kind(value)
    except (KeyError, ValueError):
        expected = {bool: "0 or 1", int: "an integer", float: "a number"}.get(kind, kind.__name__)
        raise ValueError(f"agent {text!r}: {key}={value!r}, expected {expected}") from None


def _load_policy(path: str, *, trust: bool = False, sample: bool = False) -> Agent:
    # torch takes seconds to import and is an extra
    if path.endswith(".safetensors"):
        from tienlen_agents.networks.network import NetworkAgent

        return NetworkAgent.load(path, sample=sample)
    from tienlen_agents.networks.sb3_policy import PolicyAgent

    return PolicyAgent.load(path, trust=trust, sample=sample)


def _load_human(*, hint: str = "") -> Agent:
    from tienlen_agents.terminal.human import HumanAgent  # the pictures that it shows take a while to import

    return HumanAgent(hint=hint)


register("random", RandomAgent)
register("greedy", GreedyAgent)
register("greedy_long", GreedyLongAgent)
register("heuristic", HeuristicAgent)
register("policy", _load_policy)
register("champion", ChampionAgent)
register("human", _load_human)
register("process", ProcessAgent)
register("endgame", EndgameAgent)
register("search", SearchAgent)
register("ismcts", IsmctsAgent)
register("trickster", TricksterAgent)
