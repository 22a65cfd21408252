"""Algorithms that solve a small game: CFR and its kin, Monte Carlo CFR, magnetic mirror descent.

| name | what | source |
|---|---|---|
| `cfr` | counterfactual regret minimisation | Zinkevich et al. 2007 |
| `cfr+` | regrets are cut at 0, iteration t counts t in the average | Tammelin 2014 |
| `dcfr` | discounted regrets and average, α = 1.5, β = 0, γ = 2 | Brown and Sandholm 2019 |
| `mccfr` | external sampling | Lanctot et al. 2009 |
| `mmd` | magnetic mirror descent, a uniform magnet that weakens; the last policy | Sokota et al. 2023 |

External sampling draws the deal and the actions of the other seats, and tries all actions of the traverser.
Seats are updated one after the other. With two players the average of the first four goes to an equilibrium.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from tienlen_agents.files import refusing, write_atomic
from tienlen_agents.search.randomness import random_word
from tienlen_env.engine.backends import jit
from tienlen_env.errors import check_word
from tienlen_env.games.common.arrays import FloatArray, IntArray
from tienlen_env.games.common.bits import shift_right
from tienlen_env.games.common.hints import noinline
from tienlen_exact import passes
from tienlen_exact.expansion import Deals, goes_with
from tienlen_exact.passes import Regrets, share
from tienlen_exact.policies import measure, normalised, read_arrays, uniform
from tienlen_exact.tree import PublicTree, TreeArrays

NOT_TRIED = -1


class Line(NamedTuple):
    """The line of play of a traversal; D depths, K most actions of an information set.

    Attributes:
        node: int64 (D,), the node at each depth.
        slots: int64 (D, P), the hand of each seat, as a slot.
        edges: int64 (D, K), the edges of the information set.
        children: int64 (D, K), the nodes behind them; -1 - t for action t that ends the round.
        policy: float64 (D, K), the present policy.
        worth: float64 (D, K), the values of the actions.
        sizes: int64 (D, 2), the number of edges; the one that is tried.
        stream: int64 (1,), of random numbers.
    """

    node: IntArray
    slots: IntArray
    edges: IntArray
    children: IntArray
    policy: FloatArray
    worth: FloatArray
    sizes: IntArray
    stream: IntArray


class Roots(NamedTuple):
    """How deals are drawn.

    Attributes:
        cumulative: float64 (R,), the probability of a root or one before it.
        group: int64 (R,), the deals of each root (see `Deals.pairs`).
    """

    cumulative: FloatArray
    group: IntArray


def new_line(tree: PublicTree) -> Line:
    """The arrays of a traversal."""
    depths, P = len(tree.depths), tree.num_players
    most = int(np.bincount(tree.edge_slots(), minlength=1).max(initial=1))
    edges, children = np.zeros((2, depths, most), np.int64)
    policy, worth = np.zeros((2, depths, most))
    return Line(
        np.zeros(depths, np.int64),
        np.zeros((depths, P), np.int64),
        edges,
        children,
        policy,
        worth,
        np.zeros((depths, 2), np.int64),
        np.zeros(1, np.int64),
    )


def draw_unit(line: Line) -> float:
    """A number in [0, 1)."""
    return shift_right(random_word(line.stream), 11) * 2.0**-53


def slot_below(tree: TreeArrays, child: int, seat: int, slot: int) -> int:
    """The slot of the same hand at a child; -1 if there is none."""
    P = tree.sizes[0]
    low, high = tree.slot_start[child * P + seat], tree.slot_start[child * P + seat + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if tree.up[middle] < slot:
            low = middle + 1
        else:
            high = middle
    return low if low < end and tree.up[low] == slot else -1


@noinline
def draw_deal(tree: TreeArrays, deals: Deals, roots: Roots, line: Line) -> None:
    """Draw a deal, and begin the line at its root."""
    P, draw, root = tree.sizes[0], draw_unit(line), 0
    while root < tree.sizes[1] - 1 and draw >= roots.cumulative[root]:
        root += 1
    line.node[0] = root
    fits = False
    while not fits:  # uniform among the deals of the root, by rejection
        fits = True
        for seat in range(P):
            start, end = tree.slot_start[root * P + seat], tree.slot_start[root * P + seat + 1]
            line.slots[0, seat] = start + int(draw_unit(line) * (end - start))
        for seat in range(P):
            for other in range(seat + 1, P):
                hand, other_hand = tree.up[line.slots[0, seat]], tree.up[line.slots[0, other]]
                fits = fits and goes_with(deals, roots.group[root], seat, hand, other, other_hand)


@noinline
def open_node(tree: TreeArrays, line: Line, depth: int, regret: FloatArray) -> None:
    """List the edges of the information set at a depth, with its present policy."""
    node, P = line.node[depth], tree.sizes[0]
    actor = tree.actor[node]
    slot, k, total = line.slots[depth, actor], 0, 0.0
    for child in range(tree.first_child[node], tree.first_child[node + 1]):
        below = slot_below(tree, child, actor, slot)
        if below >= 0:
            line.edges[depth, k] = tree.edge_start[child] + below - tree.slot_start[child * P + actor]
            line.children[depth, k] = child
            k += 1
    for t in range(tree.first_end[node], tree.first_end[node + 1]):
        if tree.end_slot[t] == slot:
            line.edges[depth, k] = tree.sizes[2] + t
            line.children[depth, k] = -1 - t
            k += 1
    for i in range(k):
        total += max(regret[line.edges[depth, i]], 0.0)
    if total <= 0.0:
        total = -float(k)
    for i in range(k):
        line.policy[depth, i] = share(regret[line.edges[depth, i]], total)
    line.sizes[depth, 0], line.sizes[depth, 1] = k, NOT_TRIED


@noinline
def pay_at(tree: TreeArrays, line: Line, depth: int, t: int, seat: int) -> float:
    """What a seat earns where the round ends with the hands of the line."""
    if not tree.sizes[3]:
        return float(tree.pay[t, seat])
    actor = tree.actor[line.node[depth]]
    for leaf in range(tree.first_leaf[t], tree.first_leaf[t + 1]):
        k, same = 0, True
        for other in range(tree.sizes[0]):
            if other != actor:
                same = same and tree.leaf_slots[leaf, k] == line.slots[depth, other]
                k += 1
        if same:
            return float(tree.pay[leaf, seat])
    return 0.0


@jit.loop
def sample_passes(
    tree: TreeArrays, deals: Deals, roots: Roots, seat: int, num: int, line: Line, regret: FloatArray,
    average: FloatArray,
) -> float:  # fmt: skip
    """Some traversals of a seat: its regrets are updated, and the average of the others.

    Args:
        tree: the tree.
        deals: which hands go together.
        roots: how deals are drawn.
        seat: the traverser.
        num: how many.
        line: scratch, and the stream of random numbers.
        regret: float64 (E,), updated.
        average: float64 (E,), updated: present policies are added where others act.

    Returns:
        The sum of what the seat earned.
    """
    P, total = tree.sizes[0], 0.0
    for _ in range(num):
        draw_deal(tree, deals, roots, line)
        open_node(tree, line, 0, regret)
        depth, value, has_value = 0, 0.0, False
        while depth >= 0:
            actor = tree.actor[line.node[depth]]
            size = line.sizes[depth, 0]
            if has_value:
                has_value = False
                if actor != seat:  # one action was drawn, and its value is that of the node
                    has_value = True
                    depth -= 1
                    continue
                line.worth[depth, line.sizes[depth, 1]] = value
                if line.sizes[depth, 1] == size - 1:
                    value = 0.0
                    for i in range(size):
                        value += line.policy[depth, i] * line.worth[depth, i]
                    for i in range(size):
                        regret[line.edges[depth, i]] += line.worth[depth, i] - value
                    has_value = True
                    depth -= 1
                    continue
            if actor == seat:
                chosen = line.sizes[depth, 1] + 1
            else:
                draw, chosen = draw_unit(line), 0
                for i in range(size):
                    average[line.edges[depth, i]] += line.policy[depth, i]
                while chosen < size - 1 and draw >= line.policy[depth, chosen]:
                    draw -= line.policy[depth, chosen]
                    chosen += 1
            line.sizes[depth, 1] = chosen
            child = line.children[depth, chosen]
            if child < 0:
                value, has_value = pay_at(tree, line, depth, -1 - child, seat), True
                if actor != seat:
                    depth -= 1
                    continue
                # The value of the traverser's own action is taken at its own node.
                continue
            line.node[depth + 1] = child
            for other in range(P):
                line.slots[depth + 1, other] = slot_below(tree, child, other, line.slots[depth, other])
            depth += 1
            open_node(tree, line, depth, regret)
        total += value
    return total


Algorithm = Literal["cfr", "cfr+", "dcfr", "mccfr", "mmd"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)

ALPHA, BETA, GAMMA = 1.5, 0.0, 2.0  # of dcfr
TRAVERSALS: Final = 1_000  # of each seat in an iteration of mccfr
VERSION: Final = 1  # of checkpoints


@dataclass(frozen=True)
class Steps:
    """The steps of `mmd`: at iteration t both numbers are divided by the root of t.

    Attributes:
        magnet: the weight of the uniform magnet.
        rate: the learning rate.
    """

    magnet: float = 0.2
    rate: float = 2.0


class Solver:
    """Solves a game, iteration by iteration; it can be stored and resumed at any of them.

    Args:
        tree: the tree.
        algorithm: its name.
        seed: of `mccfr`.
        steps: of `mmd`.

    Attributes:
        iteration: iterations done.
        now: float64 (E,), the present policy.

    Raises:
        ValueError: an unknown algorithm.
    """

    def __init__(
        self, tree: PublicTree, algorithm: Algorithm = "cfr+", *, seed: int = 0, steps: Steps | None = None
    ) -> None:
        check_word("algorithm", algorithm, ALGORITHMS)
        self.tree, self.algorithm, self.seed = tree, algorithm, seed
        self.steps = steps or Steps()
        self.iteration = 0
        self.now = uniform(tree)
        self._regret = np.zeros(tree.num_edges)
        self._average = np.zeros(tree.num_edges if algorithm != "mmd" else 0)
        self._reach, self._values, self._sums = np.empty((3, tree.num_slots))
        self._earned = np.empty(tree.num_edges - tree.num_inner)
        if algorithm == "mccfr":
            self._line = new_line(tree)
            self._roots = self._draws_of_roots()

    def _draws_of_roots(self) -> Roots:
        tree = self.tree
        passes.reach_down(tree.arrays, self.now, self._reach, -1)
        passes.mass_up(tree.arrays, self.now, self._reach, 0, self._values)
        starts = tree.arrays.slot_start[: int(tree.arrays.sizes[1]) * tree.num_players + 1]
        first, end = starts[: -1 : tree.num_players], starts[1 :: tree.num_players]
        mass = np.array([self._values[i:j].sum() for i, j in zip(first, end, strict=True)])
        return Roots(np.cumsum(mass) / tree.num_deals, tree.root_group)

    def step(self) -> None:
        """One iteration: one update of every seat, in turn."""
        self.iteration += 1
        t, tree = self.iteration, self.tree.arrays
        for seat in range(self.tree.num_players):
            if self.algorithm == "mmd":
                steps = np.array([self.steps.magnet, self.steps.rate]) / np.sqrt(t)
                passes.mirror_pass(
                    tree, self.now, self._reach, seat, self._values, self._sums, self._regret, steps
                )
            elif self.algorithm == "mccfr":
                # Of (seed, iteration, seat), so that a resumed run equals an uninterrupted one; not 0.
                self._line.stream[0] = np.random.default_rng([self.seed, t, seat]).integers(1, 2**63)
                sample_passes(
                    tree,
                    self.tree.deals,
                    self._roots,
                    seat,
                    TRAVERSALS,
                    self._line,
                    self._regret,
                    self._average,
                )
            else:
                scratch = self._values, self._sums, self._earned
                passes.regret_pass(tree, self.now, self._reach, seat, *scratch, self._constants(t))

    def _constants(self, t: int) -> Regrets:
        kept = self._regret, self._average
        if self.algorithm == "cfr+":
            return Regrets(*kept, positive=1.0, negative=1.0, floor=0.0, forget=1.0, weight=float(t))
        if self.algorithm == "dcfr":
            before = t - 1.0
            return Regrets(
                *kept,
                positive=before**ALPHA / (before**ALPHA + 1),
                negative=before**BETA / (before**BETA + 1),
                floor=-np.inf,
                forget=(before / t) ** GAMMA,
                weight=1.0,
            )
        return Regrets(*kept, positive=1.0, negative=1.0, floor=-np.inf, forget=1.0, weight=1.0)

    def policy(self) -> FloatArray:
        """float64 (E,): the policy that the algorithm returns: its average, or that of `mmd` as it is."""
        if self.algorithm == "mmd":
            return self.now.copy()
        return normalised(self.tree, self._average)

    # ------------------------------------------------------------ checkpoints

    def _facts(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "game": self.tree.game.rules.digest(),
            "algorithm": self.algorithm,
            "seed": self.seed,
            "magnet": self.steps.magnet,
            "rate": self.steps.rate,
            "edges": self.tree.num_edges,
        }

    def save(self, path: Path) -> None:
        """Write a checkpoint, atomically.

        Raises:
            OSError: the file cannot be written; the old one is unchanged.
        """
        kept: dict[str, Any] = {"iteration": self.iteration, **self._facts()}
        if self.algorithm == "mmd":
            kept["now"] = self.now
        else:
            kept |= {"regret": self._regret, "average": self._average}
        data = io.BytesIO()
        np.savez(data, **kept)
        write_atomic(path, data.getvalue())

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint, as if there had been no interruption.

        Raises:
            ValueError: a damaged file, or a checkpoint of another game, algorithm or setting.
            OSError: the file cannot be read.
        """
        found = read_arrays(path, "a checkpoint of the laboratory")
        wanted = ["now"] if self.algorithm == "mmd" else ["regret", "average"]
        with refusing(str(path)):
            for name, value in self._facts().items():
                if name not in found or found[name].item() != value:
                    other = found[name].item() if name in found else "nothing"
                    raise ValueError(f"it is of {name} {other!r}, expected {value!r}")
            for name in wanted:
                is_sound = name in found and found[name].dtype == np.float64
                if not is_sound or found[name].shape != (self.tree.num_edges,):
                    raise ValueError(f"expected {name!r} of {self.tree.num_edges} numbers")
                if not np.isfinite(found[name]).all():
                    raise ValueError(f"{name!r} is not finite")
            if type(iteration := found["iteration"].item()) is not int or iteration < 0:
                raise ValueError("expected the number of its iteration")
        if self.algorithm == "mmd":
            self.now = found["now"]
        else:
            self._regret, self._average = found["regret"], found["average"]
            self.now = normalised(self.tree, self._regret)
        self.iteration = iteration


def solve(
    tree: PublicTree,
    algorithm: Algorithm = "cfr+",
    *,
    iterations: int = 1_000,
    until: float = 0.0,
    every: int = 10,
    seed: int = 0,
    steps: Steps | None = None,
) -> Solver:
    """Run an algorithm for some iterations, or until NashConv is small enough.

    Args:
        tree: the tree.
        algorithm: its name.
        iterations: at most.
        until: NashConv that ends the run; with three and four players that may never come.
        every: iterations between two measurements of it.
        seed: of `mccfr`.
        steps: of `mmd`.

    Returns:
        The solver; `Solver.policy` has the result.
    """
    solver = Solver(tree, algorithm, seed=seed, steps=steps)
    while solver.iteration < iterations:
        solver.step()
        if until > 0 and solver.iteration % every == 0 and measure(tree, solver.policy()).nash_conv <= until:
            break
    return solver
