"""QuantizeLinear and DequantizeLinear as scalar expressions, and the broadcasting of their scales and zero points."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Apply, Cast, Number, Scalar
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, apply
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node

QUANTIZED_TYPES = frozenset({DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16})
QUANTIZED_RANGES = {
    t: (-(1 << t.bits - 1), (1 << t.bits - 1) - 1) if t.is_signed else (0, (1 << t.bits) - 1)
    for t in QUANTIZED_TYPES
}
# Values of an attribute that names a type: 0, which means that of the scale, or float.
DEFAULT_OR_FLOAT = (0, DataType.FLOAT.value)
Shape = tuple[Known, ...]


def quantize(x: Scalar, scale: Scalar, zero_point: Scalar | None, to: DataType) -> Cast:
    """saturate(round(x / scale) + zero_point), rounded to nearest even; NaN becomes the lowest number.

    zero_point: a float.
    """
    quotient: Scalar = apply("round", apply("div", x, scale))
    if zero_point is not None and zero_point != Number(0):
        quotient = apply("add", quotient, zero_point)
    return Cast(to, apply("clamp", quotient, *QUANTIZED_RANGES[to]))


def quantize_linear(call: OperatorCall) -> Scalar | None:
    """Of fp32 to integers of at most 16 bits, with fp32 scales."""
    zero_point, output_dtype = call.optional_input(2), call.attributes.get("output_dtype", 0)
    to = call.types[2] if zero_point is not None else None
    if to is None:
        assert isinstance(output_dtype, int), f"output_dtype must be an integer; got {output_dtype!r}"
        to = DataType.from_number(output_dtype) if output_dtype else DataType.UINT8
    if to not in QUANTIZED_TYPES or not has_float_scale(call, "precision"):
        return None
    return quantize(call.x, call.inputs[1], None if zero_point is None else as_float(zero_point), to)


def dequantize_linear(call: OperatorCall) -> Scalar | None:
    """Of integers of at most 16 bits, whose differences are exact in fp32, or of 32 bits without a zero point."""
    zero_point = call.optional_input(2)
    if not has_float_scale(call, "output_dtype"):
        return None
    if call.dtype not in QUANTIZED_TYPES and zero_point not in (None, Number(0)):
        return None
    x = as_float(call.x)
    if zero_point is not None and zero_point != Number(0):
        x = apply("sub", x, as_float(zero_point))
    return apply("mul", x, call.inputs[1])


def has_float_scale(call: OperatorCall, attribute: str) -> bool:
    """Whether the scale is fp32, and so is the type that the attribute names."""
    return call.types[1] is DataType.FLOAT and call.attributes.get(attribute, 0) in DEFAULT_OR_FLOAT


def as_float(value: Scalar) -> Scalar:
    """An integer as fp32; if it was cast from a clamped integral float, that float without the round trip."""
    match value:
        case Number():
            return value
        case Cast(value=Apply(op="clamp", args=(unclamped, *_)) as clamped) if is_integral_float(unclamped):
            return clamped
    return Cast(DataType.FLOAT, value)


def is_integral_float(value: Scalar) -> bool:
    """Whether a float expression has no fraction, wherever `clamp` does not change it."""
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
    """The shape with which a scale or zero point broadcasts to the input: 1s after the axis; None if it is blocked."""
    if all(dim == 1 for dim in shape):
        return ()
    axis, blocks = (
        integer_attribute(node, name, default) for name, default in (("axis", 1), ("block_size", 0))
    )
    if len(shape) != 1 or (blocks > 0 and len(input_shape) == 1):
        return None
    axis = 0 if len(input_shape) == 1 else axis % len(input_shape)
    return (*shape, *(1 for _ in input_shape[axis + 1 :]))


def integer_attribute(node: Node, name: str, default: int) -> int:
    attribute = node.attributes.get(name)
    value = default if attribute is None else attribute.value
    assert isinstance(value, int), f"{name} must be an integer; got {value!r}"
    return value
