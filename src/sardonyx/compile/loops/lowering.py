"""Loops in LLVM's words: vector loops as wide as the target, a scalar loop for what is left over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from sardonyx.compile.blocks import I64, Blocks, Slot
from sardonyx.compile.loops.ir import (
    Apply,
    For,
    Kernel,
    Load,
    Local,
    Number,
    Place,
    Put,
    Scalar,
    Select,
    Statement,
    Store,
)
from sardonyx.compile.loops.verify import fold_of, verify
from sardonyx.compile.math.function import Definitions, Function
from sardonyx.compile.text import Kind, Value
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Expr, symbol
from sardonyx.ir.dims.expr import Atom, Symbol
from sardonyx.ir.dims.expr import Call as DimCall

NEUTRAL = {"add": -0.0, "mul": 1.0, "max": float("-inf"), "min": float("inf")}
INTRINSICS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven", "abs": "fabs"}
EXTREMES = {"max": "maximum", "min": "minimum"}


def lowered(kernel: Kernel, lanes: int, functions: Mapping[str, Function], *, fused: bool) -> str:
    """The module of a kernel: `void name(buffers as pointers, sizes as i64)`.

    functions: those of `Apply` that are no instructions, by name.
    """
    verify(kernel)
    definitions = Definitions(fused)
    code = KernelCode(kernel, lanes, functions, definitions, fused)
    code.body(kernel.body)
    pointers = [f"ptr noalias %b_{b.name}" for b in kernel.buffers]
    head = f"define void @{kernel.name}({', '.join([*pointers, *(f'i64 %s_{s}' for s in kernel.sizes)])}) {{"
    text = "\n".join((head, "entry:", *code.slots, *code.lines, " ret void", "}"))
    return "\n".join((*code.declarations, definitions.text(), text))


@dataclass(slots=True)
class Scope:
    """Where names are, and how wide values are."""

    kind: Kind
    names: dict[str, Slot] = field(default_factory=dict)
    variable: str = ""  # of the vector loop around, whose lanes are iterations in a row


class KernelCode(Blocks):
    """The instructions of a kernel."""

    def __init__(
        self,
        kernel: Kernel,
        lanes: int,
        functions: Mapping[str, Function],
        definitions: Definitions,
        fused: bool,
    ) -> None:
        super().__init__(fused)
        self.kernel = kernel
        self.lanes = lanes
        self.functions = functions
        self.definitions = definitions
        self.scope = Scope(Kind("float"))
        self.places: dict[str, Callable[[], Value]] = {
            name: lambda name=name: Value(self, I64, f"%s_{name}")  # type: ignore[misc]
            for name in kernel.sizes
        }

    # --- statements --------------------------------------------------------------------------

    def body(self, body: Sequence[Statement]) -> None:
        for statement in body:
            match statement:
                case Put():
                    self.write(self.slot(statement.name), self.value(statement.value))
                case Store():
                    self.store(statement.buffer, statement.at, self.value(statement.value))
                case For(vector=True) if self.lanes > 1:
                    self.vector_loop(statement)
                case For():
                    with self.scoped():
                        self.loop(statement, self.constant(0, I64), self.place(statement.extent), 1)

    def loop(self, loop: For, first: Value, end: Value, step: int) -> Value:
        """A loop from `first` as long as another step fits; answers where it ended."""

        def body(i: Value) -> None:
            before, self.places = self.places, {**self.places, loop.variable: lambda: i}
            self.body(loop.body)
            self.places = before

        return self.counted(first, end, step, body, loop.variable)

    def vector_loop(self, loop: For) -> None:
        """The loop in steps of as many iterations as there are lanes, and the rest one by one."""
        end = self.place(loop.extent)
        outer = self.scope
        wide = Kind("float", self.lanes)
        folds = {
            s.name: op
            for s in loop.body
            if isinstance(s, Put) and s.name in outer.names and (op := fold_of(s)) is not None
        }
        self.scope = Scope(wide, dict(outer.names), loop.variable)
        for name, op in folds.items():
            self.scope.names[name] = self.new_slot(name, wide)
            self.write(self.scope.names[name], self.constant(NEUTRAL[op], wide))
        reached = self.loop(loop, self.constant(0, I64), end, self.lanes)
        found = {name: self.folded(op, self.read(self.scope.names[name])) for name, op in folds.items()}
        self.scope = outer
        for name, op in folds.items():
            slot = outer.names[name]
            self.write(slot, self.applied(op, self.read(slot), found[name]))
        with self.scoped():
            self.loop(loop, reached, end, 1)

    def folded(self, op: str, value: Value) -> Value:
        """The lanes of a value taken together: halves with halves, so that the order never changes."""
        lanes = value.kind.lanes
        while lanes > 1:
            lanes //= 2
            kind = Kind("float", lanes)
            low, high = (self.part(value, kind, start) for start in (0, lanes))
            value = self.applied(op, low, high)
        return value

    def part(self, value: Value, kind: Kind, start: int) -> Value:
        if kind.lanes == 1:
            return self.emit(kind, f"extractelement {value}, i64 {start}")
        places = ", ".join(f"i32 {start + i}" for i in range(kind.lanes))
        return self.emit(kind, f"shufflevector {value}, {value.kind} poison, <{kind.lanes} x i32> <{places}>")

    # --- values ------------------------------------------------------------------------------

    def value(self, value: Scalar) -> Value:
        kind = self.scope.kind
        match value:
            case Number():
                return self.constant(value.value, kind)
            case Local():
                return self.wide(self.read(self.scope.names[value.name]))
            case Load():
                return self.load(value.buffer, value.at)
            case Apply():
                return self.applied(value.op, *map(self.value, value.args))
            case Select():
                a, b = self.value(value.a), self.value(value.b)
                condition = {"lt": a < b, "le": a <= b}.get(value.op) if value.op != "eq" else a.equals(b)
                assert condition is not None, f"{value.op} compares nothing"
                return self.select(condition, self.value(value.then), self.value(value.otherwise))

    def applied(self, op: str, *args: Value) -> Value:
        match op, args:
            case "add", (a, b):
                return a + b
            case "sub", (a, b):
                return a - b
            case "mul", (a, b):
                return a * b
            case "div", (a, b):
                return a / b
            case "neg", (a,):
                return -a
        if op in INTRINSICS:
            return self.intrinsic(INTRINSICS[op], *args)
        if op in EXTREMES:
            return self.intrinsic(EXTREMES[op], *args)
        function = self.functions[op]
        lanes = args[0].kind.lanes
        self.definitions.need(function, lanes)
        return self.emit(args[0].kind, function.call(lanes, *(a.name for a in args)))

    def wide(self, value: Value) -> Value:
        """A value in every lane that there is."""
        return value if value.kind == self.scope.kind else self.spread(value, self.scope.kind.lanes)

    # --- memory ------------------------------------------------------------------------------

    def load(self, buffer: str, at: Place) -> Value:
        stride, kind = self.stride(at), self.scope.kind
        if stride == 0:
            return self.wide(self.read(self.slot_at(buffer, at, Kind("float"))))
        if stride == 1:
            return self.read(self.slot_at(buffer, at, kind))
        value = Value(self, kind, "poison")
        for lane in range(kind.lanes):
            one = self.read(self.slot_at(buffer, self.moved(at, lane), Kind("float")))
            value = self.emit(kind, f"insertelement {value}, {one}, i64 {lane}")
        return value

    def store(self, buffer: str, at: Place, value: Value) -> None:
        if value.kind.lanes == 1 or self.stride(at) == 1:
            self.write(self.slot_at(buffer, at, value.kind), value)
            return
        for lane in range(value.kind.lanes):
            one = self.emit(Kind("float"), f"extractelement {value}, i64 {lane}")
            self.write(self.slot_at(buffer, self.moved(at, lane), Kind("float")), one)

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
        assert self.kernel.buffer(buffer).dtype is DataType.FLOAT, f"{buffer} is not of float"
        return Slot(self.address(f"%b_{buffer}", self.place(at)), kind)

    def slot(self, name: str) -> Slot:
        """The slot of a name: that which the loops around know, or a new one."""
        if name not in self.scope.names:
            self.scope.names[name] = self.new_slot(name, self.scope.kind)
        return self.scope.names[name]

    @contextmanager
    def scoped(self) -> Iterator[None]:
        """Names that are new inside are gone behind."""
        outer = self.scope
        self.scope = Scope(outer.kind, dict(outer.names), outer.variable)
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
            return self.places[atom.name]()
        assert isinstance(atom, DimCall), f"{atom} is too large to be worked out"
        a, b = (self.place(arg) for arg in atom.args)
        match atom.op:
            case "//":
                return self.emit(I64, f"sdiv {a}, {b.name}")  # neither is negative
            case "%":
                return self.emit(I64, f"srem {a}, {b.name}")
            case "max":
                return self.select(a < b, b, a)
            case "min":
                return self.select(a < b, a, b)
