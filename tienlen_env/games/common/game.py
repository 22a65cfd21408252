"""What the engine must know of a game: the modules of its core, under names that every game shares.

A game is a package of its own (`tienlen_env.games.tienlen`, `tienlen_env.games.thirteens`). The backends loop
over its kernels, the engine and the adapters ask its tables; which game it is follows from the type of its
rules (`tienlen_env.games.registry`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, Literal, Protocol

from tienlen_env.games.common import bits

Episode = Literal["round", "game"]


class AnyRules(Protocol):
    """The rules of any game: a frozen value."""

    @property
    def num_players(self) -> int:
        """P."""

    @property
    def name(self) -> str:
        """The preset's name, or ``"custom-<digest>"``."""

    @property
    def target(self) -> int:
        """Points to which a game of several rounds is played; 0 for none."""

    def digest(self) -> str:
        """16 hex digits that name this variant."""

    def __hash__(self) -> int:
        """Tables are cached by rules."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Definition:
    """A game as the engine sees it.

    Attributes:
        name: ``"tienlen"`` or ``"thirteens"``.
        rules: the type of its rules, a frozen dataclass with a field ``num_players``.
        presets: its named variants; no two games share a name.
        state: columns of a row (``HAND``, ``PLACE``, ``SCORE``, ``TURN``, ``KEY``, ``ROUND``, ``LEGAL``),
            those that are ``HIDDEN``, and ``State``, a batch's named views of them.
        spec: ``build_spec`` and the indices ``NUM_PLAYERS``, ``NUM_WORDS``, ``ROW_SIZE``, ``AUTO_RESET`` of
            what it builds; the `Reward` literal.
        kernels: the rules in motion, called by `backends`; ``COLD`` are functions too large to inline.
        observe: ``observe``, ``observe_all`` and the layout of what they write.
        explain: ``why_refused``, ``describe`` and ``worst_reward``, for messages.
        cards: ``parse_cards`` and ``format_cards``.
        set_hands: starts rounds from given hands, see `tienlen_env.games.tienlen.hands`.
        build_table: makes the action table of a variant.
        more: further modules whose functions the kernels call.
    """

    name: str
    rules: type
    presets: Mapping[str, Any]
    state: ModuleType
    spec: ModuleType
    kernels: ModuleType
    observe: ModuleType
    explain: ModuleType
    cards: ModuleType
    set_hands: Callable[..., None]
    build_table: Callable[[Any], Any]
    more: tuple[ModuleType, ...] = ()

    @cached_property
    def compiled(self) -> tuple[ModuleType, ...]:
        """The modules whose functions run in compiled code."""
        return (*self.more, self.kernels, self.observe)

    @cached_property
    def sources(self) -> tuple[ModuleType, ...]:
        """The modules from which compiled code is made."""
        return (bits, self.spec, self.state, *self.compiled)
