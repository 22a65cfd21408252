"""The inputs of a network in Thirteens, and the inputs that only the critic reads.

The features of an action are four groups of numbers, X = 125 in total: the *action* itself (32: one-hot
strength and suit of a card, whether it is the end of melding, and the number of cards of each pip that it
plays or melds), the *hand* that it leaves (54 by card id, and the voids among the four suits), the *pile*
(13: the number of cards of each pip that are then in the trick, or can still be melded), and *auxiliary
features* (22, see `read_item`). The reader appends the unseen cards, and their number in each suit, to
the observation.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tienlen_agents.networks.features.base import (
    ONE,
    ComputeArgs,
    ComputedCode,
    Features,
    ReadArgs,
    ReaderCode,
)
from tienlen_agents.rule_based.trickster import (
    TricksterAgent,
    evaluate_row,
    keeping,
    ranked_above,
    trick_worth,
    unseen_cards,
)
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.arrays import Output, Row, Spec
from tienlen_env.games.common.bits import LOWEST_SUIT, lowest_index, popcount
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.thirteens import kernels, observe, spec as S, state as R
from tienlen_env.games.thirteens.cards import JOKERS, NUM_CARDS
from tienlen_env.games.thirteens.melds import pip_counts, without
from tienlen_env.games.thirteens.rules import ThirteensRules

SUIT: Final = 14  # columns: start of the suit, after the strength,
END: Final = 18
PIPS: Final = 19
LEFT: Final = 32
VOIDS: Final = LEFT + NUM_CARDS
PILE: Final = VOIDS + 4
AUX: Final = PILE + 13
NUM_AUX: Final = 22
NUM_ACTION_FEATURES: Final = AUX + NUM_AUX  # X
# The pieces that policies read whose files do not name any; this list does not change.
PIECES: Final = (
    "hand", "played", "trick", "aside", "shown", "pile", "scores", "points", "thirteens", "pairs",
    "straights", "jokers", "tricks", "void", "leader", "winner", "follow", "joker_led", "lead", "first_trick",
)  # fmt: skip
_MAX_GAP: Final = 6.0  # points; larger gaps to the best action are clipped


def write_unseen(row: Row, spec: Spec, out: Output, begin: int) -> None:
    """Write the unseen cards of the seat to move, and their number in each suit, from `begin` on.

    C + 52 items: cards by id, and the counts in unary with 13 bits, without jokers.
    """
    unseen, num_cards = unseen_cards(row, spec), spec[S.NUM_CARDS]
    for card in range(num_cards):
        out[begin + card] = unseen >> card & 1
    for suit in range(4):
        count = popcount(unseen & LOWEST_SUIT << suit)
        for k in range(13):
            out[begin + num_cards + 13 * suit + k] = count > k


def read_item(b: int, slot: int, args: ReadArgs) -> None:
    """Write the inputs of decision number `b`.

    The auxiliary features of a card begin with estimates of `tienlen_agents.rule_based.trickster`: the
    probability of winning the trick, the trick's final value, their product, the probability of winning no
    trick, the probability that the card wins later. Then follow facts: the trick's present value with the
    card, whether the card is the highest so far, whether it follows suit; in its suit the number of unseen
    higher cards, whether this is 0, the numbers of unseen cards, of own cards left, and of later players with
    a known void. For the decision and the remaining hand: the number of players still to play, whether it is
    0, the number of cards, how many of them are the highest of their suit, their probability of winning
    later, whether the seat has no trick so far, the number of unseen jokers. ``prior="heuristic"`` adds two
    from `trickster`: the action's points relative to its best one, and whether it is the best.
    """
    spec, actions, settings, inputs = args.spec, args.actions, args.settings, args.inputs
    weights, aux_features = args.memory.states[slot], args.memory.aux_features[slot]
    bits, cards = args.memory.bits[slot], args.memory.cards
    scores, card_values = args.memory.scores, args.memory.values
    ids, out, observation = inputs.action, inputs.action_features, inputs.observation[b]
    row = args.rows[args.games[b]]
    num_players, seat = spec[S.NUM_PLAYERS], row[R.TURN]
    observe.observe(row, spec, actions, seat, observation, 0)
    write_unseen(row, spec, observation, observation.shape[0] - spec[S.NUM_CARDS] - 52)

    start = inputs.segment_start[b]
    end = kernels.list_legal(row, spec, actions, ids, cards, start)
    evaluate_row(row, spec, actions, weights, ids, (start, end), scores, card_values)
    best = scores[start]
    for i in range(start, end):
        best = max(best, scores[i])
    unseen = unseen_cards(row, spec)
    num_later = num_players - 1 - (seat - row[R.LEADER]) % num_players
    # Cards that no other player can beat in their suit.
    highest = 0
    rest = row[R.HAND + seat] & ~JOKERS
    while rest != 0:
        card = rest & -rest
        rest ^= card
        if unseen & ranked_above(lowest_index(card)) == 0:
            highest |= card
    for i in range(start, end):
        for column in range(AUX):
            out[i, column] = 0
        for k in range(NUM_AUX):
            aux_features[k] = 0
        action = ids[i]
        at = action * S.ACTION_FIELDS
        left = row[R.HAND + seat]
        if action < spec[S.NUM_CARDS]:
            card = 1 << action
            left ^= card
            pile = row[R.ON_TABLE] | row[R.ASIDE] | card
            own = pip_counts(card)
            strength, suit = actions[at + S.STRENGTH], actions[at + S.SUIT]
            out[i, strength] = ONE
            aux_features[5] = trick_worth(spec, pile) / 8
            aux_features[6] = strength > row[R.BEST] and (
                suit == 0 or row[R.FOLLOW] == 0 or row[R.LEADER] == seat or suit == row[R.FOLLOW]
            )
            aux_features[7] = suit != 0 and suit == row[R.FOLLOW]
            aux_features[13] = num_later / 3
            aux_features[14] = num_later == 0
            if suit != 0:
                out[i, SUIT + lowest_index(suit)] = ONE
                higher = popcount(unseen & ranked_above(action))
                aux_features[8] = higher / 4
                aux_features[9] = higher == 0
                aux_features[10] = popcount(unseen & suit) / 13
                aux_features[11] = popcount(left & suit) / 13
                for after in range(1, num_later + 1):
                    other = (seat + after) % num_players
                    aux_features[12] += (row[R.VOID] >> (4 * other + lowest_index(suit)) & 1) / 2
        else:
            own = actions[at + S.NEED]
            pile = without(row[R.PILE], own)
            if own == 0:
                out[i, END] = ONE
                pile = 0
        counts = pip_counts(pile)
        for pip in range(13):
            # Integers of this size are exact in bfloat16.
            aux_features[0] = own >> 4 * pip & 7
            aux_features[1] = counts >> 4 * pip & 7
            out[i, PIPS + pip] = bits[0] >> 16
            out[i, PILE + pip] = bits[1] >> 16
        rest = left
        while rest != 0:
            out[i, LEFT + lowest_index(rest)] = ONE
            rest &= rest - 1
        later = 0.0
        rest = left & ~JOKERS
        while rest != 0:
            later += keeping(weights, unseen, lowest_index(rest))
            rest &= rest - 1
        for suit in range(4):
            if left & LOWEST_SUIT << suit == 0:
                out[i, VOIDS + suit] = ONE
        aux_features[0] = card_values[i, 0]
        aux_features[1] = card_values[i, 1] / 8
        aux_features[2] = card_values[i, 0] * card_values[i, 1] / 8
        aux_features[3] = card_values[i, 2]
        aux_features[4] = card_values[i, 3]
        aux_features[15] = popcount(left) / 13
        aux_features[16] = popcount(left & highest) / 4
        aux_features[17] = later / 4
        aux_features[18] = row[R.COUNTS + seat] & 255 == 0
        aux_features[19] = popcount(unseen & JOKERS)
        if settings.has_prior:
            gap = max(np.float32(scores[i] - best), np.float32(-_MAX_GAP))
            inputs.prior[i] = settings.prior_scale * gap
            aux_features[20] = gap
            aux_features[21] = gap == 0
        for k in range(NUM_AUX):
            # Round to nearest.
            out[i, AUX + k] = (bits[k] + 0x8000) >> 16


CODE: Final = ReaderCode(
    read_item, state=lambda: TricksterAgent().state, num_aux=NUM_AUX, score_type=np.float64, num_values=4
)


def num_hidden(rules: AnyRules) -> int:
    """H, the number of features that `hidden_item` writes."""
    own = _own(rules)
    return (own.num_players - 1 + own.dummy) * own.num_cards


def hidden_item(item: int, slot: int, args: ComputeArgs) -> None:
    """Write hidden features for the critic, relative seats.

    The hands of the others by card id, the dummy's last if there is one.
    """
    row, num_players, num_cards = (
        args.rows[args.games[item]],
        args.spec[S.NUM_PLAYERS],
        args.spec[S.NUM_CARDS],
    )
    for k in range(args.out.shape[1] // num_cards):
        is_dummy = k == num_players - 1
        hand = row[R.DUMMY] if is_dummy else row[R.HAND + (row[R.TURN] + 1 + k) % num_players]
        for card in range(num_cards):
            args.out[item, k * num_cards + card] = hand >> card & 1


def _own(rules: AnyRules) -> ThirteensRules:
    if not isinstance(rules, ThirteensRules):
        raise WrongGameError(f"these features are of Thirteens, not of the {rules.name} rules")
    return rules


def num_derived(rules: AnyRules) -> int:
    """E, the number of items of `write_unseen`."""
    return _own(rules).num_cards + 52


FEATURES: Final = Features(
    game="thirteens",
    baseline="trickster",
    eval_opponents=("trickster",),
    prior_scale=1.0,
    gae_lambda=0.9,
    num_action_features=lambda rules: NUM_ACTION_FEATURES,
    num_derived=num_derived,
    code=lambda rules: CODE,
    hidden=ComputedCode(lambda rules: hidden_item, size=num_hidden),
    on_device=False,
    pieces=PIECES,
    limitations=lambda record: "The network sees who played what before this trick, but not when.",
)
