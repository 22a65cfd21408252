"""Exact NashConv of a network after each of some steps of policy iteration; a posterior search teaches it.

    python -m research.soft_steps small
    python -m research.soft_steps small --target best

A step: the search looks one play ahead from the policy of the network, in all deals, each as likely as the
plays so far make it if the others play by the network. The target is ``policy * exp(alpha * Q)`` ("soft"), or
probability 1 for the best action ("best"). The network learns it by cross-entropy, in every information set
alike, from the weights that it has. Q has no sampling noise. The network does not read the order of plays, so
there are targets that it cannot learn. It begins as the champion's network. Each row has NashConv of the
target and of the network, its actions drawn.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from research.soft_root import advantages
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.engine.view import View
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_exact.policies import EdgeIndex, information_sets, lookahead, measure, normalised, policy_of
from tienlen_exact.small_tienlen import small_game
from tienlen_exact.tree import PublicTree, build
from tienlen_train.network import ActionNetwork, as_bfloat16, segment_log_softmax

TRUST = 0.95  # of the targets with probability 1: with 1 they are worse


def soft_target(tree: PublicTree, policy: FloatArray, alpha: float, uniform: float) -> FloatArray:
    """float64 (E,): policy * exp(alpha * Q), from the policy with a share of the uniform one."""
    slots = tree.edge_slots()
    base = (1 - uniform) * policy + uniform / np.bincount(slots, minlength=tree.num_slots)[slots]
    gain = advantages(tree, base, 1.0)
    top = np.full(tree.num_slots, -np.inf)
    np.maximum.at(top, slots, gain)
    return normalised(tree, base * np.exp(alpha * (gain - top[slots])))


class Lessons:
    """The inputs of a network in all information sets with a choice."""

    def __init__(self, tree: PublicTree, agent: NetworkAgent) -> None:
        edges, found = EdgeIndex(tree), []
        for slots, batch in information_sets(tree, history_length=1):
            view = View(batch)
            legal, (_, inputs) = view.legal_actions, agent._inputs_of(view)
            found.append((inputs, edges.find(slots[legal.game], legal.action)))
        parts = [inputs for inputs, _ in found]
        self.edges = np.concatenate([edge for _, edge in found])
        self.num_legal = np.concatenate([part.num_legal for part in parts])
        self.owner = np.repeat(np.arange(len(self.num_legal)), self.num_legal)
        self.observation = torch.from_numpy(np.concatenate([part.observation for part in parts])).float()
        features = np.concatenate([part.action_features for part in parts])
        self.features = as_bfloat16(features).float()
        self.prior = torch.from_numpy(np.concatenate([part.prior for part in parts]))

    def loss(self, network: ActionNetwork, target: FloatArray, chosen: IntArray) -> torch.Tensor:
        """The mean cross-entropy in some decisions, int64 (n,) ascending."""
        rows = np.flatnonzero(np.isin(self.owner, chosen))
        owner = torch.from_numpy(np.searchsorted(chosen, self.owner[rows]))
        logits = network(self.observation[chosen], self.features[rows], owner, self.prior[rows])
        logs = segment_log_softmax(logits, owner, len(chosen))
        wanted = torch.from_numpy(target[self.edges[rows]]).float()
        return -(wanted * logs).sum() / len(chosen)


def main() -> None:
    """Print a row for each step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("game", choices=["mini", "small", "medium"])
    parser.add_argument("--target", choices=["soft", "best"], default="soft")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--alpha", type=float, default=10.0, help="for outcomes of 1 and -1")
    parser.add_argument("--uniform", type=float, default=0.02, help="share of it in the first policy")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=512, help="information sets in a gradient step")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    tree = build(small_game(options.game))
    shipped = NetworkAgent.load(Path(WEIGHTS) / "tienlen-general-v5.safetensors")
    agent = NetworkAgent(shipped.network_for(tree.game.rules), sample=True)
    network, lessons = ActionNetwork.of(agent.network), Lessons(tree, agent)
    policy = policy_of(tree, agent)
    print(f"start {measure(tree, policy).nash_conv:.4f}", flush=True)
    for step in range(options.steps):
        if options.target == "soft":
            target = soft_target(tree, policy, options.alpha, options.uniform if step == 0 else 0.0)
        else:
            target = lookahead(tree, policy, TRUST)
        optimiser = torch.optim.Adam(network.parameters(), options.learning_rate)
        num, total = len(lessons.num_legal), 0.0
        batches = -(-num // options.batch) * options.epochs
        for k in range(batches):
            optimiser.param_groups[0]["lr"] = options.learning_rate * (1 - 0.9 * k / batches)
            chosen = np.sort(rng.choice(num, min(options.batch, num), replace=False))
            loss = lessons.loss(network, target, chosen)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            total += float(loss.detach()) / batches
        policy = policy_of(tree, NetworkAgent(network.to_network(), sample=True))
        of_target, of_network = (measure(tree, one).nash_conv for one in (target, policy))
        print(f"step {step + 1}: target {of_target:.4f}, network {of_network:.4f}", flush=True)


if __name__ == "__main__":
    main()
