"""Conversions of BatchNormalization: what tells training from inference, and the statistics that it gives then."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.build import attribute as make_attribute
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.widening import cast

CONSUMED = [0, 0, 0, 1, 1]  # which inputs version 1 may overwrite
Values = tuple[Value | None, ...]


def asks_for_statistics(c: Change) -> bool:
    return any(c.wants(i) for i in range(1, len(c.node.outputs)))


def nodes(c: Change, inputs: Values, count: int, drop: tuple[str, ...] = (), **attributes: object) -> Values:
    """A new node in the place of the old one, whose outputs are named as far as `count`."""
    kept = {k: v for k, v in c.node.attributes.items() if k not in drop}
    kept.update({k: make_attribute(k, v) for k, v in attributes.items()})
    return c.add("BatchNormalization", inputs, kept, count)


def by_outputs(c: Change) -> Converted:
    """From version 6 to 7, which trains where outputs beside Y are asked for."""
    if c.t.integer("is_test") or asks_for_statistics(c):
        return c.same(drop=("is_test",))
    return nodes(c, c.node.inputs, 5, ("is_test",))[:1]


def by_is_test(c: Change) -> Converted:
    """From version 7 to 6."""
    return c.same(is_test=0 if asks_for_statistics(c) else 1)


def by_channel(c: Change) -> Converted:
    """From version 7 to 9, which has no `spatial`: every element of an instance becomes a channel."""
    if c.t.integer("spatial"):
        return c.same(drop=("spatial",))
    x, mean = c.input(0), c.input(3)
    vectors = [c.Reshape(c.input(i), c.integers([-1])) for i in range(1, 5)]
    count = len(c.node.outputs) if asks_for_statistics(c) else 1
    y, *statistics = nodes(c, (c.Flatten(x, axis=1), *vectors), count, ("spatial",))
    assert y is not None, "every new output is named"
    shape = c.Shape(mean)
    return [c.Reshape(y, c.Shape(x)), *(c.Reshape(s, shape) for s in statistics)]


def by_mode(c: Change) -> Converted:
    """From version 9 to 14, which does not give the batch's own statistics: they are running ones that keep nothing."""
    if not asks_for_statistics(c):
        return c.same(outputs=1)
    if not any(value.uses or value.is_graph_output for value in c.node.outputs[3:]):
        return c.same(training_mode=1, outputs=3)
    results = nodes(c, c.node.inputs, 3, training_mode=1)
    if not c.dtype(3).is_float:
        c.refuse(f"the mean is of {c.dtype(3).text}, which is no float type")
    zero = np.zeros(1, c.dtype(3).numpy)
    zeros = c.ConstantOfShape(c.Shape(c.input(3)), value=zero)
    inputs = (*c.node.inputs[:3], zeros, zeros)
    return [*results, *nodes(c, inputs, 3, momentum=0.0, training_mode=1)[1:]][: len(c.node.outputs)]


def by_outputs_again(c: Change) -> Converted:
    """From version 14 to 9, which trains where outputs beside Y are asked for, and has one element type for all."""
    is_training = bool(c.t.integer("training_mode"))
    if asks_for_statistics(c) and not is_training:
        c.refuse("outputs beside Y are asked for, which only training gives")
    wide = common_type(c, 5)
    if wide is None and not (is_training and not asks_for_statistics(c)):
        return c.same(drop=("training_mode",))
    inputs = tuple(c.node.inputs if wide is None else casts(c, range(5), wide))
    results = nodes(c, inputs, 5 if is_training else 1, ("training_mode",))
    return as_before(c, results[: len(c.node.outputs)], wide)


def in_one_type(c: Change) -> Converted:
    """From version 15 to 14, where scale and bias have the type of the data."""
    wide = common_type(c, 3)
    if wide is None:
        return c.same()
    inputs = (*casts(c, range(3), wide), *c.node.inputs[3:])
    return as_before(c, nodes(c, inputs, len(c.node.outputs)), wide)


def common_type(c: Change, count: int) -> DataType | None:
    """The type for the first `count` inputs, whose types differ or are not known there; None where they fit."""
    types = {c.dtype(i) for i in range(count)}
    if len(types) == 1 and (c.target > 13 or types != {DataType.BFLOAT16}):
        return None
    return DataType.DOUBLE if DataType.DOUBLE in {c.t.dtype(i) for i in range(5)} else DataType.FLOAT


def casts(c: Change, which: range, dtype: DataType) -> list[Value]:
    return [cast(c, c.input(i), dtype) for i in which]


def as_before(c: Change, results: Values, wide: DataType | None) -> list[Value | None]:
    """Y in the type of the data, and statistics in that of the mean."""
    types = [c.dtype(0), *[c.dtype(3)] * (len(results) - 1)]
    return [
        cast(c, value, own) if wide not in (None, own) and value is not None else value
        for value, own in zip(results, types, strict=True)
    ]
