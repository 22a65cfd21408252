"""Every public method of every public class with arguments of every kind; see `tests.fuzz`.

No call ends the interpreter, changes a state and refuses, or raises what a caller cannot expect. The fuzzer
runs in a process of its own, so that a fault in compiled code is a failure here and names the method.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.fuzz import __main__ as fuzz
from tests.fuzz.__main__ import strategy_of
from tests.fuzz.members import (
    EXEMPT,
    KEPT,
    MADE_BY_THE_ENGINE,
    Member,
    is_exempt,
    parameters_of,
    public_members,
)
from tests.fuzz.subjects import MAKERS
from tests.needs import forks
from tienlen_agents.search.agent import SearchAgent
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends.per_game import REFUSED
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import InvalidComboError
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Round

NUM_PARTS = 6
NUM_CALLS = 1000  # of each method, nightly
SECONDS = 1.0  # for more calls of each method, nightly


def run(log: Path, *options: str) -> dict[str, Any]:
    """The fuzzer's report.

    Raises:
        AssertionError: it ended otherwise; the message has the call that was being made.
    """
    command = [sys.executable, "-m", "tests.fuzz", *options, "--log", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return report_of(log, done.returncode, done.stdout, done.stderr)


def report_of(log: Path, status: int, out: str, errors: str) -> dict[str, Any]:
    """See `run`."""
    made = log.read_bytes().strip(b"\0 ").decode() if log.exists() else "nothing"
    assert status == 0, f"exit code {status} in {made}: {errors[-2000:]}"
    report: dict[str, Any] = json.loads(out)
    return report


def test_every_public_method_has_a_fuzz() -> None:
    """A new class needs a subject, a new parameter needs values, and what is exempt is there."""
    members = public_members()
    assert len(members) > 250
    for member in members:
        assert member.owner in MAKERS, f"no subject for {member} (tests/fuzz/subjects.py)"
        for name, parameter in parameters_of(member).items():
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                strategy_of(member, name)
    for name in [*EXEMPT, *KEPT, *MADE_BY_THE_ENGINE]:
        parent, _, last = name.rpartition(".")
        module = import_module(parent)
        assert hasattr(module, last) or (hasattr(module, "__path__") and find_spec(name)), name
    assert {"step", "step_games", "observe", "select"} <= {m.name for m in members if m.owner is Batch}
    assert {"act", "reset"} <= {m.name for m in members if m.owner is SearchAgent}  # of its private base
    assert all(not is_exempt(m.owner.__module__) or m.owner.__module__ in KEPT for m in members)


def test_a_method_without_values_is_found() -> None:
    class New:
        def strange(self, unheard_of: int) -> None: ...

    with pytest.raises(LookupError, match="no values for the parameter unheard_of"):
        strategy_of(Member(New, "strange"), "unheard_of")


def fuzz_a_fault(fault: Callable[[], object], log: Path, out: Path) -> None:
    """In a fork: a method with a fault is fuzzed."""
    faulthandler.disable()
    Batch.count_legal = lambda self: fault()  # type: ignore[assignment, method-assign, return-value]
    words = ["--only", "batch.Batch.count_legal", "--calls", "3", "--log", str(log)]
    with out.open("w") as file, redirect_stdout(file):
        status = fuzz.main(words)
    sys.exit(status)


@forks
def test_a_crash_is_reported(tmp_path: Path) -> None:
    """The harness itself: a call that reads a wrong address, and one that raises an `IndexError`."""

    def run_with(fault: Callable[[], object]) -> dict[str, Any]:
        log, out = tmp_path / "log", tmp_path / "out"
        child = multiprocessing.get_context("fork").Process(target=fuzz_a_fault, args=(fault, log, out))
        child.start()
        child.join()
        assert child.exitcode is not None
        return report_of(log, child.exitcode, out.read_text(), "")

    with pytest.raises(
        AssertionError, match=r"exit code -\d+ in tienlen_env.engine.batch.Batch.count_legal seed 0"
    ):
        run_with(lambda: ctypes.string_at(0))
    report = run_with(lambda: [][1])
    assert [fault.partition(" at ")[0] for fault in report["faults"]] == [
        "tienlen_env.engine.batch.Batch.count_legal: IndexError"
    ]


def test_a_few_calls_of_every_method(tmp_path: Path) -> None:
    report = run(tmp_path / "log", "--calls", "5", "--only", "tienlen_env")
    assert not report["faults"]
    assert min(report["calls"].values()) >= 5
    assert 0.1 < sum(report["refused"].values()) / sum(report["calls"].values()) < 0.9


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(NUM_PARTS))
def test_many_calls_of_every_method(part: int, tmp_path: Path) -> None:
    """Together more than a million calls; the test of a part fails if it does not do its share."""
    options = (
        "--calls",
        str(NUM_CALLS),
        "--budget",
        str(SECONDS),
        "--part",
        f"{part}/{NUM_PARTS}",
        "--seed",
        "1",
    )
    report = run(tmp_path / "log", *options)
    assert not report["faults"]
    assert min(report["calls"].values()) >= NUM_CALLS
    assert sum(report["calls"].values()) > 1_000_000 / NUM_PARTS


@pytest.mark.parametrize("num_inputs", [20_000, pytest.param(10_000_000, marks=pytest.mark.nightly)])
def test_any_number_as_an_action(num_inputs: int) -> None:
    """One call for each input: refused if and only if it is not legal, and then nothing has changed."""
    rng, num_refused = np.random.default_rng(0), 0
    for rules in ("cardgames", "foicica", "thirteens_manual"):
        batch = Batch(rules, auto_reset=True)
        batch.reset(1)
        rewards, mask = np.zeros(batch.num_players, np.float32), np.zeros(batch.num_actions, np.int8)
        observation = np.zeros(batch.observation_size, np.uint8)
        rows, *tables = batch.kernel_arrays
        play_one = partial(batch.loops.play_one, rows[0], *tables)
        batch.action_mask(mask[None])
        before, wild = rows.tobytes(), [-1, -(2**63), 2**63 - 1, batch.num_actions, 2**31, -(2**31)]
        for start in range(0, num_inputs // 3, 10_000):
            drawn = rng.integers(-2, batch.num_actions + 2, 10_000)
            odd = rng.integers(0, 40, 10_000)
            for number, kind in zip(drawn.tolist(), odd.tolist(), strict=True):
                action = wild[kind] if kind < 6 else number
                if kind > 30:
                    action = int(mask.argmax())
                is_legal = 0 <= action < len(mask) and mask[action] == 1
                result = play_one(rewards, mask, observation, action)
                if is_legal:
                    assert result != REFUSED
                    before = rows.tobytes()
                else:
                    num_refused += 1
                    assert result == REFUSED
            assert rows.tobytes() == before, start
    assert num_refused > num_inputs / 2


# ---------------------------------------------------------------- what the fuzzer has found


def test_draws_outside_the_unit_interval_are_refused() -> None:
    batch = Batch("cardgames", 2)
    batch.reset(0)
    before = batch.state.rows.copy()
    actions, following = batch.sample(np.random.default_rng(0)), np.zeros(2, np.int64)
    for bad in (np.nan, -0.1, 1.0, np.inf, 1e300):
        with pytest.raises(ValueError, match=r"draws: expected numbers in \[0, 1\)"):
            batch.step(actions, draws=np.array([0.5, bad]), next_actions=following)
        np.testing.assert_array_equal(batch.state.rows, before)


@pytest.mark.parametrize(
    "name", ["greedy", "greedy_long", "heuristic", "search:worlds=2", "ismcts:worlds=2", "endgame:greedy"]
)
def test_agents_refuse_games_that_are_over(name: str) -> None:
    batch = Batch("cardgames", 3)
    agent = tienlen_agents.load(name)
    with pytest.raises(ValueError, match="game 0 is over or not dealt; no decision waits there"):
        agent.act(View(batch))
    batch.reset(0)
    batch.state.turn[1] = -1
    with pytest.raises(ValueError, match="game 1 is over"):
        agent.act(View(batch))


def test_indices_and_names_are_checked() -> None:
    batch = Batch("cardgames", 2)
    batch.reset(0)
    view = View(batch)
    for call in (
        lambda: batch.action_to_text(2**64),
        lambda: batch.action_to_text(-1),
        lambda: batch.action_to_text("x"),  # type: ignore[arg-type]
        lambda: view.select([2]),
        lambda: view.select([-1]),
        lambda: view.cards_of([0]),  # type: ignore[arg-type]
        lambda: view.cards_of([2**64, 0]),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="expected"):
            call()


@pytest.mark.parametrize("seed", [float("inf"), float("nan"), 1.5, "1", None])
def test_seeds_of_a_search_are_integers(seed: object) -> None:
    with pytest.raises(ValueError, match=r"seed=.*: expected an integer"):
        tienlen_agents.load("search:worlds=2").reset(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [float("inf"), 1.5, "1", None])
def test_lengths_of_the_history_are_integers(length: object) -> None:
    with pytest.raises(ValueError, match=r"history_length=.*: expected an integer"):
        Batch("cardgames", 1).with_history_length(length)  # type: ignore[arg-type]


def test_no_round_is_offered_a_play_that_somebody_made_up() -> None:
    """Rounds with the same rules share their play objects."""
    cards = parse_cards("7s 8d 9h")
    made = Round("cardgames", 1)
    action = made._table.classify(cards)
    with pytest.raises(InvalidComboError, match="action 5 does not have the cards 7s 8d 9h"):
        made.play_of(5, cards)
    with pytest.raises(InvalidComboError, match="not a valid mask"):
        made.play_of(5, -1)
    play = made.play_of(action, cards)
    assert play.action == action
    with pytest.raises(InvalidComboError, match="action 5 does not have the cards 7s 8d 9h"):
        Round("cardgames", 2).play_of(5, cards)
    assert Round("cardgames", 2).play_of(action, cards) is play


@pytest.mark.parametrize("kind", [Round, ThirteensRound])
def test_masks_of_cards_are_integers(kind: Any) -> None:
    played = kind(key=1) if kind is ThirteensRound else kind("cardgames", 1)
    for wrong in (float("inf"), 1.0, -1, 2**60):
        with pytest.raises(ValueError, match="is not a valid mask of cards"):
            played._batch.game.text.format_cards(wrong)
    with pytest.raises(InvalidComboError, match="is not a valid mask of cards"):
        Round("cardgames", 1)._table.classify(float("inf"))  # type: ignore[arg-type]


def test_there_is_a_name_for_each_seat() -> None:
    for played in (Round("cardgames", 1), ThirteensRound("thirteens", 1)):
        with pytest.raises(ValueError, match=r"names=.*: expected 4 names"):
            played.view(names=("one", "two"))
        with pytest.raises(ValueError, match=r"names=.*: expected 4 names"):
            played.payment_texts(names=())
