"""State-transition kernels of Thirteens: scalar functions on one game's row (RULES.md 8).

Every backend runs this source, which allocates nothing, raises nothing and reads no globals that change. A
deal runs `begin_trick`, `play_card` .., `take_trick`,
(`play_meld` ..), `end_trick` until the hands are empty.
"""

from __future__ import annotations

from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Rewards, Row, Spec
from tienlen_env.games.common.bits import (
    LOWEST_SUIT,
    lowest_index,
    nth_index,
    philox,
    popcount,
    shift_left,
    wrap,
)
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.legal import legal_kernels
from tienlen_env.games.thirteens import spec as S, state as R
from tienlen_env.games.thirteens.cards import JOKERS
from tienlen_env.games.thirteens.melds import LANES, POINTS, best_melds, holds, pip_counts, without

# Blocks of random words of a deal: 0..13 deal the cards, then
FLIP_BLOCK: Final = 14  # the first card of the remainder
FIRST_BLOCK: Final = 15  # who leads the first deal of the game (of round 0, whatever the round)
DUMMY_BLOCK: Final = 16  # and on: the dummy's card of each trick
RESAMPLING: Final = -1  # the counter of random words for hidden cards; rounds count from 0


# ---------------------------------------------------------------- dealing (RULES.md 8.2, 8.3)


@noinline
def deal(row: Row, spec: Spec) -> None:
    """Deal hands, the dummy's hand and the remainder from the row's key and round, uniformly.

    Cards are handed out one by one, as in Tiến lên: card c goes to a hand with probability (places left in
    it) / (C - c). `end_i` is the number of places left in the hands before i + 1; what lies behind the last
    hand's is the remainder.
    """
    key, game_round, num_cards = row[R.KEY], row[R.ROUND], spec[S.NUM_CARDS]
    size = spec[S.HAND_SIZE]
    num_hands = spec[S.NUM_PLAYERS] + spec[S.HAS_DUMMY]
    for hand in range(8):
        row[R.HAND + hand] = 0
    none = num_cards  # behind every place
    end_0 = size
    end_1 = 2 * size
    end_2 = 3 * size
    end_3 = 4 * size if num_hands > 3 else none
    end_4 = 5 * size if num_hands > 4 else none
    end_5 = 6 * size if num_hands > 5 else none
    end_6 = 7 * size if num_hands > 6 else none
    for block in range(14):
        word_0, word_1, word_2, word_3 = philox(key, game_round, block)
        for i in range(4):
            card = 4 * block + i
            if card < num_cards:
                word = word_0 if i == 0 else word_1 if i == 1 else word_2 if i == 2 else word_3
                place = (word * (num_cards - card)) >> 32
                # Without branches, which would be mispredicted.
                after_0 = 1 if place >= end_0 else 0
                after_1 = 1 if place >= end_1 else 0
                after_2 = 1 if place >= end_2 else 0
                after_3 = 1 if place >= end_3 else 0
                after_4 = 1 if place >= end_4 else 0
                after_5 = 1 if place >= end_5 else 0
                after_6 = 1 if place >= end_6 else 0
                end_0 -= 1 - after_0
                end_1 -= 1 - after_1
                end_2 -= 1 - after_2
                end_3 -= 1 - after_3
                end_4 -= 1 - after_4
                end_5 -= 1 - after_5
                end_6 -= 1 - after_6
                after = after_0 + after_1 + after_2 + after_3 + after_4 + after_5 + after_6
                row[R.HAND + after] |= 1 << card
    remainder = row[R.HAND + num_hands]
    row[R.HAND + num_hands] = 0
    if spec[S.HAS_DUMMY]:
        row[R.DUMMY] = row[R.HAND + 3]
        row[R.HAND + 3] = 0
    row[R.REMAINDER] = remainder
    row[R.STARTER] = 0
    if remainder != 0:
        row[R.STARTER] = 1 << nth_index(remainder, draw(key, game_round, FLIP_BLOCK, popcount(remainder)))


def draw(key: int, game_round: int, block: int, n: int) -> int:
    """A number in 0..n-1, uniformly, that belongs to a block of a deal's random words."""
    return philox(key, game_round, block)[0] * n >> 32


