"""Iteration spaces: broadcast strides, fewer dims, and the batches of products, by hand."""

from __future__ import annotations

from sardonyx._src.compile.kernels.loops.batch_space import (
    batch_space,
    linear_batch,
    pad_dims,
    unroll_leading_dims,
)
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    broadcast_space,
    ensure_dim,
    is_smaller_stride,
    simplify,
)
from sardonyx._src.compile.program import Buffer, TensorView, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import symbol


def tensor(*shape: int, strides: tuple[int, ...] | None = None) -> TensorView:
    return TensorView(
        DataType.FLOAT,
        shape,
        row_major_strides(shape) if strides is None else strides,
        Buffer("arena", 4, ""),
    )


def test_broadcast_dims_have_stride_0() -> None:
    space = broadcast_space((2, 3, 4), [tensor(2, 3, 4), tensor(3, 1), tensor()])
    assert space.strides == ((12, 4, 1), (0, 1, 0), (0, 0, 0))


def test_dims_are_sorted_and_coalesced() -> None:
    transposed = tensor(3, 2, 4, strides=(4, 12, 1))
    assert simplify(broadcast_space((3, 2, 4), [transposed]), by=0) == IterationSpace((24,), ((1,),))
    assert ensure_dim(simplify(broadcast_space((1, 1), [tensor(1, 1)]), by=0), stride=1).strides == ((1,),)


def test_multiples_of_a_symbolic_stride_are_greater() -> None:
    n, c = symbol("N"), symbol("C")
    assert is_smaller_stride(c, n * c) and not is_smaller_stride(n * c, c)
    assert not is_smaller_stride(c, c) and not is_smaller_stride(n, c) and not is_smaller_stride(c, n)


def test_a_batch_is_coalesced_where_all_tensors_allow_it() -> None:
    a, b = tensor(2, 3, 5, 7), tensor(3, 7, 4)
    assert batch_space((2, 3), ((a, 2), (b, 2))) == IterationSpace((2, 3), ((105, 35), (0, 28)))
    assert batch_space((2, 3), ((a, 2),)) == IterationSpace((6,), ((35,),))
    assert batch_space((1, 3), ((b, 2),)) == IterationSpace((3,), ((28,),))


def test_a_linear_batch_has_one_dim() -> None:
    y, b = tensor(2, 3, 5, 4), tensor(3, 7, 4)
    assert linear_batch(tensor(2, 3, 5, 7), tensor(7, 4), y) == IterationSpace((6,), ((35,), (0,)))
    assert linear_batch(tensor(2, 3, 5, 7), b, y) is None
    assert linear_batch(tensor(5, 7), tensor(7, 4), tensor(5, 4)) == IterationSpace((1,), ((0,), (0,)))


def test_leading_dims_are_unrolled_or_padded() -> None:
    space = IterationSpace((2, 3, 4), ((60, 10, 1), (5, 0, 7)))
    assert list(unroll_leading_dims(space, 2)) == [
        ((0, 0), IterationSpace((3, 4), ((10, 1), (0, 7)))),
        ((60, 5), IterationSpace((3, 4), ((10, 1), (0, 7)))),
    ]
    ((offsets, padded),) = unroll_leading_dims(IterationSpace((4,), ((3,),)), 3)
    assert offsets == (0,) and padded == IterationSpace((1, 1, 4), ((0, 0, 3),))
    assert pad_dims(IterationSpace((), ((),)), 1) == IterationSpace((1,), ((0,),))
