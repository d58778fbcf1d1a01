"""Gemm: alpha * A' * B' + beta * C for matrices A' and B', each transposed or not.

Spec: ai.onnx Gemm-1, -6, -7, -9, -11, -13.  In 1 and 6 C has the result's shape unless `broadcast` is set; from 7 on
it broadcasts to it; 11 lets C be left out; 9 and 13 add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import element, merge_dims

op = Operator("Gemm", tolerance="rounding")


op.convert((6, 7))(lambda c: c.same(drop=("broadcast",)))
op.convert((7, 6))(lambda c: c.same(broadcast=1))


@op.convert((11, 9))
def to_9(c: Change) -> Converted:
    """A C that is left out is a zero, which has to be the one that changes no sign."""
    if c.optional(2) is not None:
        return c.same()
    zero = c.constant(0 if c.dtype(0).is_integer else -0.0, c.dtype(0))
    return c.same([c.input(0), c.input(1), zero], drop=("beta",))


@op.eval(1, 6)
def eval_1(
    A: Array, B: Array, C: Array, *, alpha: float, beta: float, transA: int, transB: int, broadcast: int
) -> Array:
    result = evaluate(A, B, C, alpha=alpha, beta=beta, transA=transA, transB=transB)
    if not broadcast and C.shape != result.shape:
        raise EvaluationError(
            f"C has shape {list(C.shape)}, where {list(result.shape)} is wanted as broadcast is 0"
        )
    return result


@op.eval(7, 9, 11, 13)
@in_float32
def evaluate(
    A: Array, B: Array, C: Array | None = None, *, alpha: float, beta: float, transA: int, transB: int
) -> Array:
    """A: [m, k] or, transposed, [k, m]; B: [k, n] or [n, k]; C broadcasts to the result: [m, n].

    Integers wrap around; an `alpha` or `beta` that is no whole number is applied to them in float64, and what comes
    out is truncated.
    """
    if A.ndim != 2 or B.ndim != 2:
        raise EvaluationError(f"A has rank {A.ndim} and B has rank {B.ndim}, where matrices are wanted")
    a, b = A.T if transA else A, B.T if transB else B
    if a.shape[1] != b.shape[0]:
        raise EvaluationError(f"A' has {a.shape[1]} columns and B' has {b.shape[0]} rows")
    shape = (a.shape[0], b.shape[1])
    if C is not None and not fits(C.shape, shape):
        raise EvaluationError(f"C has shape {list(C.shape)}, which does not broadcast to {list(shape)}")
    if A.dtype.kind in "iu":
        return combined_integers(np.matmul(a, b), C, alpha, beta)
    return combined(np.matmul(a, b), C, alpha, beta)


def fits(shape: tuple[int, ...], into: tuple[int, int]) -> bool:
    """Whether a shape broadcasts to another one that stays as it is."""
    return len(shape) <= 2 and all(d in (1, n) for d, n in zip(shape[::-1], into[::-1], strict=False))


def combined(product: Array, c: Array | None, alpha: float, beta: float) -> Array:
    if alpha != 1:
        product = product * alpha
    if c is None:
        return product
    return product + (c if beta == 1 else c * beta)


def combined_integers(product: Array, c: Array | None, alpha: float, beta: float) -> Array:
    if alpha.is_integer() and beta.is_integer():
        bits = 8 * product.dtype.itemsize
        factors = np.array([int(alpha) % (1 << bits), int(beta) % (1 << bits)], np.uint64).astype(
            product.dtype
        )
        product = product * factors[0]
        return product if c is None else product + c * factors[1]
    wide = combined(product.astype(np.float64), None if c is None else c.astype(np.float64), alpha, beta)
    return wide.astype(product.dtype)


# --- inference -------------------------------------------------------------------------------


@op.infer(1, 6, 7, 9, 11, 13)
def infer(t: Inference) -> Result:
    dtype = element(*t.inputs)
    if dtype is None:
        return None
    m, inner_a = matrix(t, 0, "A", t.integer("transA"))
    inner_b, n = matrix(t, 1, "B", t.integer("transB"))
    merge_dims(t, (inner_a, inner_b), "the sizes to be summed over")
    c = t.shape(2)
    if c is None:
        return TensorType(dtype, (m, n))
    if t.version < 7 and not t.integer("broadcast"):
        if len(c) != 2:
            t.fail(f"C has rank {len(c)}, where a matrix is wanted as broadcast is 0")
        return TensorType(dtype, (merge_dims(t, (m, c[0]), "rows"), merge_dims(t, (n, c[1]), "columns")))
    return TensorType(dtype, covering(t, c, (m, n)))


def matrix(t: Inference, i: int, name: str, transposed: int) -> tuple[Dim, Dim]:
    """Rows and columns of input i, transposed or not."""
    shape = t.shape(i)
    if shape is None:
        return None, None
    if len(shape) != 2:
        t.fail(f"{name} has rank {len(shape)}, where a matrix is wanted")
    return (shape[1], shape[0]) if transposed else (shape[0], shape[1])


def covering(t: Inference, c: Shape, shape: tuple[Dim, Dim]) -> Shape:
    """The result's shape with what a C of shape `c`, which broadcasts to it, tells of it."""
    if len(c) > 2:
        t.fail(f"C has rank {len(c)}, which does not broadcast to a matrix", about="broadcast")
    padded = (1,) * (2 - len(c)) + c
    return tuple(
        size if have == 1 or not isinstance(have, int) else merge_dims(t, (size, have), "C and the product")
        for size, have in zip(shape, padded, strict=True)
    )
