"""Checks of nodes, and of the values passed to them, against the signatures of their operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.ir import Node, SparseTensor
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.schema import OpSchema, Parameter

OPAQUE = "nothing"  # the kind of None and of opaque values, for which signatures have no word
MAX_LISTED_TYPES = 6  # accepted types that a message lists


def check_counts(node: Node, schema: OpSchema) -> None:
    """Raises InvalidModel for too many inputs or outputs, and for missing inputs that are required or variadic."""
    name, inputs = f"{node.op_type}-{schema.since_version}", given_inputs(node)
    for i, parameter in enumerate(schema.inputs):
        if parameter.option == "single" and (i >= len(inputs) or not inputs[i]):
            raise InvalidModel(
                f"input {i} {parameter.name!r} is required and missing", location=location(node)
            )
        if parameter.option == "variadic" and max(len(inputs) - i, 0) < parameter.min_arity:
            what = f"{name} must have at least {i + parameter.min_arity} inputs; got {len(inputs)}"
            raise InvalidModel(what, location=location(node))
        if parameter.option == "variadic" and None in node.inputs[i:]:
            what = f"input {node.inputs.index(None, i)}, one of {parameter.name!r} of {name}, must be given"
            raise InvalidModel(f"{what}; it is omitted", location=location(node))
    if schema.max_inputs is not None and len(inputs) > schema.max_inputs:
        what = f"{name} must have at most {schema.max_inputs} inputs; got {len(inputs)}"
        raise InvalidModel(what, location=location(node))
    count = max((i + 1 for i, value in enumerate(node.outputs) if value.name), default=0)
    if schema.max_outputs is not None and count > schema.max_outputs:
        what = f"{name} must have at most {schema.max_outputs} outputs; got {count}"
        raise InvalidModel(what, location=location(node))


def given_inputs(node: Node) -> list[bool]:
    """For each input up to the last one given, whether it is given."""
    is_given = [value is not None for value in node.inputs]
    while is_given and not is_given[-1]:
        is_given.pop()
    return is_given


def takes_containers(schema: OpSchema) -> bool:
    """Whether an input must be a sequence or a map."""
    return any(all(t.startswith(("seq(", "map(")) for t in schema.allowed_types(p)) for p in schema.inputs)


def find_mismatch(schema: OpSchema, inputs: Sequence[RuntimeValue]) -> str:
    """The error message for the first input with a wrong type; "" if there is none.

    A type is wrong if the operator does not accept it, or if another input with the same type variable has another one.
    """
    # By type variable, the position and type of the first input that has it.
    bound: dict[str, tuple[int, str]] = {}
    for i, value in enumerate(inputs):
        parameter = schema.input(i)
        if parameter is None:
            continue
        types, kind = schema.allowed_types(parameter), kind_of(value)
        if kind not in types and not is_allowed(value, kind, parameter, types):
            expected = ", ".join(types[:MAX_LISTED_TYPES]) + (
                ", ..." if len(types) > MAX_LISTED_TYPES else ""
            )
            return f"input {i} {parameter.name!r} must be {expected}; got {kind}"
        if (
            parameter.type in schema.type_constraints
            and parameter.homogeneous
            and isinstance(value, np.ndarray)
        ):
            first, other = bound.setdefault(parameter.type, (i, kind))
            if kind != other:
                return f"input {i} {parameter.name!r} must be {other}, as input {first}; got {kind}"
    return ""


def is_allowed(value: RuntimeValue, kind: str, parameter: Parameter, types: Sequence[str]) -> bool:
    """Whether a value of this kind, which is none of the types as it is, may be an input."""
    if value is None:
        return parameter.option == "optional" or any(t.startswith("optional(") for t in types)
    if kind == OPAQUE:
        return True  # operators that accept such a value return it unchanged
    # The element types of lists and maps are not checked: an empty one has none.
    return any(t.removeprefix("optional(").startswith(kind) for t in types)


def kind_of(value: RuntimeValue) -> str:
    """The type as signatures write it: `tensor(float)`; `seq`, `map` and `sparse_tensor` without elements."""
    match value:
        case np.ndarray():
            return f"tensor({DataType.of(value.dtype).text})"
        case SparseTensor():
            return "sparse_tensor"
        case list() | PersistentSequence():
            return "seq"
        case dict():
            return "map"
    return OPAQUE
