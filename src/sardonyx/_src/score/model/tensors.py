"""Tensors of record batches: the feeds of a run, without a copy if Arrow holds the elements as NumPy does.

A null is never replaced silently: it makes a bad row, unless the caller chose NaN, or a default for the column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array
from sardonyx._src.score.model.inputs import InputColumns, is_numeric
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.tables.arrow import pa, pc
from sardonyx._src.tables.bad_rows import BadRows, convert_rows, refuse_rows
from sardonyx._src.tables.encodings import is_list, is_text

ARROW_TYPES = {
    DataType.FLOAT: pa.float32(),
    DataType.DOUBLE: pa.float64(),
    DataType.FLOAT16: pa.float16(),
    DataType.INT8: pa.int8(),
    DataType.INT16: pa.int16(),
    DataType.INT32: pa.int32(),
    DataType.INT64: pa.int64(),
    DataType.UINT8: pa.uint8(),
    DataType.UINT16: pa.uint16(),
    DataType.UINT32: pa.uint32(),
    DataType.UINT64: pa.uint64(),
    DataType.BOOL: pa.bool_(),
    DataType.STRING: pa.string(),
}
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # units of timestamps in a second
MIN_ENCODED = 256  # strings of a column from which equal ones are decoded only once


def feeds_of(batch: pa.RecordBatch, plans: Sequence[InputColumns], options: ScoreOptions) -> dict[str, Array]:
    """The tensors of a batch by input.  Raises BadRows, and InputError for columns whose type does not fit."""
    return {plan.input: tensor_of(batch, plan, options) for plan in plans}


def tensor_of(batch: pa.RecordBatch, plan: InputColumns, options: ScoreOptions) -> Array:
    """[rows, columns] of packed columns, else the column as [rows], [rows, 1] or [rows, length, ...]."""
    if not plan.packed:
        (name,) = plan.columns
        return fit_rank(column_values(batch.column(name), name, plan, options), plan)
    result: Array | None = None
    for i, name in enumerate(plan.columns):
        values = column_values(batch.column(name), name, plan, options)
        if values.ndim != 1:
            raise InputError(f"column {name!r} must hold single elements to be packed; got lists", name=name)
        if result is None:
            result = np.empty((len(values), len(plan.columns)), values.dtype)
        result[:, i] = values
    assert result is not None, "an input has at least one column"
    return result


def fit_rank(values: Array, plan: InputColumns) -> Array:
    """Values with the rank of the input: numbers as [N] or [N, 1], flat lists in the shape of a row if it is known."""
    if values.ndim == 1 and plan.has_rank and len(plan.dims) == 1:
        return values[:, None]
    if values.ndim == 2 and len(plan.dims) > 1 and None not in plan.dims:
        return values.reshape(len(values), *(dim for dim in plan.dims if dim is not None))
    return values


def column_values(column: pa.Array, name: str, plan: InputColumns, options: ScoreOptions) -> Array:
    """The elements of a column: [rows], or [rows, length, ...] for lists."""
    column = plain(column)
    if is_list(column.type):
        return list_values(column, name, plan, options)
    require_type(column, name, plan.dtype)
    if is_text(element_type(column)):
        column = valid_texts(column, name)
    return convert(fill_nulls(column, name, plan.dtype, options), name, plan)


def element_type(column: pa.Array) -> pa.DataType:
    return column.type.value_type if isinstance(column, pa.DictionaryArray) else column.type


def require_type(column: pa.Array, name: str, dtype: DataType) -> None:
    """Raises InputError for a column whose elements never convert to an element type."""
    kind, types = element_type(column), pa.types
    if dtype is DataType.STRING:
        fits = is_text(kind)
    else:
        is_time = types.is_temporal(kind) and not types.is_interval(kind)
        fits = (is_numeric(kind) or is_time) and (dtype in ARROW_TYPES or dtype.is_float)
    if not fits and not types.is_null(kind):
        raise InputError(f"column {name!r} must hold {dtype.text}; got {kind}", name=name)


def valid_texts(column: pa.Array, name: str) -> pa.Array:
    """A column of strings; raises BadRows for strings that are not UTF-8, which Arrow does not check when it reads files."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        column = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
        convert_rows(column, name, lambda part: part.validate(full=True))
    return column


