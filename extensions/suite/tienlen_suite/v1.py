"""Suite v1, frozen from version 1.0.0 on; a test has the digests of its tracks."""

from __future__ import annotations

from typing import Final

from tienlen_suite.table import PanelMember, Suite, SuiteTable, Track

_CHAMPION: Final = (
    "tienlen-general-v4.safetensors",
    "17668a21bcd5f6b1511825c3eb104bd78f32358a587801c0b32f316710561a56",
)
_REFERENCE: Final = (
    "reference/cardgames-1234.safetensors",
    "015fe980613129d60731c1375c0a263fe26ffbc98474786f7cf72ae1c7beb00a",
)
# What is called champion here stays the champion of this suite; a later one enters as any other agent.
PANEL: Final = {
    "random": PanelMember("random"),
    "greedy": PanelMember("greedy"),
    "greedy_long": PanelMember("greedy_long"),
    "heuristic": PanelMember("heuristic"),
    "endgame": PanelMember("endgame:heuristic"),
    "trickster": PanelMember("trickster"),
    "reference": PanelMember("reference", (_REFERENCE,)),
    "search": PanelMember("search:worlds=8", is_slow=True),
    "champion": PanelMember("champion:file=tienlen-general-v4", (_CHAMPION,), is_slow=True),
}
_QUICK: Final = ("random", "greedy", "greedy_long", "heuristic", "endgame")

# The result of `random` alone against the rule-based agent, and of that agent against itself: 8,192 deals,
# seed 4300. They are units of the score, the same for all; a test plays some of them again.
_NORMALS: Final = (
    ("cardgames", 2, "heuristic", 0.040, 0.500),
    ("cardgames", 3, "heuristic", 0.104, 1.000),
    ("cardgames", 4, "heuristic", 0.209, 1.500),
    ("mobile", 2, "heuristic", 0.040, 0.500),
    ("mobile", 3, "heuristic", 0.103, 1.000),
    ("mobile", 4, "heuristic", 0.210, 1.500),
    ("foicica", 2, "heuristic", 0.036, 0.500),
    ("foicica", 3, "heuristic", 0.101, 1.000),
    ("foicica", 4, "heuristic", 0.201, 1.500),
    ("pagat", 2, "heuristic", 0.038, 0.500),
    ("pagat", 3, "heuristic", 0.104, 1.000),
    ("pagat", 4, "heuristic", 0.220, 1.500),
    ("south", 2, "heuristic", -2.316, 0.000),
    ("south", 3, "heuristic", -2.092, 0.000),
    ("south", 4, "heuristic", -1.991, 0.000),
    ("south_count", 2, "heuristic", -6.633, 0.000),
    ("south_count", 3, "heuristic", -8.051, 0.000),
    ("south_count", 4, "heuristic", -8.253, 0.000),
    ("north", 2, "heuristic", -4.829, 0.000),
    ("north", 3, "heuristic", -5.826, 0.000),
    ("north", 4, "heuristic", -6.235, 0.000),
    ("south_winner", 2, "heuristic", -2.334, 0.000),
    ("south_winner", 3, "heuristic", -2.513, 0.000),
    ("south_winner", 4, "heuristic", -2.497, 0.000),
    ("bga", 2, "heuristic", 0.040, 0.500),
    ("bga", 3, "heuristic", 0.101, 1.000),
    ("bga", 4, "heuristic", 0.210, 1.500),
    ("thirteens", 3, "trickster", 7.768, 13.338),
    ("thirteens", 4, "trickster", 6.026, 9.468),
    ("thirteens", 5, "trickster", 5.922, 8.707),
    ("thirteens", 6, "trickster", 5.952, 8.569),
    ("thirteens", 7, "trickster", 5.891, 8.262),
    ("thirteens_manual", 3, "trickster", 5.504, 13.338),
    ("thirteens_manual", 4, "trickster", 3.889, 9.468),
    ("thirteens_manual", 5, "trickster", 3.682, 8.707),
    ("thirteens_manual", 6, "trickster", 3.728, 8.569),
    ("thirteens_manual", 7, "trickster", 3.735, 8.262),
    ("thirteens_dummy", 3, "trickster", 7.658, 12.512),
    ("thirteens_dummy_manual", 3, "trickster", 4.674, 12.512),
)

SUITE: Final = Suite(
    name="v1",
    tracks={
        track.name: track
        for track in (
            Track(
                "A",
                "cardgames, four players",
                "points",
                (
                    *(SuiteTable("cardgames", 4, (name,)) for name in (*_QUICK, "reference")),
                    SuiteTable("cardgames", 4, ("reference", "search", "champion")),
                ),
                num_deals=1024,
                seed=43_000_001,
            ),
            Track(
                "B",
                "every preset, every number of players",
                "normalised",
                tuple(
                    SuiteTable(rules, players, (base,), zero, one)
                    for rules, players, base, zero, one in _NORMALS
                ),
                num_deals=128,
                seed=43_000_002,
                quick=16,
                cannot="A table that an agent does not play counts as 0, as if `random` sat there: "
                "rule-based agents and most networks play one game.",
            ),
            Track(
                "C",
                "cardgames, two players",
                "points",
                tuple(SuiteTable("cardgames", 2, (name,)) for name in (*_QUICK, "search", "champion")),
                num_deals=1024,
                seed=43_000_003,
                cannot="`reference` plays four players only.",
            ),
            Track(
                "D",
                "small games, exact NashConv",
                "nash_conv",
                (SuiteTable("mini", 2), SuiteTable("small", 2), SuiteTable("medium", 2)),
                cannot="`reference` plays four players only.",
            ),
            Track(
                "E",
                "endings and regret",
                "endings",
                (SuiteTable("cardgames", 4, ("heuristic",)),),
                num_deals=1024,
                seed=43_000_005,
                regrets="431c133025dedd7f772ca7226eb9157a2d0dde25434b2d8c3d7a7e861feb5506",
            ),
        )
    },
    panel=PANEL,
    budgets=(1.0, 20.0, 200.0, 0.0),
    sample=0.02,
)
