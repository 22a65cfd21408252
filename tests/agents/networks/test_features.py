"""What networks read of each game: nothing hidden, every action apart, and numbers that can be checked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tienlen_agents
from tests.plain_python import printed
from tests.tienlen_env.games.thirteens.test_clauses import Deal
from tests.tienlen_env.games.thirteens.test_engine_oracle import VARIANTS, variant_id
from tienlen_agents import endgame
from tienlen_agents.networks.agent import NetworkAgent
from tienlen_agents.networks.features import Inputs, Reader, features_by_name, features_of, thirteens as T
from tienlen_agents.networks.network import NetworkConfig
from tienlen_env.engine.agent import View, check_plays
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.errors import WrongGameError
from tienlen_env.games.common.cards import card_ids
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import games, get_rules
from tienlen_env.games.thirteens.cards import NUM_CARDS, parse_cards
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_train.network import ActionNetwork, as_bfloat16

FOUR = ThirteensRules(jokers=2)


def some_views(rules: AnyRules, num_games: int = 30, steps: int = 60) -> list[View]:
    batch = Batch(rules, num_games, auto_reset=True)
    batch.reset(5)
    rng = np.random.default_rng(5)
    views = []
    for _ in range(steps):
        views.append(View(batch))
        batch.step(batch.sample(rng))
    return views


def same(a: Inputs, b: Inputs) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_every_game_has_its_features() -> None:
    for game in games():
        for rules in game.presets.values():
            assert features_of(rules).game == game.name
        features = features_by_name(game.name)
        assert not features.has_prior or features.baseline in features.eval_opponents
        for name in features.eval_opponents:
            assert getattr(tienlen_agents.load(name), "plays", game.name) == game.name


@pytest.mark.parametrize("bad", [[3], [-1], [2**40], [-(2**40)], [[0]], [0.5], ["0"]])
def test_games_that_are_not_there_are_refused(bad: Any) -> None:
    """What the critic reads comes from compiled loops, which check nothing."""
    batch = Batch("cardgames", 3)
    batch.reset(1)
    features = features_of(batch.rules)
    inputs = Reader(features, "none", 1.0, record=False).read(View(batch))
    assert features.outcome is not None
    assert features.returns is not None
    assert features.winning_actions is not None
    winning_actions, returns = features.winning_actions(batch.rules), features.on_host(features.returns)
    with pytest.raises(ValueError, match="games: expected"):
        features.on_host(features.hidden)(batch, bad)
    with pytest.raises(ValueError, match="games: expected"):
        features.on_host(features.outcome)(batch, bad)
    with pytest.raises(ValueError, match="games: expected"):
        returns(batch, bad, inputs)
    with pytest.raises(ValueError, match="games: expected"):
        winning_actions(batch, bad, inputs)
    with pytest.raises(ValueError, match="inputs: expected those of the games"):
        winning_actions(batch, np.arange(2), inputs)
    for wrong in (inputs._replace(action=inputs.action + 10**6), inputs._replace(action=inputs.action[1:])):
        with pytest.raises(ValueError, match="inputs: expected those of the games"):
            returns(batch, np.arange(3), wrong)


def test_rows_of_another_game_are_refused() -> None:
    """Compiled code would misread them."""
    batch = Batch("thirteens", 2)
    batch.reset(1)
    features = features_by_name("tienlen")
    assert features.outcome is not None
    with pytest.raises(WrongGameError, match="features are of tienlen"):
        Reader(features, "none", 1.0, record=False).read(View(batch))
    with pytest.raises(WrongGameError, match="features are of tienlen"):
        features.on_host(features.hidden)(batch, np.arange(2))
    with pytest.raises(WrongGameError, match="features are of tienlen"):
        features.on_host(features.outcome)(batch, np.arange(2))


@pytest.mark.parametrize("preset", ["cardgames", "foicica", "south"])
def test_winning_actions_are_those_that_leave_the_opponent_lost(preset: str) -> None:
    """Each action is played, and the ending after it solved from the side that is to move then."""
    batch = Batch(preset, 60)
    batch.reset(3)
    features, rng = features_of(batch.rules), np.random.default_rng(3)
    assert features.winning_actions is not None
    winning_actions, reader = (
        features.winning_actions(batch.rules),
        Reader(features, "none", 1.0, record=False),
    )
    num_lost = 0
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        inputs = reader.read(View(batch, games))
        winning = winning_actions(batch, games, inputs)
        assert winning.shape == inputs.action.shape
        for b in np.unique(inputs.segment_ids[winning == 0]).tolist():
            seat = batch.state.turn[games[b]]
            for i in np.flatnonzero(inputs.segment_ids == b).tolist():
                after = batch.select(games[[b]]).copy()
                after.step([inputs.action[i]])
                (turn,) = after.state.turn
                if turn < 0:  # the round is over
                    assert winning[i] == (after.state.places[0, seat] == 2)
                    continue
                value = endgame.solve(View(after, np.arange(1))).value[0]
                assert value != 0
                assert winning[i] == ((value == 1) == (turn == seat))
            num_lost += 1
        actions = np.full(batch.num_games, NO_ACTION)
        actions[games] = batch.sample(rng)[games]
        batch.step(actions)
    assert (num_lost > 20) == (preset != "south")


@pytest.mark.parametrize("preset", ["cardgames", "foicica", "thirteens", "thirteens_dummy_manual"])
def test_inputs_do_not_depend_on_hidden_cards(preset: str) -> None:
    """Deal the cards that the seat to move cannot see to the others anew, as many to each."""
    rules = get_rules(preset)
    features = features_of(rules)
    reader = Reader(features, "heuristic", 1.0, record=False)
    batch = Batch(rules, 30, auto_reset=True)
    batch.reset(5)
    rng = np.random.default_rng(5)
    for step in range(40):
        if step % 4 == 3:
            others = batch.copy()
            for game in range(batch.num_games):
                state, turn = others.state, others.state.turn[game]
                seats = [seat for seat in range(rules.num_players) if seat != turn]
                hands = [card_ids(state.hands[game, seat], NUM_CARDS) for seat in seats]
                hidden = rng.permutation(np.concatenate(hands)).astype(np.int64)
                for seat, hand in zip(seats, hands, strict=True):
                    mine, hidden = np.split(hidden, [len(hand)])
                    state.hands[game, seat] = np.bitwise_or.reduce(1 << mine) if len(hand) else 0
            state.key[:] += 1
            assert not np.array_equal(others.state.hands, batch.state.hands)
            assert same(reader.read(View(batch)), reader.read(View(others)))
            games = np.arange(batch.num_games)
            privileged = [features.on_host(features.hidden)(b, games) for b in (batch, others)]
            assert not np.array_equal(*privileged)  # which the critic sees
        batch.step(batch.sample(rng))


def digest_of_features(name: str) -> str:
    """Of all that networks and critics read in some decisions."""
    batch, digest = Batch(name, 2), hashlib.sha256()
    features = features_of(batch.rules)
    reader = Reader(features, prior_scale=2.0) if features.has_prior else Reader(features)
    functions = [features.on_host(code) for code in (features.hidden, features.outcome) if code]
    returns = features.on_host(features.returns) if features.returns else None
    batch.reset(5)
    rng = np.random.default_rng(5)
    while (games := np.flatnonzero(batch.turn >= 0)).size:
        actions = batch.sample(rng)
        if rng.random() > SHARE:
            batch.step(actions)
            continue
        inputs = reader.read(View(batch, games))
        arrays = [*inputs, *(function(batch, games) for function in functions)]
        if returns:
            arrays.append(returns(batch, games, inputs))
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
        batch.step(actions)
    return digest.hexdigest()


SHARE = 0.1  # of the decisions
PLAIN = "cardgames", "north", "mini", "thirteens", "thirteens_dummy_manual", "high_card"


def digests() -> list[str]:
    return [digest_of_features(name) for name in PLAIN]


def test_plain_python_writes_the_same() -> None:
    """The same source without a compiler."""
    wanted = digests()
    assert len({*wanted}) == len(PLAIN)
    assert printed(f"{__name__}:digests") == f"{wanted}\n"


@pytest.mark.parametrize("rules", VARIANTS[::5], ids=variant_id)
def test_widths(rules: ThirteensRules) -> None:
    config = NetworkConfig.of(rules, record=True)
    assert not config.record
    view = some_views(rules, steps=9)[-1]
    inputs = config.reader().read(view)
    assert inputs.observation.shape == (30, config.state_inputs)
    assert inputs.action_features.shape == (len(inputs.action), config.action_inputs)
    assert np.array_equal(inputs.segment_ids, view.legal_actions.game)
    batch = Batch(rules, 3)
    batch.reset(0)
    facts = T.FEATURES.on_host(T.FEATURES.hidden)(batch, np.array([0, 2]))
    assert facts.shape == (2, T.num_hidden(rules))
    with pytest.raises(ValueError, match="play summary"):
        Reader(T.FEATURES, record=True)


@pytest.mark.parametrize("rules", VARIANTS[::4] + VARIANTS[1::6], ids=variant_id)
def test_an_untrained_network_with_the_prior_plays_like_the_trickster(rules: ThirteensRules) -> None:
    network = ActionNetwork(NetworkConfig.of(rules, state_width=16, action_width=16, prior="heuristic"))
    agent, trickster = NetworkAgent(network.to_network()), tienlen_agents.load("trickster")
    for view in some_views(rules):
        assert np.array_equal(agent.act(view), trickster.act(view))


@pytest.mark.parametrize("melding", ["auto", "manual"])
def test_features_tell_every_action_of_thirteens_apart(melding: Any) -> None:
    """But for the two jokers, which are alike."""
    seen: dict[bytes, int] = {}
    for view in some_views(replace(FOUR, melding=melding), num_games=200, steps=80):
        inputs = Reader(T.FEATURES, "none").read(view)
        what = inputs.action_features[:, : T.LEFT]
        for action, row in zip(np.where(inputs.action == 53, 52, inputs.action).tolist(), what, strict=True):
            assert seen.setdefault(row.tobytes(), action) == action
    assert len(set(seen.values())) == len(seen) > (100 if melding == "manual" else 52)


def floats(inputs: Inputs) -> np.ndarray:
    found: np.ndarray = as_bfloat16(inputs.action_features).float().numpy()
    return found


def test_a_card_of_thirteens_by_hand() -> None:
    deal = Deal(FOUR, "6c 2d", "8c Ac 5h", "9c Kd", "2c 3d").play("6c")
    view = View(deal.batch)
    inputs = Reader(T.FEATURES, "none").read(view)
    rows = {
        view.action_table.text(a): row for a, row in zip(inputs.action.tolist(), floats(inputs), strict=True)
    }
    assert set(rows) == {"8c", "Ac"}
    row = rows["8c"]
    assert np.flatnonzero(row[: T.END]).tolist() == [6, T.SUIT + 1]
    assert np.flatnonzero(row[T.PIPS : T.LEFT]).tolist() == [7]
    assert np.flatnonzero(row[T.LEFT : T.VOIDS]).tolist() == card_ids(parse_cards("Ac 5h"), NUM_CARDS)
    assert row[T.VOIDS : T.PILE].tolist() == [1, 0, 1, 0]
    assert np.flatnonzero(row[T.PILE : T.AUX]).tolist() == [5, 7]  # a 6 and an 8
    facts = row[T.AUX :]
    assert facts[5] == 1 / 8  # the trick and no meld
    assert facts[6:8].tolist() == [1, 1]  # it wins so far, and follows
    assert facts[8] == 5 / 4  # 9, T, J, Q, K; the ace is its own
    assert facts[9] == 0
    assert facts[13] == pytest.approx(2 / 3, abs=1e-2)
    assert facts[16] == 1 / 4  # the ace is the highest club
    assert facts[19] == 2  # jokers
    assert not facts[20:].any()
    assert rows["Ac"][T.AUX + 9] == 1
    assert not inputs.prior.any()


def test_unseen_cards_of_thirteens_by_hand() -> None:
    deal = Deal(FOUR, "6c 2d", "8c Ac", "9c Kd", "2c 3d", remainder="5s", starter="").play("6c")
    unseen = Reader(T.FEATURES).read(View(deal.batch)).observation[0, -106:]
    assert np.flatnonzero(unseen[:54] == 0).tolist() == card_ids(parse_cards("6c 8c Ac 5s"), NUM_CARDS)
    assert unseen[54:].reshape(4, 13).sum(axis=1).tolist() == [12, 10, 13, 13]


def test_melds_by_hand() -> None:
    deal = Deal(replace(FOUR, melding="manual"), "6c 2d", "8c Ac", "7c Kd", "6d 3d").play(
        "6c", "8c", "7c", "6d"
    )
    view = View(deal.batch)
    inputs = Reader(T.FEATURES, "heuristic").read(view)
    rows = {
        view.action_table.text(a): row for a, row in zip(inputs.action.tolist(), floats(inputs), strict=True)
    }
    assert set(rows) == {"end", "meld 7+6", "meld 6 6", "meld 6-7-8"}
    assert [name for name, row in rows.items() if row[T.END]] == ["end"]
    assert np.flatnonzero(rows["meld 7+6"][T.PILE : T.AUX]).tolist() == [5, 7]  # a 6 and an 8 remain
    assert rows["meld 6 6"][T.PIPS + 5] == 2
    assert rows["meld 7+6"][T.AUX + 1] == 3 / 8
    assert dict(zip(rows, inputs.prior.tolist(), strict=True)) == {
        "end": -3,
        "meld 7+6": 0,
        "meld 6 6": -2,
        "meld 6-7-8": -2,
    }


def test_privileged_of_thirteens_by_hand() -> None:
    deal = Deal(ThirteensRules(num_players=3, dummy=True), "6c 2d", "8c Ac", "9c *1", dummy="2c 5s 7d")
    deal.play("6c")
    facts = T.FEATURES.on_host(T.FEATURES.hidden)(deal.batch, np.array([0]))[0].reshape(3, 53)
    left = [np.flatnonzero(hand).tolist() for hand in facts]
    flipped = int(deal.batch.state.shown[0])
    rest = parse_cards("2c 5s 7d") & ~flipped
    others = parse_cards("9c *1"), parse_cards("2d"), rest
    assert left == [card_ids(cards, NUM_CARDS) for cards in others]


def test_a_network_says_which_game_it_plays() -> None:
    rules = get_rules("thirteens")
    agent = NetworkAgent(ActionNetwork(NetworkConfig.of(rules, state_width=16, action_width=16)).to_network())
    check_plays([agent], Batch(rules, 1))
    with pytest.raises(WrongGameError, match="plays thirteens, not tienlen"):
        check_plays([agent], Batch("cardgames", 1))


@pytest.mark.parametrize("preset", ["cardgames", "south", "thirteens", "thirteens_dummy"])
@pytest.mark.parametrize("prior", ["none", "heuristic"])
def test_the_compiled_reader_of_one_decision_gives_the_same_inputs(preset: str, prior: Any) -> None:
    rules = get_rules(preset)
    features = features_of(rules)
    batch = Batch(rules, 40)
    batch.deal(np.arange(40))
    rows, spec, actions = batch.kernel_arrays
    memory, read_one = features.one_reader(rules, rows.shape[1], prior, 1.5, record=False)
    reader = Reader(features, prior, 1.5, record=False)
    read = jit.loop(read_one)
    rng = np.random.default_rng(1)
    num_compared = 0
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        inputs = reader.read(view)
        for i in range(0, len(games), 9):
            memory.row[0] = rows[games[i]]
            num = read(spec, actions, memory)
            expected, found = inputs.part(i, i + 1), memory.inputs
            assert num == expected.num_legal[0] == found.num_legal[0]
            assert np.array_equal(found.observation, expected.observation)
            for name in ("action", "action_features", "prior"):
                assert np.array_equal(getattr(found, name)[:num], getattr(expected, name)), name
            num_compared += 1
        chosen = np.full(40, NO_ACTION)
        chosen[games] = view.sample(rng)
        batch.step(chosen)
    assert num_compared > 100
