r"""PPO with a posterior search as soft teacher: the agent ``soft_teacher`` beside ``tienlen train ppo``.

    python -m research.soft_teacher --rules cardgames --decisions 3000000 --learning-rate 0.0003 \
        --start-from agents/tienlen_agents/networks/weights/tienlen-general-v4.safetensors --critic-warmup 5 \
        --baseline-share 0 --eval-every 0 --final-deals 0 --threads 1 --seed 7 --ent-coef 0.003 \
        --out runs/soft --teachers soft_teacher:alpha=10 --teacher-share 0.1 --teacher-coef 2

The teacher's policy is ``prior * exp(alpha * Q)``: the prior is the shipped network, Q what each likely
action earns on average in deals that its belief network and the plays make likely, with rollouts by the
rule-based agent. All actions are evaluated in the same deals.
"""

from __future__ import annotations

import sys

import numpy as np

import tienlen_agents
from tienlen_agents.networks.shipped import ShippedNetworks
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.champion import MCMC_EFFORT, PRIOR_WEIGHT
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import Decision
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import Float32Array, FloatArray
from tienlen_train.ppo import main

NETWORK = "tienlen-general-v4"
SURE = 30.0  # log-probability by which the action of a solved position leads


class SoftTeacher(SearchAgent):
    """The soft policy of a search over the shipped network.

    Args:
        worlds: deals in which all candidates are evaluated, early in a round; late ones get more.
        alpha: weight of Q, for each point.
        floor: probability below which an action is no candidate: its Q counts as the mean of the others.
        effort: factor on the length of the chain.
    """

    def __init__(
        self, *, worlds: int = 32, alpha: float = 5.0, floor: float = 0.001, effort: float = MCMC_EFFORT
    ) -> None:
        super().__init__(worlds=worlds, prior_weight=PRIOR_WEIGHT, mcmc_effort=effort, floor=floor)
        self.name = "soft_teacher"
        self.networks = ShippedNetworks(file=NETWORK)
        self.set_prior(self.networks)
        self.alpha = alpha

    def log_probabilities(self, view: View) -> Float32Array:
        """See `ScoringAgent.log_probabilities`; but for a constant in each decision."""
        context, *_ = self._contexts_for(view, 1)
        log_prior, weights = self.networks.log_probabilities_and_card_weights(view)
        starts = view.legal_actions.start
        scores = log_prior.astype(np.float64)
        for i, decision in enumerate(self._decisions(view, np.arange(len(view)))):
            part = scores[starts[i] : starts[i] + len(decision.actions)]
            if len(part) > 1:
                part += self._gain(context, decision, part.copy(), weights[i])
        return scores.astype(np.float32)

    def _gain(
        self, context: SearchContext, decision: Decision, log_prior: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """float64 (n,): alpha times the advantage of each action."""
        gain = np.zeros(len(log_prior))
        _, solved = context.resolve(decision)
        if solved >= 0:
            gain[solved] = SURE
            return gain
        best = int(log_prior.argmax())
        full = decision._replace(log_prior=log_prior, card_weights=weights, default=best)
        options = self._options_in(context)
        scale = context.start(full, options, best)
        candidates = context.candidates
        if len(candidates) > 1:
            context.sample(max(1, int(np.ceil(self.worlds * scale))))
            size = context.num_worlds * len(candidates)
            earned = context.workspace.values[:size].reshape(-1, len(candidates)).mean(axis=0)
            prior = np.exp(log_prior[candidates])
            gain[candidates] = self.alpha * (earned - (prior * earned).sum() / prior.sum())
        return gain


tienlen_agents.register("soft_teacher", SoftTeacher)


if __name__ == "__main__":
    sys.exit(main())
