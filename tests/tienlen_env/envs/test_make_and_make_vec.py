"""`gymnasium.make` and `make_vec` of one id are the same decision process; what v0 was; automatic resets."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

from tienlen_env import tienlen_v1
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.vector import OneSeatVectorEnv
from tienlen_env.errors import IllegalPlayError

IDS = ("tienlen_env/TienLen-v1", "tienlen_env/Thirteens-v1")
MODES = tuple(AutoresetMode)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"skip_forced": False, "reward": "zero_sum", "seat": 2},
    {"episode": "game", "opponents": ["random", "random", "random"]},
    {"opponents": ["random", "random"], "probabilities": [0.8, 0.2], "line_up": False},
    {"illegal": "random"},
]


def choose(rng: np.random.Generator, mask: np.ndarray, wild: float) -> int:
    """A random legal action; now and then any action."""
    if rng.random() < wild:
        return int(rng.integers(len(mask)))
    return int(rng.choice(np.flatnonzero(mask)))


def infos_of(infos: dict[str, Any], game: int) -> dict[str, Any]:
    """The info of one game out of the infos of all, as Gymnasium puts them together."""
    found = {}
    for key, value in infos.items():
        if not key.startswith("_") and infos[f"_{key}"][game]:
            found[key] = infos_of(value, game) if isinstance(value, dict) else value[game]
    return found


def same(one: Any, other: Any) -> None:
    """Equal, with the same keys; numbers may be Python's or NumPy's."""
    if isinstance(one, tuple | list):
        for mine, theirs in zip(one, other, strict=True):
            same(mine, theirs)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, np.ndarray) and one.dtype.hasobject:
        same(one.tolist(), other.tolist())
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("wild", [0.0, 0.1])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("env_id", IDS)
def test_the_same_seed_gives_the_same_decisions(env_id: str, settings: dict[str, Any], wild: float) -> None:
    """One game in both, over many episodes: observations, rewards, ends and infos are equal."""
    for seed in (0, 7):
        one = gymnasium.make(env_id, **settings)
        many = gymnasium.make_vec(env_id, num_envs=1, **settings)
        assert many.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        rng, num_ended, num_illegal = np.random.default_rng(seed), 0, 0
        observation, info = one.reset(seed=seed)
        observations, infos = many.reset(seed=seed)
        for _ in range(150):
            same(observation, observations[0])
            same(info, infos_of(infos, 0))
            action = choose(rng, info["action_mask"], wild)
            observation, reward, terminated, truncated, info = one.step(action)
            observations, rewards, terminations, truncations, infos = many.step(np.array([action]))
            assert (reward, terminated, truncated) == (rewards[0], terminations[0], truncations[0])
            num_illegal += info["illegal"]
            if terminated:
                num_ended += 1
                same(observation, infos["final_obs"][0])
                same(info, infos_of(infos, 0).pop("final_info"))
                for key in ("final_obs", "_final_obs", "final_info", "_final_info"):
                    del infos[key]
                observation, info = one.reset()
        assert num_ended > (0 if settings.get("episode") == "game" else 3)
        assert (num_illegal > 0) == (wild > 0)


def test_every_game_of_a_vector_is_the_single_one() -> None:
    """Eight games at once; each of their episodes is repeated by the key of its deal."""
    settings: dict[str, Any] = {"seat": 1, "opponents": "greedy"}
    import tienlen_agents  # noqa: F401 - registers greedy

    one = gymnasium.make(IDS[0], **settings)
    many = gymnasium.make_vec(IDS[0], num_envs=8, **settings)
    keys = np.arange(8)
    rng = np.random.default_rng(3)
    _, infos = many.reset(seed=3, options={"key": keys})
    record: list[list[tuple[Any, ...]]] = [[] for _ in range(8)]
    running = np.ones(8, np.bool_)
    while running.any():
        actions = np.array([choose(rng, mask, 0.02) for mask in infos["action_mask"]])
        observations, rewards, terminations, _, infos = many.step(actions)
        for game in running.nonzero()[0]:
            ended = terminations[game]
            info = infos_of(infos, game)
            seen = info["final_obs"] if ended else observations[game]
            told = info["final_info"] if ended else info
            if not ended:
                told = {key: value for key, value in told.items() if not key.startswith("final")}
            record[game].append((actions[game], seen.copy(), rewards[game], ended, told))
        running &= ~terminations
    for key, decisions in zip(keys, record, strict=True):
        one.reset(options={"key": int(key)})
        for action, seen, reward, ended, told in decisions:
            observation, found, terminated, _, info = one.step(action)
            same(observation, seen)
            assert (found, terminated) == (reward, ended)
            same(told, info)


@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", IDS)
def test_infos_are_built_as_gymnasium_builds_them(
    env_id: str, mode: AutoresetMode, limit: int | None
) -> None:
    """`SyncVectorEnv` over single environments is the model: one game each, so that the streams are equal."""
    settings: dict[str, Any] = {"max_episode_steps": limit}
    own = gymnasium.make_vec(env_id, num_envs=1, autoreset_mode=mode.value, **settings)
    model = SyncVectorEnv([lambda: gymnasium.make(env_id, **settings)], autoreset_mode=mode)
    assert own.metadata["autoreset_mode"] is mode
    rng = np.random.default_rng(5)
    results = own.reset(seed=5), model.reset(seed=5)
    num_ended = 0
    for _ in range(200):
        same(results[0], results[1])
        infos = results[0][-1]
        mask = infos["action_mask"][0]
        ended = results[0][2] | results[0][3] if len(results[0]) > 2 else np.zeros(1, np.bool_)
        if mode is AutoresetMode.DISABLED and ended[0]:
            num_ended += 1
            results = tuple(env.reset(options={"reset_mask": ended.copy()}) for env in (own, model))
            continue
        action = np.array([choose(rng, mask, 0.05)])
        results = own.step(action), model.step(action)
        num_ended += int((results[0][2] | results[0][3])[0])
        assert {k: getattr(v, "dtype", dict) for k, v in results[0][-1].items()} == {
            k: getattr(v, "dtype", dict) for k, v in results[1][-1].items()
        }
    assert num_ended > 5


@pytest.mark.parametrize("mode", MODES)
def test_modes_of_automatic_resets_in_many_games(mode: AutoresetMode) -> None:
    env = OneSeatVectorEnv(6, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    ended = np.zeros(6, np.bool_)
    num_ended = 0
    for _ in range(80):
        actions = [choose(rng, mask, 0) for mask in infos["action_mask"]]
        actions = np.where(ended, -5, actions)  # those of games that wait are not read
        if mode is AutoresetMode.DISABLED and ended.any():
            with pytest.raises(IllegalPlayError, match="reset_mask"):
                env.step(actions)
            keys = env.games.batch.state.key.copy()
            observation, infos = env.reset(options={"reset_mask": ended})
            np.testing.assert_array_equal(infos["_action_mask"], ended)
            assert (env.games.batch.state.key != keys).tolist() == ended.tolist()
            infos["action_mask"] = env.action_masks()
            ended = np.zeros(6, np.bool_)
            continue
        before = ended
        observation, rewards, ended, truncations, infos = env.step(actions)
        assert not truncations.any()
        assert env.observation_space.contains(observation)
        num_ended += int(ended.sum())
        assert infos["action_mask"].any(axis=1).all()
        if mode is not AutoresetMode.SAME_STEP:
            assert (infos["action_mask"][ended].nonzero()[1] == 0).all()
            assert "final_obs" not in infos
            assert ((infos["place"] >= 0) == ended).all()
        if mode is AutoresetMode.NEXT_STEP:
            assert not rewards[before].any()
            assert not (ended & before).any()
    assert num_ended > 12


def stack(env: Any) -> Any:
    return wrappers.DtypeObservation(wrappers.NormalizeObservation(env), np.float32)


WRAPPERS: dict[str, Any] = {
    "FlattenObservation": wrappers.FlattenObservation,
    "NormalizeObservation": wrappers.NormalizeObservation,
    "RescaleObservation": lambda env: wrappers.RescaleObservation(
        wrappers.DtypeObservation(env, np.float32), np.float32(-1), np.float32(1)
    ),
    "DtypeObservation": lambda env: wrappers.DtypeObservation(env, np.float32),
    "NormalizeReward": wrappers.NormalizeReward,
    "ClipReward": lambda env: wrappers.ClipReward(env, 0, 1),
    "TransformReward": lambda env: wrappers.TransformReward(env, lambda reward: reward * 2),
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "DictInfoToList": wrappers.DictInfoToList,
    "both": stack,
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_gymnasiums_vector_wrappers(name: str) -> None:
    env = WRAPPERS[name](OneSeatVectorEnv(4, autoreset_mode=AutoresetMode.NEXT_STEP))
    observation, _ = env.reset(seed=0)
    num_ended = 0
    for _ in range(60):
        masks = env.unwrapped.action_masks()
        observation, _, terminations, _, _ = env.step(np.array([row.argmax() for row in masks]))
        assert env.observation_space.shape == observation.shape
        if name in ("DtypeObservation", "both"):
            assert observation.dtype == env.observation_space.dtype == np.float32
        num_ended += int(terminations.sum())
    assert num_ended > 4


def test_human_rendering_has_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapper draws with pygame, which is not a dependency: everything before the window is tried."""
    env = wrappers.HumanRendering(OneSeatVectorEnv(2, render_mode="rgb_array"))
    frames = []
    monkeypatch.setattr(env, "_render_frame", lambda: frames.append(env.env.render()))
    env.reset(seed=0)
    assert len(frames[0]) == 2
    assert all(frame.dtype == np.uint8 and frame.shape == frames[0][0].shape for frame in frames[0])
    assert env.metadata["render_fps"] == OneSeatEnv.metadata["render_fps"]


