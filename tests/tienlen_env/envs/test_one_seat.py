"""The one-seat games and their adapters against a slow, plain simulation, and the promises of each API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from tests.games import copies
from tienlen_env.engine import batch as batch_module
from tienlen_env.engine.agent import RandomAgent, View
from tienlen_env.engine.backends.python import Loops, python_loops
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.envs.pettingzoo import GameEnv
from tienlen_env.envs.vector import OneSeatVectorEnv, SelfPlayEnv
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.common.game import AnyGame
from tienlen_env.games.common.spec import NUM_WORDS
from tienlen_env.games.tienlen.rules import PRESETS, get_rules
from tienlen_env.games.tienlen.state import COLUMNS

REWARDS = ("points", "zero_sum", "win", "cards")


def hashed_choice(mask: np.ndarray, hand: int, table: int, salt: int) -> int:
    """An arbitrary legal action that depends on the decision alone."""
    legal = np.flatnonzero(mask)
    return int(legal[(hand * 2654435761 + table * 40503 + salt * 97) % 1_000_003 % len(legal)])


class HashAgent:
    """Deterministic and without order of calls: the same decision always gets the same answer."""

    def __init__(self, salt: int) -> None:
        self.name = f"hash {salt}"
        self.salt = salt
        self.seeds: list[int] = []
        self.num_decisions = 0

    def reset(self, seed: int) -> None:
        self.seeds.append(seed)

    def act(self, view: View) -> np.ndarray:
        self.num_decisions += len(view)
        decisions = zip(view.action_mask, view.hand.tolist(), view.table_action.tolist(), strict=True)
        return np.array([hashed_choice(*decision, self.salt) for decision in decisions])


class Plain:
    """One game, seat by seat, in the reference backend: what `OneSeatGames` must do."""

    def __init__(self, games: OneSeatGames, game: int, skip_forced: bool) -> None:
        fast = games.batch
        self.batch = Batch(
            fast.rules, 1, episode=fast.episode, reward=fast.reward, history=fast.history, backend="python"
        )
        self.batch.deal(fast.state.key[[game]])
        self.seat = int(games.seat[game])
        self.agents = [[*games._agents, None][i] for i in games._player[game]]
        self.skip_forced = skip_forced
        self.reward = 0.0
        self.play_on()

    @property
    def is_over(self) -> bool:
        place = int(self.batch.state.places[0, self.seat])
        return int(self.batch.state.turn[0]) < 0 or (self.batch.episode == "round" and place >= 0)

    def choose(self, salt: int) -> int:
        turn = int(self.batch.state.turn[0])
        hand, table = int(self.batch.state.hands[0, turn]), int(self.batch.state.table[0])
        return hashed_choice(self.batch.action_mask()[0], hand, table, salt)

    def move(self, action: int) -> None:
        rewards, _ = self.batch.step([action])
        self.reward += float(rewards[0, self.seat])

    def play_on(self) -> None:
        while not self.is_over:
            agent = self.agents[int(self.batch.state.turn[0])]
            if agent is not None:
                self.move(self.choose(agent.salt))
            elif self.skip_forced and self.batch.count_legal()[0] == 1:
                self.move(self.choose(0))
            else:
                return

    def step(self, action: int) -> float:
        self.move(action)
        self.play_on()
        reward, self.reward = self.reward, 0.0
        return reward

    def observe(self) -> np.ndarray:
        return self.batch.observe(self.seat)[0]


def place_reward(rules: Any, reward: str, place: int) -> float:
    points = rules.place_points
    return {
        "points": points[place],
        "zero_sum": points[place] - sum(points) / len(points),
        "win": 1 if place == 0 else -1,
    }[reward]


@pytest.mark.parametrize(
    ("rules", "players", "episode", "reward", "skip_forced", "num_steps"),
    [
        ("cardgames", 4, "round", "points", True, 45),
        ("cardgames", 4, "round", "zero_sum", False, 60),
        ("cardgames", 2, "round", "cards", True, 40),
        ("cardgames", 4, "game", "points", True, 120),
        ("mobile", 3, "game", "zero_sum", False, 120),
        ("foicica", 4, "round", "win", True, 45),
        ("foicica", 3, "round", "cards", False, 45),
        ("pagat", 4, "round", "points", True, 45),
    ],
)
def test_same_as_a_plain_simulation(
    rules: str, players: int, episode: Any, reward: Any, skip_forced: bool, num_steps: int
) -> None:
    """What was earned while others moved reaches the learner, in the step of its last decision."""
    num_games = 12
    games = OneSeatGames(
        rules,
        num_games,
        num_players=players,
        episode=episode,
        reward=reward,
        opponents=[HashAgent(1), HashAgent(2)],
        probabilities=[0.7, 0.3],
        skip_forced=skip_forced,
    )
    games.reset(5)
    plain = [Plain(games, game, skip_forced) for game in range(num_games)]
    total = np.zeros(num_games)
    num_finished = 0
    observation = np.empty((num_games, games.batch.observation_size), np.uint8)
    mask = np.empty((num_games, games.batch.num_actions), np.int8)
    for _ in range(num_steps):
        games.observe(observation, mask)
        for game, slow in enumerate(plain):
            np.testing.assert_array_equal(observation[game], slow.observe())
            np.testing.assert_array_equal(mask[game], slow.batch.action_mask()[0])
            assert slow.batch.state.turn[0] == slow.seat
        actions = np.array([slow.choose(3) for slow in plain])
        games.step(actions)
        finished = {game: i for i, game in enumerate(games.finished.game.tolist())}
        for game, slow in enumerate(plain):
            expected = slow.step(int(actions[game]))
            assert games.rewards[game] == expected
            assert games.terminations[game] == slow.is_over == (game in finished)
            total[game] += expected
            if game in finished:
                num_finished += 1
                i = finished[game]
                place = int(slow.batch.state.places[0, slow.seat])
                assert games.finished.place[i] == place
                assert games.finished.total[i] == total[game]
                np.testing.assert_array_equal(games.finished.observation[i], slow.observe())
                if episode == "round" and reward != "cards":
                    assert total[game] == place_reward(games.batch.rules, reward, place)
                plain[game] = Plain(games, game, skip_forced)
                total[game] = 0
    assert num_finished > (num_games if episode == "round" else 0)


def test_knocked_out_player_pays_its_cards() -> None:
    """With knockout="round" and reward "cards" the reward comes after the place: the round is played out."""
    rules = get_rules("foicica", 4).__class__(**{**vars_of(get_rules("foicica")), "knockout": "round"})
    games = OneSeatGames(rules, 64, reward="cards", opponents="random")
    games.reset(0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        games.step(games.batch.sample(rng))
        for place, total in zip(games.finished.place.tolist(), games.finished.total.tolist(), strict=True):
            assert total > 0 if place == 0 else total < 0


def vars_of(rules: Any) -> dict[str, Any]:
    return {field: getattr(rules, field) for field in rules.__dataclass_fields__}


def test_forced_decisions_are_skipped() -> None:
    games = OneSeatGames("cardgames", 64, skip_forced=True)
    games.reset(0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        assert (games.batch.count_legal() > 1).all()
        games.step(games.batch.sample(rng))


def test_learner_sits_everywhere_and_opponents_come_by_their_shares() -> None:
    agents = [HashAgent(1), HashAgent(2), HashAgent(3)]
    games = OneSeatGames("cardgames", 4000, opponents=agents, probabilities=[0.5, 0.3, 0.2])
    games._rng = np.random.default_rng(0)
    games._deal(np.arange(4000))
    np.testing.assert_allclose(np.bincount(games.seat) / 4000, 0.25, atol=0.03)
    others = games._player[games._player < len(games._agents)]
    assert others.size == 4000 * 3
    np.testing.assert_allclose(np.bincount(others) / others.size, [0.5, 0.3, 0.2], atol=0.03)
    assert (games._player[np.arange(4000), games.seat] == len(games._agents)).all()


def test_opponents_that_look_back_see_the_round() -> None:
    """Also those that come while games are under way: from then on."""
    seen = []

    class Looking(RandomAgent):
        history = 7

        def act(self, view: View) -> Any:
            seen.append(int((view.last_plays[1] >= 0).sum(axis=1).max()))
            return super().act(view)

    games = OneSeatGames("cardgames", 6, history=2)
    assert games.batch.state.history.shape == (6, 2)
    games.reset(3)
    rng = np.random.default_rng(3)
    games.step(games.batch.sample(rng))
    rows = games.batch.kernel_arrays.rows.copy()
    games.set_opponents(Looking())
    assert games.batch.state.history.shape == (6, 7)
    assert np.array_equal(games.batch.kernel_arrays.rows[:, : rows.shape[1]], rows)
    assert games.batch.observation_size == OneSeatGames("cardgames", history=2).batch.observation_size
    for _ in range(10):
        games.step(games.batch.sample(rng))
    assert max(seen) == 7
    games.set_opponents("random")
    assert games.batch.state.history.shape == (6, 7)  # what was kept stays


def test_set_opponents_under_way() -> None:
    games = OneSeatGames("cardgames", 16, opponents=[HashAgent(1), HashAgent(2), HashAgent(3)])
    games.reset(0)
    rng = np.random.default_rng(0)
    games.step(games.batch.sample(rng))
    agent = HashAgent(9)
    games.set_opponents([agent])
    games.step(games.batch.sample(rng))
    assert agent.num_decisions > 16
    games.set_opponents([agent, HashAgent(4)], [0, 1])
    asked = agent.num_decisions
    for _ in range(5):
        games.step(games.batch.sample(rng))
    assert agent.num_decisions == asked
    games.reset(3)
    assert len(agent.seeds) == 1
    for opponents, probabilities in [
        ([], None),
        ("nobody", None),
        ([object()], None),
        ([agent], [1, 2]),
        ([agent], [0]),
        ([agent, agent], [1, -1]),
        ([agent], [float("nan")]),
    ]:
        with pytest.raises(ValueError, match=r"opponents|probabilities"):
            games.set_opponents(opponents, probabilities)


@pytest.mark.parametrize(
    "make", [lambda n: OneSeatGames("cardgames", n), lambda n: OneSeatVectorEnv(n, illegal="raise").games]
)
def test_illegal_action_moves_no_game(make: Any) -> None:
    games = make(8)
    games.reset(1)
    rng = np.random.default_rng(0)
    before = games.batch.kernel_arrays.rows.copy()
    actions = games.batch.sample(rng)
    for bad in (-1, 453, int(np.flatnonzero(games.batch.action_mask()[5] == 0)[0])):
        actions[5] = bad
        with pytest.raises(IllegalPlayError, match="game 5"):
            games.step(actions)
    with pytest.raises(ValueError, match="shape"):
        games.step(actions[:3])
    with pytest.raises(ValueError, match="integers"):
        games.step(actions.astype(float))
    np.testing.assert_array_equal(games.batch.kernel_arrays.rows, before)


@pytest.mark.parametrize("rules", PRESETS)
def test_backends_agree(rules: str) -> None:
    runs = [OneSeatGames(rules, 6, backend=backend) for backend in ("numba", "python")]
    for games in runs:
        games.reset(4)
    rng = np.random.default_rng(4)
    for _ in range(25):
        actions = runs[0].batch.sample(rng)
        for games in runs:
            games.step(actions)
        np.testing.assert_array_equal(runs[0].batch.kernel_arrays.rows, runs[1].batch.kernel_arrays.rows)
        np.testing.assert_array_equal(runs[0].rewards, runs[1].rewards)


# ------------------------------------------------------------ Gymnasium's VectorEnv


def run(env: Any, num_steps: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    observation, infos = env.reset(seed=seed)
    record = [(observation.copy(), infos["action_mask"].copy())]
    for _ in range(num_steps):
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in infos["action_mask"]])
        observation, rewards, terminations, _, infos = env.step(actions)
        record.append((observation.copy(), infos["action_mask"].copy(), rewards.copy(), terminations.copy()))
    return record


def test_vector_env_follows_gymnasium() -> None:
    env = gymnasium.make_vec("tienlen_env/TienLen-v1", num_envs=5, vectorization_mode="vector_entry_point")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    rng = np.random.default_rng(0)
    observation, infos = env.reset(seed=3)
    num_done = 0
    for _ in range(60):
        assert env.observation_space.contains(observation)
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in infos["action_mask"]])
        assert env.action_space.contains(actions)
        observation, rewards, terminations, truncations, infos = env.step(actions)
        assert rewards.shape == terminations.shape == truncations.shape == (5,)
        assert terminations.dtype == truncations.dtype == np.bool_
        assert not truncations.any()
        if terminations.any():
            np.testing.assert_array_equal(infos["_final_obs"], terminations)
            for game in range(5):
                final = infos["final_obs"][game]
                assert (final is not None) == terminations[game]
                assert final is None or env.single_observation_space.contains(final)
                if terminations[game] and infos["final_info"]["place"][game] < 3:
                    layout = env.unwrapped.games.batch.layout
                    assert not final[layout["hand"].slice].any()
        num_done += int(terminations.sum())
    assert num_done > 5
    env.close()


def test_vector_env_under_gymnasiums_wrappers() -> None:
    env = RecordEpisodeStatistics(OneSeatVectorEnv(8, reward="zero_sum"))
    rng = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    seen = 0
    for _ in range(50):
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in infos["action_mask"]])
        _, _, terminations, _, infos = env.step(actions)
        finished = env.unwrapped.games.finished
        for game, total, length in zip(finished.game, finished.total, finished.length, strict=True):
            assert terminations[game]
            assert infos["episode"]["r"][game] == total
            if tuple(map(int, gymnasium.__version__.split(".")[:2])) >= (1, 4):
                assert infos["episode"]["l"][game] == length
            else:  # older ones leave out the step when a game was dealt anew
                assert infos["episode"]["l"][game] in (length - 1, length)
            seen += 1
    assert seen > 8
    listed = DictInfoToList(OneSeatVectorEnv(3))
    _, infos_list = listed.reset(seed=0)
    assert [sorted(info) for info in infos_list] == [["action_mask", "illegal", "place", "seat", "units"]] * 3


def test_vector_env_is_reproducible_and_hands_out_its_own_arrays() -> None:
    for copy in (True, False):
        first, second = (run(OneSeatVectorEnv(4, copy=copy), 40, seed=9) for _ in range(2))
        for a, b in zip(first, second, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)
    env = OneSeatVectorEnv(4)
    observation, infos = env.reset(seed=0)
    kept = observation.copy(), infos["action_mask"].copy()
    for _ in range(3):
        env.step(np.array([np.flatnonzero(row)[0] for row in env.action_masks()]))
    np.testing.assert_array_equal(observation, kept[0])
    np.testing.assert_array_equal(infos["action_mask"], kept[1])
    env = OneSeatVectorEnv(4, copy=False, render_mode="ansi")
    observation, _ = env.reset(seed=0)
    kept_once = observation.copy()
    env.step(np.array([np.flatnonzero(row)[0] for row in env.action_masks()]))
    np.testing.assert_array_equal(observation, kept_once)
    pictures = env.render()
    assert pictures is not None
    assert len(pictures) == 4


# ------------------------------------------------------------ self-play


@pytest.mark.parametrize("rules", PRESETS)
@pytest.mark.parametrize("players", [2, 4])
def test_self_play_is_the_batch(rules: str, players: int) -> None:
    env = SelfPlayEnv(rules, 32, num_players=players, reward="zero_sum", history=3)
    batch = Batch(rules, 32, num_players=players, reward="zero_sum", history=3, auto_reset=True)
    rng = np.random.default_rng(0)
    now = env.reset(seed=6)
    batch.reset(6)
    num_done = 0
    earlier: tuple[Any, list[np.ndarray]] | None = None
    for _ in range(150):
        np.testing.assert_array_equal(now.observation, batch.observe())
        np.testing.assert_array_equal(now.action_mask, batch.action_mask())
        np.testing.assert_array_equal(now.seat, batch.state.turn)
        if earlier is not None:  # what the last call returned is still as it was
            for live, kept in zip(*earlier, strict=True):
                np.testing.assert_array_equal(live, kept)
        earlier = now, [array.copy() for array in now]
        actions = batch.sample(rng)
        now = env.step(actions)
        rewards, dones = batch.step(actions)
        np.testing.assert_array_equal(now.rewards, rewards)
        np.testing.assert_array_equal(now.terminations, dones)
        num_done += int(dones.sum())
    assert num_done > 32


def test_random_agent_is_an_even_match() -> None:
    """A random learner among random opponents: ends and deals favour no seat."""
    games = OneSeatGames("cardgames", 512, reward="zero_sum", opponents=RandomAgent(), skip_forced=False)
    games.reset(0)
    rng = np.random.default_rng(0)
    totals = []
    for _ in range(120):
        games.step(games.batch.sample(rng))
        totals.append(games.finished.total)
    total = np.concatenate(totals)
    assert abs(total.mean()) < 4 * total.std() / np.sqrt(len(total))


# ------------------------------------------------------------ copies, names


@pytest.mark.parametrize("rules", ["cardgames", "thirteens_manual"])
@copies
def test_copies_of_batched_environments_go_on_alike(rules: str, duplicate: Callable[[Any], Any]) -> None:
    """Deals, opponents and the learner's seats come from the same streams afterwards."""
    pool = {"opponents": ["random", RandomAgent()], "probabilities": [0.4, 0.6], "line_up": False}
    rng = np.random.default_rng(0)
    for env in (
        OneSeatVectorEnv(5, rules=rules, **pool),
        OneSeatVectorEnv(5, rules=rules, copy=False),
        SelfPlayEnv(rules, 5),
    ):
        is_self_play = isinstance(env, SelfPlayEnv)

        def play(env: Any, actions: np.ndarray, is_self_play: bool = is_self_play) -> list[np.ndarray]:
            after = env.step(actions)
            return [*after] if is_self_play else [*after[:3], after[4]["action_mask"]]

        env.reset(seed=1)
        for _ in range(7):
            env.step(random_actions(env, rng))
        other = duplicate(env)
        for _ in range(60):
            actions = random_actions(env, rng)
            for mine, theirs in zip(play(env, actions), play(other, actions), strict=True):
                np.testing.assert_array_equal(mine, theirs)
        other.reset()
        env.step(random_actions(env, rng))  # the two share nothing


