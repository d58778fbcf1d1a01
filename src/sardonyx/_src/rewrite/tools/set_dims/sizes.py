"""Lists of sizes in which a new size stands: numbers, or computed when the model runs."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Model, Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.rewrite.tools.set_dims.constants import Constants
from sardonyx._src.rewrite.tools.set_dims.probe import Probe


class Computed:
    """Puts the new size in the place of the prime."""

    def __init__(self, model: Model, constants: Constants, probe: Probe) -> None:
        self.graph: Graph = model.graph
        self.constants = constants
        self.probe = probe
        self.new = probe.changes[0].new
        self._size: Value | None = None
        self._last: Node | None = None

    def put(self, node: Node, slot: int, numbers: Sequence[int]) -> None:
        """Makes an input of the node the list of sizes that `numbers` stands for."""
        prime, new = self.probe.prime, self.new
        if not any(map(self.probe.follows, numbers)):
            return
        if isinstance(new, int):
            self.constants.replace(
                node, slot, [n // prime * new if self.probe.follows(n) else n for n in numbers]
            )
        elif (short := self.left_over(node, numbers)) is not None:
            self.constants.replace(node, slot, short)
        else:
            old = node.inputs[slot]
            assert old is not None and isinstance(old.type, TensorType), "a vector of numbers"
            node.set_input(slot, self.vector(numbers, old.name, old.type.dtype))
            self.constants.drop(old)

    def left_over(self, node: Node, numbers: Sequence[int]) -> list[int] | None:
        """For Reshape, the list with a -1 or 0 that leaves the size to what the data have."""
        followers = [i for i, n in enumerate(numbers) if self.probe.follows(n)]
        if node.op_type != "Reshape" or len(followers) != 1:
            return None
        (at,) = followers
        if -1 not in numbers and 0 not in numbers:
            return [-1 if i == at else n for i, n in enumerate(numbers)]
        data = self.probe.shape(node.inputs[0])
        allowzero = node.attributes.get("allowzero")
        if data is None or at >= len(data) or (allowzero is not None and allowzero.value):
            return None
        return [0 if i == at else n for i, n in enumerate(numbers)] if data[at] == numbers[at] else None

    def vector(self, numbers: Sequence[int], stem: str, dtype: DataType) -> Value:
        """A value that the main graph computes before anything else."""
        pieces: list[Value] = []
        plain: list[int] = []
        for number in numbers:
            if not self.probe.follows(number):
                plain.append(number)
                continue
            if plain:
                pieces.append(self.constants.vector(plain, f"{stem}_part"))
                plain = []
            pieces.append(self.times(number // self.probe.prime, stem))
        if plain:
            pieces.append(self.constants.vector(plain, f"{stem}_part"))
        found = pieces[0] if len(pieces) == 1 else self.add("Concat", pieces, stem, axis=0)
        return found if dtype is DataType.INT64 else self.add("Cast", [found], stem, to=int(dtype))

    def times(self, factor: int, stem: str) -> Value:
        """The size, multiplied: int64[1]."""
        if self._size is None:
            change = self.probe.changes[0]
            shape = self.add("Shape", [change.value], f"{change.value.name}_shape")
            at = self.constants.vector([change.axis], f"{change.value.name}_axis")
            self._size = self.add("Gather", [shape, at], f"{change.value.name}_size", axis=0)
        if factor == 1:
            return self._size
        return self.add(
            "Mul", [self._size, self.constants.vector([factor], f"{stem}_factor")], f"{stem}_product"
        )

    def add(self, op_type: str, inputs: Sequence[Value], stem: str, **attributes: int) -> Value:
        """A node in front of all that were there, behind those that have been added."""
        made = {name: Attribute(name, AttributeType.INT, value) for name, value in attributes.items()}
        node = Node(op_type, inputs, [Value(self.constants.names.fresh(stem))], made)
        place = self._last
        if place is None:
            first = next(iter(self.graph.nodes))
            self.graph.insert_before(first, node)
        else:
            self.graph.insert_after(place, node)
        self._last = node
        return node.outputs[0]
