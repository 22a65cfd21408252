"""Tiến lên (Thirteen) as a PettingZoo AEC environment.

>>> from tienlen_env import tienlen_v1
>>> env = tienlen_v1.env(rules="cardgames", num_players=4)
>>> env.reset(seed=42)
>>> for agent in env.agent_iter():
...     observation, reward, termination, truncation, info = env.last()
...     done = termination or truncation
...     env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Each of two to four players holds 13 cards, or as many as the rules say; the first player without cards
wins. Seats without cards are skipped. All seats terminate together at the end; a seat gets its reward in the
step when its place becomes certain.

Arguments:
---------
`env` and `raw_env` have the same arguments. All but `rules` are given by name.

| argument | default | meaning |
|---|---|---|
| rules | 'cardgames' | a preset (the last table of Actions lists them), a small game or a `Rules` |
| num_players | None | 2, 3 or 4; None: as in the rules, which is 4 for every preset and 2 for small games |
| episode | 'round' | 'round': one round; 'game': rounds until one total reaches the rules' target |
| num_rounds | None | rounds of a game, whatever the target is; 0: without an end; None: as the rules say |
| reward | 'points' | 'points', 'zero_sum', 'win', 'cards' or 'payments', see Rewards |
| render_mode | None | None, 'human', 'ansi', 'rgb_array' or 'svg' |
| history | 0 | K, number of past plays in the observation |
| dtype | 'uint8' | type of the observations, 'uint8' or 'float32' |

The small games are mini, small, medium and large. Every field of `Rules` is an argument, too:
``env(target=20)`` replaces it in the rules.

`reset(seed=...)` seeds the environment's own generator; without a seed its stream continues. It draws a
64-bit key, and the deal is a pure function of the key. ``options={"key": k}`` deals that key.
``options={"hands": ..., "leader": seat}`` sets a position: P texts (``"3s 3h Tc"``) or card masks; without a
leader the holder of the lowest card opens.

`copy.deepcopy` and `pickle` copy an environment in the middle of a game; the copy plays on identically.

Observation
-----------
A dict of ``"observation"``, `dtype` (O,) of 0 and 1, and ``"action_mask"``, int8 (A,), 1 = legal. Seats are
relative to the observer: 0 is the observer, 1 the next to play. The mask is all-zero off turn and at the
end. Returned arrays are never overwritten. The pieces with P = 4 players and the `cardgames` rules:

| piece | slice | shape | meaning |
|---|---|---|---|
| hand | 0:52 | (52,) | own cards, by card id |
| played | 52:260 | (4, 52) | cards played this round by each seat, by card id |
| scores | 260:312 | (4, 13) | points in the game in unary: bit k is 1 above k points |
| cards_left | 312:364 | (4, 13) | cards in each hand in unary: bit k is 1 above k cards |
| table_top | 364:416 | (52,) | highest card of the combination on the table, by card id |
| table_width | 416:420 | (4,) | its cards of each rank: 1, 2, 3, 4 |
| table_length | 420:433 | (13,) | its consecutive ranks: 1..13 |
| table_owner | 433:437 | (4,) | who played it |
| passed | 437:441 | (4,) | who has passed in this trick |
| finished | 441:445 | (4,) | who is out of the round |
| barred | 445:449 | (4,) | who was knocked out of this trick |
| suit_lock | 449:450 | (1,) | only suited runs may follow in this trick |
| opening_duty | 450:451 | (1,) | this play must contain the opening card, the lowest card dealt |
| lead | 451:452 | (1,) | the table is empty |

`state()` has the same type: the observation of player_0, the turn (one-hot P) and the hands of the other
seats. In a notebook ``env.unwrapped`` shows the table.

Actions
-------
``Discrete(A)``. Action 0 is the pass; the others name a combination by its shape and its top card (and so
its ranks), weakest first within a shape. The inner cards are the lowest suits held. A card's id is rank * 4 +
suit, ranks 3 to 2, suits ♠♣♦♥. ``env.unwrapped.action_to_text(137)`` is the name of an action,
``env.unwrapped.text_to_action("single 3s")`` the action of a name. The `cardgames` rules, A = 453:

| ids | combination | cards |
|---|---|---|
| 0 | pass | 0 |
| 1..52 | single | 1 |
| 53..91 | pair | 2 |
| 92..117 | triple | 3 |
| 118..130 | quad | 4 |
| 131..350 | run | 3..12 |
| 351..452 | double sequence | 6..12 |

| rules | A | O for 2, 3, 4 players |
|---|---|---|
| cardgames | 453 | 284, 367, 452 |
| mobile | 453 | 284, 367, 452 |
| foicica | 994 | 262, 331, 400 |
| pagat | 509 | 262, 331, 400 |
| south | 454 | 294, 379, 464 |
| south_count | 454 | 294, 379, 464 |
| north | 437 | 298, 383, 468 |
| south_winner | 454 | 294, 379, 464 |
| bga | 453 | 284, 367, 452 |

Legal moves: the mask is exact, the rules (RULES.md) decide. An illegal action on `raw_env` raises
`IllegalPlayError` and leaves the game unchanged; `env` ends the game as PettingZoo's classic games do
(`TerminateIllegalWrapper`): the offender gets one less than the worst possible reward, the others nothing.

Rewards
-------
| reward | given when a place becomes certain |
|---|---|
| points | the points of the place: 3, 2, 1, 0 for four players |
| zero_sum | the points minus their mean: 1.5, 0.5, -0.5, -1.5 |
| win | +1 for the first place, -1 for any other |
| cards | when the first player goes out, every other player pays this player 1 per card left in the hand |
| payments | units got less units paid: chops when their trick is cleared, all else when the round ends |

`payments` is for rules with payments only (RULES.md 4.7, 4.15).

`infos[agent]` always holds the integers ``"place"`` (0 = first, of the last round), ``"score"`` (points of
the whole game) and ``"units"`` (what was got in payments in the whole game, less what was paid); until the
end they are -1, 0 and 0. ``env.unwrapped.batch.payments()`` lists who paid whom, and for what. After an
illegal move on `env` they stay at -1, 0 and 0: the round was not finished, so it has no places.

Reused arrays
-------------
Arrays that the environments and the engine return, and the call that overwrites them:

| returned by | overwritten |
|---|---|
| `env`, `raw_env` (PettingZoo) | never |
| `OneSeatEnv` (Gymnasium) | never |
| `OneSeatVectorEnv` | never; with ``copy=False``, observations and masks by the second step after |
| `OneSeatVecEnv` (stable-baselines3) | never; with ``copy=False`` as above, masks by the next step |
| `SelfPlayEnv` | by the second step after |
| `Batch.step` | rewards and dones by the next step, unless the caller passes its own |

One seat
--------
``gymnasium.make("tienlen_env/TienLen-v1")`` and ``make_vec`` give one seat; agents play the others. Decisions
with a single legal action are played automatically (``skip_forced=True``), and an illegal action ends the
episode (``illegal="terminate"``), is replaced by a random legal one (``"random"``) or is an error
(``"raise"``).

Version history
---------------
* v1: in the preset ``foicica`` a bomb reopens a trick only where a 2 has been played in it (RULES.md 3.6).
* v0: the first version; it was never released.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv

from tienlen_env.envs.pettingzoo import GameEnv, wrap
from tienlen_env.games.tienlen.rules import Rules


class raw_env(GameEnv):
    """The environment without wrappers; the module's docstring describes it.

    Args:
        rules: a preset's name or a `Rules`.
        settings: the other arguments, by name; see `GameEnv`.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: not a setting, nor a field of the rules.
    """

    game_name = "tienlen"
    metadata = {**GameEnv.metadata, "name": "tienlen_v1"}  # noqa: RUF012 - PettingZoo's convention


def env(rules: str | Rules = "cardgames", **settings: Any) -> AECEnv:
    """The environment behind the wrappers of PettingZoo's classic games; arguments as of `raw_env`.

    An illegal move ends the game, and only its player is penalised; an action outside the space or a call out
    of order is an error.
    """
    return wrap(raw_env(rules, **settings))
