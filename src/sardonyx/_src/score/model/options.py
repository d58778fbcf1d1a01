"""Options of scoring: the settings on which the results depend, besides the model and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeAlias

ColumnMap: TypeAlias = Mapping[str, str | Sequence[str]]
Default: TypeAlias = int | float | str | bool
Nulls: TypeAlias = Literal["raise", "nan"]
Vectors: TypeAlias = Literal["lists", "columns"]
NULLS: tuple[Nulls, ...] = ("raise", "nan")
VECTORS: tuple[Vectors, ...] = ("lists", "columns")


@dataclass(frozen=True)
class ScoreOptions:
    """How columns become feeds, and how results become columns.

    columns: the column that feeds an input, or the columns that become one matrix for it; other inputs are fed by the column of
        their name.
    outputs: the outputs to compute, None for all.
    keep: columns of the table that become columns of the result, too.
    vectors: whether several elements in a row become one column of lists, or a column each.
    nulls: whether a null makes its row a bad row, or becomes NaN in inputs of floats.
    defaults: the value that replaces the nulls of a column.
    """

    columns: ColumnMap = field(default_factory=dict)
    outputs: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    vectors: Vectors = "lists"
    nulls: Nulls = "raise"
    defaults: Mapping[str, Default] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The options as numbers, strings, lists and dicts."""
        return asdict(self)
