"""Both games in OpenSpiel: its own tests, the same states as `Round`, bots both ways."""

import json
from collections import Counter

import numpy as np
import pytest

import tienlen_agents
from tests.needs import needs_openspiel
from tienlen_agents.arena.match import match
from tienlen_env.errors import RulesError
from tienlen_env.games.registry import PRESETS, game_of, games, variants_of
from tienlen_env.single.base import round_type

pytestmark = needs_openspiel

VARIANTS = [
    (game.name, name, rules.num_players)
    for game in games()
    if game.name in ("tienlen", "thirteens")
    for name, rules in variants_of(game)
    if name != "large"
]
# A third of them by day: every preset, every number of players.
SOME = pytest.mark.parametrize(
    ("game", "name", "num_players"),
    [
        pytest.param(*variant, marks=[pytest.mark.nightly] * ((i + i // 3) % 3 > 0))
        for i, variant in enumerate(VARIANTS)
    ],
)


def load(name, **parameters):
    import pyspiel

    import tienlen_bridges.openspiel  # noqa: F401 - registers the games

    return pyspiel.load_game(f"python_{name}", parameters)


def deal(state, rng):
    while state.is_chance_node():
        outcomes = [outcome for outcome, _ in state.chance_outcomes()]
        state.apply_action(int(rng.choice(outcomes)))
    return state


@SOME
def test_openspiel_accepts_the_game(game, name, num_players):
    import pyspiel

    pyspiel.random_sim_test(
        load(game, rules=name, players=num_players), num_sims=1, serialize=name == "mini", verbose=False
    )


API_TESTS = [
    "sequence_lengths",
    "observations_raises_error_on_invalid_player",
    "legal_actions_returns_empty_list_on_opponent",
    "private_information_contents",
    "no_invalid_public_observations",
]


@SOME
def test_openspiels_own_api_tests_pass(game, name, num_players):
    from open_spiel.integration_tests import api_test

    base, own = api_test.EnforceAPIOnPartialTreeBase, load(game, rules=name, players=num_players)
    assert sorted(f"test_{test}" for test in API_TESTS) == [n for n in dir(base) if n.startswith("test_")]
    case = type("Own", (base,), {"game": own, "game_name": own.get_type().short_name})
    case.setUpClass()
    for test in API_TESTS:
        getattr(case(f"test_{test}"), f"test_{test}")()


@pytest.mark.parametrize("text", ["tienlen", "thirteens", "tienlen(rules=south,players=2)"])
def test_openspiel_writes_a_playthrough_and_replays_it(text, tmp_path):
    from absl import flags
    from open_spiel.python.algorithms import generate_playthrough

    load("tienlen")
    flags.FLAGS.mark_as_parsed()
    path = tmp_path / "playthrough.txt"
    path.write_text(generate_playthrough.playthrough(f"python_{text}", None, seed=1))
    written, again = generate_playthrough.replay(path)
    assert "ObservationString(0)" in written
    assert written == again


def observation_of_kaggle(state, player, kind="observation"):
    """What the wrapper `open_spiel_env` of kaggle-environments 1.33.2 gives an agent."""
    import pyspiel

    seen = {"observationString": getattr(state, f"{kind}_string")(player)}
    hides = getattr(state, "hides_state_from_agents", None)
    if not (callable(hides) and bool(hides())):
        seen["serializedGameAndState"] = pyspiel.serialize_game_and_state(state.get_game(), state)
    legal = state.legal_actions(player)
    return seen | {"legalActions": legal, "legalActionStrings": list(map(state.action_to_string, legal))}


@pytest.mark.parametrize("kind", ["observation", "information_state"])
@pytest.mark.parametrize(
    ("name", "num_players"), [("cardgames", 2), ("south", 4), ("north", 3), ("thirteens", 4)]
)
def test_kaggles_wrapper_gives_no_agent_a_hidden_card(name, num_players, kind):
    """The same for every deal that agrees with what the agent has seen; and it can be read."""
    rng, changed = np.random.default_rng(5), 0
    state = deal(load(game_of(PRESETS[name]).name, rules=name, players=num_players).new_initial_state(), rng)
    while not state.is_terminal():
        for player in range(num_players):
            seen = observation_of_kaggle(state, player, kind)
            other = state.resample_from_infostate(player, rng.random)
            assert observation_of_kaggle(other, player, kind) == seen
            changed += str(other) != str(state)
            if kind == "observation":
                message = json.loads(seen["observationString"])
                assert message["seat"] == player
                assert message["legal_ids"] == seen["legalActions"]
        state.apply_action(int(rng.choice(state.legal_actions())))
    assert changed > 20


def check_against_round(game, name, num_players, rng):
    """A round of random play: the same legal actions, turns, hands and results; returns its decisions."""
    state = deal(load(game, rules=name, players=num_players).new_initial_state(), rng)
    at, extra, leader = state.at, {}, None
    if game == "thirteens":
        held = sum(map(int.bit_count, at.hands))
        aside = at.batch.rules.num_aside
        *others, leader = at.dealt[held:]
        piles = (
            others[: len(others) - aside],
            others[len(others) - aside :],
            others[len(others) - aside :][:1],
        )
        names = "dummy", "remainder", "starter"
        extra = {name: sum(1 << c for c in pile) for name, pile in zip(names, piles, strict=True)}
    peer = round_type(PRESETS[name]).from_hands(at.batch.rules, at.hands, leader=leader, **extra)
    while not peer.is_over:
        assert state.current_player() == peer.turn
        assert state.legal_actions() == peer.legal_actions()
        action = int(rng.choice(peer.legal_actions()))
        state.apply_action(action)
        peer.play(action)
        assert state.at.batch.state.hands[0].tolist() == [peer.hand(s) for s in range(num_players)]
    assert state.is_terminal()
    assert [play.cards for play in state.at.plays] == [play.cards for play in peer.plays]
    assert tuple(state.at.batch.state.scores[0].tolist()) == tuple(peer._state.scores[0].tolist())
    return len(peer.plays)


@pytest.mark.parametrize(("game", "name", "num_players"), VARIANTS)
def test_states_are_those_of_a_round(game, name, num_players):
    assert check_against_round(game, name, num_players, np.random.default_rng(1)) > 2


@pytest.mark.nightly
def test_states_are_those_of_a_round_in_100_000_decisions():
    rng, decisions = np.random.default_rng(2), 0
    while decisions < 100_000:
        decisions += check_against_round(*VARIANTS[rng.integers(len(VARIANTS))], rng)


@pytest.mark.parametrize("name", ["cardgames", "thirteens", "thirteens_dummy_manual"])
def test_a_resampled_state_has_the_same_information_and_other_cards(name):
    rng = np.random.default_rng(3)
    state = deal(load(game_of(PRESETS[name]).name, rules=name).new_initial_state(), rng)
    changed = 0
    for _ in range(20):
        for player in range(state.num_players()):
            other = state.resample_from_infostate(player, rng.random)
            assert other.information_state_string(player) == state.information_state_string(player)
            assert other.information_state_tensor(player) == state.information_state_tensor(player)
            assert other.observation_string(player) == state.observation_string(player)
            changed += str(other) != str(state)
        if state.current_player() == player:
            assert other.legal_actions() == state.legal_actions()
        state.apply_action(int(rng.choice(state.legal_actions())))
    assert changed > 20


@pytest.mark.parametrize("name", ["south", "north"])
def test_a_resampled_state_has_no_hand_that_had_to_declare(name):
    """An instant win is declared before the first turn, so later nobody has had one (4.12)."""
    rng, game, seen = np.random.default_rng(8), load("tienlen", rules=name), 0
    for _ in range(30):
        state = deal(game.new_initial_state(), rng)
        if state.batch.state.must_declare[0]:
            continue
        for player in range(4):
            for _ in range(10):
                hands = state.resample_from_infostate(player, rng.random).at.hands
                again = round_type(PRESETS[name]).from_hands(PRESETS[name], hands)
                assert not again.view().declares
                seen += 1
    assert seen > 600


def test_every_deal_of_a_small_deck_is_one_outcome_and_a_whole_deck_comes_card_by_card():
    state = load("tienlen", rules="mini").new_initial_state()
    assert len(state.chance_outcomes()) == 560
    seen = Counter(state.child(outcome).at.hands for outcome, _ in state.chance_outcomes())
    assert set(seen.values()) == {1}
    game = load("tienlen", players=3)
    assert game.max_chance_nodes_in_history() == 39
    assert deal(game.new_initial_state(), np.random.default_rng(1)).current_player() in range(3)


def test_copies_share_nothing_that_changes():
    state = deal(load("tienlen").new_initial_state(), np.random.default_rng(1))
    before = str(state)
    copy = state.clone()
    copy.apply_action(copy.legal_actions()[0])
    assert str(state) == before != str(copy)


@pytest.mark.parametrize("total", ["points", "zero_sum", "win", "cards", "payments"])
def test_returns_are_those_of_the_reward_and_within_the_bounds(total):
    game = load("tienlen", rules="south", players=4, reward=total)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        state = deal(game.new_initial_state(), rng)
        while not state.is_terminal():
            assert state.returns() == [0.0] * 4
            state.apply_action(int(rng.choice(state.legal_actions())))
        assert sum(state.returns()) == pytest.approx(game.utility_sum())
        assert game.min_utility() <= min(state.returns()) <= max(state.returns()) <= game.max_utility()


def test_wrong_parameters_are_refused():
    with pytest.raises(RulesError, match="expected one of"):
        load("tienlen", rules="no")
    with pytest.raises(RulesError, match="expected one of"):
        load("tienlen", rules="thirteens")
    with pytest.raises(ValueError, match="reward"):
        load("tienlen", reward="no")


def test_an_agent_plays_as_a_bot_what_it_plays_here():
    from tienlen_bridges.openspiel import AgentBot, View

    state = deal(load("tienlen").new_initial_state(), np.random.default_rng(4))
    bot, agent = AgentBot(tienlen_agents.load("heuristic")), tienlen_agents.load("heuristic")
    while not state.is_terminal():
        action = bot.step(state)
        assert action == agent.act(View(state.batch))[0]
        state.apply_action(action)


@pytest.mark.parametrize("name", ["cardgames", "thirteens"])
def test_bots_of_openspiel_play_in_the_arena(name):
    assert match("openspiel:uniform_random", "random", num_deals=2, rules=name, seed=1) is not None
    agent = tienlen_agents.load("openspiel:ismcts,simulations=4")
    from tienlen_env import Batch, View

    batch = Batch(name, history_length=0 if name == "thirteens" else 255)
    batch.reset(seed=1)
    for _ in range(12):
        batch.step(agent.act(View(batch)))
    with pytest.raises(ValueError, match="expected one of ismcts"):
        tienlen_agents.load("openspiel:no").act(View(batch))
