"""Arguments by the names of parameters: what fits, what nearly fits, and what does not fit at all."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import tienlen_agents
from tienlen_agents.search.context import SearchContext
from tienlen_env.engine.agent import RandomAgent, View
from tienlen_env.engine.batch import Batch
from tienlen_env.games.tienlen import state as R
from tienlen_env.games.tienlen.rules import PRESETS, Payments, Shape, get_rules
from tienlen_env.single.tienlen import Cards
from tienlen_gpu.machine import HostMachine

Values = Callable[[random.Random, Batch], Any]

INTEGERS = (-(2**63) - 1, -(2**63), -(2**31), -7, -2, -1, 0, 1, 2, 3, 4, 5, 13, 51, 52, 53, 64, 452, 453,
            994, 255, 256, 2**31 - 1, 2**31, 2**52, 2**62, 2**63 - 1, 2**63, 2**64, 10**30)  # fmt: skip
TEXTS = ("", "x", "pass", "3s", "3s 3h", "single 3s", "run 4-6 top 6d", "é", "\0", "\ud800", "3" * 500,
         "numba", "round", "game", "points", "cards", "random", "greedy", "player_0", "cardgames",
         "thirteens")  # fmt: skip


def _read_only() -> np.ndarray:
    array = np.zeros(3, np.int64)
    array.setflags(write=False)
    return array


def junk(rng: random.Random) -> Any:
    """Anything."""
    kind = rng.randrange(12)
    if kind < 3:
        return rng.choice(INTEGERS)
    if kind == 3:
        return rng.choice(TEXTS)
    if kind == 4:
        return rng.choice((None, True, False, 0.0, 0.5, -1.5, float("nan"), float("inf"), -1e300, 1j, b"3s"))
    if kind == 5:
        return rng.choice(
            ([], [0], [[0]], ["a"], [None], [0, [1]], (), {}, {"a": 1}, {1, 2}, object(), len, int)
        )
    if kind == 6:
        shape = tuple(rng.choice((0, 1, 2, 3, 4, 5)) for _ in range(rng.randrange(4)))
        return np.zeros(shape, rng.choice(DTYPES))
    if kind == 7:
        return np.full(rng.randrange(5), rng.choice(INTEGERS[1:27]), np.int64)
    if kind == 8:
        return rng.choice(
            (
                np.int64(3),
                np.float64("nan"),
                np.bool_(True),
                np.uint64(2**64 - 1),
                np.array(2),
                np.array("x"),
                np.array([1, None], object),
                np.zeros((2, 6))[:, ::2],
                _read_only(),
            )
        )
    if kind == 9:
        return [rng.choice(INTEGERS) for _ in range(rng.randrange(5))]
    if kind == 10:
        return np.array([rng.randrange(-4, 5) for _ in range(rng.randrange(6))])
    return rng.randrange(-5, 6)


DTYPES = (np.int64, np.int32, np.int8, np.uint8, np.uint64, np.float32, np.float64, np.bool_, np.complex128,
          ">i8", "M8[s]", "U3", object)  # fmt: skip


def mostly(value: Values, wild: float = 0.35) -> Values:
    """A value that fits, or anything."""
    return lambda rng, batch: junk(rng) if rng.random() < wild else value(rng, batch)


def buffer(shape: Callable[[Batch], tuple[int, ...]], dtype: Any) -> Values:
    """An array to write to, or one that is wrong in one way."""

    def make(rng: random.Random, batch: Batch) -> Any:
        size, kind = shape(batch), dtype
        wrong = rng.randrange(16)
        if wrong == 0:
            size = (size[0] + rng.choice((-1, 1)), *size[1:])
        elif wrong == 1:
            kind = rng.choice(DTYPES)
        elif wrong == 2:
            size = (*size, 1)
        elif wrong == 3:
            size = size[:-1]
        array = np.zeros(size, kind)
        if wrong == 4:
            array.setflags(write=False)
        elif wrong == 5:
            array = np.zeros((*size[:-1], size[-1] * 2), kind)[..., ::2]
        elif wrong == 6 and array.dtype.kind == "f":
            array[...] = rng.choice((np.nan, np.inf, -5, 1e300, 1.0, 2.0**70))
        elif wrong == 7:
            return junk(rng)
        elif array.dtype.kind == "f" and array.size:
            array[...] = np.random.default_rng(rng.getrandbits(32)).random(array.shape)
        return array

    return make


def legal(rng: random.Random, batch: Batch) -> np.ndarray:
    """int64 (B,): a legal action each."""
    return batch.sample(np.random.default_rng(rng.getrandbits(32)))


def action(rng: random.Random, batch: Batch) -> int:
    """A legal action of the first game, or another one."""
    if rng.random() < 0.6:
        return int(legal(rng, batch)[0])
    return rng.randrange(-3, batch.num_actions + 3)


def actions(rng: random.Random, batch: Batch) -> Any:
    """Legal actions, now and then with others among them."""
    ids = legal(rng, batch)
    if rng.random() < 0.4:
        ids[rng.randrange(len(ids))] = rng.choice((*INTEGERS[1:27], rng.randrange(batch.num_actions)))
    if rng.random() < 0.3:
        return ids[games(rng, batch)] if rng.random() < 0.7 else ids.tolist()
    return ids


def games(rng: random.Random, batch: Batch) -> Any:
    """Indices of some games."""
    found = rng.sample(range(batch.num_games), rng.randrange(batch.num_games + 1))
    return np.array(found, np.int64)


def some_games(rng: random.Random, batch: Batch) -> Any:
    """Indices of games, perhaps twice or out of range."""
    found = games(rng, batch)
    if rng.random() < 0.4:
        found = np.append(found, rng.choice((0, -1, batch.num_games, 10**6, -(2**63), 2**63 - 1)))
    return found


def key(rng: random.Random, batch: Batch) -> int:
    """Of a deal."""
    return rng.getrandbits(64) - 2**63


def mask_of_cards(rng: random.Random, batch: Batch) -> int:
    """Some cards."""
    return sum(1 << card for card in rng.sample(range(52), rng.randrange(6)))


def hands(rng: random.Random, batch: Batch) -> Any:
    """int64 (B, P): disjoint hands, perhaps of wrong sizes."""
    width = rng.choice((1, 3, 5, 9, 13, 14))
    rows = []
    for _ in range(batch.num_games):
        deck = rng.sample(range(52), 52)
        rows.append(
            [
                sum(1 << card for card in deck[p * width % 52 : p * width % 52 + width])
                for p in range(batch.num_players)
            ]
        )
    return np.array(rows)


def one_hand_each(rng: random.Random, batch: Batch) -> Any:
    """The hands of one game, as masks or texts."""
    row = hands(rng, batch)[0].tolist()
    return row if rng.random() < 0.5 else [batch.game.text.format_cards(mask, " ") for mask in row]


def endings(rng: random.Random, batch: Batch) -> np.ndarray:
    """int64 (n, ROW): rounds with two players left, reached by random play."""
    if batch.game.name != "tienlen" or batch.has_payments:
        batch = Batch("cardgames", 3)
        batch.reset(rng.getrandbits(32))
    playing, draws = batch.copy(), np.random.default_rng(rng.getrandbits(32))
    for _ in range(300):
        rows = playing.state.rows
        is_ending = (np.bitwise_count(rows[:, R.LIVE]) == 2) & (rows[:, R.TURN] >= 0)
        if is_ending.any() or (rows[:, R.TURN] < 0).all():
            break
        playing.step(playing.sample(draws))
    return playing.state.rows[is_ending]


def view(rng: random.Random, batch: Batch) -> View:
    """Decisions, also of games that are over, of nothing, and of other games."""
    if rng.random() < 0.15:
        batch = some_batch(rng)
    chosen: Any = rng.choice((None, games(rng, batch), np.arange(batch.num_games), []))
    return View(batch, chosen, copy=rng.random() < 0.5)


def text(rng: random.Random, batch: Batch) -> str:
    """The name of an action or some cards, perhaps with a change."""
    found = batch.action_to_text(rng.randrange(batch.num_actions))
    if rng.random() < 0.3:
        found = batch.game.text.format_cards(mask_of_cards(rng, batch), " ")
    if found and rng.random() < 0.4:
        at = rng.randrange(len(found))
        found = found[:at] + rng.choice("3sA ,-2é\0x") + found[at + rng.randrange(2) :]
    return found


@cache
def setup_context() -> SearchContext:
    """A search of one variant."""
    return SearchContext(get_rules("cardgames"))


RULES = (*PRESETS, "thirteens", "thirteens_manual")


def some_batch(rng: random.Random, num_games: int = 3, **settings: Any) -> Batch:
    """A batch somewhere in its games; not dealt now and then."""
    num_players = rng.choice((None, None, 4, 3))
    batch = Batch(rng.choice(RULES), num_games, num_players=num_players, **settings)
    if rng.random() < 0.95:
        batch.reset(rng.getrandbits(32))
        generator = np.random.default_rng(rng.getrandbits(32))
        for _ in range(rng.choice((0, 3, 10, 30, 60, 90))):
            batch.step(batch.sample(generator))
    return batch


def options(rng: random.Random, batch: Batch) -> Any:
    """Of an environment's `reset`."""
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        found["key"] = mostly(key)(rng, batch)
    if rng.random() < 0.3:
        found["hands"] = mostly(one_hand_each)(rng, batch)
    if rng.random() < 0.2:
        found["leader"] = mostly(lambda r, b: r.randrange(4))(rng, batch)
    if rng.random() < 0.2:
        found["reset_mask"] = mostly(lambda r, b: np.array([r.random() < 0.5 for _ in range(b.num_games)]))(
            rng, batch
        )
    if rng.random() < 0.05:
        found["kye"] = 1
    return found


