"""A stranger's agent learns nothing of the deals: not by its seed, not by meeting a deal twice."""

from __future__ import annotations

import copy
import json
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.strangers import Stranger, crack, install, notes_of
from tienlen_agents import arena
from tienlen_agents.arena.__main__ import main as arena_main
from tienlen_agents.arena.chunk import Job, games_of, seed_of
from tienlen_agents.external.process import ProcessAgent
from tienlen_agents.external.seeds import MAX_SEATINGS, _others, hashed_seed, new_seed_key, spread
from tienlen_env.engine.batch import Batch
from tienlen_env.games.registry import get_rules

STRANGER, SEED, DEALS = "stranger:isolate=1", 7, 4


class Elsewhere(arena.Executor):
    """An executor like a cluster's: what it plays goes through bytes."""

    def unordered(self, function: Any, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            there, given = pickle.loads(pickle.dumps((function, item)))
            yield item, there(given)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where strangers in other processes write."""
    for name, value in install(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path / "notes"


def deals_of(hands: list[int], seed: int = SEED) -> list[int]:
    """The deals of a match that some whole hands are of."""
    batch = Batch("cardgames", DEALS)
    batch.deal(games_of(Job((0, 1, 1, 1), get_rules("cardgames"), seed, 0, DEALS)).keys[::4])
    deal_of = {int(hand): deal for deal, dealt in enumerate(batch.state.hands) for hand in dealt}
    return [deal_of[hand] for hand in hands]


def check_knows_nothing(file: Path, plain: set[int]) -> None:
    """No seed is one of the match's own or leads to it, and no process saw two hands of a deal."""
    notes, hands = notes_of(file), defaultdict(set)
    seeds = [note["seed"] for note in notes if "seed" in note]
    assert seeds
    assert not plain & set(seeds)
    assert not any(note.get("found") for note in notes)
    for note in notes:
        if "hand" in note:
            hands[note["process"]].add(note["hand"])
    assert hands
    for shown in hands.values():
        deals = deals_of(list(shown))
        assert len(set(deals)) == len(deals)


def plain_seeds(seed: int = SEED, per_job: int = 512) -> set[int]:
    """The seeds that agents in the process of the match get."""
    rules = get_rules("cardgames")
    jobs = [
        Job((0, 1, 1, 1), rules, seed, first, per_job, deals_per_job=per_job)
        for first in range(0, DEALS, per_job)
    ]
    return {seed_of(job, index) for job in jobs for index in range(4)}


def test_the_cracker_works_on_a_plain_seed(file: Path) -> None:
    """In the process of the match, where no promise is made."""
    arena.match(Stranger(), "greedy", num_deals=DEALS, seed=SEED)
    notes = notes_of(file)
    (found,) = [note["found"] for note in notes if "seed" in note if note["found"]]
    assert len(set(deals_of([hand for deal in found[:DEALS] for hand in deal]))) == DEALS
    shown = [note["hand"] for note in notes if "hand" in note]
    assert len(set(shown)) > 2 * DEALS, "it meets all hands of a deal"
    assert crack(12345) is None


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="one", marks=pytest.mark.nightly),
        pytest.param({"deals_per_job": 2, "workers": 2}, id="workers"),
        pytest.param({"executor": Elsewhere()}, id="executor"),
        pytest.param({"deals_per_job": 2}, id="jobs", marks=pytest.mark.nightly),
    ],
)
def test_in_matches(file: Path, options: Any) -> None:
    arena.match(STRANGER, "greedy", num_deals=DEALS, seed=SEED, **options)
    check_knows_nothing(file, plain_seeds(per_job=options.get("deals_per_job", 512)))


def test_in_leagues_whose_match_ups_share_their_deals(file: Path) -> None:
    agents = [STRANGER, "greedy", "random"]
    arena.league(agents, num_players=2, num_deals=DEALS, seed=SEED, rules="cardgames")
    notes = notes_of(file)
    assert not any(note.get("found") for note in notes)
    batch, hands = Batch("cardgames", DEALS, num_players=2), defaultdict(list)
    batch.deal(games_of(Job((0, 1), get_rules("cardgames", 2), SEED, 0, DEALS)).keys[::2])
    deal_of = {int(hand): deal for deal, dealt in enumerate(batch.state.hands) for hand in dealt}
    for note in notes:
        if "hand" in note:
            hands[note["process"]].append(note["hand"])
    assert len(hands) == 4, "two seatings of two match-ups"
    for shown in hands.values():
        deals = [deal_of[hand] for hand in set(shown)]
        assert len(set(deals)) == len(deals)


