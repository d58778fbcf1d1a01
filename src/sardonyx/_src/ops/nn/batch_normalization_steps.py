"""Version adapters of BatchNormalization: how a version selects training, and which statistics it then outputs."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.build import attribute as make_attribute
from sardonyx._src.ops.support.promotion import cast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

CONSUMED_INPUTS = [0, 0, 0, 1, 1]  # which inputs version 1 may overwrite
Values = tuple[Value | None, ...]


def has_statistics_outputs(adapter: Adapter) -> bool:
    return any(adapter.has_output(i) for i in range(1, len(adapter.node.outputs)))


def add_node(
    adapter: Adapter, inputs: Values, count: int, drop: tuple[str, ...] = (), **attributes: object
) -> Values:
    """A new node with the attributes of the old one, without `drop`, and `count` outputs."""
    new_attributes = {k: v for k, v in adapter.node.attributes.items() if k not in drop}
    new_attributes.update({k: make_attribute(k, v) for k, v in attributes.items()})
    return adapter.add("BatchNormalization", inputs, new_attributes, count)


def remove_is_test(adapter: Adapter) -> AdaptedNode:
    """From version 6 to 7, which trains when outputs besides Y are requested."""
    if adapter.inference.integer("is_test") and has_statistics_outputs(adapter):
        adapter.refuse("outputs besides Y must not be requested in inference: only training gives them")
    if adapter.inference.integer("is_test") or has_statistics_outputs(adapter):
        return adapter.same(drop=("is_test",))
    return add_node(adapter, adapter.node.inputs, 5, ("is_test",))[:1]


def add_is_test(adapter: Adapter) -> AdaptedNode:
    """From version 7 to 6."""
    return adapter.same(is_test=0 if has_statistics_outputs(adapter) else 1)


def remove_spatial(adapter: Adapter) -> AdaptedNode:
    """From version 7 to 9, which has no `spatial`: every element of an instance becomes a channel."""
    if adapter.inference.integer("spatial"):
        return adapter.same(drop=("spatial",))
    x, mean = adapter.input(0), adapter.input(3)
    vectors = [adapter.Reshape(adapter.input(i), adapter.integers([-1])) for i in range(1, 5)]
    count = len(adapter.node.outputs) if has_statistics_outputs(adapter) else 1
    y, *statistics = add_node(adapter, (adapter.Flatten(x, axis=1), *vectors), count, ("spatial",))
    assert y is not None, "add_node names every output"
    shape = adapter.Shape(mean)
    return [adapter.Reshape(y, adapter.Shape(x)), *(adapter.Reshape(s, shape) for s in statistics)]


def add_training_mode(adapter: Adapter) -> AdaptedNode:
    """From version 9 to 14, which does not output the batch's own statistics.

    They are computed by a second node with momentum 0, whose running statistics are those of the batch.
    """
    if not has_statistics_outputs(adapter):
        return adapter.same(outputs=1)
    if not any(value.uses or value.is_graph_output for value in adapter.node.outputs[3:]):
        return adapter.same(training_mode=1, outputs=3)
    results = add_node(adapter, adapter.node.inputs, 3, training_mode=1)
    if not adapter.dtype(3).is_float:
        adapter.refuse(f"the mean must have a float type; got {adapter.dtype(3).text}")
    zero = np.zeros(1, adapter.dtype(3).numpy)
    zeros = adapter.ConstantOfShape(adapter.Shape(adapter.input(3)), value=zero)
    inputs = (*adapter.node.inputs[:3], zeros, zeros)
    return [*results, *add_node(adapter, inputs, 3, momentum=0.0, training_mode=1)[1:]][
        : len(adapter.node.outputs)
    ]


def remove_training_mode(adapter: Adapter) -> AdaptedNode:
    """From version 14 to 9, which trains when outputs besides Y are requested and has one element type for all."""
    is_training = bool(adapter.inference.integer("training_mode"))
    if has_statistics_outputs(adapter) and not is_training:
        adapter.refuse("outputs besides Y must not be requested in inference: only training gives them")
    wide = common_type(adapter, 5)
    if wide is None and not (is_training and not has_statistics_outputs(adapter)):
        return adapter.same(drop=("training_mode",))
    inputs = tuple(adapter.node.inputs if wide is None else cast_inputs(adapter, range(5), wide))
    results = add_node(adapter, inputs, 5 if is_training else 1, ("training_mode",))
    return restore_types(adapter, results[: len(adapter.node.outputs)], wide)


def unify_parameter_types(adapter: Adapter) -> AdaptedNode:
    """From version 15 to 14, where scale and bias have the type of the data."""
    wide = common_type(adapter, 3)
    if wide is None:
        return adapter.same()
    inputs = (*cast_inputs(adapter, range(3), wide), *adapter.node.inputs[3:])
    return restore_types(adapter, add_node(adapter, inputs, len(adapter.node.outputs)), wide)


def common_type(adapter: Adapter, count: int) -> DataType | None:
    """The type to cast the first `count` inputs to; None if they have one type that the target version supports.

    Versions up to 13 lack bfloat16.
    """
    types = {adapter.dtype(i) for i in range(count)}
    if len(types) == 1 and (adapter.target > 13 or types != {DataType.BFLOAT16}):
        return None
    return (
        DataType.DOUBLE
        if DataType.DOUBLE in {adapter.inference.dtype(i) for i in range(5)}
        else DataType.FLOAT
    )


def cast_inputs(adapter: Adapter, which: range, dtype: DataType) -> list[Value]:
    return [cast(adapter, adapter.input(i), dtype) for i in which]


def restore_types(adapter: Adapter, results: Values, wide: DataType | None) -> list[Value | None]:
    """The results, cast from `wide`: Y to the type of the data, the statistics to the type of the mean."""
    types = [adapter.dtype(0), *[adapter.dtype(3)] * (len(results) - 1)]
    return [
        cast(adapter, value, own) if wide not in (None, own) and value is not None else value
        for value, own in zip(results, types, strict=True)
    ]
