"""The interfaces of agents.

Agents decide for many games at once: a `View` holds n waiting decisions, and `Agent.act` returns n action
ids. A `View` has only the information of the player to move, so an agent cannot see other hands.

Three extensions are optional: a `CardAgent` chooses the exact cards of its plays; a `FallibleAgent` (another
program) may fail to answer and reports it; a `ScoringAgent` gives the probability of each action, so that a
search can use it as its prior. `choose_cards` gets the cards of any agent's plays.

An agent that uses past plays has an attribute ``history``, the number of plays and passes that it
reads (`View.last_plays`); `history_of` returns how many a batch must store. If the batch stores fewer plays,
only those are available.

`tienlen_env` has no agents of its own besides `RandomAgent`, and does not import a package that has. Such a
package has a function that makes an agent from a text such as ``"search:worlds=64"``, and an entry point in
its metadata (to add agents, not a loader, use the entry-point group ``tienlen.agents``, see
`tienlen_agents`):

    [project.entry-points."tienlen.agent_loaders"]
    tienlen_agents = "tienlen_agents:load"
"""

from __future__ import annotations

import reprlib
import signal
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from types import TracebackType
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tienlen_env.engine.batch import Batch
from tienlen_env.engine.checks import as_integers
from tienlen_env.engine.view import View as View
from tienlen_env.errors import TienLenError, WrongGameError
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import MAX_HISTORY

_INT64: Final = np.dtype(np.int64)
LOADERS: Final = "tienlen.agent_loaders"  # the group of entry points


@runtime_checkable
class Agent(Protocol):
    """A player of many games at once.

    An agent for a single game has an attribute ``plays``, the name of that game.

    Attributes:
        name: its name in result tables and plots.
    """

    name: str

    def reset(self, seed: int) -> None:
        """Reset all state, and draw all random numbers from this seed."""

    def act(self, view: View) -> IntArray:
        """Choose an action for each of n waiting decisions.

        Args:
            view: the decisions.

        Returns:
            int64 (n,), legal action ids.
        """


@runtime_checkable
class CardAgent(Agent, Protocol):
    """An agent that chooses its cards one by one, which the action table cannot express (RULES.md 7.2)."""

    def act_cards(self, view: View) -> tuple[IntArray, IntArray]:
        """Choose a play for each of n waiting decisions.

        Args:
            view: the decisions.

        Returns:
            int64 (n,), legal action ids; and int64 (n,), the masks of their cards.
        """


class Forfeit(NamedTuple):
    """A round that an agent forfeited: it failed to give a valid answer.

    Attributes:
        game: index of the game in its batch.
        seat: absolute.
        reason: a few words, the same for all failures of a kind.
        detail: details of this failure.
    """

    game: int
    seat: int
    reason: str
    detail: str


@runtime_checkable
class FallibleAgent(Agent, Protocol):
    """An agent that may fail to answer, and then plays the round out by a simple rule."""

    def take_forfeits(self) -> list[Forfeit]:
        """The rounds that it has forfeited since this was last called."""


@runtime_checkable
class ParticularAgent(Agent, Protocol):
    """An agent that plays some variants only, such as a policy network."""

    def check_rules(self, rules: AnyRules) -> None:
        """Refuse rules that it does not play.

        Raises:
            ValueError: it names the agent and the rules.
        """


def check_plays(agents: Iterable[Agent], batch: Batch) -> None:
    """Refuse agents that do not play this game, by their attribute ``plays``, or these rules.

    Raises:
        WrongGameError: another game; it names the agent.
        ValueError: other rules (see `ParticularAgent`), or a ``history`` that no batch stores.
    """
    for agent in agents:
        history = getattr(agent, "history", 0)
        if not isinstance(history, int | np.integer) or not 0 <= history <= MAX_HISTORY:
            raise ValueError(
                f"agent {agent.name!r}: history={history!r:.40}: expected 0..{MAX_HISTORY} plays"
            )
        game = getattr(agent, "plays", batch.game.name)
        if game != batch.game.name:
            raise WrongGameError(f"agent {agent.name!r} plays {game}, not {batch.game.name}")
        if isinstance(agent, ParticularAgent):
            with AgentCode(agent.name):
                agent.check_rules(batch.rules)


@runtime_checkable
class ScoringAgent(Agent, Protocol):
    """An agent with a probability for each action, such as a policy network."""

    def log_probabilities(self, view: View) -> npt.NDArray[np.float32]:
        """The log-probability of each action.

        Args:
            view: the decisions.

        Returns:
            float32 (N,), natural logarithms, one for each of `View.legal_actions`, in their order; the
            probabilities of a decision add up to 1.
        """


