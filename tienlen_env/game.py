"""A game: rounds until one total reaches the target (RULES.md 1.12)."""

from __future__ import annotations

from typing import Self

from tienlen_env.core.rules import Rules, get_rules
from tienlen_env.engine import BackendName
from tienlen_env.errors import NotationError
from tienlen_env.round import Play, Round


class Game:
    """Rounds to the target, the winner of each leading the next (RULES.md 1.4, 1.12).

    Args:
        rules: a preset's name or a `Rules`; without a target a game is one round.
        key: 64-bit key of all its deals; None draws one.
        num_players: 2..4; None keeps the number in `rules`.
        backend: ``"numba"`` or ``"python"``.

    Attributes:
        round: the `Round` in play, or the last one when the game is over.
        records: the lines of the finished rounds.
    """

    def __init__(
        self,
        rules: str | Rules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        backend: BackendName = "numba",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        self.round = Round(self.rules, key, backend=backend)
        self.records: list[str] = []
        self._totals = (0,) * self.rules.num_players
        self._backend: BackendName = backend

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of each seat in the game, those of the running round included as places settle."""
        if self.is_over:
            return self._totals
        return tuple(a + b for a, b in zip(self._totals, self.round.scores, strict=True))

    @property
    def is_over(self) -> bool:
        """Whether the highest total has reached the target and is unique, or there is no target."""
        if not self.records:
            return False
        best = max(self._totals)
        return not self.rules.target or (best >= self.rules.target and self._totals.count(best) == 1)

    @property
    def winner(self) -> int | None:
        """The seat with the highest total once the game is over, else None."""
        return self._totals.index(max(self._totals)) if self.is_over else None

    def legal_plays(self, *, exact: bool = False) -> list[Play]:
        """See `Round.legal_plays`."""
        return self.round.legal_plays(exact=exact)

    def play(self, cards: str | int) -> None:
        """See `Round.play`; the next round is dealt as soon as one is over."""
        self.round.play(cards)
        if self.round.is_over:
            self.records.append(self.round.record())
            self._totals = tuple(a + b for a, b in zip(self._totals, self.round.scores, strict=True))
            if not self.is_over:
                self.round = Round(
                    self.rules,
                    self.round.key,
                    round_index=len(self.records),
                    leader=None if self.rules.opening == "every" else self.round.places.index(0),
                    backend=self._backend,
                )

    def pass_(self) -> None:
        """See `Round.pass_`."""
        self.play(0)

    def record(self) -> str:
        """The game so far, one line a round."""
        lines = self.records if self.is_over else [*self.records, self.round.record()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_record(cls, text: str, rules: Rules | None = None, *, backend: BackendName = "numba") -> Self:
        """Read the lines that `record` wrote and play them through.

        Raises:
            NotationError: a line that cannot be read, or that is not the round which the game has next; the
                message names the line.
        """
        new: Self | None = None
        for number, line in enumerate(text.splitlines() if isinstance(text, str) else [text], 1):
            try:
                played = Round.from_record(line, rules, backend=backend)
                if new is None:
                    new = cls(played.rules, played.key, backend=backend)
                if new.is_over or (played.rules, played.key, played.round_index, played.leader) != (
                    new.rules,
                    new.round.key,
                    new.round.round_index,
                    new.round.leader,
                ):
                    raise NotationError("this is not the game's next round", 1)
                for play in played._plays:
                    new.play(play)
            except NotationError as error:
                raise NotationError(f"line {number}: {error.args[0]}", error.column) from error
        if new is None:
            raise NotationError("no rounds", 1)
        return new
