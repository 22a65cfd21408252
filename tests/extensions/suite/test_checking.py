"""Nothing in a packet is believed: each kind of tampering is found, and the message names it."""

from __future__ import annotations

import copy
import itertools
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.extensions.suite.suites import MIXED, PANEL, TINY, changed, tiny
from tienlen_env import Round
from tienlen_env.games.registry import get_rules
from tienlen_suite import Packet, PacketError, PanelMember, check, read_packet, replay, run
from tienlen_suite.checking import SUITES, judged_decisions
from tienlen_suite.packet import MAX_CONTENTS, PACKET, RUN, checksums

SECRET = b"a secret of the tests"


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Packet]:
    folder, secret = tmp_path_factory.mktemp("packets"), tmp_path_factory.mktemp("secrets") / "secret"
    secret.write_bytes(SECRET)
    for track in TINY.tracks:
        run("heuristic", tiny(track), folder / track)
    run("heuristic", tiny("A", secret=str(secret)), folder / "secret")
    others = {
        # The same claims, but with other deals, another panel, or another seating.
        "own seed": changed(seed=6),
        "own jobs": changed(deals_per_job=8),
        "weak greedy": replace(TINY, panel={**PANEL, "greedy": PanelMember("random")}),
        "weak endgame": replace(TINY, panel={**PANEL, "endgame": PanelMember("greedy_long")}),
        "weak search": replace(TINY, panel={**PANEL, "search": PanelMember("random", is_slow=True)}),
        "strong random": replace(TINY, panel={**PANEL, "random": PanelMember("greedy")}),
        "other seats": changed(
            tables=(TINY.tracks["A"].tables[0], replace(TINY.tracks["A"].tables[1], opponents=MIXED[::-1]))
        ),
        "other rules": changed(tables=tuple(replace(t, rules="mobile") for t in TINY.tracks["A"].tables)),
    }
    for name, suite in others.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(SUITES, "tiny", suite)
            run("heuristic", tiny("A"), folder / name)
    return {path.name: read_packet(path) for path in folder.iterdir()}


def write(packet: Packet, folder: Path) -> Path:
    """Write a packet with all checksums anew, so that only its meaning is wrong."""
    packet.values["contents"] = checksums(packet.contents)
    packet.write(folder)
    return folder


def test_packets_are_accepted(packets: dict[str, Packet], tmp_path: Path) -> None:
    for name in ("A", "B", "D", "E"):
        found = check(write(copy.deepcopy(packets[name]), tmp_path / name))
        assert found.figures == packets[name].values["figures"]
    assert check(write(packets["secret"], tmp_path / "secret"), secret=SECRET).rounds == 64
    found = check(tmp_path / "A")
    assert found.rounds == 64
    # All decisions of the quick members, and about half of those of the slow one.
    total = sum(
        line.count(" ") for content in packets["A"].contents.values() for line in content.decode().split("\n")
    )
    assert 0.4 * total < found.decisions < total


# ---------------------------------------------------------------- tampering

Change = Callable[[Packet, dict[str, Packet]], object]
KINDS: dict[str, tuple[str, str, Change]] = {}


def kind(name: str, message: str, track: str = "A") -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        assert name not in KINDS
        KINDS[name] = message, track, change
        return change

    return add


def lines_of(packet: Packet, table: int = 1) -> list[str]:
    return packet.contents[f"records/{table:02}"].decode().splitlines()


def put(packet: Packet, lines: list[str], table: int = 1) -> None:
    packet.contents[f"records/{table:02}"] = "".join(f"{line}\n" for line in lines).encode()


def figure(*path: str | int, by: float) -> Change:
    def change(packet: Packet, _: dict[str, Packet]) -> None:
        place = packet.values["figures"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] += by

    return change


kind("score", r"figures\.score\.mean: the packet says")(figure("score", "mean", by=0.01))
kind("score, a little", r"figures\.score\.mean")(figure("score", "mean", by=0.00001))
kind("interval", r"figures\.score\.half_width")(figure("score", "half_width", by=-0.01))
kind("points of a table", r"figures\.tables\[1\]\.points\.mean")(
    figure("tables", 1, "points", "mean", by=0.1)
)
kind("first places", r"figures\.tables\[0\]\.first\.mean")(figure("tables", 0, "first", "mean", by=0.1))
kind("score of a deal", r"figures\.deals\[3\]")(figure("deals", 3, by=0.5))
kind("number of deals", r"figures\.num_deals")(figure("num_deals", by=1))
kind("rating", r"figures\.ratings\.agent\.mean")(figure("ratings", "agent", "mean", by=1))
kind("rating of the panel", r"figures\.ratings\.search\.mean")(figure("ratings", "search", "mean", by=-1))
kind("interval of a rating", r"figures\.ratings\.agent\.half")(
    figure("ratings", "agent", "half_width", by=-0.1)
)
kind("normalised score", r"figures\.score\.mean", "B")(figure("score", "mean", by=0.01))
kind("NashConv", r"figures\.tables\[0\]\.nash_conv", "D")(figure("tables", 0, "nash_conv", by=-0.01))
kind("endings", r"figures\.tables\[0\]\.endings", "E")(figure("tables", 0, "endings", by=1))