@copies
def test_copies_of_the_gymnasium_environment_go_on_alike(duplicate: Callable[[Any], Any]) -> None:
    for seed in range(4):
        env = gymnasium.make("tienlen_env/TienLen-v1", opponents=[RandomAgent(), "random", "random"])
        _, info = env.reset(seed=seed)
        other = duplicate(env)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            terminated = False
            while not terminated:
                action = int(rng.choice(np.flatnonzero(info["action_mask"])))
                observation, reward, terminated, _, info = env.step(action)
                found = other.step(action)
                np.testing.assert_array_equal(observation, found[0])
                assert (reward, terminated) == (found[1], found[2])
            _, info = env.reset()
            other.reset()


def random_actions(env: Any, rng: np.random.Generator) -> np.ndarray:
    return (env.batch if isinstance(env, SelfPlayEnv) else env.games.batch).sample(rng)


@pytest.mark.parametrize("rules", ["cardgames", "thirteens_manual"])
def test_actions_have_names(rules: str) -> None:
    for env in (OneSeatEnv(rules), OneSeatVectorEnv(2, rules=rules), SelfPlayEnv(rules)):
        batch = env.batch if isinstance(env, SelfPlayEnv) else env.games.batch
        for action in range(0, batch.num_actions, 7):
            assert env.text_to_action(env.action_to_text(action)) == action


