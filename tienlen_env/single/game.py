"""A game: rounds until one total reaches the target (RULES.md 1.12, 8.9)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Self

from tienlen_env.engine.batch import BackendName
from tienlen_env.errors import NotationError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules
from tienlen_env.games.thirteens import notation as thirteens
from tienlen_env.single.thirteens import Deal
from tienlen_env.single.tienlen import Round

ROUNDS: Final = MappingProxyType({"tienlen": Round, "thirteens": Deal})  # one round of each game


class Game:
    """Rounds to the target: in Tiến lên the winner leads the next, in Thirteens the deal passes to the left.

    Args:
        rules: a preset's name or the rules of any game; without a target a game is one round.
        key: 64-bit key of all its deals; None draws one.
        num_players: P; None keeps the number in `rules`.
        backend: ``"numba"`` or ``"python"``.

    Attributes:
        round: the `Round`, or the `Deal` of Thirteens, in play, or the last one when the game is over.
        records: the lines of the finished rounds.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        backend: BackendName = "numba",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        self.round: Any = ROUNDS[game_of(self.rules).name](self.rules, key, backend=backend)  # type: ignore[arg-type]
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

    def legal_plays(self, **options: Any) -> list[Any]:
        """See `Round.legal_plays` and `Deal.legal_plays`."""
        plays: list[Any] = self.round.legal_plays(**options)
        return plays

    def play(self, cards: str | int) -> None:
        """See `Round.play` and `Deal.play`; the next round is dealt as soon as one is over."""
        self.round.play(cards)
        if self.round.is_over:
            self.records.append(self.round.record())
            self._totals = tuple(a + b for a, b in zip(self._totals, self.round.scores, strict=True))
            if not self.is_over:
                self.round = type(self.round)(
                    self.rules,
                    self.round.key,
                    round_index=len(self.records),
                    leader=self.round.next_leader,
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
    def from_record(cls, text: str, rules: Any = None, *, backend: BackendName = "numba") -> Self:
        """Read the lines that `record` wrote and play them through.

        Raises:
            NotationError: a line that cannot be read, or that is not the round which the game has next; the
                message names the line.
        """
        new: Self | None = None
        for number, line in enumerate(text.splitlines() if isinstance(text, str) else [text], 1):
            try:
                is_deal = isinstance(line, str) and line.split()[:1] == [thirteens.FORMAT]
                played: Any = (Deal if is_deal else Round).from_record(line, rules, backend=backend)
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
