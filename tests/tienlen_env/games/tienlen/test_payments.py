"""Payments over the batch and the environments: they sum to zero at every step, and add up to the rewards."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from tienlen_env import tienlen_v1
from tienlen_env.engine.backends import BackendName
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.one_seat import OneSeatGames
from tienlen_env.errors import RulesError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.cards import parse_cards
from tienlen_env.games.common.game import Payment
from tienlen_env.games.tienlen import spec as S, state as R
from tienlen_env.games.tienlen.rules import PRESETS, SOUTH
from tienlen_env.single.session import Session
from tienlen_env.single.tienlen import Round

NAMES = [name for name, rules in PRESETS.items() if rules.has_payments]
OTHERS = [name for name, rules in PRESETS.items() if not rules.has_payments]
DRAGON = "3s 4s 5s 6s 7s 8s 9s Ts Js Qs Ks As 2s"
PLAIN = ("3c 3d 4c 4d 6c 6d 7c 7d 9c 9d Jc Jd Kc", "3h 4h 5h 5c 6h 7h 8h 8c 9h Th Tc Jh Qh")


def net(payments: list[Payment], num_players: int) -> list[int]:
    """What each seat gets less what it pays."""
    total = [0] * num_players
    for payment in payments:
        total[payment.payer] -= payment.amount
        total[payment.payee] += payment.amount
    return total


# ---------------------------------------------------------------- sums


def random_play_sums_to_zero(name: str, num_players: int, num_games: int, num_steps: int) -> int:
    """Random play; at every step the rewards are whole and sum to zero. Returns the number of decisions."""
    batch = Batch(name, num_games, num_players=num_players, reward="payments", auto_reset=True)
    batch.reset(num_players)
    rng = np.random.default_rng(num_players)
    draws, ids = np.empty(num_games), batch.sample(rng)
    total = np.zeros((num_games, num_players))
    for _ in range(num_steps):
        before = batch.balances
        rng.random(out=draws)
        rewards, dones = batch.step(ids, draws=draws, next_actions=ids)
        assert not rewards.sum(axis=1).any()
        assert (rewards == np.rint(rewards)).all()
        after = batch.balances
        assert not after.sum(axis=1).any()
        going = ~dones
        assert np.array_equal((after - before)[going], rewards[going])
        assert not after[dones].any(), "a new game begins at 0"
        total += rewards
    assert np.abs(total).sum() > 0
    return num_games * num_steps


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_booked_sums_to_zero(name: str, num_players: int) -> None:
    random_play_sums_to_zero(name, num_players, 512, 400)


@pytest.mark.nightly
@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_booked_sums_to_zero_long(name: str, num_players: int) -> None:
    """10^8 decisions a preset."""
    assert random_play_sums_to_zero(name, num_players, 2048, 16_400) > 33_000_000


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", NAMES)
def test_the_ledger_adds_up_to_the_rewards(name: str, backend: BackendName) -> None:
    """With ``auto_reset``: what was booked in a round is the sum of its rewards, and nothing stays owed."""
    num_games = 40 if backend == "numba" else 6
    batch = Batch(name, num_games, reward="payments", auto_reset=True, backend=backend)
    batch.reset(3)
    rng = np.random.default_rng(3)
    total = np.zeros((num_games, 4))
    rounds = 0
    for _ in range(400 if backend == "numba" else 150):
        rewards, dones = batch.step(batch.sample(rng))
        total += rewards
        for game in range(num_games):
            booked = batch.payments(game)
            assert all(p.amount > 0 and p.payer != p.payee for p in booked)
            assert net(booked, 4) == total[game].tolist()
            if dones[game]:
                assert batch.owed(game) == []
                total[game] = 0
                rounds += 1
            elif batch.state.played[game].any() or rewards[game].any():
                assert batch.balances[game].tolist() == net(booked, 4)
        fresh = dones & (batch.state.turn >= 0)
        for game in fresh.nonzero()[0]:
            # From the first play on the ledger is that of the new round.
            other = batch.select([game])
            rewards, _ = other.step(other.sample(rng))
            assert net(other.payments(), 4) == rewards[0].tolist()
    assert rounds > 0


def test_the_observation_shows_what_is_owed() -> None:
    """Piece ``owed``: the ledger's open entries, relative to the observer, as two bytes a seat."""
    shown = 0
    for name in NAMES:
        batch = Batch(name, 300, reward="payments", auto_reset=True)
        batch.reset(1)
        rng = np.random.default_rng(1)
        piece = batch.layout["owed"]
        for _ in range(120):
            batch.step(batch.sample(rng))
            seen = batch.observe()[:, piece.slice].reshape(300, *piece.shape)
            amounts = seen @ (1 << np.arange(8))
            for game in amounts.any(axis=(1, 2)).nonzero()[0].tolist():
                pays, gets = [0] * 4, [0] * 4
                for payment in batch.owed(game):
                    pays[payment.payer] += payment.amount
                    gets[payment.payee] += payment.amount
                turn = int(batch.state.turn[game])
                assert amounts[game].tolist() == [[pays[s % 4], gets[s % 4]] for s in range(turn, turn + 4)]
                shown += 1
            open_games = [game for game in range(0, 300, 30) if batch.owed(game)]
            assert all(amounts[game].any() for game in open_games)
    assert shown > 100


