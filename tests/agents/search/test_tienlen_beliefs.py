"""Belief networks: what they say of hidden hands, how they learn it, the deals that a search draws by it."""

import json
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
import pytest
import torch
from rich.console import Console

import tienlen_agents
from tests.agents.search.test_search import decision_of, deviations, start, views
from tienlen_agents.arena import match
from tienlen_agents.networks import inference
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features.tienlen_general import general_inputs
from tienlen_agents.networks.general import fitted, generalised
from tienlen_agents.networks.network import Network, NetworkConfig, read_policy, shapes_of
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.search import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import BeliefAgent
from tienlen_agents.settings import ConfigError
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.common.cards import FULL_DECK, NUM_CARDS, parse_cards
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen import state as R
from tienlen_train.belief import BeliefConfig, BeliefTrainer
from tienlen_train.loop import train
from tienlen_train.network import ActionNetwork

SMALL = {"state_width": 16, "action_width": 8, "belief_width": 24, "prior": "none"}


def general_network(seed=1, **settings):
    """A general network of random weights."""
    rng = np.random.default_rng(seed)
    config = NetworkConfig.of_general("tienlen", **SMALL | settings)
    return Network(
        config, {k: rng.normal(0, 0.2, s).astype(np.float32) for k, s in shapes_of(config).items()}
    )


# ---------------------------------------------------------------- deals


def all_deals(cards, places):
    """Every way to deal some cards to places of given sizes: dicts from column to cards."""
    if len(places) == 1:
        yield {places[0][0]: cards}
        return
    (column, size), *rest = places
    for own in combinations(cards, size):
        for deal in all_deals([card for card in cards if card not in own], rest):
            yield {column: own, **deal}


def check_draws(view, index, weights, factor, *, inference, num_worlds=4000):
    """Compare how often each place gets each card with the products of weights times a factor of the deal."""
    seat, num_players = int(view.seat[index]), view.rules.num_players
    unseen = FULL_DECK & ~int(view.hand[index] | np.bitwise_or.reduce(view.played[index]))
    cards = [card for card in range(NUM_CARDS) if unseen >> card & 1]
    sizes = {(seat + k) % num_players: int(view.num_cards_left[index][k]) for k in range(1, num_players)}
    sizes[R.UNDEALT] = len(cards) - sum(sizes.values())
    places = sorted((place for place in sizes.items() if place[1]), key=lambda place: place[1])
    expected, total = np.zeros((5, NUM_CARDS)), 0.0
    for deal in all_deals(cards, places):
        probability = factor(deal) * prod(
            weights[(column - seat) % num_players - 1, card]
            for column, own in deal.items()
            if column != R.UNDEALT
            for card in own
        )
        total += probability
        for column, own in deal.items():
            expected[column, list(own)] += probability
    context = SearchContext(view.rules)
    decision = decision_of(view, index)._replace(card_weights=weights)
    start(context, decision, seed=5, inference=inference, mcmc_effort=4.0)
    drawn = context.draw(num_worlds)[:, : R.UNDEALT + 1]
    drawn[:, seat] = 0
    share = ((drawn[:, :, None] >> np.arange(NUM_CARDS)) & 1).mean(axis=0)
    np.testing.assert_allclose(share, expected / total, atol=0.045)


def random_weights(rng, num_players):
    return np.exp(rng.normal(0, 1.5, (num_players - 1, NUM_CARDS)))


@pytest.mark.parametrize("inference", [0.0, 0.6])
def test_deals_are_as_likely_as_the_products_of_their_weights(inference):
    rng, found = np.random.default_rng(4), 0
    for batch, games, view in views(tienlen_agents.load("greedy_long"), "cardgames", 30):
        for index, game in enumerate(games):
            left = view.num_cards_left[index][1:]
            if found == 6 or (left > 0).sum() < 2 or not 4 <= left.sum() <= 7:
                continue

            def factor(deal, game=game, view=view, index=index, batch=batch):
                if not inference:
                    return 1.0
                hands = [sum(1 << card for card in deal.get(seat, ())) for seat in range(4)]
                hands[view.seat[index]] = int(view.hand[index])
                return (1 - inference) ** deviations(batch, game, hands)

            check_draws(view, index, random_weights(rng, 4), factor, inference=inference)
            found += 1
    assert found == 6


