"""Generated parts of the site, for mkdocs (`hooks` in mkdocs.yml).

Every build generates some pages from the code, and replaces seven things in the others:

* ``cards`` blocks, examples of the rules, one per line: ``5c 5h beats 5s 5d``, ``3s 4h 5d is a run of 3``.
  The engine checks them under the preset after the word (``cards foicica``); a wrong example fails the build.
* ``record`` blocks, a line of `Round.record`: a picture of the table after the last play.
* ``<!-- section: README.md # Speed -->``: that section of a file, so that every figure is written once;
  ``# intro`` is its text before the first picture.
* ``<!-- code: tests/high_card.py # the game -->``: that part of a Python file, between two ruler comments.
* ``<!-- citation -->``: CITATION.cff as BibTeX.
* ``<!-- leaderboard -->``: the tables of the rows in leaderboard/.
* ``<!-- play -->``: a button that opens the table, or leads to its page if `make web` has not built it.

The site's own address is unknown here. SITE_URL in the environment names it; the page for addresses that do
not exist needs it for its links if the site is not at the root of its server.
"""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
import posixpath
import re
import shutil
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tienlen_env import PRESETS, Round
from tienlen_env.engine.batch import Batch
from tienlen_env.envs import thirteens as thirteens_aec, tienlen as aec
from tienlen_env.errors import IllegalPlayError, InvalidComboError, TienLenError
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.game import Piece
from tienlen_env.games.thirteens import actions as thirteens_actions, observe
from tienlen_env.games.thirteens.rules import MAX_PLAYERS, MIN_PLAYERS, ThirteensRules
from tienlen_env.games.tienlen.actions import build_action_table, kind_name
from tienlen_env.games.tienlen.fields import PAYMENT_CONSTRAINTS
from tienlen_env.games.tienlen.layout import observation_layout
from tienlen_env.games.tienlen.rules import CONSTRAINTS, Payments, Rules, Shape, get_rules
from tienlen_env.rendering import render_cards, render_svg
from tienlen_suite.page import leaderboard, read_entries

ROOT = Path(__file__).parents[2]

# ---------------------------------------------------------------- drawings

WIDTH = 680  # of an example
_EXAMPLE = re.compile(r"(.+?) (beats|does not beat|is an?|is) (.+)")
_FENCE = re.compile(r"^```(cards|record)[ ]?(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw_fences(markdown: str) -> str:
    """The page with its ``cards`` and ``record`` blocks drawn.

    Raises:
        TienLenError: a wrong example.
    """

    def drawing(block: re.Match[str]) -> str:
        kind, preset, text = block.groups()
        if kind == "record":
            return _figure("table", render_svg(Round.from_record(text.strip()).view()))
        lines = text.strip().splitlines()
        figures = "".join(_figure("cards", example(line, preset or "cardgames")) for line in lines)
        return f"<div>{figures}</div>"

    return _FENCE.sub(drawing, markdown)


_SECTION = re.compile(r"^<!-- section: (\S+) # (.+) -->$", re.MULTILINE)
_CODE = re.compile(r"^<!-- code: (\S+) # (.+) -->$", re.MULTILINE)


def insert_code(markdown: str) -> str:
    """The page with parts of Python files, from a ruler comment with that title to the next ruler.

    Raises:
        TienLenError: the file has no such part.
    """

    def part(wanted: re.Match[str]) -> str:
        name, title = wanted.groups()
        text = (ROOT / name).read_text(encoding="utf-8")
        found = re.search(
            rf"^# -+ {re.escape(title)}\n(.*?)(?=^# -{{9,}} |\Z)", text, re.MULTILINE | re.DOTALL
        )
        if found is None:
            raise TienLenError(f"{name} has no part {title!r}")
        return f"```python\n{found[1].strip()}\n```"

    return _CODE.sub(part, markdown)


_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)([^)]+)\)")
_CARDS = "agents/tienlen_agents/networks/weights"
MODEL_CARDS = ("tienlen-general-v5", "tienlen-general-v4", "cardgames-medium-v5", "thirteens-small-v1")
# Files of the repository that are pages of the site. Those under docs/ have their own path.
_PAGES = {
    "tienlen_env/RULES.md": "rules/clauses.md",
    "tienlen_env/envs/tienlen.py": "environments/tienlen.md",
    "tienlen_env/envs/thirteens.py": "environments/thirteens.md",
    "agents/tienlen_agents/external/PROTOCOL.md": "protocol.md",
    **{f"{_CARDS}/{name}.md": f"model-cards/{name}.md" for name in MODEL_CARDS},
    **{str(path.relative_to(ROOT)): f"notebooks/{path.stem}.md" for path in ROOT.glob("notebooks/*.ipynb")},
}


