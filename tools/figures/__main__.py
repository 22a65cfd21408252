"""Make the measured figures of README and docs again, the cheapest first.

    make figures                            # all that this clone has not made of these sources
    make figures ARGS=--stale               # what results/ has of older sources, or does not have
    make figures ARGS="--budget 10m"        # as many as take ten minutes of processor time
    make figures ARGS="--only baselines"    # those whose names begin with it
    make figures ARGS=--pages               # only write results/ into the pages
    make figures ARGS="--other-seed 5"      # play again with another seed, and count the figures that differ

A stopped run goes on with the same command: finished results stay, and a command that keeps what it has
played goes on from there.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tienlen_agents.files import write_atomic
from tools.figures.pages import filled, problems
from tools.figures.readers import PRINTED, SECONDS, seconds_of
from tools.figures.registry import ENTRIES, FigureEntry
from tools.figures.results import RESULTS, cheapest_first, minutes_of, result_of, state_of, values_of
from tools.figures.sources import ROOT, digest_of
from tools.figures.views import pages

WORK: Final = ROOT / "build" / "figures"
DONE: Final = "done"  # a file in the folder of a command that has ended; it is not run again
UNITS: Final = {"s": 1 / 60, "m": 1.0, "h": 60.0}


def minutes(text: str) -> float:
    """A time such as ``10m``, ``90s`` or ``2h`` in minutes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid time: expected 90s, 10m or 2h")
    return float(found[1]) * UNITS[found[2]]


def commit(paths: Sequence[str]) -> str:
    """The last commit that changed these paths, with ``+`` if they have changed since; ``""`` without git."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        changed = git("status", "--porcelain", "--", *paths)
        return git("log", "-1", "--abbrev=7", "--format=%h", "--", *paths) + ("+" if changed else "")
    except FileNotFoundError:
        return ""


def state_digest(entry: FigureEntry) -> str:
    """16 hex digits of what an entry's values depend on: its sources and its commands."""
    words = [digest_of(entry.sources), *map(str, sorted(entry.all_commands().items()))]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def folder_of(entry: FigureEntry) -> Path:
    """Where the outputs of an entry's commands are kept, of the sources and the commands as they are."""
    return WORK / f"{entry.name}-{state_digest(entry)}"


