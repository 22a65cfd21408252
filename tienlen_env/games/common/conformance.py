"""The check of a game in plain Python: what a kernel reads and writes beyond its arrays is found by name.

Compiled code checks nothing, so a size that is wrong corrupts memory there. Here rows, settings, masks and
observations are lists that refuse other indices and other values; a few rounds of every preset are played.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import Any, Final

import numpy as np

from tienlen_env.errors import RulesError, TienLenError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.game import AnyGame, AnyRules, Refusal

MAX_DECISIONS: Final = 1500  # of a round; no game of 52 cards has more
_STALE: Final = 7  # an item that a writer left as it was


class GameFaultError(TienLenError):
    """A game breaks the contract of `tienlen_env.games.common.game.Game`; the text says where."""


class _Guard(list[Any]):
    """Numbers of a kernel, which refuse what compiled code would not see."""

    def __init__(self, name: str, items: Sequence[Any], kind: type = int) -> None:
        super().__init__(items)
        self.name, self.kind = name, kind
        self.dtype = np.dtype(np.uint8)  # an output of bytes

    def _check(self, i: Any) -> None:
        if not isinstance(i, int) or not 0 <= i < len(self):
            raise GameFaultError(f"{self.name}[{i}]: expected an index in 0..{len(self) - 1}")

    def __getitem__(self, i: Any) -> Any:
        if not isinstance(i, slice):
            self._check(i)
        return super().__getitem__(i)

    def __setitem__(self, i: Any, value: Any) -> None:
        self._check(i)
        if not isinstance(value, int if self.kind is int else int | float):
            raise GameFaultError(f"{self.name}[{i}] = {value!r}: expected {self.kind.__name__}")
        if self.kind is int and not -(2**63) <= value < 2**63:
            raise GameFaultError(f"{self.name}[{i}] = {value}: expected 64 bits, signed")
        super().__setitem__(i, value)


@contextmanager
def _calling(function: str) -> Iterator[None]:
    """Name the function in whatever goes wrong within it."""
    try:
        yield
    except GameFaultError as fault:
        raise GameFaultError(f"{function}: {fault}") from None
    except Exception as error:
        raise GameFaultError(f"{function}: raises {type(error).__name__}: {error}") from error


def _need(is_right: object, text: str) -> None:
    if not is_right:
        raise GameFaultError(text)


def check_contract(game: AnyGame, num_rounds: int = 20) -> None:
    """Play rounds of every preset, and compare all that a game says of itself with what it does.

    Args:
        game: the game.
        num_rounds: rounds of each preset, at least one a reward; below 2 only some texts are parsed.

    Raises:
        GameFaultError: the first fault, with its preset, function and position.
    """
    _check_names(game)
    for name, rules in game.presets.items():
        try:
            checked = _Preset(game, rules, is_quick=num_rounds < 2)
            for key in range(max(num_rounds, len(checked.specs))):
                checked.play_round(key)
        except GameFaultError as fault:
            raise GameFaultError(f"game {game.name!r}, preset {name!r}: {fault}") from fault.__cause__


def _check_names(game: AnyGame) -> None:
    at = f"game {game.name!r}: "
    for name in (game.name, *game.presets):
        is_name = isinstance(name, str) and name.isascii() and name.isidentifier() and name == name.lower()
        _need(is_name, f"{at}{name!r} is not a name; expected lower-case letters, digits and '_'")
    _need(game.presets, f"{at}presets: expected at least one")
    for name, rules in game.presets.items():
        _need(
            isinstance(rules, game.rules_type), f"{at}presets[{name!r}]: expected {game.rules_type.__name__}"
        )
        with _calling(f"{at}presets[{name!r}].__hash__"):
            hash(rules)
    _need(len(set(game.rewards)) == len(game.rewards), f"{at}rewards: a name comes twice in {game.rewards}")
    _need("points" in game.rewards, f"{at}rewards: expected 'points', which matches use")


class _Preset:
    """One variant of a game, and what is known of it."""

    def __init__(self, game: AnyGame, rules: AnyRules, is_quick: bool) -> None:
        self.game, self.rules, self.is_quick = game, rules, is_quick
        with _calling("build_table"):
            self.table = game.build_table(rules)
            hash(self.table)
        self._check_spec()
        self._check_columns()
        self._check_texts()
        with _calling("observation"):
            self.observation_size = game.observation(rules, 0).size
        with _calling("global_observation_size"):
            self.global_size = game.global_observation_size(rules, 0)
            _need(self.global_size >= self.observation_size, "expected at least the size of an observation")

    def _check_spec(self) -> None:
        game, num_actions = self.game, self.table.num_actions
        self.specs: dict[str, _Guard] = {}
        for i, reward in enumerate(game.rewards):
            with _calling(f"build_spec(reward={reward!r})"):
                try:
                    spec = game.build_spec(self.rules, reward=reward, auto_reset=True).spec
                    self.specs[reward] = _Guard(
                        "spec", game.build_spec(self.rules, reward=reward).spec.tolist()
                    )
                except RulesError:  # a reward that this variant does not have
                    _need(i > 1, "expected for every variant")
                    continue
                _need(spec[S.REWARD] == i, f"spec[REWARD] is {spec[S.REWARD]}: expected the index {i}")
                _need(spec[S.AUTO_RESET] == 1, "spec[AUTO_RESET]: expected 1 with auto_reset=True")
        with _calling("build_spec"):
            tables = game.build_spec(self.rules)
            for name, array in zip(("spec", "actions"), tables, strict=True):
                right = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
                _need(right and array.flags.c_contiguous, f"{name}: expected a contiguous int64 array (n,)")
            _need(len(tables.spec) >= S.HEADER_SIZE, f"spec: expected {S.HEADER_SIZE} settings or more")
            expected = {
                "NUM_PLAYERS": self.rules.num_players,
                "NUM_ACTIONS": num_actions,
                "NUM_WORDS": S.num_words(num_actions),
                "REWARD": 0,
                "AUTO_RESET": 0,
            }
            for name, number in expected.items():
                found = tables.spec[getattr(S, name)]
                _need(found == number, f"spec[{name}] is {found}: expected {number}")
        self.spec, self.actions = (
            _Guard(name, array.tolist()) for name, array in zip(("spec", "actions"), tables, strict=True)
        )
        self.num_players, self.num_words = self.rules.num_players, S.num_words(num_actions)
        self.row_size = self.spec[S.ROW_SIZE]

    def _check_columns(self) -> None:
        columns, p = self.game.columns, self.num_players
        sizes = {"hand": p, "place": p, "score": p, "turn": 1, "key": 1, "round": 1, "legal": self.num_words}
        if columns.played >= 0:
            sizes["played"] = p
        spans = sorted((getattr(columns, name), size, name) for name, size in sizes.items())
        end, before = 0, ""
        for first, size, name in spans:
            _need(first >= end, f"columns.{name}: column {first} belongs to columns.{before}, too")
            end, before = first + size, name
            _need(end <= self.row_size, f"columns.{name}: columns {first}..{end - 1} of {self.row_size}")
        for column in (*range(columns.hand, columns.hand + p), columns.key):
            _need(
                column in columns.hidden, f"columns.hidden: column {column}, a hand or the key, is not in it"
            )
        _need(
            max(columns.hidden) < self.row_size and min(columns.hidden) >= 0, "columns.hidden: not in the row"
        )

    def _check_texts(self) -> None:
        table, text = self.table, self.game.text
        _need(table.num_actions > 0, "build_table: num_actions: expected 1 or more")
        known: dict[str, int] = {}
        for action in range(table.num_actions):
            with _calling(f"build_table: text({action})"):
                name = table.text(action)
                _need(isinstance(name, str) and name, f"{name!r}: expected a text")
                _need(name not in known, f"{name!r} is the text of action {known.get(name)}, too")
                known[name] = action
            if self.is_quick and action % (1 + table.num_actions // 32):
                continue  # a search in all texts
            with _calling(f"text.parse_action({name!r})"):
                found = text.parse_action(table, name)
                _need(found == action, f"gives {found}: expected {action}")

    # ------------------------------------------------------------ a round

    def play_round(self, key: int) -> None:
        """Play a round at random, with every check at every decision."""
        kernels, columns, p = self.game.kernels, self.game.columns, self.num_players
        rng = random.Random(key)
        reward = list(self.specs)[key % len(self.specs)]
        self.spec = self.specs[reward]
        row = self._begin(key, [0] * self.row_size)
        dirty = self._begin(key, [rng.randrange(-9, 9) for _ in range(self.row_size)])
        total, place = [0.0] * p, f"round of key {key}"
        for decision in range(MAX_DECISIONS + 1):
            with _calling(f"{place}, decision {decision}"):
                legal = self._check_position(row, rng)
                again = self._check_position(dirty, None)
                _need(legal == again, "begin_game: another game in a row that held another one before")
                if not legal:
                    break
                _need(decision < MAX_DECISIONS, f"play: the round does not end in {MAX_DECISIONS} decisions")
                action, seat = rng.choice(legal), row[columns.turn]
                cards = kernels.action_cards(row[columns.hand + seat], self.actions, action)
                gained = self._play(row, action, cards)
                self._play(dirty, action, cards)
                total = [x + y for x, y in zip(total, gained, strict=True)]
        with _calling(place):
            self._check_end(row, total, reward)

    def _begin(self, key: int, numbers: list[int]) -> _Guard:
        columns, row = self.game.columns, _Guard("row", numbers)
        with _calling("begin_game"):
            self.game.kernels.begin_game(row, self.spec, key, 0, -1)
            _need(row[columns.key] == key, f"row[key] is {row[columns.key]}: expected {key}")
            _need(row[columns.round] == 0, f"row[round] is {row[columns.round]}: expected 0")
            hands = row[columns.hand : columns.hand + self.num_players]
            _need(
                sum(h.bit_count() for h in hands) == reduce(or_, hands).bit_count(), "a card is in two hands"
            )
            _need(all(h > 0 for h in hands), "a hand is empty")
        return row

    def _check_position(self, row: _Guard, rng: random.Random | None) -> list[int]:
        """The legal actions of the seat to act; with a generator all else is checked, too."""
        kernels, columns, num_actions = self.game.kernels, self.game.columns, self.table.num_actions
        words = range(columns.legal, columns.legal + self.num_words)
        for word in words:
            row[word] = -1  # of the position before
        with _calling("update_legal"):
            kernels.update_legal(row, self.spec, self.actions)
            mask = sum((row[word] & 2**64 - 1) << 64 * i for i, word in enumerate(words))
            legal = [action for action in range(num_actions) if mask >> action & 1]
            _need(not mask >> num_actions, f"bit {mask.bit_length() - 1}: there are {num_actions} actions")
            seat = row[columns.turn]
            _need(-1 <= seat < self.num_players, f"row[turn] is {seat}: expected -1..{self.num_players - 1}")
            _need(bool(legal) == (seat >= 0), f"{len(legal)} legal actions where row[turn] is {seat}")
        if rng is None:
            return legal
        with _calling("legal"):
            found = kernels.legal.num_legal(row, self.spec)
            _need(found == len(legal), f"num_legal gives {found}: expected {len(legal)}, see legal_kernels")
            ids, cards = _Guard("ids", [0] * num_actions), _Guard("cards", [0] * num_actions)
            kernels.legal.list_legal(row, self.spec, self.actions, ids, cards, 0)
            _need(ids[: len(legal)] == legal, "list_legal: other actions than in the mask")
        if seat >= 0:
            for action in legal:
                self._check_cards(row, action)
            self._check_texts_of(row, rng)
            if kernels.resample_hidden is not None:
                self._check_resampled(row, legal, rng)
        self._check_observations(row, seat)
        return legal

    def _check_cards(self, row: _Guard, action: int) -> None:
        kernels, columns = self.game.kernels, self.game.columns
        hand, name = row[columns.hand + row[columns.turn]], self.table.text(action)
        with _calling(f"action_cards({name!r})"):
            cards = kernels.action_cards(hand, self.actions, action)
            _need(cards & ~hand == 0, f"{cards:#x} is not in the hand {hand:#x}")
        if kernels.can_play_cards is not None:
            with _calling(f"can_play_cards({name!r})"):
                arguments = row, self.spec, self.actions, action
                _need(kernels.can_play_cards(*arguments, cards), f"refuses its own cards {cards:#x}")
                for other in (cards | (1 << 62), -1 if hand != -1 else 0):
                    _need(not kernels.can_play_cards(*arguments, other), f"takes {other:#x}, not of the hand")
        if cards:
            with _calling("text.parse_cards"):
                written = self.game.text.format_cards(cards)
                found = self.game.text.parse_cards(written)
                _need(found == cards, f"{written!r}, the text of {cards:#x}, gives {found:#x}")

    def _check_texts_of(self, row: _Guard, rng: random.Random) -> None:
        text = self.game.text
        with _calling("text.describe"):
            _need(isinstance(text.describe(self.table, list(row)), str), "expected a text")
        with _calling("text.why_refused"):
            why = text.why_refused(self.table, list(row), rng.randrange(self.table.num_actions), None)
            _need(isinstance(why, Refusal), f"{why!r}: expected a Refusal")

    def _check_observations(self, row: _Guard, seat: int) -> None:
        kernels = self.game.kernels
        seen = self._observe("observe", self.observation_size, kernels.observe, row, seat)
        _need(seat >= 0 or not any(seen), "observe: expected zeros for seat -1")
        self._observe("observe_all", self.global_size, kernels.observe_all, row)

    def _observe(
        self, name: str, size: int, write: Callable[..., None], row: _Guard, *seat: int
    ) -> list[int]:
        out = _Guard(f"out of {size} items, out", [_STALE] * size)
        with _calling(name):
            write(row, self.spec, self.actions, *seat, out, 0)
            for i, item in enumerate(out):
                _need(item != _STALE, f"out[{i}] of {size} items is not written")
                _need(item in (0, 1), f"out[{i}] is {item}: expected 0 or 1")
        return list(out)

    def _check_resampled(self, row: _Guard, legal: list[int], rng: random.Random) -> None:
        kernels, columns, seat = self.game.kernels, self.game.columns, row[self.game.columns.turn]
        assert kernels.resample_hidden is not None
        other = _Guard("row", row)
        with _calling("resample_hidden"):
            kernels.resample_hidden(other, self.spec, seat, rng.getrandbits(62))
            for i in range(self.num_players):
                before, after = row[columns.hand + i], other[columns.hand + i]
                _need(before.bit_count() == after.bit_count(), f"the hand of seat {i} has another size")
            _need(other[columns.hand + seat] == row[columns.hand + seat], "the own hand changes")
            for column in range(self.row_size):
                same = column in columns.hidden or other[column] == row[column]
                _need(same, f"row[{column}] changes, and is not in columns.hidden")
        seen = [
            self._observe("observe", self.observation_size, kernels.observe, each, seat)
            for each in (row, other)
        ]
        for i, (wanted, found) in enumerate(zip(*seen, strict=True)):
            _need(wanted == found, f"observe: out[{i}] depends on cards that the seat cannot see")
        _need(self._check_position(other, None) == legal, "update_legal: depends on cards that are hidden")

    def _play(self, row: _Guard, action: int, cards: int) -> list[float]:
        columns = self.game.columns
        seat, name = row[columns.turn], self.table.text(action)
        hand, game_round = row[columns.hand + seat], row[columns.round]
        rewards = _Guard("rewards", [0.0] * self.num_players, float)
        with _calling(f"play({name!r})"):
            self.game.kernels.play(row, self.spec, self.actions, action, cards, rewards)
            _need(all(map(math.isfinite, rewards)), f"rewards are {list(rewards)}")
            if row[columns.turn] >= 0 and row[columns.round] == game_round:
                left = row[columns.hand + seat]
                _need(left == hand & ~cards, f"the hand is {left:#x} after it: expected {hand & ~cards:#x}")
        return list(rewards)

    def _check_end(self, row: _Guard, total: list[float], reward: str) -> None:
        columns = self.game.columns
        places = row[columns.place : columns.place + self.num_players]
        for seat, place in enumerate(places):
            better = sum(other < place for other in places)
            _need(
                place == better, f"play: row[place] of seat {seat} is {place} at the end: expected {better}"
            )
        with _calling("text.worst_reward"):
            worst = self.game.text.worst_reward(self.rules, reward)
            _need(min(total) >= worst - 1e-6, f"gives {worst} where a seat got {min(total)} {reward}")
        _need(
            reward != "zero_sum" or abs(sum(total)) < 1e-3, f"play: zero_sum rewards add up to {sum(total)}"
        )
