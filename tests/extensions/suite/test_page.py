"""The leaderboard: rows, ranks, and nothing of a stranger's text becomes a page."""

from __future__ import annotations

import copy
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.suite.suites import TINY, tiny
from tienlen_suite import Packet, PacketError, run
from tienlen_suite.__main__ import main
from tienlen_suite.figures import power
from tienlen_suite.page import entry_of, leaderboard, ranks, read_entries, write_entry


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder, found = tmp_path_factory.mktemp("entries"), {}
    secret = folder / "secret"
    secret.write_bytes(b"a secret of the page")
    for track in TINY.tracks:
        for agent in ("heuristic", "greedy"):
            packet = run(agent, tiny(track), folder / f"{track}-{agent}")
            found[f"{track}-{agent}"] = entry_of(packet, "replayed", "https://example.org/packet")
    packet = run("greedy", tiny("A", secret=str(secret)), folder / "held-out")
    found["A-held-out"] = entry_of(packet, "official", "")
    packet = run("greedy", tiny("A", quick=True), folder / "quick")
    with pytest.raises(PacketError, match="a quick packet has no rank"):
        entry_of(packet, "community", "")
    return found


def test_rows_are_written_and_read(entries: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    for name, entry in entries.items():
        write_entry(tmp_path / f"{name}.json", entry)
    with pytest.raises(PacketError, match=r"A-held-out.json: held_out: not a seed in held-out.txt"):
        read_entries(tmp_path)
    (tmp_path / "held-out.txt").write_text(entries["A-held-out"]["packet"]["held_out"] + "\n")
    assert read_entries(tmp_path) == [entries[name] for name in sorted(entries)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": "believed"}, "level='believed': expected one of community"),
        *(
            ({"url": url}, "url: expected an address that begins with https://")
            for url in (
                "javascript:alert(1)",
                "https://example.org/fD.zip#![onclick=alert(1)//](x)",
                "https://example.org/a.zip?x=<script>",
                "https://example.org/a|b.zip",
                "https://user@example.org/a.zip",
                "https://127.0.0.1/a.zip",
                "https://example.org",
                "https://example.org/%zz",
                "https://example.org:x/a.zip",
                "https://ex\u0430mple.org/a.zip",
                5,
            )
        ),
        ({"more": 1}, "expected the keys"),
        ({"packet": {}}, "packet: expected the keys"),
    ],
)
def test_what_is_not_a_row_is_refused(
    change: dict[str, Any], message: str, entries: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "wrong.json").write_text(json.dumps({**entries["A-greedy"], **change}))
    with pytest.raises(PacketError, match=f"wrong.json: {message}"):
        read_entries(tmp_path)


