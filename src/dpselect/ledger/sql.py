"""The statements, written once for every store."""

from __future__ import annotations

PAGE = 1_000  # entries that are read at once

ENTRY = (
    "number, kind, dataset, analyst, epsilon, delta, question, refers_to, release, at, previous, digest, "
    "question_hash, renyi, terms"
)
DATA = "dataset, epsilon, delta, terms, seal"
QUOTA = "dataset, analyst, granted_epsilon, granted_delta, seal"
USED = (
    "dataset, period, analyst, spent_epsilon, spent_delta, spent_renyi, "
    "reserved_epsilon, reserved_delta, reserved_renyi, seal"
)


def _of(table: str, columns: str) -> str:
    """The columns by their full names."""
    return ", ".join(f"{table}.{name}" for name in columns.split(", "))


META = "SELECT version, ledger, entries, head FROM meta WHERE id = 1"
VERSION = "SELECT version FROM meta WHERE id = 1"
END = (
    "SELECT version, ledger, entries, head, number, digest FROM meta LEFT JOIN entry "
    "ON number = (SELECT max(number) FROM entry) WHERE id = 1"
)
ONE_ENTRY = f"SELECT {ENTRY} FROM entry WHERE number = ?"
ONE_DATA = f"SELECT {DATA} FROM data WHERE dataset = ?"
ALL_DATA = f"SELECT {DATA} FROM data"
ONE_QUOTA = f"SELECT {QUOTA} FROM quota WHERE dataset = ? AND analyst = ?"
QUOTA_AND_DATA = (
    f"SELECT {_of('quota', QUOTA)}, {_of('data', DATA)} FROM quota LEFT JOIN data ON data.dataset = quota.dataset "
    "WHERE quota.dataset = ? AND quota.analyst = ?"
)
QUOTAS = f"SELECT {QUOTA} FROM quota"
TWO_USED = f"SELECT {USED} FROM used WHERE dataset = ? AND period = ? AND analyst IN (?, ?)"
ALL_USED = f"SELECT {USED} FROM used"
READ = "SELECT number FROM entry WHERE kind = 'read' AND refers_to = ?"
AFTER = (
    "SELECT kind FROM entry WHERE kind IN ('settle', 'return') AND refers_to = ? "
    "UNION ALL SELECT kind FROM entry WHERE kind = 'read' AND refers_to = ?"
)
SETTLE_OF = "SELECT number FROM entry WHERE kind = 'settle' AND refers_to = ?"
ASKED = "SELECT number FROM entry WHERE kind = 'hold' AND dataset = ? LIMIT 1"
ENTRIES = f"SELECT {ENTRY} FROM entry WHERE number > ? ORDER BY number LIMIT {PAGE}"
ENTRIES_OF = f"SELECT {ENTRY} FROM entry WHERE number > ? AND dataset = ? AND analyst = ? ORDER BY number LIMIT {PAGE}"
PENDING = f"""
SELECT {ENTRY} FROM entry WHERE number > ? AND kind = 'hold' AND NOT EXISTS (
    SELECT 1 FROM entry AS later WHERE later.kind IN ('settle', 'return') AND later.refers_to = entry.number
) ORDER BY number LIMIT {PAGE}
"""
RELEASED = """
SELECT s.number FROM entry r JOIN entry s ON s.kind = 'settle' AND s.refers_to = r.number
WHERE r.kind = 'hold' AND r.question_hash = ? AND r.dataset = ? AND r.question = ?
AND s.release IS NOT NULL ORDER BY s.number DESC LIMIT 1
"""


def _places(columns: str) -> str:
    return ", ".join("?" * len(columns.split(", ")))


def _put(table: str, columns: str, key: str, rows: int = 1) -> str:
    """Write rows in the place of those of the same keys."""
    rest = [name for name in columns.split(", ") if name not in key.split(", ")]
    given = ", ".join(f"{name} = excluded.{name}" for name in rest)
    places = ", ".join([f"({_places(columns)})"] * rows)
    return f"INSERT INTO {table} ({columns}) VALUES {places} ON CONFLICT ({key}) DO UPDATE SET {given}"


NEW_META = "INSERT INTO meta (id, version, ledger, entries, head) VALUES (1, ?, ?, 0, ?)"
NEW_ENTRY = f"INSERT INTO entry ({ENTRY}) VALUES ({_places(ENTRY)})"
SET_HEAD = "UPDATE meta SET entries = ?, head = ? WHERE id = 1"
SET_DATA = _put("data", DATA, "dataset")
SET_QUOTA = _put("quota", QUOTA, "dataset, analyst")
NEW_USED = f"INSERT INTO used ({USED}) VALUES ({_places(USED)}) ON CONFLICT (dataset, period, analyst) DO NOTHING"
SET_TWO_USED = _put("used", USED, "dataset, period, analyst", rows=2)
