"""Damaged and forged files of every kind that a stranger may send: each is refused in one line, or as it was.

A damaged file has some bytes changed. A forged one has other values, and the checksums that they then have.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import io
import json
import random
import shutil
import signal
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np

from tests.extensions.suite.suites import TINY, tiny
from tests.needs import ROOT
from tienlen_agents.arena.store import ArenaRunError, ChunkStore
from tienlen_agents.networks import policy_file
from tienlen_agents.networks.network import read_policy
from tienlen_env.extras import is_installed
from tienlen_env.games.registry import get_rules
from tienlen_exact import build, small_game
from tienlen_exact.agent import load_exact, save_policy
from tienlen_exact.policies import uniform
from tienlen_exact.solvers import Solver
from tienlen_suite import Packet, PacketError, check, read_packet, run
from tienlen_suite.checking import SUITES
from tienlen_suite.packet import checksums
from tienlen_suite.page import read_entry
from tienlen_suite.submitted import unpack
from tienlen_table.server.store import Store, StoreError
from tienlen_train.config import RunError
from tienlen_train.ppo import PPOConfig
from tienlen_train.runs import RunFolder

FROZEN: Final = ROOT / "tests" / "frozen"
SECONDS: Final = 60  # of a reader; what takes longer hangs
ODD: Final = (
    "", " ", "x", "\x1b[2J", "../../etc/passwd", "champion", 0, -1, 1, 2**31, 2**63, -(2**64), 10**400, 0.5,
    1e308, True, None, [], {}, [[]], [1, "x"], {"x": 1},
)  # fmt: skip


class FaultError(Exception):
    """An input was not refused as it should be."""


class Kind(NamedTuple):
    """A kind of file.

    Attributes:
        make: writes good files into a folder.
        file: the one that is changed.
        read: reads it; what it found, to be compared.
        errors: of a refusal.
        forge: other content with right checksums; None: there is nothing to forge.
        is_sealed: a change of any byte of what is read is found, by a checksum or by the rules.
        package: that it needs besides the project's own.
    """

    make: Callable[[Path], None]
    file: str
    read: Callable[[Path], object]
    errors: type[Exception] = ValueError
    forge: Callable[[random.Random, bytes], bytes] | None = None
    is_sealed: bool = True
    package: str = ""


# ---------------------------------------------------------------- how files are changed


def changed_bytes(draw: random.Random, data: bytes) -> bytes:
    """Bytes with some of them changed, cut or put in."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 3, 30))):
        at = draw.randrange(len(found) + 1)
        match draw.randrange(4):
            case 0 if at < len(found):
                found[at] ^= 1 << draw.randrange(8)
            case 1:
                del found[at : at + draw.choice((1, 8, 1000))]
            case 2:
                found[at:at] = draw.randbytes(draw.choice((1, 8, 100)))
            case _:
                del found[at:]
    return bytes(found)


def changed_values(draw: random.Random, values: Any) -> Any:
    """JSON values with one of them changed, or left out."""
    found = copy.deepcopy(values)
    place, key = {"": found}, ""
    while isinstance(place[key], dict | list) and place[key] and (key == "" or draw.random() < 0.8):
        place = place[key]
        key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
    if draw.random() < 0.2 and place is not found and key != "":
        del place[key]
    else:
        place[key] = draw.choice(ODD)
    return found


def forged_json(draw: random.Random, data: bytes) -> bytes:
    """The values of a JSON file changed."""
    return json.dumps(changed_values(draw, json.loads(data))).encode()


def forged_row(draw: random.Random, data: bytes) -> bytes:
    """A row with other values, and the digest of its packet."""
    row = changed_values(draw, json.loads(data))
    with contextlib.suppress(Exception):
        row["packet"]["digest"] = Packet(
            {k: v for k, v in row["packet"].items() if k != "digest"}, {}, {}
        ).digest
    return json.dumps(row).encode()


def forged_packet(draw: random.Random, data: bytes) -> bytes:
    """A packet.json with other values, and its digest."""
    values = changed_values(draw, {k: v for k, v in json.loads(data).items() if k != "digest"})
    return json.dumps({**values, "digest": Packet(values, {}, {}).digest}).encode()


def forged_policy(draw: random.Random, data: bytes) -> bytes:
    """A policy with another configuration, and its digest."""
    from safetensors.numpy import load

    size = int.from_bytes(data[:8], "little")
    texts = json.loads(data[8 : 8 + size])["__metadata__"]
    tensors = dict(load(data))
    if draw.random() < 0.3:
        name = draw.choice(list(tensors))
        tensors[name] = draw.choice((tensors[name].astype(np.int64), tensors[name][:1], np.full(3, np.nan)))
    else:
        key = draw.choice(("config", "config", "card", "format"))
        texts[key] = draw.choice(("", "x", json.dumps(changed_values(draw, json.loads(texts["config"])))))
    return policy_file.to_bytes(tensors, {name: texts[name] for name in policy_file.TEXTS})


