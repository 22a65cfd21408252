"""Sequential halving (Karnin, Koren, Somekh 2013) over the actions of one decision, in compiled code.

All candidates are evaluated in the same worlds. After each step the better half stays, and of it those whose
mean value is not `Z_ELIMINATE` standard errors of the paired differences below the best. These are the errors
of independent worlds. The worlds of a chain resemble one another, so the true errors are up to 2.5 times as
large: `Z_ELIMINATE` was tuned for how well the search plays, and it is no test. What a user is shown comes
from `tienlen_agents.search.estimates`.
"""

from __future__ import annotations

import math
from typing import Final

from tienlen_agents.search.interface import Decision, Options, Workspace
from tienlen_env.games.common.floats import exp, log

# Entries of `Workspace.sizes`.
NUM_CANDIDATES: Final = 0
NUM_WORLDS: Final = 1  # evaluated so far
DEFAULT: Final = 2  # index of the default action, -1 for none
IS_OPEN: Final = 3  # 1: there is more than one world

Z_ELIMINATE: Final = 3.0
MIN_SAMPLES: Final = 8  # worlds before a candidate is dropped by `Z_ELIMINATE`
PRIOR_POINTS: Final = 0.1  # bonus in points for each unit of a prior's log-probabilities
TIE_BONUS: Final = 1e-9  # of the default action
UNIFORM: Final = 0.02  # share of the uniform policy in a prior of exact values


def start(decision: Decision, options: Options, workspace: Workspace, default: int) -> int:
    """Make all actions candidates that the prior does not drop; their number."""
    num = 0
    for i in range(decision.actions.shape[0]):
        if not options.has_prior or decision.log_prior[i] >= options.floor or i == default:
            workspace.candidates[num] = i
            num += 1
    workspace.sizes[NUM_CANDIDATES] = num
    workspace.sizes[NUM_WORLDS] = 0
    workspace.sizes[DEFAULT] = default
    return num


def keep_all(decision: Decision, workspace: Workspace) -> int:
    """Make all actions candidates, whatever the prior says; their number."""
    num = decision.actions.shape[0]
    for i in range(num):
        workspace.candidates[i] = i
    workspace.sizes[NUM_CANDIDATES] = num
    return int(num)


def num_steps(num_candidates: int) -> int:
    """The number of halvings until one candidate is left."""
    steps = 0
    while 1 << steps < num_candidates:
        steps += 1
    return steps


def num_worlds_after(options: Options, scale: float, steps_left: int) -> int:
    """The number of worlds that compare the candidates with `steps_left` steps after this one."""
    return max(1, math.ceil(options.worlds * scale / (1 << steps_left)))


def bonus(decision: Decision, options: Options, workspace: Workspace, index: int) -> float:
    """The prior bonus of an action, in points. If there is one world only its values are exact: no bonus."""
    is_default = index == workspace.sizes[DEFAULT]
    points = TIE_BONUS if is_default else 0.0
    if workspace.sizes[IS_OPEN]:
        if options.has_prior:
            points += PRIOR_POINTS * options.prior_weight * decision.log_prior[index]
        elif is_default:
            points += options.prior_weight / math.sqrt(workspace.sizes[NUM_WORLDS])
    return points


def exact_bonus(decision: Decision, options: Options, workspace: Workspace, index: int) -> float:
    """The prior bonus of an action where values have no noise, in points.

    A prior that is sure of a wrong action is what can be exploited in a search; so a part of it is the
    uniform policy.
    """
    points = TIE_BONUS if index == workspace.sizes[DEFAULT] else 0.0
    if options.has_prior:
        chance = (1 - UNIFORM) * exp(decision.log_prior[index]) + UNIFORM / decision.actions.shape[0]
        points += PRIOR_POINTS * options.prior_weight * log(chance)
    return points


def is_worse(workspace: Workspace, best: int, other: int) -> bool:
    """Whether a candidate's mean value is far below the best one's, by the differences in each world."""
    num, num_worlds = workspace.sizes[NUM_CANDIDATES], workspace.sizes[NUM_WORLDS]
    total, squares = 0.0, 0.0
    for w in range(num_worlds):
        difference = workspace.values[w * num + best] - workspace.values[w * num + other]
        total += difference
        squares += difference * difference
    mean = total / num_worlds
    variance = max(squares / num_worlds - mean * mean, 0.0)
    return bool(mean > Z_ELIMINATE * math.sqrt(variance / num_worlds))


def num_after(step: int, num_steps: int, num_candidates: int) -> int:
    """How many candidates stay after a step at most: half of them, and one after the last step."""
    return 1 if step == num_steps - 1 else (num_candidates + 1) // 2


def eliminate(decision: Decision, options: Options, workspace: Workspace, limit: int) -> int:
    """End a step: keep the best candidates, `limit` at most.

    Returns:
        The number of candidates kept; they and their values are moved to the front of their arrays.
    """
    num, num_worlds = workspace.sizes[NUM_CANDIDATES], workspace.sizes[NUM_WORLDS]
    candidates, values = workspace.candidates, workspace.values
    scores, order = workspace.scores, workspace.order
    for k in range(num):
        total = 0.0
        for w in range(num_worlds):
            total += values[w * num + k]
        scores[k] = total / num_worlds + bonus(decision, options, workspace, candidates[k])
        at = k  # insertion sort, highest first; equals stay in their order
        while at > 0 and scores[order[at - 1]] < scores[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    kept = 0
    for at in range(num):
        k = order[at]
        is_kept = at == 0 or (
            kept < limit and (num_worlds < MIN_SAMPLES or not is_worse(workspace, order[0], k))
        )
        scores[k] = 1.0 if is_kept else 0.0
        kept += 1 if is_kept else 0
    end = 0
    for w in range(num_worlds):
        for k in range(num):
            if scores[k] > 0:
                values[end] = values[w * num + k]
                end += 1
    end = 0
    for k in range(num):
        if scores[k] > 0:
            candidates[end] = candidates[k]
            end += 1
    workspace.sizes[NUM_CANDIDATES] = kept
    return kept
