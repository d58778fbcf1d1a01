"""Vectors of sizes that contain the new size, constant or computed at run time."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.registry import find
from sardonyx._src.tools.set_dims.constants import ConstantEditor
from sardonyx._src.tools.set_dims.probe import Probe


class SizeVectors:
    """Replaces the prime by the new size in vectors of sizes."""

    def __init__(self, model: Model, constants: ConstantEditor, probe: Probe) -> None:
        self.graph: Graph = model.graph
        self.constants = constants
        self.probe = probe
        self.new = probe.changes[0].new
        self._size: Value | None = None
        self._last: Node | None = None

    def replace_sizes(self, node: Node, slot: int, numbers: Sequence[int]) -> None:
        """Replace an input of a node by the sizes that `numbers` denotes, with the prime for the new size."""
        prime, new = self.probe.prime, self.new
        if not any(map(self.probe.is_multiple, numbers)):
            return
        if isinstance(new, int):
            self.constants.replace(
                node, slot, [n // prime * new if self.probe.is_multiple(n) else n for n in numbers]
            )
        elif (short := self.inferred_entry(node, numbers)) is not None:
            self.constants.replace(node, slot, short)
        else:
            old = node.inputs[slot]
            assert old is not None and isinstance(old.type, TensorType), "checked by the rule"
            node.set_input(slot, self.vector(numbers, old.name, old.type.dtype))
            self.constants.drop(old)

    def inferred_entry(self, node: Node, numbers: Sequence[int]) -> list[int] | None:
        """For Reshape, the list with -1 or 0 for the new size, which then follows from the data; None if that is impossible."""
        followers = [i for i, n in enumerate(numbers) if self.probe.is_multiple(n)]
        op = find(node.domain, node.op_type)
        if op is None or op.size_rule != "target_shape" or len(followers) != 1:
            return None
        (position,) = followers
        if -1 not in numbers and 0 not in numbers:
            return [-1 if i == position else n for i, n in enumerate(numbers)]
        data = self.probe.shape(node.inputs[0])
        allowzero = node.attributes.get("allowzero")
        if data is None or position >= len(data) or (allowzero is not None and allowzero.value):
            return None
        return (
            [0 if i == position else n for i, n in enumerate(numbers)]
            if data[position] == numbers[position]
            else None
        )

    def vector(self, numbers: Sequence[int], stem: str, dtype: DataType) -> Value:
        """Emit the sizes as a vector computed at the start of the main graph."""
        parts: list[Value] = []
        run: list[int] = []
        for number in numbers:
            if not self.probe.is_multiple(number):
                run.append(number)
                continue
            if run:
                parts.append(self.constants.vector(run, f"{stem}_part"))
                run = []
            parts.append(self.emit_multiple(number // self.probe.prime, stem))
        if run:
            parts.append(self.constants.vector(run, f"{stem}_part"))
        result = parts[0] if len(parts) == 1 else self.emit_node("Concat", parts, stem, axis=0)
        return result if dtype is DataType.INT64 else self.emit_node("Cast", [result], stem, to=int(dtype))

    def emit_multiple(self, factor: int, stem: str) -> Value:
        """Emit a multiple of the new size, as int64[1]."""
        if self._size is None:
            change = self.probe.changes[0]
            shape = self.emit_node("Shape", [change.value], f"{change.value.name}_shape")
            axis = self.constants.vector([change.axis], f"{change.value.name}_axis")
            self._size = self.emit_node("Gather", [shape, axis], f"{change.value.name}_size", axis=0)
        if factor == 1:
            return self._size
        return self.emit_node(
            "Mul", [self._size, self.constants.vector([factor], f"{stem}_factor")], f"{stem}_product"
        )

    def emit_node(self, op_type: str, inputs: Sequence[Value], stem: str, **attributes: int) -> Value:
        """Insert a node before all original nodes, after those inserted earlier."""
        node_attributes = {
            name: Attribute(name, AttributeType.INT, value) for name, value in attributes.items()
        }
        node = Node(op_type, inputs, [Value(self.constants.names.fresh(stem))], node_attributes)
        last = self._last
        if last is None:
            first = next(iter(self.graph.nodes))
            self.graph.insert_before(first, node)
        else:
            self.graph.insert_after(last, node)
        self._last = node
        return node.outputs[0]