class Named(RandomAgent):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that offers agents by name."""

    def load_agent(name: str) -> Named:
        if name == "nobody":
            raise ValueError("no agent has this name")
        return Named(name)

    monkeypatch.setattr("tienlen_env.envs.one_seat.load_agent", load_agent)


@pytest.mark.usefixtures("loader")
def test_opponents_by_name() -> None:
    def names(games: OneSeatGames) -> list[str]:
        return [agent.name for agent in games._agents]

    assert names(gymnasium.make("tienlen_env/TienLen-v1", opponents="a").unwrapped.games) == ["a"] * 3
    several = ["a", RandomAgent(), "a"]
    found = gymnasium.make("tienlen_env/Thirteens-v1", opponents=several).unwrapped.games
    assert names(found) == ["a", "random", "a"]
    assert found._agents[0] is not found._agents[2]
    envs = gymnasium.make_vec("tienlen_env/TienLen-v1", num_envs=2, opponents=["a", "b"], line_up=False)
    assert names(envs.unwrapped.games) == ["a", "b"]
    envs.unwrapped.set_opponents("c")
    assert names(envs.unwrapped.games) == ["c"]
    with pytest.raises(ValueError, match="opponents='nobody': no agent has this name"):
        OneSeatGames("cardgames", opponents="nobody")


def test_an_opponents_illegal_action_is_not_the_learners() -> None:
    class Cheat(RandomAgent):
        def act(self, view: View) -> np.ndarray:
            return np.full(len(view), 452)

    env = OneSeatEnv(opponents=Cheat(), seat=0)

    def play() -> None:
        for seed in range(9):
            _, info = env.reset(seed=seed)
            env.step(int(np.flatnonzero(info["action_mask"])[0]))

    with pytest.raises(IllegalPlayError, match="action 452"):
        play()


# ------------------------------------------------------------ deals without a decision, or with a forced one


@pytest.fixture
def strange_deals(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change the rows of some deals of the reference backend."""

    def use(change: Callable[[np.ndarray, int], None]) -> None:
        def strange_loops(name: str, game: AnyGame, threads: int) -> Loops:
            loops = python_loops(game)

            def begin(rows: np.ndarray, spec: Any, table: Any, keys: Any, *rest: Any) -> None:
                loops.begin(rows, spec, table, keys, *rest)
                for row, key in zip(rows, keys.tolist(), strict=True):
                    if key % 3 == 0:
                        change(row, int(spec[NUM_WORDS]))

            return loops._replace(begin=begin)

        monkeypatch.setattr(batch_module, "get_backend", strange_loops)

    return use


