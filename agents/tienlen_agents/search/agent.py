"""The agents that search; see `tienlen_agents.search`."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from math import inf, isfinite, log
from typing import Final

import numpy as np

from tienlen_agents.search import halving
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.interface import BeliefAgent, Decision, Estimates, Options
from tienlen_agents.settings import Range
from tienlen_env.engine.agent import Agent, ParticularAgent, ScoringAgent, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_seed
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.engine.view import View
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import BoolArray, FloatArray, IntArray
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.state import ClimbingState
from tienlen_env.games.registry import has_payments

HISTORY: Final = 160  # events of a round; the longest of 4,000 rounds of random play had 108
MAX_WORLDS: Final = 1 << 14  # with a budget in milliseconds
WORLDS: Final = Range(1, 100_000)  # a decision with many actions stores up to 200 numbers for each
THREADS: Final = Range(1, 256)
MAX_EFFORT: Final = 100.0
OBJECTIVES: Final = ("points", "payments")
MAX_ROLLOUTS: Final = 1 << 14  # by another agent, at a time
MIN_PROBABILITY: Final = 1e-30
LEAST_WEIGHT: Final = 0.0001  # of a card, see `tienlen_agents.search.interface.BeliefAgent`
MOST_WEIGHT: Final = 10_000.0


class _Searcher:
    """Common part of both searches: the searched decisions, their contexts, the threads."""

    def __init__(self, name: str, worlds: int, inference: float, mcmc_effort: float, threads: int) -> None:
        if worlds not in WORLDS:
            raise ValueError(f"worlds={worlds}: expected {WORLDS}")
        if threads not in THREADS:
            raise ValueError(f"threads={threads}: expected {THREADS}")
        if not 0 <= inference < 1:
            raise ValueError(f"inference={inference}: expected 0 or more, and less than 1")
        if not 0 < mcmc_effort <= MAX_EFFORT:
            raise ValueError(f"mcmc_effort={mcmc_effort}: expected more than 0, and {MAX_EFFORT:g} or less")
        self.name = name
        self.worlds = worlds
        self.inference = inference
        self.mcmc_effort = mcmc_effort
        self.threads = threads
        self.history = HISTORY if inference else 0
        self.objective = ""
        self._prior: ScoringAgent | None = None
        self._seed = 0
        self._contexts: dict[tuple[AnyRules, str], list[SearchContext]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Compiled functions and scratch memory are made anew where they are needed."""
        return {**self.__dict__, "_contexts": {}}

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on.

        Raises:
            ValueError: the seed is not an integer.
        """
        self._seed = as_seed(seed)

    def act(self, view: View) -> IntArray:
        """Choose by the rules of `tienlen_agents.search` (see `Agent.act`)."""
        contexts = self._contexts_for(view, 1)
        legal = view.legal_actions
        chosen: IntArray = legal.action[legal.start]
        games = np.flatnonzero(view.num_legal > 1)
        decisions = self._decisions(view, games)
        if self._prior is not None:
            games, decisions = self._ask_prior(self._prior, contexts[0], view, chosen, games, decisions)
        threads = min(self.threads, len(decisions))
        contexts = self._contexts_for(view, threads)
        if threads <= 1:
            indices = [self._decide(contexts[0], decision) for decision in decisions]
        else:
            free = list(contexts)

            def decide(decision: Decision) -> int:
                context = free.pop()
                index = self._decide(context, decision)
                free.append(context)
                return index

            with ThreadPoolExecutor(threads) as pool:
                indices = list(pool.map(decide, decisions))
        for game, decision, index in zip(games, decisions, indices, strict=True):
            chosen[game] = decision.actions[index]
        return chosen

    def _contexts_for(self, view: View, count: int) -> list[SearchContext]:
        """At least `count` contexts of a view's rules and objective."""
        batch, _ = view.source
        wanted = self.objective or batch.reward
        reward = wanted if wanted == "payments" and has_payments(view.rules) else ""
        contexts = self._contexts.setdefault((view.rules, reward), [])
        contexts += [SearchContext(view.rules, reward) for _ in range(count - len(contexts))]
        return contexts

    def _decisions(self, view: View, games: IntArray) -> list[Decision]:
        """The decisions of some games of a view."""
        batch, sources = view.source
        legal, num_legal = view.legal_actions, view.num_legal
        rows = batch.kernel_arrays.rows[sources[games]]
        state = batch.state
        history = state.history[sources[games]] if isinstance(state, ClimbingState) else rows[:, :0]
        no_prior, no_weights = np.zeros(int(num_legal.max(initial=0))), np.zeros((0, 0))
        decisions = []
        for i, game in enumerate(games):
            start, size = legal.start[game], num_legal[game]
            decisions.append(
                Decision(
                    rows[i],
                    history[i],
                    legal.action[start : start + size],
                    legal.cards[start : start + size],
                    no_prior[:size],
                    no_weights,
                )
            )
        return decisions

    def _ask_prior(
        self,
        prior: ScoringAgent,
        context: SearchContext,
        view: View,
        chosen: IntArray,
        games: IntArray,
        decisions: list[Decision],
    ) -> tuple[IntArray, list[Decision]]:
        """Take the actions of solved decisions, and add the prior's log-probabilities to the others."""
        solved = np.array([context.resolve(decision)[1] for decision in decisions], np.int64)
        for game, decision, index in zip(games, decisions, solved, strict=True):
            if index >= 0:
                chosen[game] = decision.actions[index]
        is_open = solved < 0
        games, decisions = games[is_open], [d for d, keep in zip(decisions, is_open, strict=True) if keep]
        if decisions:
            open_view = view.select(games)
            if isinstance(prior, BeliefAgent):
                log_prior, card_weights = prior.log_probabilities_and_card_weights(open_view)
                _check_card_weights(
                    prior.name, card_weights, (len(games), view.rules.num_players - 1, NUM_CARDS)
                )
            else:
                log_prior, card_weights = prior.log_probabilities(open_view), np.zeros((len(games), 0, 0))
            ends = np.cumsum([len(decision.actions) for decision in decisions])
            found = np.split(log_prior.astype(np.float64), ends[:-1])
            decisions = [
                decision._replace(log_prior=values, card_weights=weights, default=int(values.argmax()))
                for decision, values, weights in zip(decisions, found, card_weights, strict=True)
            ]
        return games, decisions

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        """The index of the action to take."""
        raise NotImplementedError


