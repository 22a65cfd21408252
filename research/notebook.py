"""Execute a notebook, and print what its cells print.

python -m research.notebook notebooks/04_research_example.ipynb --budget 1
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--budget", default="1", help="see docs/notebooks.md")
    options = parser.parse_args()
    os.environ["BUDGET"] = options.budget  # the kernel inherits it
    notebook = nbformat.read(options.notebook, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(Path.cwd())}}).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            print(output.get("text", ""), end="")


if __name__ == "__main__":
    main()
