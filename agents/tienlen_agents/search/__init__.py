"""Determinized Monte-Carlo search and single-observer ISMCTS, for any game.

A *world* is a determinization: one assignment of the cards that the seat to act cannot see. `SearchAgent`
samples worlds, evaluates every candidate action in the same worlds (common random numbers) by rollouts of the
game's baseline, and takes the action with the best mean. Its rules, in order:

1. **No search where none is needed**: forced decisions, and positions that the game's search solves exactly
   (in Tiến lên endgames of two players with known cards, `tienlen_agents.endgame`).
2. **Inference.** In Tiến lên worlds are sampled by MCMC from
   ``P(world) ~ (1 - inference) ** (number of past plays that deviate from the opponent model)``, the opponent
   model being `heuristic` (`tienlen_agents.search.tienlen_determinizations`). With `inference` near 1 a
   chain of default length hardly leaves its first worlds: against `heuristic` opponents, whose true hands
   never deviate, 0.95 still predicts card ownership better than 0.99. The chain is longest for 18 to 30
   unseen cards. Inference needs the past plays of the round (`history`); without it, and in other games, all
   worlds that agree with the public information are equally likely. A prior that says how likely each
   opponent holds each card (`tienlen_agents.search.interface.BeliefAgent`) multiplies these probabilities by
   its card weights; with many unseen cards it takes the place of the chain, whose worlds resemble one another
   (`tienlen_agents.search.tienlen_beliefs`). The champion also asks who the opponents are: the rule-based
   agent, or players as models have them (`tienlen_agents.search.tienlen_players`).
3. **Sequential halving** (`tienlen_agents.search.halving`). `worlds` is the number of worlds that compare
   the last two candidates. The last four are compared in half as many, the last eight in a quarter,
   so every step costs about the same: n candidates take about ``worlds * (1 + log2 n)`` rollouts. After each
   step the better half stays, without candidates that are significantly worse than the best. A game may
   multiply the budget: in Tiến lên n unseen cards get ``(39 / n) ** 2`` times as many worlds, since late
   rounds are short and repeated worlds are evaluated once, and 1.5 times as many as that with card weights,
   whose worlds are repeated less often; 8 times at most.
4. **Prior bonus.** The baseline's action gets ``prior_weight / sqrt(n)`` points after n worlds: small
   samples that speak against it are mostly noise.

**What it maximises**: points; payments, where the reward of the batch is ``"payments"``; or what the option
`objective` says. Options in points
are then multiplied by a stake, what the last pays the first (or the price of six cards).

With a budget in milliseconds every step of the halving gets an equal share of the time. With a budget in
worlds the result depends on the seed and on what the seat to act can see, and on nothing else: not on other
games in the batch, the number of threads, or the layout of the state. One decision is then one call of a
compiled function.

A `prior`, any `ScoringAgent`, takes the baseline's place: actions with a probability below `floor` are
dropped, and each other one gets ``prior_weight * log(probability) / 10`` points. This bonus does not shrink
with the number of worlds, since rollouts by the baseline underestimate what a good policy can gain. Trained
policies are overconfident: 32 worlds add 0.05 points a round to the champion's network with a floor of 0.01,
and 0.09 with a floor of 0.00001. With `rollout` another agent plays the rollouts.

`mcmc_effort` scales the length of the chain before the first world and between two worlds. With a small
budget a quarter is better: more samples help more than a longer burn-in.

`IsmctsAgent` builds one tree over the same worlds (`tienlen_agents.search.ismcts`).

For games of other packages the search is `tienlen_agents.search.uniform`, or a search that they register with
`tienlen_env.games.registry.register`.
"""

from __future__ import annotations

from tienlen_agents.search.agent import HISTORY, IsmctsAgent, SearchAgent

__all__ = ["HISTORY", "IsmctsAgent", "SearchAgent"]
