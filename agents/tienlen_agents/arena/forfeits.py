"""Agents that failed: programs that forfeited too many of their rounds.

A fixed rule plays forfeited rounds, and it plays badly. If a tenth of its rounds are forfeited, an average
agent loses about 0.15 of its 1.5 points: more than the interval of an ordinary match. So above `MAX_FORFEITS`
the figures of a match-up show the failures rather than the play of its agents, also for the opponents.
Commands then end with exit code 1, and a league does not rate the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tienlen_agents.arena.play import Forfeits, by_reason
from tienlen_agents.arena.result import MatchResult
from tienlen_env.rendering.view import printable

MAX_FORFEITS: Final = 0.1


class FailedAgent(NamedTuple):
    """An agent that forfeited more rounds than allowed.

    Attributes:
        name: of the agent.
        where: title of the match-up, or the league.
        share: forfeited rounds, as a share of its rounds.
        limit: the share that was allowed.
        forfeits: by reason.
    """

    name: str
    where: str
    share: float
    limit: float
    forfeits: tuple[Forfeits, ...]

    def __str__(self) -> str:
        most = max(self.forfeits, key=lambda forfeits: forfeits.num_rounds)
        share = f"{100 * self.share:.1f}".removesuffix(".0")
        return (
            f"{self.name} forfeited {share} % of its rounds in {self.where}, more than "
            f"{100 * self.limit:g} %: {printable(most.reason)} ({printable(most.example)[:400]})"
        )


def failed_agents(
    name_of: Sequence[tuple[str, Sequence[tuple[MatchResult, int]]]], where: str, limit: float
) -> tuple[FailedAgent, ...]:
    """The agents that forfeited too many of their rounds.

    Args:
        name_of: for each agent its name, and its match-ups, each with the agent's index there.
        where: title of the match-up, or the league.
        limit: largest share of forfeited rounds, 0 to 1.
    """
    found = []
    for name, mine in name_of:
        scores = [result.scores[index] for result, index in mine]
        forfeits = by_reason(forfeits for score in scores for forfeits in score.forfeits)
        rounds = sum(result.num_games * result.scores[index].num_seats for result, index in mine)
        share = sum(one.num_rounds for one in forfeits) / rounds
        if share > limit:
            found.append(FailedAgent(name, where, share, limit, forfeits))
    return tuple(found)
