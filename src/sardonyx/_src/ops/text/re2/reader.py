"""A cursor over a pattern: characters, escapes, and error positions."""

from __future__ import annotations

from typing import NoReturn

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.text.re2.characters import LAST_CODE_POINT

ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


@dataclass(slots=True)
class PatternReader:
    """A pattern and a position in it; `fail` raises EvaluationError for a pattern that is no regular expression of RE2."""

    pattern: str
    position: int = 0

    def fail(self, why: str) -> NoReturn:
        shown = self.pattern if len(self.pattern) <= 80 else self.pattern[:77] + "..."
        raise EvaluationError(
            f"pattern must be a regular expression of RE2; got {shown!r}: {why} (at character {self.position})"
        )

    def sees(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def take(self) -> str:
        """The next character; "" at the end."""
        text = self.pattern[self.position : self.position + 1]
        self.position += 1
        return text

    def until(self, end: str) -> str | None:
        """Consume and return the text before `end`, and consume `end`; None if `end` does not occur."""
        stop = self.pattern.find(end, self.position)
        if stop < 0:
            return None
        text = self.pattern[self.position : stop]
        self.position = stop + len(end)
        return text

    def code(self, c: str) -> int:
        """The code point of an escape whose backslash and `c` are already read."""
        if c in ESCAPES:
            return ESCAPES[c]
        if c and c in "01234567":
            return self.octal(c)
        if c == "x":
            return self.hexadecimal()
        if not c or not c.isascii() or c.isalnum():
            self.fail(f"\\{c} is not an escape")
        return ord(c)

    def octal(self, c: str) -> int:
        digits = c
        while len(digits) < 3 and self.pattern[self.position : self.position + 1] in tuple("01234567"):
            digits += self.take()
        if digits == c != "0":
            self.fail(f"\\{c} is a backreference, which RE2 does not support")
        return int(digits, 8)

    def hexadecimal(self) -> int:
        if self.sees("{"):
            self.position += 1
            digits = self.until("}") or ""
        else:
            digits = self.take() + self.take()
            digits = digits if len(digits) == 2 else ""
        if (
            not digits
            or any(d not in "0123456789abcdefABCDEF" for d in digits)
            or len(digits.lstrip("0")) > 6
        ):
            self.fail("\\x must be followed by two hexadecimal digits, or any number of them in braces")
        code = int(digits, 16)
        if code > LAST_CODE_POINT:
            self.fail(f"code points must be at most {LAST_CODE_POINT:x}; got {code:x}")
        return code
