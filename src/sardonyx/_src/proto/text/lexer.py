"""Lexer of ONNX textual syntax, with one token of lookahead and errors of the form "expected X, got Y"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from sardonyx._src.errors import LimitError, TextError
from sardonyx._src.proto.record import Numbers
from sardonyx._src.proto.text.numbers import FLOAT_FORMATS, INTEGER_PATTERN, NumberOutOfRange, number_values
from sardonyx._src.proto.text.words import NOT_FINITE, unquote
from sardonyx._src.proto.wire import Limits

SPACE_PATTERN = r"[ \t\r\n\f\v]*+(?:\#[^\n]*+[ \t\r\n\f\v]*+)*+"
NUMBER_PATTERN = r"-?[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+"
TOKEN_PATTERN = re.compile(
    rf"""{SPACE_PATTERN}(?:
        (?P<string>b?"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<number>{NUMBER_PATTERN}|-(?i:inf(?:inity)?|nan)(?![A-Za-z0-9_])|nan\(0x[0-9A-Fa-f]+\))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*+)
      | (?P<sign>=>|@\{{|\.\.\.|[<>()\[\]{{}}=,:.@?])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
BLANK_PATTERN = re.compile(SPACE_PATTERN, re.VERBOSE)
# A list of numbers without comments is matched by one regular expression, which is fast.
GAP_PATTERN = r"[ \t\r\n\f\v]*+"
LIST_NUMBER = rf"(?:{NUMBER_PATTERN}|-?(?i:inf(?:inity)?|nan)(?:\(0x[0-9A-Fa-f]++\))?)"
NUMBER_LIST = re.compile(rf"{LIST_NUMBER}{GAP_PATTERN}(?:,{GAP_PATTERN}{LIST_NUMBER}{GAP_PATTERN})*+")
INTEGER_LIST = re.compile(rf"-?[0-9]++{GAP_PATTERN}(?:,{GAP_PATTERN}-?[0-9]++{GAP_PATTERN})*+")
Converted = TypeVar("Converted")


class Lexer:
    """A text and the current token: its kind (number, name, string, sign, end), its text `value`, and its range.

    In the methods, `what` describes the expected token for error messages, and `where` its position.
    depth: the levels of nesting that remain.
    """

    def __init__(self, text: str, source: str = "", limits: Limits | None = None) -> None:
        limits = limits or Limits()
        if len(text) > limits.size:
            raise LimitError(
                f"the text must have at most {limits.size} characters; got {len(text)}", limit="size"
            )
        self.text, self.source, self.limits = text, source, limits
        self.depth = limits.nesting
        self.start = self.stop = 0
        self.kind = self.value = ""
        self.advance()

    def advance(self) -> str:
        """Advances to the next token; returns the text of the previous one."""
        consumed = self.value
        match = TOKEN_PATTERN.match(self.text, self.stop)
        if match is None:
            raise self.illegal()
        kind = match.lastgroup
        assert kind is not None, "every match of TOKEN_PATTERN has a group"
        self.kind, self.value = kind, match[kind]
        self.start, self.stop = match.span(kind)
        return consumed

    def illegal(self) -> TextError:
        space = BLANK_PATTERN.match(self.text, self.stop)
        assert space is not None, "BLANK_PATTERN matches the empty string"
        position = space.end()
        if self.text.startswith(('"', 'b"'), position):
            return self.error("a string must have a closing quote", position)
        return self.error(
            f"expected a name, number, string or sign, got {self.text[position]!r}; quote names with other characters",
            position,
        )

    # --- errors and limits ---

    def error(self, why: str, position: int | None = None) -> TextError:
        """An error at a position in the text, by default at the current token."""
        position = self.start if position is None else position
        line, begin = self.text.count("\n", 0, position) + 1, self.text.rfind("\n", 0, position) + 1
        return TextError(why, line=line, column=position - begin + 1, source=self.source)

    def expected_error(self, expectation: str) -> TextError:
        if self.value == "...":
            return self.error(
                "data must be complete; got `...`, which replaces data that was omitted when this text was printed"
            )
        actual = f"`{self.value}`" if len(self.value) < 40 else f"`{self.value[:36]}…`"
        return self.error(
            f"expected {expectation}, got {'the end of the text' if self.kind == 'end' else actual}"
        )

    def enter(self) -> None:
        """Counts a level of nesting, up to the matching `leave`: a message that can contain messages of its own kind."""
        self.depth -= 1
        if self.depth < 0:
            what = f"{self.error('messages must be nested at most')} {self.limits.nesting} levels deep"
            raise LimitError(what, limit="nesting")

    def leave(self) -> None:
        self.depth += 1

    # --- signs and names ---

    def is_at(self, sign: str) -> bool:
        return self.value == sign and self.kind == "sign"

    def take(self, sign: str) -> bool:
        """Consumes the sign if it is the current token; returns whether it was."""
        if self.value == sign and self.kind == "sign":
            self.advance()
            return True
        return False

    def is_followed_by(self, *signs: str) -> bool:
        """Whether one of the signs follows the current token."""
        space = BLANK_PATTERN.match(self.text, self.stop)
        assert space is not None, "BLANK_PATTERN matches the empty string"
        return self.text.startswith(signs, space.end())

    def expect(self, sign: str, where: str) -> None:
        """Consumes the sign; `where` describes its position in the error message."""
        if not self.take(sign):
            raise self.expected_error(f"`{sign}` {where}")

    def iterate_items(self, close: str, where: str) -> Iterator[None]:
        """Iterates over a comma-separated list, up to and including `close`; the caller reads each item."""
        if self.take(close):
            return
        while True:
            yield
            if self.take(close):
                return
            if not self.take(","):
                raise self.expected_error(f"`,` or `{close}` {where}")

    def read_name(self, what: str) -> str:
        """An identifier."""
        if self.kind != "name":
            raise self.expected_error(what)
        return self.advance()

    def read_quotable_name(self, what: str) -> str:
        """An identifier or a quoted name."""
        return self.read_string(what) if self.kind == "string" else self.read_name(what)

    def read_string(self, what: str) -> str:
        if self.kind != "string":
            raise self.expected_error(what)
        try:
            text = unquote(self.value)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.advance()
        return text

    # --- numbers ---

    def is_at_number(self) -> bool:
        return self.kind == "number" or (self.kind == "name" and self.value.lower() in NOT_FINITE)

    def is_at_integer(self) -> bool:
        """Whether the token is a number without a decimal point or an exponent."""
        return self.kind == "number" and INTEGER_PATTERN.fullmatch(self.value) is not None

    def read_number_literal(self, integer: bool, what: str) -> str:
        if not (self.is_at_integer() if integer else self.is_at_number()):
            raise self.expected_error(what)
        return self.advance()

    def read_number_literals(self, close: str, integer: bool, what: str) -> list[str]:
        """The number literals of a list, which is consumed up to and including `close`."""
        match = (INTEGER_LIST if integer else NUMBER_LIST).match(self.text, self.start)
        if match and self.text.startswith(close, match.end()):
            self.stop = match.end() + 1
            self.advance()
            return "".join(match[0].split()).split(",")
        return [self.read_number_literal(integer, what) for _ in self.iterate_items(close, f"after {what}")]

    def read_number(self, kind: str, what: str) -> int | float:
        """A number of a field kind such as `int64` or `float`."""
        begin = self.start
        literals = [self.read_number_literal(kind not in FLOAT_FORMATS, what)]
        return self.convert_numbers(begin, lambda: number_values(literals, kind, False))[0]

    def read_numbers(
        self, kind: str, close: str, what: str, packed: bool = False
    ) -> Numbers[int] | Numbers[float]:
        """A list of numbers of a field kind, up to and including `close`; `what` describes one number in errors."""
        begin = self.start
        literals = self.read_number_literals(close, kind not in FLOAT_FORMATS, what)
        return self.convert_numbers(begin, lambda: number_values(literals, kind, packed))

    def convert_numbers(self, begin: int, convert: Callable[[], Converted]) -> Converted:
        """The result of `convert` for a list of numbers at `begin`; an error of it becomes a TextError at the number."""
        try:
            return convert()
        except NumberOutOfRange as error:
            why, index = str(error), error.index
        except ValueError as error:
            raise self.error(str(error), begin) from None
        self.stop = begin
        for _ in range(2 * index + 1):  # each number and its comma
            self.advance()
        raise self.error(why)