def _check_card_weights(name: str, card_weights: FloatArray, shape: tuple[int, int, int]) -> None:
    """Refuse card weights that compiled code would misread, or from whose products no deal can be drawn.

    Raises:
        ValueError: another type or shape, or a weight out of range.
    """
    if (
        not isinstance(card_weights, np.ndarray)
        or card_weights.dtype != np.float64
        or card_weights.shape not in (shape, (shape[0], 0, 0))
        or not ((card_weights >= LEAST_WEIGHT) & (card_weights <= MOST_WEIGHT)).all()
    ):
        raise ValueError(
            f"prior={name!r}: card weights: expected float64 {shape}, each {LEAST_WEIGHT:g}..{MOST_WEIGHT:g}"
        )


class SearchAgent(_Searcher):
    """Determinized Monte-Carlo search; see `tienlen_agents.search`.

    Args:
        worlds: number of worlds that compare the last two candidates, early in a round.
        ms: milliseconds for a decision, on one core; 0: the budget is `worlds`.
        inference: how much a past play that deviates from the opponent model counts against a world, from 0
            (not at all) to 1 (exclusive: such worlds are impossible).
        mcmc_effort: factor on the length of the chain that samples worlds.
        prior_weight: weight of the bonus of the default action, in points times the root of the number of
            worlds; of a prior, in tenths of a point for each unit of its log-probabilities.
        first_place_bonus: points for the first place, in addition to the game's own.
        threads: decisions searched at a time, if several games wait.
        prior: name of a `ScoringAgent`, see the module.
        floor: probability below which the prior drops an action.
        rollout: name of the agent that plays the rollouts; empty for the (compiled) baseline.
        objective: what it maximises: ``"payments"`` where the rules have them, or ``"points"``; empty: what
            the reward of the batch asks for.

    Raises:
        ValueError: an option out of range, or a prior that does not score actions.
    """

    def __init__(
        self,
        *,
        worlds: int = 208,
        ms: float = 0.0,
        inference: float = 0.95,
        mcmc_effort: float = 1.0,
        prior_weight: float = 1.0,
        first_place_bonus: float = 0.0,
        threads: int = 1,
        prior: str = "",
        floor: float = 0.00001,
        rollout: str = "",
        objective: str = "",
    ) -> None:
        if not (0 <= ms < inf and 0 <= prior_weight < inf and 0 <= floor < 1):
            raise ValueError(
                f"ms={ms}, prior_weight={prior_weight}, floor={floor}: expected 0 or more, and finite; floor "
                "below 1"
            )
        if not isfinite(first_place_bonus):
            raise ValueError(f"first_place_bonus={first_place_bonus}: expected a finite number")
        if objective:
            check_word("objective", objective, OBJECTIVES)
        budget = f"ms={ms:g}" if ms else f"worlds={worlds}"
        super().__init__(f"search:{budget},inference={inference:g}", worlds, inference, mcmc_effort, threads)
        self.objective = objective
        self.ms = ms
        self.prior_weight = prior_weight
        self.first_place_bonus = first_place_bonus
        self.floor = floor
        from tienlen_agents import load  # which imports this module

        self._rollout: Agent | None = None
        if rollout:
            self.set_rollout(load(rollout))
        if prior:
            self.set_prior(load(prior))

    def set_prior(self, prior: Agent) -> None:
        """Use a prior from now on (see `tienlen_agents.search`).

        Args:
            prior: a `ScoringAgent`; worlds are sampled by the card weights of a `BeliefAgent`.

        Raises:
            ValueError: it does not score actions.
        """
        if not isinstance(prior, ScoringAgent):
            raise ValueError(f"prior={prior.name!r}: this agent does not score actions (`ScoringAgent`)")
        self._prior = prior
        self.history = max(self.history, history_of([prior]))

    def set_rollout(self, agent: Agent) -> None:
        """Let an agent play the rollouts from now on."""
        self._rollout = agent
        self.history = max(self.history, history_of([agent]))

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; the prior and the rollout agent are reset too."""
        super().reset(seed)
        for agent in (self._prior, self._rollout):
            if agent is not None:
                agent.reset(seed)

    @property
    def options(self) -> Options:
        """The settings as compiled code reads them."""
        return Options(
            seed=self._seed,
            worlds=int(self.worlds),
            inference=float(self.inference),
            mcmc_effort=float(self.mcmc_effort),
            first_place_bonus=float(self.first_place_bonus),
            prior_weight=float(self.prior_weight),
            floor=log(max(self.floor, MIN_PROBABILITY)),
            has_prior=self._prior is not None,
        )

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse rules that the prior or the agent of the rollouts does not play.

        Raises:
            ValueError: it names them.
        """
        for agent in (self._prior, self._rollout):
            if isinstance(agent, ParticularAgent):
                agent.check_rules(rules)

    def is_solved(self, view: View) -> BoolArray:
        """Whether each of n decisions is solved exactly, and so needs no search; bool (n,)."""
        context, *_ = self._contexts_for(view, 1)
        decisions = self._decisions(view, np.arange(len(view)))
        return np.array([context.resolve(decision)[1] >= 0 for decision in decisions], np.bool_)

    def estimate(self, view: View) -> list[Estimates]:
        """What each legal action of n decisions earns on average, with intervals.

        No action is dropped, and a prior has no influence. See `tienlen_agents.search.estimates`.

        Returns:
            n estimates, in the unit of the reward.
        """
        context, *_ = self._contexts_for(view, 1)
        options = self.options_in(context)._replace(has_prior=False)
        return [
            self._estimate(context, decision, options)
            for decision in self._decisions(view, np.arange(len(view)))
        ]

    def _estimate(self, context: SearchContext, decision: Decision, options: Options) -> Estimates:
        agent = self._rollout
        if agent is None:
            return context.evaluate(decision, options)

        def play_out(worlds: IntArray) -> FloatArray:
            parts = np.array_split(worlds, -(-len(worlds) * len(decision.actions) // MAX_ROLLOUTS))
            return np.concatenate([self._play_out(agent, context, decision, part) for part in parts])

        return context.evaluate_by(decision, options, play_out)

    def options_in(self, context: SearchContext) -> Options:
        """The settings as a search of a variant reads them: amounts in the unit of its reward."""
        options = self.options
        return options._replace(
            first_place_bonus=options.first_place_bonus * context.reward_unit,
            prior_weight=options.prior_weight * context.reward_unit,
            reward_unit=context.reward_unit,
        )

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        if self.ms or self._rollout is not None:
            return self._decide_in_steps(context, decision)
        return context.search(decision, self.options_in(context))

    def _decide_in_steps(self, context: SearchContext, decision: Decision) -> int:
        """The same search, step by step: a budget in time needs a clock, another agent needs Python."""
        begin = time.perf_counter()
        default = decision.default
        if default < 0:
            default, solved = context.resolve(decision)
            if solved >= 0:
                return solved
        options = self.options_in(context)
        scale = context.start(decision, options, default)
        num_steps = halving.num_steps(len(context.candidates))
        if scale == 0 and num_steps > 0:
            self._sample(context, decision, 1)
            context.eliminate(1)
            num_steps = 0
        for step in range(num_steps):
            if self.ms:
                self._sample_until(context, decision, begin + self.ms / 1000 * (step + 1) / num_steps)
            else:
                wanted = halving.num_worlds_after(options, scale, num_steps - 1 - step)
                self._sample(context, decision, wanted - context.num_worlds)
            if context.eliminate(halving.num_after(step, num_steps, len(context.candidates))) == 1:
                break
        return int(context.candidates[0])

    def _sample(self, context: SearchContext, decision: Decision, num_worlds: int) -> None:
        """Evaluate the candidates in the next worlds."""
        if self._rollout is None:
            context.sample(num_worlds)
        elif num_worlds > 0:
            worlds = context.draw(num_worlds)
            context.append(self._play_out(self._rollout, context, decision, worlds))

    def _sample_until(self, context: SearchContext, decision: Decision, deadline: float) -> None:
        """Evaluate worlds as long as the next ones will be done by the deadline; at least some."""
        size = max(1, 32 // len(context.candidates))
        now = time.perf_counter()
        longest = 0.0
        while context.num_worlds < MAX_WORLDS and (context.num_worlds == 0 or now + longest <= deadline):
            self._sample(context, decision, size)
            before, now = now, time.perf_counter()
            longest = max(longest, now - before)

    def _play_out(
        self, agent: Agent, context: SearchContext, decision: Decision, worlds: IntArray
    ) -> FloatArray:
        """float64 (worlds, candidates): what the candidates earn if another agent plays the rollouts."""
        candidates = context.candidates
        num_stored = min(self.history, len(decision.history))
        batch = Batch(context.rules, len(worlds) * len(candidates), history_length=num_stored)
        rows, columns = batch.kernel_arrays.rows, batch.game.columns
        seat = int(decision.row[columns.turn])
        rows[:] = decision.row[: rows.shape[1]]
        context.fill(rows, np.repeat(worlds, len(candidates), axis=0))
        is_paid = context.reward == "payments"
        earned = -(batch.balances if is_paid else batch.scores)[:, seat]
        batch.step(np.tile(decision.actions[candidates], len(worlds)))
        loop = RoundLoop(batch, [agent], [0] * batch.num_players)
        for games, _ in loop:
            # What a seat gets in payments is known at the end of the round, its points when it has its place.
            # Then the game still waits for another seat: any legal action is good enough.
            matters = is_paid | (batch.state.places[games, seat] < 0)
            if not matters.any():
                break
            actions = batch.first_legal(games)
            actions[matters] = loop.ask(0, games[matters])
            loop.play(games, actions)
        points: FloatArray = self.first_place_bonus * context.reward_unit * (batch.state.places[:, seat] == 0)
        points += earned + (batch.balances if is_paid else batch.scores)[:, seat]
        return points.reshape(len(worlds), len(candidates))


class IsmctsAgent(_Searcher):
    """Information-set Monte Carlo tree search; see `tienlen_agents.search.ismcts`.

    Args:
        worlds: iterations, each in a world of its own.
        inference: see `SearchAgent`.
        explore: weight of the confidence bound, in points.
        threads: see `SearchAgent`.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self, *, worlds: int = 256, inference: float = 0.95, explore: float = 1.0, threads: int = 1
    ) -> None:
        if not 0 <= explore < inf:
            raise ValueError(f"explore={explore}: expected 0 or more, and finite")
        super().__init__(f"ismcts:worlds={worlds},inference={inference:g}", worlds, inference, 1.0, threads)
        self.explore = explore

    def _decide(self, context: SearchContext, decision: Decision) -> int:
        explore = float(self.explore) * context.reward_unit
        options = Options(self._seed, int(self.worlds), float(self.inference), explore=explore)
        return context.grow(decision, options)[0]
