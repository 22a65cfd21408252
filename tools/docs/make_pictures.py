"""Makes the pictures of the README and the site: ``python tools/docs/make_pictures.py``. It needs Chromium.

The learning curves come from a run folder and have a script of their own, ``tools/docs/plot_runs.py``; so has
the table in the browser, ``tools/docs/make_table_pictures.py``.
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.files import write_atomic
from tienlen_env import Round
from tienlen_env.rendering import render_svg

RECORD = "tienlen/1 cardgames p4 key=000000000000012b.0 : 3s4h5h6s7c - - - 9dTsJh - - - Td Ks"
DOCS = Path(__file__).parents[2] / "docs"
WIDTHS = {"": 980, "-phone": 390}  # CSS pixels, by the end of the picture's name


def arena_pictures(report: arena.Report) -> None:
    """Write the page of a report as pictures/arena-light.png, arena-dark.png, and both for a phone."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("this needs Chromium (apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for end, width in WIDTHS.items():
            for theme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": width, "height": 600},
                    color_scheme="dark" if theme == "dark" else "light",
                    device_scale_factor=1.5,
                )
                page.set_content(report.to_html())
                page.add_style_tag(content="footer, details { display: none }")
                picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
                out = io.BytesIO()
                picture.convert("RGB").quantize(128).save(out, format="png", optimize=True)
                write_atomic(DOCS / "pictures" / f"arena-{theme}{end}.png", out.getvalue())
        browser.close()


def main() -> None:
    """Write table.svg and the pictures of the arena."""
    write_atomic(DOCS / "table.svg", render_svg(Round.from_record(RECORD).view()).encode())
    baselines = [tienlen_agents.load("greedy_long"), tienlen_agents.load("greedy")]
    arena_pictures(arena.compare(tienlen_agents.load("heuristic"), baselines, num_deals=2500, seed=1))


if __name__ == "__main__":
    main()
