"""Differences between two graphs, subgraphs included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from sardonyx._src.io.serde.devices import annotation_to, node_configuration_to
from sardonyx._src.ir import Attribute, AttributeScalar, Graph, Node, SparseTensor, Tensor, Value
from sardonyx._src.ir.graph import QuantizationAnnotation
from sardonyx._src.ir.walk import values
from sardonyx._src.tools.diff.difference import Difference, DifferenceKind
from sardonyx._src.tools.diff.interface import is_moved, is_widened_output, narrowed_inputs
from sardonyx._src.tools.diff.matching import match, operator
from sardonyx._src.tools.diff.weights import distance, type_text

AnyTensor = Tensor | SparseTensor


class Comparison:
    """Compares graphs, and tracks which value of one graph corresponds to which value of the other."""

    def __init__(self, tolerance: float = 0.0, advance: Callable[[], None] = lambda: None) -> None:
        """`tolerance`: the permitted absolute difference of weights; `advance` is called after each pair of weights."""
        self.tolerance = tolerance
        self.advance = advance
        self.twin: dict[Value, Value] = {}
        self.twins: set[Value] = set()

    def graphs(self, a: Graph, b: Graph, place: str = "") -> Iterator[Difference]:
        """Every difference between two graphs; `place`: the path of the graphs, with which the places of differences begin."""
        self.pair_ports(a, b)
        nodes = match(a, b)
        for left, right in nodes.items():
            self.pair(zip(left.outputs, right.outputs, strict=False))
        self.pair_weights(nodes)
        yield from texts(a, b, f"{place}graph")
        if a.name != b.name:
            yield Difference("name", "changed", f"{place}graph", a.name, b.name)
        yield from self.ports("input", a.inputs, b.inputs, place)
        yield from self.ports("output", a.outputs, b.outputs, place)
        yield from self.weights(a, b, place)
        yield from self.nodes(a, b, nodes, place)
        yield from self.inner_values(a, place)
        yield from annotation_changes(a, b, place)

    def pair(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        for left, other in pairs:
            if left not in self.twin and other not in self.twins:
                self.twin[left] = other
                self.twins.add(other)

    def pair_ports(self, a: Graph, b: Graph) -> None:
        """Pair inputs and initializers by name, remaining inputs by position."""
        for left, right in (
            ({v.name: v for v in a.inputs}, {v.name: v for v in b.inputs}),
            (a.initializers, b.initializers),
        ):
            self.pair((value, right[name]) for name, value in left.items() if name in right)
        rest = [v for v in b.inputs if v not in self.twins]
        self.pair(zip((v for v in a.inputs if v not in self.twin), rest, strict=False))

    def pair_weights(self, nodes: Mapping[Node, Node]) -> None:
        """Pair initializers that are the same input of paired nodes."""
        for left, right in nodes.items():
            for a, b in zip(left.inputs, right.inputs, strict=False):
                if (
                    a is not None
                    and b is not None
                    and a.initializer is not None
                    and b.initializer is not None
                ):
                    self.pair([(a, b)])

    def ports(
        self, kind: DifferenceKind, a: Sequence[Value], b: Sequence[Value], place: str
    ) -> Iterator[Difference]:
        """Differences of inputs or outputs: added, removed, reordered, renamed or retyped.

        Differences of the main graph, for which `place` is empty, may break callers.
        """
        counterparts = [self.twin.get(v) for v in a] if kind == "input" else self.paired_outputs(a, b)
        pairs = [(v, w) for v, w in zip(a, counterparts, strict=True) if w is not None and w in b]
        common = [other for _, other in pairs]
        is_main = not place
        narrowed = narrowed_inputs(pairs) if is_main and kind == "input" else set()
        for left, other in zip(a, counterparts, strict=True):
            if other is None or other not in common:
                before = str(left.type or "?")
                yield Difference(kind, "removed", f"{place}{left.name!r}", before=before, breaks=is_main)
                continue
            breaks = left in narrowed or (kind == "output" and is_widened_output(left, other))
            yield from self.value(left, other, f"{place}{left.name!r}", kind, breaks and is_main, is_main)
            if self.twin.get(left) is not other:
                yield Difference(
                    "edge", "changed", f"{place}output {left.name!r}", origin(left), origin(other)
                )
        for value in b:
            if value not in common:
                breaks = is_main and (is_moved(value, b, common) or (kind == "input" and is_required(value)))
                after = str(value.type or "?")
                yield Difference(kind, "added", f"{place}{value.name!r}", after=after, breaks=breaks)
        order = [v for v in b if v in common]
        if common != order:
            yield Difference(kind, "changed", f"{place}order", names(common), names(order), breaks=is_main)

    def paired_outputs(self, a: Sequence[Value], b: Sequence[Value]) -> list[Value | None]:
        """The counterpart of each output of `a`: the output of its name, or the value that corresponds to it."""
        by_name = {value.name: value for value in b}
        names = {value.name for value in a}
        result = [by_name.get(value.name) or self.twin.get(value) for value in a]
        # An output whose name both graphs have is the counterpart of its namesake only.
        return [
            None if r is not None and r.name in names and r.name != v.name else r
            for v, r in zip(a, result, strict=True)
        ]

    def value(
        self,
        left: Value,
        right: Value,
        place: str,
        kind: DifferenceKind = "type",
        type_breaks: bool = False,
        name_breaks: bool = False,
    ) -> Iterator[Difference]:
        """Differences of paired values in name, type, doc string and metadata.

        type_breaks, name_breaks: whether a difference in type, or in name, breaks callers.
        """
        if left.name != right.name:
            yield Difference("name", "changed", place, left.name, right.name, breaks=name_breaks)
        if left.type != right.type:
            before, after = str(left.type or "?"), str(right.type or "?")
            yield Difference(kind, "changed", place, before, after, breaks=type_breaks)
        yield from texts(left, right, place)

    def weights(self, a: Graph, b: Graph, place: str) -> Iterator[Difference]:
        """Differences of initializers: added, removed, of another type or content."""
        for value in a.initializers.values():
            other = self.twin.get(value)
            label = f"{place}{value.name!r}"
            assert value.initializer is not None, f"{value!r} is listed as an initializer"
            if other is None or other.initializer is None:
                breaks = not place and other is not None and a.has_input(value) and b.has_input(other)
                before = type_text(value.initializer)
                yield Difference("weight", "removed", label, before=before, breaks=breaks)
                continue
            if not a.has_input(value) and value.name != other.name:
                yield Difference("name", "changed", label, value.name, other.name)
            yield from self.tensors(value.initializer, other.initializer, "weight", label)
        matched = {self.twin[v] for v in a.initializers.values() if v in self.twin}
        for value in b.initializers.values():
            if value not in matched:
                assert value.initializer is not None, f"{value!r} is listed as an initializer"
                yield Difference(
                    "weight", "added", f"{place}{value.name!r}", after=type_text(value.initializer)
                )

    def tensors(
        self, left: AnyTensor, right: AnyTensor, kind: DifferenceKind, place: str
    ) -> Iterator[Difference]:
        """Differences of two tensors in type, shape and elements; sparse tensors are compared by their stored tensors."""
        if type_text(left) != type_text(right):
            yield Difference(kind, "changed", place, type_text(left), type_text(right))
        elif isinstance(left, SparseTensor) and isinstance(right, SparseTensor):
            yield from self.tensors(left.indices, right.indices, kind, f"{place} indices")
            yield from self.tensors(left.values, right.values, kind, f"{place} values")
        elif isinstance(left, Tensor) and isinstance(right, Tensor):
            difference = None if left.storage is right.storage else distance(left, right)
            self.advance()
            if difference is not None and not difference.max_abs <= self.tolerance:
                yield Difference(kind, "changed", place, type_text(left), type_text(right), difference)

    def nodes(self, a: Graph, b: Graph, pairs: Mapping[Node, Node], place: str) -> Iterator[Difference]:
        for node in a.nodes:
            other = pairs.get(node)
            if other is None:
                yield Difference("node", "removed", place + label(node))
            else:
                yield from self.node(node, other, place + label(node))
        paired = set(pairs.values())
        for node in b.nodes:
            if node not in paired:
                yield Difference("node", "added", place + label(node))

    def node(self, left: Node, right: Node, place: str) -> Iterator[Difference]:
        """Differences of paired nodes."""
        if operator(left) != operator(right):
            yield Difference("node", "changed", place, operator_label(left), operator_label(right))
        if left.name != right.name:
            yield Difference("name", "changed", place, left.name, right.name)
        yield from texts(left, right, place)
        for slot, (a, b) in enumerate(zip_longest(left.inputs, right.inputs)):
            if (None if a is None else self.twin.get(a)) is not b or (a is None) != (b is None):
                yield Difference("edge", "changed", f"{place} input {slot}", name_of(a), name_of(b))
        used = [[bool(v.name) for v in n.outputs] for n in (left, right)]
        if used[0] != used[1]:
            yield Difference("edge", "changed", f"{place} outputs", names(left.outputs), names(right.outputs))
        yield from self.attributes(left.attributes, right.attributes, place)
        if devices(left) != devices(right):
            yield Difference("device", "changed", place, devices(left), devices(right))

    def attributes(
        self, a: Mapping[str, Attribute | None], b: Mapping[str, Attribute | None], place: str
    ) -> Iterator[Difference]:
        for name in dict.fromkeys((*a, *b)):
            where = f"{place} {name}"
            if name not in b:
                yield Difference("attribute", "removed", where, before=attribute_text(a[name]))
            elif name not in a:
                yield Difference("attribute", "added", where, after=attribute_text(b[name]))
            else:
                yield from self.attribute(a[name], b[name], where)

    def attribute(self, left: Attribute | None, right: Attribute | None, place: str) -> Iterator[Difference]:
        if left is None or right is None or (left.type, left.ref) != (right.type, right.ref):
            if left is not right:
                yield Difference("attribute", "changed", place, attribute_text(left), attribute_text(right))
            return
        left_items, right_items = (
            v.value if isinstance(v.value, tuple) else (v.value,) for v in (left, right)
        )
        if len(left_items) != len(right_items):
            yield Difference("attribute", "changed", place, attribute_text(left), attribute_text(right))
            return
        plain = True
        for i, (a, b) in enumerate(zip(left_items, right_items, strict=True)):
            where = f"{place}[{i}]" if isinstance(left.value, tuple) else place
            if isinstance(a, Tensor | SparseTensor) and isinstance(b, Tensor | SparseTensor):
                yield from self.tensors(a, b, "attribute", where)
            elif isinstance(a, Graph) and isinstance(b, Graph):
                yield from self.graphs(a, b, f"{where}.")
            elif a != b and repr(a) != repr(b):  # NaNs are unequal but print alike
                plain = False
        if not plain:
            yield Difference("attribute", "changed", place, attribute_text(left), attribute_text(right))

    def inner_values(self, a: Graph, place: str) -> Iterator[Difference]:
        """Differences of paired inner values."""
        ports = {*a.inputs, *a.outputs, *a.initializers.values()}
        for value in values(a):
            other = self.twin.get(value)
            if other is not None and value not in ports:
                yield from self.value(value, other, f"{place}{value.name!r}")


def origin(value: Value) -> str:
    """A phrase that names the node output, input or initializer that a graph output is."""
    return label(value.producer) if value.producer is not None else repr(value.name)


def is_required(value: Value) -> bool:
    """Whether callers must feed an input, as it has no default."""
    return value.initializer is None


def texts(left: Graph | Node | Value, right: Graph | Node | Value, place: str) -> Iterator[Difference]:
    """Differences in doc strings and metadata."""
    if left.doc != right.doc:
        yield Difference("doc", "changed", place, left.doc, right.doc)
    if left.has_metadata or right.has_metadata:
        yield from maps("metadata", left.metadata, right.metadata, place)


def maps(
    kind: DifferenceKind, a: Mapping[str, object], b: Mapping[str, object], place: str
) -> Iterator[Difference]:
    """Differences between the entries of two maps."""
    for key in dict.fromkeys((*a, *b)):
        where = f"{place} {key!r}".lstrip()
        if key not in b:
            yield Difference(kind, "removed", where, before=str(a[key]))
        elif key not in a:
            yield Difference(kind, "added", where, after=str(b[key]))
        elif a[key] != b[key]:
            yield Difference(kind, "changed", where, str(a[key]), str(b[key]))


def operator_label(node: Node) -> str:
    """The qualified operator or function of a node."""
    return f"{node.domain or 'ai.onnx'}.{node.op_type}{':' + node.overload if node.overload else ''}"


def devices(node: Node) -> str:
    return ", ".join(
        str(node_configuration_to(configuration)) for configuration in node.device_configurations
    )


def annotation_changes(a: Graph, b: Graph, place: str) -> Iterator[Difference]:
    """Differences in quantization annotations."""
    left, right = (dict(map(annotation_text, g.quantization_annotations)) for g in (a, b))
    yield from maps("annotation", left, right, place)


def annotation_text(annotation: QuantizationAnnotation) -> tuple[str, str]:
    record = annotation_to(annotation)
    parts = sorted(f"{e.key}={e.value}" for e in record.quant_parameter_tensor_names)
    return record.tensor_name, ", ".join(parts)


def label(node: Node) -> str:
    """The node's name, or else its outputs, and its operator."""
    results = ", ".join(v.name for v in node.outputs if v.name)
    return f"{node.name!r} ({node.op_type})" if node.name else f"{node.op_type} of {results!r}"


def name_of(value: Value | None) -> str:
    return "nothing" if value is None else repr(value.name)


def names(values: Sequence[Value]) -> str:
    return ", ".join(value.name or '""' for value in values)


def attribute_text(attribute: Attribute | None) -> str:
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