@pytest.mark.parametrize(
    "hands",
    [["3s 9d Kh", "4c 8d 2h"], ["3s 9d", "4c", "5c Td"], ["3s", "4c", "5c"]],
    ids=["2", "3", "one each"],
)
def test_undealt_cards_have_the_weight_of_1(hands):
    batch = Batch("cardgames", 1, num_players=len(hands), history=8)
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    weights = random_weights(np.random.default_rng(3), len(hands))
    check_draws(View(batch), 0, weights, lambda deal: 1.0, inference=0.0)


def test_hands_set_by_hand_that_no_deal_can_have_are_drawn_without_weights():
    # Three opponents and undealt cards.
    batch = Batch("cardgames", 1, history=8)
    batch.set_hands([[parse_cards(hand) for hand in ("3s 9d", "4c", "5c", "6c")]], leader=0)
    decision = decision_of(View(batch))._replace(card_weights=random_weights(np.random.default_rng(3), 4))
    context = SearchContext(batch.rules)
    start(context, decision, inference=0.0)
    share = ((context.draw(4000)[:, 1:4, None] >> np.arange(NUM_CARDS)) & 1).mean(axis=0)
    own = [card for card in range(NUM_CARDS) if int(batch.state.hands[0, 0]) >> card & 1]
    np.testing.assert_allclose(np.delete(share, own, axis=1), 1 / 50, atol=0.015)


def test_the_same_worlds_come_from_the_same_weights_and_seed():
    batch = Batch("cardgames", 1, history=160)
    batch.reset(3)
    decision = decision_of(View(batch))._replace(card_weights=random_weights(np.random.default_rng(3), 4))
    context, drawn = SearchContext(batch.rules), []
    for seed in (1, 2, 1):
        start(context, decision, seed=seed)
        drawn.append(context.draw(50))
    np.testing.assert_array_equal(drawn[0], drawn[2])
    assert len(np.unique(drawn[0], axis=0)) == 50
    assert (drawn[0] != drawn[1]).any()
    for world in drawn[0]:
        hands = [int(hand) for hand in world[:4]]
        assert sum(hand.bit_count() for hand in hands) == 52
        assert np.bitwise_or.reduce(hands) == FULL_DECK


class Peeking:
    """A uniform prior whose card weights are the true hands; for tests alone."""

    name = "peeking"

    def __init__(self, log_weight):
        self.log_weight = log_weight
        self.policy = tienlen_agents.load("heuristic")

    def reset(self, seed):
        pass

    def act(self, view):
        return self.policy.act(view)

    def log_probabilities(self, view):
        return np.repeat(-np.log(view.num_legal), view.num_legal).astype(np.float32)

    def log_probabilities_and_card_weights(self, view):
        batch, games = view.source
        found = np.ones((len(view), view.rules.num_players - 1, NUM_CARDS))
        for i, game in enumerate(games):
            for after in range(1, view.rules.num_players):
                hand = int(batch.state.hands[game, (view.seat[i] + after) % view.rules.num_players])
                own = [card for card in range(NUM_CARDS) if hand >> card & 1]
                found[i, after - 1, own] = np.exp(self.log_weight)
        return self.log_probabilities(view), found


def test_a_search_plays_by_the_card_weights_of_its_prior():
    assert isinstance(Peeking(0.0), BeliefAgent)
    scores = []
    for log_weight in (0.0, 5.0):
        agent = SearchAgent(worlds=8, inference=0.0, prior_weight=0.0)
        agent.set_prior(Peeking(log_weight))
        found = match(
            agent, tienlen_agents.load("heuristic"), rules=get_rules("cardgames"), num_deals=60, seed=3
        )
        scores.append(found.scores[0].main.mean)
    assert scores[1] > scores[0] + 0.2


class Wrong(Peeking):
    """A prior with card weights that cannot be."""

    def __init__(self, change):
        super().__init__(1.0)
        self.change = change

    def log_probabilities_and_card_weights(self, view):
        log_probabilities, weights = super().log_probabilities_and_card_weights(view)
        return log_probabilities, self.change(weights)


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w[:, :2],
        lambda w: w[:, :, :51],
        lambda w: w[:-1],
        lambda w: w.astype(np.float32),
        lambda w: w * 0,
        lambda w: w * np.nan,
        lambda w: w * 1e5,
        lambda w: -w,
        lambda w: None,
    ],
)
def test_card_weights_that_cannot_be_are_refused(change):
    agent, batch = SearchAgent(worlds=2), Batch("cardgames", 3, history_length=160)
    agent.set_prior(Wrong(change))
    batch.reset(1)
    with pytest.raises(ValueError, match="card weights: expected float64"):
        agent.act(View(batch))


