"""Meet and join of types: the meet is the type of a value for which both hold, the join of one for which either holds."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import MapType, OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.types import OpaqueType, merge_opaque_types, open_element_dims

Shaped = TensorType | SparseTensorType  # the types with a shape


def merge_types(declared: Type | None, inferred: Type | None) -> Type | None:
    """The type of a value for which both a declared and an inferred type hold (their meet).

    Numbers take precedence over expressions, and inferred expressions over declared ones (symbols in a file are
    hints).  Raises InferenceError if kinds, element types, ranks or numbers contradict each other.
    """
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if declared == inferred:
        return inferred
    if isinstance(declared, TensorType) and isinstance(inferred, SparseTensorType):
        # A sparse tensor may be declared as the tensor it stores.
        inferred = TensorType(inferred.dtype, inferred.shape)
    if isinstance(declared, Shaped) and isinstance(inferred, Shaped) and type(declared) is type(inferred):
        return merge_tensor_types(declared, inferred)
    match declared, inferred:
        case (SequenceType(), SequenceType()):
            return SequenceType(merge_types(declared.elem, inferred.elem), declared.denotation)
        case (OptionalType(), OptionalType()):
            return OptionalType(merge_types(declared.elem, inferred.elem), declared.denotation)
        case (MapType(), MapType()) if declared.key is inferred.key:
            return MapType(declared.key, merge_types(declared.value, inferred.value), declared.denotation)
        case (OpaqueType(), OpaqueType()) if (merged := merge_opaque_types(declared, inferred)) is not None:
            return merged
    raise InferenceError(
        f"declared type {declared} contradicts inferred type {inferred}", about="declaration"
    )


def merge_tensor_types(
    declared: TensorType | SparseTensorType, inferred: TensorType | SparseTensorType
) -> TensorType | SparseTensorType:
    if declared.dtype is not inferred.dtype:
        what = f"declared element type {declared.dtype.text} contradicts inferred {inferred.dtype.text}"
        raise InferenceError(what, about="declaration")
    shape = merge_shapes(declared.shape, inferred.shape)
    names = declared.dim_denotations or inferred.dim_denotations
    return type(declared)(declared.dtype, shape, declared.denotation or inferred.denotation, names)


def merge_shapes(declared: Shape | None, inferred: Shape | None) -> Shape | None:
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        what = f"declared rank {len(declared)} contradicts inferred rank {len(inferred)}"
        raise InferenceError(what, about="declaration")
    return tuple(merge_dims(d, i, axis) for axis, (d, i) in enumerate(zip(declared, inferred, strict=True)))


def merge_dims(declared: Dim, inferred: Dim, axis: int) -> Dim:
    if isinstance(declared, int) and isinstance(inferred, int) and declared != inferred:
        what = f"declared length {declared} of axis {axis} contradicts inferred length {inferred}"
        raise InferenceError(what, about="declaration")
    if isinstance(declared, int) or inferred is None:
        return declared
    return inferred


def formal_type(declared: Type | None, actual: Type | None) -> Type | None:
    """The type of an input of a subgraph or function: the actual type, with the numbers that the input declares.

    Declared symbols are ignored: they may be another length in every iteration and call.  Raises the errors of
    `merge_types`.
    """
    result = merge_types(open_element_dims(declared), actual)
    if not isinstance(result, Shaped) or result.shape is None:
        return result
    dims = (
        actual.shape
        if isinstance(actual, Shaped) and actual.shape is not None
        else (None,) * len(result.shape)
    )
    shape = tuple(dim if isinstance(dim, int) else dims[i] for i, dim in enumerate(result.shape))
    return result if shape == result.shape else replace(result, shape=shape)


def open_elements(type: Type | None) -> Type | None:
    """The type of an input without the sizes of elements of sequences and maps, which no run checks."""
    match type:
        case OptionalType():
            return replace(type, elem=open_elements(type.elem))
        case SequenceType():
            return replace(type, elem=open_sizes(type.elem))
        case MapType():
            return replace(type, value=open_sizes(type.value))
    return type


def open_sizes(type: Type | None) -> Type | None:
    """The type with its ranks, but with unknown sizes."""
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return replace(type, shape=(None,) * len(type.shape))
        case SequenceType() | OptionalType():
            return replace(type, elem=open_sizes(type.elem))
        case MapType():
            return replace(type, value=open_sizes(type.value))
    return type


def join_types(a: Type | None, b: Type | None) -> Type | None:
    """The most precise type of a value that has one of the two types (their join); None if they have nothing in common."""
    if a is None or b is None or a == b:
        return a if a == b else None
    if isinstance(a, Shaped) and isinstance(b, Shaped) and type(a) is type(b) and a.dtype is b.dtype:
        return type(a)(a.dtype, join_shapes(a.shape, b.shape))
    match a, b:
        case (SequenceType(), SequenceType()):
            return SequenceType(join_types(a.elem, b.elem))
        case (OptionalType(), OptionalType()):
            return OptionalType(join_types(a.elem, b.elem))
        case (OpaqueType(), OpaqueType()):
            return merge_opaque_types(a, b)
    return None


def join_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
