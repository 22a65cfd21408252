"""Pictures of a table: every state in every mode, and nothing of a hidden hand in any of them."""

from __future__ import annotations

import random
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.plays import mask_of
from tienlen_env.errors import NotationError
from tienlen_env.games.common.cards import CARD_TEXT, card_ids, parse_cards
from tienlen_env.rendering import TableView, render_ansi, render_cards, render_rgb, render_svg

SMALL = 192  # pixels wide: what is tested does not need more
LONG_RUN = parse_cards("3s 4c 5s 6s 7d 8s 9c Td Jh Qd Kh As")


def start(num_players: int, *, face_up: bool = True, seed: int = 1, without: int = 0) -> TableView:
    """The start of a round; the cards `without` are in no hand."""
    deck = list(range(52))
    random.Random(seed).shuffle(deck)
    hands = tuple(mask_of(deck[13 * p : 13 * p + 13]) & ~without for p in range(num_players))
    return TableView(
        hands=hands,
        face_up=(face_up,) * num_players,
        table_cards=0,
        table_text="",
        owner=-1,
        turn=0,
        passed=frozenset(),
        places=(-1,) * num_players,
        scores=(0,) * num_players,
        last_plays=(None,) * num_players,
        names=tuple(f"player_{p}" for p in range(num_players)),
        title="cardgames · round 1",
    )


def hidden(num_players: int) -> TableView:
    return start(num_players, face_up=False)


def mid_trick(num_players: int) -> TableView:
    first, second = parse_cards("5s 6h 7d"), parse_cards("8s 9c Td")
    return replace(
        start(num_players, without=first | second),
        last_plays=(second, 0, first, 0)[:num_players],
        owner=0,
        table_cards=second,
        table_text="run of 3, Td",
        turn=0 if num_players == 2 else 2,
        passed=frozenset({1, 3}) & frozenset(range(num_players)),
        scores=(3, 12, 0, 5)[:num_players],
    )


def five_run(num_players: int) -> TableView:
    cards = parse_cards("3s 4s 5s 6s 7d")
    return replace(
        start(num_players, without=cards),
        face_up=(True,) + (False,) * (num_players - 1),
        table_cards=cards,
        table_text="run of 5, 7d",
        owner=0,
        turn=1,
        last_plays=(cards,) + (None,) * (num_players - 1),
    )


def twelve_run(num_players: int) -> TableView:
    beaten = parse_cards("3d 4d 5d 6d 7c 8c 9d Ts Jd Qs Ks Ac")
    return replace(
        start(num_players, without=LONG_RUN | beaten),
        table_cards=LONG_RUN,
        table_text="run of 12, As",
        owner=1,
        turn=num_players - 1,
        last_plays=(beaten, LONG_RUN) + (None,) * (num_players - 2),
    )


def finished(num_players: int) -> TableView:
    view = mid_trick(num_players)
    return replace(view, hands=(0, *view.hands[1:]), places=(0,) + (-1,) * (num_players - 1))


def over(num_players: int) -> TableView:
    return replace(
        start(num_players),
        hands=(0,) * (num_players - 1) + (parse_cards("4s 9d Th"),),
        places=tuple(range(num_players)),
        turn=-1,
        scores=(11, 7, 4, 2)[:num_players],
    )


def awkward(num_players: int) -> TableView:
    """Text that is too long, not Latin, empty, or would break a terminal or XML."""
    return replace(
        mid_trick(num_players),
        names=("a bot <v2> & co, " * 9, "中文玩家" * 5, "", "\x1b[31mred\n\x00")[:num_players],
        title='Tiến lên ]]> "quoted" & <title> ' * 5,
        table_text="</text> & " * 20,
        scores=(-10, 123456789, 1, 0)[:num_players],
    )


STATES: list[Callable[[int], TableView]] = [
    *(start, hidden, mid_trick, five_run, twelve_run, finished, over, awkward)
]
every_state = pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
every_table = pytest.mark.parametrize("num_players", [2, 3, 4])


