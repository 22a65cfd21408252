"""A climbing game from outside, whose suits have another order: what is seen of it is right everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.tienlen_env.envs.test_outside_game import plain, shown
from tienlen_agents.arena.chunk import Recorder
from tienlen_agents.arena.play import play_deals
from tienlen_agents.external.messages import hello_message, play_requests
from tienlen_env.engine.view import View
from tienlen_env.envs.pettingzoo import GameEnv
from tienlen_env.errors import NotationError
from tienlen_env.games import registry
from tienlen_env.games.common import cards
from tienlen_env.games.common.game import GameDefinition, GameText
from tienlen_env.games.common.notation import Notation
from tienlen_env.games.common.rules import RulesBase
from tienlen_env.games.registry import get_rules
from tienlen_env.games.tienlen.game import TIENLEN
from tienlen_env.games.tienlen.rules import PRESETS, Rules
from tienlen_env.rendering import TableView, render_ansi, render_svg
from tienlen_env.single.base import BaseRound
from tienlen_env.single.session import Session
from tienlen_env.single.tienlen import Round
from tienlen_table.server.table import selection
from tienlen_table.terminal.human import Hints
from tienlen_table.wasm.entries import card_entries
from tienlen_table.wasm.tables import _words_data
from tienlen_table.words import table_words_of

SUITS = str.maketrans("scdh", "dchs")  # diamonds are the lowest suit, as in Big Two


@dataclass(frozen=True)
class ClimbRules(RulesBase):
    """Rules whose only field is the number of players."""

    num_players: int = 4
    target: int = 0
    name = "climb"

    def __post_init__(self) -> None:
        _ = self.base  # refuses what Tiến lên refuses

    @property
    def base(self) -> Rules:
        return replace(PRESETS["cardgames"], num_players=self.num_players)


def format_cards(mask: int) -> str:
    return cards.format_cards(mask).translate(SUITS)


def parse_cards(text: str) -> int:
    return cards.parse_cards(text.translate(str.maketrans("dchs", "scdh")))


CLIMB: GameDefinition[Any, Any] = GameDefinition(
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
    (play,), seat = session.plays, session.turn
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
    words = _words_data(CLIMB, table_words_of(ClimbRules()))
    assert words["card_texts"][:4] == ["3d", "3c", "3h", "3s"]
    assert words["record"] == "climb/1"


def test_passing_needs_no_class_of_its_own() -> None:
    played = BaseRound("climb", 3)
    with pytest.raises(ValueError, match="pass refused"):
        played.pass_()
    played.play(played.legal_plays()[0])
    played.pass_()
    assert str(played.plays[-1]) == "pass"
    view = View(played._batch)
    assert Hints().suggestion(view, 0, played).startswith("random would ")
    assert view.table_action[0] > 0


# ---------------------------------------------------------------- a choice of cards


def with_other_cards(session: Session) -> tuple[int, int, int]:
    """Play at random to an action of other cards than its own; the action, its own cards, and the others."""
    batch, exact = session.batch, Round("cardgames", 0)
    while not session.is_over:
        exact._rows[0] = batch.state.rows[0]
        own = {play.action: play.cards for play in session.legal}
        for play in exact.legal_plays(exact=True):
            if int(play) != own[play.action]:
                return play.action, own[play.action], int(play)
        session.apply(session.legal[len(session.legal) // 2])
    raise AssertionError("each action has one set of cards")


def test_a_record_has_the_cards_that_were_chosen() -> None:
    session = Session("climb", 5, whole_game=False)
    action, own, other = with_other_cards(session)
    hand = session.round.hand(session.turn)
    session.apply(session.round.play_of(action, other))
    seat = session.events[-1]["seat"]
    assert session.round.hand(seat) == hand & ~other == int(session.batch.state.hands[0, seat])  # type: ignore[arg-type]
    line = session.round.record()
    assert line.endswith(f" {action}:{format_cards(other).replace(' ', '')}")
    again = BaseRound.from_record(line)
    assert again.record() == line
    assert [play.cards for play in again.plays] == [play.cards for play in session.plays]
    again.undo()
    with pytest.raises(ValueError, match="refused"):
        again.play(again.play_of(action, other | 1 << 60))
    again.play(action)
    assert again.plays[-1].cards == own
    assert Notation("climb", get_rules, CLIMB.text, CLIMB.presets).parse_play(ClimbRules(), f"{action}:") == (
        action,
        0,
    )
    for wrong in (f"{action}:2s2s", "x:3s", f"{action}:3x"):
        with pytest.raises(NotationError):
            BaseRound.from_record(" ".join([*line.split()[:-1], wrong]))


def test_the_records_of_a_match_have_the_cards_that_were_chosen() -> None:
    class Chooses:
        """Plays the highest of its legal actions with the first other set of cards."""

        name = "chooses"

        def reset(self, seed: int) -> None:
            self.num_other = 0

        def act(self, view: View) -> Any:
            return self.act_cards(view)[0]

        def act_cards(self, view: View) -> Any:
            listed, exact = view.legal_actions, Round("cardgames", 0)
            last = listed.start + view.num_legal - 1
            actions, cards = listed.action[last], listed.cards[last]
            batch, games = view.source
            for i, row in enumerate(batch.state.rows[games]):
                exact._rows[0] = row
                plays = [int(play) for play in exact.legal_plays(exact=True) if play.action == actions[i]]
                self.num_other += plays[-1] != cards[i]
                cards[i] = plays[-1]
            return actions, cards

    agent = Chooses()
    agent.reset(0)
    keys = np.arange(6)
    recorder = Recorder(ClimbRules(), keys)
    played = play_deals([agent, agent], [0, 1, 0, 1], keys, ClimbRules(), on_plays=recorder)
    assert agent.num_other
    assert [list(BaseRound.from_record(line).scores) for line in recorder.records] == played.points.tolist()


def test_a_selection_is_any_legal_set_of_cards() -> None:
    session = Session("climb", 5, whole_game=False)
    _, own, other = with_other_cards(session)
    assert selection(session, own)[0]
    assert selection(session, other)[0]
    assert selection(session, other & -other)[1]
    assert not selection(session, 1 << 60)[0]
    assert [entry.name for entry in card_entries(CLIMB)] == ["find_action", "extensions"]
    assert card_entries(registry.game_named("thirteens")) == []