# ---------------------------------------------------------------- networks


def test_card_weights_are_those_of_the_torch_module():
    network = fitted(general_network(), get_rules("cardgames", 4), "zero_sum")
    agent, batch = NetworkAgent(network), Batch("cardgames", 70, history_length=1)
    batch.reset(1)
    view = View(batch)
    log_probabilities, weights = agent.log_probabilities_and_card_weights(view)
    np.testing.assert_array_equal(log_probabilities, agent.log_probabilities(view))
    observation = network.config.reader().read(view).observation
    with torch.no_grad():
        found = ActionNetwork.of(network).beliefs(torch.from_numpy(observation).float()).numpy()
    expected = np.exp(
        np.clip(inference.SHARPNESS * found, -inference.LARGEST_BELIEF, inference.LARGEST_BELIEF)
    )
    assert weights.shape == (70, 3, NUM_CARDS)
    assert weights.std() > 0.1
    np.testing.assert_allclose(weights, expected, rtol=1e-4)
    for index in (0, 33, 69):  # a decision alone has the same bits as in a batch
        _, alone = agent.log_probabilities_and_card_weights(view.select([index]))
        np.testing.assert_array_equal(alone[0], weights[index])


def test_weights_are_clipped_and_without_a_belief_network_there_are_none():
    network = general_network()
    tensors = {k: v * (1e6 if k == "belief.4.weight" else 1) for k, v in network.tensors.items()}
    batch = Batch("cardgames", 5, history_length=1)
    batch.reset(1)
    for found, shape in (
        (Network(network.config, tensors), (5, 3, NUM_CARDS)),
        (general_network(belief_width=0), (5, 0, 0)),
    ):
        agent = NetworkAgent(fitted(found, get_rules("cardgames", 4), "zero_sum"))
        _, weights = agent.log_probabilities_and_card_weights(View(batch))
        assert weights.shape == shape
        assert np.isfinite(weights).all()
        assert (weights > 0).all()


def test_observations_that_compiled_code_would_misread_are_refused():
    network = fitted(general_network(), get_rules("cardgames", 4), "zero_sum")
    size = network.config.state_inputs
    for wrong in (np.zeros((2, size - 1), np.uint8), np.zeros((2, size)), np.zeros(size, np.uint8), None):
        with pytest.raises(ValueError, match="observation: expected uint8"):
            network.card_weights(wrong)


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_a_variant_has_the_beliefs_of_its_opponents(num_players):
    general, rules = general_network(), get_rules("south", num_players)
    own = fitted(general, rules, "payments")
    assert own.tensors["belief.4.weight"].shape == ((num_players - 1) * NUM_CARDS, 24)
    np.testing.assert_array_equal(
        own.tensors["belief.4.bias"], general.tensors["belief.4.bias"][: len(own.tensors["belief.4.bias"])]
    )
    batch = Batch(rules, 6, history_length=1)
    batch.reset(2)
    reader = own.config.reader().read(View(batch))
    columns = inputs_of(rules, reader.observation)
    np.testing.assert_allclose(
        own.card_weights(reader.observation), general.card_weights(columns)[:, : num_players - 1], rtol=1e-4
    )


def inputs_of(rules, observation):
    """General observations of a variant's, with the inputs of its rules."""
    found = general_inputs().state_columns(rules).expand(observation)
    inputs = general_inputs().rule_inputs(rules, "payments")
    return np.concatenate([found, np.broadcast_to(inputs, (len(found), len(inputs)))], axis=1)


def test_a_network_of_one_variant_becomes_general_with_its_beliefs():
    rules = get_rules("cardgames", 3)
    own = fitted(general_network(), rules, "zero_sum")
    again = fitted(generalised(own), rules, "zero_sum")
    for name, tensor in own.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)


def test_a_file_keeps_the_belief_network(tmp_path):
    network = general_network()
    NetworkAgent(network).save(tmp_path / "a.safetensors")
    found, _ = read_policy(tmp_path / "a.safetensors")
    assert found.config == network.config
    for name, tensor in network.tensors.items():
        np.testing.assert_array_equal(found.tensors[name], tensor)


