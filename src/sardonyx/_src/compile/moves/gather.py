"""Gather, GatherElements, GatherND and the scatters: what indices point at, known at run time alone.

Every step has a `status`: a Tensor of one int64 in an arena storage.  The runtime puts 0 there before a run and looks
at it afterwards: a number p > 0 says that the index p - 1 elements behind the first one is outside of its axis (the
last such index, whatever the threads), of which the runtime makes an EvaluationError as `ops/tensor/indexing.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.moves.combining import combining
from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.moves.layout import Layout, merged, simplified, without_ones
from sardonyx._src.compile.moves.picking import BYTES, Form, PickText, Side
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.compile.text import Element
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, known_ge

INDEX: dict[DataType, Element] = {DataType.INT64: "i64", DataType.INT32: "i32"}
SINGLE = 1024  # elements moved one by one in a unit


@dataclass(frozen=True, slots=True)
class Tuples:
    """Indices: their strides over the dims of the result, and the axes that a tuple of them leads into.

    step: from index to index of a tuple.  sizes, strides: of the axes, in elements.
    """

    indices: Tensor
    over: tuple[Known, ...]
    step: Known
    sizes: tuple[Known, ...]
    strides: tuple[Known, ...]


def gathered(
    x: Tensor, indices: Tensor, y: Tensor, axis: int, status: Tensor, nodes: tuple[str, ...] = ()
) -> Step:
    """y[before, i, after] = x[before, indices[i], after].

    x: [before, n, after]; indices: int32 or int64 of any dims; y: [before, dims of the indices, after].
    """
    axis %= x.rank
    before, after = x.strides[:axis], x.strides[axis + 1 :]
    none = (0,) * indices.rank
    over = ((0,) * len(before)) + indices.strides + (0,) * len(after)
    tuples = Tuples(indices, over, 0, (x.shape[axis],), (x.strides[axis],))
    return picking("x", x, y, tuples, Layout(y.shape, ((*before, *none, *after), y.strides)), status, nodes)


def gathered_elements(
    x: Tensor, indices: Tensor, y: Tensor, axis: int, status: Tensor, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y[i, j, k] = x[i, indices[i, j, k], k] for axis 1; None unless x is known to be as large in the other axes."""
    axis %= x.rank
    if not fits(indices, x, axis):
        return None
    tuples = Tuples(indices, indices.strides, 0, (x.shape[axis],), (x.strides[axis],))
    strides = (*x.strides[:axis], 0, *x.strides[axis + 1 :])
    return picking("x", x, y, tuples, Layout(indices.shape, (strides, y.strides)), status, nodes)


def gathered_tuples(
    x: Tensor, indices: Tensor, y: Tensor, batch: int, status: Tensor, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y[b, i, after] = x[b, *indices[b, i], after].

    x: [b, k axes, after]; indices: [b, i, k]; y: [b, i, after], with `batch` dims b.  None unless k is a number.
    """
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return None
    tuples = tuples_of(indices, x, batch, depth)
    outer = indices.rank - 1
    strides = (*x.strides[:batch], *(0,) * (outer - batch), *x.strides[batch + depth :])
    return picking("x", x, y, tuples, Layout(y.shape, (strides, y.strides)), status, nodes)


def scattered_elements(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    y: Tensor,
    axis: int,
    status: Tensor,
    nodes: tuple[str, ...] = (),
    *,
    reduction: str = "none",
) -> list[Step] | None:
    """y = x, but y[i, indices[i, j, k], k] = updates[i, j, k] for axis 1, the last one where several meet.

    With a reduction of `combining.REDUCTIONS` updates are taken together with what is there, one after the other.
    None unless x is known to be as large as the indices in the other axes.
    """
    axis %= x.rank
    if not fits(indices, x, axis):
        return None
    tuples = Tuples(indices, indices.strides, 0, (y.shape[axis],), (y.strides[axis],))
    strides = (*y.strides[:axis], 0, *y.strides[axis + 1 :])
    layout = Layout(indices.shape, (updates.strides, strides))
    return [copied(x, y, nodes), picking("y", updates, y, tuples, layout, status, nodes, reduction)]


def scattered_tuples(
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    y: Tensor,
    status: Tensor,
    nodes: tuple[str, ...] = (),
    *,
    reduction: str = "none",
) -> list[Step] | None:
    """y = x, but y[*indices[i], after] = updates[i, after], the last one where several meet; None unless k is known.

    With a reduction of `combining.REDUCTIONS` updates are taken together with what is there, one after the other.
    x, y: [k axes, after]; indices: [i, k]; updates: [i, after].
    """
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return None
    tuples = tuples_of(indices, y, 0, depth)
    strides = (*(0,) * (indices.rank - 1), *y.strides[depth:])
    layout = Layout(updates.shape, (updates.strides, strides))
    return [copied(x, y, nodes), picking("y", updates, y, tuples, layout, status, nodes, reduction)]


def tuples_of(indices: Tensor, x: Tensor, batch: int, depth: int) -> Tuples:
    """Indices [b, i, k] into the `depth` axes of x behind the batch."""
    axes = slice(batch, batch + depth)
    over = (*indices.strides[:-1], *(0,) * (x.rank - batch - depth))
    return Tuples(indices, over, indices.strides[-1], x.shape[axes], x.strides[axes])


def fits(indices: Tensor, x: Tensor, axis: int) -> bool:
    """Whether no index stands outside of the other axes of x."""
    pairs = enumerate(zip(x.shape, indices.shape, strict=True))
    return all(d == axis or known_ge(size, count) is True for d, (size, count) in pairs)


def picking(
    side: Side,
    x: Tensor,
    y: Tensor,
    tuples: Tuples,
    layout: Layout,
    status: Tensor,
    nodes: tuple[str, ...],
    reduction: str = "none",
) -> Step:
    """The step for operands x and y of a layout; `side` says into which of both the tuples lead."""
    size, index, depth = width(x.dtype), INDEX[tuples.indices.dtype], len(tuples.sizes)
    rows, n = rows_and_run(Layout(layout.shape, (*layout.strides, tuples.over)), side)
    single, rank = size if n == 1 else 0, rows.rank
    many = dim_max(1, SINGLE if single else BYTES // dim_max(n * size, 1))
    units = ceil_div(rows.count, many) * (1 if single else ceil_div(n * size, BYTES))
    if side == "y":
        many, units = rows.count, 1
    form = Form(side, index, depth, rank, single)
    kernel = Kernel(form.key, lambda name, target: PickText(target, form).module(name))
    if reduction != "none":
        kernel = combining(form, reduction, x.dtype)
    axes = [one for s, stride in zip(tuples.sizes, tuples.strides, strict=True) for one in (s, stride * size)]
    words = rows.scaled((size, size, 1)).words()
    args = (x, y, tuples.indices, status, rows.count, many, n * size, tuples.step, *axes, *words)
    reads = (x, tuples.indices) if side == "x" else (x, tuples.indices, y)
    traffic = layout.count * (2 * size)
    return Step(kernel, args, units, reads, (y, status), traffic=traffic, nodes=nodes)


def rows_and_run(layout: Layout, side: Side) -> tuple[Layout, Known]:
    """Dims of rows, and how many elements of a row lie side by side in x and y under one index.

    Scatters keep the order of the dims, as the last of several updates counts.
    """
    found = simplified(layout, by=1) if side == "x" else merged(without_ones(layout))
    is_run = found.rank > 0 and [s[-1] for s in found.strides] == [1, 1, 0]
    n = found.shape[-1] if is_run else 1
    rest = found.without(-1) if is_run else found
    return rest if rest.rank else rest.inside(1, (0, 0, 0)), n
