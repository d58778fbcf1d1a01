"""Which elementwise nodes become part of one kernel: those behind a result, or a group of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from sardonyx._src.compile.elements import HALVES
from sardonyx._src.compile.elementwise import quantization
from sardonyx._src.compile.elementwise.operators import scalar
from sardonyx._src.compile.loops.ir import Apply, Local, Number, Scalar
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.tensors import Array

MOST_NODES, MOST_OPERANDS = 24, 8  # of one kernel: larger ones are slow to compile and spill registers
QUANTIZATION = ("QuantizeLinear", "DequantizeLinear")
Shape = tuple[Known, ...]
Accepts = Callable[[Value, Shape], bool]


@dataclass(slots=True)
class Group:
    """Nodes of which only one value is read by others.

    value: of that result, in terms of `start` and of `Local("i0")`, ... for the operands.  shapes: how operands
    broadcast, with as many dims as the result.
    """

    shape: Shape
    result: Value
    value: Scalar
    nodes: list[Node] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)


class Growth:
    """A group on its way: values that it makes, and operands that it takes from outside, `most` at most."""

    most = MOST_OPERANDS

    def __init__(
        self, at: Lowering, shape: Shape, accepts: Accepts, name: str = "i", only: DataType | None = None
    ) -> None:
        """only: the one element type that the kernel knows."""
        self.at, self.shape, self.accepts, self.name, self.only = at, shape, accepts, name, only
        self.made: dict[Value, Scalar] = {}
        self.inlined: dict[Value, Scalar] = {}  # of values that are deferred
        self.taken: dict[tuple[Value, Shape], Local] = {}
        self.nodes: dict[Node, None] = {}
        self.waiting: list[tuple[int, int, Node]] = []

    def add(self, node: Node) -> bool:
        """Takes a node in, if its operator is known and its inputs are there."""
        call = self.at.call(node)
        if (
            call is None
            or len(node.outputs) != 1
            or self.at.shape(node.outputs[0]) != self.shape
            or node.domain
        ):
            return False
        if self.only is not None and not self.is_of_one_type(node):
            return False
        before, demands, inlined = dict(self.taken), dict(self.at.demands), dict(self.inlined)
        found = self.scalar(call)
        if found is None or len(self.taken) > self.most:
            self.taken, self.at.demands, self.inlined = before, demands, inlined
            return False
        self.nodes[node] = None
        self.put(node.outputs[0], in_order(found))
        return True

    def is_of_one_type(self, node: Node) -> bool:
        """Whether a node has to do with the one type alone, or rounds its numbers to 16 bits inside of the group."""
        values = [value for value in (*node.outputs, *node.inputs) if value is not None]
        other = [value for value in values if self.at.dtype_of(value) is not self.only]
        if not other:
            return True
        is_inside = all(value in self.made or value in node.outputs for value in other)
        return is_inside and node.op_type == "Cast" and all(self.at.dtype_of(one) in HALVES for one in other)

    def scalar(self, call: Call) -> Scalar | None:
        """What a node makes of its inputs; None if that is no matter of one element, or an input cannot be had."""
        node = call.node
        args = [self.argument(node, i, value) for i, value in enumerate(node.inputs)]
        if None in (one for one, value in zip(args, node.inputs, strict=True) if value is not None):
            return None
        return scalar(node.op_type, call.attributes, args, list(map(self.at.dtype_of, node.inputs)))

    def put(self, value: Value, made: Scalar) -> None:
        """Notes what a value is, and who may come next."""
        self.made[value] = made
        for node in self.at.readers(value):
            if node.graph is self.at.graph and node not in self.nodes:
                heappush(self.waiting, (self.at.order[node], id(node), node))

    def argument(self, node: Node, index: int, value: Value | None) -> Scalar | None:
        """An input as a value of this group; None where it is left out, or cannot be had."""
        if value is None:
            return None
        if value in self.made:
            return self.made[value]
        number = lone_number(self.at.constant(value)) if is_one(self.at.shape(value)) else None
        if number is not None and not is_own(node, index, number):
            return Number(number)
        broadcasts = index == 0 or node.op_type not in ("BatchNormalization", *QUANTIZATION)
        if (
            value in self.at.deferred
            and self.only is None
            and (found := self.inline(value, broadcasts)) is not None
        ):
            return found
        shape = self.placed(node, index, value)
        if shape is None or not self.at.is_native(value) or not self.accepts(value, shape):
            return None
        return self.taken.setdefault((value, shape), Local(f"{self.name}{len(self.taken)}"))

    def inline(self, value: Value, broadcasts: bool) -> Scalar | None:
        """A deferred value in terms of what it is made of; one of other dims than the group's if that is cast alone.

        broadcasts: whether the node that reads it says nothing else of where its elements lie beside the group's.
        """
        call = None if value.producer is None else self.at.call(value.producer)
        fits = self.at.shape(value) == self.shape or (
            broadcasts and call is not None and call.op_type == "Cast"
        )
        if value not in self.inlined and call is not None and fits:
            found = self.scalar(call)
            if found is not None:
                self.inlined[value] = found
        return self.inlined.get(value) if fits else None

    def placed(self, node: Node, index: int, value: Value) -> Shape | None:
        """The dims of an operand beside the result's; None where it is not known to broadcast."""
        shape = self.at.shape(value)
        if shape is None or len(shape) > len(self.shape):
            return None
        if node.op_type == "BatchNormalization" and index > 0:
            shape = (*shape, *(1 for _ in self.shape[2:]))  # one number for each channel
        if node.op_type in QUANTIZATION and index > 0:
            along = quantization.placed(node, shape, self.shape)
            if along is None or not self.are_alike(node):
                return None
            shape = along
        shape = (*(1 for _ in self.shape[len(shape) :]), *shape)
        if not all(self.at.stretches(a, b) for a, b in zip(shape, self.shape, strict=True)):
            return None
        return tuple(1 if a == 1 else b for a, b in zip(shape, self.shape, strict=True))

    def are_alike(self, node: Node) -> bool:
        """Whether there are as many zero points as scales, if there are any."""
        shapes = [self.at.shape(value) for value in node.inputs[1:] if value is not None]
        return all(shape is not None and shape == shapes[0] for shape in shapes)

    def snapshot(self, result: Value) -> Group:
        keys = list(self.taken)
        return Group(
            self.shape,
            result,
            self.made[result],
            list(self.nodes),
            [k[0] for k in keys],
            [k[1] for k in keys],
        )

    @property
    def size(self) -> int:
        """How many nodes there are, but for those that round to 16 bits and back."""
        values = [(*node.inputs, *node.outputs) for node in self.nodes]
        return sum(not any(self.at.dtype_of(value) in HALVES for value in some) for some in values)

    def escaping(self) -> list[Value]:
        """The values that somebody outside reads."""
        return [value for value in self.made if self.is_read_outside(value)]

    def is_read_outside(self, value: Value) -> bool:
        if value in self.at.outputs:
            return True
        return any(node not in self.nodes for node in self.at.readers(value))

    def grown(self) -> Group | None:
        """Takes in as many nodes as can be; the largest group of which one value is read outside, if there is any."""
        best = None
        seen: set[Node] = set()
        while self.waiting and self.size < MOST_NODES:
            node = heappop(self.waiting)[-1]
            if node in seen or node in self.at.done:
                continue
            seen.add(node)
            if (
                self.add(node)
                and len(outside := self.escaping()) == 1
                and not is_deferrable(self.at, outside[0])
                and self.only in (None, self.at.dtype_of(outside[0]))
            ):
                best = self.snapshot(outside[0])
        return best


