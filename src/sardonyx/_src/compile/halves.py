"""Floats of 16 bits as float32, and float32 rounded to them: to the nearest, ties to even, as NumPy does it.

float16 goes through instructions of the processor where it has them, bfloat16 never: those of x86 take the smallest
numbers for zeros.
"""

from __future__ import annotations

from sardonyx._src.compile.text import Code, Element, Value

SIGN, INFINITY = 0x80000000, 0x7F800000  # of float32
WIDER = 2.0**112  # float16's exponents begin so much later
NAN = 0x7E00, 0x7FC0  # of float16 and bfloat16
LARGE, SMALL = (
    0x477FF000,
    0x38800000,
)  # float32 from which on float16 is infinite, and below which it is subnormal
SHIFT = 0.5  # at which float32 has as many bits behind the point as subnormal float16
REBIAS = (
    112 << 23
) - 0xFFF  # from float32's exponents to float16's, and half of what 13 bits less can tell, rounded down


def widened(code: Code, value: Value) -> Value:
    """float16 or bfloat16 as float32, exactly."""
    if value.kind.element == "f16" and code.fused:
        half = f"bitcast {value} to {half_kind(value)}"
        kind = value.kind.of("float")
        found = code.emit(value.kind, half)
        return code.emit(kind, f"fpext {half_kind(value)} {found.name} to {kind}")
    bits = value.converted("zext", "i32")
    if value.kind.element == "b16":
        return (bits << 16).bits()
    return (from_float16(bits & 0x7FFF) | ((bits & 0x8000) << 16)).bits()


def narrowed(code: Code, value: Value, element: Element) -> Value:
    """float32 as float16 or bfloat16; what is too large becomes an infinity, and NaN stays one."""
    assert value.kind.element == "float", f"{value} is no float32"
    if element == "b16":
        return to_bfloat16(code, value)
    if not code.fused:
        return to_float16(code, value)
    found = code.emit(value.kind.of("f16"), f"fptrunc {value} to {half_kind(value)}")
    return code.emit(found.kind, f"bitcast {half_kind(value)} {found.name} to {found.kind}")


def half_kind(value: Value) -> str:
    """LLVM's own type of float16, in as many lanes as a value has."""
    lanes = value.kind.lanes
    return "half" if lanes == 1 else f"<{lanes} x half>"


def from_float16(size: Value) -> Value:
    """The bits of a float32 for those of a float16 without its sign, int32 both."""
    code = size.code
    found = ((size << 13).bits() * WIDER).bits()
    return code.select(size >= 0x7C00, found | INFINITY, found)


def to_float16(code: Code, value: Value) -> Value:
    """By integers alone."""
    bits = value.bits()
    sign = (bits >> 16) & 0x8000
    size = bits & 0x7FFFFFFF
    small = (size.bits() + SHIFT).bits() - code.constant(SHIFT, value.kind).bits()
    found = (size - REBIAS + ((size >> 13) & 1)) >> 13
    found = code.select(size < SMALL, small, found)
    found = code.select(size >= LARGE, code.constant(0x7C00, size.kind), found)
    found = code.select(size > INFINITY, code.constant(NAN[0], size.kind), found)
    return (found | sign).converted("trunc", "f16")


def to_bfloat16(code: Code, value: Value) -> Value:
    """The upper half of the bits, and one more where the lower one is more than half of it, or just that and odd."""
    bits = value.bits()
    found = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    found = code.select(value.differs(value), code.constant(NAN[1], bits.kind), found)
    return found.converted("trunc", "b16")


# --- numbers of more bits than float32 has -------------------------------------------------------


def odd_float(code: Code, value: Value) -> Value:
    """double as float32, rounded to odd: what is rounded again to fewer bits is as if it had been rounded once."""
    near = value.converted("fptrunc", "float")
    exact = near.converted("fpext", "double")
    is_beyond = (code.absolute(exact) > code.absolute(value)).converted("zext", "i32")
    is_rounded = exact.differs(value).converted("zext", "i32")
    return (near.bits() - is_beyond | is_rounded).bits()


def odd_double(code: Code, size: Value, value: Value) -> Value:
    """An integer of 64 bits as double, rounded to odd where it has more than 53; size: without its sign."""
    size = Value(code, size.kind.of("u64"), size.name)
    rest = (size & 0x7FF).differs(0).converted("zext", "u64") << 11
    size = code.select(size >= 1 << 53, (size & -0x800) | rest, size)
    found = size.converted("uitofp", "double")
    return found if value.kind.is_unsigned else code.select(value < 0, -found, found)