def make(entry: FigureEntry) -> dict[str, Any]:
    """Run the commands of an entry, and return its result.

    Raises:
        subprocess.CalledProcessError: a command fails.
    """
    from tienlen_agents.command import cpu_name, versions

    folder = folder_of(entry)
    outputs: dict[str, Path] = {}
    for key in entry.commands:
        outputs[key] = folder / (re.sub(r"\W+", "-", key) or "only")
        outputs[key].mkdir(parents=True, exist_ok=True)
        if (outputs[key] / DONE).exists():
            continue
        is_begun = (outputs[key] / "config.json").exists()
        command = entry.command(key, resume=is_begun).replace("{out}", shlex.quote(str(outputs[key])))
        print(f"$ python -m {command}", flush=True)
        own, used = outputs[key] / SECONDS, _seconds()
        earlier = float(own.read_text(encoding="utf-8")) if own.exists() else 0.0
        try:
            with (outputs[key] / PRINTED).open("w", encoding="utf-8") as printed:
                subprocess.run(
                    [sys.executable, "-m", *shlex.split(command)],
                    cwd=ROOT,
                    check=True,
                    stdout=printed,
                    env={"OMP_NUM_THREADS": "1", **os.environ},
                )
        finally:
            write_atomic(own, str(earlier + _seconds() - used).encode())
        write_atomic(outputs[key] / DONE, b"")
    return {
        "commands": entry.all_commands(),
        "seed": entry.seed,
        "deals": entry.deals,
        "commit": commit(entry.sources),
        "sources": digest_of(entry.sources),
        "processor": cpu_name(),
        "versions": versions(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "seconds": round(sum(map(seconds_of, outputs.values())), 1),  # no time of git, which differs
        "values": entry.read(outputs),
    }


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def differences(first: Any, second: Any) -> Iterator[bool]:
    """Of each interval in two values of a result: whether the second mean lies outside of the first's.

    The first interval is √2 times wider for this, as the second mean has an error, too.
    """
    if isinstance(first, dict):
        for key in first.keys() & second.keys():
            yield from differences(first[key], second[key])
    elif isinstance(first, list) and len(first) == 2 and first[1] > 0:
        yield abs(second[0] - first[0]) > math.sqrt(2) * first[1]


def compare(entry: FigureEntry, seed: int) -> str:
    """Measure a stored result again with another seed; how many of its intervals do not hold the new mean."""
    again = make(entry._replace(seed=seed))
    found = list(differences(values_of(entry.name), again["values"]))
    return f"{entry.name}, seed {seed}: {sum(found)} of {len(found)} new means are outside of their intervals"


def write_pages() -> None:
    """Write what the results say into the pages."""
    for path in pages():
        text = path.read_text(encoding="utf-8")
        new = filled(text, path.relative_to(ROOT).as_posix())
        if new != text:
            write_atomic(path, new.encode())
            print(f"wrote {path.relative_to(ROOT)}")


def chosen(options: argparse.Namespace, made: dict[str, str]) -> list[FigureEntry]:
    """The entries to make, the cheapest first, as many as the budget holds."""
    found, total = [], 0.0
    for entry in cheapest_first():
        if options.only and not any(entry.name.startswith(name) for name in options.only):
            continue
        if not options.again:
            is_done = not state_of(entry) if options.stale else made.get(entry.name) == state_digest(entry)
            if is_done:
                continue
        total += minutes_of(entry)
        if options.budget is not None and total > options.budget:
            break
        found.append(entry)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, write ``results/`` and the pages."""
    about, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m tools.figures",
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stale", action="store_true", help="only what is stale or new in results/")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="only entries whose names begin with one of these"
    )
    parser.add_argument(
        "--budget", type=minutes, metavar="TIME", help="at most so much processor time: 90s, 10m, 2h"
    )
    parser.add_argument("--again", action="store_true", help="also what is made already")
    parser.add_argument("--other-seed", type=int, metavar="SEED", help="compare results/ with another seed")
    parser.add_argument("--list", action="store_true", help="list the entries, and make nothing")
    parser.add_argument(
        "--list-stale", action="store_true", help="list what is stale or new; the exit code is 0"
    )
    parser.add_argument("--pages", action="store_true", help="only write results/ into the pages")
    parser.add_argument("--check", action="store_true", help="fail if a measured number has no source")
    options = parser.parse_args(argv)
    for name in options.only or ():
        if not any(entry.name.startswith(name) for entry in cheapest_first()):
            parser.error(f"--only {name}: expected the beginning of one of {', '.join(ENTRIES)}")
    if options.check:
        found = problems()
        print(
            "\n".join(found)
            or "Every measured number has a source, or stands in tools/figures/exceptions.toml."
        )
        return int(bool(found))
    if options.list or options.list_stale:
        for entry in cheapest_first():
            state = state_of(entry)
            if state or options.list:
                print(f"{state or 'fresh':6} {minutes_of(entry):6.1f} min  {entry.name}")
        return 0
    if options.other_seed is not None:
        options.again = True  # what is made, too
        for entry in chosen(options, {}):
            if entry.seed is not None and not entry.is_speed and result_of(entry.name) is not None:
                print(compare(entry, options.other_seed), flush=True)
        return 0
    if not options.pages:
        log = WORK / "made.json"
        made: dict[str, str] = json.loads(log.read_text(encoding="utf-8")) if log.exists() else {}
        todo = chosen(options, made)
        total = sum(map(minutes_of, todo))
        print(f"{len(todo)} results, about {total:.0f} minutes of processor time", flush=True)
        failed: list[str] = []
        for entry in todo:
            if options.again:
                shutil.rmtree(folder_of(entry), ignore_errors=True)
            try:
                _store(entry, make(entry))
            except subprocess.CalledProcessError as error:
                # For example without the library that it measures; the others do not wait for it.
                failed.append(f"{entry.name}: its command ended with {error.returncode}; nothing is lost")
                print(failed[-1], file=sys.stderr, flush=True)
                continue
            made[entry.name] = state_digest(entry)
            write_atomic(log, json.dumps(made).encode())
            write_pages()
        if failed:
            parser.exit(1, "\n".join(failed) + "\n")
        return 0
    write_pages()
    return 0


def _store(entry: FigureEntry, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    write_atomic(RESULTS / f"{entry.name}.json", text.encode())
    print(f"wrote results/{entry.name}.json", flush=True)


if __name__ == "__main__":
    sys.exit(main())
