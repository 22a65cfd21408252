"""A packet is a function of the agent and the suite; a sample of it can be played again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.extensions.cluster.clusters import running_cluster
from tests.extensions.suite.suites import TINY, tiny
from tests.needs import needs_perl
from tests.strangers import install, notes_of
from tienlen_agents.arena.store import ArenaRunError
from tienlen_agents.executors import Executor
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.settings import ConfigError
from tienlen_cluster import pool as cluster
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.extras import MissingExtraError
from tienlen_suite import Declaration, Entry, PacketError, check, read_packet, replay, run, running
from tienlen_suite.__main__ import main
from tienlen_suite.checking import SUITES
from tienlen_suite.packet import RUN, Packet

ROOT = Path(__file__).parents[3]


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the times."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != RUN}


class Elsewhere(Executor):
    """An executor like a cluster's, which plays in another order."""

    def unordered(self, function: Any, items: Any) -> Iterator[Any]:
        for task in reversed(list(items)):
            yield task, function(task)


def test_the_same_bytes_with_two_workers_and_elsewhere(tmp_path: Path) -> None:
    agent, entry = "endgame:greedy", tiny("A")
    run(agent, entry, tmp_path / "one")
    run(agent, entry, tmp_path / "two", workers=2)
    run(agent, entry, tmp_path / "there", executor=Elsewhere())
    one = contents(tmp_path / "one")
    assert one == contents(tmp_path / "two") == contents(tmp_path / "there")
    assert sorted(one) == ["packet.json", "records/01.xz", "records/02.xz"]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    pytest.importorskip("ray")
    with running_cluster(2) as found:
        yield found


# All shipped agents; those in `OTHERS` need a person, a file of the user or another package.
OTHERS = {"exact", "human", "onnx", "openspiel"}
SHIPPED = {
    **dict.fromkeys(("random", "greedy", "greedy_long", "heuristic", "endgame:heuristic", "reference"), "A"),
    **dict.fromkeys(("search:worlds=4", "ismcts:worlds=4", "champion", "champion:worlds=0"), "A"),
    f"policy:{WEIGHTS / 'cardgames-medium-v5.safetensors'}": "A",
    f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}": "A",
    "trickster": "B",
}
PERL = f"process:perl {ROOT / 'examples' / 'bot.pl'}"


def test_the_list_has_all_shipped_agents() -> None:
    listed = {agent.partition(":")[0] for agent in SHIPPED}
    assert listed | OTHERS == set(tienlen_agents.names())


@pytest.mark.nightly
@pytest.mark.parametrize("suite", ["tiny", "v1"])
@pytest.mark.parametrize("agent", [*SHIPPED, pytest.param(PERL, marks=needs_perl)])
def test_the_same_bytes_of_all_shipped_agents(agent: str, suite: str, tmp_path: Path, nodes: Any) -> None:
    """The small suite has slow members and ratings; of the real one the quick form is played."""
    entry = Entry(suite=suite, track=SHIPPED.get(agent, "A"), quick=suite == "v1")
    run(agent, entry, tmp_path / "one")
    run(agent, entry, tmp_path / "again")
    run(agent, entry, tmp_path / "two", workers=2)
    members = [member.agent for member in SUITES[suite].panel.values()]
    with cluster.connect(nodes.address, [agent, *members], say=str) as executor:
        run(agent, entry, tmp_path / "cluster", executor=executor)
    one = contents(tmp_path / "one")
    for other in ("again", "two", "cluster"):
        assert contents(tmp_path / other) == one, other


