"""`check`: computes everything in a packet again from its records. Nothing in it is believed.

- every record is a legal round by the suite's rules, with the suite's deals, in the suite's order;
- every decision of a quick member of the panel is its own, and of a slow one in a sample that the check draws
  when it begins: nobody knew it when the packet was made;
- every figure follows from the records; the class of budget follows from the measured time.

It cannot see whether the agent's own moves are the agent's: `replay` plays them again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.random import SeedSequence

import tienlen_agents
from tienlen_agents.arena.chunk import Chunk, Job, games_of, play_chunk
from tienlen_agents.arena.result import MatchResult
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_agents.records import plays_of, read_round
from tienlen_env.engine.agent import Agent, View, choose_cards, history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.errors import TienLenError, expected_one_of
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.texts import printable
from tienlen_exact.policies import measure
from tienlen_exact.small_tienlen import PolicyError, small_game
from tienlen_exact.tree import PublicTree, build
from tienlen_suite import figures, v1
from tienlen_suite.packet import (
    MAX_LINE,
    Packet,
    PacketError,
    check_declaration,
    read_packet,
)
from tienlen_suite.regret import Judgement, judged, regret_of_choices
from tienlen_suite.table import AGENT, Suite, SuiteTable, Track

SUITES: Final[dict[str, Suite]] = {v1.SUITE.name: v1.SUITE}
THRESHOLD: Final = 0.3  # of the share of regrets
MIN_SECRET_BYTES: Final = 16  # `tienlen suite new-seed` writes 32
JUDGED: Final = Path(__file__).parent
JUDGEMENT: Final = Judgement(
    decisions=1000, worlds=200, player="champion:file=tienlen-general-v4,worlds=0", seed=43
)


class Checked(NamedTuple):
    """What a check did.

    Attributes:
        figures: of the packet, computed again.
        rounds: number of rounds that were read.
        decisions: decisions of the panel that were computed again.
    """

    figures: dict[str, Any]
    rounds: int
    decisions: int


def seed_for(track: Track, secret: bytes | None) -> int:
    """The seed of a track's deals: the published one, or that of a secret."""
    if secret is None:
        return track.seed
    return int.from_bytes(hashlib.sha256(secret + track.name.encode()).digest()[:7], "big")


def held_out_digest(secret: bytes | None) -> str:
    """What a packet says of a secret: its SHA-256; empty for the published deals."""
    return "" if secret is None else hashlib.sha256(secret).hexdigest()


def read_secret(file: str | None) -> bytes | None:
    """The secret in a file, if there is one.

    Raises:
        ValueError: it has few bytes, so that others may guess the deals.
    """
    secret = None if file is None else Path(file).read_bytes()
    if secret is not None and len(secret) < MIN_SECRET_BYTES:
        raise ValueError(f"{file}: a secret of {len(secret)} bytes: expected {MIN_SECRET_BYTES} or more")
    return secret


def panel_agents(suite: Suite, names: Sequence[str]) -> list[Agent]:
    """Members of the panel.

    Raises:
        ValueError: a file of weights is not the one of the suite.
    """
    for name in names:
        for file, wanted in suite.panel[name].weights:
            if hashlib.sha256((WEIGHTS / file).read_bytes()).hexdigest() != wanted:
                raise ValueError(f"{file}: not the weights of suite {suite.name}")
    return [tienlen_agents.load(suite.panel[name].agent) for name in names]


def check(
    folder: Path,
    *,
    seed: int | None = None,
    secret: bytes | None = None,
    on_table: Callable[[str], None] = lambda title: None,
) -> Checked:
    """Check a packet.

    Args:
        folder: of the packet.
        seed: draws the decisions of the panel's slow members that are computed again. None: by chance, which
            is what a check is for: who makes a packet must not know them.
        secret: of held-out deals.
        on_table: called with the title of each table before it is checked.

    Raises:
        PacketError: what is wrong, and where.
        MissingExtraError: the track's ratings need a package that is not installed.
        OSError: it cannot be read.
    """
    packet = read_packet(folder)
    suite, track = _check_claims(packet, secret)
    values, contents = packet.values, packet.contents
    figures.require_ratings(track, quick=values["quick"])
    rounds = recomputed = 0
    if track.kind == "nash_conv":
        found = exact_figures(track, contents, on_table)
    else:
        results: list[MatchResult | None] = []
        draw = secrets.randbits(128) if seed is None else seed
        for index, (name, table) in enumerate(track.contents.items()):
            if name not in contents:  # the agent does not play it
                results.append(None)
                continue
            on_table(table.title)
            played, again = _result(
                suite, track, name, contents[name], seed_for(track, secret), (draw, index)
            )
            results.append(played)
            rounds += contents[name].count(b"\n")
            recomputed += again
        found = figures.figures_of_rounds(track, results, quick=values["quick"])
        if track.regrets:
            on_table("judged decisions")
            found |= regret_figures(track, contents["choices/01"])
        own = sum(int(result.played.decisions[0]) for result in results if result is not None)
        if packet.run["decisions"] != own:
            said = packet.run["decisions"]
            raise PacketError(f"run.json: decisions: it says {said}, the records have {own}")
    if difference := figures.first_difference(values["figures"], found):
        raise PacketError(difference)
    return Checked(found, rounds, recomputed)


