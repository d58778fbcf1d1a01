"""Products of float64 rows and small constant matrices, as models of scikit-learn and DFT have them; others fall back."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.gemm.double_matmul import DoubleProduct, double_matmul_step
from sardonyx._src.compile.kernels.tuning import GemmTuning
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.gemm_bias import constant_row
from sardonyx._src.compile.partition.region import Read, Region, Write
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import DENSE
from sardonyx._src.compile.program.step import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


def match_double_product(op: BoundNode, scope: Scope) -> Region[DoubleProduct] | None:
    """MatMul, or Gemm without scaling, of float64 rows and a constant matrix; its bias is a constant row or scalar."""
    x, matrix = op.input(0), right_matrix(op, scope)
    if x is None or matrix is None or scope.dtype_of(x) is not DataType.DOUBLE or not scope.is_native(x):
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
    """The right operand [K, N]; None unless it is a small constant matrix, and nothing is scaled or transposed."""
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


@lowers("DoubleProduct")
def lower_double_product(region: LaidOutRegion[DoubleProduct], lowering: Lowering) -> Step:
    (x,), (y,) = region.operands, region.results
    rows = dim_product(x.shape[:-1])
    return double_matmul_step(x.reshape((rows, x.shape[-1])), region.config, y.reshape((rows, y.shape[-1])))
