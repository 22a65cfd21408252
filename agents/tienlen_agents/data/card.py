"""The card of a data set, in the form of the Hugging Face hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tienlen_agents.data.config import SCHEMA, TABLES, DataConfig, header, path_of
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import main_reward

_COLUMNS: Final = {
    "decisions": {
        "round": "number of the round, as in `rounds`",
        "step": "0 for the first decision of the round",
        "seat": "who decides",
        "agent": "its name; null for records",
        "observation": "{size} bits; `numpy.unpackbits(..., bitorder='little')`",
        "legal_actions": "ids, ascending",
        "probabilities": "of the legal actions, by the agent; NaN if it has none",
        "estimates": "return of each legal action, by `{estimates}`",
        "estimate_errors": "half of the 95 % interval of each estimate",
        "action": "id of the action that was played",
        "cards": "the exact cards, card 4 × rank + suit is a bit; 0 for none",
        "return": "of the seat, from here to the end of the round ({reward})",
    },
    "rounds": {
        "round": "number",
        "key": "64-bit key of the deal; null if the hands were given",
        "round_index": "which round of the key's game",
        "leader": "who leads; null if the deal decides",
        "hands": "cards of each seat if they were given",
        "extra": "the game's other cards, with given hands",
        "agents": "name of the agent in each seat",
        "num_decisions": "rows of the round in `decisions`",
        "places": "of each seat, 0 is first",
        "points": "of each seat",
        "units": "what each seat got in payments, less what it paid",
    },
}


def card(config: DataConfig, out: Path, num_shards: int) -> str:
    """The data card: metadata of the hub in YAML, then the tables for people."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rules, batch = config.variant, Batch(config.variant, history=config.history)
    sizes = {
        name: sum(pq.read_metadata(path_of(out, name, index)).num_rows for index in range(num_shards))
        for name in TABLES
    }
    source = f"records of {Path(config.records).name}" if config.records else f"played by {config.agents}"
    title = f"{sizes['rounds']:,} rounds of {batch.game.name}, {rules.name}, {rules.num_players} players"
    words = {"size": batch.observation_size, "estimates": config.estimates, "reward": main_reward(rules)}
    lines = [
        "---",
        f"pretty_name: {json.dumps(title)}",
        "tags: [reinforcement-learning, imitation-learning, card-game, imperfect-information]",
        "configs:",
    ]
    for name in reversed(TABLES):
        lines += [f"- config_name: {name}", f"  data_files: {name}/*.parquet"]
    lines += ["---", "", f"# {title}", "", f"{sizes['decisions']:,} decisions, {source}. Settings:", ""]
    lines += ["```json", header(config).decode(), "```", "", f"Rules: `{rules!r}`", ""]
    for name in reversed(TABLES):
        schema = pq.read_schema(path_of(out, name, 0))
        lines += [f"## `{name}`", "", "| column | type | meaning |", "|---|---|---|"]
        for field in schema:
            kind = str(field.type).replace("element: ", "").replace(" not null", "")
            lines.append(f"| `{field.name}` | {kind} | {_COLUMNS[name][field.name].format(**words)} |")
        lines.append("")
    lines += ["## Pieces of the observation", "", "| bits | piece | meaning |", "|---|---|---|"]
    lines += [
        f"| {piece.slice.start} to {piece.slice.stop - 1} | `{name}` | {piece.meaning} |"
        for name, piece in batch.layout.items()
    ]
    lines += ["", f"Written by `tienlen data` with pyarrow {pa.__version__}, schema {SCHEMA}.", ""]
    return "\n".join(lines)
