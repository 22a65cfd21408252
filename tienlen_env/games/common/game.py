"""The interface of a game to the engine, the environments and the agents.

A game is one folder: rules, action table, state, kernels, observation, texts. It makes one `GameDefinition`
from them and registers it (`tienlen_env.games.registry`). The code above uses this value, not a game's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from tienlen_env.errors import TienLenError
from tienlen_env.games.common import cards, spec as S
from tienlen_env.games.common.arrays import ActionFields, IntArray, Output, Rewards, Row, Spec
from tienlen_env.games.common.facts import Fact, climbing_facts
from tienlen_env.games.common.legal import LegalKernels
from tienlen_env.games.common.spec import KernelTables
from tienlen_env.games.common.state import ClimbingState, Columns, GameState

if TYPE_CHECKING:
    Span = slice[int, int, None]


@runtime_checkable
class AnyRules(Protocol):
    """The rules of any game: a frozen dataclass with a field ``num_players``."""

    @property
    def num_players(self) -> int:
        """P."""

    @property
    def name(self) -> str:
        """The preset's name, or ``"custom-<digest>"``."""

    @property
    def target(self) -> int:
        """Target of a game of several rounds, in points; 0 for none."""

    def digest(self) -> str:
        """16 hex digits that name this variant."""

    def __hash__(self) -> int:
        """Tables are cached by rules."""


class ActionTable(Protocol):
    """The actions of one variant."""

    @property
    def num_actions(self) -> int:
        """A."""

    def text(self, action: int) -> str:
        """The name of an action.

        Raises:
            ValueError: not an action id.
        """

    def __hash__(self) -> int:
        """Data derived from a table is cached by the table."""


RulesT = TypeVar("RulesT", bound=AnyRules)
TableT = TypeVar("TableT", bound=ActionTable)
RulesT_contra = TypeVar("RulesT_contra", contravariant=True)


class SpecBuilder(Protocol[RulesT_contra]):
    """Flattens rules and settings for the kernels."""

    def __call__(
        self,
        rules: RulesT_contra,
        *,
        num_rounds: int = 1,
        reward: str = "points",
        auto_reset: bool = False,
        history: int = 0,
        history_length: int = 0,
    ) -> KernelTables:
        """Build ``(spec, actions)``; see `tienlen_env.games.common.spec`.

        Raises:
            ValueError: a setting that this game does not have.
        """


class Piece(NamedTuple):
    """One named piece of the observation.

    Attributes:
        name: its key in the `Layout`.
        slice: its position in the flat array.
        shape: the shape for ``reshape``.
        meaning: one line of description.
    """

    name: str
    slice: Span
    shape: tuple[int, ...]
    meaning: str


class Layout(dict[str, Piece]):
    """The pieces of an observation by name, in order; they fill the array without gaps.

    Args:
        parts: ``(name, shape, meaning)`` of each piece; pieces of size 0 are left out.

    Attributes:
        size: O, the length of the observation.
    """

    def __init__(self, parts: Iterable[tuple[str, tuple[int, ...], str]]) -> None:
        super().__init__()
        self.size = 0
        for name, shape, meaning in parts:
            start, self.size = self.size, self.size + prod(shape)
            if self.size > start:
                self[name] = Piece(name, slice(start, self.size), shape, meaning)


class Payment(NamedTuple):
    """What one seat pays another.

    Attributes:
        payer: the seat that pays.
        payee: the seat that gets it.
        amount: units, above 0.
        cause: a word for what it is paid.
    """

    payer: int
    payee: int
    amount: int
    cause: str


class PaymentReader(NamedTuple, Generic[RulesT]):
    """Reads the payments in the row of a game, for variants that have payments.

    Attributes:
        exist: ``(rules)``: whether this variant has payments.
        booked: ``(row, spec)``: the payments of the round that runs, or that ended in the last step.
        owed: ``(row, spec)``: what would be paid besides if the trick ended now.
        balances: ``(spec)``: first of the columns with what each seat has got in the game, less what it paid.
        forget: ``(rows, spec)``: forget the payments of a round that ended, in rows int64 (B, ROW).
    """

    exist: Callable[[RulesT], bool]
    booked: Callable[[Sequence[int], Spec], list[Payment]]
    owed: Callable[[Sequence[int], Spec], list[Payment]]
    balances: Callable[[Spec], int]
    forget: Callable[[IntArray, Spec], None]