def insert_sections(markdown: str, page: str = "index.md") -> str:
    """The page with its sections of other files inserted, without their headings.

    Args:
        markdown: the text of the page.
        page: its path on the site.

    Raises:
        TienLenError: the file has no such section.
    """

    def section(wanted: re.Match[str]) -> str:
        name, title = wanted.groups()
        text = (ROOT / name).read_text(encoding="utf-8")
        pattern = r"^# .*?\n(.*?)(?=^!)" if title == "intro" else rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)"
        found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise TienLenError(f"{name} has no section {title!r}")
        return for_site(found[1], page).strip()

    return _SECTION.sub(section, markdown)


def for_site(text: str, page: str) -> str:
    """A text of the repository for a page of the site: links to files outside the site become names."""

    def link(found: re.Match[str]) -> str:
        words, target = found.groups()
        path, sign, anchor = re.sub(r"^(\.\./)+", "", target).partition("#")
        if not path:
            return found[0]
        on_site = path.removeprefix("docs/") if path.startswith("docs/") else _PAGES.get(path)
        if on_site:
            up = "../" * page.count("/")
            return f"[{words}]({up}{on_site}{sign}{anchor})"
        return f"`{path}`" if words == path else f"{words} (`{path}`)"

    return _LINK.sub(link, text)


def links_out_of_docs(markdown: str, page: str) -> str:
    """A page of docs/ for the site: links to other folders of the repository as in `for_site`."""

    def link(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), found[2]))
        return found[0] if path.startswith("docs/") else for_site(f"[{found[1]}]({path})", page)

    return _LINK.sub(link, markdown)


def _figure(kind: str, svg: str) -> str:
    return f'<figure class="tienlen-{kind}">{svg.strip()}</figure>'.replace("\n", "")


def example(line: str, preset: str) -> str:
    """The SVG of one example, checked.

    Args:
        line: ``CARDS beats CARDS``, ``CARDS does not beat CARDS``, ``CARDS is a KIND`` or ``CARDS is
            nothing``.
        preset: the rules of the example.

    Raises:
        TienLenError: a wrong or malformed example.
    """
    words = _EXAMPLE.fullmatch(line.strip())
    if words is None:
        raise TienLenError(f"not a valid example: {line!r}")
    left, verb, right = words.groups()
    kind = combination(left, preset)
    if verb.startswith("is"):
        if kind != right:
            raise TienLenError(f"{left} is {kind}, not {right} ({preset})")
        return render_cards([(left, "no combination" if kind == "nothing" else kind)], width=WIDTH)
    if (verb == "beats") != beats(left, right, preset):
        raise TienLenError(f"wrong under {preset}: {line}")
    return render_cards([(left, kind), (0, verb), (right, combination(right, preset))], width=WIDTH)


def combination(cards: str, preset: str) -> str:
    """The combination of some cards: ``"pair"``, ``"run of 4"``, or ``"nothing"``."""
    table = build_action_table(get_rules(preset))
    try:
        shape = table.shape(table.classify(parse_cards(cards)))
    except InvalidComboError:
        return "nothing"
    return f"{kind_name(shape)} of {shape.num_cards}" if shape.length > 1 else kind_name(shape)


