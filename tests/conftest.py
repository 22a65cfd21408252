"""Settings for all tests: hypothesis draws the same examples every time, so a failure never comes and goes.

Longer runs carry the `nightly` marker, which the default options in pyproject.toml leave out.
"""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from tests.high_card import HIGH_CARD
from tests.needs import TOOLS, lacking
from tienlen_env.games.registry import register

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,  # the first example may compile
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deterministic")

register(HIGH_CARD)  # a game from outside, known to every test

# A shell starts background jobs with Ctrl-C ignored, and every child would inherit that; some tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--needs-tools`: what `make test` skips on a machine with Python, make and git alone."""
    parser.addoption("--needs-tools", action="store_true", help="only the tests that need more than Python")
    parser.addoption(
        "--record-signatures", metavar="FILE", help="append what Numba compiles of the packages' loops"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The lines of `signatures.txt` that the tests of this process add; see ``make signatures``."""
    if path := session.config.getoption("--record-signatures"):
        from tests.tools.signature_lines import compiled_by_numba
        from tienlen_env.engine.backends import jit

        lines = sorted(" | ".join(line) for line in compiled_by_numba(jit.LOOPS))
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines if "tests." not in line)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of what this clone does not have; ``--needs-tools``: and of what needs no more."""
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if file.suffix != ".py" or not file.is_file():
        return None
    with_tools = config.getoption("--needs-tools") and file.name.startswith("test_")
    needs_nothing = with_tools and "tests.needs" not in file.read_text(encoding="utf-8")
    return needs_nothing or bool(lacking(file)) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--needs-tools"):
        chosen = [
            item
            for item in items
            if any(str(mark.kwargs["reason"]).startswith(TOOLS) for mark in item.iter_markers("skipif"))
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """A line for each reason of skipped tests; all that lack a program share one, with the command for it."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    tools = {reason.removeprefix(TOOLS): n for reason, n in reasons.items() if reason.startswith(TOOLS)}
    for reason, number in sorted(reasons.items()):
        if not reason.startswith(TOOLS):
            terminalreporter.write_line(f"{number} skipped: {reason}")
    if tools:
        terminalreporter.write_line(
            f"{sum(tools.values())} skipped: they need {', '.join(sorted(tools))}. "
            "Debian, Ubuntu: apt install nodejs npm lld chromium firefox-esr; then make test"
        )