# ------------------------------------------------------------ illegal actions


@pytest.mark.parametrize("env_id", IDS)
def test_an_illegal_action_ends_the_episode_in_the_last_place(env_id: str) -> None:
    for reward, cost in (("points", -1.0), ("zero_sum", -2.5)):
        if "Thirteens" in env_id:
            reward, cost = {"points": ("points", -4.0), "zero_sum": ("win", -2.0)}[reward]
        env = gymnasium.make(env_id, reward=reward)
        _, info = env.reset(seed=0)
        assert not info["illegal"]
        assert info["place"] == -1
        for bad in (int(np.flatnonzero(info["action_mask"] == 0)[0]), 10**6, -1):
            env.reset(seed=0)
            _, found, terminated, truncated, info = env.unwrapped.step(bad)
            assert (found, terminated, truncated, info["illegal"], info["place"]) == (
                cost,
                True,
                False,
                True,
                3,
            )
            assert info["action_mask"].nonzero()[0].tolist() == [0]
            with pytest.raises(IllegalPlayError, match=r"call reset\(\)"):
                env.unwrapped.step(0)


def test_only_the_offenders_lose_their_episode() -> None:
    env = OneSeatVectorEnv(5, seat=0, reward="points")
    _, infos = env.reset(seed=4)
    keys = env.games.batch.state.key.copy()
    actions = infos["action_mask"].argmax(axis=1)
    actions[[1, 3]] = np.array([np.flatnonzero(row == 0)[0] for row in infos["action_mask"][[1, 3]]])
    _, rewards, terminations, _, infos = env.step(actions)
    np.testing.assert_array_equal(terminations, [False, True, False, True, False])
    np.testing.assert_array_equal(rewards[[1, 3]], [-1, -1])
    np.testing.assert_array_equal(infos["final_info"]["illegal"], terminations)
    np.testing.assert_array_equal(infos["final_info"]["place"], [-1, 3, -1, 3, -1])
    np.testing.assert_array_equal(env.games.batch.state.key != keys, terminations)
    assert not infos["illegal"].any()


