"""What the arena measures and shows of payments."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main
from tienlen_agents.arena.chunk import Chunk, ChunkShape
from tienlen_agents.arena.report import Report
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.tienlen.rules import PRESETS

PAID = [name for name, rules in PRESETS.items() if rules.has_payments]


@pytest.fixture(scope="module")
def south() -> arena.MatchResult:
    return arena.match("greedy", "random", rules="south", num_deals=20, seed=4, records=2)


def test_units_are_what_the_ledger_says(south: arena.MatchResult) -> None:
    """The same rounds again, one by one from their records: every payment of the ledger, added up."""
    from tienlen_env.single.tienlen import Round

    assert south.units is not None
    assert (south.units.sum(axis=2) == 0).all()
    slots = arena.lineup.blocks(south.lineup, south.permutations)[0]
    for game, record in enumerate(south.records):
        net = [0] * 4
        for payment in Round.from_record(record).payments():
            net[payment.payer] -= payment.amount
            net[payment.payee] += payment.amount
        assert south.units[0, game][slots[game]].tolist() == net


def test_units_and_their_interval(south: arena.MatchResult) -> None:
    first, others = south.scores
    assert south.units is not None
    assert first.units is not None
    assert others.units is not None
    per_deal = south.units[:, :, 0].sum(axis=1) / 4
    assert first.units.mean == pytest.approx(per_deal.mean())
    assert first.units.half_width == pytest.approx(2.093 * per_deal.std(ddof=1) / 20**0.5, rel=1e-3)
    assert first.units.mean == pytest.approx(-3 * others.units.mean)
    assert south.parity == 0
    assert first.main == first.units
    assert south.figure == "units"


def test_agents_play_for_payments() -> None:
    rewards = []

    class Looking:
        name = "looking"

        def reset(self, seed: int) -> None:
            self.random = tienlen_agents.load("random")
            self.random.reset(seed)

        def act(self, view: View) -> Any:
            rewards.append(view.source[0].reward)
            return self.random.act(view)

    arena.match(Looking(), tienlen_agents.load("random"), rules="north", num_deals=2)
    assert set(rewards) == {"payments"}
    rewards.clear()
    arena.match(Looking(), tienlen_agents.load("random"), num_deals=2)
    assert set(rewards) == {"points"}


def test_outputs_show_units_where_there_are_payments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["match", "greedy", "random", "--composition", "1v3", "--deals", "6", "--quiet"]
    assert main([*arguments, "--rules", "south,cardgames", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "units" in shown
    south, cardgames = json.loads((tmp_path / "arena.json").read_text())["tables"]
    assert {"low", "high", "mean", "verdict"} == set(south["agents"][0]["units"])
    assert south["parity"]["units"] == 0
    assert "units" not in cardgames["agents"][0]
    assert "units" not in cardgames["parity"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "arena.csv").read_text())))
    assert float(rows[0]["units"]) == south["agents"][0]["units"]["mean"]
    assert rows[2]["units"] == ""
    chunks = [json.loads(line) for line in (tmp_path / "chunks.jsonl").read_text().splitlines()]
    assert [("payments" in table) for table in chunks[0]["tables"]] == [True, False]
    assert [("units" in chunk) for chunk in chunks[1:]] == [True, False]
    # The same command reads them again.
    assert main([*arguments, "--rules", "south,cardgames", "--out", str(tmp_path)]) == 0
    again = json.loads((tmp_path / "arena.json").read_text())["tables"]
    assert again[0]["agents"][0]["units"] == south["agents"][0]["units"]


def test_other_presets_have_the_files_of_before() -> None:
    report = Report((arena.match("greedy", "random", num_deals=4),))
    assert "units" not in report.to_csv()
    assert "units" not in json.dumps(report.to_dict()["tables"])


def test_a_league_orders_by_units() -> None:
    pytest.importorskip("openskill")
    report = arena.league(["random", "greedy"], rules="south_count", num_players=2, num_deals=30, seed=1)
    (league,) = report.leagues
    units = [standing.units for standing in league.standings]
    assert units[0] is not None
    assert units[1] is not None
    assert league.ranking == (1, 0)
    assert units[1].mean > 0 > units[0].mean
    payoff = league.payoffs[1][0]
    assert payoff is not None
    assert payoff.mean == pytest.approx(units[1].mean - units[0].mean)


@pytest.mark.parametrize("damage", ["missing", "a float", "too large", "without payments"])
def test_damaged_units_are_refused(south: arena.MatchResult, damage: str) -> None:
    assert south.units is not None
    zeros = np.zeros((20, 4, 4), np.int64)
    values: dict[str, Any] = Chunk(
        zeros.astype(np.int32), zeros.astype(np.int8), np.zeros(2, np.int64), np.zeros(2), ((), ()),
        np.zeros((0, 2, 2), np.int64), (), south.units,
    ).to_dict()  # fmt: skip
    shape = ChunkShape(20, 4, 4, 2, has_payments=True)
    assert np.array_equal(Chunk.from_dict(values, shape).units, south.units)  # type: ignore[arg-type]
    if damage == "missing":
        del values["units"]
    elif damage == "a float":
        values["units"][3][1][2] = 1.5
    elif damage == "too large":
        values["units"][0][0][0] = 2**40
    else:
        shape = shape._replace(has_payments=False)
    with pytest.raises(ValueError, match="units"):
        Chunk.from_dict(values, shape)


@pytest.mark.parametrize("preset", PAID)
def test_heuristic_knows_what_ends_a_round_dearly(preset: str) -> None:
    """It never goes out with a 2 where that is punished, unless nothing else is legal."""
    batch, agent = Batch(preset, 200, reward="payments"), tienlen_agents.load("heuristic")
    batch.deal(np.arange(200))
    endings = 0
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        cards = view.cards_of(chosen)
        goes_out = (cards == view.hand) & (cards >> 48 != 0) & (view.num_legal > 1)
        endings += int(goes_out.sum())
        actions = np.full(200, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)
    assert (endings == 0) == (PRESETS[preset].last_two == "ends")
