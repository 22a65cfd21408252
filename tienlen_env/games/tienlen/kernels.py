"""State-transition kernels of Tiến lên: scalar, allocation-free functions over one game's row (int64).

Every backend runs this source. The functions raise nothing and read no globals that change; what beats what
comes from `spec` and `actions`.

Masks of top cards: for a shape, the set of cards that could be the top of such a combination in a hand.
Peeling the lowest card of each rank ``n - 1`` times leaves the tops of sets of n; shifting "which ranks have
a set" over itself gives the ranks where a sequence can end.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Rewards, Row, Spec
from tienlen_env.games.common.bits import (
    FULL,
    LOWEST_SUIT,
    highest_index,
    lowest_index,
    lowest_of_rank,
    or_bits,
    philox,
    popcount,
    ranks_of,
    shift_left,
    squeeze,
)
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.legal import legal_kernels
from tienlen_env.games.tienlen import payments as pay, spec as S, state as R
from tienlen_env.games.tienlen.endings import (
    THREE_OF_SPADES,
    catch_last_three,
    declare,
    go_out,
    settle,
    win_with_last_three,
)
from tienlen_env.games.tienlen.instant import find_instant_winner
from tienlen_env.games.tienlen.last_card import HIGHEST, NO_DUTY, keep_highest_single, next_seat, note_single
from tienlen_env.games.tienlen.suited import add_suited_follow_actions, add_suited_lead_actions, chain_of

# ---------------------------------------------------------------- dealing (RULES.md 1.1, 1.3)


@noinline
def deal(row: Row, spec: Spec) -> None:
    """Deal the cards of the deck from the row's key and round, uniformly over all deals.

    Cards 0..51 are handed out one by one, without those that are not in the deck. A card goes to a seat with
    probability (places left in its hand) / (cards left). `end_i` is the number of places left in the hands of
    seats before i+1.
    """
    num_players, deck, num_each = spec[S.NUM_PLAYERS], spec[S.DECK], spec[S.CARDS_EACH]
    key, game_round = row[R.KEY], row[R.ROUND]
    for seat in range(5):
        row[R.HAND + seat] = 0
    num_left = popcount(deck)
    end_0 = num_each
    end_1 = 2 * num_each
    end_2 = 3 * num_each if num_players > 2 else end_1
    end_3 = 4 * num_each if num_players > 3 else end_2
    for block in range(13):
        word_0, word_1, word_2, word_3 = philox(key, game_round, block)
        for i in range(4):
            word = word_0 if i == 0 else word_1 if i == 1 else word_2 if i == 2 else word_3
            card = 4 * block + i
            if deck >> card & 1:
                place = (word * num_left) >> 32
                num_left -= 1
                # Without branches: they would be mispredicted three times in four.
                after_0 = 1 if place >= end_0 else 0
                after_1 = 1 if place >= end_1 else 0
                after_2 = 1 if place >= end_2 else 0
                after_3 = 1 if place >= end_3 else 0
                end_0 -= 1 - after_0
                end_1 -= 1 - after_1
                end_2 -= 1 - after_2
                end_3 -= 1 - after_3
                # Seats that do not play have no places: a card beyond the last player's falls through to 4.
                row[R.HAND + after_0 + after_1 + after_2 + after_3] |= 1 << card


@noinline
def begin_game(row: Row, spec: Spec, key: int, game_round: int, leader: int) -> None:
    """Start a game (or a single round) from a key, its round and who leads (see `begin_round`)."""
    row[R.KEY] = key
    row[R.ROUND] = game_round
    for seat in range(4):
        row[R.SCORE + seat] = 0
    if spec[S.HAS_PAYMENTS]:
        for seat in range(4):
            row[spec[S.EXTRA] + R.BALANCE + seat] = 0
    deal(row, spec)
    begin_round(row, spec, leader)


@noinline
def begin_round(row: Row, spec: Spec, leader: int) -> None:
    """Set up a round of the hands in the row; `update_legal` is due afterwards.

    Args:
        row: hands and undealt cards are in place.
        spec: the variant.
        leader: who leads freely; -1: the holder of the lowest card dealt, with the opening duty (1.3, 1.4).
    """
    num_players = spec[S.NUM_PLAYERS]
    for seat in range(4):
        row[R.PLAYED + seat] = 0
        row[R.PLACE + seat] = -1
    for column in range(spec[S.PLAY_SUMMARY], spec[S.ROW_SIZE]):
        row[column] = 0
    row[spec[S.EXTRA] + R.BEGUN] = 0
    row[R.REQUIRED_CARD] = 0
    is_first = leader < 0
    if is_first:
        dealt = row[R.HAND] | row[R.HAND + 1] | row[R.HAND + 2] | row[R.HAND + 3]
        opening = dealt & -dealt
        for seat in range(num_players):
            if row[R.HAND + seat] & opening:
                leader = seat
        row[spec[S.EXTRA] + R.BEGUN] = R.BY_DEAL | (1 + leader)
        if spec[S.OPENING_PLAY] > 0:
            row[R.REQUIRED_CARD] = opening
    row[R.LIVE] = (1 << num_players) - 1
    row[R.NUM_FIRST] = 0
    row[R.NUM_LAST] = 0
    clear_table(row, leader)
    if spec[S.PLAY_HAS_EFFECTS]:
        begin_effects(row, spec, is_first)


@noinline
def begin_effects(row: Row, spec: Spec, is_first: bool) -> None:
    """Set up the extra columns of a round; who wins at the deal is to declare it (4.12)."""
    extra = spec[S.EXTRA]
    if spec[S.REJOIN_TWOS]:
        row[extra + R.TWOS_IN_TRICK] = 0
    for column in range(spec[S.DUTY], spec[S.PLAY_SUMMARY]):
        row[column] = 0
    if spec[S.HAS_PAYMENTS] or spec[S.INSTANT_WINS] != 0:
        for column in range(extra, extra + R.IS_NEW):
            row[column] = 0
        row[extra + R.IS_NEW] = 1
        winner = find_instant_winner(row, row, spec, 1 if is_first else 0)
        if winner >= 0:
            row[extra + R.MUST_DECLARE] = 1
            row[extra + R.BEGUN] &= R.BY_DEAL  # nobody learns who would have opened
            row[R.REQUIRED_CARD] = 0
            clear_table(row, winner)


def clear_table(row: Row, leader: int) -> None:
    """Clear the table; `leader` leads anything (1.8)."""
    row[R.TABLE] = 0
    row[R.TABLE_CARDS] = 0
    row[R.OWNER] = -1
    row[R.PASSED] = 0
    row[R.KNOCKED_OUT] = 0
    row[R.LOCK] = 0
    row[R.PENDING] = 1 << leader
    row[R.TURN] = leader


# ---------------------------------------------------------------- legal actions (RULES.md 1.5-1.10, 3.2-3.6)


def add_actions(row: Row, spec: Spec, width: int, length: int, suited: int, tops: int) -> None:
    """Set the bits of a group's actions whose top card is in `tops`."""
    first = spec[S.GROUP_FIRST + (width - 1) * 32 + length * 2 + suited]
    or_bits(row, R.LEGAL, first, squeeze(tops >> (4 * (length - 1)), width))


