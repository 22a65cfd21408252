"""Faults of games as their authors make them: an edit in the source of a game, and the words that name it.

The games are High Card (`tests.high_card`), a round of tricks, and Stairs (`tests.stairs`), a climbing game
with rounds, a history, a choice of cards, and payments.
"""

# ruff: noqa: E501 (a fault a line)

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tests import high_card, stairs
from tienlen_env.games.common.game import AnyGame

_numbers = itertools.count()


class Fault(NamedTuple):
    """A game with a fault.

    Attributes:
        make: makes the game.
        words: what a message about it says, a regular expression.
    """

    make: Callable[[], AnyGame]
    words: str


def edited(source: ModuleType, old: str, new: str) -> Any:
    """A module again, with something else in place of a text that it has once."""
    path = Path(str(source.__file__))
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"{path.name} has {text.count(old)} times {old!r}, expected once")
    module = ModuleType(f"edited_{next(_numbers)}")
    sys.modules[module.__name__] = module  # dataclasses look there
    exec(compile(text.replace(old, new), str(path), "exec"), module.__dict__)
    del sys.modules[module.__name__]
    return module


def H(old: str, new: str, words: str) -> Fault:
    return Fault(lambda: edited(high_card, old, new).HIGH_CARD, words)


def C(old: str, new: str, words: str) -> Fault:
    return Fault(lambda: edited(stairs, old, new).STAIRS, words)


BEGUN = "row[PLAYED + seat], row[SCORE + seat], row[PLACE + seat] = 0, 0, -1"
PAID = "rewards[other] += (1.0 if other == winner else 0.0) - share"
DEAL = "row[HAND + seat] = draw_cards(FULL & ~dealt, HAND_SIZE, key, game_round, HAND_SIZE * seat)"
REDEAL = "redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, FULL & ~seen, key)"
SEEN = "seen |= row[PLAYED + other]"
OWN = "write_bits(out, start, row[HAND + seat] if seat >= 0 else 0, 52)"
WHY = 'return Refusal("the game is over" if row[TURN] < 0 else "not in the hand")'
TEXT = "text=GameText(worst_reward"

