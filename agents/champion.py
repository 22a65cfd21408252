"""The policies that are shipped with the project: ``agents.load("champion")``.

The files lie in ``agents/weights``: ``<preset>-<size>-v<version>.safetensors`` and beside each a card, the
same with ``.md``, that says how it was trained and what it reaches. A name is for ever: better weights get a
new version, and the highest is played.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.network import NetworkAgent
from tienlen_env.agent import View
from tienlen_env.core.definition import AnyRules
from tienlen_env.games import game_of, get_rules

WEIGHTS: Final = Path(__file__).parent / "weights"


def shipped() -> dict[tuple[str, str], Path]:
    """The newest files that there are, by preset and size."""
    found: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in WEIGHTS.glob("*-*-v*.safetensors"):
        preset, size, version = path.stem.rsplit("-", 2)
        found[preset, size] = max(found.get((preset, size), (0, path)), (int(version[1:]), path))
    return {key: path for key, (_, path) in sorted(found.items())}


class ChampionAgent:
    """The shipped policy for whatever rules are played.

    Args:
        size: of the network; empty for the strongest that there is (the last by name).
        sample: draw from the policy instead of taking the most probable action.

    Attributes:
        plays: the game of the policies, unless they are of several.

    Raises:
        ValueError: there is none of that size.
    """

    history = 1  # the networks of some rules read the record

    def __init__(self, *, size: str = "", sample: bool = False) -> None:
        sizes = sorted({s for _, s in shipped()})
        if size and size not in sizes:
            raise ValueError(f"champion: size={size!r}, expected one of {', '.join(sizes)}")
        self.name = f"champion:size={size}" if size else "champion"
        games = {game_of(get_rules(preset)).name for preset, _ in shipped()}
        if len(games) == 1:
            (self.plays,) = games
        self._size = size
        self._sample = sample
        self._seed = 0
        self._loaded: dict[AnyRules, NetworkAgent] = {}

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; matters only with `sample`."""
        self._seed = seed
        for agent in self._loaded.values():
            agent.reset(seed)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self.for_rules(view.rules).act(view)

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """How probable each of ``view.legal_actions`` is: float32 (N,), logarithms.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self.for_rules(view.rules).log_probabilities(view)

    def for_rules(self, rules: AnyRules) -> NetworkAgent:
        """The network that plays these rules.

        Raises:
            ValueError: there is none.
        """
        if rules not in self._loaded:
            paths = [
                p for (preset, s), p in shipped().items() if preset == rules.name and self._size in ("", s)
            ]
            if not paths:
                known = ", ".join(sorted({preset for preset, _ in shipped()})) or "none"
                raise ValueError(
                    f"champion: there is no policy for the {rules.name} rules; there are: {known}"
                )
            agent = NetworkAgent.load(paths[-1], sample=self._sample)
            agent.name = self.name
            agent.reset(self._seed)
            self._loaded[rules] = agent
        return self._loaded[rules]