def forged_arrays(draw: random.Random, data: bytes) -> bytes:
    """An archive of arrays with another array in it."""
    with np.load(io.BytesIO(data)) as stored:
        arrays = dict(stored)
    name = draw.choice(list(arrays))
    old = arrays[name]
    arrays[name] = draw.choice(
        (
            np.array(draw.choice(("x", 1, -1, 10**9, 0.5, True))),
            np.full(3, 1 + 1j),
            np.full(old.shape, np.nan),
            old.reshape(-1)[:1],
            np.array(["x", "y"]),
            np.zeros((0, 2)),
        )
    )
    if draw.random() < 0.2:
        del arrays[name]
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def forged_chunks(draw: random.Random, data: bytes) -> bytes:
    """A line of a chunk with other values, and its checksum."""
    lines = data.splitlines()
    at = draw.randrange(1, len(lines))
    values = changed_values(draw, {k: v for k, v in json.loads(lines[at]).items() if k != "sha256"})
    line = json.dumps(values, separators=(",", ":")).encode()
    digest = hashlib.sha256(line).hexdigest()
    lines[at] = line[:-1] + f',"sha256":"{digest}"}}'.encode()
    return b"\n".join(lines) + b"\n"


def forged_onnx(draw: random.Random, data: bytes) -> bytes:
    """A graph with some bytes changed, and its digest."""
    from tienlen_bridges.onnx_policy import _DIGEST_SIZE, with_digest

    return with_digest(changed_bytes(draw, data[:-_DIGEST_SIZE]))


