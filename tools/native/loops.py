"""The loops that are compiled ahead of time, for `tools.native.build`."""

from __future__ import annotations

import importlib
import pkgutil
from operator import attrgetter
from typing import Any

import tienlen_agents
from tienlen_agents.networks.features.base import count_body
from tienlen_agents.parallel import host_loop
from tienlen_agents.rule_based import bodies
from tienlen_agents.rule_based.greedy import GreedyAgent, GreedyLongAgent
from tienlen_agents.rule_based.heuristic import HeuristicAgent
from tienlen_agents.rule_based.trickster import TricksterAgent
from tienlen_agents.search.context import setup_of
from tienlen_agents.search.loops import search_loops
from tienlen_env.engine.backends import compiled_loops, jit
from tienlen_env.engine.backends.sources import name_of
from tienlen_env.extras import is_installed
from tienlen_env.games.registry import PRESETS, game_of, has_payments
from tools.native import signatures


def make_loops() -> None:
    """Make the loops of every registered game, of the agents, and of the bodies that the list names."""
    parts = ("", ".networks", ".networks.features", ".rule_based", ".rule_based.heuristic", ".search")
    for part in parts:
        package: Any = importlib.import_module(f"{tienlen_agents.__name__}{part}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not module.ispkg and module.name.rpartition(".")[2] not in ("__main__", "sb3_policy"):
                importlib.import_module(module.name)
    for rules in PRESETS.values():
        compiled_loops(game_of(rules))
        host_loop(count_body(game_of(rules).kernels.legal.num_legal))
        for reward in ["", "payments"] if has_payments(rules) else [""]:
            search_loops(setup_of(rules, reward).game)
    _make_loops_of_extensions()
    for agent in (GreedyAgent(), GreedyLongAgent(), HeuristicAgent(), TricksterAgent()):
        for made in bodies(agent._prepare, agent._choose):
            host_loop(made)
    names = {name_of(found.py_func) for found in jit.LOOPS}
    for line in signatures.read():
        loop, _, body = line.loop.partition(" ")
        if line.loop not in names and loop == f"{host_loop.__module__}:{host_loop.__name__}.<locals>.loop":
            place, _, name = body.partition(":")
            host_loop(attrgetter(name)(importlib.import_module(place)))


def _make_loops_of_extensions() -> None:
    """Those of the extensions that are here."""
    if is_installed("tienlen_exact"):
        tienlen = game_of(PRESETS["cardgames"])
        for module in ("passes", "solvers"):
            importlib.import_module(f"tienlen_exact.{module}")
        importlib.import_module("tienlen_exact.expansion").expansion_loops(tienlen)
        importlib.import_module("tienlen_exact.policies")._loops(tienlen)
    if is_installed("tienlen_bridges"):
        state_loops = importlib.import_module("tienlen_bridges.states").state_loops
        for rules in PRESETS.values():
            state_loops(game_of(rules))
