"""Observations: named pieces of 0s and 1s in one flat uint8 array.

All seats are relative to the observer (0 is the observer, 1 the next to play, ...). Nothing in it depends on
cards that the observer cannot see.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from tienlen_env.games.common.arrays import ActionFields, Output, Row, Spec
from tienlen_env.games.common.bits import clear_items, rotate, shift_left, wrap, write_bits, write_word
from tienlen_env.games.common.game import Layout
from tienlen_env.games.thirteens import spec as S, state as R
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.games.thirteens.spec import build_spec

NUM_POINT_BITS: Final = 32
LEAST_POINTS: Final = -8  # two jokers


@lru_cache(maxsize=64)
def observation_layout(rules: ThirteensRules, history: int = 0) -> Layout:
    """The pieces of an observation in order.

    Args:
        rules: the variant (P players, C cards, T tricks a deal, J jokers).
        history: 0 (see `build_spec`).

    """
    spec = build_spec(rules, history=history)[0]
    p, c, step = rules.num_players, rules.num_cards, int(spec[S.SCORE_STEP])
    above = f"above {step}·k" if step > 1 else "above k"
    parts = [
        ("hand", (c,), "own cards, by card id (52 and 53 are jokers)"),
        ("played", (p, c), "cards played this deal by each seat, by card id"),
        ("trick", (p, c), "card of each seat in the trick, by card id; in order from `leader`"),
        ("aside", (c,), "what else goes with this trick: the remainder, the dummy's card"),
        ("shown", (c,), "remainder and dummy's cards flipped so far this deal"),
        ("pile", (c if rules.melding == "manual" else 0,), "cards that the winner may still meld"),
        ("scores", (p, int(spec[S.NUM_SCORE_BITS])), f"points in the game, in unary: bit k is 1 {above}"),
        ("points", (p, NUM_POINT_BITS), "points of this deal so far, in unary: bit k is 1 above k - 8"),
        ("thirteens", (p, 8), "thirteens melded this deal, in unary: bit k is 1 above k"),
        ("pairs", (p, 8), "pairs melded this deal, in the same way"),
        ("straights", (p, 8), "straights melded this deal, in the same way"),
        ("jokers", (p, rules.jokers), "jokers captured this deal at a cost, in the same way"),
        ("tricks", (p, rules.hand_size), "tricks taken this deal, in the same way"),
        ("void", (p, 4), "suits that each seat is known not to hold: spades, clubs, diamonds, hearts"),
        ("leader", (p,), "who leads this trick"),
        ("winner", (p,), "who is winning it"),
        ("follow", (4,), "suit to be played if held: the one led, or the starter suit on the first lead"),
        ("joker_led", (1,), "a joker was led, so anything may be played"),
        ("lead", (1,), "no card has been played to the trick"),
        ("first_trick", (1,), "this is the first trick of the deal"),
    ]  # fmt: skip
    return Layout(parts)


def thermometer(n: int, size: int) -> int:
    """The lowest n of `size` < 63 bits; n below 0 counts as 0, n above as all."""
    return (1 << min(max(n, 0), size)) - 1


def observe(row: Row, spec: Spec, actions: ActionFields, seat: int, out: Output, start: int) -> None:
    """Write the observation of `seat` to ``out[start:start + O]``, all zero for seat -1.

    Pieces are written from left to right in words of 64 (see `write_word`); the last word ends with the row.
    """
    # The number of players is a constant in these branches: compiled code unrolls its loops.
    if spec[S.NUM_PLAYERS] == 4:
        write_pieces(row, spec, seat, out, start, 4)
    else:
        write_pieces(row, spec, seat, out, start, spec[S.NUM_PLAYERS])


def size_of(spec: Spec) -> int:
    """O."""
    num_players, num_cards = spec[S.NUM_PLAYERS], spec[S.NUM_CARDS]
    seat_bits = (
        2 * num_cards + spec[S.NUM_SCORE_BITS] + NUM_POINT_BITS + 24 + num_cards - 52 + spec[S.HAND_SIZE] + 6
    )
    size: int = (3 + spec[S.MANUAL]) * num_cards + seat_bits * num_players + 7
    return size


def write_pieces(row: Row, spec: Spec, seat: int, out: Output, start: int, num_players: int) -> None:
    """`observe` for a given number of players."""
    num_cards, num_tricks, score_bits = spec[S.NUM_CARDS], spec[S.HAND_SIZE], spec[S.NUM_SCORE_BITS]
    size = size_of(spec)
    if seat < 0:
        clear_items(out, start, size)
        return

    at = start
    write_word(out, at, row[R.HAND + seat])
    at += num_cards
    for i in range(num_players):
        write_word(out, at, row[R.PLAYED + wrap(seat + i, num_players)])
        at += num_cards
    for i in range(num_players):
        position = wrap(wrap(seat + i, num_players) - row[R.LEADER] + num_players, num_players)
        write_word(out, at, 1 << (row[R.TRICK] >> (6 * position) & 63) >> 1)  # the code is 1 + card, or 0
        at += num_cards
    write_word(out, at, row[R.ASIDE])
    at += num_cards
    write_word(out, at, row[R.SHOWN])
    at += num_cards
    if spec[S.MANUAL]:
        write_word(out, at, row[R.PILE])
        at += num_cards
    if score_bits > 0:
        for i in range(num_players):
            score = row[R.SCORE + wrap(seat + i, num_players)]
            # Rounded up: bit k is 1 above k steps.
            write_word(out, at, thermometer(-(-score // spec[S.SCORE_STEP]), score_bits))
            at += score_bits
    for i in range(num_players):
        points = row[R.POINTS + wrap(seat + i, num_players)]
        write_word(out, at, thermometer(points - LEAST_POINTS, NUM_POINT_BITS))
        at += NUM_POINT_BITS

    # Counts are packed by absolute seat and then rotated to the observer.
    num_jokers = num_cards - 52
    thirteens = pairs = straights = jokers = tricks = 0
    for i in range(num_players):
        counts = row[R.COUNTS + i]
        thirteens |= thermometer(counts >> R.THIRTEENS & 255, 8) << (8 * i)
        pairs |= thermometer(counts >> R.PAIRS & 255, 8) << (8 * i)
        straights |= thermometer(counts >> R.STRAIGHTS & 255, 8) << (8 * i)
        jokers |= thermometer(counts >> R.NUM_JOKERS & 255, num_jokers) << (num_jokers * i)
        tricks |= thermometer(counts & 255, num_tricks) << (num_tricks * i)
    write_word(out, at, rotate(thirteens, 8 * seat, 8 * num_players))
    at += 8 * num_players
    write_word(out, at, rotate(pairs, 8 * seat, 8 * num_players))
    at += 8 * num_players
    write_word(out, at, rotate(straights, 8 * seat, 8 * num_players))
    at += 8 * num_players
    write_word(out, at, rotate(jokers, num_jokers * seat, num_jokers * num_players))
    at += num_jokers * num_players
    tricks = rotate(tricks, num_tricks * seat, num_tricks * num_players)
    write_word(out, at, tricks)

    flags = rotate(row[R.VOID], 4 * seat, 4 * num_players)
    bit = 4 * num_players
    flags |= rotate(1 << row[R.LEADER], seat, num_players) << bit
    bit += num_players
    flags |= rotate(1 << (row[R.WINNER] + 1) >> 1, seat, num_players) << bit
    bit += num_players
    # The spade, club, diamond and heart 3 stand for their suits.
    flags |= (row[R.FOLLOW] & 15) << bit
    flags |= (1 if row[R.TRICK] & 63 > 52 else 0) << (bit + 4)  # 1 + the card that was led
    flags |= (1 if row[R.TRICK] == 0 else 0) << (bit + 5)
    flags |= (1 if row[R.NUM_TRICKS] == 0 else 0) << (bit + 6)
    # The last 64 bytes: the end of `tricks`, which is just long enough (39 bits with a dummy), then flags.
    surplus = 57 - bit
    write_word(
        out, start + size - 64, shift_left(flags, surplus) | tricks >> (num_tricks * num_players - surplus)
    )


def observe_all(row: Row, spec: Spec, actions: ActionFields, out: Output, start: int) -> None:
    """Write the global observation: the observation of seat 0, the turn, all hidden cards.

    ``out[start:start + O + P + C * P]``: the hands of seats 1..P-1 and the dummy's; absolute seats.
    """
    num_players, num_cards = spec[S.NUM_PLAYERS], spec[S.NUM_CARDS]
    observe(row, spec, actions, 0, out, start)
    at = start + size_of(spec)
    write_bits(out, at, 1 << (row[R.TURN] + 1) >> 1, num_players)
    at += num_players
    for i in range(1, num_players + 1):
        write_bits(out, at, row[R.HAND + i] if i < num_players else row[R.DUMMY], num_cards)
        at += num_cards


def global_observation_size(rules: ThirteensRules, history: int = 0) -> int:
    """Length of the array that `observe_all` writes: O + P + C * P."""
    return observation_layout(rules, history).size + rules.num_players * (1 + rules.num_cards)
