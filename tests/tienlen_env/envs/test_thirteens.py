"""Thirteens' environments, beside what test_aec tries of both games; its other adapters, and the arena."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tienlen_agents
from tests.games import SOME_THIRTEENS, THIRTEENS, Settings, choose
from tienlen_agents.arena.match import compare, match
from tienlen_agents.arena.result import PLACE_SHARE_DENOMINATOR, place_shares
from tienlen_env import thirteens_v0
from tienlen_env.engine.agent import RandomAgent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv
from tienlen_env.errors import IllegalPlayError, RulesError, WrongGameError
from tienlen_env.games.registry import PRESETS, game_of, get_rules
from tienlen_env.games.thirteens import game as definition
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.tienlen.rules import NAMED

# ------------------------------------------------------------ conventions


@pytest.mark.parametrize("episode", ["round", "game"])
@pytest.mark.parametrize("settings", SOME_THIRTEENS)
def test_rewards_add_up_to_the_scores(settings: Settings, episode: Any) -> None:
    """RULES.md 8.8, 8.9 and the table of the environment page."""
    rng = np.random.default_rng(1)
    for reward in THIRTEENS.rewards:
        env = thirteens_v0.env(episode=episode, target=15, reward=reward, **settings)
        for seed in range(5):
            env.reset(seed=seed)
            total = dict.fromkeys(env.possible_agents, 0.0)
            scores = {}
            for agent in env.agent_iter():
                observation, earned, termination, _, info = env.last()
                total[agent] += earned
                if termination:
                    scores[agent] = info["score"]
                env.step(None if termination else choose(rng, observation))
            best, mean = max(scores.values()), sum(scores.values()) / len(scores)
            firsts = [agent for agent, score in scores.items() if score == best]
            for agent, score in scores.items():
                if reward == "points":
                    assert total[agent] == score
                elif reward == "zero_sum":
                    # A thousandth at most is rounded off at each of the payments to all seats.
                    assert total[agent] == pytest.approx(score - mean, abs=1)
                else:
                    assert total[agent] == pytest.approx(2 / len(firsts) - 1 if agent in firsts else -1)
            if reward == "zero_sum":
                assert sum(total.values()) == 0
            if episode == "game":
                assert best >= 15
                assert len(firsts) == 1


def test_illegal_action_leaves_raw_env_as_it_was() -> None:
    env = thirteens_v0.raw_env()
    with pytest.raises(IllegalPlayError, match="no game is running"):
        env.step(0)
    env.reset(seed=0)
    before = env.batch.kernel_arrays.rows[0].copy()
    hand = int(env.batch.state.hands[0, env.batch.state.turn[0]])
    absent = next(card for card in range(53) if not hand >> card & 1)
    for action, message in [
        (absent, r"8\.5; trick: none"),
        (53, "outside"),
        (-1, "outside"),
        ("Ks", "not an integer"),
    ]:
        with pytest.raises(IllegalPlayError, match=message):
            env.step(action)
        np.testing.assert_array_equal(env.batch.kernel_arrays.rows[0], before)


@pytest.mark.parametrize("rules", ["thirteens", ThirteensRules()], ids=["name", "rules"])
@pytest.mark.parametrize(
    ("setting", "value"),
    [("num_players", 3), ("jokers", 2), ("melding", "manual"), ("target", 12)],
)
def test_settings_replace_fields_of_the_rules(rules: Any, setting: str, value: Any) -> None:
    """They were ignored where rules were given."""
    assert getattr(get_rules(rules, **{setting: value}), setting) == value
    assert getattr(get_rules(rules, **{setting: None}), setting) == getattr(ThirteensRules(), setting)
    for made in (
        thirteens_v0.env(rules, **{setting: value}).unwrapped,
        thirteens_v0.raw_env(rules, **{setting: value}),
        gymnasium.make("tienlen_env/Thirteens-v1", rules=rules, **{setting: value}).unwrapped.games,
        gymnasium.make_vec("tienlen_env/Thirteens-v1", rules=rules, **{setting: value}).unwrapped.games,
    ):
        assert getattr(made.batch.rules, setting) == value


def test_settings_that_exclude_one_another_are_refused() -> None:
    assert get_rules("thirteens", dummy=True, num_players=3).dummy
    assert not get_rules("thirteens_dummy", dummy=False, num_players=5).dummy
    with pytest.raises(RulesError, match="dummy"):
        get_rules("thirteens_dummy", num_players=4)
    with pytest.raises(RulesError, match="dummy"):
        thirteens_v0.env(dummy=True)
    with pytest.raises(TypeError, match="player_count"):
        thirteens_v0.env(player_count=4)
    with pytest.raises(RulesError, match="rules=5"):
        thirteens_v0.env(5)


# ------------------------------------------------------------ one mechanism for both games


def test_a_game_is_found_by_its_rules() -> None:
    for name in PRESETS:
        rules = get_rules(name)
        assert rules.name == name
        assert Batch(name).game is game_of(rules)
        assert (game_of(rules) is definition.THIRTEENS) == (name in definition.THIRTEENS.presets)
        assert (game_of(rules).name == "tienlen") == (name in NAMED)
    assert get_rules("thirteens", 6).num_players == 6
    with pytest.raises(RulesError, match="thirteens"):
        get_rules("whist")
    with pytest.raises(RulesError, match="rules="):
        get_rules(3)  # type: ignore[arg-type]


def test_the_engine_refuses_what_is_not_legal() -> None:
    batch = Batch("thirteens", 2)
    batch.reset(1)
    before = batch.kernel_arrays.rows.copy()
    bad = batch.sample(np.random.default_rng(0))
    bad[1] = int(np.flatnonzero(batch.action_mask()[1] == 0)[0])
    with pytest.raises(IllegalPlayError, match="game 1"):
        batch.step(bad)
    np.testing.assert_array_equal(batch.kernel_arrays.rows, before)


class OnlyTienLen(RandomAgent):
    plays = "tienlen"


def test_agents_of_another_game_are_refused() -> None:
    with pytest.raises(WrongGameError, match="plays tienlen, not thirteens"):
        OneSeatGames("thirteens", 2, opponents=OnlyTienLen())
    OneSeatGames("cardgames", 2, opponents=OnlyTienLen())
    batch = Batch("thirteens", 2)
    batch.reset(0)
    for name in ("table_action", "table_cards", "table_owner"):
        with pytest.raises(WrongGameError, match="thirteens"):
            getattr(View(batch), name)


@pytest.mark.parametrize("settings", SOME_THIRTEENS)
def test_a_view_holds_only_what_its_player_knows(settings: Settings) -> None:
    """Deal the cards that a seat cannot see anew among the others: its view is the same."""
    batch = Batch(ThirteensRules(**settings), 32)
    batch.reset(5)
    rng = np.random.default_rng(5)
    while (batch.state.turn >= 0).all():
        other = batch.copy()
        for game, seat in enumerate(batch.state.turn.tolist()):
            hidden = [(s, other.state.hands) for s in range(batch.num_players) if s != seat]
            masks = [int(hands[game, s]) for s, hands in hidden] + [int(other.state.dummy[game])]
            cards = [card for card in range(54) if sum(masks) >> card & 1]
            rng.shuffle(cards)
            for i, mask in enumerate(masks):
                new = sum(1 << card for card in cards[: mask.bit_count()])
                cards = cards[mask.bit_count() :]
                if i < len(hidden):
                    other.state.hands[game, hidden[i][0]] = new
                else:
                    other.state.dummy[game] = new
            other.state.key[game] = 0
        mine, theirs = View(batch), View(other)
        np.testing.assert_array_equal(mine.observation, theirs.observation)
        np.testing.assert_array_equal(mine.public_rows, theirs.public_rows)
        np.testing.assert_array_equal(mine.public_state.turn, mine.seat)
        for _ in range(7):
            batch.step(batch.sample(rng))
            if (batch.state.turn < 0).any():
                break


# ------------------------------------------------------------ the other adapters


@pytest.mark.parametrize("settings", THIRTEENS.variants, ids=str)
def test_gymnasium_checker(settings: Settings) -> None:
    env = gymnasium.make("tienlen_env/Thirteens-v1", **settings)
    check_env(env.unwrapped, skip_render_check=True)


def test_gymnasium_checker_with_rendering() -> None:
    check_env(gymnasium.make("tienlen_env/Thirteens-v1", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("settings", SOME_THIRTEENS)
def test_one_seat_episodes_earn_the_score(settings: Settings, skip_forced: bool) -> None:
    env = gymnasium.make("tienlen_env/Thirteens-v1", skip_forced=skip_forced, **settings)
    rng = np.random.default_rng(0)
    for seed in range(8):
        _, info = env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            mask = info["action_mask"]
            _, reward, terminated, _, info = env.step(int(rng.choice(np.flatnonzero(mask))))
            total += float(reward)
        state = env.unwrapped.games.batch.state  # type: ignore[attr-defined]
        assert total == state.scores[0, info["seat"]]
        assert info["place"] == state.places[0, info["seat"]]


def test_vector_environment() -> None:
    envs = gymnasium.make_vec(
        "tienlen_env/Thirteens-v1",
        num_envs=16,
        vectorization_mode="vector_entry_point",
        num_players=3,
        dummy=True,
    )
    rng = np.random.default_rng(0)
    _, infos = envs.reset(seed=0)
    ended = 0
    for _ in range(60):
        masks = infos["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observation, _, dones, _, infos = envs.step(actions)
        assert envs.observation_space.contains(observation)
        ended += int(dones.sum())
    assert ended > 30


def test_the_adapters_play_any_game_by_its_rules() -> None:
    rng = np.random.default_rng(0)
    self_play = SelfPlayEnv("thirteens", 8, num_players=5)
    decisions = self_play.reset(0)
    dealt = np.zeros((8, 5))
    for _ in range(200):
        decisions = self_play.step([rng.choice(np.flatnonzero(mask)) for mask in decisions.action_mask])
        dealt += decisions.rewards
    assert (dealt > 0).any()
    envs = OneSeatVectorEnv(4, rules="thirteens_manual", num_players=7)
    assert envs.reset(seed=1)[0].shape == (4, envs.games.batch.observation_size)


def test_stable_baselines3() -> None:
    pytest.importorskip("stable_baselines3")
    from tienlen_env.envs.sb3 import OneSeatVecEnv

    venv = OneSeatVecEnv(8, rules="thirteens", reward="zero_sum", seed=0)
    venv.reset()
    rng = np.random.default_rng(0)
    ended = []
    for _ in range(40):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in venv.action_masks()])
        _, _, dones, infos = venv.step(actions)
        ended += [info["episode"]["l"] for info, done in zip(infos, dones, strict=True) if done]
    assert len(ended) > 10
    assert max(ended) <= 13


# ------------------------------------------------------------ the arena


def test_shared_places_are_shared() -> None:
    places = np.array([[0, 0, 2], [1, 0, 1], [0, 0, 0], [2, 1, 0]])
    whole = place_shares(places) / PLACE_SHARE_DENOMINATOR
    half, third = 0.5, 1 / 3
    np.testing.assert_allclose(whole[0], [[half, half, 0], [half, half, 0], [0, 0, 1]])
    np.testing.assert_allclose(whole[1], [[0, half, half], [1, 0, 0], [0, half, half]])
    np.testing.assert_allclose(whole[2], np.full((3, 3), third))
    np.testing.assert_allclose(whole[3], [[0, 0, 1], [0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("players", [3, 5, 7])
def test_the_arena_compares_equals_exactly(players: int) -> None:
    """Duplicate deals give identical agents the same score: the mean of all seats, and 1/P first places."""
    result = match(First(), First(), rules="thirteens", num_players=players, num_deals=20)
    for score in result.scores:
        assert score.points.mean == pytest.approx(result.parity_points)
        assert score.first.mean == pytest.approx(1 / players)
        assert score.first.half_width == pytest.approx(0, abs=1e-9)
        assert sum(place.mean for place in score.places) == pytest.approx(1)


class First(RandomAgent):
    """The legal action of the lowest id."""

    def act(self, view: View) -> np.ndarray:
        return view.action_mask.argmax(axis=1)


def test_the_arena_refuses_agents_of_another_game() -> None:
    with pytest.raises(WrongGameError, match="'greedy' plays tienlen"):
        match(tienlen_agents.load("greedy"), tienlen_agents.load("random"), rules="thirteens", num_deals=2)


def test_the_arena_writes_its_report(tmp_path: Path) -> None:
    report = compare(First(), [RandomAgent()], rules="thirteens", num_players=7, num_deals=4)
    assert report.to_dict()["tables"][0]["rules"]["name"] == "thirteens"
    assert {path.name for path in report.write(tmp_path)} == {
        "arena.json",
        "arena.csv",
        "arena.html",
    }
