"""What a network reads of a decision of Thirteens, and what a critic may see besides.

An action's features are four groups of numbers, X = 125 in all: what it *is* (32: one-hot strength and suit
of a card, whether it is the end of melding, and how many cards of each pip it plays or melds), the hand that
it *leaves* (54 by card id, and the four suits of which nothing is left), the *pile* that it makes (13: how
many cards of each pip lie in the trick then, or may still be melded), and *facts* (22, see `FeatureReader`).
To the observation the reader adds the unseen cards, and how many of each suit there are.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features.base import ONE, Features, Inputs, IntArray, Prior
from tienlen_agents.rule_based.trickster import (
    TricksterAgent,
    keeping,
    ranked_above,
    tables,
    trick_worth,
    unseen_cards,
)
from tienlen_env.engine.view import View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import LOWEST_SUIT, lowest_index, popcount
from tienlen_env.games.thirteens import spec as S
from tienlen_env.games.thirteens import state as R
from tienlen_env.games.thirteens.cards import JOKERS, NUM_CARDS
from tienlen_env.games.thirteens.melds import pip_counts, without
from tienlen_env.games.thirteens.rules import ThirteensRules

SUIT: Final = 14  # columns: where the suit begins, after the strength,
END: Final = 18
PIPS: Final = 19
LEFT: Final = 32
VOIDS: Final = LEFT + NUM_CARDS
PILE: Final = VOIDS + 4
FACTS: Final = PILE + 13
NUM_FACTS: Final = 22
NUM_ACTION_INPUTS: Final = FACTS + NUM_FACTS  # X
_BEHIND: Final = 6.0  # points; what is further behind the best is as good as ruled out


@cache
def _compiled() -> Any:
    def write_features(  # type: ignore[no-untyped-def]
        rows, spec, actions, weights, ids, start, behind, has_prior, judged, fact, bits, out
    ):
        num_players = spec[S.NUM_PLAYERS]
        for b in range(rows.shape[0]):
            row = rows[b]
            end = start[b + 1] if b + 1 < rows.shape[0] else ids.shape[0]
            seat = row[R.TURN]
            unseen = unseen_cards(row, spec)
            num_later = num_players - 1 - (seat - row[R.LEADER]) % num_players
            # Cards that nobody else can beat in their suit.
            highest = 0
            rest = row[R.HAND + seat] & ~JOKERS
            while rest != 0:
                card = rest & -rest
                rest ^= card
                if unseen & ranked_above(lowest_index(card)) == 0:
                    highest |= card
            for i in range(start[b], end):
                for column in range(FACTS):
                    out[i, column] = 0
                for k in range(NUM_FACTS):
                    fact[k] = 0
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
                    fact[5] = trick_worth(spec, pile) / 8
                    fact[6] = strength > row[R.BEST] and (
                        suit == 0 or row[R.FOLLOW] == 0 or row[R.LEADER] == seat or suit == row[R.FOLLOW]
                    )
                    fact[7] = suit != 0 and suit == row[R.FOLLOW]
                    fact[13] = num_later / 3
                    fact[14] = num_later == 0
                    if suit != 0:
                        out[i, SUIT + lowest_index(suit)] = ONE
                        higher = popcount(unseen & ranked_above(action))
                        fact[8] = higher / 4
                        fact[9] = higher == 0
                        fact[10] = popcount(unseen & suit) / 13
                        fact[11] = popcount(left & suit) / 13
                        for after in range(1, num_later + 1):
                            other = (seat + after) % num_players
                            fact[12] += (row[R.VOID] >> (4 * other + lowest_index(suit)) & 1) / 2
                else:
                    own = actions[at + S.NEED]
                    pile = without(row[R.PILE], own)
                    if own == 0:
                        out[i, END] = ONE
                        pile = 0
                counts = pip_counts(pile)
                for pip in range(13):
                    # Whole numbers as small as these are exact.
                    fact[0] = own >> 4 * pip & 7
                    fact[1] = counts >> 4 * pip & 7
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
                fact[0] = judged[i, 0]
                fact[1] = judged[i, 1] / 8
                fact[2] = judged[i, 0] * judged[i, 1] / 8
                fact[3] = judged[i, 2]
                fact[4] = judged[i, 3]
                fact[15] = popcount(left) / 13
                fact[16] = popcount(left & highest) / 4
                fact[17] = later / 4
                fact[18] = row[R.COUNTS + seat] & 255 == 0
                fact[19] = popcount(unseen & JOKERS)
                if has_prior:
                    fact[20] = behind[i]
                    fact[21] = behind[i] == 0
                for k in range(NUM_FACTS):
                    # To the nearest, not down.
                    out[i, FACTS + k] = (bits[k] + 0x8000) >> 16

    return jit.loop(write_features)


class FeatureReader:
    """Turns views into `Inputs`.

    The facts of a card, as `tienlen_agents.rule_based.trickster` judges them: its chance to win the trick,
    the trick's worth in the end, the product of both, the chance to win no trick at all, how likely the card
    is to win later. Then what is certain: the trick's worth with the card as it lies, whether it wins so far,
    whether it follows suit; unseen cards of its suit that are higher, whether there are none, all unseen
    ones, own ones left, later players known to be void. Of the decision and the hand left: players still to
    come, whether there are none, cards left, those among them that are the highest of their suit, how likely
    they are to win later, whether no trick was won so far, unseen jokers. With ``prior="heuristic"`` two more
    tell what those rules choose: how many points the action is behind their choice, and whether it is that.

    Args:
        prior: what the network's scores are added to.
        prior_scale: times the points behind, for ``prior="heuristic"``.
        record: False; the observation always shows who played what.

    Raises:
        ValueError: a record.
    """

    history = 0

    def __init__(self, prior: Prior, prior_scale: float = 1.0, *, record: bool = False) -> None:
        if record:
            raise ValueError("record=True: Thirteens has none, the observation shows who played what")
        self.prior = prior
        self.prior_scale = prior_scale
        self._rules = TricksterAgent()

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""
        legal = view.legal_actions
        num_legal = np.diff(np.append(legal.start, len(legal.action)))
        behind, judged = self._rules.evaluate_actions(view)
        has_prior = self.prior == "heuristic"
        behind = np.maximum(behind, -_BEHIND) if has_prior else np.zeros_like(behind)
        after = np.empty((len(legal.action), NUM_ACTION_INPUTS), np.uint16)
        fact = np.empty(NUM_FACTS, np.float32)  # scratch
        _compiled()(
            view.public_rows,
            *tables(view.rules),
            self._rules.weight_array,
            legal.action,
            legal.start,
            behind,
            has_prior,
            judged,
            fact,
            fact.view(np.uint32),
            after,
        )
        observation = np.concatenate([view.observation, unseen_inputs(view)], axis=1)
        return Inputs(observation, legal.start, num_legal, legal.action, after, self.prior_scale * behind)


def unseen_inputs(view: View) -> npt.NDArray[np.uint8]:
    """The cards that the seat to move has not seen, and how many of each suit: uint8 (n, C + 52).

    Cards are by id; the counts are thermometers of 13, without jokers.
    """
    seen = view.hand | np.bitwise_or.reduce(view.played, axis=1) | view.public_state.shown
    unseen = 1 - _bits(seen, view.rules.num_cards)
    num = unseen[:, :52].reshape(len(view), 13, 4).sum(axis=1, dtype=np.uint8)
    counts = (num[:, :, None] > np.arange(13)).astype(np.uint8)
    return np.concatenate([unseen, counts.reshape(len(view), 52)], axis=1)


def _bits(masks: IntArray, num_cards: int) -> npt.NDArray[np.uint8]:
    bits: npt.NDArray[np.uint8] = (masks[..., None] >> np.arange(num_cards) & 1).astype(np.uint8)
    return bits


def num_hidden(rules: ThirteensRules) -> int:
    """H, the width of `hidden_facts`."""
    return (rules.num_players - 1 + rules.dummy) * rules.num_cards


def hidden_facts(batch: Batch, games: IntArray) -> npt.NDArray[np.uint8]:
    """What a critic may see and a player may not, as 0s and 1s, for the seats to move.

    Args:
        batch: the games.
        games: int64 (n,), which of them.

    Returns:
        uint8 (n, H), relative seats: the hands of the others by card id, the dummy's last if there is one.
    """
    num_players = batch.num_players
    relative = (batch.state.turn[games, None] + np.arange(1, num_players)) % num_players
    hands = batch.state.hands[games[:, None], relative]
    if batch.rules.dummy:
        hands = np.concatenate([hands, batch.state.dummy[games, None]], axis=1)
    return _bits(hands, batch.rules.num_cards).reshape(len(games), -1)


FEATURES: Final = Features(
    game="thirteens",
    baseline="trickster",
    prior_scale=1.0,
    gae_lambda=0.9,
    rivals=("trickster",),
    num_action_inputs=NUM_ACTION_INPUTS,
    num_record=lambda rules: 0,
    num_derived=lambda rules: rules.num_cards + 52,
    reader=FeatureReader,
    num_hidden=num_hidden,
    hidden_facts=lambda: hidden_facts,
)