def mixed_only(hand: int, length: int) -> int:
    """Cards that top a run of this length whose every inner card is forced to their own suit."""
    alone = lowest_of_rank(hand)
    alone &= ~(ranks_of(hand ^ alone) * 15)
    forced = FULL
    for below in range(1, length):
        forced &= alone << (4 * below)
    return forced


def sequence_hand(spec: Spec, width: int, cards: int) -> int:
    """The cards that may be in sequences of this width: without the 2s where they may not (1.5)."""
    has_twos = spec[S.RUN_TWOS] if width == 1 else spec[S.SET_RUN_TWOS]
    return cards if has_twos else cards & (FULL >> 4)


def add_lead_actions(row: Row, spec: Spec, hand: int) -> None:
    """All combinations in a hand; under the opening duty those that can contain the opening card.

    The duty card is the lowest of the hand, so it is in a set of its rank or at the bottom of a sequence.
    """
    pairs = hand ^ lowest_of_rank(hand)
    triples = pairs ^ lowest_of_rank(pairs)
    quads = triples ^ lowest_of_rank(triples)
    duty = row[R.REQUIRED_CARD]
    if duty == 0:
        add_sets(row, hand, pairs, triples, quads)
        add_sequences(row, spec, 1, hand, 0)
        add_sequences(row, spec, 2, pairs, 0)
        add_sequences(row, spec, 3, triples, 0)
        add_sequences(row, spec, 4, quads, 0)
    elif spec[S.OPENING_PLAY] == 2:
        add_sets(row, duty, 0, 0, 0)
    else:
        rank = 15 << (lowest_index(duty) & ~3)
        add_sets(row, duty, pairs & rank, triples & rank, quads & rank)
        add_sequences(row, spec, 1, hand, duty)
        add_sequences(row, spec, 2, pairs, duty)
        add_sequences(row, spec, 3, triples, duty)
        add_sequences(row, spec, 4, quads, duty)


