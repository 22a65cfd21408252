"""The file of chunks: every changed byte is found, every value is checked."""

import hashlib
import json
import random

import numpy as np
import pytest

from tienlen_agents import arena
from tienlen_agents.arena.chunk import MAX_POINTS
from tienlen_agents.arena.stats import estimate
from tienlen_env.games.tienlen.rules import Rules


def play(out, **options):
    return arena.match("random", "greedy", **{"num_deals": 6, "deals_per_job": 4, "out": out, **options})


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The lines of a file with two chunks, and its result."""
    folder = tmp_path_factory.mktemp("stored")
    result = play(folder)
    return (folder / "chunks.jsonl").read_bytes().splitlines(), result


def write(folder, lines):
    path = folder / "chunks.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


# ---------------------------------------------------------------- checksums


def test_every_changed_byte_of_a_chunk_is_found(stored, tmp_path):
    lines, _ = stored
    rng = random.Random(1)
    line = lines[1]
    digits = [at for at, byte in enumerate(line) if chr(byte).isdigit()]
    for at in [*rng.sample(digits, 30), *rng.sample(range(len(line)), 30), len(line) - 1, len(line) - 70]:
        other = rng.choice([b for b in b'0123456789abcdef,[]{}":x\xff' if b != line[at]])
        changed = line[:at] + bytes([other]) + line[at + 1 :]
        path = write(tmp_path, [lines[0], changed, lines[2]])
        before = path.read_bytes()
        with pytest.raises(arena.ArenaRunError, match=r"chunks\.jsonl, line 2: damaged: it "):
            play(tmp_path)
        assert path.read_bytes() == before


def test_a_chunk_cut_or_lengthened_is_found(stored, tmp_path):
    lines, result = stored
    for damaged in (
        lines[1][:-1],
        lines[1][:-78],
        lines[1] + b" ",
        lines[1] * 2,
        b"",
        lines[1].rpartition(b',"sha256"')[0] + b"}",
    ):
        write(tmp_path, [lines[0], damaged, lines[2]])
        with pytest.raises(arena.ArenaRunError, match="line 2: damaged"):
            play(tmp_path)
    # As the message says: without the line, its deals are played again.
    path = write(tmp_path, [lines[0], lines[2]])
    assert (play(tmp_path).points == result.points).all()
    assert len(path.read_bytes().splitlines()) == 3


def test_the_checksum_is_that_of_the_line_without_it(stored):
    for line in stored[0][1:]:
        body, _, digest = line.rpartition(b',"sha256":')
        assert json.loads(digest[:-1]) == hashlib.sha256(body + b"}").hexdigest()


def with_checksum(line):
    """A line as if it had been written so."""
    return line[:-1] + f',"sha256":"{hashlib.sha256(line).hexdigest()}"}}'.encode()


def replaced(name, value):
    def change(chunk):
        chunk[name] = value

    return change


def set_first(name, value):
    def change(chunk):
        chunk[name][0][0][0] = value

    return change


BAD = {
    "points beyond 32 bits": (set_first("points", 2**31), "points: expected integers"),
    "points beyond 64 bits": (set_first("points", 10**30), "points: expected integers"),
    "points of 1e400": (set_first("points", "1e400"), "1e400 is not JSON"),
    "a fraction of a point": (set_first("points", 1.5), "points: expected integers"),
    "a point that is true": (set_first("points", True), "points: expected integers"),
    "a point that is a text": (set_first("points", "3"), "points: expected integers"),
    "points that are null": (replaced("points", None), "points: expected integers"),
    "points of another shape": (replaced("points", [[[1, 2], [3]]]), "points: expected integers"),
    "place 77": (set_first("places", 77), "places: expected integers 0..3"),
    "place -1": (set_first("places", -1), "places: expected integers 0..3"),
    "place 10**6": (set_first("places", 10**6), "places: expected integers 0..3"),
    "decisions of one agent": (replaced("decisions", [5]), "decisions: expected integers"),
    "negative decisions": (replaced("decisions", [-1, 5]), "decisions: expected integers"),
    "seconds that are NaN": (replaced("seconds", [float("nan"), 1.0]), "NaN is not JSON"),
    "seconds that are infinite": (replaced("seconds", [float("inf"), 1.0]), "Infinity is not JSON"),
    "seconds below 0": (replaced("seconds", [-1.0, 1.0]), "seconds: expected 2 finite numbers"),
    "seconds as a text": (replaced("seconds", ["1", 1.0]), "seconds: expected 2 finite numbers"),
    "seconds that are a number": (replaced("seconds", 3), "seconds: expected 2 finite numbers"),
    "forfeits of one agent": (replaced("forfeits", [[]]), "forfeits: expected 2 lists"),
    "forfeits of two words": (replaced("forfeits", [[["late", 1]], []]), "forfeits: expected lists of"),
    "no rounds forfeited": (replaced("forfeits", [[["late", 0, ""]], []]), "forfeits: expected lists of"),
    "more rounds than played": (replaced("forfeits", [[["late", 65, ""]], []]), "1..64 seats"),
    "forfeits that are a number": (replaced("forfeits", [7, []]), "forfeits: expected lists of"),
    "blunders of too many deals": (replaced("blunders", [[[0, 0], [0, 0]]] * 5), "blunders of 5 deals"),
    "blunders of another shape": (replaced("blunders", [[0, 0]]), "blunders: expected integers"),
    "another match-up": (replaced("table", 1), "table: expected an integer 0..0"),
    "a match-up that is true": (replaced("table", False), "table: expected an integer"),
    "a first deal inside a chunk": (replaced("first_deal", 2), "first_deal: expected a multiple of 4"),
    "too many deals": (replaced("num_deals", 5), "num_deals: expected an integer 1..4"),
    "an unknown key": (replaced("colour", 1), "expected the keys"),
}


@pytest.mark.parametrize("what", BAD)
def test_every_value_is_checked(stored, tmp_path, what):
    change, told = BAD[what]
    lines, _ = stored
    chunk = json.loads(lines[1])
    del chunk["sha256"]
    change(chunk)
    line = json.dumps(chunk, separators=(",", ":")).replace('"1e400"', "1e400").encode()
    write(tmp_path, [lines[0], with_checksum(line), lines[2]])
    with pytest.raises(arena.ArenaRunError, match="line 2: damaged") as caught:
        play(tmp_path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [b"[" * 100_000, b"7", b"[1, 2]", b"null", b"\xff\xfe", b'{"points": 1e400}', b"0" * 10_000, b"{}"],
)
def test_lines_that_are_no_chunks(stored, tmp_path, line):
    lines, _ = stored
    for damaged in (line, with_checksum(line)):
        write(tmp_path, [lines[0], lines[1], damaged])
        with pytest.raises(arena.ArenaRunError, match=r"chunks\.jsonl, line 3: damaged"):
            play(tmp_path)
    write(tmp_path, [line, *lines[1:]])
    with pytest.raises(arena.ArenaRunError, match=r"not a file of arena chunks|holds another match"):
        play(tmp_path)


def test_a_header_is_shown_safely(stored, tmp_path):
    header = json.loads(stored[0][0]) | {"seed": "\x1b[2J", "\x1b[31mkey": 1}
    write(tmp_path, [json.dumps(header).encode()])
    with pytest.raises(arena.ArenaRunError, match="holds another match") as caught:
        play(tmp_path)
    assert str(caught.value).isprintable()


# ---------------------------------------------------------------- large points


@pytest.mark.parametrize("points", [40_000, 1_000_000])
def test_large_points_do_not_wrap(tmp_path, points):
    rules = Rules(points=(points, 0, 0, -points), target=0)
    plain = Rules(points=(1, 0, 0, -1), target=0)
    large = arena.match("greedy", "random", rules=rules, num_deals=30, seed=1, out=tmp_path)
    small = arena.match("greedy", "random", rules=plain, num_deals=30, seed=1)
    assert (large.points == small.points.astype(np.int64) * points).all()
    assert large.parity_points == 0
    for one, other in zip(large.scores, small.scores, strict=True):
        assert one.points.mean == pytest.approx(points * other.points.mean)
        assert one.points.half_width == pytest.approx(points * other.points.half_width)
    again = arena.match("greedy", "random", rules=rules, num_deals=30, seed=1, out=tmp_path)
    assert (again.points == large.points).all()


def test_squares_of_large_totals_do_not_wrap():
    totals = np.array([MAX_POINTS * 96, -MAX_POINTS * 96] * 1250)
    assert estimate(totals, 96).mean == 0
    assert estimate(totals, 96).half_width == pytest.approx(MAX_POINTS * 1.961 / 50, rel=1e-3)


def test_points_beyond_32_bits_are_refused(monkeypatch):
    from tienlen_agents.arena import chunk

    def play_deals(*arguments, **options):
        played = arena.play_deals(*arguments, **options)
        return played._replace(points=played.points * 2**31)

    monkeypatch.setattr(chunk, "play_deals", play_deals)
    with pytest.raises(ValueError, match="points of a round: expected -2147483647"):
        arena.match("greedy", "random", num_deals=2)
