"""What the operands of layers are in runs with the calibration data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sardonyx._src.ir import Array, Model
from sardonyx._src.measure.compare.engines import with_outputs
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.weights.layers import WeightLayer
from sardonyx._src.runtime.session.session import Session

MAX_BYTES = 1 << 30  # of the moments of layers that are observed together


def observe_moments(
    model: Model, layers: Sequence[WeightLayer], data: CalibrationData
) -> Iterator[tuple[WeightLayer, Array]]:
    """Each layer, and the sums of products of the columns of its operands over all runs: float64 [terms, terms].

    The layers are observed group by group, so that the moments of a group fit into `MAX_BYTES`.
    """
    for group in groups_of(layers):
        names = list(dict.fromkeys(value.name for layer in group for value in layer.operands))
        session = Session(with_outputs(model, names), shapes="off", seed=0)
        moments = {name: np.zeros((0, 0)) for name in names}
        for feeds in data.runs:
            results = session.run(feeds)
            for name in names:
                moments[name] = added_moments(moments[name], results[name])
        for layer in group:
            yield (
                layer,
                sum((moments[value.name] for value in layer.operands[1:]), moments[layer.operands[0].name]),
            )


def groups_of(layers: Sequence[WeightLayer]) -> Iterator[list[WeightLayer]]:
    group: list[WeightLayer] = []
    for layer in layers:
        if group and sum(8 * item.terms**2 for item in (*group, layer)) > MAX_BYTES:
            yield group
            group = []
        group.append(layer)
    if group:
        yield group


def added_moments(moments: Array, operand: object) -> Array:
    """The moments with those of one run.  operand: [..., terms]."""
    array = np.asarray(operand)
    rows = array.reshape(-1, array.shape[-1]).astype(np.float32, copy=False)
    product = (rows.T @ rows).astype(np.float64)
    return product if not moments.size else moments + product
