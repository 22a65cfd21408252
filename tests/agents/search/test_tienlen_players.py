"""Models of players: what they like, how likely a play is, and how they play rollouts."""

import numpy as np
import pytest

import tienlen_agents
from tests.agents.search.test_search import decision_of, views
from tienlen_agents.rule_based.heuristic import decide, playout, splits
from tienlen_agents.rule_based.rollout import new_rollout
from tienlen_agents.search import tienlen_determinizations as worlds, tienlen_players as players
from tienlen_agents.search.agent import SearchAgent
from tienlen_agents.search.context import SearchContext
from tienlen_agents.search.loops import LISTED_SHARE, UNLIKELY
from tienlen_env.engine.agent import RandomAgent
from tienlen_env.engine.backends import jit
from tienlen_env.games.tienlen import kernels, spec as S, state as R
from tienlen_env.games.tienlen.rules import get_rules
from tienlen_env.games.tienlen.spec import build_spec

MISTAKES = 0.05
# Compiling loops of our own takes most of a minute, so everyday runs try few positions in plain Python.
each_way = pytest.mark.parametrize("way", ["plain", pytest.param("compiled", marks=pytest.mark.nightly)])


def new_line(rules, num_players=None):
    variant = get_rules(rules, num_players)
    spec, actions = build_spec(variant)
    line = new_rollout(decide.new_workspace(), spec, actions)
    splits.set_rules(line.policy, spec)
    return line


def states(rules, num_players=None, num_rounds=3):
    """States with more than one legal action, all hands included, in the columns of rollouts."""
    line = new_line(rules, num_players)
    for batch, games, view in views(RandomAgent(), rules, num_rounds, num_players=num_players):
        for game in games[view.num_legal > 1]:
            yield line, batch.state.rows[game, : len(line.row)].copy()


def call_of(loop, way):
    return loop if way == "compiled" else lambda *arguments: loop.py_func(*map(jit.as_ints, arguments))


