"""The arena at work: seatings, chunks, worker processes, files that a killed run goes on from."""

import errno
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, nullcontext
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_agents.arena.chunk import Chunk, ChunkShape, Job, play_chunk
from tienlen_agents.arena.store import ChunkStore
from tienlen_agents.executors import Executor, WorkerPool
from tienlen_env.games.tienlen.rules import CARDGAMES

ROOT = Path(__file__).parents[3]
BOT = f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}"


def stable(path):
    """A report without what differs from run to run."""
    report = json.loads(path.read_text())
    for key in ("created", "command", "latencies"):
        del report[key]
    for table in report["tables"]:
        del table["timing"]
        for agent in table["agents"]:
            del agent["timing"]
    return report


# ---------------------------------------------------------------- seatings


@pytest.mark.parametrize(
    ("lineup", "which", "shape"),
    [
        ((0, 1, 1, 1), "rotations", (1, 4, 4)),
        ((0, 0, 1, 1), "rotations", (1, 6, 4)),  # ABAB has two rotations only
        ((0, 1, 2, 2), "rotations", (3, 4, 4)),
        ((0, 1, 2, 3), "rotations", (6, 4, 4)),
        ((0, 1, 2), "rotations", (2, 3, 3)),
        ((0, 1), "rotations", (1, 2, 2)),
        ((0, 1, 2, 3), "all", (1, 24, 4)),
        ((0, 1, 1, 1), "all", (1, 4, 4)),
    ],
)
def test_blocks_are_balanced(lineup, which, shape):
    chairs = arena.blocks(lineup, which)
    assert chairs.shape == shape
    seats = np.asarray(lineup)[chairs]
    for block in seats:
        assert len(np.unique(block, axis=0)) == len(block)
        for agent in set(lineup):  # each block by itself
            assert len(set((block == agent).sum(axis=0))) == 1
    # Over the blocks, who sits behind whom: as often as by chance.
    behind = Counter(zip(seats.ravel().tolist(), np.roll(seats, -1, axis=2).ravel().tolist(), strict=True))
    for (a, b), times in behind.items():
        pairs = lineup.count(a) * (lineup.count(b) - (a == b))
        assert times * len(lineup) * (len(lineup) - 1) == pairs * seats.size
    for order in chairs.reshape(-1, len(lineup)):
        assert sorted(order) == list(range(len(lineup)))
        for agent in set(lineup):  # an agent's chairs come in order
            own = [chair for chair in order if lineup[chair] == agent]
            assert own == sorted(own)


def test_rotations_take_another_order_from_deal_to_deal():
    names = ["greedy", "greedy_long", "heuristic", "endgame:greedy"]
    result = arena.match_up(names, num_deals=8)
    orders = arena.blocks((0, 1, 2, 3), "rotations")
    keys = np.random.SeedSequence(0, spawn_key=(0,)).generate_state(512, np.uint64)[:8].view(np.int64)
    panel = [tienlen_agents.load(name) for name in names]
    for deal in range(8):
        for number, seats in enumerate(orders[deal % 6]):
            found = arena.play_deals(panel, seats, keys[[deal]])
            assert found.points[0, np.argsort(seats)].tolist() == result.points[deal, number].tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"permutations": "some"},
        {"deals_per_job": 100},
        {"deals_per_job": 0},
        {"workers": 0},
        {"blunder_deals": -1},
        {"num_deals": 1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="expected"):
        arena.match("greedy", "random", **options)


# ---------------------------------------------------------------- chunks


def test_a_chunk_survives_json():
    job = Job((0, 1, 1, 1), CARDGAMES, seed=3, first_deal=512, num_deals=5, blunder_deals=515)
    chunk = play_chunk([tienlen_agents.load("random"), tienlen_agents.load("greedy")], job)
    again = Chunk.from_dict(json.loads(json.dumps(chunk.to_dict())), ChunkShape(5, 4, 4, 2))
    for before, after in zip(chunk, again, strict=True):
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype
            assert (before == after).all()
    assert chunk.blunders.shape == (3, 2, 2)
    assert again.forfeits == chunk.forfeits == ((), ())


def test_the_deals_do_not_depend_on_the_chunks():
    whole, parts = (
        arena.match("greedy", "greedy_long", num_deals=96, seed=5, deals_per_job=size) for size in (512, 32)
    )
    assert (whole.points == parts.points).all()
    # Stochastic agents start afresh with every chunk, with other seeds.
    one, other = (
        arena.match("random", "greedy", num_deals=96, seed=5, deals_per_job=size) for size in (512, 32)
    )
    assert (one.points != other.points).any()


# ---------------------------------------------------------------- workers


