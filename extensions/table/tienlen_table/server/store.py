"""The games of the server in SQLite.

A move is in the file before any client gets it, so a server that is killed at any moment loses nothing
that a player has seen. Of the tokens of seats the file has only digests: who reads it cannot take a seat.
The token of the home network is there as text, so that open pages find their server again after a restart;
only the user can read the file.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tienlen_agents.files import locked, refusing

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS games (
    id INTEGER PRIMARY KEY,
    created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    rules TEXT NOT NULL,
    key INTEGER NOT NULL,
    whole_game INTEGER NOT NULL,
    num_rounds INTEGER,
    is_ended INTEGER NOT NULL DEFAULT 0,
    pause INTEGER NOT NULL,
    seats TEXT NOT NULL,
    rounds_seen INTEGER NOT NULL DEFAULT 0,
    record TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS tokens (
    digest TEXT PRIMARY KEY,
    game INTEGER NOT NULL REFERENCES games (id),
    seat INTEGER,
    name TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plays (
    game INTEGER NOT NULL REFERENCES games (id),
    number INTEGER NOT NULL,
    play TEXT NOT NULL,
    PRIMARY KEY (game, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 3;
"""
_VERSION: Final = 3
_HEADER: Final = b"SQLite format 3\0"  # SQLite itself takes a file of few bytes for an empty one


class StoreError(OSError):
    """The file is not a store of games, or one of another version."""


@dataclass(frozen=True)
class Stored:
    """A game as it is stored.

    Attributes:
        id: its number.
        rules: name of the preset.
        key: of the deals, signed.
        whole_game: rounds to the target, or `num_rounds`, instead of one.
        num_rounds: of the game, 0 for no end; None: as the rules say.
        is_ended: its players have ended it.
        pause: milliseconds before an agent's play.
        seats: ``"human"`` or an agent's name, by seat.
        rounds_seen: the number of finished rounds after which a person went on.
        plays: the texts of all plays.
        people: names that people have given, by seat.
    """

    id: int
    rules: str
    key: int
    whole_game: bool
    num_rounds: int | None
    is_ended: bool
    pause: int
    seats: tuple[str, ...]
    rounds_seen: int
    plays: tuple[str, ...]
    people: dict[int, str]


def digest_of(token: str) -> str:
    """What the file has of a token. A token has 192 random bits, so one round of SHA-256 is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def check_header(path: Path, *, must_exist: bool) -> None:
    """Refuse a file that SQLite has not written, before anything is written.

    Raises:
        StoreError: it is not a file of SQLite, it cannot be read, or `must_exist` and there is none.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(len(_HEADER))
    except FileNotFoundError as error:
        if must_exist:
            raise StoreError(f"{path}: {error.strerror}") from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    else:
        if begin not in (b"", _HEADER):
            raise StoreError(f"{path}: not a store of games: not a file of SQLite")


def columns_of(file: sqlite3.Connection) -> set[str]:
    """The columns of all tables, as ``table.column``."""
    rows = file.execute(
        "SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c "
        "WHERE t.type = 'table'"
    )
    return {name for (name,) in rows}