def some_of(found, way, step):
    """Every `step`-th position; in plain Python three or four of them, spread over the rounds."""
    found = list(found)
    return found[::step] if way == "compiled" else found[len(found) // 4 :: len(found) // 4]


def imitation():
    """A model that likes an action as much as the rule-based agent scores it."""
    weights = {name: np.zeros_like(part) for name, part in players.load_models().network._asdict().items()}
    weights["first"][players.SCORE, 0] = weights["last"][0] = 1
    weights["bias"][0] = 100  # no ReLU cuts it off
    return players.model_of(weights)


@jit.loop
def ask(line, models, scratch, row, likes, inputs, chances, missing):
    """What a model of the network says of each action, and its choice and that of the rule-based agent."""
    model = models.network
    kernels.update_legal(row, line.spec, line.actions)
    end = kernels.list_legal(row, line.spec, line.actions, line.ids, line.cards, 0)
    view = decide.public_view(line.spec, row)
    context = decide.compute_context(line.policy, line.spec, view)
    players.describe_decision(line, scratch, view, context)
    players.share(model, scratch)
    for i in range(end):
        players.describe_action(line, scratch, view, context, line.ids[i], line.cards[i])
        likes[i] = players.liking(model, scratch)
        for k in range(inputs.shape[1]):
            inputs[i, k] = scratch[k]
    for i in range(end + 1):
        played = line.cards[i] if i < end else missing
        found = players.log_chances(line, models, scratch, row, played, MISTAKES)
        chances[i, 0], chances[i, 1], chances[i, 2] = found
    own = players.choose_index(line, model, scratch, row)
    return end, own, playout.choose_index(line.policy, line.spec, line.actions, row, line.ids, line.cards)


def answers(way, line, model, row, missing):
    """What `ask` returns and writes, of one model in the place of the network's and of self-play's."""
    models, scratch = players.PlayerModels(model, model, model), players.new_inputs()
    likes, inputs, chances = np.zeros(300), np.zeros((300, players.NUM_INPUTS)), np.zeros((300, 3))
    found = call_of(ask, way)(line, models, scratch, row, likes, inputs, chances, missing)
    return *found, likes, inputs, chances


def asked(way, line, model, row):
    """Likes (n,), inputs (n, k), chances (n + 1, 3) with those of a card that is not held, both choices."""
    missing = next(1 << card for card in range(52) if not row[R.HAND + row[R.TURN]] >> card & 1)
    end, own, baseline, likes, inputs, chances = answers(way, line, model, row, missing)
    return likes[:end], inputs[:end], np.exp(chances[: end + 1]), own, baseline


@each_way
@pytest.mark.parametrize(
    ("rules", "num_players"), [("cardgames", 4), ("mobile", 3), ("south", 4), ("bga", 2)]
)
def test_what_a_model_likes_is_its_network_of_the_inputs(rules, num_players, way):
    model = players.load_models().network
    for line, row in some_of(states(rules, num_players), way, 5):
        likes, inputs, chances, own, baseline = asked(way, line, model, row)
        layer = np.maximum(inputs @ model.first + model.bias, 0)
        np.testing.assert_allclose(likes, layer @ model.last, rtol=1e-4, atol=1e-4)
        assert own == likes.argmax()
        of_legal = chances[:-1]
        np.testing.assert_allclose(of_legal.sum(axis=0), 1, rtol=1e-9)
        assert of_legal[:, 0].argmax() == baseline
        softmax = np.exp(likes - likes.max()) / np.exp(likes - likes.max()).sum()
        expected = (1 - MISTAKES) * softmax + MISTAKES / len(likes)
        np.testing.assert_allclose(of_legal[:, 1:], np.stack([expected, expected], axis=1), rtol=1e-5)
        np.testing.assert_allclose(chances[-1], MISTAKES / len(likes))  # such a card was no play of this hand


@pytest.mark.nightly
@pytest.mark.parametrize("name", players.PlayerModels._fields)
def test_plain_python_computes_the_same_bits(name):
    """A float32 is rounded in each step, as in compiled code."""
    model = getattr(players.load_models(), name)
    for line, row in list(states("cardgames"))[::14]:
        found = []
        for way in ("compiled", "plain"):
            *chosen, likes, _, chances = answers(way, line, model, row.copy(), 0)
            found.append([*chosen, *likes, *chances.ravel()])
        assert found[0] == found[1]


@each_way
def test_a_model_of_the_rule_based_agent_plays_as_it_does(way):
    model, checked = imitation(), 0
    for line, row in states("cardgames") if way == "compiled" else list(states("cardgames"))[::24]:
        likes, inputs, _, own, baseline = asked(way, line, model, row)
        scores = inputs[:, players.SCORE]
        if (
            not players.SMALLEST_SCORE < scores.max() < players.LARGEST_SCORE
            or np.sort(likes)[-2] > likes[own] - 1e-3
        ):
            continue  # the inputs are cut off there, and rounded
        assert own == baseline
        checked += 1
    assert checked > (30 if way == "compiled" else 1)


@jit.loop
def play_both(line, models, inputs, row, kinds, seat, with_models):
    for column in range(line.row.shape[0]):
        line.row[column] = row[column]
    for player in range(line.rewards.shape[0]):
        line.rewards[player] = 0
    if with_models:
        players.play_out(line, models, inputs, kinds, seat)
    else:
        playout.play_out(line, seat)


@each_way
@pytest.mark.parametrize("rules", ["cardgames", pytest.param("south", marks=pytest.mark.nightly)])
def test_a_rollout_with_models_ends_with_the_place_of_its_seat(rules, way):
    models, checked = players.load_models(), 0
    for line, row in some_of(states(rules, num_rounds=2), way, 4):
        seat, ends = int(row[R.TURN]), []
        one = players.of_kind(players.NETWORK, (seat + 1) % 4)
        tables = [(True, kinds) for kinds in (0, players.EVERY_SEAT, 2 * players.EVERY_SEAT, one)]
        for with_models, kinds in [*tables, (False, 0)]:
            inputs = players.new_inputs()
            call_of(play_both, way)(line, models, inputs, row, kinds, seat, with_models)
            assert line.row[R.PLACE + seat] >= 0
            ends.append(line.row[R.PLAYED : R.PLAYED + 4].copy())
        checked += any((one != ends[0]).any() for one in ends[1:])
    assert checked > (3 if way == "compiled" else 0)  # it makes a difference who plays


def test_plays_tell_who_plays_as_the_rule_based_agent():
    shares = {}
    for name in ("heuristic", "reference"):
        found = shares[name] = []
        for step, (_, games, view) in enumerate(views(tienlen_agents.load(name), "cardgames", 24)):
            if step not in (24, 30):
                continue
            context = SearchContext(view.rules)
            for index in range(len(games)):
                decision = decision_of(view, index)
                options = SearchAgent().options._replace(baseline_share=0.7, known_effort=2.0)
                if len(decision.actions) > 1 and context.start(decision, options, 0) > 0:
                    drawn = context.draw(20)
                    seats = [seat for seat in range(4) if drawn[:, seat].any() and seat != view.seat[index]]
                    kinds = [[players.kind_of(int(world), seat) for seat in seats] for world in drawn[:, -1]]
                    found += (np.array(kinds) == players.BASELINE).mean(axis=0).tolist()
        assert len(found) > 15
    assert np.mean(shares["heuristic"]) > np.mean(shares["reference"]) + 0.3, shares


def test_kinds_of_opponents_are_those_of_all_tables_that_there_may_be():
    """All opponents are of one kind, or each is of any: the sum over all 27 tables of three opponents."""
    prior, rng = np.zeros(worlds.NUM_PRIORS), np.random.default_rng(3)
    shares = np.array([0.7, 0.15, 0.15])
    prior[worlds.SHARE] = shares[0]
    prior[[worlds.IS_BASELINE, worlds.IS_NETWORK, worlds.IS_SELF_PLAY]] = np.log(shares)
    prior[[worlds.ALIKE, worlds.APART]] = np.log([0.6, 0.4])
    for _ in range(50):
        chances = rng.uniform(0.01, 1, (3, 3)) ** rng.uniform(0, 5)  # of three opponents' plays, by kind
        table, plays = worlds.NO_PLAYS, []
        for own in np.log(chances):
            plays.append(worlds.with_play(prior, worlds.NO_PLAYS, players.Chances(*own)))
            table = worlds.add(table, plays[-1])
        found = np.zeros((3, 3, 3))
        for kinds in np.ndindex(3, 3, 3):
            found[kinds] = 0.4 * shares[list(kinds)].prod()
            found[kinds] += 0.6 * shares[kinds[0]] * (len(set(kinds)) == 1)
            found[kinds] *= chances[range(3), kinds].prod()
        total = worlds.log_of_table(prior, table)
        assert total == pytest.approx(np.log(found.sum()))
        for least in (total - 0.01, total + 0.01, total - 3, total + 3):
            assert worlds.is_below(prior, table, least) == (total < least)
        alike = worlds.kinds_alike(prior, table)
        apart = worlds.chance_of_apart(alike)
        for i in range(3):
            own = np.array(alike) + apart * np.array(worlds.kinds_apart(prior, plays[i]))
            wanted = found.sum(axis=tuple(j for j in range(3) if j != i)) / found.sum()
            np.testing.assert_allclose(own, wanted)


LISTING = SearchAgent(worlds=8).options._replace(
    baseline_share=0.9, known_effort=1.0, has_models=True, lists_worlds=True
)  # fmt: skip


def listed_decisions(name, rules, num_players):
    """Decisions with few possible deals, each with a context and the number of deals."""
    for _, _, view in views(tienlen_agents.load(name), rules, 6, num_players=num_players):
        context = SearchContext(view.rules)
        for index in np.flatnonzero(view.num_legal > 1):
            decision = decision_of(view, index)
            arguments = decision, LISTING, context.workspace, context.memory
            listed = context._loops.begin_estimate(*arguments)
            if 1 < listed <= LISTED_SHARE * LISTING.worlds:
                yield decision, context, listed


@pytest.mark.parametrize(
    ("name", "rules", "num_players"),
    [("heuristic", "cardgames", 4), ("greedy_long", "mobile", 3), ("heuristic", "medium", 2)],
)
def test_few_deals_are_listed_and_the_best_action_by_all_of_them_is_taken(name, rules, num_players):
    checked = 0
    for decision, context, listed in listed_decisions(name, rules, num_players):
        chosen = context.search(decision, LISTING)
        assert chosen == context.search(decision, LISTING._replace(seed=9))  # nothing is drawn
        found = context.evaluate(decision, LISTING)
        assert (found.half_width == 0).all()
        left_out = listed * np.exp(-UNLIKELY)  # of the weight at most; an action earns 3 points at most
        assert found.mean[chosen] >= found.mean.max() - 6 * left_out
        checked += 1
    assert checked > 5


def test_no_prior_is_sure_enough_to_overrule_exact_values():
    overruled = 0
    for decision, context, _ in listed_decisions("heuristic", "cardgames", 4):
        found = context.evaluate(decision, LISTING)
        order = np.argsort(found.mean)
        if found.mean[order[-1]] < found.mean[order[0]] + 1:
            continue
        prior = np.full(len(order), -60.0)
        prior[order[0]] = 0
        sure = decision._replace(log_prior=prior)
        options = LISTING._replace(has_prior=True, prior_weight=0.3, floor=-20.0)
        assert context.search(sure, options) != order[0]
        default, _ = context.resolve(decision)
        assert context.search(sure, options._replace(lists_worlds=False)) in {order[0], default}
        overruled += 1
    assert overruled > 3


def test_listed_deals_are_those_of_the_rule_based_agent_alone_where_all_are_that():
    """Its plays say more: a hand counts a four-hundredth for each play that it would not have made."""
    sharper = 0
    for decision, context, listed in listed_decisions("heuristic", "cardgames", 4):
        logs = []
        for options in (LISTING, LISTING._replace(lists_worlds=False)):
            context.start(decision, options, 0)
            found = np.empty(listed)
            context._loops.list_worlds(
                decision, options, context.workspace, context.memory, np.empty((listed, 6), np.int64), found
            )
            logs.append(np.exp(found - found.max()))
        sharper += (logs[0] ** 2).sum() / logs[0].sum() ** 2 > (logs[1] ** 2).sum() / logs[1].sum() ** 2
    assert sharper > 5


class Mixed(RandomAgent):
    """Seat 0 plays at random, the others as the rule-based agent."""

    def act(self, view):
        others = tienlen_agents.load("heuristic").act(view)
        return np.where(view.seat == 0, super().act(view), others)


def test_the_own_plays_say_nothing_of_the_opponents():
    """Whoever plays oddly among rule-based agents still knows them."""
    known = []
    for step, (_, _, view) in enumerate(views(Mixed(), "cardgames", 24)):
        if 20 <= step < 32:
            context = SearchContext(view.rules)
            options = LISTING._replace(worlds=32, lists_worlds=False)
            for index in np.flatnonzero((view.seat == 0) & (view.num_legal > 1)):
                if context.start(decision_of(view, index), options, 0) > 0:
                    context.draw(1)
                    known.append(context.memory.replay.prior[worlds.SHARE] >= 1)
    assert len(known) > 20
    assert np.mean(known) > 0.5


def test_one_possible_deal_needs_no_prior():
    """Two players, the opponent's cards are all that are left, and payments forbid the solver."""
    checked = 0
    for _, _, view in views(tienlen_agents.load("heuristic"), "south", 8):
        context = SearchContext(view.rules)
        for index in np.flatnonzero(view.num_legal > 1):
            decision = decision_of(view, index)
            if context.start(decision, LISTING, 0) > 0:
                continue
            values = context.evaluate(decision, LISTING).mean
            prior = np.full(len(values), -60.0)
            prior[values.argmin()] = 0
            options = LISTING._replace(has_prior=True, prior_weight=0.3, floor=-20.0)
            chosen = context.search(decision._replace(log_prior=prior), options)
            assert values[chosen] == values.max()
            checked += values.max() > values.min()
    assert checked > 3


def test_where_no_deal_is_possible_the_search_still_chooses():
    """Rows that were changed by hand: another seat than the one that led the 3♠ was to lead it."""
    impossible = 0
    for decision, context, listed in listed_decisions("heuristic", "cardgames", 4):
        row, spec = decision.row.copy(), context.workspace.line.spec
        other = next(seat for seat in range(4) if not row[R.PLAYED + seat] & 1)
        row[spec[S.EXTRA] + R.BEGUN] = R.BY_DEAL | other + 1
        row[R.REQUIRED_CARD] = 0
        changed = decision._replace(row=row)
        logs = np.zeros(listed)
        context.start(changed, LISTING, 0)
        arguments = changed, LISTING, context.workspace, context.memory
        context._loops.list_worlds(*arguments, np.empty((listed, 6), np.int64), logs)
        impossible += (logs == -np.inf).all()
        assert 0 <= context.search(changed, LISTING) < len(decision.actions)
        assert np.isfinite(context.evaluate(changed, LISTING).mean).all()
    assert impossible > 5
