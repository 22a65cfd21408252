"""Programs that fail: the command fails, and a league does not rate them."""

import json
import shlex
import sys

import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_env.engine.agent import Forfeit

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
    share = forfeit["num_seats"] / 16
    assert 0.2 < share <= 0.5
    assert code == (1 if fails else 0)
    assert data["max_forfeits"] == float(limit)
    page = (tmp_path / "out" / "arena.html").read_text()
    if fails:
        (failed,) = data["failures"]
        assert (failed["name"], failed["share"]) == ("bot", share)
        told = f"bot forfeited {100 * share:g} % of its seats of rounds in 'bot v. 3 × greedy', more than"
        assert f"failed: {told} 10 %: an illegal play" in shown
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
    assert "failed: broken forfeited 100 % of its seats of rounds in the league of cardgames" in shown
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
    # All are rated with this option.
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
        with pytest.raises(ValueError, match=r"max_forfeits: expected 0\.\.1"):
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

    played = result.played._replace(points=points, places=places)
    assert not replace(result, played=played).has_identical_decisions


def test_a_shorter_name_is_suggested(bot, capsys):
    long = bot("True").partition(",")[0]
    told = "A program's name in these tables can be shorter: 'process:<command>,name=NAME'."
    assert told in run(capsys, "match", long, "greedy", "--deals", "2")[1]
    assert told not in run(capsys, "match", bot("True"), "greedy", "--deals", "2")[1]


# ---------------------------------------------------------------- any text, any bytes


class Rude:
    """A failing agent of another package, with texts that cannot be encoded or shown."""

    name = "rude\x1b[2J\udcff\n"
    TEXT = "x\ud800y\x1b[2J\x9b\r\n=1"

    def reset(self, seed):
        self._games = set()

    def act(self, view):
        self._games |= set(view.games.tolist())
        return view.legal_actions.action[view.legal_actions.start]

    def take_forfeits(self):
        return [Forfeit(game, 0, self.TEXT, self.TEXT) for game in self._games]


def test_no_text_of_an_agent_stops_or_bends_a_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(tienlen_agents._factories, "rude", Rude)
    words = ["match", "rude", "greedy", "--deals", "2", "--composition", "1v3", "--out", str(tmp_path)]
    for _ in range(2):  # the second time from the chunks that were stored
        code, shown, said = run(capsys, *words)
        assert code == 1
        assert all(c.isprintable() for c in shown)
        assert all(c.isprintable() or c == "\n" for c in said)
    for path in tmp_path.iterdir():
        if path.suffix in (".json", ".jsonl", ".csv", ".html"):
            assert "\x1b" not in path.read_text("utf-8")
    data = json.loads((tmp_path / "arena.json").read_text())
    assert data["tables"][0]["agents"][0]["forfeits"][0]["num_seats"] == 8


def test_names_that_are_not_utf8_are_stored(bot, tmp_path, capsys):
    name = bot("True").partition(",")[0] + " a\udcff"  # as a shell passes the byte 0xFF
    words = ["match", name, "greedy", "--deals", "2", "--composition", "1v3", "--out", str(tmp_path)]
    for _ in range(2):
        code, shown, _ = run(capsys, *words)
        assert code == 0
        assert all(c.isprintable() for c in shown)


NOISY = r"""
import json, os, random, sys
rng = random.Random(SEED)
WORDS = ["3s", "", None, True, -1, 10**30, 1e308, "\ud800", "\x1b[2J", [], {}, [["3s"]], "3s " * 50, "*1"]
def noise(message):
    answer = {"id": message["id"], "cards": rng.choice(message["legal"])}
    kind = rng.randrange(9)
    if kind < 2:
        answer[rng.choice(["id", "cards", "type", "\u202e"])] = rng.choice(WORDS)
    line = json.dumps(answer).encode()
    if kind == 2:
        line = bytes(rng.randrange(256) for _ in range(rng.randrange(60))).replace(b"\n", b"")
    elif kind == 3:
        at = rng.randrange(len(line))
        line = line[:at] + bytes([rng.randrange(256)]).replace(b"\n", b"\r") + line[at + 1:]
    elif kind == 4:
        line = line[:rng.randrange(len(line))] or b"x"
    elif kind == 5:
        line += b"\n" + line
    return (line if line.strip() else b"x") + b"\n"
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "ready", "version": 1}', flush=True)
    elif message["type"] == "play":
        os.write(1, noise(message))
        os.write(2, bytes(rng.randrange(256) for _ in range(9)))
"""


def play_with_noise(path, seed, num_deals):
    path.write_text(NOISY.replace("SEED", str(seed)))
    command = shlex.join([sys.executable, "-S", "-E", str(path)])
    agent = tienlen_agents.load(f"process:{command},limit_ms=150")
    result = arena.match(agent, tienlen_agents.load("greedy"), num_deals=num_deals, seed=seed)
    agent.close()
    lost = sum(forfeits.num_seats for forfeits in result.scores[0].forfeits)
    assert 0 < lost <= result.num_games
    assert result.scores[1].forfeits == ()
    assert result.parity_points == 1.5
    for forfeits in result.scores[0].forfeits:
        assert forfeits.reason.isprintable()
        assert all(c.isprintable() or c in "\n\t" for c in forfeits.example)
        json.dumps(forfeits).encode()
    return {forfeits.reason for forfeits in result.scores[0].forfeits}


def test_any_bytes_of_a_program_are_survived(tmp_path):
    reasons = play_with_noise(tmp_path / "noisy.py", 1, 8)
    assert len(reasons) > 1


@pytest.mark.nightly
def test_any_bytes_of_many_programs_are_survived(tmp_path):
    for seed in range(200):
        play_with_noise(tmp_path / "noisy.py", seed, 20)
