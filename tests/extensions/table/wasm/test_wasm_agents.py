"""The agents, views and records in WebAssembly are those of Python."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tienlen_agents
from tests.extensions.table.wasm_files import built, each_game, game_of_name, run_node
from tests.needs import ROOT, needs_linker, needs_node
from tests.project.test_outside_climbing import CLIMB, format_cards as climb_text, with_other_cards
from tienlen_agents.networks.network import log_softmax
from tienlen_agents.networks.shipped import policy_path
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.agent import history_of
from tienlen_env.engine.batch import Batch
from tienlen_env.engine.view import View
from tienlen_env.errors import NotationError
from tienlen_env.games import registry
from tienlen_env.games.common import floats
from tienlen_env.games.common.cards import FULL_DECK, card_ids, format_cards
from tienlen_env.games.registry import get_rules, has_payments, main_reward, variants_of
from tienlen_env.games.tienlen.actions import PASS
from tienlen_env.single.base import round_type
from tienlen_env.single.messages import positions
from tienlen_env.single.session import Session
from tienlen_env.single.tienlen import Round
from tienlen_table.engine.memory import layout_of, leaves_of
from tienlen_table.server.table import selection
from tienlen_table.wasm import build
from tienlen_table.wasm.__main__ import main
from tienlen_table.wasm.entries import widened

__all__ = ["built"]

RUN = Path(__file__).with_name("wasm_agents_run.mjs")
Folder = Callable[[str], Path]


def node(folder: Path, command: str, **job: Any) -> Any:
    return run_node(RUN, [str(folder), command], job)


def keys_of(seed: int, count: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-(2**63), 2**63, count, np.int64)


def hex_of(key: int) -> str:
    return f"{int(key) & (1 << 64) - 1:016x}"


# ---------------------------------------------------------------- choices


def choices(preset: str, num_players: int, agent: str, keys: npt.NDArray[np.int64]) -> list[list[int]]:
    """The agent's choices in rounds where two plays in three are its own, the third is another one."""
    player = tienlen_agents.load(agent)
    length = {"history_length": history_of([player])} if history_of([player]) else {}
    reward = main_reward(get_rules(preset, num_players))
    batch = Batch(preset, len(keys), num_players=num_players, reward=reward, **length)  # type: ignore[arg-type]
    batch.deal(keys)
    found: list[list[int]] = [[] for _ in keys]
    step = 0
    while not (batch.state.turn < 0).all():
        games = np.flatnonzero(~(batch.state.turn < 0))
        chosen = player.act(View(batch, games))
        for i, action in zip(games.tolist(), chosen.tolist(), strict=True):
            found[i].append(action)
        legal, counts = batch.list_legal(), batch.count_legal()
        ids = np.full(len(keys), -1)
        other = legal.action[legal.start[games] + 7 * step % counts[games]]
        ids[games] = np.where((step + games) % 3, chosen, other)
        batch.step(ids)
        step += 1
    return found


def compare_choices(
    folder: Path, name: str, agent: str, variants: list[tuple[str, int]], num_rounds: int, **options: Any
) -> tuple[int, list[tuple[str, int]], float]:
    """The number of choices, the variants of different ones, and the median of the milliseconds of one.

    After a different choice a round is another one, and it is not compared further.
    """
    keys = keys_of(num_rounds, num_rounds)
    python = agent if not options else f"{agent}:{','.join(f'{k}={v}' for k, v in options.items())}"
    found = node(
        folder, "choices", game=name, agent=agent, variants=variants, keys=[hex_of(k) for k in keys],
        options=options,
    )  # fmt: skip
    num_choices, different = 0, []
    for variant, theirs in zip(variants, found["chosen"], strict=True):
        for one, other in zip(choices(*variant, python, keys), theirs, strict=True):
            if one == other:
                num_choices += len(one)
            else:
                num_choices += next(
                    i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]
                )
                different.append(variant)
    return num_choices, different, found["median"]


