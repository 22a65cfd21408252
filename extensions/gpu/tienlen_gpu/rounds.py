"""A batch of rounds whose states are on a device, and the order of their decisions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tienlen_agents.parallel import Body, DecisionArrays, GameArrays
from tienlen_env.engine.batch import Batch
from tienlen_env.games.common.arrays import ActionFields, IntArray, Rewards, Row, Spec
from tienlen_env.games.common.game import AnyGame, AnyRules
from tienlen_gpu.machine import TorchMachine


class PlayArgs(NamedTuple):
    """Arguments of the body that plays; see `Rounds.play`."""

    rows: IntArray
    spec: Spec
    actions: ActionFields
    games: Any
    ids: Any
    skip_forced: bool
    rewards: Any
    num_legal: Any


class ForcedArgs(NamedTuple):
    """Arguments of the body that plays decisions with a single legal action; see `Rounds.skip_forced`."""

    rows: IntArray
    spec: Spec
    actions: ActionFields
    rewards: Any
    num_legal: Any


class FirstArgs(NamedTuple):
    """Arguments of the body that lists the first legal action of some games; see `Rounds.first_legal`."""

    rows: IntArray
    spec: Spec
    games: Any
    out: Any


class _Bodies(NamedTuple):
    play: Body
    skip_forced: Body
    first_legal: Body


@cache
def _bodies(game: AnyGame) -> _Bodies:
    """The bodies of a game; the rules are its kernels'."""
    kernels, columns = game.kernels, game.columns
    play, update_legal, cards_of = kernels.play, kernels.update_legal, kernels.action_cards
    count, nth_legal = kernels.legal.num_legal, kernels.legal.nth_legal
    turn, hand = columns.turn, columns.hand

    def play_row(row: Row, args: PlayArgs | ForcedArgs, action: int, rewards: Rewards) -> int:
        cards = cards_of(row[hand + row[turn]], args.actions, action)
        play(row, args.spec, args.actions, action, cards, rewards)
        update_legal(row, args.spec, args.actions)
        return count(row, args.spec)

    def play_item(item: int, slot: int, args: PlayArgs) -> None:
        game = args.games[item]
        row, rewards = args.rows[game], args.rewards[game]
        num = play_row(row, args, args.ids[item], rewards)
        while args.skip_forced and num == 1:
            num = play_row(row, args, nth_legal(row, args.spec, 0), rewards)
        args.num_legal[game] = num

    def skip_item(item: int, slot: int, args: ForcedArgs) -> None:
        row, rewards = args.rows[item], args.rewards[item]
        num = count(row, args.spec)
        while num == 1:
            num = play_row(row, args, nth_legal(row, args.spec, 0), rewards)
        args.num_legal[item] = num

    def first_item(item: int, slot: int, args: FirstArgs) -> None:
        args.out[item] = nth_legal(args.rows[args.games[item]], args.spec, 0)

    return _Bodies(play_item, skip_item, first_item)


class Turns(NamedTuple):
    """The decisions that wait, grouped by who takes them, and by game in each group.

    Attributes:
        decisions: all n of them.
        sizes: number of decisions of each group.
        num_actions: number of their legal actions.
    """

    decisions: DecisionArrays
    sizes: list[int]
    num_actions: list[int]

    def part(self, first: int, last: int) -> DecisionArrays:
        """The decisions of the groups `first` to `last`; their actions begin at 0."""
        begin, end = sum(self.sizes[:first]), sum(self.sizes[: last + 1])
        skipped = sum(self.num_actions[:first])
        games, num_legal, start, _ = self.decisions
        return DecisionArrays(
            games[begin:end],
            num_legal[begin:end],
            start[begin:end] - skipped if skipped else start[begin:end],
            sum(self.num_actions[first : last + 1]),
        )


