"""Measure a trained policy on held-out deals, and add it with its model card to ``champion``.

    python -m research.ship --policy runs/a/policy.safetensors --size small --how "the commands"

The model card has the results, the training commands and the limitations of the policy. No training and no
choice between candidates uses the seed of its deals.
"""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tienlen_agents
from tienlen_agents import arena
from tienlen_agents.command import cpu_name, versions
from tienlen_agents.console import PlainConsole
from tienlen_agents.networks import policy_file, shipped
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import features_by_name
from tienlen_agents.networks.network import Network, mean_network
from tienlen_agents.search.champion import WORLDS, SearchedNetwork
from tienlen_agents.settings import (
    DEALS,
    Config,
    ExistingFile,
    FreeText,
    Pattern,
    Range,
    parse_args,
    setting,
    several_files,
)
from tienlen_env.engine.agent import Agent
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_named, game_of, get_rules, has_payments, variants_of
from tienlen_train.config import ANY_SEED, command
from tienlen_train.runs import write_atomic

SEED = 3_000_001
SEARCH_LIMITS = (
    "The search knows three kinds of players in Tiến lên: the rule-based agent, the network, and self-play; "
    "under rules with payments, and in Thirteens, it takes all for the rule-based agent. "
)
ONE_VARIANT = "The policy plays only these rules with this number of players. "
EVERY_VARIANT = (
    "The policy plays each round for itself, whatever the points of earlier rounds. Its strength was not "
    "measured under rules that no preset has. "
)
SELECTED = (
    "It was selected by its points against rule-based agents and earlier networks; people may find other "
    "weaknesses."
)
NOT_SELECTED = (
    "It was not selected: it is what its command gives, from self-play alone. People may find weaknesses."
)


@dataclass(frozen=True, kw_only=True)
class ShipConfig(Config):
    """Settings of the command.

    Attributes:
        policy: the policy file of a training run. Several, separated by blanks: averages the weights of
            several runs fine-tuned from one initialisation (model soup).
        size: the name of the network's size; a general network is named general whatever it says.
        version: of the weights with this name; published weights never change.
        reference: ship it as a reference policy (`tienlen_agents.networks.shipped`), by its seed.
        how: the training commands, joined by ``&&`` with blanks around it.
        seed: of its training.
        wall_time: of its training, as text.
        exploit: the gain of a best response (`tienlen_train.best_response` prints the line).
        deals: held-out deals of each comparison, each in as many seatings as there are players.
    """

    policy: str = setting("", ExistingFile(several=True))
    size: str = setting("small", Pattern("[a-z0-9]+", "lower-case letters and digits"))
    version: int = setting(1, Range(1, 9999))
    reference: bool = False
    how: str = setting("", FreeText("commands"))
    seed: int = setting(1, ANY_SEED)
    wall_time: str = setting("", FreeText())
    exploit: str = setting("", FreeText())
    deals: int = setting(2500, DEALS)


def mean_policy(paths: Sequence[str]) -> NetworkAgent:
    """The policy of a file, or a policy with the mean weights of several files.

    Raises:
        OSError, ValueError: see `NetworkAgent.load`; or no file is given, or their networks differ in shape.
    """
    if not paths:
        raise ValueError("policy: expected a file")
    policies = [NetworkAgent.load(path) for path in paths]
    try:
        return replace(policies[0], network=mean_network([policy.network for policy in policies]))
    except ValueError as error:
        raise ValueError(f"policy={' '.join(paths)!r}: {error}") from error


def results(agent: NetworkAgent, rules: AnyRules, num_deals: int) -> str:
    """A table, with a line for each opponent: the policy with the champion's search, and alone.

    With the search a general network plays the first preset and the strongest opponent only; where there is
    one, a network of a preset plays without.
    """
    *weaker, strongest = features_by_name(agent.plays).eval_opponents
    figure = "units" if has_payments(rules) else "points"
    lines = [
        f"| alone against {rules.num_players - 1} | parity | {figure} a {game_of(rules).text.unit} "
        "| first places | network alone | first places |",
        "|---|---|---|---|---|---|",
    ]
    for name in (strongest, *reversed(weaker), "random"):
        cells = []
        players: tuple[Agent, ...] = (SearchedNetwork(agent), agent)
        # A game with a general network is searched with that one.
        is_general = agent.network.config.is_general
        is_first = name == strongest and rules.name == next(iter(game_of(rules).presets))
        if not is_first if is_general else (agent.plays, shipped.GENERAL) in shipped.newest():
            players, cells = (agent,), ["–", "–"]
        for player in players:
            opponent = tienlen_agents.load(name)
            found = arena.match(player, opponent, rules=rules, num_deals=num_deals, seed=SEED)
            main, first = found.scores[0].main, found.scores[0].first
            cells += [
                f"{main.mean:.3f} ± {main.half_width:.3f}",
                f"{100 * first.mean:.1f} ± {100 * first.half_width:.1f} %",
            ]
        lines.append(f"| {' | '.join([f'`{name}`', f'{found.parity:.3f}', *cells])} |")
    return "\n".join(lines)


