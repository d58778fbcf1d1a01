"""Reductions along axes that are known: sums, means, extremes and their kin, wherever the elements are."""

from __future__ import annotations

from typing import cast

import numpy as np

from sardonyx._src.compile.endings import absorb, ending
from sardonyx._src.compile.fusion import behind
from sardonyx._src.compile.geometry import image
from sardonyx._src.compile.lower.pooling import is_image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.folds import ELEMENTS, Name, fold_of
from sardonyx._src.compile.rows.reduce import reduced
from sardonyx._src.compile.spatial.global_pooling import GlobalPool, globally_pooled
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Value

NAMES: dict[tuple[str, int], Name] = {
    ("ReduceSum", 13): "sum",
    ("ReduceMean", 18): "mean",
    ("ReduceProd", 18): "prod",
    ("ReduceMax", 20): "max",
    ("ReduceMin", 20): "min",
    ("ReduceL1", 18): "l1",
    ("ReduceL2", 18): "l2",
    ("ReduceSumSquare", 18): "sum_square",
    ("ReduceLogSum", 28): "log_sum",
    ("ReduceLogSumExp", 28): "log_sum_exp",
}


def lower(call: Call, at: Lowering) -> bool:
    x, name = call.input(0), NAMES[call.op_type, call.version]
    if x is None or not at.is_native(x) or not has_fold(name, at.dtype(x)):
        return False
    axes = axes_of(call, at, x)
    if not axes or at.shape(call.output) != shape_of(call, at, x, axes):
        return False
    if name in ("mean", "max") and at.has_channels_last(x) and is_whole_image(at, x, axes):
        pixels(call, at, x, name)
    else:
        elements(call, at, x, name, axes)
    return True


def has_fold(name: Name, dtype: DataType) -> bool:
    return dtype in ELEMENTS and fold_of(name, ELEMENTS[dtype]) is not None


def axes_of(call: Call, at: Lowering, x: Value) -> tuple[int, ...]:
    """The axes, counted from the front; none where they are not known, are there twice, or there are none."""
    rank = len(at.known_shape(x))
    named = call.input(1)
    found = np.empty(0, np.int64) if named is None else at.constant(named)
    if found is None:
        return ()
    axes = [int(axis) for axis in found.reshape(-1)]
    if not axes and not call.attributes["noop_with_empty_axes"]:
        axes = list(range(rank))
    if not all(-rank <= axis < rank for axis in axes):
        return ()
    counted = sorted(axis % rank for axis in axes)
    return tuple(counted) if len(set(counted)) == len(counted) else ()


def shape_of(call: Call, at: Lowering, x: Value, axes: tuple[int, ...]) -> tuple[Known, ...]:
    shape = at.known_shape(x)
    if call.attributes["keepdims"]:
        return tuple(1 if i in axes else dim for i, dim in enumerate(shape))
    return tuple(dim for i, dim in enumerate(shape) if i not in axes)


def is_whole_image(at: Lowering, x: Value, axes: tuple[int, ...]) -> bool:
    """Whether all pixels of images are taken together, as pools of whole images do."""
    return is_image(at, x) and axes == tuple(range(2, len(at.known_shape(x))))


def pixels(call: Call, at: Lowering, x: Value, name: Name) -> None:
    """All pixels of images whose channels are innermost, with what follows."""
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=bool(call.attributes["keepdims"]))
    operands = tuple(map(image, end.operands))
    at.emit(globally_pooled(source, image(end.y), cast(GlobalPool, name), end.tail, operands))


def elements(call: Call, at: Lowering, x: Value, name: Name, axes: tuple[int, ...]) -> None:
    """Any axes; what follows goes along if it takes nothing but numbers."""
    source = at.strided(x)
    is_last = at.has_channels_last(x) and len(at.known_shape(call.output)) == source.rank
    group = behind(at, call.output, lambda value, shape: False, RESULT)
    if group is not None and at.dtype(x) is DataType.FLOAT:
        absorb(at, group)
        value, tail = group.result, Tail(group.value)
    else:
        value, tail = call.output, Tail()
    at.result(value, channels_last=is_last)
    step = reduced(name, source, at.forms[value][0], axes, tail)
    assert step is not None, "the element type has a fold"
    at.emit(step)


for operator, version in NAMES:
    lowers(operator, version)(lower)
