"""Types as operators take them: sparse tensors as the tensors that they stand for, old signs for any shape as none."""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.ir.dims import symbol
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import graphs, roots, values

STAR = symbol("*")  # for any number of dims, up to IR version 3


def densify(model: Model) -> None:
    """Gives every value with a sparse type the dense one, and up to IR version 3 no shape to one with a star."""
    has_stars = model.ir_version <= 3
    for root in roots(model):
        for graph in graphs(root):
            for value in values(graph):
                if value.type is not None and (has_stars or type(value.type) is not TensorType):
                    value.type = dense(value.type, has_stars=has_stars)


def dense(found: Type, *, has_stars: bool) -> Type:
    match found:
        case TensorType() | SparseTensorType():
            if has_stars and found.shape is not None and STAR in found.shape:
                return TensorType(found.dtype, None, found.denotation)
            if isinstance(found, SparseTensorType):
                return TensorType(found.dtype, found.shape, found.denotation, found.dim_denotations)
        case SequenceType() | OptionalType() if found.elem is not None:
            return replace(found, elem=dense(found.elem, has_stars=has_stars))
    return found
