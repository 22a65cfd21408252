"""Cards that cheats play instead of an action's own, for all places that judge; agents of other packages."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.needs import FOLDERS
from tienlen_env.engine.backends.per_game import card_check
from tienlen_env.engine.batch import Batch

FULL = (1 << 52) - 1


def other_hand(row: list[int], batch: Batch) -> int:
    """The hand of the next seat."""
    columns = batch.game.columns
    return row[columns.hand + (row[columns.turn] + 1) % batch.num_players]


# What a cheat plays instead of an action's own cards: ``(own cards, hand, hand of another seat, played)``.
CARDS: dict[str, Callable[[int, int, int, int], int]] = {
    "the whole hand": lambda own, hand, other, played: hand,
    "one card more": lambda own, hand, other, played: own | (hand & ~own & -(hand & ~own)),
    "one card fewer": lambda own, hand, other, played: own & (own - 1),
    "no cards": lambda own, hand, other, played: 0,
    "the rest of the hand": lambda own, hand, other, played: hand & ~own,
    "the highest card": lambda own, hand, other, played: 1 << hand.bit_length() - 1,
    "another seat's card": lambda own, hand, other, played: other & -other,
    "another seat's hand": lambda own, hand, other, played: other,
    "played cards": lambda own, hand, other, played: played,
    "own cards and played ones": lambda own, hand, other, played: own | played,
    "the full deck": lambda own, hand, other, played: FULL,
    "a card that does not exist": lambda own, hand, other, played: own | 1 << 60,
    "a negative mask": lambda own, hand, other, played: -1,
    "the sign bit": lambda own, hand, other, played: -(1 << 63),
}


def wrong_cards(batch: Batch, action: int) -> list[int]:
    """The cards of all cheats that are not legal cards of an action in game 0."""
    rows, spec, fields = batch.kernel_arrays
    row, columns = rows[0].tolist(), batch.game.columns
    hand = row[columns.hand + row[columns.turn]]
    played = sum(row[columns.played + seat] for seat in range(batch.num_players))
    own = int(batch.game.kernels.action_cards(hand, fields, action))
    found = {make(own, hand, other_hand(row, batch), played) for make in CARDS.values() if hand}
    is_refused = card_check(batch.game)
    return [cards for cards in found if is_refused(row, spec.tolist(), fields.tolist(), action, cards)]


def install_agents(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, kinds: Sequence[str]) -> None:
    """A package with some classes as agents, by their names in lower case, which other processes find, too.

    Each call needs a folder of its own.
    """
    module = f"foreign_{folder.name}"
    (folder / f"{module}.py").write_text(source)
    info = folder / "foreign_agents-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-agents\nVersion: 1\n")
    lines = [f"{kind.lower()} = {module}:{kind}" for kind in kinds]
    (info / "entry_points.txt").write_text("[tienlen.agents]\n" + "\n".join(lines) + "\n")
    paths = [folder, *FOLDERS, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(path) for path in paths if str(path)))
