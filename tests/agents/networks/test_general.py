"""One network for every variant: what it reads, and the ordinary networks that are made from it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import tienlen_agents
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_by_name
from tienlen_agents.networks.features.general import DROPPED, ColumnMap, add_rule_inputs, pick_columns
from tienlen_agents.networks.features.tienlen import NUM_ACTION_FEATURES, NUM_SUITS
from tienlen_agents.networks.general import fitted, generalised, reward_of
from tienlen_agents.networks.network import Network, NetworkConfig, general_inputs
from tienlen_agents.settings import ConfigError
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import WrongGameError
from tienlen_env.games.registry import game_named, get_rules, has_payments, variants_of
from tienlen_env.games.tienlen.rules import Rules, deck_of
from tienlen_train.learner import TrajectoryTensors
from tienlen_train.network import ActionNetwork, as_bfloat16
from tienlen_train.opponent_pool import OpponentPool
from tienlen_train.ppo import PPOConfig, PPOTrainer
from tienlen_train.rollout import PolicyWeights, RolloutJob, rollout
from tienlen_train.variants import ShardVariant, mixed_variant, parse_variant, parse_variants, reward_scale

GENERAL = general_inputs("tienlen")
TABLES = [rules for _, rules in variants_of(game_named("tienlen"))]


def table_id(rules: Rules) -> str:
    return f"{rules.name}-{rules.num_players}"


def a_network(seed: int = 1, **settings: Any) -> ActionNetwork:
    """A general network with random weights in all layers."""
    torch.manual_seed(seed)
    settings = {"state_width": 32, "action_width": 16, "prior": "heuristic", **settings}
    network = ActionNetwork(NetworkConfig.of_general("tienlen", **settings))
    with torch.no_grad():
        for weights in network.parameters():
            weights.normal_(0, 0.1)
    return network


def some_view(rules: Rules, num_games: int = 20, steps: int = 14) -> View:
    reward = "payments" if has_payments(rules) else "points"
    batch = Batch(rules, num_games, reward=reward, auto_reset=True, history_length=1)
    batch.reset(3)
    rng = np.random.default_rng(3)
    for _ in range(steps):
        batch.step(batch.sample(rng))
    view = View(batch)
    return view.select(np.flatnonzero(view.num_legal > 1))


@pytest.mark.parametrize("rules", TABLES, ids=table_id)
def test_every_column_of_a_variant_is_one_of_the_general_ones(rules: Rules) -> None:
    config = NetworkConfig.of(rules, record=True)
    features = features_by_name("tienlen")
    state, action = GENERAL.state_columns(rules), GENERAL.action_columns(rules)
    assert len(state.index) == config.state_inputs
    assert len(action.index) == config.action_inputs
    assert len(GENERAL.privileged_columns(rules).index) == features.hidden.num_features(rules)
    assert features.outcome is not None
    assert len(GENERAL.outcome_columns(rules).index) == features.outcome.num_features(rules)
    for columns in (state, action, GENERAL.privileged_columns(rules), GENERAL.outcome_columns(rules)):
        kept = columns.index[columns.index != DROPPED]
        assert (np.diff(kept) > 0).all()
        assert kept[-1] < columns.size
    # Only the points of earlier rounds have no column.
    batch = Batch(rules, 1)
    layout = batch.game.observation(rules, 0)
    dropped = np.flatnonzero(state.index == DROPPED)
    scores = range(*layout["scores"].slice.indices(layout.size)) if "scores" in layout else ()
    assert dropped.tolist() == list(scores)
    assert GENERAL.num_action_inputs == NUM_ACTION_FEATURES + NUM_SUITS


def test_columns() -> None:
    columns = ColumnMap([0, 1, DROPPED, DROPPED, 4, 6], 8)
    rows = np.arange(1, 13).reshape(2, 6)
    assert columns.expand(rows).tolist() == [[1, 2, 0, 0, 5, 0, 6, 0], [7, 8, 0, 0, 11, 0, 12, 0]]
    weights, out = np.arange(16, dtype=np.float32).reshape(2, 8), np.empty((2, 6), np.float32)
    pick_columns(weights, columns.index, out)
    assert out.tolist() == [[0, 1, 0, 0, 4, 6], [8, 9, 0, 0, 12, 14]]
    bias = np.array([1, 2], np.float32)
    add_rule_inputs(weights, np.array([1, 0, 1], np.uint8), bias)
    assert bias.tolist() == [1 + 5 + 7, 2 + 13 + 15]


def test_rules_that_differ_have_other_inputs() -> None:
    every = [
        (rules, reward)
        for rules in TABLES
        for reward in {"zero_sum", "win", reward_of(rules)}
        if rules.name != "south_winner" or reward == "payments"  # else it is the game of `south_count`
    ]
    found = {GENERAL.rule_inputs(rules, reward).tobytes() for rules, reward in every}
    # Two players have the same objective with points and with first places.
    two = sum(rules.num_players == 2 and rules.name != "south_winner" for rules in TABLES)
    assert len(found) == len(every) - two
    rules = get_rules("south", 4)
    changes: list[dict[str, Any]] = [
        {"pay_cong": 0}, {"pay_cong": 8}, {"cong": "plays_on"}, {"chop_chain": "each"},
        {"pay_places": (4, 2)},
        {"ladder": ("2x3", "4x1")}, {"rejoin": ()}, {"last_two": "ends"}, {"opening": "every"},
        {"opening_play": "free"}, {"run_min": 4}, {"twos_in": "runs"},
        {"ladder": ("2x3", "4x1"), "chop_longer": False},
        {"instant_wins": (), "pay_instant": 0}, {"pay_held_twos": (0, 0)}, {"heir": "last_live"},
        {"held_overlap": "quads_first"}, {"knockout": "trick"}, {"pass_lock": False, "rejoin": ()},
        {"pay_first": 2}, {"last_card_duty": "highest"}, {"last_card_duty": "pays"},
        {"cards_each": 12}, {"cards_each": 12, "deck": deck_of("3456789TJQKA")},
    ]  # fmt: skip
    inputs = [GENERAL.rule_inputs(replace(rules, **change), "payments").tobytes() for change in changes]
    assert len({GENERAL.rule_inputs(rules, "payments").tobytes(), *inputs}) == len(changes) + 1
    # Prices in another unit are the same game.
    dearer = {
        name: tuple((s, 2 * u) for s, u in amounts) if name.endswith("bombs") else
        tuple(2 * u for u in amounts) if isinstance(amounts, tuple) else 2 * amounts
        for name, amounts in vars(rules).items() if name.startswith("pay_")
    }  # fmt: skip
    doubled = replace(rules, **dearer)
    assert np.array_equal(GENERAL.rule_inputs(doubled, "payments"), GENERAL.rule_inputs(rules, "payments"))
    with pytest.raises(ValueError, match="objective='cards': expected one of"):
        GENERAL.rule_inputs(rules, "cards")
    with pytest.raises(WrongGameError, match="inputs are of Tiến lên"):
        GENERAL.rule_inputs(get_rules("thirteens"), "zero_sum")


@pytest.mark.parametrize("rules", TABLES[::2], ids=table_id)
def test_a_fitted_network_scores_as_the_general_one(rules: Rules) -> None:
    """The general network itself, on general inputs, in torch; its fitted network in compiled loops."""
    module = a_network()
    network, reward = module.to_network(), reward_of(rules)
    own = fitted(network, rules, reward)
    inputs = own.config.reader().read(some_view(rules))
    described = np.tile(GENERAL.rule_inputs(rules, reward), (len(inputs.num_legal), 1))
    observation = np.hstack([GENERAL.state_columns(rules).expand(inputs.observation), described])
    features = GENERAL.action_columns(rules).expand(inputs.action_features)
    with torch.inference_mode():
        wanted = module(
            torch.from_numpy(observation).float(),
            as_bfloat16(features).float(),
            torch.from_numpy(inputs.segment_ids),
            torch.from_numpy(inputs.prior),
        ).numpy()
    # The points of earlier rounds are no inputs; these games have none.
    np.testing.assert_allclose(own.logits(inputs), wanted, rtol=1e-4, atol=1e-4)


def test_a_network_of_a_variant_becomes_a_general_one() -> None:
    for rules in (get_rules("south", 3), get_rules("north", 4), get_rules("cardgames", 2)):
        torch.manual_seed(1)
        module = ActionNetwork(NetworkConfig.of(rules, record=True, state_width=32, action_width=16))
        with torch.no_grad():
            for weights in module.parameters():
                weights.normal_(0, 0.1)
        network = module.to_network()
        wide = generalised(network)
        assert wide.config.is_general
        back = fitted(wide, rules, reward_of(rules))
        assert back.config == network.config
        view = some_view(rules)
        inputs = network.config.reader().read(view)
        assert np.array_equal(back.logits(inputs), network.logits(inputs))
    assert fitted(network, rules, "zero_sum") is network
    with pytest.raises(ValueError, match="the network plays tienlen, not the thirteens rules"):
        fitted(wide, get_rules("thirteens"), "zero_sum")
    bare = ActionNetwork(NetworkConfig.of(rules, state_width=32, action_width=16)).to_network()
    with pytest.raises(ValueError, match="with a play summary"):
        generalised(bare)
    with pytest.raises(ValueError, match="not available in thirteens"):
        NetworkConfig.of_general("thirteens")
    with pytest.raises(ValueError, match="has no reader"):
        wide.config.reader()


def test_an_untrained_network_with_the_prior_plays_like_the_heuristic_everywhere() -> None:
    config = NetworkConfig.of_general("tienlen", state_width=16, action_width=16, prior="heuristic")
    agent, heuristic = NetworkAgent(ActionNetwork(config).to_network()), tienlen_agents.load("heuristic")
    for rules in [*TABLES[::3], replace(get_rules("south", 3), pay_cong=0, run_min=4)]:
        view = some_view(rules)
        assert np.array_equal(agent.act(view), heuristic.act(view))


def test_files(tmp_path: Path) -> None:
    agent = NetworkAgent(a_network().to_network(), card={"note": "tiến lên"})
    path = tmp_path / "policy.safetensors"
    agent.save(path)
    again = tienlen_agents.load(f"policy:{path}")
    assert isinstance(again, NetworkAgent)
    assert (again.digest, again.card) == (agent.digest, agent.card)
    for rules in TABLES[::5]:
        view = some_view(rules)
        assert np.array_equal(again.act(view), agent.act(view))
    config = replace(agent.network.config, num_rule_inputs=GENERAL.num_rule_inputs + 1)
    shapes = {**agent.network.tensors}
    shapes["trunk.0.weight"] = np.pad(shapes["trunk.0.weight"], ((0, 0), (0, 1)))
    NetworkAgent(Network(config, shapes)).save(path)
    with pytest.raises(ValueError, match="not the general ones of tienlen in this version"):
        NetworkAgent.load(path)


def test_a_network_of_before_reads_the_first_inputs_of_the_rules() -> None:
    """Its fitted network is that of a network that reads all of them, with weights of 0 for the new ones."""
    (before,) = GENERAL.num_rule_inputs_before
    more = GENERAL.num_rule_inputs - before
    assert more > 0
    full = a_network().to_network()
    first = ("trunk.0.weight", "belief.0.weight")
    tensors = {name: t[:, :-more] if name in first else t for name, t in full.tensors.items()}
    old = Network(replace(full.config, num_rule_inputs=before), tensors)
    old.config.check()
    padded = {name: np.pad(t, ((0, 0), (0, more))) if name in first else t for name, t in tensors.items()}
    for rules in [*TABLES[::4], replace(get_rules("south", 3), cards_each=17, pay_first=2)]:
        found, wanted = (fitted(n, rules, reward_of(rules)) for n in (old, Network(full.config, padded)))
        for name, tensor in wanted.tensors.items():
            assert np.array_equal(found.tensors[name], tensor)
    wide = generalised(old)
    assert wide.config == full.config
    assert all(np.array_equal(wide.tensors[name], padded[name]) for name in padded)
    with pytest.raises(ValueError, match="not the general ones of tienlen in this version"):
        replace(full.config, num_rule_inputs=before + 1).check()


def test_drawing_depends_on_the_seed_alone() -> None:
    network, rules = a_network().to_network(), get_rules("pagat", 3)
    view = some_view(rules)
    first, second = NetworkAgent(network, sample=True), NetworkAgent(network, sample=True)
    first.act(view)  # other draws, before the reset
    for agent in (first, second):
        agent.reset(5)
    assert np.array_equal(first.act(view), second.act(view))
    first.reset(6)
    second.reset(5)
    assert not np.array_equal(first.act(view), second.act(view))


def test_the_objective_is_an_input() -> None:
    network, rules = a_network().to_network(), get_rules("south", 4)
    view = some_view(rules)
    paid, points = NetworkAgent(network), NetworkAgent(network, objective="points")
    assert not np.allclose(paid.log_probabilities(view), points.log_probabilities(view))
    view = some_view(get_rules("cardgames", 4))
    assert np.array_equal(paid.log_probabilities(view), points.log_probabilities(view))


# ---------------------------------------------------------------- training


def test_texts_of_variants() -> None:
    assert parse_variant("south:3") == ShardVariant(get_rules("south", 3), "payments")
    assert parse_variant("south:3:points") == ShardVariant(get_rules("south", 3), "zero_sum")
    assert parse_variant("pagat") == ShardVariant(get_rules("pagat", 4), "zero_sum")
    assert [v and v.name for v in parse_variants("south:3:points mixed pagat")] == [
        "south-3-points", None, "pagat-4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "mixed", "nobody:4", "south:5", "south:x", "south:4:units", "pagat:4:payments", "pagat thirteens",
     "thirteens"],
)  # fmt: skip
def test_texts_that_are_not_variants(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|not available"):
        parse_variants(text)
    with pytest.raises(ConfigError, match="variants: expected presets of one game"):
        PPOConfig(variants=text)


@pytest.mark.parametrize(
    ("settings", "field"),
    [({"rules": "south"}, "rules"), ({"env": "tienlen"}, "env"), ({"num_players": 3}, "num_players"),
     ({"reward": "win"}, "reward"), ({"record": False}, "record"), ({"opponent_seats": 1}, "opponent_seats")],
)  # fmt: skip
def test_settings_that_variants_replace(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=f"{field}: expected"):
        PPOConfig(variants="south:4 pagat:3", **settings)


def test_mixed_rules_are_valid_and_reproducible() -> None:
    preset = get_rules("cardgames")
    found = [mixed_variant(preset, np.random.default_rng(seed)) for seed in range(60)]
    assert found == [mixed_variant(preset, np.random.default_rng(seed)) for seed in range(60)]
    assert len({rules.digest() for rules, _ in found}) > 50
    assert {rules.num_players for rules, _ in found} == {2, 3, 4}
    assert {reward for _, reward in found} == {"zero_sum", "payments"}
    assert all(has_payments(rules) for rules, reward in found if reward == "payments")
    assert all(reward_scale(variant) > 0 for variant in found[:3])


def test_tables_of_several_sizes() -> None:
    """Seats that a table does not have have no agent; in each game at least one seat is the learner's."""
    config = PPOConfig(variants="south:4 pagat:2", num_games=600, baseline_share=0.6, snapshot_share=0)
    pool = OpponentPool(config, ("heuristic",))
    sizes = np.repeat([2, 3, 4], 200)
    seats = pool.seat(np.random.default_rng(1), sizes).seat_policies
    assert seats.shape == (600, 4)
    is_seat = np.arange(4) < sizes[:, None]
    assert (seats[~is_seat] == -1).all()
    assert (seats[is_seat] >= 0).all()
    assert (np.where(is_seat, seats == 0, False).any(axis=1)).all()
    theirs = (np.where(is_seat, seats == 1, False)).sum(axis=1)
    assert 0.5 < (theirs > 0).mean() < 0.7
    for size in (2, 3, 4):
        assert set(theirs[sizes == size].tolist()) == set(range(size))


