"""A node, and the values that it is given, held against the signature of its operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir.graph import Node
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.schema import OpSchema, Parameter

MOST_TYPES = 6  # named in a message


def refuse_counts(node: Node, schema: OpSchema) -> None:
    """Raises InvalidModel for inputs or outputs that the operator does not have, and for inputs that it must have."""
    name, inputs = f"{node.op_type}-{schema.since_version}", trimmed(node)
    for i, parameter in enumerate(schema.inputs):
        if parameter.option == "single" and (i >= len(inputs) or not inputs[i]):
            raise InvalidModel(
                f"input {i} {parameter.name!r} is required and missing", location=location(node)
            )
        if parameter.option == "variadic" and max(len(inputs) - i, 0) < parameter.min_arity:
            what = f"{name} takes at least {i + parameter.min_arity} inputs, {len(inputs)} are given"
            raise InvalidModel(what, location=location(node))
    if schema.max_inputs is not None and len(inputs) > schema.max_inputs:
        what = f"{name} takes at most {schema.max_inputs} inputs, {len(inputs)} are given"
        raise InvalidModel(what, location=location(node))
    wanted = max((i + 1 for i, value in enumerate(node.outputs) if value.name), default=0)
    if schema.max_outputs is not None and wanted > schema.max_outputs:
        what = f"{name} has at most {schema.max_outputs} outputs, {wanted} are asked for"
        raise InvalidModel(what, location=location(node))


def trimmed(node: Node) -> list[bool]:
    """For each input whether it is given; one left out at the end is the same as one that is not there."""
    given = [value is not None for value in node.inputs]
    while given and not given[-1]:
        given.pop()
    return given


def takes_containers(schema: OpSchema) -> bool:
    """Whether an input must be a sequence or a map: Python would count the rows of a tensor as elements of one."""
    return any(all(t.startswith(("seq(", "map(")) for t in schema.allowed(p)) for p in schema.inputs)


def misfit(schema: OpSchema, inputs: Sequence[RuntimeValue]) -> str:
    """Which value is of a kind or element type that the operator does not take; "" when all are."""
    for i, value in enumerate(inputs):
        parameter = schema.input(i)
        if parameter is not None and not fits(value, parameter, schema.allowed(parameter)):
            types = schema.allowed(parameter)
            wanted = ", ".join(types[:MOST_TYPES]) + (", ..." if len(types) > MOST_TYPES else "")
            return f"input {i} {parameter.name!r} is {kind_of(value)}, where {wanted} is wanted"
    return ""


def fits(value: RuntimeValue, parameter: Parameter, types: Sequence[str]) -> bool:
    if value is None:
        return parameter.option == "optional" or any(t.startswith("optional(") for t in types)
    kind = kind_of(value)
    # Of lists and maps the kind is told alone: an empty one has no element type.
    return any(t.removeprefix("optional(").startswith(kind) for t in types)


def kind_of(value: RuntimeValue) -> str:
    """The type as signatures write it: `tensor(float)`; `seq`, `map` and `sparse_tensor` without elements."""
    match value:
        case np.ndarray():
            return f"tensor({DataType.of(value.dtype).text})"
        case SparseTensor():
            return "sparse_tensor"
        case list():
            return "seq"
        case dict():
            return "map"
    return "absent"
