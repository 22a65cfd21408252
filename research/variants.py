"""Variants of the champion's search, for measurements: the agents ``adaptive`` and ``damped``.

python -m research.paired_match --module research.variants champion adaptive:strange=4 --opponent reference
"""

from __future__ import annotations

from math import exp, log

import numpy as np

import tienlen_agents
from tienlen_agents.networks.shipped import ShippedNetworks
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.champion import MCMC_EFFORT, PRIOR_WEIGHT, WORLDS
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision

NETWORK = "tienlen-general-v4"
FLOOR = 0.00001


class Adaptive(SearchAgent):
    """`champion:adapt=1` with its numbers as options (`SearchedNetwork._decide`).

    Args:
        worlds: see `SearchAgent`.
        strange: the others are strangers when the rule-based agent cannot explain so many plays.
        looks: in the best of so many worlds; 0: they are never strangers.
        known_worlds: factor on the budget where they are no strangers.
        known_effort: `mcmc_effort` there.
        known_prior: factor on the weight of the prior there.
        strange_inference: `inference` where they are strangers.
    """

    def __init__(
        self,
        *,
        worlds: int = WORLDS,
        strange: int = 3,
        looks: int = 8,
        known_worlds: float = 1.5,
        known_effort: float = 1.0,
        known_prior: float = 1.0,
        strange_inference: float = 0.95,
    ) -> None:
        super().__init__(worlds=worlds, prior_weight=PRIOR_WEIGHT, mcmc_effort=MCMC_EFFORT)
        self.name = "adaptive"
        self.set_prior(ShippedNetworks(file=NETWORK))
        self.strange, self.looks, self.known_worlds = strange, looks, known_worlds
        self.known_effort, self.known_prior = known_effort, known_prior
        self.strange_inference = strange_inference

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        options = self._options_in(context)
        if (decision.log_prior >= options.floor).sum() < 2:
            return context.search(decision, options)
        known = decision._replace(card_weights=np.zeros((0, 0)))
        of_known = options._replace(
            mcmc_effort=self.known_effort,
            worlds=int(self.known_worlds * options.worlds),
            prior_weight=self.known_prior * options.prior_weight,
        )
        if not self.looks or 0 <= context.fewest_deviations(known, of_known, self.looks) < self.strange:
            return context.search(known, of_known)
        return context.search(decision, options._replace(inference=self.strange_inference))


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
        return context.search(decision._replace(log_prior=logs), self._options_in(context))


tienlen_agents.register("adaptive", Adaptive)
tienlen_agents.register("damped", Damped)
