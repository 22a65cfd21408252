"""Compare the machine of a device with the processor's, in a process with ``NUMBA_ENABLE_CUDASIM=1``.

`test_simulator` runs it. It prints one line for each thing that was compared.
"""

from __future__ import annotations

import numpy as np
import torch

from tienlen_agents.arena.chunk import Job, play_chunk
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import NetworkConfig
from tienlen_agents.networks.shipped import shipped
from tienlen_env.games.registry import get_rules
from tienlen_gpu.arena import play_jobs
from tienlen_gpu.device import CudaMachine
from tienlen_gpu.machine import HostMachine
from tienlen_gpu.rollout import DeviceActor
from tienlen_train.learner import DeviceTrajectories
from tienlen_train.network import ActionNetwork
from tienlen_train.rollout import PolicyWeights, RolloutJob

RULES = get_rules("cardgames")


def main() -> None:
    """Compare."""
    torch.manual_seed(1)
    network = ActionNetwork(
        NetworkConfig.of(RULES, record=True, prior="heuristic", state_width=16, action_width=8)
    )
    torch.nn.init.normal_(network.score.weight)
    job = RolloutJob(
        rules=RULES,
        keys=np.array([3, 4]),
        seat_policies=np.array([[0, 1, 0, 2], [0, 0, 0, 0]]),
        policies=(PolicyWeights(0, network.config, network.state_dict()),),
        opponents=("heuristic", "random"),
        opponent_seeds=(1, 2),
        critic="hands",
    )
    found, wanted = (DeviceActor(machine).rollout(job) for machine in (CudaMachine(), HostMachine()))
    assert len(found) > 30
    for name in DeviceTrajectories.__dataclass_fields__:
        one, other = getattr(found, name), getattr(wanted, name)
        if isinstance(one, torch.Tensor):
            assert torch.equal(one, other), name
        elif name == "inputs":
            for field in one._fields:
                assert torch.equal(getattr(one, field), getattr(other, field)), field
        else:
            assert np.array_equal(one, other), name
    print("rollout: same", len(found), "decisions")

    arena_job = Job((0, 1, 1, 1), RULES, seed=1, first_deal=0, num_deals=1, deals_per_job=1)
    # The rule-based agent has played in the rollout; it is slow in the simulator.
    agents = [NetworkAgent.load(shipped()["cardgames", "medium"])] * 2
    (chunk,) = play_jobs(CudaMachine(), agents, [arena_job])
    assert np.array_equal(chunk.points, play_chunk(agents, arena_job).points)
    print("arena: same points")


if __name__ == "__main__":
    main()
