"""Thirteens' environments: conformance for every variant, conventions, and the same game as the batch's."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env

import agents
from agents.arena.match import compare, match
from agents.arena.result import WHOLE, place_shares
from tienlen_env import thirteens_aec, thirteens_v0
from tienlen_env.agent import RandomAgent, View
from tienlen_env.core.rules import PRESETS as TIENLEN_PRESETS
from tienlen_env.engine import Batch
from tienlen_env.errors import IllegalPlayError, RulesError, WrongGameError
from tienlen_env.games import PRESETS, game_of, get_rules
from tienlen_env.one_seat import OneSeatGames
from tienlen_env.thirteens.definition import THIRTEENS
from tienlen_env.thirteens.rules import ThirteensRules
from tienlen_env.vector_env import SelfPlayEnv, TienLenVectorEnv

with warnings.catch_warnings():  # PettingZoo's tests import its own games by the deprecated way
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test
    from pettingzoo.test.state_test import test_state as check_state
    from pettingzoo.test.state_test import test_state_space as check_state_space

# As in test_aec.py: PettingZoo's tests warn of dict observations (two messages) and all-zero masks, which
# only a terminated agent sees here.
DICT_OBSERVATIONS = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros"),
]

Settings = dict[str, Any]
VARIANTS: list[Any] = [
    pytest.param(
        {"num_players": players, "jokers": jokers, "melding": melding, "dummy": dummy},
        id=f"{players}{'-dummy' * dummy}-{jokers}-{melding}",
    )
    for players, dummy in ((3, False), (3, True), (4, False), (5, False), (6, False), (7, False))
    for jokers in (0, 1, 2)
    for melding in ("auto", "manual")
]
SOME: list[Settings] = [
    {},
    {"num_players": 7, "jokers": 2, "melding": "manual"},
    {"num_players": 3, "dummy": True, "jokers": 2},
]
REWARDS = ("points", "zero_sum", "win")


def with_marks(function: Any) -> Any:
    for mark in DICT_OBSERVATIONS:
        function = mark(function)
    return function


def choose(rng: np.random.Generator, observation: dict[str, np.ndarray]) -> int:
    return int(rng.choice(np.flatnonzero(observation["action_mask"])))


def play(env: Any, rng: np.random.Generator, max_steps: int = 10**9) -> dict[str, float]:
    """Play to the end at random; what each agent was told it earned."""
    total = dict.fromkeys(env.possible_agents, 0.0)
    for step, agent in enumerate(env.agent_iter()):
        observation, reward, termination, truncation, _ = env.last()
        total[agent] += reward
        if step >= max_steps:
            break
        env.step(None if termination or truncation else choose(rng, observation))
    return total


# ------------------------------------------------------------ PettingZoo's own tests


@with_marks
@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("maker", [thirteens_v0.env, thirteens_v0.raw_env], ids=["env", "raw_env"])
def test_api(maker: Any, settings: Settings) -> None:
    api_test(maker(**settings), num_cycles=400)


@with_marks
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("settings", SOME)
def test_api_with_every_reward_in_whole_games(reward: Any, settings: Settings) -> None:
    api_test(thirteens_v0.env(episode="game", target=12, reward=reward, **settings), num_cycles=600)


@pytest.mark.parametrize("settings", VARIANTS)
def test_seed(settings: Settings) -> None:
    seed_test(lambda: thirteens_v0.env(**settings), num_cycles=30)


@pytest.mark.parametrize("settings", SOME)
def test_render(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    def make(**more: Any) -> Any:
        return thirteens_v0.env(**settings, **more)

    make.metadata = thirteens_v0.raw_env.metadata  # type: ignore[attr-defined]
    render_test(make, custom_tests={"svg": lambda text: text.lstrip().startswith("<svg")})
    assert "player_0" in capsys.readouterr().out


@pytest.mark.parametrize("settings", SOME)
def test_state(settings: Settings) -> None:
    env = thirteens_v0.raw_env(**settings)
    check_state_space(env)
    rng = np.random.default_rng(0)
    env.action_space = lambda agent: type("", (), {"sample": lambda _: choose(rng, env.observe(agent))})()
    check_state(env, 100)


@pytest.mark.parametrize("settings", VARIANTS)
def test_bombardment(settings: Settings) -> None:
    """Games broken off anywhere and begun anew: every observation is in its space."""
    env = thirteens_v0.env(**settings)
    rng = np.random.default_rng(7)
    for seed in range(6):
        env.reset(seed=seed)
        for _ in env.agent_iter(int(rng.integers(1, 60))):
            observation, _, termination, truncation, _ = env.last()
            for agent in env.agents:
                assert env.observation_space(agent).contains(env.observe(agent))
            env.step(None if termination or truncation else choose(rng, observation))


def test_registry() -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    env = pettingzoo.make("aec", "tienlen_env/thirteens_v0", num_players=5, jokers=2)
    assert str(env) == "thirteens_v0"
    assert env.max_num_agents == 5


# ------------------------------------------------------------ the same game as the batch's


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("reward", REWARDS)
def test_same_as_batch(settings: Settings, reward: Any) -> None:
    env = thirteens_v0.raw_env(**settings, reward=reward)
    batch = Batch(ThirteensRules(**settings), reward=reward, backend="python")
    rng = np.random.default_rng(3)
    env.reset(options={"key": -(2**62)})
    batch.deal([-(2**62)])
    while not env.terminations[env.agent_selection]:
        seat = int(batch.state.turn[0])
        assert env.agent_selection == f"player_{seat}"
        observation = env.last()[0]
        np.testing.assert_array_equal(observation["observation"], batch.observe()[0])
        np.testing.assert_array_equal(observation["action_mask"], batch.legal_mask()[0])
        other = (seat + 1) % batch.num_players
        np.testing.assert_array_equal(env.observe(f"player_{other}")["observation"], batch.observe(other)[0])
        np.testing.assert_array_equal(env.state(), batch.observe_all()[0])
        action = choose(rng, observation)
        env.step(action)
        rewards, _ = batch.step([action])
        assert list(env.rewards.values()) == rewards[0].tolist()
    assert batch.state.turn[0] < 0
    assert [info["place"] for info in env.infos.values()] == batch.state.places[0].tolist()
    assert [info["score"] for info in env.infos.values()] == batch.state.scores[0].tolist()


# ------------------------------------------------------------ conventions


@pytest.mark.parametrize("episode", ["round", "game"])
@pytest.mark.parametrize("settings", SOME)
def test_rewards_add_up_to_the_scores(settings: Settings, episode: Any) -> None:
    """RULES.md 8.8, 8.9 and the table of the environment page."""
    rng = np.random.default_rng(1)
    for reward in REWARDS:
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


def test_agents_terminate_together_and_masks_are_zero_off_turn() -> None:
    env = thirteens_v0.raw_env(num_players=5, melding="manual")
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    has_melded = False
    while not env.terminations[env.agent_selection]:
        for agent in env.agents:
            assert env.observe(agent)["action_mask"].any() == (agent == env.agent_selection)
        assert set(env.terminations.values()) == {False}
        action = choose(rng, env.last()[0])
        has_melded |= action > 53
        env.step(action)
    assert has_melded
    assert set(env.terminations.values()) == {True}
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)
    for _ in range(5):
        env.step(None)
    assert env.agents == []
    with pytest.raises(IllegalPlayError, match="no game is running"):
        env.step(0)


def test_illegal_action_leaves_raw_env_as_it_was() -> None:
    env = thirteens_v0.raw_env()
    with pytest.raises(IllegalPlayError, match="no game is running"):
        env.step(0)
    env.reset(seed=0)
    before = env._row.copy()
    hand = int(env._batch.state.hands[0, env._batch.state.turn[0]])
    absent = next(card for card in range(53) if not hand >> card & 1)
    for action, message in [
        (absent, r"8\.5; trick: none"),
        (53, "outside"),
        (-1, "outside"),
        ("Ks", "no integer"),
    ]:
        with pytest.raises(IllegalPlayError, match=message):
            env.step(action)
        np.testing.assert_array_equal(env._row, before)


@pytest.mark.parametrize(("reward", "cost"), [("points", -4.0), ("win", -2.0)])
def test_illegal_action_ends_the_wrapped_game(
    reward: Any, cost: float, caplog: pytest.LogCaptureFixture
) -> None:
    env = thirteens_v0.env(reward=reward)
    env.reset(seed=0)
    offender = env.agent_selection
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0]))
    rewards = {}
    for agent in env.agent_iter():
        _, rewards[agent], termination, truncation, _ = env.last()
        assert termination
        assert truncation
        env.step(None)
    assert rewards == {agent: cost if agent == offender else 0.0 for agent in env.possible_agents}


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike(duplicate: Callable[[Any], Any]) -> None:
    env = thirteens_v0.raw_env(num_players=6, jokers=2, melding="manual", episode="game")
    env.reset(seed=4)
    play(env, np.random.default_rng(0), max_steps=25)
    other = duplicate(env)
    assert play(env, np.random.default_rng(1)) == play(other, np.random.default_rng(1))
    env.reset()
    other.reset()
    np.testing.assert_array_equal(env.state(), other.state())


@pytest.mark.parametrize("arguments", [{"num_players": 2}, {"jokers": 3}, {"melding": "x"},
                                       {"dummy": True}, {"target": -1}, {"episode": "x"}, {"reward": "x"},
                                       {"render_mode": "x"}, {"rules": "cardgames"}])  # fmt: skip
def test_bad_arguments(arguments: Settings) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        thirteens_v0.env(**arguments)


# ------------------------------------------------------------ the page


@pytest.mark.parametrize("name", ["observation", "actions", "sizes"])
def test_tables_follow_from_the_code(name: str) -> None:
    assert thirteens_aec.page_tables()[name] in (thirteens_aec.__doc__ or "")


@pytest.mark.parametrize("maker", [thirteens_aec.env, thirteens_aec.raw_env])
def test_arguments_follow_from_the_code(maker: Any) -> None:
    page = (thirteens_aec.__doc__ or "").partition("| argument |")[2].partition("\n\n")[0]
    documented = dict(re.findall(r"^\| (\w+) \| (\S+) \|", page, re.MULTILINE))
    parameters = inspect.signature(maker).parameters
    assert documented == {name: repr(parameter.default) for name, parameter in parameters.items()}


def test_version_history_ends_with_the_version_of_the_name() -> None:
    newest = re.findall(r"^\* (v\d+):", thirteens_aec.__doc__ or "", re.MULTILINE)[-1]
    assert thirteens_aec.raw_env.metadata["name"] == f"thirteens_{newest}"
    assert (Path(thirteens_aec.__file__).parent / f"thirteens_{newest}.py").exists()


# ------------------------------------------------------------ one mechanism for both games


def test_a_game_is_found_by_its_rules() -> None:
    for name in PRESETS:
        rules = get_rules(name)
        assert rules.name == name
        assert Batch(name).definition is game_of(rules)
        assert (game_of(rules) is THIRTEENS) == (name not in TIENLEN_PRESETS)
    assert get_rules("thirteens", 6).num_players == 6
    with pytest.raises(RulesError, match="thirteens"):
        get_rules("whist")
    with pytest.raises(RulesError, match="rules="):
        get_rules(3)  # type: ignore[arg-type]


def test_the_engine_refuses_what_is_not_legal() -> None:
    batch = Batch("thirteens", 2)
    batch.reset(1)
    before = batch.rows.copy()
    bad = batch.sample(np.random.default_rng(0))
    bad[1] = int(np.flatnonzero(batch.legal_mask()[1] == 0)[0])
    with pytest.raises(IllegalPlayError, match="game 1"):
        batch.step(bad)
    np.testing.assert_array_equal(batch.rows, before)


class OnlyTienLen(RandomAgent):
    plays = "tienlen"


def test_agents_of_another_game_are_refused() -> None:
    with pytest.raises(WrongGameError, match="plays tienlen, not thirteens"):
        OneSeatGames(2, "thirteens", opponents=OnlyTienLen())
    OneSeatGames(2, "cardgames", opponents=OnlyTienLen())
    batch = Batch("thirteens", 2)
    batch.reset(0)
    for name in ("table_action", "table_cards", "table_owner", "passed_mask"):
        with pytest.raises(WrongGameError, match="thirteens"):
            getattr(View(batch), name)


@pytest.mark.parametrize("settings", SOME)
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


@pytest.mark.parametrize("settings", VARIANTS)
def test_gymnasium_checker(settings: Settings) -> None:
    env = gymnasium.make("tienlen_env/Thirteens-v0", **settings)
    check_env(env.unwrapped, skip_render_check=True)


def test_gymnasium_checker_with_rendering() -> None:
    check_env(gymnasium.make("tienlen_env/Thirteens-v0", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("settings", SOME)
def test_one_seat_episodes_earn_the_score(settings: Settings, skip_forced: bool) -> None:
    env = gymnasium.make("tienlen_env/Thirteens-v0", skip_forced=skip_forced, **settings)
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
        "tienlen_env/Thirteens-v0",
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


def test_the_adapters_of_tienlen_play_it_by_name() -> None:
    rng = np.random.default_rng(0)
    self_play = SelfPlayEnv(8, "thirteens", num_players=5)
    decisions = self_play.reset(0)
    dealt = np.zeros((8, 5))
    for _ in range(200):
        decisions = self_play.step([rng.choice(np.flatnonzero(mask)) for mask in decisions.action_mask])
        dealt += decisions.rewards
    assert (dealt > 0).any()
    envs = TienLenVectorEnv(4, "thirteens_manual", num_players=7)
    assert envs.reset(seed=1)[0].shape == (4, envs.games.batch.observation_size)


def test_stable_baselines3() -> None:
    pytest.importorskip("stable_baselines3")
    from tienlen_env.sb3_vec_env import TienLenVecEnv

    venv = TienLenVecEnv(8, "thirteens", reward="zero_sum", seed=0)
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
    whole = place_shares(places) / WHOLE
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
        assert sum(score.places) == pytest.approx(1)


class First(RandomAgent):
    """The legal action of the lowest id."""

    def act(self, view: View) -> np.ndarray:
        return view.action_mask.argmax(axis=1)


def test_the_arena_refuses_agents_of_another_game() -> None:
    with pytest.raises(WrongGameError, match="'greedy' plays tienlen"):
        match(agents.load("greedy"), agents.load("random"), rules="thirteens", num_deals=2)


def test_the_arena_writes_its_report(tmp_path: Path) -> None:
    report = compare(First(), [RandomAgent()], rules="thirteens", num_players=7, num_deals=4)
    assert report.to_dict()["tables"][0]["rules"]["name"] == "thirteens"
    assert {path.name for path in report.write(tmp_path)} == {
        "arena.json",
        "arena.csv",
        "arena.png",
        "arena.html",
    }
