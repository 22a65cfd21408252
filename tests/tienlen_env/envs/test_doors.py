"""The table of docs/use-with.md that compares the doors: each cell is what the door does when it is tried."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import tienlen_agents
from tests.needs import needs_jax, needs_minari, needs_openspiel, needs_pufferlib
from tienlen_agents import arena
from tienlen_env import tienlen_v1
from tienlen_env.single.painter import RENDER_MODES

PAGE = Path(__file__).parents[3] / "docs" / "use-with.md"
ID = "tienlen_env:tienlen_env/TienLen-v1"
NONE = "–"


def mask_text(mask: Any) -> str:
    """Which actions a mask allows, in a word."""
    legal = np.flatnonzero(mask).tolist()
    return {0: "none", len(mask): "all"}.get(len(legal), "action 0" if legal == [0] else "its own")


def read_only(actions: np.ndarray) -> np.ndarray:
    """Actions as no compiled code takes them: read-only, and every second number of an array."""
    strided = np.repeat(actions, 2)
    strided.flags.writeable = False
    return strided[::2]


def accepts(call: Callable[[], object]) -> bool:
    try:
        call()
    except (TypeError, ValueError, AssertionError):
        return False
    return True


class Door:
    """A door to one seat of games; the attributes are what the library makes of it.

    A subclass says how a decision is taken; the cells follow from what happens then.
    """

    name: ClassVar[str]
    games: ClassVar[int] = 1

    def make(self, **settings: Any) -> Any:
        return gymnasium.make(ID, **settings)

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        """The observations, (games, O)."""
        return np.reshape(env.reset(seed=seed)[0], (self.games, -1))

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        """Observations, whether game 0 has terminated, or is truncated, its last mask if that is apart."""
        seen, _, terminated, truncated, _ = env.step(actions[0])
        return seen[None], terminated, truncated, None

    def masks(self, env: Any) -> np.ndarray:
        return np.reshape(env.unwrapped.action_masks(), (self.games, -1))

    # ------------------------------------------------------------ cells

    def cells(self) -> list[str]:
        cells = [
            self.end,
            self.waiting_mask,
            self.seeds,
            self.unknown,
            self.dtypes,
            self.pictures,
            self.limit,
        ]
        return [cell() for cell in (*cells, self.arrays)]

    def played(self, env: Any) -> tuple[np.ndarray, Any]:
        """Play to the end of the episode of game 0."""
        self.reset(env, 3)
        over, mask = False, None
        while not over:
            actions = self.masks(env).argmax(1)
            seen, over, _, mask = self.step(env, actions)
        return seen, mask

    def end(self) -> str:
        env = self.make()
        seen, _ = self.played(env)
        if seen[0, :52].sum() == 13:  # a whole hand
            return "dealt anew in the same step"
        try:
            seen, over, _, _ = self.step(env, self.masks(env).argmax(1))
        except (ValueError, AssertionError):
            return "over until `reset`"
        return "over until `init`" if over else "dealt anew in the next step"

    def waiting_mask(self) -> str:
        env = self.make()
        seen, mask = self.played(env)
        if seen[0, :52].sum() == 13 and mask is None:
            return NONE
        return mask_text(self.masks(env)[0] if mask is None else mask)

    def seeds(self) -> str:
        quiet: dict[str, Any] = {"opponents": "greedy"}  # those that draw have one stream for all games
        env = self.make(**quiet)
        first, again, other = (self.reset(env, seed) for seed in (3, 3, 4))
        assert (first == again).all()
        assert (first != other).any()
        alone = np.concatenate([Door().reset(gymnasium.make(ID, **quiet), 3 + k) for k in range(self.games)])
        one = "s" if self.games == 1 else "s + k for game k" if (first == alone).all() else "s, one stream"
        try:
            found = self.reset(env, [3 + k for k in range(self.games)])
        except (TypeError, ValueError, gymnasium.error.Error):
            return one
        return f"{one}; a list: one each" if (found == alone).all() else f"{one}; a list is one seed"

    def unknown(self) -> str:
        with pytest.raises(Exception, match="frameskip") as caught:
            self.make(frameskip=1)
        if caught.type is TypeError:
            assert "got an unexpected keyword argument 'frameskip'" in str(caught.value)
        return caught.type.__name__

    def dtypes(self) -> str:
        names = {str(self.reset(self.make(), 3).dtype)}
        for name in ("uint8", "float32"):
            if accepts(lambda name=name: self.make(dtype=name)):  # type: ignore[misc]
                names.add(str(self.reset(self.make(dtype=name), 3).dtype))
        return ", ".join(sorted(names, reverse=True))

    def pictures(self) -> str:
        found = [mode for mode in RENDER_MODES if accepts(lambda mode=mode: self.picture(mode))]  # type: ignore[misc]
        return "all four" if found == list(RENDER_MODES) else ", ".join(found) or "none"

    def picture(self, mode: str) -> None:
        env = self.make(render_mode=mode)
        self.reset(env, 3)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            env.render()
        assert bool(out.getvalue()) == (mode == "human")

    def limit(self) -> str:
        def run() -> None:
            env = self.make(max_episode_steps=2)
            self.reset(env, 3)
            assert [self.step(env, self.masks(env).argmax(1))[2] for _ in range(2)] == [False, True]

        return "`max_episode_steps`" if accepts(run) else "no"

    def arrays(self) -> str:
        env = self.make()
        self.reset(env, 3)
        expected = self.step(env, self.masks(env).argmax(1))[0]
        self.reset(env, 3)
        assert (self.step(env, read_only(self.masks(env).argmax(1)))[0] == expected).all()
        return "yes"


class Make(Door):
    name = "`gymnasium.make`"


class Vector(Door):
    games = 3
    mode: ClassVar[str] = "SameStep"
    settings: ClassVar[dict[str, Any]] = {}

    def make(self, **settings: Any) -> Any:
        return gymnasium.make_vec(ID, num_envs=3, **{**self.settings, **settings})

    def masks(self, env: Any) -> np.ndarray:
        return self.last

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        seen, infos = env.reset(seed=seed)
        self.last = infos["action_mask"]
        return seen

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        seen, _, terminated, truncated, infos = env.step(actions)
        self.last, final = infos["action_mask"], infos.get("final_info")
        mask = final["action_mask"][0] if final is not None and infos["_final_info"][0] else None
        return seen, terminated[0], truncated[0], mask


class SameStep(Vector):
    name = "`make_vec`"


class NextStep(Vector):
    name = '`make_vec`, `autoreset_mode="NextStep"`'
    settings: ClassVar[dict[str, Any]] = {"autoreset_mode": "NextStep"}


class Disabled(Vector):
    name = '`make_vec`, `autoreset_mode="Disabled"`'
    settings: ClassVar[dict[str, Any]] = {"autoreset_mode": "Disabled"}

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        seen, over, is_cut, mask = super().step(env, actions)
        others = env.games.is_over & (np.arange(3) > 0)
        if others.any():
            env.reset(options={"reset_mask": others})
            self.last = env.action_masks()
        return seen, over, is_cut, mask


class Sync(Vector):
    name = '`make_vec`, `vectorization_mode="sync"`'
    settings: ClassVar[dict[str, Any]] = {"vectorization_mode": "sync"}


class SyncSameStep(Vector):
    name = "the same, `SAME_STEP` in `vector_kwargs`"
    settings: ClassVar[dict[str, Any]] = {
        "vectorization_mode": "sync",
        "vector_kwargs": {"autoreset_mode": AutoresetMode.SAME_STEP},
    }


class StableBaselines(Door):
    name = "`OneSeatVecEnv` (SB3)"
    games = 3

    def make(self, **settings: Any) -> Any:
        from tienlen_env.envs.sb3 import OneSeatVecEnv

        return OneSeatVecEnv(3, **{"illegal": "terminate", **settings})

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        env.seed(seed)
        return env.reset()

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        seen, _, dones, infos = env.step(actions)
        is_cut = infos[0]["TimeLimit.truncated"]
        return seen, dones[0] and not is_cut, is_cut, None

    def masks(self, env: Any) -> np.ndarray:
        return env.action_masks()


class AEC(Door):
    name = "PettingZoo AEC"

    def make(self, **settings: Any) -> Any:
        return tienlen_v1.env(**settings)

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        env.reset(seed=seed)
        return env.last()[0]["observation"][None]

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        env.step(actions[0])
        seen, _, terminated, truncated, _ = env.last()
        return seen["observation"][None], terminated, truncated, None

    def masks(self, env: Any) -> np.ndarray:
        return env.last()[0]["action_mask"][None]

    def waiting_mask(self) -> str:
        env = self.make()
        self.reset(env, 3)
        others = [env.observe(agent)["action_mask"] for agent in env.agents if agent != env.agent_selection]
        assert {mask_text(mask) for mask in others} == {super().waiting_mask()}
        return super().waiting_mask()

    def seeds(self) -> str:
        env = self.make()
        first, again, other = (self.reset(env, seed) for seed in (3, 3, 4))
        assert (first == again).all()
        assert (first != other).any()
        return "s" if not accepts(lambda: self.reset(env, [3])) else "s; a list is one seed"


class Puffer(AEC):
    name = "`SelfPlayPufferEnv`"
    games = 4  # the seats of one game

    def make(self, **settings: Any) -> Any:
        from tienlen_bridges.pufferlib import SelfPlayPufferEnv

        return SelfPlayPufferEnv("cardgames", 1, **settings)

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        return env.split(env.reset(seed)[0])[1].copy()

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        rows, _, terminals, truncations, _ = env.step(actions)
        return env.split(rows)[1].copy(), terminals[0], truncations[0], None

    def masks(self, env: Any) -> np.ndarray:
        return env.split(env.observations)[0]

    def waiting_mask(self) -> str:
        env = self.make()
        self.reset(env, 3)
        (found,) = {mask_text(mask) for mask in self.masks(env)[~env.masks]}
        return found


class Jax(Door):
    name = "`tienlen_bridges.jax.Env`"
    settings: ClassVar[dict[str, Any]] = {}

    def make(self, **settings: Any) -> Any:
        from tienlen_bridges.jax import Env

        return Env("cardgames", **{**self.settings, **settings})

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        import jax

        self.now = env.init(jax.random.key(seed))
        return np.asarray(self.now.observation)[None]

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        self.now = env.step(self.now, actions[0])
        now = self.now
        return np.asarray(now.observation)[None], bool(now.terminated), bool(now.truncated), None

    def masks(self, env: Any) -> np.ndarray:
        return np.asarray(self.now.legal_action_mask)[None]

    def seeds(self) -> str:
        import jax

        env, keys = self.make(), jax.random.split(jax.random.key(3), 3)
        for key, seen in zip(keys, jax.vmap(env.init)(keys).observation, strict=True):
            assert (env.init(key).observation == seen).all()
        return "a key for each game"

    def pictures(self) -> str:
        assert super().pictures() == "none"
        self.reset(self.make(), 3)
        return "`to_svg`" if self.now.to_svg().startswith("<svg") else "none"


class JaxAutoReset(Jax):
    name = "the same, `auto_reset=True`"
    settings: ClassVar[dict[str, Any]] = {"auto_reset": True}


class OpenSpiel(Door):
    name = "OpenSpiel"

    def make(self, **settings: Any) -> Any:
        import pyspiel

        import tienlen_bridges.openspiel  # noqa: F401 - registers the games

        given = ",".join(f"{name}={value}" for name, value in settings.items())
        return pyspiel.load_game(f"python_tienlen({given})")

    def reset(self, env: Any, seed: Any = None) -> np.ndarray:
        self.state, rng = env.new_initial_state(), np.random.default_rng(seed)
        while self.state.is_chance_node():
            self.state.apply_action(int(rng.choice([outcome for outcome, _ in self.state.chance_outcomes()])))
        return self.seen()

    def seen(self) -> np.ndarray:
        return np.asarray(self.state.observation_tensor(max(0, self.state.current_player())), np.float32)[
            None
        ]

    def step(self, env: Any, actions: np.ndarray) -> tuple[np.ndarray, bool, bool, Any]:
        self.state.apply_action(actions[0])
        return self.seen(), self.state.is_terminal(), False, None

    def masks(self, env: Any) -> np.ndarray:
        mask = np.zeros(env.num_distinct_actions(), np.int8)
        mask[self.state.legal_actions()] = 1
        return mask[None]

    def end(self) -> str:
        self.played(self.make())
        assert self.state.is_terminal()
        return "a terminal state"

    def waiting_mask(self) -> str:
        self.played(self.make())
        found = mask_text(self.state.legal_actions_mask(0)) if self.state.legal_actions_mask(0) else "none"
        self.reset(self.make(), 3)
        other = (self.state.current_player() + 1) % 4
        assert not any(self.state.legal_actions_mask(other))
        return found

    def seeds(self) -> str:
        assert self.make().new_initial_state().is_chance_node()
        return "none: chance is explicit"

    def dtypes(self) -> str:
        return str(self.reset(self.make(), 3).dtype)

    def pictures(self) -> str:
        self.reset(self.make(), 3)
        return (
            "text, by `str`"
            if "♠" in str(self.state) or re.search(r"\b3[scdh]\b", str(self.state))
            else "none"
        )

    def limit(self) -> str:
        return "no"


class Minari(Door):
    name = "`to_minari`"

    def data(self, **settings: Any) -> Any:
        from tienlen_data import DataConfig, write_data
        from tienlen_data.minari import to_minari

        folder = self.folder / "data"
        write_data(DataConfig(rules="cardgames", agents="greedy", rounds=2), folder)
        return to_minari(
            folder, "tienlen/doors-v0", author="a", author_email="a@b.c", code_permalink="x", **settings
        )

    def cells(self) -> list[str]:
        import minari

        with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'"):
            self.data(frameskip=1)
        dataset = self.data()
        episode = dataset[0]
        assert len(episode.observations) == len(episode.actions) + 1
        assert episode.terminations[-1]
        assert not episode.truncations.any()
        made = dataset.recover_environment()
        assert isinstance(made.unwrapped, type(gymnasium.make(ID).unwrapped))
        minari.delete_dataset("tienlen/doors-v0")
        return [
            "the end of an episode",
            mask_text(episode.infos["action_mask"][-1]),
            NONE,
            "TypeError",
            str(episode.observations.dtype),
            NONE,
            "no",
            NONE,
        ]


BOT = """
import json, sys
log = open(sys.argv[1], "a")
for line in sys.stdin:
    message = json.loads(line)
    log.write(line)
    log.flush()
    if message["type"] == "hello":
        print(json.dumps({"type": "ready", "version": 1}), flush=True)
    elif message["type"] == "play":
        print(json.dumps({"id": message["id"], "cards": message["legal"][-1]}), flush=True)
