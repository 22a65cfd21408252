"""Texts that attack the place where they are shown; the same every time, the most different ones first.

What calls ``hit()`` or loads ``x`` succeeds if a page lets it.
"""

from __future__ import annotations

import random
from typing import Final

TEXTS: Final = (
    # HTML and its attributes
    "<script>hit()</script>",
    "<img src=x onerror=hit()>",
    '"><svg onload=hit()>',
    '" autofocus onfocus="hit()" x="',
    "' onmouseover='hit()",
    "</title></textarea></style><script>hit()</script>",
    "<details open ontoggle=hit()><iframe srcdoc='<script>parent.hit()</script>'>",
    "<math><mtext></table><img src=x onerror=hit()>",
    "<meta http-equiv=refresh content='0;url=javascript:hit()'><base href=//x>",
    "&lt;script&gt;hit()&lt;/script&gt; &#60;img src=x onerror=hit()&#62;",
    "--><script>hit()</script><!-- play --><!-- citation -->",
    # Markdown and its extensions
    "![onclick=hit()//](x)",
    "https://example.org/fD.zip#![onclick=alert(1)//](x)",
    "[x](javascript:hit()) <javascript:hit()> [x]: javascript:hit()",
    "`</code><img src=x onerror=hit()>` ``` ~~~",
    "{: onclick=hit() } { #id .class onmouseover=hit() }",
    "<x>{: onmouseover=hit() } **b** _i_ ~~s~~ ^^u^^ ==m==",
    "| a | b | \\| c \\\\",
    "[TOC] ::: tienlen_env --8<-- 'pyproject.toml' ??? note !!! note # head",
    "wzxhzdk:0 \x02wzxhzdk:0\x03 \x02klzzwxh:0001\x03 \x02amp\x03",
    "*[HTML]: x [^1] :material-cards: $x$ \\(x\\) H~2~O - [x] 1. one",
    "{{ 7*7 }} {% raw %} {# x #} {{ config.items() }}",
    # addresses
    "javascript:hit()",
    "data:text/html,<script>hit()</script>",
    'https://example.org/"onclick=hit() x',
    "https://user@example.org/\u202e//x %0d%0aSet-Cookie:x",
    # spreadsheets
    '=HYPERLINK("http://x","y")',
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r\n=1",
    ' ";=1+1',
    '","=1',
    "\uff1d1+1",
    "a;-1",
    # terminals
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31mred\x1b(0\x0e",
    "\r\x1b[Kok\x08\x08\x7f",
    "\u202eevil\u2066\u200b\u2028\u2029\ufeff",
    "\udcff\ud800\ufffe\U000e0041",
    # marks of rich, words of a shell, of a language with maps and patterns
    "[bold red]x[/] [/] [[",
    "[link=http://x]y[/link] [@click=app.quit]z[/]",
    ":pile_of_poo: :smile:",
    "$(touch x); rm -rf . | sh & `id` > x",
    "${hit()} $& $1 $` {0} {1} %s %(x)s {x!r}",
    "constructor",
    "__proto__",
    "toString hasOwnProperty",
    "yourTurn",
    # texts that people do not see, or take for others
    "",
    " ",
    "champion ",
    "\u3164\u2800\u115f",
    "\u0441hampion",
    "a" + "\u0301" * 40,
    "x" * 1000,
    "\u05d0\u05d1 <img src=x onerror=hit()> \u0627\u0644",
)


def hostile(number: int) -> list[str]:
    """So many texts: the above, then mixtures of their parts."""
    draw, found = random.Random(43), list(TEXTS[:number])
    while len(found) < number:
        parts = [draw.choice(TEXTS) for _ in range(draw.choice((2, 2, 3, 4)))]
        cut = [part[draw.randrange(len(part) // 2 + 1) :][: draw.choice((20, 60, 400))] for part in parts]
        found.append(draw.choice(("", " ", "|", "<", '"', "\n", "](", ";")).join(cut))
    return found
