"""The check of games from outside: every planted fault is named, with its function and position."""

# ruff: noqa: E501 (a fault a line)

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import high_card as H
from tienlen_check import __main__ as command, compiled
from tienlen_check.contract import check_contract
from tienlen_env.errors import GameFaultError
from tienlen_env.games import registry
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.game import AnyGame, Layout
from tienlen_env.games.common.legal import legal_kernels
from tienlen_env.games.common.spec import KernelTables
from tienlen_env.games.registry import games, register

K = H.HIGH_CARD.kernels


def kernel(name: str, make: Callable[[Any], Any]) -> Any:
    """The game with another kernel, made of the right one."""
    return lambda: replace(H.HIGH_CARD, kernels=K._replace(**{name: make(getattr(K, name))}))


def after(name: str, do: Callable[..., Any]) -> Any:
    """The game whose kernel does something more at its end."""

    def make(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any) -> Any:
            result = right(*args)
            do(*args)
            return result

        return wrong

    return kernel(name, make)


def part(**changes: Any) -> Any:
    return lambda: replace(H.HIGH_CARD, **changes)


def columns(**changes: Any) -> Any:
    return lambda: replace(H.HIGH_CARD, columns=H.HIGH_CARD.columns._replace(**changes))


def text(**changes: Any) -> Any:
    return lambda: replace(H.HIGH_CARD, text=replace(H.HIGH_CARD.text, **changes))


def spec(change: Callable[[np.ndarray], Any], actions: Any = None) -> Any:
    def build(rules: Any, **settings: Any) -> KernelTables:
        right = H.build_spec(rules, **settings)
        numbers = right.spec.copy()
        changed = change(numbers)
        return KernelTables(
            numbers if changed is None else changed, right.actions if actions is None else actions
        )

    return lambda: replace(H.HIGH_CARD, build_spec=build)


def setting(index: int, number: int) -> Any:
    return spec(lambda numbers: numbers.__setitem__(index, number))


def table(**changes: Any) -> Any:
    class Wrong(H.CardTable):
        pass

    for name, value in changes.items():
        setattr(Wrong, name, value)
    return part(build_table=lambda rules: Wrong())


def size(by: int) -> Any:
    def layout(rules: Any, history: int = 0) -> Layout:
        return Layout([("all", (H.observation(rules).size + by,), "all")])

    return part(observation=layout, global_observation_size=lambda rules, history: layout(rules).size + 300)


def never(*_: Any) -> int:
    raise KeyError("a dict has no place here")


def legal_of(**changes: Any) -> Any:
    settings = {"turn": H.TURN, "hand": H.HAND, "legal": H.LEGAL, "action_cards": H.action_cards} | changes
    return kernel("legal", lambda _: legal_kernels(**settings))


def no_end(row: Any, *_: Any) -> None:
    if row[H.TURN] < 0:
        H.begin_game(row, [3], row[H.KEY], row[H.ROUND] + 1, -1)


