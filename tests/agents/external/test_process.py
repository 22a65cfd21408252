"""Programs as agents: the protocol, failures that must not stop a match, and the end of the processes."""

import json
import os
import pickle
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main as arena_main
from tienlen_agents.external.messages import hello_message, play_requests
from tienlen_agents.external.process import ProcessAgent, visible
from tienlen_env.engine.agent import CardAgent, FallibleAgent, View, choose_cards
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import IllegalPlayError, InvalidComboError
from tienlen_env.games.common.cards import card_ids, parse_cards
from tienlen_env.games.tienlen.rules import PRESETS, Rules

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = shlex.join([sys.executable, str(ROOT / "examples" / "bot.py")])

BOT = """
import json, os, sys, time
def say(message):
    print(json.dumps(message), flush=True)
asked = 0
def ready(m):
    say({"type": "ready", "version": 1})
def play(m):
    say({"id": m["id"], "cards": next((c for c in m["legal"] if c), "")})
def reset(m):
    pass
good = play
BODY
for line in sys.stdin:
    message = json.loads(line)
    {"hello": ready, "play": play, "reset": reset}[message["type"]](message)
"""


@pytest.fixture
def bot(tmp_path):
    """Makes an agent of a bot, some of whose functions are defined anew; all are closed in the end."""
    made = []

    def make(body="", **options):
        path = tmp_path / f"bot{len(made)}.py"
        path.write_text(BOT.replace("BODY", body))
        # -S and -E: the interpreter starts in a few milliseconds.
        command = shlex.join([sys.executable, "-S", "-E", str(path)])
        made.append(ProcessAgent(command, **{"limit_ms": 5000, "name": "bot"} | options))
        return made[-1]

    yield make
    for agent in made:
        agent.close()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # In a container no process may reap orphans: a zombie that is not ours does not count.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# ---------------------------------------------------------------- good bots


def test_the_example_plays_as_greedy_does():
    assert len((ROOT / "examples" / "bot.py").read_text().splitlines()) <= 60
    agent = tienlen_agents.load(f"process:{EXAMPLE},name=example")
    assert isinstance(agent, CardAgent)
    assert isinstance(agent, FallibleAgent)
    result = arena.match(agent, tienlen_agents.load("greedy"), num_deals=20)
    assert result.scores[0].points == arena.Estimate(1.5, 0.0)
    assert result.scores[0].forfeits == ()
    agent.close()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_good_bot_under_all_rules(bot, preset):
    agent = bot()
    for num_players in (2, 4):
        seats = [0, 1, 0, 1][:num_players]
        played = arena.play_deals(
            [agent, tienlen_agents.load("random")], seats, np.arange(10), preset, num_players=num_players
        )
        assert played.forfeits == ((), ())
        assert (np.sort(played.places, axis=1) == np.arange(num_players)).all()


def test_answers_may_come_in_any_order(bot):
    agent = bot(
        """
seen = []
def play(m):
    seen.append(m)
    if len(seen) == 20:
        for m in reversed(seen):
            good(m)
"""
    )
    batch = Batch("cardgames", 20)
    batch.reset(1)
    actions, cards = agent.act_cards(View(batch))
    assert agent.take_forfeits() == []
    view = View(batch)
    assert (actions == [view.legal_actions.action[view.legal_actions.game == i][0] for i in range(20)]).all()
    assert (cards == view.cards_of(actions)).all()
    assert (bot().act(view) == actions).all()


def test_any_legal_cards_can_be_played(bot):
    agent = bot('def play(m): say({"id": m["id"], "cards": "7H, 10d 6d 8c 9♠"})')
    batch = Batch("cardgames", 1)
    batch.set_hands([[parse_cards(h) for h in ("6s 6d 7s 7h 8c 9s Td 3s", "4s", "5s", "3h")]], 0)
    actions, cards = agent.act_cards(View(batch))
    assert agent.take_forfeits() == []
    assert cards[0] == parse_cards("6d 7h 8c 9s Td")
    batch.step(actions, cards)
    assert batch.state.hands[0, 0] == parse_cards("3s 6s 7s")


def test_exact_cards_must_keep_the_opening_duty(bot):
    agent = bot('def play(m): say({"id": m["id"], "cards": "3c 4d 5h"})')
    batch = Batch("cardgames", 1)
    batch.set_hands([[parse_cards(h) for h in ("3s 3c 4d 5h 9s", "4s", "5s", "3h")]])
    actions, cards = agent.act_cards(View(batch))
    assert cards[0] == parse_cards("3s")
    batch.step(actions, cards)
    (forfeit,) = agent.take_forfeits()
    assert forfeit.reason == "an illegal play"
    assert "the opening play must contain 3s" in forfeit.detail


