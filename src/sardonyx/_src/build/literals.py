"""Literals: arrays, numbers, strings and lists as tensors of the element type that a parameter requires."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.arguments import shown
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Tensor, TensorType, Value
from sardonyx._src.schema import OpSchema
from sardonyx._src.schema.signature import Parameter

PREFERRED = (
    "int64 int32 float double bool string".split()
)  # element types in the order in which a literal gets them


def literal_tensor(
    value: object,
    parameter: Parameter | None,
    schema: OpSchema | None,
    bound: Mapping[str, DataType],
    what: str,
    dtype: DataType | None = None,
) -> Tensor:
    """A literal as a tensor.

    Arrays keep their element types.  Python numbers, strings and lists of them get the first of these types that applies:
    `dtype`; the type of other operands with the same type variable (`bound`); their natural type, FLOAT, INT64, BOOL or
    STRING; the first type that the parameter allows.
    what: the name of the operand in messages.  Raises InputError for a literal that its type cannot represent.
    """
    if isinstance(value, Tensor):
        return value
    if is_typed(value):
        return tensor_of(value, dtype, what)
    array = natural_array(value, what)
    if array.size == 0 and parameter is None and dtype is None:
        raise InputError(f"{what} must have elements or a type; got {shown(value)}", name=what)
    dtype = dtype or element_type(array, parameter, schema, bound)
    converted = tensor_of(array if dtype is not DataType.STRING else value, dtype, what)
    if dtype is not DataType.STRING and not is_exact(array, converted, dtype):
        raise InputError(f"{what} must be {dtype.text}; got {shown(value)}", name=what)
    return converted


def tensor_of_input(value: Value, default: object, role: str) -> Tensor:
    """The default or example of an input as a tensor of its type; raises InputError for another rank, size or element type.

    role: "default" or "example".
    """
    what = f"the {role} of {value.name!r}"
    if not isinstance(value.type, TensorType):
        raise InputError(
            f"{what} must be left out: only tensors have one; the type is {value.type}", name=role
        )
    tensor = literal_tensor(default, None, None, {}, what, None if is_typed(default) else value.type.dtype)
    shape = value.type.shape
    fits = shape is None or (
        len(shape) == len(tensor.shape)
        and all(not isinstance(d, int) or d == n for d, n in zip(shape, tensor.shape, strict=True))
    )
    if tensor.dtype is not value.type.dtype or not fits:
        got = TensorType(tensor.dtype, tensor.shape)
        raise InputError(f"{what} must be {value.type}; got {got}", name=role)
    return tensor


def is_typed(value: object) -> bool:
    return isinstance(value, Tensor | np.ndarray | np.generic)


def natural_array(value: object, what: str) -> Array:
    """The literal as an array of the type that NumPy gives it."""
    try:
        array = np.asarray(value)
    except Exception as error:  # noqa: BLE001  # an element of another library may raise anything
        raise InputError(f"{what}: {type(error).__name__}: {error}", name=what) from None
    if array.dtype.kind not in "biufcSU":
        raise InputError(
            f"{what} must be an operand, an array, a number, a string or a list of these; got {shown(value)}",
            name=what,
        )
    return array


def element_type(
    array: Array, parameter: Parameter | None, schema: OpSchema | None, bound: Mapping[str, DataType]
) -> DataType:
    """The element type of a literal in an input."""
    natural = {"b": DataType.BOOL, "i": DataType.INT64, "u": DataType.INT64, "f": DataType.FLOAT}.get(
        array.dtype.kind, DataType.COMPLEX64 if array.dtype.kind == "c" else DataType.STRING
    )
    if parameter is None or schema is None:
        return natural
    if parameter.type in bound:
        return bound[parameter.type]
    allowed = schema.allowed_types(parameter)
    if array.size and f"tensor({natural.text})" in allowed:
        return natural
    for name in PREFERRED:
        if f"tensor({name})" in allowed and (name in ("string", "bool")) == (array.dtype.kind in "SUb"):
            return DataType.parse(name)
    return natural


def tensor_of(value: object, dtype: DataType | None, what: str) -> Tensor:
    try:
        with np.errstate(
            all="ignore"
        ):  # a conversion that loses information is refused by the caller, not a warning
            return Tensor.of(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: {error}", name=what) from None


def is_exact(natural: Array, tensor: Tensor, dtype: DataType) -> bool:
    """Whether a conversion lost nothing, apart from the rounding of floats."""
    result = tensor.numpy()
    if natural.dtype.kind == "f" and not dtype.is_float and not dtype.is_complex:
        return False
    if dtype.is_integer:
        return natural.dtype.kind in "iu" and np.array_equal(result.astype(object), natural.astype(object))
    if dtype is DataType.BOOL:
        return natural.dtype.kind == "b"
    wide = result.astype(np.complex128 if dtype.is_complex else np.float64)
    return not bool((np.isfinite(natural) & ~np.isfinite(wide)).any())
