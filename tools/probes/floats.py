"""Probes of arithmetic on floats: each rounds once, to nearest even, with subnormal numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, sub, truediv

from probes.exact import DOUBLE, HALF, SINGLE, Format, root, round_even, round_to, value_of
from probes.probe import COUNT, Column, Condition, Probe, column, with_feature
from probes.samples import floats, integers

TYPES = {"float": SINGLE, "double": DOUBLE}
Operation = Callable[[Fraction, Fraction], Fraction]


def arithmetic(name: str, operation: Operation, type: str) -> Probe:
    format = TYPES[type]
    a, b = floats(format, 2, 40), floats(format, 3, 40)
    if name == "fdiv":
        b = [
            bits if bits << 1 & (1 << format.bits) - 1 else format.bias << format.precision - 1 for bits in b
        ]
    expected = [binary(operation, x, y, format) for x, y in zip(a, b, strict=True)]
    vector = f"<{COUNT} x {type}>"
    inputs = (column(type, a), column(type, b))
    return Probe(f"{name} {type}", inputs, column(type, expected), f"%y = {name} {vector} %x0, %x1")


def binary(operation: Operation, a: int, b: int, format: Format) -> int:
    sign_a, sign_b = a >> format.bits - 1, b >> format.bits - 1
    if operation in (mul, truediv):
        is_negative = sign_a != sign_b
    else:  # a zero is negative if both terms are
        is_negative = bool(sign_a) and bool(sign_b) == (operation is add) and not value_of(a, format)
    return round_to(operation(value_of(a, format), value_of(b, format)), format, is_negative=is_negative)


def multiply_add(type: str) -> Probe:
    """The third operand is the rounded product, negated, so that a second rounding would leave zeros, or an arbitrary number."""
    format = TYPES[type]
    a, b = (floats(format, seed, 20, specials=False) for seed in (4, 5))
    c = floats(format, 6, 20)
    product = [value_of(x, format) * value_of(y, format) for x, y in zip(a, b, strict=True)]
    c[::2] = [round_to(-p, format) for p in product[::2]]
    expected = [round_to(p + value_of(z, format), format) for p, z in zip(product, c, strict=True)]
    function = f"llvm.fma.v{COUNT}f{format.bits}"
    vector = f"<{COUNT} x {type}>"
    return Probe(
        f"fma {type}",
        tuple(column(type, bits) for bits in (a, b, c)),
        column(type, expected),
        f"%y = call {vector} @{function}({vector} %x0, {vector} %x1, {vector} %x2)",
        with_feature("fma"),
        ((vector, function, f"{vector}, {vector}, {vector}"),),
    )


def square_root(type: str) -> Probe:
    format = TYPES[type]
    a = [bits & (1 << format.bits - 1) - 1 for bits in floats(format, 7, 60)]
    expected = [root(value_of(bits, format), format) for bits in a]
    return call(f"llvm.sqrt.v{COUNT}f{format.bits}", f"sqrt {type}", type, a, expected)


def rounding(name: str, function: Callable[[Fraction], int]) -> Probe:
    a = floats(SINGLE, 8, 25)
    expected = [
        round_to(Fraction(function(value_of(bits, SINGLE))), SINGLE, is_negative=bits >> 31 == 1)
        for bits in a
    ]
    return call(f"llvm.{name}.v{COUNT}f32", f"{name} float", "float", a, expected, with_feature("sse4.1"))


def call(
    function: str,
    name: str,
    type: str,
    a: list[int],
    expected: list[int],
    applies: Condition = lambda target_class: True,
) -> Probe:
    """A probe of an intrinsic of one operand."""
    vector = f"<{COUNT} x {type}>"
    body = f"%y = call {vector} @{function}({vector} %x0)"
    return Probe(
        name, (column(type, a),), column(type, expected), body, applies, ((vector, function, vector),)
    )


def conversion(
    instruction: str,
    source: Column,
    type: str,
    expected: list[int],
    applies: Condition = lambda target_class: True,
) -> Probe:
    result = column(type, expected)
    body = f"%y = {instruction} {source.vector()} %x0 to {result.vector()}"
    return Probe(f"{instruction} {source.type} to {type}", (source,), result, body, applies)


def from_integers(instruction: str, width: int, type: str) -> Probe:
    values = integers(width, 9)
    if instruction == "uitofp":
        values = [value & (1 << width) - 1 for value in values]
    expected = [round_to(Fraction(value), TYPES[type]) for value in values]
    applies = with_feature("avx512dq") if width == 64 else lambda target_class: True
    return conversion(instruction, column(f"i{width}", values), type, expected, applies)


def to_integers(type: str, width: int) -> Probe:
    format = TYPES[type]
    a = floats(format, 10, width - 3, specials=False)
    expected = [int(value_of(bits, format)) for bits in a]  # towards zero
    applies = with_feature("avx512dq") if width == 64 else lambda target_class: True
    return conversion("fptosi", column(type, a), f"i{width}", expected, applies)


def resize(
    instruction: str, source: str, result: str, applies: Condition = lambda target_class: True
) -> Probe:
    """A conversion between formats; narrower ones get numbers that are subnormal, in the middle of two, and too large."""
    formats = {**TYPES, "half": HALF}
    of_source, of_result = formats[source], formats[result]
    a = floats(of_source, 11, min(of_source.bias, of_result.bias + 4))
    if instruction == "fptrunc":
        step = of_source.precision - of_result.precision
        a[COUNT // 2 :] = [bits >> step << step | 1 << step - 1 for bits in a[COUNT // 2 :]]
    if source == "half":
        a[:2] = [HALF.infinity, HALF.infinity | 1 << 15]
    expected = [convert_float(bits, of_source, of_result) for bits in a]
    return conversion(instruction, column(source, a), result, expected, applies)


def convert_float(bits: int, source: Format, result: Format) -> int:
    sign, magnitude = bits >> source.bits - 1, bits & (1 << source.bits - 1) - 1
    if magnitude == source.infinity:
        return sign << result.bits - 1 | result.infinity
    return round_to(value_of(bits, source), result, is_negative=sign == 1)


def ordered_select() -> Probe:
    """x0 < x1 ? x0 : x1, which is x1 where one of them is not a number."""
    a, b = floats(SINGLE, 12, 3), floats(SINGLE, 13, 3)
    a[20:24] = [0x7FC00001, 0xFFC00002, SINGLE.infinity, SINGLE.infinity | 1 << 31]
    b[22:26] = [0x7FC00003, SINGLE.infinity, 0xFFC00004, SINGLE.infinity | 1 << 31]
    expected = [x if is_less(x, y) else y for x, y in zip(a, b, strict=True)]
    vector = f"<{COUNT} x float>"
    body = f"""
        %less = fcmp olt {vector} %x0, %x1
        %y = select <{COUNT} x i1> %less, {vector} %x0, {vector} %x1"""
    return Probe("fcmp float", (column("float", a), column("float", b)), column("float", expected), body)


def is_less(a: int, b: int) -> bool:
    """Whether a < b, for bits of numbers, infinities and NaN."""
    keys = []
    for bits in (a, b):
        magnitude = bits & (1 << 31) - 1
        if magnitude > SINGLE.infinity:
            return False
        keys.append(-magnitude if bits >> 31 else magnitude)
    return keys[0] < keys[1]


def sum_in_order() -> Probe:
    """The sum of all elements one after the other, each rounded."""
    a = floats(SINGLE, 14, 10, specials=False)
    total = 0
    for bits in a:
        total = binary(add, total, bits, SINGLE)
    function, vector = f"llvm.vector.reduce.fadd.v{COUNT}f32", f"<{COUNT} x float>"
    body = f"""
        %sum = call float @{function}(float 0.0, {vector} %x0)
        %y = insertelement <2 x float> zeroinitializer, float %sum, i64 0"""
    return Probe(
        "sum float",
        (column("float", a),),
        column("float", [total, 0]),
        body,
        declarations=(("float", function, f"float, {vector}"),),
    )


ROUNDINGS: tuple[tuple[str, Callable[[Fraction], int]], ...] = (
    ("floor", lambda x: x.__floor__()),
    ("ceil", lambda x: x.__ceil__()),
    ("trunc", int),
    ("rint", round_even),
)
PROBES = (
    *(
        arithmetic(name, operation, type)
        for type in TYPES
        for name, operation in (("fadd", add), ("fsub", sub), ("fmul", mul), ("fdiv", truediv))
    ),
    *map(multiply_add, TYPES),
    *map(square_root, TYPES),
    *(rounding(name, function) for name, function in ROUNDINGS),
    from_integers("sitofp", 32, "float"),
    from_integers("uitofp", 32, "float"),
    from_integers("sitofp", 32, "double"),
    from_integers("sitofp", 64, "double"),
    to_integers("float", 32),
    to_integers("double", 32),
    to_integers("double", 64),
    resize("fpext", "float", "double"),
    resize("fptrunc", "double", "float"),
    resize("fpext", "half", "float", with_feature("f16c")),
    resize("fptrunc", "float", "half", with_feature("f16c")),
    ordered_select(),
    sum_in_order(),
)