def beats(over: str, under: str, preset: str) -> bool:
    """Whether one combination may be played on another, by playing them.

    Raises:
        TienLenError: one of them is not a combination, or a card is in both.
    """
    masks = [parse_cards(under), parse_cards(over)]
    spare = [card for card in (1 << i for i in range(52)) if not card & (masks[0] | masks[1])]
    # One more card in each hand, so that the round continues after both plays.
    hands = [mask | card if mask.bit_count() < 13 else mask for mask, card in zip(masks, spare, strict=False)]
    position = Round.from_hands(preset, hands, leader=0)
    position.play(under)
    try:
        position.play(over)
    except IllegalPlayError:
        return False
    return True


# ---------------------------------------------------------------- generated pages


def environment_page() -> str:
    """The page of the PettingZoo environment: its docstring, then the tables of every preset."""
    return "\n".join(
        [*_from_docstring("Tiến lên", aec.__doc__ or ""), *_spaces(), *_strip(), *_presets(), *_tabs()]
    )


def tienlen_tables(rules: str | Rules = "cardgames") -> dict[str, str]:
    """The tables of the environment's docstring, also for other rules.

    Args:
        rules: the variant of the tables ``"observation"`` and ``"actions"``; ``"sizes"`` has all presets.
    """
    rules = get_rules(rules)
    batch = Batch(rules, backend="python")
    table = build_action_table(rules)
    kinds: dict[str, tuple[list[int], list[int]]] = {}
    for (shape, _), ids in table.group.items():
        found_ids, cards = kinds.setdefault(kind_name(Shape(*shape)), ([], []))
        found_ids += ids
        cards.append(shape.num_cards)
    actions = ["| 0 | pass | 0 |"]
    for kind, (found_ids, cards) in kinds.items():
        size = f"{cards[0]}..{cards[-1]}" if len(cards) > 1 else f"{cards[0]}"
        actions.append(f"| {found_ids[0]}..{found_ids[-1]} | {kind} | {size} |")
    sizes = []
    for name in PRESETS:
        lengths = ", ".join(str(observation_layout(get_rules(name, p), 0).size) for p in (2, 3, 4))
        sizes.append(f"| {name} | {build_action_table(get_rules(name)).num_actions} | {lengths} |")
    return {"observation": observation_rows(batch), "actions": "\n".join(actions), "sizes": "\n".join(sizes)}


def _thirteens(**changes: Any) -> ThirteensRules:
    return dataclasses.replace(ThirteensRules(), **changes)


def thirteens_tables() -> dict[str, str]:
    """The tables of the environment's docstring; a test compares them."""
    table = thirteens_actions.build_action_table(_thirteens(melding="manual"))
    actions = [f"| 0..{table.num_cards - 1} | the card of that id |"]
    actions.append(f"| {table.num_cards} | end: meld no more of this trick |")
    first = table.num_cards + 1
    for kind, melds in groupby(table.melds, key=lambda meld: meld.kind):
        found = list(melds)
        last = first + len(found) - 1
        actions.append(f"| {first}..{last} | {kind}: {table.text(first)} to {table.text(last)} |")
        first = last + 1
    sizes = []
    for melding in ("auto", "manual"):
        for jokers in range(3):
            rules = [
                _thirteens(num_players=p, jokers=jokers, melding=melding)
                for p in range(MIN_PLAYERS, MAX_PLAYERS + 1)
            ]
            lengths = ", ".join(str(observe.observation_layout(r, 0).size) for r in rules)
            num_actions = Batch(rules[0], backend="python").num_actions
            sizes.append(f"| {melding} | {jokers} | {num_actions} | {lengths} |")
    return {
        "observation": observation_rows(Batch(_thirteens(), backend="python")),
        "actions": "\n".join(actions),
        "sizes": "\n".join(sizes),
    }


