"""The record of one data set as a page: one file, which needs no other and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dpselect._ground.budget_parts import format_left, percent
from dpselect.audit.spending import SpentSoFar, picture
from dpselect.release.formatting import text

if TYPE_CHECKING:
    from dpselect.release.formatting import Json

STYLE = """
:root { color-scheme: light dark; --line: #8886; --ink: #345c8a; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; font-size: 0.85rem; width: 100%; }
th, td { text-align: left; padding: 0.25rem 0.6rem 0.25rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .bad { font-weight: bold; } code { font-size: 0.85em; overflow-wrap: anywhere; }
"""
MOST_LINES = 8  # in the picture; the table has all periods
SIDE_CHANNELS = (
    "The run time and memory of a question depend slightly on the data, so people who must not see the data "
    "should not be able to time questions. Failures after the first row are charged. Refusals and balances depend on "
    "the prices of earlier answers, which the promise covers."
)


def page(found: Mapping[str, Any]) -> str:
    """The HTML of what `dpselect.audit.report.report` found."""
    body = [
        f"<h1>The privacy record of {escape(found['dataset'])}</h1>",
        _summary(found),
        _picture(found["used"]),
        "<h2>Unit of privacy</h2>",
        f"<p>The promise is to {escape(found['unit'])}: whether its rows are in the data or not.</p>",
        _periods_said(found),
        "<h2>Epsilon and delta</h2>",
        _promise(found),
        _table("Promises and grants", found["changes"], ("when", "what", "epsilon", "delta")),
        _table("Used", found["periods"], ("period", "used", "reserved", "epsilon", "renyi", "delta")),
        _table("Analysts", found["analysts"], ("analyst", "period", "granted_epsilon", "granted_delta", "left")),
        "<h2>Questions</h2>",
        _questions(found["questions"]),
        "<h2>Trust</h2>",
        "<p>The model is central: whoever runs dpselect reads all rows, and so may the owner of the data and of this "
        "ledger. Analysts who do not run dpselect see only answers; "
        "the ledger does not verify their names. "
        "Quotas are caps and promise nothing to anybody.</p>",
        "<h2>Side channels</h2>",
        f"<p>{SIDE_CHANNELS}</p>",
        "<h2>Data collection</h2>",
        "<p>The record shows what was released. It does not show how the data were collected, how long they are "
        "kept, or whether other data are about the same people: promises under other names add to this one.</p>",
        "<h2>Cadence</h2>",
        f"<p>{_cadence(found)}</p>",
        "<h2>Verification</h2>",
        _verified(found["verification"]),
    ]
    title = escape(f"The privacy record of {found['dataset']}")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head><body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _summary(found: Mapping[str, Any]) -> str:
    most = max((row["used"] for row in found["periods"]), default=0.0)
    asked = found["questions"]
    answered = sum(one["state"] == "answered" for one in asked)
    dead = sum(one["state"].startswith("open") for one in asked)
    where = " in the most used period" if found["period"] else ""
    said = f"{percent(most, up=True)} of the promise is used{where}. {answered:,} of {len(asked):,} questions were "
    said += f"answered, {_many(sum(one['repeats'] for one in asked), 'answer was', 'answers were')} repeated for "
    said += f"free, and {_many(dead, 'reservation is', 'reservations are')} open."
    problems = found["verification"]["problems"]
    said += " The record is clean." if not problems else f" The record is NOT clean: {len(problems)} problems, below."
    return f"<p>{said}</p>"


def _many(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def _promise(found: Mapping[str, Any]) -> str:
    pair = f"({found['epsilon']:g}, {found['delta']:g})"
    said = f"All answers to all analysts together are {pair}-differentially private"
    said += f", in each {found['period']} separately" if found["period"] else ""
    said += ". "
    if found["order"] is None:
        said += "Prices add up."
    else:
        said += (
            f"Each question is charged in epsilon and in Rényi divergence of order {found['order']}; while either "
            f"total fits, and failures stay below {found['delta'] - found['apart']:g}, the promise holds "
            f"({found['apart']:g} of delta is reserved for that)."
        )
    said += f" {percent(found['kept'])} is kept back from analysts." if found["kept"] else ""
    return f"<p>{said}</p>"


def _periods_said(found: Mapping[str, Any]) -> str:
    if not found["period"]:
        return ""
    period = found["period"]
    return (
        f"<p>Days are those of {escape(found['timezone'])}. A person who is in the data in several {period}s has one "
        f"such promise for each; they add up if no question was about two {period}s at once, and are weaker "
        "otherwise.</p>"
    )


def _cadence(found: Mapping[str, Any]) -> str:
    if not found["period"]:
        return "Nothing renews by itself, and answers stay charged. The owner can raise the total."
    return (
        f"A {found['period']} of new rows has a promise of its own. The promise of a past {found['period']} is "
        "never renewed, and the date of a question does not matter: questions name their periods."
    )


def _questions(asked: Sequence[Mapping[str, Any]]) -> str:
    if not asked:
        return "<p>No questions yet.</p>"
    rows = [dict(one) | {"question": one["question"] or "", "periods": ", ".join(one["periods"])} for one in asked]
    columns = (
        "number",
        "when",
        "analyst",
        "question",
        "approved_by",
        "periods",
        "state",
        "epsilon",
        "delta",
        "share",
        "repeats",
    )
    return _table("", rows, columns)


def _verified(found: Mapping[str, Any]) -> str:
    said = f"{found['entries']:,} entries, head <code>{escape(found['head'])}</code>."
    if not found["problems"]:
        return f"<p>Every entry, sum and digest was checked and is correct. {said}</p>"
    problems = "".join(f"<li>{escape(one)}</li>" for one in found["problems"])
    return f'<p class="bad">The ledger is not clean.</p><ul>{problems}</ul><p>{said}</p>'


def _table(title: str, rows: Sequence[Mapping[str, Json]], columns: Sequence[str]) -> str:
    """A table, without columns in which nothing stands."""
    kept = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
    if not rows or not kept:
        return ""
    head = "".join(f"<th{_side(name)}>{escape(name.replace('_', ' '))}</th>" for name in kept)
    lines = "".join("<tr>" + "".join(f"<td{_side(n)}>{_cell(n, row[n])}</td>" for n in kept) + "</tr>" for row in rows)
    above = f"<h3>{escape(title)}</h3>" if title else ""
    return f'{above}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


NUMBERS = ("number", "epsilon", "delta", "renyi", "used", "reserved", "share", "left", "repeats")


def _side(name: str) -> str:
    return ' class="number"' if name.rpartition("_")[2] in NUMBERS else ""


def _cell(name: str, value: Json) -> str:
    if value is None:
        return ""
    if name in ("used", "reserved", "share", "left") and isinstance(value, float):
        return format_left(value) if name == "left" else percent(value, up=True)
    if name == "when":
        return escape(str(value)[:19].replace("T", " "))
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _picture(used: Sequence[Mapping[str, Any]]) -> str:
    """How much of the promise was used after each entry, a line for each of the last periods."""
    if len(used) < 2:
        return ""
    lines: dict[str, list[SpentSoFar]] = {}
    for one in used:
        spent = SpentSoFar(one["number"], one["when"][:10], one["used"])
        lines.setdefault(text(one["period"]), []).append(spent)
    return picture({name: lines[name] for name in sorted(lines)[-MOST_LINES:]}).html()
