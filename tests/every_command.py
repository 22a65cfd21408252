"""Every command of `tienlen` with little work, each in a fork of one process: how does it end?

    python -m tests.every_command [PACKAGE...]

The packages look as if they were not installed, in all processes. It prints the exit code and what stands on
standard error of each command, as JSON. The commands write to the current folder.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
BOT = shlex.quote(shlex.join([sys.executable, str(ROOT / "examples" / "bot.py")]))
ROW = "--seconds 0.01 --runs 1 --out row.json --only"
# The others import what they need, and show their help.
WORK = {
    "play": "--seats random random random random --rounds 1 --key 5",
    "web": "--port 0 --games games.db",
    "match": "champion:worlds=2 heuristic --composition 1v3 --deals 2 --quiet --out match",
    "compare": "greedy random --deals 2 --quiet",
    "league": "greedy random greedy_long --deals 2 --quiet",
    "gauntlet": "greedy --fast --deals 2 --quiet",
    "puzzles": "--count 1",
    "data": "--rounds 2 --out rounds",
    "regret": "greedy --decisions 2 --worlds 2",
    "onnx": "reference --out reference.onnx",
    "exact": "nashconv heuristic --rules mini",
    "suite": "run random --track A --quick --out packet",
    "train ppo": "--decisions 100 --num-games 8 --state-width 16 --action-width 16 --final-deals 2 --out ppo",
    "train bc": "--data rounds --stop-after 1 --final-deals 2 --out bc",
    "bench speed": f"{ROW} Round",
    "bench startup": f"{ROW} import",
    "cache": "",
    "check-game": "thirteens --rounds 1",
    "protocol": f"check {BOT} --rules mini --rounds 1",
}
# Without any extra these refuse; with the wheel of a platform the others work.
NEED_AN_EXTRA = {
    *("web", "league", "data", "onnx", "check-game", "bench nash-conv", "bench gpu"),
    *(f"train {name}" for name in ("ppo", "dmc", "bc", "best-response", "belief", "league")),
}
LIMIT = 300  # seconds of a command


def every() -> list[str]:
    """The names of all commands, in the order in which they run."""
    from tienlen_train import cli

    names = [
        f"{name} {command}".strip()
        for name, entry in cli.all_commands().items()
        for command in (entry.commands if isinstance(entry, cli.Group) else [""])
    ]
    order = list(WORK)  # one command reads what another one has written
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def work(words: list[str], out: IO[bytes], err: IO[bytes]) -> int:
    """The exit code of a command in this process, which has no other work."""
    from tienlen_train import cli

    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    try:
        return cli.main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def text_of(file: IO[bytes]) -> bytes:
    """What is in a file that another process writes at the same place."""
    return os.pread(file.fileno(), 1 << 20, 0)


def run(words: list[str]) -> tuple[int, str]:
    """The exit code and the errors of a command; a server is ended when it has told its address."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            code = work(words, out, err)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        end = time.monotonic() + LIMIT
        while not (found := os.waitpid(child, os.WNOHANG))[0]:
            if any(b"http://" in text_of(file) for file in (out, err)) or time.monotonic() > end:
                os.kill(child, signal.SIGTERM)
            time.sleep(0.05)
        return os.waitstatus_to_exitcode(found[1]), text_of(err).decode()


def refusals(ends: dict[str, tuple[int, str]]) -> dict[str, str]:
    """The package that each command lacks which refuses, in one line that says what to install.

    Raises:
        AssertionError: a command ends in another way.
    """
    refused = {}
    for name, (code, text) in ends.items():
        lines = [line for line in text.splitlines() if not line.startswith("Compiling ")]
        assert "Traceback" not in text, (name, text)
        if code in (0, 143):  # 143: a server that was ended
            continue
        assert (code, len(lines)) == (2, 1), (name, code, text)
        assert lines[0].startswith(("tienlen: ", f"tienlen {name}: ")), lines
        package = re.search(r"package (\w+)[\w.]*,? (?:which )?is not installed: pip install '", lines[0])
        assert package is not None, lines
        refused[name] = package[1]
    return refused


def hide(packages: list[str]) -> None:
    """Let packages look as if they were not installed, here and in the processes that this one starts."""
    folder = Path(tempfile.mkdtemp(prefix="hides-"))
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({packages!r}))\n")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]


if __name__ == "__main__":
    hide(sys.argv[1:])
    # What most commands need is imported once.
    for module in ("tienlen_agents.arena", "tienlen_train.league", "tienlen_gpu.bench"):
        with suppress(ModuleNotFoundError):
            import_module(module)
    ends = {name: run([*name.split(), *shlex.split(WORK.get(name, "--help"))]) for name in every()}
    print(json.dumps(ends))
