"""The engine of Thirteens beside the oracle: the same random play, compared at every decision.

More than 6,500 decisions over all players × jokers × variants × melding, eighty times as many nightly.
"""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from tests.oracles.oracle_thirteens import ALL_CARDS, Oracle
from tienlen_env.engine.batch import NO_ACTION, Batch
from tienlen_env.games.common.game import find_action
from tienlen_env.games.thirteens.actions import build_action_table
from tienlen_env.games.thirteens.observe import global_observation_size
from tienlen_env.games.thirteens.rules import ThirteensRules

DECISIONS = 190  # of each of the 36 variants
NIGHTLY_FACTOR = 80
NUM_GAMES = 3
SCHEMES = ("points", "zero_sum", "win")

VARIANTS = [
    ThirteensRules(num_players=players, dummy=dummy, jokers=jokers, melding=melding)  # type: ignore[arg-type]
    for (players, dummy), jokers, melding in product(
        [(3, False), (3, True), (4, False), (5, False), (6, False), (7, False)], (0, 1, 2), ("auto", "manual")
    )
]


def names_of(mask: int) -> set[str]:
    return {card for i, card in enumerate(ALL_CARDS) if mask >> i & 1}


def variant_id(rules: ThirteensRules) -> str:
    dummy = "dummy" if rules.dummy else "plain"
    return f"{rules.num_players}p-{rules.jokers}j-{dummy}-{rules.melding}"


class Pairs:
    """B games of the engine, under each reward scheme, and B oracles that follow them."""

    def __init__(self, rules: ThirteensRules, episode: str, seed: int, **changes: object) -> None:
        self.rng = random.Random(seed)
        self.rules = rules
        self.table = build_action_table(rules)
        self.batches = {
            scheme: Batch(rules, NUM_GAMES, episode=episode, reward=scheme)  # type: ignore[arg-type]
            for scheme in SCHEMES
        }
        keys = [self.rng.randrange(-(2**63), 2**63) for _ in range(NUM_GAMES)]
        for batch in self.batches.values():
            batch.deal(keys)
        self.batch = self.batches["points"]
        self.oracles = [Oracle(rules, episode) for _ in range(NUM_GAMES)]
        self.tell()

    def tell(self) -> None:
        """Give the oracles what is random: deals, and the dummy's cards."""
        state = self.batch.state
        for b, oracle in enumerate(self.oracles):
            shown, remainder = names_of(int(state.shown[b])), names_of(int(state.remainder[b]))
            if oracle.wants_deal:
                starter = names_of(int(state.starter[b]))
                oracle.deal(
                    [names_of(int(h)) for h in state.hands[b]],
                    names_of(int(state.dummy[b])) | (shown - remainder),
                    remainder,
                    starter.pop() if starter else None,
                    int(state.eldest[b]),
                )
            if oracle.wants_dummy:
                (card,) = shown - oracle.shown
                oracle.flip(card)

    def choose(self, legal: list[str]) -> str:
        """Mostly at random; melding is not always done, nor ended at once."""
        if self.rng.random() < 0.2:
            return min(legal)
        return self.rng.choice(legal)

    def compare(self) -> None:
        batch, state = self.batch, self.batch.state
        listed = batch.list_legal()
        mask = batch.action_mask()
        own = batch.observe()
        seats = np.array([self.rng.randrange(-1, self.rules.num_players) for _ in self.oracles])
        others = batch.observe(seats)
        whole = batch.global_observation()
        assert whole.shape[1] == global_observation_size(self.rules)
        from_first = batch.observe(np.zeros(NUM_GAMES, np.int64))
        num_cards, num_players = self.rules.num_cards, self.rules.num_players
        counts = {name: getattr(state, name).tolist() for name in ("thirteens", "pairs", "straights")}
        for b, oracle in enumerate(self.oracles):
            turn = -1 if oracle.turn is None else oracle.turn
            assert state.turn[b] == turn
            assert state.scores[b].tolist() == oracle.score
            assert state.points[b].tolist() == oracle.points
            assert state.places[b].tolist() == oracle.place
            assert state.tricks[b].tolist() == oracle.num_tricks
            assert state.jokers[b].tolist() == oracle.jokers
            for name in counts:
                assert counts[name][b] == [m[name.rstrip("s")] for m in oracle.melds]
            for seat in range(self.rules.num_players):
                assert names_of(int(state.taken[b, seat])) == oracle.taken[seat]
            ids = listed.action[listed.game == b]
            assert {self.table.text(int(a)) for a in ids} == oracle.legal()
            assert ids.tolist() == np.flatnonzero(mask[b]).tolist()
            if turn >= 0:
                self.compare_view(oracle.observation(turn), own[b])
            else:
                assert not own[b].any()
            if seats[b] >= 0 and turn >= 0:
                self.compare_view(oracle.observation(int(seats[b])), others[b])
            at = len(from_first[b])
            assert whole[b, :at].tolist() == from_first[b].tolist()
            assert whole[b, at : at + num_players].tolist() == [int(s == turn) for s in range(num_players)]
            hidden = [*oracle.hands[1:], oracle.dummy]
            held = whole[b, at + num_players :].reshape(num_players, num_cards)
            assert [{ALL_CARDS[i] for i in np.flatnonzero(row)} for row in held] == hidden

    def compare_view(self, expected: dict[str, list[list[int]]], flat: np.ndarray) -> None:
        assert set(expected) == set(self.batch.layout)
        for name, piece in self.batch.layout.items():
            found = flat[piece.slice].reshape(-1, piece.shape[-1]).tolist()
            assert found == expected[name], name

    def step(self) -> int:
        """Play on in every game; returns the number of decisions, 0 if all games are over."""
        names = ["" if o.turn is None else self.choose(sorted(o.legal())) for o in self.oracles]
        ids = np.array([find_action(self.table, n) if n else NO_ACTION for n in names])
        results = {k: [r.tolist() for r in batch.step(ids)] for k, batch in self.batches.items()}
        for b, (oracle, name) in enumerate(zip(self.oracles, names, strict=True)):
            if not name:
                continue
            oracle.play(name)
            for scheme, (rewards, dones) in results.items():
                exact = [float(np.float32(x)) for x in oracle.rewards[scheme]]
                assert rewards[b] == exact, scheme
                assert dones[b] == (oracle.turn is None and not oracle.wants_deal)
        self.tell()
        return sum(bool(n) for n in names)


