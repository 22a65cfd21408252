"""Programs and all that they have started end with the arena, however it ends."""

import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tienlen_agents.external.keeper import GRACE_S
from tienlen_agents.external.messages import Failure
from tienlen_agents.external.process import Child

ROOT = Path(__file__).resolve().parents[3]
LINUX = sys.platform.startswith("linux")

# A program that writes its process id and those of its children to a file, and then does not end by itself.
PROGRAM = """
import json, os, signal, subprocess, sys, time
def note(pid):
    with open(PIDS, "a") as file:
        file.write(f"{pid}\\n")
note(os.getpid())
BODY
"""
HANG = "time.sleep(1000)\n"
STUBBORN = """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
os.close(0)
time.sleep(1000)
"""
CHILD = 'note(subprocess.Popen(["sleep", "1000"]).pid)\n'
IN_A_SESSION = 'note(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)\n'
# Twice forked, as daemons are: its parent has ended, and no process group or session leads to it.
# Its parent waits for the note: a program that ended before would be killed with the daemon.
DAEMON = """
is_noted, noted = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note(os.getpid())
        os.write(noted, b".")
        time.sleep(1000)
    os.read(is_noted, 1)
    os._exit(0)
os.wait()
"""
BODIES = {
    "hangs": (HANG, 1),
    "ignores signals and the end of its input": (STUBBORN, 1),
    "has a child": (CHILD + HANG, 2),
    "has a child in a session of its own": (IN_A_SESSION + HANG, 2),
    "has a daemon": (DAEMON + HANG, 2),
    "has all of them": (CHILD + IN_A_SESSION + DAEMON + STUBBORN, 4),
    "ends and leaves them behind": (CHILD + IN_A_SESSION + DAEMON, 4),
}

OWNER = """
import signal, sys, time
from tienlen_agents.external.process import Child
child = Child(sys.argv[1:])
print("started", flush=True)
time.sleep(1000)
"""


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # In a container no process may reap orphans: a zombie that is not ours does not count.
    status = Path(f"/proc/{pid}/stat")
    try:
        return not LINUX or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended in between
        return False


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@pytest.fixture
def program(tmp_path):
    """Writes a program; gives its command and a function that gives the noted process ids."""
    files = []

    def make(body):
        pids = tmp_path / f"pids{len(files)}"
        path = tmp_path / f"program{len(files)}.py"
        path.write_text(PROGRAM.replace("PIDS", repr(str(pids))).replace("BODY", body))
        files.append(pids)
        return [sys.executable, "-S", "-E", str(path)], lambda: read(pids)

    def read(pids):
        return [int(line) for line in pids.read_text().split("\n")[:-1]] if pids.exists() else []

    yield make
    for pids in files:  # a failed test leaves nothing behind
        for pid in read(pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is killed")
@pytest.mark.parametrize("what", BODIES)
def test_close_ends_everything(program, what):
    body, number = BODIES[what]
    command, pids = program(body)
    child = Child(command)
    assert wait_until(lambda: len(pids()) == number)
    child.stop(grace=0)
    assert not any(map(is_running, pids()))  # no waiting: they have ended when `stop` returns


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is killed")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_everything_ends_with_its_owner(program, number):
    commands = [program(body) for body, _ in BODIES.values()]
    # One owner of several programs: it takes long to start.
    code = OWNER.replace("Child(sys.argv[1:])", "[Child(c.split('|')) for c in sys.argv[1:]]")
    words = ["|".join(command) for command, _ in commands]
    owner = subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert owner.stdout.readline() == b"started\n"
        wanted = [number for _, number in BODIES.values()]
        assert wait_until(lambda: [len(pids()) for _, pids in commands] == wanted)
    finally:
        owner.send_signal(number)
        owner.communicate()
    everything = [pid for _, pids in commands for pid in pids()]
    assert wait_until(lambda: not any(map(is_running, everything)), GRACE_S + 20)


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is killed")
def test_a_program_has_time_to_end_when_its_owner_does(program, tmp_path):
    ended = tmp_path / "ended"
    command, pids = program(f"sys.stdin.read()\nopen({str(ended)!r}, 'w').close()\n")
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert owner.stdout.readline() == b"started\n"
    assert wait_until(pids)
    owner.kill()
    owner.communicate()
    assert wait_until(ended.exists)


@pytest.mark.skipif(not LINUX, reason="there is no parent-death signal elsewhere")
def test_a_program_ends_with_its_keeper(program):
    command, pids = program(STUBBORN)
    child = Child(command)
    assert wait_until(pids)
    child._process.kill()
    assert wait_until(lambda: not is_running(pids()[0]))
    child.stop()


@pytest.mark.parametrize(
    ("body", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", -9), ("os.abort()", -6), ("", 0)]
)
def test_the_end_of_a_program_is_reported_as_it_was(program, body, code):
    child = Child(program(body)[0])
    with pytest.raises(Failure, match="the program ended") as caught:
        child.line(time.monotonic() + 20)
    assert f"exit code {code}; its stderr is empty" in str(caught.value)
    assert child.stop() == code


def test_what_cannot_be_run_is_an_error(tmp_path):
    path = tmp_path / "no_program"
    path.write_text("\0\1\2")
    path.chmod(0o755)
    for command, told in (([str(path)], "Exec format error"), ([str(tmp_path / "nothing")], "No such file")):
        before = len(os.listdir("/dev/fd"))
        with pytest.raises(OSError, match=told):
            Child(command)
        assert len(os.listdir("/dev/fd")) == before


def test_a_program_gets_no_other_files_and_usual_signals(program):
    child = Child(
        program(
            """
print(sorted(int(name) for name in os.listdir("/dev/fd"))[:4])
ignored = [n for n in sorted(signal.valid_signals()) if signal.getsignal(n) == signal.SIG_IGN]
print(*(signal.Signals(n).name for n in ignored))
"""
        )[0]
    )
    try:
        deadline = time.monotonic() + 20
        assert child.line(deadline) == b"[0, 1, 2, 3]"  # 3 lists the folder
        # Python ignores these two for itself. Signals 32 and 33 belong to the C library.
        assert child.line(deadline) == b"SIGPIPE SIGXFSZ"
    finally:
        child.stop()


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is killed")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_everything_ends_with_an_arena_of_two_workers(program, tmp_path, number):
    answers = """
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "ready", "version": 1}', flush=True)
    elif message["type"] == "play":
        time.sleep(1000)
"""
    command, pids = program(CHILD + IN_A_SESSION + DAEMON + answers)
    agent = f"process:{shlex.join(command)},limit_ms=600000"
    words = ["match", agent, "greedy", "--deals", "8", "--chunk", "4", "--workers", "2", "--quiet"]
    run = subprocess.Popen(
        [sys.executable, "-m", "tienlen_agents.arena", *words, "--max-forfeits", "1"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
    )
    try:
        assert wait_until(lambda: len(pids()) == 8, 120)  # a program in each worker
    finally:
        run.send_signal(number)
    told = run.communicate()[1]
    assert wait_until(lambda: not any(map(is_running, pids())), GRACE_S + 20)
    if number == signal.SIGTERM:
        assert run.returncode == 143
        assert told.decode().splitlines() == ["python -m tienlen_agents.arena: terminated"]
