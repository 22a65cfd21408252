import json
import shlex
import sys
from contextlib import closing

import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_exact import __main__ as command, build, measure, policy_of
from tienlen_exact.plan import bench
from tienlen_exact.small_tienlen import small_game


def run(capsys, *words):
    assert command.main([*words, "--quiet"]) == 0
    return capsys.readouterr().out


def refused(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        command.main(list(words))
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_nashconv_of_agents(capsys, tmp_path):
    out = tmp_path / "found.json"
    text = run(capsys, "nashconv", "random", "greedy", "--rules", "mini", "--out", str(out))
    assert "12,210 information sets" in text
    assert "0.600000" in text
    found = json.loads(out.read_text())
    assert [round(one["nash_conv"], 6) for one in found["results"]] == [0.96751, 0.6]


def test_solve_stops_resumes_and_its_policy_is_shown(capsys, tmp_path):
    out = str(tmp_path / "run")
    words = ["solve", "--rules", "mini", "--algorithm", "dcfr", "--every", "5", "--out", out]
    first = run(capsys, *words, "--iterations", "10")
    assert "iteration     10" in first
    second = run(capsys, *words, "--iterations", "100", "--until", "1e-4")
    assert "goes on after iteration 10" in second
    assert "iteration    100" not in second
    curve = [json.loads(line) for line in (tmp_path / "run" / "nash_conv.jsonl").read_text().splitlines()]
    assert [point["iteration"] for point in curve][:3] == [5, 10, 15]
    assert curve[-1]["nash_conv"] <= 1e-4
    shown = run(capsys, "show", f"{out}/policy.npz", "--hand", "3s 4c 2s")
    assert shown.startswith("seat 0 with 3s 4c 2s: single 3s 1.0000")
    assert "policy.npz: not" in refused(capsys, "show", f"{out}/nash_conv.jsonl").replace(
        "nash_conv.jsonl", "policy.npz"
    )
    other = ["solve", "--rules", "mini", "--algorithm", "cfr+", "--out", out]
    assert "it is of algorithm 'dcfr', expected 'cfr+'" in refused(capsys, *other)


def test_best_response_to_a_file(capsys, tmp_path):
    out = tmp_path / "response.npz"
    text = run(capsys, "best-response", "heuristic", "--rules", "mini", "--out", str(out))
    assert "seat 0: the best response earns +0.025000, heuristic itself +0.000000" in text
    assert tienlen_agents.load(f"exact:{out}").history > 5
    assert f"which plays as exact:{out}" in text


def test_who_leads_earns_the_value_of_the_game(capsys, tmp_path):
    """With one card each who leads is out at once."""
    words = ["solve", "--rules", "cardgames", "--players", "2", "--deck", "3s 4s 2s", "--cards-each", "1"]
    out = tmp_path / "run"
    text = run(capsys, *words, "--iterations", "2", "--out", str(out))
    assert "who leads earns +1.000000 to +1.000000, seat 0 -0.000000 to +0.000000: NashConv" in text
    assert "in Python alone" in text
    rules = small_game("cardgames", 2, deck="3s 4s 2s", cards_each=1).rules
    assert arena.match(f"exact:{out}/policy.npz", "greedy", rules=rules, num_deals=2)
    text = run(capsys, "solve", "--rules", "mini", "--iterations", "60")
    assert "who leads earns +0.29" in text


FIVE_CARDS = ["--rules", "cardgames", "--players", "2", "--deck", "3s 3c 4s 4c 2s", "--cards-each", "2"]


def program(path, answer):
    """A program over the line protocol that plays `answer`, an expression of a question."""
    path.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if m['type'] == 'hello': print(json.dumps({'type': 'ready', 'version': 1}), flush=True)\n"
        f"    if m['type'] == 'play': print(json.dumps({{'id': m['id'], 'cards': {answer}}}), flush=True)\n"
    )
    command = shlex.join([sys.executable, "-S", "-E", str(path)])
    return f"process:{command},limit_ms=600000,start_ms=600000"


def test_a_program_has_the_nash_conv_of_what_it_plays(capsys, tmp_path):
    first = program(tmp_path / "first.py", "next((c for c in m['legal'] if c), '')")
    out = tmp_path / "found.json"
    run(capsys, "nashconv", first, "greedy", *FIVE_CARDS, "--out", str(out))
    program_found, greedy = (one["nash_conv"] for one in json.loads(out.read_text())["results"])
    tree = build(small_game("cardgames", 2, deck="3s 3c 4s 4c 2s", cards_each=2))
    with closing(tienlen_agents.load(first)) as agent:
        assert program_found == measure(tree, policy_of(tree, agent)).nash_conv > 0
    assert greedy > 0
    assert "illegal" in refused(capsys, "nashconv", program(tmp_path / "wrong.py", "'2h'"), *FIVE_CARDS)


def test_three_players_have_gains_and_no_nash_conv(capsys):
    words = ["--players", "3", "--deck", "3s 4s 5s 3c 4c 5c 2s", "--cards-each", "2"]
    text = run(capsys, "nashconv", "random", *words)
    assert "NashConv" not in text
    assert "deviation" in text
    solved = run(capsys, "solve", *words, "--iterations", "5")
    assert "the seats' best deviations gain" in solved
    assert "the deck has" in refused(capsys, "nashconv", "random", "--rules", "mini", "--players", "4")


def test_size_and_bench(capsys):
    assert "12,210 information sets" in run(capsys, "size", "--rules", "mini")
    assert "an iteration of cfr+" in bench(small_game("mini"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["size", "--rules", "cardgames"], "deals: expected at most 500,000,000"),
        (["size", "--rules", "thirteens"], "not the thirteens rules"),
        (["nashconv", "nobody"], "unknown agent 'nobody'"),
        (["nashconv", "random", "--repeats", "0"], "--repeats"),
        (["nashconv", "trickster"], "plays thirteens, not tienlen"),
        (["solve", "--rules", "mini", "--memory", "0.0001"], "expected at most 0.0001 GiB"),
        (["solve", "--algorithm", "magic"], "--algorithm"),
        (["solve", "--until", "-1"], "--until"),
        (["show", "/nowhere.npz"], "no such file"),
        (["size", "--deck", "3s 3x"], "deck"),
    ],
)
def test_bad_input_is_refused_before_any_work(capsys, words, message):
    assert message in refused(capsys, *words)
