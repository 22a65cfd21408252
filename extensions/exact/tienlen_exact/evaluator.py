"""NashConv as an evaluator of training: ``--evaluators exact``."""

from __future__ import annotations

from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_exact.plan import check_fits, plan
from tienlen_exact.policies import measure, policy_of
from tienlen_exact.small_tienlen import small_game
from tienlen_exact.tree import build


class NashConv:
    """Measures a policy in a small game, with the probabilities that it draws from.

    Args:
        rules: of the run.

    Raises:
        ValueError: it is no small game, or its tree does not fit into the memory.
    """

    def __init__(self, rules: AnyRules) -> None:
        game = small_game(rules)
        check_fits(plan(game, "agents"))
        self.tree = build(game)

    def __call__(self, agent: Agent) -> dict[str, float]:
        """``nash_conv``."""
        return {"nash_conv": measure(self.tree, policy_of(self.tree, agent)).nash_conv}
