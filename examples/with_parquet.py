"""The Parquet files of `tienlen data`, read by datasets, polars, DuckDB and torch, without this project.

    pip install -r examples/requirements/parquet.txt tienlen-env
    python examples/with_parquet.py

Each library computes the mean return of the first decisions of each agent; all agree. The loader for torch
gives batches of observations, masks and actions.
"""

import tempfile
from collections.abc import Iterator

import datasets
import duckdb
import numpy as np
import polars
import torch

from tienlen_data import DataConfig, write_data

datasets.disable_progress_bars()


def by_datasets(folder: str) -> dict[str, float]:
    """Hugging Face datasets, by the files' names; the card names both tables, too."""
    table = datasets.load_dataset("parquet", data_files=f"{folder}/decisions/*.parquet", split="train")
    first = table.filter(lambda row: row["step"] < 4)
    agents, returns = np.array(first["agent"]), np.array(first["return"])
    return {agent: float(returns[agents == agent].mean()) for agent in np.unique(agents).tolist()}


def by_polars(folder: str) -> dict[str, float]:
    """Polars, lazily."""
    table = polars.scan_parquet(f"{folder}/decisions/*.parquet").filter(polars.col("step") < 4)
    return dict(table.group_by("agent").agg(polars.col("return").mean()).collect().iter_rows())


def by_duckdb(folder: str) -> dict[str, float]:
    """DuckDB, in SQL."""
    files = f"'{folder}/decisions/*.parquet'"
    rows = duckdb.sql(f'select agent, avg("return") from {files} where step < 4 group by agent').fetchall()
    return dict(rows)


def batches(folder: str, observation_size: int, num_actions: int) -> Iterator[tuple[torch.Tensor, ...]]:
    """Observations float32 (n, O), masks bool (n, A) and actions int64 (n,), by torch's `DataLoader`."""
    table = datasets.load_dataset("parquet", data_files=f"{folder}/decisions/*.parquet", split="train")

    def join(rows: list[dict]) -> tuple[torch.Tensor, ...]:
        packed = np.frombuffer(b"".join(row["observation"] for row in rows), np.uint8).reshape(len(rows), -1)
        bits = np.unpackbits(packed, axis=1, count=observation_size, bitorder="little")
        masks = torch.zeros(len(rows), num_actions, dtype=torch.bool)
        for mask, row in zip(masks, rows, strict=True):
            mask[row["legal_actions"]] = True
        return torch.from_numpy(bits).float(), masks, torch.tensor([row["action"] for row in rows])

    columns = table.select_columns(["observation", "legal_actions", "action"])
    yield from torch.utils.data.DataLoader(columns, batch_size=512, shuffle=True, collate_fn=join)


def main() -> None:
    """Write 500 rounds and read them."""
    with tempfile.TemporaryDirectory() as folder:
        write_data(DataConfig(agents="greedy heuristic", rounds=500, shard_rounds=200), folder)
        for by in (by_datasets, by_polars, by_duckdb):
            found = by(folder)
            print(by.__name__, {agent: round(mean, 4) for agent, mean in sorted(found.items())})
            assert found.keys() == {"greedy", "heuristic"}
            assert np.allclose(
                *([means[agent] for agent in sorted(means)] for means in (found, by_polars(folder)))
            )
        observation, mask, action = next(batches(folder, 452, 453))
        assert mask[torch.arange(len(action)), action].all()
        print("torch:", tuple(observation.shape), tuple(mask.shape), tuple(action.shape))


if __name__ == "__main__":
    main()
