"""Algorithms that solve a small game: CFR and its kin, Monte Carlo CFR, magnetic mirror descent.

| name | what | source |
|---|---|---|
| `cfr` | counterfactual regret minimisation | Zinkevich et al. 2007 |
| `cfr+` | regrets are cut at 0, iteration t counts t in the average | Tammelin 2014 |
| `dcfr` | discounted regrets and average, α = 1.5, β = 0, γ = 2 | Brown and Sandholm 2019 |
| `mccfr` | external sampling | Lanctot et al. 2009 |
| `mmd` | magnetic mirror descent, a uniform magnet that weakens; the last policy | Sokota et al. 2023 |

Seats are updated one after the other. With two players the average of the first four goes to an equilibrium.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from tienlen_agents.exact import passes
from tienlen_agents.exact.passes import Regrets
from tienlen_agents.exact.policies import nash_conv, normalised, uniform
from tienlen_agents.exact.sampling import Roots, new_line, sample_passes
from tienlen_agents.exact.store import read_arrays
from tienlen_agents.exact.tree import Tree
from tienlen_agents.files import write_atomic
from tienlen_env.games.common.arrays import FloatArray

Algorithm = Literal["cfr", "cfr+", "dcfr", "mccfr", "mmd"]
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)

NO_FLOOR: Final = -np.inf
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
        self, tree: Tree, algorithm: Algorithm = "cfr+", *, seed: int = 0, steps: Steps | None = None
    ) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm={algorithm!r}: expected one of {', '.join(ALGORITHMS)}")
        self.tree, self.algorithm, self.seed = tree, algorithm, seed
        self.steps = steps or Steps()
        self.iteration = 0
        self.now = uniform(tree)
        self._regret = np.zeros(tree.num_edges)
        self._average = np.zeros(tree.num_edges if algorithm != "mmd" else 0)
        self._reach, self._values, self._sums = np.empty((3, tree.num_slots))
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
                keep = self._constants(t)
                passes.regret_pass(tree, self.now, self._reach, seat, self._values, self._sums, keep)

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
                floor=NO_FLOOR,
                forget=(before / t) ** GAMMA,
                weight=1.0,
            )
        return Regrets(*kept, positive=1.0, negative=1.0, floor=NO_FLOOR, forget=1.0, weight=1.0)

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
        for name, value in self._facts().items():
            if name not in found or found[name].item() != value:
                other = found[name].item() if name in found else "nothing"
                raise ValueError(f"{path}: it is of {name} {other!r}, expected {value!r}")
        wanted = ["now"] if self.algorithm == "mmd" else ["regret", "average"]
        for name in wanted:
            if found.get(name) is None or found[name].shape != (self.tree.num_edges,):
                raise ValueError(f"{path}: expected {name!r} of {self.tree.num_edges} numbers")
        if self.algorithm == "mmd":
            self.now = found["now"]
        else:
            self._regret, self._average = found["regret"], found["average"]
            self.now = normalised(self.tree, self._regret)
        self.iteration = int(found["iteration"])


def solve(
    tree: Tree,
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
        if until > 0 and solver.iteration % every == 0 and nash_conv(tree, solver.policy()) <= until:
            break
    return solver