def add_sets(row: Row, singles: int, pairs: int, triples: int, quads: int) -> None:
    """Set the bits of sets by their top cards. In every variant they are the actions 1..130.

    Singles begin at bit 1, pairs at 53, triples at 92 = 64 + 28, quads at 118 = 64 + 54.
    """
    pairs, triples, quads = squeeze(pairs, 2), squeeze(triples, 3), squeeze(quads, 4)
    row[R.LEGAL] = shift_left(pairs, 53) | singles << 1
    row[R.LEGAL + 1] = shift_left(quads, 54) | triples << 28 | pairs >> 11
    row[R.LEGAL + 2] = quads >> 10


def add_sequences(row: Row, spec: Spec, width: int, tops: int, duty: int) -> None:
    """Set the bits of sequences of sets of `width`, given the cards that can top such a set."""
    minimum = spec[S.SEQUENCE_MIN + width - 1]
    if minimum == 0:
        return
    ends = sequence_hand(spec, width, tops)
    ranks = ranks_of(ends)
    # `chain` has the ranks where a sequence of the present length can end.
    chain = ranks
    for below in range(1, minimum):
        chain &= ranks << (4 * below)
    length = minimum
    while chain != 0:
        found = ends & (chain * 15)
        if duty != 0:
            found &= 15 << ((lowest_index(duty) & ~3) + 4 * (length - 1))
        if width == 1 and spec[S.FLUSH_LOCK]:
            runs = ends
            if duty != 0:
                # A run goes through the opening card itself, not through another card of its rank.
                runs = (ends & ~(15 << (lowest_index(duty) & ~3))) | duty
            add_actions(row, spec, 1, length, 1, found & chain_of(runs, length))
            found &= ~mixed_only(runs, length)
        add_actions(row, spec, width, length, 0, found)
        chain &= ranks << (4 * length)
        length += 1


def tops_of_shape(spec: Spec, hand: int, width: int, length: int) -> int:
    """Cards of a hand that top a combination of this shape, whatever its suits."""
    tops = hand
    for _ in range(1, width):
        tops ^= lowest_of_rank(tops)
    if length == 1:
        return tops
    tops = sequence_hand(spec, width, tops)
    ranks = ranks_of(tops)
    chain = ranks
    for below in range(1, length):
        chain &= ranks << (4 * below)
    return tops & (chain * 15)