def observation_rows(batch: Batch) -> str:
    """The table of the pieces of an observation, for an environment's page."""
    return "\n".join(
        f"| {p.name} | {p.slice.start}:{p.slice.stop} | {p.shape} | {p.meaning} |"
        for p in batch.layout.values()
    )


def _from_docstring(title: str, text: str) -> Iterator[str]:
    """The docstring in Markdown: underlined words become headings, the example a Python block."""
    lines = inspect.cleandoc(text).splitlines()
    yield from (f"# {title}", "")
    is_code = False
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith((">>>", "...")) != is_code:
            is_code = not is_code
            yield "```python" if is_code else "```"
        if is_code:
            yield line[4:]
        elif after and not after.strip("-") and line:
            yield f"## {line.rstrip(':')}"
        elif line.strip("-") or not line:
            yield line


def _spaces() -> Iterator[str]:
    yield from ("", "## Spaces", "")
    yield "Generated from the code. Results are comparable only within one version, the `vN` of the name."
    yield from (
        "",
        "| rules | players | `observation` | `action_mask` | actions | `state()` |",
        "|---|---|---|---|---|---|",
    )
    for name in PRESETS:
        for num_players in (2, 3, 4):
            env = aec.raw_env(name, num_players=num_players)
            space = env.observation_space("player_0")
            boxes = (space["observation"], space["action_mask"], env.state_space)
            observation, mask, state = (f"{box.dtype} {box.shape}" for box in boxes)
            actions = env.action_space("player_0")
            yield f"| {name} | {num_players} | {observation} | {mask} | {actions} | {state} |"


def _strip() -> Iterator[str]:
    yield from ("", "## The observation as a strip", "")
    yield "Every piece at its position, with four players and `cardgames`. The tables below explain them."
    pieces = list(observation_layout(get_rules()).values())
    yield from ("", _figure("strip", strip_svg(pieces) + strip_legend(pieces)))