def history_of(agents: Iterable[Agent]) -> int:
    """The number of plays that a batch must store for these agents: their largest ``history``."""
    return max([0, *(int(getattr(agent, "history", 0)) for agent in agents)])


class AgentError(TienLenError):
    """An agent's own code has tried to end the program: it called `sys.exit`, or raised the like."""


class AnswerError(TienLenError):
    """An agent's answer is not one integer for each decision; the message names the agent."""


def choose(agent: Agent, view: View) -> IntArray:
    """An agent's actions for n decisions, int64 (n,): a copy, which it cannot change afterwards.

    Whether they are legal is checked where they are played.

    Raises:
        AnswerError: another shape or type; no answer is no pass.
        AgentError: the agent tried to end the program.
    """
    try:  # as `with AgentCode(...)`, in less time
        return _checked(agent, agent.act(view), len(view))
    except BaseException as error:
        AgentCode(agent.name).__exit__(type(error), error, None)
        raise


def choose_cards(agent: Agent, view: View) -> tuple[IntArray, IntArray]:
    """An agent's plays with their cards, int64 (n,) each; see `CardAgent.act_cards` and `choose`."""
    if not isinstance(agent, CardAgent):
        actions = choose(agent, view)
        return actions, view.cards_of(actions)
    with AgentCode(agent.name):
        answer: object = agent.act_cards(view)
        if not isinstance(answer, Sequence) or len(answer) != 2:
            raise AnswerError(f"agent {agent.name!r}: expected actions and cards, got {reprlib.repr(answer)}")
        actions, cards = (_checked(agent, part, len(view)) for part in answer)
    return actions, cards


def _checked(agent: Agent, answer: object, length: int) -> IntArray:
    """The one check of an agent's answer; see `choose`."""
    try:
        found = np.array(answer, order="C")
        is_ready = found.dtype == _INT64 and found.shape == (length,)
        return found if is_ready else as_integers(found, f"agent {agent.name!r}", length)
    except (TypeError, ValueError) as error:
        raise AnswerError(str(error)) from error


class AgentCode:
    """``with AgentCode(agent.name): ...``: what an agent's own code raises to end the program is its fault.

    `SystemExit` and other exceptions that are not an `Exception` become an `AgentError`, which names the
    agent; a caller would end with exit code 0 and without results. A person's Ctrl-C passes.

    Args:
        name: of the agent.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise an `AgentError` in place of what ends the program."""
        if error is None or isinstance(error, Exception) or _is_by_a_person(error):
            return
        raise AgentError(f"agent {self._name!r} tried to end the program: {error!r}") from error


def _is_by_a_person(error: BaseException) -> bool:
    """Whether Ctrl-C, or a handler of it, may have raised an error."""
    if type(error) is KeyboardInterrupt:  # of a subclass if a command has a handler of its own
        return signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return isinstance(error, KeyboardInterrupt)


class RandomAgent:
    """Uniform over the legal actions, the pass included."""

    name = "random"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on."""
        self._rng = np.random.default_rng(seed)

    def act(self, view: View) -> IntArray:
        """Choose uniformly (see `Agent.act`)."""
        return view.sample(self._rng)


# ---------------------------------------------------------------- agents by name

Loader = Callable[[str], Agent]

_registered: list[Loader] = []


class NoAgentLoaderError(TienLenError):
    """No installed package makes agents from names."""


def register_loader(loader: Loader) -> None:
    """Use a loader in this process; it comes before those of installed packages.

    Args:
        loader: makes a new agent from a text; raises ValueError for a text that it cannot read.
    """
    if loader not in _registered:
        _registered.append(loader)


def load_agent(text: str) -> Agent:
    """Make a new agent from its name and options.

    Args:
        text: as the loader reads it: ``"heuristic"``, ``"search:worlds=64"``.

    Raises:
        NoAgentLoaderError: no package with agents is installed.
        ValueError: the loader does not know the name or an option.
    """
    loader = _registered[0] if _registered else _installed_loader()
    if loader is None:
        raise NoAgentLoaderError(
            f"agent {text!r}: no installed package loads agents by name (entry-point group {LOADERS!r}). "
            "Install the wheel of tienlen-env, which contains tienlen_agents (in a checkout: "
            "pip install -e .), or pass an Agent object"
        )
    return loader(text)


@lru_cache(maxsize=1)
def _installed_loader() -> Loader | None:
    """The loader of an installed package; the first by name if there are several."""
    found = sorted(entry_points(group=LOADERS), key=lambda entry: entry.name)
    if not found:
        return None
    loader: Loader = found[0].load()
    return loader