def test_any_number_of_workers_gives_the_same():
    def play(workers):
        report = arena.compare(
            "random", ["greedy", "random"], num_deals=80, deals_per_job=32, seed=2, workers=workers
        )
        return [(table.title, table.points.tolist(), table.game_places.tolist()) for table in report.results]

    assert play(1) == play(2)


class Backwards(Executor):
    """An executor as a cluster might be: it takes three tasks at a time and finishes the last one first."""

    def __init__(self):
        self.played = []

    def unordered(self, function, items):
        while taken := list(islice(items, 3)):
            for task in reversed(taken):
                self.played.append((task.match_up, task.job.first_deal))
                there, sent = pickle.loads(pickle.dumps((function, task)))
                yield task, pickle.loads(pickle.dumps(there(sent)))


def test_an_executor_of_ones_own_gives_the_same(tmp_path):
    def play(**options):
        report = arena.compare(
            "random", ["greedy", "random"], num_deals=80, deals_per_job=16, seed=2, **options
        )
        return [(result.title, result.points.tolist()) for result in report.results]

    executor = Backwards()
    assert play(executor=executor, out=tmp_path) == play()
    assert executor.played[:4] == [(0, 32), (0, 16), (0, 0), (1, 0)]
    assert len((tmp_path / "chunks.jsonl").read_text().splitlines()) == 1 + len(executor.played)
    again = Backwards()
    play(executor=again, out=tmp_path)
    assert again.played == []
    # A match-up that may stop asks for fewer tasks.
    short = Backwards()
    arena.match("greedy", "random", num_deals=5120, deals_per_job=64, stop_when_clear=True, executor=short)
    assert len(short.played) < 12


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signal masks on this system")
def test_a_worker_that_starts_leaves_ctrl_c_to_the_command():
    before = set(multiprocessing.active_children())
    with WorkerPool(1) as pool:
        future = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ())
        (worker,) = set(multiprocessing.active_children()) - before
        os.kill(worker.pid, signal.SIGINT)  # long before it has imported its modules
        assert future.result() == set()  # a program that a worker starts can be interrupted
        os.kill(worker.pid, signal.SIGINT)
        assert pool.submit(abs, -1).result() == 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_programs_play_in_the_workers():
    result = arena.match(BOT, "greedy", num_deals=8, deals_per_job=4, workers=2)
    assert result.scores[0].points == arena.Estimate(1.5, 0.0)
    assert result.scores[0].forfeits == ()


@pytest.mark.parametrize("options", [{"workers": 2}, {"out": "nowhere"}, {"executor": Backwards()}])
def test_what_another_process_cannot_know_is_refused(options):
    with pytest.raises(ValueError, match="by name"):
        arena.match(tienlen_agents.load("greedy"), "random", num_deals=2, **options)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    "num_chunks", [5, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 41, 2) if n != 5)]
)
def test_a_killed_run_goes_on(num_chunks, tmp_path, capsys):
    command = ["match", "random", "greedy", "--composition", "1v3", "--deals", "1600", "--chunk", "32"]
    command += ["--seed", "4", "--quiet"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    chunks = killed / "chunks.jsonl"
    run = subprocess.Popen(
        [sys.executable, "-m", "tienlen_agents.arena", *command, "--workers", "2", "--out", str(killed)],
        cwd=ROOT,
    )
    deadline = time.monotonic() + 300
    while not chunks.exists() or chunks.read_bytes().count(b"\n") < num_chunks:
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(run.pid, signal.SIGSTOP)  # it does not end meanwhile, on any machine
    # A second run is refused, even one that would drop the chunks; the first does not notice.
    for more in ([], ["--fresh"]):
        with pytest.raises(SystemExit):
            main([*command, *more, "--out", str(killed)])
        assert f"another run is writing {chunks}" in capsys.readouterr().err
    assert run.poll() is None
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children")
    workers = children.read_text().split() if children.exists() else []
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    data = chunks.read_bytes()
    num_lines = data.count(b"\n")
    assert num_lines < 51  # it was in the middle
    chunks.write_bytes(data[: data.rfind(b"\n") + 1] + b'{"table":0,"first_deal":15')
    main([*command, "--out", str(killed)])
    assert len(chunks.read_bytes().splitlines()) == 51
    assert chunks.read_bytes().startswith(data[: data.rfind(b"\n") + 1])  # nothing was played twice
    main([*command, "--out", str(whole)])
    assert stable(killed / "arena.json") == stable(whole / "arena.json")
    # The workers went with the run that was killed.
    while any(Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def play(out, **options):
    return arena.match("random", "greedy", **{"num_deals": 40, "deals_per_job": 16, "out": out, **options})


def test_one_run_writes_at_a_time(tmp_path):
    path = tmp_path / "chunks.jsonl"
    play(tmp_path)
    whole = path.read_bytes()
    with closing(ChunkStore(path, json.loads(whole.splitlines()[0]))):
        for fresh in (False, True):
            with pytest.raises(arena.ArenaRunError, match=r"another run is writing .*chunks\.jsonl"):
                play(tmp_path, num_deals=64, fresh=fresh)
        play(tmp_path / "else")
    assert path.read_bytes() == whole
    play(tmp_path, num_deals=64)  # it may once the other has ended


@pytest.mark.skipif(sys.platform == "win32", reason="there it is another call")
@pytest.mark.parametrize(
    ("number", "fails"), [(errno.ENOLCK, False), (errno.ENOTSUP, False), (errno.EIO, True)]
)
def test_a_file_system_without_locks_is_written_to(tmp_path, monkeypatch, number, fails):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match=os.strerror(number)) if fails else nullcontext():
        play(tmp_path)
    assert (tmp_path / "chunks.jsonl").exists() == (not fails)


def test_a_longer_run_goes_on_from_a_shorter_one(tmp_path):
    play(tmp_path)
    before = (tmp_path / "chunks.jsonl").read_text().splitlines()
    longer = play(tmp_path, num_deals=64)
    after = (tmp_path / "chunks.jsonl").read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2  # the third chunk, which had been a short one, and a fourth
    assert (longer.points == play(tmp_path / "else", num_deals=64).points).all()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"seed": 1}, "seed: 0 there, 1 now"),
        ({"history": 1}, "history"),
        ({"permutations": "all"}, "permutations"),
        ({"deals_per_job": 32}, "chunk_deals: 16 there, 32 now"),
        ({"rules": "pagat"}, "rules_digest"),
        ({"composition": "3v1"}, "tables"),
    ],
)
def test_another_match_is_refused(tmp_path, options, told):
    play(tmp_path)
    before = (tmp_path / "chunks.jsonl").read_bytes()
    with pytest.raises(arena.ArenaRunError, match=told):
        play(tmp_path, **options)
    assert (tmp_path / "chunks.jsonl").read_bytes() == before
    play(tmp_path, **options, fresh=True)
    assert (tmp_path / "chunks.jsonl").read_bytes() != before