def all_variants(name: str) -> list[tuple[str, int]]:
    """Every preset of a game with each number of players."""
    return [(preset, rules.num_players) for preset, rules in variants_of(game_of_name(name))]


RULE_BASED = [
    ("tienlen", "heuristic"), ("tienlen", "greedy"), ("tienlen", "greedy_long"), ("thirteens", "trickster")
]  # fmt: skip


@needs_node
@pytest.mark.parametrize(("name", "agent"), RULE_BASED)
def test_choices_of_the_rule_based_players(name: str, agent: str, built: Folder) -> None:
    num, different, _ = compare_choices(built(name), name, agent, all_variants(name), 4)
    assert different == []
    assert num > 1000


@needs_node
@pytest.mark.nightly
@pytest.mark.parametrize(("name", "agent"), RULE_BASED)
def test_many_choices_of_the_rule_based_players(name: str, agent: str, built: Folder) -> None:
    num, different, _ = compare_choices(built(name), name, agent, all_variants(name), 2000)
    assert different == []
    assert num > 500_000


SEARCHES = [
    ("tienlen", ("cardgames", 4), "champion", {}),
    ("tienlen", ("foicica", 4), "champion", {}),
    ("tienlen", ("cardgames", 4), "champion", {"worlds": 0}),
    ("tienlen", ("pagat", 3), "champion", {"worlds": 0}),
    ("tienlen", ("north", 2), "champion", {}),
    ("tienlen", ("cardgames", 3), "search", {"worlds": 8}),
    ("thirteens", ("thirteens", 4), "search", {"worlds": 8}),
    ("thirteens", ("thirteens", 4), "champion", {}),
    ("thirteens", ("thirteens", 4), "champion", {"worlds": 0}),
    # Compiling the search for one more game takes long.
    pytest.param("high_card", ("high_card", 3), "search", {"worlds": 8}, marks=pytest.mark.nightly),
]


@needs_node
@pytest.mark.parametrize(("name", "variant", "agent", "options"), SEARCHES)
def test_choices_of_search_and_network(
    name: str, variant: tuple[str, int], agent: str, options: dict[str, int], built: Folder
) -> None:
    game_of_name(name)
    num, different, _ = compare_choices(built(name), name, agent, [variant], 6, **options)
    assert num > 40
    assert different == []


@needs_node
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("variant", "least"),
    [
        *((preset, 20_000) for preset in ("cardgames", "foicica", "south", "south_count", "north")),
        *((preset, 2_000) for preset in ("mobile", "pagat", "cardgames-2", "south-3")),
    ],
)
def test_the_champion_chooses_the_same(variant: str, least: int, built: Folder) -> None:
    preset, _, size = variant.partition("-")
    players = int(size or 4)
    table, num_rounds = (preset, players), 60 * 4 * least // (players * 2000)
    num, different, median = compare_choices(built("tienlen"), "tienlen", "champion", [table], num_rounds)
    assert num >= least
    assert len(different) <= num / 10_000
    assert median <= 10


@needs_node
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "variant"), [("tienlen", ("cardgames", 4)), ("thirteens", ("thirteens", 4))]
)
def test_the_search_chooses_the_same(name: str, variant: tuple[str, int], built: Folder) -> None:
    num, different, median = compare_choices(built(name), name, "search", [variant], 50, worlds=32)
    assert num > 2000
    assert len(different) <= num / 1000
    assert median <= 200


# ---------------------------------------------------------------- what agents say of plays


def some_records(preset: str, num_players: int, count: int) -> list[str]:
    """Records of random rounds; in every second one suits are chosen, where that is possible."""
    rng = np.random.default_rng(count)
    lines = []
    keys = keys_of(count + 1, count)
    table = Batch(preset, 1, num_players=num_players).action_table
    if getattr(table, "declare", None) is not None:  # the last round has an instant win
        batch = Batch(preset, 4000, num_players=num_players)
        batch.deal(np.arange(4000))
        legal = batch.list_legal()
        keys[-1] = np.flatnonzero(legal.action[legal.start] == table.declare)[0]
    for number, key in enumerate(keys):
        played = round_type(get_rules(preset, num_players))(preset, int(key), num_players=num_players)
        while not played.is_over:
            is_exact = number % 2 and isinstance(played, Round)
            plays = played.legal_plays(exact=True) if is_exact else played.legal_plays()
            played.play(plays[int(rng.integers(len(plays)))])
        lines.append(played.record())
    return lines


