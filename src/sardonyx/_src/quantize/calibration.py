"""Calibration data: feeds that are like those of later runs, cut into runs that the model accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from sardonyx._src.arguments import require_mapping, require_type, texts_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Model, SequenceType, TensorType, Type
from sardonyx._src.measure.feeds import complete_feeds, ports_of
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration_columns import ColumnMap, TableSource, is_table_source, read_feeds
from sardonyx._src.runtime.session.session_values import SessionValue

# Feeds of one run, or of each of several ones; or files and tables whose columns are feeds.
CalibrationSource: TypeAlias = (
    Mapping[str, object] | TableSource | Iterable[Mapping[str, object] | TableSource]
)
Feeds: TypeAlias = Mapping[str, RuntimeValue]
ROWS = 32  # of a run, where the model leaves their number open


@dataclass(frozen=True, slots=True)
class CalibrationData:
    """The feeds of each run.

    is_random: whether no data were given, so that errors say little about real ones.
    """

    runs: tuple[Feeds, ...]
    is_random: bool


def calibration_data(
    model: Model,
    source: CalibrationSource | None,
    seed: int,
    dims: Mapping[str, int] | None,
    columns: ColumnMap | None = None,
) -> CalibrationData:
    """The feeds of each run, checked; random ones without a source.

    columns: for inputs, the columns of files and tables that feed them.
    Raises InputError for a source without feeds, and for feeds that do not fit the model.
    """
    named = checked_columns(columns)
    if source is None:
        if named:
            raise InputError("columns must be those of data; got None for data", name="columns")
        return CalibrationData((complete_feeds(model, None, seed, dims),), True)
    ports = ports_of(model)
    runs = tuple(
        complete_feeds(model, part, seed, dims)
        for feeds in given_feeds(model, source, named)
        for part in cut_rows(feeds, ports)
    )
    if not runs:
        raise InputError("data must have feeds of at least one run; got none", name="data")
    return CalibrationData(runs, False)


def checked_columns(columns: ColumnMap | None) -> ColumnMap:
    if columns is None:
        return {}
    require_mapping("columns", columns, str, (str, list, tuple), "inputs to columns, or to lists of them")
    return {
        name: listed if isinstance(listed, str) else texts_of("columns", listed)
        for name, listed in columns.items()
    }


def given_feeds(
    model: Model, source: CalibrationSource, columns: ColumnMap
) -> Iterator[Mapping[str, object]]:
    """The feeds of each part of a source."""
    if is_table_source(source) or isinstance(source, Mapping):
        parts: Iterable[object] = [source]
    else:
        require_type("data", source, Iterable, "feeds, a path, a table, or an iterable of such")
        assert isinstance(source, Iterable), "its type was checked"
        parts = source
    for part in parts:
        if is_table_source(part):
            yield read_feeds(model, part, columns)
        else:
            require_mapping("data", part, str, object, "names of inputs to values")
            assert isinstance(part, Mapping), "its type was checked"
            yield part


def cut_rows(feeds: Mapping[str, object], ports: list[SessionValue]) -> Iterator[Mapping[str, object]]:
    """Feeds of as many rows as the model takes at a time, if all inputs have rows, and equally many.

    Rows that are left over, too few for a model of a fixed number, are an error of the feeds.
    """
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    sizes = {name: first_size(port) for port in ports if (name := port.name) in arrays}
    counts = {array.shape[0] if array.ndim else None for array in arrays.values()}
    count = counts.pop() if len(counts) == 1 else None
    fixed = {size for size in sizes.values() if isinstance(size, int)}
    step = next(iter(fixed)) if len(fixed) == 1 else ROWS
    if count is None or len(fixed) > 1 or (fixed and not are_all_fixed(sizes)) or step < 1 or count <= step:
        yield feeds
        return
    for start in range(0, count, step):
        yield {name: part_of(array, start, step) for name, array in arrays.items()}


def are_all_fixed(sizes: Mapping[str, object]) -> bool:
    return all(isinstance(size, int) for size in sizes.values())


def part_of(array: Array, start: int, step: int) -> Array:
    return array[start : start + step]


def first_size(port: SessionValue) -> object:
    """The declared number of rows of an input: a number, or None if any fits."""
    first = port.shape[0] if port.shape else None
    return first if isinstance(first, int) else None


def feeds_in_types(model: Model, feeds: Feeds) -> dict[str, RuntimeValue]:
    """The feeds with floats in the element types that the inputs of a model have, which a scheme may have changed."""
    types = {value.name: value.type for value in model.graph.inputs}
    return {name: in_type(value, types.get(name)) for name, value in feeds.items()}


def in_type(value: RuntimeValue, type: Type | None) -> RuntimeValue:
    if isinstance(value, list) and isinstance(type, SequenceType):
        return [array for item in value if isinstance(array := in_type(item, type.elem), np.ndarray)]
    if isinstance(value, np.ndarray) and isinstance(type, TensorType) and type.dtype.is_float:
        return value.astype(type.dtype.numpy, copy=False)
    return value
