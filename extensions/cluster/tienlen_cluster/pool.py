"""Pure functions as Ray tasks, and a connection to a cluster for the arena and for training.

    import tienlen_cluster
    from tienlen_agents import arena

    with tienlen_cluster.connect("auto", ["heuristic", "policy:runs/a/policy.safetensors"]) as executor:
        arena.match("heuristic", "policy:runs/a/policy.safetensors", executor=executor)

Only processes that have the expected code, versions and files run a task. Ray places the tasks, moves data,
and repeats a task whose node or process is lost. Since a function is pure, a repeated task gives the same
result.

The package ``ray`` is in the extra ``cluster``. It is imported when a program connects to a cluster.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, Final, Generic, NamedTuple, Self

from tienlen_agents.arena.store import file_digests
from tienlen_agents.arena.tasks import forget_agents
from tienlen_agents.command import code_digest, cpu_name, versions
from tienlen_agents.executors import Executor, ExecutorError, ItemT, ResultT
from tienlen_env.extras import require
from tienlen_env.rendering.view import plural
from tienlen_env.texts import printable

_SHOWN = 12  # characters of a digest in a message


class NodeRefusedError(ExecutorError):
    """No node of the cluster has the versions, the code and the files of the process that started the run."""


class NodeRefusal(NamedTuple):
    """A node's answer in place of a result.

    Attributes:
        node: its id in Ray.
        host: its name.
        reasons: what differs, one sentence part each.
    """

    node: str
    host: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"node {self.host} ({self.node[:8]}): {'; '.join(self.reasons)}"


@dataclass(frozen=True)
class Identity:
    """What determines results besides the job.

    Attributes:
        versions: of Python, the machine's kind and the packages, by name (`tienlen_agents.command`).
        code: digests of the sources, by package.
        files: SHA-256 of the files that agents' names mention, by path.
        processor: the processor's model. It is compared only for a warning: rules, rule-based and searching
            agents play the same on every model, networks may differ in the last bits.
    """

    versions: Mapping[str, str]
    code: Mapping[str, str]
    files: Mapping[str, str]
    processor: str

    @classmethod
    def here(cls, names: Sequence[str] = (), packages: Iterable[str] = ()) -> Self:
        """The identity of this process.

        Args:
            names: of agents, in `tienlen_agents.load`.
            packages: names of more packages whose sources determine results.
        """
        code = {"tienlen_agents": code_digest()} | {package: code_digest(package) for package in packages}
        return cls(versions(), code, file_digests(list(names)), cpu_name())

    def differences(self) -> tuple[str, ...]:
        """What is otherwise in this process; empty if it may play."""
        found = versions()
        reasons = [
            f"{name} {found.get(name, 'is not installed')}, expected {self.versions.get(name, 'none')}"
            for name in sorted({*found, *self.versions})
            if found.get(name) != self.versions.get(name)
        ]
        for name, digest in self.code.items():
            here = code_digest() if name == "tienlen_agents" else code_digest(name)
            if here != digest:
                reasons.append(f"the code of {name} has digest {here[:_SHOWN]}, expected {digest[:_SHOWN]}")
        for path, digest in self.files.items():
            here = _file_digest(path)
            if here != digest:
                where = f"has digest {here[:_SHOWN]}" if here else "is missing"
                reasons.append(f"the file {path} {where}, expected {digest[:_SHOWN]}")
        return tuple(reasons)

    @property
    def shipped(self) -> tuple[str, ...]:
        """The files that are sent to the nodes: relative paths below the current folder."""
        return tuple(path for path in self.files if is_shipped(path))


def is_shipped(path: str) -> bool:
    """Whether a file is sent to the nodes; others are expected at the same path on each of them."""
    pure = PurePath(path)
    return not pure.is_absolute() and ".." not in pure.parts


def _file_digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


RETRIES: Final = 20  # of a task whose node or process is lost
REPLACED_TRIALS: Final = 50  # each 0.2 s
NODE_ID: Final = "ray.io/node-id"  # a label that Ray gives to every node


class Answer(NamedTuple, Generic[ResultT]):
    """The answer of a process that ran a task.

    Attributes:
        result: of the function.
        node: id of the process's node in Ray.
        processor: the node's processor, see `Identity`.
        seconds: time that the function took.
    """

    result: ResultT
    node: str
    processor: str
    seconds: float


_accepted: Identity | None = None  # of this worker process


def run_here(
    function: Callable[..., ResultT], item: object, expected: Identity, *shared: object
) -> Answer[ResultT] | NodeRefusal:
    """In a worker process: call a function if this process has the expected identity."""
    global _accepted
    import ray

    node = ray.get_runtime_context().get_node_id()
    _return_to_files(expected.shipped)
    if _accepted != expected:
        if reasons := expected.differences():
            return NodeRefusal(node, socket.gethostname(), reasons)
        # Agents of an earlier run may have come from other bytes of the same files.
        forget_agents()
        _accepted = expected
    begin = time.perf_counter()
    result = function(item, *shared)
    return Answer(result, node, cpu_name(), time.perf_counter() - begin)


def _return_to_files(files: Sequence[str]) -> None:
    """Go again to the folder with Ray's files, if it was replaced.

    Several nodes on one machine share that folder. One that joins writes it anew, and processes of the others
    are then in a folder that is deleted.
    """
    folder = os.environ.get("PWD")  # the shell that started this process went there
    for _ in range(REPLACED_TRIALS):
        if folder is None or all(Path(file).exists() for file in files):
            return
        with suppress(OSError):
            os.chdir(folder)
        if not all(Path(file).exists() for file in files):
            time.sleep(0.2)


class TaskPool:
    """Runs functions on the cluster that this process is connected to.

    A node whose versions, code or files differ is left out, with a warning on stderr.

    Args:
        identity: of this process, with the files of all agents.

    Attributes:
        refusals: the nodes that do not take part, by their ids.
        tasks_of: the number of tasks that each node has finished, by its id.
        seconds_of: the time that each node spent in functions, by its id.
    """

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.refusals: dict[str, NodeRefusal] = {}
        self.tasks_of: Counter[str] = Counter()
        self.seconds_of: dict[str, float] = {}
        self._processors = {identity.processor}
        self._remote: Any = None
        self._identity_reference: Any = None
        self._num_wanted = 0
        self._counted = -math.inf

    def submit(self, function: Callable[..., Any], item: object, *shared: object) -> Any:
        """Start a task; its reference in Ray, for `result`.

        Args:
            function: a module's function; its result depends on its arguments alone.
            item: its first argument.
            shared: its other arguments, or references to them from `ray.put`.
        """
        import ray

        if self._remote is None:  # once: every remote function is sent to the cluster
            self._remote = ray.remote(run_here)
            self._identity_reference = ray.put(self.identity)
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": RETRIES}
        if self.refusals:
            options["label_selector"] = {NODE_ID: f"!in({','.join(sorted(self.refusals))})"}
        return self._remote.options(**options).remote(function, item, self._identity_reference, *shared)

    def result(self, reference: Any) -> Answer[Any] | None:
        """The answer of a finished task; None if its node refused, which then gets no more tasks.

        Raises:
            NodeRefusedError: no node is left.
            ExecutorError: the cluster lost the task too often.
            Exception: what the function raised.
        """
        import ray
        from ray.exceptions import RayError, RayTaskError

        try:
            answer: Answer[Any] | NodeRefusal = ray.get(reference)
        except RayTaskError as error:
            raise error.cause from error
        except RayError as error:
            raise ExecutorError(
                f"the cluster lost a job {RETRIES} times ({type(error).__name__}); "
                "the same command resumes a run with an output folder"
            ) from error
        if isinstance(answer, NodeRefusal):
            self._leave_out(answer)
            return None
        self.tasks_of[answer.node] += 1
        self.seconds_of[answer.node] = self.seconds_of.get(answer.node, 0.0) + answer.seconds
        self._compare_processor(answer.processor)
        return answer

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """The results, in the order of the items.

        Raises:
            see `result`.
        """
        found = {number: result for number, _, result in self.unordered(function, items)}
        return [found[number] for number in range(len(items))]

    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[int, ItemT, ResultT]]:
        """Yield the number of each item, the item and its result, as they are finished.

        Few items are taken in advance.

        Raises:
            see `result`.
        """
        import ray

        numbered = enumerate(items)
        waiting: dict[Any, tuple[int, ItemT]] = {}
        try:
            while True:
                room = self._room() - len(waiting)
                for item in islice(numbered, max(room, 0)):
                    waiting[self.submit(function, item[1])] = item
                if not waiting:
                    break
                done, _ = ray.wait(list(waiting), num_returns=1, timeout=1.0)
                for reference in done:
                    item = waiting.pop(reference)
                    answer = self.result(reference)
                    if answer is None:
                        waiting[self.submit(function, item[1])] = item
                    else:
                        yield *item, answer.result
        finally:
            for reference in waiting:
                ray.cancel(reference, force=False)

    def summary(self) -> str:
        """One line: the jobs that each node has finished, and the time that it spent on them."""
        each = (
            f"{node[:8]} {count} in {self.seconds_of[node]:.0f} s"
            for node, count in sorted(self.tasks_of.items())
        )
        return f"jobs by node: {', '.join(each) or 'none'}"

    def _room(self) -> int:
        """The number of tasks to have at a time: two more than run, so that no processor waits."""
        import ray

        if time.monotonic() - self._counted > 1:
            self._num_wanted = int(ray.cluster_resources().get("CPU", 1)) + 2
            self._counted = time.monotonic()
        return self._num_wanted

    def _leave_out(self, refusal: NodeRefusal) -> None:
        import ray

        if refusal.node not in self.refusals:
            self.refusals[refusal.node] = refusal
            print(printable(f"left out, since its results could differ: {refusal}"), file=sys.stderr)
        able = {node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")}
        if able <= self.refusals.keys():
            reasons = "; ".join(str(self.refusals[node]) for node in sorted(able))
            raise NodeRefusedError(f"every node of the cluster refuses to play: {reasons}")

    def _compare_processor(self, processor: str) -> None:
        if processor not in self._processors:
            self._processors.add(processor)
            found = f"a node has another processor ({processor}, here {self.identity.processor}): "
            print(printable(found + "networks may play differently there in rare cases"), file=sys.stderr)


# ---------------------------------------------------------------- the arena and the connection

GROUP_SECONDS: Final = 0.5  # a task of Ray costs milliseconds, so it plays jobs for about this time
MOST_JOBS: Final = 64  # of one task of Ray


def run_group(function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> tuple[list[ResultT], float]:
    """In a worker process: the results of some items, and the seconds that they took."""
    begin = time.perf_counter()
    return [function(item) for item in items], time.perf_counter() - begin


class RayExecutor(Executor):
    """Runs functions on a cluster: tasks of the arena, rollouts of training, learners of a league.

    Args:
        pool: of the cluster; its identity has the files of all agents.
        at_once: the most rollouts at the same time; None for no limit.
        say: shows a line on the cluster every half a minute of training.
    """

    def __init__(
        self, pool: TaskPool, at_once: int | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.pool = pool
        self._at_once = at_once
        self._say = say or _to_stderr
        self._group_size = 1
        self._rollouts: Any = None  # `tienlen_cluster.training.Rollouts`, which needs torch

    def unordered(
        self, function: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Iterator[tuple[ItemT, ResultT]]:
        """Run a function as processors of the cluster become free (see `Executor.unordered`).

        Raises:
            NodeRefusedError: no node has the versions, the code and the files of this process.
            ExecutorError: the cluster lost a task too often.
            Exception: what the function raises.
        """
        remaining = iter(items)
        groups = iter(lambda: tuple(islice(remaining, self._group_size)), ())
        for _, group, (results, seconds) in self.pool.unordered(partial(run_group, function), groups):
            self._group_size = min(max(int(GROUP_SECONDS * len(group) / seconds), 1), MOST_JOBS)
            yield from zip(group, results, strict=True)

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> list[ResultT]:
        """See `Executor.map`; a task for each item."""
        return self.pool.map(function, items)

    def start(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Callable[[], list[ResultT]]:
        """See `Executor.start`; rollouts are sent in few bytes."""
        from tienlen_cluster.training import Rollouts
        from tienlen_train.rollout import rollout

        called: Callable[..., Any] = function
        if called is not rollout:
            return super().start(function, items)
        if self._rollouts is None:
            self._rollouts = Rollouts(self.pool, self._at_once, self._say)
        results: Callable[[], list[ResultT]] = self._rollouts.start(items)
        return results

    def poll(self) -> None:
        """See `Executor.poll`."""
        if self._rollouts is not None:
            self._rollouts.advance(0.0)

    def metrics(self, staleness: int) -> dict[str, float]:
        """See `Executor.metrics`."""
        return {} if self._rollouts is None else self._rollouts.metrics(staleness)

    def cancel(self) -> None:
        """Give up what no caller waits for any more."""
        if self._rollouts is not None:
            self._rollouts.cancel()


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr)


ANSWER_SECONDS: Final = 10.0  # to wait for a connection
# One thread for each task: Ray gives a task one processor.
_ENVIRONMENT: Final = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


class ClusterError(ExecutorError):
    """A cluster that cannot be reached or used."""


@contextmanager
def connected(
    address: str, agents: Sequence[str], packages: Iterable[str] = ()
) -> Iterator[tuple[TaskPool, str]]:
    """Connect this process to a Ray cluster.

    Args:
        address: ``"auto"``: the cluster that this machine is a node of (or that RAY_ADDRESS names);
            ``"local"``: a new one on this machine, which ends with the connection; else ``HOST:PORT`` of the
            head node, or ``ray://HOST:PORT`` from a machine that is not a node.
        agents: see `connect`.
        packages: see `Identity.here`.

    Yields:
        What runs functions there, and one line that describes the cluster, with the address of its dashboard.

    Raises:
        ClusterError: there is no cluster at the address.
        MissingExtraError: ray is not installed (the extra ``cluster``).
    """
    identity = Identity.here(agents, packages)
    require("ray", "cluster", "the executor ray")
    with ExitStack() as stack:
        # A run reports no usage to Ray's authors unless the user has chosen so.
        for name, value in (("RAY_TRAIN_V2_ENABLED", "1"), ("RAY_USAGE_STATS_ENABLED", "0")):
            if name not in os.environ:
                os.environ[name] = value
                stack.callback(os.environ.pop, name, None)
        import ray

        if ray.is_initialized():
            raise ClusterError(
                "this process is connected to a Ray cluster already: end that connection first"
            )
        _check_answers(address)
        environment: dict[str, Any] = {"env_vars": _ENVIRONMENT}
        if identity.shipped:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tienlen-")))
            for name in identity.shipped:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, folder / name)
            environment["working_dir"] = str(folder)
        try:
            context = ray.init(
                address=address,
                runtime_env=environment,
                log_to_driver=False,
                logging_level="ERROR",
                include_dashboard=None,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_answer(address, error) from error
        stack.callback(ray.shutdown)
        alive = [node for node in ray.nodes() if node["Alive"]]
        cpus = sum(node["Resources"].get("CPU", 0) for node in alive)
        text = f"cluster: {plural(len(alive), 'node')}, {plural(int(cpus), 'processor')}"
        if context.dashboard_url:
            text += f", dashboard http://{context.dashboard_url}"
        yield TaskPool(identity), text


def _check_answers(address: str) -> None:
    """Refuse an address where nothing listens; Ray would wait for minutes.

    Raises:
        ClusterError: nothing listens there, or it is not an address.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address in ("auto", "local"):
        return
    if not colon or not host or not port.isdecimal():
        raise ClusterError(f"executor ray:{address}: expected ray:auto, ray:local or ray:HOST:PORT")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        raise _no_answer(address, error) from error


def _no_answer(address: str, error: Exception) -> ClusterError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return ClusterError(
        f"executor ray:{address}: no Ray cluster answers ({reason}). "
        "Start one with 'ray start --head', or use ray:local"
    )


@contextmanager
def connect(
    address: str = "auto",
    agents: Sequence[str] = (),
    *,
    packages: Iterable[str] = ("tienlen_train",),
    say: Callable[[str], None] = _to_stderr,
    at_once: int | None = None,
) -> Iterator[RayExecutor]:
    """Connect to a Ray cluster; yields an executor (`tienlen_agents.executors.Opener`).

    Args:
        address: see `connected`; empty for ``"auto"``.
        agents: the names of all agents that will play. Files that they mention are sent to the nodes if their
            paths are relative, and are expected at the same path on every node if they are absolute.
        packages: see `Identity.here`.
        say: shows a line.
        at_once: see `RayExecutor`.

    Raises:
        ClusterError, MissingExtraError: see `connected`.
    """
    with connected(address or "auto", agents, packages) as (pool, text):
        say(text)
        executor = RayExecutor(pool, at_once, say)
        try:
            yield executor
        finally:
            executor.cancel()
        say(pool.summary())
