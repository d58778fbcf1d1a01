"""Columns of results: the outputs of a run for the rows of a batch, as Arrow arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sardonyx._src.errors import OutputError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.score.model.options import Vectors
from sardonyx._src.tables.arrow import pa


def columns_of(
    output: SessionValue, value: object, rows: int, vectors: Vectors
) -> Iterator[tuple[str, pa.Array]]:
    """The columns of a result, with their names.

    A tensor [rows] or [rows, 1] becomes one column.  A tensor with more elements in each row becomes a column of lists or, with
    vectors "columns", a column for each element: `name_0`, `name_1`, ...  A sequence of maps becomes a column of structs.
    Raises OutputError for results with another number of rows, with elements that Arrow has no type for, or with maps of
    different keys.
    """
    if isinstance(value, np.ndarray):
        try:
            yield from tensor_columns(output, value, rows, vectors)
        except (pa.ArrowException, UnicodeEncodeError) as error:
            raise OutputError(
                f"output {output.name!r} must hold elements that Arrow has a type for; got {value.dtype}: {error}; select the others "
                "by `outputs`",
                name=output.name,
            ) from error
    elif isinstance(value, list) and len(value) == rows and all(isinstance(row, dict) for row in value):
        if any(row.keys() != value[0].keys() for row in value):
            raise OutputError(f"output {output.name!r} must have maps of equal keys", name=output.name)
        yield output.name, struct_column(value)
    else:
        got = f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
        raise OutputError(
            f"output {output.name!r} must have a value for each of {rows} rows; got {got}", name=output.name
        )


def tensor_columns(
    output: SessionValue, value: Array, rows: int, vectors: Vectors
) -> Iterator[tuple[str, pa.Array]]:
    """The column of a tensor, or its columns."""
    name = output.name
    if value.ndim == 0 or len(value) != rows:
        raise OutputError(
            f"output {name!r} must have {rows} rows; got shape {list(value.shape)}: select the others by `outputs`",
            name=name,
        )
    is_column = value.ndim == 1 or (value.shape[1:] == (1,) and not has_open_row(output))
    if is_column:
        yield name, flat_array(value)
    elif vectors == "columns":
        for i, column in enumerate(value.reshape(rows, math.prod(value.shape[1:])).T):
            yield f"{name}_{i}", flat_array(np.ascontiguousarray(column))
    else:
        yield name, nested_array(value, has_open_row(output))


def has_open_row(output: SessionValue) -> bool:
    """Whether the rows of an output may have another size in each run: it declares a variable for one of their dims."""
    dims = output.type.shape[1:] if isinstance(output.type, TensorType) and output.type.shape else ()
    return any(dim is not None and not isinstance(dim, int) for dim in dims)


def flat_array(value: Array) -> pa.Array:
    """A tensor's elements in order; types of real numbers that Arrow lacks become float32."""
    flat = value.reshape(-1)
    if flat.dtype == object:
        return pa.array(flat.tolist(), pa.string())
    try:
        return pa.array(flat)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        if flat.dtype.kind == "c":
            raise
        return pa.array(flat.astype(np.float32))


def nested_array(value: Array, is_open: bool) -> pa.Array:
    """A tensor as nested lists, one for each row; is_open: whether the type of the lists permits any length."""
    array = flat_array(value)
    for axis in range(value.ndim - 1, 0, -1):
        size = value.shape[axis]
        if is_open:
            count = math.prod(value.shape[:axis])
            array = pa.ListArray.from_arrays(np.arange(count + 1, dtype=np.int32) * np.int32(size), array)
        else:
            array = pa.FixedSizeListArray.from_arrays(array, size)
    return array


def struct_column(maps: Sequence[Mapping[object, object]]) -> pa.Array:
    """Maps with equal keys as structs, whose fields have the keys as names."""
    keys = list(maps[0]) if maps else []
    fields = [flat_array(np.asarray([row[key] for row in maps])) for key in keys]
    return pa.StructArray.from_arrays(fields, [str(key) for key in keys])


def probability_structs(value: Array, labels: Sequence[str]) -> pa.Array:
    """Probabilities [rows, labels] as structs with a field for each label."""
    return pa.StructArray.from_arrays(
        [flat_array(np.ascontiguousarray(column)) for column in value.T], list(labels)
    )
