"""Pictures of a game of tricks: every table in every mode, the trick in order, nothing of a hidden hand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from tienlen_env.engine.batch import Batch
from tienlen_env.games.thirteens.cards import CARD_TEXT, parse_cards
from tienlen_env.games.thirteens.rules import ThirteensRules
from tienlen_env.rendering import TrickView, render_ansi, render_rgb, render_svg
from tienlen_env.rendering.scene import HEIGHT, WIDTH, build_scene
from tienlen_env.single.painter import Painter
from tienlen_env.single.thirteens import melds_text

TABLES = [
    ThirteensRules(num_players=3, jokers=0),
    ThirteensRules(num_players=3, jokers=2, dummy=True),
    ThirteensRules(melding="manual"),
    *(ThirteensRules(num_players=n, jokers=2) for n in (5, 6, 7)),
]


def moments(rules: ThirteensRules, every: int = 9) -> list[TrickView]:
    """Some moments of a deal played at random, the last one included."""
    batch = Batch(rules, 1, backend="python")
    batch.deal([3])
    memory, rng, found = Painter(batch), np.random.default_rng(0), []
    for step in range(1000):
        over = batch.state.turn[0] < 0
        if step % every == 0 or over or batch.state.pile[0]:
            found.append(memory.view())
        if over:
            return found
        batch.step(batch.sample(rng))
    raise AssertionError("a deal does not end")


def plain(text: str) -> str:
    return re.sub(r"\033\[[0-9;]*m", "", text)


@pytest.mark.parametrize("rules", TABLES, ids=lambda rules: f"{rules.name}-{rules.num_players}")
def test_every_moment_in_every_mode(rules: ThirteensRules) -> None:
    views = moments(rules)
    assert any(view.trick for view in views)
    assert {view.task for view in views} >= {"leads", "to play"}
    for view in views:
        text = plain(render_ansi(view))
        assert max(map(len, text.splitlines())) <= 80
        assert all(name in text for name in view.names)
        ET.fromstring(render_svg(view))
    assert render_rgb(views[-1], 192).shape == (144, 192, 3)
    assert ("melds" in {view.task for view in views}) == (rules.melding == "manual")


@pytest.mark.parametrize("rules", TABLES, ids=lambda rules: f"{rules.name}-{rules.num_players}")
def test_nothing_lies_outside_the_picture_and_hands_do_not_touch(rules: ThirteensRules) -> None:
    batch = Batch(rules, 1, backend="python")
    batch.deal([3])
    view = Painter(batch).view()
    for placed in build_scene(view):
        assert placed.x - placed.art.width / 2 >= 0
        assert placed.x + placed.art.width / 2 <= WIDTH
        assert placed.y - placed.art.height / 2 >= 0
        assert placed.y + placed.art.height / 2 <= HEIGHT
    hands = [set(view.hand(seat)) for seat in range(view.num_players)]
    boxes = []
    for hand in hands:
        cards = [p for p in build_scene(view) if p.art.card in hand]
        assert len(cards) == len(hand)
        left, right = min(p.x for p in cards) - 28, max(p.x for p in cards) + 28
        boxes.append((left, right, min(p.y for p in cards) - 39, max(p.y for p in cards) + 39))
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]


def test_the_trick_is_drawn_in_order() -> None:
    view = next(view for view in moments(ThirteensRules(num_players=5), 1) if len(view.trick) == 4)
    drawn = re.findall(r'data-card="(..)"', render_svg(view))
    trick = [CARD_TEXT[card] for card in view.trick]
    assert [card for card in drawn if card in trick] == trick
    assert len([card for card in drawn if card in trick]) == len(trick)
    lines = plain(render_ansi(view)).partition("\n  trick")[2].splitlines()
    seats = [(view.leader + i) % 5 for i in range(4)]
    assert [re.search(r"player_(\d)", line)[1] for line in lines[:4]] == [str(seat) for seat in seats]  # type: ignore[index]
    assert [("winning" in line) for line in lines[:4]] == [seat == view.winner for seat in seats]


def test_cards_beside_the_trick_are_explained() -> None:
    view = next(view for view in moments(ThirteensRules(num_players=3), 1) if view.trick and view.aside)
    assert "goes to the winner of the trick" in plain(render_ansi(view))


def test_hidden_hands_do_not_show() -> None:
    for view in moments(ThirteensRules(num_players=6, jokers=2)):
        shown = replace(view, face_up=(True,) + (False,) * 5)
        others = [(1 << hand.bit_count()) - 1 for hand in view.hands[1:]]
        other = replace(shown, hands=(view.hands[0], *others))
        assert render_svg(shown) == render_svg(other)
        assert render_ansi(shown) == render_ansi(other)


def test_the_text_of_melds() -> None:
    """RULES.md 8.11: {3, 5, 5, 10} is a thirteen and a pair."""
    assert melds_text(parse_cards("3s 5s 5h Td")) == "10+3 and 5 5"
    assert melds_text(parse_cards("Ks Qd Ac 7h")) == "K and Q+A"
    assert melds_text(parse_cards("2s 9d *1")) == "nothing to meld"
    assert melds_text(parse_cards("7s 8d 9c")) == "7-8-9"


def test_the_end_names_the_winner_and_all_places() -> None:
    view = moments(ThirteensRules(num_players=7))[-1]
    assert view.turn < 0
    best = [seat for seat in range(7) if view.points[seat] == max(view.points)]
    assert [seat for seat in range(7) if view.badge(seat) == "1st"] == best
    assert view.headline.startswith("game over")


@pytest.mark.parametrize(
    "change",
    [
        {"points": (0,)},
        {"leader": 4},
        {"winner": -2},
        {"turn": 4},
        {"trick": (0, 1, 2, 3, 4)},
        dict.fromkeys(("hands", "face_up", "places", "tricks", "points", "scores", "names"), (0,)),
    ],
)
def test_impossible_views_are_refused(change: dict[str, object]) -> None:
    view = moments(ThirteensRules())[0]
    with pytest.raises(ValueError, match=next(iter(change))):
        replace(view, **change)  # type: ignore[arg-type]


def test_the_painter_asks_the_game() -> None:
    for name in ("thirteens", "cardgames"):
        batch = Batch(name, 2)
        batch.reset(0)
        assert name in plain(Painter(batch, 1).render("ansi"))
