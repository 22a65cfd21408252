"""A game: rounds until one total reaches the target (RULES.md 1.12, 8.9)."""

from __future__ import annotations

from typing import Self

from tienlen_env.engine.backends import BackendName
from tienlen_env.errors import NotationError, TienLenError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import get_rules
from tienlen_env.single.base import AnyRound, Play, game_of_line, round_type, round_type_of


class Game:
    """Rounds to the target. In Tiến lên the winner leads the next, in Thirteens the deal moves to the left.

    Args:
        rules: a preset's name or the rules of any game; without a target a game is one round.
        key: 64-bit key of all its deals; None draws one.
        num_players: P; None keeps the number in `rules`.
        backend: ``"native"``, ``"numba"`` or ``"python"``.

    Attributes:
        round: the round in play, or the last one when the game is over: a `Round`, a `Deal`, or a `BaseRound`
            of another game.
        records: the lines of the finished rounds.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        backend: BackendName = "native",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        self.round: AnyRound = round_type(self.rules)(self.rules, key, backend=backend)
        self.records: list[str] = []
        self._finished: list[AnyRound] = []
        self._backend: BackendName = backend

    @property
    def key(self) -> int | None:
        """The key of all deals."""
        return self.round.key

    @property
    def _totals(self) -> tuple[int, ...]:
        """Points of the finished rounds, by seat."""
        rounds = [played.scores for played in self._finished]
        return tuple(map(sum, zip(*rounds, strict=True))) if rounds else (0,) * self.rules.num_players

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of each seat in the game, with the points of the running round that are certain."""
        totals = self._totals
        if self._finished and self.round is self._finished[-1]:
            return totals
        return tuple(a + b for a, b in zip(totals, self.round.scores, strict=True))

    @property
    def current_seat(self) -> int:
        """The seat to act; -1 when the game is over."""
        return self.round.current_seat

    @property
    def is_over(self) -> bool:
        """Whether the highest total has reached the target and is unique, or there is no target."""
        if not self._finished:
            return False
        totals = self._totals
        best = max(totals)
        return not self.rules.target or (best >= self.rules.target and totals.count(best) == 1)

    @property
    def winner(self) -> int | None:
        """The seat with the highest total once the game is over, else None."""
        return self._totals.index(max(self._totals)) if self.is_over else None

    def legal_plays(self, *, exact: bool = False) -> list[Play]:
        """See `BaseRound.legal_plays`."""
        return self.round.legal_plays(exact=exact)

    def legal_actions(self) -> list[int]:
        """See `BaseRound.legal_actions`."""
        return self.round.legal_actions()

    def play(self, move: Play | int | str) -> None:
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
        if not self.is_over:
            self.round = type(self.round)(
                self.rules,
                self.round.key,
                round_index=len(self.records),
                leader=self.round.next_leader,
                backend=self._backend,
            )

    def undo(self) -> Play:
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
        play: Play = self.round.undo()
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
        cls, text: str, rules: AnyRules | None = None, *, backend: BackendName = "native"
    ) -> Self:
        """Read the lines that `record` wrote and play them through.

        Args:
            text: one line per round.
            rules: the variant, needed if the lines have only its digest.
            backend: ``"native"``, ``"numba"`` or ``"python"``.

        Raises:
            NotationError: a line that cannot be read, or a round that is not the game's next; the message
                names the line.
        """
        new: Self | None = None
        for number, line in enumerate(text.splitlines() if isinstance(text, str) else [text], 1):
            try:
                played = round_type_of(game_of_line(line).name).from_record(line, rules, backend=backend)
                if new is None:
                    new = cls(played.rules, played.key, backend=backend)
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
        return new
