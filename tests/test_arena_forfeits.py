"""Programs that fail: the command fails, and a league does not rate them."""

import json
import shlex
import sys

import pytest

from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main

BOT = """
import json, sys
def answer(message):
    return min(message["legal"], key=len) if GOOD else "no card"
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "ready", "version": 1}', flush=True)
    elif message["type"] == "play":
        print(json.dumps({"id": message["id"], "cards": answer(message)}), flush=True)
"""


@pytest.fixture
def bot(tmp_path):
    def make(good, name="bot"):
        path = tmp_path / f"{name}.py"
        path.write_text(BOT.replace("GOOD", good))
        return f"process:{shlex.join([sys.executable, '-S', '-E', str(path)])},limit_ms=20000,name={name}"

    return make


def run(capsys, *words):
    """The exit code, and what is shown and said."""
    try:
        code = main([*words, "--quiet"])
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr()
    return code, " ".join(shown.out.split()), shown.err


def test_a_program_that_does_not_start_is_refused_before_any_work(tmp_path, capsys):
    missing = f"process:{sys.executable} {tmp_path / 'nope.py'}"
    out = tmp_path / "out"
    code, shown, said = run(capsys, "match", missing, "greedy", "--deals", "20", "--out", str(out))
    assert code == 2
    assert shown == ""
    assert not out.exists()
    assert "nope.py does not start: no handshake: the program ended: exit code 2" in said
    assert "can't open file" in said
    assert said.count("\n") == 1
    assert "--max-forfeits 1 plays the match without it" in said
    # Unless asked otherwise.
    words = ["match", f"{missing},restarts=0", "greedy", "--deals", "2", "--max-forfeits", "1"]
    code, shown, said = run(capsys, *words)
    assert (code, said) == (0, "")
    assert "no handshake" in shown


def test_a_program_of_every_other_match_up_is_started_too(tmp_path, capsys):
    missing = f"process:{sys.executable} {tmp_path / 'nope.py'}"
    code, _, said = run(capsys, "league", "greedy", "random", missing, "--deals", "20")
    assert code == 2
    assert "does not start" in said


@pytest.mark.parametrize(("limit", "fails"), [("0.1", True), ("0.6", False)])
def test_too_many_forfeits_fail_the_match(bot, tmp_path, capsys, limit, fails):
    # In two of four seats every answer is wrong: half of the rounds, or a few less.
    words = ["match", bot('message["seat"] > 1'), "greedy", "--deals", "4", "--max-forfeits", limit]
    code, shown, said = run(capsys, *words, "--composition", "1v3", "--out", str(tmp_path / "out"))
    data = json.loads((tmp_path / "out" / "arena.json").read_text())
    (forfeit,) = data["tables"][0]["agents"][0]["forfeits"]
    share = forfeit["num_rounds"] / 16
    assert 0.2 < share <= 0.5
    assert code == (1 if fails else 0)
    assert data["max_forfeits"] == float(limit)
    page = (tmp_path / "out" / "arena.html").read_text()
    if fails:
        (failed,) = data["failures"]
        assert (failed["name"], failed["share"]) == ("bot", share)
        told = f"bot forfeited {100 * share:g} % of its rounds in 'bot v. 3 × greedy', more than 10 %"
        assert f"failed: {told}: an illegal play" in shown
        assert "failed: bot (--max-forfeits)" in said
        assert "forfeited" in page.partition("<h2>")[0]
    else:
        assert data["failures"] == []
        assert "failed" not in shown + said


def test_a_program_that_fails_is_not_rated(bot, tmp_path, capsys):
    names = ["greedy", bot("False", "broken"), "greedy_long"]
    words = ["league", *names, "--deals", "3", "--seed", "3", "--out", str(tmp_path / "with")]
    code, shown, said = run(capsys, *words)
    assert code == 1
    assert "failed: broken forfeited 100 % of its rounds in the league of cardgames" in shown
    assert "failed: broken" in said
    data = json.loads((tmp_path / "with" / "arena.json").read_text())
    (league,) = data["leagues"]
    assert league["not_rated"] == ["broken"]
    assert [one["name"] for one in data["failures"]] == ["broken"]
    # The ratings are those of a league without it.
    others = [name for name in names if "broken" not in name]
    report = arena.league(others, num_deals=3, seed=3)
    assert report.failures == ()
    alone = report.to_dict()["leagues"][0]
    for key in ("standings", "payoffs", "ranking", "cycles", "rated_games"):
        assert league[key] == alone[key]
    assert "broken" in (tmp_path / "with" / "arena.html").read_text()
    # All are rated if that is asked for.
    code, shown, _ = run(capsys, *words, "--max-forfeits", "1")
    assert code == 0
    assert "failed" not in shown


def test_a_league_of_failures_has_no_ratings(bot, capsys):
    names = [bot("False", "one"), bot("False", "two")]
    code, shown, said = run(capsys, "league", *names, "--deals", "2", "--chunk", "2")
    assert code == 1
    assert "No ratings: fewer than two agents did not fail." in shown
    assert "failed: one, two" in said


@pytest.mark.parametrize("limit", [-0.1, 1.5, float("nan")])
def test_a_limit_is_a_share(limit):
    for play in (arena.match, lambda a, b, **options: arena.league([a, b], **options)):
        with pytest.raises(ValueError, match=r"max_forfeits=.*: expected 0\.\.1"):
            play("greedy", "random", num_deals=2, max_forfeits=limit)


# ---------------------------------------------------------------- identical decisions


@pytest.mark.parametrize(
    ("other", "composition"), [("greedy", "1v3"), ("greedy", "2v2"), ("greedy_long", "1v3")]
)
@pytest.mark.parametrize("permutations", ["rotations", "all"])
def test_identical_decisions_are_said(capsys, other, composition, permutations, tmp_path):
    words = ["match", "greedy", other, "--deals", "20", "--composition", composition]
    code, shown, _ = run(capsys, *words, "--permutations", permutations, "--out", str(tmp_path))
    assert code == 0
    is_same = other == "greedy"
    assert ("identical decisions: each of 20 deals" in shown) == is_same
    assert json.loads((tmp_path / "arena.json").read_text())["tables"][0]["identical_decisions"] == is_same
    assert ("identical decisions" in (tmp_path / "arena.html").read_text()) == is_same


def test_equal_totals_are_not_identical_decisions():
    result = arena.match("greedy", "greedy", num_deals=20)
    assert result.has_identical_decisions
    # Two deals whose differences cancel, in points and places.
    points, places = result.points.copy(), result.game_places.copy()
    for values in (points, places):
        values[0, [0, 1]] = values[0, [1, 0]]
    assert (points.sum(axis=(0, 1)) == result.points.sum(axis=(0, 1))).all()
    from dataclasses import replace

    assert not replace(result, points=points, game_places=places).has_identical_decisions


def test_a_shorter_name_is_suggested(bot, capsys):
    long = bot("True").partition(",")[0]
    told = "A program's name in these tables can be shorter: 'process:<command>,name=NAME'."
    assert told in run(capsys, "match", long, "greedy", "--deals", "2")[1]
    assert told not in run(capsys, "match", bot("True"), "greedy", "--deals", "2")[1]
