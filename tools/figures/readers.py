"""How the outputs of measured commands are read: each function gets their folders by the commands' keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

DIGITS: Final = 6  # of a stored value
PRINTED: Final = "stdout.txt"  # what a command printed, in its folder
SECONDS: Final = "seconds.txt"  # of processor time that it took, all runs together
DATA_ROUNDS: Final = 200_000
JAX_LINE: Final = r"(?P<key>.+): (?P<million>[\d.]+) M decisions/s; .*; ratio (?P<ratio>[\d.]+)"

Values = dict[str, Any]


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _figure(value: Mapping[str, float]) -> list[float]:
    """The mean of an interval of ``arena.json``, and its half width."""
    return [_rounded(value["mean"]), _rounded((value["high"] - value["low"]) / 2)]


def matches(outputs: Mapping[str, Path]) -> Values:
    """Of ``arena.json``: by the key of the command, the table's title and the agent, every figure it has.

    A figure is ``[mean, half width of the 95 % interval]``.
    """
    found: Values = {}
    for key, folder in outputs.items():
        report = json.loads((folder / "arena.json").read_text(encoding="utf-8"))
        for table in report["tables"]:
            title = _without_folder(table["title"])
            for agent in table["agents"]:
                figures = {
                    name: _figure(value)
                    for name, value in agent.items()
                    if isinstance(value, dict) and value.get("high") is not None
                }
                found.setdefault(key, {}).setdefault(title, {})[_without_folder(agent["name"])] = figures
    return found


def _without_folder(text: str) -> str:
    """A name of an agent in which a policy's file is, without the folder that a clone lies in."""
    return re.sub(r"(?<=policy:)\S*/(?=[^/\s]+\.safetensors)", "", text)


def trainings(outputs: Mapping[str, Path]) -> Values:
    """`matches`, and the minutes of processor time of each command, ``"minutes"``."""
    found = matches(outputs)
    for key, folder in outputs.items():
        found[key]["minutes"] = round(seconds_of(folder) / 60, 1)
    return found


def rows(outputs: Mapping[str, Path]) -> Values:
    """The rows of ``out.json``, a file of `tienlen_train.benchmarks.write_result`."""
    (folder,) = outputs.values()
    found: Values = json.loads((folder / "out.json").read_text(encoding="utf-8"))["rows"]
    return found


def rows_by_key(outputs: Mapping[str, Path]) -> Values:
    """`rows` of each command, by its key."""
    return {key: rows({key: folder}) for key, folder in outputs.items()}


