"""``python -m tienlen_agents.terminal.play``: a table in the terminal, with people and agents at it."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tienlen_agents
from tienlen_agents.arena.lineup import numbered
from tienlen_agents.command import complete_agents, program
from tienlen_agents.files import write_atomic
from tienlen_agents.terminal.dialogue import dialogue_of
from tienlen_agents.terminal.human import HumanAgent, Leave, read_line, say, tell
from tienlen_env.engine.agent import Agent, FallibleAgent, View, check_plays, choose_cards, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import TienLenError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import PRESETS, game_of, get_rules
from tienlen_env.rendering import TableView, TrickView
from tienlen_env.rendering.ansi import NAME_COLUMNS
from tienlen_env.rendering.view import PLACE_TEXT, plural, printable
from tienlen_env.single.game import ROUNDS, Game

CLEAR = "\033[2J\033[3J\033[H"  # the screen, and what has been scrolled off it


class Table:
    """A game for people and agents alike.

    The same game is kept twice: as a `Game` or one round of it, which explains refusals and writes the
    record, and as a `Batch`, which agents look at.

    Args:
        rules: the variant.
        key: 64 bits, of the deals.
        whole_game: rounds to the target instead of one.
        history: plays that observations show.
        kept: plays that agents can look back on, if these are more.

    Attributes:
        plays: moves since the start (see `tienlen_agents.terminal.dialogue`).
    """

    def __init__(
        self, rules: AnyRules, key: int, *, whole_game: bool = True, history: int = 0, kept: int = 0
    ) -> None:
        self.rules = rules
        self.key = key
        self.whole_game = whole_game
        self.batch = Batch(rules, 1, episode="game" if whole_game else "round", history=history, kept=kept)
        self.take_back(0)

    def take_back(self, num_plays: int) -> None:
        """Return to the position after so many plays."""
        kept = self.plays[:num_plays] if num_plays else []
        self.game: Any = (Game if self.whole_game else ROUNDS[game_of(self.rules).name])(self.rules, self.key)  # type: ignore[arg-type]
        self.batch.deal(np.array([self.key], np.uint64).view(np.int64))
        self.plays: list[int] = []
        for move in kept:
            self.play(move)

    def play(self, move: int) -> None:
        """Play for whose turn it is.

        Raises:
            TienLenError: the rules refuse it; nothing has changed.
        """
        self.game.play(move)
        dialogue_of(self.rules).step(self.batch, move)
        self.plays.append(move)

    @property
    def round(self) -> Any:
        """The `Round` or `Deal` in play, or the last one."""
        return self.game.round if isinstance(self.game, Game) else self.game

    def picture(self, names: Sequence[str], seat: int) -> TableView | TrickView:
        """The table as one seat sees it."""
        view: TableView | TrickView = self.round.view(face_up=[seat], names=names)
        return replace(view, scores=self.game.scores)


class TakeBack(Exception):
    """A player wants to be asked for the last decision again."""


class Player(HumanAgent):
    """A person at a `Table`.

    Args:
        table: where.
        hint: the agent that suggests plays.
        rated: the game counts: neither undo nor suggestions.
    """

    def __init__(self, table: Table, *, hint: str, rated: bool) -> None:
        super().__init__(hint=hint)
        self._table = table
        self._rated = rated
        self.names: Sequence[str] = ()
        self.decisions: list[int] = []  # how many plays had been made at each of them

    def picture(self, view: View, index: int) -> TableView | TrickView:
        """The table with names and the trick."""
        return self._table.picture(self.names, int(view.seat[index]))

    def check(self, view: View, index: int, move: int) -> int:
        """See `HumanAgent.check`; the message names the clause."""
        try:
            self._table.round.copy().play(move)
        except TienLenError as error:
            reason = str(error).partition(" (seat")[0]  # the brackets tell what the picture shows
            source = "" if "RULES.md" in reason else " (RULES.md)"
            raise ValueError(reason + source) from None
        return super().check(view, index, move)

    def suggest(self, view: View, index: int) -> int:
        """See `HumanAgent.suggest`."""
        if self._rated:
            raise ValueError("this game is rated: there are no suggestions")
        return super().suggest(view, index)

    def take_back(self) -> None:
        """See `HumanAgent.take_back`."""
        if self._rated:
            raise ValueError("this game is rated: nothing is taken back")
        if not self.decisions:
            raise ValueError("there is nothing to take back yet")
        raise TakeBack


def play(table: Table, seats: Sequence[Agent], names: Sequence[str], save: Path | None = None) -> None:
    """Play a table to its end, telling what happens.

    Args:
        table: the game.
        seats: an agent each.
        names: what they are called; ``"you"`` is spoken to.
        save: where the record goes, after every round.
    """
    people = [seat for seat, agent in enumerate(seats) if isinstance(agent, Player)]
    at_screen = people[0] if len(people) == 1 else -1
    dialogue = dialogue_of(table.rules)
    while (seat := table.round.turn) >= 0:
        agent, played, before = seats[seat], table.round, len(table.plays)
        view = View(table.batch)
        try:
            if isinstance(agent, Player) and dialogue.is_forced_pass(played):
                move = 0  # no use to ask
            else:
                if isinstance(agent, Player) and seat != at_screen:
                    say(CLEAR)
                    read_line(f"{names[seat]}, press Enter when only you look: ")
                    at_screen = seat
                action, cards = choose_cards(agent, view)
                move = dialogue.move(int(action[0]), int(cards[0]))
                if isinstance(agent, Player):
                    agent.decisions.append(before)
        except TakeBack:
            assert isinstance(agent, Player)
            back = agent.decisions.pop()
            for other in seats:
                if isinstance(other, Player):
                    other.decisions = [number for number in other.decisions if number < back]
            table.take_back(back)
            say("  taken back\n")
            continue
        if isinstance(agent, FallibleAgent):
            for forfeit in agent.take_forfeits():
                tell(f"{names[seat]} forfeits this round: {forfeit.reason} ({printable(forfeit.detail)})")
        table.play(move)
        tell(dialogue.told(played, seat, names, move))
        if played.is_over:
            say(_result(table, played, names))
            if save is not None:
                write_record(save, table)


def _result(table: Table, played: Any, names: Sequence[str]) -> str:
    """How a round or deal has ended, and the game if it is over."""
    totals = table.game.scores
    lines = [f"\n  {dialogue_of(table.rules).unit} {played.round_index + 1} is over"]
    for seat in sorted(range(len(names)), key=lambda seat: played.places[seat]):
        points = f"{played.scores[seat]:+d}"
        lines.append(
            f"    {PLACE_TEXT[played.places[seat]]}  {names[seat]:<24.24} {points:>3}  "
            f"{plural(totals[seat], 'point')}"
        )
    if isinstance(table.game, Game) and table.game.winner is not None:
        winner = names[table.game.winner]
        lines.append(f"  {winner} win{'' if winner == 'you' else 's'} the game")
    return "\n".join(lines) + "\n\n"


def short_names(names: Sequence[str]) -> list[str]:
    """What agents are called at a table, where a name has `NAME_COLUMNS`.

    Args:
        names: theirs, of any length.

    Returns:
        The same where they fit, else what stands before the colon: ``"search"``; numbered where several are
        the same then: ``"search #1"``.
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


