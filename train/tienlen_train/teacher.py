"""Teachers: agents that say what they would do in the decisions of a rollout, as targets for the policy.

The policy plays, so it learns in the positions that it meets itself, not in those of its teachers.

Sources: Ross, Gordon, Bagnell, A reduction of imitation learning and structured prediction to no-regret
online learning, 2011; Rusu et al., Policy distillation, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tienlen_agents.networks.features import Inputs
from tienlen_agents.networks.network import log_softmax
from tienlen_env.engine.agent import Agent, ScoringAgent, View, check_plays, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules

CHOICE_LOGIT: Final = 30.0  # what an agent without probabilities adds to the score of its choice


def teachers_of(rules: AnyRules, agents: Sequence[Agent]) -> list[Agent]:
    """Those of the agents that play a variant.

    Raises:
        ValueError, WrongGameError: none does; the message is that of the first.
    """
    batch = Batch(rules, 1)
    found: list[Agent] = []
    refusals: list[ValueError | WrongGameError] = []
    for agent in agents:
        try:
            check_plays([agent], batch)
            found.append(agent)
        except (ValueError, WrongGameError) as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return found


class Teachers:
    """Agents that are asked in some decisions of the policy, drawn at random.

    What they would do is a probability of each legal action, proportional to the geometric mean of theirs. An
    agent without probabilities (`ScoringAgent`) counts as sure of its choice.

    Args:
        agents: the teachers; they are reset.
        share: of the decisions that they judge.
        rng: draws these, and the agents' seeds.

    Attributes:
        history: number of plays that a batch must store for the agents.
    """

    def __init__(self, agents: Sequence[Agent], share: float, rng: np.random.Generator) -> None:
        self._agents = agents
        self._share = share
        self._rng = rng
        self.history = history_of(agents)
        for agent in agents:
            agent.reset(int(rng.integers(2**31)))

    def probabilities(self, batch: Batch, games: IntArray, inputs: Inputs) -> Float32Array:
        """The teachers' probabilities, float32 (N,); 0 where the teachers are not asked.

        Args:
            batch: the games, which are not changed.
            games: int64 (n,), the indices of n games.
            inputs: what the reader gives for these n decisions.

        Raises:
            ValueError: a teacher chose an illegal action.
        """
        is_asked = self._rng.random(len(games)) < self._share
        found = np.zeros(len(inputs.action), np.float32)
        if not is_asked.any():
            return found
        view = View(batch, games[is_asked], copy=False)
        scores = np.mean([_scores(agent, view) for agent in self._agents], axis=0)
        found[np.repeat(is_asked, inputs.num_legal)] = np.exp(log_softmax(scores, view.legal_actions.start))
        return found


def _scores(agent: Agent, view: View) -> Float32Array:
    """The log-probabilities of the legal actions, float32 (N,), but for a constant in each decision."""
    if isinstance(agent, ScoringAgent):
        return agent.log_probabilities(view)
    legal = view.legal_actions
    is_chosen = legal.action == np.repeat(agent.act(view), view.num_legal)
    if is_chosen.sum() != len(view):
        raise ValueError(f"teacher {agent.name!r}: it chose an illegal action")
    return np.where(is_chosen, CHOICE_LOGIT, 0).astype(np.float32)
