"""Tile and ConstantOfShape with sizes determined by the inputs, and Dropout in inference mode, which is an alias."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.data_movement.fill import fill_step, tile_step
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.dims import Expr, Known, known_equal


@lowers("Tile", 13)
def lower_tile(op: BoundNode, lowering: Lowering) -> bool:
    x, shape, counts = op.input(0), lowering.shape(op.output), lowering.elements(op.input(1))
    if x is None or shape is None or counts is None or not lowering.is_native(x):
        return False
    repeats: list[Known] = [n if isinstance(n, Expr) else int(n) for n in counts if n is not None]
    source = lowering.any_layout(x)
    if not len(repeats) == len(shape) == source.rank:
        return False
    sizes = zip(repeats, source.shape, shape, strict=True)
    if not all(known_equal(repeat * size, result) for repeat, size, result in sizes):
        return False
    lowering.emit(tile_step(source, lowering.allocate_result(op.output), repeats))
    return True


@lowers("ConstantOfShape", 25)
def lower_constant_of_shape(op: BoundNode, lowering: Lowering) -> bool:
    if lowering.shape(op.output) is None:
        return False
    value = op.optional("value")
    element = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if element.size != 1 or element.dtype != lowering.dtype(op.output).numpy:
        return False
    lowering.emit(fill_step(lowering.allocate_result(op.output), element))
    return True


@lowers("Dropout", 22)
def lower_dropout(op: BoundNode, lowering: Lowering) -> bool:
    """Binds the output to the input; falls back in training mode, and if the mask is used."""
    x, training = op.input(0), op.input(2)
    is_training = training is not None and lowering.constant(training)
    if x is None or not lowering.is_native(x) or op.is_output_used(1):
        return False
    if is_training is None or np.any(is_training):
        return False
    lowering.any_layout(x)
    lowering.bind(op.output, *lowering.tensors[x])
    return True