def write_record(path: Path, table: Table) -> None:
    """Write the record so far; the file is there whole or not at all."""
    write_atomic(path, (table.game.record().rstrip("\n") + "\n").encode())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program("tienlen_agents.terminal.play"),
        description="Play Tiến lên or Thirteens in the terminal. Cards are typed as 3s 3h (suits s c d h, "
        "ten is T) or by number.",
        epilog=f"Agents: human, {', '.join(name for name in tienlen_agents.names() if name != 'human')}. "
        "Example: tienlen play --seats human greedy greedy greedy --save game.txt",
    )
    seats = parser.add_argument(
        "--seats",
        nargs="+",
        required=True,
        metavar="AGENT",
        help="who sits there: 2 to 4, in Thirteens 3 to 7",
    )
    complete_agents(seats)
    parser.add_argument(
        "--rules", choices=list(PRESETS), default="cardgames", help="the variant (%(default)s)"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--game", action="store_true", help="rounds to the target of the rules (the default)")
    length.add_argument("--round", action="store_true", help="one round")
    parser.add_argument(
        "--key", type=lambda text: int(text, 0), help="64-bit number that decides the deals; drawn otherwise"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the record to this new file")
    parser.add_argument("--rated", action="store_true", help="it counts: no undo, no suggestions, no --key")
    parser.add_argument(
        "--hint", default="", metavar="AGENT", help="who suggests (greedy_long; trickster in Thirteens)"
    )
    parser.add_argument(
        "--history", type=int, default=0, metavar="K", help="last plays in observations, for policies"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: instead of the command line's.

    Returns:
        The exit code: 0, or 130 after Ctrl-C.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.rated and options.key is not None:
        parser.error("--rated: the key is drawn, so that nobody knows the deal")
    if options.save is not None and (options.save.exists() or not options.save.parent.is_dir()):
        parser.error(f"--save: {options.save} is there already, or its folder is not")
    key = secrets.randbits(64) if options.key is None else options.key
    try:
        rules = get_rules(options.rules, len(options.seats))
        if not -(2**63) <= key < 2**64:
            raise ValueError(f"--key {key}: expected an integer of 64 bits")
        bots = [None if name == "human" else tienlen_agents.load(name) for name in options.seats]
        table = Table(
            rules,
            key % 2**64,
            whole_game=not options.round,
            history=options.history,
            kept=history_of(bot for bot in bots if bot is not None),
        )
        check_plays([bot for bot in bots if bot is not None], table.batch)
        seats: list[Agent] = [
            Player(table, hint=options.hint, rated=options.rated) if bot is None else bot for bot in bots
        ]
    except (ValueError, OSError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    names = short_names([agent.name for agent in seats])
    for said, agent in zip(names, seats, strict=True):
        if not said.startswith(agent.name):
            tell(f"{said} is {printable(agent.name)}")
    if options.seats.count("human") == 1:
        names[options.seats.index("human")] = "you"
    for agent, seed in zip(
        seats, np.random.SeedSequence(key % 2**64).generate_state(len(seats)), strict=True
    ):
        agent.reset(int(seed))
        if isinstance(agent, Player):
            agent.names = names

    code = 0
    try:
        play(table, seats, names, options.save)
    except Leave:
        say("  you have left the table\n")
    except KeyboardInterrupt:
        say("\n  interrupted\n")
        code = 130
    finally:
        if options.save is None:
            say(f"  the record:\n{table.game.record().rstrip()}\n")
        else:
            write_record(options.save, table)
            say(f"  the record is in {options.save}\n")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
