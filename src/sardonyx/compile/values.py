"""Values of loops as instructions: operations, functions, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sardonyx.compile.blocks import I64, Blocks
from sardonyx.compile.loops.ir import Apply, Load, Local, Number, Scalar, Select
from sardonyx.compile.math.function import Definitions, Function
from sardonyx.compile.math.table import FUNCTIONS
from sardonyx.compile.text import Kind, Value

INTRINSICS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven", "abs": "fabs"}
EXTREMES = {"max": "maximum", "min": "minimum"}
Leaf: TypeAlias = Callable[["Local | Load"], Value]


class Values(Blocks):
    """The instructions of a function that works out `Scalar`s."""

    def __init__(self, fused: bool, functions: Mapping[str, Function] = FUNCTIONS) -> None:
        super().__init__(fused)
        self.functions = functions
        self.definitions = Definitions(fused)

    def evaluated(self, value: Scalar, kind: Kind, leaf: Leaf) -> Value:
        """The value in every lane of a kind; `leaf` fetches what has a name or a place."""
        match value:
            case Number():
                return self.constant(value.value, kind)
            case Local() | Load():
                return leaf(value)
            case Apply():
                return self.applied(value.op, *(self.evaluated(a, kind, leaf) for a in value.args))
            case Select():
                a, b = (self.evaluated(one, kind, leaf) for one in (value.a, value.b))
                then, otherwise = (self.evaluated(one, kind, leaf) for one in (value.then, value.otherwise))
                return self.select(self.compared(value.op, a, b), then, otherwise)

    def compared(self, op: str, a: Value, b: Value) -> Value:
        match op:
            case "lt":
                return a < b
            case "le":
                return a <= b
        assert op == "eq", f"{op} compares nothing"
        return a.equals(b)

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


class KernelText(Values):
    """The text of a kernel as programs call it: `void name(ptr args, i64 first, i64 last, ptr scratch)`."""

    @property
    def first(self) -> Value:
        return Value(self, I64, "%first")

    @property
    def last(self) -> Value:
        return Value(self, I64, "%last")

    scratch = "%scratch"

    def pointer(self, index: int) -> str:
        """The name of the address that stands at a place of the arguments."""
        return self.pointer_at(self.address("%args", self.constant(index, I64), "ptr"))

    def size(self, index: int) -> Value:
        """The integer that stands at a place of the arguments."""
        return self.emit(I64, f"load i64, ptr {self.address('%args', self.constant(index, I64), 'i64')}")

    def module(self, name: str) -> str:
        """The whole module, behind the last instruction."""
        head = f"define void @{name}(ptr %args, i64 %first, i64 %last, ptr %scratch) nounwind {{"
        self.definitions.declare(*self.declarations)
        text = "\n".join((head, "entry:", *self.slots, *self.lines, " ret void", "}"))
        return "\n".join((self.definitions.text(), text))
