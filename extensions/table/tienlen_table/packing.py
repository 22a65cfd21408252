"""What a static host needs beside the built page: ``python -m tienlen_table.packing FOLDER``.

Beside each text and module lies its compressed copy (``.gz``), for hosts that send such copies to browsers,
and for those that compress nothing: the page itself asks for the copies of the engine's files. ``files.js``
lists what the service worker keeps, with a version that changes with any of these files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path
from typing import Final

TEXTS: Final = (".html", ".css", ".js", ".json", ".svg", ".txt", ".wasm", ".webmanifest")
LIST: Final = "files.js"
WORKER: Final = "sw.js"  # the service worker does not keep itself: a browser asks for it


def pack(folder: Path) -> list[str]:
    """Write the compressed copies, remove those of files that are gone, and write the list.

    Args:
        folder: of the built page, with the engine in it.

    Returns:
        The addresses in the list, relative to the folder.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in (LIST, WORKER))
    kept, digest = [], hashlib.sha256()
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".gz" and not path.with_suffix("").is_file():
            path.unlink()
        if path.suffix in (*TEXTS, ".png"):
            is_engine = name.startswith("engine/") and path.suffix in (".wasm", ".json")
            kept.append("./" if name == "index.html" else f"{name}.gz" if is_engine else name)
            digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    networks = list(json.loads((folder / "engine/index.json").read_text(encoding="utf-8"))["bytes"])
    data = {"version": digest.hexdigest()[:16], "files": kept, "networks": networks}
    text = json.dumps(data, separators=(",", ":"))
    (folder / LIST).write_text(f"self.PAGE={text};\n", encoding="utf-8")
    for path in (*paths, folder / LIST, folder / WORKER):
        if path.suffix in TEXTS:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    return kept


if __name__ == "__main__":
    print(f"{len(pack(Path(sys.argv[1])))} files are kept for a start without a network")