def _check_claims(packet: Packet, secret: bytes | None) -> tuple[Suite, Track]:
    """The suite and the track of a packet, if what it says of itself fits together."""
    values = packet.values
    suite = SUITES.get(values["suite"])
    if suite is None:
        raise PacketError(f"suite {values['suite']!r}: {expected_one_of(values['suite'], SUITES)}")
    if values["track"] not in suite.tracks:
        raise PacketError(f"track {values['track']!r}: {expected_one_of(values['track'], suite.tracks)}")
    if values["track_digest"] != suite.digest(values["track"]):
        raise PacketError(f"track_digest: not that of suite {suite.name}: another table, or other rules")
    track = suite.track(values["track"], quick=values["quick"])
    if values["held_out"] != held_out_digest(secret):
        what = "held-out deals: expected their secret" if values["held_out"] else "expected held-out deals"
        raise PacketError(f"held_out: {what}" if secret is None else "held_out: not the deals of this secret")
    names, expected = set(values["contents"]), [*track.contents, *(["choices/01"] if track.regrets else [])]
    # An agent need not play every game of a normalised score.
    if not names or not names <= set(expected) or (len(names) < len(expected) and track.kind != "normalised"):
        raise PacketError(f"contents: expected {', '.join(expected)}")
    if missing := [name for name in ("python", "machine", "numpy") if name not in values["versions"]]:
        raise PacketError(f"versions: {missing[0]} is missing")
    check_declaration(values)
    budget, units = values["budget"], packet.run["units"]
    if budget not in suite.budgets:
        raise PacketError(f"budget {budget}: expected one of {list(suite.budgets)}")
    if budget and units > budget:
        raise PacketError(
            f"budget understated: {units:.3g} units a decision were measured, "
            f"more than the class of {budget:g}"
        )
    return suite, track


# ---------------------------------------------------------------- rounds


def _result(
    suite: Suite, track: Track, name: str, content: bytes, seed: int, draw: tuple[int, int]
) -> tuple[MatchResult, int]:
    """The result of a table from its records, and how many decisions the panel has made again."""
    table = track.contents[name]
    jobs, match_up = list(track.jobs(table, seed)), table.match_up
    lines = _lines(name, content, sum(job.num_records for job in jobs), "records")
    agents = [None, *panel_agents(suite, table.opponents)]
    shares = [0.0, *(suite.sample if suite.panel[other].is_slow else 1.0 for other in table.opponents)]
    chunks, first, recomputed = [], 0, 0
    for job in jobs:
        words = SeedSequence(draw[0], spawn_key=(draw[1], job.first_deal))
        part = lines[first : first + job.num_records]
        records = _Records(f"{name} ({table.title})", job, part, first, words)
        followers = [_Follower(records, *pair) for pair in zip(agents, shares, strict=True)]
        # The records are known to be those of the rounds that are played.
        chunks.append(play_chunk(followers, replace(job, num_records=0)))
        recomputed += sum(one.recomputed for one in followers)
        first += job.num_records
    played = Chunk.joined(chunks, 0)
    return MatchResult(match_up.names, match_up.lineup, match_up.rules, seed, None, played, 0.0), recomputed


def _lines(name: str, content: bytes, expected: int, what: str) -> list[str]:
    """The lines of a content.

    Raises:
        PacketError: another number of lines than `expected`, or a long one.
    """
    # Counted first: a list of empty lines takes much more memory than they do.
    lines = content.decode("ascii", "replace").split("\n") if content.count(b"\n") == expected else []
    if not lines or lines.pop() or max(map(len, lines), default=0) > MAX_LINE:
        raise PacketError(f"{name}: expected {expected} {what}, one a line")
    return lines


class _Records:
    """The records of a job, as plays (T steps, B games).

    Args:
        where: their content and table, for errors.
        job: what was played.
        lines: B records.
        first: number of records of the table before them.
        words: draws the decisions that slow agents make again.

    Attributes:
        actions: int64 (T, B).
        cards: int64 (T, B), the exact cards.
        draws: uint32 (T, B), a number for each decision.
        steps: int64 (B,), how many plays of each game have been followed.

    Raises:
        PacketError: a record is not a complete, legal round of its deal, written as records are.
    """

    def __init__(self, where: str, job: Job, lines: Sequence[str], first: int, words: SeedSequence) -> None:
        self._where, self._first = where, first
        rounds = []
        for game, (line, key) in enumerate(zip(lines, games_of(job).keys.tolist(), strict=True)):
            try:
                played = read_round(line, job.rules)
            except (TienLenError, ValueError) as error:
                raise self.error(game, f"not a legal round: {printable(str(error))}") from None
            if (played.key, played.round_index, played.leader) != (key, 0, None):
                raise self.error(game, "not the suite's deal: another seed or order of deals")
            if played.record() != line:
                raise self.error(game, f"expected the record {played.record()!r}")
            rounds.append(played)
        self.actions, self.cards = plays_of(rounds)
        self.draws = words.generate_state(self.actions.size).reshape(self.actions.shape)
        self.steps = np.zeros(len(lines), np.int64)

    def error(self, game: int, problem: str, play: str = "") -> PacketError:
        """The error of a game; it names the place."""
        return PacketError(f"{self._where}, line {self._first + game + 1}{play}: {problem}")


