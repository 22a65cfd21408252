"""The module ``table.wasm``: the state machine of a table (`tienlen_table.machine`), and who has won.

No module of a game imports this one, so a change of it compiles no game anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tienlen_env.single.standing import winner_of
from tienlen_table import machine
from tienlen_table.engine import build_functions
from tienlen_table.engine.entries import ANY_LENGTH, INT, INTS, EngineEntry, Ptr, view


def build_table(out: Path) -> Path:
    """Build the module, and ``table.json`` with the names of its numbers; returns the module's path."""
    kinds = {"events": machine.TableEvent, "refusals": machine.TableRefusal, "players": machine.TablePlayer}
    names = {key: {member.name: member.value for member in kind} for key, kind in kinds.items()}
    tables: dict[str, Any] = {"fields": machine.FIELDS, "seats": machine.SEATS, **names}
    return build_functions("table", f"{__name__}:table_entries", tables, out)


def table_entries() -> list[EngineEntry]:
    """``react`` and ``winner``: the state machine of a table, and who has won."""

    def react(table_at: Ptr, plays_at: Ptr, event: int, seat: int, number: int) -> int:
        """`tienlen_table.machine.react`."""
        plays = view(plays_at, ANY_LENGTH)
        return machine.react(view(table_at, machine.NUM_NUMBERS), plays, event, seat, number)

    def winner(
        places_at: Ptr, points_at: Ptr, units_at: Ptr, num_seats: int, is_game: int, is_for_units: int
    ) -> int:
        """`tienlen_env.single.standing.winner_of`."""
        places, points, units = (
            view(places_at, num_seats),
            view(points_at, num_seats),
            view(units_at, num_seats),
        )
        return winner_of(places, points, units, num_seats, is_game != 0, is_for_units != 0)

    return [
        EngineEntry("react", react, (INTS, INTS, INT, INT, INT)),
        EngineEntry("winner", winner, (INTS, INTS, INTS, INT, INT, INT)),
    ]
