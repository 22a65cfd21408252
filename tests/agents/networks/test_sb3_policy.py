"""PolicyAgent on small untrained networks."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import tienlen_agents
from tienlen_env.engine.agent import Agent, View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.extras import MissingExtraError
from tienlen_env.games.tienlen.layout import observation_layout
from tienlen_env.games.tienlen.rules import CARDGAMES

torch = pytest.importorskip("torch")
sb3_contrib = pytest.importorskip("sb3_contrib")

from tienlen_agents.networks.sb3_policy import PolicyAgent  # noqa: E402  (needs torch)

NUM_OBSERVED, NUM_ACTIONS = observation_layout(CARDGAMES).size, 453


class Spaces(gymnasium.Env):
    """An environment that is nothing but its spaces."""

    def __init__(self, num_observed=NUM_OBSERVED, num_actions=NUM_ACTIONS):
        self.observation_space = spaces.Box(0, 1, (num_observed,), np.uint8)
        self.action_space = spaces.Discrete(num_actions)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape, np.uint8), {}


def make_model(env=None, **policy):
    return sb3_contrib.MaskablePPO(
        "MlpPolicy",
        env or Spaces(),
        seed=0,
        n_steps=8,
        batch_size=8,
        policy_kwargs={"net_arch": [16], **policy},
    )


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "policy.zip"
    model.save(path)
    return path


@pytest.fixture
def view():
    """Decisions from the middle of many rounds, some of them forced."""
    batch = Batch("cardgames", 300)
    batch.reset(1)
    rng = np.random.default_rng(1)
    for _ in range(9):
        batch.step(batch.sample(rng))
    view = View(batch)
    assert (view.num_legal == 1).any()
    assert (view.num_legal > 1).any()
    return view


@pytest.mark.parametrize("policy", [{}, {"share_features_extractor": False}])
def test_the_best_legal_action_as_stable_baselines_has_it(policy, view):
    model = make_model(**policy)
    expected, _ = model.predict(view.observation, deterministic=True, action_masks=view.action_mask)
    agent = PolicyAgent.from_model(model)
    assert isinstance(agent, Agent)
    actions = agent.act(view)
    assert actions.dtype == np.int64
    assert (actions == expected).all()


def test_sampling_follows_the_policy(model):
    batch = Batch("cardgames", 50)
    batch.reset(7)
    view = View(batch.select(np.full(20_000, batch.count_legal().argmax())))  # one decision, often
    assert view.num_legal[0] > 4
    agent = PolicyAgent.from_model(model, sample=True)
    agent.reset(3)
    actions = agent.act(view)
    with torch.no_grad():
        one = torch.as_tensor(view.observation[:1])
        probability = model.policy.get_distribution(one, view.action_mask[:1]).distribution.probs[0].numpy()
    rate = np.bincount(actions, minlength=NUM_ACTIONS) / len(actions)
    assert rate[view.action_mask[0] == 0].sum() == 0
    assert np.abs(rate - probability).max() < 0.02
    agent.reset(3)
    assert (agent.act(view) == actions).all()
    agent.reset(4)
    assert (agent.act(view) != actions).any()


def test_a_snapshot_keeps_its_weights(view):
    model = make_model()
    agent = PolicyAgent.from_model(model)
    before = agent.logits(view.observation)
    with torch.no_grad():
        for weight in model.policy.parameters():
            weight.add_(1.0)
    assert (agent.logits(view.observation) == before).all()


def test_forced_moves_ask_no_network(model, view, monkeypatch):
    agent, asked = PolicyAgent.from_model(model), []
    logits = agent.logits
    monkeypatch.setattr(agent, "logits", lambda rows: asked.append(len(rows)) or logits(rows))
    agent.act(view)
    assert asked == [(view.num_legal > 1).sum()]


def test_whole_rounds(model):
    batch = Batch("cardgames", 50)
    batch.reset(1)
    agent = PolicyAgent.from_model(model, sample=True)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        actions = np.full(50, NO_ACTION)
        actions[games] = agent.act(View(batch, games))
        batch.step(actions)


def test_loading_needs_trust(path):
    with pytest.raises(ValueError, match=r"runs the pickled code .*,trust=1"):
        tienlen_agents.load(f"policy:{path}")
    with pytest.raises(ValueError, match="trust=True"):
        PolicyAgent.load(path)


def test_load(path, model, view):
    agent = tienlen_agents.load(f"policy:{path},trust=1")
    assert agent.name == f"policy:{path}"
    assert not agent.sample
    assert (agent.act(view) == PolicyAgent.from_model(model).act(view)).all()
    assert tienlen_agents.load(f"policy:{path},trust=1,sample=1").sample


def test_what_is_no_policy_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        PolicyAgent.load(tmp_path / "none.zip", trust=True)
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(ValueError, match="no MaskablePPO zip"):
        PolicyAgent.load(tmp_path / "text.zip", trust=True)
    grid = Spaces()
    grid.observation_space = spaces.Box(0, 1, (4, 5), np.uint8)
    with pytest.raises(ValueError, match="flat observations"):
        PolicyAgent.from_model(make_model(grid))


def test_another_variant_is_refused(model):
    agent = PolicyAgent.from_model(model)
    for settings, message in [
        ({"rules": "foicica"}, "trained for 453 actions, but the foicica rules have 994"),
        ({"num_players": 3}, "another number of players"),
    ]:
        batch = Batch(**settings)
        batch.reset(0)
        with pytest.raises(ValueError, match=message):
            agent.act(View(batch))


def test_its_observation_is_that_of_its_training(model):
    agent = PolicyAgent.from_model(model)
    batches = [Batch(num_games=20, history=history) for history in (0, 4)]
    for batch in batches:
        batch.reset(0)
    without, four = (agent.act(View(batch)) for batch in batches)
    assert (without == four).all()
    reads_four = PolicyAgent.from_model(make_model(Spaces(batches[1].observation_size)))
    assert len(reads_four.act(View(batches[1]))) == 20
    with pytest.raises(ValueError, match=r"history=4: expected 0\.\.0"):
        reads_four.act(View(batches[0]))


def test_without_its_packages_the_extra_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        tienlen_agents.load(f"policy:{tmp_path / 'none.zip'},trust=1")
    (tmp_path / "some.zip").write_bytes(b"")
    monkeypatch.setattr("tienlen_env.extras.is_installed", lambda package: package != "torch")
    with pytest.raises(MissingExtraError, match=r"some\.zip' needs the package torch.*pip install .*torch>="):
        tienlen_agents.load(f"policy:{tmp_path / 'some.zip'},trust=1")


def test_few_decisions_take_one_thread(model):
    agent, used = PolicyAgent.from_model(model), []
    features, before = agent._features, torch.get_num_threads()

    def seen(observation):
        used.append(torch.get_num_threads())
        return features(observation)

    torch.set_num_threads(2)
    try:
        agent._features = seen
        for num_decisions in (1, 5000):
            agent.logits(np.zeros((num_decisions, NUM_OBSERVED), np.uint8))
        assert used == [1, 2]
        agent._features = lambda observation: 1 / 0
        with pytest.raises(ZeroDivisionError):
            agent.logits(np.zeros((1, NUM_OBSERVED), np.uint8))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
