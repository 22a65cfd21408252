"""The words of Tiến lên: a terminal's, the fields of PROTOCOL.md (version 1), cards that people pick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from tienlen_agents.search.tienlen_determinizations import action_of
from tienlen_agents.words import (
    GameWords,
    HardPosition,
    Message,
    Move,
    PaymentColumns,
    Request,
    subject,
    symbols,
)
from tienlen_env.engine.view import View
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.arrays import ActionFields, Spec
from tienlen_env.games.common.bits import highest_index, popcount
from tienlen_env.games.common.cards import format_cards, parse_cards
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import ActionTable, AnyRules, Refusal
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.actions import (
    PASS,
    TienlenActionTable,
    build_action_table,
    kind_name,
)
from tienlen_env.games.tienlen.explain import DECLARING, DESCRIPTION, EMPTY, MUST_DECLARE, REASONS, reason
from tienlen_env.games.tienlen.notation import DECLARE_TEXT, PASS_TEXT
from tienlen_env.games.tienlen.payments import CAUSES
from tienlen_env.games.tienlen.rules import MAX_CARDS_EACH, PRESETS, Rules, Shape, get_rules
from tienlen_env.rendering.view import PLACE_TEXT, plural
from tienlen_env.single.base import AnyPlay, AnyRound

# The fields of a `play` message, in their order.
_WORDS: Final = (
    *("seat", "hand", "table", "owner", "must", "passed"),
    *("counts", "played", "places", "scores", "legal"),
)

POSITIONS: Final = (
    HardPosition(
        "the opening play contains the lowest card",
        "cardgames",
        ("3s 4c 4d 9h 2s", "3c 5d", "5s 6h", "7s Jd"),
        -1,
    ),
    HardPosition("a free lead, with tens", "cardgames", ("Ts Tc Td", "4s", "5s 5h", "Th Js"), 0),
    HardPosition("a lead with the last card", "cardgames", ("2h", "4s", "5s", "6s"), 0),
    HardPosition(
        "a pair is followed by a pair", "cardgames", ("5s 5h 9c", "6s 7c 8d 8h", "4s", "3s"), 0, ("5s 5h",)
    ),
    HardPosition("a pass is the only play", "cardgames", ("Ah 4s", "3s 5c", "6s", "7s"), 0, ("Ah",)),
    HardPosition(
        "four of a kind may go on a 2", "cardgames", ("2s 4s", "6s 6c 6d 6h", "5s 5c", "7s"), 0, ("2s",)
    ),
    HardPosition(
        "five pairs in a row may go on three 2s",
        "cardgames",
        ("2s 2c 2d 3s", "4s 4c 5s 5c 6s 6c 7s 7c 8s 8c", "9s"),
        0,
        ("2s 2c 2d",),
    ),
    HardPosition("two players, others gone", "cardgames", ("9s Kd", "Jc Qh"), 0, ("9s",)),
    HardPosition(
        "a suited run is followed by suited runs",
        "foicica",
        ("3s 4s 9h", "5d 6c 7h 8h", "Js Jd", "Qs"),
        0,
        ("3s 4s",),
    ),
    HardPosition(
        "a bomb may be played after a pass",
        "foicica",
        ("4h 9s 2h", "3s 3c 4s 4d 5s 5d Kc", "9d Jd", "Th Tc Qs"),
        0,
        ("4h", "", "9d", "", "2h"),
    ),
    HardPosition("a run up to a 2", "pagat", ("Qs Kd Ac 2h 3d", "4s", "5s"), 0),
    *(
        HardPosition("an instant win", name, ("2s 2c 2d 2h 5c", "3s 4c 5d 6h", "7s 8d"), -1)
        for name, rules in PRESETS.items()
        if rules.instant_wins
    ),
    HardPosition("a small deck", "mini", ("3c 4s 2s", "3s 5c 2c"), 1, ("3s",)),
    HardPosition("four 2s of a small deck", "small", ("2s 2c 2d 2h", "3s 4s 4c 4d"), -1, ("3s",)),
)


def _plain(value: Any) -> Json:
    """A field of `Rules` as JSON: shapes as texts, tuples as lists."""
    if isinstance(value, Shape):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def find_action(spec: Spec, actions: ActionFields, cards: int) -> int:
    """The action of exactly these cards, -1 if they are not a combination.

    The suits of inner cards are free, but where suits bind an action is a set of cards.
    """
    if cards == 0:
        return 0
    width = popcount(cards & 15 << (highest_index(cards) & ~3))
    if popcount(cards) % width != 0:
        return -1
    action = action_of(spec, cards)
    if action < 0 or action >= spec[S.NUM_ACTIONS]:
        return -1
    at = action * S.ACTION_FIELDS
    is_same_size = popcount(cards) == actions[at + S.WIDTH] * actions[at + S.LENGTH]
    return action if is_same_size and kernels.action_cards(cards, actions, action) == cards else -1


def can_extend(actions: ActionFields, action: int, cards: int, selected: int) -> bool:
    """Whether some cards of an action contain the selected ones and more; see `find_action` for the suits.

    Args:
        actions: the action table.
        action: a legal action.
        cards: its cards with the lowest suits.
        selected: cards of the same hand.
    """
    at = action * S.ACTION_FIELDS
    if popcount(selected) >= popcount(cards):
        return False
    if actions[at + S.SUITED] > 2:
        return selected & ~cards == 0  # where suits bind, an action is exact cards
    top = actions[at + S.TOP]
    if selected >> top > 1:  # a higher card
        return False
    rest = selected
    while rest != 0:
        of_rank = 15 << (highest_index(rest) & ~3)
        room = popcount(cards & of_rank)
        if of_rank >> top & 1 and not selected >> top & 1:
            room -= 1  # the top card goes along
        if popcount(rest & of_rank) > room:
            return False
        if actions[at + S.SUITED] == 2 and rest & of_rank & ~cards != 0:
            return False
        rest &= ~of_rank
    return True


class TienLenWords(GameWords):
    """See `GameWords`."""

    help = """\
  3s 3h   play these cards: ranks 3456789TJQKA2, suits s c d h (♠ < ♣ < ♦ < ♥)
  7       play number 7 of the list
  p       pass
  declare an instant win, where the rules have them