@pytest.mark.parametrize("critic", ["own", "hands", "playout"])
def test_trajectories_are_what_the_general_network_reads(critic: Any) -> None:
    """The learner's forward pass gives the log-probabilities of the specialised network that played."""
    module = a_network()
    weights = {name: value.detach().clone() for name, value in module.state_dict().items()}
    for text in ("north:3", "south:4:points", "cardgames:2"):
        variant = parse_variant(text)
        scale = reward_scale(variant)
        job = RolloutJob(
            rules=variant.rules,
            keys=np.arange(6),
            seat_policies=np.zeros((6, variant.rules.num_players), np.int64),
            policies=(PolicyWeights(0, module.config, weights),),
            reward=variant.reward,
            reward_scale=scale,
            critic=critic,
        )
        found = rollout(job)
        plain = rollout(replace(job, reward_scale=1.0))
        np.testing.assert_allclose(found.reward * scale, plain.reward, rtol=1e-5)
        assert np.isnan(found.scores[:, variant.rules.num_players :]).all()
        np.testing.assert_allclose(found.scores[:, : variant.rules.num_players].sum(axis=1), 0, atol=1e-5)
        assert found.inputs.observation.shape == (len(found), module.config.state_inputs)
        trainer_width = {"own": 0, "hands": 188, "playout": 204}[critic]
        assert found.privileged.shape == (len(found), trainer_width)
        tensors = TrajectoryTensors.of(found, torch.device("cpu"), torch.float32)
        batch = tensors.gather(np.arange(len(found)))
        with torch.inference_mode():
            logits = module(batch.observation, batch.action_features, batch.segment_ids, batch.prior)
        for b, (start, num) in enumerate(
            zip(found.inputs.segment_start, found.inputs.num_legal, strict=True)
        ):
            log_probability = torch.log_softmax(logits[start : start + num], 0)
            chosen = found.chosen[b] - start
            assert float(log_probability[chosen]) == pytest.approx(float(found.log_probability[b]), abs=1e-3)


