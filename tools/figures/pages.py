"""Markers of pages, and the measured numbers that no marker, exception or history explains.

<!-- figure: NAME -->what `views.VIEWS[NAME]` writes<!-- end -->
<!-- historical: NAME -->figures of the past, below a sentence with their commit and command<!-- end -->
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tools.figures.registry import HISTORICAL
from tools.figures.results import NotMeasuredError
from tools.figures.sources import ROOT
from tools.figures.views import VIEWS, historical_sentence, pages, processors

EXCEPTIONS: Final = Path(__file__).with_name("exceptions.toml")
MARK: Final = re.compile(r"<!-- (figure|historical): (\S+) -->(.*?)<!-- end -->", re.DOTALL)
_SENTENCE: Final = re.compile(r"\A\s*\*Historical: [^\n]*\n")
_CODE: Final = re.compile(
    r"^```(?:python|sh|toml|json|bash|py|yaml|record|cards).*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL
)
# A number with ±, × (a product of two sizes is none: 3 × 4), a rate, a time, a size, a share, a ratio in
# words, an amount of points, or one below 10 with three decimals or more.
_NUMBER: Final = re.compile(
    r"(?:±|\+/-|&plusmn;)\s*\**\.?\d[\d.,]*"
    r"|\.?\d[\d.,]*\s?×(?! ?[\d.])"
    r"|\.?\d[\d.,]*(?: (?:thousand|million|billion|k|M))? ?[A-Za-z]*/s(?:ec)?\b"
    r"|\.?\d[\d.,]*(?: \w+){0,2} (?:a|per) sec(?:ond)?\b"
    r"|\.?\d[\d.,]*\s?(?:ms|µs|min|milliseconds?|microseconds?|seconds?|minutes?|hours?|[kMG]i?B)\b"
    r"|\.?\d[\d.,]*[ \u00a0](?:s|h)\b"
    r"|\.?\d[\d.,]*\s?(?:%|percent\b)"
    r"|\.?\d[\d.,]*(?:x\b|-fold\b| times (?:as|\w+er)\b| bytes a \w+)"
    r"|\d*\.\d+ points\b"
    r"|(?<![\w.,])\d?\.\d{3,}|\d[\d.]*e-\d+"
)
# The level of an interval, and what equal players have: no measurement.
_LEVEL: Final = re.compile(
    r"\b95 %\s+(?:confidence\s+)?intervals?|(?:parity|equal players)[^;|\n]{0,40}?25 %|parity 1\.5 points"
)
_UNIT: Final = re.compile(r"±|/s\b|(?<!\w)ms\b")  # in the head of a column
_DIGIT: Final = re.compile(r"\d")


class Found(NamedTuple):
    """A measured number.

    Attributes:
        page: where, from the root of the repository.
        line: counted from 1.
        text: the number.
    """

    page: str
    line: int
    text: str


# ---------------------------------------------------------------- what the results say


def filled(text: str, page: str) -> str:
    """A page with what the results say between its markers; what has no result yet stays as it is.

    Raises:
        ValueError: a marker names nothing, or the README has figures of the past.
    """

    def fill(mark: re.Match[str]) -> str:
        kind, name, old = mark.groups()
        if name not in (VIEWS if kind == "figure" else HISTORICAL):
            raise ValueError(f"{page}: {mark[0][:60]!r} names no {kind}")
        if kind == "historical":
            if page == "README.md":
                raise ValueError(
                    f"README.md: {name} is historical, and the README has no figures of the past"
                )
            rest = historical_text(old)
            new = f"\n{historical_sentence(name)}\n\n{rest}\n"
        else:
            try:
                new = VIEWS[name][1]()
            except NotMeasuredError:
                return mark[0]
            new = f"\n{new}\n{processors(name)}" if "\n" in new else new
        return f"<!-- {kind}: {name} -->{new}<!-- end -->"

    return MARK.sub(fill, text)


def historical_text(old: str) -> str:
    """What stands between two historical markers, without the sentence that `filled` puts there."""
    return _SENTENCE.sub("", old).strip("\n")


def historical_digests() -> dict[str, list[str]]:
    """16 hex digits for each text between historical markers of a name, in all pages."""
    found: dict[str, list[str]] = {name: [] for name in HISTORICAL}
    for path in pages():
        for kind, name, old in MARK.findall(path.read_text(encoding="utf-8")):
            if kind == "historical":
                digest = hashlib.sha256(historical_text(old).encode()).hexdigest()[:16]
                found.setdefault(name, []).append(digest)
    return found


def has_result(kind: str, name: str) -> bool:
    """Whether what stands between these markers comes from a result, or is marked as historical."""
    if kind == "historical":
        return True
    try:
        VIEWS[name][1]()
    except NotMeasuredError:
        return False
    return True


# ---------------------------------------------------------------- what has no source


def measured(page: str, text: str) -> Iterator[Found]:
    """The measured numbers of a page outside of code and of markers that have a result."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    text = MARK.sub(lambda mark: blank(mark) if has_result(mark[1], mark[2]) else mark[0], text)
    text = _LEVEL.sub(blank, text)
    units: list[bool] = []  # of the columns of the table that a line is in
    for number, line in enumerate(_CODE.sub(blank, text).splitlines(), 1):
        cells = line.strip().strip("|").split("|") if line.lstrip().startswith("|") else []
        if not cells:
            units = []
        elif not units:
            units = [_UNIT.search(cell) is not None for cell in cells]
        columns = units if cells and len(units) == len(cells) else [False] * len(cells)
        for cell, has_unit in zip(cells, columns, strict=True) if cells else [(line, False)]:
            hits = [hit[0] for hit in _NUMBER.finditer(cell)]
            if has_unit and not hits and _DIGIT.search(cell):
                hits = [cell.strip()]
            yield from (Found(page, number, hit) for hit in hits)


def exceptions() -> list[dict[str, str]]:
    """What ``exceptions.toml`` says: page, text and reason of each."""
    found: list[dict[str, str]] = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8"))["exception"]
    return found


def without_source() -> tuple[dict[str, list[Found]], list[str]]:
    """Each page's measured numbers without a source or a reason, and what is wrong with the exceptions."""
    listed = exceptions()
    wrong = [f"exceptions.toml: {one['page']}: no reason" for one in listed if not one.get("reason")]
    found: dict[str, list[Found]] = {}
    for path in pages():
        page, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        for one in listed:
            if one["page"] != page:
                continue
            if one["text"] not in text:
                wrong.append(f"exceptions.toml: {page} does not say {one['text']!r}")
            text = text.replace(one["text"], re.sub(r"[^\n|]", " ", one["text"]))
        if numbers := list(measured(page, text)):
            found[page] = numbers
    return found, wrong


def problems() -> list[str]:
    """All that is wrong with the pages, a line each."""
    found, lines = without_source()
    for page, numbers in found.items():
        places = "; ".join(f"line {one.line}: {one.text}" for one in numbers[:60])
        lines.append(
            f"{page}: {len(numbers)} numbers without a source (see CONTRIBUTING.md, Figures): {places}"
        )
    for path in pages():
        page, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if filled(text, page) != text:
            lines.append(f"{page}: it does not say what the results say (python -m tools.figures --pages)")
    for name, digests in historical_digests().items():
        if digests != [HISTORICAL[name].digest]:
            lines.append(
                f"historical {name}: its text on the pages is {', '.join(digests) or 'nowhere'}, in "
                f"registry.py {HISTORICAL[name].digest}: what was measured then does not change"
            )
    return lines
