"""Older versions of the environments keep the rules that their results are of."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import pettingzoo
import pytest

from tienlen_env import tienlen_v0, tienlen_v1
from tienlen_env.games.tienlen.rules import FOICICA, PRESETS

DIGEST_OF_V0 = "665d63f57cb94a3b"  # of `foicica`, when v0 was the only version


def test_v0_has_the_older_reading_of_foicica() -> None:
    old, new = tienlen_v0.raw_env(rules="foicica"), tienlen_v1.raw_env(rules="foicica")
    assert old.batch.rules.digest() == DIGEST_OF_V0 != new.batch.rules.digest()
    assert old.batch.rules == replace(FOICICA, rejoin_twos=False)
    assert new.batch.rules == FOICICA
    assert tienlen_v0.raw_env(FOICICA).batch.rules == FOICICA, "rules that are given stand for themselves"
    assert tienlen_v0.env("foicica", 3).unwrapped.batch.rules.num_players == 3


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "foicica"])
def test_all_other_presets_are_the_same_in_both(preset: str) -> None:
    seen = []
    for module in (tienlen_v0, tienlen_v1):
        env = module.env(rules=preset)
        env.reset(seed=3)
        observation = env.observe(env.agent_selection)
        seen.append((env.unwrapped.batch.rules, env.agent_selection, observation["observation"].tobytes()))
        assert env.metadata["name"] == module.__name__.rpartition(".")[2]
    assert seen[0] == seen[1]


@pytest.mark.filterwarnings("ignore:.*is out of date")
def test_the_ids_of_v0() -> None:
    if hasattr(pettingzoo, "make"):
        env = pettingzoo.make("aec", "tienlen_env/tienlen_v0", rules="foicica")
        assert env.unwrapped.batch.rules.digest() == DIGEST_OF_V0
    one = gymnasium.make("tienlen_env/TienLen-v0", rules="foicica").unwrapped
    assert one.games.batch.rules.digest() == DIGEST_OF_V0  # type: ignore[attr-defined]
    several = gymnasium.make_vec("tienlen_env/TienLen-v0", num_envs=2, rules="foicica")
    assert several.games.batch.rules.digest() == DIGEST_OF_V0  # type: ignore[attr-defined]
    _, infos = several.reset(seed=1)
    assert np.asarray(infos["action_mask"]).shape[0] == 2
    newest = gymnasium.make("tienlen_env/TienLen-v1", rules="foicica").unwrapped
    assert newest.games.batch.rules == FOICICA  # type: ignore[attr-defined]
