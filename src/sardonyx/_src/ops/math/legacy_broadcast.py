"""Legacy broadcasting (before operator set 7): only B is broadcast to A, and only if attribute `broadcast` is set.

Spec: ai.onnx Add-1 and -6, to which the other binary operators refer.  With `broadcast=0` both shapes must be equal; a
scalar B is accepted as well, since function bodies rely on it.  With `broadcast=1`, B may also have one element and no
higher rank than A, or its shape may be a contiguous run of A's dims: the last ones, or those from `axis` on.  The text
says that a size of 1 inside B is not broadcast yet; the official suite's cases for version 6 broadcast it, and so does
this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import merge_dims, merge_shapes


def wrap_legacy_broadcast(kernel: Callable[[Array, Array], Array]) -> Callable[..., Array]:
    """The kernel of versions 1 and 6, made from the kernel of the later versions."""

    def evaluate(A: Array, B: Array, *, axis: int | None = None, broadcast: int) -> Array:
        return kernel(A, broadcast_over_a(A, B, axis, broadcast))

    return evaluate


def broadcast_over_a(A: Array, B: Array, axis: int | None, broadcast: int) -> Array:
    """B in a shape that NumPy broadcasts to A's; raises EvaluationError when it does not fit."""
    if not is_axis_of(axis, A.ndim):
        raise EvaluationError(describe_bad_axis(axis, A.ndim))
    shape = broadcastable_shape(A.shape, B.shape, axis, broadcast)
    if shape is None:
        what = f"B must have one element or a contiguous run of A's dims {list(A.shape)}; got shape {list(B.shape)}"
        attributes = f"broadcast={broadcast}" + ("" if axis is None else f", axis={axis}")
        raise EvaluationError(f"{what} with {attributes}")
    return B.reshape(shape)


def broadcastable_shape(
    a: tuple[int, ...], b: tuple[int, ...], axis: int | None, broadcast: int
) -> tuple[int, ...] | None:
    """The shape to give to B, so that NumPy broadcasts it from its shape `b` to A's shape `a`; None if `b` is invalid."""
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
    """The axis of A, of rank `a`, at which the dims of B, of rank `b`, begin; None if they end after A's last one."""
    start = a - b if axis is None else axis + a if axis < 0 else axis
    return start if 0 <= start <= a - b else None


def is_axis_of(axis: int | None, rank: int) -> bool:
    """Whether `axis` is valid for A of this rank, which is checked even where `axis` has no effect.

    The rank itself is valid: a B without dims may begin after A's last axis.
    """
    return axis is None or -rank <= axis <= rank


def describe_bad_axis(axis: int | None, rank: int) -> str:
    return f"axis must be in -{rank} to {rank}, the rank of A; got {axis}"


def infer_legacy_broadcast(dtype: DataType | None = None) -> Callable[[Inference], Result]:
    """Output 0 has A's shape, and the element type `dtype`, or else that of the first input with a known type."""

    def infer(inference: Inference) -> Result:
        elements = dtype or inference.dtype(0) or inference.dtype(1)
        return None if elements is None else TensorType(elements, legacy_broadcast_shape(inference))

    return infer


def legacy_broadcast_shape(inference: Inference) -> Shape | None:
    """A's shape refined by B's; raises InferenceError if B's does not fit."""
    a, b = inference.shape(0), inference.shape(1)
    axis = inference.attributes.get("axis")
    assert axis is None or isinstance(axis, int), f"axis of {inference.op_type} is {axis!r}"
    if a is not None and not is_axis_of(axis, len(a)):
        inference.fail(describe_bad_axis(axis, len(a)), about="axis")
    if b == ():
        return a
    if not inference.integer("broadcast"):
        return merge_shapes(inference, [a, b], "the shapes of A and B, with broadcast=0,")
    if a is None or b is None:
        return a
    if len(b) > len(a):
        inference.fail(f"the rank of B must be at most {len(a)}, that of A; got {len(b)}")
    if not any(map(is_not_broadcast, b)):
        return a  # B may have one element
    start = first_dim(len(a), len(b), axis)
    if start is None:
        inference.fail(f"B of rank {len(b)} at axis {axis} reaches beyond A of rank {len(a)}")
    pairs = zip(a[start:], b, strict=False)
    run = tuple(
        merge_dims(inference, (n, size), "the sizes of A and B") if is_not_broadcast(size) else n
        for n, size in pairs
    )
    return a[:start] + run + a[start + len(b) :]


def is_not_broadcast(dim: Dim) -> bool:
    """Whether a size of B is known to be another than 1, so that it is not broadcast."""
    return isinstance(dim, int) and dim != 1
