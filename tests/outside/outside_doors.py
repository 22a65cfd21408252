"""Counts the legal plays of first hands: `tienlen openings`, 100 % from outside."""

from __future__ import annotations

from typing import Any

from tienlen_env import Batch

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
