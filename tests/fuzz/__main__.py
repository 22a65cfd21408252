"""The program: ``python -m tests.fuzz --calls 1000 --seed 0``; one line of JSON at the end.

It is a program of its own because a fault in compiled code ends the interpreter: the caller reads from the
file of ``--log`` which method was being called.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import mmap
import random
import sys
import time
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np

from tests.fuzz.members import Member, parameters_of, public_members
from tests.fuzz.subjects import MAKERS, Subject
from tests.fuzz.values import VALUES, junk
from tienlen_env.games.tienlen.rules import CONSTRAINTS, Rules

CALLS_PER_SUBJECT = 40

# What a method may raise: the project's errors and Python's `ValueError` (they are all of this type),
# `gymnasium.error.Error` for a seed, and `MemoryError` for more games than there is memory. For an argument
# that is an object of another type, also `TypeError` and `AttributeError`, where they come before any
# compiled code.
ALLOWED = (ValueError, gymnasium.error.Error, MemoryError)
OF_TYPES = (TypeError, AttributeError)
COMPILED = ("/numba/", "/backends/", "/kernels.py")


def strategy_of(member: Member, name: str) -> Any:
    """The values of a parameter.

    Raises:
        LookupError: it has none.
    """
    for key in (f"{member.owner.__name__}.{member.name}.{name}", name):
        if key in VALUES:
            return VALUES[key]
    raise LookupError(f"no values for the parameter {name} of {member} (tests/fuzz/values.py)")


def arguments(member: Member, rng: random.Random, subject: Subject) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for a call."""
    args, kwargs = [], {}
    for name, parameter in parameters_of(member).items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            if rng.random() < 0.05 and parameter.kind is parameter.VAR_KEYWORD:
                kwargs[rng.choice(("dummy", "nothing", "reward", "history"))] = junk(rng)
            continue
        is_required = parameter.default is parameter.empty
        if not is_required and rng.random() < 0.55:
            continue
        value = strategy_of(member, name)(rng, subject.batch)
        if parameter.kind is parameter.POSITIONAL_ONLY or (
            is_required and parameter.kind is not parameter.KEYWORD_ONLY
        ):
            args.append(value)
        else:
            kwargs[name] = value
    return args, kwargs


def call(member: Member, rng: random.Random, subject: Subject) -> None:
    """One call."""
    if member.name == "__init__":
        args, kwargs = arguments(member, rng, subject)
        made = member.owner(*args, **kwargs)
        if isinstance(made, Rules):
            assert not [field for field, wrong, _ in CONSTRAINTS if wrong(made)]
        return
    if not parameters_of(member) and not callable(getattr(type(subject.target), member.name, None)):
        getattr(subject.target, member.name)
        return
    args, kwargs = arguments(member, rng, subject)
    getattr(subject.target, member.name)(*args, **kwargs)


def is_allowed(error: BaseException) -> bool:
    """Whether an error may come from a public method."""
    if isinstance(error, ALLOWED):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, OF_TYPES) and not any(part in last for part in COMPILED)


def fuzz(members: Iterable[Member], calls: int, seed: int, log: Any, budget: float) -> dict[str, Any]:
    """Call each member so often; those that take little time more often.

    Returns:
        Calls and refusals of each, and what went wrong.
    """
    counts: dict[str, int] = {}
    refused: dict[str, int] = {}
    faults: dict[str, str] = {}
    for member in members:
        rng = random.Random(f"{seed} {member}")
        subject: Subject | None = None
        name, start, number = str(member), time.process_time(), 0
        refused[name] = 0
        while number < calls or (time.process_time() - start < budget and number < 100 * calls):
            if number % CALLS_PER_SUBJECT == 0 or subject is None:
                subject = MAKERS[member.owner](rng)
            text = f"{name} seed {seed} call {number}".encode()
            log[:200] = text.ljust(200)
            before = subject.state()
            number += 1
            try:
                call(member, rng, subject)
            except Exception as error:
                refused[name] += 1
                if not is_allowed(error):
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
                    faults.setdefault(
                        f"{name}: {type(error).__name__} at {place}", f"call {number - 1}: {error}"[:300]
                    )
                elif subject.state() != before:
                    faults.setdefault(
                        f"{name}: a refusal changed the state", f"call {number - 1}: {error}"[:300]
                    )
                subject = subject if rng.random() < 0.95 else None
        counts[name] = number
    return {"calls": counts, "refused": refused, "faults": faults}


def main(argv: list[str] | None = None) -> int:
    """Fuzz, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=20, help="of each method, at least")
    parser.add_argument(
        "--budget", type=float, default=0.0, help="seconds of processor time for more calls of each"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="methods whose names have this in them")
    parser.add_argument("--part", default="0/1", help="i/n: the i-th of n parts")
    parser.add_argument("--log", default="", help="file for the call that is being made")
    options = parser.parse_args(argv)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    part, num_parts = map(int, options.part.split("/"))
    members = [member for member in public_members() if options.only in str(member)][part::num_parts]
    log: Any = bytearray(1000)
    if options.log:
        with open(options.log, "w+b") as file:
            file.write(bytes(1000))
            file.flush()
            log = mmap.mmap(file.fileno(), 1000)
    with contextlib.redirect_stdout(io.StringIO()):
        found = fuzz(members, options.calls, options.seed, log, options.budget)
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
