"""The leaderboard: a row of each packet as JSON, and the tables in Markdown that `make docs` makes of them.

A rank is one more than the number of agents that are proven better on the same deals (95 % interval of the
paired difference), so agents that the track cannot tell apart share it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from tienlen_agents.files import read_json, refusing, write_atomic
from tienlen_env.errors import check_word
from tienlen_env.texts import WEB_ADDRESS, is_web_address, markup, printable
from tienlen_suite.checking import SUITES
from tienlen_suite.figures import difference
from tienlen_suite.packet import (
    MAX_JSON,
    MAX_LINE,
    UNITS,
    VALUES,
    Packet,
    PacketError,
    check_declaration,
    problem_of,
    read_file,
)
from tienlen_suite.table import Track

LEVELS: Final = ("community", "replayed", "official")
NUM_GAMES: Final = 3
PLUS_MINUS: Final = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"  # a cell does not break there
LEAST: Final = 0.001  # units that are shown
KEYS: Final = {"level", "url", "units", "games", "packet"}


def entry_of(packet: Packet, level: str, url: str) -> dict[str, Any]:
    """The row of a packet.

    Args:
        packet: checked.
        level: of trust.
        url: where the packet can be read; empty if it can be made again by a command.

    Raises:
        PacketError: a quick packet, or another level or kind of address.
    """
    entry = {
        "level": level,
        "url": url,
        "units": packet.run["units"],
        "games": _three(packet),
        "packet": {**packet.values, "digest": packet.digest},
    }
    with refusing("row", PacketError):
        _check(entry)
    return entry


def _three(packet: Packet) -> list[str]:
    """Records of the first, the middle and the last table, each of another deal."""
    names = sorted(name for name in packet.contents if name.startswith("records"))
    found = []
    for number in range(NUM_GAMES if names else 0):
        lines = packet.contents[names[number * (len(names) - 1) // 2]].decode().splitlines()
        found.append(lines[number * (len(lines) - 1) // packet.values["figures"]["num_deals"]])
    return found


def _check(entry: Any) -> None:
    """Refuse what is not a row, or cannot be shown.

    Raises:
        ValueError: what is wrong; other errors for values of another kind.
    """
    if not isinstance(entry, dict) or set(entry) != KEYS or not isinstance(entry["packet"], dict):
        raise ValueError(f"expected the keys {', '.join(sorted(KEYS))}")
    values, games = entry["packet"], entry["games"]
    if problem := problem_of(values, VALUES):
        raise ValueError(f"packet: {problem}")
    if values["quick"]:
        raise ValueError("a quick packet has no rank")
    check_word("level", entry["level"], LEVELS)
    if entry["url"] != "" and not is_web_address(entry["url"]):
        raise ValueError(f"url: {WEB_ADDRESS}")
    suite = SUITES.get(values["suite"])
    if suite is None or values["track"] not in suite.tracks:
        raise ValueError("packet: of an unknown suite or track")
    track = suite.tracks[values["track"]]
    if suite.digest(track.name) != values["track_digest"]:
        raise ValueError("packet: track_digest: not that of the suite")
    if values["budget"] not in suite.budgets or entry["units"] not in UNITS:
        raise ValueError(f"budget, units: expected one of {list(suite.budgets)}, and a time")
    if not isinstance(games, list) or len(games) > NUM_GAMES or not all(map(_is_record, games)):
        raise ValueError(f"games: expected at most {NUM_GAMES} records")
    packet = Packet({key: value for key, value in values.items() if key != "digest"}, {}, {})
    if packet.digest != values["digest"]:
        raise ValueError("packet: it does not match its digest")
    check_declaration(values)
    figures = values["figures"]
    deals = figures["deals"] if track.kind != "nash_conv" else []
    if len(deals) != track.num_deals or not all(type(score) in (int, float) for score in deals):
        raise ValueError(f"packet: figures.deals: expected {track.num_deals} numbers")
    _cells(track, 1, entry, entry, "")
    list(_payoffs(track, [entry]))


def _is_record(text: object) -> bool:
    return isinstance(text, str) and len(text) <= MAX_LINE and text.isprintable()


def write_entry(path: Path, entry: dict[str, Any]) -> None:
    """Write a row.

    Raises:
        OSError: it cannot be written.
    """
    write_atomic(path, json.dumps(entry, sort_keys=True).encode() + b"\n")


def read_entry(path: Path) -> dict[str, Any]:
    """A row.

    Raises:
        PacketError: the file is not a row; it is named.
        OSError: it cannot be read.
    """
    data = read_file(path, path.name, MAX_JSON)
    with refusing(path.name, PacketError):
        entry: dict[str, Any] = read_json(data)
        _check(entry)
    return entry


def read_entries(folder: Path) -> list[dict[str, Any]]:
    """The rows in a folder, by their files' names. The file held-out.txt has the hashes of secret seeds.

    Raises:
        PacketError: a file that is not a row, one of held-out deals of another seed, or a second row of an
            agent in a track; it is named.
    """
    found, hashes = {}, folder / "held-out.txt"
    known = {"", *(hashes.read_text(encoding="utf-8").split() if hashes.exists() else ())}
    for path in sorted(folder.glob("*.json")):
        entry = read_entry(path)
        values = entry["packet"]
        if values["held_out"] not in known:
            raise PacketError(f"{path.name}: held_out: not a seed in held-out.txt")
        key = (values["suite"], values["track"], values["held_out"], _name(entry))
        if key in found:
            raise PacketError(f"{path.name}: a second row of {_name(entry)!r} in track {values['track']}")
        found[key] = entry
    return list(found.values())


def _name(entry: dict[str, Any]) -> str:
    name: str = entry["packet"]["declaration"]["name"]
    return name


def ranks(track: Track, entries: Sequence[dict[str, Any]]) -> list[int]:
    """The rank of each row of a track."""
    if track.kind == "nash_conv":
        scores = [entry["packet"]["figures"]["score"]["mean"] for entry in entries]
        return [1 + sum(other < score for other in scores) for score in scores]
    packets = [Packet(entry["packet"], {}, {}) for entry in entries]
    return [
        1 + sum(difference(other, own).verdict(0.0) == "above" for other in packets if other is not own)
        for own in packets
    ]


def leaderboard(entries: Sequence[dict[str, Any]], explorer: str = "play/index.html") -> str:
    """The tables of all tracks in Markdown.

    Args:
        entries: the rows.
        explorer: address of the page that shows a record; empty: games are not linked.
    """
    parts = []
    for suite in SUITES.values():
        for track in suite.tracks.values():
            mine = [
                e for e in entries if (e["packet"]["suite"], e["packet"]["track"]) == (suite.name, track.name)
            ]
            shown = [entry for entry in mine if not entry["packet"]["held_out"]]
            if not shown:
                continue
            held_out = {_name(entry): entry for entry in mine if entry["packet"]["held_out"]}
            sign = 1 if track.kind == "nash_conv" else -1
            order = sorted(
                zip(ranks(track, shown), shown, strict=True),
                key=lambda row: (row[0], sign * row[1]["packet"]["figures"]["score"]["mean"]),
            )
            rows = [_cells(track, *row, held_out.get(_name(row[1])), explorer) for row in order]
            parts.append(f"### Track {track.name}: {track.title}")
            parts.append(f"Suite {suite.name}. Score: {_SCORES[track.kind]}.")
            parts.append(_table([list(rows[0]), *(list(row.values()) for row in rows)]))
            if len(track.tables) > 1:
                parts.append(f'??? note "Track {track.name}: payoffs, table by table"')
                parts.append(_table(_payoffs(track, [entry for _, entry in order]), "    "))
    return "\n\n".join(parts) or "No packets yet."


_SCORES: Final = {
    "points": "points a round, the mean over the tables",
    "normalised": "0 is `random`, 1 the rule-based agent among its like; the mean over the tables, 0 where "
    "the agent does not play",
    "nash_conv": "NashConv, the mean over the games; 0 is an equilibrium, less is better",
    "endings": "points a round; blunders in 100 solved endgames and mean regret beside it",
}


def _cells(
    track: Track, rank: int, entry: dict[str, Any], held_out: dict[str, Any] | None, explorer: str
) -> dict[str, str]:
    """The cells of a row, by the titles of their columns."""
    values, units = entry["packet"], entry["units"]
    found, declared = values["figures"], values["declaration"]
    about = "; ".join(declared[key] for key in ("authors", "licence", "kind", "training", "hardware"))
    more = {}
    if track.kind == "points":
        more["rating"] = _shown(found["ratings"]["agent"], 2)
    if track.kind == "endings":
        more["blunders"] = _shown(found["tables"][0].get("blunders_per_100"), 2)
        more["regret"] = _shown(found.get("regret"))
    return {
        "rank": str(rank),
        "agent": f'<span title="{markup(about)}">{markup(_name(entry))}</span>',
        "score": _shown(found["score"]),
        **more,
        "held-out": _gap(found["score"], held_out),
        "units": f"{units:.2g}" if units >= LEAST else f"< {LEAST}",
        "class": f"≤ {values['budget']:g}" if values["budget"] else "no limit",
        "trust": markup(entry["level"]),
        "tries": markup(declared["attempts"]),
        "games": _games(entry, explorer),
        "packet": _link(entry),
    }


def _payoffs(track: Track, entries: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """The result of each agent at each table, below their names."""
    yield ["table", *(markup(_name(entry)) for entry in entries)]
    for number, table in enumerate(track.tables):
        results = [entry["packet"]["figures"]["tables"][number] for entry in entries]
        yield [markup(table.title), *map(_result, results)]


def _result(row: dict[str, Any]) -> str:
    if "nash_conv" in row:
        return f"{row['nash_conv']:.4f}"
    return _shown(row.get("points", row.get("units")), 2)


def _table(rows: Iterable[Sequence[str]], indent: str = "") -> str:
    first, *others = rows
    lines = [first, ["---"] * len(first), *others]
    return "\n".join(f"{indent}| {' | '.join(cells)} |" for cells in lines)


def _shown(value: dict[str, float] | None, digits: int = 3) -> str:
    if value is None:
        return "–"
    half = value["half_width"]
    return f"{value['mean']:.{digits}f}" + (f"{PLUS_MINUS}{half:.{digits}f}" if half else "")


def _gap(score: dict[str, float], held_out: dict[str, Any] | None) -> str:
    """The score on held-out deals less that on the published ones, which are independent."""
    if held_out is None:
        return "–"
    other = held_out["packet"]["figures"]["score"]
    half = math.hypot(score["half_width"], other["half_width"])
    return f"{other['mean'] - score['mean']:+.3f}{PLUS_MINUS}{half:.3f}"


def _games(entry: dict[str, Any], explorer: str) -> str:
    if not explorer or not entry["games"]:
        return "–"
    links = (
        f'<a href="{explorer}#record={quote(printable(record), safe="")}">{number}</a>'
        for number, record in enumerate(entry["games"], start=1)
    )
    return " ".join(links)


def _link(entry: dict[str, Any]) -> str:
    """The beginning of a packet's digest; the whole one as the title."""
    digest, url = entry["packet"]["digest"], entry["url"]
    tag, link = ("a", f' href="{markup(url)}"') if is_web_address(url) else ("span", "")
    return f'<{tag}{link} title="SHA-256 {digest}">{digest[:8]}</{tag}>'
