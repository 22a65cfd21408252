"""Infos have the same keys and shapes at every step and for every agent: libraries stack them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from tienlen_env import tienlen_v1
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.pettingzoo import GameEnv, make_aec
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.games.registry import PRESETS, has_payments

# A test may have registered a game of its own.
NAMES = [name for name in PRESETS if name != "high_card"]
each_preset = pytest.mark.parametrize("name", NAMES)


def form(info: dict[str, Any]) -> dict[str, Any]:
    return {name: (np.asarray(value).dtype, np.shape(value)) for name, value in info.items()}


def first_form(info: dict[str, Any]) -> dict[str, Any]:
    found = form(info)
    assert not any(kind.hasobject for kind, _ in found.values())
    return found


def legal(rng: np.random.Generator, mask: Any) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


@each_preset
@pytest.mark.parametrize("make", [GameEnv, make_aec])
def test_pettingzoo(make: Any, name: str) -> None:
    env, rng = (
        make(name, reward="payments" if has_payments(PRESETS[name]) else "points"),
        np.random.default_rng(1),
    )
    env.reset(seed=1)
    expected = first_form(env.infos["player_0"])
    assert list(expected) == ["place", "score", "units"]
    for _ in range(2):
        env.reset()
        assert list(env.infos) == env.possible_agents
        while not env.terminations[env.agent_selection]:
            assert set(map(str, env.infos.values())) == {"{'place': -1, 'score': 0, 'units': 0}"}
            env.step(legal(rng, env.observe(env.agent_selection)["action_mask"]))
        assert [form(info) for info in env.infos.values()] == [expected] * env.max_num_agents
        assert min(info["place"] for info in env.infos.values()) == 0
        assert [info["units"] for info in env.infos.values()] == env.unwrapped.batch.balances[0].tolist()
        if has_payments(PRESETS[name]):
            assert {agent: info["units"] for agent, info in env.infos.items()} == env.rewards


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # PettingZoo says that an illegal move ends a game
def test_pettingzoo_after_an_illegal_move() -> None:
    env = tienlen_v1.env()
    env.reset(seed=1)
    env.step(int(np.argmin(env.observe(env.agent_selection)["action_mask"])))
    assert all(env.terminations.values())
    assert set(map(str, env.infos.values())) == {"{'place': -1, 'score': 0, 'units': 0}"}


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("legal", [True, False])
def test_the_loop_of_the_readme_names_no_place_that_there_is_not(
    legal: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    mask = 'observation["action_mask"]'
    exec(code if legal else code.replace(mask, f"1 - {mask}"), {})
    places = re.findall(r"took place (\w+)", capsys.readouterr().out)
    assert sorted(places) == (["1", "2", "3", "4"] if legal else ["none"] * 4)


@each_preset
def test_pettingzoo_parallel(name: str) -> None:
    env, rng = turn_based_aec_to_parallel(make_aec(name)), np.random.default_rng(1)
    seen, infos = env.reset(seed=1)
    expected = first_form(infos["player_0"])
    while env.agents:
        assert [form(info) for info in infos.values()] == [expected] * len(infos)
        actions = {
            agent: legal(rng, mask) if (mask := seen[agent]["action_mask"]).any() else 0
            for agent in env.agents
        }
        seen, _, over, _, infos = env.step(actions)
        for info in infos.values():
            info.pop("active_agent", None)  # of PettingZoo's wrapper, except at the end
    assert [form(info) for info in infos.values()] == [expected] * len(infos)
    assert all(over.values())
    assert min(info["place"] for info in infos.values()) == 0


@each_preset
def test_gymnasium(name: str) -> None:
    env, rng = OneSeatEnv(name), np.random.default_rng(1)
    _, info = env.reset(seed=1)
    expected = first_form(info)
    assert list(expected) == ["action_mask", "seat", "illegal", "place", "units"]
    for _ in range(2):
        _, info = env.reset()
        over = False
        while not over:
            assert (info["place"], info["units"]) == (-1, 0)
            _, _, over, _, info = env.step(legal(rng, info["action_mask"]))
            assert form(info) == expected
        assert info["place"] >= 0
        assert info["units"] == env.games.batch.balances[0, info["seat"]]


@each_preset
@pytest.mark.parametrize("mode", AutoresetMode)
def test_vector(mode: AutoresetMode, name: str) -> None:
    envs, rng = OneSeatVectorEnv(3, rules=name, autoreset_mode=mode), np.random.default_rng(1)
    _, infos = envs.reset(seed=1)
    expected = first_form(infos)
    over, num_ended = np.zeros(3, np.bool_), 0
    for _ in range(40):
        if mode is AutoresetMode.DISABLED and over.any():
            _, infos = envs.reset(options={"reset_mask": over})
            assert form(infos) == expected
        actions = [legal(rng, mask) for mask in envs.action_masks()]
        _, _, over, _, infos = envs.step(actions)
        num_ended += over.sum()
        # As Gymnasium has it, the ends are apart where a new game begins in the same step.
        ends = {key for key in infos if "final" in key}
        is_apart = mode is AutoresetMode.SAME_STEP and over.any()
        assert ends == ({"final_obs", "_final_obs", "final_info", "_final_info"} if is_apart else set())
        assert form({key: value for key, value in infos.items() if key not in ends}) == expected
        if is_apart:
            assert form(infos["final_info"]) == expected
    assert num_ended


def test_what_gymnasium_stacks_is_what_the_vector_environment_says() -> None:
    settings = {"rules": "south", "opponents": "random", "reward": "payments"}
    made = [lambda: gymnasium.make("tienlen_env/TienLen-v1", **settings)] * 2
    _, stacked = gymnasium.vector.SyncVectorEnv(made).reset(seed=1)
    _, ours = gymnasium.make_vec("tienlen_env/TienLen-v1", num_envs=2, **settings).reset(seed=1)
    assert form(stacked) == form(ours)
