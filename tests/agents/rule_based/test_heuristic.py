"""The heuristic player: exact splits, legal play everywhere, a position for each rule, frozen decisions."""

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tienlen_agents
from tienlen_agents.rule_based.heuristic import (
    HeuristicAgent,
    Parameters,
    fewest_plays,
    parameters as parameters_module,
    splits,
)
from tienlen_agents.rule_based.heuristic.decide import ActionFacts, evaluate_row, new_workspace
from tienlen_agents.rule_based.heuristic.parameters import _PLAIN, FAMILIES, ONE, OWN
from tienlen_env.engine.agent import View
from tienlen_env.engine.backends import jit
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.cards import FULL_DECK, parse_cards
from tienlen_env.games.tienlen.actions import PASS, build_action_table
from tienlen_env.games.tienlen.rules import PRESETS, Rules, Shape, get_rules
from tienlen_env.games.tienlen.spec import build_spec
from tienlen_env.games.tienlen.state import TURN, UNDEALT

GOLDEN = Path(__file__).parents[2] / "golden" / "heuristic.json"
CASES = [(preset, players) for preset in PRESETS for players in (2, 3, 4)]
VARIANTS = [*PRESETS, Rules(run_min=5), Rules(run_min=0), Rules(run_min=4, set_run_min=(3, 2, 0))]

# ---------------------------------------------------------------- splits


def random_hands(num_hands, num_cards, seed):
    """Masks; half of them from few ranks, where sequences and sets compete."""
    rng = np.random.default_rng(seed)
    hands = []
    for i in range(num_hands):
        low = rng.integers(0, 8) if i % 2 else 0
        deck = np.arange(52) if i % 2 == 0 else np.arange(4 * low, min(4 * low + 24, 52))
        hands.append(sum(1 << int(c) for c in rng.choice(deck, min(num_cards, len(deck)), replace=False)))
    return np.array(hands, np.int64)


def brute_force(rules):
    """The fewest plays of a tuple of 13 counts, by trying every play that it holds."""
    shapes = [(w, 1) for w in (1, 2, 3, 4)]
    shapes += [(w, m) for w in (1, 2, 3, 4) for m in range(2, 14) if rules.allows(Shape(w, m)) and m > 1]
    plays = [
        (w, m, low)
        for w, m in shapes
        for low in range(13 - m + 1)
        if m == 1 or low + m <= 12 or rules.twos_allowed(w)
    ]

    @cache
    def fewest(counts):
        if not any(counts):
            return 0
        best = 99
        for w, m, low in plays:
            if all(counts[r] >= w for r in range(low, low + m)):
                rest = tuple(c - w * (low <= r < low + m) for r, c in enumerate(counts))
                best = min(best, 1 + fewest(rest))
        return best

    return fewest


def lowest_first(rules):
    """The same, by the plays that contain the lowest rank: fast enough for 13 cards."""

    @cache
    def fewest(counts):
        if not any(counts):
            return 0
        low = next(r for r, c in enumerate(counts) if c)
        best = 99
        for w in range(1, counts[low] + 1):
            for m in range(1, 14 - low):
                if counts[low + m - 1] < w:
                    break
                if m > 1 and (
                    not rules.min_length(w)
                    or m < rules.min_length(w)
                    or (low + m == 13 and not rules.twos_allowed(w))
                ):
                    continue
                rest = tuple(c - w * (low <= r < low + m) for r, c in enumerate(counts))
                best = min(best, 1 + fewest(rest))
        return best

    return fewest


def exact_plays(rules):
    """The same where suits bind: by the exact combinations of the action table that have the lowest card."""
    plays = [int(cards) for cards in build_action_table(rules).cards if cards]

    @cache
    def fewest(hand):
        if hand == 0:
            return 0
        lowest = hand & -hand
        return 1 + min(fewest(hand ^ play) for play in plays if play & lowest and play & ~hand == 0)

    return fewest


def counts_of(hand):
    return tuple((int(hand) >> 4 * r & 15).bit_count() for r in range(13))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_fewest_plays_are_exact(variant):
    rules = get_rules(variant)
    if rules.suits_bind:
        slow = exact_plays(rules)
        for num_cards in range(1, 14):
            hands = random_hands(60, num_cards, num_cards)
            assert fewest_plays(hands, rules).tolist() == [slow(hand) for hand in hands.tolist()]
        return
    slow, brute = lowest_first(rules), brute_force(rules)
    for num_cards in range(1, 14):
        hands = random_hands(60, num_cards, num_cards)
        found = fewest_plays(hands, rules)
        assert found.tolist() == [slow(counts_of(hand)) for hand in hands]
        if num_cards <= 7:
            assert found[:12].tolist() == [brute(counts_of(hand)) for hand in hands[:12]]


