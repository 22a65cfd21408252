"""Thirteens, the trick-taking game of jokers and melds, as a PettingZoo AEC environment.

>>> from tienlen_env import thirteens_v0
>>> env = thirteens_v0.env(num_players=4, jokers=1)
>>> env.reset(seed=42)
>>> for agent in env.agent_iter():
...     observation, reward, termination, truncation, info = env.last()
...     done = termination or truncation
...     env.step(None if done else env.action_space(agent).sample(observation["action_mask"]))

Three to seven players take tricks with the highest card of the suit led, or with a joker, and meld what they
took: cards that add up to thirteen, pairs and straights. Captured jokers cost points; a player without
tricks gets points (RULES.md 8). All seats terminate together at the end.

Arguments:
---------
`env` and `raw_env` have the same arguments.

| argument | default | meaning |
|---|---|---|
| rules | 'thirteens' | a preset (`thirteens`, and with `_manual`, `_dummy` behind it) or a `ThirteensRules` |
| episode | 'round' | 'round': one deal; 'game': deals to the target, which one total must reach alone |
| num_rounds | None | deals of a game, whatever the target is; 0: without an end; None: as the rules say |
| reward | 'points' | 'points', 'zero_sum' or 'win', see Rewards |
| render_mode | None | None, 'human', 'ansi', 'rgb_array' or 'svg' |
| dtype | 'uint8' | type of the observations, 'uint8' or 'float32' |
| num_players | None | 3 to 7; exactly 3 with a dummy |
| jokers | None | 0, 1 or 2 jokers in the deck |
| melding | None | 'auto': a trick's winner melds the most it can; 'manual': declares meld after meld |
| dummy | None | three players and a hidden hand that gives a card to every trick |
| target | None | points that end a game; 0: a game is one deal |

All arguments but `rules` are given by name. The last five replace fields of the rules, as every name of a
field does; None keeps the value of the rules: with the default rules 4 players, 1 joker, 'auto', no dummy and
a target of 50.

`reset(seed=...)` seeds the environment's own generator; without a seed its stream continues. It draws a
64-bit key, and the deal is a pure function of the key. ``options={"key": k}`` deals that key;
``options={"hands": ["Ks 2h", ...], "leader": 0}`` starts from given hands, as text or as masks, with
``"dummy"``, ``"remainder"`` and ``"starter"`` if the deal has them (`Batch.set_hands`).

`copy.deepcopy` and `pickle` copy an environment in the middle of a game; the copy plays on identically. The
page `tienlen_env.envs.tienlen` has a table of the arrays that are reused.

Observation
-----------
A dict of ``"observation"``, `dtype` (O,) of 0 and 1, and ``"action_mask"``, int8 (A,), 1 = legal. Seats are
relative to the observer: 0 is the observer, 1 the next to play. The mask is all-zero off turn and at the
end. Returned arrays are never overwritten. The pieces with the default arguments:

| piece | slice | shape | meaning |
|---|---|---|---|
| hand | 0:53 | (53,) | own cards, by card id (52 and 53 are jokers) |
| played | 53:265 | (4, 53) | cards played this deal by each seat, by card id |
| trick | 265:477 | (4, 53) | card of each seat in the trick, by card id; in order from `leader` |
| aside | 477:530 | (53,) | what else goes with this trick: the remainder, the dummy's card |
| shown | 530:583 | (53,) | remainder and dummy's cards flipped so far this deal |
| scores | 583:823 | (4, 60) | points in the game, in unary: bit k is 1 above k |
| points | 823:951 | (4, 32) | points of this deal so far, in unary: bit k is 1 above k - 8 |
| thirteens | 951:983 | (4, 8) | thirteens melded this deal, in unary: bit k is 1 above k |
| pairs | 983:1015 | (4, 8) | pairs melded this deal, in the same way |
| straights | 1015:1047 | (4, 8) | straights melded this deal, in the same way |
| jokers | 1047:1051 | (4, 1) | jokers captured this deal at a cost, in the same way |
| tricks | 1051:1103 | (4, 13) | tricks taken this deal, in the same way |
| void | 1103:1119 | (4, 4) | suits that each seat is known not to hold: spades, clubs, diamonds, hearts |
| leader | 1119:1123 | (4,) | who leads this trick |
| winner | 1123:1127 | (4,) | who is winning it |
| follow | 1127:1131 | (4,) | suit to be played if held: the one led, or the starter suit on the first lead |
| joker_led | 1131:1132 | (1,) | a joker was led, so anything may be played |
| lead | 1132:1133 | (1,) | no card has been played to the trick |
| first_trick | 1133:1134 | (1,) | this is the first trick of the deal |

`state()` has the same type: the observation of player_0, the turn (one-hot P), the hands of the other seats
and the dummy's. In a notebook ``env.unwrapped`` shows the table.

Actions
-------
``Discrete(A)``. A card's action is its id: rank * 4 + suit, ranks 3 to 2 and suits ♠♣♦♥ as in
`tienlen_env.envs.tienlen`, jokers 52 and 53. With ``melding="manual"`` the melds follow. They name pips only,
as suits never matter to a meld: the cards of the lowest ids are taken. ``env.unwrapped.action_to_text(0)`` is
the name of an action, ``env.unwrapped.text_to_action("3s")`` the action of a name. With one joker, A = 53 or,
by hand, 154:

| ids | action |
|---|---|
| 0..52 | the card of that id |
| 53 | end: meld no more of this trick |
| 54..129 | thirteen: meld K to meld 3+3+3+3+A |
| 130..142 | pair: meld A A to meld K K |
| 143..153 | straight: meld A-2-3 to meld J-Q-K |

| melding | jokers | A | O for 3, 4, 5, 6, 7 players |
|---|---|---|---|
| auto | 0 | 52 | 892, 1119, 1343, 1567, 1794 |
| auto | 1 | 53 | 904, 1134, 1361, 1588, 1818 |
| auto | 2 | 54 | 919, 1149, 1379, 1615, 1842 |
| manual | 0 | 153 | 944, 1171, 1395, 1619, 1846 |
| manual | 1 | 154 | 957, 1187, 1414, 1641, 1871 |
| manual | 2 | 155 | 973, 1203, 1433, 1669, 1896 |

Legal moves: the mask is exact, the rules (RULES.md) decide. An illegal action on `raw_env` raises
`IllegalPlayError` and leaves the game unchanged; `env` ends the game as PettingZoo's classic games do
(`TerminateIllegalWrapper`): the offender gets one less than the worst possible reward, the others nothing.

Rewards
-------
| reward | given |
|---|---|
| points | as scored: 1 a trick, 3 a thirteen, 1 a pair or straight, -4 a joker; 3 for no trick at the end |
| zero_sum | the same less its mean over all seats (in whole 1024ths) |
| win | at the end of the episode +1 for the first place, -1 for the others; k players who share it get 2 / k
- 1 each |

`infos[agent]` always holds the integers ``"place"`` (0 = first, of the last deal; equal points share the
better place), ``"score"`` (points of the whole game) and ``"units"`` (0: nothing is paid); until the end they
are -1, 0 and 0. After an illegal move on `env` they stay so: the deal was not finished, so it has no places.

Version history
---------------
* v0: first version.
"""

from __future__ import annotations

from typing import Any

from pettingzoo import AECEnv

from tienlen_env.envs.pettingzoo import GameEnv, wrap
from tienlen_env.games.thirteens.rules import ThirteensRules


class raw_env(GameEnv):
    """The environment without wrappers; the module's docstring describes it.

    Args:
        rules: a preset's name or a `ThirteensRules`.
        settings: the other arguments, by name; see `GameEnv`.

    Raises:
        ValueError: a setting out of range (`RulesError` for the rules).
        TypeError: not a setting, nor a field of the rules.
    """

    game_name = "thirteens"
    metadata = {**GameEnv.metadata, "name": "thirteens_v0"}  # noqa: RUF012 - PettingZoo's convention

    def __init__(self, rules: str | ThirteensRules = "thirteens", **settings: Any) -> None:
        super().__init__(rules, **settings)


def env(rules: str | ThirteensRules = "thirteens", **settings: Any) -> AECEnv:
    """The environment behind the wrappers of PettingZoo's classic games; arguments as of `raw_env`.

    An illegal move ends the game, and only its player is penalised; an action outside the space or a call out
    of order is an error.
    """
    return wrap(raw_env(rules, **settings))