def test_networks_without_it_have_the_digests_of_before():
    agent = NetworkAgent.load(WEIGHTS / "cardgames-medium-v5.safetensors")
    assert agent.network.config.belief_width == 0
    assert agent.digest in (WEIGHTS / "cardgames-medium-v5.md").read_text()


@pytest.mark.parametrize(
    ("game", "width", "problem"),
    [
        ("thirteens", 8, "unavailable for thirteens"),
        ("tienlen", -1, "belief_width=-1"),
        ("tienlen", 10**6, "belief_width"),
    ],
)
def test_configurations_that_cannot_be_are_refused(game, width, problem):
    rules = get_rules("thirteens") if game == "thirteens" else get_rules("cardgames", 4)
    with pytest.raises(ValueError, match=problem):
        replace(NetworkConfig.of(rules, prior="none"), belief_width=width).check()


# ---------------------------------------------------------------- training

TINY = {
    "variants": "cardgames:4 cardgames:3 north:2",
    "num_games": 60,
    "shards": 3,
    "batch_size": 256,
    "belief_width": 16,
    "threads": 1,
    "baseline_share": 0.5,
    "precision": "fp32",
}


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.safetensors"
    NetworkAgent(general_network(belief_width=0)).save(path)
    return str(path)


def test_the_hands_of_some_rounds_are_learned(policy):
    config = BeliefConfig(start_from=policy, decisions=10_000, learning_rate=5e-3, **TINY)
    trainer = BeliefTrainer(config)
    trajectories = trainer.play()
    found = [trainer.learn(trajectories) for _ in range(40)]
    assert abs(found[0]["gain"]) < 0.05
    assert found[-1]["gain"] > 0.2
    assert found[-1]["true_owner"] > found[0]["true_owner"] + 0.1
    # Loss and gain add up to the loss without a belief network.
    assert found[-1]["loss"] + found[-1]["gain"] == pytest.approx(
        found[0]["loss"] + found[0]["gain"], abs=1e-4
    )


def test_training_leaves_the_policy(tmp_path, policy):
    config = BeliefConfig(start_from=policy, out=str(tmp_path / "run"), decisions=10_000, **TINY)
    _, out = train(BeliefTrainer, config, Console(quiet=True))
    line = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    assert line["loss"] > 0
    assert 0 < line["true_owner"] < 1
    before, after = NetworkAgent.load(policy).network, NetworkAgent.load(out / "policy.safetensors").network
    assert after.config == replace(before.config, belief_width=16)
    for name, tensor in before.tensors.items():
        np.testing.assert_array_equal(after.tensors[name], tensor)
    # A further run goes on with the belief network of a file that has one of the same width.
    again = BeliefTrainer(replace(config, start_from=str(out / "policy.safetensors"), out=None))
    for name, tensor in again.network.to_network().tensors.items():
        np.testing.assert_array_equal(tensor, after.tensors[name])


def test_a_stopped_run_continues_exactly(tmp_path, policy):
    config = BeliefConfig(start_from=policy, decisions=10_000, checkpoint_every=1, **TINY)
    whole, _ = train(BeliefTrainer, replace(config, out=str(tmp_path / "a")), Console(quiet=True))
    stopped = replace(config, out=str(tmp_path / "b"), stop_after=2)
    train(BeliefTrainer, stopped, Console(quiet=True))
    resumed, _ = train(BeliefTrainer, replace(stopped, stop_after=0, resume=True), Console(quiet=True))
    for one, other in zip(whole.weights, resumed.weights, strict=True):
        assert torch.equal(one, other)


def test_the_loss_without_knowledge_is_the_entropy_of_the_hand_sizes(policy):
    trainer = BeliefTrainer(BeliefConfig(start_from=policy, decisions=10_000, learning_rate=1e-12, **TINY))
    with torch.no_grad():
        for name, weights in trainer.network.named_parameters():
            if name.startswith("belief.4"):
                weights.zero_()
    found = trainer.learn(trainer.play())
    assert found["gain"] == pytest.approx(0, abs=1e-6)
    assert 0.4 < found["loss"] < np.log(3)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"start_from": None}, "start_from"),
        ({"variants": None}, "variants"),
        ({"snapshot_share": 0.2}, "snapshot_share"),
        ({"belief_width": 0}, "belief_width"),
    ],
)
def test_settings_that_cannot_be_are_refused(policy, settings, field):
    with pytest.raises(ConfigError) as caught:
        BeliefConfig(**{"start_from": policy, **TINY, **settings})
    assert caught.value.field == field
