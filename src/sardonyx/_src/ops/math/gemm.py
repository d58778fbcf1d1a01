"""Gemm: alpha * A' * B' + beta * C, where A' and B' are A and B, each optionally transposed.

Spec: ai.onnx Gemm-1, -6, -7, -9, -11, -13.  In 1 and 6, C must have the result's shape unless `broadcast` is set; from 7
on, C broadcasts to the result; from 11 on, C is optional; 9 and 13 add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.shapes import first_element_type, merge_dims
from sardonyx._src.ops.traits import LegacyBroadcast
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator(
    "Gemm",
    tolerance="rounding",
    computes_in_float32=True,
    legacy_broadcast=LegacyBroadcast("addend", last_opset=6),
    linear_layer="gemm",
    matrix_product="gemm",
)


op.convert((6, 7))(lambda adapter: adapter.same(drop=("broadcast",)))
op.convert((7, 6))(lambda adapter: adapter.same(broadcast=1))


@op.convert((11, 9))
def to_9(adapter: Adapter) -> AdaptedNode:
    """An absent C becomes a zero: -0.0 for floats, since adding -0.0 changes no sign of a zero."""
    if adapter.optional(2) is not None:
        return adapter.same()
    zero = adapter.constant(0 if adapter.dtype(0).is_integer else -0.0, adapter.dtype(0))
    return adapter.same([adapter.input(0), adapter.input(1), zero], drop=("beta",))


@op.eval(1, 6)
def eval_1(
    A: Array, B: Array, C: Array, *, alpha: float, beta: float, transA: int, transB: int, broadcast: int
) -> Array:
    result = evaluate(A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)
    if not broadcast and C.shape != result.shape:
        raise EvaluationError(
            f"C must have shape {list(result.shape)}; got {list(C.shape)}; set broadcast=1 to broadcast it"
        )
    return result


@op.eval(7, 9, 11, 13)
@compute_in_float32
def evaluate(
    A: Array, B: Array, C: Array | None = None, *, alpha: float, beta: float, transA: int, transB: int
) -> Array:
    """A: [m, k] or, transposed, [k, m]; B: [k, n] or [n, k]; C broadcasts to the result: [m, n].

    Integers wrap around.  If `alpha` or `beta` is no whole number, integers are scaled and added in float64, and the
    result is truncated.
    """
    if A.ndim != 2 or B.ndim != 2:
        raise EvaluationError(f"A and B must be matrices; got rank {A.ndim} and rank {B.ndim}")
    a, b = A.T if transA else A, B.T if transB else B
    if a.shape[1] != b.shape[0]:
        raise EvaluationError(
            f"A' must have one column for each row of B'; got {a.shape[1]} columns and {b.shape[0]} rows"
        )
    shape = (a.shape[0], b.shape[1])
    if C is not None and not fits(C.shape, shape):
        raise EvaluationError(f"C must broadcast to {list(shape)}; got shape {list(C.shape)}")
    if A.dtype.kind in "iu":
        return add_scaled_integers(np.matmul(a, b), C, alpha, beta)
    return add_scaled(np.matmul(a, b), C, alpha, beta)


def fits(shape: tuple[int, ...], into: tuple[int, int]) -> bool:
    """Whether a shape broadcasts to `into`."""
    return len(shape) <= 2 and all(d in (1, n) for d, n in zip(shape[::-1], into[::-1], strict=False))


def add_scaled(product: Array, c: Array | None, alpha: float, beta: float) -> Array:
    if alpha != 1:
        product = product * alpha
    if c is None:
        return product
    return product + (c if beta == 1 else c * beta)


def add_scaled_integers(product: Array, c: Array | None, alpha: float, beta: float) -> Array:
    if alpha.is_integer() and beta.is_integer():
        bits = 8 * product.dtype.itemsize
        factors = np.array([int(alpha) % (1 << bits), int(beta) % (1 << bits)], np.uint64).astype(
            product.dtype
        )
        product = product * factors[0]
        return product if c is None else product + c * factors[1]
    wide = add_scaled(product.astype(np.float64), None if c is None else c.astype(np.float64), alpha, beta)
    return wide.astype(product.dtype)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 7, 9, 11, 13)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(*inference.inputs)
    if dtype is None:
        return None
    m, inner_a = matrix(inference, 0, "A", inference.integer("transA"))
    inner_b, n = matrix(inference, 1, "B", inference.integer("transB"))
    merge_dims(inference, (inner_a, inner_b), "the reduced dimensions")
    c = inference.shape(2)
    if c is None:
        return TensorType(dtype, (m, n))
    if inference.version < 7 and not inference.integer("broadcast"):
        if len(c) != 2:
            inference.fail(f"C must have rank 2; got rank {len(c)}; set broadcast=1 to broadcast it")
        return TensorType(
            dtype, (merge_dims(inference, (m, c[0]), "rows"), merge_dims(inference, (n, c[1]), "columns"))
        )
    return TensorType(dtype, merge_c_shape(inference, c, (m, n)))


def matrix(inference: Inference, i: int, name: str, transposed: int) -> tuple[Dim, Dim]:
    """Rows and columns of input i, transposed or not."""
    shape = inference.shape(i)
    if shape is None:
        return None, None
    if len(shape) != 2:
        inference.fail(f"{name} must have rank 2; got rank {len(shape)}")
    return (shape[1], shape[0]) if transposed else (shape[0], shape[1])


def merge_c_shape(inference: Inference, c: Shape, shape: tuple[Dim, Dim]) -> Shape:
    """The result's shape, with sizes that only the shape of C, which broadcasts to it, reveals."""
    if len(c) > 2:
        inference.fail(f"C must broadcast to a matrix; got rank {len(c)}", about="broadcast")
    padded = (1,) * (2 - len(c)) + c
    return tuple(merge_c_dim(inference, *pair) for pair in zip(shape, padded, strict=True))


def merge_c_dim(inference: Inference, size: Dim, c_size: Dim) -> Dim:
    """A size of the result, given the same axis of C: both are equal unless that of C is 1."""
    if isinstance(c_size, int) and c_size != 1:
        return merge_dims(inference, (size, c_size), "C and the product")
    inference.require_broadcast(c_size, size)
    return size
