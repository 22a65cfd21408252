"""What a build adds: the README and the links of an index page such as PyPI's, and machine code in wheels.

An index page shows the README without the repository beside it, so relative links and pictures need the
repository's address. It is one variable in pyproject.toml, `repository` of this hook. While it is empty,
as long as the project has no public address, the README stays as it is and no repository link is published.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # the tests import `absolute_links` where hatchling may be missing
    BuildHookInterface = MetadataHookInterface = object

_PICTURE = r"\.(?:svg|png|jpg|gif)"
_MARKDOWN = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s]+)(\))")
_HTML = re.compile(r"(\b(?:src|srcset|href)=\")(?![a-z]+:|#)([^\"\s]+)(\")")


def absolute_links(text: str, repository: str) -> str:
    """Replace the relative links of a page.

    Args:
        text: Markdown, with HTML in it.
        repository: the address, such as ``https://github.com/NAME/tienlen-env``; if empty, nothing is
            replaced.
    """
    if not repository:
        return text

    def absolute(match: re.Match[str]) -> str:
        path = match[2].removeprefix("./")
        kind = "raw" if re.search(_PICTURE + "$", path) else "blob"
        return f"{match[1]}{repository.rstrip('/')}/{kind}/HEAD/{path}{match[3]}"

    return _HTML.sub(absolute, _MARKDOWN.sub(absolute, text))


class CustomMetadataHook(MetadataHookInterface):
    """Sets the fields that pyproject.toml lists as dynamic: ``readme`` and ``urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in the fields."""
        repository = self.config["repository"]
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute_links(text, repository),
        }
        metadata["urls"] = dict(self.config["urls"])
        if repository:
            base = repository.rstrip("/")
            metadata["urls"] |= {
                "Repository": base,
                "Issues": f"{base}/issues",
                "Changelog": f"{base}/blob/HEAD/CHANGELOG.md",
            }


class CustomBuildHook(BuildHookInterface):
    """Puts loops that were compiled ahead of time into the wheel, which is for one platform then.

    The variable ``TIENLEN_NATIVE_FOLDER`` names the folder that ``tools.native.build``
    wrote. Without it the wheel is for any platform.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files and the tag."""
        if not (name := os.environ.get("TIENLEN_NATIVE_FOLDER")):
            return
        folder = Path(name)
        found = json.loads((folder / "loops.json").read_text(encoding="utf-8"))
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{found['tag']}"
        for file in ("loops.json", *found["files"]):
            build_data["force_include"][str(folder / file)] = (
                f"tienlen_env/engine/backends/native/built/{file}"
            )