def end_at_once(row: np.ndarray, num_words: int) -> None:
    row[COLUMNS.turn] = -1
    row[COLUMNS.legal :][:num_words] = 0


def leave_one_action(row: np.ndarray, num_words: int) -> None:
    words = row[COLUMNS.legal :][:num_words]
    first = int(np.flatnonzero(words)[0])
    keep = int(words[first]) & -int(words[first])
    words[:] = 0
    words[first] = keep


def test_games_that_are_over_right_after_dealing(strange_deals: Any) -> None:
    strange_deals(end_at_once)
    rng = np.random.default_rng(0)
    for skip_forced in (False, True):
        games = OneSeatGames("cardgames", 24, backend="python", skip_forced=skip_forced)
        games.reset(0)
        for _ in range(15):
            assert (games.batch.state.turn == games.seat).all()
            games.step(games.batch.sample(rng))
    env = SelfPlayEnv("cardgames", 24, backend="python")
    now = env.reset(0)
    for _ in range(30):
        assert (now.seat >= 0).all()
        assert now.action_mask.any(axis=1).all()
        np.testing.assert_array_equal(now.observation, env.batch.observe())
        now = env.step(env.batch.sample(rng))
    one = OneSeatEnv(backend="python")
    for seed in range(12):
        _, info = one.reset(seed=seed)
        assert info["action_mask"].any()
        one.step(int(np.flatnonzero(info["action_mask"])[0]))
    aec = GameEnv("cardgames", backend="python")
    aec.reset(options={"key": 3})
    assert set(aec.terminations.values()) == {True}
    assert aec.agent_selection == "player_0"
    for agent in aec.agent_iter():
        observation, reward, termination, _, info = aec.last()
        assert termination
        assert reward == 0
        assert not observation["action_mask"].any()
        assert set(info) == {"place", "score", "units"}
        aec.step(None)
        assert agent not in aec.agents
    aec.reset(options={"key": 4})
    assert set(aec.terminations.values()) == {False}


