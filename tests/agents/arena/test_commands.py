"""The commands of the arena: options out of range, Ctrl-C and SIGTERM, records, cells of CSV files."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tienlen_agents import arena
from tienlen_agents.arena.__main__ import FLAGS, main
from tienlen_agents.arena.match import FAST_PANEL, PANEL, panel_of
from tienlen_agents.arena.run import ArenaOptions, ArenaSettings
from tienlen_agents.settings import flag_of, settings_of
from tienlen_env.games.registry import get_rules
from tienlen_env.single.thirteens import ThirteensRound
from tienlen_env.single.tienlen import Round
from tienlen_env.texts import printable

ROOT = Path(__file__).parents[3]


# ---------------------------------------------------------------- values out of range

BAD_VALUES = [
    ("--deals", "0", "expected 2 or more"),
    ("--deals", "-5", "expected 2 or more"),
    ("--deals", "many", "expected 2 or more, got 'many'"),
    ("--precision", "0", "expected above 0"),
    ("--precision", "nan", "expected above 0"),
    ("--precision", "inf", "expected above 0"),
    ("--pilot", "1", "expected 2 or more"),
    ("--seed", "-1", "expected 0 or more"),
    ("--players", "0", "expected 2 or more"),
    ("--history", "-1", "expected 0 or more"),
    ("--blunders", "-1", "expected 0 or more"),
    ("--latency", "-1", "expected 0 or more"),
    ("--workers", "0", "expected 1 or more"),
    ("--chunk", "0", "expected a divisor of 512"),
    ("--chunk", "100", "expected a divisor of 512"),
    ("--chunk", "²", "expected a divisor of 512"),
    ("--max-forfeits", "2", "expected 0..1"),
    ("--max-forfeits", "nan", "expected 0..1"),
    ("--records", "-1", "expected 0 or more"),
]


@pytest.mark.parametrize(("option", "value", "told"), BAD_VALUES)
@pytest.mark.parametrize("command", ["match", "league"])
def test_values_out_of_range_are_refused_by_name(tmp_path, capsys, command, option, value, told):
    with pytest.raises(SystemExit) as caught:
        main([command, "greedy", "random", "--out", str(tmp_path / "out"), option, value])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"argument {option}: {told}" in said
    assert not (tmp_path / "out").exists()


def test_every_setting_is_a_keyword_and_an_option_with_its_range(capsys):
    assert {*ArenaOptions.__annotations__} == {*settings_of(ArenaSettings), "executor", "out", "progress"}
    with pytest.raises(SystemExit):
        main(["match", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for name, setting in settings_of(ArenaSettings).items():
        option = FLAGS.get(name, flag_of(name))
        kind = said[said.index(f"{option}", said.index("options:")) :].partition(" --")[0]
        if setting.kind in (int, float):
            assert f"({setting.allowed}; default: {getattr(ArenaSettings(), name)})" in kind


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["match", "greedy", "nobody"], "unknown agent 'nobody': expected one of"),
        (["match", "greedy", "policy:nowhere.safetensors"], "nowhere.safetensors"),
        (["match", "greedy", "process:no-such-program"], "there is no command 'no-such-program'"),
        (["match", "greedy", "search:worlds=x"], "worlds='x', expected an integer"),
        (
            ["match", "greedy", "random", "--rules", "bridge"],
            "argument --rules: expected some of cardgames, ",
        ),
        (["match", "greedy", "random", "--players", "9"], "num_players=9: expected 2..4"),
        (["match", "greedy", "random", "--composition", "5v5"], "composition='5v5': expected"),
        (["match", "greedy", "random", "--records", "3"], "--records: expected --out"),
        (
            ["match", "greedy", "random", "--records-url", "javascript:x"],
            "--records-url: expected an address",
        ),
        (["league", "greedy", "trickster", "--rules", "thirteens"], "'greedy'"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(tmp_path, capsys, words, told):
    out = [] if "--records" in words else ["--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as caught:
        main([*words, *out, "--quiet", "--deals", "2"])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said
    assert not (tmp_path / "out" / "arena.json").exists()


# ---------------------------------------------------------------- Ctrl-C and SIGTERM


@pytest.mark.parametrize(
    ("number", "word", "code"), [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)]
)
def test_a_signal_ends_a_run_with_one_line(tmp_path, number, word, code):
    chunks = tmp_path / "chunks.jsonl"
    words = ["league", "greedy", "random", "--deals", "100000", "--chunk", "4", "--workers", "2"]
    run = subprocess.Popen(
        [sys.executable, "-m", "tienlen_agents.arena", *words, "--quiet", "--out", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while not chunks.exists() or chunks.read_bytes().count(b"\n") < 3:
        assert run.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    os.killpg(run.pid, number)  # as a terminal does: all processes of the group
    out, err = run.communicate(timeout=60)
    assert run.returncode == code
    assert out == ""
    assert err.splitlines() == [
        f"python -m tienlen_agents.arena: {word}; the results so far are in {chunks}, "
        "the same command resumes from them"
    ]
    lines = chunks.read_bytes().splitlines()
    assert len(lines) >= 3
    assert all(json.loads(line) for line in lines)


def test_a_signal_in_this_process(monkeypatch, capsys):
    def stop(*_, **__):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("tienlen_agents.arena.__main__.compare", stop)
    assert main(["match", "greedy", "random"]) == 143
    assert capsys.readouterr().err.endswith(": terminated\n")


# ---------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("agents", "rules", "kind"),
    [(["greedy", "random"], "cardgames", Round), (["trickster", "random"], "thirteens", ThirteensRound)],
)
def test_records_are_those_of_the_rounds(tmp_path, agents, rules, kind):
    words = ["match", *agents, "--rules", rules, "--composition", "1v3", "--deals", "6", "--chunk", "2"]
    main([*words, "--quiet", "--seed", "4", "--out", str(tmp_path), "--records", "10"])
    result = arena.match(*agents, rules=rules, num_deals=6, deals_per_job=2, seed=4)
    data = json.loads((tmp_path / "arena.json").read_text())
    assert len(data["records"]) == 10
    for index, entry in enumerate(data["records"]):
        played = kind.from_record((tmp_path / entry["name"]).read_text())
        assert played.is_over
        deal, seating = divmod(index, 4)
        assert entry["deal"] == deal + 1
        own = entry["seats"].index(agents[0])
        assert entry["seats"] == [agents[0] if seat == own else agents[1] for seat in range(4)]
        # The points of the first agent are those of its slot.
        assert played.scores[own] == result.points[deal, seating, 0]
        assert played.places[own] == result.game_places[deal, seating, 0]
    page = (tmp_path / "arena.html").read_text()
    assert 'href="records/1-1-1.txt"' in page
    # Another run there: fewer of them, and none is left over.
    main([*words, "--quiet", "--seed", "4", "--out", str(tmp_path), "--records", "3"])
    left = sorted(path.name for path in (tmp_path / "records").iterdir())
    assert left == ["1-1-1.txt", "1-1-2.txt", "1-1-3.txt"]


def test_records_are_shared_between_match_ups_and_resumed(tmp_path):
    words = ["match", "greedy", "random", "--deals", "4", "--chunk", "2", "--quiet", "--out", str(tmp_path)]
    main(words)
    before = (tmp_path / "chunks.jsonl").read_bytes()
    main([*words, "--records", "8"])  # 3, 3 and 2 of three match-ups: their first chunks are played again
    after = (tmp_path / "chunks.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == len(before.splitlines()) + 3
    names = sorted(path.stem for path in (tmp_path / "records").iterdir())
    assert names == ["1-1-1", "1-1-2", "1-1-3", "2-1-1", "2-1-2", "2-1-3", "3-1-1", "3-1-2"]
    main([*words, "--records", "8", "--records-url", "https://example.org/table?record="])
    assert (tmp_path / "chunks.jsonl").read_bytes() == after
    assert 'href="https://example.org/table?record=1-1-1.txt"' in (tmp_path / "arena.html").read_text()


# ---------------------------------------------------------------- the panel, CSV files


def test_the_panel_has_those_that_play_the_rules():
    assert (*FAST_PANEL, "search", "champion") == PANEL
    assert panel_of([get_rules("cardgames")]) == [*PANEL]
    assert panel_of([get_rules("cardgames"), get_rules("pagat")]) == [*PANEL]
    assert panel_of([get_rules("cardgames", 3)]) == [*PANEL]
    assert panel_of([get_rules("thirteens")]) == [*PANEL]
    assert panel_of([get_rules("thirteens", 3)]) == [*FAST_PANEL, "search"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "greedy"])
def test_cells_of_csv_files_are_never_formulas(name):
    result = arena.match("greedy", "random", num_deals=2)
    text = arena.Report((replace(result, names=(name, name)),)).to_csv()
    cells = [printable(cell) for cell in (f"{name} v. 3 × {name}", name)]
    blank = " " * name.startswith(("\t", "\r"))  # the quote stands after it, since readers may cut it off
    if name != "greedy":
        cells = [f"{blank}'{cell.removeprefix(blank)}" for cell in cells]
    for row in list(csv.reader(io.StringIO(text, newline="")))[1:]:
        assert row[:2] == cells
