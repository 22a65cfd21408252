"""Several learners: Ray Train starts them, torch's distributed data parallel adds up their gradients.

Every learner has a copy of the model and computes some of the shards of every gradient step; then all take
the same step. The trainer's process gives them an iteration's trajectories and the learner's state before it,
and gets the state after it. So an iteration is a pure function of what the learners get: if one is lost,
Ray Train starts all of them again, and they learn the same iteration from its beginning.
"""

from __future__ import annotations

import asyncio
import copy
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tienlen_agents.cluster import Identity, NodeRefusedError
from tienlen_train.cluster.packing import PackedTrajectories, unpack
from tienlen_train.command import RunError
from tienlen_train.config import SelfPlayConfig
from tienlen_train.device.trajectories import Picked
from tienlen_train.executor import ThreadExecutor
from tienlen_train.learner import Decisions, Learner, Loss, ModelT
from tienlen_train.rollout import IntArray, join
from tienlen_train.trainer import SelfPlayTrainer


class Work(NamedTuple):
    """What the learners learn in an iteration.

    Attributes:
        number: counts the works of a run, from 0.
        iteration: of the trainer before it.
        num_decisions: of the trainer before it.
        state: of the learner before it.
        packed: the trajectories, one for each shard.
    """

    number: int
    iteration: int
    num_decisions: int
    state: dict[str, Any]
    packed: list[PackedTrajectories]


class Mailbox:
    """A Ray actor beside the trainer: holds the present work until a learner brings its result."""

    def __init__(self) -> None:
        self._work: Work | None = None
        self._number = -1
        self._result: Any = None
        self._error = ""
        self._ended = False
        self._changed = asyncio.Condition()

    async def learn(self, work: Work) -> Any:
        """Give out work; its result: the metrics and the state after it, or the text of an error."""
        async with self._changed:
            self._work, self._number, self._result = work, work.number, None
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._result is not None or self._error)
            return self._error or self._result

    async def next(self, after: int) -> Work | None:
        """The first work after a number; None when the run has ended."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: (
                    self._ended or (self._work is not None and self._number > after and self._result is None)
                )
            )
            return None if self._ended else self._work

    async def done(self, number: int, result: Any) -> None:
        """A learner brings the result of a work; a second one of the same work is ignored."""
        async with self._changed:
            if number == self._number and self._result is None:
                self._result = result
                self._changed.notify_all()

    async def fail(self, text: str) -> None:
        """The learners cannot go on."""
        async with self._changed:
            self._error = text
            self._changed.notify_all()

    async def end(self) -> None:
        """The run has ended."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()


