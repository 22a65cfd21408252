"""RL Zoo: PPO of stable-baselines3 by the command of RL Zoo, with the settings of `rl_zoo.yml`.

    pip install -r examples/requirements/rl_zoo.txt tienlen-env
    python examples/with_rl_zoo.py --n-timesteps 4096

RL Zoo's PPO has no masks, so a random legal action is played instead of an illegal one. The example runs the
command and loads the policy; other options of `rl_zoo3.train` go behind.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import gymnasium
from stable_baselines3 import PPO

import tienlen_env  # noqa: F401 - registers the environments

ENV = "tienlen_env/TienLen-v1"
KWARGS = {"illegal": "random", "reward": "zero_sum", "opponents": "random"}


def main() -> None:
    """Train, and play a round with the policy."""
    settings = Path(__file__).with_name("rl_zoo.yml")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rl_zoo3.train", "--algo", "ppo", "--env", ENV, "--seed", "1"]
        command += ["--gym-packages", "tienlen_env", "--conf-file", str(settings), "--log-folder", folder]
        command += ["--eval-freq", "-1", "--num-threads", "1", "--n-timesteps", "4096"]
        command += ["--env-kwargs", *(f"{name}:{value!r}" for name, value in KWARGS.items())]
        subprocess.run([*command, *sys.argv[1:]], check=True)
        (file,) = Path(folder).rglob("*TienLen-v1.zip")
        policy = PPO.load(file, device="cpu")
    env = gymnasium.make(ENV, **KWARGS)
    observation, _ = env.reset(seed=1)
    total, done, illegal = 0.0, False, 0
    while not done:
        action, _ = policy.predict(observation, deterministic=True)
        observation, reward, done, _, info = env.step(action)
        total, illegal = total + reward, illegal + info["illegal"]
    print("return:", total, "illegal actions:", illegal)


if __name__ == "__main__":
    main()
