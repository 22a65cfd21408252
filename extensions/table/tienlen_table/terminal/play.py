"""Play in the terminal, or watch agents play."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tienlen_agents
from tienlen_agents.arena.lineup import numbered
from tienlen_agents.command import (
    Interrupted,
    complete_agents,
    interruptible,
    program,
    shows_any_text,
)
from tienlen_agents.external.process import notice_of
from tienlen_agents.files import write_atomic
from tienlen_agents.settings import COUNT_OR_NONE, Parser, Range, reader
from tienlen_env.engine.agent import Agent, AgentError, FallibleAgent, check_plays, history_of
from tienlen_env.errors import IllegalPlayError, RulesError
from tienlen_env.games.common.notation import read_key
from tienlen_env.games.registry import PRESETS, get_rules
from tienlen_env.rendering.ansi import NAME_COLUMNS
from tienlen_env.rendering.view import PLACE_TEXT, plural
from tienlen_env.single.base import AnyPlay, AnyRound
from tienlen_env.single.game import Game
from tienlen_env.single.session import Session
from tienlen_env.texts import printable
from tienlen_table.terminal.human import Hints, PlayerCommand, ask, read_line, say, tell
from tienlen_table.words import table_words_of

CLEAR = "\033[2J\033[3J\033[H"  # clears the screen and its scrollback


class _Keys(Range):
    def __str__(self) -> str:
        return "16 hexadecimal digits as in records, or an integer of 64 bits"


KEYS = _Keys(-(2**63), 2**63 - 1)


@dataclass(eq=False)
class TerminalTable:
    """A session for people and agents at a terminal.

    Attributes:
        session: the game.
        seats: an agent for each seat; None for a person.
        names: P names; ``"you"`` is addressed in the second person.
        hints: the agents that suggest plays to people.
        rated: the game counts: neither undo nor suggestions.
        save: file for the record, written after every round; None: no file.
    """

    session: Session
    seats: Sequence[Agent | None]
    names: Sequence[str]
    hints: Hints = field(default_factory=Hints)
    rated: bool = False
    save: Path | None = None

    def __post_init__(self) -> None:
        """Seat a person who plays alone at the screen."""
        people = [seat for seat, agent in enumerate(self.seats) if agent is None]
        self._at_screen = people[0] if len(people) == 1 else -1
        self._decisions: list[tuple[int, int]] = []  # of people: the seat, the number of plays before it
        self._details: list[str] = []  # of forfeits in this round

    def play(self) -> bool:
        """Play to the end of the game.

        Returns:
            Whether it was reached; False if a person has left.
        """
        session = self.session
        while not session.is_over:
            agent = self.seats[session.turn]
            if agent is None:
                answer = self._ask()
                if answer is PlayerCommand.LEAVE:
                    return False
                if answer is PlayerCommand.UNDO:
                    self._take_back()
                    continue
                self._apply(answer)
            else:
                self._apply(self._choice_of(agent))
        return True

    def _ask(self) -> AnyPlay | PlayerCommand:
        """Read a person's play; a forced pass is played without a prompt."""
        session, seat = self.session, self.session.turn
        if table_words_of(session.rules).is_forced_pass(session.round):
            return session.legal[0]
        if seat != self._at_screen:
            say(CLEAR)
            if read_line(f"{self.names[seat]}, press Enter when only you look: ") is None:
                return PlayerCommand.LEAVE
            self._at_screen = seat
        answer = self._ask_seat(seat)
        if not isinstance(answer, PlayerCommand):
            self._decisions.append((seat, len(session.plays)))
        return answer

    def _choice_of(self, agent: Agent) -> AnyPlay:
        """Let an agent play.

        Raises:
            IllegalPlayError: its play is not legal.
            AgentError: it tried to end the program.
        """
        play = self.session.ask(agent)
        if isinstance(agent, FallibleAgent):
            name = self.names[self.session.turn]
            for forfeit in agent.take_forfeits():
                tell(f"{name} {notice_of(agent, forfeit)}")
                # It may tell of the hand, so people read it when the round is over.
                self._details.append(f"{name}: {printable(forfeit.detail)}")
        return play

    def _apply(self, play: AnyPlay) -> None:
        session, played, seat = self.session, self.session.round, self.session.turn
        words = table_words_of(session.rules)
        is_forced = self.seats[seat] is None and words.is_forced_pass(played)
        session.apply(play)
        text = words.report(played, seat, self.names, play)
        tell(f"{text}: nothing else is legal" if is_forced else text)
        if played.is_over:
            say(self._result(played))
            for detail in self._details:
                tell(detail)
            self._details.clear()
            if self.save is not None:
                write_atomic(self.save, session.record().encode())

    def _ask_seat(self, seat: int) -> AnyPlay | PlayerCommand:
        session, played = self.session, self.session.round

        def suggestion() -> str:
            if self.rated:
                raise ValueError("this game is rated: there are no suggestions")
            return self.hints.suggestion(session.agent_view(), 0, played)

        def check_undo() -> None:
            if self.rated:
                raise ValueError("this game is rated: nothing is taken back")
            if self._last_decision(seat) is None:
                raise ValueError("there is nothing to take back yet")

        return ask(
            played,
            lambda: played.view(face_up=[seat], names=self.names, scores=session.scores),
            suggestion,
            check_undo,
        )

    def _last_decision(self, seat: int) -> int | None:
        """The number of plays before a person's last decision; None if there is none."""
        return next((plays for other, plays in reversed(self._decisions) if other == seat), None)

    def _take_back(self) -> None:
        back = self._last_decision(self.session.turn)
        assert back is not None  # checked in `_ask_seat`
        self._decisions = [(seat, plays) for seat, plays in self._decisions if plays < back]
        self.session.undo(len(self.session.plays) - back)
        say("  taken back\n")

    def _result(self, played: AnyRound) -> str:
        """Print the result of a round, and of the game if it is over."""
        session, names = self.session, self.names
        totals = session.scores
        lines = [f"\n  {session.batch.game.text.unit} {played.round_index + 1} is over"]
        places = [-1 if place is None else place for place in played.places]
        for seat in sorted(range(len(names)), key=lambda seat: places[seat]):
            points = f"{played.scores[seat]:+d}"
            lines.append(
                f"    {PLACE_TEXT[places[seat]]}  {names[seat]:<24.24} {points:>3}  "
                f"{plural(totals[seat], 'point')}"
            )
        if session.batch.has_payments:
            lines += [f"  {text}" for text in played.payment_texts(names)] or ["  no payments"]
            lines.append(f"  {_signed(names, played.balances)}")
            if played.round_index:
                lines.append(f"  in the game: {_signed(names, session.game.balances)}")
        if isinstance(session.game, Game) and session.winner is not None:
            winner = names[session.winner]
            lines.append(f"  {winner} win{'' if winner == 'you' else 's'} the game")
        return "\n".join(lines) + "\n\n"


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten the names of agents to `NAME_COLUMNS`.

    Args:
        names: of any length.

    Returns:
        The names that fit; of others the part before the colon, ``"search"``, numbered if several are then
        the same: ``"search #1"``.
    """
    number = len(" #1")
    short = []
    for name in names:
        if len(name) + number * (names.count(name) > 1) > NAME_COLUMNS:
            name = name.partition(":")[0]
            if len(name) > NAME_COLUMNS - number:
                name = name[: NAME_COLUMNS - number - 1] + "…"
        short.append(name)
    return numbered(short)


def _signed(names: Sequence[str], balances: Sequence[int]) -> str:
    return "  ".join(f"{name} {units:+d}" for name, units in zip(names, balances, strict=True))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=program("tienlen_table.terminal.play"),
        description="Play Tiến lên or Thirteens in the terminal. Cards are typed as 3s 3h (suits s c d h, "
        "ten is T) or by number.",
        epilog=f"Agents: human, {', '.join(name for name in tienlen_agents.names() if name != 'human')}. "
        "Example: tienlen play --seats human greedy greedy greedy --save game.txt",
    )
    seats = parser.add_argument(
        "--seats",
        nargs="+",
        metavar="AGENT",
        help="the players: 2 to 4, in Thirteens 3 to 7 (human heuristic heuristic heuristic; "
        "in Thirteens trickster)",
    )
    complete_agents(seats)
    parser.add_argument(
        "--rules", choices=list(PRESETS), default="cardgames", help="the variant (%(default)s)"
    )
    parser.add_argument(
        "--rounds",
        type=reader(int, COUNT_OR_NONE),
        metavar="N",
        help="of the game; 0: until a person leaves (to the target of the rules, or one)",
    )
    deals = parser.add_mutually_exclusive_group()
    seed = reader(lambda text: int(text, 0), COUNT_OR_NONE)
    deals.add_argument("--seed", type=seed, help="of the deals and the agents (random)")
    deals.add_argument(
        "--key",
        type=reader(read_key, KEYS),
        help="of the deals: 16 hexadecimal digits as in records, or a number",
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the record to this new file")
    parser.add_argument("--rated", action="store_true", help="rated: no undo, suggestions, --key or --seed")
    parser.add_argument(
        "--hint", default="", metavar="AGENT", help="for suggestions (greedy_long; trickster in Thirteens)"
    )
    parser.add_argument(
        "--history",
        type=reader(int, COUNT_OR_NONE),
        default=0,
        metavar="K",
        help="last plays in observations, for policies",
    )
    return parser


def _set_table(options: argparse.Namespace) -> TerminalTable:
    """Make the table for the options.

    Raises:
        ValueError: options that contradict one another.
    """
    rules = get_rules(options.rules)
    if options.seats is None:
        options.seats = ["human"] + [table_words_of(rules).opponent] * (rules.num_players - 1)
    try:
        rules = get_rules(options.rules, len(options.seats))
    except RulesError as error:
        raise ValueError(f"--seats has {plural(len(options.seats), 'seat')}: {error}") from None
    if options.rounds == 0 and "human" not in options.seats:
        raise ValueError("--rounds 0: without a person this game has no end")
    key = secrets.randbits(64) if options.key is None else options.key % 2**64
    if options.seed is not None:
        key = int(np.random.default_rng(options.seed).integers(2**64, dtype=np.uint64))
    agents = [None if name == "human" else tienlen_agents.load(name) for name in options.seats]
    bots = [agent for agent in agents if agent is not None]
    session = Session(
        rules,
        key,
        num_rounds=options.rounds,
        history=options.history,
        history_length=history_of(bots),
    )
    check_plays(bots, session.batch)
    hints = Hints(options.hint)
    long_names = ["human" if agent is None else agent.name for agent in agents]
    names = short_names(long_names)
    for short, name in zip(names, long_names, strict=True):
        if not short.startswith(name):
            tell(f"{short} is {printable(name)}")
    if options.seats.count("human") == 1:
        names[options.seats.index("human")] = "you"
    seeds = np.random.SeedSequence(key).generate_state(len(agents))
    for agent, seed in zip(agents, seeds, strict=True):
        (hints if agent is None else agent).reset(int(seed))
    return TerminalTable(session, agents, names, hints=hints, rated=options.rated, save=options.save)


@shows_any_text
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: its arguments; None: those of the command line.

    Returns:
        The exit code: 0; 1 if an agent played against the rules; 130 after Ctrl-C and 143 after SIGTERM.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if options.rated and (options.key is not None or options.seed is not None):
        parser.error("--rated: the key is drawn at random, so it cannot be given")
    if options.save is not None and (options.save.exists() or not options.save.parent.is_dir()):
        parser.error(f"--save: {options.save} is there already, or its folder is not")
    try:
        table = _set_table(options)
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    if sys.stdin.isatty():
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401 - from now on, `input` edits lines and recalls them

    code = 0
    try:
        with interruptible():
            if not table.play():
                say("  you have left the table\n")
    except KeyboardInterrupt as error:  # not an `Interrupted` in another thread than the main one
        say(f"\n  {str(error) or 'interrupted'}\n")
        code = error.exit_code if isinstance(error, Interrupted) else 130
    except (AgentError, IllegalPlayError) as error:
        print(f"{parser.prog}: {printable(str(error))}", file=sys.stderr)
        code = 1
    finally:
        if options.save is None:
            say(f"  the record:\n{table.session.record().rstrip()}\n")
        else:
            write_atomic(options.save, table.session.record().encode())
            say(f"  the record is in {options.save}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
