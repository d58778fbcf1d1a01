"""Products of float64 matrices: by small constant matrices, as in models of scikit-learn and in DFT, and by any other ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from sardonyx._src.compile.kernels.gemm.floats.double_gemm import Addend, double_gemm_steps
from sardonyx._src.compile.kernels.gemm.floats.double_matmul import DoubleProduct, double_matmul_step
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write
from sardonyx._src.compile.partition.operands.gemm_bias import constant_row
from sardonyx._src.compile.partition.operands.product_batches import has_dynamic_batch, is_broadcastable
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, DENSE, Step, TensorView
from sardonyx._src.compile.program.operands.tensor import transpose_matrix
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Value
from sardonyx._src.ir.dims import dim_product


@dataclass(frozen=True, slots=True)
class DoubleGemm:
    """alpha * a @ b + beta * c of float64 matrices, where b is no small constant.

    transposed: whether each factor is read with its dims exchanged.
    """

    alpha: float = 1.0
    beta: float = 1.0
    transposed: tuple[bool, bool] = (False, False)


DoubleRegion: TypeAlias = "Region[DoubleProduct] | Region[DoubleGemm]"


def match_double_product(op: BoundNode, scope: Scope) -> DoubleRegion | None:
    """MatMul or Gemm of float64."""
    return match_small_constant(op, scope) or match_double_gemm(op, scope)


def match_small_constant(op: BoundNode, scope: Scope) -> Region[DoubleProduct] | None:
    """MatMul, or Gemm without scaling, of float64 rows and a constant matrix; its bias is a constant row or scalar."""
    x, matrix = op.input(0), right_matrix(op, scope)
    if x is None or matrix is None or not scope.is_native(x):
        return None
    dims = scope.known_shape(x)
    if (
        len(dims) < 2
        or scope.shape(op.output) != (*dims[:-1], matrix.shape[1])
        or not scope.guard_equal(dims[-1], len(matrix))
    ):
        return None
    bias = bias_row(op.input(2), scope, matrix.shape[1])
    if bias is None:
        return None
    product = DoubleProduct(matrix, bias)
    return Region("DoubleProduct", (op.node,), product, (Read(x, DENSE),), (Write(op.output, DENSE),))


def right_matrix(op: BoundNode, scope: Scope) -> Array | None:
    """The right operand [K, N]; None unless it is a small constant matrix, without scaling, and a is not transposed."""
    b = op.input(1)
    matrix = None if b is None else scope.constant(b)
    if matrix is None or matrix.ndim != 2 or not 0 < matrix.size <= GemmTuning.max_double_elements:
        return None
    is_gemm = op.op_type == "Gemm"
    if is_gemm and (op.attributes["alpha"], op.attributes["beta"], op.attributes["transA"]) != (1.0, 1.0, 0):
        return None
    return matrix.T if is_gemm and op.attributes["transB"] else matrix


def bias_row(value: Value | None, scope: Scope, columns: int) -> Array | None:
    """The bias as a row [columns]; None if it is not a constant scalar or row."""
    if value is None:
        return np.zeros(columns)
    elements = scope.constant(value)
    return None if elements is None else constant_row(elements, columns)


def match_double_gemm(op: BoundNode, scope: Scope) -> Region[DoubleGemm] | None:
    """MatMul or Gemm of operands with any strides; batches broadcast, and C broadcasts to the result."""
    values, result = [value for value in op.node.inputs if value is not None], scope.shape(op.output)
    if result is None or not all(map(scope.is_native, values)):
        return None
    left, right, *others = (scope.known_shape(value) for value in values)
    if min(len(left), len(right)) < 2:
        return None
    if not all(is_broadcastable(scope, shape[:-2], result[:-2]) for shape in (left, right)):
        return None
    if others and not is_broadcastable(scope, others[0], result):
        return None
    is_dynamic = has_dynamic_batch(result)
    if is_dynamic and right[:-2] not in ((), left[:-2]):
        return None
    is_gemm = op.op_type == "Gemm"
    transposed = bool(is_gemm and op.attribute("transA", int)), bool(is_gemm and op.attribute("transB", int))
    scales = (op.attribute("alpha", float), op.attribute("beta", float)) if is_gemm else (1.0, 1.0)
    layouts = (DENSE if is_dynamic else ANY, ANY, DENSE)
    reads = tuple(map(Read, values, layouts))
    return Region(
        "DoubleGemm", (op.node,), DoubleGemm(*scales, transposed), reads, (Write(op.output, DENSE),)
    )


@lowers("DoubleGemm")
def lower_double_gemm(region: LaidOutRegion[DoubleGemm], lowering: Lowering) -> Sequence[Step]:
    (a, b, *others), y, config = region.operands, region.results[0], region.config
    a, b = (transpose_matrix(t) if is_t else t for t, is_t in zip((a, b), config.transposed, strict=True))
    addend = Addend(as_matrix(others[0]), config.beta) if others else None
    return double_gemm_steps(a, b, y, lowering.target, config.alpha, addend)


def as_matrix(tensor: TensorView) -> TensorView:
    """A tensor of at most two dims with leading dims of 1."""
    missing = 2 - tensor.rank
    return replace(tensor, shape=(1,) * missing + tensor.shape, strides=(0,) * missing + tensor.strides)


@lowers("DoubleProduct")
def lower_double_product(region: LaidOutRegion[DoubleProduct], lowering: Lowering) -> Step:
    (x,), (y,) = region.operands, region.results
    rows = dim_product(x.shape[:-1])
    return double_matmul_step(x.reshape((rows, x.shape[-1])), region.config, y.reshape((rows, y.shape[-1])))
