"""Everything that can be wrong, as problem details (RFC 9457): one clear sentence each, and never a word of the data.

Whatever is not in the words of a request has one text. The reason is in the owner's log.
"""

from __future__ import annotations

from dpselect._ground.dataclass import dataclass
from dpselect.errors import BudgetError, DpselectError, LedgerError, ParameterError, SourceError
from dpselect.release import Json


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem: its HTTP status, its title, and what may help."""

    status: int
    title: str
    help: str = ""


PROBLEM_KINDS = {
    "malformed": ProblemKind(400, "The request cannot be read", "Go back and send it again."),
    "sign-in": ProblemKind(401, "Nobody is signed in", "Your session may have ended, or your token may be wrong."),
    "role": ProblemKind(403, "Your role may not do this", "Ask the owner of the data if you need it."),
    "cross-site": ProblemKind(
        403, "The request came from another site", "Open the page here, and send the form again."
    ),
    "not-found": ProblemKind(
        404, "There is nothing at this address", "The address may be wrong, or you may not see what is here."
    ),
    "method": ProblemKind(405, "This address does not support that method", "Start from one of the pages above."),
    "budget": ProblemKind(
        409, "The budget is too small", "Ask for less, or ask the owner of the data for a larger quota."
    ),
    "state": ProblemKind(409, "Too late", "The question has changed state. Open it again."),
    "key": ProblemKind(
        409, "The idempotency key was used for another question", "Go back to the question and send it again."
    ),
    "too-large": ProblemKind(413, "The request is too large", "Send less at once."),
    "content": ProblemKind(415, "The request is not JSON", "Use the form, or send JSON."),
    "host": ProblemKind(421, "This is not the intended server", "Use the address that the owner gave you."),
    "parameter": ProblemKind(422, "A parameter is wrong", "Go back and change it."),
    "too-many": ProblemKind(429, "Too many requests", "Wait a little, then try again."),
    "unexpected": ProblemKind(500, "Something unexpected happened", "The owner can read more in the server's log."),
    "busy": ProblemKind(503, "Too many questions wait", "Wait a little, then try again. Nothing was charged."),
    "unavailable": ProblemKind(503, "The gateway cannot answer now", "Try again in a minute. Nothing new was charged."),
    "failed": ProblemKind(
        500,
        "The question could not be answered",
        "Its price may stay charged, because rows may have been read.",
    ),  # of a job, never of a response
    "late": ProblemKind(500, "The question took too long"),  # the same
    "lost": ProblemKind(
        500, "The answer was lost", "The same question can be asked again, at a new price."
    ),  # the same
    "rejected": ProblemKind(403, "The question was not approved", "The owner of the data knows why."),  # the same
}
FAILED = "The gateway could not answer. The cause is not the question; the owner's log has it."
LATE = "The question took longer than its parameters and the owner's declarations allow. Its price stays charged."
CLOSED = "Answers about these data were late too often. The owner must correct their sizes and change their tick."
LOST_JOB = (
    "The server stopped while the question was being answered. Rows may have been read, so its price stays charged."
)
PUT_BACK_DETAIL = (
    "The ledger was replaced by a copy from before this answer. Ask the question again: it is a new question."
)
REJECTED = "The question was not approved. Nothing was charged."
_UNAVAILABLE = "The record of budgets cannot be used right now. Nothing was asked; try again."


class Refused(Exception):
    """A refusal of a request: the kind of its problem, and the reason in one sentence."""

    def __init__(self, kind: str, detail: str, hint: str | None = None, *, after: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.after = after


class TooLateError(Exception):
    """The error of a question that was not ready when it was due, twice."""


def problem(kind: str, detail: str, hint: str | None = None, **members: Json) -> dict[str, Json]:
    """Return the details of one problem."""
    details: dict[str, Json] = {
        "type": f"/problems/{kind}",
        "title": PROBLEM_KINDS[kind].title,
        "status": PROBLEM_KINDS[kind].status,
    }
    details["detail"] = detail
    return {**details, **({} if hint is None else {"hint": hint}), **members}


def problem_of_asker(error: BaseException) -> dict[str, Json] | None:
    """Return the problem details of an asker's mistake or of a lack of budget, or None for any other error."""
    match error:
        case Refused():
            return problem(error.kind, error.detail, error.hint)
        case ParameterError() if not isinstance(error, SourceError):
            fields = {"parameter": error.parameter, "must": error.must, "came": error.came}
            other_problems: list[Json] = [
                problem("parameter", _without_hint(other_error), other_error.hint, parameter=other_error.parameter)
                for other_error in error.others
            ]
            return problem(
                "parameter",
                _without_hint(error),
                error.hint,
                **fields,
                **({"others": other_problems} if other_problems else {}),
            )
        case BudgetError():
            return problem("budget", _without_hint(error), error.hint)
        case _:
            return None


def problem_of_error(error: Exception) -> dict[str, Json]:
    """Return the problem details for an asker. All errors that are not theirs have one text; the log has the reason."""
    fallback = ("unavailable", _UNAVAILABLE) if isinstance(error, LedgerError) else ("unexpected", FAILED)
    return problem_of_asker(error) or problem(*fallback)


def _without_hint(error: DpselectError) -> str:
    """Return an error's text without its hint."""
    return str(error).partition("\nhint: ")[0]
