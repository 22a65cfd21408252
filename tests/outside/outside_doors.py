"""Counts the legal plays of first hands: `tienlen openings`, 100 % from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tienlen_agents.executors import Executor
from tienlen_env import Agent, Batch, View
from tienlen_env.games.common.game import AnyRules

if TYPE_CHECKING:  # PyTorch takes a second, and only training needs it
    import torch

    from tienlen_agents.networks.features import Features
    from tienlen_train.rollout import RolloutJob, Trajectories

# ---------------------------------------------------------------- a command


def main(arguments: list[str]) -> int:
    """Print the mean number of legal plays of a first hand."""
    batch = Batch(arguments[0] if arguments else "cardgames", 100)
    batch.reset(seed=1)
    print(f"{batch.action_mask().sum() / 100:.1f} legal plays")
    return 0


# ---------------------------------------------------------------- a backend


class Counted:
    """A batch that counts the decisions that it has played."""

    def __init__(self, *args: Any, backend: str, **settings: Any) -> None:
        self.batch = Batch(*args, **settings)
        self.num_decisions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.batch, name)

    def step(self, *args: Any, **options: Any) -> Any:
        """See `Batch.step`."""
        self.num_decisions += self.batch.num_games
        return self.batch.step(*args, **options)


# ---------------------------------------------------------------- an executor


class Counting(Executor):
    """Runs everything in this process, the last item first, and tells how much it was."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def unordered(self, function: Any, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """See `Executor.unordered`."""
        given = list(items)
        self._say(f"{len(given)} items")
        for item in reversed(given):
            yield item, function(item)


@contextmanager
def connect(
    where: str, agents: Sequence[str], *, say: Callable[[str], None], at_once: int | None
) -> Iterator[Counting]:
    """`tienlen match ... --executor counting:HERE`."""
    say(f"at {where or 'no place'}, for {', '.join(agents)}")
    yield Counting(say)


# ---------------------------------------------------------------- an evaluator


class FirstCards:
    """How many cards a policy plays first."""

    def __init__(self, rules: AnyRules) -> None:
        if rules.num_players > 4:
            raise ValueError(f"expected 2 to 4 players, got {rules.num_players}")
        self._batch = Batch(rules, 100)
        self._batch.reset(seed=1)

    def __call__(self, agent: Agent) -> dict[str, float]:
        """The metrics of a policy."""
        cards = self._batch.action_to_cards(agent.act(View(self._batch)))
        return {"first_cards": float(np.bitwise_count(cards).mean())}


# ---------------------------------------------------------------- an actor


class Slow:
    """Plays the rollouts of a run one after the other, in this process."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.num_rollouts = 0

    def lacks(
        self, features: Features, options: Mapping[str, object], opponents: Sequence[str], *, variants: bool
    ) -> str:
        """See `tienlen_train.doors.Actor`."""
        return "several variants" if variants else ""

    def rollout(self, job: RolloutJob) -> Trajectories:
        """See `tienlen_train.doors.Actor`."""
        from tienlen_train.rollout import rollout

        self.num_rollouts += 1
        return rollout(job)


# ---------------------------------------------------------------- an agent


class Highest:
    """Plays the last legal action of its list, which is its highest."""

    name = "highest"

    def reset(self, seed: int) -> None:
        """It draws nothing."""

    def act(self, view: View) -> np.ndarray[Any, Any]:
        """The actions of all waiting decisions."""
        legal = view.legal_actions
        return legal.action[np.append(legal.start[1:], len(legal.action)) - 1]


# ---------------------------------------------------------------- a check of games


def named(game: Any) -> None:
    """Refuse a game whose name does not end in "card"."""
    if not game.name.endswith("card"):
        raise ValueError(f"{game.name}: expected a name that ends in card")
