"""Element types of a node's inputs, compared with the signature of its operator."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.schema import OpSchema


def find_type_mismatch(schema: OpSchema, dtypes: Sequence[DataType | None]) -> str:
    """The error message for the first tensor of an element type that the signature does not allow; "" if there is none.

    Inputs of one type variable must have the same type, except the operands of a heterogeneous variadic parameter.

    dtypes: the element type of each input; None for an input that is omitted or unknown
    """
    bound: dict[str, tuple[str, str]] = {}
    for i, dtype in enumerate(dtypes):
        parameter = schema.input(i)
        if dtype is None or parameter is None:
            continue
        text, allowed = f"tensor({dtype.text})", schema.allowed_types(parameter)
        if text not in allowed:
            return f"input {i} {parameter.name!r} must be {', '.join(allowed)}; got {text}"
        if not parameter.homogeneous or parameter.type not in schema.type_constraints:
            continue
        first, expected = bound.setdefault(parameter.type, (parameter.name, text))
        if text != expected:
            return f"input {i} {parameter.name!r} must have the type of {first!r}, {expected}; got {text}"
    return ""
