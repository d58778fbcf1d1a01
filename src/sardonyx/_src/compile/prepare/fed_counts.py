"""Fed counts: sizes that callers feed as the element of an input, such as the number of all tokens of a cache.

An operator says which of its inputs are counts (the trait `counts`).  Where such an input is one number that callers feed, its
element is a symbol like the length of an axis: sizes that depend on it are known before a run, and no node has to be executed
to know them.  A symbol is at least 0, which every run checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sardonyx._src.compile.program.steps.program import COUNT_AXIS
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Array, Model, TensorType, Value
from sardonyx._src.ir.dims import Known, symbol
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.registry import find

COUNT_TYPES = (DataType.INT32, DataType.INT64)
SAME_ELEMENT = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"})  # of one number


def name_counts(model: Model, sizes: dict[str, tuple[str, int]]) -> None:
    """Adds a symbol to `sizes` for each input that is a count."""
    for value in count_inputs(model):
        if (value.name, COUNT_AXIS) not in sizes.values():
            name = value.name
            while name in sizes:
                name += "'"
            sizes[name] = (value.name, COUNT_AXIS)


def count_inputs(model: Model) -> Iterator[Value]:
    """The inputs of the model that an operator reads as a count, as often as it does."""
    inputs = frozenset(model.graph.inputs)
    for node in nodes(model.graph):
        op = find(node.domain, node.op_type)
        for i in () if op is None else op.counts:
            value = node.inputs[i] if i < len(node.inputs) else None
            source = None if value is None else source_of(value)
            if source in inputs and source is not None and is_count(source):
                yield source


def source_of(value: Value) -> Value:
    """The value whose element a value of one element is."""
    producer = value.producer
    while producer is not None and producer.op_type in SAME_ELEMENT and producer.inputs[0] is not None:
        value = producer.inputs[0]
        producer = value.producer
    return value


def is_count(value: Value) -> bool:
    """Whether an input is one integer."""
    type_ = value.type
    return isinstance(type_, TensorType) and type_.dtype in COUNT_TYPES and type_.shape in ((), (1,))


def put_counts(
    model: Model,
    facts: IncrementalInference,
    sizes: Mapping[str, tuple[str, int]],
    required: Mapping[str, Known],
) -> None:
    """Makes the counts known to inference.  required: what sizes must be, by name."""
    inputs = {value.name: value for value in model.graph.inputs}
    for name, (of, axis) in sizes.items():
        type_ = inputs[of].type
        if axis == COUNT_AXIS and isinstance(type_, TensorType):
            element: Array = np.empty((1,) if type_.shape else (), np.object_)
            element[...] = required.get(name, symbol(name))
            facts.put(inputs[of], element)