def plain(column: pa.Array) -> pa.Array:
    """A column without an encoding: values of dictionaries, the storage of extension types."""
    if isinstance(column, pa.DictionaryArray):
        texts = column.dictionary
        has_nulls = column.null_count or texts.null_count
        can_stay = is_text(texts.type) and not has_nulls and len(texts) <= len(column)
        return column if can_stay else column.dictionary_decode()
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def list_values(column: pa.Array, name: str, plan: InputColumns, options: ScoreOptions) -> Array:
    """Lists of one length as rows of a tensor; raises BadRows for lists of other lengths than the input's."""
    if column.null_count:
        refuse_rows(pc.is_null(column), f"column {name!r} is null")
    length = list_length(column, name, plan)
    elements = column.flatten()
    if elements.null_count and not is_list(elements.type) and not can_fill(name, plan.dtype, options):
        rows = pc.indices_nonzero(pc.is_null(elements)).to_numpy() // max(length, 1)
        raise BadRows(dict.fromkeys(rows.tolist(), f"column {name!r} has a null in its list"))
    inner = replace(plan, dims=plan.dims[1:], packed=False)
    try:
        values = column_values(elements, name, inner, options)
    except BadRows as bad:
        raise BadRows({row // length: reason for row, reason in bad.reasons.items()}) from None
    return values.reshape(len(column), length, *values.shape[1:])


def list_length(column: pa.Array, name: str, plan: InputColumns) -> int:
    """The number of elements in each list of a column: the product of the input's dims for a row if they are numbers."""
    expected = plan.dims[0] if plan.dims else None
    if None not in plan.dims and not is_list(column.type.value_type):
        expected = math.prod(dim for dim in plan.dims if dim is not None) if plan.dims else None
    if pa.types.is_fixed_size_list(column.type):
        lengths, length = None, int(column.type.list_size)
    else:
        lengths = pc.list_value_length(column)
        length = int(lengths[0].as_py()) if len(lengths) else expected or 0
    if expected is not None and expected != length:
        length = expected
        lengths = pc.list_value_length(column) if lengths is None else lengths
    if lengths is not None:
        refuse_rows(pc.not_equal(lengths, length), f"column {name!r} must have lists of {length} elements")
    return length


def can_fill(name: str, dtype: DataType, options: ScoreOptions) -> bool:
    """Whether the caller chose a replacement for the nulls of a column."""
    return name in options.defaults or (options.nulls == "nan" and dtype.is_float)


def fill_nulls(column: pa.Array, name: str, dtype: DataType, options: ScoreOptions) -> pa.Array:
    """A column with its nulls replaced by its default or NaN; raises BadRows for nulls that remain."""
    if not column.null_count and not pa.types.is_null(column.type):
        return column
    if name in options.defaults:
        kind = ARROW_TYPES.get(dtype, pa.float32()) if pa.types.is_null(column.type) else column.type
        try:
            return pc.fill_null(column.cast(kind), pa.scalar(options.defaults[name]).cast(kind))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the default of column {name!r} must be {kind}; got {options.defaults[name]!r}: {error}",
                name=name,
            ) from None
    if options.nulls == "nan" and dtype.is_float:
        kind = column.type if pa.types.is_floating(column.type) else pa.float64()
        numbers = convert_rows(column, name, lambda part: numbers_of(part, dtype).cast(kind))
        return pc.fill_null(numbers, math.nan)
    refuse_rows(pc.is_null(column), f"column {name!r} is null")
    return column  # a column without rows has no nulls


def convert(column: pa.Array, name: str, plan: InputColumns) -> Array:
    """The elements of a column without nulls, converted to the element type of an input.

    Integers must fit, and floats become integers only if they are whole; floats are rounded to the precision of the input.
    Timestamps are integers in their own unit, or floats in seconds, since 1970.
    """
    dtype = plan.dtype
    target = ARROW_TYPES.get(dtype)
    if dtype is DataType.STRING:
        return strings_of(column) if plan.vocabulary is None else codes_of(column, plan.vocabulary)
    if column.type == target and not pa.types.is_boolean(column.type):
        values: Array = column.to_numpy(zero_copy_only=False)
        return values

    def cast(part: pa.Array) -> pa.Array:
        numbers = numbers_of(part, dtype)
        rounds = pa.types.is_integer(numbers.type) and dtype.is_float
        return numbers.cast(target or pa.float32(), safe=not rounds)

    try:
        numbers = convert_rows(column, name, cast)
    except pa.ArrowNotImplementedError:
        raise InputError(f"column {name!r} must hold {dtype.text}; got {column.type}", name=name) from None
    values = numbers.to_numpy(zero_copy_only=False)
    return values if target is not None else values.astype(dtype.numpy)


def numbers_of(column: pa.Array, dtype: DataType) -> pa.Array:
    """A column of dates, times and truth values as integers or, for inputs of floats, seconds."""
    types, kind = pa.types, column.type
    if types.is_boolean(kind):
        return column.cast(pa.uint8())
    if types.is_date(kind):
        days = column.cast(pa.date32())
        column = days.cast(pa.timestamp("s")) if dtype.is_float else days.cast(pa.int32())
    if not types.is_temporal(column.type):
        return column
    counts = column.view(pa.int64()) if column.type.bit_width == 64 else column.view(pa.int32())
    if not dtype.is_float:
        return counts
    return pc.divide(counts.cast(pa.float64(), safe=False), float(UNITS[column.type.unit]))


def strings_of(column: pa.Array) -> Array:
    """Strings as an object array, in which equal strings of long columns are one object."""
    if len(column) >= MIN_ENCODED and not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    if not isinstance(column, pa.DictionaryArray):
        return object_array(column.to_pylist())
    indices: Array = column.indices.to_numpy(zero_copy_only=False)
    return object_array(column.dictionary.to_pylist()).take(indices)


def codes_of(column: pa.Array, vocabulary: pa.Array) -> Array:
    """The index of each string in a vocabulary, int64; for other strings the length of the vocabulary."""
    texts = column.dictionary if isinstance(column, pa.DictionaryArray) else column
    places = pc.index_in(texts.cast(pa.string()), value_set=vocabulary)
    codes: Array = pc.fill_null(places, len(vocabulary)).to_numpy(zero_copy_only=False).astype(np.int64)
    if isinstance(column, pa.DictionaryArray):
        codes = codes.take(column.indices.to_numpy(zero_copy_only=False))
    return codes


def object_array(values: Sequence[object]) -> Array:
    result: Array = np.empty(len(values), object)
    result[:] = values
    return result
