"""What a policy reads of an observation does not depend on what else an observation shows."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import tienlen_agents
import tienlen_env  # noqa: F401  registers the environments
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import game_of, get_rules

ROOT = Path(__file__).parents[3]
FILES = sorted(WEIGHTS.rglob("*.safetensors"))


def some_view(rules: str, num_games: int, history: int = 0) -> View:
    """Decisions in the middle of rounds; observations show `history` past plays."""
    has_history = game_of(get_rules(rules)).has_history
    batch = Batch(rules, num_games, history=history, history_length=8 if has_history else 0)
    batch.deal(np.arange(num_games))
    rng = np.random.default_rng(3)
    for _ in range(12):
        batch.step(batch.sample(rng))
    return View(batch, np.flatnonzero(batch.state.turn >= 0))


def rules_of(path: Path) -> str:
    name = path.stem.split("-")[0]
    return "north" if name == "tienlen" else name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_network_reads_the_same_whatever_an_observation_shows(path: Path) -> None:
    if path.stem.startswith("thirteens"):
        pytest.skip("Thirteens shows no past plays")
    agent = NetworkAgent.load(path)
    without, four = (some_view(rules_of(path), 60, history) for history in (0, 4))
    assert four.observation.shape[1] > without.observation.shape[1]
    assert np.array_equal(agent.log_probabilities(four), agent.log_probabilities(without))
    assert np.array_equal(agent.act(four), agent.act(without))


@pytest.mark.parametrize("name", ["champion", "champion:size=medium", "champion:worlds=0", "reference"])
def test_a_policy_plays_where_the_learner_sees_past_plays(name: str) -> None:
    env = gymnasium.make("tienlen_env/TienLen-v1", opponents=name, history=4)
    observation, info = env.reset(seed=1)
    is_over = False
    while not is_over:
        action = int(np.flatnonzero(info["action_mask"])[-1])
        observation, _, is_over, _, info = env.step(action)
    assert env.observation_space.contains(observation)
    env.close()


def test_a_batch_shows_only_the_plays_that_it_stores() -> None:
    view = some_view("cardgames", 60, 2)
    assert view.showing(2) is view
    for history in (0, 8):
        wanted = some_view("cardgames", 60, history).observation
        assert np.array_equal(view.showing(history).observation, wanted)
    for history in (-1, 9):
        with pytest.raises(ValueError, match=r"expected 0\.\.8"):
            view.showing(history)
    other = view.select([3, 1])
    assert np.array_equal(other.showing(0).games, other.games)


# ---------------------------------------------------------------- pieces that are added later

# Pieces as CONTRIBUTING.md says to add them: in the middle, and at the end. Each text occurs once.
ADDED = {
    "games/tienlen/layout.py": [
        ('            ("history", (history,', '            ("live", (p,), "who is in the round"),\n'),
        ("        ]\n    )", '            ("always", (1,), "one"),\n'),
    ],
    "games/tienlen/observe.py": [
        (
            "    for k in range(num_history):",
            "    write_word(out, at, rotate(row[R.LIVE], seat, num_players))\n    at += num_players\n",
        ),
        ("    size = spec[S.OBSERVATION_SIZE]\n", "    num_flags += 1\n"),
        (
            "    at = start\n    write_word(out, at, row[R.HAND + seat])",
            "    flags |= 1 << (bit + 3 + 4 * spec[S.SUITS_BIND])\n",
        ),
    ],
    "games/thirteens/observe.py": [
        ('        ("pile", (c if', '        ("leads", (p,), "who leads"),\n'),
        ("    if spec[S.MANUAL]:", "    write_word(out, at, 1)\n    at += num_players\n"),
        ("    size: int = (3 +", "    seat_bits += 1\n"),
    ],
}


def probabilities() -> dict[str, tuple[int, str]]:
    """By shipped file: the size of an observation, and a digest of all that a network says of decisions."""
    found = {}
    for path in FILES:
        agent, view = NetworkAgent.load(path), some_view(rules_of(path), 40)
        log_probabilities, card_weights = agent.log_probabilities_and_card_weights(view)
        data = log_probabilities.tobytes() + card_weights.tobytes() + agent.act(view).tobytes()
        found[path.stem] = view.observation.shape[1], hashlib.sha256(data).hexdigest()
    return found


@pytest.fixture(scope="module")
def with_added_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources where observations have more pieces."""
    tree = tmp_path_factory.mktemp("added")
    for folder in ("tienlen_env", "agents", "train", "tests"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("static"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    for name, places in ADDED.items():
        path = tree / "tienlen_env" / name
        text = path.read_text(encoding="utf-8")
        for before, line in places:
            assert text.count(before) == 1, before
            text = text.replace(before, line + before)
        path.write_text(text, encoding="utf-8")
    return tree


def run_in(tree: Path, *command: str) -> str:
    """The output of Python in another tree."""
    folders = os.pathsep.join(str(tree / part) for part in ("", "agents", "train"))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": folders},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def choices_of(path: str) -> list[int]:
    """What a MaskablePPO chooses."""
    agent = tienlen_agents.load(f"policy:{path},trust=1")
    return agent.act(some_view("cardgames", 40)).tolist()


@pytest.mark.nightly  # it compiles all that reads observations anew
def test_an_added_piece_changes_no_policy(with_added_pieces: Path, tmp_path: Path) -> None:
    from tests.agents.networks.test_sb3_policy import (  # skips the test where torch is missing
        Spaces,
        make_model,
    )

    batch = Batch("cardgames")
    path = str(tmp_path / "policy.zip")
    # It names no pieces, so it reads those that never change: who adds a piece keeps such a policy, too.
    pieces = [batch.layout[name].slice for name in features_of(batch.rules).pieces if name in batch.layout]
    size = sum(piece.stop - piece.start for piece in pieces)
    make_model(Spaces(size, batch.num_actions)).save(path)
    said = f"[t.probabilities(), t.choices_of({path!r})]"
    code = f"import json, tests.agents.networks.test_pieces as t; print(json.dumps({said}))"
    found, choices = json.loads(run_in(with_added_pieces, "-c", code).splitlines()[-1])
    for name, (size, digest) in probabilities().items():
        more, other = found[name]
        assert more > size
        assert other == digest, name
    assert choices == choices_of(path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "test",
    [
        "tests/extensions/table/wasm/test_wasm_agents.py::test_probabilities",
        "tests/extensions/gpu/test_simulator.py::test_the_device_computes_the_processors_bits",
        # New networks read the added pieces; their files name them.
        "tests/agents/networks/test_policy_file.py",
        "tests/agents/networks/test_general.py",
    ],
)
def test_other_executors_agree_on_added_pieces(with_added_pieces: Path, test: str) -> None:
    """WebAssembly and the device compute what the processor does, which the test before compares."""
    if not (ROOT / test.partition("::")[0]).is_file():
        pytest.skip(f"this clone has no {test}")
    out = run_in(with_added_pieces, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    assert " passed" in out
