"""OpenSpiel: CFR+ on a small deck, and its IS-MCTS against this project's agents on the whole deck.

pip install -r examples/requirements/openspiel.txt tienlen-env
python examples/with_openspiel.py
"""

import numpy as np
import pyspiel
from open_spiel.python.algorithms import cfr, exploitability

import tienlen_agents
from tienlen_agents.arena import match
from tienlen_bridges.openspiel import AgentBot


def solve() -> None:
    """CFR+ comes near an equilibrium of a deck of five cards."""
    game = pyspiel.load_game("python_tienlen(deck=3s 3c 4s 4c 2s,cards=2,players=2)")
    solver, found = cfr.CFRPlusSolver(game), []
    for _ in range(3):
        for _ in range(5):
            solver.evaluate_and_update_policy()
        found.append(exploitability.nash_conv(game, solver.average_policy()))
        print(f"NashConv after {5 * len(found)} iterations: {found[-1]:.4f}")
    assert found[-1] < 0.1


def play() -> None:
    """Agents of this project as bots, in the loop of OpenSpiel."""
    game = pyspiel.load_game("python_tienlen(players=2)")
    bots = [AgentBot(tienlen_agents.load(name)) for name in ("heuristic", "greedy")]
    state, rng = game.new_initial_state(), np.random.default_rng(1)
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(outcomes, p=chances)))
        else:
            state.apply_action(bots[state.current_player()].step(state))
    print("heuristic, greedy:", state.returns())


def main() -> None:
    """Both directions."""
    solve()
    play()
    result = match("openspiel:ismcts,simulations=20", "random", num_players=2, num_deals=2, seed=1)
    print("IS-MCTS of OpenSpiel, random: points of each deal", result.deal_points.tolist())


if __name__ == "__main__":
    main()
