"""The endgame solver against plain exhaustive search, and the agent that plays by it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import tienlen_agents
from tests.plays import mask_of
from tienlen_agents.arena import match
from tienlen_agents.endgame import EndgameAgent, EndgameSolver, open_endings, solve
from tienlen_env.engine.agent import CardAgent, FallibleAgent, Forfeit, View
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.cards import FULL_DECK, parse_cards
from tienlen_env.games.tienlen import kernels, state as R
from tienlen_env.games.tienlen.rules import FOICICA, PRESETS, get_rules
from tienlen_env.single.tienlen import Round

TWOS = 0b1111 << 48  # the cards of rank 2

# The solver refuses rules with payments.
SOLVED = [name for name, rules in PRESETS.items() if not rules.has_payments]
VARIANTS = {
    **{name: get_rules(name) for name in SOLVED},
    "last_live": replace(FOICICA, heir="last_live"),
    "round": replace(FOICICA, knockout="round"),
    "no_lock": replace(get_rules("cardgames"), pass_lock=False, ladder=("4x1", "2x3")),
}


# ---------------------------------------------------------------- plain search


def seats_of(game):
    return [seat for seat, place in enumerate(game.places) if place is None]


class Exhaustive:
    """Who of two seats takes the better place, by trying everything. Positions met again are looked up."""

    def __init__(self, game, exact=False):
        self.pair, self.exact, self.known = seats_of(game), exact, {}

    def winner(self, game):
        """The seat that wins with perfect play from here."""
        if game.is_over:
            return min(self.pair, key=lambda seat: game.places[seat])
        row = game._rows[0]
        key = row[R.HAND : R.UNDEALT].tobytes() + row[R.TABLE : R.LEGAL].tobytes()
        if key not in self.known:
            one, two = self.pair
            other = two if game.turn == one else one
            won = [winner == game.turn for winner in self.winners(game).values()]
            self.known[key] = game.turn if any(won) else other
        return self.known[key]

    def winners(self, game):
        """A dict from each play to who wins after it."""
        found = {}
        for play in game.legal_plays(exact=self.exact):
            after = game.copy()
            after.play(play)
            found[play.action, int(play)] = self.winner(after)
        return found


def small_endings(rules, num, seed):
    """Positions with two seats left, reached by random play from small hands rich in combinations."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < num:
        sizes = rng.integers(1, 6, rules.num_players)
        ranks = rng.permutation(13)[: rng.integers(sizes.sum() // 4 + 1, 14)]
        deck = rng.permutation(np.sort((4 * ranks[:, None] + np.arange(4)).ravel()))
        hands = [mask_of(part.tolist()) for part in np.split(deck, np.cumsum(sizes))[:-1]]
        game = Round.from_hands(rules, hands, leader=None if rng.random() < 0.3 else 0)
        while not game.is_over:
            plays = game.legal_plays()
            if len(seats_of(game)) == 2 and len(plays) > 1 and rng.random() < 0.5:
                found += 1
                yield game
                break
            game.play(plays[rng.integers(len(plays))])


def row_of(game):
    return game._rows[0]


@pytest.mark.parametrize(
    ("num_players", "num"),
    [(2, 36), (4, 100), *(pytest.param(*more, marks=pytest.mark.nightly) for more in ((2, 500), (4, 5000)))],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_agrees_with_exhaustive_search(variant, num_players, num):
    rules = get_rules(VARIANTS[variant], num_players)
    games = list(small_endings(rules, num, seed=num_players))
    found = EndgameSolver(rules).solve(np.array([row_of(game) for game in games]))
    for game, value, best_mask in zip(games, found.value, found.best_mask, strict=True):
        winners = Exhaustive(game).winners(game)
        winning = {action for (action, _), winner in winners.items() if winner == game.turn}
        assert value == (1 if winning else -1), game
        assert set(np.flatnonzero(best_mask)) == (winning or {action for action, _ in winners}), game
    values = Counter(found.value.tolist())
    assert min(values[1], values[-1]) > 5
    if num_players == 4:
        # A table whose owner is out must be among them.
        of_finishers = [game for game in games if game.table and game.owner not in seats_of(game)]
        some_passed = [game for game in of_finishers if game.passed]
        assert len(some_passed) < len(of_finishers)
        if rules.heir == "last_live":
            # The only one who has not passed leads at once (1.14), unless the other may answer, too: a 2
            # or a bomb of the finisher asks those who have passed (3.6).
            tables = [int(game.table) for game in some_passed]
            assert all(table & ~TWOS == 0 or table.bit_count() >= 4 for table in tables)
        else:
            assert some_passed


PLAYS_BEFORE_THE_2 = [
    "6s7s8s",
    "",
    "",
    "",
    "Th",
    "",
    "",
    "",
    "6d",
    "2s",
    "",
    "",
    "9d",
    "Qs",
    "",
    "",
    "9c",
    "",
]


def test_the_last_who_has_not_passed_answers_a_2_that_asks_again():
    """1.14, 3.6: two seats have still to answer, one of them has passed; so none leads at once."""
    rules = VARIANTS["last_live"]
    game = Round.from_hands(rules, ["9d 2s 2d", "7c 9c Qs Qh 2h", "2c", "6s 6d 7s 8s Th"], leader=3)
    for cards in PLAYS_BEFORE_THE_2:
        game.play(cards)
    assert (game.turn, game.passed) == (0, {2})
    asked = game.copy()
    asked.play("2d")  # seat 0 is out
    assert (asked.turn, asked.owner, asked.passed) == (1, 0, {2})
    assert not asked.is_over
    asked.play("")
    assert asked.turn == 2  # has passed, and gets the turn again
    game = Round.from_hands(rules, ["9d Kd", "7c 9c Qs Qh 2h", "2c", "6s 6d 7s 8s Th"], leader=0)
    for cards in ["9d", "", "", "Th", "Kd"]:
        game.play(cards)
    assert (game.turn, game.table) == (3, None)  # no 2: seat 3 leads at once


@pytest.mark.parametrize("variant", ["cardgames", "pagat", "no_lock"])
def test_exact_cards_change_nothing_without_flush_lock(variant):
    for game in small_endings(get_rules(VARIANTS[variant], 2), 10, seed=7):
        assert Exhaustive(game, exact=True).winner(game) == Exhaustive(game).winner(game), game


@pytest.mark.parametrize("num", [20, pytest.param(1500, marks=pytest.mark.nightly)])
def test_exact_cards_seldom_matter_under_flush_lock(num):
    games = list(small_endings(get_rules("foicica", 2), num, seed=7))
    changed = sum(Exhaustive(g, exact=True).winner(g) != Exhaustive(g).winner(g) for g in games)
    assert changed <= num / 300


# ---------------------------------------------------------------- by hand


def ending(mine, theirs, table="", *, rules="cardgames", passed=(), owner=2):
    """Four players, all cards dealt; seats 0 (to move) and 2 are left, and `owner` has played the table."""
    batch = Batch(rules, 1)
    mine, theirs, table = parse_cards(mine), parse_cards(theirs), parse_cards(table)
    row = [0] * batch.state.rows.shape[1]
    row[R.HAND], row[R.HAND + 2] = mine, theirs
    row[R.PLAYED + 1] = FULL_DECK & ~(mine | theirs)
    row[R.PLACE : R.PLACE + 4] = [-1, 1, -1, 0]
    row[R.LIVE], row[R.NUM_FIRST] = 0b0101, 2
    row[R.TABLE], row[R.TABLE_CARDS] = batch.action_table.classify(table), table
    row[R.OWNER] = owner if table else -1
    row[R.PASSED] = sum(1 << seat for seat in passed)
    row[R.PENDING] = 0b0101 if table and owner != 2 and 2 not in passed else 0b0001
    kernels.update_legal(row, batch.kernel_arrays.spec.tolist(), batch.kernel_arrays.actions.tolist())
    batch.state.rows[0] = row
    return batch


def winning(*args, **options):
    batch = ending(*args, **options)
    found = solve(View(batch))
    return (
        {batch.action_table.text(a) for a in np.flatnonzero(found.best_mask[0])}
        if found.value[0] == 1
        else set()
    )


def test_by_hand():
    # What cannot be beaten comes first.
    assert winning("3s 6s", "5s") == {"single 6s"}
    assert winning("3s 4c", "4s 5s") == set()
    # The pair keeps the lead; a single would give it away.
    assert winning("3s 3c 4s", "5s 6s") == {"pair 3c"}
    # A bomb on the 2 wins the lead, and with it the game.
    assert winning("3s 3c 3d 3h 4s", "5s 7s", "2h") == {"quad 3h"}
    # After a pass the other goes out.
    assert winning("2s 3s", "4s", "Ah") == {"single 2s"}
    # To beat the J gives the pair away that is to beat the 3s.
    assert winning("5s Js Jh", "3d 3h Jd", "Jc") == {"pass"}


def test_by_hand_when_the_owner_of_the_table_is_out():
    # Both must pass; then the seat after the owner leads.
    assert winning("3s 3c", "5s 6s", "2h", owner=3) == {"pass"}
    assert winning("3s 3c", "5s 6s", "2h", owner=1, passed=[2]) == set()


def test_by_hand_under_the_flush_lock():
    # Only suited runs may follow the suited run, and the other has none.
    assert winning("3s 4s 9d", "5c 6d Th Js", rules="foicica") == {"suited run 3-4 top 4s"}
    assert winning("3s 4c 9d", "5c 6d Th Js", rules="foicica") == set()


# ---------------------------------------------------------------- what is known


def play_out(agent, rules, num_rounds, seed=3):
    """Yield a view of all decisions that wait, their games and the agent's actions, until all is over."""
    batch = Batch(rules, num_rounds)
    batch.reset(seed)
    agent.reset(seed)
    while (games := np.flatnonzero(batch.state.turn >= 0)).size:
        view = View(batch, games)
        chosen = agent.act(view)
        yield batch, view, games, chosen
        actions = np.full(num_rounds, NO_ACTION)
        actions[games] = chosen
        batch.step(actions)  # refuses what is not legal


@pytest.mark.parametrize("num_players", [2, 3])
def test_undealt_cards_are_not_known(num_players):
    for _, view, _, _ in play_out(tienlen_agents.load("random"), get_rules("cardgames", num_players), 50):
        assert not solve(view).value.any()


def test_cards_of_who_was_knocked_out_are_not_known():
    endings = known = 0
    for batch, view, games, _ in play_out(tienlen_agents.load("random"), VARIANTS["round"], 500):
        live = np.bitwise_count(batch.state.live[games]) == 2
        kept = np.where(view.places >= 0, view.num_cards_left, 0).sum(axis=1) > 0
        found, rows = open_endings(view)
        assert set(found) == set(np.flatnonzero(live & ~kept))
        assert (rows[:, R.HAND : R.HAND + 4] == batch.state.hands[games[found]]).all()
        endings, known = endings + live.sum(), known + len(found)
    assert 0 < known < endings


def test_nothing_hidden_is_used():
    batch = Batch("cardgames", 30)
    batch.reset(0)
    for _ in range(20):
        other = batch.copy()
        turn = int(batch.state.turn[0])
        one, two = (turn + 1) % 4, (turn + 2) % 4
        swapped = batch.state.turn == turn
        other.state.hands[:, [one, two]] = batch.state.hands[:, [two, one]]
        other.state.key[:] += 1
        rows = View(batch).public_rows
        assert (rows == View(other).public_rows)[swapped].all()
        assert (rows[:, R.HAND : R.HAND + 4] != 0).sum() <= 30
        batch.step(batch.action_mask().argmax(axis=1))


# ---------------------------------------------------------------- the agent


@pytest.mark.parametrize("rules", SOLVED)
@pytest.mark.parametrize("name", ["endgame:greedy_long", "endgame:random"])
def test_never_a_blunder(name, rules):
    promised = {}  # game to who is to have the better place
    num_decisions = 0
    for batch, view, games, chosen in play_out(tienlen_agents.load(name), rules, 250):
        found = solve(view)
        for i in np.flatnonzero(found.value):
            seat = view.seat[i]
            other = (batch.state.live[games[i]] ^ 1 << seat).item().bit_length() - 1
            winner = seat if found.value[i] > 0 else other
            assert promised.setdefault(games[i], winner) == winner
            assert found.best_mask[i, chosen[i]]
            num_decisions += 1
        last = batch
    assert num_decisions > 500
    for game, winner in promised.items():
        assert last.state.places[game, winner] == 2


def test_the_other_agent_plays_where_nothing_is_lost():
    base = tienlen_agents.load("greedy_long")
    num_replaced = num_endings = 0
    for _, view, _, chosen in play_out(tienlen_agents.load("endgame:greedy_long"), "cardgames", 250):
        found, of_base = solve(view), base.act(view)
        is_blunder = (found.value == 1) & ~found.best_mask[np.arange(len(view)), of_base]
        assert ((chosen != of_base) == is_blunder).all()
        num_replaced, num_endings = num_replaced + is_blunder.sum(), num_endings + (found.value != 0).sum()
    assert 0 < num_replaced < num_endings / 5


def test_a_limit_hands_back():
    views = [view for _, view, _, _ in play_out(tienlen_agents.load("greedy_long"), "cardgames", 250)]
    base, handed_back = tienlen_agents.load("greedy_long"), tienlen_agents.load("endgame:nodes=0,greedy_long")
    num_unsolved = 0
    for view in views:
        # With no positions to search only those remain that are over after one move.
        changed = handed_back.act(view) != base.act(view)
        assert (~changed | (solve(view).value == 1)).all()
        full, limited = solve(view), solve(view, max_nodes=20)
        assert (limited.num_nodes <= 20).all()
        solved = limited.value != 0
        assert (limited.value == full.value)[solved].all()
        assert (limited.best_mask == full.best_mask)[solved].all()
        assert not limited.best_mask[~solved].any()
        num_unsolved += (~solved & (full.value != 0)).sum()
    assert num_unsolved > 50


def test_a_decision_depends_on_nothing_before_it():
    games = list(small_endings(get_rules("foicica"), 200, seed=5))
    rows = np.array([row_of(game) for game in games])
    solver = EndgameSolver(get_rules("foicica"))
    first, again, backwards = solver.solve(rows), solver.solve(rows), solver.solve(rows[::-1])
    for one, two, three in zip(first, again, backwards, strict=True):
        assert (one == two).all()
        assert (one == three[::-1]).all()


def test_it_gains_places():
    result = match(
        tienlen_agents.load("endgame:greedy_long"), tienlen_agents.load("greedy_long"), num_deals=300, seed=1
    )
    assert result.scores[0].points.low > 1.5
    assert result.scores[0].first.mean == 0.25  # it changes nothing before the first two are out


class ByCards:
    """Plays its highest cards as singles, chooses its cards itself, and owns up to a forfeit."""

    name, history = "by_cards", 7

    def reset(self, seed):
        self.seed = seed

    def act(self, view):
        return self.act_cards(view)[0]

    def act_cards(self, view):
        actions = tienlen_agents.load("greedy").act(view)
        return actions, np.where(actions > 0, view.cards_of(actions), 0)

    def take_forfeits(self):
        return [Forfeit(0, 1, "bored", "yawned")]


def test_what_the_other_agent_can_do_it_can_do():
    plain, by_cards = tienlen_agents.load("endgame:greedy"), EndgameAgent(EndgameAgent(ByCards()))
    assert not isinstance(plain, CardAgent | FallibleAgent)
    assert isinstance(by_cards, CardAgent)
    assert isinstance(by_cards, FallibleAgent)
    assert by_cards.take_forfeits() == [Forfeit(0, 1, "bored", "yawned")]
    assert (plain.history, by_cards.history) == (0, 7)
    for _, view, _, chosen in play_out(plain, "foicica", 100):
        actions, cards = by_cards.act_cards(view)
        assert (actions == chosen).all()
        assert (cards == view.cards_of(chosen)).all()


def test_exact_cards_of_the_other_agent_stand_where_no_win_is_proven():
    class Marked(ByCards):
        def act_cards(self, view):
            actions = tienlen_agents.load("greedy_long").act(view)
            return actions, np.full(len(view), -7)

    agent, num_won, num_other = EndgameAgent(Marked()), 0, 0
    for _, view, _, _ in play_out(tienlen_agents.load("greedy_long"), "cardgames", 100):
        actions, cards = agent.act_cards(view)
        is_won = (solve(view).value == 1) & (view.num_legal > 1)
        assert (cards[is_won] == view.cards_of(actions)[is_won]).all()
        assert (cards[~is_won] == -7).all()
        num_won, num_other = num_won + is_won.sum(), num_other + (~is_won).sum()
    assert min(num_won, num_other) > 50


def test_rows_of_other_positions_are_refused():
    batch = Batch("cardgames", 1)
    batch.reset(0)
    with pytest.raises(ValueError, match="exactly two players"):
        EndgameSolver(batch.rules).solve(batch.state.rows)
    assert open_endings(View(batch))[0].size == 0


STATES = {
    "a seat beyond the table": (R.TURN, 10**9),
    "a seat that is out": (R.TURN, None),
    "players beyond the table": (R.LIVE, 3 << 40),
    "an action beyond the table": (R.TABLE, 10**9),
    "an action below 0": (R.TABLE, -1),
    "an owner beyond the table": (R.OWNER, 2**40),
    "who is asked": (R.PENDING, -1),
    "cards beyond the deck": (R.HAND, 1 << 60),
    "too many cards": (R.HAND, FULL_DECK),
}


@pytest.mark.parametrize("what", STATES)
def test_states_that_compiled_code_would_misread_are_refused(what):
    (game,) = small_endings(PRESETS["cardgames"], 1, seed=2)
    row = np.array([row_of(game)])
    solver = EndgameSolver(PRESETS["cardgames"])
    assert solver.solve(row).num_nodes[0] > 0
    column, value = STATES[what]
    if value is None:
        value = next(seat for seat in range(4) if not int(row[0, R.LIVE]) >> seat & 1)
    row[0, column] = value
    with pytest.raises(ValueError, match="rows: expected"):
        solver.solve(row)


@pytest.mark.parametrize("nodes", [-1, -(2**63), 10**15 + 1, 2**63, 10**30])
def test_numbers_of_positions_out_of_range_are_refused(nodes):
    """Below 0 the search would have no limit."""
    with pytest.raises(ValueError, match=r"max_nodes=.*: expected 0\.\.1000000000000000"):
        EndgameSolver(PRESETS["cardgames"]).solve(np.zeros((0, 200), np.int64), max_nodes=nodes)
    with pytest.raises(ValueError, match=r"nodes=.*: expected 0\.\.1000000000000000"):
        tienlen_agents.load(f"endgame:nodes={nodes},greedy")


def test_loading_with_the_other_agents_options():
    assert tienlen_agents.load("endgame:greedy").name == "endgame:greedy"
    nested = tienlen_agents.load("endgame:nodes=7,endgame:nodes=9,base=greedy_long")
    assert isinstance(nested, EndgameAgent)
    assert isinstance(nested.base, EndgameAgent)
    assert (nested.nodes, nested.base.nodes, nested.base.base.name) == (7, 9, "greedy_long")
    with pytest.raises(ValueError, match="expected 'endgame:<base>' and options"):
        tienlen_agents.load("endgame:nodes=7")
    with pytest.raises(ValueError, match="unknown agent 'greddy'"):
        tienlen_agents.load("endgame:greddy")
