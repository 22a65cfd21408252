"""What JavaScript must know of the agents and words of a game: data, in the file of the game's tables."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import product, repeat, takewhile
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from tienlen_agents import load
from tienlen_agents.networks import inference
from tienlen_agents.networks.general import fitted_config, reward_of, state_columns
from tienlen_agents.networks.network import NetworkConfig, general_inputs
from tienlen_agents.networks.shipped import config_of, policy_path
from tienlen_agents.search.agent import HISTORY, SearchAgent
from tienlen_agents.search.champion import SearchedNetwork
from tienlen_agents.search.context import SearchContext
from tienlen_agents.words import words_of
from tienlen_env.errors import NotationError, WrongGameError
from tienlen_env.games.common import spec as S
from tienlen_env.games.common.cards import RANK_TEXT, SUIT_NAME, SUIT_SYMBOLS, SUIT_TEXT
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_env.games.common.notation import FAULTS, MAX_ID, MAX_SHOWN, Notation, Words
from tienlen_env.games.registry import game_of, has_payments, variants_of
from tienlen_env.single.base import OVER, POSITION, REFUSED, plain_notation, round_type
from tienlen_table.engine import tables_of
from tienlen_table.engine.memory import add_constant, layout_of
from tienlen_table.wasm.entries import (
    MAX_WORLDS,
    new_network_memory,
    new_search_memory,
    rule_agents,
    search_setup,
)
from tienlen_table.words import TableWords, table_words_of

WORLDS: Final = 32  # of the agent "search", unless the page asks for more


def history_length(game: AnyGame) -> int:
    """The plays that a row stores for the search and the networks."""
    return HISTORY if game.has_history else 0


def rules_remark(rules: AnyRules) -> str:
    """A line for the explorer of the page that says what rules of one's own are.

    A record has only their digest, so the page reads it after this line, a remark for Python. It has the
    tables of the variant, as the page has them of each preset: about 50 kB, as text.

    Args:
        rules: the variant.
    """
    game = game_of(rules)
    variants = [(f"#{rules.digest()}", rules)]
    tables = tables_of(game, variants=variants, history_length=history_length(game))
    add_tables(game, tables, variants)
    kept = ("game", "action_tables", "variants", "texts", "constants", "networks", "agents")
    data = json.dumps({name: tables[name] for name in kept}, separators=(",", ":"))
    return f"# rules {rules.digest()} {b64encode(gzip.compress(data.encode(), mtime=0)).decode()}"


def add_tables(
    game: AnyGame, tables: dict[str, Any], variants: Sequence[tuple[str, AnyRules]] | None = None
) -> None:
    """Add to `tienlen_table.engine.tables_of` what the agents need.

    Added are ``words`` (`TableWords` as data); ``agents``, each with its ``name`` and ``kind``; ``networks``
    (by the digest of the rules); ``constants``, contents of arrays; and in each variant
    ``size``, ``about`` (the fields of its rules), ``notation`` (what a record of it may have), ``facts``,
    ``next_leader``, ``rounds`` (where ``spec`` has the number of rounds of a game, what stands there for a
    game as the rules have it, and for one without an end), ``history`` (where past plays lie), ``play_texts``
    and ``play_words`` (keys of ``texts``, or null for the cards of a play), ``named_plays`` and
    ``payments`` (as `TableWords` says), ``options`` (of each agent that searches) and ``memory`` (the arrays
    of the search and of the network).

    Args:
        game: the game.
        tables: its tables.
        variants: the ``(name, rules)`` of the tables; None for `variants_of` the game.
    """
    variants = list(variants_of(game)) if variants is None else variants
    words = table_words_of(next(iter(game.presets.values())))
    constants: dict[str, list[int | float | str]] = {}
    texts: dict[str, list[str]] = {}
    networks = {}
    searches = True
    for (_, rules), variant in zip(variants, tables["variants"], strict=True):
        table = game.build_table(rules)
        variant["size"] = words.size(rules)
        variant["about"] = about(rules)
        variant["next_leader"] = words.next_leader(rules)
        variant["rounds"] = [S.NUM_ROUNDS, S.rounds_of("game", None, rules.target), S.MAX_ROUNDS]
        variant["history"] = variant["row_size"] - tables["settings"]["history_length"]
        # Where an action stands for several sets of cards, the text of a play is that of its cards.
        of_actions = [game.text.play_text(table, action, 0) for action in range(table.num_actions)]
        for name, found in (
            ("play_texts", None if game.has_card_choice else of_actions),
            ("play_words", words.record_plays(rules, table)),
            ("shapes", words.shapes(table)),
        ):
            variant[name] = None
            if found is not None:
                variant[name] = f"{variant['action_table']}.{name}"
                texts[variant[name]] = found
        variant["notation"] = _variant_notation(game, rules)
        variant["named_plays"] = words.named_plays(rules, table)
        spec = np.array(variant["spec"], np.int64)
        variant["facts"] = [fact._asdict() for fact in game.facts(rules, spec)]
        payments = words.payment_columns(rules, spec.tolist())
        variant["payments"] = None if payments is None else payments._asdict()
        variant["memory"] = {}
        try:
            setup = search_setup(rules)
            _, memory = new_search_memory(setup)
            variant["memory"]["search"] = layout_of(memory, constants)
            context = SearchContext(rules, "payments" if has_payments(rules) else "")
            agents = _searchers(policy_path(rules) is not None)
            variant["options"] = {agent.name: agent.options_in(context)._asdict() for agent in agents}
        except WrongGameError:
            searches = False
        path = policy_path(rules)
        if path is not None:
            stored = config_of(path)
            config = fitted_config(stored, rules)
            _, memory_of_network = new_network_memory(rules, variant["row_size"], config)
            variant["memory"]["network"] = layout_of(memory_of_network, constants)
            networks[rules.digest()] = {
                "file": path.name,
                **_sources(config),
                "fit": None if config == stored else _fit_data(stored, rules, constants),
            }
    tables["words"] = {**_words_data(game, words), "notation": _notation_data(game)}
    tables["texts"] = texts
    tables["constants"] = constants
    tables["networks"] = networks
    tables["has_card_choice"] = game.has_card_choice
    tables["agents"] = list(_agents(game, searches, bool(networks)))


def _fit_data(
    config: NetworkConfig, rules: AnyRules, constants: dict[str, list[int | float | str]]
) -> dict[str, Any]:
    """How a network is fitted to a variant (`tienlen_agents.networks.general`).

    ``columns`` has, for the fields of the weights that read inputs, the network's column of each of the
    variant's; each field in ``biases`` gets what ``rule_inputs`` add through the weights of another field.
    The arrays are keys of `constants`.
    """
    from_state = _constant(state_columns(config, rules).index, constants)
    columns = {"weights.first": from_state, "belief.first": from_state}
    if not config.is_general:
        return {"columns": columns, "biases": {}}
    general = general_inputs(config.game, config.pieces)
    return {
        "columns": {**columns, "weights.after": _constant(general.action_columns(rules).index, constants)},
        "biases": {"weights.first_bias": "weights.first", "belief.first_bias": "belief.first"},
        "rule_inputs": _constant(
            general.rule_inputs(rules, reward_of(rules))[: config.num_rule_inputs], constants
        ),
    }


def _sources(config: NetworkConfig) -> dict[str, Any]:
    """Where the fields of `NetworkMemory` come from in a policy file, and which are laid out in tiles."""
    parts: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
        "weights": (inference.SOURCES, inference.TILED)
    }
    if config.belief_width:
        parts["belief"] = (inference.BELIEF_SOURCES, inference.BELIEF_TILED)
    return {
        "sources": {
            f"{part}.{k}": name for part, (sources, _) in parts.items() for k, name in sources.items()
        },
        "tiled": [f"{part}.{name}" for part, (_, tiled) in parts.items() for name in tiled],
    }


def _constant(array: npt.NDArray[Any], constants: dict[str, list[int | float | str]]) -> str:
    return add_constant(array.dtype.name, array.tolist(), constants)  # all numbers: their count is the length


def _words_data(game: AnyGame, words: TableWords) -> dict[str, Any]:
    write = game.text.format_cards
    texts = list(takewhile(bool, map(_card_text, repeat(write), range(63))))
    return {
        "record": f"{game.name}/1",
        "card_texts": texts,
        "card_order": [texts.index(text) for text in write((1 << len(texts)) - 1).split()],
        "suit_texts": SUIT_NAME,
        "reasons": words.reasons,
        "position": words.position,
        "result_column": game.columns.score if words.result_column < 0 else words.result_column,
    }


class _Sizes(Words):
    """Notes which sizes a notation takes."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, int]] = []

    def take_size(self, example: str, what: str, highest: int) -> int:
        """Note a size."""
        self.taken.append((example, what, highest))
        return 0