"""


class Program(Door):
    name = "a program (`process:`)"

    def cells(self) -> list[str]:
        bot, log = self.folder / "bot.py", self.folder / "log"
        bot.write_text(BOT)
        program = f'process:"{sys.executable}" "{bot}" "{log}"'
        assert not arena.match(program, "random", num_deals=2).scores[0].forfeits
        messages = [json.loads(line) for line in log.read_text().splitlines()]
        kinds = {message["type"] for message in messages}
        assert kinds == {"hello", "reset", "play"}
        assert all(message["legal"] for message in messages if message["type"] == "play")
        with pytest.raises(ValueError, match="frameskip") as caught:
            tienlen_agents.load(f"{program},frameskip=1")
        seed = "`reset` has it" if any("seed" in m for m in messages if m["type"] == "reset") else "none"
        return ["no message", "not asked", seed, caught.type.__name__, NONE, "none", "no", NONE]


ALL = [
    AEC,
    Make,
    SameStep,
    NextStep,
    Disabled,
    Sync,
    SyncSameStep,
    StableBaselines,
    pytest.param(Puffer, marks=needs_pufferlib),
    pytest.param(Jax, marks=needs_jax),
    pytest.param(JaxAutoReset, marks=needs_jax),
    pytest.param(OpenSpiel, marks=needs_openspiel),
    pytest.param(Minari, marks=needs_minari),
    Program,
]


def rows() -> dict[str, list[str]]:
    """The cells of the page by the door's name."""
    text = PAGE.read_text(encoding="utf-8").partition("## Doors side by side\n")[2].partition("\n## ")[0]
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {name: cells for name, *cells in table[1:]}


@pytest.mark.parametrize("door", ALL)
def test_the_page_says_what_a_door_does(
    door: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    tried = door()
    tried.folder = tmp_path
    assert " | ".join(tried.cells()) == " | ".join(rows().get(door.name, []))


def test_every_row_is_tried() -> None:
    doors = [getattr(door, "values", (door,))[0] for door in ALL]
    assert list(rows()) == [door.name for door in doors]
