"""Products of few rows with a B that is not worth packing, as steps."""

from __future__ import annotations

from functools import partial
from itertools import chain

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.axes import Axis, pair, shifted, split
from sardonyx._src.compile.products.matmul import matrices_of, walked
from sardonyx._src.compile.products.matvec_kernel import BLOCK, Matvec
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known, ceil_div


def takes(a: Tensor, b: Tensor) -> bool:
    """Whether `matvec` can read B [..., K, N] as it stands: along its rows, or beside rows of A along its columns."""
    return is_dense(b, -1) or (is_dense(b, -2) and is_dense(a, -1))


def is_dense(tensor: Tensor, dim: int) -> bool:
    return tensor.strides[dim] == 1 or tensor.shape[dim] == 1


def matvec(
    a: Tensor, b: Tensor, y: Tensor, *, tail: Tail | None = None, operands: tuple[Tensor, ...] = ()
) -> list[Step]:
    """y [..., M, N] = tail(a [..., M, K] @ b [..., K, N]) as `matmul`, but with B where it is; reads it M times."""
    tail = tail or Tail()
    assert takes(a, b), f"{a} by {b} asks for panels"
    matrices = matrices_of(y, tail, operands)
    return [
        one_step([a, b, y, *matrices], come, left, tail, operands)
        for come, left in split(walked(a, (b, 2), y, matrices), 3)
    ]


def one_step(
    tensors: list[Tensor], come: tuple[Known, ...], walk: list[Axis], tail: Tail, operands: tuple[Tensor, ...]
) -> Step:
    """The step for two axes of a batch and one of rows, from where each of the tensors has come."""
    a, b, y, *matrices = (shifted(t, c) for t, c in zip(tensors, come, strict=True))
    *batch, rows = walk
    outer, inner = pair(batch, len(come))
    k, columns = b.shape[-2:]
    blocks, items = ceil_div(columns, BLOCK), outer.size * inner.size
    across = not is_dense(b, -1)
    places = chain.from_iterable(zip(outer.steps[:3], inner.steps[:3], strict=True))
    others = iter(zip(matrices, rows.steps[3:], strict=True))
    given = (
        (o,) if how != "matrix" else next(others) for how, o in zip(tail.operands, operands, strict=True)
    )
    more = chain.from_iterable(zip(outer.steps[3:], inner.steps[3:], strict=True))
    args: tuple[Arg, ...] = (
        *(a, b, rows.size, columns, k, blocks, inner.size),
        *(rows.steps[0], a.strides[-1], b.strides[-2], b.strides[-1], *places),
        *(y, rows.steps[2], *chain.from_iterable(given), *more),
    )
    return Step(
        kernel=kernel(tail, across=across),
        args=args,
        units=items * blocks,
        reads=(a, b, *operands),
        writes=(y,),
        flops=items * rows.size * columns * k * 2,
        traffic=(rows.size * k + k * columns + rows.size * columns) * items * 4,
    )


def kernel(tail: Tail, *, across: bool) -> Kernel:
    def source(name: str, target: Target, *, across: bool) -> str:
        code = Matvec(tail, target, across=across)
        code.counted(code.first, code.last, 1, code.unit, "unit")
        return code.module(name)

    return Kernel(f"matvec_f32_{'across' if across else 'along'}:{tail.key}", partial(source, across=across))
