"""The rule-based agent of Thirteens: the strategy section of the source text in numbers.

The agent uses public information and its own hand: all cards shown, the known voids, the trick. For every
card that it may play it estimates two numbers about this trick:

* the **probability of winning** it: no later player holds a higher card of the suit, or is void and has a
  joker;
* the final **value** of the trick: its melds and jokers with this card in it, and the mean contribution of
  the cards still to come (all unseen cards are equally likely).

Points won count in full. Points for an opponent count in part (`TricksterWeights.spite`), because they help
one of several opponents. The advice of the source text follows from this:

1. **Kings after the ace is out.** The value of a trick includes the king's three points, and its probability
   of winning is much higher if no ace is unseen; before that, leading the king gives these points away.
2. **Ducking and dumping.** In a trick that will be lost, the agent plays the card that adds least to it. A
   joker that cannot win takes four points from the winner of the trick.
3. **No thirteen for the last player.** The melds that a card makes possible for later cards count, as well as
   its own melds.
4. **Biding time.** A card that can win later tricks (`keeping`) is not played to a trick of low value: its
   price is its probability of winning later, times the mean value of a trick.
5. **Null.** A seat without tricks that loses this one may still get the three points for no tricks: their
   value, times the probability of winning no trick with the remaining cards (`null_chance`). So hands without
   high cards duck.

If melds are declared, the agent declares the best ones. Ties go to the lowest action id; there is no
randomness.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from tienlen_agents.rule_based import RuleAgent
from tienlen_env.games.common.arrays import ActionFields, FloatArray, Row, Spec
from tienlen_env.games.common.bits import LOWEST_SUIT, lowest_index, popcount
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.thirteens import kernels, spec as S, state as R
from tienlen_env.games.thirteens.cards import JOKERS
from tienlen_env.games.thirteens.melds import POINTS, best_melds, without


@dataclass(frozen=True)
class TricksterWeights:
    """The weights of the terms of a score.

    Attributes:
        spite: weight of a point that an opponent gets, times the number of opponents.
        keeping: value of a later trick that a card can win, in points.
        wait: probability that a higher card is played before the card is led.
        trump: probability that a player who can take a trick by a joker does so.
        null: weight of the points for no trick, relative to points for tricks.
    """

    spite: float = 1.25
    keeping: float = 4.5
    wait: float = 0.55
    trump: float = 0.1
    null: float = 1.0


SPITE, KEEPING, WAIT, TRUMP, NULL = range(5)


@noinline
def ranked_above(card: int) -> int:
    """The cards of a card's suit that beat it, as a mask."""
    suit = LOWEST_SUIT << (card & 3)
    if card >= 48:
        return suit & ~(15 << 48)  # a 2: every other
    return suit & ~((2 << card) - 1) & ~(15 << 48)


@noinline
def trick_worth(spec: Spec, pile: int) -> float:
    """The value of a trick, in points."""
    return float(1 - 4 * popcount(pile & JOKERS) + (best_melds(spec, pile) >> POINTS))


@noinline
def final_worth(spec: Spec, pile: int, unseen: int, num_more: int) -> float:
    """The mean value of a trick after some unseen cards are added; each adds as much as one added alone."""
    now: float = trick_worth(spec, pile)
    count = popcount(unseen)
    if num_more == 0 or count == 0:
        return now
    more = 0.0
    for rank in range(13):
        of_rank = unseen & 15 << 4 * rank
        if of_rank != 0:
            # One unseen card of each rank stands for all of them, because suits do not matter for melds.
            more += popcount(of_rank) * (trick_worth(spec, pile | (of_rank & -of_rank)) - now)
    more -= 4 * popcount(unseen & JOKERS)
    return now + num_more * more / count


@noinline
def chance_none(num_cards: int, places: int, hidden: int) -> float:
    """The probability that a part of the hidden places contains none of some unseen cards."""
    chance = 1.0
    for i in range(num_cards):
        if hidden - i <= 0:
            return chance
        chance *= max(hidden - places - i, 0) / (hidden - i)
    return chance