# fmt: off
FAMILIES: dict[str, dict[str, Fault]] = {
    "rows": {
        "played never written": H("    row[PLAYED + seat] |= cards\n", "", r"play\('..'\): row\[played\] of seat 0 is 0x0 after it: expected 0x"),
        "played of the next seat": H("row[PLAYED + seat] |=", "row[PLAYED + (seat + 1) % num_players] |=", r"play\('..'\): row\[played\] of seat \d is"),
        "played forgets": H("row[PLAYED + seat] |=", "row[PLAYED + seat] =", r"play\('..'\): row\[played\] of seat \d is"),
        "played not reset": H(BEGUN, "row[SCORE + seat], row[PLACE + seat] = 0, -1", r"begin_game, in a row that held another game: row\[played\] of seat \d is \d+: expected 0"),
        "place not reset": H(BEGUN, "row[PLAYED + seat], row[SCORE + seat] = 0, 0", r"begin_game: row\[place\] of seat \d is"),
        "a stale column": H("row[BEST], row[WINNER], row[NUM_IN_TRICK] = -1, -1, 0", "row[WINNER], row[NUM_IN_TRICK] = -1, 0", r"in a row that held another game"),
        "a stale count": H("row[BEST], row[WINNER], row[NUM_IN_TRICK] = -1, -1, 0", "row[BEST], row[WINNER] = -1, -1", r"in a row that held another game"),
        "two seats reset": H("    for seat in range(NUM_SEATS):\n        row[PLAYED", "    for seat in range(2):\n        row[PLAYED", r"begin_game: row\[(played|place|score)\] of seat 2 is"),
        "no round": H("row[KEY], row[ROUND] = key, game_round", "row[KEY] = key", r"begin_game: row\[round\] is 0"),
        "no key": H("row[KEY], row[ROUND] = key, game_round", "row[ROUND] = game_round", r"begin_game: row\[key\] is"),
        "hands are added": H("row[HAND + seat] = draw_cards(", "row[HAND + seat] |= draw_cards(", r"begin_game, in a row that held another game: row\[hand\] of seat \d is"),
        "the next hand loses a card": H("    row[NUM_IN_TRICK] += 1\n", "    row[NUM_IN_TRICK] += 1\n    row[HAND + (seat + 1) % num_players] &= row[HAND + (seat + 1) % num_players] - 1\n", r"play\('..'\): row\[hand\] of seat \d is"),
        "the next hand gets the card": H("    row[NUM_IN_TRICK] += 1\n", "    row[NUM_IN_TRICK] += 1\n    row[HAND + (seat + 1) % num_players] |= cards\n", r"play\('..'\): row\[played\] of seat \d"),
        "the card stays": H("row[HAND + seat] &= ~cards", "row[HAND + seat] &= ~cards if row[NUM_IN_TRICK] else -1", r"play\('..'\): the hand is 0x\w+ after it: expected"),
        "places change": H("    row[NUM_IN_TRICK] += 1\n", "    row[NUM_IN_TRICK] += 1\n    row[PLACE + seat] += 1\n", r"row\[place\] of seat \d is|seat \d, which has its place, gets"),
        "columns exchanged": H("Columns(HAND, PLACE, SCORE,", "Columns(HAND, SCORE, PLACE,", r"row\[(place|score)\] of seat"),
        "table cards never written": C("row[TABLE], row[TABLE_CARDS], row[OWNER] = action, cards, seat", "row[TABLE], row[OWNER] = action, seat", r"play\('a \w'\): state.table, table_cards, owner are \[\d, 0, \d\] after it: expected"),
        "the table of another play": C("row[TABLE], row[TABLE_CARDS], row[OWNER] = action, cards, seat", "row[TABLE], row[TABLE_CARDS], row[OWNER] = action, row[PLAYED + seat], seat", r"play\('a \w'\): state.table, table_cards, owner are .* expected"),
        "the owner is the turn": C("self.owner = rows[:, OWNER]", "self.owner = rows[:, TURN]", r"begin_game: state.table, table_cards, owner are \[0, 0, \d\]: expected 0, 0, -1"),
        "a view is a copy": C("self.table = rows[:, TABLE]", "self.table = rows[:, TABLE].copy()", r"state.table is a copy: expected a view"),
        "history is not moved": C("row[HISTORY + event] = row[HISTORY + event - 1]", "row[HISTORY + event] = row[HISTORY + event]", r"state.history is .* after it: expected"),
        "history of the game before": C("        row[HISTORY + event] = 0\n", "        row[HISTORY + event] |= 0\n", r"begin_game, in a row that held another game: row\[\d+\] \(state.history\) is \d+: expected 0"),
        "passes of the game before": C("row[OWNER], row[PASSED], row[TURN] = 0, 0, -1, 0, leader", "row[OWNER], row[TURN] = 0, 0, -1, leader", r"begin_game, in a row that held another game: row\[\d+\] \(state.passed\) is \d: expected 0"),
    },
    "scores": {
        "not reset": H(BEGUN, "row[PLAYED + seat], row[PLACE + seat] = 0, -1", r"begin_game, in a row that held another game: row\[score\] of seat \d is \d: expected 0"),
        "twice": H("row[SCORE + winner] += 1", "row[SCORE + winner] += 2", r"play: seat \d gets .* points in a round where row\[score\] grows by"),
        "of another seat": H("row[SCORE + winner] += 1", "row[SCORE + seat] += 1", r"points in a round where row\[score\] grows by"),
        "never": H("        row[SCORE + winner] += 1\n", "", r"points in a round where row\[score\] grows by 0"),
        "only the last": H("row[SCORE + winner] += 1", "row[SCORE + winner] = 1", r"points in a round where row\[score\] grows by"),
        "cleared at the end": H("    row[TURN] = -1\n", "    row[TURN] = -1\n    row[SCORE] = 0\n", r"points in a round where row\[score\] grows by 0"),
        "one for all at first": H(BEGUN, "row[PLAYED + seat], row[SCORE + seat], row[PLACE + seat] = 0, 1, -1", r"begin_game: row\[score\] is \[1, 1, 1\] in a game that begins: expected \[0, 0, 0\]"),
        "without the last trick": H("row[SCORE + winner] += 1", "row[SCORE + winner] += 1 if row[HAND + winner] else 0", r"points in a round where row\[score\] grows by"),
        "other under zero_sum": H("row[SCORE + winner] += 1", "row[SCORE + winner] += 1 + spec[S.REWARD]", r"play\('..'\), with reward='zero_sum': row\[score\] of seat \d is \d: expected"),
        "not reset in a game of rounds": C("row[SCORE + seat], row[BALANCE + seat] = 0, 0", "row[BALANCE + seat] = 0", r"begin_game, in a row that held another game: row\[score\] of seat \d is \d: expected 0"),
        "reset in each round": C("row[PLAYED + seat], row[PLACE + seat], row[MOST + seat] = 0, -1, DECK", "row[PLAYED + seat], row[PLACE + seat], row[MOST + seat], row[SCORE + seat] = 0, -1, DECK, 0", r"points in a round where row\[score\] grows by -?\d"),
        "of the first round alone": C("row[SCORE + seat] += points", "row[SCORE + seat] += points if row[ROUND] == 0 else 0", r"points in a round where row\[score\] grows by 0"),
        "places instead of points": C("row[SCORE + seat] += points", "row[SCORE + seat] += place", r"points in a round where row\[score\] grows by"),
        "points below zero": C("row[SCORE + seat] += points", "row[SCORE + seat] -= points", r"points in a round where row\[score\] grows by -\d"),
        "no more than one": C("row[SCORE + seat] += points", "row[SCORE + seat] = min(row[SCORE + seat] + points, 1)", r"points in a round where row\[score\] grows by"),
    },
    "resampling": {
        "does nothing": H(REDEAL, "seen |= 0", r"resample_hidden: row\[hand\] of seat \d holds \w+ in each of \d+ deals"),
        "deals played cards": H(SEEN, "seen |= 0", r"resample_hidden: row\[hand\] of seat \d gets 0x\w+, which is in another hand or was played"),
        "deals own cards": H("seen = row[HAND + seat]", "seen = 0", r"resample_hidden: row\[hand\] of seat \d gets 0x\w+, which is in another hand"),
        "keeps the last hand": H(REDEAL, "redeal_others(row, HAND, spec[S.NUM_PLAYERS] - 1, seat, FULL & ~(seen | row[HAND + spec[S.NUM_PLAYERS] - 1]), key)", r"resample_hidden: row\[hand\] of seat \d"),
        "draws from all cards": H(REDEAL, "redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, FULL, key)", r"resample_hidden: row\[hand\] of seat \d gets"),
        "ignores the key": H(REDEAL, REDEAL.replace(", key)", ", 7)"), r"resample_hidden: row\[hand\] of seat \d holds \w+ in (each|none) of"),
        "ignores the seat": H("seen = row[HAND + seat]", "seat = row[TURN]\n    seen = row[HAND + seat]", r"resample_hidden: the own hand changes"),
        "knows the undealt cards": H(REDEAL, "held = 0\n    for other in range(spec[S.NUM_PLAYERS]):\n        held |= row[HAND + other]\n    redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, held & ~seen, key)", r"resample_hidden: row\[hand\] of seat \d holds \w+ in none of \d+ deals, though all that is public allows it"),
        "never the highest card": H("FULL & ~seen, key)", "FULL >> 1 & ~seen, key)", r"resample_hidden: row\[hand\] of seat \d holds 2h in none of \d+ deals"),
        "keeps the highest cards": H(REDEAL, "kept = 0\n    for other in range(spec[S.NUM_PLAYERS]):\n        kept |= row[HAND + other] & 15 << 48 if other != seat else 0\n    before = [row[HAND + other] & kept for other in range(7)]\n    for other in range(spec[S.NUM_PLAYERS]):\n        row[HAND + other] &= ~kept\n    redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, FULL & ~(seen | kept), key)\n    for other in range(spec[S.NUM_PLAYERS]):\n        row[HAND + other] |= before[other]", r"resample_hidden: row\[hand\] of seat \d holds 2\w in (each|none) of"),
        "a coin of its own": H(REDEAL, "import random\n    redeal_others(row, HAND, spec[S.NUM_PLAYERS], seat, FULL & ~seen, random.getrandbits(60))", r"resample_hidden: another call with this key gives another deal"),
        "equal hands": H(REDEAL, REDEAL + "\n    other = (seat + 1) % spec[S.NUM_PLAYERS]\n    row[HAND + other] &= row[HAND + other] - 1 if row[NUM_IN_TRICK] == 0 else -1", r"resample_hidden: the hand of seat \d has another size"),
        "changes the points": H(REDEAL, REDEAL + "\n    row[SCORE + seat] = 0", r"resample_hidden: row\[score\] of seat \d changes, and is not in columns.hidden"),
        "forgets the tricks": H(REDEAL, REDEAL + "\n    row[PLAYED + seat] = 0", r"resample_hidden: row\[played\] of seat \d changes"),
        "cards out of the deck": C("spec[S.NUM_PLAYERS], DECK & ~row[HAND + seat]", "spec[S.NUM_PLAYERS], (1 << 52) - 1 & ~row[HAND + seat]", r"resample_hidden: row\[(hand\] of seat \d|\d\]) gets 0x\w+, of which a card comes up in no deal"),
        "the key of the next round stays": C("row[UNDEALT], row[KEY] = rest, key", "row[UNDEALT] = rest", r"resample_hidden: row\[key\] stays, from which the next round's cards follow"),
        "the undealt cards stay": C("row[UNDEALT], row[KEY] = rest, key", "row[KEY] = key", r"resample_hidden: row\[4\] gets 0x\w+, which is in another hand"),
        "a pass tells nothing": C("draw_cards(rest & row[MOST + least], size", "draw_cards(rest, size", r"resample_hidden: a play of the round is not legal in a sampled deal"),
        "a pass tells too much": C("row[MOST + seat] &= ~higher_cards(row)", "row[MOST + seat] &= ~(higher_cards(row) | 7)", r"resample_hidden: row\[hand\] of seat \d holds 3\w in none of \d+ deals"),
        "passes in the game before": C("row[PLAYED + seat], row[PLACE + seat], row[MOST + seat] = 0, -1, DECK", "row[PLAYED + seat], row[PLACE + seat] = 0, -1", r"resample_hidden|begin_game"),
    },
    "rewards": {
        "twice the points": H(PAID, PAID.replace("1.0", "2.0"), r"play: seat \d gets .* points in a round where row\[score\] grows by"),
        "to the last player": H(PAID, PAID.replace("winner", "seat"), r"points in a round where row\[score\] grows by"),
        "written, not added": H(PAID, PAID.replace("+=", "="), r"play\('..'\), in a row that held another game: adds .* to rewards of \[8.0, 8.0, 8.0\]: expected"),
        "of the trick before": H("rewards[other] += (1.0 if other == winner", "rewards[other] += (1.0 if other == row[TURN]", r"points in a round where row\[score\] grows by"),
        "zero_sum times two": H(PAID, "rewards[other] += ((1.0 if other == winner else 0.0) - share) * (1 + spec[S.REWARD])", r"zero_sum: expected \d points less their mean"),
        "zero_sum of the next seat": H("rewards[other] +=", "rewards[(other + spec[S.REWARD]) % num_players] +=", r"zero_sum: expected \d points less their mean"),
        "zero_sum of the winner alone": H("rewards[other] +=", "rewards[other] += 0 if spec[S.REWARD] and other != winner else", r"zero_sum rewards add up to"),
        "nothing for the last trick": H("rewards[other] +=", "rewards[other] += 0 if row[HAND + winner] == 0 else", r"points in a round where row\[score\] grows by"),
        "the scheme changes the game": H("row[TURN], row[BEST], row[NUM_IN_TRICK] = winner, -1, 0", "row[TURN], row[BEST], row[NUM_IN_TRICK] = (winner + spec[S.REWARD]) % num_players, -1, 0", r"play\('..'\), with reward='zero_sum': row\[turn\] is \d: expected \d"),
        "the worst is not the worst": H("lambda rules, reward: -float(HAND_SIZE)", "lambda rules, reward: 0.0", r"text.worst_reward: gives 0.0 where a seat got -\d"),
        "no worst": H("lambda rules, reward: -float(HAND_SIZE)", "lambda rules, reward: float('nan')", r"text.worst_reward: gives nan"),
        "a worst for points alone": H("lambda rules, reward: -float(HAND_SIZE)", 'lambda rules, reward: {"points": -5.0}[reward]', r"text.worst_reward: raises KeyError"),
        "infinite": H(PAID, PAID + " if row[HAND + winner] else float('inf')", r"play\('..'\): rewards are \[.*inf"),
        "payments that are not booked": C("        row[BALANCE + winner] += row[COST + seat]\n", "", r"payments: booked gives .* where balances change by"),
        "payments without rewards": C("            rewards[winner] += row[COST + seat]\n", "", r"payments: rewards are .* where balances change by"),
        "payments in points": C("        if spec[S.REWARD] == 0:\n            rewards[seat] += points\n", "        if spec[S.REWARD] == 0:\n            rewards[seat] += points - row[COST + seat]\n", r"points in a round where row\[score\] grows by"),
        "a ledger that is empty": C("for seat in seats if row[COST + seat]]", "for seat in seats if row[COST + seat] < 0]", r"payments: booked gives .* where balances change by"),
        "a ledger of two rounds": C("            row[COST + other] = 0\n", "            row[COST + other] += 0\n", r"payments: booked gives .* where balances change by"),
        "a cause without words": C('causes={"cards": "cards in hand"}', "causes={}", r"payments: text.causes has no 'cards'"),
        "no reward for payments": C('REWARDS = ("points", "zero_sum", "win", "payments")', 'REWARDS = ("points", "zero_sum", "win", "units")', r"rewards: expected 'payments', because payments.exist says"),
        "the last wins": C("1 if place == 0 else -1", "1 if place > 0 else -1", r"play: win rewards are .* at places"),
        "the worst payment": C('"payments": -4.0 * rules.unit', '"payments": -2.0 * rules.unit', r"text.worst_reward: gives -2.0 where a seat got -\d.0 payments"),
        "a place before the end": C("        row[PLAYED + seat] |= cards\n", "        row[PLAYED + seat] |= cards\n        row[PLACE + seat] = num_players - 1 if row[PLACE + seat] < 0 else row[PLACE + seat]\n", r"row\[place\] of seat \d is|seat \d, which has its place, gets"),
    },
    "purity": {
        "observe clears the mask": H(OWN, "row[LEGAL] = 0\n    " + OWN, r"observe: writes row\[\d+\]: expected to read it only"),
        "observe keeps what it finds": H(OWN, "row[NUM_IN_TRICK] = row[NUM_IN_TRICK]\n    " + OWN, r"observe: writes row\[\d+\]"),
        "observe writes an action": H(OWN, "actions[0] = seat\n    " + OWN, r"observe: writes actions\[0\]"),
        "observe writes a setting": H(OWN, "spec[S.REWARD] = 0\n    " + OWN, r"observe: writes spec\[\d\]"),
        "observe_all turns": H("    observe(row, spec, actions, 0, out, start)", "    row[TURN] = row[TURN]\n    observe(row, spec, actions, 0, out, start)", r"observe_all: writes row\[\d+\]"),
        "observe reads its output": H(OWN, OWN + "\n    out[start] |= 1", r"observe: reads out\[\d+\]"),
        "observe shows the key": H(OWN, OWN + "\n    out[start] = row[KEY] & 1 if seat >= 0 else 0", r"observe: out\[0\] depends on the key"),
        "observe shows the next hand": H(OWN, OWN + "\n    out[start] = row[HAND + (seat + 1) % num_players] & 1 if seat >= 0 else 0", r"observe: out\[0\] depends on cards that the seat cannot see"),
        "observe draws": H(OWN, "import random\n    write_bits(out, start, random.getrandbits(52) if seat >= 0 else 0, 52)", r"observe: another call writes other items"),
        "observe counts its calls": H(OWN, OWN + "\n    observe.calls = getattr(observe, 'calls', 0) + 1\n    out[start] = observe.calls & 1 if seat >= 0 else 0", r"observe: (another call writes other items|is the same for the hands)"),
        "update_legal deals": H("    row[LEGAL] = row[HAND", "    row[PLAYED] |= 1\n    row[LEGAL] = row[HAND", r"row\[played\] of seat 0|update_legal: row\[played\] of seat 0 changes"),
        "update_legal turns": H("    row[LEGAL] = row[HAND", "    row[BEST] += 1\n    row[LEGAL] = row[HAND", r"(update_legal|play|begin_game)"),
        "play writes the key": H("row[NUM_IN_TRICK] += 1", "row[NUM_IN_TRICK] += 1\n    row[KEY] += 1", r"play\('..'\): row\[key\] is \d+: expected \d+"),
        "play writes an action": H("row[NUM_IN_TRICK] += 1", "row[NUM_IN_TRICK] += 1\n    actions[0] = action", r"play\('..'\): writes actions\[0\]: expected to read it only"),
        "play writes a setting": H("row[NUM_IN_TRICK] += 1", "row[NUM_IN_TRICK] += 1\n    spec[S.REWARD] = 0", r"play\('..'\): writes spec\[\d\]"),
        "play counts rounds": H("row[NUM_IN_TRICK] += 1", "row[NUM_IN_TRICK] += 1\n    row[ROUND] += 1", r"play\('..'\): row\[\w+\]"),
        "play draws the winner": H("winner = row[WINNER]", "import random\n        winner = random.randrange(num_players)", r"in a row that held another game|with reward='zero_sum'|play: the same plays from the same cards"),
        "play remembers": H("winner = row[WINNER]", "play.won = getattr(play, 'won', 0) + 1\n        winner = play.won % num_players", r"in a row that held another game|with reward='zero_sum'|play: the same plays from the same cards"),
        "action_cards writes": H("    return (1 << action) & hand", "    actions[0] = action\n    return (1 << action) & hand", r"action_cards\('..'\): writes actions\[0\]"),
        "begin_game writes a setting": H("    dealt = 0\n", "    dealt = 0\n    spec[S.REWARD] = 0\n", r"begin_game: writes spec\[\d\]"),
        "resample_hidden writes a setting": H("seen = row[HAND + seat]", "seen = row[HAND + seat]\n    spec[S.REWARD] = 0", r"resample_hidden: writes spec\[\d\]"),
        "can_play_cards writes": C("    if action == 0:\n        return bool", "    row[PASSED] = 0\n    if action == 0:\n        return bool", r"can_play_cards\('.*'\): writes row\[\d+\]: expected to read it only"),
        "a mask of another game": C("action_cards=action_cards),\n        resample", "action_cards=action_cards)._replace(num_legal=lambda row, spec: 1),\n        resample", r"legal: num_legal is 1: expected \d"),
        "begin_round writes a setting": C("    row[IS_NEW] = 1\n", "    row[IS_NEW] = 1\n    spec[TARGET] = 5\n", r"begin_game: writes spec\[\d+\]"),
    },
    "rounds": {
        "the leader is ignored": H("row[TURN] = max(leader, 0)", "row[TURN] = 0", r"begin_game: row\[turn\] is 0 for leader=1, round 0: expected 1"),
        "the seat after the leader": H("row[TURN] = max(leader, 0)", "row[TURN] = (leader + 1) % spec[S.NUM_PLAYERS]", r"begin_game: row\[turn\] is 1 for leader=0"),
        "two leaders": H("row[TURN] = max(leader, 0)", "row[TURN] = 1 if leader > 0 else 0", r"begin_game: row\[turn\] is 1 for leader=2"),
        "a leader of the first round": H("    begin_round(row, spec, leader)", "    begin_round(row, spec, leader if game_round == 0 else 0)", r"begin_game: row\[turn\] is 0 for leader=1, round 1"),
        "the round deals nothing": H(DEAL, DEAL.replace("game_round", "0"), r"begin_game: round 1 of a key has the deal of round 0"),
        "rounds come again": H(DEAL, DEAL.replace("game_round", "game_round % 2"), r"begin_game: round 2 of a key has the deal of round 0"),
        "half of the key": H(DEAL, DEAL.replace("key,", "key & 0xFFFFFFFF,"), r"begin_game: bit (32|36) of the key changes no deal"),
        "no key": H(DEAL, DEAL.replace("key,", "0,"), r"begin_game: bit 0 of the key changes no deal"),
        "no sign": H(DEAL, DEAL.replace("key,", "abs(key),"), r"begin_game: a key and its negative have the same deals"),
        "the leader changes the deal": H("    begin_round(row, spec, leader)", "    row[HAND], row[HAND + 1] = (row[HAND + 1], row[HAND]) if leader == 1 else (row[HAND], row[HAND + 1])\n    begin_round(row, spec, leader)", r"begin_game: leader=1, round 0 has other cards than without a leader"),
        "rounds count from one": H("row[KEY], row[ROUND] = key, game_round", "row[KEY], row[ROUND] = key, game_round + 1", r"begin_game: row\[round\] is 1: expected 0"),
        "a round too many": C("if row[ROUND] + 1 < spec[S.NUM_ROUNDS]", "if row[ROUND] + 1 <= spec[S.NUM_ROUNDS]", r"play: round 2 begins: expected num_rounds=1"),
        "a deal before the count": C("        row[ROUND] += 1\n        deal(row, spec)\n", "        deal(row, spec)\n        row[ROUND] += 1\n", r"play\(.*\): round 1 has other cards than from begin_game with its key"),
        "rounds are not counted": C("        row[ROUND] += 1\n", "", r"play\('a \w'\): the hand is 0x\w+ after it: expected 0x0"),
        "a new key for each round": C("        row[ROUND] += 1\n", "        row[ROUND] += 1\n        row[KEY] += 1\n", r"play\(.*\): row\[key\] is -?\d+: expected -?\d+"),
        "places of the round before": C("row[PLAYED + seat], row[PLACE + seat], row[MOST + seat] = 0, -1, DECK", "row[PLAYED + seat], row[MOST + seat] = 0, DECK\n        row[PLACE + seat] = -1 if row[ROUND] == 0 else row[PLACE + seat]", r"row\[place\] of seat \d is"),
        "given hands ignore the leader": C("        begin_round=begin_round,", "        begin_round=lambda row, spec, leader: begin_round(row, spec, -1),", r"begin_round: .* for leader=\d: expected"),
        "given hands may be in two hands": C("union = check_disjoint(hands, 4 * NUM_RANKS)", "union = np.bitwise_or.reduce(hands, axis=1)", r"set_hands: takes the same hand for all seats: expected TienLenError"),
        "a bound that is too low": C("HAND_SIZE * rules.num_players**2", "HAND_SIZE", r"play: the round does not end in 4 decisions, see max_decisions"),
        "a target that is missed": C("(best < spec[TARGET] or num_best > 1)", "False", r"play: a game with num_rounds=0 and target 5 ends at \["),
        "a target that is passed": C("best < spec[TARGET] or", "best < 10 * spec[TARGET] or", r"play: a game with num_rounds=0 and target 5 goes on at \["),
    },
    "settings": {
        "history": H('    if history:\n        raise ValueError(f"history={history}: expected 0, the observation shows all that was played")\n', "", r"build_spec: takes {'history': -1}: expected ValueError"),
        "history above nothing": H("    if history:\n", "    if history < 0:\n", r"observation: has \d+ items with history=2, \d+ without|build_spec: rows have"),
        "num_rounds": H("    if num_rounds != 1:\n", "    if num_rounds < 1:\n", r"play: the game is over after 1 rounds: expected num_rounds=2"),
        "an unknown reward": H("    S.check_settings(reward, REWARDS)\n", '    reward = reward if reward in REWARDS else "points"\n', r"build_spec: takes {'reward': 'none such'}: expected ValueError"),
        "the reward": H("REWARDS.index(reward), auto_reset", "0, auto_reset", r"build_spec\(reward='zero_sum'\): spec\[REWARD\] is 0"),
        "auto_reset": H("REWARDS.index(reward), auto_reset", "REWARDS.index(reward), False", r"spec\[AUTO_RESET\]: expected 1"),
        "history_length is refused": H("    if history:\n", "    if history or history_length:\n", r"build_spec: refuses history_length=3"),
        "the number of players in the spec": H("= rules.num_players, 52, 1", "= 3, 52, 1", r"num_players=2: build_spec: spec\[NUM_PLAYERS\] is 3: expected 2"),
        "the number of players in play": H("row[TURN] = (seat + 1) % num_players", "row[TURN] = (seat + 1) % 3", r"num_players=\d: .*"),
        "the number of players in observe": H("    num_players = spec[S.NUM_PLAYERS]\n    write_bits(out, start, row[HAND", "    num_players = 3\n    write_bits(out, start, row[HAND", r"num_players=\d: .*observe"),
        "the number of players in the layout": H("(rules.num_players, 52 + HAND_SIZE)", "(3, 52 + HAND_SIZE)", r"num_players=\d: .*observe"),
        "where the observation starts": H(OWN, OWN.replace("start", "0"), r"observe: out of \d+ items, out\[-\d\]: expected an index"),
        "where observe_all starts": H("    observe(row, spec, actions, 0, out, start)", "    observe(row, spec, actions, 0, out, 0)", r"observe_all: out of \d+ items, out\[-\d\]: expected an index"),
        "who observes": H(OWN, OWN.replace("row[HAND + seat]", "row[HAND + max(row[TURN], 0)]"), r"observe: out\[\d+\] depends on cards"),
        "that nobody observes": H(OWN, OWN.replace(" if seat >= 0 else 0", ""), r"observe: (expected zeros for seat -1|row\[-1\])"),
        "the hand of the observer": H(OWN, "write_bits(out, start, 0, 52)", r"observe: is the same for the hands"),
        "the history in the observation": C('("history", (history, cards + p)', '("history", (0, cards + p)', r"observation: has \d+ items with history=2, \d+ without"),
        "what the history shows": C("stored = row[HISTORY + event] if seat >= 0 else 0", "stored = 0", r"observe: shows nothing more with history=2 than without"),
        "the length of the history": C("max(history, history_length)", "history", r"build_spec: rows have \d+ columns with history=3, history_length=0, \d+ with history=0, history_length=3"),
        "the history but for its length": C("max(history, history_length)", "history_length", r"build_spec: rows have \d+ columns with history=3, history_length=0, \d+ with history=0, history_length=3"),
        "two rounds": C("if row[ROUND] + 1 < spec[S.NUM_ROUNDS] or is_short:", "if False:", r"play: the game is over after 1 rounds: expected num_rounds=2"),
        "no target": C("spec[S.NUM_ROUNDS], spec[S.REWARD], spec[S.AUTO_RESET] = num_rounds,", "spec[S.NUM_ROUNDS], spec[S.REWARD], spec[S.AUTO_RESET] = max(num_rounds, 1),", r"play: a game with num_rounds=0 and target 5 ends at \["),
        "the cards that are chosen": C("        row[HAND + seat] &= ~cards\n", "        cards = action_cards(row[HAND + seat], actions, action)\n        row[HAND + seat] &= ~cards\n", r"play\('a \w'\): the hand is 0x\w+ after it: expected"),
    },
    "texts": {
        "an escape code in an action": H("return CARD_TEXT[action]", 'return "\\x1b[1m" + CARD_TEXT[action]', r"build_table: text\(0\): '\\x1b\[1m3s': expected printable characters"),
        "a reason of two lines": H(WHY, 'return Refusal("not in\\nthe hand")', r"text.why_refused: 'not in\\nthe hand': expected printable"),
        "a direction in an action": H("return CARD_TEXT[action]", 'return CARD_TEXT[action] + "\\u202e"', r"build_table: text\(0\): .*expected printable"),
        "a blank action": H("return CARD_TEXT[action]", 'return CARD_TEXT[action] if action else " "', r"build_table: text\(0\): ' ': expected a text that is not blank"),
        "a reason that is empty": H(WHY, 'return Refusal("")', r"text.why_refused: '': expected a text"),
        "a reason that is a text": H(WHY, 'return "no"', r"text.why_refused: 'no': expected a Refusal"),
        "a reason that shows a hand": H(WHY, 'return Refusal(f"seat 1 holds {row[HAND + 1]}")', r"text.why_refused: .* depends on cards that the seat cannot see"),
        "no reason for other cards": H(WHY, "return Refusal(CARD_TEXT[(cards if cards is not None else 1).bit_length() - 1])", r"text.why_refused: (raises IndexError|'')") ,
        "a position that shows a hand": H(TEXT, "text=GameText(describe=lambda table, row: str(row[HAND:PLAYED]), worst_reward", r"text.describe: .* depends on cards that the seat cannot see"),
        "a position that shows the key": H(TEXT, "text=GameText(describe=lambda table, row: str(row[KEY]), worst_reward", r"text.describe: .* depends on the key"),
        "a position with an escape code": H(TEXT, 'text=GameText(describe=lambda table, row: "\\x1b[2J", worst_reward', r"text.describe: .*expected printable"),
        "actions below zero": H("        if not 0 <= action < 52:\n", "        if action >= 52:\n", r"build_table: text\(-1\): gives '2h': expected ValueError"),
        "actions go round": H("        if not 0 <= action < 52:\n            raise ValueError(f\"action {action}: expected 0..51\")\n        return CARD_TEXT[action]", "        return CARD_TEXT[action % 52]", r"build_table: text\(-1\): gives '2h': expected ValueError"),
        "any text is an action": H(TEXT, "text=GameText(parse_action=lambda table, text: CARD_TEXT.index(text) if text in CARD_TEXT else 0, worst_reward", r"text.parse_action\('\?!'\): gives 0: expected TienLenError"),
        "any text is a card": H(TEXT, "text=GameText(parse_cards=lambda text: sum(1 << CARD_TEXT.index(word) for word in text.split() if word in CARD_TEXT), worst_reward", r"text.parse_cards\('\?!'\): gives 0: expected ValueError"),
        "cards with an escape code": H(TEXT, 'text=GameText(format_cards=lambda mask: "\\x1b[0m" + " ".join(CARD_TEXT[c] for c in range(52) if mask >> c & 1), parse_cards=lambda text: sum(1 << CARD_TEXT.index(word) for word in text[4:].split() or "?"), worst_reward', r"text.(format|parse)_cards: .*expected"),
        "a play with an escape code": H(TEXT, 'text=GameText(play_text=lambda table, action, cards: "\\x1b" + table.text(action), worst_reward', r"text.play_text.*: .*expected printable"),
        "a word for the round of two lines": H(TEXT, 'text=GameText(unit="deal\\n", worst_reward', r"text.unit.*: 'deal\\n': expected printable"),
        "a fact that is hidden": H(TEXT, 'text=GameText(facts=(FACT("hands", "each_cards", HAND),), worst_reward'.replace("FACT", "__import__('tienlen_env.games.common.facts', fromlist=['Fact']).Fact"), r"text.facts: hands: column 0 is hidden"),
        "a piece without a meaning": H('"own cards, by card id"', '""', r"observation: '': expected a text"),
        "a piece with an escape code": H('("hand", (52,)', '("ha\\x1bnd", (52,)', r"observation: 'ha\\x1bnd': expected printable"),
        "one digest": H("    target: int = 0\n", "    target: int = 0\n\n    def digest(self) -> str:\n        return '0123456789abcdef'\n", r"rules: .* have the digest '0123456789abcdef'"),
        "a cause with an escape code": C('"cards in hand"', '"\\x1b[31mcards"', r"text.unit or text.causes, 'cards': .*expected printable"),
        "a table with the last hand": C("describe=lambda table, row: f\"table:", "describe=lambda table, row: f\"{row[HAND + 2]} table:", r"text.describe: .* depends on cards that the seat cannot see"),
    },
}
# fmt: on
