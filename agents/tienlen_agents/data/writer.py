"""Write a data set in shards, by any number of workers."""

from __future__ import annotations

import io
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

from tienlen_agents.arena.executors import end_with_parent
from tienlen_agents.arena.play import batch_for
from tienlen_agents.command import with_bar
from tienlen_agents.data.card import card
from tienlen_agents.data.config import KEY, TABLES, DataConfig, header, header_of, num_rounds, path_of
from tienlen_agents.data.rounds import loaded, play_block, search_of
from tienlen_agents.data.tables import columns_of
from tienlen_agents.files import locked, remove_temporaries, write_atomic
from tienlen_env.extras import require

BLOCK: Final = 4096  # rounds played at once; a shard depends on it


def write_shard(config: DataConfig, out: Path, index: int) -> None:
    """Play or read the rounds of a shard and write its files, the rounds last.

    Raises:
        OSError: the folder cannot be written.
        ValueError: see `play_block`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    total = num_rounds(config)
    first = index * config.shard_rounds
    end = min(first + config.shard_rounds, total)
    files: dict[str, io.BytesIO] = {name: io.BytesIO() for name in TABLES}
    writers: dict[str, Any] = {}
    for begin in range(first, end, BLOCK):
        block = play_block(config, begin, min(BLOCK, end - begin))
        for name, columns in columns_of(config, block, begin).items():
            table = pa.table(columns)
            if name not in writers:
                writers[name] = pq.ParquetWriter(
                    files[name],
                    table.schema,
                    compression="lz4",
                    use_dictionary=["agent"],
                    write_statistics=["round"],
                    store_schema=False,  # `agent` is a text for every reader
                )
            writers[name].write_table(table)
    for name in reversed(TABLES):
        writers[name].add_key_value_metadata({KEY: header(config)})
        writers[name].close()
        write_atomic(path_of(out, name, index), files[name].getvalue())


def write_data(config: DataConfig, out: str | Path, workers: int = 1) -> int:
    """Write a data set, or what is missing of it; the number of rounds.

    Args:
        config: the settings.
        out: the folder.
        workers: number of processes.

    Raises:
        MissingExtraError: pyarrow is not installed.
        ValueError: the folder has another data set, or see `play_block`.
        OSError: it cannot be written, or another process writes there.
    """
    require("pyarrow", "data", "writing data")
    if config.records is None:
        agents = [loaded(name, place) for place, name in enumerate(config.agents.split())]
        if not agents:
            config.refuse("agents", "expected one or more")
        batch_for(agents, config.variant, 1, config.history)
    if config.estimates:
        search_of(config.estimates)
    out, total = Path(out), num_rounds(config)
    if not total:
        raise ValueError(f"{config.records}: expected one or more records")
    indices = range(-(-total // config.shard_rounds))
    with locked(out / ".data"):
        for folder in (out, *(out / name for name in TABLES)):
            remove_temporaries(folder)
        left = []
        for index in indices:
            if not path_of(out, "rounds", index).exists():
                left.append(index)
            elif (found := header_of(path_of(out, "rounds", index))) != header(config):
                raise ValueError(f"{out} has another data set, {found.decode()}; use another folder")
        if workers == 1:
            for index in with_bar(left, "writing", len(left)):
                write_shard(config, out, index)
        elif left:
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent) as pool:
                jobs = [pool.submit(write_shard, config, out, index) for index in left]
                try:
                    for job in with_bar(jobs, "writing", len(jobs)):
                        job.result()
                except BrokenProcessPool as error:
                    raise OSError("a worker process died; the same command goes on from here") from error
                finally:
                    pool.shutdown(cancel_futures=True)
        write_atomic(out / "README.md", card(config, out, len(indices)).encode())
    return total
