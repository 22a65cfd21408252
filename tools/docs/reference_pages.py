"""The reference, a page for each class or module, for mkdocs (`hooks` in mkdocs.yml).

A page in ``docs/reference`` names what the reference has, as mkdocstrings wants it: ``::: tienlen_env.Batch``
Every such line becomes a page of its own, and on the page that named it a link with the first sentence of its
documentation.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_DIRECTIVE = re.compile(r"^::: (?P<name>\S+)\n(?P<options>(?: {4}.*\n?)*)", re.MULTILINE)
_OWN_HEADING = re.compile(r"^ *show_root_heading: .*\n", re.MULTILINE)
_LIST = re.compile(r"^ *members: \[(.*)\]$", re.MULTILINE)


class ReferenceEntry(NamedTuple):
    """An entry of the reference.

    Attributes:
        name: dotted, of a class, a function or a module.
        options: those of mkdocstrings, as lines of YAML.
        path: of its page, below docs.
    """

    name: str
    options: str
    path: str

    @property
    def title(self) -> str:
        """Its name without the package; a class or function alone."""
        last = self.name.rpartition(".")[2]
        return last if last[0].isupper() else self.name.partition(".")[2] or self.name

    @property
    def summary(self) -> str:
        """The first sentence of its documentation, in Markdown.

        Raises:
            ImportError, AttributeError: there is nothing of that name.
        """
        module, _, last = self.name.rpartition(".")
        try:
            found = import_module(self.name)
        except ModuleNotFoundError:
            found = getattr(import_module(module), last)
        text = (inspect.getdoc(found) or "").partition("\n\n")[0]
        sentence = " ".join(text.split()).partition(". ")[0].rstrip(".:")
        return sentence.replace("``", "`")

    def page(self) -> str:
        """Its page, in Markdown."""
        options = self.options or "    options:\n"
        return f"::: {self.name}\n{options}      heading_level: 1\n"


def entries(page: str, text: str) -> list[ReferenceEntry]:
    """What a page of the reference names; a module whose members are listed gives each class a page.

    Args:
        page: its path below docs.
        text: its Markdown.
    """
    found = []
    for line in _DIRECTIVE.finditer(text):
        name, options = line["name"], _OWN_HEADING.sub("", line["options"]).rstrip() + "\n"
        listed = _LIST.search(options)
        names = listed[1].split(", ") if listed else []
        classes = [member for member in names if member[0].isupper() and not member.isupper()]
        rest = [member for member in names if member not in classes]
        if rest:
            options = _LIST.sub(f"      members: [{', '.join(rest)}]", options)
        if rest or not classes:
            found.append(_entry(page, name, options if "      " in options else ""))
        found += [_entry(page, f"{name}.{member}", "") for member in classes]
    return found


def _entry(page: str, name: str, options: str) -> ReferenceEntry:
    folder = page.removesuffix(".md")
    return ReferenceEntry(name, options, f"{folder}/{name.partition('.')[2] or 'package'}.md")


def overview(page: str, text: str) -> str:
    """A page of the reference with links in place of what it names."""

    def links(line: re.Match[str]) -> str:
        folder = page.rpartition("/")[0]
        return "".join(
            f"- [`{entry.title}`]({entry.path.removeprefix(folder + '/')}): {entry.summary}\n"
            for entry in entries(page, line[0])
        )

    return re.sub(r"^(- .*)\n+(?=- )", r"\1\n", _DIRECTIVE.sub(links, text), flags=re.MULTILINE)


def sources() -> dict[str, str]:
    """The pages of the reference: path below docs to Markdown."""
    return {f"reference/{path.name}": path.read_text() for path in sorted((DOCS / "reference").glob("*.md"))}


# ---------------------------------------------------------------- called by mkdocs


def on_config(config: Any) -> Any:
    """Add the pages to the navigation, below those that name them."""
    for section in config["nav"]:
        for number, item in enumerate(section.get("Reference", [])):
            ((title, path),) = item.items()
            pages = [{entry.title: entry.path} for entry in entries(path, sources()[path])]
            section["Reference"][number] = {title: [{"Overview": path}, *pages]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File  # the tests of the pages do not need mkdocs

    for path, text in sources().items():
        for entry in entries(path, text):
            files.append(File.generated(config, entry.path, content=entry.page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put links in place of what a page of the reference names."""
    path = page.file.src_uri
    return overview(path, markdown) if path in sources() else markdown