@needs_node
@pytest.mark.parametrize(("name", "preset"), [("tienlen", "cardgames"), ("thirteens", "thirteens")])
def test_probabilities(name: str, preset: str, built: Folder) -> None:
    (line,) = some_records(preset, 4, 1)
    found = node(built(name), "advice", game=name, records=[line], agent="champion", options={})[0]
    champion = tienlen_agents.load("champion")
    whole = round_type(get_rules(preset)).from_record(line)
    batch = Batch(preset, 1, history_length=history_of([champion]))
    batch.deal([whole.key])
    for advice, play in zip(found, whole.plays, strict=True):
        view = View(batch)
        expected = np.exp(champion.log_probabilities(view))  # type: ignore[attr-defined]
        assert [said["action"] for said in advice["plays"]] == view.legal_actions.action.tolist()
        np.testing.assert_allclose([said["probability"] for said in advice["plays"]], expected, atol=1e-4)
        assert advice["plays"][advice["choice"]]["action"] == int(champion.act(view)[0])
        batch.step([play.action])


@needs_node
@pytest.mark.parametrize(
    ("name", "preset"), [("tienlen", "cardgames"), ("tienlen", "south"), ("thirteens", "thirteens")]
)
def test_expected_points(name: str, preset: str, built: Folder) -> None:
    (line,) = some_records(preset, 4, 1)
    found = node(
        built(name), "advice", game=name, records=[line], agent="search", options={"worlds": 12, "seed": 5}
    )[0]
    agent = SearchAgent(worlds=12)
    agent.reset(5)
    context = SearchContext(get_rules(preset), "payments" if has_payments(get_rules(preset)) else "")
    whole = round_type(get_rules(preset)).from_record(line)
    length = {"history_length": agent.history} if game_of_name(name).has_history else {}
    batch = Batch(preset, 1, **length)  # type: ignore[arg-type]
    batch.deal([whole.key])
    for advice, play in zip(found, whole.plays, strict=True):
        (decision,) = agent._decisions(View(batch), np.array([0]))
        estimates = context.evaluate(decision, agent.options_in(context))
        for field, values in zip(("points", "half_width", "loss", "loss_half_width"), estimates, strict=True):
            np.testing.assert_allclose([said[field] for said in advice["plays"]], values, atol=1e-9)
        best = advice["plays"][advice["choice"]]
        assert best["loss"] == best["loss_half_width"] == 0
        batch.step([play.action])


# ---------------------------------------------------------------- views and records


@needs_node
@pytest.mark.parametrize("name", ["tienlen", "thirteens", "high_card"])
def test_views_and_records(name: str, built: Folder) -> None:
    """Each seat's view at each decision, after undoing and playing again, is that of Python."""
    rounds = [
        (line, (preset, rules))
        for n, (preset, rules) in enumerate(variants_of(game_of_name(name)))
        for line in some_records(preset, rules.num_players, 2 + n % 2)[-2:]
    ]
    lines, variants = zip(*rounds, strict=True)
    answers = node(built(name), "rounds", game=name, records=lines)
    for line, (preset, rules), found in zip(lines, variants, answers, strict=True):
        kind = round_type(rules)
        whole = kind.from_record(line)
        assert found["record"] == line
        assert found["leader"] == whole.next_leader
        assert found["payments"] == [payment._asdict() for payment in whole.payments()]
        played = kind(preset, whole.key, num_players=rules.num_players)
        lead = 0
        for n, views in enumerate(found["views"]):
            seats = [None, *range(rules.num_players)]
            assert views == positions(played._batch, [0] * len(seats), seats)
            lead = n if views[0].get("owner") is None else lead
            assert found["leads"][n] == lead
            if n < len(whole.plays):
                played.play(whole.plays[n])


