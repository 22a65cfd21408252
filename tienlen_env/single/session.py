"""`Session`: any game with people, agents and programs in its seats.

A session has the current seat, the information of each seat, the legal plays, and the result. The terminal
uses it; a server with a page in a browser can use it too, because `Session.view` returns JSON values.
"""

from __future__ import annotations

import numpy as np

from tienlen_env.engine.agent import Agent, choose_cards
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.variant import Settings
from tienlen_env.engine.view import View
from tienlen_env.errors import IllegalPlayError, TienLenError
from tienlen_env.games.common.facts import Json
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.state import ClimbingState
from tienlen_env.games.registry import game_of, get_rules, main_reward
from tienlen_env.single.base import AnyPlay, AnyRound, Facts, round_type
from tienlen_env.single.game import Game
from tienlen_env.single.messages import positions
from tienlen_env.single.standing import winner_of


class Session:
    """One game, or one round of it.

    The session stores the game twice: as a `Game` or one round, which explains illegal plays and writes the
    record, and as a `Batch`, which agents read.

    Args:
        rules: a preset's name or the rules of any game.
        key: 64-bit key of the deals; None draws one.
        num_players: P; None keeps the number in `rules`.
        whole_game: rounds to the target, or `num_rounds`, instead of one.
        num_rounds: see `Game`.
        history: number of past plays that observations show.
        history_length: number of past plays stored for agents; at least `history`.

    Attributes:
        rules: the rules.
        game: the `Game`, or the one round.
        batch: the same game as a batch, for agents; not to be stepped.
        events: all events so far, as JSON values, oldest first:
            ``{"type": "play", "round": 0, "seat": 2, "id": 17, "text": "7s"}`` and
            ``{"type": "round_over", "round": 0, "places": [...], "scores": [...], "totals": [...],
            "hands": [...]}``; the scores are those of the round, the totals those of the game, the hands what
            each seat still holds. Under rules with payments there is
            also ``"payments"``, a list of ``{"payer": 3, "payee": 0, "amount": 2, "cause": "place"}``.
        turns: the round and the seat of each play.
    """

    def __init__(
        self,
        rules: str | AnyRules = "cardgames",
        key: int | None = None,
        *,
        num_players: int | None = None,
        whole_game: bool = True,
        num_rounds: int | None = None,
        history: int = 0,
        history_length: int = 0,
        backend: BackendName = "native",
    ) -> None:
        self.rules = get_rules(rules, num_players)
        self.whole_game = whole_game
        if whole_game:
            self.game: Game | AnyRound = Game(self.rules, key, num_rounds=num_rounds, backend=backend)
        else:
            self.game = round_type(self.rules)(self.rules, key, backend=backend)
        self._settings = Settings(
            "game" if whole_game else "round",
            main_reward(self.rules),
            history,
            history_length,
            num_rounds=num_rounds,
        )
        self._backend: BackendName = backend
        self.events: list[Facts] = []
        self.turns: list[tuple[int, int]] = []
        self._plays: list[AnyPlay] = []
        self._leads = [0]  # numbers of plays after which the table was empty
        self._deal()

    def _deal(self) -> None:
        """Deal the game from its key, and play its plays."""
        assert self.game.key is not None  # sessions are dealt
        settings = self._settings
        if isinstance(self.game, Game) and self.game.is_ended:
            settings = settings._replace(num_rounds=len(self.game.records))
        self.batch = Batch(self.rules, 1, **settings._asdict(), backend=self._backend)
        self.batch.deal(np.array([self.game.key], np.int64))
        for play in self._plays:
            self.batch.step([play.action], [play.cards])

    # ------------------------------------------------------------ the position

    @property
    def key(self) -> int:
        """The key of the deals (signed); it determines all hands, so do not show it to players."""
        assert self.game.key is not None
        return self.game.key

    @property
    def num_players(self) -> int:
        """P."""
        return self.batch.num_players

    @property
    def round(self) -> AnyRound:
        """The round in play, or the last one."""
        return self.game.round if isinstance(self.game, Game) else self.game

    @property
    def num_rounds(self) -> int | None:
        """The agreed number of rounds, 0 for a game without an end, None for one as the rules have it."""
        return self.game.num_rounds if isinstance(self.game, Game) else None

    @property
    def turn(self) -> int:
        """The seat to act; -1 when the game is over."""
        return self.game.turn

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self.turn < 0

    @property
    def scores(self) -> tuple[int, ...]:
        """P points in the game."""
        return self.game.scores

    @property
    def plays(self) -> tuple[AnyPlay, ...]:
        """All plays so far, in order."""
        return tuple(self._plays)

    @property
    def legal(self) -> list[AnyPlay]:
        """The legal plays of the seat to act; each has an ``action``, ``cards``, and its text as ``str``."""
        return self.game.legal_plays()

    @property
    def winner(self) -> int | None:
        """The winning seat, when the game is over and there is only one; else None."""
        if not self.is_over:
            return None
        if isinstance(self.game, Game):
            return self.game.winner
        places = [-1 if place is None else place for place in self.game.places]
        found = winner_of(places, places, places, len(places), False, False)
        return None if found < 0 else found

    def agent_view(self) -> View:
        """The current decision, for `Agent.act`."""
        return View(self.batch)

    def view(self, seat: int | None, since: int = 0) -> dict[str, Json]:
        """The information of a seat, as JSON values.

        Args:
            seat: the seat, or None for an observer without a hand.
            since: the number of events to leave out, because the caller has them already.

        Returns:
            The fields of `tienlen_env.single.messages`, and:

            * ``rules``: ``{"game", "name", "digest"}``
            * ``round``: index of the round in play
            * ``lead_at``: the number of plays before the combination on the table was led; the number of all
              plays if the table is empty, and in a game that does not climb
            * ``events``: the events from number `since` on; ``num_events``: the number of all events
            * ``result``: null, or at the end ``{"scores": [...], "winner": seat or null}``

        Raises:
            ValueError: an invalid seat.
        """
        if seat is not None and not 0 <= seat < self.num_players:
            raise ValueError(f"seat {seat!r}: expected 0..{self.num_players - 1}, or None")
        if since < 0:
            raise ValueError(f"since={since}: expected 0 or more")
        rules, events = self.rules, self.events[since:]
        (seen,) = positions(self.batch, [0], [seat])
        result: Json = None
        if self.is_over:
            result = {"scores": list(self.scores), "winner": self.winner}
        return {
            "rules": {"game": game_of(rules).name, "name": rules.name, "digest": rules.digest()},
            "round": self.round.round_index,
            "lead_at": self._leads[-1],
            **seen,
            "events": [dict(event) for event in events],
            "num_events": len(self.events),
            "result": result,
        }

    # ------------------------------------------------------------ playing

    def ask(self, agent: Agent) -> AnyPlay:
        """An agent's play for the current seat; nothing is played.

        Raises:
            IllegalPlayError: it is not legal.
            AnswerError, AgentError: see `choose_cards`.
        """
        actions, cards = choose_cards(agent, self.agent_view())
        action, mask = int(actions[0]), int(cards[0])
        if why := self.batch.variant.judge(self.batch.state.rows[0], action, mask):
            raise IllegalPlayError(f"{agent.name} played against the rules: {why}", clause=why.clause)
        play: AnyPlay = self.round.play_of(action, mask)
        return play

    def apply(self, move: AnyPlay | int | str) -> AnyPlay:
        """Play for the current seat.

        Args:
            move: one of `legal`, an action id, or text (`BaseRound.play`).

        Returns:
            The play.

        Raises:
            TienLenError: the move cannot be read or is not legal; nothing has changed.
        """
        played, seat = self.round, self.turn
        self.batch.game.check_decisions(self.rules, len(played.plays) + 1)
        self.game.play(move)
        play: AnyPlay = played.plays[-1]
        self.batch.step([play.action], [play.cards])
        self._plays.append(play)
        number, batch, state = played.round_index, self.batch, self.batch.state
        self.turns.append((number, seat))
        if not isinstance(state, ClimbingState) or state.owner[0] < 0:
            self._leads.append(len(self._plays))
        text = batch.game.text.play_text(batch.action_table, play.action, play.cards)
        self.events.append({"type": "play", "round": number, "seat": seat, "id": play.action, "text": text})
        if played.is_over:
            event: dict[str, Json] = {
                "type": "round_over",
                "round": number,
                "places": list(played.places),
                "scores": list(played.scores),
                "totals": list(self.scores),
                "hands": [batch.game.text.format_cards(played.hand(i)) for i in range(played.num_players)],
            }
            if self.batch.has_payments:
                event["payments"] = [payment._asdict() for payment in played.payments()]
            self.events.append(event)
        return play

    def undo(self, num_plays: int = 1) -> None:
        """Take the last plays back.

        Args:
            num_plays: the number of plays.

        Raises:
            TienLenError: fewer plays were made; nothing has changed.
        """
        if not 0 <= num_plays <= len(self._plays):
            raise TienLenError(f"{num_plays} plays cannot be taken back: {len(self._plays)} have been made")
        for _ in range(num_plays):
            self.game.undo()
            self._plays.pop()
            self.turns.pop()
            while self.events.pop()["type"] != "play":
                pass
        self._leads = [number for number in self._leads if number <= len(self._plays)]
        self._deal()

    def end(self) -> None:
        """End a game between two rounds; see `Game.end`.

        Raises:
            TienLenError: it is one round, or `Game.end` refuses; nothing has changed.
        """
        if not isinstance(self.game, Game):
            raise TienLenError("one round ends by itself")
        self.game.end()
        self._deal()

    def record(self) -> str:
        """The record so far, one line per round."""
        return self.game.record().rstrip("\n") + "\n"
