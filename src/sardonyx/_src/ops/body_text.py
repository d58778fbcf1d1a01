"""What the texts of bodies are made of: constants of any element type, and the types of the call."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference

END = (1 << 63) - 1  # behind every element, for Slice


def element_type(t: Inference, i: int = 0) -> DataType:
    """The element type of input i; raises InferenceError where it is not known."""
    return t.dtype(i) or t.fail(f"the element type of input {i} has to be known")


def rank_of(t: Inference, i: int = 0) -> int:
    """The rank of input i; raises InferenceError where it is not known."""
    rank = t.rank(i)
    return t.fail(f"the rank of input {i} has to be known") if rank is None else rank


def real(t: Inference, name: str) -> float:
    """The value of an attribute that is a number."""
    value = t.attributes.get(name)
    assert isinstance(value, int | float), f"{t.op_type} has no number {name}"
    return float(value)


def scalar(value: float, dtype: DataType) -> str:
    """The node of a constant without axes, rounded to `dtype`; an integer type wants an integer."""
    return f"Constant <value = {dtype.text} raw_data: {{{value!r}}}> ()"


def vector(values: Sequence[int]) -> str:
    """The node of a constant of int64 with one axis."""
    return f"Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> ()"


def wide_float(dtype: DataType) -> DataType:
    """The element type in which numbers of `dtype` are computed with a result rounded once: float for narrow floats,
    double for integers."""
    if dtype.is_integer:
        return DataType.DOUBLE
    return DataType.FLOAT if dtype in (DataType.FLOAT16, DataType.BFLOAT16) else dtype
