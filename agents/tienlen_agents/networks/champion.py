"""The policies that are shipped with the project: ``tienlen_agents.load("champion")``.

A policy is a network (`tienlen_agents.networks.network`) whose choices are looked at in a few worlds that
could be true: a small search (`tienlen_agents.search`) with the network as its prior, which takes half a
millisecond a decision. ``champion:worlds=0`` is the network alone.

The files lie in ``agents/tienlen_agents/networks/weights``: ``<preset>-<size>-v<version>.safetensors`` and
beside each a card, the same with ``.md``, that says how it was trained and what it reaches. A name is for
ever: better weights get a new version, and the highest is played.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.network import NetworkAgent
from tienlen_agents.search import SearchAgent
from tienlen_env.engine.agent import Agent, ScoringAgent, View, history_of
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules

WEIGHTS: Final = Path(__file__).parent / "weights"
# How the champion looks (see `tienlen_agents.search`).
WORLDS: Final = 32
EFFORT: Final = 0.25  # in so little time more worlds tell more than better ones
TRUST: Final = 0.3


def shipped() -> dict[tuple[str, str], Path]:
    """The newest files that there are, by preset and size."""
    found: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in WEIGHTS.glob("*-*-v*.safetensors"):
        preset, size, version = path.stem.rsplit("-", 2)
        found[preset, size] = max(found.get((preset, size), (0, path)), (int(version[1:]), path))
    return {key: path for key, (_, path) in sorted(found.items())}


def looking(network: ScoringAgent, worlds: int = WORLDS) -> SearchAgent:
    """A player that looks at a network's choices as the champion does.

    Args:
        network: the policy.
        worlds: see `ChampionAgent`, at least 1.
    """
    search = SearchAgent(worlds=worlds, effort=EFFORT, trust=TRUST)
    search.set_prior(network)
    return search


class ShippedNetworks:
    """The networks alone, whatever rules are played.

    Args:
        size: of the network; empty for the strongest that there is (the last by name).
        sample: draw from the policy instead of taking the most probable action.
    """

    name = "champion:worlds=0"
    history = 1  # the networks of some rules read the record

    def __init__(self, size: str = "", *, sample: bool = False) -> None:
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
        return self.network_for(view.rules).act(view)

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """How probable each of ``view.legal_actions`` is: float32 (N,), logarithms.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self.network_for(view.rules).log_probabilities(view)

    def network_for(self, rules: AnyRules) -> NetworkAgent:
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
            agent.name = "champion"
            agent.reset(self._seed)
            self._loaded[rules] = agent
        return self._loaded[rules]


class ChampionAgent:
    """The shipped policy for whatever rules are played.

    Args:
        size: of the network; empty for the strongest that there is (the last by name).
        worlds: in which its last two candidates are compared, early in a round (see `tienlen_agents.search`);
            0 for the network alone.
        sample: draw from the network's policy instead; then nothing is looked at.

    Attributes:
        plays: the game of the policies, unless they are of several.

    Raises:
        ValueError: there is none of that size, or `worlds` is below 0.
    """

    def __init__(self, *, size: str = "", worlds: int = WORLDS, sample: bool = False) -> None:
        sizes = sorted({s for _, s in shipped()})
        if size and size not in sizes:
            raise ValueError(f"champion: size={size!r}, expected one of {', '.join(sizes)}")
        if worlds < 0:
            raise ValueError(f"champion: worlds={worlds!r}, expected 0 or more")
        self._networks = ShippedNetworks(size, sample=sample)
        self._player: Agent = self._networks
        if worlds and not sample:
            self._player = looking(self._networks, worlds)
        self.history = history_of([self._player])
        options = [f"size={size}"] if size else []
        if worlds != WORLDS:
            options.append(f"worlds={worlds}")
        self.name = f"champion:{','.join(options)}" if options else "champion"
        games = {game_of(get_rules(preset)).name for preset, _ in shipped()}
        if len(games) == 1:
            (self.plays,) = games

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self._player.reset(seed)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self._player.act(view)

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """How probable the network thinks each of ``view.legal_actions``, before anything is looked at.

        Returns:
            float32 (N,), logarithms.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self._networks.log_probabilities(view)

    def network_for(self, rules: AnyRules) -> NetworkAgent:
        """The network that plays these rules.

        Raises:
            ValueError: there is none.
        """
        return self._networks.network_for(rules)
