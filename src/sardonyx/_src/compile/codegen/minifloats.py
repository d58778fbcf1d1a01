"""Minifloats, of at most 8 bits: float32 from their codes, and their codes from float32, by integer instructions.

A code is a byte; types of fewer bits use its low bits.  Numbers are rounded to nearest, ties to even.

Spec: "Float stored in 8 bits", "Float stored in 4 bits" and the tables of Cast-28; the OCP specification of
microscaling formats for float8e8m0.  Cases that these leave open are as in the reference kernel
(`ops.quantization.conversion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.element_types import convert_to_float
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

FLOAT32_BIAS, FLOAT32_FRACTION = 127, 23
FLOAT32_INFINITY, FLOAT32_NAN, FLOAT32_MAGNITUDE = 0x7F800000, 0x7FC00000, 0x7FFFFFFF
Conversion = Callable[[FunctionBuilder, LLVMValue], LLVMValue]


@dataclass(frozen=True, slots=True)
class Minifloat:
    """A type with a sign, an exponent and a fraction.

    largest: the code of the largest number.
    overflow: the code, without its sign, of larger numbers that are not saturated.
    nan: the code of NaN; for types without NaN, the code that NaN becomes.
    is_unsigned_zero: whether there is no -0, since its code means NaN.
    """

    exponent_bits: int
    fraction_bits: int
    bias: int
    largest: int
    overflow: int
    nan: int
    is_unsigned_zero: bool = False

    @property
    def sign(self) -> int:
        """The bit of the sign, above all others."""
        return 1 << self.exponent_bits + self.fraction_bits

    @property
    def sign_shift(self) -> int:
        """The number of bits between the sign and the sign of a float32."""
        return 31 - self.exponent_bits - self.fraction_bits

    @property
    def has_infinity(self) -> bool:
        return self.largest < self.overflow < self.nan

    @property
    def has_nan(self) -> bool:
        return self.overflow > self.largest

    @property
    def dropped_bits(self) -> int:
        """The bits of a float32 fraction that the type does not have."""
        return FLOAT32_FRACTION - self.fraction_bits

    @property
    def rebias(self) -> int:
        """The difference of the exponent biases, in the bits of a float32."""
        return FLOAT32_BIAS - self.bias << FLOAT32_FRACTION


MINIFLOATS: Mapping[DataType, Minifloat] = {
    DataType.FLOAT8E4M3FN: Minifloat(4, 3, 7, 0x7E, 0x7F, 0x7F),
    DataType.FLOAT8E4M3FNUZ: Minifloat(4, 3, 8, 0x7F, 0x80, 0x80, True),
    DataType.FLOAT8E5M2: Minifloat(5, 2, 15, 0x7B, 0x7C, 0x7E),
    DataType.FLOAT8E5M2FNUZ: Minifloat(5, 2, 16, 0x7F, 0x80, 0x80, True),
    DataType.FLOAT4E2M1: Minifloat(2, 1, 1, 0x7, 0x7, 0x8),
    DataType.FLOAT6E2M3: Minifloat(2, 3, 1, 0x1F, 0x1F, 0x20),
    DataType.FLOAT6E3M2: Minifloat(3, 2, 3, 0x1F, 0x1F, 0x20),
}


def decode(builder: FunctionBuilder, code: LLVMValue, mini: Minifloat) -> LLVMValue:
    """The float32 of a code, exactly."""
    bits = code.convert("zext", "i32")
    magnitude = bits & (mini.sign - 1)
    subnormal = magnitude.convert("sitofp", "float") * 2.0 ** (1 - mini.bias - mini.fraction_bits)
    aligned = magnitude << mini.dropped_bits
    is_subnormal = magnitude < 1 << mini.fraction_bits
    number = builder.select(is_subnormal, subnormal.bitcast(), aligned + mini.rebias)
    largest = mini.largest
    if mini.has_infinity:
        number, largest = builder.select(magnitude > largest, FLOAT32_INFINITY, number), mini.overflow
    if mini.has_nan:
        is_nan = bits.eq(mini.nan) if mini.is_unsigned_zero else magnitude > largest
        number = builder.select(is_nan, FLOAT32_NAN, number)
    return (number | (bits & mini.sign) << mini.sign_shift).bitcast()


def encode(builder: FunctionBuilder, value: LLVMValue, mini: Minifloat, *, saturate: bool) -> LLVMValue:
    """The code of a number of any type, rounded once."""
    bits = convert_to_float(builder, value).bitcast()
    magnitude = bits & FLOAT32_MAGNITUDE
    is_odd = (magnitude >> mini.dropped_bits) & 1
    half = (1 << mini.dropped_bits - 1) - 1
    normal = magnitude + (half - mini.rebias) + is_odd >> mini.dropped_bits
    # Adding this leaves as many fraction bits as a subnormal number of the type has.
    align = 2.0 ** (1 - mini.bias + mini.dropped_bits)
    aligned = magnitude.bitcast() + align
    subnormal = aligned.bitcast() - builder.constant(align, aligned.type).bitcast()
    code = builder.select(magnitude < mini.rebias + (1 << FLOAT32_FRACTION), subnormal, normal)
    limit = builder.constant(mini.largest if saturate else mini.overflow, code.type)
    code = builder.select(code > mini.largest, limit, code)
    nan = builder.constant(mini.nan, code.type)
    code = builder.select(magnitude > FLOAT32_INFINITY, nan, code)
    signed = code | ((bits >> mini.sign_shift) & mini.sign)
    if mini.is_unsigned_zero:
        signed = builder.select(code.eq(0), code, signed)
    return signed.convert("trunc", "u8")


# --- float8e8m0: powers of two ------------------------------------------------------------------

E8M0_NAN, E8M0_LARGEST = 0xFF, 0xFE
LEAST_POWER, LARGEST_POWER = 0x00400000, 0x7F000000  # 2 ** -127 and 2 ** 127 as float32
# For each rounding mode, the number that is added to a float32 before its fraction is dropped.
ROUNDING_INCREMENTS = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}


def decode_power(builder: FunctionBuilder, code: LLVMValue) -> LLVMValue:
    """The float32 of a code of float8e8m0."""
    exponent = code.convert("zext", "i32")
    power = builder.select(exponent.eq(0), LEAST_POWER, exponent << FLOAT32_FRACTION)
    return builder.select(exponent.eq(E8M0_NAN), FLOAT32_NAN, power).bitcast()


def encode_power(builder: FunctionBuilder, value: LLVMValue, *, round_mode: str, saturate: bool) -> LLVMValue:
    """The code of a number as float8e8m0; NaN for negative numbers."""
    bits = convert_to_float(builder, value).bitcast()
    increment = ROUNDING_INCREMENTS[round_mode]
    code = bits + increment >> FLOAT32_FRACTION
    # One power, 2 ** -127, is below the least normal float32; there, one bit less is dropped.
    least = (bits + (increment >> 1) - LEAST_POWER) >> FLOAT32_FRACTION - 1
    code = builder.select(bits < 1 << FLOAT32_FRACTION, least, code)
    below, above = (0, E8M0_LARGEST) if saturate else (E8M0_NAN, E8M0_NAN)
    code = builder.select(bits < LEAST_POWER, below, code)
    code = builder.select(bits > LARGEST_POWER, above, code)
    number = bits.bitcast()
    nan = builder.constant(E8M0_NAN, code.type)
    return builder.select(number >= 0, code, nan).convert("trunc", "u8")


# --- as operations of expressions ---------------------------------------------------------------


def decode_operation(dtype: DataType) -> str:
    """The name of the operation that decodes a minifloat."""
    return f"decode_{dtype.text}"


def encode_operation(dtype: DataType, *, saturate: bool = True, round_mode: str = "up") -> str:
    """The name of the operation that encodes a minifloat; only float8e8m0 has a round_mode."""
    mode = f"_{round_mode}" if dtype is DataType.FLOAT8E8M0 else ""
    return f"encode_{dtype.text}{mode}" + ("" if saturate else "_unsaturated")


def conversions() -> dict[str, Conversion]:
    """All conversions by the names of their operations."""
    table: dict[str, Conversion] = {decode_operation(DataType.FLOAT8E8M0): decode_power}
    for saturate in (True, False):
        for dtype, mini in MINIFLOATS.items():
            table[decode_operation(dtype)] = partial(decode, mini=mini)
            name = encode_operation(dtype, saturate=saturate)
            table[name] = partial(encode, mini=mini, saturate=saturate)
        for mode in ROUNDING_INCREMENTS:
            name = encode_operation(DataType.FLOAT8E8M0, saturate=saturate, round_mode=mode)
            table[name] = partial(encode_power, round_mode=mode, saturate=saturate)
    return table


MINIFLOAT_CONVERSIONS: Mapping[str, Conversion] = conversions()
