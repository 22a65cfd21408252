"""Exact NashConv of a search that looks one play ahead from a prior policy, with and without a soft root.

    python -m research.soft_root small
    python -m research.soft_root medium

The prior is the champion's network with its actions drawn. Rollouts are by `heuristic` (as in `champion`) or
by the prior itself (as in ``champion:rollout=network``), in all deals, each as likely as any other (trust 0),
without noise. `alpha` is per unit of the outcome, which is 1 or -1: twice as much in points. Each row has the
NashConv of two policies, where base = (1 - uniform) * prior + uniform / n: the action with the highest
Q + log(base) / alpha ("mode"; the champion of tienlen-general-v4 is the row alpha 17, uniform 0, floor 1e-5),
and the policy base * exp(alpha * Q) itself ("soft").
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import tienlen_agents
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.games.common.arrays import FloatArray
from tienlen_exact import passes
from tienlen_exact.policies import gains, measure, normalised, policy_of, weighings
from tienlen_exact.small_tienlen import small_game
from tienlen_exact.tree import PublicTree, build


def advantages(tree: PublicTree, rollout: FloatArray, trust: float = 0.0) -> FloatArray:
    """float64 (E,): what each edge earns more than the rollout policy itself.

    A past play that the policy makes with probability p multiplies the weight of a deal by
    ``1 - trust + trust * p``.
    """
    slots, reach = tree.edge_slots(), np.empty(tree.num_slots)
    gain, weight = np.zeros((2, tree.num_edges))
    for seat, here, past in weighings(tree, rollout, trust):
        mass = np.zeros(tree.num_slots)
        passes.reach_down(tree.arrays, past, reach, -1)
        passes.mass_up(tree.arrays, past, reach, seat, mass)
        gain[here], weight[here] = gains(tree, past, seat)[here], mass[slots[here]]
    return np.where(weight > 0, gain / np.maximum(weight, 1e-300), 0.0)


def policies(
    tree: PublicTree, prior: FloatArray, advantage: FloatArray, alpha: float, uniform: float, floor: float
) -> tuple[FloatArray, FloatArray]:
    """The mode and the soft policy, float64 (E,) each."""
    slots = tree.edge_slots()
    num = np.bincount(slots, minlength=tree.num_slots)
    base = (1 - uniform) * prior + uniform / num[slots]
    base = np.where(prior >= floor, base, 0.0)
    with np.errstate(divide="ignore"):
        score = np.log(base) + alpha * advantage
    top = np.full(tree.num_slots, -np.inf)
    np.maximum.at(top, slots, score)
    mode = normalised(tree, (score > top[slots] - 1e-9).astype(np.float64))
    return mode, normalised(tree, np.exp(score - top[slots]))


def main() -> None:
    """Print the rows of a game."""
    tree = build(small_game(sys.argv[1]))
    network = NetworkAgent.load(Path(WEIGHTS) / "tienlen-general-v5.safetensors", sample=True)
    prior = policy_of(tree, network)
    heuristic = policy_of(tree, tienlen_agents.load("heuristic"))
    for name, policy in (("prior", prior), ("heuristic", heuristic)):
        print(name, f"{measure(tree, policy).nash_conv:.4f}", flush=True)
    for name, rollout in (("heuristic", heuristic), ("prior", prior)):
        advantage = advantages(tree, rollout)
        for uniform, floor in ((0.0, 0.0), (0.0, 1e-5), (0.02, 0.0), (0.1, 0.0)):
            for alpha in (3.0, 10.0, 17.0, 30.0, 100.0, 1e4):
                found = policies(tree, prior, advantage, alpha, uniform, floor)
                mode, soft = (measure(tree, policy).nash_conv for policy in found)
                print(
                    f"rollouts {name} uniform {uniform} floor {floor} alpha {alpha:g}: mode {mode:.4f} "
                    f"soft {soft:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
