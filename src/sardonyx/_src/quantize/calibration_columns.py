"""Columns of files and tables as feeds of calibration runs, with the types and the shapes of the inputs.

An input is fed by the column of its name, or by those that the caller names, several of which become one matrix.  The only
input of a model that has no such column is fed by a column `image`, by the only column, or by all columns as a matrix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Model, TensorType, Value
from sardonyx._src.suggestions import suggest
from sardonyx._src.tables.columns import read_columns, read_table
from sardonyx._src.tables.images import IMAGE_COLUMN, LABEL_COLUMN
from sardonyx._src.train.fit.data import column_of

# For an input, the column that feeds it, or those that become one matrix.
ColumnMap: TypeAlias = Mapping[str, str | Sequence[str]]


class ArrowTable(Protocol):
    """A table of pyarrow, pandas, polars or another package that hands over Arrow's data."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


TableSource: TypeAlias = str | os.PathLike[str] | ArrowTable


def is_table_source(source: object) -> TypeGuard[TableSource]:
    return isinstance(source, str | os.PathLike) or hasattr(source, "__arrow_c_stream__")


def read_feeds(model: Model, source: TableSource, columns: ColumnMap) -> dict[str, Array]:
    """The feeds of all rows of a path, or of a table in memory.

    columns: of inputs that are fed by columns of other names; then the other columns are not used.
    Raises InputError for columns that no input has, for those that are missing, and for types and sizes that do not fit.
    """
    arrays = read_columns(os.fspath(source)) if isinstance(source, str | os.PathLike) else read_table(source)
    inputs = {value.name: value for value in model.graph.inputs}
    chosen = choose_columns(inputs, arrays, columns)
    lengths = {name: array.shape[0] if array.ndim else None for name, array in chosen.items()}
    if is_table(arrays) and len(set(lengths.values())) > 1:
        raise InputError(f"columns of data must have one length; got {lengths}", name="data")
    return {name: fitted(inputs[name], array) for name, array in chosen.items()}


def choose_columns(
    inputs: Mapping[str, Value], arrays: Mapping[str, Array], columns: ColumnMap
) -> dict[str, Array]:
    """The array of each input that the columns feed."""
    for name in columns:
        if name not in inputs:
            what = (
                f"columns must be of inputs; the model has no input {name!r}{suggest(name, inputs, 'inputs')}"
            )
            raise InputError(what, name="columns")
    result = {name: taken(arrays, listed) for name, listed in columns.items()}
    result |= {name: arrays[name] for name in inputs if name in arrays and name not in result}
    required = [value for value in inputs.values() if value.initializer is None]
    if not result and len(required) == 1:
        return {required[0].name: only_array(required[0], arrays)}
    unknown = [name for name in arrays if name not in inputs and name != LABEL_COLUMN]
    if unknown and not columns:
        what = f"data must have columns of inputs ({', '.join(inputs)}); got {unknown[0]!r}{suggest(unknown[0], inputs, 'inputs')}"
        raise InputError(
            f"{what}: name the columns of inputs by columns (--map), or leave it out", name="data"
        )
    return result


def taken(arrays: Mapping[str, Array], listed: str | Sequence[str]) -> Array:
    """The column of this name, or several as one matrix [rows, columns]."""
    names = [listed] if isinstance(listed, str) else list(listed)
    for name in names:
        if name not in arrays:
            what = f"columns must be those of data; there is no {name!r}{suggest(name, arrays, 'columns')}"
            raise InputError(what, name="columns")
    return arrays[names[0]] if isinstance(listed, str) else packed([arrays[name] for name in names])


def only_array(value: Value, arrays: Mapping[str, Array]) -> Array:
    """What feeds the only input of a model: images, the only column, or all columns as a matrix."""
    if IMAGE_COLUMN in arrays and arrays.keys() <= {IMAGE_COLUMN, LABEL_COLUMN}:
        return arrays[IMAGE_COLUMN]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    if not is_table(arrays) or (
        shape is not None and (len(shape) != 2 or (shape[1] != len(arrays) and isinstance(shape[1], int)))
    ):
        listed = ", ".join(map(repr, arrays))
        what = f"data must have a column of the input {value.name!r}, of type {value.type}; got {listed}"
        raise InputError(f"{what}: name its columns by columns (--map, --pack)", name="data")
    return packed(list(arrays.values()))


def packed(columns: Sequence[Array]) -> Array:
    if any(column.ndim != 1 for column in columns):
        raise InputError("columns of one input must have a number in each row; got lists", name="columns")
    return np.stack(columns, axis=1)


def is_table(arrays: Mapping[str, Array]) -> bool:
    """Whether all arrays have rows, equally many."""
    return len({array.shape[:1] for array in arrays.values()}) == 1 and all(a.ndim for a in arrays.values())


def fitted(value: Value, array: Array) -> Array:
    """The array in the type and the shape of an input; one that already has its type and rank is left to the checks of feeds."""
    type = value.type
    if not isinstance(type, TensorType):
        return array
    if array.dtype == type.dtype.numpy and (type.shape is None or len(type.shape) == array.ndim):
        return array
    column = column_of(value, array, "data")
    return column.take(np.arange(len(array)))