def a_config(**settings: Any) -> PPOConfig:
    return PPOConfig(
        **{
            "variants": "cardgames:4 north:2 mixed south:3:points", "num_games": 40, "shards": 2,
            "batch_size": 300, "state_width": 32, "action_width": 16, "critic_width": 16, "threads": 1,
            "decisions": 10**6, "snapshot_every": 1, "snapshot_share": 0.3, "eval_deals": 2,
            "precision": "fp32",
            **settings,
        }
    )  # fmt: skip


def test_a_run_on_several_variants() -> None:
    trainer = PPOTrainer(a_config())
    plans = [trainer.jobs(trainer.plan(iteration)) for iteration in (0, 1, 2)]
    rules = [[job.rules.name for job in jobs] for jobs in plans]
    assert rules[0] == ["cardgames", "north"]
    assert rules[1] == ["custom-" + plans[1][0].rules.digest(), "south"] or rules[1][1] == "south"
    assert rules[2] == rules[0]
    assert [job.reward for job in plans[1]][1] == "zero_sum"
    other = PPOTrainer(a_config())
    for _ in range(4):
        metrics = trainer.iterate()
        assert metrics["approx_kl"] < 0.1
        other.iterate()
    state = other.state()
    fresh = PPOTrainer(a_config())
    fresh.restore(4, state)
    one, two = trainer.iterate(), fresh.iterate()
    for name in ("policy_loss", "value_loss", "entropy", "decisions"):
        assert one[name] == two[name]
    scores = trainer.evaluate()
    assert set(scores) == {
        *(f"points_v_heuristic_{name}" for name in ("cardgames-4", "south-3-points")),
        "units_v_heuristic_north-2",
        *(f"firsts_v_heuristic_{name}" for name in ("cardgames-4", "south-3-points", "north-2")),
    }