@noinline
def resample_hidden(row: Row, spec: Spec, seat: int, key: int) -> None:
    """Deal the cards that a seat cannot see anew; deals that respect known voids (8.4) are equally likely."""
    hidden, sizes = ((1 << spec[S.NUM_CARDS]) - 1) & ~(row[R.SHOWN] | row[R.HAND + seat]), 0
    for other in range(spec[S.NUM_PLAYERS]):
        hidden &= ~row[R.PLAYED + other]
        sizes |= (popcount(row[R.HAND + other]) if other != seat else 0) << 6 * other
    sizes |= popcount(row[R.DUMMY]) << 6 * (R.DUMMY - R.HAND)
    block, is_dealt = 0, False
    while not is_dealt:
        block, is_dealt = try_hidden(row, hidden, sizes, key, block)
    row[R.KEY] = key


def try_hidden(row: Row, hidden: int, sizes: int, key: int, block: int) -> tuple[int, bool]:
    """Try to deal hidden cards; all deals are equally likely to succeed.

    Suits with a known void come first, the other cards last. A card draws one of the places that its suit can
    have left at most, whatever was dealt before. If it draws one that is not left, the try fails.

    Args:
        row: gets the cards.
        hidden: the cards (mask).
        sizes: number of cards that each seat and the dummy get, 6 bits each.
        key: of the random words.
        block: the next of them.

    Returns:
        The next block, and whether all cards were dealt.
    """
    num_locations, is_dealt = R.DUMMY - R.HAND + 1, True
    for location in range(num_locations):
        if sizes >> 6 * location & 63 != 0:
            row[R.HAND + location] = 0
    for suit in range(5):
        # The suits in bit 0 of four bits for each seat; the dummy has no known void.
        void = row[R.VOID] >> suit if suit < 4 else 0
        num_places, num_void = 0, 0
        for location in range(num_locations):
            size = sizes >> 6 * location & 63
            is_void = void >> 4 * location & 1
            num_places += size * (1 - is_void)
            num_void += size * is_void
        cards = hidden & LOWEST_SUIT << suit if suit < 4 else hidden
        num_places = min(num_places, popcount(hidden))
        while cards != 0 and is_dealt and (num_void > 0 or suit == 4):
            card = cards & -cards
            place = philox(key, RESAMPLING, block)[0] * num_places >> 32
            block += 1
            num_places -= 1
            for location in range(num_locations):
                size = sizes >> 6 * location & 63
                left = size - popcount(row[R.HAND + location]) if size > 0 else 0
                left *= 1 - (void >> 4 * location & 1)
                if 0 <= place < left:
                    row[R.HAND + location] |= card
                place -= left
            is_dealt = place < 0
            hidden ^= card
            cards ^= card
    return block, is_dealt


@noinline
def begin_game(row: Row, spec: Spec, key: int, game_round: int, leader: int) -> None:
    """Start a game (or a single deal) from a key, its round and who leads (see `begin_round`)."""
    row[R.KEY] = key
    row[R.ROUND] = game_round
    for seat in range(7):
        row[R.SCORE + seat] = 0
    deal(row, spec)
    begin_round(row, spec, leader)


@noinline
def begin_round(row: Row, spec: Spec, leader: int) -> None:
    """Set up a deal of the hands in the row; `update_legal` is due afterwards.

    Args:
        row: hands, the dummy's hand, remainder and starter card are in place.
        spec: the variant.
        leader: the eldest, who leads; -1: as many seats after the first leader of the key's game as rounds
            have been played (8.2).
    """
    num_players = spec[S.NUM_PLAYERS]
    for seat in range(7):
        row[R.PLAYED + seat] = 0
        row[R.TAKEN + seat] = 0
        row[R.POINTS + seat] = 0
        row[R.COUNTS + seat] = 0
        row[R.PLACE + seat] = -1
    if leader < 0:
        first = draw(row[R.KEY], 0, FIRST_BLOCK, num_players) if spec[S.FIRST_DRAWN] else 0
        leader = (first + row[R.ROUND]) % num_players
    row[R.ELDEST] = leader
    row[R.NUM_TRICKS] = 0
    row[R.VOID] = 0
    row[R.SHOWN] = row[R.REMAINDER]
    row[R.ASIDE] = row[R.REMAINDER]
    row[R.LAST_PILE] = 0
    row[R.LAST_WINNER] = -1
    begin_trick(row, spec, leader)
    # A joker flipped first starts no suit (8.3).
    if row[R.STARTER] & ~JOKERS:
        row[R.FOLLOW] = LOWEST_SUIT << (lowest_index(row[R.STARTER]) & 3)