# fmt: off
FAULTS: dict[str, tuple[Any, str]] = {
    # build_spec
    "floats": (spec(lambda n: n.astype(np.float64)), r"build_spec: spec: expected a contiguous int64"),
    "two axes": (spec(lambda n: n[None]), r"build_spec.*(index|spec)"),
    "a strided spec": (spec(lambda n: np.repeat(n, 2)[::2]), r"build_spec: spec: expected a contiguous"),
    "a list of actions": (spec(lambda n: None, actions=[0]), r"build_spec: actions: expected a contiguous"),
    "no header": (spec(lambda n: n[: S.AUTO_RESET]), r"build_spec.*index 6"),
    "players": (setting(S.NUM_PLAYERS, 4), r"build_spec: spec\[NUM_PLAYERS\] is 4: expected 3"),
    "actions": (setting(S.NUM_ACTIONS, 51), r"build_spec: spec\[NUM_ACTIONS\] is 51: expected 52"),
    "words": (setting(S.NUM_WORDS, 2), r"build_spec: spec\[NUM_WORDS\] is 2: expected 1"),
    "auto_reset": (setting(S.AUTO_RESET, 0), r"build_spec.*spec\[AUTO_RESET\]: expected 1"),
    "always reset": (setting(S.AUTO_RESET, 1), r"build_spec: spec\[AUTO_RESET\] is 1: expected 0"),
    "reward index": (setting(S.REWARD, 0), r"build_spec\(reward='zero_sum'\): spec\[REWARD\] is 0: expected"),
    "row too small": (setting(S.ROW_SIZE, H.ROW_SIZE - 1), r"columns.legal: columns (\d+)..\1 of \1$"),
    "a bug": (part(build_spec=lambda rules, **settings: never()), r"build_spec.*raises KeyError"),
    # names and columns
    "a blank": (part(name="high card"), r"'high card' is not a name"),
    "a preset's blank": (part(presets={"High Card": H.HighCardRules()}), r"'High Card' is not a name"),
    "no preset": (part(presets={}), r"presets: expected at least one"),
    "other rules": (part(presets={"one": object()}), r"presets\['one'\]: expected HighCardRules"),
    "no points": (part(rewards=("tricks", "zero_sum")), r"rewards: expected 'points'"),
    "a reward twice": (part(rewards=("points", "zero_sum", "points")), r"rewards: a name comes twice"),
    "overlap": (columns(place=H.SCORE), r"columns\.\w+: column \d+ belongs to columns\.\w+, too"),
    "turn is hand": (columns(turn=H.HAND + 1), r"columns.turn: column 1 belongs to columns.hand"),
    "legal behind the row": (columns(legal=H.ROW_SIZE), r"columns.legal: columns \d+..\d+ of \d+"),
    "an open hand": (columns(hidden=(H.HAND, H.KEY)), r"columns.hidden: column 1, a hand or the key"),
    "the key is shown": (
        columns(hidden=tuple(range(H.HAND, H.HAND + 4))),
        r"columns.hidden: column \d+, a hand",
    ),
    "hidden behind the row": (columns(hidden=(*H.HIDDEN, 99)), r"columns.hidden: not in the row"),
    # texts
    "the same text": (table(text=lambda self, action: "card"), r"text\(1\): 'card' is the text of action 0"),
    "no text": (table(text=lambda self, action: None), r"text\(0\): None: expected a text"),
    "no actions": (table(num_actions=0), r"(NUM_ACTIONS|num_actions)"),
    "no hash": (table(__hash__=None), r"build_table: raises TypeError"),
    "parse_action": (
        text(parse_action=lambda table, text: 5),
        r"text.parse_action\('3s'\): gives 5: expected 0",
    ),
    "parse_cards": (text(parse_cards=lambda text: 1), r"text.parse_cards: .* gives 0x1"),
    "format_cards": (text(format_cards=never), r"text.format_cards: raises KeyError"),
    "describe": (text(describe=lambda table, row: None), r"text.describe: None: expected a text"),
    "why_refused": (text(why_refused=lambda *args: "no"), r"text.why_refused: 'no': expected a Refusal"),
    "worst_reward": (
        text(worst_reward=lambda rules, reward: 1.0),
        r"text.worst_reward: gives 1.0 where a seat",
    ),
    # observations
    "layout too short": (size(-1), r"observe: out of \d+ items, out\[\d+\]: expected an index in 0\.\.\d+"),
    "layout too long": (size(60), r"observe: out\[\d+\] of \d+ items is not written"),
    "global too short": (
        part(global_observation_size=lambda r, h: H.global_observation_size(r) - 1),
        r"observe_all: out",
    ),
    "global too long": (
        part(global_observation_size=lambda r, h: H.global_observation_size(r) + 1),
        r"observe_all: out\[\d+\] of \d+ items is not written",
    ),
    "a count": (
        after("observe", lambda row, s, a, seat, out, start: out.__setitem__(3, 2)),
        r"observe: out\[3\] is 2: expected 0 or 1",
    ),
    "a hidden card": (
        after(
            "observe",
            lambda row, s, a, seat, out, start: out.__setitem__(3, row[H.HAND + (seat + 1) % 4] >> 3 & 1),
        ),
        r"observe: out\[3\] depends on cards",
    ),
    "before the start": (
        after("observe", lambda row, s, a, seat, out, start: out.__setitem__(start - 1, 0)),
        r"observe: .*out\[-1\]: expected an index",
    ),
    "off turn": (
        after("observe", lambda row, s, a, seat, out, start: out.__setitem__(0, 1)),
        r"observe: expected zeros for seat -1|out\[0\]",
    ),
    # kernels
    "row behind its end": (
        after("begin_game", lambda row, *_: row.__setitem__(H.ROW_SIZE, 0)),
        rf"begin_game: row\[{H.ROW_SIZE}\]: expected an index",
    ),
    "row before its start": (
        after("play", lambda row, *_: row.__setitem__(-1, 0)),
        r"play\('.*'\): row\[-1\]: expected an index",
    ),
    "a fraction": (
        after("begin_game", lambda row, *_: row.__setitem__(H.BEST, 0.5)),
        r"begin_game: row\[\d+\] = 0.5: expected int",
    ),
    "65 bits": (
        after("play", lambda row, *_: row.__setitem__(H.BEST, 1 << 64)),
        r"play\('.*'\): row\[\d+\] = 18446744073709551616: expected 64 bits",
    ),
    "no key": (
        after("begin_game", lambda row, *_: row.__setitem__(H.KEY, 9)),
        r"begin_game: row\[key\] is 9: expected 0",
    ),
    "two hands": (
        after("begin_game", lambda row, *_: row.__setitem__(H.HAND, row[H.HAND + 1])),
        r"begin_game: a card is in two hands",
    ),
    "an empty hand": (
        after("begin_game", lambda row, *_: row.__setitem__(H.HAND, 0)),
        r"begin_game: a hand is empty",
    ),
    "not from the key": (
        after(
            "begin_game",
            lambda row, *_: row.__setitem__(H.HAND, random.choice([1 << 51, 1 << 50, 1 << 49, 1 << 48])),
        ),
        r"begin_game: (another game|a card is in two)",
    ),
    "what was there": (
        kernel(
            "begin_game",
            lambda right: (
                lambda row, *args: (
                    best := row[H.SCORE],
                    right(row, *args),
                    row.__setitem__(H.TURN, best & 3),
                )[1]
            ),
        ),
        r"begin_game: row\[turn\] is 0 for leader=1",
    ),
    "turn of nobody": (
        after("play", lambda row, *_: row.__setitem__(H.TURN, 4)),
        r"update_legal: (raises|row).*",
    ),
    "stale bits": (
        kernel("update_legal", lambda right: lambda row, *_: row.__setitem__(H.LEGAL, row[H.LEGAL] | 1)),
        r"update_legal: bit 63: there are 52 actions",
    ),
    "a bit too far": (
        after("update_legal", lambda row, *_: row.__setitem__(H.LEGAL, 1 << 52)),
        r"update_legal: bit 52: there are 52 actions",
    ),
    "nothing to do": (
        after("update_legal", lambda row, *_: row.__setitem__(H.LEGAL, 0)),
        r"update_legal: 0 legal actions where row\[turn\] is 0",
    ),
    "legal at the end": (
        kernel(
            "update_legal",
            lambda right: (
                lambda row, *args: right(row, *args) if row[H.TURN] >= 0 else row.__setitem__(H.LEGAL, 1)
            ),
        ),
        r"update_legal: 1 legal actions where row\[turn\] is -1",
    ),
    "legal_kernels' column": (legal_of(legal=H.HAND), r"legal: "),
    "legal_kernels' turn": (legal_of(turn=H.BEST), r"legal: "),
    "cards of others": (
        kernel("action_cards", lambda right: lambda hand, actions, action: 1 << (action + 1) % 52),
        r"action_cards\('.*'\): 0x\w+ is not in the hand",
    ),
    "refuses its cards": (
        kernel("can_play_cards", lambda right: lambda *args: False),
        r"can_play_cards\('.*'\): refuses its own cards",
    ),
    "takes any cards": (
        kernel("can_play_cards", lambda right: lambda *args: True),
        r"can_play_cards\('.*'\): takes 0x\w+, not of the hand",
    ),
    "keeps the cards": (
        after(
            "play",
            lambda row, s, a, action, cards, r: row.__setitem__(
                H.HAND, row[H.HAND] | cards if row[H.TURN] == 1 else row[H.HAND]
            ),
        ),
        r"play\('.*'\): the hand is 0x\w+ after it",
    ),
    "never ends": (after("play", no_end), r"play: round 2 begins: expected num_rounds=1"),
    "places": (
        after("play", lambda row, *_: row.__setitem__(H.PLACE, 2) if row[H.TURN] < 0 else None),
        r"play: row\[place\] of seat \d is \d at the end: expected \d",
    ),
    "nan": (
        after("play", lambda row, s, a, action, cards, r: r.__setitem__(0, float("nan"))),
        r"play\('.*'\): rewards are \[nan",
    ),
    "a seat too many": (
        after("play", lambda row, s, a, action, cards, r: r.__setitem__(3, 0.0)),
        r"play\('.*'\): rewards\[3\]: expected an index in 0..2",
    ),
    "not zero-sum": (
        after("play", lambda row, s, a, action, cards, r: r.__setitem__(0, r[0] + 1)),
        r"play: seat 0 gets .* points in a round where row\[score\] grows by",
    ),
    "an exception": (kernel("play", lambda right: never), r"play\('.*'\): raises KeyError"),
    "resampled own hand": (
        after(
            "resample_hidden",
            lambda row, s, seat, key: row.__setitem__(
                H.HAND + seat,
                row[H.HAND + seat] ^ 3 << 50
                if row[H.HAND + seat].bit_count() != (row[H.HAND + seat] ^ 3 << 50).bit_count()
                else 1 << 3,
            ),
        ),
        r"resample_hidden: (the own hand changes|the hand of seat)",
    ),
    "resampled sizes": (
        after("resample_hidden", lambda row, s, seat, key: row.__setitem__(H.HAND + (seat + 1) % 4, 0)),
        r"resample_hidden: the hand of seat \d has another size",
    ),
    "resampled plays": (
        after("resample_hidden", lambda row, s, seat, key: row.__setitem__(H.BEST, 3)),
        r"resample_hidden: row\[\d+\] changes, and is not in columns.hidden",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_compiler_gets_a_game_with_a_planted_fault(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`Batch` compiles registered games alone, with Numba or `make native`."""
    make, message = FAULTS[name]
    wrong = make()
    others = {name: game for name, game in registry._games.items() if name != "high_card"}
    monkeypatch.setattr(registry, "_games", dict(others))
    with pytest.raises(GameFaultError, match=message):
        register(wrong)
    assert registry._games == others
    registry._games["high_card"] = wrong  # as if it had passed
    assert command.main(["high_card", "--rounds", "6"]) == 1
    assert re.search(message, capsys.readouterr().err)


def test_there_are_enough_faults() -> None:
    assert len(FAULTS) >= 40


@pytest.mark.parametrize("game", [H.HIGH_CARD, *games()], ids=lambda game: game.name)
def test_right_games_pass(game: AnyGame) -> None:
    """A third of the presets; nightly, in `test_planted_faults.py`, all."""
    check_contract(replace(game, presets=dict(list(game.presets.items())[::3])), 1)


def test_a_game_with_a_fault_is_not_registered() -> None:
    wrong = replace(FAULTS["layout too short"][0](), name="wrong_card", presets={"wrong_card": H.HighCardRules()})
    with pytest.raises(GameFaultError, match=r"game 'wrong_card', preset 'wrong_card': .*observe: out of"):
        register(wrong)
    assert "wrong_card" not in {game.name for game in games()}


def test_memory_around_an_array_is_watched() -> None:
    guarded = compiled.GuardedArray("rows", (2, 3), np.int64)
    guarded.array[:] = 1
    guarded.check()
    guarded.memory[compiled.NUM_GUARDED - 1] = 0
    with pytest.raises(GameFaultError, match="rows: compiled code writes outside of it, at byte -1"):
        guarded.check()


CHECKED = """
import sys
from tests.extensions.check import test_check_game as T
from tienlen_check.__main__ import main
from tienlen_env.games import registry

make = getattr(T, sys.argv[1])
game = make()
registry._games["high_card"] = game  # as if it had passed
sys.exit(main(["high_card", "--rounds", "1"]))
"""


def with_a_dict() -> Any:
    """Python plays it, and the compiler does not take it."""
    return kernel("action_cards", lambda right: lambda hand, actions, action: {0: right(hand, actions, action)}[0])()


def signed_words() -> Any:
    """``>>`` of a word with bit 63 is another number in plain Python."""

    right = K.observe  # compiled code reads functions, not the tuple

    def wrong(row: Any, seen: Any, actions: Any, seat: int, out: Any, start: int) -> None:
        right(row, seen, actions, seat, out, start)
        out[start] = 1 if seat >= 0 and (row[H.HAND + seat] << 13) + 1 > 0 else 0

    return replace(H.HIGH_CARD, kernels=K._replace(observe=wrong))


def right_game() -> Any:
    return H.HIGH_CARD


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("right_game", "high_card: 1 presets keep the contract, in Python and compiled"),
        ("with_a_dict", "game 'high_card', preset 'high_card': not compiled: .*"),
        ("signed_words", "observe: Numba and Python differ after \\d+ steps, game \\d+, index 0: 0 and 1"),
    ],
)
def test_compiled_code_is_compared_with_python(game: str, message: str) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", CHECKED, game]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [root, *filter(None, sys.path)]))}
    done = subprocess.run(command, cwd=root, env=env, text=True, capture_output=True, timeout=600)
    assert done.returncode == (0 if game == "right_game" else 1), done.stderr
    assert re.search(message, done.stdout + done.stderr)
