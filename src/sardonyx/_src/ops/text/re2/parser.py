"""Parser of RE2 syntax: one pass from left to right, with a stack of open groups.

Spec: RegexFullMatch-20, which refers to RE2's syntax page.  Greediness does not affect a full match and is ignored, as
are the names of groups.  Everything that RE2 refuses is refused: look-around, backreferences, repetitions of repetitions,
counts above 1000.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import field, replace

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import (
    ANY_CHARACTER,
    PERL,
    POSIX,
    SURROGATES,
    Ranges,
    caseless,
    complement,
    contains,
    normal,
    unicode_group,
)
from sardonyx._src.ops.text.re2.reader import PatternReader
from sardonyx._src.ops.text.re2.states import Fragment, StateKind, States

MAX_PATTERN_LENGTH = 100_000  # in characters
MAX_REPEATS = 1000
MAX_GROUP_NESTING = 1000  # depth of nested groups
COUNT_SYNTAX = re.compile(
    r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}"
)  # a { that begins no count is a literal
ANCHORS = {
    "A": StateKind.BEGIN_TEXT,
    "z": StateKind.END_TEXT,
    "b": StateKind.WORD_BOUNDARY,
    "B": StateKind.NO_WORD_BOUNDARY,
}
# The general categories of characters that a group name may have.
NAMING = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"}


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of RE2 that change a full match.

    i: case is ignored
    m: ^ and $ also match at the beginning and end of a line
    s: a dot also matches a newline
    """

    i: bool = False
    m: bool = False
    s: bool = False


@dataclass(slots=True)
class OpenGroup:
    """An open group: finished alternatives, the items of the current one, and the flags to restore."""

    flags: Flags
    branches: list[Fragment] = field(default_factory=list)
    items: list[Fragment] = field(default_factory=list)


