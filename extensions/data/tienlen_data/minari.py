"""Data sets of Minari, made of those that ``tienlen data`` wrote.

>>> from tienlen_data.minari import to_minari
>>> to_minari("data/heuristic", "tienlen/cardgames/heuristic-v0")
>>> minari.load_dataset("tienlen/cardgames/heuristic-v0")

An episode is what one seat decides in a round, as in the environments for Gymnasium: decisions with a single
legal action are left out. The whole reward comes at its end, where the observation is 0. The infos are
``"action_mask"``, int8 (A,), 0 at the end, and ``"seat"``. The options of an episode have the ``"key"`` of
its deal, which `reset` of the environment takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tienlen_agents.files import refusing
from tienlen_agents.quoting import split_list
from tienlen_data import DataConfig, config_of
from tienlen_env.engine.batch import Batch
from tienlen_env.envs.gymnasium import OneSeatEnv
from tienlen_env.extras import require
from tienlen_env.games.registry import game_of, get_rules, main_reward


def to_minari(folder: str | Path, dataset_id: str, **metadata: Any) -> Any:
    """Make a data set of Minari.

    Args:
        folder: of ``tienlen data``.
        dataset_id: in Minari's form, ``(namespace/)(environment/)name-v0``.
        metadata: arguments of ``minari.create_dataset_from_buffers``, such as ``author``. With
            the ``data_format`` of Arrow or Parquet Minari's time grows with the square of the episodes.

    Returns:
        The ``minari.MinariDataset``.

    Raises:
        MissingExtraError: Minari or pyarrow is not installed.
        ValueError: the folder has no data set, or there is one of Minari with this id.
    """
    require("minari", "minari", "a data set of Minari")
    config = config_of(folder)
    import minari

    batch, env = Batch(config.variant, history=config.history), _environment(config)
    given = {
        "env": env,
        "eval_env": env,
        "observation_space": gymnasium.spaces.Box(0, 1, (batch.observation_size,), np.uint8),
        "action_space": gymnasium.spaces.Discrete(batch.num_actions),
        "algorithm_name": config.agents,
        "description": f"{config.rules}, {batch.num_players} players, by `tienlen data`",
        **metadata,
    }
    made: Any = None
    for path in sorted(Path(folder, "rounds").glob("*.parquet")):
        with refusing(str(path)):
            buffers = list(_episodes(Path(folder), path.name, batch))
        if made is None:
            made = minari.create_dataset_from_buffers(dataset_id, buffers, **given)
        else:
            made.storage.update_episodes(buffers)
    return minari.load_dataset(dataset_id)


def _environment(config: DataConfig) -> Any:
    """The environment of the game that is registered in Gymnasium; None for a game without one."""
    rules = config.variant
    ids = {
        game_of(get_rules(spec.kwargs["rules"])).name: name
        for name, spec in gymnasium.registry.items()
        if spec.entry_point == f"{OneSeatEnv.__module__}:OneSeatEnv"
    }
    if (name := ids.get(game_of(rules).name)) is None:
        return None
    return gymnasium.make(
        name,
        rules=config.rules,
        num_players=rules.num_players,
        history=config.history,
        reward=main_reward(rules),
        opponents=split_list(config.agents),
        line_up=False,
    )


def _episodes(folder: Path, name: str, batch: Batch) -> Iterator[Any]:
    """The episodes of a shard, as Minari's buffers."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from minari.data_collector.episode_buffer import EpisodeBuffer

    rounds = pq.read_table(folder / "rounds" / name, columns=["round", "key"])
    table = pq.read_table(folder / "decisions" / name)
    keys = dict(zip(rounds["round"].to_pylist(), rounds["key"].to_pylist(), strict=True))
    num_legal = np.asarray(pc.list_value_length(table["legal_actions"]))
    table = table.filter(num_legal > 1)
    order = np.lexsort([table["step"], table["seat"], table["round"]])
    table, num_legal = table.take(order), num_legal[num_legal > 1][order]

    packed = np.frombuffer(b"".join(table["observation"].to_pylist()), np.uint8).reshape(len(table), -1)
    observations = np.unpackbits(packed, axis=1, count=batch.observation_size, bitorder="little")
    masks = np.zeros((len(table), batch.num_actions), np.int8)
    legal = np.asarray(pc.list_flatten(table["legal_actions"]))
    masks[np.repeat(np.arange(len(table)), num_legal), legal] = 1
    number, seat, action, to_end = (np.asarray(table[name]) for name in ("round", "seat", "action", "return"))
    begins = np.flatnonzero(np.diff(number * batch.num_players + seat, prepend=-1))
    for begin, end in zip(begins, [*begins[1:], len(table)], strict=True):
        is_last = np.arange(begin, end) == end - 1
        action_mask = np.pad(masks[begin:end], ((0, 1), (0, 0)))
        action_mask[-1, 0] = 1  # as in the environment, of an episode that has ended
        key = keys[int(number[begin])]
        yield EpisodeBuffer(
            options=None if key is None else {"key": key},
            observations=np.pad(observations[begin:end], ((0, 1), (0, 0))),
            actions=action[begin:end].astype(np.int64),
            rewards=-np.diff(to_end[begin:end], append=0),  # what is paid until the next decision
            terminations=is_last,
            truncations=np.zeros(end - begin, np.bool_),
            infos={
                "action_mask": action_mask,
                "seat": [int(seat[begin])] * (end - begin + 1),
            },
        )
