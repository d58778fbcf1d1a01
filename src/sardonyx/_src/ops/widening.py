"""An operator's work done in a wider element type, where a version of it does not take the inputs' own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.api import ConvertFacet
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.schema import exact, lookup

# To a type that holds every number of the first one, and whose results, rounded once, are those of its kernels.
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


def widening(types: Mapping[DataType, DataType]) -> ConvertFacet:
    """The facet that keeps the node, but puts it between Casts where input 0 is of a type that is not taken there."""

    def convert(c: Change) -> Converted:
        dtype = c.t.dtype(0)
        wide = None if dtype is None or is_taken(c, dtype) else types.get(dtype)
        return c.same() if wide is None else through(c, wide)

    return convert


def is_taken(c: Change, dtype: DataType) -> bool:
    """Whether the version wanted takes an input 0 of an element type."""
    schema = lookup(c.node.domain, c.node.op_type, c.target)
    parameter = None if schema is None else schema.input(0)
    return (
        schema is not None and parameter is not None and f"tensor({dtype.text})" in schema.allowed(parameter)
    )


def through(
    c: Change,
    dtype: DataType,
    limited: Callable[[Change, Value], Value] | None = None,
) -> Converted:
    """The node between Casts: what has the element type of input 0 is computed as `dtype`.

    `limited` may change a result before it is cast back.
    """
    schema = exact(c.node.domain, c.node.op_type, c.t.version)
    assert schema is not None, f"{c.node.op_type}-{c.t.version} has no signature"
    own, parameter = c.dtype(0), schema.input(0)
    assert parameter is not None, f"{c.node.op_type} takes no input"
    inputs: list[Value | None] = []
    for i, value in enumerate(c.node.inputs):
        taken = schema.input(i)
        alike = taken is not None and taken.type == parameter.type
        inputs.append(cast(c, value, dtype) if alike and value is not None else value)
    kept = c.same(inputs)
    count = len(c.node.outputs)
    results = c.add(kept.op_type, kept.inputs, dict(kept.attributes), count, c.node.domain)
    found: list[Value] = []
    for i, result in enumerate(results):
        given = schema.output(i)
        alike = given is not None and given.type == parameter.type and c.wants(i)
        if alike and limited is not None:
            result = limited(c, result)
        found.append(cast(c, result, own) if alike else result)
    return found


def cast(c: Change, value: Value, dtype: DataType) -> Value:
    """The value as another element type; Cast names it up to operator set 5, and numbers it later."""
    return c.Cast(value, to=int(dtype) if c.imports.get("", 0) >= 6 else dtype.name)
