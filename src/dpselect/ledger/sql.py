"""The statements, written once for every store."""

from __future__ import annotations

PAGE = 1_000  # entries that are read at once

ENTRY = (
    "number, kind, dataset, analyst, epsilon, delta, question, refers_to, release, at, previous, digest, question_hash"
)
_AMOUNTS = "granted_epsilon, granted_delta, spent_epsilon, spent_delta, reserved_epsilon, reserved_delta, seal"
BALANCE = f"dataset, analyst, {_AMOUNTS}"

META = "SELECT version, born, ledger, entries, head FROM meta WHERE id = 1"
VERSION = "SELECT version FROM meta WHERE id = 1"
LAST = "SELECT number, digest FROM entry ORDER BY number DESC LIMIT 1"
ONE_ENTRY = f"SELECT {ENTRY} FROM entry WHERE number = ?"
ONE_BALANCE = f"SELECT {BALANCE} FROM balance WHERE dataset = ? AND analyst = ?"
BALANCES = f"SELECT {BALANCE} FROM balance"
CLOSED = "SELECT number, kind FROM entry WHERE kind IN ('settle', 'return') AND refers_to = ?"
READ = "SELECT number FROM entry WHERE kind = 'read' AND refers_to = ?"
ENTRIES = f"SELECT {ENTRY} FROM entry WHERE number > ? ORDER BY number LIMIT {PAGE}"
ENTRIES_OF = f"SELECT {ENTRY} FROM entry WHERE number > ? AND dataset = ? AND analyst = ? ORDER BY number LIMIT {PAGE}"
PENDING = f"""
SELECT {ENTRY} FROM entry WHERE number > ? AND kind IN ('reserve', 'hold') AND NOT EXISTS (
    SELECT 1 FROM entry AS later WHERE later.kind IN ('settle', 'return') AND later.refers_to = entry.number
) ORDER BY number LIMIT {PAGE}
"""
RELEASED = """
SELECT s.number FROM entry r JOIN entry s ON s.kind = 'settle' AND s.refers_to = r.number
WHERE r.kind IN ('reserve', 'hold') AND r.question_hash = ? AND r.dataset = ? AND r.analyst = ? AND r.question = ?
AND s.release IS NOT NULL ORDER BY s.number DESC LIMIT 1
"""

NEW_META = "INSERT INTO meta (id, version, born, ledger, entries, head) VALUES (1, ?, ?, ?, 0, ?)"
NEW_ENTRY = f"INSERT INTO entry ({ENTRY}) VALUES ({', '.join('?' * len(ENTRY.split(', ')))})"
SET_VERSION = "UPDATE meta SET version = ? WHERE id = 1"
SET_HEAD = "UPDATE meta SET entries = ?, head = ? WHERE id = 1"
_AS_GIVEN = ", ".join(f"{name} = excluded.{name}" for name in _AMOUNTS.split(", "))
SET_BALANCE = (
    f"INSERT INTO balance ({BALANCE}) VALUES ({', '.join('?' * len(BALANCE.split(', ')))}) "
    f"ON CONFLICT (dataset, analyst) DO UPDATE SET {_AS_GIVEN}"
)
