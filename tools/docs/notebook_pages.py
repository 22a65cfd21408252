"""The notebooks as pages of the site, for mkdocs (`hooks` in mkdocs.yml).

``make notebooks`` leaves the executed notebooks in ``build/notebooks``. A page has their outputs if they have
today's code; else it shows the notebook without outputs and says so.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXECUTED = ROOT / "build" / "notebooks"
MISSING = "!!! note\n    This site was built without the outputs; `make notebooks` computes them.\n"


def cells(path: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook; none if there is no such file."""
    if not path.is_file():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def is_run_of(executed: Path, source: Path) -> bool:
    """Whether a notebook has outputs, and they are those of another notebook's code."""
    own, wanted = (["".join(cell["source"]) for cell in cells(path)] for path in (executed, source))
    return own == wanted and any(cell["outputs"] for cell in cells(executed))


def pages() -> dict[str, str | bytes]:
    """Path on the site to content: a page of Markdown for each notebook, and the pictures of its outputs."""
    import nbformat  # the tests of the other pages need neither
    from nbconvert import MarkdownExporter

    found: dict[str, str | bytes] = {}
    for source in sorted((ROOT / "notebooks").glob("*.ipynb")):
        executed = EXECUTED / source.name
        is_executed = is_run_of(executed, source)
        notebook = nbformat.read(executed if is_executed else source, as_version=4)
        name = source.stem
        text, resources = MarkdownExporter().from_notebook_node(
            notebook, {"unique_key": name, "output_files_dir": name}
        )
        title, _, rest = text.partition("\n\n")
        found[f"notebooks/{name}.md"] = text if is_executed else f"{title}\n\n{MISSING}\n{rest}"
        found |= {f"notebooks/{path}": data for path, data in resources["outputs"].items()}
    return found


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and pictures."""
    from mkdocs.structure.files import File

    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    return files
