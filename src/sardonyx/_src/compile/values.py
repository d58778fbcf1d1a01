"""Values of loops as instructions: operations, functions, choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.compile.blocks import I64, Blocks
from sardonyx._src.compile.elements import ELEMENTS, converted, resized
from sardonyx._src.compile.integers import absolute, divided, left_over, modulo
from sardonyx._src.compile.loops.ir import Apply, Cast, Load, Local, Number, Scalar, Select, distinct
from sardonyx._src.compile.math.function import Definitions, Function
from sardonyx._src.compile.math.table import FUNCTIONS
from sardonyx._src.compile.text import Code, Kind, Value

INTRINSICS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "roundeven", "trunc": "trunc"}
Leaf: TypeAlias = Callable[["Local | Load"], Value]


class Values(Blocks):
    """The instructions of a function that works out `Scalar`s."""

    def __init__(self, fused: bool, functions: Mapping[str, Function] = FUNCTIONS) -> None:
        super().__init__(fused)
        self.functions = functions
        self.definitions = Definitions(fused)

    def evaluated(self, value: Scalar, kind: Kind, leaf: Leaf) -> Value:
        """The value in every lane of a kind; `leaf` fetches what has a name or a place, of whatever element type.

        Numbers are of the type of what stands beside them, or of `kind` if that is numbers, too.  What several values
        have in common, as one object, is worked out once.
        """
        return Evaluation(self, leaf).of(value, kind)

    def together(
        self, values: Sequence[Scalar], kinds: Sequence[Kind], leaves: Sequence[Leaf]
    ) -> list[list[Value]]:
        """Several values for each of several `leaf`s, operation by operation: a processor does what is near at once."""
        evaluations = [Evaluation(self, leaf) for leaf in leaves]
        for value, kind in zip(values, kinds, strict=True):
            for one in reversed(list(distinct(value))):
                for evaluation in evaluations:
                    if not is_number(one):
                        evaluation.of(one, kind)
        return [[e.of(v, kind) for v, kind in zip(values, kinds, strict=True)] for e in evaluations]

    def compared(self, op: str, a: Value, b: Value) -> Value:
        match op:
            case "lt":
                return a < b
            case "le":
                return a <= b
        assert op == "eq", f"{op} compares nothing"
        return a.equals(b)

    def applied(self, op: str, *args: Value) -> Value:
        """An operation of `loops.ir.ARITY`."""
        match op, args:
            case "fma", (a, b, c):
                return self.fma(a, b, c)
            case "where", (condition, a, b):
                return self.select(condition, a, b)
            case "clamp", (x, low, high):
                above = self.select(x > low, x, low)
                return self.select(above < high, above, high)
            case (("lt" | "le" | "eq"), (a, b)):
                return self.compared(op, a, b)
        if op in OF_TWO:
            return OF_TWO[op](self, *args)
        if op in OF_ONE:
            return OF_ONE[op](self, *args)
        if op in INTRINSICS:
            return self.intrinsic(INTRINSICS[op], *args)
        return self.called(self.functions[op], *args)

    def called(self, function: Function, *args: Value) -> Value:
        """A function of vectors of floats."""
        kind = args[0].kind
        assert kind.element == "float", f"{function.name} is a function of float"
        self.definitions.need(function, kind.lanes)
        return self.emit(kind, function.call(kind.lanes, *(a.name for a in args)))


class Evaluation:
    """Values worked out one after another, each object once."""

    def __init__(self, code: Values, leaf: Leaf) -> None:
        self.code, self.leaf = code, leaf
        self.found: dict[tuple[int, Kind | None], Value] = {}  # by identity: values may be large

    def of(self, value: Scalar, kind: Kind) -> Value:
        key = id(value), kind if is_number(value) else None
        if key not in self.found:
            self.found[key] = self.fresh(value, kind)
        return self.found[key]

    def fresh(self, value: Scalar, kind: Kind) -> Value:
        match value:
            case Number() if kind.is_half:
                return converted(self.code, self.code.constant(value.value, kind.of("float")), kind.element)
            case Number():
                return self.code.constant(value.value, kind)
            case Local() | Load():
                return self.leaf(value)
            case Cast():
                inner = self.of(value.value, kind.of("float"))
                if inner.kind.is_float and is_held(value):
                    return resized(inner.converted("fptosi", "i32"), ELEMENTS[value.dtype])
                return converted(self.code, inner, ELEMENTS[value.dtype])
            case Apply(op="where", args=(condition, *rest)):
                return self.code.applied("where", self.of(condition, kind.of("i1")), *self.alike(rest, kind))
            case Apply():
                inside = kind.of("float") if kind.element == "i1" and value.op not in LOGIC else kind
                return self.code.applied(value.op, *self.alike(value.args, inside))
            case Select():
                chosen = self.code.compared(value.op, *self.alike((value.a, value.b), kind))
                return self.code.select(chosen, *self.alike((value.then, value.otherwise), kind))

    def alike(self, values: Sequence[Scalar], kind: Kind) -> list[Value]:
        """Values of one type: that of the first one that is not of numbers alone, or the kind."""
        given = {i: self.of(v, kind) for i, v in enumerate(values) if not is_number(v)}
        for value in given.values():
            kind = value.kind
            break
        return [given[i] if i in given else self.of(v, kind) for i, v in enumerate(values)]


def is_number(value: Scalar) -> bool:
    """Whether a value takes the type of what stands beside it."""
    match value:
        case Number():
            return True
        case Apply() if value.op not in ("lt", "le", "eq", "isnan", "isinf"):
            chosen = value.args[1:] if value.op == "where" else value.args
            return all(map(is_number, chosen))
        case Select():
            return is_number(value.then) and is_number(value.otherwise)
        case _:
            return False


def is_held(value: Cast) -> bool:
    """Whether what becomes an integer is known to lie within a type of at most 16 bits, and to be no NaN."""
    match value.value:
        case Apply(op="clamp", args=(_, Number(value=low), Number(value=high))):
            bits = value.dtype.bits
            least = -(1 << bits - 1) if value.dtype.is_signed else 0
            return value.dtype.is_integer and bits <= 16 and least <= low <= high < least + (1 << bits)
    return False


def greater(code: Code, a: Value, b: Value) -> Value:
    """The greater of both; NaN if one is."""
    if not a.kind.is_float:
        return code.select(a > b, a, b)
    limit, x = (a, b) if a.is_constant else (b, a)
    if limit.is_constant and not is_nan(limit):
        return code.select(limit > x, limit, x)  # one instruction where `maximum` is several
    return code.intrinsic("maximum", a, b)


def lesser(code: Code, a: Value, b: Value) -> Value:
    """The lesser of both; NaN if one is."""
    if not a.kind.is_float:
        return code.select(a < b, a, b)
    limit, x = (a, b) if a.is_constant else (b, a)
    if limit.is_constant and not is_nan(limit):
        return code.select(limit < x, limit, x)
    return code.intrinsic("minimum", a, b)


def is_nan(constant: Value) -> bool:
    return constant.name == constant.kind.constant(float("nan"))


def sign(code: Code, x: Value) -> Value:
    """-1, 0 or 1; NaN stays NaN, and zeros stay as they are."""
    found = code.select(x > 0, 1, x)
    return found if x.kind.is_unsigned else code.select(x < 0, -1, found)


def is_infinite(code: Code, x: Value) -> Value:
    return code.absolute(x).equals(math.inf)


def inverted(code: Code, x: Value) -> Value:
    """Every bit turned over."""
    return x ^ (1 if x.kind.element == "i1" else code.constant(-1, x.kind))


LOGIC = ("and", "or", "xor", "not")
OF_ONE: Mapping[str, Callable[[Code, Value], Value]] = {
    "neg": lambda code, x: -x,
    "abs": lambda code, x: code.absolute(x) if x.kind.is_float else absolute(code, x),
    "reciprocal": lambda code, x: 1 / x,
    "sign": sign,
    "isnan": lambda code, x: x.differs(x),
    "isinf": is_infinite,
    "not": inverted,
}
OF_TWO: Mapping[str, Callable[[Code, Value, Value], Value]] = {
    "add": lambda code, a, b: a + b,
    "sub": lambda code, a, b: a - b,
    "mul": lambda code, a, b: a * b,
    "div": lambda code, a, b: a / b if a.kind.is_float else divided(code, a, b),
    "mod": modulo,
    "fmod": left_over,
    "max": greater,
    "min": lesser,
    "and": lambda code, a, b: a & b,
    "or": lambda code, a, b: a | b,
    "xor": lambda code, a, b: a ^ b,
}


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
