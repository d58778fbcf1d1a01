"""What the operands of layers are in runs with the calibration data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model, Value
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.sessions import open_session
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.quantize.weights.operands import OperandStatistics

MAX_BYTES = 1 << 28  # of the statistics of layers that are observed together, unless one layer has more
SAMPLED_ROWS = (
    64  # of the operands of a layer, by which errors are measured: products with more take most of the time
)


class OperandSums:
    """The statistics of one value, run by run.

    rows_of_run: the number of rows that are sampled of each run, evenly.
    """

    def __init__(self, rows_of_run: int, *, with_moments: bool) -> None:
        self.rows_of_run, self.with_moments = rows_of_run, with_moments
        self.rows: list[Array] = []
        self.squares: Array = np.zeros(0)
        self.moments: Array | None = None

    def add(self, operand: object) -> None:
        """operand: [..., terms]."""
        array = np.asarray(operand)
        rows = array.reshape(-1, array.shape[-1]).astype(np.float32, copy=False)
        places = np.linspace(0, len(rows), min(self.rows_of_run, len(rows)), endpoint=False).astype(np.int64)
        self.rows.append(rows[places])
        squares = np.einsum("ij,ij->j", rows, rows, dtype=np.float64)
        self.squares = squares + self.squares if self.squares.size else squares
        if self.with_moments:
            products = (rows.T @ rows).astype(np.float64)
            self.moments = products if self.moments is None else np.add(self.moments, products, self.moments)


def observe_operands(
    model: Model, layers: Sequence[WeightLayer], data: CalibrationData, *, with_moments: bool
) -> Iterator[tuple[WeightLayer, OperandStatistics | None]]:
    """Each layer, and the statistics of its operands over all runs; None for layers that multiply nothing.

    The layers are observed group by group, so that the statistics of a group fit into `MAX_BYTES`.
    """
    for group in groups_of(layers, with_moments=with_moments):
        sums = observe_group(model, group, data, with_moments=with_moments)
        for layer in group:
            parts = [sums[value.name] for value in layer.operands]
            yield layer, joined_statistics(parts) if parts else None


def observe_group(
    model: Model, group: Sequence[WeightLayer], data: CalibrationData, *, with_moments: bool
) -> dict[str, OperandSums]:
    """The sums of each operand; the session ends here, so that its memory is free for what follows."""
    names = list(dict.fromkeys(value.name for layer in group for value in layer.operands))
    rows_of_run = -(-SAMPLED_ROWS // len(data.runs))
    sums = {name: OperandSums(rows_of_run, with_moments=with_moments) for name in names}
    if names:
        with open_session(with_outputs(model, names)) as session:
            for feeds in data.runs:
                results = session.run(feeds)
                for name in names:
                    sums[name].add(results[name])
    return sums


def joined_statistics(parts: Sequence[OperandSums]) -> OperandStatistics:
    """The statistics of a layer whose weight several operands are multiplied by."""
    rows = np.concatenate([rows for part in parts for rows in part.rows])
    squares = np.sum([part.squares for part in parts], axis=0)
    moments = [part.moments for part in parts if part.moments is not None]
    return OperandStatistics(rows, squares, sum(moments[1:], moments[0]) if moments else None)


def groups_of(layers: Sequence[WeightLayer], *, with_moments: bool) -> Iterator[list[WeightLayer]]:
    """The layers in their order, in groups whose operands have few enough terms; layers may share operands."""
    group: list[WeightLayer] = []
    operands: dict[Value, int] = {}
    for layer in layers:
        size = 8 * layer.terms**2 if with_moments else 4 * SAMPLED_ROWS * layer.terms
        added = {value: size for value in layer.operands if value not in operands}
        if group and sum(operands.values()) + sum(added.values()) > MAX_BYTES:
            yield group
            group, operands, added = [], {}, dict.fromkeys(layer.operands, size)
        group.append(layer)
        operands |= added
    if group:
        yield group