def test_another_program_of_the_same_name_is_refused(tmp_path):
    program = tmp_path / "bot.py"
    program.write_text((ROOT / "examples" / "bot.py").read_text())
    name = f"process:{sys.executable} {program}"
    arena.match(name, "greedy", num_deals=2, out=tmp_path / "run")
    program.write_text(program.read_text() + "\n# better\n")
    with pytest.raises(arena.ArenaRunError, match="files"):
        arena.match(name, "greedy", num_deals=2, out=tmp_path / "run")


def test_damaged_files_are_refused(tmp_path):
    play(tmp_path)
    path = tmp_path / "chunks.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[1].replace("[", "(", 1) + lines[2])
    with pytest.raises(arena.ArenaRunError, match="line 2: damaged"):
        play(tmp_path)
    path.write_text(lines[0] + '{"table": 0, "first_deal": 0}\n')
    with pytest.raises(arena.ArenaRunError, match="line 2: damaged"):
        play(tmp_path)
    path.write_text("notes\nof mine\n")
    with pytest.raises(arena.ArenaRunError, match="not a file of arena chunks"):
        play(tmp_path)
    assert path.read_text() == "notes\nof mine\n"


def test_a_torn_last_line_is_dropped(tmp_path):
    path = tmp_path / "chunks.jsonl"
    first = play(tmp_path)
    whole = path.read_bytes()
    for cut in (1, 100, len(whole.splitlines()[-1])):
        path.write_bytes(whole[:-cut])
        with closing(ChunkStore(path, json.loads(whole.splitlines()[0]))) as store:
            assert sorted(store.chunks) == [(0, 0), (0, 16)]
        assert path.read_bytes().endswith(b"}\n")
        assert (play(tmp_path).points == first.points).all()


def test_the_time_of_games_of_an_earlier_run_is_not_known(tmp_path):
    times = []
    for num_deals in (4, 4, 6, 6):  # anew, all there, some there, all there
        words = ["match", "greedy", "random", "--deals", str(num_deals), "--chunk", "4", "--quiet"]
        assert main([*words, "--composition", "2v2", "--out", str(tmp_path)]) == 0
        (table,) = json.loads((tmp_path / "arena.json").read_text())["tables"]
        times.append(table["timing"]["seconds"])
        assert all(agent["timing"]["seconds"] > 0 for agent in table["agents"])  # the chunks have it
    assert times[0] > 0
    assert times[1:] == [None] * 3
