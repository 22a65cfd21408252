"""The shipped policies: ``tienlen_agents.load("champion")``.

A policy is a network (`tienlen_agents.networks.network`) refined by a small determinized search
(`tienlen_agents.search`) with the network as its prior, in deals that its belief network considers likely; a
decision takes less than a millisecond on average.
``champion:worlds=0`` is the network alone, and in ``champion:rollout=network`` it plays the rollouts of the
search, too, which takes about 20 milliseconds.

The files are in ``agents/tienlen_agents/networks/weights``: ``<preset>-<size>-v<version>.safetensors`` for
the networks of one preset with four players, ``<game>-general-v<version>.safetensors`` for a general network
(`tienlen_agents.networks.general`), which plays every variant of its game. For each there is a model card,
the same name with ``.md``, with its training commands, its results and the digest of the file's content.
Published weights never change: better ones get a new version, and the highest version is used.

``champion`` plays the general network of a game that has one. ``champion:size=medium`` is the network of that
size of the preset alone.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Final, get_args

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.general import (
    MOST_LOADED,
    GeneralAgent,
    Objective,
    load_policy,
    objective_of,
)
from tienlen_agents.networks.network import CardWeights, NetworkAgent, NetworkConfig, read_policy
from tienlen_agents.search import SearchAgent
from tienlen_env.engine.agent import Agent, ScoringAgent, View, history_of
from tienlen_env.games.common.arrays import Float32Array
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules

WEIGHTS: Final = Path(__file__).parent / "weights"
# Settings of the search (see `tienlen_agents.search`).
WORLDS: Final = 32
EFFORT: Final = 0.25  # with a small budget, more samples help more than a longer burn-in
TRUST: Final = 0.3


GENERAL: Final = "general"  # the size of general networks
OBJECTIVES: Final[dict[str, Objective]] = {name: name for name in get_args(Objective)}


def _newest() -> dict[tuple[str, str], Path]:
    found: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in WEIGHTS.glob("*-*-v*.safetensors"):
        name, size, version = path.stem.rsplit("-", 2)
        found[name, size] = max(found.get((name, size), (0, path)), (int(version[1:]), path))
    return {key: path for key, (_, path) in sorted(found.items())}


def shipped() -> dict[tuple[str, str], Path]:
    """The newest shipped files of networks of one preset, by preset and size."""
    return {key: path for key, path in _newest().items() if key[1] != GENERAL}


def shipped_general() -> dict[str, Path]:
    """The newest shipped files of general networks, by game."""
    return {game: path for (game, size), path in _newest().items() if size == GENERAL}


@cache
def config_of(path: Path) -> NetworkConfig:
    """The configuration of a shipped file, which does not change."""
    return read_policy(path)[0].config


def policy_path(rules: AnyRules, size: str = "") -> Path | None:
    """The file of the network that ``champion`` plays under these rules; None if there is none.

    Args:
        rules: the variant.
        size: see `ShippedNetworks`.
    """
    own = [path for (preset, s), path in shipped().items() if preset == rules.name and size in ("", s)]
    own = [path for path in own if config_of(path).rules_digest == rules.digest()]  # the number of players
    general = shipped_general().get(game_of(rules).name) if size in ("", GENERAL) else None
    return general or (own[-1] if own else None)


def can_play(rules: AnyRules) -> bool:
    """Whether ``champion`` has a network for these rules and their number of players."""
    return policy_path(rules) is not None


def looking(
    network: ScoringAgent,
    worlds: int = WORLDS,
    objective: Objective | None = None,
    *,
    plays_rollouts: bool = False,
) -> SearchAgent:
    """An agent that refines a network by the champion's search.

    Args:
        network: the policy.
        worlds: see `ChampionAgent`, at least 1.
        objective: see `ChampionAgent`.
        plays_rollouts: the network plays the rollouts, not the game's rule-based agent.
    """
    search = SearchAgent(worlds=worlds, effort=EFFORT, trust=TRUST, objective=objective or "")
    search.set_prior(network)
    if plays_rollouts:
        search.set_rollout(network)
    return search


class ShippedNetworks:
    """The shipped networks alone; the rules of a decision select the network.

    Args:
        size: see `ChampionAgent`.
        sample: draw from the policy instead of taking the most probable action.
        objective: see `ChampionAgent`.
    """

    name = "champion:worlds=0"
    history = 1  # the networks of some rules read the play summary

    def __init__(self, size: str = "", *, sample: bool = False, objective: Objective | None = None) -> None:
        self._size = size
        self._sample = sample
        self._objective = objective
        self._seed = 0
        self._loaded: dict[Path, NetworkAgent | GeneralAgent] = {}
        self._path = lru_cache(MOST_LOADED)(
            self._find
        )  # the folder of weights is not read for every decision

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
        return self.network_for(view.rules, objective_of(view)).act(view)

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """The log-probabilities of ``view.legal_actions``, float32 (N,).

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self.network_for(view.rules, objective_of(view)).log_probabilities(view)

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self.network_for(view.rules, objective_of(view)).log_probabilities_and_card_weights(view)

    def network_for(self, rules: AnyRules, objective: Objective = "payments") -> NetworkAgent:
        """The network that plays these rules.

        Args:
            rules: the variant.
            objective: used if none was chosen for all rules.

        Raises:
            ValueError: there is none.
        """
        path = self._path(rules)
        policy = self._loaded.get(path)
        if policy is None:
            policy = self._loaded[path] = load_policy(path, sample=self._sample)
            policy.name = "champion"
            policy.reset(self._seed)
        if isinstance(policy, GeneralAgent):
            return policy.network_for(rules, self._objective or objective)
        return policy

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse rules that no shipped network plays.

        Raises:
            ValueError: the message lists the presets that have a network.
        """
        self._path(rules)

    def _find(self, rules: AnyRules) -> Path:
        path = policy_path(rules, self._size)
        if path is None:
            known = ", ".join(sorted({preset for preset, s in shipped() if self._size in ("", s)})) or "none"
            raise ValueError(
                f"champion: there is no policy for the {rules.name} rules with {rules.num_players} players; "
                f"there are: {known}"
            )
        return path


class ChampionAgent:
    """The shipped policies; the rules of a decision select the policy.

    Args:
        size: of the network; ``"general"`` for the one that plays every variant; empty for that one where the
            game has it, and otherwise the network of the preset.
        worlds: number of worlds that compare the last two candidates, early in a round (see
            `tienlen_agents.search`); 0 for the network alone.
        sample: draw from the network's policy, without search.
        objective: what it plays for: ``"payments"`` where the rules have them, or ``"points"`` everywhere;
            empty: what the reward of the batch asks for. Networks of one preset have the one that they were
            trained for.
        rollout: ``"network"``: the network plays the rollouts of the search, too. That is stronger, and a
            decision takes about 20 milliseconds.

    Attributes:
        plays: the game of the policies, if all have the same.

    Raises:
        ValueError: there is none of that size, `worlds` is below 0, an unknown objective or rollout, or a
            rollout without a search.
    """

    def __init__(
        self,
        *,
        size: str = "",
        worlds: int = WORLDS,
        sample: bool = False,
        objective: str = "",
        rollout: str = "",
    ) -> None:
        sizes = sorted({s for _, s in _newest()})
        if size and size not in sizes:
            raise ValueError(f"champion: size={size!r}, expected one of {', '.join(sizes)}")
        if worlds < 0:
            raise ValueError(f"champion: worlds={worlds!r}, expected 0 or more")
        if objective and objective not in OBJECTIVES:
            expected = ", ".join(OBJECTIVES)
            raise ValueError(f"champion: objective={objective!r}, expected one of {expected}")
        if rollout not in ("", "network"):
            raise ValueError(f"champion: rollout={rollout!r}, expected network")
        is_searching = worlds > 0 and not sample
        if rollout and not is_searching:
            raise ValueError("champion: rollout=network needs a search: worlds above 0, and without sample")
        chosen = OBJECTIVES.get(objective)
        self._networks = ShippedNetworks(size, sample=sample, objective=chosen)
        self._player: Agent = self._networks
        if is_searching:
            self._player = looking(self._networks, worlds, chosen, plays_rollouts=rollout == "network")
        self.history = history_of([self._player])
        options = [f"size={size}"] if size else []
        if worlds != WORLDS:
            options.append(f"worlds={worlds}")
        if objective:
            options.append(f"objective={objective}")
        if rollout:
            options.append(f"rollout={rollout}")
        self.name = f"champion:{','.join(options)}" if options else "champion"
        games = {game_of(get_rules(preset)).name for preset, _ in shipped()} | set(shipped_general())
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

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse rules that no shipped network plays; see `ShippedNetworks.check_rules`.

        Raises:
            ValueError: the message lists the presets that have a network.
        """
        self._networks.check_rules(rules)

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """The log-probabilities of ``view.legal_actions`` by the network, without search.

        Returns:
            float32 (N,), logarithms.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self._networks.log_probabilities(view)

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`.

        Raises:
            ValueError: there is no policy for these rules.
        """
        return self._networks.log_probabilities_and_card_weights(view)

    def network_for(self, rules: AnyRules, objective: Objective = "payments") -> NetworkAgent:
        """The network that plays these rules; see `ShippedNetworks.network_for`.

        Raises:
            ValueError: there is none.
        """
        return self._networks.network_for(rules, objective)
