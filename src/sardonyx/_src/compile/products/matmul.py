"""Matrix products as steps: any batch, any strides, B in panels."""

from __future__ import annotations

from functools import partial
from itertools import chain

from sardonyx._src.compile.elements import ELEMENTS, HALVES
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.axes import Axis, axes, merged, pair, shifted, split, step
from sardonyx._src.compile.products.matmul_nest import MatmulNest
from sardonyx._src.compile.products.panels import Panels
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor, width
from sardonyx._src.compile.text import Element
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div

GROUP = 48  # rows of a unit, about
SPARE = 16  # rows of partial sums behind the last: at least as many as a tile has
PART = 512  # terms of a sum that are added at once: with a panel of 64 columns, 128 KB of B


def matmul(
    a: Tensor,
    b: Panels,
    y: Tensor,
    *,
    bias: Tensor | None = None,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
) -> list[Step]:
    """y [..., M, N] = tail(a [..., M, K] @ b [..., K, N] + bias), batches broadcast to y's.

    Any strides, but that elements of a row of y and of the tail's matrices are 1 apart.  bias: as `packing.packed_bias`
    makes it.  Matrices of the tail are broadcast to y but in the last dim; columns of it have N numbers.
    One step, but for batches that two strides do not describe: a step for each index of what is more.
    """
    tail = tail or Tail()
    matrices = matrices_of(y, tail, operands)
    return [
        one_step([a, b.tensor, y, *matrices], come, left, b, bias, tail, operands)
        for come, left in split(walked(a, (b.tensor, 3), y, matrices), 3)
    ]


def matrices_of(y: Tensor, tail: Tail, operands: tuple[Tensor, ...]) -> list[Tensor]:
    """The matrices of a tail; asserts that rows of them and of the result can be walked along."""
    found = [o for how, o in zip(tail.operands, operands, strict=True) if how == "matrix"]
    for one in (y, *found):
        is_dense = one.strides[-1] == 1 or one.shape[-1] == 1
        assert one.shape[-1] == y.shape[-1] and is_dense, f"rows of {one} beside {y}"
    return found


def walked(a: Tensor, b: tuple[Tensor, int], y: Tensor, matrices: list[Tensor]) -> list[Axis]:
    """Axes of the batch and then of the rows, along which B stays; steps are those of A, B, y and the matrices.

    b: with the number of its dims behind those of the batch.
    """
    batch = axes(y.shape[:-2], ((a, 2), b, (y, 2), *((m, 2) for m in matrices)))
    rows = Axis(y.shape[-2], (step(a, 2), 0, step(y, 2), *(step(m, 2) for m in matrices)))
    found = merged([*batch, rows])
    if not found or found[-1].steps[1] != 0:
        found.append(Axis(1, (0,) * len(rows.steps)))
    return found


def one_step(
    tensors: list[Tensor],
    come: tuple[Known, ...],
    walk: list[Axis],
    b: Panels,
    bias: Tensor | None,
    tail: Tail,
    operands: tuple[Tensor, ...],
) -> Step:
    """The step for two axes of a batch and one of rows, from where each of the tensors has come."""
    a, panels, y, *matrices = (shifted(t, c) for t, c in zip(tensors, come, strict=True))
    *batch, rows = walk
    outer, inner = pair(batch, len(come))
    k, columns, group = b.k, b.columns, group_of(rows.size, b.tile.rows)
    groups, items = ceil_div(rows.size, group), outer.size * inner.size
    biases = () if bias is None else (bias,)
    a_step = a.strides[-1] if a.shape[-1] != 1 else 1
    places = chain.from_iterable(zip(outer.steps[:3], inner.steps[:3], strict=True))
    sizes = (rows.size, columns, k, b.count, group, groups, PART, inner.size, rows.steps[0], a_step, *places)
    others = iter(zip(matrices, rows.steps[3:], strict=True))
    given = (
        (o,) if how != "matrix" else next(others) for how, o in zip(tail.operands, operands, strict=True)
    )
    more = chain.from_iterable(zip(outer.steps[3:], inner.steps[3:], strict=True))
    args: tuple[Arg, ...] = (
        *(a, panels, *biases, *sizes),
        *(y, rows.steps[2], *chain.from_iterable(given), *more),
    )
    return Step(
        kernel=kernel(b.tile.vectors, tail, panels.dtype, biased=bias is not None, strided=a_step != 1),
        args=args,
        units=items * b.count * groups,
        reads=(a, panels, *biases, *operands),
        writes=(y,),
        flops=items * rows.size * columns * k * 2,
        traffic=((rows.size * k + rows.size * columns) * 4 + k * columns * width(panels.dtype)) * items,
        scratch=(group + SPARE) * b.tile.width * 4,
    )


def kernel(vectors: int, tail: Tail, dtype: DataType, *, biased: bool, strided: bool) -> Kernel:
    """dtype: of the panels."""
    words = ["matmul_f32", str(vectors), *(["bias"] if biased else []), *(["strided"] if strided else [])]
    half = ELEMENTS[dtype] if dtype in HALVES else None
    words += [] if half is None else [half]
    made = partial(source, vectors=vectors, tail=tail, half=half, biased=biased, strided=strided)
    return Kernel(f"{'_'.join(words)}:{tail.key}", made)


def source(
    name: str, target: Target, *, vectors: int, tail: Tail, half: Element | None, biased: bool, strided: bool
) -> str:
    code = MatmulNest(vectors, tail, target, half=half, biased=biased, strided=strided)
    code.units()
    return code.module(name)


def group_of(rows: Known, tile: int) -> int:
    """Rows of a unit: equal shares of all, in whole tiles."""
    if not isinstance(rows, int):
        return GROUP // tile * tile
    tiles = max(1, -(-rows // tile))
    shares = max(1, -(-tiles * tile // GROUP))
    return -(-tiles // shares) * tile