@pytest.mark.parametrize("skip_forced", [False, True])
def test_first_decisions_that_are_forced(strange_deals: Any, skip_forced: bool) -> None:
    strange_deals(leave_one_action)
    rng = np.random.default_rng(0)
    games = OneSeatGames("cardgames", 24, backend="python", skip_forced=skip_forced)
    num_forced = 0
    for seed in range(6):
        games.reset(seed)
        assert (games.batch.state.turn == games.seat).all()
        num_forced += int((games.batch.count_legal() == 1).sum())
        games.step(games.batch.sample(rng))
    assert (num_forced == 0) == skip_forced
    for maker in (
        lambda: SelfPlayEnv("cardgames", 6, backend="python"),
        lambda: OneSeatVectorEnv(6, rules="cardgames", skip_forced=skip_forced, backend="python"),
    ):
        env = maker()
        env.reset(seed=0)
        for _ in range(20):
            env.step(random_actions(env, rng))
    aec = GameEnv("cardgames", backend="python")
    aec.reset(options={"key": 3})
    assert aec.last()[0]["action_mask"].sum() == 1
    aec.step(int(aec.last()[0]["action_mask"].argmax()))


def test_agents_of_the_package_play_by_name() -> None:
    import tienlen_agents  # registers its agents, as an installed package does by its entry point

    opponents = ["greedy", "greedy_long", "random"]
    games = gymnasium.make("tienlen_env/TienLen-v1", opponents=opponents).unwrapped.games
    assert [type(agent) for agent in games._agents] == [type(tienlen_agents.load(name)) for name in opponents]
    with pytest.raises(ValueError, match="opponents='nobody'"):
        OneSeatGames("cardgames", opponents="nobody")