class Kernels(NamedTuple):
    """The functions of a game that every backend runs: scalar, without allocation or exceptions.

    `row` is one game's state, `spec` and `actions` are its `KernelTables`; in compiled code these are int64
    arrays, in plain Python lists of ints.

    Attributes:
        begin_game: ``(row, spec, key, round, leader)``: deal a game anew; leader -1: by the rules.
        begin_round: ``(row, spec, leader)``: start a round of the hands in the row.
        update_legal: ``(row, spec, actions)``: write the packed legal-action mask of the seat to act.
        action_cards: ``(hand, actions, action)``: the cards that an action plays from a hand (mask).
        play: ``(row, spec, actions, action, cards, rewards)``: play a legal action, add its rewards.
        observe: ``(row, spec, actions, seat, out, start)``: write the observation of a seat.
        observe_all: ``(row, spec, actions, out, start)``: write the global observation.
        legal: the functions on the packed mask.
        can_play_cards: ``(row, spec, actions, action, cards)``: whether the seat to act may play a legal
            action with exactly these cards, given as any int64. None in a game whose actions play the cards
            of `action_cards` and no others.
        resample_hidden: ``(row, spec, seat, key)``: replace all that the seat cannot see by a uniform sample
            of what agrees with public information, drawn from a 64-bit key; None in a game without it.
            OpenSpiel calls it ``ResampleFromInfostate``. `update_legal` is due if another seat is to act.
    """

    begin_game: Callable[[Row, Spec, int, int, int], None]
    begin_round: Callable[[Row, Spec, int], None]
    update_legal: Callable[[Row, Spec, ActionFields], None]
    action_cards: Callable[[int, ActionFields, int], int]
    play: Callable[[Row, Spec, ActionFields, int, int, Rewards], None]
    observe: Callable[[Row, Spec, ActionFields, int, Output, int], None]
    observe_all: Callable[[Row, Spec, ActionFields, Output, int], None]
    legal: LegalKernels
    can_play_cards: Callable[[Row, Spec, ActionFields, int, int], bool] | None = None
    resample_hidden: Callable[[Row, Spec, int, int], None] | None = None


class Refusal(NamedTuple):
    """Why a play is not legal.

    Attributes:
        reason: a few words for people.
        clause: of RULES.md, for example ``"1.8"``; ``""`` if unknown.
    """

    reason: str
    clause: str = ""

    def __str__(self) -> str:
        return f"{self.reason}, {self.clause}" if self.clause else self.reason


def _no_reason(table: ActionTable, row: Sequence[int], action: int, cards: int | None = None) -> Refusal:
    return Refusal("not a legal action here" if cards is None else "not a legal action with these cards here")


def find_action(table: ActionTable, text: str) -> int:
    """The action of a name, as the table writes it.

    Raises:
        TienLenError: no such action.
    """
    for action in range(table.num_actions):
        if table.text(action) == text:
            return action
    raise TienLenError(f"{text!r} is not the name of an action")


