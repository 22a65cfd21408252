"""Who holds an instant win declares it, through every door; anything else is refused with RULES.md 4.12."""

from __future__ import annotations

import io
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.cheats import install_agents
from tests.needs import needs_cc, needs_perl, needs_table
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main as arena_main
from tienlen_agents.arena.play import Played, play_deals
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import IllegalPlayError
from tienlen_env.games.tienlen.rules import PRESETS
from tienlen_env.single.session import Session
from tienlen_env.single.tienlen import Round

ROOT = Path(__file__).resolve().parents[3]
WINS = [name for name, rules in PRESETS.items() if rules.instant_wins]
C_BOT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char line[1 << 16];
int main(void) {
    while (fgets(line, sizeof line, stdin)) {
        if (strstr(line, "\"type\":\"hello\"")) puts("{\"type\": \"ready\", \"version\": 1}");
        char *id = strstr(line, "\"id\":"), *legal = strstr(line, "\"legal\":[\"");
        if (id && legal) {  /* the first legal play */
            legal += 10;
            *strchr(legal, '"') = 0;
            printf("{\"id\": %ld, \"cards\": \"%s\"}\n", strtol(id + 5, NULL, 10), legal);
        }
        fflush(stdout);
    }
}
"""
BOT = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "ready", "version": 1}', flush=True)
    elif message["type"] == "play":
        cards = message["legal"][0]
        if cards == "declare":
            ANSWER
        print(json.dumps({"id": message["id"], "cards": cards}), flush=True)
"""


def winning_keys(rules: str, number: int, seat: int | None = None) -> Any:
    """Keys of deals in which somebody, or a seat, has an instant win."""
    batch = Batch(rules, 8000)
    batch.deal(np.arange(8000))
    declares = batch.state.must_declare  # type: ignore[attr-defined]
    keys = np.flatnonzero(declares & ((batch.state.turn == seat) | (seat is None)))[:number]
    assert len(keys) == number
    return keys


def play_all_seats(agent: Any, rules: str, keys: Any) -> Played:
    try:
        agent.reset(1)
        return play_deals([agent], [0] * 4, keys, rules)
    finally:
        agent.close()


def program(path: Path, answer: str = "pass") -> str:
    path.write_text(BOT.replace("ANSWER", answer))
    return f"process:{shlex.join([sys.executable, '-S', '-E', str(path)])}"


@pytest.fixture(scope="module")
def c_bot(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("c")
    (folder / "bot.c").write_text(C_BOT)
    compiler = shutil.which("cc") or "cc"
    subprocess.run([compiler, "-O1", "-o", str(folder / "bot"), str(folder / "bot.c")], check=True)
    return f"process:{folder / 'bot'}"


AGENTS = {
    "python": f"process:{sys.executable} {ROOT / 'examples' / 'bot.py'}",
    "perl": f"process:perl {ROOT / 'examples' / 'bot.pl'}",
    "c": "c",
    "isolated": "greedy:isolate=1",
}


@pytest.mark.parametrize("rules", WINS)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks={"perl": [needs_perl], "c": [needs_cc]}.get(name, [])) for name in AGENTS],
)
def test_programs_and_isolated_agents_declare(name: str, rules: str, request: pytest.FixtureRequest) -> None:
    agent = tienlen_agents.load(request.getfixturevalue("c_bot") if name == "c" else AGENTS[name])
    keys = np.concatenate([winning_keys(rules, 12), np.arange(4)])
    played = play_all_seats(agent, rules, keys)
    assert played.forfeits == ((),)
    batch = Batch(rules, len(keys))
    batch.deal(keys)
    assert (played.places[np.arange(12), batch.state.turn[:12]] == 0).all()


def check_example(name: str, rules: str, num_deals: int) -> None:
    """Four rounds a deal, in each of which an example has one seat."""
    agent: Any = tienlen_agents.load(f"{AGENTS[name]},limit_ms=20000")
    result = arena.match(agent, tienlen_agents.load("random"), rules=rules, num_deals=num_deals)
    agent.close()
    assert result.scores[0].forfeits == ()