def forged_table(draw: random.Random, data: bytes) -> bytes:
    """A table of Parquet with another column, and the same metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(data))
    name = draw.choice(table.column_names)
    num = len(table)
    other = draw.choice(
        (
            pa.array([None] * num, pa.int64()),
            pa.array(["x"] * num),
            pa.array([2**62] * num),
            pa.array([-1] * num),
            pa.array([0.5] * num),
            pa.array([[1, 2]] * num),
            pa.array([{"x": 1}] * num),
        )
    )
    index = table.column_names.index(name)
    table = table.drop([name]) if draw.random() < 0.2 else table.set_column(index, name, other)
    out = io.BytesIO()
    pq.write_table(table.slice(0, draw.choice((0, 1, num, num))), out)
    return out.getvalue()


# ---------------------------------------------------------------- good files, and their readers


def make_run(path: Path) -> None:
    """The folder of a run."""
    shutil.copytree(FROZEN / "ppo", path, dirs_exist_ok=True)


def read_run(path: Path) -> object:
    """A folder of training as `tienlen train --resume` reads it."""
    settings = json.loads((FROZEN / "ppo" / "config.json").read_text())["config"]
    known = {field.name for field in dataclasses.fields(PPOConfig)}
    config = PPOConfig(**{name: value for name, value in settings.items() if name in known})
    with RunFolder(path, config, get_rules("cardgames"), resume=True) as folder:
        found = folder.load_checkpoint()
        assert found is not None
        folder.trim_metrics(found[0])
    return found[0], (path / "metrics.jsonl").read_bytes()


def make_match(path: Path) -> None:
    """The chunks of a match."""
    shutil.copy(FROZEN / "match" / "chunks.jsonl", path)


def read_chunks(path: Path) -> object:
    """A match as `tienlen match --out` reads it."""
    header = json.loads((FROZEN / "match" / "chunks.jsonl").read_bytes().splitlines()[0])
    del header["schema"]
    with contextlib.closing(ChunkStore(path / "chunks.jsonl", header)) as store:
        return {key: chunk.to_dict() for key, chunk in store.chunks.items()}


def read_games(path: Path) -> None:
    """The games of a server."""
    with contextlib.closing(Store(path / "games.sqlite")) as store:
        store.find("x")


def make_policy(path: Path) -> None:
    """A policy."""
    shutil.copy(FROZEN / "ppo" / "policy.safetensors", path)


def read_network(path: Path) -> object:
    """A policy."""
    network, card = read_policy(path / "policy.safetensors")
    return network.config, card, {name: tensor.tobytes() for name, tensor in network.tensors.items()}


@cache
def mini() -> Any:
    """The tree of a small game."""
    return build(small_game("mini"))


def make_exact(path: Path) -> None:
    """A policy of the laboratory, and a checkpoint."""
    save_policy(path / "policy.npz", mini(), uniform(mini()), "uniform")
    Solver(mini(), "cfr+").save(path / "checkpoint.npz")


def read_exact(path: Path) -> object:
    """A policy of the laboratory."""
    agent = load_exact(str(path / "policy.npz"))
    return agent.history, agent.policy_on(mini()).tobytes()


def read_checkpoint(path: Path) -> object:
    """A checkpoint of the laboratory."""
    solver = Solver(mini(), "cfr+")
    solver.resume(path / "checkpoint.npz")
    return solver.iteration, solver.policy().tobytes()


def make_onnx(path: Path) -> None:
    """A policy as a graph of ONNX."""
    from tienlen_agents.networks.agent import NetworkAgent
    from tienlen_bridges.onnx_policy import to_onnx

    network, _ = read_policy(FROZEN / "ppo" / "policy.safetensors")
    (path / "policy.onnx").write_bytes(to_onnx(NetworkAgent(network, "x"), get_rules("cardgames")))


def read_onnx(path: Path) -> object:
    """A graph of ONNX; its digest is that of all its bytes."""
    from tienlen_bridges.onnx_policy import OnnxAgent

    return OnnxAgent(str(path / "policy.onnx")).history


def make_data(path: Path) -> None:
    """A data set."""
    from tienlen_data import DataConfig, write_data

    write_data(DataConfig(agents="random", rounds=3), path)


def read_data(path: Path) -> object:
    """The rounds of a data set."""
    from tienlen_data import read_rounds

    return [played.record() for played in read_rounds(path)]


def make_row(path: Path) -> None:
    """A row of the leaderboard."""
    shutil.copy(ROOT / "leaderboard" / "A-greedy.json", path / "row.json")


def read_row(path: Path) -> object:
    """A row; the digest is that of its packet, and the rest is claims."""
    return read_entry(path / "row.json")["packet"]


@contextlib.contextmanager
def tiny_suite() -> Iterator[None]:
    """The small suite of the tests is known."""
    with mock.patch.dict(SUITES, {"tiny": TINY}):
        yield


def make_packet(path: Path) -> None:
    """A packet, and its archive."""
    with tiny_suite():
        run("heuristic", tiny("D"), path)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*.*")):
            archive.write(file, file.relative_to(path))
    path.with_suffix(".zip").write_bytes(out.getvalue())
    shutil.move(path.with_suffix(".zip"), path / "packet.zip")


def read_of_packet(path: Path) -> object:
    """A packet; run.json has no checksum."""
    (path / "packet.zip").unlink(missing_ok=True)
    with tiny_suite():
        check(path)
    packet = read_packet(path)
    return packet.digest, checksums(packet.contents)


def read_archive(path: Path) -> object:
    """The archive of a packet."""
    unpack((path / "packet.zip").read_bytes(), path / "unpacked")
    packet = read_packet(path / "unpacked")
    return packet.digest, checksums(packet.contents)


KINDS: Final[dict[str, Kind]] = {
    "policy": Kind(make_policy, "policy.safetensors", read_network, forge=forged_policy),
    "settings": Kind(make_run, "config.json", read_run, RunError, forged_json, is_sealed=False),
    "metrics": Kind(make_run, "metrics.jsonl", read_run, RunError, is_sealed=False),
    "checkpoint": Kind(make_run, "checkpoints/000003.pt", read_run, RunError, is_sealed=False),
    "chunks": Kind(make_match, "chunks.jsonl", read_chunks, ArenaRunError, forged_chunks, is_sealed=False),
    "games": Kind(lambda path: Store(path / "games.sqlite").close(), "games.sqlite", read_games, StoreError),
    "exact policy": Kind(make_exact, "policy.npz", read_exact, forge=forged_arrays),
    "exact checkpoint": Kind(make_exact, "checkpoint.npz", read_checkpoint, forge=forged_arrays),
    "graph": Kind(make_onnx, "policy.onnx", read_onnx, forge=forged_onnx, package="onnx"),
    **{
        name: Kind(make_data, f"{name}/00000.parquet", read_data, forge=forged_table, package="pyarrow")
        for name in ("rounds", "decisions")
    },
    "row": Kind(make_row, "row.json", read_row, PacketError, forged_row),
    "packet": Kind(make_packet, "packet.json", read_of_packet, PacketError, forged_packet),
    "run of a packet": Kind(make_packet, "run.json", read_of_packet, PacketError, forged_json),
    "content": Kind(make_packet, "policies/01.xz", read_of_packet, PacketError),
    "archive": Kind(make_packet, "packet.zip", read_archive, PacketError),
}


@cache
def good(name: str) -> tuple[tempfile.TemporaryDirectory[str], object]:
    """The folder of good files of a kind, and what its reader finds."""
    folder = tempfile.TemporaryDirectory()
    KINDS[name].make(Path(folder.name))
    with tempfile.TemporaryDirectory() as other:
        shutil.copytree(folder.name, other, dirs_exist_ok=True)
        return folder, KINDS[name].read(Path(other))


def _too_long(*_: object) -> None:
    raise FaultError(f"more than {SECONDS} s")


def one_file(draw: random.Random, name: str = "") -> None:
    """A file that is damaged or forged.

    Raises:
        FaultError: it was not refused in one line with its name, and not read as it was.
    """
    name = name or draw.choice([each for each in KINDS if is_installed(KINDS[each].package or "json")])
    kind, (source, wanted) = KINDS[name], good(name)
    is_forged = kind.forge is not None and draw.random() < 0.5
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        path = Path(folder) / "it"
        shutil.copytree(source.name, path)
        data = (path / kind.file).read_bytes()
        change = kind.forge if is_forged and kind.forge else changed_bytes
        (path / kind.file).write_bytes(change(draw, data))
        before = signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = kind.read(path)
        except kind.errors as error:
            told = str(error)
            if "\n" in told or len(told) > 2000:
                raise FaultError(f"{name}: not one line: {told!r:.300}") from error
        else:
            if kind.is_sealed and not is_forged and found != wanted:
                raise FaultError(f"{name}: read as something else")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
