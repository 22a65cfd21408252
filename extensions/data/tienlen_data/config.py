"""What a data set is: its settings, where its files are, and how a file says which settings it has."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tienlen_agents.external.seeds import SEED_KEY
from tienlen_agents.files import read_json, refusing
from tienlen_agents.settings import (
    COUNT,
    COUNT_OR_NONE,
    Choice,
    Config,
    ExistingFile,
    FreeText,
    Range,
    setting,
)
from tienlen_env.extras import require
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import PRESETS, get_rules

SCHEMA: Final = 1  # of the tables; a change of a column's name, type or meaning raises it
TABLES: Final = ("rounds", "decisions")
KEY: Final = b"tienlen"  # of the settings in a file's metadata


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """What determines the bytes of a data set, besides the versions of this project and of pyarrow.

    Attributes:
        rules: the variant.
        players: number of players, if not that of the rules.
        agents: names, separated by blanks (a name with a blank in double quotes); of E agents, number
            (s + i) % E has the seat s of round i.
        records: read rounds from this file, a record a line, in place of playing.
        rounds: how many; of records, at most.
        history: number of past plays in observations.
        probabilities: write the probability of each legal action, of agents that have them.
        estimates: name of a search that estimates the return of every legal action; empty for none.
        seed: of the deals and the agents.
        shard_rounds: rounds of a shard.
        seed_key: of the seeds of agents in other processes, as the files have it; empty: that of the files
            that are there, or a new one (`tienlen_agents.external.seeds`).
    """

    rules: str = setting("cardgames", Choice(lambda: PRESETS))
    players: int | None = setting(None, Range(2))
    agents: str = setting("random", FreeText("names of agents"))
    records: str | None = setting(None, ExistingFile())
    rounds: int = setting(10_000, COUNT)
    history: int = setting(0, COUNT_OR_NONE)
    probabilities: bool = False
    estimates: str = setting("", FreeText("an agent"))
    seed: int = setting(0, COUNT_OR_NONE)
    shard_rounds: int = setting(16_384, COUNT)
    seed_key: str = setting("", SEED_KEY)

    @property
    def variant(self) -> AnyRules:
        """The rules with their number of players."""
        return get_rules(self.rules, self.players)


def header(config: DataConfig) -> bytes:
    """What the metadata of each file has under the key ``tienlen``: the schema and the settings as JSON."""
    settings = {name: getattr(config, name) for name in asdict(DataConfig())}
    if not config.seed_key:
        del settings["seed_key"]
    return json.dumps({"schema": SCHEMA, **settings}, sort_keys=True).encode()


def num_rounds(config: DataConfig) -> int:
    """The number of rounds of a data set."""
    if config.records is None:
        return config.rounds
    with open(config.records, "rb") as file:
        return sum(1 for _ in itertools.islice(file, config.rounds))


def path_of(out: Path, table: str, index: int) -> Path:
    """The file of a shard."""
    return out / table / f"{index:05d}.parquet"


def header_of(path: Path) -> bytes:
    """The `header` of a file.

    Raises:
        ValueError: not a file of ``tienlen data``.
    """
    import pyarrow.parquet as pq

    with refusing(f"{path}: not a file of `tienlen data`"):
        return bytes(pq.read_metadata(path).metadata[KEY])


def config_of(folder: str | Path) -> DataConfig:
    """The settings of a data set.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ValueError: the folder has none, or one of another schema.
    """
    require("pyarrow", "data", "reading data")
    path = path_of(Path(folder), "rounds", 0)
    if not path.is_file():
        raise ValueError(f"{str(folder)!r}: expected a folder of `tienlen data`")
    text = header_of(path)
    with refusing(str(path)):
        found = read_json(text)
        if found.pop("schema", None) != SCHEMA:
            raise ValueError(f"expected schema {SCHEMA} of `tienlen data`")
        # The rounds are in the files: records that they came from need not exist any more.
        config = DataConfig(**{**found, "records": None})
        get_rules(config.rules, config.players)
    return config