def test_the_seed_is_told(bot):
    agent = bot(
        """
import random
def reset(m):
    random.seed(m["seed"])
def play(m):
    say({"id": m["id"], "cards": random.choice(m["legal"])})
"""
    )
    greedy, (key, another) = tienlen_agents.load("greedy"), ("0" * 32, "1" * 32)
    one, again, other, keyed = (
        arena.match(agent, greedy, num_deals=10, seed=seed, seed_key=of_seed).deal_points
        for seed, of_seed in ((1, key), (1, key), (2, key), (1, another))
    )
    assert (one == again).all()
    assert (one != other).any()
    assert (one != keyed).any()


def test_it_is_started_anew_for_other_rules(bot):
    agent = bot(
        """
def ready(m):
    global name
    name = m["rules"]["name"]
    say({"type": "ready", "version": 1})
def play(m):
    print(name, file=sys.stderr, flush=True)
    good(m)
""",
        restarts=0,
    )
    for preset in ("cardgames", "pagat", "cardgames"):
        batch = Batch(preset, 1)
        batch.reset(0)
        agent.act(View(batch))
        assert agent.take_forfeits() == []


def test_hello_holds_the_whole_rules():
    for rules in PRESETS.values():
        message = json.loads(json.dumps(hello_message(rules, 100)))
        assert Rules(**message["rules"]["fields"]) == rules


# ---------------------------------------------------------------- what is sent


def test_nothing_hidden_is_sent():
    batch = Batch("foicica", 30, history=4)
    batch.reset(5)
    rng = np.random.default_rng(5)
    for _ in range(12):
        batch.step(batch.sample(rng))
    other = batch.copy()
    other.state.key[:] = 0
    for hands, turn in zip(other.state.hands, other.state.turn, strict=True):
        hidden = [s for s in range(4) if s != turn and hands[s]]
        unseen = rng.permutation([c for s in hidden for c in card_ids(hands[s])]).tolist()
        for seat in hidden:
            size = int(hands[seat]).bit_count()
            hands[seat] = sum(1 << c for c in unseen[:size])
            unseen = unseen[size:]
    assert (batch.state.hands != other.state.hands).any()
    sent = [play_requests(View(b), list(range(30)), lambda i: (i + 1, i + 1)) for b in (batch, other)]
    assert sent[0] == sent[1]


def test_what_is_sent_goes_by_absolute_seat():
    batch = Batch("cardgames", 1)
    hands = ("3s Kh", "4s 4c 5s 5h", "6s 6h 9d", "7s 8s")
    batch.set_hands([[parse_cards(h) for h in hands]], 1)
    for play in ("4s 4c", "6s 6h", "", ""):
        batch.step([batch.action_table.classify(parse_cards(play))], [parse_cards(play)])
    (request,) = play_requests(View(batch), [0], lambda _: (8, 9))
    assert request.message == {
        "type": "play",
        "id": 8,
        "game": 9,
        "seat": 1,
        "hand": "5s 5h",
        "table": "6s 6h",
        "owner": 2,
        "must": "",
        "passed": [0, 3],
        "counts": [2, 2, 1, 2],
        "played": ["", "4s 4c", "6s 6h", ""],
        "places": [None] * 4,
        "scores": [0] * 4,
        "legal": [""],
    }


def test_the_documented_exchange_is_the_real_one():
    lines = (ROOT / "agents" / "tienlen_agents" / "external" / "PROTOCOL.md").read_text().splitlines()
    documented = [json.loads(line[2:]) for line in lines if line.startswith("> {")]
    answers = [json.loads(line[2:]) for line in lines if line.startswith("< {")]
    assert documented[0] == json.loads(json.dumps(hello_message(Rules(num_players=2), 1000)))
    batch = Batch("cardgames", 1, num_players=2)
    batch.deal([5])
    greedy, number = tienlen_agents.load("greedy"), 0
    questions = iter(documented[2:])
    expected, answer = next(questions), iter(answers[1:])
    while batch.state.turn[0] >= 0:
        view = View(batch)
        actions, cards = choose_cards(greedy, view)
        if view.seat[0] == 0:
            number += 1
            if number == expected["id"]:
                (request,) = play_requests(view, [0], lambda _, number=number: (number, 1))
                assert request.message == expected
                assert parse_cards(next(answer)["cards"]) == cards[0]
                expected = next(questions, expected)
        batch.step(actions, cards)
    assert next(answer, None) is None


