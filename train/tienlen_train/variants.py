"""Training one network on several variants: what is played in each, and how decisions are joined.

The rounds of a shard have one variant; the next shards and iterations have the next ones. Rewards are in
standard deviations of a round's score in that variant, so no variant counts more than another because its
points or units are larger numbers. The comparison with the baseline has a line for each variant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from rich.table import Table

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.general import Objective, reward_of
from tienlen_agents.networks.network import general_inputs
from tienlen_env.engine.agent import Agent, View, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import RulesError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules, has_payments

MIXED: Final = "mixed"
SCALE_ROUNDS: Final = 256  # rounds that measure the standard deviation of scores
MAIN_SHARE: Final = 0.7  # of the fields of mixed rules that one preset gives
_TRIES: Final = 1000
_WORDS: Final = {"points": "zero_sum", "payments": "payments"}


class Variant(NamedTuple):
    """What a shard plays.

    Attributes:
        rules: the rules.
        reward: the reward scheme.
    """

    rules: AnyRules
    reward: str

    @property
    def name(self) -> str:
        """Preset, number of players and objective, for a table: ``south-4`` or ``south-4-points``."""
        about = "-points" if self.reward == "zero_sum" and has_payments(self.rules) else ""
        return f"{self.rules.name}-{self.rules.num_players}{about}"


def parse_variant(text: str) -> Variant:
    """A variant from ``preset``, ``preset:players`` or ``preset:players:points``.

    Raises:
        ValueError: an unknown preset, a number of players or a word that cannot be.
    """
    preset, _, rest = text.partition(":")
    players, _, word = rest.partition(":")
    if players and not players.isdecimal():
        raise ValueError(f"{text!r}: expected a number of players, as in {preset}:4")
    rules = get_rules(preset, int(players) if players else None)
    if word and word not in _WORDS:
        raise ValueError(f"{text!r}: expected one of {', '.join(_WORDS)} after the number of players")
    reward = _WORDS[word] if word else reward_of(rules)
    if reward == "payments" and not has_payments(rules):
        raise ValueError(f"{text!r}: expected points, these rules have no payments")
    return Variant(rules, reward)


@dataclass(frozen=True)
class Variants:
    """Variants of one game as a text, separated by blanks; ``mixed`` may be one of the words."""

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, str):
            return False
        try:
            parse_variants(value)
        except ValueError:
            return False
        return True

    def __str__(self) -> str:
        return "presets of one game with numbers of players (cardgames:4 south:3:points), or mixed"


def parse_variants(text: str) -> tuple[Variant | None, ...]:
    """The variants of a text; None for ``mixed``.

    Raises:
        ValueError: see `parse_variant`; or there is none but ``mixed``, or they are of several games, or of
            one that has no general inputs.
    """
    found = tuple(None if word == MIXED else parse_variant(word) for word in text.split())
    known = [variant for variant in found if variant is not None]
    if not known:
        raise ValueError("expected at least one preset")
    if len({game_of(variant.rules).name for variant in known}) > 1:
        raise ValueError("expected variants of one game")
    general_inputs(game_of(known[0].rules).name)
    return found


def mixed_variant(presets: Sequence[AnyRules], rng: np.random.Generator) -> Variant:
    """Rules each of whose fields is drawn from those of some presets, and an objective that they have.

    Raises:
        ValueError: no mixture of the presets was valid.
    """
    kind = type(presets[0])
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for _ in range(_TRIES):
        # Mostly one preset, so that the combination makes sense as a game.
        main = int(rng.integers(len(presets)))
        others = rng.integers(len(presets), size=len(names)).tolist()
        from_main = (rng.random(len(names)) < MAIN_SHARE).tolist()
        values = {
            name: getattr(presets[main if keep else other], name)
            for name, keep, other in zip(names, from_main, others, strict=True)
        }
        values["num_players"] = int(rng.integers(2, 5))
        try:
            rules: AnyRules = kind(**values)
        except RulesError:
            continue
        objective = reward_of(rules, "points" if rng.random() < 0.3 else "payments")
        return Variant(rules, objective)
    raise ValueError("mixed: these presets have no valid mixture")


@lru_cache(maxsize=256)
def reward_scale(variant: Variant) -> float:
    """The standard deviation of a seat's score in a round, if the game's rule-based agent has all seats."""
    rules, reward = variant
    agent = tienlen_agents.load(features_of(rules).baseline or "random")
    agent.reset(0)
    batch = Batch(rules, SCALE_ROUNDS, reward=reward, history_length=history_of([agent]))
    batch.deal(np.arange(SCALE_ROUNDS))
    scores = np.zeros((SCALE_ROUNDS, rules.num_players), np.float32)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        rewards = np.zeros_like(scores)
        batch.step_games(games, agent.act(View(batch, games, copy=False)), rewards)
        scores += rewards
    return float(scores.std()) or 1.0


def in_every_variant(
    policy: NetworkAgent, baseline: Agent, variants: Sequence[Variant | None], num_deals: int, seed: int
) -> Iterator[dict[str, Any]]:
    """A policy alone against the baseline, in every variant that has a name: the columns of the table.

    Args:
        policy: with a general network.
        baseline: has all other seats.
        variants: None for ``mixed``.
        num_deals: of each match.
        seed: of the deals.
    """
    for variant in filter(None, variants):
        objective: Objective = "payments" if variant.reward == "payments" else "points"
        agent = replace(policy, objective=objective)
        result = arena.match(agent, baseline, rules=variant.rules, num_deals=num_deals, seed=seed)
        score = result.scores[0]
        # Payments count where they are the objective.
        main, parity = score.points, result.parity_points
        if objective == "payments" and score.units is not None:
            main, parity = score.units, 0.0
        yield {
            "variant": variant.name,
            "opponent": result.names[1],
            "figure": "points" if main is score.points else "units",
            "mean": main.mean,
            "half_width": main.half_width,
            "parity": parity,
            "first": score.first.mean,
            "first_half_width": score.first.half_width,
        }


def variants_table(lines: Sequence[dict[str, Any]]) -> Table:
    """The lines of `in_every_variant`, for people."""
    title = f"alone against {lines[0]['opponent']} in all other seats"
    table = Table("variant", title=title, title_justify="left", box=None)
    for name in ("a round", "parity", "first %"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            line["variant"],
            f"{line['mean']:.3f} ± {line['half_width']:.3f} {line['figure']}",
            f"{line['parity']:.2f}",
            f"{100 * line['first']:.1f} ± {100 * line['first_half_width']:.1f}",
        )
    return table
