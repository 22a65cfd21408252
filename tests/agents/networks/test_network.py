"""The network that scores legal actions: what it reads, its numbers, its files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import tienlen_agents
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import Reader
from tienlen_agents.networks.features.tienlen import (
    FEATURES,
    NUM_ACTION_FEATURES,
    NUM_AUX,
    NUM_CARDS,
    NUM_TABLE_FEATURES,
)
from tienlen_agents.networks.network import FORMAT, NetworkConfig, first_best, log_softmax, sample
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import card_ids, parse_cards
from tienlen_env.games.tienlen.rules import PRESETS, get_rules
from tienlen_train.network import ActionNetwork, as_bfloat16, pad_rows, segment_log_softmax


def a_network(rules: str = "cardgames", num_players: int | None = None, **settings: object) -> ActionNetwork:
    variant = get_rules(rules, num_players)
    torch.manual_seed(3)
    config = NetworkConfig.of(variant, state_width=32, action_width=16, **settings)
    network = ActionNetwork(config)
    torch.nn.init.normal_(network.score.weight)
    return network.requires_grad_(False)


def some_views(rules: str = "cardgames", num_players: int | None = None, num_games: int = 40) -> list[View]:
    batch = Batch(rules, num_games, num_players=num_players)
    batch.reset(5)
    rng = np.random.default_rng(5)
    views = []
    for _ in range(25):
        games = np.flatnonzero(batch.state.turn >= 0)
        if games.size:
            views.append(View(batch, games))
        batch.step(batch.sample(rng))
    return views


@pytest.mark.parametrize("preset", PRESETS)
def test_features_tell_every_action_apart(preset: str) -> None:
    seen: dict[bytes, int] = {}
    for view in some_views(preset, num_games=200):
        inputs = Reader(FEATURES, "none").read(view)
        features = as_bfloat16(inputs.action_features).float().numpy()
        # Where suits bind, a combination is exact cards, and its suits follow the other features.
        what = np.hstack([features[:, :NUM_TABLE_FEATURES], features[:, NUM_ACTION_FEATURES:]])
        assert set(np.unique(what)) <= {0.0, 1.0}
        assert not what[inputs.action == 0].any()
        for action, row in zip(inputs.action.tolist(), what, strict=True):
            if (
                view.action_table.declare != action
            ):  # a declaration shows no cards; it is the only legal action
                assert seen.setdefault(row.tobytes(), action) == action
    assert len(set(seen.values())) == len(seen) > 100


def test_the_hand_left_and_the_facts_by_hand() -> None:
    batch = Batch("cardgames", 1)
    hands = ["3s 3h 4d", "2h 5s", "6s 6d", "7s 8s"]
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    view = View(batch)
    inputs = Reader(FEATURES, "none").read(view)
    ids = {view.action_table.text(a): i for i, a in enumerate(inputs.action.tolist())}
    pair = as_bfloat16(inputs.action_features)[ids["pair 3h"]].float().numpy()
    left = np.flatnonzero(pair[35 : 35 + NUM_CARDS])
    assert left.tolist() == card_ids(parse_cards("4d"))
    ranks = np.flatnonzero(pair[35 + NUM_CARDS : 35 + 2 * NUM_CARDS])
    assert ranks.tolist() == [4]  # one card of the second rank
    facts = pair[-NUM_AUX:]
    assert facts[0] == 1 / 4  # one play is left
    assert facts[1] == 0  # and no other action leaves fewer
    assert facts[2] == 1 / 4  # it can be beaten
    # Pairs from 4 to 2 have 3 tops each among the unseen cards, but for the 4s with 2.
    assert facts[5] == 1  # more than 16
    assert facts[7] == pytest.approx(1 / 13, abs=1e-3)
    assert not facts[8:].any()
    assert inputs.prior.tolist() == [0.0] * len(ids)


@pytest.mark.parametrize(
    ("preset", "num_players"), [("cardgames", 4), ("foicica", 4), ("pagat", 2), ("mobile", 3), ("north", 4)]
)
def test_an_untrained_network_with_the_prior_plays_like_the_heuristic(preset: str, num_players: int) -> None:
    network = a_network(preset, num_players, prior="heuristic")
    torch.nn.init.zeros_(network.score.weight)
    agent, heuristic = NetworkAgent(network.to_network()), tienlen_agents.load("heuristic")
    for view in some_views(preset, num_players):
        assert np.array_equal(agent.act(view), heuristic.act(view))


def test_unseen_counts() -> None:
    view = some_views()[10]
    unseen = Reader(FEATURES, "none").read(view).observation[:, -NUM_CARDS:]
    counts = unseen.reshape(-1, 13, 4).sum(axis=2)
    seen = view.hand | np.bitwise_or.reduce(view.played, axis=1)
    wanted = [[4 - (int(s) >> 4 * r & 15).bit_count() for r in range(13)] for s in seen]
    assert counts.tolist() == wanted


def test_scores_do_not_depend_on_the_company() -> None:
    """A decision alone gets the scores that it gets among others: padding and owners are right."""
    agent = NetworkAgent(a_network().to_network())
    view = some_views()[3]
    together = agent.log_probabilities(view)
    alone = [agent.log_probabilities(view.select([i])) for i in range(len(view))]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


def test_rows_come_in_few_sizes_and_few_rows_stay_few() -> None:
    sizes = {n: len(pad_rows(torch.ones(n, 2), 128)) for n in range(1, 1025)}
    assert all(n <= size < 2 * n + 128 for n, size in sizes.items())
    assert all(size < 2 * n for n, size in sizes.items() if n < 16)
    assert len(set(sizes.values())) <= 5 + 8 + 8
    assert torch.equal(pad_rows(torch.ones(3, 2), 128), torch.tensor([[1.0, 1], [1, 1], [1, 1], [0, 0]]))
    assert len(pad_rows(torch.ones(0, 2), 128)) == 0


def test_log_softmax_of_segments() -> None:
    rng = np.random.default_rng(0)
    count = rng.integers(1, 9, 50)
    owner = np.repeat(np.arange(50), count)
    logits = rng.normal(0, 30, len(owner)).astype(np.float32)
    logits[::7] = -1e9
    found = segment_log_softmax(torch.from_numpy(logits), torch.from_numpy(owner), 50)
    for i in range(50):
        wanted = torch.log_softmax(torch.from_numpy(logits[owner == i]), 0)
        torch.testing.assert_close(found[owner == i], wanted)
    start = np.cumsum(count) - count
    np.testing.assert_allclose(log_softmax(logits, start), found.numpy(), rtol=1e-5, atol=1e-5)
    assert not found.isnan().any()


def test_gradients_have_no_nan() -> None:
    logits = torch.tensor([0.0, -1e9, 3.0, 0.0], requires_grad=True)
    found = segment_log_softmax(logits, torch.tensor([0, 0, 1, 1]), 2)
    (found.exp() * found).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_sampling_follows_the_probabilities() -> None:
    probabilities = np.array([0.7, 0.2, 0.1, 1.0, 0.5, 0.5])
    start = np.tile([0, 3, 4], 4000) + 6 * np.repeat(np.arange(4000), 3)
    log = np.log(np.tile(probabilities, 4000)).astype(np.float32)
    chosen = sample(log, start, np.random.default_rng(1)) % 6
    share = np.bincount(chosen, minlength=6) / 4000
    np.testing.assert_allclose(share, probabilities, atol=0.03)


def test_first_best_takes_the_first_of_equals() -> None:
    scores = np.array([1.0, 2.0, 2.0, 5.0, 0.0, 0.0])
    assert first_best(scores, np.array([0, 3, 4])).tolist() == [1, 3, 4]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("sampling", [False, True])
def test_it_plays_legally_and_repeats_itself(preset: str, sampling: bool) -> None:
    network = a_network(preset)
    agent = NetworkAgent(network.to_network(), sample=sampling)
    choices = []
    for _ in range(2):
        agent.reset(7)
        choices.append([agent.act(view) for view in some_views(preset)])
    for view, first, second in zip(some_views(preset), *choices, strict=True):
        assert (view.action_mask[np.arange(len(view)), first] == 1).all()
        assert np.array_equal(first, second)


def test_other_rules_are_refused() -> None:
    agent = NetworkAgent(a_network("cardgames").to_network())
    with pytest.raises(ValueError, match="made for the cardgames rules with 4 players, not for foicica"):
        agent.act(some_views("foicica")[0])
    with pytest.raises(ValueError, match="cardgames with 3"):
        agent.log_probabilities(some_views("cardgames", 3)[0])


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    agent = NetworkAgent(a_network(prior="heuristic").to_network(), card={"note": "tiến lên"})
    path = tmp_path / "a.safetensors"
    agent.save(path)
    again = tienlen_agents.load(f"policy:{path}")
    assert isinstance(again, NetworkAgent)
    assert again.card == {"note": "tiến lên"}
    assert again.network.config == agent.network.config
    for view in some_views()[:5]:
        assert np.array_equal(agent.act(view), again.act(view))


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    with pytest.raises(FileNotFoundError):
        NetworkAgent.load(path)
    path.write_bytes(b"no such format")
    with pytest.raises(ValueError, match="not a valid safetensors file"):
        NetworkAgent.load(path)
    network = a_network()
    NetworkAgent(network.to_network()).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="not a valid safetensors file"):
        NetworkAgent.load(path)
    save_file(network.state_dict(), path)
    with pytest.raises(ValueError, match=f"expected the format {FORMAT}"):
        NetworkAgent.load(path)
    wrong = {"format": FORMAT, "config": json.dumps({"rules": "cardgames"})}
    save_file(network.state_dict(), path, wrong)
    with pytest.raises(ValueError, match="do not fit"):
        NetworkAgent.load(path)
    other = NetworkConfig.of(PRESETS["cardgames"], record=True)
    save_file(network.state_dict(), path, {"format": FORMAT, "config": json.dumps(other.__dict__)})
    with pytest.raises(ValueError, match="do not fit"):
        NetworkAgent.load(path)


def test_sizes_agree() -> None:
    view = some_views()[0]
    inputs = Reader(FEATURES, "heuristic").read(view)
    assert inputs.action_features.shape == (len(view.legal_actions.action), NUM_ACTION_FEATURES)
    assert np.array_equal(inputs.segment_ids, view.legal_actions.game)


def test_an_exported_network_takes_any_number_of_actions() -> None:
    module = a_network()
    module.for_device = True

    def arguments(view: View) -> tuple[torch.Tensor, ...]:
        inputs = module.config.reader().read(view)
        return (
            torch.from_numpy(inputs.observation).float(),
            as_bfloat16(inputs.action_features).float(),
            torch.from_numpy(inputs.segment_ids),
            torch.from_numpy(inputs.prior),
        )

    first, second = some_views("cardgames")[:2]
    n, actions = torch.export.Dim("n"), torch.export.Dim("actions")
    shapes = {"observation": {0: n}, "after": {0: actions}, "owner": {0: actions}, "prior": {0: actions}}
    exported = torch.export.export(module, arguments(first), dynamic_shapes=shapes).module()
    for view in (second, second.select([1, 4])):
        torch.testing.assert_close(exported(*arguments(view)), module(*arguments(view)))