def _notation(game: AnyGame) -> Notation:
    found = round_type(next(iter(game.presets.values()))).notation
    return plain_notation(game) if found is None else found


def _notation_data(game: AnyGame) -> dict[str, Any]:
    """How the page reads records: the sentences of Python's `Notation`, its names and its limits."""
    notation, sizes = _notation(game), _Sizes()
    notation.parse_size(sizes)
    names = [f"{example[0]}{{}}" for example, _, _ in sizes.taken]
    errors: dict[str, dict[str, str]] = {}
    for preset in game.presets:
        for numbers in product(*(range(highest + 1) for _, _, highest in sizes.taken)):
            words = " ".join(name.format(number) for name, number in zip(names, numbers, strict=True))
            if text := _error_of(notation, f"{preset} {words} {_REST}"):
                errors.setdefault(preset, {})[words] = text
    unknown = _error_of(notation, " ".join([_MARK, *(name.format(1) for name in names), _REST]))
    return {
        "faults": FAULTS,
        "max_shown": MAX_SHOWN,
        "max_id": MAX_ID,
        "sizes": sizes.taken,
        "size_errors": errors,
        "unknown_rules": unknown.replace(repr(_MARK), "{word!r}"),
        "spellings": dict(_spellings(notation)),
        "extra": [list(one) for one in notation.written_extra],
        "result": notation.result,
        "has_places": notation.has_places,
        "pass": notation.pass_text,
        "refused": REFUSED,
        "position": POSITION,
        "over": OVER.format(unit=game.text.unit),
        "hand_faults": game.hand_faults,
    }


