"""Texts of strangers in languages whose signs they may hold: one function for each language.

Names, addresses, records, the words of a program: whoever shows one calls the function of the place where it
is shown. No text is trusted because an earlier place has looked at it.

    printable       a line in a terminal, a log or an error
    READABLE        an encoding that lacks some signs, such as ASCII (``str.encode(encoding, READABLE)``)
    markup          HTML, an attribute in HTML, and both inside Markdown
    spreadsheet     a cell of a CSV file
    is_plain        whether people see all of a name, and cannot take it for another one
    is_web_address  whether a text is the address of a file in the web
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import Final


def printable(text: str) -> str:
    """The text on one line: control characters would break a terminal, and are not allowed in XML."""
    return "".join(c if c.isprintable() else " " for c in text)


READABLE: Final = "tienlen_readable"  # an error handler: cards as 3s, lines as -, letters without their marks
_ASCII: Final = {
    "♠": "s", "♣": "c", "♦": "d", "♥": "h", "▒": "#", "►": ">", "▲": "^", "▼": "v", "─": "-", "━": "-",
    "·": "-", "–": "-", "—": "-", "−": "-", "×": "x", "±": "+-", "→": "->", "≥": ">=", "≤": "<=", "µ": "u",
    "½": "1/2", "đ": "d", "Đ": "D", "’": "'", "“": '"', "”": '"',
}  # fmt: skip


def _readable(error: UnicodeError) -> tuple[str, int]:
    """What an encoding lacks, in ASCII; a sign without a form in ASCII becomes an escape."""
    assert isinstance(error, UnicodeEncodeError)
    found = []
    for sign in error.object[error.start : error.end]:
        base = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()  # e of ế
        found.append(_ASCII.get(sign) or base or sign.encode("ascii", "backslashreplace").decode())
    return "".join(found), error.end


codecs.register_error(READABLE, _readable)


def markup(text: str) -> str:
    """The text in HTML or Markdown, between tags or between the quotes of an attribute.

    Every sign but letters, digits and single blanks becomes a reference (``&#42;``): no extension of Markdown
    finds a sign of its own, and a browser shows and follows what was written.
    """
    return re.sub(r"[^\w ]|_|(?<= ) ", lambda sign: f"&#{ord(sign[0])};", printable(text))


# What begins with one of these is a formula, also after blanks, quotes, and the semicolon that divides cells
# where the comma is the decimal sign. Spreadsheets read the wide forms of these signs, too.
_FORMULA: Final = re.compile(r"(?:^|;)[\s\"']*(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def spreadsheet(text: str) -> str:
    """The text for a cell of a CSV file, with a ``'`` before what a spreadsheet would take for a formula."""
    return _FORMULA.sub(r"\g<0>'", printable(text))


# Letters without a picture, and marks that only choose the form of the sign before them.
_INVISIBLE: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_ALPHABETS: Final = {"LATIN", "GREEK", "CYRILLIC"}  # whose letters look like one another's


def is_plain(text: str) -> bool:
    """Whether people see all of a text, and cannot take it for another one.

    It is not empty, has no blank at its ends or beside another one, no sign without a picture, at most two
    accents on a letter, one form of each letter (NFC), and no word of two of the alphabets that look alike.
    """
    accents = "".join("^" if unicodedata.combining(c) else " " for c in text)
    return (
        text != ""
        and text.isprintable()
        and text == " ".join(text.split())
        and not _INVISIBLE.search(text)
        and unicodedata.is_normalized("NFC", text)
        and "^^^" not in accents
        and all(len(_alphabets(word)) <= 1 for word in re.findall(r"[^\W\d_]+", text))
    )


def _alphabets(word: str) -> set[str]:
    """Those of `_ALPHABETS` that a word has letters of."""
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & _ALPHABETS


_WEB_ADDRESS: Final = re.compile(
    r"https://(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
    r"(?::[1-9][0-9]{0,4})?/(?:[A-Za-z0-9._~/?&=+,;:@-]|%[0-9A-Fa-f]{2})*"
)
WEB_ADDRESS: Final = (
    "expected an address that begins with https://, then the name of a host, and a path of letters, digits "
    "and ._~/?&=+,;:@- (other signs as %21)"
)


def is_web_address(text: object) -> bool:
    """Whether a value is an address as `WEB_ADDRESS` says: no user, no fragment, no number as the host."""
    return isinstance(text, str) and len(text) <= 2000 and _WEB_ADDRESS.fullmatch(text) is not None