# ---------------------------------------------------------------- play


def rounds(preset, num_players, num_rounds, agent, seed=0):
    """Every decision of some rounds with one agent in all seats, as (view, games, actions)."""
    batch = Batch(preset, num_rounds, num_players=num_players)
    batch.deal(np.arange(num_rounds) + seed)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        yield view, games, chosen
        actions = np.full(num_rounds, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)


def legal_pairs(view):
    legal = view.legal_actions
    return set(zip(legal.game.tolist(), legal.action.tolist(), strict=True))


@pytest.mark.parametrize(("preset", "num_players"), CASES)
def test_legal_on_states_of_random_play(preset, num_players):
    heuristic, random = tienlen_agents.load("heuristic"), tienlen_agents.load("random")
    checked = 0
    for view, _, _ in rounds(preset, num_players, 60, random, seed=1000):
        chosen = heuristic.act(view)
        assert chosen.dtype == np.int64
        assert set(enumerate(chosen.tolist())) <= legal_pairs(view)
        checked += len(chosen)
    assert checked > 1000


@pytest.mark.parametrize(
    "rules", [Rules(knockout="round"), Rules(pass_lock=False), Rules(ladder=("4x1", "2x4"))]
)
def test_legal_under_other_rules(rules):
    for view, _, chosen in rounds(rules, 4, 100, tienlen_agents.load("heuristic")):
        assert set(enumerate(chosen.tolist())) <= legal_pairs(view)


def test_a_decision_depends_on_its_position_alone():
    agent = tienlen_agents.load("heuristic")
    for preset in PRESETS:
        batch = Batch(preset, 300)
        batch.reset(4)
        rng = np.random.default_rng(5)
        for _ in range(25):
            games = np.flatnonzero(batch.state.turn >= 0)
            chosen = agent.act(View(batch, games))
            order = rng.permutation(len(games))
            shuffled = tienlen_agents.load("heuristic").act(View(batch, games[order]))
            assert (shuffled == chosen[order]).all()
            some = order[:5]
            assert [int(agent.act(View(batch, games[[i]]))[0]) for i in some] == chosen[some].tolist()
            actions = batch.sample(rng)
            batch.step(actions)


@pytest.mark.parametrize(("preset", "num_players"), CASES)
def test_hidden_cards_do_not_matter(preset, num_players):
    """What the others hold, and what was not dealt, is dealt anew, as many cards to each."""
    agent, batch, rng = HeuristicAgent(), Batch(preset, 60, num_players=num_players), np.random.default_rng(3)
    batch.reset(3)
    num_changed = 0
    for _ in range(20):
        other = batch.copy()
        for row in other.state.rows:
            columns = np.delete(np.arange(UNDEALT + 1), row[TURN])
            sizes = np.bitwise_count(row[columns])
            cards = np.flatnonzero(int(np.bitwise_or.reduce(row[columns])) >> np.arange(52) & 1)
            parts = np.split(1 << rng.permutation(cards), np.cumsum(sizes)[:-1])
            row[columns] = [part.sum() for part in parts]
        games = np.flatnonzero(batch.state.turn >= 0)
        num_changed += (other.state.rows[games] != batch.state.rows[games]).any(axis=1).sum()
        view, blind = View(batch, games), View(other, games)
        assert np.array_equal(agent.act(view), agent.act(blind))
        for one, two in zip(evaluate(view), evaluate(blind), strict=True):
            assert np.array_equal(one, two)
        batch.step(batch.sample(rng))
    assert num_changed > 500


def test_the_memo_forgets_after_its_stamps_have_gone_round():
    # More decisions than stamps (4095): what is left of the first round must not be taken for new.
    batch = Batch("foicica", 5000)
    batch.reset(6)
    agent = tienlen_agents.load("heuristic")
    chosen = agent.act(View(batch))
    assert (agent.act(View(batch)) == chosen).all()
    some = np.arange(4000, 5000, 7)
    assert (tienlen_agents.load("heuristic").act(View(batch, some)) == chosen[some]).all()


def test_an_empty_view_gets_no_actions():
    batch = Batch("cardgames", 2)
    batch.reset(0)
    assert tienlen_agents.load("heuristic").act(View(batch, np.zeros(0, np.int64))).shape == (0,)


