"""Encodings of columns that scoring decodes: runs of equal elements, and views of lists, strings and bytes."""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import pa, pc


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """A schema without encodings; raises InputError for names that are not UTF-8."""
    try:
        _ = (
            schema.names,
            [str(field.type) for field in schema],
        )  # decodes the names of columns, and of fields of structs
        return pa.schema([field.with_type(plain_type(field.type)) for field in schema], schema.metadata)
    except UnicodeDecodeError as error:
        raise InputError(
            f"names of columns must be UTF-8; got {error.object!r}: rename the column in the source",
            name="source",
        ) from None


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column without its encoding; dictionaries stay, since they store equal strings once."""
    types = pa.types
    if types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return pa.string() if types.is_string_view(kind) else pa.binary()
    if types.is_dictionary(kind):
        value = plain_type(kind.value_type)
        return value if types.is_null(value) else pa.dictionary(kind.index_type, value, kind.ordered)
    if not is_list(kind):
        return kind
    field = kind.value_field.with_type(plain_type(kind.value_type))
    if types.is_large_list(kind) or types.is_large_list_view(kind):
        return pa.large_list(field)
    return kind if types.is_fixed_size_list(kind) and field.type == kind.value_type else pa.list_(field)


def is_list(kind: pa.DataType) -> bool:
    """Whether elements are lists, of any encoding."""
    types = pa.types
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in (*lists, types.is_list_view, types.is_large_list_view))


def is_text(type: pa.DataType) -> bool:
    types = pa.types
    return any(is_kind(type) for is_kind in (types.is_string, types.is_large_string))


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without encodings; the same one if it has none."""
    if all(plain_type(field.type) == field.type for field in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays(list(map(plain_column, batch.columns)), batch.schema.names)


def plain_column(column: pa.Array) -> pa.Array:
    """A column without its encoding."""
    kind, plain = column.type, plain_type(column.type)
    if kind == plain:
        return column
    if isinstance(column, pa.RunEndEncodedArray):
        ends = np.clip(column.run_ends.to_numpy() - column.offset, 0, len(column))
        runs = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        return plain_column(column.values).take(pa.array(runs))
    if is_list(kind):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        ends = np.concatenate([[0], np.cumsum(lengths)])
        make = pa.LargeListArray if pa.types.is_large_list(plain) else pa.ListArray
        offsets = pa.array(ends, pa.int64() if make is pa.LargeListArray else pa.int32())
        mask = column.is_null() if column.null_count else None
        return make.from_arrays(offsets, plain_column(column.flatten()), type=plain, mask=mask)
    if isinstance(column, pa.DictionaryArray) and pa.types.is_dictionary(plain):
        return pa.DictionaryArray.from_arrays(column.indices, plain_column(column.dictionary))
    return pa.nulls(len(column)) if pa.types.is_null(plain) else column.cast(plain)


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch of a schema without rows."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def python_values(column: pa.Array) -> list[object]:
    """The elements as Python objects; as text if Python has no value for them.

    These are dates outside of Python's range, times with nanoseconds, and strings that are not UTF-8.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [python_value(column[i]) for i in range(len(column))]


def python_value(element: pa.Scalar) -> object:
    """An element as a Python object, or as text."""
    if isinstance(element, pa.DictionaryScalar):
        element = element.value
    if isinstance(element, pa.ListScalar) and element.is_valid:
        return python_values(element.values)
    try:
        return element.as_py()
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")
    except (ValueError, OverflowError):
        return element.cast(pa.string()).as_py()


def dense_frame(frame: object) -> object:
    """A data frame of pandas whose sparse columns, which Arrow does not read, are plain ones; other tables as they are."""
    types = getattr(frame, "dtypes", None)
    if types is None or not hasattr(types, "items"):
        return frame
    # Only the types of sparse columns have both attributes.
    sparse = {
        name: t.subtype for name, t in types.items() if hasattr(t, "fill_value") and hasattr(t, "subtype")
    }
    return frame.astype(sparse) if sparse else frame  # type: ignore[attr-defined]  # a method of pandas
