"""TorchRL: both environments, with masks; rollouts are TensorDicts.

    pip install -r examples/requirements/torchrl.txt tienlen-env
    python examples/with_torchrl.py

`PettingZooWrapper` takes the mask from the observation (``use_mask=True``). The Gymnasium environment has its
mask in the info: a reader of infos brings it into the TensorDict, and `ActionMask` sets the action space.
"""

import gymnasium
import torch
from torchrl.data import Binary
from torchrl.envs import ActionMask, GymEnv, GymWrapper, PettingZooWrapper, TransformedEnv, check_env_specs
from torchrl.envs.gym_like import default_info_dict_reader

import tienlen_env  # noqa: F401 - registers the environments
from tienlen_env import tienlen_v1


def all_seats() -> None:
    """Roll out one round of all four players."""
    env = PettingZooWrapper(tienlen_v1.env(reward="zero_sum"), use_mask=True, categorical_actions=True)
    check_env_specs(env)
    rollout = env.rollout(1000)
    print("all seats:", len(rollout), "steps, groups", sorted(env.group_map))


def one_seat() -> None:
    """Roll out one episode of one seat: by its id without the mask, and with it."""
    by_id = GymEnv("tienlen_env/TienLen-v1", illegal="random")
    check_env_specs(by_id)
    print("by its id:", len(by_id.rollout(200)), "decisions, some of them replaced by legal ones")
    bare = gymnasium.make("tienlen_env/TienLen-v1", reward="zero_sum")
    wrapped = GymWrapper(bare, categorical_action_encoding=True)
    reader = default_info_dict_reader(
        ["action_mask"], spec={"action_mask": Binary(bare.action_space.n, dtype=torch.bool)}
    )
    env = TransformedEnv(wrapped.set_info_dict_reader(reader), ActionMask(mask_key="action_mask"))
    rollout = env.rollout(200)
    print("one seat:", len(rollout), "decisions, return", rollout["next", "reward"].sum().item())


def main() -> None:
    """Roll out both."""
    torch.manual_seed(0)
    all_seats()
    one_seat()


if __name__ == "__main__":
    main()