@noinline
def chance_to_win(row: Row, spec: Spec, weights: FloatArray, suit: int, higher: int, unseen: int) -> float:
    """The probability that no later player beats a card of the seat to act that is the highest so far.

    Args:
        row: the public state.
        spec: the variant.
        weights: of `TricksterWeights`.
        suit: all cards of the suit of the trick.
        higher: number of unseen higher cards of this suit.
        unseen: the unseen cards.
    """
    num_players, seat = spec[S.NUM_PLAYERS], row[R.TURN]
    hidden = popcount(unseen)
    first = (seat - row[R.LEADER]) % num_players
    of_suit, jokers = popcount(unseen & suit), popcount(unseen & JOKERS)
    places = 0
    chance = 1.0
    for after in range(1, num_players - first):
        other = (seat + after) % num_players
        num_cards = popcount(row[R.HAND + seat])  # about as many as it will have then
        is_void = row[R.VOID] >> (4 * other + lowest_index(suit)) & 1
        if not is_void:
            places += num_cards
        if jokers > 0:
            void = 1.0 if is_void else chance_none(of_suit, num_cards, hidden)
            chance *= 1 - weights[TRUMP] * void * (1 - chance_none(jokers, num_cards, hidden))
    return float(chance * chance_none(higher, places, hidden))


@noinline
def keeping(weights: FloatArray, unseen: int, card: int) -> float:
    """The probability that a card wins a later trick: the others hold no higher card, or have played it."""
    if card >= 52:
        return 0.5
    higher = popcount(unseen & ranked_above(card))
    lower = popcount(unseen & (LOWEST_SUIT << (card & 3))) - higher
    # Each higher card must be played first. If no lower cards are unseen, others are void: they discard or
    # trump.
    return float(weights[WAIT] ** higher * (1.0 if lower > 0 or higher == 0 else 0.5))


@noinline
def null_chance(hand: int, unseen: int) -> float:
    """The probability that a hand wins no further trick.

    A card is safe if no opponent can lead its suit, and less safe the more unseen cards of the suit are
    lower.
    """
    chance = 1.0 if hand & JOKERS == 0 else 0.5
    hand &= ~JOKERS
    while hand != 0:
        card = lowest_index(hand)
        hand &= hand - 1
        of_suit = popcount(unseen & (LOWEST_SUIT << (card & 3)))
        if of_suit > 0:
            below = 1 - popcount(unseen & ranked_above(card)) / of_suit
            chance *= 1 - below * below
    return chance


@noinline
def unseen_cards(row: Row, spec: Spec) -> int:
    """The cards that the seat to act has not seen, as a mask."""
    seen = row[R.SHOWN] | row[R.HAND + row[R.TURN]]
    for other in range(spec[S.NUM_PLAYERS]):
        seen |= row[R.PLAYED + other]
    return int(((1 << spec[S.NUM_CARDS]) - 1) & ~seen)


