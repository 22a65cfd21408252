"""Settings of training runs, and command lines from config dataclasses: one field, one option."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from tienlen_agents.networks.features import Prior
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, games, get_rules
from tienlen_train.executor import NUM_SHARDS

ConfigT = TypeVar("ConfigT")

# Old names of settings: as options and Python arguments they are errors that name the new one; in the
# config.json of older runs they are read as the new one (`tienlen_train.runs`).
RENAMED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "num_epochs": "update_epochs",
        "clip_range": "clip_coef",
        "entropy": "ent_coef",
        "sharpness": "inverse_temperature",
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Settings of every training run.

    Attributes:
        env: name of the game; None for the game of `rules`.
        rules: preset of the rules; None for the game's first one.
        num_players: seats at the table; None for the number in the rules.
        decisions: decisions of the learning seats to train on; forced moves do not count.
        stop_after: the run ends after this number of iterations, if that is earlier; 0 for no limit.
        eval_every: iterations between quick comparisons; 0 for none.
        eval_deals: deals of a quick comparison, each in all seatings.
        final_deals: held-out deals of the comparison at the end; 0 for none.
        checkpoint_every: iterations between checkpoints.
        seed: of everything.
        threads: processors to use; the result does not depend on it.
        out: run folder; None makes one under runs/, named by the time.
        resume: continue the run in `out`.
    """

    env: str | None = None
    rules: str | None = None
    num_players: int | None = None
    decisions: int = 6_000_000
    stop_after: int = 0
    eval_every: int = 20
    eval_deals: int = 250
    final_deals: int = 2500
    checkpoint_every: int = 10
    seed: int = 1
    threads: int = 2
    out: str | None = None
    resume: bool = False

    def __new__(cls, *_: object, **settings: object) -> Self:
        """Refuse old names of settings with an error that names the new one."""
        for old in settings.keys() & RENAMED.keys():
            if old not in cls.__dataclass_fields__:
                raise TypeError(f"{cls.__name__}: {old} is now {RENAMED[old]}")
        return super().__new__(cls)

    def variant(self) -> AnyRules:
        """The rules of the run.

        Raises:
            ValueError: an unknown game or preset, or a preset of another game.
        """
        known = {game.name: game for game in games()}
        if self.env is not None and self.env not in known:
            raise ValueError(f"env={self.env!r}: expected one of {', '.join(known)}")
        game = next(iter(known.values())) if self.env is None else known[self.env]
        rules = get_rules(self.rules or next(iter(game.presets)), self.num_players)
        if self.env not in (None, game_of(rules).name):
            raise ValueError(f"rules={self.rules!r}: expected one of {', '.join(game.presets)}")
        return rules


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelfPlayConfig(RunConfig):
    """Settings of every algorithm that trains an `ActionNetwork` in self-play.

    Attributes:
        num_games: rounds played in one iteration.
        batch_size: decisions in one gradient step.
        update_epochs: passes over the decisions of an iteration.
        learning_rate: of Adam at the start; it falls linearly to a tenth.
        max_grad_norm: maximum norm of a gradient, by clipping.
        reward: points, or the first place alone.
        prior: added to the network's scores: nothing, or the scores of the game's rule-based agent.
        prior_scale: factor on these scores; None for the game's own.
        record: let the network read the play summary, if the game has one.
        state_width: units of the trunk's layers.
        action_width: units of the layer that joins state and action.
        baseline_share: share of the games in which a rule-based baseline has some of the seats.
        baselines: their names, separated by blanks; None for the game's own.
        snapshot_share: share of the games in which an older snapshot has some of the seats.
        snapshot_every: iterations between snapshots.
        num_snapshots: number of stored snapshots; the oldest is dropped first.
        opponent_seats: seats of the opponent in such a game; 0: a random number, one to all but one.
        start_from: a network file to start from, instead of an untrained network.
        shards: parts of the games of an iteration, each with its own random draws, and of every gradient
            step; results depend on it.
        staleness: iterations that the weights which play may be older than those which learn: 0 for none, 1
            to play an iteration while the one before is learned. Results depend on it.
        cluster: play on a Ray cluster: auto (the one that this machine belongs to), local (a new one on this
            machine) or the address of its head node; None for this process.
        actors: with a cluster: shards of the games that are played at the same time; None for all.
        learners: with a cluster: processes that share the gradient steps, at most as many as shards; 1 is
            this process.
        device: of the training; auto is cuda if available.
        precision: bf16 is two to five times as fast on processors that support it; auto detects that.
    """

    num_games: int = 1024
    batch_size: int = 4096
    update_epochs: int = 2
    learning_rate: float = 1e-3
    max_grad_norm: float = 1.0
    reward: Literal["zero_sum", "win"] = "zero_sum"
    prior: Prior = "heuristic"
    prior_scale: float | None = None
    record: bool = True
    state_width: int = 256
    action_width: int = 128
    baseline_share: float = 0.2
    baselines: str | None = None
    snapshot_share: float = 0.2
    snapshot_every: int = 10
    num_snapshots: int = 10
    opponent_seats: int = 0
    start_from: str | None = None
    shards: int = NUM_SHARDS
    staleness: int = 0
    cluster: str | None = None
    actors: int | None = None
    learners: int = 1
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"


def field_help(config_class: type) -> dict[str, str]:
    """The text of each field in the ``Attributes:`` sections of the docstrings of a class and its bases."""
    found: dict[str, str] = {}
    for base in reversed(config_class.__mro__):
        section = inspect.cleandoc(base.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        entries = re.findall(r"^ {4}(\w+): (.*(?:\n {6,}.*)*)", section, re.M)
        found.update((name, " ".join(text.split())) for name, text in entries)
    return found


class _RenamedOption(argparse.Action):
    """An old option, which is an error that names the new one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        parser.error(f"{option_string} is now {flag_of(RENAMED[self.dest])}")


def flag_of(field: str) -> str:
    """The option of a field: ``--like-this``."""
    return "--" + field.replace("_", "-")


def parse_args(config_class: type[ConfigT], description: str, argv: Sequence[str] | None = None) -> ConfigT:
    """Read a config from the command line; every field is an option ``--like-this``.

    Args:
        config_class: a dataclass whose fields have defaults and are str, int, float, bool, a Literal of str,
            or one of these or None.
        description: of the command, for ``--help``.
        argv: the arguments; None for those of the process.

    Raises:
        SystemExit: ``--help``, or an option that cannot be read (argparse names it).
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    hints, helps = get_type_hints(config_class), field_help(config_class)
    fields = {field.name: field for field in dataclasses.fields(config_class)}  # type: ignore[arg-type]
    for name, field in fields.items():
        hint = hints[name]
        options: dict[str, Any] = {"default": field.default, "help": helps[name].replace("%", "%%")}
        kinds = [k for k in get_args(hint) if k is not type(None)] if type(None) in get_args(hint) else [hint]
        if get_origin(hint) is not None and type(None) not in get_args(hint):
            options["choices"] = get_args(hint)
        elif kinds[0] is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = kinds[0]
            options["metavar"] = kinds[0].__name__.upper()
        parser.add_argument(flag_of(name), **options)
    for old, new in RENAMED.items():
        if new in fields and old not in fields:
            parser.add_argument(
                flag_of(old),
                action=_RenamedOption,
                nargs="?",
                default=argparse.SUPPRESS,
                help=argparse.SUPPRESS,
            )
    return config_class(**vars(parser.parse_args(argv)))