@pytest.mark.parametrize("make", [lambda **s: OneSeatEnv(**s), lambda **s: OneSeatVectorEnv(1, **s)])
def test_illegal_random_plays_on(make: Any) -> None:
    env = make(illegal="random")
    wrap = (lambda a: a) if isinstance(env, OneSeatEnv) else (lambda a: np.array([a]))
    for seed in range(10):
        _, info = env.reset(seed=seed)
        mask = info["action_mask"].reshape(-1)
        _, reward, _, _, info = env.step(wrap(int(np.flatnonzero(mask == 0)[-1])))
        is_illegal = info.get("final_info", info)["illegal"]
        assert bool(np.all(is_illegal))
        assert float(np.max(reward)) >= 0


def test_illegal_raise_says_how_else() -> None:
    for env in (OneSeatEnv(illegal="raise"), OneSeatVectorEnv(1, illegal="raise")):
        _, info = env.reset(seed=1)
        bad = int(info["action_mask"].argmin())
        action: Any = bad if isinstance(env, OneSeatEnv) else np.array([bad])
        before = env.games.batch.state.rows.copy()
        with pytest.raises(IllegalPlayError, match=r"action mask, or set illegal='terminate' or 'random'"):
            env.step(action)
        np.testing.assert_array_equal(env.games.batch.state.rows, before)


