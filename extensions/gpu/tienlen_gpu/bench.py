"""What a GPU brings: the environment, acting, learning and the arena, each beside the processor.

    python -m tienlen_gpu.bench                # or: make bench-gpu
    python -m tienlen_gpu.bench --only packed

Without a device, the rows that do not need one are measured, and the table says which rows wait. The JSON has
the runs of every row, the device with its driver and clocks, and the digests that were compared.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console

from tienlen_agents.command import cpu_name
from tienlen_agents.settings import parse_args
from tienlen_env.errors import DeviceError
from tienlen_gpu import bench_environment as gpu_environment, bench_learning as gpu_learning
from tienlen_gpu.bench_environment import BenchRow, Figure, GpuConfig
from tienlen_train.benchmarks import chosen, new_table, short, write_result
from tienlen_train.config import command

# What nvidia-smi says of a device.
_FIELDS: Final = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit")


def device() -> dict[str, str]:
    """The device, its driver and its clocks.

    Raises:
        DeviceError: there is none.
    """
    from tienlen_gpu.cuda import is_simulated, require_device

    require_device()
    if is_simulated():
        raise DeviceError("Numba's simulator is not measured: unset NUMBA_ENABLE_CUDASIM")
    return clocks()


def clocks() -> dict[str, str]:
    """What nvidia-smi says of the first device; empty where it is missing."""
    query = ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader", "--id=0"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(_FIELDS, (part.strip() for part in done.stdout.strip().split(",")), strict=True))


def text_of(value: float, unit: str) -> str:
    """A value with its unit."""
    if unit in ("x", "points"):
        return f"{value:.2f} {unit}"
    return f"{value:.3g} s" if unit == "s" else f"{short(value)} {unit}"


def _show(row: BenchRow, figure: Figure | None, why: str) -> tuple[str, str, str, str]:
    limit = "at most " if row.less_is_better else ""
    goal = "" if row.goal is None else f"{limit}{text_of(row.goal, row.unit)}"
    if figure is None:
        return row.name, why, goal, ""
    more = {key: value for key, value in figure.details.items() if isinstance(value, int | float | str)}
    noted = ", ".join(
        f"{key.replace('_', ' ')} {value:.3g}"
        if isinstance(value, float)
        else f"{key.replace('_', ' ')} {value}"
        for key, value in more.items()
    )
    mark = "" if row.is_reached(figure.value) else " (missed)"
    return row.name, text_of(figure.value, row.unit) + mark, goal, noted


@command
def main(argv: Sequence[str] | None = None) -> int:
    """Measure the rows, print the table and write the JSON."""
    config = parse_args(GpuConfig, __doc__, argv)
    console = Console(width=max(Console().width, 110))
    try:
        found, missing = device(), ""
    except DeviceError as error:
        found, missing = {}, str(error)
    table = new_table()
    for header in ("row", "value", "goal", ""):
        table.add_column(header)
    results: dict[str, Any] = {}
    begin = time.perf_counter()
    all_rows = [*gpu_environment.rows(config), *gpu_learning.rows(config)]
    rows = chosen(config, {row.name: row for row in all_rows}).values()
    for row in rows:
        if row.needs_device and missing:
            table.add_row(*_show(row, None, "waits for a device"), style="dim")
            results[row.name] = {"waits": True, "unit": row.unit, "goal": row.goal}
            continue
        console.print(f"measuring: {row.name}", style="dim")
        try:
            figure = row.measure(config)
        except Exception as error:  # of a compiler or a driver, too: the other rows are not lost
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            table.add_row(*_show(row, None, f"failed: {why}"), style="bold")
            results[row.name] = {"failed": str(error), "unit": row.unit, "goal": row.goal}
            continue
        table.add_row(*_show(row, figure, ""))
        results[row.name] = {"value": figure.value, "unit": row.unit, "goal": row.goal, **figure.details}
    seconds = time.perf_counter() - begin
    console.print(table)
    where = ", ".join(found.values()) or "no device"
    console.print(f"{where} · {cpu_name()} · {seconds:.0f} s", style="dim", highlight=False)
    if missing:
        waiting = sum(row.needs_device for row in rows)
        console.print(
            f"{waiting} rows wait for a machine with a device: make bench-gpu ({missing})", markup=False
        )
    about = {"device": found, "clocks_after": clocks() if found else {}, "seconds": seconds}
    write_result(config, results, console, **about)
    return 1 if any("failed" in result for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
