"""Differences between two graphs, those inside them included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from sardonyx._src.io.devices_proto import annotation_to, node_configuration_to
from sardonyx._src.ir.graph import Attribute, AttributeScalar, Graph, Node, QuantizationAnnotation, Value
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.walk import values
from sardonyx._src.rewrite.tools.diff.change import Change, Kind
from sardonyx._src.rewrite.tools.diff.match import match, operator
from sardonyx._src.rewrite.tools.diff.weights import distance, type_text

AnyTensor = Tensor | SparseTensor


class Comparison:
    """Compares graphs; knows which value of one model is which of the other."""

    def __init__(self, tolerance: float = 0.0, advance: Callable[[], None] = lambda: None) -> None:
        """`tolerance`: an absolute error that weights may have; `advance` is called after each pair of weights."""
        self.tolerance = tolerance
        self.advance = advance
        self.twin: dict[Value, Value] = {}
        self.twins: set[Value] = set()

    def graphs(self, a: Graph, b: Graph, place: str = "") -> Iterator[Change]:
        """Every difference between two graphs, after those of graphs around them; `place` stands before names."""
        self.pair_ports(a, b)
        nodes = match(a, b)
        for one, other in nodes.items():
            self.pair(zip(one.outputs, other.outputs, strict=False))
        self.pair_weights(nodes)
        yield from texts(a, b, f"{place}graph")
        if a.name != b.name:
            yield Change("name", "changed", f"{place}graph", a.name, b.name)
        yield from self.ports("input", a.inputs, b.inputs, place)
        yield from self.ports("output", a.outputs, b.outputs, place)
        yield from self.weights(a, b, place)
        yield from self.nodes(a, b, nodes, place)
        yield from self.inner_values(a, place)
        yield from annotated(a, b, place)

    def pair(self, found: Iterable[tuple[Value, Value]]) -> None:
        for one, other in found:
            if one not in self.twin and other not in self.twins:
                self.twin[one] = other
                self.twins.add(other)

    def pair_ports(self, a: Graph, b: Graph) -> None:
        """Pairs inputs and initializers by name, the inputs that are left by position."""
        for left, right in (
            ({v.name: v for v in a.inputs}, {v.name: v for v in b.inputs}),
            (a.initializers, b.initializers),
        ):
            self.pair((value, right[name]) for name, value in left.items() if name in right)
        rest = [v for v in b.inputs if v not in self.twins]
        self.pair(zip((v for v in a.inputs if v not in self.twin), rest, strict=False))

    def pair_weights(self, nodes: Mapping[Node, Node]) -> None:
        """Pairs initializers of different names that stand at the same input of two nodes that are one."""
        for one, other in nodes.items():
            for a, b in zip(one.inputs, other.inputs, strict=False):
                if (
                    a is not None
                    and b is not None
                    and a.initializer is not None
                    and b.initializer is not None
                ):
                    self.pair([(a, b)])

    def ports(self, kind: Kind, a: Sequence[Value], b: Sequence[Value], place: str) -> Iterator[Change]:
        """Inputs or outputs: added, removed, in another order, of another name or type."""
        before = [self.twin.get(v) for v in a]
        for one, other in zip(a, before, strict=True):
            if other is None or other not in b:
                yield Change(kind, "removed", f"{place}{one.name!r}", before=str(one.type or "?"))
            else:
                yield from self.value(one, other, f"{place}{one.name!r}", kind)
        for value in b:
            if value not in before:
                yield Change(kind, "added", f"{place}{value.name!r}", after=str(value.type or "?"))
        kept = [v for v in before if v is not None and v in b]
        order = [v for v in b if v in kept]
        if kept != order:
            yield Change(kind, "changed", f"{place}order", names(kept), names(order))

    def value(self, one: Value, other: Value, at: str, kind: Kind = "type") -> Iterator[Change]:
        """What values that are one say of themselves."""
        if one.name != other.name:
            yield Change("name", "changed", at, one.name, other.name)
        if one.type != other.type:
            yield Change(kind, "changed", at, str(one.type or "?"), str(other.type or "?"))
        yield from texts(one, other, at)

    def weights(self, a: Graph, b: Graph, place: str) -> Iterator[Change]:
        """Initializers: added, removed, of another type or content."""
        for value in a.initializers.values():
            other = self.twin.get(value)
            at = f"{place}{value.name!r}"
            assert value.initializer is not None, f"{value!r} is listed as an initializer"
            if other is None or other.initializer is None:
                yield Change("weight", "removed", at, before=type_text(value.initializer))
                continue
            if value not in a.inputs and value.name != other.name:
                yield Change("name", "changed", at, value.name, other.name)
            yield from self.tensors(value.initializer, other.initializer, "weight", at)
        before = {self.twin[v] for v in a.initializers.values() if v in self.twin}
        for value in b.initializers.values():
            if value not in before:
                assert value.initializer is not None, f"{value!r} is listed as an initializer"
                yield Change("weight", "added", f"{place}{value.name!r}", after=type_text(value.initializer))

    def tensors(self, one: AnyTensor, other: AnyTensor, kind: Kind, at: str) -> Iterator[Change]:
        """Type, shape and elements of two tensors; sparse ones by what they store."""
        if type_text(one) != type_text(other):
            yield Change(kind, "changed", at, type_text(one), type_text(other))
        elif isinstance(one, SparseTensor) and isinstance(other, SparseTensor):
            yield from self.tensors(one.indices, other.indices, kind, f"{at} indices")
            yield from self.tensors(one.values, other.values, kind, f"{at} values")
        elif isinstance(one, Tensor) and isinstance(other, Tensor):
            found = None if one.storage is other.storage else distance(one, other)
            self.advance()
            if found is not None and not found.max_abs <= self.tolerance:
                yield Change(kind, "changed", at, type_text(one), type_text(other), found)

    def nodes(self, a: Graph, b: Graph, pairs: Mapping[Node, Node], place: str) -> Iterator[Change]:
        for node in a.nodes:
            other = pairs.get(node)
            if other is None:
                yield Change("node", "removed", place + label(node))
            else:
                yield from self.node(node, other, place + label(node))
        found = set(pairs.values())
        for node in b.nodes:
            if node not in found:
                yield Change("node", "added", place + label(node))

    def node(self, one: Node, other: Node, at: str) -> Iterator[Change]:
        """Differences of two nodes that are one."""
        if operator(one) != operator(other):
            yield Change("node", "changed", at, called(one), called(other))
        if one.name != other.name:
            yield Change("name", "changed", at, one.name, other.name)
        yield from texts(one, other, at)
        for slot, (a, b) in enumerate(zip_longest(one.inputs, other.inputs)):
            if (None if a is None else self.twin.get(a)) is not b or (a is None) != (b is None):
                yield Change("edge", "changed", f"{at} input {slot}", name_of(a), name_of(b))
        wanted = [[bool(v.name) for v in n.outputs] for n in (one, other)]
        if wanted[0] != wanted[1]:
            yield Change("edge", "changed", f"{at} outputs", names(one.outputs), names(other.outputs))
        yield from self.attributes(one.attributes, other.attributes, at)
        if devices(one) != devices(other):
            yield Change("device", "changed", at, devices(one), devices(other))

    def attributes(
        self, a: Mapping[str, Attribute | None], b: Mapping[str, Attribute | None], at: str
    ) -> Iterator[Change]:
        for name in dict.fromkeys((*a, *b)):
            where = f"{at} {name}"
            if name not in b:
                yield Change("attribute", "removed", where, before=shown(a[name]))
            elif name not in a:
                yield Change("attribute", "added", where, after=shown(b[name]))
            else:
                yield from self.attribute(a[name], b[name], where)

    def attribute(self, one: Attribute | None, other: Attribute | None, at: str) -> Iterator[Change]:
        if one is None or other is None or (one.type, one.ref) != (other.type, other.ref):
            if one is not other:
                yield Change("attribute", "changed", at, shown(one), shown(other))
            return
        left, right = (v.value if isinstance(v.value, tuple) else (v.value,) for v in (one, other))
        if len(left) != len(right):
            yield Change("attribute", "changed", at, shown(one), shown(other))
            return
        plain = True
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            where = f"{at}[{i}]" if isinstance(one.value, tuple) else at
            if isinstance(a, Tensor | SparseTensor) and isinstance(b, Tensor | SparseTensor):
                yield from self.tensors(a, b, "attribute", where)
            elif isinstance(a, Graph) and isinstance(b, Graph):
                yield from self.graphs(a, b, f"{where}.")
            elif a != b and repr(a) != repr(b):  # two NaNs are not equal and read the same
                plain = False
        if not plain:
            yield Change("attribute", "changed", at, shown(one), shown(other))

    def inner_values(self, a: Graph, place: str) -> Iterator[Change]:
        """What values between nodes say of themselves."""
        ports = {*a.inputs, *a.outputs, *a.initializers.values()}
        for value in values(a):
            other = self.twin.get(value)
            if other is not None and value not in ports:
                yield from self.value(value, other, f"{place}{value.name!r}")


def texts(one: Graph | Node | Value, other: Graph | Node | Value, at: str) -> Iterator[Change]:
    """Doc strings and metadata of two things that are one."""
    if one.doc != other.doc:
        yield Change("doc", "changed", at, one.doc, other.doc)
    if one.has_metadata or other.has_metadata:
        yield from maps("metadata", one.metadata, other.metadata, at)


def maps(kind: Kind, a: Mapping[str, object], b: Mapping[str, object], at: str) -> Iterator[Change]:
    """Entries of two maps."""
    for key in dict.fromkeys((*a, *b)):
        where = f"{at} {key!r}".lstrip()
        if key not in b:
            yield Change(kind, "removed", where, before=str(a[key]))
        elif key not in a:
            yield Change(kind, "added", where, after=str(b[key]))
        elif a[key] != b[key]:
            yield Change(kind, "changed", where, str(a[key]), str(b[key]))


def called(node: Node) -> str:
    """The operator or function of a node."""
    return f"{node.domain or 'ai.onnx'}.{node.op_type}{':' + node.overload if node.overload else ''}"


def devices(node: Node) -> str:
    return ", ".join(str(node_configuration_to(one)) for one in node.device_configurations)


def annotated(a: Graph, b: Graph, place: str) -> Iterator[Change]:
    """Quantization annotations, by the names that they name."""
    left, right = (dict(map(annotation, g.quantization_annotations)) for g in (a, b))
    yield from maps("annotation", left, right, place)


def annotation(one: QuantizationAnnotation) -> tuple[str, str]:
    record = annotation_to(one)
    parts = sorted(f"{e.key}={e.value}" for e in record.quant_parameter_tensor_names)
    return record.tensor_name, ", ".join(parts)


def label(node: Node) -> str:
    """The node's name, or else what it makes, and its operator."""
    made = ", ".join(v.name for v in node.outputs if v.name)
    return f"{node.name!r} ({node.op_type})" if node.name else f"{node.op_type} of {made!r}"


def name_of(value: Value | None) -> str:
    return "nothing" if value is None else repr(value.name)


def names(found: Sequence[Value]) -> str:
    return ", ".join(value.name or '""' for value in found)


def shown(attribute: Attribute | None) -> str:
    """An attribute's value as text."""
    if attribute is None:
        return "no default"
    if attribute.ref:
        return f"@{attribute.ref}"
    value = attribute.value
    return f"[{', '.join(map(scalar, value))}]" if isinstance(value, tuple) else scalar(value)


def scalar(value: AttributeScalar | None) -> str:
    if isinstance(value, Tensor | SparseTensor):
        return type_text(value)
    return repr(value.decode("utf-8", "backslashreplace")) if isinstance(value, bytes) else str(value)
