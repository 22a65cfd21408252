"""The compiled functions of a search for one game, and the arrays of one search at a time.

A game's own search is a function from rules to a `SearchSetup`: ``SEARCH`` in the module of this package with
the game's name, or what another package registers with its game (``games.registry.register(GAME,
search=...)``). All other games are searched by `tienlen_agents.search.uniform`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Final

import numpy as np

from tienlen_agents.rule_based.rollout import make_rollout
from tienlen_agents.search import estimates, halving, ismcts, uniform
from tienlen_agents.search.estimates import MAX_LISTED, NUM_SERIES
from tienlen_agents.search.halving import IS_OPEN, NUM_CANDIDATES, NUM_WORLDS
from tienlen_agents.search.interface import Decision, Estimates, Options, SearchGame, SearchSetup, Workspace
from tienlen_agents.search.randomness import absorb
from tienlen_env.engine.backends import jit
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.bits import shift_right
from tienlen_env.games.common.floats import exp
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.hints import noinline
from tienlen_env.games.common.spec import NUM_ACTIONS
from tienlen_env.games.registry import ByGame, game_named

PlayOut = Callable[[IntArray], FloatArray]

RESULT_BITS: Final = 13  # of rollouts that are remembered
MAX_SCALE: Final = 8.0  # of a budget in worlds

_SETUPS: Final[ByGame[Callable[..., SearchSetup]]] = ByGame(
    "search", "tienlen_agents.search", lambda game: partial(uniform.setup, game_named(game))
)


def setup_of(rules: AnyRules, reward: str = "") -> SearchSetup:
    """The functions and new arrays for a search under `rules`.

    Args:
        rules: the variant.
        reward: what is maximised: ``"payments"``, or empty for the points of the places.

    Raises:
        WrongGameError: see `tienlen_agents.search.uniform.setup`.
    """
    setup = _SETUPS.of(rules)
    return setup(rules, reward=reward) if reward else setup(rules)


@cache
def search_loops(game: SearchGame) -> SimpleNamespace:
    """The functions that Python calls, compiled when first called."""
    turn, place = game.rollout.turn, game.rollout.place
    default_action, solve, begin_game = game.default_action, game.solve, game.begin
    draw, fill, restart = game.draw, game.fill, game.restart
    num_all_worlds, next_world = game.num_worlds, game.next_world
    _, _, rollout = make_rollout(game.rollout)
    iterate = ismcts.make_iterate(game)

    def fill_source(decision: Decision, workspace: Workspace) -> None:
        """Write the state before the decision, in the current world, to ``workspace.source``."""
        for column in range(workspace.source.shape[0]):
            workspace.source[column] = decision.row[column]
        fill(workspace.source, workspace.world, workspace.line.spec, decision.row[turn])

    @noinline
    def evaluate_world(decision: Decision, options: Options, workspace: Workspace) -> None:
        """Append the values of all candidates in the current world.

        A chain can return to a world: the results of earlier rollouts are reused.
        """
        num, seat = workspace.sizes[NUM_CANDIDATES], decision.row[turn]
        first = workspace.sizes[NUM_WORLDS] * num
        world_key, is_filled = 0, False
        for i in range(workspace.world.shape[0]):
            world_key = absorb(world_key, workspace.world[i])
        for k in range(num):
            index = workspace.candidates[k]
            # Two of the rollouts of a decision have the same 64-bit key with a probability below 2**-40.
            key = absorb(world_key, 1 + decision.actions[index])
            slot = shift_right(key, 64 - RESULT_BITS)
            if workspace.played[slot] != key:
                if not is_filled:
                    fill_source(decision, workspace)
                    is_filled = True
                line = workspace.line
                rollout(
                    line, workspace.source, workspace.source.shape[0], decision.actions[index],
                    decision.cards[index], seat,
                )  # fmt: skip
                is_first = line.row[place + seat] == 0
                workspace.earned[slot] = line.rewards[seat] + (options.first_place_bonus if is_first else 0.0)
                workspace.played[slot] = key
            workspace.values[first + k] = workspace.earned[slot]
        workspace.sizes[NUM_WORLDS] += 1

    def begin_search(decision: Decision, options: Options, workspace: Workspace, memory: object) -> float:
        for i in range(workspace.played.shape[0]):
            workspace.played[i] = 0
        scale = begin_game(decision, options, workspace, memory)
        workspace.sizes[IS_OPEN] = 1 if scale > 0 else 0
        return scale

    def sample_worlds(
        decision: Decision, options: Options, workspace: Workspace, memory: object, num_worlds: int
    ) -> None:
        for _ in range(num_worlds):
            draw(decision, options, workspace, memory)
            evaluate_world(decision, options, workspace)

    @jit.loop
    def resolve(decision: Decision, workspace: Workspace, memory: object) -> tuple[int, int]:
        default = default_action(decision, workspace, memory)
        return default, solve(decision, workspace, memory, default)

    @jit.loop
    def search(decision: Decision, options: Options, workspace: Workspace, memory: object) -> int:
        default = decision.default
        if default < 0:
            default = default_action(decision, workspace, memory)
            solved = solve(decision, workspace, memory, default)
            if solved >= 0:
                return solved
        if halving.start(decision, options, workspace, default) == 1:
            return int(workspace.candidates[0])
        scale = begin_search(decision, options, workspace, memory)
        steps = halving.num_steps(workspace.sizes[NUM_CANDIDATES]) if scale > 0 else 1
        for step in range(steps):
            wanted = halving.num_worlds_after(options, scale, steps - 1 - step) if scale > 0 else 1
            if workspace.sizes[NUM_CANDIDATES] > 1:
                missing = wanted - workspace.sizes[NUM_WORLDS]
                sample_worlds(decision, options, workspace, memory, missing)
                halving.eliminate(decision, options, workspace, step == steps - 1)
        return int(workspace.candidates[0])

    @jit.loop
    def start(
        decision: Decision, options: Options, workspace: Workspace, memory: object, default: int
    ) -> float:
        halving.start(decision, options, workspace, default)
        return begin_search(decision, options, workspace, memory)

    def begin_estimate(decision: Decision, options: Options, workspace: Workspace, memory: object) -> int:
        """Make all actions candidates; the number of worlds if all are listed, 0 if they are sampled."""
        halving.start(decision, options, workspace, default_action(decision, workspace, memory))
        begin_search(decision, options, workspace, memory)
        num = num_all_worlds(decision, workspace, memory)
        return num if num <= MAX_LISTED else 0

    def add_world(
        decision: Decision, options: Options, workspace: Workspace, series: int, weight: float
    ) -> None:
        """Evaluate all actions in the current world, and add what they earn to the sums of a series."""
        workspace.sizes[NUM_WORLDS] = 0
        evaluate_world(decision, options, workspace)
        for k in range(workspace.sizes[NUM_CANDIDATES]):
            workspace.series[series, k] += weight * workspace.values[k]

    def multiply(workspace: Workspace, series: int, factor: float) -> None:
        for k in range(workspace.sizes[NUM_CANDIDATES]):
            workspace.series[series, k] *= factor

    @jit.loop
    def evaluate(
        decision: Decision, options: Options, workspace: Workspace, memory: object, out: Estimates
    ) -> int:
        listed = begin_estimate(decision, options, workspace, memory)
        num, size = workspace.sizes[NUM_CANDIDATES], estimates.series_size(options.worlds)
        for series in range(NUM_SERIES):
            for k in range(num):
                workspace.series[series, k] = 0.0
        if listed > 0:
            total, largest = 0.0, -math.inf
            for w in range(listed):
                log_weight = next_world(decision, options, workspace, memory, w == 0)
                if log_weight > largest:  # the weights are relative to the largest one
                    factor = exp(largest - log_weight)
                    multiply(workspace, 0, factor)
                    total, largest = total * factor, log_weight
                if log_weight > -math.inf:
                    weight = exp(log_weight - largest)
                    add_world(decision, options, workspace, 0, weight)
                    total += weight
            multiply(workspace, 0, 1 / total)
            estimates.summarise_exact(workspace.series, num, out)
            return listed
        for series in range(NUM_SERIES):
            restart(decision, options, workspace, memory)
            for _ in range(size):
                draw(decision, options, workspace, memory)
                add_world(decision, options, workspace, series, 1 / size)
        estimates.summarise(workspace.series, num, options.reward_unit / (size * NUM_SERIES), out)
        return size * NUM_SERIES

    @jit.loop
    def list_worlds(
        decision: Decision,
        options: Options,
        workspace: Workspace,
        memory: object,
        out: IntArray,
        logs: FloatArray,
    ) -> None:
        for w in range(out.shape[0]):
            logs[w] = next_world(decision, options, workspace, memory, w == 0)
            for i in range(out.shape[1]):
                out[w, i] = workspace.world[i]

    @jit.loop
    def draw_worlds(
        decision: Decision,
        options: Options,
        workspace: Workspace,
        memory: object,
        is_new: bool,
        out: IntArray,
    ) -> None:
        if is_new:
            restart(decision, options, workspace, memory)
        for w in range(out.shape[0]):
            draw(decision, options, workspace, memory)
            for i in range(out.shape[1]):
                out[w, i] = workspace.world[i]

    @jit.loop
    def fill_rows(rows: IntArray, worlds: IntArray, spec: IntArray, seat: int) -> None:
        for b in range(rows.shape[0]):
            fill(rows[b], worlds[b], spec, seat)

    @jit.loop
    def grow(
        decision: Decision,
        options: Options,
        workspace: Workspace,
        memory: object,
        tree: ismcts.Tree,
        visits: IntArray,
    ) -> int:
        default = default_action(decision, workspace, memory)
        solved = solve(decision, workspace, memory, default)
        if solved >= 0:
            return solved
        begin_game(decision, options, workspace, memory)
        line = workspace.line
        for column in range(ismcts.NODE_FIELDS):
            tree.nodes[0, column] = 0
        tree.size[0] = 1
        for _ in range(options.worlds):
            draw(decision, options, workspace, memory)
            fill_source(decision, workspace)
            for column in range(workspace.source.shape[0]):
                line.row[column] = workspace.source[column]
            for player in range(line.rewards.shape[0]):
                line.rewards[player] = 0
            iterate(tree, line, workspace.stream, options.explore)
        best = 0
        for i in range(decision.actions.shape[0]):
            node = ismcts.find_child(tree.nodes, 0, decision.actions[i])
            visits[i] = tree.nodes[node, ismcts.VISITS] if node != 0 else 0
        for i in range(decision.actions.shape[0]):
            # Among equal values: the default action, then the first.
            if visits[i] + (i == default) > visits[best] + (best == default):
                best = i
        return best

    return SimpleNamespace(
        resolve=resolve, search=search, start=start, sample=jit.loop(sample_worlds),
        eliminate=jit.loop(halving.eliminate), evaluate=evaluate, begin_evaluation=jit.loop(begin_estimate),
        list_worlds=list_worlds, draw_worlds=draw_worlds, fill_rows=fill_rows, grow=grow,
    )  # fmt: skip


def num_values(worlds: int, num_actions: int) -> int:
    """The room that ``Workspace.values`` needs for a search.

    Step s of R leaves n / 2**s candidates and has 8 * worlds / 2**(R - 1 - s) worlds, both rounded up.
    """
    return int(3 * MAX_SCALE * worlds) + 2 * num_actions + 8


def new_workspace(setup: SearchSetup, size: int = 0) -> Workspace:
    """Arrays for a search, with room for `size` values."""
    num_actions = int(setup.line.spec[NUM_ACTIONS])
    return Workspace(
        setup.line,
        np.zeros(setup.num_columns, np.int64),
        np.zeros(setup.world_size, np.int64),
        setup.stream,
        np.zeros(1 << RESULT_BITS, np.int64),
        np.zeros(1 << RESULT_BITS),
        np.zeros(4, np.int64),
        np.zeros(num_actions, np.int64),
        np.zeros(size),
        np.zeros(num_actions),
        np.zeros(num_actions, np.int64),
        np.zeros((NUM_SERIES, num_actions)),
    )


class SearchContext:
    """Searches decisions of one variant, one at a time. The result depends on the arguments alone.

    Args:
        rules: the variant.
        reward: see `setup_of`.

    Attributes:
        reward: what is maximised, a reward scheme of the game.
        reward_unit: units of that reward that weigh like a point in the options.
    """

    def __init__(self, rules: AnyRules, reward: str = "") -> None:
        setup = setup_of(rules, reward)
        self.rules = rules
        self.memory = setup.memory
        self.reward = setup.reward
        self.reward_unit = setup.reward_unit
        self._loops = search_loops(setup.game)
        self._deviations = setup.deviations
        self._turn = setup.game.rollout.turn
        self.workspace = new_workspace(setup)

    def resolve(self, decision: Decision) -> tuple[int, int]:
        """Choose without a search.

        Returns:
            ``(default, solved)``: the index of the baseline's choice, -1 for none; and that of the action
            to take because the position is solved, -1: it is not.
        """
        default, solved = self._loops.resolve(decision, self.workspace, self.memory)
        return int(default), int(solved)

    def search(self, decision: Decision, options: Options) -> int:
        """The index of the action to take, in one compiled call."""
        self._reserve(num_values(options.worlds, len(decision.actions)))
        return int(self._loops.search(decision, options, self.workspace, self.memory))

    def start(self, decision: Decision, options: Options, default: int) -> float:
        """Begin a search step by step: `sample` or `draw` and `append`, then `eliminate`, and so on.

        Args:
            decision: the decision.
            options: of the search.
            default: index of the default action.

        Returns:
            The factor on the budget in worlds; 0 where there is one world only.
        """
        self._decision, self._options = decision, options
        return float(self._loops.start(decision, options, self.workspace, self.memory, default))

    def evaluate(self, decision: Decision, options: Options) -> Estimates:
        """Estimate all legal actions, without a prior (see `tienlen_agents.search.estimates`).

        Args:
            decision: the decision.
            options: of the search. ``options.worlds`` is rounded up to a multiple of NUM_SERIES; it has no
                effect where all worlds are evaluated.
        """
        num = len(decision.actions)
        self._reserve(num)
        found = Estimates(*np.zeros((4, num)))
        self._loops.evaluate(decision, options, self.workspace, self.memory, found)
        return found

    def evaluate_by(self, decision: Decision, options: Options, play_out: PlayOut) -> Estimates:
        """`evaluate` with rollouts in Python.

        Args:
            decision: the decision.
            options: of the search.
            play_out: gets worlds, int64 (n, W), all different, and returns what each legal action earns in
                each, float64 (n, actions).
        """
        self._decision, self._options = decision, options
        arguments = decision, options, self.workspace, self.memory
        listed = int(self._loops.begin_evaluation(*arguments))
        found = Estimates(*np.zeros((4, len(decision.actions))))
        if listed:
            worlds, logs = np.empty((listed, len(self.workspace.world)), np.int64), np.empty(listed)
            self._loops.list_worlds(*arguments, worlds, logs)
            worlds, logs = worlds[logs > -np.inf], logs[logs > -np.inf]
            # The library's own exp, and sums in a fixed order: the same bits on every processor.
            weights = np.array([exp(log) for log in (logs - logs.max()).tolist()])
            exact: FloatArray = (weights[:, None] * play_out(worlds)).sum(axis=0) / sum(weights.tolist())
            estimates.summarise_exact(exact[None], len(found.mean), found)
        else:
            size = estimates.series_size(options.worlds)
            drawn = np.concatenate([self.draw(size, is_new=True) for _ in range(NUM_SERIES)])
            worlds, at = np.unique(drawn, axis=0, return_inverse=True)
            values = play_out(worlds)[at.ravel()].reshape(NUM_SERIES, size, -1)
            estimates.summarise(values.mean(axis=1), len(found.mean), options.reward_unit / len(drawn), found)
        return found

    @property
    def candidates(self) -> IntArray:
        """int64 (n,), indices of the actions in contention."""
        return self.workspace.candidates[: self.workspace.sizes[NUM_CANDIDATES]].copy()

    @property
    def num_worlds(self) -> int:
        """The number of worlds evaluated so far."""
        return int(self.workspace.sizes[NUM_WORLDS])

    def draw(self, num_worlds: int, *, is_new: bool = False) -> IntArray:
        """int64 (num_worlds, W): the next worlds; `is_new`: of a new series, independent of those before."""
        out = np.empty((num_worlds, len(self.workspace.world)), np.int64)
        self._loops.draw_worlds(self._decision, self._options, self.workspace, self.memory, is_new, out)
        return out

    def fill(self, rows: IntArray, worlds: IntArray) -> None:
        """Write worlds (n, W) into the hidden columns of states (n, ROW) before the decision."""
        seat = self._decision.row[self._turn]
        self._loops.fill_rows(rows, worlds, self.workspace.line.spec, seat)

    def fewest_deviations(self, decision: Decision, options: Options, num_worlds: int) -> int:
        """How many plays of the opponents the baseline cannot explain; -1 if nothing is known.

        Args:
            decision: the decision.
            options: of the search.
            num_worlds: worlds of a chain; the one with the fewest deviations counts.
        """
        if self._deviations is None:
            return -1
        self.start(decision, options, 0)
        found = []
        for _ in range(num_worlds):
            self.draw(1)
            found.append(self._deviations(self.memory))
        return min(found)

    def sample(self, num_worlds: int) -> None:
        """Draw the next worlds and evaluate the candidates in each."""
        self._reserve((self.num_worlds + num_worlds) * len(self.candidates))
        self._loops.sample(self._decision, self._options, self.workspace, self.memory, num_worlds)

    def append(self, values: FloatArray) -> None:
        """Append values (worlds, candidates) that were found elsewhere."""
        first, size = self.num_worlds * values.shape[1], values.size
        self._reserve(first + size)
        self.workspace.values[first : first + size] = values.ravel()
        self.workspace.sizes[NUM_WORLDS] += len(values)

    def eliminate(self, is_last: bool) -> int:
        """End a step of the halving; the number of candidates left."""
        return int(self._loops.eliminate(self._decision, self._options, self.workspace, is_last))

    def grow(self, decision: Decision, options: Options) -> tuple[int, IntArray]:
        """Search by ISMCTS, with an iteration in each of ``options.worlds`` worlds.

        Returns:
            The index of the action to take, and int64 (n,), the visits of each action.
        """
        tree = ismcts.Tree(
            np.zeros((options.worlds + 1, ismcts.NODE_FIELDS), np.int64),
            np.zeros(options.worlds + 1),
            np.zeros(ismcts.MAX_PATH, np.int64),
            np.zeros(1, np.int64),
        )
        visits = np.zeros(len(decision.actions), np.int64)
        chosen = self._loops.grow(decision, options, self.workspace, self.memory, tree, visits)
        return int(chosen), visits

    def _reserve(self, size: int) -> None:
        """Make room for `size` values."""
        values = self.workspace.values
        if len(values) < size:
            larger = np.zeros(max(size, 2 * len(values)))
            larger[: len(values)] = values
            self.workspace = self.workspace._replace(values=larger)
