"""The policies that are shipped, and what exploits an agent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import agents
from agents import arena
from agents.champion import WEIGHTS, ChampionAgent, shipped
from agents.network import NetworkAgent
from tienlen_env.agent import ScoringAgent, View
from tienlen_env.engine import Batch
from train import best_response
from train.best_response import BestResponseConfig, BestResponseTrainer

PRESETS = sorted({preset for preset, _ in shipped()})


def test_there_is_one_for_the_main_presets() -> None:
    assert {"cardgames", "foicica"} <= set(PRESETS)


@pytest.mark.parametrize("path", sorted(WEIGHTS.glob("*.safetensors")), ids=lambda p: p.stem)
def test_files_are_small_and_have_a_card(path: Path) -> None:
    assert path.stat().st_size <= 4_000_000
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    for word in ("command", "seed", "heuristic", "greedy_long", "exploit", "cannot"):
        assert word in card, word
    assert NetworkAgent.load(path).network.config.rules == path.stem.split("-")[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_it_beats_the_rule_based_players(preset: str) -> None:
    champion = agents.load("champion")
    for name in ("greedy_long", "heuristic"):
        score = arena.match(champion, agents.load(name), rules=preset, num_deals=600, seed=9).scores[0]
        assert score.points.mean - score.points.half_width > 1.5, name


def test_it_says_how_probable_its_actions_are() -> None:
    champion = agents.load("champion")
    assert isinstance(champion, ScoringAgent)
    batch = Batch("cardgames", 20)
    batch.reset(3)
    view = View(batch)
    found = champion.log_probabilities(view)
    legal = view.legal_actions
    np.testing.assert_allclose(np.add.reduceat(np.exp(found), legal.start), 1, atol=1e-5)
    chosen = champion.act(view)
    best = np.maximum.reduceat(found, legal.start)
    assert np.array_equal(found[legal.action == chosen[legal.game]], best)


def test_rules_without_a_policy_are_refused() -> None:
    batch = Batch("pagat", 2)
    batch.reset(0)
    with pytest.raises(ValueError, match=r"no policy for the pagat rules; there are: .*cardgames"):
        agents.load("champion").act(View(batch))
    three = Batch("cardgames", 2, num_players=3)
    three.reset(0)
    with pytest.raises(ValueError, match="made for the cardgames rules with 4 players"):
        agents.load("champion").act(View(three))
    with pytest.raises(ValueError, match="size='huge'"):
        ChampionAgent(size="huge")


@pytest.mark.parametrize("agent", ["greedy", "champion"])
def test_a_best_response_has_one_seat_against_three(agent: str) -> None:
    config = BestResponseConfig(
        agent=agent, num_games=16, state_width=16, action_width=16, critic_width=16, threads=1
    )
    trainer = BestResponseTrainer(config)
    controllers, opponents = trainer.controllers(np.random.default_rng(0))
    assert [o.name for o in opponents] == [agent]
    assert ((controllers == 0).sum(axis=1) == 1).all()
    before = trainer.agent()
    batch = Batch("cardgames", 30)
    batch.reset(1)
    view = View(batch)
    if agent == "champion":
        assert np.array_equal(before.act(view), agents.load(agent).act(view))
    assert trainer.iterate()["decisions"] > 0


def test_the_command_reports_the_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--agent random --decisions 2000 --num-games 40 --batch-size 256 --state-width 16 --eval-every 0"
    best_response.main(
        [*flags.split(), "--final-deals", "50", "--threads", "1", "--out", str(tmp_path / "a")]
    )
    line = (tmp_path / "a" / "exploitability.txt").read_text()
    assert "points a round against three random, after" in line
    assert line.startswith("+")
    assert line.split(",")[0].split()[0] in capsys.readouterr().out
