"""The sizes and places of a program as compiled code: `i64 sizes(ptr lengths, ptr values)`.

lengths: of the inputs, one for each symbol, in order.  values: one word for each of the expressions asked for, then
the size of the arena in bytes, then that of the scratch of one thread.  The result counts the dims that came out
negative, the demands of the program that do not hold, and what did not fit into a word: then nothing may be run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from sardonyx._src.compile.blocks import I64, Blocks
from sardonyx._src.compile.layout import Layout
from sardonyx._src.compile.plan import LINE
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.ir.dims import Expr, Known, evaluate
from sardonyx._src.ir.dims.expr import Atom, Symbol
from sardonyx._src.ir.dims.expr import Call as DimCall


class Sizes(Blocks):
    """The instructions that work out expressions, each once."""

    def __init__(self, symbols: Sequence[str]) -> None:
        super().__init__(fused=False)
        self.known: dict[str, Value] = {}
        self.found: dict[Expr | DimCall, Value] = {}
        self.overflows: list[Value] = []  # one bit for each sum and product
        for i, name in enumerate(symbols):
            place = self.address("%lengths", self.constant(i, I64), "i64")
            self.known[name] = self.emit(I64, f"load i64, ptr {place}")

    def value(self, dim: Known) -> Value:
        if not isinstance(dim, Expr):
            return self.constant(dim, I64)
        if dim not in self.found:
            terms = [self.term(monomial, factor) for monomial, factor in dim.terms.items()]
            self.found[dim] = reduce(lambda a, b: self.checked("sadd", a, b), terms)
        return self.found[dim]

    def term(self, monomial: Sequence[Atom], factor: int) -> Value:
        found = [self.atom(atom) for atom in monomial]
        if factor != 1 or not found:
            found.append(self.constant(factor, I64))
        return reduce(lambda a, b: self.checked("smul", a, b), found)

    def checked(self, operation: str, a: Value, b: Value) -> Value:
        """A sum or a product; that it fits into its word is noted, so that no buffer is smaller than it should be."""
        self.declarations[f"declare {{i64, i1}} @llvm.{operation}.with.overflow.i64(i64, i64)"] = None
        self._count += 1
        both = f"%o{self._count}"
        self.lines.append(f" {both} = call {{i64, i1}} @llvm.{operation}.with.overflow.i64({a}, {b})")
        self.overflows.append(self.emit(Kind("i1"), f"extractvalue {{i64, i1}} {both}, 1"))
        return self.emit(I64, f"extractvalue {{i64, i1}} {both}, 0")

    def atom(self, atom: Atom) -> Value:
        if isinstance(atom, Symbol):
            return self.known[atom.name]
        assert isinstance(atom, DimCall), f"{atom} is too large to be worked out"
        if atom not in self.found:
            args = [self.value(arg) for arg in atom.args]
            self.found[atom] = reduce(lambda a, b: self.called(atom.op, a, b), args)
        return self.found[atom]

    def called(self, op: str, a: Value, b: Value) -> Value:
        match op:
            case "max":
                return self.select(a < b, b, a)
            case "min":
                return self.select(a < b, a, b)
        divisor = self.select(b.equals(0), 1, b)  # a division by zero would end the process
        quotient = self.emit(I64, f"sdiv {a}, {divisor.name}")
        rest = a - quotient * divisor
        below = rest.differs(0) & ((rest ^ divisor) < 0)
        if op == "//":
            return self.select(below, quotient - 1, quotient)
        return self.select(below, rest + divisor, rest)

    def rounded(self, size: Value) -> Value:
        """A size in whole cache lines; none where it is negative."""
        return ((size.at_least(0)) + (LINE - 1)) & -LINE

    def store(self, index: int, value: Value) -> None:
        place = self.address("%values", self.constant(index, I64), "i64")
        self.lines.append(f" store {value}, ptr {place}")


def text(name: str, program: Program, layout: Layout) -> str:
    """The module of the function."""
    code = Sizes(list(program.sizes))
    total = slots(code, layout)
    wanted = asked(layout)
    for i, dim in enumerate(wanted):
        code.store(i, code.value(dim))
    code.store(len(wanted), total)
    code.store(len(wanted) + 1, most(code, layout.scratch))
    faults = code.constant(0, I64)
    for dim in guards(program):
        faults = faults + (code.value(dim) < 0).converted("zext", "i64")
    for a, b in program.demands:
        faults = faults + code.value(a).differs(code.value(b)).converted("zext", "i64")
    for overflow in code.overflows:
        faults = faults + overflow.converted("zext", "i64")
    head = f"define i64 @{name}(ptr %lengths, ptr %values) nounwind {{"
    return "\n".join((*code.declarations, head, "entry:", *code.slots, *code.lines, f" ret {faults}", "}"))


def slots(code: Sizes, layout: Layout) -> Value:
    """Places the slots of the arena in a row; answers with its size."""
    total = code.constant(layout.plan.size, I64)
    for i, slot in enumerate(layout.plan.slots):
        code.known[f"slot {i}"] = total
        sizes = dict.fromkeys(tenant.size for tenant in slot.tenants)
        total = code.checked("sadd", total, most(code, sizes))
    return total


def most(code: Sizes, sizes: Iterable[Known]) -> Value:
    """The largest of some sizes, in whole cache lines."""
    found = code.constant(0, I64)
    for size in sizes:
        one = code.value(size)
        found = code.select(found < one, one, found)
    return code.rounded(found)


def asked(layout: Layout) -> list[Known]:
    """The expressions among the words, in order."""
    return [value for value in layout.values if isinstance(value, Expr)]


def guards(program: Program) -> list[Known]:
    """The dims of all tensors that sizes of inputs could make negative."""
    tensors = (t for action in program.actions for t in (*action.reads, *action.writes))
    return list(dict.fromkeys(dim for tensor in tensors for dim in tensor.shape if isinstance(dim, Expr)))


def worked_out(program: Program, layout: Layout, lengths: Sequence[int]) -> tuple[list[int], int, int, int]:
    """What the compiled function does, in Python: values, bytes of the arena, of the scratch, and faults."""
    known = dict(zip(program.sizes, lengths, strict=True))
    total = layout.plan.size
    for i, slot in enumerate(layout.plan.slots):
        known[f"slot {i}"] = total
        total += largest(known, (tenant.size for tenant in slot.tenants))
    values = [number(value, known) for value in asked(layout)]
    faults = sum(number(dim, known) < 0 for dim in guards(program))
    faults += sum(number(a, known) != number(b, known) for a, b in program.demands)
    return values, total, largest(known, layout.scratch), faults


def largest(known: dict[str, int], sizes: Iterable[Known]) -> int:
    found = max((number(size, known) for size in sizes), default=0)
    return -(-max(found, 0) // LINE) * LINE


def number(dim: Known, known: dict[str, int]) -> int:
    """A dim as a number; where it divides by zero, what dividing by one gives, as the compiled code has it."""
    found = evaluate(dim, known)
    assert found is not None, f"{dim} is not decided by {sorted(known)}"
    return found
