"""One value everywhere, and one tensor over and over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from sardonyx._src.compile.moves.copy import copied
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.ir.dims import Known, known_equal
from sardonyx._src.ir.tensors import Array


def filled(y: Tensor, value: Array, nodes: tuple[str, ...] = ()) -> Step:
    """y = the one element of an array of its type."""
    assert value.size == 1, f"a fill takes one element, not {value.size}"
    constant = Storage("constant", value.nbytes, "fill", value)
    return copied(Tensor(y.dtype, y.shape, (0,) * y.rank, constant), y, nodes)


def broadcast(x: Tensor, shape: Sequence[Known]) -> Tensor | None:
    """x under a shape that it broadcasts to, without a copy; None where it is not known which dims are 1."""
    missing = len(shape) - x.rank
    strides: list[Known] = [0] * missing
    for size, stride, wanted in zip(x.shape, x.strides, shape[missing:], strict=True):
        if size != 1 and not known_equal(size, wanted):
            return None
        strides.append(0 if size == 1 else stride)
    return replace(x, shape=tuple(shape), strides=tuple(strides))


def tiled(x: Tensor, y: Tensor, repeats: Sequence[Known], nodes: tuple[str, ...] = ()) -> Step:
    """y = x as many times along each dim as `repeats` says."""
    pairs = list(zip(repeats, x.shape, y.strides, strict=True))
    shape = tuple(chain.from_iterable((times, size) for times, size, _ in pairs))
    to = tuple(chain.from_iterable((size * stride, stride) for _, size, stride in pairs))
    from_ = tuple(chain.from_iterable((0, stride) for stride in x.strides))
    return copied(replace(x, shape=shape, strides=from_), replace(y, shape=shape, strides=to), nodes)
