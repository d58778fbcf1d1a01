"""Checked build of kernels: instruments LLVM text so that every memory access is validated, as by AddressSanitizer.

`instrument_module` returns the module in which each load and store, including masked, gather, scatter and atomic ones,
is first looked up in a table of allowed ranges, at the symbol `checked_table`.  An access that is not allowed is recorded
as a fault and redirected to spare memory, so that a faulty kernel terminates and its first fault can be reported.

The table is an array of i64: the number of faults; address, bytes, 1 for a write, and line of the text, of the first one;
the number of ranges; then for each range its begin, its end, and whether it is writable.  Arrays on the stack and
constants of the module are checked against their own sizes where the text tells which one is accessed; arrays on the
stack are in the table too, while their function runs.  Only the active lanes of a masked access are checked;
of a tile of AMX, whose size is not in the text, the first word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compile.checked_support import SPARE, SUPPORT

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
TILE = re.compile(rf"@llvm\.x86\.(ldtilecfg|tileloadd64|tilestored64)\(.*?ptr ({NAME})")
CALL = re.compile(r"\bcall .*?([%@][\w.]+)\(")
CHOICE = re.compile(rf"^ ({NAME}) = select i1 {NAME}, ptr ({NAME}), ptr ({NAME})$")
MASK = re.compile(rf"^({NAME}|<[^>]+>|splat \([^)]*\)|\w+)(?:, .*)?$")


def instrument_module(text: str) -> str:
    """The module with every access instrumented; asserts that all kinds of access in it are supported."""
    lines = text.split("\n")
    constants = {m[1]: size_of(m[2]) for m in map(CONSTANT.match, lines) if m}
    defined = {m[1] for m in (re.match(rf"define .*?({NAME})\(", line) for line in lines) if m}
    result: list[str] = []
    index = 0
    while index < len(lines):
        if not lines[index].startswith("define "):
            result.append(lines[index])
            index += 1
            continue
        end = lines.index("}", index)
        result += FunctionInstrumenter(lines[index:end], index + 1, constants, defined).instrument()
        index = end
    declared = {line for line in lines if line.startswith("declare ")}  # LLVM accepts each only once
    return "\n".join((*result, *(line for line in SUPPORT.splitlines() if line not in declared)))


class FunctionInstrumenter:
    """Instruments one function, given its lines, the number of the first, and the module's constants and functions."""

    def __init__(self, body: list[str], first: int, constants: dict[str, int], defined: set[str]) -> None:
        self.body, self.first = body, first
        self.functions = set(defined)
        for match in filter(None, map(CHOICE.match, body)):
            if {match[2], match[3]} <= self.functions:
                self.functions.add(match[1])
        arrays = {m[1]: size_of(m[2]) for m in map(ARRAY.match, body) if m}
        self.roots = {name: (name, size) for name, size in (constants | arrays).items()}
        self.plain = {name for name in arrays if is_plain(name, arrays[name], body)}
        self.pushed = [name for name in arrays if name not in self.plain]
        self.count = 0

    def instrument(self) -> Iterator[str]:
        head, label, *rest = self.body
        slots = [line for line in rest if ARRAY.match(line)]
        yield from (head, label, *slots)
        for name in self.pushed:
            yield f" call void @checked_push(ptr {name}, i64 {self.roots[name][1]})"
        for number, line in enumerate(self.body[2:], self.first + 2):
            if not ARRAY.match(line):
                yield from self.instrument_line(line, number)

    def instrument_line(self, line: str, number: int) -> Iterator[str]:
        if match := OFFSET.match(line):
            if match[2] in self.roots:
                self.roots[match[1]] = self.roots[match[2]]
        elif line.startswith(" ret ") and self.pushed:
            yield f" call void @checked_pop(i64 {len(self.pushed)})"
        elif CALL.search(line):
            yield from self.instrument_call(line, number)
            return
        elif re.search(r"^ (?:\S+ = )?(?:load|store|atomicrmw|cmpxchg) ", line):
            yield from self.instrument_access(line, number)
            return
        yield line

    def instrument_access(self, line: str, number: int) -> Iterator[str]:
        match = ACCESS.search(line)
        assert match, f"access must be of a supported kind; got {line!r}"
        opcode, kind, name = match.groups()
        size = size_of(kind) if kind else 8
        assert kind or opcode == "atomicrmw", f"access must be of a supported kind; got {line!r}"
        if name in self.plain:
            yield line
            return
        pointer = self.new_name()
        yield f" {pointer} = {self.format_check(name, size, opcode != 'load', number)}"
        yield line[: match.start(3)] + pointer + line[match.end(3) :]

    def format_check(self, name: str, size: int, writes: bool, number: int) -> str:
        """The call that validates an access; it returns the pointer to use."""
        assert size <= SPARE, f"access must have at most {SPARE} bytes; got {size}"
        operands = f"ptr {name}, i64 {size}, i64 {int(writes)}, i64 {number}"
        if name not in self.roots:
            return f"call ptr @checked_range({operands})"
        root, bytes_ = self.roots[name]
        return f"call ptr @checked_object({operands}, ptr {root}, i64 {bytes_})"

    def instrument_call(self, line: str, number: int) -> Iterator[str]:
        match = CALL.search(line)
        assert match, "call must name its callee"
        name = match[1]
        if masked := MASKED.search(line):
            yield from self.instrument_masked(line, number, masked)
        elif lanes := LANES.search(line):
            yield from self.instrument_lanes(line, number, lanes)
        elif tile := TILE.search(line):
            pointer, size = self.new_name(), 64 if tile[1] == "ldtilecfg" else 4
            yield f" {pointer} = {self.format_check(tile[2], size, tile[1] == 'tilestored64', number)}"
            yield line[: tile.start(2)] + pointer + line[tile.end(2) :]
        else:
            touches_nothing = name.startswith("@llvm.") and not re.search(r"\bptr\b", line)
            is_known = touches_nothing or name.startswith("@llvm.prefetch.") or name in self.functions
            assert is_known, f"access must be of a supported kind; got {line!r}"
            yield line

    def instrument_masked(self, line: str, number: int, match: re.Match[str]) -> Iterator[str]:
        opcode, _, name, lanes, rest = match.groups()
        width = size_of(re.findall(r"\.v\d+(\w+?\d+)\.p0\(", line)[0])
        bits, pointer = self.new_name(), self.new_name()
        yield from self.pack_mask(bits, int(lanes), rest)
        operands = f"ptr {name}, i64 {width}, i64 {int(opcode == 'store')}, i64 {number}, i64 {bits}"
        yield f" {pointer} = call ptr @checked_lanes({operands})"
        yield line[: match.start(3)] + pointer + line[match.end(3) :]

    def pack_mask(self, name: str, lanes: int, rest: str) -> Iterator[str]:
        """Converts a mask, at the start of the operands `rest`, to an i64 with one bit a lane."""
        match = MASK.match(rest)
        assert match and lanes <= 64, f"operands must begin with a mask of at most 64 lanes; got {rest!r}"
        if lanes == 64:
            yield f" {name} = bitcast <64 x i1> {match[1]} to i64"
            return
        narrow = self.new_name()
        yield f" {narrow} = bitcast <{lanes} x i1> {match[1]} to i{lanes}"
        yield f" {name} = zext i{lanes} {narrow} to i64"

    def instrument_lanes(self, line: str, number: int, match: re.Match[str]) -> Iterator[str]:
        opcode, kind, count, name, rest = match.groups()
        width, lanes = size_of(re.sub(r"^v\d+", "", kind)), int(count)
        bits = self.new_name()
        yield from self.pack_mask(bits, lanes, rest)
        for lane in range(lanes):
            lane_pointer, shifted, is_active, checked_pointer, vector = (self.new_name() for _ in range(5))
            yield f" {lane_pointer} = extractelement <{lanes} x ptr> {name}, i32 {lane}"
            yield f" {shifted} = lshr i64 {bits}, {lane}"
            yield f" {is_active} = and i64 {shifted}, 1"
            operands = f"ptr {lane_pointer}, i64 {width}, i64 {int(opcode == 'scatter')}, i64 {number}, i64 {is_active}"
            yield f" {checked_pointer} = call ptr @checked_lanes({operands})"
            yield f" {vector} = insertelement <{lanes} x ptr> {name}, ptr {checked_pointer}, i32 {lane}"
            name = vector
        yield line[: match.start(4)] + name + line[match.end(4) :]

    def new_name(self) -> str:
        self.count += 1
        return f"%checked{self.count}"


def is_plain(name: str, size: int, body: list[str]) -> bool:
    """Whether a stack slot is only loaded and stored as one value, which is always in bounds."""
    named = re.compile(rf"{re.escape(name)}\b")
    for line in body:
        occurrences = len(named.findall(line)) if name in line else 0
        if occurrences and not ARRAY.match(line):
            match = ACCESS.search(line)
            if (
                occurrences > 1
                or match is None
                or match[3] != name
                or not match[2]
                or size_of(match[2]) > size
            ):
                return False
    return True


def size_of(kind: str) -> int:
    """The size of an LLVM type in bytes: `float`, `i1`, `ptr`, `<16 x i32>`, `[8 x double]`; or of a suffix `f32`."""
    if match := re.fullmatch(r"[<\[](\d+) x (\w+)[>\]]", kind):
        bits = int(match[1]) * bits_of(match[2])
        return -(-bits // 8)
    return -(-bits_of(kind) // 8)


def bits_of(element: str) -> int:
    return {"float": 32, "double": 64, "ptr": 64}.get(element) or int(element[1:])
