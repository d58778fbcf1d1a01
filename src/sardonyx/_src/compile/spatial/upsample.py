"""Images made larger by whole factors, channels last: each pixel repeated.  Sizes may be known at the call only."""

from __future__ import annotations

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import Channels, operand_tensors, pitch
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Value


def upsampled(
    x: Tensor,
    y: Tensor,
    factors: tuple[int, int],
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """x [N, H, W, C] with each pixel `factors` times, down and to the right, into y [N, Ho, Wo, C].

    That is nearest mode by whole scales, with asymmetric coordinates and floor, or half_pixel and either rounding.
    """
    enlarged = (x.shape[1] * factors[0], x.shape[2] * factors[1])
    assert y.shape[1:3] == enlarged, f"{enlarged} is no size of {y}"
    tail = tail or Tail()
    more = tail_arguments(tail, operands)

    def source(name: str, target: Target) -> str:
        return UpsampleText(target, tail).module(name)

    return Step(
        kernel=Kernel(f"upsample_f32:{tail.key}", source),
        args=(x, y, pitch(x), pitch(y), x.shape[2], x.shape[3], *factors, *more),
        units=y.shape[0] * y.shape[1],
        reads=(x, *operand_tensors(more)),
        writes=(y,),
        traffic=x.bytes + y.bytes,
        nodes=nodes,
    )


class UpsampleText(Channels):
    """The instructions of repeating pixels; a unit is a row of the output."""

    def __init__(self, target: Target, tail: Tail) -> None:
        super().__init__(target, tail)
        self.x, self.y = self.pointer(0), self.pointer(1)
        self.x_pitch, self.y_pitch, self.width, self.channels, self.down, self.right = (
            self.size(i) for i in range(2, 8)
        )
        self.fetch_operands(8)
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        line = (
            self.truncated(unit, self.down) * self.width
        )  # rows of all images: each has a whole number of them
        self.counted(self.zero, self.width, 1, lambda p: self.pixel(unit * self.width + p, line + p), "pixel")

    def pixel(self, place: Value, source: Value) -> None:
        """place: of the pixel, if rows were as long as those of the input."""
        first = place * self.right

        def vectors(channel: Value, mask: Value | None) -> None:
            x = self.taken(self.address(self.x, source * self.x_pitch + channel), mask)

            def repeat(again: Value) -> None:
                row = first + again
                value = self.finished(x, row, channel, mask)
                self.put(value, self.address(self.y, row * self.y_pitch + channel), mask)

            self.counted(self.zero, self.right, 1, repeat, "again")

        self.along(self.zero, self.channels, vectors)