def add_follow_actions(row: Row, spec: Spec, actions: ActionFields, hand: int, seat: int) -> None:
    """What beats the table: higher of the same shape, and the shapes that beat its class (1.6, 1.9)."""
    action = row[R.TABLE] * S.ACTION_FIELDS
    width, length, top = actions[action + S.WIDTH], actions[action + S.LENGTH], actions[action + S.TOP]
    is_locked = spec[S.PASS_LOCK] and (row[R.PASSED] >> seat) & 1
    if not is_locked or spec[S.GROUP_REJOIN + (width - 1) * 16 + length]:
        found = tops_of_shape(spec, hand, width, length) & (FULL << (top + 1))
        if length == 1:
            add_sets(
                row,
                found if width == 1 else 0,
                found if width == 2 else 0,
                found if width == 3 else 0,
                found if width == 4 else 0,
            )
        elif actions[action + S.SUITED]:
            runs = sequence_hand(spec, 1, hand)
            if not row[R.LOCK]:
                add_actions(row, spec, 1, length, 0, found & ~mixed_only(runs, length))
            add_actions(row, spec, 1, length, 1, found & chain_of(runs, length))
        else:
            add_actions(row, spec, width, length, 0, found)
    if actions[action + S.CLASS]:
        beater = S.BEATERS + actions[action + S.CLASS] * S.BEATERS_SIZE
        while spec[beater]:
            width, length = spec[beater] >> 4, spec[beater] & 15
            if not is_locked or spec[S.GROUP_REJOIN + (width - 1) * 16 + length]:
                add_actions(row, spec, width, length, 0, tops_of_shape(spec, hand, width, length))
            beater += 1


def update_legal(row: Row, spec: Spec, actions: ActionFields) -> None:
    """Recompute the packed legal-action mask of the seat to act; none when the game is over."""
    if row[R.TURN] >= 0 and row[R.TABLE] == 0:
        update_lead(row, spec)
    else:
        update_follow(row, spec, actions)


def update_lead(row: Row, spec: Spec) -> None:
    """`update_legal` on an empty table."""
    clear_legal(row, spec)
    hand = row[R.HAND + row[R.TURN]]
    if spec[S.HAS_OTHER_LEADS] and (spec[S.HAS_OTHER_ANSWERS] or row[spec[S.EXTRA] + R.MUST_DECLARE]):
        add_other_leads(row, spec, hand)
    else:
        add_lead_actions(row, spec, hand)


@noinline
def add_other_leads(row: Row, spec: Spec, hand: int) -> None:
    """The declaration of an instant win, or leads where suits bind or a last card does (4.34)."""
    if spec[S.DECLARE] >= 0 and row[spec[S.EXTRA] + R.MUST_DECLARE]:
        or_bits(row, R.LEGAL, spec[S.DECLARE], 1)
        return
    if spec[S.SUITS_BIND]:
        add_suited_lead_actions(row, spec, hand)
    else:
        add_lead_actions(row, spec, hand)
    if spec[S.LAST_CARD_DUTY] == HIGHEST:
        keep_highest_single(row, spec)


@noinline
def add_other_answers(row: Row, spec: Spec, actions: ActionFields, hand: int, seat: int) -> None:
    """What beats the table where suits bind or a last card does (4.34)."""
    if spec[S.SUITS_BIND]:
        add_suited_follow_actions(row, spec, actions, hand, seat)
    else:
        add_follow_actions(row, spec, actions, hand, seat)
    if spec[S.LAST_CARD_DUTY] == HIGHEST:
        keep_highest_single(row, spec)


def update_follow(row: Row, spec: Spec, actions: ActionFields) -> None:
    """`update_legal` where there is something to beat, or the game is over."""
    clear_legal(row, spec)
    seat = row[R.TURN]
    if seat >= 0:
        if spec[S.HAS_OTHER_ANSWERS]:
            add_other_answers(row, spec, actions, row[R.HAND + seat], seat)
        else:
            add_follow_actions(row, spec, actions, row[R.HAND + seat], seat)
        row[R.LEGAL] |= 1  # a follower may always pass (1.7)


