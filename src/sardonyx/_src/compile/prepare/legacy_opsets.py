"""Legacy operator sets: whether a model may be upgraded to operator versions that accept other shapes or element types.

Before version 8, operators accept fewer shapes than their later versions, which broadcast both ways.  Operators that
replaced withdrawn ones may accept more shapes, too.  A model is upgraded only if every such node provably has shapes
that its own version accepts, and if both versions allow the same types for every input whose type only a run decides.
Otherwise an invalid run would succeed, or a valid run fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Attribute, Graph, Model, Node, Shape, TensorType, Value
from sardonyx._src.ir.dims import Dim, known_equal
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.math.legacy_broadcast import first_dim
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.traits import LegacyBroadcastKind
from sardonyx._src.schema import OpSchema, last_version, lookup, newest

ShapeCheck = Callable[[Node], bool]
FIRST_BROADCASTING_OPSET = 8  # from this version on, every operator broadcasts both ways


def newest_versions_are_equivalent(model: Model) -> bool:
    """Whether the newest versions of a model's operators accept exactly the inputs that the versions of the model accept."""
    return broadcasts_are_equivalent(model) and types_are_equivalent(model)


def types_are_equivalent(model: Model) -> bool:
    """Whether every input of unknown type may have the same types in the newest version of its node's operator."""
    if all(value.type is not None for value in model.graph.inputs):
        return True
    IncrementalInference(model).walk()
    return all(
        accepts_equal_types(node, imports) for graph, imports in root_graphs(model) for node in nodes(graph)
    )


def accepts_equal_types(node: Node, imports: Mapping[str, int]) -> bool:
    unknown = [i for i, value in enumerate(node.inputs) if value is not None and value.type is None]
    own = lookup(node.domain, node.op_type, imports.get(node.domain, 0)) if unknown else None
    if own is None:
        return True  # all types are known, or the operator is not upgraded, since it is not in ONNX's sets
    last = lookup(node.domain, node.op_type, newest(node.domain))
    return last is not None and all(allowed_types(own, i) == allowed_types(last, i) for i in unknown)


def allowed_types(schema: OpSchema, index: int) -> set[str]:
    """The types that a signature allows for an input; empty if it has no such input."""
    parameter = schema.input(index)
    return set() if parameter is None else set(schema.allowed_types(parameter))


def broadcasts_are_equivalent(model: Model) -> bool:
    """Whether every node provably has shapes that its own version accepts; infers the types of the model's values."""
    checks = [
        pair
        for graph, imports in root_graphs(model)
        for pair in legacy_nodes(graph, imports.get("", FIRST_BROADCASTING_OPSET))
    ]
    if checks:
        IncrementalInference(model).walk()
    return all(rule(node) for node, rule in checks)


def root_graphs(model: Model) -> Iterator[tuple[Graph, Mapping[str, int]]]:
    """The main graph and the bodies of functions, with the operator sets that each imports."""
    yield model.graph, model.opset_imports
    for function in model.functions.values():
        yield function.body, function.opset_imports


def legacy_nodes(graph: Graph, version: int) -> Iterator[tuple[Node, ShapeCheck]]:
    """The nodes whose operators accept fewer shapes in this version, each with its shape check."""
    for node in nodes(graph):
        if version >= FIRST_BROADCASTING_OPSET and last_version(node.domain, node.op_type) is None:
            continue
        op = None if node.domain else find("", node.op_type)
        if op is not None and op.replacement_accepts_more:
            yield node, has_known_shapes
        legacy = None if op is None else op.legacy_broadcast
        if legacy is not None and version <= legacy.last_opset:
            yield node, SHAPE_CHECKS[legacy.kind]


def shape_of(value: Value | None) -> Shape | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def int_attribute(node: Node, name: str) -> int | None:
    attribute: Attribute | None = node.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else None


def is_one_element(shape: Shape) -> bool:
    return all(dim == 1 for dim in shape)


def are_equal_shapes(a: Shape | None, b: Shape | None) -> bool:
    if a is None or b is None or len(a) != len(b):
        return False
    return all(map(are_equal_dims, a, b))


def are_equal_dims(a: Dim, b: Dim) -> bool:
    return known_equal(a, b) is True


def one_way_fits(node: Node) -> bool:
    """B has A's shape or is a scalar; with `broadcast`, it has one element or the dims of A from `axis` on."""
    if len(node.inputs) != 2:
        return False
    a, b = map(shape_of, node.inputs)
    if b == () or are_equal_shapes(a, b):
        return True
    if a is None or b is None or not int_attribute(node, "broadcast") or len(b) > len(a):
        return False
    start = first_dim(len(a), len(b), int_attribute(node, "axis"))
    if start is None or is_one_element(b):
        return is_one_element(b)
    return all(size == 1 or are_equal_dims(size, n) for size, n in zip(b, a[start:], strict=False))


def equal_shapes_fit(node: Node) -> bool:
    """All inputs have one shape."""
    shapes = list(map(shape_of, node.inputs))
    return len(shapes) == 1 or all(are_equal_shapes(shapes[0], shape) for shape in shapes[1:])


def slope_fits(node: Node) -> bool:
    """The slope of a PRelu has one element, one element per channel, or X's shape."""
    if len(node.inputs) != 2:
        return False
    x, slope = map(shape_of, node.inputs)
    if slope is None or is_one_element(slope):
        return slope is not None
    return are_equal_shapes(slope, x) or (x is not None and len(x) > 1 and are_equal_shapes(slope, x[1:2]))


def addend_fits(node: Node) -> bool:
    """C of a Gemm has the shape of the output, unless `broadcast` is set."""
    if len(node.inputs) != 3:
        return False
    return bool(int_attribute(node, "broadcast")) or are_equal_shapes(
        shape_of(node.inputs[2]), shape_of(node.outputs[0])
    )


def has_known_shapes(node: Node) -> bool:
    """All shapes are numbers, so that inference has accepted or rejected the node."""
    shapes = [shape_of(value) for value in (*node.inputs, *node.outputs) if value is not None]
    return all(shape is not None and all(isinstance(dim, int) for dim in shape) for shape in shapes)


SHAPE_CHECKS: Mapping[LegacyBroadcastKind, ShapeCheck] = {
    "one_way": one_way_fits,
    "none": equal_shapes_fit,
    "slope": slope_fits,
    "addend": addend_fits,
}
