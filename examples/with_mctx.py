"""mctx: Gumbel MuZero's search on the environment for JAX teaches a network, which then plays without it.

pip install -r examples/requirements/mctx.txt tienlen-env
python examples/with_mctx.py --decisions 500000

Two players. The search sees all hands, the network sees what its seat may see: the search is a teacher only.
"""

from functools import partial

import jax
import jax.numpy as jnp
import mctx
import optax
from with_jax import apply_network, train_and_play

from tienlen_bridges.jax import Env

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


if __name__ == "__main__":
    train_and_play(
        Env("cardgames", num_players=2, reward="zero_sum"),
        optax.adam(1e-3),
        make_update,
        (NUM_GAMES, NUM_STEPS),
        decisions=20_000,
    )
