"""What a network reads of a decision of Tiến lên, and what a critic may see besides.

With a record (`tienlen_agents.networks.features.play_summary`) the observation goes on with what the others
have passed over, followed with and led.

An action's features are three groups of numbers, X = 151 in all: what it *is* (35: one-hot width, length,
top rank and top suit, and whether it is suited; zeros for the pass), the hand that it *leaves* (52 by card
id, and 52 by the number of cards of each rank, as thermometers), and *facts* about that hand (12, see
`FeatureReader`). They are written as the upper halves of float32, which is what bfloat16 is, so that no
pass over them is needed before they are multiplied. To the observation the reader adds how many cards of
each rank are neither held nor played.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tienlen_agents.networks.features.base import ONE, Features, FloatArray, Inputs, IntArray, Prior
from tienlen_agents.networks.features.play_summary import num_record_bits, write_record
from tienlen_agents.rule_based.heuristic import Parameters, decide, parameters, playout
from tienlen_env.engine.view import View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.bits import FULL, lowest_index, popcount, wrap, write_word
from tienlen_env.games.common.cards import NUM_CARDS
from tienlen_env.games.tienlen import kernels, observe
from tienlen_env.games.tienlen import spec as S
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import Rules

NUM_TABLE_FEATURES: Final = 4 + 13 + 13 + 4 + 1
NUM_FACTS: Final = 12
FACTS: Final = NUM_TABLE_FEATURES + 2 * NUM_CARDS  # column where they begin
NUM_ACTION_INPUTS: Final = FACTS + NUM_FACTS  # X
_MOST_PLAYS: Final = 8
_BEHIND: Final = 4.0  # plays; what is further behind the best is as good as ruled out


def write_action(actions: Any, action: int, left: int, out: Any) -> None:
    """Write what an action is and the cards that it leaves: all that comes before the facts.

    Args:
        actions: the action table.
        action: its id.
        left: the hand that it leaves, a mask.
        out: uint16 (X,).
    """
    for column in range(FACTS):
        out[column] = 0
    at = action * S.ACTION_FIELDS
    if actions[at + S.WIDTH] > 0:
        top = actions[at + S.TOP]
        out[actions[at + S.WIDTH] - 1] = ONE
        out[4 + actions[at + S.LENGTH] - 1] = ONE
        out[17 + (top >> 2)] = ONE
        out[30 + (top & 3)] = ONE
        out[34] = ONE * (actions[at + S.SUITED] >> 1)
    rank, num_of_rank = -1, 0
    while left != 0:
        card = lowest_index(left)
        left &= left - 1
        num_of_rank = num_of_rank + 1 if card >> 2 == rank else 0
        rank = card >> 2
        out[NUM_TABLE_FEATURES + card] = ONE
        out[NUM_TABLE_FEATURES + NUM_CARDS + 4 * rank + num_of_rank] = ONE


def write_unseen(row: Any, spec: Any, out: Any, start: int) -> None:
    """Write how many cards of each rank are neither held nor played, as thermometers of 4."""
    unseen = decide.public_view(spec, row).unseen
    for rank in range(13):
        num_of_rank = popcount(unseen & 15 << 4 * rank)
        for k in range(4):
            out[start + 4 * rank + k] = num_of_rank > k


@cache
def _compiled() -> tuple[Any, Any, Any]:
    def count_legal(rows, games, spec, start, num_legal):  # type: ignore[no-untyped-def]
        end = 0
        for b in range(games.shape[0]):
            start[b] = end
            num_legal[b] = kernels.num_legal(rows[games[b]], spec)
            end += num_legal[b]
        return end

    def write_inputs(  # type: ignore[no-untyped-def]
        rows, games, spec, actions, desk, record_at, has_prior, prior_scale, start, ids, cards, scores,
        judged, fact, bits, observation, after, prior,
    ):  # fmt: skip
        decide.set_rules(desk, spec)
        for b in range(games.shape[0]):
            row = rows[games[b]]
            seat = row[R.TURN]
            observe.observe(row, spec, actions, seat, observation[b], 0)
            if record_at > 0:  # where it begins in the observation; 0 for no record
                write_record(row, spec, seat, observation[b], record_at)
            write_unseen(row, spec, observation[b], observation.shape[1] - NUM_CARDS)

            end = kernels.list_legal(row, spec, actions, ids, cards, start[b])
            decide.evaluate_row(
                desk, spec, actions, row, ids, cards, (start[b], end), decide.ActionFacts(scores, judged)
            )
            best = scores[start[b]]
            fewest = least = np.float32(1e9)
            for i in range(start[b], end):
                best = max(best, scores[i])
                fewest = min(fewest, judged[i, 4])
                least = min(least, judged[i, 0])
            for i in range(start[b], end):
                left = row[R.HAND + seat] & ~cards[i]
                write_action(actions, ids[i], left, after[i])
                beatable, better = judged[i, 1], judged[i, 2]
                fact[0] = judged[i, 4] / 4
                fact[1] = judged[i, 4] - fewest
                fact[2] = beatable / 4
                fact[3] = beatable == 0
                fact[4] = beatable == 1
                fact[5] = min(better, 16) / 16
                fact[6] = judged[i, 3]
                fact[7] = popcount(left) / 13
                if has_prior:
                    behind = max(np.float32((scores[i] - best) / parameters.ONE), np.float32(-_BEHIND))
                    prior[i] = prior_scale * behind
                    fact[8] = behind
                    fact[9] = behind == 0
                    fact[10] = judged[i, 0] / 4
                    fact[11] = judged[i, 0] - least
                for k in range(NUM_FACTS):
                    # To the nearest, not down.
                    after[i, FACTS + k] = (bits[k] + 0x8000) >> 16

    def write_hidden(rows, games, spec, desk, hands, num_plays, out):  # type: ignore[no-untyped-def]
        # How many plays a hand is does not depend on what is around it, so that is the same for all hands.
        decide.set_rules(desk, spec)
        decide.measure_plays(desk, spec, FULL, 0, 0, 0, 0)
        num_players = spec[S.NUM_PLAYERS]
        for i in range(games.shape[0]):
            row, game = rows[games[i]], games[i]
            for after in range(1, num_players):
                hand = row[R.HAND + wrap(row[R.TURN] + after, num_players)]
                write_word(out[i], (after - 1) * NUM_CARDS, hand)  # its surplus is written over
            for after in range(num_players):
                seat = wrap(row[R.TURN] + after, num_players)
                hand = row[R.HAND + seat]
                if hands[game, seat] != hand:
                    hands[game, seat] = hand
                    num_plays[game, seat] = decide.split_cost(desk, spec, hand) >> decide.PLAYS_SHIFT & 255
                at = (num_players - 1) * NUM_CARDS + after * _MOST_PLAYS
                for k in range(_MOST_PLAYS):
                    out[i, at + k] = num_plays[game, seat] > k

    return jit.loop(count_legal), jit.loop(write_inputs), jit.loop(write_hidden)


class FeatureReader:
    """Turns views into `Inputs`.

    The facts of an action are about the hand that it leaves: the fewest plays, and by how much these are more
    than after the best of the legal actions; the beatable plays, and whether they are none or one; how many
    unseen plays beat the action, and whether nobody can; the number of cards left. With ``prior="heuristic"``
    four more tell what the tuned rules think: how far the action is behind their choice and whether it is
    that; the cost of the hand left, and by how much it is above the least.

    Args:
        prior: what the network's scores are added to.
        prior_scale: times the plays behind, for ``prior="heuristic"``.
        record: whether the observation goes on with the record; it needs a batch that keeps the history.
    """

    def __init__(self, prior: Prior, prior_scale: float = 4.0, *, record: bool = False) -> None:
        self.prior = prior
        self.record = record
        self.history = int(record)  # a batch that keeps any plays keeps the record
        self.prior_scale = prior_scale
        self._desk = decide.new_workspace(Parameters())

    def read(self, view: View) -> Inputs:
        """The inputs of n decisions."""
        batch, games = view.source
        arrays = batch.kernel_arrays
        count_legal, write_inputs, _ = _compiled()
        start, num_legal = np.empty((2, len(view)), np.int64)
        num_actions = count_legal(arrays.rows, games, arrays.spec, start, num_legal)
        size = batch.observation_size + self.record * num_record_bits(batch.num_players) + NUM_CARDS
        observation = np.empty((len(view), size), np.uint8)
        action, cards, scores = np.empty((3, num_actions), np.int64)
        judged = np.empty((num_actions, 5), np.float32)
        after = np.empty((num_actions, NUM_ACTION_INPUTS), np.uint16)
        prior = np.zeros(num_actions, np.float32)
        fact = np.zeros(NUM_FACTS, np.float32)  # scratch
        write_inputs(
            arrays.rows, games, arrays.spec, arrays.actions, self._desk, self.record * batch.observation_size,
            self.prior == "heuristic", np.float32(self.prior_scale), start, action, cards, scores, judged,
            fact, fact.view(np.uint32), observation, after, prior,
        )  # fmt: skip
        return Inputs(observation, start, num_legal, action, after, prior)


def num_hidden(rules: Rules) -> int:
    """H, the width of `HiddenFacts`."""
    return (rules.num_players - 1) * NUM_CARDS + rules.num_players * _MOST_PLAYS


class HiddenFacts:
    """What a critic may see and the seats to move may not, as 0s and 1s.

    It remembers in how few plays each hand could be laid down: most hands were asked about before.
    """

    def __init__(self) -> None:
        self._desk = decide.new_workspace(Parameters())
        self._hands = self._num_plays = np.zeros((0, 0), np.int64)

    def __call__(self, batch: Batch, games: IntArray) -> npt.NDArray[np.uint8]:
        """The facts.

        Args:
            batch: the games; of one variant, whenever this is called.
            games: int64 (n,), which of them.

        Returns:
            uint8 (n, H), relative seats: the hands of the others, by card id; and for each seat in how few
            plays its hand could be laid down, as a thermometer of 8.
        """
        if self._hands.shape != batch.state.hands.shape:
            self._hands, self._num_plays = np.zeros((2, *batch.state.hands.shape), np.int64)
        facts = np.empty((len(games), num_hidden(batch.rules)), np.uint8)
        arrays = batch.kernel_arrays
        _compiled()[2](arrays.rows, games, arrays.spec, self._desk, self._hands, self._num_plays, facts)
        return facts


def num_foreseen(rules: Rules) -> int:
    """F, the width of `foresee`."""
    return rules.num_players**2


def foresee(batch: Batch, games: IntArray) -> npt.NDArray[np.uint8]:
    """The places of all seats if everyone played on by the heuristic's rules.

    Args:
        batch: the games, which stay as they are.
        games: int64 (n,), which of them.

    Returns:
        uint8 (n, F), relative seats: each one's place, one bit of P.
    """
    num_players = batch.num_players
    rows, spec, actions = batch.kernel_arrays
    places = playout.final_places(rows, spec, actions, games)
    seats = (batch.state.turn[games, None] + np.arange(num_players)) % num_players
    relative = np.take_along_axis(places, seats, axis=1)
    bits: npt.NDArray[np.uint8] = (relative[:, :, None] == np.arange(num_players)).astype(np.uint8)
    return bits.reshape(len(games), -1)


def action_returns(batch: Batch, games: IntArray, inputs: Inputs) -> FloatArray:
    """What each legal action returns if everyone plays on by the heuristic's rules, float32 (N,)."""
    rows, spec, actions = batch.kernel_arrays
    cards = batch.select(games).list_legal().cards
    returns: FloatArray = playout.action_returns(
        rows[games], spec, actions, inputs.start, inputs.action, cards
    )
    return returns


FEATURES: Final = Features(
    game="tienlen",
    baseline="heuristic",
    prior_scale=4.0,
    gae_lambda=0.7,
    rivals=("greedy", "greedy_long", "heuristic"),
    num_action_inputs=NUM_ACTION_INPUTS,
    num_record=lambda rules: num_record_bits(rules.num_players),
    num_derived=lambda rules: NUM_CARDS,
    reader=FeatureReader,
    num_hidden=num_hidden,
    hidden_facts=HiddenFacts,
    num_foreseen=num_foreseen,
    foresee=foresee,
    action_returns=action_returns,
)
