"""Windows of convolutions and pooling: their attributes, and their transposition for gradients.

All elements that a window reads contribute to one element of the result; backwards, the gradient of that element is added
to the gradients of all elements that the window has read.  That is a transposed convolution.  If the sizes that its
attributes depend on are known only during the run, its result is cropped or padded to the size of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.backward_step import BackwardStep, shape_of
from sardonyx._src.ops.nn.windows import auto_pad_amounts


@dataclass(frozen=True, slots=True)
class WindowAttributes:
    """The attributes of a convolution or a pooling operator, one entry for each spatial axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]  # padding before the input
    after: tuple[int, ...]

    @property
    def pads(self) -> list[int]:
        return [*self.before, *self.after]

    @property
    def rank(self) -> int:
        return len(self.strides)


def window_attributes(step: BackwardStep, kernel: int | tuple[int, ...]) -> WindowAttributes:
    """The attributes of a node; `kernel` is the input whose trailing sizes are those of a window, or these sizes."""
    rank = step.rank(0) - 2
    ones = (1,) * rank
    strides = step.inference.integers("strides") or ones
    dilations = step.inference.integers("dilations") or ones
    auto_pad = str(step.inference.attributes.get("auto_pad") or "NOTSET")
    pads = step.inference.integers("pads") or (0,) * (2 * rank)
    if auto_pad == "VALID":
        pads = (0,) * (2 * rank)
    if auto_pad not in ("NOTSET", "VALID"):
        sizes = step.shape(0)[2:]
        taps = step.shape(kernel)[2:] if isinstance(kernel, int) else kernel
        amounts = [
            auto_pad_amounts(size, tap, stride, dilation, auto_pad)
            for size, tap, stride, dilation in zip(sizes, taps, strides, dilations, strict=True)
        ]
        pads = (*(before for before, _ in amounts), *(after for _, after in amounts))
    return WindowAttributes(strides, dilations, pads[:rank], pads[rank:])


def transposed_windows(
    step: BackwardStep,
    gradient: Value,
    weights: Value,
    windows: WindowAttributes,
    like: Value,
    taps: Sequence[Dim],
    group: int = 1,
) -> Value:
    """The gradient of the input `like` of windows that multiply the input by weights [M, C / group, *taps].

    gradient: that of the result of the windows.  Input 0 of the node must have the spatial sizes of `like`, and its output
    those of the gradient.
    """
    transpose = partial(
        step.op,
        "ConvTranspose",
        gradient,
        weights,
        strides=windows.strides,
        dilations=windows.dilations,
        group=group,
    )
    missing = unread_sizes(step, windows, taps)
    if missing is None:
        return fit_to_input(step, transpose(), windows, like)
    pads = [*windows.before, *(max(-amount, 0) for amount in missing)]
    if max(missing) <= 0:
        return transpose(pads=pads)
    return transpose(pads=pads, output_padding=[max(amount, 0) for amount in missing])


def unread_sizes(step: BackwardStep, windows: WindowAttributes, taps: Sequence[Dim]) -> list[int] | None:
    """For each spatial axis, the number of elements at the end of input 0 that no window reads.

    It is negative where windows read padding there: minus the number of padding elements that they read.  None if the
    sizes that decide about it are only known during the run.
    """
    unknown = (None,) * windows.rank
    size, out = (
        unknown if shape is None else shape[2:] for shape in map(shape_of, (step.input(0), step.output()))
    )
    missing = [
        -windows.after[axis]
        if windows.strides[axis] == 1
        else unread_size(size[axis], windows, axis, taps[axis], out[axis])
        for axis in range(windows.rank)
    ]
    known = [amount for amount in missing if amount is not None]
    return known if len(known) == len(missing) else None


def unread_size(size: Dim, windows: WindowAttributes, axis: int, taps: Dim, out: Dim) -> int | None:
    """`unread_sizes` of one axis, of `size` elements and `out` windows of `taps` taps."""
    if not isinstance(size, int) or not isinstance(taps, int) or not isinstance(out, int):
        return None
    reach = (out - 1) * windows.strides[axis] + (taps - 1) * windows.dilations[axis] + 1
    return size + windows.before[axis] - reach


def fit_to_input(step: BackwardStep, full: Value, windows: WindowAttributes, like: Value) -> Value:
    """A tensor over the padded input, [N, C, *extents], cropped or padded with zeros to the input: [N, C, *size]."""
    start = step.integers([-amount for amount in windows.before])
    size = step.op("Shape", like, start=2)
    end = step.Sub(step.Sub(size, start), step.op("Shape", full, start=2))
    amounts = step.op("Concat", start, end, axis=0)
    return step.Pad(full, amounts, None, step.integers(range(2, windows.rank + 2)))
