"""Agents that cheat in a match on a cluster."""

from __future__ import annotations

import pytest

import tienlen_agents
from tests.agents.arena.test_cheats import CardCheat
from tests.cheats import CARDS
from tests.extensions.cluster.test_arena import PoolHere
from tienlen_agents import arena
from tienlen_cluster.pool import RayExecutor
from tienlen_env.errors import IllegalPlayError


@pytest.mark.parametrize("kind", CARDS)
def test_a_match_on_a_cluster_names_who_plays_wrong_cards(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tienlen_agents._factories, "cheat", lambda: CardCheat(kind))
    executor = RayExecutor(PoolHere())
    with pytest.raises(IllegalPlayError, match="agent 'cheat' played against the rules: game ") as caught:
        arena.match("cheat", "random", executor=executor, num_deals=4)
    assert caught.value.seat is not None
    assert caught.value.clause
