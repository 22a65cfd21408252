"""Every piece of an observation beside what its meaning says, from hands, plays and the state."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.rare_deals import rare_hands
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.cards import card_ids, parse_cards
from tienlen_env.games.tienlen.rules import CARDGAMES, FOICICA, NORTH, SOUTH, Rules

Bits = list[list[int]]
HISTORY = 3
RULES = {
    "points": CARDGAMES,
    "two_players": replace(CARDGAMES, num_players=2, opening="every", cards_each=17),
    "flush_lock": replace(FOICICA, num_players=3, target=7),
    "payments": SOUTH,
    "suits": replace(NORTH, num_players=3),
    "large_target": replace(CARDGAMES, target=40),
}


def unary(number: int, size: int) -> list[int]:
    """Bit k is 1 above k."""
    return [int(k < number) for k in range(size)]


def cards(mask: int) -> list[int]:
    """52 bits, by card id."""
    found = card_ids(mask)
    return [int(card in found) for card in range(52)]


def seats(mask: int, seat: int, num_players: int) -> Bits:
    """The seats of a seat mask, from `seat` on."""
    return [[mask >> (seat + i) % num_players & 1 for i in range(num_players)]]


class Table:
    """One game, and what its players have seen."""

    def __init__(self, rules: Rules, seed: int) -> None:
        self.rules, self.rng = rules, random.Random(f"{rules} {seed}")
        self.batch = Batch(rules, 1, episode="game", history=HISTORY)
        if seed % 2:
            hands = rare_hands(self.rng, rules.num_players, rules.deck_mask, rules.cards_each)
            self.batch.set_hands(np.array([hands]))
        else:
            self.batch.reset(seed)
        self.forget()

    def forget(self) -> None:
        self.played = [0] * self.rules.num_players
        self.events: list[tuple[int, int]] = []

    def play(self) -> None:
        """A legal action, drawn; mostly not the pass, so that tricks are long."""
        legal, state = self.batch.list_legal(), self.batch.state
        seat, at, declares = int(state.turn[0]), int(state.round[0]), bool(state.must_declare[0])
        weights = [1 if cards else 0.7 for cards in legal.cards.tolist()]
        (k,) = self.rng.choices(range(len(weights)), weights)
        self.batch.step(legal.action[k : k + 1])
        mask = int(legal.cards[k])
        if not declares:  # a declaration is no play
            self.played[seat] |= mask
            self.events.insert(0, (seat, mask))
        if state.round[0] != at:
            self.forget()

    def expected(self, seat: int) -> dict[str, Any]:
        """The pieces for `seat`, by name."""
        p, state, batch = self.rules.num_players, self.batch.state, self.batch
        relative = [(seat + i) % p for i in range(p)]
        hands, scores = state.hands[0].tolist(), state.scores[0].tolist()
        table, owner = int(state.table_cards[0]), int(state.owner[0])
        by_rank = [(table >> 4 * rank & 15).bit_count() for rank in range(13)]
        history: Bits = []
        for who, mask in (self.events + [(-1, 0)] * HISTORY)[:HISTORY]:
            history.append(cards(mask) + [int(who == other) for other in relative])
        owed = {s: [0, 0] for s in range(p)}
        for payment in batch.owed() if self.rules.has_payments else ():
            owed[payment.payer][0] += payment.amount
            owed[payment.payee][1] += payment.amount
        layout = batch.layout
        return {
            "hand": [cards(hands[seat])],
            "played": [cards(self.played[s]) for s in relative],
            "history": history,
            "scores": [unary(scores[s], layout["scores"].shape[1]) for s in relative]
            if "scores" in layout
            else [],
            "cards_left": [unary(hands[s].bit_count(), max(13, self.rules.cards_each)) for s in relative],
            "owed": [[min(n, 255) >> k & 1 for k in range(8)] for s in relative for n in owed[s]],
            "table_top": [cards(1 << table.bit_length() >> 1)],
            "table_width": [[int(max(by_rank) == k) for k in range(1, 5)]],
            "table_length": [[int(13 - by_rank.count(0) == k) for k in range(1, 14)]],
            "table_owner": [[int(s == owner) for s in relative]],
            "passed": seats(int(state.passed[0]), seat, p),
            "finished": [[int(not int(state.live[0]) >> s & 1) for s in relative]],
            "barred": seats(int(state.knocked_out[0]), seat, p),
            "suit_lock": [[int(state.lock[0])]],
            "opening_duty": [[int(state.required_card[0] != 0)]],
            "lead": [[int(table == 0)]],
            "table_suits": [[int(table & 0x1111111111111 << suit != 0) for suit in range(4)]],
        }

    def compare(self) -> None:
        batch, p = self.batch, self.rules.num_players
        for seat in range(p):
            (flat,) = batch.observe(np.array([seat])).tolist()
            expected = self.expected(seat)
            assert set(batch.layout) <= set(expected)
            for name, piece in batch.layout.items():
                found = np.reshape(flat[piece.slice], (-1, piece.shape[-1])).tolist()
                assert found == expected[name], (name, seat)
        assert not batch.observe(np.array([-1])).any()
        turn, hands = int(batch.state.turn[0]), batch.state.hands[0].tolist()
        whole = batch.observe(np.array([0]))[0].tolist()
        whole += [int(seat == turn) for seat in range(p)]
        whole += [bit for seat in range(1, p) for bit in cards(hands[seat])]
        assert batch.global_observation()[0].tolist() == whole


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", RULES)
def test_pieces_of_an_observation(name: str, seed: int) -> None:
    table = Table(RULES[name], seed)
    for k in range(60):
        if table.batch.state.turn[0] < 0:
            break
        if k % 5 == seed % 5 or k < 3:
            table.compare()
        table.play()
    table.compare()


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_every_set_of_seats(num_players: int) -> None:
    table = Table(replace(FOICICA, num_players=num_players), 0)
    state = table.batch.state
    for mask in range(1 << num_players):
        state.passed[:], state.live[:], state.knocked_out[:] = mask, mask ^ 1, mask ^ 2
        table.compare()


@pytest.mark.parametrize("leader", range(4))
def test_what_is_owed_in_two_bytes_a_seat(leader: int) -> None:
    """Seats pay each for its own chop; more than 255 units are shown as 255."""
    prices = {"2x3": 100, "4x1": 255, "2x4": 255}
    rules = replace(
        SOUTH,
        chop_chain="each",
        pay_chop_twos=(200, 300),
        pay_chop_bombs=prices,
        instant_wins=(),
        pay_instant=0,
    )
    table = Table(rules, 0)
    texts = ("2h", "3s 3c 4s 4c 5s 5c", "7s 7c 7d 7h", "8s 8c 9s 9c Ts Tc Js Jc")
    plays = [parse_cards(text) for text in texts]
    rest = [parse_cards(text) for text in ("3d 3h", "Qd Qh", "Kd", "As")]
    table.batch.set_hands([[plays[(seat - leader) % 4] | rest[seat] for seat in range(4)]], leader=leader)
    for number, mask in enumerate(plays):
        seat = (leader + number) % 4
        table.batch.step([table.batch.action_table.classify(mask)], [mask])
        table.played[seat] = mask
        table.events.insert(0, (seat, mask))
    assert [payment.amount for payment in table.batch.owed()] == [300, 100, 255]
    table.compare()
