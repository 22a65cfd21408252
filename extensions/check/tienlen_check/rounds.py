"""The rounds of the check of a game: deals, positions, plays, rewards, and what a row keeps.

A game is played in several rows at once, which must agree: under each reward, with and without a history, in
new rows and in rows that held another game.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, Final, NamedTuple

import numpy as np

from tienlen_check.guards import GuardedNumbers, GuardedVariant, calling, check_text, need, same
from tienlen_check.hidden import (
    Past,
    check_hidden,
    check_observations,
    check_samples,
    ids_of,
)
from tienlen_env.errors import TienLenError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.state import HISTORY_SEAT_SHIFT

MAX_DECISIONS: Final = 1500  # of a round; no game of 52 cards has more
_NUM_KEYS: Final = 64  # that two deals agree for all of them, by chance, is out of the question
_LONGEST: Final = 60  # rounds that are played to reach a target
_MOST_SAMPLED: Final = 3  # positions of a game whose hidden cards are sampled
_REWARD_ERROR: Final = 0.5  # shares of points may be rounded, but not to other whole points


class Twin(NamedTuple):
    """A row in which the plays of a game are repeated.

    Attributes:
        what: how it differs from the first one, for messages.
        variant: with its settings.
        row: the game.
        start: what the rewards hold before each play.
        total: rewards of the round so far.
    """

    what: str
    variant: GuardedVariant
    row: GuardedNumbers
    start: list[float]
    total: list[float]


# ---------------------------------------------------------------- deals


def dealt(v: GuardedVariant, key: int, game_round: int = 0, leader: int = -1) -> list[int]:
    """The hands of a deal."""
    return v.seats(v.begin(v.new_row(), key, game_round, leader), "hand")


def check_deals(v: GuardedVariant, is_quick: bool) -> None:
    """A deal follows from each bit of the key and from the round; the observation shows the own hand."""
    rng = random.Random(1)
    keys = [rng.getrandbits(64) - 2**63 for _ in range(_NUM_KEYS)]
    for key in keys[:8]:
        need(dealt(v, key) == dealt(v, key), f"begin_game: another game of key {key} has other cards")
    for bit in range(0, 64, 9 if is_quick else 1):
        flip = 1 << bit if bit < 63 else -(2**63)
        differ = any(dealt(v, key) != dealt(v, key ^ flip) for key in keys)
        need(differ, f"begin_game: bit {bit} of the key changes no deal: expected a function of all 64")
    differ = any(dealt(v, key) != dealt(v, -key) for key in keys)
    need(differ, "begin_game: a key and its negative have the same deals")
    for game_round in (1, 2, 1000):
        differ = any(dealt(v, key) != dealt(v, key, game_round) for key in keys)
        need(differ, f"begin_game: round {game_round} of a key has the deal of round 0")
    hands: dict[tuple[int, ...], int] = {}
    for key in keys[:8]:
        row = v.begin(v.new_row(), key, 0, 0)
        hand = v.seats(row, "hand")[0]
        other = hands.setdefault(tuple(v.observe(row, 0)), hand)
        need(other == hand, f"observe: is the same for the hands {hand:#x} and {other:#x} of seat 0")


def check_leaders(v: GuardedVariant) -> None:
    """Who is given the lead gets it, and the same cards as without."""
    for leader in range(v.rules.num_players):
        for game_round in (0, 1):
            what, turns = f"leader={leader}, round {game_round}", set()
            for key in range(_NUM_KEYS):
                row = v.begin(v.new_row(), key, game_round, leader)
                right = v.seats(row, "hand") == dealt(v, key, game_round)
                need(right, f"begin_game: {what} has other cards than without a leader, key {key}")
                turns.add(row[v.game.columns.turn])
                if leader in turns:  # another seat may act first for a reason, but not always
                    break
            need(leader in turns, f"begin_game: row[turn] is {min(turns)} for {what}: expected {leader}")


# ---------------------------------------------------------------- positions and plays


def check_begun(v: GuardedVariant, row: GuardedNumbers, key: int, game_round: int) -> None:
    """The row of a round that begins."""
    same("row[key]", row[v.game.columns.key], key)
    same("row[round]", row[v.game.columns.round], game_round)
    need(all(v.seats(row, "hand")), "a hand is empty")
    for name, expected in (("place", -1), ("played", 0)):
        for seat, found in enumerate(v.seats(row, name)):
            same(f"row[{name}] of seat {seat}", found, expected, " in a round that begins")


def check_position(v: GuardedVariant, row: GuardedNumbers) -> None:
    """Each card is in one hand, or played; what lies on the table has an owner."""
    hands, p = v.seats(row, "hand"), v.rules.num_players
    held = reduce(or_, hands)
    need(sum(hand.bit_count() for hand in hands) == held.bit_count(), "a card is in two hands")
    for seat, cards in enumerate(v.seats(row, "played")):
        need(cards & held == 0, f"row[played] of seat {seat}: {cards & held:#x} is in a hand")
    for seat, place in enumerate(v.seats(row, "place")):
        need(-1 <= place < p, f"row[place] of seat {seat} is {place}: expected -1..{p - 1}")
    if v.trick:
        _, cards, owner = on_table = table_of(v, row)
        is_owned = cards != 0 and 0 <= owner < p
        need(
            is_owned or on_table == [0, 0, -1], f"{_ON_TABLE} are {on_table}: expected 0, 0, -1, or its seat"
        )


_ON_TABLE: Final = "state.table, table_cards, owner"


def table_of(v: GuardedVariant, row: Sequence[int]) -> list[int]:
    """The action on the table, its cards, and the seat that played it."""
    return [row[v.trick[name][0]] for name in ("table", "table_cards", "owner")]


def check_play(
    v: GuardedVariant, before: GuardedNumbers, row: GuardedNumbers, action: int, cards: int
) -> None:
    """What a play changes: cards, and the places of seats; the deal of a round that begins."""
    columns = v.game.columns
    seat, key, game_round = (before[column] for column in (columns.turn, columns.key, columns.round))
    same("row[key]", row[columns.key], key)
    if row[columns.round] != game_round:
        check_begun(v, row, key, game_round + 1)
        right = v.seats(row, "hand") == dealt(v, key, game_round + 1)
        need(right, f"round {game_round + 1} has other cards than from begin_game with its key")
        return
    hands, given = v.seats(row, "hand"), 0
    for other, old in enumerate(v.seats(before, "hand")):
        given |= hands[other] & cards if other != seat else 0  # a play may give cards to another seat
        name = "the hand" if other == seat else f"row[hand] of seat {other}"
        kept = old & ~cards if other == seat else old | hands[other] & cards
        same(name, hex(hands[other]), hex(kept), " after it")
    for other, old in enumerate(v.seats(before, "played")):
        added = cards & ~given if other == seat else 0
        same(
            f"row[played] of seat {other}", hex(v.seats(row, "played")[other]), hex(old | added), " after it"
        )
    for other, (old, new) in enumerate(zip(v.seats(before, "place"), v.seats(row, "place"), strict=True)):
        same(f"row[place] of seat {other}", new, new if old < 0 else old, " after it")
    if v.trick and row[columns.turn] >= 0:
        played, found = [action, cards, seat] if cards else table_of(v, before), table_of(v, row)
        need(
            found in (played, [0, 0, -1]), f"{_ON_TABLE} are {found} after it: expected {played}, or 0, 0, -1"
        )
        if history := v.trick["history"]:
            stored = [cards | 1 + seat << HISTORY_SEAT_SHIFT, *(before[column] for column in history[:-1])]
            same("state.history", [row[column] for column in history], stored, " after it")


def check_legal(v: GuardedVariant, row: GuardedNumbers, legal: Sequence[int]) -> None:
    """The functions on the mask agree with it, and updating it changes nothing else."""
    kernels, num_actions, num = v.game.kernels.legal, v.table.num_actions, len(legal)
    ids, cards, mask = (GuardedNumbers("out", [-1] * num_actions) for _ in range(3))
    with calling("legal", row):
        same("num_legal", kernels.num_legal(row, v.spec), num)
        kernels.list_legal(row, v.spec, v.actions, ids, cards, 0)
        need(ids[:num] == legal, "list_legal: other actions than in the mask")
        kernels.write_mask(row, v.spec, mask, 0)
        need([a for a, bit in enumerate(mask) if bit] == legal, "write_mask: other actions than in the mask")
        for action in (-1, num_actions, *legal[:3], *range(0, num_actions, 37)):
            same(f"is_legal({action})", bool(kernels.is_legal(row, v.spec, action)), action in legal)
        for n in (-1, 0, num - 1, num):
            same(f"nth_legal({n})", kernels.nth_legal(row, v.spec, n), legal[n] if 0 <= n < num else -1)
        last = legal[int(0.999 * num)] if legal else -1
        same("choose_legal(0.999)", kernels.choose_legal(row, v.spec, 0.999), last)
    before = list(row)
    v.legal(row)
    for column, label in v.labels.items():
        same(f"update_legal: {label}", row[column], before[column])


def check_cards(v: GuardedVariant, row: GuardedNumbers, action: int, rng: random.Random) -> int:
    """The cards of an action and their text; returns cards that it may be played with."""
    can_play, text = v.game.kernels.can_play_cards, v.game.text
    cards = chosen = v.cards(row, action)
    if can_play is not None:
        hand, arguments = v.seats(row, "hand")[row[v.game.columns.turn]], (row, v.spec, v.actions, action)
        with calling(f"can_play_cards({v.table.text(action)!r})", row):
            need(can_play(*arguments, cards), f"refuses its own cards {cards:#x}")
            for other in (cards | (1 << 62), -1 if hand != -1 else 0):
                need(not can_play(*arguments, other), f"takes {other:#x}, not of the hand")
            for card in ids_of(cards):
                for instead in ids_of(hand & ~cards):
                    other = cards ^ (1 << card | 1 << instead)
                    if rng.random() < 0.8 and can_play(*arguments, other):
                        chosen = other
    if cards:
        with calling("text.format_cards"):
            written = check_text(text.format_cards(cards))
            need(len(written.split()) == cards.bit_count(), f"{written!r}: expected cards divided by blanks")
        with calling("text.parse_cards"):
            found = text.parse_cards(written)
            need(found == cards, f"{written!r}, the text of {cards:#x}, gives {found:#x}")
    return chosen


# ---------------------------------------------------------------- rewards


def check_rewards(twins: Sequence[Twin], before: Sequence[int]) -> None:
    """What the seats got in a round: their points, and in the other schemes what follows from them.

    Args:
        twins: the rows at its end.
        before: the row at its beginning.
    """
    v, row, p = twins[0].variant, twins[0].row, twins[0].variant.rules.num_players
    totals = {twin.variant.reward: twin.total for twin in reversed(twins)}
    points = [new - old for new, old in zip(v.seats(row, "score"), v.seats(before, "score"), strict=True)]
    for seat, got in enumerate(totals["points"]):
        right = abs(got - points[seat]) < 1e-3
        need(
            right, f"play: seat {seat} gets {got} points in a round where row[score] grows by {points[seat]}"
        )
    for reward, total in totals.items():
        with calling("text.worst_reward"):
            worst = v.game.text.worst_reward(v.rules, reward)
            right = math.isfinite(worst) and min(total) >= worst - 1e-6
            need(right, f"gives {worst} where a seat got {min(total)} {reward}")
    total, mean = totals.get("zero_sum", []), sum(points) / p
    need(abs(sum(total)) < 1e-3, f"play: zero_sum rewards add up to {sum(total)}")
    for seat, got in enumerate(total):
        right = abs(got - points[seat] + mean) < _REWARD_ERROR
        need(
            right,
            f"play: seat {seat} gets {got} zero_sum: expected {points[seat]} points less their mean {mean}",
        )
    if "win" in totals and row[v.game.columns.turn] < 0 and v.num_rounds == 1:
        places = v.seats(row, "place")
        won = [got for got, place in zip(totals["win"], places, strict=True) if place == 0]
        lost = [got for got, place in zip(totals["win"], places, strict=True) if place != 0]
        need(
            min(won) > max(lost, default=-math.inf),
            f"play: win rewards are {totals['win']} at places {places}",
        )


def check_payments(twins: Sequence[Twin], before: Sequence[int]) -> None:
    """The payments since the beginning of a round are its rewards, and what the balances change by."""
    v, row, reader = twins[0].variant, twins[0].row, twins[0].variant.game.payments
    if reader is None or not reader.exist(v.rules):
        return
    totals = [twin.total for twin in twins if twin.variant.reward == "payments"]
    need(totals, "rewards: expected 'payments', because payments.exist says that there are some")
    with calling("payments"):
        first, net = reader.balances(v.spec), [0] * v.rules.num_players
        for payer, payee, amount, cause in reader.booked(list(row), v.spec):
            need(amount > 0 and payer != payee, f"seat {payer} pays seat {payee} {amount}")
            need(cause in v.game.text.causes, f"text.causes has no {cause!r}")
            net[payer] -= amount
            net[payee] += amount
        paid = [row[first + seat] - before[first + seat] for seat in range(len(net))]
        need(net == paid, f"booked gives {net} in a round where balances change by {paid}")
        need(totals[0] == paid, f"rewards are {totals[0]} in a round where balances change by {paid}")


# ---------------------------------------------------------------- games


def check_game(twins: Sequence[Twin], key: int, game_round: int, leader: int) -> list[list[int]]:
    """Play a game at random, with every check; the row in its first round, and at the end.

    Args:
        twins: rows that have just begun this game; they are played on.
        key: of the game.
        game_round: the round that it began with.
        leader: who was given the lead, -1 for nobody.
    """
    v, row, rng = twins[0].variant, twins[0].row, random.Random(key)
    columns, middle, function = v.game.columns, list(row), "begin_game"
    held = [twin.row for twin in twins if twin.variant is v][-1]  # another game, if there was one
    with calling(function):
        check_begun(v, row, key, game_round)
        same("row[score]", v.seats(row, "score"), [0] * v.rules.num_players, " in a game that begins")
        need(not any(row[column] for column in v.trick.get("history", ())), "state.history is not empty")
    past, most = Past(list(held), leader, []), min(v.game.max_decisions(v.rules), MAX_DECISIONS)
    most_sampled = _MOST_SAMPLED if v.game.kernels.resample_hidden is not None else 0
    num_sampled, num_shown, num = 0, 0, 1
    while True:
        with calling(f"decision {len(past.plays)} of round {row[columns.round]}"):
            is_close = len(past.plays) < 2 or rng.random() < 0.25
            legal = check_twins(twins, function, is_close)
            with calling(function):
                check_position(v, row)
            if is_close:
                check_closely(v, row, legal, rng)
                seen = [sum(twin.variant.observe(twin.row, 0)) for twin in twins if v.history]
                num_shown = max([num_shown, *(seen[0] - few for few in seen)])
            if not legal:
                break
            if num == 1 and num_sampled < most_sampled and (not past.plays or rng.random() < 0.15):
                num_sampled += 1
                check_samples(v, held, past, rng)
            need(
                len(past.plays) < most, f"play: the round does not end in {most} decisions, see max_decisions"
            )
            before, action = GuardedNumbers("row", row), rng.choice(legal)
            cards = check_cards(v, row, action, rng)
            function = f"play({v.table.text(action)!r})"
            play_twins(twins, before, action, cards)
            check_payments(twins, past.start)
            past.plays.append((before[columns.turn], action, cards))
            middle = list(before) if num == 1 and len(past.plays) == 3 else middle
            num = row[columns.round] - game_round + 1
            need(num <= v.num_rounds, f"play: round {num} begins: expected num_rounds={v.num_rounds}")
            if row[columns.turn] < 0 or row[columns.round] != before[columns.round]:
                check_rewards(twins, past.start)
                for twin in twins:
                    twin.total[:] = [0.0] * len(twin.total)
                past = Past(list(held), -1, [])
    need(num_shown or not v.history, f"observe: shows nothing more with history={v.history} than without")
    need(
        num == v.num_rounds, f"play: the game is over after {num} rounds: expected num_rounds={v.num_rounds}"
    )
    places = v.seats(row, "place")
    for seat, place in enumerate(places):
        better = sum(other < place for other in places)
        same(f"play: row[place] of seat {seat}", place, better, " at the end")
    return [middle, list(row)]


def check_twins(twins: Sequence[Twin], function: str, is_close: bool) -> list[int]:
    """The legal actions, the same in every row, as is all that has a name or is seen."""
    first = twins[0]
    turn, legal = first.row[first.variant.game.columns.turn], first.variant.legal(first.row)
    for what, v, row, *_ in twins[1:]:
        with calling(f"{function}, {what}"):
            for column, label in v.labels.items():
                if first.variant.labels.get(column) == label:
                    same(label, row[column], first.row[column])
            need(v.legal(row) == legal, "other actions are legal")
            if is_close and v is first.variant:
                right = v.observe(row, turn) == v.observe(first.row, turn)
                need(right and v.observe_all(row) == v.observe_all(first.row), "observe is another one")
    return legal


def play_twins(twins: Sequence[Twin], before: GuardedNumbers, action: int, cards: int) -> None:
    """Play in every row; rewards are added to what was there, and not for a seat that has its place."""
    gained: list[float] = []
    for what, v, row, start, total in twins:
        with calling(f"play({v.table.text(action)!r}){', ' * bool(what)}{what}"):
            found = v.play(row, action, cards, start)
            need(all(map(math.isfinite, found)), f"rewards are {found}")
            total[:] = [x + y for x, y in zip(total, found, strict=True)]
            if not what:
                gained = found
                check_play(v, before, row, action, cards)
            elif v is twins[0].variant:
                right = max(abs(x - y) for x, y in zip(gained, found, strict=True)) < 1e-6
                need(right, f"adds {found} to rewards of {start}: expected {gained}")
            in_round = row[v.game.columns.round] == before[v.game.columns.round]
            for seat, place in enumerate(v.seats(before, "place")):
                is_late = place >= 0 and in_round and abs(found[seat]) > 1e-6
                right = not is_late or v.game.pays_late(v.rules, v.reward)
                need(right, f"seat {seat}, which has its place, gets {found[seat]} {v.reward}: see pays_late")


def check_closely(v: GuardedVariant, row: GuardedNumbers, legal: Sequence[int], rng: random.Random) -> None:
    """All legal cards, the functions on the mask, and what each seat sees."""
    for action in legal:
        check_cards(v, row, action, rng)
    check_legal(v, row, legal)
    check_observations(v, row)
    for seat in (row[v.game.columns.turn], rng.randrange(v.rules.num_players)) if legal else ():
        check_hidden(v, row, seat, rng)


def check_rounds(v: GuardedVariant, num_games: int) -> None:
    """Play games that differ in all that may be set, in rows that are new and in rows that held another game.

    Args:
        v: the variant under its default settings.
        num_games: how many.
    """
    left: list[list[int]] = []
    known = {str(v): v}
    for number in range(num_games):
        rng, p = random.Random(number), v.rules.num_players
        key = rng.getrandbits(64) - 2**63 if number else 0
        leader = (-1, p - 1)[number] if number < 2 else rng.randrange(-1, p)
        game_round = 5 if number % 6 == 4 else 0
        settings: dict[str, int] = {"num_rounds": 2} if number % 2 and v.accepts(num_rounds=2) else {}
        if number % 4 in (1, 2) and v.accepts(history=2, history_length=3):
            settings |= {"history": 2, "history_length": 3}
        twins = [
            Twin(what, known.setdefault(str(twin), twin), GuardedNumbers("row", numbers), start, [0.0] * p)
            for what, twin, numbers, start in rows_of(v, settings, left)
        ]
        place = f"key {key}, round {game_round}, leader {leader}"
        with calling(f"game {number} ({', '.join(filter(None, (str(twins[0].variant), place)))})"):
            for twin in twins:
                with calling("begin_game"):
                    twin.variant.game.kernels.begin_game(twin.row, twin.variant.spec, key, game_round, leader)
            left = check_game(twins, key, game_round, leader)


def rows_of(
    v: GuardedVariant, settings: Mapping[str, Any], left: Sequence[list[int]]
) -> Iterator[tuple[str, GuardedVariant, list[int], list[float]]]:
    """What each `Twin` of a game is made of; `left` are rows of games that were played before."""
    main, zeros = v.under(**settings), [0.0] * v.rules.num_players
    yield "", main, main.new_row(), zeros
    others = {f"with reward={reward!r}": {**settings, "reward": reward} for reward in v.game.rewards[1:]}
    if main.history:
        others["without history"] = {k: x for k, x in settings.items() if not k.startswith("history")}
    for what, changed in others.items():
        if v.accepts(**changed):
            yield what, v.under(**changed), v.under(**changed).new_row(), zeros
    for numbers in left:
        size = main.spec[S.ROW_SIZE]
        yield "in a row that held another game", main, [*numbers, *[0] * size][:size], [8.0 for _ in zeros]


def check_target(v: GuardedVariant) -> None:
    """A game without a number of rounds ends at the target of the rules."""
    target, turn, rng = v.rules.target, v.game.columns.turn, random.Random(0)
    if target <= 0 or not v.accepts(num_rounds=0):
        return
    endless = v.under(num_rounds=0)
    row = endless.begin(endless.new_row(), 0)
    for game_round in range(_LONGEST):
        while row[turn] >= 0 and row[v.game.columns.round] == game_round:
            action = rng.choice(endless.legal(row))
            endless.play(row, action, endless.cards(row, action), [0.0] * v.rules.num_players)
        scores, text = v.seats(row, "score"), f"play: a game with num_rounds=0 and target {target}"
        if row[turn] < 0:
            need(max(map(abs, scores)) >= target, f"{text} ends at {scores}")
            return
        need(
            max(map(abs, scores)) < 2 * target or scores.count(max(scores)) > 1, f"{text} goes on at {scores}"
        )


def check_given_hands(v: GuardedVariant) -> None:
    """A round of given hands is that of the deal which has them; impossible hands are refused."""
    set_hands, refused = v.game.set_hands, False
    if set_hands is None or v.game.extra_hands:
        return
    for leader in range(-1, v.rules.num_players):
        wanted, rows = v.begin(v.new_row(), 7, 0, leader), np.array([v.begin(v.new_row(), 8)], np.int64)
        hands = np.array([v.seats(wanted, "hand")])
        with calling("set_hands"):
            set_hands(rows, v.rules, hands, {}, partial(begin_rounds, v, rows, leader))
        for column, label in v.labels.items():
            if column != v.game.columns.key:
                same(f"begin_round: {label}", int(rows[0, column]), wanted[column], f" for leader={leader}")
    with calling("set_hands"):
        try:
            set_hands(rows, v.rules, np.full_like(hands, hands[0, 0]), {}, lambda: None)
        except TienLenError:
            refused = True
        need(refused, "takes the same hand for all seats: expected TienLenError")


def begin_rounds(v: GuardedVariant, rows: IntArray, leader: int) -> None:
    """Begin a round in the rows of an array, as executors do."""
    for i, numbers in enumerate(rows.tolist()):
        row = GuardedNumbers("row", numbers)
        with calling("begin_round"):
            v.game.kernels.begin_round(row, v.spec, leader)
        rows[i] = row
