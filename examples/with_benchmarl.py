"""BenchMARL: a task with all four seats, and MAPPO on it.

    pip install -r examples/requirements/benchmarl.txt tienlen-env
    python examples/with_benchmarl.py --iterations 3

A task of BenchMARL makes an environment of TorchRL, which reads the AEC environment with its masks: in a step
one player acts. Networks of BenchMARL do not cast, so observations are float32.
"""

import argparse
import tempfile
from collections.abc import Callable

import torch
from benchmarl.algorithms import MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from torchrl.envs import EnvBase, MarlGroupMapType, PettingZooWrapper

from tienlen_env import tienlen_v1


class TienLenTask(PettingZooClass):
    """All seats; its config are the arguments of `tienlen_v1.env`."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int, device: str
    ) -> Callable[[], EnvBase]:
        """A function that makes an environment."""
        return lambda: PettingZooWrapper(
            tienlen_v1.env(dtype="float32", **self.config),
            use_mask=True,
            group_map=MarlGroupMapType.ALL_IN_ONE_GROUP,  # one network for all seats
            categorical_actions=True,
            seed=seed,
            device=device,
        )

    def supports_continuous_actions(self) -> bool:
        """Actions are ids."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Actions are ids."""
        return True

    def has_state(self) -> bool:
        """The critic reads the observations of all seats."""
        return False

    def has_render(self, env: EnvBase) -> bool:
        """Nothing is shown."""
        return False

    def max_steps(self, env: EnvBase) -> int:
        """More than a round has."""
        return 500

    @staticmethod
    def env_name() -> str:
        """The name of the environment."""
        return "tienlen"


def main() -> None:
    """Train for some iterations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = ExperimentConfig.get_from_yaml()
    config.loggers, config.evaluation, config.render = [], False, False
    config.create_json = False
    config.on_policy_collected_frames_per_batch, config.on_policy_n_envs_per_worker = 400, 2
    config.on_policy_minibatch_size, config.on_policy_n_minibatch_iters = 200, 2
    config.max_n_iters, config.max_n_frames = options.iterations, None
    with tempfile.TemporaryDirectory() as config.save_folder:
        experiment = Experiment(
            task=TienLenTask("CARDGAMES", {"rules": "cardgames", "reward": "zero_sum"}),
            algorithm_config=MappoConfig.get_from_yaml(),
            model_config=MlpConfig.get_from_yaml(),
            critic_model_config=MlpConfig.get_from_yaml(),
            seed=0,
            config=config,
        )
        experiment.run()
    assert experiment.n_iters_performed == options.iterations
    print("frames:", experiment.total_frames, "mean return:", experiment.mean_return)


if __name__ == "__main__":
    main()