def opponents(rng: random.Random, batch: Batch) -> Any:
    """Names, agents, and lists of them."""
    one = rng.choice(("random", "greedy", RandomAgent(), "nobody"))
    return rng.choice((one, [one], ["random", "greedy", RandomAgent()], ["random"] * (batch.num_players - 1)))


def move(rng: random.Random, batch: Batch) -> Any:
    """A play: an id, a text, cards."""
    return rng.choice((action(rng, batch), text(rng, batch), Cards(mask_of_cards(rng, batch))))


def agent_text(rng: random.Random, batch: Batch) -> Any:
    """The name of a player."""
    return rng.choice(("player_0", "player_1", f"player_{batch.num_players}", "nobody"))


def shape(rng: random.Random, batch: Batch) -> Shape:
    """A shape of combinations."""
    return Shape(rng.choice((0, 1, 2, 3, 4, 9)), rng.choice((-1, 0, 1, 3, 13, 14)))


def _choice(*values: Any) -> Values:
    return lambda rng, batch: rng.choice(values)


def _number(low: int, high: int) -> Values:
    return lambda rng, batch: rng.randrange(low, high)


def _generator(rng: random.Random, batch: Batch) -> Any:
    return np.random.default_rng(rng.getrandbits(32))


def _per_game(low: int, high: int) -> Values:
    def make(rng: random.Random, batch: Batch) -> Any:
        return np.array([rng.randrange(low, high) for _ in range(batch.num_games)])

    return make


