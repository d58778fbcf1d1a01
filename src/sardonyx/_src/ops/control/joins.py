"""Joins of types: the narrowest type that holds the values of both control-flow paths."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.ir import MapType, OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type
from sardonyx._src.ir.types import OpaqueType, merge_opaque_types
from sardonyx._src.ops.inference import Inference


def join(inference: Inference, a: Type | None, b: Type | None, what: str) -> Type | None:
    """The narrowest type that holds all values of both; sizes that differ, or may differ, become None.

    If one of them is unknown, the result has the kind and the element type of the other.
    Raises InferenceError at the node when kinds or element types differ.
    """
    if a is None or b is None:
        return drop_shape(b if a is None else a)
    match a, b:
        case (TensorType(), TensorType()) if a.dtype is b.dtype:
            return TensorType(a.dtype, join_shapes(a.shape, b.shape))
        case (SparseTensorType(), SparseTensorType()) if a.dtype is b.dtype:
            return SparseTensorType(a.dtype, join_shapes(a.shape, b.shape))
        case SequenceType(), SequenceType():
            return SequenceType(join(inference, a.elem, b.elem, what))
        case OptionalType(), OptionalType():
            return OptionalType(join(inference, a.elem, b.elem, what))
        case (MapType(), MapType()) if a.key is b.key:
            return MapType(a.key, join(inference, a.value, b.value, what))
        case (OpaqueType(), OpaqueType()) if (merged := merge_opaque_types(a, b)) is not None:
            return merged
    if a != b:
        inference.fail(f"{what} must be of one type; got {a} and {b}", about="element type")
    return a


def join_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    """The common shape of two shapes: None for dims that differ; no shape if the ranks differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def drop_shape(type: Type | None) -> Type | None:
    """The type without shapes."""
    match type:
        case TensorType() | SparseTensorType():
            return replace(type, shape=None, dim_denotations=())
        case SequenceType() | OptionalType():
            return replace(type, elem=drop_shape(type.elem))
        case MapType():
            return replace(type, value=drop_shape(type.value))
    return type


def name_dims(inference: Inference, type: Type | None) -> Type | None:
    """A tensor's type with a new symbol for every unknown dim; any other type unchanged.

    The elements of a sequence may differ in size, so their unknown dims get no symbols.
    """
    if not isinstance(type, TensorType) or type.shape is None or None not in type.shape:
        return type
    return replace(type, shape=tuple(inference.new_dim() if d is None else d for d in type.shape))