def strip_svg(pieces: list[Piece]) -> str:
    """The layout drawn as bars over lines of 104 numbers: two hands wide."""
    per_line, unit, high, gap = 104, 7, 24, 8
    size = pieces[-1].slice.stop
    parts = []
    for index, piece in enumerate(pieces):
        at = piece.slice.start
        while at < piece.slice.stop:
            line, column = divmod(at, per_line)
            length = min(piece.slice.stop - at, per_line - column)
            box = f'x="{column * unit}" y="{line * (high + gap)}" width="{length * unit - 1}" height="{high}"'
            title = f"<title>{piece.name} {_place(piece)} {piece.shape}: {piece.meaning}</title>"
            parts.append(f'<rect {box} rx="2" fill="{_colour(index)}">{title}</rect>')
            at += length
    height = -(-size // per_line) * (high + gap)
    box = f'viewBox="0 0 {per_line * unit} {height}" role="img" aria-label="observation layout"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} fill="currentColor">{"".join(parts)}</svg>'


def strip_legend(pieces: list[Piece]) -> str:
    """The colour, the name and the place of every piece, as HTML."""
    items = (
        f'<li><span style="background: {_colour(index)}"></span> '
        f"{piece.name} <small>{_place(piece)}</small></li>"
        for index, piece in enumerate(pieces)
    )
    return f"<ul>{''.join(items)}</ul>"


def _colour(index: int) -> str:
    return f"hsl({index * 47 % 360} 55% 50%)"


def _place(piece: Piece) -> str:
    return f"{piece.slice.start}:{piece.slice.stop}"


HOW_TO_READ = """
`AxB` is a shape: B ranks in a row with A cards of each. So `2x3` is three pairs in a row, `4x1` a quad,
`1x5` a run of five cards. `set_run_min` has the fewest ranks of sequences of pairs, of triples and of
quads; 0 means none. `chops` has after each number of 2s the shapes that beat them: `1: 4x1
2x3` says that a quad or three pairs in a row beat a single 2. `ladder` lists bombs, the weakest first. Two
prices are for a black and for a red 2; after a shape stands its price. Amounts are half stakes in `south` and
`south_winner`, cards in `south_count` and `north`. "–" is an empty list: of `points`, the usual 3, 2, 1, 0.
"""


def _presets() -> Iterator[str]:
    yield from ("", "## The presets, field by field", *HOW_TO_READ.splitlines(), "")
    names = list(get_rules().flat())
    cells = {name: [_cell(rules.flat()[name]) for rules in PRESETS.values()] for name in names}
    without = [not rules.has_payments for rules in PRESETS.values()]

    def is_shared(name: str) -> bool:
        return len({cell for cell, plain in zip(cells[name], without, strict=True) if plain}) == 1

    of_payments = [name for name in names if is_shared(name) and len(set(cells[name])) > 1]
    everywhere = [name for name in names if len(set(cells[name])) == 1]
    rest = [name for name in names if name not in of_payments and name not in everywhere]
    yield "| field | " + " | ".join(f"`{name}`" for name in PRESETS) + " |"
    yield "|---" * (1 + len(PRESETS)) + "|"
    for name in rest:
        yield f"| `{name}` | " + " | ".join(cells[name]) + " |"
    yield "| digest | " + " | ".join(f"`{rules.digest()}`" for rules in PRESETS.values()) + " |"
    paying = [name for name, rules in PRESETS.items() if rules.has_payments]
    yield from ("", "These differ only in the presets with payments:", "")
    yield "| field | others | " + " | ".join(f"`{name}`" for name in paying) + " |"
    yield "|---" * (2 + len(paying)) + "|"
    for name in of_payments:
        shown = [cells[name][without.index(True)]]
        shown += [cell for cell, plain in zip(cells[name], without, strict=True) if not plain]
        yield f"| `{name}` | " + " | ".join(shown) + " |"
    yield from ("", "These are the same in all presets:", "", "| field | value |", "|---|---|")
    yield from (f"| `{name}` | {cells[name][0]} |" for name in everywhere)
    yield from ("", "What each field means:", "", "| field | meaning |", "|---|---|")
    yield from (f"| `{name}` | {meaning} |" for name, meaning in _meanings().items())
    yield from _constraints()


def _meanings() -> dict[str, str]:
    """The fields of `Rules` and of its `payments`, and what their docstrings say of each."""
    found: dict[str, str] = {}
    for kind in (Rules, Payments):
        part = (inspect.getdoc(kind) or "").split("Attributes:\n", 1)[1].split("\n\n", 1)[0]
        found.update(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", part, re.MULTILINE))
    return {name: " ".join(meaning.replace("``", "`").split()) for name, meaning in found.items()}


def _constraints() -> Iterator[str]:
    """What `Rules` checks, with the words of its errors."""
    yield from ("", "What must hold, as the errors say it:", "", "| field | expected |", "|---|---|")
    yield from (f"| `{name}` | {expected} |" for name, _, expected in (*CONSTRAINTS, *PAYMENT_CONSTRAINTS))


def _tabs() -> Iterator[str]:
    yield from ("", "## Actions and observation of each preset", "")
    for name in PRESETS:
        tables = tienlen_tables(name)
        page = f"""
| ids | combination | cards |
|---|---|---|
{tables["actions"]}

| piece | slice | shape | meaning |
|---|---|---|---|
{tables["observation"]}
"""
        yield f'=== "{name}"'
        yield from ("    " + line for line in page.splitlines())
        yield ""


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple) and not isinstance(value[0], Shape):
            return "; ".join(f"{key}: {_cell(found)}" for key, found in value)
        return (" " if value and isinstance(value[0], Shape) else ", ").join(map(str, value)) or "–"
    return str(value)


def generated_pages() -> dict[str, str]:
    """Path on the site to Markdown, of every generated page."""
    cards = {
        f"model-cards/{name}.md": for_site(
            (ROOT / _CARDS / f"{name}.md").read_text(encoding="utf-8"), f"model-cards/{name}.md"
        ).replace("\n```\n", "\n``` { .text .wrap }\n", 1)
        for name in MODEL_CARDS
    }
    return cards | {
        "environments/tienlen.md": environment_page(),
        "environments/thirteens.md": "\n".join(_from_docstring("Thirteens", thirteens_aec.__doc__ or "")),
        "rules/clauses.md": (ROOT / "tienlen_env" / "RULES.md").read_text(encoding="utf-8"),
        "protocol.md": for_site(
            (ROOT / "agents" / "tienlen_agents" / "external" / "PROTOCOL.md").read_text(encoding="utf-8"),
            "protocol.md",
        ).replace("\n```\n> {", "\n``` { .text .wrap }\n> {"),  # its lines are longer than any page is wide
    }


# ---------------------------------------------------------------- version and citation


def project() -> tuple[str, str]:
    """The version and the public address of the project, empty if it has none; from pyproject.toml."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address: str = found["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    return found["project"]["version"], address


def citation() -> str:
    """CITATION.cff as a block of BibTeX."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(\S+): \"?(.*?)\"?$", text, re.MULTILINE))
    author = re.search(r"name: (.*)", text.partition("authors:")[2])
    lines = {
        "title": fields["title"],
        "author": f"{{{author[1]}}}" if author else "",
        "version": fields["version"],
        "year": fields["date-released"][:4],
    }
    body = "".join(f"  {name:<7} = {{{value}}},\n" for name, value in lines.items())
    return f"```bibtex\n@software{{tienlen_env,\n{body}}}\n```"