EXAMPLES = pytest.mark.parametrize("name", ["python", pytest.param("perl", marks=needs_perl)])


@EXAMPLES
@pytest.mark.parametrize("rules", PRESETS)
def test_the_examples_never_forfeit(name: str, rules: str) -> None:
    check_example(name, rules, 4)


@pytest.mark.nightly
@EXAMPLES
@pytest.mark.parametrize("rules", PRESETS)
def test_the_examples_never_forfeit_in_1600_rounds(name: str, rules: str) -> None:
    check_example(name, rules, 400)


WRONG = {
    "nothing": 'cards = ""',
    "a card": 'cards = message["hand"].split()[0]',
    "the hand": 'cards = message["hand"]',
    "a pass of records": 'cards = "-"',
    "two words": 'cards = "declare declare"',
    "no text": "cards = None",
    "no answer": "continue",
    "late": "time.sleep(9)",
    "no JSON": 'print("declare", flush=True); continue',
    "the end": "sys.exit(0)",
}
REASONS = {
    "no text": "an answer without cards", "no answer": "no answer in time", "late": "no answer in time",
    "no JSON": "an answer that is no JSON object", "the end": "the program ended",
}  # fmt: skip


SOUTH_BY_DAY = pytest.mark.parametrize(
    "rules", [pytest.param(name, marks=[pytest.mark.nightly] * (name != "south")) for name in WINS]
)


@SOUTH_BY_DAY
@pytest.mark.parametrize("wrong", WRONG)
def test_another_answer_forfeits_and_the_match_goes_on(wrong: str, rules: str, tmp_path: Path) -> None:
    limit = 500 if REASONS.get(wrong) == "no answer in time" else 20_000
    agent = tienlen_agents.load(f"{program(tmp_path / 'bot.py', WRONG[wrong])},limit_ms={limit}")
    keys = np.concatenate([winning_keys(rules, 2), np.arange(4)])
    played = play_all_seats(agent, rules, keys)
    (forfeits,) = played.forfeits
    assert [(one.reason, one.num_seats) for one in forfeits] == [(REASONS.get(wrong, "an illegal play"), 2)]
    if wrong not in REASONS:
        assert "the instant win must be declared, 4.12" in forfeits[0].example
    assert (np.sort(played.places, axis=1) == np.arange(4)).all()


def test_a_command_with_a_wrong_answer_ends_with_results(tmp_path: Path, capsys: Any) -> None:
    bot = program(tmp_path / "bot.py", WRONG["nothing"]) + ",name=bot"
    words = ["match", bot, "greedy", "--rules", "south", "--deals", "60", "--composition", "3v1", "--quiet"]
    assert arena_main(words) == 0
    assert "4.12" in " ".join(capsys.readouterr().out.split())


def test_where_there_is_no_instant_win_the_word_is_refused(tmp_path: Path) -> None:
    text = BOT.replace('if cards == "declare":', "if True:").replace("ANSWER", 'cards = "declare"')
    (tmp_path / "bot.py").write_text(text)
    for rules, told in (("south", "no instant win to declare, 4.12"), ("cardgames", "is not a card")):
        agent = tienlen_agents.load(f"process:{sys.executable} {tmp_path / 'bot.py'}")
        played = play_all_seats(agent, rules, np.arange(2))
        assert [(one.reason, one.num_seats) for one in played.forfeits[0]] == [("an illegal play", 8)]
        assert told in played.forfeits[0][0].example


ISOLATED = '''
import sys
import numpy as np

class Passes:
    """Passes wherever it has no choice: also where an instant win must be declared."""
    name = "passes"
    def reset(self, seed): pass
    def act(self, view): return self.act_cards(view)[0]
    def act_cards(self, view):
        legal = view.legal_actions
        first = legal.start + view.num_legal - 1
        actions, cards = legal.action[first], legal.cards[first]
        return np.where(view.num_legal == 1, np.where(cards == 0, 0, actions), actions), cards
'''