def test_the_ledger_has_nothing_behind_its_last_entry() -> None:
    """Seat 1 chops the 2 of seat 0 and goes out. Seat 2 chops that chop; nobody pays for it (`chop_out`)."""
    rules = replace(SOUTH, chop_out="nobody", pay_cong=0)
    hands = ("2h 3h 5h", "3s 3c 4s 4c 5s 5c", "Qs Qc Qd Qh 5d 2d", "7d 8d Ks 2s")
    batch = Batch(rules, 1, episode="game", num_rounds=2, backend="python")
    batch.set_hands([[parse_cards(hand) for hand in hands]], leader=0)
    ledger, numbers = int(batch.kernel_arrays.spec[S.EXTRA]) + R.LEDGER, []

    def play(cards: int) -> None:
        batch.step([batch.action_table.classify(cards)], [cards])
        num = len(batch.payments()) + len(batch.owed())
        entries = batch.state.rows[0, ledger : ledger + R.LEDGER_SIZE]
        assert entries[:num].all()
        assert not entries[num:].any()
        numbers.append(num)

    for text in ("2h", "3s 3c 4s 4c 5s 5c", "Qs Qc Qd Qh"):
        play(parse_cards(text))
    assert numbers == [0, 1, 0]
    while batch.state.round[0] == 0:
        play(int(batch.list_legal().cards[-1]))
    assert numbers[-1] > 0
    play(int(batch.list_legal().cards[-1]))
    assert numbers[-1] == 0


def test_presets_without_payments_have_no_columns_for_them() -> None:
    for name in OTHERS:
        batch = Batch(name)
        assert "owed" not in batch.layout
        assert not batch.has_payments
        assert batch.payments() == batch.owed() == []
        assert not batch.balances.any()
        words = -(-batch.num_actions // 64)
        assert batch.state.rows.shape[1] == R.LEGAL + words + 1 + PRESETS[name].rejoin_twos


# ---------------------------------------------------------------- instant wins


def test_an_instant_win_is_declared_before_it_is_paid() -> None:
    """4.12, 4.14: to begin pays nothing; the declaration is the only legal action, of any seat."""
    batch = Batch("south", 1, num_players=3, reward="payments", history=4)
    hands = [PLAIN[0], PLAIN[1], DRAGON]
    masks = np.array([[int(Round.from_hands("south", hands).hand(s)) for s in range(3)]])
    batch.set_hands(masks, leader=0)
    declare = batch.num_actions - 1
    assert batch.state.turn[0] == 2
    assert batch.state.must_declare.all()
    assert np.flatnonzero(batch.action_mask()[0]).tolist() == [declare]
    assert batch.list_legal().cards.tolist() == [0]
    assert batch.payments() == []
    assert not batch.balances.any()
    rewards, dones = batch.step([declare])
    assert rewards.tolist() == [[-4, -4, 8]]
    assert dones.all()
    assert not batch.state.must_declare.any()
    assert batch.payments() == [Payment(0, 2, 4, "instant"), Payment(1, 2, 4, "instant")]


def key_with_instant_win(name: str) -> int:
    batch = Batch(name, 20_000)
    batch.deal(np.arange(20_000))
    declares: IntArray = np.flatnonzero(batch.state.must_declare)  # type: ignore[attr-defined]
    return int(declares[0])


@pytest.mark.parametrize("name", NAMES)
def test_an_instant_win_in_the_environments(name: str) -> None:
    """A round that ends before any seat has a choice: PettingZoo, one seat, a session, a copy of a round."""
    key = key_with_instant_win(name)
    env = tienlen_v1.env(rules=name, reward="payments")
    env.reset(options={"key": key})
    winner = env.agent_selection
    observation = env.observe(winner)
    assert np.flatnonzero(observation["action_mask"]).tolist() == [observation["action_mask"].size - 1]
    env.step(int(np.argmax(observation["action_mask"])))
    assert all(env.terminations.values())
    assert sum(env.rewards.values()) == 0 < env.rewards[winner]
    assert [payment.cause for payment in env.unwrapped.batch.payments()] == ["instant"] * 3
    assert {agent: info["units"] for agent, info in env.infos.items()} == env.rewards

    session = Session(name, key, whole_game=False)
    seat = session.turn
    assert [str(play) for play in session.legal] == ["declare"]
    assert session.view(seat)["legal"] == ["declare"]
    session.apply("declare")
    assert session.is_over
    assert session.round.places[seat] == 0

    round_ = Round(name, key)
    other = copy.deepcopy(round_)
    round_.play("declare")
    assert not other.is_over
    assert len(round_.payment_texts()) == 3
    assert Round.from_record(round_.record()).payment_texts() == round_.payment_texts()
    assert round_.undo().is_declaration
    assert round_.payment_texts() == []


# ---------------------------------------------------------------- environments


@pytest.mark.parametrize("name", NAMES)
def test_one_seat_gets_what_the_infos_name(name: str) -> None:
    games = OneSeatGames(name, 16, reward="payments", opponents="random")
    games.reset(5)
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(60):
        games.step(games.batch.sample(rng))
        done = games.finished
        assert done.units.tolist() == done.total.tolist()
        found += len(done.units)
    assert found > 10


def test_gymnasium_and_its_vector_name_the_payments() -> None:
    settings: dict[str, Any] = {"rules": "south", "reward": "payments"}
    env = gymnasium.make("tienlen_env/TienLen-v1", **settings)
    _, info = env.reset(seed=2)
    total, is_over = 0.0, False
    while not is_over:
        _, reward, is_over, _, info = env.step(int(np.argmax(info["action_mask"])))
        total += float(reward)
    assert total == info["units"] == net(env.unwrapped.games.batch.payments(), 4)[info["seat"]]


@pytest.mark.parametrize("name", OTHERS)
def test_no_payments_no_reward(name: str) -> None:
    for make in (
        lambda: Batch(name, reward="payments"),
        lambda: tienlen_v1.env(rules=name, reward="payments"),
        lambda: OneSeatGames(name, 2, reward="payments"),
    ):
        with pytest.raises(RulesError, match=rf"reward='payments': the {name} rules have no payments"):
            make()
