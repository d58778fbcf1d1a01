"""Tables as feeds: each column of a data frame is fed to the input of its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeGuard

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.runtime.declarations.declared_sizes import Declaration
from sardonyx._src.suggestions import suggest


class FeedColumn(Protocol):
    """A column of a data frame."""

    def to_numpy(self) -> Array:
        """The column's values."""
        ...


class FeedTable(Protocol):
    """The common interface of data frames of pandas and polars, and of tables of pyarrow."""

    def __getitem__(self, label: object) -> FeedColumn:
        """The column with a label."""
        ...


def is_table(value: object) -> TypeGuard[FeedTable]:
    """Whether a value has named columns: it is a data frame of pandas or polars, or a table of pyarrow."""
    return (
        not isinstance(value, Mapping) and column_labels(value) is not None and hasattr(value, "__getitem__")
    )


def column_labels(value: object) -> list[object] | None:
    """The labels of a table's columns, which in pandas need not be strings; None for anything else."""
    labels = getattr(value, "column_names", None)  # pyarrow; the others have `columns`
    labels = getattr(value, "columns", None) if labels is None else labels
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        return None
    return list(labels)


def feeds_of_table(table: FeedTable, inputs: Mapping[str, Declaration]) -> dict[str, object]:
    """A feed for each input that the table has a column for.

    A column of N values is fed as [N], or as [N, 1] if the input has two axes, as in models of scikit-learn.  Columns without
    an input are not read.  A label that is no string is matched by its text.  Raises InputError if an input without default has no column, or if an input has several.
    """
    labels = column_labels(table) or []
    names = list(map(str, labels))
    feeds: dict[str, object] = {}
    for name, declaration in inputs.items():
        if names.count(name) > 1:
            raise InputError(f"the table must have one column {name!r}; got {names.count(name)}", name=name)
        if name in names:
            feeds[name] = fit_rank(values_of(table[labels[names.index(name)]]), declaration)
        elif declaration.value.initializer is None:
            raise InputError(f"the table has no column {name!r}{suggest(name, names, 'columns')}", name=name)
    return feeds


def values_of(column: FeedColumn) -> Array:
    return np.asarray(column.to_numpy())


def fit_rank(values: Array, declaration: Declaration) -> Array:
    """The values of a column, [N], or [N, 1] if the input has two axes."""
    type = declaration.value.type
    is_matrix = isinstance(type, TensorType) and type.shape is not None and len(type.shape) == 2
    return values[:, None] if is_matrix and values.ndim == 1 else values
