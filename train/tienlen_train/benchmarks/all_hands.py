"""The value of perfect information: the score of a player that sees all hands.

    python -m tienlen_train.benchmarks.all_hands
    python -m tienlen_train.benchmarks.all_hands --agent heuristic --deals 2000

The player plays every legal action out in the true deal: the agent plays all seats to the end of the round.
It takes the action that earns the most. The agent plays the other seats of the match too. If the agent does
not draw at random, each rollout shows what the others will do. No player of the game can know this: the score
says how much perfect information is worth.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import tienlen_agents
from tienlen_agents.arena import match
from tienlen_agents.ranges import FreeText
from tienlen_env.engine.agent import Agent, View, history_of
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.state import ClimbingState
from tienlen_env.games.registry import get_rules
from tienlen_train.benchmarks.search import result_text
from tienlen_train.command import command
from tienlen_train.config import ANY_SEED, COUNT, PRESETS, SEATS, Config, parse_args, setting


@dataclass(frozen=True, kw_only=True)
class AllHandsConfig(Config):
    """Settings of the measurement.

    Attributes:
        agent: plays the rollouts and all other seats.
        rules: the variant.
        num_players: seats at the table.
        deals: of the match.
        seed: of deals and agents.
    """

    agent: str = setting("champion:worlds=0", FreeText("the name of an agent"))
    rules: str = setting("cardgames", PRESETS)
    num_players: int = setting(4, SEATS)
    deals: int = setting(500, COUNT)
    seed: int = setting(3_000_001, ANY_SEED)


class AllHandsAgent:
    """Plays every legal action out in the true deal; for measurements only.

    Args:
        policy: plays the rollouts.
    """

    name = "all hands"

    def __init__(self, policy: Agent) -> None:
        self._policy = policy
        self.history = history_of([policy])

    def reset(self, seed: int) -> None:
        """Reset the policy."""
        self._policy.reset(seed)

    def act(self, view: View) -> IntArray:
        """Choose for n decisions (see `Agent.act`)."""
        legal, owner = view.legal_actions, np.repeat(np.arange(len(view)), view.num_legal)
        points = self._points(view, legal.action, owner)
        best = np.lexsort((-points, owner))  # of each decision, the best action comes first
        found: IntArray = legal.action[best[legal.start]]
        return found

    def _points(self, view: View, actions: IntArray, owner: IntArray) -> npt.NDArray[np.float64]:
        """What the player to move earns after each action; float64 (N,), in points."""
        source, games = view.source
        state = source.state
        num_stored = state.history.shape[1] if isinstance(state, ClimbingState) else 0
        batch = Batch(view.rules, len(actions), history_length=num_stored)
        batch.kernel_arrays.rows[:] = source.kernel_arrays.rows[games[owner]]
        seats, order = batch.state.turn.copy(), np.arange(len(actions))
        before = batch.scores()[order, seats]
        batch.step(actions)
        while (running := np.flatnonzero(batch.state.turn >= 0)).size:
            next_actions = np.full(len(actions), NO_ACTION)
            next_actions[running] = self._policy.act(View(batch, running))
            batch.step(next_actions)
        found: npt.NDArray[np.float64] = batch.scores()[order, seats].astype(np.float64) - before
        return found


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    config = parse_args(AllHandsConfig, __doc__ or "", argv)
    rules = get_rules(config.rules, config.num_players)
    player = AllHandsAgent(tienlen_agents.load(config.agent))
    result = match(
        player, tienlen_agents.load(config.agent), rules=rules, num_deals=config.deals, seed=config.seed
    )
    print(f"{result.title}, {rules.name}, {rules.num_players} players, {result_text(result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