@pytest.mark.parametrize("track", ["A", "B", "D", "E"])
def test_a_packet_is_made_again_and_replayed(track: str, tmp_path: Path) -> None:
    digests = {run("greedy", tiny(track), tmp_path / name).digest for name in ("one", "two")}
    assert len(digests) == 1
    rounds = replay(tmp_path / "one", 3, jobs=1)
    assert rounds == {"A": 16, "B": 8, "D": 0, "E": 16}[track] or (track == "B" and rounds in (8, 12))


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    entry = tiny("A")
    with monkeypatch.context() as patch:
        patch.setattr(running.figures, "figures_of_rounds", stop)
        with pytest.raises(KeyboardInterrupt):
            run("greedy", entry, tmp_path / "stopped")
    assert (tmp_path / "stopped" / "work" / "chunks.jsonl").exists()
    monkeypatch.setattr("tienlen_agents.arena.tasks.play_chunk", stop)  # everything has been played
    packet = run("greedy", entry, tmp_path / "stopped")
    monkeypatch.undo()
    assert packet.digest == run("greedy", entry, tmp_path / "again").digest
    for agent, other in (("random", entry), ("greedy", tiny("B"))):
        with pytest.raises(ArenaRunError, match="holds the packet of another run: it is kept"):
            run(agent, other, tmp_path / "stopped")
    assert read_packet(tmp_path / "stopped").digest == packet.digest
    assert check(tmp_path / "stopped").rounds == 64


def test_the_quick_form_leaves_out_slow_tables_and_ranks(tmp_path: Path) -> None:
    packet = run("greedy", tiny("A", quick=True), tmp_path)
    assert list(packet.contents) == ["records/01"]
    assert "ratings" not in packet.values["figures"]
    assert check(tmp_path).rounds == 16


def test_an_agent_enters_what_it_plays(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"track A: .*trickster"):
        run("trickster", tiny("A"), tmp_path / "A")
    packet = run("endgame:greedy", tiny("B"), tmp_path / "B")  # it does not play Thirteens
    rows = packet.values["figures"]["tables"]
    assert [row.get("plays", True) for row in rows] == [True, True, False]
    points, units = rows[0]["points"]["mean"], rows[1]["units"]["mean"]
    score = ((points - 0.1) / 0.9 + (units + 2) / 2) / 3
    assert packet.values["figures"]["score"]["mean"] == pytest.approx(score, abs=1e-5)
    check(tmp_path / "B")


def test_a_missing_package_is_said_before_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("greedy", tiny("A", quick=True), tmp_path / "quick")
    run("greedy", tiny("A"), tmp_path / "long")
    monkeypatch.setattr("tienlen_env.extras.is_installed", lambda package: False)
    check(tmp_path / "quick")
    for call in (
        lambda: run("greedy", tiny("A"), tmp_path / "new"),
        lambda: check(tmp_path / "long"),
    ):
        with pytest.raises(MissingExtraError, match="track A with its ratings needs the package openskill"):
            call()
    assert not (tmp_path / "new").exists()


def test_what_cannot_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "units", lambda agent, rules: 30.0)
    with pytest.raises(ValueError, match="budget 20: the agent takes 30 units a decision"):
        run("greedy", tiny("A", budget=20.0), tmp_path)
    with pytest.raises(ValueError, match=r"budget=2.0: expected one of \[1.0, 20.0, 200.0, 0.0\]"):
        run("greedy", tiny("A", budget=2.0), tmp_path)
    with pytest.raises(ValueError, match="track 'Z'"):
        run("greedy", tiny("Z"), tmp_path)
    (tmp_path / "secret").write_bytes(b"")
    with pytest.raises(ValueError, match="secret: a secret of 0 bytes: expected 16 or more"):
        run("greedy", tiny("A", secret=str(tmp_path / "secret")), tmp_path)
    with pytest.raises(ConfigError, match="attempts"):
        Declaration(attempts=0)
    weights = (("reference/cardgames-1234.safetensors", "0" * 64),)
    panel = {**TINY.panel, "random": replace(TINY.panel["random"], weights=weights)}
    monkeypatch.setitem(SUITES, "tiny", replace(TINY, panel=panel))
    with pytest.raises(ValueError, match="not the weights of suite"):
        run("greedy", tiny("A"), tmp_path)


def test_a_program_that_fails_makes_no_packet(tmp_path: Path) -> None:
    program = tmp_path / "fails.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    answer = {'type': 'ready', 'version': 1}\n"
        "    if message['type'] == 'play':\n"
        "        answer = {'id': message['id'], 'cards': '3s 3s'}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    with pytest.raises(ValueError, match="forfeited 100 % of its seats of rounds in track A"):
        run(f"process:{sys.executable} {program}", tiny("A", quick=True), tmp_path / "packet")
    assert not (tmp_path / "packet" / "packet.json").exists()