def stripped(ansi: str) -> str:
    return re.sub(r"\033\[[0-9;]*m", "", ansi)


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def svg_cards(svg: str) -> Counter[str]:
    cards = (group.get("data-card") for group in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"))
    return Counter(card for card in cards if card)


def svg_text(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def public_cards(view: TableView) -> Counter[str]:
    masks = [h for h, up in zip(view.hands, view.face_up, strict=True) if up] + [view.table_cards]
    masks += [play for seat, play in enumerate(view.last_plays) if play and seat != view.owner]
    return Counter(CARD_TEXT[card] for mask in masks for card in card_ids(mask))


@every_table
@every_state
def test_svg_is_xml_with_each_public_card_once(state: Callable[[int], TableView], num_players: int) -> None:
    view = state(num_players)
    cards = svg_cards(render_svg(view))
    assert cards == public_cards(view)
    assert not cards or max(cards.values()) == 1


@every_table
@every_state
def test_rgb_shape_and_type(state: Callable[[int], TableView], num_players: int) -> None:
    frame = render_rgb(state(num_players), SMALL)
    assert frame.shape == (SMALL * 3 // 4, SMALL, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.writeable
    assert len(np.unique(frame)) > 50


@every_table
@every_state
def test_ansi_fits_a_terminal(state: Callable[[int], TableView], num_players: int) -> None:
    view = state(num_players)
    text = stripped(render_ansi(view))
    assert max(map(columns, text.splitlines())) <= 80
    assert text.replace("\n", "").isprintable()
    shown = re.findall(r"(?:10|[2-9JQKA])[♠♣♦♥]", text)
    assert Counter(f"{c[:-1]}{c[-1]}" for c in shown) == Counter(
        c[0].replace("T", "10") + "♠♣♦♥"["scdh".index(c[1])] for c in public_cards(view).elements()
    )


@every_table
def test_hidden_hands_do_not_leak(num_players: int) -> None:
    """Two deals that differ in hidden cards only are the same picture."""
    one = five_run(num_players)
    other = replace(one, hands=one.hands[:1] + tuple(_another_hand(h) for h in one.hands[1:]))
    assert one.hands != other.hands
    assert render_svg(one) == render_svg(other)
    assert render_ansi(one) == render_ansi(other)
    np.testing.assert_array_equal(render_rgb(one, SMALL), render_rgb(other, SMALL))


def _another_hand(hand: int) -> int:
    """As many cards, none of them the same."""
    others = [card for card in range(52) if not hand >> card & 1]
    return mask_of(others[: hand.bit_count()])


@every_table
def test_turn_is_highlighted(num_players: int) -> None:
    """Words in text and SVG; in pixels the light is where that seat sits."""
    frames = {}
    for seat in range(num_players):
        view = replace(start(num_players), turn=seat)
        assert stripped(render_ansi(view)).count("to play") == 1
        assert f"► {' '}player_{seat}" in stripped(render_ansi(view))
        assert svg_text(render_svg(view)).count("to play") == 1
        assert f"player_{seat} leads" in svg_text(render_svg(view))
        frames[seat] = render_rgb(view, SMALL)
    assert "to play" not in svg_text(render_svg(over(num_players)))
    # Seat 0 sits at the bottom: the foot of the table changes when the turn leaves it.
    foot = np.s_[SMALL * 3 // 4 - 24 : SMALL * 3 // 4 - 8, SMALL // 3 : -SMALL // 3]
    assert np.abs(frames[0][foot].astype(int) - frames[1][foot].astype(int)).mean() > 10


def test_seats_go_round_to_the_left() -> None:
    """RULES.md 1.15: seat 0 at the bottom, 1 left, 2 top, 3 right."""
    found = {}
    for group in ET.fromstring(render_svg(hidden(4))):
        place = re.match(r"translate\(([\d.]+) ([\d.]+)\)", group.get("transform", ""))
        texts = [text.text or "" for text in group if text.tag.endswith("text")]
        if place and any("cards" in text for text in texts):
            name = next(text for text in texts if text.startswith("player_"))
            found[name[-1]] = float(place[1]), float(place[2])
    assert found["1"][0] < found["0"][0] == found["2"][0] < found["3"][0]
    assert found["2"][1] < found["1"][1] == found["3"][1] < found["0"][1]


@every_table
def test_badges_scores_and_counts(num_players: int) -> None:
    for draw in (
        lambda view: "\n".join(svg_text(render_svg(view))),
        lambda view: stripped(render_ansi(view)),
    ):
        ended = draw(over(num_players))
        for word in ["1st", "2nd", "3rd", "4th"][:num_players]:
            assert word in ended
        assert "11 points" in ended
        assert "3 cards" in ended
        assert "game over · player_0 wins" in ended
        assert "pass" in draw(mid_trick(num_players))
        assert "pass" not in draw(start(num_players))
        assert re.search(r"1 point\b", draw(replace(start(num_players), scores=(1,) * num_players)))


def test_a_locked_seat_that_may_act_is_not_greyed() -> None:
    """RULES.md 3.6: a player who passed may be offered the turn."""
    view = replace(mid_trick(4), turn=1)
    assert view.badge(1) == "to play"
    assert not view.is_idle(1)
    assert view.is_idle(3)


def test_text_is_escaped() -> None:
    svg = render_svg(awkward(4))
    assert "<v2>" not in svg
    assert "<title>" not in svg
    assert any("<v2> &" in text for text in svg_text(svg))
    ansi = render_ansi(awkward(4))
    assert "\x1b[31mred" not in ansi
    assert "\x00" not in ansi + svg


@every_table
@every_state
def test_text_stays_in_the_picture(state: Callable[[int], TableView], num_players: int) -> None:
    """No text leaves the picture, and the title ends before the status begins."""
    header = []
    for group in ET.fromstring(render_svg(state(num_players))):
        place = re.match(r"translate\((\S+) (\S+)\)", group.get("transform", ""))
        for text in group.iter("{http://www.w3.org/2000/svg}text"):
            assert place is not None
            width = float(text.get("textLength", "nan"))
            shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "")]
            left = float(place[1]) + float(text.get("x", "nan")) - shift * width
            assert 0 <= left <= left + width <= 960
            if float(place[2]) < 40:
                header.append((left, left + width))
    title, status = sorted(header)
    assert title[1] < status[0]


def test_a_draw_has_no_winner() -> None:
    assert replace(over(4), scores=(6, 6, 0, 0)).headline == "game over"


@pytest.mark.parametrize("field", ["face_up", "places", "scores", "last_plays", "names"])
def test_lengths_must_agree(field: str) -> None:
    view = start(4)
    with pytest.raises(ValueError, match=field):
        replace(view, **{field: getattr(view, field)[:3]})


@pytest.mark.parametrize(
    ("field", "value"), [("turn", 4), ("owner", -2), ("passed", frozenset({4})), ("places", (0, 1, 2, 9))]
)
def test_seats_and_places_must_exist(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        replace(start(4), **{field: value})


def test_num_players() -> None:
    one = {"hands": (1,), "face_up": (True,), "places": (-1,), "scores": (0,), "last_plays": (None,)}
    with pytest.raises(ValueError, match=r"2\.\.7"):
        replace(start(2), **one, names=("alone",))


def test_width() -> None:
    assert render_rgb(start(2), 100).shape == (75, 100, 3)
    with pytest.raises(ValueError, match="width=10"):
        render_rgb(start(2), 10)


# ---------------------------------------------------------------- sets of cards side by side


def test_sets_of_cards_show_every_card_in_order() -> None:
    drawing = render_cards([("5c 5h", "pair"), (0, "beats"), (LONG_RUN, "a run & more")])
    shown = re.findall(r'data-card="(..)"', drawing)
    assert shown == ["5c", "5h", *(CARD_TEXT[card] for card in card_ids(LONG_RUN))]
    texts = [node.text for node in ET.fromstring(drawing).iter() if node.tag.endswith("text")]
    assert {"pair", "beats", "a run & more"} <= set(texts)


@pytest.mark.parametrize("width", [200, 500, 960])
def test_sets_of_cards_break_lines_at_the_width(width: int) -> None:
    drawing = ET.fromstring(render_cards([("3s", str(i)) for i in range(12)], width=width))
    assert float(drawing.get("width", 0)) <= width
    per_line = (width - 26) // (68 + 26)
    lines = -(-12 // per_line)
    one = float(ET.fromstring(render_cards([("3s", "0")])).get("height", 0))
    assert float(drawing.get("height", 0)) == pytest.approx(one + (lines - 1) * (94 + 1.9 * 15 + 26))


def test_sets_of_cards_refuse_what_is_none() -> None:
    with pytest.raises(ValueError, match="no sets"):
        render_cards([])
    with pytest.raises(ValueError, match="not a valid mask"):
        render_cards([(1 << 52, "")])
    with pytest.raises(NotationError):
        render_cards([("1s", "")])