def read(line: str) -> dict[str, Any]:
    """What Python says of a record: its row and the record again, or the sentence and its clause."""
    try:
        played = round_type(get_rules(_ANY[line.partition("/")[0]])).from_record(line)
    except NotationError as error:
        return {"error": str(error), "clause": getattr(error.__cause__, "clause", "")}
    return {"row": [str(number) for number in played.row], "record": played.record()}


GOLDEN = {
    "tienlen": ROOT / "tests/golden/records.json",
    "thirteens": ROOT / "tests/golden/thirteens_records.json",
}
_ANY = {"tienlen": "cardgames", "thirteens": "thirteens"}
# Beside the golden records: small decks, given hands of 1 to 17 cards, cards beside them, impossible deals.
LINES = (
    "tienlen/1 mini p2 hands=3c4s5s/5c2s2c :",
    "tienlen/1 mini p2 hands=3c4s5s/5cAc2c :",
    "tienlen/1 mini p2 hands=3c4s5s/5c2s2c4c :",
    "tienlen/1 small p2 hands=2s2c2d2h/3s4s4c4d lead=0 : 2s 3s",
    "tienlen/1 cardgames p2 hands=3s/3s :",
    "tienlen/1 cardgames p2 hands=3s3c3d3h4s4c4d4h5s5c5d5h6s6c/7s :",
    "tienlen/1 cardgames p3 hands=3s/7s :",
    "tienlen/1 cardgames p2 hands=3s/7s dummy=4s :",
    "tienlen/1 cardgames p2 hands=3s4s5s6s/7h8h9d lead=0 : 3s4s5s 7h8h9d",
    "tienlen/1 cardgames p2 hands=3s4s/5s6s lead=1 : - 5s",
    "tienlen/1 cardgames p2 hands=3s4s/5s6s : 4s",
    "tienlen/1 cardgames p2 hands=3s4s/5s6s : declare",
    "tienlen/1 cardgames p2 hands=3s/5s6s : 3s 5s = 0 1",
    "tienlen/1 cardgames p2 hands=3s/5s6s : 3s = 1 0",
    "tienlen/1 cardgames p2 hands=3s,4S/10d6♠ : 3s 10d - 6s",
    "tienlen/1 south p2 hands=2s2c2d2h/3s4s lead=0 : 2s",
    "tienlen/1 south p2 hands=2s2c2d2h/3s4s lead=0 : declare",
    "tienlen/1 south p2 hands=2s2c2d/3s4s lead=0 : declare",
    "tienlen/1 foicica p3 hands=3s4s9h/5d6c7h8h/JsJd lead=0 : 3s4s 5d6c",
    "tienlen/1 foicica p3 hands=3s3c4s4c5s5c6h/7d7h8d/2s9s lead=2 : 2s 7d",
    "tienlen/1 north p2 hands=3s4s9h/5d6c7h8h lead=0 : 3s 5d",
    "tienlen/1 cardgames p5 key=0000000000000001.0 :",
    "tienlen/1 cardgames p1 key=0000000000000001.0 :",
    "tienlen/1 nothing p4 key=0000000000000001.0 :",
    "tienlen/2 cardgames p4 key=0000000000000001.0 :",
    "tienlen/1 it's p4 key=0000000000000001.0 :",
    "thirteens/1 thirteens_dummy p3 j1 hands=3s/5s/7s dummy=Kh aside=2d lead=0 : 3s",
    "thirteens/1 thirteens_dummy p3 j1 hands=3s/5s/7s aside=2d lead=0 :",
    "thirteens/1 thirteens p4 j1 hands=3s/5s/7s/9s dummy=Kh :",
    "thirteens/1 thirteens p4 j1 hands=3s/5s/7s/9s aside=Kh :",
    "thirteens/1 thirteens p4 j1 hands=3s4s/5s/7s/9s :",
    "thirteens/1 thirteens p4 j1 hands=3s/5s/7s/*2 :",
    "thirteens/1 thirteens p4 j1 hands=3s/5s/7s/*1 lead=3 : *1",
)


