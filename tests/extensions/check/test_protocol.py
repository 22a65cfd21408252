# ruff: noqa: F811 - `bot` is a fixture of another file
"""``tienlen protocol check``: what it finds in programs, and what it says."""

import shlex
import sys

import pytest

from tests.agents.external.test_process import (
    BOT,
    EXAMPLE,
    FAILURES,
    ROOT,
    STRANGE_IDS,
    bot,  # noqa: F401 - a fixture
)
from tests.high_card import HIGH_CARD
from tests.needs import needs_perl
from tienlen_agents.words import GameWords, words_of
from tienlen_check.protocol import main as protocol_main
from tienlen_check.words import CheckedWords, checked_words_of
from tienlen_env.games import registry
from tienlen_env.games.tienlen.rules import PRESETS


@needs_perl
def test_the_example_in_perl_keeps_the_protocol():
    lines = []
    assert (
        protocol_main(["check", f"perl {ROOT / 'examples' / 'bot.pl'}", "--rounds", "1"], lines.append) == 0
    )
    assert lines[-1].endswith("all passed")


@pytest.mark.parametrize(
    "failure",
    [
        *("a surrogate", "control characters", "strange stderr", "strange handshake"),
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in (*STRANGE_IDS, "strange cards")
            if name not in ("a surrogate", "control characters")
        ),
    ],
)
def test_the_check_shows_what_a_program_said_and_no_more(bot, capsys, failure):
    agent = bot(FAILURES[failure][0])
    assert protocol_main(["check", shlex.join(agent.arguments), "--rounds", "1"]) == 1
    told = capsys.readouterr().out
    assert all(c.isprintable() or c in "\n\t" for c in told)
    assert FAILURES[failure][1] in told
    told.encode()


def test_the_example_conforms():
    lines = []
    assert protocol_main(["check", EXAMPLE, "--rounds", "1"], lines.append) == 0
    assert all(line.startswith("ok") for line in lines[:-1])
    assert lines[-1].endswith("checks, all passed")


def test_the_check_finds_what_is_wrong(bot):
    agent = bot(
        """
def play(m):
    if m["seat"] == 1 and m["table"] == "As":
        say({"id": m["id"], "cards": "3s 4h"})
    elif len(m["hand"]) > 2:
        good(m)
    else:
        time.sleep(9)
"""
    )
    lines = []
    command = shlex.join(agent.arguments)
    assert protocol_main(["check", command, "--rounds", "1", "--limit-ms", "200"], lines.append) == 1
    text = "\n".join(lines)
    assert "FAIL  cardgames: a lead with the last card\n      no answer in time" in text
    assert "FAIL  unknown messages" in text  # a KeyError: it knows no weather
    assert "ok    handshake" in text
    assert "failed" in lines[-1]


UNFLUSHED = {
    "all": ("def say(message): print(json.dumps(message))", ["FAIL  handshake", "FAIL  the other checks"]),
    "plays": (
        'def play(m): print(json.dumps({"id": m["id"], "cards": m["legal"][0]}))',
        ["ok    handshake", *["FAIL  cardgames"] * 3, "FAIL  the other checks"],
    ),
}


@pytest.mark.parametrize("what", UNFLUSHED)
def test_the_check_of_a_program_that_does_not_flush_ends_early_and_says_so(bot, what):
    body, titles = UNFLUSHED[what]
    lines = []
    words = ["check", shlex.join(bot(body).arguments), "--limit-ms", "300", "--start-ms", "1500"]
    assert protocol_main(words, lines.append) == 1
    found = [line for line in lines[:-1] if not line.startswith(" ")]
    assert len(found) == len(titles)
    assert all(line.startswith(title) for line, title in zip(found, titles, strict=True))
    assert "does not flush its output after each answer" in lines[-2]


def test_the_check_finds_who_cannot_declare(bot):
    agent = bot(
        'def play(m): say({"id": m["id"], "cards": "" if m["legal"] == ["declare"] else m["legal"][0]})'
    )
    lines = []
    assert protocol_main(["check", shlex.join(agent.arguments), "--rounds", "1"], lines.append) == 1
    text = "\n".join(lines)
    for rules in ("south", "south_count", "south_winner", "north"):
        assert f"FAIL  {rules}: an instant win\n      an illegal play: '': the instant win must be" in text
    assert "cardgames with 17 cards each, 3 players" in text
    assert {f"ok    1 rounds of {name}, 2 players" for name in ("mini", "small")} <= set(lines)
    assert all(f" rounds of {name}, 4 players" in text for name in PRESETS)


def test_a_game_from_outside_has_its_own_positions(monkeypatch):
    rules, part = next(iter(HIGH_CARD.presets.values())), (HIGH_CARD.name, "words")
    assert type(checked_words_of(rules)) is CheckedWords
    for own in (GameWords(), CheckedWords()):
        monkeypatch.setitem(registry._parts, part, own)
        assert words_of(rules) is own
        assert (checked_words_of(rules) is own) == isinstance(own, CheckedWords)


def test_the_check_of_no_program(capsys):
    with pytest.raises(SystemExit) as caught:
        protocol_main(["check", "no-such-program"])
    assert caught.value.code == 2
    assert "there is no command" in capsys.readouterr().err


def test_the_check_of_a_program_for_another_game(tmp_path, capsys):
    path = tmp_path / "bot.py"
    patient = BOT.replace("BODY", "").replace('}[message["type"]]', '}.get(message["type"], reset)')
    path.write_text(patient)
    command = shlex.join([sys.executable, "-S", "-E", str(path)])
    assert protocol_main(["check", command, "--rules", "thirteens", "--rounds", "1"]) == 0
    out = capsys.readouterr().out
    assert "ok    1 rounds of thirteens_manual, 4 players" in out


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--limit-ms", "0", "expected 1 or more"),
        ("--start-ms", "-1", "expected 1 or more"),
        ("--rounds", "0", "expected 1 or more"),
        ("--seed", "-1", "expected 0 or more"),
    ],
)
def test_values_of_the_protocol_check(capsys, option, value, told):
    with pytest.raises(SystemExit) as caught:
        protocol_main(["check", "sh", option, value])
    assert caught.value.code == 2
    assert f"argument {option}: {told}, got '{value}'" in capsys.readouterr().err
