"""A game that is registered from outside gets every environment, and pictures, without a line of its own."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.games import copies, play
from tests.high_card import HIGH_CARD, HighCardRules
from tests.tienlen_env.envs.test_pettingzoo import api_test, render_test, seed_test, with_marks
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.pettingzoo import GameEnv, make_aec
from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv
from tienlen_env.games.common.cards import CARD_TEXT, card_ids
from tienlen_env.games.registry import register
from tienlen_env.games.thirteens.cards import format_cards as with_jokers
from tienlen_env.rendering import PlainView, render_ansi, render_rgb, render_svg
from tienlen_env.single.painter import RENDER_MODES

register(HIGH_CARD)
PLAYERS = [2, 3, 7]


def rules(num_players: int = 3) -> HighCardRules:
    return HighCardRules(num_players=num_players)


@with_marks
@pytest.mark.parametrize("num_players", PLAYERS)
@pytest.mark.parametrize("reward", HIGH_CARD.rewards)
def test_pettingzoo(num_players: int, reward: str) -> None:
    api_test(make_aec("high_card", num_players=num_players, reward=reward), num_cycles=300)
    api_test(GameEnv(rules(num_players), reward=reward), num_cycles=300)
    seed_test(lambda: make_aec("high_card", num_players=num_players), num_cycles=20)


def test_pettingzoo_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    def make(**more: Any) -> Any:
        return make_aec("high_card", **more)

    make.metadata = GameEnv("high_card").metadata  # type: ignore[attr-defined]
    assert make.metadata["name"] == "high_card"  # type: ignore[attr-defined]
    render_test(make, custom_tests={"svg": lambda text: text.lstrip().startswith("<svg")})
    assert "player_0" in capsys.readouterr().out


@copies
def test_pettingzoo_copies(duplicate: Any) -> None:
    env = make_aec("high_card", render_mode="ansi")
    env.reset(seed=1)
    play(env, np.random.default_rng(0), max_steps=4)
    other = duplicate(env)
    assert other.render() == env.render()
    assert play(env, np.random.default_rng(1)) == play(other, np.random.default_rng(1))


@pytest.mark.parametrize("num_players", PLAYERS)
def test_gymnasium(num_players: int) -> None:
    check_env(OneSeatEnv("high_card", num_players=num_players), skip_render_check=True)


def test_gymnasium_rendering() -> None:
    for mode in RENDER_MODES[1:]:
        env = OneSeatEnv("high_card", RandomAgent(), render_mode=mode)
        env.reset(seed=0)
        assert env.render() is not None


def test_batched() -> None:
    rng = np.random.default_rng(0)
    for env in (OneSeatVectorEnv(6, rules="high_card", num_players=4), SelfPlayEnv("high_card", 6)):
        env.reset(seed=0)
        batch = env.batch if isinstance(env, SelfPlayEnv) else env.games.batch
        ended = 0
        other = copy.deepcopy(env)
        for _ in range(40):
            actions = batch.sample(rng)
            after, theirs = env.step(actions), other.step(actions)
            np.testing.assert_array_equal(after[0], theirs[0])
            ended += int((after.terminations if isinstance(env, SelfPlayEnv) else after[2]).sum())
        assert ended > 6
        assert env.text_to_action("2h") == 51
        assert env.action_to_text(51) == "2h"


def test_stable_baselines3() -> None:
    pytest.importorskip("stable_baselines3")
    from tienlen_env.envs.sb3 import OneSeatVecEnv

    env = OneSeatVecEnv(8, rules=rules(5), seed=0)
    env.reset()
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(12):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        _, _, dones, infos = env.step(actions)
        ended += sum("episode" in info for info in infos)
        assert [("episode" in info) for info in infos] == dones.tolist()
    assert ended >= 16


# ------------------------------------------------------------ pictures


def plain(text: str) -> str:
    return re.sub(r"\033\[[0-9;]*m", "", text)


def shown(svg: str) -> list[str]:
    groups = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}g")
    return sorted(card for group in groups if (card := group.get("data-card")))


@pytest.mark.parametrize("num_players", PLAYERS)
def test_pictures_follow_the_game(num_players: int) -> None:
    env = GameEnv(rules(num_players), render_mode="svg")
    env.reset(seed=2)
    state = env.batch.state
    while env.agents and not env.terminations[env.agent_selection]:
        mover = env.agent_selection
        action = int(env.last()[0]["action_mask"].argmax())
        env.step(action)
        hands = [CARD_TEXT[card] for hand in state.hands[0].tolist() for card in card_ids(hand)]
        assert shown(env.render()) == sorted([*hands, CARD_TEXT[action]])
        text = plain(render_ansi(env._painter.view()))
        assert f"{mover} · " in text or mover in text
        assert max(map(len, text.splitlines())) <= 80
    assert "game over" in text
    assert render_rgb(env._painter.view(), 192).shape == (144, 192, 3)


def test_a_plain_view_hides_hands_and_checks_its_fields() -> None:
    env = GameEnv("high_card")
    env.reset(seed=0)
    view = env._painter.view([1])
    assert isinstance(view, PlainView)
    other = replace(view, hands=(0b11111 << 40, view.hands[1], 0b11111 << 30))
    assert render_svg(view) == render_svg(other)
    assert render_ansi(view) == render_ansi(other)
    assert shown(render_svg(view)) == sorted(CARD_TEXT[card] for card in card_ids(view.hands[1]))
    joker = replace(view, table_cards=1 << 53, owner=2, table_text="a joker", format_cards=with_jokers)
    assert "*2" in shown(render_svg(joker))
    assert "Jo" in plain(render_ansi(joker))
    assert "a joker" in plain(render_ansi(joker))
    for field, value in {"turn": 3, "owner": -2, "scores": (0,), "places": (0, 1, 5)}.items():
        with pytest.raises(ValueError, match=field):
            replace(view, **{field: value})
