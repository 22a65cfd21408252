"""A network that scores the legal actions of a decision: its configuration, its weights and its file.

The network does not have one logit for every action of the action table. It scores each legal action (6.5 on
average, if there is a choice) from its features: the action itself (kind, length, top card), the hand that it
leaves, and the plays which that hand still needs. So the network is small, it generalises over actions, and
one architecture fits every preset, number of players and game (here in NumPy, to play; in training in torch):

    observation (O) ── trunk ── state (D) ─┐ repeated for each legal action
    action features (X)  ──────── after ─┴─ + ── ReLU ── block ── hidden ── score ( + prior )

`tienlen_agents.networks.features` makes the inputs. With ``prior="heuristic"`` the score is added to
`prior_scale` times the score of the action by the game's rule-based agent, relative to its best action (in
plays in climbing games, in points in trick-taking games); an untrained network then plays like that agent.

A network may have a *belief network* beside these layers. It reads the same observation, has two layers of
`belief_width` units, and has one output for each opponent and card. The exponentials of its outputs, after a
factor, are *card weights*: they say how likely each opponent holds each unseen card. A search samples deals
by them (`tienlen_agents.search`).

`tienlen_agents.networks` says where its forward pass is computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

from tienlen_agents.files import read_json, refusing
from tienlen_agents.networks import policy_file
from tienlen_agents.networks.features import Inputs, Prior, Reader, features_by_name, features_of
from tienlen_agents.networks.features.general import GeneralInputs
from tienlen_agents.networks.inference import (
    BELIEF_SOURCES,
    BELIEF_TILED,
    ROWS,
    SOURCES,
    TILED,
    BeliefWeights,
    Weights,
    believe,
    check_segments,
    forward,
    laid_out,
    log_probabilities,
    new_workspace,
)
from tienlen_agents.parallel import HOST, Machine
from tienlen_agents.settings import Range, setting, settings_of
from tienlen_env.games.common.arrays import ByteArray, Float32Array, IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.common.spec import MAX_HISTORY
from tienlen_env.games.registry import game_named, game_of, games, get_rules

CardWeights = npt.NDArray[np.float64]
FORMAT: Final = "tienlen-network-1"
STORED: Final = ("F32", "F16")  # types of weights in a file, by their names in safetensors
MAX_WIDTH: Final = 8192  # units of a layer
ANY_RULES: Final = "any"  # what the configuration of a general network has as the name of its rules

WIDTHS: Final = Range(0, 100_000)  # numbers of inputs


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The shape of a network, and the variant that it plays.

    Attributes:
        game: its name.
        rules: name of the preset; ``"any"`` of a general network (`tienlen_agents.networks.general`).
        rules_digest: of its `Rules`; the network refuses to play any other variant. Empty for ``"any"``.
        num_players: seats at the table; the most for ``"any"``.
        history: plays that the observation shows.
        pieces: the names of the observation's pieces that it reads, in order; empty for those that
            `Features.pieces` names. An observation may have more.
        record: whether the observation continues with the play summary
            (`tienlen_agents.networks.features.tienlen`).
        observation_size: O, or O + R with a play summary.
        num_derived: E, number of inputs that the game's reader appends to it.
        num_rule_inputs: K, number of inputs that describe the rules, after all others; 0 for one variant.
        action_inputs: X.
        state_width: units of the trunk's layers.
        action_width: D, units of the layer that joins state and action, and of the residual block after it;
            the hidden layer has half as many.
        belief_width: units of the layers of the belief network; 0: there is none.
        prior: name of the scores that are added to the network's.
        prior_scale: factor on the gap of an action to the best one, for ``prior="heuristic"``.
    """

    game: str
    rules: str
    rules_digest: str
    num_players: int = setting(MISSING, Range(1, 64))
    history: int = setting(0, Range(0, MAX_HISTORY))
    pieces: tuple[str, ...] = ()
    record: bool = False
    observation_size: int = setting(MISSING, Range(1, 100_000))
    num_derived: int = setting(52, WIDTHS)
    num_rule_inputs: int = setting(0, WIDTHS)
    action_inputs: int = setting(MISSING, Range(1, 100_000))
    state_width: int = setting(256, Range(1, MAX_WIDTH))
    action_width: int = setting(128, Range(2, MAX_WIDTH))
    belief_width: int = setting(0, Range(0, MAX_WIDTH))
    prior: Prior = "none"
    prior_scale: float = setting(4.0, Range(-1e9, 1e9))

    @classmethod
    def of(cls, rules: AnyRules, *, record: bool = False, history: int = 0, **settings: Any) -> Self:
        """The configuration of a network that reads all pieces that the observations of a variant have now.

        `record` has no effect in a game without a play summary.
        """
        features, layout = features_of(rules), game_of(rules).observation(rules, history)
        num_record = features.num_summary_bits(rules) if record else 0
        return cls(
            game=features.game,
            rules=rules.name,
            rules_digest=rules.digest(),
            num_players=rules.num_players,
            history=history,
            pieces=_unless_known(tuple(layout), features.pieces),
            record=num_record > 0,
            observation_size=layout.size + num_record,
            num_derived=features.num_derived(rules),
            action_inputs=features.num_action_features(rules),
            **settings,
        )

    @classmethod
    def of_general(
        cls,
        game: str,
        *,
        pieces: tuple[str, ...] | None = None,
        **settings: Any,
    ) -> Self:
        """The configuration of a network for every variant of a game.

        Args:
            game: its name.
            pieces: see `Features.general`.
            settings: the other fields.

        Raises:
            ValueError: the game has no general inputs, or its observations have no such piece.
        """
        general = general_inputs(game, pieces)
        # The number of derived inputs is the same in all variants.
        num_derived = features_by_name(game).num_derived(get_rules(next(iter(game_named(game).presets))))
        return cls(
            game=game,
            rules=ANY_RULES,
            rules_digest="",
            num_players=general.num_players,
            pieces=_unless_known(tuple(general.layout), features_by_name(game).pieces),
            record=True,
            observation_size=general.num_state_inputs - num_derived,
            num_derived=num_derived,
            num_rule_inputs=general.num_rule_inputs,
            action_inputs=general.num_action_inputs,
            **settings,
        )

    @property
    def is_general(self) -> bool:
        """Whether the network plays every variant of its game: the rules are inputs."""
        return self.num_rule_inputs > 0

    @property
    def design(self) -> dict[str, Any]:
        """The settings that do not follow from the variant: the widths of the layers and the prior."""
        names = ("state_width", "action_width", "belief_width", "prior", "prior_scale")
        return {name: getattr(self, name) for name in names}

    @property
    def state_inputs(self) -> int:
        """O + E, or O + R + E with a play summary; K more in a general network."""
        return self.observation_size + self.num_derived + self.num_rule_inputs

    @property
    def num_beliefs(self) -> int:
        """The number of outputs of the belief network: opponents x cards; 0 if there is none."""
        if not self.belief_width:
            return 0
        return (self.num_players - 1) * features_by_name(self.game).num_belief_cards

    def reader(self, machine: Machine = HOST) -> Reader:
        """The reader that makes the network's inputs on a machine.

        Raises:
            ValueError: a general network; one that is fitted to a variant has a reader.
        """
        if self.is_general:
            raise ValueError("a general network has no reader: fit it to a variant")
        features = features_by_name(self.game)
        return Reader(features, self.prior, self.prior_scale, record=self.record, machine=machine)

    def check(self) -> None:
        """Refuse invalid values; a configuration that was read from a file may contain anything.

        Raises:
            ValueError: a value of another type, or out of range.
        """
        for name, allowed in settings_of(type(self)).items():
            value = getattr(self, name)
            if name == "pieces":
                is_valid = isinstance(value, tuple) and all(isinstance(piece, str) for piece in value)
            else:
                is_valid = value in allowed and (name != "game" or value in [game.name for game in games()])
            if not is_valid:
                expected = f", expected {allowed.allowed}" if allowed.allowed else ""
                raise ValueError(f"{name}={_short(value)} is not a valid value{expected}")
        if self.belief_width and not features_by_name(self.game).num_belief_cards:
            raise ValueError(f"belief_width={self.belief_width}, expected 0: unavailable for {self.game}")
        if self.is_general and not self._is_known():
            raise ValueError(f"the inputs are not the general ones of {self.game} in this version")

    def _is_known(self) -> bool:
        """Whether a general network has the inputs that such networks have, or had."""
        today = self.of_general(self.game, pieces=self.pieces, **self.design)
        known = today.num_rule_inputs, *general_inputs(self.game, self.pieces).num_rule_inputs_before
        return any(self == replace(today, num_rule_inputs=num) for num in known)