def begin_trick(row: Row, spec: Spec, leader: int) -> None:
    """Clear the table for a lead; the dummy's card is flipped (8.10)."""
    row[R.LEADER] = leader
    row[R.TURN] = leader
    row[R.TRICK] = 0
    row[R.ON_TABLE] = 0
    row[R.FOLLOW] = 0
    row[R.WINNER] = -1
    row[R.BEST] = -1
    row[R.PILE] = 0
    if spec[S.HAS_DUMMY]:
        flip_dummy(row)


@noinline
def flip_dummy(row: Row) -> None:
    """Turn up a card of the dummy's hand, each with the same probability."""
    hand = row[R.DUMMY]
    if hand != 0:
        n = draw(row[R.KEY], row[R.ROUND], DUMMY_BLOCK + row[R.NUM_TRICKS], popcount(hand))
        card = 1 << nth_index(hand, n)
        row[R.DUMMY] ^= card
        row[R.ASIDE] |= card
        row[R.SHOWN] |= card


# ---------------------------------------------------------------- legal actions (RULES.md 8.4, 8.5, 8.11)


def update_legal(row: Row, spec: Spec, actions: ActionFields) -> None:
    """Recompute the packed legal-action mask of the seat to act; none when the game is over."""
    seat = row[R.TURN]
    for word in range(1, spec[S.NUM_WORDS]):
        row[R.LEGAL + word] = 0
    if seat < 0:
        row[R.LEGAL] = 0
    elif row[R.PILE] != 0:
        row[R.LEGAL] = 0
        add_melds(row, spec, actions)
    else:
        hand = row[R.HAND + seat]
        bound = hand & row[R.FOLLOW]
        row[R.LEGAL] = bound if bound != 0 else hand


@noinline
def add_melds(row: Row, spec: Spec, actions: ActionFields) -> None:
    """Set the bits of the melds that the pile holds, and of the end (8.11)."""
    counts, end = pip_counts(row[R.PILE]), spec[S.NUM_CARDS]
    row[R.LEGAL] |= shift_left(1, end)
    for action in range(end + 1, spec[S.NUM_ACTIONS]):
        if holds(counts, actions[action * S.ACTION_FIELDS + S.NEED]):
            row[R.LEGAL + (action >> 6)] |= shift_left(1, action & 63)


def action_cards(hand: int, actions: ActionFields, action: int) -> int:
    """The card that an action plays as a mask; 0 for melds and the end."""
    return shift_left(1, action) & hand if action < 54 else 0


LEGAL_KERNELS: Final = legal_kernels(
    turn=R.TURN, hand=R.HAND, legal=R.LEGAL, action_cards=action_cards, usual_words=1, other_words=3
)
clear_legal, is_legal, write_mask, num_legal, nth_legal, choose_legal, list_legal = LEGAL_KERNELS


# ---------------------------------------------------------------- playing (RULES.md 8.5-8.11)


def play(row: Row, spec: Spec, actions: ActionFields, action: int, cards: int, rewards: Rewards) -> None:
    """Play a legal action; `update_legal` is due afterwards.

    Args:
        row: the game, not over.
        spec: the variant.
        actions: its action table.
        action: a legal action id.
        cards: those of `action_cards`.
        rewards: P numbers; the rewards of this decision are added to them.
    """
    if action < spec[S.NUM_CARDS]:
        play_card(row, spec, actions, action, rewards)
    else:
        play_meld(row, spec, actions, action, rewards)


def play_card(row: Row, spec: Spec, actions: ActionFields, card: int, rewards: Rewards) -> None:
    """`play` a card to the trick."""
    num_players, seat, follow = spec[S.NUM_PLAYERS], row[R.TURN], row[R.FOLLOW]
    bit = 1 << card
    row[R.HAND + seat] ^= bit
    row[R.PLAYED + seat] |= bit
    if follow != 0 and follow & bit == 0:
        # It would have had to follow: all see that it cannot (8.5, and 8.4 for the starter suit).
        row[R.VOID] |= 1 << (4 * seat + lowest_index(follow))
    position = wrap(seat - row[R.LEADER] + num_players, num_players)
    row[R.TRICK] |= (1 + card) << (6 * position)
    row[R.ON_TABLE] |= bit
    at = card * S.ACTION_FIELDS
    strength = actions[at + S.STRENGTH]
    if position == 0:
        row[R.FOLLOW] = actions[at + S.SUIT]
        row[R.WINNER] = seat
        row[R.BEST] = strength
    elif strength > row[R.BEST] and (follow & bit != 0 or strength == S.JOKER_STRENGTH):
        # The first joker is never beaten: there is nothing stronger (8.6).
        row[R.WINNER] = seat
        row[R.BEST] = strength
    if position == num_players - 1:
        take_trick(row, spec, rewards)
    else:
        row[R.TURN] = wrap(seat + 1, num_players)


