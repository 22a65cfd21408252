"""``tienlen_agents.load("champion")``: the shipped networks, refined by a small search.

A network (`tienlen_agents.networks.shipped`) is the prior of a determinized search, in deals that its belief
network considers likely. ``champion:worlds=0`` is the network alone. In ``champion:rollout=network`` it plays
the rollouts of the search, too. In ``champion:adapt=1`` the others are taken for the game's rule-based agent
until they make plays that this cannot explain. `docs/champion.md` says how long a decision takes.
"""

from __future__ import annotations

from math import ceil, log
from typing import Final, NamedTuple, get_args

import numpy as np

from tienlen_agents.networks.agent import NetworkPlayer
from tienlen_agents.networks.general import Objective
from tienlen_agents.networks.network import CardWeights, Network
from tienlen_agents.networks.shipped import ShippedNetworks, newest
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision
from tienlen_env.engine.agent import View
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import Float32Array
from tienlen_env.games.common.game import AnyRules

# Settings of the search (see `tienlen_agents.search`).
WORLDS: Final = 32
MCMC_EFFORT: Final = 0.25  # with a small budget, more samples help more than a longer burn-in
PRIOR_WEIGHT: Final = 0.3


class Adaptation(NamedTuple):
    """How a search finds out whether the others play by the rule-based agent, and what it does then.

    The others are strangers if the rule-based agent cannot explain so many of their plays in the best of some
    worlds. (It leaves 3 of 18 to 23 plays unexplained in 13 % of the positions where they do, in 78 % where
    they play as `reference`.) Where they are none, hands come from the chain alone and the rule-based agent
    plays the rollouts, which are then as the others play: the prior counts less, and the search goes on until
    its result is clear.

    Attributes:
        strange: the number of plays.
        looks: the number of worlds, at least 1.
        effort: `Options.mcmc_effort`.
        large_swaps: `Options.large_swaps`.
        floor: probability below which the prior drops an action.
        prior: factor on the weight of the prior.
        indifference: `Options.indifference`, in points.
        least: factor on the budget in worlds of the first step; each other step doubles it ...
        most: ... up to this factor.
    """

    strange: int = 3
    looks: int = 8
    effort: float = 1.3
    large_swaps: int = 8
    floor: float = 1e-10
    prior: float = 0.3
    indifference: float = 0.1
    least: float = 0.4
    most: float = 4.0


class SearchedNetwork(SearchAgent):
    """Refines networks by the champion's search; its probabilities are those of the networks.

    Args:
        networks: the policy.
        worlds: see `load_champion`, at least 1.
        objective: see `load_champion`.
        plays_rollouts: the networks play the rollouts, not the game's rule-based agent.
        adaptation: see `load_champion`; None: without.
        name: its name in result tables and plots.
    """

    def __init__(
        self,
        networks: NetworkPlayer,
        worlds: int = WORLDS,
        objective: str = "",
        *,
        plays_rollouts: bool = False,
        adaptation: Adaptation | None = None,
        name: str = "champion",
    ) -> None:
        super().__init__(
            worlds=worlds, mcmc_effort=MCMC_EFFORT, prior_weight=PRIOR_WEIGHT, objective=objective
        )
        self.name = name
        self.networks = networks
        self.adaptation = adaptation
        self.set_prior(networks)
        if plays_rollouts:
            self.set_rollout(networks)

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        if self.adaptation is not None:
            found = self._decide_among_known(context, decision, self.adaptation)
            if found >= 0:
                return found
        return super()._decide(context, decision)

    def _decide_among_known(self, context: SearchContext, decision: Decision, adaptation: Adaptation) -> int:
        """The index of the action to take if the others are no strangers, else -1."""
        options = self._options_in(context)
        options = options._replace(
            mcmc_effort=adaptation.effort,
            large_swaps=adaptation.large_swaps,
            floor=log(adaptation.floor),
            prior_weight=adaptation.prior * options.prior_weight,
            indifference=adaptation.indifference * options.reward_unit,
        )
        scale = context.start(decision._replace(card_weights=np.zeros((0, 0))), options, decision.default)
        if len(context.candidates) == 1:
            return decision.default
        if scale == 0 or not 0 <= context.fewest_deviations(adaptation.looks) < adaptation.strange:
            return -1
        budget, factor = options.worlds * scale, adaptation.least
        while True:
            context.sample(ceil(budget * factor) - context.num_worlds)
            if context.eliminate(len(context.candidates)) == 1 or factor >= adaptation.most:
                break
            factor = min(2 * factor, adaptation.most)
        context.eliminate(1)
        return int(context.candidates[0])

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


def load_champion(
    *,
    size: str = "",
    worlds: int = WORLDS,
    sample: bool = False,
    objective: str = "",
    rollout: str = "",
    adapt: bool = False,
    file: str = "",
) -> ShippedNetworks | SearchedNetwork:
    """Make the agent ``champion``; the rules of a decision select its network.

    Args:
        size: of the network, see `ShippedNetworks`.
        worlds: number of worlds that compare the last two candidates, early in a round (see
            `tienlen_agents.search`); 0 for the network alone.
        sample: draw from the network's policy, without search.
        objective: what it plays for: ``"payments"`` where the rules have them, or ``"points"`` everywhere;
            empty: what the reward of the batch asks for. Networks of one preset have the one that they were
            trained for.
        rollout: ``"network"``: the network plays the rollouts of the search, too, which is stronger and
            slower.
        adapt: find out from their plays whether the others play by the game's rule-based agent, and search
            accordingly; it has an effect in Tiến lên.
        file: the shipped network of this file, such as ``tienlen-general-v4``, whatever the newest one is.

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
    for option, is_given in (("rollout=network", rollout), ("adapt=1", adapt)):
        if is_given and not is_searching:
            raise ValueError(f"champion: {option} needs a search: worlds above 0, and without sample")
    changed = "" if worlds == WORLDS else worlds
    given = {"file": file, "size": size, "worlds": changed, "objective": objective, "rollout": rollout}
    given["adapt"] = "1" if adapt else ""
    options = ",".join(f"{key}={value}" for key, value in given.items() if value != "")
    name = f"champion:{options}" if options else "champion"
    chosen: dict[str, Objective] = {one: one for one in get_args(Objective)}
    networks = ShippedNetworks(size, file=file, name=name, sample=sample, objective=chosen.get(objective))
    if not is_searching:
        return networks
    return SearchedNetwork(
        networks,
        worlds,
        objective,
        plays_rollouts=bool(rollout),
        adaptation=Adaptation() if adapt else None,
        name=name,
    )
