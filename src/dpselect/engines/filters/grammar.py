"""Grammar: from words to the tree. Whatever has no rule here is refused.

Operators bind as in SQL: OR, AND, NOT, comparisons (which do not chain), ||, + and -, * / %, a sign, ::.
"""

from __future__ import annotations

from typing import NoReturn

from dpselect.engines.filters import cost
from dpselect.engines.filters.constants import day, moment, number_of, text_of
from dpselect.engines.filters.functions import call, lowered, type_of
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, refuse
from dpselect.engines.filters.words import WRITE, Word, shown, words

_NESTED = 60  # calls of `expression` inside each other: about as many parentheses
_OR, _AND, _NOT, _COMPARED, _JOINED, _ADDED, _TIMES, _SIGNED = range(1, 9)
_POWERS = {
    "OR": _OR, "AND": _AND, "||": _JOINED, "+": _ADDED, "-": _ADDED, "*": _TIMES, "/": _TIMES, "%": _TIMES,
}  # fmt: skip
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TESTS = ("IS", "IN", "BETWEEN", "LIKE", "ILIKE")
_RESERVED = frozenset("AND OR NOT IN BETWEEN LIKE ILIKE IS CASE WHEN THEN ELSE END ESCAPE COLLATE".split())
_OUTSIDE = {
    **dict.fromkeys(("SELECT", "EXISTS", "FROM", "WITH", "ANY", "ALL"), "a subquery"),
    **dict.fromkeys(("OVER", "FILTER"), "a window function"),
}
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


def parse(text: str) -> Node:
    """The tree of one condition, within the limits of cost.py."""
    reader = _Reader(text)
    node = reader.expression()
    if reader.word.sort != "end":
        reader.stop()
    cost.check(node)
    return node


