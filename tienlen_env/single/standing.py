"""Who has won; scalar, so that the page has the same function in WebAssembly."""

from __future__ import annotations

from tienlen_env.games.common.arrays import Numbers


def winner_of(
    places: Numbers, points: Numbers, units: Numbers, num_seats: int, is_game: bool, is_for_units: bool
) -> int:
    """The seat that has won alone, -1 if several are equal.

    Args:
        places: of a single round, from 0.
        points: of the game.
        units: of the game: what each seat got less what it paid.
        num_seats: P.
        is_game: whether it is a game and not a single round: the first place wins a round.
        is_for_units: whether the game has payments and an agreed number of rounds: the most units win then,
            else the highest total.
    """
    best, num_best, found = 0, 0, -1
    for seat in range(num_seats):
        standing = units[seat] if is_for_units else points[seat]
        if not is_game:
            standing = -places[seat]
        if num_best == 0 or standing > best:
            best, num_best, found = standing, 1, seat
        elif standing == best:
            num_best += 1
    return found if num_best == 1 else -1
