"""Values whose length a step counts: results of native steps with one data-dependent size.

The step writes its result into a buffer with room for the longest one, and the number of its elements as an int64.
The action `BindSizes` then binds the size to that number, and a copy takes the result out of the buffer.  In a
subgraph, a step binds the size instead (`program.encoding.local_sizes`), which requires an upper limit.
"""

from __future__ import annotations

from sardonyx._src.compile.partition import Scope
from sardonyx._src.compile.program import TensorView
from sardonyx._src.compile.program.steps.program import BindSizes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class CountedValue:
    """A value with the axis whose length a step counts, and the symbol of that length."""

    value: Value
    axis: int
    symbol: str


def counted_value(scope: Scope, value: Value) -> CountedValue | None:
    """The value with its only data-dependent length, which a run binds; None if it has none or several."""
    axes, shape = scope.data_dependent_axes(value), scope.shape(value)
    if shape is None or len(axes) != 1:
        return None
    ((axis, symbol),) = axes.items()
    return CountedValue(value, axis, symbol)


def bind_count(counted: CountedValue, rank: int, count: TensorView, limit: Known | None = None) -> BindSizes:
    """The action that binds the length of a value to `count`, one int64 that is at most `limit`."""
    return BindSizes(counted.value, rank, {counted.axis: counted.symbol}, count, limit)
