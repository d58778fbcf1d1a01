"""Promotion to a wider element type, for target versions of operators that do not accept the type of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.support.body_text import promoted_type
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter
from sardonyx._src.schema import exact, lookup

# Exact promotions: a result computed in the wider type and rounded once equals that of the kernel.
NARROW_FLOATS = dict.fromkeys(
    (
        DataType.FLOAT16,
        DataType.BFLOAT16,
        DataType.FLOAT8E4M3FN,
        DataType.FLOAT8E4M3FNUZ,
        DataType.FLOAT8E5M2,
        DataType.FLOAT8E5M2FNUZ,
    ),
    DataType.FLOAT,
)
SMALL_INTEGERS = {
    DataType.INT8: DataType.INT32,
    DataType.INT16: DataType.INT32,
    DataType.UINT8: DataType.UINT32,
    DataType.UINT16: DataType.UINT32,
}
INTEGERS_IN_DOUBLE = dict.fromkeys((*SMALL_INTEGERS, DataType.INT32, DataType.UINT32), DataType.DOUBLE)


def promote_input(types: Mapping[DataType, DataType]) -> ConvertFacet:
    """The facet that keeps the node, but adds Casts around it if the target version does not accept the type of input 0."""

    def convert(adapter: Adapter) -> AdaptedNode:
        dtype = adapter.inference.dtype(0)
        wide = None if dtype is None or is_accepted(adapter, dtype) else types.get(dtype)
        return adapter.same() if wide is None else compute_in(adapter, wide)

    return convert


def is_accepted(adapter: Adapter, dtype: DataType) -> bool:
    """Whether the target version accepts the element type for input 0."""
    schema = lookup(adapter.node.domain, adapter.node.op_type, adapter.target)
    parameter = None if schema is None else schema.input(0)
    return (
        schema is not None
        and parameter is not None
        and f"tensor({dtype.text})" in schema.allowed_types(parameter)
    )


def compute_in(
    adapter: Adapter,
    dtype: DataType,
    postprocess: Callable[[Adapter, Value], Value] | None = None,
) -> AdaptedNode:
    """The node with Casts around it: values of the element type of input 0 are computed as `dtype`.

    postprocess: changes a result before it is cast back
    """
    schema = exact(adapter.node.domain, adapter.node.op_type, adapter.inference.version)
    assert schema is not None, f"{adapter.node.op_type}-{adapter.inference.version} has no signature"
    own, parameter = adapter.dtype(0), schema.input(0)
    assert parameter is not None, f"{adapter.node.op_type} takes no input"
    inputs: list[Value | None] = []
    for i, value in enumerate(adapter.node.inputs):
        formal = schema.input(i)
        alike = formal is not None and formal.type == parameter.type
        inputs.append(cast(adapter, value, dtype) if alike and value is not None else value)
    node = adapter.same(inputs)
    count = len(adapter.node.outputs)
    results = adapter.add(node.op_type, node.inputs, dict(node.attributes), count, adapter.node.domain)
    outputs: list[Value] = []
    for i, result in enumerate(results):
        formal_output = schema.output(i)
        alike = formal_output is not None and formal_output.type == parameter.type and adapter.has_output(i)
        if alike and postprocess is not None:
            result = postprocess(adapter, result)
        outputs.append(cast(adapter, result, own) if alike else result)
    return outputs


def cast(adapter: Adapter, value: Value, dtype: DataType) -> Value:
    """The value cast to another element type, which Cast gives by name up to operator set 5, and later by number."""
    return adapter.Cast(value, to=int(dtype) if adapter.imports.get("", 0) >= 6 else dtype.name)


def compute_promoted(adapter: Adapter, compute: Callable[[Value], Value], i: int = 0) -> Value:
    """A result computed from input i in the promoted type of its elements, and rounded once to their own type."""
    dtype = adapter.dtype(i)
    wide = promoted_type(dtype)
    if wide is dtype:
        return compute(adapter.input(i))
    return cast(adapter, compute(cast(adapter, adapter.input(i), wide)), dtype)