def pay(row: Row, spec: Spec, rewards: Rewards, seat: int, points: int) -> None:
    """Give a seat points and their reward."""
    row[R.POINTS + seat] += points
    row[R.SCORE + seat] += points
    if spec[S.REWARD] == 0:
        rewards[seat] += points
    elif spec[S.REWARD] == 1:
        # In whole 1024ths, so that sums are exact in float32, in any order, and zero over the seats.
        num_players = spec[S.NUM_PLAYERS]
        share = (1024 * points // num_players) / 1024
        for other in range(num_players):
            rewards[other] -= share
        rewards[seat] += num_players * share


def take_trick(row: Row, spec: Spec, rewards: Rewards) -> None:
    """The winner takes the trick and what goes with it, and melds (8.7, 8.8)."""
    winner = row[R.WINNER]
    pile = row[R.ON_TABLE] | row[R.ASIDE]
    costly = pile & JOKERS
    if not spec[S.ASIDE_JOKERS]:
        costly &= ~row[R.REMAINDER]
    num_jokers = popcount(costly)
    row[R.TAKEN + winner] |= pile
    row[R.LAST_PILE] = pile
    row[R.LAST_WINNER] = winner
    row[R.NUM_TRICKS] += 1
    row[R.ASIDE] = 0
    row[R.COUNTS + winner] += 1 + (num_jokers << R.NUM_JOKERS)
    worth = best_melds(spec, pile)
    points = 1 - 4 * num_jokers
    if spec[S.MANUAL]:
        pay(row, spec, rewards, winner, points)
        if worth != 0:
            row[R.PILE] = pile & ~JOKERS
            row[R.FOLLOW] = 0
            row[R.TURN] = winner
            return
    else:
        row[R.COUNTS + winner] += worth & LANES
        pay(row, spec, rewards, winner, points + (worth >> POINTS))
    end_trick(row, spec, rewards)


@noinline
def play_meld(row: Row, spec: Spec, actions: ActionFields, action: int, rewards: Rewards) -> None:
    """`play` a declared meld or the end; the turn to meld also ends when nothing is left to meld (8.11)."""
    winner = row[R.WINNER]
    at = action * S.ACTION_FIELDS
    if action == spec[S.NUM_CARDS]:
        row[R.PILE] = 0
    else:
        row[R.PILE] = without(row[R.PILE], actions[at + S.NEED])
        row[R.COUNTS + winner] += 1 << actions[at + S.KIND]
        pay(row, spec, rewards, winner, 3 if actions[at + S.KIND] == R.THIRTEENS else 1)
    if best_melds(spec, row[R.PILE]) == 0:
        end_trick(row, spec, rewards)


def end_trick(row: Row, spec: Spec, rewards: Rewards) -> None:
    """The winner leads the next trick, or the deal ends."""
    if row[R.NUM_TRICKS] == spec[S.HAND_SIZE]:
        end_round(row, spec, rewards)
    else:
        begin_trick(row, spec, row[R.WINNER])


@noinline
def end_round(row: Row, spec: Spec, rewards: Rewards) -> None:
    """Pay the nulls, settle the places, and deal again or end the game (8.8, 8.9)."""
    num_players = spec[S.NUM_PLAYERS]
    for seat in range(num_players):
        if row[R.COUNTS + seat] & 255 == 0:
            pay(row, spec, rewards, seat, 3)
    best, num_best = row[R.SCORE], 0
    for seat in range(num_players):
        best = max(best, row[R.SCORE + seat])
        place = 0
        for other in range(num_players):
            place += 1 if row[R.POINTS + other] > row[R.POINTS + seat] else 0
        row[R.PLACE + seat] = place
    for seat in range(num_players):
        num_best += 1 if row[R.SCORE + seat] == best else 0
    row[R.PILE] = 0
    num_rounds = spec[S.NUM_ROUNDS]
    if row[R.ROUND] + 1 < num_rounds or (num_rounds == 0 and not (best >= spec[S.TARGET] and num_best == 1)):
        row[R.ROUND] += 1
        deal(row, spec)
        begin_round(row, spec, wrap(row[R.ELDEST] + 1, num_players))
        return
    row[R.TURN] = -1
    if spec[S.REWARD] == 2:
        for seat in range(num_players):
            rewards[seat] += 2 / num_best - 1 if row[R.SCORE + seat] == best else -1
