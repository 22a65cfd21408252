"""A person at the terminal who plays Thirteens, over a pipe."""

import io
import re
import sys

import pytest

import tienlen_agents
from tests.extensions.table.terminal.test_play import play  # noqa: F401 - a fixture
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.game import find_action
from tienlen_env.games.thirteens.cards import parse_cards
from tienlen_env.games.thirteens.rules import PRESETS
from tienlen_env.single.game import Game
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_table.terminal.human import HumanAgent
from tienlen_table.terminal.play import main

FOUR = ["--rules", "thirteens", "--seats", "human", "trickster", "random", "random"]
ANYTHING = ["1"] * 900


@pytest.mark.parametrize("preset", PRESETS)
def test_a_deal(play, tmp_path, preset):  # noqa: F811
    path = tmp_path / "deal.txt"
    seats = ["--seats", "human", "trickster", "random"]
    arguments = ["--rules", preset, *seats, "--rounds", "1", "--key", "3", "--save", str(path)]
    code, out = play(arguments, ANYTHING)
    assert code == 0
    assert "\n  deal 1 is over\n" in out
    assert "\033" not in out
    deal = ThirteensRound.from_record(path.read_text())
    assert deal.is_over
    assert (deal.rules.name, deal.rules.num_players, deal.key) == (preset, 3, 3)
    for seat, name in enumerate(("you", "trickster", "random")):
        place = ("1st", "2nd", "3rd")[deal.places[seat]]
        assert f"    {place}  {name:<24} {deal.scores[seat]:>+3}" in out


def test_a_game_with_the_trick_in_order(play, tmp_path):  # noqa: F811
    path = tmp_path / "game.txt"
    code, out = play([*FOUR, "--key", "5", "--save", str(path)], ANYTHING)
    assert code == 0
    game = Game.from_record(path.read_text())
    assert game.is_over
    assert len(game.records) == out.count(" is over\n") > 1
    assert ["you win", "trickster wins", "random #1 wins", "random #2 wins"][game.winner] in out
    assert out.count(" take the trick") + out.count(" takes the trick") == len(game.records) * 13
    # Before you play, the cards on the table stand in playing order.
    checked = 0
    for part in out.split("your play (? lists, h helps): ")[1:]:
        told: list[str] = []
        for line in part.partition("─")[0].splitlines():
            told = [] if "the trick" in line else told + re.findall(r" plays (\S+)$", line)
        block = part.partition("  trick  ")[2].partition("─")[0].partition("goes to")[0]
        shown = re.findall(r"\d+[♠♣♦♥]|[JQKA][♠♣♦♥]|Jo", block)
        if told and "your play" not in part:
            assert shown == [text.replace("*1", "Jo") for text in told]
            checked += len(shown) > 1
    assert checked > 10


def test_commands(play):  # noqa: F811
    # Key 7: seat 2 leads Kd, seat 3 plays Qd, and the remainder is Ad.
    lines = ["h", "?", "s", "t", "8s", "Kd", "3d 6d", "*2", "99", "u", "6D", "u", "10d", "2", "q"]
    code, out = play([*FOUR, "--key", "7"], lines)
    assert code == 0
    shown = out.split("your play (? lists, h helps): ")[1:]
    assert "jokers *1 *2" in shown[0]
    assert "  diamonds        1: J♦   2: 6♦   3: 3♦" in shown[1]
    assert "trickster would play 3♦" in shown[2]
    assert "  trick  random #1      K♦  winning\n         random #2      Q♦\n" in shown[3]
    assert "8s refused: diamonds were led and must be followed if held" in shown[4]
    assert "Kd refused: not in the hand, 8.5 (RULES.md)" in shown[5]
    assert "one card is played at a time, 8.5" in shown[6]
    assert "*2 is not in this deck, 8.1" in shown[7]
    assert "99 is not a valid number: the list has 3 plays" in shown[8]
    assert "nothing to take back yet" in shown[9]
    assert "you play 6♦\n" in shown[10]
    assert "taken back" in shown[11]
    assert "Td refused" in shown[12]
    assert "you play 6♦\n" in shown[13]
    assert "thirteens/1 thirteens p4 j1 key=0000000000000007.0 : Kd Qd 6d" in out
    assert max(map(len, out.splitlines())) <= 120


def test_only_the_own_hand_is_shown(play):  # noqa: F811
    dealt = ThirteensRound("thirteens", 7)
    _, out = play([*FOUR, "--key", "7"], ["q"])
    table = out.partition("you to play")[2].partition("your play")[0].split()
    assert table.count("▒▒") == 13 + 12 + 12
    assert sum(word[-1] in "♠♣♦♥" for word in table) == 12 + 3  # the joker is a word; trick and remainder
    assert dealt.hand(0).bit_count() == 13


def test_agents_of_another_game_are_refused(capsys):
    for arguments in (
        ["--rules", "thirteens", "--seats", "human", "heuristic", "random"],
        ["--rules", "cardgames", "--seats", "human", "trickster"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "plays t" in capsys.readouterr().err


def test_the_agent_sees_a_view_alone_and_melds(monkeypatch, capsys):
    agent = tienlen_agents.load("human")
    assert isinstance(agent, HumanAgent)
    batch = Batch("thirteens_manual", 1, num_players=3)
    batch.set_hands([[parse_cards(h) for h in ("Kc 2d", "Ac 9h", "5c *1")]], leader=0)
    for name in ("Kc", "Ac", "5c"):
        batch.step([find_action(batch.action_table, name)])
    lines = ["?", "5&5", "s", "u", "k"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    actions, cards = agent.act_cards(View(batch))
    out = capsys.readouterr().out
    assert batch.action_table.text(int(actions[0])) == "meld K"
    assert cards.tolist() == [0]
    assert "  thirteen        2: K" in out
    assert "meld 5 5 refused: " in out
    assert "8.8 (RULES.md)" in out
    assert "trickster would play K" in out
    assert "nothing can be taken back here" in out
    assert out.count("▒▒") == 1 + 1
    batch.step(actions, cards)
    monkeypatch.setattr(sys, "stdin", io.StringIO("9h\n"))
    actions, cards = agent.act_cards(View(batch))
    assert cards.tolist() == [parse_cards("9h")]
    batch.step(actions, cards)
    assert batch.state.trick_cards[0, 0] == actions[0]


def test_a_hint_for_another_game_is_none(monkeypatch, capsys):
    agent = tienlen_agents.load("human:hint=heuristic")
    batch = Batch("thirteens", 1)
    batch.reset(1)
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n1\n"))
    agent.act(View(batch))
    assert "no suggestions here: heuristic plays another game" in capsys.readouterr().out
