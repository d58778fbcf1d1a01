"""Broadcasting of the first opsets: B alone is stretched over A, and only where the node says so.

Spec: ai.onnx Add-1 and -6, to which the other operators of two tensors refer.  With `broadcast=0` both shapes are
the same (a scalar B is taken all the same: bodies of functions rely on it).  With `broadcast=1`, B may also have one element and no higher rank than A, or its shape is a run of A's
dims: the last ones, or those from `axis` on.  The text says that a size of 1 inside B is not stretched yet; the
official suite's cases for version 6 stretch it, and so it is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import merge_dims, merge_shapes


def limited(kernel: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """The kernel of versions 1 and 6, made from that of the later versions."""

    def evaluate(A: Array, B: Array, *, axis: int | None = None, broadcast: int) -> Array:
        return kernel(A, stretched(A, B, axis, broadcast))

    return evaluate


def stretched(A: Array, B: Array, axis: int | None, broadcast: int) -> Array:
    """B in a shape that NumPy broadcasts to A's; raises EvaluationError when it does not fit."""
    shape = fitted(A.shape, B.shape, axis, broadcast)
    if shape is None:
        what = f"B of shape {list(B.shape)} cannot be stretched over A of shape {list(A.shape)}"
        given = f"broadcast={broadcast}" + ("" if axis is None else f", axis={axis}")
        raise EvaluationError(f"{what} with {given}; it has to be a run of A's dims, or one element")
    return B.reshape(shape)


def fitted(
    a: tuple[int, ...], b: tuple[int, ...], axis: int | None, broadcast: int
) -> tuple[int, ...] | None:
    """The shape for B, of shape `b`, with which NumPy stretches it over A, of shape `a`; None when it does not fit."""
    if a == b:
        return b
    if not b:
        return ()
    if not broadcast or len(b) > len(a):
        return None
    if math.prod(b) == 1:
        return ()
    start = first_dim(len(a), len(b), axis)
    if start is None or any(size not in (1, n) for size, n in zip(b, a[start:], strict=False)):
        return None
    return b + (1,) * (len(a) - start - len(b))


def first_dim(a: int, b: int, axis: int | None) -> int | None:
    """Where among A's `a` dims B's `b` dims begin; None when they would not lie inside."""
    start = a - b if axis is None else axis + a if axis < 0 else axis
    return start if 0 <= start <= a - b else None


def limited_broadcasting(dtype: DataType | None = None) -> Callable[[Inference], Result]:
    """Output 0 has A's shape, and elements of `dtype` or of the first typed input."""

    def infer(t: Inference) -> Result:
        elements = dtype or t.dtype(0) or t.dtype(1)
        return None if elements is None else TensorType(elements, limited_shape(t))

    return infer


def limited_shape(t: Inference) -> Shape | None:
    """A's shape, with what B's tells of it; raises InferenceError at the node when B's cannot fit."""
    a, b = t.shape(0), t.shape(1)
    if b == ():
        return a
    if not t.integer("broadcast"):
        return merge_shapes(t, [a, b], "the shapes of A and B, with broadcast=0,")
    if a is None or b is None:
        return a
    if len(b) > len(a):
        t.fail(f"B of rank {len(b)} cannot be stretched over A of rank {len(a)}")
    if not any(map(is_wide, b)):
        return a  # B may have one element
    axis = t.attributes.get("axis")
    assert axis is None or isinstance(axis, int), f"axis of {t.op_type} is {axis!r}"
    start = first_dim(len(a), len(b), axis)
    if start is None:
        t.fail(f"B of rank {len(b)} at axis {axis} reaches beyond A of rank {len(a)}")
    pairs = zip(a[start:], b, strict=False)
    run = tuple(merge_dims(t, (n, size), "the sizes of A and B") if is_wide(size) else n for n, size in pairs)
    return a[:start] + run + a[start + len(b) :]


def is_wide(dim: Dim) -> bool:
    """Whether a size of B is known and is not stretched."""
    return isinstance(dim, int) and dim != 1