class _Reader:
    """Reads a text from left to right; `word` is the next one."""

    def __init__(self, text: str) -> None:
        self._text, self._words, self._at, self._nested = text, words(text), 0, 0

    @property
    def word(self) -> Word:
        return self._words[self._at]

    def take(self) -> Word:
        """The next word, which is then behind us."""
        word = self.word
        self._at += word.sort != "end"
        return word

    def taken(self, *wanted: str) -> bool:
        """Is the next word one of these? Then it is behind us."""
        found = self.word.is_(*wanted)
        if found:
            self.take()
        return found

    def need(self, wanted: str) -> None:
        if not self.taken(wanted):
            self.stop()

    def stop(self) -> NoReturn:
        """Refuse what stands here."""
        word = self.word
        if word.sort == "end":
            refuse("one that ends too early", WRITE)
        if word.is_(*_OUTSIDE):
            refuse(f"{_OUTSIDE[word.text.upper()]} at character {word.at + 1}", "it depends on other rows")
        refuse(f"unexpected text at character {word.at + 1}: {shown(self._text, word.at)!r}", WRITE)

    # ---- operators ----------------------------------------------------------------------------------------

    def expression(self, least: int = _OR) -> Node:
        """Everything whose operators bind at least so strongly."""
        self._nested += 1
        if self._nested > _NESTED:
            refuse("one that is nested too deep")
        left = self._prefix()
        while (power := self._power()) >= least:
            left = self._tested(left) if power == _COMPARED else self._joined(left, power)
            if power == _COMPARED and self._power() == _COMPARED:
                refuse(f"a chained comparison at character {self.word.at + 1}", "write AND between the two comparisons")
        self._nested -= 1
        return left

    def _power(self) -> int:
        word = self.word
        if word.sort not in ("name", "sign"):
            return 0
        sign = word.text.upper()
        return _COMPARED if sign in (*_COMPARISONS, *_TESTS, "NOT") else _POWERS.get(sign, 0)

    def _prefix(self) -> Node:
        if self.taken("NOT"):
            return Operation("NOT", (self.expression(_NOT),))
        if self.word.is_("-", "+"):
            negative = self.take().text == "-"
            if self.word.sort == "number":
                return self._casts(Constant(number_of(self.take().text, -1 if negative else 1)))
            inner = self.expression(_SIGNED)
            return Operation("-", (Constant(0), inner)) if negative else inner
        return self._casts(self._primary())

    def _casts(self, node: Node) -> Node:
        while self.taken("::"):
            node = Operation("CAST", (node,), self._type())
        return node

    def _joined(self, left: Node, power: int) -> Node:
        """An operator between two; AND and OR take as many as there are, which is no deeper tree."""
        sort = self.take().text.upper()
        parts = [left, self.expression(power + 1)]
        while power <= _AND and self.taken(sort):
            parts.append(self.expression(power + 1))
        return Operation(sort, tuple(parts))

    def _tested(self, left: Node) -> Node:
        """A comparison, or IS, IN, BETWEEN, LIKE."""
        sign = self.take().text.upper()
        if sign in _COMPARISONS:
            return Operation(_COMPARISONS[sign], (left, self.expression(_JOINED)))
        if sign == "IS":
            negated = self.taken("NOT")
            found = self._is(left)
        else:
            negated = sign == "NOT"
            if negated and not self.word.is_("IN", "BETWEEN", "LIKE", "ILIKE"):
                self.stop()
            found = self._test(left, self.take().text.upper() if negated else sign)
        return Operation("NOT", (found,)) if negated else found

    def _is(self, left: Node) -> Node:
        if self.taken("DISTINCT"):
            self.need("FROM")
            return Operation("IS DISTINCT FROM", (left, self.expression(_JOINED)))
        for word, holds in (("TRUE", left), ("FALSE", Operation("NOT", (left,)))):
            if self.taken(word):
                return Operation("COALESCE", (holds, Constant(False)))
        self.need("NULL")
        return Operation("IS NULL", (left,))

    def _test(self, left: Node, test: str) -> Node:
        if test == "BETWEEN":
            low = self.expression(_JOINED)
            self.need("AND")
            return Operation("BETWEEN", (left, low, self.expression(_JOINED)))
        if test == "IN":
            self.need("(")
            return Operation("IN", (left, *self._list()))
        if self.word.sort != "text":
            refuse(f"{test} with something other than a text", "write the pattern itself: LIKE 'a%'")
        pattern = text_of(_unquoted(self.take().text))
        if self.word.is_("ESCAPE"):
            refuse("LIKE with ESCAPE", "contains(x, 'a'), starts_with and ends_with accept any text")
        if test == "ILIKE":
            left, pattern = Operation("LOWER", (left,)), lowered(pattern)
        return Operation("LIKE", (left,), (Pattern.like(pattern),))

    # ---- what stands alone --------------------------------------------------------------------------------

    def _primary(self) -> Node:
        word = self.take()
        if word.sort == "number":
            return Constant(number_of(word.text))
        if word.sort == "text":
            return Constant(text_of(_unquoted(word.text)))
        if word.sort == "quoted":
            return Name(_unquoted(word.text), quoted=True, span=word.span)
        if word.is_("("):
            if self.word.is_("SELECT", "WITH"):
                self.stop()
            node = self.expression()
            self.need(")")
            return node
        if word.sort == "name" and word.text.upper() not in _RESERVED | {"SELECT", "FROM"}:
            return self._named(word)
        if word.is_("CASE"):
            return self._case()
        self._at -= word.sort != "end"
        return self.stop()

    def _named(self, word: Word) -> Node:
        name = word.text.upper()
        if self.taken("("):
            return self._call(name)
        if name in _CONSTANTS:
            return Constant(_CONSTANTS[name])
        if self.word.sort == "text" and name in ("DATE", "TIMESTAMP"):
            text = _unquoted(self.take().text)
            return Constant(day(text) if name == "DATE" else moment(text))
        return Name(word.text, span=word.span)

    def _call(self, name: str) -> Node:
        """A function, whose parenthesis is open."""
        if self.word.is_("SELECT", "WITH") or name in _OUTSIDE:
            refuse("a subquery", "it depends on other rows")
        if name in ("CAST", "TRY_CAST"):
            node = self.expression()
            self.need("AS")
            node = Operation("CAST", (node,), self._type())
            self.need(")")
        elif name == "EXTRACT":
            part = self.take().text
            self.need("FROM")
            node = call("DATE_PART", [Constant(part.strip("'")), self.expression()])
            self.need(")")
        elif self.word.is_("*", "DISTINCT"):
            node = call(name, [])
        else:
            node = call(name, [] if self.taken(")") else self._list())
        if self.word.is_(*_OUTSIDE):
            self.stop()
        return node

    def _list(self) -> list[Node]:
        """Expressions with commas between them, up to the parenthesis."""
        found = [self.expression()]
        while self.taken(","):
            found.append(self.expression())
        self.need(")")
        return found

    def _case(self) -> Node:
        """CASE x WHEN a THEN b is CASE WHEN x = a THEN b."""
        subject = None if self.word.is_("WHEN") else self.expression()
        parts: list[Node] = []
        while self.taken("WHEN"):
            condition = self.expression()
            self.need("THEN")
            parts += [condition if subject is None else Operation("=", (subject, condition)), self.expression()]
        parts.append(self.expression() if self.taken("ELSE") else Constant(None))
        self.need("END")
        return Operation("CASE", tuple(parts)) if len(parts) > 1 else self.stop()

    def _type(self) -> tuple[object, ...]:
        name = self.take()
        numbers: list[str] = []
        if name.is_("DOUBLE"):
            self.taken("PRECISION")
        if self.taken("("):
            numbers = [self.take().text]
            while self.taken(","):
                numbers.append(self.take().text)
            self.need(")")
        return type_of(name.text, numbers)


def _unquoted(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
