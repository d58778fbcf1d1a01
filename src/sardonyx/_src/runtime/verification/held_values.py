"""Held values: which tensors of a program hold which values of its model, and after or before which actions.

Fusion computes some values of a model in registers only, and memory is reused.  The reads and writes of regions, which the
compiler knows after layout assignment, say which values are in memory, and in which tensors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sardonyx._src.compile.layouts.assignment import resolve
from sardonyx._src.compile.layouts.laid_out import LaidOutGraph, LaidOutRegion
from sardonyx._src.compile.program import Buffer, Step, TensorView
from sardonyx._src.compile.program.operands.layout import CustomLayout, Layout
from sardonyx._src.compile.program.steps.program import Action, CopyIn, FallbackOp
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A value, and the tensor that holds it, with its dims in the order of the value."""

    value: Value
    tensor: TensorView


class HeldValues:
    """The values of the main graph that tensors hold, by the number of an action.

    before: the values that the nodes of an action read, under the first action of these nodes that reads them.
    after: the values that nodes compute, under the last action that writes them.
    readers, writers: the numbers of the actions that read or write a buffer.
    loops: the first and the last action of each loop.
    """

    def __init__(self, laid_out: LaidOutGraph, actions: Sequence[Action]) -> None:
        self.actions = actions
        self.before: dict[int, list[HeldValue]] = defaultdict(list)
        self.after: dict[int, list[HeldValue]] = defaultdict(list)
        self.readers: dict[Buffer, list[int]] = defaultdict(list)
        self.writers: dict[Buffer, list[int]] = defaultdict(list)
        self.loops = [
            (end + action.jump.distance, end)
            for end, action in enumerate(actions)
            if isinstance(action, Step) and action.jump is not None and action.jump.distance < 0
        ]
        for number, action in enumerate(actions):
            for users, tensors in ((self.readers, action.reads), (self.writers, action.writes)):
                for buffer in dict.fromkeys(tensor.buffer for tensor in tensors):
                    users[buffer].append(number)
            if isinstance(action, FallbackOp):
                self.before[number] += [HeldValue(*pair) for pair in action.native_inputs.items()]
            elif isinstance(action, CopyIn):
                self.after[number].append(HeldValue(action.value, action.tensor))
        for item in laid_out.items:
            if isinstance(item, LaidOutRegion):
                self.add_region(item)

    def add_region(self, item: LaidOutRegion[object]) -> None:
        """Adds the values that the steps of a region read and write, if its kernels see the dims of the values."""
        names, follows = item.region.node_names, item.channels_last
        for read, operand in zip(item.region.reads, item.operands, strict=True):
            tensor = in_order_of_value(operand, resolve(read.layout, channels_last=follows))
            readers = self.steps_of(names, self.readers[operand.buffer])
            if tensor is not None and readers:
                self.before[readers[0]].append(HeldValue(read.value, tensor))
        for write, result in zip(item.region.writes, item.results, strict=True):
            tensor = in_order_of_value(result, resolve(write.layout, channels_last=follows))
            writers = self.writers[result.buffer]
            if tensor is not None and writers:
                own = [] if item.bodies else self.steps_of(names, writers)
                last = self.end_of_loop((own or writers)[-1])
                self.after[last].append(HeldValue(write.value, tensor))

    def end_of_loop(self, number: int) -> int:
        """The last action of the outermost loop that an action is in; the action itself outside of loops."""
        return max((end for start, end in self.loops if start <= number <= end), default=number)

    def steps_of(self, names: tuple[str, ...], numbers: Sequence[int]) -> list[int]:
        """The steps that are attributed to these nodes."""
        actions = ((number, self.actions[number]) for number in numbers)
        return [number for number, action in actions if isinstance(action, Step) and action.nodes == names]

    def last_writer(self, buffer: Buffer, end: int) -> int | None:
        """The last action before number `end` that writes a buffer."""
        return max((number for number in self.writers[buffer] if number < end), default=None)


def in_order_of_value(tensor: TensorView, layout: Layout) -> TensorView | None:
    """The view of a tensor that kernels have in a layout, with its dims in the order of the value; None if the view has other
    dims than the value."""
    order = axis_order(layout, tensor.rank)
    if isinstance(layout, CustomLayout) and order != axis_order(layout.otherwise, tensor.rank):
        return None  # whether a region uses the layout or its alternative depends on the value
    return None if order is None else tensor.permute(order)


def axis_order(layout: Layout, rank: int) -> tuple[int, ...] | None:
    """For each axis of a value, the axis of the view that kernels have; None if the view has other dims or elements.

    The layout is applied to a tensor with a different size for each axis, which identifies the axes.
    """
    if isinstance(layout, CustomLayout) and layout.element is not None:
        return None
    example = layout.allocate(DataType.INT8, tuple(range(2, rank + 2)), "")
    view = layout.view(example)
    if view is None or set(view.shape) != set(example.shape):
        return None
    return tuple(view.shape.index(dim) for dim in example.shape)
