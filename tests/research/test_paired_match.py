"""Agents alone against the same opponents, on the same deals."""

import numpy as np
import pytest

import tienlen_agents
from research.paired_match import play, whole_lines
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.games.registry import get_rules, main_reward


class Watched(RandomAgent):
    """Notes what the reward of the games is."""

    def __init__(self):
        self.rewards = set()

    def act(self, view):
        batch, _ = view.source
        self.rewards.add(batch.reward)
        return super().act(view)


@pytest.mark.parametrize("preset", ["cardgames", "south", "north", "thirteens"])
def test_agents_play_for_what_is_counted(preset):
    """Units where there are payments: agents that play for what the batch's reward asks for know it."""
    rules, agent = get_rules(preset), Watched()
    agent.reset(1)
    opponent = tienlen_agents.load("greedy") if preset != "thirteens" else RandomAgent()
    opponent.reset(2)
    found = play(agent, opponent, rules, np.arange(10))
    assert found.points.shape == (10, rules.num_players)
    assert agent.rewards == {main_reward(rules)}


def test_what_a_killed_run_left_of_a_line_is_cut_off(tmp_path):
    path = tmp_path / "rounds.jsonl"
    path.write_text('{"piece": 0}\n{"piece": 1}\n{"pie')
    assert whole_lines(path) == [{"piece": 0}, {"piece": 1}]
    with path.open("a") as file:
        file.write('{"piece": 2}\n')
    assert [line["piece"] for line in whole_lines(path)] == [0, 1, 2]
