"""QuantizeLinear and DequantizeLinear as scalar expressions, and the broadcasting of their scales and zero points."""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import CODED_TYPES, HALF_TYPES, MINIFLOAT_TYPES
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.conversion import decode, encode
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, apply
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node
from sardonyx._src.ir.dims import Known

QUANTIZED_TYPES = frozenset({DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16})
QUANTIZED_RANGES = {
    t: (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)
    for t in QUANTIZED_TYPES
}
# The values of the attribute `precision` of QuantizeLinear that kernels support.
QUOTIENT_TYPES = (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16, DataType.DOUBLE)
Shape = tuple[Known, ...]


def quantize(x: Scalar, scale: Scalar, zero_point: Scalar | None, to: DataType) -> Cast:
    """saturate(round(x / scale) + zero_point), rounded to nearest even; NaN becomes the lowest number.

    zero_point: an expression of a float.
    """
    return saturate(apply("div", x, scale), zero_point, to)


def saturate(quotient: Scalar, zero_point: Scalar | None, to: DataType) -> Cast:
    """A quotient rounded to an integer type of at most 16 bits, plus the zero point; as an int8 or uint8 if it has fewer than 8."""
    rounded: Scalar = apply("round", quotient)
    if zero_point is not None and zero_point != Number(0):
        rounded = apply("add", rounded, zero_point)
    high = (1 << to.bits - to.is_signed) - 1
    byte = DataType.INT8 if to.is_signed else DataType.UINT8
    return Cast(to if to.bits >= 8 else byte, apply("clamp", rounded, -high - 1 if to.is_signed else 0, high))


def quantize_linear(call: OperatorCall) -> Scalar | None:
    """QuantizeLinear to integers of at most 16 bits and floats of 8 and 4 bits; None for other types."""
    zero_point, output_dtype = call.optional_input(2), call.attributes.get("output_dtype", 0)
    to = call.types[2] if zero_point is not None else None
    if to is None:
        assert isinstance(output_dtype, int), f"output_dtype must be an integer; got {output_dtype!r}"
        to = DataType.from_number(output_dtype) if output_dtype else DataType.UINT8
    quotient = rounded_quotient(call)
    if quotient is None or to not in QUANTIZED_TYPES | CODED_TYPES:
        return None
    zero = None if zero_point is None else as_type(decode(zero_point, to), to, quotient.dtype)
    if to.is_integer:
        number = saturate(quotient.value, zero, to)
        return number if to.bits >= 8 else encode(number, to)
    shifted = quotient.value if zero in (None, Number(0)) else apply("add", quotient.value, zero)
    return encode(shifted, to, saturate=bool(call.attributes.get("saturate", 1)))


@dataclass(frozen=True, slots=True)
class Quotient:
    """x / y_scale, rounded to the attribute `precision`, as an expression of the float type `dtype`."""

    value: Scalar
    dtype: DataType


def rounded_quotient(call: OperatorCall) -> Quotient | None:
    """The quotient, computed in float32 if x, scale and precision all are float32 or all the same half type; else in float64.

    Rounding a float32 quotient of half-precision numbers again, to half precision, is harmless, since float32 has more than
    twice the bits of float16 and bfloat16.
    """
    scale_dtype, precision = call.types[1], call.attributes.get("precision", 0)
    assert isinstance(precision, int), f"precision must be an integer; got {precision!r}"
    if scale_dtype is None or not (scale_dtype.is_float or scale_dtype is DataType.INT32):
        return None
    to = DataType.from_number(precision) if precision else None
    if to is None and scale_dtype in QUOTIENT_TYPES:
        to = scale_dtype
    x, scale = decode(call.x, call.dtype), decode(call.inputs[1], scale_dtype)
    is_wide = DataType.INT32 in (call.dtype, scale_dtype) or DataType.DOUBLE in (scale_dtype, to)
    is_wide = is_wide or (to in HALF_TYPES and not call.dtype is scale_dtype is to)
    dtype = DataType.DOUBLE if is_wide else DataType.FLOAT
    if to not in (None, *QUOTIENT_TYPES):
        return None
    value: Scalar = apply("div", as_type(x, call.dtype, dtype), as_type(scale, scale_dtype, dtype))
    if to in HALF_TYPES:
        return Quotient(Cast(DataType.FLOAT, Cast(to, value)), DataType.FLOAT)
    if to is DataType.FLOAT and is_wide:
        return Quotient(Cast(DataType.FLOAT, value), DataType.FLOAT)
    return Quotient(value, dtype)