class _LossOf(nn.Module):
    """A loss as the forward pass of a module, as distributed data parallel needs it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, loss: Loss[Any], decisions: IntArray) -> tuple[Tensor, Tensor]:
        """The mean loss of some decisions, and the metrics."""
        return loss(self.model, decisions)


class DistributedLearner(Learner[ModelT]):
    """One of several learners in a process group; see `Learner`."""

    def __init__(self, model: ModelT, config: SelfPlayConfig, device: torch.device) -> None:
        super().__init__(model, config, device, ThreadExecutor(1))
        self._shards = [self.model]
        self._size = dist.get_world_size()
        self._mine = np.array_split(np.arange(self.num_shards), self._size)[dist.get_rank()]
        self._parallel = DistributedDataParallel(_LossOf(self.model))

    def close(self) -> None:
        """Release the process group; it must be called before the group is destroyed.

        The gradients' reducer refers to the group. As its last owner it would wait for the group's threads
        with Python's lock held, and these wait for that lock.
        """
        del self._parallel

    def step(self, loss: Loss[ModelT], decisions: Decisions) -> Tensor:
        """Take one gradient step on the mean loss of a minibatch, together with the other learners."""
        assert not isinstance(decisions, Picked)  # a cluster plays on processors
        parts = np.array_split(decisions, self.num_shards)
        total: Tensor | None = None
        for number in self._mine:
            part = parts[number]
            weight = len(part) / len(decisions)
            last = number == self._mine[-1]
            with nullcontext() if last else self._parallel.no_sync():
                value, metrics = self._parallel(loss, part)
                # The mean over the processes is taken of the gradients, their sum is needed.
                torch.autograd.backward(value * weight * self._size)
            weighted = metrics.detach() * weight
            total = weighted if total is None else total + weighted
        assert total is not None  # there are at least as many shards as learners
        dist.all_reduce(total)
        self._apply_gradients()
        return total.cpu()


def learn_until_end(settings: dict[str, Any]) -> None:
    """In each process of Ray Train: learn what the mailbox gives out."""
    import ray
    import ray.train

    mailbox, identity = settings["mailbox"], settings["identity"]
    refusal = identity.refusal(ray.get_runtime_context().get_node_id())
    if refusal is not None:
        ray.get(mailbox.fail.remote(str(refusal)))
        return
    trainer_class: type[SelfPlayTrainer[Any]] = settings["trainer"]
    config: SelfPlayConfig = settings["config"]
    trainer_class.prepare_process(config)
    trainer = trainer_class(config)
    trainer.learner = learner = DistributedLearner(trainer.learner.model, config, trainer.device)
    rank, number = ray.train.get_context().get_world_rank(), -1
    while (work := ray.get(mailbox.next.remote(number))) is not None:
        number = work.number
        trainer.iteration, trainer.num_decisions = work.iteration, work.num_decisions
        trainer.learner.restore(copy.deepcopy(work.state))
        metrics = trainer.learn(join([unpack(packed) for packed in work.packed]))
        if rank == 0:
            ray.get(mailbox.done.remote(number, (metrics, on_cpu(learner.state()))))
    learner.close()


def on_cpu(value: Any) -> Any:
    """A state with its tensors on the CPU."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {key: on_cpu(inner) for key, inner in value.items()}
    return [on_cpu(inner) for inner in value] if isinstance(value, list) else value


def run_learners(settings: dict[str, Any], num_learners: int, use_gpu: bool, folder: str) -> None:
    """In a task: let Ray Train run the learners until the end, and start them again when one is lost."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    TorchTrainer(
        learn_until_end,
        train_loop_config=settings,
        scaling_config=ScalingConfig(num_workers=num_learners, use_gpu=use_gpu),
        run_config=RunConfig(
            name="learners", storage_path=folder, failure_config=FailureConfig(max_failures=-1)
        ),
    ).fit()


class Learners:
    """The learners of a run, for the trainer's process.

    Args:
        mailbox: handle of the `Mailbox`.
    """

    def __init__(self, mailbox: Any) -> None:
        self._mailbox = mailbox
        self._number = 0

    @classmethod
    @contextmanager
    def started(cls, trainer: SelfPlayTrainer[Any], identity: Identity) -> Iterator[Learners]:
        """Start the learners of a trainer's settings; they end with the block."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        config = trainer.config
        mailbox = ray.remote(Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()
        settings = {
            "mailbox": mailbox,
            "identity": identity,
            "trainer": type(trainer),
            "config": config,
        }
        with tempfile.TemporaryDirectory(prefix="tienlen-learners-") as folder:
            running = (
                ray.remote(run_learners)
                .options(num_cpus=0, max_retries=0, scheduling_strategy=here)
                .remote(settings, config.learners, trainer.device.type == "cuda", folder)
            )
            learners = cls(mailbox)
            try:
                yield learners
            finally:
                ray.get(mailbox.end.remote())
                ray.wait([running], timeout=20)

    def learn(self, trainer: SelfPlayTrainer[Any], packed: Sequence[PackedTrajectories]) -> dict[str, float]:
        """Let the learners learn an iteration; its metrics. The trainer gets the new weights.

        Raises:
            NodeRefusedError: a node of a learner has other code, versions or files.
            RunError: the learners failed.
        """
        import ray

        work = Work(
            self._number,
            trainer.iteration,
            trainer.num_decisions,
            on_cpu(trainer.learner.state()),
            list(packed),
        )
        self._number += 1
        result = ray.get(self._mailbox.learn.remote(work))
        if isinstance(result, str):
            raise NodeRefusedError(f"a learner cannot work: {result}")
        metrics, state = result
        trainer.learner.restore(state)
        if not metrics:
            raise RunError("the learners returned nothing")
        found: dict[str, float] = metrics
        return found