def can_play_cards(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int) -> bool:
    """Whether a legal action can be played with exactly these cards (7.2).

    They are in the hand: as many of each of the action's ranks as its shape has, and no others. The highest
    is the action's top, their suits are as a suited or mixed run needs them (3.4), and the opening card is
    among them if it must be (1.3). The pass and the declaration of an instant win play no cards.
    """
    at = action * S.ACTION_FIELDS
    counts = cards - (cards >> 1 & 0x5555555555555)
    counts = (counts & 0x3333333333333) + (counts >> 2 & 0x3333333333333)
    top_card = actions[at + S.TOP_CARD]
    above_top = cards & -(top_card << 1)
    # In one expression, because a branch on a pass would be mispredicted.
    wrong = cards & ~row[R.HAND + row[R.TURN]] | counts ^ actions[at + S.NEED] | top_card & ~cards | above_top
    if wrong != 0:
        return False
    if row[R.REQUIRED_CARD] != 0 and cards != 0 and cards & row[R.REQUIRED_CARD] == 0:
        return False
    suited = actions[at + S.SUITED]
    if suited == 0:
        return True
    if suited > 2:
        return bool(cards == suited >> 2)
    return bool((cards & ~(LOWEST_SUIT << (actions[at + S.TOP] & 3)) == 0) == (suited == 2))


def action_cards(hand: int, actions: ActionFields, action: int) -> int:
    """The cards that an action plays from a hand that holds it: its top, and the lowest suits (7.1).

    A run that must be mixed and whose lowest cards are of one suit takes the second card of the highest
    inner rank that has one; so the lowest card, which an opening may need, goes along if it can.
    """
    at = action * S.ACTION_FIELDS
    width, length, top = actions[at + S.WIDTH], actions[at + S.LENGTH], actions[at + S.TOP]
    if width == 0:
        return 0
    if actions[at + S.SUITED] > 2:
        exact: int = actions[at + S.SUITED] >> 2
        return exact
    card: int = 1 << top
    rank = top >> 2
    below_top = (1 << (4 * rank)) - 1
    inner = below_top & ~((1 << (4 * (rank - length + 1))) - 1)
    if actions[at + S.SUITED] == 2:
        card |= inner & (LOWEST_SUIT << (top & 3))
        return card
    rest = hand
    fewer = 0  # the lowest width - 1 cards of each rank
    for _ in range(1, width):
        lowest = lowest_of_rank(rest)
        fewer |= lowest
        rest ^= lowest
    lowest = lowest_of_rank(rest)
    cards: int = card | (fewer & (15 << (4 * rank))) | ((fewer | lowest) & inner)
    if actions[at + S.SUITED] == 1 and cards & ~(LOWEST_SUIT << (top & 3)) == 0:
        second = lowest_of_rank(rest ^ lowest) & inner
        if second != 0:
            nibble = 15 << (highest_index(second) & ~3)
            cards = (cards & ~nibble) | (second & nibble)
    return cards


LEGAL_KERNELS: Final = legal_kernels(
    turn=R.TURN, hand=R.HAND, legal=R.LEGAL, action_cards=action_cards, usual_words=8, other_words=16
)
clear_legal, is_legal, write_mask, num_legal, nth_legal, choose_legal, list_legal = LEGAL_KERNELS


# ---------------------------------------------------------------- playing (RULES.md 1.7-1.14, 3.4-3.8)


@noinline
def end_round(row: Row, spec: Spec, rewards: Rewards) -> None:
    """Book what is still to be paid; start the next round of the game, or end it (1.12)."""
    if spec[S.HAS_PAYMENTS]:
        pay.book_round(row, spec, rewards)
    num_players = spec[S.NUM_PLAYERS]
    winner = 0
    best = row[R.SCORE]
    num_best = 0
    for seat in range(num_players):
        best = max(best, row[R.SCORE + seat])
    for seat in range(num_players):
        if row[R.SCORE + seat] == best:
            num_best += 1
        if row[R.PLACE + seat] == 0:
            winner = seat
    num_rounds = spec[S.NUM_ROUNDS]
    if row[R.ROUND] + 1 < num_rounds or (num_rounds == 0 and not (best >= spec[S.TARGET] and num_best == 1)):
        row[R.ROUND] += 1
        deal(row, spec)
        begin_round(row, spec, -1 if spec[S.OPENING_EVERY] else winner)
    else:
        row[R.TURN] = -1
        row[R.PENDING] = 0


