"""ConvTranspose: each element of the input spreads a kernel over the output, where the kernels add up.

Spec: ai.onnx ConvTranspose-1, -11, -22.  Where output_shape makes the padding odd, version 1 puts the larger half at
the start for SAME_UPPER and else at the end; from 11 on it is at the end for SAME_UPPER and else at the start.  In
version 1 output_shape may have the batch and the channels in front.  22 adds bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Attribute
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn.convolution import biased
from sardonyx._src.ops.nn.windows import Windows, auto_pad_of, per_axis, summed, unpadded
from sardonyx._src.ops.shapes import element, merge_dims
from sardonyx._src.ops.widening import NARROW_FLOATS, widening

op = Operator("ConvTranspose", tolerance="rounding")


@dataclass(frozen=True, slots=True)
class Spreading:
    """The attributes of one node, with an entry for each spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    output_padding: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str
    output_shape: tuple[int, ...] | None
    larger_half_last: bool  # of odd padding that is worked out

    @classmethod
    def of(
        cls,
        rank: int,
        version: int,
        auto_pad: str,
        strides: Sequence[int] | None,
        dilations: Sequence[int] | None,
        output_padding: Sequence[int] | None,
        pads: Sequence[int] | None,
        output_shape: Sequence[int] | None,
    ) -> Spreading:
        """Raises EvaluationError for attributes of the wrong length or sign."""
        upper = auto_pad_of(auto_pad) == "SAME_UPPER"
        if output_shape is not None:
            sizes = output_shape[2:] if version == 1 and len(output_shape) == rank + 2 else output_shape
            output_shape = per_axis("output_shape", sizes, rank, least=0)
        explicit = auto_pad == "NOTSET" and output_shape is None
        return cls(
            per_axis("strides", strides, rank, least=1),
            per_axis("dilations", dilations, rank, least=1),
            per_axis("output_padding", output_padding, rank, least=0),
            per_axis("pads", pads if explicit else None, 2 * rank, least=0),
            auto_pad,
            output_shape,
            not upper if version == 1 and output_shape is not None else upper,
        )

    def reach(self, size: Sequence[Dim], kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """How far the kernels reach from the first to the last, output_padding included."""
        axes = zip(size, kernel, self.strides, self.dilations, self.output_padding, strict=True)
        return tuple(
            None if n is None or k is None else s * (n - 1) + extra + d * (k - 1) + 1
            for n, k, s, d, extra in axes
        )

    def sizes(self, size: Sequence[Dim], kernel: Sequence[Dim]) -> tuple[Dim, ...]:
        """The spatial sizes of the output; raises EvaluationError when one is negative."""
        if self.output_shape is not None:
            return self.output_shape
        if self.auto_pad.startswith("SAME"):
            return tuple(None if n is None else n * s for n, s in zip(size, self.strides, strict=True))
        rank = len(size)
        result = tuple(
            None if n is None else n - self.pads[i] - self.pads[rank + i]
            for i, n in enumerate(self.reach(size, kernel))
        )
        for i, n in enumerate(result):
            if isinstance(n, int) and n < 0:
                raise EvaluationError(f"spatial axis {i} of the result would have size {n}")
        return result

    def windows(self, size: Sequence[int], kernel: tuple[int, ...]) -> Windows:
        """The windows over the output, one for each element of the input."""
        rank = len(size)
        out = numbers(self.sizes(size, kernel))
        before, after = list(self.pads[:rank]), list(self.pads[rank:])
        if self.auto_pad.startswith("SAME") or self.output_shape is not None:
            for i, (reach, wanted) in enumerate(zip(numbers(self.reach(size, kernel)), out, strict=True)):
                total = max(reach - wanted, 0)
                less, more = total // 2, total - total // 2
                before[i], after[i] = (less, more) if self.larger_half_last else (more, less)
        return Windows(out, kernel, self.strides, self.dilations, tuple(before), tuple(after), tuple(size))


def numbers(dims: Sequence[Dim]) -> tuple[int, ...]:
    assert all(isinstance(n, int) for n in dims), "sizes of arrays give sizes that are numbers"
    return tuple(n for n in dims if isinstance(n, int))


@op.infer(1, 11, 22)
def infer(t: Inference) -> Result:
    dtype = element(t.tensor(0), t.tensor(1))
    return None if dtype is None else TensorType(dtype, output_dims(t))


def output_dims(t: Inference) -> Shape | None:
    """[N, M, *out]; raises InferenceError where the node contradicts itself."""
    kernel_shape = t.integers("kernel_shape")
    group = t.integer("group")
    if group < 1:
        t.fail(f"group is {group}, at least 1 is wanted")
    of_kernel = None if kernel_shape is None else (0, 0, *kernel_shape)
    known = [s for s in (t.shape(0), t.shape(1), of_kernel) if s is not None]
    if not known:
        return None
    rank = len(known[0])
    if rank < 2 or any(len(s) != rank for s in known):
        t.fail(
            f"ranks contradict each other: {', '.join(str(len(s)) for s in known)} with batch and channels"
        )
    data, weight = (s if s is not None else (None,) * rank for s in (t.shape(0), t.shape(1)))
    taken = merge_dims(t, (data[1], weight[0]), "the channels of x and W")
    if isinstance(taken, int) and taken % group:
        t.fail(f"x has {taken} channels, which group {group} does not divide")
    given = kernel_shape or (None,) * (rank - 2)
    kernel = [merge_dims(t, pair, "kernel_shape and W") for pair in zip(given, weight[2:], strict=True)]
    try:
        spatial = spreading_of(t, rank - 2).sizes(data[2:], kernel)
    except EvaluationError as error:
        t.fail(error.why)
    channels = None if weight[1] is None else weight[1] * group
    bias = t.shape(2)
    if bias is not None and len(bias) != 1:
        t.fail(f"the bias has rank {len(bias)}, not 1")
    return (data[0], merge_dims(t, (channels, *(bias or ())[:1]), "the bias and W"), *spatial)


def spreading_of(t: Inference, rank: int) -> Spreading:
    names = ("strides", "dilations", "output_padding", "pads", "output_shape")
    return Spreading.of(rank, t.version, str(t.attributes["auto_pad"]), *(t.integers(name) for name in names))


op.convert((11, 22))(lambda c: c.same())
op.convert((22, 11))(widening(NARROW_FLOATS))


@op.convert((1, 11), (11, 1))
def other_half(c: Change) -> Converted:
    """With output_shape, the side that has the larger half of odd padding is named in the opposite way."""
    sizes = c.t.integers("output_shape")
    if sizes is None:
        return c.same()
    kernel = c.t.integers("kernel_shape")
    rank = c.t.rank(0) or (len(kernel) + 2 if kernel is not None else c.rank(1))
    spatial = sizes[2:] if c.t.version == 1 and len(sizes) == rank else sizes
    is_upper = c.t.attributes["auto_pad"] == "SAME_UPPER"
    return c.same(
        auto_pad="SAME_LOWER" if is_upper else "SAME_UPPER",
        output_shape=Attribute("output_shape", AttributeType.INTS, spatial),
    )


@op.eval(1, 11, 22)
@in_float32
def eval_22(
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    call: Call,
    auto_pad: str,
    group: int,
    kernel_shape: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    dilations: tuple[int, ...] | None = None,
    output_padding: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    output_shape: tuple[int, ...] | None = None,
) -> Array:
    """x: [N, C, *spatial], w: [C, M/group, *kernel], b: [M], result: [N, M, *out].

    An output_shape beyond what the kernels reach is filled with zeros (and the bias) at the end.
    """
    check(x, w, group, kernel_shape)
    rank = x.ndim - 2
    spreading = Spreading.of(
        rank, call.version, auto_pad, strides, dilations, output_padding, pads, output_shape
    )
    windows = spreading.windows(x.shape[2:], w.shape[2:])
    channels = w.shape[1] * group
    claim(call, (x.shape[0], channels, *windows.extents), x.dtype, "ConvTranspose result")
    claim(call, (x.shape[0], channels, *w.shape[2:], *x.shape[2:]), x.dtype, "what ConvTranspose adds up")
    kernels = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:])).swapaxes(1, 2)
    columns = np.matmul(kernels, x.reshape(x.shape[0], group, kernels.shape[2], math.prod(x.shape[2:])))
    columns = columns.reshape(x.shape[0], channels, *w.shape[2:], *x.shape[2:])
    return biased(unpadded(summed(columns, windows), windows).copy(), b)


def check(x: Array, w: Array, group: int, kernel_shape: tuple[int, ...] | None) -> None:
    if x.ndim < 2 or x.ndim != w.ndim:
        raise EvaluationError(
            f"x of rank {x.ndim} and W of rank {w.ndim}: the same rank of at least 2 is wanted"
        )
    if group < 1 or w.shape[0] != x.shape[1] or w.shape[0] % group:
        what = f"x has {x.shape[1]} channels, W is {list(w.shape)} and group is {group}"
        raise EvaluationError(f"{what}: W[0] channels are wanted, a multiple of group")
    if kernel_shape is not None and tuple(kernel_shape) != w.shape[2:]:
        raise EvaluationError(f"kernel_shape is {list(kernel_shape)}, W has {list(w.shape[2:])}")
