"""A simulation of training on clusters of any size, from times and message sizes measured on one machine.

It follows every job of some iterations: the weights go out, every actor plays, the results arrive over the
learner's link one after the other, the learner unpacks them and takes its gradient steps. Nothing else limits
a run: a task of Ray costs the driver a fixed time, and nodes have one link each.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Measured(NamedTuple):
    """Times and sizes of one machine.

    Attributes:
        job_decisions: decisions of one job.
        play_seconds: time in which an actor plays and packs a job, on a processor of its own.
        play_spread: standard deviation of that time as a share of it.
        task_seconds: time of the driver for a task without content.
        trip_seconds: time from the driver to an actor and back that a job's messages need beside playing.
        unpack_seconds: time to unpack and join a job.
        value_seconds: time of a learner for what it does once with every decision: tensors and values.
        step_seconds: time of a learner for the gradient steps of a job's decisions, all epochs.
        steps: gradient steps for a job's decisions, all epochs.
        job_bytes: of a packed job.
        weight_bytes: of the weights that a node gets in an iteration.
        gradient_bytes: of one gradient.
    """

    job_decisions: float
    play_seconds: float
    play_spread: float
    task_seconds: float
    trip_seconds: float
    unpack_seconds: float
    value_seconds: float
    step_seconds: float
    steps: float
    job_bytes: float
    weight_bytes: float
    gradient_bytes: float


@dataclass(frozen=True)
class Cluster:
    """A cluster and how a run uses it.

    Attributes:
        nodes: number of machines.
        actors_per_node: jobs that a node plays at a time; an iteration has one job for each.
        learners: processes that share the gradient steps.
        staleness: see `SelfPlayConfig`.
        learner_speed: speed of a learner relative to the measured one, above 1 for a GPU.
        processors: of all nodes together if they share a machine; None if each actor has its own.
        bytes_per_second: of each node's link.
        latency: seconds of a message.
    """

    nodes: int
    actors_per_node: int = 16
    learners: int = 1
    staleness: int = 0
    learner_speed: float = 1.0
    processors: int | None = None
    bytes_per_second: float = 1.25e9  # 10 Gbit/s
    latency: float = 5e-4


class Simulated(NamedTuple):
    """The result of a simulation.

    Attributes:
        decisions_per_second: of the run.
        playing: share of the time in which an actor plays, the mean of all.
        learning: share of the time in which the learners take gradient steps and compute values.
        unpacking: share of the time in which the learner unpacks and starts tasks.
        receiving: share of the time in which the learner's link receives.
    """

    decisions_per_second: float
    playing: float
    learning: float
    unpacking: float
    receiving: float

    @property
    def limit(self) -> str:
        """What is busy most of the time."""
        shares = self._asdict()
        del shares["decisions_per_second"]
        return max(shares, key=lambda name: shares[name])


def simulate(measured: Measured, cluster: Cluster, *, iterations: int = 40, seed: int = 0) -> Simulated:
    """Follow the jobs of some iterations.

    Args:
        measured: times and sizes of one machine.
        cluster: the cluster.
        iterations: how many, at least 5; the first fifth does not count.
        seed: of the times of the jobs.
    """
    m, c = measured, cluster
    rng = np.random.default_rng(seed)
    num_jobs = c.nodes * c.actors_per_node
    slower = 1.0 if c.processors is None else max(1.0, num_jobs / c.processors)
    broadcast = math.ceil(math.log2(c.nodes + 1)) * (m.weight_bytes / c.bytes_per_second + c.latency)
    reduce = 2 * (c.learners - 1) / c.learners * m.gradient_bytes / c.bytes_per_second
    reduce += 2 * c.latency * (c.learners > 1)
    # Further learners get the packed jobs from the first and unpack all of them as well.
    copies = num_jobs * (m.job_bytes / c.bytes_per_second + m.unpack_seconds) * (c.learners > 1)
    own = num_jobs * (m.value_seconds + m.step_seconds / c.learners) / c.learner_speed
    learn = copies + own + num_jobs * m.steps * reduce

    free = np.zeros(num_jobs)  # when each actor has ended its last job
    sent: deque[float] = deque()  # when the jobs of the next iterations reach the nodes
    driver = link = 0.0  # when they are free
    marks = []  # the end of each iteration, and the seconds that the actors played in it
    for _ in range(iterations):
        while len(sent) <= c.staleness:
            driver += num_jobs * m.task_seconds
            sent.append(driver + broadcast)
        spread = np.maximum(0.3, 1 + m.play_spread * rng.standard_normal(num_jobs))
        seconds = m.play_seconds * slower * spread + m.trip_seconds
        free = np.maximum(free, sent.popleft()) + seconds
        for end in np.sort(free):
            link = max(link, float(end) + c.latency) + m.job_bytes / c.bytes_per_second
            driver = max(driver, link) + m.unpack_seconds
        driver += learn
        marks.append((driver, float(seconds.mean())))
    first = iterations // 5
    counted = iterations - first
    elapsed = marks[-1][0] - marks[first - 1][0]
    return Simulated(
        counted * num_jobs * m.job_decisions / elapsed,
        sum(played for _, played in marks[first:]) / elapsed,
        counted * learn / elapsed,
        counted * num_jobs * (m.unpack_seconds + m.task_seconds) / elapsed,
        counted * num_jobs * m.job_bytes / c.bytes_per_second / elapsed,
    )
