"""Local response normalisation, channels last: each element scaled down by the squares of its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.spatial.channels import Channels, operand_tensors, pitch
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tail import arguments as tail_arguments
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.ir.dims import ceil_div

Part: TypeAlias = "Callable[[Value, str, Value, Value | None], None]"
PIXELS = 16  # of a unit: what is written of the first one is in the cache when it is read again


@dataclass(frozen=True, slots=True)
class Response:
    """x / (bias + alpha / size * (sum of the squares of `size` channels around))^beta."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    @property
    def key(self) -> str:
        """What the code depends on; the size is an argument, but for the factor of the sum."""
        return f"{self.alpha / self.size!r},{self.beta!r},{self.bias!r}"


def response_normalized(
    x: Tensor,
    y: Tensor,
    response: Response,
    tail: Tail | None = None,
    operands: tuple[Tensor, ...] = (),
    nodes: tuple[str, ...] = (),
) -> Step:
    """x [N, H, W, C] normalised into y of these dims; of an even size, the larger half of the neighbours follows."""
    tail = tail or Tail()
    more = tail_arguments(tail, operands)
    n, height, width, channels = x.shape
    rows = n * height * width
    units = ceil_div(rows, PIXELS)
    assert units is not None, "dims of tensors are known"
    before = (response.size - 1) // 2

    def source(name: str, target: Target) -> str:
        return ResponseText(target, tail, response).module(name)

    return Step(
        kernel=Kernel(f"lrn_f32:{response.key}:{tail.key}", source),
        args=(x, y, pitch(x), pitch(y), rows, channels, response.size, before, *more),
        units=units,
        reads=(x, *operand_tensors(more)),
        writes=(y,),
        flops=x.count * (response.size + 40),  # roots and the quotient count as about 40
        traffic=x.bytes + y.bytes,
        scratch=(channels + (response.size - 1)) * (4 * PIXELS),
        nodes=nodes,
    )


class ResponseText(Channels):
    """The instructions of a normalisation; a unit is a few pixels.

    Their squares are put into the scratch, pixels apart by zeros, so that sums need no ends.
    """

    def __init__(self, target: Target, tail: Tail, response: Response) -> None:
        super().__init__(target, tail)
        self.response = response
        self.x, self.y = self.pointer(0), self.pointer(1)
        self.x_pitch, self.y_pitch, self.rows, self.channels, self.size_around, self.before = (
            self.size(i) for i in range(2, 8)
        )
        self.fetch_operands(8)
        self.line = self.channels + self.size_around - 1
        self.sum = self.new_slot("sum", self.vector)
        self.counted(self.zero, self.line * PIXELS, 1, self.clear, "place")
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def clear(self, place: Value) -> None:
        self.write(Slot(self.address(self.scratch, place), Kind("float")), self.constant(0.0, Kind("float")))

    def unit(self, unit: Value) -> None:
        begin = unit * PIXELS
        end = self.least(begin + PIXELS, self.rows)
        for part in (self.square, self.scale):

            def pixel(row: Value, part: Part = part) -> None:
                line = self.address(self.scratch, (row - begin) * self.line)
                self.along(self.zero, self.channels, lambda c, mask: part(row, line, c, mask))

            self.counted(begin, end, 1, pixel, "pixel")

    def square(self, row: Value, line: str, channel: Value, mask: Value | None) -> None:
        x = self.element(row, channel, mask)
        self.put(x * x, self.address(line, channel + self.before), mask)

    def scale(self, row: Value, line: str, channel: Value, mask: Value | None) -> None:
        def add(distance: Value) -> None:
            square = self.taken(self.address(line, channel + distance), mask)
            self.write(self.sum, self.read(self.sum) + square)

        self.write(self.sum, self.constant(0.0, self.vector))
        self.counted(self.zero, self.size_around, 1, add, "around")
        factor = self.constant(self.response.alpha / self.response.size, self.vector)
        total = self.fma(self.read(self.sum), factor, self.response.bias)
        value = self.element(row, channel, mask) / self.power(total)
        value = self.finished(value, row, channel, mask)
        self.put(value, self.address(self.y, row * self.y_pitch + channel), mask)

    def element(self, row: Value, channel: Value, mask: Value | None) -> Value:
        return self.taken(self.address(self.x, row * self.x_pitch + channel), mask)

    def power(self, total: Value) -> Value:
        """The sum to the power beta; by roots for those that all known models have."""
        match self.response.beta:
            case 1.0:
                return total
            case 0.5:
                return self.intrinsic("sqrt", total)
            case 0.75:
                root = self.intrinsic("sqrt", total)
                return root * self.intrinsic("sqrt", root)
        return self.applied("pow", total, self.constant(self.response.beta, self.vector))
