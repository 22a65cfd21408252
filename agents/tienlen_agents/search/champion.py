"""``tienlen_agents.load("champion")``: the shipped networks, refined by a small search.

A network (`tienlen_agents.networks.shipped`) is the prior of a determinized search, in deals that its belief
network and the plays so far make likely. In Tiến lên the search finds out from the plays who the others are:
each opponent is the rule-based agent, or a player as one of two small models has them
(`tienlen_agents.search.tienlen_players`), and plays the rollouts as such. ``champion:worlds=0`` is the
network alone. In ``champion:rollout=network`` it plays the rollouts of the search. `docs/champion.md` says
how long a decision takes.
"""

from __future__ import annotations

from math import log
from typing import Final, get_args

from tienlen_agents.networks.agent import NetworkAgent, NetworkPlayer
from tienlen_agents.networks.general import Objective
from tienlen_agents.networks.network import CardWeights, Network, read_policy
from tienlen_agents.networks.shipped import WEIGHTS, ShippedNetworks, newest
from tienlen_agents.search.agent import MIN_PROBABILITY, SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Options
from tienlen_env.engine.agent import View
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import Float32Array
from tienlen_env.games.common.game import AnyRules

# Settings of the search (see `tienlen_agents.search`).
WORLDS: Final = 32
MCMC_EFFORT: Final = 0.25  # with a small budget, more samples help more than a longer burn-in
PRIOR_WEIGHT: Final = 0.3
# With the models of players:
KNOWN_EFFORT: Final = 1.0  # of the chain where the opponents are the rule-based agent
INFERENCE: Final = 0.98  # a player plays any legal action in one of fifty decisions
BASELINE_SHARE: Final = 0.9  # how likely an opponent is that agent, before it has played
FLOOR: Final = 1e-8  # the network did not learn for the opponents that the search finds out about
# The champion of before these models; suite v1 holds it to what it did.
WITHOUT_MODELS: Final = "tienlen-general-v4"


class SearchedNetwork(SearchAgent):
    """Refines networks by the champion's search; its probabilities are those of the networks.

    Args:
        networks: the policy.
        worlds: see `load_champion`, at least 1.
        objective: see `load_champion`.
        plays_rollouts: the networks play the rollouts, not the game's rule-based agent.
        with_models: use the game's models of players, where it has them.
        name: its name in result tables and plots.
    """

    def __init__(
        self,
        networks: NetworkPlayer,
        worlds: int = WORLDS,
        objective: str = "",
        *,
        plays_rollouts: bool = False,
        with_models: bool = True,
        name: str = "champion",
    ) -> None:
        super().__init__(
            worlds=worlds, mcmc_effort=MCMC_EFFORT, prior_weight=PRIOR_WEIGHT, objective=objective
        )
        self.name = name
        self.networks = networks
        self.with_models = with_models
        self.set_prior(networks)
        if plays_rollouts:
            self.set_rollout(networks)

    def options_in(self, context: SearchContext) -> Options:
        """See `SearchAgent.options_in`; where the game has models of players, the search uses them.

        For payments it has none, and drops no action: the newest network gives actions probabilities far
        below those that the default floor was chosen for.
        """
        options = super().options_in(context)
        if not self.with_models:
            return options
        if context.reward == "payments":
            return options._replace(floor=log(MIN_PROBABILITY))
        if not context.has_models:
            return options
        return options._replace(
            inference=INFERENCE,
            floor=log(FLOOR),
            known_effort=KNOWN_EFFORT,
            baseline_share=BASELINE_SHARE,
            has_models=True,
            lists_worlds=self._rollout is None,  # in steps all worlds are drawn
        )

    def log_probabilities(self, view: View) -> Float32Array:
        """The log-probabilities of ``view.legal_actions`` by the network, without search, float32 (N,).

        Raises:
            ValueError: no network plays these rules.
        """
        return self.networks.log_probabilities(view)

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`.

        Raises:
            ValueError: no network plays these rules.
        """
        return self.networks.log_probabilities_and_card_weights(view)

    def network_for(self, rules: AnyRules, objective: Objective = "payments") -> Network:
        """See `NetworkPlayer.network_for`."""
        return self.networks.network_for(rules, objective)


def one_network(file: str, name: str, sample: bool, objective: Objective | None) -> NetworkAgent:
    """The agent of one shipped file, which refuses other rules and games than its own.

    Raises:
        ValueError: there is no such file.
    """
    known = {path.stem: path for path in WEIGHTS.glob("*-*-v*.safetensors")}
    check_word("champion: file", file, sorted(known))
    network, card = read_policy(known[file])
    return NetworkAgent(network, name, sample, card, objective)


def load_champion(
    *,
    size: str = "",
    worlds: int = WORLDS,
    sample: bool = False,
    objective: str = "",
    rollout: str = "",
    file: str = "",
) -> NetworkPlayer | SearchedNetwork:
    """Make the agent ``champion``; the rules of a decision select its network.

    Args:
        size: of the network, see `ShippedNetworks`.
        worlds: number of worlds that compare the last two candidates, early in a round (see
            `tienlen_agents.search`); 0 for the network alone. More also mean a longer chain (8 times as long
            at most), and that up to 16 times as many are listed.
        sample: draw from the network's policy, without search.
        objective: what it plays for: ``"payments"`` where the rules have them, or ``"points"`` everywhere;
            empty: what the reward of the batch asks for. Networks of one preset have the one that they were
            trained for.
        rollout: ``"network"``: the network plays the rollouts of the search, too, which is stronger and
            slower.
        file: the shipped network of this file, such as ``tienlen-general-v4``, whatever the newest one is.
            tienlen-general-v4 searches as it did when it was published, without models of players.

    Raises:
        ValueError: there is none of that size or file, `worlds` is below 0, an unknown objective or
            rollout, or a rollout without a search.
    """
    if size:
        check_word("champion: size", size, sorted({size for _, size in newest()}))
    if worlds < 0:
        raise ValueError(f"champion: worlds={worlds!r}, expected 0 or more")
    if objective:
        check_word("champion: objective", objective, get_args(Objective))
    if rollout:
        check_word("champion: rollout", rollout, ("network",))
    is_searching = worlds > 0 and not sample
    if rollout and not is_searching:
        raise ValueError("champion: rollout=network needs a search: worlds above 0, and without sample")
    changed = "" if worlds == WORLDS else worlds
    given = {
        "file": file,
        "size": size,
        "worlds": changed,
        "sample": 1 if sample else "",
        "objective": objective,
        "rollout": rollout,
    }
    options = ",".join(f"{key}={value}" for key, value in given.items() if value != "")
    name = f"champion:{options}" if options else "champion"
    chosen: dict[str, Objective] = {one: one for one in get_args(Objective)}
    wanted = chosen.get(objective)
    if file:
        networks: NetworkPlayer = one_network(file, name, sample, wanted)
    else:
        networks = ShippedNetworks(size, name=name, sample=sample, objective=wanted)
    if not is_searching:
        return networks
    return SearchedNetwork(
        networks,
        worlds,
        objective,
        plays_rollouts=bool(rollout),
        with_models=file != WITHOUT_MODELS,
        name=name,
    )