# ---------------------------------------------------------------- bad bots

STRANGE = "x\ud800y\x1b[2J\x9b2J\u202e\n\r\0z"  # as JSON, with escapes, it is text like any other
STRANGE_BYTES = b"a\x1b[2J\x9b2J\xed\xa0\x80\0\r\nz" * 999
DEEP = "'[' * 500 + ']' * 500"
STRANGE_IDS = {
    "a surrogate": 'print(\'{"id": "x\\\\ud800y", "cards": "3s"}\', flush=True)',
    "bytes of a surrogate": 'os.write(1, b\'{"id": "x\\xed\\xa0\\x80y", "cards": "3s"}\\n\')',
    "control characters": f'say({{"id": {STRANGE!r}, "cards": "3s"}})',
    "a key of control characters": f'say({{"id": {{{STRANGE!r}: [{STRANGE!r}]}}, "cards": "3s"}})',
    "a long id": 'say({"id": "\\ud800" * 9999, "cards": "3s"})',
    "a deep id": f"print('{{\"id\": ' + {DEEP} + '}}', flush=True)",
}
FAILURES = {
    "slow": ("def play(m): time.sleep(9)", "no answer in time"),
    "silent": ("def play(m): pass", "no answer in time"),
    "reads nothing": ("def play(m): time.sleep(99)", "no answer in time"),
    "late handshake": ("def ready(m): time.sleep(9)", "no handshake"),
    "ends at once": ("sys.exit(3)", "no handshake"),
    "another version": ('def ready(m): say({"type": "ready", "version": 2})', "no handshake"),
    "garbage for a handshake": ('def ready(m): print("hi", flush=True)', "no handshake"),
    "crashes": ("def play(m): 1 / 0", "the program ended"),
    "closes stdout": ("def play(m): os.close(1); time.sleep(9)", "the program ended"),
    "garbage": ('def play(m): print("5s?", flush=True)', "an answer that is no JSON object"),
    "no text": (
        "def play(m): os.write(1, bytes([255, 0, 200]) + b'\\n')",
        "an answer that is no JSON object",
    ),
    "deep": ("def play(m): print('[' * 60000, flush=True)", "an answer that is no JSON object"),
    "a list": ('def play(m): say([m["id"], ""])', "an answer that is no JSON object"),
    "another id": ('def play(m): say({"id": 10**9, "cards": ""})', "an answer to no question"),
    "no id": ('def play(m): say({"cards": ""})', "an answer to no question"),
    **{name: (f"def play(m): {body}", "an answer to no question") for name, body in STRANGE_IDS.items()},
    "strange cards": (f'def play(m): say({{"id": m["id"], "cards": {STRANGE!r}}})', "an illegal play"),
    "strange handshake": (f'def ready(m): say({{"type": {STRANGE!r}}})', "no handshake"),
    "deep handshake": (f"def ready(m): print('{{\"type\": ' + {DEEP} + '}}', flush=True)", "no handshake"),
    "strange stderr": (f"def play(m): os.write(2, {STRANGE_BYTES!r}); sys.exit(3)", "the program ended"),
    "no cards": ('def play(m): say({"id": m["id"]})', "an answer without cards"),
    "cards are a list": ('def play(m): say({"id": m["id"], "cards": ["3s"]})', "an answer without cards"),
    "not a combination": ('def play(m): say({"id": m["id"], "cards": "3s 4h"})', "an illegal play"),
    "no card": ('def play(m): say({"id": m["id"], "cards": "x" * 999})', "an illegal play"),
    "others' cards": (
        """
def play(m):
    deck = [r + s for r in "3456789TJQKA2" for s in "scdh"]
    say({"id": m["id"], "cards": next(c for c in deck if c not in m["hand"])})
""",
        "an illegal play",
    ),
    "huge line": ('def play(m): print("x" * 10**7, flush=True)', "a line of more than 65536 bytes"),
    "no end of line": (
        'def play(m):\n while True: sys.stdout.write("x" * 65536)',
        "a line of more than 65536 bytes",
    ),
    "noise on stderr": (
        'def play(m):\n while True: os.write(2, b"x" * 65536)',
        "no answer in time",
    ),
    "answers twice and for ever": (
        'def play(m):\n good(m)\n while True: os.write(1, b\'{"id": 1, "cards": ""}\\n\' * 99)',
        "no answer in time",
    ),
    "empty lines for ever": ('def play(m):\n while True: os.write(1, b"\\n" * 999)', "no answer in time"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_failure_stops_a_match(bot, failure):
    body, reason = FAILURES[failure]
    patient = "handshake" not in reason and "time" not in reason
    agent = bot(body, limit_ms=3000 if patient else 40, start_ms=300 if failure == "late handshake" else 5000)
    result = arena.match(agent, tienlen_agents.load("greedy"), num_deals=2)
    forfeits = {f.reason: f for f in result.scores[0].forfeits}
    assert reason in forfeits
    assert set(forfeits) <= {reason, "the program failed too often"}
    # Every round with a question to it is lost; where it never leads or follows well there is no other.
    assert sum(f.num_seats for f in forfeits.values()) == 8
    assert result.scores[1].forfeits == ()
    assert result.scores[0].points.mean + 3 * result.scores[1].points.mean == pytest.approx(6)


def is_presentable(text):
    """It can be stored as UTF-8, and does nothing to a terminal but fill lines."""
    return all(c.isprintable() or c in "\n\t" for c in text) and len(text) < 5000


@pytest.mark.parametrize("failure", FAILURES)
def test_what_is_said_of_a_failure_is_presentable(bot, failure):
    body, _ = FAILURES[failure]
    agent = bot(body, limit_ms=300, start_ms=500, restarts=0)
    batch = Batch("cardgames", 2)
    batch.reset(0)
    agent.act(View(batch))
    forfeits = agent.take_forfeits()
    assert forfeits
    for forfeit in forfeits:
        assert is_presentable(forfeit.detail)
        assert is_presentable(forfeit.reason)


def test_what_is_made_visible_stays_as_it_is():
    found = visible(STRANGE)
    assert found == "x\\ud800y\\x1b[2J\\x9b2J\\u202e\n\\r\\x00z"
    assert visible(found) == found
    assert visible("một\tđôi\r\n3♠") == "một\tđôi\n3♠"


STRANGE_BOTS = (
    "a surrogate",
    "bytes of a surrogate",
    "control characters",
    "strange cards",
    "strange stderr",
)


@pytest.mark.parametrize("failure", STRANGE_BOTS)
def test_no_text_of_a_program_stops_a_run_that_is_stored(bot, tmp_path, capsys, failure):
    body, reason = FAILURES[failure]
    command = shlex.join(bot(body).arguments)
    out = tmp_path / "out"
    flags = [
        f"process:{command},limit_ms=5000",
        "greedy",
        "--deals",
        "2",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    arena_main(["match", *flags])
    first = capsys.readouterr().out
    assert reason in " ".join(first.split())
    assert all(c.isprintable() or c == "\n" for c in first)
    stored = [path for path in out.rglob("*.*") if path.suffix in (".json", ".jsonl", ".csv", ".html")]
    assert {"arena.json", "chunks.jsonl"} <= {path.name for path in stored}
    for path in stored:
        assert "\x1b" not in path.read_text("utf-8")
    report, *_ = json.loads((out / "arena.json").read_text())["tables"]
    assert sum(f["num_seats"] for f in report["agents"][0]["forfeits"]) == 8
    arena_main(["match", *flags])  # from the chunks that were stored


def test_what_the_program_said_last_is_reported(bot):
    agent = bot('def play(m): print("x" * 9999 + "the end", file=sys.stderr); 1 / 0', restarts=0)
    result = arena.match(agent, tienlen_agents.load("greedy"), num_deals=2)
    first, rest = result.scores[0].forfeits
    assert first.num_seats == 4  # a program for each seating of the deals
    assert "exit code 1" in first.example
    assert "the end" in first.example
    assert "ZeroDivisionError" in first.example
    assert len(first.example) < 5000
    assert rest.reason == "the program failed too often"


def test_one_bad_answer_costs_one_round(bot, tmp_path):
    """A late answer in one game: the others go on in the new process, and so does the next match."""
    agent = bot(
        f"""
def play(m):
    if m["game"] == 3 and m["id"] > 10:
        open({str(tmp_path / "late")!r}, "a").write("x")
        time.sleep(9)
    good(m)
""",
        limit_ms=1000,
    )
    agent.reset(0)
    seats, random = [0, 1, 1, 1], tienlen_agents.load("random")
    played = arena.play_deals([agent, random], seats, np.arange(8))
    assert [f[:2] for f in played.forfeits[0]] == [("no answer in time", 1)]
    assert (tmp_path / "late").read_text() == "x"
    # The same games, other deals: no round is forfeited any more, and none keeps a number of before.
    assert arena.play_deals([agent, random], seats, np.arange(8, 16)).forfeits == ((), ())


def test_a_forfeited_round_is_played_by_the_rule(bot):
    agent = bot(FAILURES["garbage"][0])
    batch = Batch("cardgames", 40)
    batch.reset(3)
    rng = np.random.default_rng(3)
    num_asked = 0
    while (playing := np.flatnonzero(batch.state.turn == 0)).size or (batch.state.turn > 0).any():
        ids = batch.sample(rng)
        if playing.size:
            view = View(batch, playing)
            ids[playing] = agent.act(view)
            num_asked += len(playing)
            assert (ids[playing] == view.legal_actions.action[view.legal_actions.start]).all()
        batch.step(ids)
    forfeits = agent.take_forfeits()
    assert sorted(f.game for f in forfeits) == list(range(40))
    assert {f.seat for f in forfeits} == {0}
    assert num_asked > 100
    assert agent.take_forfeits() == []


@pytest.mark.parametrize(("seats", "num_seats"), [("1v3", 20), ("3v1", 60)])
def test_reports_tell_of_forfeits(bot, capsys, seats, num_seats):
    agent = bot(FAILURES["not a combination"][0])
    report = arena.compare(agent, [tienlen_agents.load("greedy")], num_deals=5, compositions=[seats])
    report.print()
    out = " ".join(capsys.readouterr().out.split())
    title = report.results[0].title
    told = f"forfeited in '{title}': {num_seats} seats of rounds by bot: an illegal play; the first: '3s 4h'"
    assert told in out
    assert "failed: bot forfeited 100 % of its seats of rounds in" in out
    page = " ".join(report.to_html().split())
    assert f"Forfeited seats of rounds</h2> <ul><li><b>bot</b>, &#39;{title}&#39;: {num_seats} ×" in page
    assert "1.5" in out  # the clause
    table = report.to_dict()["tables"][0]
    (forfeit,) = table["agents"][0]["forfeits"]
    assert (forfeit["reason"], forfeit["num_seats"]) == ("an illegal play", num_seats)
    assert table["agents"][1]["forfeits"] == []
    header, first, second = (line.split(",") for line in report.to_csv().splitlines())
    at = header.index("forfeited_seats")
    assert (first[at], second[at]) == (str(num_seats), "0")


# ---------------------------------------------------------------- processes


def test_close_ends_the_program_and_its_children(bot, tmp_path):
    agent = bot(
        f"""
import subprocess
def ready(m):
    child = subprocess.Popen(["sleep", "1000"])
    open({str(tmp_path / "pids")!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    say({{"type": "ready", "version": 1}})
"""
    )
    batch = Batch("cardgames", 1)
    batch.reset(0)
    agent.act(View(batch))
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert all(map(is_running, pids))
    copied = pickle.loads(pickle.dumps(agent))
    assert copied.name == "bot"
    assert (copied.act(View(batch)) == agent.act(View(batch))).all()
    copied.close()
    agent.close()
    agent.close()
    assert wait_until(lambda: not any(map(is_running, pids)))
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)  # it has been waited for: not even a zombie is left
    agent.act(View(batch))  # and it can be had again


def test_the_program_ends_with_ours(tmp_path):
    code = f"""
import tienlen_agents
from tienlen_env import Batch, View
agent = tienlen_agents.load("process:" + {EXAMPLE!r})
batch = Batch("cardgames", 1)
batch.reset(0)
agent.act(View(batch))
print(agent._child._process.pid)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert wait_until(lambda: not is_running(int(done.stdout)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("process", "expected 'process:<command>' and options"),
        ("process:no-such-program --fast", "there is no command 'no-such-program --fast'"),
        ("process:'", "cannot be split into words"),
        ("process:sh,limit_ms=0", "limit_ms=0"),
        ("process:sh,restart=1", "expected one of limit_ms, start_ms, restarts, name"),
    ],
)
def test_what_cannot_be_loaded(text, message):
    with pytest.raises(ValueError, match="process") as caught:
        tienlen_agents.load(text)
    assert message in str(caught.value)


# ---------------------------------------------------------------- exact cards in the arena


def is_action(table, cards, action):
    try:
        return table.classify(cards) == action
    except InvalidComboError:
        return False


class Raiser:
    """As greedy, but the lowest card of a set becomes another one where that is possible."""

    name = "raiser"

    def __init__(self, strange=0):
        self.strange = strange
        self.raised = 0

    def reset(self, seed):
        pass

    def act(self, view):
        return self.act_cards(view)[0]

    def act_cards(self, view):
        actions, cards = choose_cards(tienlen_agents.load("greedy_long"), view)
        for i, mask in enumerate(cards.tolist()):
            for card in card_ids(int(view.hand[i]) & ~mask):
                other = mask & ~(mask & -mask) | 1 << card
                if mask and view.played[i].any() and is_action(view.action_table, other, actions[i]):
                    cards[i] = other
                    self.raised += 1
                    break
            cards[i] |= self.strange & ~view.hand[i]
        return actions, cards


def test_exact_cards_are_played_in_the_arena():
    raiser = Raiser()
    played = arena.play_deals([raiser, tienlen_agents.load("random")], [0, 1, 1, 1], np.arange(60), "pagat")
    assert raiser.raised > 10
    assert (np.sort(played.places, axis=1) == np.arange(4)).all()


def test_cards_of_others_name_the_agent():
    with pytest.raises(IllegalPlayError, match="'raiser' played against the rules"):
        arena.match(tienlen_agents.load("greedy"), Raiser(strange=1 << 51), num_deals=2)


def test_views_know_their_games_and_cards():
    batch = Batch("cardgames", 6)
    batch.reset(0)
    assert View(batch).games.tolist() == [0, 1, 2, 3, 4, 5]
    assert View(batch, [4, 1]).games.tolist() == [4, 1]
    assert View(batch, np.arange(6) > 3).games.tolist() == [4, 5]
    view = View(batch, [4, 1])
    actions = tienlen_agents.load("greedy_long").act(view)
    assert (view.cards_of(actions) == batch.select([4, 1]).action_to_cards(actions)).all()
    assert view.cards_of(np.array([-1, 452])).tolist() == [0, 0]


# ---------------------------------------------------------------- other games


@pytest.mark.parametrize("rules", ["thirteens", "thirteens_dummy_manual"])
def test_programs_play_other_games(bot, rules):
    agent = bot('def play(m): say({"id": m["id"], "cards": m["legal"][-1]})')
    others = tienlen_agents.load("random")
    played = arena.play_deals([agent, others], [0, 1, 0], np.arange(6), rules, num_players=3)
    assert played.forfeits == ((), ())


def test_what_is_sent_in_another_game():
    batch = Batch("thirteens", 2)
    batch.reset(4)
    rng = np.random.default_rng(0)
    for _ in range(18):
        batch.step(batch.sample(rng))
    other = batch.copy()
    for i, turn in enumerate(batch.state.turn.tolist()):
        seats = [seat for seat in range(4) if seat != turn]
        hands = [card for seat in seats for card in card_ids(int(batch.state.hands[i, seat]), 54)]
        for seat in seats:  # the others' cards, each with as many of them as before
            size = int(batch.state.hands[i, seat]).bit_count()
            other.state.hands[i, seat] = sum(1 << hands.pop() for _ in range(size))
    assert (batch.state.hands != other.state.hands).any()
    sent = [play_requests(View(b), [0, 1], lambda i: (i + 1, 7)) for b in (batch, other)]
    assert sent[0] == sent[1]
    message = sent[0][0].message
    assert list(message)[:5] == ["type", "id", "game", "seat", "hand"]
    assert list(message)[-4:] == ["counts", "places", "scores", "legal"]
    assert {"trick", "leader", "points"} <= set(message)
    hello = hello_message(batch.rules, 500)
    assert json.loads(json.dumps(hello))["rules"]["game"] == "thirteens"


def test_a_wrong_answer_in_another_game_costs_the_deal(bot):
    agent = bot(
        """
def play(m):
    say({"id": m["id"], "cards": "xx" if m["counts"][m["seat"]] == 9 else m["legal"][0]})
"""
    )
    others = tienlen_agents.load("random")
    played = arena.play_deals([agent, others], [0, 1, 1, 1], np.arange(3), "thirteens")
    (forfeit,) = played.forfeits[0]
    assert (forfeit.reason, forfeit.num_seats) == ("an illegal play", 3)
    assert "'xx': not one of the legal plays" in forfeit.example
