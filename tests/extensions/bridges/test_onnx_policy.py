"""Files of ONNX: choices and probabilities of the network, in the arena, too; files that do not fit."""

import pickle
import time

import numpy as np
import pytest

import tienlen_agents
from tests.needs import needs_onnx
from tienlen_agents import arena
from tienlen_agents.networks.network import first_best
from tienlen_bridges.onnx_policy import _DIGEST_SIZE, main, to_onnx, with_digest
from tienlen_env import extras
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.games.registry import get_rules

NAMES = ("champion:worlds=0", "champion:worlds=0", "reference", "champion:worlds=0", "champion:worlds=0")
RULES = (("cardgames", 4), ("cardgames", 2), ("cardgames", 4), ("south", 3), ("thirteens", 4))
CASES = list(zip(NAMES, RULES, strict=True))


def written(path, name, rules):
    """The agent, and the one of its file."""
    agent = tienlen_agents.load(name)
    path.write_bytes(to_onnx(agent, rules))
    return agent, tienlen_agents.load(f"onnx:{path}")


def compare(path, name, variant, decisions, num_games=256):
    """Play; returns decisions with a choice, ties chosen otherwise, the largest gap, the ratio of times."""
    rules = get_rules(*variant)
    agent, other = written(path, name, rules)
    reward = "payments" if variant[0] == "south" else "zero_sum"
    batch = Batch(rules, num_games, reward=reward, history_length=1, auto_reset=True)
    batch.reset(1)
    rng, free, different, gap, ratios = np.random.default_rng(1), 0, 0, 0.0, []
    while free < decisions:
        view = View(batch)
        start = time.process_time()
        ours = agent.log_probabilities(view)
        middle = time.process_time()
        theirs = other.log_probabilities(view)
        ratios.append((time.process_time() - middle) / (middle - start))
        gap = max(gap, float(abs(ours - theirs).max()))
        legal = view.legal_actions
        best, others = first_best(ours, legal.start), first_best(theirs, legal.start)
        for pair in zip(best, others, strict=True):
            if pair[0] != pair[1]:  # a tie: our network hardly prefers its choice
                assert ours[pair[0]] - ours[pair[1]] < 1e-4
                different += 1
        free, choices = free + int((view.num_legal > 1).sum()), legal.action[best]
        batch.step(np.where(rng.random(num_games) < 0.3, batch.sample(rng), choices))
    return free, different, gap, np.median(ratios)


@needs_onnx
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_a_file_chooses_as_its_network(name, variant, tmp_path):
    _, different, gap, _ = compare(tmp_path / "policy.onnx", name, variant, 2_000)
    assert different <= 1
    assert gap < 1e-4


@needs_onnx
@pytest.mark.nightly
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_a_file_chooses_as_its_network_in_many_decisions(name, variant, tmp_path):
    free, different, gap, ratio = compare(tmp_path / "policy.onnx", name, variant, 100_000)
    print(
        f"{name} {variant}: {free:,} decisions, {different} ties chosen otherwise, gap {gap:.1e}, "
        f"{ratio:.1f} times our own time"
    )
    assert different <= 5
    assert gap < 1e-4


@needs_onnx
def test_a_graph_is_valid_and_the_same_each_time(tmp_path):
    import onnx

    rules = get_rules("cardgames")
    agent, other = written(tmp_path / "policy.onnx", "reference", rules)
    data = (tmp_path / "policy.onnx").read_bytes()
    assert to_onnx(agent, rules) == data
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    names = [put.name for put in model.graph.input]
    pieces = list(Batch(rules, 1).layout)
    assert names[: len(pieces)] == pieces
    assert names[len(pieces) :] == ["play_summary", "derived", "action_mask", "action_features", "prior"]
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert set(metadata) == {"format", "config", "card", "digest"}
    view = View(Batch(rules, 1, history_length=1))
    other.reset(3)
    with pytest.raises(ValueError, match="no decision waits"):
        other.act(view)


