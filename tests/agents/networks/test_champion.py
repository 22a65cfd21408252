"""The policies that are shipped, and what exploits an agent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tienlen_agents
from tests.plays import mask_of
from tienlen_agents import arena
from tienlen_agents.arena.stats import estimate
from tienlen_agents.networks import shipped as files
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_by_name, features_of
from tienlen_agents.networks.network import NetworkConfig
from tienlen_agents.networks.shipped import WEIGHTS, ShippedNetworks, shipped
from tienlen_agents.search import HISTORY, SearchAgent
from tienlen_agents.search.champion import SearchedNetwork
from tienlen_agents.search.tienlen_determinizations import SHARE
from tienlen_env.engine.agent import ScoringAgent, View, check_plays, history_of
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.registry import get_rules, has_payments
from tienlen_env.games.tienlen import kernels, state as R
from tienlen_train import best_response
from tienlen_train.best_response import BestResponseConfig, BestResponseTrainer
from tienlen_train.network import ActionNetwork

PRESETS = sorted({preset for preset, _ in shipped()})
EVERY_DAY = ("cardgames", "thirteens")  # the others are nightly
each_preset = pytest.mark.parametrize(
    "preset",
    [pytest.param(name, marks=[pytest.mark.nightly] * (name not in EVERY_DAY)) for name in PRESETS],
)


def test_there_is_one_for_the_main_presets() -> None:
    assert {"cardgames", "south", "south_count", "north"} <= set(PRESETS)


@pytest.mark.parametrize("path", sorted(WEIGHTS.glob("*.safetensors")), ids=lambda p: p.stem)
def test_files_are_small_and_have_a_card(path: Path) -> None:
    assert path.stat().st_size <= 4_000_000
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    agent = NetworkAgent.load(path)
    opponents = features_by_name(agent.network.config.game).eval_opponents
    for word in ("command", "seed", "exploit", "cannot", *opponents):
        assert word in card, word
    if agent.network.config.is_general:
        assert path.stem.startswith(f"{agent.plays}-general-v")
    else:
        assert agent.network.config.rules == path.stem.split("-")[0]
    assert f"`{agent.digest}`" in card
    assert agent.digest.encode() in path.read_bytes()


@each_preset
def test_the_network_beats_the_rule_based_players(preset: str) -> None:
    network, rules = tienlen_agents.load("champion:worlds=0"), get_rules(preset)
    num_deals = 2000 if has_payments(rules) else 600  # payments vary more than points
    for name in features_of(rules).eval_opponents[-2:]:
        result = arena.match(network, tienlen_agents.load(name), rules=preset, num_deals=num_deals, seed=9)
        main = result.scores[0].main
        assert main.mean - main.half_width > result.parity, name


@each_preset
def test_it_is_better_with_its_search(preset: str) -> None:
    searched, network = (
        arena.match(
            tienlen_agents.load(name),
            tienlen_agents.load(features_of(get_rules(preset)).baseline),
            rules=preset,
            num_deals=60,
            seed=9,
        )
        for name in ("champion", "champion:worlds=0")
    )
    assert estimate(searched.deal_main[:, 0] - network.deal_main[:, 0], searched.num_seatings).mean > 0.03


def positions(hand: str, table: str, cards_left: tuple[int, int, int], num_games: int) -> Batch:
    """Positions where seat 0 has to beat `table`, a play of seat 3. Other cards are dealt at random."""
    batch = Batch("cardgames", num_games, history_length=HISTORY)
    batch.reset(seed=1)
    own, on_table = parse_cards(hand), parse_cards(table)
    num_played = [13 - left for left in (own.bit_count(), *cards_left)]
    num_played[3] -= on_table.bit_count()
    ends = np.cumsum([*cards_left, *num_played])[:-1]
    others = [card for card in range(52) if not (own | on_table) >> card & 1]
    spec, actions = batch.kernel_arrays.spec.tolist(), batch.kernel_arrays.actions.tolist()
    rng = np.random.default_rng(0)
    for game in range(num_games):
        dealt = [mask_of(cards.tolist()) for cards in np.split(rng.permutation(others), ends)]
        row = batch.state.rows[game].tolist()
        row[R.HAND : R.HAND + 4], row[R.PLAYED : R.PLAYED + 4] = [own, *dealt[:3]], dealt[3:]
        row[R.PLAYED + 3] |= on_table
        row[R.TABLE], row[R.TABLE_CARDS] = batch.action_table.classify(on_table), on_table
        row[R.OWNER], row[R.TURN], row[R.PENDING], row[R.REQUIRED_CARD] = 3, 0, 0b0111, 0
        kernels.update_legal(row, spec, actions)
        batch.state.rows[game] = row
    return batch


@pytest.mark.parametrize("num_looks", [30, pytest.param(300, marks=pytest.mark.nightly)])
def test_the_search_overrules_a_sure_network(num_looks: int) -> None:
    """The straight to the king is worth a point more than a pass: an opponent has one card left."""
    batch = positions("4c 7s 8d 9d Td Jc Qd Kh", "9s Ts Jh", (8, 4, 1), 300)
    straight = batch.action_table.classify(parse_cards("Jc Qd Kh"))
    view = View(batch)
    network, agent = tienlen_agents.load("champion:worlds=0"), tienlen_agents.load("champion")
    assert isinstance(network, ScoringAgent)
    is_pass = view.legal_actions.action == 0
    is_sure = np.exp(network.log_probabilities(view)[is_pass]) > 0.99
    assert is_sure.sum() > 30
    judged = View(batch, np.flatnonzero(is_sure)[:15])
    estimates = SearchAgent(worlds=30, rollout="reference").estimate(judged)
    values = np.concatenate([found.mean for found in estimates])
    actions = judged.legal_actions.action
    assert np.mean(values[actions == straight] - values[actions == 0]) > 0.9  # 1.05
    looked = np.argsort(~is_sure, kind="stable")[:num_looks]  # these first
    view, is_sure = view.select(looked), is_sure[looked]
    agent.reset(0)
    overruled = agent.act(view) == straight
    assert overruled[is_sure].mean() > 0.3  # 0.47
    assert overruled.mean() > (network.act(view) == straight).mean() + 0.05  # of all: 0.89 and 0.78


def after_plays(batch: Batch, player: str, num_plays: int) -> View:
    """The games of a batch that go on, after plays of one agent in all seats."""
    agent = tienlen_agents.load(player)
    batch.reset(3)
    agent.reset(3)
    for _ in range(num_plays):
        games = np.flatnonzero(batch.state.turn >= 0)
        actions = np.full(batch.num_games, NO_ACTION)
        actions[games] = agent.act(View(batch, games))
        batch.step(actions)
    return View(batch, np.flatnonzero(batch.state.turn >= 0))


def test_it_says_how_probable_its_actions_are() -> None:
    champion, network = tienlen_agents.load("champion"), tienlen_agents.load("champion:worlds=0")
    assert isinstance(champion, ScoringAgent)
    assert isinstance(network, ScoringAgent)
    batch = Batch("cardgames", 20)
    batch.reset(3)
    view = View(batch)
    found = network.log_probabilities(view)
    assert np.array_equal(champion.log_probabilities(view), found)
    legal = view.legal_actions
    np.testing.assert_allclose(np.add.reduceat(np.exp(found), legal.start), 1, atol=1e-5)
    chosen = network.act(view)
    best = np.maximum.reduceat(found, legal.start)
    assert np.array_equal(found[legal.action == chosen[legal.game]], best)


def test_the_network_alone_looks_at_nothing_and_so_does_a_draw() -> None:
    assert tienlen_agents.load("champion").name == "champion"
    assert history_of([tienlen_agents.load("champion")]) > 1
    for name in ("champion:worlds=0", "champion:size=medium,worlds=0"):
        assert tienlen_agents.load(name).name == name
        assert history_of([tienlen_agents.load(name)]) == 1
    drawn = tienlen_agents.load("champion:sample=1")
    assert history_of([drawn]) == 1
    batch = Batch("cardgames", 400)
    batch.reset(3)
    view = View(batch)
    drawn.reset(5)
    first = drawn.act(view)
    assert (first != drawn.act(view)).any()
    drawn.reset(5)
    assert np.array_equal(drawn.act(view), first)


def test_a_choice_depends_on_the_seed_and_the_position_alone() -> None:
    batch = Batch("cardgames", 40, history_length=HISTORY)
    batch.reset(3)
    champion, heuristic = tienlen_agents.load("champion"), tienlen_agents.load("heuristic")
    champion.reset(1)
    for _ in range(20):
        batch.step(heuristic.act(View(batch)))
    view = View(batch)
    together = champion.act(view)
    one_by_one = [champion.act(view.select([i]))[0] for i in range(len(view))]
    assert np.array_equal(together, one_by_one)


@pytest.fixture
def general_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NetworkAgent:
    """Nothing is shipped but a general network."""
    torch.manual_seed(1)
    config = NetworkConfig.of_general("tienlen", state_width=16, action_width=16, prior="heuristic")
    network = ActionNetwork(config)
    with torch.no_grad():
        for weights in network.parameters():
            weights.normal_(0, 0.1)
    agent = NetworkAgent(network.to_network())
    agent.save(tmp_path / "tienlen-general-v1.safetensors")
    agent.save(tmp_path / "tienlen-general-v2.safetensors")
    monkeypatch.setattr(files, "WEIGHTS", tmp_path)
    return agent


def test_a_general_network_plays_every_variant(general_only: NetworkAgent) -> None:
    assert shipped() == {}
    assert files.newest()["tienlen", files.GENERAL].stem == "tienlen-general-v2"
    own = replace(get_rules("south", 3), pay_cong=8, run_min=4)
    for rules in (get_rules("cardgames"), get_rules("pagat", 3), get_rules("north", 2), own):
        assert files.can_play(rules)
        batch = Batch(rules, 30, history_length=HISTORY)
        batch.reset(3)
        view = View(batch)
        for name in ("champion:worlds=0", "champion:size=general,worlds=0"):
            assert np.array_equal(tienlen_agents.load(name).act(view), general_only.act(view))
        batch.step(tienlen_agents.load("champion").act(view))  # refuses what is not legal
    assert not files.can_play(get_rules("thirteens"))


def test_without_a_general_network_rules_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is shipped for every variant, a network plays its preset with its number of players."""
    path = shipped()["cardgames", "medium"]
    (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(files, "WEIGHTS", tmp_path)
    assert files.can_play(get_rules("cardgames"))
    for rules in (get_rules("pagat"), get_rules("cardgames", 3)):
        assert not files.can_play(rules)
        batch = Batch(rules, 2)
        batch.reset(0)
        about = f"the {rules.name} rules with {rules.num_players} players"
        with pytest.raises(ValueError, match=f"no policy for {about}; there are: cardgames"):
            tienlen_agents.load("champion").act(View(batch))


def test_rules_are_refused_before_a_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shipped()["cardgames", "medium"]
    (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(files, "WEIGHTS", tmp_path)
    for name in ("champion", "champion:worlds=0", "search:prior=champion", f"policy:{path}"):
        check_plays([tienlen_agents.load(name)], Batch("cardgames", 1))
        with pytest.raises(ValueError, match=r"no policy for the pagat rules|not for pagat"):
            check_plays([tienlen_agents.load(name)], Batch("pagat", 1))


@pytest.mark.parametrize("file", [path.stem for path in sorted(WEIGHTS.glob("*.safetensors"))])
@pytest.mark.parametrize("options", ["worlds=0", "worlds=2"])
def test_each_file_plays_or_refuses_before_a_match(file: str, options: str) -> None:
    """What `check_plays` lets through, plays."""
    agent = tienlen_agents.load(f"champion:file={file},{options}")
    preset, size, _ = file.rsplit("-", 2)
    for variant in (("cardgames", 4), ("cardgames", 3), ("south", 4), ("thirteens", 4)):
        batch = Batch(get_rules(*variant), 2, history_length=HISTORY)
        batch.reset(0)
        own = batch.game.name == preset if size == files.GENERAL else variant == (preset, 4)
        if own:
            check_plays([agent], batch)
            batch.step(agent.act(View(batch)))
        else:
            with pytest.raises(ValueError, match=agent.name):
                check_plays([agent], batch)


def test_the_objective_can_be_chosen() -> None:
    """Without the option it follows the reward of the batch; networks and search alike."""
    payments = Batch("south", 120, reward="payments", history_length=HISTORY)
    points = Batch("south", 120, reward="points", history_length=HISTORY)
    heuristic = tienlen_agents.load("heuristic")
    for batch in (payments, points):
        batch.deal(np.arange(120))
    for _ in range(9):
        games = np.flatnonzero(payments.state.turn >= 0)
        chosen = np.full(120, NO_ACTION)
        chosen[games] = heuristic.act(View(payments, games))
        payments.step(chosen)
        points.step(chosen)
    games = np.flatnonzero(payments.state.turn >= 0)
    for kind in ("champion:worlds=0", "champion:worlds=4", "search:worlds=4"):
        for_payments, for_points = (
            tienlen_agents.load(kind).act(View(batch, games)) for batch in (payments, points)
        )
        assert (for_payments != for_points).mean() > 0.01
        for objective, expected in (("payments", for_payments), ("points", for_points)):
            for batch in (payments, points):
                agent = tienlen_agents.load(f"{kind},objective={objective}")
                assert np.array_equal(agent.act(View(batch, games)), expected)
    assert tienlen_agents.load("champion:objective=points").name == "champion:objective=points"
    for kind in ("champion", "search"):
        with pytest.raises(ValueError, match="objective='cards'"):
            tienlen_agents.load(f"{kind}:objective=cards")


def test_the_network_can_play_the_rollouts() -> None:
    view = after_plays(Batch("cardgames", 24, history_length=HISTORY), "heuristic", 10)
    name, networks = "champion:file=tienlen-general-v4,worlds=8", ShippedNetworks(file="tienlen-general-v4")
    agent = tienlen_agents.load(f"{name},rollout=network")
    assert agent.name == f"{name},rollout=network"
    # Without models of players this is a plain search.
    same = SearchAgent(worlds=8, mcmc_effort=0.25, prior_weight=0.3)
    same.set_prior(networks)
    plain = tienlen_agents.load(name).act(view)
    assert np.array_equal(plain, same.act(view))
    same.set_rollout(networks)
    chosen = agent.act(view)
    assert np.array_equal(chosen, same.act(view))
    assert not np.array_equal(chosen, plain)
    assert not np.array_equal(tienlen_agents.load("champion:worlds=8").act(view), plain)
    with pytest.raises(ValueError, match="rollout='heuristic': expected one of network"):
        tienlen_agents.load("champion:rollout=heuristic")
    for settings in ("worlds=0", "sample=1"):
        with pytest.raises(ValueError, match="needs a search"):
            tienlen_agents.load(f"champion:rollout=network,{settings}")


@pytest.mark.parametrize("rules", ["south", "north"])
def test_for_payments_no_action_is_dropped(rules: str) -> None:
    """The newest network is so sure that a floor would drop what pays better; the previous one is not."""
    view = after_plays(Batch(rules, 60, reward="payments", history_length=HISTORY), "heuristic", 8)
    for file, floor in (("tienlen-general-v5", 0.0), ("tienlen-general-v4", 0.00001)):
        plain = SearchAgent(worlds=8, mcmc_effort=0.25, prior_weight=0.3, floor=floor)
        plain.set_prior(ShippedNetworks(file=file))
        agent = tienlen_agents.load(f"champion:file={file},worlds=8")
        assert np.array_equal(agent.act(view), plain.act(view))


@pytest.mark.parametrize(
    ("player", "rules", "history", "least", "most"),
    [
        ("heuristic", "cardgames", HISTORY, 0.5, 1.0),
        ("heuristic", "south", HISTORY, 0.3, 1.0),
        ("greedy", "cardgames", HISTORY, 0.0, 0.15),
        ("champion:worlds=0", "cardgames", HISTORY, 0.0, 0.4),
        ("heuristic", "cardgames", 3, 0.0, 0.0),  # without the whole round nothing is known
    ],
)
def test_it_finds_out_who_plays_by_the_rules_player(
    player: str, rules: str, history: int, least: float, most: float
) -> None:
    view = after_plays(Batch(rules, 60, history_length=history), player, 20)
    view = view.select(np.flatnonzero(view.num_legal > 1))
    agent = tienlen_agents.load("champion")
    assert isinstance(agent, SearchedNetwork)
    (context,), found = agent._contexts_for(view, 1), []
    for decision in agent._decisions(view, np.arange(len(view))):
        if context.start(decision, agent.options_in(context), 0) > 0:
            context.draw(1)
            found.append(context.memory.replay.prior[SHARE] == 1)
    assert len(found) > 10
    assert least <= np.mean(found) <= most


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="size='huge'"):
        tienlen_agents.load("champion:size=huge")
    with pytest.raises(ValueError, match="worlds=-1, expected 0 or more"):
        tienlen_agents.load("champion:worlds=-1")


@pytest.mark.parametrize("agent", ["greedy", "champion:worlds=0"])
def test_a_best_response_has_one_seat_against_three(agent: str) -> None:
    config = BestResponseConfig(
        agent=agent, num_games=16, state_width=16, action_width=16, critic_width=16, threads=1
    )
    trainer = BestResponseTrainer(config)
    seat_policies, snapshots = trainer.pool.seat(np.random.default_rng(0), num_players=4)
    assert not snapshots
    assert trainer.pool.baselines == (agent,)
    assert ((seat_policies == 0).sum(axis=1) == 1).all()
    before = trainer.agent()
    batch = Batch("cardgames", 30)
    batch.reset(1)
    view = View(batch)
    if agent != "greedy":
        assert np.array_equal(before.act(view), tienlen_agents.load(agent).act(view))
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


def test_a_file_is_the_network_whatever_is_newest() -> None:
    agent = tienlen_agents.load("champion:file=cardgames-medium-v5,worlds=0")
    assert agent.name == "champion:file=cardgames-medium-v5,worlds=0"
    rules = get_rules("cardgames")
    own = tienlen_agents.load("champion:size=medium,worlds=0")
    newest = tienlen_agents.load("champion:worlds=0")
    batch = Batch(rules, 64)
    batch.reset(5)
    assert (agent.act(View(batch)) == own.act(View(batch))).all()
    assert (agent.act(View(batch)) != newest.act(View(batch))).any()
    for wrong in ("tienlen-general-v99", "../weights/cardgames-medium-v5"):
        with pytest.raises(ValueError, match=r"expected one of .*tienlen-general-v4"):
            tienlen_agents.load(f"champion:file={wrong}")
