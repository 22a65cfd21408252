"""``tienlen data``: rounds and decisions as Parquet files, which other tools read without this project.

    tienlen data --agents heuristic --rounds 100000 --out data/heuristic
    tienlen data --records games.txt --out data/mine

A data set has one variant. Its folder has a card, ``README.md`` in the form of the Hugging Face hub, and two
tables in *shards*, ``rounds/*.parquet`` and ``decisions/*.parquet``; the card describes every column. A shard
is a pure function of the settings and its number: any number of workers writes the same bytes, and the same
command goes on after a kill. The package pyarrow (the extra ``data``) is imported when a function is called.
"""

from tienlen_data.config import DataConfig, config_of
from tienlen_data.reader import ShardRounds, read_rounds, read_shards
from tienlen_data.rounds import Deal
from tienlen_data.writer import write_data

__all__ = ["DataConfig", "Deal", "ShardRounds", "config_of", "read_rounds", "read_shards", "write_data"]
