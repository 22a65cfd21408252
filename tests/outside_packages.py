"""Packages from outside, as pip would lay them out."""

from __future__ import annotations

from pathlib import Path


def install(folder: Path, module: str, entry_points: str, code: str = "") -> None:
    """A module with the metadata of a distribution of the same name.

    Args:
        folder: on the import path.
        module: its name.
        entry_points: the text of ``entry_points.txt``.
        code: of the module.
    """
    (folder / f"{module}.py").write_text(code)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
