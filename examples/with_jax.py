"""JAX: self-play PPO in the manner of PureJaxRL, the whole of an update in one compiled function.

pip install -r examples/requirements/jax.txt tienlen-env
python examples/with_jax.py --decisions 4000000
"""

import argparse
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tienlen_agents.arena import match
from tienlen_bridges.jax import Env

NUM_GAMES, NUM_STEPS, EPOCHS, PART, CLIP, LAMBDA = 1024, 32, 2, 2048, 0.2, 0.95


def init_network(key, sizes):
    """Weights and biases of layers; the last size is the number of actions, one output more is the value."""
    sizes = [*sizes[:-1], sizes[-1] + 1]
    keys = jax.random.split(key, len(sizes))
    return [
        (jax.random.normal(k, (n, m)) * (2 / n) ** 0.5 * (0.1 if m == sizes[-1] else 1), jnp.zeros(m))
        for k, n, m in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]


def apply_network(layers, observation, mask):
    """Logits of the legal actions, and values."""
    hidden = observation.astype(jnp.float32)
    for weights, biases in layers[:-1]:
        hidden = jax.nn.relu(hidden @ weights + biases)
    out = hidden @ layers[-1][0] + layers[-1][1]
    return jnp.where(mask, out[..., :-1], -1e9), out[..., -1]


class JaxNetworkAgent:
    """The network as an agent of the arena: the best legal action."""

    def __init__(self, layers, name="network"):
        self.name, self.layers = name, layers

    def reset(self, seed):
        """Nothing is random."""

    def act(self, view):
        """The actions, int64 (n,)."""
        size = 1 << max(0, len(view) - 1).bit_length()  # few shapes to compile
        observation, mask = (
            np.zeros((size, a.shape[1]), a.dtype) for a in (view.observation, view.action_mask)
        )
        observation[: len(view)], mask[: len(view)] = view.observation, view.action_mask
        return np.asarray(_best(self.layers, observation, mask))[: len(view)].astype(np.int64)


@jax.jit
def _best(layers, observation, mask):
    return apply_network(layers, observation, mask > 0)[0].argmax(1)


def advantages(players, rewards, terminated, values, num_players):
    """GAE for each decision among those of its seat, float32 (T, B); and which of them are known."""

    def back(carry, moment):
        earned, following, gain, known = carry  # (B, P): of each seat, later
        player, reward, over, value = moment
        over = over[:, None]
        earned = jnp.where(over, 0, earned) + reward
        following, gain, known = (
            jnp.where(over, x, y) for x, y in ((0, following), (0, gain), (True, known))
        )
        own = jax.nn.one_hot(player, num_players, dtype=bool)
        at = partial(jnp.sum, axis=1, where=own)
        advantage = at(earned + following + LAMBDA * gain) - value
        is_known = at(known) > 0
        carry = (
            jnp.where(own, 0, earned),
            jnp.where(own, value[:, None], following),
            jnp.where(own, (advantage * is_known)[:, None], gain),
            known | own,
        )
        return carry, (advantage, is_known)

    zeros = jnp.zeros((players.shape[1], num_players))
    start = (zeros, zeros, zeros, zeros > 0)
    return jax.lax.scan(back, start, (players, rewards, terminated, values), reverse=True)[1]


def make_update(env, adam):
    """The function of an update: play, and learn from it."""

    def play(layers, state, key):
        logits, value = apply_network(layers, state.observation, state.legal_action_mask)
        action = jax.random.categorical(key, logits)
        chance = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        new = jax.vmap(env.step)(state, action)
        seen = (state.observation, state.legal_action_mask, action, chance, value)
        return new, (seen, state.current_player, new.rewards, new.terminated)

    def loss(layers, part):
        observation, mask, action, old, gain, target, known = part
        logits, value = apply_network(layers, observation, mask)
        chances = jax.nn.log_softmax(logits)
        ratio = jnp.exp(jnp.take_along_axis(chances, action[:, None], 1)[:, 0] - old)
        surrogate = jnp.minimum(ratio * gain, ratio.clip(1 - CLIP, 1 + CLIP) * gain)
        entropy = -(jnp.exp(chances) * chances).sum(1, where=mask)
        return ((0.5 * (value - target) ** 2 - surrogate - 0.01 * entropy) * known).mean()

    def learn(carry, part):
        layers, moments = carry
        changes, moments = adam.update(jax.grad(loss)(layers, part), moments)
        return (optax.apply_updates(layers, changes), moments), None

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(layers, moments, state, key):
        first, second = jax.random.split(key)
        state, (seen, players, rewards, over) = jax.lax.scan(
            partial(play, layers), state, jax.random.split(first, NUM_STEPS)
        )
        gain, known = advantages(players, rewards, over, seen[-1], env.num_players)
        mean, spread = gain.mean(where=known), gain.std(where=known)
        data = (*seen[:4], (gain - mean) / (spread + 1e-8), gain + seen[-1], known)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), data)
        for k in jax.random.split(second, EPOCHS):
            order = jax.random.permutation(k, NUM_GAMES * NUM_STEPS).reshape(-1, PART)
            (layers, moments), _ = jax.lax.scan(
                lambda carry, i: learn(carry, jax.tree.map(lambda x: x[i], data)), (layers, moments), order
            )
        return layers, moments, state

    return update


def train_and_play(env, adam, make_update, shape, decisions):
    """Train as the command line says, and play `greedy`.

    Args:
        env: the environment.
        adam: the optimizer.
        make_update: `make_update` or one like it.
        shape: games and steps of an update.
        decisions: how many, if the command line does not say it.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=decisions)
    parser.add_argument("--deals", type=int, default=100)
    options = parser.parse_args()
    key = jax.random.key(1, impl="unsafe_rbg")
    layers = init_network(key, [*env.observation_shape, 128, 128, env.num_actions])
    moments = adam.init(layers)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, shape[0]))
    update, start, each = make_update(env, adam), time.process_time(), shape[0] * shape[1]
    for i in range(1, -(-options.decisions // each) + 1):
        key, now = jax.random.split(key)
        layers, moments, state = update(layers, moments, state, now)
        if i % 10 == 1:
            jax.block_until_ready(layers)
            seconds = time.process_time() - start
            print(f"{i * each:,} decisions, {seconds:.0f} s of processor time", flush=True)
    result = match(
        JaxNetworkAgent(layers), "greedy", num_players=env.num_players, num_deals=options.deals, seed=1
    )
    points = result.scores[0].points
    print(f"points {points.mean:.3f} ± {points.half_width:.3f}; parity is {result.parity_points}")


if __name__ == "__main__":
    train_and_play(
        Env("cardgames", reward="zero_sum", auto_reset=True),
        optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)),
        make_update,
        (NUM_GAMES, NUM_STEPS),
        decisions=200_000,
    )
