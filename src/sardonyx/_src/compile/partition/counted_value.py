"""Values whose length a step counts: results of native steps with one data-dependent size.

The step writes into a buffer that has room for the longest result, and the number of what it has written.  The action
`BindSizes` then binds the size to that number, and a copy takes the result out of the buffer.  In a subgraph, a step binds it
(`program.local_sizes`), which requires a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.program.program import BindSizes
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value whose length along an axis is a number that a step counts: the symbol of that length."""

    value: Value
    axis: int
    symbol: str


def counted_value(scope: Scope, value: Value) -> CountedValue | None:
    """The value, if one of its lengths depends on data and a run binds it."""
    axes, shape = scope.data_dependent_axes(value), scope.shape(value)
    if shape is None or len(axes) != 1:
        return None
    ((axis, symbol),) = axes.items()
    return CountedValue(value, axis, symbol)


def bind_count(counted: CountedValue, rank: int, count: TensorView, limit: Known | None = None) -> BindSizes:
    """The action that binds the length of a value to a number, one int64, which is at most `limit`."""
    return BindSizes(counted.value, rank, {counted.axis: counted.symbol}, count, limit)