def test_a_run_starts_from_a_network_of_either_kind(tmp_path: Path) -> None:
    rules = get_rules("north", 4)
    own = NetworkConfig.of(rules, record=True, state_width=32, action_width=16, prior="heuristic")
    torch.manual_seed(2)
    NetworkAgent(ActionNetwork(own).to_network()).save(tmp_path / "own.safetensors")
    trainer = PPOTrainer(a_config(start_from=str(tmp_path / "own.safetensors")))
    assert trainer.network.config.is_general
    trainer.agent().save(tmp_path / "general.safetensors")
    again = PPOTrainer(a_config(start_from=str(tmp_path / "general.safetensors")))
    assert again.network.config == trainer.network.config
    # Several files, of either kind: the mean of the weights.
    with torch.no_grad():
        for weights in trainer.network.parameters():
            weights.add_(1.0)
    trainer.agent().save(tmp_path / "more.safetensors")
    both = PPOTrainer(a_config(start_from=f"{tmp_path}/own.safetensors {tmp_path}/more.safetensors"))
    for mean, one in zip(both.network.parameters(), again.network.parameters(), strict=True):
        torch.testing.assert_close(mean, one + 0.5)
    # A run on one variant starts from what the general network is there.
    single = PPOTrainer(
        replace(a_config(), variants=None, rules="north", start_from=str(tmp_path / "general.safetensors"))
    )
    assert single.network.config == own
    bare = NetworkConfig.of(rules, state_width=32, action_width=16)
    NetworkAgent(ActionNetwork(bare).to_network()).save(tmp_path / "bare.safetensors")
    with pytest.raises(ValueError, match=r"bare\.safetensors.*with a play summary"):
        PPOTrainer(a_config(start_from=str(tmp_path / "bare.safetensors")))


def test_the_table_of_a_finished_run(tmp_path: Path) -> None:
    trainer = PPOTrainer(a_config(final_deals=2))
    trainer.report(tmp_path, Console(file=io.StringIO(), width=80))
    lines = (tmp_path / "variants.csv").read_text().splitlines()
    assert lines[0].startswith("variant,opponent,figure,mean")
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["cardgames-4", "heuristic", "points"],
        ["north-2", "heuristic", "units"],
        ["south-3-points", "heuristic", "points"],
    ]
