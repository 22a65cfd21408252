"""Ten million inputs: ``python -m tests.fuzz.inputs --seconds 600`` goes on where the last call ended.

Inputs are made in portions, each of its own seed, from good ones that are changed. What went wrong, and how
many inputs have been tried, stand in ``build/fuzz.json``. An input is refused with a typed error and changes
nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.fuzz.__main__ import fuzz
from tests.fuzz.files import FROZEN, FaultError, one_file
from tests.fuzz.members import public_members
from tests.needs import FOLDERS
from tienlen_agents.external.messages import Failure, play_requests, read_message, validate_answer
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.single.base import BaseRound
from tienlen_env.single.session import Session
from tienlen_table.server import messages
from tienlen_table.server.messages import MessageError
from tienlen_train.cli import Group, all_commands, main as tienlen

ROOT: Final = Path(__file__).parents[2]
STATE: Final = ROOT / "build" / "fuzz.json"
ODD: Final = (
    "", " ", "-1", "0", "1", "007", "1e9", "nan", "inf", str(2**63), str(-(2**63) - 1), "9" * 400, "x" * 3000,
    "🂡", "\udcff", "\x1b[2J", "../../etc/passwd", "3s", "3s 3s", "None", "true", "{}", "[]", "-", "--", "=",
    ",", "cardgames", "greedy", "random:", "policy:/dev/null", "process:", "endgame:endgame:greedy",
    "search:worlds=-1",
)  # fmt: skip


def changed_text(draw: random.Random, text: str) -> str:
    """A text with some characters changed, cut, doubled or put in."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice((0, 1, 1, 3, 20)))
        text = text[:at] + draw.choice((*ODD, text[at:end] * 2, chr(draw.randrange(1, 0x2FF)))) + text[end:]
    return text


# ---------------------------------------------------------------- messages and records


@cache
def requests() -> list[Any]:
    """A question to a program in each of some games."""
    found = []
    games = [(rules, 3) for rules in ("cardgames", "foicica", "north", "thirteens", "thirteens_manual")]
    for rules, key in (*games, ("south", 8)):  # the last one has an instant win
        session = Session(rules, key, whole_game=False)
        (request,) = play_requests(session.agent_view(), [0], lambda _: (1, 1))
        found.append((session, request, session.batch.state.rows.copy()))
    return found


GOOD: Final = [
    json.dumps(message)
    for message in (
        {"type": "hello", "version": 1, "join": ""},
        {"type": "create", "rules": "cardgames", "seats": ["human", "greedy", "greedy", "greedy"]},
        {"type": "join", "token": "x", "since": 0},
        {"type": "play", "id": 1, "turn": 0, "play": "3s"},
        {"type": "select", "id": 1, "turn": 0, "cards": "3s"},
        {"type": "undo", "id": 1},
        {"type": "hint", "id": 1, "turn": 0},
        {"type": "next", "id": 1},
        {"type": "record", "id": 1},
    )
]
ANSWER: Final = json.dumps({"type": "play", "id": 1, "cards": "3s 3c"})


def one_message(draw: random.Random) -> None:
    """A message to the server, a program's answer, or a typed move."""
    kind = draw.randrange(3)
    if kind == 0:
        with contextlib.suppress(MessageError):
            messages.read(changed_text(draw, draw.choice(GOOD)))
        return
    session, request, rows = draw.choice(requests())
    if kind == 1:
        line = changed_text(draw, ANSWER).encode("utf-8", "surrogatepass")
        with contextlib.suppress(Failure):
            play = validate_answer(request, read_message(line).get("cards"), session.agent_view())
            if session.batch.variant.judge(session.batch.state.rows[0], *play):
                raise FaultError(f"{line!r} is taken for a legal play")
        return
    text = changed_text(draw, draw.choice(request.message["legal"]))
    try:
        session.apply(text)
    except TienLenError:
        if (session.batch.state.rows != rows).any() or session.plays:
            raise FaultError(f"{text!r} changes the session") from None
    else:
        session.undo()


@cache
def record_lines() -> list[str]:
    """Whole records of every game."""
    lines = [(FROZEN / f"record-{game}.txt").read_text().strip() for game in ("tienlen", "thirteens")]
    golden = re.findall(
        r'"((?:tienlen|thirteens)/1 [^"]+)"', (ROOT / "tests/golden/records.json").read_text()
    )
    for rules in ("south", "north", "foicica", "thirteens_dummy", "small"):
        session, draw = Session(rules, 5, whole_game=False), random.Random(1)
        while not session.is_over:
            session.apply(draw.choice(session.legal))
        lines.append(session.record().strip())
    return [*lines, *golden]


def one_record(draw: random.Random) -> None:
    """A record with something changed, cut short as a rule: what comes before is played."""
    line = draw.choice(record_lines())
    words = line.split(" ")
    with contextlib.suppress(NotationError):
        BaseRound.from_record(changed_text(draw, " ".join(words[: draw.choice((3, 6, 9, 12, 999))])))


# ---------------------------------------------------------------- command lines


@cache
def import_commands() -> None:
    """Import all commands, so that no fork has to."""
    for entry in all_commands().values():
        for command in entry.commands.values() if isinstance(entry, Group) else (entry,):
            import_module(command.module)