def figures(file: Path) -> Any:
    """What does not differ from run to run."""
    values = json.loads(file.read_text())
    for key in ("created", "command"):
        del values[key]
    return json.loads(
        json.dumps(values), object_hook=lambda part: {k: v for k, v in part.items() if k != "timing"}
    )


def test_a_run_keeps_its_key_and_is_the_same_again(file: Path, tmp_path: Path) -> None:
    """Resumed, and played anew with the key of its results; with another key it is another match."""

    def run(out: str, *more: str) -> Any:
        words = ["match", STRANGER, "greedy", "--players", "2", "--deals", "8", "--chunk", "4"]
        assert arena_main([*words, "--quiet", "--out", str(tmp_path / out), *more]) == 0
        return figures(tmp_path / out / "arena.json")

    first = run("first")
    key = first["seed_key"]
    assert len(key) == 32
    assert f"--seed-key {key}" in json.loads((tmp_path / "first" / "arena.json").read_text())["command"]
    chunks = tmp_path / "first" / "chunks.jsonl"
    lines = chunks.read_bytes().splitlines(keepends=True)
    chunks.write_bytes(b"".join(lines[:2]))
    assert run("first") == first
    assert run("second", "--seed-key", key) == first
    assert run("third")["seed_key"] != key
    # Two keys drawn by chance sometimes end in the same figures; these two do not.
    one, two = (run(digit, "--seed-key", 32 * digit)["tables"] for digit in "01")
    assert one != two
    for wrong in ("x", key[1:], key.upper() + "0"):
        with pytest.raises(SystemExit):
            run("wrong", "--seed-key", wrong)
    with pytest.raises(SystemExit):
        arena_main(["match", "greedy", "random", "--deals", "2", "--seed-key", key])


def test_runs_without_other_processes_have_no_key(tmp_path: Path) -> None:
    arena_main(["match", "random", "greedy", "--deals", "4", "--quiet", "--out", str(tmp_path)])
    assert "seed_key" not in (tmp_path / "arena.json").read_text() + (tmp_path / "chunks.jsonl").read_text()


def test_too_many_seatings_are_refused_before_any_work(file: Path) -> None:
    agents = [STRANGER, *["trickster"] * 4]
    with pytest.raises(ValueError, match=f"at most {MAX_SEATINGS}, each with a process"):
        arena.match_up(agents, rules="thirteens", num_players=5, permutations="all", num_deals=2)
    assert not any("hand" in note for note in notes_of(file))


@pytest.mark.parametrize(
    "wrap", [lambda agent: agent, lambda agent: tienlen_agents.endgame.EndgameAgent(agent)]
)
def test_every_object_has_a_key_of_its_own(wrap: Callable[[Any], Any]) -> None:
    """Where nobody stores one: at tables, in environments, in other people's programs."""
    one, two = (wrap(ProcessAgent("cat")) for _ in range(2))
    assert len({one.seed_key, two.seed_key, copy.deepcopy(one).seed_key}) == 3
    key = new_seed_key()
    one.seed_key = key
    one.reset(5)
    inner = getattr(one, "base", one)
    assert inner._seed == hashed_seed(key, 5) != 5
    assert 0 <= inner._seed < 2**32


def test_only_agents_in_other_processes_are_spread() -> None:
    agents = [tienlen_agents.load("random"), ProcessAgent("cat"), tienlen_agents.load("endgame:greedy")]
    seats = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 2)
    found = spread(agents, seats, 3, {(1, 0), (1, 1)})
    assert found.players[:3] == agents
    assert found.owner.tolist() == [0, 1, 2, 1, 1]
    assert found.seats.tolist() == [[0, 1, 2], [3, 2, 0], [2, 0, 4]] * 2
    assert seats.max() == 2, "the caller's array does not change"


def test_close_ends_the_processes_of_all_seatings(file: Path) -> None:
    agent: Any = tienlen_agents.load("greedy:isolate=1")
    arena.match(agent, "random", num_players=2, num_deals=2)
    others = _others[agent]
    assert [one._child is not None for one in (agent, *others)] == [True] * 2
    agent.close()
    assert [one._child is not None for one in (agent, *others)] == [False] * 2