@kind("a figure is left out", r"figures: expected .*ratings")
def _(packet: Packet, _: object) -> None:
    del packet.values["figures"]["ratings"]


@kind("title", r"figures\.tables\[0\]\.title")
def _(packet: Packet, _: object) -> None:
    packet.values["figures"]["tables"][0]["title"] = "v. champion"


# Records.


@kind("illegal play", "not a legal round")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    head, plays = lines[2].split(" : ")
    put(packet, [*lines[:2], f"{head} : - {plays}", *lines[3:]])


@kind("result of a record", "not a legal round: .*the line says")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    plays, result = lines[2].split(" = ")
    put(packet, [*lines[:2], f"{plays} = {' '.join(reversed(result.split()))}", *lines[3:]])


@kind("round without its end", "not played to its end")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [lines[0].split(" = ")[0].rsplit(" ", 1)[0], *lines[1:]])


@kind("record in other words", "expected the record")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [lines[0].replace(" : ", "  :  "), *lines[1:]])


@kind("record left out", "expected 32 records")
def _(packet: Packet, _: object) -> None:
    put(packet, lines_of(packet)[:-1])


@kind("record too many", "expected 32 records")
def _(packet: Packet, _: object) -> None:
    put(packet, [*lines_of(packet), lines_of(packet)[0]])


@kind("empty records", "expected 32 records")
def _(packet: Packet, _: object) -> None:
    packet.contents["records/01"] = b""


@kind("record repeated in place of another deal", "not the suite's deal")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [*lines[:4], *lines[:4], *lines[8:]])


@kind("order of deals", "not the suite's deal: another seed or order")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [*lines[4:8], *lines[:4], *lines[8:]])


@kind("order of seatings", "the panel's moves were changed")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet, 2)
    put(packet, [lines[1], lines[0], *lines[2:]], 2)


