"""The bias of a Gemm as initial accumulators: a constant row."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.tensors import Array


def constant_bias(op: BoundNode, scope: Scope) -> Array | None:
    """beta * C as a row [N] float32; None if C is not a constant scalar or row."""
    shape, elements = scope.shape(op.output), scope.constant(op.input(2))
    if elements is None or shape is None or not isinstance(shape[1], int):
        return None
    if elements.size not in (1, shape[1]) or (elements.ndim == 2 and elements.shape[0] != 1):
        return None
    row = np.broadcast_to(elements.reshape(-1), (shape[1],))
    scaled: Array = (row * np.float32(op.attribute("beta", float))).astype(np.float32)
    return scaled
