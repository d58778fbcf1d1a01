"""Options of scoring: what decides the results, apart from the model and the rows."""

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
    """How columns become feeds, and results columns.

    columns: of each input, the column that feeds it, or those that become one matrix; the others are fed by their names.
    outputs: those to compute, None for all.  keep: columns of the table that the result has, too.  vectors: whether several
    elements a row become one column of lists or a column each.  nulls: whether a null makes its row a bad row, or becomes NaN
    in inputs of floats.  defaults: what nulls of a column become instead.
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
