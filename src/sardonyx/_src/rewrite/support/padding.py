"""Constant padding of Pad nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit


@dataclass(frozen=True, slots=True)
class Padding:
    """Constant padding: counts before each axis, then counts after each axis."""

    counts: Sequence[int]
    number: float


def padding_of(pad: Node, edit: Edit) -> Padding | None:
    """The constant padding of a Pad; None for other modes, negative counts or unknown inputs."""
    attributes, rank = edit.attributes(pad), edit.rank(pad.inputs[0])
    if attributes["mode"] != "constant" or rank is None:
        return None
    if edit.version(pad) < 11:
        pads, number = attributes["pads"], attributes["value"]
        counts = list(pads) if isinstance(pads, tuple) else None
    else:
        value = pad.inputs[2] if len(pad.inputs) > 2 else None
        counts, number = counts_from_inputs(pad, rank, edit), 0.0 if value is None else edit.scalar(value)
    if counts is None or len(counts) != 2 * rank or any(n < 0 for n in counts):
        return None
    return Padding(counts, number) if isinstance(number, float) else None


def counts_from_inputs(pad: Node, rank: int, edit: Edit) -> list[int] | None:
    data = edit.constant(pad.inputs[1])
    if data is None:
        return None
    counts = [int(n) for n in data.reshape(-1)]
    axes = pad.inputs[3] if len(pad.inputs) > 3 else None
    if axes is None:
        return counts
    axis_data = edit.constant(axes)
    if axis_data is None or len(counts) != 2 * axis_data.size:
        return None
    result = np.zeros((2, rank), np.int64)
    result[:, axis_data.reshape(-1)] = np.reshape(counts, (2, -1))
    return [int(n) for n in result.reshape(-1)]
