"""Tokens of the textual syntax, one ahead, and the errors that name what was found instead of what was wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from sardonyx._src.errors import LimitError, TextError
from sardonyx._src.proto.record import Numbers
from sardonyx._src.proto.text.numbers import FORMATS, WHOLE, Unfit, number_values
from sardonyx._src.proto.text.words import NOT_FINITE, unquoted
from sardonyx._src.proto.wire import Limits

SPACE = r"[ \t\r\n\f\v]*+(?:\#[^\n]*+[ \t\r\n\f\v]*+)*+"
NUMBER = r"-?[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+"
TOKEN = re.compile(
    rf"""{SPACE}(?:
        (?P<string>b?"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<number>{NUMBER}|-(?i:inf(?:inity)?|nan)(?![A-Za-z0-9_])|nan\(0x[0-9A-Fa-f]+\))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*+)
      | (?P<sign>=>|@\{{|\.\.\.|[<>()\[\]{{}}=,:.@?])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
BLANK = re.compile(SPACE, re.VERBOSE)
# Lists of numbers are read at one go where no comment stands among them.
GAP = r"[ \t\r\n\f\v]*+"
ONE = rf"(?:{NUMBER}|-?(?i:inf(?:inity)?|nan)(?:\(0x[0-9A-Fa-f]++\))?)"
NUMBERS = re.compile(rf"{ONE}{GAP}(?:,{GAP}{ONE}{GAP})*+")
WHOLES = re.compile(rf"-?[0-9]++{GAP}(?:,{GAP}-?[0-9]++{GAP})*+")
T = TypeVar("T")


class Lexer:
    """A text and the token at hand: its kind (number, name, string, sign, end), its text, and where it starts."""

    def __init__(self, text: str, source: str = "", limits: Limits | None = None) -> None:
        limits = limits or Limits()
        if len(text) > limits.size:
            raise LimitError(f"the text has {len(text)} characters, more than {limits.size}", limit="size")
        self.text, self.source, self.limits = text, source, limits
        self.depth = limits.nesting
        self.start = self.stop = 0
        self.kind = self.value = ""
        self.advance()

    def advance(self) -> str:
        """Steps to the next token; returns the text of the one left behind."""
        left = self.value
        found = TOKEN.match(self.text, self.stop)
        if found is None:
            raise self.illegal()
        kind = found.lastgroup
        assert kind is not None, "one of the groups of TOKEN takes part in every match"
        self.kind, self.value = kind, found[kind]
        self.start, self.stop = found.span(kind)
        return left

    def illegal(self) -> TextError:
        space = BLANK.match(self.text, self.stop)
        assert space is not None, "BLANK matches nothing, too"
        at = space.end()
        if self.text.startswith(('"', 'b"'), at):
            return self.error("this string has no closing quote", at)
        return self.error(
            f"{self.text[at]!r} begins no name, number, string or sign; quote names that need it", at
        )

    # --- errors and limits ---

    def error(self, why: str, at: int | None = None) -> TextError:
        """The error at a place in the text, by default at the token at hand."""
        at = self.start if at is None else at
        line, begin = self.text.count("\n", 0, at) + 1, self.text.rfind("\n", 0, at) + 1
        return TextError(why, line=line, column=at - begin + 1, source=self.source)

    def expected(self, wanted: str) -> TextError:
        if self.value == "...":
            return self.error("`...` stands for data that was left out when this text was printed")
        found = f"`{self.value}`" if len(self.value) < 40 else f"`{self.value[:36]}…`"
        return self.error(
            f"expected {wanted}, found {'the end of the text' if self.kind == 'end' else found}"
        )

    def enter(self) -> None:
        """Counts a message that can hold messages of its own kind; `leave` ends it."""
        self.depth -= 1
        if self.depth < 0:
            what = f"{self.error('messages are nested more than')} {self.limits.nesting} levels deep"
            raise LimitError(what, limit="nesting")

    def leave(self) -> None:
        self.depth += 1

    # --- signs and names ---

    def at(self, sign: str) -> bool:
        return self.value == sign and self.kind == "sign"

    def take(self, sign: str) -> bool:
        if self.value == sign and self.kind == "sign":
            self.advance()
            return True
        return False

    def before(self, *signs: str) -> bool:
        """Whether one of the signs follows the token at hand."""
        space = BLANK.match(self.text, self.stop)
        assert space is not None, "BLANK matches nothing, too"
        return self.text.startswith(signs, space.end())

    def expect(self, sign: str, where: str) -> None:
        """Takes the sign; `where` says after or around what it stands."""
        if not self.take(sign):
            raise self.expected(f"`{sign}` {where}")

    def items(self, close: str, where: str) -> Iterator[None]:
        """Steps through a list separated by commas, up to and including `close`."""
        if self.take(close):
            return
        while True:
            yield
            if self.take(close):
                return
            if not self.take(","):
                raise self.expected(f"`,` or `{close}` {where}")

    def name(self, what: str) -> str:
        """An identifier."""
        if self.kind != "name":
            raise self.expected(what)
        return self.advance()

    def quotable(self, what: str) -> str:
        """An identifier, or a name in quotes."""
        return self.string(what) if self.kind == "string" else self.name(what)

    def string(self, what: str) -> str:
        if self.kind != "string":
            raise self.expected(what)
        try:
            text = unquoted(self.value)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.advance()
        return text

    # --- numbers ---

    def at_number(self) -> bool:
        return self.kind == "number" or (self.kind == "name" and self.value.lower() in NOT_FINITE)

    def at_whole(self) -> bool:
        """Whether the token is a number without point and exponent."""
        return self.kind == "number" and WHOLE.fullmatch(self.value) is not None

    def number_text(self, whole: bool, what: str) -> str:
        if not (self.at_whole() if whole else self.at_number()):
            raise self.expected(what)
        return self.advance()

    def number_texts(self, close: str, whole: bool, what: str) -> list[str]:
        """The numbers of a list, up to and including `close`."""
        found = (WHOLES if whole else NUMBERS).match(self.text, self.start)
        if found and self.text.startswith(close, found.end()):
            self.stop = found.end() + 1
            self.advance()
            return "".join(found[0].split()).split(",")
        return [self.number_text(whole, what) for _ in self.items(close, f"after {what}")]

    def number(self, kind: str, what: str) -> int | float:
        """A number of a field kind, as `int64` or `float`."""
        begin = self.start
        texts = [self.number_text(kind not in FORMATS, what)]
        return self.converted(begin, lambda: number_values(texts, kind, False))[0]

    def numbers(
        self, kind: str, close: str, what: str, packed: bool = False
    ) -> Numbers[int] | Numbers[float]:
        """The list of numbers of a field kind, up to and including `close`; `what` names one of them."""
        begin = self.start
        texts = self.number_texts(close, kind not in FORMATS, what)
        return self.converted(begin, lambda: number_values(texts, kind, packed))

    def converted(self, begin: int, convert: Callable[[], T]) -> T:
        """What `convert` makes of the numbers of a list that begins at `begin`."""
        try:
            return convert()
        except Unfit as error:
            why, index = str(error), error.index
        except ValueError as error:
            raise self.error(str(error), begin) from None
        self.stop = begin
        for _ in range(2 * index + 1):  # each number and its comma
            self.advance()
        raise self.error(why)
