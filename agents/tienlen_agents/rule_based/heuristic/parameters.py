"""The weights of the rule-based agent, and the tables that its compiled code reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from tienlen_env.games.common.arrays import IntArray

# Costs and scores are integers, in 65536ths of a play, so sums do not depend on their order, and decisions do
# not depend on the platform.
ONE: Final = 1 << 16

# Kinds of plays, each with its own costs; sequences by their number of cards.
SINGLE: Final = 0
PAIR: Final = 1
TRIPLE: Final = 2
SEQUENCE: Final = 3  # of 3 cards or fewer, 4, 5, 6, 7, 8 or more
NUM_SEQUENCES: Final = 6
BOMB: Final = SEQUENCE + NUM_SEQUENCES
NUM_KINDS: Final = BOMB + 1

NUM_STEPS: Final = 128  # half cards: twice the number of better plays, 2 × 52 at most
NUM_LEFT: Final = 14  # cards in the shortest hand among the opponents, 0..13

# The tables, one after the other.
COST: Final = 0  # NUM_LEFT × NUM_KINDS × NUM_STEPS: cost of a play in the hand
HOLD: Final = COST + NUM_LEFT * NUM_KINDS * NUM_STEPS  # NUM_KINDS × NUM_STEPS: win probability of a trick
SLOPE: Final = HOLD + NUM_KINDS * NUM_STEPS  # NUM_KINDS: cost of each better play
PASS_BONUS: Final = SLOPE + NUM_KINDS  # NUM_LEFT: reward for a pass
PASS_OWNER: Final = PASS_BONUS + NUM_LEFT  # NUM_LEFT: minus this, by the cards of the table's owner
END: Final = PASS_OWNER + NUM_LEFT  # NUM_LEFT: how close the end of the round is, by cards left
PLAIN: Final = END + NUM_LEFT  # the other parameters, in the order of `_PLAIN`
_PLAIN: Final = (
    "lead_tempo",
    "follow_tempo",
    "lead_cards",
    "beatable",
    "finish",
    "finish_two",
    "pass_card",
    "pass_last",
    "place",
    "danger_one",
    "danger_two",
    "chop",
    "held",
    "cong",
    "prize",
    "risk",
    "only_twos",
    "last_three",
)
(
    LEAD_TEMPO,
    FOLLOW_TEMPO,
    LEAD_CARDS,
    BEATABLE,
    FINISH,
    FINISH_TWO,
    PASS_CARD,
    PASS_LAST,
    PLACE,
    DANGER_ONE,
    DANGER_TWO,
    CHOP,
    HELD,
    CONG,
    PRIZE,
    RISK,
    ONLY_TWOS,
    LAST_THREE,
) = range(PLAIN, PLAIN + len(_PLAIN))
NUM_WEIGHTS: Final = PLAIN + len(_PLAIN)
# The tables before this one are the same under all rules; those from here on are tuned for each family of
# rules (`FAMILIES`).
OWN: Final = SLOPE
NUM_OWN: Final = NUM_WEIGHTS - OWN


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The weights of the rules. The unit of all costs and rewards is one play (a low single costs 1).

    If u unseen plays beat a play, it costs ``base - keep * exp(-decay * u) + slope * (share of unseen
    cards)``.

    Attributes:
        pair: base cost of a pair.
        triple: base cost of a triple (and of a quad that is not a bomb).
        sequence: base cost of a sequence of three cards.
        sequence_card: extra base cost of each further card.
        bomb: cost of a bomb while an opponent may hold a 2; low, so that bombs stay whole.
        keep_single: reduction of the cost of an unbeatable single, because it will regain the lead.
        keep_pair: the same for a pair.
        keep_triple: the same for a triple.
        keep_sequence: the same for a sequence.
        decay_single: decay rate of this reduction per better single that is unseen.
        decay_pair: the same for a pair.
        decay_triple: the same for a triple.
        decay_sequence: the same for a sequence of three cards.
        decay_card: factor on the decays of a sequence for each further card, because one hand must hold all
            cards of a better one.
        slope_single: extra cost of the lowest single, which can seldom follow.
        slope_pair: the same for a pair.
        urgency: share of the `keep_*` reductions that is lost if an opponent has one card left.
        urgency_decay: decay rate of this share per further card of that opponent.
        lead_tempo: reward for a lead that wins its trick.
        follow_tempo: reward for a following play that wins the trick.
        hold_single: decay rate of the probability of winning the trick, per better single.
        hold_set: the same for pairs, triples and quads.
        hold_sequence: the same for a sequence of three cards; see `decay_card`.
        lead_cards: reward for every card of a lead.
        beatable: cost of each beatable play of the remaining hand, in the split with the fewest.
        finish: reward for winning the trick if all other plays but one are then unbeatable.
        finish_two: the same if all but two are.
        pass_bonus: reward for a pass.
        pass_card: additional reward for a pass, per own card.
        pass_urgency: subtracted from it if an opponent has one card left (decays by `urgency_decay`).
        pass_owner: subtracted from it if the owner of the table has one card left (decays in the same way).
        pass_last: subtracted from it if no other player can still take the trick from its owner.
        place: subtracted from it for every play that the hand needs more than the shortest hand.
        danger_one: penalty for a single that a player with one card left beats (times the probability).
        danger_two: the same for a single or a pair and a player with two cards left.
        chop: reward for a bomb on a 2.
        held: under rules with payments, cost of a stake's worth of cards in hand if an opponent has one card.
        held_decay: decay rate of this cost per further card of that opponent.
        cong: cost of a pass with no card played, for each stake that cóng costs; decays in the same way.
        prize: reward for each stake that a chop earns.
        risk: cost of each stake that can be lost to a chop.
        only_twos: cost of a hand of nothing but 2s where they may not be the last cards.
        last_three: cost of each stake that a last 3♠ costs if it is caught.
    """

    pair: float = 0.995
    triple: float = 0.858
    sequence: float = 0.993
    sequence_card: float = 0.014
    bomb: float = -0.422
    keep_single: float = 1.53
    keep_pair: float = 1.219
    keep_triple: float = 0.158
    keep_sequence: float = 0.884
    decay_single: float = 0.206
    decay_pair: float = 0.251
    decay_triple: float = 0.143
    decay_sequence: float = 0.226
    decay_card: float = 1.035
    slope_single: float = 0.272
    slope_pair: float = 0.289
    urgency: float = 0.318
    urgency_decay: float = 0.742
    lead_tempo: float = -0.042
    follow_tempo: float = 0.098
    hold_single: float = 0.212
    hold_set: float = 0.111
    hold_sequence: float = 0.064
    lead_cards: float = 0.046
    beatable: float = 0.108
    finish: float = 0.831
    finish_two: float = 0.295
    pass_bonus: float = 0.189
    pass_card: float = 0.022
    pass_urgency: float = 1.436
    pass_owner: float = 0.426
    pass_last: float = 0.517
    place: float = -0.139
    danger_one: float = 0.548
    danger_two: float = 0.333
    chop: float = 0.293
    held: float = 1.5
    held_decay: float = 0.15
    cong: float = 1.0
    prize: float = 0.6
    risk: float = 0.05
    only_twos: float = 2.0
    last_three: float = 1.0

    def weights(self) -> IntArray:
        """int64 (NUM_WEIGHTS,): the tables above, in units of ``1 / ONE``."""
        out = np.zeros(NUM_WEIGHTS)
        near = np.exp(-self.urgency_decay * np.maximum(np.arange(NUM_LEFT) - 1, 0))
        better = np.arange(NUM_STEPS) / 2
        further = np.arange(NUM_SEQUENCES)
        fading = self.decay_card**further
        runs = np.ones(NUM_SEQUENCES)
        base = np.r_[1.0, self.pair, self.triple, self.sequence + self.sequence_card * further, self.bomb]
        keep = np.r_[self.keep_single, self.keep_pair, self.keep_triple, self.keep_sequence * runs, 0.0]
        decay = np.r_[
            self.decay_single, self.decay_pair, self.decay_triple, self.decay_sequence * fading, 0.0
        ]
        kept = keep[:, None] * np.exp(-decay[:, None] * better)
        cost = base[:, None] - (1 - self.urgency * near)[:, None, None] * kept
        out[COST:HOLD] = cost.ravel()
        hold = np.r_[
            self.hold_single, self.hold_set, self.hold_set, self.hold_sequence * fading, self.hold_set
        ]
        out[HOLD:SLOPE] = np.exp(-hold[:, None] * better).ravel()
        out[SLOPE : SLOPE + 2] = self.slope_single, self.slope_pair
        out[PASS_BONUS:PASS_OWNER] = self.pass_bonus - self.pass_urgency * near
        out[PASS_OWNER:END] = self.pass_owner * near
        out[END:PLAIN] = np.exp(-self.held_decay * np.maximum(np.arange(NUM_LEFT) - 1, 0))
        out[PLAIN:] = [getattr(self, name) for name in _PLAIN]
        return np.rint(out * ONE).astype(np.int64)


# The tuned parameters of each family of rules (`splits.family_of`): no payments; payments by places or a
# stake to the first, by the cards that are left, and where suits bind the plays. The file has what differs
# from the defaults.
FAMILIES: Final = tuple(
    Parameters(**own) for own in json.loads(Path(__file__).with_name("families.json").read_text("utf-8"))
)


@lru_cache(maxsize=8)
def family_weights(parameters: Parameters | None) -> IntArray:
    """int64 (NUM_WEIGHTS + len(FAMILIES) * NUM_OWN,): the common tables, then those of each family.

    Args:
        parameters: the weights under all rules; None for `FAMILIES`.

    Raises:
        ValueError: families differ in a parameter that decides a common table.
    """
    every = [each.weights() for each in (FAMILIES if parameters is None else (parameters,) * len(FAMILIES))]
    if any((each[:OWN] != every[0][:OWN]).any() for each in every):
        raise ValueError("families differ in a parameter that decides a common table")
    return np.concatenate([every[0], *(each[OWN:] for each in every)])