@dataclass(frozen=True, eq=False, kw_only=True)
class GameText(Generic[RulesT, TableT]):
    """Texts of a game: parsers, names, reasons of errors.

    Attributes:
        why_refused: ``(table, row, action, cards)``: why a play is not legal; cards None: the lowest suits,
            else any number (`Kernels.can_play_cards`).
        describe: ``(table, row)``: the position of the seat to act in a few words.
        worst_reward: ``(rules, reward)``: the lowest possible reward of a round.
        parse_action: ``(table, text)``: the action of a text; raises `TienLenError` if there is none.
        parse_cards: the cards of a text, as a mask.
        format_cards: the text of a card mask, cards divided by blanks. A card is written as its rank and then
            a letter of ``scdh`` for its suit; a card without a suit has another end.
        play_text: ``(table, action, cards)``: the text of a play.
        facts: the public facts of a position; None: those of `climbing_facts` if the state is a
            `ClimbingState`, else none.
        unit: word for one round.
        causes: words for the causes of payments.
    """

    worst_reward: Callable[[RulesT, str], float]
    why_refused: Callable[[TableT, Sequence[int], int, int | None], Refusal] = _no_reason
    describe: Callable[[TableT, Sequence[int]], str] = lambda table, row: ""
    parse_action: Callable[[TableT, str], int] = find_action
    parse_cards: Callable[[str], int] = cards.parse_cards
    format_cards: Callable[[int], str] = cards.format_cards
    play_text: Callable[[TableT, int, int], str] = lambda table, action, cards: table.text(action)
    facts: tuple[Fact, ...] | None = None
    unit: str = "round"
    causes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class GameDefinition(Generic[RulesT, TableT]):
    """A game: its functions, tables and properties.

    Attributes:
        name: lower-case letters; records use it too.
        rules_type: the type of its rules.
        presets: its named variants; no two games share a name.
        rewards: its reward schemes, the first one being the default.
        columns: indices of the shared columns in its rows.
        state: the class of its named views, called with ``(rows, columns, P, W)``.
        kernels: its functions for the backends.
        build_spec: flattens a variant for the kernels.
        build_table: makes the action table of a variant.
        observation: ``(rules, history)``: the layout of the observation.
        global_observation_size: ``(rules, history)``: length of the output of ``kernels.observe_all``.
        text: texts and parsers.
        set_hands: ``(rows, rules, hands, extra, begin)``: check card masks, int64 (B, P), and int64 (B,) by
            each name of `extra_hands`; write them into the rows, int64 (B, ROW); call ``begin()``, which
            starts rounds of the hands in the rows. An impossible distribution of cards is a `TienLenError`,
            and the rows do not change. None: rounds cannot start from given hands.
        extra_hands: names of further sets of cards that `set_hands` takes.
        begin_hands: ``(row, spec, hands, leader)``, a kernel: `set_hands` for one row of zeros, for backends
            without NumPy. `hands` has the P hands, then those of `extra_hands`. Returns 0, or the number in
            `hand_faults` of what is impossible, and writes the cards and the number that it names to `hands`.
        hand_faults: sentences, the first one empty; ``{cards}``, ``{most}`` and ``{rules}`` are filled in.
        has_history: the last plays can be stored and shown.
        num_extra_columns: ``(rules)``: columns of the rows that this variant has more than others
            (`tienlen_env.games.common.state.Columns.num_extra`).
        payments: reads the payments of a row; None in a game without them.
        pays_late: ``(rules, reward)``: whether a seat that has its place may still get rewards in the round.
        max_decisions: ``(rules)``: a bound on the decisions of a round. A round that exceeds it is a fault of
            the game: it is ended with an error.
    """

    name: str
    rules_type: type[RulesT]
    presets: Mapping[str, RulesT]
    rewards: tuple[str, ...]
    columns: Columns
    kernels: Kernels
    build_spec: SpecBuilder[RulesT]
    build_table: Callable[[RulesT], TableT]
    observation: Callable[[RulesT, int], Layout]
    global_observation_size: Callable[[RulesT, int], int]
    text: GameText[RulesT, TableT]
    state: Callable[[IntArray, Columns, int, int], GameState] = GameState
    set_hands: (
        Callable[[IntArray, RulesT, IntArray, Mapping[str, IntArray], Callable[[], None]], None] | None
    ) = None
    extra_hands: tuple[str, ...] = ()
    begin_hands: Callable[[Row, Spec, Row, int], int] | None = None
    hand_faults: tuple[str, ...] = ()
    has_history: bool = False
    num_extra_columns: Callable[[RulesT], int] = lambda rules: 0
    payments: PaymentReader[RulesT] | None = None
    pays_late: Callable[[RulesT, str], bool] = lambda rules, reward: False
    max_decisions: Callable[[RulesT], int] = lambda rules: 10_000

    @property
    def has_card_choice(self) -> bool:
        """Whether an action stands for several sets of cards, so that players may choose the cards."""
        return self.kernels.can_play_cards is not None

    def state_of(self, rows: IntArray, rules: RulesT, num_words: int) -> GameState:
        """Named live views of the columns of rows of a variant.

        Args:
            rows: int64 (n, ROW).
            rules: the variant.
            num_words: W, words of its packed mask.
        """
        columns = self.columns._replace(num_extra=self.num_extra_columns(rules))
        return self.state(rows, columns, rules.num_players, num_words)

    def facts(self, rules: RulesT, spec: Spec) -> tuple[Fact, ...]:
        """The public facts of a position under these rules, `spec` being theirs."""
        if self.text.facts is not None:
            return self.text.facts
        # If every column of a row holds its own index, the views are the indices of their columns.
        probe = self.state_of(np.arange(spec[S.ROW_SIZE])[None], rules, int(spec[S.NUM_WORDS]))
        if not isinstance(probe, ClimbingState):
            return ()
        table, owner, passed = (int(column[0]) for column in (probe.table_cards, probe.owner, probe.passed))
        return climbing_facts(table, owner, passed, self.columns.played)

    def check_decisions(self, rules: RulesT, num_decisions: int, who: str = "") -> None:
        """Refuse a round that does not end.

        Args:
            rules: the variant.
            num_decisions: the decisions of a round that is not over.
            who: the players, for the message.

        Raises:
            TienLenError: more than `max_decisions`.
        """
        if num_decisions > (bound := self.max_decisions(rules)):
            players = f" between {who}" if who else ""
            raise TienLenError(f"a round of {self.name}{players} does not end within {bound} decisions")


AnyGame = GameDefinition[AnyRules, ActionTable]
