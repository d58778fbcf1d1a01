"""Types that hold every value of two types: what comes out where two ways meet."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ops.inference import Inference


def join(t: Inference, a: Type | None, b: Type | None, what: str) -> Type | None:
    """The narrowest type that holds all values of both: sizes that differ, or may differ, become None.

    Where one of them is unknown, all that is known of the result is the kind and the element type of the other.
    Raises InferenceError at the node when kinds or element types differ.
    """
    if a is None or b is None:
        return shapeless(b if a is None else a)
    match a, b:
        case (TensorType(), TensorType()) if a.dtype is b.dtype:
            return TensorType(a.dtype, join_shapes(a.shape, b.shape))
        case (SparseTensorType(), SparseTensorType()) if a.dtype is b.dtype:
            return SparseTensorType(a.dtype, join_shapes(a.shape, b.shape))
        case SequenceType(), SequenceType():
            return SequenceType(join(t, a.elem, b.elem, what))
        case OptionalType(), OptionalType():
            return OptionalType(join(t, a.elem, b.elem, what))
        case (MapType(), MapType()) if a.key is b.key:
            return MapType(a.key, join(t, a.value, b.value, what))
    if a != b:
        t.fail(f"{what} is {a} one way and {b} the other way; one type is wanted")
    return a


def join_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    """The dims in which two shapes agree, None for those in which they do not; no shape where ranks differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def shapeless(found: Type | None) -> Type | None:
    """The type without what it says of shapes."""
    match found:
        case TensorType() | SparseTensorType():
            return replace(found, shape=None, dim_denotations=())
        case SequenceType() | OptionalType():
            return replace(found, elem=shapeless(found.elem))
        case MapType():
            return replace(found, value=shapeless(found.value))
    return found


def named_dims(t: Inference, found: Type | None) -> Type | None:
    """A tensor's type with a new symbol for every dim of which nothing is known; any other type as it is.

    The elements of a sequence differ in size among themselves, so their dims get no names.
    """
    if not isinstance(found, TensorType) or found.shape is None or None not in found.shape:
        return found
    return replace(found, shape=tuple(t.new_dim() if d is None else d for d in found.shape))