@cache
def options_of(command: tuple[str, ...]) -> list[str]:
    """The options that a command's help lists."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        tienlen([*command, "--help"])
    return sorted(set(re.findall(r"--[a-z][a-z-]+", out.getvalue())) - {"--help"})


def commands() -> Iterator[tuple[str, ...]]:
    """The commands that end by themselves."""
    for name, entry in all_commands().items():
        if isinstance(entry, Group):
            yield from ((name, each) for each in entry.commands if name != "bench")
        elif name != "web":
            yield (name,)


def command_line(draw: random.Random) -> list[str]:
    """Words after ``tienlen``; no NUL, which no process can be given."""
    command = draw.choice(list(commands()))
    words = list(command)
    for _ in range(draw.randrange(4)):
        words.append(draw.choice(ODD))
    for _ in range(draw.randrange(1, 4)):
        option = draw.choice([*options_of(command), "--nothing", "-x"])
        words += draw.choice(([option], [option, draw.choice(ODD)], [f"{option}={draw.choice(ODD)}"]))
    return [word.encode("utf-8", "replace").decode() for word in words]


def one_line(draw: random.Random) -> None:
    """A command line in a fork of this process; what works ends after 3 seconds."""
    import_commands()
    words = command_line(draw)
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            signal.setitimer(signal.ITIMER_REAL, 3)
            for stream in (1, 2):
                os.dup2(printed.fileno(), stream)
            code = 1
            try:
                code = tienlen(words)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that it has begun
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    if code < 0 and code != -signal.SIGALRM:
        raise FaultError(f"{words}: ends by signal {-code}")
    if code == 2 and not text.strip():
        raise FaultError(f"{words}: refused without a word")
    if "Traceback" in text:
        raise FaultError(f"{words}: {text[-300:]}")


def one_process(draw: random.Random) -> None:
    """A command line in a process of its own."""
    words = command_line(draw)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tienlen_train.cli", *words],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False, env=os.environ,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return  # it works
    if done.returncode < 0 or b"Traceback" in done.stderr:
        raise FaultError(f"{words}: {done.returncode} {done.stderr[-300:]!r}")


# ---------------------------------------------------------------- portions

KINDS: Final[dict[str, tuple[Callable[[random.Random], None], int, int]]] = {  # also: of a portion, in all
    "processes": (one_process, 10, 200),
    "command lines": (one_line, 100, 10_000),
    "files": (one_file, 1_000, 100_000),
    "messages": (one_message, 20_000, 4_000_000),
    "records": (one_record, 5_000, 1_000_000),
}
METHODS: Final = 4_900_000  # calls of public methods, by `tests.fuzz`


def one_portion(kind: str, number: int) -> tuple[int, list[str]]:
    """The number of inputs of a portion, and what went wrong."""
    if kind == "methods":
        found = fuzz(list(public_members())[number % 10 :: 10], 100, number // 10, bytearray(1000), 0.05)
        return sum(found["calls"].values()), [f"{name}: {text}" for name, text in found["faults"].items()]
    run, size, _ = KINDS[kind]
    faults = []
    for i in range(size):
        draw = random.Random(f"{kind} {number} {i}")
        try:
            run(draw)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.lineno}"
            faults.append(f"{kind} {number} {i}: {name}: {str(error)[:400]}")
    return size, faults


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 if nothing went wrong and all has been tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.inputs", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further portion after this time")
    parser.add_argument("--kind", choices=[*KINDS, "methods"], help="only this one")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    sys.stdin = io.StringIO()
    STATE.parent.mkdir(exist_ok=True)
    state: dict[str, Any] = {"faults": []}
    if STATE.exists():
        state = json.loads(STATE.read_text())
    wanted = {kind: total for kind, (_, _, total) in KINDS.items()} | {"methods": METHODS}
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "XDG_CACHE_HOME": folder, "COLUMNS": "100"}
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, FOLDERS))
        os.chdir(folder)
        for kind in [options.kind] if options.kind else wanted:
            tried = state.setdefault(kind, {"portions": 0, "inputs": 0, "seconds": 0.0})
            while tried["inputs"] < wanted[kind] and time.monotonic() < end:
                begin = time.monotonic()
                number, faults = one_portion(kind, tried["portions"])
                tried["portions"] += 1
                tried["inputs"] += number
                tried["seconds"] += time.monotonic() - begin
                state["faults"] += faults
                STATE.with_suffix(".part").write_text(json.dumps(state, indent=1))
                STATE.with_suffix(".part").rename(STATE)
        os.chdir(ROOT)
    for kind, number in wanted.items():
        tried = state.get(kind, {"inputs": 0, "seconds": 0.0})
        print(f"{kind}: {tried['inputs']:,} of {number:,} in {tried['seconds']:.0f} s")
    print("\n".join(state["faults"][:50]) or "no fault")
    is_whole = all(state.get(kind, {"inputs": 0})["inputs"] >= number for kind, number in wanted.items())
    return int(bool(state["faults"]) or not is_whole)


if __name__ == "__main__":
    sys.exit(main())
