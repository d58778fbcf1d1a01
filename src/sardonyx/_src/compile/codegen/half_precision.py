"""Half precision: float16 and bfloat16 to float32, and float32 rounded to them (nearest, ties to even, as in NumPy).

Half-precision values are held as their bits (i16).  float16 is converted by the processor's instructions, if it has
them; bfloat16 never is, because the instructions of x86 flush subnormal numbers to zero.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import Element, FunctionBuilder, LLVMValue

FLOAT32_INFINITY = 0x7F800000
FLOAT16_INFINITY = 0x7C00
FLOAT16_NAN, BFLOAT16_NAN = 0x7E00, 0x7FC0
EXPONENT_SCALE = 2.0**112  # the exponent biases of float32 and float16 differ by 112
FLOAT16_OVERFLOW = 0x477FF000  # bits of the least float32 that rounds to infinity in float16
FLOAT16_SUBNORMAL = 0x38800000  # bits of the least float32 that is normal in float16
SUBNORMAL_ALIGN = 0.5  # adding this leaves as many fraction bits as a subnormal float16 has
ROUNDING_REBIAS = (112 << 23) - 0xFFF  # the difference of the exponent biases, minus the rounding increment


def extend_half(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """float16 or bfloat16 as float32, exactly."""
    if value.type.element == "f16" and builder.converts_half:
        float_type = value.type.with_element("float")
        half = builder.emit(value.type, f"bitcast {value} to {half_type_text(value)}")
        return builder.emit(float_type, f"fpext {half_type_text(value)} {half.name} to {float_type}")
    bits = value.convert("zext", "i32")
    if value.type.element == "b16":
        return (bits << 16).bitcast()
    return (extend_magnitude(bits & 0x7FFF) | ((bits & 0x8000) << 16)).bitcast()


def truncate_to_half(builder: FunctionBuilder, value: LLVMValue, element: Element) -> LLVMValue:
    """float32 rounded to float16 or bfloat16; overflow gives infinity, NaN stays NaN."""
    assert value.type.element == "float", f"value must be float32; got {value}"
    if element == "b16":
        return round_to_bfloat16(builder, value)
    if not builder.converts_half:
        return round_to_float16(builder, value)
    half = builder.emit(value.type.with_element("f16"), f"fptrunc {value} to {half_type_text(value)}")
    return builder.emit(half.type, f"bitcast {half_type_text(value)} {half.name} to {half.type}")


def half_type_text(value: LLVMValue) -> str:
    """LLVM's `half` type with the lanes of the value."""
    lanes = value.type.lanes
    return "half" if lanes == 1 else f"<{lanes} x half>"


def extend_magnitude(magnitude: LLVMValue) -> LLVMValue:
    """The float32 bits of a float16 given by its bits without the sign, both int32; by integer instructions."""
    builder = magnitude.builder
    finite = ((magnitude << 13).bitcast() * EXPONENT_SCALE).bitcast()
    return builder.select(magnitude >= FLOAT16_INFINITY, finite | FLOAT32_INFINITY, finite)


def round_to_float16(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """float32 rounded to float16 by integer instructions."""
    bits = value.bitcast()
    sign = (bits >> 16) & 0x8000
    magnitude = bits & 0x7FFFFFFF
    aligned = (magnitude.bitcast() + SUBNORMAL_ALIGN).bitcast()
    subnormal = aligned - builder.constant(SUBNORMAL_ALIGN, value.type).bitcast()
    half = (magnitude - ROUNDING_REBIAS + ((magnitude >> 13) & 1)) >> 13
    half = builder.select(magnitude < FLOAT16_SUBNORMAL, subnormal, half)
    infinity = builder.constant(FLOAT16_INFINITY, magnitude.type)
    half = builder.select(magnitude >= FLOAT16_OVERFLOW, infinity, half)
    nan = builder.constant(FLOAT16_NAN, magnitude.type)
    half = builder.select(magnitude > FLOAT32_INFINITY, nan, half)
    return (half | sign).convert("trunc", "f16")


def round_to_bfloat16(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """float32 rounded to bfloat16: its upper 16 bits after adding the rounding increment."""
    bits = value.bitcast()
    half = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    half = builder.select(value.ne(value), builder.constant(BFLOAT16_NAN, bits.type), half)
    return half.convert("trunc", "b16")


# --- types wider than float32 --------------------------------------------------------------------


def round_to_odd_float(builder: FunctionBuilder, value: LLVMValue) -> LLVMValue:
    """double as float32, rounded to odd, so that rounding the result to half precision equals rounding the double once."""
    nearest = value.convert("fptrunc", "float")
    extended = nearest.convert("fpext", "double")
    is_rounded_away = (builder.fabs(extended) > builder.fabs(value)).convert("zext", "i32")
    is_inexact = extended.ne(value).convert("zext", "i32")
    return (nearest.bitcast() - is_rounded_away | is_inexact).bitcast()


def round_to_odd_double(builder: FunctionBuilder, magnitude: LLVMValue, value: LLVMValue) -> LLVMValue:
    """A 64-bit integer as double, rounded to odd if it has more than 53 bits; magnitude: its absolute value."""
    magnitude = LLVMValue(builder, magnitude.type.with_element("u64"), magnitude.name)
    sticky = (magnitude & 0x7FF).ne(0).convert("zext", "u64") << 11
    magnitude = builder.select(magnitude >= 1 << 53, (magnitude & -0x800) | sticky, magnitude)
    number = magnitude.convert("uitofp", "double")
    return number if value.type.is_unsigned else builder.select(value < 0, -number, number)