def _fill(text: str) -> str:
    return textwrap.fill(text, 110, break_on_hyphens=False, break_long_words=False)


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write the weights and the card."""
    config = parse_args(ShipConfig, "Ship a trained policy with its card.", argv)
    console = PlainConsole()
    paths = several_files(config.policy)
    agent = mean_policy(paths)
    made_for = agent.network.config
    agent = replace(agent, network=Network(made_for, policy_file.rounded(agent.network.tensors)))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if made_for.is_general:
        name = f"{agent.plays}-{shipped.GENERAL}-v{config.version}"
        plays, limits_of_rules = "every variant of its game, with 2 to 4 players", EVERY_VARIANT
        table = "\n\n".join(
            f"`{rules.name}`, {rules.num_players} players:\n\n{results(agent, rules, config.deals)}"
            for _, rules in variants_of(game_named(agent.plays))
        )
    else:
        size = f"{made_for.rules}-{config.size}-v{config.version}"
        name = f"reference/{made_for.rules}-{config.seed}" if config.reference else size
        plays = f"the `{made_for.rules}` rules with {made_for.num_players} players"
        limits_of_rules = ONE_VARIANT
        table = results(agent, get_rules(made_for.rules, made_for.num_players), config.deals)
    search = (
        f"The champion refines the network's choice by a search in {WORLDS} sampled deals, in more late in a "
        "round, and in all deals where they are few (`tienlen_agents.search.champion`); `champion:worlds=0` "
        "is the network alone."
    )
    if not made_for.is_general and (agent.plays, shipped.GENERAL) in shipped.newest():
        search = (
            f"It is `champion:size={config.size},worlds=0`; the champion searches with a general network."
        )
    measured = _fill(
        f"{config.deals:,} held-out deals × as many seatings as players, seed {SEED}; 95 % intervals "
        "clustered by deal; equal players have the value of parity and equal shares of first places. "
        f"{search}"
    )
    exploit = config.exploit or "no exploiter was trained"
    own_limits = features_by_name(made_for.game).limitations(made_for.record)
    limits = _fill(
        f"**What it cannot do.** {own_limits} {SEARCH_LIMITS}{limits_of_rules}"
        f"{NOT_SELECTED if config.reference else SELECTED}".replace("  ", " ")
    )
    exploited = _fill(
        f"**Exploitability**, a lower bound (`python -m tienlen_train.best_response`): {exploit}"
    )
    trained = _fill(
        f"**Training commands**, seed {config.seed}, {config.wall_time or 'wall time not noted'}, "
        f"{cpu_name()}; the latest commit before it was written is {commit or 'unknown'}:"
    )
    joined = " and ".join(f"`{path}`" for path in paths)
    mean = f"Shipped is the mean of the weights in\n{joined}.\n\n" if len(paths) > 1 else ""
    agent.card = {"results": table, "how": config.how, "seed": config.seed, "versions": versions()}
    card = f"""\
# {name}

A network of {agent.network.num_weights:,} weights that scores legal actions
(`tienlen_agents.networks.network`), for {plays};
prior: {made_for.prior}. Most weights are rounded to float16
(`tienlen_agents.networks.policy_file.rounded`).

{table}

{measured}

{exploited}

**Digest** (SHA-256 of weights, configuration and results in the file):
`{agent.digest}`

{trained}

```
{config.how.replace(" && ", chr(10))}
```

{mean}{limits}
"""
    path = shipped.WEIGHTS / f"{name}.safetensors"
    path.parent.mkdir(exist_ok=True)
    agent.save(path)
    write_atomic(path.with_suffix(".md"), card.encode())
    console.print(f"{path} ({math.ceil(Path(path).stat().st_size / 1000):,} kB)")
    console.print(card, highlight=False, markup=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
