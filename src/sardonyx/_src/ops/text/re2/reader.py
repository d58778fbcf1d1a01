"""Reading a pattern from left to right: its characters, its escapes, and where it goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.text.re2.characters import LAST

ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


@dataclass(slots=True)
class Reader:
    """A pattern with a place in it; raises EvaluationError for what is no regular expression of RE2."""

    pattern: str
    place: int = 0

    def fail(self, why: str) -> NoReturn:
        shown = self.pattern if len(self.pattern) <= 80 else self.pattern[:77] + "..."
        raise EvaluationError(
            f"pattern {shown!r} is no regular expression of RE2: {why} (at character {self.place})"
        )

    def sees(self, text: str) -> bool:
        return self.pattern.startswith(text, self.place)

    def take(self) -> str:
        """The next character; "" at the end."""
        found = self.pattern[self.place : self.place + 1]
        self.place += 1
        return found

    def until(self, end: str) -> str | None:
        """What stands before `end`, which is read, too; None where there is no such end."""
        stop = self.pattern.find(end, self.place)
        if stop < 0:
            return None
        found = self.pattern[self.place : stop]
        self.place = stop + len(end)
        return found

    def code(self, c: str) -> int:
        """The character that an escape stands for, the backslash and `c` being read."""
        if c in ESCAPES:
            return ESCAPES[c]
        if c and c in "01234567":
            return self.octal(c)
        if c == "x":
            return self.hexadecimal()
        if not c or not c.isascii() or c.isalnum():
            self.fail(f"\\{c} is no escape")
        return ord(c)

    def octal(self, c: str) -> int:
        digits = c
        while len(digits) < 3 and self.pattern[self.place : self.place + 1] in tuple("01234567"):
            digits += self.take()
        if digits == c != "0":
            self.fail(f"\\{c} is a backreference, which RE2 has not")
        return int(digits, 8)

    def hexadecimal(self) -> int:
        if self.sees("{"):
            self.place += 1
            digits = self.until("}") or ""
        else:
            digits = self.take() + self.take()
            digits = digits if len(digits) == 2 else ""
        if (
            not digits
            or any(d not in "0123456789abcdefABCDEF" for d in digits)
            or len(digits.lstrip("0")) > 6
        ):
            self.fail("\\x wants two hexadecimal digits, or any number of them in braces")
        code = int(digits, 16)
        if code > LAST:
            self.fail(f"there is no character {code:x}")
        return code
