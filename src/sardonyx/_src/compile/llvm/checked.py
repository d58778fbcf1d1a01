"""Kernels that look before every access to memory whether they may go there: a build of the same text, for tests.

`checked(text)` gives the module in which each load and store, masked ones, those that gather and scatter and atomic ones
among them, first asks for its place in a table that the caller puts at `checked_table`.  What is not allowed is noted and
goes to spare memory instead, so that a kernel that has gone astray ends, and its first fault can be told.

The table is words of 8 bytes: how many faults there were; address, bytes, 1 of a write, and line of the text, of the first one;
how many ranges follow; then for each its begin, its end, and whether it may be written.  Arrays on the stack and
constants of the module are held to their own sizes where the text says which of them is meant; arrays on the stack
stand in the table besides, while their function runs.  Of a masked access the lanes that are on count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.compile.llvm.checked_support import SPARE, SUPPORT

NAME = r"[%@][\w.]+"
KIND = r"<[^>]+>|\[[^\]]+\]|\w+"
ACCESS = re.compile(rf"(load|store|atomicrmw)(?: atomic)?(?: \w+(?= ptr))? (?:({KIND}).*?, )?ptr ({NAME})")
OFFSET = re.compile(rf"^ ({NAME}) = getelementptr (?:{KIND}), ptr ({NAME}), i64 ")
ARRAY = re.compile(rf"^ ({NAME}) = alloca ({KIND}), align")
CONSTANT = re.compile(rf"^({NAME}) = internal constant ({KIND}) ")
MASKED = re.compile(
    rf"@llvm\.masked\.(load|store)\.[\w.]+\((?:({KIND}) .*?, )?ptr ({NAME}), i32 \d+, <(\d+) x i1> (.*)\)$"
)
LANES = re.compile(
    rf"@llvm\.masked\.(gather|scatter)\.(v\d+\w\d+)\.[\w.]+\(.*?<(\d+) x ptr> ({NAME}), i32 \d+, <\d+ x i1> (.*)\)$"
)
CALL = re.compile(r"\bcall .*?([%@][\w.]+)\(")
CHOICE = re.compile(rf"^ ({NAME}) = select i1 {NAME}, ptr ({NAME}), ptr ({NAME})$")
MASK = re.compile(rf"^({NAME}|<[^>]+>|splat \([^)]*\)|\w+)(?:, .*)?$")


def checked(text: str) -> str:
    """The module whose accesses are held to the table; asserts that it knows each of them."""
    lines = text.split("\n")
    constants = {m[1]: size_of(m[2]) for m in map(CONSTANT.match, lines) if m}
    defined = {m[1] for m in (re.match(rf"define .*?({NAME})\(", line) for line in lines) if m}
    found: list[str] = []
    at = 0
    while at < len(lines):
        if not lines[at].startswith("define "):
            found.append(lines[at])
            at += 1
            continue
        end = lines.index("}", at)
        found += Checking(lines[at:end], at + 1, constants, defined).lines()
        at = end
    return "\n".join((*found, SUPPORT))


class Checking:
    """One function on its way: its lines, the number of the first, constants of the module and its functions."""

    def __init__(self, body: list[str], first: int, constants: dict[str, int], defined: set[str]) -> None:
        self.body, self.first = body, first
        self.functions = set(defined)
        for match in filter(None, map(CHOICE.match, body)):
            if {match[2], match[3]} <= self.functions:
                self.functions.add(match[1])
        arrays = {m[1]: size_of(m[2]) for m in map(ARRAY.match, body) if m}
        self.roots = {name: (name, size) for name, size in (constants | arrays).items()}
        self.plain = {name for name in arrays if is_plain(name, arrays[name], body)}
        self.opened = [name for name in arrays if name not in self.plain]
        self.count = 0

    def lines(self) -> Iterator[str]:
        head, label, *rest = self.body
        slots = [line for line in rest if ARRAY.match(line)]
        yield from (head, label, *slots)
        for name in self.opened:
            yield f" call void @checked_open(ptr {name}, i64 {self.roots[name][1]})"
        for number, line in enumerate(self.body[2:], self.first + 2):
            if not ARRAY.match(line):
                yield from self.line(line, number)

    def line(self, line: str, number: int) -> Iterator[str]:
        if match := OFFSET.match(line):
            if match[2] in self.roots:
                self.roots[match[1]] = self.roots[match[2]]
        elif line.startswith(" ret ") and self.opened:
            yield f" call void @checked_close(i64 {len(self.opened)})"
        elif CALL.search(line):
            yield from self.call(line, number)
            return
        elif re.search(r"^ (?:\S+ = )?(?:load|store|atomicrmw|cmpxchg) ", line):
            yield from self.access(line, number)
            return
        yield line

    def access(self, line: str, number: int) -> Iterator[str]:
        match = ACCESS.search(line)
        assert match, f"no check is known of {line!r}"
        how, kind, name = match.groups()
        size = size_of(kind) if kind else 8
        assert kind or how == "atomicrmw", f"no check is known of {line!r}"
        if name in self.plain:
            yield line
            return
        held = self.fresh()
        yield f" {held} = {self.asked(name, size, how != 'load', number)}"
        yield line[: match.start(3)] + held + line[match.end(3) :]

    def asked(self, name: str, size: int, writes: bool, number: int) -> str:
        """The call that answers where to go."""
        assert size <= SPARE, f"an access of {size} bytes is larger than what is spare"
        words = f"ptr {name}, i64 {size}, i64 {int(writes)}, i64 {number}"
        if name not in self.roots:
            return f"call ptr @checked_held({words})"
        root, bytes_ = self.roots[name]
        return f"call ptr @checked_within({words}, ptr {root}, i64 {bytes_})"

    def call(self, line: str, number: int) -> Iterator[str]:
        match = CALL.search(line)
        assert match, "a call names what it calls"
        name = match[1]
        if masked := MASKED.search(line):
            yield from self.masked(line, number, masked)
        elif lanes := LANES.search(line):
            yield from self.lanes(line, number, lanes)
        else:
            touches_nothing = name.startswith("@llvm.") and not re.search(r"\bptr\b", line)
            is_known = touches_nothing or name.startswith("@llvm.prefetch.") or name in self.functions
            assert is_known, f"no check is known of {line!r}"
            yield line

    def masked(self, line: str, number: int, match: re.Match[str]) -> Iterator[str]:
        how, _, name, lanes, rest = match.groups()
        width = size_of(re.findall(r"\.v\d+(\w+?\d+)\.p0\(", line)[0])
        bits, held = self.fresh(), self.fresh()
        yield from self.bits(bits, int(lanes), rest)
        words = f"ptr {name}, i64 {width}, i64 {int(how == 'store')}, i64 {number}, i64 {bits}"
        yield f" {held} = call ptr @checked_lanes({words})"
        yield line[: match.start(3)] + held + line[match.end(3) :]

    def bits(self, name: str, lanes: int, rest: str) -> Iterator[str]:
        """A mask, which stands before other operands or alone, as the bits of an integer."""
        match = MASK.match(rest)
        assert match and lanes <= 64, f"no mask begins {rest!r}"
        if lanes == 64:
            yield f" {name} = bitcast <64 x i1> {match[1]} to i64"
            return
        narrow = self.fresh()
        yield f" {narrow} = bitcast <{lanes} x i1> {match[1]} to i{lanes}"
        yield f" {name} = zext i{lanes} {narrow} to i64"

    def lanes(self, line: str, number: int, match: re.Match[str]) -> Iterator[str]:
        how, kind, count, name, rest = match.groups()
        width, lanes = size_of(re.sub(r"^v\d+", "", kind)), int(count)
        bits = self.fresh()
        yield from self.bits(bits, lanes, rest)
        for lane in range(lanes):
            one, shifted, is_on, held, made = (self.fresh() for _ in range(5))
            yield f" {one} = extractelement <{lanes} x ptr> {name}, i32 {lane}"
            yield f" {shifted} = lshr i64 {bits}, {lane}"
            yield f" {is_on} = and i64 {shifted}, 1"
            words = f"ptr {one}, i64 {width}, i64 {int(how == 'scatter')}, i64 {number}, i64 {is_on}"
            yield f" {held} = call ptr @checked_lanes({words})"
            yield f" {made} = insertelement <{lanes} x ptr> {name}, ptr {held}, i32 {lane}"
            name = made
        yield line[: match.start(4)] + name + line[match.end(4) :]

    def fresh(self) -> str:
        self.count += 1
        return f"%checked{self.count}"


def is_plain(name: str, size: int, body: list[str]) -> bool:
    """Whether an array on the stack is one value that is loaded and stored whole: nothing can leave it."""
    named = re.compile(rf"{re.escape(name)}\b")
    for line in body:
        times = len(named.findall(line))
        if times and not ARRAY.match(line):
            match = ACCESS.search(line)
            if times > 1 or match is None or match[3] != name or not match[2] or size_of(match[2]) > size:
                return False
    return True


def size_of(kind: str) -> int:
    """The bytes of a kind as LLVM writes it: `float`, `i1`, `ptr`, `<16 x i32>`, `[8 x double]`; or `f32` of a suffix."""
    if match := re.fullmatch(r"[<\[](\d+) x (\w+)[>\]]", kind):
        bits = int(match[1]) * bits_of(match[2])
        return -(-bits // 8)
    return -(-bits_of(kind) // 8)


def bits_of(element: str) -> int:
    return {"float": 32, "double": 64, "ptr": 64}.get(element) or int(element[1:])
