"""The PettingZoo environments of both games: conformance, conventions, and the same games as the batch's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pettingzoo
import pytest

from tests.games import TIENLEN, Case, Settings, choose, copies, each_game, over, play
from tienlen_env import tienlen_v1
from tienlen_env.engine.backends.per_game import REFUSED
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, RulesError, TienLenError
from tienlen_env.games.common.cards import FULL_DECK, card_ids, parse_cards
from tienlen_env.games.tienlen.rules import PRESETS, Rules, get_rules
from tienlen_env.single.tienlen import Round

with warnings.catch_warnings():  # PettingZoo's tests import its own games by the deprecated way
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test
    from pettingzoo.test.state_test import test_state as check_state, test_state_space as check_state_space

# PettingZoo's tests warn of three things unless the environment's name is in a list of its own games: dict
# observations (two messages), and all-zero masks, which only a terminated agent sees here (tested below).
DICT_OBSERVATIONS = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros"),
]


def with_marks(function: Any) -> Any:
    for mark in DICT_OBSERVATIONS:
        function = mark(function)
    return function


# ------------------------------------------------------------ PettingZoo's own tests


@with_marks
@over("settings", lambda game: game.variants)
@pytest.mark.parametrize("maker", ["env", "raw_env"])
def test_api(game: Case, maker: str, settings: Settings) -> None:
    api_test(getattr(game.module, maker)(**settings), num_cycles=game.num_cycles)


@with_marks
@over("settings", lambda game: [{**s, "reward": r} for s in game.whole_games for r in game.rewards])
def test_api_with_every_reward_in_whole_games(game: Case, settings: Settings) -> None:
    api_test(game.module.env(**settings), num_cycles=1000)


@over("settings", lambda game: game.variants)
def test_seed(game: Case, settings: Settings) -> None:
    seed_test(lambda: game.module.env(**settings), num_cycles=30)


@over("settings", lambda game: game.some)
def test_render(game: Case, settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    def make(**more: Any) -> Any:
        return game.module.env(**settings, **more)

    make.metadata = game.module.raw_env.metadata  # type: ignore[attr-defined]
    render_test(make, custom_tests={"svg": lambda text: text.lstrip().startswith("<svg")})
    assert "player_0" in capsys.readouterr().out


@over("settings", lambda game: game.some)
def test_state(game: Case, settings: Settings) -> None:
    env = game.module.raw_env(**settings)
    check_state_space(env)
    rng = np.random.default_rng(0)
    env.action_space = lambda agent: type("", (), {"sample": lambda _: choose(rng, env.observe(agent))})()
    check_state(env, 100)


@over("settings", lambda game: game.variants)
def test_bombardment(game: Case, settings: Settings) -> None:
    """Games broken off anywhere and begun anew: every observation is in its space."""
    env = game.module.env(**settings)
    rng = np.random.default_rng(7)
    for seed in range(6):
        env.reset(seed=seed)
        for _ in env.agent_iter(int(rng.integers(1, 60))):
            observation, _, termination, truncation, _ = env.last()
            for agent in env.agents:
                assert env.observation_space(agent).contains(env.observe(agent))
            env.step(None if termination or truncation else choose(rng, observation))


@over("settings", lambda game: [{"num_players": 3}, game.rich])
def test_registry(game: Case, settings: Settings) -> None:
    if not hasattr(pettingzoo, "make"):
        pytest.skip("this PettingZoo has no registry")
    env = pettingzoo.make("aec", f"tienlen_env/{game.name}", **settings)
    assert str(env) == game.name
    assert env.max_num_agents == settings.get("num_players", 4)


# ------------------------------------------------------------ the same game as the batch's


def with_rewards(game: Case) -> list[Settings]:
    """Every kind of table, each with one of the rewards."""
    rewards = game.compared_rewards
    return [{**s, "reward": rewards[(i // 2 + i) % len(rewards)]} for i, s in enumerate(game.variants)]


@over("settings", with_rewards)
def test_same_as_batch(game: Case, settings: Settings) -> None:
    if game is TIENLEN:
        settings = {**settings, "history": 2}
    env = game.module.raw_env(**settings)
    batch = game.make_batch(**settings, backend="python")
    rng = np.random.default_rng(3)
    env.reset(options={"key": -(2**62)})
    batch.deal([-(2**62)])
    while not env.terminations[env.agent_selection]:
        seat = int(batch.state.turn[0])
        assert env.agent_selection == f"player_{seat}"
        observation = env.last()[0]
        np.testing.assert_array_equal(observation["observation"], batch.observe()[0])
        np.testing.assert_array_equal(observation["action_mask"], batch.action_mask()[0])
        other = (seat + 1) % batch.num_players
        np.testing.assert_array_equal(env.observe(f"player_{other}")["observation"], batch.observe(other)[0])
        np.testing.assert_array_equal(env.state(), batch.global_observation()[0])
        action = choose(rng, observation)
        env.step(action)
        rewards, _ = batch.step([action])
        assert list(env.rewards.values()) == rewards[0].tolist()
    assert batch.state.turn[0] < 0
    assert [info["place"] for info in env.infos.values()] == batch.state.places[0].tolist()
    assert [info["score"] for info in env.infos.values()] == batch.state.scores[0].tolist()


# ------------------------------------------------------------ conventions


@each_game
def test_agents_terminate_together_and_masks_are_zero_off_turn(game: Case) -> None:
    env = game.module.raw_env(**game.rich)
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    has_had_news = False
    while not env.terminations[env.agent_selection]:
        for agent in env.agents:
            assert env.observe(agent)["action_mask"].any() == (agent == env.agent_selection)
        has_had_news |= game.has_news(env.batch)
        assert set(env.terminations.values()) == {False}
        assert env.agents == env.possible_agents
        env.step(choose(rng, env.last()[0]))
    assert has_had_news
    assert set(env.terminations.values()) == {True}
    assert set(env.truncations.values()) == {False}
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)
    for _ in env.possible_agents:
        assert env.last()[2]
        env.step(None)
    assert env.agents == []
    with pytest.raises(IllegalPlayError, match="no game is running"):
        env.step(0)


@each_game
def test_handed_out_arrays_never_change(game: Case) -> None:
    env = game.module.raw_env(**game.rich)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    kept: list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = []
    for _ in env.agent_iter():
        observation, _, termination, _, _ = env.last()
        kept.append((observation, copy.deepcopy(observation)))
        env.step(None if termination else choose(rng, observation))
    env.reset()
    for now, then in kept:
        np.testing.assert_equal(now, then)


@over("reward", lambda game: game.illegal_costs)
def test_illegal_action_ends_the_wrapped_game(
    game: Case, reward: str, caplog: pytest.LogCaptureFixture
) -> None:
    env = game.module.env(reward=reward)
    env.reset(seed=0)
    offender = env.agent_selection
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0]))
    rewards = {}
    for agent in env.agent_iter():
        observation, rewards[agent], termination, truncation, info = env.last()
        assert termination
        assert truncation
        assert info == {"place": -1, "score": 0, "units": 0}
        assert not observation["action_mask"].any()
        np.testing.assert_array_equal(
            observation["observation"], env.unwrapped.batch.observe(int(agent[-1]))[0]
        )
        env.step(None)
    cost = game.illegal_costs[reward]
    assert rewards == {agent: cost if agent == offender else 0.0 for agent in env.possible_agents}
    env.reset()
    with pytest.raises(AssertionError, match="not in action space"):
        env.step(env.action_space(offender).n)


@over("settings", lambda game: game.whole_games)
@pytest.mark.parametrize("maker", ["env", "raw_env"])
@copies
def test_copies_go_on_alike(
    game: Case, settings: Settings, duplicate: Callable[[Any], Any], maker: str
) -> None:
    env = getattr(game.module, maker)(**settings)
    env.reset(seed=4)
    play(env, np.random.default_rng(0), max_steps=25)
    other = duplicate(env)
    assert play(env, np.random.default_rng(1)) == play(other, np.random.default_rng(1))
    env.reset()
    other.reset()
    np.testing.assert_array_equal(env.state(), other.state())


@each_game
@copies
def test_copies_look_alike(game: Case, duplicate: Callable[[Any], Any]) -> None:
    """Also the plays of the trick, which the picture shows and the state does not hold."""
    env = game.module.raw_env(render_mode="ansi")
    env.reset(seed=4)
    play(env, np.random.default_rng(0), max_steps=6)
    assert duplicate(env).render() == env.render()


@each_game
def test_actions_have_names(game: Case) -> None:
    env = game.module.env().unwrapped
    names = [env.action_to_text(action) for action in range(env.batch.num_actions)]
    assert [env.text_to_action(name) for name in names] == list(range(len(names)))
    with pytest.raises(ValueError, match="nonsense"):
        env.text_to_action("nonsense")


@over("arguments", lambda game: game.bad_arguments)
def test_bad_arguments(game: Case, arguments: Settings) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        game.module.env(**arguments)


@each_game
def test_notebook_picture(game: Case) -> None:
    env = game.module.raw_env()
    env.reset(seed=1)
    assert env._repr_svg_().lstrip().startswith("<svg")


# ------------------------------------------------------------ Tiến lên alone (test_thirteens_env: Thirteens)


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("reward", TIENLEN.rewards)
def test_rewards_of_a_round(players: int, reward: Any) -> None:
    """RULES.md 1.11 and the table of the environment page."""
    env = tienlen_v1.env(num_players=players, reward=reward)
    rng = np.random.default_rng(1)
    for seed in range(10):
        env.reset(seed=seed)
        total = dict.fromkeys(env.possible_agents, 0.0)
        first_out_left = None
        for agent in env.agent_iter():
            observation, earned, termination, _, info = env.last()
            total[agent] += earned
            hands = env.unwrapped.batch.state.hands[0]
            if first_out_left is None and 0 in hands:
                first_out_left = np.bitwise_count(hands).tolist()
            if termination:
                place = info["place"]
                mean = (players - 1) / 2
                expected = {
                    "points": players - 1 - place,
                    "zero_sum": players - 1 - place - mean,
                    "win": 1 if place == 0 else -1,
                    "cards": sum(first_out_left) if place == 0 else -first_out_left[int(agent[-1])],
                }
                assert total[agent] == expected[reward]
            env.step(None if termination else choose(rng, observation))


def test_illegal_action_leaves_raw_env_as_it_was() -> None:
    env = tienlen_v1.raw_env()
    with pytest.raises(IllegalPlayError, match="no game is running"):
        env.step(0)
    env.reset(options={"hands": ["3s 4s 5s 6s", "3c 7c", "8h 9h", "Th Jh"]})
    before = env.batch.kernel_arrays.rows[0].copy()
    for action, message in [
        (0, "a leader may not pass"),
        (2, "not in the hand"),
        (5, "must contain 3s"),
        (453, "outside"),
        (-1, "outside"),
        (10**30, "outside"),
        ("3s", "not an integer"),
        (None, "not an integer"),
        (1.0, "not an integer"),
    ]:
        with pytest.raises(IllegalPlayError, match=message):
            env.step(action)
        np.testing.assert_array_equal(env.batch.kernel_arrays.rows[0], before)
        assert env.agent_selection == "player_0"
    with pytest.raises(IllegalPlayError, match=r"single 3c.*table: empty; hand: 3s 4s 5s 6s"):
        env.step(2)
    env.step(np.int32(1))
    assert env.agent_selection == "player_1"


def test_reset_streams_and_options() -> None:
    env = tienlen_v1.raw_env()
    deals = []
    for seed in (5, None, 5, None, 6):
        env.reset(seed=seed)
        deals.append(env.batch.state.hands[0].tolist())
    assert deals[0] == deals[2]
    assert deals[1] == deals[3]
    assert len({str(deal) for deal in deals}) == 3
    env.reset(options={"hands": [parse_cards("3s"), "4s 4c", "5s", "6s"], "leader": 1})
    assert env.agent_selection == "player_1"
    for options in (
        {"key": 2**64},
        {"hands": ["3s", "3s", "4s", "5s"]},
        {"hands": ["3s"]},
        {"hands": ["3s", "4s", "5s", "6s"], "leader": 4},
    ):
        with pytest.raises((ValueError, TienLenError)):
            env.reset(options=options)


def test_a_key_is_64_bits_signed_or_not() -> None:
    """A key that is copied from a record may have its highest bit set."""
    key = 0xFEDCBA9876543210
    deals = []
    for given in (key, key - 2**64, np.uint64(key)):
        env = TIENLEN.module.raw_env()
        env.reset(options={"key": given})
        deals.append(env.batch.state.hands[0].tolist())
        assert Round(key=given).key == key - 2**64
    assert deals[0] == deals[1] == deals[2]


def test_accepts_rules() -> None:
    """The number of players is that of the rules unless the argument says otherwise."""
    for maker in (tienlen_v1.env, tienlen_v1.raw_env):
        assert maker(rules=get_rules("foicica", 3)).max_num_agents == 3
        assert maker(Rules(num_players=2)).max_num_agents == 2
        assert maker(Rules(num_players=2), num_players=3).max_num_agents == 3
        assert maker().max_num_agents == 4


# ------------------------------------------------------------ nothing leaks


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("players", [2, 3, 4])
def test_observation_does_not_depend_on_unseen_cards(rules: str, players: int) -> None:
    """Deal the cards that a seat cannot see anew among the others and the undealt: it sees the same."""
    batch = Batch(rules, 64, num_players=players, history=4)
    batch.reset(11)
    rng = np.random.default_rng(11)
    for _ in range(30):
        for seat in range(players):
            other = batch.copy()
            for game in range(other.num_games):
                hands = other.state.hands[game].tolist()
                seen = hands[seat] | int(np.bitwise_or.reduce(other.state.played[game]))
                unseen = card_ids(FULL_DECK & ~seen)
                rng.shuffle(unseen)
                for rival in range(players):
                    if rival != seat:
                        size = hands[rival].bit_count()
                        other.state.hands[game, rival] = sum(1 << card for card in unseen[:size])
                        unseen = unseen[size:]
            np.testing.assert_array_equal(other.observe(seat), batch.observe(seat))
        if (batch.state.turn < 0).all():
            break
        batch.step(batch.sample(rng))
        batch.step(batch.sample(rng))


@pytest.mark.parametrize("rules", PRESETS)
def test_the_unchecked_way_is_the_same_on_both_backends(rules: str) -> None:
    batches = [Batch(rules, history=3, reward="zero_sum", backend=name) for name in ("numba", "python")]
    rng = np.random.default_rng(0)
    for key in range(3):
        for batch in batches:
            batch.deal([key])
        while batches[0].state.turn[0] >= 0:
            action = int(batches[0].sample(rng)[0])
            illegal = int(np.flatnonzero(batches[0].action_mask()[0] == 0)[0])
            found = []
            for batch in batches:
                arrays = (
                    np.ones(4, np.float32),
                    np.ones(batch.num_actions, np.int8),
                    np.ones(batch.observation_size, np.uint8),
                )
                rows, spec, actions = batch.kernel_arrays
                play = partial(batch.loops.play_one, rows[0], spec, actions)
                assert play(*arrays, illegal) == REFUSED
                found.append((np.array(play(*arrays, action)), batch.kernel_arrays.rows[0], *arrays))
            for fast, plain in zip(*found, strict=True):
                np.testing.assert_array_equal(fast, plain)


# ------------------------------------------------------------ options of reset, and calls before it


@each_game
def test_unknown_options_are_refused_and_nothing_changes(game: Case) -> None:
    env = game.module.raw_env()
    env.reset(seed=3)
    before = env.batch.state.rows.copy()
    for options, told in [
        ({"kye": 5}, "'kye' is not a valid option; expected one of key"),
        ({"leader": 1}, "'leader' needs 'hands'"),
        ({"key": 1, "hands": []}, "not both"),
        ({"key": "x"}, "key='x'"),
        ({"hands": ["3s 3h"]}, r"expected \d hands, one for each player: texts such as '3s 3h'"),
        ({"hands": "3s"}, "one for each player"),
        ({"hands": [1.5] * env.batch.num_players}, "not a text such as"),
        (7, "expected a dict"),
    ]:
        with pytest.raises(ValueError, match=told):
            env.reset(seed=4, options=options)
        np.testing.assert_array_equal(env.batch.state.rows, before)
    env.reset()
    again = game.module.raw_env()
    again.reset(seed=3)
    again.reset()
    np.testing.assert_array_equal(env.batch.state.rows, again.batch.state.rows)  # the stream is as it was


@each_game
def test_calls_before_reset_say_so(game: Case) -> None:
    env = game.module.raw_env()
    for call in (env.last, lambda: env.step(0)):
        with pytest.raises(ValueError, match=r"no game is running; call reset\(\)"):
            call()
    with pytest.raises(ValueError, match=r"game 0 has not been dealt; call reset\(\)"):
        game.make_batch().step([0])


@each_game
def test_observations_may_be_floats(game: Case) -> None:
    """The same numbers, in everything that is an observation."""
    env, other = (game.module.env(dtype=dtype) for dtype in ("float32", "uint8"))
    env.reset(seed=1)
    other.reset(seed=1)
    rng = np.random.default_rng(0)
    for agent in env.agent_iter(60):
        (seen, _, over, _, _), (expected, *_) = env.last(), other.last()
        assert seen in env.observation_space(agent)
        assert seen["observation"].dtype == env.state().dtype == np.float32
        np.testing.assert_array_equal(seen["observation"], expected["observation"])
        assert env.state() in env.unwrapped.state_space
        for each in (env, other):
            each.step(None if over else int(np.flatnonzero(expected["action_mask"])[rng.integers(1)]))
    with pytest.raises(ValueError, match="dtype='f4'"):
        game.module.raw_env(dtype="f4")


@each_game
def test_fields_of_the_rules_are_keywords(game: Case) -> None:
    assert game.module.raw_env(target=7).batch.rules.target == 7
    with pytest.raises(TypeError, match="unexpected keyword argument 'targets': expected a field of"):
        game.module.raw_env(targets=7)
    other = "cardgames" if game.name.startswith("thirteens") else "thirteens"
    with pytest.raises(RulesError, match=f"rules={other!r}: expected one of"):
        game.module.env(other)
