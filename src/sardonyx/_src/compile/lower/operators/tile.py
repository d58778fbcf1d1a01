"""Tile and ConstantOfShape with sizes that input sizes determine, and Dropout in inference mode, which is an alias of its input."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.data_movement.fill import fill_step, tile_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.views import ViewConfig, view_region
from sardonyx._src.compile.partition import Alias, Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr, Known, known_equal


@matches("Tile", 13)
def match_tile(op: BoundNode, scope: Scope) -> Region[tuple[Known, ...]] | None:
    x, shape, counts = op.input(0), scope.shape(op.output), scope.vector(op.input(1))
    if x is None or shape is None or counts is None or not scope.is_native(x):
        return None
    repeats: tuple[Known, ...] = tuple(n if isinstance(n, Expr) else int(n) for n in counts if n is not None)
    source = scope.known_shape(x)
    if not len(repeats) == len(shape) == len(source):
        return None
    sizes = zip(repeats, source, shape, strict=True)
    if not all(known_equal(repeat * size, result) for repeat, size, result in sizes):
        return None
    return Region("Tile", (op.node,), repeats, (Read(x, ANY),), (Write(op.output),))


@lowers("Tile")
def lower_tile(region: LaidOutRegion[tuple[Known, ...]], lowering: Lowering) -> Step:
    return tile_step(region.operands[0], region.results[0], list(region.config))


@matches("ConstantOfShape", 25)
def match_constant_of_shape(op: BoundNode, scope: Scope) -> Region[Array] | None:
    if scope.shape(op.output) is None:
        return None
    value = op.optional("value")
    element = np.zeros(1, np.float32) if value is None else np.asarray(value)
    if element.size != 1 or element.dtype != scope.dtype(op.output).numpy:
        return None
    return Region("ConstantOfShape", (op.node,), element, (), (Write(op.output),))


@lowers("ConstantOfShape")
def lower_constant_of_shape(region: LaidOutRegion[Array], lowering: Lowering) -> Step:
    return fill_step(region.results[0], region.config)


@matches("Dropout", 22)
def match_dropout(op: BoundNode, scope: Scope) -> Region[ViewConfig] | None:
    """An alias of the input; falls back in training mode, and if the mask is used."""
    x, training = op.input(0), op.input(2)
    is_training = training is not None and scope.constant(training)
    if x is None or not scope.is_native(x) or op.is_output_used(1):
        return None
    if is_training is None or np.any(is_training):
        return None
    return view_region(op, Alias(op.output, x, lambda tensor: tensor))
