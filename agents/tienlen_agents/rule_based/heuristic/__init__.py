"""The rule-based agent of Tiến lên: splits the hand into the fewest plays, counts cards, finds certain wins.

The agent uses public information and its own hand: all cards played, the number of cards of each player, and
which players have passed. For every play it counts the *better* plays: unseen tops of the same shape (none if
the play has more cards than any opponent). A play is *unbeatable* if there is no better one and no unseen
bomb can chop it.

The hand is split into plays at the lowest cost, exactly, over all splits into sets and sequences (memoised
search; with equal costs this is the fewest plays). The rules, in order:

1. **Go out.** A play that empties the hand is chosen. A play that no opponent in the trick can beat is chosen
   if the remaining hand has a split with at most one beatable play: the unbeatable plays keep the lead, and
   the beatable one is played last. This wins for certain, so it comes before all other rules, and it may use
   bombs and 2s.
2. **Do not lead singles to a player with one card.** If an opponent has one card, beatable singles are led
   last, the highest of them first: that opponent can beat only a single.
3. **Leave the best hand.** Every action, the pass included, is scored by the cost of the hand that it leaves:
   the number of plays still to make, because each of them needs a trick. This keeps runs and sets together,
   unless the hand splits equally well without them.
4. **Keep control.** The fewer better plays are unseen, the less a play in the hand costs, because it will
   regain the lead, and so allow another play. So high cards and 2s stay in the hand until they gain
   something, and the agent leads the weak plays of a split. Low singles and pairs cost extra, because they
   can seldom follow.
5. **Keep bombs.** While a 2 is unseen, a bomb in the hand costs little, so the agent does not break it.
6. **Win valuable tricks.** A play gets a reward for its probability of winning the trick, computed from the
   better plays that opponents who have not passed may hold; the reward is larger if the hand can then go out
   by rule 1, or nearly.
7. **Pass to save control.** A pass has its own reward, so the agent does not follow if that breaks a good
   split or needs a 2. The reward is smaller if an opponent has few cards, if the owner of the table has few
   cards, or if no other player can take the trick from its owner.
8. **Block.** Singles, and pairs against two cards, get a penalty for the probability that a player with one
   or two cards left beats them; a pass gets one for the probability that such a player beats the table.
9. **Play for the next place.** All counts cover only the players still in the round, so an agent that cannot
   come first plays for the next place by the same rules. If opponents have few cards, cards that are saved
   may never be played: saving counts less and passing costs (`Parameters.urgency`,
   `Parameters.pass_urgency`). `Parameters.place` weighs how many plays the hand is behind; its effect is
   small.

10. **Payments**, under rules that have them (`decide.paid_score`). Cards, 2s and bombs that are left in the
   hand cost by their prices, the more the closer the round is to its end; a chop is worth its price and the
   chain before it; a play that can be chopped costs a part of its price; a pass with no card played costs by
   cóng. A hand of nothing but 2s, or of the last 3♠ after a play that can be beaten, costs where the rules
   punish it, and no 2 is the last card where that is punished.

Where suits bind, the split is over plays of one suit or colour, and so are the better plays.

Ties go to the lowest action id. There is no randomness. `Parameters` are the weights of the rules; the
defaults are the result of several runs of CMA-ES on duplicate deals, each started from the means of the runs
before (four players, `cardgames`; all presets without payments and all numbers of players use the same). Each
family of rules with payments has weights of its own, from one run that started from those defaults.
``python -m tienlen_train.tune_heuristic`` at commit b9528c5 did this (for payments with ``--rules south
--generations 120 --step 0.25``, and so for `south_count` and `north`); it is not kept here.
Suits matter only for tops (an action plays the lowest suits, RULES.md 7.2). The counts ignore the flush lock
(3.4), so suited runs are underestimated.

Examples:
    After 8♦, with 3♠ 7♣ 8♠ 9♣ 9♦ 2♠ in hand. For each action: its score and the cost of the hand that it
    leaves, in plays; the plays of that hand, and how many are beatable; the unseen cards that beat the play.
    The spare 9 goes: the pass leaves one play more, and 2♠ would be missed at the end.

    >>> from tienlen_env import Batch
    >>> from tienlen_env.games.common.cards import format_cards, parse_cards
    >>> batch = Batch("cardgames")
    >>> hands = "8d 9h", "3s 7c 8s 9c 9d 2s", "5s 9s Tc", "6c Js Qd"
    >>> batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    >>> _ = batch.step(batch.list_legal().action[:1])
    >>> row, spec, actions = (array.tolist() for array in batch.kernel_arrays)
    >>> row = row[0]
    >>> workspace = decide.new_workspace().tolist()
    >>> splits.set_rules(workspace, spec)
    >>> view = decide.public_view(spec, row)
    >>> context = decide.compute_context(workspace, spec, view)
    >>> legal = batch.list_legal()
    >>> for action, cards in zip(legal.action.tolist(), legal.cards.tolist()):
    ...     found = decide.evaluate_action(workspace, spec, actions, context, view, action, cards)
    ...     facts = found.split >> 8 & 255, found.split & 255, found.better
    ...     score, cost = found.score / 2**16, (found.split >> 16) / 2**16
    ...     print(f"{format_cards(cards) or 'pass':4} {score:.2f} {cost:.2f}", *facts)
    pass -4.45 2.30 4 4 26
    9c   -2.23 1.66 3 3 24
    9d   -2.23 1.66 3 3 24
    2s   -2.59 2.32 3 3 3
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tienlen_agents.parallel import Chooser, Machine
from tienlen_agents.rule_based import RuleAgent, RuleChooser
from tienlen_agents.rule_based.heuristic import decide, splits
from tienlen_agents.rule_based.heuristic.parameters import Parameters
from tienlen_env.games.common.arrays import ActionFields, IntArray, Row, Spec
from tienlen_env.games.common.cards import HAND_SIZE
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.tienlen.rules import Rules, get_rules
from tienlen_env.games.tienlen.spec import build_spec

__all__ = ["HeuristicAgent", "Parameters", "fewest_plays"]


def choose(spec: Spec, actions: ActionFields, row: Row, state: Row, ids: Row, cards: Row) -> int:
    """The agent's action; see `RuleAgent`."""
    return int(ids[decide.choose_row(state, spec, actions, row, ids, cards)])


