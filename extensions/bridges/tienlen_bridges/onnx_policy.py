"""The network of an agent as a graph of ONNX, for other programs.

The agent ``onnx`` plays such a graph in the arena.

    tienlen onnx policy:runs/x/policy.safetensors --rules cardgames --out policy.onnx
    tienlen match onnx:policy.onnx heuristic

The graph is the network of `tienlen_agents.networks.network`, fitted to one variant, without its belief
network. Its axes are n decisions and K slots for the legal actions of each; both are free.

| input | type | what |
|---|---|---|
| a piece of the observation, by its name | uint8 (n, size) | see `Batch.layout`; past plays as in training |
| ``play_summary`` | uint8 (n, R) | if the network reads it: `tienlen_agents.networks.features.tienlen` |
| ``derived`` | uint8 (n, E) | what the game's reader appends |
| ``action_mask`` | int8 (n, K) | 1 = there is an action in the slot |
| ``action_features`` | float32 (n, K, X) | of each action |
| ``prior`` | float32 (n, K) | what is added to the scores; 0 if the network has no prior |

The output ``log_probabilities`` is float32 (n, K), -inf where the mask is 0. `graph_inputs` makes all inputs
from decisions. The metadata ``format``, ``config`` and ``card`` are as in a policy's file; ``digest``, at the
end of the file, is the SHA-256 of all bytes before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np

import tienlen_agents
from tienlen_agents.command import program, shows_any_text
from tienlen_agents.files import read_json, refusing, write_atomic
from tienlen_agents.networks.agent import NetworkPlayer
from tienlen_agents.networks.features import Inputs
from tienlen_agents.networks.general import Objective, fitted_config
from tienlen_agents.networks.network import Network, NetworkConfig, config_of
from tienlen_agents.settings import Parser
from tienlen_env.extras import MissingExtraError, require
from tienlen_env.games.common.arrays import AnyArray, Float32Array
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of, get_rules

FORMAT: Final = "tienlen-onnx-1"
OPSET: Final = 17
IR_VERSION: Final = 8  # as old as the operators allow: older runtimes read it, too
OUTPUT: Final = "log_probabilities"
# The metadata "digest" as bytes of protobuf (field 14 of a model: its key and value, of 6 and 64 bytes); a
# parser joins them to the metadata before.
_DIGEST_KEY: Final = bytes([14 << 3 | 2, 74, 1 << 3 | 2, 6]) + b"digest" + bytes([2 << 3 | 2, 64])
_DIGEST_SIZE: Final = len(_DIGEST_KEY) + 64

Spans = dict[str, slice]
GraphSignature = dict[str, tuple[str, list[str | int]]]


def spans_of(config: NetworkConfig, rules: AnyRules) -> Spans:
    """Where the inputs of the state are in `Inputs.observation`, by their names in a graph."""
    layout = game_of(rules).observation(rules, config.history)
    found = {name: slice(piece.slice.start, piece.slice.stop) for name, piece in layout.items()}
    ends = {"play_summary": config.observation_size, "derived": config.state_inputs}
    start = layout.size
    for name, end in ends.items():
        if end > start:
            found[name] = slice(start, end)
        start = end
    return found


def _signature(config: NetworkConfig, spans: Spans) -> GraphSignature:
    """The types and shapes of a graph's inputs, by name."""
    return {name: ("uint8", ["n", span.stop - span.start]) for name, span in spans.items()} | {
        "action_mask": ("int8", ["n", "K"]),
        "action_features": ("float", ["n", "K", config.action_inputs]),
        "prior": ("float", ["n", "K"]),
    }


def _slots(inputs: Inputs) -> tuple[AnyArray, AnyArray]:
    """The decision and the slot of each action, int64 (N,)."""
    decision = inputs.segment_ids
    return decision, np.arange(len(decision)) - inputs.segment_start[decision]


