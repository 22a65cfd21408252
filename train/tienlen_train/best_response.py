"""Train against an agent that stays as it is, and report how much that wins: how exploitable it is, at least.

    python -m tienlen_train.best_response --agent champion:worlds=0 --decisions 3000000

The exploiter has one seat, three copies of the agent have the others. It learns by PPO (`tienlen_train.ppo`),
from the agent's own weights where it has a network and as any run does where not. What it gains over parity
on held-out deals is a lower bound: another exploiter may find more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.console import Console

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.champion import ChampionAgent
from tienlen_agents.networks.network import ActionNetwork, NetworkAgent
from tienlen_train.config import parse_args
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import RunError, write_atomic
from tienlen_train.trainer import train


@dataclass(frozen=True, kw_only=True)
class BestResponseConfig(PPOConfig):
    """Settings of a run; those of the opponents' pool are set by it.

    Attributes:
        agent: whom to exploit, as `tienlen_agents.load` knows it.
        from_agent: start from the agent's own network, if it has one and no `start_from` is given.
    """

    agent: str = "champion:worlds=0"
    from_agent: bool = True
    decisions: int = 3_000_000
    learning_rate: float = 5e-4


class BestResponseTrainer(PPOTrainer):
    """PPO for one seat against three frozen copies of an agent."""

    name: ClassVar[str] = "best_response"
    config: BestResponseConfig

    def __init__(self, config: BestResponseConfig) -> None:
        super().__init__(
            replace(
                config,
                baselines="",
                baseline_share=1.0,
                snapshot_share=0.0,
                opponent_seats=config.variant().num_players - 1,
            )
        )
        self.rivals = (config.agent,)
        self.baselines = [tienlen_agents.load(config.agent)]

    def make_network(self) -> ActionNetwork:
        """The agent's own, or that of any run."""
        agent = tienlen_agents.load(self.config.agent)
        if isinstance(agent, ChampionAgent):
            agent = agent.network_for(self.rules)
        if self.config.from_agent and not self.config.start_from and isinstance(agent, NetworkAgent):
            return agent.network.train().requires_grad_(True)
        return super().make_network()


def main(argv: Sequence[str] | None = None) -> None:
    """Train the exploiter, and report what it gains."""
    config = parse_args(BestResponseConfig, "Train an exploiter of an agent; report what it gains.", argv)
    console = Console()
    try:
        trainer, out = train(BestResponseTrainer, config, console)
        result = arena.match(
            trainer.agent(),
            tienlen_agents.load(config.agent),
            rules=trainer.rules,
            num_deals=config.final_deals,
            seed=config.seed + 2_000_000,
        )
    except (RunError, ValueError) as error:
        raise SystemExit(f"error: {error}") from error
    points = result.scores[0].points
    line = (
        f"{points.mean - result.parity_points:+.3f} ± {points.half_width:.3f} points a round against three "
        f"{config.agent}, after {trainer.num_decisions:,} decisions ({config.final_deals:,} held-out deals, "
        "95 % interval)"
    )
    console.print(line, highlight=False)
    write_atomic(out / "exploitability.txt", (line + "\n").encode())


if __name__ == "__main__":
    main()