"""
    hint = "greedy_long"
    opponent = "heuristic"
    named = ("game", "seat", "table", "hand")
    positions = POSITIONS
    result_column = R.PLACE
    find_action = staticmethod(find_action)
    can_extend = staticmethod(can_extend)
    reason = staticmethod(reason)
    reasons = REASONS
    position = DESCRIPTION, EMPTY, DECLARING
    reason_columns = R.REQUIRED_CARD, R.TABLE

    def choices(self, played: AnyRound) -> list[AnyPlay]:
        """See `GameWords.choices`; the pass has no number."""
        return [play for play in played.legal_plays() if play.action != PASS]

    def kind(self, played: AnyRound, play: AnyPlay) -> str:
        """See `GameWords.kind`."""
        table = build_action_table(played.rules)
        return "instant win" if play.action == table.declare else kind_name(table.shape(play.action))

    def shown(self, played: AnyRound, play: AnyPlay) -> str:
        """See `GameWords.shown`."""
        return "pass" if play.action == PASS else symbols(format_cards(play.cards)) or DECLARE_TEXT

    def is_forced_pass(self, played: AnyRound) -> bool:
        """See `GameWords.is_forced_pass`."""
        return played.legal_actions() == [PASS]

    def parse_typed(self, played: AnyRound, typed: str) -> Move:
        """See `GameWords.parse_typed`."""
        return PASS_TEXT if typed == "p" else typed

    def listing(self, played: AnyRound) -> Iterator[str]:
        """See `GameWords.listing`."""
        yield from super().listing(played)
        if PASS in played.legal_actions():
            yield "  p: pass"

    def advice(self, played: AnyRound, play: AnyPlay) -> str:
        """See `GameWords.advice`."""
        return f"play {self.shown(played, play)}" if play.cards else self.shown(played, play)

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: AnyPlay) -> str:
        """See `GameWords.report`."""
        name = names[seat]
        if play.action == PASS:
            return subject(name, "pass")
        if not play.cards:
            return f"{subject(name, 'declare')} an instant win"
        text = f"{subject(name, 'play')} {self.shown(played, play)}"
        place, left = played.places[seat], int(played.hand(seat)).bit_count()
        if place is not None:
            text += f" and {'are' if name == 'you' else 'is'} out: {PLACE_TEXT[place]}"
        elif left <= 3:
            text += f", {plural(left, 'card')} left"
        return text

    def rule_fields(self, rules: AnyRules) -> dict[str, Json]:
        """See `GameWords.rule_fields`."""
        variant = cast(Rules, rules)
        fields = {name: _plain(value) for name, value in variant.settings().items()}
        return {
            "name": variant.name,
            "digest": variant.digest(),
            "points": list(variant.place_points),
            "fields": fields,
        }

    def message_fields(self, position: Message) -> dict[str, Json]:
        """See `GameWords.message_fields`."""
        return {word: position[word] for word in _WORDS}

    def tables(self, rules: AnyRules) -> list[tuple[str, AnyRules]]:
        """See `GameWords.tables`: presets, small decks, fewer players, the largest hands."""
        few = [("cardgames", get_rules("cardgames", num_players)) for num_players in (3, 2)]
        large = replace(get_rules("cardgames", 3), cards_each=MAX_CARDS_EACH)
        return [*super().tables(rules), *few, (f"cardgames with {MAX_CARDS_EACH} cards each", large)]

    def read_answer(self, request: Request, answer: str, rules: AnyRules) -> tuple[int, int]:
        """See `GameWords.read_answer`: any set of cards, not only those of ``legal``; no cards are a pass."""
        table = build_action_table(cast(Rules, rules))
        if answer == DECLARE_TEXT and table.declare is not None:
            return table.declare, 0
        if table.declare in request.actions:  # then nothing else is legal, whatever the answer says
            raise TienLenError(str(Refusal(*REASONS[MUST_DECLARE])))
        mask = parse_cards(answer)
        return table.classify(mask), mask

    def deal_ids(self, view: View) -> Sequence[object]:
        """See `GameWords.deal_ids`: the 13 cards dealt to the player."""
        dealt: list[int] = (view.hand | view.played[:, 0]).tolist()
        return dealt

    def record_plays(self, rules: AnyRules, table: ActionTable) -> None:
        """See `GameWords.record_plays`: cards."""

    def named_plays(self, rules: AnyRules, table: ActionTable) -> dict[int, str]:
        """See `GameWords.named_plays`: the declaration of an instant win, under rules that have them."""
        declare = cast(TienlenActionTable, table).declare
        return {} if declare is None else {declare: DECLARE_TEXT}

    def shapes(self, table: ActionTable) -> list[str]:
        """See `GameWords.shapes`."""
        combinations = cast(TienlenActionTable, table)
        none = (PASS, combinations.declare)
        found = [None if a in none else combinations.shape(a) for a in range(table.num_actions)]
        return ["" if one is None else f"{one} {one.num_cards} {kind_name(one)}" for one in found]

    def no_combination(self, rules: AnyRules) -> str:
        """See `GameWords.no_combination`."""
        return str(build_action_table(cast(Rules, rules))._not_a_combination(0))

    def payment_columns(self, rules: AnyRules, spec: Sequence[int]) -> PaymentColumns | None:
        """See `GameWords.payment_columns`."""
        if not cast(Rules, rules).has_payments:
            return None
        extra = int(spec[S.EXTRA])
        fields = {
            "payer": (0, 2), "payee": (2, 2), "cause": (R.CAUSE_SHIFT, 4), "amount": (R.AMOUNT_SHIFT, 0),
        }  # fmt: skip
        return PaymentColumns(extra + R.LEDGER, extra + R.NUM_BOOKED, fields, CAUSES)

    def next_leader(self, rules: AnyRules) -> bool:
        """See `GameWords.next_leader`."""
        return cast(Rules, rules).opening != "every"


WORDS: Final = TienLenWords()
