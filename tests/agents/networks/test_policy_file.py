"""Files of policies: the same bytes each time, a digest, old files, hostile sizes."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tracemalloc
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import tienlen_agents
from tienlen_agents.networks import policy_file
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.network import FORMAT, MAX_WIDTH, Network, NetworkConfig, shapes_of
from tienlen_agents.networks.policy_file import MAX_HEADER
from tienlen_agents.networks.shipped import WEIGHTS
from tienlen_env.engine.agent import View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import get_rules

FROZEN = Path(__file__).parents[2] / "frozen" / "networks"  # were shipped once
# SHA-256 of the names, shapes and bytes of the published weights; they never change.
PUBLISHED = {
    "bga-small-v1": "fc1f3295f2eb43a951e54ccb5d3a49f21f56aa9362486af8dd361654356664be",
    "south_winner-small-v1": "268424df37626f6039e3ac6ba872a95ccac9e33a406293c935418eb21928f33a",
    "cardgames-medium-v5": "9bbd3162a264477d8591f7b017661d085ba7dd3dfef9e4590b149529f0cc9ecf",
    "foicica-small-v3": "dc4299eb89c589f19bc4b300ad6ecb39925de85523cac9d00206015690fe36fd",
    "north-small-v1": "6c8a648ca0661364cbcbd42c342c0aaa40dce6884b1824c314437d6615c8dcac",
    "south-small-v1": "4b3856be0ee539a9d5b6ba306eafe54560c7889af3e44d6e87e00ee0603302e2",
    "south_count-small-v1": "a0eeb5d1d796a2b0afbe75449eb87c434283d288bd927d30ec8c0ad41923c300",
    "cardgames-1234": "fe3ea8db4d907c4aef73f37ff8df4f8f666a17cc3ae1e4a0413bc8ffe5a437b5",
    "thirteens-small-v1": "71dfb929f6bd6402cc60b98c2e1fa25c068d5327a31553af079b36797df5a5ff",
    "tienlen-general-v5": "c446b5afdd9fc08002137489251499b0e1c2601ea4797031fbe49dd1ff16a36c",
    "tienlen-general-v4": "eaaf198a3b83e79a082041df9787dd4a89e226441605bd39436387a6207af35c",
}


def an_agent(**card: Any) -> NetworkAgent:
    config = NetworkConfig.of(get_rules("cardgames"), state_width=1, action_width=2)
    rng = np.random.default_rng(1)
    tensors = {k: rng.normal(size=s).astype(np.float32) for k, s in shapes_of(config).items()}
    return NetworkAgent(Network(config, tensors), card={"note": "tiến lên", **card})


def weights_digest(agent: NetworkAgent) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(agent.network.tensors.items()):
        digest.update(f"{name} {tensor.shape}".encode() + tensor.tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    "path",
    sorted(path for place in (WEIGHTS, FROZEN) for path in place.glob("**/*.safetensors")),
    ids=lambda p: p.stem,
)
def test_published_weights_never_change(path: Path, tmp_path: Path) -> None:
    agent = NetworkAgent.load(path)
    assert weights_digest(agent) == PUBLISHED[path.stem]
    agent.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_matrices_that_lose_nothing_are_stored_as_float16(tmp_path: Path) -> None:
    agent, path = an_agent(), tmp_path / "policy.safetensors"
    agent.save(path)
    assert {str(t.dtype) for t in safetensors.numpy.load_file(path).values()} == {"float32"}
    half = NetworkAgent(Network(agent.network.config, policy_file.rounded(agent.network.tensors)))
    half.save(path)
    stored = safetensors.numpy.load_file(path)
    for name, tensor in half.network.tensors.items():
        is_small = name not in policy_file.EXACT and tensor.ndim > 1
        assert stored[name].dtype == (np.float16 if is_small else np.float32)
        np.testing.assert_array_equal(stored[name], tensor)
        np.testing.assert_allclose(tensor, agent.network.tensors[name], rtol=1e-3, atol=1e-7)
    assert NetworkAgent.load(path).digest == half.digest
    huge = {"a": np.full((2, 2), 1e6, np.float32), "b": np.zeros((2, 2), np.float32)}
    assert [str(t.dtype) for t in policy_file.packed(huge).values()] == ["float32", "float16"]


WRITE = """
import sys
from tests.agents.networks.test_policy_file import an_agent
an_agent().save(sys.argv[1])
"""


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    an_agent().save(tmp_path / "here.safetensors")
    wanted = (tmp_path / "here.safetensors").read_bytes()
    for number in range(2):
        path = tmp_path / f"{number}.safetensors"
        subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True, cwd=Path(__file__).parents[3])
        assert path.read_bytes() == wanted
    for _ in range(20):  # safetensors draws the order of its hash table anew for every file
        an_agent().save(tmp_path / "here.safetensors")
        assert (tmp_path / "here.safetensors").read_bytes() == wanted


def flips_that_load(path: Path, bits: range) -> list[int]:
    """The bits of a file that can be flipped without an error when it is loaded."""
    data, found = path.read_bytes(), []
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            NetworkAgent.load(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            found.append(bit)
    path.write_bytes(data)
    return found


def a_file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.safetensors"
    an_agent().save(path)
    return path


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    path = a_file(tmp_path)
    end = 8 * path.stat().st_size
    header = 8 * (8 + int.from_bytes(path.read_bytes()[:8], "little"))
    assert flips_that_load(path, range(0, header, 13)) == []
    assert flips_that_load(path, range(header, end, 41)) == []


@pytest.mark.nightly
def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    path = a_file(tmp_path)
    assert flips_that_load(path, range(8 * path.stat().st_size)) == []


def test_files_without_a_digest_load_as_before(tmp_path: Path) -> None:
    agent, path = an_agent(), tmp_path / "old.safetensors"
    texts = {"format": FORMAT, "config": json.dumps(asdict(agent.network.config)), "card": "{}"}
    safetensors.numpy.save_file(agent.network.tensors, path, texts)
    again = NetworkAgent.load(path)
    assert weights_digest(again) == weights_digest(agent)
    safetensors.numpy.save_file(agent.network.tensors, path, {**texts, "digesu": "0" * 64})
    with pytest.raises(ValueError, match=r"old\.safetensors.*unknown metadata: 'digesu'"):
        NetworkAgent.load(path)
    safetensors.numpy.save_file(agent.network.tensors, path, {**texts, "digest": "0" * 64})
    with pytest.raises(ValueError, match=r"old\.safetensors.*damaged or was changed"):
        NetworkAgent.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"state_width": 60_000},
        {"state_width": MAX_WIDTH},
        {"history": 10**6},
        {"history": -1},
        {"num_players": 10**9},
        {"observation_size": 10**9},
        {"prior_scale": "x"},
        {"prior": "evil"},
        {"game": "nosuch"},
    ],
    ids=str,
)
def test_hostile_sizes_are_refused_before_memory_is_taken(change: dict[str, Any], tmp_path: Path) -> None:
    agent, path = an_agent(), tmp_path / "hostile.safetensors"
    config = {**asdict(agent.network.config), **change}
    few = {"score.bias": np.zeros(1, np.float32)}  # the whole file has some hundred bytes
    for tensors in (few, agent.network.tensors):
        safetensors.numpy.save_file(tensors, path, {"format": FORMAT, "config": json.dumps(config)})
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=r"hostile\.safetensors"):
                NetworkAgent.load(path)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()


def test_a_header_of_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "header.safetensors"
    for size in (MAX_HEADER + 1, 2**63):
        path.write_bytes(size.to_bytes(8, "little") + b"{" * 2_000_000)
        with pytest.raises(ValueError, match=r"header\.safetensors.*expected at most"):
            NetworkAgent.load(path)


def test_a_missing_file_is_a_typed_error(tmp_path: Path) -> None:
    for name in ("none.safetensors", "none.zip,trust=1", "."):
        with pytest.raises((FileNotFoundError, ValueError), match="policy"):
            tienlen_agents.load(f"policy:{tmp_path}/{name}")
    with pytest.raises(FileNotFoundError, match=r"none\.safetensors.*there is no such file"):
        tienlen_agents.load(f"policy:{tmp_path}/none.safetensors")


def test_weights_that_are_too_large_are_an_error_in_play() -> None:
    agent = an_agent()
    tensors = {name: np.full_like(tensor, 3e38) for name, tensor in agent.network.tensors.items()}
    large = replace(agent, network=Network(agent.network.config, tensors))
    batch = Batch("cardgames", 20)
    batch.reset(1)
    with pytest.raises(ValueError, match="not finite"):
        large.act(View(batch))
