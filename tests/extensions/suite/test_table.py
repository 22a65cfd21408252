"""Suite v1 is frozen: the digest of the table, and what the panel plays, are promises."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import tienlen_agents
from tienlen_agents.arena.chunk import Job, play_chunk
from tienlen_agents.arena.run import play_match_ups
from tienlen_env.engine.agent import check_plays
from tienlen_env.engine.batch import Batch
from tienlen_suite import SUITES
from tienlen_suite.checking import panel_agents

GOLDEN = Path(__file__).parents[2] / "golden" / "suite.json"
V1 = SUITES["v1"]


def moves(name: str) -> str:
    """A digest of rounds that a member of the panel plays against `random`, at its first tables."""
    digest, few = hashlib.sha256(), 2 if V1.panel[name].is_slow else 8
    tables = {
        (t.rules, t.players): t for track in V1.tracks.values() for t in track.tables if name in t.opponents
    }
    for table in list(tables.values())[:4]:
        alone = replace(table, opponents=(name,)).match_up
        agents = [tienlen_agents.load("random"), *panel_agents(V1, [name])]
        job = Job(alone.lineup, alone.rules, 43, 0, few, num_records=few * table.players)
        digest.update("\n".join(play_chunk(agents, job).records).encode())
    return digest.hexdigest()


def digests() -> dict[str, str]:
    """Those of all tracks."""
    return {name: V1.digest(name) for name in V1.tracks}


def test_the_table_is_frozen() -> None:
    assert digests() == json.loads(GOLDEN.read_text())["v1"], (
        "suite v1 is not the same: a track does not change, v2 gets a table of its own"
    )


@pytest.mark.parametrize("name", V1.panel)
def test_the_panel_plays_as_ever(name: str) -> None:
    panel_agents(V1, [name])
    assert moves(name) == json.loads(GOLDEN.read_text())["panel"][name]


@pytest.mark.parametrize("at", range(0, len(V1.tracks["B"].tables), 9))
def test_units_of_the_normalised_score(at: int) -> None:
    table = V1.tracks["B"].tables[at]
    for name, expected in (("random", table.zero), (table.opponents[0], table.one)):
        pair = [name, table.opponents[0]]
        (result,) = play_match_ups(
            [table.match_up._replace(seated=(0, 1))],
            pair,
            [tienlen_agents.load(agent) for agent in pair],
            num_deals=64,
            seed=4301,
            records=0,
        )
        found = result.scores[0].main
        assert abs(found.mean - expected) < 2 * found.half_width + 1e-9


def test_every_value_counts_for_the_digest() -> None:
    first = V1.tracks["A"]
    others = [
        replace(V1, sample=0.01),
        replace(V1, tracks={**V1.tracks, "A": replace(first, seed=1)}),
        replace(V1, tracks={**V1.tracks, "A": replace(first, tables=first.tables[1:])}),
        replace(V1, panel={**V1.panel, "greedy": replace(V1.panel["greedy"], is_slow=True)}),
    ]
    assert len({V1.digest("A"), *(other.digest("A") for other in others)}) == 5
    assert {other.digest("D") for other in others[1:]} == {V1.digest("D")}, (
        "tracks do not share their digests"
    )


def test_tables_seat_the_agent_everywhere() -> None:
    for track in V1.tracks.values():
        for table in track.tables:
            assert all(name in V1.panel for name in table.opponents)
            if table.opponents:
                jobs = list(track.jobs(table, track.seed))
                assert sum(job.num_deals for job in jobs) == track.num_deals
                panel = panel_agents(V1, table.opponents)
                check_plays(panel, Batch(table.variant, 1))
                assert table.one > table.zero
    with pytest.raises(ValueError, match="track 'F': expected one of A, B, C, D, E"):
        V1.track("F")


if __name__ == "__main__":
    golden = {"v1": digests(), "panel": {name: moves(name) for name in V1.panel}}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