def end_trick(row: Row, spec: Spec, rewards: Rewards) -> bool:
    """Apply the variant's end-of-trick rules. Returns True if they end the round.

    Hardly any trick brings a payment, and a call costs as much as several tests. So the tests are
    here, and the payments in functions that are called.
    """
    extra = spec[S.EXTRA]
    if spec[S.REJOIN_TWOS]:
        row[extra + R.TWOS_IN_TRICK] = 0
    if spec[S.HAS_PAYMENTS]:
        if row[extra + R.NUM_CHOPS] != 0:
            pay.book(row, spec, rewards)
        if spec[S.PAY_LAST_THREE] > 0 and row[R.HAND + row[R.OWNER]] == THREE_OF_SPADES:
            win_with_last_three(row, spec, rewards)
            end_round(row, spec, rewards)
            return True
    return False


def advance(row: Row, spec: Spec, rewards: Rewards, seat: int) -> None:
    """Give the turn to the next seat that must answer, or clear the table for who leads next."""
    pending, owner = row[R.PENDING], row[R.OWNER]
    owner_is_out = not row[R.LIVE] >> owner & 1
    if pending == 0:
        if spec[S.PLAY_HAS_EFFECTS] and end_trick(row, spec, rewards):
            return
        # All others have passed (1.8); a winner who has gone out leaves the lead to the next seat (1.14).
        clear_table(row, next_seat(row[R.LIVE], owner) if owner_is_out else owner)
    elif (
        spec[S.HEIR_LAST_LIVE]
        and owner_is_out
        and pending & (pending - 1) == 0
        and pending & row[R.PASSED] == 0
    ):
        if spec[S.PLAY_HAS_EFFECTS]:
            end_trick(row, spec, rewards)
        clear_table(row, lowest_index(pending))
    else:
        row[R.TURN] = next_seat(pending, seat)


