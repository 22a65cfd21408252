"""Players that search: they try actions in worlds that could be true.

`SearchAgent` draws deals of the unseen cards (`tienlen_agents.search.worlds`), plays every candidate action
in the same deals (common random numbers), lets the heuristic player play all rounds out, and takes the action
with the most points. In Thirteens the worlds are those of `tienlen_agents.search.deals`, the player is
`trickster`, nothing is inferred and no ending solved (`tienlen_agents.search.thirteens`). Its rules, in
order:

1. **Forced decisions cost nothing**, and an ending of two players whose cards are known is solved exactly
   (`tienlen_agents.endgame`).
2. **Infer.** Deals in which the others would have played otherwise are drawn less often: `inference` 0.9
   makes each play or pass that surprises count one tenth. Near 1 the chain that draws the deals hardly leaves
   those that it first finds: against heuristic players, whose true hands never surprise, 0.95 still tells
   better than 0.99 who holds what. It walks furthest with 18 to 30 hidden cards. This needs the record of
   the round (`history`); without it, all deals that agree with the cards, the counts and the opening are
   equally likely.
3. **Spend on what is in contention** (sequential halving: Karnin, Koren, Somekh 2013). `worlds` is the number
   of deals in which the last two candidates are compared. The last four are compared in half as many, the
   last eight in a quarter, so every step costs about the same: with n candidates about
   ``worlds * (1 + log2 n)`` rounds are played out. After each step the better half goes on, and of it only
   those whose mean is not `SURE` standard errors of the paired differences below the best. In Tiến lên
   with h hidden cards there are ``(39 / h) ** 2`` times as many deals, 8 times at most: late rounds are
   short, the same deals come again and are played out once, and a search gains most with 12 to 24 hidden
   cards.
4. **Doubt.** The heuristic player's own choice has ``trust / sqrt(deals)`` points of credit: what a few deals
   say against it is mostly noise.

With a budget in milliseconds every step of the halving gets an equal share of the time. With one in worlds
the result depends on the seed and the position alone, not on other games in the batch or on the number of
threads.

A `prior`, any `ScoringAgent`, takes the heuristic player's place: actions that it thinks less likely than
`floor` are dropped, and the others have ``trust * log(probability) / 10`` points of credit. That does not
fade with the number of deals: what a good policy knows beyond the heuristic player's playouts does not show
in any number of these. Trained policies are too sure of themselves: 32 worlds add 0.05 points a round to the
champion's network with a floor of one in a hundred, and 0.09 with one in a hundred thousand. With `rollout`
another agent plays the rounds out.

`effort` is how far the chain walks before the first world and between two. Where time is short a quarter of
the way is better: more worlds tell more than better ones.

`IsmctsAgent` grows one tree over the same worlds (`tienlen_agents.search.tree`).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2
from typing import Final

import numpy as np

from tienlen_agents.search.games import AnyDesk, new_desk
from tienlen_agents.search.loops import Desk, FloatArray, IntArray, Position
from tienlen_env.engine.agent import Agent, ScoringAgent, View, history_of
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.game import AnyRules

__all__ = ["IsmctsAgent", "SearchAgent"]

HISTORY: Final = 160  # events of a round; the longest of 4,000 rounds of random play had 108
MAX_WORLDS: Final = 1 << 14  # with a budget in milliseconds
MAX_EFFORT: Final = 100.0
SURE: Final = 3.0
PRIOR_POINTS: Final = 0.1  # of credit, for each unit of a prior's logarithms
MIN_SURE: Final = 8  # worlds before anything is sure


class _Searcher:
    """What both searches share: which decisions are searched, by whom, and on how many threads."""

    def __init__(self, name: str, worlds: int, inference: float, effort: float, threads: int) -> None:
        if worlds < 1 or threads < 1:
            raise ValueError(f"worlds={worlds}, threads={threads}: expected 1 or more")
        if not 0 <= inference < 1:
            raise ValueError(f"inference={inference}: expected 0 or more, and less than 1")
        if not 0 < effort <= MAX_EFFORT:
            raise ValueError(f"effort={effort}: expected more than 0, and {MAX_EFFORT:g} or less")
        self.name = name
        self.worlds = worlds
        self.inference = inference
        self.effort = effort
        self.threads = threads
        self.history = HISTORY if inference else 0
        self._prior: ScoringAgent | None = None
        self._seed = 0
        self._desks: dict[AnyRules, list[AnyDesk]] = {}

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self._seed = seed % 2**64

    def act(self, view: View) -> IntArray:
        """Choose by the rules of this module (see `Agent.act`)."""
        desks = self._desks.setdefault(view.rules, [])
        if not desks:
            desks.append(new_desk(view.rules))
        chosen, is_open = desks[0].glance(view)
        games = np.flatnonzero(is_open)
        if games.size:
            positions = self._positions(view, games, chosen)
            threads = min(self.threads, len(positions))
            desks += [new_desk(view.rules) for _ in range(threads - len(desks))]
            if threads == 1:
                chosen[games] = [self._decide(desks[0], position) for position in positions]
            else:
                free = list(desks)

                def decide(position: Position) -> int:
                    desk = free.pop()
                    action = self._decide(desk, position)
                    free.append(desk)
                    return action

                with ThreadPoolExecutor(threads) as pool:
                    chosen[games] = list(pool.map(decide, positions))
        return chosen

    def _positions(self, view: View, games: IntArray, chosen: IntArray) -> list[Position]:
        view, chosen = view.select(games), chosen[games]
        legal, num_legal, rows = view.legal_actions, view.num_legal, view.public_rows
        # Only Tiến lên has a history.
        events: IntArray = getattr(view.public_state, "history", np.empty((len(view), 0), np.int64))
        seats = np.arange(view.rules.num_players)
        after = (seats - view.seat[:, None]) % len(seats)
        left = view.num_cards_left[np.arange(len(view))[:, None], after]
        log_prior = np.zeros(len(legal.action))
        if self._prior is not None:
            log_prior[:] = self._prior.log_probabilities(view)
        positions = []
        for i in range(len(view)):
            at = slice(legal.start[i], legal.start[i] + num_legal[i])
            found = log_prior[at]
            likeliest = legal.action[at] == chosen[i] if self._prior is None else found
            positions.append(
                Position(
                    rows[i],
                    events[i],
                    left[i],
                    legal.action[at],
                    legal.cards[at],
                    int(likeliest.argmax()),
                    found,
                )
            )
        return positions

    def _decide(self, desk: AnyDesk, position: Position) -> int:
        raise NotImplementedError


class SearchAgent(_Searcher):
    """Determinised search; see the module.

    Args:
        worlds: deals in which the last two candidates are compared, early in a round.
        ms: milliseconds a decision instead, on one core; 0: the budget is `worlds`.
        inference: how much a play or pass that the heuristic player would not have made counts against a
            deal, 0 (nothing) to 1 (exclusive: impossible).
        effort: how far the chain that draws the deals walks, times.
        trust: credit of the favourite, in points times the root of the number of deals; of a prior, in tenths
            of a point for each unit of its logarithms.
        first: what a first place is worth beyond its points.
        threads: decisions searched at a time, where several games wait.
        prior: name of a `ScoringAgent`, see the module.
        floor: probability below which the prior drops an action.
        rollout: name of the agent that plays rounds out; empty for the (compiled) heuristic player.

    Raises:
        ValueError: an option out of range, or a prior that scores nothing.
    """

    def __init__(
        self,
        *,
        worlds: int = 208,
        ms: float = 0.0,
        inference: float = 0.95,
        effort: float = 1.0,
        trust: float = 1.0,
        first: float = 0.0,
        threads: int = 1,
        prior: str = "",
        floor: float = 0.00001,
        rollout: str = "",
    ) -> None:
        if ms < 0 or trust < 0 or not 0 <= floor < 1:
            raise ValueError(f"ms={ms}, trust={trust}, floor={floor}: expected 0 or more, floor below 1")
        budget = f"ms={ms:g}" if ms else f"worlds={worlds}"
        super().__init__(f"search:{budget},inference={inference:g}", worlds, inference, effort, threads)
        self.ms = ms
        self.trust = trust
        self.first = first
        self.floor = floor
        from tienlen_agents import load  # which imports this module

        self._rollout = load(rollout) if rollout else None
        if self._rollout is not None:
            self.history = max(self.history, history_of([self._rollout]))
        if prior:
            self.guide(load(prior))

    def guide(self, prior: Agent) -> None:
        """Search what this agent thinks likely (see the module), from now on.

        Args:
            prior: a `ScoringAgent`.

        Raises:
            ValueError: it scores nothing.
        """
        if not isinstance(prior, ScoringAgent):
            raise ValueError(f"prior={prior.name!r}: this agent does not score actions (`ScoringAgent`)")
        self._prior = prior
        self.history = max(self.history, history_of([prior]))

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; so do the agents that this one asks."""
        super().reset(seed)
        for agent in (self._prior, self._rollout):
            if agent is not None:
                agent.reset(seed)

    def _decide(self, desk: AnyDesk, position: Position) -> int:
        begin = time.perf_counter()
        favourite = position.favourite
        alive = np.arange(len(position.candidates))
        if self._prior is not None:
            alive = alive[(position.log_prior >= np.log(max(self.floor, 1e-30))) | (alive == favourite)]
        if len(alive) == 1:
            return int(position.candidates[favourite])
        is_open = desk.begin(position, self._seed, self.inference, self.effort)
        values = np.zeros((0, len(alive)))  # of the candidates alive, in all worlds so far
        num_rounds = ceil(log2(len(alive))) if is_open else 1
        for done in range(num_rounds):
            num_alive = len(alive)
            if not is_open:
                values = self._play_out(desk, position, alive, 1)
            elif self.ms:
                deadline = begin + self.ms / 1000 * (done + 1) / num_rounds
                values = self._until(desk, position, alive, values, deadline)
            else:
                num_worlds = max(1, ceil(self.worlds * desk.times / 2 ** (num_rounds - 1 - done))) - len(
                    values
                )
                if num_worlds > 0:
                    values = np.concatenate([values, self._play_out(desk, position, alive, num_worlds)])
            keep = self._contenders(values, alive, position, is_open)
            keep = keep[: -(-num_alive // 2)] if done < num_rounds - 1 else keep[:1]
            keep.sort()
            alive, values = alive[keep], values[:, keep]
            if len(alive) == 1:
                break
        return int(position.candidates[alive[0]])

    def _contenders(self, values: FloatArray, alive: IntArray, position: Position, is_open: bool) -> IntArray:
        """Indices into `alive`, the best first, of those that are not surely worse than it.

        Without doubt about the world (`is_open`) what was found is certain, and nobody gets credit.
        """
        num_worlds = len(values)
        # What is equal in all worlds is left to the favourite, and then to the order of the actions.
        credit = 1e-9 * (alive == position.favourite)
        if is_open:
            if self._prior is None:
                credit += self.trust * (alive == position.favourite) / num_worlds**0.5
            else:
                credit += PRIOR_POINTS * self.trust * position.log_prior[alive]
        order: IntArray = np.argsort(-(values.mean(axis=0) + credit), kind="stable")
        if num_worlds < MIN_SURE:
            return order
        behind = values[:, order[:1]] - values
        is_worse = behind.mean(axis=0) > SURE * behind.std(axis=0) / num_worlds**0.5
        kept: IntArray = order[~is_worse[order]]
        return kept

    def _until(
        self, desk: AnyDesk, position: Position, alive: IntArray, values: FloatArray, deadline: float
    ) -> FloatArray:
        """Add worlds as long as the next ones will be done by the deadline; at least some."""
        size = max(1, 32 // len(alive))
        parts, num_worlds = [values], len(values)
        now = time.perf_counter()
        longest = 0.0
        while num_worlds < MAX_WORLDS and (num_worlds == 0 or now + longest <= deadline):
            parts.append(self._play_out(desk, position, alive, size))
            num_worlds += size
            before, now = now, time.perf_counter()
            longest = max(longest, now - before)
        return np.concatenate(parts)

    def _play_out(self, desk: AnyDesk, position: Position, alive: IntArray, num_worlds: int) -> FloatArray:
        """float64 (num_worlds, len(alive)): what the candidates earn in the next worlds."""
        drawn = desk.draw(num_worlds)
        if self._rollout is None:
            return desk.evaluate(drawn, alive, self.first)
        return self._ask_another(self._rollout, desk, position, alive, drawn)

    def _ask_another(
        self, agent: Agent, desk: AnyDesk, position: Position, alive: IntArray, drawn: IntArray
    ) -> FloatArray:
        """The same, all rounds played out by an agent, at once."""
        batch = Batch(desk.rules, len(drawn) * len(alive), kept=min(self.history, len(position.history)))
        seat = position.public[batch.definition.state.TURN]
        batch.rows[:] = position.public[: batch.rows.shape[1]]
        desk.fill(batch.rows, np.repeat(drawn, len(alive), axis=0))
        before = batch.state.scores[:, seat].copy()
        batch.step(np.tile(position.candidates[alive], len(drawn)))
        while (games := np.flatnonzero((batch.state.turn >= 0) & (batch.state.places[:, seat] < 0))).size:
            actions = np.full(batch.num_games, NO_ACTION)
            # Games that are settled for the seat still wait for somebody; they are played on by anything.
            running = batch.state.turn >= 0
            actions[running] = batch.legal_mask()[running].argmax(axis=1)
            actions[games] = agent.act(View(batch, games))
            batch.step(actions)
        points: FloatArray = self.first * (batch.state.places[:, seat] == 0)
        points += batch.state.scores[:, seat] - before
        return points.reshape(len(drawn), len(alive))


class IsmctsAgent(_Searcher):
    """Information-set Monte Carlo tree search, for Tiến lên; see `tienlen_agents.search.tree`.

    Args:
        worlds: iterations, each in a world of its own.
        inference: see `SearchAgent`.
        explore: weight of the confidence bound, in points.
        threads: see `SearchAgent`.

    Raises:
        ValueError: an option out of range.
    """

    plays: Final = "tienlen"

    def __init__(
        self, *, worlds: int = 256, inference: float = 0.95, explore: float = 1.0, threads: int = 1
    ) -> None:
        if explore < 0:
            raise ValueError(f"explore={explore}: expected 0 or more")
        super().__init__(f"ismcts:worlds={worlds},inference={inference:g}", worlds, inference, 1.0, threads)
        self.explore = explore

    def _decide(self, desk: AnyDesk, position: Position) -> int:
        assert isinstance(desk, Desk)  # of Tiến lên, which `plays` says
        desk.begin(position, self._seed, self.inference, self.effort)
        visits = desk.grow(desk.draw(self.worlds), self.explore)
        visits[position.favourite] += 1  # of several equals, the favourite
        return int(position.candidates[visits.argmax()])
