"""Element types of values, and what fits into them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, OptionalType, SequenceType, Tensor, TensorType, Type


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """The range of a float type.

    largest: its largest number.
    normal: its least positive number of full precision.
    least: its least positive number.
    """

    largest: float
    normal: float
    least: float


@dataclass(frozen=True, slots=True)
class Change:
    """A change of element types: values of the `sources` become `target`."""

    sources: tuple[DataType, ...]
    target: DataType

    @property
    def narrows(self) -> bool:
        """Whether numbers may not fit into the target."""
        return any(source.bits > self.target.bits for source in self.sources)


@cache
def limits(dtype: DataType) -> FloatLimits:
    import ml_dtypes  # lazy: few runs change element types

    info = ml_dtypes.finfo(dtype.numpy)
    return FloatLimits(float(info.max), float(info.smallest_normal), float(info.smallest_subnormal))


def dtype_of(type: Type | None) -> DataType | None:
    """The element type of a tensor, or of the tensors of a sequence or optional; None for other types."""
    match type:
        case TensorType():
            return type.dtype
        case SequenceType() | OptionalType():
            return dtype_of(type.elem)
    return None


def with_dtype(type: Type | None, dtype: DataType) -> Type | None:
    """The type with another element type."""
    match type:
        case TensorType():
            return replace(type, dtype=dtype)
        case SequenceType() | OptionalType():
            return replace(type, elem=with_dtype(type.elem, dtype))
    return type


def converted(tensor: Tensor, dtype: DataType, name: str) -> Tensor:
    """The tensor with its numbers rounded to another type."""
    with np.errstate(over="ignore", under="ignore"):
        return Tensor.of(tensor.numpy().astype(dtype.numpy), dtype, name)


def why_not_number(number: float, dtype: DataType) -> str:
    """Why a number cannot be had in an element type: it would become infinite, or 0; "" if it can."""
    size = abs(number)
    if not np.isfinite(number) or size == 0:
        return ""
    if size > limits(dtype).largest:
        return f"{number:.3g} exceeds {limits(dtype).largest:.3g}, the largest {dtype.text}"
    return f"{number:.3g} would become 0 in {dtype.text}" if size <= limits(dtype).least / 2 else ""


def why_not_numbers(numbers: Array, dtype: DataType) -> str:
    """Why constant numbers do not fit into an element type; "" if they do.

    Numbers that are small beside the largest one may become 0; but the largest one must have full precision.
    """
    sizes = np.abs(numbers[np.isfinite(numbers)].astype(np.float64, copy=False))
    largest = float(sizes.max(initial=0.0))
    if why := why_not_number(largest, dtype):
        return why
    if largest and largest < limits(dtype).normal:
        return f"its largest number, {largest:.3g}, is subnormal in {dtype.text}"
    return ""


def is_changed(type: Type | None, sources: Collection[DataType]) -> bool:
    """Whether values of a type are to have another element type."""
    return dtype_of(type) in sources
