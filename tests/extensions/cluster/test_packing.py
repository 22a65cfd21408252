"""Packed trajectories: the same bits in few bytes."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tienlen_agents.networks.network import NetworkConfig
from tienlen_cluster.training import PackingError, pack, unpack
from tienlen_env.games.registry import get_rules
from tienlen_train.network import ActionNetwork
from tienlen_train.rollout import PolicyWeights, RolloutJob, Trajectories, join, rollout

MAX_BYTES = 200  # a decision


def a_job(rules_name: str, num_games: int, seed: int = 1, **options) -> RolloutJob:
    rules = get_rules(rules_name)
    config = NetworkConfig.of(rules, state_width=16, action_width=8)
    network = ActionNetwork(config)
    return RolloutJob(
        rules=rules,
        keys=np.random.default_rng(seed).integers(-(2**63), 2**63, num_games, np.int64),
        seat_policies=np.zeros((num_games, rules.num_players), np.int64),
        policies=(PolicyWeights(0, config, network.state_dict()),),
        seed=(seed,),
        **options,
    )


def assert_same(one: Trajectories, other: Trajectories) -> None:
    for name in (field.name for field in fields(Trajectories) if field.name != "inputs"):
        left, right = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert (left.dtype, left.shape) == (right.dtype, right.shape), name
        assert left.tobytes() == right.tobytes(), name
    for name, left, right in zip(one.inputs._fields, one.inputs, other.inputs, strict=True):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), name
        assert left.tobytes() == right.tobytes(), name
        assert right.flags.c_contiguous, name
        assert right.flags.writeable, name


@pytest.mark.parametrize("rules", ["cardgames", "thirteens"])
@pytest.mark.parametrize("critic", ["hands", "own"])
def test_nothing_is_lost(rules, critic):
    played = rollout(a_job(rules, 40, critic=critic))
    assert_same(played, unpack(pack(played)))


def test_estimates_of_every_action_are_sent():
    taught = {"teachers": ("greedy",), "teacher_share": 0.3}
    played = rollout(a_job("cardgames", 20, with_action_values=True, with_winning_actions=True, **taught))
    assert played.action_values.size == played.winning_actions.size == len(played.inputs.action)
    assert 0 < played.winning_actions.mean() < 1
    assert 0 < played.teacher_probabilities.mean() < 1
    assert_same(played, unpack(pack(played)))


@given(st.integers(0, 2**31), st.integers(1, 6))
@settings(max_examples=10, deadline=None)
def test_any_few_games(seed, num_games):
    played = rollout(a_job("cardgames", num_games, seed))
    assert_same(played, unpack(pack(played)))


def test_no_decisions():
    job = a_job("cardgames", 3)
    job = replace(job, seat_policies=np.ones((3, 4), np.int64), opponents=("random",), opponent_seeds=(1,))
    played = rollout(job)
    assert len(played) == 0
    assert_same(played, unpack(pack(played)))


def test_at_most_200_bytes_a_decision():
    played = rollout(a_job("cardgames", 256, critic="hands"))
    packed = pack(played)
    assert packed.num_decisions == len(played) > 5_000
    assert packed.num_bytes / len(played) <= MAX_BYTES


def test_joined_rollouts_are_refused():
    played = rollout(a_job("cardgames", 3))
    with pytest.raises(PackingError, match="one rollout"):
        pack(join([played, played]))


def test_damage_is_found():
    packed = pack(rollout(a_job("cardgames", 3)))
    observation = packed.columns["observation"]
    damaged = replace(packed, columns={**packed.columns, "observation": replace(observation, data=b"12345")})
    with pytest.raises(PackingError, match="damaged"):
        unpack(damaged)