class Rounds:
    """B rounds on a device.

    Args:
        machine: where.
        rules: the variant.
        num_games: B.
        reward: reward scheme.
        history_length: plays that the states store.

    Attributes:
        batch: the games.
        position: the same as tensors, which share its memory.
        turn: int64 (B,), the seat to act, -1 when the round is over.
        num_legal: int64 (B,), its number of legal actions.
        rewards: float32 (B, P), the sums of the rewards since they were last set to 0.
        units: int64 (B, P), what each seat got in payments, less what it paid; None under rules without them.
    """

    def __init__(
        self,
        machine: TorchMachine,
        rules: AnyRules,
        num_games: int,
        *,
        reward: str = "points",
        history_length: int = 0,
    ) -> None:
        self.machine = machine
        self.batch = Batch(
            rules, num_games, reward=reward, history_length=history_length, backend=machine.backend
        )
        self.num_games, self.num_players = self.batch.num_games, self.batch.num_players
        self.position = GameArrays(*map(machine.tensor, self.batch.kernel_arrays))
        columns = self.batch.game.columns
        self.turn: Tensor = self.position.rows[:, columns.turn]
        self.places: Tensor = self.position.rows[:, columns.place : columns.place + self.num_players]
        self.points: Tensor = self.position.rows[:, columns.score : columns.score + self.num_players]
        self.units: Tensor | None = None
        if self.batch.has_payments and (reader := self.batch.game.payments) is not None:
            first = reader.balances(machine.host(self.position.spec))
            self.units = self.position.rows[:, first : first + self.num_players]
        self.num_legal: Tensor = machine.zeros(self.num_games, np.int64)
        self.rewards: Tensor = machine.zeros((self.num_games, self.num_players), np.float32)
        self._bodies = _bodies(self.batch.game)

    def deal(self, keys: npt.NDArray[np.int64], *, skip_forced: bool) -> None:
        """Deal all rounds anew.

        Args:
            keys: int64 (B,), in the processor's memory.
            skip_forced: play decisions with a single legal action.
        """
        self.batch.deal(keys)
        self.rewards.zero_()
        if skip_forced:
            args = ForcedArgs(*self.position, self.rewards, self.num_legal)
            self.machine.launch(self._bodies.skip_forced, self.num_games, args)
        else:
            self.num_legal.copy_(self.machine.tensor(self.batch.count_legal()))

    def play(self, games: Tensor, actions: Tensor, *, skip_forced: bool) -> None:
        """Play one action in some games; their rewards are added to `rewards`.

        Args:
            games: int64 (n,), none of them twice, and none that is over.
            actions: int64 (n,), a legal action for each; nothing checks that.
            skip_forced: then play all following decisions with a single legal action.
        """
        args = PlayArgs(*self.position, games, actions, skip_forced, self.rewards, self.num_legal)
        self.machine.launch(self._bodies.play, len(games), args)

    def steps(
        self, seats: Tensor, num_agents: int, *, skip_forced: bool
    ) -> Iterator[tuple[int, Tensor, Turns]]:
        """The one loop that plays rounds on a device; its body must play all decisions of a step, once.

        Args:
            seats: int64 (B, P), the agent in each seat.
            num_agents: number of agents, E.
            skip_forced: as for `play`. If not, group E has the decisions with a single legal action.

        Yields:
            ``(step, who, turns)``: how many steps were played; int64 (B,), the agent of each game's next
            decision, of seat 0 where a round is over; the decisions, grouped by agent.
        """
        for step in count():
            who = seat_groups(seats, self.turn)
            groups = who if skip_forced else torch.where(self.num_legal == 1, num_agents, who)
            turns = self._turns(groups, num_agents if skip_forced else num_agents + 1)
            if turns is None:
                return
            yield step, who, turns

    def _turns(self, group: Tensor, num_groups: int) -> Turns | None:
        """The decisions that wait; this is the one place of a step where the processor waits for the device.

        Args:
            group: int64 (B,), the group of each game's next decision, in 0..num_groups-1.
            num_groups: number of groups.

        Returns:
            None if all rounds are over.
        """
        group = torch.where(self.turn >= 0, group, num_groups)
        tally = torch.zeros((2, num_groups + 1), dtype=torch.int64, device=group.device)
        tally[0].scatter_add_(0, group, torch.ones_like(group))
        tally[1].scatter_add_(0, group, self.num_legal)
        order = torch.argsort(group.to(torch.int32), stable=True)
        sizes, num_actions = tally[:, :num_groups].tolist()
        num_decisions = sum(sizes)
        if num_decisions == 0:
            return None
        games = order[:num_decisions]
        num_legal = self.num_legal.index_select(0, games)
        return Turns(decisions_of(games, num_legal, sum(num_actions)), sizes, num_actions)

    def first_legal(self, games: Tensor) -> Tensor:
        """int64 (n,): the first legal action of each of some games; none of them is over."""
        out: Tensor = self.machine.empty(len(games), np.int64)
        args = FirstArgs(self.position.rows, self.position.spec, games, out)
        self.machine.launch(self._bodies.first_legal, len(games), args)
        return out


def decisions_of(games: Tensor, num_legal: Tensor, num_actions: int) -> DecisionArrays:
    """Decisions with the starts of their actions."""
    return DecisionArrays(games, num_legal, torch.cumsum(num_legal, 0) - num_legal, num_actions)


def owner_of(decisions: DecisionArrays) -> Tensor:
    """int64 (N,), ascending: the decision of each legal action."""
    index = torch.arange(len(decisions.games), device=decisions.games.device)
    return torch.repeat_interleave(index, decisions.num_legal, output_size=decisions.num_actions)


def seat_groups(seats: Tensor, turn: Tensor) -> Tensor:
    """int64 (B,): who has the seat to act, from int64 (B, P); seat 0's where a round is over."""
    return seats.gather(1, turn.clamp(min=0)[:, None]).squeeze(1)