_MARK: Final = "?"
_REST: Final = "key=0000000000000000.0 :"


def _error_of(notation: Notation, line: str) -> str:
    """The sentence about a line; empty if it can be read."""
    try:
        notation.parse(f"{notation.form} {line}")
    except NotationError as error:
        return str(error.args[0])
    return ""


def _spellings(notation: Notation) -> Iterator[tuple[str, int]]:
    """Each way to write a card, and the card."""
    ranks = [*RANK_TEXT, *RANK_TEXT.lower(), "10"]
    suits = [*SUIT_TEXT, *SUIT_TEXT.upper(), *SUIT_SYMBOLS]
    for text in [*map("".join, product(ranks, suits)), *(f"*{n}" for n in range(1, 10))]:
        with suppress(NotationError):
            yield text, notation.parse_cards(text, 1).bit_length() - 1


def about(rules: AnyRules) -> dict[str, Json]:
    """What a page tells of rules: their fields, with what some have by default."""
    found = words_of(rules).rule_fields(rules)
    fields = cast(dict[str, Json], found.get("fields", {}))
    return {**fields, "points": found.get("points", []), "cards_each": getattr(rules, "cards_each", 0)}


def _variant_notation(game: AnyGame, rules: AnyRules) -> dict[str, Any]:
    """What a record of a variant may have."""
    notation, not_a_play = _notation(game), ""
    try:
        notation.parse_play(rules, _MARK)
    except NotationError as error:
        not_a_play = str(error.args[0]).replace(repr(_MARK), "{word!r}")
    return {
        "most_cards": notation.hand_size(rules),
        "not_a_play": not_a_play,
        "no_combination": table_words_of(rules).no_combination(rules),
    }


def _card_text(write: Callable[[int], str], card: int) -> str:
    """The text of a card; empty where the game has no such card."""
    try:
        return write(1 << card)
    except (ValueError, IndexError):
        return ""


def _searchers(has_champion: bool) -> list[SearchAgent]:
    """The agents that search, with the names that they have on the page."""
    search, champion = SearchAgent(worlds=WORLDS), load("champion")
    search.name = "search"
    assert isinstance(champion, SearchedNetwork)
    return [search, champion] if has_champion else [search]


def _agents(game: AnyGame, searches: bool, has_champion: bool) -> Iterator[dict[str, Any]]:
    yield {"name": "random", "kind": "random"}
    for player in rule_agents(game):
        yield {"name": player.name, "kind": "rule"}
    for agent in _searchers(has_champion) if searches else ():
        has_network = isinstance(agent, SearchedNetwork)
        yield {"name": agent.name, "kind": "search", "network": has_network, "most_worlds": MAX_WORLDS}
