"""Fill and Tile as copies from broadcast views: a source with a stride of 0 is read repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known


def fill_step(y: TensorView, value: Array) -> Step:
    """The step that sets all elements of y to a value; value: one element, of the type of y."""
    assert value.size == 1, f"the fill value must have one element; got {value.size}"
    constant = Buffer("constant", value.nbytes, "fill", value)
    return copy_step(TensorView(y.dtype, y.shape, (0,) * y.rank, constant), y)


def tile_step(x: TensorView, y: TensorView, repeats: Sequence[Known]) -> Step:
    """y = x repeated `repeats[d]` times along each dim d.

    Each dim of y is viewed as two dims, [repeats, size]; the stride of x is 0 along the first of them.
    """
    dims = list(zip(repeats, x.shape, y.strides, strict=True))
    shape = tuple(chain.from_iterable((times, size) for times, size, _ in dims))
    y_strides = tuple(chain.from_iterable((size * stride, stride) for _, size, stride in dims))
    x_strides = tuple(chain.from_iterable((0, stride) for stride in x.strides))
    source = replace(x, shape=shape, strides=x_strides)
    return copy_step(source, replace(y, shape=shape, strides=y_strides))
