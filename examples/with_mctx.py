"""mctx: Gumbel MuZero's search on the environment for JAX teaches a network, which then plays without it.

pip install -r examples/requirements/mctx.txt tienlen-env
python examples/with_mctx.py --decisions 500000

Two players. The search sees all hands, the network sees what its seat may see: the search is a teacher only.
"""

import argparse
import time
from functools import partial

import jax
import jax.numpy as jnp
import mctx
import optax
from with_jax import NetworkAgent, apply_network, init_network

from tienlen_agents.arena import match
from tienlen_env.envs.jax import Env

NUM_GAMES, NUM_STEPS, SIMULATIONS, PART = 128, 16, 16, 512


def make_update(env, adam):
    """The function of an update: play by search, and learn from its choices and values."""
    step = jax.vmap(env.step)

    def evaluate(layers, state):
        return apply_network(layers, state.observation, state.legal_action_mask)

    def look_ahead(layers, key, action, state):
        new = step(state, action)
        logits, value = evaluate(layers, new)
        mine = jnp.take_along_axis(new.rewards, state.current_player[:, None], 1)[:, 0]
        sign = jnp.where(new.current_player == state.current_player, 1.0, -1.0)
        over = new.terminated
        discount, value = jnp.where(over, 0, sign), jnp.where(over, 0, value)
        return mctx.RecurrentFnOutput(reward=mine, discount=discount, prior_logits=logits, value=value), new

    def play(layers, state, key):
        logits, value = evaluate(layers, state)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        found = mctx.gumbel_muzero_policy(
            layers, key, root, look_ahead, SIMULATIONS, invalid_actions=~state.legal_action_mask,
            max_num_considered_actions=8,
        )  # fmt: skip
        target = found.search_tree.summary().value
        seen = (state.observation, state.legal_action_mask, found.action_weights, target)
        state = step(state, found.action)
        anew = jax.vmap(env.init)(jax.random.split(key, NUM_GAMES))
        state = jax.tree.map(
            lambda a, b: jnp.where(state.terminated.reshape(-1, *[1] * (a.ndim - 1)), a, b), anew, state
        )
        return state, seen

    def loss(layers, part):
        observation, mask, weights, target = part
        logits, value = apply_network(layers, observation, mask)
        return (0.5 * (value - target) ** 2 - (weights * jax.nn.log_softmax(logits)).sum(1)).mean()

    def learn(carry, part):
        layers, moments = carry
        changes, moments = adam.update(jax.grad(loss)(layers, part), moments)
        return (optax.apply_updates(layers, changes), moments), None

    @jax.jit
    def update(layers, moments, state, key):
        first, second = jax.random.split(key)
        state, data = jax.lax.scan(partial(play, layers), state, jax.random.split(first, NUM_STEPS))
        order = jax.random.permutation(second, NUM_GAMES * NUM_STEPS).reshape(-1, PART)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[order], data)
        (layers, moments), _ = jax.lax.scan(learn, (layers, moments), data)
        return layers, moments, state

    return update


def main():
    """Train, and play `greedy` without search."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--decisions", type=int, default=20_000)
    parser.add_argument("--deals", type=int, default=100)
    options = parser.parse_args()
    env = Env("cardgames", num_players=2, reward="zero_sum")
    key = jax.random.key(1)
    layers = init_network(key, [*env.observation_shape, 128, 128, env.num_actions])
    adam = optax.adam(1e-3)
    moments = adam.init(layers)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, NUM_GAMES))
    update, start, each = make_update(env, adam), time.process_time(), NUM_GAMES * NUM_STEPS
    for i in range(1, -(-options.decisions // each) + 1):
        key, now = jax.random.split(key)
        layers, moments, state = update(layers, moments, state, now)
        if i % 10 == 1:
            jax.block_until_ready(layers)
            seconds = time.process_time() - start
            print(f"{i * each:,} decisions, {seconds:.0f} s of processor time", flush=True)
    result = match(NetworkAgent(layers), "greedy", num_players=2, num_deals=options.deals, seed=1)
    points = result.scores[0].points
    print(f"points {points.mean:.3f} ± {points.half_width:.3f}; parity is {result.parity_points}")


if __name__ == "__main__":
    main()