def many_hands(rng: np.random.Generator, count: int) -> list[str]:
    """Records of given hands of 1 to 17 cards, of all variants; most are possible deals."""
    lines = []
    presets = list(variants_of(game_of_name("tienlen")))
    for _ in range(count):
        preset, rules = presets[int(rng.integers(len(presets)))]
        deck = rng.permutation(card_ids(rules.deck_mask if rng.random() < 0.9 else FULL_DECK))
        most = min(rules.cards_each if rng.random() < 0.9 else 17, len(deck) // rules.num_players)
        hands, at = [], 0
        for size in rng.integers(1, most + 1, rules.num_players).tolist():
            hands.append(format_cards(sum(1 << card for card in deck[at : at + size].tolist()), ""))
            at += size
        lead = f" lead={rng.integers(rules.num_players)}" if rng.random() < 0.5 else ""
        lines.append(f"tienlen/1 {preset} p{rules.num_players} hands={'/'.join(hands)}{lead} :")
    return lines


def played_on(rng: np.random.Generator, line: str) -> str:
    """A record with up to ten random legal plays more, and perhaps another set of cards of the deck."""
    try:
        played = Round.from_record(line)
    except NotationError:
        return line
    for _ in range(int(rng.integers(10))):
        if not played.is_over:
            plays = played.legal_plays()
            played.play(plays[int(rng.integers(len(plays)))])
    cards = rng.choice(52, int(rng.integers(1, 5)), replace=False).tolist()
    held = card_ids(played.hand(max(0, played.turn)))
    if held and rng.random() < 0.7:
        cards = rng.choice(held, int(rng.integers(1, min(5, len(held)) + 1)), replace=False).tolist()
    extra = [format_cards(sum(1 << int(card) for card in cards), ""), "-", "declare", ""]
    return f"{played.record()} {extra[int(rng.integers(len(extra)))]}".strip()


SIGNS = "0123456789sScdhTJQKA2-=:/.,'\"*#pj♠é{}"


def damaged(rng: np.random.Generator, line: str) -> str:
    """A record with one or two signs or words changed, doubled or gone."""
    for _ in range(int(rng.integers(1, 3))):
        words = line.split(" ")
        at = int(rng.integers(len(words)))
        word = words[at]
        spot = int(rng.integers(len(word) + 1))
        sign = SIGNS[int(rng.integers(len(SIGNS)))]
        changes = (
            [word[:spot] + sign + word[spot:]],
            [word[:spot] + sign + word[spot + 1 :]],
            [word[:spot] + word[spot + 1 :]],
            [word, word],
            [],
            [words[int(rng.integers(len(words)))]],
        )
        words[at : at + 1] = changes[int(rng.integers(len(changes)))]
        line = " ".join(words)
    return line


@needs_node
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_the_page_reads_records_as_python_does(count: int, built: Folder) -> None:
    """Rows of whole records, and the sentence and the clause of each refusal."""
    rng = np.random.default_rng(count)
    golden = [line for name in _ANY for line in json.loads(GOLDEN[name].read_text(encoding="utf-8"))]
    more = some_records("thirteens_manual", 4, 2) + some_records("north", 3, 2) + many_hands(rng, count // 4)
    whole = [*LINES, *golden, *more]
    chosen = [whole[int(at)] for at in rng.integers(len(whole), size=count)]
    lines = [
        *whole,
        *(played_on(rng, line) for line in many_hands(rng, count // 2)),
        *(damaged(rng, line) for line in chosen),
    ]
    for name in ("tienlen", "thirteens"):
        own = [line for line in lines if line.startswith(f"{name}/") and "#" not in line]
        found = node(built(name), "records", game=name, records=own)
        expected = list(map(read, own))
        if (
            name == "thirteens"
        ):  # the page has no sentence for an illegal play of this game, and not every size
            pairs = zip(own, expected, found, strict=True)
            kept = [
                one
                for one in pairs
                if "refused" not in one[1].get("error", "") and "no tables" not in one[2].get("error", "")
            ]
            own, expected, found = map(list, zip(*kept, strict=True))
        assert len(found) > 30
        for line, python, page in zip(own, expected, found, strict=True):
            if "row" in python and "row" in page:  # the page stores the plays behind Python's row
                page["row"] = page["row"][: len(python["row"])]
            assert page == python, line


@needs_node
@pytest.mark.parametrize("preset", ["cardgames", "foicica", "south", "north"])
def test_sets_of_cards(preset: str, built: Folder) -> None:
    """Which sets of cards are legal plays, and which can still become one."""
    rng = np.random.default_rng(4)
    whole = Round.from_record(some_records(preset, 4, 1)[0])
    played = Round(preset, whole.key)
    for number, play in enumerate(whole.plays[:10]):
        if number % 3 == 0:
            hand = [1 << card for card in card_ids(played.hand(played.turn))]
            # The declaration of an instant win is legal without a set of cards: 0 asks for the pass.
            exact = [play for play in played.legal_plays(exact=True) if play.cards or play.action == PASS]
            every = {play.cards: play.action for play in exact}
            asked = [p.cards for p in played.legal_plays()] + list(every)[:20]
            for size in (1, 1, 2, 2, 2, 3, 3, 4):
                asked.append(int(sum(rng.choice(hand, min(size, len(hand)), replace=False))))
            found = node(
                built("tienlen"), "sets", game="tienlen", record=played.record(),
                sets=[format_cards(cards) for cards in asked],
            )  # fmt: skip
            for cards, answer in zip(asked, found, strict=True):
                assert answer["action"] == every.get(cards, -1)
                larger = {every[more] for more in every if more & cards == cards and more != cards}
                assert set(answer["more"]) == larger, format_cards(cards)
        played.play(play)


# ---------------------------------------------------------------- numbers


@needs_node
def test_float16_is_read_exactly(built: Folder) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    expected = every.view(np.float16).astype(np.float32)
    is_number = np.isfinite(expected)
    found = np.array(node(built("tienlen"), "halves", game="tienlen"), np.uint32).view(np.float32)
    np.testing.assert_array_equal(found[is_number], expected[is_number])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(found[np.isinf(expected)], expected[np.isinf(expected)])
    assert [widened(int(half)) for half in every[::97]] == found.view(np.uint32)[::97].tolist()


def test_exp_and_log_are_exact_to_the_last_places() -> None:
    rng = np.random.default_rng(1)
    for x in np.concatenate([rng.uniform(-700, 700, 3000), rng.uniform(-2, 2, 3000)]).tolist():
        assert abs(floats.exp(x) - np.exp(x)) <= 2 * np.spacing(np.exp(x))
    for x in np.concatenate([2 ** rng.uniform(-1000, 1000, 3000), rng.uniform(0.5, 2, 3000)]).tolist():
        assert abs(floats.log(x) - np.log(x)) <= 2 * np.spacing(abs(np.log(x)))
    inf, nan = float("inf"), float("nan")
    assert [floats.exp(x) for x in (0.0, -inf, inf, -1e4, 1e4)] == [1.0, 0.0, inf, 0.0, inf]
    assert [floats.log(x) for x in (1.0, 0.0, inf)] == [0.0, -inf, inf]
    assert all(np.isnan(x) for x in (floats.exp(nan), floats.log(nan), floats.log(-1.0)))


def test_log_probabilities_of_infinite_scores_end() -> None:
    scores = np.array([1.0, np.inf, np.nan, -np.inf], np.float32)
    assert len(log_softmax(scores, np.array([0, 1, 2, 3]))) == 4


# ---------------------------------------------------------------- the files


@needs_linker
def test_the_page_has_the_files_that_python_reads(built: Folder) -> None:
    tables = json.loads((built("tienlen") / "tienlen.json").read_text(encoding="utf-8"))
    found = (policy_path(rules) for _, rules in variants_of(game_of_name("tienlen")))
    paths = {path for path in found if path is not None}
    assert {network["file"] for network in tables["networks"].values()} == {path.name for path in paths}
    assert {path.name for path in built("tienlen").glob("*.safetensors")} == {path.name for path in paths}
    for path in paths:
        assert (built("tienlen") / path.name).read_bytes() == path.read_bytes()


@needs_linker
@each_game
def test_the_tables_say_where_arrays_lie(name: str, built: Folder) -> None:
    game = game_of_name(name)
    tables = json.loads((built(name) / f"{name}.json").read_text(encoding="utf-8"))
    for variant in tables["variants"]:
        for layout in variant["memory"].values():
            for index, leaf in enumerate(layout):
                assert leaf.get("same", -1) < index
                assert len(tables["constants"].get(leaf.get("constant"), [])) <= np.prod(
                    leaf["shape"], dtype=int
                )
    assert {agent["name"] for agent in tables["agents"]} >= {"random", "search"}
    assert tables["has_card_choice"] == game.has_card_choice


def test_a_template_describes_shared_memory_and_numbers() -> None:
    array = np.array([1.5, 0.0], np.float32)
    template = (array, array.view(np.uint32), 7, True, np.float32(0.25), (np.zeros((2, 0), np.int64),))
    assert [path for path, _ in leaves_of(template)] == ["0", "1", "2", "3", "4", "5.0"]
    constants: dict[str, Any] = {}
    layout = layout_of(template, constants)
    assert list(constants.values()) == [[1.5]]
    assert [leaf.get("same") for leaf in layout] == [None, 0, None, None, None, None]
    assert [leaf.get("value") for leaf in layout] == [None, None, 7, 1, 0.25, None]
    with pytest.raises(TypeError, match="1: not a contiguous array"):
        list(leaves_of((7, np.zeros((2, 2)).T[:1])))
    with pytest.raises(TypeError, match="0: str is not a valid array or number"):
        list(leaves_of(("text",)))


@needs_node
@needs_linker
@pytest.mark.nightly
def test_a_choice_of_cards_in_a_game_from_outside(tmp_path: Path) -> None:
    """The browser finds the action of cards, and writes the cards, in a game without words of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_games", dict(registry._games))
        registry.register(CLIMB)
        build(tmp_path, ["tests.project.test_outside_climbing:CLIMB"])
        session = Session("climb", 5, whole_game=False)
        action, own, other = with_other_cards(session)
        sets = [own, other, other & -other, own | other, 1 << 51]
        texts = [climb_text(cards) for cards in sets]
        found = node(tmp_path, "sets", game="climb", record=session.record(), sets=texts)
        assert [(entry["action"] >= 0, len(entry["more"]) > 0) for entry in found] == [
            selection(session, cards) for cards in sets
        ]
        assert found[1]["action"] == action
        session.apply(session.round.play_of(action, other))
        while not session.is_over:
            session.apply(session.legal[-1])
        line = session.record().strip()
        (again,) = node(tmp_path, "rounds", game="climb", records=[line])
        assert again["record"] == line
        wrong = line.replace(f"{action}:", f"{action}:2s", 1)
        assert "error" in node(tmp_path, "records", game="climb", records=[wrong])[0]


@needs_linker
def test_the_command_names_what_it_wrote(
    tmp_path: Path, built: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(built("high_card"), tmp_path, dirs_exist_ok=True)  # what is built is not compiled again
    main(["tests.high_card:HIGH_CARD", "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    paths = [tmp_path / "high_card.wasm", tmp_path / "table.wasm"]
    assert lines == [f"{path}: {path.stat().st_size} bytes" for path in paths]


def test_the_command_refuses_a_game_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["bridge", "--out", str(tmp_path / "out")])
    assert caught.value.code == 2
    assert "game 'bridge': expected one of tienlen, thirteens" in capsys.readouterr().err
