"""Training one network on several variants: what is played in each, and how decisions are joined.

The rounds of a shard have one variant; the next shards and iterations have the next ones. Rewards are in
standard deviations of a round's score in that variant, so no variant counts more than another because its
points or units are larger numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, cast

import numpy as np

import tienlen_agents
from tienlen_agents.networks.features import features_of
from tienlen_agents.networks.general import reward_of
from tienlen_agents.networks.network import general_inputs
from tienlen_env import SMALL_GAMES
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.round_loop import RoundLoop
from tienlen_env.errors import RulesError, expected_one_of
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.games.registry import game_of, get_rules, has_payments

MIXED: Final = "mixed"
SCALE_ROUNDS: Final = 256  # rounds that measure the standard deviation of scores
MAIN_SHARE: Final = 0.7  # of the fields of mixed rules that one preset gives
_TRIES: Final = 1000
_WORDS: Final = {"points": "zero_sum", "payments": "payments"}


class ShardVariant(NamedTuple):
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


def parse_variant(text: str) -> ShardVariant:
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
        raise ValueError(f"{text!r}: {expected_one_of(word, _WORDS)} (after the number of players)")
    reward = _WORDS[word] if word else reward_of(rules)
    if reward == "payments" and not has_payments(rules):
        raise ValueError(f"{text!r}: expected points, these rules have no payments")
    return ShardVariant(rules, reward)


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


def parse_variants(text: str) -> tuple[ShardVariant | None, ...]:
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


def mixed_variant(of_game: AnyRules, rng: np.random.Generator) -> ShardVariant:
    """Rules each of whose fields is drawn from those of a game's presets, and an objective that they have.

    Raises:
        ValueError: no mixture of the presets was valid.
    """
    small = SMALL_GAMES.values()
    presets = [rules for rules in game_of(of_game).presets.values() if rules not in small]
    fields = [cast(RulesBase, rules).flat() for rules in presets]
    names = list(fields[0])
    for _ in range(_TRIES):
        # Mostly one preset, so that the combination makes sense as a game.
        main = int(rng.integers(len(presets)))
        others = rng.integers(len(presets), size=len(names)).tolist()
        from_main = (rng.random(len(names)) < MAIN_SHARE).tolist()
        values = {
            name: fields[main if keep else other][name]
            for name, keep, other in zip(names, from_main, others, strict=True)
        }
        values["num_players"] = int(rng.integers(2, 5))
        try:
            rules: AnyRules = type(of_game)(**values)
        except RulesError:
            continue
        objective = reward_of(rules, "points" if rng.random() < 0.3 else "payments")
        return ShardVariant(rules, objective)
    raise ValueError("mixed: these presets have no valid mixture")


@lru_cache(maxsize=256)
def reward_scale(variant: ShardVariant) -> float:
    """The standard deviation of a seat's score in a round, if the game's rule-based agent has all seats."""
    rules, reward = variant
    agent = tienlen_agents.load(features_of(rules).baseline or "random")
    agent.reset(0)
    batch = Batch(rules, SCALE_ROUNDS, reward=reward, history_length=history_of([agent]))
    batch.deal(np.arange(SCALE_ROUNDS))
    scores = np.zeros((SCALE_ROUNDS, rules.num_players), np.float32)
    loop = RoundLoop(batch, [agent], [0] * rules.num_players, skip_forced=True, copy=False)
    for waiting in loop:
        loop.play(waiting.games, loop.answers(waiting))
        scores += loop.rewards
    return float(scores.std()) or 1.0
