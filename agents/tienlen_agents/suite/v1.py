"""Suite v1. It is frozen when a version of the project is released with it; a test has its digest."""

from __future__ import annotations

from typing import Final

from tienlen_agents.suite.table import Member, Suite, Table, Track

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
    "random": Member("random"),
    "greedy": Member("greedy"),
    "greedy_long": Member("greedy_long"),
    "heuristic": Member("heuristic"),
    "endgame": Member("endgame:heuristic"),
    "trickster": Member("trickster"),
    "reference": Member("reference", (_REFERENCE,)),
    "search": Member("search:worlds=8", is_slow=True),
    "champion": Member("champion:file=tienlen-general-v4", (_CHAMPION,), is_slow=True),
}

# The result of `random` alone against the rule-based agent, and of that agent against itself: 1,024 deals,
# seed 4300. These are units of the score, not results: their errors change no order.
_NORMALS: Final = (
    ("cardgames", 2, "heuristic", 0.041, 0.500),
    ("cardgames", 3, "heuristic", 0.089, 1.000),
    ("cardgames", 4, "heuristic", 0.200, 1.500),
    ("mobile", 2, "heuristic", 0.041, 0.500),
    ("mobile", 3, "heuristic", 0.108, 1.000),
    ("mobile", 4, "heuristic", 0.201, 1.500),
    ("foicica", 2, "heuristic", 0.035, 0.500),
    ("foicica", 3, "heuristic", 0.098, 1.000),
    ("foicica", 4, "heuristic", 0.203, 1.500),
    ("pagat", 2, "heuristic", 0.034, 0.500),
    ("pagat", 3, "heuristic", 0.093, 1.000),
    ("pagat", 4, "heuristic", 0.198, 1.500),
    ("south", 2, "heuristic", -2.289, 0.000),
    ("south", 3, "heuristic", -2.114, 0.000),
    ("south", 4, "heuristic", -2.013, 0.000),
    ("south_count", 2, "heuristic", -6.581, 0.000),
    ("south_count", 3, "heuristic", -8.017, 0.000),
    ("south_count", 4, "heuristic", -8.237, 0.000),
    ("north", 2, "heuristic", -4.913, 0.000),
    ("north", 3, "heuristic", -5.841, 0.000),
    ("north", 4, "heuristic", -6.282, 0.000),
    ("south_winner", 2, "heuristic", -2.304, 0.000),
    ("south_winner", 3, "heuristic", -2.548, 0.000),
    ("south_winner", 4, "heuristic", -2.513, 0.000),
    ("bga", 2, "heuristic", 0.041, 0.500),
    ("bga", 3, "heuristic", 0.103, 1.000),
    ("bga", 4, "heuristic", 0.212, 1.500),
    ("thirteens", 3, "trickster", 7.750, 13.378),
    ("thirteens", 4, "trickster", 5.933, 9.468),
    ("thirteens", 5, "trickster", 5.913, 8.712),
    ("thirteens", 6, "trickster", 5.974, 8.591),
    ("thirteens", 7, "trickster", 5.911, 8.266),
    ("thirteens_manual", 3, "trickster", 5.494, 13.378),
    ("thirteens_manual", 4, "trickster", 3.877, 9.468),
    ("thirteens_manual", 5, "trickster", 3.636, 8.712),
    ("thirteens_manual", 6, "trickster", 3.680, 8.591),
    ("thirteens_manual", 7, "trickster", 3.723, 8.266),
    ("thirteens_dummy", 3, "trickster", 7.688, 12.589),
    ("thirteens_dummy_manual", 3, "trickster", 4.643, 12.589),
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
                    *(Table("cardgames", 4, (name,)) for name in ("random", "greedy", "greedy_long")),
                    *(Table("cardgames", 4, (name,)) for name in ("heuristic", "endgame", "reference")),
                    Table("cardgames", 4, ("reference", "search", "champion")),
                ),
                num_deals=1024,
                seed=43_000_001,
            ),
            Track(
                "B",
                "every preset, every number of players",
                "normalised",
                tuple(
                    Table(rules, players, (base,), zero, one) for rules, players, base, zero, one in _NORMALS
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
                tuple(
                    Table("cardgames", 2, (name,))
                    for name in (
                        "random",
                        "greedy",
                        "greedy_long",
                        "heuristic",
                        "endgame",
                        "search",
                        "champion",
                    )
                ),
                num_deals=1024,
                seed=43_000_003,
                cannot="`reference` plays four players only.",
            ),
            Track(
                "D",
                "small games, exact NashConv",
                "nash_conv",
                (Table("mini", 2), Table("small", 2), Table("medium", 2)),
                cannot="`reference` plays four players only.",
            ),
            Track(
                "E",
                "endings and regret",
                "endings",
                (Table("cardgames", 4, ("heuristic",)),),
                num_deals=1024,
                seed=43_000_005,
            ),
        )
    },
    panel=PANEL,
    budgets=(1.0, 20.0, 200.0, 0.0),
    sample=0.02,
    regrets="14672183473cf5fd758d27b29f6bdd62169841b71d3d1c7b93b00555c4dc62a5",
)
