"""Gives values their new element types: attributes and constants change, and Casts are inserted between types."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.quantize.precision.element_types import converted, dtype_of, with_dtype
from sardonyx._src.quantize.precision.type_groups import Read, TypeGroup, TypeGroups
from sardonyx._src.rewrite.engine.edit import Edit


class Retyping:
    """One change of a model, as its groups say.

    retyped: the values that have the new type under their old names.
    """

    def __init__(self, groups: TypeGroups) -> None:
        self.groups = groups
        self.edit: Edit = groups.edit
        self.target = groups.change.target
        self.names = self.edit.names(self.edit.model.graph)
        self.retyped: list[Value] = []

    def run(self) -> None:
        """Changes the model; the declared types of values are kept but for their element types."""
        groups = self.groups
        constants = [value for value in groups.reads if self.edit.tensor(value) is not None]
        defined = list(groups.by_value.items())
        changed = [group for group in groups.all if group.changes]
        for group in changed:
            for attribute in group.attributes.values():
                assert group.node is not None, "attributes belong to a node"
                group.node.set_attribute(attribute)
        for value in constants:
            self.convert_constant(value)
        for value, group in defined:
            self.insert_casts(value, group)
        casts = [group.node for group in changed if group.node is not None and self.is_needless(group.node)]
        self.edit.facts.restore()
        for value in self.retyped:
            value.type = with_dtype(value.type, self.target)
        for node in dict.fromkeys(casts):
            self.remove_cast(node)

    # --- values that nodes define

    def insert_casts(self, value: Value, group: TypeGroup) -> None:
        """Casts a value once for all readers of the other type."""
        old = dtype_of(value.type)
        assert old is not None, f"{value!r} is no tensor of floats"
        own, other = (self.target, old) if group.changes else (old, self.target)
        readers = [read for read in self.readers(value) if self.reads_new_type(read) != group.changes]
        is_public = any(owner is self.edit.model.graph for owner, _ in readers)
        if (own if not is_public else other) is self.target:
            self.retyped.append(value)
        if is_public:
            self.cast_output(value, own, other, readers)
        elif readers:
            self.redirect(readers, self.cast_after(value, other))

    def readers(self, value: Value) -> list[Read]:
        return list(dict.fromkeys((*self.groups.reads.get(value, ()), *value.uses)))

    def reads_new_type(self, read: Read) -> bool:
        group = self.groups.by_read.get(read)
        return group is not None and group.changes

    def cast_after(self, value: Value, to: DataType) -> Value:
        """A new value: the value in another type, computed right after it."""
        result = Value(self.names.fresh(f"{value.name}_{to.text}"), with_dtype(value.type, to))
        node = cast_node(value, result, to, self.names.fresh(f"{value.name}_to_{to.text}"))
        insert_after(value, node)
        return result

    def cast_output(self, value: Value, own: DataType, other: DataType, readers: Sequence[Read]) -> None:
        """An output of the model keeps its name: a Cast defines it, from a new value that its producer defines.

        own: the type that the producer computes; other: that of the output and of these readers.
        """
        producer, index = value.producer, value.index
        assert producer is not None and producer.graph is not None, f"{value!r} is no input"
        node = Node("Cast", [None], [Value("")], {"to": type_attribute(other)})
        node.name = self.names.fresh(f"{value.name}_to_{other.text}")
        inside = [read for read in self.readers(value) if read not in readers]
        producer.graph.insert_after(producer, node)
        node.take_output(0, value)
        inner = producer.outputs[index]
        inner.name = self.names.fresh(f"{value.name}_{own.text}")
        inner.type = with_dtype(value.type, own)
        node.set_input(0, inner)
        self.redirect(inside, inner)

    def redirect(self, reads: Sequence[Read], value: Value) -> None:
        for owner, slot in reads:
            if isinstance(owner, Graph):
                owner.outputs[slot] = value
            else:
                owner.set_input(slot, value)

    # --- constants

    def convert_constant(self, value: Value) -> None:
        """A constant changes if all of its readers do; else those that do get one of their own."""
        readers = self.readers(value)
        reads = [read for read in readers if self.reads_new_type(read)]
        tensor = self.edit.tensor(value)
        if not reads or tensor is None:
            return
        if len(reads) == len(readers) and value not in self.edit.public:
            self.set_constant(value, converted(tensor, self.target, tensor.name))
            return
        place = reads[0][0]
        before = place if isinstance(place, Node) else place.parent
        assert before is not None, "constants that the model returns keep their type"
        copy = converted(tensor, self.target, "")
        self.redirect(reads, self.edit.make_constant(copy, f"{value.name}_{self.target.text}", before=before))

    def set_constant(self, value: Value, tensor: Tensor) -> None:
        if value.producer is None:
            value.initializer = tensor
        else:
            value.producer.attributes.clear()
            value.producer.set_attribute(Attribute("value", AttributeType.TENSOR, tensor))
        self.retyped.append(value)

    # --- Casts of the model

    def is_needless(self, node: Node) -> bool:
        """Whether a Cast of the model has the new type before and after."""
        operator = self.edit.operator_of(node)
        if operator is None or not operator.op.casts:
            return False
        read, source = self.groups.by_read.get((node, 0)), node.inputs[0]
        assert source is not None, f"{node!r} has an input"
        is_new = read.changes if read is not None else dtype_of(source.type) is self.target
        result = self.groups.by_value.get(node.outputs[0])
        return is_new and result is not None and result.changes

    def remove_cast(self, node: Node) -> None:
        """The readers of a Cast read what it reads; one that returns an input of the model stays."""
        if node.inputs[0] is not None:
            self.edit.forward(node, node.inputs[0])


def insert_after(value: Value, node: Node) -> None:
    """Inserts a node as early as a value can be read."""
    graph = value.owner
    assert graph is not None, f"{value!r} is in no graph"
    if value.producer is not None:
        graph.insert_after(value.producer, node)
    elif (first := next(iter(graph.nodes), None)) is not None:
        graph.insert_before(first, node)
    else:
        graph.append(node)


def cast_node(source: Value, result: Value, to: DataType, name: str) -> Node:
    return Node("Cast", [source], [result], {"to": type_attribute(to)}, name=name)


def type_attribute(dtype: DataType) -> Attribute:
    return Attribute("to", AttributeType.INT, int(dtype))
