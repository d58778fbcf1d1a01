"""Probes of integer arithmetic, comparisons, conversions and permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probes.probe import COUNT, Condition, Probe, column, has, with_feature
from probes.samples import integers, signed

EVERYWHERE = has()
IN_AVX2, IN_AVX512, IN_AVX512DQ = map(with_feature, ("avx2", "avx512f", "avx512dq"))
Binary = Callable[[int, int, int], int]  # of two signed integers and their width


def operation(
    name: str, width: int, function: Binary, applies: Condition = EVERYWHERE, *, is_shift: bool = False
) -> Probe:
    """A probe of an instruction of LLVM with two operands."""
    type = f"i{width}"
    a, b = integers(width, 20), integers(width, 21, 0, width if is_shift else 0)
    b.reverse()
    expected = [signed(function(x, y, width), width) for x, y in zip(a, b, strict=True)]
    inputs = (column(type, a), column(type, b))
    body = f"%y = {name} <{COUNT} x {type}> %x0, %x1"
    return Probe(f"{name} {type}", inputs, column(type, expected), body, applies)


def intrinsic(
    name: str,
    width: int,
    function: Callable[..., int],
    operands: int,
    applies: Condition = EVERYWHERE,
    flag: str = "",
) -> Probe:
    """A probe of an intrinsic of LLVM; flag: its last argument."""
    type = f"i{width}"
    vector, full_name = f"<{COUNT} x {type}>", f"llvm.{name}.v{COUNT}{type}"
    inputs = [integers(width, 22 + i) for i in range(operands)]
    for values in inputs[1:]:
        values.reverse()
    expected = [signed(function(*values, width), width) for values in zip(*inputs, strict=True)]
    arguments = ", ".join((*(f"{vector} %x{i}" for i in range(operands)), *([f"i1 {flag}"] if flag else [])))
    types = ", ".join((*(vector for _ in range(operands)), *(["i1 immarg"] if flag else [])))
    return Probe(
        f"{name} {type}",
        tuple(column(type, values) for values in inputs),
        column(type, expected),
        f"%y = call {vector} @{full_name}({arguments})",
        applies,
        declarations=((vector, full_name, types),),
    )


def conversion(name: str, source: int, result: int) -> Probe:
    values = integers(source, 30)
    mask = (1 << source) - 1
    expected = [value & mask if name == "zext" else signed(value, result) for value in values]
    return Probe(
        f"{name} i{source} to i{result}",
        (column(f"i{source}", values),),
        column(f"i{result}", expected),
        f"%y = {name} <{COUNT} x i{source}> %x0 to <{COUNT} x i{result}>",
    )


def saturated(source: int, result: int, *, is_signed: bool) -> Probe:
    """The nearest integer of fewer bits: what packing with saturation gives."""
    low, high = (-(1 << result - 1), (1 << result - 1) - 1) if is_signed else (0, (1 << result) - 1)
    values = integers(source, 31)
    values[COUNT // 2 :] = integers(source, 32, low - 9, high + 9)[COUNT // 2 :]
    vector = f"<{COUNT} x i{source}>"
    names = {name: f"llvm.{name}.v{COUNT}i{source}" for name in ("smax", "smin")}
    body = f"""
        %low = call {vector} @{names["smax"]}({vector} %x0, {vector} {splat(source, low)})
        %bounded = call {vector} @{names["smin"]}({vector} %low, {vector} {splat(source, high)})
        %y = trunc {vector} %bounded to <{COUNT} x i{result}>"""
    return Probe(
        f"saturation i{source} to {'i' if is_signed else 'u'}{result}",
        (column(f"i{source}", values),),
        column(f"i{result}", [min(max(value, low), high) for value in values]),
        body,
        declarations=tuple((vector, name, f"{vector}, {vector}") for name in names.values()),
    )


def splat(width: int, value: int) -> str:
    return f"splat (i{width} {value})"


def comparison_mask() -> Probe:
    """Which elements are less than their counterparts, as bits of one integer."""
    a, b = integers(32, 33, -9, 9), integers(32, 34, -9, 9)
    bits = sum((x < y) << i for i, (x, y) in enumerate(zip(a, b, strict=True)))
    body = f"""
        %less = icmp slt <{COUNT} x i32> %x0, %x1
        %bits = bitcast <{COUNT} x i1> %less to i{COUNT}
        %y = insertelement <1 x i{COUNT}> poison, i{COUNT} %bits, i64 0"""
    return Probe("mask of icmp i32", (column("i32", a), column("i32", b)), column("i64", [bits]), body)


def total() -> Probe:
    a = integers(32, 35)
    vector, function = f"<{COUNT} x i32>", f"llvm.vector.reduce.add.v{COUNT}i32"
    body = f"""
        %sum = call i32 @{function}({vector} %x0)
        %y = insertelement <2 x i32> zeroinitializer, i32 %sum, i64 0"""
    expected = column("i32", [signed(sum(a), 32), 0])
    return Probe("sum i32", (column("i32", a),), expected, body, declarations=(("i32", function, vector),))


def permutation(name: str, width: int, order: Sequence[int]) -> Probe:
    """A permutation of the elements of two vectors that is known when code is generated."""
    a, b = integers(width, 36), integers(width, 37)
    vector, indices = f"<{COUNT} x i{width}>", ", ".join(f"i32 {i}" for i in order)
    body = f"%y = shufflevector {vector} %x0, {vector} %x1, <{COUNT} x i32> <{indices}>"
    expected = [(a + b)[i] for i in order]
    inputs = (column(f"i{width}", a), column(f"i{width}", b))
    return Probe(f"{name} i{width}", inputs, column(f"i{width}", expected), body)


def funnel_shift(high: int, low: int, shift: int, width: int) -> int:
    both = (high & (1 << width) - 1) << width | low & (1 << width) - 1
    return both << shift % width >> width


def shifted_right(x: int, y: int, width: int) -> int:
    return (x & (1 << width) - 1) >> y


def count_bits(x: int, width: int) -> int:
    return (x & (1 << width) - 1).bit_count()


def leading_zeros(x: int, width: int) -> int:
    return width - (x & (1 << width) - 1).bit_length()


def trailing_zeros(x: int, width: int) -> int:
    return (x & -x).bit_length() - 1 if x else width


def reversed_bits(x: int, width: int) -> int:
    return int(f"{x & (1 << width) - 1:0{width}b}"[::-1], 2)


SHIFTS: dict[str, Binary] = {
    "shl": lambda x, y, width: x << y,
    "lshr": shifted_right,
    "ashr": lambda x, y, width: x >> y,
}
INTERLEAVED = [i // 2 + (i % 2) * COUNT for i in range(COUNT)]
EVEN = [2 * i for i in range(COUNT)]
REVERSED = [COUNT - 1 - i for i in range(COUNT)]
SCATTERED = [(29 * i + 7) % (2 * COUNT) for i in range(COUNT)]
PROBES = (
    *(operation("add", width, lambda x, y, width: x + y) for width in (8, 32, 64)),
    *(operation("mul", width, lambda x, y, width: x * y) for width in (16, 32)),
    operation("mul", 64, lambda x, y, width: x * y, IN_AVX512DQ),
    *(operation("and", width, lambda x, y, width: x & y) for width in (8, 64)),
    *(
        operation(name, width, function, applies, is_shift=True)
        for name, function in SHIFTS.items()
        for width, applies in ((8, IN_AVX512), (16, IN_AVX512), (32, IN_AVX2), (64, IN_AVX2))
    ),
    *(intrinsic("smax", width, lambda x, y, width: max(x, y), 2) for width in (8, 32)),
    intrinsic("smax", 64, lambda x, y, width: max(x, y), 2, IN_AVX512),
    intrinsic("umin", 8, lambda x, y, width: min(x % 256, y % 256), 2),
    intrinsic("sadd.sat", 8, lambda x, y, width: min(max(x + y, -128), 127), 2),
    *(intrinsic("ctpop", width, count_bits, 1, IN_AVX512) for width in (8, 32, 64)),
    *(intrinsic("ctlz", width, leading_zeros, 1, IN_AVX512, "false") for width in (32, 64)),
    intrinsic("cttz", 64, trailing_zeros, 1, IN_AVX512, "false"),
    *(intrinsic("fshl", width, funnel_shift, 3, IN_AVX512) for width in (16, 32)),
    intrinsic("bitreverse", 8, reversed_bits, 1, IN_AVX512),
    *(conversion("sext", *widths) for widths in ((8, 32), (8, 16), (32, 64))),
    *(conversion("zext", *widths) for widths in ((8, 32), (16, 32))),
    *(conversion("trunc", *widths) for widths in ((32, 8), (32, 16), (64, 32))),
    saturated(32, 8, is_signed=True),
    saturated(32, 8, is_signed=False),
    saturated(32, 16, is_signed=True),
    saturated(16, 8, is_signed=False),
    comparison_mask(),
    total(),
    *(
        permutation(name, width, order)
        for name, order in (
            ("interleave", INTERLEAVED),
            ("every second", EVEN),
            ("reverse", REVERSED),
            ("permute", SCATTERED),
        )
        for width in (8, 16, 32, 64)
    ),
)
