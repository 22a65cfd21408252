"""How the texts of agents are written: what is an option, and quotes around what has a separator in it."""

from __future__ import annotations

import re
from typing import Annotated, Final

# The type of an argument that keeps its quotes, since its words are split as by a shell.
ShellWords = Annotated[str, "shell"]

OPTION: Final = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_COMMA, _BLANKS = (re.compile(rf"{_QUOTED.pattern}|({separator})") for separator in (",", r"\s+"))


def _split(text: str, separator: re.Pattern[str]) -> list[str]:
    """The parts of a text; what stands in double quotes is not divided."""
    cuts = [found.span() for found in separator.finditer(text) if found[1] is not None]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def items_of(text: str) -> list[str]:
    """The arguments and options of an agent, which commas separate, as they are written."""
    return _split(text, _COMMA)


def unquoted(text: str) -> str:
    """An argument or a value without its quotes."""
    return text[1:-1].replace('""', '"') if _QUOTED.fullmatch(text) else text


def split_list(text: str) -> list[str]:
    """The texts of a list, which blanks separate; double quotes stand around what has a blank in it.

    >>> split_list('heuristic "policy:my runs/a.zip" policy:"my runs/a,b.zip",sample=1')
    ['heuristic', 'policy:my runs/a.zip', 'policy:"my runs/a,b.zip",sample=1']
    """
    return [unquoted(part) for part in _split(text, _BLANKS) if part]


def quoted(text: str, *, in_list: bool = True) -> str:
    """An argument or a value as `load` reads it: in double quotes where that is needed.

    Args:
        text: the argument.
        in_list: `split_list` shall read it, too, which divides at blanks.
    """
    is_plain = not (set(',"') & set(text) or OPTION.fullmatch(text) or (in_list and text.split() != [text]))
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def files_in(text: str) -> set[str]:
    """What may be the path of a file in the text of an agent: its words, its arguments and what is quoted."""
    words = {*re.findall(r"[^\s,:=]+", text), *map(unquoted, _QUOTED.findall(text))}
    parts = _split(text, _COMMA)
    return words | {part[colon.end() :] for part in parts for colon in re.finditer(":", part)}
