"""Grammar: from words to the tree. Text that matches no rule is refused.

Operators bind as in SQL: OR, AND, NOT, comparisons (which do not chain), ||, + and -, * / %, a sign, ::.
"""

from __future__ import annotations

from typing import NoReturn

from dpselect.engines.filters import cost
from dpselect.engines.filters.functions import lowercase_ascii, parse_call, parse_type
from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, refuse
from dpselect.engines.filters.words import (
    HINT,
    Word,
    excerpt,
    parse_day,
    parse_moment,
    parse_number,
    parse_text,
    split_words,
)

_MAX_DEPTH = 60  # nested calls of `expression`: about the number of nested parentheses
_OR, _AND, _NOT, _COMPARED, _JOINED, _ADDED, _TIMES, _SIGNED = range(1, 9)
_POWERS = {
    "OR": _OR, "AND": _AND, "||": _JOINED, "+": _ADDED, "-": _ADDED, "*": _TIMES, "/": _TIMES, "%": _TIMES,
}  # fmt: skip
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TESTS = ("IS", "IN", "BETWEEN", "LIKE", "ILIKE")
_RESERVED = frozenset("AND OR NOT IN BETWEEN LIKE ILIKE IS CASE WHEN THEN ELSE END ESCAPE COLLATE".split())
_OTHER_ROWS = {
    **dict.fromkeys(("SELECT", "EXISTS", "FROM", "WITH", "ANY", "ALL"), "a subquery"),
    **dict.fromkeys(("OVER", "FILTER"), "a window function"),
}
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


def parse(text: str) -> Node:
    """Parse one condition, within the limits of cost.py."""
    reader = _Reader(text)
    node = reader.expression()
    if reader.word.kind != "end":
        reader.stop()
    cost.check(node)
    return node