def run(rules: ThirteensRules, num_decisions: int, seed: int) -> int:
    done = 0
    while done < num_decisions:
        for episode in ("round", "game"):
            pairs = Pairs(rules, episode, seed)
            seed += 1
            while True:
                pairs.compare()
                played = pairs.step()
                done += played
                if played == 0 or (done >= num_decisions and episode == "game"):
                    break
    return done


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_a_few_positions(rules: ThirteensRules) -> None:
    pairs = Pairs(rules, "game", VARIANTS.index(rules))
    for number in range(25):
        if number % 6 == 0:
            pairs.compare()
        pairs.step()
    pairs.compare()


@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_engine_plays_as_the_oracle(rules: ThirteensRules) -> None:
    assert run(rules, DECISIONS, 1) >= DECISIONS


def test_enough_decisions() -> None:
    assert DECISIONS * len(VARIANTS) >= 6_500


@pytest.mark.parametrize(
    "rules",
    [
        ThirteensRules(num_players=5, jokers=2, aside_jokers=False),
        ThirteensRules(num_players=7, jokers=2, first_lead="seat_0", target=20),
        ThirteensRules(target=0, jokers=2),
        ThirteensRules(target=120),
    ],
    ids=["aside_jokers", "seat_0", "no_target", "long_game"],
)
def test_engine_plays_options_as_the_oracle(rules: ThirteensRules) -> None:
    assert run(rules, DECISIONS, 2) >= DECISIONS


@pytest.mark.nightly
@pytest.mark.parametrize("rules", VARIANTS, ids=variant_id)
def test_engine_plays_as_the_oracle_for_long(rules: ThirteensRules) -> None:
    assert run(rules, NIGHTLY_FACTOR * DECISIONS, 1000) >= NIGHTLY_FACTOR * DECISIONS
