"""Operators that move nothing: other dims for the same elements, in another order, or a part of them."""

from __future__ import annotations

from dataclasses import replace
from operator import index
from typing import SupportsIndex

import numpy as np

from sardonyx._src.compile.asked import MOST_ELEMENTS
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.tensor import Tensor, first_order, last_order
from sardonyx._src.compile.views import viewed
from sardonyx._src.ir.dims import Expr, Known, dim_max, dim_min, known_ge
from sardonyx._src.ops.inference import Known as Elements

BEYOND = 2 * MOST_ELEMENTS  # any axis


@lowers("Reshape", 25)
@lowers("Flatten", 25)
@lowers("Squeeze", 25)
@lowers("Unsqueeze", 25)
@lowers("Identity", 25)
def reshape(call: Call, at: Lowering) -> bool:
    """Other dims for the same elements, which inference knows; a copy where strides do not allow it."""
    value, shape = call.input(0), at.shape(call.output)
    if value is None or shape is None or not at.is_native(value):
        return False
    if not at.agree(at.strided(value).count, count(shape)):
        return False
    if call.op_type == "Reshape":
        holds_the_open_dim(at, at.elements(call.input(1)), shape)
    if call.op_type == "Identity":
        at.bind(call.output, *at.forms[value])
        return True
    found = [v for form in at.forms[value] if (v := viewed(form, shape)) is not None]
    if found:
        at.bind(call.output, *found)
    elif not shuffled(call, at, at.forms[value][0]):
        at.bind(call.output, at.dense(value).reshaped(shape))
    return True


def holds_the_open_dim(at: Lowering, wanted: Elements | None, shape: tuple[Known, ...]) -> None:
    """Holds runs to sizes that leave one number for -1: beside a size of 0 it could be any, which Reshape refuses."""
    for i, dim in enumerate(() if wanted is None else wanted):
        rest = count((*shape[:i], *shape[i + 1 :]))
        if isinstance(dim, int | np.integer) and dim == -1 and not known_ge(rest, 1):
            at.demands[dim_min(rest, 1), 1] = None


def shuffled(call: Call, at: Lowering, source: Tensor) -> bool:
    """Copies elements whose channels are innermost to where they are so again, as groups of channels are shuffled."""
    shape = at.known_shape(call.output)
    if len(shape) < 3 or source.rank == 0 or source.strides[-1] == 1:
        return False
    placed = tuple(shape[i] for i in last_order(len(shape)))
    made = at.temporary(source.dtype, placed, call.output.name).permuted(first_order(len(shape)))
    goal = viewed(made, source.shape)
    if goal is None:
        return False
    at.emit(copied(source, goal))
    at.bind(call.output, made)
    return True


def count(shape: tuple[Known, ...]) -> Known:
    total: Known = 1
    for dim in shape:
        total = total * dim
    return total


@lowers("Transpose", 25)
def transpose(call: Call, at: Lowering) -> bool:
    """The dims in another order, which strides say."""
    value = call.input(0)
    if value is None or not at.is_native(value):
        return False
    at.strided(value)
    forms = at.forms[value]
    perm = call.ints("perm") or tuple(reversed(range(forms[0].rank)))
    if sorted(perm) != list(range(forms[0].rank)):
        return False
    at.bind(call.output, *(form.permuted(perm) for form in forms))
    return True


@lowers("Split", 18)
def split(call: Call, at: Lowering) -> bool:
    """Parts of the elements, side by side along an axis."""
    value = call.input(0)
    shapes = [at.shape(output) for output in call.node.outputs]
    if value is None or not at.is_native(value) or None in shapes:
        return False
    at.strided(value)
    axis = call.attribute("axis", int) % at.forms[value][0].rank
    sizes = [shape[axis] for shape in shapes if shape is not None]
    total: Known = 0
    for size in sizes:
        total = total + size
    if not at.agree(total, at.forms[value][0].shape[axis]):
        return False
    first: Known = 0
    for output, size in zip(call.node.outputs, sizes, strict=True):
        at.bind(output, *(cut(form, axis, first, size) for form in at.forms[value]))
        first = first + size
    return True