def put(entry: dict[str, Any], place: str, value: object) -> bytes:
    """A row with another value, and the digest that its packet then has."""
    *path, last = place.split(".")
    inner = entry = copy.deepcopy(entry)
    for key in path:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    inner[last] = value
    said = {key: value for key, value in entry["packet"].items() if key != "digest"}
    entry["packet"]["digest"] = Packet(said, {}, {}).digest
    return json.dumps(entry).encode()


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("units", 10**400, "budget, units"),
        ("units", -1, "budget, units"),
        ("games", [5], "games: expected"),
        ("games", ["x" * 5000], "games: expected"),
        ("games", "x", "games: expected"),
        ("packet.budget", 10**400, "budget, units"),
        ("packet.figures.score.mean", "x", "Unknown format code|format"),
        ("packet.figures.score.mean", 10**400, "OverflowError"),
        ("packet.figures.score", {}, "KeyError"),
        ("packet.figures.deals", ["1"] * 8, "figures.deals"),
        ("packet.figures.deals", [1.0], "figures.deals"),
        ("packet.figures.tables", [], "IndexError"),
        ("packet.figures.ratings", 5, "TypeError"),
        ("packet.declaration.name", "", "declaration: .*name"),
        ("packet.declaration.name", "champion", "is an agent of the project"),
        ("packet.declaration.kind", "wizard", "declaration: .*kind"),
    ],
)
def test_a_row_that_cannot_be_shown_is_refused(
    place: str, value: object, message: str, entries: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "wrong.json").write_bytes(put(entries["A-greedy"], place, value))
    with pytest.raises(PacketError, match=f"^wrong.json: .*({message})"):
        read_entries(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"units": ', b'"units": NaN, "units": ', "NaN is not JSON"),
        (b'"units": ', b'"units": 1e999, "units": ', "1e999 is not JSON"),
        (b'"units": ', b'"units": 1, "units": ', "the key 'units' is there twice"),
        (b'"budget": ', b'"budget": 1, "budget": ', "the key 'budget' is there twice"),
        (b'"mean": ', b'"mean": 9', "packet: it does not match its digest"),
        (b"{", b"[" * 100_000 + b"{", "RecursionError"),
        (b"{", b"\xff{", "utf-8"),
        (b"{", b" " * (1 << 20) + b"{", "at most 1048576 bytes"),
    ],
)
def test_a_row_is_strict_json(
    old: bytes, new: bytes, message: str, entries: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    text = json.dumps(entries["A-greedy"]).encode()
    (tmp_path / "wrong.json").write_bytes(text.replace(old, new, 1))
    with pytest.raises(PacketError, match=f"^wrong.json: .*{message}"):
        read_entries(tmp_path)


def test_the_commands_print_what_the_functions_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / agent for agent in ("heuristic", "greedy")]
    packets = [run(folder.name, tiny("B"), folder) for folder in folders]
    rows = tmp_path / "rows"
    rows.mkdir()
    for packet, folder in zip(packets, folders, strict=True):
        write_entry(rows / f"{folder.name}.json", entry_of(packet, "community", "https://example.org/packet"))
    assert main(["page", str(rows)]) == 0
    assert capsys.readouterr().out == leaderboard(read_entries(rows)) + "\n"
    assert main(["power", *map(str, folders)]) == 0
    assert capsys.readouterr().out == f"{power(*packets)}\n"
    for track, word in (("A", "score"), ("D", "nash_conv")):
        again = tmp_path / track
        words = ["--suite", "tiny", "--track", track, "--out", str(again), "--workers", "1"]
        assert main(["run", "greedy", *words]) == 0
        assert word in capsys.readouterr().out
        assert main(["replay", str(again)]) == 0
        assert "rounds, all the same\nreplayed: " in capsys.readouterr().out


def test_the_page(entries: dict[str, dict[str, Any]]) -> None:
    text = leaderboard(list(entries.values()))
    for track in TINY.tracks.values():
        assert f"### Track {track.name}: {track.title}" in text
    rows = [line for line in text.splitlines() if line.startswith(("| 1 |", "| 2 |"))]
    assert len(rows) == 8
    assert all("±" in row for row in rows[:3])  # greedy among its like: identical decisions
    assert len(re.findall(r'href="play/index.html#record=tienlen%2F1%20cardgames', rows[0])) == 3
    held_out = next(row for row in rows if "greedy" in row)
    assert re.search(r"\| [+-]\d\.\d{3}\s±\s\d\.\d{3} \|", held_out)
    assert 'href="https://example.org/packet"' in html.unescape(rows[0])
    assert "record=" not in leaderboard(list(entries.values()), explorer="")
    assert leaderboard([]) == "No packets yet."


def test_equal_agents_share_a_rank(entries: dict[str, dict[str, Any]]) -> None:
    track = TINY.tracks["A"]
    strong, weak = entries["A-heuristic"], entries["A-greedy"]
    assert ranks(track, [weak, strong, copy.deepcopy(strong)]) == [3, 1, 1]
    assert ranks(TINY.tracks["D"], [entries["D-greedy"], entries["D-heuristic"]]) == [2, 1]


def test_a_name_cannot_change_the_page(tmp_path: Path) -> None:
    bad = '<script>alert(1)</script>|[x](javascript:1)`"'
    entry = tiny("D", name=bad, authors=bad)
    text = leaderboard([entry_of(run("greedy", entry, tmp_path), "community", "")])
    row = next(line for line in text.splitlines() if line.startswith("| 1 |"))
    assert "<script" not in text
    assert "](" not in text
    head = next(line for line in text.splitlines() if line.startswith("| rank"))
    assert row.count("|") == head.count("|")


def test_an_agent_has_one_row_in_a_track(entries: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    for name in ("A-greedy", "A-more"):
        write_entry(tmp_path / f"{name}.json", entries["A-greedy"])
    with pytest.raises(PacketError, match=r"A-more.json: a second row of 'greedy' in track A"):
        read_entries(tmp_path)
