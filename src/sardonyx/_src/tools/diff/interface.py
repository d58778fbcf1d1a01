"""Which changes of a model's inputs and outputs break its callers.

A caller feeds inputs by name or position, and relies on the declared types of outputs.  An input may become more
general, and an output more specific, without breaking callers.  Names of dimension variables do not matter, but a variable
that two inputs share requires equal sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sardonyx._src.ir import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.dims import Dim, Expr


def narrowed_inputs(pairs: Iterable[tuple[Value, Value]]) -> set[Value]:
    """The old inputs of pairs (old, new) in which the new input refuses values that the old one accepts."""
    bindings: dict[Expr, Dim] = {}
    return {old for old, new in pairs if not is_assignable(old.type, new.type, bindings)}


def is_widened_output(old: Value, new: Value) -> bool:
    """Whether the new output may have values that the declared type of the old output excludes."""
    return not is_assignable(new.type, old.type, None)


def is_assignable(source: Type | None, target: Type | None, bindings: dict[Expr, Dim] | None) -> bool:
    """Whether every value of the source type is also of the target type.

    bindings: the source dims to which the dimension variables of targets are bound; None if variables accept any size.
    """
    if target is None:
        return True
    if isinstance(source, TensorType | SparseTensorType) and isinstance(
        target, TensorType | SparseTensorType
    ):
        is_alike = type(source) is type(target) and source.dtype is target.dtype
        return is_alike and is_shape_assignable(source.shape, target.shape, bindings)
    if isinstance(source, SequenceType | OptionalType) and isinstance(target, SequenceType | OptionalType):
        return type(source) is type(target) and is_assignable(source.elem, target.elem, bindings)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return source.key is target.key and is_assignable(source.value, target.value, bindings)
    return source == target


def is_shape_assignable(source: Shape | None, target: Shape | None, bindings: dict[Expr, Dim] | None) -> bool:
    if target is None or source is None:
        return target is None
    if len(source) != len(target):
        return False
    # A list, not a generator: every dim binds its variables, with which later inputs are compared.
    fits = [is_dim_assignable(a, b, bindings) for a, b in zip(source, target, strict=True)]
    return all(fits)


def is_dim_assignable(source: Dim, target: Dim, bindings: dict[Expr, Dim] | None) -> bool:
    if target is None:
        return True
    if isinstance(target, int):
        return source == target
    if bindings is None:
        return True
    if target in bindings:
        return source is not None and bindings[target] == source
    bindings[target] = source
    return True


def is_moved(value: Value, values: Sequence[Value], others: Sequence[Value]) -> bool:
    """Whether a value that only one list has precedes one that both have, and thereby changes the position of that one."""
    index = values.index(value)
    common = set(others)
    return any(v in common for v in values[index + 1 :])
