"""The check of a game in plain Python: what breaks the contract is found, and named in its author's words.

This module checks what a game says of itself: names, settings, columns, texts. `tienlen_check.rounds` deals
and plays, `tienlen_check.hidden` checks what seats see, and `tienlen_check.guards` calls the game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, get_args

import numpy as np

from tienlen_check.guards import (
    GuardedVariant,
    calling,
    check_text,
    need,
    same,
)
from tienlen_check.hidden import check_key_is_hidden
from tienlen_check.rounds import (
    check_deals,
    check_given_hands,
    check_leaders,
    check_rounds,
    check_target,
)
from tienlen_env.errors import RulesError, TienLenError
from tienlen_env.games.common import facts, spec as S
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.registry import MAX_PLAYERS

_NO_TEXT: Final = "?!"  # neither an action nor a card


def check_contract(game: AnyGame, num_rounds: int = 1) -> None:
    """Play games of every preset, and compare all that a game says of itself with what it does.

    Args:
        game: the game.
        num_rounds: games of each preset, and a fifth of that with each other number of players. With 1, as
            `register` does, two games of each preset are played, and some texts and keys are tried.

    Raises:
        GameFaultError: the first fault, with its preset, function and position.
    """
    with calling(f"game {game.name!r}"):
        check_names(game)
    digests: dict[str, AnyRules] = {}
    for place, rules, num_games in variants(game, num_rounds):
        with calling(f"game {game.name!r}, preset {place}"):
            other = digests.setdefault(rules.digest(), rules)
            need(other == rules, f"rules: {rules} and {other} have the digest {rules.digest()!r}")
            check_variant(game, rules, num_games, is_quick=num_rounds < 2)


def variants(game: AnyGame, num_rounds: int) -> Iterator[tuple[str, AnyRules, int]]:
    """Each preset, and where there is time each number of players: place, rules, number of games."""
    for name, rules in game.presets.items():
        yield repr(name), rules, max(num_rounds, 2)
        for num_players in range(1, MAX_PLAYERS + 1) if num_rounds > 1 else ():
            try:
                other = replace(rules, num_players=num_players)  # type: ignore[type-var]
            except RulesError:
                continue
            if num_players != rules.num_players:
                yield f"{name!r}, num_players={num_players}", other, max(num_rounds // 5, 2)


def check_variant(game: AnyGame, rules: AnyRules, num_games: int, is_quick: bool) -> None:
    """All checks of one variant."""
    check_spec(game, rules)
    v = GuardedVariant.of(game, rules)
    check_settings(v)
    check_columns(v)
    check_layout(v)
    check_texts(v, is_quick)
    check_deals(v, is_quick)
    check_leaders(v)
    check_rounds(v, num_games)
    check_refusals(v)
    if game.kernels.resample_hidden is not None and v.accepts(num_rounds=2):
        check_key_is_hidden(v)
    check_given_hands(v)
    check_target(v)


# ---------------------------------------------------------------- names and settings


def check_names(game: AnyGame) -> None:
    """Names of the game, its presets and rewards, and words that people read."""
    for name in (game.name, *game.presets):
        is_name = isinstance(name, str) and name.isascii() and name.isidentifier() and name == name.lower()
        need(is_name, f"{name!r} is not a name; expected lower-case letters, digits and '_'")
    need(game.presets, "presets: expected at least one")
    for name, rules in game.presets.items():
        need(isinstance(rules, game.rules_type), f"presets[{name!r}]: expected {game.rules_type.__name__}")
        with calling(f"presets[{name!r}].__hash__"):
            hash(rules)
    need(len(set(game.rewards)) == len(game.rewards), f"rewards: a name comes twice in {game.rewards}")
    need("points" in game.rewards, "rewards: expected 'points', which matches use")
    for what, text in (("unit", game.text.unit), *game.text.causes.items()):
        with calling(f"text.unit or text.causes, {what!r}"):
            check_text(text)


def check_spec(game: AnyGame, rules: AnyRules) -> None:
    """The two arrays of `build_spec`, and the settings in the head of `spec`."""
    for i, reward in enumerate(game.rewards):
        with calling(f"build_spec(reward={reward!r})"):
            try:
                spec = game.build_spec(rules, reward=reward, auto_reset=True).spec
            except RulesError:  # a reward that this variant does not have
                need(i > 1, "expected for every variant")
                continue
            need(spec[S.REWARD] == i, f"spec[REWARD] is {spec[S.REWARD]}: expected the index {i}")
            need(spec[S.AUTO_RESET] == 1, "spec[AUTO_RESET]: expected 1 with auto_reset=True")
    with calling("build_spec"):
        tables = game.build_spec(rules)
        for name, array in zip(("spec", "actions"), tables, strict=True):
            right = isinstance(array, np.ndarray) and array.dtype == np.int64 and array.ndim == 1
            need(right and array.flags.c_contiguous, f"{name}: expected a contiguous int64 array (n,)")
        need(len(tables.spec) >= S.HEADER_SIZE, f"spec: expected {S.HEADER_SIZE} settings or more")
        with calling("build_table"):
            num_actions = game.build_table(rules).num_actions
            need(num_actions > 0, f"num_actions is {num_actions}: expected 1 or more")
        expected = {
            "NUM_PLAYERS": rules.num_players,
            "NUM_ACTIONS": num_actions,
            "NUM_WORDS": S.num_words(num_actions),
            "REWARD": 0,
            "AUTO_RESET": 0,
        }
        for name, number in expected.items():
            found = tables.spec[getattr(S, name)]
            need(found == number, f"spec[{name}] is {found}: expected {number}")


def check_settings(v: GuardedVariant) -> None:
    """Each setting is refused or has an effect: rewards, histories; `check_rounds` tries the others."""
    for refused in ({"reward": "none such"}, {"history": -1}):
        need(not v.accepts(**refused), f"build_spec: takes {refused}: expected ValueError")
    need(v.accepts(history_length=3), "build_spec: refuses history_length=3: expected to store or ignore it")
    takes_history = v.accepts(history=2)
    need(takes_history or not v.game.has_history, "build_spec: refuses history=2, but has_history is True")
    if takes_history:
        sizes = [v.game.observation(v.rules, history).size for history in (2, 0)]
        need(sizes[0] > sizes[1], f"observation: has {sizes[0]} items with history=2, {sizes[1]} without")
        stored = v.under(history=0, history_length=3)
        for other in (v.under(history=3, history_length=0), v.under(history=2, history_length=3)):
            found, expected = other.spec[S.ROW_SIZE], stored.spec[S.ROW_SIZE]
            right = found == expected
            need(right, f"build_spec: rows have {found} columns with {other}, {expected} with {stored}")
        if stored.trick:
            same("the length of state.history", len(stored.trick["history"]), 3, f" with {stored}")


# ---------------------------------------------------------------- columns and texts


def check_columns(v: GuardedVariant) -> None:
    """The columns lie in the row without overlap, and what is hidden is not public as well."""
    columns, p, row_size = v.game.columns, v.rules.num_players, v.spec[S.ROW_SIZE]
    sizes = {"hand": p, "place": p, "score": p, "turn": 1, "key": 1, "round": 1, "legal": len(v.mask)}
    if columns.played >= 0:
        sizes["played"] = p
    spans = sorted((getattr(columns, name), size, name) for name, size in sizes.items())
    end, before = 0, ""
    for first, size, name in spans:
        need(first >= end, f"columns.{name}: column {first} belongs to columns.{before}, too")
        end, before = first + size, name
        need(end <= row_size, f"columns.{name}: columns {first}..{end - 1} of {row_size}")
        for column in range(first, end):
            is_hidden = name in ("hand", "key")
            what = (
                f"column {column}, {'a hand or the key' if is_hidden else name}, is {'not ' * is_hidden}in it"
            )
            need((column in columns.hidden) == is_hidden, f"columns.hidden: {what}")
    need(max(columns.hidden) < row_size and min(columns.hidden) >= 0, "columns.hidden: not in the row")
    with calling("text.facts"):
        known = v.game.facts(v.rules, v.spec)
        need(len({fact.name for fact in known}) == len(known), "a name comes twice")
        for fact in known:
            check_text(fact.name)
            need(fact.kind in get_args(facts.Kind), f"{fact.name}: {fact.kind!r} is not a kind of fact")
            size = p if fact.kind.startswith("each") else fact.kind != "common"
            others = [*fact.unless, *(x for x in (fact.if_negative, fact.within) if x >= 0)]
            for column in (*range(fact.column, fact.column + size), *others):
                need(0 <= column < row_size, f"{fact.name}: column {column} of {row_size}")
                need(column not in columns.hidden, f"{fact.name}: column {column} is hidden")


def check_layout(v: GuardedVariant) -> None:
    """The pieces of the observation have names and meanings, and the global one contains them."""
    with calling("observation"):
        layout = v.game.observation(v.rules, 0)
        for piece in layout.values():
            check_text(piece.name)
            check_text(piece.meaning)
    with calling("global_observation_size"):
        size = v.game.global_observation_size(v.rules, 0)
        need(size >= layout.size, f"is {size}: expected at least the size of an observation, {layout.size}")


def check_texts(v: GuardedVariant, is_quick: bool) -> None:
    """Each action has a text of its own."""
    table, text, known = v.table, v.game.text, dict[str, int]()
    for action in range(table.num_actions):
        with calling(f"build_table: text({action})"):
            name = check_text(table.text(action))
            need(name not in known, f"{name!r} is the text of action {known.get(name)}, too")
            known[name] = action
        if is_quick and action % (1 + table.num_actions // 32):
            continue  # a search in all texts
        with calling(f"text.parse_action({name!r})"):
            found = text.parse_action(table, name)
            need(found == action, f"gives {found}: expected {action}")
        with calling(f"text.play_text of {name!r}"):
            check_text(text.play_text(table, action, 0), is_any=True)


def check_refusals(v: GuardedVariant) -> None:
    """What is no action and no text of one is refused, and no cards."""
    for action in (-1, v.table.num_actions):
        check_refused("build_table: text", v.table.text, action, error=ValueError)
    check_refused("text.parse_action", v.game.text.parse_action, v.table, _NO_TEXT, error=TienLenError)
    check_refused("text.parse_cards", v.game.text.parse_cards, _NO_TEXT, error=ValueError)


def check_refused(name: str, function: Callable[..., Any], *arguments: Any, error: type[ValueError]) -> None:
    """A function refuses what is not its argument."""
    with calling(f"{name}({arguments[-1]!r})"):
        try:
            found = function(*arguments)
        except error:
            return
        need(False, f"gives {found!r}: expected {error.__name__}")
