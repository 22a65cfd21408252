"""A small suite for tests."""

from __future__ import annotations

from dataclasses import replace

from tienlen_suite import Entry, PanelMember, Suite, SuiteTable, Track

PANEL = {
    "random": PanelMember("random"),
    "greedy": PanelMember("greedy"),
    "endgame": PanelMember("endgame:heuristic"),
    "search": PanelMember("search:worlds=1,inference=0", is_slow=True),
}
MIXED = ("greedy", "endgame", "search")
TINY = Suite(
    "tiny",
    {
        track.name: track
        for track in (
            Track(
                "A",
                "points",
                "points",
                (SuiteTable("cardgames", 4, ("random",)), SuiteTable("cardgames", 4, MIXED)),
                num_deals=8,
                deals_per_job=4,
                seed=5,
                quick=4,
            ),
            Track(
                "B",
                "all",
                "normalised",
                (
                    SuiteTable("cardgames", 3, ("greedy",), 0.1, 1.0),
                    SuiteTable("south", 2, ("greedy",), -2.0, 0.0),
                    SuiteTable("thirteens", 3, ("random",), 7.8, 13.4),
                ),
                num_deals=4,
                seed=6,
            ),
            Track("D", "exact", "nash_conv", (SuiteTable("mini", 2),)),
            Track("E", "endings", "endings", (SuiteTable("cardgames", 4, ("greedy",)),), num_deals=4, seed=7),
        )
    },
    PANEL,
    (1.0, 20.0, 200.0, 0.0),
    sample=0.5,
)


def tiny(track: str, **settings: object) -> Entry:
    """An entry for a track of the small suite, which the tests of the suite register."""
    return Entry(suite="tiny", track=track, **settings)  # type: ignore[arg-type]


def changed(**settings: object) -> Suite:
    """The suite with other settings in track A."""
    return replace(TINY, tracks={**TINY.tracks, "A": replace(TINY.tracks["A"], **settings)})  # type: ignore[arg-type]