# ------------------------------------------------------------ options, and calls before reset


def test_keys_and_unknown_options() -> None:
    one, many = OneSeatEnv(seat=0), OneSeatVectorEnv(3, seat=0)
    first = one.reset(seed=1, options={"key": 77})[0]
    np.testing.assert_array_equal(one.reset(seed=2, options={"key": 77})[0][:52], first[:52])
    observations = many.reset(seed=1, options={"key": [77, 78, 77]})[0]
    np.testing.assert_array_equal(observations[0, :52], first[:52])
    np.testing.assert_array_equal(observations[2, :52], first[:52])
    assert not np.array_equal(observations[1, :52], first[:52])
    many.reset(options={"key": 5})
    assert (many.games.batch.state.key == 5).all()
    for env in (one, many):
        for options, told in [
            ({"kye": 5}, "'kye' is not a valid option; expected one of key"),
            ({"key": 1.5}, "key"),
            ({"key": "3"}, "key"),
            ([], "expected a dict"),
        ]:
            with pytest.raises(ValueError, match=told):
                env.reset(seed=1, options=options)  # type: ignore[arg-type]
    signed = one.reset(options={"key": -(2**63)})[0][:52]
    np.testing.assert_array_equal(one.reset(options={"key": 2**63})[0][:52], signed)
    for value in (2**64, -(2**63) - 1, True):
        with pytest.raises(ValueError, match="key"):
            one.reset(options={"key": value})
    for value, told in [
        ([True] * 3, "bool array"),
        (np.zeros(3, np.bool_), "at least one"),
        (np.ones(2, np.bool_), "shape"),
    ]:
        with pytest.raises(ValueError, match=told):
            many.reset(options={"reset_mask": value})


def test_a_key_whose_deal_is_over_at_once_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    env = OneSeatEnv(seat=0)
    deal = env.games._deal

    def over_at_once(games: Any, keys: Any = None) -> Any:
        turns = deal(games, keys)
        turns[keys < 12] = -1
        return turns

    monkeypatch.setattr(env.games, "_deal", over_at_once)
    env.reset(seed=0, options={"key": 9})
    assert env.games.batch.state.key[0] == 12


@pytest.mark.parametrize("env_id", IDS)
def test_steps_before_reset_say_so(env_id: str) -> None:
    with pytest.raises(IllegalPlayError, match=r"call reset\(\)"):
        gymnasium.make(env_id).unwrapped.step(0)
    with pytest.raises(IllegalPlayError, match=r"call reset\(\)"):
        gymnasium.make_vec(env_id, num_envs=2).step(np.array([0, 0]))
    with pytest.raises(ValueError, match=r"reset\(\) without it first"):
        gymnasium.make_vec(env_id, num_envs=2).reset(options={"reset_mask": np.ones(2, np.bool_)})


@pytest.mark.parametrize("bad", ["x", None, True, 1, "same_step"])
def test_modes_that_are_none(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"autoreset_mode=.*NextStep"):
        OneSeatVectorEnv(2, autoreset_mode=bad)


POOL: dict[str, Any] = {"opponents": ["greedy", "greedy_long"], "probabilities": [0.4, 0.6], "line_up": False}


@pytest.mark.parametrize("settings", [{"opponents": "greedy"}, {**POOL, "illegal": "random"}], ids=str)
def test_each_game_has_its_own_seed(settings: dict[str, Any]) -> None:
    """As in `SyncVectorEnv`: the decisions of the single environments with these seeds, deal after deal."""
    seeds = [7, 3, 2**40]
    own = gymnasium.make_vec(IDS[0], num_envs=3, **settings)
    model = SyncVectorEnv(
        [lambda: gymnasium.make(IDS[0], **settings)] * 3, autoreset_mode=AutoresetMode.SAME_STEP
    )
    rng, num_ended = np.random.default_rng(0), 0
    results = own.reset(seed=seeds), model.reset(seed=seeds)
    for _ in range(60):
        same(results[0][:-1], results[1][:-1])
        for game in range(3):
            same(infos_of(results[0][-1], game), infos_of(results[1][-1], game))
        actions = np.array([choose(rng, mask, 0.1) for mask in results[0][-1]["action_mask"]])
        results = own.step(actions), model.step(actions)
        num_ended += results[0][2].sum()
    assert num_ended > 9
    same(own.reset(seed=np.array(seeds)), model.reset(seed=seeds))
    fresh = gymnasium.make_vec(IDS[0], num_envs=3, **settings)
    same(own.reset(seed=7), fresh.reset(seed=7))  # one stream again


