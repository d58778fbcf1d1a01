"""Loops in LLVM's words: vector loops as wide as the target, a scalar loop for what is left over."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.elements import ELEMENTS, fetched, memory, storable
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import For, Kernel, Load, Local, Place, Put, Scalar, Statement, Store
from sardonyx._src.compile.loops.verify import fold_of, verify
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.compile.values import KernelText
from sardonyx._src.ir.dims import Expr, symbol
from sardonyx._src.ir.dims.expr import Atom, Symbol
from sardonyx._src.ir.dims.expr import Call as DimCall


def lowered(kernel: Kernel, name: str, target: Target) -> str:
    """The module of a kernel as programs call it; its arguments are the addresses of the buffers, then the sizes."""
    verify(kernel)
    code = KernelCode(kernel, target)
    code.body(kernel.body)
    return code.module(name)


@dataclass(slots=True)
class Scope:
    """Where names are, and how wide values are."""

    lanes: int
    names: dict[str, Slot] = field(default_factory=dict)
    variable: str = ""  # of the vector loop around, whose lanes are iterations in a row


class KernelCode(KernelText):
    """The instructions of a kernel."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        super().__init__(target.fused)
        self.kernel = kernel
        self.lanes = target.lanes
        self.scope = Scope(1)
        self.buffers = {b.name: self.pointer(i) for i, b in enumerate(kernel.buffers)}
        sizes = {name: self.size(len(self.buffers) + i) for i, name in enumerate(kernel.sizes)}
        self.places: dict[str, Value] = sizes

    # --- statements --------------------------------------------------------------------------

    def body(self, body: Sequence[Statement]) -> None:
        for statement in body:
            match statement:
                case Put():
                    known = self.scope.names.get(statement.name)
                    value = self.value(statement.value, "float" if known is None else known.kind.element)
                    self.write(self.slot(statement.name, value.kind), value)
                case Store():
                    element = ELEMENTS[self.kernel.buffer(statement.buffer).dtype]
                    self.store(statement.buffer, statement.at, self.value(statement.value, element))
                case For():
                    self.loop(statement)

    def loop(self, loop: For) -> None:
        first, end = self.constant(0, I64), self.place(loop.extent)
        if loop.parallel:
            first, end = self.first, self.last
        if loop.vector and self.lanes > 1:
            first = self.vector_loop(loop, first, end)
        with self.scoped():
            self.iterations(loop, first, end, 1)

    def iterations(self, loop: For, first: Value, end: Value, step: int) -> Value:
        """A loop from `first` as long as another step fits; answers where it ended."""

        def body(i: Value) -> None:
            before, self.places = self.places, {**self.places, loop.variable: i}
            self.body(loop.body)
            self.places = before

        return self.counted(first, end, step, body, loop.variable)

    def vector_loop(self, loop: For, first: Value, end: Value) -> Value:
        """The loop in steps of as many iterations as there are lanes; answers where it ended."""
        outer = self.scope
        folds = {
            s.name: op
            for s in loop.body
            if isinstance(s, Put) and s.name in outer.names and (op := fold_of(s)) is not None
        }
        self.scope = Scope(self.lanes, dict(outer.names), loop.variable)
        for name, op in folds.items():
            wide = Kind(outer.names[name].kind.element, self.lanes)
            self.scope.names[name] = self.new_slot(name, wide)
            self.write(self.scope.names[name], self.constant(neutral(op, wide), wide))
        reached = self.iterations(loop, first, end, self.lanes)
        found = {name: self.folded(op, self.read(self.scope.names[name])) for name, op in folds.items()}
        self.scope = outer
        for name, op in folds.items():
            slot = outer.names[name]
            self.write(slot, self.applied(op, self.read(slot), found[name]))
        return reached

    def folded(self, op: str, value: Value) -> Value:
        """The lanes of a value taken together: halves with halves, so that the order never changes."""
        lanes = value.kind.lanes
        while lanes > 1:
            lanes //= 2
            kind = Kind(value.kind.element, lanes)
            low, high = (self.part(value, kind, start) for start in (0, lanes))
            value = self.applied(op, low, high)
        return value

    def part(self, value: Value, kind: Kind, start: int) -> Value:
        if kind.lanes == 1:
            return self.emit(kind, f"extractelement {value}, i64 {start}")
        places = ", ".join(f"i32 {start + i}" for i in range(kind.lanes))
        return self.emit(kind, f"shufflevector {value}, {value.kind} poison, <{kind.lanes} x i32> <{places}>")

    # --- values ------------------------------------------------------------------------------

    def value(self, value: Scalar, element: Element = "float") -> Value:
        """A value in as many lanes as there are around; the element type is that of numbers which stand alone."""
        return self.evaluated(value, Kind(element, self.scope.lanes), self.leaf)

    def leaf(self, leaf: Local | Load) -> Value:
        if isinstance(leaf, Load):
            return self.load(leaf.buffer, leaf.at)
        return self.wide(self.read(self.scope.names[leaf.name]))

    def wide(self, value: Value) -> Value:
        """A value in every lane that there is."""
        return value if value.kind.lanes == self.scope.lanes else self.spread(value, self.scope.lanes)

    # --- memory ------------------------------------------------------------------------------

    def load(self, buffer: str, at: Place) -> Value:
        dtype = self.kernel.buffer(buffer).dtype
        stride, one = self.stride(at), memory(dtype)
        kind = Kind(one.element, self.scope.lanes)
        if stride == 0:
            return self.wide(fetched(self.read(self.slot_at(buffer, at, one)), dtype))
        if stride == 1:
            return fetched(self.read(self.slot_at(buffer, at, kind)), dtype)
        value = Value(self, kind, "poison")
        for lane in range(kind.lanes):
            part = self.read(self.slot_at(buffer, self.moved(at, lane), one))
            value = self.emit(kind, f"insertelement {value}, {part}, i64 {lane}")
        return fetched(value, dtype)

    def store(self, buffer: str, at: Place, value: Value) -> None:
        dtype = self.kernel.buffer(buffer).dtype
        value = storable(value, dtype)
        if value.kind.lanes == 1 or self.stride(at) == 1:
            self.write(self.slot_at(buffer, at, value.kind), value)
            return
        one = memory(dtype)
        for lane in range(value.kind.lanes):
            part = self.emit(one, f"extractelement {value}, i64 {lane}")
            self.write(self.slot_at(buffer, self.moved(at, lane), one), part)

    def stride(self, at: Place) -> int | None:
        """How far apart the places of neighbouring lanes are; None where that is no number."""
        if not self.scope.variable or not isinstance(at, Expr):
            return 0
        step = self.moved(at, 1) - at
        return step if isinstance(step, int) else None

    def moved(self, at: Place, lane: int) -> Place:
        """A place some iterations of the vector loop further on."""
        if not isinstance(at, Expr) or self.scope.variable not in at.symbols():
            return at
        names = {name: symbol(name) for name in at.symbols()}
        found = at.substitute(names | {self.scope.variable: symbol(self.scope.variable) + lane})
        assert found is not None, f"{at} has an unknown part"
        return found

    def slot_at(self, buffer: str, at: Place, kind: Kind) -> Slot:
        """The elements of a buffer from a place on."""
        return Slot(self.address(self.buffers[buffer], self.place(at), kind.written), kind)

    def slot(self, name: str, kind: Kind) -> Slot:
        """The slot of a name: that which the loops around know, or a new one."""
        if name not in self.scope.names:
            self.scope.names[name] = self.new_slot(name, kind)
        assert self.scope.names[name].kind == kind, f"{name} changes its type"
        return self.scope.names[name]

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """Names that are new inside are gone behind."""
        outer = self.scope
        self.scope = Scope(outer.lanes, dict(outer.names), outer.variable)
        yield
        self.scope = outer

    # --- places ------------------------------------------------------------------------------

    def place(self, place: Place) -> Value:
        """A place as an integer worked out where it stands."""
        if not isinstance(place, Expr):
            return self.constant(place, I64)
        terms = [self.term(monomial, factor) for monomial, factor in place.terms.items()]
        return reduce(lambda a, b: a + b, terms)

    def term(self, monomial: Sequence[Atom], factor: int) -> Value:
        found = [self.atom(atom) for atom in monomial]
        if factor != 1 or not found:
            found.append(self.constant(factor, I64))
        return reduce(lambda a, b: a * b, found)

    def atom(self, atom: Atom) -> Value:
        if isinstance(atom, Symbol):
            return self.places[atom.name]
        assert isinstance(atom, DimCall), f"{atom} is too large to be worked out"
        return reduce(lambda a, b: self.of_dims(atom.op, a, b), (self.place(arg) for arg in atom.args))

    def of_dims(self, op: str, a: Value, b: Value) -> Value:
        """An operation of dims, of which neither is negative."""
        match op:
            case "max":
                return self.select(a < b, b, a)
            case "min":
                return self.select(a < b, a, b)
        return self.emit(I64, f"{'sdiv' if op == '//' else 'srem'} {a}, {b.name}")


def neutral(op: str, kind: Kind) -> float:
    """What leaves every value as it is: -0 as a term, 1 as a factor, the least and the greatest."""
    if op in ("add", "mul"):
        return 1.0 if op == "mul" else -0.0
    if kind.is_float:
        return -math.inf if op == "max" else math.inf
    least, most = (
        (0, 2**kind.bits - 1) if kind.is_unsigned else (-(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1)
    )
    return least if op == "max" else most
