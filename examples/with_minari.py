"""Minari: data sets of its own `DataCollector`, and of `tienlen data`; both are loaded and compared.

    pip install -r examples/requirements/minari.txt tienlen-env
    python examples/with_minari.py

The collector records one seat of an environment for Gymnasium, an episode at a time. `tienlen data` plays
many games at once, and `to_minari` makes an episode of every seat of every round. The example checks both,
and prints returns, sizes, and speed in processor time.
"""

import os
import tempfile
import time
from pathlib import Path

import gymnasium
import minari
import numpy as np

import tienlen_env  # noqa: F401 - registers the environments
from tienlen_data import DataConfig, write_data
from tienlen_data.minari import to_minari

ABOUT = {"author": "you", "author_email": "you@example.org", "code_permalink": "https://example.org"}


def collected(name: str, episodes: int) -> minari.MinariDataset:
    """Random play of one seat against `greedy`."""
    env = minari.DataCollector(
        gymnasium.make("tienlen_env/TienLen-v1", opponents="greedy", rules="south", reward="payments"),
        record_infos=True,
    )
    rng = np.random.default_rng(0)
    for seed in range(episodes):
        _, info = env.reset(seed=seed)
        done = False
        while not done:
            _, _, done, _, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
    return env.create_dataset(name, algorithm_name="random", description="an example", **ABOUT)


def main() -> None:
    """Make both, and load them by their ids."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        data = Path(folder, "data")
        write_data(DataConfig(rules="south", agents="greedy", rounds=500), data)
        for name, make in (
            ("tienlen/south/random-v0", lambda name: collected(name, 200)),
            ("tienlen/south/greedy-v0", lambda name: to_minari(data, name, **ABOUT)),
        ):
            start = time.process_time()
            make(name)
            seconds = time.process_time() - start
            dataset = minari.load_dataset(name)
            returns = [episode.rewards.sum() for episode in dataset.iterate_episodes()]
            episode = dataset[0]
            legal = episode.infos["action_mask"][np.arange(len(episode.actions)), episode.actions]
            assert legal.all()
            print(
                f"{name}: {dataset.total_episodes} episodes, {dataset.total_steps} steps, "
                f"{np.mean(returns):+.2f} units; {dataset.total_episodes / seconds:.0f} episodes/s, "
                f"{dataset.storage.get_size() * 1000 / dataset.total_episodes:.0f} kB each; "
                f"{dataset.recover_environment().spec.id}"
            )


if __name__ == "__main__":
    main()