@pytest.mark.parametrize(
    ("rules", "family"),
    [
        (get_rules("cardgames"), 0),
        (get_rules("foicica"), 0),
        (get_rules("south"), 1),
        (get_rules("south", 2), 1),
        (get_rules("south_count"), 2),
        (get_rules("south_winner"), 1),
        (get_rules("bga"), 0),
        (get_rules("north"), 3),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_family_of_rules_has_its_own_weights(rules, family):
    spec, _ = build_spec(rules)
    assert splits.family_of(spec) == family
    workspace = new_workspace()
    splits.set_rules(workspace, spec)
    found = workspace[splits.WEIGHTS : splits.FAMILIES]
    assert (found == FAMILIES[family].weights()).all()


def test_weights_of_ones_own_are_the_same_under_all_rules():
    parameters = Parameters(pass_bonus=2.5)
    workspace = new_workspace(parameters)
    for preset in ("cardgames", "south", "south_count", "north"):
        splits.set_rules(workspace, build_spec(get_rules(preset))[0])
        assert (workspace[splits.WEIGHTS : splits.FAMILIES] == parameters.weights()).all()


OWN_PARAMETERS = ("slope_single", "slope_pair", "pass_bonus", "pass_urgency", "pass_owner", "held_decay")


@pytest.mark.parametrize("name", [*OWN_PARAMETERS, *_PLAIN])
def test_own_parameters_change_no_table_that_families_share(name):
    other = Parameters(**{name: getattr(Parameters(), name) + 0.5})
    differs = other.weights() != Parameters().weights()
    assert differs.any()
    assert not differs[:OWN].any()


def test_families_share_the_tables_that_are_too_large_for_each(monkeypatch):
    monkeypatch.setattr(parameters_module, "FAMILIES", (Parameters(), Parameters(pair=0.5)))
    parameters_module.family_weights.cache_clear()
    with pytest.raises(ValueError, match="families differ in a parameter that decides a common table"):
        parameters_module.family_weights(None)


# ---------------------------------------------------------------- one position for each rule


def position(hand, *others, moves=(), preset="cardgames"):
    """A view of seat 0, which leads unless `moves`, from seat 1 on, say what was played ("" is a pass)."""
    batch = Batch(preset, 1, num_players=1 + len(others))
    batch.set_hands([[parse_cards(text) for text in (hand, *others)]], leader=1 if moves else 0)
    for text in moves:
        cards = parse_cards(text) if text else 0
        batch.step([batch.action_table.classify(cards)], [cards])
    assert batch.state.turn[0] == 0
    return View(batch)


def decide(hand, *others, moves=(), preset="cardgames"):
    view = position(hand, *others, moves=moves, preset=preset)
    return view.action_table.text(int(tienlen_agents.load("heuristic").act(view)[0]))


def test_rule_1_empties_the_hand():
    assert decide("4s 4c", "3s 5s 6s 7s") == "pair 4c"
    assert decide("4s 5c 6d", "3s 5s 6s 7s 8c", "9s 9c 9d Ts") == "run 4-6 top 6d"
    assert decide("2h", "3s 5s 6s 7s", moves=["3s"]) == "single 2h"


def test_rule_1_goes_out_when_it_is_certain():
    # No player has four cards, so nothing beats the 2 of hearts or three cards in sequence need an answer of
    # three: the weak 4 is kept for the end.
    assert decide("4s 2h", "5s 6s 7s", "8s 9s Ts", "Jc Qc Kd") == "single 2h"
    assert decide("4s 6s 7c 8d", "5s 6h", "8s 9s", "Jc Qc") == "run 6-8 top 8d"
    # In answer to a play as well, whatever it costs.
    assert decide("4s 5s 6s 2d 2h", "3s 3c 3d", "9s 9c", "Jc Qc", moves=["3s", "9s", "Jc"]) in {
        "single 2d",
        "single 2h",
    }


def test_rule_1_a_bomb_goes_when_that_is_certain():
    assert decide("4s 9s 9c 9d 9h", "5s 6s 7s", "8s Ts", "Jc Qc Kd") == "quad 9h"


def is_beatable(table, action, unseen, most):
    """Whether a hand of some unseen cards may beat a play: read from the rules once more."""
    held = np.flatnonzero(table.held(unseen))
    held = held[(held != PASS) & (table.num_cards[held] <= most)]
    shape = table.shape(action)
    higher = [a for a in held if table.shape(a) == shape and table.top[a] > table.top[action]]
    if table.rules.suits_bind and shape == (1, 1):
        same_suit = table.top % 4 == table.top[action] % 4
        higher = [a for a in higher if same_suit[a] or table.top_rank[a] == 12]
    twos = shape.length == 1 and table.top_rank[action] == 12
    chops = table.rules.with_longer(dict(table.rules.chops).get(shape.width, ())) if twos else ()
    return bool(higher) or any(table.shape(a) in chops for a in held)


# With payments cóng and penalties decide places, too (4.9, 4.27).
@pytest.mark.parametrize("preset", [name for name, rules in PRESETS.items() if not rules.has_payments])
def test_rule_1_who_is_certain_goes_out_next(preset):
    num_rounds = 150
    batch = Batch(preset, num_rounds)
    batch.deal(np.arange(num_rounds))
    agent, table = tienlen_agents.load("heuristic"), batch.action_table
    expected = {}
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        unseen = FULL_DECK & ~(view.hand | np.bitwise_or.reduce(view.played, axis=1))
        left = np.where(view.places < 0, view.num_cards_left, 0)[:, 1:]
        legal = view.legal_actions
        beatable = evaluate(view)[1][legal.action == chosen[legal.game], 1]
        for i in np.flatnonzero((chosen != PASS) & (beatable <= 1)):
            if not is_beatable(table, chosen[i], unseen[i], left[i].max()):
                expected[games[i], view.seat[i], (view.places[i] >= 0).sum()] = True
        actions = np.full(num_rounds, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)
    assert len(expected) > 100
    for game, seat, place in expected:
        assert batch.state.places[game, seat] == place


def test_rule_2_never_serves_a_player_with_one_card():
    assert decide("4s 5s 5c 8s Ts", "6s", "7c 7d 8c 9s Tc", "Jc Jd Qc Qd Ks") == "pair 5c"
    assert decide("4s 6c 9s Jd", "Qs", "7c 7d 8c 9c Tc", "Jc Qc Qd Ks Kc") == "single Jd"
    # The seat does not matter: any seat that has not passed can answer.
    assert decide("4s 6c 9s Jd", "7c 7d 8c 9c Tc", "Jc Qc Qd Ks Kc", "Qs") == "single Jd"


@pytest.mark.parametrize("preset", PRESETS)
def test_rule_2_in_every_game(preset):
    table = Batch(preset).action_table
    num_leads = 0
    for view, _, chosen in rounds(preset, 4, 300, tienlen_agents.load("heuristic"), seed=5000):
        unseen = FULL_DECK & ~(view.hand | np.bitwise_or.reduce(view.played, axis=1))
        left = np.where(view.places < 0, view.num_cards_left, 0)[:, 1:]
        legal = view.legal_actions
        for i in np.flatnonzero((view.table_action == PASS) & (left == 1).any(axis=1)):
            options = legal.action[legal.game == i]
            num_leads += 1
            if table.num_cards[chosen[i]] == 1 and is_beatable(table, chosen[i], unseen[i], left[i].max()):
                assert (table.num_cards[options] == 1).all()
                assert table.top[chosen[i]] == table.top[options].max()
    assert num_leads > 200


FULL_A = "3h 5s 5c 6d 7c 8h 9s Tc Jh Qd Ks Ah 2s"
FULL_B = "3d 5d 5h 6s 7h 8d 9c Td Jc Qh Kc Ad 2c"


def test_rule_3_keeps_its_runs():
    chosen = decide("3s 4c 6c 7s 8c 9d Ts Qs Kd", FULL_A, FULL_B, moves=["3h", "5d"])
    assert chosen in {"pass", "single Qs", "single Kd"}
    assert decide("3s 6c 7s 8c 9d Ts", FULL_A, FULL_B) in {"single 3s", "run 6-T top Ts"}


def test_rule_4_does_not_lead_a_lone_2():
    assert decide("3s 7s 2d", FULL_A, FULL_B) in {"single 3s", "single 7s"}
    assert "2" not in decide("3s 3c 7s 9d Kd As 2d 2h", FULL_A, FULL_B)


def test_rule_5_keeps_a_bomb_whole():
    chosen = decide("4s 4c 4d 4h 9d Ts Qs", FULL_A, FULL_B, moves=["3h", ""])
    assert chosen in {"pass", "single 9d", "single Ts", "single Qs"}
    assert decide("4s 4c 4d 4h 3s Ts Qs 6c", FULL_A, FULL_B) in {"single 3s", "single 6c"}
    chosen = decide("6c 6h 7s 7d 8s 8c 3s Kd", FULL_A, FULL_B, moves=["5s", ""])
    assert chosen in {"pass", "single Kd"}


def test_rule_8_blocks_a_player_with_one_card():
    # Seat 1 has one card left and goes out if no other takes the trick.
    assert decide("5s 6c 7s 8s 9s", "4s Js", FULL_B, moves=["4s", ""]) != "pass"


def test_rules_7_and_9_save_nothing_for_a_trick_that_will_not_come():
    hand = "3s 3c 4c 4d 6c 6h 8s 8c 2h"
    assert decide(hand, FULL_A, FULL_B, moves=["9s", ""]) == "pass"
    assert decide(hand, "9s Th", FULL_B, moves=["9s", ""]) == "single 2h"


def summary(preset, num_players):
    """A digest of (game, seat, action) of all decisions, and their number."""
    digest, count = hashlib.sha256(), 0
    for view, games, chosen in rounds(preset, num_players, 200, tienlen_agents.load("heuristic")):
        digest.update(np.stack([games, view.seat, chosen], axis=1).astype("<i8").tobytes())
        count += len(games)
    return {"digest": digest.hexdigest(), "decisions": count}


@pytest.mark.parametrize(("preset", "num_players"), CASES)
def test_decisions_are_frozen(preset, num_players):
    assert summary(preset, num_players) == json.loads(GOLDEN.read_text())[f"{preset} {num_players}"]


if __name__ == "__main__":  # writes the golden file: play has changed on purpose, figures are to be renewed
    GOLDEN.write_text(json.dumps({f"{p} {k}": summary(p, k) for p, k in CASES}, indent=1) + "\n")


@jit.loop
def _evaluate(workspace, spec, actions, rows, games, ids, cards, start, scores, facts):
    """Evaluate all N listed legal actions of n games."""
    splits.set_rules(workspace, spec)
    out = ActionFacts(scores, facts)
    for b in range(games.shape[0]):
        end = start[b + 1] if b + 1 < games.shape[0] else ids.shape[0]
        evaluate_row(workspace, spec, actions, rows[games[b]], ids, cards, (start[b], end), out)


def evaluate(view):
    """The scores behind the best one of each decision, in plays, and the facts of all legal actions."""
    legal, (batch, games) = view.legal_actions, view.source
    rows, spec, actions = batch.kernel_arrays
    scores, facts = np.empty(len(legal.action), np.int64), np.empty((len(legal.action), 5), np.float32)
    workspace = new_workspace()
    _evaluate(workspace, spec, actions, rows, games, legal.action, legal.cards, legal.start, scores, facts)
    return (scores - np.maximum.reduceat(scores, legal.start)[legal.game]) / ONE, facts


@pytest.mark.parametrize("preset", PRESETS)
def test_judging_agrees_with_choosing(preset):
    agent, batch, rng = HeuristicAgent(), Batch(preset, 60), np.random.default_rng(2)
    batch.reset(2)
    for _ in range(30):
        games = np.flatnonzero(batch.state.turn >= 0)
        view = View(batch, games)
        behind, facts = evaluate(view)
        legal = view.legal_actions
        assert (behind <= 0).all()
        assert facts.shape == (len(legal.action), 5)
        assert (facts[:, 1] <= facts[:, 4]).all()
        chosen = agent.act(view)
        assert (behind[legal.action == chosen[legal.game]] == 0).all()
        goes_out = view.hand[legal.game] == legal.cards
        assert (facts[goes_out] == [0, 0, 0, 1, 0]).all()
        left = view.hand[legal.game] ^ legal.cards
        assert np.array_equal(facts[:, 4], fewest_plays(left, batch.rules))
        batch.step(batch.sample(rng))


def test_judging_counts_what_beats_a_play():
    """After all but one 2 have been seen, a king of hearts is beaten by aces and that 2."""
    batch = Batch("cardgames", 1)
    hands = ["3s Kh 2s 2c 2d", "As Ac Ad Ah 2h", "4s 4c", "5s 5c"]
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    view = View(batch)
    _, facts = evaluate(view)
    better = dict(
        zip(map(view.action_table.text, view.legal_actions.action.tolist()), facts[:, 2], strict=True)
    )
    assert better["single Kh"] == 5
    assert better["single 2d"] == 1
    assert better["pair 2c"] == 0