def _agent(rng: random.Random, batch: Batch) -> Any:
    return tienlen_agents.load(rng.choice(("random", "greedy", "heuristic")))


_bool = mostly(_choice(True, False), 0.2)
_seat = mostly(_number(-2, 5))

# By the name of a parameter, or, where one name has several meanings, by Class.method.name.
VALUES: dict[str, Values] = {
    "action": mostly(action),
    "actions": mostly(actions),
    "agent": mostly(agent_text),
    "attr_name": mostly(_choice("num_envs", "games", "nothing", "_mask", "render_mode")),
    "OneSeatVecEnv.set_attr.attr_name": _choice("note", "render_mode"),
    "auto_reset": _bool,
    "autoreset_mode": mostly(_choice("NextStep", "SameStep", "Disabled")),
    "backend": mostly(_choice("numba", "python")),
    "base": _agent,
    "batch": lambda rng, batch: batch,
    "card": _choice(None),
    "cards": mostly(mask_of_cards),
    "Batch.step.cards": mostly(
        lambda rng, batch: np.array([mask_of_cards(rng, batch) for _ in range(batch.num_games)])
    ),
    "TienlenActionTable.classify.cards": mostly(mask_of_cards),
    "copy": _bool,
    "decision": mostly(_number(-1, 4)),
    "decisions": mostly(some_games),
    "default": lambda rng, batch: None,
    "dones": buffer(lambda b: (b.num_games,), np.bool_),
    "draws": buffer(lambda b: (b.num_games,), np.float64),
    "dtype": mostly(_choice("uint8", "float32", np.uint8, np.float32, "float64")),
    "dummy": _bool,
    "file": mostly(_choice("", "tienlen-general-v4", "south-small-v1", "x")),
    "mcmc_effort": mostly(_choice(0.5, 1.0)),
    "episode": mostly(_choice("round", "game")),
    "exact": _bool,
    "explore": mostly(_choice(0.5, 1.0)),
    "extra_hands": lambda rng, batch: {},
    "face_up": mostly(_choice(None, [0], [0, 1, 2, 3], [9])),
    "first_place_bonus": mostly(_choice(0.0, 1.0)),
    "floor": mostly(_choice(0.0, 1e-5)),
    "game": mostly(_number(-1, 4)),
    "ByGame.named.game": mostly(_choice("tienlen", "nothing", "a b")),
    "games": mostly(some_games),
    "hand": mostly(mask_of_cards),
    "hands": mostly(hands),
    "BaseRound.from_hands.hands": mostly(one_hand_each),
    "TienlenActionTable.held.hands": mostly(_per_game(0, 2**52)),
    "heir": mostly(_choice("next_seat", "last_live")),
    "history": mostly(_number(-1, 6)),
    "history_length": mostly(_number(-1, 9)),
    "illegal": mostly(_choice("terminate", "raise", "random")),
    "indices": mostly(_choice(None, 0, [0, 1], [5])),
    "inference": mostly(_choice(0.0, 0.95)),
    "key": mostly(key),
    "keys": mostly(_per_game(-(2**63), 2**63)),
    "leader": mostly(_number(-1, 4)),
    "legal_cards": mostly(_number(0, 2**20)),
    "line_up": _bool,
    "mask": buffer(lambda b: (b.num_games, b.num_actions), np.int8),
    "max_episode_steps": mostly(_choice(None, -1, 1, 5)),
    "max_nodes": mostly(_choice(None, 0, 100)),
    "method_args": lambda rng, batch: (),
    "method_kwargs": lambda rng, batch: {},
    "method_name": mostly(_choice("action_masks", "render", "nothing", "close")),
    "mode": mostly(_choice("ansi", "svg", "rgb_array")),
    "machine": mostly(lambda rng, batch: HostMachine()),
    "move": mostly(move),
    "ms": mostly(_choice(0.0, 0.5)),
    "name": _choice("champion", "x"),
    "names": mostly(_choice(None, ["a", "b", "c", "d"], [])),
    "next_actions": buffer(lambda b: (b.num_games,), np.int64),
    "nodes": mostly(_choice(0, 50, 1000)),
    "num_envs": mostly(_number(-1, 4), 0.2),
    "num_games": mostly(_number(-1, 4), 0.2),
    "num_players": mostly(_number(1, 8)),
    "num_rounds": mostly(_choice(None, 0, 1, 3, -1, True)),
    "num_plays": mostly(_number(-1, 5)),
    "num_words": mostly(_number(1, 9)),
    "objective": mostly(_choice("", "points", "payments")),
    "observation": buffer(lambda b: (b.num_games, b.observation_size), np.uint8),
    "observe": _bool,
    "opponents": mostly(opponents),
    "options": mostly(options, 0.1),
    "out": buffer(lambda b: (b.num_games, b.num_actions), np.int8),
    "Batch.sample.out": buffer(lambda b: (b.num_games,), np.int64),
    "Batch.observe.out": buffer(lambda b: (b.num_games, b.observation_size), np.uint8),
    "Batch.global_observation.out": buffer(lambda b: (b.num_games, b.global_observation_size), np.uint8),
    "parameters": _choice(None),
    "pass_lock": _bool,
    "prior": mostly(_choice("", "random", "champion")),
    "prior_weight": mostly(_choice(0.0, 1.0)),
    "SearchAgent.set_prior.prior": mostly(lambda rng, batch: tienlen_agents.load("champion:worlds=0")),
    "probabilities": mostly(_choice(None, [1.0], [0.5, 0.5], [1, -1], [float("nan")])),
    "render_mode": mostly(_choice(None, "ansi", "rgb_array", "svg")),
    "reward": mostly(_choice("points", "zero_sum", "win", "cards")),
    "rewards": buffer(lambda b: (b.num_games, b.num_players), np.float32),
    "rng": mostly(_generator, 0.2),
    "rollout": mostly(_choice("", "heuristic", "greedy")),
    "round_index": mostly(_number(-1, 4)),
    "rounds": mostly(_per_game(-1, 5)),
    "EndgameSolver.solve.rows": mostly(endings, 0.1),
    "EndgameSolver.solve.wanted": mostly(_choice(None), 0.1),
    "EndgameSolver.solve.max_nodes": mostly(_choice(0, 1, 100, 20_000), 0.2),
    "rows": mostly(lambda rng, batch: batch.state.rows.copy()),
    "rules": mostly(_choice(*RULES, get_rules("foicica", 3), get_rules("cardgames", 2))),
    "sample": _bool,
    "scores": mostly(_choice(None, [0, 0, 0, 0], [1])),
    "seat": _seat,
    "seats": mostly(_per_game(-1, 4)),
    "seed": mostly(lambda rng, batch: rng.getrandbits(31)),
    "separator": mostly(_choice("", " ")),
    "shape": mostly(shape),
    "shapes": mostly(lambda rng, batch: [shape(rng, batch) for _ in range(rng.randrange(3))]),
    "since": mostly(_number(-1, 5)),
    "size": mostly(_choice("small", "large", "")),
    "skip_forced": _bool,
    "starter": mostly(mask_of_cards),
    "table": lambda rng, batch: batch.action_table,
    "context": lambda rng, batch: setup_context(),
    "text": mostly(text),
    "threads": mostly(_number(-1, 3), 0.2),
    "title": mostly(_choice(None, "x")),
    "until_placed": _bool,
    "value": lambda rng, batch: junk(rng),
    "values": mostly(lambda rng, batch: np.zeros(rng.choice((0, 3, 60)))),
    "view": mostly(view, 0.1),
    "wanted": mostly(_choice(0, 1, None)),
    "ThirteensRules.__init__.target": mostly(_number(-1, 60)),
    "aside_jokers": mostly(_choice("keep", "bury", "trick")),
    "attribute": mostly(_choice("ROUND")),
    "chop_longer": _bool,
    "chops": mostly(_choice({}, {1: ["4x1"]}, {1: ["2x3"], 2: ["2x4"]}, {9: ["x"]}, {1: "4x1"})),
    "cards_each": mostly(_number(-1, 19)),
    "deck": mostly(_choice("", "3s 3c 4s 4c 5s 5c", "3s 3s", "x", 7)),
    "first_lead": mostly(_choice("eldest", "thirteens", "x")),
    "flush_lock": _bool,
    "jokers": mostly(_number(-1, 4)),
    "knockout": mostly(_choice("none", "trick", "round")),
    "last_card_duty": mostly(_choice("none", "highest", "pays", "x")),
    "ladder": mostly(_choice((), ("4x1", "2x3"), ("x",), "4x1")),
    "melding": mostly(_choice("auto", "manual")),
    "opening": mostly(_choice("first", "every", "winner")),
    "opening_play": mostly(_choice("card", "free", "x")),
    "package": mostly(_choice("tienlen_env.single", "tienlen_env")),
    "points": mostly(_choice((3, 2, 1, 0), (1, 0), (40000, 0, 0, 0), (2**63, 0, 0, 0), (0.5, 0, 0, 0))),
    "rejoin": mostly(_choice((), ("4x1",), ("2x3",), ("9x9",))),
    "run_min": mostly(_number(-1, 15)),
    "rejoin_twos": _bool,
    "suits_bind": _bool,
    "round_end": mostly(_choice("last", "first", "x")),
    "instant_wins": mostly(_choice((), ("dragon",), ("four_twos", "six_pairs"), ("x",), "dragon")),
    "quad_is_two_pairs": _bool,
    "cong": mostly(_choice("out", "plays_on", "x")),
    "last_two": mostly(_choice("free", "ends", "x")),
    "held_overlap": mostly(_choice("dearest", "quads_first", "x")),
    "held_to": mostly(_choice("next", "first", "x")),
    "cong_held": mostly(_choice("added", "replaced", "x")),
    "chop_chain": mostly(_choice("last", "each", "x")),
    "chop_doubles": _bool,
    "chop_follow": mostly(_choice("paid", "free", "x")),
    "chop_out": mostly(_choice("pays", "nobody", "x")),
    "payments": mostly(_choice(None, Payments(pay_card=1), Payments(pay_instant=4), {"pay_card": 1})),
    "pay_places": mostly(_choice((), (2, 1), (1,), (-1, 2), (2**63, 1))),
    "pay_held_twos": mostly(_choice((0, 0), (1, 2), (2**63, 1), (1,))),
    "pay_chop_twos": mostly(_choice((0, 0), (1, 2), (2**63, 1), (1,))),
    "pay_held_bombs": mostly(_choice((), {"4x1": 6}, {"2x3": 2**63}, {"x": 1})),
    "pay_chop_bombs": mostly(_choice((), {"4x1": 6}, {"2x3": 2**63}, {"x": 1})),
    **dict.fromkeys(
        ("pay_card", "pay_cong", "pay_first", "pay_instant", "pay_last_two", "pay_last_three"),
        mostly(_choice(0, 1, 26, -1, 2**63)),
    ),
    "set_run_min": mostly(_number(-1, 15)),
    "target": mostly(_number(-1, 60)),
    "twos_in": mostly(_choice((), ("single",), ("run",), "sets", ("x",))),
    "weights": _choice(None),
    "whole_game": _bool,
    "width": mostly(_number(-1, 6)),
    "worlds": mostly(_number(-1, 5), 0.2),
    "wrapper_class": _choice(object, int, RandomAgent),
}