# ---------------------------------------------------------------- agents that are not what they say


class Fickle:
    """Plays otherwise each time that it is loaded."""

    name = "fickle"
    seeds = iter(range(1000))

    def __init__(self) -> None:
        self._rng = np.random.default_rng(next(self.seeds))

    def reset(self, seed: int) -> None:
        pass

    def act(self, view: View) -> np.ndarray:
        legal = view.legal_actions
        return legal.action[legal.start + self._rng.integers(view.num_legal)]


class ByHeart:
    """Plays like the heuristic in the suite's deals, which it knows by the hands, and at random in others."""

    name = "by heart"

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._good, self._bad = tienlen_agents.load("heuristic"), tienlen_agents.load("random")
        for track in (TINY.tracks["A"],):
            for job in track.jobs(track.tables[0], track.seed):
                from tienlen_agents.arena.chunk import games_of

                batch = Batch(job.rules, job.num_records)
                batch.deal(games_of(job).keys)
                self._known |= set(batch.state.hands.ravel().tolist())

    def reset(self, seed: int) -> None:
        self._bad.reset(seed)

    def act(self, view: View) -> np.ndarray:
        batch, games = view.source
        dealt = view.hand | batch.state.played[games, view.seat]
        known = np.array([hand in self._known for hand in dealt.tolist()])
        chosen = np.empty(len(view), np.int64)
        for agent, which in ((self._good, known), (self._bad, ~known)):
            if which.any():
                chosen[which] = agent.act(view.select(np.flatnonzero(which)))
        return chosen


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, type], None]:
    return lambda name, factory: monkeypatch.setitem(tienlen_agents._factories, name, factory)


def test_an_agent_that_changes_its_mind_is_not_replayed(
    tmp_path: Path, agents: Callable[[str, type], None]
) -> None:
    agents("fickle", Fickle)
    run("fickle", tiny("A"), tmp_path)
    check(tmp_path)
    with pytest.raises(PacketError, match=r"records/0[12], line \d+: played again, .* 'community'"):
        replay(tmp_path, 1)


def test_moves_of_another_agent_are_found_by_a_replay(tmp_path: Path) -> None:
    packet = run("heuristic", tiny("A"), tmp_path)
    packet.values["agent"] = "greedy"
    packet.values["declaration"]["name"] = "mine"
    packet.write(tmp_path)
    check(tmp_path)  # the panel is the panel; whose moves the others are is not seen here
    with pytest.raises(PacketError, match="played again"):
        replay(tmp_path, 1)
    for track, message in (("D", "policies/01: the agent has another policy"),):
        packet = run("heuristic", tiny(track), tmp_path / track)
        packet.values["agent"] = "greedy"
        packet.write(tmp_path / track)
        with pytest.raises(PacketError, match=message):
            replay(tmp_path / track, 1)


def test_other_files_and_a_slower_agent_are_found_by_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = ROOT / "agents/tienlen_agents/networks/weights"
    policy = tmp_path / "mine.safetensors"
    shutil.copy(weights / "cardgames-medium-v5.safetensors", policy)
    run(f"policy:{policy}", tiny("A"), tmp_path / "packet")
    assert replay(tmp_path / "packet", 5, jobs=1) == 16
    moved = tmp_path / "moved.safetensors"
    policy.rename(moved)
    assert replay(tmp_path / "packet", 5, agent=f"policy:{moved}", jobs=1) == 16
    monkeypatch.setattr(running, "units", lambda agent, rules: 9.0)
    with pytest.raises(PacketError, match="budget understated: 9 units a decision, not 1"):
        replay(tmp_path / "packet", 5, agent=f"policy:{moved}")
    monkeypatch.setattr(running, "units", lambda agent, rules: 0.5)
    shutil.copy(weights / "tienlen-general-v4.safetensors", moved)
    with pytest.raises(PacketError, match="agent_files: other files"):
        replay(tmp_path / "packet", 5, agent=f"policy:{moved}")


