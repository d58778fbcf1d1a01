"""Values of fallback operations on the fast path: fed strings, copies of results that share memory, and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.run_values import SEQUENCES, RuntimeValue, as_plain_value, as_run_value
from sardonyx._src.runtime.fast_path.recorded_run import ChangedResult, ValueShape
from sardonyx._src.runtime.results.results import copy_if_read_only


def copy_if_view(result: RuntimeValue, inputs: Sequence[RuntimeValue]) -> RuntimeValue:
    """The result, with copies of the arrays that may share memory with an input."""
    if isinstance(result, np.ndarray):
        if result.dtype == object:
            return result  # strings are immutable, and an array of them cannot be a view of numbers
        if result.base is None:  # the array owns its elements
            return result.copy() if any(result is x for x in inputs) else result
        is_view = any(np.may_share_memory(result, x) for x in inputs if isinstance(x, np.ndarray))
        return result.copy() if is_view else result
    return as_run_value(list(map(copy_view, result))) if isinstance(result, list) else result


def copy_view(element: RuntimeValue) -> RuntimeValue:
    """A copy of an element of a new sequence, unless it is an array of strings, which are immutable."""
    return element.copy() if isinstance(element, np.ndarray) and element.dtype != object else element


def copy_array(value: RuntimeValue) -> RuntimeValue:
    """A copy of an array, for a sequence that may keep it; other values unchanged."""
    return value.copy() if isinstance(value, np.ndarray) else value


def as_strings(value: object) -> Array | None:
    """A fed array as a contiguous, read-only array of objects; None if its elements are no strings or objects."""
    if type(value) is not np.ndarray or value.dtype.kind not in "OU":
        return None
    array: Array
    if value.dtype.kind == "O" and value.flags.c_contiguous:
        array = value.view()
    else:
        array = np.ascontiguousarray(value, object).reshape(value.shape)
    array.flags.writeable = False
    return array


def take_result(values: Mapping[Value, RuntimeValue], value: Value, shape: ValueShape) -> RuntimeValue:
    """A result of the program, writeable; raises ChangedResult if its shape is another than in the earlier run."""
    result = values[value]
    if type(result) is np.ndarray:
        if result.shape != shape:
            raise ChangedResult
        return result if result.flags.writeable else result.copy()
    if shape_of(result) != shape:
        raise ChangedResult
    return copy_if_read_only(as_plain_value(result)) if has_arrays(result) else result


def shape_of(value: RuntimeValue) -> ValueShape:
    """The shape of an array; for a sequence its length, then the shapes of its arrays; None for other values."""
    if isinstance(value, np.ndarray):
        return cast("tuple[int, ...]", value.shape)
    if not isinstance(value, SEQUENCES):
        return None
    shapes = (element.shape for element in value if isinstance(element, np.ndarray))
    return (len(value), *shapes) if has_arrays(value) else (len(value),)


def has_arrays(value: RuntimeValue) -> bool:
    """Whether a value is a sequence of arrays.  All elements of a sequence have one type, so that the first one decides."""
    return isinstance(value, SEQUENCES) and len(value) > 0 and isinstance(value[0], np.ndarray)