class Store:
    """The file.

    Args:
        path: of the file, made if it is not there; ``":memory:"`` for none.
        shared: another server may have the file; only read it then.

    Raises:
        StoreError: the file cannot be opened, is of another version, or another server has it.
    """

    def __init__(self, path: str | Path, *, shared: bool = False) -> None:
        self._lock = ExitStack()
        if str(path) != ":memory:":
            path = Path(path)
            check_header(path, must_exist=shared)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if not shared:
                    self._lock.enter_context(locked(path))
                path.touch(mode=0o600)
            except BlockingIOError as error:
                raise StoreError(
                    f"{path}: another server has these games; name another file (--games)"
                ) from error
            except OSError as error:
                self._lock.close()
                raise StoreError(f"{path}: {error.strerror}") from error
        try:
            self._open(path)
        except BaseException:
            self._lock.close()
            raise

    def _open(self, path: str | Path) -> None:
        with refusing(f"{path}: not a store of games", StoreError):
            self._file = sqlite3.connect(str(path), isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA foreign_keys = ON")
            (version,) = self._file.execute("PRAGMA user_version").fetchone()
            if version not in range(_VERSION + 1):
                raise ValueError(f"of version {version}, expected {_VERSION}")
            fresh = sqlite3.connect(":memory:")
            fresh.executescript(_TABLES)
            expected = columns_of(fresh)
            fresh.close()
            tables = {name.partition(".")[0] for name in expected}
            if others := sorted({name.partition(".")[0] for name in columns_of(self._file)} - tables):
                raise ValueError(f"another program has the table {others[0]} there")
            with self._file:  # all or nothing, whenever the server is killed
                self._file.execute("BEGIN")
                if version == 1:  # before games of a number of rounds
                    for column in ("num_rounds INTEGER", "is_ended INTEGER NOT NULL DEFAULT 0"):
                        self._file.execute(f"ALTER TABLE games ADD COLUMN {column}")
                if version in (1, 2):  # before names of people
                    self._file.execute("ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT ''")
                    self._file.execute(f"PRAGMA user_version = {_VERSION}")
            (found,) = self._file.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise ValueError(f"damaged, put back a sound copy ({found})")
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.executescript(_TABLES)
            if missing := sorted(expected - columns_of(self._file)):
                raise ValueError(f"the column {missing[0]} is missing")

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._lock.close()

    def join_token(self) -> str:
        """The token of the home network: the same as long as the file is there."""
        self._file.execute(
            "INSERT OR IGNORE INTO settings VALUES ('join_token', ?)", (secrets.token_urlsafe(12),)
        )
        (token,) = self._file.execute("SELECT value FROM settings WHERE name = 'join_token'").fetchone()
        return str(token)

    def add(
        self,
        rules: str,
        key: int,
        seats: Sequence[str],
        tokens: Sequence[tuple[str, int | None]],
        *,
        whole_game: bool,
        num_rounds: int | None = None,
        pause: int,
    ) -> int:
        """Store a new game; `tokens` are those of its seats, None for an observer.

        Returns:
            Its number.
        """
        with self._file:
            self._file.execute("BEGIN")
            row = self._file.execute(
                "INSERT INTO games (rules, key, whole_game, num_rounds, pause, seats) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (rules, key, whole_game, num_rounds, pause, json.dumps(list(seats))),
            )
            game = row.lastrowid
            assert game is not None  # one row was inserted
            self._file.executemany(
                "INSERT INTO tokens (digest, game, seat) VALUES (?, ?, ?)",
                [(digest_of(t), game, seat) for t, seat in tokens],
            )
        return game

    def again(self, game: int, key: int) -> int:
        """Store a new game with the seats, and now the tokens, of another one; returns its number."""
        with self._file:
            self._file.execute("BEGIN")
            row = self._file.execute(
                "INSERT INTO games (rules, key, whole_game, num_rounds, pause, seats) "
                "SELECT rules, ?, whole_game, num_rounds, pause, seats FROM games WHERE id = ?",
                (key, game),
            )
            self._file.execute("UPDATE tokens SET game = ? WHERE game = ?", (row.lastrowid, game))
        assert row.lastrowid is not None  # one row was inserted
        return row.lastrowid

    def find(self, token: str) -> tuple[int, int | None] | None:
        """The game and seat of a token; None if there is none."""
        row = self._file.execute(
            "SELECT game, seat FROM tokens WHERE digest = ?", (digest_of(token),)
        ).fetchone()
        return None if row is None else (int(row[0]), row[1])

    def load(self, game: int) -> Stored:
        """A game."""
        columns = "id, rules, key, whole_game, num_rounds, is_ended, pause, seats, rounds_seen"
        row = self._file.execute(f"SELECT {columns} FROM games WHERE id = ?", (game,)).fetchone()
        plays = self._file.execute("SELECT play FROM plays WHERE game = ? ORDER BY number", (game,))
        named = self._file.execute("SELECT seat, name FROM tokens WHERE game = ? AND name != ''", (game,))
        number, rules, key, whole, num_rounds, is_ended, pause, seats, seen = row
        seated, texts = tuple(json.loads(seats)), tuple(text for (text,) in plays)
        ends = (bool(whole), num_rounds, bool(is_ended))
        return Stored(number, rules, key, *ends, pause, seated, seen, texts, dict(named))

    def name(self, game: int, seat: int, name: str) -> None:
        """Store the name that a person has given; another game with the same links has it, too."""
        self._file.execute("UPDATE tokens SET name = ? WHERE game = ? AND seat = ?", (name, game, seat))

    def add_play(self, game: int, number: int, play: str) -> None:
        """Store a play."""
        self._file.execute("INSERT INTO plays VALUES (?, ?, ?)", (game, number, play))

    def cut(self, game: int, num_plays: int, rounds_seen: int) -> None:
        """Keep the first plays only, and that a person went on after `rounds_seen` rounds."""
        with self._file:
            self._file.execute("BEGIN")
            self._file.execute("DELETE FROM plays WHERE game = ? AND number >= ?", (game, num_plays))
            self._file.execute(
                "UPDATE games SET rounds_seen = ?, is_ended = 0 WHERE id = ?", (rounds_seen, game)
            )

    def finish(self, game: int, record: str, *, is_ended: bool = False) -> None:
        """Store the record of a finished game, and whether its players have ended it."""
        self._file.execute("UPDATE games SET record = ?, is_ended = ? WHERE id = ?", (record, is_ended, game))

    def records(self) -> list[str]:
        """The records of all finished games, oldest first."""
        rows = self._file.execute("SELECT record FROM games WHERE record != '' ORDER BY id")
        return [text for (text,) in rows]
