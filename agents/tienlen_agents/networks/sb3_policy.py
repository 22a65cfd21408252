"""A trained network as an agent: stable-baselines3 / sb3-contrib `MaskablePPO`.

This module imports torch; `tienlen_agents.load` imports it only for such a policy.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import torch

from tienlen_agents.files import refusing
from tienlen_agents.networks.features import features_of
from tienlen_agents.quoting import quoted
from tienlen_env.engine.agent import View
from tienlen_env.games.common.arrays import IntArray
from tienlen_env.games.common.game import AnyRules
from tienlen_env.games.registry import game_of

FEW: Final = 128  # decisions


class PolicyAgent:
    """Plays the legal action with the highest logit, or draws from the policy.

    Only the actor is stored, as a copy on the CPU, so training may continue with the original model.
    Decisions with one legal action cost no forward pass.

    Args:
        policy: a `MaskableActorCriticPolicy` on flat observations with discrete actions.
        sample: draw actions from the policy instead of taking the most probable one.
        name: what tables and plots call it.
        pieces: names of the observation's pieces that it reads; empty for those that `Features.pieces` names.

    Raises:
        ValueError: a policy of another kind.
    """

    def __init__(
        self, policy: Any, *, sample: bool = False, name: str = "policy", pieces: Sequence[str] = ()
    ) -> None:
        observation_shape = getattr(policy.observation_space, "shape", None)
        num_actions = getattr(policy.action_space, "n", None)
        if observation_shape is None or len(observation_shape) != 1 or num_actions is None:
            raise ValueError(
                "expected a policy on flat observations with discrete actions, got one for "
                f"{policy.observation_space} and {policy.action_space}"
            )
        self.name = name
        self.sample = sample
        self.observation_size = int(observation_shape[0])
        self.num_actions = int(num_actions)
        parts = (policy.pi_features_extractor, policy.mlp_extractor, policy.action_net)
        self._features, self._mlp, self._head = (
            copy.deepcopy(part).cpu().eval().requires_grad_(False) for part in parts
        )
        self.pieces = tuple(pieces)
        self._readings: dict[AnyRules, tuple[int, IntArray]] = {}
        self._rng = np.random.default_rng(0)

    @classmethod
    def from_model(cls, model: Any, *, sample: bool = False, name: str = "policy") -> Self:
        """A snapshot of a `MaskablePPO` that may be in training; its weights are copied.

        Its attribute ``observation_pieces``, which a file keeps, names the pieces that it reads.
        """
        pieces = getattr(model, "observation_pieces", ())
        return cls(model.policy, sample=sample, name=name, pieces=pieces)

    @classmethod
    def load(cls, path: str | Path, *, trust: bool = False, sample: bool = False) -> Self:
        """Read what ``MaskablePPO.save(path)`` wrote.

        Args:
            path: the zip file.
            trust: must be True. The format holds pickles, and reading a pickle runs whatever code its author
                put there; only load files that you or someone you trust made.
            sample: see `PolicyAgent`.

        Raises:
            ValueError: `trust` is False, or the file holds no such model.
            FileNotFoundError: there is no such file.
        """
        if not trust:
            raise ValueError(
                f"policy {str(path)!r}: loading a stable-baselines3 zip runs the pickled code inside it. "
                f"If you trust where it comes from, say so: 'policy:{quoted(str(path))},trust=1' "
                "or load(path, trust=True)"
            )
        if not Path(path).is_file():
            raise FileNotFoundError(f"policy {str(path)!r}: there is no such file")
        from sb3_contrib import MaskablePPO

        with refusing(f"policy {str(path)!r}: this is no MaskablePPO zip"):
            model = MaskablePPO.load(path, device="cpu")
        return cls.from_model(model, sample=sample, name=f"policy:{quoted(str(path), in_list=False)}")

    def reset(self, seed: int) -> None:
        """Draw from this seed from now on; matters only with `sample`."""
        self._rng = np.random.default_rng(seed)

    def act(self, view: View) -> IntArray:
        """Choose for n decisions (see `Agent.act`).

        Raises:
            ValueError: the network was trained on observations or actions of another size.
        """
        if view.rules not in self._readings:
            self._readings[view.rules] = self._reading(view.rules)
        history, columns = self._readings[view.rules]
        mask = view.action_mask
        actions: IntArray = mask.argmax(axis=1)  # right where there is one legal action
        free = np.flatnonzero(view.num_legal > 1)
        if free.size:
            seen = view.showing(history).observation[free]
            logits = self.logits(seen if len(columns) == seen.shape[1] else seen[:, columns])
            logits[mask[free] == 0] = -np.inf
            actions[free] = self._draw(logits) if self.sample else logits.argmax(axis=1)
        return actions

    def logits(self, observation: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """The network's output before masking.

        Args:
            observation: uint8 (n, O).

        Returns:
            float32 (n, A).

        Raises:
            ValueError: they are not finite, because the weights are too large.
        """
        # For few decisions several threads have little to share and wait for one another: 30 ms per pass if
        # other programs run.
        before = torch.get_num_threads()
        torch.set_num_threads(1 if len(observation) < FEW else before)
        try:
            with torch.inference_mode():
                features = self._features(torch.from_numpy(observation).float())
                logits: npt.NDArray[np.float32] = self._head(self._mlp.forward_actor(features)).numpy()
        finally:
            torch.set_num_threads(before)
        if not np.isfinite(logits).all():
            raise ValueError("the network's scores are not finite: its weights are too large")
        return logits

    def _draw(self, logits: npt.NDArray[np.float32]) -> IntArray:
        # float64: the last sum must exceed every draw, or the pass would be taken where it is not legal.
        weight = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
        total = weight.cumsum(axis=1)
        draw = self._rng.random((len(logits), 1)) * total[:, -1:]
        chosen: IntArray = (total > draw).argmax(axis=1)
        return chosen

    def _reading(self, rules: AnyRules) -> tuple[int, IntArray]:
        """How many past plays the policy reads, and the columns of such an observation.

        Raises:
            ValueError: no observation of these rules has the size that the policy was trained with, or the
                number of actions differs.
        """
        game = game_of(rules)
        num_actions = game.build_table(rules).num_actions
        if num_actions != self.num_actions:
            raise ValueError(
                f"{self.name} was trained for {self.num_actions} actions, but the {rules.name} rules "
                f"have {num_actions}: another preset?"
            )

        def columns(history: int, pieces: Sequence[str]) -> IntArray:
            layout = game.observation(rules, history)
            parts = [layout[name].slice for name in pieces or layout if name in layout]
            return np.concatenate([np.arange(part.start, part.stop) for part in parts])

        # A model that does not name its pieces may have been trained on every piece of the layout.
        for pieces in (self.pieces or features_of(rules).pieces, ()):
            without = columns(0, pieces).size
            of_a_play = columns(1, pieces).size - without if game.has_history else 0
            missing = self.observation_size - without
            if missing == 0 or (of_a_play and missing > 0 and missing % of_a_play == 0):
                history = missing // of_a_play if missing else 0
                return history, columns(history, pieces)
        raise ValueError(
            f"{self.name} was trained on observations of length {self.observation_size}, but here they have "
            f"{without} without past plays: another number of players or target?"
        )
