"""Training data: arrays with one entry for each example, by the names of the inputs that they feed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.arguments import require_path, require_type
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, TensorType, Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.types import shape_text
from sardonyx._src.suggestions import suggest
from sardonyx._src.tables.columns import read_columns
from sardonyx._src.train.fit.data_digest import digest_of_rows
from sardonyx._src.train.losses.base import Labels
from sardonyx._src.train.prepare.targets import check_labels

DataSource = Mapping[str, object] | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one input for all examples: [examples, ...], of a type that converts to `dtype`.

    shape: the shape of one example as the input receives it.
    """

    values: Array
    dtype: DataType
    shape: tuple[int, ...]

    def take(self, rows: Array) -> Array:
        """The values of the examples at `rows`: [len(rows), ...] of the input's element type."""
        chosen = np.asarray(self.values[rows]).reshape(len(rows), *self.shape)
        return chosen.astype(self.dtype.numpy, copy=False)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Columns by the name of the input, all of one length."""

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).values)

    def take(self, rows: Array) -> dict[str, Array]:
        """The feeds of the examples at `rows`, by input name."""
        return {name: column.take(rows) for name, column in self.columns.items()}

    def select(self, rows: Array) -> Dataset:
        """A dataset of only the examples at `rows`."""
        chosen = {n: Column(c.values[rows], c.dtype, c.shape) for n, c in self.columns.items()}
        return Dataset(chosen)

    def non_finite(self, rows: Array) -> str:
        """A phrase that names the first input and example with an infinity or NaN; empty if there is none."""
        for name, column in self.columns.items():
            values = column.take(rows)
            if column.dtype.is_float and not (is_finite := np.isfinite(values)).all():
                place = tuple(int(i) for i in np.argwhere(~is_finite)[0])
                return f"input {name!r} is {values[place]} in example {int(rows[place[0]])}"
        return ""

    def description(self) -> dict[str, str]:
        """The type, the sizes and a digest of each column, by which a resumed run recognizes its data."""
        return {
            name: f"{column.values.dtype}{list(column.values.shape)} {digest_of_rows(column.values)}"
            for name, column in self.columns.items()
        }


def open_dataset(
    source: DataSource, inputs: Sequence[Value], labels: Mapping[str, Labels], what: str = "data"
) -> Dataset:
    """The examples of a source for the inputs of a training step.

    source: arrays by input name, or a path as for `read_columns`; columns of other names are not used.
    labels: the integers that targets allow, by input name.
    what: the name of the source in messages.
    Raises InputError for a missing column, for one of another length, type or size than its input, for a label out of
    range, and for data without examples.
    """
    if isinstance(source, str | os.PathLike):
        require_path(what, source)
    arrays = (
        read_columns(os.fspath(source)) if isinstance(source, str | os.PathLike) else arrays_of(source, what)
    )
    columns: dict[str, Column] = {}
    for value in inputs:
        if value.name not in arrays:
            if value.initializer is not None:
                continue
            hint = suggest(value.name, sorted(arrays), "columns")
            raise InputError(f"{what} must have a column for input {value.name!r}{hint}", name=value.name)
        columns[value.name] = column_of(value, arrays[value.name], what)
    if not columns:
        raise InputError("the training step must have inputs to feed; it has none", name=what)
    lengths = {name: len(column.values) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise InputError(f"{what} must have one length; got {listed}", name=what)
    result = Dataset(columns)
    if not len(result):
        raise InputError(f"{what} must have at least one example; got 0", name=what)
    for name, known in labels.items():
        if name in columns:
            check_labels(name, columns[name].values, known, what)
    return result


def arrays_of(source: object, what: str) -> dict[str, Array]:
    """The arrays of a mapping; raises TypeError for anything else."""
    require_type(what, source, Mapping, "arrays by name, or a path")
    assert isinstance(source, Mapping), "the type was checked"
    return {str(name): array_of(str(name), values, what) for name, values in source.items()}


def array_of(name: str, values: object, what: str) -> Array:
    """A column as an array; raises InputError for rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"column {name!r} of {what} must have rows of one shape: {error}", name=name
        ) from None


def column_of(value: Value, array: Array, what: str) -> Column:
    """The column of an input; raises InputError unless its type converts and its sizes are the declared ones."""
    if not isinstance(value.type, TensorType):
        raise InputError(f"input {value.name!r} must be a tensor to be trained on", name=value.name)
    dtype, shape = value.type.dtype, value.type.shape
    if not converts(array.dtype, dtype):
        raise InputError(
            f"column {value.name!r} of {what} must be {dtype.text}; got {array.dtype}", name=value.name
        )
    if array.ndim < 1 or (shape is not None and not shape):
        raise InputError(
            f"column {value.name!r} of {what} must have an axis of examples; got shape {list(array.shape)}",
            name=value.name,
        )
    check_range(value.name, array, dtype, what)
    own = example_shape(array.shape[1:], None if shape is None else shape[1:])
    if own is None:
        assert shape is not None, "an unknown shape allows every other"
        raise InputError(
            f"column {value.name!r} of {what} must have the shape {shape_text(shape)}; got {list(array.shape)}",
            name=value.name,
        )
    return Column(array, dtype, own)


def check_range(name: str, array: Array, dtype: DataType, what: str) -> None:
    """Raises InputError for an integer that the integer type of an input does not hold."""
    if array.dtype.kind not in "iu" or dtype.is_float or array.dtype == dtype.numpy or not array.size:
        return
    for extreme in (array.min(), array.max()):
        if int(extreme.astype(dtype.numpy)) != int(extreme):
            raise InputError(f"column {name!r} of {what} must be {dtype.text}; got {extreme}", name=name)


def converts(source: np.dtype[np.generic], target: DataType) -> bool:
    """Whether values of a NumPy type convert to an element type.

    Equal types do, floats and integers to floats, integers to integers, and NumPy's strings to strings.
    """
    if source == target.numpy:
        return True
    if target is DataType.STRING:
        return source.kind == "U"
    if target.is_float:
        return source.kind in "fiub" or DataType.of(source).is_float
    return source.kind in "iub" and np.dtype(target.numpy).kind in "iu"


def example_shape(actual: tuple[int, ...], declared: tuple[Dim, ...] | None) -> tuple[int, ...] | None:
    """The shape that an example gets: its own, or the declared one if that has as many elements; None if neither fits."""
    if declared is None:
        return actual
    if len(actual) == len(declared):
        matches = all(not isinstance(d, int) or d == n for n, d in zip(actual, declared, strict=True))
        if matches:
            return actual
    fixed = tuple(d for d in declared if isinstance(d, int))
    if len(fixed) == len(declared) and np.prod(actual, dtype=np.int64) == np.prod(fixed, dtype=np.int64):
        return fixed
    return None