@kind("the best seating for all", "the panel's moves were changed")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [lines[4 * (i // 4)] for i in range(len(lines))])


@kind("tables exchanged", "the panel's moves were changed")
def _(packet: Packet, _: object) -> None:
    first, second = packet.contents["records/01"], packet.contents["records/02"]
    packet.contents.update({"records/01": second, "records/02": first})


@kind("other rules", "not a legal round")
def _(packet: Packet, packets: dict[str, Packet]) -> None:
    packet.contents.update(packets["other rules"].contents)


@kind("other rules by their name", "not a legal round")
def _(packet: Packet, _: object) -> None:
    put(packet, [line.replace(" cardgames p4", " mobile p4") for line in lines_of(packet)])


def _replayed(line: str, **settings: object) -> str:
    """The plays of a record, as far as they are legal, in another deal; then the first legal ones."""
    old = Round.from_record(line)
    hands = settings.pop("hands", None)
    new = Round.from_hands(old.rules, hands) if hands else Round(old.rules, old.key, **settings)  # type: ignore[arg-type]
    plays = list(old.plays)
    while not new.is_over:
        legal = new.legal_plays()
        wanted = plays.pop(0) if plays else None
        new.play(next((play for play in legal if str(play) == str(wanted)), legal[-1]))
    return new.record()


@kind("hands in place of a key", "not the suite's deal")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    start = Round(get_rules("cardgames"), Round.from_record(lines[0]).key)
    put(packet, [_replayed(lines[0], hands=[start.hand(seat) for seat in range(4)]), *lines[1:]])


@kind("another round of the key", "not the suite's deal")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    put(packet, [_replayed(lines[0], round_index=1), *lines[1:]])


@kind("another leader", "not the suite's deal")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    leads = Round(get_rules("cardgames"), Round.from_record(lines[0]).key).turn
    put(packet, [_replayed(lines[0], leader=(leads + 1) % 4), *lines[1:]])


@kind("deals of an own seed, chosen from many", "not the suite's deal: another seed")
def _(packet: Packet, packets: dict[str, Packet]) -> None:
    packet.contents.update(packets["own seed"].contents)
    packet.values["figures"] = packets["own seed"].values["figures"]


@kind("seeds of the panel", "records/01 .* the panel's moves were changed: random plays")
def _(packet: Packet, packets: dict[str, Packet]) -> None:
    packet.contents.update(packets["own jobs"].contents)
    packet.values["figures"] = packets["own jobs"].values["figures"]


@kind("other seats", "the panel's moves were changed")
def _(packet: Packet, packets: dict[str, Packet]) -> None:
    packet.contents.update(packets["other seats"].contents)


# The panel's moves replaced by weaker legal ones, with all figures and checksums that follow from them.


def weaker(name: str) -> Change:
    def change(packet: Packet, packets: dict[str, Packet]) -> None:
        packet.contents.update(packets[name].contents)
        packet.values["figures"] = packets[name].values["figures"]
        packet.run["decisions"] = packets[name].run["decisions"]

    return change


kind("weaker greedy", "the panel's moves were changed: greedy plays")(weaker("weak greedy"))
kind("weaker endings", "the panel's moves were changed: endgame:heuristic plays")(weaker("weak endgame"))
kind("weaker search", "the panel's moves were changed: search.* plays")(weaker("weak search"))
kind("random that is not random", "the panel's moves were changed: random plays")(weaker("strong random"))


@kind("one move of the panel", "records/01 .* line 1, play .* the panel's moves were changed")
def _(packet: Packet, _: object) -> None:
    lines = lines_of(packet)
    old = Round.from_record(lines[0])
    # In the first game the agent has one seat of four: the first deviation of another seat is the panel's.
    agent = next(
        seat for seat in range(4) if TINY.tracks["A"].tables[0].match_up.lineup[blocks_slot(seat)] == 0
    )
    new = Round(old.rules, old.key)
    done = False
    for play in old.plays:
        legal = new.legal_plays()
        if not done and new.turn != agent and len(legal) > 1:
            new.play(next(other for other in legal if str(other) != str(play)))
            done = True
            break
        new.play(play)
    while not new.is_over:
        new.play(new.legal_plays()[-1])
    assert done
    put(packet, [new.record(), *lines[1:]])


def blocks_slot(seat: int) -> int:
    from tienlen_agents.arena.lineup import blocks

    return int(blocks((0, 1, 1, 1))[0][0][seat])


# What the packet says of itself.


def value(key: str, new: object) -> Change:
    def change(packet: Packet, _: dict[str, Packet]) -> None:
        packet.values[key] = new

    return change


kind("unknown suite", "suite 'v9': expected one of v1, tiny")(value("suite", "v9"))
kind("another version of the suite", "track_digest: not that of suite tiny")(value("track_digest", "0" * 64))
kind("unknown track", "track 'Z'")(value("track", "Z"))
kind("another track", "track_digest: not that of suite tiny")(value("track", "D"))
kind("quick for long", "expected 16 records|contents: expected records/01$")(value("quick", True))
kind("another schema", "packet.json: schema")(value("schema", 2))
kind("code", "packet.json: code")(value("code", "mine"))
kind("versions", "versions: numpy is missing")(value("versions", {"python": "3.11", "machine": "x"}))
kind("empty version", "packet.json: versions")(
    value("versions", {"python": "", "machine": "x", "numpy": "2"})
)
kind("declaration", "declaration: name is missing")(value("declaration", {}))
kind("a name that moves the cursor", "packet.json: declaration")(value("declaration", {"name": "\x1b[2J"}))


def declared(field: str, new: str) -> Change:
    def change(packet: Packet, _: dict[str, Packet]) -> None:
        packet.values["declaration"] = packet.values["declaration"] | {field: new}

    return change


for name, (field, new) in {
    "no name": ("name", ""),
    "a blank as a name": ("name", " "),
    "a name with a blank at its end": ("name", "heuristic "),
    "a name of a letter without a picture": ("name", "\u3164"),
    "a name with a letter without a picture": ("name", "my\u2800bot"),
    "a name with a letter of another alphabet": ("name", "h\u0435uristic"),
    "a name of many accents": ("name", "a" + "\u0301" * 5),
    "authors whom nobody sees": ("authors", "\u115f"),
    "a kind that there is not": ("kind", "wizard"),
    "attempts below one": ("attempts", "-5"),
    "no number of attempts": ("attempts", "two"),
    "attempts in another form": ("attempts", "0x1"),
    "a field too many": ("colour", "red"),
}.items():
    kind(name, f"declaration: .*{field}")(declared(field, new))
for other in ("champion", "Champion", "cham pion", "\uff43hampion", "search\uff1aworlds=8"):
    kind(f"the name {other}", "declaration: name: .* is an agent of the project")(declared("name", other))
kind("a file's checksum", "packet.json: agent_files")(value("agent_files", {"policy": "1"}))
kind("held out that is not", "held-out deals: expected their secret")(value("held_out", "0" * 64))
kind("unknown class of budget", r"budget 2\.0: expected one of")(value("budget", 2.0))
kind("figures of another kind", "packet.json: figures")(value("figures", [1]))


@kind("budget understated", "budget understated: 30 units a decision were measured")
def _(packet: Packet, _: object) -> None:
    packet.run["units"] = 30.0
    packet.values["budget"] = 20.0


@kind("number of decisions", "run.json: decisions: it says")
def _(packet: Packet, _: object) -> None:
    packet.run["decisions"] //= 2


@kind("a time that is not a number", "run.json: not JSON")
def _(packet: Packet, _: object) -> None:
    packet.run["units"] = float("nan")


@kind("a content is missing", "contents: expected records/01, records/02")
def _(packet: Packet, _: object) -> None:
    del packet.contents["records/02"]


@kind("a content too many", "contents: expected records/01, records/02")
def _(packet: Packet, _: object) -> None:
    packet.contents["records/03"] = b""


@kind("a path as a name", "packet.json: contents")
def _(packet: Packet, _: object) -> None:
    packet.contents["../outside"] = b""


# Policies and endings.


@kind("probabilities of a policy", r"figures\.score\.mean|figures\.tables\[0\]\.nash_conv", "D")
def _(packet: Packet, packets: dict[str, Packet]) -> None:
    from tienlen_exact.policies import uniform
    from tienlen_suite.checking import tree_of

    packet.contents["policies/01"] = uniform(tree_of(TINY.tracks["D"].tables[0])).astype("<f8").tobytes()


@kind("no policy", "policies/01: policy: expected probabilities", "D")
def _(packet: Packet, _: object) -> None:
    packet.contents["policies/01"] = bytes(len(packet.contents["policies/01"]))


@kind("a policy that is not a number", "policies/01: policy: expected probabilities", "D")
def _(packet: Packet, _: object) -> None:
    packet.contents["policies/01"] = np.full(len(packet.contents["policies/01"]) // 8, np.nan).tobytes()


@kind("policy of another game", r"policies/01: expected \d+ probabilities", "D")
def _(packet: Packet, _: object) -> None:
    packet.contents["policies/01"] = packet.contents["policies/01"][:-8]


@pytest.mark.parametrize("name", KINDS)
def test_tampering_is_found_and_named(name: str, packets: dict[str, Packet], tmp_path: Path) -> None:
    message, track, change = KINDS[name]
    packet = copy.deepcopy(packets[track])
    change(packet, packets)
    write(packet, tmp_path)
    with pytest.raises(PacketError, match=message):
        check(tmp_path)


def test_there_are_forty_kinds() -> None:
    assert len(KINDS) >= 40


# ---------------------------------------------------------------- damage, and files of strangers


def test_damage_is_found(packets: dict[str, Packet], tmp_path: Path) -> None:
    def written() -> Path:
        return write(copy.deepcopy(packets["A"]), tmp_path)

    def refused(message: str) -> None:
        with pytest.raises(PacketError, match=message):
            check(tmp_path)

    file = written() / "records/01.xz"
    file.write_bytes(lzma.compress(lzma.decompress(file.read_bytes()).replace(b"3s", b"3c", 1)))
    refused("records/01: it does not match its checksum")
    written()
    file.write_bytes(b"not xz")
    refused("records/01.xz: (damaged|expected one stream)")
    file.write_bytes(lzma.compress(b"a\n") * 2)
    refused("records/01.xz: expected one stream")
    file.unlink()
    refused("records/01.xz: there is no such file")
    file.symlink_to("/etc/hostname")
    refused("records/01.xz: there is no such file")
    file.unlink()
    written()
    (tmp_path / "more").write_text("?")
    refused("more: not a file of this packet")
    (tmp_path / "more").unlink()
    text = (tmp_path / PACKET).read_text()
    for wrong, message in (
        (text.replace('"quick": false', '"quick": 0'), "quick: a value of another kind"),
        (text.replace('"agent": "heuristic"', '"agent": "greedy"'), "does not match its digest"),
        (text.replace('"quick"', '"quack"'), "expected the keys"),
        ("[" * 100_000, "not JSON"),
        ("[]", "expected the keys"),
    ):
        (tmp_path / PACKET).write_text(wrong)
        refused(f"{PACKET}: .*{message}")
    written()
    (tmp_path / RUN).unlink()
    refused(f"{RUN}: there is no such file")


def test_a_content_that_grows_without_end_is_refused(packets: dict[str, Packet], tmp_path: Path) -> None:
    write(copy.deepcopy(packets["A"]), tmp_path)
    (tmp_path / "records/01.xz").write_bytes(lzma.compress(bytes(MAX_CONTENTS + 1), preset=0))
    with pytest.raises(PacketError, match=f"at most {MAX_CONTENTS} bytes in all contents"):
        read_packet(tmp_path)


def test_contents_that_are_large_together_are_refused(
    tmp_path: Path, packets: dict[str, Packet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is one for all contents: what is above it is not unpacked."""
    monkeypatch.setattr("tienlen_suite.packet.MAX_CONTENTS", 1 << 18)
    packet = copy.deepcopy(packets["A"])
    packet.contents.clear()
    packet.contents.update({f"records/{number:02}": bytes(1 << 16) for number in range(9)})
    write(packet, tmp_path)
    with pytest.raises(PacketError, match=f"records/04.xz: expected at most {1 << 18} bytes in all"):
        check(tmp_path)


def test_the_sample_of_slow_members_is_drawn_by_the_check(
    packets: dict[str, Packet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed moves of a slow member are found by some seeds, whatever else is in the packet."""
    few = replace(TINY, sample=0.05)
    monkeypatch.setitem(SUITES, "tiny", few)
    packet = copy.deepcopy(packets["A"])
    packet.values["track_digest"] = few.digest("A")
    weak = packets["weak search"].contents["records/02"].split(b"\n")
    lines = packet.contents["records/02"].split(b"\n")
    at = next(i for i, pair in enumerate(zip(lines, weak, strict=True)) if pair[0] != pair[1])
    lines[at] = weak[at]
    packet.contents["records/02"] = b"\n".join(lines)
    write(packet, tmp_path)
    found: set[bool] = set()
    for seed in itertools.count():
        if len(found) == 2:
            break
        with pytest.raises(PacketError) as caught:
            check(tmp_path, seed=seed)
        found.add("the panel's moves were changed: search" in str(caught.value))
    packet.contents.update(packets["A"].contents)
    write(packet, tmp_path)
    assert len({check(tmp_path).decisions for _ in range(4)}) > 1
    assert len({check(tmp_path, seed=1).decisions for _ in range(2)}) == 1


def test_held_out_deals_need_their_secret(packets: dict[str, Packet], tmp_path: Path) -> None:
    write(copy.deepcopy(packets["secret"]), tmp_path)
    with pytest.raises(PacketError, match="expected their secret"):
        check(tmp_path)
    with pytest.raises(PacketError, match="not the deals of this secret"):
        check(tmp_path, secret=b"another")
    write(copy.deepcopy(packets["A"]), tmp_path / "public")
    with pytest.raises(PacketError, match="not the deals of this secret"):
        check(tmp_path / "public", secret=SECRET)


# ---------------------------------------------------------------- judged decisions


def test_choices_in_judged_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    track = replace(TINY.tracks["E"], regrets=SUITES["v1"].tracks["E"].regrets)
    monkeypatch.setitem(SUITES, "tiny", replace(TINY, tracks={"E": track}))
    packet = run("heuristic", tiny("E"), tmp_path)
    figures = check(tmp_path).figures
    assert 0.05 < figures["regret"]["mean"] < 0.2
    assert replay(tmp_path, 1, jobs=1) == 16
    lines = packet.contents["choices/01"].decode().splitlines()
    for wrong, message in (
        (lines[:-1], "choices/01: expected 1000 actions"),
        ([*lines[:-1], "-1"], "choices/01: expected 1000 actions"),
        ([*lines[:-1], "9" * 30], "choices/01, line 1000: not a legal action"),
        (["0", *lines[1:]], "choices/01, line 1: not a legal action|figures.regret.mean: the packet says"),
    ):
        changed_packet = copy.deepcopy(packet)
        changed_packet.contents["choices/01"] = "".join(f"{line}\n" for line in wrong).encode()
        write(changed_packet, tmp_path)
        with pytest.raises(PacketError, match=message):
            check(tmp_path)
    with pytest.raises(ValueError, match="not the judged decisions of the suite"):
        judged_decisions("0" * 64)
