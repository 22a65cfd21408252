"""The simulation of clusters: what must be true of it whatever was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tienlen_train.cluster.simulation import Cluster, Measured, simulate

MEASURED = Measured(
    job_decisions=3500,
    play_seconds=0.3,
    play_spread=0.1,
    task_seconds=0.001,
    trip_seconds=0.0,
    unpack_seconds=0.04,
    value_seconds=0.05,
    step_seconds=0.6,
    steps=2,
    job_bytes=470_000,
    weight_bytes=4_700_000,
    gradient_bytes=2_900_000,
)


def test_one_actor_and_an_idle_network_add_up():
    one = Cluster(1, actors_per_node=1, bytes_per_second=1e15, latency=0)
    found = simulate(MEASURED._replace(play_spread=0), one)
    assert found.decisions_per_second == pytest.approx(3500 / (0.001 + 0.3 + 0.04 + 0.65))
    assert found.playing == pytest.approx(0.3 / 0.991)
    assert found.limit == "learning"


def test_no_resource_is_busy_more_than_all_the_time():
    for nodes in (1, 3, 30):
        for staleness in (0, 1, 3):
            for speed in (1, 100):
                found = simulate(MEASURED, Cluster(nodes, staleness=staleness, learner_speed=speed))
                assert found.playing <= 1.001
                assert found.learning + found.unpacking <= 1.001
                assert found.receiving <= 1.001


def test_staleness_hides_the_time_of_playing():
    fast = Cluster(1, actors_per_node=4)
    now, stale = simulate(MEASURED, fast), simulate(MEASURED, replace(fast, staleness=1))
    assert stale.decisions_per_second > 1.05 * now.decisions_per_second
    learner_alone = 3500 / (0.001 + 0.04 + 0.65)
    assert stale.decisions_per_second == pytest.approx(learner_alone, rel=0.05)


def test_actors_that_share_processors_play_slower():
    slow = MEASURED._replace(step_seconds=0.0, value_seconds=0.0, unpack_seconds=0.0)
    own = simulate(slow, Cluster(3, actors_per_node=1))
    shared = simulate(slow, Cluster(3, actors_per_node=1, processors=1))
    assert own.decisions_per_second == pytest.approx(3 * shared.decisions_per_second, rel=0.15)


def test_more_learners_help_until_their_copies_limit():
    rates = [
        simulate(MEASURED, Cluster(4, learners=learners)).decisions_per_second for learners in (1, 4, 1000)
    ]
    assert rates[1] > 2 * rates[0]
    assert rates[2] < 3500 / (2 * 0.04)  # every learner unpacks every job