def cut(tensor: Tensor, axis: int, first: Known, size: Known, step: int = 1) -> Tensor:
    """Some elements along an axis."""
    shape, strides = list(tensor.shape), list(tensor.strides)
    offset = tensor.offset + first * strides[axis]
    shape[axis], strides[axis] = size, strides[axis] * step
    return replace(tensor, shape=tuple(shape), strides=tuple(strides), offset=offset)


@lowers("Expand", 13)
def expand(call: Call, at: Lowering) -> bool:
    """The elements again and again: a stride of nothing where a dim of 1 becomes longer."""
    value, shape = call.input(0), at.shape(call.output)
    if value is None or shape is None or not at.is_native(value):
        return False
    source = at.strided(value)
    lead = len(shape) - source.rank
    old = (1,) * lead + source.shape
    if lead < 0 or not all(a == b or a == 1 for a, b in zip(old, shape, strict=True)):
        return False
    if not asks_for(at.elements(call.input(1)), shape):
        return False
    strides = (0,) * lead + source.strides
    found = tuple(s if a == b else 0 for a, b, s in zip(old, shape, strides, strict=True))
    at.bind(call.output, replace(source, shape=shape, strides=found))
    return True


def asks_for(wanted: Elements | None, shape: tuple[Known, ...]) -> bool:
    """Whether the dims that Expand is given are known to be those of its result, or 1; others it would have to refuse."""
    if wanted is None or len(wanted) > len(shape):
        return False
    inner = shape[len(shape) - len(wanted) :]
    return all(a is not None and (a == 1 or a == b) for a, b in zip(wanted, inner, strict=True))


@lowers("Slice", 13)
def slice_(call: Call, at: Lowering) -> bool:
    """Every so-manieth element along some axes, where sizes of inputs decide the bounds; backwards as a copy."""
    value, shape = call.input(0), at.shape(call.output)
    if value is None or shape is None or not at.is_native(value):
        return False
    starts, axes, steps = (at.elements(call.input(i)) for i in (1, 3, 4))
    if starts is None or (call.input(3) is not None and axes is None) or (call.input(4) and steps is None):
        return False
    tensor = at.strided(value)
    count = len(starts)
    along = [int(axis) % tensor.rank for axis in (range(count) if axes is None else axes)]
    by = [1] * count if steps is None else [int(step) for step in steps]
    cuts = []
    for start, axis, step in zip(starts, along, by, strict=True):
        first = None if step == 0 else begin(at, start, tensor.shape[axis], step)
        if first is None or not stays_inside(at, first, shape[axis], step, tensor.shape[axis]):
            return False
        cuts.append((axis, first, shape[axis], step))
    forms = at.forms[value]
    for axis, first, size, step in cuts:
        forms = [cut(form, axis, first, size, step) for form in forms]
    if min(by, default=1) > 0:
        at.bind(call.output, *forms)
    else:
        at.emit(copied(forms[0], at.result(call.output)))
    return True


def begin(at: Lowering, start: SupportsIndex | Expr | None, size: Known, step: int) -> Known | None:
    """The first element of a slice, or -1 of one backwards through nothing; None where sizes do not decide it."""
    if start is None or (isinstance(start, Expr) and not at.is_size(start)):
        return None
    first: Known = start if isinstance(start, Expr) else min(max(index(start), -BEYOND), BEYOND)
    last = size if step > 0 else size - 1
    if not known_ge(first, 0):
        is_negative = dim_min(dim_max(-first, 0), 1)  # 0 or 1
        first = dim_max(first + size * is_negative, 0)
    return first if known_ge(last, first) else dim_min(first, last)


def stays_inside(at: Lowering, first: Known, count: Known, step: int, size: Known) -> bool:
    """Whether the elements of a slice are some of an axis; where that is not known, runs are held to it."""
    if count == 0:
        return True
    end = first + (count - 1) * step
    inner = ((size, end + 1),) if step > 0 else ((size, first + 1), (end, 0))
    return all(at.is_at_least(more, less) for more, less in ((count, 0), *inner))