class _Follower:
    """An agent that plays what the records say.

    Args:
        records: of a job.
        agent: whose decisions they should be; None: they are taken as they are.
        share: of the decisions that the agent makes again.

    Attributes:
        recomputed: how many decisions the agent has made again.
    """

    def __init__(self, records: _Records, agent: Agent | None, share: float) -> None:
        self.name = AGENT if agent is None else agent.name
        self.history = 0 if agent is None else history_of([agent])
        self.recomputed = 0
        self._records, self._agent, self._share = records, agent, share

    def reset(self, seed: int) -> None:
        """Reset the agent."""
        if self._agent is not None:
            self._agent.reset(seed)

    def act(self, view: View) -> IntArray:
        """The recorded actions."""
        return self.act_cards(view)[0]

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """The recorded actions and cards, compared with the agent's.

        Raises:
            PacketError: a decision is not the agent's.
        """
        records, games = self._records, view.games
        steps = records.steps[games]
        records.steps[games] += 1
        actions, cards = records.actions[steps, games], records.cards[steps, games]
        asked = np.flatnonzero(records.draws[steps, games] < self._share * 2**32)
        if self._agent is not None and asked.size:
            self.recomputed += len(asked)
            found, exact = (np.asarray(answer) for answer in choose_cards(self._agent, view.select(asked)))
            wrong = np.flatnonzero((found != actions[asked]) | (exact != cards[asked]))
            if wrong.size:
                at = asked[wrong[0]]
                texts = [view.source[0].action_to_text(int(a)) for a in (found[wrong[0]], actions[at])]
                raise records.error(
                    int(games[at]),
                    f"the panel's moves were changed: {self.name} plays {texts[0]} there, not {texts[1]}",
                    play=f", play {steps[at] + 1}",
                )
        return actions, cards


# ---------------------------------------------------------------- small games


@lru_cache(maxsize=4)
def tree_of(table: SuiteTable) -> PublicTree:
    """The tree of a small game."""
    return build(small_game(table.rules, table.players))


def exact_figures(
    track: Track, contents: Mapping[str, bytes], on_table: Callable[[str], None] = lambda title: None
) -> dict[str, Any]:
    """The figures of the policies in some contents.

    Raises:
        PacketError: a content is not a policy of its game.
    """
    measured = []
    for name, table in track.contents.items():
        on_table(table.title)
        tree, content = tree_of(table), contents[name]
        if len(content) != 8 * tree.num_edges:
            raise PacketError(f"{name}: expected {tree.num_edges} probabilities")
        try:
            measured.append(measure(tree, np.frombuffer(content, "<f8").astype(np.float64)))
        except PolicyError as error:
            raise PacketError(f"{name}: {error}") from None
    return figures.nash_conv_figures(track, measured)


# ---------------------------------------------------------------- judged decisions


@lru_cache(maxsize=1)
def judged_decisions(checksum: str) -> tuple[Batch, list[FloatArray]]:
    """The decisions and the regrets of all their actions, from the suite's file.

    Args:
        checksum: SHA-256 of the file.

    Raises:
        ValueError: another file.
    """
    if hashlib.sha256((JUDGED / "judged.json").read_bytes()).hexdigest() != checksum:
        raise ValueError(f"{JUDGED / 'judged.json'}: not the judged decisions of the suite")
    return judged(JUDGEMENT, JUDGED)


def regret_figures(track: Track, content: bytes) -> dict[str, Any]:
    """The figures of the choices in the judged decisions, one action a line.

    Raises:
        PacketError: not as many actions, or one that is not legal.
    """
    decisions, losses = judged_decisions(track.regrets)
    legal = View(decisions).legal_actions
    lines = _lines("choices/01", content, len(losses), "actions")
    if not all(map(str.isdecimal, lines)):
        raise PacketError(f"choices/01: expected {len(losses)} actions, one a line")
    chosen = np.array([int(line[:9]) for line in lines], np.int64)
    is_legal = np.zeros(len(lines), bool)
    np.logical_or.at(is_legal, legal.game, legal.action == chosen[legal.game])
    if not is_legal.all():
        raise PacketError(f"choices/01, line {int(np.flatnonzero(~is_legal)[0]) + 1}: not a legal action")
    found = regret_of_choices(AGENT, chosen, decisions, losses, THRESHOLD)
    return {"regret": figures.estimate_of(found.mean), "regret_above": figures.estimate_of(found.share)}