def behind(at: Lowering, value: Value, accepts: Accepts, start: Scalar) -> Group | None:
    """The elementwise nodes behind a result, which is `start` to them, that can be part of its kernel."""
    shape = at.shape(value)
    if shape is None or value in at.outputs:
        return None
    growth = Growth(at, shape, accepts, "o", DataType.FLOAT)
    growth.put(value, start)
    return growth.grown()


def beginning(at: Lowering, node: Node) -> Group | None:
    """A group that begins with an elementwise node."""
    shape = at.shape(node.outputs[0])
    if shape is None:
        return None
    growth = Growth(at, shape, lambda value, placed: True)
    if not growth.add(node):
        return None
    first = growth.snapshot(node.outputs[0])
    return growth.grown() or first


def alone(at: Lowering, node: Node) -> Group | None:
    """The group of an elementwise node and no other."""
    shape = at.shape(node.outputs[0])
    growth = None if shape is None else Growth(at, shape, lambda value, placed: True)
    return growth.snapshot(node.outputs[0]) if growth is not None and growth.add(node) else None


def is_deferrable(at: Lowering, value: Value) -> bool:
    """Whether a value is that of a narrow integer, which is better handed on than the float that it stands for."""
    node = value.producer
    if node is None or node.op_type != "DequantizeLinear" or node.domain:
        return False
    return at.dtype_of(node.inputs[0]) in quantization.NARROW


def is_one(shape: Shape | None) -> bool:
    """Whether a tensor has one element."""
    return shape is not None and all(dim == 1 for dim in shape)


def is_own(node: Node, index: int, number: float) -> bool:
    """Whether a number is one that every node has another one of: scales and zero points are no part of the code."""
    return node.op_type in QUANTIZATION and index > 0 and number != 0


def in_order(value: Scalar) -> Scalar:
    """A sum or a product with an operand from outside behind: kernels that differ in nothing else are one."""
    match value:
        case Apply(op="add" | "mul", args=(Local() as a, b)) if a != Local("x") and not isinstance(b, Number):
            return Apply(value.op, (b, a))
    return value


def lone_number(elements: Array | None) -> float | int | bool | None:
    """The number of a constant with one element, if there is nothing to broadcast."""
    if elements is None or elements.size != 1 or elements.dtype.kind not in "fiub":
        return None
    found = np.asarray(elements).reshape(()).item()
    return found if isinstance(found, float | int | bool) else None
