"""The networks that are shipped.

The files are in ``agents/tienlen_agents/networks/weights``: ``<preset>-<size>-v<version>.safetensors`` for
the networks of one preset with four players, ``<game>-general-v<version>.safetensors`` for a general network
(`tienlen_agents.networks.general`), which plays every variant of its game. For each there is a model card,
the same name with ``.md``, with its training commands, its results and the digest of the file's content.
Published weights never change: better ones get a new version, and the highest version is used.

`tienlen_agents.search.champion` refines these networks by a search.

A reference policy, ``tienlen_agents.load("reference")``, never saw a rule-based player: pure self-play from
uniform play, with a committed command. Strength against three of them is measured beside strength against
three `heuristic`, so that a policy tuned to beat one is found out. They and what is trained from them are
never opponents in the training of a shipped policy, nor its initial weights, nor used to select it. Their
files are ``weights/reference/cardgames-<seed>.safetensors``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from tienlen_agents.networks.agent import NetworkAgent, NetworkPlayer
from tienlen_agents.networks.general import Objective
from tienlen_agents.networks.network import Network, NetworkConfig, read_policy
from tienlen_env.errors import check_word
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

WEIGHTS: Final = Path(__file__).parent / "weights"
GENERAL: Final = "general"  # the size of general networks
REFERENCES: Final = WEIGHTS / "reference"
SEED: Final = 1234  # of the training of ``reference``


def newest() -> dict[tuple[str, str], Path]:
    """The newest shipped files, by preset (or game) and size."""
    found: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in WEIGHTS.glob("*-*-v*.safetensors"):
        name, size, version = path.stem.rsplit("-", 2)
        found[name, size] = max(found.get((name, size), (0, path)), (int(version[1:]), path))
    return {key: path for key, (_, path) in sorted(found.items())}


def shipped() -> dict[tuple[str, str], Path]:
    """The newest shipped files of networks of one preset, by preset and size."""
    return {key: path for key, path in newest().items() if key[1] != GENERAL}


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
    general = newest().get((game_of(rules).name, GENERAL)) if size in ("", GENERAL) else None
    return general or (own[-1] if own else None)


def can_play(rules: AnyRules) -> bool:
    """Whether ``champion`` has a network for these rules and their number of players."""
    return policy_path(rules) is not None


class ShippedNetworks(NetworkPlayer):
    """The shipped networks alone; the rules of a decision select the network. See `NetworkPlayer`.

    Args:
        size: of the network; ``"general"`` for the one that plays every variant; empty for that one where the
            game has it, and otherwise the network of the preset.
        file: the name of one file, without its ending; empty for the newest ones.
        name: see `NetworkPlayer`.
        sample: see `NetworkPlayer`.
        objective: see `NetworkPlayer`; networks of one preset have the one that they were trained for.

    Raises:
        ValueError: there is no such file.
    """

    def __init__(
        self,
        size: str = "",
        *,
        file: str = "",
        name: str = "champion:worlds=0",
        sample: bool = False,
        objective: Objective | None = None,
    ) -> None:
        super().__init__(name, sample=sample, objective=objective)
        self._size = size
        known = {path.stem: path for path in WEIGHTS.glob("*-*-v*.safetensors")}
        if file:
            check_word("champion: file", file, sorted(known))
        self._file = known.get(file)
        self._read: dict[Path, Network] = {}

    def source_for(self, rules: AnyRules) -> Network:
        """The network of a file.

        Raises:
            ValueError: the message lists the presets that have a network.
        """
        path = self._file or policy_path(rules, self._size)
        if path is None:
            known = ", ".join(sorted({preset for preset, s in shipped() if self._size in ("", s)})) or "none"
            raise ValueError(
                f"champion: there is no policy for the {rules.name} rules with {rules.num_players} players; "
                f"there are: {known}"
            )
        if path not in self._read:
            self._read[path], _ = read_policy(path)
        return self._read[path]


def reference_seeds() -> list[int]:
    """The seeds of the shipped reference policies."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in REFERENCES.glob("cardgames-*.safetensors"))


def load_reference(*, seed: int = SEED, sample: bool = False) -> NetworkAgent:
    """Make the agent ``reference``: a policy of self-play alone, for `cardgames` with four players.

    Args:
        seed: of its training.
        sample: draw from the policy instead of taking the most probable action.

    Raises:
        ValueError: there is none with this seed.
    """
    if seed not in reference_seeds():
        known = ", ".join(map(str, reference_seeds()))
        raise ValueError(f"reference: seed={seed}, expected one of {known}")
    agent = NetworkAgent.load(REFERENCES / f"cardgames-{seed}.safetensors", sample=sample)
    agent.name = "reference" if seed == SEED else f"reference:seed={seed}"
    return agent
