"""The search of a variant: a game's functions, and the arrays of one search at a time.

A game's own search is a function from rules to a `SearchSetup`: ``SEARCH`` in the module of this package with
the game's name, or what another package registers with its game (``games.registry.register(GAME,
search=...)``). All other games are searched by `tienlen_agents.search.uniform`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from tienlen_agents.search import estimates, ismcts, uniform
from tienlen_agents.search.estimates import NUM_SERIES
from tienlen_agents.search.halving import NUM_CANDIDATES, NUM_WORLDS
from tienlen_agents.search.interface import (
    Decision,
    Estimates,
    Options,
    SearchSetup,
    Workspace,
    no_play_out,
)
from tienlen_agents.search.loops import RESULT_BITS, search_loops
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.floats import exp
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import NUM_ACTIONS
from tienlen_env.games.registry import ByGame, game_named

PlayOut = Callable[[IntArray], FloatArray]

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
        has_models: whether the game has models of players (`Options.has_models`); they know of no payments.
    """

    def __init__(self, rules: AnyRules, reward: str = "") -> None:
        setup = setup_of(rules, reward)
        self.rules = rules
        self.memory = setup.memory
        self.reward = setup.reward
        self.reward_unit = setup.reward_unit
        self.has_models = setup.game.play_out is not no_play_out and setup.reward != "payments"
        self._loops = search_loops(setup.game)
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
        listed = int(self._loops.begin_estimate(*arguments))
        found = Estimates(*np.zeros((4, len(decision.actions))))
        if listed:
            worlds, logs = np.empty((listed, len(self.workspace.world)), np.int64), np.empty(listed)
            self._loops.list_worlds(*arguments, worlds, logs)
            worlds, logs = worlds[logs > -np.inf], logs[logs > -np.inf]
        if listed and len(worlds):
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

    def sample(self, num_worlds: int) -> None:
        """Draw the next worlds and evaluate the candidates in each."""
        self._reserve((self.num_worlds + num_worlds) * len(self.candidates))
        self._loops.sample_worlds(self._decision, self._options, self.workspace, self.memory, num_worlds)

    def append(self, values: FloatArray) -> None:
        """Append values (worlds, candidates) that were found elsewhere."""
        first, size = self.num_worlds * values.shape[1], values.size
        self._reserve(first + size)
        self.workspace.values[first : first + size] = values.ravel()
        self.workspace.sizes[NUM_WORLDS] += len(values)

    def eliminate(self, limit: int) -> int:
        """End a step of the halving: keep `limit` candidates at most; the number of those left."""
        return int(self._loops.eliminate(self._decision, self._options, self.workspace, limit))

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
