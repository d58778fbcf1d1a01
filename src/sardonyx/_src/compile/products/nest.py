"""The loops of a convolution around the tile: units, panels of weights, parts of the sum, blocks of rows.

A row is a pixel of the result, all images in a row; a tap is a place of the window, which adds a product of `channels`
terms.  A unit of work is a group of rows by a panel of the weights.  Where taps and channels are many, the sum is made in
parts whose weights stay in the cache, and partial sums of the group's rows are kept in scratch meanwhile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.ending import Ending
from sardonyx._src.compile.products.micro import LINE
from sardonyx._src.compile.products.row_blocks import Block, RowBlocks
from sardonyx._src.compile.products.tiles import tile_of
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Value

SIZES = (
    "taps", "channels", "columns", "groups", "panels", "rows", "group_rows", "tap_part", "channel_part",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """Terms of a sum that are added at once: taps and channels, each by its first and their number.

    The first channel counts from the first one of all groups.
    """

    tap: Value
    taps: Value
    channel: Value
    channels: Value
    weights: str  # where those of the part begin
    is_first: Value
    is_last: Value


class Nest(RowBlocks, ABC):
    """The instructions of a convolution, but for where rows of its input are.

    Arguments: x; weights, [groups, panels, taps, channels, width]; bias, [groups, panels, width]; `SIZES`, of which
    channels, columns and panels are those of one group of channels; then those of `more`; then the result's.
    """

    more: tuple[str, ...] = ()  # further sizes that a kind of rows needs

    def __init__(self, vectors: int, tail: Tail, target: Target) -> None:
        super().__init__(tile_of(vectors, target.lanes, target.registers), tail, target.fused)
        self.x, self.weights, self.bias = (self.pointer(i) for i in range(3))
        names = (*SIZES, *self.more)
        self.sizes = {name: self.size(i) for i, name in enumerate(names, 3)}
        self.written = self.result(3 + len(names))
        self.row, self.count = (self.new_slot(name, I64) for name in ("row", "count"))
        self.prepared = self.new_slot("prepared", I64)  # which rows are ready
        self.partial = self.scratch

    def units(self) -> None:
        """All of the kernel: units in order, panels innermost, so that rows are prepared once for several."""
        self.write(self.prepared, self.constant(-1, I64))
        self.before()
        self.counted(self.first, self.last, 1, self.unit, "unit")

    def unit(self, unit: Value) -> None:
        panels, groups = self.sizes["panels"], self.sizes["groups"]
        rows, panel = self.divided(unit, panels)
        block, group = self.divided(rows, groups)

        def prepare() -> None:
            self.prepare(block)
            self.write(self.prepared, block)

        self.when(block.differs(self.read(self.prepared)), prepare)
        self.panel(group, panel)

    # --- what kinds of rows say --------------------------------------------------------------

    def before(self) -> None:
        """What is done once in a call."""

    @abstractmethod
    def prepare(self, block: Value) -> None:
        """Writes `row` and `count`, the first row of a block and how many it has, and whatever finds their inputs."""

    @abstractmethod
    def addresses(self, rows: int, block: Block, tap: Value, channel: Value) -> list[str]:
        """Where the inputs of so many rows of a block begin for a tap and a channel of all; all of them may be read."""

    def next_inputs(self, block: Block) -> str | None:
        """Where inputs are that the rows after the prepared ones begin with, a share for each block, if that is known."""
        return None

    def inputs_of(self, groups: Value) -> Value:
        """How many channels of the input some groups have."""
        return groups * self.sizes["channels"]

    # --- loops -------------------------------------------------------------------------------

    def panel(self, group: Value, panel: Value) -> None:
        """The prepared rows by a panel of the weights, one part of the sum after the other."""
        size, width = self.sizes, self.tile.width
        at = group * size["panels"] + panel
        weights = self.address(self.weights, at * size["taps"] * size["channels"] * width)
        bias = self.address(self.bias, at * width)
        first = group * size["columns"]
        column, end = first + panel * width, first + size["columns"]
        is_end = (panel + 1).equals(size["panels"])

        def part(tap: Value, channel: Value) -> None:
            chosen = self.part(tap, channel, self.inputs_of(group), weights)
            self.blocks(
                self.read(self.count),
                lambda block: self.rows_by_part(block, chosen, bias, (column, end), is_end),
            )

        def over_channels(tap: Value) -> None:
            self.stepped(size["channels"], size["channel_part"], lambda channel: part(tap, channel))

        self.stepped(size["taps"], size["tap_part"], over_channels)

    def part(self, tap: Value, channel: Value, before: Value, weights: str) -> Part:
        size = self.sizes
        taps = self.least(size["tap_part"], size["taps"] - tap)
        channels = self.least(size["channel_part"], size["channels"] - channel)
        is_last = (tap + taps >= size["taps"]) & (channel + channels >= size["channels"])
        start = self.address(weights, (tap * size["channels"] + channel) * self.tile.width)
        return Part(tap, taps, before + channel, channels, start, (tap + channel).equals(0), is_last)

    def rows_by_part(
        self, block: Block, part: Part, bias: str, columns: tuple[Value, Value], is_end: Value
    ) -> None:
        """A tile: sums go on from the bias or from what is kept, and are written or kept."""
        width = self.tile.width
        kept = self.address(self.partial, block.index * (self.tile.rows * width))  # dead rows are kept too
        start = self.one_of(part.is_first, bias, kept)
        pitch = self.select(part.is_first, 0, self.constant(width, I64))
        line = self.least(block.index, self.constant(-(-width // LINE) - 1, I64))
        ahead = self.address(part.weights, part.taps * part.channels * (line * LINE + width))
        inputs = self.next_inputs(block)
        if inputs is not None:
            ahead = self.one_of(part.is_last & is_end, inputs, ahead)

        def sums(rows: int) -> None:
            self.resume(rows, start, pitch)
            self.taps(rows, block, part, ahead)

        column, end = columns
        row = self.read(self.row) + block.row
        self.block(block.left, sums, Ending(self.written, row, column, end, kept, part.is_last))

    def taps(self, rows: int, block: Block, part: Part, ahead: str) -> None:
        """Adds the products of a part, while what comes next is fetched from `ahead` on, a share for each block."""

        def one(i: Value) -> None:
            panel = self.address(part.weights, i * self.sizes["channels"] * self.tile.width)
            found = self.addresses(rows, block, part.tap + i, part.channel)
            line = self.address(ahead, i * part.channels * LINE)
            self.accumulate(found, panel, part.channels, ahead=line)

        self.counted(self.constant(0, I64), part.taps, 1, one, "tap")

    # --- integers ----------------------------------------------------------------------------

    def stepped(self, end: Value, step: Value, body: Callable[[Value], None]) -> None:
        """The body for 0, step, 2 * step, ... below an end; once for 0 if there is nothing."""
        slot = self.new_slot("step", I64)
        self.write(slot, self.constant(0, I64))
        head, done = self.label("head"), self.label("done")
        self.jump(head)
        at = self.read(slot)
        body(at)
        self.write(slot, at + step)
        self.lines.append(f" br {at + step < end}, label %{head}, label %{done}")
        self._open(done)