# ---------------------------------------------------------------- called by mkdocs


def on_config(config: Any) -> Any:
    """Set what depends on the project: version, addresses."""
    version, repository = project()
    config["copyright"] = f"tienlen-env {version}, MIT licence"
    config["repo_url"] = repository or None
    config["site_url"] = os.environ.get("SITE_URL", "")
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File  # the tests of the pages do not need mkdocs

    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def built_table() -> Path | None:
    """The folder of the table in the browser; None if it is not built."""
    folder = ROOT / "extensions" / "table" / "tienlen_table" / "server" / "static"
    return folder if (folder / "index.html").is_file() and (folder / "engine/index.json").is_file() else None


def on_post_build(config: Any) -> None:
    """Copy the table in the browser to ``play/``, if it is built."""
    if table := built_table():
        from tienlen_table.packing import pack  # a clone may lack the table

        out = Path(config["site_dir"]) / "play"
        shutil.copytree(table, out, dirs_exist_ok=True)
        page = (out / "index.html").read_text(encoding="utf-8")
        (out / "index.html").write_text(page.replace("<html ", '<html data-docs="../" ', 1), encoding="utf-8")
        pack(out)
    else:
        logging.getLogger("mkdocs.hooks").info("play/ is left out: the page is not built (make web)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in sections and pictures."""
    name = page.file.src_uri
    text = links_out_of_docs(markdown, name) if (ROOT / "docs" / name).is_file() else markdown
    text = draw_fences(insert_code(insert_sections(text, name)))
    address = "play/index.html" if built_table() else "table.html"
    if (mark := "<!-- leaderboard -->") in text:
        rows = leaderboard(read_entries(ROOT / "leaderboard"), address if built_table() else "")
        text = text.replace(mark, rows)
    button = f'<a class="md-button md-button--primary" href="{address}">Play in the browser</a>'
    return text.replace("<!-- citation -->", citation()).replace("<!-- play -->", button)


def on_post_page(output: str, **_: Any) -> str:
    """Give the theme's search dialog a name, for screen readers."""
    dialog = 'data-md-component="search" role="dialog"'
    return output.replace(dialog, f'{dialog} aria-label="Search"')
