"""One loop plays rounds: `RoundLoop` on the processor, `Rounds.steps` on a device; others are its bodies."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import numpy as np
import pytest

from tests.needs import ROOT
from tienlen_env import Batch
from tienlen_env.engine.agent import AnswerError, RandomAgent
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.errors import IllegalPlayError

FOLDERS: Final = ("tienlen_env", "agents", "train", "extensions", "research", "tools", "examples")
ASKS: Final = frozenset({"act", "act_cards", "choose", "choose_cards", "ask"})
STEPS: Final = frozenset({"step", "step_games", "_step_games", "apply", "_turns"})
SESSION: Final = "a session of one game, where people play, too, and take back; `Session.ask` checks agents"
ALLOWED: Final = {
    ("tienlen_env/engine/round_loop.py", "run"): "the one loop",
    ("extensions/table/tienlen_table/server/hub.py", "prepare"): "one play, so that all is compiled",
    ("extensions/table/tienlen_table/terminal/play.py", "play"): SESSION,
    ("tools/docs/make_table_pictures.py", "a_round"): SESSION,
    ("tools/docs/make_table_pictures.py", "thirteens_melds"): SESSION,
}


def called(node: ast.AST) -> set[str]:
    """The names of the functions and methods that are called in a piece of code."""
    functions = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return {f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in functions}


def own_loops(source: str) -> Iterator[str]:
    """The functions with a loop that asks agents and advances games, there or in a function of the module."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    calls: dict[str, set[str]] = {}
    for function in functions:
        calls[function.name] = calls.get(function.name, set()) | called(function)

    def reached(names: set[str], skipped: set[str]) -> set[str]:
        found: set[str] = set()
        while names:
            found |= names
            inner = [calls.get(name, set()) for name in names - ASKS - STEPS - skipped]
            names = set().union(*inner) - found
        return found

    users = {name for name, some in calls.items() if "RoundLoop" in some}
    loops = {
        function.name: [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
        for function in functions
    }
    found: set[str] = set()
    for _ in range(2):  # the second time without those that call one of the first
        for name in loops:
            names = [reached(called(loop), (users | found) - {name}) for loop in loops[name]]
            is_own = any(some & ASKS and some & STEPS for some in names)
            found = found | {name} if is_own else found - {name}
    yield from sorted(found)


def test_one_loop_asks_agents_and_plays() -> None:
    """On a device `_turns` says which decisions wait; its one loop is `Rounds.steps`."""
    found, on_device = set(), 0
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        if "node_modules" not in path.parts:
            text, where = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
            found |= {(where, name) for name in own_loops(text)}
            on_device += text.count("._turns(")
    assert found == {key for key in ALLOWED if (ROOT / key[0]).exists()}
    assert on_device == (ROOT / "extensions/gpu").exists()


def test_the_count_sees_a_loop_in_two_functions() -> None:
    source = "def ask(a, b):\n return a.act(b)\ndef play(a, b):\n while b.turn:\n  b.step(ask(a, b))\n"
    assert list(own_loops(source)) == ["play"]
    assert not list(own_loops(source.replace("while", "if")))


class Fixed(RandomAgent):
    """Gives the answer that a test has set."""

    name = "fixed"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def act(self, view: object) -> object:  # type: ignore[override]
        return self.answer


def play(loop: RoundLoop) -> None:
    for waiting in loop:
        loop.play(waiting.games, loop.answers(waiting))


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("answer", [None, [], [[0]], [0.0], [True], "3s", {}, [0, 0]], ids=repr)
def test_no_answer_is_no_pass(answer: object, skip_forced: bool) -> None:
    batch = Batch("cardgames", 1)
    batch.deal([3])
    before = batch.kernel_arrays.rows.copy()
    with pytest.raises(AnswerError, match="agent 'fixed': expected integers"):
        play(RoundLoop(batch, [Fixed(answer)], [0] * 4, skip_forced=skip_forced))
    assert (batch.kernel_arrays.rows == before).all()


@pytest.mark.parametrize("skip_forced", [False, True])
def test_an_illegal_play_names_the_agent_and_changes_nothing(skip_forced: bool) -> None:
    batch = Batch("cardgames", 3)
    batch.deal([3, 4, 5])
    before = batch.kernel_arrays.rows.copy()
    with pytest.raises(IllegalPlayError, match="agent 'fixed' played against the rules: game 0"):
        play(RoundLoop(batch, [Fixed([10**6] * 3)], [0] * 4, skip_forced=skip_forced))
    assert (batch.kernel_arrays.rows == before).all()


def test_an_opponent_of_one_seat_that_plays_against_the_rules_is_named() -> None:
    agent = Fixed(None)
    agent.act = lambda view: [10**6] * len(view)  # type: ignore[method-assign,assignment,arg-type]
    games = OneSeatGames("cardgames", 3, opponents=agent)
    with pytest.raises(IllegalPlayError, match="agent 'fixed' played against the rules: game "):
        games.reset(3)
    games = OneSeatGames("cardgames", 1, opponents=Fixed(None), seat=0)
    with pytest.raises(AnswerError, match="agent 'fixed': expected integers"):
        [games.reset(seed) for seed in range(9)]


@pytest.mark.parametrize("seats", [[0, 0, 0], [0, 0, 0, 2], [-1, 0, 0, 0], [[0] * 4]])
def test_seats_that_do_not_fit(seats: object) -> None:
    with pytest.raises(ValueError, match="seats: expected"):
        RoundLoop(Batch("cardgames", 2), [RandomAgent(), None], np.array(seats))
