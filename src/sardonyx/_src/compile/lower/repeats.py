"""Tile, ConstantOfShape, Dropout: elements over and over, one element everywhere, and elements as they are."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.fill import filled, tiled
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.ir.dims import Expr, Known, known_equal


@lowers("Tile", 13)
def tile(call: Call, at: Lowering) -> bool:
    x, shape, counts = call.input(0), at.shape(call.output), at.elements(call.input(1))
    if x is None or shape is None or counts is None or not at.is_native(x):
        return False
    repeats: list[Known] = [n if isinstance(n, Expr) else int(n) for n in counts if n is not None]
    source = at.strided(x)
    if not len(repeats) == len(shape) == source.rank:
        return False
    sizes = zip(repeats, source.shape, shape, strict=True)
    if not all(known_equal(times * size, whole) for times, size, whole in sizes):
        return False
    at.emit(tiled(source, at.result(call.output), repeats))
    return True


@lowers("ConstantOfShape", 25)
def constant_of_shape(call: Call, at: Lowering) -> bool:
    if at.shape(call.output) is None:
        return False
    value = call.optional("value")
    element = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if element.size != 1 or element.dtype != at.dtype(call.output).numpy:
        return False
    at.emit(filled(at.result(call.output), element))
    return True


@lowers("Dropout", 22)
def dropout(call: Call, at: Lowering) -> bool:
    """Nothing is dropped but in training."""
    x, training = call.input(0), call.input(2)
    is_training = training is not None and at.constant(training)
    if x is None or not at.is_native(x) or call.wanted(1):
        return False
    if is_training is None or np.any(is_training):
        return False
    at.strided(x)
    at.bind(call.output, *at.forms[x])
    return True