@dataclass(slots=True)
class PatternParser(PatternReader):
    """Parses one pattern into NFA states."""

    flags: Flags = field(default_factory=Flags)
    states: States = field(default_factory=States)
    groups: list[OpenGroup] = field(default_factory=list)
    repeated_at: int = -1  # the start of the repetition that ends at the current position; -1 if none does

    def parse(self) -> Fragment:
        """Parses the whole pattern; raises LimitError if it is too long or needs too many states."""
        if len(self.pattern) > MAX_PATTERN_LENGTH:
            what = f"the pattern must have at most {MAX_PATTERN_LENGTH} characters; got {len(self.pattern)}"
            raise LimitError(what, limit="sardonyx._src.ops.text.re2.parser.MAX_PATTERN_LENGTH")
        if any(contains(SURROGATES, ord(c)) for c in self.pattern):
            self.fail("it is not valid UTF-8")
        self.groups.append(OpenGroup(self.flags))
        while self.position < len(self.pattern):
            self.item()
        if len(self.groups) > 1:
            self.fail("a group is not closed")
        return self.close_group(self.groups.pop())

    # --- expressions -------------------------------------------------------------------------

    def item(self) -> None:
        before, start = self.repeated_at, self.position
        self.repeated_at = -1
        c = self.take()
        if c in "*+?" or (c == "{" and COUNT_SYNTAX.match(self.pattern, start)):
            self.repetition(c, start, before)
        elif c == "(":
            self.open()
        elif c == ")":
            if len(self.groups) == 1:
                self.fail("a group is closed that is not open")
            group = self.groups.pop()
            self.flags = group.flags
            self.append(self.close_group(group))
        elif c == "|":
            group = self.groups[-1]
            group.branches.append(self.states.concatenate(group.items))
            group.items = []
        elif c == "\\":
            self.escape()
        else:
            self.plain(c)

    def plain(self, c: str) -> None:
        if c == "^":
            self.single(StateKind.BEGIN_LINE if self.flags.m else StateKind.BEGIN_TEXT)
        elif c == "$":
            self.single(StateKind.END_LINE if self.flags.m else StateKind.END_TEXT)
        elif c == ".":
            self.characters(ANY_CHARACTER if self.flags.s else complement(((10, 10),)))
        elif c == "[":
            self.characters(self.character_class())
        else:
            self.literal(ord(c))

    def append(self, fragment: Fragment) -> None:
        self.groups[-1].items.append(fragment)

    def single(self, kind: StateKind) -> None:
        self.append(self.states.single(kind))

    def characters(self, ranges: Ranges) -> None:
        self.append(self.states.single(StateKind.CHARACTER, ranges))

    def literal(self, code: int) -> None:
        ranges = ((code, code),)
        self.characters(caseless(ranges) if self.flags.i else ranges)

    def close_group(self, group: OpenGroup) -> Fragment:
        return self.states.alternate([*group.branches, self.states.concatenate(group.items)])

    # --- groups ------------------------------------------------------------------------------

    def open(self) -> None:
        if len(self.groups) > MAX_GROUP_NESTING:
            self.fail(f"groups must be nested at most {MAX_GROUP_NESTING} deep")
        outer = OpenGroup(self.flags)
        if not self.sees("?"):
            self.groups.append(outer)
            return
        self.position += 1
        if self.sees("P<") or (self.sees("<") and not self.sees("<=") and not self.sees("<!")):
            self.name()
            self.groups.append(outer)
        elif self.read_flags():
            self.groups.append(outer)

    def name(self) -> None:
        self.until("<")
        name = self.until(">")
        if not name or any(unicodedata.category(c) not in NAMING for c in name):
            self.fail("a group name must be a nonempty word")

    def read_flags(self) -> bool:
        """Reads the flags `i`, `m`, `s`, `U` and their negations; returns whether they open a group."""
        value, seen = True, False
        while True:
            c = self.take()
            if c in ("i", "m", "s"):
                self.flags = replace(self.flags, **{c: value})
                seen = True
            elif c == "U":
                seen = True
            elif c == "-" and value:
                value, seen = False, False
            elif c in (":", ")") and c and (value or seen):
                return c == ":"
            else:
                self.fail("(? must be followed by flags or a name")

    # --- repetitions -------------------------------------------------------------------------

    def repetition(self, c: str, start: int, before: int) -> None:
        minimum, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(c) or self.counts(start)
        if self.sees("?"):
            self.position += 1
        items = self.groups[-1].items
        if not items:
            self.fail(f"{self.pattern[start : self.position]} repeats nothing")
        if before >= 0:
            self.fail(f"{self.pattern[before : self.position]} repeats a repetition")
        part = items.pop()
        times = maximum or minimum
        if c == "{" and times >= 2 and part.repeats * times > MAX_REPEATS:
            self.fail(f"a part must be repeated at most {MAX_REPEATS} times")
        items.append(self.states.optional(part) if c == "?" else self.states.repeat(part, minimum, maximum))
        self.repeated_at = start

    def counts(self, start: int) -> tuple[int, int | None]:
        """The bounds of {n}, {n,} or {n,m}, which starts at `start`."""
        parsed = COUNT_SYNTAX.match(self.pattern, start)
        assert parsed is not None, "item() has matched a count here"
        self.position = parsed.end()
        minimum = parse_count(parsed[1])
        maximum = parse_count(parsed[3]) if parsed[3] else None if parsed[2] else minimum
        if max(minimum, maximum or 0) > MAX_REPEATS or (maximum is not None and maximum < minimum):
            self.fail(f"a count must be ascending numbers up to {MAX_REPEATS}; got {parsed[0]}")
        return minimum, maximum

    # --- escapes -----------------------------------------------------------------------------

    def escape(self) -> None:
        c = self.take()
        if c in ANCHORS and c:
            self.single(ANCHORS[c])
        elif c == "C":
            self.single(StateKind.BYTE)
        elif c == "Q":
            text = self.until("\\E")
            if text is None:
                text, self.position = self.pattern[self.position :], len(self.pattern)
            for character in text:
                self.literal(ord(character))
        elif (group := self.named_class(c)) is not None:
            self.characters(group)
        else:
            self.literal(self.code(c))

    def named_class(self, c: str) -> Ranges | None:
        """The set of an escape such as \\d or \\pN, whose backslash and `c` are read; None for other escapes."""
        if c and c.lower() in PERL:
            parsed = PERL[c.lower()]
            return self.apply_case(parsed, negated=c.isupper())
        if c not in ("p", "P"):
            return None
        negated = c == "P"
        name: str | None = self.take()
        if name == "{":
            name = self.until("}")
        if name and name.startswith("^"):
            negated, name = not negated, name[1:]
        found_group = unicode_group(name) if name else None
        if found_group is None:
            self.fail(f"\\{c} must name a category or script")
        return self.apply_case(found_group, negated=negated)

    def apply_case(self, ranges: Ranges, *, negated: bool) -> Ranges:
        parsed = caseless(ranges) if self.flags.i else ranges
        return complement(parsed) if negated else parsed

    # --- classes -----------------------------------------------------------------------------

    def character_class(self) -> Ranges:
        """The set between [ and ]; the opening bracket is already read."""
        negated = self.sees("^")
        self.position += negated
        parsed: dict[Ranges, None] = {}  # distinct sets, in order
        first = True
        while first or not self.sees("]"):
            if self.position >= len(self.pattern):
                self.fail("a character class is not closed")
            parsed[self.class_item()] = None
            first = False
        self.position += 1
        ranges = normal(pair for item in parsed for pair in item)
        return complement(ranges) if negated else ranges

    def class_item(self) -> Ranges:
        if self.sees("[:") and (end := self.pattern.find(":]", self.position + 2)) >= 0:
            name = self.pattern[self.position + 2 : end]
            known = POSIX.get(name.removeprefix("^"))
            if known is None:
                self.fail(f"[:{name}:] is not a character class")
            self.position = end + 2
            return self.apply_case(known, negated=name.startswith("^"))
        if self.sees("\\"):
            start = self.position
            self.position += 1
            group = self.named_class(self.take())
            if group is not None:
                return group
            self.position = start
        return self.class_range()

    def class_range(self) -> Ranges:
        low = high = self.class_character()
        if self.sees("-") and not self.sees("-]") and self.position + 1 < len(self.pattern):
            self.position += 1
            high = self.class_character()
        if high < low:
            self.fail(f"a range must be ascending; got {chr(low)!r} to {chr(high)!r}")
        return caseless(((low, high),)) if self.flags.i else ((low, high),)

    def class_character(self) -> int:
        c = self.take()
        return self.code(self.take()) if c == "\\" else ord(c)


def parse_count(digits: str) -> int:
    """The number; for more than four digits, MAX_REPEATS + 1, which is refused as well."""
    return int(digits) if len(digits) <= 4 else MAX_REPEATS + 1
