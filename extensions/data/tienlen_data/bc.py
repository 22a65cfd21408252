"""Behaviour cloning: a policy learns the choices in a data set of ``tienlen data``.

    tienlen data --agents champion:worlds=0 --rounds 24576 --out data/champion
    tienlen train bc --data data/champion

The rounds are played again, so the network has the same inputs as in self-play (its play summary and the
features of each action), and not only the observations in the files. Decisions with one legal action are left
out. Every iteration takes the next rounds of the data set, and begins anew at its end.

Source: Pomerleau, Efficient training of artificial neural networks for autonomous navigation, 1991.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from tienlen_agents.networks.features import Inputs
from tienlen_agents.settings import FreeText, setting
from tienlen_data import config_of, read_shards
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import ByteArray, Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_train.config import SelfPlayConfig
from tienlen_train.doors import Actor
from tienlen_train.learner import AnyTrajectories, Model
from tienlen_train.loop import training_command
from tienlen_train.network import ActionNetwork, segment_log_softmax
from tienlen_train.rollout import Trajectories, join, play_rounds
from tienlen_train.trainer import SelfPlayTrainer


@dataclass(frozen=True, kw_only=True)
class BCConfig(SelfPlayConfig):
    """Settings of a run.

    Attributes:
        data: folder of the data set; its variant is that of the run.
        decisions: decisions to train on; every pass over the data set counts again.
        num_games: rounds of an iteration.
        update_epochs: passes over the decisions of an iteration.
    """

    data: str = setting("", FreeText("a folder of `tienlen data`"))
    decisions: int = 4_000_000
    update_epochs: int = 1
    baseline_share: float = 0.0
    snapshot_share: float = 0.0

    def variant(self) -> AnyRules:
        """The rules of the data set."""
        return config_of(self.data).variant

    def __post_init__(self) -> None:
        """Refuse what has no meaning where nothing is played."""
        super().__post_init__()
        unused = {"env": None, "rules": None, "num_players": None, "variants": None, "executor": None}
        for name, value in {**unused, "baseline_share": 0, "snapshot_share": 0, "staleness": 0}.items():
            if getattr(self, name) != value:
                self.refuse(name, f"expected {value}, the data set has the rounds")


class _Replay:
    """A policy for `play_rounds` that plays recorded rounds once more.

    Args:
        num: int64 (n,), decisions with a choice in each round.
        actions: int64 (N,), what was played in them ...
        cards: int64 (N,), ... and its cards.
    """

    def __init__(self, num: IntArray, actions: IntArray, cards: IntArray) -> None:
        self.end = np.cumsum(num)
        self.at = self.end - num
        self._actions, self._cards = actions, cards

    def act(self, inputs: Inputs) -> tuple[IntArray, Float32Array]:
        """The recorded actions of the rounds that are not over, in their order (see `Act`)."""
        running = np.flatnonzero(self.at < self.end)
        if len(running) == len(inputs.num_legal):
            actions = self._actions[self.at[running]]
            chosen = np.flatnonzero(inputs.action == np.repeat(actions, inputs.num_legal))
            if len(chosen) == len(running):
                self.at[running] += 1
                return chosen, np.zeros(len(chosen), np.float32)
        raise ValueError("data: the rounds cannot be played again")

    def check(self, batch: Batch, games: IntArray, inputs: Inputs) -> ByteArray:
        """Refuse exact cards that an action does not name; no features (`Trajectories.privileged`)."""
        played = self.at[games] - 1
        if (batch.select(games).action_to_cards(self._actions[played]) != self._cards[played]).any():
            raise ValueError("data: expected plays with their lowest suits")
        return np.empty((len(games), 0), np.uint8)


class BCTrainer(SelfPlayTrainer[Model]):
    """Maximum likelihood of recorded choices."""

    name: ClassVar[str] = "bc"
    config: BCConfig

    def __init__(self, config: BCConfig) -> None:
        shards = list(read_shards(config.data))
        deals = [deal for shard in shards for deal in shard.deals]
        if any(deal.key is None or deal.round_index or deal.leader is not None for deal in deals):
            config.refuse("data", "expected rounds that are each the first of a key")
        self._keys = np.array([deal.key for deal in deals], np.int64)
        owner = np.repeat(np.arange(len(deals)), np.concatenate([shard.num_decisions for shard in shards]))
        is_free = np.concatenate([shard.num_legal for shard in shards]) > 1
        self._num = np.bincount(owner[is_free], minlength=len(deals))
        self._start = np.cumsum(self._num) - self._num
        self._actions = np.concatenate([shard.actions for shard in shards])[is_free]
        self._cards = np.concatenate([shard.cards for shard in shards])[is_free]
        super().__init__(config)

    def _make_actor(self, actor: Actor | None) -> None:
        if self.device.type == "cuda":
            self.missing_on_device = "the rounds of the data set"

    def make_model(self, network: ActionNetwork) -> Model:
        """The policy's network alone."""
        return Model(network)

    def play(self) -> AnyTrajectories:
        """The next rounds of the data set."""
        rounds = self.iteration * self.config.num_games + np.arange(self.config.num_games)
        parts = np.array_split(rounds % len(self._keys), self.config.shards)
        return join(self.map_here(self._replay, parts), self.map_here)

    def _replay(self, rounds: IntArray) -> Trajectories:
        num = self._num[rounds]
        picked = np.repeat(self._start[rounds] - (np.cumsum(num) - num), num) + np.arange(num.sum())
        replay = _Replay(num, self._actions[picked], self._cards[picked])
        seats = np.zeros((len(rounds), self.rules.num_players), np.int64)
        reader = self.network.config.reader()
        return play_rounds(
            self.rules,
            self._keys[rounds],
            seats,
            [replay.act],
            reader,
            (),
            reward=self.config.reward,
            columns={"privileged": replay.check},
        )

    def learn(self, played: AnyTrajectories) -> dict[str, float]:
        """Raise the likelihood of the choices; ``accuracy``: how often the policy's best is the choice."""
        tensors = self.tensors(played)

        def loss(model: Model, decisions: Any) -> tuple[Tensor, Tensor]:
            batch = tensors.gather(decisions)
            with self.autocast():
                logits = model.logits(batch)
            log_probabilities = segment_log_softmax(logits, batch.segment_ids, len(decisions))
            own = log_probabilities[batch.chosen]
            with torch.no_grad():
                best = torch.full_like(own, -torch.inf)
                best = best.scatter_reduce(0, batch.segment_ids, log_probabilities, "amax")
                accuracy = (own == best).float().mean()
            return -own.mean(), torch.stack([-own.mean().detach(), accuracy])

        return self.take_steps(loss, ("loss", "accuracy"), played)


main = training_command(BCTrainer, BCConfig, "Learn the choices in a data set; compare the policy.")


if __name__ == "__main__":
    sys.exit(main())
