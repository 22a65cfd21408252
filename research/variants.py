"""Variants of the champion's search, for measurements: the agents ``damped`` and ``told``.

python -m research.paired_match --module research.variants champion damped:uniform=0.05 --opponent reference
python -m research.paired_match --module research.variants champion told:worlds=64 --opponent heuristic
"""

from __future__ import annotations

from math import exp, log

import numpy as np

import tienlen_agents
from tienlen_agents.networks.network import CardWeights
from tienlen_agents.networks.shipped import ShippedNetworks
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.champion import (
    KNOWN_EFFORT,
    MCMC_EFFORT,
    PRIOR_WEIGHT,
    WORLDS,
    SearchedNetwork,
)
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision, Options
from tienlen_env import View
from tienlen_env.games.common.arrays import Float32Array

NETWORK = "tienlen-general-v4"
FLOOR = 0.00001


class Damped(SearchAgent):
    """`champion` with a share of the uniform policy in its prior, and then no action dropped.

    Args:
        worlds: see `SearchAgent`.
        uniform: the share.
        most_actions: decisions with more legal actions keep the prior and its floor.
        most_cards: so do decisions where the others hold more cards.
    """

    def __init__(
        self, *, worlds: int = WORLDS, uniform: float = 0.02, most_actions: int = 1_000, most_cards: int = 52
    ) -> None:
        super().__init__(worlds=worlds, prior_weight=PRIOR_WEIGHT, mcmc_effort=MCMC_EFFORT, floor=0.0)
        self.name = "damped"
        self.set_prior(ShippedNetworks(file=NETWORK))
        self.uniform, self.most_actions, self.most_cards = uniform, most_actions, most_cards

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        share, prior = self.uniform, np.array([exp(value) for value in decision.log_prior.tolist()])
        hands = [int(hand).bit_count() for hand in decision.row[:4]]
        num_held = sum(hands) - hands[int(decision.row[context._turn])]
        logs = np.where(prior >= FLOOR, decision.log_prior, log(1e-300))
        if len(prior) <= self.most_actions and num_held <= self.most_cards:
            logs = np.log((1 - share) * prior + share / len(prior))
        return context.search(decision._replace(log_prior=logs), self.options_in(context))


class WithoutBelief(ShippedNetworks):
    """The champion's networks without their card weights."""

    def log_probabilities_and_card_weights(self, view: View) -> tuple[Float32Array, CardWeights]:
        """See `tienlen_agents.search.interface.BeliefAgent`; no card weights."""
        return self.log_probabilities(view), np.zeros((len(view), 0, 0))


class Told(SearchedNetwork):
    """`champion` that is told that all others are the rule-based agent; a chain draws all its deals.

    Args:
        worlds: see `tienlen_agents.search.champion.load_champion`, but the length of the chain stays.
        effort: factor on the length of the chain.
    """

    def __init__(self, *, worlds: int = WORLDS, effort: float = KNOWN_EFFORT) -> None:
        super().__init__(WithoutBelief(), worlds, name="told")
        self.effort = effort

    def options_in(self, context: SearchContext) -> Options:
        """See `SearchedNetwork.options_in`."""
        return super().options_in(context)._replace(baseline_share=1.0, mcmc_effort=float(self.effort))


tienlen_agents.register("damped", Damped)
tienlen_agents.register("told", Told)
