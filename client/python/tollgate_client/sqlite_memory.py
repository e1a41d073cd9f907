"""A memory in SQLite: which requests were begun, and what became of them. In your own database it is the same three statements."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path

from .memory import Begun, Ending

TABLE = """
CREATE TABLE IF NOT EXISTS begun (
  correlation_id TEXT PRIMARY KEY, operation TEXT NOT NULL, merchant_id INTEGER NOT NULL, reference TEXT NOT NULL,
  amount_cents INTEGER, currency TEXT, target_audit INTEGER, begun_at REAL NOT NULL,
  ending TEXT, audit INTEGER, outcome TEXT
)
"""
BEGIN = """
INSERT INTO begun (correlation_id, operation, merchant_id, reference, amount_cents, currency, target_audit, begun_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (correlation_id) DO UPDATE SET ending = NULL
"""
END = "UPDATE begun SET ending = ?, audit = ?, outcome = ? WHERE correlation_id = ?"
OPEN = """
SELECT correlation_id, operation, merchant_id, reference, amount_cents, currency, target_audit, begun_at FROM begun
WHERE ending IS NULL ORDER BY begun_at
"""


class SqliteMemory:
    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # Durable when it returns, also if the machine stops.
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(TABLE)

    def begin(self, begun: Begun) -> None:
        with self._lock:
            self._database.execute(BEGIN, astuple(begun))

    def end(self, correlation_id: str, ending: Ending) -> None:
        with self._lock:
            self._database.execute(END, (ending.kind, ending.audit, ending.outcome, correlation_id))

    def open(self) -> Iterable[Begun]:
        with self._lock:
            return [Begun(*row) for row in self._database.execute(OPEN)]

    def close(self) -> None:
        self._database.close()
