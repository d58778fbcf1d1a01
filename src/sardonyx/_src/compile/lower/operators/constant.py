"""Constant whose result is an output of the graph: a copy of its elements.  All other constants have become initializers.

Falls back to the reference kernel for strings, sparse tensors, and elements of less than a byte.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array

NUMBERS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """The config of a Constant: its elements."""

    elements: Array


@matches("Constant", 25)
def match_constant(op: BoundNode, scope: Scope) -> Region[Literal] | None:
    elements = literal(op)
    if elements is None or scope.dtype_of(op.output) not in LLVM_ELEMENTS:
        return None
    if scope.shape(op.output) != elements.shape:
        return None
    return Region("Constant", (op.node,), Literal(elements), (), (Write(op.output),))


def literal(op: BoundNode) -> Array | None:
    """The elements of a Constant; None for a sparse tensor and for strings."""
    elements = op.optional("value")
    if isinstance(elements, np.ndarray):
        return elements
    for name, dtype in NUMBERS.items():
        if (numbers := op.optional(name)) is not None:
            return np.asarray(numbers, dtype)
    return None


@lowers("Constant")
def lower_constant(region: LaidOutRegion[Literal], lowering: Lowering) -> Step:
    return copy_step(lowering.constant_tensor(region.config.elements), region.results[0])