@needs_onnx
def test_it_plays_in_the_arena_and_draws_by_its_seed(tmp_path):
    path = tmp_path / "policy.onnx"
    _, other = written(path, "reference", get_rules("cardgames"))
    batch = Batch("cardgames", 64, history_length=1)
    batch.reset(5)
    copy = pickle.loads(pickle.dumps(other))
    np.testing.assert_array_equal(copy.act(View(batch)), other.act(View(batch)))
    drawing = tienlen_agents.load(f"onnx:{path},sample=1")
    choices = []
    for seed in (1, 2, 1):
        drawing.reset(seed)
        choices.append(drawing.act(View(batch)))
    np.testing.assert_array_equal(choices[0], choices[2])
    assert (choices[0] != choices[1]).any()
    result = arena.match(f"onnx:{path}", "reference", num_deals=4, seed=1, workers=2)
    assert result.has_identical_decisions


@needs_onnx
def test_files_that_are_damaged_or_something_else(tmp_path):
    path = tmp_path / "policy.onnx"
    written(path, "reference", get_rules("cardgames"))
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    changed = bytearray(data)
    changed[int(rng.integers(len(data)))] ^= 4
    for wrong in (b"", b"onnx", data[:-1], data[: len(data) // 2], bytes(changed), data + b"\0"):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match="the file is damaged, or not one of `tienlen onnx`"):
            tienlen_agents.load(f"onnx:{path}")
    body = data[:-_DIGEST_SIZE]
    for wrong in (b"", b"no graph", body.replace(b"tienlen-onnx-1", b"tienlen-onnx-9"), body[:-100]):
        path.write_bytes(with_digest(wrong))
        with pytest.raises(ValueError, match="not a policy"):
            tienlen_agents.load(f"onnx:{path}")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        tienlen_agents.load("onnx:nothing.onnx")


@needs_onnx
def test_files_that_do_not_fit_the_rules(tmp_path):
    path = tmp_path / "policy.onnx"
    _, other = written(path, "champion:worlds=0", get_rules("cardgames"))
    for variant in (("cardgames", 3), ("foicica", 4), ("thirteens", 4)):
        with pytest.raises(ValueError, match=r"policy\.onnx: the network"):
            other.check_rules(get_rules(*variant))
    path.write_bytes(with_digest(path.read_bytes()[:-_DIGEST_SIZE].replace(b"\x07derived", b"\x07deviled")))
    with pytest.raises(ValueError, match="inputs that do not fit the rules: derived, deviled"):
        tienlen_agents.load(f"onnx:{path}").check_rules(get_rules("cardgames"))


@needs_onnx
def test_the_command(tmp_path, capsys):
    path = tmp_path / "policy.onnx"
    assert main(["champion:worlds=0", "--rules", "north", "--players", "3", "--out", str(path)]) == 0
    agent = tienlen_agents.load("champion:worlds=0")
    assert path.read_bytes() == to_onnx(agent, get_rules("north", 3))
    tienlen_agents.load(f"onnx:{path}").check_rules(get_rules("north", 3))
    for agent, told in (
        ("heuristic", "expected one of networks"),
        (f"onnx:{path}", "expected one of networks"),
    ):
        with pytest.raises(SystemExit):
            main([agent, "--out", str(tmp_path / "other.onnx")])
        assert told in capsys.readouterr().err
    assert not (tmp_path / "other.onnx").exists()


def test_without_the_packages_the_error_names_them(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda package: not package.startswith("onnx"))
    with pytest.raises(extras.MissingExtraError, match="needs the package onnxruntime"):
        tienlen_agents.load("onnx:policy.onnx")
    with pytest.raises(extras.MissingExtraError, match="a file of ONNX needs the package onnx,"):
        to_onnx(tienlen_agents.load("reference"), get_rules("cardgames"))