def play(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> None:
    """Play a legal action with `cards` (0 for the pass); `update_legal` is due afterwards.

    Args:
        row: the game, not over.
        spec: the variant.
        actions: its action table.
        action: a legal action id.
        cards: the cards of the action, in the hand of the seat to act.
        rewards: P numbers; the rewards of this decision are added to them.
    """
    if action == 0:
        play_pass(row, spec, rewards)
    else:
        play_cards(row, spec, actions, action, cards, rewards)


def append_event(row: Row, spec: Spec, event: int) -> None:
    """Add a play or pass to the play summary and to the front of the history."""
    num_kept = spec[S.NUM_KEPT]
    if num_kept > 0:
        R.update_play_summary(row, spec[S.PLAY_SUMMARY], event)
        newest = spec[S.HISTORY]
        for k in range(num_kept - 1, 0, -1):
            row[newest + k] = row[newest + k - 1]
        row[newest] = event


def play_pass(row: Row, spec: Spec, rewards: Rewards) -> None:
    """`play` a pass."""
    seat = row[R.TURN]
    append_event(row, spec, (1 + seat) << R.HISTORY_SEAT_SHIFT)
    row[R.PASSED] |= 1 << seat
    row[R.PENDING] &= ~(1 << seat)
    advance(row, spec, rewards, seat)


@noinline
def knock_out(row: Row, spec: Spec, actions: ActionFields, action: int, rewards: Rewards) -> None:
    """Knock out the player of the 2s on the table if `action` chops them (3.7)."""
    at, before, owner = action * S.ACTION_FIELDS, row[R.TABLE] * S.ACTION_FIELDS, row[R.OWNER]
    is_twos = 1 <= actions[before + S.CLASS] <= 4
    same_shape = (
        actions[before + S.WIDTH] == actions[at + S.WIDTH]
        and actions[before + S.LENGTH] == actions[at + S.LENGTH]
    )
    if is_twos and not same_shape and row[R.LIVE] >> owner & 1:
        row[R.PASSED] |= 1 << owner
        row[R.KNOCKED_OUT] |= 1 << owner
        if spec[S.KNOCKOUT] == 2:
            settle(row, spec, rewards, owner, spec[S.NUM_PLAYERS] - 1 - row[R.NUM_LAST])
            row[R.NUM_LAST] += 1


def before_play(row: Row, spec: Spec, actions: ActionFields, action: int, rewards: Rewards) -> bool:
    """What a play brings besides its cards on the table; whether it was the declaration of an instant win.

    As in `end_trick`, the tests are here, and what they seldom find is in functions that are called.
    """
    extra, seat = spec[S.EXTRA], row[R.TURN]
    if spec[S.HAS_PAYMENTS] and row[extra + R.IS_NEW]:
        pay.clear_ledger(row, spec)
    if action == spec[S.DECLARE]:
        declare(row, spec, rewards)
        end_round(row, spec, rewards)
        return True
    if spec[S.LAST_CARD_DUTY] != NO_DUTY:
        note_single(row, spec, actions, action)
    if spec[S.REJOIN_TWOS] and 1 <= actions[action * S.ACTION_FIELDS + S.CLASS] <= 4:
        row[extra + R.TWOS_IN_TRICK] = 1
    # A branch on whether the play leads would be mispredicted. None is needed: the table is the pass then,
    # which has no price.
    if spec[S.KNOCKOUT] > 0 and row[R.TABLE] != 0:
        knock_out(row, spec, actions, action, rewards)
    if actions[row[R.TABLE] * S.ACTION_FIELDS + S.HAS_PRICE]:
        pay.chop(row, spec, actions, action)
    if spec[S.PAY_LAST_THREE] > 0 and row[R.TABLE] != 0 and row[R.HAND + row[R.OWNER]] == THREE_OF_SPADES:
        catch_last_three(row, spec, rewards, seat)
    return False


def play_cards(
    row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards
) -> None:
    """`play` a combination."""
    if spec[S.PLAY_HAS_EFFECTS] and before_play(row, spec, actions, action, rewards):
        return
    seat = row[R.TURN]
    bit = 1 << seat
    append_event(row, spec, cards | (1 + seat) << R.HISTORY_SEAT_SHIFT)
    row[R.HAND + seat] &= ~cards
    row[R.PLAYED + seat] |= cards
    row[R.REQUIRED_CARD] = 0
    at = action * S.ACTION_FIELDS
    # A suited lead locks the trick; without a branch, because it would be mispredicted.
    row[R.LOCK] |= (1 - min(row[R.TABLE], 1)) & (actions[at + S.SUITED] >> 1)
    row[R.TABLE] = action
    row[R.TABLE_CARDS] = cards
    row[R.OWNER] = seat
    if row[R.HAND + seat] == 0:
        go_out(row, spec, rewards, seat)
    live = row[R.LIVE]
    if live & (live - 1) == 0:
        # One player holds cards, or none (1.11, 3.8).
        if live != 0:
            settle(row, spec, rewards, lowest_index(live), row[R.NUM_FIRST])
        end_round(row, spec, rewards)
        return
    pending = live & ~bit & ~row[R.KNOCKED_OUT]
    if not spec[S.PASS_LOCK]:
        row[R.PASSED] = row[R.KNOCKED_OUT]
    elif not actions[at + S.REOPENS_TRICK] or (
        spec[S.REJOIN_TWOS] and not row[spec[S.EXTRA] + R.TWOS_IN_TRICK]
    ):
        pending &= ~row[R.PASSED]
    row[R.PENDING] = pending
    advance(row, spec, rewards, seat)
