"""What the random operators share: the element type and the shape of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, claim
from sardonyx._src.ops.inference import Inference, Result


def floats(version: int) -> tuple[DataType, ...]:
    """The types that real numbers are drawn in."""
    types = (DataType.FLOAT16, DataType.FLOAT, DataType.DOUBLE)
    return (*types, DataType.BFLOAT16) if version >= 22 else types


def drawn_type(dtype: int | None, like: DataType | None, allowed: Sequence[DataType]) -> DataType:
    """The type that the attribute `dtype` numbers, or that of the input; raises EvaluationError unless it is allowed."""
    names = ", ".join(f"{d.value} ({d.text})" for d in sorted(allowed))
    if dtype is None:
        if like is None or like not in allowed:
            raise EvaluationError(
                f"the input is of {like.text if like else 'no type'}: dtype is wanted, one of {names}"
            )
        return like
    if dtype not in allowed:
        raise EvaluationError(f"dtype is {dtype}, where one of {names} is wanted")
    return DataType.numbered(dtype)


def room(shape: Sequence[int], dtype: DataType, call: Call) -> tuple[int, ...]:
    """The shape, which is known to be one and to be within the limits."""
    if min(shape, default=0) < 0:
        raise EvaluationError(f"shape is {list(shape)}, where no size may be negative")
    claim(call, shape, dtype.numpy, "the random tensor")
    return tuple(shape)


# --- inference -------------------------------------------------------------------------------


def infer_drawn(t: Inference) -> Result:
    """The shape that is an attribute, of the type that is one."""
    shape = t.integers("shape")
    assert shape is not None, f"{t.op_type} has no attribute shape"
    if min(shape, default=0) < 0:
        t.fail(f"shape is {list(shape)}, where no size may be negative")
    return told(t, TensorType(DataType.UNDEFINED, shape), floats(t.version))


def infer_like(t: Inference) -> Result:
    """The shape of the input, of the type that is an attribute, or else of the input's."""
    return told(t, t.tensor(0), floats(t.version))


def told(t: Inference, like: TensorType | None, allowed: Sequence[DataType]) -> Result:
    """The shape of `like`, in the type that `drawn_type` finds."""
    dtype = t.attributes.get("dtype")
    assert dtype is None or isinstance(dtype, int), "dtype is a number"
    if dtype is None and like is None:
        return None
    try:
        found = drawn_type(dtype, None if like is None else like.dtype, allowed)
    except EvaluationError as error:
        t.fail(error.why)
    return TensorType(found, None if like is None else like.shape)
