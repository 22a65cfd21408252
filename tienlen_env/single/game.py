"""A game: rounds to the target (RULES.md 1.12, 8.9), or an agreed number of them (6.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from tienlen_env.engine.backends import BackendName
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import rounds_of
from tienlen_env.games.registry import get_rules, has_payments
from tienlen_env.single.base import ROUNDS, AnyPlay, AnyRound, game_of_line, round_type
from tienlen_env.single.standing import winner_of


def _total(amounts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*amounts, strict=True)))


class Game:
    """Rounds of one game. In Tiến lên the winner leads the next, in Thirteens the deal moves to the left.

    Args:
        rules: a preset's name or the rules of any game.
        key: 64-bit key of all its deals; None draws one.
        num_players: P; None keeps the number in `rules`.
        num_rounds: an agreed number of rounds, whatever the target is; 0: no end but by `end`; None: as the
            rules say, to their target, or one round without a target.
        backend: ``"native"``, ``"numba"`` or ``"python"``.

    Attributes:
        round: the round in play, or the last one when the game is over: a `Round`, a `ThirteensRound`, or a
            `BaseRound` of another game.
        records: the lines of the finished rounds.
        num_rounds: as given.
        is_ended: whether `end` has ended it.

    Raises:
        ValueError: an invalid number of rounds.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        num_rounds: int | None = None,
        backend: BackendName = "native",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        rounds_of("game", num_rounds, self.rules.target)
        self.num_rounds = num_rounds
        self.is_ended = False
        self.round: AnyRound = round_type(self.rules)(self.rules, key, backend=backend)
        self.records: list[str] = []
        self._finished: list[AnyRound] = []
        self._backend: BackendName = backend

    @property
    def key(self) -> int | None:
        """The key of all deals."""
        return self.round.key

    @property
    def _rounds(self) -> list[AnyRound]:
        """The finished rounds, and the one in play if one is."""
        is_over = self._finished and self.round is self._finished[-1]
        return [*self._finished] if is_over else [*self._finished, self.round]

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of each seat in the game, with the points of the running round that are certain."""
        return _total(played.scores for played in self._rounds)

    @property
    def balances(self) -> tuple[int, ...]:
        """Units that each seat has got in the game less those that it has paid."""
        return _total(played.balances for played in self._rounds)

    @property
    def turn(self) -> int:
        """The seat to act; -1 when the game is over."""
        return self.round.turn

    @property
    def is_over(self) -> bool:
        """Whether all rounds are played: the target is reached by one seat alone, or `num_rounds` are."""
        if not self._finished or self.is_ended:
            return self.is_ended
        totals = _total(played.scores for played in self._finished)
        num_rounds = rounds_of("game", self.num_rounds, self.rules.target)
        reached = max(totals) >= self.rules.target and totals.count(max(totals)) == 1
        return len(self._finished) >= num_rounds if num_rounds else reached

    @property
    def winner(self) -> int | None:
        """The best seat once the game is over; None before, and if several are equal.

        The highest total wins; after an agreed number of rounds with payments, the most units.
        """
        if not self.is_over:
            return None
        is_for_units = self.num_rounds is not None and has_payments(self.rules)
        totals, units = self.scores, self.balances
        found = winner_of(totals, totals, units, len(totals), True, is_for_units)
        return None if found < 0 else found

    def end(self) -> None:
        """End a game between two rounds, as its players agree; the round that was dealt is taken away.

        Raises:
            TienLenError: no round is finished, or the next one has begun.
        """
        if not self._finished or (self.round.plays and not self.is_over):
            raise TienLenError("a game can be ended between two rounds only")
        self.is_ended = True
        self.round = self._finished[-1]

    def legal_plays(self, *, exact: bool = False) -> list[AnyPlay]:
        """See `BaseRound.legal_plays`."""
        return self.round.legal_plays(exact=exact)

    def legal_actions(self) -> list[int]:
        """See `BaseRound.legal_actions`."""
        return self.round.legal_actions()

    def play(self, move: AnyPlay | int | str) -> None:
        """See `BaseRound.play`; the next round is dealt as soon as one is over."""
        self.round.play(move)
        self._deal_next()

    def pass_(self) -> None:
        """See `BaseRound.pass_`; the next round is dealt as soon as one is over."""
        self.round.pass_()
        self._deal_next()

    def _deal_next(self) -> None:
        if not self.round.is_over:
            return
        self._finished.append(self.round)
        self.records.append(self.round.record())
        self._go_on(self.num_rounds)

    def _go_on(self, num_rounds: int | None) -> None:
        """Deal the next round of a game of N rounds, if there is one."""
        self.num_rounds = num_rounds
        if not self.is_over:
            self.round = type(self.round)(
                self.rules,
                self.round.key,
                round_index=len(self.records),
                leader=self.round.next_leader,
                backend=self._backend,
            )

    def undo(self) -> AnyPlay:
        """Take the last play back, that of the previous round if this one has no play.

        Returns:
            The play.

        Raises:
            TienLenError: nothing has been played.
        """
        if not self._finished and not self.round.plays:
            raise TienLenError("there is nothing to undo: nothing has been played")
        if self._finished and (self.round is self._finished[-1] or not self.round.plays):
            self.round = self._finished.pop().copy()  # a copy of the game may share it
            self.records.pop()
            self.is_ended = False
        play: AnyPlay = self.round.undo()
        return play

    def copy(self) -> Self:
        """An independent game in the same position."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.records, new._finished = self.records.copy(), self._finished.copy()
        if new._finished and new.round is new._finished[-1]:
            new.round = new._finished[-1] = self.round.copy()
        else:
            new.round = self.round.copy()
        return new

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def record(self) -> str:
        """The game so far, one line per round."""
        lines = self.records if self.is_over else [*self.records, self.round.record()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_record(
        cls,
        text: str,
        rules: AnyRules | None = None,
        *,
        num_rounds: int | None = None,
        backend: BackendName = "native",
    ) -> Self:
        """Read the lines that `record` wrote and play them through.

        The last line of a game that goes on is that of its running round. So if the last round is finished,
        the game is over: it had as many rounds as there are lines, unless it is over by its rules.

        Args:
            text: one line per round.
            rules: the variant, needed if the lines have only its digest.
            num_rounds: of the game; None: as the lines say.
            backend: ``"native"``, ``"numba"`` or ``"python"``.

        Raises:
            NotationError: a line that cannot be read, or a round that is not the game's next; the message
                names the line.
        """
        new: Self | None = None
        lines = text.splitlines() if isinstance(text, str) else [text]
        for number, line in enumerate(lines, 1):
            try:
                played = ROUNDS.named(game_of_line(line).name).from_record(line, rules, backend=backend)
                if new is None:
                    new = cls(played.rules, played.key, num_rounds=num_rounds, backend=backend)
                elif new.is_over and num_rounds is None and new.num_rounds is None:
                    new._go_on(len(lines))
                if new.is_over or (played.rules, played.key, played.round_index, played.leader) != (
                    new.rules,
                    new.round.key,
                    new.round.round_index,
                    new.round.leader,
                ):
                    raise NotationError("this is not the game's next round", 1)
                for play in played.plays:
                    new.play(play)
            except NotationError as error:
                raise NotationError(f"line {number}: {error.args[0]}", error.column) from error
        if new is None:
            raise NotationError("no rounds", 1)
        if num_rounds is None and len(new.records) == len(lines) and not new.is_over:
            new.num_rounds, new.round = len(lines), new._finished[-1]
        return new