def graph_inputs(inputs: Inputs, spans: Spans) -> dict[str, AnyArray]:
    """The inputs of a graph, by name.

    Args:
        inputs: n decisions, by the reader of the network: ``config.reader().read(view)``.
        spans: see `spans_of`.
    """
    at, shape = _slots(inputs), (len(inputs.num_legal), int(inputs.num_legal.max(initial=1)))
    mask, prior = np.zeros(shape, np.int8), np.zeros(shape, np.float32)
    features = np.zeros((*shape, inputs.action_features.shape[1]), np.float32)
    mask[at], prior[at] = 1, inputs.prior
    features[at] = (inputs.action_features.astype(np.uint32) << 16).view(np.float32)  # of bfloat16
    state = {name: np.ascontiguousarray(inputs.observation[:, span]) for name, span in spans.items()}
    return state | {"action_mask": mask, "action_features": features, "prior": prior}


# ---------------------------------------------------------------- out


def to_onnx(agent: NetworkPlayer, rules: AnyRules, objective: Objective = "payments") -> bytes:
    """A network as the content of a file of ONNX; the same network gives the same bytes.

    Args:
        agent: one of networks, such as ``policy:FILE`` or ``champion:worlds=0``.
        rules: the variant.
        objective: what a general network plays for, if the agent does not say.

    Raises:
        MissingExtraError: the package onnx is not installed.
        ValueError: the agent does not play these rules.
    """
    require("onnx", "onnx", "a file of ONNX")
    from onnx import TensorProto, helper, numpy_helper

    network = agent.network_for(rules, objective)
    config = replace(network.config, belief_width=0)
    spans = spans_of(config, rules)
    constants = {
        name: array.T if array.ndim > 1 else array
        for name, array in network.tensors.items()
        if not name.startswith("belief.")
    }
    constants |= {"slots": np.array([1]), "last": np.array([2]), "never": np.array(-np.inf, np.float32)}
    nodes: list[Any] = []

    def node(kind: str, *inputs: str, out: str = "", **attributes: int) -> str:
        name = out or f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(layer: str, rows: str) -> str:
        return node("Add", node("MatMul", rows, f"{layer}.weight"), f"{layer}.bias")

    state = node("Concat", *(node("Cast", name, to=TensorProto.FLOAT) for name in spans), axis=1)
    for layer in ("trunk.0", "trunk.2"):
        state = node("Relu", linear(layer, state))
    own_state = node("Unsqueeze", linear("state", state), "slots")
    met = node("Relu", node("Add", own_state, node("MatMul", "action_features", "after.weight")))
    met = node("Add", met, node("Relu", linear("block", met)))
    score = linear("score", node("Relu", linear("hidden", met)))
    score = node("Add", node("Squeeze", score, "last"), "prior")
    score = node("Where", node("Cast", "action_mask", to=TensorProto.BOOL), score, "never")
    node("LogSoftmax", score, out=OUTPUT, axis=1)

    def value(name: str, kind: str, shape: list[str | int]) -> Any:
        return helper.make_tensor_value_info(name, getattr(TensorProto, kind.upper()), shape)

    graph = helper.make_graph(
        nodes,
        "policy",
        [value(name, *of_input) for name, of_input in _signature(config, spans).items()],
        [value(OUTPUT, "float", ["n", "K"])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    card = {**getattr(agent, "card", {}), "exported_from": agent.name}
    helper.set_model_props(
        model, {"format": FORMAT, "config": json.dumps(asdict(config)), "card": json.dumps(card)}
    )
    return with_digest(model.SerializeToString(deterministic=True))


def with_digest(body: bytes) -> bytes:
    """The content of a file, with its digest at the end."""
    return body + _DIGEST_KEY + hashlib.sha256(body).hexdigest().encode()


# ---------------------------------------------------------------- back


class OnnxNetwork(Network):
    """A network that ONNX Runtime computes, on one thread; it has no weights of its own.

    Args:
        config: its shape.
        data: the content of the file.
        spans: see `spans_of`.
    """

    def __init__(self, config: NetworkConfig, data: bytes, spans: Spans) -> None:
        self.config, self.tensors, self.data, self.spans = config, {}, data, spans

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    @cached_property
    def _session(self) -> Any:
        return _session_of(self.data)

    def logits(self, inputs: Inputs) -> Float32Array:
        """The log-probabilities of the legal actions, float32 (N,); see `Network.logits`."""
        (found,) = self._session.run([OUTPUT], graph_inputs(inputs, self.spans))
        logits: Float32Array = found[_slots(inputs)]
        if not np.isfinite(logits).all():
            raise ValueError("the graph's log-probabilities are not finite: its weights are too large")
        return logits


def _session_of(data: bytes) -> Any:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the arena has a process a core
    options.log_severity_level = 4  # errors are raised, not printed
    # Its fallback prints, and tries the same once more.
    return InferenceSession(data, options, providers=["CPUExecutionProvider"], enable_fallback=0)


class OnnxAgent(NetworkPlayer):
    """Plays a file of `to_onnx` by ONNX Runtime: ``onnx:policy.onnx``.

    Args:
        path: the file.
        sample: draw actions from the policy instead of taking the most probable one.

    Raises:
        MissingExtraError: the package onnxruntime is not installed.
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or not one of `to_onnx`.
    """

    def __init__(self, path: str, *, sample: bool = False) -> None:
        super().__init__(f"onnx:{tienlen_agents.quoted(path, in_list=False)}", sample=sample)
        require("onnxruntime", "onnx", f"agent {self.name!r}")
        if not Path(path).is_file():
            raise FileNotFoundError(f"agent {self.name!r}: there is no such file")
        self._data = Path(path).read_bytes()
        if with_digest(self._data[:-_DIGEST_SIZE]) != self._data:
            raise ValueError(f"agent {self.name!r}: the file is damaged, or not one of `tienlen onnx`")
        with refusing(f"agent {self.name!r}: not a policy"):
            session = _session_of(self._data)
            metadata = session.get_modelmeta().custom_metadata_map
            if metadata.get("format") != FORMAT:
                raise ValueError(f"expected the format {FORMAT}")
            self._config = config_of(read_json(metadata["config"]))
            self._config.check()
            self._config.reader()
        self._signature = {
            put.name: (put.type.removeprefix("tensor(").rstrip(")"), put.shape)
            for put in session.get_inputs()
        }
        self.plays, self.history = self._config.game, max(self._config.history, self._config.reader().history)

    def source_for(self, rules: AnyRules) -> Network:
        """The network.

        Raises:
            ValueError: it was made for other rules, or its inputs are not those of this version.
        """
        try:
            fitted_config(self._config, rules)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        spans = spans_of(self._config, rules)
        wanted = _signature(self._config, spans)
        if different := [
            name
            for name in sorted(wanted.keys() | self._signature.keys())
            if wanted.get(name) != self._signature.get(name)
        ]:
            raise ValueError(f"{self.name}: inputs that do not fit the rules: {', '.join(different)}")
        return OnnxNetwork(self._config, self._data, spans)


# ---------------------------------------------------------------- the command


@shows_any_text
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = Parser(
        prog=program("tienlen_bridges.onnx_policy"),
        description="Write the network of an agent as a graph of ONNX, which other programs run.",
    )
    parser.add_argument("agent", help="an agent of networks: policy:FILE, champion:worlds=0, reference")
    parser.add_argument("--rules", default="cardgames", help="the variant (%(default)s)")
    parser.add_argument("--players", type=int, help="default: as in the rules")
    parser.add_argument(
        "--objective",
        choices=get_args(Objective),
        default="payments",
        help="of a network of every variant; payments only where the rules have them (%(default)s)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        agent = tienlen_agents.load(options.agent)
        if not isinstance(agent, NetworkPlayer) or isinstance(agent, OnnxAgent):
            raise ValueError(f"agent {agent.name!r}: expected one of networks, such as policy:FILE")
        data = to_onnx(agent, get_rules(options.rules, options.players), options.objective)
        write_atomic(options.out, data)
    except (ValueError, OSError, MissingExtraError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
