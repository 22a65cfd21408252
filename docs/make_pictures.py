"""Makes the pictures of the README; run as ``python docs/make_pictures.py``."""

from pathlib import Path

from tienlen_env import Round
from tienlen_env.rendering import render_svg

RECORD = "tienlen/1 cardgames p4 key=000000000000012b.0 : 3s4h5h6s7c - - - 9dTsJh - - - Td Ks"

if __name__ == "__main__":
    view = Round.from_record(RECORD).view()
    Path(__file__).with_name("table.svg").write_text(render_svg(view), encoding="utf-8")
