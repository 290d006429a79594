"""The record of one data set as a page: one file without scripts or other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from dpselect._ground.budget_parts import format_left, percent
from dpselect.audit.spending import SpentSoFar, draw_picture
from dpselect.release.formatting import text

if TYPE_CHECKING:
    from dpselect.release.formatting import Json

_PAGE_STYLE = """
:root { color-scheme: light dark; --line: #8886; --ink: #345c8a; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; font-size: 0.85rem; width: 100%; }
th, td { text-align: left; padding: 0.25rem 0.6rem 0.25rem 0; border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } .bad { font-weight: bold; } code { font-size: 0.85em; overflow-wrap: anywhere; }
"""
_MAX_NAMED_PERIODS = 5  # of one question; a record in JSON names all
_MAX_LINES = 8  # in the picture; the table lists all periods
_SIDE_CHANNELS = (
    "The run time and memory of a question depend slightly on the data, so people who must not see the data "
    "should not be able to time questions. Failures after the first row are charged. Refusals and balances depend on "
    "the prices of earlier answers, which the promise covers."
)


def render_page(record: Mapping[str, Any]) -> str:
    """Return the HTML page of a record by `dpselect.audit.report.report`."""
    body = [
        f"<h1>The privacy record of {escape(record['dataset'])}</h1>",
        _render_summary(record),
        _render_picture(record["used"]),
        "<h2>Unit of privacy</h2>",
        f"<p>The promise is to {escape(record['unit'])}: whether its rows are in the data or not.</p>",
        _render_periods(record),
        "<h2>Epsilon and delta</h2>",
        _render_promise(record),
        _render_table("Promises and grants", record["changes"], ("when", "what", "epsilon", "delta")),
        _render_table("Used", record["periods"], ("period", "used", "reserved", "epsilon", "renyi", "delta")),
        _render_table(
            "Analysts", record["analysts"], ("analyst", "period", "granted_epsilon", "granted_delta", "left")
        ),
        "<h2>Questions</h2>",
        _render_questions(record["questions"]),
        "<h2>Trust</h2>",
        "<p>The model is central: whoever runs dpselect reads all rows, and so may the owner of the data and of this "
        "ledger. Analysts who do not run dpselect see only answers; "
        "the ledger does not verify their names. "
        "Quotas are caps and promise nothing to anybody.</p>",
        "<h2>Side channels</h2>",
        f"<p>{_SIDE_CHANNELS}</p>",
        "<h2>Data collection</h2>",
        "<p>The record shows what was released. It does not show how the data were collected, how long they are "
        "kept, or whether other data are about the same people: promises under other names add to this one.</p>",
        "<h2>Cadence</h2>",
        f"<p>{_describe_cadence(record)}</p>",
        "<h2>Verification</h2>",
        _render_verification(record["verification"]),
    ]
    title = escape(f"The privacy record of {record['dataset']}")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_PAGE_STYLE}</style></head><body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _render_summary(record: Mapping[str, Any]) -> str:
    largest_use = max((row["used"] for row in record["periods"]), default=0.0)
    questions = record["questions"]
    answered = sum(question["state"] == "answered" for question in questions)
    open_questions = sum(question["state"].startswith("open") for question in questions)
    in_period = " in the most used period" if record["period"] else ""
    repeats = sum(question["repeats"] for question in questions)
    sentence = f"{percent(largest_use, up=True)} of the promise is used{in_period}. "
    sentence += f"{answered:,} of {len(questions):,} questions were "
    sentence += f"answered, {_format_count(repeats, 'answer was', 'answers were')} repeated for "
    sentence += f"free, and {_format_count(open_questions, 'reservation is', 'reservations are')} open."
    problems = record["verification"]["problems"]
    sentence += (
        " The record is clean." if not problems else f" The record is NOT clean: {len(problems)} problems, below."
    )
    return f"<p>{sentence}</p>"


def _format_count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _render_promise(record: Mapping[str, Any]) -> str:
    amounts = f"({record['epsilon']:g}, {record['delta']:g})"
    sentence = f"All answers to all analysts together are {amounts}-differentially private"
    sentence += f", in each {record['period']} separately" if record["period"] else ""
    sentence += ". "
    if record["order"] is None:
        sentence += "Prices add up."
    else:
        sentence += (
            f"Each question is charged in epsilon and in Rényi divergence of order {record['order']}; while either "
            f"total fits, and failures stay below {record['delta'] - record['apart']:g}, the promise holds "
            f"({record['apart']:g} of delta is reserved for that)."
        )
    sentence += f" {percent(record['kept'])} is kept back from analysts." if record["kept"] else ""
    return f"<p>{sentence}</p>"


def _render_periods(record: Mapping[str, Any]) -> str:
    if not record["period"]:
        return ""
    period = record["period"]
    return (
        f"<p>Days are those of {escape(record['timezone'])}. A person who is in the data in several {period}s has one "
        f"such promise for each; they add up if no question was about two {period}s at once, and are weaker "
        "otherwise.</p>"
    )


def _describe_cadence(record: Mapping[str, Any]) -> str:
    if not record["period"]:
        return "Nothing renews by itself, and answers stay charged. The owner can raise the total."
    return (
        f"A {record['period']} of new rows has a promise of its own. The promise of a past {record['period']} is "
        "never renewed, and the date of a question does not matter: questions name their periods."
    )


def _render_questions(questions: Sequence[Mapping[str, Any]]) -> str:
    if not questions:
        return "<p>No questions yet.</p>"
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
    return _render_table("", questions, columns)


def _format_periods(names: Sequence[Json]) -> str:
    """Format the periods of a question: of very many only the first and the last."""
    if len(names) <= _MAX_NAMED_PERIODS:
        return ", ".join(map(str, names))
    return f"{len(names):,} periods from {names[0]} to {names[-1]}"


def _render_verification(verification: Mapping[str, Any]) -> str:
    extent = f"{verification['entries']:,} entries, head <code>{escape(verification['head'])}</code>."
    if not verification["problems"]:
        return f"<p>Every entry, sum and digest was checked and is correct. {extent}</p>"
    problems = "".join(f"<li>{escape(problem)}</li>" for problem in verification["problems"])
    return f'<p class="bad">The ledger is not clean.</p><ul>{problems}</ul><p>{extent}</p>'


def _render_table(title: str, rows: Sequence[Mapping[str, Json]], columns: Sequence[str]) -> str:
    """Return a table without its empty columns."""
    shown_columns = [name for name in columns if any(row[name] not in (None, "", []) for row in rows)]
    if not rows or not shown_columns:
        return ""
    head = "".join(f"<th{_number_class(name)}>{escape(name.replace('_', ' '))}</th>" for name in shown_columns)
    lines = "".join(
        "<tr>"
        + "".join(f"<td{_number_class(column)}>{_format_cell(column, row[column])}</td>" for column in shown_columns)
        + "</tr>"
        for row in rows
    )
    heading = f"<h3>{escape(title)}</h3>" if title else ""
    return f'{heading}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


NUMBER_COLUMNS = ("number", "epsilon", "delta", "renyi", "used", "reserved", "share", "left", "repeats")


def _number_class(name: str) -> str:
    return ' class="number"' if name.rpartition("_")[2] in NUMBER_COLUMNS else ""


def _format_cell(name: str, value: Json) -> str:
    if value is None:
        return ""
    if name in ("used", "reserved", "share", "left") and isinstance(value, float):
        return format_left(value) if name == "left" else percent(value, up=True)
    if isinstance(value, list):
        return escape(_format_periods(value))
    if name == "when":
        return escape(str(value)[:19].replace("T", " "))
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _render_picture(used: Sequence[Mapping[str, Any]]) -> str:
    """Return the picture of what was used after each entry, a line for each of the last periods."""
    if len(used) < 2:
        return ""
    lines: dict[str, list[SpentSoFar]] = {}
    for point in used:
        spent = SpentSoFar(point["number"], point["when"][:10], point["used"])
        lines.setdefault(text(point["period"]), []).append(spent)
    return draw_picture({name: lines[name] for name in sorted(lines)[-_MAX_LINES:]}).html()
