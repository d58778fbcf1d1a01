"""Windows of convolutions and pooling: their attributes, and sums over windows transposed.

What a window reads contributes to one element of the result; backwards, the gradient of that element is added to all of
what the window has read.  That is a transposed convolution, whose result is cropped or padded to the size of the input,
so that sizes may be known only during the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.ir.graph import Value
from sardonyx._src.ops.backward_step import BackwardStep
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
    group: int = 1,
) -> Value:
    """The gradient of the input `like` of windows that multiply it by weights: [M, C / group, *kernel]."""
    full = step.op(
        "ConvTranspose", gradient, weights, strides=windows.strides, dilations=windows.dilations, group=group
    )
    return fit_to_input(step, full, windows, like)


def fit_to_input(step: BackwardStep, full: Value, windows: WindowAttributes, like: Value) -> Value:
    """A tensor over the padded input, [N, C, *extents], cropped or padded with zeros to the input: [N, C, *size]."""
    start = step.integers([-amount for amount in windows.before])
    size = step.op("Shape", like, start=2)
    end = step.Sub(step.Sub(size, start), step.op("Shape", full, start=2))
    amounts = step.op("Concat", start, end, axis=0)
    return step.Pad(full, amounts, None, step.integers(range(2, windows.rank + 2)))