class HeuristicAgent(RuleAgent):
    """The rule-based agent of Tiến lên; see the module.

    Args:
        parameters: the weights of the rules; None for those that are tuned for the rules of a decision.
    """

    name = "heuristic"
    plays = "tienlen"
    _choose = staticmethod(choose)

    @staticmethod
    def _prepare(state: Row, spec: Spec) -> None:
        """Prepare the workspace for a variant."""
        splits.set_rules(state, spec)

    def __init__(self, parameters: Parameters | None = None) -> None:
        super().__init__(decide.new_workspace(parameters))
        self.parameters = parameters

    def chooser(self, machine: Machine, rules: AnyRules) -> Chooser:
        """The agent on a machine (see `tienlen_agents.parallel.has_chooser`)."""
        return RuleChooser(machine, self, rules)


def fewest_plays(hands: npt.ArrayLike, rules: str | Rules = "cardgames") -> IntArray:
    """The minimum number of plays that empties each hand.

    Args:
        hands: int64 (n,) masks of up to 17 cards.
        rules: the variant.

    Returns:
        int64 (n,).
    """
    hand = np.asarray(hands, np.int64)
    spec, _ = build_spec(get_rules(rules))
    none, fewest = np.zeros(len(hand), np.int64), np.full(len(hand), HAND_SIZE)
    out = np.empty(len(hand), np.int64)
    # Without opponents: no card is unseen, and none is held.
    decide.split_all(decide.new_workspace(), spec, hand, none, none, fewest, none, out)
    return out >> splits.PLAYS_SHIFT & 255
