"""RE2's syntax: a pattern read once from left to right, with a stack of open groups.

Spec: RegexFullMatch-20, which names RE2's syntax page.  Greed does not matter to a full match and is read over, as are
the names of groups.  What RE2 refuses is refused: look-around, backreferences, a repeated repetition, counts over 1000.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace

from sardonyx._src.errors import LimitError
from sardonyx._src.ops.text.re2.characters import (
    ANY,
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
from sardonyx._src.ops.text.re2.reader import Reader
from sardonyx._src.ops.text.re2.states import Fragment, Kind, States

LONGEST = 100_000  # pattern, in characters
MOST_REPEATS = 1000
DEEPEST = 1000  # groups in groups
COUNT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")  # anything else is a brace
ANCHORS = {
    "A": Kind.BEGIN_TEXT,
    "z": Kind.END_TEXT,
    "b": Kind.WORD_BOUNDARY,
    "B": Kind.NO_WORD_BOUNDARY,
}
NAMING = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Nd", "Pc"}  # categories that names are made of


@dataclass(frozen=True, slots=True)
class Flags:
    """i: any case.  m: ^ and $ at lines, too.  s: a dot is also a newline."""

    i: bool = False
    m: bool = False
    s: bool = False


@dataclass(slots=True)
class Group:
    """An open group: what stands before its last | and behind it, and the flags from before it."""

    flags: Flags
    branches: list[Fragment] = field(default_factory=list)
    items: list[Fragment] = field(default_factory=list)


@dataclass(slots=True)
class Parser(Reader):
    """Reads one pattern as states."""

    flags: Flags = field(default_factory=Flags)
    states: States = field(default_factory=States)
    groups: list[Group] = field(default_factory=list)
    repeated_at: int = -1  # where the repetition begins that ends here, if one does

    def parse(self) -> Fragment:
        """The whole pattern; raises LimitError where it is too long or needs too many states."""
        if len(self.pattern) > LONGEST:
            what = f"the pattern has {len(self.pattern)} characters"
            raise LimitError(what, limit="sardonyx._src.ops.text.re2.parser.LONGEST")
        if any(contains(SURROGATES, ord(c)) for c in self.pattern):
            self.fail("it is no UTF-8")
        self.groups.append(Group(self.flags))
        while self.place < len(self.pattern):
            self.item()
        if len(self.groups) > 1:
            self.fail("a group is not closed")
        return self.closed(self.groups.pop())

    # --- expressions -------------------------------------------------------------------------

    def item(self) -> None:
        before, start = self.repeated_at, self.place
        self.repeated_at = -1
        c = self.take()
        if c in "*+?" or (c == "{" and COUNT.match(self.pattern, start)):
            self.repetition(c, start, before)
        elif c == "(":
            self.open()
        elif c == ")":
            if len(self.groups) == 1:
                self.fail("a group is closed that is not open")
            group = self.groups.pop()
            self.flags = group.flags
            self.append(self.closed(group))
        elif c == "|":
            group = self.groups[-1]
            group.branches.append(self.states.joined(group.items))
            group.items = []
        elif c == "\\":
            self.escape()
        else:
            self.plain(c)

    def plain(self, c: str) -> None:
        if c == "^":
            self.single(Kind.BEGIN_LINE if self.flags.m else Kind.BEGIN_TEXT)
        elif c == "$":
            self.single(Kind.END_LINE if self.flags.m else Kind.END_TEXT)
        elif c == ".":
            self.characters(ANY if self.flags.s else complement(((10, 10),)))
        elif c == "[":
            self.characters(self.character_class())
        else:
            self.literal(ord(c))

    def append(self, fragment: Fragment) -> None:
        self.groups[-1].items.append(fragment)

    def single(self, kind: Kind) -> None:
        self.append(self.states.single(kind))

    def characters(self, ranges: Ranges) -> None:
        self.append(self.states.single(Kind.CHARACTER, ranges))

    def literal(self, code: int) -> None:
        ranges = ((code, code),)
        self.characters(caseless(ranges) if self.flags.i else ranges)

    def closed(self, group: Group) -> Fragment:
        return self.states.branched([*group.branches, self.states.joined(group.items)])

    # --- groups ------------------------------------------------------------------------------

    def open(self) -> None:
        if len(self.groups) > DEEPEST:
            self.fail(f"groups are nested more than {DEEPEST} deep")
        outer = Group(self.flags)
        if not self.sees("?"):
            self.groups.append(outer)
            return
        self.place += 1
        if self.sees("P<") or (self.sees("<") and not self.sees("<=") and not self.sees("<!")):
            self.name()
            self.groups.append(outer)
        elif self.read_flags():
            self.groups.append(outer)

    def name(self) -> None:
        self.until("<")
        name = self.until(">")
        if not name or any(unicodedata.category(c) not in NAMING for c in name):
            self.fail("a group has no proper name")

    def read_flags(self) -> bool:
        """Reads `i`, `m`, `s`, `U` and their negatives; whether a group begins behind them."""
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
                self.fail("(? is followed by what is neither a flag nor a name")

    # --- repetitions -------------------------------------------------------------------------

    def repetition(self, c: str, start: int, before: int) -> None:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(c) or self.counts(start)
        if self.sees("?"):
            self.place += 1
        items = self.groups[-1].items
        if not items:
            self.fail(f"{self.pattern[start : self.place]} repeats nothing")
        if before >= 0:
            self.fail(f"{self.pattern[before : self.place]} repeats a repetition")
        part = items.pop()
        times = most or least
        if c == "{" and times >= 2 and part.repeats * times > MOST_REPEATS:
            self.fail(f"it repeats a part more than {MOST_REPEATS} times")
        items.append(self.states.optional(part) if c == "?" else self.states.repeated(part, least, most))
        self.repeated_at = start

    def counts(self, start: int) -> tuple[int, int | None]:
        """The numbers of {n}, {n,} or {n,m}, which begins at `start`."""
        found = COUNT.match(self.pattern, start)
        assert found is not None, "only a count is read as one"
        self.place = found.end()
        least = bounded(found[1])
        most = bounded(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            self.fail(f"{found[0]} is no count: two numbers up to {MOST_REPEATS} in order are wanted")
        return least, most

    # --- escapes -----------------------------------------------------------------------------

    def escape(self) -> None:
        c = self.take()
        if c in ANCHORS and c:
            self.single(ANCHORS[c])
        elif c == "C":
            self.single(Kind.BYTE)
        elif c == "Q":
            text = self.until("\\E")
            if text is None:
                text, self.place = self.pattern[self.place :], len(self.pattern)
            for one in text:
                self.literal(ord(one))
        elif (group := self.named_class(c)) is not None:
            self.characters(group)
        else:
            self.literal(self.code(c))

    def named_class(self, c: str) -> Ranges | None:
        """The set that \\d, \\pN and their like name, the backslash and `c` being read; None for another escape."""
        if c and c.lower() in PERL:
            found = PERL[c.lower()]
            return self.cased(found, negated=c.isupper())
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
            self.fail(f"\\{c} names no category or script")
        return self.cased(found_group, negated=negated)

    def cased(self, ranges: Ranges, *, negated: bool) -> Ranges:
        found = caseless(ranges) if self.flags.i else ranges
        return complement(found) if negated else found

    # --- classes -----------------------------------------------------------------------------

    def character_class(self) -> Ranges:
        """What stands between [ and ]; the opening bracket is read."""
        negated = self.sees("^")
        self.place += negated
        found: dict[Ranges, None] = {}  # each set once, however often it stands there
        first = True
        while first or not self.sees("]"):
            if self.place >= len(self.pattern):
                self.fail("a character class is not closed")
            found[self.class_item()] = None
            first = False
        self.place += 1
        ranges = normal(pair for one in found for pair in one)
        return complement(ranges) if negated else ranges

    def class_item(self) -> Ranges:
        if self.sees("[:") and (end := self.pattern.find(":]", self.place + 2)) >= 0:
            name = self.pattern[self.place + 2 : end]
            known = POSIX.get(name.removeprefix("^"))
            if known is None:
                self.fail(f"[:{name}:] is no class")
            self.place = end + 2
            return self.cased(known, negated=name.startswith("^"))
        if self.sees("\\"):
            start = self.place
            self.place += 1
            group = self.named_class(self.take())
            if group is not None:
                return group
            self.place = start
        return self.class_range()

    def class_range(self) -> Ranges:
        low = high = self.class_character()
        if self.sees("-") and not self.sees("-]") and self.place + 1 < len(self.pattern):
            self.place += 1
            high = self.class_character()
        if high < low:
            self.fail(f"the range {chr(low)!r} to {chr(high)!r} is empty")
        return caseless(((low, high),)) if self.flags.i else ((low, high),)

    def class_character(self) -> int:
        c = self.take()
        return self.code(self.take()) if c == "\\" else ord(c)


def bounded(digits: str) -> int:
    """The number, at most one that is too large."""
    return int(digits) if len(digits) <= 4 else MOST_REPEATS + 1
