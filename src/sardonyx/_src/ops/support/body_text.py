"""Building blocks for the text of body facets: constants of any element type, and the types of the inputs."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.inference import Inference

SLICE_END = (1 << 63) - 1  # past every element, for Slice


def element_type(inference: Inference, i: int = 0) -> DataType:
    """The element type of input i; raises InferenceError where it is not known."""
    return inference.dtype(i) or inference.fail(f"the element type of input {i} must be known")


def rank_of(inference: Inference, i: int = 0) -> int:
    """The rank of input i; raises InferenceError where it is not known."""
    rank = inference.rank(i)
    return inference.fail(f"the rank of input {i} must be known") if rank is None else rank


def scalar(value: float, dtype: DataType) -> str:
    """The node of a scalar constant, rounded to `dtype`; `value` must be an integer for an integer type."""
    return f"Constant <value = {dtype.text} raw_data: {{{value!r}}}> ()"


def scalars(inference: Inference, *attributes: str, **values: float) -> str:
    """The nodes of constants of the element type of input 0: values by their names, then attributes."""
    dtype = element_type(inference)
    values |= {name: inference.number(name) for name in attributes}
    return "  ".join(f"{name} = {scalar(value, dtype)}" for name, value in values.items())


def vector(values: Sequence[int]) -> str:
    """The node of an int64 constant of rank 1."""
    return f"Constant <value = int64[{len(values)}] {{{', '.join(map(str, values))}}}> ()"


def promoted_type(dtype: DataType) -> DataType:
    """The element type in which results are computed before they are rounded once: float for narrow floats, double for integers."""
    if dtype.is_integer:
        return DataType.DOUBLE
    return DataType.FLOAT if dtype in (DataType.FLOAT16, DataType.BFLOAT16) else dtype
