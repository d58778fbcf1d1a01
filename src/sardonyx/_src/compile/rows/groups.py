"""GroupNormalization and InstanceNormalization of planes: groups of channels brought to mean 0 and variance 1."""

from __future__ import annotations

from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.rows.norms import in_a_row
from sardonyx._src.compile.rows.statistics import StatisticsText
from sardonyx._src.compile.rows.vectors import rows_of_unit, units, word
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.tensor import Tensor, product
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import Known, exact_div


def group_normalised(
    x: Tensor,
    y: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    groups: Known,
    epsilon: float,
    tail: Tail | None = None,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by groups of channels of each image.

    x, y: [N, C, *spatial] float32, dense from C on; they may be one tensor.  scale, bias: [C], dense.  groups: divides
    C; C of them are InstanceNormalization.  tail: without operands.  None where the layout has no kernel.
    """
    tail = tail or Tail()
    assert not tail.operands, "tails of group normalisation have no operands"
    if not in_a_row(Layout(x.shape[1:], (x.strides[1:], y.strides[1:]))):
        return None
    if not scale.is_dense or not bias.is_dense:
        return None
    channels = exact_div(x.shape[1], groups)
    pixels = product(x.shape[2:])
    n = channels * pixels
    rows = Layout((x.shape[0], groups), ((x.strides[0], n), (y.strides[0], n)))
    kernel = Kernel(f"group_norm_{tail.key}", lambda name, target: GroupText(target, tail).module(name))
    args = (x, y, scale, bias, word(epsilon), rows.count, rows_of_unit(n), n, channels, pixels, *rows.words())
    return Step(
        kernel,
        args,
        units(rows.count, n),
        (x, scale, bias),
        (y,),
        flops=x.count * 8,
        traffic=x.bytes * 2,
        nodes=nodes,
    )


class GroupText(StatisticsText):
    """The text of a normalisation by groups.

    args: x, y, scale, bias, epsilon, rows, rows of a unit, elements of a group, its channels, pixels, dims N and
    groups.
    """

    def __init__(self, target: Target, tail: Tail) -> None:
        super().__init__(target)
        self.tail = tail
        self.x, self.y, self.scale, self.bias = (self.pointer(i) for i in range(4))
        self.epsilon = self.real(4)
        rows, many, self.n, self.channels, self.pixels = (self.size(i) for i in range(5, 10))
        dims = self.dims(10, 2, 2)
        self.groups = dims.sizes[1]
        self.each_row(rows, many, dims, self.group)

    def group(self, row: Value, offsets: list[Value]) -> None:
        source, target = self.row(self.x, offsets[0]), self.row(self.y, offsets[1])
        centre = self.wide(self.mean(self.n, lambda at, mask: self.fetched(source, at, mask)))
        inverse = self.inverse(self.squares(self.n, source, centre), self.epsilon)
        _, group = self.divided(row, self.groups)

        def channel(c: Value) -> None:
            number = group * self.channels + c
            scale, bias = (
                self.read(Slot(self.row(base, number), self.scalar)) for base in (self.scale, self.bias)
            )
            factor, shift, start = self.wide(scale * inverse), self.wide(bias), c * self.pixels

            def body(i: Value, many: int, mask: Value | None) -> None:
                for v in range(many):
                    at = start + i + v * self.lanes
                    found = self.fma(self.fetched(source, at, mask) - centre, factor, shift)
                    self.put(self.finished(self.tail, found, row, at, mask), target, at, mask)

            self.along(self.pixels, body)

        self.counted(self.zero, self.channels, 1, channel, "channel")
