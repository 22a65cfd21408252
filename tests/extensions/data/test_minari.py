"""Data sets of Minari: by our writer, and by its own `DataCollector`; both are what the environment gives."""

import gymnasium
import numpy as np
import pytest

from tests.needs import needs_minari
from tienlen_data import DataConfig, write_data
from tienlen_data.minari import to_minari
from tienlen_env import extras

ABOUT = {"author": "a", "author_email": "b", "code_permalink": "c"}


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def check(dataset, rules, agent):
    """Each episode is one of the environment, with its observations, masks and rewards."""
    spec = dataset.env_spec
    assert spec.kwargs["rules"] == rules
    assert spec.kwargs["opponents"] == [agent]
    decisions = 0
    for episode, metadata in zip(
        dataset.iterate_episodes(),
        dataset.storage.get_episode_metadata(range(dataset.total_episodes)),
        strict=True,
    ):
        seat = int(episode.infos["seat"][0])
        env = gymnasium.make(spec.id, **spec.kwargs | {"opponents": agent, "line_up": True, "seat": seat})
        observation, info = env.reset(options=metadata["options"])
        done = False
        for step, action in enumerate(episode.actions):
            assert not done
            np.testing.assert_array_equal(episode.observations[step], observation)
            np.testing.assert_array_equal(episode.infos["action_mask"][step], info["action_mask"])
            assert info["action_mask"][action] == 1
            observation, reward, done, _, info = env.step(action)
            assert episode.rewards[step] == pytest.approx(reward, abs=1e-5)
            assert episode.terminations[step] == done
        assert done
        assert not episode.observations[-1].any()
        assert episode.infos["action_mask"][-1].nonzero()[0].tolist() == [0]
        decisions += step + 1
    assert decisions == dataset.total_steps
    return decisions


@needs_minari
@pytest.mark.parametrize(
    ("rules", "players", "agent"),
    [("cardgames", 4, "greedy"), ("south", 3, "greedy"), ("thirteens", 4, "trickster")],
)
def test_episodes_of_our_data_are_those_of_the_environment(rules, players, agent, tmp_path):
    import minari

    config = DataConfig(rules=rules, players=players, agents=agent, rounds=25, shard_rounds=10, seed=3)
    write_data(config, tmp_path / "data")
    name = f"tienlen/{rules}/{agent}-v0"
    made = to_minari(tmp_path / "data", name, **ABOUT)
    assert made.id == name
    assert name in minari.list_local_datasets()
    dataset = minari.load_dataset(name)
    assert check(dataset, rules, agent) > 100
    assert made.total_episodes > 60
    assert isinstance(dataset.recover_environment(), gymnasium.Env)
    with pytest.raises(ValueError, match="already exists"):
        to_minari(tmp_path / "data", name, **ABOUT)
    with pytest.raises(ValueError, match="Malformed"):
        to_minari(tmp_path / "data", "no version", **ABOUT)


@needs_minari
def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(ValueError, match="expected a folder of `tienlen data`"):
        to_minari(tmp_path, "tienlen/cardgames/greedy-v0", **ABOUT)


def test_without_minari_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "minari")
    with pytest.raises(extras.MissingExtraError, match="a data set of Minari needs the package minari"):
        to_minari(tmp_path, "tienlen/cardgames/greedy-v0")
