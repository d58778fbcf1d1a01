"""Two statements about the type of one value made into one."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)

Shaped = TensorType | SparseTensorType


def merged(declared: Type | None, inferred: Type | None) -> Type | None:
    """What is known when both statements hold.

    A number beats an expression, an inferred expression a declared one (symbols that a producer wrote are hints).
    Raises InferenceError where kinds, element types, ranks or numbers contradict each other.
    """
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if declared == inferred:
        return inferred
    if isinstance(declared, TensorType) and isinstance(inferred, SparseTensorType):
        inferred = TensorType(inferred.dtype, inferred.shape)  # a sparse tensor is a way to store one
    if isinstance(declared, Shaped) and isinstance(inferred, Shaped) and type(declared) is type(inferred):
        return merged_tensors(declared, inferred)
    match declared, inferred:
        case (SequenceType(), SequenceType()):
            return SequenceType(merged(declared.elem, inferred.elem), declared.denotation)
        case (OptionalType(), OptionalType()):
            return OptionalType(merged(declared.elem, inferred.elem), declared.denotation)
        case (MapType(), MapType()) if declared.key is inferred.key:
            return MapType(declared.key, merged(declared.value, inferred.value), declared.denotation)
    raise InferenceError(f"the model declares {declared}, its operators make {inferred}")


def merged_tensors(
    declared: TensorType | SparseTensorType, inferred: TensorType | SparseTensorType
) -> TensorType | SparseTensorType:
    if declared.dtype is not inferred.dtype:
        what = (
            f"the model declares elements of {declared.dtype.text}, its operators make {inferred.dtype.text}"
        )
        raise InferenceError(what)
    shape = merged_shapes(declared.shape, inferred.shape)
    names = declared.dim_denotations or inferred.dim_denotations
    return type(declared)(declared.dtype, shape, declared.denotation or inferred.denotation, names)


def merged_shapes(declared: Shape | None, inferred: Shape | None) -> Shape | None:
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        what = f"the model declares rank {len(declared)}, its operators make rank {len(inferred)}"
        raise InferenceError(what)
    return tuple(merged_dims(d, i, axis) for axis, (d, i) in enumerate(zip(declared, inferred, strict=True)))


def merged_dims(declared: Dim, inferred: Dim, axis: int) -> Dim:
    if isinstance(declared, int) and isinstance(inferred, int) and declared != inferred:
        what = f"the model declares length {declared} on axis {axis}, its operators make {inferred}"
        raise InferenceError(what)
    if isinstance(declared, int) or inferred is None:
        return declared
    return inferred


def formal(declared: Type | None, given: Type | None) -> Type | None:
    """What is known of a formal parameter of a subgraph or function: numbers that it declares, and what is given.

    Its own variables say nothing: they may mean another length in every iteration and call.  Raises as `merged`.
    """
    found = merged(declared, given)
    if not isinstance(found, Shaped) or found.shape is None:
        return found
    own = given.shape if isinstance(given, Shaped) and given.shape is not None else (None,) * len(found.shape)
    shape = tuple(dim if isinstance(dim, int) else own[i] for i, dim in enumerate(found.shape))
    return found if shape == found.shape else replace(found, shape=shape)


def joined(a: Type | None, b: Type | None) -> Type | None:
    """What holds of a value that is of one type or of the other; None when the two have nothing in common."""
    if a is None or b is None or a == b:
        return a if a == b else None
    if isinstance(a, Shaped) and isinstance(b, Shaped) and type(a) is type(b) and a.dtype is b.dtype:
        return type(a)(a.dtype, joined_shapes(a.shape, b.shape))
    match a, b:
        case (SequenceType(), SequenceType()):
            return SequenceType(joined(a.elem, b.elem))
        case (OptionalType(), OptionalType()):
            return OptionalType(joined(a.elem, b.elem))
    return None


def joined_shapes(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))