def _unless_known(names: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """The names of pieces; empty if they are those of `Features.pieces` that the variant has."""
    return () if names == tuple(name for name in known if name in names) else names


def general_inputs(game: str, pieces: tuple[str, ...] | None = None) -> GeneralInputs:
    """The general inputs of a game, for networks that read these pieces; see `Features.general`.

    Raises:
        ValueError: it has none, or its observations have no such piece.
    """
    found = features_by_name(game).general
    if found is None:
        raise ValueError(f"one network for every variant: not available in {game}")
    return found(pieces)


def _short(value: object) -> str:
    """A value for an error message; one of a file may be of any length."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return "a number of more than 20 digits"  # Python may refuse to convert it
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def shapes_of(config: NetworkConfig) -> dict[str, tuple[int, ...]]:
    """The names of a network's weights, as in its file, and their shapes: (outputs, inputs) of each layer."""
    width, meet, belief = config.state_width, config.action_width, config.belief_width
    beliefs = {
        "belief.0.weight": (belief, config.state_inputs),
        "belief.0.bias": (belief,),
        "belief.2.weight": (belief, belief),
        "belief.2.bias": (belief,),
        "belief.4.weight": (config.num_beliefs, belief),
        "belief.4.bias": (config.num_beliefs,),
    }
    return {
        "trunk.0.weight": (width, config.state_inputs),
        "trunk.0.bias": (width,),
        "trunk.2.weight": (width, width),
        "trunk.2.bias": (width,),
        "state.weight": (meet, width),
        "state.bias": (meet,),
        "after.weight": (meet, config.action_inputs),
        "block.weight": (meet, meet),
        "block.bias": (meet,),
        "hidden.weight": (meet // 2, meet),
        "hidden.bias": (meet // 2,),
        "score.weight": (1, meet // 2),
        "score.bias": (1,),
        **(beliefs if belief else {}),
    }


def check_shapes(config: NetworkConfig, found: Mapping[str, Sequence[int]]) -> None:
    """Compare the shapes of weights with those of the configuration; nothing is allocated.

    Raises:
        ValueError: a weight is missing, unknown or of another shape.
    """
    wanted = shapes_of(config)
    if different := sorted(wanted.keys() ^ found.keys()):
        raise ValueError(f"missing or unknown weights: {', '.join(different)}")
    for name, shape in wanted.items():
        if tuple(found[name]) != shape:
            raise ValueError(f"{name} is {tuple(found[name])}, expected {shape}")


@dataclass(eq=False)
class Network:
    """A network for inference: its configuration and weights, which do not change.

    Attributes:
        config: the shape.
        tensors: float32, by the names of `shapes_of`.

    Raises:
        ValueError: the weights do not fit the configuration, or are not finite.
    """

    config: NetworkConfig
    tensors: dict[str, Float32Array]

    def __post_init__(self) -> None:
        check_shapes(self.config, {name: tensor.shape for name, tensor in self.tensors.items()})
        self.tensors = {k: np.ascontiguousarray(v, np.float32) for k, v in self.tensors.items()}
        for name, tensor in self.tensors.items():
            if not np.isfinite(tensor).all():
                raise ValueError(f"{name} has weights that are not finite")

    @cached_property
    def weights(self) -> Weights:
        """The weights as the compiled loops read them."""
        return Weights(**laid_out(self.tensors, SOURCES, TILED))

    @cached_property
    def belief_weights(self) -> BeliefWeights:
        """The weights of the belief network as the compiled loops read them; there must be one."""
        return BeliefWeights(**laid_out(self.tensors, BELIEF_SOURCES, BELIEF_TILED))

    def card_weights(self, observation: ByteArray) -> CardWeights:
        """How likely each opponent holds each card.

        Args:
            observation: uint8 (n, S), see `Inputs`.

        Returns:
            float64 (n, opponents, C): the weights of each card relative to one another and to that of an
            undealt card, which is 1; the opponent who plays next comes first. (n, 0, 0) without a belief
            network.

        Raises:
            ValueError: see `logits`.
        """
        config = self.config
        if not config.belief_width:
            return np.empty((len(observation), 0, 0))
        weights = self.belief_weights
        if (
            not isinstance(observation, np.ndarray)
            or observation.dtype != np.uint8
            or observation.shape[1:] != (config.state_inputs,)
        ):
            raise ValueError(f"observation: expected uint8 (n, {config.state_inputs})")
        outputs = np.empty((min(len(observation), ROWS), len(weights.cards_bias)), np.float32)
        found = np.empty((len(observation), config.num_beliefs))
        believe(observation, weights, new_workspace(weights, len(observation)), outputs, found)
        if not np.isfinite(found).all():
            raise ValueError("the network's card weights are not finite: its weights are too large")
        return found.reshape(len(observation), config.num_players - 1, -1)

    @property
    def num_weights(self) -> int:
        """The number of weights."""
        return sum(tensor.size for tensor in self.tensors.values())

    def logits(self, inputs: Inputs) -> Float32Array:
        """The network's scores, prior included, float32 (N,).

        Raises:
            ValueError: the inputs do not have the sizes of the configuration, or the weights are so large
                that scores are not finite.
        """
        weights, num_decisions, num_actions = self.weights, len(inputs.segment_start), len(inputs.action)
        check_segments(inputs.segment_start, num_actions)  # beyond the ends the loops would read
        shapes = inputs.observation.shape, inputs.action_features.shape, inputs.prior.shape
        sizes = weights.first.shape[1], weights.after.shape[1]
        wanted = (num_decisions, sizes[0]), (num_actions, sizes[1]), (num_actions,)
        if shapes != wanted:
            raise ValueError(
                f"expected inputs of {sizes} numbers (of the state, of an action), "
                f"in arrays of the shapes {wanted}, got {shapes}"
            )
        states = np.empty((num_decisions, len(weights.state_bias)), np.float32)
        found = np.empty(num_actions, np.float32)
        forward(
            inputs.observation, inputs.segment_start, inputs.action_features, inputs.prior, weights,
            new_workspace(weights, max(num_decisions, num_actions)), states, found,
        )  # fmt: skip
        if not np.isfinite(found).all():
            raise ValueError("the network's scores are not finite: its weights are too large")
        return found


def mean_network(networks: Sequence[Network]) -> Network:
    """A network with the mean weights of several: a model soup, if they were trained from one network.

    Raises:
        ValueError: none is given, or they differ in more than their weights.
    """
    if not networks or any(network.config != networks[0].config for network in networks):
        raise ValueError("expected networks that differ in their weights alone")
    mean = {
        name: np.stack([network.tensors[name] for network in networks]).mean(axis=0)
        for name in networks[0].tensors
    }
    return Network(networks[0].config, mean)


def log_softmax(logits: Float32Array, start: IntArray) -> Float32Array:
    """Log-probabilities within each decision's actions, float32 (N,); sums are in float64.

    Args:
        logits: float32 (N,).
        start: int64 (n,), ascending from 0, where each decision's actions begin; every decision has at least
            one.

    Raises:
        ValueError: arrays of another type or shape, or `start` does not divide the N actions.
    """
    if not isinstance(logits, np.ndarray) or logits.ndim != 1 or logits.dtype != np.float32:
        raise ValueError("logits: expected float32 (N,)")
    check_segments(start, len(logits))
    found = np.empty(len(logits), np.float32)
    log_probabilities(np.ascontiguousarray(logits), np.ascontiguousarray(start), found)
    return found


def sample(log_probabilities: Float32Array, start: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw an action of each decision: int64 (n,), indices into the ragged actions (Gumbel's trick)."""
    noise = rng.gumbel(size=len(log_probabilities))
    return first_best(log_probabilities + noise, start)


def first_best(scores: npt.NDArray[Any], start: IntArray) -> IntArray:
    """The first index of each decision's highest score: int64 (n,), into the ragged actions."""
    if len(start) == 1:  # the same result with ten NumPy calls fewer
        return np.array([scores.argmax()])
    count = np.diff(np.append(start, len(scores)))
    best = np.repeat(np.maximum.reduceat(scores, start), count)
    hits = np.flatnonzero(scores == best)
    first = np.searchsorted(hits, start)
    return hits[first]


# ---------------------------------------------------------------- files


def content_of(
    network: Network, card: Mapping[str, Any]
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """What a policy's file holds: weights in the types of the file, and configuration and card as texts."""
    settings = asdict(network.config)
    # Newer than the first files, whose digests stay as they are.
    for name in ("num_rule_inputs", "belief_width", "pieces"):
        if not settings[name]:
            del settings[name]
    texts = {"format": FORMAT, "config": json.dumps(settings), "card": json.dumps(card)}
    return policy_file.packed(network.tensors), texts


def read_policy(path: str | Path) -> tuple[Network, dict[str, Any]]:
    """Read what `NetworkAgent.save` wrote: the network and its card. Reading runs no code of the file.

    Sizes are compared before memory is taken. If the file has a digest, as all newer ones have, it must
    be that of the content.

    Raises:
        ValueError: the file is damaged, of another format, or its weights do not fit its configuration.
        FileNotFoundError: there is no such file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"policy {str(path)!r}: there is no such file")
    with refusing(f"policy {str(path)!r}"):
        policy_file.check_header(Path(path))
        with refusing("not a valid safetensors file"):
            file: Any = safe_open(path, "np")
        with file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(f"expected the format {FORMAT}")
            if unknown := sorted(metadata.keys() - {*policy_file.TEXTS, policy_file.DIGEST}):
                raise ValueError(f"unknown metadata: {', '.join(map(repr, unknown))}")
            with refusing("weights and configuration do not fit"):
                config = config_of(read_json(metadata["config"]))
                config.check()
                card = read_json(metadata.get("card", "{}"))
                if not isinstance(card, dict):
                    raise ValueError("the card is not a table")
                stored = _read_tensors(file, config)
                digest = metadata.get(policy_file.DIGEST)
                if digest is not None and digest != policy_file.content_digest(stored, metadata):
                    raise ValueError(
                        "its digest is not that of its content: the file is damaged or was changed"
                    )
                if not config.is_general:
                    config.reader()  # refuses what the game does not have
                return Network(config, stored), card


def config_of(settings: dict[str, Any]) -> NetworkConfig:
    """The configuration of a file; the oldest files have only the name of the preset."""
    if "game" not in settings:
        settings = {"game": game_of(get_rules(settings["rules"])).name, **settings}
    return NetworkConfig(**{**settings, "pieces": tuple(settings.get("pieces", ()))})


def _read_tensors(file: Any, config: NetworkConfig) -> dict[str, npt.NDArray[Any]]:
    """The weights of an open file; their types and shapes are compared before any is read."""
    parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    check_shapes(config, {name: part.get_shape() for name, part in parts.items()})
    for name, part in parts.items():
        if part.get_dtype() not in STORED:
            raise ValueError(f"{name} is stored as {part.get_dtype()}, expected one of {', '.join(STORED)}")
    return {name: file.get_tensor(name) for name in parts}
