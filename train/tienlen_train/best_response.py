"""Train against a fixed agent: the gain of the exploiter is a lower bound of the agent's exploitability.

    python -m tienlen_train.best_response --agent champion:worlds=0 --decisions 3000000

The exploiter has one seat, copies of the agent have the others. It learns by PPO (`tienlen_train.ppo`),
initialised from the agent's network if it has one, otherwise as usual. Its gain over parity on held-out deals
is a lower bound: another exploiter may gain more.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from rich.console import Console

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.agent import NetworkPlayer
from tienlen_agents.search.champion import SearchedNetwork
from tienlen_agents.settings import FreeText, setting
from tienlen_train.loop import training_command
from tienlen_train.network import ActionNetwork
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.runs import write_atomic


@dataclass(frozen=True, kw_only=True)
class BestResponseConfig(PPOConfig):
    """Settings of a run; the trainer sets those of the opponent pool.

    Attributes:
        agent: the agent to exploit, by its name in `tienlen_agents.load`.
        from_agent: start from the agent's own network, if it has one and no `start_from` is given.
    """

    groups: ClassVar[Mapping[str, str]] = {**PPOConfig.groups, "the exploiter": "from_agent"}
    agent: str = setting("champion:worlds=0", FreeText("the name of an agent"))
    from_agent: bool = True
    decisions: int = 3_000_000
    learning_rate: float = 5e-4

    def baseline_names(self) -> tuple[str, ...]:
        """The agent to exploit."""
        return (self.agent,)


class BestResponseTrainer(PPOTrainer):
    """PPO for one seat against frozen copies of an agent."""

    name: ClassVar[str] = "best_response"
    config: BestResponseConfig

    def __init__(self, config: BestResponseConfig) -> None:
        others = config.variant().num_players - 1
        config = replace(config, baselines="", baseline_share=1.0, snapshot_share=0.0, opponent_seats=others)
        super().__init__(config)
        self.eval_opponents = (config.agent,)

    def make_network(self) -> ActionNetwork:
        """The initial network: the agent's own, or a new one."""
        agent = tienlen_agents.load(self.config.agent)
        if isinstance(agent, NetworkPlayer | SearchedNetwork):
            # Made even if another network is trained: it draws from torch's generator, so the first
            # weights of the critic, which come next, are the same in both cases.
            network = ActionNetwork.of(agent.network_for(self.rules))
            if self.config.from_agent and not self.config.start_from:
                return network
        return super().make_network()

    def report(self, out: Path, console: Console) -> None:
        """Print the gain on held-out deals, and write it to ``exploitability.txt`` in the run folder."""
        config = self.config
        result = arena.match(
            self.agent(),
            tienlen_agents.load(config.agent),
            rules=self.rules,
            num_deals=config.final_deals,
            seed=config.seed + 2_000_000,
        )
        main, num_others = result.scores[0].main, self.rules.num_players - 1
        numbers = {1: "one", 2: "two", 3: "three"}
        line = (
            f"{main.mean - result.parity:+.3f} ± {main.half_width:.3f} {result.figure} a round against "
            f"{numbers.get(num_others, num_others)} {config.agent}, after {self.num_decisions:,} decisions "
            f"({config.final_deals:,} held-out deals, 95 % interval)"
        )
        console.print(line, highlight=False)
        write_atomic(out / "exploitability.txt", (line + "\n").encode())


main = training_command(
    BestResponseTrainer,
    BestResponseConfig,
    "Train an exploiter of an agent that does not change; report its gain.",
)


if __name__ == "__main__":
    sys.exit(main())
