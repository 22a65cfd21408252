"""The words of Tiến lên: a terminal's, and cards that people pick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from tienlen_agents.search.tienlen_determinizations import action_of
from tienlen_env.games.common.arrays import ActionFields, Spec
from tienlen_env.games.common.bits import highest_index, popcount
from tienlen_env.games.common.cards import format_cards
from tienlen_env.games.common.game import ActionTable, AnyRules
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.actions import (
    PASS,
    TienlenActionTable,
    build_action_table,
    kind_name,
)
from tienlen_env.games.tienlen.explain import DECLARING, DESCRIPTION, EMPTY, REASONS, reason
from tienlen_env.games.tienlen.notation import DECLARE_TEXT, PASS_TEXT
from tienlen_env.games.tienlen.payments import CAUSES
from tienlen_env.games.tienlen.rules import Rules
from tienlen_env.rendering.view import PLACE_TEXT, plural
from tienlen_env.single.base import AnyPlay, AnyRound
from tienlen_table.words import Move, PaymentColumns, TableWords, subject, symbols


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


class TienLenTableWords(TableWords):
    """See `TableWords`."""

    help = """\
  3s 3h   play these cards: ranks 3456789TJQKA2, suits s c d h (♠ < ♣ < ♦ < ♥)
  7       play number 7 of the list
  p       pass
  declare an instant win, where the rules have them
"""
    hint = "greedy_long"
    opponent = "heuristic"
    result_column = R.PLACE
    find_action = staticmethod(find_action)
    can_extend = staticmethod(can_extend)
    reason = staticmethod(reason)
    reasons = REASONS
    position = DESCRIPTION, EMPTY, DECLARING
    reason_columns = R.REQUIRED_CARD, R.TABLE

    def choices(self, played: AnyRound) -> list[AnyPlay]:
        """See `TableWords.choices`; the pass has no number."""
        return [play for play in played.legal_plays() if play.action != PASS]

    def kind(self, played: AnyRound, play: AnyPlay) -> str:
        """See `TableWords.kind`."""
        table = build_action_table(played.rules)
        return "instant win" if play.action == table.declare else kind_name(table.shape(play.action))

    def shown(self, played: AnyRound, play: AnyPlay) -> str:
        """See `TableWords.shown`."""
        return "pass" if play.action == PASS else symbols(format_cards(play.cards)) or DECLARE_TEXT

    def is_forced_pass(self, played: AnyRound) -> bool:
        """See `TableWords.is_forced_pass`."""
        return played.legal_actions() == [PASS]

    def parse_typed(self, played: AnyRound, typed: str) -> Move:
        """See `TableWords.parse_typed`."""
        return PASS_TEXT if typed == "p" else typed

    def listing(self, played: AnyRound) -> Iterator[str]:
        """See `TableWords.listing`."""
        yield from super().listing(played)
        if PASS in played.legal_actions():
            yield "  p: pass"

    def advice(self, played: AnyRound, play: AnyPlay) -> str:
        """See `TableWords.advice`."""
        return f"play {self.shown(played, play)}" if play.cards else self.shown(played, play)

    def report(self, played: AnyRound, seat: int, names: Sequence[str], play: AnyPlay) -> str:
        """See `TableWords.report`."""
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

    def record_plays(self, rules: AnyRules, table: ActionTable) -> None:
        """See `TableWords.record_plays`: cards."""

    def named_plays(self, rules: AnyRules, table: ActionTable) -> dict[int, str]:
        """See `TableWords.named_plays`: the declaration of an instant win, under rules that have them."""
        declare = cast(TienlenActionTable, table).declare
        return {} if declare is None else {declare: DECLARE_TEXT}

    def shapes(self, table: ActionTable) -> list[str]:
        """See `TableWords.shapes`."""
        combinations = cast(TienlenActionTable, table)
        none = (PASS, combinations.declare)
        found = [None if a in none else combinations.shape(a) for a in range(table.num_actions)]
        return ["" if one is None else f"{one} {one.num_cards} {kind_name(one)}" for one in found]

    def no_combination(self, rules: AnyRules) -> str:
        """See `TableWords.no_combination`."""
        return str(build_action_table(cast(Rules, rules))._not_a_combination(0))

    def payment_columns(self, rules: AnyRules, spec: Sequence[int]) -> PaymentColumns | None:
        """See `TableWords.payment_columns`."""
        if not cast(Rules, rules).has_payments:
            return None
        extra = int(spec[S.EXTRA])
        fields = {
            "payer": (0, 2), "payee": (2, 2), "cause": (R.CAUSE_SHIFT, 4), "amount": (R.AMOUNT_SHIFT, 0),
        }  # fmt: skip
        return PaymentColumns(extra + R.LEDGER, extra + R.NUM_BOOKED, fields, CAUSES)

    def next_leader(self, rules: AnyRules) -> bool:
        """See `TableWords.next_leader`."""
        return cast(Rules, rules).opening != "every"


TABLE_WORDS: Final = TienLenTableWords()
