"""The batched engine: `Batch` advances B games at once; agents see them through a `View`."""

from __future__ import annotations

from tienlen_env.engine.agent import Agent, RandomAgent
from tienlen_env.engine.backends.per_game import Turn
from tienlen_env.engine.batch import Batch, LegalActions
from tienlen_env.engine.view import View

__all__ = ["Agent", "Batch", "LegalActions", "RandomAgent", "Turn", "View"]