def dequantize_linear(call: OperatorCall) -> Scalar | None:
    """(x - x_zero_point) * x_scale, with the difference, the scale and the product each rounded to the result's type.

    None for int32 with a zero point, since differences of int32 are not exact in float32.
    """
    zero_point, scale_dtype, to = call.optional_input(2), call.types[1], result_type(call)
    has_zero = zero_point not in (None, Number(0))
    if scale_dtype is None or to is None or (call.dtype is DataType.INT32 and has_zero):
        return None
    x = as_type(decode(call.x, call.dtype), call.dtype, DataType.FLOAT)
    if zero_point is not None and has_zero:
        x = apply("sub", x, as_type(decode(zero_point, call.dtype), call.dtype, DataType.FLOAT))
    scale = decode(call.inputs[1], scale_dtype)
    if to is DataType.FLOAT:
        return apply("mul", x, as_type(scale, scale_dtype, to))
    if scale_dtype is not to:
        scale = Cast(to, scale)
    factors = Cast(DataType.FLOAT, Cast(to, x)), Cast(DataType.FLOAT, scale)
    return Cast(to, apply("mul", *factors))


def result_type(call: OperatorCall) -> DataType | None:
    """The type of a dequantized element; None if it is not float32 or half precision."""
    named = call.attributes.get("output_dtype", 0)
    assert isinstance(named, int), f"output_dtype must be an integer; got {named!r}"
    to = DataType.from_number(named) if named else call.types[1]
    return to if to is DataType.FLOAT or to in HALF_TYPES else None


def as_type(number: Scalar, dtype: DataType, to: DataType) -> Scalar:
    """A number that was decoded from an element of `dtype`, as float32 or float64."""
    if to is DataType.FLOAT and dtype.is_integer:
        return as_float(number)
    is_same = dtype is to or (to is DataType.FLOAT and dtype in MINIFLOAT_TYPES)
    return number if is_same or isinstance(number, Number) else Cast(to, number)


def as_float(value: Scalar) -> Scalar:
    """An integer as float32.  If it was cast from a clamped float without fraction, the result is that float itself."""
    match value:
        case Number():
            return value
        case Cast(value=Apply(op="clamp", args=(unclamped, *_)) as clamped) if is_integral_float(unclamped):
            return clamped
    return Cast(DataType.FLOAT, value)


def is_integral_float(value: Scalar) -> bool:
    """Whether a float expression has no fraction, at least for the values that `clamp` does not change."""
    match value:
        case Apply(op="round"):
            return True
        case Apply(op="add", args=(a, b)):
            return is_integral_float(a) and is_integral_zero_point(b)
    return False


def is_integral_zero_point(value: Scalar) -> bool:
    match value:
        case Number():
            return value.value == int(value.value)
        case Cast(dtype=DataType.FLOAT):
            return True  # cast from a zero point, an integer
    return False


def align_to_axis(node: Node, shape: Shape, input_shape: Shape) -> Shape | None:
    """The shape in which a scale or zero point broadcasts to the input: with 1s after the axis; None if it has several blocks."""
    if all(dim == 1 for dim in shape):
        return ()
    if is_blocked(node, shape, input_shape):
        return shape if block_shape(node, input_shape) is not None else None
    axis = integer_attribute(node, "axis", 1)
    if len(shape) != 1:
        return None
    axis = 0 if len(input_shape) == 1 else axis % len(input_shape)
    return (*shape, *(1 for _ in input_shape[axis + 1 :]))


def is_blocked(node: Node, shape: Shape, input_shape: Shape) -> bool:
    """Whether a scale or zero point of this shape has one element for each block."""
    has_several = any(dim != 1 for dim in shape)
    return has_several and len(shape) == len(input_shape) and integer_attribute(node, "block_size", 0) > 0


def block_shape(node: Node, input_shape: Shape) -> Shape | None:
    """The shape of a scale if blocks have one element, or if there is one block along the axis; None for other blocks."""
    axis, size = (
        integer_attribute(node, "axis", 1) % len(input_shape),
        integer_attribute(node, "block_size", 0),
    )
    length = input_shape[axis]
    if size == 1:
        return input_shape
    is_one_block = isinstance(length, int) and 0 < length <= size
    return (*input_shape[:axis], 1, *input_shape[axis + 1 :]) if is_one_block else None


def integer_attribute(node: Node, name: str, default: int) -> int:
    attribute = node.attributes.get(name)
    value = default if attribute is None else attribute.value
    assert isinstance(value, int), f"{name} must be an integer; got {value!r}"
    return value
