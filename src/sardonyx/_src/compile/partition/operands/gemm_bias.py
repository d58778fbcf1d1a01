"""The constant bias of a Gemm as a row, with which a kernel can initialize its accumulators."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.partition import BoundNode, Scope
from sardonyx._src.ir import Array


def constant_bias(op: BoundNode, scope: Scope) -> Array | None:
    """beta * C as a row [N] float32; None if C is not a constant scalar or row."""
    shape, elements = scope.shape(op.output), scope.constant(op.input(2))
    if elements is None or shape is None or not isinstance(shape[1], int):
        return None
    row = constant_row(elements, shape[1])
    return None if row is None else (row * np.float32(op.attribute("beta", float))).astype(np.float32)


def constant_row(elements: Array, columns: int) -> Array | None:
    """A constant C as a row [columns]; None if it has an element for each row."""
    if elements.size not in (1, columns) or (elements.ndim == 2 and len(elements) != 1):
        return None
    return np.broadcast_to(elements.reshape(-1), (columns,))