def test_knowing_the_deals_by_heart_gains_nothing_in_held_out_ones(
    tmp_path: Path, agents: Callable[[str, type], None]
) -> None:
    agents("heart", ByHeart)
    (tmp_path / "secret").write_bytes(b"known to nobody else")
    public = run("heart", tiny("A"), tmp_path / "public")
    held_out = run("heart", tiny("A", secret=str(tmp_path / "secret")), tmp_path / "held_out")
    honest = run("heuristic", tiny("A"), tmp_path / "honest")
    scores = [packet.values["figures"]["score"]["mean"] for packet in (public, held_out, honest)]
    assert scores[0] == scores[2]
    assert scores[1] < scores[0] - 0.5


# ---------------------------------------------------------------- commands


def test_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "v1"]) == 0
    folder, secret = str(tmp_path / "packet"), tmp_path / "secret"
    assert main(["new-seed", str(secret)]) == 0
    digest = capsys.readouterr().out.split()[-1]
    assert secret.stat().st_mode & 0o077 == 0
    common = ["--suite", "tiny", "--quiet", "--out", folder]
    assert main(["run", "greedy", *common, "--secret", str(secret), "--name", "mine"]) == 0
    packet = read_packet(Path(folder))
    assert packet.values["held_out"] == digest
    assert packet.values["declaration"]["name"] == "mine"
    assert main(["check", folder, "--quiet"]) == 1
    assert "refused: held_out" in capsys.readouterr().err
    assert main(["replay", folder, "--quiet", "--secret", str(secret), "--seed", "3"]) == 0
    assert "official: 64 rounds" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["new-seed", str(secret)])
    with pytest.raises(SystemExit, match="2"):
        main(["new-seed", str(ROOT / "secret")])
    assert "does not belong in the repository" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["run", "nobody", *common])


@pytest.mark.nightly
def test_a_program_in_another_language(tmp_path: Path) -> None:
    """The bot of the examples, as anyone would enter it."""
    bot = f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}"
    command = [sys.executable, "-m", "tienlen_suite", "run", bot, "--quick", "--quiet"]
    subprocess.run([*command, "--out", str(tmp_path)], check=True, env=os.environ)
    assert main(["check", str(tmp_path), "--quiet"]) == 0


@pytest.mark.parametrize(
    "track",
    [pytest.param("A", marks=pytest.mark.nightly), "D", pytest.param("E", marks=pytest.mark.nightly)],
)
def test_the_packet_of_an_agent_in_another_process_has_the_key_of_its_seeds(
    track: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It draws its plays, and is played again as it was; without the key it plays otherwise."""
    for name, value in install(tmp_path).items():
        monkeypatch.setenv(name, value)
    # Few deals: for each, every seat and every run, a process starts.
    few = replace(TINY.tracks[track], num_deals=min(2, TINY.tracks[track].num_deals))
    monkeypatch.setitem(SUITES, "tiny", replace(TINY, tracks={track: few}))
    out = tmp_path / "packet"
    packet = run("stranger:isolate=1", tiny(track), out)
    assert len(packet.values["seed_key"]) == 32
    check(out)
    replay(out, 1)
    assert not any(note.get("found") for note in notes_of(tmp_path / "notes"))
    Packet({**packet.values, "seed_key": "0" * 32}, packet.contents, packet.run).write(out)
    with pytest.raises(PacketError, match=r"the round is another one|the agent has another policy"):
        replay(out, 1)
    Packet({**packet.values, "seed_key": "no key"}, packet.contents, packet.run).write(out)
    with pytest.raises(PacketError, match="seed_key: a value of another kind"):
        check(out)


def test_the_packet_of_an_agent_in_this_process_has_no_key(tmp_path: Path) -> None:
    assert "seed_key" not in run("greedy", tiny("A"), tmp_path).values


@pytest.mark.parametrize("name", ["champion", "Random", "a  b", " a", "a\u3164", "x" * 301])
def test_a_name_that_a_check_refuses_is_refused_before_the_first_round(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name: (expected|.* is an agent of the project)"):
        run("greedy", tiny("A", name=name), tmp_path / "packet")
    assert not (tmp_path / "packet").exists()
