"""A climbing game from outside, whose suits have another order: what is seen of it is right everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.tienlen_env.envs.test_outside_game import plain, shown
from tienlen_agents.external.messages import hello_message, play_requests
from tienlen_agents.terminal.human import Hints
from tienlen_agents.wasm.tables import _words_data
from tienlen_agents.words import words_of
from tienlen_env.engine.view import View
from tienlen_env.envs import GameEnv
from tienlen_env.games import registry
from tienlen_env.games.common import cards
from tienlen_env.games.common.game import Game, GameText
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.games.tienlen.game import TIENLEN
from tienlen_env.games.tienlen.rules import PRESETS, Rules
from tienlen_env.rendering import TableView, render_ansi, render_svg
from tienlen_env.single.base import BaseRound
from tienlen_env.single.session import Session

SUITS = str.maketrans("scdh", "dchs")  # diamonds are the lowest suit, as in Big Two


@dataclass(frozen=True)
class ClimbRules(RulesBase):
    """Rules whose only field is the number of players."""

    num_players: int = 4
    target: int = 0
    name = "climb"

    @property
    def base(self) -> Rules:
        return replace(PRESETS["cardgames"], num_players=self.num_players)


def format_cards(mask: int) -> str:
    return cards.format_cards(mask).translate(SUITS)


def parse_cards(text: str) -> int:
    return cards.parse_cards(text.translate(str.maketrans("dchs", "scdh")))


CLIMB: Game[Any, Any] = Game(
    name="climb",
    rules_type=ClimbRules,
    presets={"climb": ClimbRules()},
    rewards=("points",),
    columns=TIENLEN.columns,
    state=TIENLEN.state,
    kernels=TIENLEN.kernels,
    build_spec=lambda rules, **settings: TIENLEN.build_spec(rules.base, **settings),
    build_table=lambda rules: TIENLEN.build_table(rules.base),
    observation=lambda rules, history: TIENLEN.observation(rules.base, history),
    global_observation_size=lambda rules, history: TIENLEN.global_observation_size(rules.base, history),
    text=GameText(worst_reward=lambda rules, reward: 0.0, parse_cards=parse_cards, format_cards=format_cards),
)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_games", dict(registry._games))
    registry.register(CLIMB)


def led_by_a_pair() -> Session:
    """A session with a pair on the table."""
    for key in range(100):
        session = Session("climb", key)
        pair = next((play for play in session.legal if play.cards.bit_count() == 2), None)
        if pair is not None:
            session.apply(pair)
            return session
    raise AssertionError("no deal begins with a pair")


def test_a_view_has_the_facts_of_a_climbing_game() -> None:
    session = led_by_a_pair()
    (play,), seat = session.plays, session.current_seat
    view = session.view(seat)
    owner = (seat - 1) % 4
    assert view["table"] == format_cards(play.cards)
    assert (view["owner"], view["passed"], view["must"]) == (owner, [], "")
    assert view["played"][owner] == view["table"]  # type: ignore[index,call-overload]
    assert view["hand"] == format_cards(session.round.hand(seat))
    session.apply("pass")
    assert session.view(None)["passed"] == [seat]
    assert session.view(None)["lead_at"] == 0


def test_a_program_gets_these_facts() -> None:
    session = led_by_a_pair()
    (request,) = play_requests(session.agent_view(), [0], lambda _: (1, 1))
    assert request.message["table"] == format_cards(session.plays[0].cards)
    assert {"owner", "passed", "played"} <= request.message.keys()
    assert hello_message(session.rules, 100)["rules"]["game"] == "climb"  # type: ignore[index,call-overload]


def test_pictures_have_the_suits_and_the_table() -> None:
    session = led_by_a_pair()
    pair = format_cards(session.plays[0].cards).split()
    view = session.round.view()
    assert isinstance(view, TableView)
    text = plain(render_ansi(view))
    assert "table  empty" not in text
    symbols = dict(zip("scdh", "♠♣♦♥", strict=True))
    on_table = next(line for line in text.splitlines() if line.startswith("  table"))
    assert on_table.split()[1:] == [card[0].replace("T", "10") + symbols[card[1]] for card in pair]
    assert set(pair) <= set(shown(render_svg(view)))
    env = GameEnv("climb", render_mode="ansi")
    env.reset(seed=0)
    card = format_cards(env.batch.list_legal().cards[0])
    env.step(int(env.batch.list_legal().action[0]))
    drawn = next(line for line in plain(env.render()).splitlines() if line.startswith("  table"))
    assert drawn.split()[1] == card[0].replace("T", "10") + symbols[card[1]]


def test_the_browser_has_the_suits() -> None:
    words = _words_data(CLIMB, words_of(ClimbRules()))
    assert words["card_texts"][:4] == ["3d", "3c", "3h", "3s"]
    assert words["record"] == "climb/1"


def test_passing_needs_no_class_of_its_own() -> None:
    played = BaseRound("climb", 3)
    with pytest.raises(ValueError, match="pass refused"):
        played.pass_()
    played.play(played.legal_plays()[0])
    played.pass_()
    assert str(played.plays[-1]) == "pass"
    assert Hints().agent(played.rules).name == "random"
    assert View(played._batch).table_action[0] > 0