def small_games(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen exact bench``: information sets, and milliseconds of each step, by the command's key."""
    found: Values = {}
    for key, folder in outputs.items():
        title, *lines = (folder / PRINTED).read_text(encoding="utf-8").splitlines()
        (size,) = re.findall(r"([\d,]+) information sets", title)
        times = (line.removesuffix(" ms").rsplit(": ", 1) for line in lines)
        steps = {step: float(time.replace(",", "")) for step, time in times}
        found[key] = {"information_sets": int(size.replace(",", "")), **steps}
    return found


def standings(outputs: Mapping[str, Path]) -> Values:
    """Of ``arena.json`` of a league: the points of each agent, by the key of the command."""
    found: Values = {}
    for key, folder in outputs.items():
        (league,) = json.loads((folder / "arena.json").read_text(encoding="utf-8"))["leagues"]
        found[key] = {agent["name"]: _figure(agent["points"]) for agent in league["standings"]}
    return found


def numbers_in_print(patterns: Sequence[str], outputs: Mapping[str, Path]) -> Values:
    """The numbers that commands print, by the key of the command and the name of the pattern's group.

    Args:
        patterns: regular expressions; the last place where one is found counts.
        outputs: the folders of the commands' outputs.

    Raises:
        ValueError: no command printed a pattern.
    """
    found: Values = {}
    for key, folder in outputs.items():
        text = (folder / PRINTED).read_text(encoding="utf-8")
        found[key] = {}
        for hit in (hit for pattern in patterns for hit in re.finditer(pattern, text)):
            found[key] |= {name: float(number.replace(",", "")) for name, number in hit.groupdict().items()}
    for pattern in patterns:
        if not any(re.compile(pattern).groupindex.keys() <= numbers.keys() for numbers in found.values()):
            raise ValueError(f"no command printed {pattern!r}")
    return found


PAIRED_LINE: Final = (
    r"(?P<agent>\S+) +(?P<points>-?[\d.]+) ± (?P<half>[\d.]+) +"
    r"(?P<more>[-+][\d.]+) ± (?P<more_half>[\d.]+) .*"
)


def paired(outputs: Mapping[str, Path]) -> Values:
    """Of ``research.paired_match``: by the key of the command and the agent, ``"points"`` and ``"more"``.

    The latter is the difference to the first agent of the command on the same deals. Both are
    ``[mean, half width of the 95 % interval]``.
    """
    found: Values = {}
    for key, folder in outputs.items():
        if key == "train":  # it makes a policy that the others meet
            continue
        text = (folder / PRINTED).read_text(encoding="utf-8")
        found[key] = {
            _without_folder(hit["agent"]): {
                "points": [float(hit["points"]), float(hit["half"])],
                "more": [float(hit["more"]), float(hit["more_half"])],
            }
            for hit in re.finditer(PAIRED_LINE, text)
        }
    return found


def printed(*patterns: str) -> Callable[[Mapping[str, Path]], Values]:
    """Reads `numbers_in_print`."""
    return partial(numbers_in_print, patterns)


def timed(*patterns: str) -> Callable[[Mapping[str, Path]], Values]:
    """Reads `numbers_in_print`, and the processor time of each command as ``"processor_seconds"``."""
    return partial(_timed, patterns)


def _timed(patterns: Sequence[str], outputs: Mapping[str, Path]) -> Values:
    found = numbers_in_print(patterns, outputs)
    for key, folder in outputs.items():
        found[key]["processor_seconds"] = seconds_of(folder)
    return found


def seconds_of(folder: Path) -> float:
    """The processor time of the command with this folder."""
    return round(float((folder / SECONDS).read_text(encoding="utf-8")), 1)


def jax_rows(outputs: Mapping[str, Path]) -> Values:
    """Of ``jax_speed.py``: million decisions a second and the ratio to `Batch.step`, by the row's name."""
    (found,) = found_in_lines(JAX_LINE, outputs).values()
    return dict(found)


def data_rates(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen data``: rounds a second of processor time, bytes a decision, by the agents' names."""
    from pyarrow import dataset

    found: Values = {}
    for key, folder in outputs.items():
        decisions = folder / "data" / "decisions"
        size = sum(path.stat().st_size for path in decisions.rglob("*.parquet"))
        found[key] = {
            "rounds_per_second": round(DATA_ROUNDS / seconds_of(folder), 1),
            "bytes_per_decision": round(size / dataset.dataset(decisions).count_rows(), 2),
        }
    return found


def found_in_lines(pattern: str, outputs: Mapping[str, Path]) -> Values:
    """The numbers in every printed line that fits a pattern, by the key of the command and the group ``key``.

    Raises:
        ValueError: a command printed no such line.
    """
    found: Values = {}
    for key, folder in outputs.items():
        lines = (folder / PRINTED).read_text(encoding="utf-8").splitlines()
        hits = [hit.groupdict() for line in lines if (hit := re.fullmatch(pattern, line.strip()))]
        if not hits:
            raise ValueError(f"{key}: no line is {pattern!r}")
        found[key] = {hit.pop("key"): {name: float(one) for name, one in hit.items()} for hit in hits}
    return found


def lines_of(pattern: str) -> Callable[[Mapping[str, Path]], Values]:
    """Reads `found_in_lines`."""
    return partial(found_in_lines, pattern)


def nash_convs(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen exact nashconv``: by the key of the command and the agent its NashConv."""
    found: Values = {}
    for key, folder in outputs.items():
        report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
        found[key] = {one["agent"]: _rounded(one["nash_conv"]) for one in report["results"]}
    return found


def solvers(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen exact solve``: iterations and NashConv at the end, by the command's key."""
    found: Values = {}
    for key, folder in outputs.items():
        last = json.loads((folder / "nash_conv.jsonl").read_text(encoding="utf-8").splitlines()[-1])
        found[key] = {"iterations": last["iteration"], "nash_conv": _rounded(last["nash_conv"])}
    return found


def learning_curves(outputs: Mapping[str, Path]) -> Values:
    """Of ``tienlen bench nash-conv``: by game and algorithm NashConv at the end, seconds of processor time.

    NashConv is ``[geometric mean of the seeds, low, high]``, a 95 % interval; of one run the three are equal.
    """
    from tools.docs.plot_nash_conv import read

    (folder,) = outputs.values()
    return {
        rules: {name: _end_of_curves(runs) for name, runs in algorithms.items()}
        for rules, algorithms in read(folder).items()
    }


def _end_of_curves(runs: Sequence[Any]) -> Values:
    """The last point of an algorithm's runs, an array (points, 3) for each seed."""
    from tienlen_exact.nash_conv import geometric_mean

    seconds, ends = [float(run[-1, 1]) for run in runs], [float(run[-1, 2]) for run in runs]
    spread = geometric_mean(ends) if len(ends) > 1 else 3 * ends
    return {
        "nash_conv": [_rounded(value) for value in spread],
        "seconds": round(sum(seconds) / len(seconds), 1),
    }


def suite_costs(outputs: Mapping[str, Path]) -> Values:
    """Of commands of the suite: seconds of processor time, and bytes of the packet that it wrote, or 0."""
    found: Values = {}
    for key, folder in outputs.items():
        files = [path for path in (folder / "packet").rglob("*") if path.is_file()]
        found[key] = {"seconds": seconds_of(folder), "bytes": sum(path.stat().st_size for path in files)}
    return found