class _Reader:
    """A parser that reads a text from left to right; `word` is the next one."""

    def __init__(self, text: str) -> None:
        self._text, self._words, self._position, self._depth = text, split_words(text), 0, 0

    @property
    def word(self) -> Word:
        return self._words[self._position]

    def take(self) -> Word:
        """Return the next word and advance."""
        word = self.word
        self._position += word.kind != "end"
        return word

    def take_if(self, *words: str) -> bool:
        """Advance if the next word is one of these, and return whether it was."""
        is_next = self.word.is_(*words)
        if is_next:
            self.take()
        return is_next

    def expect(self, word: str) -> None:
        if not self.take_if(word):
            self.stop()

    def stop(self) -> NoReturn:
        """Refuse the next word."""
        word = self.word
        if word.kind == "end":
            refuse("one that ends too early", HINT)
        if word.is_(*_OTHER_ROWS):
            refuse(f"{_OTHER_ROWS[word.text.upper()]} at character {word.start + 1}", "it depends on other rows")
        refuse(f"unexpected text at character {word.start + 1}: {excerpt(self._text, word.start)!r}", HINT)

    # ---- operators ----------------------------------------------------------------------------------------

    def expression(self, minimum_power: int = _OR) -> Node:
        """Parse an expression whose operators all bind at least with `minimum_power`."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            refuse("one that is nested too deep")
        left = self._parse_prefix()
        while (power := self._binding_power()) >= minimum_power:
            left = self._parse_comparison(left) if power == _COMPARED else self._parse_operator(left, power)
            if power == _COMPARED and self._binding_power() == _COMPARED:
                refuse(
                    f"a chained comparison at character {self.word.start + 1}", "write AND between the two comparisons"
                )
        self._depth -= 1
        return left

    def _binding_power(self) -> int:
        word = self.word
        if word.kind not in ("name", "sign"):
            return 0
        sign = word.text.upper()
        return _COMPARED if sign in (*_COMPARISONS, *_TESTS, "NOT") else _POWERS.get(sign, 0)

    def _parse_prefix(self) -> Node:
        if self.take_if("NOT"):
            return Operation("NOT", (self.expression(_NOT),))
        if self.word.is_("-", "+"):
            negative = self.take().text == "-"
            if self.word.kind == "number":
                return self._parse_casts(Constant(parse_number(self.take().text, -1 if negative else 1)))
            inner = self.expression(_SIGNED)
            return Operation("-", (Constant(0), inner)) if negative else inner
        return self._parse_casts(self._parse_primary())

    def _parse_casts(self, node: Node) -> Node:
        while self.take_if("::"):
            node = Operation("CAST", (node,), self._parse_type())
        return node

    def _parse_operator(self, left: Node, power: int) -> Node:
        """Parse the rest of an operation; AND and OR take any number of parts, which makes the tree no deeper."""
        sort = self.take().text.upper()
        parts = [left, self.expression(power + 1)]
        while power <= _AND and self.take_if(sort):
            parts.append(self.expression(power + 1))
        return Operation(sort, tuple(parts))

    def _parse_comparison(self, left: Node) -> Node:
        """Parse a comparison, or IS, IN, BETWEEN, LIKE."""
        sign = self.take().text.upper()
        if sign in _COMPARISONS:
            return Operation(_COMPARISONS[sign], (left, self.expression(_JOINED)))
        if sign == "IS":
            negated = self.take_if("NOT")
            test = self._parse_is(left)
        else:
            negated = sign == "NOT"
            if negated and not self.word.is_("IN", "BETWEEN", "LIKE", "ILIKE"):
                self.stop()
            test = self._parse_test(left, self.take().text.upper() if negated else sign)
        return Operation("NOT", (test,)) if negated else test

    def _parse_is(self, left: Node) -> Node:
        if self.take_if("DISTINCT"):
            self.expect("FROM")
            return Operation("IS DISTINCT FROM", (left, self.expression(_JOINED)))
        for word, holds in (("TRUE", left), ("FALSE", Operation("NOT", (left,)))):
            if self.take_if(word):
                return Operation("COALESCE", (holds, Constant(False)))
        self.expect("NULL")
        return Operation("IS NULL", (left,))

    def _parse_test(self, left: Node, test: str) -> Node:
        if test == "BETWEEN":
            low = self.expression(_JOINED)
            self.expect("AND")
            return Operation("BETWEEN", (left, low, self.expression(_JOINED)))
        if test == "IN":
            self.expect("(")
            return Operation("IN", (left, *self._parse_list()))
        if self.word.kind != "text":
            refuse(f"{test} with something other than a text", "write the pattern itself: LIKE 'a%'")
        pattern = parse_text(_unquote(self.take().text))
        if self.word.is_("ESCAPE"):
            refuse("LIKE with ESCAPE", "contains(x, 'a'), starts_with and ends_with accept any text")
        if test == "ILIKE":
            left, pattern = Operation("LOWER", (left,)), lowercase_ascii(pattern)
        return Operation("LIKE", (left,), (Pattern.parse(pattern),))

    # ---- what stands alone --------------------------------------------------------------------------------

    def _parse_primary(self) -> Node:
        word = self.take()
        if word.kind == "number":
            return Constant(parse_number(word.text))
        if word.kind == "text":
            return Constant(parse_text(_unquote(word.text)))
        if word.kind == "quoted":
            return Name(_unquote(word.text), quoted=True, span=word.span)
        if word.is_("("):
            if self.word.is_("SELECT", "WITH"):
                self.stop()
            node = self.expression()
            self.expect(")")
            return node
        if word.kind == "name" and word.text.upper() not in _RESERVED | {"SELECT", "FROM"}:
            return self._parse_named(word)
        if word.is_("CASE"):
            return self._parse_case()
        self._position -= word.kind != "end"
        return self.stop()

    def _parse_named(self, word: Word) -> Node:
        name = word.text.upper()
        if self.take_if("("):
            return self._parse_call(name)
        if name in _CONSTANTS:
            return Constant(_CONSTANTS[name])
        if self.word.kind == "text" and name in ("DATE", "TIMESTAMP"):
            text = _unquote(self.take().text)
            return Constant(parse_day(text) if name == "DATE" else parse_moment(text))
        return Name(word.text, span=word.span)

    def _parse_call(self, name: str) -> Node:
        """Parse a function call after its opening parenthesis."""
        if self.word.is_("SELECT", "WITH") or name in _OTHER_ROWS:
            refuse("a subquery", "it depends on other rows")
        if name in ("CAST", "TRY_CAST"):
            node = self.expression()
            self.expect("AS")
            node = Operation("CAST", (node,), self._parse_type())
            self.expect(")")
        elif name == "EXTRACT":
            part = self.take().text
            self.expect("FROM")
            node = parse_call("DATE_PART", [Constant(part.strip("'")), self.expression()])
            self.expect(")")
        elif self.word.is_("*", "DISTINCT"):
            node = parse_call(name, [])
        else:
            node = parse_call(name, [] if self.take_if(")") else self._parse_list())
        if self.word.is_(*_OTHER_ROWS):
            self.stop()
        return node

    def _parse_list(self) -> list[Node]:
        """Parse expressions separated by commas, up to the closing parenthesis."""
        expressions = [self.expression()]
        while self.take_if(","):
            expressions.append(self.expression())
        self.expect(")")
        return expressions

    def _parse_case(self) -> Node:
        """Parse CASE; CASE x WHEN a THEN b is CASE WHEN x = a THEN b."""
        subject = None if self.word.is_("WHEN") else self.expression()
        parts: list[Node] = []
        while self.take_if("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            parts += [condition if subject is None else Operation("=", (subject, condition)), self.expression()]
        parts.append(self.expression() if self.take_if("ELSE") else Constant(None))
        self.expect("END")
        return Operation("CASE", tuple(parts)) if len(parts) > 1 else self.stop()

    def _parse_type(self) -> tuple[object, ...]:
        name = self.take()
        numbers: list[str] = []
        if name.is_("DOUBLE"):
            self.take_if("PRECISION")
        if self.take_if("("):
            numbers = [self.take().text]
            while self.take_if(","):
                numbers.append(self.take().text)
            self.expect(")")
        return parse_type(name.text, numbers)


def _unquote(text: str) -> str:
    return text[1:-1].replace(text[0] * 2, text[0])
