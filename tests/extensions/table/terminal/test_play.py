"""A person at the terminal, over a pipe."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tienlen_agents
from tienlen_env import tienlen_v1
from tienlen_env.engine.agent import CardAgent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.notation import read_key
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_env.rendering.ansi import NAME_COLUMNS
from tienlen_env.single.game import Game
from tienlen_env.single.tienlen import Round
from tienlen_table.terminal.human import HumanAgent, Leave, say
from tienlen_table.terminal.play import main, short_names
from tienlen_table.words import symbols

ROOT = Path(__file__).resolve().parents[4]
THREE = ["--seats", "human", "greedy", "greedy_long"]


@pytest.fixture
def play(monkeypatch, capsys):
    """Runs the command with typed lines; gives the exit code and what is shown."""

    def run(arguments, lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main(arguments)
        return code, capsys.readouterr().out

    return run


ANYTHING = ["1", "p"] * 400  # the first play if there is one, and a pass for when it was refused


# ---------------------------------------------------------------- whole games


@pytest.mark.parametrize("preset", PRESETS)
def test_a_round(play, tmp_path, preset):
    path = tmp_path / "round.txt"
    code, out = play(
        [*THREE, "--rounds", "1", "--rules", preset, "--key", "3", "--save", str(path)], ANYTHING
    )
    assert code == 0
    assert "round 1 is over" in out
    assert f"the record is in {path}" in out
    assert "\033" not in out
    played = Round.from_record(path.read_text())
    assert played.is_over
    assert (played.rules.name, played.rules.num_players, played.key) == (preset, 3, 3)
    for place, points in enumerate(played.rules.place_points):
        name = ["you", "greedy", "greedy_long"][played.places.index(place)]
        assert f"{('1st', '2nd', '3rd')[place]}  {name:<24} {f'+{points}':>3}" in out


def test_an_evening(play, tmp_path):
    """An agreed number of rounds, and rounds until the person leaves, under rules without a target."""
    path = tmp_path / "evening.txt"
    code, out = play(
        [*THREE, "--rules", "south", "--rounds", "3", "--key", "5", "--save", str(path)], ANYTHING
    )
    assert code == 0
    game = Game.from_record(path.read_text())
    assert len(game.records) == 3
    names = ["you", "greedy", "greedy_long"]
    standing = "  ".join(f"{name} {units:+d}" for name, units in zip(names, game.balances, strict=True))
    assert f"  in the game: {standing}" in out
    path = tmp_path / "left.txt"
    code, out = play(
        [*THREE, "--rules", "south", "--rounds", "0", "--key", "5", "--save", str(path)], ANYTHING
    )
    assert code == 0
    assert "you have left" in out
    assert len(path.read_text().splitlines()) > 4


def test_a_game(play, tmp_path):
    path = tmp_path / "game.txt"
    code, out = play([*THREE, "greedy", "--key", "0x5", "--save", str(path)], ANYTHING)
    assert code == 0
    game = Game.from_record(path.read_text())
    assert game.is_over
    assert len(game.records) == out.count(" is over\n")
    winner = ["you win", "greedy #1 wins", "greedy_long wins", "greedy #2 wins"][game.winner]
    assert f"  {winner} the game" in out
    assert "greedy #2 plays" in out


@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("f16c1ffbb9f8274e", "f16c1ffbb9f8274e"), ("0xf16c1ffbb9f8274e", "f16c1ffbb9f8274e"),
        ("7", "0000000000000007"), ("-1", "f" * 16), ("1000000000000000", "1000000000000000"),
        (str(2**64 - 1), "f" * 16),
    ],
)  # fmt: skip
def test_the_key_of_a_record_deals_it_again(play, typed, key):
    _, out = play([*THREE, f"--key={typed}"], ["q"])
    assert f"key={key}.0 :" in out
    line = out.splitlines()[-1]
    assert Round.from_record(line).key == read_key(typed)
    assert Round.from_record(line).record() == line


@pytest.mark.parametrize(
    "typed", ["", "f16c1ffbb9f8274", "F16C1FFBB9F8274E", str(2**64), "0x1" + "0" * 16, "1.5"]
)
def test_what_is_no_key_is_refused(typed, capsys):
    with pytest.raises(SystemExit):
        main([*THREE, f"--key={typed}"])
    assert "expected 16 hexadecimal digits as in records, or an integer of 64 bits" in capsys.readouterr().err


def test_only_the_own_hand_is_shown(play):
    dealt = Round("cardgames", 7, num_players=3)
    _, out = play([*THREE, "--key", "7"], ["?", "s", "q"])
    words = set(out.partition("the record")[0].split())
    assert symbols(str(dealt.hand(2))).startswith("3♣ ")  # which is led
    for seat in (0, 1, 2):
        seen = words & set(symbols(str(dealt.hand(seat))).split())
        assert seen == (
            set(symbols(str(dealt.hand(0))).split()) if seat == 0 else {"3♣"} if seat == 2 else set()
        )
    assert out.count("▒▒") == 13 + 12


def test_several_people(play):
    code, out = play(["--seats", "human", "human", "--rounds", "1", "--key", "2"], ANYTHING)
    assert code == 0
    assert "human #1 passes" in out
    assert "human #2 plays" in out
    assert "human #1, press Enter when only you look: " in out


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["greedy", "endgame:greedy"], ["greedy", "endgame:greedy"]),
        (["endgame:greedy", "endgame:greedy"], ["endgame #1", "endgame #2"]),
        (["search", "search:worlds=208", "random"], ["search #1", "search #2", "random"]),
        (["process:python a.py", "process:python b.py"], ["process #1", "process #2"]),
        (["a bot that has a long name"] * 2, ["a bot that… #1", "a bot that… #2"]),
        (["greedy", "greedy", "greedy_long"], ["greedy #1", "greedy #2", "greedy_long"]),
    ],
)
def test_names_at_the_table_are_short(names, short):
    assert short_names(names) == short
    assert len(set(short)) == len(short)
    assert max(map(len, short)) <= NAME_COLUMNS


@pytest.mark.parametrize("rules", ["cardgames", "thirteens"])
def test_who_has_a_long_name_is_told_once(play, rules):
    long = ["search:worlds=8,threads=1", "search:worlds=16,threads=1,inference=0.95"]
    arguments = ["--rules", rules, "--seats", "human", *long, "random", "--rounds", "1", "--key", "7"]
    code, out = play(arguments, ANYTHING)
    assert code == 0
    told, _, game = out.partition("\n\n")
    first, second = (tienlen_agents.load(name).name for name in long)
    assert f"  search #1 is {first}\n  search #2 is {second}\n" in told + "\n"
    assert "search:" not in game
    assert all(f"  search #{number} " in game for number in (1, 2))  # whole, wherever it stands
    lines = game.partition("the record")[0].splitlines()
    assert max(map(len, lines)) <= 80


# ---------------------------------------------------------------- what can be typed


def test_commands(play):
    # Key 7: greedy_long leads 3s; the hand is 3d 3h 4c 5h 6c 6d 8s 9d Jc Jd Qh 2c 2d.
    lines = ["", "h", "?", "s", "t", "3s 4h", "4h", "3d 3h", "xx", "99", "0", "3D 3d", "u", "3h", "q"]
    code, out = play(["--seats", "human", "greedy", "greedy", "greedy_long", "--key", "7"], lines)
    assert code == 0
    shown = out.split("your play (? lists, h helps): ")[1:]
    assert "ranks 3456789TJQKA2" in shown[1]
    assert "single          1: 3♦   2: 3♥" in shown[2]
    assert "p: pass" in shown[2]
    assert "greedy_long would play 3♦" in shown[3]
    assert shown[4].splitlines()[1:] == shown_table(out)
    assert "3s 4h is not a combination of the cardgames rules (RULES.md 1.5, 3.2)" in shown[5]
    assert "4h refused: 4h not in the hand, 1.5 (RULES.md)" in shown[6]
    assert "3d 3h refused: a single must be followed by the same, 1.6" in shown[7]
    assert "column 1: 'xx' is not a card" in shown[8]
    assert "h for help" in shown[8]
    assert "99 is not a valid number: the list has 13 plays" in shown[9]
    assert "0 is not a valid number" in shown[10]
    assert "card 3d comes twice" in shown[11]
    assert "there is nothing to take back yet" in shown[12]
    assert "you play 3♥" in shown[13]
    assert "you have left the table" in shown[14]
    assert "tienlen/1 cardgames p4 key=0000000000000007.0 : 3s 3h" in shown[14]
    assert max(map(len, out.splitlines())) <= 120


def shown_table(out):
    lines = out.splitlines()
    first = next(i for i, line in enumerate(lines) if "you to play" in line)
    return lines[first : first + 14]


def test_undo(play):
    code, out = play([*THREE, "--key", "7", "--rounds", "1"], ["1", "p", "u", "u", "2", "q"])
    assert code == 0
    assert out.count("taken back") == 2
    # Without undo the same two choices lead to the same game.
    assert (
        play([*THREE, "--key", "7", "--rounds", "1"], ["2", "q"])[1].splitlines()[-1] == out.splitlines()[-1]
    )


def test_rated_games_know_no_undo_and_no_hints(play):
    _, out = play([*THREE, "--rated"], ["u", "s", "1", "p", "u", "?", "q"])
    assert out.count("this game is rated: nothing is taken back") == 2
    assert "this game is rated: there are no suggestions" in out
    assert "taken back\n  taken" not in out
    assert ": pass" in out or "1: " in out


# ---------------------------------------------------------------- ends and errors


def test_the_end_of_the_input_leaves(play, tmp_path):
    path = tmp_path / "left.txt"
    code, out = play([*THREE, "--key", "7", "--save", str(path)], ["1"])
    assert code == 0
    assert "you have left the table" in out
    assert not Round.from_record(path.read_text()).is_over


@pytest.mark.parametrize(
    ("number", "word", "code"), [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_a_signal_leaves_with_the_record_saved(tmp_path, number, word, code):
    path = tmp_path / "left.txt"
    command = [
        sys.executable,
        "-m",
        "tienlen_table.terminal.play",
        *THREE,
        "--key",
        "7",
        "--save",
        str(path),
    ]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write("1\n")
        process.stdin.flush()
        seen = ""
        while "you play" not in seen or not seen.endswith("helps): "):
            seen += process.stdout.read(1) or pytest.fail(seen)
        time.sleep(0.1)  # it waits for a line
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert [line for line in err.splitlines() if not line.startswith("Compiling ")] == []
    assert word in out
    assert not Round.from_record(path.read_text()).is_over


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seats", "human"], "--seats has 1 seat: num_players=1"),
        (["--seats", "human", "nobody"], "unknown agent 'nobody'"),
        ([*THREE, "--key", str(2**64)], "or an integer of 64 bits"),
        ([*THREE, "--rated", "--key", "1"], "--rated: the key is drawn"),
        ([*THREE, "--rated", "--seed", "1"], "--rated: the key is drawn"),
        ([*THREE, "--seed", "1", "--key", "1"], "not allowed with argument --seed"),
        ([*THREE, "--seed", "-1"], "argument --seed: expected 0 or more"),
        ([*THREE, "--save", str(ROOT / "README.md")], "is there already"),
        ([*THREE, "--save", "/no/such/folder/x"], "its folder is not"),
        (["--seats", "greedy", "greedy", "--rounds", "0"], "--rounds 0: without a person"),
        ([*THREE, "--hint", "nobody"], "unknown agent 'nobody'"),
    ],
)
def test_errors(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_forfeits_are_told(play, tmp_path):
    bot = tmp_path / "bot.py"
    bot.write_text("print('what?', flush=True)\ninput()\n")
    seats = ["--seats", "human", f"process:{sys.executable} -S {bot},restarts=0"]
    code, out = play([*seats, "--rounds", "1", "--key", "1"], ANYTHING)
    assert code == 0
    told = " ".join(out.split())  # wherever the line was broken
    first, _, last = told.partition("round 1 is over")
    assert "process forfeits this round: no handshake" in first
    assert "what?" not in first  # a program's own text may tell of its hand
    assert "process: an answer that is no JSON object: 'what?'" in last


# ---------------------------------------------------------------- wherever agents play


def test_the_agent_sees_a_view_alone(monkeypatch, capsys):
    agent = tienlen_agents.load("human:hint=greedy")
    assert isinstance(agent, HumanAgent)
    assert isinstance(agent, CardAgent)
    batch = Batch("cardgames", 2)
    hands = [parse_cards(h) for h in ("3s 3c 4d 9h", "5d 6c 6d 6h", "7s 8h", "Ts Jc")]
    batch.set_hands([hands, hands[1:] + hands[:1]])
    monkeypatch.setattr(
        sys,
        "stdin",
        io.StringIO("s\n9h\n3s 9h\n5d\nu\n3s 3c\n3s\n"),
    )
    actions, cards = agent.act_cards(View(batch))
    out = capsys.readouterr().out
    assert cards.tolist() == [parse_cards("3s 3c"), parse_cards("3s")]
    assert actions.tolist() == [batch.action_table.classify(c) for c in cards.tolist()]
    assert "greedy would play 3♠" in out
    assert "9h refused: the opening play must contain 3s, 1.3 (RULES.md)" in out
    assert "3s 9h is not a combination of" in out
    assert "5d refused: 5d not in the hand, 1.5 (RULES.md)" in out
    assert "nothing can be taken back here" in out
    assert out.count("▒▒") >= 2 * 8
    assert "6♣" not in out
    batch.step(actions, cards)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(Leave):
        agent.act(View(batch))


# ---------------------------------------------------------------- conveniences


def test_a_table_without_seats(play):
    _, out = play(["--key", "7"], ["q"])
    assert " you " in out
    assert all(f" heuristic #{number} " in out for number in (1, 2, 3))
    _, out = play(["--rules", "thirteens_dummy", "--key", "7"], ["q"])
    assert " trickster #" in out


def test_a_seed_decides_deals_and_agents(play):
    seats = ["--seats", "human", "random", "random", "--rounds", "1"]
    first, second, other = (play([*seats, "--seed", seed], ANYTHING)[1] for seed in ("5", "5", "6"))
    assert first == second != other


def test_a_forced_pass_is_explained(play):
    _, out = play([*THREE, "--rounds", "1", "--key", "2"], ANYTHING)
    assert "  you pass: nothing else is legal\n" in out
    assert out.count("nothing else is legal") == out.count("you pass: ")
    assert "you lead\n" in out
    assert "you leads" not in out


@pytest.mark.parametrize(("is_terminal", "no_color"), [(True, ""), (True, "1"), (False, "")])
def test_no_color(monkeypatch, is_terminal, no_color):
    stream = io.StringIO()
    stream.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("NO_COLOR", no_color)
    say("\033[2J\033[1;31mK\033[0m")
    wanted = {(True, ""): "\033[2J\033[1;31mK\033[0m", (True, "1"): "\033[2JK", (False, ""): "K"}
    assert stream.getvalue() == wanted[is_terminal, no_color]


@pytest.mark.parametrize("key", [5, 7])
def test_a_printed_round_has_colours_only_in_a_terminal(monkeypatch, key):
    played = Round("cardgames", key)
    plain, env = str(played), tienlen_v1.raw_env(render_mode="human")
    env.reset(seed=1)
    assert "\033" not in plain
    for is_terminal, no_color, coloured in ((True, "", True), (True, "1", False), (False, "", False)):
        stream = io.StringIO()
        stream.isatty = lambda is_terminal=is_terminal: is_terminal
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("NO_COLOR", no_color)
        print(played)
        env.render()
        assert ("\033[" in stream.getvalue()) == coloured
        assert re.sub(r"\033\[[0-9;]*m", "", stream.getvalue()).startswith(plain)


def test_lines_are_edited_in_a_terminal():
    """An arrow moves in the line; without readline its codes are a part of what is typed."""
    pty = pytest.importorskip("pty")
    pytest.importorskip("readline")
    command = [sys.executable, "-m", "tienlen_table.terminal.play", *THREE, "--key", "7"]
    outer, inner = pty.openpty()
    with subprocess.Popen(
        command, cwd=ROOT, stdin=inner, stdout=inner, stderr=inner, close_fds=True
    ) as process:
        os.close(inner)
        shown = b""
        try:
            while b"helps): " not in shown:
                shown += os.read(outer, 1000)
            # x, left, right, backspace, q; and q again, for a terminal that took the first line for a play
            os.write(outer, b"x\x1b[D\x1b[C\x7fq\nq\n")
            while chunk := os.read(outer, 1000):
                shown += chunk
        except OSError:  # the end, as Linux says it
            pass
        finally:
            os.close(outer)
            process.kill()
    text = shown.decode()
    assert "is not a card" not in text
    assert "you have left the table" in text


@pytest.mark.parametrize("typed", ["fo", "x", "７", "²"])  # a word, a letter, digits of other kinds
def test_unknown_words_point_to_the_help(play, typed):
    _, out = play([*THREE, "--key", "7"], [typed, "q"])
    assert "h for help" in out
    assert "you play" not in out


@pytest.mark.parametrize("rules", ["cardgames", "thirteens"])
def test_commands_are_words_too(play, rules):
    def shown(lines):
        _, out = play(["--rules", rules, "--key", "7", "--seats", "human", *["random"] * 3], lines)
        first, *answers = out.split("your play (? lists, h helps): ")
        return [first, *(answer.partition("\n")[2] for answer in answers)]  # without what was typed

    whole = shown(["help", "list", "hint", "table", "undo", "quit"])
    assert whole == shown(["h", "?", "s", "t", "u", "q"])
    assert len(whole) == 7
    assert "would play" in whole[3]


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--seed", "-1", "expected 0 or more"),
        ("--seed", "x", "expected 0 or more"),
        ("--key", "x", "expected 16 hexadecimal digits as in records, or an integer of 64 bits"),
        ("--key", str(2**64), "expected 16 hexadecimal digits as in records, or an integer of 64 bits"),
        ("--history", "-1", "expected 0 or more"),
    ],
)
def test_values_of_the_terminal(
    capsys: pytest.CaptureFixture[str], option: str, value: str, told: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([option, value])
    assert caught.value.code == 2
    assert f"argument {option}: {told}, got '{value}'" in capsys.readouterr().err
