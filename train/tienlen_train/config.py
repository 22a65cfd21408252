"""Settings of training runs (`tienlen_agents.settings`), and what all commands of training have in common."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from tienlen_agents.command import Interrupted, interruptible, shows_any_text
from tienlen_agents.networks.features import Prior, features_of
from tienlen_agents.networks.network import MAX_WIDTH
from tienlen_agents.quoting import quoted, split_list
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    DEALS,
    SHARE,
    Choice,
    Config,
    ExistingFile,
    FreeText,
    Range,
    setting,
    several_files,
)
from tienlen_env.errors import expected_one_of
from tienlen_env.extras import MissingExtraError
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, games, get_rules, has_payments
from tienlen_env.texts import printable
from tienlen_train.variants import Variants, parse_variants

# Ranges that several configurations use.
DEALS_OR_NONE: Final = Range(2, or_zero=True)
ANY_SEED: Final = Range(0, 2**31 - 1)
SEATS: Final = Range(1, 64)  # the rules of the run allow fewer
THREADS: Final = Range(1, 1024)
WIDTH: Final = Range(1, MAX_WIDTH)
COEFFICIENT: Final = Range(0, 1e6)
LEARNING_RATE: Final = Range(0, 1, above=True)
GAMES: Final = Choice(lambda: [game.name for game in games()])
PRESETS: Final = Choice(lambda: [name for game in games() for name in game.presets])
AGENTS: Final = FreeText("names of agents")
FOLDER: Final = FreeText("a folder")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelfPlayConfig(Config):
    """Settings of every training run: an `ActionNetwork` learns in self-play.

    Attributes:
        env: name of the game; None for the game of `rules`.
        rules: preset of the rules; None for the game's first one.
        num_players: seats at the table; None for the number in the rules.
        decisions: decisions of the learning seats to train on; forced moves do not count.
        stop_after: the run ends after this number of iterations, if that is earlier; 0 for no limit.
        eval_every: iterations between quick comparisons; 0 for none.
        eval_deals: deals of a quick comparison, each in all seatings.
        evaluators: what else measures the policy, with each quick comparison and at the end; names, separated
            by blanks (docs/extending.md), for example exact: NashConv, in small games.
        final_deals: held-out deals of the comparison at the end; 0 for none.
        checkpoint_every: iterations between checkpoints.
        seed: of everything.
        threads: processors to use; the result does not depend on it.
        out: run folder; None makes one under runs/, named by the time.
        resume: continue the run in `out`.
        new_metrics: with `resume`: rename a damaged metrics.jsonl, and begin a new one.
        variants: train one network for every variant of a game, on these: presets with numbers of players,
            separated by blanks (cardgames:4 south:3 south:4:points); mixed for rules whose fields are drawn
            from those of the presets. Each shard of the games has one; in place of rules, num_players and
            reward.
        num_games: rounds played in one iteration.
        batch_size: decisions in one gradient step.
        update_epochs: passes over the decisions of an iteration.
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        max_grad_norm: maximum norm of a gradient, by clipping.
        reward: points, the first place alone, or payments (of rules that have them).
        prior: added to the network's scores: nothing, or the scores of the game's rule-based agent.
        prior_scale: factor on these scores; None for the game's own.
        record: let the network read the play summary, if the game has one.
        state_width: units of the trunk's layers.
        action_width: units of the layer that joins state and action.
        baseline_share: share of the games where a rule-based baseline has some of the seats.
        baselines: their names, separated by blanks (a name with a blank in double quotes); None for the
            game's own.
        snapshot_share: share of the games where an older snapshot has some of the seats.
        snapshot_every: iterations between snapshots.
        num_snapshots: number of stored snapshots; the oldest is dropped first.
        opponent_seats: seats of the opponent in such a game; 0: a random number, one to all but one.
        start_from: a network file to start from, instead of an untrained network; several, separated by
            blanks: the mean of their weights.
        shards: parts of the games of an iteration, each with its own random draws, and of every gradient
            step; results depend on it.
        staleness: iterations that the weights which play may be older than those which learn: 0 for none, 1
            to play an iteration while the one before is learned. Results depend on it.
        executor: where the games are played: for example ray:auto, a Ray cluster (docs/cluster.md); None for
            this process.
        actors: a number, with an executor: shards of the games played at the same time; None for all.
        actor: a name: what plays all games of an iteration at once in place of an executor; None for the one
            of the device's name, if it is installed (docs/gpu-training.md).
        device: of the training; auto is cuda if available.
        precision: bf16 is about twice as fast on processors that support it; auto detects that.
    """

    groups: ClassVar[Mapping[str, str]] = {
        "the run": "env stop_after checkpoint_every new_metrics evaluators eval_every eval_deals final_deals",
        "one network for several variants": "variants",
        "what is learned from": "reward num_games batch_size update_epochs max_grad_norm",
        "the network": "prior prior_scale record state_width action_width",
        "opponents": "baseline_share baselines snapshot_share snapshot_every num_snapshots opponent_seats",
        "where it runs": "shards staleness executor actors actor precision",
    }
    # None of them changes what is learned; the rules are compared by their digest.
    may_change: ClassVar[frozenset[str]] = frozenset(
        {
            *("resume", "new_metrics", "out", "threads", "stop_after", "checkpoint_every", "final_deals"),
            *("env", "rules", "num_players", "executor", "actors"),
        }
    )
    env: str | None = setting(None, GAMES)
    rules: str | None = setting(None, PRESETS)
    num_players: int | None = setting(None, SEATS)
    decisions: int = setting(6_000_000, COUNT)
    stop_after: int = setting(0, COUNT_OR_NONE)
    eval_every: int = setting(20, COUNT_OR_NONE)
    eval_deals: int = setting(250, DEALS)
    evaluators: str = setting("", FreeText("names of evaluators"))
    final_deals: int = setting(2500, DEALS_OR_NONE)
    checkpoint_every: int = setting(10, COUNT)
    seed: int = setting(1, ANY_SEED)
    threads: int = setting(2, THREADS)
    out: str | None = setting(None, FOLDER)
    resume: bool = False
    new_metrics: bool = False
    variants: str | None = setting(None, Variants())
    num_games: int = setting(1024, Range(1, 1_000_000))
    batch_size: int = setting(4096, COUNT)
    update_epochs: int = setting(2, Range(1, 1000))
    learning_rate: float = setting(1e-3, LEARNING_RATE)
    max_grad_norm: float = setting(1.0, Range(0, above=True))
    reward: Literal["zero_sum", "win", "payments"] = "zero_sum"
    prior: Prior = "heuristic"
    prior_scale: float | None = setting(None, Range(-1e9, 1e9))
    record: bool = True
    state_width: int = setting(256, WIDTH)
    action_width: int = setting(128, Range(2, MAX_WIDTH))
    baseline_share: float = setting(0.2, SHARE)
    baselines: str | None = setting(None, AGENTS)
    snapshot_share: float = setting(0.2, SHARE)
    snapshot_every: int = setting(10, COUNT)
    num_snapshots: int = setting(10, Range(1, 10_000))
    opponent_seats: int = setting(0, COUNT_OR_NONE)
    start_from: str | None = setting(None, ExistingFile(several=True))
    shards: int = setting(2, Range(1, 1_000_000))
    staleness: int = setting(0, Range(0, 100))
    executor: str | None = setting(None, FreeText("an executor"))
    actors: int | None = setting(None, COUNT)
    actor: str | None = setting(None, FreeText("an actor"))
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"

    def __post_init__(self) -> None:
        """Check the settings that depend on one another, too."""
        super().__post_init__()
        rules = self.variant()
        if self.resume and self.out is None:
            self.refuse("resume", "expected the folder of the run as well: out")
        if self.new_metrics and not self.resume:
            self.refuse("new_metrics", "expected resume as well")
        if self.reward == "payments" and not has_payments(rules):
            self.refuse("reward", f"expected zero_sum or win, the {rules.name} rules have no payments")
        most = rules.num_players - 1
        if self.opponent_seats > most:
            self.refuse("opponent_seats", f"expected 0..{most}, a seat is the learner's")
        if self.baseline_share + self.snapshot_share > 1:
            most_share = 1 - self.baseline_share
            self.refuse("snapshot_share", f"expected 0..{most_share:g}, what baseline_share leaves")
        if self.shards > self.num_games:
            self.refuse("shards", f"expected 1..{self.num_games}, a game each")
        if self.executor is None and self.actors is not None:
            self.refuse("actors", "expected an executor as well")
        if self.executor is not None and self.actor is not None:
            self.refuse("actor", "expected none with an executor")
        self._check_variants()

    def _check_variants(self) -> None:
        if self.variants is None:
            return
        for name, value in (("env", None), ("rules", None), ("num_players", None), ("reward", "zero_sum")):
            if getattr(self, name) != value:
                self.refuse(name, "expected none beside variants, which say it")
        if not self.record:
            self.refuse("record", "expected True with variants: their network reads the play summary")
        if self.opponent_seats:
            self.refuse("opponent_seats", "expected 0 with variants: tables differ in size")
        if self.evaluators:
            self.refuse("evaluators", "expected none with variants: they measure under the rules of one game")

    def baseline_names(self) -> tuple[str, ...]:
        """The agents of `baselines`, or the game's own."""
        names = features_of(self.variant()).baseline if self.baselines is None else self.baselines
        return tuple(split_list(names))

    def agent_names(self) -> tuple[str, ...]:
        """All agents of the run, by their names in `tienlen_agents.load`; an executor needs their files."""
        start = [f"policy:{quoted(path)}" for path in several_files(self.start_from or "")]
        return (*start, *self.baseline_names())

    def rollout_options(self) -> dict[str, Any]:
        """What the algorithm needs of rollouts: fields of `tienlen_train.rollout.RolloutJob`."""
        return {}

    def variant(self) -> AnyRules:
        """The rules of the run; with `variants`, the first of them.

        Raises:
            ValueError: an unknown game or preset, or a preset of another game.
        """
        if self.variants is not None and self.variants in Variants():
            return next(found.rules for found in parse_variants(self.variants) if found is not None)
        known = {game.name: game for game in games()}
        if self.env is not None and self.env not in known:
            raise ValueError(f"env={self.env!r}: {expected_one_of(self.env, known)}")
        game = next(iter(known.values())) if self.env is None else known[self.env]
        rules = get_rules(self.rules or next(iter(game.presets)), self.num_players)
        if self.env not in (None, game_of(rules).name):
            raise ValueError(f"rules={self.rules!r}: {expected_one_of(self.rules, game.presets)}")
        return rules


class RunError(RuntimeError):
    """A run that cannot go on: its folder belongs to another run, is damaged, or is on a full disk."""


class DivergenceError(RunError):
    """A run whose loss, weights or metrics are not finite any more."""


# The ``main`` of a command: runs it with `argv`, None for the arguments of the process; the exit code.
Main = Callable[..., int]


def command(main: Main) -> Main:
    """Decorate the ``main`` of a command.

    A wrong setting or file is one line and the exit code 1. Ctrl-C and SIGTERM raise `Interrupted` in it, so
    that it can save its work; they are one line and the exit codes 130 and 143.
    """

    @shows_any_text
    @functools.wraps(main)
    def run(argv: Sequence[str] | None = None) -> int:
        try:
            with interruptible():
                return main(argv)
        except Interrupted as error:
            notes = getattr(error, "__notes__", [])
            program = argparse.ArgumentParser().prog
            print(printable(f"{program}: {'; '.join([str(error), *notes])}"), file=sys.stderr)
            return error.exit_code
        except MissingExtraError:
            raise  # `tienlen_train.cli` reports it
        except (RunError, ValueError, OSError) as error:
            raise SystemExit(f"error: {printable(str(error))}") from error

    return run
