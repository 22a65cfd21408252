"""What reviewers and contributors look for: a citation that is valid, forms for issues, a code of conduct."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def test_the_citation_has_what_its_format_asks_for() -> None:
    """The required keys of Citation File Format 1.2.0, their types, and no key that it does not know."""
    found = read(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    known = {"cff-version", "message", "title", "authors", "type", "abstract", "version", "date-released"}
    known |= {"license", "keywords", "repository-code", "url", "identifiers", "doi", "references"}
    assert set(found) <= known
    assert found["cff-version"] == "1.2.0"
    assert found["type"] in ("software", "dataset")
    assert isinstance(found["date-released"], date)
    assert found["authors"]
    for author in found["authors"]:
        assert set(author) <= {"name", "family-names", "given-names", "orcid", "affiliation", "website"}
        assert author.get("name") or author.get("family-names")
    assert isinstance(found["version"], str)
    assert len(found["keywords"]) == len(set(found["keywords"]))


def test_the_citation_validates() -> None:
    """With the format's own tool, where it is installed (pip install cffconvert)."""
    cffconvert = pytest.importorskip("cffconvert")
    citation = cffconvert.Citation((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    citation.validate()


@pytest.mark.parametrize(
    "path", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.stem
)
def test_a_form_has_what_the_host_asks_for(path: Path) -> None:
    form = read(path)
    assert form["name"]
    assert form["description"]
    fields = [one for one in form["body"] if one["type"] != "markdown"]
    ids = [one["id"] for one in fields]
    assert len(ids) == len(set(ids)) > 0
    for one in fields:
        assert one["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert one["attributes"]["label"]


def test_every_extra_is_explained() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`tienlen-env\[(\w+)\]`", page)) == set(extras["optional-dependencies"])


def test_no_contact_is_invented() -> None:
    for name in ("CODE_OF_CONDUCT.md", "CITATION.cff", *(str(path.relative_to(ROOT)) for path in FORMS)):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"[\w.]+@[\w.]+\.\w+", text), name
