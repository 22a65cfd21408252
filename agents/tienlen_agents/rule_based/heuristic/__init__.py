"""A player by rules: splits its hand into the fewest plays, counts cards, and goes out when it is certain.

What it knows is what anybody at the table can know: its cards, all cards played, how many each player
holds, who has passed. From that it takes, for every play, the number of *better* ones: tops of the same shape
among the unseen cards (none, where the play has more cards than any opponent). A play with no better one,
and no bomb among the unseen cards to chop it, is *unbeatable*.

The hand is split into plays at the least cost, exactly, over all splits into sets and sequences (memoised
search; with equal costs this is the fewest plays). The rules, in order:

1. **Go out.** What empties the hand is played. A play that nobody left in the trick can beat is chosen when
   the rest splits so that at most one play is beatable: the others keep the lead, the weak one goes last. It
   is certain, so it goes before everything else; bombs and 2s are spent if that takes them.
2. **Never serve a player with one card.** On lead a beatable single comes last of all, and of these the
   highest comes first: that player can answer nothing but a single.
3. **Leave the best rest.** Every play, the pass included, is judged by the cost of the hand it leaves: the
   number of plays still to make, for each must be made in some trick. This keeps runs and sets whole, and
   breaks them only where the rest splits as well.
4. **Keep control.** A play costs less the fewer better ones are unseen, since it will win a lead back and so
   pays for another. High cards and 2s thus stay in hand until they gain something, and what is led is the
   weak part of a split. Low singles and pairs cost extra, for they can seldom follow.
5. **Keep bombs whole.** While a 2 is unseen, a bomb in the hand costs little, so breaking it does not pay.
6. **Win tricks that are worth it.** A play is rewarded by its chance to win the trick, from the better ones
   that those who have not passed may hold; more so when the hand can then go out by rule 1, or nearly.
7. **Pass to save control.** A pass has a worth of its own: what follows only at the price of a split or of a
   2 is held back. It is worth less when an opponent is about to go out, when the owner of the table has few
   cards, and when nobody else can take the trick from its owner.
8. **Block.** Singles, and pairs against two cards, are penalised by the chance that a player with one or two
   cards left beats them, and a pass by the chance that such a player beats what lies there.
9. **Play for place.** A place is a place: all counts are over those still in, so who cannot come first plays
   for the next place by the same rules. When opponents have few cards, what is kept might stay in the hand:
   keeping counts for less and passing costs (`Parameters.urgency`, `Parameters.pass_urgency`). Being behind
   by many plays is weighed too (`Parameters.place`), but by itself hardly mattered.

Ties go to the lowest action id. There is no randomness. How much each rule weighs is in `Parameters`; the
defaults come from ``python -m tienlen_train.tune_heuristic``, run several times, each run started from the
means of those before (four players, `cardgames`; the other presets and numbers of players use the same).
Suits matter for tops only (an action plays the lowest suits, RULES.md 7.2); the flush lock (3.4) is left out
of the counting, so a suited run is thought weaker than it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tienlen_agents.rule_based.heuristic import decide
from tienlen_agents.rule_based.heuristic.parameters import ONE, IntArray, Parameters
from tienlen_env.engine.view import View
from tienlen_env.errors import renamed
from tienlen_env.games.common.cards import HAND_SIZE
from tienlen_env.games.tienlen.rules import Rules, get_rules
from tienlen_env.games.tienlen.spec import build_spec

__all__ = ["HeuristicAgent", "Parameters", "fewest_beatable", "fewest_plays"]


class HeuristicAgent:
    """The player of this module.

    Args:
        parameters: how much each rule weighs; None for the tuned defaults.
    """

    name = "heuristic"
    plays = "tienlen"

    __getattr__ = renamed(judge="evaluate_actions")

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = Parameters() if parameters is None else parameters
        self._workspace = decide.new_workspace(self.parameters)

    def reset(self, seed: int) -> None:
        """Nothing to forget and nothing to draw."""

    def act(self, view: View) -> IntArray:
        """Choose by the rules above (see `Agent.act`)."""
        batch, games = view.source
        rows, spec, actions = batch.kernel_arrays
        ids, cards = np.empty((2, batch.num_actions), np.int64)  # scratch
        out = np.empty(len(view), np.int64)
        decide.choose_all(self._workspace, spec, actions, rows, games, ids, cards, out)
        return out

    def evaluate_actions(self, view: View) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """What the rules think of every legal action, for agents that start from it.

        Args:
            view: n decisions.

        Returns:
            ``(behind, facts)``, a row for each of ``view.legal_actions``. `behind` is float32 (N,): by how
            many plays its score is below that of the action which `act` chooses. `facts` is float32 (N, 5):
            the cost of the hand that is left, in plays; its beatable plays; how many unseen plays beat the
            action; 1 where nobody can; and in how few plays the hand left can be laid down.
        """
        legal = view.legal_actions
        scores = np.empty(len(legal.action), np.int64)
        facts = np.empty((len(legal.action), 5), np.float32)
        batch, games = view.source
        rows, spec, actions = batch.kernel_arrays
        decide.evaluate_all(
            self._workspace, spec, actions, rows, games, legal.action, legal.cards, legal.start, scores, facts
        )
        best = np.maximum.reduceat(scores, legal.start) if len(view) else scores
        return ((scores - best[legal.game]) / ONE).astype(np.float32), facts


def fewest_plays(hands: npt.ArrayLike, rules: str | Rules = "cardgames") -> IntArray:
    """In how few plays each hand can be laid down, if nobody ever answered.

    Args:
        hands: int64 (n,) masks of up to 13 cards.
        rules: the variant.

    Returns:
        int64 (n,).
    """
    hand = np.asarray(hands, np.int64)
    nobody = np.zeros((len(hand), 1), np.int64)
    return _split(hand, nobody[:, 0], nobody, rules) >> decide.PLAYS_SHIFT & 255


def fewest_beatable(
    hands: npt.ArrayLike, unseen: npt.ArrayLike, left: npt.ArrayLike, rules: str | Rules = "cardgames"
) -> IntArray:
    """The fewest plays that can be beaten, over all splits: with one or none, and the lead, a hand goes out.

    Args:
        hands: int64 (n,) masks of up to 13 cards.
        unseen: int64 (n,) masks of the cards neither held nor played.
        left: int64 (n, opponents), cards in their hands, 0 for who is out.
        rules: the variant.

    Returns:
        int64 (n,).
    """
    hand, others, counts = (np.asarray(x, np.int64) for x in (hands, unseen, left))
    return _split(hand, others, counts, rules) & 255


def _split(hand: IntArray, unseen: IntArray, left: IntArray, rules: str | Rules) -> IntArray:
    """int64 (n,): the best split of each hand, as in `decide`."""
    spec, _ = build_spec(get_rules(rules))
    out = np.empty(len(hand), np.int64)
    fewest, most = np.where(left == 0, HAND_SIZE, left).min(axis=1), left.max(axis=1)
    workspace = decide.new_workspace(Parameters())
    decide.split_all(workspace, spec, hand, np.ascontiguousarray(unseen), left.sum(axis=1), fewest, most, out)
    return out
