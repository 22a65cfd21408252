"""Settings: every field of every configuration has a range, which is checked before any work."""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from tests.needs import ROOT
from tienlen_agents.settings import (
    Choice,
    Config,
    ConfigError,
    ExistingFile,
    Pattern,
    Range,
    flag_of,
    settings_of,
)
from tienlen_train import best_response, dmc, league, ppo
from tienlen_train.config import Main

# The modules of training, extensions and research that have a configuration; some folders may be missing.
WITH_CONFIG = sorted(
    path
    for folder in (ROOT / "train", ROOT / "extensions", ROOT / "research")
    for path in folder.rglob("*.py")
    if re.search(r"^class \w+Config\b", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    first = next(i for i, part in enumerate(parts) if part.startswith("tienlen_") or part == "research")
    return ".".join(parts[first:]).removesuffix(".__init__")


def all_configs() -> list[type[Config]]:
    """Every configuration of these modules."""
    modules = {module_of(path) for path in WITH_CONFIG}
    for module in sorted(modules):
        importlib.import_module(module)

    def below(config: type[Config]) -> Iterator[type[Config]]:
        for subclass in config.__subclasses__():
            if subclass.__module__ in modules:
                yield subclass
                yield from below(subclass)

    return sorted(set(below(Config)), key=lambda config: config.__name__)


CONFIGS = all_configs()
FIELDS = [(config, name) for config in CONFIGS for name in settings_of(config)]
each_field = pytest.mark.parametrize(("config", "name"), FIELDS, ids=lambda x: getattr(x, "__name__", x))


def test_all_configurations_are_found() -> None:
    found = {config.__name__ for config in CONFIGS}
    wanted = "PPOConfig DMCConfig BestResponseConfig BeliefConfig BenchConfig"
    assert found >= set(wanted.split())
    for path in WITH_CONFIG:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("class ") and line.partition("(")[0].rstrip(":").endswith("Config"):
                name = line.removeprefix("class ").partition("(")[0].rstrip(":")
                assert name in found | {"Config"}, f"{path.name}: {name} is not a Config"


@each_field
def test_every_field_states_its_range(config: type[Config], name: str) -> None:
    hint, expected = get_type_hints(config)[name], settings_of(config)[name].allowed
    if hint is bool or get_origin(hint) is Literal:
        return
    assert expected is not None, f"{config.__name__}.{name} has no range: use tienlen_train.config.setting"
    kinds = set(get_args(hint) or (hint,)) - {type(None)}
    assert kinds == {str} or isinstance(expected, Range)
    assert str(expected)
    default = {field.name: field.default for field in dataclasses.fields(config)}[name]
    assert default is None or default in expected


def outside(config: type[Config], name: str) -> list[Any]:
    """Values that a field must refuse."""
    hint, expected = get_type_hints(config)[name], settings_of(config)[name].allowed
    if hint is bool:
        return [1, "yes", None]
    if get_origin(hint) is Literal:
        return ["nosuch", 0, None]
    found: list[Any] = [object(), b"x"]
    if isinstance(expected, Range):
        found += [True, "x", math.nan, math.inf, -math.inf]
        found += [expected.least - 1 if not expected.or_zero else -1]
        found += [expected.least] if expected.above else []
        found += [1] if expected.or_zero and expected.least > 1 else []
        found += [] if expected.most is None else [expected.most + 1]
        if int in (get_args(hint) or (hint,)):
            found.append(expected.least + 0.5)
    elif isinstance(expected, Choice | Pattern):
        found += ["no such", "../x", *([] if "" in expected else [""])]
    elif isinstance(expected, ExistingFile):
        found += ["/nosuch/file", "\0", "x" * 400]
    else:
        found += [3, "\0"]
    return found


@each_field
def test_what_is_outside_is_refused(config: type[Config], name: str) -> None:
    for value in outside(config, name):
        with pytest.raises(ConfigError) as caught:
            config(**{name: value})
        assert caught.value.field == name
        assert "expected" in str(caught.value)
        expected = settings_of(config)[name].allowed
        assert expected is None or str(expected) in str(caught.value)


@pytest.mark.parametrize("config", CONFIGS)
def test_the_ends_of_a_range_are_allowed(config: type[Config]) -> None:
    for name in settings_of(config):
        expected = settings_of(config)[name].allowed
        if not isinstance(expected, Range):
            continue
        for value in (expected.least, expected.most):
            if value is not None:
                assert (value in expected) is not (expected.above and value == expected.least)


def check_refusal(main: Main, option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command names the option in the error, and writes nothing."""
    with pytest.raises(SystemExit) as caught:
        main(option.split())
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert option.split()[0].removeprefix("--").replace("-", "_") in error.replace("-", "_")
    assert "expected" in error
    assert "Traceback" not in error
    assert list(folder.iterdir()) == []


MAINS = {
    "ppo": ppo.main,
    "dmc": dmc.main,
    "best_response": best_response.main,
    "league": league.main,
}

REFUSED = [
    *(
        (name, option)
        for name in ("ppo", "dmc", "best_response")
        for option in (
            "--decisions -5", "--decisions 0", "--stop-after -1", "--eval-every -1", "--eval-deals 0",
            "--eval-deals 1", "--final-deals 1", "--final-deals -1", "--checkpoint-every 0", "--seed -1",
            "--threads 0", "--num-players 9", "--num-players 0", "--num-games 0", "--num-games -3",
            "--batch-size 0", "--update-epochs 0", "--learning-rate 0", "--learning-rate -1",
            "--learning-rate 1e9", "--learning-rate nan", "--max-grad-norm 0", "--baseline-share 1.5",
            "--snapshot-share nan", "--snapshot-share 0.9", "--snapshot-every 0", "--num-snapshots 0",
            "--gamma 2" if name != "dmc" else "--temperature 0", "--rules nosuch", "--env nosuch", "--resume",
            "--new-metrics",
        )
    ),
    *(
        (name, option)
        for name in ("ppo", "dmc", "best_response")
        for option in (
            "--num-games 1", "--opponent-seats 4", "--opponent-seats 9", "--opponent-seats -1",
            "--state-width 0", "--state-width 1000000", "--action-width 1", "--prior-scale inf",
            "--start-from /nosuch.safetensors",
        )
    ),
    ("ppo", "--critic-width 0"), ("ppo", "--clip-coef 0"), ("ppo", "--ent-coef -1"), ("ppo", "--vf-coef nan"),
    ("ppo", "--critic-warmup -1"), ("ppo", "--gae-lambda 1.1"), ("dmc", "--inverse-temperature 0"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "option"), REFUSED)
def test_commands_refuse_before_any_work(
    name: str,
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refusal(MAINS[name], option, tmp_path, capsys)


@pytest.mark.parametrize(
    "option", ["--staleness=1", "--stop-after=3", "--final-deals=10", "--snapshot-every=3"]
)
def test_a_population_does_not_have_all_settings_of_one_learner(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        league.main([option, "--out", str(tmp_path / "a")])
    assert caught.value.code == 2
    assert f"unrecognized arguments: {option}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("ppo", "--baselines greddy", "baselines: unknown agent 'greddy'"),
        ("best_response", "--agent greddy", "unknown agent 'greddy'"),
        ("best_response", "--agent policy:/nosuch.safetensors", "there is no such file"),
    ],
)
def test_what_only_the_command_can_know_is_one_line_before_any_work(
    name: str, option: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message) as caught:
        MAINS[name](option.split())
    assert str(caught.value).startswith("error: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_is_refused_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="device: expected auto or cpu"):
        ppo.main(["--device", "cuda", "--out", str(tmp_path / "a")])
    assert list(tmp_path.iterdir()) == []


def test_the_last_opponent_seat_depends_on_the_players() -> None:
    assert ppo.PPOConfig(opponent_seats=3).opponent_seats == 3
    with pytest.raises(ConfigError, match=r"opponent_seats: expected 0\.\.1, .* got 2"):
        ppo.PPOConfig(opponent_seats=2, num_players=2)


def test_ranges_as_text() -> None:
    texts = {
        Range(1, 4): "1..4",
        Range(1): "1 or more",
        Range(2, or_zero=True): "0, or 2 or more",
        Range(0, 1, above=True): "above 0, at most 1",
        Range(0, 1_000_000): "0..1,000,000",
    }
    assert {str(key): str(key) for key in texts} == {text: text for text in texts.values()}
    assert flag_of("num_games") == "--num-games"


@pytest.mark.parametrize("name", ["ppo", "dmc", "best_response", "league"])
def test_help_begins_with_few_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        MAINS[name](["--help"])
    first, *others = capsys.readouterr().out.partition("\noptions:\n")[2].split("\n\n")
    assert 1 < len(re.findall("^  -", first, re.MULTILINE)) <= 12
    assert {other.partition(":\n")[0] for other in others} >= {"the network", "opponents", "where it runs"}


def test_groups_of_options_name_fields_once() -> None:
    for config in CONFIGS:
        names = " ".join(config.groups.values()).split()
        assert len(names) == len(set(names))
        assert {*names} <= {field.name for field in dataclasses.fields(config)}