def test_wrong_seeds_are_refused() -> None:
    envs = gymnasium.make_vec("tienlen_env/TienLen-v1", num_envs=3)
    for wrong in ([1, 2], [1, 2, -3], [1, 2, "3"]):
        with pytest.raises(ValueError, match=r"seed=.*3 of them"):
            envs.reset(seed=wrong)


@pytest.mark.parametrize("id", IDS)
def test_observations_may_be_floats(id: str) -> None:
    """The same numbers, in everything that is an observation."""
    one, whole = (gymnasium.make(id, dtype=dtype, seat=0) for dtype in ("float32", "uint8"))
    many = gymnasium.make_vec(id, num_envs=2, dtype="float32", seat=0)
    seen, info = one.reset(seed=3)
    expected, _ = whole.reset(seed=3)
    rng, over = np.random.default_rng(0), False
    while not over:
        assert seen in one.observation_space
        assert seen.dtype == np.float32
        np.testing.assert_array_equal(seen, expected)
        action = choose(rng, info["action_mask"], 0)
        (seen, _, over, _, info), (expected, *_) = one.step(action), whole.step(action)
    assert seen.dtype == np.float32
    batch, infos = many.reset(seed=3)
    while "final_obs" not in infos:
        assert batch in many.observation_space
        batch, _, ended, _, infos = many.step([choose(rng, mask, 0) for mask in infos["action_mask"]])
    assert infos["final_obs"][ended.argmax()].dtype == np.float32
    with pytest.raises(ValueError, match="dtype='float64'"):
        OneSeatEnv(dtype="float64")  # type: ignore[arg-type]


def test_fields_of_the_rules_are_keywords() -> None:
    for make in (OneSeatEnv, OneSeatVectorEnv):
        assert make(rules="thirteens", jokers=2).games.batch.rules.jokers == 2
        assert make(rules="cardgames", run_min=5, target=None).games.batch.rules.run_min == 5
        with pytest.raises(TypeError, match="unexpected keyword argument 'joker': expected a field"):
            make(rules="thirteens", joker=2)
        with pytest.raises(ValueError, match="jokers"):
            make(rules="thirteens", jokers=9)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_a_time_limit_truncates(mode: AutoresetMode, copy: bool) -> None:
    """Episodes of at most two decisions; some end before, some in the second."""
    env = OneSeatVectorEnv(32, autoreset_mode=mode, copy=copy, max_episode_steps=2, skip_forced=False)
    _, infos = env.reset(seed=1)
    length, ends, rng = np.zeros(32, np.int64), np.zeros(3, np.int64), np.random.default_rng(0)
    for _ in range(30):
        waiting = env.games.is_over.copy()
        if mode is AutoresetMode.DISABLED and waiting.any():
            _, infos = env.reset(options={"reset_mask": waiting})
            length[waiting], waiting = 0, np.zeros(32, np.bool_)
        actions = [choose(rng, mask, 0.3) for mask in env.action_masks()]  # an illegal one ends the episode
        _, _, terminations, truncations, infos = env.step(np.array(actions))
        length = np.where(waiting, 0, length + 1)
        np.testing.assert_array_equal(truncations, length >= 2)
        assert not (terminations | truncations)[waiting].any()
        last = infos.get("final_info", infos)
        assert (last["place"][truncations & ~terminations] == -1).all()
        assert (last["place"][terminations] >= 0).all()
        assert last["action_mask"][terminations | truncations].any(axis=1).all()
        length[terminations | truncations] = 0 if mode is AutoresetMode.SAME_STEP else 9
        length[waiting] = 0
        ends += terminations.sum(), truncations.sum(), (terminations & truncations).sum()
    assert (ends > 0).all()


@pytest.mark.parametrize("limit", [0, -2, 1.5, "3"])
def test_limits_that_are_none(limit: Any) -> None:
    with pytest.raises(ValueError, match="max_episode_steps="):
        OneSeatVectorEnv(2, max_episode_steps=limit)


def test_unknown_keywords_are_refused_even_without_a_value() -> None:
    for make in (OneSeatEnv, OneSeatVectorEnv, tienlen_v1.env):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'frameskip'"):
            make(frameskip=None)
