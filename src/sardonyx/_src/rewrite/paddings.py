"""What a Pad puts around a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.ir.graph import Node
from sardonyx._src.rewrite.edit import Edit


@dataclass(frozen=True, slots=True)
class Padding:
    """A number around a tensor: how often before every axis, and then behind every axis."""

    counts: Sequence[int]
    number: float


def padding_of(pad: Node, edit: Edit) -> Padding | None:
    """The border that a Pad adds; None where it does anything else, or is not known."""
    attributes, rank = edit.attributes(pad), edit.rank(pad.inputs[0])
    if attributes["mode"] != "constant" or rank is None:
        return None
    if edit.version(pad) < 11:
        found, number = attributes["pads"], attributes["value"]
        counts = list(found) if isinstance(found, tuple) else None
    else:
        value = pad.inputs[2] if len(pad.inputs) > 2 else None
        counts, number = counts_of_inputs(pad, rank, edit), 0.0 if value is None else edit.scalar(value)
    if counts is None or len(counts) != 2 * rank or any(n < 0 for n in counts):
        return None
    return Padding(counts, number) if isinstance(number, float) else None


def counts_of_inputs(pad: Node, rank: int, edit: Edit) -> list[int] | None:
    known = edit.constant(pad.inputs[1])
    if known is None:
        return None
    counts = [int(n) for n in known.reshape(-1)]
    axes = pad.inputs[3] if len(pad.inputs) > 3 else None
    if axes is None:
        return counts
    chosen = edit.constant(axes)
    if chosen is None or len(counts) != 2 * chosen.size:
        return None
    result = np.zeros((2, rank), np.int64)
    result[:, chosen.reshape(-1)] = np.reshape(counts, (2, -1))
    return [int(n) for n in result.reshape(-1)]