@noinline
def evaluate_card(
    row: Row, spec: Spec, weights: FloatArray, card: int, unseen: int
) -> tuple[float, float, float, float, float]:
    """The value of playing a card, in points, and its parts.

    These are the probability of winning the trick; the final value of the trick; if the seat has no trick
    yet, the probability of winning none with the remaining cards, else 0; the probability that the card wins
    a later trick.
    """
    num_players, seat = spec[S.NUM_PLAYERS], row[R.TURN]
    first = (seat - row[R.LEADER]) % num_players
    bit = 1 << card
    pile = row[R.ON_TABLE] | row[R.ASIDE] | bit
    worth = final_worth(spec, pile, unseen, num_players - 1 - first)
    is_joker = card >= 52
    if is_joker:
        win = 1.0 if row[R.BEST] < S.JOKER_STRENGTH else 0.0
    elif first == 0:
        suit = LOWEST_SUIT << (card & 3)
        higher = popcount(unseen & ranked_above(card))
        win = chance_to_win(row, spec, weights, suit, higher, unseen)
    elif row[R.FOLLOW] & bit != 0 and row[R.BEST] < (card // 4 + 1) % 13:
        higher = popcount(unseen & ranked_above(card))
        win = chance_to_win(row, spec, weights, row[R.FOLLOW], higher, unseen)
    else:
        win = 0.0
    null = 0.0
    if row[R.COUNTS + seat] & 255 == 0:
        null = null_chance(row[R.HAND + seat] & ~bit, unseen)
    lost = 3 * weights[NULL] * null - worth * weights[SPITE] / (num_players - 1)
    later = keeping(weights, unseen, card)
    return float(win * worth + (1 - win) * lost - weights[KEEPING] * later), win, worth, null, later


@noinline
def choose_card(row: Row, spec: Spec, weights: FloatArray, ids: Row, start: int, end: int) -> int:
    """The best card to play."""
    unseen = unseen_cards(row, spec)
    best, best_score = ids[start], -1e9
    for i in range(start, end):
        score = evaluate_card(row, spec, weights, ids[i], unseen)[0]
        if score > best_score:
            best, best_score = ids[i], score
    return int(best)


@noinline
def evaluate_meld(row: Row, spec: Spec, actions: ActionFields, action: int) -> int:
    """The points of a meld and of the best melds after it; 0 for the end of melding."""
    at = action * S.ACTION_FIELDS
    kind = actions[at + S.KIND]
    if kind == 0:
        return 0
    rest = without(row[R.PILE], actions[at + S.NEED])
    return int((3 if kind == R.THIRTEENS else 1) + (best_melds(spec, rest) >> POINTS))


@noinline
def choose_meld(row: Row, spec: Spec, actions: ActionFields, ids: Row, start: int, end: int) -> int:
    """The first meld of those that lead to the most points."""
    best, best_points = ids[start], -1
    for i in range(start, end):
        points = evaluate_meld(row, spec, actions, ids[i])
        if points > best_points:
            best, best_points = ids[i], points
    return int(best)


@noinline
def choose_index(
    weights: FloatArray, spec: Spec, actions: ActionFields, row: Row, ids: Row, cards: Row
) -> int:
    """Choose a card for the seat to act of a deal that is melded automatically.

    Args:
        weights: of `TricksterWeights`.
        spec: the variant.
        actions: its action table.
        row: a deal that is not over; its legal actions are computed here.
        ids: scratch, gets the legal actions ...
        cards: ... and their cards.

    Returns:
        Index of the choice in `ids` and `cards`.
    """
    kernels.update_legal(row, spec, actions)
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    index = 0
    if end > 1:
        card = choose_card(row, spec, weights, ids, 0, end)
        while ids[index] != card:
            index += 1
    return index


def choose(spec: Spec, actions: ActionFields, row: Row, state: FloatArray, ids: Row, cards: Row) -> int:
    """The agent's action; see `RuleAgent`. The state is the weights."""
    end = kernels.list_legal(row, spec, actions, ids, cards, 0)
    if end == 1:
        return int(ids[0])
    if row[R.PILE] != 0:
        return choose_meld(row, spec, actions, ids, 0, end)
    return choose_card(row, spec, state, ids, 0, end)


def evaluate_row(
    row: Row,
    spec: Spec,
    actions: ActionFields,
    weights: FloatArray,
    ids: Row,
    bounds: tuple[int, int],
    scores: FloatArray,
    facts: FloatArray,
) -> None:
    """Write the scores, in points, and the facts (N, 4) of the legal actions of a state.

    They are those of `ids` from index ``bounds[0]`` to ``bounds[1]``. The facts of a card are those of
    `evaluate_card`. Those of a meld are 0, its points with the best melds after it, 0, 0.
    """
    if row[R.PILE] != 0:
        for i in range(bounds[0], bounds[1]):
            scores[i] = facts[i, 1] = evaluate_meld(row, spec, actions, ids[i])
            facts[i, 0] = facts[i, 2] = facts[i, 3] = 0
    else:
        unseen = unseen_cards(row, spec)
        for i in range(bounds[0], bounds[1]):
            scores[i], facts[i, 0], facts[i, 1], facts[i, 2], facts[i, 3] = evaluate_card(
                row, spec, weights, ids[i], unseen
            )


class TricksterAgent(RuleAgent):
    """The rule-based agent of Thirteens; see the module.

    Args:
        weights: the weights of the terms of a score.
    """

    name = "trickster"
    plays = "thirteens"
    _choose = staticmethod(choose)

    def __init__(self, weights: TricksterWeights | None = None) -> None:
        self.weights = TricksterWeights() if weights is None else weights
        super().__init__(np.array(astuple(self.weights)))