@SOUTH_BY_DAY
def test_an_isolated_agent_that_passes_forfeits(
    rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_agents(tmp_path, monkeypatch, ISOLATED, ["Passes"])
    keys = np.concatenate([winning_keys(rules, 3), np.arange(5)])
    played = play_all_seats(tienlen_agents.load("passes:isolate=1"), rules, keys)
    ((forfeit,),) = played.forfeits
    assert (forfeit.reason, forfeit.num_seats) == ("an illegal play", 3)
    assert "the instant win must be declared, 4.12" in forfeit.example


# ---------------------------------------------------------------- people


def play_main(words: list[str]) -> int:
    from tienlen_table.terminal.play import main

    return main(words)


@needs_table
@pytest.mark.parametrize("rules", WINS)
def test_a_person_at_the_terminal_declares(rules: str, monkeypatch: Any, capsys: Any) -> None:
    key = str(winning_keys(rules, 1, seat=0)[0])
    lines = ["?", "s", "p", "-", "3s", "2", "Declare"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    assert play_main(["--rules", rules, "--key", key, "--rounds", "1"]) == 0
    shown = capsys.readouterr().out.split("your play (? lists, h helps): ")
    assert "instant win     1: declare" in shown[1]
    assert "greedy_long would declare" in shown[2]
    assert all("the instant win must be declared, 4.12" in text for text in shown[3:6])
    assert "the list has 1 play" in shown[6]
    assert "you declare an instant win\n" in shown[7]
    assert ": declare = 0" in shown[7]


@needs_table
@pytest.mark.parametrize("opponent", ["greedy", "process"])
def test_the_terminal_tells_who_declares(
    opponent: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    bot = program(tmp_path / "bot.py", WRONG["nothing"]) + ",name=bot"
    name, seat = ("bot", bot) if opponent == "process" else ("greedy", "greedy")
    key = str(winning_keys("south", 1, seat=1)[0])
    words = ["--rules", "south", "--key", key, "--rounds", "1", "--seats", "human", seat, "random", "random"]
    assert play_main(words) == 0
    out = capsys.readouterr().out
    told, _, after = out.partition("round 1 is over")
    assert f"{name} declares an instant win" in told
    assert ("forfeits this round: an illegal play" in told) == (name == "bot")
    assert "hand" not in told
    assert ("4.12" in after) == (name == "bot")


class Passes(RandomAgent):
    """In this process, with every legal action that plays cards; it passes where there is none."""

    def act(self, view: View) -> Any:
        return np.where(view.num_legal == 1, 0, super().act(view))


@needs_table
def test_an_agent_of_this_process_that_passes_is_named(monkeypatch: Any, capsys: Any) -> None:
    """In a match by an error with the clause, at the terminal by a line; the record is kept."""
    keys = winning_keys("south", 1, seat=0)
    with pytest.raises(IllegalPlayError, match=r"'random' played against the rules: .*, 4\.12"):
        play_deals([Passes()], [0] * 4, keys, "south")
    monkeypatch.setitem(tienlen_agents._factories, "passes", Passes)
    seats = ["--seats", "passes", "random", "random", "random"]
    assert play_main(["--rules", "south", "--key", str(keys[0]), *seats]) == 1
    out, err = capsys.readouterr()
    assert "random played against the rules: the instant win must be declared, 4.12" in err
    assert "tienlen/1 south p4" in out


def test_a_record_that_passes_over_it_is_refused() -> None:
    session = Session("south", int(winning_keys("south", 1)[0]), whole_game=False)
    session.apply("declare")
    line = session.record().strip()
    assert Round.from_record(line).is_over
    with pytest.raises(ValueError, match=r"4\.12"):
        Round.from_record(line.replace(": declare", ": -"))
