"""The batched engine: `Batch` advances B games at once; agents see them through a `View`."""

from __future__ import annotations

from tienlen_env.engine.agent import Agent, RandomAgent, View
from tienlen_env.engine.batch import Batch, LegalActions

__all__ = ["Agent", "Batch", "LegalActions", "RandomAgent", "View"]
